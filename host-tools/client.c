/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/client.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/client_tls.h"
#include "lib/core/buf.h"
#include "proto/version.h"

#define TIMEOUT_DEFAULT_MS 30000u
#define TICK_MS 50u
#define GOODBYE_MS 1000u
#define CHILD_MS 2000u

uint64_t assay_client_now_ms(struct assay_client *c)
{
    uv_update_time(&c->loop);
    return uv_now(&c->loop);
}

bool assay_client_interrupted(const struct assay_client *c)
{
    return c->interrupted != NULL && *c->interrupted != 0;
}

static int cancelled(struct assay_err *err)
{
    return assay_fail(err, ASSAY_ECANCELLED, "interrupted");
}

/* ---- loop callbacks ------------------------------------------------------- */

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
}

static void on_data(void *self, const uint8_t *data, size_t n)
{
    struct assay_client *c = self;
    struct assay_err err = {0};

    c->received += n;
    if (assay_frame_push(&c->decoder, data, n, &err) < 0)
        c->broken = err;
}

static void on_ended(void *self, int status)
{
    struct assay_client *c = self;

    c->ended = true;
    c->end_status = status;
}

static void on_drained(void *self)
{
    (void)self;
}

static const struct assay_conn_events events = {on_data, on_ended, on_drained};

static void on_dialled(void *self, struct assay_conn *conn, int status)
{
    struct assay_client *c = self;

    c->dialled = true;
    c->dial_status = status;
    c->conn = conn;
    if (conn != NULL) {
        status = assay_conn_start(conn, &events, c);
        if (status < 0)
            on_ended(c, status);
    }
}

static void on_exited(void *self, int64_t status, int sig)
{
    struct assay_client *c = self;

    c->exited = true;
    c->exit_status = status;
    c->exit_signal = sig;
}

void assay_client_step(struct assay_client *c)
{
    uv_run(&c->loop, UV_RUN_ONCE);
}

/* ---- messages ------------------------------------------------------------- */

/* The process is behind its pipe's end by a moment. */
static void wait_for_exit(struct assay_client *c, uint64_t ms)
{
    uint64_t start = assay_client_now_ms(c);

    while (!c->exited && assay_client_now_ms(c) - start < ms)
        assay_client_step(c);
}

static int tell_end(struct assay_client *c, struct assay_err *err)
{
    int code = c->version == 0 ? ASSAY_ECONNECT : ASSAY_ELOST;
    const char *when = c->version == 0 ? " before it answered" : "";

    if (c->target.kind == ASSAY_TARGET_EXEC) {
        wait_for_exit(c, GOODBYE_MS);
        if (c->exited && c->exit_signal != 0)
            return assay_fail(err, code, "agent '%.300s' died of signal %d%s",
                              c->target.text, c->exit_signal, when);
        if (c->exited && c->target.is_ssh && c->version == 0 &&
            (c->exit_status == 126 || c->exit_status == 127))
            return assay_fail(err, code,
                              "no agent can be started at '%.300s' (status "
                              "%" PRId64 "): 'assay deploy %.300s' puts it "
                              "there",
                              c->target.text, c->exit_status, c->target.text);
        if (c->exited && c->target.is_ssh && c->exit_status == 255)
            return assay_fail(err, code,
                              "ssh to '%.300s' ended with status 255%s: it "
                              "says why above",
                              c->target.text, when);
        if (c->exited)
            return assay_fail(err, code,
                              "agent '%.300s' ended with status %" PRId64 "%s",
                              c->target.text, c->exit_status, when);
    }
    return assay_fail(
        err, code, "connection to '%.300s' lost%s: %s", c->target.text, when,
        c->end_status == UV_EOF ? "the agent hung up"
                                : assay_conn_why(c->conn, c->end_status));
}

int assay_client_poll(struct assay_client *c, struct assay_msg *out,
                      struct assay_err *err)
{
    struct assay_frame frame;
    int rc;

    if (c->broken.code < 0)
        return assay_fail(err, c->broken.code, "%s", c->broken.text);
    rc = assay_frame_next(&c->decoder, &frame, &c->broken);
    if (rc > 0) {
        rc = assay_msg_decode(out, &frame, &c->broken);
        /* Whole messages count: a trickle of bytes is no answer. */
        c->heard_ms = assay_client_now_ms(c);
        if (rc == 0)
            return 1;
    }
    if (rc < 0) {
        assay_err_prefix(&c->broken, "answer of '%.200s'", c->target.text);
        /* Who never spoke the protocol is no agent: none was reached. */
        if (c->version == 0 && rc == ASSAY_EPROTOCOL)
            c->broken.code = ASSAY_ECONNECT;
    } else if (c->ended)
        tell_end(c, &c->broken);
    if (c->broken.code < 0)
        return assay_fail(err, c->broken.code, "%s", c->broken.text);
    return 0;
}

int assay_client_send(struct assay_client *c, const struct assay_msg *m,
                      const void *payload, struct assay_err *err)
{
    uint64_t start = assay_client_now_ms(c);
    struct assay_buf head;
    int rc;

    if (c->broken.code < 0)
        return assay_fail(err, c->broken.code, "%s", c->broken.text);
    /* An agent that hung up may have said why: poll() finds that out. */
    if (c->ended)
        return 0;
    assay_buf_init(&head);
    rc = assay_msg_frame(&head, m, false, c->sequence, err);
    if (rc == 0) {
        rc = assay_conn_send(c->conn, head.data, head.len, payload,
                             m->payload_bytes, NULL, NULL);
        if (rc < 0)
            rc = assay_fail(err, ASSAY_ELOST, "cannot send to '%.300s': %s",
                            c->target.text, uv_strerror(rc));
        else
            c->sequence++;
    }
    assay_buf_close(&head);
    while (rc == 0 && assay_conn_is_full(c->conn) && !c->ended) {
        size_t before = c->conn->queued;

        if (assay_client_interrupted(c))
            return cancelled(err);
        assay_client_step(c);
        if (c->conn->queued != before)
            start = assay_client_now_ms(c);
        if (assay_client_now_ms(c) - start > c->timeout_ms) {
            rc = assay_fail(&c->broken, ASSAY_ETIMEOUT,
                            "board '%.300s' took no bytes for %" PRIu64 " s",
                            c->target.text, c->timeout_ms / 1000);
            assay_fail(err, rc, "%s", c->broken.text);
        }
    }
    return rc;
}

int assay_client_told(struct assay_client *c, const struct assay_msg_error *e,
                      struct assay_err *err)
{
    int code = e->code < 0 ? e->code : ASSAY_EINTERNAL;

    assay_fail(err, code, "board '%.100s': %s", c->target.text,
               e->text[0] != '\0' ? e->text : assay_status_sentence(code));
    if (err != NULL) {
        for (char *p = err->text; *p != '\0'; p++) {
            if ((unsigned char)*p < 0x20 || *p == 0x7f)
                *p = '?'; /* it goes to a terminal */
        }
        if (e->fatal)
            c->broken = *err;
    }
    return code;
}

int assay_client_expect(struct assay_client *c, enum assay_msg_type want,
                        struct assay_msg *out, struct assay_err *err)
{
    int rc;

    c->heard_ms = assay_client_now_ms(c);
    for (;;) {
        rc = assay_client_poll(c, out, err);
        if (rc < 0)
            return rc;
        if (rc > 0 && out->type == want)
            return 0;
        if (rc > 0 && out->type == ASSAY_MSG_ERROR) {
            rc = assay_client_told(c, &out->u.error, err);
            assay_msg_close(out);
            return rc;
        }
        if (rc > 0) {
            rc = assay_fail(&c->broken, ASSAY_EPROTOCOL,
                            "board '%.200s' answered %s, expected %s",
                            c->target.text, assay_msg_name(out->type),
                            assay_msg_name(want));
            assay_msg_close(out);
            return assay_fail(err, rc, "%s", c->broken.text);
        }
        if (assay_client_interrupted(c))
            return cancelled(err);
        if (assay_client_now_ms(c) - c->heard_ms > c->timeout_ms) {
            rc = assay_fail(&c->broken, ASSAY_ETIMEOUT,
                            "no answer from '%.300s' for %.1f s (waiting for "
                            "%s)",
                            c->target.text, (double)c->timeout_ms / 1000,
                            assay_msg_name(want));
            return assay_fail(err, rc, "%s", c->broken.text);
        }
        assay_client_step(c);
    }
}

/* ---- open and close ------------------------------------------------------- */

static int dial_target(struct assay_client *c, struct assay_err *err)
{
    uint64_t start = assay_client_now_ms(c);
    int rc;

    memset(&c->dial, 0, sizeof(c->dial));
    c->dialled = false;
    c->dial.tls = c->tls != NULL ? c->tls->ctx : NULL;
    c->dial.done = on_dialled;
    c->dial.exited = on_exited;
    c->dial.self = c;
    rc = assay_dial_start(&c->dial, &c->loop, &c->target, err);
    if (rc < 0)
        return rc;
    while (!c->dialled) {
        if (assay_client_interrupted(c))
            return cancelled(err);
        if (assay_client_now_ms(c) - start > c->timeout_ms)
            return assay_fail(err, ASSAY_ETIMEOUT,
                              "no answer from '%.300s' within %.1f s "
                              "(connecting)",
                              c->target.text, (double)c->timeout_ms / 1000);
        assay_client_step(c);
    }
    if (c->dial_status < 0 && c->dial.why.code < 0)
        return assay_fail(err, c->dial.why.code,
                          "cannot connect to '%.100s': %s", c->target.text,
                          c->dial.why.text);
    if (c->dial_status < 0)
        return assay_fail(err, ASSAY_ECONNECT, "cannot connect to '%.300s': %s",
                          c->target.text, uv_strerror(c->dial_status));
    return 0;
}

static int connect_target(struct assay_client *c, struct assay_err *err)
{
    int rc = dial_target(c, err);

    if (rc == 0 || c->tls == NULL || !c->tls->cache.offered || !c->dialled)
        return rc;
    /* A session of before may be all that was wrong. */
    assay_session_cache_forget(&c->tls->cache);
    return dial_target(c, err);
}

/* Whichever side refused: the command that updates the board, to type. */
static int name_board(const struct assay_client *c, struct assay_err *err)
{
    char *at = err != NULL ? strstr(err->text, ASSAY_DEPLOY_TO) : NULL;

    if (at != NULL && c->target.is_ssh)
        snprintf(at, sizeof(err->text) - (size_t)(at - err->text), "%s",
                 c->target.text);
    return ASSAY_EVERSION;
}

static int say_hello(struct assay_client *c, struct assay_err *err)
{
    struct assay_msg m = {.type = ASSAY_MSG_HELLO};
    struct assay_build here = assay_build_here(), agent;
    struct assay_msg answer;
    uint32_t v;
    int rc;

    m.u.hello =
        (struct assay_msg_hello){here.protocol_min, here.protocol_max, here.id};
    rc = assay_client_send(c, &m, NULL, err);
    if (rc == 0)
        rc = assay_client_expect(c, ASSAY_MSG_HELLO_ACK, &answer, err);
    if (rc < 0)
        return rc == ASSAY_EVERSION ? name_board(c, err) : rc;
    agent = (struct assay_build){answer.u.hello_ack.info.build_id,
                                 answer.u.hello_ack.version_min,
                                 answer.u.hello_ack.version_max};
    v = answer.u.hello_ack.version;
    rc = assay_builds_agree(&here, &agent, err);
    if (rc == 0 && (v < ASSAY_PROTOCOL_MIN || v > ASSAY_PROTOCOL_MAX))
        rc = assay_fail(err, ASSAY_EVERSION,
                        "board '%.200s' chose protocol %u, this command "
                        "speaks %u to %u",
                        c->target.text, v, ASSAY_PROTOCOL_MIN,
                        ASSAY_PROTOCOL_MAX);
    if (rc == 0)
        c->version = v;
    c->captures = answer.u.hello_ack.captures;
    assay_msg_close(&answer);
    return rc == ASSAY_EVERSION ? name_board(c, err) : rc;
}

static void say_goodbye(struct assay_client *c)
{
    struct assay_msg m = {.type = ASSAY_MSG_LEASE_RELEASE};
    struct assay_msg answer;
    struct assay_err err = {0};

    if (c->conn == NULL || c->broken.code < 0 || !c->leased)
        return;
    c->interrupted = NULL; /* short, and the next user is glad */
    c->timeout_ms = GOODBYE_MS;
    if (assay_client_send(c, &m, NULL, &err) == 0 &&
        assay_client_expect(c, ASSAY_MSG_LEASE_RELEASED, &answer, &err) == 0)
        assay_msg_close(&answer);
}

static void end_process(struct assay_client *c)
{
    static const int ladder[] = {SIGTERM, SIGKILL};

    if (!c->dial.has_process)
        return;
    if (c->dial.process.pid > 0) {
        wait_for_exit(c, c->ended || c->version != 0 ? CHILD_MS : 100);
        for (int i = 0; i < 2 && !c->exited; i++) {
            uv_process_kill(&c->dial.process, ladder[i]);
            wait_for_exit(c, GOODBYE_MS);
        }
    }
    uv_close((uv_handle_t *)&c->dial.process, NULL);
}

static void client_close(struct assay_backend *b)
{
    struct assay_client *c = (struct assay_client *)b;
    int rc;

    if (c == NULL)
        return;
    say_goodbye(c);
    if (c->conn != NULL)
        assay_conn_close(c->conn, NULL, NULL);
    c->conn = NULL;
    assay_dial_cancel(&c->dial);
    end_process(c);
    uv_close((uv_handle_t *)&c->tick, NULL);
    uv_run(&c->loop, UV_RUN_DEFAULT);
    rc = uv_loop_close(&c->loop);
    assert(rc == 0);
    (void)rc;
    assay_client_tls_close(c->tls);
    assay_frame_decoder_close(&c->decoder);
    assay_msg_close(&c->info_msg);
    assay_target_close(&c->target);
    assay_free(c->layer_data);
    assay_free(c);
}

/* ---- info ----------------------------------------------------------------- */

void assay_client_printable(const char *s)
{
    /* The strings are ours by info_msg; const is for everybody else. */
    for (char *p = (char *)(uintptr_t)s; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    }
}

static int client_info(struct assay_backend *b, struct assay_backend_info *out,
                       struct assay_err *err)
{
    struct assay_client *c = (struct assay_client *)b;
    struct assay_msg m = {.type = ASSAY_MSG_STATUS};
    struct assay_msg answer;
    const struct assay_msg_info *i = &answer.u.info;
    int rc = assay_client_send(c, &m, NULL, err);

    if (rc == 0)
        rc = assay_client_expect(c, ASSAY_MSG_STATUS_REPLY, &answer, err);
    if (rc < 0)
        return rc;
    assay_msg_close(&c->info_msg);
    c->info_msg = answer;
#define ASSAY_INFO_TEXT(field) assay_client_printable(i->field);
#define ASSAY_INFO_NUMBER(type, field)
#include "proto/info.def"
#undef ASSAY_INFO_TEXT
#undef ASSAY_INFO_NUMBER
    *out = (struct assay_backend_info){.protocol = c->version, .agent = *i};
    return 0;
}

static uint64_t client_received(struct assay_backend *b)
{
    return ((struct assay_client *)b)->received;
}

static const struct assay_backend_vtable vtable = {
    .info = client_info,
    .load = assay_client_load,
    .run = assay_client_run,
    .self_test = assay_client_self_test,
    .received = client_received,
    .close = client_close,
};

/* Nothing is connected yet, and every file that is needed has been read. */
static int prepare(struct assay_client **out,
                   const struct assay_client_options *options, bool accept_any,
                   struct assay_err *err)
{
    struct assay_client *c = assay_calloc(1, sizeof(*c));
    int rc;

    if (c == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a client");
    rc = assay_target_parse(&c->target, options->target, err);
    if (rc == 0 && c->target.is_tls)
        rc = assay_client_tls_open(&c->tls, &c->target, &options->tls,
                                   accept_any, err);
    if (rc == 0 && uv_loop_init(&c->loop) < 0)
        rc = assay_fail(err, ASSAY_EMEMORY, "no memory for a client");
    if (rc < 0) {
        assay_client_tls_close(c->tls);
        assay_target_close(&c->target);
        assay_free(c);
        return rc;
    }
    signal(SIGPIPE, SIG_IGN);
    uv_timer_init(&c->loop, &c->tick);
    uv_timer_start(&c->tick, on_tick, TICK_MS, TICK_MS);
    c->base.vt = &vtable;
    assay_frame_decoder_init(&c->decoder, true);
    c->timeout_ms =
        options->timeout_ms != 0 ? options->timeout_ms : TIMEOUT_DEFAULT_MS;
    c->interrupted = options->interrupted;
    c->force = options->force;
    c->taken = options->taken;
    *out = c;
    return 0;
}

void assay_client_patience(struct assay_backend *b, uint64_t timeout_ms)
{
    ((struct assay_client *)b)->timeout_ms = timeout_ms;
}

int assay_client_open(struct assay_backend **out,
                      const struct assay_client_options *options,
                      struct assay_err *err)
{
    struct assay_client *c;
    int rc = prepare(&c, options, false, err);

    if (rc < 0)
        return rc;
    snprintf(c->owner, sizeof(c->owner), "%s",
             options->owner != NULL && options->owner[0] != '\0'
                 ? options->owner
                 : "assay");
    rc = connect_target(c, err);
    if (rc == 0)
        rc = say_hello(c, err);
    if (rc < 0) {
        client_close(&c->base);
        return rc;
    }
    *out = &c->base;
    return 0;
}

int assay_client_meet(struct assay_client_met *out,
                      const struct assay_client_options *options,
                      struct assay_err *err)
{
    struct assay_client *c;
    int rc = prepare(&c, options, true, err);

    if (rc < 0)
        return rc;
    rc = connect_target(c, err);
    if (rc == 0) {
        out->board = c->dial.peer;
        memcpy(out->own_name, c->tls->own_name, sizeof(out->own_name));
        memcpy(out->own_fingerprint, c->tls->own_fingerprint,
               sizeof(out->own_fingerprint));
    }
    client_close(&c->base);
    return rc;
}
