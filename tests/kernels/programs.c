/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs to run: every requantization policy of docs/numerics.md with
 * random operands, half of the scales powers of two so that ties occur, and
 * random valid programs. Ranges are followed while a program is made, so
 * that 64 bits hold every value, as the engine's plan demands.
 */
#include "tests/kernels/kcheck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void kc_program_begin(struct kc_program *to, size_t channels)
{
    memset(to, 0, sizeof(*to));
    to->cap = (channels ? channels : 1) * 2 * ASSAY_MAX_STEPS;
    to->memory = kc_alloc(to->cap * sizeof(*to->memory));
}

void kc_program_free(struct kc_program *to)
{
    free(to->memory);
    to->memory = NULL;
}

int64_t kc_f32_bits(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof(u));
    return (int64_t)u;
}

static int64_t f64_bits(double d)
{
    int64_t i;

    memcpy(&i, &d, sizeof(i));
    return i;
}

static const int64_t *keep(struct kc_program *to, const int64_t *from, size_t n)
{
    int64_t *at = to->memory + to->used;

    if (!from)
        return NULL;
    if (to->used + n > to->cap) {
        fprintf(stderr, "kcheck: too many operands in a program\n");
        exit(2);
    }
    memcpy(at, from, n * sizeof(*at));
    to->used += n;
    return at;
}

void kc_step(struct kc_program *to, struct assay_step s, const int64_t *a,
             const int64_t *b)
{
    if (to->p.n_steps == ASSAY_MAX_STEPS) {
        fprintf(stderr, "kcheck: too many steps in a program\n");
        exit(2);
    }
    s.n = s.n ? s.n : 1;
    s.a = keep(to, a, s.n);
    s.b = keep(to, b, s.n);
    to->p.steps[to->p.n_steps++] = s;
}

void kc_int_step(struct kc_program *to, unsigned kind, int64_t a)
{
    kc_step(to, (struct assay_step){.kind = (uint8_t)kind}, &a, NULL);
}

static void bits_step(struct kc_program *to, unsigned kind, unsigned bits)
{
    kc_step(to,
            (struct assay_step){.kind = (uint8_t)kind, .bits = (uint8_t)bits},
            NULL, NULL);
}

static void round_step(struct kc_program *to, unsigned round)
{
    kc_step(
        to,
        (struct assay_step){.kind = ASSAY_STEP_FROUND, .round = (uint8_t)round},
        NULL, NULL);
}

void kc_float_step(struct kc_program *to, unsigned kind, float a, float b)
{
    int64_t x = kc_f32_bits(a), y = kc_f32_bits(b);
    bool two = kind == ASSAY_STEP_FFMA || kind == ASSAY_STEP_FCLAMP;

    kc_step(to, (struct assay_step){.kind = (uint8_t)kind}, &x,
            two ? &y : NULL);
}

static void clamp_step(struct kc_program *to, int64_t lo, int64_t hi)
{
    kc_step(to, (struct assay_step){.kind = ASSAY_STEP_CLAMP}, &lo, &hi);
}

/* What a policy is made of. */
struct operands {
    uint32_t n;
    int64_t *m, *s; /* real scale m * 2^(s - 31) */
    int64_t zp, lo, hi;
};

static void draw(struct kc *k, struct operands *o, size_t n, enum assay_dtype y)
{
    bool tie = kc_chance(k, 40);
    int64_t centre = kc_range(k, -20, 2);
    int64_t lo = y == ASSAY_U8 ? 0 : -128;

    o->n = (uint32_t)n;
    o->m = kc_alloc(n * sizeof(*o->m));
    o->s = kc_alloc(n * sizeof(*o->s));
    for (size_t i = 0; i < n; i++) {
        o->m[i] = tie ? 1 << 30 : kc_range(k, 1 << 30, INT32_MAX);
        o->s[i] = centre + kc_range(k, -1, 1);
        if (kc_chance(k, 3))
            o->s[i] = kc_range(k, -31, 29);
        if (kc_chance(k, 2))
            o->m[i] = 0;
    }
    o->zp = kc_chance(k, 30) ? 0 : kc_range(k, lo, lo + 255);
    o->lo = lo;
    o->hi = lo + 255;
    if (kc_chance(k, 30)) /* a fused relu */
        o->lo = o->zp;
    if (kc_chance(k, 20))
        o->hi = kc_range(k, o->lo, o->hi);
    if (y == ASSAY_S16) {
        o->lo = -32768;
        o->hi = 32767;
    }
}

enum high { AWAY, NOFIX, LSAT, TRUNC, TRUNC_F1, ROUND_F1 };

static void high_policy(struct kc_program *to, const struct operands *o,
                        enum high how)
{
    bool f1 = how == TRUNC_F1 || how == ROUND_F1, any = false;
    bool truncates = how == TRUNC || how == TRUNC_F1;
    int64_t *left = kc_alloc(o->n * 8u), *right = kc_alloc(o->n * 8u);

    for (uint32_t i = 0; i < o->n; i++) {
        right[i] = o->s[i] < 0 ? -o->s[i] : f1;
        left[i] = o->s[i] + right[i];
        any |= left[i] > 0;
    }
    if (any) {
        kc_step(to, (struct assay_step){.kind = ASSAY_STEP_SHL, .n = o->n},
                left, NULL);
        bits_step(to, how == LSAT ? ASSAY_STEP_SAT : ASSAY_STEP_WRAP, 32);
    }
    kc_step(to,
            (struct assay_step){.kind = truncates ? ASSAY_STEP_SDMULH
                                                  : ASSAY_STEP_SRDHM,
                                .n = o->n},
            o->m, NULL);
    kc_step(to,
            (struct assay_step){.kind = ASSAY_STEP_SHR,
                                .round = how == AWAY || how == LSAT
                                             ? ASSAY_ROUND_HALF_AWAY
                                             : ASSAY_ROUND_HALF_UP,
                                .n = o->n},
            right, NULL);
    kc_int_step(to, ASSAY_STEP_ADD_ZP, o->zp);
    clamp_step(to, o->lo, o->hi);
    free(left);
    free(right);
}

static void product_policy(struct kc_program *to, const struct operands *o,
                           unsigned round)
{
    int64_t *right = kc_alloc(o->n * 8u);

    for (uint32_t i = 0; i < o->n; i++)
        right[i] = 31 - o->s[i];
    kc_step(to, (struct assay_step){.kind = ASSAY_STEP_MUL, .n = o->n}, o->m,
            NULL);
    kc_step(to,
            (struct assay_step){
                .kind = ASSAY_STEP_SHR, .round = (uint8_t)round, .n = o->n},
            right, NULL);
    kc_int_step(to, ASSAY_STEP_ADD_ZP, o->zp);
    clamp_step(to, o->lo, o->hi);
    free(right);
}

static double real_scale(const struct operands *o, uint32_t i)
{
    double s = ldexp((double)o->m[i], (int)o->s[i] - 31);

    return s > 0 ? s : ldexp(1.0, -40);
}

static void float_policy(struct kc_program *to, const struct operands *o,
                         unsigned round, bool zpin, bool magic)
{
    int64_t *scale = kc_alloc(o->n * 8u);
    int64_t in = zpin ? 0 : o->zp;

    for (uint32_t i = 0; i < o->n; i++)
        scale[i] = kc_f32_bits((float)real_scale(o, i));
    kc_step(to, (struct assay_step){.kind = ASSAY_STEP_TO_F32}, NULL, NULL);
    kc_step(to, (struct assay_step){.kind = ASSAY_STEP_FMUL, .n = o->n}, scale,
            NULL);
    if (zpin)
        kc_float_step(to, ASSAY_STEP_FADD, (float)o->zp, 0);
    kc_float_step(to, ASSAY_STEP_FCLAMP, (float)(o->lo - in),
                  (float)(o->hi - in));
    if (magic) {
        kc_float_step(to, ASSAY_STEP_FADD, 12582912.0f, 0);
        kc_float_step(to, ASSAY_STEP_FADD, -12582912.0f, 0);
    }
    round_step(to, magic ? ASSAY_ROUND_TRUNC : round);
    if (!zpin)
        kc_int_step(to, ASSAY_STEP_ADD_ZP, o->zp);
    if (round == ASSAY_ROUND_ADD_HALF || round == ASSAY_ROUND_FLOOR)
        clamp_step(to, o->lo, o->hi);
    free(scale);
}

static void double_policy(struct kc_program *to, const struct operands *o,
                          unsigned round)
{
    int64_t *scale = kc_alloc(o->n * 8u);
    int64_t lo = f64_bits((double)(o->lo - o->zp));
    int64_t hi = f64_bits((double)(o->hi - o->zp));

    for (uint32_t i = 0; i < o->n; i++)
        scale[i] = f64_bits(real_scale(o, i));
    kc_step(to, (struct assay_step){.kind = ASSAY_STEP_TO_F64}, NULL, NULL);
    kc_step(to, (struct assay_step){.kind = ASSAY_STEP_FMUL, .n = o->n}, scale,
            NULL);
    kc_step(to, (struct assay_step){.kind = ASSAY_STEP_FCLAMP}, &lo, &hi);
    round_step(to, round);
    kc_int_step(to, ASSAY_STEP_ADD_ZP, o->zp);
    free(scale);
}

/* bias, pre-shift, 16 bits, 15-bit multiplier, post-shift. */
static void hbm_policy(struct kc *k, struct kc_program *to,
                       const struct operands *o, bool with_input)
{
    int64_t *bias = kc_alloc(o->n * 8u), *pre = kc_alloc(o->n * 8u);
    int64_t *scale = kc_alloc(o->n * 8u), *post = kc_alloc(o->n * 8u);
    int64_t shift = kc_range(k, -2, 3), times = kc_range(k, 0, 1000);

    for (uint32_t i = 0; i < o->n; i++) {
        bias[i] = kc_range(k, -100000, 100000);
        pre[i] = kc_range(k, 0, 6);
        scale[i] = kc_range(k, 0, 65535);
        post[i] = kc_range(k, 10, 26);
    }
    kc_step(to,
            (struct assay_step){.kind = ASSAY_STEP_ADD,
                                .add_mode = (uint8_t)kc_range(k, 0, 2),
                                .n = o->n},
            bias, NULL);
    if (with_input)
        kc_step(to,
                (struct assay_step){.kind = ASSAY_STEP_ADD_INPUT,
                                    .round = (uint8_t)kc_range(k, 0, 7)},
                &shift, &times);
    kc_step(to,
            (struct assay_step){.kind = ASSAY_STEP_SHR,
                                .round = (uint8_t)kc_range(k, 0, 7),
                                .n = o->n},
            pre, NULL);
    bits_step(to, ASSAY_STEP_SAT, 16);
    kc_step(to, (struct assay_step){.kind = ASSAY_STEP_MUL, .n = o->n}, scale,
            NULL);
    kc_step(to,
            (struct assay_step){.kind = ASSAY_STEP_SHR,
                                .round = (uint8_t)kc_range(k, 0, 7),
                                .n = o->n},
            post, NULL);
    kc_int_step(to, ASSAY_STEP_ADD_ZP, o->zp);
    clamp_step(to, o->lo, o->hi);
    free(bias);
    free(pre);
    free(scale);
    free(post);
}

/* Scaled floats without rounding, or the accumulator itself. */
static void float_output(struct kc_program *to, const struct operands *o)
{
    int64_t *scale = kc_alloc(o->n * 8u);

    for (uint32_t i = 0; i < o->n; i++)
        scale[i] = kc_f32_bits((float)real_scale(o, i));
    kc_step(to, (struct assay_step){.kind = ASSAY_STEP_TO_F32}, NULL, NULL);
    kc_step(to, (struct assay_step){.kind = ASSAY_STEP_FMUL, .n = o->n}, scale,
            NULL);
    free(scale);
}

static const char *const NAMES[KC_HZ_FIRST] = {
    "fp32_rne",           "fp32_magic",       "fp32_rne_zpin",
    "q31_double",         "q31_double_nofix", "q31_single",
    "q31_trunc_rshl_f1",  "q31_trunc_rshl",   "q31_round_rshl_f1",
    "q31_double_lsat",    "q31_floor",        "q31_trunc0",
    "fp32_half_away",     "fp32_trunc",       "fp32_trunc05",
    "fp64_rne",           "fp64_half_away",   "hbm_m15",
    "hbm_m15 with sumin", "f32 output",       "s32 output",
};

static void build(struct kc *k, struct kc_program *to, unsigned which,
                  const struct operands *o)
{
    static const enum high highs[] = {
        [3] = AWAY,  [4] = NOFIX,    [6] = TRUNC_F1,
        [7] = TRUNC, [8] = ROUND_F1, [9] = LSAT,
    };

    if (which <= 2)
        float_policy(to, o, ASSAY_ROUND_HALF_EVEN, which == 2, which == 1);
    else if (which == 5)
        product_policy(to, o, ASSAY_ROUND_HALF_UP);
    else if (which <= 9)
        high_policy(to, o, highs[which]);
    else if (which <= 11)
        product_policy(to, o,
                       which == 10 ? ASSAY_ROUND_FLOOR : ASSAY_ROUND_TRUNC);
    else if (which <= 14)
        float_policy(to, o,
                     which == 12   ? ASSAY_ROUND_HALF_AWAY
                     : which == 13 ? ASSAY_ROUND_TRUNC
                                   : ASSAY_ROUND_ADD_HALF,
                     false, false);
    else if (which <= 16)
        double_policy(
            to, o, which == 15 ? ASSAY_ROUND_HALF_EVEN : ASSAY_ROUND_HALF_AWAY);
    else if (which <= 18)
        hbm_policy(k, to, o, which == KC_HBM_INPUT);
    else if (which == 19)
        float_output(to, o);
}

static struct assay_step *step_of(struct kc_program *to, unsigned kind)
{
    for (uint32_t i = 0; i < to->p.n_steps; i++)
        if (to->p.steps[i].kind == kind)
            return &to->p.steps[i];
    return NULL;
}

/* Gives a step other operands: one a channel, or one. */
static void replace(struct kc *k, struct kc_program *to, struct assay_step *s,
                    size_t n, int64_t lo, int64_t hi)
{
    int64_t *a = kc_alloc(n * sizeof(*a));

    for (size_t i = 0; i < n; i++)
        a[i] = kc_range(k, lo, hi);
    s->n = (uint32_t)n;
    s->a = keep(to, a, n);
    free(a);
}

/*
 * Almost one of the programs that fused ends know: what recognises them must
 * see the difference. A clamp keeps the output in its range.
 */
static void near_miss(struct kc *k, struct kc_program *to, size_t channels,
                      enum assay_dtype y)
{
    int64_t lo = y == ASSAY_U8 ? 0 : y == ASSAY_S16 ? -32768 : -128;
    int64_t hi = lo + (y == ASSAY_S16 ? 65535 : 255);
    struct assay_step *zp = step_of(to, ASSAY_STEP_ADD_ZP);
    struct assay_step *shr = step_of(to, ASSAY_STEP_SHR);
    struct assay_step *fround = step_of(to, ASSAY_STEP_FROUND);
    struct assay_step *fclamp = step_of(to, ASSAY_STEP_FCLAMP);
    int64_t a = kc_f32_bits((float)lo - 0.5f), b = kc_f32_bits(99.5f);

    switch (kc_range(k, 0, 5)) {
    case 0:
        if (zp)
            replace(k, to, zp, channels, -100, 100);
        break;
    case 1:
        if (zp)
            replace(k, to, zp, 1, -40000, 40000);
        break;
    case 2:
        if (shr || fround)
            (shr ? shr : fround)->round = (uint8_t)kc_range(k, 0, 7);
        break;
    case 3:
        if (fclamp && to->p.steps[0].kind == ASSAY_STEP_TO_F32) {
            fclamp->a = keep(to, &a, 1);
            fclamp->b = keep(to, &b, 1);
        }
        break;
    case 4: kc_int_step(to, ASSAY_STEP_ADD_ZP, 1); break;
    default:
        if (step_of(to, ASSAY_STEP_WRAP))
            step_of(to, ASSAY_STEP_WRAP)->bits = 24;
        break;
    }
    clamp_step(to, lo, hi);
    to->name = "near miss";
}

void kc_policy(struct kc *k, struct kc_program *to, unsigned which,
               size_t channels, bool per_channel, enum assay_dtype *y_dtype)
{
    struct operands o;

    kc_program_begin(to, channels);
    if (which >= KC_RULE) {
        kc_rule_program(k, to, which == KC_RULE_INPUT,
                        per_channel ? channels : 1, y_dtype);
        return;
    }
    if (which >= KC_HZ_FIRST) {
        kc_hz_program(k, to, which, per_channel ? channels : 1, y_dtype);
        return;
    }
    to->name = NAMES[which];
    if (which == 19)
        *y_dtype = ASSAY_F32;
    else if (which == 20)
        *y_dtype = ASSAY_S32;
    draw(k, &o, per_channel ? channels : 1, *y_dtype);
    build(k, to, which, &o);
    if (!k->opt.bench && which <= 9 && kc_chance(k, 25))
        near_miss(k, to, channels, *y_dtype);
    free(o.m);
    free(o.s);
}
