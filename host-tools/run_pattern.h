/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which layers of one kind (operator, arithmetic) differ, in one sentence: those whose output channels are, or are
 * not, a multiple of 4, 8 or 16. Part of `assay run`. One thread.
 */
#ifndef ASSAY_HOST_RUN_PATTERN_H
#define ASSAY_HOST_RUN_PATTERN_H

#include "host-tools/run_lines.h"

/* Among layers of the first culprit's kind, which were all judged on their own
 * inputs in its column. false: no such rule holds, or fewer than two differ. */
bool assay_run_pattern(const struct assay_run *r,
                       const struct assay_run_summary *sum,
                       struct assay_report_pattern *out);
void assay_run_pattern_line(const struct assay_run *r,
                            const struct assay_run_summary *sum,
                            struct assay_lines *l);

#endif
