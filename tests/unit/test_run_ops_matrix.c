/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs on the convolution kernels besides conv2d and gemm: matmul and
 * conv_transpose2d against plain loops, and convolutions with the epilogues of
 * fixed-point models. Each on the scalar kernels and on the CPU's best.
 *
 * links: lib/core/slice_part.c lib/core/probe.c
 * links: tests/support/slices.c tests/support/runs.c lib/core/slice.c
 * links: lib/core/buf.c lib/core/err.c
 * links: lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * links: lib/core/hash.c
 * libs: -lxxhash -lmbedcrypto
 */
#include "lib/engine/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/cpu.h"
#include "kernels/requant.h"
#include "tests/support/runs.h"
#include "tests/support/slices.h"

static uint64_t seed = 5;

static void fill(void *to, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        ((uint8_t *)to)[i] = (uint8_t)(seed >> 11);
    }
}

/* Runs with both tables; the output's bytes equal `want`. */
static void gives(struct assay_slice *s, const void *const *given,
                  const void *want, size_t bytes)
{
    const uint32_t flags[] = {0, assay_cpu_probe()};
    for (int i = 0; i < 2; i++) {
        struct runs r;
        runs_init(&r, s);
        r.flags = flags[i];
        for (uint32_t t = 0; t < 3; t++)
            r.given[t] = given[t];
        int rc = runs_run(&r);
        assert_string_equal(r.err.text, "");
        assert_int_equal(rc, 0);
        assert_non_null(r.out[0]);
        assert_memory_equal(r.out[0], want, bytes);
        runs_close(&r);
    }
    assay_slice_free(s);
}

static int64_t element(enum assay_dtype dtype, const void *p, size_t i)
{
    return dtype == ASSAY_S8   ? ((const int8_t *)p)[i]
           : dtype == ASSAY_U8 ? ((const uint8_t *)p)[i]
                               : ((const int16_t *)p)[i];
}

/* ---- matmul --------------------------------------------------------------------- */

#define MAX_BATCHES 6
#define MAX_CELLS 4000

struct product {
    enum assay_dtype a, b;
    int32_t a_zero, b_zero;
    uint32_t a_rank, b_rank;
    int64_t a_dims[4], b_dims[4];
    uint32_t batches;
    uint32_t a_of[MAX_BATCHES], b_of[MAX_BATCHES]; /* matrices of a batch */
    bool constant;                                 /* b is */
};

static void multiply(const struct product *q, const void *a, const void *b,
                     int32_t *y)
{
    int64_t m = q->a_dims[q->a_rank - 2], k = q->a_dims[q->a_rank - 1];
    int64_t n = q->b_dims[q->b_rank - 1];
    for (uint32_t i = 0; i < q->batches; i++)
        for (int64_t r = 0; r < m; r++)
            for (int64_t o = 0; o < n; o++) {
                int64_t sum = 0;
                for (int64_t t = 0; t < k; t++)
                    sum += (element(q->a, a,
                                    (size_t)((q->a_of[i] * m + r) * k + t)) -
                            q->a_zero) *
                           (element(q->b, b,
                                    (size_t)((q->b_of[i] * k + t) * n + o)) -
                            q->b_zero);
                *y++ = (int32_t)sum;
            }
}

static void matmul_case(const struct product *q, uint32_t y_rank,
                        const int64_t *y_dims)
{
    static int16_t a[MAX_CELLS], b[MAX_CELLS];
    static int32_t want[MAX_CELLS];
    struct slices_operand in[2] = {{.dtype = q->a, .rank = q->a_rank},
                                   {.dtype = q->b, .rank = q->b_rank}};
    struct slices_operand y = {.dtype = ASSAY_S32, .rank = y_rank};
    fill(a, sizeof(a));
    fill(b, sizeof(b));
    memcpy(in[0].dims, q->a_dims, sizeof(q->a_dims));
    memcpy(in[1].dims, q->b_dims, sizeof(q->b_dims));
    memcpy(y.dims, y_dims, y_rank * sizeof(*y_dims));
    in[1].data = q->constant ? b : NULL;
    struct assay_slice *s = slices_one(ASSAY_OP_MATMUL, 2, in, y);
    slices_quant(s, 0, 1, q->a_zero);
    slices_quant(s, 1, 1, q->b_zero);
    multiply(q, a, b, want);
    size_t bytes = sizeof(*want);
    for (uint32_t i = 0; i < y_rank; i++)
        bytes *= (size_t)y_dims[i];
    assert_true(bytes <= sizeof(want));
    gives(s, (const void *[]){a, b, NULL}, want, bytes);
}

static void matmul_of_two(void **state)
{
    (void)state;
    struct product q = {.a = ASSAY_S8,
                        .b = ASSAY_S8,
                        .a_rank = 2,
                        .b_rank = 2,
                        .a_dims = {5, 33},
                        .b_dims = {33, 7},
                        .batches = 1};
    matmul_case(&q, 2, (int64_t[]){5, 7});
    q.constant = true;
    matmul_case(&q, 2, (int64_t[]){5, 7});
    q = (struct product){.a = ASSAY_U8,
                         .b = ASSAY_U8,
                         .a_zero = 200,
                         .b_zero = 3,
                         .a_rank = 2,
                         .b_rank = 2,
                         .a_dims = {1, 1},
                         .b_dims = {1, 1},
                         .batches = 1};
    matmul_case(&q, 2, (int64_t[]){1, 1});
}

/* b alone has no batches: rows are joined. Then both, broadcast crosswise. */
static void matmul_of_batches(void **state)
{
    (void)state;
    struct product q = {.a = ASSAY_S8,
                        .b = ASSAY_U8,
                        .a_zero = -7,
                        .b_zero = 128,
                        .a_rank = 4,
                        .b_rank = 2,
                        .a_dims = {2, 3, 4, 9},
                        .b_dims = {9, 10},
                        .batches = 6,
                        .a_of = {0, 1, 2, 3, 4, 5}};
    matmul_case(&q, 4, (int64_t[]){2, 3, 4, 10});
    q = (struct product){.a = ASSAY_S8,
                         .b = ASSAY_S8,
                         .a_rank = 4,
                         .b_rank = 4,
                         .a_dims = {2, 1, 4, 9},
                         .b_dims = {1, 3, 9, 10},
                         .batches = 6,
                         .a_of = {0, 0, 0, 1, 1, 1},
                         .b_of = {0, 1, 2, 0, 1, 2}};
    matmul_case(&q, 4, (int64_t[]){2, 3, 4, 10});
    q = (struct product){.a = ASSAY_S8,
                         .b = ASSAY_S8,
                         .a_rank = 2,
                         .b_rank = 3,
                         .a_dims = {4, 9},
                         .b_dims = {3, 9, 10},
                         .batches = 3,
                         .b_of = {0, 1, 2},
                         .constant = true};
    matmul_case(&q, 3, (int64_t[]){3, 4, 10});
    /* The same b for two neighbours: packed once, used twice. */
    q = (struct product){.a = ASSAY_S8,
                         .b = ASSAY_S8,
                         .a_rank = 4,
                         .b_rank = 4,
                         .a_dims = {2, 2, 4, 9},
                         .b_dims = {2, 1, 9, 10},
                         .batches = 4,
                         .a_of = {0, 1, 2, 3},
                         .b_of = {0, 0, 1, 1}};
    matmul_case(&q, 4, (int64_t[]){2, 2, 4, 10});
}

/* int16 by int8: the largest products of 600 add up beyond int32. */
static void matmul_of_int16(void **state)
{
    int16_t a[600];
    int8_t b[600], want[1] = {75};
    const int64_t shift = 25;
    (void)state;
    struct slices_operand in[2] = {{ASSAY_S16, 2, {1, 600}, NULL},
                                   {ASSAY_S8, 2, {600, 1}, NULL}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_MATMUL, 2, in,
                   (struct slices_operand){ASSAY_S8, 2, {1, 1}, NULL});
    for (int i = 0; i < 600; i++) {
        a[i] = -32768;
        b[i] = -128;
    }
    /* 600 * 2^22 / 2^25 = 75 */
    slices_shr(&s->layers[0].out_program, ASSAY_ROUND_FLOOR, &shift);
    slices_bits(&s->layers[0].out_program, ASSAY_STEP_SAT, 8);
    gives(s, (const void *[]){a, b, NULL}, want, sizeof(want));
}

/* One program operand for each of the N columns; halves go up. */
static void matmul_has_channels(void **state)
{
    const int8_t a[] = {1, 2, 3, -4}, b[] = {5, 6, 7, 8};
    const int64_t shifts[] = {1, 2};
    /* [1 2; 3 -4] [5 6; 7 8] = [19 22; -13 -14]; 9.5, 5.5; -6.5, -3.5 */
    const int8_t want[] = {10, 6, -6, -3};
    (void)state;
    struct slices_operand in[2] = {{ASSAY_S8, 2, {2, 2}, NULL},
                                   {ASSAY_S8, 2, {2, 2}, NULL}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_MATMUL, 2, in,
                   (struct slices_operand){ASSAY_S8, 2, {2, 2}, NULL});
    slices_shr(&s->layers[0].out_program, ASSAY_ROUND_HALF_UP, shifts);
    s->layers[0].out_program.steps[0].n = 2;
    slices_bits(&s->layers[0].out_program, ASSAY_STEP_SAT, 8);
    gives(s, (const void *[]){a, b, NULL}, want, sizeof(want));
}

/* ---- conv_transpose2d ------------------------------------------------------------- */

struct shape {
    enum assay_dtype x;
    int32_t zero, n, h, w, c, oc, kh, kw, sh, sw, dh, dw, pt, pl, pb, pr, oph,
        opw, groups;
};

#define X_MAX 4000

/* By its definition: each element is added, weighted, where it belongs. */
static void scatter(const struct shape *q, const void *x, const int8_t *w,
                    const int32_t *bias, int32_t oh, int32_t ow, int32_t *y)
{
    int32_t cg = q->c / q->groups, ocg = q->oc / q->groups;
    for (int32_t i = 0; i < q->n * oh * ow * q->oc; i++)
        y[i] = bias[i % q->oc];
    for (int32_t n = 0; n < q->n; n++)
        for (int32_t i = 0; i < q->h * q->w * q->c; i++) {
            int32_t c = i % q->c, ix = i / q->c % q->w, iy = i / q->c / q->w;
            size_t at = (size_t)(n * q->h * q->w * q->c + i);
            int32_t v = (int32_t)element(q->x, x, at) - q->zero;
            for (int32_t t = 0; t < q->kh * q->kw * ocg; t++) {
                int32_t o = c / cg * ocg + t % ocg;
                int32_t kx = t / ocg % q->kw, ky = t / ocg / q->kw;
                int32_t yy = iy * q->sh + ky * q->dh - q->pt;
                int32_t xx = ix * q->sw + kx * q->dw - q->pl;
                if (yy < 0 || yy >= oh || xx < 0 || xx >= ow)
                    continue;
                y[((n * oh + yy) * ow + xx) * q->oc + o] +=
                    v * w[((o * q->kh + ky) * q->kw + kx) * cg + c % cg];
            }
        }
}

static void transposed_case(const struct shape *q)
{
    static int16_t x[X_MAX];
    static int8_t w[X_MAX];
    static int32_t bias[64], want[20000];
    int32_t oh =
        (q->h - 1) * q->sh + (q->kh - 1) * q->dh + 1 - q->pt - q->pb + q->oph;
    int32_t ow =
        (q->w - 1) * q->sw + (q->kw - 1) * q->dw + 1 - q->pl - q->pr + q->opw;
    fill(x, sizeof(x));
    fill(w, sizeof(w));
    fill(bias, sizeof(bias));
    for (int i = 0; i < 64; i++)
        bias[i] /= 1024;
    struct slices_operand in[3] = {
        {q->x, 4, {q->n, q->h, q->w, q->c}, NULL},
        {ASSAY_S8, 4, {q->oc, q->kh, q->kw, q->c / q->groups}, w},
        {ASSAY_S32, 1, {q->oc}, bias}};
    struct assay_slice *s = slices_one(
        ASSAY_OP_CONV_TRANSPOSE2D, 3, in,
        (struct slices_operand){ASSAY_S32, 4, {q->n, oh, ow, q->oc}, NULL});
    slices_quant(s, 0, 1, q->zero);
    s->layers[0].p.conv2d = (struct assay_conv2d_params){.stride_h = q->sh,
                                                         .stride_w = q->sw,
                                                         .dilation_h = q->dh,
                                                         .dilation_w = q->dw,
                                                         .pad_top = q->pt,
                                                         .pad_left = q->pl,
                                                         .pad_bottom = q->pb,
                                                         .pad_right = q->pr,
                                                         .groups = q->groups,
                                                         .has_bias = true};
    slices_bits(&s->layers[0].out_program, ASSAY_STEP_WRAP, 32);
    scatter(q, x, w, bias, oh, ow, want);
    size_t bytes = (size_t)(q->n * oh * ow * q->oc) * sizeof(*want);
    assert_true(bytes <= sizeof(want));
    gives(s, (const void *[]){x, NULL, NULL}, want, bytes);
}

static void transposed_convolutions(void **state)
{
    static const struct shape shapes[] = {
        /* x zero  n h w c oc  k k  s s  d d  pads t l b r  out  groups */
        {ASSAY_S8, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1},
        {ASSAY_S8, -3, 2, 4, 3, 5, 7, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1},
        {ASSAY_S8, 9, 1, 3, 4, 33, 6, 2, 2, 2, 2, 1, 1, 0, 0, 0, 0, 0, 0, 1},
        /* 1x1, stride above the kernel: cells that nothing reaches */
        {ASSAY_S8, 5, 1, 3, 3, 4, 5, 1, 1, 2, 3, 1, 1, 0, 0, 0, 0, 1, 2, 1},
        {ASSAY_S8, 5, 2, 3, 3, 4, 5, 2, 1, 4, 3, 1, 1, 1, 0, 0, 0, 3, 0, 1},
        /* pads above the kernel: the image begins, or ends, inside */
        {ASSAY_S8, 1, 1, 5, 5, 3, 4, 2, 3, 2, 2, 1, 1, 3, 4, 2, 0, 0, 1, 1},
        {ASSAY_S8, 1, 1, 5, 5, 3, 4, 2, 3, 2, 3, 1, 1, 0, 0, 4, 5, 0, 0, 1},
        /* depthwise, groups, dilation, lopsided */
        {ASSAY_S8, -128, 1, 5, 4, 33, 33, 3, 3, 2,
         1,        1,    1, 1, 2, 0,  1,  0, 0, 33},
        {ASSAY_U8, 255, 2, 3, 4, 8, 12, 4, 3, 1, 2, 1, 1, 1, 0, 2, 1, 0, 1, 4},
        {ASSAY_U8, 0, 1, 4, 4, 6, 6, 3, 2, 2, 1, 2, 3, 1, 2, 2, 1, 1, 2, 3},
        {ASSAY_S16, 0, 1, 4, 3, 9, 5, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 0, 0, 1},
        {ASSAY_S16, 77, 1, 4, 3, 4, 4, 3, 3, 3, 2, 1, 1, 0, 1, 1, 2, 2, 1, 4},
        /* every cell of the output is padding, and only a bias */
        {ASSAY_S8, 3, 1, 2, 2, 3, 4, 1, 1, 5, 5, 1, 1, 3, 3, 2, 2, 1, 0, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        transposed_case(&shapes[i]);
}

/* x [1 2], weights [1 10 100], stride 2: 1, 10, 100 + 2, 20, 200. */
static void transposed_by_hand(void **state)
{
    const int8_t x[] = {1, 2}, w[] = {1, 10, 100};
    const int16_t whole[] = {1, 10, 102, 20, 200},
                  cut[] = {10, 102, 20, 200, 0};
    (void)state;
    for (int pad = 0; pad < 2; pad++) {
        struct slices_operand in[2] = {{ASSAY_S8, 4, {1, 1, 2, 1}, NULL},
                                       {ASSAY_S8, 4, {1, 1, 3, 1}, w}};
        struct assay_slice *s = slices_one(
            ASSAY_OP_CONV_TRANSPOSE2D, 2, in,
            (struct slices_operand){ASSAY_S16, 4, {1, 1, 5, 1}, NULL});
        s->layers[0].p.conv2d = (struct assay_conv2d_params){.stride_h = 1,
                                                             .stride_w = 2,
                                                             .dilation_h = 1,
                                                             .dilation_w = 1,
                                                             .pad_left = pad,
                                                             .groups = 1};
        gives(s, (const void *[]){x, NULL, NULL}, pad ? cut : whole,
              sizeof(whole));
    }
}

/* ---- the epilogues of fixed-point models ------------------------------------------- */

/*
 * One cell, one channel: acc = x * w; + SHR(e * mul, shift, floor); wrapped
 * to 32 bits, shifted and saturated to int16, scaled and shifted, saturated.
 */
static void epilogue_case(enum assay_dtype x_dtype, const void *x, int8_t w,
                          enum assay_dtype e_dtype, const void *e,
                          int64_t e_shift, int64_t e_mul, int16_t want)
{
    const int64_t right = 3, scale = 3, out = 2;
    struct slices_operand in[3] = {{x_dtype, 4, {1, 1, 1, 1}, NULL},
                                   {ASSAY_S8, 4, {1, 1, 1, 1}, &w},
                                   {e_dtype, 4, {1, 1, 1, 1}, NULL}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_CONV2D, 3, in,
                   (struct slices_operand){ASSAY_S16, 4, {1, 1, 1, 1}, NULL});
    s->layers[0].p.conv2d = (struct assay_conv2d_params){.stride_h = 1,
                                                         .stride_w = 1,
                                                         .dilation_h = 1,
                                                         .dilation_w = 1,
                                                         .groups = 1,
                                                         .has_second = true};
    struct assay_program *p = &s->layers[0].out_program;
    slices_step(p, ASSAY_STEP_ADD_SCALED, 1, &e_shift, &e_mul);
    slices_bits(p, ASSAY_STEP_WRAP, 32);
    slices_shr(p, ASSAY_ROUND_FLOOR, &right);
    slices_bits(p, ASSAY_STEP_SAT, 16);
    slices_step(p, ASSAY_STEP_MUL, 1, &scale, NULL);
    slices_shr(p, ASSAY_ROUND_FLOOR, &out);
    slices_bits(p, ASSAY_STEP_SAT, 16);
    gives(s, (const void *[]){x, NULL, e}, &want, sizeof(want));
}

static void epilogues_with_a_second(void **state)
{
    const int8_t x = 100, e = -5;
    const int16_t x16 = 30000, e16 = -300;
    const int32_t e32 = 1 << 30;
    (void)state;
    /* 1000 + floor(-5 * 7 / 4) = 991; 123; 369 / 4 = 92 */
    epilogue_case(ASSAY_S8, &x, 10, ASSAY_S8, &e, 2, 7, 92);
    /* 1000 + -300 * 64 = -18200; -2275; floor(-6825 / 4) = -1707 */
    epilogue_case(ASSAY_S8, &x, 10, ASSAY_S16, &e16, -6, 1, -1707);
    /* 1000 + 2^31 wraps to -2^31 + 1000; -32768 after the shift; -24576 */
    epilogue_case(ASSAY_S8, &x, 10, ASSAY_S32, &e32, 0, 2, -24576);
    /* int64 accumulator: 3810000 + floor(-300 * 9 / 2) = 3808650; 32767;
     * 98301 / 4 = 24575 */
    epilogue_case(ASSAY_S16, &x16, 127, ASSAY_S16, &e16, 1, 9, 24575);
}

/* 1024 taps of -32768 * -128 and a bias of 5: 2^32 + 5 is 5 as an int32. */
static void wide_accumulators_wrap_where_they_are_told(void **state)
{
    static int16_t x[1024];
    static int8_t w[1024];
    const int32_t bias[] = {5}, want[] = {5};
    (void)state;
    for (int i = 0; i < 1024; i++) {
        x[i] = -32768;
        w[i] = -128;
    }
    struct slices_operand in[3] = {{ASSAY_S16, 4, {1, 1, 1, 1024}, NULL},
                                   {ASSAY_S8, 4, {1, 1, 1, 1024}, w},
                                   {ASSAY_S32, 1, {1}, bias}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_CONV2D, 3, in,
                   (struct slices_operand){ASSAY_S32, 4, {1, 1, 1, 1}, NULL});
    s->layers[0].p.conv2d = (struct assay_conv2d_params){.stride_h = 1,
                                                         .stride_w = 1,
                                                         .dilation_h = 1,
                                                         .dilation_w = 1,
                                                         .groups = 1,
                                                         .has_bias = true};
    slices_bits(&s->layers[0].out_program, ASSAY_STEP_WRAP, 32);
    gives(s, (const void *[]){x, NULL, NULL}, want, sizeof(want));
}

/* One cell of 8 or 16 bits, three channels of weights 1, 10, -100. */
static struct assay_slice *three_channels(enum assay_dtype x,
                                          enum assay_dtype y)
{
    static const int8_t w[] = {1, 10, -100};
    struct slices_operand in[2] = {{x, 4, {1, 1, 1, 1}, NULL},
                                   {ASSAY_S8, 4, {3, 1, 1, 1}, w}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_CONV2D, 2, in,
                   (struct slices_operand){y, 4, {1, 1, 1, 3}, NULL});
    s->layers[0].p.conv2d = (struct assay_conv2d_params){.stride_h = 1,
                                                         .stride_w = 1,
                                                         .dilation_h = 1,
                                                         .dilation_w = 1,
                                                         .groups = 1};
    return s;
}

/*
 * A bias beyond 32 bits joins the product: 100 * (1, 10, -100) shifted by 2
 * half up and times 3 is 75, 750, -7500; plus bias, shifted by 32.
 */
static void steps_behind_the_product(void **state)
{
    static const int64_t bias[] = {(5LL << 32) - 76, (7LL << 31) - 750,
                                   -(1LL << 40)};
    static const int64_t two = 2, scale = 3, far = 32;
    const int8_t x = 100;
    const int16_t x16 = 100;
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct assay_slice *s =
            three_channels(i ? ASSAY_S16 : ASSAY_S8, ASSAY_S16);
        struct assay_program *p = &s->layers[0].out_program;
        slices_shr(p, ASSAY_ROUND_HALF_UP, &two);
        slices_step(p, ASSAY_STEP_MUL, 1, &scale, NULL);
        slices_step(p, ASSAY_STEP_ADD, 3, bias, NULL);
        slices_shr(p, i ? ASSAY_ROUND_HALF_DOWN : ASSAY_ROUND_FLOOR, &far);
        if (i) /* 5 - 1 / 2^32, 7 / 2, -2^8 - .. */
            gives(s, (const void *[]){&x16, NULL, NULL},
                  (const int16_t[]){5, 3, -256}, 6);
        else
            gives(s, (const void *[]){&x, NULL, NULL},
                  (const int16_t[]){4, 3, -257}, 6);
    }
}

/* (sum + bias) in binary32, times a scale of each channel. */
static void sums_into_floats(void **state)
{
    static const int64_t bias[] = {1, (1LL << 33) - 1000, 0};
    const int64_t scale[] = {slices_f32(0.5f), slices_f32(0x1p-33f),
                             slices_f32(-3.0f)};
    const int8_t x = 100;
    const int16_t x16 = 100;
    const float want[] = {50.5f, 1.0f, 30000.0f};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct assay_slice *s =
            three_channels(i ? ASSAY_S16 : ASSAY_S8, ASSAY_F32);
        struct assay_program *p = &s->layers[0].out_program;
        slices_step(p, ASSAY_STEP_ADD, 3, bias, NULL);
        slices_step(p, ASSAY_STEP_TO_F32, 0, NULL, NULL);
        slices_step(p, ASSAY_STEP_FMUL, 3, scale, NULL);
        gives(s, (const void *[]){i ? (const void *)&x16 : &x, NULL, NULL},
              want, sizeof(want));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_behind_the_product),
        cmocka_unit_test(sums_into_floats),
        cmocka_unit_test(matmul_of_two),
        cmocka_unit_test(matmul_of_batches),
        cmocka_unit_test(matmul_of_int16),
        cmocka_unit_test(matmul_has_channels),
        cmocka_unit_test(transposed_convolutions),
        cmocka_unit_test(transposed_by_hand),
        cmocka_unit_test(epilogues_with_a_second),
        cmocka_unit_test(wide_accumulators_wrap_where_they_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
