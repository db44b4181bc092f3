/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_cause.h"

#include <stdlib.h>
#include <string.h>

#include "host-tools/messages.h"
#include "host-tools/run_cause_keep.h"
#include "host-tools/run_cause_looks.h"
#include "host-tools/run_segment.h"
#include "host-tools/run_settle.h"
#include "kernels/cpu.h"

#define SEARCHED 4 /* culprits of a run; others: all */
/* Notes of one byte a layer and sample. */
#define MOST_NOTES ((size_t)64 << 20)

/* "P5" is all its variants. */
static int read_only(const char *text, struct assay_edit *only,
                     struct assay_err *err)
{
    if (strchr(text, '='))
        return assay_edit_parse(only, text, err);
    *only = (struct assay_edit){.id = assay_cause_find(text),
                                .variant = ASSAY_ALL_VARIANTS};
    return only->id < ASSAY_CAUSE_COUNT ? 0 : assay_edit_parse(only, text, err);
}

int assay_run_causes_open(struct assay_run *r, struct assay_err *err)
{
    size_t notes = (size_t)r->s->n_layers * r->n_samples;

    r->causes = assay_calloc(1, sizeof(*r->causes));
    if (!r->causes)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    if (notes <= MOST_NOTES)
        r->causes->equal = assay_calloc(notes + 1, 1);
    r->causes->has_only = r->o->hypothesis != NULL;
    return r->causes->has_only
               ? read_only(r->o->hypothesis, &r->causes->only, err)
               : 0;
}

/* ---- samples in which it is equal ------------------------------------------- */

/* A cause must leave it as it is. */
static void take_equal(struct assay_run *r, struct assay_run_suspect *k)
{
    size_t elements, bytes;
    struct assay_suspect_sample s;

    if (assay_tensor_count(&r->s->tensors[r->s->layers[k->layer].output],
                           &elements, &bytes, NULL) < 0 ||
        !assay_run_cause_read(r, k, &s))
        return;
    if (memcmp(s.base, s.got, bytes) == 0)
        assay_run_cause_keep(r, k, &s, 0, r->sample, ASSAY_SUSPECT_SAMPLES);
    assay_run_cause_forget(k, &s);
}

static int complete(struct assay_run *r, size_t n, struct assay_err *err)
{
    int rc = 0;

    for (uint32_t s = 0;
         s < assay_run_done(r) && s < ASSAY_SUSPECT_SAMPLES && rc == 0; s++) {
        bool wanted = false;

        for (size_t i = 0; i < n; i++)
            wanted = wanted || assay_run_cause_wants(&r->causes->v[i], s);
        if (!wanted)
            continue;
        rc = assay_run_sample_reopen(r, s, err);
        for (size_t i = 0; rc == 0 && i < n; i++)
            if (assay_run_cause_wants(&r->causes->v[i], s))
                take_equal(r, &r->causes->v[i]);
        assay_run_sample_close(r);
    }
    return rc;
}

/* ---- searching ------------------------------------------------------------- */

static int by_layer(const void *p, const void *q)
{
    const struct assay_run_suspect *a = p, *b = q;

    if (a->layer != b->layer)
        return a->layer < b->layer ? -1 : 1;
    return (int)a->column - (int)b->column;
}

static int search(struct assay_run *r, struct assay_run_suspect *k,
                  struct assay_err *err)
{
    const struct assay_case_column *maker =
        k->column >= ASSAY_COL_SIM ? &r->p.c.columns[k->column - ASSAY_COL_SIM]
                                   : NULL;
    const struct assay_suspect s = assay_run_cause_suspect(r, k);
    const struct assay_search_options o = {
        .pairs = true,
        .only = r->causes->has_only ? &r->causes->only : NULL,
        .cpu_flags = assay_cpu_probe(),
        .numerics = maker ? maker->numerics : NULL,
        .literal = maker && maker->literal};
    int rc;

    k->searched = true;
    k->n_looked = k->n_there = (uint32_t)k->n_samples;
    assay_search_free(k->found);
    assay_search_free(k->found_before);
    k->found = k->found_before = NULL;
    assay_run_cause_looks(k, &s, o.cpu_flags);
    if (k->has_layout && k->layout.compared == k->layout.all)
        return 0;
    rc = assay_cause_search(&k->found, &s, &o, err);
    /* What reproduces every element outranks what was compared in part. */
    if (rc == 0 && k->found->n_proved > 0)
        k->has_layout = false;
    if (rc == 0 && k->found->n_proved == 0)
        rc = assay_run_segment_search(r, k, &o, err);
    k->stale = rc == 0 && k->found->n_proved == 0 && k->found_before == NULL
                   ? assay_run_cause_stale(r, k)
                   : ASSAY_STALE_NO;
    return rc;
}

/* Searches, looks at the samples that the search did not have, and searches
 * again with one that refuted all that had been found. */
static int search_all(struct assay_run *r, size_t n, struct assay_err *err)
{
    bool *todo = assay_calloc(n + 1, 1);
    bool any = true;
    int rc =
        todo ? 0
             : assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);

    for (size_t i = 0; i < n && rc == 0; i++)
        todo[i] = r->causes->v[i].n_samples > 0;
    for (unsigned round = 0; round <= ASSAY_REFUTERS && any && rc == 0;
         round++) {
        for (size_t i = 0; i < n && rc == 0; i++)
            if (todo[i])
                rc = search(r, &r->causes->v[i], err);
        if (rc == 0)
            rc = assay_run_causes_verify(r, n, todo, round < ASSAY_REFUTERS,
                                         err);
        any = false;
        for (size_t i = 0; i < n; i++)
            any = any || todo[i];
    }
    assay_free(todo);
    return rc;
}

int assay_run_causes_search(struct assay_run *r, struct assay_err *err)
{
    size_t most = r->o->command == ASSAY_CMD_RUN ? SEARCHED : SIZE_MAX;
    size_t n = r->causes->n < most ? r->causes->n : most;
    int rc;

    if (n == 0)
        return 0;
    if (r->causes->n > 1)
        qsort(r->causes->v, r->causes->n, sizeof(*r->causes->v), by_layer);
    rc = complete(r, n, err);
    if (rc == 0)
        rc = search_all(r, n, err);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = assay_run_settle(r, &r->causes->v[i], err);
    return rc;
}

const struct assay_run_suspect *assay_run_cause_of(const struct assay_run *r,
                                                   uint32_t layer,
                                                   enum assay_column column)
{
    for (size_t i = 0; r->causes && i < r->causes->n; i++)
        if (r->causes->v[i].layer == layer && r->causes->v[i].column == column)
            return &r->causes->v[i];
    return NULL;
}

bool assay_run_cause_proved(const struct assay_run_suspect *k)
{
    return k && (k->has_layout || (k->found && k->found->n_proved > 0));
}
