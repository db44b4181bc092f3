/* SPDX-License-Identifier: Apache-2.0 */
/* What conn_tls.h's files share; for lib/net only. Loop thread only. */
#ifndef ASSAY_NET_TLS_CONTEXT_H
#define ASSAY_NET_TLS_CONTEXT_H

#include <mbedtls/ssl.h>
#include <mbedtls/ssl_ticket.h>
#include <mbedtls/version.h>

#include "lib/net/conn_tls.h"

/* What outlives a reload: the keys of tickets, and the counts. */
struct assay_tls_shared {
    unsigned refs;
    mbedtls_ssl_ticket_context tickets;
    struct assay_tls_counts counts;
};

struct assay_tls_context {
    unsigned refs;
    enum assay_tls_role role;
    mbedtls_ssl_config conf;
    struct assay_tls_config own;
    struct assay_tls_shared *shared;
};

struct assay_tls_context *assay_tls_context_ref(struct assay_tls_context *ctx);

/* assay_tls_judge() on a certificate; NULL: none was shown. `host` is what a
 * certificate by CA has to name, or NULL. Leaves out->resumed alone. */
int assay_tls_judge_cert(const struct assay_tls_context *ctx,
                         const mbedtls_x509_crt *cert, const char *host,
                         struct assay_tls_peer *out, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Does a certificate name this host or address? Pure. */
bool assay_tls_names(const mbedtls_x509_crt *cert, const char *host);

/* A sentence for an error of mbedTLS; alert: the last that the peer sent in
 * the clear, or -1. */
void assay_tls_text(int rc, int alert, char *out, size_t cap);

#endif
