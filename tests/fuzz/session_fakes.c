/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/session_fakes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/session.h"
#include "agent/worker.h"
#include "lib/core/buf.h"

/* ---- a connection ------------------------------------------------------------ */

#define KEPT_MAX 4096

struct fake_conn {
    struct assay_conn base; /* first: a connection is cast to its fake */
    struct {
        size_t bytes;
        assay_conn_done_fn *done;
        void *arg;
    } kept[KEPT_MAX];
    size_t n_kept;
    bool reading, closing, closed;
};

static int fake_send(struct assay_conn *c, const void *head, size_t head_bytes,
                     const void *body, size_t body_bytes,
                     assay_conn_done_fn *done, void *arg)
{
    struct fake_conn *f = (struct fake_conn *)c;
    volatile uint8_t sum = 0;

    if (f->n_kept == KEPT_MAX)
        return UV_ENOBUFS;
    for (size_t i = 0; i < head_bytes; i++) /* it must be there */
        sum = (uint8_t)(sum + ((const uint8_t *)head)[i]);
    for (size_t i = 0; i < body_bytes; i += 512)
        sum = (uint8_t)(sum + ((const uint8_t *)body)[i]);
    f->kept[f->n_kept].bytes = head_bytes + body_bytes;
    f->kept[f->n_kept].done = done;
    f->kept[f->n_kept++].arg = arg;
    c->queued += head_bytes + body_bytes;
    return 0;
}

static int fake_read(struct assay_conn *c, bool on)
{
    ((struct fake_conn *)c)->reading = on;
    return 0;
}

static void fake_shutdown(struct assay_conn *c)
{
    (void)c;
}

static void give_back(struct fake_conn *f)
{
    size_t n = f->n_kept;

    /* What these calls send is kept for the next time. */
    for (size_t i = 0; i < n; i++) {
        f->base.queued -= f->kept[i].bytes;
        if (f->kept[i].done != NULL)
            f->kept[i].done(f->kept[i].arg);
    }
    memmove(f->kept, f->kept + n, (f->n_kept - n) * sizeof(f->kept[0]));
    f->n_kept -= n;
}

static void fake_close(struct assay_conn *c)
{
    ((struct fake_conn *)c)->closing = true;
}

static const struct assay_conn_vtable fake_vtable = {fake_send, fake_read,
                                                     fake_shutdown, fake_close};

struct assay_conn *fake_conn_new(struct fake_conn **out)
{
    struct fake_conn *f = calloc(1, sizeof(*f));

    if (f == NULL)
        abort();
    f->base.vt = &fake_vtable;
    *out = f;
    return &f->base;
}

bool fake_conn_feed(struct fake_conn *f, const uint8_t *data, size_t n)
{
    if (!f->reading || f->base.events == NULL)
        return false;
    if (f->base.read_max > 0 && n > f->base.read_max)
        n = f->base.read_max;
    f->base.events->data(f->base.self, data, n);
    return true;
}

void fake_conn_take(struct fake_conn *f)
{
    give_back(f);
    if (f->closing && !f->closed) {
        f->closed = true;
        if (f->base.closed != NULL)
            f->base.closed(f->base.self);
    } else if (f->base.events != NULL && f->base.above_cap &&
               assay_conn_has_drained(&f->base)) {
        f->base.above_cap = false;
        f->base.events->drained(f->base.self);
    }
}

void fake_conn_end(struct fake_conn *f)
{
    if (f->base.events != NULL)
        f->base.events->ended(f->base.self, UV_EOF);
}

bool fake_conn_is_closed(const struct fake_conn *f)
{
    return f->closed;
}

void fake_conn_free(struct fake_conn *f)
{
    free(f);
}

/* ---- a lease ------------------------------------------------------------------- */

void assay_lease_init(struct assay_lease *l, uv_loop_t *loop,
                      const char *board_id,
                      void (*revoked)(void *holder, const char *by))
{
    memset(l, 0, sizeof(*l));
    l->loop = loop;
    l->revoked = revoked;
    snprintf(l->name, sizeof(l->name), "%s", board_id);
}

void assay_lease_close(struct assay_lease *l)
{
    assay_lease_release(l);
}

int assay_lease_bind(struct assay_lease *l, void *holder, const char *owner,
                     uint64_t ttl_ms, struct assay_err *err)
{
    (void)ttl_ms, (void)err;
    l->listener = (struct assay_listener *)l; /* not NULL: it is held */
    l->holder = holder;
    snprintf(l->owner, sizeof(l->owner), "%s", owner);
    return 0;
}

void assay_lease_renew(struct assay_lease *l, uint64_t ttl_ms)
{
    (void)l, (void)ttl_ms;
}

void assay_lease_release(struct assay_lease *l)
{
    l->listener = NULL;
    l->holder = NULL;
    l->owner[0] = '\0';
}

uint64_t assay_lease_left_ms(const struct assay_lease *l)
{
    return l->listener != NULL ? 1000 : 0;
}

struct assay_lease_call *assay_lease_ask(struct assay_lease *l,
                                         const char *force_for,
                                         assay_lease_answer_fn *answer,
                                         void *self)
{
    (void)l, (void)force_for, (void)answer, (void)self;
    return NULL; /* nobody else has it */
}

void assay_lease_call_cancel(struct assay_lease_call *c)
{
    (void)c;
}

uint64_t assay_lease_held_ms(const struct assay_lease *l)
{
    return l->listener != NULL ? 1 : 0;
}

/* ---- a test of the board ------------------------------------------------------- */

void assay_board_test_init(struct assay_board_test *t, uv_loop_t *loop,
                           struct assay_blobs *blobs, uint32_t cpu_flags,
                           uint64_t deadline_ms, struct assay_test_end end)
{
    (void)loop, (void)blobs, (void)cpu_flags, (void)deadline_ms, (void)end;
    memset(t, 0, sizeof(*t));
}

void assay_board_test_start(struct assay_board_test *t, uint64_t memory_bytes)
{
    (void)memory_bytes;
    t->running = true;
    t->health = ASSAY_HEALTH_TESTING;
}

void assay_board_test_child(struct assay_board_test *t)
{
    (void)t;
}

void assay_board_test_stop(struct assay_board_test *t)
{
    t->running = false;
}

int assay_board_test_judge(const struct assay_board_test *t, uint32_t flags,
                           struct assay_err *err)
{
    (void)t, (void)flags, (void)err;
    return 0;
}

void assay_board_test_msg(const struct assay_board_test *t, unsigned i,
                          struct assay_msg_self_test *out)
{
    (void)t, (void)i;
    *out = (struct assay_msg_self_test){.kind = ASSAY_SELF_TEST_END,
                                        .verdict = ASSAY_VERDICT_GOOD,
                                        .name = "",
                                        .rung = "",
                                        .text = ""};
}

void fake_test_ends(struct assay_agent *a)
{
    struct assay_session *next;

    if (!a->test.running)
        return;
    a->test.running = false;
    a->test.health = ASSAY_HEALTH_GOOD;
    for (struct assay_session *s = a->sessions; s != NULL; s = next) {
        next = s->next;
        assay_session_tested(s);
    }
}

/* ---- a worker --------------------------------------------------------------------- */

static const uint8_t *habits;
static size_t n_habits;

void fake_worker_behave(const uint8_t *data, size_t n)
{
    habits = data;
    n_habits = n;
}

static uint8_t habit(void)
{
    if (n_habits == 0)
        return 0;
    n_habits--;
    return *habits++;
}

static void write_record(struct assay_ring *r, struct assay_record *rec)
{
    static const uint8_t zeros[ASSAY_TILE_BYTES];
    int null = open("/dev/null", O_RDWR);
    struct assay_ring_writer w = {r, null, null};
    uint64_t head = atomic_load(&r->head);

    /* It never waits: nobody would make room for it. */
    if (head - atomic_load(&r->tail) < ASSAY_RING_BYTES / 2)
        assay_ring_write(&w, rec, zeros);
    close(null);
}

/* Layers as they are, unless a habit says otherwise. */
static void work(struct assay_ring *r, const struct assay_loaded *l)
{
    struct assay_record rec = {.kind = ASSAY_RECORD_DONE};

    for (uint32_t i = 0; i < l->slice->n_layers && i < 40; i++) {
        uint8_t h = habit();

        for (uint32_t kind = ASSAY_RECORD_BEGIN; kind <= ASSAY_RECORD_END;
             kind++) {
            rec = (struct assay_record){.kind = kind, .layer = i, .tensor = i};
            rec.total = rec.bytes = 64;
            if (h == kind) { /* anything, in the shape of a record */
                rec.layer = habit() * 0x01010101u;
                rec.tensor = habit() * 0x01010101u;
                rec.bytes = 1 + habit();
                rec.kind = 2 + habit() % 9;
                memset(rec.text, 'k', sizeof(rec.text));
            }
            write_record(r, &rec);
        }
        if (h == 0x80) { /* scribbles over what it shares */
            atomic_store(&r->head, (uint64_t)habit() * 64 * 4099);
            return;
        }
        if (h == 0x81) /* dies here */
            return;
    }
    rec = (struct assay_record){.kind = ASSAY_RECORD_DONE};
    rec.code = habit() == 0x82 ? -(int32_t)habit() : 0;
    memset(rec.reason, 'r', sizeof(rec.reason));
    write_record(r, &rec);
}

int assay_worker_start(struct assay_worker *w,
                       const struct assay_worker_run *run,
                       struct assay_err *err)
{
    int ready[2], space[2];

    if (habit() == 0xff)
        return assay_fail(err, ASSAY_EMEMORY, "no worker today");
    if (pipe2(ready, O_NONBLOCK) < 0 || pipe2(space, O_NONBLOCK) < 0)
        abort();
    *w = (struct assay_worker){.pid = 1, .ring = assay_ring_new()};
    if (w->ring == NULL)
        abort();
    work(w->ring, run->loaded);
    close(ready[1]);
    close(space[0]);
    w->ready = ready[0];
    w->space = space[1];
    return 0;
}

void assay_worker_kill(struct assay_worker *w)
{
    if (w->pid != 0)
        w->status = 9;
}

bool assay_worker_reap(struct assay_worker *w)
{
    w->pid = 0;
    return true;
}

void assay_worker_close(struct assay_worker *w)
{
    if (w->ring == NULL)
        return;
    close(w->ready);
    close(w->space);
    assay_ring_free(w->ring);
    memset(w, 0, sizeof(*w));
}
