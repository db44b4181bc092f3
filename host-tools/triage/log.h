/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs of the vendor's tools and runtime: messages that have a known cause
 * (log.def), and lines of errors that are not known and stay so. Pure.
 */
#ifndef ASSAY_TRIAGE_LOG_H
#define ASSAY_TRIAGE_LOG_H

#include <stdbool.h>

#include "lib/core/buf.h"
#include "lib/core/err.h"

struct assay_log_message {
    const char *id, *pattern, *meaning, *remedy;
};

struct assay_log_hit {
    const struct assay_log_message *message; /* NULL: an unknown error */
    const char *file, *text;                 /* of the first such line */
    uint32_t line, count;
};

#define ASSAY_MAX_UNKNOWN 20u /* kept; the others are counted */

struct assay_log {
    struct assay_arena *arena; /* borrowed */
    uint32_t n_files;
    uint32_t n_hits, cap;
    struct assay_log_hit *hits; /* known ones by id, then unknown lines */
    uint32_t n_unknown;         /* lines of unknown errors, all of them */
};

/* Adds a log's lines; file is borrowed. */
int assay_log_scan(struct assay_log *log, const char *file, const char *text,
                   size_t n, struct assay_err *err) ASSAY_MUST_CHECK;
/* The message of one line, or NULL. */
const struct assay_log_message *assay_log_find(const char *line, size_t n);
/* Is it the line of an error? */
bool assay_log_is_error(const char *line, size_t n);

#endif
