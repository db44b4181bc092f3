/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One frame at a time; frames of both directions stand in one file, so two
 * decoders look at them. */
struct reader {
    struct assay_journal *j;
    struct assay_frame_decoder decoder[2];
    uint8_t *bytes; /* owned, of the frame under way */
    size_t cap, n;
    uint64_t at; /* of that frame */
    uint32_t slice_layers;
    uint32_t cap_passes, cap_layers, cap_notes;
    /* The note `pass` that a RUN_START is waited for with. */
    bool named, again;
    enum assay_column column;
    bool in_layer; /* between LAYER_BEGIN and LAYER_END */
    uint64_t got;
    struct assay_journal_layer now;
    struct assay_err *err;
};

static int refuse(struct reader *r, const char *what)
{
    return assay_fail(r->err, ASSAY_EFORMAT, "'%.300s', byte %" PRIu64 ": %s",
                      r->j->path, r->at, what);
}

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for a journal");
}

/* ---- frames --------------------------------------------------------------- */

static uint32_t u32_at(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

/* n more bytes; 1, or 0: the file ends before. */
static int take(struct reader *r, size_t n)
{
    if (r->cap < r->n + n) {
        uint8_t *p = assay_realloc(r->bytes, r->n + n);

        if (p == NULL)
            return no_memory(r->err);
        r->bytes = p;
        r->cap = r->n + n;
    }
    if (fread(r->bytes + r->n, 1, n, r->j->f) != n)
        return ferror(r->j->f)
                   ? assay_fail(r->err, ASSAY_EIO, "cannot read '%.300s': %s",
                                r->j->path, strerror(errno))
                   : 0;
    r->n += n;
    return 1;
}

/* 1: *m is the next message; 0: the file ends, maybe in the middle of one. The
 * decoder looks at the prefix before what it announces is read. */
static int next(struct reader *r, struct assay_msg *m)
{
    struct assay_frame_decoder *d;
    struct assay_frame frame;
    struct assay_err why = {0};
    int rc;

    r->at += r->n;
    r->n = 0;
    rc = take(r, ASSAY_FRAME_PREFIX);
    if (rc <= 0)
        return rc;
    d = &r->decoder[(u32_at(r->bytes + 4) & ASSAY_FRAME_FROM_AGENT) != 0];
    rc = assay_frame_push(d, r->bytes, r->n, &why);
    if (rc == 0)
        rc = assay_frame_next(d, &frame, &why);
    if (rc == 0) {
        size_t rest = (size_t)u32_at(r->bytes + 12) + u32_at(r->bytes + 16);

        rc = take(r, rest);
        if (rc <= 0)
            return rc;
        rc = assay_frame_push(d, r->bytes + ASSAY_FRAME_PREFIX, rest, &why);
    }
    if (rc == 0)
        rc = assay_frame_next(d, &frame, &why);
    if (rc == 1)
        rc = assay_msg_decode(m, &frame, &why);
    return rc < 0 ? refuse(r, why.text) : 1;
}

static int open_reader(struct reader *r, struct assay_journal *j,
                       struct assay_err *err)
{
    *r = (struct reader){.j = j, .err = err};
    assay_frame_decoder_init(&r->decoder[0], false);
    assay_frame_decoder_init(&r->decoder[1], true);
    return 0;
}

static void close_reader(struct reader *r)
{
    assay_frame_decoder_close(&r->decoder[0]);
    assay_frame_decoder_close(&r->decoder[1]);
    assay_free(r->bytes);
}

/* ---- what they say -------------------------------------------------------- */

/* Room for one more; NULL: no memory. */
static void *grow(void *v, uint32_t n, uint32_t *cap, size_t size)
{
    size_t bytes;
    void *p;

    if (n < *cap)
        return v;
    if (*cap > UINT32_MAX / 2 ||
        !assay_mul_size((size_t)*cap * 2 + 16, size, &bytes))
        return NULL;
    p = assay_realloc(v, bytes);
    if (p != NULL)
        *cap = *cap * 2 + 16;
    return p;
}

static int on_note(struct reader *r, const struct assay_msg_note *n)
{
    struct assay_journal *j = r->j;
    void *p;

    if (strcmp(n->key, "pass") == 0) {
        size_t len = strcspn(n->text, " ");

        r->again = strcmp(n->text + len, " again") == 0;
        for (unsigned c = 0; c < ASSAY_COL_COUNT; c++) {
            const char *name = assay_column_name((enum assay_column)c);

            if (strlen(name) != len || strncmp(name, n->text, len) != 0)
                continue;
            r->column = (enum assay_column)c;
            r->named = r->again || n->text[len] == '\0';
        }
        return r->named ? 0 : refuse(r, "a pass of no column that is known");
    }
    p = grow(j->notes, j->n_notes, &r->cap_notes, sizeof(*j->notes));
    if (p == NULL)
        return no_memory(r->err);
    j->notes = p;
    j->notes[j->n_notes] = (struct assay_journal_note_line){
        assay_arena_str(j->memory, n->key, strlen(n->key)),
        assay_arena_str(j->memory, n->text, strlen(n->text))};
    if (j->notes[j->n_notes].key == NULL || j->notes[j->n_notes].text == NULL)
        return no_memory(r->err);
    j->n_notes++;
    return 0;
}

static int on_start(struct reader *r, const struct assay_msg_run_start *m)
{
    struct assay_journal *j = r->j;
    bool *layers;
    void *p;

    if (!r->named)
        return refuse(r, "a run without its note 'pass'");
    if (m->layers_bytes != (r->slice_layers + 7u) / 8)
        return refuse(r, "a run of a model with another number of layers: "
                         "--resume takes the command of before");
    p = grow(j->passes, j->n_passes, &r->cap_passes, sizeof(*j->passes));
    layers = assay_arena_alloc(j->memory, (size_t)r->slice_layers + 1);
    if (p == NULL || layers == NULL) {
        j->passes = p != NULL ? p : j->passes;
        return no_memory(r->err);
    }
    j->passes = p;
    for (uint32_t i = 0; i < r->slice_layers; i++)
        layers[i] = (m->layers[i / 8] >> i % 8 & 1) != 0;
    j->passes[j->n_passes++] = (struct assay_journal_pass){
        .sample = m->sample,
        .column = r->column,
        .again = r->again,
        .isolated = m->isolated,
        .cpumask = m->cpumask,
        .probe_work = m->probe_work,
        .layers = layers,
    };
    r->named = false;
    r->in_layer = false; /* the run before was cut in it */
    return 0;
}

static int on_begin(struct reader *r, const struct assay_msg_layer_begin *m)
{
    struct assay_journal *j = r->j;

    if (j->n_passes == 0 || m->layer >= r->slice_layers ||
        !j->passes[j->n_passes - 1].layers[m->layer])
        return refuse(r, "a layer that was not asked for");
    r->now = (struct assay_journal_layer){
        .pass = j->n_passes - 1,
        .layer = m->layer,
        .same = true,
        .kernel = assay_arena_str(j->memory, m->kernel, strlen(m->kernel)),
        .bytes = m->bytes,
    };
    r->in_layer = true;
    r->got = 0;
    return r->now.kernel != NULL ? 0 : no_memory(r->err);
}

static int on_chunk(struct reader *r, const struct assay_msg *m)
{
    if (!r->in_layer || m->u.chunk.layer != r->now.layer ||
        m->u.chunk.offset != r->got || m->payload_bytes > r->now.bytes - r->got)
        return refuse(r, "data that no layer has there");
    if (r->got == 0)
        r->now.at = r->at;
    r->now.same = false;
    r->got += m->payload_bytes;
    return 0;
}

static int on_end(struct reader *r, const struct assay_msg_layer_end *m)
{
    struct assay_journal *j = r->j;
    void *p;

    if (!r->in_layer || m->layer != r->now.layer || m->bytes != r->now.bytes ||
        (!r->now.same && r->got != r->now.bytes))
        return refuse(r, "an end that fits no layer");
    memcpy(r->now.digest, m->digest, sizeof(r->now.digest));
    r->now.time_us = m->time_us;
    r->in_layer = false;
    p = grow(j->layers, j->n_layers, &r->cap_layers, sizeof(*j->layers));
    if (p == NULL)
        return no_memory(r->err);
    j->layers = p;
    j->layers[j->n_layers++] = r->now;
    return 0;
}

static int on_probe(struct reader *r, const struct assay_msg_layer_probe *m)
{
    static const struct assay_probe none;
    struct assay_journal *j = r->j;
    struct assay_journal_layer *l =
        j->n_layers > 0 ? &j->layers[j->n_layers - 1] : NULL;

    if (l == NULL || r->in_layer || l->pass != j->n_passes - 1 ||
        l->layer != m->layer || l->probe != NULL)
        return refuse(r, "a probe that fits no layer");
    l->probe = m->probe.values == 0 && m->probe.work == 0
                   ? &none
                   : assay_arena_copy(j->memory, &m->probe, sizeof(m->probe));
    return l->probe != NULL ? 0 : no_memory(r->err);
}

static int read_all(struct reader *r)
{
    struct assay_msg m;
    int rc;

    while ((rc = next(r, &m)) > 0) {
        switch (m.type) {
        case ASSAY_MSG_NOTE: rc = on_note(r, &m.u.note); break;
        case ASSAY_MSG_RUN_START: rc = on_start(r, &m.u.run_start); break;
        case ASSAY_MSG_LAYER_BEGIN: rc = on_begin(r, &m.u.layer_begin); break;
        case ASSAY_MSG_CHUNK: rc = on_chunk(r, &m); break;
        case ASSAY_MSG_LAYER_END: rc = on_end(r, &m.u.layer_end); break;
        case ASSAY_MSG_LAYER_PROBE: rc = on_probe(r, &m.u.layer_probe); break;
        default: rc = refuse(r, "a message that no journal has"); break;
        }
        assay_msg_close(&m);
        if (rc < 0)
            return rc;
    }
    return rc;
}

/* The last layer's probe may have been on its way when the run was cut: the
 * layer is run again for it. */
static void drop_unprobed(struct assay_journal *j)
{
    const struct assay_journal_layer *l =
        j->n_layers > 0 ? &j->layers[j->n_layers - 1] : NULL;

    if (l != NULL && l->pass == j->n_passes - 1 && l->probe == NULL &&
        j->passes[l->pass].probe_work > 0)
        j->n_layers--;
}

int assay_journal_read(struct assay_journal **out, const char *path,
                       uint32_t slice_layers, struct assay_err *err)
{
    struct assay_journal *j = assay_calloc(1, sizeof(*j));
    struct reader r;
    int rc;

    if (j == NULL)
        return no_memory(err);
    j->memory = assay_arena_new();
    j->path = j->memory != NULL ? assay_arena_str(j->memory, path, strlen(path))
                                : NULL;
    if (j->path == NULL) {
        assay_journal_free(j);
        return no_memory(err);
    }
    j->f = fopen(path, "rb");
    if (j->f == NULL) {
        rc = assay_fail(err, ASSAY_EIO, "cannot read '%.300s': %s", path,
                        strerror(errno));
        assay_journal_free(j);
        return rc;
    }
    open_reader(&r, j, err);
    r.slice_layers = slice_layers;
    rc = read_all(&r);
    close_reader(&r);
    if (rc < 0) {
        assay_journal_free(j);
        return rc;
    }
    drop_unprobed(j);
    *out = j;
    return 0;
}

void assay_journal_free(struct assay_journal *j)
{
    if (j == NULL)
        return;
    if (j->f != NULL)
        fclose(j->f);
    assay_free(j->passes);
    assay_free(j->layers);
    assay_free(j->notes);
    assay_arena_free(j->memory);
    assay_free(j);
}

const char *assay_journal_text(const struct assay_journal *j, const char *key)
{
    for (uint32_t i = 0; i < j->n_notes; i++) {
        if (strcmp(j->notes[i].key, key) == 0)
            return j->notes[i].text;
    }
    return "";
}

const char *assay_journal_sample(const struct assay_journal *j, uint32_t sample)
{
    char number[16];
    size_t n;

    snprintf(number, sizeof(number), "%u ", sample);
    n = strlen(number);
    for (uint32_t i = 0; i < j->n_notes; i++) {
        if (strcmp(j->notes[i].key, "sample") == 0 &&
            strncmp(j->notes[i].text, number, n) == 0)
            return j->notes[i].text + n;
    }
    return "";
}

/* ---- data ----------------------------------------------------------------- */

/* The frames were looked at when the file was read. */
static int read_chunks(struct assay_journal *j,
                       const struct assay_journal_layer *l, uint8_t *out,
                       struct assay_err *err)
{
    uint8_t prefix[ASSAY_FRAME_PREFIX];
    uint64_t got = 0;
    size_t n = 0;

    if (fseeko(j->f, (off_t)l->at, SEEK_SET) != 0)
        n = 1;
    while (got < l->bytes && n == 0) {
        uint32_t header, payload;

        if (fread(prefix, 1, sizeof(prefix), j->f) != sizeof(prefix))
            break;
        header = u32_at(prefix + 12);
        payload = u32_at(prefix + 16);
        if (u32_at(prefix) != ASSAY_FRAME_MAGIC || payload == 0 ||
            payload > l->bytes - got ||
            fseeko(j->f, (off_t)header, SEEK_CUR) != 0 ||
            fread(out + got, 1, payload, j->f) != payload)
            break;
        got += payload;
    }
    if (got == l->bytes)
        return 0;
    return assay_fail(err, ASSAY_EIO, "'%.300s' has changed while it was read",
                      j->path);
}

int assay_journal_data(struct assay_journal *j,
                       const struct assay_journal_layer *l, uint8_t *out,
                       struct assay_err *err)
{
    struct assay_buf digests;
    uint8_t digest[16];
    int rc = l->same ? 0 : read_chunks(j, l, out, err);

    assay_buf_init(&digests);
    for (uint64_t at = 0; at < l->bytes && rc == 0; at += ASSAY_TILE_BYTES) {
        uint64_t n = l->bytes - at;

        assay_xxh128(out + at,
                     (size_t)(n < ASSAY_TILE_BYTES ? n : ASSAY_TILE_BYTES),
                     digest);
        if (assay_buf_append(&digests, digest, sizeof(digest)) < 0)
            rc = no_memory(err);
    }
    assay_xxh128(digests.data, digests.len, digest);
    assay_buf_close(&digests);
    if (rc == 0 && memcmp(digest, l->digest, sizeof(digest)) != 0)
        rc = assay_fail(err, ASSAY_EMISMATCH,
                        "'%.300s': the digest of layer %u in sample %u differs",
                        j->path, l->layer, j->passes[l->pass].sample);
    return rc;
}
