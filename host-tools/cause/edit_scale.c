/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Q, S, F: scales and precisions. A layer that is made of scales is made of
 * other ones; one that carries its multipliers has them changed.
 */
#include <math.h>
#include <string.h>

#include "host-tools/cause/edit_program.h"
#include "kernels/requant.h"

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for edited scales");
}

/* The layer as if all scales of a tensor were scale[i] (of quant.n). */
static int with_scales(struct assay_slice *s, uint32_t layer, uint32_t tensor,
                       const float *scale, struct assay_err *err)
{
    const struct assay_quant *q = &s->tensors[tensor].quant;
    bool same = true;

    for (uint32_t i = 0; i < q->n; i++)
        same = same && scale[i] == q->scale[i];
    if (same)
        return q->n > 0 ? ASSAY_EDIT_SAME : ASSAY_EDIT_NOT_HERE;
    return assay_edit_requantize(s, layer, tensor, scale, NULL, err);
}

/* ---- Q1, Q2: one scale for all channels ------------------------------------ */

/* Steps whose operand is a multiplier, or a part of one. */
static bool is_scale(const struct assay_step *s)
{
    return s->kind == ASSAY_STEP_MUL || s->kind == ASSAY_STEP_SHR ||
           s->kind == ASSAY_STEP_SHL || s->kind == ASSAY_STEP_FMUL;
}

/* log2 of what a channel is scaled by. */
static double log_scale(const struct assay_program *p, uint32_t c)
{
    double v = 0;

    for (uint32_t i = 0; i < p->n_steps; i++) {
        const struct assay_step *s = &p->steps[i];

        if (!is_scale(s))
            continue;
        if (s->kind == ASSAY_STEP_SHR)
            v -= (double)assay_edit_at(s, c);
        else if (s->kind == ASSAY_STEP_SHL)
            v += (double)assay_edit_at(s, c);
        else if (s->kind == ASSAY_STEP_FMUL)
            v +=
                log2(assay_edit_float(assay_edit_at(s, c), assay_edit_wide(p)));
        else
            v += log2((double)assay_edit_at(s, c));
    }
    return v;
}

static bool per_channel(const struct assay_program *p)
{
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (is_scale(&p->steps[i]) && p->steps[i].n > 1)
            return true;
    return false;
}

/* Every channel scales as channel `of` does. */
static int like_channel(struct assay_slice *s, struct assay_program *p,
                        uint32_t of, struct assay_err *err)
{
    bool any = false;

    for (uint32_t i = 0; i < p->n_steps; i++) {
        struct assay_step *k = &p->steps[i];
        int64_t v;
        int rc;

        if (!is_scale(k) || k->n < 2)
            continue;
        v = k->a[of];
        for (uint32_t c = 0; c < k->n; c++)
            any = any || k->a[c] != v;
        rc = assay_edit_operand(s, k, 1, &v, err);
        if (rc)
            return rc;
    }
    return any ? 0 : ASSAY_EDIT_SAME;
}

/* Variants of Q2: max mean. The mean is of scales, not of steps. */
static int one_scale(struct assay_slice *s, uint32_t layer,
                     const struct assay_edit *e, struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    const struct assay_quant *w = &s->tensors[l->inputs[1]].quant;
    double sum = 0, most = 0;
    float *v;

    if (w->n < 2)
        return ASSAY_EDIT_NOT_HERE;
    v = assay_arena_array(s->arena, w->n, sizeof(*v));
    if (!v)
        return no_memory(err);
    for (uint32_t c = 0; c < w->n; c++) {
        sum += (double)w->scale[c];
        most = (double)w->scale[c] > most ? (double)w->scale[c] : most;
    }
    for (uint32_t c = 0; c < w->n; c++)
        v[c] = e->id == ASSAY_CAUSE_Q1 ? w->scale[0]
               : e->variant == 0       ? (float)most
                                       : (float)(sum / w->n);
    return with_scales(s, layer, l->inputs[1], v, err);
}

static int channels_alike(struct assay_slice *s, uint32_t layer,
                          const struct assay_edit *e, struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    struct assay_program *p = &l->out_program;
    uint32_t best = 0, n = assay_edit_channels(s, layer);

    if (!assay_edit_is_sum(s, layer))
        return ASSAY_EDIT_NOT_HERE;
    if (l->real_op != ASSAY_REAL_NONE)
        return one_scale(s, layer, e, err);
    if (!per_channel(p) || (e->id == ASSAY_CAUSE_Q2 && e->variant == 1))
        return ASSAY_EDIT_NOT_HERE;
    for (uint32_t c = 1; e->id == ASSAY_CAUSE_Q2 && c < n; c++)
        if (log_scale(p, c) > log_scale(p, best))
            best = c;
    return like_channel(s, p, best, err);
}

/* ---- Q3, Q4, Q6: another scale of a tensor --------------------------------- */

/* Tensor `tensor` with its only scale taken as `scale`. */
static int uniform(struct assay_slice *s, uint32_t layer, uint32_t tensor,
                   float scale, struct assay_err *err)
{
    float *v;

    if (s->tensors[tensor].quant.n != 1 ||
        s->layers[layer].real_op == ASSAY_REAL_NONE || !isfinite(scale) ||
        scale <= 0)
        return ASSAY_EDIT_NOT_HERE;
    v = assay_arena_copy(s->arena, &scale, sizeof(scale));
    return v ? with_scales(s, layer, tensor, v, err) : no_memory(err);
}

/* Variants missing twice other: of the first input, or of the output where
 * floats are quantized. */
static int input_scale(struct assay_slice *s, uint32_t layer, uint32_t variant,
                       struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    uint32_t x = l->inputs[0];
    const struct assay_quant *q, *other;

    if (variant == 2) {
        if (l->n_inputs < 2 || s->tensors[l->inputs[1]].quant.n != 1 ||
            assay_edit_is_sum(s, layer))
            return ASSAY_EDIT_NOT_HERE;
        other = &s->tensors[l->inputs[1]].quant;
        return uniform(s, layer, x, other->scale[0], err);
    }
    if (s->tensors[x].dtype == ASSAY_F32)
        x = l->output;
    q = &s->tensors[x].quant;
    if (q->n != 1)
        return ASSAY_EDIT_NOT_HERE;
    return uniform(s, layer, x, variant == 0 ? 1 : q->scale[0] * q->scale[0],
                   err);
}

static int move_exponent(struct assay_slice *s, uint32_t layer,
                         struct assay_program *p, const struct assay_edit *e,
                         struct assay_err *err)
{
    struct assay_step *k = &p->steps[assay_edit_last(p, ASSAY_STEP_SHR)];
    int64_t *v = assay_arena_array(s->arena, k->n, sizeof(*v));

    (void)layer;
    if (!v)
        return no_memory(err);
    for (uint32_t c = 0; c < k->n; c++) {
        v[c] = k->a[c] + (e->variant == 0 ? -1 : 1);
        if (v[c] < -62 || v[c] > 62)
            return ASSAY_EDIT_NOT_HERE;
    }
    k->a = v;
    return 0;
}

/* Variants up down: twice or half of the real value. */
static int exponent(struct assay_slice *s, uint32_t layer,
                    const struct assay_edit *e, struct assay_err *err)
{
    const struct assay_layer *l = &s->layers[layer];
    const struct assay_quant *y = &s->tensors[l->output].quant;

    if (l->real_op == ASSAY_REAL_NONE)
        return assay_edit_each(s, layer, 1u << ASSAY_STEP_SHR, e, move_exponent,
                               err);
    if (y->n != 1)
        return ASSAY_EDIT_NOT_HERE;
    return uniform(s, layer, l->output, y->scale[0] * (e->variant ? 2 : 0.5f),
                   err);
}

/* The output's scale is that of an input (first second). */
static int neighbour(struct assay_slice *s, uint32_t layer, uint32_t variant,
                     struct assay_err *err)
{
    const struct assay_layer *l = &s->layers[layer];
    const struct assay_quant *q;

    if (variant >= l->n_inputs || (variant > 0 && assay_edit_is_sum(s, layer)))
        return ASSAY_EDIT_NOT_HERE;
    q = &s->tensors[l->inputs[variant]].quant;
    return q->n == 1 ? uniform(s, layer, l->output, q->scale[0], err)
                     : ASSAY_EDIT_NOT_HERE;
}

/* ---- Q5: multipliers of few bits ------------------------------------------- */

/* v * round(scale * 2^bits) * 2^-bits, half up. */
static int few_bits(struct assay_slice *s, uint32_t layer, int bits,
                    struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    const struct assay_tensor *y = &s->tensors[l->output];
    struct assay_program *p = &l->out_program;
    const struct assay_quant *x = &s->tensors[l->inputs[0]].quant, *w;
    int64_t *m;
    int rc;

    if (l->real_op != ASSAY_REAL_CONV || x->n != 1 || y->quant.n != 1)
        return ASSAY_EDIT_NOT_HERE;
    w = &s->tensors[l->inputs[1]].quant;
    m = assay_arena_array(s->arena, w->n, sizeof(*m));
    if (!m)
        return no_memory(err);
    for (uint32_t c = 0; c < w->n; c++) {
        double real = (double)x->scale[0] * (double)w->scale[c] /
                      (double)y->quant.scale[0];

        if (!(real < 65536))
            return ASSAY_EDIT_NOT_HERE;
        m[c] = (int64_t)rint(ldexp(real, bits));
    }
    p->n_steps = 0;
    rc = assay_edit_insert_n(s, p, 0, ASSAY_STEP_MUL, w->n, m, err);
    if (!rc)
        rc = assay_edit_insert(s, p, 1, ASSAY_STEP_SHR, bits, 0, err);
    if (rc)
        return rc;
    p->steps[1].round = ASSAY_ROUND_HALF_UP;
    rc = assay_edit_insert(s, p, 2, ASSAY_STEP_ADD_ZP, y->quant.zero_point[0],
                           0, err);
    return rc ? rc : assay_edit_clamp_out(s, layer, err);
}

/* ---- Q7, S1, F3 ------------------------------------------------------------ */

/* Variants raw centred: with the zero point still in, or without it. */
static int no_dequantize(struct assay_slice *s, uint32_t layer,
                         uint32_t variant, struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    struct assay_program *p = &l->out_program;
    int at = assay_edit_last(p, ASSAY_STEP_FMUL);
    int add = assay_edit_first(p, ASSAY_STEP_ADD);
    const struct assay_step *k;
    bool one = true, moved = false;

    (void)err;
    if (s->tensors[l->output].dtype != ASSAY_F32 ||
        !assay_dtype_is_int(s->tensors[l->inputs[0]].dtype) || at < 1 ||
        (uint32_t)at + 1 != p->n_steps ||
        p->steps[at - 1].kind != ASSAY_STEP_TO_F32)
        return ASSAY_EDIT_NOT_HERE;
    k = &p->steps[at];
    for (uint32_t c = 0; c < k->n; c++)
        one = one && assay_edit_float(k->a[c], false) == 1;
    if (variant == 0 && (add < 0 || assay_edit_is_sum(s, layer)))
        return ASSAY_EDIT_NOT_HERE; /* nothing to be left in */
    for (uint32_t c = 0; variant == 0 && c < p->steps[add].n; c++)
        moved = moved || p->steps[add].a[c] != 0;
    if (one && !moved)
        return ASSAY_EDIT_SAME;
    assay_edit_remove(p, (uint32_t)at);
    if (variant == 0)
        assay_edit_remove(p, (uint32_t)add);
    return 0;
}

/* The upper byte alone is kept; variants half_even half_up floor. */
static int in_int8(struct assay_slice *s, uint32_t layer, uint32_t variant,
                   struct assay_err *err)
{
    static const enum assay_round rounds[] = {
        ASSAY_ROUND_HALF_EVEN, ASSAY_ROUND_HALF_UP, ASSAY_ROUND_FLOOR};
    struct assay_layer *l = &s->layers[layer];
    struct assay_program *p = &l->out_program;
    int rc;

    if (s->tensors[l->output].dtype != ASSAY_S16 || p->n_steps == 0)
        return ASSAY_EDIT_NOT_HERE;
    rc = assay_edit_insert(s, p, p->n_steps, ASSAY_STEP_SHR, 8, 0, err);
    if (rc)
        return rc;
    p->steps[p->n_steps - 1].round = (uint8_t)rounds[variant];
    rc = assay_edit_insert(s, p, p->n_steps, ASSAY_STEP_SAT, 8, 0, err);
    if (!rc)
        rc = assay_edit_insert(s, p, p->n_steps, ASSAY_STEP_SHL, 8, 0, err);
    return rc;
}

/* What stands in the way of the conversion can be no float out of int32. */
static bool fits_int32(const struct assay_slice *s, uint32_t layer, uint32_t at)
{
    uint32_t n = assay_edit_channels(s, layer);

    for (uint32_t c = 0; c < n; c++) {
        struct assay_interval v;

        if (!assay_edit_range_at(s, layer, at, c, &v) || v.nan ||
            v.f_lo < (double)INT32_MIN || v.f_hi > (double)INT32_MAX)
            return false;
    }
    return true;
}

/*
 * Converted first and clamped then. Variants: saturated (out of range: the
 * nearest int32, and the zero point wraps) and lowest (INT32_MIN, whatever the
 * sign). INT32_MAX is no binary32, so that it marks what was out of range.
 */
static int clamp_late(struct assay_slice *s, uint32_t layer, bool lowest,
                      struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    struct assay_program *p = &l->out_program;
    int clamp = assay_edit_last(p, ASSAY_STEP_FCLAMP);
    int at = assay_edit_last(p, ASSAY_STEP_FROUND);
    uint32_t k = (uint32_t)at;
    int rc = 0;

    if (l->op != ASSAY_OP_UNARY || clamp < 0 || clamp + 1 != at ||
        assay_edit_wide(p))
        return ASSAY_EDIT_NOT_HERE;
    if (fits_int32(s, layer, (uint32_t)clamp))
        return ASSAY_EDIT_SAME;
    assay_edit_remove(p, (uint32_t)clamp);
    if (lowest) {
        rc = assay_edit_insert(s, p, k, ASSAY_STEP_ADD, 1, 0, err);
        if (!rc)
            rc = assay_edit_insert(s, p, k + 1, ASSAY_STEP_WRAP, 32, 0, err);
        if (!rc)
            rc = assay_edit_insert(s, p, k + 2, ASSAY_STEP_ADD, -1, 0, err);
        if (!rc)
            rc = assay_edit_insert(s, p, k + 3, ASSAY_STEP_SAT, 32, 0, err);
    }
    at = assay_edit_last(p, ASSAY_STEP_ADD_ZP);
    if (at >= 0) {
        p->steps[at].kind = ASSAY_STEP_ADD;
        p->steps[at].add_mode = ASSAY_ADD_WRAP32;
    }
    return rc ? rc : assay_edit_clamp_out(s, layer, err);
}

/* ---- the family ------------------------------------------------------------ */

static int edit(struct assay_slice *s, uint32_t layer,
                const struct assay_edit *e, struct assay_err *err)
{
    switch (e->id) {
    case ASSAY_CAUSE_Q1:
    case ASSAY_CAUSE_Q2: return channels_alike(s, layer, e, err);
    case ASSAY_CAUSE_Q3: return input_scale(s, layer, e->variant, err);
    case ASSAY_CAUSE_Q4: return exponent(s, layer, e, err);
    case ASSAY_CAUSE_Q5:
        return few_bits(s, layer, e->variant == 0 ? 16 : 24, err);
    case ASSAY_CAUSE_Q6: return neighbour(s, layer, e->variant, err);
    case ASSAY_CAUSE_Q7: return no_dequantize(s, layer, e->variant, err);
    case ASSAY_CAUSE_S1: return in_int8(s, layer, e->variant, err);
    case ASSAY_CAUSE_F3: return clamp_late(s, layer, e->variant == 1, err);
    default: return ASSAY_EDIT_NOT_HERE;
    }
}

int assay_edit_scale(struct assay_slice *s, uint32_t *layer,
                     const struct assay_edit *e, struct assay_err *err)
{
    struct assay_layer saved;
    int rc = assay_edit_save(s, *layer, &saved, err);

    if (rc)
        return rc;
    rc = edit(s, *layer, e, err);
    if (rc != 0)
        assay_edit_restore(s, *layer, &saved);
    return rc;
}
