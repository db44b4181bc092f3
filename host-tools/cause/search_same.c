/* SPDX-License-Identifier: Apache-2.0 */
/* Edits that are written in two ways and leave one slice. */
#include <string.h>

#include "host-tools/cause/search_private.h"

static bool same_operand(const int64_t *a, uint32_t n, const int64_t *b,
                         uint32_t m)
{
    uint32_t most = n > m ? n : m;

    if (!a || !b)
        return a == b;
    for (uint32_t i = 0; i < most; i++)
        if (a[n > 1 ? i : 0] != b[m > 1 ? i : 0])
            return false;
    return true;
}

static bool same_program(const struct assay_program *a,
                         const struct assay_program *b)
{
    if (a->n_steps != b->n_steps)
        return false;
    for (uint32_t i = 0; i < a->n_steps; i++) {
        const struct assay_step *s = &a->steps[i], *t = &b->steps[i];

        if (s->kind != t->kind || s->round != t->round ||
            s->add_mode != t->add_mode || s->bits != t->bits ||
            !same_operand(s->a, s->n, t->a, t->n) ||
            !same_operand(s->b, s->n, t->b, t->n))
            return false;
    }
    return true;
}

static bool same_tensor(const struct assay_tensor *a,
                        const struct assay_tensor *b)
{
    if (a->role != b->role || a->dtype != b->dtype || a->rank != b->rank ||
        memcmp(a->dims, b->dims, a->rank * sizeof(a->dims[0])) != 0 ||
        a->size != b->size || a->quant.n != b->quant.n)
        return false;
    for (uint32_t i = 0; i < a->quant.n; i++)
        if (a->quant.zero_point[i] != b->quant.zero_point[i])
            return false;
    return a->size == 0 || memcmp(a->data, b->data, a->size) == 0;
}

static bool same_layer(const struct assay_slice *s, const struct assay_layer *a,
                       const struct assay_slice *t, const struct assay_layer *b)
{
    if (a->op != b->op || a->n_inputs != b->n_inputs ||
        a->n_in_programs != b->n_in_programs ||
        memcmp(&a->p, &b->p, sizeof(a->p)) != 0 ||
        !same_program(&a->out_program, &b->out_program) ||
        !same_tensor(&s->tensors[a->output], &t->tensors[b->output]))
        return false;
    for (uint32_t i = 0; i < a->n_in_programs; i++)
        if (!same_program(&a->in_programs[i], &b->in_programs[i]))
            return false;
    for (uint32_t i = 0; i < a->n_inputs; i++)
        if (!same_tensor(&s->tensors[a->inputs[i]], &t->tensors[b->inputs[i]]))
            return false;
    return true;
}

int assay_candidate_same(const struct assay_search_ctx *x,
                         const struct assay_hypothesis *a,
                         const struct assay_hypothesis *b,
                         struct assay_err *err)
{
    struct assay_candidate c, d;
    bool same;
    int rc;

    if (a->scope.kind != b->scope.kind || a->scope.n != b->scope.n)
        return 0;
    rc = assay_candidate_open(&c, x, a->edits, a->n_edits, err);
    if (rc)
        return rc < 0 ? rc : 0;
    rc = assay_candidate_open(&d, x, b->edits, b->n_edits, err);
    if (rc) {
        assay_candidate_close(&c);
        return rc < 0 ? rc : 0;
    }
    same = c.slice->n_layers == d.slice->n_layers && !c.has_partial &&
           !d.has_partial && !c.has_float && !d.has_float;
    for (uint32_t i = 0; same && i < c.slice->n_layers; i++)
        same = same_layer(c.slice, &c.slice->layers[i], d.slice,
                          &d.slice->layers[i]);
    assay_candidate_close(&c);
    assay_candidate_close(&d);
    return same;
}
