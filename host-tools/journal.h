/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run got of its board, kept while it runs, so that a run that is cut
 * can be continued: frames of the protocol in a file.
 *
 *   NOTE ...       what the run is of: keys are the caller's
 *   NOTE sample    "N DIGEST": a sample begins; DIGEST of what it is of
 *   NOTE pass      column, and "again" where layers run on given tensors
 *   RUN_START      what was asked of the board
 *   LAYER_BEGIN, CHUNK ..., LAYER_END   a layer; without chunks its output is
 *                  what the reader has already (the reference), LAYER_END has
 *                  its digest
 *   LAYER_PROBE    of the layer in front of it
 *
 * A file that ends within a frame or a layer was cut there: what is whole
 * counts. All else that is wrong is refused with one sentence. One thread.
 */
#ifndef ASSAY_HOST_JOURNAL_H
#define ASSAY_HOST_JOURNAL_H

#include <stdio.h>

#include "host-tools/diff/diff.h"
#include "lib/core/buf.h"
#include "proto/codec.h"

/* A request to the board. layers: one a layer of the slice. */
struct assay_journal_pass {
    uint32_t sample;
    enum assay_column column;
    bool again, isolated;
    uint32_t cpumask;
    uint64_t probe_work;
    const bool *layers;
};

/* ---- writing -------------------------------------------------------------- */

struct assay_journal_writer {
    FILE *f; /* NULL: closed, or nothing more is kept */
    uint32_t n_layers;
    uint32_t run, sequence[2]; /* frames of the client, of the agent */
    uint64_t bytes;
};

/* An empty file at path. */
int assay_journal_create(struct assay_journal_writer *w, const char *path,
                         uint32_t n_layers, struct assay_err *err)
    ASSAY_MUST_CHECK;
int assay_journal_note(struct assay_journal_writer *w, const char *key,
                       const char *text, struct assay_err *err)
    ASSAY_MUST_CHECK;
int assay_journal_pass(struct assay_journal_writer *w,
                       const struct assay_journal_pass *pass,
                       struct assay_err *err) ASSAY_MUST_CHECK;
/* A layer's whole output; same: it is what a reader will have already, only
 * its digest is kept. In the file when this returns. */
int assay_journal_layer(struct assay_journal_writer *w,
                        const struct assay_slice *s, uint32_t layer,
                        const char *kernel, const void *data, size_t bytes,
                        bool same, uint64_t time_us, struct assay_err *err)
    ASSAY_MUST_CHECK;
int assay_journal_probe(struct assay_journal_writer *w, uint32_t layer,
                        const struct assay_probe *p, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_journal_close(struct assay_journal_writer *w); /* idempotent */

/* ---- reading -------------------------------------------------------------- */

struct assay_journal_layer {
    uint32_t pass; /* index */
    uint32_t layer;
    bool same; /* no data here */
    const char *kernel;
    uint64_t bytes, time_us;
    uint8_t digest[16];
    uint64_t at;                     /* of its first frame with data */
    const struct assay_probe *probe; /* NULL: none was told */
};
struct assay_journal_note_line {
    const char *key, *text;
};
struct assay_journal {
    FILE *f;
    char *path;
    struct assay_journal_pass *passes; /* in the order of the run */
    struct assay_journal_layer *layers;
    struct assay_journal_note_line *notes;
    uint32_t n_passes, n_layers, n_notes;
    struct assay_arena *memory;
};

/* slice_layers: of the slice that it should be of; a bitmap of another length
 * is refused. Data is not looked at before assay_journal_data(). */
int assay_journal_read(struct assay_journal **out, const char *path,
                       uint32_t slice_layers, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_journal_free(struct assay_journal *j); /* NULL safe */
/* Text of the first note of that key, or "". */
const char *assay_journal_text(const struct assay_journal *j, const char *key);
/* Text behind "NUMBER " of the note `sample`, or "". */
const char *assay_journal_sample(const struct assay_journal *j,
                                 uint32_t sample);
/* The output of a layer into out (l->bytes). For one that is `same`, out has
 * it already. Its digest is checked in either case: ASSAY_EMISMATCH. */
int assay_journal_data(struct assay_journal *j,
                       const struct assay_journal_layer *l, uint8_t *out,
                       struct assay_err *err) ASSAY_MUST_CHECK;

#endif
