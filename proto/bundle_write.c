/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "proto/bundle.h"
#include "proto/version.h"

#define NOTE_TEXT_MAX (64u * 1024)

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for a bundle");
}

/* One frame with its payload, and its digest. */
static int put(struct assay_bundle_writer *w, struct assay_msg *m,
               const void *payload, size_t n, struct assay_err *err)
{
    size_t at = w->out->len;
    uint8_t digest[16];
    int rc;

    m->payload_bytes = (uint32_t)n;
    rc = assay_msg_frame(w->out, m, false, w->frames, err);
    if (rc < 0)
        return rc;
    if (n > 0 && assay_buf_append(w->out, payload, n) < 0)
        return no_memory(err);
    assay_xxh128(w->out->data + at, w->out->len - at, digest);
    if (assay_buf_append(&w->digests, digest, sizeof(digest)) < 0)
        return no_memory(err);
    w->frames++;
    return 0;
}

/* Bytes in chunks; *offset is the message's own field. */
static int put_chunks(struct assay_bundle_writer *w, struct assay_msg *m,
                      uint64_t *offset, const void *data, size_t bytes,
                      struct assay_err *err)
{
    size_t at = 0;
    int rc;

    do {
        size_t n = bytes - at < ASSAY_CHUNK_MAX ? bytes - at : ASSAY_CHUNK_MAX;

        *offset = at;
        rc = put(w, m, (const uint8_t *)data + at, n, err);
        at += n;
    } while (rc == 0 && at < bytes);
    return rc;
}

int assay_bundle_begin(struct assay_bundle_writer *w, struct assay_buf *out,
                       const char *build_id, struct assay_err *err)
{
    struct assay_msg m = {.type = ASSAY_MSG_HELLO};

    memset(w, 0, sizeof(*w));
    w->out = out;
    assay_buf_init(&w->digests);
    m.u.hello.version_min = ASSAY_PROTOCOL_MIN;
    m.u.hello.version_max = ASSAY_PROTOCOL_MAX;
    m.u.hello.build_id = build_id;
    return put(w, &m, NULL, 0, err);
}

int assay_bundle_note(struct assay_bundle_writer *w, const char *key,
                      const char *text, struct assay_err *err)
{
    struct assay_msg m = {.type = ASSAY_MSG_NOTE};
    size_t n = strlen(text);
    char *clean;
    int rc;

    if (n > NOTE_TEXT_MAX)
        n = NOTE_TEXT_MAX;
    clean = assay_alloc(n + 1);
    if (clean == NULL)
        return no_memory(err);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        bool control = (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f;

        clean[i] = control ? ' ' : text[i];
    }
    clean[n] = '\0';
    m.u.note.key = key;
    m.u.note.text = clean;
    rc = put(w, &m, NULL, 0, err);
    assay_free(clean);
    return rc;
}

static int put_blob(struct assay_bundle_writer *w,
                    const uint8_t sha256[ASSAY_SHA256_LEN], const void *data,
                    size_t n, struct assay_err *err)
{
    struct assay_msg m = {.type = ASSAY_MSG_BLOB_PUT};

    memcpy(m.u.blob.sha256, sha256, ASSAY_SHA256_LEN);
    m.u.blob.total = n;
    return put_chunks(w, &m, &m.u.blob.offset, data, n, err);
}

/* Constants that are the same bytes are written once. */
static int put_constants(struct assay_bundle_writer *w, struct assay_slice *s,
                         struct assay_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; i < s->n_tensors && rc == 0; i++) {
        struct assay_tensor *t = &s->tensors[i];
        bool known = false;

        if (t->role != ASSAY_ROLE_CONSTANT)
            continue;
        assay_sha256(t->data, t->size, t->sha256);
        for (uint32_t k = 0; k < i && !known; k++)
            known =
                s->tensors[k].role == ASSAY_ROLE_CONSTANT &&
                memcmp(s->tensors[k].sha256, t->sha256, ASSAY_SHA256_LEN) == 0;
        if (!known)
            rc = put_blob(w, t->sha256, t->data, t->size, err);
    }
    return rc;
}

int assay_bundle_slice(struct assay_bundle_writer *w, struct assay_slice *s,
                       struct assay_err *err)
{
    struct assay_msg m = {.type = ASSAY_MSG_SLICE_LOAD};
    struct assay_buf text;
    int rc = put_constants(w, s, err);

    assay_buf_init(&text);
    if (rc == 0)
        rc = assay_slice_encode(s, &text, err);
    if (rc == 0) {
        assay_sha256(text.data, text.len, m.u.blob.sha256);
        rc = put_blob(w, m.u.blob.sha256, text.data, text.len, err);
    }
    if (rc == 0)
        rc = put(w, &m, NULL, 0, err);
    assay_buf_close(&text);
    return rc;
}

int assay_bundle_tensor(struct assay_bundle_writer *w,
                        enum assay_bundle_kind kind, uint32_t tensor,
                        const void *data, size_t bytes, struct assay_err *err)
{
    struct assay_msg m = {.type = ASSAY_MSG_RUN_TENSOR};

    if (kind == ASSAY_BUNDLE_INPUT) {
        m.u.run_tensor.tensor = tensor;
        m.u.run_tensor.total = bytes;
        return put_chunks(w, &m, &m.u.run_tensor.offset, data, bytes, err);
    }
    m.type = ASSAY_MSG_NOTE_TENSOR;
    m.u.note_tensor.kind = (enum assay_note_kind)kind;
    m.u.note_tensor.tensor = tensor;
    m.u.note_tensor.total = bytes;
    return put_chunks(w, &m, &m.u.note_tensor.offset, data, bytes, err);
}

int assay_bundle_run(struct assay_bundle_writer *w, uint32_t number,
                     struct assay_err *err)
{
    struct assay_msg m = {.type = ASSAY_MSG_RUN_START};

    m.u.run_start.run = number + 1;
    m.u.run_start.sample = number;
    m.u.run_start.cpumask = ~0u;
    return put(w, &m, NULL, 0, err);
}

int assay_bundle_end(struct assay_bundle_writer *w, struct assay_err *err)
{
    struct assay_msg m = {.type = ASSAY_MSG_NOTE_END};

    m.u.note_end.frames = w->frames;
    assay_xxh128(w->digests.data, w->digests.len, m.u.note_end.digest);
    return put(w, &m, NULL, 0, err);
}

void assay_bundle_close(struct assay_bundle_writer *w)
{
    assay_buf_close(&w->digests);
}
