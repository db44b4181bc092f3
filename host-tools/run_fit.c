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
#define ELEMENTS ((size_t)1 << 18) /* of such a layer, if there are any */
#define LIMIT_MS 20000
#define SHOWN 6 /* forms in the text */

static bool is_unproven(const struct assay_run *r, uint32_t layer)
{
    const struct assay_run_layer *k = &r->layers[layer];

    return k->selected && k->judgement.culprit &&
           k->verdict == ASSAY_VERDICT_UNPROVEN &&
           r->s->layers[layer].form != NULL;
}

static bool is_small(const struct assay_run *r, uint32_t layer)
{
    size_t n = 0, bytes;

    return assay_tensor_count(&r->s->tensors[r->s->layers[layer].output], &n,
                              &bytes, NULL) == 0 &&
           n * (r->n_samples + (size_t)1) <= ELEMENTS;
}

/* Culprits first, then others of the form. */
static uint32_t want(const struct assay_run *r, const char *form, bool culprits,
                     uint32_t have, bool *wanted)
{
    for (uint32_t i = 0; i < r->s->n_layers && have < LAYERS; i++) {
        const char *mine = r->s->layers[i].form;

        if (mine == NULL || strcmp(mine, form) != 0 || wanted[i] ||
            is_unproven(r, i) != culprits || !is_small(r, i))
            continue;
        wanted[i] = true;
        have++;
    }
    return have;
}

static bool is_wanted(const struct assay_run *r, const char *form,
                      const bool *wanted)
{
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        if (wanted[i] && strcmp(r->s->layers[i].form, form) == 0)
            return true;
    }
    return false;
}

static bool *wanted_layers(const struct assay_run *r)
{
    bool *wanted = assay_calloc((size_t)r->s->n_layers + 1, sizeof(*wanted));

    for (uint32_t i = 0; wanted != NULL && i < r->s->n_layers; i++) {
        const char *form = r->s->layers[i].form;
        uint32_t have;

        if (!is_unproven(r, i) || is_wanted(r, form, wanted))
            continue;
        have = want(r, form, true, 0, wanted);
        have = want(r, form, false, have, wanted);
        if (have == 0)
            wanted[i] = true; /* large ones only: the first */
    }
    return wanted;
}

static int search(struct assay_run *r, struct assay_fit_session *f)
{
    struct assay_err err = {0}; /* a run without this is whole as well */
    bool *wanted = wanted_layers(r);
    int rc;

    if (wanted == NULL)
        return ASSAY_EMEMORY;
    f->stop_ms = assay_monotonic_ms() + LIMIT_MS;
    rc = assay_fit_session_add(f, r->s, "", wanted, &err);
    if (rc == 0)
        rc = assay_fit_session_read(f, &r->p.c, r->s, NULL, &err);
    if (rc == 0)
        rc = assay_fit_session_search(f, &err);
    assay_free(wanted);
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

static void pool_line(const struct assay_fit_pool *p, struct assay_lines *l)
{
    char rule[ASSAY_FIT_RULE_TEXT] = "", text[1400];
    struct assay_num n[5] = {assay_num_u(p->n_layers), assay_num_u(p->elements),
                             assay_num_u(p->left), assay_num_u(p->n),
                             assay_num_u(p->classes)};
    enum assay_message_id id = p->left == 0 ? ASSAY_MSG_RUN_FIT_NONE
                               : assay_fit_is_unique(p)
                                   ? ASSAY_MSG_RUN_FIT_ONE
                                   : ASSAY_MSG_RUN_FIT_MANY;

    if (p->left > 0)
        assay_fit_rule(p->form, &p->winner, rule);
    if (p->base_left)
        id = ASSAY_MSG_RUN_FIT_BASE;
    assay_message(text, sizeof(text), id, "form", p->form, "layers", n[0].text,
                  "count", n[1].text, "left", n[2].text, "all", n[3].text,
                  "classes", n[4].text, "rule", rule, NULL);
    assay_line_add(l, "  fit     ", text);
}

void assay_run_fit_lines(const struct assay_run *r, struct assay_lines *l)
{
    const struct assay_fit_session *f = r->fit;
    char text[1024];

    if (f == NULL || f->n_pools == 0)
        return;
    for (size_t i = 0; i < f->n_pools && i < SHOWN; i++)
        pool_line(f->pools[i], l);
    if (f->n_pools > SHOWN) {
        assay_message(text, sizeof(text), ASSAY_MSG_RUN_FIT_MORE, "more",
                      assay_num_u(f->n_pools - SHOWN).text, NULL);
        assay_line_add(l, "          ", text);
    }
    assay_message(text, sizeof(text), ASSAY_MSG_RUN_FIT_NEXT, "case",
                  assay_prepare_path(r->o), NULL);
    assay_line_add(l, "          ", text);
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
            .layers = p->n_layers,
            .elements = p->elements,
            .candidates = p->left,
            .space = p->n,
        };
    }
    *out = v;
    return n;
}
