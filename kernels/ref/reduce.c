/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions; the definition. Outputs are made in rows along the last axis
 * that is kept; each of them visits its reduced elements in stored order, so
 * that float sums have one order. A sum of n elements needs n * max |x| below
 * 2^63, an index n below 2^63.
 */
#include "kernels/kernels.h"

#define BLOCK 64 /* outputs at a time */

static bool supports(const struct assay_reduce *p)
{
    bool is_float = p->x_dtype == ASSAY_F32;
    if (p->rank < 1 || p->rank > ASSAY_KERNEL_RANK || p->axes == 0 ||
        p->axes >> p->rank || assay_dtype_size(p->x_dtype) == 0 ||
        assay_dtype_size(p->y_dtype) == 0)
        return false;
    switch (p->kind) {
    case ASSAY_REDUCE_SUM:
    case ASSAY_REDUCE_ARG_MAX: return !is_float;
    case ASSAY_REDUCE_FSUM: return is_float;
    case ASSAY_REDUCE_MAX:
    case ASSAY_REDUCE_MIN: return true;
    }
    return false;
}

/* Some of the axes, with their steps in elements of x. */
struct axes {
    uint32_t n;
    int64_t dims[ASSAY_KERNEL_RANK], strides[ASSAY_KERNEL_RANK];
    int64_t index[ASSAY_KERNEL_RANK];
    int64_t at; /* sum of index * stride */
};

static void choose(const struct assay_reduce *p, bool reduced,
                   struct axes *axes)
{
    int64_t strides[ASSAY_KERNEL_RANK], stride = 1;
    for (uint32_t i = p->rank; i-- > 0; stride *= p->dims[i])
        strides[i] = stride;
    *axes = (struct axes){0};
    for (uint32_t i = 0; i < p->rank; i++) {
        if ((p->axes >> i & 1) != reduced)
            continue;
        axes->dims[axes->n] = p->dims[i];
        axes->strides[axes->n++] = strides[i];
    }
}

/* The next index; behind the last one back to the first, and false. */
static bool next(struct axes *axes)
{
    for (uint32_t i = axes->n; i-- > 0;) {
        axes->at += axes->strides[i];
        if (++axes->index[i] < axes->dims[i])
            return true;
        axes->at -= axes->strides[i] * axes->dims[i];
        axes->index[i] = 0;
    }
    return false;
}

static void load(enum assay_dtype dtype, const void *x, int64_t at,
                 int64_t stride, union assay_value *v, size_t n)
{
    size_t size = assay_dtype_size(dtype);
    const char *from = (const char *)x + (size_t)at * size;
    if (stride == 1) {
        assay_load_values(dtype, from, v, n);
        return;
    }
    for (size_t k = 0; k < n; k++)
        assay_load_values(dtype, from + k * (size_t)stride * size, &v[k], 1);
}

static enum assay_combine combination(const struct assay_reduce *p)
{
    bool is_float = p->x_dtype == ASSAY_F32;
    switch (p->kind) {
    case ASSAY_REDUCE_MAX:
        return is_float ? ASSAY_COMBINE_FMAX : ASSAY_COMBINE_MAX;
    case ASSAY_REDUCE_MIN:
        return is_float ? ASSAY_COMBINE_FMIN : ASSAY_COMBINE_MIN;
    case ASSAY_REDUCE_FSUM: return ASSAY_COMBINE_FADD;
    default: return ASSAY_COMBINE_ADD;
    }
}

/* What n neighbouring outputs leave for the program, from element `first`. */
static void reduce_block(const struct assay_reduce *p, struct axes *reduced,
                         const void *x, int64_t first, int64_t stride,
                         union assay_value *v, size_t n)
{
    union assay_value e[BLOCK];
    enum assay_combine how = combination(p);
    if (p->kind == ASSAY_REDUCE_FSUM)
        for (size_t k = 0; k < n; k++)
            v[k].f = 0.0f;
    else
        load(p->x_dtype, x, first, stride, v, n);
    if (p->kind != ASSAY_REDUCE_FSUM && !next(reduced))
        return;
    do {
        load(p->x_dtype, x, first + reduced->at, stride, e, n);
        assay_combine(how, 0.0f, v, e, n);
    } while (next(reduced));
}

/* The position of the first maximum among the reduced elements. */
static void arg_max_block(const struct assay_reduce *p, struct axes *reduced,
                          const void *x, int64_t first, int64_t stride,
                          union assay_value *v, size_t n)
{
    union assay_value e[BLOCK], most[BLOCK];
    int64_t position = 0;
    do {
        load(p->x_dtype, x, first + reduced->at, stride, e, n);
        for (size_t k = 0; k < n; k++) {
            if (position == 0 || e[k].i > most[k].i) {
                most[k] = e[k];
                v[k].i = position;
            }
        }
        position++;
    } while (next(reduced));
}

static void run(const struct assay_reduce *p, const void *x, void *y)
{
    struct axes kept, reduced;
    union assay_value v[BLOCK];
    size_t y_size = assay_dtype_size(p->y_dtype), y_at = 0, length = 1;
    int64_t stride = 1;
    choose(p, false, &kept);
    choose(p, true, &reduced);
    if (kept.n > 0) { /* the last one is the row */
        length = (size_t)kept.dims[--kept.n];
        stride = kept.strides[kept.n];
    }
    do {
        for (size_t at = 0; at < length; at += BLOCK) {
            size_t n = length - at < BLOCK ? length - at : BLOCK;
            struct assay_block block = {.v = v, .n = n, .channels = 1};
            int64_t first = kept.at + (int64_t)at * stride;
            if (p->kind == ASSAY_REDUCE_ARG_MAX)
                arg_max_block(p, &reduced, x, first, stride, v, n);
            else
                reduce_block(p, &reduced, x, first, stride, v, n);
            assay_program_run(p->out, &block);
            assay_store_values(p->y_dtype, (char *)y + (y_at + at) * y_size, v,
                               n);
        }
        y_at += length;
    } while (next(&kept));
}

const struct assay_reduce_kernel assay_reduce__ref = {
    .name = "assay_reduce__ref",
    .isa = ASSAY_ISA_REF,
    .supports = supports,
    .run = run,
};
