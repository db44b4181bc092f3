/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same layers on the same inputs, many times: did they give the same? One
 * run is compared with those of the same kernels first (a rung), then rungs
 * with each other. Pure.
 */
#ifndef ASSAY_DIFF_REPEAT_H
#define ASSAY_DIFF_REPEAT_H

#include "lib/core/slice.h"

#define ASSAY_REPEAT_KINDS 6

/* How a run was perturbed. rung 0: the kernels of the run that is judged. */
struct assay_repeat_kind {
    const char *name;
    uint32_t rung; /* < ASSAY_REPEAT_KINDS */
    uint32_t cpumask;
    unsigned capture; /* enum assay_capture */
};

enum assay_repeat_state {
    ASSAY_REPEAT_SAME = 0,
    ASSAY_REPEAT_BEHIND, /* it differs where its inputs do */
    ASSAY_REPEAT_RUNGS,  /* each rung gives the same each time, another one */
    ASSAY_REPEAT_FLAKY,  /* equal kernels and inputs gave two results */
};
const char *assay_repeat_state_name(enum assay_repeat_state s); /* "flaky" */

struct assay_repeat_layer {
    enum assay_repeat_state state;
    /* Runs that gave something else than most of their rung; with RUNGS, runs
     * of rungs that are not as rung 0. */
    uint32_t odd, odd_of[ASSAY_REPEAT_KINDS];
};

/*
 * Fills one a layer. kind: of each run; kinds: those that there are. digest:
 * of a layer's output in a run, at [run * n_layers + layer]; a layer that did
 * not run has zeros there, in every run.
 */
void assay_repeat_judge(struct assay_repeat_layer *out,
                        const struct assay_slice *s,
                        const struct assay_repeat_kind *kinds,
                        const uint8_t *kind, uint32_t n_runs,
                        const uint8_t (*digest)[16]);

#endif
