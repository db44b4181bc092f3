/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run that is cut is continued (--resume): with -o DIR, what the board gave
 * is kept in DIR/resume.journal while the run goes on (journal.h), and removed
 * when it is complete. A resumed run asks for the same things in the same
 * order; what the journal has is taken from there, so that all that is judged,
 * searched and reported is what an undisturbed run would have had. Part of
 * `assay run`. One thread.
 */
#ifndef ASSAY_HOST_RUN_RESUME_H
#define ASSAY_HOST_RUN_RESUME_H

#include "host-tools/journal.h"
#include "host-tools/run.h"

struct assay_run_resume {
    struct assay_journal *old; /* NULL: not resumed */
    struct assay_journal_writer w;
    char path[4200];
    char fresh[4200]; /* what is written, until it is path */
    bool wanted;      /* something is to be kept */
    bool made, replaces;
    bool told_mask, resumable;
    uint32_t pass, layer; /* of old: the sample that is under way begins */
    uint64_t taken;       /* layers */
    char slice[65];
};

/* With --resume the journal is read, and must be of this model; behind
 * assay_run_select(). ASSAY_EMISMATCH names what differs. */
int assay_run_resume_open(struct assay_run *r, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* The board is known: it must be the same one. */
int assay_run_resume_board(struct assay_run *r, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* A sample is open: its inputs, reference and columns must be the same. */
int assay_run_resume_sample(struct assay_run *r, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* backend->vt->run() of the board, less what the journal has. */
int assay_run_resume_pass(struct assay_run *r, const struct assay_pass *pass,
                          const struct assay_backend_run *run,
                          const struct assay_results *results,
                          struct assay_err *err) ASSAY_MUST_CHECK;
/* No pass comes any more: keeps the journal of a run that was cut, and the
 * report of the run before it; removes them behind one that is complete. */
void assay_run_resume_end(struct assay_run *r);
void assay_run_resume_close(struct assay_run *r); /* idempotent */

/* run_resume_pass.c asks: the journal cannot be written, the run goes on
 * without it. */
void assay_run_resume_give_up(struct assay_run *r, const struct assay_err *why);

/* Which report in DIR is the earlier run's: what a cut run found there, else
 * report.json. */
const char *assay_run_resume_previous(const struct assay_run *r,
                                      const char *dir, char *out, size_t cap);
/* Did the worker die in a vector kernel? */
bool assay_run_vector_died(const struct assay_run *r);
/* "assay run … --resume DIR --cpumask 0": what to do about a run that was cut;
 * "" nothing. Behind assay_run_resume_end(). */
const char *assay_run_next(const struct assay_run *r, char *out, size_t cap);

#endif
