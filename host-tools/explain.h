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

/* explain_window.c: pools; explain_move.c: concat, views. What the element is
 * in front of the program, which they print as well. */
void assay_explain_pool(const struct assay_explain *e, union assay_value *v);
void assay_explain_concat(const struct assay_explain *e, union assay_value *v);
void assay_explain_view(const struct assay_explain *e, union assay_value *v);

static inline const struct assay_layer *assay_explain_layer(
    const struct assay_explain *e)
{
    return &e->one->layers[0];
}
static inline const struct assay_tensor *assay_explain_input(
    const struct assay_explain *e, uint32_t i)
{
    return &e->one->tensors[e->one->layers[0].inputs[i]];
}
static inline const struct assay_tensor *assay_explain_output(
    const struct assay_explain *e)
{
    return &e->one->tensors[e->one->layers[0].output];
}
static inline size_t assay_explain_channels(const struct assay_tensor *t)
{
    return t->rank > 0 ? (size_t)t->dims[t->rank - 1] : 1;
}
static inline int64_t assay_explain_zero(const struct assay_tensor *t,
                                         size_t channel)
{
    return t->quant.n == 0 ? 0
                           : t->quant.zero_point[t->quant.n > 1 ? channel : 0];
}

/* "  element 7 of NAME" with its value, left in *v. */
void assay_explain_operand(const struct assay_explain *e, uint32_t input,
                           size_t i, union assay_value *v);
void assay_explain_integer(const struct assay_explain *e, const char *what,
                           int64_t v);
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
