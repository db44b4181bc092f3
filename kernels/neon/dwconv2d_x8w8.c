/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolution of bytes; depthwise.h says how. A 3x3 kernel without
 * -128 and with symmetric weights stays in nine registers, and two products
 * share 16 bits; everything else multiplies 16-bit weights with their zero
 * points already subtracted. Other channel multipliers go through the matrix
 * product.
 */
#include "kernels/neon/depthwise.h"

ASSAY_INLINE struct assay_dw_sums add_16(struct assay_dw_sums v, int16x8_t lo,
                                         int16x8_t hi)
{
    v.a = vaddw_s16(v.a, vget_low_s16(lo));
    v.b = vaddw_high_s16(v.b, lo);
    v.c = vaddw_s16(v.c, vget_low_s16(hi));
    v.d = vaddw_high_s16(v.d, hi);
    return v;
}

ASSAY_INLINE struct assay_dw_sums one_tap(struct assay_dw_sums v, int8x16_t x,
                                          int8x16_t w)
{
    return add_16(v, vmull_s8(vget_low_s8(x), vget_low_s8(w)),
                  vmull_high_s8(x, w));
}

ASSAY_INLINE struct assay_dw_sums two_taps(struct assay_dw_sums v, int8x16_t x0,
                                           int8x16_t w0, int8x16_t x1,
                                           int8x16_t w1)
{
    int16x8_t lo = vmull_s8(vget_low_s8(x0), vget_low_s8(w0));
    int16x8_t hi = vmull_high_s8(x0, w0);

    return add_16(v, vmlal_s8(lo, vget_low_s8(x1), vget_low_s8(w1)),
                  vmlal_high_s8(hi, x1, w1));
}

ASSAY_INLINE void row_3x3(const struct assay_dw_row *job,
                          enum assay_epilogue_form form, bool starts)
{
    const int8_t *w = (const int8_t *)job->weights;
    int8x16_t w0 = vld1q_s8(w), w1 = vld1q_s8(w + 16);
    int8x16_t w2 = vld1q_s8(w + 32), w3 = vld1q_s8(w + 48);
    int8x16_t w4 = vld1q_s8(w + 64), w5 = vld1q_s8(w + 80);
    int8x16_t w6 = vld1q_s8(w + 96), w7 = vld1q_s8(w + 112);
    int8x16_t w8 = vld1q_s8(w + 128);
    const int8_t *r0 = job->x, *r1 = r0 + job->tap_row;
    const int8_t *r2 = r1 + job->tap_row;
    size_t c1 = job->tap_col, c2 = 2 * c1, step = job->step;
    size_t y_row = job->y_row;
    const int32_t *start = job->starts;
    uint8_t *y = job->y;
    struct assay_dw_held h;

    assay_dw_hold(&h, job, form);
    for (size_t n = job->n; n > 0; n--) {
        struct assay_dw_sums v = starts ? assay_dw_load_16(start) : h.bias;

        v = two_taps(v, vld1q_s8(r0), w0, vld1q_s8(r0 + c1), w1);
        v = two_taps(v, vld1q_s8(r0 + c2), w2, vld1q_s8(r1), w3);
        v = two_taps(v, vld1q_s8(r1 + c1), w4, vld1q_s8(r1 + c2), w5);
        v = two_taps(v, vld1q_s8(r2), w6, vld1q_s8(r2 + c1), w7);
        v = one_tap(v, vld1q_s8(r2 + c2), w8);
        assay_dw_finish(&h, form, v, y);
        r0 += step;
        r1 += step;
        r2 += step;
        y += y_row;
        start += starts ? 16 : 0;
    }
}

ASSAY_INLINE void row_wide(const struct assay_dw_row *job,
                           enum assay_epilogue_form form, bool starts)
{
    const int8_t *x = job->x;
    const int32_t *start = job->starts;
    uint8_t *y = job->y;
    struct assay_dw_held h;

    assay_dw_hold(&h, job, form);
    for (size_t n = job->n; n > 0; n--) {
        const int16_t *w = (const int16_t *)(const void *)job->weights;
        const int8_t *row = x;
        struct assay_dw_sums v = starts ? assay_dw_load_16(start) : h.bias;

        for (size_t i = 0; i < job->kh; i++, row += job->tap_row) {
            const int8_t *at = row;

            for (size_t j = 0; j < job->kw; j++, at += job->tap_col) {
                int8x16_t b = vld1q_s8(at);
                int16x8_t lo = vmovl_s8(vget_low_s8(b));
                int16x8_t hi = vmovl_high_s8(b);
                int16x8_t w0 = vld1q_s16(w), w1 = vld1q_s16(w + 8);

                v.a = vmlal_s16(v.a, vget_low_s16(lo), vget_low_s16(w0));
                v.b = vmlal_high_s16(v.b, lo, w0);
                v.c = vmlal_s16(v.c, vget_low_s16(hi), vget_low_s16(w1));
                v.d = vmlal_high_s16(v.d, hi, w1);
                w += 16;
            }
        }
        assay_dw_finish(&h, form, v, y);
        x += job->step;
        y += job->y_row;
        start += starts ? 16 : 0;
    }
}

ASSAY_INLINE void any_row(const struct assay_dw_row *job,
                          enum assay_epilogue_form form, bool starts, bool fast)
{
    if (fast)
        row_3x3(job, form, starts);
    else
        row_wide(job, form, starts);
}

ASSAY_DW_ROWS

static bool is_3x3(const struct assay_conv2d *p)
{
    return p->kh == 3 && p->kw == 3;
}

static const struct assay_dw dw = {
    .element = 1,
    .fast = is_3x3,
    .row_of = row_of,
    .sum_of = sum_of,
};

static size_t packed_size(const struct assay_conv2d *p)
{
    return assay_dw_is_plain(p) ? assay_dw_packed_size(&dw, p)
                                : assay_gemm_packed_size(&assay_gemm_neon, p);
}

static size_t scratch_size(const struct assay_conv2d *p)
{
    return assay_dw_is_plain(p) ? assay_dw_scratch_size(&dw, p)
                                : assay_gemm_scratch_size(&assay_gemm_neon, p);
}

static void pack(const struct assay_conv2d *p, void *packed)
{
    if (assay_dw_is_plain(p))
        assay_dw_pack(&dw, p, packed);
    else
        assay_gemm_pack(&assay_gemm_neon, p, packed);
}

static void run(const struct assay_conv2d *p, const void *packed, const void *x,
                void *y, void *scratch)
{
    if (assay_dw_is_plain(p))
        assay_dw_run(&dw, p, packed, x, y, scratch);
    else
        assay_gemm_run(&assay_gemm_neon, p, packed, x, y, scratch);
}

static bool supports(const struct assay_conv2d *p)
{
    return assay_gemm_supports(p);
}

const struct assay_conv2d_kernel assay_dwconv2d_x8w8__neon = {
    .name = "assay_dwconv2d_x8w8__neon",
    .isa = ASSAY_ISA_NEON,
    .supports = supports,
    .packed_size = packed_size,
    .pack = pack,
    .scratch_size = scratch_size,
    .run = run,
};
