/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps and operands of an edited layer's programs. A program belongs to the
 * edited slice, its operands may be borrowed: they are replaced, never written.
 */
#ifndef ASSAY_CAUSE_EDIT_PROGRAM_H
#define ASSAY_CAUSE_EDIT_PROGRAM_H

#include "lib/core/slice.h"

/* Index of the first (last) step of that kind; -1: none. */
int assay_edit_first(const struct assay_program *p, enum assay_step_kind kind);
int assay_edit_last(const struct assay_program *p, enum assay_step_kind kind);
/* A step with one operand (and one more where `two`), in front of step `at`.
 * ASSAY_EDIT_NOT_HERE: the program has no room. */
int assay_edit_insert(struct assay_slice *s, struct assay_program *p,
                      uint32_t at, enum assay_step_kind kind, int64_t a,
                      int64_t b, struct assay_err *err) ASSAY_MUST_CHECK;
void assay_edit_remove(struct assay_program *p, uint32_t at);
/* Fresh operands v[n] of a step, as `a`. */
int assay_edit_operand(struct assay_slice *s, struct assay_step *step,
                       uint32_t n, const int64_t *v, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Operand of channel c. */
int64_t assay_edit_at(const struct assay_step *s, uint32_t c);
/* The output's range as a last step. */
int assay_edit_clamp_out(struct assay_slice *s, uint32_t layer,
                         struct assay_err *err) ASSAY_MUST_CHECK;
/* Output channels: the last axis; 1 for a scalar. */
uint32_t assay_edit_channels(const struct assay_slice *s, uint32_t layer);

#endif
