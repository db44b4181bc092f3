/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_segment.h"

#include <string.h>

#include "host-tools/run_cause_keep.h"
#include "kernels/cpu.h"
#include "kernels/kernels.h"
#include "lib/core/slice_part.h"
#include "lib/engine/plan.h"

#define LAYERS 24 /* of a segment */
/* Multiply-accumulates of a search: some seconds; of run, the tenth. */
#define WORK ((uint64_t)4000000000u)

struct segment {
    uint32_t layers[LAYERS + 1]; /* of the run's slice; the culprit last */
    uint32_t n;
    struct assay_slice *slice;
    struct assay_suspect_sample samples[ASSAY_SUSPECT_SAMPLES + ASSAY_REFUTERS];
};

static uint32_t inputs_of(const struct segment *g)
{
    return g->slice->layers[g->n - 1].output;
}

static void close_segment(struct segment *g, size_t n_samples)
{
    for (size_t s = 0; s < n_samples; s++) {
        for (uint32_t t = 0; g->samples[s].inputs && t < inputs_of(g); t++)
            assay_free((void *)g->samples[s].inputs[t]);
        assay_free((void *)g->samples[s].inputs);
    }
    assay_slice_free(g->slice);
}

/* Multiply-accumulates, or elements where a layer has none; UINT64_MAX: the
 * engine refuses it. */
static uint64_t work_of(const struct assay_slice *s)
{
    struct assay_kernel_table table;
    struct assay_plan *plan = NULL;
    struct assay_err err = {0};
    uint64_t work = 0;

    assay_kernel_table_init(&table, 0);
    if (assay_plan_new(&plan, s, &table, NULL, &err) < 0)
        return UINT64_MAX;
    for (uint32_t i = 0; i < s->n_layers; i++) {
        size_t n = 0, bytes;

        if (assay_tensor_count(&s->tensors[s->layers[i].output], &n, &bytes,
                               NULL) < 0)
            n = 0;
        work += assay_plan_macs(plan, i) + n;
    }
    assay_plan_free(plan);
    return work;
}

static void *copy_of(const struct assay_tensor *t, const void *from)
{
    size_t n, bytes;
    void *to;

    if (assay_tensor_count(t, &n, &bytes, NULL) < 0)
        return NULL;
    to = assay_alloc(bytes + 1);
    if (to != NULL)
        memcpy(to, from, bytes);
    return to;
}

/* What feeds it in the column, in one sample of the suspect, which is open. */
static int feed(const struct assay_run *r, const struct assay_run_suspect *k,
                struct segment *g, size_t sample,
                const struct assay_suspect_sample *of, struct assay_err *err)
{
    const struct assay_run_side *side = &r->sides[k->column - ASSAY_COL_SIM];
    void **inputs = assay_calloc((size_t)inputs_of(g) + 1, sizeof(*inputs));
    struct assay_suspect_sample *s = &g->samples[sample];
    int rc = 0;

    *s = *of;
    s->inputs = (const void *const *)inputs;
    if (inputs == NULL)
        rc = assay_fail(err, ASSAY_EMEMORY, "no memory for a segment");
    for (uint32_t i = 0; i < g->n && rc == 0; i++) {
        const struct assay_layer *from = &r->s->layers[g->layers[i]];

        for (uint32_t j = 0; j < from->n_inputs; j++) {
            uint32_t mine = g->slice->layers[i].inputs[j], t = from->inputs[j];
            const void *v = side->observed.values[t];

            if (g->slice->tensors[mine].role != ASSAY_ROLE_INPUT ||
                inputs[mine] != NULL)
                continue;
            if (v == NULL && r->producer[t] < 0)
                v = r->values[t]; /* an input of the model */
            inputs[mine] = v ? copy_of(&r->s->tensors[t], v) : NULL;
            if (inputs[mine] == NULL)
                rc = ASSAY_EDIT_NOT_HERE; /* it cannot be had */
        }
    }
    return rc;
}

static int feed_all(struct assay_run *r, const struct assay_run_suspect *k,
                    struct segment *g, struct assay_err *err)
{
    int rc = 0;

    for (size_t s = 0; s < k->n_samples && rc == 0; s++) {
        rc = assay_run_sample_reopen(r, k->from[s], err);
        if (rc == 0)
            rc = feed(r, k, g, s, &k->samples[s], err);
        assay_run_sample_close(r);
    }
    return rc;
}

/* With the fault in layer `edited` of the segment. */
static int search_in(const struct assay_run *r, struct assay_run_suspect *k,
                     const struct segment *g, uint32_t edited,
                     const struct assay_search_options *o,
                     struct assay_err *err)
{
    bool every = edited == ASSAY_EVERY_LAYER;
    const struct assay_suspect s = {.one = g->slice,
                                    .edited = edited,
                                    .whole = r->s,
                                    .layer = g->layers[every ? 0 : edited],
                                    .samples = g->samples,
                                    .n_samples = k->n_samples};
    struct assay_search *found = NULL;
    int rc = assay_cause_search(&found, &s, o, err);

    if (rc == 0)
        k->found->tried += found->tried;
    if (rc == 0 && found->n_proved > 0) {
        k->found_before = found;
        k->before = every ? k->layer : s.layer;
        k->everywhere = every;
        return 0;
    }
    assay_search_free(found);
    return rc;
}

/* The nearest layers first; the first that is proved is taken. */
static int search(const struct assay_run *r, struct assay_run_suspect *k,
                  const struct segment *g, const struct assay_search_options *o,
                  struct assay_err *err)
{
    struct assay_search_options each = *o;
    int rc = 0;

    each.pairs = false;
    for (uint32_t i = g->n - 1;
         i-- > 0 && rc == 0 && k->found_before == NULL;) {
        if (!assay_run_only_moves(&g->slice->layers[i]))
            rc = search_in(r, k, g, i, &each, err);
    }
    /* What a tool does wrong it does wrong everywhere. */
    if (rc == 0 && k->found_before == NULL)
        rc = search_in(r, k, g, ASSAY_EVERY_LAYER, &each, err);
    return rc;
}

/* The layers that the culprit was judged through, and itself: > 0: there are
 * none, or more than are looked at. */
static int open_segment(const struct assay_run *r,
                        const struct assay_run_suspect *k, struct segment *g,
                        struct assay_err *err)
{
    memset(g, 0, sizeof(*g));
    if (k->column < ASSAY_COL_SIM)
        return ASSAY_EDIT_NOT_HERE;
    g->n = assay_run_through(r, k->layer, k->column, g->layers, LAYERS);
    if (g->n == 0 || g->n > LAYERS)
        return ASSAY_EDIT_NOT_HERE;
    g->layers[g->n++] = k->layer;
    for (uint32_t i = 0; i < g->n; i++)
        if (r->s->layers[g->layers[i]].op == ASSAY_OP_SKIPPED)
            return ASSAY_EDIT_NOT_HERE;
    return assay_slice_part(&g->slice, r->s, g->layers, g->n, err);
}

int assay_run_segment_search(struct assay_run *r, struct assay_run_suspect *k,
                             const struct assay_search_options *o,
                             struct assay_err *err)
{
    struct segment g;
    uint64_t work, most;
    int rc = open_segment(r, k, &g, err);

    if (rc)
        return rc < 0 ? rc : 0;
    work = work_of(g.slice);
    most = WORK / (g.n * (uint64_t)ASSAY_CAUSE_COUNT);
    if (r->o->command == ASSAY_CMD_RUN)
        most /= 10;
    if (work <= most)
        rc = feed_all(r, k, &g, err);
    if (rc == 0 && work <= most)
        rc = search(r, k, &g, o, err);
    close_segment(&g, k->n_samples);
    return rc < 0 ? rc : 0;
}

int assay_run_segment_compare(struct assay_run *r, struct assay_run_suspect *k,
                              const struct assay_suspect_sample *s, bool *fits,
                              struct assay_err *err)
{
    struct assay_suspect suspect = {.whole = r->s, .layer = k->before};
    struct segment g;
    int rc = open_segment(r, k, &g, err);

    if (rc)
        return rc;
    rc = feed(r, k, &g, 0, s, err);
    for (uint32_t i = 0; i < g.n; i++)
        if (g.layers[i] == k->before)
            suspect.edited = i;
    suspect.one = g.slice;
    if (rc == 0)
        rc = assay_run_cause_compare(k->found_before, &suspect, &g.samples[0],
                                     fits, err);
    close_segment(&g, 1);
    return rc;
}
