/* SPDX-License-Identifier: Apache-2.0 */
/* What edits of sums and of zero points share. */
#ifndef ASSAY_CAUSE_EDIT_SUM_H
#define ASSAY_CAUSE_EDIT_SUM_H

#include "host-tools/cause/edit_program.h"

/* Bias of each output channel in units of the accumulator, wherever it is
 * added (*has: is it at all? 0 otherwise); in the slice's arena, NULL: out of
 * memory. */
int64_t *assay_edit_get_bias(const struct assay_slice *s, uint32_t layer,
                             bool *has);
/* v[channels] in its place; without one, as the layer's own bias. */
int assay_edit_put_bias(struct assay_slice *s, uint32_t layer, const int64_t *v,
                        struct assay_err *err) ASSAY_MUST_CHECK;

/* The layer's first input in 16 bits, with those zero points, by a layer in
 * front of it: sums are then exact. */
int assay_edit_widen_input(struct assay_slice *s, uint32_t *layer,
                           const struct assay_quant *quant,
                           struct assay_err *err) ASSAY_MUST_CHECK;
/* A4: bytes of the first input, or of the weights (of a product of tensors, the
 * second input), as the other type. */
int assay_edit_other_sign(struct assay_slice *s, uint32_t *layer, bool weights,
                          struct assay_err *err) ASSAY_MUST_CHECK;
/* Z1 to Z4; gives what assay_edit_fn gives, but the layer may be changed where
 * it is refused. */
int assay_edit_zero(struct assay_slice *s, uint32_t *layer,
                    const struct assay_edit *e, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
