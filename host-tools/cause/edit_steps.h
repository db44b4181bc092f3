/* SPDX-License-Identifier: Apache-2.0 */
/* Rounding, step by step: multipliers, shifts, conversions of a program. */
#ifndef ASSAY_CAUSE_EDIT_STEPS_H
#define ASSAY_CAUSE_EDIT_STEPS_H

#include "host-tools/cause/edit_program.h"

/* R5, R11, R13 to R18, R21; gives what assay_edit_fn gives, but the layer may
 * be changed where it is refused. */
int assay_edit_steps(struct assay_slice *s, uint32_t layer,
                     const struct assay_edit *e, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
