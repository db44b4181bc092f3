/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the samples of a run exercised: accumulators and steps of each layer, as
 * the board tells them with its results, on the inputs that it computed with;
 * where it tells none (an older agent, --local) by the engine of this process
 * on the reference's inputs. Work is bounded; layers that would go beyond are
 * left out, and that is said. One thread.
 */
#ifndef ASSAY_HOST_RUN_PROBE_H
#define ASSAY_HOST_RUN_PROBE_H

#include "host-tools/run_lines.h"

/* What the board may spend on probes in this pass, in about instructions; 0:
 * none is wanted. */
uint64_t assay_run_probe_ask(struct assay_run *r,
                             const struct assay_pass *pass);
/* The board's answer for a layer of such a pass. */
void assay_run_probe_told(struct assay_run *r, const struct assay_pass *pass,
                          uint32_t layer, const struct assay_probe *p);
/* Looks at the sample that is open, unless the board did. */
void assay_run_probe_take(struct assay_run *r);
/* A layer's line of a report; not looked at: out->p is NULL. Texts are in the
 * run's arena. */
void assay_run_probe_row(const struct assay_run *r, uint32_t layer,
                         struct assay_row_probe *out);
/* With -v, a line a layer on stderr. assay_run_probe_lines: run_lines.h. */
void assay_run_probe_tell(const struct assay_run *r);
void assay_run_probe_close(struct assay_run *r); /* idempotent */

#endif
