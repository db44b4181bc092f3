/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans a small slice, runs it once, keeps its output: for re-running one
 * layer, or a changed one. Memory is had and freed inside. Any thread.
 */
#ifndef ASSAY_ENGINE_ONCE_H
#define ASSAY_ENGINE_ONCE_H

#include "lib/core/slice.h"
#include "lib/engine/plan.h"

/*
 * cpu_flags: ASSAY_CPU_* that may be used; 0: the scalar kernels.
 * values[t], t < n_values: dense bytes of the tensors with ROLE_INPUT.
 * out: `bytes` of the tensor with is_output that is computed last, dense.
 * Refuses what plan.h refuses, and another size of the output.
 */
int assay_once(const struct assay_slice *s, uint32_t cpu_flags,
               const void *const *values, uint32_t n_values, void *out,
               size_t bytes, struct assay_err *err) ASSAY_MUST_CHECK;
/* The same within limits of memory; NULL: none. */
int assay_once_within(const struct assay_slice *s, uint32_t cpu_flags,
                      const void *const *values, uint32_t n_values, void *out,
                      size_t bytes, const struct assay_plan_limits *limits,
                      struct assay_err *err) ASSAY_MUST_CHECK;

#endif
