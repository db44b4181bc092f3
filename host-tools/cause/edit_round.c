/* SPDX-License-Identifier: Apache-2.0 */
/*
 * R: rounding and scaling. Where a layer's programs are made of scales, an
 * entry is another named arithmetic; where they are a file's multipliers and
 * shifts, it changes the steps.
 */
#include <string.h>

#include "host-tools/cause/catalogue.h"
#include "host-tools/cause/edit_program.h"
#include "lib/core/arith.h"

/* By entry and variant: names, the first of which that the layer knows. */
static const struct {
    enum assay_cause_id id;
    uint32_t variant;
    const char *names[3];
} named[] = {
    {ASSAY_CAUSE_R1, 0, {"q31_double", "tflite_q31_double"}},
    {ASSAY_CAUSE_R2, 0, {"q31_double_nofix"}},
    {ASSAY_CAUSE_R3, 0, {"q31_single", "q31_single_m24"}},
    {ASSAY_CAUSE_R4, 0, {"q31_round_rshl_f1"}},
    {ASSAY_CAUSE_R5, 0, {"fp32_rne"}},
    {ASSAY_CAUSE_R5, 1, {"fp32_half_away"}},
    {ASSAY_CAUSE_R5, 2, {"fp32_trunc"}},
    {ASSAY_CAUSE_R5, 3, {"fp32_floor05"}},
    {ASSAY_CAUSE_R5, 4, {"fp32_trunc05"}},
    {ASSAY_CAUSE_R6, 0, {"fp32_rne_zpin_fma"}},
    {ASSAY_CAUSE_R8, 0, {"q16_i64"}},
    {ASSAY_CAUSE_R10, 0, {"q31_double_lsat"}},
    {ASSAY_CAUSE_R12, 0, {"q31_trunc_rshl"}},
    {ASSAY_CAUSE_R12, 1, {"q31_trunc_rshl_f1"}},
    {ASSAY_CAUSE_R13, 0, {"q31_floor", "div_floor"}},
    {ASSAY_CAUSE_R13, 1, {"q31_trunc0", "div_trunc", "trunc"}},
    {ASSAY_CAUSE_R19, 0, {"q8_half_up"}},
    {ASSAY_CAUSE_R20, 0, {"fp32_rne_zpin", "zpin_half_even"}},
    {ASSAY_CAUSE_R21, 0, {"recip_half_even"}},
    {ASSAY_CAUSE_R22, 0, {"legacy_floor05"}},
    {ASSAY_CAUSE_R23, 0, {"fp64_half_away"}},
};

static int apply_named(struct assay_slice *s, uint32_t layer,
                       const struct assay_edit *e)
{
    struct assay_layer *l = &s->layers[layer];
    struct assay_err ignored = {0};

    if (l->real_op == ASSAY_REAL_NONE)
        return ASSAY_EDIT_NOT_HERE;
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        if (named[i].id != e->id || named[i].variant != e->variant)
            continue;
        for (size_t k = 0; k < 3 && named[i].names[k]; k++) {
            if (l->arith && strcmp(l->arith, named[i].names[k]) == 0)
                return ASSAY_EDIT_SAME;
            /* What it refuses here (another operator, a scale outside of its
             * domain) is no fault that this layer could have. */
            if (assay_arith_apply(s, layer, named[i].names[k], &ignored) == 0)
                return 0;
            if (ignored.code == ASSAY_EMEMORY)
                return ASSAY_EMEMORY;
        }
    }
    return ASSAY_EDIT_NOT_HERE;
}

/* ---- steps of multipliers and shifts --------------------------------------- */

/* Does the shift drop bits in any channel? */
static bool drops(const struct assay_step *s)
{
    for (uint32_t c = 0; c < s->n; c++)
        if (s->a[c] > 0)
            return true;
    return false;
}

static int set_round(struct assay_step *s, enum assay_round round)
{
    if (s->round == round || !drops(s))
        return ASSAY_EDIT_SAME;
    s->round = (uint8_t)round;
    return 0;
}

static int last_shift(struct assay_program *p, enum assay_round round)
{
    int at = assay_edit_last(p, ASSAY_STEP_SHR);

    return at < 0 ? ASSAY_EDIT_NOT_HERE : set_round(&p->steps[at], round);
}

/* The shift in front of the multiplication. */
static int pre_shift(struct assay_program *p, enum assay_round round)
{
    int at = assay_edit_first(p, ASSAY_STEP_SHR);
    int mul = assay_edit_first(p, ASSAY_STEP_MUL);

    return at < 0 || at > mul ? ASSAY_EDIT_NOT_HERE
                              : set_round(&p->steps[at], round);
}

/* Both shifts at the end, nothing between multiplication and them. */
static int merge_shifts(struct assay_slice *s, struct assay_program *p,
                        uint32_t channels, struct assay_err *err)
{
    int pre = assay_edit_first(p, ASSAY_STEP_SHR);
    int mul = assay_edit_first(p, ASSAY_STEP_MUL);
    int post = assay_edit_last(p, ASSAY_STEP_SHR);
    int64_t *sum;

    if (pre < 0 || pre > mul || post < mul)
        return ASSAY_EDIT_NOT_HERE;
    if (!drops(&p->steps[pre]))
        return ASSAY_EDIT_SAME;
    sum = assay_arena_array(s->arena, channels, sizeof(*sum));
    if (!sum)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for an edited shift");
    for (uint32_t c = 0; c < channels; c++) {
        sum[c] = assay_edit_at(&p->steps[pre], c) +
                 assay_edit_at(&p->steps[post], c);
        if (sum[c] > 62 || sum[c] < -62)
            return ASSAY_EDIT_NOT_HERE;
    }
    p->steps[post].a = sum;
    p->steps[post].n = channels;
    assay_edit_remove(p, (uint32_t)pre);
    return 0;
}

/* Variants none, 16, 32: the width in front of the multiplication. */
static int middle(struct assay_slice *s, struct assay_program *p,
                  uint32_t variant, struct assay_err *err)
{
    static const uint8_t bits[3] = {0, 16, 32};
    int mul = assay_edit_first(p, ASSAY_STEP_MUL);
    struct assay_step *before;

    if (mul < 0 || assay_edit_first(p, ASSAY_STEP_SHR) < 0)
        return ASSAY_EDIT_NOT_HERE;
    before = mul > 0 ? &p->steps[mul - 1] : NULL;
    if (!before || before->kind != ASSAY_STEP_SAT)
        return bits[variant] == 0
                   ? ASSAY_EDIT_SAME
                   : assay_edit_insert(s, p, (uint32_t)mul, ASSAY_STEP_SAT,
                                       bits[variant], 0, err);
    if (before->bits == bits[variant])
        return ASSAY_EDIT_SAME;
    if (bits[variant] == 0)
        assay_edit_remove(p, (uint32_t)mul - 1);
    else
        before->bits = bits[variant];
    return 0;
}

/* Shift counts of 32 and more: masked to five bits, or all bits lost. */
static int mask_counts(struct assay_slice *s, struct assay_program *p,
                       bool zero, struct assay_err *err)
{
    int at = assay_edit_last(p, ASSAY_STEP_SHR);
    struct assay_step *step = at < 0 ? NULL : &p->steps[at];
    bool any = false;
    int64_t *v;

    if (!step)
        return ASSAY_EDIT_NOT_HERE;
    v = assay_arena_copy(s->arena, step->a, step->n * sizeof(*v));
    if (!v)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for an edited shift");
    for (uint32_t c = 0; c < step->n; c++) {
        if (v[c] < 32)
            continue;
        any = true;
        v[c] = zero ? 62 : v[c] & 31;
    }
    step->a = v;
    return any ? 0 : ASSAY_EDIT_SAME;
}

/* One rounding at the end whose sum with the half is cut to 32 bits. */
static int cut_33(struct assay_slice *s, uint32_t layer, struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    struct assay_program *p = &l->out_program;
    struct assay_err ignored = {0};
    int at, rc = 0;
    uint32_t k;
    int64_t *less;

    if (l->real_op == ASSAY_REAL_NONE ||
        assay_arith_apply(s, layer, "q31_single", &ignored) != 0)
        return ASSAY_EDIT_NOT_HERE;
    at = assay_edit_last(p, ASSAY_STEP_SHR);
    if (at < 0 || !drops(&p->steps[at]))
        return ASSAY_EDIT_NOT_HERE;
    k = (uint32_t)at;
    less = assay_arena_copy(s->arena, p->steps[k].a,
                            p->steps[k].n * sizeof(*less));
    if (!less)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for an edited shift");
    for (uint32_t c = 0; c < p->steps[k].n; c++)
        less[c]--;
    p->steps[k].a = less;
    p->steps[k].round = ASSAY_ROUND_FLOOR;
    rc = assay_edit_insert(s, p, k + 1, ASSAY_STEP_WRAP, 32, 0, err);
    if (rc == 0)
        rc = assay_edit_insert(s, p, k + 2, ASSAY_STEP_ADD, 1, 0, err);
    if (rc == 0)
        rc = assay_edit_insert(s, p, k + 3, ASSAY_STEP_SHR, 1, 0, err);
    return rc;
}

/* Multipliers of 31 bits, from a quotient in binary32. */
static int derive_f32(struct assay_slice *s, uint32_t layer,
                      struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    const struct assay_quant *x, *w, *y = &s->tensors[l->output].quant;
    struct assay_program *p = &l->out_program;
    int at = assay_edit_first(p, ASSAY_STEP_SRDHM);
    bool any = false;
    int64_t *v;

    at = at < 0 ? assay_edit_first(p, ASSAY_STEP_SDMULH) : at;
    at = at < 0 ? assay_edit_first(p, ASSAY_STEP_MUL) : at;
    if (l->real_op != ASSAY_REAL_CONV || at < 0)
        return ASSAY_EDIT_NOT_HERE;
    x = &s->tensors[l->inputs[0]].quant;
    w = &s->tensors[l->inputs[1]].quant;
    if (x->n != 1 || w->n == 0 || y->n != 1)
        return ASSAY_EDIT_NOT_HERE;
    v = assay_arena_array(s->arena, p->steps[at].n, sizeof(*v));
    if (!v)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for multipliers");
    for (uint32_t c = 0; c < p->steps[at].n; c++) {
        float product = x->scale[0] * w->scale[w->n > 1 ? c : 0];
        float real = product / y->scale[0];
        int32_t m;
        int shift;

        assay_derive_multiplier((double)real, &m, &shift);
        v[c] = p->steps[at].a[c];
        if (m == v[c] || m - v[c] > 256 || v[c] - m > 256)
            continue; /* another shift would be another program */
        v[c] = m;
        any = true;
    }
    p->steps[at].a = v;
    return any ? 0 : ASSAY_EDIT_SAME;
}

static int edit_steps(struct assay_slice *s, uint32_t layer,
                      const struct assay_edit *e, struct assay_err *err)
{
    static const enum assay_round last[] = {
        ASSAY_ROUND_HALF_EVEN, ASSAY_ROUND_HALF_UP, ASSAY_ROUND_HALF_AWAY,
        ASSAY_ROUND_HALF_DOWN, ASSAY_ROUND_HALF_ZERO};
    struct assay_program *p = &s->layers[layer].out_program;

    switch (e->id) {
    case ASSAY_CAUSE_R7: return derive_f32(s, layer, err);
    case ASSAY_CAUSE_R9: return cut_33(s, layer, err);
    case ASSAY_CAUSE_R11: return mask_counts(s, p, e->variant == 1, err);
    case ASSAY_CAUSE_R13:
        return last_shift(p, e->variant == 0 ? ASSAY_ROUND_FLOOR
                                             : ASSAY_ROUND_TRUNC);
    case ASSAY_CAUSE_R14: return last_shift(p, ASSAY_ROUND_CEIL);
    case ASSAY_CAUSE_R15:
        return pre_shift(p, e->variant == 0 ? ASSAY_ROUND_FLOOR
                                            : ASSAY_ROUND_HALF_UP);
    case ASSAY_CAUSE_R16:
        return merge_shifts(s, p, assay_edit_channels(s, layer), err);
    case ASSAY_CAUSE_R17: return middle(s, p, e->variant, err);
    case ASSAY_CAUSE_R18: return last_shift(p, last[e->variant]);
    default: return ASSAY_EDIT_NOT_HERE;
    }
}

int assay_edit_round(struct assay_slice *s, uint32_t *layer,
                     const struct assay_edit *e, struct assay_err *err)
{
    int rc = apply_named(s, *layer, e);

    if (rc == ASSAY_EMEMORY)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for an edited layer");
    /* Of scales, the steps are a consequence. */
    if (rc != ASSAY_EDIT_NOT_HERE ||
        (s->layers[*layer].real_op != ASSAY_REAL_NONE &&
         e->id != ASSAY_CAUSE_R7 && e->id != ASSAY_CAUSE_R9 &&
         e->id != ASSAY_CAUSE_R11))
        return rc;
    return edit_steps(s, *layer, e, err);
}
