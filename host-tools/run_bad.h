/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples in which something differs on its own inputs, the worst first:
 * the list that says which to look at. Part of `assay run`. One thread.
 */
#ifndef ASSAY_HOST_RUN_BAD_H
#define ASSAY_HOST_RUN_BAD_H

#include "host-tools/run_lines.h"

struct assay_run_bad {
    uint32_t sample;
    uint32_t culprits; /* layers in columns */
    uint32_t layer;    /* of the first of them */
    enum assay_column column;
    uint64_t mismatch; /* elements of all of them that differ by themselves */
};

/* Of the sample under way, judged. cpu: one a layer. */
void assay_run_bad_take(struct assay_run *r, const struct assay_judgement *cpu);
/* When all samples are done: sorts r->bad. */
void assay_run_bad_sort(struct assay_run *r);
/* "0017.npz", "many.npz[17]": the file of its inputs; returns out. */
const char *assay_run_bad_name(const struct assay_run *r, uint32_t sample,
                               char *out, size_t cap);
/* Nothing where the run has one sample. */
void assay_run_bad_lines(const struct assay_run *r, struct assay_lines *l);
/* For JSON, in the run's arena. */
size_t assay_run_bad_samples(const struct assay_run *r,
                             const struct assay_report_bad **out);

#endif
