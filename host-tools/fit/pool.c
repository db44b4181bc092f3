/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/fit/pool.h"

#include <string.h>

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for candidates");
}

static struct assay_fit_elements elements_of(const struct assay_fit_layer *l)
{
    return (struct assay_fit_elements){
        .n = l->n, .acc = l->acc, .second = l->second, .golden = l->golden};
}

/* ---- one layer ------------------------------------------------------------- */

static int search(struct assay_fit_found *f, struct assay_err *err)
{
    struct assay_fit_elements e = elements_of(f->l);

    f->n = assay_fit_size(&f->l->problem.space);
    f->state = assay_alloc(f->n * sizeof(*f->state));
    if (!f->state)
        return no_memory(err);
    for (size_t i = 0; i < f->n; i++)
        f->state[i] = 1;
    if (f->l->kind == ASSAY_FIT_ENUMERATED)
        return assay_fit_enumerate(f->l, f->state, &f->left, err);
    return assay_fit_filter(&f->l->problem, &e, f->state, &f->left, err);
}

int assay_fit_found_new(struct assay_fit_found **out, struct assay_fit_layer *l,
                        const char *source, struct assay_err *err)
{
    struct assay_fit_found *f = assay_calloc(1, sizeof(*f));
    int rc;

    if (!f) {
        assay_fit_layer_close(l);
        return no_memory(err);
    }
    f->l = l;
    f->source = source;
    rc = search(f, err);
    if (!rc)
        rc = assay_fit_prove(l, f->state, &f->classes, err);
    if (rc) {
        assay_fit_found_free(f);
        return rc;
    }
    *out = f;
    return 0;
}

void assay_fit_found_free(struct assay_fit_found *f)
{
    if (!f)
        return;
    for (size_t k = 0; k < f->n_inputs; k++) {
        for (unsigned i = 0; i < 4; i++)
            assay_free(f->inputs[k][i]);
        assay_free(f->group[k]);
    }
    assay_fit_layer_close(f->l);
    assay_free(f->state);
    assay_free(f);
}

/* ---- all layers of a form -------------------------------------------------- */

/* The pool's candidates as they are in a layer's space. */
static int project(const struct assay_fit_pool *p,
                   const struct assay_fit_found *f, uint32_t *in_layer)
{
    const struct assay_fit_space *space = &f->l->problem.space;

    memset(in_layer, 0, f->n * sizeof(*in_layer));
    for (size_t i = 0; i < p->n; i++) {
        struct assay_fit_choice c;
        if (!p->state[i])
            continue;
        c = assay_fit_choice_at(&p->space, i);
        in_layer[assay_fit_index(space, &c)] = 1;
    }
    return 0;
}

static void intersect(struct assay_fit_pool *p, const struct assay_fit_found *f)
{
    for (size_t i = 0; i < p->n; i++) {
        struct assay_fit_choice c;
        if (!p->state[i])
            continue;
        c = assay_fit_choice_at(&p->space, i);
        if (!f->state[assay_fit_index(&f->l->problem.space, &c)])
            p->state[i] = 0;
    }
}

/* Equal in the pool: proved equal in each of its layers. */
static int prove_all(struct assay_fit_pool *p, struct assay_err *err)
{
    uint32_t *other = assay_alloc(p->n * sizeof(*other));
    int rc = other ? 0 : no_memory(err);

    for (size_t k = 0; !rc && k < p->n_layers; k++) {
        const struct assay_fit_found *f = p->layers[k];
        uint32_t *mine = assay_alloc(f->n * sizeof(*mine));
        size_t classes;

        /* What the layer is left with was too much for a proof, maybe. */
        rc = mine ? project(p, f, mine) : no_memory(err);
        if (!rc && f->classes > ASSAY_FIT_PROVED)
            rc = assay_fit_prove(f->l, mine, &classes, err);
        else if (!rc)
            memcpy(mine, f->state, f->n * sizeof(*mine));
        for (size_t i = 0; !rc && i < p->n; i++) {
            struct assay_fit_choice c = assay_fit_choice_at(&p->space, i);
            other[i] = p->state[i]
                           ? mine[assay_fit_index(&f->l->problem.space, &c)]
                           : 0;
        }
        if (!rc)
            rc = assay_fit_pair(p->state, other, p->n, &p->classes, err);
        assay_free(mine);
    }
    assay_free(other);
    return rc;
}

/* Nearest to the rule in use; without one, the first. */
static void choose(struct assay_fit_pool *p)
{
    unsigned best = ~0u;

    for (size_t i = 0; i < p->n; i++) {
        struct assay_fit_choice c;
        unsigned d;
        if (!p->state[i])
            continue;
        c = assay_fit_choice_at(&p->space, i);
        d = p->has_base ? assay_fit_distance(&p->space, &c, &p->base) : 0;
        if (d >= best)
            continue;
        best = d;
        p->winner = c;
        p->base_left = p->has_base && d == 0;
    }
    /* What no layer has stays as it is in use. */
    for (unsigned d = 0; p->has_base && d < ASSAY_FIT_DIMS; d++)
        if (p->space.radix[d] == 1)
            p->winner.v[d] = p->base.v[d];
}

static int fill(struct assay_fit_pool *p, struct assay_err *err)
{
    int rc;

    p->n = assay_fit_size(&p->space);
    p->state = assay_alloc(p->n * sizeof(*p->state));
    if (!p->state)
        return no_memory(err);
    for (size_t i = 0; i < p->n; i++)
        p->state[i] = 1;
    for (size_t k = 0; k < p->n_layers; k++)
        intersect(p, p->layers[k]);
    for (size_t i = 0; i < p->n; i++)
        p->left += p->state[i] != 0;
    if (!p->left)
        return 0;
    rc = prove_all(p, err);
    if (!rc)
        choose(p);
    return rc;
}

int assay_fit_pool_new(struct assay_fit_pool **out, const char *form,
                       struct assay_fit_found **all, size_t n_all,
                       const char *base, struct assay_err *err)
{
    struct assay_fit_pool *p = assay_calloc(1, sizeof(*p));
    int rc;

    if (p)
        p->layers = assay_calloc(n_all + 1, sizeof(*p->layers));
    if (!p || !p->layers) {
        assay_free(p);
        return no_memory(err);
    }
    p->form = form;
    memset(p->space.radix, 1, sizeof(p->space.radix));
    for (size_t i = 0; i < n_all; i++) {
        const struct assay_fit_space *s = &all[i]->l->problem.space;
        if (strcmp(all[i]->l->form, form) != 0)
            continue;
        p->layers[p->n_layers++] = all[i];
        p->elements += all[i]->l->n;
        for (unsigned d = 0; d < ASSAY_FIT_DIMS; d++)
            if (s->radix[d] > p->space.radix[d])
                p->space.radix[d] = s->radix[d];
    }
    p->has_base = base && assay_fit_parse(form, base, &p->base);
    rc = fill(p, err);
    if (rc) {
        assay_fit_pool_free(p);
        return rc;
    }
    *out = p;
    return 0;
}

void assay_fit_pool_free(struct assay_fit_pool *p)
{
    if (!p)
        return;
    assay_free(p->layers);
    assay_free(p->state);
    assay_free(p);
}

static int count_layer(const struct assay_fit_pool *p,
                       const struct assay_fit_found *f, const bool *wanted,
                       uint32_t *state, uint32_t *differ, struct assay_err *err)
{
    const struct assay_fit_space *space = &f->l->problem.space;
    struct assay_fit_elements e = elements_of(f->l);

    memset(state, 0, f->n * sizeof(*state));
    memset(differ, 0, f->n * sizeof(*differ));
    for (size_t i = 0; i < p->n; i++) {
        struct assay_fit_choice c;
        if (!wanted[i])
            continue;
        c = assay_fit_choice_at(&p->space, i);
        state[assay_fit_index(space, &c)] = 1;
    }
    if (f->l->kind == ASSAY_FIT_STAGED)
        return assay_fit_count(&f->l->problem, &e, state, differ, err);
    for (size_t i = 0; i < f->n; i++) {
        struct assay_fit_choice c = assay_fit_choice_at(space, i);
        uint64_t d = 0;
        int rc = 0;
        if (state[i])
            rc = assay_fit_enumerate_count(f->l, &c, &d, err);
        if (rc)
            return rc;
        differ[i] = d > UINT32_MAX ? UINT32_MAX : (uint32_t)d;
    }
    return 0;
}

int assay_fit_pool_count(const struct assay_fit_pool *p, const bool *wanted,
                         uint64_t *differ, struct assay_err *err)
{
    int rc = 0;

    memset(differ, 0, p->n * sizeof(*differ));
    for (size_t k = 0; !rc && k < p->n_layers; k++) {
        const struct assay_fit_found *f = p->layers[k];
        uint32_t *state = assay_alloc(2 * f->n * sizeof(*state));

        rc = state ? count_layer(p, f, wanted, state, state + f->n, err)
                   : no_memory(err);
        for (size_t i = 0; !rc && i < p->n; i++) {
            struct assay_fit_choice c;
            if (!wanted[i])
                continue;
            c = assay_fit_choice_at(&p->space, i);
            differ[i] +=
                state[f->n + assay_fit_index(&f->l->problem.space, &c)];
        }
        assay_free(state);
    }
    return rc;
}

size_t assay_fit_representatives(const struct assay_fit_space *space,
                                 const uint32_t *state, size_t n,
                                 const struct assay_fit_choice *near,
                                 struct assay_fit_choice *out, size_t cap)
{
    size_t found = 0;

    for (uint32_t k = 1; found < cap; k++) {
        unsigned best = ~0u;
        for (size_t i = 0; i < n; i++) {
            struct assay_fit_choice c;
            unsigned d;
            if (state[i] != k)
                continue;
            c = assay_fit_choice_at(space, i);
            d = near ? assay_fit_distance(space, &c, near) : 0;
            if (d < best) {
                best = d;
                out[found] = c;
            }
        }
        if (best == ~0u)
            break;
        found++;
    }
    return found;
}
