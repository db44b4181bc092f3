/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer and root-mean-square normalization; the definition (docs/numerics.md,
 * "normalize"). Everything is binary64, sums in stored order; the result is
 * rounded once.
 */
#include <math.h>

#include "kernels/kernels.h"

static bool supports(const struct assay_normalization *p)
{
    return p->kind == ASSAY_NORMALIZE_LAYER || p->kind == ASSAY_NORMALIZE_RMS;
}

static double mean_of(const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i];
    return sum / (double)n;
}

static double mean_of_squares(const float *x, size_t n, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double d = (double)x[i] - mean;
        sum += d * d;
    }
    return sum / (double)n;
}

static void run(const struct assay_normalization *p, const float *x,
                const float *gamma, const float *beta, float *y)
{
    size_t n = p->cols;
    for (size_t r = 0; r < p->rows; r++, x += n, y += n) {
        double mean = p->kind == ASSAY_NORMALIZE_LAYER ? mean_of(x, n) : 0;
        double root = sqrt(mean_of_squares(x, n, mean) + (double)p->epsilon);
        for (size_t i = 0; i < n; i++) {
            double v = ((double)x[i] - mean) / root;
            if (gamma)
                v *= (double)gamma[i];
            if (beta)
                v += (double)beta[i];
            y[i] = (float)v;
        }
    }
}

const struct assay_normalize_kernel assay_normalize__ref = {
    .name = "assay_normalize__ref",
    .isa = ASSAY_ISA_REF,
    .supports = supports,
    .run = run,
};
