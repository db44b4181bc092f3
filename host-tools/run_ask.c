/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_ask.h"

#include <string.h>

#include "host-tools/interrupt.h"
#include "lib/core/slice_part.h"

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
    return column == ASSAY_COL_CPU && r->board != NULL && r->error.code == 0 &&
           r->interrupted == 0;
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

int assay_run_ask(struct assay_run *r, uint32_t layer, enum assay_column column,
                  const void *const *inputs, void *out)
{
    struct answer a = {.layer = layer, .out = out};
    const struct assay_results results = {
        .self = &a, .layer = on_layer, .missing = on_missing};
    struct assay_run_tensor given[ASSAY_MAX_LAYER_INPUTS];
    bool *layers = assay_calloc((size_t)r->s->n_layers + 1, 1);
    struct assay_backend_run run = {.isolated = true,
                                    .layers = layers,
                                    .cpumask = r->o->cpumask,
                                    .given = given,
                                    .layer_timeout_ms = r->o->layer_timeout_ms};
    struct assay_err err = {0};
    size_t elements;
    int rc = assay_run_can_ask(r, column) ? 0 : ASSAY_EUNSUPPORTED;

    if (rc == 0 && layers == NULL)
        rc = ASSAY_EMEMORY;
    if (rc == 0)
        rc = assay_tensor_count(&r->s->tensors[r->s->layers[layer].output],
                                &elements, &a.bytes, &err);
    if (rc == 0) {
        layers[layer] = true;
        run.n_given = fill_given(r->s, layer, inputs, given);
        assay_interrupt_request(true);
        rc = r->board->vt->run(r->board, &run, &results, &err);
        assay_interrupt_request(false);
        r->interrupted = assay_interrupted();
        if (rc < 0 && r->interrupted == 0)
            r->error = err;
        if (rc == 0 && !a.here)
            rc = ASSAY_EPROTOCOL;
    }
    assay_free(layers);
    return rc;
}
