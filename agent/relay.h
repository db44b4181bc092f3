/* SPDX-License-Identifier: Apache-2.0 */
/* `--stdio` beside a running daemon of the same board: bytes are handed on
 * both ways, not understood. Loop thread only. */
#ifndef ASSAY_AGENT_RELAY_H
#define ASSAY_AGENT_RELAY_H

#include <uv.h>

#include "lib/net/conn.h"

struct assay_relay;

/* Takes both connections over; over() when either ended: then stop(). */
struct assay_relay *assay_relay_new(uv_loop_t *loop, struct assay_conn *a,
                                    struct assay_conn *b,
                                    void (*over)(void *self), void *self);
void assay_relay_stop(struct assay_relay *r); /* NULL safe; frees */

#endif
