/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of one binary32; the definition (docs/numerics.md, "function").
 *
 * Each formula is evaluated in binary64 by the C library and rounded once, so
 * that libraries which differ in the last bits of a binary64 nearly always give
 * the same binary32. Still compared with a tolerance: nearly is not always.
 */
#include <math.h>

#include "kernels/kernels.h"

static bool supports(const struct assay_float_function *p)
{
    return p->kind >= ASSAY_FUNCTION_ABS && p->kind <= ASSAY_FUNCTION_COS;
}

static double evaluate(enum assay_function kind, double x)
{
    static const double sqrt_half = 0.70710678118654752440;
    switch (kind) {
    case ASSAY_FUNCTION_ABS: return fabs(x);
    case ASSAY_FUNCTION_NEG: return -x;
    case ASSAY_FUNCTION_FLOOR: return floor(x);
    case ASSAY_FUNCTION_CEIL: return ceil(x);
    case ASSAY_FUNCTION_SQRT: return sqrt(x);
    case ASSAY_FUNCTION_RSQRT: return 1.0 / sqrt(x);
    case ASSAY_FUNCTION_RECIPROCAL: return 1.0 / x;
    case ASSAY_FUNCTION_EXP: return exp(x);
    case ASSAY_FUNCTION_LOG: return log(x);
    case ASSAY_FUNCTION_SIGMOID: return 1.0 / (1.0 + exp(-x));
    case ASSAY_FUNCTION_TANH: return tanh(x);
    case ASSAY_FUNCTION_ERF: return erf(x);
    case ASSAY_FUNCTION_GELU: return 0.5 * x * (1.0 + erf(x * sqrt_half));
    case ASSAY_FUNCTION_SILU: return x / (1.0 + exp(-x));
    case ASSAY_FUNCTION_SOFTPLUS: /* never overflows on its way */
        return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
    case ASSAY_FUNCTION_SIN: return sin(x);
    case ASSAY_FUNCTION_COS: return cos(x);
    }
    return x;
}

static void run(const struct assay_float_function *p, const float *x, float *y)
{
    for (size_t i = 0; i < p->n; i++)
        y[i] = (float)evaluate(p->kind, (double)x[i]);
}

const struct assay_function_kernel assay_function__ref = {
    .name = "assay_function__ref",
    .isa = ASSAY_ISA_REF,
    .supports = supports,
    .run = run,
};
