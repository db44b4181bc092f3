/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --repeat: each sample's layers run N times, each time in a new worker, in
 * turns as they are, without capture, and with the other kernels that the board
 * has. What differs is `flaky`, or a wrong kernel (diff/repeat.h). Part of
 * `assay run`. One thread.
 */
#ifndef ASSAY_HOST_RUN_REPEAT_H
#define ASSAY_HOST_RUN_REPEAT_H

#include "host-tools/diff/repeat.h"
#include "host-tools/run_lines.h"

/* Behind assay_run_select() and the board's info; nothing without --repeat. */
int assay_run_repeat_open(struct assay_run *r, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_run_repeat_close(struct assay_run *r); /* idempotent */
/* An output of the run that is judged, or (pass->repeat) of another one. */
int assay_run_repeat_take(struct assay_run *r, uint32_t layer, const void *data,
                          size_t bytes) ASSAY_MUST_CHECK;
/* The same where digests of tiles came alone. */
void assay_run_repeat_digests(struct assay_run *r, uint32_t layer,
                              const uint8_t *digests, size_t tiles);
/* The other runs of the sample that is open; as assay_run_pass(). */
int assay_run_repeat(struct assay_run *r, const bool *layers) ASSAY_MUST_CHECK;
/* The sample is over, whatever became of it. */
void assay_run_repeat_forget(struct assay_run *r);
enum assay_repeat_state assay_run_repeat_state(const struct assay_run *r,
                                               uint32_t layer);

/* Of a culprit by repeats; of all of them. */
void assay_run_repeat_culprit_lines(const struct assay_run *r, uint32_t layer,
                                    struct assay_lines *l);
void assay_run_repeat_lines(const struct assay_run *r, struct assay_lines *l);
void assay_run_repeat_row(const struct assay_run *r, struct assay_row *row);
void assay_run_repeat_report(const struct assay_run *r,
                             struct assay_report_head *head);

#endif
