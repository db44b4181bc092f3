/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs of the vendor's fixed-point model (docs/numerics.md, hz_*):
 * two shifts with a saturation to 16 bits and a 15-bit multiplier in between.
 * Drawn so that floors, ties, both saturations and the wrap of the sum occur.
 */
#include "tests/kernels/kcheck.h"

#include <stdlib.h>

/* Forms of an accumulator's end. */
enum form {
    CONV = 0,     /* shr floor, sat 16, mul, shr floor, sat */
    CONV_RELU,    /* the same, clamp 0 */
    CONV_WRAP,    /* wrap 32 first */
    CONV_INPUT,   /* add_scaled, wrap 32 first */
    CONV_INPUT_R, /* the same, clamp 0 */
    HIGH = KC_HZ_HIGH - KC_HZ_FIRST, /* nothing, or clamp 0 */
    HIGH_WRAP,                       /* wrap 32 [clamp 0] */
    HIGH_INPUT,                      /* add_scaled, wrap 32 [clamp 0] */
    MATMUL,                          /* the second shift rounds half up */
    GAP,                             /* both shifts do */
};

static const char *const NAMES[KC_HZ_FORMS] = {
    "hz_conv",
    "hz_conv relu",
    "hz_conv int16",
    "hz_conv sumin",
    "hz_conv sumin relu",
    "hz_conv high precision",
    "hz_conv high precision int16",
    "hz_conv high precision sumin",
    "hz_matmul",
    "hz_gap",
};

bool kc_policy_takes_input(unsigned which)
{
    unsigned form = which - KC_HZ_FIRST;

    return which == KC_HBM_INPUT || which == KC_RULE_INPUT ||
           (which >= KC_HZ_FIRST &&
            (form == CONV_INPUT || form == CONV_INPUT_R || form == HIGH_INPUT));
}

static void bits_step(struct kc_program *to, unsigned kind, unsigned bits)
{
    kc_step(to,
            (struct assay_step){.kind = (uint8_t)kind, .bits = (uint8_t)bits},
            NULL, NULL);
}

static void shift_step(struct kc_program *to, const int64_t *by, size_t n,
                       unsigned round)
{
    kc_step(to,
            (struct assay_step){.kind = ASSAY_STEP_SHR,
                                .round = (uint8_t)round,
                                .n = (uint32_t)n},
            by, NULL);
}

static unsigned bits_of(enum assay_dtype y)
{
    return y == ASSAY_S8 ? 8 : y == ASSAY_S16 ? 16 : 32;
}

/* v + SHR(e * times, shift, floor) */
static void input_step(struct kc *k, struct kc_program *to, size_t n)
{
    int64_t *shift = kc_alloc(n * 8), *times = kc_alloc(n * 8);
    int64_t centre = kc_range(k, -2, 10);

    for (size_t i = 0; i < n; i++) {
        shift[i] = centre + kc_range(k, -1, 1);
        times[i] = kc_range(k, 16384, 32767);
        if (kc_chance(k, 10))
            times[i] = kc_range(k, -32768, 32767);
    }
    kc_step(to,
            (struct assay_step){.kind = ASSAY_STEP_ADD_SCALED,
                                .round = ASSAY_ROUND_FLOOR,
                                .n = (uint32_t)n},
            shift, times);
    free(shift);
    free(times);
}

/* shr, sat 16, mul, shr, sat */
static void scale_steps(struct kc *k, struct kc_program *to, size_t n,
                        enum assay_dtype y, unsigned first, unsigned second)
{
    int64_t *pre = kc_alloc(n * 8), *scale = kc_alloc(n * 8);
    int64_t *post = kc_alloc(n * 8);
    int64_t pre_centre = kc_range(k, 0, 7);
    int64_t post_centre = (y == ASSAY_S8 ? 22 : 15) + kc_range(k, -2, 1);
    bool tie = kc_chance(k, 40), negative = kc_chance(k, 8);

    if (y == ASSAY_S32)
        post_centre = kc_range(k, 0, 8);
    for (size_t i = 0; i < n; i++) {
        pre[i] = pre_centre + kc_range(k, 0, 1);
        scale[i] = tie ? 16384 : kc_range(k, 16384, 32767);
        post[i] = post_centre + kc_range(k, 0, 1);
        if (kc_chance(k, 4)) {
            pre[i] = kc_range(k, 0, 31);
            post[i] = kc_range(k, 0, 31);
            scale[i] = kc_range(k, -32768, 32767);
        }
        if (negative)
            scale[i] = -scale[i];
    }
    shift_step(to, pre, n, first);
    bits_step(to, ASSAY_STEP_SAT, 16);
    kc_step(to, (struct assay_step){.kind = ASSAY_STEP_MUL, .n = (uint32_t)n},
            scale, NULL);
    shift_step(to, post, n, second);
    bits_step(to, ASSAY_STEP_SAT, bits_of(y));
    free(pre);
    free(scale);
    free(post);
}

/* From 0 up; now and then bounds that the output's type does not have, and
 * such that differ from channel to channel, which no form has. */
static void relu(struct kc *k, struct kc_program *to, size_t n, int64_t hi)
{
    size_t count = !k->opt.bench && kc_chance(k, 20) ? n : 1;
    int64_t *from = kc_alloc(count * 8), *up = kc_alloc(count * 8);

    for (size_t i = 0; i < count; i++) {
        from[i] = kc_chance(k, 20) ? -kc_range(k, 0, hi) : 0;
        up[i] = kc_chance(k, 40) ? kc_range(k, 0, hi) : hi;
    }
    kc_step(to,
            (struct assay_step){.kind = ASSAY_STEP_CLAMP, .n = (uint32_t)count},
            from, up);
    free(from);
    free(up);
}

/* The step of that kind; the last one of them when `last`. */
static struct assay_step *step_of(struct kc_program *to, unsigned kind,
                                  bool last)
{
    struct assay_step *found = NULL;

    for (uint32_t i = 0; i < to->p.n_steps; i++)
        if (to->p.steps[i].kind == kind && (last || !found))
            found = &to->p.steps[i];
    return found;
}

static void remove_step(struct kc_program *to, const struct assay_step *s)
{
    if (!s)
        return;
    for (uint32_t i = (uint32_t)(s - to->p.steps); i + 1 < to->p.n_steps; i++)
        to->p.steps[i] = to->p.steps[i + 1];
    to->p.n_steps--;
}

/* Bounds outside of the type, behind a shift that leaves nothing there. */
static bool wide_bounds(struct kc *k, struct kc_program *to, enum assay_dtype y)
{
    struct assay_step *shr = step_of(to, ASSAY_STEP_SHR, true);
    int64_t lo = kc_chance(k, 50) ? 0 : -0x100001; /* cut off: -1, 1 */
    int64_t hi = kc_chance(k, 50) ? 9 : 0x100001;

    if (!shr || y == ASSAY_S32)
        return false;
    for (uint32_t i = 0; i < shr->n; i++)
        ((int64_t *)(uintptr_t)shr->a)[i] = y == ASSAY_S8 ? 24 : 16;
    remove_step(to, step_of(to, ASSAY_STEP_SAT, true));
    kc_step(to, (struct assay_step){.kind = ASSAY_STEP_CLAMP}, &lo, &hi);
    return true;
}

/* Almost one of the forms; the output keeps its range. */
static void near_miss(struct kc *k, struct kc_program *to, enum assay_dtype y)
{
    struct assay_step *shr = step_of(to, ASSAY_STEP_SHR, kc_chance(k, 50));
    struct assay_step *sat = step_of(to, ASSAY_STEP_SAT, false);
    struct assay_step *input = step_of(to, ASSAY_STEP_ADD_SCALED, false);
    struct assay_step *wrap = step_of(to, ASSAY_STEP_WRAP, false);
    struct assay_step *mul = step_of(to, ASSAY_STEP_MUL, false);

    to->name = "hz near miss";
    switch (kc_range(k, 0, 8)) {
    case 0:
        if (shr)
            shr->round = (uint8_t)kc_range(k, 0, 7);
        break;
    case 1:
        if (sat && sat->bits == 16)
            sat->bits = (uint8_t)kc_range(k, 12, 20);
        break;
    case 2: /* what the wrap would have taken off is there */
        remove_step(to, wrap);
        break;
    case 3:
        if (sat && sat->bits == 16)
            remove_step(to, sat);
        break;
    case 4:
        if (input && kc_chance(k, 50))
            input->kind = ASSAY_STEP_ADD_INPUT;
        else if (input)
            input->round = (uint8_t)kc_range(k, 0, 7);
        break;
    case 5: /* a multiplier of 16 bits */
        for (uint32_t i = 0; mul && i < mul->n; i++)
            ((int64_t *)(uintptr_t)mul->a)[i] = kc_range(k, 32767, 65536);
        break;
    case 6:
        if (wrap)
            wrap->bits = (uint8_t)kc_range(k, 20, 36);
        break;
    case 7:
        if (wide_bounds(k, to, y))
            return;
        break;
    default: kc_int_step(to, ASSAY_STEP_ADD_ZP, kc_range(k, -3, 3)); break;
    }
    bits_step(to, ASSAY_STEP_SAT, bits_of(y));
}

void kc_hz_program(struct kc *k, struct kc_program *to, unsigned which,
                   size_t n, enum assay_dtype *y)
{
    static const enum assay_dtype outs[] = {ASSAY_S8, ASSAY_S16, ASSAY_S32};
    enum form form = (enum form)(which - KC_HZ_FIRST);
    bool high = form == HIGH || form == HIGH_WRAP || form == HIGH_INPUT;
    bool input = kc_policy_takes_input(which);
    unsigned up = ASSAY_ROUND_HALF_UP, down = ASSAY_ROUND_FLOOR;
    int64_t hi;

    to->name = NAMES[form];
    if (high)
        *y = ASSAY_S32;
    else
        *y = k->opt.bench || kc_chance(k, 60) ? ASSAY_S8
                                              : outs[kc_range(k, 0, 2)];
    hi = (int64_t)(((uint64_t)1 << (bits_of(*y) - 1)) - 1);
    if (input)
        input_step(k, to, n);
    if (input || form == CONV_WRAP || form == HIGH_WRAP)
        bits_step(to, ASSAY_STEP_WRAP, 32);
    if (!high)
        scale_steps(k, to, n, *y, form == GAP ? up : down,
                    form == GAP || form == MATMUL ? up : down);
    if (form == CONV_RELU || form == CONV_INPUT_R || (high && kc_chance(k, 50)))
        relu(k, to, n, hi);
    if (!k->opt.bench && kc_chance(k, 20))
        near_miss(k, to, *y);
}

/* ---- two operands -------------------------------------------------------- */

/* [wrap 32] shr floor, sat 16, mul, shr half_up, sat */
static void binary_output(struct kc *k, struct kc_program *to, size_t n,
                          enum assay_dtype y, bool wraps)
{
    if (wraps)
        bits_step(to, ASSAY_STEP_WRAP, 32);
    scale_steps(k, to, n, y, ASSAY_ROUND_FLOOR, ASSAY_ROUND_HALF_UP);
}

void kc_hz_binary(struct kc *k, struct kc_program *a, struct kc_program *b,
                  struct kc_program *out, size_t channels,
                  enum assay_combine *how, enum assay_dtype y, bool wide)
{
    size_t n = kc_chance(k, 50) ? channels : 1;
    int64_t left = wide ? kc_range(k, 0, 15) : kc_range(k, 6, 23);
    int64_t times = kc_range(k, 1, 32767), more = kc_range(k, 0, 7);
    bool product = kc_chance(k, 30);

    kc_program_begin(a, channels);
    kc_program_begin(b, channels);
    kc_program_begin(out, channels);
    *how = product            ? ASSAY_COMBINE_MUL
           : kc_chance(k, 50) ? ASSAY_COMBINE_ADD
                              : ASSAY_COMBINE_SUB;
    if (!product) {
        kc_int_step(a, ASSAY_STEP_SHL, left);
        kc_int_step(b, ASSAY_STEP_SHL, more);
        kc_int_step(b, ASSAY_STEP_MUL, times);
    }
    binary_output(k, out, n, y, !product);
    if (kc_chance(k, 15))
        near_miss(k, out, y);
}
