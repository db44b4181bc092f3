/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolution (groups == c, any multiplier) of int8 or uint8 by
 * int8 or uint8; the definition. One pixel's channels are summed tap by tap.
 */
#include "kernels/kernels.h"

#include <string.h>

static size_t align64(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

static bool supports(const struct assay_conv2d *p)
{
    return (p->x_dtype == ASSAY_S8 || p->x_dtype == ASSAY_U8) &&
           (p->w_dtype == ASSAY_S8 || p->w_dtype == ASSAY_U8) &&
           p->groups == p->c;
}

/* [tap][oc], zero points taken off. */
static size_t packed_size(const struct assay_conv2d *p)
{
    return (size_t)p->kh * (size_t)p->kw * (size_t)p->oc * sizeof(int16_t);
}

static void pack(const struct assay_conv2d *p, void *packed)
{
    int16_t *to = packed;
    size_t k = (size_t)p->kh * (size_t)p->kw, oc = (size_t)p->oc;
    for (size_t o = 0; o < oc; o++) {
        for (size_t t = 0; t < k; t++) {
            int32_t w = p->w_dtype == ASSAY_S8
                            ? ((const int8_t *)p->weights)[o * k + t]
                            : ((const uint8_t *)p->weights)[o * k + t];
            to[t * oc + o] = (int16_t)(w - p->w_zero[o]);
        }
    }
}

/* Sums, values, the second operand: each of one pixel's channels. */
static size_t scratch_size(const struct assay_conv2d *p)
{
    size_t oc = (size_t)p->oc;
    return align64(oc * sizeof(uint32_t)) +
           align64(oc * sizeof(union assay_value)) +
           align64(oc * sizeof(int32_t));
}

static int32_t element(enum assay_dtype dtype, const void *x, size_t i)
{
    return dtype == ASSAY_S8 ? ((const int8_t *)x)[i] : ((const uint8_t *)x)[i];
}

static void add_tap(const struct assay_conv2d *p, const void *x, size_t at,
                    const int16_t *w, uint32_t *sums)
{
    size_t m = (size_t)(p->oc / p->c);
    for (size_t c = 0; c < (size_t)p->c; c++) {
        int32_t v = element(p->x_dtype, x, at + c) - p->x_zero;
        for (size_t j = 0; j < m; j++)
            *sums++ += (uint32_t)(v * *w++);
    }
}

static void sum_pixel(const struct assay_conv2d *p, const int16_t *w,
                      const void *x, size_t n, int32_t oy, int32_t ox,
                      uint32_t *sums)
{
    int64_t top = (int64_t)oy * p->stride_h - p->pad_top;
    int64_t left = (int64_t)ox * p->stride_w - p->pad_left;
    memset(sums, 0, (size_t)p->oc * sizeof(*sums));
    for (int32_t ky = 0; ky < p->kh; ky++) {
        int64_t y = top + (int64_t)ky * p->dilation_h;
        if (y < 0 || y >= p->h)
            continue;
        for (int32_t kx = 0; kx < p->kw; kx++) {
            int64_t xx = left + (int64_t)kx * p->dilation_w;
            if (xx < 0 || xx >= p->w)
                continue;
            size_t pixel =
                (n * (size_t)p->h + (size_t)y) * (size_t)p->w + (size_t)xx;
            size_t tap = (size_t)ky * (size_t)p->kw + (size_t)kx;
            add_tap(p, x, pixel * (size_t)p->c, w + tap * (size_t)p->oc, sums);
        }
    }
}

static void run(const struct assay_conv2d *p, const void *packed, const void *x,
                void *y, void *scratch)
{
    size_t oc = (size_t)p->oc, at = 0;
    uint32_t *sums = scratch;
    union assay_value *v =
        (void *)((char *)scratch + align64(oc * sizeof(*sums)));
    int32_t *second = (void *)((char *)v + align64(oc * sizeof(*v)));
    size_t y_size = assay_dtype_size(p->y_dtype);
    size_t e_size = assay_dtype_size(p->second_dtype);
    struct assay_block block = {.v = v, .n = oc, .channels = oc};
    if (p->second)
        block.second = second;
    for (int32_t n = 0; n < p->n; n++) {
        for (int32_t oy = 0; oy < p->oh; oy++) {
            for (int32_t ox = 0; ox < p->ow; ox++, at += oc) {
                sum_pixel(p, packed, x, (size_t)n, oy, ox, sums);
                if (p->second) {
                    assay_load_values(p->second_dtype,
                                      (const char *)p->second + at * e_size, v,
                                      oc);
                    for (size_t o = 0; o < oc; o++)
                        second[o] = (int32_t)v[o].i;
                }
                for (size_t o = 0; o < oc; o++) {
                    uint32_t bias = p->bias ? (uint32_t)p->bias[o] : 0;
                    v[o].i = (int32_t)(sums[o] + bias);
                }
                assay_program_run(p->program, &block);
                assay_store_values(p->y_dtype, (char *)y + at * y_size, v, oc);
            }
        }
    }
}

const struct assay_conv2d_kernel assay_dwconv2d_x8w8__ref = {
    .name = "assay_dwconv2d_x8w8__ref",
    .isa = ASSAY_ISA_REF,
    .supports = supports,
    .packed_size = packed_size,
    .pack = pack,
    .scratch_size = scratch_size,
    .run = run,
};
