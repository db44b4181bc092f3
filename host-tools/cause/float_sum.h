/* SPDX-License-Identifier: Apache-2.0 */
/*
 * S4: a quantized convolution or gemm whose source ran it in binary32: its
 * operands are dequantized, their products summed in some order, the sum
 * quantized. No slice can say it (the engine's sums are integers), so it is
 * computed here. Scalar and slow. Pure; any thread.
 *
 * x' = f32(x - zx) (x) Sx, w' likewise, b' = f32(b) (x) (Sx (x) Sw); result =
 * clamp(half_even((sum (+) b') (/) Sy)) + zy. Products are taken in the order
 * of the source: channel, kernel row, kernel column; padding is a product of 0.
 */
#ifndef ASSAY_CAUSE_FLOAT_SUM_H
#define ASSAY_CAUSE_FLOAT_SUM_H

#include <stdbool.h>

#include "lib/core/slice.h"

struct assay_float_form {
    uint32_t block; /* products of one running sum; such sums are then added */
                    /* to each other in turn. 0: all in one */
    bool fused;     /* product and addition in one rounding; else in two */
    bool restarts;  /* the sum of a block begins with a product, not at 0, */
                    /* and what is behind the last whole block is summed in */
                    /* pairs, as matrices of one row are */
};

/* Variant i of S4 in catalogue.def; false: there is none. */
bool assay_float_form_variant(uint32_t i, struct assay_float_form *out);

/* ASSAY_EDIT_NOT_HERE: no such layer, or scales are not known; ASSAY_EDIT_SAME:
 * it has so few products that another variant is the same; 0. */
int assay_float_form_fits(const struct assay_slice *s, uint32_t layer,
                          const struct assay_float_form *f);

/*
 * The integers that the layer then gives, n elements of its output from
 * `first` on. x: dense bytes of its first input. The layer is one that
 * assay_float_form_fits.
 */
void assay_float_sums(const struct assay_slice *s, uint32_t layer,
                      const struct assay_float_form *f, const void *x,
                      size_t first, size_t n, int64_t *out);

#endif
