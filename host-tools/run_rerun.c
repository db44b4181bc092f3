/* SPDX-License-Identifier: Apache-2.0 */
/* Layers run once more, on the reference's tensors or a column's. */
#include <string.h>

#include "host-tools/messages.h"
#include "host-tools/run.h"

/* Marks what must be computed to have the layer; false: it cannot be had.
 * Producers come first in execution order: one walk back finds all. */
static bool need(const struct assay_run *r, const void *const *values,
                 uint32_t layer, bool *mask)
{
    mask[layer] = true;
    for (uint32_t i = layer + 1; i-- > 0;) {
        const struct assay_layer *l = &r->s->layers[i];

        if (!mask[i])
            continue;
        /* A column is not judged by layers that are not to be run. */
        if (l->op == ASSAY_OP_SKIPPED ||
            (values != r->values && !r->layers[i].run))
            return false;
        for (uint32_t j = 0; j < l->n_inputs; j++) {
            uint32_t t = l->inputs[j];
            int64_t p = assay_run_producer(r, t);

            if (r->s->tensors[t].role == ASSAY_ROLE_CONSTANT ||
                values[t] != NULL)
                continue;
            if (p < 0 || p >= (int64_t)i)
                return false;
            mask[p] = true;
        }
    }
    return true;
}

static bool inputs_known(const struct assay_run *r, const void *const *values,
                         uint32_t layer)
{
    const struct assay_layer *l = &r->s->layers[layer];

    for (uint32_t j = 0; j < l->n_inputs; j++) {
        if (r->s->tensors[l->inputs[j]].role != ASSAY_ROLE_CONSTANT &&
            values[l->inputs[j]] == NULL)
            return false;
    }
    return true;
}

/* Would a layer of the pass compute what another one must be given? */
static bool conflicts(const struct assay_run *r, const void *const *values,
                      const bool *mask)
{
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        const struct assay_layer *l = &r->s->layers[i];

        for (uint32_t j = 0; j < l->n_inputs && mask[i]; j++) {
            int64_t p = assay_run_producer(r, l->inputs[j]);

            if (p >= 0 && mask[p] && values[l->inputs[j]] != NULL)
                return true;
        }
    }
    return false;
}

/* Which layers are to be run on given tensors; one byte a layer each. */
struct segments {
    bool *left;  /* wanted and not yet run */
    bool *mask;  /* run in this pass */
    bool *judge; /* and compared */
    bool *trial;
};

/* As many segments as go together without one computing what another is to be
 * given. false: none is left. */
static bool next_pass(const struct assay_run *r, const void *const *values,
                      struct segments *s)
{
    size_t n = r->s->n_layers;
    bool any = false;

    memset(s->mask, 0, n);
    memset(s->judge, 0, n);
    for (uint32_t i = 0; i < n; i++) {
        if (!s->left[i])
            continue;
        memcpy(s->trial, s->mask, n);
        if (!need(r, values, i, s->trial)) {
            s->left[i] = false; /* it cannot be had */
            continue;
        }
        if (conflicts(r, values, s->trial))
            continue;
        memcpy(s->mask, s->trial, n);
        s->left[i] = false;
        s->judge[i] = true;
        any = true;
    }
    return any;
}

static int run_segments(struct assay_run *r, struct assay_pass *pass,
                        struct segments *s)
{
    const void *const *values = assay_pass_source(r, pass);
    bool any = false;
    int rc = 0;

    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        s->mask[i] = s->left[i] && inputs_known(r, values, i);
        s->left[i] = s->left[i] && !s->mask[i];
        any = any || s->mask[i];
    }
    pass->isolated = true;
    pass->layers = pass->judge = s->mask;
    if (any)
        rc = assay_run_pass(r, pass);
    pass->isolated = false;
    pass->judge = s->judge;
    while (rc == 0 && next_pass(r, values, s))
        rc = assay_run_pass(r, pass);
    return rc;
}

static int run_on(struct assay_run *r, struct assay_pass *pass,
                  const bool *wanted_layers)
{
    size_t n = (size_t)r->s->n_layers + 1;
    struct segments s = {
        .left = assay_calloc(n, 1),
        .mask = assay_calloc(n, 1),
        .judge = assay_calloc(n, 1),
        .trial = assay_calloc(n, 1),
    };
    int rc;

    if (s.left == NULL || s.mask == NULL || s.judge == NULL ||
        s.trial == NULL) {
        rc = assay_fail_message(&r->error, ASSAY_EMEMORY, ASSAY_MSG_MEMORY,
                                NULL);
    } else {
        memcpy(s.left, wanted_layers, r->s->n_layers);
        rc = run_segments(r, pass, &s);
    }
    assay_free(s.left);
    assay_free(s.mask);
    assay_free(s.judge);
    assay_free(s.trial);
    return rc;
}

int assay_run_on_reference(struct assay_run *r, struct assay_backend *backend,
                           enum assay_column column, uint32_t cpumask,
                           const bool *wanted_layers)
{
    struct assay_pass pass = {
        .backend = backend,
        .column = column,
        .cpumask = cpumask,
    };

    return run_on(r, &pass, wanted_layers);
}

int assay_run_on_side(struct assay_run *r, enum assay_case_side side,
                      const bool *wanted_layers)
{
    struct assay_pass pass = {
        .backend = r->board,
        .column = assay_side_column(side),
        .cpumask = r->o->cpumask,
        .source = (const void *const *)r->sides[side].values,
    };

    return run_on(r, &pass, wanted_layers);
}
