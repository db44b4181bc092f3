/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/relay.h"

#include "lib/core/buf.h"
#include "lib/net/deadline.h"

#define FLUSH_TICK_MS 20u
#define FLUSH_TICKS 100 /* what one side sent before it ended: 2 s */

struct side {
    struct assay_relay *relay;
    struct assay_conn *conn;
    struct side *other;
};

struct assay_relay {
    struct side sides[2];
    struct assay_deadline flush;
    int ticks, open;
    void (*over)(void *self);
    void *self;
};

static void on_flush(void *self)
{
    struct assay_relay *r = self;

    if ((r->sides[0].conn->queued == 0 && r->sides[1].conn->queued == 0) ||
        ++r->ticks > FLUSH_TICKS)
        r->over(r->self);
    else
        assay_deadline_start(&r->flush, FLUSH_TICK_MS);
}

static void on_data(void *self, const uint8_t *data, size_t n)
{
    struct side *s = self;

    if (assay_conn_send(s->other->conn, data, n, NULL, 0, NULL, NULL) < 0) {
        assay_deadline_start(&s->relay->flush, 0);
        return;
    }
    if (assay_conn_is_full(s->other->conn))
        (void)!assay_conn_read(s->conn, false);
}

static void on_ended(void *self, int status)
{
    struct side *s = self;

    (void)status;
    assay_deadline_start(&s->relay->flush, 0);
}

static void on_drained(void *self)
{
    struct side *s = self;

    if (assay_conn_read(s->other->conn, true) < 0)
        assay_deadline_start(&s->relay->flush, 0);
}

static const struct assay_conn_events events = {on_data, on_ended, on_drained};

struct assay_relay *assay_relay_new(uv_loop_t *loop, struct assay_conn *a,
                                    struct assay_conn *b,
                                    void (*over)(void *self), void *self)
{
    struct assay_relay *r = assay_calloc(1, sizeof(*r));

    if (r == NULL) {
        assay_conn_close(a, NULL, NULL);
        assay_conn_close(b, NULL, NULL);
        return NULL;
    }
    r->sides[0] = (struct side){r, a, &r->sides[1]};
    r->sides[1] = (struct side){r, b, &r->sides[0]};
    r->over = over;
    r->self = self;
    r->open = 3;
    assay_deadline_init(&r->flush, loop, on_flush, r);
    for (int i = 0; i < 2; i++) {
        if (assay_conn_start(r->sides[i].conn, &events, &r->sides[i]) < 0)
            assay_deadline_start(&r->flush, 0);
    }
    return r;
}

static void part_closed(void *self)
{
    struct assay_relay *r = self;

    if (--r->open == 0)
        assay_free(r);
}

void assay_relay_stop(struct assay_relay *r)
{
    if (r == NULL)
        return;
    assay_conn_close(r->sides[0].conn, part_closed, r);
    assay_conn_close(r->sides[1].conn, part_closed, r);
    assay_deadline_close(&r->flush, part_closed);
}
