/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of other builds: what release 1.0.0 sent is understood, fields that
 * a later one added may be missing, fields that are not known yet are passed
 * over.
 *
 * links: proto/ gen/proto/assay.pb-c.c lib/core/ kernels/requant.c
 * libs: -lprotobuf-c -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/codec.h"

#define RELEASED "tests/data/protocol/golden-1.0.0.txt"
#define HEADER_MAX 4096

struct message {
    char name[64];
    enum assay_msg_type type;
    bool from_agent;
    uint8_t header[HEADER_MAX];
    size_t n;
};

static void classify(struct message *m)
{
    enum { CLIENT, AGENT };
#define ASSAY_MESSAGE(word, number, sender) \
    if (strcmp(m->name, #word) == 0) { \
        m->type = ASSAY_MSG_##word; \
        m->from_agent = sender == AGENT; \
    }
#include "proto/messages.def"
#undef ASSAY_MESSAGE
}

static bool read_message(FILE *f, struct message *m)
{
    static char line[2 * HEADER_MAX + 4096];

    while (fgets(line, sizeof(line), f) != NULL) {
        char hex[2 * HEADER_MAX + 1];

        if (line[0] == '#' ||
            sscanf(line, "%63s %8192[0-9a-f]", m->name, hex) != 2)
            continue;
        m->n = strlen(hex) / 2;
        for (size_t i = 0; i < m->n; i++) {
            char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};

            m->header[i] = (uint8_t)strtoul(pair, NULL, 16);
        }
        m->type = 0;
        classify(m);
        return true;
    }
    return false;
}

static int decode(struct assay_msg *out, const struct message *m,
                  const uint8_t *header, size_t n, struct assay_err *err)
{
    static uint8_t payload[1 << 20];
    bool chunk = m->type == ASSAY_MSG_BLOB_PUT ||
                 m->type == ASSAY_MSG_RUN_TENSOR ||
                 m->type == ASSAY_MSG_CHUNK || m->type == ASSAY_MSG_NOTE_TENSOR;
    struct assay_frame f = {
        .flags = m->from_agent ? 1 : 0,
        .header = header,
        .header_bytes = (uint32_t)n,
        .payload = payload,
        .payload_bytes = chunk ? 512 : 0,
    };

    return assay_msg_decode(out, &f, err);
}

/* ---- protobuf by hand ----------------------------------------------------- */

static uint64_t get_varint(const uint8_t **p)
{
    uint64_t v = 0;
    unsigned shift = 0;

    do
        v |= (uint64_t)(**p & 0x7f) << shift, shift += 7;
    while (*(*p)++ & 0x80);
    return v;
}

static size_t put_varint(uint8_t *out, uint64_t v)
{
    size_t n = 0;

    for (; v >= 0x80; v >>= 7)
        out[n++] = (uint8_t)(v | 0x80);
    out[n++] = (uint8_t)v;
    return n;
}

/* The envelope with another body of the same message. */
static size_t wrap(uint8_t *out, const struct message *m, const uint8_t *body,
                   size_t n)
{
    const uint8_t *p = m->header;
    uint64_t tag = get_varint(&p);
    size_t at = put_varint(out, tag);

    at += put_varint(out + at, n);
    memcpy(out + at, body, n);
    return at + n;
}

static size_t body_of(const struct message *m, const uint8_t **body)
{
    const uint8_t *p = m->header;

    get_varint(&p); /* tag */
    get_varint(&p); /* length */
    *body = p;
    return m->n - (size_t)(*body - m->header);
}

/* Copies a body without one field (wire types 0 and 2). */
static size_t without(uint8_t *out, const uint8_t *body, size_t n,
                      unsigned field)
{
    const uint8_t *p = body;
    size_t at = 0;

    while (p < body + n) {
        const uint8_t *begin = p;
        uint64_t tag = get_varint(&p), v = get_varint(&p);

        assert_true((tag & 7) == 0 || (tag & 7) == 2);
        if ((tag & 7) == 2)
            p += v;
        if (tag >> 3 == field)
            continue;
        memcpy(out + at, begin, (size_t)(p - begin));
        at += (size_t)(p - begin);
    }
    return at;
}

/* ---- tests ---------------------------------------------------------------- */

typedef void each_fn(const struct message *m);

static unsigned for_each(each_fn *one)
{
    static struct message m;
    FILE *f = fopen(RELEASED, "r");
    unsigned count = 0;

    assert_non_null(f);
    for (; read_message(f, &m); count++) {
        if (m.type == 0)
            fail_msg("%s: not known any more", m.name);
        one(&m);
    }
    fclose(f);
    return count;
}

static void released(const struct message *m)
{
    struct assay_err err = {0};
    struct assay_msg got;

    if (decode(&got, m, m->header, m->n, &err) < 0)
        fail_msg("%s of 1.0.0: %s", m->name, err.text);
    assert_int_equal(got.type, m->type);
    assay_msg_close(&got);
}

/* From a build of tomorrow: a number, bytes and 8 bytes that nobody knows. */
static void with_unknown(const struct message *m)
{
    static const uint8_t unknown[] = {
        0xc8, 0x3e, 0x07,                            /* 1001, varint */
        0xd2, 0x3e, 0x03, 'a', 'b', 'c',             /* 1002, bytes */
        0xd9, 0x3e, 1,    2,   3,   4,   5, 6, 7, 8, /* 1003, fixed64 */
    };
    uint8_t body[HEADER_MAX + 64], header[HEADER_MAX + 128];
    struct assay_err err = {0};
    struct assay_msg got, plain;
    const uint8_t *p;
    size_t n = body_of(m, &p);
    struct assay_buf a, b;

    memcpy(body, p, n);
    memcpy(body + n, unknown, sizeof(unknown));
    n = wrap(header, m, body, n + sizeof(unknown));
    if (decode(&got, m, header, n, &err) < 0)
        fail_msg("%s with unknown fields: %s", m->name, err.text);
    assert_int_equal(decode(&plain, m, m->header, m->n, &err), 0);
    /* It means the same. */
    assay_buf_init(&a);
    assay_buf_init(&b);
    assert_int_equal(assay_msg_frame(&a, &got, m->from_agent, 3, &err), 0);
    assert_int_equal(assay_msg_frame(&b, &plain, m->from_agent, 3, &err), 0);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    assay_buf_close(&a);
    assay_buf_close(&b);
    assay_msg_close(&got);
    assay_msg_close(&plain);
}

/* Builds before 1.0.0 lacked these; each is optional for ever. */
static const struct {
    const char *name;
    unsigned field;
} younger[] = {
    {"RUN_START", 13}, /* probe_work */
};

static void without_younger(const struct message *m)
{
    uint8_t body[HEADER_MAX], header[HEADER_MAX + 16];
    struct assay_err err = {0};
    struct assay_msg got;
    const uint8_t *p;
    size_t n = body_of(m, &p);

    for (size_t i = 0; i < sizeof(younger) / sizeof(younger[0]); i++) {
        if (strcmp(younger[i].name, m->name) != 0)
            continue;
        n = wrap(header, m, body, without(body, p, n, younger[i].field));
        if (decode(&got, m, header, n, &err) < 0)
            fail_msg("%s without field %u: %s", m->name, younger[i].field,
                     err.text);
        assay_msg_close(&got);
    }
}

static void test_released(void **state)
{
    (void)state;
    assert_int_equal(for_each(released), 30);
}

static void test_unknown(void **state)
{
    (void)state;
    assert_int_equal(for_each(with_unknown), 30);
}

static void test_younger(void **state)
{
    (void)state;
    for_each(without_younger);
}

/* An old agent's hello: versions and a build, nothing of Info's later half. */
static void test_short_info(void **state)
{
    static const uint8_t header[] = {0x12, 0x0f, 8,    1,   16,   1,
                                     24,   1,    0x22, 7,   0x0a, 5,
                                     '1',  '.',  '0',  '.', '0'};
    struct message m = {.type = ASSAY_MSG_HELLO_ACK, .from_agent = true};
    struct assay_err err = {0};
    struct assay_msg got;

    (void)state;
    if (decode(&got, &m, header, sizeof(header), &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(got.u.hello_ack.version_max, 1);
    assert_string_equal(got.u.hello_ack.info.build_id, "1.0.0");
    assert_string_equal(got.u.hello_ack.info.runtime, "");
    assert_string_equal(got.u.hello_ack.info.kernels, "");
    assay_msg_close(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_released),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_younger),
        cmocka_unit_test(test_short_info),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
