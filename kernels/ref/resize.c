/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bilinear resize with fixed-point coordinates; the definition
 * (docs/numerics.md, "resize").
 *
 * 64 bits hold everything: i * step + start stays below 2^62 + 2^31, and a
 * sum below 2^16 * 2^12 * 2^12.
 */
#include "kernels/kernels.h"

#define BLOCK 64 /* channels at a time */

static bool supports(const struct assay_resize *p)
{
    return (p->x_dtype == ASSAY_S8 || p->x_dtype == ASSAY_U8 ||
            p->x_dtype == ASSAY_S16) &&
           assay_dtype_size(p->y_dtype) != 0 &&
           p->weight_bits <= p->decimal_bits;
}

/* Where an output position reads along one axis. */
struct taps {
    int64_t at[2];     /* cells, inside the image */
    int64_t weight[2]; /* their sum is 2^weight_bits */
};

static int64_t inside(int64_t at, int32_t size)
{
    return at < 0 ? 0 : at >= size ? size - 1 : at;
}

static struct taps taps_of(const struct assay_resize *p, int32_t i,
                           int32_t step, int32_t start, int32_t size)
{
    int64_t q =
        assay_shr((int64_t)i * step + start,
                  (int)(p->decimal_bits - p->weight_bits), ASSAY_ROUND_FLOOR);
    int64_t one = (int64_t)1 << p->weight_bits;
    int64_t cell = assay_shr(q, (int)p->weight_bits, ASSAY_ROUND_FLOOR);
    int64_t f = q - cell * one; /* 0 .. one - 1 */
    return (struct taps){.at = {inside(cell, size), inside(cell + 1, size)},
                         .weight = {one - f, f}};
}

/* Adds to v what one row of the image gives between its two cells. */
static void add_row(const struct assay_resize *p, const void *x, int64_t row,
                    int64_t weight, const struct taps *h,
                    const struct assay_block *block)
{
    union assay_value a[BLOCK], b[BLOCK];
    size_t size = assay_dtype_size(p->x_dtype);
    size_t left = (size_t)(row * p->w + h->at[0]) * (size_t)p->c;
    size_t right = (size_t)(row * p->w + h->at[1]) * (size_t)p->c;
    assay_load_values(p->x_dtype,
                      (const char *)x + (left + block->channel) * size, a,
                      block->n);
    assay_load_values(p->x_dtype,
                      (const char *)x + (right + block->channel) * size, b,
                      block->n);
    for (size_t k = 0; k < block->n; k++) {
        int64_t mix = a[k].i * h->weight[0] + b[k].i * h->weight[1];
        mix = assay_shr(mix, (int)p->mid_shift, ASSAY_ROUND_FLOOR);
        block->v[k].i += mix * weight;
    }
}

static void run(const struct assay_resize *p, const void *x, void *y)
{
    union assay_value v[BLOCK];
    size_t c = (size_t)p->c, size = assay_dtype_size(p->y_dtype), at = 0;
    for (int64_t row = 0; row < (int64_t)p->n * p->oh; row++) {
        int64_t image = row / p->oh * p->h; /* its first row */
        struct taps v_taps =
            taps_of(p, (int32_t)(row % p->oh), p->step_h, p->start_h, p->h);
        for (int32_t ox = 0; ox < p->ow; ox++, at += c) {
            struct taps h_taps = taps_of(p, ox, p->step_w, p->start_w, p->w);
            for (size_t first = 0; first < c; first += BLOCK) {
                struct assay_block block = {.v = v,
                                            .n = c - first < BLOCK ? c - first
                                                                   : BLOCK,
                                            .channel = first,
                                            .channels = c};
                for (size_t k = 0; k < block.n; k++)
                    v[k].i = 0;
                for (int i = 0; i < 2; i++)
                    add_row(p, x, image + v_taps.at[i], v_taps.weight[i],
                            &h_taps, &block);
                assay_program_run(p->out, &block);
                assay_store_values(p->y_dtype, (char *)y + (at + first) * size,
                                   v, block.n);
            }
        }
    }
}

const struct assay_resize_kernel assay_resize__ref = {
    .name = "assay_resize__ref",
    .isa = ASSAY_ISA_REF,
    .supports = supports,
    .run = run,
};
