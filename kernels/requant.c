/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scalar step interpreter: the definition of every program. It goes step
 * by step over a whole block, so that the choice of the step is made once.
 *
 * Integers wrap in 64 bits where a program leaves its proved range (nothing
 * does behind the engine's plan), so no input is undefined behaviour.
 */
#include "kernels/requant.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

int64_t assay_shr(int64_t x, int n, enum assay_round round)
{
    if (n <= 0)
        return (int64_t)((uint64_t)x << -n);
    uint64_t half = 1ull << (n - 1);
    uint64_t rest = (uint64_t)x & ((half << 1) - 1);
    int64_t q = x >> n; /* floor; rest / 2^n is what it dropped */
    switch (round) {
    case ASSAY_ROUND_CEIL: return q + (rest != 0);
    case ASSAY_ROUND_TRUNC: return q + (x < 0 && rest != 0);
    case ASSAY_ROUND_HALF_UP: return q + (rest >= half);
    case ASSAY_ROUND_HALF_DOWN: return q + (rest > half);
    case ASSAY_ROUND_HALF_EVEN:
        return q + (rest > half || (rest == half && (q & 1)));
    case ASSAY_ROUND_HALF_AWAY:
        return q + (rest > half || (rest == half && x >= 0));
    case ASSAY_ROUND_HALF_ZERO:
        return q + (rest > half || (rest == half && x < 0));
    default: return q;
    }
}

static int32_t sat32(int64_t x)
{
    return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x;
}

int32_t assay_srdhm(int32_t a, int32_t b)
{
    return sat32(((int64_t)a * b + (1ll << 30)) >> 31);
}

int32_t assay_sdmulh(int32_t a, int32_t b)
{
    return sat32(((int64_t)a * b) >> 31);
}

int64_t assay_wrap(int64_t x, unsigned bits)
{
    unsigned up = 64 - bits;
    return (int64_t)((uint64_t)x << up) >> up;
}

int64_t assay_sat(int64_t x, unsigned bits)
{
    int64_t hi = (int64_t)((1ull << (bits - 1)) - 1);
    return x > hi ? hi : x < -hi - 1 ? -hi - 1 : x;
}

static int64_t add64(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t mul64(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static float f32_of(int64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float f;
    memcpy(&f, &low, sizeof(f));
    return f;
}

static double f64_of(int64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof(d));
    return d;
}

/*
 * To an integer, without libm and without any conversion out of range. The
 * double of a float is exact, so this serves both widths. NaN gives 0.
 */
static int64_t round_float(double x, enum assay_round round)
{
    if (!(x > -4294967296.0))
        return x != x ? 0 : INT32_MIN;
    if (x > 4294967296.0)
        return INT32_MAX;
    int64_t q = (int64_t)x;      /* toward 0 */
    double rest = x - (double)q; /* exact, the sign of x */
    double size = rest < 0 ? -rest : rest;
    int64_t away = rest < 0 ? -1 : 1;
    switch (round) {
    case ASSAY_ROUND_FLOOR: q -= rest < 0; break;
    case ASSAY_ROUND_CEIL: q += rest > 0; break;
    case ASSAY_ROUND_HALF_UP:
        if (size > 0.5 || rest == 0.5)
            q += away;
        break;
    case ASSAY_ROUND_HALF_DOWN:
        if (size > 0.5 || rest == -0.5)
            q += away;
        break;
    case ASSAY_ROUND_HALF_EVEN:
        if (size > 0.5 || (size == 0.5 && (q & 1)))
            q += away;
        break;
    case ASSAY_ROUND_HALF_AWAY:
        if (size >= 0.5)
            q += away;
        break;
    case ASSAY_ROUND_HALF_ZERO:
        if (size > 0.5)
            q += away;
        break;
    default: /* TRUNC */ break;
    }
    return sat32(q);
}

static int64_t round_f32(float x, enum assay_round round)
{
    if (round == ASSAY_ROUND_ADD_HALF) {
        x = x + (x < 0 ? -0.5f : 0.5f);
        round = ASSAY_ROUND_TRUNC;
    }
    return round_float(x, round);
}

static int64_t round_f64(double x, enum assay_round round)
{
    if (round == ASSAY_ROUND_ADD_HALF) {
        x = x + (x < 0 ? -0.5 : 0.5);
        round = ASSAY_ROUND_TRUNC;
    }
    return round_float(x, round);
}

static int64_t add_mode(int64_t v, int64_t a, unsigned mode)
{
    int64_t t = add64(v, a);
    if (mode == ASSAY_ADD_WRAP32)
        return assay_wrap(t, 32);
    return mode == ASSAY_ADD_SAT32 ? sat32(t) : t;
}

/* For each value: v is the value, A and B its channel's operands. */
#define EACH(...) \
    for (size_t k = 0, c = first; k < n; k++) { \
        union assay_value *v = &block->v[k]; \
        __VA_ARGS__; \
        if (++c == wrap) \
            c = 0; \
    }
#define A (s->a[c])
#define B (s->b[c])

static void run_int_step(const struct assay_step *s,
                         const struct assay_block *block, size_t first,
                         size_t wrap)
{
    size_t n = block->n;
    enum assay_round round = (enum assay_round)s->round;
    switch (s->kind) {
    case ASSAY_STEP_ADD: EACH(v->i = add_mode(v->i, A, s->add_mode)); break;
    case ASSAY_STEP_SHL:
        EACH(v->i = assay_shr(v->i, -(int)A, ASSAY_ROUND_FLOOR));
        break;
    case ASSAY_STEP_SHR: EACH(v->i = assay_shr(v->i, (int)A, round)); break;
    case ASSAY_STEP_MUL: EACH(v->i = mul64(v->i, A)); break;
    case ASSAY_STEP_SRDHM:
        EACH(v->i = assay_srdhm((int32_t)v->i, (int32_t)A));
        break;
    case ASSAY_STEP_SDMULH:
        EACH(v->i = assay_sdmulh((int32_t)v->i, (int32_t)A));
        break;
    case ASSAY_STEP_ADD_INPUT:
        if (!block->second)
            break;
        EACH(int64_t e = assay_shr(block->second[k], (int)A, round);
             v->i = add64(v->i, mul64(e, B)));
        break;
    case ASSAY_STEP_ADD_SCALED:
        if (!block->second)
            break;
        EACH(int64_t e = assay_shr(mul64(block->second[k], B), (int)A, round);
             v->i = add64(v->i, e));
        break;
    case ASSAY_STEP_SAT: EACH(v->i = assay_sat(v->i, s->bits)); break;
    case ASSAY_STEP_WRAP: EACH(v->i = assay_wrap(v->i, s->bits)); break;
    case ASSAY_STEP_ADD_ZP: EACH(v->i = add64(v->i, A)); break;
    case ASSAY_STEP_CLAMP:
        EACH(int64_t t = v->i > A ? v->i : A; v->i = t < B ? t : B);
        break;
    case ASSAY_STEP_TO_F32: EACH(v->f = (float)v->i); break;
    case ASSAY_STEP_TO_F64: EACH(v->d = (double)v->i); break;
    default: break;
    }
}

/* max is `v > a ? v : a`, min is `t < b ? t : b`: a NaN becomes a. */
static void run_f32_step(const struct assay_step *s,
                         const struct assay_block *block, size_t first,
                         size_t wrap)
{
    size_t n = block->n;
    enum assay_round round = (enum assay_round)s->round;
    switch (s->kind) {
    case ASSAY_STEP_FMUL: EACH(v->f = v->f * f32_of(A)); break;
    case ASSAY_STEP_FDIV: EACH(v->f = v->f / f32_of(A)); break;
    case ASSAY_STEP_FADD: EACH(v->f = v->f + f32_of(A)); break;
    case ASSAY_STEP_FFMA: EACH(v->f = fmaf(v->f, f32_of(A), f32_of(B))); break;
    case ASSAY_STEP_FCLAMP:
        EACH(float lo = f32_of(A); float hi = f32_of(B);
             float t = v->f > lo ? v->f : lo; v->f = t < hi ? t : hi);
        break;
    case ASSAY_STEP_FROUND: EACH(v->i = round_f32(v->f, round)); break;
    default: break;
    }
}

static void run_f64_step(const struct assay_step *s,
                         const struct assay_block *block, size_t first,
                         size_t wrap)
{
    size_t n = block->n;
    enum assay_round round = (enum assay_round)s->round;
    switch (s->kind) {
    case ASSAY_STEP_FMUL: EACH(v->d = v->d * f64_of(A)); break;
    case ASSAY_STEP_FDIV: EACH(v->d = v->d / f64_of(A)); break;
    case ASSAY_STEP_FADD: EACH(v->d = v->d + f64_of(A)); break;
    case ASSAY_STEP_FFMA: EACH(v->d = fma(v->d, f64_of(A), f64_of(B))); break;
    case ASSAY_STEP_FCLAMP:
        EACH(double lo = f64_of(A); double hi = f64_of(B);
             double t = v->d > lo ? v->d : lo; v->d = t < hi ? t : hi);
        break;
    case ASSAY_STEP_FROUND: EACH(v->i = round_f64(v->d, round)); break;
    default: break;
    }
}

#undef EACH
#undef A
#undef B

void assay_program_run(const struct assay_program *p,
                       const struct assay_block *block)
{
    bool is_f64 = false; /* a value that is read as a float is a binary32 */
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const struct assay_step *s = &p->steps[i];
        size_t wrap = s->n > 1 ? block->channels : 1;
        size_t first = s->n > 1 ? block->channel % block->channels : 0;
        if (s->kind < ASSAY_STEP_FMUL || s->kind > ASSAY_STEP_FROUND)
            run_int_step(s, block, first, wrap);
        else if (is_f64)
            run_f64_step(s, block, first, wrap);
        else
            run_f32_step(s, block, first, wrap);
        if (s->kind == ASSAY_STEP_TO_F32 || s->kind == ASSAY_STEP_TO_F64)
            is_f64 = s->kind == ASSAY_STEP_TO_F64;
    }
}

#define EACH(expr) \
    for (size_t j = 0; j < n; j++) \
    expr

/* IEEE 754-2019 maximum: NaN when either is one, +0 above -0. */
static float maximum(float a, float b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    return a > b || (a == b && !signbit(a)) ? a : b;
}

void assay_combine(enum assay_combine how, float k, union assay_value *a,
                   const union assay_value *b, size_t n)
{
    switch (how) {
    case ASSAY_COMBINE_ADD: EACH(a[j].i = add64(a[j].i, b[j].i)); break;
    case ASSAY_COMBINE_SUB:
        EACH(a[j].i = (int64_t)((uint64_t)a[j].i - (uint64_t)b[j].i));
        break;
    case ASSAY_COMBINE_MUL: EACH(a[j].i = mul64(a[j].i, b[j].i)); break;
    case ASSAY_COMBINE_FADD: EACH(a[j].f = a[j].f + b[j].f); break;
    case ASSAY_COMBINE_FSUB: EACH(a[j].f = a[j].f - b[j].f); break;
    case ASSAY_COMBINE_FMUL: EACH(a[j].f = a[j].f * b[j].f); break;
    case ASSAY_COMBINE_FDIV: EACH(a[j].f = a[j].f / b[j].f); break;
    case ASSAY_COMBINE_FFMA: EACH(a[j].f = fmaf(b[j].f, k, a[j].f)); break;
    case ASSAY_COMBINE_MAX:
        EACH(a[j].i = a[j].i > b[j].i ? a[j].i : b[j].i);
        break;
    case ASSAY_COMBINE_MIN:
        EACH(a[j].i = a[j].i < b[j].i ? a[j].i : b[j].i);
        break;
    case ASSAY_COMBINE_FMAX: EACH(a[j].f = maximum(a[j].f, b[j].f)); break;
    case ASSAY_COMBINE_FMIN: EACH(a[j].f = -maximum(-a[j].f, -b[j].f)); break;
    }
}

void assay_load_values(enum assay_dtype dtype, const void *src,
                       union assay_value *v, size_t n)
{
    switch (dtype) {
    case ASSAY_S8: EACH(v[j].i = ((const int8_t *)src)[j]); break;
    case ASSAY_U8: EACH(v[j].i = ((const uint8_t *)src)[j]); break;
    case ASSAY_S16: EACH(v[j].i = ((const int16_t *)src)[j]); break;
    case ASSAY_U16: EACH(v[j].i = ((const uint16_t *)src)[j]); break;
    case ASSAY_S32: EACH(v[j].i = ((const int32_t *)src)[j]); break;
    case ASSAY_F32: EACH(v[j].f = ((const float *)src)[j]); break;
    case ASSAY_S64: EACH(v[j].i = ((const int64_t *)src)[j]); break;
    }
}

void assay_store_values(enum assay_dtype dtype, void *dst,
                        const union assay_value *v, size_t n)
{
    switch (dtype) {
    case ASSAY_S8: EACH(((int8_t *)dst)[j] = (int8_t)v[j].i); break;
    case ASSAY_U8: EACH(((uint8_t *)dst)[j] = (uint8_t)v[j].i); break;
    case ASSAY_S16: EACH(((int16_t *)dst)[j] = (int16_t)v[j].i); break;
    case ASSAY_U16: EACH(((uint16_t *)dst)[j] = (uint16_t)v[j].i); break;
    case ASSAY_S32: EACH(((int32_t *)dst)[j] = (int32_t)v[j].i); break;
    case ASSAY_F32: EACH(((float *)dst)[j] = v[j].f); break;
    case ASSAY_S64: EACH(((int64_t *)dst)[j] = v[j].i); break;
    }
}

size_t assay_dtype_size(enum assay_dtype dtype)
{
    switch (dtype) {
    case ASSAY_S8:
    case ASSAY_U8: return 1;
    case ASSAY_S16:
    case ASSAY_U16: return 2;
    case ASSAY_S32:
    case ASSAY_F32: return 4;
    case ASSAY_S64: return 8;
    }
    return 0;
}
