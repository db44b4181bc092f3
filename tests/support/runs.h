/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a slice and keeps what the sink got. A failure of
 * the support itself ends the test program.
 */
#ifndef ASSAY_TESTS_SUPPORT_RUNS_H
#define ASSAY_TESTS_SUPPORT_RUNS_H

#include "lib/engine/run.h"

#define RUNS_MAX 64 /* tensors, layers, events */

struct runs {
    const struct assay_slice *slice; /* borrowed */
    const void *given[RUNS_MAX];     /* by tensor; NULL: not there */
    const bool *layers;              /* filter or NULL */
    enum assay_run_mode mode;
    uint32_t flags; /* of the CPU; 0: the scalar kernels */
    int stop_at;    /* event number that the sink refuses, -1: none */
    /* Results. */
    void *out[RUNS_MAX]; /* by layer, owned; NULL: did not run */
    char events[256];    /* "b0t0e0" begin, tensor, end; "m1/2" missing */
    int n_events;
    int fetches[RUNS_MAX]; /* how often each tensor was asked for */
    struct assay_err err;
};

void runs_init(struct runs *r, const struct assay_slice *s);
/* plan and run; the code of whichever failed. Forgets older results. */
int runs_run(struct runs *r);
void runs_close(struct runs *r);

#endif
