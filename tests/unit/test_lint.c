/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every check of lint: a model that has the fault, and one that does not.
 *
 * links: tests/support/slices.c lib/core/ lib/engine/range.c
 * links: host-tools/lint/ host-tools/vendor/ host-tools/model/file.c
 * links: host-tools/model/model_info.c
 * links: kernels/ kernels/ref/
 * libs: -ljansson -lyaml -lmbedcrypto -lxxhash
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host-tools/lint/lint.h"
#include "tests/support/slices.h"

/* A convolution x -> y of 4 channels to 4, and what a test changes in it. */
static struct {
    struct assay_slice *s;
    int8_t w[16];
    int32_t bias[4];
    float scales[4];
    int32_t zeros[4];
    int64_t factor;
    uint32_t x, k, b, y;
} f;

static void begin(enum assay_dtype dtype)
{
    const int64_t image[] = {1, 1, 1, 4}, weights[] = {4, 1, 1, 4},
                  four[] = {4};
    uint32_t in[3];

    f.s = slices_new();
    for (int i = 0; i < 16; i++)
        f.w[i] = (int8_t)(i % 4 == i / 4 ? 127 : 50 - 7 * i);
    for (int i = 0; i < 4; i++) {
        f.bias[i] = 100 * i;
        f.scales[i] = 0.01f;
        f.zeros[i] = 0;
    }
    f.x = slices_tensor(f.s, "x", ASSAY_ROLE_INPUT, dtype, 4, image);
    f.k = slices_tensor(f.s, "w", ASSAY_ROLE_CONSTANT, ASSAY_S8, 4, weights);
    f.b = slices_tensor(f.s, "b", ASSAY_ROLE_CONSTANT, ASSAY_S32, 1, four);
    f.y = slices_tensor(f.s, "y", ASSAY_ROLE_ACTIVATION, ASSAY_S16, 4, image);
    slices_quant(f.s, f.x, 0.5f, 0);
    slices_quant(f.s, f.y, 0.25f, 0);
    f.s->tensors[f.k].quant = (struct assay_quant){
        .n = 4, .axis = 0, .scale = f.scales, .zero_point = f.zeros};
    f.s->tensors[f.y].is_output = true;
    in[0] = f.x;
    in[1] = f.k;
    in[2] = f.b;
    slices_layer(f.s, "conv", ASSAY_OP_CONV2D, 3, in, f.y);
    f.s->layers[0].source_op = "Conv";
    f.s->layers[0].p.conv2d = (struct assay_conv2d_params){.stride_h = 1,
                                                           .stride_w = 1,
                                                           .dilation_h = 1,
                                                           .dilation_w = 1,
                                                           .groups = 1,
                                                           .has_bias = true};
    f.factor = slices_f32(0.02f);
    slices_requant(&f.s->layers[0].out_program, &f.factor);
}

/* Is there a finding `id`, at that severity? Ends the model. */
static bool finds(const char *id, enum assay_severity severity,
                  const char *dtypes)
{
    struct assay_findings out;
    struct assay_lint_options o = {.dtypes = dtypes, .dtypes_file = "t.txt"};
    struct assay_err err = {0};
    bool found = false;

    slices_data(f.s, f.k, f.w);
    slices_data(f.s, f.b, f.bias);
    assert_int_equal(assay_lint(&out, f.s, &o, &err), 0);
    for (uint32_t i = 0; i < out.n; i++) {
        if (strcmp(out.v[i].id, id) != 0)
            continue;
        found = true;
        assert_int_equal(out.v[i].severity, severity);
        assert_true(out.v[i].sentence[0] != '\0');
        assert_true(out.count[severity] > 0);
    }
    if (id[0] == '\0') {
        for (uint32_t i = 0; i < out.n; i++)
            print_message("%s\n", out.v[i].sentence);
        found = out.n > 0;
    }
    assay_findings_free(&out);
    assay_slice_free(f.s);
    return found;
}

static void a_clean_model_has_no_finding(void **state)
{
    (void)state;
    begin(ASSAY_S8);
    assert_false(finds("", ASSAY_HINT, NULL));
}

static void scales(void **state)
{
    static const float bad[] = {0.0f, -0.5f, INFINITY, NAN};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        begin(ASSAY_S8);
        slices_quant(f.s, f.x, bad[i], 0);
        assert_true(finds("scale-invalid", ASSAY_CONTRADICTION, NULL));
    }
    begin(ASSAY_S8);
    slices_quant(f.s, f.x, 1.0f, 0);
    assert_true(finds("scale-one", ASSAY_WARNING, NULL));
    begin(ASSAY_S8);
    slices_quant(f.s, f.x, 1.0000001f, 0);
    assert_false(finds("scale-one", ASSAY_WARNING, NULL));
    begin(ASSAY_S8);
    slices_quant(f.s, f.x, 1.1920929e-07f, 0);
    assert_true(finds("scale-tiny", ASSAY_WARNING, NULL));
    begin(ASSAY_S8);
    slices_quant(f.s, f.x, 1.3e-07f, 0);
    assert_false(finds("scale-tiny", ASSAY_WARNING, NULL));
}

static void zero_points(void **state)
{
    static const struct {
        int32_t zero;
        enum assay_dtype dtype;
        bool found;
    } relu[] = {{64, ASSAY_U8, true},
                {0, ASSAY_U8, false},
                {64, ASSAY_S8, true},
                {0, ASSAY_S8, false},
                {-128, ASSAY_S8, false}};

    (void)state;
    begin(ASSAY_S8);
    slices_quant(f.s, f.x, 0.5f, 128);
    assert_true(finds("zero-point-range", ASSAY_CONTRADICTION, NULL));
    begin(ASSAY_S8);
    slices_quant(f.s, f.x, 0.5f, 127);
    assert_false(finds("zero-point-range", ASSAY_CONTRADICTION, NULL));
    for (size_t i = 0; i < sizeof(relu) / sizeof(relu[0]); i++) {
        begin(ASSAY_S8);
        f.s->layers[0].source_op = "Relu";
        f.s->tensors[f.y].dtype = relu[i].dtype;
        slices_quant(f.s, f.y, 0.25f, relu[i].zero);
        assert_int_equal(finds("zero-point-relu", ASSAY_WARNING, NULL),
                         relu[i].found);
    }
    begin(ASSAY_S8);
    f.s->layers[0].source_op = "Relu";
    slices_quant(f.s, f.y, 0.25f, 32767);
    assert_true(finds("zero-point-relu", ASSAY_CONTRADICTION, NULL));
}

static void weights(void **state)
{
    (void)state;
    begin(ASSAY_S8);
    f.s->tensors[f.k].quant.axis = 3;
    assert_true(finds("per-channel-axis", ASSAY_CONTRADICTION, NULL));
    begin(ASSAY_S8);
    /* Full in each input channel, only two output channels hold them. */
    for (int i = 0; i < 16; i++)
        f.w[i] = (int8_t)(i < 2 || (i >= 6 && i < 8) ? 127 : 5);
    assert_true(finds("per-channel-axis", ASSAY_WARNING, NULL));
    begin(ASSAY_S8);
    f.w[3] = -128;
    assert_true(finds("weight-minimum", ASSAY_WARNING, NULL));
    begin(ASSAY_S8);
    f.w[3] = -127;
    assert_false(finds("weight-minimum", ASSAY_WARNING, NULL));
}

static void biases(void **state)
{
    static const int32_t rails[] = {INT32_MAX, INT32_MIN, -INT32_MAX};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        begin(ASSAY_S8);
        f.bias[2] = rails[i];
        assert_true(finds("bias-rail", ASSAY_CONTRADICTION, NULL));
    }
    begin(ASSAY_S8);
    f.bias[2] = INT32_MAX - 1;
    assert_false(finds("bias-rail", ASSAY_CONTRADICTION, NULL));
    begin(ASSAY_S8);
    f.bias[1] = 2000000; /* 4 taps reach 65 thousand */
    assert_true(finds("bias-stuck", ASSAY_WARNING, NULL));
    begin(ASSAY_S8);
    f.bias[1] = 20000;
    assert_false(finds("bias-stuck", ASSAY_WARNING, NULL));
    begin(ASSAY_S8);
    f.s->tensors[f.y].dtype = ASSAY_S8;
    f.bias[1] = 70000; /* times 0.02: 1400 of 255 */
    assert_true(finds("bias-out-of-line", ASSAY_WARNING, NULL));
    begin(ASSAY_S8);
    f.s->tensors[f.y].dtype = ASSAY_S8;
    f.bias[1] = 50000;
    assert_false(finds("bias-out-of-line", ASSAY_WARNING, NULL));
}

static void sums(void **state)
{
    static const int64_t up = 20, down = -20;

    (void)state;
    begin(ASSAY_S8);
    f.bias[0] = INT32_MAX - 1;
    assert_true(finds("accumulator-32", ASSAY_WARNING, NULL));
    begin(ASSAY_S8);
    f.bias[0] = INT32_MAX - 100000;
    assert_false(finds("accumulator-32", ASSAY_WARNING, NULL));
    for (int i = 0; i < 2; i++) { /* 4 taps need 16 bits */
        static const int64_t one = 1;

        begin(ASSAY_S8);
        f.s->layers[0].out_program.n_steps = 0;
        slices_bits(&f.s->layers[0].out_program, ASSAY_STEP_SAT,
                    i == 0 ? 15 : 17);
        slices_shr(&f.s->layers[0].out_program, ASSAY_ROUND_FLOOR, &one);
        assert_int_equal(finds("mid-saturation", ASSAY_HINT, NULL), i == 0);
    }
    for (int i = 0; i < 2; i++) {
        begin(ASSAY_S8);
        f.s->layers[0].out_program.n_steps = 0;
        slices_shr(&f.s->layers[0].out_program, ASSAY_ROUND_FLOOR,
                   i == 0 ? &down : &up);
        assert_int_equal(finds("left-shift-overflow", ASSAY_WARNING, NULL),
                         i == 0);
    }
}

static void factors(void **state)
{
    (void)state;
    begin(ASSAY_S8);
    f.factor = slices_f32(0.04f); /* a shift by one too few */
    assert_true(finds("factor", ASSAY_CONTRADICTION, NULL));
    begin(ASSAY_S8);
    f.factor = slices_f32(0.0205f);
    assert_true(finds("factor", ASSAY_WARNING, NULL));
    begin(ASSAY_S8);
    f.factor = slices_f32(0.020001f);
    assert_false(finds("factor", ASSAY_WARNING, NULL));
    /* Scales say 0.02: 1310 / 2^16 is 0.05 % off, 335544 / 2^24 is not. */
    for (int i = 0; i < 2; i++) {
        static const int64_t shifts[] = {16, 24},
                             multipliers[] = {1310, 335544};

        begin(ASSAY_S8);
        f.s->layers[0].out_program.n_steps = 0;
        slices_step(&f.s->layers[0].out_program, ASSAY_STEP_MUL, 1,
                    &multipliers[i], NULL);
        slices_shr(&f.s->layers[0].out_program, ASSAY_ROUND_HALF_UP,
                   &shifts[i]);
        slices_bits(&f.s->layers[0].out_program, ASSAY_STEP_SAT, 16);
        assert_int_equal(finds("factor", ASSAY_WARNING, NULL), i == 0);
    }
}

/* conv's y and x joined. */
static void join(enum assay_op op, float out)
{
    const int64_t image[] = {1, 1, 1, 4};
    uint32_t in[2], z;

    begin(ASSAY_S8);
    z = slices_tensor(f.s, "z", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 4, image);
    slices_quant(f.s, z, out, 0);
    f.s->tensors[z].is_output = true;
    f.s->tensors[f.y].is_output = false;
    f.s->tensors[f.y].dtype = ASSAY_S8;
    in[0] = f.x;
    in[1] = f.y;
    slices_layer(f.s, "join", op, 2, in, z);
    f.s->layers[1].source_op = "Join";
    if (op == ASSAY_OP_BINARY)
        f.s->layers[1].real_op = ASSAY_REAL_ADD;
}

static void joins(void **state)
{
    (void)state;
    join(ASSAY_OP_CONCAT, 0.2f); /* x has 0.5 */
    assert_true(finds("concat-saturation", ASSAY_WARNING, NULL));
    join(ASSAY_OP_CONCAT, 0.5f);
    assert_false(finds("concat-saturation", ASSAY_WARNING, NULL));
    join(ASSAY_OP_BINARY, 0.1f);
    assert_true(finds("add-saturation", ASSAY_WARNING, NULL));
    join(ASSAY_OP_BINARY, 0.2f);
    assert_false(finds("add-saturation", ASSAY_WARNING, NULL));
}

static void a_shared_module(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const int64_t image[] = {1, 1, 1, 4};
        uint32_t in[3], x, y;
        int64_t other = slices_f32(i == 0 ? 0.08f : 0.03f);

        begin(ASSAY_S8);
        x = slices_tensor(f.s, "x2", ASSAY_ROLE_INPUT, ASSAY_S8, 4, image);
        y = slices_tensor(f.s, "y2", ASSAY_ROLE_ACTIVATION, ASSAY_S16, 4,
                          image);
        slices_quant(f.s, x, i == 0 ? 2.0f : 0.75f, 0);
        slices_quant(f.s, y, 0.25f, 0);
        f.s->tensors[y].is_output = true;
        in[0] = x;
        in[1] = f.k;
        in[2] = f.b;
        slices_layer(f.s, "again", ASSAY_OP_CONV2D, 3, in, y);
        f.s->layers[1].source_op = "Conv";
        f.s->layers[1].p.conv2d = f.s->layers[0].p.conv2d;
        slices_requant(&f.s->layers[1].out_program, &other);
        assert_int_equal(finds("shared-scale", ASSAY_WARNING, NULL), i == 0);
    }
}

/* A layer behind y. */
static uint32_t unary(const char *name, uint32_t from, enum assay_dtype dtype,
                      const char *op, float scale)
{
    const int64_t image[] = {1, 1, 1, 4};
    uint32_t to =
        slices_tensor(f.s, name, ASSAY_ROLE_ACTIVATION, dtype, 4, image);
    uint32_t at = slices_layer(f.s, name, ASSAY_OP_UNARY, 1, &from, to);

    f.s->layers[at].source_op = op;
    if (scale > 0.0f)
        slices_quant(f.s, to, scale, 0);
    return to;
}

static void graphs(void **state)
{
    static const float again[] = {0.25f, 0.5f};

    (void)state;
    begin(ASSAY_S8);
    unary("lost", f.y, ASSAY_F32, "DequantizeLinear", 0.0f);
    assert_true(finds("unreached", ASSAY_WARNING, NULL));
    begin(ASSAY_S8);
    f.s->tensors[unary("kept", f.y, ASSAY_F32, "DequantizeLinear", 0.0f)]
        .is_output = true;
    assert_false(finds("unreached", ASSAY_WARNING, NULL));
    begin(ASSAY_S8);
    f.s->tensors[f.y].dtype = ASSAY_S8;
    assert_true(finds("output-int8", ASSAY_HINT, NULL));
    begin(ASSAY_S8);
    assert_false(finds("output-int8", ASSAY_HINT, NULL));
    for (int i = 0; i < 2; i++) {
        uint32_t real;

        begin(ASSAY_S8);
        real = unary("dq", f.y, ASSAY_F32, "DequantizeLinear", 0.0f);
        f.s->tensors[unary("q", real, ASSAY_S16, "QuantizeLinear", again[i])]
            .is_output = true;
        assert_true(
            finds("quantize-twice", i == 0 ? ASSAY_HINT : ASSAY_WARNING, NULL));
    }
    begin(ASSAY_S8);
    f.s
        ->tensors[unary(
            "q",
            unary("half", unary("dq", f.y, ASSAY_F32, "DequantizeLinear", 0.0f),
                  ASSAY_F32, "Div", 0.0f),
            ASSAY_S16, "QuantizeLinear", 0.5f)]
        .is_output = true;
    assert_false(finds("quantize-twice", ASSAY_WARNING, NULL));
    begin(ASSAY_F32); /* a float input of integer weights */
    assert_true(finds("quantize-missing", ASSAY_WARNING, NULL));
    begin(ASSAY_S8);
    assert_false(finds("quantize-missing", ASSAY_WARNING, NULL));
}

#define HEAD \
    "Each layer out qconfig:\n+------+\n" \
    "| Module Name | Module Type | Input dtype | out dtype |\n" \
    "|-------------+-------------|-------------|-----------|\n"

static void dtypes(void **state)
{
    struct assay_findings out;
    struct assay_lint_options o = {.dtypes = "no table", .dtypes_file = "t"};
    struct assay_err err = {0};

    (void)state;
    begin(ASSAY_S8);
    assert_true(finds("dtype", ASSAY_CONTRADICTION,
                      HEAD "| conv | <class 'Conv2d'> | ['qint8'] | "
                           "['qint8'] |\n"));
    begin(ASSAY_S8);
    assert_false(finds("dtype", ASSAY_CONTRADICTION,
                       HEAD "| conv | <class 'Conv2d'> | ['qint8'] | "
                            "['qint16'] |\r\n"));
    begin(ASSAY_S8);
    f.s->layers[0].name = "/back/conv/Conv";
    assert_true(finds("dtype", ASSAY_CONTRADICTION,
                      HEAD "| back.conv | C | x | torch.float32 |\n"));
    begin(ASSAY_S8);
    assert_true(finds("dtype", ASSAY_CONTRADICTION,
                      HEAD "| other | C | x | qint16 |\n"));
    begin(ASSAY_S8);
    slices_data(f.s, f.k, f.w);
    slices_data(f.s, f.b, f.bias);
    assert_int_equal(assay_lint(&out, f.s, &o, &err), ASSAY_EFORMAT);
    assay_findings_free(&out);
    assay_slice_free(f.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clean_model_has_no_finding),
        cmocka_unit_test(scales),
        cmocka_unit_test(zero_points),
        cmocka_unit_test(weights),
        cmocka_unit_test(biases),
        cmocka_unit_test(sums),
        cmocka_unit_test(factors),
        cmocka_unit_test(joins),
        cmocka_unit_test(a_shared_module),
        cmocka_unit_test(graphs),
        cmocka_unit_test(dtypes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
