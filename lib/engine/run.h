/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a plan once. No connection, no file, no clock, no stdio.
 */
#ifndef ASSAY_ENGINE_RUN_H
#define ASSAY_ENGINE_RUN_H

#include <stdbool.h>

#include "lib/engine/plan.h"
#include "lib/engine/sink.h"

enum assay_run_mode {
    ASSAY_RUN_CUMULATIVE = 1, /* a layer's inputs are computed */
    ASSAY_RUN_ISOLATED = 2,   /* a layer's inputs are fetched */
};

struct assay_run_request {
    enum assay_run_mode mode;
    const bool *layers; /* one a layer: run it; NULL: all. In a cumulative */
                        /* run a layer that is not run is fetched from. */
    /*
     * Dense bytes of a tensor in stored order, from outside: slice inputs,
     * outputs of layers that are not run (SKIPPED ones too), and in isolated
     * mode every non-constant input. NULL: not there; then every layer that
     * needs it is passed over and reported by `missing`.
     * The pointer is borrowed until the run ends and aligned for its dtype.
     */
    const void *(*fetch)(void *self, uint32_t tensor);
    /* A layer that cannot run since `tensor` is not there; may be NULL. The
     * readers of its output follow: that is computed or nothing. */
    void (*missing)(void *self, uint32_t layer, uint32_t tensor);
    void *self;
};

/*
 * arena: assay_plan_arena_bytes(plan) bytes, 64-byte aligned, owned by the
 * caller. Returns 0, or the negative value that the sink gave.
 */
int assay_run(const struct assay_plan *plan, void *arena,
              const struct assay_run_request *request,
              const struct assay_sink *sink, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
