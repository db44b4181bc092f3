/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requantization policies of docs/numerics.md as programs, and the
 * derivation of multiplier and exponent from a real scale.
 */
#include "lib/core/arith_build.h"

#include <math.h>
#include <string.h>

void assay_derive_multiplier(double x, int32_t *m, int *s)
{
    int e;
    *m = 0;
    *s = 0;
    if (!(x > 0) || !isfinite(x))
        return;
    double q = frexp(x, &e);          /* x = q * 2^e, 1/2 <= q < 1 */
    double scaled = q * 2147483648.0; /* exact: only the exponent changes */
    int64_t mm = (int64_t)scaled;     /* at least 2^30, so q * 2^31 has a */
    if (scaled - (double)mm >= 0.5)   /* fraction below the 53 bits */
        mm++;                         /* half away from 0 */
    if (mm == 1ll << 31) {
        mm >>= 1;
        e++;
    }
    if (e < -31)
        return;
    *m = (int32_t)mm;
    *s = e;
}

enum policy_kind {
    DOUBLE_AWAY,
    DOUBLE_UP,
    DOUBLE_LSAT,
    SINGLE,
    FLOOR,
    TRUNC0,
    HIGH_TRUNC,
    HIGH_TRUNC_F1,
    HIGH_ROUND_F1,
    Q16,
    F32,
    F32_MAGIC,
    F32_ZPIN,
    F32_FLOOR05,
    F64,
};

static const struct policy {
    const char *name;
    enum policy_kind kind;
    enum assay_round round; /* of the float policies */
} POLICIES[] = {
    {"q31_double", DOUBLE_AWAY, 0},
    {"q31_double_nofix", DOUBLE_UP, 0},
    {"q31_double_lsat", DOUBLE_LSAT, 0},
    {"q31_single", SINGLE, 0},
    {"q31_trunc_rshl", HIGH_TRUNC, 0},
    {"q31_trunc_rshl_f1", HIGH_TRUNC_F1, 0},
    {"q31_round_rshl_f1", HIGH_ROUND_F1, 0},
    {"q31_floor", FLOOR, 0},
    {"q31_trunc0", TRUNC0, 0},
    {"q16_i64", Q16, 0},
    {"fp32_rne", F32, ASSAY_ROUND_HALF_EVEN},
    {"fp32_magic", F32_MAGIC, ASSAY_ROUND_TRUNC},
    {"fp32_rne_zpin", F32_ZPIN, ASSAY_ROUND_HALF_EVEN},
    {"fp32_half_away", F32, ASSAY_ROUND_HALF_AWAY},
    {"fp32_trunc", F32, ASSAY_ROUND_TRUNC},
    {"fp32_floor05", F32_FLOOR05, ASSAY_ROUND_FLOOR},
    {"fp32_trunc05", F32, ASSAY_ROUND_ADD_HALF},
    {"fp64_rne", F64, ASSAY_ROUND_HALF_EVEN},
    {"fp64_half_away", F64, ASSAY_ROUND_HALF_AWAY},
};

static const struct policy *find(const char *name)
{
    for (size_t i = 0; i < sizeof(POLICIES) / sizeof(POLICIES[0]); i++)
        if (strcmp(POLICIES[i].name, name) == 0)
            return &POLICIES[i];
    return NULL;
}

bool assay_policy_known(const char *policy)
{
    return find(policy) != NULL;
}

static bool is_integer(const struct policy *p)
{
    return p->kind <= Q16;
}

/* Multiplier and exponent of every channel against the policy's domain. */
static void check_integer(struct assay_builder *b, const struct policy *p,
                          const struct assay_policy_operands *ops)
{
    int s_max = 30;
    /* The golden rows define the others for negative multipliers, too. */
    bool negative = p->kind != SINGLE && p->kind != Q16;
    if (p->kind == Q16)
        s_max = 7;
    else if (p->kind == HIGH_TRUNC_F1 || p->kind == HIGH_ROUND_F1)
        s_max = 29;
    if (!ops->m || !ops->s) {
        assay_build_fail(b, ASSAY_EFORMAT,
                         "policy '%s' has no multiplier and exponent", p->name);
        return;
    }
    for (uint32_t i = 0; i < ops->n; i++) {
        if (ops->s[i] < -31 || ops->s[i] > s_max)
            assay_build_fail(b, ASSAY_ERANGE,
                             "exponent of policy '%s' is %d in channel %u: "
                             "expected -31 to %d",
                             p->name, ops->s[i], (unsigned)i, s_max);
        if (ops->m[i] < 0 && !negative)
            assay_build_fail(b, ASSAY_ERANGE,
                             "multiplier of policy '%s' is %d in channel %u: "
                             "expected 0 or more",
                             p->name, (int)ops->m[i], (unsigned)i);
    }
}

static void check_float(struct assay_builder *b, const struct policy *p,
                        const struct assay_policy_operands *ops)
{
    if (p->kind == F64 ? !ops->scale64 : !ops->scale32) {
        assay_build_fail(b, ASSAY_EFORMAT, "policy '%s' has no binary%d scale",
                         p->name, p->kind == F64 ? 64 : 32);
        return;
    }
    for (uint32_t i = 0; i < ops->n; i++) {
        double scale =
            p->kind == F64 ? ops->scale64[i] : (double)ops->scale32[i];
        if (!isfinite(scale) || scale <= 0)
            assay_build_fail(b, ASSAY_ERANGE,
                             "scale of policy '%s' is %g in channel %u: "
                             "expected a finite number above 0",
                             p->name, scale, (unsigned)i);
    }
    if (p->kind == F32_MAGIC &&
        (ops->qmin - ops->zp < -(1 << 22) || ops->qmax - ops->zp > (1 << 22)))
        assay_build_fail(b, ASSAY_ERANGE,
                         "range of policy '%s' is %lld to %lld with zero point "
                         "%d: expected at most 4194304 from the zero point",
                         p->name, (long long)ops->qmin, (long long)ops->qmax,
                         (int)ops->zp);
}

static void check(struct assay_builder *b, const struct policy *p,
                  const struct assay_policy_operands *ops)
{
    if (ops->n == 0)
        assay_build_fail(b, ASSAY_ERANGE,
                         "policy '%s' has 0 channels: expected 1 or more",
                         p->name);
    if (ops->qmin > ops->qmax || ops->qmin < -(1ll << 32) ||
        ops->qmax > 1ll << 32)
        assay_build_fail(b, ASSAY_ERANGE,
                         "output range of policy '%s' is %lld to %lld: "
                         "expected an ordered range within 33 bits",
                         p->name, (long long)ops->qmin, (long long)ops->qmax);
    if (is_integer(p))
        check_integer(b, p, ops);
    else
        check_float(b, p, ops);
}

/* Operands of one integer step, from the exponents and multipliers. */
static int64_t *operands(struct assay_builder *b, uint32_t n)
{
    int64_t *a = assay_arena_array(b->arena, n, sizeof(*a));
    if (!a)
        assay_build_fail(b, ASSAY_EMEMORY,
                         "out of memory while a program was built");
    return a;
}

/* left shift, wrap or saturate to 32 bits, high multiply, right shift. */
static void build_high(struct assay_builder *b, const struct policy *p,
                       const struct assay_policy_operands *ops)
{
    bool f1 = p->kind == HIGH_TRUNC_F1 || p->kind == HIGH_ROUND_F1;
    bool truncates = p->kind == HIGH_TRUNC || p->kind == HIGH_TRUNC_F1;
    int64_t *left = operands(b, ops->n), *right = operands(b, ops->n);
    int64_t *m = operands(b, ops->n);
    bool any_left = false;
    if (b->code)
        return;
    for (uint32_t i = 0; i < ops->n; i++) {
        int s = ops->s[i], down = s < 0 ? -s : 0;
        if (f1 && down == 0)
            down = 1;
        right[i] = down;
        left[i] = s + down; /* 0 where s < 0 */
        any_left |= left[i] > 0;
        m[i] = ops->m[i];
    }
    if (any_left) {
        assay_build_ints(b, ASSAY_STEP_SHL, ops->n, left);
        assay_build_bits(
            b, p->kind == DOUBLE_LSAT ? ASSAY_STEP_SAT : ASSAY_STEP_WRAP, 32);
    }
    assay_build_ints(b, truncates ? ASSAY_STEP_SDMULH : ASSAY_STEP_SRDHM,
                     ops->n, m);
    assay_build_shr(b, ops->n, right,
                    p->kind == DOUBLE_AWAY || p->kind == DOUBLE_LSAT
                        ? ASSAY_ROUND_HALF_AWAY
                        : ASSAY_ROUND_HALF_UP);
}

/* exact product, one shift. */
static void build_product(struct assay_builder *b, const struct policy *p,
                          const struct assay_policy_operands *ops)
{
    enum assay_round round = p->kind == FLOOR    ? ASSAY_ROUND_FLOOR
                             : p->kind == TRUNC0 ? ASSAY_ROUND_TRUNC
                                                 : ASSAY_ROUND_HALF_UP;
    int64_t *m = operands(b, ops->n), *right = operands(b, ops->n);
    if (b->code)
        return;
    for (uint32_t i = 0; i < ops->n; i++) {
        m[i] = ops->m[i];
        right[i] = 31 - ops->s[i];
        if (p->kind == Q16) { /* the multiplier's upper 16 bits, rounded */
            m[i] = m[i] < 0x7FFF0000 ? (m[i] + (1 << 15)) >> 16 : 0x7FFF;
            right[i] = 15 - ops->s[i];
        }
    }
    assay_build_ints(b, ASSAY_STEP_MUL, ops->n, m);
    assay_build_shr(b, ops->n, right, round);
    if (p->kind == Q16)
        assay_build_bits(b, ASSAY_STEP_WRAP, 32);
}

static void build_f32(struct assay_builder *b, const struct policy *p,
                      const struct assay_policy_operands *ops)
{
    bool zpin = p->kind == F32_ZPIN;
    int64_t lo = ops->qmin - (zpin ? 0 : ops->zp);
    int64_t hi = ops->qmax - (zpin ? 0 : ops->zp);
    assay_build_plain(b, ASSAY_STEP_TO_F32, ASSAY_ROUND_FLOOR);
    assay_build_f32s(b, ASSAY_STEP_FMUL, ops->n, ops->scale32);
    if (zpin)
        assay_build_f32(b, ASSAY_STEP_FADD, (float)ops->zp);
    assay_build_f32_pair(b, ASSAY_STEP_FCLAMP, (float)lo, (float)hi);
    if (p->kind == F32_MAGIC) { /* bits of x (+) 1.5 * 2^23, see E1 */
        assay_build_f32(b, ASSAY_STEP_FADD, 12582912.0f);
        assay_build_f32(b, ASSAY_STEP_FADD, -12582912.0f);
    }
    if (p->kind == F32_FLOOR05)
        assay_build_f32(b, ASSAY_STEP_FADD, 0.5f);
    assay_build_plain(b, ASSAY_STEP_FROUND, p->round);
    if (!zpin)
        assay_build_int(b, ASSAY_STEP_ADD_ZP, ops->zp);
    /* Bounds that a binary32 cannot hold, or that rounding can leave. */
    if ((int64_t)(float)lo != lo || (int64_t)(float)hi != hi ||
        p->kind == F32_FLOOR05 || p->round == ASSAY_ROUND_ADD_HALF)
        assay_build_clamp(b, ops->qmin, ops->qmax);
}

static void build_f64(struct assay_builder *b, const struct policy *p,
                      const struct assay_policy_operands *ops)
{
    assay_build_plain(b, ASSAY_STEP_TO_F64, ASSAY_ROUND_FLOOR);
    assay_build_f64s(b, ASSAY_STEP_FMUL, ops->n, ops->scale64);
    assay_build_f64_pair(b, ASSAY_STEP_FCLAMP, (double)(ops->qmin - ops->zp),
                         (double)(ops->qmax - ops->zp));
    assay_build_plain(b, ASSAY_STEP_FROUND, p->round);
    assay_build_int(b, ASSAY_STEP_ADD_ZP, ops->zp);
}

void assay_build_policy(struct assay_builder *b, const char *policy,
                        const struct assay_policy_operands *ops)
{
    const struct policy *p = find(policy);
    if (!p) {
        assay_build_fail(b, ASSAY_EUSAGE, "unknown policy '%s'", policy);
        return;
    }
    check(b, p, ops);
    if (b->code)
        return;
    if (p->kind == F64) {
        build_f64(b, p, ops);
        return;
    }
    if (!is_integer(p)) {
        build_f32(b, p, ops);
        return;
    }
    if (p->kind == SINGLE || p->kind == FLOOR || p->kind == TRUNC0 ||
        p->kind == Q16)
        build_product(b, p, ops);
    else
        build_high(b, p, ops);
    assay_build_int(b, ASSAY_STEP_ADD_ZP, ops->zp);
    assay_build_clamp(b, ops->qmin, ops->qmax);
}

int assay_policy_program(struct assay_arena *arena, const char *policy,
                         const struct assay_policy_operands *ops,
                         struct assay_program *out, struct assay_err *err)
{
    struct assay_builder b;
    assay_build_begin(&b, arena, err);
    assay_build_policy(&b, policy, ops);
    return assay_build_end(&b, out);
}

int assay_arith_policy(struct assay_builder *b, const char *policy, uint32_t n,
                       const float *scale32, const double *scale64,
                       const struct assay_uniform *y)
{
    struct assay_policy_operands ops = {.n = n,
                                        .scale32 = scale32,
                                        .scale64 = scale64,
                                        .zp = y->zero,
                                        .qmin = y->lo,
                                        .qmax = y->hi};
    const struct policy *p = find(policy);
    if (p && is_integer(p) && !b->code) {
        int32_t *m = assay_arena_array(b->arena, n, sizeof(*m));
        int *s = assay_arena_array(b->arena, n, sizeof(*s));
        if (!m || !s) {
            assay_build_fail(b, ASSAY_EMEMORY,
                             "out of memory while a program was built");
            return b->code;
        }
        for (uint32_t i = 0; i < n; i++)
            assay_derive_multiplier(scale64[i], &m[i], &s[i]);
        ops.m = m;
        ops.s = s;
    }
    assay_build_policy(b, policy, &ops);
    return b->code;
}
