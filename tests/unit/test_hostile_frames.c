/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes before a slice: bytes that are no frames, frames that are no
 * messages, hello, the lease, constants, floods. See tests/support/hostile.h;
 * the list is in docs/testing.md.
 *
 * links: tests/support/agents.c tests/support/proc.c tests/support/slices.c
 * links: tests/support/hostile.c tests/support/hostile_table.c
 * links: agent/ lib/net/ proto/ gen/proto/assay.pb-c.c
 * links: lib/core/ lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * libs: -luv -lprotobuf-c -lxxhash -lmbedtls -lmbedx509 -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/support/hostile.h"

#define MIB (1u << 20)
#ifdef __aarch64__ /* under the emulator */
#define CONNECTS 1000
#else
#define CONNECTS 10000
#endif

static const uint8_t sha_1[ASSAY_SHA256_LEN] = {1};
static const uint8_t zeros[MIB];

/* ---- frames and streams ----------------------------------------------------- */

static void whole_hello(struct assay_buf *out)
{
    struct assay_msg m = {.type = ASSAY_MSG_HELLO};

    m.u.hello = (struct assay_msg_hello){1, 1, ASSAY_VERSION};
    assay_buf_init(out);
    assert_int_equal(assay_msg_frame(out, &m, false, 0, NULL), 0);
}

static void hello_byte_by_byte(struct hostile_peer *p)
{
    struct assay_buf hello;

    whole_hello(&hello);
    for (size_t i = 0; i < hello.len; i++)
        hostile_send(p, hello.data + i, 1);
    assay_buf_close(&hello);
    p->sequence = 1;
    hostile_until(p, ASSAY_MSG_HELLO_ACK);
}

static void hello_cut(struct hostile_peer *p)
{
    struct assay_buf hello;

    whole_hello(&hello);
    hostile_send(p, hello.data, hello.len - 1);
    assay_buf_close(&hello);
    shutdown(p->fd, SHUT_WR);
}

static void prefix_cut(struct hostile_peer *p)
{
    hostile_send(p, "ASY1\0\0\0", 7);
    shutdown(p->fd, SHUT_WR);
}

static void nothing_at_all(struct hostile_peer *p)
{
    shutdown(p->fd, SHUT_WR);
}

static void replayed_hello(struct hostile_peer *p)
{
    struct assay_buf hello;

    whole_hello(&hello);
    hostile_send(p, hello.data, hello.len);
    hostile_send(p, hello.data, hello.len);
    assay_buf_close(&hello);
}

/* A megabyte of header is announced, and bytes come without an end. */
static void endless_stream(struct hostile_peer *p)
{
    uint8_t prefix[ASSAY_FRAME_PREFIX];

    assay_frame_prefix(prefix, false, p->sequence, zeros, MIB, MIB);
    hostile_send(p, prefix, sizeof(prefix));
    for (int i = 0; i < 64 && hostile_send(p, zeros, sizeof(zeros)); i++) {
    }
}

/* Bytes behind the fatal error are read and dropped, or not read. */
static void talks_on(struct hostile_peer *p)
{
    struct timeval soon = {.tv_usec = 200000};

    setsockopt(p->fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon));
    for (int i = 0; i < 32 && hostile_send(p, zeros, sizeof(zeros)); i++) {
    }
}

#define FRAME(...) \
    .prefix = &(const struct hostile_prefix) \
    { \
        __VA_ARGS__ \
    }
#define BYTES(s) .bytes = s, .n = sizeof(s) - 1
#define HEADER(s) .header = s, .n = sizeof(s) - 1
#define SAY(...) \
    .messages = (const struct assay_msg[]){__VA_ARGS__}, \
    .n = sizeof((const struct assay_msg[]){__VA_ARGS__}) / \
         sizeof(struct assay_msg)
#define M(NAME) \
    { \
        .type = ASSAY_MSG_##NAME \
    }
#define HELLO(lo, hi, id) \
    { \
        .type = ASSAY_MSG_HELLO, .u.hello = { lo, hi, id } \
    }
#define ACQUIRE(owner, ttl, force) \
    { \
        .type = ASSAY_MSG_LEASE_ACQUIRE, .u.lease = { owner, ttl, force } \
    }
#define PUT(first, total, offset, bytes) \
    { \
        .type = ASSAY_MSG_BLOB_PUT, .u.blob = {{first}, total, offset}, \
        .payload_bytes = bytes \
    }

/* ---- leases ----------------------------------------------------------------- */

static void acquire(struct hostile_peer *p, const char *owner, uint64_t ttl,
                    bool force)
{
    struct assay_msg m = {.type = ASSAY_MSG_LEASE_ACQUIRE};

    m.u.lease =
        (struct assay_msg_lease){.owner = owner, .ttl_ms = ttl, .force = force};
    hostile_say(p, m, NULL, 0);
}

static void no_ttl(struct hostile_peer *p)
{
    acquire(p, "no ttl", 0, true);
    hostile_until(p, ASSAY_MSG_LEASE_GRANTED);
    assert_int_equal(p->got.u.lease.ttl_ms, 60000);
}

static void absurd_ttl(struct hostile_peer *p)
{
    acquire(p, "for ever", UINT64_MAX, true);
    hostile_until(p, ASSAY_MSG_LEASE_GRANTED);
    assert_int_equal(p->got.u.lease.ttl_ms, 3600000);
}

static void longest_owner(struct hostile_peer *p)
{
    char owner[201];

    memset(owner, '%', 200);
    owner[200] = '\0';
    acquire(p, owner, 1000, true);
    hostile_until(p, ASSAY_MSG_LEASE_GRANTED);
}

static void too_long_owner(struct hostile_peer *p)
{
    char owner[202];

    memset(owner, 'x', 201);
    owner[201] = '\0';
    acquire(p, owner, 1000, true);
}

/* Somebody else has it: asked a hundred times, and refused a hundred times. */
static void lease_of_another(struct hostile_peer *p)
{
    struct hostile_peer holder;

    hostile_reach(&holder, hostile_agent(), HOSTILE_LEASED);
    for (int i = 0; i < 100; i++) {
        acquire(p, "me too", 1000, false);
        assert_int_equal(hostile_hear(p), ASSAY_MSG_ERROR);
        assert_int_equal(p->got.u.error.code, ASSAY_EBUSY);
        assert_false(p->got.u.error.fatal);
    }
    hostile_hang_up(&holder);
}

static void loses_the_lease(struct hostile_peer *p)
{
    struct hostile_peer thief;

    (void)p;
    hostile_reach(&thief, hostile_agent(), HOSTILE_LEASED); /* with force */
    hostile_hang_up(&thief);
}

/* ---- constants -------------------------------------------------------------- */

/* Bytes of zeros that have no such hash. */
static void upload(struct hostile_peer *p, uint64_t total)
{
    for (uint64_t at = 0; at < total; at += MIB)
        hostile_say(p, hostile_blob(ASSAY_MSG_BLOB_PUT, sha_1, total, at),
                    zeros, MIB);
}

static void wrong_hash(struct hostile_peer *p)
{
    upload(p, 8 * MIB);
}

static void beyond_the_budget(struct hostile_peer *p)
{
    upload(p, 80 * MIB);
}

static void upload_cut(struct hostile_peer *p)
{
    hostile_say(p, hostile_blob(ASSAY_MSG_BLOB_PUT, sha_1, 32 * MIB, 0), zeros,
                MIB);
}

static void largest_query(struct hostile_peer *p)
{
    struct assay_msg m = {.type = ASSAY_MSG_BLOB_QUERY};

    m.u.digests.sha256 = zeros;
    m.u.digests.n = 32000;
    for (int i = 0; i < 8; i++) {
        hostile_say(p, m, NULL, 0);
        hostile_until(p, ASSAY_MSG_BLOB_MISSING);
        assert_int_equal(p->got.u.digests.n, 32000);
    }
}

/* Asks and does not read: it is not read either. */
static void flood(struct hostile_peer *p, struct assay_msg m)
{
    struct timeval soon = {.tv_usec = 200000};
    unsigned sent = 0;

    setsockopt(p->fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon));
    while (sent < 400000 && hostile_say(p, m, NULL, 0))
        sent++;
    assert_true(sent < 400000);
}

static void flood_queries(struct hostile_peer *p)
{
    struct assay_msg m = {.type = ASSAY_MSG_BLOB_QUERY};

    m.u.digests.sha256 = zeros;
    m.u.digests.n = 32000;
    flood(p, m);
}

static void flood_pings(struct hostile_peer *p)
{
    flood(p, hostile_number(ASSAY_MSG_PING, UINT64_MAX));
}

static void flood_status(struct hostile_peer *p)
{
    flood(p, hostile_plain(ASSAY_MSG_STATUS));
}

static void small_constants(struct hostile_peer *p)
{
    uint8_t sha[ASSAY_SHA256_LEN];

    for (uint32_t i = 0; i < 2000; i++) {
        assay_sha256(&i, sizeof(i), sha);
        hostile_say(p, hostile_blob(ASSAY_MSG_BLOB_PUT, sha, sizeof(i), 0), &i,
                    sizeof(i));
        hostile_until(p, ASSAY_MSG_BLOB_STORED);
    }
}

/* ---- crowds ----------------------------------------------------------------- */

static void ten_thousand_connects(struct hostile_peer *p)
{
    struct hostile_peer one;

    (void)p;
    for (int i = 0; i < CONNECTS; i++) {
        hostile_dial(&one, hostile_agent());
        if (i % 3 == 0)
            hostile_send(&one, "ASY1", 4);
        hostile_hang_up(&one);
    }
}

/* Every one of them announces what it may, and sends half of it. */
static void half_a_frame_each(struct hostile_peer *p)
{
    static struct hostile_peer crowd[60];
    uint8_t prefix[ASSAY_FRAME_PREFIX];
    uint64_t before = agents_resident(hostile_agent()->pid);

    (void)p;
    assay_frame_prefix(prefix, false, 0, zeros, 4096, 0);
    for (int i = 0; i < 60; i++) {
        hostile_dial(&crowd[i], hostile_agent());
        hostile_send(&crowd[i], prefix, sizeof(prefix));
        hostile_send(&crowd[i], zeros, 4000);
    }
    /* What they cost together, when all of it has come. */
    hostile_until(
        (hostile_say(p, hostile_number(ASSAY_MSG_PING, 1), NULL, 0), p),
        ASSAY_MSG_PONG);
#ifdef AGENTS_MEMORY_TELLS
    assert_true(agents_resident(hostile_agent()->pid) < before + 2 * MIB);
#endif
    (void)before;
    for (int i = 0; i < 60; i++)
        hostile_hang_up(&crowd[i]);
}

static const struct hostile_case cases[] = {
    {"another protocol's text", HOSTILE_HELLO,
     BYTES("GET / HTTP/1.1\r\nHost: board\r\nAccept: */*\r\n\r\n"),
     .code = ASSAY_EPROTOCOL, .words = "bad magic"},
    {"magic of another version", HOSTILE_HELLO, FRAME("ASY9", .header = 4),
     .code = ASSAY_EPROTOCOL, .words = "bad magic"},
    {"an echo: the agent's direction", HOSTILE_HELLO,
     FRAME(.flags = 1, .header = 4), .code = ASSAY_EPROTOCOL,
     .words = "wrong direction"},
    {"unknown flags", HOSTILE_HELLO, FRAME(.flags = 0x80, .header = 4),
     .code = ASSAY_EPROTOCOL, .words = "unknown flags"},
    {"sequence that does not begin at 0", HOSTILE_HELLO,
     FRAME(.sequence = 7, .header = 4), .code = ASSAY_EPROTOCOL,
     .words = "expected sequence 0, found 7"},
    {"frames left out", HOSTILE_READY, FRAME(.sequence = 1, .header = 4),
     .code = ASSAY_EPROTOCOL, .words = "expected sequence 1, found 2"},
    {"header of no bytes", HOSTILE_HELLO, FRAME(.header = 0),
     .code = ASSAY_EPROTOCOL, .words = "empty header"},
    {"header above the cap", HOSTILE_LEASED, FRAME(.header = MIB + 1),
     .code = ASSAY_EPROTOCOL, .words = "exceeds the header cap"},
    {"header of 4 GiB", HOSTILE_LEASED, FRAME(.header = UINT32_MAX),
     .code = ASSAY_EPROTOCOL, .words = "exceeds the header cap"},
    {"payload above the cap", HOSTILE_LEASED,
     FRAME(.header = 4, .payload = MIB + 1), .code = ASSAY_EPROTOCOL,
     .words = "exceeds the chunk cap"},
    {"payload of 4 GiB", HOSTILE_LEASED,
     FRAME(.header = 4, .payload = UINT32_MAX), .code = ASSAY_EPROTOCOL,
     .words = "exceeds the chunk cap"},
    {"large header without a lease", HOSTILE_READY, FRAME(.header = 5000),
     .code = ASSAY_EPROTOCOL, .words = "exceeds the 4096 that may come now"},
    {"payload without a lease", HOSTILE_READY, FRAME(.header = 4, .payload = 1),
     .code = ASSAY_EPROTOCOL,
     .words = "payload of 1 bytes exceeds the 0 that may come now"},
    {"reserved field is used", HOSTILE_HELLO, FRAME(.header = 4, .reserved = 1),
     .code = ASSAY_EPROTOCOL, .words = "reserved field"},
    {"wrong checksum of a header", HOSTILE_HELLO,
     FRAME(.header = 4, .bad_hash = true), .code = ASSAY_EPROTOCOL,
     .words = "header hash"},
    {"header that is no protobuf", HOSTILE_HELLO, HEADER("\xff\xff\xff\xff"),
     .code = ASSAY_EPROTOCOL, .words = "is not a protobuf message"},
    {"unknown message number", HOSTILE_HELLO, HEADER("\xca\x3e\x00"),
     .code = ASSAY_EPROTOCOL, .words = "unknown message number 1001"},
    {"nested length beyond its header", HOSTILE_HELLO, HEADER("\x0a\x7f\x08"),
     .code = ASSAY_EPROTOCOL, .words = "is not a protobuf message"},
    {"a message of the agent", HOSTILE_READY, HEADER("\xca\x04\x00"),
     .code = ASSAY_EPROTOCOL, .words = "PONG: sent by the client"},
    {"a message of bundles", HOSTILE_LOADED,
     HEADER("\x82\x05\x05\x0a\x01k\x12\x00"), .code = ASSAY_EPROTOCOL,
     .words = "NOTE is out of turn"},
    {"ping with a payload", HOSTILE_LEASED,
     SAY({.type = ASSAY_MSG_PING, .payload_bytes = 9}), .code = ASSAY_EPROTOCOL,
     .words = "payload of 9 bytes, expected none"},
    {"connects, says nothing, half closes", HOSTILE_HELLO,
     .act = nothing_at_all, .end = HOSTILE_SILENT},
    {"prefix is cut", HOSTILE_HELLO, .act = prefix_cut, .end = HOSTILE_SILENT},
    {"header is cut", HOSTILE_HELLO, .act = hello_cut, .end = HOSTILE_SILENT},
    {"hello byte by byte", HOSTILE_HELLO, .act = hello_byte_by_byte,
     .end = HOSTILE_ANSWERED},
    {"replayed hello", HOSTILE_HELLO, .act = replayed_hello,
     .code = ASSAY_EPROTOCOL, .words = "expected sequence 1, found 0"},
    {"endless stream behind a huge header", HOSTILE_LEASED,
     .act = endless_stream, .code = ASSAY_EPROTOCOL},
    {"endless stream of no frames", HOSTILE_HELLO, .act = talks_on,
     .code = ASSAY_EPROTOCOL, .words = "bad magic"},

    {"version of the past", HOSTILE_HELLO, SAY(HELLO(0, 0, "0.1")),
     .code = ASSAY_EVERSION, .words = "update assay on the host"},
    {"version of the future", HOSTILE_HELLO, SAY(HELLO(900, 901, "9.0")),
     .code = ASSAY_EVERSION, .words = "update assayd on the board"},
    {"versions the wrong way round", HOSTILE_HELLO, SAY(HELLO(9, 1, "?")),
     .code = ASSAY_EVERSION},
    {"build id of formats", HOSTILE_HELLO,
     SAY(HELLO(7, 8, "%n%n%s%s%s%1000000d%*s")), .code = ASSAY_EVERSION,
     .words = "%n%n%s"},
    {"no hello", HOSTILE_HELLO, SAY(M(PING)), .code = ASSAY_EPROTOCOL,
     .words = "in state 'hello'"},
    {"hello twice", HOSTILE_READY, SAY(HELLO(1, 1, "again")),
     .code = ASSAY_EPROTOCOL, .words = "HELLO is out of turn"},
    {"run without a lease", HOSTILE_READY, SAY(M(CANCEL)),
     .code = ASSAY_EPROTOCOL, .words = "no lease"},
    {"load without a lease", HOSTILE_READY, SAY(M(SLICE_LOAD)),
     .code = ASSAY_EPROTOCOL, .words = "no lease"},
    {"release without a lease", HOSTILE_READY, SAY(M(LEASE_RELEASE)),
     .code = ASSAY_EPROTOCOL},
    {"lease without an owner", HOSTILE_READY, SAY(ACQUIRE("", 1000, true)),
     .code = ASSAY_EPROTOCOL, .words = "owner length"},
    {"owner too long", HOSTILE_READY, .act = too_long_owner,
     .code = ASSAY_EPROTOCOL, .words = "owner length"},
    {"owner with control bytes", HOSTILE_READY,
     SAY(ACQUIRE("me\x1b[2J", 1000, true)), .code = ASSAY_EPROTOCOL,
     .words = "owner byte"},
    {"longest owner, of formats", HOSTILE_READY, .act = longest_owner,
     .end = HOSTILE_ANSWERED},
    {"lease for no time", HOSTILE_READY, .act = no_ttl,
     .end = HOSTILE_ANSWERED},
    {"lease for 585 million years", HOSTILE_READY, .act = absurd_ttl,
     .end = HOSTILE_ANSWERED},
    {"lease twice", HOSTILE_LEASED, SAY(ACQUIRE("again", 1000, true)),
     .code = ASSAY_EPROTOCOL, .words = "out of turn"},
    {"lease of another, asked for 100 times", HOSTILE_READY,
     .act = lease_of_another, .end = HOSTILE_ANSWERED},
    {"lease is taken over", HOSTILE_LEASED, .act = loses_the_lease,
     .code = ASSAY_EBUSY, .words = "taken over by 'hostile@test 1'"},

    {"constant with a wrong hash", HOSTILE_LEASED, .act = wrong_hash,
     .end = HOSTILE_REFUSED, .code = ASSAY_EPROTOCOL,
     .words = "expected sha256:01000000"},
    {"digest of 31 bytes", HOSTILE_LEASED,
     HEADER("\xb2\x01\x21\x0a\x1f"
            "0123456789012345678901234567890"),
     .code = ASSAY_EPROTOCOL, .words = "digest has 31 bytes"},
    {"digests that are no multiple of 32 bytes", HOSTILE_LEASED,
     HEADER("\xa2\x01\x03\x0a\x01x"), .code = ASSAY_EPROTOCOL,
     .words = "multiple of 32"},
    {"constant beyond the budget", HOSTILE_LEASED, .act = beyond_the_budget,
     .end = HOSTILE_REFUSED, .code = ASSAY_EMEMORY,
     .words = "exceeds the agent's memory budget"},
    {"constant of 2^64 - 1 bytes, another chunk of it", HOSTILE_LEASED,
     SAY(PUT(1, UINT64_MAX, 0, 3), PUT(1, UINT64_MAX, 9, 3)),
     .code = ASSAY_EPROTOCOL, .words = "expected at 3"},
    {"chunk beyond its total", HOSTILE_LEASED, SAY(PUT(1, 2, 0, 3)),
     .code = ASSAY_EPROTOCOL, .words = "exceeds its total of 2"},
    {"offset and length overflow", HOSTILE_LEASED,
     SAY(PUT(1, UINT64_MAX, UINT64_MAX - 1, 3)), .code = ASSAY_EPROTOCOL,
     .words = "exceeds its total"},
    {"empty chunk", HOSTILE_LEASED, SAY(PUT(1, 5, 0, 0)),
     .code = ASSAY_EPROTOCOL, .words = "is empty"},
    {"replayed chunk", HOSTILE_LEASED, SAY(PUT(1, 9, 0, 3), PUT(1, 9, 0, 3)),
     .code = ASSAY_EPROTOCOL, .words = "chunk at 0 of 9, expected at 3"},
    {"gap between chunks", HOSTILE_LEASED,
     SAY(PUT(1, 9, 0, 3), PUT(1, 9, 6, 3)), .code = ASSAY_EPROTOCOL,
     .words = "chunk at 6 of 9, expected at 3"},
    {"another constant inside one", HOSTILE_LEASED,
     SAY(PUT(1, 9, 0, 3), PUT(2, 9, 3, 3)), .code = ASSAY_EPROTOCOL,
     .words = "of the one that was begun"},
    {"total that changes", HOSTILE_LEASED,
     SAY(PUT(1, 9, 0, 3), PUT(1, 8, 3, 3)), .code = ASSAY_EPROTOCOL,
     .words = "of the one that was begun"},
    {"leaves inside an upload", HOSTILE_LEASED, .act = upload_cut,
     .end = HOSTILE_LEFT},
    {"8 queries of 32,000 digests", HOSTILE_LEASED, .act = largest_query,
     .end = HOSTILE_ANSWERED},
    {"2,000 tiny constants", HOSTILE_LEASED, .act = small_constants,
     .end = HOSTILE_ANSWERED},

    {"flood of pings, nothing read", HOSTILE_READY, .act = flood_pings,
     .end = HOSTILE_LEFT},
    {"flood of status, nothing read", HOSTILE_LEASED, .act = flood_status,
     .end = HOSTILE_LEFT},
    {"flood of large queries, nothing read", HOSTILE_LEASED,
     .act = flood_queries, .end = HOSTILE_LEFT},
    {"60 peers with half a frame", HOSTILE_READY, .act = half_a_frame_each,
     .end = HOSTILE_ANSWERED},
    {"10,000 connects", HOSTILE_READY, .act = ten_thousand_connects,
     .end = HOSTILE_ANSWERED},
};

int main(int argc, char **argv)
{
    return hostile_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
