/* SPDX-License-Identifier: Apache-2.0 */
/* not a kernel: recognises programs for the fused ends of conv2d. */
/*
 * Recognises programs by their steps, never by a name. Whatever is doubtful
 * (an operand out of the range that a form is exact for) is not recognised:
 * the interpreter is always right.
 */
#include "kernels/neon/epilogue.h"

#include <string.h>

/* A reader over the steps of a program. */
struct cursor {
    const struct assay_step *at, *end;
};

static const struct assay_step *take(struct cursor *c, unsigned kind)
{
    if (c->at == c->end || c->at->kind != kind)
        return NULL;
    return c->at++;
}

static int64_t operand(const struct assay_step *s, size_t channel)
{
    return s->a[s->n == 1 ? 0 : channel];
}

static float float_of(int64_t bits)
{
    uint32_t low = (uint32_t)(uint64_t)bits;
    float f;

    memcpy(&f, &low, sizeof(f));
    return f;
}

static bool all_within(const struct assay_step *s, int64_t lo, int64_t hi)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->a[i] < lo || s->a[i] > hi)
            return false;
    return true;
}

/* Lays one operand a channel out in `to`; padding stays 0. */
struct layout {
    size_t groups, channels, padded;
};

static void spread(const struct layout *l, const struct assay_step *s,
                   int32_t sign, int32_t *to)
{
    memset(to, 0, l->groups * l->padded * sizeof(*to));
    if (!s)
        return;
    for (size_t g = 0; g < l->groups; g++)
        for (size_t j = 0; j < l->channels; j++)
            to[g * l->padded + j] =
                sign * (int32_t)operand(s, g * l->channels + j);
}

/* [add_zp] [clamp] and nothing else; lo and hi: bounds so far, before zp. */
static bool match_tail(struct assay_epilogue *e, struct cursor c,
                       enum assay_dtype y_dtype, int64_t lo, int64_t hi)
{
    const struct assay_step *zp = take(&c, ASSAY_STEP_ADD_ZP);
    const struct assay_step *clamp = take(&c, ASSAY_STEP_CLAMP);
    int64_t down = y_dtype == ASSAY_U8 ? 128 : 0;
    int64_t add = 0;

    if (c.at != c.end || (zp && zp->n != 1) || (clamp && clamp->n != 1))
        return false;
    if (zp)
        add = zp->a[0];
    if (add < -255 || add > 255)
        return false;
    lo += add;
    hi += add;
    if (clamp) {
        /* The order min(max(v, a), b) is kept by empty ranges, too. */
        if (clamp->a[0] > clamp->b[0])
            return false;
        lo = lo < clamp->a[0] ? clamp->a[0] : lo;
        hi = hi > clamp->b[0] ? clamp->b[0] : hi;
    }
    lo -= down;
    hi -= down;
    if (lo < -128 || hi > 127 || lo > hi)
        return false;
    e->zp = vdupq_n_s16((int16_t)(add - down));
    e->lo = vdupq_n_s8((int8_t)lo);
    e->hi = vdupq_n_s8((int8_t)hi);
    e->flip = vdupq_n_s8(down ? -128 : 0);
    return true;
}

/*
 * Adding and subtracting 1.5 * 2^23 rounds to nearest even, for values that
 * were clamped far below it.
 */
static bool take_magic(struct cursor *c)
{
    const struct assay_step *s = c->at;

    if (c->end - s < 2 || s[0].kind != ASSAY_STEP_FADD || s[0].n != 1 ||
        s[1].kind != ASSAY_STEP_FADD || s[1].n != 1 ||
        float_of(s[0].a[0]) != 12582912.0f ||
        float_of(s[1].a[0]) != -12582912.0f)
        return false;
    c->at += 2;
    return true;
}

static bool match_float(struct assay_epilogue *e, struct cursor c,
                        enum assay_dtype y_dtype, const struct layout *l,
                        int32_t *store)
{
    const struct assay_step *mul, *add, *clamp, *round;
    float lo, hi, zpin;
    bool magic;

    if (!take(&c, ASSAY_STEP_TO_F32) || !(mul = take(&c, ASSAY_STEP_FMUL)))
        return false;
    add = take(&c, ASSAY_STEP_FADD);
    clamp = take(&c, ASSAY_STEP_FCLAMP);
    magic = take_magic(&c);
    round = take(&c, ASSAY_STEP_FROUND);
    if (!clamp || !round || clamp->n != 1 || (add && add->n != 1) ||
        round->round != (magic ? ASSAY_ROUND_TRUNC : ASSAY_ROUND_HALF_EVEN))
        return false;
    lo = float_of(clamp->a[0]);
    hi = float_of(clamp->b[0]);
    if (!(lo >= -1024.0f && hi <= 1024.0f && lo <= hi) ||
        lo != (float)(int)lo || hi != (float)(int)hi ||
        !match_tail(e, c, y_dtype, (int)lo, (int)hi))
        return false;
    /* A NaN never comes out of these: finite times finite plus finite. */
    for (uint32_t i = 0; i < mul->n; i++) {
        float f = float_of(mul->a[i]);

        if (!(f - f == 0.0f))
            return false;
    }
    zpin = add ? float_of(add->a[0]) : 0.0f;
    if (!(zpin - zpin == 0.0f))
        return false;
    e->zpin = vdupq_n_f32(zpin);
    memset(store, 0, l->groups * l->padded * sizeof(*store));
    for (size_t g = 0; g < l->groups; g++)
        for (size_t j = 0; j < l->channels; j++) {
            uint32_t bits =
                (uint32_t)(uint64_t)operand(mul, g * l->channels + j);

            memcpy(store + g * l->padded + j, &bits, sizeof(bits));
        }
    e->scale = (const float *)(const void *)store;
    e->form = add ? ASSAY_EPI_F32_ZPIN : ASSAY_EPI_F32;
    return true;
}

/* What saturation to 16 bits leaves alone: a clamp must follow. */
#define FAR 32000

static bool match_high(struct assay_epilogue *e, struct cursor c,
                       enum assay_dtype y_dtype, const struct layout *l,
                       int32_t *store)
{
    size_t padded = l->groups * l->padded;
    const struct assay_step *left, *wrap, *mul, *shr;

    left = take(&c, ASSAY_STEP_SHL);
    wrap = take(&c, ASSAY_STEP_WRAP);
    if ((left && (!wrap || !all_within(left, 0, 31))) ||
        (wrap && wrap->bits != 32))
        return false;
    mul = take(&c, ASSAY_STEP_SRDHM);
    e->form = mul ? ASSAY_EPI_SRDHM : ASSAY_EPI_SDMULH;
    if (!mul && !(mul = take(&c, ASSAY_STEP_SDMULH)))
        return false;
    shr = take(&c, ASSAY_STEP_SHR);
    if (!all_within(mul, INT32_MIN, INT32_MAX) ||
        (shr && !all_within(shr, 0, 31)))
        return false;
    if (shr && shr->round != ASSAY_ROUND_HALF_UP &&
        shr->round != ASSAY_ROUND_HALF_AWAY)
        return false;
    if (!match_tail(e, c, y_dtype, -FAR, FAR))
        return false;
    e->away = shr && shr->round == ASSAY_ROUND_HALF_AWAY ? -1 : 0;
    spread(l, mul, 1, store);
    spread(l, left, 1, store + padded);
    spread(l, shr, -1, store + 2 * padded);
    e->mult = store;
    e->left = store + padded;
    e->right = store + 2 * padded;
    return true;
}

static bool match_wide(struct assay_epilogue *e, struct cursor c,
                       enum assay_dtype y_dtype, const struct layout *l,
                       int32_t *store)
{
    size_t padded = l->groups * l->padded;
    const struct assay_step *mul = take(&c, ASSAY_STEP_MUL);
    const struct assay_step *shr = take(&c, ASSAY_STEP_SHR);

    if (!mul || !shr || shr->round != ASSAY_ROUND_HALF_UP ||
        !all_within(mul, INT32_MIN, INT32_MAX) || !all_within(shr, 0, 62) ||
        !match_tail(e, c, y_dtype, -FAR, FAR))
        return false;
    spread(l, mul, 1, store);
    spread(l, shr, -1, store + padded);
    e->mult = store;
    e->right = store + padded;
    e->form = ASSAY_EPI_WIDE;
    return true;
}

void assay_epilogue_match(struct assay_epilogue *e,
                          const struct assay_program *program,
                          enum assay_dtype y_dtype, size_t groups,
                          size_t group_channels, size_t group_padded,
                          void *store)
{
    struct layout l = {groups, group_channels, group_padded};
    struct cursor c = {program->steps, program->steps + program->n_steps};

    e->form = ASSAY_EPI_NONE;
    if (y_dtype != ASSAY_S8 && y_dtype != ASSAY_U8)
        return;
    if (match_float(e, c, y_dtype, &l, store) ||
        match_high(e, c, y_dtype, &l, store) ||
        match_wide(e, c, y_dtype, &l, store))
        return;
    e->form = ASSAY_EPI_NONE;
}
