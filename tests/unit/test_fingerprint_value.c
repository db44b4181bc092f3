/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fingerprints of value: shifts, ratios, multiples, rates, sides.
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

static const enum assay_dtype types[] = {ASSAY_S8, ASSAY_U8, ASSAY_S16,
                                         ASSAY_S32, ASSAY_F32};
#define TYPES (sizeof(types) / sizeof(types[0]))

static void shifted(void **state)
{
    (void)state;
    for (unsigned k = 0; k < TYPES; k++) {
        struct assay_tensor t = shape(types[k], "", 3, 3, 5, 7);
        const struct assay_fingerprint *f;

        fill(&t);
        for (size_t i = 0; i < 105; i++)
            add(&t, i, -9);
        ask_tensor(&t);
        assert_int_equal(found[0].kind, ASSAY_FP_SHIFTED);
        f = one(&t, ASSAY_FP_SHIFTED);
        assert_int_equal(f->n[0], k < 4 ? -9 : 0);
        assert_true(fabs(f->x[0] + 9) < 1e-6);
        assert_string_equal(text, "shifted by -9 everywhere");
        assert_null(one(&t, ASSAY_FP_RATIO));
        assert_null(one(&t, ASSAY_FP_CHANNEL_CONSTANT));
        add(&t, 50, 1);
        ask_tensor(&t);
        assert_null(one(&t, ASSAY_FP_SHIFTED));
    }
}

/* Of two values one is a limit: what is free is always one, moved up. */
static void two_values(void **state)
{
    struct assay_tensor t = shape(ASSAY_U8, "", 3, 30, 5, 7);

    (void)state;
    for (size_t i = 0; i < 1050; i++) {
        set(&t, base, i, rnd() % 2);
        set(&t, got, i, get(&t, base, i) + (rnd() % 2 ? 1 : -1));
        if (get(&t, got, i) > 2)
            set(&t, got, i, 1);
    }
    ask_tensor(&t);
    assert_null(one(&t, ASSAY_FP_SHIFTED));
    assert_null(one(&t, ASSAY_FP_CHANNEL_CONSTANT));
    /* Each differs at a limit, as it must. */
    for (size_t i = 0; i < 1050; i++)
        set(&t, got, i, get(&t, base, rnd() % 1050));
    ask_tensor(&t);
    assert_null(one(&t, ASSAY_FP_CLAMP_LIMITS));
}

/* What reaches a limit hides how far it was moved. */
static void shifted_into_the_limit(void **state)
{
    struct assay_tensor t = shape(ASSAY_S8, "NHWC", 4, 1, 5, 5, 4);
    const struct assay_fingerprint *f;

    (void)state;
    fill(&t);
    for (size_t i = 0; i < 100; i++) {
        double v = get(&t, base, i) + 100;

        set(&t, got, i, v > 127 ? 127 : v);
    }
    ask_tensor(&t);
    f = one(&t, ASSAY_FP_SHIFTED);
    assert_non_null(f);
    assert_int_equal(f->n[0], 100);
    assert_true(f->matched < f->differing);
    assert_int_equal(f->differing, 100);
}

static void ratios(void **state)
{
    static const double by[] = {2.0, 0.5, 0.75, -1.0};
    static const float scale[] = {0.1f};
    static const int32_t zero[] = {3};

    (void)state;
    for (unsigned k = 0; k < TYPES; k++) {
        for (unsigned j = 0; j < (k == 1 ? 3 : 4); j++) {
            struct assay_tensor t = shape(types[k], "NC", 2, 2, 33);
            const struct assay_fingerprint *f;

            t.quant = (struct assay_quant){1, -1, scale, zero};
            fill(&t);
            for (size_t i = 0; i < 66; i++) {
                double v = 3 + by[j] * (get(&t, base, i) - 3);

                set(&t, got, i, k < 4 ? nearbyint(v) : v);
            }
            ask_tensor(&t);
            f = one(&t, ASSAY_FP_RATIO);
            assert_non_null(f);
            assert_true(fabs(f->x[0] - by[j]) < 0.02);
            /* A thing of its own. */
            set(&t, got, 7, get(&t, got, 7) + 40);
            ask_tensor(&t);
            assert_null(one(&t, ASSAY_FP_RATIO));
        }
    }
}

static void multiples_of_sums(void **state)
{
    struct assay_tensor t = shape(ASSAY_S32, "NC", 2, 3, 33);
    struct assay_tensor l = shape(ASSAY_S64, "C", 1, 33);
    const struct assay_fingerprint *f;

    (void)state;
    fill(&t);
    for (size_t i = 0; i < 99; i += 9)
        add(&t, i, 65536.0 * (i % 2 ? 1 : -2));
    ask_tensor(&t);
    f = one(&t, ASSAY_FP_MULTIPLE);
    assert_non_null(f);
    assert_int_equal(f->n[0], 16);
    assert_string_equal(text, "accumulators differ by multiples of 2^16");
    add(&t, 9, 1);
    ask_tensor(&t);
    assert_null(one(&t, ASSAY_FP_MULTIPLE));
    fill(&l);
    for (size_t i = 0; i < 33; i += 9)
        add(&l, i, 4294967296.0);
    ask_tensor(&l);
    f = one(&l, ASSAY_FP_MULTIPLE);
    assert_non_null(f);
    assert_int_equal(f->n[0], 32);
    /* Numbers that are all multiples anyway. */
    for (size_t i = 0; i < 99; i++) {
        set(&t, base, i, 65536.0 * (rnd() % 50));
        set(&t, got, i, 65536.0 * (rnd() % 50));
    }
    ask_tensor(&t);
    assert_null(one(&t, ASSAY_FP_MULTIPLE));
}

static void multiples_behind_a_scale(void **state)
{
    static const float sx[] = {0.02f}, sw[] = {0.01f, 0.012f}, sy[] = {0.5f};
    static const int32_t zeros[] = {0, 0};
    static int8_t weights[6];
    struct assay_tensor tensors[] = {shape(ASSAY_S8, "NC", 2, 40, 3),
                                     shape(ASSAY_S8, "", 2, 2, 3),
                                     shape(ASSAY_S8, "NC", 2, 40, 2)};
    uint32_t inputs[] = {0, 1};
    struct assay_layer l = {
        .op = ASSAY_OP_GEMM, .n_inputs = 2, .inputs = inputs, .output = 2};
    struct assay_slice s = {
        .n_tensors = 3, .tensors = tensors, .n_layers = 1, .layers = &l};
    struct assay_fingerprint_view v = {
        .t = &tensors[2], .layer = &l, .slice = &s, .base = base, .got = got};

    (void)state;
    tensors[0].quant = (struct assay_quant){1, -1, sx, zeros};
    tensors[1].quant = (struct assay_quant){2, 0, sw, zeros};
    tensors[1].role = ASSAY_ROLE_CONSTANT;
    tensors[1].data = weights;
    tensors[2].quant = (struct assay_quant){1, -1, sy, zeros};
    fill(&tensors[2]);
    for (size_t i = 0; i < 80; i += 3) {
        double unit = 0.02 * (i % 2 ? 0.012 : 0.01) / 0.5;
        double to = get(v.t, base, i) < 0 ? 65536 : -65536;

        add(v.t, i, nearbyint(to * unit));
    }
    ask(&v);
    assert_non_null(one(v.t, ASSAY_FP_MULTIPLE));
    assert_int_equal(one(v.t, ASSAY_FP_MULTIPLE)->n[0], 16);
    add(v.t, 3, 6);
    ask(&v);
    assert_null(one(v.t, ASSAY_FP_MULTIPLE));
}

static void rates(void **state)
{
    struct assay_tensor t = shape(ASSAY_S8, "NHWC", 4, 1, 32, 32, 33);
    size_t n = count(&t);

    (void)state;
    for (unsigned k = 2; k <= 6; k++) {
        const struct assay_fingerprint *f;

        fill(&t);
        seed = k;
        for (size_t i = 0; i < n; i++)
            if (rnd() >> 4 << 12 < UINT32_C(1) << (32 - k))
                add(&t, i, rnd() >> 10 & 1 ? 1 : -1);
        ask_tensor(&t);
        f = one(&t, ASSAY_FP_RATE);
        assert_non_null(f);
        assert_int_equal(f->n[0], k);
        assert_non_null(one(&t, ASSAY_FP_TWO_SIDED));
        assert_null(one(&t, ASSAY_FP_ONE_SIDED));
        add(&t, 0, 5);
        ask_tensor(&t);
        assert_null(one(&t, ASSAY_FP_RATE));
        assert_null(one(&t, ASSAY_FP_TWO_SIDED));
    }
    /* One in three is no power of two; three are too few to be a rate. */
    fill(&t);
    for (size_t i = 0; i < n; i += 3)
        add(&t, i, 1);
    ask_tensor(&t);
    assert_null(one(&t, ASSAY_FP_RATE));
    memcpy(got, base, sizeof(got));
    for (size_t i = 0; i < 3; i++)
        add(&t, i * 5000, 1);
    ask_tensor(&t);
    assert_int_equal(n_found, 0);
}

static void sides(void **state)
{
    (void)state;
    for (unsigned k = 0; k < TYPES; k++) {
        struct assay_tensor t = shape(types[k], "C", 1, 500);
        const struct assay_fingerprint *f;

        fill(&t);
        for (size_t i = 0; i < 500; i += 10)
            add(&t, i, -1 - (double)(rnd() % 3));
        ask_tensor(&t);
        f = one(&t, ASSAY_FP_ONE_SIDED);
        assert_non_null(f);
        assert_int_equal(f->n[0], -1);
        assert_string_equal(text, "one-sided, always lower");
        add(&t, 10, 20);
        ask_tensor(&t);
        assert_null(one(&t, ASSAY_FP_ONE_SIDED));
        assert_null(one(&t, ASSAY_FP_TWO_SIDED));
    }
}

/* Zeros behind a relu cannot be lower. */
static void no_side_at_the_limit(void **state)
{
    struct assay_tensor t = shape(ASSAY_U8, "C", 1, 500);

    (void)state;
    memset(base, 0, sizeof(base));
    memset(got, 0, sizeof(got));
    for (size_t i = 0; i < 500; i += 10)
        set(&t, got, i, 1 + (double)(rnd() % 3));
    ask_tensor(&t);
    assert_null(one(&t, ASSAY_FP_ONE_SIDED));
}

/* A kind that measures says nothing where it cannot; others still do. */
static void nan_elements(void **state)
{
    struct assay_tensor t = shape(ASSAY_F32, "NHWC", 4, 1, 7, 7, 5);
    const float nan = strtof("nan", NULL);

    (void)state;
    fill(&t);
    for (size_t i = 0; i < 245; i++)
        add(&t, i, 2);
    ask_tensor(&t);
    assert_non_null(one(&t, ASSAY_FP_SHIFTED));
    assert_non_null(one(&t, ASSAY_FP_ONE_SIDED));
    memcpy((float *)(void *)got + 100, &nan, 4);
    ask_tensor(&t);
    assert_int_equal(n_found, 0);
    /* All of got. */
    for (size_t i = 0; i < 245; i++)
        memcpy((float *)(void *)got + i, &nan, 4);
    ask_tensor(&t);
    assert_int_equal(n_found, 0);
    /* NaN in the last channel alone: where is known, how much is not. */
    memcpy(got, base, sizeof(got));
    for (size_t i = 4; i < 245; i += 5)
        memcpy((float *)(void *)got + i, &nan, 4);
    ask_tensor(&t);
    assert_non_null(one(&t, ASSAY_FP_TAIL_CHANNELS));
    assert_int_equal(n_found, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shifted),
        cmocka_unit_test(two_values),
        cmocka_unit_test(shifted_into_the_limit),
        cmocka_unit_test(ratios),
        cmocka_unit_test(multiples_of_sums),
        cmocka_unit_test(multiples_behind_a_scale),
        cmocka_unit_test(rates),
        cmocka_unit_test(sides),
        cmocka_unit_test(no_side_at_the_limit),
        cmocka_unit_test(nan_elements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
