/* SPDX-License-Identifier: Apache-2.0 */
/* function and normalize: the scalar kernels within their last bits. */
#include "tests/kernels/kcheck.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 512

/* One unit in the last place of a binary32, or the same special value. */
static bool close_to(float got, long double want)
{
    if (isnan(want))
        return isnan(got);
    if (fabsl(want) > (long double)FLT_MAX)
        return (long double)got == want ||
               (fabsf(got) >= FLT_MAX && (got > 0) == (want > 0));
    long double unit = fabsl(want) * 0x1p-23L;
    return fabsl((long double)got - want) <=
           (unit > 0x1p-149L ? unit : 0x1p-149L);
}

static void judge_flag(struct kc *k, const char *name, bool bad)
{
    uint8_t got = bad, none = 0;

    kc_judge(k, name, ASSAY_U8, &none, &got, (int64_t[4]){1, 1, 1, 1});
}

/* ---- function -------------------------------------------------------------- */

/* The integral of the normal density's power series; |x| <= 3. */
static long double series_erf(long double x)
{
    long double term = x, sum = x;

    for (int i = 1; i < 120; i++) {
        term *= -x * x / (long double)i;
        sum += term / (long double)(2 * i + 1);
    }
    return sum * 1.12837916709551257389615890312154517L;
}

static long double naive_function(enum assay_function kind, long double x)
{
    switch (kind) {
    case ASSAY_FUNCTION_ABS: return x < 0 ? -x : x;
    case ASSAY_FUNCTION_NEG: return 0 - x;
    case ASSAY_FUNCTION_FLOOR: return floorl(x);
    case ASSAY_FUNCTION_CEIL: return ceill(x);
    case ASSAY_FUNCTION_SQRT: return sqrtl(x);
    case ASSAY_FUNCTION_RSQRT: return 1 / sqrtl(x);
    case ASSAY_FUNCTION_RECIPROCAL: return 1 / x;
    case ASSAY_FUNCTION_EXP: return expl(x);
    case ASSAY_FUNCTION_LOG: return logl(x);
    case ASSAY_FUNCTION_SIGMOID:
        return x >= 0 ? 1 / (1 + expl(-x)) : expl(x) / (1 + expl(x));
    case ASSAY_FUNCTION_TANH: return -expm1l(-2 * x) / (1 + expl(-2 * x));
    case ASSAY_FUNCTION_ERF: return series_erf(x);
    case ASSAY_FUNCTION_GELU: return x / 2 * (1 + series_erf(x / sqrtl(2.0L)));
    case ASSAY_FUNCTION_SILU: return x / (1 + expl(-x));
    case ASSAY_FUNCTION_SOFTPLUS: return log1pl(expl(x));
    case ASSAY_FUNCTION_SIN: return sinl(x);
    case ASSAY_FUNCTION_COS: return cosl(x);
    }
    return x;
}

static bool by_series(enum assay_function kind)
{
    return kind == ASSAY_FUNCTION_ERF || kind == ASSAY_FUNCTION_GELU;
}

/* Values, and what stands at the edges of binary32. */
static void draw_values(struct kc *k, enum assay_function kind, float *x,
                        size_t n)
{
    static const float edges[] = {0.0f,      1.0f,    -1.0f,      FLT_MIN,
                                  0x1p-149f, FLT_MAX, 88.7f,      -87.4f,
                                  -103.9f,   0.5f,    16777216.0f};
    double most = by_series(kind) ? 3 : kc_chance(k, 50) ? 8 : 80;

    for (size_t i = 0; i < n; i++) {
        x[i] = (float)((double)kc_range(k, -1000000, 1000000) * most / 1e6);
        if (!by_series(kind) && kc_chance(k, 10))
            x[i] = edges[kc_range(k, 0, 10)];
    }
    if (!by_series(kind))
        kc_special_floats(k, x, n, 3);
}

/* What the formulas leave at infinity: docs/numerics.md says which. */
static bool is_open(enum assay_function kind, float x)
{
    return isinf(x) &&
           (kind == ASSAY_FUNCTION_SILU || kind == ASSAY_FUNCTION_TANH ||
            kind == ASSAY_FUNCTION_SIGMOID || kind == ASSAY_FUNCTION_SOFTPLUS);
}

static void function_case(struct kc *k, int64_t index)
{
    const struct assay_function_kernel *ref = k->table.function[ASSAY_ISA_REF];
    float x[MOST], y[MOST];
    struct assay_float_function p = {
        .kind = (enum assay_function)(1 + index % ASSAY_FUNCTION_COS)};
    bool bad = false;

    if (!kc_case(k, "function", index) || !kc_wants(k, ref->name))
        return;
    p.n = (size_t)kc_range(k, 1, MOST);
    draw_values(k, p.kind, x, p.n);
    if (kc_chance(k, 10))
        x[0] = -0.0f;
    snprintf(k->text, sizeof(k->text), "function %d n %zu", p.kind, p.n);
    ref->run(&p, x, y);
    for (size_t i = 0; i < p.n; i++) {
        long double want = naive_function(p.kind, (long double)x[i]);

        if (p.kind == ASSAY_FUNCTION_TANH && fabsf(x[i]) > 40)
            want = x[i] > 0 ? 1 : -1;
        if (p.kind == ASSAY_FUNCTION_SOFTPLUS && x[i] > 60)
            want = (long double)x[i];
        if (!is_open(p.kind, x[i]) && !close_to(y[i], want))
            bad = true;
        if (p.kind == ASSAY_FUNCTION_NEG && signbit(y[i]) == signbit(x[i]))
            bad = true;
    }
    judge_flag(k, ref->name, bad);
}

void kc_check_function(struct kc *k)
{
    for (int64_t i = 0; i < 340; i++)
        function_case(k, i);
}

/* ---- normalize --------------------------------------------------------------- */

static long double naive_normal(const struct assay_normalization *p,
                                const float *x, size_t col)
{
    long double sum = 0, squares = 0, n = (long double)p->cols, mean = 0;

    if (p->kind == ASSAY_NORMALIZE_LAYER) {
        for (size_t i = 0; i < p->cols; i++)
            sum += (long double)x[i];
        mean = sum / n;
    }
    for (size_t i = 0; i < p->cols; i++)
        squares += ((long double)x[i] - mean) * ((long double)x[i] - mean);
    return ((long double)x[col] - mean) /
           sqrtl(squares / n + (long double)p->epsilon);
}

static void normalize_case(struct kc *k, int64_t index)
{
    const struct assay_normalize_kernel *ref =
        k->table.normalize[ASSAY_ISA_REF];
    float x[MOST], y[MOST], gamma[64], beta[64];
    struct assay_normalization p = {.kind = index % 2 ? ASSAY_NORMALIZE_LAYER
                                                      : ASSAY_NORMALIZE_RMS};
    bool bad = false, g = index & 2, b = index & 4;

    if (!kc_case(k, "normalize", index) || !kc_wants(k, ref->name))
        return;
    p.cols = (size_t)kc_range(k, 1, 64);
    p.rows = (size_t)kc_range(k, 1, MOST / 64);
    p.epsilon = kc_chance(k, 80) ? 1e-5f : 0.25f;
    for (size_t i = 0; i < p.rows * p.cols; i++)
        x[i] = (float)kc_range(k, -30000, 30000) / 1000.0f +
               (index % 5 == 0 ? 1000.0f : 0.0f);
    for (size_t i = 0; i < p.cols; i++) {
        gamma[i] = (float)kc_range(k, -3000, 3000) / 1000.0f;
        beta[i] = (float)kc_range(k, -3000, 3000) / 1000.0f;
    }
    snprintf(k->text, sizeof(k->text), "normalize %d %zux%zu gamma %d beta %d",
             p.kind, p.rows, p.cols, g, b);
    ref->run(&p, x, g ? gamma : NULL, b ? beta : NULL, y);
    for (size_t i = 0; i < p.rows * p.cols; i++) {
        size_t col = i % p.cols;
        long double want = naive_normal(&p, x + i - col, col);

        want *= g ? (long double)gamma[col] : 1;
        want += b ? (long double)beta[col] : 0;
        /* What cancels is known to a binary64's last bits. */
        bad = bad || !(fabsl((long double)y[i] - want) <=
                       fabsl(want) * 0x1p-23L + 1e-12L);
    }
    judge_flag(k, ref->name, bad);
}

void kc_check_normalize(struct kc *k)
{
    for (int64_t i = 0; i < 200; i++)
        normalize_case(k, i);
}
