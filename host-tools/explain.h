/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hand calculation of one element: what is added, and every step with its
 * value, as lines of text; and the same steps as points (cause/parting.h), so
 * that it can be said where somebody else's result must have left it. Every
 * number that is used is in a line, so that people can add it up again.
 */
#ifndef ASSAY_HOST_EXPLAIN_H
#define ASSAY_HOST_EXPLAIN_H

#include <stdbool.h>

#include "host-tools/cause/parting.h"
#include "lib/core/slice.h"

#define ASSAY_NO_POINT UINT32_MAX
#define ASSAY_EXPLAIN_OWN 4

struct assay_explain_line {
    const char *what; /* indented; in the arena */
    char value[40];
    uint32_t point; /* whose value it is; ASSAY_NO_POINT: a tap, a cell */
    bool operand;   /* read from an input or a constant */
};

struct assay_explain {
    /* Given. */
    const struct assay_slice *one; /* assay_slice_single() of the layer */
    const void *const *inputs;     /* by tensor of it; constants: NULL */
    size_t element;                /* of the output, stored order */
    bool taps;                     /* a line for each product and cell */
    /* Made; freed by assay_explain_close(). */
    struct assay_arena *arena;
    struct assay_explain_line *lines;
    size_t n_lines, cap_lines;
    struct assay_point points[ASSAY_POINTS];
    uint32_t n_points;    /* the last one is the result; 0: no calculation */
    uint32_t accumulator; /* a point, where the layer sums products; or NO */
    /* Of a convolution: taps in the padding, and the sum of their weights. */
    size_t pad_taps;
    int64_t pad_weight;
    /* Steps that stand in no program: the bias, what a softmax ends with. */
    struct assay_step own[ASSAY_EXPLAIN_OWN];
    int64_t own_a[ASSAY_EXPLAIN_OWN], own_b[ASSAY_EXPLAIN_OWN];
    uint32_t n_own;
    bool no_memory;
};

/* Fills lines and points. The value of the last point is what is stored. A
 * layer that has no calculation leaves no lines and no points. */
int assay_explain_make(struct assay_explain *e, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_explain_close(struct assay_explain *e); /* NULL safe */
/* The last point's value; undefined without points. */
union assay_value assay_explain_result(const struct assay_explain *e);
/* Of the output's elements: INT or F32. */
enum assay_value_kind assay_explain_result_kind(const struct assay_explain *e);

/*
 * Of a convolution: what each tap in the padding would have to hold, as an
 * element of the input is stored, for the accumulator to lie in the set. False:
 * no number does that, or there are no such taps.
 */
bool assay_explain_padding(const struct assay_explain *e,
                           const struct assay_preimage *set,
                           struct assay_preimage *out);
/*
 * Of a layer that looks its elements up: elements of the input whose entry lies
 * in the set, ascending, at most cap of them in out; how many there are.
 */
size_t assay_explain_entries(const struct assay_explain *e,
                             const struct assay_preimage *set, int64_t *out,
                             size_t cap);

/* What a value is as text; room for 40 bytes. */
const char *assay_explain_text(enum assay_value_kind kind,
                               const union assay_value *v, char *out,
                               size_t cap);

#endif
