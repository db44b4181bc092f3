/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that are one layer: a small slice is built, its arithmetic applied by
 * name, and the kernel that the table picks runs all rows of a group as the
 * elements (or channels) of one tensor.
 */
#include "tests/vectors/vcheck.h"

#include <stdlib.h>
#include <string.h>

#include "lib/core/arith.h"

/* One layer with at most two inputs; freed with the slice. */
struct bench {
    struct assay_slice *s;
    float scale[3];
    int32_t zero[3];
};

static enum assay_dtype dtype_of(int64_t qmin, int64_t qmax)
{
    if (qmin == 0)
        return qmax == 255 ? ASSAY_U8 : ASSAY_U16;
    return qmin == -128 ? ASSAY_S8 : ASSAY_S16;
}

/* Tensors 0..n_inputs-1 are inputs, the last one is the output. */
static void bench_open(struct bench *b, enum assay_op op,
                       enum assay_real_op real_op, uint32_t n_inputs)
{
    uint32_t index;
    b->s = assay_slice_new();
    if (!b->s)
        exit(3);
    for (uint32_t i = 0; i <= n_inputs; i++) {
        if (assay_slice_add_tensor(b->s, &index, NULL))
            exit(3);
        b->s->tensors[i].name = i < n_inputs ? "in" : "out";
    }
    if (assay_slice_add_layer(b->s, n_inputs, &index, NULL))
        exit(3);
    struct assay_layer *l = &b->s->layers[0];
    l->name = "layer";
    l->op = op;
    l->real_op = real_op;
    l->output = n_inputs;
    for (uint32_t i = 0; i < n_inputs; i++)
        l->inputs[i] = i;
}

static void bench_tensor(struct bench *b, uint32_t i, enum assay_dtype dtype,
                         float scale, int64_t zero)
{
    struct assay_tensor *t = &b->s->tensors[i];
    t->dtype = dtype;
    b->scale[i] = scale;
    b->zero[i] = (int32_t)zero;
    if (dtype == ASSAY_F32)
        return;
    t->quant.n = 1;
    t->quant.axis = -1;
    t->quant.scale = &b->scale[i];
    t->quant.zero_point = &b->zero[i];
}

static bool bench_apply(struct bench *b, struct assay_vc_table *t,
                        const char *arith, size_t first, size_t end)
{
    struct assay_err err = {0};
    if (assay_arith_apply(b->s, 0, arith, &err) == 0)
        return true;
    for (size_t i = first; i < end; i++)
        assay_vc_refused(t, t->order[i], err.text);
    return false;
}

/* Elements of a column, or cells of a float column, as stored. */
static void *column(const struct assay_vc_table *t, size_t first, size_t end,
                    size_t col, enum assay_dtype dtype)
{
    size_t size = assay_dtype_size(dtype);
    char *data = assay_vc_alloc(end - first, size);
    for (size_t i = first; i < end; i++) {
        union assay_value v;
        if (dtype == ASSAY_F32)
            v.f = assay_vc_f32(t, t->order[i], col);
        else
            v.i = assay_vc_int(t, t->order[i], col);
        assay_store_values(dtype, data + (i - first) * size, &v, 1);
    }
    return data;
}

static void expect_all(struct assay_vc_table *t, size_t first, size_t end,
                       size_t col, enum assay_dtype dtype, const void *y)
{
    size_t size = assay_dtype_size(dtype);
    for (size_t i = first; i < end; i++) {
        union assay_value v = {0};
        size_t row = t->order[i];
        assay_load_values(dtype, (const char *)y + (i - first) * size, &v, 1);
        if (dtype == ASSAY_F32) {
            uint32_t bits;
            memcpy(&bits, &v.f, sizeof(bits));
            assay_vc_expect(t, row,
                            strtoll(assay_vc_cell(t, row, col), NULL, 16),
                            (int64_t)bits);
        } else {
            assay_vc_expect(t, row, assay_vc_int(t, row, col), v.i);
        }
    }
}

/* ---- add.csv, mul.csv ---------------------------------------------------- */

enum {
    B_MODE,
    B_A,
    B_B,
    B_SA,
    B_ZA,
    B_SB,
    B_ZB,
    B_SC,
    B_ZC,
    B_MIN,
    B_MAX,
    B_EXP
};
#define B_KEY (0xfffu & ~(1u << B_A | 1u << B_B | 1u << B_EXP))

static void binary_group(struct assay_vc_table *t,
                         const struct assay_vc_under_test *u,
                         enum assay_real_op real_op, size_t first, size_t end)
{
    size_t row = t->order[first];
    enum assay_dtype dtype =
        dtype_of(assay_vc_int(t, row, B_MIN), assay_vc_int(t, row, B_MAX));
    struct bench b;
    bench_open(&b, ASSAY_OP_BINARY, real_op, 2);
    for (uint32_t i = 0; i < 3; i++)
        bench_tensor(&b, i, dtype, assay_vc_f32(t, row, B_SA + 2 * i),
                     assay_vc_int(t, row, B_ZA + 2 * i));
    if (bench_apply(&b, t, assay_vc_cell(t, row, B_MODE), first, end)) {
        const struct assay_layer *l = &b.s->layers[0];
        struct assay_binary p = {.a_dtype = dtype,
                                 .b_dtype = dtype,
                                 .y_dtype = dtype,
                                 .rank = 1,
                                 .dims = {(int64_t)(end - first)},
                                 .a_strides = {1},
                                 .b_strides = {1},
                                 .pa = &l->in_programs[0],
                                 .pb = &l->in_programs[1],
                                 .out = &l->out_program,
                                 .combine = l->p.binary.combine,
                                 .k = l->p.binary.k};
        void *a = column(t, first, end, B_A, dtype);
        void *c = column(t, first, end, B_B, dtype);
        void *y = assay_vc_alloc(end - first, assay_dtype_size(dtype));
        assay_pick_binary(&u->kernels, &p)->run(&p, a, c, y);
        expect_all(t, first, end, B_EXP, dtype, y);
        free(a);
        free(c);
        free(y);
    }
    assay_slice_free(b.s);
}

static void binary(struct assay_vc_table *t,
                   const struct assay_vc_under_test *u,
                   enum assay_real_op real_op)
{
    assay_vc_sort(t, B_KEY);
    for (size_t first = 0, end; first < t->rows; first = end) {
        end = assay_vc_group_end(t, B_KEY, first);
        binary_group(t, u, real_op, first, end);
    }
}

void assay_vc_add(struct assay_vc_table *t, const struct assay_vc_under_test *u)
{
    binary(t, u, ASSAY_REAL_ADD);
}

void assay_vc_mul(struct assay_vc_table *t, const struct assay_vc_under_test *u)
{
    binary(t, u, ASSAY_REAL_MUL);
}

/* ---- quantize.csv, dequantize.csv, rescale.csv -- */

static void unary_group(struct assay_vc_table *t,
                        const struct assay_vc_under_test *u, struct bench *b,
                        const char *arith, size_t x_col, size_t exp_col,
                        size_t first, size_t end)
{
    if (!bench_apply(b, t, arith, first, end))
        return;
    struct assay_unary p = {.x_dtype = b->s->tensors[0].dtype,
                            .y_dtype = b->s->tensors[1].dtype,
                            .n = end - first,
                            .channels = end - first,
                            .program = &b->s->layers[0].out_program};
    void *x = column(t, first, end, x_col, p.x_dtype);
    void *y = assay_vc_alloc(end - first, assay_dtype_size(p.y_dtype));
    assay_pick_unary(&u->kernels, &p)->run(&p, x, y);
    expect_all(t, first, end, exp_col, p.y_dtype, y);
    free(x);
    free(y);
}

enum { U_MODE, U_X, U_SCALE, U_ZP, U_MIN, U_MAX, U_EXP };
#define U_KEY (0x7fu & ~(1u << U_X | 1u << U_EXP))

void assay_vc_quantize(struct assay_vc_table *t,
                       const struct assay_vc_under_test *u)
{
    assay_vc_sort(t, U_KEY);
    for (size_t first = 0, end; first < t->rows; first = end) {
        struct bench b;
        end = assay_vc_group_end(t, U_KEY, first);
        size_t row = t->order[first];
        const char *mode = assay_vc_cell(t, row, U_MODE);
        bench_open(&b, ASSAY_OP_UNARY, ASSAY_REAL_UNARY, 1);
        bench_tensor(&b, 0, ASSAY_F32, 1.0f, 0);
        bench_tensor(
            &b, 1,
            dtype_of(assay_vc_int(t, row, U_MIN), assay_vc_int(t, row, U_MAX)),
            assay_vc_f32(t, row, U_SCALE), assay_vc_int(t, row, U_ZP));
        /* Half to even is the quantization of the literal form. */
        if (strcmp(mode, "half_even") == 0)
            mode = "dq_q";
        unary_group(t, u, &b, mode, U_X, U_EXP, first, end);
        assay_slice_free(b.s);
    }
}

enum { D_Q, D_SCALE, D_ZP, D_EXP };
#define D_KEY (1u << D_SCALE | 1u << D_ZP)

void assay_vc_dequantize(struct assay_vc_table *t,
                         const struct assay_vc_under_test *u)
{
    assay_vc_sort(t, D_KEY);
    for (size_t first = 0, end; first < t->rows; first = end) {
        struct bench b;
        end = assay_vc_group_end(t, D_KEY, first);
        size_t row = t->order[first];
        bench_open(&b, ASSAY_OP_UNARY, ASSAY_REAL_UNARY, 1);
        bench_tensor(&b, 0, ASSAY_S16, assay_vc_f32(t, row, D_SCALE),
                     assay_vc_int(t, row, D_ZP));
        bench_tensor(&b, 1, ASSAY_F32, 1.0f, 0);
        unary_group(t, u, &b, "dq_q", D_Q, D_EXP, first, end);
        assay_slice_free(b.s);
    }
}

enum { R_MODE, R_Q, R_SI, R_ZI, R_SO, R_ZO, R_MIN, R_MAX, R_EXP };
#define R_KEY (0x1ffu & ~(1u << R_Q | 1u << R_EXP))

void assay_vc_rescale(struct assay_vc_table *t,
                      const struct assay_vc_under_test *u)
{
    assay_vc_sort(t, R_KEY);
    for (size_t first = 0, end; first < t->rows; first = end) {
        struct bench b;
        end = assay_vc_group_end(t, R_KEY, first);
        size_t row = t->order[first];
        bench_open(&b, ASSAY_OP_UNARY, ASSAY_REAL_UNARY, 1);
        enum assay_dtype dtype =
            dtype_of(assay_vc_int(t, row, R_MIN), assay_vc_int(t, row, R_MAX));
        bench_tensor(&b, 0, dtype, assay_vc_f32(t, row, R_SI),
                     assay_vc_int(t, row, R_ZI));
        bench_tensor(&b, 1, dtype, assay_vc_f32(t, row, R_SO),
                     assay_vc_int(t, row, R_ZO));
        unary_group(t, u, &b, assay_vc_cell(t, row, R_MODE), R_Q, R_EXP, first,
                    end);
        assay_slice_free(b.s);
    }
}

/* ---- avgpool.csv -- */

enum { P_MODE, P_VALUES, P_COUNT, P_SI, P_ZI, P_SO, P_ZO, P_MIN, P_MAX, P_EXP };
#define P_KEY (0x3ffu & ~(1u << P_VALUES | 1u << P_EXP))

/* Reads `count` integers of a cell into every channels-th element. */
static bool spread(const char *cell, size_t count, size_t channels,
                   enum assay_dtype dtype, char *to)
{
    size_t size = assay_dtype_size(dtype);
    for (size_t i = 0; i < count; i++) {
        char *end;
        union assay_value v = {.i = strtoll(cell, &end, 10)};
        if (end == cell)
            return false;
        cell = end;
        assay_store_values(dtype, to + i * channels * size, &v, 1);
    }
    return *cell == '\0';
}

/* One row a channel: 1 x 1 x count x rows, a window of 1 x count. */
static void pool_group(struct assay_vc_table *t,
                       const struct assay_vc_under_test *u, struct bench *b,
                       size_t first, size_t end)
{
    size_t row = t->order[first], channels = end - first;
    size_t count = (size_t)assay_vc_int(t, row, P_COUNT);
    enum assay_dtype dtype = b->s->tensors[0].dtype;
    struct assay_layer *l = &b->s->layers[0];
    l->p.pool = (struct assay_pool_params){.kind = ASSAY_POOL_AVG,
                                           .kh = 1,
                                           .kw = (int32_t)count,
                                           .stride_h = 1,
                                           .stride_w = 1,
                                           .dilation_h = 1,
                                           .dilation_w = 1};
    for (int i = 0; i < 2; i++) {
        int64_t w = i ? 1 : (int64_t)count;
        int64_t dims[4] = {1, 1, w, (int64_t)channels};
        b->s->tensors[i].rank = 4;
        memcpy(b->s->tensors[i].dims, dims, sizeof(dims));
    }
    if (!bench_apply(b, t, assay_vc_cell(t, row, P_MODE), first, end))
        return;
    struct assay_pool p = {.kind = ASSAY_POOL_AVG,
                           .n = 1,
                           .h = 1,
                           .w = (int32_t)count,
                           .c = (int32_t)channels,
                           .oh = 1,
                           .ow = 1,
                           .kh = 1,
                           .kw = (int32_t)count,
                           .stride_h = 1,
                           .stride_w = 1,
                           .dilation_h = 1,
                           .dilation_w = 1,
                           .x_dtype = dtype,
                           .y_dtype = dtype,
                           .x_zero = b->zero[0],
                           .sum = (enum assay_pool_sum)l->p.pool.sum,
                           .div = (enum assay_pool_div)l->p.pool.div,
                           .div_round = (enum assay_round)l->p.pool.div_round,
                           .cell = l->n_in_programs ? &l->in_programs[0] : NULL,
                           .out = &l->out_program};
    size_t size = assay_dtype_size(dtype);
    char *x = assay_vc_alloc(count * channels, size);
    char *y = assay_vc_alloc(channels, size);
    for (size_t c = 0; c < channels; c++)
        if (!spread(assay_vc_cell(t, t->order[first + c], P_VALUES), count,
                    channels, dtype, x + c * size))
            assay_vc_refused(t, t->order[first + c], "other than count values");
    assay_pick_pool(&u->kernels, &p)->run(&p, x, y);
    expect_all(t, first, end, P_EXP, dtype, y);
    free(x);
    free(y);
}

void assay_vc_avgpool(struct assay_vc_table *t,
                      const struct assay_vc_under_test *u)
{
    assay_vc_sort(t, P_KEY);
    for (size_t first = 0, end; first < t->rows; first = end) {
        struct bench b;
        end = assay_vc_group_end(t, P_KEY, first);
        size_t row = t->order[first];
        enum assay_dtype dtype =
            dtype_of(assay_vc_int(t, row, P_MIN), assay_vc_int(t, row, P_MAX));
        bench_open(&b, ASSAY_OP_POOL, ASSAY_REAL_AVG_POOL, 1);
        bench_tensor(&b, 0, dtype, assay_vc_f32(t, row, P_SI),
                     assay_vc_int(t, row, P_ZI));
        bench_tensor(&b, 1, dtype, assay_vc_f32(t, row, P_SO),
                     assay_vc_int(t, row, P_ZO));
        pool_group(t, u, &b, first, end);
        assay_slice_free(b.s);
    }
}

/* ---- softmax.csv -- */

enum { M_DTYPE, M_COUNT, M_VALUES, M_SX, M_SY, M_ZY, M_EXP };

void assay_vc_softmax(struct assay_vc_table *t,
                      const struct assay_vc_under_test *u)
{
    for (size_t row = 0; row < t->rows; row++) {
        struct bench b;
        size_t n = (size_t)assay_vc_int(t, row, M_COUNT);
        enum assay_dtype dtype =
            strcmp(assay_vc_cell(t, row, M_DTYPE), "int8") == 0 ? ASSAY_S8
                                                                : ASSAY_U8;
        bench_open(&b, ASSAY_OP_SOFTMAX, ASSAY_REAL_SOFTMAX, 1);
        bench_tensor(&b, 0, dtype, assay_vc_f32(t, row, M_SX), 0);
        bench_tensor(&b, 1, dtype, assay_vc_f32(t, row, M_SY),
                     assay_vc_int(t, row, M_ZY));
        b.s->tensors[0].rank = b.s->tensors[1].rank = 1;
        b.s->tensors[0].dims[0] = b.s->tensors[1].dims[0] = (int64_t)n;
        t->order[row] = row;
        if (bench_apply(&b, t, "ort_qlinear_softmax", row, row + 1)) {
            struct assay_softmax p = {.kind = ASSAY_SOFTMAX_TABLE,
                                      .x_dtype = dtype,
                                      .y_dtype = dtype,
                                      .rows = 1,
                                      .cols = (int64_t)n,
                                      .table = b.s->layers[0].p.softmax.table,
                                      .y_scale = b.scale[1],
                                      .y_zero = b.zero[1]};
            char *x = assay_vc_alloc(n, 1), *y = assay_vc_alloc(n, 1);
            char *exp = assay_vc_alloc(n, 1);
            if (!spread(assay_vc_cell(t, row, M_VALUES), n, 1, dtype, x) ||
                !spread(assay_vc_cell(t, row, M_EXP), n, 1, dtype, exp))
                assay_vc_refused(t, row, "other than count values");
            assay_pick_softmax(&u->kernels, &p)->run(&p, x, y);
            size_t i = 0; /* the first that differs, or the last */
            while (i + 1 < n && y[i] == exp[i])
                i++;
            assay_vc_expect(t, row, exp[i], y[i]);
            free(x);
            free(y);
            free(exp);
        }
        assay_slice_free(b.s);
    }
}
