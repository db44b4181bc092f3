/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/deploy_remote.h"

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <uv.h>

#include "host-tools/messages.h"
#include "lib/net/ssh.h"

#define TICK_MS 50u
#define AFTER_EXIT_MS 1000u /* for what is still in the pipe */
#define TO_DIE_MS 1000u
#define STANDING_MAX 20u /* time-outs that a call may take in all */

struct call {
    struct assay_remote_call *c;
    uv_loop_t loop;
    uv_process_t process;
    uv_pipe_t in, out, err;
    uv_timer_t tick;
    uv_write_t write;
    bool writing, out_ended, exited, too_much;
    int64_t status;
    int sig;
    size_t queued;     /* of the input, at the last look */
    uint64_t moved_ms; /* when bytes moved last */
    char said[sizeof(((struct assay_remote_call *)0)->said)];
    size_t said_bytes;
    uint8_t buffer[65536];
};

static uint64_t now(struct call *k)
{
    uv_update_time(&k->loop);
    return uv_now(&k->loop);
}

/* ---- callbacks ------------------------------------------------------------ */

static void on_alloc(uv_handle_t *h, size_t wanted, uv_buf_t *buf)
{
    struct call *k = h->loop->data;

    (void)wanted;
    *buf = uv_buf_init((char *)k->buffer, sizeof(k->buffer));
}

static void on_out(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
    struct call *k = s->loop->data;
    struct assay_remote_call *c = k->c;

    if (n < 0) {
        k->out_ended = true;
        uv_read_stop(s);
        return;
    }
    k->moved_ms = now(k);
    if ((size_t)n > c->output_max - c->output.len ||
        assay_buf_append(&c->output, buf->base, (size_t)n) < 0) {
        k->too_much = true;
        uv_read_stop(s);
    }
}

/* Keeps the end of it. Bytes here do not renew the deadline. */
static void on_err(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
    struct call *k = s->loop->data;
    const size_t cap = sizeof(k->said) - 1;

    if (n < 0) {
        uv_read_stop(s);
        return;
    }
    for (ssize_t i = 0; i < n; i++) {
        unsigned char b = (unsigned char)buf->base[i];

        if (b == '\r') /* ssh ends its lines so */
            continue;
        if (k->said_bytes == cap)
            memmove(k->said, k->said + 1, --k->said_bytes);
        k->said[k->said_bytes++] =
            (char)(b == '\n' || (b >= 0x20 && b < 0x7f) ? b : '?');
    }
    k->said[k->said_bytes] = '\0';
}

static void on_written(uv_write_t *w, int status)
{
    struct call *k = w->handle->loop->data;

    (void)status; /* whoever does not take it says why, or its status does */
    k->writing = false;
    uv_close((uv_handle_t *)&k->in, NULL);
}

static void on_exit_process(uv_process_t *p, int64_t status, int sig)
{
    struct call *k = p->loop->data;

    k->exited = true;
    k->status = status;
    k->sig = sig;
    k->moved_ms = now(k);
}

static void on_tick(uv_timer_t *t)
{
    (void)t;
}

/* ---- one call ------------------------------------------------------------- */

static int start(struct call *k, char **argv, struct assay_err *err)
{
    uv_stdio_container_t stdio[3] = {
        {UV_CREATE_PIPE | UV_READABLE_PIPE, {(uv_stream_t *)&k->in}},
        {UV_CREATE_PIPE | UV_WRITABLE_PIPE, {(uv_stream_t *)&k->out}},
        {UV_CREATE_PIPE | UV_WRITABLE_PIPE, {(uv_stream_t *)&k->err}},
    };
    uv_process_options_t options = {
        .exit_cb = on_exit_process,
        .file = argv[0],
        .args = argv,
        .stdio_count = 3,
        .stdio = stdio,
    };
    uv_buf_t buf = uv_buf_init((char *)(uintptr_t)k->c->input,
                               (unsigned)k->c->input_bytes);
    int rc = uv_spawn(&k->loop, &k->process, &options);

    if (rc < 0)
        return assay_fail(err, ASSAY_ECONNECT, "cannot start '%.200s': %s",
                          argv[0], uv_strerror(rc));
    uv_read_start((uv_stream_t *)&k->out, on_alloc, on_out);
    uv_read_start((uv_stream_t *)&k->err, on_alloc, on_err);
    k->queued = k->c->input_bytes;
    k->writing = true;
    if (uv_write(&k->write, (uv_stream_t *)&k->in, &buf, 1, on_written) < 0) {
        k->writing = false;
        uv_close((uv_handle_t *)&k->in, NULL);
    }
    return 0;
}

static void end_process(struct call *k)
{
    static const int ladder[] = {SIGTERM, SIGKILL};

    for (int i = 0; i < 2 && !k->exited; i++) {
        uint64_t since = now(k);

        uv_process_kill(&k->process, ladder[i]);
        while (!k->exited && now(k) - since < TO_DIE_MS)
            uv_run(&k->loop, UV_RUN_ONCE);
    }
}

static int fail_of(struct call *k, int code, enum assay_message_id id,
                   const char *number, struct assay_err *err)
{
    return assay_fail_message(err, code, id, "doing", k->c->doing, "number",
                              number, NULL);
}

static int wait_for_end(struct call *k, const struct assay_remote *r,
                        struct assay_err *err)
{
    uint64_t began = now(k);

    k->moved_ms = began;
    while (!k->exited || (!k->out_ended && !k->too_much &&
                          now(k) - k->moved_ms < AFTER_EXIT_MS)) {
        size_t queued;

        uv_run(&k->loop, UV_RUN_ONCE);
        queued = k->writing
                     ? uv_stream_get_write_queue_size((uv_stream_t *)&k->in)
                     : 0;
        if (queued != k->queued)
            k->moved_ms = now(k);
        k->queued = queued;
        if (r->interrupted != NULL && *r->interrupted != 0)
            return fail_of(k, ASSAY_ECANCELLED, ASSAY_MSG_DEPLOY_INTERRUPTED,
                           "", err);
        if (k->too_much)
            return fail_of(k, ASSAY_EIO, ASSAY_MSG_DEPLOY_TOO_MUCH,
                           assay_num_bytes(k->c->output_max).text, err);
        if (!k->exited && (now(k) - k->moved_ms > r->timeout_ms ||
                           now(k) - began > STANDING_MAX * r->timeout_ms))
            return fail_of(k, ASSAY_ETIMEOUT, ASSAY_MSG_DEPLOY_TIMEOUT,
                           assay_num_g(4, (double)r->timeout_ms / 1000).text,
                           err);
    }
    return 0;
}

/* The last lines, as one. */
static void keep_said(struct call *k)
{
    char *out = k->c->said, *p = k->said;

    for (; *p != '\0'; p++) {
        if (*p != '\n')
            *out++ = *p;
        else if (out != k->c->said && p[1] != '\0')
            *out++ = '|';
    }
    *out = '\0';
}

static int judge(struct call *k, const struct assay_remote *r,
                 struct assay_err *err)
{
    const char *said = k->c->said[0] != '\0' ? k->c->said : "it said nothing";

    if (k->sig == 0 && k->status == 0)
        return 0;
    if (k->sig != 0)
        return assay_fail_message(err, ASSAY_ELOST, ASSAY_MSG_DEPLOY_SSH_DIED,
                                  "doing", k->c->doing, "number",
                                  assay_num_u((uint64_t)k->sig).text, NULL);
    if (k->status == 255)
        return assay_fail_message(
            err, ASSAY_ECONNECT, ASSAY_MSG_DEPLOY_SSH_FAILED, "doing",
            k->c->doing, "host", r->host, "said", said, NULL);
    return assay_fail_message(
        err, ASSAY_EIO, ASSAY_MSG_DEPLOY_STATUS, "doing", k->c->doing, "number",
        assay_num_u((uint64_t)k->status).text, "said", said, NULL);
}

static void close_one(uv_handle_t *h, void *arg)
{
    (void)arg;
    if (!uv_is_closing(h))
        uv_close(h, NULL);
}

static int run(struct call *k, const struct assay_remote *r, char **argv,
               struct assay_err *err)
{
    int rc;

    k->loop.data = k;
    uv_pipe_init(&k->loop, &k->in, 0);
    uv_pipe_init(&k->loop, &k->out, 0);
    uv_pipe_init(&k->loop, &k->err, 0);
    uv_timer_init(&k->loop, &k->tick);
    uv_timer_start(&k->tick, on_tick, TICK_MS, TICK_MS);
    rc = start(k, argv, err);
    if (rc == 0) {
        rc = wait_for_end(k, r, err);
        end_process(k);
        uv_run(&k->loop, UV_RUN_NOWAIT); /* the rest of stderr */
        keep_said(k);
        if (rc == 0)
            rc = judge(k, r, err);
    }
    uv_walk(&k->loop, close_one, NULL);
    uv_run(&k->loop, UV_RUN_DEFAULT);
    return rc;
}

int assay_remote_run(const struct assay_remote *r, struct assay_remote_call *c,
                     struct assay_err *err)
{
    struct assay_arena *arena = assay_arena_new();
    struct call *k = assay_calloc(1, sizeof(*k));
    char **argv = NULL;
    int rc = 0;

    c->said[0] = '\0';
    if (arena == NULL || k == NULL || uv_loop_init(&k->loop) < 0)
        rc = assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    if (rc == 0) {
        k->c = c;
        rc = assay_ssh_argv(&argv, arena, ASSAY_REMOTE_SSH, r->host, c->command,
                            err);
        if (rc == 0)
            rc = run(k, r, argv, err);
        uv_loop_close(&k->loop);
    }
    assay_free(k);
    assay_arena_free(arena);
    return rc;
}
