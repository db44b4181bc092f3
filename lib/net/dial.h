/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects to a target; with TLS the handshake is a part of it. Names are
 * resolved, and their addresses tried one after the other. Loop thread only.
 * An EXEC target's process hangs on
 * its stdin: it is expected to end when the connection is closed; its stderr
 * is passed through.
 */
#ifndef ASSAY_NET_DIAL_H
#define ASSAY_NET_DIAL_H

#include <uv.h>

#include "lib/core/err.h"
#include "lib/net/conn.h"
#include "lib/net/conn_tls.h"
#include "lib/net/target.h"

struct assay_dial {
    /* status 0: the connection is the receiver's. Else a UV_* code. */
    void (*done)(void *self, struct assay_conn *conn, int uv_status);
    /* EXEC: the process has ended and is reaped. */
    void (*exited)(void *self, int64_t status, int signal);
    void *self;
    struct assay_tls_context *tls; /* borrowed; for targets that need it */
    /* Of a failed dial, where a status says too little: code is not 0. */
    struct assay_err why;
    struct assay_tls_peer peer; /* who answered, as far as was seen */
    const struct assay_target *target;
    uv_loop_t *loop;
    struct assay_conn *conn; /* in the making */
    uv_getaddrinfo_t resolve;
    struct addrinfo *addresses, *next_address;
    uv_connect_t connect;
    bool resolving, over;
    uv_process_t process;
    bool has_process;
};

/* d and target live until done() (and d for EXEC until its process is
 * closed); d is zeroed but for what the caller fills: the functions, self,
 * tls. */
int assay_dial_start(struct assay_dial *d, uv_loop_t *loop,
                     const struct assay_target *target, struct assay_err *err)
    ASSAY_MUST_CHECK;

/* Gives up what is in the making; done() does not come. d lives until the
 * loop has run dry. */
void assay_dial_cancel(struct assay_dial *d);

#endif
