/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of certificate and key of any kind, for tests. A failure of the
 * builder itself ends the test program. */
#ifndef ASSAY_TESTS_SUPPORT_CERTS_H
#define ASSAY_TESTS_SUPPORT_CERTS_H

#include <stdbool.h>

#include "lib/net/identity.h"

struct certs_wish {
    const char *name;                    /* CN */
    const struct assay_identity *issuer; /* NULL: itself */
    const char *from, *until;            /* NULL: 2000, 9999 */
    unsigned rsa_bits;                   /* 0: P-256 */
    bool is_ca;
    const char *host;      /* a DNS name in subjectAltName, or NULL */
    unsigned char ip4[4];  /* an address there; 0.0.0.0: none */
    const char *usage_oid; /* extended key usage, raw OID bytes, or NULL */
};

void certs_make(struct assay_identity *out, const struct certs_wish *wish);
/* Puts the issuer's certificate behind, as a chain file would. */
void certs_append(struct assay_identity *id, const struct assay_identity *ca);
/* The same pair once more: a context takes one over. */
void certs_copy(struct assay_identity *out, const struct assay_identity *id);
void certs_copy_ca(mbedtls_x509_crt *out, const struct assay_identity *id);

#endif
