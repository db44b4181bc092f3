/* SPDX-License-Identifier: Apache-2.0 */
/* How a TLS connection comes to be; who is let in is tls_judge.c's. */
#include <string.h>

#include <mbedtls/platform_util.h>

#include "lib/net/tls_conn.h"

#define HANDSHAKE_FIRST 0x14 /* record types: 20 to 23 */
#define HANDSHAKE_LAST 0x17

/* The handshake came to nothing. */
static void give_up(struct assay_tls *t, const struct assay_err *err,
                    bool refused)
{
    assay_tls_done_fn *done = t->done;
    struct assay_tls_peer peer = t->peer;
    void *self = t->self;

    if (t->stage != ASSAY_TLS_SHAKING || done == NULL)
        return;
    if (refused)
        t->ctx->shared->counts.refused++;
    else
        t->ctx->shared->counts.failed++;
    assay_conn_close(&t->base, NULL, NULL);
    done(self, NULL, peer.fingerprint[0] != '\0' ? &peer : NULL, err);
}

/* ---- the handshake -------------------------------------------------------- */

/* Called for each certificate of a full handshake only. */
static int on_certificate(void *self, mbedtls_x509_crt *cert, int depth,
                          uint32_t *flags)
{
    struct assay_tls *t = self;

    (void)cert;
    (void)depth;
    (void)flags; /* judged afterwards */
    t->full = true;
    return 0;
}

static void take_session(struct assay_tls *t)
{
    const struct assay_tls_config *own = &t->ctx->own;
    mbedtls_ssl_session session;
    uint8_t *blob;
    size_t n;

    if (own->session_get == NULL || t->ctx->role != ASSAY_TLS_CLIENT)
        return;
    blob = assay_alloc(ASSAY_TLS_SESSION_MAX);
    if (blob == NULL)
        return;
    n = own->session_get(own->self, blob, ASSAY_TLS_SESSION_MAX);
    mbedtls_ssl_session_init(&session);
    /* One that does not fit costs a full handshake, no more. */
    if (n > 0 && n <= ASSAY_TLS_SESSION_MAX &&
        mbedtls_ssl_session_load(&session, blob, n) == 0)
        (void)!mbedtls_ssl_set_session(&t->ssl, &session);
    mbedtls_ssl_session_free(&session);
    mbedtls_platform_zeroize(blob, ASSAY_TLS_SESSION_MAX);
    assay_free(blob);
}

static void put_session(struct assay_tls *t, const mbedtls_x509_crt *cert)
{
    const struct assay_tls_config *own = &t->ctx->own;
    mbedtls_ssl_session session;
    uint8_t *blob;
    size_t n = 0;

    /* The board's certificate is kept without what follows it: see
     * write_ticket() in tls_context.c. */
    if (own->session_put == NULL || t->ctx->role != ASSAY_TLS_CLIENT ||
        !t->full || cert->next != NULL)
        return;
    blob = assay_alloc(ASSAY_TLS_SESSION_MAX);
    if (blob == NULL)
        return;
    mbedtls_ssl_session_init(&session);
    if (mbedtls_ssl_get_session(&t->ssl, &session) == 0 &&
        mbedtls_ssl_session_save(&session, blob, ASSAY_TLS_SESSION_MAX, &n) ==
            0)
        own->session_put(own->self, blob, n);
    mbedtls_ssl_session_free(&session);
    mbedtls_platform_zeroize(blob, ASSAY_TLS_SESSION_MAX);
    assay_free(blob);
}

/* Both sides know each other's key now. */
static void judge(struct assay_tls *t)
{
    const mbedtls_x509_crt *cert = mbedtls_ssl_get_peer_cert(&t->ssl);
    struct assay_tls_counts *counts = &t->ctx->shared->counts;
    assay_tls_done_fn *done = t->done;
    struct assay_err err = {0};
    int rc;

    t->peer.resumed = !t->full;
    rc = assay_tls_judge_cert(t->ctx, cert, assay_tls_host(t), &t->peer, &err);
    if (rc < 0 && t->ctx->role == ASSAY_TLS_CLIENT) {
        mbedtls_ssl_send_alert_message(&t->ssl, MBEDTLS_SSL_ALERT_LEVEL_FATAL,
                                       MBEDTLS_SSL_ALERT_MSG_ACCESS_DENIED);
        (void)!assay_tls_flush(t);
        give_up(t, &err, true);
        return;
    }
    t->stage = ASSAY_TLS_OPEN;
    t->done = NULL;
    assay_deadline_stop(&t->deadline);
    if (rc < 0) {
        counts->refused++;
    } else {
        counts->full += t->full;
        counts->resumed += !t->full;
        put_session(t, cert);
    }
    (void)!assay_conn_read(t->under, false);
    done(t->self, &t->base, &t->peer, rc < 0 ? &err : NULL);
}

static void shake(struct assay_tls *t)
{
    struct assay_err err = {0};
    char text[160];
    int rc = mbedtls_ssl_handshake(&t->ssl);

    (void)!assay_tls_flush(
        t); /* an alert, too; what went wrong there shows itself */
    if (rc == MBEDTLS_ERR_SSL_WANT_READ)
        return;
    if (rc == 0) {
        judge(t);
        return;
    }
    assay_tls_text(rc, t->alert, text, sizeof(text));
    assay_fail(&err, ASSAY_ECONNECT, "TLS handshake failed: %s", text);
    give_up(t, &err, false);
}

static void on_late(void *self)
{
    struct assay_tls *t = self;
    struct assay_err err = {0};

    assay_fail(&err, ASSAY_ETIMEOUT, "TLS handshake did not end within %.1f s",
               t->ctx->own.handshake_ms / 1000.0);
    give_up(t, &err, false);
}

/* The first byte shows whether the peer speaks TLS at all. */
static bool is_tls(struct assay_tls *t, uint8_t first)
{
    bool server = t->ctx->role == ASSAY_TLS_SERVER;
    assay_tls_done_fn *done = t->done;
    struct assay_conn *bare = t->under;
    struct assay_err err = {0};
    void *self = t->self;

    if (first >= HANDSHAKE_FIRST && first <= HANDSHAKE_LAST)
        return true;
    if (!server) {
        assay_fail(&err, ASSAY_ECONNECT,
                   "the board answered without TLS: its agent needs "
                   "--tls-cert and --tls-key, or give a target without 'tls:' "
                   "on loopback");
        give_up(t, &err, false);
        return false;
    }
    assay_fail(&err, ASSAY_ECONNECT,
               "TLS is spoken here, the client came without: give the target "
               "as tls:HOST:PORT");
    t->ctx->shared->counts.failed++;
    bare->events = NULL;
    bare->self = NULL;
    (void)!assay_conn_read(bare, false);
    t->under = NULL;
    t->open_parts--;
    assay_conn_close(&t->base, NULL, NULL);
    done(self, bare, NULL, &err);
    return false;
}

/* Alerts of the handshake come in the clear: 21, version, 2 bytes. */
static void note_alert(struct assay_tls *t)
{
    if (t->in_len >= 7 && t->in[0] == 0x15 && t->in[3] == 0 && t->in[4] == 2)
        t->alert = t->in[6];
}

static void on_under_data(void *self, const uint8_t *data, size_t n)
{
    struct assay_tls *t = self;

    t->base.received += n;
    if (t->stage == ASSAY_TLS_SHAKING && !t->seen && !is_tls(t, data[0]))
        return;
    t->seen = true;
    t->in = data;
    t->in_len = n;
    if (t->stage == ASSAY_TLS_SHAKING) {
        note_alert(t);
        shake(t);
    }
    if (t->stage == ASSAY_TLS_OPEN)
        assay_tls_read_records(t);
    assay_tls_keep_rest(t);
}

static void on_under_ended(void *self, int status)
{
    struct assay_tls *t = self;
    struct assay_err err = {0};

    t->cut = true;
    if (t->stage == ASSAY_TLS_SHAKING) {
        assay_fail(&err, ASSAY_ECONNECT,
                   "connection was cut during the TLS handshake%s%s",
                   status != UV_EOF ? ": " : "",
                   status != UV_EOF ? uv_strerror(status) : "");
        give_up(t, &err, false);
    } else if (status != UV_EOF) {
        assay_tls_set_end(t, status, NULL);
    } else if (t->kept.len == 0) {
        assay_tls_read_records(t); /* finds the cut */
    }
}

static void on_under_drained(void *self)
{
    (void)self; /* blocks tell by themselves when they are written */
}

static const struct assay_conn_events under_events = {
    on_under_data, on_under_ended, on_under_drained};

/* The client speaks first; a server only waits. An MBEDTLS_ERR_* code. */
static int begin(struct assay_tls *t)
{
    int rc = mbedtls_ssl_setup(&t->ssl, &t->ctx->conf);

    if (rc != 0)
        return rc;
    mbedtls_ssl_set_bio(&t->ssl, t, assay_tls_bio_send, assay_tls_bio_recv,
                        NULL);
    mbedtls_ssl_set_verify(&t->ssl, on_certificate, t);
    /* Names are judged by ourselves. */
    if (t->ctx->role == ASSAY_TLS_CLIENT)
        rc = mbedtls_ssl_set_hostname(&t->ssl, NULL);
    if (rc != 0)
        return rc;
    take_session(t);
    rc = mbedtls_ssl_handshake(&t->ssl);
    return rc == MBEDTLS_ERR_SSL_WANT_READ ? 0 : rc;
}

int assay_tls_start(struct assay_conn **out, struct assay_tls_context *ctx,
                    uv_loop_t *loop, struct assay_conn *under, const char *whom,
                    assay_tls_done_fn *done, void *self, struct assay_err *err)
{
    struct assay_tls *t = assay_tls_new(ctx, loop, under, whom, on_late);
    char text[160];
    int rc;

    if (t == NULL) {
        assay_conn_close(under, NULL, NULL);
        return assay_fail(err, ASSAY_EMEMORY, "no memory for TLS");
    }
    rc = begin(t);
    if (rc != 0) {
        assay_conn_close(&t->base, NULL, NULL);
        assay_tls_text(rc, -1, text, sizeof(text));
        return assay_fail(err, ASSAY_ECONNECT, "cannot begin TLS: %s", text);
    }
    rc = assay_tls_flush(t);
    if (rc == 0)
        rc = assay_conn_start(under, &under_events, t);
    if (rc < 0) {
        assay_conn_close(&t->base, NULL, NULL);
        return assay_fail(err, ASSAY_ECONNECT, "cannot begin TLS: %s",
                          uv_strerror(rc));
    }
    assay_deadline_start(&t->deadline, ctx->own.handshake_ms);
    t->done = done;
    t->self = self;
    *out = &t->base;
    return 0;
}
