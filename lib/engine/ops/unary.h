/* SPDX-License-Identifier: Apache-2.0 */
/* One operand through one program: what unary and concat share. */
#ifndef ASSAY_ENGINE_OPS_UNARY_H
#define ASSAY_ENGINE_OPS_UNARY_H

#include "lib/engine/ops.h"

/* Proves `program` on every value of x for an output of y_dtype; fills out. */
int assay_unary_check(const struct assay_op_check *c,
                      const struct assay_program *program,
                      const struct assay_tensor *x, enum assay_dtype y_dtype,
                      const char *what, struct assay_unary *out)
    ASSAY_MUST_CHECK;

#endif
