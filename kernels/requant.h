/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The step interpreter. The scalar one (requant.c) is the definition of every
 * program; the vector one (neon/program.c) equals it to the last bit.
 *
 * All functions are pure: any thread, no allocation, no errno. Programs must
 * have been proved by the engine's plan (lib/engine/range.h): operand counts,
 * value kinds and 64-bit ranges. Formulas: docs/numerics.md, "Steps".
 */
#ifndef ASSAY_KERNELS_REQUANT_H
#define ASSAY_KERNELS_REQUANT_H

#include "kernels/program.h"

/* SHR of numerics.md 0.1: any x, 0 <= n <= 62; n < 0 is the left shift. */
int64_t assay_shr(int64_t x, int n, enum assay_round round);
/* SRDHM and SDMULH of numerics.md 0.2. */
int32_t assay_srdhm(int32_t a, int32_t b);
int32_t assay_sdmulh(int32_t a, int32_t b);
/* wrap_b and sat_b, 2 <= bits <= 63. */
int64_t assay_wrap(int64_t x, unsigned bits);
int64_t assay_sat(int64_t x, unsigned bits);

union assay_value {
    int64_t i;
    float f;
    double d;
};

/*
 * A block of values: `v[k]` belongs to channel (channel + k) % channels.
 * `second[k]`, when not NULL, is the second operand that ADD_INPUT and
 * ADD_SCALED take.
 */
struct assay_block {
    union assay_value *v;
    size_t n;
    size_t channel;
    size_t channels; /* >= 1 */
    const int32_t *second;
};

/* Runs all steps over the block, in place. */
typedef void assay_program_fn(const struct assay_program *p,
                              const struct assay_block *block);
void assay_program_run(const struct assay_program *p,
                       const struct assay_block *block);

/* Joins a[k] and b[k] into a[k]; `k` is the operand of COMBINE_FFMA. */
void assay_combine(enum assay_combine how, float k, union assay_value *a,
                   const union assay_value *b, size_t n);

/*
 * Reads n elements of `dtype` into values (integers into .i, F32 into .f), and
 * back. store() requires integers to be in the range of dtype: plan proves it.
 */
void assay_load_values(enum assay_dtype dtype, const void *src,
                       union assay_value *v, size_t n);
void assay_store_values(enum assay_dtype dtype, void *dst,
                        const union assay_value *v, size_t n);
size_t assay_dtype_size(enum assay_dtype dtype); /* 0: unknown */

#endif
