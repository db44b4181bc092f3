/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second door alone: bytes as a frame's header, without prefix and hash.
 * The first byte chooses the direction and the payload's length.
 *
 * links: proto/frame.c proto/codec*.c gen/proto/assay.pb-c.c
 * links: lib/core/ kernels/requant.c
 * covers: proto/codec.c proto/codec_put.c proto/codec_alloc.c
 * libs: -lprotobuf-c -lxxhash -lmbedcrypto
 */
#include "tests/fuzz/fuzz.h"

#include "proto/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_frame frame = {0};
    struct assay_msg msg;
    struct assay_err err = {0};
    struct assay_buf buf;

    if (size < 2 || size - 2 > ASSAY_HEADER_MAX)
        return 0;
    frame.flags = data[0] & 1 ? ASSAY_FRAME_FROM_AGENT : 0;
    frame.payload = data + 2;
    frame.payload_bytes = data[1] % (size - 1);
    frame.header = data + 2;
    frame.header_bytes = (uint32_t)(size - 2);
    if (assay_msg_decode(&msg, &frame, &err) == 0) {
        assay_buf_init(&buf);
        (void)!assay_msg_frame(&buf, &msg, data[0] & 1, 0, &err);
        assay_buf_close(&buf);
        assay_msg_close(&msg);
    }
    return 0;
}
