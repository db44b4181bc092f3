/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to headers. */
#include <assert.h>
#include <string.h>

#include "proto/assay.pb-c.h"
#include "proto/codec.h"
#include "proto/codec_info.h"

/* Generated structs want char *, but packing only reads. */
static char *str(const char *s)
{
    return (char *)(uintptr_t)(s != NULL ? s : "");
}

static ProtobufCBinaryData bin(const void *p, size_t n)
{
    ProtobufCBinaryData b = {.len = n, .data = (uint8_t *)(uintptr_t)p};

    return b;
}

/* Room for whichever body the envelope points to. */
struct scratch {
    Assay__Pb__Envelope env;
    union {
        Assay__Pb__Hello hello;
        Assay__Pb__HelloAck hello_ack;
        Assay__Pb__LeaseAcquire lease_acquire;
        Assay__Pb__LeaseGranted lease_granted;
        Assay__Pb__LeaseRelease lease_release;
        Assay__Pb__LeaseReleased lease_released;
        Assay__Pb__BlobQuery blob_query;
        Assay__Pb__BlobMissing blob_missing;
        Assay__Pb__BlobPut blob_put;
        Assay__Pb__BlobStored blob_stored;
        Assay__Pb__SliceLoad slice_load;
        Assay__Pb__SliceLoaded slice_loaded;
        Assay__Pb__RunTensor run_tensor;
        Assay__Pb__RunStart run_start;
        Assay__Pb__RunExpect run_expect;
        Assay__Pb__LayerBegin layer_begin;
        Assay__Pb__Chunk chunk;
        Assay__Pb__LayerEnd layer_end;
        Assay__Pb__LayerMissing layer_missing;
        Assay__Pb__RunEnd run_end;
        Assay__Pb__LayerProbe layer_probe;
        Assay__Pb__LayerStats layer_stats;
        Assay__Pb__LayerTiles layer_tiles;
        Assay__Pb__Credit credit;
        Assay__Pb__Cancel cancel;
        Assay__Pb__Ping ping;
        Assay__Pb__Pong pong;
        Assay__Pb__Status status;
        Assay__Pb__StatusReply status_reply;
        Assay__Pb__SelfTest self_test;
        Assay__Pb__SelfTestReply self_test_reply;
        Assay__Pb__Note note;
        Assay__Pb__NoteTensor note_tensor;
        Assay__Pb__NoteEnd note_end;
        Assay__Pb__Error error;
    } u;
    Assay__Pb__Info info;
    Assay__Pb__Error error;
    Assay__Pb__ProbeStep steps[ASSAY_PROBE_STEPS];
    Assay__Pb__ProbeStep *step[ASSAY_PROBE_STEPS];
    Assay__Pb__ProbeFact facts[ASSAY_PROBE_FACTS];
    Assay__Pb__ProbeFact *fact[ASSAY_PROBE_FACTS];
};

/* BODY(s, hello) points the envelope at its zeroed body. */
#define BODY(s, field, NAME) \
    (assay__pb__##field##__init(&(s)->u.field), \
     (s)->env.body_case = ASSAY__PB__ENVELOPE__BODY_##NAME, \
     (s)->env.field = &(s)->u.field)

static Assay__Pb__Error *put_error(Assay__Pb__Error *o,
                                   const struct assay_msg_error *e)
{
    assay__pb__error__init(o);
    o->code = e->code;
    o->status_class = e->code < 0 ? (uint32_t)assay_status_class(e->code) : 0;
    o->text = str(e->text);
    o->detail = str(e->detail);
    o->has_layer = e->has_layer;
    o->layer = e->layer;
    o->fatal = e->fatal;
    return o;
}

static void put_session(struct scratch *s, const struct assay_msg *m)
{
    switch (m->type) {
    case ASSAY_MSG_HELLO:
        BODY(s, hello, HELLO);
        s->u.hello.version_min = m->u.hello.version_min;
        s->u.hello.version_max = m->u.hello.version_max;
        s->u.hello.build_id = str(m->u.hello.build_id);
        break;
    case ASSAY_MSG_HELLO_ACK:
        BODY(s, hello_ack, HELLO_ACK);
        s->u.hello_ack.version = m->u.hello_ack.version;
        s->u.hello_ack.version_min = m->u.hello_ack.version_min;
        s->u.hello_ack.version_max = m->u.hello_ack.version_max;
        s->u.hello_ack.captures = m->u.hello_ack.captures;
        s->u.hello_ack.info =
            assay_codec_put_info(&s->info, &m->u.hello_ack.info);
        break;
    case ASSAY_MSG_LEASE_ACQUIRE:
        BODY(s, lease_acquire, LEASE_ACQUIRE);
        s->u.lease_acquire.owner = str(m->u.lease.owner);
        s->u.lease_acquire.ttl_ms = m->u.lease.ttl_ms;
        s->u.lease_acquire.force = m->u.lease.force;
        break;
    case ASSAY_MSG_LEASE_GRANTED:
        BODY(s, lease_granted, LEASE_GRANTED);
        s->u.lease_granted.ttl_ms = m->u.lease.ttl_ms;
        s->u.lease_granted.taken_from = str(m->u.lease.taken_from);
        break;
    case ASSAY_MSG_LEASE_RELEASE: BODY(s, lease_release, LEASE_RELEASE); break;
    case ASSAY_MSG_LEASE_RELEASED:
        BODY(s, lease_released, LEASE_RELEASED);
        break;
    default: break;
    }
}

static void put_flow(struct scratch *s, const struct assay_msg *m)
{
    switch (m->type) {
    case ASSAY_MSG_CREDIT:
        BODY(s, credit, CREDIT);
        s->u.credit.bytes = m->u.number;
        break;
    case ASSAY_MSG_CANCEL:
        BODY(s, cancel, CANCEL);
        s->u.cancel.run = (uint32_t)m->u.number;
        break;
    case ASSAY_MSG_PING:
        BODY(s, ping, PING);
        s->u.ping.nonce = m->u.number;
        break;
    case ASSAY_MSG_PONG:
        BODY(s, pong, PONG);
        s->u.pong.nonce = m->u.number;
        break;
    case ASSAY_MSG_STATUS: BODY(s, status, STATUS); break;
    case ASSAY_MSG_STATUS_REPLY:
        BODY(s, status_reply, STATUS_REPLY);
        s->u.status_reply.info = assay_codec_put_info(&s->info, &m->u.info);
        break;
    case ASSAY_MSG_SELF_TEST:
        BODY(s, self_test, SELF_TEST);
        s->u.self_test.memory_bytes = m->u.number;
        break;
    case ASSAY_MSG_SELF_TEST_REPLY:
        BODY(s, self_test_reply, SELF_TEST_REPLY);
        assay_codec_put_self_test(&s->u.self_test_reply, &m->u.self_test);
        break;
    case ASSAY_MSG_ERROR:
        s->env.body_case = ASSAY__PB__ENVELOPE__BODY_ERROR;
        s->env.error = put_error(&s->u.error, &m->u.error);
        break;
    default: break;
    }
}

static void put_blobs(struct scratch *s, const struct assay_msg *m)
{
    ProtobufCBinaryData digests, sha;

    switch (m->type) {
    case ASSAY_MSG_BLOB_QUERY:
    case ASSAY_MSG_BLOB_MISSING:
        digests = bin(m->u.digests.sha256, m->u.digests.n * ASSAY_SHA256_LEN);
        if (m->type == ASSAY_MSG_BLOB_QUERY) {
            BODY(s, blob_query, BLOB_QUERY);
            s->u.blob_query.sha256 = digests;
        } else {
            BODY(s, blob_missing, BLOB_MISSING);
            s->u.blob_missing.sha256 = digests;
        }
        break;
    case ASSAY_MSG_BLOB_PUT:
        sha = bin(m->u.blob.sha256, ASSAY_SHA256_LEN);
        BODY(s, blob_put, BLOB_PUT);
        s->u.blob_put.sha256 = sha;
        s->u.blob_put.total = m->u.blob.total;
        s->u.blob_put.offset = m->u.blob.offset;
        break;
    case ASSAY_MSG_BLOB_STORED:
        sha = bin(m->u.blob.sha256, ASSAY_SHA256_LEN);
        BODY(s, blob_stored, BLOB_STORED);
        s->u.blob_stored.sha256 = sha;
        break;
    case ASSAY_MSG_SLICE_LOAD:
        sha = bin(m->u.blob.sha256, ASSAY_SHA256_LEN);
        BODY(s, slice_load, SLICE_LOAD);
        s->u.slice_load.sha256 = sha;
        break;
    case ASSAY_MSG_SLICE_LOADED:
        BODY(s, slice_loaded, SLICE_LOADED);
        s->u.slice_loaded.layers = m->u.loaded.layers;
        s->u.slice_loaded.arena_bytes = m->u.loaded.arena_bytes;
        s->u.slice_loaded.packed_bytes = m->u.loaded.packed_bytes;
        break;
    default: break;
    }
}

static void put_run_start(struct scratch *s,
                          const struct assay_msg_run_start *r)
{
    BODY(s, run_start, RUN_START);
    s->u.run_start.run = r->run;
    s->u.run_start.mode = r->isolated
                              ? ASSAY__PB__RUN_MODE__RUN_MODE_ISOLATED
                              : ASSAY__PB__RUN_MODE__RUN_MODE_CUMULATIVE;
    s->u.run_start.layers = bin(r->layers, r->layers_bytes);
    s->u.run_start.cpumask = r->cpumask;
    s->u.run_start.sample = r->sample;
    s->u.run_start.layer_timeout_ms = r->layer_timeout_ms;
    s->u.run_start.stall_timeout_ms = r->stall_timeout_ms;
    s->u.run_start.credit = r->credit;
    s->u.run_start.probe_work = r->probe_work;
    s->u.run_start.capture = (uint32_t)r->capture;
}

static void put_run_expect(struct scratch *s,
                           const struct assay_msg_run_expect *e)
{
    BODY(s, run_expect, RUN_EXPECT);
    s->u.run_expect.tensor = e->tensor;
    s->u.run_expect.tiles = e->tiles;
    s->u.run_expect.first = e->first;
    s->u.run_expect.digests = bin(e->digests, e->n * ASSAY_TILE_DIGEST);
}

static void put_layer_begin(struct scratch *s,
                            const struct assay_msg_layer_begin *b)
{
    assert(b->rank <= ASSAY_MAX_RANK);
    BODY(s, layer_begin, LAYER_BEGIN);
    s->u.layer_begin.run = b->run;
    s->u.layer_begin.layer = b->layer;
    s->u.layer_begin.tensor = b->tensor;
    s->u.layer_begin.dtype = (uint32_t)b->dtype;
    s->u.layer_begin.n_dims = b->rank;
    s->u.layer_begin.dims = (int64_t *)(uintptr_t)b->dims;
    s->u.layer_begin.bytes = b->bytes;
    s->u.layer_begin.kernel = str(b->kernel);
}

static void put_probe_steps(struct scratch *s, const struct assay_probe *p)
{
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const struct assay_probe_step *f = &p->steps[i];

        assay__pb__probe_step__init(&s->steps[i]);
        s->steps[i].operand = f->operand;
        s->steps[i].step = f->step;
        s->steps[i].can = f->can;
        s->steps[i].ties = f->ties;
        s->steps[i].low = f->low;
        s->steps[i].high = f->high;
        s->steps[i].left = f->left;
        s->step[i] = &s->steps[i];
    }
    s->u.layer_probe.n_steps = p->n_steps;
    s->u.layer_probe.steps = s->step;
}

static void put_probe_facts(struct scratch *s, const struct assay_probe *p)
{
    size_t n = 0;

    for (uint32_t i = 0; i < ASSAY_PROBE_FACTS; i++) {
        if ((p->facts >> i & 1) == 0)
            continue;
        assay__pb__probe_fact__init(&s->facts[n]);
        s->facts[n].fact = i;
        s->facts[n].n = p->fact[i];
        s->fact[n] = &s->facts[n];
        n++;
    }
    s->u.layer_probe.n_facts = n;
    s->u.layer_probe.facts = s->fact;
}

static void put_probe(struct scratch *s, const struct assay_msg_layer_probe *m)
{
    const struct assay_probe *p = &m->probe;

    assert(assay_probe_bad_field(p) == NULL);
    BODY(s, layer_probe, LAYER_PROBE);
    s->u.layer_probe.run = m->run;
    s->u.layer_probe.layer = m->layer;
    s->u.layer_probe.values = p->values;
    s->u.layer_probe.work = p->work;
    s->u.layer_probe.has_sums = p->has_sums != 0;
    s->u.layer_probe.min = p->min;
    s->u.layer_probe.max = p->max;
    s->u.layer_probe.running_16 = p->sums[ASSAY_PROBE_RUNNING_16];
    s->u.layer_probe.running_32 = p->sums[ASSAY_PROBE_RUNNING_32];
    s->u.layer_probe.pairs_16 = p->sums[ASSAY_PROBE_PAIRS_16];
    s->u.layer_probe.entries = bin(p->entries, p->n_entries / 8);
    put_probe_steps(s, p);
    put_probe_facts(s, p);
}

static void put_stats(struct scratch *s, const struct assay_msg_layer_stats *m)
{
    const struct assay_stats *v = &m->stats;
    Assay__Pb__LayerStats *o = &s->u.layer_stats;

    assert(assay_stats_bad_field(v) == NULL);
    BODY(s, layer_stats, LAYER_STATS);
    o->run = m->run;
    o->layer = m->layer;
    o->count = v->count;
    o->zeros = v->zeros;
    o->at_low = v->at_low;
    o->at_high = v->at_high;
    o->is_float = v->is_float != 0;
    o->min = v->min;
    o->max = v->max;
    o->sum_low = v->sum_low;
    o->sum_high = v->sum_high;
    o->nan = v->nan;
    o->inf = v->inf;
    o->real_min = v->real_min;
    o->real_max = v->real_max;
    o->real_sum = v->real_sum;
    o->n_bins = ASSAY_STATS_BINS;
    o->bins = (uint64_t *)(uintptr_t)v->bins;
}

static void put_tiles(struct scratch *s, const struct assay_msg_layer_tiles *m)
{
    BODY(s, layer_tiles, LAYER_TILES);
    s->u.layer_tiles.run = m->run;
    s->u.layer_tiles.layer = m->layer;
    s->u.layer_tiles.first = m->first;
    s->u.layer_tiles.digests = bin(m->digests, m->n * ASSAY_TILE_DIGEST);
}

static void put_run(struct scratch *s, const struct assay_msg *m)
{
    switch (m->type) {
    case ASSAY_MSG_RUN_TENSOR:
        BODY(s, run_tensor, RUN_TENSOR);
        s->u.run_tensor.tensor = m->u.run_tensor.tensor;
        s->u.run_tensor.total = m->u.run_tensor.total;
        s->u.run_tensor.offset = m->u.run_tensor.offset;
        break;
    case ASSAY_MSG_RUN_START: put_run_start(s, &m->u.run_start); break;
    case ASSAY_MSG_RUN_EXPECT: put_run_expect(s, &m->u.run_expect); break;
    case ASSAY_MSG_LAYER_BEGIN: put_layer_begin(s, &m->u.layer_begin); break;
    case ASSAY_MSG_CHUNK:
        BODY(s, chunk, CHUNK);
        s->u.chunk.run = m->u.chunk.run;
        s->u.chunk.layer = m->u.chunk.layer;
        s->u.chunk.offset = m->u.chunk.offset;
        s->u.chunk.digest = bin(m->u.chunk.digest, 16);
        break;
    case ASSAY_MSG_LAYER_END:
        BODY(s, layer_end, LAYER_END);
        s->u.layer_end.run = m->u.layer_end.run;
        s->u.layer_end.layer = m->u.layer_end.layer;
        s->u.layer_end.bytes = m->u.layer_end.bytes;
        s->u.layer_end.digest = bin(m->u.layer_end.digest, 16);
        s->u.layer_end.time_us = m->u.layer_end.time_us;
        break;
    case ASSAY_MSG_LAYER_MISSING:
        BODY(s, layer_missing, LAYER_MISSING);
        s->u.layer_missing.run = m->u.missing.run;
        s->u.layer_missing.layer = m->u.missing.layer;
        s->u.layer_missing.tensor = m->u.missing.tensor;
        break;
    case ASSAY_MSG_LAYER_PROBE: put_probe(s, &m->u.layer_probe); break;
    case ASSAY_MSG_LAYER_STATS: put_stats(s, &m->u.layer_stats); break;
    case ASSAY_MSG_LAYER_TILES: put_tiles(s, &m->u.layer_tiles); break;
    case ASSAY_MSG_RUN_END:
        BODY(s, run_end, RUN_END);
        s->u.run_end.run = m->u.run_end.run;
        s->u.run_end.layers_done = m->u.run_end.layers_done;
        s->u.run_end.layers_missing = m->u.run_end.layers_missing;
        s->u.run_end.bytes = m->u.run_end.bytes;
        s->u.run_end.time_us = m->u.run_end.time_us;
        if (m->u.run_end.error.code < 0)
            s->u.run_end.error = put_error(&s->error, &m->u.run_end.error);
        break;
    default: break;
    }
}

static void put_note(struct scratch *s, const struct assay_msg *m)
{
    switch (m->type) {
    case ASSAY_MSG_NOTE:
        BODY(s, note, NOTE);
        s->u.note.key = str(m->u.note.key);
        s->u.note.text = str(m->u.note.text);
        break;
    case ASSAY_MSG_NOTE_TENSOR:
        BODY(s, note_tensor, NOTE_TENSOR);
        s->u.note_tensor.kind = (uint32_t)m->u.note_tensor.kind;
        s->u.note_tensor.tensor = m->u.note_tensor.tensor;
        s->u.note_tensor.total = m->u.note_tensor.total;
        s->u.note_tensor.offset = m->u.note_tensor.offset;
        break;
    case ASSAY_MSG_NOTE_END:
        BODY(s, note_end, NOTE_END);
        s->u.note_end.frames = m->u.note_end.frames;
        s->u.note_end.digest = bin(m->u.note_end.digest, 16);
        break;
    default: break;
    }
}

int assay_msg_frame(struct assay_buf *out, const struct assay_msg *m,
                    bool from_agent, uint32_t sequence, struct assay_err *err)
{
    struct scratch s;
    size_t n;
    uint8_t *p;

    memset(&s, 0, sizeof(s));
    assay__pb__envelope__init(&s.env);
    put_session(&s, m);
    if (s.env.body_case == 0)
        put_flow(&s, m);
    if (s.env.body_case == 0)
        put_blobs(&s, m);
    if (s.env.body_case == 0)
        put_run(&s, m);
    if (s.env.body_case == 0)
        put_note(&s, m);
    assert((int)s.env.body_case == (int)m->type);

    n = assay__pb__envelope__get_packed_size(&s.env);
    if (n > ASSAY_HEADER_MAX)
        return assay_fail(err, ASSAY_ERANGE,
                          "message %s: header of %zu bytes exceeds the header "
                          "cap of %u",
                          assay_msg_name(m->type), n, ASSAY_HEADER_MAX);
    if (assay_buf_reserve(out, ASSAY_FRAME_PREFIX + n) < 0)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a message");
    p = out->data + out->len;
    assay__pb__envelope__pack(&s.env, p + ASSAY_FRAME_PREFIX);
    assay_frame_prefix(p, from_agent, sequence, p + ASSAY_FRAME_PREFIX,
                       (uint32_t)n, m->payload_bytes);
    out->len += ASSAY_FRAME_PREFIX + n;
    return 0;
}
