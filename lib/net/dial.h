/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects to a target. Loop thread only. An EXEC target's process hangs on
 * its stdin: it is expected to end when the connection is closed; its stderr
 * is passed through.
 */
#ifndef ASSAY_NET_DIAL_H
#define ASSAY_NET_DIAL_H

#include <uv.h>

#include "lib/core/err.h"
#include "lib/net/conn.h"
#include "lib/net/target.h"

struct assay_dial {
    /* status 0: the connection is the receiver's. Else a UV_* code. */
    void (*done)(void *self, struct assay_conn *conn, int uv_status);
    /* EXEC: the process has ended and is reaped. */
    void (*exited)(void *self, int64_t status, int signal);
    void *self;
    struct assay_conn *conn; /* in the making */
    uv_connect_t connect;
    uv_process_t process;
    bool has_process;
};

/* d lives until done() (and for EXEC until its process is closed). */
int assay_dial_start(struct assay_dial *d, uv_loop_t *loop,
                     const struct assay_target *target, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
