/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The space that fit-arith searches: docs/numerics.md, "The space of
 * fit-arith". A candidate is one choice in each dimension; it is written as a
 * rule of lib/core/form.h. The space is the same for every form and family:
 * what a layer lacks (no bias, no pre-shift, no second input) is no dimension
 * there. Pure functions, any thread.
 */
#ifndef ASSAY_FIT_SPACE_H
#define ASSAY_FIT_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/core/err.h"
#include "lib/core/slice.h"

enum assay_fit_dim {
    ASSAY_FIT_INDEX = 0, /* of a 256-entry table: ascending, unsigned */
    ASSAY_FIT_BETWEEN,   /* interpolation: once, twice */
    ASSAY_FIT_LINE,      /* segment table: rounding of the line */
    ASSAY_FIT_MIX,       /* and of the interpolation */
    ASSAY_FIT_POSITIVE,  /* prelu: rounding where x >= 0 */
    ASSAY_FIT_BIAS,      /* joins: accumulator, behind pre-shift, product */
    ASSAY_FIT_SECOND,    /* the second input joins: the same three */
    ASSAY_FIT_HOW,       /* shift then multiply, multiply then shift */
    ASSAY_FIT_SECOND_ROUND,
    ASSAY_FIT_WIDTH,  /* of the accumulator: none, wrap 32, sat 32 */
    ASSAY_FIT_PRE,    /* 8 roundings of the first shift */
    ASSAY_FIT_MIDDLE, /* none, sat 16, wrap 16, sat 32, wrap 32 */
    ASSAY_FIT_DERIVE, /* floor, half_up, ceil, where none is in the file */
    ASSAY_FIT_POST,   /* 8 roundings of the second shift */
    ASSAY_FIT_OUT,    /* saturate, wrap */
    ASSAY_FIT_DIMS,
};
#define ASSAY_FIT_FIRST_JOIN ASSAY_FIT_BIAS

/* Positions of BIAS and SECOND. */
enum { ASSAY_FIT_AT_ACC = 0, ASSAY_FIT_AT_PRE = 1, ASSAY_FIT_AT_PRODUCT = 2 };

struct assay_fit_choice {
    uint8_t v[ASSAY_FIT_DIMS];
};

/* Choices a dimension has; 1: it is none. The last one counts fastest. */
struct assay_fit_space {
    uint8_t radix[ASSAY_FIT_DIMS];
};

/* How the candidates of a form are tried. */
enum assay_fit_kind {
    ASSAY_FIT_NONE = 0,   /* the form has no choice, or is not known */
    ASSAY_FIT_STAGED,     /* on exact accumulators, stage by stage */
    ASSAY_FIT_ENUMERATED, /* few: each is run by the engine */
};
enum assay_fit_kind assay_fit_kind_of(const char *form);

/* All dimensions of a form, and those that one of its layers has. */
struct assay_fit_space assay_fit_space_of(const char *form);
struct assay_fit_space assay_fit_space_layer(const struct assay_slice *s,
                                             const struct assay_layer *l);
size_t assay_fit_size(const struct assay_fit_space *space);
struct assay_fit_choice assay_fit_choice_at(const struct assay_fit_space *space,
                                            size_t index);
/* Index of a choice; dimensions that the space lacks count 0. */
size_t assay_fit_index(const struct assay_fit_space *space,
                       const struct assay_fit_choice *choice);
/* How many dimensions of the space two choices differ in. */
unsigned assay_fit_distance(const struct assay_fit_space *space,
                            const struct assay_fit_choice *a,
                            const struct assay_fit_choice *b);

#define ASSAY_FIT_RULE_TEXT 512
/* The rule of a choice, for all layers of a form. */
void assay_fit_rule(const char *form, const struct assay_fit_choice *choice,
                    char out[ASSAY_FIT_RULE_TEXT]);
/* The choice that gives this rule for the layers of a form; false: the rule is
 * outside of the space. */
bool assay_fit_parse(const char *form, const char *rule,
                     struct assay_fit_choice *out);

/* "bias: behind the product", for people. */
const char *assay_fit_dim_name(enum assay_fit_dim dim);
const char *assay_fit_value_name(enum assay_fit_dim dim, unsigned value);

#endif
