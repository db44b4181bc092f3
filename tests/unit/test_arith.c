/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named arithmetic: derivation, what is built, and what is refused with which
 * sentence.
 * links: lib/core/arith*.c lib/core/slice.c lib/core/buf.c lib/core/err.c
 * links: lib/core/hash.c
 * libs: -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/arith.h"

/* One layer over up to three tensors: inputs first, the output last. */
struct fixture {
    struct assay_slice *s;
    float scale[4][3];
    int32_t zero[4][3];
    struct assay_err err;
};

static struct assay_layer *layer(struct fixture *f)
{
    return &f->s->layers[0];
}

static void open_fixture(struct fixture *f, enum assay_op op,
                         enum assay_real_op real_op, uint32_t n_inputs)
{
    uint32_t index;
    memset(f, 0, sizeof(*f));
    f->s = assay_slice_new();
    assert_non_null(f->s);
    for (uint32_t i = 0; i <= n_inputs; i++) {
        assert_int_equal(assay_slice_add_tensor(f->s, &index, NULL), 0);
        struct assay_tensor *t = &f->s->tensors[i];
        t->name = i < n_inputs ? "in" : "out";
        t->dtype = ASSAY_S8;
        t->rank = 4;
        t->dims[0] = t->dims[1] = t->dims[2] = 1;
        t->dims[3] = 3;
        for (int c = 0; c < 3; c++)
            f->scale[i][c] = 0.1f;
        t->quant.n = 1;
        t->quant.axis = -1;
        t->quant.scale = f->scale[i];
        t->quant.zero_point = f->zero[i];
    }
    assert_int_equal(assay_slice_add_layer(f->s, n_inputs, &index, NULL), 0);
    layer(f)->name = "conv1";
    layer(f)->op = op;
    layer(f)->real_op = real_op;
    layer(f)->output = n_inputs;
    for (uint32_t i = 0; i < n_inputs; i++)
        layer(f)->inputs[i] = i;
}

static void close_fixture(struct fixture *f)
{
    assay_slice_free(f->s);
}

/* The layer is refused and its sentence holds `part`; nothing is changed. */
static void refused(struct fixture *f, const char *arith, const char *part)
{
    struct assay_layer before = *layer(f);
    memset(&f->err, 0, sizeof(f->err));
    int rc = assay_arith_apply(f->s, 0, arith, &f->err);
    assert_true(rc < 0);
    assert_int_equal(f->err.code, rc);
    if (!strstr(f->err.text, part) || !strstr(f->err.text, "layer 'conv1'"))
        fail_msg("'%s' lacks '%s'", f->err.text, part);
    assert_memory_equal(&before, layer(f), sizeof(before));
}

static void applied(struct fixture *f, const char *arith)
{
    int rc = assay_arith_apply(f->s, 0, arith, &f->err);
    if (rc)
        fail_msg("%s", f->err.text);
    assert_string_equal(layer(f)->arith, arith);
}

static float operand32(const struct assay_step *s, uint32_t i)
{
    uint32_t u = (uint32_t)s->a[i];
    float value;
    memcpy(&value, &u, sizeof(value));
    return value;
}

static void test_derive(void **state)
{
    static const struct {
        double x;
        int32_t m;
        int s;
    } rows[] = {
        {1.0, 1 << 30, 1},
        {0.5, 1 << 30, 0},
        {0x1p-32, 1 << 30, -31},
        {0x1p-33, 0, 0},
        {1.0 - 0x1p-53, 1 << 30, 1},
        {0.0, 0, 0},
        {-1.0, 0, 0},
        {NAN, 0, 0},
        {INFINITY, 0, 0},
        {0.75, 1610612736, 0},
        {0x1p40, 1 << 30, 41},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int32_t m;
        int s;
        assay_derive_multiplier(rows[i].x, &m, &s);
        assert_int_equal(m, rows[i].m);
        assert_int_equal(s, rows[i].s);
    }
}

static void test_bad_scales(void **state)
{
    static const float bad[] = {0.0f, -1.0f, NAN, INFINITY, -INFINITY};
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        for (int t = 0; t < 3; t++) {
            struct fixture f;
            open_fixture(&f, ASSAY_OP_CONV2D, ASSAY_REAL_CONV, 2);
            f.scale[t][0] = bad[i];
            refused(&f, "fp32_rne", "expected a finite number above 0");
            close_fixture(&f);
        }
    }
}

static void test_bad_tensors(void **state)
{
    struct fixture f;
    (void)state;
    open_fixture(&f, ASSAY_OP_CONV2D, ASSAY_REAL_CONV, 2);
    f.zero[0][0] = 128;
    refused(&f, "fp32_rne", "zero point of tensor 'in' is 128");
    f.zero[0][0] = 0;
    f.s->tensors[0].quant.n = 0;
    refused(&f, "fp32_rne", "has no scale and zero point");
    f.s->tensors[0].quant.n = 3;
    refused(&f, "fp32_rne", "has 3 scales: expected 1 for an activation");
    f.s->tensors[0].quant.n = 1;
    f.s->tensors[1].quant.n = 3; /* of dims[0] == 1 output channels */
    refused(&f, "fp32_rne", "expected 1 or one for each of 1 output channels");
    f.s->tensors[1].quant.n = 1;
    f.s->tensors[0].dtype = ASSAY_F32;
    refused(&f, "fp32_rne", "is float32: expected an integer dtype");
    f.s->tensors[0].dtype = ASSAY_S8;
    layer(&f)->inputs[1] = 77;
    refused(&f, "fp32_rne", "input 1 is tensor 77 of 3");
    layer(&f)->inputs[1] = 1;
    layer(&f)->output = 9;
    refused(&f, "fp32_rne", "output is tensor 9 of 3");
    layer(&f)->output = 2;
    layer(&f)->n_inputs = 1;
    refused(&f, "fp32_rne", "has 1 inputs: expected data and weights");
    layer(&f)->n_inputs = 2;
    layer(&f)->op = ASSAY_OP_POOL;
    refused(&f, "fp32_rne", "expected that of a convolution");
    close_fixture(&f);
}

static void test_bad_names(void **state)
{
    struct fixture f;
    (void)state;
    open_fixture(&f, ASSAY_OP_CONV2D, ASSAY_REAL_CONV, 2);
    refused(&f, "nonsense", "unknown arithmetic 'nonsense': expected one of");
    refused(&f, "ort_fma", "arithmetic 'ort_fma' does not fit");
    refused(&f, "", "unknown arithmetic ''");
    layer(&f)->real_op = ASSAY_REAL_NONE;
    refused(&f, "fp32_rne", "there is no arithmetic to choose");
    layer(&f)->real_op = (enum assay_real_op)200;
    refused(&f, "fp32_rne", "there is no arithmetic to choose");
    layer(&f)->real_op = ASSAY_REAL_CONV;
    layer(&f)->op = ASSAY_OP_SKIPPED;
    refused(&f, "fp32_rne", "there is no arithmetic to choose");
    assert_true(assay_arith_apply(f.s, 1, "fp32_rne", &f.err) < 0);
    assert_string_equal(f.err.text, "layer 1 of 1");
    assert_true(assay_numerics_apply(f.s, "cuda", &f.err) < 0);
    assert_non_null(strstr(f.err.text, "unknown numerics 'cuda'"));
    close_fixture(&f);
}

static void test_bad_domains(void **state)
{
    struct fixture f;
    (void)state;
    /* s = 31 does not exist; 2^40 as a ratio of scales. */
    open_fixture(&f, ASSAY_OP_CONV2D, ASSAY_REAL_CONV, 2);
    f.scale[2][0] = 1e-14f;
    refused(&f, "q31_double", "exponent of policy 'q31_double'");
    f.scale[2][0] = 1e-5f;
    refused(&f, "q16_i64", "expected -31 to 7");
    f.s->tensors[2].dtype = ASSAY_F32;
    f.s->tensors[2].quant.n = 0;
    refused(&f, "q31_double", "has no float output");
    close_fixture(&f);
    open_fixture(&f, ASSAY_OP_BINARY, ASSAY_REAL_ADD, 2);
    f.scale[0][0] = 1e-5f;
    refused(&f, "xnn", "scale ratios of 'xnn'");
    layer(&f)->n_inputs = 1;
    refused(&f, "ort_fma", "has 1 inputs: expected 2");
    close_fixture(&f);
    open_fixture(&f, ASSAY_OP_POOL, ASSAY_REAL_AVG_POOL, 1);
    f.scale[1][0] = 0.2f;
    refused(&f, "div_half_away", "needs equal quantization");
    layer(&f)->p.pool.kh = layer(&f)->p.pool.kw = 3;
    layer(&f)->p.pool.pad_top = 1;
    refused(&f, "f32_sum_scale", "needs the same number of cells");
    close_fixture(&f);
    open_fixture(&f, ASSAY_OP_SOFTMAX, ASSAY_REAL_SOFTMAX, 1);
    f.s->tensors[0].dtype = ASSAY_S16;
    refused(&f, "ort_qlinear_softmax", "expected int8 or uint8");
    refused(&f, "f32_softmax", "does not fit a softmax from int16");
    close_fixture(&f);
    open_fixture(&f, ASSAY_OP_UNARY, ASSAY_REAL_UNARY, 1);
    layer(&f)->real_steps.n_steps = 1;
    layer(&f)->real_steps.steps[0].kind = ASSAY_STEP_MUL;
    refused(&f, "dq_q", "expected a float step");
    layer(&f)->real_steps.steps[0].kind = ASSAY_STEP_FADD;
    refused(&f, "q31_double", "rescales integers");
    layer(&f)->real_steps.n_steps = 10;
    for (int i = 0; i < 10; i++)
        layer(&f)->real_steps.steps[i].kind = ASSAY_STEP_FADD;
    refused(&f, "dq_q", "program is longer than 12 steps");
    layer(&f)->real_steps.n_steps = 0;
    f.s->tensors[0].quant.n = 3;
    f.s->tensors[0].quant.axis = 0;
    refused(&f, "dq_q", "along axis 0");
    close_fixture(&f);
}

static void test_policy_refusals(void **state)
{
    struct assay_arena *arena = assay_arena_new();
    int32_t m = -1;
    int s = 0;
    float scale = 1.0f;
    struct assay_program p = {.n_steps = 7};
    struct assay_err err;
    struct assay_policy_operands ops = {
        .n = 1, .m = &m, .s = &s, .scale32 = &scale, .qmin = -128, .qmax = 127};
    (void)state;
    assert_true(assay_policy_program(arena, "q31_single", &ops, &p, &err) < 0);
    assert_non_null(strstr(err.text, "is -1 in channel 0: expected 0 or more"));
    assert_true(assay_policy_program(arena, "fp64_rne", &ops, &p, &err) < 0);
    assert_non_null(strstr(err.text, "has no binary64 scale"));
    assert_true(assay_policy_program(arena, "best", &ops, &p, &err) < 0);
    assert_string_equal(err.text, "unknown policy 'best'");
    ops.qmax = 1ll << 23;
    assert_true(assay_policy_program(arena, "fp32_magic", &ops, &p, &err) < 0);
    assert_non_null(strstr(err.text, "at most 4194304 from the zero point"));
    ops.qmax = -129;
    assert_true(assay_policy_program(arena, "q31_double", &ops, &p, &err) < 0);
    assert_non_null(strstr(err.text, "expected an ordered range"));
    ops.n = 0;
    assert_true(assay_policy_program(arena, "q31_double", &ops, &p, &err) < 0);
    assert_int_equal(p.n_steps, 7); /* outputs are untouched */
    assay_arena_free(arena);
}

static void test_conv_per_channel(void **state)
{
    struct fixture f;
    (void)state;
    open_fixture(&f, ASSAY_OP_CONV2D, ASSAY_REAL_CONV, 2);
    f.s->tensors[1].dims[0] = 3;
    f.s->tensors[1].quant.n = 3;
    f.s->tensors[1].quant.axis = 0;
    f.scale[1][0] = 0.25f;
    f.scale[1][1] = 0.5f;
    f.scale[1][2] = 1.0f / 3.0f;
    f.scale[2][0] = 0.3f;
    applied(&f, "fp32_rne");
    const struct assay_program *p = &layer(&f)->out_program;
    assert_int_equal(p->n_steps, 5);
    assert_int_equal(p->steps[1].kind, ASSAY_STEP_FMUL);
    assert_int_equal(p->steps[1].n, 3);
    for (uint32_t c = 0; c < 3; c++) {
        float product = 0.1f * f.scale[1][c];
        assert_true(operand32(&p->steps[1], c) == product / 0.3f);
    }
    /* A float output: the accumulator's scale alone. */
    f.s->tensors[2].dtype = ASSAY_F32;
    f.s->tensors[2].quant.n = 0;
    applied(&f, "fp32_rne");
    assert_int_equal(p->n_steps, 2);
    assert_true(operand32(&p->steps[1], 1) == 0.1f * 0.5f);
    close_fixture(&f);
}

static void test_concat_copies_equal(void **state)
{
    struct fixture f;
    (void)state;
    open_fixture(&f, ASSAY_OP_CONCAT, ASSAY_REAL_CONCAT, 2);
    f.scale[1][0] = 0.2f;
    applied(&f, "dq_q");
    assert_int_equal(layer(&f)->n_in_programs, 2);
    assert_int_equal(layer(&f)->in_programs[0].n_steps, 0);
    assert_int_equal(layer(&f)->in_programs[1].n_steps, 7);
    close_fixture(&f);
}

static void test_numerics(void **state)
{
    static const struct {
        const char *numerics, *add, *mul;
    } rows[] = {
        {"onnxruntime-x86", "ort_fma", "fp32_rne_zpin"},
        {"onnxruntime-x86-nofma", "ort_sse", "fp32_rne_zpin"},
        {"onnxruntime-aarch64", "ort_neon", "fp32_rne_zpin_fma"},
    };
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct fixture f;
        assert_string_equal(assay_numerics_name(i), rows[i].numerics);
        open_fixture(&f, ASSAY_OP_BINARY, ASSAY_REAL_ADD, 2);
        assert_int_equal(assay_numerics_apply(f.s, rows[i].numerics, &f.err),
                         0);
        assert_string_equal(layer(&f)->arith, rows[i].add);
        assert_string_equal(f.s->numerics, rows[i].numerics);
        layer(&f)->real_op = ASSAY_REAL_MUL;
        assert_int_equal(assay_numerics_apply(f.s, rows[i].numerics, &f.err),
                         0);
        assert_string_equal(layer(&f)->arith, rows[i].mul);
        f.s->tensors[2].dtype = ASSAY_S32;
        assert_true(assay_numerics_apply(f.s, rows[i].numerics, &f.err) < 0);
        assert_non_null(strstr(f.err.text, "has no arithmetic for a "
                                           "multiplication with int32"));
        layer(&f)->op = ASSAY_OP_SKIPPED; /* left alone */
        assert_int_equal(assay_numerics_apply(f.s, rows[i].numerics, &f.err),
                         0);
        close_fixture(&f);
    }
    assert_null(assay_numerics_name(3));
    assert_true(
        assay_numerics_proved("onnxruntime-x86", ASSAY_REAL_ADD, ASSAY_U8));
    assert_false(
        assay_numerics_proved("onnxruntime-x86", ASSAY_REAL_ADD, ASSAY_S16));
    assert_false(assay_numerics_proved("nash", ASSAY_REAL_ADD, ASSAY_U8));
}

/* A window over the whole image without pads takes the global form. */
static void test_average_pool_forms(void **state)
{
    struct fixture f;
    (void)state;
    open_fixture(&f, ASSAY_OP_POOL, ASSAY_REAL_AVG_POOL, 1);
    struct assay_pool_params *p = &layer(&f)->p.pool;
    p->kh = p->kw = 2;
    p->stride_h = p->stride_w = p->dilation_h = p->dilation_w = 1;
    f.s->tensors[0].dims[1] = f.s->tensors[0].dims[2] = 2;
    assert_int_equal(assay_numerics_apply(f.s, "onnxruntime-x86", &f.err), 0);
    assert_string_equal(layer(&f)->arith, "f32_sum_scale");
    assert_int_equal(p->sum, ASSAY_SUM_INT);
    assert_int_equal(layer(&f)->n_in_programs, 0);
    p->pad_bottom = 1;
    assert_int_equal(assay_numerics_apply(f.s, "onnxruntime-x86", &f.err), 0);
    assert_string_equal(layer(&f)->arith, "f32_seq_zpin");
    assert_int_equal(p->sum, ASSAY_SUM_F32);
    assert_int_equal(p->div, ASSAY_DIV_F32);
    assert_int_equal(layer(&f)->n_in_programs, 1);
    close_fixture(&f);
}

/* Every allocation of a build fails once: an error, never a crash. */
static int allocations_left;
static void *failing_alloc(void *p, size_t n)
{
    if (allocations_left-- <= 0)
        return NULL;
    return assay_alloc_hook ? realloc(p, n) : NULL;
}

static void test_out_of_memory(void **state)
{
    bool done = false;
    (void)state;
    for (int n = 0; n < 50 && !done; n++) {
        struct fixture f;
        open_fixture(&f, ASSAY_OP_CONV2D, ASSAY_REAL_CONV, 2);
        /* Large enough that the arena has to grow for each array. */
        const uint32_t many = 100000;
        float *scale = assay_arena_array(f.s->arena, many, sizeof(*scale));
        int32_t *zero = assay_arena_array(f.s->arena, many, sizeof(*zero));
        for (uint32_t i = 0; i < many; i++)
            scale[i] = 0.5f;
        f.s->tensors[1].dims[0] = many;
        f.s->tensors[1].quant = (struct assay_quant){
            .n = many, .axis = 0, .scale = scale, .zero_point = zero};
        allocations_left = n;
        assay_alloc_hook = failing_alloc;
        int rc = assay_arith_apply(f.s, 0, "q31_double", &f.err);
        assay_alloc_hook = NULL;
        done = rc == 0;
        if (!done)
            assert_int_equal(rc, ASSAY_EMEMORY);
        close_fixture(&f);
    }
    assert_true(done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_derive),
        cmocka_unit_test(test_bad_scales),
        cmocka_unit_test(test_bad_tensors),
        cmocka_unit_test(test_bad_names),
        cmocka_unit_test(test_bad_domains),
        cmocka_unit_test(test_policy_refusals),
        cmocka_unit_test(test_conv_per_channel),
        cmocka_unit_test(test_concat_copies_equal),
        cmocka_unit_test(test_numerics),
        cmocka_unit_test(test_average_pool_forms),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
