/* SPDX-License-Identifier: Apache-2.0 */
/* What triage found, as text, as JSON, and as a bundle for the vendor. */
#ifndef ASSAY_HOST_TRIAGE_REPORT_H
#define ASSAY_HOST_TRIAGE_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "host-tools/options.h"
#include "host-tools/triage/triage.h"

void assay_triage_text(FILE *f, const struct assay_triage *t);
/* assay-triage/1; NULL: out of memory. Owned by the caller. */
json_t *assay_triage_json(const struct assay_triage *t);
/* The zip of --bundle; a line about it goes to `notes` (may be NULL). */
int assay_triage_bundle(const struct assay_triage *t,
                        const struct assay_options *o, FILE *notes,
                        struct assay_err *err) ASSAY_MUST_CHECK;

/* ---- sentences that text and JSON share --------------------------------- */

/* Why the first tensor of a step breaks. */
const char *assay_triage_reason(char *out, size_t cap,
                                const struct assay_transition *s);
/* Why a tensor is not compared. */
const char *assay_triage_why(char *out, size_t cap,
                             const struct assay_transition *s,
                             const struct assay_tensor_step *x);
/* "convert", or "convert, compile" of a step over several stages. */
const char *assay_triage_sides(char *out, size_t cap, enum assay_stage from,
                               enum assay_stage to);
/* Stages between two that were not given: "qat.export, qat.bc"; "". */
const char *assay_triage_between(char *out, size_t cap, enum assay_stage from,
                                 enum assay_stage to);
const char *assay_triage_verdict(const struct assay_transition *s);
const char *assay_triage_dtype_why(enum assay_dtype_why why); /* "not-hit" */

#endif
