/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a culprit differs: what its search needs is kept while its sample is
 * open (inputs of the column, what it gave), and searched when all samples are
 * done. Part of `assay run` and `assay pinpoint`. One thread.
 */
#ifndef ASSAY_HOST_RUN_CAUSE_H
#define ASSAY_HOST_RUN_CAUSE_H

#include "host-tools/cause/fingerprint.h"
#include "host-tools/cause/layout.h"
#include "host-tools/cause/search.h"
#include "host-tools/cause/separate.h"
#include "host-tools/run.h"
#include "host-tools/run_cause_plot.h"

#define ASSAY_SUSPECT_SAMPLES 32 /* of one culprit: those that differ most */

struct assay_run_suspect {
    uint32_t layer;
    enum assay_column column;
    bool of_reference;       /* got is the reference: every engine differs */
    struct assay_slice *one; /* owned, as all below */
    struct assay_suspect_sample samples[ASSAY_SUSPECT_SAMPLES];
    uint64_t mismatch[ASSAY_SUSPECT_SAMPLES];
    uint32_t from[ASSAY_SUSPECT_SAMPLES]; /* the case's sample of each */
    size_t n_samples;
    bool searched, has_layout;
    struct assay_layout layout;
    /* So far every sample was another tensor of the slice, layout.n[0]. */
    bool swapped;
    const char *swapped_name; /* of the run's slice */
    struct assay_fingerprint fingerprints[ASSAY_FINGERPRINTS];
    size_t n_fingerprints;
    /* One number a channel, of the first fingerprint that has them: channels
     * 0, channel_step, ...; n_channels 0: none has. */
    double channels[ASSAY_PLOT_BARS];
    size_t n_channels, channel_step;
    bool channel_ratio;         /* got / expected; else got - expected */
    struct assay_search *found; /* NULL: not searched */
    /* Where several classes are proved: an input that tells them apart. */
    struct assay_separation apart;
    const char *apart_path; /* where it was saved, in the run's arena; NULL */
};

struct assay_run_causes {
    struct assay_run_suspect *v; /* by layer, then column */
    size_t n, cap;
    size_t bytes; /* of tensors that are kept */
};

/* Of the sample under way: keeps inputs and outputs of every culprit. What
 * does not fit into the budget is left out. */
void assay_run_causes_take(struct assay_run *r,
                           const struct assay_judgement *cpu);
/* Layout, fingerprints and hypotheses of what was kept, the first culprits
 * first; fails only where the command cannot go on. */
int assay_run_causes_search(struct assay_run *r, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Of a culprit; NULL: nothing was kept. */
const struct assay_run_suspect *assay_run_cause_of(const struct assay_run *r,
                                                   uint32_t layer,
                                                   enum assay_column column);
/* Is a cause known that gives every element? */
bool assay_run_cause_proved(const struct assay_run_suspect *k);
void assay_run_causes_close(struct assay_run *r); /* idempotent */

#endif
