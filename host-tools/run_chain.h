/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The artefacts of a run and their hashes, digests of what each layer gave,
 * and the earlier run that they are held against. Part of `assay run`. One
 * thread.
 */
#ifndef ASSAY_HOST_RUN_CHAIN_H
#define ASSAY_HOST_RUN_CHAIN_H

#include "host-tools/previous.h"
#include "host-tools/run_lines.h"

/* Whose data a digest is of. */
enum assay_run_digest_of {
    ASSAY_DIGEST_EXPECTED = 0,
    ASSAY_DIGEST_CPU,
    ASSAY_DIGEST_SIM,
    ASSAY_DIGEST_BPU,
    ASSAY_DIGEST_COUNT,
};
struct assay_run_digest {
    uint8_t v[ASSAY_DIGEST_COUNT][16];
    bool has[ASSAY_DIGEST_COUNT];
    bool unknown[ASSAY_DIGEST_COUNT]; /* in a sample no data was there */
};
struct assay_run_chain {
    struct assay_chain chain;
    struct assay_run_digest *digests; /* one a layer, in the run's arena */
    bool has_previous, fix;           /* fix: the user named it */
    struct assay_previous previous;
    struct assay_chain_layer *layers; /* when judged; one a layer */
    struct assay_stale stale;
};

/* Hashes the files and reads the earlier report, when the columns are known;
 * fills r->chain (in the run's arena). A report that the user names must be
 * one. */
int assay_run_chain_open(struct assay_run *r, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* A layer's data in the sample that is open; once a sample. NULL: it differs
 * from all that is here, and is not known. */
void assay_run_digest(struct assay_run *r, uint32_t layer,
                      enum assay_run_digest_of of, const void *data);
/* When all samples are judged: is it stale? */
void assay_run_chain_judge(struct assay_run *r,
                           const struct assay_run_summary *sum);
bool assay_run_is_stale(const struct assay_run *r);
enum assay_message_id assay_run_stale_message(const struct assay_run *r);
const char *assay_run_stale_sentence(const struct assay_run *r, char *out,
                                     size_t cap);
/* One line of short hashes; hints. */
void assay_run_chain_lines(const struct assay_run *r, struct assay_lines *l);
int assay_run_chain_report(const struct assay_run *r,
                           struct assay_report_head *head) ASSAY_MUST_CHECK;
/* Digests as texts of a row. */
void assay_run_chain_row(const struct assay_run *r, struct assay_row *row);

#endif
