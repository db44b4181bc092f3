/* SPDX-License-Identifier: Apache-2.0 */
/* One run: tensors out, results in, credit back. */
#include <inttypes.h>
#include <string.h>

#include "host-tools/client.h"
#include "lib/core/buf.h"

#define WINDOW (8u * 1024 * 1024) /* results that may be on their way */
#define CANCEL_MS 3000u

struct expected {
    const struct assay_run_tensor *tensor; /* NULL: nothing is expected */
    uint8_t *digests;                      /* of its tiles; owned */
};

struct receiver {
    struct assay_client *c;
    const struct assay_results *results;
    struct assay_err *err;
    uint64_t owed;    /* credit that was not given back yet */
    bool wants_probe; /* of the layer that ended last */
    bool asked;
    bool in_layer;
    uint32_t layer;
    char kernel[128];
    uint8_t *data; /* of the layer that is coming; owned */
    size_t cap, bytes, got;
    struct assay_buf digests;
    enum assay_capture capture;  /* that the agent was asked for */
    struct expected *expected;   /* one a tensor; owned */
    const struct expected *want; /* of the layer that is coming, or NULL */
    bool digests_only;           /* of it */
    bool has_stats;              /* it was told */
    size_t left_out;             /* tiles of it that did not come */
    bool over;
    int stop; /* negative: why the run is being cancelled */
    uint64_t stopped_ms, pinged_ms;
    bool any_layer;
};

static int violation(struct receiver *r, const char *what, uint64_t found,
                     uint64_t expected)
{
    return assay_fail(r->err, ASSAY_EPROTOCOL,
                      "board '%.100s': %s of layer %u is %" PRIu64
                      ", expected %" PRIu64,
                      r->c->target.text, what, r->layer, found, expected);
}

/* ---- messages ------------------------------------------------------------- */

static int make_room(struct receiver *r)
{
    if (r->cap >= r->bytes)
        return 0;
    assay_free(r->data);
    r->data = assay_alloc(r->bytes);
    r->cap = r->data != NULL ? r->bytes : 0;
    return r->data != NULL
               ? 0
               : assay_fail(r->err, ASSAY_EMEMORY,
                            "no memory for a layer of %zu bytes", r->bytes);
}

static int on_begin(struct receiver *r, const struct assay_msg_layer_begin *b)
{
    const struct assay_slice *s = r->c->slice;
    size_t elements, bytes;
    int rc;

    if (b->layer >= s->n_layers)
        return violation(r, "index", b->layer, s->n_layers - 1);
    r->layer = b->layer;
    if (b->tensor != s->layers[b->layer].output)
        return violation(r, "output", b->tensor, s->layers[b->layer].output);
    rc = assay_tensor_count(&s->tensors[b->tensor], &elements, &bytes, r->err);
    if (rc < 0)
        return rc;
    if (b->bytes != bytes || b->dtype != s->tensors[b->tensor].dtype)
        return violation(r, "size", b->bytes, bytes);
    strncpy(r->kernel, b->kernel, sizeof(r->kernel) - 1);
    r->bytes = bytes;
    r->got = r->left_out = 0;
    r->want =
        r->expected[b->tensor].tensor != NULL ? &r->expected[b->tensor] : NULL;
    r->digests_only = r->want == NULL && r->capture >= ASSAY_CAPTURE_DIGEST;
    r->digests.len = 0;
    r->in_layer = r->any_layer = true;
    r->wants_probe = r->has_stats = false;
    if (r->results->begin != NULL)
        r->results->begin(r->results->self, b->layer);
    return 0;
}

static int add_digests(struct receiver *r, const uint8_t *digests, size_t n)
{
    if (assay_buf_append(&r->digests, digests, n * ASSAY_TILE_DIGEST) < 0)
        return assay_fail(r->err, ASSAY_EMEMORY, "no memory for digests");
    return 0;
}

/* Tiles that were left out are as they are expected: whether the board meant
 * that, the layer's digest tells. */
static int fill_up(struct receiver *r, size_t end)
{
    size_t tile = r->got / ASSAY_TILE_BYTES, n = assay_tiles(end) - tile;
    const uint8_t *from = r->want->tensor->data;

    if (end == r->got)
        return 0;
    memcpy(r->data + r->got, from + r->got, end - r->got);
    r->got = end;
    r->left_out += n;
    return add_digests(r, r->want->digests + tile * ASSAY_TILE_DIGEST, n);
}

/* Tiles come in order; where some may be left out, whole and at their place. */
static int check_place(struct receiver *r, const struct assay_msg *m)
{
    uint64_t at = m->u.chunk.offset;
    size_t left;

    if (!r->in_layer || m->u.chunk.layer != r->layer)
        return violation(r, "tile's layer", m->u.chunk.layer, r->layer);
    if (r->digests_only)
        return violation(r, "number of tiles", 1, 0);
    if (r->want == NULL
            ? at != r->got
            : at < r->got || at > r->bytes || at % ASSAY_TILE_BYTES != 0)
        return violation(r, "tile's offset", at, r->got);
    left = r->bytes - (size_t)at;
    if (m->payload_bytes > left)
        return violation(r, "tile's end", at + m->payload_bytes, r->bytes);
    left = left < ASSAY_TILE_BYTES ? left : ASSAY_TILE_BYTES;
    if (r->want != NULL && m->payload_bytes != left)
        return violation(r, "tile's size", m->payload_bytes, left);
    return make_room(r);
}

static int on_chunk(struct receiver *r, const struct assay_msg *m)
{
    uint8_t digest[16];
    int rc = check_place(r, m);

    if (rc == 0 && r->want != NULL)
        rc = fill_up(r, (size_t)m->u.chunk.offset);
    if (rc < 0)
        return rc;
    assay_xxh128(m->payload, m->payload_bytes, digest);
    if (memcmp(digest, m->u.chunk.digest, 16) != 0)
        return assay_fail(r->err, ASSAY_ELOST,
                          "tile at byte %zu of layer '%.200s' was damaged on "
                          "its way: its digest differs",
                          r->got, r->c->slice->layers[r->layer].name);
    memcpy(r->data + r->got, m->payload, m->payload_bytes);
    r->got += m->payload_bytes;
    r->owed += m->payload_bytes;
    return add_digests(r, digest, 1);
}

static int on_tiles(struct receiver *r, const struct assay_msg_layer_tiles *m)
{
    size_t have = r->digests.len / ASSAY_TILE_DIGEST;
    size_t tiles = assay_tiles(r->bytes);

    if (!r->in_layer || m->layer != r->layer)
        return violation(r, "digests' layer", m->layer, r->layer);
    if (!r->digests_only)
        return assay_fail(r->err, ASSAY_EPROTOCOL,
                          "board '%.100s' sent digests of layer %u, which were "
                          "not asked for",
                          r->c->target.text, m->layer);
    if (m->first != have || m->n > tiles - have)
        return violation(r, "number of digests", m->first + m->n, tiles);
    r->owed += m->n * ASSAY_TILE_DIGEST;
    return add_digests(r, m->digests, m->n);
}

static int on_stats(struct receiver *r, const struct assay_msg_layer_stats *m)
{
    const struct assay_slice *s = r->c->slice;
    const struct assay_tensor *t;
    size_t elements, bytes;

    if (!r->in_layer || m->layer != r->layer)
        return violation(r, "statistics' layer", m->layer, r->layer);
    if (r->capture != ASSAY_CAPTURE_STATS || r->has_stats)
        return assay_fail(r->err, ASSAY_EPROTOCOL,
                          "board '%.100s' sent statistics of layer %u, which "
                          "were not asked for",
                          r->c->target.text, m->layer);
    t = &s->tensors[s->layers[r->layer].output];
    if (assay_tensor_count(t, &elements, &bytes, r->err) < 0)
        return ASSAY_ERANGE;
    if (m->stats.count != elements ||
        (m->stats.is_float != 0) == assay_dtype_is_int(t->dtype))
        return violation(r, "number of counted elements", m->stats.count,
                         elements);
    r->has_stats = true;
    r->owed += ASSAY_STATS_CREDIT;
    if (r->results->stats != NULL)
        r->results->stats(r->results->self, r->layer, &m->stats);
    return 0;
}

/* Everything came, or is known without having come. */
static int complete(struct receiver *r)
{
    size_t tiles = assay_tiles(r->bytes);

    if (r->digests_only)
        return r->digests.len == tiles * ASSAY_TILE_DIGEST
                   ? 0
                   : violation(r, "number of digests at its end",
                               r->digests.len / ASSAY_TILE_DIGEST, tiles);
    if (r->want != NULL && r->got == 0) { /* nothing to be put together */
        r->left_out = tiles;
        return add_digests(r, r->want->digests, tiles);
    }
    if (r->want != NULL)
        return fill_up(r, r->bytes);
    return r->got == r->bytes
               ? make_room(r)
               : violation(r, "size at its end", r->got, r->bytes);
}

static int tell_layer(struct receiver *r, uint64_t time_us)
{
    const struct assay_results *to = r->results;
    const void *data = r->data;
    int rc;

    if (r->want != NULL && r->got == 0)
        data = r->want->tensor->data;
    if (r->digests_only)
        rc =
            to->digests(to->self, r->layer, r->digests.data,
                        r->digests.len / ASSAY_TILE_DIGEST, r->kernel, time_us);
    else
        rc = to->layer(to->self, r->layer, data, r->bytes, r->kernel, time_us);
    r->c->heard_ms = assay_client_now_ms(r->c); /* we were not listening */
    return rc < 0 ? assay_fail(r->err, rc, "run stopped") : 0;
}

static int on_layer_end(struct receiver *r, const struct assay_msg_layer_end *e)
{
    const char *name;
    uint8_t digest[16];
    int rc;

    if (!r->in_layer || e->layer != r->layer)
        return violation(r, "end", e->layer, r->layer);
    if (e->bytes != r->bytes)
        return violation(r, "size at its end", e->bytes, r->bytes);
    rc = complete(r);
    if (rc < 0)
        return rc;
    name = r->c->slice->layers[r->layer].name;
    assay_xxh128(r->digests.data, r->digests.len, digest);
    if (memcmp(digest, e->digest, 16) != 0)
        return r->left_out == 0
                   ? assay_fail(r->err, ASSAY_ELOST,
                                "digest of layer '%.200s' differs", name)
                   : assay_fail(r->err, ASSAY_ELOST,
                                "digest of layer '%.200s' differs: %zu of its "
                                "%zu tiles were left out as equal, and not all "
                                "of them are",
                                name, r->left_out, assay_tiles(r->bytes));
    r->in_layer = false;
    r->wants_probe = r->asked;
    return tell_layer(r, e->time_us);
}

static bool has_step(const struct assay_layer *l,
                     const struct assay_probe_step *s)
{
    const struct assay_program *p = &l->out_program;

    if (s->operand > 0 && s->operand > l->n_in_programs)
        return false;
    if (s->operand > 0)
        p = &l->in_programs[s->operand - 1];
    return s->step < p->n_steps;
}

static int on_probe(struct receiver *r, const struct assay_msg_layer_probe *m)
{
    const struct assay_layer *l;

    if (!r->wants_probe || m->layer != r->layer)
        return assay_fail(r->err, ASSAY_EPROTOCOL,
                          "board '%.100s' sent a probe of layer %u, which was "
                          "not asked for",
                          r->c->target.text, m->layer);
    l = &r->c->slice->layers[m->layer];
    for (uint32_t i = 0; i < m->probe.n_steps; i++)
        if (!has_step(l, &m->probe.steps[i]))
            return assay_fail(r->err, ASSAY_EPROTOCOL,
                              "board '%.100s': probe of layer '%.200s' names a "
                              "step that it does not have",
                              r->c->target.text, l->name);
    r->wants_probe = false;
    r->owed += ASSAY_PROBE_CREDIT;
    if (r->results->probe != NULL)
        r->results->probe(r->results->self, m->layer, &m->probe);
    return 0;
}

static int on_missing(struct receiver *r, const struct assay_msg_missing *m)
{
    int rc = 0;

    if (m->layer >= r->c->slice->n_layers ||
        m->tensor >= r->c->slice->n_tensors)
        return violation(r, "missing tensor", m->tensor,
                         r->c->slice->n_tensors - 1);
    if (r->results->missing != NULL)
        rc = r->results->missing(r->results->self, m->layer, m->tensor);
    return rc < 0 ? assay_fail(r->err, rc, "run stopped") : 0;
}

static int on_message(struct receiver *r, const struct assay_msg *m)
{
    switch (m->type) {
    case ASSAY_MSG_LAYER_BEGIN: return on_begin(r, &m->u.layer_begin);
    case ASSAY_MSG_CHUNK: return on_chunk(r, m);
    case ASSAY_MSG_LAYER_END: return on_layer_end(r, &m->u.layer_end);
    case ASSAY_MSG_LAYER_PROBE: return on_probe(r, &m->u.layer_probe);
    case ASSAY_MSG_LAYER_TILES: return on_tiles(r, &m->u.layer_tiles);
    case ASSAY_MSG_LAYER_STATS: return on_stats(r, &m->u.layer_stats);
    case ASSAY_MSG_LAYER_MISSING: return on_missing(r, &m->u.missing);
    case ASSAY_MSG_RUN_END:
        r->over = true;
        if (m->u.run_end.run != r->c->run)
            return violation(r, "run", m->u.run_end.run, r->c->run);
        if (m->u.run_end.error.code < 0)
            return assay_client_told(r->c, &m->u.run_end.error, r->err);
        return 0;
    case ASSAY_MSG_ERROR: /* the run was refused, or the session ends */
        r->over = true;
        return assay_client_told(r->c, &m->u.error, r->err);
    case ASSAY_MSG_PONG: return 0;
    default:
        return assay_fail(r->err, ASSAY_EPROTOCOL,
                          "board '%.200s' sent %s in a run", r->c->target.text,
                          assay_msg_name(m->type));
    }
}

/* ---- sending -------------------------------------------------------------- */

static int send_given(struct assay_client *c, const struct assay_run_tensor *t,
                      struct assay_err *err)
{
    struct assay_msg m = {.type = ASSAY_MSG_RUN_TENSOR};
    size_t at = 0;

    m.u.run_tensor.tensor = t->tensor;
    m.u.run_tensor.total = t->bytes;
    do {
        size_t n = t->bytes - at;
        int rc;

        if (n > ASSAY_CHUNK_MAX)
            n = ASSAY_CHUNK_MAX;
        m.u.run_tensor.offset = at;
        m.payload_bytes = (uint32_t)n;
        rc = assay_client_send(c, &m, (const uint8_t *)t->data + at, err);
        if (rc < 0)
            return rc;
        at += n;
    } while (at < t->bytes);
    return 0;
}

/* Digests of what a tensor is expected to be, to the agent and to us. */
static int send_expected(struct receiver *r, const struct assay_run_tensor *t)
{
    struct assay_msg m = {.type = ASSAY_MSG_RUN_EXPECT};
    struct expected *x = &r->expected[t->tensor];
    size_t tiles = assay_tiles(t->bytes), n;
    int rc = 0;

    x->digests = assay_alloc(tiles * ASSAY_TILE_DIGEST + 1);
    if (x->digests == NULL)
        return assay_fail(r->err, ASSAY_EMEMORY, "no memory for digests");
    x->tensor = t;
    assay_tile_digests(t->data, t->bytes, x->digests);
    m.u.run_expect.tensor = t->tensor;
    m.u.run_expect.tiles = tiles;
    for (size_t at = 0; at < tiles && rc == 0; at += n) {
        n = tiles - at;
        n = n < ASSAY_EXPECT_DIGESTS ? n : ASSAY_EXPECT_DIGESTS;
        m.u.run_expect.first = at;
        m.u.run_expect.digests = x->digests + at * ASSAY_TILE_DIGEST;
        m.u.run_expect.n = n;
        rc = assay_client_send(r->c, &m, NULL, r->err);
    }
    return rc;
}

/* An agent that does not know the capture is asked for everything: what it
 * then sends is what the results take, too. */
static int expect_all(struct receiver *r, const struct assay_backend_run *run)
{
    int rc = 0;

    r->expected =
        assay_calloc(r->c->slice->n_tensors + 1u, sizeof(*r->expected));
    if (r->expected == NULL)
        return assay_fail(r->err, ASSAY_EMEMORY, "no memory for a run");
    if (r->c->captures >> run->capture & 1)
        r->capture = run->capture;
    for (size_t i = 0;
         i < run->n_expect && r->capture != ASSAY_CAPTURE_FULL && rc == 0; i++)
        rc = send_expected(r, &run->expect[i]);
    return rc;
}

static int send_start(struct assay_client *c,
                      const struct assay_backend_run *run,
                      enum assay_capture capture, struct assay_err *err)
{
    struct assay_msg m = {.type = ASSAY_MSG_RUN_START};
    size_t n = (c->slice->n_layers + 7u) / 8;
    uint8_t *bits = assay_calloc(n + 1, 1);
    int rc;

    if (bits == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a run");
    for (uint32_t i = 0; run->layers != NULL && i < c->slice->n_layers; i++) {
        if (run->layers[i])
            bits[i / 8] |= (uint8_t)(1u << i % 8);
    }
    m.u.run_start = (struct assay_msg_run_start){
        .run = ++c->run,
        .isolated = run->isolated,
        .capture = capture,
        .layers = run->layers != NULL ? bits : NULL,
        .layers_bytes = run->layers != NULL ? n : 0,
        .cpumask = run->cpumask,
        .sample = run->sample,
        .layer_timeout_ms = run->layer_timeout_ms,
        .stall_timeout_ms = c->timeout_ms,
        .credit = WINDOW,
        .probe_work = run->probe_work,
    };
    rc = assay_client_send(c, &m, NULL, err);
    assay_free(bits);
    return rc;
}

static int give_credit(struct receiver *r)
{
    struct assay_msg m = {.type = ASSAY_MSG_CREDIT, .u.number = r->owed};

    if (r->owed < WINDOW / 4)
        return 0;
    r->owed = 0;
    return assay_client_send(r->c, &m, NULL, r->err);
}

/* ---- the run -------------------------------------------------------------- */

/* The board stops computing; its RUN_END is waited for a little, so that the
 * connection can be used again. */
static void begin_stop(struct receiver *r, int why)
{
    struct assay_msg m = {.type = ASSAY_MSG_CANCEL, .u.number = r->c->run};
    struct assay_err ignored = {0};

    r->stop = why;
    r->stopped_ms = assay_client_now_ms(r->c);
    if (assay_client_send(r->c, &m, NULL, &ignored) < 0)
        r->over = true;
}

static int lost(struct receiver *r)
{
    struct assay_client *c = r->c;
    const char *what =
        r->any_layer ? c->slice->layers[r->layer].name : "the first layer";
    int rc = assay_fail(&c->broken, ASSAY_ELOST,
                        "board '%.150s' silent for %" PRIu64
                        " s while running '%.150s' (connection lost: no "
                        "answer to ping)",
                        c->target.text, (c->timeout_ms + 999) / 1000, what);

    return assay_fail(r->err, rc, "%s", c->broken.text);
}

static int watch(struct receiver *r)
{
    struct assay_client *c = r->c;
    struct assay_msg ping = {.type = ASSAY_MSG_PING};
    uint64_t now = assay_client_now_ms(c), silent = now - c->heard_ms;

    if (r->stop < 0) {
        if (now - r->stopped_ms > CANCEL_MS) {
            c->broken = (struct assay_err){.code = ASSAY_ELOST};
            assay_fail(&c->broken, ASSAY_ELOST,
                       "board '%.200s' did not end a run that was cancelled",
                       c->target.text);
            r->over = true;
        }
        return 0;
    }
    if (assay_client_interrupted(c)) {
        assay_fail(r->err, ASSAY_ECANCELLED, "interrupted");
        begin_stop(r, ASSAY_ECANCELLED);
        return 0;
    }
    if (silent > c->timeout_ms)
        return lost(r);
    /* A long layer is silent; the agent's answer shows that it lives. */
    if (silent > c->timeout_ms / 3 && now - r->pinged_ms > c->timeout_ms / 3) {
        r->pinged_ms = now;
        return assay_client_send(c, &ping, NULL, r->err);
    }
    return 0;
}

static int name_layer(struct receiver *r, int rc)
{
    if (rc == ASSAY_ELOST && r->in_layer && r->c->broken.code == rc &&
        strstr(r->err->text, "while running") == NULL)
        assay_fail(r->err, rc, "%.300s while running '%.150s'",
                   r->c->broken.text, r->c->slice->layers[r->layer].name);
    return rc;
}

static int receive_all(struct receiver *r)
{
    struct assay_err drained = {0}, *err = r->err;
    struct assay_msg m;
    int rc;

    r->c->heard_ms = r->pinged_ms = assay_client_now_ms(r->c);
    while (!r->over) {
        rc = assay_client_poll(r->c, &m, r->stop < 0 ? &drained : err);
        if (rc < 0)
            return r->stop < 0 ? r->stop : name_layer(r, rc);
        if (rc > 0 && r->stop < 0) {
            /* What was on its way when the run was cancelled. */
            r->over = m.type == ASSAY_MSG_RUN_END || m.type == ASSAY_MSG_ERROR;
            assay_msg_close(&m);
            continue;
        }
        if (rc > 0) {
            rc = on_message(r, &m);
            assay_msg_close(&m);
            if (rc < 0 && r->over)
                return rc;
            if (rc < 0)
                begin_stop(r, rc);
            else if (give_credit(r) < 0)
                return err->code;
            continue;
        }
        rc = watch(r);
        if (rc < 0)
            return rc;
        if (!r->over)
            assay_client_step(r->c);
    }
    return r->stop;
}

int assay_client_run(struct assay_backend *b,
                     const struct assay_backend_run *run,
                     const struct assay_results *results, struct assay_err *err)
{
    struct assay_client *c = (struct assay_client *)b;
    struct assay_err local = {0};
    struct receiver r = {.c = c,
                         .results = results,
                         .err = err != NULL ? err : &local,
                         .asked = run->probe_work > 0};
    int rc = 0;

    if (c->slice == NULL)
        return assay_fail(err, ASSAY_EUSAGE, "run: no slice is loaded");
    assay_buf_init(&r.digests);
    for (size_t i = 0; i < run->n_given && rc == 0; i++)
        rc = send_given(c, &run->given[i], r.err);
    if (rc == 0)
        rc = expect_all(&r, run);
    if (rc == 0)
        rc = send_start(c, run, r.capture, r.err);
    if (rc == 0)
        rc = receive_all(&r);
    for (uint32_t i = 0; r.expected != NULL && i < c->slice->n_tensors; i++)
        assay_free(r.expected[i].digests);
    assay_free(r.expected);
    assay_buf_close(&r.digests);
    assay_free(r.data);
    return rc;
}
