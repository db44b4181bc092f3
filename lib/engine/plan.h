/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The third door: proves that a slice can be run, and lays out its memory.
 *
 * plan_new() checks every index, shape, dtype and program: operand counts,
 * value kinds, 64-bit ranges by interval arithmetic (range.h), output ranges,
 * every size product. It chooses the kernels, packs the constants and plans
 * an arena by tensor lifetimes. A refused slice is one sentence that names
 * layer and field. Behind this door the engine only asserts.
 *
 * The slice must outlive the plan. A plan is read-only after plan_new() and
 * may be used by several runs, each with an arena of its own.
 */
#ifndef ASSAY_ENGINE_PLAN_H
#define ASSAY_ENGINE_PLAN_H

#include "kernels/kernels.h"
#include "lib/core/err.h"
#include "lib/core/slice.h"

struct assay_plan;

struct assay_plan_limits {
    size_t memory_bytes; /* arena + packed constants; 0: no limit */
};

int assay_plan_new(struct assay_plan **out, const struct assay_slice *slice,
                   const struct assay_kernel_table *table,
                   const struct assay_plan_limits *limits,
                   struct assay_err *err) ASSAY_MUST_CHECK;
void assay_plan_free(struct assay_plan *plan); /* NULL safe */

size_t assay_plan_arena_bytes(const struct assay_plan *plan);
size_t assay_plan_packed_bytes(const struct assay_plan *plan);
/* What the plan itself takes beside these: a few hundred bytes a layer. */
size_t assay_plan_own_bytes(const struct assay_plan *plan);
/* Name of the kernel chosen for a layer; "" for a skipped one. */
const char *assay_plan_kernel(const struct assay_plan *plan, uint32_t layer);
/* Multiply-accumulates of a layer (conv, gemm), else 0. */
uint64_t assay_plan_macs(const struct assay_plan *plan, uint32_t layer);

#endif
