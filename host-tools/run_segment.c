/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_segment.h"

#include <string.h>

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
    struct assay_suspect_sample samples[ASSAY_SUSPECT_SAMPLES];
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

/* What feeds it in the column, in one sample; the sample is open. */
static int feed(const struct assay_run *r, const struct assay_run_suspect *k,
                struct segment *g, size_t sample, struct assay_err *err)
{
    const struct assay_run_side *side = &r->sides[k->column - ASSAY_COL_SIM];
    void **inputs = assay_calloc((size_t)inputs_of(g) + 1, sizeof(*inputs));
    struct assay_suspect_sample *s = &g->samples[sample];
    int rc = 0;

    *s = k->samples[sample];
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
            rc = feed(r, k, g, s, err);
        assay_run_sample_close(r);
    }
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
    for (uint32_t i = g->n - 1; i-- > 0 && rc == 0;) {
        const struct assay_suspect s = {.one = g->slice,
                                        .edited = i,
                                        .whole = r->s,
                                        .layer = g->layers[i],
                                        .samples = g->samples,
                                        .n_samples = k->n_samples};
        struct assay_search *found = NULL;

        if (assay_run_only_moves(&g->slice->layers[i]))
            continue;
        rc = assay_cause_search(&found, &s, &each, err);
        if (rc == 0)
            k->found->tried += found->tried;
        if (rc == 0 && found->n_proved > 0) {
            k->found_before = found;
            k->before = g->layers[i];
            return 0;
        }
        assay_search_free(found);
    }
    return rc;
}

int assay_run_segment_search(struct assay_run *r, struct assay_run_suspect *k,
                             const struct assay_search_options *o,
                             struct assay_err *err)
{
    struct segment g = {.n = 0};
    uint64_t work, most;
    int rc;

    if (k->column < ASSAY_COL_SIM)
        return 0;
    g.n = assay_run_through(r, k->layer, k->column, g.layers, LAYERS);
    if (g.n == 0 || g.n > LAYERS)
        return 0;
    g.layers[g.n++] = k->layer;
    for (uint32_t i = 0; i < g.n; i++)
        if (r->s->layers[g.layers[i]].op == ASSAY_OP_SKIPPED)
            return 0;
    rc = assay_slice_part(&g.slice, r->s, g.layers, g.n, err);
    if (rc)
        return rc;
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
