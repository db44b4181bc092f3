/* SPDX-License-Identifier: Apache-2.0 */
/* Padding of a convolution that holds another number than its zero point. */
#ifndef ASSAY_CAUSE_EDIT_PAD_H
#define ASSAY_CAUSE_EDIT_PAD_H

#include "host-tools/cause/catalogue.h"

/*
 * By how much the accumulator of an element of the output changes when the
 * padding of P5's variant holds one more: the sum of the taps (less the zero
 * point of the weights) that lie in it. 0 for layers without such padding.
 */
int64_t assay_pad_taps(const struct assay_slice *s, uint32_t layer,
                       uint32_t variant, size_t element);

#endif
