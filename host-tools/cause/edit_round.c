/* SPDX-License-Identifier: Apache-2.0 */
/*
 * R: rounding and scaling. Where a layer's programs are made of scales, an
 * entry is another named arithmetic; what has no name, and layers that carry
 * their multipliers and shifts, are changed step by step (edit_steps.c).
 */
#include <math.h>
#include <string.h>

#include "host-tools/cause/edit_graph.h"
#include "host-tools/cause/edit_steps.h"
#include "lib/core/arith.h"
#include "lib/core/slice_part.h"

/* By entry and variant: names, the first of which that the layer knows. */
static const struct {
    enum assay_cause_id id;
    uint32_t variant;
    const char *names[3];
} named[] = {
    {ASSAY_CAUSE_R1, 0, {"q31_double", "tflite_q31_double", "tflite_l20"}},
    {ASSAY_CAUSE_R2, 0, {"q31_double_nofix"}},
    {ASSAY_CAUSE_R3, 0, {"q31_single", "q31_single_m24", "tflite_l20_single"}},
    {ASSAY_CAUSE_R5, 0, {"fp32_rne"}},
    {ASSAY_CAUSE_R5, 1, {"fp32_half_away", "half_away"}},
    {ASSAY_CAUSE_R5, 2, {"fp32_trunc", "trunc"}},
    {ASSAY_CAUSE_R5, 3, {"fp32_floor05"}},
    {ASSAY_CAUSE_R5, 4, {"fp32_trunc05"}},
    {ASSAY_CAUSE_R6, 0, {"fp32_rne_zpin_fma", "ort_fma"}},
    {ASSAY_CAUSE_R6, 1, {"fp32_rne_zpin", "ort_sse"}},
    {ASSAY_CAUSE_R8, 0, {"q16_i64"}},
    {ASSAY_CAUSE_R10, 0, {"q31_double_lsat"}},
    {ASSAY_CAUSE_R12, 0, {"q31_trunc_rshl"}},
    {ASSAY_CAUSE_R12, 1, {"q31_trunc_rshl_f1"}},
    {ASSAY_CAUSE_R13, 0, {"q31_floor", "div_floor"}},
    {ASSAY_CAUSE_R13, 1, {"q31_trunc0", "div_trunc", "trunc"}},
    {ASSAY_CAUSE_R19, 0, {"q8_half_up"}},
    {ASSAY_CAUSE_R20, 0, {"fp32_rne_zpin", "zpin_half_even", "f32_seq_zpin"}},
    {ASSAY_CAUSE_R22, 0, {"legacy_floor05"}},
    {ASSAY_CAUSE_R23, 0, {"fp64_half_away"}},
};

static int apply(struct assay_slice *s, uint32_t layer, const char *name)
{
    const struct assay_layer *l = &s->layers[layer];
    struct assay_err ignored = {0};

    if (l->real_op == ASSAY_REAL_NONE)
        return ASSAY_EDIT_NOT_HERE;
    /* Additions of 16 bits have no such forms: their sums would leave 32. */
    if (l->real_op == ASSAY_REAL_ADD &&
        assay_dtype_bytes(s->tensors[l->inputs[0]].dtype) != 1)
        return ASSAY_EDIT_NOT_HERE;
    if (l->arith && strcmp(l->arith, name) == 0)
        return ASSAY_EDIT_SAME;
    /* What it refuses here (another operator, a scale outside of its domain)
     * is no fault that this layer could have. */
    if (assay_arith_apply(s, layer, name, &ignored) == 0)
        return 0;
    return ignored.code == ASSAY_EMEMORY ? ASSAY_EMEMORY : ASSAY_EDIT_NOT_HERE;
}

static int apply_named(struct assay_slice *s, uint32_t layer,
                       const struct assay_edit *e)
{
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        if (named[i].id != e->id || named[i].variant != e->variant)
            continue;
        for (size_t k = 0; k < 3 && named[i].names[k]; k++) {
            int rc = apply(s, layer, named[i].names[k]);

            if (rc != ASSAY_EDIT_NOT_HERE)
                return rc;
        }
    }
    return ASSAY_EDIT_NOT_HERE;
}

/* Does the layer shift to the left, or to the right by less than one? */
static bool shifts_left(const struct assay_program *p)
{
    return assay_edit_first(p, ASSAY_STEP_SHL) >= 0;
}

static bool shifts_right(const struct assay_program *p, bool everywhere)
{
    int at = assay_edit_last(p, ASSAY_STEP_SHR);
    bool all = at >= 0, any = false;

    for (uint32_t c = 0; at >= 0 && c < p->steps[at].n; c++) {
        all = all && p->steps[at].a[c] > 0;
        any = any || p->steps[at].a[c] > 0;
    }
    return everywhere ? all : any;
}

/* Where an arithmetic gives, for every sum, what a plainer one gives, it is
 * written as that: both are then seen to be one. */
static int plainest(struct assay_slice *s, uint32_t layer,
                    const struct assay_edit *e, const char *was)
{
    const struct assay_program *p = &s->layers[layer].out_program;
    const char *name = NULL;

    if (s->layers[layer].real_op != ASSAY_REAL_CONV)
        return 0;
    if (e->id == ASSAY_CAUSE_R2 && !shifts_right(p, false))
        name = "q31_double";
    if (e->id == ASSAY_CAUSE_R12 && !shifts_left(p) && shifts_right(p, true))
        name = "q31_single";
    if (e->id == ASSAY_CAUSE_R10 && !shifts_left(p))
        return ASSAY_EDIT_NOT_HERE;
    if (!name)
        return 0;
    if (was && strcmp(was, name) == 0)
        return ASSAY_EDIT_SAME;
    return apply(s, layer, name);
}

/* Adding a zero point of 0 changes nothing. */
static bool zero_is_0(const struct assay_slice *s, uint32_t layer)
{
    const struct assay_quant *q = &s->tensors[s->layers[layer].output].quant;

    for (uint32_t i = 0; i < q->n; i++)
        if (q->zero_point[i] != 0)
            return false;
    return true;
}

/* ---- what has a name only in part ------------------------------------------ */

/* One rounding at the end whose sum with the half is cut to 32 bits. */
static int cut_33(struct assay_slice *s, uint32_t layer, struct assay_err *err)
{
    struct assay_program *p = &s->layers[layer].out_program;
    struct assay_err ignored = {0};
    bool wraps = false;
    int64_t *less;
    uint32_t k, n = assay_edit_channels(s, layer);
    int at, rc;

    if (s->layers[layer].real_op != ASSAY_REAL_CONV ||
        !assay_edit_is_sum(s, layer) ||
        assay_arith_apply(s, layer, "q31_single", &ignored) != 0)
        return ASSAY_EDIT_NOT_HERE;
    at = assay_edit_last(p, ASSAY_STEP_SHR);
    k = (uint32_t)at;
    less = assay_arena_copy(s->arena, p->steps[k].a,
                            p->steps[k].n * sizeof(*less));
    if (!less)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for an edited shift");
    for (uint32_t c = 0; c < p->steps[k].n; c++)
        less[c]--;
    p->steps[k].a = less;
    p->steps[k].round = ASSAY_ROUND_FLOOR;
    for (uint32_t c = 0; c < n && !wraps; c++) {
        struct assay_interval v;

        wraps = !assay_edit_range_at(s, layer, k + 1, c, &v) ||
                v.lo < INT32_MIN || v.hi > INT32_MAX;
    }
    if (!wraps)
        return ASSAY_EDIT_NOT_HERE; /* there are no 33 bits */
    rc = assay_edit_insert(s, p, k + 1, ASSAY_STEP_WRAP, 32, 0, err);
    if (rc == 0)
        rc = assay_edit_insert(s, p, k + 2, ASSAY_STEP_ADD, 1, 0, err);
    if (rc == 0)
        rc = assay_edit_insert(s, p, k + 3, ASSAY_STEP_SHR, 1, 0, err);
    return rc;
}

/* fl(v * scale + zero point) in one rounding, of a convolution. */
static int fuse(struct assay_slice *s, uint32_t layer, struct assay_err *err)
{
    struct assay_program *p = &s->layers[layer].out_program;
    const char *was = s->layers[layer].arith;
    int rc = apply(s, layer, "fp32_rne_zpin"), add;
    struct assay_step *m;
    int64_t *zero;

    if (rc == 0 && was && strcmp(was, "fp32_rne") == 0 && zero_is_0(s, layer))
        return ASSAY_EDIT_SAME;
    add = assay_edit_first(p, ASSAY_STEP_FADD);
    if (rc < 0 || rc == ASSAY_EDIT_NOT_HERE || add < 1)
        return rc < 0 ? rc : ASSAY_EDIT_NOT_HERE;
    m = &p->steps[add - 1];
    zero = assay_arena_array(s->arena, m->n, sizeof(*zero));
    if (!zero)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for an edited step");
    for (uint32_t c = 0; c < m->n; c++)
        zero[c] = p->steps[add].a[0];
    m->kind = ASSAY_STEP_FFMA;
    m->b = zero;
    assay_edit_remove(p, (uint32_t)add);
    return 0;
}

/* ---- R7 -------------------------------------------------------------------- */

/* Real scales of a convolution (n of them), derived in binary32 or binary64. */
static int derive(struct assay_slice *s, uint32_t layer, bool narrow,
                  struct assay_policy_operands *o, struct assay_err *err)
{
    const struct assay_layer *l = &s->layers[layer];
    const struct assay_quant *x = &s->tensors[l->inputs[0]].quant;
    const struct assay_quant *w = &s->tensors[l->inputs[1]].quant;
    const struct assay_quant *y = &s->tensors[l->output].quant;
    int32_t *m = assay_arena_array(s->arena, w->n, sizeof(*m));
    int *shift = assay_arena_array(s->arena, w->n, sizeof(*shift));
    float *f = assay_arena_array(s->arena, w->n, sizeof(*f));
    double *d = assay_arena_array(s->arena, w->n, sizeof(*d));

    if (!m || !shift || !f || !d)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for multipliers");
    for (uint32_t c = 0; c < w->n; c++) {
        f[c] = x->scale[0] * w->scale[c] / y->scale[0];
        d[c] = (double)x->scale[0] * (double)w->scale[c] / (double)y->scale[0];
        if (narrow)
            d[c] = (double)f[c];
        else
            f[c] = (float)d[c];
        assay_derive_multiplier(d[c], &m[c], &shift[c]);
    }
    o->n = w->n;
    o->m = m;
    o->s = shift;
    o->scale32 = f;
    o->scale64 = d;
    return 0;
}

static bool same_operands(const struct assay_program *a,
                          const struct assay_program *b)
{
    for (uint32_t i = 0; i < a->n_steps; i++)
        for (uint32_t c = 0; c < a->steps[i].n; c++)
            if (a->steps[i].a && a->steps[i].a[c] != b->steps[i].a[c])
                return false;
    return a->n_steps == b->n_steps;
}

static int other_derivation(struct assay_slice *s, uint32_t layer, bool narrow,
                            struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    const struct assay_tensor *y = &s->tensors[l->output];
    struct assay_policy_operands o = {0};
    struct assay_err ignored = {0};
    struct assay_program made;
    int rc;

    if (l->real_op == ASSAY_REAL_MUL && l->arith) {
        if (strcmp(l->arith, narrow ? "q31_double_f64" : "tflite_q31_double"))
            return ASSAY_EDIT_NOT_HERE;
        return apply(s, layer, narrow ? "tflite_q31_double" : "q31_double_f64");
    }
    if (l->real_op != ASSAY_REAL_CONV || !l->arith || y->quant.n != 1 ||
        s->tensors[l->inputs[0]].quant.n != 1)
        return ASSAY_EDIT_NOT_HERE;
    rc = derive(s, layer, narrow, &o, err);
    if (rc)
        return rc;
    o.zp = y->quant.zero_point[0];
    assay_dtype_range(y->dtype, &o.qmin, &o.qmax);
    if (assay_policy_program(s->arena, l->arith, &o, &made, &ignored) != 0)
        return ASSAY_EDIT_NOT_HERE;
    if (made.n_steps == l->out_program.n_steps &&
        same_operands(&made, &l->out_program))
        return ASSAY_EDIT_SAME;
    l->out_program = made;
    return 0;
}

/* ---- R4 -------------------------------------------------------------------- */

/* A VIEW of channels from..to of the last axis; *index: what it gives. */
static int view_channels(struct assay_slice *s, uint32_t at, uint32_t of,
                         int64_t from, int64_t to, uint32_t *index,
                         struct assay_err *err)
{
    struct assay_layer *l;
    struct assay_tensor *t;
    int64_t stride = 1;
    int rc = assay_edit_tensor(s, of, "lanes", index, err);

    if (!rc)
        rc = assay_slice_insert_layer(s, at, 1, err);
    if (rc)
        return rc;
    l = &s->layers[at];
    t = &s->tensors[*index];
    l->name = t->name;
    l->source_op = "edit";
    l->source_index = s->layers[at > 0 ? at - 1 : at + 1].source_index;
    l->op = ASSAY_OP_VIEW;
    l->inputs[0] = of;
    l->output = *index;
    l->p.view.rank = t->rank;
    for (uint32_t a = t->rank; a-- > 0; stride *= t->dims[a]) {
        l->p.view.dims[a] = t->dims[a];
        l->p.view.strides[a] = stride;
    }
    l->p.view.dims[t->rank - 1] = to - from;
    l->p.view.offset = from;
    t->dims[t->rank - 1] = to - from;
    return 0;
}

/* The same layer once more behind itself, under `other`; *index: its output. */
static int once_more(struct assay_slice *s, uint32_t layer,
                     const struct assay_edit *other, uint32_t *index,
                     struct assay_err *err)
{
    uint32_t at = layer + 1;
    struct assay_layer *l;
    int rc = assay_edit_tensor(s, s->layers[layer].output, "tail", index, err);

    if (!rc)
        rc = assay_slice_insert_layer(s, at, s->layers[layer].n_inputs, err);
    if (rc)
        return rc;
    l = &s->layers[at];
    *l = s->layers[layer];
    l->inputs = assay_arena_copy(s->arena, s->layers[layer].inputs,
                                 l->n_inputs * sizeof(*l->inputs));
    l->name = s->tensors[*index].name;
    l->output = *index;
    if (!l->inputs)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a copied layer");
    return assay_edit_round(s, &at, other, err);
}

static int tail(struct assay_slice *s, uint32_t layer, uint32_t variant,
                struct assay_err *err)
{
    static const struct assay_edit others[3][2] = {
        {{ASSAY_CAUSE_R1, 0, 0}, {ASSAY_CAUSE_R14, 0, 0}},
        {{ASSAY_CAUSE_R3, 0, 0}, {ASSAY_CAUSE_R18, 1, 0}},
        {{ASSAY_CAUSE_R5, 2, 0}, {ASSAY_CAUSE_R13, 1, 0}},
    };
    int64_t c = assay_edit_channels(s, layer), lanes = 4 << variant % 3;
    int64_t body = c / lanes * lanes;
    bool scales = s->layers[layer].real_op != ASSAY_REAL_NONE;
    const struct assay_edit *other = &others[variant / 3][!scales];
    uint32_t fresh, more, parts[2];
    struct assay_layer *joined, probe;
    int rc;

    if (body == 0 || body == c)
        return ASSAY_EDIT_NOT_HERE;
    rc = assay_edit_save(s, layer, &probe, err);
    if (!rc) {
        rc = assay_edit_round(s, &layer, other, err);
        assay_edit_restore(s, layer, &probe);
    }
    if (rc)
        return rc;
    rc = assay_edit_behind_n(s, layer, 2, &fresh, &joined, err);
    if (!rc)
        rc = once_more(s, layer, other, &more, err);
    if (!rc)
        rc = view_channels(s, layer + 2, fresh, 0, body, &parts[0], err);
    if (!rc)
        rc = view_channels(s, layer + 3, more, body, c, &parts[1], err);
    if (rc)
        return rc;
    joined = &s->layers[layer + 4];
    joined->op = ASSAY_OP_CONCAT;
    joined->p.concat.axis = (int32_t)s->tensors[fresh].rank - 1;
    memcpy(joined->inputs, parts, sizeof(parts));
    return assay_edit_programs(s, joined, 2, err);
}

/* ---- the family ------------------------------------------------------------ */

/* An arithmetic that exists with and without fusing. */
static bool has_pair(const char *arith)
{
    static const char *const names[] = {"fp32_rne_zpin", "fp32_rne_zpin_fma",
                                        "ort_fma", "ort_sse"};

    for (size_t i = 0; arith && i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(arith, names[i]) == 0)
            return true;
    return false;
}

static int edit(struct assay_slice *s, uint32_t layer,
                const struct assay_edit *e, struct assay_err *err)
{
    const char *was = s->layers[layer].arith;
    int rc;

    if (e->id == ASSAY_CAUSE_R7)
        return other_derivation(s, layer, e->variant == 0, err);
    if (e->id == ASSAY_CAUSE_R9)
        return cut_33(s, layer, err);
    if (e->id == ASSAY_CAUSE_R6 && s->layers[layer].real_op == ASSAY_REAL_CONV)
        return e->variant == 0 ? fuse(s, layer, err) : ASSAY_EDIT_NOT_HERE;
    if (e->id == ASSAY_CAUSE_R6 && !has_pair(was))
        return ASSAY_EDIT_NOT_HERE;
    rc = apply_named(s, layer, e);
    if (rc == ASSAY_EMEMORY)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for an edited layer");
    if (rc == 0 && e->id == ASSAY_CAUSE_R20 && was &&
        strcmp(was, "fp32_rne") == 0 && zero_is_0(s, layer))
        return ASSAY_EDIT_SAME;
    if (rc == 0)
        return plainest(s, layer, e, was);
    return rc == ASSAY_EDIT_NOT_HERE ? assay_edit_steps(s, layer, e, err) : rc;
}

int assay_edit_round(struct assay_slice *s, uint32_t *layer,
                     const struct assay_edit *e, struct assay_err *err)
{
    struct assay_layer saved;
    int rc;

    if (e->id == ASSAY_CAUSE_R4)
        return tail(s, *layer, e->variant, err);
    rc = assay_edit_save(s, *layer, &saved, err);
    if (rc)
        return rc;
    rc = edit(s, *layer, e, err);
    if (rc != 0)
        assay_edit_restore(s, *layer, &saved);
    return rc;
}
