/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS of a client: our identity, the board's pin, a session of before. Part
 * of client.c; one thread.
 */
#ifndef ASSAY_HOST_CLIENT_TLS_H
#define ASSAY_HOST_CLIENT_TLS_H

#include <stdbool.h>

#include "host-tools/client.h"
#include "host-tools/session_cache.h"
#include "lib/net/conn_tls.h"

struct assay_client_tls {
    struct assay_tls_context *ctx;
    struct assay_session_cache cache;
    char own_name[ASSAY_IDENTITY_NAME]; /* of our certificate */
    char own_fingerprint[ASSAY_FINGERPRINT_TEXT];
};

/* Reads the files, before anything is connected. accept_any: for `assay pair`
 * alone, which asks afterwards; it keeps and takes no session. */
int assay_client_tls_open(struct assay_client_tls **out,
                          const struct assay_target *target,
                          const struct assay_tls_files *files, bool accept_any,
                          struct assay_err *err) ASSAY_MUST_CHECK;
/* After the loop has ended. NULL safe. */
void assay_client_tls_close(struct assay_client_tls *t);

/* Shows who is at the other end and hangs up: `assay pair`. */
struct assay_client_met {
    struct assay_tls_peer board;
    char own_name[ASSAY_IDENTITY_NAME];
    char own_fingerprint[ASSAY_FINGERPRINT_TEXT];
};
int assay_client_meet(struct assay_client_met *out,
                      const struct assay_client_options *options,
                      struct assay_err *err) ASSAY_MUST_CHECK;

#endif
