/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "host-tools/interrupt.h"
#include "host-tools/messages.h"
#include "host-tools/run_capture.h"
#include "host-tools/run_chain.h"
#include "host-tools/run_failing.h"
#include "host-tools/run_probe.h"
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

/* For what two engines say of each other. */
static void keep_digest(struct context *c, uint32_t layer,
                        const uint8_t *digests, size_t tiles)
{
    struct assay_sample_layer *n = &c->r->now[layer];

    assay_xxh128(digests, tiles * 16, n->digest[c->pass->column]);
    n->has_digest[c->pass->column] = true;
}

/* data NULL: it did not come. */
static int keep_result(struct context *c, uint32_t layer, const void *data,
                       size_t bytes)
{
    void **slot = &c->r->now[layer].result[c->pass->column];

    if (data == NULL)
        return 0;

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

/* Its comparison with the reference, to where it belongs. data NULL: it did
 * not come. */
static int take_diff(struct context *c, uint32_t layer, const void *data,
                     size_t bytes, struct assay_diff *d)
{
    d->sample = c->r->sample;
    if (c->pass->column == ASSAY_COL_CPU && !c->pass->isolated &&
        c->pass->judge == NULL)
        return take_cumulative(c, layer, data, bytes, d);
    return wanted(c, layer) ? take_isolated(c, layer, data, bytes, d) : 0;
}

static int take_digests(struct context *c, uint32_t layer,
                        const uint8_t *digests, size_t tiles)
{
    struct assay_run *r = c->r;
    const struct assay_tensor *t = &r->s->tensors[r->s->layers[layer].output];
    const void *ref = r->values[r->s->layers[layer].output];
    struct assay_diff d;
    size_t elements, bytes;
    int rc;

    if (c->pass->judge != NULL && !c->pass->judge[layer])
        return 0;
    if (ref == NULL) {
        r->now[layer].dirty = !assay_run_inputs_equal(r, layer);
        return 0;
    }
    rc = assay_run_diff_digests(r, layer, ref, digests, tiles, &d);
    if (rc < 0 || assay_tensor_count(t, &elements, &bytes, NULL) < 0) {
        c->failed_here = true;
        return assay_fail(&r->error, rc, "%s", assay_status_sentence(rc));
    }
    keep_digest(c, layer, digests, tiles);
    return take_diff(c, layer, d.mismatch == 0 ? ref : NULL, bytes, &d);
}

/* Data where digests are judged: by a backend that sends it all the same. */
static int digest_data(struct context *c, uint32_t layer, const void *data,
                       size_t bytes, bool judge)
{
    size_t tiles = assay_tiles(bytes);
    uint8_t *digests = assay_alloc(tiles * 16 + 1);
    int rc = 0;

    if (digests == NULL)
        return out_of_memory(c);
    assay_tile_digests(data, bytes, digests);
    if (judge)
        rc = take_digests(c, layer, digests, tiles);
    else
        keep_digest(c, layer, digests, tiles);
    assay_free(digests);
    return rc;
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
    if (assay_run_by_digest(r, c->pass, layer))
        return digest_data(c, layer, data, bytes, true);
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
    if (assay_run_digests_only(r) &&
        digest_data(c, layer, data, bytes, false) < 0)
        return ASSAY_EMEMORY;
    return take_diff(c, layer, data, bytes, &d);
}

/* A layer has a result: by whom, and how long it took. */
static void note_result(struct context *c, uint32_t layer, const char *kernel,
                        uint64_t time_us)
{
    struct assay_run *r = c->r;
    struct assay_run_layer *k = &r->layers[layer];

    r->is_running = false;
    if (c->pass->column != ASSAY_COL_CPU)
        return;
    if (!r->now[layer].facts.isolated_run && !c->pass->isolated &&
        c->pass->judge == NULL)
        k->n_received++;
    snprintf(k->kernel, sizeof(k->kernel), "%s", kernel != NULL ? kernel : "");
    k->time_us += time_us;
    assay_progress_layer(&r->progress, r->s->layers[layer].name);
}

/* Goes on, or not. */
static int next(struct context *c)
{
    c->r->interrupted = assay_interrupted();
    return c->r->interrupted != 0 || c->r->stopped ? ASSAY_ECANCELLED : 0;
}

static int on_digests(void *self, uint32_t layer, const uint8_t *digests,
                      size_t tiles, const char *kernel, uint64_t time_us)
{
    struct context *c = self;
    int rc;

    if (layer >= c->r->s->n_layers)
        return bad_size(c, 0, 0, 0);
    note_result(c, layer, kernel, time_us);
    rc = take_digests(c, layer, digests, tiles);
    return rc < 0 ? rc : next(c);
}

static void on_stats(void *self, uint32_t layer, const struct assay_stats *s)
{
    struct context *c = self;

    if (layer < c->r->s->n_layers)
        assay_run_stats_take(c->r, c->pass, layer, s, NULL);
}

static int on_layer(void *self, uint32_t layer, const void *data, size_t bytes,
                    const char *kernel, uint64_t time_us)
{
    struct context *c = self;
    struct assay_run *r = c->r;
    bool all = c->pass->column == ASSAY_COL_CPU && c->pass->judge == NULL;
    size_t elements, expected;
    int rc;

    if (layer >= r->s->n_layers)
        return bad_size(c, 0, bytes, 0);
    rc = assay_tensor_count(&r->s->tensors[r->s->layers[layer].output],
                            &elements, &expected, &r->error);
    if (rc < 0 || bytes != expected)
        return bad_size(c, layer, bytes, expected);
    note_result(c, layer, kernel, time_us);
    if (all && r->saving != NULL) {
        rc = assay_run_save(r, layer, data, &r->error);
        if (rc < 0) {
            c->failed_here = true;
            return rc;
        }
    }
    if (all && r->p.c.record != NULL && !c->pass->isolated &&
        !assay_run_digests_only(r))
        assay_run_replay_take(r, layer, data);
    assay_run_stats_take(r, c->pass, layer, NULL, data);
    rc = take(c, layer, data, bytes);
    return rc < 0 ? rc : next(c);
}

static int on_missing(void *self, uint32_t layer, uint32_t tensor)
{
    struct context *c = self;

    if (layer >= c->r->s->n_layers || tensor >= c->r->s->n_tensors)
        return bad_size(c, 0, 0, 0);
    if (c->pass->column == ASSAY_COL_CPU) {
        c->r->now[layer].missing = true;
        c->r->now[layer].missing_tensor = tensor;
    }
    return 0;
}

static void on_begin(void *self, uint32_t layer)
{
    struct context *c = self;

    if (layer < c->r->s->n_layers) {
        c->r->running = layer;
        c->r->is_running = true;
    }
}

static void on_probe(void *self, uint32_t layer, const struct assay_probe *p)
{
    struct context *c = self;

    if (layer < c->r->s->n_layers)
        assay_run_probe_told(c->r, c->pass, layer, p);
}

const void *const *assay_pass_source(const struct assay_run *r,
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
    const void *const *values = assay_pass_source(r, pass);
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
        .digests = on_digests,
        .stats = on_stats,
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
        .capture = pass->backend == r->board ? assay_run_capture(r, pass)
                                             : ASSAY_CAPTURE_FULL,
    };
    struct assay_err err = {0};
    bool *seen = assay_calloc((size_t)r->s->n_tensors + 1, sizeof(*seen));
    struct assay_run_tensor *given =
        assay_calloc((size_t)r->s->n_tensors + 1, sizeof(*given));
    struct assay_run_tensor *expect =
        assay_calloc((size_t)r->s->n_tensors + 1, sizeof(*expect));
    int rc;

    r->is_running = false;
    if (seen == NULL || given == NULL || expect == NULL) {
        rc = out_of_memory(&c);
        goto out;
    }
    run.given = given;
    run.n_given = fill_given(r, pass, seen, given);
    run.expect = expect;
    run.n_expect = assay_run_expect(r, pass, expect);
    count_rerun(r, pass, &run);
    rc = pass->backend == r->board ? assay_run_load(r, r->s, &err) : 0;
    assay_interrupt_request(true);
    if (rc == 0)
        rc = pass->backend->vt->run(pass->backend, &run, &results, &err);
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
    assay_free(expect);
    return rc;
}
