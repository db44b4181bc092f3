/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads an image at the offsets, or positions, of a grid; the definition
 * (docs/numerics.md, "grid_sample").
 *
 * 64 bits hold everything: a coordinate is below 2^31 * 2^14 + 2^15, a sum
 * below 2^16 * 2^14 * 2^14.
 */
#include "kernels/kernels.h"

#define BLOCK 64 /* channels at a time */

static bool supports(const struct assay_grid_sample *p)
{
    return (p->x_dtype == ASSAY_S8 || p->x_dtype == ASSAY_U8 ||
            p->x_dtype == ASSAY_S16) &&
           assay_dtype_size(p->y_dtype) != 0 && p->coord_shift <= 14;
}

/* The pixels that a position reads along one axis. */
struct taps {
    int64_t at[2];     /* may lie outside the image */
    int64_t weight[2]; /* 0: not read */
};

/* From output position i and its offset, or from a position alone. */
static struct taps taps_of(const struct assay_grid_sample *p, int32_t i,
                           int16_t offset, int32_t size)
{
    int64_t one = (int64_t)1 << p->coord_shift;
    int64_t at = (p->absolute ? 0 : i * one) + offset;
    int64_t last = (size - 1) * one;
    struct taps t = {{0, 0}, {1, 0}};
    if (p->padding == ASSAY_GRID_BORDER)
        at = at < 0 ? 0 : at > last ? last : at;
    if (p->nearest) {
        t.at[0] = assay_shr(at, (int)p->coord_shift, ASSAY_ROUND_HALF_UP);
        return t;
    }
    t.at[0] = assay_shr(at, (int)p->coord_shift, ASSAY_ROUND_FLOOR);
    t.at[1] = t.at[0] + 1;
    t.weight[1] = at - t.at[0] * one; /* 0 .. one - 1 */
    t.weight[0] = one - t.weight[1];
    return t;
}

/* Adds pixel (row, col) of image n; what lies outside is 0. */
static void add_pixel(const struct assay_grid_sample *p, const void *x,
                      int64_t n, int64_t row, int64_t col, int64_t weight,
                      const struct assay_block *block)
{
    union assay_value e[BLOCK];
    if (weight == 0 || row < 0 || row >= p->h || col < 0 || col >= p->w)
        return;
    size_t pixel = (size_t)((n * p->h + row) * p->w + col);
    size_t at = pixel * (size_t)p->c + block->channel;
    assay_load_values(p->x_dtype,
                      (const char *)x + at * assay_dtype_size(p->x_dtype), e,
                      block->n);
    for (size_t k = 0; k < block->n; k++)
        block->v[k].i += e[k].i * weight;
}

static void sample(const struct assay_grid_sample *p, const void *x, int64_t n,
                   const struct taps *v_taps, const struct taps *h_taps,
                   const struct assay_block *block)
{
    for (size_t k = 0; k < block->n; k++)
        block->v[k].i = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            add_pixel(p, x, n, v_taps->at[i], h_taps->at[j],
                      v_taps->weight[i] * h_taps->weight[j], block);
}

static void run(const struct assay_grid_sample *p, const void *x,
                const int16_t *grid, void *y)
{
    union assay_value v[BLOCK];
    size_t c = (size_t)p->c, size = assay_dtype_size(p->y_dtype), at = 0;
    int v_at = p->xy ? 1 : 0, h_at = 1 - v_at;
    for (int64_t row = 0; row < (int64_t)p->n * p->oh; row++) {
        for (int32_t ox = 0; ox < p->ow; ox++, at += c, grid += 2) {
            struct taps v_taps =
                taps_of(p, (int32_t)(row % p->oh), grid[v_at], p->h);
            struct taps h_taps = taps_of(p, ox, grid[h_at], p->w);
            for (size_t first = 0; first < c; first += BLOCK) {
                struct assay_block block = {.v = v,
                                            .n = c - first < BLOCK ? c - first
                                                                   : BLOCK,
                                            .channel = first,
                                            .channels = c};
                sample(p, x, row / p->oh, &v_taps, &h_taps, &block);
                assay_program_run(p->out, &block);
                assay_store_values(p->y_dtype, (char *)y + (at + first) * size,
                                   v, block.n);
            }
        }
    }
}

const struct assay_grid_sample_kernel assay_grid_sample__ref = {
    .name = "assay_grid_sample__ref",
    .isa = ASSAY_ISA_REF,
    .supports = supports,
    .run = run,
};
