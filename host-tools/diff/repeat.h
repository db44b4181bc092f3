/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same layers on the same inputs, many times: did they give the same? One
 * run is compared with those of the same kernels first (a rung), then rungs
 * with each other. Pure.
 */
#ifndef ASSAY_DIFF_REPEAT_H
#define ASSAY_DIFF_REPEAT_H

#include "host-tools/diff/diff.h"

#define ASSAY_REPEAT_KINDS 6

struct assay_repeat_digest {
    uint8_t v[16];
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
                        const struct assay_repeat_digest *digest);

#endif
