/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How clients come in through TLS: handshakes that are not over yet, who may
 * come in, and what a SIGHUP changes of it. Loop thread only.
 */
#ifndef ASSAY_AGENT_ENTRANCE_H
#define ASSAY_AGENT_ENTRANCE_H

#include "agent/options.h"
#include "lib/net/conn_tls.h"

struct assay_agent;
struct assay_entrance;

/* Loads certificate, key, CA and the file of authorised clients. */
int assay_entrance_new(struct assay_entrance **out, struct assay_agent *a,
                       struct assay_err *err) ASSAY_MUST_CHECK;
/* Takes a bare connection over; the agent gets it when its handshake is over.
 * Of too many handshakes at once the oldest is given up. */
void assay_entrance_take(struct assay_entrance *e, struct assay_conn *conn);
/* Reads all files again. When one is bad nothing changes; else clients that
 * would not be let in any more are told so, and lose their connection. */
void assay_entrance_reload(struct assay_entrance *e);
/* How handshakes ended since the start. */
const struct assay_tls_counts *assay_entrance_counts(
    const struct assay_entrance *e);
void assay_entrance_close(struct assay_entrance *e); /* NULL safe */

#endif
