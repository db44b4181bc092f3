/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/codec.h"

#include <inttypes.h>
#include <string.h>

#include "lib/core/buf.h"
#include "proto/assay.pb-c.h"
#include "proto/codec_alloc.h"
#include "proto/codec_capture.h"
#include "proto/codec_info.h"

/* What an honest header may need when decoded: digests and texts come over
 * as they are, and what is many small fields (a probe) is small. */
#define DECODE_BUDGET(header_bytes) \
    ((size_t)256 * 1024 + (size_t)4 * (header_bytes))
#define OWNER_MAX 200
#define NOTE_KEY_MAX 64
#define NOTE_TEXT_MAX (64u * 1024)

struct owner {
    struct assay_codec_alloc alloc;
    Assay__Pb__Envelope *env;
};

const char *assay_msg_name(enum assay_msg_type type)
{
    switch (type) {
#define ASSAY_MESSAGE(name, number, sender) \
    case ASSAY_MSG_##name: \
        return #name;
#include "proto/messages.def"
#undef ASSAY_MESSAGE
    }
    return "?";
}

static bool sent_by_agent(enum assay_msg_type type)
{
    enum { CLIENT, AGENT };
    switch (type) {
#define ASSAY_MESSAGE(name, number, sender) \
    case ASSAY_MSG_##name: \
        return sender == AGENT;
#include "proto/messages.def"
#undef ASSAY_MESSAGE
    }
    return false;
}

static int bad_field(struct assay_err *err, enum assay_msg_type type,
                     const char *field, uint64_t found, const char *expected)
{
    return assay_fail(err, ASSAY_EPROTOCOL,
                      "message %s: field '%s' is %" PRIu64 ", expected %s",
                      assay_msg_name(type), field, found, expected);
}

static int get_digest(const ProtobufCBinaryData *in, uint8_t *out, size_t n,
                      enum assay_msg_type type, struct assay_err *err)
{
    if (in->len != n)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "message %s: digest has %zu bytes, expected %zu",
                          assay_msg_name(type), in->len, n);
    memcpy(out, in->data, n);
    return 0;
}

static int get_digests(const ProtobufCBinaryData *in,
                       struct assay_msg_digests *out, enum assay_msg_type type,
                       struct assay_err *err)
{
    if (in->len % ASSAY_SHA256_LEN != 0)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "message %s: digests have %zu bytes, expected a "
                          "multiple of %d",
                          assay_msg_name(type), in->len, ASSAY_SHA256_LEN);
    out->sha256 = in->data;
    out->n = in->len / ASSAY_SHA256_LEN;
    return 0;
}

/* A chunk that its total cannot hold is refused before anyone adds. */
static int check_chunk(uint64_t offset, uint64_t total, uint32_t payload,
                       enum assay_msg_type type, struct assay_err *err)
{
    if (offset > total || payload > total - offset)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "message %s: chunk of %u bytes at %" PRIu64
                          " exceeds its total of %" PRIu64,
                          assay_msg_name(type), payload, offset, total);
    if (payload == 0 && total != 0)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "message %s: chunk at %" PRIu64 " is empty",
                          assay_msg_name(type), offset);
    return 0;
}

static int get_error(const Assay__Pb__Error *in, struct assay_msg_error *out,
                     enum assay_msg_type type, struct assay_err *err)
{
    static const Assay__Pb__Error none = ASSAY__PB__ERROR__INIT;

    if (in == NULL)
        in = &none;
    if (in->code > 0 ||
        (in->code != 0 && assay_status_name(in->code)[0] == '?'))
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "message %s: unknown error code %d",
                          assay_msg_name(type), in->code);
    if (type == ASSAY_MSG_ERROR && in->code == 0)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "message ERROR: code 0 is not an error");
    *out = (struct assay_msg_error){
        .code = in->code,
        .text = in->text,
        .detail = in->detail,
        .has_layer = in->has_layer,
        .fatal = in->fatal,
        .layer = in->layer,
    };
    return 0;
}

static int get_lease(const Assay__Pb__LeaseAcquire *in,
                     struct assay_msg_lease *out, struct assay_err *err)
{
    size_t n = strlen(in->owner);

    if (n == 0 || n > OWNER_MAX)
        return bad_field(err, ASSAY_MSG_LEASE_ACQUIRE, "owner length", n,
                         "1..200");
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)in->owner[i];
        if (c < 0x20 || c == 0x7f)
            return bad_field(err, ASSAY_MSG_LEASE_ACQUIRE, "owner byte", c,
                             "no control bytes");
    }
    out->owner = in->owner;
    out->ttl_ms = in->ttl_ms;
    out->force = in->force;
    return 0;
}

static int get_run_start(const Assay__Pb__RunStart *in,
                         struct assay_msg_run_start *out, struct assay_err *err)
{
    if (in->mode != ASSAY__PB__RUN_MODE__RUN_MODE_CUMULATIVE &&
        in->mode != ASSAY__PB__RUN_MODE__RUN_MODE_ISOLATED)
        return bad_field(err, ASSAY_MSG_RUN_START, "mode",
                         (uint64_t)(uint32_t)in->mode,
                         "1 (cumulative) or 2 (isolated)");
    if (in->layers.len > ASSAY_MAX_LAYERS / 8)
        return bad_field(err, ASSAY_MSG_RUN_START, "layers length",
                         in->layers.len, "at most 8192 bytes");
    if (in->capture > ASSAY_CAPTURE_STATS)
        return bad_field(err, ASSAY_MSG_RUN_START, "capture", in->capture,
                         "0..3");
    *out = (struct assay_msg_run_start){
        .run = in->run,
        .capture = (enum assay_capture)in->capture,
        .isolated = in->mode == ASSAY__PB__RUN_MODE__RUN_MODE_ISOLATED,
        .layers = in->layers.len > 0 ? in->layers.data : NULL,
        .layers_bytes = in->layers.len,
        .cpumask = in->cpumask,
        .sample = in->sample,
        .layer_timeout_ms = in->layer_timeout_ms,
        .stall_timeout_ms = in->stall_timeout_ms,
        .credit = in->credit,
        .probe_work = in->probe_work,
    };
    return 0;
}

static int get_layer_begin(const Assay__Pb__LayerBegin *in,
                           struct assay_msg_layer_begin *out,
                           struct assay_err *err)
{
    if (in->n_dims > ASSAY_MAX_RANK)
        return bad_field(err, ASSAY_MSG_LAYER_BEGIN, "rank", in->n_dims,
                         "at most 10");
    if (in->dtype < ASSAY_S8 || in->dtype > ASSAY_S64)
        return bad_field(err, ASSAY_MSG_LAYER_BEGIN, "dtype", in->dtype,
                         "1..7");
    *out = (struct assay_msg_layer_begin){
        .run = in->run,
        .layer = in->layer,
        .tensor = in->tensor,
        .dtype = (enum assay_dtype)in->dtype,
        .rank = (uint32_t)in->n_dims,
        .bytes = in->bytes,
        .kernel = in->kernel,
    };
    for (size_t i = 0; i < in->n_dims; i++)
        out->dims[i] = in->dims[i];
    return 0;
}

static int bad_probe(struct assay_err *err, const char *field)
{
    return assay_fail(err, ASSAY_EPROTOCOL,
                      "message LAYER_PROBE: field '%s' is not as it has to be",
                      field);
}

/* Numbers that a byte does not hold become one that is refused. */
static uint8_t narrow(uint32_t v)
{
    return v > UINT8_MAX ? UINT8_MAX : (uint8_t)v;
}

static int get_facts(const Assay__Pb__LayerProbe *in, struct assay_probe *p,
                     struct assay_err *err)
{
    for (size_t i = 0; i < in->n_facts; i++) {
        uint32_t fact = in->facts[i]->fact;

        if (fact >= ASSAY_PROBE_FACTS)
            continue; /* of a newer agent */
        if ((p->facts >> fact & 1) != 0)
            return bad_probe(err, "facts");
        p->facts |= 1u << fact;
        p->fact[fact] = in->facts[i]->n;
    }
    return 0;
}

static int get_probe(const Assay__Pb__LayerProbe *in,
                     struct assay_msg_layer_probe *out, struct assay_err *err)
{
    struct assay_probe *p = &out->probe;
    const char *bad;

    if (in->n_steps > ASSAY_PROBE_STEPS)
        return bad_field(err, ASSAY_MSG_LAYER_PROBE, "steps", in->n_steps,
                         "at most 48");
    if (in->entries.len > sizeof(p->entries))
        return bad_field(err, ASSAY_MSG_LAYER_PROBE, "entries length",
                         in->entries.len, "0, 1 or 32");
    out->run = in->run;
    out->layer = in->layer;
    *p = (struct assay_probe){
        .values = in->values,
        .work = in->work,
        .has_sums = in->has_sums ? 1 : 0,
        .min = in->min,
        .max = in->max,
        .sums = {narrow(in->running_16), narrow(in->running_32),
                 narrow(in->pairs_16)},
        .n_entries = (uint32_t)in->entries.len * 8,
        .n_steps = (uint32_t)in->n_steps,
    };
    if (in->entries.len > 0)
        memcpy(p->entries, in->entries.data, in->entries.len);
    for (size_t i = 0; i < in->n_steps; i++) {
        const Assay__Pb__ProbeStep *s = in->steps[i];

        p->steps[i] = (struct assay_probe_step){.operand = narrow(s->operand),
                                                .step = narrow(s->step),
                                                .can = narrow(s->can),
                                                .ties = s->ties,
                                                .low = s->low,
                                                .high = s->high,
                                                .left = s->left};
    }
    if (get_facts(in, p, err) < 0)
        return ASSAY_EPROTOCOL;
    bad = assay_probe_bad_field(p);
    return bad != NULL ? bad_probe(err, bad) : 0;
}

static int get_note(const Assay__Pb__Note *in, struct assay_msg_note *out,
                    struct assay_err *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
    size_t key = strlen(in->key), text = strlen(in->text);

    if (key == 0 || key > NOTE_KEY_MAX || strspn(in->key, letters) != key)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "message NOTE: the key is expected to have 1..64 of "
                          "a-z 0-9 _ . -");
    if (text > NOTE_TEXT_MAX)
        return bad_field(err, ASSAY_MSG_NOTE, "text length", text,
                         "at most 65536");
    for (size_t i = 0; i < text; i++) {
        unsigned char c = (unsigned char)in->text[i];

        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
            return bad_field(err, ASSAY_MSG_NOTE, "text byte", c,
                             "no control bytes");
    }
    out->key = in->key;
    out->text = in->text;
    return 0;
}

static int get_notes(struct assay_msg *m, const Assay__Pb__Envelope *env,
                     struct assay_err *err)
{
    struct assay_msg_note_tensor *t = &m->u.note_tensor;

    switch (m->type) {
    case ASSAY_MSG_NOTE: return get_note(env->note, &m->u.note, err);
    case ASSAY_MSG_NOTE_TENSOR:
        if (env->note_tensor->kind < ASSAY_NOTE_EXPECTED ||
            env->note_tensor->kind > ASSAY_NOTE_GOT)
            return bad_field(err, m->type, "kind", env->note_tensor->kind,
                             "1 (expected) or 2 (got)");
        t->kind = (enum assay_note_kind)env->note_tensor->kind;
        t->tensor = env->note_tensor->tensor;
        t->total = env->note_tensor->total;
        t->offset = env->note_tensor->offset;
        return check_chunk(t->offset, t->total, m->payload_bytes, m->type, err);
    case ASSAY_MSG_NOTE_END:
        m->u.note_end.frames = env->note_end->frames;
        return get_digest(&env->note_end->digest, m->u.note_end.digest, 16,
                          m->type, err);
    default:
        return assay_fail(err, ASSAY_EINTERNAL, "message %s is not decoded",
                          assay_msg_name(m->type));
    }
}

static int get_results(struct assay_msg *m, const Assay__Pb__Envelope *env,
                       struct assay_err *err)
{
    switch (m->type) {
    case ASSAY_MSG_LAYER_BEGIN:
        return get_layer_begin(env->layer_begin, &m->u.layer_begin, err);
    case ASSAY_MSG_CHUNK:
        m->u.chunk.run = env->chunk->run;
        m->u.chunk.layer = env->chunk->layer;
        m->u.chunk.offset = env->chunk->offset;
        if (m->payload_bytes == 0)
            return bad_field(err, m->type, "payload", 0, "1..65536 bytes");
        return get_digest(&env->chunk->digest, m->u.chunk.digest, 16, m->type,
                          err);
    case ASSAY_MSG_LAYER_END:
        m->u.layer_end.run = env->layer_end->run;
        m->u.layer_end.layer = env->layer_end->layer;
        m->u.layer_end.bytes = env->layer_end->bytes;
        m->u.layer_end.time_us = env->layer_end->time_us;
        return get_digest(&env->layer_end->digest, m->u.layer_end.digest, 16,
                          m->type, err);
    case ASSAY_MSG_LAYER_MISSING:
        m->u.missing.run = env->layer_missing->run;
        m->u.missing.layer = env->layer_missing->layer;
        m->u.missing.tensor = env->layer_missing->tensor;
        return 0;
    case ASSAY_MSG_LAYER_PROBE:
        return get_probe(env->layer_probe, &m->u.layer_probe, err);
    case ASSAY_MSG_LAYER_STATS:
        return assay_codec_layer_stats(env->layer_stats, &m->u.layer_stats,
                                       err);
    case ASSAY_MSG_LAYER_TILES:
        return assay_codec_layer_tiles(env->layer_tiles, &m->u.layer_tiles,
                                       err);
    case ASSAY_MSG_RUN_END:
        m->u.run_end.run = env->run_end->run;
        m->u.run_end.layers_done = env->run_end->layers_done;
        m->u.run_end.layers_missing = env->run_end->layers_missing;
        m->u.run_end.bytes = env->run_end->bytes;
        m->u.run_end.time_us = env->run_end->time_us;
        return get_error(env->run_end->error, &m->u.run_end.error, m->type,
                         err);
    default: return get_notes(m, env, err);
    }
}

static int get_put(struct assay_msg *m, const Assay__Pb__Envelope *env,
                   struct assay_err *err)
{
    switch (m->type) {
    case ASSAY_MSG_BLOB_PUT:
        m->u.blob.total = env->blob_put->total;
        m->u.blob.offset = env->blob_put->offset;
        if (get_digest(&env->blob_put->sha256, m->u.blob.sha256,
                       ASSAY_SHA256_LEN, m->type, err) < 0)
            return ASSAY_EPROTOCOL;
        return check_chunk(m->u.blob.offset, m->u.blob.total, m->payload_bytes,
                           m->type, err);
    case ASSAY_MSG_BLOB_STORED:
        return get_digest(&env->blob_stored->sha256, m->u.blob.sha256,
                          ASSAY_SHA256_LEN, m->type, err);
    case ASSAY_MSG_SLICE_LOAD:
        return get_digest(&env->slice_load->sha256, m->u.blob.sha256,
                          ASSAY_SHA256_LEN, m->type, err);
    case ASSAY_MSG_SLICE_LOADED:
        m->u.loaded.layers = env->slice_loaded->layers;
        m->u.loaded.arena_bytes = env->slice_loaded->arena_bytes;
        m->u.loaded.packed_bytes = env->slice_loaded->packed_bytes;
        return 0;
    case ASSAY_MSG_RUN_TENSOR:
        m->u.run_tensor.tensor = env->run_tensor->tensor;
        m->u.run_tensor.total = env->run_tensor->total;
        m->u.run_tensor.offset = env->run_tensor->offset;
        return check_chunk(m->u.run_tensor.offset, m->u.run_tensor.total,
                           m->payload_bytes, m->type, err);
    default: return get_results(m, env, err);
    }
}

static int get_body(struct assay_msg *m, const Assay__Pb__Envelope *env,
                    struct assay_err *err)
{
    switch (m->type) {
    case ASSAY_MSG_HELLO:
        m->u.hello.version_min = env->hello->version_min;
        m->u.hello.version_max = env->hello->version_max;
        m->u.hello.build_id = env->hello->build_id;
        return 0;
    case ASSAY_MSG_HELLO_ACK:
        m->u.hello_ack.version = env->hello_ack->version;
        m->u.hello_ack.version_min = env->hello_ack->version_min;
        m->u.hello_ack.version_max = env->hello_ack->version_max;
        m->u.hello_ack.captures = env->hello_ack->captures;
        assay_codec_get_info(env->hello_ack->info, &m->u.hello_ack.info);
        return 0;
    case ASSAY_MSG_STATUS_REPLY:
        assay_codec_get_info(env->status_reply->info, &m->u.info);
        return 0;
    case ASSAY_MSG_LEASE_ACQUIRE:
        return get_lease(env->lease_acquire, &m->u.lease, err);
    case ASSAY_MSG_LEASE_GRANTED:
        m->u.lease.ttl_ms = env->lease_granted->ttl_ms;
        m->u.lease.taken_from = env->lease_granted->taken_from;
        return 0;
    case ASSAY_MSG_LEASE_RELEASE:
    case ASSAY_MSG_LEASE_RELEASED:
    case ASSAY_MSG_STATUS: return 0;
    case ASSAY_MSG_BLOB_QUERY:
        return get_digests(&env->blob_query->sha256, &m->u.digests, m->type,
                           err);
    case ASSAY_MSG_BLOB_MISSING:
        return get_digests(&env->blob_missing->sha256, &m->u.digests, m->type,
                           err);
    case ASSAY_MSG_RUN_START:
        return get_run_start(env->run_start, &m->u.run_start, err);
    case ASSAY_MSG_RUN_EXPECT:
        return assay_codec_run_expect(env->run_expect, &m->u.run_expect, err);
    case ASSAY_MSG_CREDIT: m->u.number = env->credit->bytes; return 0;
    case ASSAY_MSG_CANCEL: m->u.number = env->cancel->run; return 0;
    case ASSAY_MSG_SELF_TEST:
        m->u.number = env->self_test->memory_bytes;
        return 0;
    case ASSAY_MSG_SELF_TEST_REPLY:
        return assay_codec_get_self_test(env->self_test_reply, &m->u.self_test,
                                         err);
    case ASSAY_MSG_PING: m->u.number = env->ping->nonce; return 0;
    case ASSAY_MSG_PONG: m->u.number = env->pong->nonce; return 0;
    case ASSAY_MSG_ERROR:
        return get_error(env->error, &m->u.error, m->type, err);
    default: return get_put(m, env, err);
    }
}

/* Which messages may have bytes behind their header. */
static bool has_payload(enum assay_msg_type type)
{
    return type == ASSAY_MSG_BLOB_PUT || type == ASSAY_MSG_RUN_TENSOR ||
           type == ASSAY_MSG_CHUNK || type == ASSAY_MSG_NOTE_TENSOR;
}

static int check_envelope(const Assay__Pb__Envelope *env,
                          const struct assay_frame *f, struct assay_err *err)
{
    bool from_agent = (f->flags & ASSAY_FRAME_FROM_AGENT) != 0;
    enum assay_msg_type type = (enum assay_msg_type)env->body_case;

    if (env->body_case == ASSAY__PB__ENVELOPE__BODY__NOT_SET) {
        if (env->base.n_unknown_fields > 0)
            return assay_fail(err, ASSAY_EPROTOCOL,
                              "frame %u: unknown message number %u",
                              f->sequence, env->base.unknown_fields[0].tag);
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "frame %u: header holds no message", f->sequence);
    }
    if (sent_by_agent(type) != from_agent)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "message %s: sent by the %s, expected from the %s",
                          assay_msg_name(type), from_agent ? "agent" : "client",
                          from_agent ? "client" : "agent");
    if (f->payload_bytes > 0 && !has_payload(type))
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "message %s: payload of %u bytes, expected none",
                          assay_msg_name(type), f->payload_bytes);
    return 0;
}

static void owner_free(struct owner *o)
{
    if (o == NULL)
        return;
    if (o->env != NULL)
        assay__pb__envelope__free_unpacked(o->env, &o->alloc.pb);
    assay_free(o);
}

int assay_msg_decode(struct assay_msg *out, const struct assay_frame *frame,
                     struct assay_err *err)
{
    struct owner *o = assay_calloc(1, sizeof(*o));
    struct assay_msg m = {0};
    int rc;

    if (o == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a message");
    assay_codec_alloc_init(&o->alloc, DECODE_BUDGET(frame->header_bytes));
    o->env = assay__pb__envelope__unpack(&o->alloc.pb, frame->header_bytes,
                                         frame->header);
    if (o->env == NULL) {
        rc = assay_fail(err, o->alloc.starved ? ASSAY_EMEMORY : ASSAY_EPROTOCOL,
                        o->alloc.starved
                            ? "frame %u: no memory for a header of %u bytes"
                        : o->alloc.refused
                            ? "frame %u: header of %u bytes needs more memory "
                              "than a message may"
                            : "frame %u: header of %u bytes is not a protobuf "
                              "message",
                        frame->sequence, frame->header_bytes);
        goto fail;
    }
    rc = check_envelope(o->env, frame, err);
    if (rc < 0)
        goto fail;
    m.type = (enum assay_msg_type)o->env->body_case;
    m.payload = frame->payload;
    m.payload_bytes = frame->payload_bytes;
    rc = get_body(&m, o->env, err);
    if (rc < 0)
        goto fail;
    m.owner = o;
    *out = m;
    return 0;
fail:
    owner_free(o);
    return rc;
}

void assay_msg_close(struct assay_msg *m)
{
    if (m == NULL)
        return;
    owner_free(m->owner);
    m->owner = NULL;
}
