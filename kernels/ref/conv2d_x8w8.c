/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution of int8 or uint8 by int8 or uint8, any groups; the definition.
 *
 * Zero points are taken off while packing and gathering, so that a cell
 * outside the image is simply 0. The accumulator is int32 and wraps, hence
 * all sums are uint32_t. Two pixels by four output channels are held in
 * registers; the program then runs over one pixel's output channels.
 */
#include "kernels/kernels.h"

#include <string.h>

#define PIXELS 2 /* computed at a time */
#define OCS 4

static size_t align64(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

static size_t taps(const struct assay_conv2d *p)
{
    return (size_t)p->kh * (size_t)p->kw * (size_t)(p->c / p->groups);
}

static size_t oc_blocks(const struct assay_conv2d *p)
{
    return ((size_t)(p->oc / p->groups) + OCS - 1) / OCS;
}

static bool supports(const struct assay_conv2d *p)
{
    return (p->x_dtype == ASSAY_S8 || p->x_dtype == ASSAY_U8) &&
           (p->w_dtype == ASSAY_S8 || p->w_dtype == ASSAY_U8);
}

/* [group][block of OCS channels][tap][OCS], absent channels are 0. */
static size_t packed_size(const struct assay_conv2d *p)
{
    return (size_t)p->groups * oc_blocks(p) * taps(p) * OCS * sizeof(int16_t);
}

static void pack(const struct assay_conv2d *p, void *packed)
{
    int16_t *to = packed;
    size_t k = taps(p), ocg = (size_t)(p->oc / p->groups);
    for (size_t g = 0; g < (size_t)p->groups; g++) {
        for (size_t b = 0; b < oc_blocks(p); b++, to += k * OCS) {
            for (size_t j = 0; j < OCS; j++) {
                size_t in_group = b * OCS + j, o = g * ocg + in_group;
                for (size_t t = 0; t < k; t++) {
                    int32_t w = 0;
                    if (in_group < ocg) {
                        w = p->w_dtype == ASSAY_S8
                                ? ((const int8_t *)p->weights)[o * k + t]
                                : ((const uint8_t *)p->weights)[o * k + t];
                        w -= p->w_zero[o];
                    }
                    to[t * OCS + j] = (int16_t)w;
                }
            }
        }
    }
}

/* Gathered rows, then the values, then the second operand of one pixel. */
static size_t rows_size(const struct assay_conv2d *p)
{
    return align64(PIXELS * taps(p) * sizeof(int16_t));
}

static size_t values_size(const struct assay_conv2d *p)
{
    return align64(PIXELS * oc_blocks(p) * OCS * sizeof(union assay_value));
}

static size_t scratch_size(const struct assay_conv2d *p)
{
    return rows_size(p) + values_size(p) +
           align64((size_t)(p->oc / p->groups) * sizeof(int32_t));
}

/* x - x_zero of `n` neighbours. */
static void centre(const struct assay_conv2d *p, const void *x, size_t at,
                   int16_t *to, size_t n)
{
    int32_t zero = p->x_zero;
    if (p->x_dtype == ASSAY_S8) {
        const int8_t *from = (const int8_t *)x + at;
        for (size_t i = 0; i < n; i++)
            to[i] = (int16_t)(from[i] - zero);
    } else {
        const uint8_t *from = (const uint8_t *)x + at;
        for (size_t i = 0; i < n; i++)
            to[i] = (int16_t)(from[i] - zero);
    }
}

/* One output pixel's window of group g, 0 outside the image. */
static void gather(const struct assay_conv2d *p, const void *x, int32_t n,
                   int32_t oy, int32_t ox, int32_t g, int16_t *row)
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
                ((size_t)n * (size_t)p->h + (size_t)y) * (size_t)p->w +
                (size_t)xx;
            centre(p, x, pixel * (size_t)p->c + (size_t)g * cg, row, cg);
        }
    }
}

/* PIXELS x OCS sums; rows are k apart, weights are [k][OCS]. */
static void multiply(const int16_t *rows, const int16_t *w, size_t k,
                     uint32_t sums[PIXELS][OCS])
{
    uint32_t a0 = 0, a1 = 0, a2 = 0, a3 = 0;
    uint32_t b0 = 0, b1 = 0, b2 = 0, b3 = 0;
    const int16_t *x0 = rows, *x1 = rows + k, *end = x1;
    for (; x0 < end; x0++, x1++, w += OCS) {
        int32_t xa = *x0, xb = *x1;
        int32_t w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
        a0 += (uint32_t)(xa * w0);
        a1 += (uint32_t)(xa * w1);
        a2 += (uint32_t)(xa * w2);
        a3 += (uint32_t)(xa * w3);
        b0 += (uint32_t)(xb * w0);
        b1 += (uint32_t)(xb * w1);
        b2 += (uint32_t)(xb * w2);
        b3 += (uint32_t)(xb * w3);
    }
    sums[0][0] = a0;
    sums[0][1] = a1;
    sums[0][2] = a2;
    sums[0][3] = a3;
    sums[1][0] = b0;
    sums[1][1] = b1;
    sums[1][2] = b2;
    sums[1][3] = b3;
}

/* Bias, program, store: one pixel's channels of group g. */
static void finish(const struct assay_conv2d *p, union assay_value *v,
                   size_t pixel, size_t g, int32_t *second, void *y)
{
    size_t ocg = (size_t)(p->oc / p->groups), first = g * ocg;
    size_t at = pixel * (size_t)p->oc + first;
    if (p->bias) {
        for (size_t j = 0; j < ocg; j++)
            v[j].i = (int32_t)((uint32_t)v[j].i + (uint32_t)p->bias[first + j]);
    }
    struct assay_block block = {
        .v = v, .n = ocg, .channel = first, .channels = (size_t)p->oc};
    if (p->second) {
        for (size_t j = 0; j < ocg; j++) {
            union assay_value e;
            size_t size = assay_dtype_size(p->second_dtype);
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
    int16_t *rows = scratch;
    union assay_value *v = (void *)((char *)scratch + rows_size(p));
    int32_t *second = (void *)((char *)scratch + rows_size(p) + values_size(p));
    size_t k = taps(p), blocks = oc_blocks(p), width = blocks * OCS;
    size_t image = (size_t)p->oh * (size_t)p->ow;
    size_t pixels = (size_t)p->n * image;
    for (int32_t g = 0; g < p->groups; g++) {
        const int16_t *wg =
            (const int16_t *)packed + (size_t)g * blocks * k * OCS;
        for (size_t first = 0; first < pixels; first += PIXELS) {
            size_t left = pixels - first < PIXELS ? pixels - first : PIXELS;
            for (size_t i = 0; i < left; i++) {
                size_t in_image = (first + i) % image;
                gather(p, x, (int32_t)((first + i) / image),
                       (int32_t)(in_image / (size_t)p->ow),
                       (int32_t)(in_image % (size_t)p->ow), g, rows + i * k);
            }
            if (left < PIXELS) /* the last pixel stands in, unused */
                memcpy(rows + k, rows, k * sizeof(*rows));
            for (size_t b = 0; b < blocks; b++) {
                uint32_t sums[PIXELS][OCS];
                multiply(rows, wg + b * k * OCS, k, sums);
                for (size_t i = 0; i < PIXELS; i++)
                    for (size_t j = 0; j < OCS; j++)
                        v[i * width + b * OCS + j].i = (int32_t)sums[i][j];
            }
            for (size_t i = 0; i < left; i++)
                finish(p, v + i * width, first + i, (size_t)g, second, y);
        }
    }
}

const struct assay_conv2d_kernel assay_conv2d_x8w8__ref = {
    .name = "assay_conv2d_x8w8__ref",
    .isa = ASSAY_ISA_REF,
    .supports = supports,
    .packed_size = packed_size,
    .pack = pack,
    .scratch_size = scratch_size,
    .run = run,
};
