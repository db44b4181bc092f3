/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The products that one output element of a convolution or a gemm sums, one by
 * one: for causes that no program over the exact sum can say. Borrows the
 * slice. Pure; any thread.
 */
#ifndef ASSAY_CAUSE_PRODUCTS_H
#define ASSAY_CAUSE_PRODUCTS_H

#include <stdbool.h>

#include "lib/core/slice.h"

struct assay_products {
    const struct assay_tensor *x, *w;
    struct assay_conv2d_params p; /* of a gemm: those of a 1x1 window */
    int64_t h, width, c;          /* input; a gemm's rows are one row of it */
    int64_t oh, ow, oc;           /* output */
    int64_t kh, kw, ic;           /* a channel's weights */
};

/* False for all but convolutions (not transposed ones) and gemms of integers
 * with constant weights. */
bool assay_products_open(struct assay_products *out,
                         const struct assay_slice *s, uint32_t layer);

/* Zero point of channel c, 0 where there is none. */
int64_t assay_products_zero(const struct assay_tensor *t, uint32_t c);

/* Stored weight k of output channel o; k in stored order: kh, kw, ic. */
int64_t assay_products_weight(const struct assay_products *v, int64_t o,
                              int64_t k);

/* One element of the output: its channel, and where its window begins. */
struct assay_window {
    int64_t o, image, top, left, base;
};
struct assay_window assay_products_window(const struct assay_products *v,
                                          size_t element);
/* The stored input at tap (i, j), channel c of its group; false: padding. */
bool assay_products_input(const struct assay_products *v,
                          const struct assay_window *w, const void *x,
                          int64_t i, int64_t j, int64_t c, int64_t *out);

#endif
