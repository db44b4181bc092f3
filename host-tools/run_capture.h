/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --capture: what a board is asked to send, what it is told to expect, and how
 * a layer is judged of which digests came alone. Part of `assay run`. One
 * thread.
 */
#ifndef ASSAY_HOST_RUN_CAPTURE_H
#define ASSAY_HOST_RUN_CAPTURE_H

#include "host-tools/run_lines.h"

/* Statistics of layers, over all samples; of STATS only. */
struct assay_run_stats {
    struct assay_stats board, reference;
    bool told; /* by the board, in the sample under way */
};

/* Are layers judged by digests alone? Then no cause is searched. */
bool assay_run_digests_only(const struct assay_run *r);
const char *assay_run_capture_name(const struct assay_run *r);
/* Before anything is run. */
int assay_run_capture_open(struct assay_run *r, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_run_capture_close(struct assay_run *r); /* idempotent */

/* What the pass asks for; fills expect (room for all tensors), how many. */
enum assay_capture assay_run_capture(const struct assay_run *r,
                                     const struct assay_pass *pass);
size_t assay_run_expect(const struct assay_run *r,
                        const struct assay_pass *pass,
                        struct assay_run_tensor *expect);
/* Is this result judged by digests? Where a tolerance is, it is not. */
bool assay_run_by_digest(const struct assay_run *r,
                         const struct assay_pass *pass, uint32_t layer);
/* Compares tiles with those of ref: equal ones as if their data had come. */
int assay_run_diff_digests(const struct assay_run *r, uint32_t layer,
                           const void *ref, const uint8_t *digests,
                           size_t tiles, struct assay_diff *out)
    ASSAY_MUST_CHECK;

/* The statistics of a result, as the board told them or (stats NULL) of its
 * data; the first of a layer and sample counts. */
void assay_run_stats_take(struct assay_run *r, const struct assay_pass *pass,
                          uint32_t layer, const struct assay_stats *stats,
                          const void *data);
/* The reference's, when a sample is over. */
void assay_run_stats_settle(struct assay_run *r);

/* Of a culprit: what digests cannot tell, and which command would. */
void assay_run_capture_line(const struct assay_run *r, struct assay_lines *l);
/* Statistics that are not the reference's. */
void assay_run_stats_lines(const struct assay_run *r, struct assay_lines *l);
void assay_run_capture_row(const struct assay_run *r, struct assay_row *row);

#endif
