/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a culprit's difference looks like, before any cause is searched for:
 * the same data in another arrangement, or what its elements have in common.
 * Part of run_cause.c. One thread.
 */
#ifndef ASSAY_HOST_RUN_CAUSE_LOOKS_H
#define ASSAY_HOST_RUN_CAUSE_LOOKS_H

#include "host-tools/run_cause.h"

/* While the sample is open, whose bytes are needed: is what was got another
 * tensor of the slice? Notes it in k->swapped. */
void assay_run_cause_swapped(const struct assay_run *r,
                             struct assay_run_suspect *k,
                             const struct assay_suspect_sample *s);
/* Sets has_layout and layout; else the fingerprints of the worst sample. */
void assay_run_cause_looks(struct assay_run_suspect *k,
                           const struct assay_suspect *s, uint32_t cpu_flags);
/* Is one more sample, which is open, in that layout, too? Then it counts. */
bool assay_run_cause_still_layout(const struct assay_run *r,
                                  struct assay_run_suspect *k,
                                  const struct assay_suspect_sample *s);
/* The layout in words, with names of tensors; returns out. */
const char *assay_run_cause_layout(const struct assay_run_suspect *k, char *out,
                                   size_t cap);

#endif
