/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --got FILE.slice: the column `got` is another slice, which is run where the
 * model is run (the board, or this process) on the case's inputs; so it can be
 * asked further questions. Part of `assay pinpoint`. One thread.
 */
#ifndef ASSAY_HOST_RUN_OTHER_H
#define ASSAY_HOST_RUN_OTHER_H

#include "host-tools/run.h"

struct assay_run_other {
    struct assay_slice *s; /* owned */
    const char *path;      /* borrowed from the options */
    /* By tensor of the run's slice: that of the same name, type and dims, or
     * ASSAY_OTHER_NONE. */
    uint32_t *tensor;
    int64_t *producer; /* by tensor of s: layer that computes it, or -1 */
};
#define ASSAY_OTHER_NONE UINT32_MAX

/* Is the option's value such a slice, and no file of tensors? */
bool assay_run_other_is(const char *got);
/* Reads it and makes it the column; ASSAY_EMISMATCH: it is of another model, or
 * it needs an input that the case has not. */
int assay_run_other_open(struct assay_run *r, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Of the sample that is open: runs it, fills the column's observed tensors. */
int assay_run_other_read(struct assay_run *r, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Which of its layers compute tensor `output` of the run's slice from the given
 * tensors of that slice; mask: by layer of the other. false: it reads more than
 * these. */
bool assay_run_other_segment(const struct assay_run_other *o, uint32_t output,
                             const struct assay_run_tensor *given, size_t n,
                             bool *mask);
void assay_run_other_close(struct assay_run *r); /* idempotent */

#endif
