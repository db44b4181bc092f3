/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the samples of a run exercised: accumulators and steps of each layer on
 * the reference's inputs, by the engine of this process. Work is bounded;
 * layers that would go beyond are left out, and that is said. One thread.
 */
#ifndef ASSAY_HOST_RUN_PROBE_H
#define ASSAY_HOST_RUN_PROBE_H

#include "host-tools/cause/probe.h"
#include "host-tools/run_lines.h"

/* Of the sample that is open. */
void assay_run_probe_take(struct assay_run *r);
/* A layer's line of a report; not looked at: looked is false. Texts are in
 * the run's arena. */
void assay_run_probe_row(const struct assay_run *r, uint32_t layer,
                         struct assay_row_probe *out);
/* With -v, a line a layer on stderr. assay_run_probe_lines: run_lines.h. */
void assay_run_probe_tell(const struct assay_run *r);
void assay_run_probe_close(struct assay_run *r); /* idempotent */

#endif
