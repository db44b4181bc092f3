/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `proved` is of all samples: those that a search did not have are read again
 * one by one, so that memory stays bounded, and compared with what it found.
 */
#include <string.h>

#include "host-tools/interrupt.h"
#include "host-tools/messages.h"
#include "host-tools/run_cause_keep.h"
#include "host-tools/run_cause_looks.h"
#include "host-tools/run_segment.h"
#include "kernels/cpu.h"

/* A sample that something proved does not fit. */
struct refuter {
    struct assay_suspect_sample s; /* owned */
    uint32_t from;
    uint64_t mismatch;
    bool here;
};

static int no_memory(struct assay_err *err)
{
    return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
}

/* ---- one sample -------------------------------------------------------------- */

/* Equal layers give equal outputs: one of each class is run. */
static size_t choose(const struct assay_search *found,
                     const struct assay_hypothesis **v)
{
    size_t n = 0;

    for (size_t i = 0; i < found->n_proved; i++)
        if (found->v[i].class_number == n + 1)
            v[n++] = &found->v[i];
    return n;
}

/* Adds a sample's counts to a class. */
static void add(struct assay_search *found, uint32_t class_number,
                uint64_t elements, uint64_t matched, uint64_t differing,
                uint64_t differing_matched)
{
    for (size_t i = 0; i < found->n_proved; i++) {
        struct assay_hypothesis *h = &found->v[i];

        if (h->class_number != class_number)
            continue;
        h->all += elements;
        h->all_matched += matched;
        h->differing += differing;
        h->differing_matched += differing_matched;
        h->broken += elements - matched - (differing - differing_matched);
    }
}

static uint8_t **new_outputs(size_t n, size_t bytes)
{
    uint8_t **out = assay_calloc(n + 1, sizeof(*out));
    bool whole = out != NULL;

    for (size_t i = 0; i < n && whole; i++) {
        out[i] = assay_alloc(bytes + 1);
        whole = out[i] != NULL;
    }
    for (size_t i = 0; out != NULL && !whole && i < n; i++)
        assay_free(out[i]);
    if (!whole)
        assay_free(out);
    return whole ? out : NULL;
}

int assay_run_cause_compare(struct assay_search *found,
                            const struct assay_suspect *suspect,
                            const struct assay_suspect_sample *s, bool *fits,
                            struct assay_err *err)
{
    const struct assay_hypothesis **v =
        assay_calloc(found->n_classes + 1u, sizeof(*v));
    size_t n = v != NULL ? choose(found, v) : 0, elements = 0, bytes = 0;
    int rc = assay_tensor_count(assay_suspect_output(suspect), &elements,
                                &bytes, err);
    uint8_t **out = rc == 0 && v != NULL ? new_outputs(n, bytes) : NULL;

    *fits = true;
    if (rc == 0)
        rc = out == NULL ? no_memory(err)
                         : assay_cause_apply(out, suspect, v, n, s->inputs,
                                             s->base, assay_cpu_probe(), err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        uint64_t differing, both;
        uint64_t matched = assay_cause_count(suspect, s->base, s->got, out[i],
                                             &differing, &both);

        add(found, (uint32_t)i + 1, elements, matched, differing, both);
        *fits = *fits && matched == elements;
    }
    for (size_t i = 0; out != NULL && i < n; i++)
        assay_free(out[i]);
    assay_free(out);
    assay_free(v);
    return rc;
}

/* > 0: what is in front of the layer cannot be had. */
static int compare(struct assay_run *r, struct assay_run_suspect *k,
                   const struct assay_suspect_sample *s, bool *fits,
                   struct assay_err *err)
{
    const struct assay_suspect suspect = assay_run_cause_suspect(r, k);

    if (k->found_before != NULL)
        return assay_run_segment_compare(r, k, s, fits, err);
    return assay_run_cause_compare(k->found, &suspect, s, fits, err);
}

static int look_at(struct assay_run *r, struct assay_run_suspect *k,
                   struct refuter *no, struct assay_err *err)
{
    struct assay_suspect_sample s;
    bool fits = true;
    int rc = 0;

    if (!assay_run_cause_is_there(r, k))
        return 0;
    k->n_there++;
    if (!assay_run_cause_read(r, k, &s))
        return 0;
    if (k->has_layout)
        fits = assay_run_cause_still_layout(r, k, &s);
    else
        rc = compare(r, k, &s, &fits, err);
    k->n_looked += rc == 0;
    if (rc == 0 && !fits && !no->here) {
        *no = (struct refuter){.s = s, .from = r->sample, .here = true};
        return 0;
    }
    assay_run_cause_forget(k, &s);
    return rc < 0 ? rc : 0;
}

/* ---- all samples ------------------------------------------------------------- */

static bool has_something(const struct assay_run_suspect *k)
{
    return k->has_layout || k->found_before != NULL ||
           (k->found != NULL && k->found->n_proved > 0);
}

static int look_at_all(struct assay_run *r, size_t n, const bool *todo,
                       struct refuter *no, struct assay_err *err)
{
    int rc = 0;

    for (uint32_t s = 0; s < assay_run_done(r) && rc == 0; s++) {
        bool wanted = false;

        for (size_t i = 0; i < n; i++)
            wanted = wanted ||
                     (todo[i] && !assay_run_cause_is_kept(&r->causes->v[i], s));
        if (!wanted)
            continue;
        if (assay_interrupted() != 0) { /* it may have been there */
            for (size_t i = 0; i < n; i++)
                r->causes->v[i].n_there +=
                    todo[i] && !assay_run_cause_is_kept(&r->causes->v[i], s);
            continue;
        }
        rc = assay_run_sample_reopen(r, s, err);
        for (size_t i = 0; i < n && rc == 0; i++)
            if (todo[i] && !assay_run_cause_is_kept(&r->causes->v[i], s))
                rc = look_at(r, &r->causes->v[i], &no[i], err);
        assay_run_sample_close(r);
    }
    return rc;
}

static void take_back(struct assay_search *found)
{
    for (size_t i = 0; i < found->n; i++)
        found->v[i].proved =
            found->v[i].proved && found->v[i].all_matched == found->v[i].all;
    assay_search_sort(found);
}

/* Takes back what does not fit all; is it to be searched again? */
static bool conclude(struct assay_run *r, struct assay_run_suspect *k,
                     struct refuter *no, bool again)
{
    if (k->has_layout && no->here)
        k->has_layout = false;
    if (k->found != NULL)
        take_back(k->found);
    if (k->found_before != NULL)
        take_back(k->found_before);
    if (k->found_before != NULL && k->found_before->n_proved == 0) {
        assay_search_free(k->found_before);
        k->found_before = NULL;
    }
    if (!no->here || !again || has_something(k)) {
        assay_run_cause_forget(k, &no->s);
        return false;
    }
    assay_run_cause_keep(r, k, &no->s, no->mismatch, no->from,
                         ASSAY_SUSPECT_SAMPLES + ASSAY_REFUTERS);
    return true;
}

int assay_run_causes_verify(struct assay_run *r, size_t n, bool *todo,
                            bool again, struct assay_err *err)
{
    struct refuter *no = assay_calloc(n + 1, sizeof(*no));
    int rc = no == NULL ? no_memory(err) : 0;

    for (size_t i = 0; i < n; i++)
        todo[i] = todo[i] && has_something(&r->causes->v[i]);
    if (rc == 0)
        rc = look_at_all(r, n, todo, no, err);
    for (size_t i = 0; no != NULL && i < n; i++) {
        if (!todo[i])
            continue;
        todo[i] = conclude(r, &r->causes->v[i], &no[i], again && rc == 0);
    }
    assay_free(no);
    return rc;
}
