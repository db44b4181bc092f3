/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices made of a slice: a copy to change, one layer by itself, one more
 * layer in between. The new slice's arrays are its own; names, constants,
 * operands of programs and fields are borrowed from `from`, which must outlive
 * it. Not thread safe: works on a slice that is being built.
 */
#ifndef ASSAY_CORE_SLICE_PART_H
#define ASSAY_CORE_SLICE_PART_H

#include "lib/core/slice.h"

/* The same tensors and layers under the same indices. */
int assay_slice_copy(struct assay_slice **out, const struct assay_slice *from,
                     struct assay_err *err) ASSAY_MUST_CHECK;

/*
 * n >= 1 layers, in execution order. What they read of others, computed tensors
 * too, is ROLE_INPUT (constants stay) and stands first, in the order in which it
 * is read; then stand their outputs, one a layer, in order. The last one is the
 * part's only output.
 */
int assay_slice_part(struct assay_slice **out, const struct assay_slice *from,
                     const uint32_t *layers, uint32_t n, struct assay_err *err)
    ASSAY_MUST_CHECK;

/*
 * One layer. Its distinct inputs are tensors 0 to n - 1, in order, computed
 * ones as ROLE_INPUT; its output is tensor n, the slice's only output.
 */
int assay_slice_single(struct assay_slice **out, const struct assay_slice *from,
                       uint32_t layer, struct assay_err *err) ASSAY_MUST_CHECK;

/* A zeroed layer at index `at`; layers from there on move up by one. */
int assay_slice_insert_layer(struct assay_slice *s, uint32_t at,
                             uint32_t n_inputs, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
