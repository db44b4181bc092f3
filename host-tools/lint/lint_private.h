/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of assay_lint: internal to this room. */
#ifndef ASSAY_LINT_PRIVATE_H
#define ASSAY_LINT_PRIVATE_H

#include "host-tools/lint/lint.h"
#include "lib/engine/range.h"

enum assay_lint_key {
#define ASSAY_LINT(key, id, worst, text) ASSAY_LINT_##key,
#include "host-tools/lint/checks.def"
#undef ASSAY_LINT
    ASSAY_LINT_N,
};

struct assay_linter {
    struct assay_findings *out;
    const struct assay_slice *s;
    const struct assay_lint_options *o;
    uint32_t *producer; /* of each tensor: its layer, or UINT32_MAX */
    bool no_memory;
};

/* Texts are copied. */
void assay_lint_add(struct assay_linter *c, enum assay_lint_key key,
                    enum assay_severity severity, const char *subject,
                    const char *expected, const char *found, const char *fmt,
                    ...) ASSAY_PRINTF(7, 8);

/* lint.c. The layer that computes a tensor, else the tensor, by name. */
const char *assay_lint_owner(const struct assay_linter *c, uint32_t tensor);
static inline const struct assay_tensor *assay_lint_in(
    const struct assay_linter *c, const struct assay_layer *l, uint32_t i)
{
    return &c->s->tensors[l->inputs[i]];
}
/* Convolutions and gemm: data and constant integer weights. */
bool assay_lint_has_weights(const struct assay_linter *c,
                            const struct assay_layer *l);
/* Element i of integer data in a constant. */
int64_t assay_lint_load(const struct assay_tensor *t, size_t i);
/* Is there one usable scale, that was given? */
bool assay_lint_scaled(const struct assay_linter *c, uint32_t tensor);
/* Scale and zero point of channel i. */
double assay_lint_scale(const struct assay_tensor *t, uint32_t i);
int32_t assay_lint_zero(const struct assay_tensor *t, uint32_t i);
/* Does the name hold the word, whatever the case of its letters? */
bool assay_lint_names(const char *name, const char *word);

/* lint_factor.c. What a program multiplies by, roundings and limits aside;
 * false: it says no factor. */
bool assay_lint_gain(const struct assay_program *p, uint32_t channel,
                     double *gain);

void assay_lint_scales(struct assay_linter *c);  /* lint_scale.c */
void assay_lint_weights(struct assay_linter *c); /* lint_weight.c */
void assay_lint_sums(struct assay_linter *c);    /* lint_sum.c */
void assay_lint_factors(struct assay_linter *c); /* lint_factor.c */
void assay_lint_joins(struct assay_linter *c);   /* lint_join.c */
void assay_lint_graph(struct assay_linter *c);   /* lint_graph.c */
int assay_lint_dtypes(struct assay_linter *c,
                      struct assay_err *err); /* lint_dtype.c */

#endif
