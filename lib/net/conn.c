/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/conn.h"

#include <assert.h>

static size_t cap(const struct assay_conn *c)
{
    return c->queue_cap > 0 ? c->queue_cap : ASSAY_CONN_QUEUE_CAP;
}

int assay_conn_start(struct assay_conn *c,
                     const struct assay_conn_events *events, void *self)
{
    assert(c->events == NULL);
    c->events = events;
    c->self = self;
    return c->vt->read(c, true);
}

int assay_conn_send(struct assay_conn *c, const void *head, size_t head_bytes,
                    const void *body, size_t body_bytes,
                    assay_conn_done_fn *done, void *arg)
{
    int rc = c->vt->send(c, head, head_bytes, body, body_bytes, done, arg);

    if (rc == 0 && assay_conn_is_full(c))
        c->above_cap = true;
    return rc;
}

bool assay_conn_is_full(const struct assay_conn *c)
{
    return c->queued > cap(c);
}

bool assay_conn_has_drained(const struct assay_conn *c)
{
    return c->queued <= cap(c) / 2;
}

void assay_conn_limit(struct assay_conn *c, size_t queue_cap, size_t read_max)
{
    c->queue_cap = queue_cap;
    c->read_max = read_max;
}

const char *assay_conn_why(const struct assay_conn *c, int uv_status)
{
    if (c != NULL && c->why != NULL)
        return c->why;
    return uv_status == UV_EOF ? "the peer hung up" : uv_strerror(uv_status);
}

int assay_conn_read(struct assay_conn *c, bool on)
{
    return c->vt->read(c, on);
}

void assay_conn_shutdown(struct assay_conn *c)
{
    c->vt->shutdown(c);
}

void assay_conn_close(struct assay_conn *c, void (*closed)(void *self),
                      void *self)
{
    c->events = NULL;
    c->closed = closed;
    c->self = self;
    c->vt->close(c);
}
