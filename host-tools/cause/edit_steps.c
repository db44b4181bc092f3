/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/cause/edit_steps.h"

#include <math.h>
#include <string.h>

#include "kernels/requant.h"

#define SHR (1u << ASSAY_STEP_SHR)
#define FROUND (1u << ASSAY_STEP_FROUND)
#define FDIV (1u << ASSAY_STEP_FDIV)
#define MUL (1u << ASSAY_STEP_MUL)

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for an edited step");
}

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
    if (s->round == round || (s->kind == ASSAY_STEP_SHR && !drops(s)))
        return ASSAY_EDIT_SAME;
    s->round = (uint8_t)round;
    return 0;
}

/* The last rounding of a program: a shift, or a conversion from float. */
static int last_round(struct assay_program *p)
{
    int shr = assay_edit_last(p, ASSAY_STEP_SHR);
    int conversion = assay_edit_last(p, ASSAY_STEP_FROUND);

    return shr > conversion ? shr : conversion;
}

static enum assay_round wanted(const struct assay_edit *e)
{
    static const enum assay_round ties[] = {
        ASSAY_ROUND_HALF_EVEN, ASSAY_ROUND_HALF_UP, ASSAY_ROUND_HALF_AWAY,
        ASSAY_ROUND_HALF_DOWN, ASSAY_ROUND_HALF_ZERO};

    if (e->id == ASSAY_CAUSE_R18)
        return ties[e->variant];
    if (e->id == ASSAY_CAUSE_R14)
        return ASSAY_ROUND_CEIL;
    return e->variant == 0 ? ASSAY_ROUND_FLOOR : ASSAY_ROUND_TRUNC;
}

/* Does nothing below 0 come through the steps behind `at`, which only cut? */
static bool cut_at_0(const struct assay_program *p, int at)
{
    bool cut = false;

    for (uint32_t i = (uint32_t)at + 1; i < p->n_steps; i++) {
        const struct assay_step *s = &p->steps[i];

        if (s->kind != ASSAY_STEP_SAT && s->kind != ASSAY_STEP_CLAMP)
            return false;
        for (uint32_t c = 0; s->kind == ASSAY_STEP_CLAMP && c < s->n; c++)
            if (s->a[c] < 0)
                return false;
        cut = cut || s->kind == ASSAY_STEP_CLAMP;
    }
    return cut;
}

/* The plainest rounding that is the same for v >= 0. */
static enum assay_round of_positive(enum assay_round round)
{
    switch (round) {
    case ASSAY_ROUND_TRUNC: return ASSAY_ROUND_FLOOR;
    case ASSAY_ROUND_HALF_AWAY: return ASSAY_ROUND_HALF_UP;
    case ASSAY_ROUND_HALF_ZERO: return ASSAY_ROUND_HALF_DOWN;
    default: return round;
    }
}

static int other_round(struct assay_slice *s, uint32_t layer,
                       struct assay_program *p, const struct assay_edit *e,
                       struct assay_err *err)
{
    int at = last_round(p);

    (void)s;
    (void)layer;
    (void)err;
    if (!cut_at_0(p, at))
        return set_round(&p->steps[at], wanted(e));
    return of_positive((enum assay_round)p->steps[at].round) ==
                   of_positive(wanted(e))
               ? ASSAY_EDIT_SAME
               : set_round(&p->steps[at], of_positive(wanted(e)));
}

/* Variants rne half_away trunc floor05 trunc05 of a float conversion. */
static int convert(struct assay_slice *s, uint32_t layer,
                   struct assay_program *p, const struct assay_edit *e,
                   struct assay_err *err)
{
    static const enum assay_round rounds[] = {
        ASSAY_ROUND_HALF_EVEN, ASSAY_ROUND_HALF_AWAY, ASSAY_ROUND_TRUNC,
        ASSAY_ROUND_FLOOR, ASSAY_ROUND_ADD_HALF};
    int at = assay_edit_last(p, ASSAY_STEP_FROUND);
    bool wide = assay_edit_wide(p);
    int rc;

    (void)layer;
    if (e->variant != 3)
        return set_round(&p->steps[at], rounds[e->variant]);
    p->steps[at].round = ASSAY_ROUND_FLOOR;
    rc = assay_edit_insert(s, p, (uint32_t)at, ASSAY_STEP_FADD,
                           assay_edit_bits(0.5, wide), 0, err);
    return rc;
}

/* Multiplies by the reciprocal instead of dividing. */
static int reciprocal(struct assay_slice *s, uint32_t layer,
                      struct assay_program *p, const struct assay_edit *e,
                      struct assay_err *err)
{
    struct assay_step *step = &p->steps[assay_edit_last(p, ASSAY_STEP_FDIV)];
    bool wide = assay_edit_wide(p), exact = true;
    int64_t *v = assay_arena_array(s->arena, step->n, sizeof(*v));

    (void)layer;
    (void)e;
    if (!v)
        return no_memory(err);
    for (uint32_t c = 0; c < step->n; c++) {
        double by = assay_edit_float(step->a[c], wide);
        int exponent;

        exact = exact && fabs(frexp(by, &exponent)) == 0.5;
        v[c] =
            assay_edit_bits(wide ? 1 / by : (double)(1.0f / (float)by), wide);
        if (!isfinite(assay_edit_float(v[c], wide)))
            return ASSAY_EDIT_NOT_HERE;
    }
    if (exact)
        return ASSAY_EDIT_SAME;
    step->kind = ASSAY_STEP_FMUL;
    step->a = v;
    return 0;
}

/* ---- shift, multiply, shift ------------------------------------------------ */

/* The shift in front of the multiplication. */
static int pre_shift(struct assay_slice *s, uint32_t layer,
                     struct assay_program *p, const struct assay_edit *e,
                     struct assay_err *err)
{
    int at = assay_edit_first(p, ASSAY_STEP_SHR);
    int mul = assay_edit_first(p, ASSAY_STEP_MUL);

    (void)s;
    (void)layer;
    (void)err;
    if (at < 0 || at > mul)
        return ASSAY_EDIT_NOT_HERE;
    return set_round(&p->steps[at],
                     e->variant == 0 ? ASSAY_ROUND_FLOOR : ASSAY_ROUND_HALF_UP);
}

/* Both shifts at the end. Variants sat, none: of the saturation that stood
 * between them. */
static int merge_shifts(struct assay_slice *s, uint32_t layer,
                        struct assay_program *p, const struct assay_edit *e,
                        struct assay_err *err)
{
    int pre = assay_edit_first(p, ASSAY_STEP_SHR);
    int mul = assay_edit_first(p, ASSAY_STEP_MUL);
    int post = assay_edit_last(p, ASSAY_STEP_SHR);
    int between = -1;
    uint32_t n;
    int64_t *sum;

    (void)layer;
    if (pre < 0 || pre > mul || post < mul)
        return ASSAY_EDIT_NOT_HERE;
    for (int i = pre; i < mul; i++) {
        if (p->steps[i].kind == ASSAY_STEP_SAT)
            between = i;
    }
    if (!drops(&p->steps[pre]) || (e->variant == 1 && between < 0))
        return ASSAY_EDIT_SAME;
    n = p->steps[pre].n > p->steps[post].n ? p->steps[pre].n : p->steps[post].n;
    sum = assay_arena_array(s->arena, n, sizeof(*sum));
    if (!sum)
        return no_memory(err);
    for (uint32_t c = 0; c < n; c++) {
        sum[c] = assay_edit_at(&p->steps[pre], c) +
                 assay_edit_at(&p->steps[post], c);
        if (sum[c] > 62 || sum[c] < -62)
            return ASSAY_EDIT_NOT_HERE;
    }
    p->steps[post].a = sum;
    p->steps[post].n = n;
    if (e->variant == 1)
        assay_edit_remove(p, (uint32_t)between);
    assay_edit_remove(p, (uint32_t)pre);
    return 0;
}

/* Can what stands in front of step `at` leave `bits` in any channel? */
static bool leaves(const struct assay_slice *s, uint32_t layer,
                   const struct assay_program *p, uint32_t at, unsigned bits)
{
    uint32_t n = assay_edit_channels(s, layer);

    if (p != &s->layers[layer].out_program)
        return true;
    for (uint32_t c = 0; c < n; c++) {
        struct assay_interval v;

        if (!assay_edit_range_at(s, layer, at, c, &v) ||
            v.kind != ASSAY_VALUE_INT || assay_sat(v.lo, bits) != v.lo ||
            assay_sat(v.hi, bits) != v.hi)
            return true;
    }
    return false;
}

/* Variants none, 16, 32: the width in front of the multiplication. */
static int middle(struct assay_slice *s, uint32_t layer,
                  struct assay_program *p, const struct assay_edit *e,
                  struct assay_err *err)
{
    static const uint8_t widths[] = {0, 16, 32};
    int mul = assay_edit_first(p, ASSAY_STEP_MUL);
    int shr = assay_edit_last(p, ASSAY_STEP_SHR);
    uint8_t bits = widths[e->variant], had;
    uint32_t at;

    if (mul < 0 || shr < mul)
        return ASSAY_EDIT_NOT_HERE;
    at = (uint32_t)mul;
    had = at > 0 && p->steps[at - 1].kind == ASSAY_STEP_SAT
              ? p->steps[at - 1].bits
              : 0;
    if (had == bits)
        return ASSAY_EDIT_SAME;
    at -= had != 0;
    if ((had == 0 || !leaves(s, layer, p, at, had)) &&
        (bits == 0 || !leaves(s, layer, p, at, bits)))
        return ASSAY_EDIT_SAME;
    if (had != 0)
        assay_edit_remove(p, at);
    return bits == 0
               ? 0
               : assay_edit_insert(s, p, at, ASSAY_STEP_SAT, bits, 0, err);
}

/*
 * Counts of 32 and more in registers of 32 bits: taken modulo 32, or all bits
 * are lost. A product of 64 bits is not shifted there.
 */
static int mask_counts(struct assay_slice *s, uint32_t layer,
                       struct assay_program *p, const struct assay_edit *e,
                       struct assay_err *err)
{
    uint32_t at = (uint32_t)assay_edit_last(p, ASSAY_STEP_SHR);
    struct assay_step *step = &p->steps[at];
    bool any = false;
    int64_t *v, *keep;

    if (s->layers[layer].real_op != ASSAY_REAL_NONE &&
        assay_edit_first(p, ASSAY_STEP_MUL) >= 0)
        return ASSAY_EDIT_NOT_HERE;
    v = assay_arena_copy(s->arena, step->a, step->n * sizeof(*v));
    keep = assay_arena_array(s->arena, step->n, sizeof(*keep));
    if (!v || !keep)
        return no_memory(err);
    for (uint32_t c = 0; c < step->n; c++) {
        keep[c] = v[c] < 32;
        any = any || v[c] >= 32;
        if (v[c] >= 32 && e->variant == 0)
            v[c] &= 31;
    }
    if (!any)
        return ASSAY_EDIT_SAME;
    if (e->variant == 1)
        return assay_edit_insert_n(s, p, at, ASSAY_STEP_MUL, step->n, keep,
                                   err);
    step->a = v;
    return 0;
}

int assay_edit_steps(struct assay_slice *s, uint32_t layer,
                     const struct assay_edit *e, struct assay_err *err)
{
    switch (e->id) {
    case ASSAY_CAUSE_R5:
        return assay_edit_each(s, layer, FROUND, e, convert, err);
    case ASSAY_CAUSE_R11:
        return assay_edit_each(s, layer, SHR, e, mask_counts, err);
    case ASSAY_CAUSE_R13:
    case ASSAY_CAUSE_R14:
    case ASSAY_CAUSE_R18:
        return assay_edit_each(s, layer, SHR | FROUND, e, other_round, err);
    case ASSAY_CAUSE_R15:
        return assay_edit_each(s, layer, MUL, e, pre_shift, err);
    case ASSAY_CAUSE_R16:
        return assay_edit_each(s, layer, MUL, e, merge_shifts, err);
    case ASSAY_CAUSE_R17: return assay_edit_each(s, layer, MUL, e, middle, err);
    case ASSAY_CAUSE_R21:
        return assay_edit_each(s, layer, FDIV, e, reciprocal, err);
    default: return ASSAY_EDIT_NOT_HERE;
    }
}
