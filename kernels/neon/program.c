/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The step interpreter in vectors: 64 values at a time, dense in the type
 * that they have at each step (int64, binary32, binary64). Lanes behind the
 * last value compute on zeros and are dropped.
 */
#include "kernels/neon/vector.h"

#include <arm_neon.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/kernels.h"

#define CHUNK 64u
#define INLINE static inline __attribute__((always_inline))

enum kind { KIND_INT, KIND_F32, KIND_F64 };

struct chunk {
    enum kind kind;
    size_t n; /* rounded up to 4 */
    int64_t i[CHUNK];
    float f[CHUNK];
    double d[CHUNK];
    int64_t a[CHUNK], b[CHUNK]; /* operands of the step, one a value */
    int64_t second[CHUNK];
    bool has_second;
};

/* SHR(x, n, round) of numerics.md 0.1, n < 0: to the left. */
INLINE int64x2_t shift(int64x2_t x, int64x2_t n, enum assay_round round)
{
    int64x2_t one = vdupq_n_s64(1), zero = vdupq_n_s64(0);
    uint64x2_t right = vcgtq_s64(n, zero);
    int64x2_t q = vshlq_s64(x, vnegq_s64(n));
    int64x2_t rest, half;
    uint64x2_t up, tie;

    if (round == ASSAY_ROUND_FLOOR)
        return q;
    /* rest < 2^62, so signed comparisons do. */
    rest = vandq_s64(x, vsubq_s64(vshlq_s64(one, n), one));
    half = vshlq_s64(one, vsubq_s64(n, one));
    tie = vceqq_s64(rest, half);
    up = vcgtq_s64(rest, half);
    switch (round) {
    case ASSAY_ROUND_CEIL: up = vcgtq_s64(rest, zero); break;
    case ASSAY_ROUND_TRUNC:
        up = vandq_u64(vcgtq_s64(rest, zero), vcltq_s64(x, zero));
        break;
    case ASSAY_ROUND_HALF_UP: up = vorrq_u64(up, tie); break;
    case ASSAY_ROUND_HALF_EVEN:
        up = vorrq_u64(up, vandq_u64(tie, vtstq_s64(q, one)));
        break;
    case ASSAY_ROUND_HALF_AWAY:
        up = vorrq_u64(up, vandq_u64(tie, vcgeq_s64(x, zero)));
        break;
    case ASSAY_ROUND_HALF_ZERO:
        up = vorrq_u64(up, vandq_u64(tie, vcltq_s64(x, zero)));
        break;
    case ASSAY_ROUND_HALF_DOWN: break;
    default: return q;
    }
    up = vandq_u64(up, right);
    return vsubq_s64(q, vreinterpretq_s64_u64(up)); /* a mask is -1 */
}

INLINE void shift_all(int64_t *x, const int64_t *by, size_t n,
                      enum assay_round round)
{
    for (size_t k = 0; k < n; k += 2)
        vst1q_s64(x + k, shift(vld1q_s64(x + k), vld1q_s64(by + k), round));
}

static void shift_round(int64_t *x, const int64_t *by, size_t n,
                        enum assay_round round)
{
    switch (round) {
    case ASSAY_ROUND_CEIL: shift_all(x, by, n, ASSAY_ROUND_CEIL); break;
    case ASSAY_ROUND_TRUNC: shift_all(x, by, n, ASSAY_ROUND_TRUNC); break;
    case ASSAY_ROUND_HALF_UP: shift_all(x, by, n, ASSAY_ROUND_HALF_UP); break;
    case ASSAY_ROUND_HALF_EVEN:
        shift_all(x, by, n, ASSAY_ROUND_HALF_EVEN);
        break;
    case ASSAY_ROUND_HALF_AWAY:
        shift_all(x, by, n, ASSAY_ROUND_HALF_AWAY);
        break;
    case ASSAY_ROUND_HALF_DOWN:
        shift_all(x, by, n, ASSAY_ROUND_HALF_DOWN);
        break;
    case ASSAY_ROUND_HALF_ZERO:
        shift_all(x, by, n, ASSAY_ROUND_HALF_ZERO);
        break;
    default: shift_all(x, by, n, ASSAY_ROUND_FLOOR); break;
    }
}

INLINE int64x2_t bound(int64x2_t v, int64x2_t lo, int64x2_t hi)
{
    v = vbslq_s64(vcgtq_s64(v, lo), v, lo);
    return vbslq_s64(vcltq_s64(v, hi), v, hi);
}

INLINE int64x2_t bound_32(int64x2_t v)
{
    return vmovl_s32(vqmovn_s64(v));
}

#define EACH_2(expr) \
    for (size_t k = 0; k < c->n; k += 2) { \
        int64x2_t v = vld1q_s64(c->i + k); \
        int64x2_t a = vld1q_s64(c->a + k); \
        int64x2_t b = vld1q_s64(c->b + k); \
        (void)a; \
        (void)b; \
        vst1q_s64(c->i + k, expr); \
    }

static void multiply(int64_t *to, const int64_t *by, size_t n)
{
    for (size_t k = 0; k < n; k++)
        to[k] = (int64_t)((uint64_t)to[k] * (uint64_t)by[k]);
}

static void add_step(const struct assay_step *s, struct chunk *c)
{
    if (s->add_mode == ASSAY_ADD_WRAP32)
        EACH_2(vmovl_s32(vmovn_s64(vaddq_s64(v, a))))
    else if (s->add_mode == ASSAY_ADD_SAT32)
        EACH_2(bound_32(vaddq_s64(v, a)))
    else
        EACH_2(vaddq_s64(v, a))
}

static void add_input(const struct assay_step *s, struct chunk *c)
{
    int64_t e[CHUNK];

    if (!c->has_second)
        return;
    memcpy(e, c->second, c->n * sizeof(e[0]));
    if (s->kind == ASSAY_STEP_ADD_SCALED)
        multiply(e, c->b, c->n);
    shift_round(e, c->a, c->n, (enum assay_round)s->round);
    if (s->kind == ASSAY_STEP_ADD_INPUT)
        multiply(e, c->b, c->n);
    for (size_t k = 0; k < c->n; k += 2)
        vst1q_s64(c->i + k, vaddq_s64(vld1q_s64(c->i + k), vld1q_s64(e + k)));
}

/* One rounding: through binary64 only where that is exact. */
static void to_f32(struct chunk *c)
{
    uint64x2_t far = vdupq_n_u64(0);
    uint64x2_t limit = vdupq_n_u64(1ull << 54);

    for (size_t k = 0; k < c->n; k += 2) {
        uint64x2_t v = vreinterpretq_u64_s64(vld1q_s64(c->i + k));

        far = vorrq_u64(
            far, vcgtq_u64(vaddq_u64(v, vdupq_n_u64(1ull << 53)), limit));
    }
    if (vgetq_lane_u64(far, 0) | vgetq_lane_u64(far, 1)) {
        for (size_t k = 0; k < c->n; k++)
            c->f[k] = (float)c->i[k];
        return;
    }
    for (size_t k = 0; k < c->n; k += 4) {
        float64x2_t lo = vcvtq_f64_s64(vld1q_s64(c->i + k));
        float64x2_t hi = vcvtq_f64_s64(vld1q_s64(c->i + k + 2));

        vst1q_f32(c->f + k, vcvt_high_f32_f64(vcvt_f32_f64(lo), hi));
    }
}

static void int_step(const struct assay_step *s, struct chunk *c)
{
    switch (s->kind) {
    case ASSAY_STEP_ADD: add_step(s, c); break;
    case ASSAY_STEP_SHL: EACH_2(vshlq_s64(v, a)) break;
    case ASSAY_STEP_SHR:
        shift_round(c->i, c->a, c->n, (enum assay_round)s->round);
        break;
    case ASSAY_STEP_MUL: multiply(c->i, c->a, c->n); break;
    case ASSAY_STEP_SRDHM:
        EACH_2(vmovl_s32(vqrdmulh_s32(vmovn_s64(v), vmovn_s64(a))))
        break;
    case ASSAY_STEP_SDMULH:
        EACH_2(vmovl_s32(vqdmulh_s32(vmovn_s64(v), vmovn_s64(a))))
        break;
    case ASSAY_STEP_ADD_INPUT:
    case ASSAY_STEP_ADD_SCALED: add_input(s, c); break;
    case ASSAY_STEP_SAT: {
        int64_t top = (int64_t)((1ull << (s->bits - 1)) - 1);
        int64x2_t hi = vdupq_n_s64(top), lo = vdupq_n_s64(-top - 1);

        EACH_2(bound(v, lo, hi))
        break;
    }
    case ASSAY_STEP_WRAP: {
        int64x2_t up = vdupq_n_s64(64 - s->bits);

        EACH_2(vshlq_s64(vshlq_s64(v, up), vnegq_s64(up)))
        break;
    }
    case ASSAY_STEP_ADD_ZP: EACH_2(vaddq_s64(v, a)) break;
    case ASSAY_STEP_CLAMP: EACH_2(bound(v, a, b)) break;
    case ASSAY_STEP_TO_F32:
        to_f32(c);
        c->kind = KIND_F32;
        break;
    case ASSAY_STEP_TO_F64:
        for (size_t k = 0; k < c->n; k += 2)
            vst1q_f64(c->d + k, vcvtq_f64_s64(vld1q_s64(c->i + k)));
        c->kind = KIND_F64;
        break;
    default: break;
    }
}

/* Two rounded values; everything outside int32 saturates, NaN is 0. */
INLINE int64x2_t rounded(float64x2_t x, enum assay_round round)
{
    float64x2_t zero = vdupq_n_f64(0.0), half = vdupq_n_f64(0.5);
    float64x2_t t = vrndq_f64(x);
    float64x2_t rest = vabsq_f64(vsubq_f64(x, t)); /* exact */
    uint64x2_t up = vcgtq_f64(rest, half), tie = vceqq_f64(rest, half);
    int64x2_t v, away;

    switch (round) {
    case ASSAY_ROUND_FLOOR: return bound_32(vcvtq_s64_f64(vrndmq_f64(x)));
    case ASSAY_ROUND_CEIL: return bound_32(vcvtq_s64_f64(vrndpq_f64(x)));
    case ASSAY_ROUND_HALF_EVEN: return bound_32(vcvtnq_s64_f64(x));
    case ASSAY_ROUND_HALF_AWAY: return bound_32(vcvtaq_s64_f64(x));
    case ASSAY_ROUND_HALF_UP:
        up = vorrq_u64(up, vandq_u64(tie, vcgtq_f64(x, zero)));
        break;
    case ASSAY_ROUND_HALF_DOWN:
        up = vorrq_u64(up, vandq_u64(tie, vcltq_f64(x, zero)));
        break;
    case ASSAY_ROUND_HALF_ZERO: break;
    default: /* TRUNC, and ADD_HALF after its addition */
        return bound_32(vcvtq_s64_f64(t));
    }
    v = vcvtq_s64_f64(t);
    away = vbslq_s64(vcltq_f64(x, zero), vdupq_n_s64(-1), vdupq_n_s64(1));
    return bound_32(vaddq_s64(v, vandq_s64(away, vreinterpretq_s64_u64(up))));
}

INLINE void round_all(struct chunk *c, enum assay_round round)
{
    for (size_t k = 0; k < c->n; k += 2)
        vst1q_s64(c->i + k, rounded(vld1q_f64(c->d + k), round));
}

/* Rounds c->d to c->i. */
static void round_step(struct chunk *c, enum assay_round round)
{
    switch (round) {
    case ASSAY_ROUND_FLOOR: round_all(c, ASSAY_ROUND_FLOOR); break;
    case ASSAY_ROUND_CEIL: round_all(c, ASSAY_ROUND_CEIL); break;
    case ASSAY_ROUND_HALF_UP: round_all(c, ASSAY_ROUND_HALF_UP); break;
    case ASSAY_ROUND_HALF_EVEN: round_all(c, ASSAY_ROUND_HALF_EVEN); break;
    case ASSAY_ROUND_HALF_AWAY: round_all(c, ASSAY_ROUND_HALF_AWAY); break;
    case ASSAY_ROUND_HALF_DOWN: round_all(c, ASSAY_ROUND_HALF_DOWN); break;
    case ASSAY_ROUND_HALF_ZERO: round_all(c, ASSAY_ROUND_HALF_ZERO); break;
    default: round_all(c, ASSAY_ROUND_TRUNC); break;
    }
}

/* The binary32 operands of four values. */
INLINE float32x4_t operands_f32(const int64_t *a)
{
    return vreinterpretq_f32_s32(
        vmovn_high_s64(vmovn_s64(vld1q_s64(a)), vld1q_s64(a + 2)));
}

#define EACH_F32(expr) \
    for (size_t k = 0; k < c->n; k += 4) { \
        float32x4_t v = vld1q_f32(c->f + k); \
        float32x4_t a = operands_f32(c->a + k); \
        float32x4_t b = operands_f32(c->b + k); \
        (void)b; \
        vst1q_f32(c->f + k, expr); \
    }

INLINE float32x4_t bound_f32(float32x4_t v, float32x4_t lo, float32x4_t hi)
{
    v = vbslq_f32(vcgtq_f32(v, lo), v, lo);
    return vbslq_f32(vcltq_f32(v, hi), v, hi);
}

static void f32_step(const struct assay_step *s, struct chunk *c)
{
    float32x4_t half = vdupq_n_f32(0.5f), minus = vdupq_n_f32(-0.5f);

    switch (s->kind) {
    case ASSAY_STEP_FMUL: EACH_F32(vmulq_f32(v, a)) break;
    case ASSAY_STEP_FDIV: EACH_F32(vdivq_f32(v, a)) break;
    case ASSAY_STEP_FADD: EACH_F32(vaddq_f32(v, a)) break;
    case ASSAY_STEP_FFMA: EACH_F32(vfmaq_f32(b, v, a)) break;
    case ASSAY_STEP_FCLAMP: EACH_F32(bound_f32(v, a, b)) break;
    case ASSAY_STEP_FROUND:
        for (size_t k = 0; k < c->n; k += 4) {
            float32x4_t v = vld1q_f32(c->f + k);

            if (s->round == ASSAY_ROUND_ADD_HALF)
                v = vaddq_f32(v, vbslq_f32(vcltzq_f32(v), minus, half));
            vst1q_f64(c->d + k, vcvt_f64_f32(vget_low_f32(v)));
            vst1q_f64(c->d + k + 2, vcvt_high_f64_f32(v));
        }
        round_step(c, (enum assay_round)s->round);
        c->kind = KIND_INT;
        break;
    default: break;
    }
}

#define EACH_F64(expr) \
    for (size_t k = 0; k < c->n; k += 2) { \
        float64x2_t v = vld1q_f64(c->d + k); \
        float64x2_t a = vreinterpretq_f64_s64(vld1q_s64(c->a + k)); \
        float64x2_t b = vreinterpretq_f64_s64(vld1q_s64(c->b + k)); \
        (void)a; \
        (void)b; \
        vst1q_f64(c->d + k, expr); \
    }

INLINE float64x2_t bound_f64(float64x2_t v, float64x2_t lo, float64x2_t hi)
{
    v = vbslq_f64(vcgtq_f64(v, lo), v, lo);
    return vbslq_f64(vcltq_f64(v, hi), v, hi);
}

static void f64_step(const struct assay_step *s, struct chunk *c)
{
    float64x2_t half = vdupq_n_f64(0.5), minus = vdupq_n_f64(-0.5);

    switch (s->kind) {
    case ASSAY_STEP_FMUL: EACH_F64(vmulq_f64(v, a)) break;
    case ASSAY_STEP_FDIV: EACH_F64(vdivq_f64(v, a)) break;
    case ASSAY_STEP_FADD: EACH_F64(vaddq_f64(v, a)) break;
    case ASSAY_STEP_FFMA: EACH_F64(vfmaq_f64(b, v, a)) break;
    case ASSAY_STEP_FCLAMP: EACH_F64(bound_f64(v, a, b)) break;
    case ASSAY_STEP_FROUND:
        if (s->round == ASSAY_ROUND_ADD_HALF)
            EACH_F64(vaddq_f64(v, vbslq_f64(vcltzq_f64(v), minus, half)))
        round_step(c, (enum assay_round)s->round);
        c->kind = KIND_INT;
        break;
    default: break;
    }
}

/* One operand a value, of channels channel, channel + 1, ... */
static void spread(const int64_t *from, uint32_t n, size_t channel,
                   size_t channels, size_t count, int64_t *to)
{
    if (!from)
        return;
    if (n == 1) {
        for (size_t k = 0; k < count; k += 2)
            vst1q_s64(to + k, vdupq_n_s64(from[0]));
        return;
    }
    for (size_t k = 0; k < count; k++) {
        to[k] = from[channel];
        if (++channel == channels)
            channel = 0;
    }
}

static bool is_float_step(const struct assay_step *s)
{
    return s->kind >= ASSAY_STEP_FMUL && s->kind <= ASSAY_STEP_FROUND;
}

static void load(struct chunk *c, const union assay_value *v, size_t n,
                 const int32_t *second, enum kind kind)
{
    c->n = (n + 3) & ~(size_t)3;
    c->kind = kind;
    c->has_second = second != NULL;
    for (size_t k = 0; k < c->n; k++) {
        c->i[k] = 0;
        c->f[k] = 0.0f;
        c->second[k] = 0;
    }
    for (size_t k = 0; k < n; k++) {
        if (kind == KIND_INT)
            c->i[k] = v[k].i;
        else
            c->f[k] = v[k].f;
        if (second)
            c->second[k] = second[k];
    }
}

static void store(const struct chunk *c, union assay_value *v, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        if (c->kind == KIND_INT)
            v[k].i = c->i[k];
        else if (c->kind == KIND_F32)
            v[k].f = c->f[k];
        else
            v[k].d = c->d[k];
    }
}

void assay_program_vector(const struct assay_program *p,
                          const struct assay_block *block)
{
    size_t channel = block->channel % block->channels;
    struct chunk c;

    if (p->n_steps == 0)
        return;
    for (size_t k = 0; k < CHUNK; k++)
        c.a[k] = c.b[k] = 0;
    for (size_t at = 0; at < block->n; at += CHUNK) {
        size_t n = block->n - at < CHUNK ? block->n - at : CHUNK;

        load(&c, block->v + at, n, block->second ? block->second + at : NULL,
             is_float_step(&p->steps[0]) ? KIND_F32 : KIND_INT);
        for (uint32_t i = 0; i < p->n_steps; i++) {
            const struct assay_step *s = &p->steps[i];

            spread(s->a, s->n, channel, block->channels, c.n, c.a);
            spread(s->b, s->n, channel, block->channels, c.n, c.b);
            if (!is_float_step(s))
                int_step(s, &c);
            else if (c.kind == KIND_F64)
                f64_step(s, &c);
            else
                f32_step(s, &c);
        }
        store(&c, block->v + at, n);
        channel = (channel + n) % block->channels;
    }
}

const struct assay_program_kernel assay_program__neon = {
    .name = "assay_program__neon",
    .isa = ASSAY_ISA_NEON,
    .run = assay_program_vector,
};
