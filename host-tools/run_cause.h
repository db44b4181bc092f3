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

#define ASSAY_SUSPECT_SAMPLES 32 /* that are searched: those that differ most */
#define ASSAY_REFUTERS 3 /* and others that refuted what those had proved */

/* What became of several causes that all fit. */
struct assay_run_settled {
    uint32_t inputs;   /* that were made and asked; 0: nobody was */
    uint64_t elements; /* of their outputs */
    uint32_t before;   /* classes that the samples had left */
    bool failed;       /* the one who was asked gave no answer */
};

/* What was got is another sample's tensor, of the reference. */
enum assay_run_stale {
    ASSAY_STALE_NO,
    ASSAY_STALE_PREVIOUS, /* each is that of the sample before */
    ASSAY_STALE_FIRST,    /* all are that of the first */
};

struct assay_run_suspect {
    uint32_t layer;
    enum assay_column column;
    bool of_reference;       /* got is the reference: every engine differs */
    struct assay_slice *one; /* owned, as all below */
    struct assay_suspect_sample samples[ASSAY_SUSPECT_SAMPLES + ASSAY_REFUTERS];
    uint64_t mismatch[ASSAY_SUSPECT_SAMPLES + ASSAY_REFUTERS];
    /* The case's sample of each. */
    uint32_t from[ASSAY_SUSPECT_SAMPLES + ASSAY_REFUTERS];
    size_t n_samples;
    uint32_t n_differing; /* samples in which it is a culprit */
    /* Samples that what is proved was compared with, of those in which there
     * was something to compare. */
    uint32_t n_looked, n_there;
    enum assay_run_stale stale; /* looked at where nothing is proved */
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
    /* Proved in a layer in front of it that was not observed, where nothing is
     * in this one (run_segment.c); NULL: nothing. */
    struct assay_search *found_before;
    uint32_t before; /* that layer; of several, the culprit */
    bool everywhere; /* in all layers of the segment that are of the kind */
    /* Where several classes are proved: an input that tells them apart, the
     * last one of several. */
    struct assay_separation apart;
    const char *apart_path; /* where it was saved, in the run's arena; NULL */
    struct assay_run_settled settled;
};

struct assay_run_causes {
    struct assay_run_suspect *v; /* by layer, then column */
    size_t n, cap;
    size_t bytes;           /* of tensors that are kept */
    bool has_only;          /* --hypothesis */
    struct assay_edit only; /* variant ASSAY_ALL_VARIANTS: all of them */
    /* By sample, then layer: the board gave the reference's bytes on the
     * reference's inputs; NULL: too many to note. */
    bool *equal;
};

/* Before anything is run; refuses a --hypothesis that is none. */
int assay_run_causes_open(struct assay_run *r, struct assay_err *err)
    ASSAY_MUST_CHECK;
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
/* run_cause_stale.c */
enum assay_run_stale assay_run_cause_stale(const struct assay_run *r,
                                           const struct assay_run_suspect *k);
/* Is a cause known that gives every element, in the layer itself? */
bool assay_run_cause_proved(const struct assay_run_suspect *k);
void assay_run_causes_close(struct assay_run *r); /* idempotent */

#endif
