/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the arithmetic is an inference and does not fit, a run asks fit-arith
 * what would: some layers of each form that has such a culprit, for a while.
 */
#include <stdio.h>
#include <string.h>

#include "host-tools/fit_case.h"
#include "host-tools/run_lines.h"

#define LAYERS 24                  /* of a form */
#define SAMPLES 32                 /* the first ones */
#define ELEMENTS ((size_t)1 << 18) /* of such a layer, if there are any */
#define MOST ((size_t)1 << 23)     /* otherwise */
#define LIMIT_MS 8000
#define SHOWN 6 /* forms in the text */

static bool is_unproven(const struct assay_run *r, uint32_t layer)
{
    const struct assay_run_layer *k = &r->layers[layer];

    return k->selected && k->judgement.culprit &&
           k->verdict == ASSAY_VERDICT_UNPROVEN &&
           r->s->layers[layer].form != NULL;
}

/* In the samples that are searched; SIZE_MAX: too many to count. */
static size_t elements_of(const struct assay_run *r, uint32_t layer)
{
    size_t n = 0, bytes, samples = r->n_samples;

    samples = samples > SAMPLES ? SAMPLES : samples;
    if (assay_tensor_count(&r->s->tensors[r->s->layers[layer].output], &n,
                           &bytes, NULL) < 0 ||
        !assay_mul_size(n, samples, &n))
        return SIZE_MAX;
    return n;
}

/* The next layer of the form from `from` on that is (is not) a culprit. */
static uint32_t next_of(const struct assay_run *r, const char *form,
                        bool culprit, uint32_t from)
{
    for (; from < r->s->n_layers; from++) {
        const char *mine = r->s->layers[from].form;

        if (mine != NULL && strcmp(mine, form) == 0 &&
            is_unproven(r, from) == culprit)
            break;
    }
    return from;
}

static uint32_t want(const struct assay_run *r, const char *form, bool culprits,
                     uint32_t have, bool *wanted)
{
    uint32_t i = next_of(r, form, culprits, 0);

    for (; i < r->s->n_layers && have < LAYERS;
         i = next_of(r, form, culprits, i + 1)) {
        if (elements_of(r, i) > ELEMENTS)
            continue;
        wanted[i] = true;
        have++;
    }
    return have;
}

static uint32_t smallest(const struct assay_run *r, const char *form)
{
    uint32_t best = r->s->n_layers;

    for (uint32_t i = next_of(r, form, true, 0); i < r->s->n_layers;
         i = next_of(r, form, true, i + 1)) {
        if (elements_of(r, i) <= MOST &&
            (best == r->s->n_layers ||
             elements_of(r, i) < elements_of(r, best)))
            best = i;
    }
    return best;
}

/* Culprits first, then others of the form; never without a culprit. */
static void want_form(const struct assay_run *r, const char *form, bool *wanted)
{
    uint32_t have = want(r, form, true, 0, wanted), one;

    if (have == 0) {
        one = smallest(r, form);
        if (one == r->s->n_layers)
            return;
        wanted[one] = true;
        have = 1;
    }
    want(r, form, false, have, wanted);
}

/* Has a culprit in front of this layer its form? */
static bool is_first(const struct assay_run *r, uint32_t layer)
{
    return is_unproven(r, layer) &&
           next_of(r, r->s->layers[layer].form, true, 0) == layer;
}

/* One culprit of each form, then the rest: the time may be too short. */
static int add_layers(struct assay_run *r, struct assay_fit_session *f,
                      struct assay_err *err)
{
    size_t n = (size_t)r->s->n_layers + 1;
    bool *wanted = assay_calloc(2 * n, sizeof(*wanted)), *first = wanted + n;
    int rc = wanted == NULL ? ASSAY_EMEMORY : 0;

    for (uint32_t i = 0; rc == 0 && i < r->s->n_layers; i++) {
        uint32_t k;

        if (!is_first(r, i))
            continue;
        want_form(r, r->s->layers[i].form, wanted);
        k = i;
        while (k < r->s->n_layers && !wanted[k])
            k = next_of(r, r->s->layers[i].form, true, k + 1);
        if (k == r->s->n_layers)
            continue;
        first[k] = true;
        wanted[k] = false;
    }
    if (rc == 0)
        rc = assay_fit_session_add(f, r->s, "", first, err);
    if (rc == 0)
        rc = assay_fit_session_add(f, r->s, "", wanted, err);
    assay_free(wanted);
    return rc;
}

static int search(struct assay_run *r, struct assay_fit_session *f)
{
    struct assay_err err = {0}; /* a run without this is whole as well */
    int rc;

    f->stop_ms = assay_monotonic_ms() + LIMIT_MS;
    f->max_samples = SAMPLES;
    rc = add_layers(r, f, &err);
    if (rc == 0)
        rc = assay_fit_session_read(f, &r->p.c, r->s, NULL, &err);
    if (rc == 0)
        rc = assay_fit_session_search(f, &err);
    return rc;
}

void assay_run_fit(struct assay_run *r, const struct assay_run_summary *sum)
{
    if (!sum->has_verdict || sum->verdict != ASSAY_VERDICT_UNPROVEN ||
        sum->first_column != ASSAY_COL_CPU || r->n_golden == 0 ||
        r->interrupted != 0)
        return;
    r->fit = assay_calloc(1, sizeof(*r->fit));
    if (r->fit != NULL && search(r, r->fit) < 0)
        assay_run_fit_close(r);
}

void assay_run_fit_close(struct assay_run *r)
{
    if (r->fit == NULL)
        return;
    assay_fit_session_close(r->fit);
    assay_free(r->fit);
    r->fit = NULL;
}

/* Layers of the pool that differ given the reference's own inputs. */
static size_t differing(const struct assay_run *r,
                        const struct assay_fit_pool *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_layers; i++)
        n += is_unproven(r, p->layers[i]->l->layer);
    return n;
}

static enum assay_message_id sentence_of(const struct assay_fit_pool *p,
                                         bool whole)
{
    if (p->base_left)
        return ASSAY_MSG_RUN_FIT_BASE;
    if (p->left == 0)
        return whole ? ASSAY_MSG_RUN_FIT_NONE : ASSAY_MSG_RUN_FIT_SHORT_NONE;
    if (assay_fit_is_unique(p))
        return whole ? ASSAY_MSG_RUN_FIT_ONE : ASSAY_MSG_RUN_FIT_SHORT;
    return whole ? ASSAY_MSG_RUN_FIT_MANY : ASSAY_MSG_RUN_FIT_SHORT_MANY;
}

/* `whole`: all that is known, in a sentence. */
static void pool_line(const struct assay_run *r, const struct assay_fit_pool *p,
                      bool whole, struct assay_lines *l)
{
    char rule[ASSAY_FIT_RULE_TEXT] = "", text[1400];
    struct assay_num n[6] = {assay_num_u(p->n_layers), assay_num_u(p->elements),
                             assay_num_u(p->left),     assay_num_u(p->n),
                             assay_num_u(p->classes),  {{0}}};

    n[5] = assay_num_u(differing(r, p));
    if (p->left > 0)
        assay_fit_rule(p->form, &p->winner, rule);
    assay_message(text, sizeof(text), sentence_of(p, whole), "form", p->form,
                  "layers", n[0].text, "count", n[1].text, "left", n[2].text,
                  "all", n[3].text, "classes", n[4].text, "differing",
                  n[5].text, "rule", rule, NULL);
    assay_line_add(l, "  fit     ", text);
}

static void limit_line(const struct assay_fit_session *f, struct assay_lines *l)
{
    char text[256];

    if (f->n_cut == 0)
        return;
    assay_message(text, sizeof(text), ASSAY_MSG_RUN_FIT_CUT, "seconds",
                  assay_num_u(LIMIT_MS / 1000).text, "layers",
                  assay_num_u(f->n_cut).text, NULL);
    assay_line_add(l, "          ", text);
}

void assay_run_fit_lines(const struct assay_run *r, struct assay_lines *l)
{
    const struct assay_fit_session *f = r->fit;
    char text[1024];

    if (f == NULL || f->n_pools == 0)
        return;
    for (size_t i = 0; i < f->n_pools && i < SHOWN; i++)
        pool_line(r, f->pools[i], i == 0, l);
    if (f->n_pools > SHOWN) {
        assay_message(text, sizeof(text), ASSAY_MSG_RUN_FIT_MORE, "more",
                      assay_num_u(f->n_pools - SHOWN).text, NULL);
        assay_line_add(l, "          ", text);
    }
    limit_line(f, l);
    if (r->o->model == NULL)
        assay_message(text, sizeof(text), ASSAY_MSG_RUN_FIT_NEXT, "case",
                      assay_prepare_path(r->o), NULL);
    else
        assay_message(text, sizeof(text), ASSAY_MSG_RUN_FIT_NEXT_MODEL, NULL);
    assay_line_add(l, "  next    ", text);
}

size_t assay_run_fits(const struct assay_run *r,
                      const struct assay_report_fit **out)
{
    const struct assay_fit_session *f = r->fit;
    struct assay_report_fit *v;
    size_t n = 0;

    *out = NULL;
    if (f == NULL)
        return 0;
    v = assay_arena_array(r->arena, f->n_pools + 1, sizeof(*v));
    for (size_t i = 0; v != NULL && i < f->n_pools; i++) {
        const struct assay_fit_pool *p = f->pools[i];
        char rule[ASSAY_FIT_RULE_TEXT] = "";

        if (p->left > 0)
            assay_fit_rule(p->form, &p->winner, rule);
        v[n++] = (struct assay_report_fit){
            .form = p->form,
            .rule = assay_arena_str(r->arena, rule, strlen(rule)),
            .unique = assay_fit_is_unique(p),
            .in_use = p->base_left,
            .cut = f->n_cut > 0,
            .layers = p->n_layers,
            .differing = differing(r, p),
            .elements = p->elements,
            .candidates = p->left,
            .classes = p->classes,
            .space = p->n,
        };
    }
    *out = v;
    return n;
}
