/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters of the ops on the wire: the table below says, by its own numbers,
 * which field has which bounds. Every bound comes through, the number beyond
 * it is refused by a sentence that names the field, and no two fields are
 * swapped.
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

#include <stdio.h>
#include <string.h>

#include "proto/assay.pb-c.h"
#include "proto/codec.h"
#include "tests/support/slices.h"

#define FIELD(op, message, field, lo, hi) \
    { \
        ASSAY_OP_##op, #message, #field, \
            offsetof(struct assay_layer, p.message.field), \
            sizeof(((struct assay_layer *)0)->p.message.field), (lo), (hi) \
    }
#define ANY(op, message, field) FIELD(op, message, field, INT32_MIN, INT32_MAX)

static const struct row {
    enum assay_op op;
    const char *message, *field;
    size_t at, size;
    int64_t lo, hi; /* unsigned where lo >= 0 and size < 4 */
} rows[] = {
    ANY(CONV2D, conv2d, stride_h),
    ANY(CONV2D, conv2d, stride_w),
    ANY(CONV2D, conv2d, dilation_h),
    ANY(CONV2D, conv2d, dilation_w),
    ANY(CONV2D, conv2d, pad_top),
    ANY(CONV2D, conv2d, pad_left),
    ANY(CONV2D, conv2d, pad_bottom),
    ANY(CONV2D, conv2d, pad_right),
    ANY(CONV2D, conv2d, groups),
    FIELD(CONV2D, conv2d, has_bias, 0, 1),
    FIELD(CONV2D, conv2d, has_second, 0, 1),
    ANY(GEMM, conv2d, groups),
    ANY(CONV_TRANSPOSE2D, conv2d, stride_h),
    ANY(CONV_TRANSPOSE2D, conv2d, pad_bottom),
    FIELD(CONV_TRANSPOSE2D, conv2d, has_bias, 0, 1),
    FIELD(BINARY, binary, combine, 1, 12),
    FIELD(POOL, pool, kind, 1, 2),
    FIELD(POOL, pool, sum, 0, 2),
    FIELD(POOL, pool, div, 0, 2),
    FIELD(POOL, pool, div_round, 0, 7),
    FIELD(POOL, pool, count_include_pad, 0, 1),
    ANY(POOL, pool, kh),
    ANY(POOL, pool, kw),
    ANY(POOL, pool, stride_h),
    ANY(POOL, pool, stride_w),
    ANY(POOL, pool, dilation_h),
    ANY(POOL, pool, dilation_w),
    ANY(POOL, pool, pad_top),
    ANY(POOL, pool, pad_left),
    ANY(POOL, pool, pad_bottom),
    ANY(POOL, pool, pad_right),
    ANY(CONCAT, concat, axis),
    FIELD(SOFTMAX, softmax, kind, 1, 2),
    FIELD(VIEW, view, offset, INT64_MIN, INT64_MAX),
    FIELD(VIEW, view, dims[0], 1, INT64_MAX),
    FIELD(VIEW, view, dims[1], 1, INT64_MAX),
    FIELD(VIEW, view, strides[0], INT64_MIN, INT64_MAX),
    FIELD(VIEW, view, strides[1], INT64_MIN, INT64_MAX),
    ANY(GATHER, gather, axis),
    FIELD(REDUCE, reduce, kind, 1, 5),
    FIELD(REDUCE, reduce, axes, 1, 1023),
    FIELD(SEGMENT_TABLE, segment, symmetry, 1, 3),
    FIELD(SEGMENT_TABLE, segment, round, 0, 7),
    FIELD(SEGMENT_TABLE, segment, mix_round, 0, 7),
    ANY(RESIZE, resize, step_h),
    ANY(RESIZE, resize, step_w),
    ANY(RESIZE, resize, start_h),
    ANY(RESIZE, resize, start_w),
    FIELD(RESIZE, resize, decimal_bits, 0, 24),
    FIELD(RESIZE, resize, weight_bits, 0, 12),
    FIELD(RESIZE, resize, mid_shift, 0, 24),
    FIELD(GRID_SAMPLE, grid_sample, nearest, 0, 1),
    FIELD(GRID_SAMPLE, grid_sample, absolute, 0, 1),
    FIELD(GRID_SAMPLE, grid_sample, xy, 0, 1),
    FIELD(GRID_SAMPLE, grid_sample, padding, 1, 2),
    FIELD(GRID_SAMPLE, grid_sample, coord_shift, 0, 14),
    FIELD(FUNCTION, function, kind, 1, 17),
    FIELD(NORMALIZE, normalize, kind, 1, 2),
    ANY(NORMALIZE, normalize, axis),
    FIELD(NORMALIZE, normalize, has_gamma, 0, 1),
    FIELD(NORMALIZE, normalize, has_beta, 0, 1),
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static const enum assay_op plain[] = {
    ASSAY_OP_UNARY, ASSAY_OP_RESHAPE, ASSAY_OP_MATMUL, ASSAY_OP_PRELU,
    ASSAY_OP_TABLE, ASSAY_OP_SKIPPED, ASSAY_OP_SELECT};

/* Little-endian, as the codec asks for. */
static void set(struct assay_layer *l, const struct row *r, int64_t v)
{
    memcpy((char *)l + r->at, &v, r->size);
}

static int64_t get(const struct assay_layer *l, const struct row *r)
{
    int64_t v = 0;

    memcpy(&v, (const char *)l + r->at, r->size);
    return r->size == 4 ? (int64_t)(int32_t)v : v;
}

/* The n-th number that the field may hold, another one for each n. */
static int64_t between(const struct row *r, int64_t n)
{
    return r->lo < 0 ? -n * 1000 - 7 : r->lo + n % (r->hi - r->lo + 1);
}

/* One layer of that op with numbers that are let through. */
static struct assay_slice *make(enum assay_op op, int64_t n)
{
    struct assay_slice *s = slices_new();
    struct assay_layer *l;

    slices_tensor(s, "x", ASSAY_ROLE_INPUT, ASSAY_S8, 1, (int64_t[]){4});
    slices_layer(s, "l", op, 1, (uint32_t[]){0}, 0);
    l = &s->layers[0];
    if (op == ASSAY_OP_VIEW)
        l->p.view.rank = 2;
    for (int i = 0; i < ROWS; i++)
        if (rows[i].op == op)
            set(l, &rows[i], between(&rows[i], n + i));
    if (op == ASSAY_OP_RESIZE) /* never below weight_bits */
        l->p.resize.decimal_bits = (uint8_t)(12 + n % 13);
    return s;
}

static const void *nothing(void *self, const uint8_t sha256[32], size_t *size)
{
    (void)self;
    (void)sha256;
    (void)size;
    return NULL;
}

static const struct assay_blob_source no_blobs = {NULL, nothing};

/* To bytes and back; NULL: refused with err. */
static struct assay_slice *there_and_back(const struct assay_slice *s,
                                          struct assay_err *err)
{
    struct assay_slice *out = NULL;
    struct assay_buf text;

    assay_buf_init(&text);
    assert_int_equal(assay_slice_encode(s, &text, err), 0);
    if (assay_slice_decode(&out, text.data, text.len, &no_blobs, 0, err) < 0)
        out = NULL;
    assay_buf_close(&text);
    return out;
}

static void same(enum assay_op op, const struct assay_layer *a,
                 const struct assay_layer *b)
{
    assert_int_equal(a->op, b->op);
    for (int i = 0; i < ROWS; i++)
        if (rows[i].op == op && get(a, &rows[i]) != get(b, &rows[i]))
            fail_msg("%s.%s is %lld, was %lld", rows[i].message, rows[i].field,
                     (long long)get(b, &rows[i]), (long long)get(a, &rows[i]));
}

static void comes_through(const struct row *r, int64_t v)
{
    struct assay_slice *s = make(r->op, r->op), *out;
    struct assay_err err = {0};

    set(&s->layers[0], r, v);
    if (r->op == ASSAY_OP_RESIZE && v < 12 && strcmp(r->field, "mid_shift"))
        s->layers[0].p.resize.weight_bits = (uint8_t)(v > 0 ? v : 0);
    out = there_and_back(s, &err);
    if (out == NULL)
        fail_msg("%s.%s = %lld: %s", r->message, r->field, (long long)v,
                 err.text);
    assert_true(get(&out->layers[0], r) == v);
    same(r->op, &s->layers[0], &out->layers[0]);
    assay_slice_free(out);
    assay_slice_free(s);
}

static void is_refused(const struct row *r, int64_t v)
{
    struct assay_slice *s = make(r->op, r->op);
    struct assay_err err = {0};
    char want[160];

    snprintf(want, sizeof(want),
             "slice: layer 0 'l': %s: field '%s' is %lld, expected %lld..%lld",
             r->message, r->field, (long long)v, (long long)r->lo,
             (long long)r->hi);
    if (strncmp(r->field, "dims", 4) == 0)
        snprintf(want, sizeof(want),
                 "slice: layer 0 'l': view: dimension %c is %lld, expected at "
                 "least 1",
                 r->field[5], (long long)v);
    set(&s->layers[0], r, v);
    assert_null(there_and_back(s, &err));
    assert_int_equal(err.code, ASSAY_EPROTOCOL);
    if (strstr(err.text, want) == NULL)
        fail_msg("'%s' lacks '%s'", err.text, want);
    assay_slice_free(s);
}

static void test_bounds(void **state)
{
    unsigned refused = 0;

    (void)state;
    for (int i = 0; i < ROWS; i++) {
        const struct row *r = &rows[i];

        comes_through(r, r->lo);
        comes_through(r, r->hi);
        if (r->hi != 1 && r->hi < INT32_MAX) { /* 1: a flag */
            is_refused(r, r->hi + 1);
            is_refused(r, r->size == 1 ? UINT8_MAX : UINT16_MAX);
            refused += 2;
        }
        if (r->lo == 1) {
            is_refused(r, 0);
            refused++;
        }
    }
    assert_int_equal(refused, 2 * 18 + 11);
}

/* Every field another number, in 25 ways. */
static void test_no_two_are_swapped(void **state)
{
    (void)state;
    for (int op = ASSAY_OP_CONV2D; op <= ASSAY_OP_SELECT; op++) {
        for (int64_t n = 0; n < 25; n++) {
            struct assay_slice *s = make((enum assay_op)op, n), *out;
            struct assay_err err = {0};

            out = there_and_back(s, &err);
            if (out == NULL)
                fail_msg("%s: %s", assay_op_name((enum assay_op)op), err.text);
            same((enum assay_op)op, &s->layers[0], &out->layers[0]);
            assay_slice_free(out);
            assay_slice_free(s);
        }
    }
}

static void test_view_of_every_rank(void **state)
{
    struct assay_err err = {0};
    struct assay_buf text;
    struct assay_slice *s, *out;

    (void)state;
    for (uint32_t rank = 1; rank <= 10; rank++) {
        struct assay_view_params *v;

        s = make(ASSAY_OP_VIEW, 0);
        v = &s->layers[0].p.view;
        v->rank = rank;
        for (uint32_t i = 0; i < rank; i++) {
            v->dims[i] = 1 + i;
            v->strides[i] = i % 2 ? -(int64_t)i : (int64_t)i << 40;
        }
        out = there_and_back(s, &err);
        assert_non_null(out);
        assert_int_equal(out->layers[0].p.view.rank, rank);
        assert_memory_equal(out->layers[0].p.view.dims, v->dims, 8 * rank);
        assert_memory_equal(out->layers[0].p.view.strides, v->strides,
                            8 * rank);
        assay_slice_free(out);
        assay_slice_free(s);
    }
    s = make(ASSAY_OP_VIEW, 0);
    s->layers[0].p.view.rank = 0;
    assert_null(there_and_back(s, &err));
    assert_non_null(
        strstr(err.text, "view: field 'rank' is 0, expected 1..10"));
    s->layers[0].p.view.rank = 11;
    assay_buf_init(&text);
    assert_int_equal(assay_slice_encode(s, &text, &err), ASSAY_ERANGE);
    assay_buf_close(&text);
    assay_slice_free(s);
}

/* ---- what our encoder does not write --------------------------------------- */

typedef void change_fn(Assay__Pb__Layer *l, uint32_t to);

/* Decodes a layer that was changed in its message; NULL: refused. */
static struct assay_slice *changed(enum assay_op op, change_fn *change,
                                   uint32_t to, struct assay_err *err)
{
    struct assay_slice *s = make(op, 0), *out = NULL;
    Assay__Pb__Slice *message;
    struct assay_buf text;
    uint8_t packed[512];
    size_t n;

    slices_step(&s->layers[0].out_program, ASSAY_STEP_TO_F32, 0, NULL, NULL);
    assay_buf_init(&text);
    assert_int_equal(assay_slice_encode(s, &text, err), 0);
    message = assay__pb__slice__unpack(NULL, text.len, text.data);
    assert_non_null(message);
    change(message->layers[0], to);
    n = assay__pb__slice__get_packed_size(message);
    assert_true(n <= sizeof(packed));
    assay__pb__slice__pack(message, packed);
    assay__pb__slice__free_unpacked(message, NULL);
    assay_buf_close(&text);
    assay_slice_free(s);
    if (assay_slice_decode(&out, packed, n, &no_blobs, 0, err) < 0)
        return NULL;
    return out;
}

static void set_op(Assay__Pb__Layer *l, uint32_t to)
{
    l->op = to;
}
static void set_step(Assay__Pb__Layer *l, uint32_t to)
{
    l->out_program->steps[0]->kind = to;
}
static void set_combine(Assay__Pb__Layer *l, uint32_t to)
{
    l->binary->combine = to;
}
/* Beyond the eight bits of lib/core's field. */
static void set_padding(Assay__Pb__Layer *l, uint32_t to)
{
    l->grid_sample->padding = to;
}
static void set_mid_shift(Assay__Pb__Layer *l, uint32_t to)
{
    l->resize->mid_shift = to;
}
static void set_axes(Assay__Pb__Layer *l, uint32_t to)
{
    l->reduce->axes = to;
}
static void cut_strides(Assay__Pb__Layer *l, uint32_t to)
{
    l->view->n_strides = to;
}
static void cut_dims(Assay__Pb__Layer *l, uint32_t to)
{
    l->view->n_dims = l->view->n_strides = to;
}
static void narrow(Assay__Pb__Layer *l, uint32_t to)
{
    l->resize->decimal_bits = to;
    l->resize->weight_bits = to + 1;
}

/* An empty message of another op is nobody's. */
static void drop(Assay__Pb__Layer *l, uint32_t to)
{
    (void)to;
    assay__pb__conv2d__free_unpacked(l->conv2d, NULL);
    assay__pb__binary__free_unpacked(l->binary, NULL);
    assay__pb__pool__free_unpacked(l->pool, NULL);
    assay__pb__concat__free_unpacked(l->concat, NULL);
    assay__pb__softmax__free_unpacked(l->softmax, NULL);
    assay__pb__view__free_unpacked(l->view, NULL);
    assay__pb__gather__free_unpacked(l->gather, NULL);
    assay__pb__reduce__free_unpacked(l->reduce, NULL);
    assay__pb__segment__free_unpacked(l->segment, NULL);
    assay__pb__resize__free_unpacked(l->resize, NULL);
    assay__pb__grid_sample__free_unpacked(l->grid_sample, NULL);
    assay__pb__function__free_unpacked(l->function, NULL);
    assay__pb__normalize__free_unpacked(l->normalize, NULL);
    l->conv2d = NULL;
    l->binary = NULL;
    l->pool = NULL;
    l->concat = NULL;
    l->softmax = NULL;
    l->view = NULL;
    l->gather = NULL;
    l->reduce = NULL;
    l->segment = NULL;
    l->resize = NULL;
    l->grid_sample = NULL;
    l->function = NULL;
    l->normalize = NULL;
}

#define NEWER ": the sender is newer than this build"

static const struct {
    enum assay_op op;
    change_fn *change;
    uint32_t to;
    const char *sentence; /* NULL: it is let through */
} changes[] = {
    {ASSAY_OP_UNARY, set_op, 0, "layer 0 'l': field 'op' is 0, expected 1..22"},
    {ASSAY_OP_UNARY, set_op, 23, "field 'op' is 23, expected 1..22" NEWER},
    {ASSAY_OP_UNARY, set_op, UINT32_MAX, "field 'op' is 4294967295, expected"},
    {ASSAY_OP_UNARY, set_op, 10, "op view has no parameters, expected some"},
    {ASSAY_OP_UNARY, set_op, 16, NULL},
    {ASSAY_OP_UNARY, set_step, 0, "step 0: field 'step kind' is 0, expected 1"},
    {ASSAY_OP_UNARY, set_step, 20, NULL},
    {ASSAY_OP_UNARY, set_step, 21,
     "output program: step 0: field 'step kind' is 21, expected 1..20" NEWER},
    {ASSAY_OP_BINARY, set_combine, 0, "binary: field 'combine' is 0, expected"},
    {ASSAY_OP_BINARY, set_combine, 13,
     "binary: field 'combine' is 13, expected 1..12" NEWER},
    {ASSAY_OP_GRID_SAMPLE, set_padding, 257,
     "grid_sample: field 'padding' is 257, expected 1..2"},
    {ASSAY_OP_RESIZE, set_mid_shift, 256,
     "resize: field 'mid_shift' is 256, expected 0..24"},
    {ASSAY_OP_REDUCE, set_axes, 65537,
     "reduce: field 'axes' is 65537, expected 1..1023"},
    {ASSAY_OP_VIEW, cut_strides, 1,
     "view: 2 dimensions and 1 strides do not fit each other"},
    {ASSAY_OP_VIEW, cut_strides, 0,
     "view: 2 dimensions and 0 strides do not fit each other"},
    {ASSAY_OP_VIEW, cut_dims, 0, "view: field 'rank' is 0, expected 1..10"},
    {ASSAY_OP_VIEW, cut_dims, 1, NULL},
    {ASSAY_OP_RESIZE, narrow, 7,
     "resize: field 'weight_bits' is 8, expected at most the 7 of "
     "decimal_bits"},
};

static void test_other_senders(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct assay_err err = {0};
        struct assay_slice *s =
            changed(changes[i].op, changes[i].change, changes[i].to, &err);

        if (changes[i].sentence == NULL) {
            if (s == NULL)
                fail_msg("change %zu: %s", i, err.text);
            assay_slice_free(s);
            continue;
        }
        assert_null(s);
        if (strstr(err.text, changes[i].sentence) == NULL)
            fail_msg("'%s' lacks '%s'", err.text, changes[i].sentence);
    }
}

static bool is_plain(enum assay_op op)
{
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        if (plain[i] == op)
            return true;
    return false;
}

static void test_no_parameters(void **state)
{
    unsigned without = 0;

    (void)state;
    for (int i = ASSAY_OP_CONV2D; i <= ASSAY_OP_SELECT; i++) {
        enum assay_op op = (enum assay_op)i;
        struct assay_err err = {0};
        struct assay_slice *s = changed(op, drop, 0, &err);
        char want[80];

        if (is_plain(op)) {
            assert_non_null(s);
            assay_slice_free(s);
            without++;
            continue;
        }
        assert_null(s);
        snprintf(want, sizeof(want),
                 "layer 0 'l': op %s has no parameters, expected some",
                 assay_op_name(op));
        if (strstr(err.text, want) == NULL)
            fail_msg("'%s' lacks '%s'", err.text, want);
    }
    assert_int_equal(without, sizeof(plain) / sizeof(plain[0]));
}

/* A binary32 goes bit by bit. */
static void test_epsilon(void **state)
{
    static const uint32_t bits[] = {0,          0x80000000, 1,
                                    0x3727c5ac, 0x7f800000, 0x7fc00001};

    (void)state;
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        struct assay_slice *s = make(ASSAY_OP_NORMALIZE, 0), *out;
        struct assay_err err = {0};

        memcpy(&s->layers[0].p.normalize.epsilon, &bits[i], sizeof(bits[i]));
        out = there_and_back(s, &err);
        assert_non_null(out);
        assert_memory_equal(&out->layers[0].p.normalize.epsilon, &bits[i],
                            sizeof(bits[i]));
        assay_slice_free(out);
        assay_slice_free(s);
    }
}

/* Both operands of the step that is new, and its rounding. */
static void test_add_scaled(void **state)
{
    static const int64_t a[2] = {-7, 62}, b[2] = {INT64_MIN, -3};
    struct assay_slice *s = make(ASSAY_OP_UNARY, 0), *out;
    struct assay_err err = {0};
    const struct assay_step *step;

    (void)state;
    slices_step(&s->layers[0].out_program, ASSAY_STEP_ADD_SCALED, 2, a, b);
    s->layers[0].out_program.steps[0].round = ASSAY_ROUND_CEIL;
    out = there_and_back(s, &err);
    assert_non_null(out);
    assert_int_equal(out->layers[0].out_program.n_steps, 1);
    step = &out->layers[0].out_program.steps[0];
    assert_int_equal(step->kind, 20);
    assert_int_equal(step->round, ASSAY_ROUND_CEIL);
    assert_int_equal(step->n, 2);
    assert_memory_equal(step->a, a, sizeof(a));
    assert_memory_equal(step->b, b, sizeof(b));
    assay_slice_free(out);
    assay_slice_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_no_two_are_swapped),
        cmocka_unit_test(test_view_of_every_rank),
        cmocka_unit_test(test_other_senders),
        cmocka_unit_test(test_no_parameters),
        cmocka_unit_test(test_epsilon),
        cmocka_unit_test(test_add_scaled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
