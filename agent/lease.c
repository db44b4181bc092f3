/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/lease.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/core/buf.h"
#include "lib/net/abstract.h"
#include "lib/net/deadline.h"

#define SERVERS_MAX 32 /* that ask at once */
#define TALK_MS 2000u
#define LINE_MAX_BYTES 256u

/* One line in, one line out: both ends of the talk look alike. */
struct talk {
    struct assay_conn *conn;
    struct assay_deadline deadline;
    int open;
    char line[LINE_MAX_BYTES];
    size_t len;
    void (*got)(struct talk *t);    /* a whole line is in `line` */
    void (*failed)(struct talk *t); /* cut, too long, or too late */
    void (*gone)(struct talk *t);   /* closed: free it */
};

struct assay_lease_server {
    struct talk talk;          /* first */
    struct assay_lease *lease; /* NULL: the lease has gone */
    struct assay_lease_server *next;
};

struct assay_lease_call {
    struct talk talk;              /* first */
    assay_lease_answer_fn *answer; /* NULL: answered or cancelled */
    void *self;
    bool force;
};

/* ---- talk ----------------------------------------------------------------- */

static void talk_part_closed(void *self)
{
    struct talk *t = self;

    if (--t->open == 0)
        t->gone(t);
}

static void talk_close(struct talk *t)
{
    if (t->conn == NULL)
        return;
    assay_conn_close(t->conn, talk_part_closed, t);
    assay_deadline_close(&t->deadline, talk_part_closed);
    t->conn = NULL;
}

static void talk_data(void *self, const uint8_t *data, size_t n)
{
    struct talk *t = self;

    for (size_t i = 0; i < n; i++) {
        if (data[i] == '\n') {
            t->line[t->len] = '\0';
            t->got(t);
            return;
        }
        if (t->len + 1 == sizeof(t->line) || data[i] < 0x20) {
            t->failed(t);
            return;
        }
        t->line[t->len++] = (char)data[i];
    }
}

static void talk_ended(void *self, int status)
{
    struct talk *t = self;

    (void)status;
    t->failed(t);
}

static void talk_drained(void *self)
{
    (void)self;
}

static void talk_expired(void *self)
{
    struct talk *t = self;

    t->failed(t);
}

static const struct assay_conn_events talk_events = {talk_data, talk_ended,
                                                     talk_drained};

static void talk_start(struct talk *t, uv_loop_t *loop, struct assay_conn *conn)
{
    t->conn = conn;
    t->open = 2;
    assay_deadline_init(&t->deadline, loop, talk_expired, t);
    assay_deadline_start(&t->deadline, TALK_MS);
}

/* ---- the holder's side ---------------------------------------------------- */

static void server_unlink(struct assay_lease_server *s)
{
    struct assay_lease_server **at;

    if (s->lease == NULL)
        return;
    for (at = &s->lease->servers; *at != s; at = &(*at)->next) {
    }
    *at = s->next;
    s->lease = NULL;
}

static void server_failed(struct talk *t)
{
    server_unlink((struct assay_lease_server *)t);
    talk_close(t);
}

static void server_gone(struct talk *t)
{
    assay_free(t);
}

static void server_got(struct talk *t)
{
    struct assay_lease_server *s = (struct assay_lease_server *)t;
    struct assay_lease *l = s->lease;
    char answer[LINE_MAX_BYTES];
    int n, rc;

    if (l == NULL || l->listener == NULL) {
        n = snprintf(answer, sizeof(answer), "ok\n");
    } else if (strcmp(t->line, "q") == 0) {
        n = snprintf(answer, sizeof(answer), "%" PRIu64 " %" PRIu64 " %s\n",
                     assay_lease_left_ms(l), assay_lease_held_ms(l), l->owner);
    } else if (strncmp(t->line, "f ", 2) == 0) {
        void *holder = l->holder;
        char by[LINE_MAX_BYTES];

        snprintf(by, sizeof(by), "%s", t->line + 2);
        assay_lease_release(l);
        l->revoked(holder, by);
        n = snprintf(answer, sizeof(answer), "ok\n");
    } else {
        server_failed(t);
        return;
    }
    rc = assay_conn_send(t->conn, answer, (size_t)n, NULL, 0, NULL, NULL);
    if (rc < 0)
        server_failed(t);
    /* The asker hangs up; the deadline is for one that does not. */
    t->len = 0;
}

static void on_accept(void *self, struct assay_conn *conn)
{
    struct assay_lease *l = self;
    struct assay_lease_server *s = NULL;
    unsigned n = 0;

    for (struct assay_lease_server *o = l->servers; o != NULL; o = o->next)
        n++;
    if (n < SERVERS_MAX)
        s = assay_calloc(1, sizeof(*s));
    if (s == NULL) {
        assay_conn_close(conn, NULL, NULL);
        return;
    }
    s->talk.got = server_got;
    s->talk.failed = server_failed;
    s->talk.gone = server_gone;
    s->lease = l;
    s->next = l->servers;
    l->servers = s;
    talk_start(&s->talk, l->loop, conn);
    if (assay_conn_start(conn, &talk_events, s) < 0)
        server_failed(&s->talk);
}

/* ---- the asker's side ----------------------------------------------------- */

static void call_answer(struct assay_lease_call *c,
                        const struct assay_lease_holder *holder)
{
    assay_lease_answer_fn *answer = c->answer;

    c->answer = NULL;
    talk_close(&c->talk);
    if (answer != NULL)
        answer(c->self, holder);
}

static void call_failed(struct talk *t)
{
    call_answer((struct assay_lease_call *)t, NULL);
}

static void call_gone(struct talk *t)
{
    assay_free(t);
}

static void call_got(struct talk *t)
{
    struct assay_lease_call *c = (struct assay_lease_call *)t;
    struct assay_lease_holder h = {.owner = ""};
    char *end, *owner;

    if (c->force) {
        call_answer(c, strcmp(t->line, "ok") == 0 ? &h : NULL);
        return;
    }
    h.left_ms = strtoull(t->line, &end, 10);
    if (end == t->line || *end != ' ') {
        call_answer(c, NULL);
        return;
    }
    h.held_ms = strtoull(end + 1, &owner, 10);
    h.owner = *owner == ' ' ? owner + 1 : end + 1; /* no time: older agents */
    if (*owner != ' ')
        h.held_ms = 0;
    call_answer(c, &h);
}

struct assay_lease_call *assay_lease_ask(struct assay_lease *l,
                                         const char *force_for,
                                         assay_lease_answer_fn *answer,
                                         void *self)
{
    struct assay_lease_call *c;
    struct assay_conn *conn;
    char line[LINE_MAX_BYTES];
    int fd = assay_abstract_connect(l->name), n;

    if (fd < 0)
        return NULL;
    c = assay_calloc(1, sizeof(*c));
    if (c == NULL || assay_conn_from_fds(&conn, l->loop, fd, fd, NULL) < 0) {
        close(fd);
        assay_free(c);
        return NULL;
    }
    c->talk.got = call_got;
    c->talk.failed = call_failed;
    c->talk.gone = call_gone;
    c->answer = answer;
    c->self = self;
    c->force = force_for != NULL;
    n = force_for != NULL
            ? snprintf(line, sizeof(line), "f %.200s\n", force_for)
            : snprintf(line, sizeof(line), "q\n");
    talk_start(&c->talk, l->loop, conn);
    if (assay_conn_start(conn, &talk_events, c) < 0 ||
        assay_conn_send(conn, line, (size_t)n, NULL, 0, NULL, NULL) < 0) {
        c->answer = NULL;
        talk_close(&c->talk);
        return NULL;
    }
    return c;
}

void assay_lease_call_cancel(struct assay_lease_call *c)
{
    if (c == NULL)
        return;
    c->answer = NULL;
    talk_close(&c->talk);
}

/* ---- the lease itself ----------------------------------------------------- */

void assay_lease_init(struct assay_lease *l, uv_loop_t *loop,
                      const char *board_id,
                      void (*revoked)(void *holder, const char *by))
{
    memset(l, 0, sizeof(*l));
    l->loop = loop;
    l->revoked = revoked;
    snprintf(l->name, sizeof(l->name), "assay-lease.%s", board_id);
}

int assay_lease_bind(struct assay_lease *l, void *holder, const char *owner,
                     uint64_t ttl_ms, struct assay_err *err)
{
    int rc;

    if (l->listener != NULL)
        return assay_fail(err, ASSAY_EBUSY, "board is leased to '%s'",
                          l->owner);
    rc = assay_listener_open_abstract(&l->listener, l->loop, l->name, on_accept,
                                      l, err);
    if (rc < 0)
        return rc;
    snprintf(l->owner, sizeof(l->owner), "%s", owner);
    l->holder = holder;
    l->since_ms = uv_now(l->loop);
    assay_lease_renew(l, ttl_ms);
    return 0;
}

void assay_lease_renew(struct assay_lease *l, uint64_t ttl_ms)
{
    l->expires_ms = uv_now(l->loop) + ttl_ms;
}

uint64_t assay_lease_left_ms(const struct assay_lease *l)
{
    uint64_t now = uv_now(l->loop);

    return l->listener != NULL && l->expires_ms > now ? l->expires_ms - now : 0;
}

uint64_t assay_lease_held_ms(const struct assay_lease *l)
{
    return l->listener != NULL ? uv_now(l->loop) - l->since_ms : 0;
}

void assay_lease_release(struct assay_lease *l)
{
    assay_listener_close(l->listener);
    l->listener = NULL;
    l->holder = NULL;
    l->owner[0] = '\0';
}

void assay_lease_close(struct assay_lease *l)
{
    struct assay_lease_server *s;

    assay_lease_release(l);
    while ((s = l->servers) != NULL) {
        server_unlink(s);
        talk_close(&s->talk);
    }
}
