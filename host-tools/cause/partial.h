/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A1: products of 8-bit operands that are summed in 16 bits before they are
 * widened. No step of a program can say that, so it is computed here: what the
 * narrow sums add to the exact accumulator. Scalar and slow, but says quickly
 * where no weights can do it. Pure; any thread.
 */
#ifndef ASSAY_CAUSE_PARTIAL_H
#define ASSAY_CAUSE_PARTIAL_H

#include <stdbool.h>

#include "lib/core/slice.h"

/*
 * The products of one output element in stored order (kh, kw, channel of the
 * group; K of a gemm) are taken in blocks of group * apart; elements i, i +
 * apart, i + 2 apart ... of a block are one sum of 16 bits.
 */
struct assay_partial {
    uint32_t group; /* products in a sum, at least 2; 0: all of an element */
    uint32_t apart; /* 1: neighbours; 2: every other one; 8: low and high */
                    /* half of a register */
    bool centred;   /* zero points are subtracted before the products; else */
                    /* stored values are multiplied, and corrected exactly */
    bool saturates; /* else it wraps */
    bool is_signed; /* stored uint8 values are taken less 128, as kernels of */
                    /* signed products do; nothing where centred */
};

/* Variant i of A1 in catalogue.def; false: there is none. */
bool assay_partial_variant(uint32_t i, struct assay_partial *out);

/* Can a sum of that kind leave 16 bits for some input? False for all but
 * convolutions and gemms of 8-bit inputs and constant 8-bit weights. Cost: one
 * pass over the weights. */
bool assay_partial_can_leave(const struct assay_slice *s, uint32_t layer,
                             const struct assay_partial *p);

/*
 * What is to be added to the exact accumulator of `n` output elements from
 * `first` on: multiples of 65536 where sums wrap. x: dense bytes of the
 * layer's first input. The layer is one for which assay_partial_can_leave.
 */
void assay_partial_errors(const struct assay_slice *s, uint32_t layer,
                          const struct assay_partial *p, const void *x,
                          size_t first, size_t n, int64_t *out);

#endif
