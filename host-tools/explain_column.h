/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hand calculation on paper: its lines, every column's value beside the last
 * one, beside each step what a column that differs would have needed there, and
 * where it must have left the calculation.
 */
#ifndef ASSAY_HOST_EXPLAIN_COLUMN_H
#define ASSAY_HOST_EXPLAIN_COLUMN_H

#include <stdio.h>

#include "host-tools/explain.h"

#define ASSAY_EXPLAIN_COLUMNS 6

struct assay_explain_column {
    const char *name; /* "reference", "host", "sim", ... */
    union assay_value v;
    /* What this column itself had, by tensor of the layer's slice, as in struct
     * assay_explain; NULL: not observed. */
    const void *const *inputs;
};

/*
 * e: made; without points `engine`, the engine's own result, stands for the
 * calculation. inputs of a column: e->inputs where it had the same.
 */
int assay_explain_print(FILE *out, const struct assay_explain *e,
                        const union assay_value *engine,
                        const struct assay_explain_column *columns, size_t n,
                        struct assay_err *err) ASSAY_MUST_CHECK;

#endif
