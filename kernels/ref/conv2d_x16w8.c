/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution of int16 by int8 or uint8, any groups (depthwise too); the
 * definition. The accumulator is int64: 17-bit by 9-bit products cannot leave
 * it.
 */
#include "kernels/kernels.h"

#include <string.h>

static size_t align64(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

static size_t taps(const struct assay_conv2d *p)
{
    return (size_t)p->kh * (size_t)p->kw * (size_t)(p->c / p->groups);
}

static bool supports(const struct assay_conv2d *p)
{
    return p->x_dtype == ASSAY_S16 &&
           (p->w_dtype == ASSAY_S8 || p->w_dtype == ASSAY_U8);
}

/* [oc][tap], zero points taken off. */
static size_t packed_size(const struct assay_conv2d *p)
{
    return (size_t)p->oc * taps(p) * sizeof(int16_t);
}

static void pack(const struct assay_conv2d *p, void *packed)
{
    int16_t *to = packed;
    size_t k = taps(p);
    for (size_t o = 0; o < (size_t)p->oc; o++) {
        for (size_t t = 0; t < k; t++) {
            int32_t w = p->w_dtype == ASSAY_S8
                            ? ((const int8_t *)p->weights)[o * k + t]
                            : ((const uint8_t *)p->weights)[o * k + t];
            to[o * k + t] = (int16_t)(w - p->w_zero[o]);
        }
    }
}

/* The gathered window, values and second operand of one pixel's group. */
static size_t scratch_size(const struct assay_conv2d *p)
{
    size_t ocg = (size_t)(p->oc / p->groups);
    return align64(taps(p) * sizeof(int32_t)) +
           align64(ocg * sizeof(union assay_value)) +
           align64(ocg * sizeof(int32_t));
}

static void gather(const struct assay_conv2d *p, const int16_t *x, size_t n,
                   int32_t oy, int32_t ox, size_t g, int32_t *row)
{
    size_t cg = (size_t)(p->c / p->groups);
    int64_t top = (int64_t)oy * p->stride_h - p->pad_top;
    int64_t left = (int64_t)ox * p->stride_w - p->pad_left;
    for (int32_t ky = 0; ky < p->kh; ky++) {
        int64_t y = top + (int64_t)ky * p->dilation_h;
        for (int32_t kx = 0; kx < p->kw; kx++, row += cg) {
            int64_t xx = left + (int64_t)kx * p->dilation_w;
            if (y < 0 || y >= p->h || xx < 0 || xx >= p->w) {
                memset(row, 0, cg * sizeof(*row));
                continue;
            }
            size_t pixel =
                (n * (size_t)p->h + (size_t)y) * (size_t)p->w + (size_t)xx;
            const int16_t *from = x + pixel * (size_t)p->c + g * cg;
            for (size_t i = 0; i < cg; i++)
                row[i] = from[i] - p->x_zero;
        }
    }
}

/* The sums of one pixel's channels of group g, bias added. */
static void multiply(const struct assay_conv2d *p, const int16_t *w,
                     const int32_t *row, size_t g, union assay_value *v)
{
    size_t k = taps(p), ocg = (size_t)(p->oc / p->groups);
    for (size_t j = 0; j < ocg; j++) {
        size_t o = g * ocg + j;
        const int16_t *wo = w + o * k;
        int64_t sum = p->bias ? p->bias[o] : 0;
        for (size_t t = 0; t < k; t++)
            sum += (int64_t)row[t] * wo[t];
        v[j].i = sum;
    }
}

static void finish(const struct assay_conv2d *p, union assay_value *v,
                   int32_t *second, size_t at, size_t first, void *y)
{
    size_t ocg = (size_t)(p->oc / p->groups);
    struct assay_block block = {
        .v = v, .n = ocg, .channel = first, .channels = (size_t)p->oc};
    if (p->second) {
        size_t size = assay_dtype_size(p->second_dtype);
        for (size_t j = 0; j < ocg; j++) {
            union assay_value e;
            assay_load_values(p->second_dtype,
                              (const char *)p->second + (at + j) * size, &e, 1);
            second[j] = (int32_t)e.i;
        }
        block.second = second;
    }
    assay_program_run(p->program, &block);
    assay_store_values(p->y_dtype,
                       (char *)y + at * assay_dtype_size(p->y_dtype), v, ocg);
}

static void run(const struct assay_conv2d *p, const void *packed, const void *x,
                void *y, void *scratch)
{
    size_t ocg = (size_t)(p->oc / p->groups);
    int32_t *row = scratch;
    union assay_value *v =
        (void *)((char *)scratch + align64(taps(p) * sizeof(*row)));
    int32_t *second = (void *)((char *)v + align64(ocg * sizeof(*v)));
    size_t pixel = 0;
    for (int32_t n = 0; n < p->n; n++) {
        for (int32_t oy = 0; oy < p->oh; oy++) {
            for (int32_t ox = 0; ox < p->ow; ox++, pixel++) {
                for (size_t g = 0; g < (size_t)p->groups; g++) {
                    size_t first = g * ocg;
                    gather(p, x, (size_t)n, oy, ox, g, row);
                    multiply(p, packed, row, g, v);
                    finish(p, v, second, pixel * (size_t)p->oc + first, first,
                           y);
                }
            }
        }
    }
}

const struct assay_conv2d_kernel assay_conv2d_x16w8__ref = {
    .name = "assay_conv2d_x16w8__ref",
    .isa = ASSAY_ISA_REF,
    .supports = supports,
    .packed_size = packed_size,
    .pack = pack,
    .scratch_size = scratch_size,
    .run = run,
};
