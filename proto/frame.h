/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first door: bytes to frames. Pure: no I/O, no clock; any thread, one at
 * a time for each decoder.
 *
 *   0  magic u32      "ASY1" on the wire
 *   4  flags u32      bit 0: direction, set when the agent sent it
 *   8  sequence u32   counts the frames of one direction from 0
 *  12  header u32     bytes of the protobuf header, 1 .. 1 MiB
 *  16  payload u32    bytes of the payload, 0 .. 64 KiB from the agent (a
 *                     tile), 0 .. 1 MiB to the agent (a chunk)
 *  20  reserved u32   0
 *  24  hash u64       XXH3-64 of the header
 *
 * All little-endian. The payload has no hash here: the header carries the
 * digest of a tile, and a chunk belongs to a blob that has a SHA-256.
 */
#ifndef ASSAY_PROTO_FRAME_H
#define ASSAY_PROTO_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/hash.h"

#define ASSAY_FRAME_MAGIC 0x31595341u
#define ASSAY_FRAME_PREFIX 32u
#define ASSAY_FRAME_FROM_AGENT 0x1u
#define ASSAY_HEADER_MAX (1024u * 1024u)
#define ASSAY_TILE_MAX ASSAY_TILE_BYTES
#define ASSAY_CHUNK_MAX (1024u * 1024u)

/* A frame; pointers are borrowed from the decoder until its next call. */
struct assay_frame {
    uint32_t flags;
    uint32_t sequence;
    const uint8_t *header;
    uint32_t header_bytes;
    const uint8_t *payload;
    uint32_t payload_bytes;
};

struct assay_frame_decoder {
    struct assay_buf buf;
    size_t used;       /* bytes at the start of buf that were given out */
    uint32_t sequence; /* that the next frame must have */
    bool from_agent;   /* direction that is expected */
    bool header_good;  /* the header at `used` was hashed already */
    bool failed;       /* a stream does not recover */
    uint32_t header_max, payload_max; /* see assay_frame_limit() */
};

void assay_frame_decoder_init(struct assay_frame_decoder *d, bool from_agent);
void assay_frame_decoder_close(struct assay_frame_decoder *d); /* idempotent */

/* Takes n bytes. Never holds more than one frame and what one push added. */
int assay_frame_push(struct assay_frame_decoder *d, const void *data, size_t n,
                     struct assay_err *err) ASSAY_MUST_CHECK;
/* 1: *out is the next frame; 0: bytes are missing; negative ASSAY_E*. */
int assay_frame_next(struct assay_frame_decoder *d, struct assay_frame *out,
                     struct assay_err *err) ASSAY_MUST_CHECK;
/* Tighter caps than the protocol's for frames that are not begun yet; a
 * header_max of 0: the protocol's. */
void assay_frame_limit(struct assay_frame_decoder *d, uint32_t header_max,
                       uint32_t payload_max);
/* Gives memory back that the bytes held do not need. What next() gave out is
 * gone. */
void assay_frame_trim(struct assay_frame_decoder *d);
/* Bytes of an unfinished frame that are held: what a cut stream lost. */
size_t assay_frame_pending(const struct assay_frame_decoder *d);

/* Writes the prefix; sizes must be within the caps (asserted). */
void assay_frame_prefix(uint8_t out[ASSAY_FRAME_PREFIX], bool from_agent,
                        uint32_t sequence, const uint8_t *header,
                        uint32_t header_bytes, uint32_t payload_bytes);

#endif
