/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's log: one line an event on stderr, never a file. An event is a
 * word or two and key=value pairs; text that is not the agent's own goes
 * through assay_log_quote(). Where stderr is the journal a line begins with
 * its priority, "<6>", as sd-daemon(3) has it. Any thread.
 *
 * No byte of a tensor or constant is ever logged, and no key.
 */
#ifndef ASSAY_AGENT_LOG_H
#define ASSAY_AGENT_LOG_H

#include <stddef.h>

#include "lib/core/err.h"

enum assay_log_level {
    ASSAY_LOG_ERROR = 0,
    ASSAY_LOG_WARN = 1,
    ASSAY_LOG_INFO = 2,
    ASSAY_LOG_DEBUG = 3,
};

void assay_log_set_level(enum assay_log_level level);
/* "error", ... to its level; 0, or -1 for an unknown word. */
int assay_log_parse_level(const char *text, enum assay_log_level *out);
void assay_log(enum assay_log_level level, const char *fmt, ...)
    ASSAY_PRINTF(2, 3);

/* text in quotes: quotes, backslashes and what is no printable ASCII as \xNN,
 * cut with "..." to what fits. Returns out. */
#define ASSAY_LOG_TEXT 320
const char *assay_log_quote(const char *text, char out[ASSAY_LOG_TEXT]);

#endif
