/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The staged search over exact accumulators. Elements go through in blocks;
 * at each stage only distinct vectors are kept, with the choices that give
 * them, and what is no longer alive is not computed.
 *
 * A state is an array with one number for each candidate of the layer's space
 * (space.h): 0 is dead. Pure functions, any thread.
 */
#ifndef ASSAY_FIT_SEARCH_H
#define ASSAY_FIT_SEARCH_H

#include "host-tools/fit/space.h"

/* What a layer is to the search; arrays are owned by whoever made it. */
struct assay_fit_problem {
    struct assay_fit_space space;
    enum assay_dtype dtype; /* of the output: 8 to 32 bits */
    bool relu, subtract;    /* the second input is subtracted */
    uint32_t channels;      /* operands below: one a channel; NULL: lacking */
    const int64_t *bias, *x_shift;
    const int64_t *second_shift, *second_scale; /* to the right; < 0: left */
    const int64_t *pre_shift;
    const int64_t *scale[3], *post_shift[3]; /* by DERIVE; [0] without it */
    /* What the accumulator (behind x_shift) and the second input can be. */
    const int64_t *lo, *hi; /* one a channel */
    const int64_t *unit;    /* accumulators are multiples of it; NULL: of 1 */
    int64_t second_lo, second_hi;
};

/* Elements: accumulator, second input or NULL, channel, golden or NULL. */
struct assay_fit_elements {
    size_t n;
    const int64_t *acc, *second, *golden;
    const uint32_t *channel; /* NULL: element i is of channel i % channels */
};

/* Kills what gives another output than the golden in any element. *left: how
 * many stay. ASSAY_EMEMORY. */
int assay_fit_filter(const struct assay_fit_problem *p,
                     const struct assay_fit_elements *e, uint32_t *state,
                     size_t *left, struct assay_err *err) ASSAY_MUST_CHECK;
/* Splits: afterwards two candidates have the same number (from 1) exactly if
 * they had it before and give the same outputs. *classes: how many. */
int assay_fit_split(const struct assay_fit_problem *p,
                    const struct assay_fit_elements *e, uint32_t *state,
                    size_t *classes, struct assay_err *err) ASSAY_MUST_CHECK;
/* Elements in which each candidate that is alive differs from the golden. */
int assay_fit_count(const struct assay_fit_problem *p,
                    const struct assay_fit_elements *e, const uint32_t *state,
                    uint32_t *differ, struct assay_err *err) ASSAY_MUST_CHECK;
/* The output of one candidate for one element. */
int64_t assay_fit_output(const struct assay_fit_problem *p,
                         const struct assay_fit_choice *c, int64_t acc,
                         int64_t second, uint32_t channel);
/* What the second input adds, and the two widths of a choice. */
int64_t assay_fit_term(const struct assay_fit_problem *p, unsigned how,
                       unsigned round, int64_t second, uint32_t channel);
int64_t assay_fit_width(int64_t v, unsigned width);
int64_t assay_fit_middle(int64_t v, unsigned middle);
/* state becomes the number, from 1, of the pair (state, other); dead stays
 * dead. NULL: of the state alone. */
int assay_fit_pair(uint32_t *state, const uint32_t *other, size_t n,
                   size_t *classes, struct assay_err *err) ASSAY_MUST_CHECK;

#endif
