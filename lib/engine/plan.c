/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/engine/plan.h"

#include <inttypes.h>
#include <string.h>

#include "lib/engine/arena.h"
#include "lib/engine/plan_private.h"
#include "lib/engine/shape.h"

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "slice: no memory for its plan");
}

/* ---- the slice as a graph --------------------------------------------------- */

static int check_counts(const struct assay_slice *s, struct assay_err *err)
{
    const struct {
        const char *name;
        uint32_t found, max;
        const void *array;
    } counts[] = {
        {"tensors", s->n_tensors, ASSAY_MAX_TENSORS, s->tensors},
        {"layers", s->n_layers, ASSAY_MAX_LAYERS, s->layers},
    };
    for (size_t i = 0; i < 2; i++)
        if (counts[i].found < 1 || counts[i].found > counts[i].max ||
            !counts[i].array)
            return assay_fail(err, ASSAY_ERANGE,
                              "slice: %s: expected 1 to %" PRIu32
                              ", found %" PRIu32,
                              counts[i].name, counts[i].max,
                              counts[i].array ? counts[i].found : 0);
    return 0;
}

static int check_tensors(struct assay_plan *plan, struct assay_err *err)
{
    const struct assay_slice *s = plan->slice;
    plan->tensors =
        assay_arena_array(plan->memory, s->n_tensors, sizeof(*plan->tensors));
    plan->layers =
        assay_arena_array(plan->memory, s->n_layers, sizeof(*plan->layers));
    if (!plan->tensors || !plan->layers)
        return no_memory(err);
    for (uint32_t i = 0; i < s->n_tensors; i++) {
        size_t elements;
        int rc = assay_check_tensor(s, i, err);
        if (!rc)
            rc = assay_tensor_count(&s->tensors[i], &elements,
                                    &plan->tensors[i].bytes, err);
        if (rc)
            return rc;
        plan->tensors[i].producer = ASSAY_NO_LAYER;
        plan->tensors[i].last_use = ASSAY_NO_LAYER;
    }
    return 0;
}

/* Names, counts and indices of one layer. */
static int check_layer(const struct assay_op_check *c, uint32_t index)
{
    const struct assay_layer *l = c->layer;
    if (!l->name || !l->source_op)
        return assay_fail(c->err, ASSAY_EFORMAT,
                          "layer %" PRIu32 ": %s is missing", index,
                          l->name ? "source_op" : "name");
    const struct assay_op_vtable *op = assay_op_find(l->op);
    uint32_t min = op ? op->min_inputs : 0;
    uint32_t max = op ? op->max_inputs : ASSAY_MAX_LAYER_INPUTS;
    if (!op && l->op != ASSAY_OP_SKIPPED)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED, "op %d is not known",
                                  (int)l->op);
    if (l->n_inputs < min || l->n_inputs > max ||
        (l->n_inputs > 0 && !l->inputs))
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "inputs: expected %" PRIu32 " to %" PRIu32
                                  ", found %" PRIu32,
                                  min, max, l->inputs ? l->n_inputs : 0);
    if (l->n_in_programs > ASSAY_MAX_LAYER_INPUTS ||
        (l->n_in_programs > 0 && !l->in_programs))
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "in_programs: expected at most %d, found "
                                  "%" PRIu32,
                                  ASSAY_MAX_LAYER_INPUTS,
                                  l->in_programs ? l->n_in_programs : 0);
    for (uint32_t i = 0; i <= l->n_inputs; i++) {
        uint32_t t = i < l->n_inputs ? l->inputs[i] : l->output;
        if (t >= c->slice->n_tensors)
            return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                      "%s: tensor index: expected 0 to "
                                      "%" PRIu32 ", found %" PRIu32,
                                      i < l->n_inputs ? "inputs" : "output",
                                      c->slice->n_tensors - 1, t);
    }
    return 0;
}

/* Inputs exist by now; the output is made here and nowhere else. */
static int check_order(struct assay_plan *plan, const struct assay_op_check *c,
                       uint32_t index)
{
    const struct assay_layer *l = c->layer;
    for (uint32_t i = 0; i < l->n_inputs; i++) {
        struct assay_plan_tensor *t = &plan->tensors[l->inputs[i]];
        const struct assay_tensor *x = &c->slice->tensors[l->inputs[i]];
        if (x->role == ASSAY_ROLE_ACTIVATION && t->producer == ASSAY_NO_LAYER)
            return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                      "input '%.200s': expected a tensor that "
                                      "an earlier layer produces",
                                      x->name);
        t->last_use = index;
    }
    struct assay_plan_tensor *out = &plan->tensors[l->output];
    const struct assay_tensor *y = &c->slice->tensors[l->output];
    if (y->role != ASSAY_ROLE_ACTIVATION)
        return ASSAY_REFUSE_LAYER(
            c, ASSAY_EFORMAT,
            "output '%.200s': expected an activation, "
            "found %s",
            y->name, y->role == ASSAY_ROLE_INPUT ? "an input" : "a constant");
    if (out->producer != ASSAY_NO_LAYER)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "output '%.200s': layer '%.100s' produces "
                                  "it already",
                                  y->name,
                                  c->slice->layers[out->producer].name);
    out->producer = out->last_use = index;
    return 0;
}

static int check_outputs(const struct assay_plan *plan, struct assay_err *err)
{
    for (uint32_t i = 0; i < plan->slice->n_tensors; i++) {
        const struct assay_tensor *t = &plan->slice->tensors[i];
        if (t->is_output && t->role == ASSAY_ROLE_ACTIVATION &&
            plan->tensors[i].producer == ASSAY_NO_LAYER)
            return assay_fail(err, ASSAY_EFORMAT,
                              "tensor '%.200s': no layer produces this output",
                              t->name);
    }
    return 0;
}

/* ---- operators ---------------------------------------------------------------- */

static int check_op(struct assay_plan *plan, const struct assay_op_check *c,
                    uint32_t index)
{
    struct assay_plan_layer *l = &plan->layers[index];
    l->op.kernel = "";
    l->op.op = assay_op_find(c->layer->op);
    if (!l->op.op)
        return 0; /* SKIPPED */
    l->op.params = assay_arena_alloc(plan->memory, l->op.op->params_bytes);
    if (!l->op.params)
        return no_memory(c->err);
    l->op.kernel = NULL;
    l->out_bytes = plan->tensors[c->layer->output].bytes;
    return l->op.op->check(c, &l->op);
}

static int check_layers(struct assay_plan *plan,
                        const struct assay_kernel_table *table,
                        struct assay_err *err)
{
    const struct assay_slice *s = plan->slice;
    for (uint32_t i = 0; i < s->n_layers; i++) {
        struct assay_op_check c = {.slice = s,
                                   .layer = &s->layers[i],
                                   .table = table,
                                   .memory = plan->memory,
                                   .err = err};
        int rc = check_layer(&c, i);
        if (!rc)
            rc = check_order(plan, &c, i);
        if (!rc)
            rc = check_op(plan, &c, i);
        if (rc)
            return rc;
    }
    return check_outputs(plan, err);
}

/* ---- memory ------------------------------------------------------------------- */

/* Gives back what nobody reads behind layer i. */
static int give_back(struct assay_plan *plan, struct assay_layout *layout,
                     uint32_t i)
{
    const struct assay_layer *l = &plan->slice->layers[i];
    int rc = assay_layout_give(layout, plan->layers[i].scratch_at,
                               plan->layers[i].op.scratch_bytes);
    for (uint32_t k = 0; !rc && k <= l->n_inputs; k++) {
        uint32_t index = k < l->n_inputs ? l->inputs[k] : l->output;
        struct assay_plan_tensor *t = &plan->tensors[index];
        bool seen = false; /* an input that stands twice is given once */
        for (uint32_t j = 0; j < k; j++)
            seen = seen || l->inputs[j] == index;
        if (seen || t->last_use != i || t->producer == ASSAY_NO_LAYER ||
            !plan->layers[t->producer].op.op)
            continue; /* not in the arena, or still needed */
        rc = assay_layout_give(layout, plan->layers[t->producer].out_at,
                               t->bytes);
    }
    return rc;
}

static int lay_out(struct assay_plan *plan, struct assay_err *err)
{
    const struct assay_slice *s = plan->slice;
    struct assay_layout layout;
    size_t at;
    assay_layout_init(&layout);
    int rc = assay_layout_take(&layout, s->n_tensors * sizeof(void *), &at);
    for (uint32_t i = 0; !rc && i < s->n_layers; i++) {
        struct assay_plan_layer *l = &plan->layers[i];
        if (!l->op.op)
            continue;
        rc = assay_layout_take(&layout, l->out_bytes, &l->out_at);
        if (!rc)
            rc =
                assay_layout_take(&layout, l->op.scratch_bytes, &l->scratch_at);
        if (!rc)
            rc = give_back(plan, &layout, i);
    }
    plan->arena_bytes = layout.end;
    assay_layout_close(&layout);
    if (rc == ASSAY_ERANGE)
        return assay_fail(err, rc,
                          "slice: its tensors are too large for any "
                          "memory");
    return rc ? no_memory(err) : 0;
}

static bool misaligned(const struct assay_tensor *t)
{
    return (uintptr_t)t->data % assay_dtype_bytes(t->dtype) != 0;
}

/* Packed constants, then constants whose bytes lie badly. */
static int size_packed(struct assay_plan *plan, struct assay_err *err)
{
    const struct assay_slice *s = plan->slice;
    size_t total = 0, n;
    bool fits = true;
    for (uint32_t i = 0; fits && i < s->n_layers; i++)
        fits = assay_layout_round(plan->layers[i].op.packed_bytes, &n) &&
               assay_add_size(total, n, &total);
    for (uint32_t i = 0; fits && i < s->n_tensors; i++)
        if (s->tensors[i].role == ASSAY_ROLE_CONSTANT &&
            misaligned(&s->tensors[i]))
            fits = assay_layout_round(s->tensors[i].size, &n) &&
                   assay_add_size(total, n, &total);
    if (!fits)
        return assay_fail(err, ASSAY_ERANGE,
                          "slice: its constants are too large for any memory");
    plan->packed_bytes = total;
    return 0;
}

static int check_limit(const struct assay_plan *plan,
                       const struct assay_plan_limits *limits,
                       struct assay_err *err)
{
    size_t total, limit = limits ? limits->memory_bytes : 0;
    if (!assay_add_size(plan->arena_bytes, plan->packed_bytes, &total))
        total = SIZE_MAX;
    if (limit == 0 || total <= limit)
        return 0;
    return assay_fail(err, ASSAY_EMEMORY,
                      "slice: memory: expected at most %zu bytes, found %zu "
                      "(arena %zu, constants %zu)",
                      limit, total, plan->arena_bytes, plan->packed_bytes);
}

static int pack(struct assay_plan *plan, struct assay_err *err)
{
    const struct assay_slice *s = plan->slice;
    size_t bytes;
    if (!assay_add_size(plan->packed_bytes, ASSAY_ALIGNMENT, &bytes))
        return no_memory(err);
    plan->packed_block = assay_alloc(bytes);
    if (!plan->packed_block)
        return no_memory(err);
    char *at = (char *)(((uintptr_t)plan->packed_block + ASSAY_ALIGNMENT - 1) &
                        ~(uintptr_t)(ASSAY_ALIGNMENT - 1));
    size_t n = 0;
    for (uint32_t i = 0; i < s->n_layers; i++) {
        struct assay_op_plan *op = &plan->layers[i].op;
        if (!op->op || !op->op->prepare)
            continue;
        op->packed = at;
        op->op->prepare(op, at);
        if (assay_layout_round(op->packed_bytes, &n))
            at += n;
    }
    for (uint32_t i = 0; i < s->n_tensors; i++) {
        const struct assay_tensor *t = &s->tensors[i];
        if (t->role != ASSAY_ROLE_CONSTANT)
            continue;
        plan->tensors[i].constant = t->data;
        if (!misaligned(t))
            continue;
        memcpy(at, t->data, t->size);
        plan->tensors[i].constant = at;
        if (assay_layout_round(t->size, &n))
            at += n;
    }
    return 0;
}

/* ---- the door ------------------------------------------------------------------ */

int assay_plan_new(struct assay_plan **out, const struct assay_slice *slice,
                   const struct assay_kernel_table *table,
                   const struct assay_plan_limits *limits,
                   struct assay_err *err)
{
    struct assay_plan *plan = NULL;
    int rc = check_counts(slice, err);
    if (rc)
        return rc;
    plan = assay_calloc(1, sizeof(*plan));
    if (!plan)
        return no_memory(err);
    plan->slice = slice;
    plan->memory = assay_arena_new();
    rc = plan->memory ? 0 : no_memory(err);
    if (!rc)
        rc = check_tensors(plan, err);
    if (!rc)
        rc = check_layers(plan, table, err);
    if (!rc)
        rc = lay_out(plan, err);
    if (!rc)
        rc = size_packed(plan, err);
    if (!rc)
        rc = check_limit(plan, limits, err);
    if (!rc)
        rc = pack(plan, err);
    if (rc) {
        assay_plan_free(plan);
        return rc;
    }
    *out = plan;
    return 0;
}

void assay_plan_free(struct assay_plan *plan)
{
    if (!plan)
        return;
    assay_arena_free(plan->memory);
    assay_free(plan->packed_block);
    assay_free(plan);
}

size_t assay_plan_arena_bytes(const struct assay_plan *plan)
{
    return plan->arena_bytes;
}

size_t assay_plan_own_bytes(const struct assay_plan *plan)
{
    return assay_arena_bytes(plan->memory);
}

size_t assay_plan_packed_bytes(const struct assay_plan *plan)
{
    return plan->packed_bytes;
}

const char *assay_plan_kernel(const struct assay_plan *plan, uint32_t layer)
{
    return layer < plan->slice->n_layers ? plan->layers[layer].op.kernel : "";
}

uint64_t assay_plan_macs(const struct assay_plan *plan, uint32_t layer)
{
    return layer < plan->slice->n_layers ? plan->layers[layer].op.macs : 0;
}
