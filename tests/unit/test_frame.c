/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames: golden bytes both ways, any cutting of the stream, and one sentence
 * for each kind of violation.
 *
 * links: proto/frame.c lib/core/buf.c lib/core/err.c lib/core/hash.c
 * libs: -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "proto/frame.h"

/* docs/protocol.md, "Golden bytes": PING with nonce 7, frame 3 of a client. */
static const uint8_t golden[] = {
    0x41, 0x53, 0x59, 0x31, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00,
    0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x47, 0x23, 0xb1, 0x9e, 0x08, 0x71,
    0x12, 0x0b, 0xc2, 0x04, 0x02, 0x08, 0x07,
};

static void test_golden_out(void **state)
{
    uint8_t out[ASSAY_FRAME_PREFIX];

    (void)state;
    assay_frame_prefix(out, false, 3, golden + 32, 5, 0);
    assert_memory_equal(out, golden, 32);
}

static void test_golden_in(void **state)
{
    struct assay_frame_decoder d;
    struct assay_frame f;
    struct assay_err err = {0};

    (void)state;
    assay_frame_decoder_init(&d, false);
    d.sequence = 3;
    assert_int_equal(assay_frame_push(&d, golden, sizeof(golden), &err), 0);
    assert_int_equal(assay_frame_next(&d, &f, &err), 1);
    assert_int_equal(f.sequence, 3);
    assert_int_equal(f.flags, 0);
    assert_int_equal(f.header_bytes, 5);
    assert_memory_equal(f.header, golden + 32, 5);
    assert_int_equal(f.payload_bytes, 0);
    assert_int_equal(assay_frame_next(&d, &f, &err), 0);
    assert_int_equal(assay_frame_pending(&d), 0);
    assay_frame_decoder_close(&d);
}

/* Frames of growing headers and payloads, one behind the other. */
static size_t stream(uint8_t *out, unsigned n)
{
    size_t len = 0;

    for (unsigned i = 0; i < n; i++) {
        uint32_t header = 1 + i * 7, payload = i * i * 11;
        uint8_t *h = out + len + ASSAY_FRAME_PREFIX;

        memset(h, (int)i, header);
        assay_frame_prefix(out + len, true, i, h, header, payload);
        memset(h + header, 0xf0 + (int)i, payload);
        len += ASSAY_FRAME_PREFIX + header + payload;
    }
    return len;
}

static void test_any_cutting(void **state)
{
    static uint8_t bytes[8192];
    size_t n = stream(bytes, 8);

    (void)state;
    for (size_t step = 1; step < 700; step = step * 3 + 1) {
        struct assay_frame_decoder d;
        struct assay_frame f;
        struct assay_err err = {0};
        unsigned seen = 0;

        assay_frame_decoder_init(&d, true);
        for (size_t at = 0; at < n; at += step) {
            size_t k = n - at < step ? n - at : step;

            assert_int_equal(assay_frame_push(&d, bytes + at, k, &err), 0);
            while (assay_frame_next(&d, &f, &err) == 1) {
                assert_int_equal(f.sequence, seen);
                assert_int_equal(f.header_bytes, 1 + seen * 7);
                assert_int_equal(f.payload_bytes, seen * seen * 11);
                assert_int_equal(f.header[0], seen);
                if (f.payload_bytes > 0)
                    assert_int_equal(f.payload[f.payload_bytes - 1],
                                     0xf0 + seen);
                seen++;
            }
        }
        assert_int_equal(seen, 8);
        assert_int_equal(err.code, 0);
        assay_frame_decoder_close(&d);
    }
}

static void put32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

/* Each offset of the prefix with a value that is wrong there. */
static const struct {
    size_t offset;
    uint32_t value;
    const char *sentence;
} violations[] = {
    {0, 0x20544547, "bad magic: expected 'ASY1', found bytes 47 45 54 20"},
    {4, 2, "unknown flags 0x00000002"},
    {4, 0x80000000, "unknown flags 0x80000000"},
    {4, 1, "wrong direction"},
    {8, 1, "expected sequence 0, found 1"},
    {8, 0xffffffff, "expected sequence 0, found 4294967295"},
    {12, 0, "empty header"},
    {12, ASSAY_HEADER_MAX + 1, "exceeds the header cap of 1048576"},
    {12, 0xffffffff, "exceeds the header cap of 1048576"},
    {16, ASSAY_CHUNK_MAX + 1, "exceeds the chunk cap of 1048576"},
    {16, 0xffffffff, "exceeds the chunk cap"},
    {20, 1, "reserved field is 0x00000001, expected 0"},
    {24, 0, "header hash is"},
    {28, 0, "header hash is"},
};

static void test_violations(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(violations) / sizeof(violations[0]); i++) {
        struct assay_frame_decoder d;
        struct assay_frame f;
        struct assay_err err = {0};
        uint8_t bytes[sizeof(golden)];

        memcpy(bytes, golden, sizeof(bytes));
        put32(bytes + 8, 0);
        put32(bytes + violations[i].offset, violations[i].value);
        assay_frame_decoder_init(&d, false);
        assert_int_equal(assay_frame_push(&d, bytes, sizeof(bytes), &err), 0);
        assert_int_equal(assay_frame_next(&d, &f, &err), ASSAY_EPROTOCOL);
        if (strstr(err.text, violations[i].sentence) == NULL)
            fail_msg("'%s' lacks '%s'", err.text, violations[i].sentence);
        /* A stream does not recover. */
        assert_int_equal(assay_frame_next(&d, &f, &err), ASSAY_EPROTOCOL);
        assay_frame_decoder_close(&d);
    }
}

static void test_tile_cap(void **state)
{
    struct assay_frame_decoder d;
    struct assay_frame f;
    struct assay_err err = {0};
    uint8_t bytes[sizeof(golden)];

    (void)state;
    memcpy(bytes, golden, sizeof(bytes));
    put32(bytes + 4, 1);
    put32(bytes + 8, 0);
    put32(bytes + 16, ASSAY_TILE_MAX + 1);
    assay_frame_decoder_init(&d, true);
    assert_int_equal(assay_frame_push(&d, bytes, sizeof(bytes), &err), 0);
    assert_int_equal(assay_frame_next(&d, &f, &err), ASSAY_EPROTOCOL);
    assert_non_null(strstr(err.text, "exceeds the tile cap of 65536"));
    assay_frame_decoder_close(&d);
}

/* A prefix is judged when it is whole, before the bytes it announces. */
static void test_early(void **state)
{
    struct assay_frame_decoder d;
    struct assay_frame f;
    struct assay_err err = {0};
    uint8_t bytes[32];

    (void)state;
    memcpy(bytes, golden, 32);
    put32(bytes + 8, 0);
    put32(bytes + 12, 0xffffffff);
    assay_frame_decoder_init(&d, false);
    assert_int_equal(assay_frame_push(&d, bytes, 31, &err), 0);
    assert_int_equal(assay_frame_next(&d, &f, &err), 0);
    assert_int_equal(assay_frame_push(&d, bytes + 31, 1, &err), 0);
    assert_int_equal(assay_frame_next(&d, &f, &err), ASSAY_EPROTOCOL);
    assay_frame_decoder_close(&d);
}

static void *no_memory(void *p, size_t n)
{
    if (n == 0)
        free(p);
    return NULL;
}

static void test_no_memory(void **state)
{
    struct assay_frame_decoder d;
    struct assay_err err = {0};

    (void)state;
    assay_frame_decoder_init(&d, false);
    assay_alloc_hook = no_memory;
    assert_int_equal(assay_frame_push(&d, golden, sizeof(golden), &err),
                     ASSAY_EMEMORY);
    assay_alloc_hook = NULL;
    assay_frame_decoder_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_out),  cmocka_unit_test(test_golden_in),
        cmocka_unit_test(test_any_cutting), cmocka_unit_test(test_violations),
        cmocka_unit_test(test_tile_cap),    cmocka_unit_test(test_early),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
