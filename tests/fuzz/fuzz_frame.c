/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first two doors on a stream: bytes, in pieces of changing sizes, to the
 * frame decoder; every frame to the codec; every message back to bytes, and
 * these bytes decode again.
 * The first byte chooses the direction and the size of the pieces; its upper
 * bit asks for the frames' hashes to be made good first, so that a mutation
 * behind the prefix comes further than the hash.
 *
 * links: tests/fuzz/mend.c proto/frame.c proto/codec*.c gen/proto/assay.pb-c.c
 * links: lib/core/ kernels/requant.c
 * covers: proto/frame.c
 * libs: -lprotobuf-c -lxxhash -lmbedcrypto
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "proto/codec.h"
#include "proto/frame.h"
#include "tests/fuzz/mend.h"

static void again(const struct assay_msg *m, bool from_agent)
{
    struct assay_frame_decoder d;
    struct assay_frame frame;
    struct assay_msg back;
    struct assay_buf buf;
    struct assay_err err = {0};

    assay_buf_init(&buf);
    assay_frame_decoder_init(&d, from_agent);
    if (assay_msg_frame(&buf, m, from_agent, 0, &err) == 0 &&
        assay_buf_append(&buf, m->payload, m->payload_bytes) == 0) {
        /* What we write, we read: a failure here is a defect of ours. */
        if (assay_frame_push(&d, buf.data, buf.len, &err) < 0 ||
            assay_frame_next(&d, &frame, &err) != 1 ||
            assay_msg_decode(&back, &frame, &err) < 0 || back.type != m->type)
            abort();
        assay_msg_close(&back);
    }
    assay_frame_decoder_close(&d);
    assay_buf_close(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_frame_decoder d;
    struct assay_frame frame;
    struct assay_msg msg;
    struct assay_err err = {0};
    uint8_t *copy;
    size_t piece, at = 0;
    bool from_agent;
    int rc = 0;

    if (size < 1)
        return 0;
    from_agent = data[0] & 1;
    piece = (size_t)1 << (data[0] >> 1) % 16;
    copy = malloc(size);
    if (!copy)
        return 0;
    memcpy(copy, data + 1, --size);
    if (data[0] & 0x80)
        mend_frames(copy, size, NULL);
    assay_frame_decoder_init(&d, from_agent);
    while (at < size && rc >= 0) {
        size_t n = size - at < piece ? size - at : piece;

        rc = assay_frame_push(&d, copy + at, n, &err);
        at += n;
        while (rc >= 0 && (rc = assay_frame_next(&d, &frame, &err)) == 1) {
            if (assay_msg_decode(&msg, &frame, &err) == 0) {
                again(&msg, from_agent);
                assay_msg_close(&msg);
            }
        }
    }
    (void)assay_frame_pending(&d);
    assay_frame_decoder_close(&d);
    free(copy);
    return 0;
}
