/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this user brings to a board behind TLS: options, else the environment,
 * else the files that `assay keygen` and `assay pair` made. Any thread.
 */
#ifndef ASSAY_HOST_TLS_FILES_H
#define ASSAY_HOST_TLS_FILES_H

#include "lib/core/err.h"

struct assay_tls_config; /* lib/net/conn_tls.h */

/* Borrowed texts of --tls-cert, --tls-key, --tls-ca; NULL: not given. */
struct assay_tls_files {
    const char *cert, *key, *ca;
};

/* Loads our identity, and the authorities where there are any. Each thing
 * that is missing has a sentence that says what to do. Close the
 * configuration also after a failure. */
int assay_tls_files_load(struct assay_tls_config *out,
                         const struct assay_tls_files *files,
                         struct assay_err *err) ASSAY_MUST_CHECK;
/* What we trust the board HOST:PORT for: its pin, or authorities that were
 * loaded. */
int assay_tls_files_trust(struct assay_tls_config *config, const char *board,
                          struct assay_err *err) ASSAY_MUST_CHECK;

#endif
