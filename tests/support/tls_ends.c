/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/tls_ends.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/certs.h"

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "tls_ends: %s\n", what);
    abort();
}

/* ---- events --------------------------------------------------------------- */

static void on_data(void *self, const uint8_t *data, size_t n)
{
    struct tls_end *s = self;

    must(s->end_status == 0, "data after the end");
    must(assay_buf_append(&s->got, data, n) == 0, "memory");
}

static void on_ended(void *self, int status)
{
    struct tls_end *s = self;

    must(s->end_status == 0, "two ends");
    s->end_status = status;
}

static void on_drained(void *self)
{
    struct tls_end *s = self;

    s->drained++;
}

static const struct assay_conn_events events = {on_data, on_ended, on_drained};

static void on_done(void *self, struct assay_conn *conn,
                    const struct assay_tls_peer *peer,
                    const struct assay_err *err)
{
    struct tls_end *s = self;

    must(!s->is_done, "two handshakes");
    s->is_done = true;
    s->bare = conn != NULL && conn != s->conn;
    s->conn = conn;
    if (err != NULL)
        s->err = *err;
    if (peer != NULL)
        s->peer = *peer;
    s->has_peer = peer != NULL;
    if (conn != NULL && !s->stay)
        must(assay_conn_start(conn, &events, s) == 0, "start");
}

/* ---- the wire ------------------------------------------------------------- */

static void judge_records(struct tls_ends *e, int side)
{
    struct assay_buf *w = &e->way[side];

    while (!e->cut && w->len - e->ready[side] >= 5) {
        const uint8_t *r = w->data + e->ready[side];
        size_t n = 5 + (size_t)r[3] * 256 + r[4];
        enum tls_fate fate = PASS;

        if (w->len - e->ready[side] < n)
            return;
        if (e->fate != NULL)
            fate = e->fate(e, side, e->records[side], r, n);
        if (fate == STOP)
            return;
        e->records[side]++;
        if (fate == CUT) {
            e->cut = true;
            w->len = e->ready[side];
            return;
        }
        if (fate == DROP) {
            memmove(w->data + e->ready[side], r + n,
                    w->len - e->ready[side] - n);
            w->len -= n;
            continue;
        }
        if (fate == FLIP)
            w->data[e->ready[side] + n - 1] ^= 1;
        if (fate == TWICE) {
            must(assay_buf_reserve(w, n) == 0, "memory");
            memmove(w->data + e->ready[side] + n, w->data + e->ready[side],
                    w->len - e->ready[side]);
            w->len += n;
            e->ready[side] += n;
        }
        e->ready[side] += n;
    }
}

static void carry(struct tls_ends *e, int side)
{
    struct assay_buf *w = &e->way[side];
    uint8_t data[16384];
    ssize_t n;
    size_t len;

    if (e->fd[side] < 0)
        return;
    if (!e->hold[side] && w->len < 1 << 20) {
        n = read(e->fd[side], data, sizeof(data));
        if (n > 0)
            must(assay_buf_append(w, data, (size_t)n) == 0, "memory");
        else if (n == 0 && e->ready[side] == 0)
            e->cut = true; /* it has closed: so does the other */
    }
    if (e->raw)
        e->ready[side] = w->len;
    else
        judge_records(e, side);
    len = e->ready[side];
    if (e->chunk > 0 && len > e->chunk)
        len = e->chunk;
    if (len == 0 || e->fd[!side] < 0)
        return;
    n = send(e->fd[!side], w->data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
        assay_buf_consume(w, (size_t)n);
        e->ready[side] -= (size_t)n;
        e->bytes[side] += (size_t)n;
    }
}

static void turn(struct tls_ends *e)
{
    uv_run(e->loop, UV_RUN_NOWAIT);
    for (int side = 0; side < 2; side++)
        carry(e, side);
    if (!e->cut || e->ready[0] > 0 || e->ready[1] > 0)
        return;
    for (int side = 0; side < 2; side++) {
        if (e->fd[side] >= 0)
            close(e->fd[side]);
        e->fd[side] = -1;
    }
}

bool tls_ends_run(struct tls_ends *e, bool (*over)(struct tls_ends *e),
                  unsigned ms)
{
    uint64_t until = uv_hrtime() + ms * UINT64_C(1000000);

    while (!over(e)) {
        if (uv_hrtime() > until)
            return false;
        turn(e);
    }
    return true;
}

bool tls_ends_shaken(struct tls_ends *e)
{
    return e->end[0].is_done && e->end[1].is_done;
}

bool tls_ends_over(struct tls_ends *e)
{
    return (e->end[0].end_status != 0 || e->end[0].conn == NULL) &&
           (e->end[1].end_status != 0 || e->end[1].conn == NULL);
}

/* ---- opening and closing -------------------------------------------------- */

static void open_end(struct tls_ends *e, int side,
                     struct assay_tls_context *ctx)
{
    struct assay_conn *bare;
    int fd[2];

    must(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0, "socketpair");
    must(fcntl(fd[1], F_SETFL, O_NONBLOCK) == 0, "fcntl");
    e->fd[side] = fd[1];
    assay_buf_init(&e->end[side].got);
    assay_buf_init(&e->way[side]);
    must(assay_conn_from_fds(&bare, e->loop, fd[0], fd[0], NULL) == 0, "conn");
    must(assay_tls_start(&e->end[side].conn, ctx, e->loop, bare, "board",
                         on_done, &e->end[side], NULL) == 0,
         "tls");
}

void tls_ends_open(struct tls_ends *e, uv_loop_t *loop,
                   struct assay_tls_context *client,
                   struct assay_tls_context *server)
{
    e->loop = loop;
    e->fd[0] = e->fd[1] = -1;
    if (client != NULL)
        open_end(e, CLIENT, client);
    if (server != NULL)
        open_end(e, SERVER, server);
}

static void on_closed(void *self)
{
    *(bool *)self = true;
}

void tls_ends_close(struct tls_ends *e)
{
    for (int i = 0; i < 2; i++) {
        struct tls_end *s = &e->end[i];

        s->closed = s->conn == NULL;
        if (s->conn != NULL)
            assay_conn_close(s->conn, on_closed, &s->closed);
    }
    while (!e->end[0].closed || !e->end[1].closed)
        uv_run(e->loop, UV_RUN_ONCE);
    uv_run(e->loop, UV_RUN_DEFAULT); /* those that failed by themselves */
    for (int i = 0; i < 2; i++) {
        assay_buf_close(&e->end[i].got);
        assay_buf_close(&e->way[i]);
        if (e->fd[i] >= 0)
            close(e->fd[i]);
    }
}

struct assay_tls_context *tls_ends_context(const struct tls_wish *w,
                                           enum assay_tls_role role,
                                           struct assay_tls_context *before)
{
    struct assay_tls_config c = {0};
    struct assay_tls_context *ctx;

    certs_copy(&c.identity, w->identity);
    c.has_identity = true;
    if (w->ca != NULL) {
        certs_copy_ca(&c.ca, w->ca);
        c.has_ca = true;
    }
    if (w->pins != NULL)
        must(assay_pins_parse(&c.pins, w->pins, strlen(w->pins),
                              ASSAY_PINS_CLIENTS, "pins", NULL) == 0,
             "pins");
    if (w->wanted != NULL) {
        snprintf(c.wanted, sizeof(c.wanted), "%s", w->wanted);
        snprintf(c.wanted_name, sizeof(c.wanted_name), "the board");
    }
    c.accept_any = w->accept_any;
    c.handshake_ms = w->handshake_ms;
    c.session_get = w->session_get;
    c.session_put = w->session_put;
    c.self = w->self;
    must(assay_tls_context_new(&ctx, &c, role, before, NULL) == 0, "context");
    return ctx;
}
