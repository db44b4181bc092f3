/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages: golden bytes that protoc made, both ways, and a sentence for what
 * is malformed.
 *
 * links: proto/ gen/proto/assay.pb-c.c lib/core/ kernels/requant.c
 * libs: -lprotobuf-c -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu.h"
#include "proto/codec.h"

#define GOLDEN "tests/data/protocol/golden.txt"

static size_t unhex(const char *text, uint8_t *out)
{
    size_t n = 0;

    for (; isxdigit((unsigned char)text[0]); text += 2) {
        char pair[3] = {text[0], text[1], '\0'};

        out[n++] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return n;
}

static bool from_agent(enum assay_msg_type type)
{
    enum { CLIENT, AGENT };
    switch (type) {
#define ASSAY_MESSAGE(name, number, sender) \
    case ASSAY_MSG_##name: \
        return sender == AGENT;
#include "proto/messages.def"
#undef ASSAY_MESSAGE
    }
    return false;
}

/* A frame that was never on a wire. */
static struct assay_frame as_frame(const uint8_t *header, size_t n, bool agent,
                                   uint32_t payload)
{
    static const uint8_t bytes[1u << 20];

    return (struct assay_frame){
        .flags = agent ? ASSAY_FRAME_FROM_AGENT : 0,
        .header = header,
        .header_bytes = (uint32_t)n,
        .payload = bytes,
        .payload_bytes = payload,
    };
}

static uint32_t payload_of(enum assay_msg_type type)
{
    return type == ASSAY_MSG_BLOB_PUT || type == ASSAY_MSG_RUN_TENSOR ||
                   type == ASSAY_MSG_CHUNK || type == ASSAY_MSG_NOTE_TENSOR
               ? 1000
               : 0;
}

static void one_golden(const char *name, const uint8_t *header, size_t n)
{
    struct assay_msg m;
    struct assay_frame frame;
    struct assay_err err = {0};
    struct assay_buf out;
    enum assay_msg_type type = 0;

#define ASSAY_MESSAGE(word, number, sender) \
    if (strcmp(name, #word) == 0) \
        type = ASSAY_MSG_##word;
#include "proto/messages.def"
#undef ASSAY_MESSAGE
    assert_int_not_equal(type, 0);
    frame = as_frame(header, n, from_agent(type), payload_of(type));
    if (assay_msg_decode(&m, &frame, &err) < 0)
        fail_msg("%s: %s", name, err.text);
    assert_int_equal(m.type, type);
    assay_buf_init(&out);
    assert_int_equal(assay_msg_frame(&out, &m, from_agent(type), 9, &err), 0);
    assert_int_equal(out.len, ASSAY_FRAME_PREFIX + n);
    assert_memory_equal(out.data + ASSAY_FRAME_PREFIX, header, n);
    assay_buf_close(&out);
    assay_msg_close(&m);
}

static void test_golden(void **state)
{
    static char line[8192];
    static uint8_t header[4096];
    unsigned count = 0, want = 0;
    FILE *f = fopen(GOLDEN, "r");

    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof(line), f) != NULL) {
        char *space = strchr(line, ' ');

        if (line[0] == '#' || space == NULL)
            continue;
        *space = '\0';
        one_golden(line, header, unhex(space + 1, header));
        count++;
    }
    fclose(f);
#define ASSAY_MESSAGE(name, number, sender) want++;
#include "proto/messages.def"
#undef ASSAY_MESSAGE
    assert_int_equal(count, want); /* every message has a line */
}

/* Encoding and decoding could be wrong in the same way: fields by hand. */
static void test_fields(void **state)
{
    static const uint8_t start[] = {0xca, 0x02, 0x17, 0x08, 0x05, 0x10, 0x02,
                                    0x1a, 0x01, 0x05, 0x20, 0xff, 0xff, 0xff,
                                    0xff, 0x0f, 0x28, 0x02, 0x30, 0xac, 0x02,
                                    0x38, 0x07, 0x40, 0x80, 0x08};
    struct assay_frame f = as_frame(start, sizeof(start), false, 0);
    struct assay_err err = {0};
    struct assay_msg m;

    (void)state;
    assert_int_equal(assay_msg_decode(&m, &f, &err), 0);
    assert_int_equal(m.type, ASSAY_MSG_RUN_START);
    assert_int_equal(m.u.run_start.run, 5);
    assert_true(m.u.run_start.isolated);
    assert_int_equal(m.u.run_start.layers_bytes, 1);
    assert_int_equal(m.u.run_start.layers[0], 5);
    assert_int_equal(m.u.run_start.cpumask, ASSAY_CPU_ALL);
    assert_int_equal(m.u.run_start.sample, 2);
    assert_int_equal(m.u.run_start.layer_timeout_ms, 300);
    assert_int_equal(m.u.run_start.stall_timeout_ms, 7);
    assert_int_equal(m.u.run_start.credit, 1024);
    assay_msg_close(&m);
    assay_msg_close(&m);
}

static const struct {
    const char *header; /* hex */
    bool agent;
    uint32_t payload;
    const char *sentence;
} malformed[] = {
    {"ff", false, 0, "header of 1 bytes is not a protobuf message"},
    {"0a05080110", false, 0, "is not a protobuf message"},
    {"c2040208", false, 0, "is not a protobuf message"},
    {"9a3f00", false, 0, "unknown message number 1011"},
    {"9a05020807", false, 0, "unknown message number 83"},
    {"c204020807", true, 0, "PING: sent by the agent, expected from the cli"},
    {"ca04020807", false, 0, "PONG: sent by the client, expected from the"},
    {"c204020807", false, 5, "PING: payload of 5 bytes, expected none"},
    {"5200", false, 0, "'owner length' is 0, expected 1..200"},
    {"52030a0107", false, 0, "'owner byte' is 7, expected no control bytes"},
    {"a201030a0101", false, 0, "digests have 1 bytes, expected a multiple"},
    {"b201030a0101", false, 0, "BLOB_PUT: digest has 1 bytes, expected 32"},
    {"f201030a0101", false, 0, "SLICE_LOAD: digest has 1 bytes, expected 32"},
    {"c20204080310ff", false, 9, "is not a protobuf message"},
    {"c2020408031008", false, 9, "chunk of 9 bytes at 0 exceeds its total"},
    {"c20206080310081809", false, 1, "at 9 exceeds its total of 8"},
    {"c2020408031008", false, 0, "RUN_TENSOR: chunk at 0 is empty"},
    {"ca02020801", false, 0, "'mode' is 0, expected 1 (cumulative) or 2"},
    {"ca020408011003", false, 0, "'mode' is 3, expected 1"},
    {"920306080210012063", true, 0, "'dtype' is 99, expected 1..7"},
    {"9a03020805", true, 0, "'payload' is 0, expected 1..65536 bytes"},
    {"9a03020805", true, 1, "CHUNK: digest has 0 bytes, expected 16"},
    {"a203020805", true, 0, "LAYER_END: digest has 0 bytes, expected 16"},
    {"8205030a0141", false, 0, "NOTE: the key is expected to have 1..64"},
    {"8205060a0161120107", false, 0, "'text byte' is 7, expected no control"},
    {"8a05020803", false, 1, "'kind' is 3, expected 1 (expected) or 2 (got)"},
    {"8a05020801", false, 3, "NOTE_TENSOR: chunk of 3 bytes at 0 exceeds"},
    {"9205020807", false, 0, "NOTE_END: digest has 0 bytes, expected 16"},
    {"d20500", true, 0, "ERROR: code 0 is not an error"},
    {"d205020805", true, 0, "ERROR: unknown error code 5"},
    {"d2050b0883ffffffffffffffff01", true, 0, "unknown error code -125"},
    {"ba030418013002", true, 0, "'sums' is not"},
    {"ba03081801280130043802", true, 0, "'sums' is not"},
    {"ba030418014003", true, 0, "'width of partial sums' is"},
    {"ba03051801508002", true, 0, "'width of partial sums' is"},
    {"ba03081801620062021001", true, 0, "'facts' is not as it has"},
    {"ba030818015a04100c1801", true, 0, "'step' is not as it has"},
    {"ba030818015a0408411801", true, 0, "'operand' is not"},
    {"ba030618015a021001", true, 0, "'can' is not as it has to"},
    {"ba030618015a021810", true, 0, "'can' is not as it has to"},
    {"ba030818015a0418012801", true, 0, "'count of a step' is not"},
    {"ba030a18015a0218015a021802", true, 0, "'step that is there tw"},
    {"ba030618016a020102", true, 0, "'n_entries' is not as it"},
    {"ba032518016a210101010101010101010101010101010101010101010101"
     "01010101010101010101",
     true, 0, "'entries length' is 33"},
    {"ba03022801", true, 0, "'values' is not as it has"},
    {"ca020410014804", false, 0, "'capture' is 4, expected 0..3"},
    {"d2020408011001", false, 0, "RUN_EXPECT: digests have 0 bytes, expected"},
    {"d202131001220f010101010101010101010101010101", false, 0,
     "digests have 15 bytes, expected 1 to 32768"},
    {"d2022410012220010101010101010101010101010101010101010101"
     "0101010101010101010101",
     false, 0, "2 digests from tile 0 on exceed its 1 tiles"},
    {"d2021610011802221001010101010101010101010101010101", false, 0,
     "1 digests from tile 2 on exceed its 1 tiles"},
    {"d2021610011801221001010101010101010101010101010101", false, 0,
     "1 digests from tile 1 on exceed its 1 tiles"},
    {"ca03021001", true, 0, "LAYER_TILES: digests have 0 bytes"},
    {"ca031322110101010101010101010101010101010101", true, 0,
     "digests have 17 bytes, expected 1 to 4096"},
    {"c203021801", true, 0, "LAYER_STATS: 0 bins, expected 32"},
    {"c2032518018a01200000000000000000000000000000000000000000"
     "000000000000000000000000",
     true, 0, "LAYER_STATS: field 'bins' is not"},
    {"c2032518018a01200000000200000000000000000000000000000000"
     "000000000000000000000000",
     true, 0, "LAYER_STATS: field 'bins' is not"},
    {"c20327180120028a0120000000010000000000000000000000000000"
     "0000000000000000000000000000",
     true, 0, "field 'zeros' is not"},
    {"c20327180130028a0120000000010000000000000000000000000000"
     "0000000000000000000000000000",
     true, 0, "field 'at_low' is not"},
    {"c20327180160018a0120000000000000000000000000000000000000"
     "0000000000000000000000000000",
     true, 0, "field 'is_float' is not"},
    {"c203291801380160028a012000000000000000000000000000000000"
     "00000000000000000000000000000000",
     true, 0, "field 'nan' is not"},
    {"c203291801400448028a012000000001000000000000000000000000"
     "00000000000000000000000000000000",
     true, 0, "field 'min' is not"},
    {"c20331180138018101000000000000f87f8a01200000000100000000"
     "000000000000000000000000000000000000000000000000",
     true, 0, "field 'real_sum' is not"},
    {"c2032e180179000000000000f03f8a01200000000100000000000000"
     "000000000000000000000000000000000000000000",
     true, 0, "field 'is_float' is not"},
    {"c2032c5101000000000000008a012000000000000000000000000000"
     "00000000000000000000000000000000000000",
     true, 0, "field 'count' is not"},
};

static void test_malformed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
        struct assay_err err = {0};
        struct assay_msg m = {.type = 77};
        uint8_t header[128];
        size_t n = unhex(malformed[i].header, header);
        struct assay_frame f =
            as_frame(header, n, malformed[i].agent, malformed[i].payload);

        if (assay_msg_decode(&m, &f, &err) != ASSAY_EPROTOCOL)
            fail_msg("%s was taken", malformed[i].header);
        if (strstr(err.text, malformed[i].sentence) == NULL)
            fail_msg("%s: '%s' lacks '%s'", malformed[i].header, err.text,
                     malformed[i].sentence);
        assert_int_equal(m.type, 77); /* untouched */
    }
}

/* A probe with all that it can hold. */
static struct assay_msg full_probe(void)
{
    struct assay_msg m = {.type = ASSAY_MSG_LAYER_PROBE};
    struct assay_probe *p = &m.u.layer_probe.probe;

    m.u.layer_probe.run = m.u.layer_probe.layer = UINT32_MAX;
    p->values = p->work = UINT64_MAX;
    p->has_sums = 1;
    p->min = INT64_MIN;
    p->max = INT64_MAX;
    memset(p->sums, ASSAY_PROBE_LEAVES, sizeof(p->sums));
    p->facts = (1u << ASSAY_PROBE_FACTS) - 1;
    for (unsigned i = 0; i < ASSAY_PROBE_FACTS; i++)
        p->fact[i] = UINT64_MAX - i;
    p->n_entries = ASSAY_PROBE_ENTRIES;
    memset(p->entries, 0xa5, sizeof(p->entries));
    p->n_steps = ASSAY_PROBE_STEPS;
    for (uint32_t i = 0; i < p->n_steps; i++)
        p->steps[i] = (struct assay_probe_step){
            .operand = (uint8_t)(60 + i / ASSAY_MAX_STEPS),
            .step = (uint8_t)(i % ASSAY_MAX_STEPS),
            .can = ASSAY_PROBE_CAN_ALL,
            .ties = UINT64_MAX - 4 * i,
            .low = UINT64_MAX - 4 * i - 1,
            .high = UINT64_MAX - 4 * i - 2,
            .left = UINT64_MAX - 4 * i - 3};
    return m;
}

/* Every field comes back, and the credit covers the largest header. */
static void test_probe(void **state)
{
    struct assay_msg m = full_probe(), back;
    struct assay_err err = {0};
    struct assay_frame f;
    struct assay_buf out, again;

    (void)state;
    assert_null(assay_probe_bad_field(&m.u.layer_probe.probe));
    assay_buf_init(&out);
    assert_int_equal(assay_msg_frame(&out, &m, true, 0, &err), 0);
    assert_true(out.len <= ASSAY_PROBE_CREDIT);
    f = as_frame(out.data + ASSAY_FRAME_PREFIX, out.len - ASSAY_FRAME_PREFIX,
                 true, 0);
    assert_int_equal(assay_msg_decode(&back, &f, &err), 0);
    assert_int_equal(back.u.layer_probe.run, UINT32_MAX);
    assert_int_equal(back.u.layer_probe.layer, UINT32_MAX);
    assay_buf_init(&again);
    assert_int_equal(assay_msg_frame(&again, &back, true, 0, &err), 0);
    assert_int_equal(again.len, out.len);
    assert_memory_equal(again.data, out.data, out.len);
    assert_int_equal(back.u.layer_probe.probe.min, INT64_MIN);
    assert_int_equal(back.u.layer_probe.probe.steps[47].left,
                     UINT64_MAX - 4 * 47 - 3);
    assay_msg_close(&back);
    assay_buf_close(&again);
    assay_buf_close(&out);
}

/* Two bytes a field that no message has: protobuf-c keeps each of them. */
static void test_budget(void **state)
{
    size_t n = 1u << 20;
    uint8_t *header = malloc(n);
    struct assay_frame f;
    struct assay_err err = {0};
    struct assay_msg m;

    (void)state;
    for (size_t i = 0; i < n; i += 2) {
        header[i] = 0x78; /* field 15, a varint */
        header[i + 1] = 0;
    }
    f = as_frame(header, n, false, 0);
    assert_int_equal(assay_msg_decode(&m, &f, &err), ASSAY_EPROTOCOL);
    assert_non_null(strstr(err.text, "frame 0"));
    free(header);
}

static void test_header_cap(void **state)
{
    struct assay_msg m = {.type = ASSAY_MSG_BLOB_QUERY};
    struct assay_err err = {0};
    struct assay_buf out;

    (void)state;
    m.u.digests.n = (1u << 20) / 32;
    m.u.digests.sha256 = calloc(m.u.digests.n, 32);
    assay_buf_init(&out);
    assert_int_equal(assay_msg_frame(&out, &m, false, 0, &err), ASSAY_ERANGE);
    assert_non_null(strstr(err.text, "exceeds the header cap of 1048576"));
    assert_int_equal(out.len, 0);
    assay_buf_close(&out);
    free((void *)(uintptr_t)m.u.digests.sha256);
}

static long allocations_left;

static void *failing(void *p, size_t n)
{
    if (n == 0) {
        free(p);
        return NULL;
    }
    return allocations_left-- > 0 ? realloc(p, n) : NULL;
}

/* The n-th allocation fails, for every n. */
static void test_no_memory(void **state)
{
    static const char *const owner = "me@here 1";
    struct assay_msg m = {.type = ASSAY_MSG_LEASE_ACQUIRE};
    struct assay_err err = {0};
    struct assay_frame f;
    struct assay_buf out;
    int rc = ASSAY_EMEMORY;
    long n;

    (void)state;
    m.u.lease.owner = owner;
    assay_alloc_hook = failing;
    allocations_left = 0;
    assay_buf_init(&out);
    assert_int_equal(assay_msg_frame(&out, &m, false, 0, &err), ASSAY_EMEMORY);
    assert_int_equal(out.len, 0);
    allocations_left = 100;
    assert_int_equal(assay_msg_frame(&out, &m, false, 0, &err), 0);
    f = as_frame(out.data + ASSAY_FRAME_PREFIX, out.len - ASSAY_FRAME_PREFIX,
                 false, 0);
    for (n = 0; rc < 0 && n < 100; n++) {
        allocations_left = n;
        m.type = 77;
        rc = assay_msg_decode(&m, &f, &err);
        assert_true(rc == 0 || rc == ASSAY_EMEMORY);
        assert_true(rc == 0 || (int)m.type == 77);
    }
    assert_int_equal(rc, 0);
    assert_true(n > 3);
    assert_string_equal(m.u.lease.owner, owner);
    assay_msg_close(&m);
    assay_buf_close(&out);
    assay_alloc_hook = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),     cmocka_unit_test(test_fields),
        cmocka_unit_test(test_malformed),  cmocka_unit_test(test_budget),
        cmocka_unit_test(test_header_cap), cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_probe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
