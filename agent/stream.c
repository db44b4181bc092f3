/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/stream.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/run_error.h"
#include "lib/core/buf.h"

#define DEFAULT_LAYER_MS 30000u
#define DEFAULT_STALL_MS 30000u
#define MAX_MS (24u * 3600 * 1000)

struct assay_stream {
    struct assay_stream_events events;
    const struct assay_loaded *loaded;
    struct assay_blobs *blobs; /* whose budget has the charge */
    uint64_t charge;           /* of the ring and the filter */
    uv_loop_t *loop;
    struct assay_worker worker;
    uv_poll_t ready;
    struct assay_deadline deadline;
    int open_handles;
    uint32_t run;
    bool *layers; /* owned; NULL: all */
    uint64_t layer_ms, stall_ms;
    uint64_t due_us; /* end of the whole run */
    bool overdue;
    uint64_t credit;
    uint64_t position;    /* read out of the ring */
    uint64_t released;    /* given back to the worker */
    unsigned in_flight;   /* tiles that the connection borrows */
    uint64_t progress_us; /* last time that the client took something */
    bool blocked;         /* a tile waits for credit */
    bool reaped, ended, abandoned, has_done;
    int reason; /* why the worker was killed: 0 or ASSAY_E* */
    struct assay_record done;
    uint32_t n_done, n_missing; /* as far as they were sent */
    uint64_t bytes, time_us;
    void (*gone)(void *self);
    void *gone_self;
};

struct tile_ticket {
    struct assay_stream *stream;
    uint64_t position; /* behind the tile */
};

static void pump(struct assay_stream *s);
static void kill_for(struct assay_stream *s, int reason);
static void arm(struct assay_stream *s);

/* ---- sending -------------------------------------------------------------- */

static int send_msg(struct assay_stream *s, const struct assay_msg *m)
{
    return s->events.send(s->events.self, m, NULL, NULL);
}

static void release(struct assay_stream *s, uint64_t position)
{
    s->released = position;
    assay_ring_release(s->worker.ring, position, s->worker.space);
}

static void forward_begin(struct assay_stream *s,
                          const struct assay_record *rec)
{
    struct assay_msg m = {.type = ASSAY_MSG_LAYER_BEGIN};
    const struct assay_tensor *t;

    if (rec->tensor >= s->loaded->slice->n_tensors)
        return;
    t = &s->loaded->slice->tensors[rec->tensor];
    m.u.layer_begin.run = s->run;
    m.u.layer_begin.layer = rec->layer;
    m.u.layer_begin.tensor = rec->tensor;
    m.u.layer_begin.dtype = t->dtype;
    m.u.layer_begin.rank = t->rank;
    memcpy(m.u.layer_begin.dims, t->dims, sizeof(t->dims));
    m.u.layer_begin.bytes = rec->total;
    m.u.layer_begin.kernel = rec->text;
    send_msg(s, &m);
}

static void forward_end(struct assay_stream *s, const struct assay_record *rec)
{
    struct assay_msg m = {.type = ASSAY_MSG_LAYER_END};

    m.u.layer_end.run = s->run;
    m.u.layer_end.layer = rec->layer;
    m.u.layer_end.bytes = rec->total;
    m.u.layer_end.time_us = rec->time_us;
    memcpy(m.u.layer_end.digest, rec->digest, 16);
    s->n_done++;
    s->bytes += rec->total;
    s->time_us += rec->time_us;
    send_msg(s, &m);
}

static void forward_missing(struct assay_stream *s,
                            const struct assay_record *rec)
{
    struct assay_msg m = {.type = ASSAY_MSG_LAYER_MISSING};

    m.u.missing.run = s->run;
    m.u.missing.layer = rec->layer;
    m.u.missing.tensor = rec->tensor;
    s->n_missing++;
    send_msg(s, &m);
}

/* What is copied and takes credit. false: there is none now. */
static bool forward_copied(struct assay_stream *s,
                           const struct assay_record *rec, const uint8_t *data)
{
    struct assay_msg m = {0};
    uint64_t credit;

    if (assay_record_message(&m, &credit, rec, data) < 0) {
        kill_for(s, ASSAY_EINTERNAL);
        return true;
    }
    if (s->credit < credit)
        return false;
    switch (m.type) {
    case ASSAY_MSG_LAYER_PROBE: m.u.layer_probe.run = s->run; break;
    case ASSAY_MSG_LAYER_STATS: m.u.layer_stats.run = s->run; break;
    default: m.u.layer_tiles.run = s->run; break;
    }
    s->credit -= credit;
    send_msg(s, &m);
    return true;
}

/* false: no credit or no memory now. */
static bool forward_tile(struct assay_stream *s, const struct assay_record *rec,
                         const uint8_t *data, uint64_t position)
{
    struct assay_msg m = {.type = ASSAY_MSG_CHUNK};
    struct tile_ticket *ticket;

    if (s->credit < rec->bytes)
        return false;
    ticket = assay_alloc(sizeof(*ticket));
    if (ticket == NULL)
        return false;
    ticket->stream = s;
    ticket->position = position;
    m.u.chunk.run = s->run;
    m.u.chunk.layer = rec->layer;
    m.u.chunk.offset = rec->offset;
    memcpy(m.u.chunk.digest, rec->digest, 16);
    m.payload_bytes = rec->bytes;
    s->in_flight++;
    if (s->events.send(s->events.self, &m, data, ticket) < 0) {
        s->in_flight--;
        assay_free(ticket);
        return false;
    }
    s->credit -= rec->bytes;
    return true;
}

void assay_stream_sent(void *arg)
{
    struct tile_ticket *ticket = arg;
    struct assay_stream *s = ticket->stream;

    assert(s->in_flight > 0);
    s->in_flight--;
    s->progress_us = assay_now_us();
    /* Sends end in their order; what has no bytes to lend rides along. */
    release(s, s->in_flight == 0 ? s->position : ticket->position);
    assay_free(ticket);
    if (!s->abandoned)
        pump(s);
}

/* ---- how it ends ---------------------------------------------------------- */

static void send_end(struct assay_stream *s)
{
    struct assay_msg m = {.type = ASSAY_MSG_RUN_END};
    struct assay_msg_error *e = &m.u.run_end.error;
    struct assay_err err = {0};

    m.u.run_end.run = s->run;
    m.u.run_end.layers_done = s->n_done;
    m.u.run_end.layers_missing = s->n_missing;
    m.u.run_end.bytes = s->bytes;
    m.u.run_end.time_us = s->time_us;
    if (s->reason == 0 && s->has_done) {
        if (s->done.code < 0) {
            e->code = assay_status_name(s->done.code)[0] != '?'
                          ? s->done.code
                          : ASSAY_EINTERNAL;
            e->text = s->done.reason;
        }
    } else {
        struct assay_run_error r = {.reason = s->reason,
                                    .overdue = s->overdue,
                                    .status = s->worker.status,
                                    .layer_ms = s->layer_ms,
                                    .stall_ms = s->stall_ms,
                                    .run_ms = s->events.run_ms,
                                    .page = &s->worker.ring->status,
                                    .slice = s->loaded->slice};

        assay_run_error_tell(&r, &err, e);
    }
    send_msg(s, &m);
}

static void handle_closed(struct assay_stream *s)
{
    if (--s->open_handles > 0)
        return;
    assay_worker_close(&s->worker);
    assay_free(s->layers);
    assay_budget_give(s->blobs, s->charge);
    if (s->gone != NULL)
        s->gone(s->gone_self);
    assay_free(s);
}

static void on_poll_closed(uv_handle_t *handle)
{
    handle_closed(handle->data);
}

static void on_deadline_closed(void *self)
{
    handle_closed(self);
}

static void close_handles(struct assay_stream *s)
{
    s->abandoned = true;
    uv_close((uv_handle_t *)&s->ready, on_poll_closed);
    assay_deadline_close(&s->deadline, on_deadline_closed);
}

static void finish(struct assay_stream *s)
{
    bool fatal = s->reason == ASSAY_ECLIENT_STALLED;

    if (!s->ended) {
        s->ended = true;
        send_end(s);
    }
    /* The mapping is the connection's as long as it sends from it. */
    if (s->in_flight > 0 && !fatal) {
        arm(s);
        return;
    }
    if (fatal) {
        s->events.over(s->events.self, true);
        return; /* the session closes its connection and abandons us */
    }
    close_handles(s);
    s->events.over(s->events.self, false);
}

/* ---- taking records ------------------------------------------------------- */

static void kill_for(struct assay_stream *s, int reason)
{
    if (s->reason == 0)
        s->reason = reason;
    assay_worker_kill(&s->worker);
}

/* false: nothing more can be taken now. */
static bool take_one(struct assay_stream *s)
{
    struct assay_record rec;
    const uint8_t *data;
    uint64_t position = s->position;
    int rc;

    /* Also what needs no credit waits for a client that does not read. */
    s->blocked = s->events.full(s->events.self);
    if (s->blocked)
        return false;
    rc = assay_ring_next(s->worker.ring, &position, &rec, &data);
    if (rc < 0) {
        kill_for(s, ASSAY_EINTERNAL);
        return false;
    }
    if (rc == 0)
        return false;
    if (rec.kind == ASSAY_RECORD_TILE) {
        s->blocked = !forward_tile(s, &rec, data, position);
        if (s->blocked)
            return false;
        s->position = position;
        return true;
    }
    if (rec.kind == ASSAY_RECORD_PROBE || rec.kind == ASSAY_RECORD_STATS ||
        rec.kind == ASSAY_RECORD_TILES) {
        s->blocked = !forward_copied(s, &rec, data);
        if (s->blocked)
            return false;
    } else if (rec.kind == ASSAY_RECORD_BEGIN) {
        forward_begin(s, &rec);
    } else if (rec.kind == ASSAY_RECORD_END) {
        forward_end(s, &rec);
    } else if (rec.kind == ASSAY_RECORD_MISSING) {
        forward_missing(s, &rec);
    } else {
        s->done = rec;
        s->has_done = true;
    }
    s->position = position;
    if (s->in_flight == 0)
        release(s, position);
    return true;
}

/* Layers before a crash or a time-out are delivered; what a client cancelled
 * or does not take is not. */
static bool drops_the_rest(const struct assay_stream *s)
{
    return s->reason == ASSAY_ECANCELLED ||
           s->reason == ASSAY_ECLIENT_STALLED || s->reason == ASSAY_EINTERNAL;
}

static void pump(struct assay_stream *s)
{
    if (s->ended) {
        finish(s);
        return;
    }
    while (!drops_the_rest(s) && take_one(s)) {
    }
    if (s->reaped && (drops_the_rest(s) || !s->blocked)) {
        finish(s);
        return;
    }
    arm(s);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct assay_stream *s = poll->data;
    char tokens[256];
    ssize_t n;

    (void)events;
    do {
        n = read(s->worker.ready, tokens, sizeof(tokens));
    } while (n == (ssize_t)sizeof(tokens));
    assay_ring_heard(s->worker.ring);
    if (n == 0 || status < 0) /* its end closes with it: SIGCHLD follows */
        uv_poll_stop(poll);
    if (s->in_flight == 0 && !s->blocked)
        s->progress_us = assay_now_us(); /* nobody was waited for */
    pump(s);
}

void assay_stream_child(struct assay_stream *s)
{
    if (s->reaped || s->abandoned || !assay_worker_reap(&s->worker))
        return;
    s->reaped = true;
    pump(s);
}

void assay_stream_drained(struct assay_stream *s)
{
    if (s->abandoned)
        return;
    s->progress_us = assay_now_us();
    s->blocked = false;
    pump(s);
}

void assay_stream_credit(struct assay_stream *s, uint64_t bytes)
{
    s->credit = s->credit + bytes < s->credit ? UINT64_MAX : s->credit + bytes;
    if (bytes > 0)
        s->progress_us = assay_now_us();
    s->blocked = false;
    pump(s);
}

void assay_stream_cancel(struct assay_stream *s, uint32_t run)
{
    if (run != s->run)
        return;
    kill_for(s, ASSAY_ECANCELLED);
    pump(s);
}

void assay_stream_kill(struct assay_stream *s)
{
    assay_worker_kill(&s->worker);
}

void assay_stream_abandon(struct assay_stream *s, void (*gone)(void *self),
                          void *self)
{
    assert(s->in_flight == 0);
    s->gone = gone;
    s->gone_self = self;
    if (!s->abandoned) {
        assay_worker_kill(&s->worker);
        close_handles(s);
    }
}

/* ---- deadlines ------------------------------------------------------------ */

/* Time left of the layer's deadline. The worker's waiting for the client is
 * not charged; for room that it has already, it is. */
static int64_t layer_left_us(struct assay_stream *s, uint64_t now)
{
    struct assay_status_page *p = &s->worker.ring->status;
    uint32_t state = atomic_load(&p->state);
    uint64_t since = atomic_load(&p->since_us), spent = 0;

    if (state == ASSAY_WORKER_WAITING) {
        if (s->in_flight > 0 || s->blocked ||
            atomic_load(&s->worker.ring->head) != s->position)
            return (int64_t)s->layer_ms * 1000;
        since = s->progress_us > since ? s->progress_us : since;
    }
    if (state == ASSAY_WORKER_COMPUTING)
        spent = atomic_load(&p->spent_us);
    if (now > since)
        spent += now - since;
    return (int64_t)s->layer_ms * 1000 - (int64_t)spent;
}

static void arm(struct assay_stream *s)
{
    uint64_t now = assay_now_us();
    int64_t left = INT64_MAX, stall;

    if (s->reason == 0)
        left = (int64_t)s->due_us - (int64_t)now;
    if (!s->reaped && s->reason == 0 && layer_left_us(s, now) < left)
        left = layer_left_us(s, now);
    if (s->in_flight > 0 || s->blocked) {
        stall = (int64_t)(s->progress_us + s->stall_ms * 1000) - (int64_t)now;
        left = stall < left ? stall : left;
    }
    if (left == INT64_MAX) {
        assay_deadline_stop(&s->deadline);
        return;
    }
    assay_deadline_start(&s->deadline,
                         left <= 0 ? 0 : (uint64_t)left / 1000 + 1);
}

static void on_deadline(void *self)
{
    struct assay_stream *s = self;
    uint64_t now = assay_now_us();

    if (s->reason == 0 && !s->reaped && now >= s->due_us) {
        s->overdue = true;
        kill_for(s, ASSAY_ELAYER_TIMEOUT);
    }
    s->overdue = s->overdue || (s->reason == 0 && now >= s->due_us);
    /* A client that takes a little now and then is late in the end, too. */
    if ((s->in_flight > 0 || s->blocked) &&
        (now >= s->progress_us + s->stall_ms * 1000 ||
         (s->reaped && s->overdue))) {
        kill_for(s, ASSAY_ECLIENT_STALLED);
        if (s->reaped) {
            s->reason = ASSAY_ECLIENT_STALLED;
            finish(s);
            return;
        }
    } else if (!s->reaped && s->reason == 0 && layer_left_us(s, now) <= 0) {
        kill_for(s, ASSAY_ELAYER_TIMEOUT);
    }
    /* Else SIGCHLD comes next; who was killed for is told until he takes it. */
    if (s->reason == 0 || s->reaped)
        arm(s);
}

/* ---- start ---------------------------------------------------------------- */

static int copy_filter(struct assay_stream *s,
                       const struct assay_msg_run_start *r,
                       struct assay_err *err)
{
    uint32_t n = s->loaded->slice->n_layers;

    if (r->layers == NULL)
        return 0;
    if (r->layers_bytes != (n + 7) / 8)
        return assay_fail(err, ASSAY_ERANGE,
                          "layer filter has %zu bytes, %u layers need %u",
                          r->layers_bytes, n, (n + 7) / 8);
    s->layers = assay_calloc(n + 1u, sizeof(bool));
    if (s->layers == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a run");
    for (uint32_t i = 0; i < n; i++)
        s->layers[i] = (r->layers[i / 8] >> i % 8 & 1) != 0;
    return 0;
}

/* The ring, and a byte a layer of the filter. */
static int charge_run(struct assay_stream *s, struct assay_err *err)
{
    uint64_t n = sizeof(struct assay_ring) + s->loaded->slice->n_layers;
    int rc = assay_budget_take(s->blobs, n, "run", err);

    if (rc == 0)
        s->charge = n;
    return rc;
}

static uint64_t clamp_ms(uint64_t ms, uint64_t none)
{
    if (ms == 0)
        return none;
    return ms > MAX_MS ? MAX_MS : ms;
}

int assay_stream_start(struct assay_stream **out, uv_loop_t *loop,
                       const struct assay_loaded *loaded,
                       const struct assay_msg_run_start *request,
                       const struct assay_stream_events *events,
                       struct assay_err *err)
{
    struct assay_stream *s = assay_calloc(1, sizeof(*s));
    struct assay_worker_run run = {
        .loaded = loaded,
        .mode = request->isolated ? ASSAY_RUN_ISOLATED : ASSAY_RUN_CUMULATIVE,
        .capture = request->capture,
        .probe_work = request->probe_work,
    };
    int rc;

    if (s == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a run");
    s->events = *events;
    s->loaded = loaded;
    s->blobs = loaded->blobs;
    s->loop = loop;
    s->run = request->run;
    s->layer_ms = clamp_ms(request->layer_timeout_ms, DEFAULT_LAYER_MS);
    s->stall_ms = clamp_ms(request->stall_timeout_ms, DEFAULT_STALL_MS);
    s->credit = request->credit;
    s->progress_us = assay_now_us();
    s->due_us = s->progress_us + events->run_ms * 1000;
    run.layer_us = s->layer_ms * 1000;
    rc = charge_run(s, err);
    run.probe_memory = (size_t)assay_budget_free(s->blobs);
    if (rc == 0)
        rc = copy_filter(s, request, err);
    run.layers = s->layers;
    if (rc == 0)
        rc = assay_worker_start(&s->worker, &run, err);
    if (rc == 0 && uv_poll_init(loop, &s->ready, s->worker.ready) < 0)
        rc = assay_fail(err, ASSAY_EINTERNAL, "cannot watch the worker");
    if (rc < 0) {
        assay_worker_close(&s->worker);
        assay_free(s->layers);
        assay_budget_give(s->blobs, s->charge);
        assay_free(s);
        return rc;
    }
    s->ready.data = s;
    assay_deadline_init(&s->deadline, loop, on_deadline, s);
    s->open_handles = 2;
    uv_poll_start(&s->ready, UV_READABLE, on_ready);
    arm(s);
    *out = s;
    return 0;
}
