/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded exchange as bytes: the frames that a client sends, and notes.
 * A file `.assay` holds a slice, samples of it and what they gave; a file
 * `.slice` the slice alone. Pure: bytes in, bytes out, no file, no clock.
 *
 *   HELLO                    versions, build
 *   NOTE ...                 anywhere behind it
 *   BLOB_PUT ...             constants, then the description
 *   SLICE_LOAD               once
 *   RUN_TENSOR, NOTE_TENSOR  inputs; what was expected, what was got
 *   RUN_START                ends a sample; there may be none
 *   NOTE_END                 frames, and a digest over them: last
 *
 * Any thread; a writer and a bundle belong to one at a time.
 */
#ifndef ASSAY_PROTO_BUNDLE_H
#define ASSAY_PROTO_BUNDLE_H

#include "proto/codec.h"

#define ASSAY_BUNDLE_SAMPLES 4096
#define ASSAY_BUNDLE_NOTES 256

enum assay_bundle_kind {
    ASSAY_BUNDLE_INPUT = 0,
    ASSAY_BUNDLE_EXPECTED = ASSAY_NOTE_EXPECTED,
    ASSAY_BUNDLE_GOT = ASSAY_NOTE_GOT,
    ASSAY_BUNDLE_KINDS
};

/* ---- reading ------------------------------------------------------------ */

struct assay_bundle_sample {
    uint32_t number; /* as its run had it */
    /* By kind and tensor of the slice: dense bytes in stored order, or NULL. */
    const void **values[ASSAY_BUNDLE_KINDS];
};
struct assay_bundle_note {
    const char *key, *text;
};
struct assay_bundle {
    struct assay_slice *slice;
    struct assay_bundle_sample *samples;
    uint32_t n_samples;
    struct assay_bundle_note *notes;
    uint32_t n_notes;
    const char *build_id;       /* of who wrote it */
    struct assay_arena *memory; /* owns all but the slice; its constants too */
};

/* Is this the beginning of frames? */
bool assay_bundle_probe(const uint8_t *head, size_t n);
/* All of it or nothing. The sentence says at which byte and what was expected;
 * ASSAY_EFORMAT, ASSAY_EVERSION or ASSAY_EMEMORY. Nothing of data is kept. */
int assay_bundle_read(struct assay_bundle **out, const void *data, size_t n,
                      struct assay_err *err) ASSAY_MUST_CHECK;
void assay_bundle_free(struct assay_bundle *b); /* NULL safe; the slice too */
/* Text of the first note of that key, or "". */
const char *assay_bundle_text(const struct assay_bundle *b, const char *key);

/* ---- writing ------------------------------------------------------------ */

/* Appends frames to `out`, which is the caller's. After a failure what is in
 * it is of no use. */
struct assay_bundle_writer {
    struct assay_buf *out;
    struct assay_buf digests; /* of frames */
    uint32_t frames;
};
int assay_bundle_begin(struct assay_bundle_writer *w, struct assay_buf *out,
                       const char *build_id, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Control bytes become blanks; a longer text is cut at 64 KiB. */
int assay_bundle_note(struct assay_bundle_writer *w, const char *key,
                      const char *text, struct assay_err *err) ASSAY_MUST_CHECK;
/* Constants are addressed by the SHA-256 of their bytes, whatever the slice
 * says of them; its copy of the digest is set right. */
int assay_bundle_slice(struct assay_bundle_writer *w, struct assay_slice *s,
                       struct assay_err *err) ASSAY_MUST_CHECK;
int assay_bundle_tensor(struct assay_bundle_writer *w,
                        enum assay_bundle_kind kind, uint32_t tensor,
                        const void *data, size_t bytes, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Ends the sample that the tensors since the last one are of. */
int assay_bundle_run(struct assay_bundle_writer *w, uint32_t number,
                     struct assay_err *err) ASSAY_MUST_CHECK;
int assay_bundle_end(struct assay_bundle_writer *w, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_bundle_close(struct assay_bundle_writer *w); /* idempotent */

#endif
