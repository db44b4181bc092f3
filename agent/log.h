/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's log: lines on stderr, never a file. Any thread. */
#ifndef ASSAY_AGENT_LOG_H
#define ASSAY_AGENT_LOG_H

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

#endif
