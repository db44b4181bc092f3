/* SPDX-License-Identifier: Apache-2.0 */
/* The files of family O; each function is what catalogue.h says of edits. */
#ifndef ASSAY_CAUSE_EDIT_OP_H
#define ASSAY_CAUSE_EDIT_OP_H

#include "host-tools/cause/catalogue.h"

/* edit_op_pool.c O1 O11, edit_op_table.c O3 O8 O9, edit_op_bound.c O6 O7,
 * edit_op_index.c O2 O12 O13. */
assay_edit_fn assay_edit_op_pool, assay_edit_op_table, assay_edit_op_bound,
    assay_edit_op_index;

/* The layer under another arithmetic of arith.h; what assay_edit_fn gives. */
int assay_edit_arith(struct assay_slice *s, uint32_t layer, const char *name,
                     struct assay_err *err);

#endif
