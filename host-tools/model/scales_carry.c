/* SPDX-License-Identifier: Apache-2.0 */
/* Scales through layers: those that keep them, and those that imply them. */
#include <math.h>
#include <string.h>

#include "host-tools/model/scales.h"
#include "lib/core/form.h"

int assay_scales_set(struct assay_scales *sc, uint32_t tensor, uint32_t n,
                     int32_t axis, const float *v,
                     enum assay_scale_origin origin, struct assay_err *err)
{
    struct assay_arena *a = sc->slice->arena;
    struct assay_quant q = {.n = n, .axis = n > 1 ? axis : -1};

    q.scale = assay_arena_copy(a, v, n * sizeof(*v));
    q.zero_point = assay_arena_array(a, n, sizeof(*q.zero_point));
    if (!q.scale || !q.zero_point)
        return assay_fail(err, ASSAY_EMEMORY, "scales: out of memory");
    sc->slice->tensors[tensor].quant = q;
    sc->origin[tensor] = (uint8_t)origin;
    return 0;
}

/* ---- layers that keep scales -------------------------------------------- */

static bool is(const struct assay_layer *l, const char *form)
{
    return l->form && !strcmp(l->form, form);
}

static bool keeps(const struct assay_layer *l)
{
    switch (l->op) {
    case ASSAY_OP_VIEW:
    case ASSAY_OP_RESHAPE:
    case ASSAY_OP_GATHER:
    case ASSAY_OP_CONCAT:
    case ASSAY_OP_RESIZE:
    case ASSAY_OP_GRID_SAMPLE: return true;
    case ASSAY_OP_POOL:
        return l->p.pool.kind == ASSAY_POOL_MAX ||
               (is(l, "avg_pool") &&
                strstr(l->source_op, "Hz") == l->source_op);
    case ASSAY_OP_REDUCE:
        return l->p.reduce.kind == ASSAY_REDUCE_MAX ||
               l->p.reduce.kind == ASSAY_REDUCE_MIN;
    case ASSAY_OP_BINARY:
        return l->p.binary.combine == ASSAY_COMBINE_MAX ||
               l->p.binary.combine == ASSAY_COMBINE_MIN;
    default: return false;
    }
}

static uint32_t kept_inputs(const struct assay_layer *l)
{
    return l->op == ASSAY_OP_CONCAT || l->op == ASSAY_OP_BINARY ? l->n_inputs
                                                                : 1;
}

static int64_t inner(const struct assay_tensor *t, int32_t axis)
{
    int64_t n = 1;

    for (uint32_t i = (uint32_t)axis + 1; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

/* Where an axis of one side of a layer lies on the other side, or -1. */
static int32_t moved_axis(const struct assay_layer *l,
                          const struct assay_tensor *from,
                          const struct assay_tensor *to, bool forward)
{
    const struct assay_tensor *x = forward ? from : to;
    const struct assay_tensor *y = forward ? to : from;
    const struct assay_view_params *v = &l->p.view;
    int32_t axis = from->quant.axis;
    int64_t n = from->dims[axis];

    for (uint32_t i = 0; i < to->rank; i++) {
        int32_t ax = forward ? axis : (int32_t)i;
        int32_t ay = forward ? (int32_t)i : axis;

        if (to->dims[i] != n)
            continue;
        if (l->op == ASSAY_OP_VIEW && v->rank == y->rank && !v->offset &&
            v->dims[ay] == n && v->strides[ay] == inner(x, ax))
            return (int32_t)i;
        if (l->op == ASSAY_OP_RESHAPE && inner(x, ax) == inner(y, ay))
            return (int32_t)i;
        if (l->op == ASSAY_OP_POOL && ax == ay)
            return (int32_t)i;
    }
    return -1;
}

static int carry(struct assay_scales *sc, const struct assay_layer *l,
                 uint32_t from, uint32_t to, bool forward, bool *news,
                 struct assay_err *err)
{
    const struct assay_tensor *a = &sc->slice->tensors[from];
    const struct assay_tensor *b = &sc->slice->tensors[to];
    int32_t axis = -1;

    if (!sc->origin[from] || sc->origin[to] || a->dtype != b->dtype ||
        b->role == ASSAY_ROLE_CONSTANT || !assay_dtype_is_int(b->dtype))
        return 0;
    if (a->quant.n > 1) {
        axis = moved_axis(l, a, b, forward);
        if (axis < 0)
            return 0;
    }
    *news = true;
    return assay_scales_set(sc, to, a->quant.n, axis, a->quant.scale,
                            sc->origin[from], err);
}

int assay_scales_carry(struct assay_scales *sc, struct assay_err *err)
{
    const struct assay_slice *s = sc->slice;
    bool news = true;
    int rc = 0;

    /* Each turn goes down and up; real models are done after two. */
    for (int turn = 0; !rc && news && turn < 64; turn++) {
        news = false;
        for (uint32_t k = 0; !rc && k < 2 * s->n_layers; k++) {
            bool back = k >= s->n_layers;
            const struct assay_layer *l =
                &s->layers[back ? 2 * s->n_layers - 1 - k : k];

            for (uint32_t i = 0; !rc && keeps(l) && i < kept_inputs(l); i++)
                rc = back ? carry(sc, l, l->output, l->inputs[i], false, &news,
                                  err)
                          : carry(sc, l, l->inputs[i], l->output, true, &news,
                                  err);
        }
    }
    return rc;
}

/* ---- layers that imply scales ------------------------------------------- */

/* By what a program multiplies a value of channel c, signs aside. */
static double gain(const struct assay_program *p, uint32_t c)
{
    double g = 1;

    for (uint32_t i = 0; i < p->n_steps; i++) {
        const struct assay_step *s = &p->steps[i];
        double a = s->a ? (double)s->a[s->n > 1 ? c % s->n : 0] : 0;

        if (s->kind == ASSAY_STEP_MUL)
            g *= fabs(a);
        else if (s->kind == ASSAY_STEP_SHR)
            g /= exp2(a);
        else if (s->kind == ASSAY_STEP_SHL)
            g *= exp2(a);
    }
    return g;
}

/* Scale of channel c of an input; 0: not known. */
static double scale(const struct assay_scales *sc, const struct assay_layer *l,
                    uint32_t i, uint32_t c)
{
    const struct assay_quant *q = &sc->slice->tensors[l->inputs[i]].quant;

    return q->n ? (double)q->scale[q->n > 1 ? c % q->n : 0] : 0;
}

static int64_t reduced(const struct assay_scales *sc,
                       const struct assay_layer *l)
{
    const struct assay_tensor *x = &sc->slice->tensors[l->inputs[0]];
    int64_t n = 1;

    for (uint32_t i = 0; i < x->rank; i++)
        n *= l->p.reduce.axes >> i & 1 ? x->dims[i] : 1;
    return n;
}

/* A global average's sum that is stored as it is. */
static bool is_sum(const struct assay_layer *l)
{
    return l->arith && !strcmp(l->arith, "hz_gap");
}

/* The output's scale as the layer's arithmetic has it; 0: not known. */
static double implied(const struct assay_scales *sc,
                      const struct assay_layer *l, uint32_t c)
{
    double x = l->n_inputs ? scale(sc, l, 0, c) : 0;
    double g = gain(&l->out_program, c);

    if (is(l, "conv") || is(l, "conv_tail") || is(l, "conv_transpose") ||
        l->op == ASSAY_OP_MATMUL)
        return x * scale(sc, l, 1, c) / g;
    if (is(l, "mul"))
        return x * scale(sc, l, 1, c) / g;
    if (is(l, "rescale") && assay_field_find(l, "scale"))
        return x / g;
    if (is(l, "prelu"))
        return x / gain(&l->in_programs[0], c);
    if (is(l, "global_avg_pool") || is_sum(l))
        return x / g / l->p.pool.kh / l->p.pool.kw;
    if (is(l, "reduce") && strstr(l->source_op, "Hz") == l->source_op)
        return x / g /
               (strstr(l->source_op, "Mean") ? (double)reduced(sc, l) : 1);
    if ((is(l, "add") || is(l, "sub")) && x > 0)
        return x / gain(&l->in_programs[0], c) / g;
    if (is(l, "add") || is(l, "sub"))
        return scale(sc, l, 1, c) / gain(&l->in_programs[1], c) / g;
    return 0;
}

static bool usable(double v)
{
    return isfinite((float)v) && (float)v > 0;
}

/* One scale for all channels, where they agree; one each of an accumulator
 * that is stored as it is. */
static int derive_layer(struct assay_scales *sc, const struct assay_layer *l,
                        struct assay_err *err)
{
    const struct assay_tensor *y = &sc->slice->tensors[l->output];
    bool each = is(l, "conv_tail");
    uint32_t n = 1;
    float *v;
    int rc = 0;

    if (sc->origin[l->output] || !assay_dtype_is_int(y->dtype) || !y->rank)
        return 0;
    if (is(l, "conv") || is(l, "conv_tail") || is(l, "conv_transpose"))
        n = (uint32_t)y->dims[y->rank - 1];
    v = assay_calloc(n, sizeof(*v));
    if (!v)
        return assay_fail(err, ASSAY_EMEMORY, "scales: out of memory");
    for (uint32_t c = 0; c < n; c++) {
        double s = implied(sc, l, c);

        v[c] = usable(s) ? (float)s : 0;
        if (!usable(s) || (!each && fabs(s - (double)v[0]) > s / 100))
            n = 0;
    }
    if (n)
        rc = assay_scales_set(sc, l->output, each ? n : 1, (int32_t)y->rank - 1,
                              v, ASSAY_SCALE_DERIVED, err);
    assay_free(v);
    return rc;
}

int assay_scales_derive(struct assay_scales *sc, struct assay_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; !rc && i < sc->slice->n_layers; i++) {
        const struct assay_layer *l = &sc->slice->layers[i];
        bool news = false;

        rc = derive_layer(sc, l, err);
        for (uint32_t k = 0; !rc && keeps(l) && k < kept_inputs(l); k++)
            rc = carry(sc, l, l->inputs[k], l->output, true, &news, err);
    }
    return rc ? rc : assay_scales_carry(sc, err);
}
