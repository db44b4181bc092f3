/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS 1.2 over another connection, both sides known to each other: ECDHE with
 * AEAD suites, no renegotiation, no compression. Loop thread only.
 *
 * A peer is let in when its key is pinned (dates, names and chain do not
 * matter then: boards have no clock) or when its certificate chains to the CA
 * and is valid now. That is asked after every handshake, of a resumed session
 * too, and may be asked again later (assay_tls_judge()).
 *
 * Life: assay_tls_context_new() once a configuration; assay_tls_start() on a
 * connection that nobody has started; done() gives a connection like any
 * other. Before done() the handshake is given up by assay_conn_close().
 */
#ifndef ASSAY_NET_CONN_TLS_H
#define ASSAY_NET_CONN_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "lib/core/err.h"
#include "lib/net/conn.h"
#include "lib/net/identity.h"
#include "lib/net/pins.h"

#define ASSAY_TLS_HANDSHAKE_MS 10000u
/* A session blob holds the peer's certificate; a longer one is not kept. */
#define ASSAY_TLS_SESSION_MAX 16384u

/*
 * Who we are, whom we let in. Zeroed is empty. A context takes it over; what
 * was not taken is given back by assay_tls_config_close().
 */
struct assay_tls_config {
    struct assay_identity identity;
    bool has_identity; /* a context needs one */
    mbedtls_x509_crt ca;
    bool has_ca;
    struct assay_pins pins; /* an empty set lets nobody in */
    /* Client: the one key that is accepted by pin; "" none. The name is what
     * the peer is called then. */
    char wanted[ASSAY_FINGERPRINT_TEXT];
    char wanted_name[ASSAY_PIN_NAME_MAX + 1];
    /* Client that asks a person afterwards (assay pair): any peer is let in.
     * Nothing else may set it. */
    bool accept_any;
    uint32_t handshake_ms; /* 0: ASSAY_TLS_HANDSHAKE_MS */
    /* Client: a session of before, to be resumed. get() fills out and returns
     * the bytes, 0 for none; put() gets one that was accepted, to be kept as
     * a secret. Both may be NULL. self lives as long as the context. */
    size_t (*session_get)(void *self, uint8_t *out, size_t cap);
    void (*session_put)(void *self, const uint8_t *blob, size_t n);
    void *self;
};
void assay_tls_config_close(struct assay_tls_config *config);

struct assay_tls_context;

/* How handshakes ended; shared by a context and those that replace it. */
struct assay_tls_counts {
    uint64_t full, resumed; /* accepted */
    uint64_t refused;       /* the peer may not come in */
    uint64_t failed;        /* anything else: cut, late, not TLS */
};

enum assay_tls_role { ASSAY_TLS_CLIENT, ASSAY_TLS_SERVER };

/* `before`, or NULL, is the context that this one replaces: tickets that it
 * gave out can still be resumed, and counting goes on. Connections keep the
 * context that they began with alive. */
int assay_tls_context_new(struct assay_tls_context **out,
                          struct assay_tls_config *config,
                          enum assay_tls_role role,
                          struct assay_tls_context *before,
                          struct assay_err *err) ASSAY_MUST_CHECK;
void assay_tls_context_free(struct assay_tls_context *ctx); /* NULL safe */
const struct assay_tls_counts *assay_tls_context_counts(
    const struct assay_tls_context *ctx);
const char *assay_tls_context_fingerprint(const struct assay_tls_context *ctx);

struct assay_tls_peer {
    char name[ASSAY_PIN_NAME_MAX + 1]; /* of the pin, or the certificate's CN */
    char fingerprint[ASSAY_FINGERPRINT_TEXT]; /* "": it showed none */
    bool by_ca;                               /* not by pin */
    bool resumed;
};

/*
 * The handshake is over; called once, never from within assay_tls_start().
 *   conn, no err: the peer was let in; the connection is the receiver's, to
 *       start or to close.
 *   conn, err: server only: the peer may not come in, or speaks without TLS
 *       (peer is NULL then, and conn the bare connection). It may be told so
 *       on conn, and has to be closed.
 *   no conn: it failed and is closed; peer is not NULL when its certificate
 *       was seen.
 */
typedef void assay_tls_done_fn(void *self, struct assay_conn *conn,
                               const struct assay_tls_peer *peer,
                               const struct assay_err *err);

/* Takes `under` over, also when it fails. *out may be closed until done(),
 * which does not come then. `whom` is what errors call the peer; a client
 * gives the host, which a certificate that is let in by CA has to name. */
int assay_tls_start(struct assay_conn **out, struct assay_tls_context *ctx,
                    uv_loop_t *loop, struct assay_conn *under, const char *whom,
                    assay_tls_done_fn *done, void *self, struct assay_err *err)
    ASSAY_MUST_CHECK;

/* Who is at the other end; NULL: the connection is not TLS. */
const struct assay_tls_peer *assay_tls_peer(const struct assay_conn *c);
/* Would this context let the peer of c in? Fills *out. A connection without
 * TLS is always let in, with an empty name. */
int assay_tls_judge(const struct assay_tls_context *ctx,
                    const struct assay_conn *c, struct assay_tls_peer *out,
                    struct assay_err *err) ASSAY_MUST_CHECK;

#endif
