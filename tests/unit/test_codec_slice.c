/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices to descriptions and back: nothing is lost, the same slice gives the
 * same bytes, and what is malformed is named with tensor or layer.
 *
 * links: proto/ gen/proto/assay.pb-c.c lib/core/ kernels/requant.c
 * links: tests/support/slices.c
 * libs: -lprotobuf-c -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "proto/codec.h"
#include "tests/support/slices.h"

static const int64_t per_channel[3] = {1, -2, INT64_MIN};
static const int64_t lo = -128, hi = 127;
static const uint8_t weights[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static uint32_t table[256];
static struct assay_field fields[2] = {{"scale", 3, per_channel},
                                       {"pre_shift", 1, &hi}};

/* Every op, every kind of field; not meant to be run. */
static struct assay_slice *make(void)
{
    static const float scales[3] = {0.5f, 0.25f, 2.0f};
    static const int32_t zeros[3] = {0, 1, -1};
    static const int64_t x[4] = {1, 2, 2, 4}, w[4] = {3, 1, 1, 4};
    static const int64_t y[4] = {1, 2, 2, 3};
    struct assay_slice *s = slices_new();
    struct assay_tensor *t;
    uint32_t l;

    s->numerics = "onnxruntime-x86";
    memset(s->model_sha256, 7, sizeof(s->model_sha256));
    slices_tensor(s, "x", ASSAY_ROLE_INPUT, ASSAY_U8, 4, x);
    slices_quant(s, 0, 0.125f, 128);
    slices_tensor(s, "w", ASSAY_ROLE_CONSTANT, ASSAY_S8, 4, w);
    slices_data(s, 1, weights);
    t = &s->tensors[1];
    t->quant = (struct assay_quant){3, 0, scales, zeros};
    assay_sha256(weights, sizeof(weights), t->sha256);
    slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 4, y);
    t = &s->tensors[2];
    t->is_output = true;
    memcpy(t->perm, (uint8_t[]){0, 2, 3, 1}, 4);
    memcpy(t->axes, "NHWC", 5);

    l = slices_layer(s, "conv", ASSAY_OP_CONV2D, 2, (uint32_t[]){0, 1}, 2);
    s->layers[l].p.conv2d =
        (struct assay_conv2d_params){1, 2, 3, 4, 5, 6, 7, 8, 9, true, false};
    s->layers[l].source_op = "QLinearConv";
    s->layers[l].source_index = 12;
    s->layers[l].real_op = ASSAY_REAL_CONV;
    s->layers[l].arith = "fp32_rne";
    s->layers[l].arith_overridden = true;
    s->layers[l].form = "conv";
    s->layers[l].rule = "mul scale; shr post_shift half_up";
    s->layers[l].half = true;
    s->layers[l].fields = fields;
    s->layers[l].n_fields = 2;
    slices_step(&s->layers[l].out_program, ASSAY_STEP_ADD, 3, per_channel,
                NULL);
    s->layers[l].out_program.steps[0].add_mode = ASSAY_ADD_SAT32;
    slices_step(&s->layers[l].out_program, ASSAY_STEP_SHR, 3, per_channel,
                NULL);
    s->layers[l].out_program.steps[1].round = ASSAY_ROUND_HALF_AWAY;
    slices_step(&s->layers[l].out_program, ASSAY_STEP_CLAMP, 1, &lo, &hi);

    l = slices_layer(s, "add", ASSAY_OP_BINARY, 2, (uint32_t[]){2, 2}, 2);
    s->layers[l].p.binary.combine = ASSAY_COMBINE_FFMA;
    s->layers[l].p.binary.k = -0.0f;
    slices_in_programs(s, l, 2);
    slices_step(&s->layers[l].in_programs[1], ASSAY_STEP_TO_F32, 0, NULL, NULL);
    l = slices_layer(s, "pool", ASSAY_OP_POOL, 1, (uint32_t[]){2}, 2);
    s->layers[l].p.pool = (struct assay_pool_params){2, 1, 2, 4, true, 1, 2, 3,
                                                     4, 5, 6, 7, 8,    9, 10};
    l = slices_layer(s, "cat", ASSAY_OP_CONCAT, 3, (uint32_t[]){2, 2, 2}, 2);
    s->layers[l].p.concat.axis = -3;
    l = slices_layer(s, "softmax", ASSAY_OP_SOFTMAX, 1, (uint32_t[]){2}, 2);
    table[255] = 0xdeadbeef;
    s->layers[l].p.softmax = (struct assay_softmax_params){2, table};
    l = slices_layer(s, "relu", ASSAY_OP_UNARY, 1, (uint32_t[]){2}, 2);
    slices_step(&s->layers[l].real_steps, ASSAY_STEP_FCLAMP, 1, &lo, &hi);
    l = slices_layer(s, "fc", ASSAY_OP_GEMM, 2, (uint32_t[]){0, 1}, 2);
    s->layers[l].p.conv2d =
        (struct assay_conv2d_params){1, 1, 1, 1, 0, 0, 0, 0, 1, false, true};
    slices_layer(s, "flat", ASSAY_OP_RESHAPE, 1, (uint32_t[]){2}, 2);
    l = slices_layer(s, "nms", ASSAY_OP_SKIPPED, 1, (uint32_t[]){2}, 2);
    s->layers[l].skip_reason = "op 'NonMaxSuppression' is not known";
    return s;
}

static const void *find(void *self, const uint8_t sha256[32], size_t *size)
{
    uint8_t want[32];

    assay_sha256(weights, sizeof(weights), want);
    *size = sizeof(weights) - (self != NULL ? *(size_t *)self : 0);
    return memcmp(want, sha256, 32) == 0 ? weights : NULL;
}

static const struct assay_blob_source here = {NULL, find};

static void same_program(const struct assay_program *a,
                         const struct assay_program *b)
{
    assert_int_equal(a->n_steps, b->n_steps);
    for (uint32_t i = 0; i < a->n_steps; i++) {
        const struct assay_step *x = &a->steps[i], *y = &b->steps[i];

        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->round, y->round);
        assert_int_equal(x->add_mode, y->add_mode);
        assert_int_equal(x->bits, y->bits);
        assert_int_equal(x->n, y->n);
        assert_int_equal(x->a == NULL, y->a == NULL);
        assert_int_equal(x->b == NULL, y->b == NULL);
        if (x->a != NULL)
            assert_memory_equal(x->a, y->a, x->n * 8);
        if (x->b != NULL)
            assert_memory_equal(x->b, y->b, x->n * 8);
    }
}

static void same_layer(const struct assay_layer *a, const struct assay_layer *b)
{
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->source_op != NULL ? a->source_op : "", b->source_op);
    assert_string_equal(a->arith != NULL ? a->arith : "", b->arith);
    assert_int_equal(a->source_index, b->source_index);
    assert_int_equal(a->op, b->op);
    assert_int_equal(a->n_inputs, b->n_inputs);
    assert_memory_equal(a->inputs, b->inputs, a->n_inputs * 4);
    assert_int_equal(a->output, b->output);
    assert_int_equal(a->real_op, b->real_op);
    assert_int_equal(a->arith_overridden, b->arith_overridden);
    assert_string_equal(a->form != NULL ? a->form : "-",
                        b->form != NULL ? b->form : "-");
    assert_string_equal(a->rule != NULL ? a->rule : "-",
                        b->rule != NULL ? b->rule : "-");
    assert_int_equal(a->half, b->half);
    assert_int_equal(a->n_fields, b->n_fields);
    for (uint32_t i = 0; i < a->n_fields; i++) {
        assert_string_equal(a->fields[i].name, b->fields[i].name);
        assert_int_equal(a->fields[i].n, b->fields[i].n);
        assert_memory_equal(a->fields[i].v, b->fields[i].v, a->fields[i].n * 8);
    }
    assert_int_equal(a->n_in_programs, b->n_in_programs);
    for (uint32_t i = 0; i < a->n_in_programs; i++)
        same_program(&a->in_programs[i], &b->in_programs[i]);
    same_program(&a->out_program, &b->out_program);
    same_program(&a->real_steps, &b->real_steps);
    if (a->op == ASSAY_OP_SOFTMAX) {
        assert_int_equal(a->p.softmax.kind, b->p.softmax.kind);
        assert_memory_equal(a->p.softmax.table, b->p.softmax.table, 1024);
    } else if (a->op == ASSAY_OP_CONV2D || a->op == ASSAY_OP_GEMM) {
        assert_memory_equal(&a->p.conv2d, &b->p.conv2d, sizeof(a->p.conv2d));
    } else if (a->op == ASSAY_OP_POOL) {
        assert_memory_equal(&a->p.pool, &b->p.pool, sizeof(a->p.pool));
    } else if (a->op == ASSAY_OP_BINARY) {
        assert_int_equal(a->p.binary.combine, b->p.binary.combine);
        assert_memory_equal(&a->p.binary.k, &b->p.binary.k, 4);
    } else if (a->op == ASSAY_OP_CONCAT) {
        assert_int_equal(a->p.concat.axis, b->p.concat.axis);
    }
}

static void same_tensor(const struct assay_tensor *a,
                        const struct assay_tensor *b)
{
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->role, b->role);
    assert_int_equal(a->is_output, b->is_output);
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(a->rank, b->rank);
    assert_memory_equal(a->dims, b->dims, sizeof(a->dims));
    assert_memory_equal(a->perm, b->perm, a->rank);
    assert_string_equal(a->axes, b->axes);
    assert_int_equal(a->quant.n, b->quant.n);
    if (a->quant.n > 0) {
        assert_memory_equal(a->quant.scale, b->quant.scale, a->quant.n * 4);
        assert_memory_equal(a->quant.zero_point, b->quant.zero_point,
                            a->quant.n * 4);
        assert_int_equal(a->quant.n > 1 ? a->quant.axis : -1, b->quant.axis);
    }
    assert_int_equal(a->size, b->size);
    if (a->role == ASSAY_ROLE_CONSTANT) {
        assert_memory_equal(a->sha256, b->sha256, 32);
        assert_memory_equal(a->data, b->data, a->size);
    }
}

static void test_there_and_back(void **state)
{
    struct assay_slice *a = make(), *b = NULL;
    struct assay_buf first, second;
    struct assay_err err = {0};

    (void)state;
    assay_buf_init(&first);
    assay_buf_init(&second);
    assert_int_equal(assay_slice_encode(a, &first, &err), 0);
    if (assay_slice_decode(&b, first.data, first.len, &here, 0, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(b->model_name, a->model_name);
    assert_string_equal(b->model_format, a->model_format);
    assert_string_equal(b->numerics, a->numerics);
    assert_memory_equal(b->model_sha256, a->model_sha256, 32);
    assert_int_equal(b->n_tensors, a->n_tensors);
    assert_int_equal(b->n_layers, a->n_layers);
    for (uint32_t i = 0; i < a->n_tensors; i++)
        same_tensor(&a->tensors[i], &b->tensors[i]);
    for (uint32_t i = 0; i < a->n_layers; i++)
        same_layer(&a->layers[i], &b->layers[i]);
    assert_string_equal(b->layers[8].skip_reason, a->layers[8].skip_reason);
    assert_string_equal(b->layers[0].skip_reason, "");
    /* The same slice, the same identity. */
    assert_int_equal(assay_slice_encode(b, &second, &err), 0);
    assert_int_equal(first.len, second.len);
    assert_memory_equal(first.data, second.data, first.len);
    assay_slice_free(a);
    assay_slice_free(b);
    assay_buf_close(&first);
    assay_buf_close(&second);
}

/* ---- what is malformed: a field is spoilt, then encoded ------------------- */

typedef void spoil_fn(struct assay_slice *s);

static void bad_role(struct assay_slice *s)
{
    s->tensors[0].role = 9;
}
static void bad_dtype(struct assay_slice *s)
{
    s->tensors[0].dtype = 0;
}
static void bad_dim(struct assay_slice *s)
{
    s->tensors[0].dims[2] = 0;
}
static void bad_product(struct assay_slice *s)
{
    s->tensors[0].dims[2] = s->tensors[0].dims[3] = INT64_C(1) << 40;
}
static void bad_perm(struct assay_slice *s)
{
    s->tensors[0].perm[1] = 0;
}
static void bad_axes(struct assay_slice *s)
{
    memcpy(s->tensors[0].axes, "NHW", 4);
}
static void bad_scale(struct assay_slice *s)
{
    static const float scale = -1.0f;

    s->tensors[0].quant.scale = &scale;
}
static void bad_axis(struct assay_slice *s)
{
    s->tensors[1].quant.axis = 3;
}
static void bad_digest(struct assay_slice *s)
{
    s->tensors[1].sha256[5] ^= 1;
}
static void bad_size(struct assay_slice *s)
{
    s->tensors[1].size = 11;
}
static void bad_shape(struct assay_slice *s)
{
    s->tensors[1].dims[3] = 5;
}
static void bad_input(struct assay_slice *s)
{
    s->layers[0].inputs[1] = 3;
}
static void bad_output(struct assay_slice *s)
{
    s->layers[1].output = 3;
}
static void bad_real(struct assay_slice *s)
{
    s->layers[0].real_op = 77;
}
static void bad_step(struct assay_slice *s)
{
    s->layers[0].out_program.steps[1].kind = 99;
}
static void bad_round(struct assay_slice *s)
{
    s->layers[0].out_program.steps[1].round = 99;
}
static void bad_mode(struct assay_slice *s)
{
    s->layers[0].out_program.steps[0].add_mode = 3;
}
static void bad_bits(struct assay_slice *s)
{
    s->layers[0].out_program.steps[0].bits = 64;
}
static void bad_combine(struct assay_slice *s)
{
    s->layers[1].p.binary.combine = 13;
}
static void bad_pool(struct assay_slice *s)
{
    s->layers[2].p.pool.kind = 3;
}
static void bad_softmax(struct assay_slice *s)
{
    s->layers[4].p.softmax.kind = 0;
}

static const struct {
    spoil_fn *spoil;
    const char *sentence;
} spoilt[] = {
    {bad_role, "tensor 0 'x': field 'role' is 9, expected 0..2"},
    {bad_dtype, "tensor 0 'x': field 'dtype' is 0, expected 1..7"},
    {bad_dim, "tensor 0 'x': dimension 2 is 0, expected at least 1"},
    {bad_product, "tensor 0 'x': "},
    {bad_perm, "tensor 0 'x': field 'perm' is 0, expected a permutation"},
    {bad_axes, "tensor 0 'x': field 'axes length' is 3"},
    {bad_scale, "tensor 0 'x': scale 0 is -1, expected a finite value"},
    {bad_axis, "tensor 1 'w': 3 scales do not fit quantization axis 3"},
    {bad_digest, "tensor 1 'w': constant sha256:"},
    {bad_size, "tensor 1 'w': constant sha256:"},
    {bad_shape, "tensor 1 'w': constant of 12 bytes, its shape and type "},
    {bad_input, "layer 0 'conv': field 'input' is 3, expected an index"},
    {bad_output, "layer 1 'add': field 'output' is 3, expected an index"},
    {bad_real, "layer 0 'conv': field 'real_op' is 77, expected 0..8"},
    {bad_step, "layer 0 'conv': output program: step 1: field 'step kind'"},
    {bad_round, "output program: step 1: field 'round' is 99"},
    {bad_mode, "output program: step 0: field 'add_mode' is 3"},
    {bad_bits, "output program: step 0: field 'bits' is 64"},
    {bad_combine,
     "layer 1 'add': binary: field 'combine' is 13, expected 1..12: the sender "
     "is newer than this build"},
    {bad_pool, "layer 2 'pool': pool: field 'kind' is 3, expected 1..2"},
    {bad_softmax,
     "layer 4 'softmax': softmax: field 'kind' is 0, expected 1..2"},
};

static void test_malformed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
        struct assay_slice *s = make(), *out = NULL;
        struct assay_err err = {0};
        struct assay_buf text;

        spoilt[i].spoil(s);
        assay_buf_init(&text);
        assert_int_equal(assay_slice_encode(s, &text, &err), 0);
        assert_true(
            assay_slice_decode(&out, text.data, text.len, &here, 0, &err) < 0);
        if (strstr(err.text, spoilt[i].sentence) == NULL)
            fail_msg("'%s' lacks '%s'", err.text, spoilt[i].sentence);
        assert_null(out);
        assay_buf_close(&text);
        assay_slice_free(s);
    }
}

/* Cut anywhere, and any byte changed: refused or taken, never a crash. */
static void test_damage(void **state)
{
    struct assay_slice *s = make();
    struct assay_err err = {0};
    struct assay_buf text;

    (void)state;
    assay_buf_init(&text);
    assert_int_equal(assay_slice_encode(s, &text, &err), 0);
    for (size_t n = 0; n < text.len; n++) {
        struct assay_slice *out = NULL;
        uint8_t *copy = malloc(n + 1);

        memcpy(copy, text.data, n);
        if (assay_slice_decode(&out, copy, n, &here, 0, &err) == 0)
            assay_slice_free(out);
        free(copy);
        text.data[n] ^= 0xff;
        out = NULL;
        if (assay_slice_decode(&out, text.data, text.len, &here, 0, &err) == 0)
            assay_slice_free(out);
        text.data[n] ^= 0xff;
    }
    assay_buf_close(&text);
    assay_slice_free(s);
}

/* Empty layers of two bytes each would become a kilobyte each. */
static void test_budget(void **state)
{
    size_t n = 200000;
    uint8_t *text = malloc(n);
    struct assay_slice *out = NULL;
    struct assay_err err = {0};

    (void)state;
    for (size_t i = 0; i < n; i += 2) {
        text[i] = 0x2a; /* tensors */
        text[i + 1] = 0;
    }
    assert_int_equal(assay_slice_decode(&out, text, n, &here, 1u << 20, &err),
                     ASSAY_EMEMORY);
    assert_null(out);
    free(text);
}

static void test_wrong_blob(void **state)
{
    struct assay_slice *s = make(), *out = NULL;
    size_t cut = 1;
    struct assay_blob_source other = {&cut, find};
    struct assay_err err = {0};
    struct assay_buf text;

    (void)state;
    assay_buf_init(&text);
    assert_int_equal(assay_slice_encode(s, &text, &err), 0);
    assert_true(assay_slice_decode(&out, text.data, text.len, &other, 0, &err) <
                0);
    assert_non_null(strstr(err.text, "has 11 bytes, the slice says 12"));
    assay_buf_close(&text);
    assay_slice_free(s);
}

/* The n-th allocation fails, for every n: EMEMORY, nothing leaks, nothing is
 * half made. */
static long allocations_left;

static void *failing(void *p, size_t n)
{
    if (n == 0) {
        free(p);
        return NULL;
    }
    return allocations_left-- > 0 ? realloc(p, n) : NULL;
}

static void test_no_memory(void **state)
{
    struct assay_slice *s, *out = NULL;
    struct assay_err err = {0};
    struct assay_buf text;
    long n;
    int rc = ASSAY_EMEMORY;

    (void)state;
    assay_alloc_hook = failing;
    allocations_left = LONG_MAX;
    s = make();
    assay_buf_init(&text);
    for (n = 0; rc < 0 && n < 10000; n++) {
        allocations_left = n;
        rc = assay_slice_encode(s, &text, &err);
        assert_true(rc == 0 || rc == ASSAY_EMEMORY);
        assert_true(rc == 0 || text.len == 0);
    }
    assert_int_equal(rc, 0);
    assert_true(n > 2);
    rc = ASSAY_EMEMORY;
    for (n = 0; rc < 0 && n < 10000; n++) {
        allocations_left = n;
        rc = assay_slice_decode(&out, text.data, text.len, &here, 0, &err);
        assert_true(rc == 0 || rc == ASSAY_EMEMORY);
        assert_true(rc == 0 || out == NULL);
    }
    assert_int_equal(rc, 0);
    assert_true(n > 50);
    assay_slice_free(out);
    assay_slice_free(s);
    assay_buf_close(&text);
    assay_alloc_hook = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_damage),         cmocka_unit_test(test_budget),
        cmocka_unit_test(test_wrong_blob),     cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
