/* SPDX-License-Identifier: Apache-2.0 */
/* Weights in another order. */
#ifndef ASSAY_CAUSE_EDIT_WEIGHT_H
#define ASSAY_CAUSE_EDIT_WEIGHT_H

#include <stdbool.h>

#include "lib/core/slice.h"

/* Four loops over the elements of a tensor; strides in elements. */
struct assay_order {
    int64_t dims[4], strides[4], offset;
};

/* Has the layer constant weights (input 1)? */
bool assay_weights_here(const struct assay_slice *s,
                        const struct assay_layer *l);
/* The layer's weights become their own elements in that order, whose dims
 * multiply to their count; what assay_edit_fn gives. */
int assay_weights_reorder(struct assay_slice *s, uint32_t layer,
                          const struct assay_order *order,
                          struct assay_err *err);

#endif
