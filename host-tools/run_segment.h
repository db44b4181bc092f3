/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers in front of a culprit that its column has not observed: the fault may
 * be in any of them. They are one slice with it, and the search edits them one
 * by one. Part of `assay run` and `assay pinpoint`. One thread.
 */
#ifndef ASSAY_HOST_RUN_SEGMENT_H
#define ASSAY_HOST_RUN_SEGMENT_H

#include "host-tools/run_cause.h"

/*
 * Where nothing in the culprit itself gives what its column has: fills
 * k->found_before and k->before. Opens the samples again. Fails only where the
 * command cannot go on.
 */
int assay_run_segment_search(struct assay_run *r, struct assay_run_suspect *k,
                             const struct assay_search_options *o,
                             struct assay_err *err) ASSAY_MUST_CHECK;

/* What it found, compared with one more sample, which is open: base and got of
 * it; *fits: it gives that, too. Adds to the counts of k->found_before. > 0:
 * what the layers in front read cannot be had in this sample. */
int assay_run_segment_compare(struct assay_run *r, struct assay_run_suspect *k,
                              const struct assay_suspect_sample *s, bool *fits,
                              struct assay_err *err) ASSAY_MUST_CHECK;

#endif
