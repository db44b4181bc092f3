/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second door: headers to messages and back, slices to blobs and back.
 * Generated protobuf types never leave codec*.c.
 *
 * A decoded message borrows nothing from the bytes it came from, except its
 * payload; it is freed by assay_msg_close(). To send, fill a struct on the
 * stack (strings and digests are borrowed) and call assay_msg_frame().
 * What is decoded is well formed: enums are known, digests have their length,
 * chunks lie within their totals. Whether it makes sense is not judged here.
 * Any thread.
 */
#ifndef ASSAY_PROTO_CODEC_H
#define ASSAY_PROTO_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/core/buf.h"
#include "lib/core/capture.h"
#include "lib/core/err.h"
#include "lib/core/hash.h"
#include "lib/core/probe.h"
#include "lib/core/slice.h"
#include "lib/core/stats.h"
#include "proto/frame.h"

/* ASSAY_MESSAGE(NAME, number, sender): sender is CLIENT or AGENT or BOTH.
 * payload caps and the table in docs/protocol.md follow. */
enum assay_msg_type {
#define ASSAY_MESSAGE(name, number, sender) ASSAY_MSG_##name = number,
#include "proto/messages.def"
#undef ASSAY_MESSAGE
};

struct assay_msg_hello {
    uint32_t version_min, version_max;
    const char *build_id;
};

/* Strings "" where nothing is known. */
struct assay_msg_info {
#define ASSAY_INFO_TEXT(field) const char *field;
#define ASSAY_INFO_NUMBER(type, field) type field;
#include "proto/info.def"
#undef ASSAY_INFO_TEXT
#undef ASSAY_INFO_NUMBER
};
enum assay_health {
    ASSAY_HEALTH_UNKNOWN = 0, /* of an agent that has no self-test */
    ASSAY_HEALTH_TESTING = 1,
    ASSAY_HEALTH_GOOD = 2,
    ASSAY_HEALTH_BAD = 3,
    ASSAY_HEALTH_UNTESTED = 4, /* it was told not to */
};

struct assay_msg_hello_ack {
    uint32_t version, version_min, version_max;
    uint32_t captures; /* bit k: enum assay_capture k; 0: FULL alone */
    struct assay_msg_info info;
};

struct assay_msg_lease {
    const char *owner; /* 1..200 bytes in an acquire */
    uint64_t ttl_ms;
    bool force;
    const char *taken_from; /* in a grant that was forced; else "" */
};

struct assay_msg_digests {
    const uint8_t *sha256; /* n times 32 bytes */
    size_t n;
};

struct assay_msg_blob {
    uint8_t sha256[ASSAY_SHA256_LEN];
    uint64_t total, offset;
};

struct assay_msg_loaded {
    uint32_t layers;
    uint64_t arena_bytes, packed_bytes;
};

struct assay_msg_run_tensor {
    uint32_t tensor;
    uint64_t total, offset;
};

/* Digests of a tensor's tiles, some of all. In one message at most so many. */
#define ASSAY_TILE_DIGEST 16u
#define ASSAY_EXPECT_DIGESTS 32768u
#define ASSAY_TILES_DIGESTS 4096u
struct assay_msg_run_expect {
    uint32_t tensor;
    uint64_t tiles, first; /* first + n <= tiles */
    const uint8_t *digests;
    size_t n; /* 1.. */
};

/* Bits of the captures that this build knows. */
#define ASSAY_CAPTURES_ALL 15u

struct assay_msg_run_start {
    uint32_t run;
    bool isolated;
    enum assay_capture capture;
    const uint8_t *layers; /* bitmap, NULL: all */
    size_t layers_bytes;
    uint32_t cpumask, sample;
    uint64_t layer_timeout_ms, stall_timeout_ms, credit;
    uint64_t probe_work; /* 0: no LAYER_PROBE */
};

struct assay_msg_layer_begin {
    uint32_t run, layer, tensor;
    enum assay_dtype dtype;
    uint32_t rank;
    int64_t dims[ASSAY_MAX_RANK];
    uint64_t bytes;
    const char *kernel;
};

struct assay_msg_chunk {
    uint32_t run, layer;
    uint64_t offset;
    uint8_t digest[16];
};

struct assay_msg_layer_end {
    uint32_t run, layer;
    uint64_t bytes;
    uint8_t digest[16];
    uint64_t time_us;
};

/* Of a layer whose end was sent. It takes ASSAY_PROBE_CREDIT of the credit,
 * more than its header can have. */
#define ASSAY_PROBE_CREDIT 4096u
struct assay_msg_layer_probe {
    uint32_t run, layer;
    struct assay_probe probe; /* assay_probe_bad_field() finds nothing */
};

enum assay_self_test_kind {
    ASSAY_SELF_TEST_KERNEL = 1,
    ASSAY_SELF_TEST_MEMORY = 2,
    ASSAY_SELF_TEST_CLOCK = 3,
    ASSAY_SELF_TEST_TEMPERATURE = 4,
    ASSAY_SELF_TEST_FREQUENCY = 5,
    ASSAY_SELF_TEST_END = 6, /* the verdict on all */
};
enum assay_self_test_verdict {
    ASSAY_VERDICT_GOOD = 1,
    ASSAY_VERDICT_BAD = 2,
    ASSAY_VERDICT_NONE = 3, /* not offered, or not reached */
};
/* One thing that a self-test looked at. */
struct assay_msg_self_test {
    uint32_t kind;    /* enum assay_self_test_kind, or of a newer agent */
    uint32_t verdict; /* enum assay_self_test_verdict */
    const char *name, *rung, *text;
    uint32_t checks;
    uint64_t time_us; /* END: of all */
};

/* Of the layer that is under way. They take credit: the one this much, more
 * than its header can have, the other its digests. */
#define ASSAY_STATS_CREDIT 1024u
struct assay_msg_layer_stats {
    uint32_t run, layer;
    struct assay_stats stats; /* assay_stats_bad_field() finds nothing */
};

struct assay_msg_layer_tiles {
    uint32_t run, layer;
    uint64_t first;
    const uint8_t *digests;
    size_t n; /* 1.. */
};

struct assay_msg_missing {
    uint32_t run, layer, tensor;
};

struct assay_msg_error {
    int code; /* negative ASSAY_E*, 0 in a good run end */
    const char *text, *detail;
    bool has_layer, fatal;
    uint32_t layer;
};

struct assay_msg_note {
    const char *key;  /* 1..64 of a-z 0-9 _ . - */
    const char *text; /* up to 64 KiB, of control bytes newline and tab only */
};

enum assay_note_kind { ASSAY_NOTE_EXPECTED = 1, ASSAY_NOTE_GOT = 2 };
struct assay_msg_note_tensor {
    enum assay_note_kind kind;
    uint32_t tensor;
    uint64_t total, offset;
};

struct assay_msg_note_end {
    uint64_t frames;
    uint8_t digest[16];
};

struct assay_msg_run_end {
    uint32_t run, layers_done, layers_missing;
    uint64_t bytes, time_us;
    struct assay_msg_error error;
};

struct assay_msg {
    enum assay_msg_type type;
    union {
        struct assay_msg_hello hello;
        struct assay_msg_hello_ack hello_ack;
        struct assay_msg_lease lease;     /* ACQUIRE, GRANTED */
        struct assay_msg_digests digests; /* BLOB_QUERY, BLOB_MISSING */
        struct assay_msg_blob blob;       /* PUT; STORED, LOAD: sha256 */
        struct assay_msg_loaded loaded;
        struct assay_msg_run_tensor run_tensor;
        struct assay_msg_run_expect run_expect;
        struct assay_msg_run_start run_start;
        struct assay_msg_layer_begin layer_begin;
        struct assay_msg_chunk chunk;
        struct assay_msg_layer_end layer_end;
        struct assay_msg_missing missing;
        struct assay_msg_layer_probe layer_probe;
        struct assay_msg_layer_stats layer_stats;
        struct assay_msg_layer_tiles layer_tiles;
        struct assay_msg_run_end run_end;
        struct assay_msg_note note;
        struct assay_msg_note_tensor note_tensor;
        struct assay_msg_note_end note_end;
        struct assay_msg_self_test self_test; /* SELF_TEST_REPLY */
        /* CREDIT bytes; CANCEL run; PING, PONG nonce; SELF_TEST bytes of
         * memory, 0: the agent's choice */
        uint64_t number;
        struct assay_msg_info info; /* STATUS_REPLY */
        struct assay_msg_error error;
    } u;
    const uint8_t *payload; /* borrowed from the frame */
    uint32_t payload_bytes;
    void *owner; /* of the strings and digests; NULL when made by hand */
};

/* Decodes a frame. On failure *out is untouched. */
int assay_msg_decode(struct assay_msg *out, const struct assay_frame *frame,
                     struct assay_err *err) ASSAY_MUST_CHECK;
void assay_msg_close(struct assay_msg *m); /* idempotent */

/* Appends prefix and header of the message to out; the payload (payload_bytes
 * long) is the caller's to send behind it. */
int assay_msg_frame(struct assay_buf *out, const struct assay_msg *m,
                    bool from_agent, uint32_t sequence, struct assay_err *err)
    ASSAY_MUST_CHECK;

const char *assay_msg_name(enum assay_msg_type type); /* "RUN_START", "?" */

/* ---- slices (codec_slice.c) --------------------------------------------- */

#define ASSAY_SLICE_BYTES_MAX (64u * 1024 * 1024)

/* Where the bytes of constants are. The returned memory must outlive the
 * slice; NULL: not here. */
struct assay_blob_source {
    void *self;
    const void *(*find)(void *self, const uint8_t sha256[ASSAY_SHA256_LEN],
                        size_t *size);
};

/* Appends the description: the same slice gives the same bytes. */
int assay_slice_encode(const struct assay_slice *s, struct assay_buf *out,
                       struct assay_err *err) ASSAY_MUST_CHECK;
/* memory_bytes bounds what decoding may take; 0: 1 MiB + 64 descriptions.
 * tensor.data of the constants points into the blobs, all else into the
 * slice's own arena. */
int assay_slice_decode(struct assay_slice **out, const void *data, size_t n,
                       const struct assay_blob_source *blobs,
                       size_t memory_bytes, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
