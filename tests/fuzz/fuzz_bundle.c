/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bundle as a file: all of it or a sentence; and what was read is written
 * and read again. Bit 0 of the first byte asks for hashes, order and end to be
 * made good first, so that a mutation comes further than the digest over all.
 *
 * links: proto/ gen/proto/assay.pb-c.c
 * links: lib/core/ kernels/requant.c
 * covers: proto/bundle*.c
 * libs: -lprotobuf-c -lxxhash -lmbedcrypto
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "proto/bundle.h"

/* Frames whose lengths fit are copied with their hash and number set right; an
 * end that stands last is left out for a good one. */
static int mend(struct assay_buf *out, const uint8_t *data, size_t n)
{
    struct assay_bundle_writer w = {.out = out};
    struct assay_err err = {0};
    int rc = 0;

    assay_buf_init(&w.digests);
    while (n >= ASSAY_FRAME_PREFIX && rc == 0) {
        uint32_t header, payload;
        uint8_t prefix[ASSAY_FRAME_PREFIX], digest[16];
        size_t all, at = out->len;

        memcpy(&header, data + 12, 4);
        memcpy(&payload, data + 16, 4);
        all = (size_t)ASSAY_FRAME_PREFIX + header + payload;
        if (header == 0 || header > ASSAY_HEADER_MAX ||
            payload > ASSAY_CHUNK_MAX || all > n)
            break;
        if (all == n && data[ASSAY_FRAME_PREFIX] == 0x92)
            break;
        assay_frame_prefix(prefix, false, w.frames++, data + ASSAY_FRAME_PREFIX,
                           header, payload);
        rc = assay_buf_append(out, prefix, sizeof(prefix));
        if (rc == 0)
            rc = assay_buf_append(out, data + ASSAY_FRAME_PREFIX,
                                  all - ASSAY_FRAME_PREFIX);
        if (rc == 0) {
            assay_xxh128(out->data + at, all, digest);
            rc = assay_buf_append(&w.digests, digest, sizeof(digest));
        }
        data += all;
        n -= all;
    }
    if (rc == 0)
        rc = assay_bundle_end(&w, &err);
    assay_bundle_close(&w);
    return rc;
}

static int write_samples(struct assay_bundle_writer *w,
                         const struct assay_bundle *b, struct assay_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; i < b->n_samples && rc == 0; i++) {
        for (uint32_t k = 0; k < ASSAY_BUNDLE_KINDS; k++) {
            for (uint32_t t = 0; t < b->slice->n_tensors && rc == 0; t++) {
                const void *v = b->samples[i].values[k][t];
                size_t n, bytes;

                if (v == NULL)
                    continue;
                rc = assay_tensor_count(&b->slice->tensors[t], &n, &bytes, err);
                if (rc == 0)
                    rc = assay_bundle_tensor(w, (enum assay_bundle_kind)k, t, v,
                                             bytes, err);
            }
        }
        if (rc == 0)
            rc = assay_bundle_run(w, b->samples[i].number, err);
    }
    return rc;
}

/* What was read is written, and read again: a failure is a defect of ours. */
static void again(struct assay_bundle *b)
{
    struct assay_bundle *back = NULL;
    struct assay_bundle_writer w;
    struct assay_err err = {0};
    struct assay_buf out;
    int rc;

    assay_buf_init(&out);
    rc = assay_bundle_begin(&w, &out, b->build_id, &err);
    for (uint32_t i = 0; i < b->n_notes && rc == 0; i++)
        rc = assay_bundle_note(&w, b->notes[i].key, b->notes[i].text, &err);
    if (rc == 0)
        rc = assay_bundle_slice(&w, b->slice, &err);
    if (rc == 0)
        rc = write_samples(&w, b, &err);
    if (rc == 0)
        rc = assay_bundle_end(&w, &err);
    if (rc < 0 || assay_bundle_read(&back, out.data, out.len, &err) < 0 ||
        back->n_samples != b->n_samples || back->n_notes != b->n_notes)
        abort();
    assay_bundle_free(back);
    assay_bundle_close(&w);
    assay_buf_close(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_bundle *b = NULL;
    struct assay_err err = {0};
    struct assay_buf out;
    int rc;

    if (size < 1)
        return 0;
    assay_buf_init(&out);
    rc = data[0] & 1 ? mend(&out, data + 1, size - 1)
                     : assay_buf_append(&out, data + 1, size - 1);
    if (rc == 0) {
        rc = assay_bundle_read(&b, out.data, out.len, &err);
        if (rc < 0 && (err.text[0] == '\0' || b != NULL))
            abort();
        if (rc == 0)
            again(b);
        assay_bundle_free(b);
    }
    assay_buf_close(&out);
    return 0;
}
