/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which stage broke? All stages that are there, compared in their order, and
 * what the vendor's files say of it. One thread.
 */
#ifndef ASSAY_TRIAGE_TRIAGE_H
#define ASSAY_TRIAGE_TRIAGE_H

#include "host-tools/triage/evidence.h"
#include "host-tools/triage/log.h"
#include "host-tools/triage/transition.h"

struct assay_triage_request {
    const char *stage[ASSAY_STAGE_COUNT]; /* NULL: not given */
    const char *folder; /* with folders of stages and vendor files; NULL */
    const char *const *vendor, *const *logs, *const *scales;
    size_t n_vendor, n_logs, n_scales;
};

struct assay_triage {
    struct assay_arena *arena;
    struct assay_stage_set sets[ASSAY_STAGE_COUNT];
    uint32_t n_stages; /* that are there */
    uint32_t n_steps;
    /* In the order of the later stage; behind a stage that cannot be compared
     * with its neighbours one over it. */
    struct assay_transition steps[2 * ASSAY_STAGE_COUNT];
    struct assay_triage_scales scales;
    struct assay_triage_evidence *evidence;
    struct assay_log log;
    /* Steps that break: the first; the first that is not only training's. -1:
     * none. */
    int first, first_deploy;
    bool incomparable; /* a step had nothing to compare */
    bool few;          /* fewer than two stages: evidence and logs are there */
    int exit_code;
};

/* Reads and compares everything. With fewer than two stages it fails with
 * ASSAY_EUSAGE after what else is there was read (few). Closed with
 * assay_triage_close, also after a failure. */
int assay_triage_run(struct assay_triage *out,
                     const struct assay_triage_request *r,
                     const struct assay_model_note *note, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_triage_close(struct assay_triage *t);

/* Samples of a step, worst first: indices into its samples. */
uint32_t assay_triage_worst_samples(const struct assay_transition *t,
                                    uint32_t *out, uint32_t n);
/* The worst sample of the first step that breaks, as an index into the samples
 * of `stage`; false: nothing breaks, or the stage has no such sample. */
bool assay_triage_bad_sample(const struct assay_triage *t,
                             enum assay_stage stage, uint32_t *sample);

#endif
