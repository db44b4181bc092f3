/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proto/bundle.h"
#include "proto/version.h"

#define PUSH_BYTES ((size_t)256 * 1024)

struct blob {
    uint8_t sha256[ASSAY_SHA256_LEN];
    const void *data;
    size_t size;
};

/* Chunks of one blob or tensor that are still to come. */
struct pending {
    enum assay_msg_type type; /* 0: none */
    uint8_t sha256[ASSAY_SHA256_LEN];
    enum assay_bundle_kind kind;
    uint32_t tensor;
    uint8_t *data;
    uint64_t total, offset;
};

struct reader {
    struct assay_bundle *b;
    struct assay_buf blobs;            /* struct blob */
    struct assay_buf samples;          /* struct assay_bundle_sample */
    struct assay_buf notes;            /* struct assay_bundle_note */
    struct assay_buf digests;          /* of frames, 16 bytes each */
    struct assay_bundle_sample sample; /* under way */
    struct pending pending;
    size_t n;          /* bytes of all */
    size_t at;         /* first byte of the frame */
    uint64_t frames;   /* before it */
    bool hello, ended; /* HELLO came; NOTE_END came */
    struct assay_err *err;
};

static int no_memory(struct reader *r)
{
    return assay_fail(r->err, ASSAY_EMEMORY, "no memory for a bundle");
}

static int refuse(struct reader *r, const char *what)
{
    return assay_fail(r->err, ASSAY_EFORMAT, "%s", what);
}

static size_t count(const struct assay_buf *b, size_t width)
{
    return b->len / width;
}

static int by_digest(const void *p, const void *q)
{
    const struct blob *a = p, *b = q;

    return memcmp(a->sha256, b->sha256, ASSAY_SHA256_LEN);
}

static const void *find_blob(void *self, const uint8_t sha256[ASSAY_SHA256_LEN],
                             size_t *size)
{
    const struct assay_buf *blobs = self;
    const struct blob *b = NULL;

    if (blobs->len > 0)
        b = bsearch(sha256, blobs->data, count(blobs, sizeof(*b)), sizeof(*b),
                    by_digest);
    if (b == NULL)
        return NULL;
    *size = b->size;
    return b->data;
}

/* ---- chunks --------------------------------------------------------------- */

static bool same_object(const struct pending *a, const struct pending *b)
{
    return a->type == b->type && a->total == b->total &&
           (a->type == ASSAY_MSG_BLOB_PUT
                ? memcmp(a->sha256, b->sha256, ASSAY_SHA256_LEN) == 0
                : a->kind == b->kind && a->tensor == b->tensor);
}

static int blob_done(struct reader *r, const struct pending *p)
{
    struct blob b = {.data = p->data, .size = (size_t)p->total};

    assay_sha256(p->data, b.size, b.sha256);
    if (memcmp(b.sha256, p->sha256, ASSAY_SHA256_LEN) != 0)
        return refuse(r, "the bytes of a constant do not have its SHA-256");
    return assay_buf_append(&r->blobs, &b, sizeof(b)) < 0 ? no_memory(r) : 0;
}

static int tensor_done(struct reader *r, const struct pending *p)
{
    const void ***values = &r->sample.values[p->kind];

    if (*values == NULL)
        *values = assay_arena_array(r->b->memory, r->b->slice->n_tensors,
                                    sizeof(**values));
    if (*values == NULL)
        return no_memory(r);
    if ((*values)[p->tensor] != NULL)
        return assay_fail(r->err, ASSAY_EFORMAT,
                          "tensor %u is there twice in one sample", p->tensor);
    (*values)[p->tensor] = p->data;
    return 0;
}

/* Is there such a tensor, and are these its bytes? */
static int check_tensor(struct reader *r, const struct pending *p)
{
    const struct assay_tensor *t;
    size_t elements, bytes;
    int rc;

    if (r->b->slice == NULL)
        return refuse(r, "a tensor comes before the slice");
    if (p->tensor >= r->b->slice->n_tensors)
        return assay_fail(r->err, ASSAY_EFORMAT,
                          "tensor %u is not of the slice, which has %u",
                          p->tensor, r->b->slice->n_tensors);
    t = &r->b->slice->tensors[p->tensor];
    rc = assay_tensor_count(t, &elements, &bytes, r->err);
    if (rc == 0 && (p->total != bytes || t->role == ASSAY_ROLE_CONSTANT))
        rc = assay_fail(r->err, ASSAY_EFORMAT,
                        "tensor %u '%.100s' has %" PRIu64
                        " bytes, its shape and type need %zu",
                        p->tensor, t->name, p->total, bytes);
    return rc;
}

static int begin_object(struct reader *r, const struct pending *p)
{
    int rc = p->type == ASSAY_MSG_BLOB_PUT ? 0 : check_tensor(r, p);

    if (rc < 0)
        return rc;
    if (p->type == ASSAY_MSG_BLOB_PUT && r->b->slice != NULL)
        return refuse(r, "a constant comes behind the slice");
    /* All its bytes are in what is left: nobody gets memory for less. */
    if (p->total > r->n - r->at)
        return assay_fail(r->err, ASSAY_EFORMAT,
                          "%" PRIu64 " bytes are announced, %zu are left",
                          p->total, r->n - r->at);
    r->pending = *p;
    r->pending.data = assay_arena_alloc(r->b->memory, (size_t)p->total + 1);
    r->pending.offset = 0;
    return r->pending.data == NULL ? no_memory(r) : 0;
}

static int take_chunk(struct reader *r, const struct pending *now,
                      const struct assay_msg *m)
{
    struct pending *p = &r->pending;
    int rc = 0;

    if (p->type == 0)
        rc = begin_object(r, now);
    if (rc < 0)
        return rc;
    if (!same_object(p, now) || now->offset != p->offset)
        return assay_fail(r->err, ASSAY_EFORMAT,
                          "a chunk at %" PRIu64
                          " is out of order, expected the one at %" PRIu64
                          " of %" PRIu64 " bytes",
                          now->offset, p->offset, p->total);
    if (m->payload_bytes > 0)
        memcpy(p->data + p->offset, m->payload, m->payload_bytes);
    p->offset += m->payload_bytes;
    if (p->offset < p->total)
        return 0;
    rc = p->type == ASSAY_MSG_BLOB_PUT ? blob_done(r, p) : tensor_done(r, p);
    memset(p, 0, sizeof(*p));
    return rc;
}

static int take_blob(struct reader *r, const struct assay_msg *m)
{
    struct pending now = {
        .type = m->type, .total = m->u.blob.total, .offset = m->u.blob.offset};

    memcpy(now.sha256, m->u.blob.sha256, ASSAY_SHA256_LEN);
    return take_chunk(r, &now, m);
}

static int take_tensor(struct reader *r, const struct assay_msg *m)
{
    struct pending now = {.type = m->type};

    if (m->type == ASSAY_MSG_RUN_TENSOR) {
        now.kind = ASSAY_BUNDLE_INPUT;
        now.tensor = m->u.run_tensor.tensor;
        now.total = m->u.run_tensor.total;
        now.offset = m->u.run_tensor.offset;
    } else {
        now.kind = (enum assay_bundle_kind)m->u.note_tensor.kind;
        now.tensor = m->u.note_tensor.tensor;
        now.total = m->u.note_tensor.total;
        now.offset = m->u.note_tensor.offset;
    }
    return take_chunk(r, &now, m);
}

/* ---- messages ------------------------------------------------------------- */

static char *keep_text(struct reader *r, const char *s)
{
    return assay_arena_str(r->b->memory, s, strlen(s));
}

static int take_hello(struct reader *r, const struct assay_msg *m)
{
    const struct assay_msg_hello *h = &m->u.hello;

    if (r->hello)
        return refuse(r, "a second HELLO");
    if (h->version_min > ASSAY_PROTOCOL_MAX ||
        h->version_max < ASSAY_PROTOCOL_MIN)
        return assay_fail(r->err, ASSAY_EVERSION,
                          "the bundle speaks protocol %u..%u, this build "
                          "%u..%u: %s",
                          h->version_min, h->version_max, ASSAY_PROTOCOL_MIN,
                          ASSAY_PROTOCOL_MAX,
                          h->version_min > ASSAY_PROTOCOL_MAX
                              ? "update assay"
                              : "write it anew with this build");
    r->hello = true;
    r->b->build_id = keep_text(r, h->build_id);
    return r->b->build_id == NULL ? no_memory(r) : 0;
}

static int take_note(struct reader *r, const struct assay_msg *m)
{
    struct assay_bundle_note note;

    if (count(&r->notes, sizeof(note)) == ASSAY_BUNDLE_NOTES)
        return assay_fail(r->err, ASSAY_EFORMAT, "more than %d notes",
                          ASSAY_BUNDLE_NOTES);
    note.key = keep_text(r, m->u.note.key);
    note.text = keep_text(r, m->u.note.text);
    if (note.key == NULL || note.text == NULL ||
        assay_buf_append(&r->notes, &note, sizeof(note)) < 0)
        return no_memory(r);
    return 0;
}

static int take_slice(struct reader *r, const struct assay_msg *m)
{
    const struct assay_blob_source source = {&r->blobs, find_blob};
    const void *text;
    size_t n;

    if (r->b->slice != NULL)
        return refuse(r, "a second slice");
    if (r->blobs.len > 0)
        qsort(r->blobs.data, count(&r->blobs, sizeof(struct blob)),
              sizeof(struct blob), by_digest);
    text = find_blob(&r->blobs, m->u.blob.sha256, &n);
    if (text == NULL)
        return refuse(r, "the slice's description is not there");
    return assay_slice_decode(&r->b->slice, text, n, &source, 0, r->err);
}

static int take_run(struct reader *r, const struct assay_msg *m)
{
    uint32_t n = r->b->slice != NULL ? r->b->slice->n_tensors : 0;

    if (r->b->slice == NULL)
        return refuse(r, "a run comes before the slice");
    if (count(&r->samples, sizeof(r->sample)) == ASSAY_BUNDLE_SAMPLES)
        return assay_fail(r->err, ASSAY_EFORMAT, "more than %d samples",
                          ASSAY_BUNDLE_SAMPLES);
    for (unsigned k = 0; k < ASSAY_BUNDLE_KINDS; k++) {
        if (r->sample.values[k] != NULL)
            continue;
        r->sample.values[k] =
            assay_arena_array(r->b->memory, n + 1u, sizeof(void *));
        if (r->sample.values[k] == NULL)
            return no_memory(r);
    }
    r->sample.number = m->u.run_start.sample;
    if (assay_buf_append(&r->samples, &r->sample, sizeof(r->sample)) < 0)
        return no_memory(r);
    memset(&r->sample, 0, sizeof(r->sample));
    return 0;
}

static bool sample_open(const struct reader *r)
{
    for (unsigned k = 0; k < ASSAY_BUNDLE_KINDS; k++) {
        if (r->sample.values[k] != NULL)
            return true;
    }
    return false;
}

static int take_end(struct reader *r, const struct assay_msg *m)
{
    uint8_t digest[16];

    if (m->u.note_end.frames != r->frames)
        return assay_fail(r->err, ASSAY_EFORMAT,
                          "the end counts %" PRIu64 " frames, found %" PRIu64,
                          m->u.note_end.frames, r->frames);
    assay_xxh128(r->digests.data, r->digests.len, digest);
    if (memcmp(digest, m->u.note_end.digest, sizeof(digest)) != 0)
        return refuse(r, "the digest over all frames does not fit: the file "
                         "was changed");
    if (r->b->slice == NULL)
        return refuse(r, "there is no slice");
    if (sample_open(r))
        return refuse(r, "tensors without a run behind them");
    r->ended = true;
    return 0;
}

static int take_message(struct reader *r, const struct assay_msg *m)
{
    if (r->ended)
        return refuse(r, "a frame behind the end");
    if (!r->hello && m->type != ASSAY_MSG_HELLO)
        return assay_fail(r->err, ASSAY_EFORMAT,
                          "message %s comes first, expected HELLO",
                          assay_msg_name(m->type));
    if (r->pending.type != 0 && m->type != r->pending.type)
        return assay_fail(
            r->err, ASSAY_EFORMAT, "message %s comes among the chunks of a %s",
            assay_msg_name(m->type), assay_msg_name(r->pending.type));
    switch (m->type) {
    case ASSAY_MSG_HELLO: return take_hello(r, m);
    case ASSAY_MSG_NOTE: return take_note(r, m);
    case ASSAY_MSG_BLOB_PUT: return take_blob(r, m);
    case ASSAY_MSG_SLICE_LOAD: return take_slice(r, m);
    case ASSAY_MSG_RUN_TENSOR:
    case ASSAY_MSG_NOTE_TENSOR: return take_tensor(r, m);
    case ASSAY_MSG_RUN_START: return take_run(r, m);
    case ASSAY_MSG_NOTE_END: return take_end(r, m);
    default:
        return assay_fail(r->err, ASSAY_EFORMAT,
                          "message %s has no place in a bundle",
                          assay_msg_name(m->type));
    }
}

/* ---- frames --------------------------------------------------------------- */

static int take_frame(struct reader *r, const struct assay_frame *f)
{
    size_t bytes =
        ASSAY_FRAME_PREFIX + (size_t)f->header_bytes + f->payload_bytes;
    struct assay_msg m;
    uint8_t digest[16];
    int rc = assay_msg_decode(&m, f, r->err);

    if (rc < 0)
        return rc;
    rc = take_message(r, &m);
    assay_msg_close(&m);
    if (rc < 0)
        return rc;
    assay_xxh128(f->header - ASSAY_FRAME_PREFIX, bytes, digest);
    if (assay_buf_append(&r->digests, digest, sizeof(digest)) < 0)
        return no_memory(r);
    r->frames++;
    r->at += bytes;
    return 0;
}

static int read_frames(struct reader *r, const uint8_t *data)
{
    struct assay_frame_decoder d;
    struct assay_frame f;
    size_t pushed = 0;
    int rc = 0;

    assay_frame_decoder_init(&d, false);
    while (rc >= 0 && pushed < r->n) {
        size_t n = r->n - pushed < PUSH_BYTES ? r->n - pushed : PUSH_BYTES;

        rc = assay_frame_push(&d, data + pushed, n, r->err);
        pushed += n;
        while (rc >= 0 && (rc = assay_frame_next(&d, &f, r->err)) == 1)
            rc = take_frame(r, &f);
    }
    assay_frame_decoder_close(&d);
    if (rc >= 0 && (r->at != r->n || !r->ended))
        rc = assay_fail(r->err, ASSAY_EFORMAT,
                        r->at != r->n ? "a frame is cut: %zu of %zu bytes read"
                                      : "the end is missing: %zu of %zu bytes "
                                        "read, the file was cut",
                        r->at, r->n);
    return rc < 0 ? rc : 0;
}

static int keep_lists(struct reader *r)
{
    struct assay_bundle *b = r->b;

    b->n_samples = (uint32_t)count(&r->samples, sizeof(*b->samples));
    b->n_notes = (uint32_t)count(&r->notes, sizeof(*b->notes));
    b->samples = assay_arena_copy(b->memory, r->samples.data, r->samples.len);
    b->notes = assay_arena_copy(b->memory, r->notes.data, r->notes.len);
    if ((b->n_samples > 0 && b->samples == NULL) ||
        (b->n_notes > 0 && b->notes == NULL))
        return no_memory(r);
    return 0;
}

bool assay_bundle_probe(const uint8_t *head, size_t n)
{
    return n >= 4 && memcmp(head, "ASY1", 4) == 0;
}

/* What the doors say of a peer is said of a file here. */
static int of_file(const struct reader *r, int rc)
{
    if (rc != ASSAY_EMEMORY && rc != ASSAY_EVERSION)
        rc = r->err->code = ASSAY_EFORMAT;
    (void)assay_err_prefix(r->err, "at byte %zu", r->at);
    return rc;
}

int assay_bundle_read(struct assay_bundle **out, const void *data, size_t n,
                      struct assay_err *err)
{
    struct assay_err local = {0};
    struct reader r = {.n = n, .err = err != NULL ? err : &local};
    int rc = 0;

    assay_buf_init(&r.blobs);
    assay_buf_init(&r.samples);
    assay_buf_init(&r.notes);
    assay_buf_init(&r.digests);
    r.b = assay_calloc(1, sizeof(*r.b));
    if (r.b != NULL)
        r.b->memory = assay_arena_new();
    if (r.b == NULL || r.b->memory == NULL)
        rc = no_memory(&r);
    if (rc == 0)
        rc = read_frames(&r, data);
    if (rc == 0)
        rc = keep_lists(&r);
    if (rc < 0)
        rc = of_file(&r, rc);
    assay_buf_close(&r.blobs);
    assay_buf_close(&r.samples);
    assay_buf_close(&r.notes);
    assay_buf_close(&r.digests);
    if (rc < 0)
        assay_bundle_free(r.b);
    else
        *out = r.b;
    return rc;
}

void assay_bundle_free(struct assay_bundle *b)
{
    if (b == NULL)
        return;
    assay_slice_free(b->slice);
    assay_arena_free(b->memory);
    assay_free(b);
}

const char *assay_bundle_text(const struct assay_bundle *b, const char *key)
{
    for (uint32_t i = 0; i < b->n_notes; i++) {
        if (strcmp(b->notes[i].key, key) == 0)
            return b->notes[i].text;
    }
    return "";
}
