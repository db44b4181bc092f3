/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_ask.h"

#include <string.h>

#include "host-tools/interrupt.h"
#include "host-tools/run_other.h"

struct answer {
    uint32_t layer;
    void *out;
    size_t bytes;
    bool here;
};

static int on_layer(void *self, uint32_t layer, const void *data, size_t bytes,
                    const char *kernel, uint64_t time_us)
{
    struct answer *a = self;

    (void)kernel;
    (void)time_us;
    if (layer != a->layer || bytes != a->bytes)
        return 0;
    memcpy(a->out, data, bytes);
    a->here = true;
    return 0;
}

static int on_missing(void *self, uint32_t layer, uint32_t tensor)
{
    (void)self;
    (void)layer;
    (void)tensor;
    return 0;
}

bool assay_run_can_ask(const struct assay_run *r, enum assay_column column)
{
    return (column == ASSAY_COL_CPU ||
            (column == ASSAY_COL_GOT && r->other != NULL)) &&
           r->board != NULL && r->error.code == 0 && r->interrupted == 0;
}

/* The layer's inputs as tensors of the whole slice; how many. */
static size_t fill_given(const struct assay_slice *s, uint32_t layer,
                         const void *const *inputs,
                         struct assay_run_tensor *given)
{
    const struct assay_layer *l = &s->layers[layer];
    uint32_t mine[ASSAY_MAX_LAYER_INPUTS], distinct = 0;
    size_t n = 0;

    for (uint32_t i = 0; i < l->n_inputs; i++) {
        uint32_t k = 0, t = l->inputs[i];
        size_t elements;

        while (k < distinct && mine[k] != t)
            k++;
        if (k < distinct)
            continue;
        mine[distinct++] = t;
        if (inputs[k] == NULL)
            continue;
        given[n].tensor = t;
        given[n].data = inputs[k];
        if (assay_tensor_count(&s->tensors[t], &elements, &given[n].bytes,
                               NULL) == 0)
            n++;
    }
    return n;
}

/* The same as tensors of the other slice; false: it has not all of them. */
static bool to_other(const struct assay_run_other *o,
                     struct assay_run_tensor *given, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        given[i].tensor = o->tensor[given[i].tensor];
        if (given[i].tensor == ASSAY_OTHER_NONE)
            return false;
    }
    return true;
}

/* Chooses slice and layers; 0, or why it cannot be asked. */
static int prepare(struct assay_run *r, uint32_t layer,
                   enum assay_column column, struct assay_backend_run *run,
                   struct assay_run_tensor *given, bool *mask, struct answer *a,
                   struct assay_err *err)
{
    uint32_t y = r->s->layers[layer].output;
    const struct assay_run_other *o = r->other;

    run->given = given;
    run->layers = mask;
    if (column == ASSAY_COL_CPU) {
        run->isolated = true;
        mask[layer] = true;
        a->layer = layer;
        return assay_run_load(r, r->s, err);
    }
    if (!to_other(o, given, run->n_given) ||
        !assay_run_other_segment(o, y, given, run->n_given, mask))
        return ASSAY_EUNSUPPORTED;
    a->layer = (uint32_t)o->producer[o->tensor[y]];
    return assay_run_load(r, o->s, err);
}

static int ask(struct assay_run *r, uint32_t layer, enum assay_column column,
               const void *const *inputs, struct answer *a, bool *mask,
               struct assay_err *err)
{
    const struct assay_results results = {
        .self = a, .layer = on_layer, .missing = on_missing};
    struct assay_run_tensor given[ASSAY_MAX_LAYER_INPUTS];
    struct assay_backend_run run = {.cpumask = r->o->cpumask,
                                    .layer_timeout_ms = r->o->layer_timeout_ms};
    int rc;

    run.n_given = fill_given(r->s, layer, inputs, given);
    rc = prepare(r, layer, column, &run, given, mask, a, err);
    if (rc == ASSAY_EUNSUPPORTED)
        return rc;
    assay_interrupt_request(true);
    if (rc == 0)
        rc = r->board->vt->run(r->board, &run, &results, err);
    assay_interrupt_request(false);
    r->interrupted = assay_interrupted();
    if (rc < 0 && r->interrupted == 0)
        r->error = *err;
    return rc == 0 && !a->here ? ASSAY_EPROTOCOL : rc;
}

int assay_run_ask(struct assay_run *r, uint32_t layer, enum assay_column column,
                  const void *const *inputs, void *out)
{
    uint32_t layers = r->s->n_layers;
    struct answer a = {.out = out};
    struct assay_err err = {0};
    size_t elements;
    bool *mask;
    int rc;

    if (!assay_run_can_ask(r, column))
        return ASSAY_EUNSUPPORTED;
    if (r->other != NULL && r->other->s->n_layers > layers)
        layers = r->other->s->n_layers;
    mask = assay_calloc((size_t)layers + 1, 1);
    if (mask == NULL)
        return ASSAY_EMEMORY;
    rc = assay_tensor_count(&r->s->tensors[r->s->layers[layer].output],
                            &elements, &a.bytes, &err);
    if (rc == 0)
        rc = ask(r, layer, column, inputs, &a, mask, &err);
    assay_free(mask);
    return rc;
}
