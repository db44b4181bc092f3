/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax over the last dimension: the float one, and the table form of
 * onnxruntime's QLinearSoftmax (docs/numerics.md, "Softmax").
 */
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

static bool is_8bit(enum assay_dtype dtype)
{
    return dtype == ASSAY_S8 || dtype == ASSAY_U8;
}

static bool supports(const struct assay_softmax *p)
{
    if (p->kind == ASSAY_SOFTMAX_TABLE)
        return is_8bit(p->x_dtype) && p->x_dtype == p->y_dtype;
    return p->kind == ASSAY_SOFTMAX_F32 && p->x_dtype == ASSAY_F32 &&
           p->y_dtype == ASSAY_F32;
}

static void float_row(const float *x, float *y, size_t n)
{
    float max = x[0], sum = 0.0f;
    for (size_t i = 1; i < n; i++)
        max = x[i] > max ? x[i] : max;
    for (size_t i = 0; i < n; i++) {
        y[i] = expf(x[i] - max);
        sum += y[i];
    }
    for (size_t i = 0; i < n; i++)
        y[i] /= sum;
}

static int32_t element(enum assay_dtype dtype, const void *x, size_t i)
{
    return dtype == ASSAY_S8 ? ((const int8_t *)x)[i] : ((const uint8_t *)x)[i];
}

/* The table's entries are binary32 bit patterns. */
static float entry(const struct assay_softmax *p, int32_t below_max)
{
    float f;
    memcpy(&f, &p->table[255 - below_max], sizeof(f));
    return f;
}

/* A number that is at least 0, to the nearest integer, ties to even. */
static int32_t nearest(double x)
{
    if (!(x < 1048576.0)) /* far outside every 8-bit result */
        return 1048576;
    int32_t q = (int32_t)x;
    double rest = x - (double)q;
    return q + (rest > 0.5 || (rest == 0.5 && (q & 1)));
}

static void table_row(const struct assay_softmax *p, const void *x, void *y,
                      size_t at, size_t n)
{
    int32_t max = element(p->x_dtype, x, at);
    float sum = 0.0f, scale = floorf(1.0f / p->y_scale);
    for (size_t i = 1; i < n; i++) {
        int32_t v = element(p->x_dtype, x, at + i);
        max = v > max ? v : max;
    }
    for (size_t i = 0; i < n; i++)
        sum += entry(p, max - element(p->x_dtype, x, at + i));
    for (size_t i = 0; i < n; i++) {
        float e = entry(p, max - element(p->x_dtype, x, at + i));
        /* binary64: the product is exact and cannot overflow. */
        double real = (double)e * (double)scale / (double)sum;
        int32_t q = nearest(real) + p->y_zero;
        if (p->y_dtype == ASSAY_S8)
            ((int8_t *)y)[at + i] = (int8_t)(q > 127 ? 127 : q);
        else
            ((uint8_t *)y)[at + i] = (uint8_t)(q > 255 ? 255 : q);
    }
}

static void run(const struct assay_softmax *p, const void *x, void *y)
{
    size_t cols = (size_t)p->cols;
    for (size_t r = 0; r < (size_t)p->rows; r++) {
        if (p->kind == ASSAY_SOFTMAX_TABLE)
            table_row(p, x, y, r * cols, cols);
        else
            float_row((const float *)x + r * cols, (float *)y + r * cols, cols);
    }
}

const struct assay_softmax_kernel assay_softmax__ref = {
    .name = "assay_softmax__ref",
    .isa = ASSAY_ISA_REF,
    .supports = supports,
    .run = run,
};
