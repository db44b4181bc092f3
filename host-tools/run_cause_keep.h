/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of a culprit's samples for its search, and how a sample that
 * is open again is made such a one. Part of run_cause.c. One thread.
 */
#ifndef ASSAY_HOST_RUN_CAUSE_KEEP_H
#define ASSAY_HOST_RUN_CAUSE_KEEP_H

#include "host-tools/run_cause.h"

/* Distinct inputs of the suspect's layer. */
static inline uint32_t assay_run_cause_inputs(const struct assay_run_suspect *k)
{
    return k->one->layers[0].output;
}

static inline struct assay_suspect assay_run_cause_suspect(
    const struct assay_run *r, const struct assay_run_suspect *k)
{
    return (struct assay_suspect){.one = k->one,
                                  .whole = r->s,
                                  .layer = k->layer,
                                  .samples = k->samples,
                                  .n_samples = k->n_samples};
}

/* Does the sample that is open have something to compare with? */
bool assay_run_cause_is_there(const struct assay_run *r,
                              const struct assay_run_suspect *k);
/* Of the sample that is open: what the suspect's column computed on, what it
 * gave, and what the engine gives on that. A board that is to be asked again
 * is. false: it cannot be had; s is then empty. */
bool assay_run_cause_read(struct assay_run *r,
                          const struct assay_run_suspect *k,
                          struct assay_suspect_sample *s);
void assay_run_cause_forget(const struct assay_run_suspect *k,
                            struct assay_suspect_sample *s); /* idempotent */
/* Takes s over, in order of `mismatch`; of more than `most`, the one that
 * differs least is dropped. */
void assay_run_cause_keep(struct assay_run *r, struct assay_run_suspect *k,
                          struct assay_suspect_sample *s, uint64_t mismatch,
                          uint32_t from, size_t most);
/* Is there room for this sample, which is not kept yet? */
bool assay_run_cause_wants(const struct assay_run_suspect *k, uint32_t sample);
bool assay_run_cause_is_kept(const struct assay_run_suspect *k,
                             uint32_t sample);

/* run_cause_verify.c: compares what a search proved with one more sample of its
 * suspect, and adds that to its counts; *fits: all of it gives the sample. */
int assay_run_cause_compare(struct assay_search *found,
                            const struct assay_suspect *suspect,
                            const struct assay_suspect_sample *s, bool *fits,
                            struct assay_err *err) ASSAY_MUST_CHECK;
/*
 * run_cause_verify.c: compares what the first n suspects have proved with all
 * samples that they do not keep. todo: those to look at; left true where
 * nothing stays proved and, with `again`, a sample that refuted it was kept:
 * it is to be searched once more.
 */
int assay_run_causes_verify(struct assay_run *r, size_t n, bool *todo,
                            bool again, struct assay_err *err) ASSAY_MUST_CHECK;

#endif
