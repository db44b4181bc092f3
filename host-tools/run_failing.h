/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Culprits as bundles (--save-failing), and what a run of a bundle
 * (assay replay) says besides. Part of `assay run`. One thread.
 */
#ifndef ASSAY_HOST_RUN_FAILING_H
#define ASSAY_HOST_RUN_FAILING_H

#include "host-tools/run_cause.h"
#include "host-tools/run_lines.h"

/* Writes DIR/003_NAME.assay for every culprit that is kept; when all samples
 * are done and searched. */
int assay_run_save_failing(struct assay_run *r, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* "repro   assay replay ..." of the first culprit, then of the others. */
void assay_run_failing_lines(const struct assay_run *r,
                             const struct assay_run_summary *sum,
                             struct assay_lines *l);

/* run_tile.c: some channels of a culprit's only output, where they are enough.
 * slice: of the layer, cut to them; owned. */
struct assay_tile {
    struct assay_slice *slice;
    int64_t lo, n, all; /* channels lo .. lo + n - 1 of all */
};
bool assay_tile_open(struct assay_tile *out, const struct assay_run *r,
                     const struct assay_run_suspect *k);
/* The tile's part of an output y of the whole layer: owned by the caller; NULL:
 * no memory. */
void *assay_tile_bytes(const struct assay_tile *t, const struct assay_tensor *y,
                       const void *whole);

/* In a replay: the tolerance that was recorded, unless options give one. */
void assay_run_replay_begin(struct assay_run *r);
/* A result of the cpu on computed inputs, dense. */
void assay_run_replay_take(struct assay_run *r, uint32_t layer,
                           const void *data);
/* Where the bundle comes from, and whether it gives the same again. */
void assay_run_replay_lines(const struct assay_run *r, struct assay_lines *l);

#endif
