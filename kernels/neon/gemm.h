/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution as a matrix product: rows are output pixels, columns output
 * channels, depth is kh * kw * channels of the group, in steps of 16 bytes.
 *
 * A block of pixels is gathered once into panels ([depth / 16][rows][16],
 * signed bytes) and multiplied with all tiles of the weights. Unsigned
 * operands become signed by flipping the top bit, zero points included; they
 * are folded into the bias with the sums of the weights, and with the sums of
 * the pixels only where a weight zero point is not 0. Elements of 16 bits are
 * gathered as twice as many bytes; their weights are packed without their
 * zero points.
 */
#ifndef ASSAY_KERNELS_NEON_GEMM_H
#define ASSAY_KERNELS_NEON_GEMM_H

#include "kernels/neon/fixed.h"

/* One column tile times some panels of equal height. */
struct assay_tile_job {
    size_t steps;    /* depth / 16, >= 1 */
    size_t panels;   /* >= 1 */
    const int8_t *x; /* panels, one behind the other */
    const int8_t *w;
    const struct assay_epilogue *e;
    size_t channel;      /* of the tile, in e's arrays */
    const int32_t *sums; /* of each pixel, when e->w_zero */
    uint8_t *y;          /* elements of assay_epi_bytes() */
    size_t y_row;        /* bytes from pixel to pixel */
    /* Second operands of the tile's channels, when e->second_dtype. */
    const uint8_t *second;
    size_t second_row; /* bytes from pixel to pixel */
};
typedef void assay_tile_fn(const struct assay_tile_job *job);

struct assay_gemm {
    size_t element;           /* bytes of a gathered or packed element: 1, 2 */
    size_t rows;              /* pixels of a panel: 4 or 8 */
    size_t cols;              /* channels of a tile: 4 or 8 */
    size_t quad;              /* consecutive bytes of one channel: 4 or 16 */
    assay_tile_fn *tile;      /* right for every weight */
    assay_tile_fn *tile_fast; /* needs weights without -128 */
    assay_tile_fn *tile_4;    /* 4 rows, for a low last panel; or NULL */
    assay_tile_fn *tile_1;    /* one row, right for every weight */
};

extern const struct assay_gemm assay_gemm_neon; /* conv2d_x8w8.c */

bool assay_gemm_supports(const struct assay_conv2d *p);
size_t assay_gemm_packed_size(const struct assay_gemm *g,
                              const struct assay_conv2d *p);
void assay_gemm_pack(const struct assay_gemm *g, const struct assay_conv2d *p,
                     void *packed);
size_t assay_gemm_scratch_size(const struct assay_gemm *g,
                               const struct assay_conv2d *p);
void assay_gemm_run(const struct assay_gemm *g, const struct assay_conv2d *p,
                    const void *packed, const void *x, void *y, void *scratch);

/* gather.c: pixels first .. first + n - 1 of a group into panels. */
void assay_gemm_gather(const struct assay_conv2d *p, size_t group, size_t first,
                       size_t n, size_t rows, const void *x, uint8_t *line,
                       int8_t *panels);
/* Sums of the pixels of panels. */
void assay_gemm_sums(const int8_t *panels, size_t n_panels, size_t rows,
                     size_t steps, int32_t *sums);

/*
 * interpret.c: n pixels x channels of int32 accumulators (`stride` elements
 * from pixel to pixel) through the program; the first of them is element
 * `index` of the dense output.
 */
void assay_interpret_rows(const struct assay_conv2d *p, const int32_t *acc,
                          size_t stride, size_t n, size_t first_channel,
                          size_t channels, size_t index, void *y);

ASSAY_INLINE size_t assay_round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Rows that n <= rows pixels take in a panel: 1, 4 or all. */
ASSAY_INLINE size_t assay_panel_rows(size_t n, size_t rows)
{
    return n == 1 ? 1 : n <= 4 ? 4 : rows;
}

#endif
