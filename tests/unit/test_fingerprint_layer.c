/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fingerprints of a layer: constants of channels, bias, sums of weights,
 * functions of the input, half a pixel. The differences are what rounding
 * makes of a layer that was computed otherwise.
 *
 * links: host-tools/cause/fingerprint.c host-tools/cause/fingerprint_place.c
 * links: host-tools/cause/fingerprint_limit.c
 * links: host-tools/cause/fingerprint_value.c
 * links: host-tools/cause/fingerprint_channel.c
 * links: host-tools/cause/fingerprint_constants.c
 * links: host-tools/cause/fingerprint_ratio.c
 * links: host-tools/cause/fingerprint_input.c
 * links: host-tools/cause/fingerprint_text.c
 * links: host-tools/diff/tensor.c host-tools/diff/column.c
 * links: lib/core/slice.c lib/core/buf.c lib/core/err.c
 * libs: -lm
 */
#include <math.h>

#include "tests/unit/fingerprint_tensors.h"

#define IC 5
#define OC 33
#define PLACES 30

static int8_t x[PLACES * IC], w[OC * IC];
static int32_t bias[OC];
static float sx[1] = {0.02f}, sw[OC], sy[1] = {0.05f};
static int32_t zx[1] = {11}, zw[OC], zy[1] = {-4};
static struct assay_tensor tensors[4];
static uint32_t inputs[] = {0, 1, 2};
static struct assay_layer layer;
static struct assay_slice slice;
static const void *values[4];

/* A 1x1 convolution [1,5,6,5] -> [1,5,6,33]. */
static struct assay_fingerprint_view convolution(void)
{
    seed = 5;
    tensors[0] = shape(ASSAY_S8, "NHWC", 4, 1, 5, 6, IC);
    tensors[0].quant = (struct assay_quant){1, -1, sx, zx};
    tensors[1] = shape(ASSAY_S8, "", 4, OC, 1, 1, IC);
    tensors[1].role = ASSAY_ROLE_CONSTANT;
    tensors[1].data = w;
    tensors[1].quant = (struct assay_quant){OC, 0, sw, zw};
    tensors[2] = shape(ASSAY_S32, "", 1, OC);
    tensors[2].role = ASSAY_ROLE_CONSTANT;
    tensors[2].data = bias;
    tensors[3] = shape(ASSAY_S8, "NHWC", 4, 1, 5, 6, OC);
    tensors[3].quant = (struct assay_quant){1, -1, sy, zy};
    for (size_t i = 0; i < sizeof(x); i++)
        x[i] = (int8_t)((int)(rnd() % 31) - 15);
    for (size_t i = 0; i < sizeof(w); i++)
        w[i] = (int8_t)((int)(rnd() % 255) - 127);
    for (size_t c = 0; c < OC; c++) {
        sw[c] = 0.01f + (float)(rnd() % 100) * 1e-4f;
        bias[c] = (int32_t)(rnd() % 8001) - 4000;
    }
    layer = (struct assay_layer){.op = ASSAY_OP_CONV2D,
                                 .n_inputs = 3,
                                 .inputs = inputs,
                                 .output = 3,
                                 .p.conv2d.has_bias = true};
    slice = (struct assay_slice){
        .n_tensors = 4, .tensors = tensors, .n_layers = 1, .layers = &layer};
    values[0] = x;
    return (struct assay_fingerprint_view){.t = &tensors[3],
                                           .layer = &layer,
                                           .slice = &slice,
                                           .base = base,
                                           .got = got,
                                           .inputs = values};
}

/* What the layer gives with the bias times `b`, and input minus zero. */
static void compute(void *out, double b, int32_t zero)
{
    for (size_t i = 0; i < PLACES * OC; i++) {
        size_t c = i % OC;
        double acc = b * bias[c], v;

        for (size_t k = 0; k < IC; k++)
            acc += (double)((x[i / OC * IC + k] - zero) * w[c * IC + k]);
        v = nearbyint(acc * (double)sx[0] * (double)sw[c] / (double)sy[0]);
        v = fmin(fmax(v + zy[0], -128), 127);
        set(&tensors[3], out, i, v);
    }
}

static void missing_and_doubled_bias(void **state)
{
    struct assay_fingerprint_view v = convolution();
    const struct assay_fingerprint *f;

    (void)state;
    for (int b = 0; b <= 2; b += 2) {
        compute(base, 1, zx[0]);
        compute(got, b, zx[0]);
        ask(&v);
        f = one(v.t, ASSAY_FP_BIAS);
        assert_non_null(f);
        assert_int_equal(f->n[0], 1);
        assert_true(fabs(f->x[0] - (b - 1)) < 0.1);
        assert_true(f->matched * 10 > f->differing * 5);
        assert_null(one(v.t, ASSAY_FP_WEIGHT_SUM));
        assert_non_null(one(v.t, ASSAY_FP_CHANNEL_CONSTANT));
    }
    /* Given, it is not looked for. */
    layer.n_inputs = 2;
    ask(&v);
    assert_null(one(v.t, ASSAY_FP_BIAS));
    {
        int64_t wide[OC];

        for (size_t c = 0; c < OC; c++)
            wide[c] = bias[c];
        v.bias = wide;
        ask(&v);
        assert_non_null(one(v.t, ASSAY_FP_BIAS));
    }
}

/* Without scales: a layer that leaves its sums. */
static void bias_of_sums(void **state)
{
    struct assay_fingerprint_view v = convolution();
    const struct assay_fingerprint *f;

    (void)state;
    tensors[3].dtype = ASSAY_S32;
    tensors[3].quant.n = 0;
    fill(&tensors[3]);
    for (size_t i = 0; i < PLACES * OC; i++)
        add(&tensors[3], i, -bias[i % OC]);
    ask(&v);
    f = one(v.t, ASSAY_FP_BIAS);
    assert_non_null(f);
    assert_int_equal(f->n[0], 0);
    assert_true(fabs(f->x[0] + 1) < 1e-9);
}

static void input_zero_point(void **state)
{
    struct assay_fingerprint_view v = convolution();
    const struct assay_fingerprint *f;

    (void)state;
    compute(base, 1, zx[0]);
    compute(got, 1, 0);
    ask(&v);
    f = one(v.t, ASSAY_FP_WEIGHT_SUM);
    assert_non_null(f);
    assert_true(fabs(f->x[0] - zx[0]) < 1.0);
    assert_null(one(v.t, ASSAY_FP_BIAS));
}

/* Noise on one element in four is no constant of the channels. */
static void channels_with_noise(void **state)
{
    struct assay_fingerprint_view v = convolution();

    (void)state;
    for (int most = 1; most <= 20; most += 19) {
        compute(base, 1, zx[0]);
        memcpy(got, base, sizeof(got));
        for (size_t i = 0; i < PLACES * OC; i++)
            if (rnd() % 4 == 0)
                add(v.t, i, 1 + (double)(rnd() % (uint32_t)most));
        ask(&v);
        assert_null(one(v.t, ASSAY_FP_BIAS));
        assert_null(one(v.t, ASSAY_FP_WEIGHT_SUM));
        assert_null(one(v.t, ASSAY_FP_CHANNEL_CONSTANT));
    }
}

static void constant_of_a_channel(void **state)
{
    static const enum assay_dtype types[] = {ASSAY_S8, ASSAY_S16, ASSAY_S32,
                                             ASSAY_F32};

    (void)state;
    for (unsigned k = 0; k < 4; k++) {
        struct assay_tensor t = shape(types[k], "NHWC", 4, 2, 5, 5, 6);
        struct assay_tensor one_place = shape(types[k], "NHWC", 4, 1, 1, 1, 33);

        fill(&t);
        for (size_t i = 0; i < 300; i++)
            if (i % 6 != 2)
                add(&t, i, (double)(i % 6) * 3 - 20);
        ask_tensor(&t);
        assert_non_null(one(&t, ASSAY_FP_CHANNEL_CONSTANT));
        add(&t, 1, 4);
        ask_tensor(&t);
        assert_null(one(&t, ASSAY_FP_CHANNEL_CONSTANT));
        /* Any difference is constant where a channel has one element. */
        fill(&one_place);
        for (size_t i = 0; i < 33; i++)
            add(&one_place, i, (double)(rnd() % 40) - 20);
        ask_tensor(&one_place);
        assert_null(one(&one_place, ASSAY_FP_CHANNEL_CONSTANT));
    }
}

/* ---- the input ----------------------------------------------------------- */

static void function_of_the_input(void **state)
{
    static int8_t in[400];
    struct assay_tensor pair[] = {shape(ASSAY_S8, "NC", 2, 4, 100),
                                  shape(ASSAY_S16, "NC", 2, 4, 100)};
    uint32_t first[] = {0};
    struct assay_layer l = {
        .op = ASSAY_OP_UNARY, .n_inputs = 1, .inputs = first, .output = 1};
    struct assay_slice s = {
        .n_tensors = 2, .tensors = pair, .n_layers = 1, .layers = &l};
    const void *given[] = {in, NULL};
    struct assay_fingerprint_view v = {.t = &pair[1],
                                       .layer = &l,
                                       .slice = &s,
                                       .base = base,
                                       .got = got,
                                       .inputs = given};
    const struct assay_fingerprint *f;

    (void)state;
    for (size_t i = 0; i < 400; i++) {
        in[i] = (int8_t)((int)(rnd() % 41) - 20);
        set(v.t, base, i, 3 * in[i]);
        set(v.t, got, i, 3 * in[i] + (in[i] >= 7 && in[i] <= 9 ? in[i] : 0));
    }
    ask(&v);
    f = one(v.t, ASSAY_FP_INPUT_FUNCTION);
    assert_non_null(f);
    assert_int_equal(f->n[0], 7);
    assert_int_equal(f->n[1], 9);
    assert_true(fabs(f->x[0] - 3.0) < 0.1);
    assert_string_equal(text, "depends on the input element alone (3 of its "
                              "values, 7..9)");
    /* The same input gives another output elsewhere. */
    for (size_t i = 0; i < 400; i++)
        if (in[i] == 8) {
            add(v.t, i, 1);
            break;
        }
    ask(&v);
    assert_null(one(v.t, ASSAY_FP_INPUT_FUNCTION));
    /* All inputs differ: any output is a function of them. */
    for (size_t i = 0; i < 400; i++)
        in[i] = (int8_t)(i % 256);
    pair[0].dims[0] = pair[1].dims[0] = 1;
    ask(&v);
    assert_null(one(v.t, ASSAY_FP_INPUT_FUNCTION));
    given[0] = NULL;
    ask(&v);
    assert_null(one(v.t, ASSAY_FP_INPUT_FUNCTION));
}

/* ---- half a pixel -------------------------------------------------------- */

static void half_a_pixel(void **state)
{
    static const enum assay_dtype types[] = {ASSAY_S8, ASSAY_U8, ASSAY_S16,
                                             ASSAY_F32};

    (void)state;
    for (unsigned k = 0; k < 4; k++) {
        struct assay_tensor t = shape(types[k], "NHWC", 4, 1, 9, 11, 3);
        const struct assay_fingerprint *f;

        fill(&t);
        for (size_t i = 3; i < 297; i++) {
            double v = (get(&t, base, i) + get(&t, base, i - 3)) / 2;

            if (i / 3 % 11 > 0)
                set(&t, got, i, k < 3 ? floor(v) : v);
        }
        ask_tensor(&t);
        f = one(&t, ASSAY_FP_HALF_PIXEL);
        assert_non_null(f);
        assert_int_equal(f->n[0], 2);
        assert_int_equal(f->n[1], -1);
        assert_true(f->x[0] < -0.4 && f->x[0] > -0.6);
        assert_string_equal(text, "moved by half a pixel along W");
        memcpy(got, base, sizeof(got));
        for (size_t i = 0; i < 297 - 36; i++) {
            double v = (get(&t, base, i) + get(&t, base, i + 3) +
                        get(&t, base, i + 33) + get(&t, base, i + 36)) /
                       4;

            if (i / 3 % 11 < 10)
                set(&t, got, i, k < 3 ? floor(v) : v);
        }
        ask_tensor(&t);
        f = one(&t, ASSAY_FP_HALF_PIXEL);
        assert_non_null(f);
        assert_int_equal(f->n[0], 1);
        assert_int_equal(f->n[1], 2);
        assert_string_equal(text, "moved by half a pixel along H and W");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_and_doubled_bias),
        cmocka_unit_test(bias_of_sums),
        cmocka_unit_test(input_zero_point),
        cmocka_unit_test(channels_with_noise),
        cmocka_unit_test(constant_of_a_channel),
        cmocka_unit_test(function_of_the_input),
        cmocka_unit_test(half_a_pixel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
