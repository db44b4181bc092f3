/* SPDX-License-Identifier: Apache-2.0 */
/* Maximum and average pools over NHWC; the definition. */
#include "kernels/kernels.h"
#include "kernels/window.h"

#define BLOCK 64 /* channels at a time */

static bool supports(const struct assay_pool *p)
{
    return (p->kind == ASSAY_POOL_MAX || p->kind == ASSAY_POOL_AVG) &&
           assay_dtype_size(p->x_dtype) != 0 &&
           assay_dtype_size(p->y_dtype) != 0;
}

/* Takes one cell of `n` channels into the running values. */
static void take(const struct assay_pool *p, union assay_value *v,
                 union assay_value *cell, const struct assay_block *block,
                 bool first)
{
    size_t n = block->n;
    if (p->kind == ASSAY_POOL_MAX) {
        for (size_t j = 0; j < n; j++) {
            bool more = p->x_dtype == ASSAY_F32 ? cell[j].f > v[j].f
                                                : cell[j].i > v[j].i;
            if (first || more)
                v[j] = cell[j];
        }
        return;
    }
    if (p->sum == ASSAY_SUM_F32) {
        assay_program_run(p->cell, block);
        for (size_t j = 0; j < n; j++)
            v[j].f = (first ? 0.0f : v[j].f) + cell[j].f;
        return;
    }
    int64_t zero = p->sum == ASSAY_SUM_RAW ? 0 : p->x_zero;
    for (size_t j = 0; j < n; j++)
        v[j].i = (first ? 0 : v[j].i) + cell[j].i - zero;
}

/* s / n to an integer, n >= 1. */
static int64_t divide(int64_t s, int64_t n, enum assay_round round)
{
    int64_t q = s / n, rest = s % n; /* toward 0, rest has the sign of s */
    if (rest < 0) {
        q--;
        rest += n;
    } /* floor now, 0 <= rest < n */
    int64_t twice = rest * 2;
    switch (round) {
    case ASSAY_ROUND_CEIL: return q + (rest > 0);
    case ASSAY_ROUND_TRUNC: return q + (s < 0 && rest > 0);
    case ASSAY_ROUND_HALF_UP: return q + (twice >= n);
    case ASSAY_ROUND_HALF_DOWN: return q + (twice > n);
    case ASSAY_ROUND_HALF_EVEN:
        return q + (twice > n || (twice == n && (q & 1)));
    case ASSAY_ROUND_HALF_AWAY:
        return q + (twice > n || (twice == n && s >= 0));
    case ASSAY_ROUND_HALF_ZERO: return q + (twice > n || (twice == n && s < 0));
    default: return q;
    }
}

static void average(const struct assay_pool *p, union assay_value *v, size_t n,
                    int64_t count)
{
    if (p->div == ASSAY_DIV_F32) {
        for (size_t j = 0; j < n; j++) {
            float sum = p->sum == ASSAY_SUM_F32 ? v[j].f : (float)v[j].i;
            v[j].f = sum / (float)count;
        }
    } else if (p->div == ASSAY_DIV_INT) {
        for (size_t j = 0; j < n; j++)
            v[j].i = divide(v[j].i, count, p->div_round);
    }
}

/* The values of a window without a cell, which only padding can make. */
static void nothing(const struct assay_pool *p, union assay_value *v, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        if (p->kind == ASSAY_POOL_AVG ? p->sum == ASSAY_SUM_F32
                                      : p->x_dtype == ASSAY_F32)
            v[j].f = 0.0f;
        else
            v[j].i = 0;
    }
}

static void pool_block(const struct assay_pool *p, const void *x, size_t n,
                       int32_t oy, int32_t ox, struct assay_block *block,
                       union assay_value *v, union assay_value *cell)
{
    struct assay_span v_taps = assay_taps_inside(
        (int64_t)oy * p->stride_h - p->pad_top, p->dilation_h, p->kh, p->h);
    struct assay_span h_taps = assay_taps_inside(
        (int64_t)ox * p->stride_w - p->pad_left, p->dilation_w, p->kw, p->w);
    int64_t count = 0;
    size_t size = assay_dtype_size(p->x_dtype);
    nothing(p, v, block->n);
    block->v = cell;
    for (int64_t ky = v_taps.from; ky < v_taps.to; ky++) {
        size_t y = (size_t)(v_taps.start + ky * p->dilation_h);
        for (int64_t kx = h_taps.from; kx < h_taps.to; kx++) {
            size_t xx = (size_t)(h_taps.start + kx * p->dilation_w);
            size_t pixel = (n * (size_t)p->h + y) * (size_t)p->w + xx;
            size_t at = pixel * (size_t)p->c + block->channel;
            assay_load_values(p->x_dtype, (const char *)x + at * size, cell,
                              block->n);
            take(p, v, cell, block, count == 0);
            count++;
        }
    }
    if (p->kind == ASSAY_POOL_AVG) {
        if (p->count_include_pad)
            count = (int64_t)p->kh * p->kw;
        average(p, v, block->n, count > 0 ? count : 1);
    }
    block->v = v;
    if (p->out)
        assay_program_run(p->out, block);
}

static void run(const struct assay_pool *p, const void *x, void *y)
{
    union assay_value v[BLOCK], cell[BLOCK];
    size_t c = (size_t)p->c, size = assay_dtype_size(p->y_dtype), at = 0;
    for (int32_t n = 0; n < p->n; n++) {
        for (int32_t oy = 0; oy < p->oh; oy++) {
            for (int32_t ox = 0; ox < p->ow; ox++, at += c) {
                for (size_t first = 0; first < c; first += BLOCK) {
                    struct assay_block block = {
                        .n = c - first < BLOCK ? c - first : BLOCK,
                        .channel = first,
                        .channels = c};
                    pool_block(p, x, (size_t)n, oy, ox, &block, v, cell);
                    assay_store_values(p->y_dtype,
                                       (char *)y + (at + first) * size, v,
                                       block.n);
                }
            }
        }
    }
}

const struct assay_pool_kernel assay_pool__ref = {
    .name = "assay_pool__ref",
    .isa = ASSAY_ISA_REF,
    .supports = supports,
    .run = run,
};
