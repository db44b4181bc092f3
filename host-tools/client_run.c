/* SPDX-License-Identifier: Apache-2.0 */
/* One run: tensors out, results in, credit back. */
#include <inttypes.h>
#include <string.h>

#include "host-tools/client.h"
#include "lib/core/buf.h"

#define WINDOW (8u * 1024 * 1024) /* results that may be on their way */
#define CANCEL_MS 3000u

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
    if (r->cap < bytes) {
        assay_free(r->data);
        r->data = assay_alloc(bytes);
        r->cap = r->data != NULL ? bytes : 0;
        if (r->data == NULL)
            return assay_fail(r->err, ASSAY_EMEMORY,
                              "no memory for a layer of %zu bytes", bytes);
    }
    strncpy(r->kernel, b->kernel, sizeof(r->kernel) - 1);
    r->bytes = bytes;
    r->got = 0;
    r->digests.len = 0;
    r->in_layer = r->any_layer = true;
    r->wants_probe = false;
    if (r->results->begin != NULL)
        r->results->begin(r->results->self, b->layer, r->kernel);
    return 0;
}

static int on_chunk(struct receiver *r, const struct assay_msg *m)
{
    uint8_t digest[16];

    if (!r->in_layer || m->u.chunk.layer != r->layer)
        return violation(r, "tile's layer", m->u.chunk.layer, r->layer);
    if (m->u.chunk.offset != r->got)
        return violation(r, "tile's offset", m->u.chunk.offset, r->got);
    if (m->payload_bytes > r->bytes - r->got)
        return violation(r, "tile's end", r->got + m->payload_bytes, r->bytes);
    assay_xxh128(m->payload, m->payload_bytes, digest);
    if (memcmp(digest, m->u.chunk.digest, 16) != 0)
        return assay_fail(r->err, ASSAY_ELOST,
                          "tile at byte %zu of layer '%.200s' was damaged on "
                          "its way: its digest differs",
                          r->got, r->c->slice->layers[r->layer].name);
    memcpy(r->data + r->got, m->payload, m->payload_bytes);
    r->got += m->payload_bytes;
    r->owed += m->payload_bytes;
    if (assay_buf_append(&r->digests, digest, 16) < 0)
        return assay_fail(r->err, ASSAY_EMEMORY, "no memory for digests");
    return 0;
}

static int on_layer_end(struct receiver *r, const struct assay_msg_layer_end *e)
{
    uint8_t digest[16];
    int rc;

    if (!r->in_layer || e->layer != r->layer)
        return violation(r, "end", e->layer, r->layer);
    if (e->bytes != r->bytes || r->got != r->bytes)
        return violation(r, "size at its end", r->got, r->bytes);
    assay_xxh128(r->digests.data, r->digests.len, digest);
    if (memcmp(digest, e->digest, 16) != 0)
        return assay_fail(r->err, ASSAY_ELOST,
                          "digest of layer '%.200s' differs",
                          r->c->slice->layers[r->layer].name);
    r->in_layer = false;
    r->wants_probe = r->asked;
    rc = r->results->layer(r->results->self, r->layer, r->data, r->bytes,
                           r->kernel, e->time_us);
    r->c->heard_ms = assay_client_now_ms(r->c); /* we were not listening */
    return rc < 0 ? assay_fail(r->err, rc, "run stopped") : 0;
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

static int send_start(struct assay_client *c,
                      const struct assay_backend_run *run,
                      struct assay_err *err)
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
        rc = send_start(c, run, r.err);
    if (rc == 0)
        rc = receive_all(&r);
    assay_buf_close(&r.digests);
    assay_free(r.data);
    return rc;
}
