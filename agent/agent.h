/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon: one loop, what all sessions share, and how it stops. */
#ifndef ASSAY_AGENT_AGENT_H
#define ASSAY_AGENT_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "agent/blobs.h"
#include "agent/lease.h"
#include "agent/options.h"
#include "agent/selftest.h"
#include "agent/sysinfo.h"
#include "lib/net/listen.h"
#include "proto/codec.h"

struct assay_entrance;
struct assay_session;
struct assay_relay;

/* Since the start; bytes of connections that are open come on top. */
struct assay_counters {
    uint64_t sessions, refused, runs, layers, crashes, timeouts;
    uint64_t bytes_in, bytes_out;
};

struct assay_agent {
    uv_loop_t loop;
    const struct assay_agent_options *options;
    const char *board_id;
    struct assay_sysinfo sysinfo;
    uint32_t cpu_flags; /* probed & --cpumask */
    uint64_t started_us;
    struct assay_blobs *blobs;
    struct assay_lease lease;
    struct assay_board_test test;
    bool telling; /* what it found: the next one has to wait */
    struct assay_counters counters;
    struct assay_listener *listener;
    struct assay_listener *attach; /* for --stdio agents of this board */
    struct assay_session *sessions;
    unsigned n_sessions, n_refused;  /* all; those that are only told why */
    struct assay_entrance *entrance; /* NULL: no TLS */
    struct assay_relay *relay;       /* --stdio beside a daemon */
    uv_signal_t signals[4];
    int n_signals;
    bool stopping;
};

/* Runs until it is told to stop; the exit code: 0, or 2 for a refused start. */
int assay_agent_main(const struct assay_agent_options *options);

/* --self-test: 0 or 4, what was found on stdout. */
int assay_agent_self_test(const struct assay_agent_options *options);

uint64_t assay_agent_deadline_ms(const struct assay_agent_options *options,
                                 enum assay_deadline_name which);
void assay_agent_stop(struct assay_agent *a); /* idempotent */
/* A connection becomes a session; with refusal one that only tells it. */
void assay_agent_admit(struct assay_agent *a, struct assay_conn *conn,
                       const struct assay_err *refusal);
/* Tests the board for all sessions that want it, now or behind the test that
 * runs; each is told. */
void assay_agent_test(struct assay_agent *a);
/* The session has closed its handles: it leaves the list. */
void assay_agent_session_gone(struct assay_agent *a, struct assay_session *s);
/* Fills what hello and status answer; strings are borrowed. */
void assay_agent_info(const struct assay_agent *a, struct assay_msg_info *out);

#endif
