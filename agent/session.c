/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/session.h"

#include <inttypes.h>
#include <string.h>

#include "agent/log.h"
#include "lib/core/buf.h"

typedef void handler_fn(struct assay_session *s, struct assay_msg *m);

static void on_ping(struct assay_session *s, struct assay_msg *m);

#define IN(state) (1u << ASSAY_SESSION_##state)

/* The transition table: what may come when. Everything else is a violation. */
static const struct {
    enum assay_msg_type type;
    uint32_t states;
    handler_fn *handler;
} table[] = {
    {ASSAY_MSG_HELLO, IN(HELLO), assay_session_on_hello},
    {ASSAY_MSG_LEASE_ACQUIRE, IN(READY), assay_session_on_acquire},
    {ASSAY_MSG_LEASE_RELEASE, IN(LEASED) | IN(LOADED),
     assay_session_on_release},
    {ASSAY_MSG_BLOB_QUERY, IN(LEASED) | IN(LOADED), assay_session_on_query},
    {ASSAY_MSG_BLOB_PUT, IN(LEASED) | IN(LOADED), assay_session_on_put},
    {ASSAY_MSG_SLICE_LOAD, IN(LEASED) | IN(LOADED), assay_session_on_load},
    {ASSAY_MSG_RUN_TENSOR, IN(LOADED), assay_session_on_tensor},
    {ASSAY_MSG_RUN_EXPECT, IN(LOADED), assay_session_on_expect},
    {ASSAY_MSG_RUN_START, IN(LOADED), assay_session_on_start},
    /* A run may end while these are on their way. */
    {ASSAY_MSG_CREDIT, IN(LOADED) | IN(RUNNING), assay_session_on_credit},
    {ASSAY_MSG_CANCEL, IN(LOADED) | IN(RUNNING), assay_session_on_cancel},
    {ASSAY_MSG_PING, IN(READY) | IN(LEASED) | IN(LOADED) | IN(RUNNING),
     on_ping},
    {ASSAY_MSG_STATUS, IN(READY) | IN(LEASED) | IN(LOADED) | IN(RUNNING),
     assay_session_on_status},
};
#define N_TABLE (sizeof(table) / sizeof(table[0]))

/* Of a session without a lease. Its messages are hello, status, ping and the
 * wish for a lease. */
#define SMALL_HEADER 4096u
#define SMALL_QUEUE (16u * 1024)
#define SMALL_READ 4096u

/* One deadline a state; 0: the lease's time to live, or the run's own. */
static const struct {
    const char *name;
    uint64_t deadline_ms;
} states[ASSAY_SESSION_STATES] = {
    [ASSAY_SESSION_HELLO] = {"hello", 10000},
    [ASSAY_SESSION_READY] = {"ready", 600000},
    [ASSAY_SESSION_LEASED] = {"leased", 0},
    [ASSAY_SESSION_LOADED] = {"loaded", 0},
    [ASSAY_SESSION_RUNNING] = {"running", 0},
    [ASSAY_SESSION_CLOSING] = {"closing", 5000},
    [ASSAY_SESSION_GONE] = {"gone", 0},
};

const char *assay_session_state_name(enum assay_session_state state)
{
    return (unsigned)state < ASSAY_SESSION_STATES ? states[state].name : "?";
}

bool assay_session_allows(enum assay_session_state state,
                          enum assay_msg_type type)
{
    for (size_t i = 0; i < N_TABLE; i++) {
        if (table[i].type == type)
            return (table[i].states >> state & 1) != 0;
    }
    return false;
}

/* ---- sending -------------------------------------------------------------- */

static int send_frame(struct assay_session *s, const struct assay_msg *m,
                      const uint8_t *payload, void *ticket)
{
    struct assay_err err = {0};
    struct assay_buf head;
    int rc;

    if (s->state == ASSAY_SESSION_GONE || s->state == ASSAY_SESSION_CLOSING)
        return ASSAY_ELOST;
    assay_buf_init(&head);
    rc = assay_msg_frame(&head, m, true, s->send_sequence, &err);
    if (rc == 0)
        rc = assay_conn_send(s->conn, head.data, head.len, payload,
                             payload != NULL ? m->payload_bytes : 0,
                             ticket != NULL ? assay_stream_sent : NULL, ticket);
    assay_buf_close(&head);
    if (rc < 0)
        return rc;
    s->send_sequence++;
    /* A peer that asks and does not read is not read either. */
    if (assay_conn_is_full(s->conn))
        (void)!assay_conn_read(s->conn, false);
    return 0;
}

int assay_session_send(struct assay_session *s, const struct assay_msg *m)
{
    return send_frame(s, m, NULL, NULL);
}

static void send_error(struct assay_session *s, const struct assay_err *err,
                       bool fatal)
{
    struct assay_msg m = {.type = ASSAY_MSG_ERROR};

    assay_log(ASSAY_LOG_INFO, "session %p, %s: %s", (void *)s,
              assay_session_state_name(s->state), err->text);
    m.u.error.code = err->code < 0 ? err->code : ASSAY_EINTERNAL;
    m.u.error.text = err->text;
    m.u.error.fatal = fatal;
    send_frame(s, &m, NULL, NULL);
}

void assay_session_refuse(struct assay_session *s, const struct assay_err *err)
{
    send_error(s, err, false);
}

static void release_lease(struct assay_session *s)
{
    if (s->agent->lease.holder == s)
        assay_lease_release(&s->agent->lease);
}

/* Reads on, and drops what comes: whoever was not read for a while and hangs
 * up is gone at once, not when the deadline has passed. */
static void begin_closing(struct assay_session *s)
{
    assay_session_enter(s, ASSAY_SESSION_CLOSING);
    assay_conn_shutdown(s->conn);
    (void)!assay_conn_read(s->conn, true);
}

void assay_session_fatal(struct assay_session *s, const struct assay_err *err)
{
    if (s->state >= ASSAY_SESSION_CLOSING)
        return;
    send_error(s, err, true);
    release_lease(s);
    if (s->stream != NULL)
        assay_stream_kill(s->stream);
    begin_closing(s);
}

/* ---- states --------------------------------------------------------------- */

static void on_deadline(void *self)
{
    struct assay_session *s = self;
    struct assay_err err = {0};

    if (s->state == ASSAY_SESSION_CLOSING) {
        assay_session_end(s);
        return;
    }
    if (s->state == ASSAY_SESSION_LEASED || s->state == ASSAY_SESSION_LOADED)
        assay_fail(&err, ASSAY_ETIMEOUT,
                   "lease expired: no message for %" PRIu64 " ms", s->ttl_ms);
    else
        assay_fail(
            &err, ASSAY_ETIMEOUT, "no message for %" PRIu64 " ms in state '%s'",
            states[s->state].deadline_ms, assay_session_state_name(s->state));
    assay_session_fatal(s, &err);
}

/* Also called for each message: its traffic renews deadline and lease. */
void assay_session_enter(struct assay_session *s,
                         enum assay_session_state state)
{
    uint64_t ms = states[state].deadline_ms;

    s->state = state;
    if (s->agent->lease.holder == s)
        assay_lease_renew(&s->agent->lease, s->ttl_ms);
    if (state == ASSAY_SESSION_LEASED || state == ASSAY_SESSION_LOADED)
        ms = s->ttl_ms;
    if (ms > 0)
        assay_deadline_start(&s->deadline, ms);
    else
        assay_deadline_stop(&s->deadline);
}

static void on_ping(struct assay_session *s, struct assay_msg *m)
{
    struct assay_msg pong = {.type = ASSAY_MSG_PONG, .u.number = m->u.number};

    assay_session_send(s, &pong);
}

static void dispatch(struct assay_session *s, struct assay_msg *m)
{
    struct assay_err err = {0};

    for (size_t i = 0; i < N_TABLE; i++) {
        if (table[i].type != m->type)
            continue;
        if (table[i].states >> s->state & 1) {
            assay_session_enter(s, s->state);
            table[i].handler(s, m);
            return;
        }
    }
    assay_fail(&err, ASSAY_EPROTOCOL,
               "message %s is out of turn: the session is in state '%s'%s",
               assay_msg_name(m->type), assay_session_state_name(s->state),
               s->state == ASSAY_SESSION_READY    ? " (no lease)"
               : s->state == ASSAY_SESSION_LEASED ? " (no slice is loaded)"
                                                  : "");
    assay_session_fatal(s, &err);
}

/* ---- receiving ------------------------------------------------------------ */

static void process(struct assay_session *s)
{
    struct assay_err err = {0};
    struct assay_frame frame;
    struct assay_msg m;
    int rc;

    while (s->state < ASSAY_SESSION_CLOSING && !s->paused &&
           !assay_conn_is_full(s->conn)) {
        rc = assay_frame_next(&s->decoder, &frame, &err);
        if (rc == 0)
            return;
        if (rc > 0)
            rc = assay_msg_decode(&m, &frame, &err);
        if (rc < 0) {
            assay_session_fatal(s, &err);
            return;
        }
        dispatch(s, &m);
        assay_msg_close(&m);
    }
}

/* Frames of a megabyte come from whoever has the lease. */
static int charge_decoder(struct assay_session *s, struct assay_err *err)
{
    uint64_t more = s->decoder.buf.cap - s->decoder_charge;
    int rc = 0;

    if (s->agent->lease.holder != s || s->decoder.buf.cap <= s->decoder_charge)
        return 0;
    rc = assay_budget_take(s->agent->blobs, more, "receive buffer", err);
    if (rc == 0)
        s->decoder_charge += more;
    return rc;
}

static void on_data(void *self, const uint8_t *data, size_t n)
{
    struct assay_session *s = self;
    struct assay_err err = {0};

    if (s->state >= ASSAY_SESSION_CLOSING)
        return;
    if (assay_frame_push(&s->decoder, data, n, &err) < 0 ||
        charge_decoder(s, &err) < 0) {
        assay_session_fatal(s, &err);
        return;
    }
    process(s);
}

void assay_session_limit(struct assay_session *s, bool has_lease)
{
    assay_conn_limit(s->conn, has_lease ? 0 : SMALL_QUEUE,
                     has_lease ? 0 : SMALL_READ);
    assay_frame_limit(&s->decoder, has_lease ? 0 : SMALL_HEADER, 0);
    if (has_lease)
        return;
    assay_frame_trim(&s->decoder);
    assay_budget_give(s->agent->blobs, s->decoder_charge);
    s->decoder_charge = 0;
}

static void on_ended(void *self, int status)
{
    struct assay_session *s = self;

    assay_log(ASSAY_LOG_INFO, "session %p: connection ended: %s%s", self,
              assay_conn_why(s->conn, status),
              assay_frame_pending(&s->decoder) > 0 ? " inside a frame" : "");
    assay_session_end(s);
}

static void on_drained(void *self)
{
    struct assay_session *s = self;

    if (s->stream != NULL)
        assay_stream_drained(s->stream);
    if (s->paused || s->state >= ASSAY_SESSION_CLOSING)
        return;
    if (assay_conn_read(s->conn, true) < 0)
        assay_session_end(s);
    else
        process(s);
}

void assay_session_pause(struct assay_session *s, bool on)
{
    s->paused = on;
    if (s->state >= ASSAY_SESSION_CLOSING)
        return;
    if (on)
        (void)!assay_conn_read(s->conn, false);
    else if (!assay_conn_is_full(s->conn)) /* else drained() is owed */
        on_drained(s);
}

static const struct assay_conn_events events = {on_data, on_ended, on_drained};

/* ---- beginning and end ---------------------------------------------------- */

static void part_closed(void *self)
{
    struct assay_session *s = self;

    if (--s->open_handles > 0)
        return;
    assay_loaded_close(s->loaded);
    assay_frame_decoder_close(&s->decoder);
    assay_budget_give(s->agent->blobs, s->decoder_charge);
    assay_agent_session_gone(s->agent, s);
    assay_free(s);
}

/* Only now does nothing borrow from the worker's ring any more. */
static void conn_closed(void *self)
{
    struct assay_session *s = self;
    struct assay_stream *stream = s->stream;

    s->stream = NULL;
    if (stream != NULL)
        assay_stream_abandon(stream, part_closed, s);
    else
        part_closed(s);
}

void assay_session_end(struct assay_session *s)
{
    if (s->state == ASSAY_SESSION_GONE)
        return;
    s->state = ASSAY_SESSION_GONE;
    release_lease(s);
    assay_lease_call_cancel(s->call);
    s->call = NULL;
    if (s->stream != NULL)
        assay_stream_kill(s->stream);
    assay_session_drop_upload(s);
    assay_deadline_close(&s->deadline, part_closed);
    assay_conn_close(s->conn, conn_closed, s);
}

void assay_session_child(struct assay_session *s)
{
    if (s->stream != NULL)
        assay_stream_child(s->stream);
}

void assay_session_revoked(void *session, const char *by)
{
    struct assay_session *s = session;
    struct assay_err err = {0};

    assay_fail(&err, ASSAY_EBUSY, "lease was taken over by '%.200s'", by);
    assay_session_fatal(s, &err);
}

/* ---- runs ----------------------------------------------------------------- */

static int stream_send(void *self, const struct assay_msg *m,
                       const uint8_t *payload, void *ticket)
{
    struct assay_session *s = self;

    /* Results are traffic too: a long run does not lose its lease. */
    if (s->agent->lease.holder == s)
        assay_lease_renew(&s->agent->lease, s->ttl_ms);
    return send_frame(s, m, payload, ticket);
}

static bool stream_full(void *self)
{
    struct assay_session *s = self;

    return assay_conn_is_full(s->conn);
}

static void stream_over(void *self, bool fatal)
{
    struct assay_session *s = self;

    if (fatal) {
        /* Its last words wait behind what it does not take: it has until the
         * deadline of this state. The stream lives as long as that. */
        if (s->state >= ASSAY_SESSION_CLOSING)
            return;
        release_lease(s);
        begin_closing(s);
        return;
    }
    s->stream = NULL;
    if (s->state == ASSAY_SESSION_RUNNING) {
        assay_loaded_drop_given(s->loaded);
        assay_session_enter(s, ASSAY_SESSION_LOADED);
    }
}

void assay_session_on_start(struct assay_session *s, struct assay_msg *m)
{
    struct assay_stream_events to = {stream_send, stream_full, stream_over, s};
    struct assay_err err = s->given_err;
    uint32_t flags = s->agent->cpu_flags & m->u.run_start.cpumask;
    int rc = err.code;

    s->given_err = (struct assay_err){0};
    if (rc == 0)
        rc = assay_loaded_check_given(s->loaded, &err);
    if (rc == 0)
        rc = assay_loaded_plan(s->loaded, flags, &err);
    if (rc == 0)
        rc = assay_stream_start(&s->stream, &s->agent->loop, s->loaded,
                                &m->u.run_start, &to, &err);
    if (rc < 0) {
        assay_loaded_drop_given(s->loaded);
        assay_session_refuse(s, &err);
        return;
    }
    assay_session_enter(s, ASSAY_SESSION_RUNNING);
}

struct assay_session *assay_session_new(struct assay_agent *a,
                                        struct assay_conn *conn)
{
    struct assay_session *s = assay_calloc(1, sizeof(*s));

    if (s == NULL) {
        assay_conn_close(conn, NULL, NULL);
        return NULL;
    }
    s->agent = a;
    s->conn = conn;
    assay_frame_decoder_init(&s->decoder, false);
    assay_session_limit(s, false);
    assay_deadline_init(&s->deadline, &a->loop, on_deadline, s);
    s->open_handles = 2;
    s->next = a->sessions;
    a->sessions = s;
    a->n_sessions++;
    assay_session_enter(s, ASSAY_SESSION_HELLO);
    if (assay_conn_start(conn, &events, s) < 0)
        assay_session_end(s);
    return s;
}
