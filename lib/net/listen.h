/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accepts connections. Loop thread only. TCP that is neither on loopback
 * nor marked as TLS is refused here, whatever the caller forgot. Connections
 * are bare in either case: the receiver puts TLS on them.
 */
#ifndef ASSAY_NET_LISTEN_H
#define ASSAY_NET_LISTEN_H

#include <uv.h>

#include "lib/core/err.h"
#include "lib/net/conn.h"
#include "lib/net/target.h"

struct assay_listener;

/* The connection is the receiver's: to start, or to close. */
typedef void assay_accept_fn(void *self, struct assay_conn *conn);

int assay_listener_open(struct assay_listener **out, uv_loop_t *loop,
                        const struct assay_target *where,
                        assay_accept_fn *accept, void *self,
                        struct assay_err *err) ASSAY_MUST_CHECK;
/* An abstract Unix socket: peers of other users are turned away. Returns
 * ASSAY_EBUSY when the name is taken. */
int assay_listener_open_abstract(struct assay_listener **out, uv_loop_t *loop,
                                 const char *name, assay_accept_fn *accept,
                                 void *self, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* What `--target` takes: "127.0.0.1:41234", "tls:0.0.0.0:7410",
 * "unix:/run/assayd.sock". */
const char *assay_listener_address(const struct assay_listener *l);
void assay_listener_close(struct assay_listener *l); /* NULL safe; frees */

#endif
