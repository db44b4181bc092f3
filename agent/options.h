/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's command line: one table (options.def) for parsing, --help and
 * the check of the man page. */
#ifndef ASSAY_AGENT_OPTIONS_H
#define ASSAY_AGENT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "agent/log.h"
#include "lib/core/err.h"

enum assay_deadline_name {
#define ASSAY_DEADLINE(NAME, name, ms, what) ASSAY_DEADLINE_##NAME,
#include "agent/deadlines.def"
#undef ASSAY_DEADLINE
    ASSAY_DEADLINES
};

struct assay_agent_options {
    const char *
        listen; /* NULL with --stdio; strings borrowed from argv or environment */
    bool stdio;
    /* TLS: all NULL, or cert and key and at least one of the other two. */
    const char *tls_cert, *tls_key, *tls_ca, *authorized;
    const char *board_id; /* option, else ASSAYD_BOARD_ID; NULL: host name */
    uint32_t cpumask;
    uint64_t memory;
    enum assay_log_level log_level;
    uint64_t deadline_ms[ASSAY_DEADLINES]; /* 0: the default */
    bool self_test; /* only that, and what it found on stdout */
    bool no_self_test;
    bool help, version;
};

int assay_agent_options_parse(struct assay_agent_options *out, int argc,
                              char **argv, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_agent_options_help(FILE *to);

#endif
