/* SPDX-License-Identifier: Apache-2.0 */
/* One pass of a run: what the journal of the run before has of it, then the
 * board; all of it into this run's journal. */
#include <stdio.h>
#include <string.h>

#include "host-tools/messages.h"
#include "host-tools/run_resume.h"

/* ---- results, on their way ------------------------------------------------ */

struct recorder {
    struct assay_run *r;
    const struct assay_results *to;
};

static bool as_reference(const struct assay_run *r, uint32_t layer,
                         const void *data, size_t bytes)
{
    const struct assay_layer *l = &r->s->layers[layer];
    const void *ref = r->values[l->output];
    size_t n, expected;

    return ref != NULL &&
           assay_tensor_count(&r->s->tensors[l->output], &n, &expected, NULL) ==
               0 &&
           expected == bytes && memcmp(ref, data, bytes) == 0;
}

/* Kept before it is judged: a judgement may end the run. */
static int rec_layer(void *self, uint32_t layer, const void *data, size_t bytes,
                     const char *kernel, uint64_t time_us)
{
    struct recorder *c = self;
    struct assay_run_resume *k = c->r->resume;
    struct assay_err why = {0};

    if (k->made && layer < c->r->s->n_layers &&
        assay_journal_layer(&k->w, c->r->s, layer, kernel != NULL ? kernel : "",
                            data, bytes, as_reference(c->r, layer, data, bytes),
                            time_us, &why) < 0)
        assay_run_resume_give_up(c->r, &why);
    return c->to->layer(c->to->self, layer, data, bytes, kernel, time_us);
}

static int rec_digests(void *self, uint32_t layer, const uint8_t *digests,
                       size_t tiles, const char *kernel, uint64_t time_us)
{
    struct recorder *c = self;

    return c->to->digests(c->to->self, layer, digests, tiles, kernel, time_us);
}

static void rec_stats(void *self, uint32_t layer, const struct assay_stats *s)
{
    struct recorder *c = self;

    c->to->stats(c->to->self, layer, s);
}

static int rec_missing(void *self, uint32_t layer, uint32_t tensor)
{
    struct recorder *c = self;

    return c->to->missing(c->to->self, layer, tensor);
}

static void rec_begin(void *self, uint32_t layer, const char *kernel)
{
    struct recorder *c = self;

    c->to->begin(c->to->self, layer, kernel);
}

static void rec_probe(void *self, uint32_t layer, const struct assay_probe *p)
{
    struct recorder *c = self;
    struct assay_run_resume *k = c->r->resume;
    struct assay_err why = {0};

    if (k->made && assay_journal_probe(&k->w, layer, p, &why) < 0)
        assay_run_resume_give_up(c->r, &why);
    c->to->probe(c->to->self, layer, p);
}

/* ---- what the journal has of a pass --------------------------------------- */

/* A pass that is asked for, and what is had of it: by layer. */
struct taken {
    const struct assay_journal_layer **have;
    bool *left;    /* to be run */
    uint8_t **out; /* outputs that what is left reads; owned, by tensor */
    struct assay_run_tensor *given;
    size_t n_given;
    uint64_t probed; /* work of probes */
};

static void close_taken(struct taken *k, uint32_t n_tensors)
{
    for (uint32_t t = 0; k->out != NULL && t < n_tensors; t++)
        assay_free(k->out[t]);
    assay_free(k->out);
    assay_free(k->have);
    assay_free(k->left);
    assay_free(k->given);
}

static bool open_taken(struct taken *k, const struct assay_slice *s)
{
    size_t layers = (size_t)s->n_layers + 1, tensors = (size_t)s->n_tensors + 1;

    *k = (struct taken){
        .have = assay_calloc(layers, sizeof(*k->have)),
        .left = assay_calloc(layers, sizeof(*k->left)),
        .out = assay_calloc(tensors, sizeof(*k->out)),
        .given = assay_calloc(2 * tensors, sizeof(*k->given)),
    };
    return k->have != NULL && k->left != NULL && k->out != NULL &&
           k->given != NULL;
}

/* Was this asked for then? Results on given tensors do not depend on what else
 * ran, except where a part of them was computed. The kernels of the layers
 * that are judged may be others now: that is told. */
static bool is_same_pass(const struct assay_run *r,
                         const struct assay_journal_pass *then,
                         const struct assay_pass *pass,
                         const struct assay_backend_run *run)
{
    return then->sample == r->sample && then->column == pass->column &&
           then->again == (pass->judge != NULL) &&
           then->isolated == run->isolated &&
           (then->cpumask == run->cpumask || then->column == ASSAY_COL_CPU) &&
           (!then->again || then->isolated ||
            memcmp(then->layers, run->layers, r->s->n_layers) == 0);
}

/* Of a run on computed inputs: they came from where they would come now. */
static bool same_origin(const struct assay_run *r,
                        const struct assay_backend_run *run,
                        const struct taken *k, uint32_t layer)
{
    const struct assay_layer *l = &r->s->layers[layer];
    const bool *then = r->resume->old->passes[k->have[layer]->pass].layers;

    for (uint32_t j = 0; j < l->n_inputs && !run->isolated; j++) {
        int64_t p = r->producer[l->inputs[j]];

        if (p >= 0 && run->layers[p] != then[p])
            return false;
        if (p >= 0 && run->layers[p] && k->have[p] == NULL)
            return false;
    }
    return true;
}

static bool has_room(const struct assay_run *r,
                     const struct assay_journal_layer *l)
{
    uint32_t y = r->s->layers[l->layer].output;
    size_t n, bytes;

    return assay_tensor_count(&r->s->tensors[y], &n, &bytes, NULL) == 0 &&
           bytes == l->bytes && (!l->same || r->values[y] != NULL);
}

static void find_taken(const struct assay_run *r, const struct assay_pass *pass,
                       const struct assay_backend_run *run, struct taken *k)
{
    struct assay_run_resume *h = r->resume;
    const struct assay_journal *j = h->old;

    while (h->pass < j->n_passes && j->passes[h->pass].sample < r->sample)
        h->pass++;
    while (h->layer < j->n_layers && j->layers[h->layer].pass < h->pass)
        h->layer++;
    for (uint32_t i = h->layer; i < j->n_layers; i++) {
        const struct assay_journal_layer *l = &j->layers[i];

        if (j->passes[l->pass].sample > r->sample)
            break;
        if (run->layers[l->layer] && has_room(r, l) &&
            is_same_pass(r, &j->passes[l->pass], pass, run))
            k->have[l->layer] = l;
    }
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        if (k->have[i] != NULL && !same_origin(r, run, k, i))
            k->have[i] = NULL;
        k->left[i] = run->layers[i] && k->have[i] == NULL;
    }
}

static bool is_read(const struct assay_run *r, const struct taken *k,
                    uint32_t tensor)
{
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        const struct assay_layer *l = &r->s->layers[i];

        for (uint32_t j = 0; j < l->n_inputs && k->left[i]; j++) {
            if (l->inputs[j] == tensor)
                return true;
        }
    }
    return false;
}

static void tell_mask(struct assay_run *r, uint32_t then,
                      const struct assay_backend_run *run)
{
    struct assay_run_resume *k = r->resume;
    char text[300], was[24], now[24];

    if (then == run->cpumask || k->told_mask)
        return;
    k->told_mask = true;
    r->scalar_only = false; /* not all of it was */
    r->kernels = r->info.agent.kernels;
    snprintf(was, sizeof(was), "0x%x", then);
    snprintf(now, sizeof(now), "0x%x", run->cpumask);
    assay_message(text, sizeof(text), ASSAY_MSG_RESUME_MASK, "was", was, "now",
                  now, NULL);
    if (r->p.note.note != NULL)
        r->p.note.note(r->p.note.self, text);
}

/* One layer from the journal to whoever waits for it. */
static int deliver(struct assay_run *r, const struct assay_backend_run *run,
                   const struct assay_results *results, struct taken *k,
                   uint32_t layer, struct assay_err *err)
{
    const struct assay_journal_layer *l = k->have[layer];
    uint32_t y = r->s->layers[layer].output;
    uint8_t *data = assay_alloc((size_t)l->bytes + 1);
    int rc;

    if (data == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    if (l->same)
        memcpy(data, r->values[y], (size_t)l->bytes);
    rc = assay_journal_data(r->resume->old, l, data, err);
    if (rc == 0) {
        tell_mask(r, r->resume->old->passes[l->pass].cpumask, run);
        r->resume->taken++;
        results->begin(results->self, layer, l->kernel);
        rc = results->layer(results->self, layer, data, (size_t)l->bytes,
                            l->kernel, l->time_us);
    }
    if (rc == 0 && l->probe != NULL && run->probe_work > 0) {
        results->probe(results->self, layer, l->probe);
        k->probed += l->probe->work;
    }
    if (rc == 0 && is_read(r, k, y) && !run->isolated) {
        k->out[y] = data;
        k->given[k->n_given++] =
            (struct assay_run_tensor){y, data, (size_t)l->bytes};
        data = NULL;
    }
    assay_free(data);
    return rc;
}

/* From here on the board is asked for what no journal has. */
static void is_new(struct assay_run *r)
{
    struct assay_run_resume *k = r->resume;

    if (k->made && k->replaces && rename(k->fresh, k->path) == 0) {
        memcpy(k->fresh, k->path, sizeof(k->fresh));
        k->replaces = false;
    }
}

static int run_rest(struct assay_run *r, const struct assay_pass *pass,
                    const struct assay_backend_run *run,
                    const struct assay_results *results, struct taken *k,
                    struct assay_err *err)
{
    struct assay_backend_run rest = *run;
    bool any = false;

    for (uint32_t i = 0; i < r->s->n_layers; i++)
        any = any || k->left[i];
    if (!any)
        return 0;
    for (size_t i = 0; i < run->n_given; i++) {
        if (is_read(r, k, run->given[i].tensor))
            k->given[k->n_given++] = run->given[i];
    }
    rest.layers = k->left;
    rest.given = k->given;
    rest.n_given = k->n_given;
    if (rest.probe_work > 0)
        rest.probe_work =
            run->probe_work > k->probed ? run->probe_work - k->probed : 1;
    is_new(r);
    return pass->backend->vt->run(pass->backend, &rest, results, err);
}

static int take_and_run(struct assay_run *r, const struct assay_pass *pass,
                        const struct assay_backend_run *run,
                        const struct assay_results *results,
                        struct assay_err *err)
{
    struct taken k;
    int rc = open_taken(&k, r->s) ? 0
                                  : assay_fail_message(err, ASSAY_EMEMORY,
                                                       ASSAY_MSG_MEMORY, NULL);

    if (rc == 0)
        find_taken(r, pass, run, &k);
    for (uint32_t i = 0; i < r->s->n_layers && rc == 0; i++) {
        if (k.have[i] != NULL)
            rc = deliver(r, run, results, &k, i, err);
    }
    if (rc == 0)
        rc = run_rest(r, pass, run, results, &k, err);
    close_taken(&k, r->s->n_tensors);
    return rc;
}

int assay_run_resume_pass(struct assay_run *r, const struct assay_pass *pass,
                          const struct assay_backend_run *run,
                          const struct assay_results *results,
                          struct assay_err *err)
{
    struct recorder c = {r, results};
    const struct assay_results kept = {
        .self = &c,
        .layer = rec_layer,
        .digests = rec_digests,
        .stats = rec_stats,
        .missing = rec_missing,
        .probe = rec_probe,
        .begin = rec_begin,
    };
    const struct assay_journal_pass note = {
        r->sample,    pass->column,    pass->judge != NULL, run->isolated,
        run->cpumask, run->probe_work, run->layers,
    };
    struct assay_run_resume *k = r->resume;
    struct assay_err why = {0};

    if (k == NULL || pass->backend != r->board || pass->repeat)
        return pass->backend->vt->run(pass->backend, run, results, err);
    if (k->made && assay_journal_pass(&k->w, &note, &why) < 0)
        assay_run_resume_give_up(r, &why);
    if (k->old != NULL)
        return take_and_run(r, pass, run, &kept, err);
    return pass->backend->vt->run(pass->backend, run, &kept, err);
}
