/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input of a layer from its output, where only one input gives it: moves
 * of elements that lose none, and dequantization. So a tensor that nobody
 * wrote down is known where what was made of it is. Pure; any thread.
 */
#ifndef ASSAY_DIFF_BACKWARD_H
#define ASSAY_DIFF_BACKWARD_H

#include "lib/core/slice.h"

/* Can it be had at all? Its only computed input is inputs[0]. */
bool assay_backward_can(const struct assay_slice *s, uint32_t layer);
/*
 * got: dense bytes of the layer's output. *out: those of its input, to be
 * freed with assay_free; NULL: no input, or more than one, gives just that.
 */
int assay_backward(void **out, const struct assay_slice *s, uint32_t layer,
                   const void *got, struct assay_err *err) ASSAY_MUST_CHECK;

#endif
