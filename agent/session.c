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
    {ASSAY_MSG_SELF_TEST, IN(READY) | IN(LEASED) | IN(LOADED),
     assay_session_on_self_test},
};
#define N_TABLE (sizeof(table) / sizeof(table[0]))

/* Of a session without a lease. Its messages are hello, status, ping and the
 * wish for a lease. */
#define SMALL_HEADER 4096u
#define SMALL_QUEUE (16u * 1024)
#define SMALL_READ 4096u

#define OF_LEASE (-1) /* its time to live */
#define OF_RUN (-2)   /* the stream's own deadlines */

/* One deadline a state. */
static const struct {
    const char *name;
    int deadline; /* enum assay_deadline_name, or one of the above */
} states[ASSAY_SESSION_STATES] = {
    [ASSAY_SESSION_HELLO] = {"hello", ASSAY_DEADLINE_HELLO},
    [ASSAY_SESSION_READY] = {"ready", ASSAY_DEADLINE_IDLE},
    [ASSAY_SESSION_LEASED] = {"leased", OF_LEASE},
    [ASSAY_SESSION_LOADED] = {"loaded", OF_LEASE},
    [ASSAY_SESSION_RUNNING] = {"running", OF_RUN},
    [ASSAY_SESSION_CLOSING] = {"closing", ASSAY_DEADLINE_CLOSE},
    [ASSAY_SESSION_GONE] = {"gone", OF_RUN},
};

uint64_t assay_session_deadline(const struct assay_session *s, int deadline)
{
    return assay_agent_deadline_ms(s->agent->options,
                                   (enum assay_deadline_name)deadline);
}

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
    char why[ASSAY_LOG_TEXT];

    s->agent->counters.refused++;
    if (!s->is_refused)
        assay_log(ASSAY_LOG_INFO,
                  "refused session=%u state=%s code=%s why=%s%s", s->number,
                  assay_session_state_name(s->state),
                  assay_status_name(err->code), assay_log_quote(err->text, why),
                  fatal ? " fatal=1" : "");
    m.u.error.code = err->code < 0 ? err->code : ASSAY_EINTERNAL;
    m.u.error.text = err->text;
    m.u.error.fatal = fatal;
    send_frame(s, &m, NULL, NULL);
}

void assay_session_refuse(struct assay_session *s, const struct assay_err *err)
{
    send_error(s, err, false);
}

void assay_session_release_lease(struct assay_session *s)
{
    char owner[ASSAY_LOG_TEXT];

    if (s->agent->lease.holder != s)
        return;
    assay_log(ASSAY_LOG_INFO, "lease-freed session=%u owner=%s", s->number,
              assay_log_quote(s->agent->lease.owner, owner));
    assay_lease_release(&s->agent->lease);
}

/* What it kept is for whoever comes next; a run has the slice until its end. */
static void let_go(struct assay_session *s)
{
    assay_session_drop_upload(s);
    if (s->stream != NULL)
        return;
    assay_loaded_close(s->loaded);
    s->loaded = NULL;
}

/* Reads on, and drops what comes: whoever was not read for a while and hangs
 * up is gone at once, not when the deadline has passed. */
static void begin_closing(struct assay_session *s)
{
    /* An answer that is still to come would make it a client again. */
    assay_lease_call_cancel(s->call);
    s->call = NULL;
    assay_session_enter(s, ASSAY_SESSION_CLOSING);
    let_go(s);
    assay_conn_shutdown(s->conn);
    (void)!assay_conn_read(s->conn, true);
}

void assay_session_fatal(struct assay_session *s, const struct assay_err *err)
{
    if (s->state >= ASSAY_SESSION_CLOSING)
        return;
    send_error(s, err, true);
    assay_session_release_lease(s);
    if (s->stream != NULL)
        assay_stream_kill(s->stream);
    begin_closing(s);
}

/* ---- states --------------------------------------------------------------- */

static void on_deadline(void *self)
{
    struct assay_session *s = self;
    struct assay_err err = {0};
    char owner[ASSAY_LOG_TEXT];

    if (s->state == ASSAY_SESSION_CLOSING) {
        assay_log(ASSAY_LOG_INFO, "close-timeout session=%u", s->number);
        assay_session_end(s);
        return;
    }
    if (states[s->state].deadline == OF_LEASE) {
        assay_log(ASSAY_LOG_WARN,
                  "lease-expired session=%u owner=%s ms=%" PRIu64, s->number,
                  assay_log_quote(s->agent->lease.owner, owner), s->ttl_ms);
        assay_fail(&err, ASSAY_ETIMEOUT,
                   "lease expired: no message for %" PRIu64 " ms", s->ttl_ms);
    } else
        assay_fail(&err, ASSAY_ETIMEOUT,
                   "no message for %" PRIu64 " ms in state '%s'",
                   assay_session_deadline(s, states[s->state].deadline),
                   assay_session_state_name(s->state));
    assay_session_fatal(s, &err);
}

/* Also called for each message: its traffic renews deadline and lease. */
void assay_session_enter(struct assay_session *s,
                         enum assay_session_state state)
{
    int deadline = states[state].deadline;

    s->state = state;
    if (s->agent->lease.holder == s)
        assay_lease_renew(&s->agent->lease, s->ttl_ms);
    if (deadline == OF_RUN)
        assay_deadline_stop(&s->deadline);
    else
        assay_deadline_start(&s->deadline,
                             deadline == OF_LEASE
                                 ? s->ttl_ms
                                 : assay_session_deadline(s, deadline));
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
            assay_log(ASSAY_LOG_DEBUG,
                      "message session=%u state=%s type=%s payload=%u",
                      s->number, assay_session_state_name(s->state),
                      assay_msg_name(m->type), m->payload_bytes);
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

static void take_messages(struct assay_session *s)
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
        s->message_ms = 0;
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

static void process(struct assay_session *s)
{
    take_messages(s);
    assay_session_arm_arrival(s);
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
    if (!s->paused)
        process(s);
    else if (assay_frame_pending(&s->decoder) > SMALL_QUEUE)
        (void)!assay_conn_read(s->conn, false);
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
    char why[ASSAY_LOG_TEXT];

    if (!s->is_refused)
        assay_log(ASSAY_LOG_INFO, "hung-up session=%u state=%s how=%s why=%s%s",
                  s->number, assay_session_state_name(s->state),
                  uv_err_name(status),
                  assay_log_quote(assay_conn_why(s->conn, status), why),
                  assay_frame_pending(&s->decoder) > 0 ? " inside=frame" : "");
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
    uint64_t now = uv_now(&s->agent->loop);

    s->paused = on;
    /* Nobody was late while we did not listen. */
    s->upload.begun_ms = now;
    if (s->inputs_ms != 0)
        s->inputs_ms = now;
    if (s->state >= ASSAY_SESSION_CLOSING)
        return;
    if (on) {
        assay_deadline_stop(&s->deadline);
        return;
    }
    assay_session_enter(s, s->state);
    if (!assay_conn_is_full(s->conn)) /* else drained() is owed */
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
    assay_session_release_lease(s);
    s->state = ASSAY_SESSION_GONE;
    s->agent->counters.bytes_in += s->conn->received;
    s->agent->counters.bytes_out += s->conn->sent;
    if (!s->is_refused)
        assay_log(ASSAY_LOG_INFO,
                  "disconnect session=%u in=%" PRIu64 " out=%" PRIu64,
                  s->number, s->conn->received, s->conn->sent);
    assay_lease_call_cancel(s->call);
    s->call = NULL;
    if (s->stream != NULL)
        assay_stream_kill(s->stream);
    assay_session_drop_upload(s);
    assay_deadline_close(&s->deadline, part_closed);
    assay_deadline_close(&s->arrival, part_closed);
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
    char who[ASSAY_LOG_TEXT];

    assay_log(ASSAY_LOG_WARN, "lease-stolen session=%u by=%s", s->number,
              assay_log_quote(by, who));
    assay_fail(&err, ASSAY_EBUSY, "lease was taken over by '%.200s'", by);
    assay_session_fatal(s, &err);
}

/* ---- runs ----------------------------------------------------------------- */

static void count_end(struct assay_session *s,
                      const struct assay_msg_run_end *e)
{
    char why[ASSAY_LOG_TEXT];

    if (e->error.code == ASSAY_ECRASH || e->error.code == ASSAY_EKILLED)
        s->agent->counters.crashes++;
    else if (e->error.code == ASSAY_ELAYER_TIMEOUT)
        s->agent->counters.timeouts++;
    if (e->error.code == 0)
        assay_log(
            ASSAY_LOG_INFO,
            "run-end session=%u run=%u layers=%u missing=%u bytes=%" PRIu64
            " ms=%" PRIu64,
            s->number, e->run, e->layers_done, e->layers_missing, e->bytes,
            e->time_us / 1000);
    else
        assay_log(
            e->error.code == ASSAY_ECANCELLED ? ASSAY_LOG_INFO : ASSAY_LOG_WARN,
            "run-failed session=%u run=%u layers=%u code=%s why=%s", s->number,
            e->run, e->layers_done, assay_status_name(e->error.code),
            assay_log_quote(e->error.text, why));
}

static int stream_send(void *self, const struct assay_msg *m,
                       const uint8_t *payload, void *ticket)
{
    struct assay_session *s = self;

    if (m->type == ASSAY_MSG_LAYER_END)
        s->agent->counters.layers++;
    else if (m->type == ASSAY_MSG_RUN_END)
        count_end(s, &m->u.run_end);

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
        assay_session_release_lease(s);
        begin_closing(s);
        return;
    }
    s->stream = NULL;
    if (s->state == ASSAY_SESSION_RUNNING) {
        assay_loaded_drop_given(s->loaded);
        assay_session_enter(s, ASSAY_SESSION_LOADED);
    } else
        let_go(s);
}

void assay_session_on_start(struct assay_session *s, struct assay_msg *m)
{
    struct assay_stream_events to = {
        .send = stream_send,
        .full = stream_full,
        .over = stream_over,
        .self = s,
        .run_ms = assay_session_deadline(s, ASSAY_DEADLINE_RUN),
    };
    struct assay_err err = s->given_err;
    uint32_t flags = s->agent->cpu_flags & m->u.run_start.cpumask;
    int rc = err.code;

    s->given_err = (struct assay_err){0};
    s->inputs_ms = 0; /* refused or not, they are over */
    if (rc == 0)
        rc = assay_board_test_judge(&s->agent->test, flags, &err);
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
    s->agent->counters.runs++;
    assay_log(ASSAY_LOG_INFO, "run-start session=%u run=%u sample=%u mode=%s",
              s->number, m->u.run_start.run, m->u.run_start.sample,
              m->u.run_start.isolated ? "isolated" : "cumulative");
    assay_session_enter(s, ASSAY_SESSION_RUNNING);
}

struct assay_session *assay_session_new(struct assay_agent *a,
                                        struct assay_conn *conn,
                                        bool is_refused)
{
    struct assay_session *s = assay_calloc(1, sizeof(*s));

    if (s == NULL) {
        assay_conn_close(conn, NULL, NULL);
        return NULL;
    }
    s->agent = a;
    s->conn = conn;
    s->is_refused = is_refused;
    assay_frame_decoder_init(&s->decoder, false);
    assay_session_limit(s, false);
    assay_deadline_init(&s->deadline, &a->loop, on_deadline, s);
    assay_deadline_init(&s->arrival, &a->loop, assay_session_on_arrival, s);
    s->open_handles = 3;
    s->number = (unsigned)++a->counters.sessions;
    if (!is_refused)
        assay_log(ASSAY_LOG_INFO, "connect session=%u", s->number);
    s->next = a->sessions;
    a->sessions = s;
    a->n_sessions++;
    assay_session_enter(s, ASSAY_SESSION_HELLO);
    if (assay_conn_start(conn, &events, s) < 0)
        assay_session_end(s);
    return s;
}
