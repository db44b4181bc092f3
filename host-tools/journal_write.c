/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/journal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define MOST ((uint64_t)2 << 30) /* bytes of a journal */

int assay_journal_create(struct assay_journal_writer *w, const char *path,
                         uint32_t n_layers, struct assay_err *err)
{
    *w = (struct assay_journal_writer){.n_layers = n_layers};
    w->f = fopen(path, "wb");
    if (w->f == NULL)
        return assay_fail(err, ASSAY_EIO, "cannot write '%.400s': %s", path,
                          strerror(errno));
    return 0;
}

void assay_journal_close(struct assay_journal_writer *w)
{
    if (w->f != NULL)
        fclose(w->f); /* what is not in the file was not promised */
    w->f = NULL;
}

static int put_frame(struct assay_journal_writer *w, const struct assay_msg *m,
                     bool from_agent, const void *payload,
                     struct assay_err *err)
{
    struct assay_buf head;
    int rc;

    assay_buf_init(&head);
    rc = assay_msg_frame(&head, m, from_agent, w->sequence[from_agent], err);
    if (rc == 0 && w->bytes + head.len + m->payload_bytes > MOST)
        rc = assay_fail(err, ASSAY_EIO,
                        "more than %" PRIu64 " bytes are to be kept", MOST);
    if (rc == 0 &&
        (fwrite(head.data, 1, head.len, w->f) != head.len ||
         fwrite(payload, 1, m->payload_bytes, w->f) != m->payload_bytes))
        rc = assay_fail(err, ASSAY_EIO, "%s", strerror(errno));
    w->sequence[from_agent]++;
    w->bytes += head.len + m->payload_bytes;
    assay_buf_close(&head);
    return rc;
}

static int flush(struct assay_journal_writer *w, struct assay_err *err)
{
    return fflush(w->f) == 0
               ? 0
               : assay_fail(err, ASSAY_EIO, "%s", strerror(errno));
}

int assay_journal_note(struct assay_journal_writer *w, const char *key,
                       const char *text, struct assay_err *err)
{
    struct assay_msg m = {.type = ASSAY_MSG_NOTE};

    m.u.note.key = key;
    m.u.note.text = text;
    return put_frame(w, &m, false, "", err);
}

int assay_journal_pass(struct assay_journal_writer *w,
                       const struct assay_journal_pass *pass,
                       struct assay_err *err)
{
    struct assay_msg m = {.type = ASSAY_MSG_RUN_START};
    size_t n = (w->n_layers + 7u) / 8;
    uint8_t *bits = assay_calloc(n + 1, 1);
    char text[64];
    int rc;

    if (bits == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a run");
    for (uint32_t i = 0; i < w->n_layers; i++)
        bits[i / 8] |= (uint8_t)((unsigned)pass->layers[i] << i % 8);
    snprintf(text, sizeof(text), "%s%s", assay_column_name(pass->column),
             pass->again ? " again" : "");
    m.u.run_start = (struct assay_msg_run_start){
        .run = ++w->run,
        .isolated = pass->isolated,
        .layers = bits,
        .layers_bytes = n,
        .cpumask = pass->cpumask,
        .sample = pass->sample,
        .probe_work = pass->probe_work,
    };
    rc = assay_journal_note(w, "pass", text, err);
    if (rc == 0)
        rc = put_frame(w, &m, false, "", err);
    assay_free(bits);
    return rc == 0 ? flush(w, err) : rc;
}

static int put_begin(struct assay_journal_writer *w,
                     const struct assay_slice *s, uint32_t layer,
                     const char *kernel, size_t bytes, struct assay_err *err)
{
    struct assay_msg m = {.type = ASSAY_MSG_LAYER_BEGIN};
    uint32_t y = s->layers[layer].output;
    const struct assay_tensor *t = &s->tensors[y];

    m.u.layer_begin = (struct assay_msg_layer_begin){
        .run = w->run,
        .layer = layer,
        .tensor = y,
        .dtype = t->dtype,
        .rank = t->rank,
        .bytes = bytes,
        .kernel = kernel,
    };
    memcpy(m.u.layer_begin.dims, t->dims, sizeof(t->dims));
    return put_frame(w, &m, true, "", err);
}

int assay_journal_layer(struct assay_journal_writer *w,
                        const struct assay_slice *s, uint32_t layer,
                        const char *kernel, const void *data, size_t bytes,
                        bool same, uint64_t time_us, struct assay_err *err)
{
    struct assay_msg m = {.type = ASSAY_MSG_CHUNK};
    struct assay_buf digests;
    int rc = put_begin(w, s, layer, kernel, bytes, err);

    assay_buf_init(&digests);
    m.u.chunk.run = w->run;
    m.u.chunk.layer = layer;
    for (size_t at = 0; at < bytes && rc == 0; at += m.payload_bytes) {
        const uint8_t *p = (const uint8_t *)data + at;
        size_t n = bytes - at;

        m.payload_bytes =
            (uint32_t)(n < ASSAY_TILE_BYTES ? n : ASSAY_TILE_BYTES);
        m.u.chunk.offset = at;
        assay_xxh128(p, m.payload_bytes, m.u.chunk.digest);
        rc = assay_buf_append(&digests, m.u.chunk.digest, 16);
        if (rc == 0 && !same)
            rc = put_frame(w, &m, true, p, err);
    }
    m = (struct assay_msg){.type = ASSAY_MSG_LAYER_END};
    m.u.layer_end.run = w->run;
    m.u.layer_end.layer = layer;
    m.u.layer_end.bytes = bytes;
    m.u.layer_end.time_us = time_us;
    assay_xxh128(digests.data, digests.len, m.u.layer_end.digest);
    if (rc == 0)
        rc = put_frame(w, &m, true, "", err);
    assay_buf_close(&digests);
    return rc == 0 ? flush(w, err) : rc;
}

int assay_journal_probe(struct assay_journal_writer *w, uint32_t layer,
                        const struct assay_probe *p, struct assay_err *err)
{
    struct assay_msg m = {.type = ASSAY_MSG_LAYER_PROBE};
    int rc;

    m.u.layer_probe.run = w->run;
    m.u.layer_probe.layer = layer;
    m.u.layer_probe.probe = *p;
    rc = put_frame(w, &m, true, "", err);
    return rc == 0 ? flush(w, err) : rc;
}
