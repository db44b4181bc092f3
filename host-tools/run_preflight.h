/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The preflight of a run: what case, build, compiled model, board and runtime
 * say of versions is compared before a layer runs. Part of `assay run`. One
 * thread.
 */
#ifndef ASSAY_HOST_RUN_PREFLIGHT_H
#define ASSAY_HOST_RUN_PREFLIGHT_H

#include "host-tools/run_lines.h"

/* Fills r->preflight; again when the board is known. */
int assay_run_preflight(struct assay_run *r, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* A contradiction, and no --no-preflight. */
bool assay_run_preflight_stops(const struct assay_run *r);
/* "the model is built for ..., the board's runtime says ...". */
const char *assay_run_version_sentence(const struct assay_run *r, char *out,
                                       size_t cap);
/* Of the head: notes, and contradictions but the one of the first line. */
void assay_run_preflight_lines(const struct assay_run *r,
                               struct assay_lines *l);
void assay_run_preflight_table(const struct assay_run *r); /* to stdout */
int assay_run_preflight_report(const struct assay_run *r,
                               struct assay_report_head *head) ASSAY_MUST_CHECK;

#endif
