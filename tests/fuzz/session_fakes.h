/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session is given instead of the world: a connection that keeps what
 * it is told to send for a while, a lease that is always free, a board that is
 * always good, and a worker that is no process: it writes records, honest or
 * damaged, into its ring.
 */
#ifndef ASSAY_TESTS_FUZZ_SESSION_FAKES_H
#define ASSAY_TESTS_FUZZ_SESSION_FAKES_H

#include "agent/agent.h"
#include "lib/net/conn.h"

struct fake_conn;

/* Ends when the session closes it. */
struct assay_conn *fake_conn_new(struct fake_conn **out);
/* Bytes of the peer; false: the session does not read now, or is gone. */
bool fake_conn_feed(struct fake_conn *f, const uint8_t *data, size_t n);
/* Everything that was sent is taken by the peer. */
void fake_conn_take(struct fake_conn *f);
void fake_conn_end(struct fake_conn *f); /* the peer hangs up */
/* The session has closed it, and what it closed with has been called. */
bool fake_conn_is_closed(const struct fake_conn *f);
void fake_conn_free(struct fake_conn *f);

/* The board's test, where one was asked for, is over. */
void fake_test_ends(struct assay_agent *a);
/* How the next workers behave: bytes choose. */
void fake_worker_behave(const uint8_t *data, size_t n);

#endif
