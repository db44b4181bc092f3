/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection moves bytes; what they mean is proto's business. A vtable, so
 * that TLS is one more file. Loop thread only.
 *
 * Life: made by dial.h, listen.h or assay_conn_from_fds(); start() names the
 * receiver; close() ends it: no event comes after it, pending sends are given
 * back, then closed() is called once and the memory is gone.
 */
#ifndef ASSAY_NET_CONN_H
#define ASSAY_NET_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "lib/core/err.h"

struct assay_conn;

struct assay_conn_events {
    /* Bytes, borrowed until the call returns. */
    void (*data)(void *self, const uint8_t *data, size_t n);
    /* No more bytes will come: the peer ended (status UV_EOF) or the
     * connection failed. The owner still has to close. */
    void (*ended)(void *self, int uv_status);
    /* The write queue fell to half its cap or below. */
    void (*drained)(void *self);
};

/* The body of a send was written, or given up: it may be reused. */
typedef void assay_conn_done_fn(void *arg);

struct assay_conn_vtable {
    int (*send)(struct assay_conn *c, const void *head, size_t head_bytes,
                const void *body, size_t body_bytes, assay_conn_done_fn *done,
                void *arg);
    int (*read)(struct assay_conn *c, bool on);
    void (*shutdown)(struct assay_conn *c);
    void (*close)(struct assay_conn *c);
};

#define ASSAY_CONN_QUEUE_CAP (1024u * 1024u)

struct assay_conn {
    const struct assay_conn_vtable *vt;
    const struct assay_conn_events *events; /* NULL before start, in close */
    void *self;
    void (*closed)(void *self);
    size_t queued; /* memory of what was sent and not yet written */
    /* Bounds of what a peer may make us keep; 0: ASSAY_CONN_QUEUE_CAP, and as
     * much as a read gives. */
    size_t queue_cap, read_max;
    uint64_t received, sent; /* on the wire: with TLS, its records */
    bool above_cap;          /* drained() is owed */
    const char *why;         /* of ended(), where a status says too little */
};

/* From now on events come; reading begins. */
int assay_conn_start(struct assay_conn *c,
                     const struct assay_conn_events *events, void *self)
    ASSAY_MUST_CHECK;
/*
 * Sends head (copied) and then body. With done, the body is borrowed until
 * done(arg), which is called exactly once, also when the send fails later;
 * without, it is copied. A negative UV_* code: nothing was taken, and done
 * will not be called.
 */
int assay_conn_send(struct assay_conn *c, const void *head, size_t head_bytes,
                    const void *body, size_t body_bytes,
                    assay_conn_done_fn *done, void *arg) ASSAY_MUST_CHECK;
/* More than the cap is queued: the owner stops making more. */
bool assay_conn_is_full(const struct assay_conn *c);
/* Half of the cap or less: who was full may go on. */
bool assay_conn_has_drained(const struct assay_conn *c);
/* A peer that is not trusted with more: tighter bounds than the usual ones,
 * or these again with 0, 0. At any time. */
void assay_conn_limit(struct assay_conn *c, size_t queue_cap, size_t read_max);
/* A sentence for the status that ended() told. */
const char *assay_conn_why(const struct assay_conn *c, int uv_status);
/* Stops and resumes reading: back pressure on the peer. */
int assay_conn_read(struct assay_conn *c, bool on) ASSAY_MUST_CHECK;
/* Ends the sending side behind what is queued. */
void assay_conn_shutdown(struct assay_conn *c);
void assay_conn_close(struct assay_conn *c, void (*closed)(void *self),
                      void *self);

/* A connection over two open descriptors (stdin, stdout), which it owns.
 * They may be pipes or sockets. */
int assay_conn_from_fds(struct assay_conn **out, uv_loop_t *loop, int in,
                        int fd_out, struct assay_err *err) ASSAY_MUST_CHECK;

#endif
