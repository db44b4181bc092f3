/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/engine/run.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "lib/engine/plan_private.h"

struct run {
    const struct assay_plan *plan;
    const struct assay_run_request *request;
    char *arena;
    const void **values; /* one a tensor, at the arena's begin; NULL: not */
                         /* there, or not asked for yet */
};

static bool selected(const struct run *r, uint32_t layer)
{
    if (!r->plan->layers[layer].op.op)
        return false; /* SKIPPED */
    return !r->request->layers || r->request->layers[layer];
}

/*
 * Bytes of tensor t for the layer that reads it, or NULL. What a layer of
 * this run computes is never asked of the outside in a cumulative run: when
 * that layer was passed over, its readers are too.
 */
static const void *value(struct run *r, uint32_t t)
{
    const struct assay_plan_tensor *p = &r->plan->tensors[t];
    bool isolated = r->request->mode == ASSAY_RUN_ISOLATED;
    if (p->constant)
        return p->constant;
    if (!r->values[t]) {
        bool ours = p->producer != ASSAY_NO_LAYER && selected(r, p->producer);
        if (isolated || !ours)
            r->values[t] = r->request->fetch
                               ? r->request->fetch(r->request->self, t)
                               : NULL;
    }
    return r->values[t];
}

/* Gathers the inputs; false when one is not there, which is reported. */
static bool gather(struct run *r, uint32_t layer, const void **in)
{
    const struct assay_layer *l = &r->plan->slice->layers[layer];
    for (uint32_t i = 0; i < l->n_inputs; i++) {
        in[i] = value(r, l->inputs[i]);
        if (in[i])
            continue;
        if (r->request->missing)
            r->request->missing(r->request->self, layer, l->inputs[i]);
        return false;
    }
    return true;
}

static int check_alignment(const struct run *r, uint32_t layer,
                           const void *const *in, struct assay_err *err)
{
    const struct assay_layer *l = &r->plan->slice->layers[layer];
    for (uint32_t i = 0; i < l->n_inputs; i++) {
        const struct assay_tensor *t = &r->plan->slice->tensors[l->inputs[i]];
        if ((uintptr_t)in[i] % assay_dtype_bytes(t->dtype) != 0)
            return assay_fail(err, ASSAY_EINTERNAL,
                              "tensor '%.200s' was handed to layer '%.200s' "
                              "at an address that %s cannot be read from",
                              t->name, l->name, assay_dtype_name(t->dtype));
    }
    return 0;
}

static int run_layer(struct run *r, uint32_t layer,
                     const struct assay_sink *sink, struct assay_err *err)
{
    const struct assay_plan_layer *p = &r->plan->layers[layer];
    const struct assay_layer *l = &r->plan->slice->layers[layer];
    const void *in[ASSAY_MAX_LAYER_INPUTS];
    if (!gather(r, layer, in))
        return 0;
    int rc = check_alignment(r, layer, in, err);
    if (rc)
        return rc;
    const struct assay_layer_info info = {.layer = layer,
                                          .tensor = l->output,
                                          .kernel = p->op.kernel,
                                          .bytes = p->out_bytes,
                                          .inputs = in};
    const struct assay_op_io io = {.in = in,
                                   .out = r->arena + p->out_at,
                                   .scratch = r->arena + p->scratch_at};
    rc = sink->begin(sink->self, &info);
    if (rc < 0)
        return rc;
    p->op.op->run(&p->op, &io);
    if (r->request->mode == ASSAY_RUN_CUMULATIVE)
        r->values[l->output] = io.out;
    rc = sink->tensor(sink->self, &info, io.out);
    if (rc < 0)
        return rc;
    rc = sink->end(sink->self, &info);
    return rc < 0 ? rc : 0;
}

int assay_run(const struct assay_plan *plan, void *arena,
              const struct assay_run_request *request,
              const struct assay_sink *sink, struct assay_err *err)
{
    assert((uintptr_t)arena % ASSAY_ALIGNMENT == 0);
    struct run r = {
        .plan = plan, .request = request, .arena = arena, .values = arena};
    memset(arena, 0, plan->slice->n_tensors * sizeof(*r.values));
    for (uint32_t i = 0; i < plan->slice->n_layers; i++) {
        if (!selected(&r, i))
            continue;
        int rc = run_layer(&r, i, sink, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}
