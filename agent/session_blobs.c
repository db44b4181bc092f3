/* SPDX-License-Identifier: Apache-2.0 */
/* Constants, the slice and the tensors of the next run. A sequence of chunks
 * has one answer, behind its last one: an error waits until then. */
#include <inttypes.h>
#include <string.h>

#include "agent/log.h"
#include "agent/session.h"
#include "lib/core/buf.h"

void assay_session_on_query(struct assay_session *s, struct assay_msg *m)
{
    struct assay_msg answer = {.type = ASSAY_MSG_BLOB_MISSING};
    struct assay_err err = {0};
    struct assay_buf missing;
    int rc = 0;

    assay_buf_init(&missing);
    for (size_t i = 0; i < m->u.digests.n && rc == 0; i++) {
        const uint8_t *sha = m->u.digests.sha256 + i * ASSAY_SHA256_LEN;
        size_t size;

        if (assay_blobs_find(s->agent->blobs, sha, &size) == NULL)
            rc = assay_buf_append(&missing, sha, ASSAY_SHA256_LEN);
    }
    if (rc < 0) {
        assay_fail(&err, ASSAY_EMEMORY, "no memory for %zu digests",
                   m->u.digests.n);
        assay_session_refuse(s, &err);
    } else {
        answer.u.digests.sha256 = missing.data;
        answer.u.digests.n = missing.len / ASSAY_SHA256_LEN;
        assay_session_send(s, &answer);
    }
    assay_buf_close(&missing);
}

void assay_session_drop_upload(struct assay_session *s)
{
    if (s->upload.data != NULL) {
        assay_free(s->upload.data);
        assay_budget_give(s->agent->blobs, s->upload.total);
    }
    memset(&s->upload, 0, sizeof(s->upload));
}

static void begin_upload(struct assay_session *s,
                         const struct assay_msg_blob *b)
{
    struct assay_upload *u = &s->upload;

    u->active = true;
    u->begun_ms = uv_now(&s->agent->loop);
    u->total = b->total;
    memcpy(u->sha256, b->sha256, ASSAY_SHA256_LEN);
    if (assay_budget_take(s->agent->blobs, b->total, "constant", &u->err) < 0)
        return;
    u->data = assay_alloc((size_t)b->total + 1);
    if (u->data == NULL) {
        assay_budget_give(s->agent->blobs, b->total);
        assay_fail(&u->err, ASSAY_EMEMORY,
                   "no memory for a constant of %" PRIu64 " bytes", b->total);
    }
}

static void end_upload(struct assay_session *s)
{
    struct assay_msg answer = {.type = ASSAY_MSG_BLOB_STORED};
    struct assay_upload *u = &s->upload;
    struct assay_err err = u->err;
    uint8_t found[ASSAY_SHA256_LEN];
    char want_hex[17], found_hex[17];

    memcpy(answer.u.blob.sha256, u->sha256, ASSAY_SHA256_LEN);
    if (err.code == 0) {
        assay_sha256(u->data, (size_t)u->total, found);
        if (memcmp(found, u->sha256, ASSAY_SHA256_LEN) != 0) {
            assay_hex(u->sha256, 8, want_hex);
            assay_hex(found, 8, found_hex);
            assay_fail(&err, ASSAY_EPROTOCOL,
                       "constant of %" PRIu64 " bytes has sha256:%s…, "
                       "expected sha256:%s…",
                       u->total, found_hex, want_hex);
        } else if (assay_blobs_put(s->agent->blobs, u->sha256, u->data,
                                   (size_t)u->total, &err) == 0) {
            u->data = NULL;
        } else {
            u->data = NULL; /* put released it */
        }
    }
    assay_session_drop_upload(s);
    if (err.code == 0)
        assay_session_send(s, &answer);
    else
        assay_session_refuse(s, &err);
}

void assay_session_on_put(struct assay_session *s, struct assay_msg *m)
{
    const struct assay_msg_blob *b = &m->u.blob;
    struct assay_upload *u = &s->upload;
    struct assay_err err = {0};

    if (!u->active)
        begin_upload(s, b);
    if (memcmp(u->sha256, b->sha256, ASSAY_SHA256_LEN) != 0 ||
        u->total != b->total || u->received != b->offset) {
        assay_fail(&err, ASSAY_EPROTOCOL,
                   "constant: chunk at %" PRIu64 " of %" PRIu64
                   ", expected at %" PRIu64 " of %" PRIu64
                   " of the one that was begun",
                   b->offset, b->total, u->received, u->total);
        assay_session_fatal(s, &err);
        return;
    }
    if (u->data != NULL)
        memcpy(u->data + u->received, m->payload, m->payload_bytes);
    u->received += m->payload_bytes;
    if (u->received == u->total)
        end_upload(s);
}

static void log_load(const struct assay_session *s,
                     const uint8_t sha256[ASSAY_SHA256_LEN])
{
    char hex[2 * 8 + 1], model[ASSAY_LOG_TEXT];

    assay_hex(sha256, 8, hex);
    assay_log(ASSAY_LOG_INFO, "load session=%u slice=%s layers=%u model=%s",
              s->number, hex, s->loaded->slice->n_layers,
              assay_log_quote(s->loaded->slice->model_name, model));
}

void assay_session_on_load(struct assay_session *s, struct assay_msg *m)
{
    struct assay_msg answer = {.type = ASSAY_MSG_SLICE_LOADED};
    struct assay_err err = {0};
    int rc;

    assay_loaded_close(s->loaded);
    s->loaded = NULL;
    s->given_err = (struct assay_err){0};
    s->inputs_ms = 0;
    rc = assay_loaded_open(&s->loaded, s->agent->blobs, m->u.blob.sha256,
                           s->agent->cpu_flags, &err);
    if (rc < 0) {
        assay_session_enter(s, ASSAY_SESSION_LEASED);
        assay_session_refuse(s, &err);
        return;
    }
    answer.u.loaded.layers = s->loaded->slice->n_layers;
    answer.u.loaded.arena_bytes = assay_plan_arena_bytes(s->loaded->plan);
    answer.u.loaded.packed_bytes = assay_plan_packed_bytes(s->loaded->plan);
    log_load(s, m->u.blob.sha256);
    assay_session_enter(s, ASSAY_SESSION_LOADED);
    assay_session_send(s, &answer);
}

static void inputs_begin(struct assay_session *s)
{
    if (s->inputs_ms == 0)
        s->inputs_ms = uv_now(&s->agent->loop) + 1; /* never 0 */
}

void assay_session_on_tensor(struct assay_session *s, struct assay_msg *m)
{
    inputs_begin(s);
    if (s->given_err.code == 0 &&
        assay_loaded_give(s->loaded, &m->u.run_tensor, m->payload,
                          m->payload_bytes, &s->given_err) < 0 &&
        s->given_err.code == 0)
        s->given_err.code = ASSAY_EINTERNAL;
}

void assay_session_on_expect(struct assay_session *s, struct assay_msg *m)
{
    inputs_begin(s);
    if (s->given_err.code == 0 &&
        assay_loaded_expect(s->loaded, &m->u.run_expect, &s->given_err) < 0 &&
        s->given_err.code == 0)
        s->given_err.code = ASSAY_EINTERNAL;
}

void assay_session_on_credit(struct assay_session *s, struct assay_msg *m)
{
    if (s->stream != NULL)
        assay_stream_credit(s->stream, m->u.number);
}

void assay_session_on_cancel(struct assay_session *s, struct assay_msg *m)
{
    if (s->stream != NULL)
        assay_stream_cancel(s->stream, (uint32_t)m->u.number);
}
