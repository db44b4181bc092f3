/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of TLS connections over a wire that the test holds: bytes in
 * short writes, back pressure, ends, and sessions that are resumed.
 *
 * links: tests/support/certs.c tests/support/tls_ends.c
 * links: tests/support/tls_lab.c lib/net/ lib/core/
 * libs: -luv -lmbedtls -lmbedx509 -lmbedcrypto -lxxhash
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/tls_lab.h"

#define WAIT_MS 20000

static int begin(void **state)
{
    (void)state;
    tls_lab_begin();
    return 0;
}

static int end(void **state)
{
    (void)state;
    return tls_lab_end();
}

/* ---- bytes ---------------------------------------------------------------- */

struct lent {
    int given, back;
};

static void on_back(void *arg)
{
    struct lent *l = arg;

    l->back++;
}

static void fill(uint8_t *p, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        p[i] = (uint8_t)(seed >> 24);
    }
}

static size_t expected; /* bytes that the server waits for */
static bool has_all(struct tls_ends *e)
{
    return e->end[SERVER].got.len >= expected;
}

/* Sizes around records and blocks, lent and copied, in chunks of the wire. */
static void transfer(size_t chunk)
{
    static const size_t sizes[] = {0,     1,     5,      16383, 16384,
                                   16385, 65535, 65536,  65537, 70000,
                                   3,     0,     200000, 17};
    size_t n = sizeof(sizes) / sizeof(sizes[0]), total = 0;
    struct assay_buf sent;
    struct lent lent = {0};
    uint8_t *body[16] = {0};
    struct tls_ends e = {.chunk = chunk};

    assay_buf_init(&sent);
    tls_lab_open(&e);
    assert_true(tls_ends_run(&e, tls_ends_shaken, WAIT_MS));
    for (size_t i = 0; i < n; i++) {
        char head[16];
        int len = snprintf(head, sizeof(head), "head %zu", i);

        body[i] = malloc(sizes[i] + 1);
        fill(body[i], sizes[i], (uint32_t)i);
        assert_int_equal(assay_conn_send(e.end[CLIENT].conn, head, (size_t)len,
                                         body[i], sizes[i],
                                         i % 3 != 2 ? on_back : NULL, &lent),
                         0);
        lent.given += i % 3 != 2;
        assert_int_equal(lent.back, 0); /* never from within */
        assay_buf_append(&sent, head, (size_t)len);
        assay_buf_append(&sent, body[i], sizes[i]);
        if (i % 3 == 2)
            memset(body[i], 0, sizes[i]); /* it was copied */
        total += (size_t)len + sizes[i];
    }
    assert_true(e.end[CLIENT].conn->queued >= total); /* and its own */
    expected = total;
    assert_true(tls_ends_run(&e, has_all, WAIT_MS));
    assert_int_equal(e.end[SERVER].got.len, sent.len);
    assert_memory_equal(e.end[SERVER].got.data, sent.data, sent.len);
    assert_int_equal(lent.back, lent.given);
    assert_int_equal(e.end[CLIENT].conn->queued, 0);
    /* On the wire: what was sent and at most 29 bytes a record more. */
    assert_true(e.end[CLIENT].conn->sent > total);
    assert_true(e.end[CLIENT].conn->sent < total + 4000);
    tls_ends_close(&e);
    for (size_t i = 0; i < n; i++)
        free(body[i]);
    assay_buf_close(&sent);
}

static void test_bytes(void **state)
{
    (void)state;
    transfer(0);
    transfer(4096);
    transfer(1000);
    transfer(61);
}

static bool is_empty(struct tls_ends *e)
{
    return e->end[CLIENT].conn->queued == 0;
}

/* The wire takes nothing: what is queued stays with its owner. */
static void test_full(void **state)
{
    size_t n = 64 * 1024;
    uint8_t *body = calloc(1, n);
    struct lent lent = {0};
    struct tls_ends e = {0};
    uint64_t until;

    (void)state;
    tls_lab_open(&e);
    assert_true(tls_ends_run(&e, tls_ends_shaken, WAIT_MS));
    e.hold[CLIENT] = true;
    for (; lent.given < 64; lent.given++)
        assert_int_equal(assay_conn_send(e.end[CLIENT].conn, "h", 1, body, n,
                                         on_back, &lent),
                         0);
    assert_true(assay_conn_is_full(e.end[CLIENT].conn));
    until = uv_hrtime() + 300000000;
    while (uv_hrtime() < until)
        uv_run(&lab.loop, UV_RUN_NOWAIT);
    /* The kernel has some, the connection below 256 KiB, no more. */
    assert_true(lent.back < 16);
    assert_int_equal(e.end[CLIENT].drained, 0);
    e.hold[CLIENT] = false;
    expected = 64 * (n + 1);
    assert_true(tls_ends_run(&e, has_all, WAIT_MS));
    assert_true(tls_ends_run(&e, is_empty, WAIT_MS));
    assert_int_equal(lent.back, 64);
    assert_int_equal(e.end[CLIENT].drained, 1);
    tls_ends_close(&e);
    /* Closed while full: all comes back. */
    lent = (struct lent){0};
    memset(&e, 0, sizeof(e));
    tls_lab_open(&e);
    assert_true(tls_ends_run(&e, tls_ends_shaken, WAIT_MS));
    e.hold[CLIENT] = true;
    for (; lent.given < 64; lent.given++)
        assert_int_equal(assay_conn_send(e.end[CLIENT].conn, "h", 1, body, n,
                                         on_back, &lent),
                         0);
    tls_ends_close(&e);
    assert_int_equal(lent.back, 64);
    free(body);
}

/* A receiver that does not read: bytes wait, none is lost, the end comes
 * behind them. */
static void test_not_reading(void **state)
{
    size_t n = 300000;
    uint8_t *body = malloc(n);
    struct tls_ends e = {0};
    uint64_t until;
    size_t before;

    (void)state;
    fill(body, n, 9);
    tls_lab_open(&e);
    assert_true(tls_ends_run(&e, tls_ends_shaken, WAIT_MS));
    assert_int_equal(assay_conn_read(e.end[SERVER].conn, false), 0);
    assert_int_equal(
        assay_conn_send(e.end[CLIENT].conn, body, n, NULL, 0, NULL, NULL), 0);
    assay_conn_shutdown(e.end[CLIENT].conn);
    until = uv_hrtime() + 200000000;
    expected = 1;
    while (uv_hrtime() < until)
        (void)!tls_ends_run(&e, has_all, 1);
    assert_int_equal(e.end[SERVER].got.len, 0);
    for (expected = 0; expected < n;) {
        before = e.end[SERVER].got.len;
        assert_int_equal(assay_conn_read(e.end[SERVER].conn, true), 0);
        expected = before + 1;
        assert_true(tls_ends_run(&e, has_all, WAIT_MS));
        assert_int_equal(assay_conn_read(e.end[SERVER].conn, false), 0);
        expected = e.end[SERVER].got.len;
    }
    assert_int_equal(assay_conn_read(e.end[SERVER].conn, true), 0);
    e.end[CLIENT].end_status = 1; /* only the server's is waited for */
    assert_true(tls_ends_run(&e, tls_ends_over, WAIT_MS));
    assert_int_equal(e.end[SERVER].end_status, UV_EOF);
    assert_int_equal(e.end[SERVER].got.len, n);
    assert_memory_equal(e.end[SERVER].got.data, body, n);
    tls_ends_close(&e);
    free(body);
}

/* What was sent before the receiver started is not lost either. */
static void test_late_start(void **state)
{
    struct tls_ends e = {0};

    (void)state;
    e.end[CLIENT].stay = false;
    tls_lab_open(&e);
    assert_true(tls_ends_run(&e, tls_ends_shaken, WAIT_MS));
    assert_int_equal(
        assay_conn_send(e.end[SERVER].conn, "abc", 3, "def", 3, NULL, NULL), 0);
    assay_conn_shutdown(e.end[SERVER].conn);
    e.end[SERVER].end_status = 1;
    assert_true(tls_ends_run(&e, tls_ends_over, WAIT_MS));
    assert_int_equal(e.end[CLIENT].end_status, UV_EOF);
    assert_int_equal(e.end[CLIENT].got.len, 6);
    /* Behind its shutdown nothing can be sent. */
    assert_int_equal(
        assay_conn_send(e.end[SERVER].conn, "x", 1, NULL, 0, NULL, NULL),
        UV_EPIPE);
    tls_ends_close(&e);
}

/* ---- sessions ------------------------------------------------------------- */

struct cache {
    uint8_t blob[ASSAY_TLS_SESSION_MAX];
    size_t n;
    int puts;
};

static size_t get(void *self, uint8_t *out, size_t cap)
{
    struct cache *c = self;

    assert_true(c->n <= cap);
    memcpy(out, c->blob, c->n);
    return c->n;
}

static void put(void *self, const uint8_t *blob, size_t n)
{
    struct cache *c = self;

    memcpy(c->blob, blob, n);
    c->n = n;
    c->puts++;
}

static void connect_once(struct tls_ends *e, struct assay_tls_context *client,
                         struct assay_tls_context *server)
{
    memset(e, 0, sizeof(*e));
    tls_ends_open(e, &lab.loop, client, server);
    assert_true(tls_ends_run(e, tls_ends_shaken, WAIT_MS));
}

static void test_resume(void **state)
{
    static struct cache cache;
    struct assay_tls_context *client =
        tls_ends_context(&(struct tls_wish){.identity = &lab.anna,
                                            .wanted = lab.board.fingerprint,
                                            .session_get = get,
                                            .session_put = put,
                                            .self = &cache},
                         ASSAY_TLS_CLIENT, NULL);
    struct assay_tls_context *server = tls_lab_server(NULL, 0), *next, *other;
    struct tls_ends e;
    size_t full;

    (void)state;
    memset(&cache, 0, sizeof(cache));
    connect_once(&e, client, server);
    assert_false(e.end[SERVER].peer.resumed);
    assert_int_equal(cache.puts, 1);
    full = e.bytes[0] + e.bytes[1];
    tls_ends_close(&e);
    connect_once(&e, client, server);
    assert_true(e.end[SERVER].peer.resumed);
    assert_true(e.end[CLIENT].peer.resumed);
    assert_string_equal(e.end[SERVER].peer.name, "anna");
    assert_string_equal(e.end[CLIENT].peer.fingerprint, lab.board.fingerprint);
    print_message("handshake: %zu bytes, resumed: %zu\n", full,
                  e.bytes[0] + e.bytes[1]);
    tls_ends_close(&e);
    assert_int_equal(assay_tls_context_counts(server)->full, 1);
    assert_int_equal(assay_tls_context_counts(server)->resumed, 1);
    /* The line is taken away: the session still is resumed, and refused. */
    next =
        tls_ends_context(&(struct tls_wish){.identity = &lab.board, .pins = ""},
                         ASSAY_TLS_SERVER, server);
    connect_once(&e, client, next);
    assert_true(e.end[SERVER].peer.resumed);
    assert_int_equal(e.end[SERVER].err.code, ASSAY_ECONNECT);
    assert_non_null(strstr(e.end[SERVER].err.text, lab.anna.fingerprint));
    tls_ends_close(&e);
    assert_int_equal(assay_tls_context_counts(server)->refused, 1);
    /* The client pins another key: its old session is worth nothing. */
    other = tls_ends_context(&(struct tls_wish){.identity = &lab.anna,
                                                .wanted = lab.anna.fingerprint,
                                                .session_get = get,
                                                .session_put = put,
                                                .self = &cache},
                             ASSAY_TLS_CLIENT, NULL);
    connect_once(&e, other, server);
    assert_null(e.end[CLIENT].conn);
    assert_non_null(strstr(e.end[CLIENT].err.text, lab.board.fingerprint));
    tls_ends_close(&e);
    assert_int_equal(cache.puts, 1);
    assay_tls_context_free(other);
    assay_tls_context_free(next);
    assay_tls_context_free(server);
    /* A server that knows nothing of the ticket: a full handshake. */
    server = tls_lab_server(NULL, 0);
    connect_once(&e, client, server);
    assert_false(e.end[SERVER].peer.resumed);
    assert_int_equal(e.end[CLIENT].err.code, 0);
    assert_int_equal(cache.puts, 2);
    tls_ends_close(&e);
    /* Cut anywhere: a full handshake again. */
    for (size_t n = cache.n, i = 0; i < n; i += 97) {
        cache.n = i;
        connect_once(&e, client, server);
        if (e.end[CLIENT].err.code != 0 || e.end[CLIENT].peer.resumed)
            fail_msg("%zu bytes: %s", i, e.end[CLIENT].err.text);
        tls_ends_close(&e);
    }
    assay_tls_context_free(client);
    assay_tls_context_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),       cmocka_unit_test(test_full),
        cmocka_unit_test(test_not_reading), cmocka_unit_test(test_late_start),
        cmocka_unit_test(test_resume),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
