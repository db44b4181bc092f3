/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hand calculation of one element as text: what is added, and every step
 * of the program with its value. Every number that is used is printed, so that
 * somebody can add it up again.
 */
#ifndef ASSAY_HOST_EXPLAIN_H
#define ASSAY_HOST_EXPLAIN_H

#include <stdbool.h>
#include <stdio.h>

#include "kernels/requant.h"
#include "lib/core/slice.h"

struct assay_explain {
    const struct assay_slice *one; /* assay_slice_single() of the layer */
    const void *const *inputs;     /* by tensor of it; constants: NULL */
    size_t element;                /* of the output, stored order */
    bool taps;                     /* print each product and cell */
    FILE *out;
};

/* Prints all lines down to the stored value, without its end of line: columns
 * follow there. *result: that value; false: this operator has no calculation
 * to show, and nothing was printed. */
bool assay_explain_print(const struct assay_explain *e,
                         union assay_value *result);

/* explain_step.c: a line "  what      value", and a program's lines. `second`:
 * what ADD_INPUT takes. The last value is left in *v. */
void assay_explain_line(FILE *out, const char *what, const char *value);
void assay_explain_program(const struct assay_explain *e,
                           const struct assay_program *p, size_t channel,
                           const int32_t *second, union assay_value *v,
                           bool is_f32, const char *indent);
/* Element i of tensor t; its text. */
union assay_value assay_explain_get(const struct assay_explain *e, uint32_t t,
                                    size_t i);
const char *assay_explain_value(enum assay_dtype dtype,
                                const union assay_value *v, char *out,
                                size_t cap);

#endif
