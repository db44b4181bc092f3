/* SPDX-License-Identifier: Apache-2.0 */
/* What mbedTLS's numbers mean for people. */
#include <stdio.h>

#include "lib/net/tls_context.h"

static const char *alert_name(int alert)
{
    switch (alert) {
    case MBEDTLS_SSL_ALERT_MSG_HANDSHAKE_FAILURE:
        return "no common cipher or key type";
    case MBEDTLS_SSL_ALERT_MSG_PROTOCOL_VERSION:
        return "another TLS version is needed";
    case MBEDTLS_SSL_ALERT_MSG_BAD_RECORD_MAC:
        return "a record arrived changed";
    case MBEDTLS_SSL_ALERT_MSG_BAD_CERT:
    case MBEDTLS_SSL_ALERT_MSG_UNSUPPORTED_CERT:
    case MBEDTLS_SSL_ALERT_MSG_CERT_REVOKED:
    case MBEDTLS_SSL_ALERT_MSG_CERT_EXPIRED:
    case MBEDTLS_SSL_ALERT_MSG_CERT_UNKNOWN:
    case MBEDTLS_SSL_ALERT_MSG_UNKNOWN_CA:
        return "our certificate was not accepted";
    case MBEDTLS_SSL_ALERT_MSG_ACCESS_DENIED:
        return "our key is not authorised";
    case MBEDTLS_SSL_ALERT_MSG_INTERNAL_ERROR: return "an internal error";
    default: return "no reason that we know";
    }
}

/* NULL: no words for it. */
static const char *sentence(int rc)
{
    switch (rc) {
    case MBEDTLS_ERR_SSL_CONN_EOF:
        return "the connection was cut off without TLS's goodbye";
    case MBEDTLS_ERR_SSL_INVALID_MAC:
        return "a record was changed or replayed on its way";
    case MBEDTLS_ERR_SSL_INVALID_RECORD: return "a malformed TLS record came";
    case MBEDTLS_ERR_SSL_UNEXPECTED_MESSAGE:
        return "a TLS message came out of turn";
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
    case MBEDTLS_ERR_SSL_HANDSHAKE_FAILURE:
    case MBEDTLS_ERR_SSL_DECODE_ERROR: return "a malformed TLS handshake came";
    case MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION:
#else
    case MBEDTLS_ERR_SSL_BAD_HS_CLIENT_HELLO:
    case MBEDTLS_ERR_SSL_BAD_HS_SERVER_HELLO:
        return "a malformed TLS handshake came";
    case MBEDTLS_ERR_SSL_NO_CIPHER_CHOSEN:
        return "no common cipher: ECDHE with AES-GCM or ChaCha20-Poly1305 is "
               "needed";
    case MBEDTLS_ERR_SSL_BAD_HS_PROTOCOL_VERSION:
#endif
        return "another version of TLS was spoken, 1.2 is needed";
    case MBEDTLS_ERR_SSL_ALLOC_FAILED: return "no memory for TLS";
    default: return NULL;
    }
}

void assay_tls_text(int rc, int alert, char *out, size_t cap)
{
    const char *words = sentence(rc);

    if (rc == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE && alert >= 0)
        snprintf(out, cap, "the peer refused, TLS alert %d: %s", alert,
                 alert_name(alert));
    else if (rc == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE)
        snprintf(out, cap, "the peer ended the connection with a TLS alert");
    else if (words != NULL)
        snprintf(out, cap, "%s", words);
    else
        snprintf(out, cap, "TLS error -0x%04x", (unsigned)-rc);
}
