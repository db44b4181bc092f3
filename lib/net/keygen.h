/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a key and the certificate that carries it, in memory. The host links
 * this; the agent does not: a board's pair is made where it can be kept.
 * Any thread.
 */
#ifndef ASSAY_NET_KEYGEN_H
#define ASSAY_NET_KEYGEN_H

#include "lib/core/err.h"
#include "lib/net/identity.h"

#define ASSAY_KEYGEN_NAME_MAX 64u /* of X.509's common name */

struct assay_keygen {
    char key_pem[1024]; /* secret: close wipes it */
    char cert_pem[2048];
    char fingerprint[ASSAY_FINGERPRINT_TEXT];
};

/* A key on P-256 and a certificate signed by itself for CN=name, valid from
 * 2000 to 9999, since boards have no clock. */
int assay_keygen(struct assay_keygen *out, const char *name,
                 struct assay_err *err) ASSAY_MUST_CHECK;
void assay_keygen_close(struct assay_keygen *k); /* NULL safe */

#endif
