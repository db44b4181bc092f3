/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a plan: plan.c makes it, run.c reads it. */
#ifndef ASSAY_ENGINE_PLAN_PRIVATE_H
#define ASSAY_ENGINE_PLAN_PRIVATE_H

#include "lib/engine/ops.h"
#include "lib/engine/plan.h"

#define ASSAY_NO_LAYER UINT32_MAX

struct assay_plan_layer {
    struct assay_op_plan op;   /* op.op NULL: SKIPPED */
    size_t out_at, scratch_at; /* in the arena */
    size_t out_bytes;          /* dense */
};

struct assay_plan_tensor {
    size_t bytes;
    uint32_t producer;    /* layer, or ASSAY_NO_LAYER */
    uint32_t last_use;    /* layer; the producer when nobody reads it */
    const void *constant; /* aligned bytes, or NULL */
};

struct assay_plan {
    const struct assay_slice *slice; /* borrowed */
    struct assay_arena *memory;      /* owns all but `packed` */
    struct assay_plan_layer *layers;
    struct assay_plan_tensor *tensors;
    /* The arena begins with one pointer a tensor: where its bytes are. */
    size_t arena_bytes;
    size_t packed_bytes;
    void *packed_block; /* owned; `packed` is its first aligned byte */
    char *packed;
};

#endif
