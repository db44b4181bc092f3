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

static void spread_16(const struct layout *l, const struct assay_step *s,
                      int16_t *to)
{
    memset(to, 0, l->groups * l->padded * sizeof(*to));
    for (size_t g = 0; g < l->groups; g++)
        for (size_t j = 0; j < l->channels; j++)
            to[g * l->padded + j] = (int16_t)operand(s, g * l->channels + j);
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

/*
 * SAT and CLAMP to the end as one pair of bounds: `bounds` are those of the
 * value before and after; their composition does to the ends what it does to
 * all between. False when they do not end inside [lo, hi].
 */
static bool match_bounds(struct cursor c, int64_t lo, int64_t hi,
                         int64_t bounds[2])
{
    for (; c.at != c.end; c.at++) {
        const struct assay_step *s = c.at;
        int64_t a, b;

        if (s->kind == ASSAY_STEP_SAT && s->bits >= 2 && s->bits <= 62) {
            b = ((int64_t)1 << (s->bits - 1)) - 1;
            a = -b - 1;
        } else if (s->kind == ASSAY_STEP_CLAMP && s->n == 1) {
            a = s->a[0];
            b = s->b[0];
        } else {
            return false;
        }
        for (int i = 0; i < 2; i++) {
            bounds[i] = bounds[i] > a ? bounds[i] : a;
            bounds[i] = bounds[i] < b ? bounds[i] : b;
        }
    }
    return bounds[0] >= lo && bounds[1] <= hi;
}

/*
 * [add_scaled wrap 32] or [wrap 32]. The low 32 bits of (e * b) << n follow
 * from those of e and b; a shift to the right needs e * b within 32 bits,
 * which 16 bits by 16 bits are.
 */
static bool match_second(struct assay_epilogue *e, struct cursor *c,
                         const struct assay_conv2d *p, const struct layout *l,
                         int32_t *store)
{
    const struct assay_step *add = take(c, ASSAY_STEP_ADD_SCALED);
    const struct assay_step *wrap = take(c, ASSAY_STEP_WRAP);
    bool wide = p->second_dtype == ASSAY_S32;
    struct assay_step times;

    e->second_dtype = 0;
    if (wrap && wrap->bits != 32)
        return false;
    if (!add)
        return true;
    if (!wrap || !p->second ||
        (p->second_dtype != ASSAY_S8 && p->second_dtype != ASSAY_S16 && !wide))
        return false;
    times = *add;
    times.a = add->b;
    if (wide ? !all_within(&times, INT32_MIN, INT32_MAX) ||
                   !all_within(add, -31, 0)
             : !all_within(&times, INT16_MIN, INT16_MAX) ||
                   !all_within(add, -31, 31))
        return false;
    if (add->round != ASSAY_ROUND_FLOOR && !all_within(add, -31, 0))
        return false;
    e->second_mult = store;
    e->second_mult16 = (const int16_t *)(const void *)store;
    e->second_shift = store + l->groups * l->padded;
    e->second_dtype = p->second_dtype;
    if (wide)
        spread(l, &times, 1, store);
    else
        spread_16(l, &times, (int16_t *)(void *)store);
    spread(l, add, -1, store + l->groups * l->padded);
    return true;
}

/* Behind the accumulator: nothing, or bounds. */
static bool match_s32(struct assay_epilogue *e, struct cursor c)
{
    int64_t bounds[2] = {INT32_MIN, INT32_MAX};

    if (!match_bounds(c, INT32_MIN, INT32_MAX, bounds))
        return false;
    e->lo32 = vdupq_n_s32((int32_t)bounds[0]);
    e->hi32 = vdupq_n_s32((int32_t)bounds[1]);
    e->form = ASSAY_EPI_S32;
    return true;
}

/* An operand a channel as `from - a`, padding as `from`. */
static void spread_left(const struct layout *l, const struct assay_step *s,
                        int32_t from, int32_t *to)
{
    spread(l, s, -1, to);
    for (size_t i = 0; i < l->groups * l->padded; i++)
        to[i] += from;
}

static bool match_m15(struct assay_epilogue *e, struct cursor c,
                      enum assay_dtype y_dtype, const struct layout *l,
                      int32_t *store)
{
    size_t padded = l->groups * l->padded;
    const struct assay_step *pre = take(&c, ASSAY_STEP_SHR);
    const struct assay_step *sat = take(&c, ASSAY_STEP_SAT);
    const struct assay_step *mul = take(&c, ASSAY_STEP_MUL);
    const struct assay_step *post = take(&c, ASSAY_STEP_SHR);
    bool bytes = y_dtype == ASSAY_S8;
    int64_t most = bytes ? 127 : 32767, bounds[2] = {INT64_MIN, INT64_MAX};
    int16_t *mult = (int16_t *)(void *)store;
    bool up = post && post->round == ASSAY_ROUND_HALF_UP;

    if (!sat || sat->bits != 16 || !mul || !all_within(mul, -32767, 32767))
        return false;
    if ((pre && (pre->round != ASSAY_ROUND_FLOOR || !all_within(pre, 0, 31))) ||
        (post && ((post->round != ASSAY_ROUND_FLOOR && !up) ||
                  !all_within(post, 0, 31))))
        return false;
    if (!match_bounds(c, -most - 1, most, bounds))
        return false;
    spread_16(l, mul, mult);
    spread_left(l, pre, 16, store + padded);
    spread_left(l, post, up ? 0 : bytes ? 24 : 16, store + 2 * padded);
    e->mult16 = mult;
    e->left = store + padded;
    e->right = store + 2 * padded;
    e->lo = vdupq_n_s8((int8_t)bounds[0]);
    e->hi = vdupq_n_s8((int8_t)bounds[1]);
    e->lo16 = vdupq_n_s16((int16_t)bounds[0]);
    e->hi16 = vdupq_n_s16((int16_t)bounds[1]);
    if (bytes)
        e->form = up ? ASSAY_EPI_M15_S8_UP : ASSAY_EPI_M15_S8;
    else
        e->form = up ? ASSAY_EPI_M15_S16_UP : ASSAY_EPI_M15_S16;
    return true;
}

/* |SHR(v, n)| <= 2^30 for n >= 1, and so much more is still 32 bits. */
static bool may_add(const struct assay_step *add, const struct assay_step *shr)
{
    return !add || (shr && all_within(shr, 1, 31) &&
                    all_within(add, -(1 << 30), (1 << 30) - 1));
}

static bool is_shift(const struct assay_step *shr, int64_t most)
{
    return !shr || ((shr->round == ASSAY_ROUND_FLOOR ||
                     shr->round == ASSAY_ROUND_HALF_UP) &&
                    all_within(shr, 0, most));
}

/* What match_m15 does not take: other roundings, widths and places. */
static bool match_long(struct assay_epilogue *e, struct cursor c,
                       enum assay_dtype y_dtype, const struct layout *l,
                       int32_t *store)
{
    size_t padded = l->groups * l->padded;
    const struct assay_step *pre = take(&c, ASSAY_STEP_SHR);
    const struct assay_step *add = take(&c, ASSAY_STEP_ADD);
    const struct assay_step *sat = take(&c, ASSAY_STEP_SAT);
    const struct assay_step *mul = take(&c, ASSAY_STEP_MUL);
    const struct assay_step *post = take(&c, ASSAY_STEP_SHR);
    bool bytes = y_dtype == ASSAY_S8;
    int64_t most = bytes ? 127 : 32767, bounds[2] = {INT64_MIN, INT64_MAX};
    bool up = post && post->round == ASSAY_ROUND_HALF_UP;
    bool pre_up = pre && pre->round == ASSAY_ROUND_HALF_UP;
    unsigned bits = sat ? sat->bits : 32;

    if (!mul || !all_within(mul, INT32_MIN, INT32_MAX) || bits > 32 ||
        bits < 2 || !is_shift(pre, 31) || !is_shift(post, 62) ||
        !may_add(add, pre) || !match_bounds(c, -most - 1, most, bounds))
        return false;
    spread(l, mul, 1, store);
    spread(l, pre_up ? NULL : pre, -1, store + padded);
    spread(l, post, -1, store + 2 * padded);
    spread(l, pre_up ? pre : NULL, -1, store + 3 * padded);
    spread(l, add, 1, store + 4 * padded);
    e->mult = store;
    e->left = store + padded;
    e->right = store + 2 * padded;
    e->left_up = store + 3 * padded;
    e->add = store + 4 * padded;
    e->hi32 = vdupq_n_s32((int32_t)(((int64_t)1 << (bits - 1)) - 1));
    e->lo32 = vmvnq_s32(e->hi32);
    e->lo = vdupq_n_s8((int8_t)bounds[0]);
    e->hi = vdupq_n_s8((int8_t)bounds[1]);
    e->lo16 = vdupq_n_s16((int16_t)bounds[0]);
    e->hi16 = vdupq_n_s16((int16_t)bounds[1]);
    if (bytes)
        e->form = up ? ASSAY_EPI_LONG_S8_UP : ASSAY_EPI_LONG_S8;
    else
        e->form = up ? ASSAY_EPI_LONG_S16_UP : ASSAY_EPI_LONG_S16;
    return true;
}

typedef bool match_fn(struct assay_epilogue *e, struct cursor c,
                      enum assay_dtype y_dtype, const struct layout *l,
                      int32_t *store);

/* The forms that may have a second operand; signed outputs. */
static bool match_fixed(struct assay_epilogue *e, struct cursor c,
                        const struct assay_conv2d *p, const struct layout *l,
                        int32_t *store, match_fn *match)
{
    if (p->y_dtype != ASSAY_S8 && p->y_dtype != ASSAY_S16 &&
        p->y_dtype != ASSAY_S32)
        return false;
    if (!match_second(e, &c, p, l, store + 5 * l->groups * l->padded))
        return false;
    if (p->y_dtype == ASSAY_S32)
        return match_s32(e, c);
    return match(e, c, p->y_dtype, l, store);
}

void assay_epilogue_match(struct assay_epilogue *e,
                          const struct assay_conv2d *p, size_t groups,
                          size_t group_channels, size_t group_padded,
                          void *store)
{
    const struct assay_program *program = p->program;
    struct layout l = {groups, group_channels, group_padded};
    struct cursor c = {program->steps, program->steps + program->n_steps};

    e->form = ASSAY_EPI_NONE;
    if (match_fixed(e, c, p, &l, store, match_m15))
        return;
    e->second_dtype = 0;
    if ((p->y_dtype == ASSAY_S8 || p->y_dtype == ASSAY_U8) &&
        (match_float(e, c, p->y_dtype, &l, store) ||
         match_high(e, c, p->y_dtype, &l, store) ||
         match_wide(e, c, p->y_dtype, &l, store)))
        return;
    if (match_fixed(e, c, p, &l, store, match_long))
        return;
    e->second_dtype = 0;
    e->form = ASSAY_EPI_NONE;
}
