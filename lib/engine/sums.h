/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sums of integer products of one layer, before bias and program: what the
 * steps of its program are run on. Computed by the layer's own kernel, with
 * everything behind the sum taken away. Memory is had and freed inside. Any
 * thread.
 */
#ifndef ASSAY_ENGINE_SUMS_H
#define ASSAY_ENGINE_SUMS_H

#include <stdbool.h>

#include "lib/core/slice.h"
#include "lib/engine/plan.h"

/* Is the layer a sum of integer products with known weights (a convolution or
 * gemm of integers)? `one` has one layer: assay_slice_single(). */
bool assay_sums_has(const struct assay_slice *one);

/*
 * One exact sum an element of the layer's output: products of values less
 * their zero points; none is wrapped. values[t]: dense bytes of tensor t, the
 * layer's inputs that are no constants, n_values of them. out: n elements, the
 * output's number. Refuses what plan.h refuses; limits may be NULL.
 */
int assay_sums_compute(int64_t *out, size_t n, const struct assay_slice *one,
                       const void *const *values, uint32_t n_values,
                       uint32_t cpu_flags,
                       const struct assay_plan_limits *limits,
                       struct assay_err *err) ASSAY_MUST_CHECK;

/* The operand that the layer's program adds, one an element, as int32 (any
 * integer dtype is widened); at least room for n. The layer has one. */
void assay_sums_second(int32_t *out, size_t n, const struct assay_slice *one,
                       const void *const *values);

#endif
