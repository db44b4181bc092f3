/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "host-tools/interrupt.h"
#include "host-tools/messages.h"
#include "host-tools/run_chain.h"
#include "host-tools/run_failing.h"
#include "host-tools/run_probe.h"
#include "host-tools/run_repeat.h"
#include "host-tools/run_resume.h"
#include "kernels/cpu.h"

struct context {
    struct assay_run *r;
    const struct assay_pass *pass;
    bool failed_here; /* a callback filled r->error */
};

static bool wanted(const struct context *c, uint32_t layer)
{
    const bool *judge = c->pass->judge;

    return (judge == NULL || judge[layer]) && c->r->layers[layer].selected;
}

static int out_of_memory(struct context *c)
{
    c->failed_here = true;
    return assay_fail_message(&c->r->error, ASSAY_EMEMORY, ASSAY_MSG_MEMORY,
                              NULL);
}

static int keep_result(struct context *c, uint32_t layer, const void *data,
                       size_t bytes)
{
    void **slot = &c->r->now[layer].result[c->pass->column];

    assay_free(*slot);
    *slot = assay_alloc(bytes > 0 ? bytes : 1);
    if (*slot == NULL)
        return out_of_memory(c);
    memcpy(*slot, data, bytes);
    return 0;
}

static int take_reference(struct context *c, uint32_t layer, const void *data,
                          size_t bytes)
{
    struct assay_run *r = c->r;
    uint32_t t = r->s->layers[layer].output;

    if (r->golden.values[t] == NULL) {
        r->golden.values[t] = assay_alloc(bytes > 0 ? bytes : 1);
        if (r->golden.values[t] == NULL)
            return out_of_memory(c);
        memcpy(r->golden.values[t], data, bytes);
    }
    r->values[t] = r->golden.values[t];
    return 0;
}

/* A result of the run on computed inputs. */
static int take_cumulative(struct context *c, uint32_t layer, const void *data,
                           size_t bytes, const struct assay_diff *d)
{
    struct assay_run *r = c->r;
    struct assay_sample_layer *n = &r->now[layer];
    struct assay_run_layer *k = &r->layers[layer];

    n->facts.compared = k->selected;
    n->facts.inputs_equal = assay_run_inputs_equal(r, layer);
    n->facts.mismatch = d->mismatch;
    n->facts.outside = d->outside;
    n->dirty = d->mismatch > 0;
    if (!k->selected)
        return 0;
    assay_diff_merge(&k->cumulative, d);
    assay_run_digest(r, layer, ASSAY_DIGEST_CPU, data);
    k->column_seen[ASSAY_COL_CPU] = true;
    assay_diff_merge(&k->column[ASSAY_COL_CPU], d);
    if (!n->facts.inputs_equal || d->mismatch == 0)
        return 0;
    assay_diff_merge(&k->isolated, d);
    if (d->outside == 0)
        return 0;
    if (r->o->fail_fast)
        r->stopped = true;
    return keep_result(c, layer, data, bytes);
}

/* A result on the reference's inputs. */
static int take_isolated(struct context *c, uint32_t layer, const void *data,
                         size_t bytes, const struct assay_diff *d)
{
    struct assay_run *r = c->r;
    struct assay_sample_layer *n = &r->now[layer];
    struct assay_run_layer *k = &r->layers[layer];
    enum assay_column column = c->pass->column;

    if (column == ASSAY_COL_CPU) {
        n->facts.isolated_run = true;
        n->facts.isolated_mismatch = d->mismatch;
        n->facts.isolated_outside = d->outside;
        assay_diff_merge(&k->isolated, d);
        if (!n->facts.compared) {
            k->column_seen[column] = true;
            assay_diff_merge(&k->column[column], d);
            if (r->o->fail_fast && d->outside > 0)
                r->stopped = true;
        }
    } else {
        k->column_seen[column] = true;
        assay_diff_merge(&k->column[column], d);
    }
    return keep_result(c, layer, data, bytes);
}

void assay_run_take_side(struct assay_run *r, unsigned side, uint32_t layer,
                         const void *data)
{
    uint32_t t = r->s->layers[layer].output;
    struct assay_column_facts *f = &r->sides[side].facts[layer];
    struct assay_diff d;

    assay_diff_tensor(&r->s->tensors[t], data,
                      r->sides[side].observed.values[t], &r->layers[layer].tol,
                      &d);
    d.sample = r->sample;
    f->rerun = true;
    f->rerun_mismatch = d.mismatch;
    f->rerun_outside = d.outside;
    assay_diff_merge(&r->layers[layer].side[side].isolated, &d);
}

static int bad_size(struct context *c, uint32_t layer, size_t got,
                    size_t expected)
{
    c->failed_here = true;
    return assay_fail_message(
        &c->r->error, ASSAY_EPROTOCOL, ASSAY_MSG_RESULT_SIZE, "layer",
        c->r->s->layers[layer].name, "got", assay_num_u(got).text, "expected",
        assay_num_u(expected).text, NULL);
}

static int take(struct context *c, uint32_t layer, const void *data,
                size_t bytes)
{
    struct assay_run *r = c->r;
    const struct assay_tensor *t = &r->s->tensors[r->s->layers[layer].output];
    const void *ref = r->values[r->s->layers[layer].output];
    struct assay_diff d;

    if (c->pass->reference)
        return take_reference(c, layer, data, bytes);
    if (c->pass->judge != NULL && !c->pass->judge[layer])
        return 0;
    if (c->pass->column >= ASSAY_COL_SIM) {
        assay_run_take_side(r, c->pass->column - ASSAY_COL_SIM, layer, data);
        return 0;
    }
    if (ref == NULL) {
        /* Without a reference: as dirty as what went in. */
        r->now[layer].dirty = !assay_run_inputs_equal(r, layer);
        return 0;
    }
    assay_diff_tensor(t, ref, data, &r->layers[layer].tol, &d);
    d.sample = r->sample;
    if (c->pass->column == ASSAY_COL_CPU && !c->pass->isolated &&
        c->pass->judge == NULL)
        return take_cumulative(c, layer, data, bytes, &d);
    if (wanted(c, layer))
        return take_isolated(c, layer, data, bytes, &d);
    return 0;
}

/* The run that is judged, and the one that repeats are compared with. */
static bool is_main(const struct assay_pass *pass)
{
    return pass->column == ASSAY_COL_CPU && !pass->isolated &&
           pass->judge == NULL && !pass->reference;
}

static int interrupted(struct assay_run *r)
{
    r->interrupted = assay_interrupted();
    return r->interrupted != 0 || r->stopped ? ASSAY_ECANCELLED : 0;
}

static int on_layer(void *self, uint32_t layer, const void *data, size_t bytes,
                    const char *kernel, uint64_t time_us)
{
    struct context *c = self;
    struct assay_run *r = c->r;
    struct assay_run_layer *k;
    size_t elements, expected;
    int rc;

    if (layer >= r->s->n_layers)
        return bad_size(c, 0, bytes, 0);
    k = &r->layers[layer];
    rc = assay_tensor_count(&r->s->tensors[r->s->layers[layer].output],
                            &elements, &expected, &r->error);
    if (rc < 0 || bytes != expected)
        return bad_size(c, layer, bytes, expected);
    r->is_running = false;
    if (r->repeats != NULL && (c->pass->repeat || is_main(c->pass))) {
        rc = assay_run_repeat_take(r, layer, data, bytes);
        c->failed_here = c->failed_here || rc < 0;
        if (rc < 0 || c->pass->repeat)
            return rc < 0 ? rc : interrupted(r);
    }
    if (c->pass->column == ASSAY_COL_CPU) {
        if (!r->now[layer].facts.isolated_run && !c->pass->isolated &&
            c->pass->judge == NULL)
            k->n_received++;
        snprintf(k->kernel, sizeof(k->kernel), "%s",
                 kernel != NULL ? kernel : "");
        k->time_us += time_us;
        if (r->saving != NULL && c->pass->judge == NULL) {
            rc = assay_run_save(r, layer, data, &r->error);
            if (rc < 0) {
                c->failed_here = true;
                return rc;
            }
        }
        if (r->p.c.record != NULL && !c->pass->isolated &&
            c->pass->judge == NULL)
            assay_run_replay_take(r, layer, data);
        assay_progress_layer(&r->progress, r->s->layers[layer].name);
    }
    rc = take(c, layer, data, bytes);
    if (rc < 0)
        return rc;
    return interrupted(r);
}

static int on_missing(void *self, uint32_t layer, uint32_t tensor)
{
    struct context *c = self;

    if (layer >= c->r->s->n_layers || tensor >= c->r->s->n_tensors)
        return bad_size(c, 0, 0, 0);
    if (c->pass->column == ASSAY_COL_CPU && !c->pass->repeat) {
        c->r->now[layer].missing = true;
        c->r->now[layer].missing_tensor = tensor;
    }
    return 0;
}

static void on_begin(void *self, uint32_t layer, const char *kernel)
{
    struct context *c = self;

    if (layer < c->r->s->n_layers) {
        c->r->running = layer;
        c->r->is_running = true;
        snprintf(c->r->running_kernel, sizeof(c->r->running_kernel), "%s",
                 kernel);
    }
}

static void on_probe(void *self, uint32_t layer, const struct assay_probe *p)
{
    struct context *c = self;

    if (layer < c->r->s->n_layers)
        assay_run_probe_told(c->r, c->pass, layer, p);
}

static const void *const *source_of(const struct assay_run *r,
                                    const struct assay_pass *pass)
{
    return pass->source != NULL ? pass->source : (const void *const *)r->values;
}

/* Tensors that must come from outside: only those travel. */
static size_t fill_given(const struct assay_run *r,
                         const struct assay_pass *pass, bool *seen,
                         struct assay_run_tensor *given)
{
    const struct assay_slice *s = r->s;
    const void *const *values = source_of(r, pass);
    size_t n = 0;

    if (!pass->isolated) { /* what this run computes itself */
        for (uint32_t i = 0; i < s->n_layers; i++) {
            if (pass->layers[i])
                seen[s->layers[i].output] = true;
        }
    }
    for (uint32_t i = 0; i < s->n_layers; i++) {
        const struct assay_layer *l = &s->layers[i];

        for (uint32_t j = 0; j < l->n_inputs && pass->layers[i]; j++) {
            uint32_t t = l->inputs[j];
            size_t elements;

            if (seen[t] || values[t] == NULL ||
                s->tensors[t].role == ASSAY_ROLE_CONSTANT)
                continue;
            seen[t] = true;
            given[n].tensor = t;
            given[n].data = values[t];
            if (assay_tensor_count(&s->tensors[t], &elements, &given[n].bytes,
                                   NULL) == 0)
                n++;
        }
    }
    return n;
}

int assay_run_load(struct assay_run *r, const struct assay_slice *s,
                   struct assay_err *err)
{
    int rc;

    if (r->loaded == s)
        return 0;
    r->loaded = NULL;
    rc = r->board->vt->load(r->board, s, err);
    if (rc == 0)
        r->loaded = s;
    return rc;
}

/* The first, cumulative pass is none. */
static void count_rerun(struct assay_run *r, const struct assay_pass *pass,
                        const struct assay_backend_run *run)
{
    struct assay_run_reruns *k = &r->reruns[pass->column];

    if (pass->backend != r->board || pass->judge == NULL)
        return;
    for (uint32_t i = 0; i < r->s->n_layers; i++)
        k->layers += pass->layers[i];
    for (size_t i = 0; i < run->n_given; i++)
        k->bytes += run->given[i].bytes;
    k->tensors += run->n_given;
}

int assay_run_pass(struct assay_run *r, const struct assay_pass *pass)
{
    struct context c = {.r = r, .pass = pass};
    struct assay_results results = {
        .self = &c,
        .layer = on_layer,
        .missing = on_missing,
        .probe = on_probe,
        .begin = on_begin,
    };
    struct assay_backend_run run = {
        .isolated = pass->isolated,
        .layers = pass->layers,
        .cpumask = pass->cpumask,
        .sample = r->sample,
        .layer_timeout_ms = r->o->layer_timeout_ms,
        .probe_work = assay_run_probe_ask(r, pass),
    };
    struct assay_err err = {0};
    bool *seen = assay_calloc((size_t)r->s->n_tensors + 1, sizeof(*seen));
    struct assay_run_tensor *given =
        assay_calloc((size_t)r->s->n_tensors + 1, sizeof(*given));
    int rc;

    r->is_running = false;
    if (seen == NULL || given == NULL) {
        rc = out_of_memory(&c);
        goto out;
    }
    run.given = given;
    run.n_given = fill_given(r, pass, seen, given);
    count_rerun(r, pass, &run);
    rc = pass->backend == r->board ? assay_run_load(r, r->s, &err) : 0;
    assay_interrupt_request(true);
    if (rc == 0)
        rc = assay_run_resume_pass(r, pass, &run, &results, &err);
    assay_interrupt_request(false);
    if (assay_interrupted() != 0)
        r->interrupted = assay_interrupted();
    if (rc < 0 && !c.failed_here && !r->stopped && r->interrupted == 0)
        r->error = err;
    if (rc < 0 && r->error.code == 0 && !r->stopped && r->interrupted == 0)
        assay_fail(&r->error, rc, "%s", assay_status_sentence(rc));
out:
    assay_free(seen);
    assay_free(given);
    return rc;
}

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
    const void *const *values = source_of(r, pass);
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
