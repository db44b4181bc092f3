/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must not leave the house is taken out of texts: passwords, tokens and
 * keys (<secret>), users and machines (<user>, <host>), and paths of this
 * machine (<path>, the name of a file is kept). What may be missed, a reader
 * still has to look for: see docs/triage.md. Pure; any thread.
 */
#ifndef ASSAY_TRIAGE_REDACT_H
#define ASSAY_TRIAGE_REDACT_H

#include "lib/core/buf.h"
#include "lib/core/err.h"

enum assay_redacted {
    ASSAY_REDACTED_SECRET = 0,
    ASSAY_REDACTED_USER,
    ASSAY_REDACTED_HOST,
    ASSAY_REDACTED_PATH,
    ASSAY_REDACTED_COUNT
};
const char *assay_redacted_name(enum assay_redacted kind); /* "secret" */

#define ASSAY_MAX_OWN_PATHS 16u

struct assay_redaction {
    /* Prefixes of paths that are this machine's too; borrowed. */
    const char *own[ASSAY_MAX_OWN_PATHS];
    uint32_t n_own;
    uint32_t count[ASSAY_REDACTED_COUNT];
};

/* Appends the text to out, what is taken out counted in r. */
int assay_redact(struct assay_buf *out, const char *text, size_t n,
                 struct assay_redaction *r, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
