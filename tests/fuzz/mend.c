/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/mend.h"

#include <string.h>

#include "lib/core/hash.h"
#include "proto/frame.h"

void mend_frames(uint8_t *data, size_t n, const uint32_t *sequence)
{
    uint32_t next = sequence != NULL ? *sequence : 0;

    while (n >= ASSAY_FRAME_PREFIX) {
        uint32_t header, payload;
        uint64_t hash;
        size_t all;

        memcpy(&header, data + 12, 4);
        memcpy(&payload, data + 16, 4);
        all = (size_t)ASSAY_FRAME_PREFIX + header + payload;
        if (header > ASSAY_HEADER_MAX || payload > ASSAY_CHUNK_MAX || all > n)
            return;
        if (sequence != NULL)
            memcpy(data + 8, &next, 4);
        next++;
        hash = assay_xxh64(data + ASSAY_FRAME_PREFIX, header);
        memcpy(data + 24, &hash, 8);
        data += all;
        n -= all;
    }
}
