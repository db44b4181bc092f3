/* SPDX-License-Identifier: Apache-2.0 */
/* Padding that holds another number than it should. */
#ifndef ASSAY_CAUSE_EDIT_PAD_H
#define ASSAY_CAUSE_EDIT_PAD_H

#include "host-tools/cause/catalogue.h"

/*
 * By how much the accumulator of an element of the output changes when the
 * padding of P5's variant holds one more: the sum of the taps (less the zero
 * point of the weights) that lie in it. 0 for elements without such taps and
 * for all that are not convolutions.
 */
int64_t assay_pad_taps(const struct assay_slice *s, uint32_t layer,
                       uint32_t variant, size_t element);

/* Does a tap of that element lie in it, whatever its weights are? */
bool assay_pad_touches(const struct assay_slice *s, uint32_t layer,
                       uint32_t variant, size_t element);

/* All padding of a convolution or pool holds v, as stored; what
 * assay_edit_fn gives. Average pools: where padding counts. */
int assay_pad_all(struct assay_slice *s, uint32_t *layer, int64_t v,
                  struct assay_err *err);

/* P4, last windows; edit_window.c. */
assay_edit_fn assay_edit_window;

#endif
