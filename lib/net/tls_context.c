/* SPDX-License-Identifier: Apache-2.0 */
/* How we speak TLS: versions, suites, tickets. */
#include "lib/net/tls_context.h"

#include <string.h>

#include "lib/core/buf.h"
#include "lib/net/random.h"

#if MBEDTLS_VERSION_NUMBER >= 0x03000000
#include <psa/crypto.h>
#endif
#ifndef MBEDTLS_PRIVATE
#define MBEDTLS_PRIVATE(member) member
#endif

#define TICKET_LIFETIME_S 86400u

/* The server's order counts. Where AES runs in tables, ChaCha20 is several
 * times as fast: mbedTLS uses the AES instructions of aarch64 since 3.5. */
static const int suites[] = {
#if defined(__aarch64__) && MBEDTLS_VERSION_NUMBER < 0x03050000
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
#endif
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
#if !defined(__aarch64__) || MBEDTLS_VERSION_NUMBER >= 0x03050000
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
#endif
    0,
};

void assay_tls_config_close(struct assay_tls_config *config)
{
    if (config == NULL)
        return;
    if (config->has_identity)
        assay_identity_close(&config->identity);
    if (config->has_ca)
        mbedtls_x509_crt_free(&config->ca);
    assay_pins_close(&config->pins);
    memset(config, 0, sizeof(*config));
}

/* ---- tickets -------------------------------------------------------------- */

/* A ticket carries the client's certificate without what follows it; by CA
 * it could not be judged again, so such a client has no ticket. */
static int write_ticket(void *tickets, const mbedtls_ssl_session *session,
                        unsigned char *start, const unsigned char *end,
                        size_t *len, uint32_t *lifetime)
{
    const mbedtls_x509_crt *cert = session->MBEDTLS_PRIVATE(peer_cert);

    if (cert == NULL || cert->next != NULL)
        return MBEDTLS_ERR_SSL_FEATURE_UNAVAILABLE;
    return mbedtls_ssl_ticket_write(tickets, session, start, end, len,
                                    lifetime);
}

static void shared_free(struct assay_tls_shared *s)
{
    if (s == NULL || --s->refs > 0)
        return;
    mbedtls_ssl_ticket_free(&s->tickets);
    assay_free(s);
}

static struct assay_tls_shared *shared_new(int *rc)
{
    struct assay_tls_shared *s = assay_calloc(1, sizeof(*s));

    *rc = MBEDTLS_ERR_SSL_ALLOC_FAILED;
    if (s == NULL)
        return NULL;
    s->refs = 1;
    mbedtls_ssl_ticket_init(&s->tickets);
    *rc =
        mbedtls_ssl_ticket_setup(&s->tickets, assay_random, NULL,
                                 MBEDTLS_CIPHER_AES_256_GCM, TICKET_LIFETIME_S);
    if (*rc == 0)
        return s;
    shared_free(s);
    return NULL;
}

/* ---- contexts ------------------------------------------------------------- */

/* 1.2 in both libraries: a resumed session of 1.3 does not carry the peer's
 * certificate, and who comes in is asked of that. */
static void set_algorithms(mbedtls_ssl_config *conf)
{
#if MBEDTLS_VERSION_NUMBER >= 0x03010000
    static const uint16_t groups[] = {
        MBEDTLS_SSL_IANA_TLS_GROUP_SECP256R1, MBEDTLS_SSL_IANA_TLS_GROUP_X25519,
        MBEDTLS_SSL_IANA_TLS_GROUP_SECP384R1, MBEDTLS_SSL_IANA_TLS_GROUP_NONE};
    static const uint16_t signatures[] = {
        MBEDTLS_TLS1_3_SIG_ECDSA_SECP256R1_SHA256,
        MBEDTLS_TLS1_3_SIG_ECDSA_SECP384R1_SHA384,
        MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA256,
        MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA384, MBEDTLS_TLS1_3_SIG_NONE};

    mbedtls_ssl_conf_groups(conf, groups);
    mbedtls_ssl_conf_sig_algs(conf, signatures);
    mbedtls_ssl_conf_min_tls_version(conf, MBEDTLS_SSL_VERSION_TLS1_2);
    mbedtls_ssl_conf_max_tls_version(conf, MBEDTLS_SSL_VERSION_TLS1_2);
#else
    static const mbedtls_ecp_group_id groups[] = {
        MBEDTLS_ECP_DP_SECP256R1, MBEDTLS_ECP_DP_CURVE25519,
        MBEDTLS_ECP_DP_SECP384R1, MBEDTLS_ECP_DP_NONE};
    static const int hashes[] = {MBEDTLS_MD_SHA256, MBEDTLS_MD_SHA384,
                                 MBEDTLS_MD_NONE};

    mbedtls_ssl_conf_curves(conf, groups);
    mbedtls_ssl_conf_sig_hashes(conf, hashes);
    mbedtls_ssl_conf_min_version(conf, MBEDTLS_SSL_MAJOR_VERSION_3,
                                 MBEDTLS_SSL_MINOR_VERSION_3);
    mbedtls_ssl_conf_max_version(conf, MBEDTLS_SSL_MAJOR_VERSION_3,
                                 MBEDTLS_SSL_MINOR_VERSION_3);
#endif
    mbedtls_ssl_conf_ciphersuites(conf, suites);
#if defined(MBEDTLS_SSL_RENEGOTIATION)
    mbedtls_ssl_conf_renegotiation(conf, MBEDTLS_SSL_RENEGOTIATION_DISABLED);
#endif
}

static int set_up(struct assay_tls_context *ctx)
{
    mbedtls_ssl_config *conf = &ctx->conf;
    bool server = ctx->role == ASSAY_TLS_SERVER;
    int rc;

#if MBEDTLS_VERSION_NUMBER >= 0x03000000
    if (psa_crypto_init() != PSA_SUCCESS)
        return MBEDTLS_ERR_SSL_INTERNAL_ERROR;
#endif
    rc = mbedtls_ssl_config_defaults(
        conf, server ? MBEDTLS_SSL_IS_SERVER : MBEDTLS_SSL_IS_CLIENT,
        MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT);
    if (rc == 0)
        rc = mbedtls_ssl_conf_own_cert(conf, &ctx->own.identity.cert,
                                       &ctx->own.identity.key);
    if (rc != 0)
        return rc;
    mbedtls_ssl_conf_rng(conf, assay_random, NULL);
    /* Asked for and its signature checked; who may come in is judged when the
     * handshake is over, since a pinned key needs no chain and whoever is
     * refused is to be told why. */
    mbedtls_ssl_conf_authmode(conf, MBEDTLS_SSL_VERIFY_OPTIONAL);
    set_algorithms(conf);
    if (server)
        mbedtls_ssl_conf_session_tickets_cb(conf, write_ticket,
                                            mbedtls_ssl_ticket_parse,
                                            &ctx->shared->tickets);
    else
        mbedtls_ssl_conf_session_tickets(conf,
                                         MBEDTLS_SSL_SESSION_TICKETS_ENABLED);
    return 0;
}

int assay_tls_context_new(struct assay_tls_context **out,
                          struct assay_tls_config *config,
                          enum assay_tls_role role,
                          struct assay_tls_context *before,
                          struct assay_err *err)
{
    struct assay_tls_context *ctx;
    char text[160];
    int rc = 0;

    if (!config->has_identity)
        return assay_fail(err, ASSAY_EUSAGE,
                          "TLS needs a certificate and its key");
    ctx = assay_calloc(1, sizeof(*ctx));
    if (ctx == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for TLS");
    ctx->refs = 1;
    ctx->role = role;
    ctx->own = *config;
    if (ctx->own.handshake_ms == 0)
        ctx->own.handshake_ms = ASSAY_TLS_HANDSHAKE_MS;
    mbedtls_ssl_config_init(&ctx->conf);
    if (before != NULL) {
        ctx->shared = before->shared;
        ctx->shared->refs++;
    } else {
        ctx->shared = shared_new(&rc);
    }
    if (rc == 0)
        rc = set_up(ctx);
    if (rc != 0) {
        memset(&ctx->own, 0, sizeof(ctx->own)); /* still the caller's */
        assay_tls_context_free(ctx);
        assay_tls_text(rc, -1, text, sizeof(text));
        return assay_fail(err, ASSAY_EINTERNAL, "cannot set up TLS: %s", text);
    }
    memset(config, 0, sizeof(*config));
    *out = ctx;
    return 0;
}

struct assay_tls_context *assay_tls_context_ref(struct assay_tls_context *ctx)
{
    ctx->refs++;
    return ctx;
}

void assay_tls_context_free(struct assay_tls_context *ctx)
{
    if (ctx == NULL || --ctx->refs > 0)
        return;
    mbedtls_ssl_config_free(&ctx->conf);
    assay_tls_config_close(&ctx->own);
    shared_free(ctx->shared);
    assay_free(ctx);
}

const struct assay_tls_counts *assay_tls_context_counts(
    const struct assay_tls_context *ctx)
{
    return &ctx->shared->counts;
}

const char *assay_tls_context_fingerprint(const struct assay_tls_context *ctx)
{
    return ctx->own.identity.fingerprint;
}
