/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/frame.h"

#include <assert.h>
#include <string.h>

static void put_u32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

static void put_u64(uint8_t *p, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

static uint32_t get_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

static uint64_t get_u64(const uint8_t *p)
{
    return (uint64_t)get_u32(p) | (uint64_t)get_u32(p + 4) << 32;
}

void assay_frame_prefix(uint8_t out[ASSAY_FRAME_PREFIX], bool from_agent,
                        uint32_t sequence, const uint8_t *header,
                        uint32_t header_bytes, uint32_t payload_bytes)
{
    assert(header_bytes > 0 && header_bytes <= ASSAY_HEADER_MAX);
    assert(payload_bytes <= (from_agent ? ASSAY_TILE_MAX : ASSAY_CHUNK_MAX));
    put_u32(out, ASSAY_FRAME_MAGIC);
    put_u32(out + 4, from_agent ? ASSAY_FRAME_FROM_AGENT : 0);
    put_u32(out + 8, sequence);
    put_u32(out + 12, header_bytes);
    put_u32(out + 16, payload_bytes);
    put_u32(out + 20, 0);
    put_u64(out + 24, assay_xxh64(header, header_bytes));
}

void assay_frame_decoder_init(struct assay_frame_decoder *d, bool from_agent)
{
    memset(d, 0, sizeof(*d));
    assay_buf_init(&d->buf);
    d->from_agent = from_agent;
}

void assay_frame_decoder_close(struct assay_frame_decoder *d)
{
    assay_buf_close(&d->buf);
    d->used = 0;
}

void assay_frame_limit(struct assay_frame_decoder *d, uint32_t header_max,
                       uint32_t payload_max)
{
    d->header_max = header_max;
    d->payload_max = payload_max;
}

void assay_frame_trim(struct assay_frame_decoder *d)
{
    struct assay_buf rest;

    assay_buf_consume(&d->buf, d->used);
    d->used = 0;
    assay_buf_init(&rest);
    /* Without memory for the small one the large one stays. */
    if (assay_buf_append(&rest, d->buf.data, d->buf.len) < 0)
        return;
    assay_buf_close(&d->buf);
    d->buf = rest;
}

size_t assay_frame_pending(const struct assay_frame_decoder *d)
{
    return d->buf.len - d->used;
}

int assay_frame_push(struct assay_frame_decoder *d, const void *data, size_t n,
                     struct assay_err *err)
{
    assay_buf_consume(&d->buf, d->used);
    d->used = 0;
    if (n > 0 && assay_buf_append(&d->buf, data, n) < 0)
        return assay_fail(err, ASSAY_EMEMORY,
                          "no memory for a frame of %zu bytes", d->buf.len + n);
    return 0;
}

static int check_prefix(const struct assay_frame_decoder *d, const uint8_t *p,
                        struct assay_err *err)
{
    uint32_t flags = get_u32(p + 4), seq = get_u32(p + 8);
    uint32_t header = get_u32(p + 12), payload = get_u32(p + 16);
    uint32_t cap = d->from_agent ? ASSAY_TILE_MAX : ASSAY_CHUNK_MAX;

    if (get_u32(p) != ASSAY_FRAME_MAGIC)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "frame %u: bad magic: expected 'ASY1', found bytes "
                          "%02x %02x %02x %02x (not the assay protocol?)",
                          d->sequence, p[0], p[1], p[2], p[3]);
    if (flags & ~ASSAY_FRAME_FROM_AGENT)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "frame %u: unknown flags 0x%08x", d->sequence, flags);
    if ((flags & ASSAY_FRAME_FROM_AGENT) != (d->from_agent ? 1u : 0u))
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "frame %u: wrong direction: expected a frame from "
                          "the %s (is this an echo?)",
                          d->sequence, d->from_agent ? "agent" : "client");
    if (seq != d->sequence)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "frame out of order: expected sequence %u, found %u",
                          d->sequence, seq);
    if (header == 0)
        return assay_fail(err, ASSAY_EPROTOCOL, "frame %u: empty header", seq);
    if (header > ASSAY_HEADER_MAX)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "frame %u: header of %u bytes exceeds the header "
                          "cap of %u",
                          seq, header, ASSAY_HEADER_MAX);
    if (d->header_max > 0 && header > d->header_max)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "frame %u: header of %u bytes exceeds the %u that "
                          "may come now",
                          seq, header, d->header_max);
    if (d->header_max > 0 && payload > d->payload_max)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "frame %u: payload of %u bytes exceeds the %u that "
                          "may come now",
                          seq, payload, d->payload_max);
    if (payload > cap)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "frame %u: payload of %u bytes exceeds the %s cap "
                          "of %u",
                          seq, payload, d->from_agent ? "tile" : "chunk", cap);
    if (get_u32(p + 20) != 0)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "frame %u: reserved field is 0x%08x, expected 0", seq,
                          get_u32(p + 20));
    return 0;
}

int assay_frame_next(struct assay_frame_decoder *d, struct assay_frame *out,
                     struct assay_err *err)
{
    size_t have = d->buf.len - d->used;
    const uint8_t *p; /* there is none while the buffer is empty */
    uint32_t header, payload;
    uint64_t hash;
    int rc;

    if (d->failed)
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "the stream is broken: an earlier frame was refused");
    if (have < ASSAY_FRAME_PREFIX)
        return 0;
    p = d->buf.data + d->used;
    rc = check_prefix(d, p, err);
    if (rc < 0) {
        d->failed = true;
        return rc;
    }
    header = get_u32(p + 12);
    payload = get_u32(p + 16);
    /* The header is judged as soon as it is there, before its payload. */
    if (have < ASSAY_FRAME_PREFIX + (size_t)header)
        return 0;
    hash = d->header_good ? get_u64(p + 24)
                          : assay_xxh64(p + ASSAY_FRAME_PREFIX, header);
    if (hash != get_u64(p + 24)) {
        d->failed = true;
        return assay_fail(err, ASSAY_EPROTOCOL,
                          "frame %u: header hash is %016llx, expected %016llx",
                          d->sequence, (unsigned long long)hash,
                          (unsigned long long)get_u64(p + 24));
    }
    d->header_good = true;
    if (have < ASSAY_FRAME_PREFIX + (size_t)header + payload)
        return 0;
    d->header_good = false;
    out->flags = get_u32(p + 4);
    out->sequence = d->sequence;
    out->header = p + ASSAY_FRAME_PREFIX;
    out->header_bytes = header;
    out->payload = out->header + header;
    out->payload_bytes = payload;
    d->used += ASSAY_FRAME_PREFIX + (size_t)header + payload;
    d->sequence++;
    return 1;
}
