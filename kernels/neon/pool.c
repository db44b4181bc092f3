/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools of 8-bit tensors, sixteen channels at a time: maximum, and sums that
 * end in a program. Sums of floats keep their order in the scalar kernel.
 */
#include <arm_neon.h>
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/neon/vector.h"
#include "kernels/window.h"

/* The cells of one output that lie inside the image. */
struct window {
    const uint8_t *first;
    size_t rows, cols;
    size_t row_step, col_step;
};

static struct window window_of(const struct assay_pool *p, const uint8_t *image,
                               int32_t oy, int32_t ox)
{
    struct assay_span v = assay_taps_inside(
        (int64_t)oy * p->stride_h - p->pad_top, p->dilation_h, p->kh, p->h);
    struct assay_span u = assay_taps_inside(
        (int64_t)ox * p->stride_w - p->pad_left, p->dilation_w, p->kw, p->w);
    struct window w = {.first = image};
    size_t c = (size_t)p->c, row = (size_t)p->w * c;

    if (v.to <= v.from || u.to <= u.from)
        return w;
    w.rows = (size_t)(v.to - v.from);
    w.cols = (size_t)(u.to - u.from);
    w.row_step = (size_t)p->dilation_h * row;
    w.col_step = (size_t)p->dilation_w * c;
    w.first = image + (size_t)(v.start + v.from * p->dilation_h) * row +
              (size_t)(u.start + u.from * p->dilation_w) * c;
    return w;
}

/* Sixteen (or at the end fewer) channels from `at`, never beyond. */
static uint8x16_t load_16(const uint8_t *at, size_t n)
{
    uint8_t bytes[16] = {0};

    if (n >= 16)
        return vld1q_u8(at);
    memcpy(bytes, at, n);
    return vld1q_u8(bytes);
}

static void max_16(const struct window *w, size_t channel, size_t n,
                   uint8x16_t flip, uint8_t *y)
{
    int8x16_t best = vdupq_n_s8(-128);
    uint8_t bytes[16];

    if (w->rows == 0) { /* a window without a cell gives 0 */
        memset(y, 0, n);
        return;
    }
    for (size_t i = 0; i < w->rows; i++)
        for (size_t j = 0; j < w->cols; j++) {
            const uint8_t *at =
                w->first + i * w->row_step + j * w->col_step + channel;

            best = vmaxq_s8(
                best, vreinterpretq_s8_u8(veorq_u8(load_16(at, n), flip)));
        }
    vst1q_u8(bytes, veorq_u8(vreinterpretq_u8_s8(best), flip));
    memcpy(y, bytes, n);
}

static void sum_16(const struct window *w, size_t channel, size_t n,
                   bool is_signed, int64_t *sums)
{
    int32x4_t a = vdupq_n_s32(0), b = a, c = a, d = a;
    uint8x16_t flip = vdupq_n_u8(is_signed ? 0 : 0x80);
    int64_t up = is_signed ? 0 : 128 * (int64_t)(w->rows * w->cols);
    int32_t sum[16];

    for (size_t i = 0; i < w->rows; i++)
        for (size_t j = 0; j < w->cols; j++) {
            const uint8_t *at =
                w->first + i * w->row_step + j * w->col_step + channel;
            int8x16_t x = vreinterpretq_s8_u8(veorq_u8(load_16(at, n), flip));
            int16x8_t lo = vmovl_s8(vget_low_s8(x)), hi = vmovl_high_s8(x);

            a = vaddw_s16(a, vget_low_s16(lo));
            b = vaddw_high_s16(b, lo);
            c = vaddw_s16(c, vget_low_s16(hi));
            d = vaddw_high_s16(d, hi);
        }
    vst1q_s32(sum, a);
    vst1q_s32(sum + 4, b);
    vst1q_s32(sum + 8, c);
    vst1q_s32(sum + 12, d);
    for (size_t j = 0; j < n; j++)
        sums[j] = sum[j] + up;
}

static void average_16(const struct assay_pool *p, const struct window *w,
                       size_t channel, size_t n, uint8_t *y)
{
    size_t size = assay_dtype_size(p->y_dtype);
    int64_t zero = p->sum == ASSAY_SUM_INT ? p->x_zero : 0;
    int64_t sums[16];
    union assay_value v[16];
    struct assay_block block = {
        .v = v,
        .n = n,
        .channel = channel,
        .channels = (size_t)p->c,
    };

    sum_16(w, channel, n, p->x_dtype == ASSAY_S8, sums);
    for (size_t j = 0; j < n; j++)
        v[j].i = sums[j] - zero * (int64_t)(w->rows * w->cols);
    assay_program_vector(p->out, &block);
    assay_store_values(p->y_dtype, y + channel * size, v, n);
}

static void run(const struct assay_pool *p, const void *x, void *y)
{
    size_t image = (size_t)p->h * (size_t)p->w * (size_t)p->c;
    size_t size = assay_dtype_size(p->y_dtype), c = (size_t)p->c;
    uint8x16_t flip = vdupq_n_u8(p->x_dtype == ASSAY_U8 ? 0x80 : 0);
    const uint8_t *from = x;
    uint8_t *to = y;

    for (int32_t n = 0; n < p->n; n++, from += image)
        for (int32_t oy = 0; oy < p->oh; oy++)
            for (int32_t ox = 0; ox < p->ow; ox++, to += c * size) {
                struct window w = window_of(p, from, oy, ox);

                for (size_t j = 0; j < c; j += 16) {
                    size_t lanes = c - j < 16 ? c - j : 16;

                    if (p->kind == ASSAY_POOL_MAX)
                        max_16(&w, j, lanes, flip, to + j);
                    else
                        average_16(p, &w, j, lanes, to);
                }
            }
}

static bool supports(const struct assay_pool *p)
{
    bool empty = !p->out || p->out->n_steps == 0;

    if (p->x_dtype != ASSAY_S8 && p->x_dtype != ASSAY_U8)
        return false;
    if (p->kind == ASSAY_POOL_MAX)
        return empty && p->y_dtype == p->x_dtype;
    /* 32 bits hold the sum of any window of fewer than 2^24 cells. */
    return (p->sum == ASSAY_SUM_INT || p->sum == ASSAY_SUM_RAW) &&
           p->div == ASSAY_DIV_NONE && !empty &&
           (int64_t)p->kh * p->kw < (1 << 24);
}

const struct assay_pool_kernel assay_pool__neon = {
    .name = "assay_pool__neon",
    .isa = ASSAY_ISA_NEON,
    .supports = supports,
    .run = run,
};
