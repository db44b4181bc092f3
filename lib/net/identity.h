/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who a side of a TLS connection is: a certificate and its private key, and
 * the fingerprint by which people compare them. Loads files, opens no
 * connection; any thread, one identity at a time.
 *
 * A fingerprint is "SHA256:" and 43 characters of base64 without padding over
 * SHA-256 of the certificate's SubjectPublicKeyInfo (DER): a new certificate
 * of the same key keeps it. The print is in ssh's form; what is hashed is not
 * ssh's (`openssl pkey -pubout -outform DER | openssl dgst -sha256 -binary |
 * base64` gives the same).
 */
#ifndef ASSAY_NET_IDENTITY_H
#define ASSAY_NET_IDENTITY_H

#include <stdbool.h>

#include <mbedtls/pk.h>
#include <mbedtls/x509_crt.h>

#include "lib/core/err.h"

#define ASSAY_FINGERPRINT_TEXT 51 /* with the NUL */
#define ASSAY_IDENTITY_NAME 201   /* with the NUL; ASSAY_PIN_NAME_MAX */

struct assay_identity {
    mbedtls_x509_crt cert; /* what follows it in the file goes to the peer */
    mbedtls_pk_context key;
    char fingerprint[ASSAY_FINGERPRINT_TEXT]; /* of cert */
};

/*
 * Loads PEM or DER. The key's file is refused when it is not a regular file,
 * when group or others may read or write it, or when it belongs to neither
 * this user nor root; the certificate's when others may write it. The key
 * must be the certificate's, on P-256 or P-384, or RSA of at least 2048 bits.
 * Whatever is wrong is told with the file's name, and *out is untouched.
 */
int assay_identity_load(struct assay_identity *out, const char *cert_path,
                        const char *key_path, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_identity_close(struct assay_identity *id); /* NULL safe; wipes */

/* Of the first certificate of a chain; negative: it holds no public key. */
int assay_key_fingerprint(const mbedtls_x509_crt *cert,
                          char out[ASSAY_FINGERPRINT_TEXT]) ASSAY_MUST_CHECK;
/* "SHA256:" and 43 characters that 32 bytes can give. */
bool assay_is_fingerprint(const char *text);

/* The certificate's common name where it can stand in a file of pins, else
 * "". */
void assay_identity_name(const mbedtls_x509_crt *cert,
                         char out[ASSAY_IDENTITY_NAME]);

/* Certificates to trust (--tls-ca): PEM or DER, one or many. The caller frees
 * them (mbedtls_x509_crt_free); *out is untouched on failure. */
int assay_identity_load_ca(mbedtls_x509_crt *out, const char *path,
                           struct assay_err *err) ASSAY_MUST_CHECK;

#endif
