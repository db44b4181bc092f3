/* SPDX-License-Identifier: Apache-2.0 */
/* Joins whose output cannot hold what they are given, and shared modules. */
#include "host-tools/lint/lint_private.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The part of x's range of real numbers that y can hold: 1 all of it. */
static double held(const struct assay_tensor *x, const struct assay_tensor *y)
{
    int64_t xl, xh, yl, yh;
    double lo, hi, a, b;

    assay_dtype_range(x->dtype, &xl, &xh);
    assay_dtype_range(y->dtype, &yl, &yh);
    lo = (double)(xl - assay_lint_zero(x, 0)) * assay_lint_scale(x, 0);
    hi = (double)(xh - assay_lint_zero(x, 0)) * assay_lint_scale(x, 0);
    a = (double)(yl - assay_lint_zero(y, 0)) * assay_lint_scale(y, 0);
    b = (double)(yh - assay_lint_zero(y, 0)) * assay_lint_scale(y, 0);
    if (hi <= lo)
        return 1.0;
    a = a > lo ? a : lo;
    b = b < hi ? b : hi;
    return b > a ? (b - a) / (hi - lo) : 0.0;
}

static bool plain(const struct assay_linter *c, uint32_t tensor)
{
    const struct assay_tensor *t = &c->s->tensors[tensor];

    return assay_lint_scaled(c, tensor) && t->quant.n == 1 &&
           assay_dtype_is_int(t->dtype);
}

/* A sum may be small where its operands are not (they cancel, or a ReLU is
 * fused): a quarter of an operand's range is kept. A concat only copies. */
static void join(struct assay_linter *c, const struct assay_layer *l)
{
    bool concat = l->op == ASSAY_OP_CONCAT;
    double least = concat ? 0.5 : 0.25;
    char expected[48], found[48];

    if (!plain(c, l->output))
        return;
    /* x + constant is cut on purpose: hard swish's clip. */
    for (uint32_t i = 0; i < l->n_inputs && !concat; i++)
        if (assay_lint_in(c, l, i)->role == ASSAY_ROLE_CONSTANT)
            return;
    for (uint32_t i = 0; i < l->n_inputs; i++) {
        double part;

        if (!plain(c, l->inputs[i]) ||
            assay_lint_in(c, l, i)->role == ASSAY_ROLE_CONSTANT)
            continue;
        part = held(assay_lint_in(c, l, i), &c->s->tensors[l->output]);
        if (part >= least)
            continue;
        snprintf(expected, sizeof(expected), "at least %.0f %%", least * 100);
        snprintf(found, sizeof(found), "%.1f %%", part * 100);
        assay_lint_add(c, concat ? ASSAY_LINT_CONCAT : ASSAY_LINT_ADD,
                       ASSAY_WARNING, l->name, expected, found,
                       "layer '%s' can hold %s of the range of its input '%s' "
                       "(scale %.6g into %.6g): the rest saturates",
                       l->name, found, assay_lint_in(c, l, i)->name,
                       assay_lint_scale(assay_lint_in(c, l, i), 0),
                       assay_lint_scale(&c->s->tensors[l->output], 0));
    }
}

/* A layer's weights, and what it multiplies by in its first channel. */
static bool call_of(const struct assay_linter *c, const struct assay_layer *l,
                    double *gain)
{
    return assay_lint_has_weights(c, l) && plain(c, l->output) &&
           assay_lint_gain(&l->out_program, 0, gain) && *gain > 0.0;
}

static bool same_module(const struct assay_linter *c,
                        const struct assay_layer *a,
                        const struct assay_layer *b)
{
    const struct assay_tensor *v = assay_lint_in(c, a, 1);
    const struct assay_tensor *w = assay_lint_in(c, b, 1);
    const struct assay_tensor *x = &c->s->tensors[a->output];
    const struct assay_tensor *y = &c->s->tensors[b->output];

    return a->op == b->op && x->dtype == y->dtype &&
           x->quant.scale[0] == y->quant.scale[0] &&
           (v == w || (v->size == w->size && v->dtype == w->dtype &&
                       memcmp(v->data, w->data, v->size) == 0));
}

static void shared(struct assay_linter *c, uint32_t at)
{
    const struct assay_layer *l = &c->s->layers[at];
    double mine, other;
    char found[64];

    if (!call_of(c, l, &mine))
        return;
    for (uint32_t i = 0; i < at; i++) {
        const struct assay_layer *m = &c->s->layers[i];
        double r;

        if (!call_of(c, m, &other) || !same_module(c, l, m))
            continue;
        r = mine > other ? mine / other : other / mine;
        if (r < 2.0)
            continue;
        snprintf(found, sizeof(found), "%.3g times", r);
        assay_lint_add(c, ASSAY_LINT_SHARED, ASSAY_WARNING,
                       mine > other ? l->name : m->name,
                       "calls of one range, or a scale each", found,
                       "layers '%s' and '%s' have the same weights and the "
                       "same output scale %.6g, but inputs of which one is %s "
                       "as large: '%s' saturates",
                       m->name, l->name,
                       assay_lint_scale(&c->s->tensors[l->output], 0), found,
                       mine > other ? l->name : m->name);
        return;
    }
}

void assay_lint_joins(struct assay_linter *c)
{
    for (uint32_t i = 0; i < c->s->n_layers; i++) {
        const struct assay_layer *l = &c->s->layers[i];

        if (l->op == ASSAY_OP_CONCAT || l->real_op == ASSAY_REAL_ADD)
            join(c, l);
        shared(c, i);
    }
}
