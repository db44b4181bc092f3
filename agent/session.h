/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One client: a state, a table of what may come in it, and one deadline a
 * state. Any violation is answered with an error frame and the end of the
 * connection; it never ends the daemon. Loop thread only.
 */
#ifndef ASSAY_AGENT_SESSION_H
#define ASSAY_AGENT_SESSION_H

#include <stdbool.h>

#include "agent/agent.h"
#include "agent/loaded.h"
#include "agent/stream.h"
#include "lib/net/conn.h"
#include "lib/net/deadline.h"
#include "proto/codec.h"
#include "proto/frame.h"

enum assay_session_state {
    ASSAY_SESSION_HELLO = 0,   /* nothing was said yet */
    ASSAY_SESSION_READY = 1,   /* versions agreed, no lease */
    ASSAY_SESSION_LEASED = 2,  /* may send constants and load */
    ASSAY_SESSION_LOADED = 3,  /* may run */
    ASSAY_SESSION_RUNNING = 4, /* a worker computes */
    ASSAY_SESSION_CLOSING = 5, /* an error was sent; bytes are ignored */
    ASSAY_SESSION_GONE = 6,    /* handles are being closed */
};
#define ASSAY_SESSION_STATES 7

struct assay_upload {
    bool active;
    uint64_t begun_ms; /* uv_now() */
    uint8_t sha256[ASSAY_SHA256_LEN];
    uint8_t *data;
    uint64_t total, received;
    struct assay_err err; /* told when the last chunk has come */
};

enum assay_testing { ASSAY_TEST_NONE, ASSAY_TEST_WANTED, ASSAY_TEST_RUNS };

enum assay_asking { ASSAY_ASK_HELLO, ASSAY_ASK_STATUS, ASSAY_ASK_ACQUIRE };

struct assay_session {
    struct assay_agent *agent;
    struct assay_session *next;
    struct assay_conn *conn;
    struct assay_frame_decoder decoder;
    uint64_t decoder_charge; /* of its buffer, in the agent's budget */
    enum assay_session_state state;
    struct assay_deadline deadline;
    /* Of what began to arrive and is not whole. */
    struct assay_deadline arrival;
    uint64_t message_ms, inputs_ms; /* uv_now() of their begin; 0: none */
    unsigned number;                /* for the log */
    int open_handles;
    uint32_t send_sequence;
    uint64_t ttl_ms;
    struct assay_upload upload;
    struct assay_loaded *loaded;
    struct assay_err given_err; /* told at RUN_START */
    struct assay_stream *stream;
    /* While another process is asked about the lease nothing is read. */
    struct assay_lease_call *call;
    enum assay_asking asking;
    bool paused;
    bool is_stdio; /* the daemon ends with it */
    /* It was only let in to be told why not. Whoever refused it has logged
     * that, and it is the only line about it. */
    bool is_refused;
    enum assay_testing testing;
    uint64_t test_memory;
    bool wants_lease; /* as soon as the board has been tested */
    char want_owner[ASSAY_LEASE_OWNER_MAX + 1];
    bool want_force;
    char taken_from[ASSAY_LEASE_OWNER_MAX + 1];
    int attempts;
};

/* Takes the connection over. NULL: no memory (the connection is closed). */
struct assay_session *assay_session_new(struct assay_agent *a,
                                        struct assay_conn *conn,
                                        bool is_refused);
void assay_session_end(struct assay_session *s);   /* idempotent, no farewell */
void assay_session_child(struct assay_session *s); /* SIGCHLD came */
/* A self-test is over. */
void assay_session_tested(struct assay_session *s);
/* Its lease went to somebody else. */
void assay_session_revoked(void *session, const char *by);

/* May this message come in this state? Pure: the transition table. */
bool assay_session_allows(enum assay_session_state state,
                          enum assay_msg_type type);
const char *assay_session_state_name(enum assay_session_state state);

/* Who holds no lease may send small frames without payload only, and gets
 * little memory: a crowd of them is not worth the board's. */
void assay_session_limit(struct assay_session *s, bool has_lease);

/* ---- for session_*.c ------------------------------------------------------ */

void assay_session_enter(struct assay_session *s,
                         enum assay_session_state state);
uint64_t assay_session_deadline(const struct assay_session *s,
                                int deadline); /* in ms */
void assay_session_on_arrival(void *session);
/* Behind what was received. While nothing is read, nobody is late. */
void assay_session_arm_arrival(struct assay_session *s);
int assay_session_send(struct assay_session *s, const struct assay_msg *m);
/* Answers a request with an error; the session goes on. */
void assay_session_refuse(struct assay_session *s, const struct assay_err *err);
/* The last word: an error frame, then the connection ends. */
void assay_session_fatal(struct assay_session *s, const struct assay_err *err);
void assay_session_release_lease(struct assay_session *s); /* if it has it */
/* While it is paused no message is taken, and none of its deadlines runs: what
 * it waits for has its own. Some is read and kept for later, so that a client
 * that says a word (a ping) and hangs up is gone at once. */
void assay_session_pause(struct assay_session *s, bool on);

void assay_session_on_hello(struct assay_session *s, struct assay_msg *m);
void assay_session_on_status(struct assay_session *s, struct assay_msg *m);
void assay_session_on_acquire(struct assay_session *s, struct assay_msg *m);
void assay_session_on_release(struct assay_session *s, struct assay_msg *m);
void assay_session_on_self_test(struct assay_session *s, struct assay_msg *m);
void assay_session_on_query(struct assay_session *s, struct assay_msg *m);
void assay_session_on_put(struct assay_session *s, struct assay_msg *m);
void assay_session_on_load(struct assay_session *s, struct assay_msg *m);
void assay_session_on_tensor(struct assay_session *s, struct assay_msg *m);
void assay_session_on_expect(struct assay_session *s, struct assay_msg *m);
void assay_session_on_start(struct assay_session *s, struct assay_msg *m);
void assay_session_on_credit(struct assay_session *s, struct assay_msg *m);
void assay_session_on_cancel(struct assay_session *s, struct assay_msg *m);
void assay_session_drop_upload(struct assay_session *s);

#endif
