/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/image/exif.h"

#include <stdbool.h>
#include <string.h>

#define TAG_ORIENTATION 0x0112u
#define TYPE_SHORT 3u
#define ENTRY 12u

struct reader {
    const uint8_t *data;
    bool big;
};

static uint32_t get16(const struct reader *r, size_t at)
{
    const uint8_t *p = r->data + at;

    return r->big ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

static uint32_t get32(const struct reader *r, size_t at)
{
    return r->big ? get16(r, at) << 16 | get16(r, at + 2)
                  : get16(r, at + 2) << 16 | get16(r, at);
}

uint8_t assay_exif_orientation(const uint8_t *data, size_t n)
{
    struct reader r = {.data = data};
    size_t at, entries;

    if (n < 8 || (memcmp(data, "II", 2) != 0 && memcmp(data, "MM", 2) != 0))
        return 1;
    r.big = data[0] == 'M';
    at = get32(&r, 4);
    if (get16(&r, 2) != 42 || at > n - 2)
        return 1;
    entries = get16(&r, at);
    at += 2;
    for (size_t i = 0; i < entries && n - at >= ENTRY; i++, at += ENTRY) {
        uint32_t value = get16(&r, at + 8);

        if (get16(&r, at) != TAG_ORIENTATION)
            continue;
        if (get16(&r, at + 2) != TYPE_SHORT || get32(&r, at + 4) != 1)
            return 1;
        return value >= 1 && value <= 8 ? (uint8_t)value : 1;
    }
    return 1;
}
