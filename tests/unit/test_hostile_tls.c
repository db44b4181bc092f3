/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wire that does not mean well by TLS: records that are cut, lost, doubled,
 * changed or held back at every step. Each ends in its sentence or in the
 * deadline of handshakes, memory goes back, and the next client is served.
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

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/tls_lab.h"

#define WAIT_MS 20000
#define SHORT_MS 200

static struct assay_tls_context *client, *server;

static int begin(void **state)
{
    (void)state;
    tls_lab_begin();
    client = tls_lab_client(SHORT_MS);
    server = tls_lab_server(NULL, SHORT_MS);
    return 0;
}

static int end(void **state)
{
    (void)state;
    assay_tls_context_free(client);
    assay_tls_context_free(server);
    return tls_lab_end();
}

/* ---- what is done to records ---------------------------------------------- */

struct deed {
    int side;
    size_t record;
    enum tls_fate fate;
    bool was_done;
};

static enum tls_fate do_it(struct tls_ends *e, int side, size_t record,
                           const uint8_t *data, size_t n)
{
    struct deed *d = e->self;

    (void)data;
    (void)n;
    if (side != d->side || record != d->record)
        return PASS;
    d->was_done = true;
    return d->fate;
}

static bool one_over(struct tls_ends *e)
{
    return e->end[CLIENT].end_status == UV_EPROTO ||
           e->end[SERVER].end_status == UV_EPROTO;
}

/* One deed at one record of the handshake; false: there is no such record. */
static bool try_deed(int side, size_t record, enum tls_fate fate)
{
    struct deed deed = {side, record, fate, false};
    struct tls_ends e = {.fate = do_it, .self = &deed};
    int refused = 0;

    tls_ends_open(&e, &lab.loop, client, server);
    if (!tls_ends_run(&e, tls_ends_shaken, WAIT_MS))
        fail_msg("side %d, record %zu, fate %d: no end", side, record, fate);
    for (int i = 0; i < 2; i++) {
        refused += e.end[i].err.code < 0;
        if (e.end[i].err.code < 0 && !tls_lab_is_sentence(e.end[i].err.text))
            fail_msg("side %d, record %zu, fate %d: %s", side, record, fate,
                     e.end[i].err.text);
        if (fate == STOP && e.end[i].err.code == ASSAY_ETIMEOUT)
            assert_non_null(strstr(e.end[i].err.text, "within 0.2 s"));
    }
    /* The last record, once more, is the first that comes in vain. */
    if (deed.was_done && refused == 0 && fate == TWICE) {
        assert_true(tls_ends_run(&e, one_over, WAIT_MS));
        refused++;
    }
    if (deed.was_done && refused == 0)
        fail_msg("side %d, record %zu, fate %d: both came in", side, record,
                 fate);
    tls_ends_close(&e);
    return deed.was_done;
}

static void at_every_record(enum tls_fate fate, size_t least)
{
    size_t n = 0;

    for (int side = 0; side < 2; side++) {
        for (size_t r = 0; try_deed(side, r, fate); r++)
            n++;
    }
    assert_in_range(n, least, 20); /* ECDHE with certificates at both ends */
    tls_lab_assert_served(client, server);
}

static void test_cut(void **state)
{
    (void)state;
    at_every_record(CUT, 12);
}

static void test_lost(void **state)
{
    (void)state;
    at_every_record(DROP, 12);
}

static void test_doubled(void **state)
{
    (void)state;
    at_every_record(TWICE, 12);
}

static void test_changed(void **state)
{
    (void)state;
    at_every_record(FLIP, 12);
}

static void test_held_back(void **state)
{
    uint64_t late = assay_tls_context_counts(server)->failed;

    (void)state;
    at_every_record(STOP, 12);
    assert_true(assay_tls_context_counts(server)->failed > late);
}

/* ---- behind the handshake ------------------------------------------------- */

static bool server_over(struct tls_ends *e)
{
    return e->end[SERVER].end_status != 0;
}

static void after_handshake(enum tls_fate fate, int status, const char *why,
                            size_t got)
{
    struct deed deed = {CLIENT, 1u << 30, fate, false};
    struct tls_ends e = {.fate = do_it, .self = &deed};

    tls_ends_open(&e, &lab.loop, client, server);
    assert_true(tls_ends_run(&e, tls_ends_shaken, WAIT_MS));
    assert_int_equal(e.end[SERVER].err.code, 0);
    deed.record = e.records[CLIENT] + 1; /* the second of them */
    for (int i = 0; i < 3; i++)
        assert_int_equal(assay_conn_send(e.end[CLIENT].conn, "abcdefgh", 8,
                                         NULL, 0, NULL, NULL),
                         0);
    assert_true(tls_ends_run(&e, server_over, WAIT_MS));
    assert_int_equal(e.end[SERVER].end_status, status);
    assert_non_null(strstr(
        assay_conn_why(e.end[SERVER].conn, e.end[SERVER].end_status), why));
    assert_int_equal(e.end[SERVER].got.len, got);
    assert_int_equal(
        assay_conn_send(e.end[SERVER].conn, "x", 1, NULL, 0, NULL, NULL),
        UV_EPIPE);
    tls_ends_close(&e);
}

static void test_data(void **state)
{
    (void)state;
    after_handshake(CUT, UV_ECONNRESET, "without TLS's goodbye", 8);
    after_handshake(TWICE, UV_EPROTO, "changed or replayed", 16);
    after_handshake(FLIP, UV_EPROTO, "changed or replayed", 8);
    after_handshake(DROP, UV_EPROTO, "changed or replayed", 8);
    tls_lab_assert_served(client, server);
}

/* ---- many ----------------------------------------------------------------- */

static void cut_after(size_t bytes)
{
    struct tls_ends e = {.raw = true, .chunk = bytes};

    tls_ends_open(&e, &lab.loop, client, server);
    while (e.bytes[CLIENT] + e.bytes[SERVER] < bytes && !tls_ends_shaken(&e))
        (void)!tls_ends_run(&e, tls_ends_shaken, 1);
    tls_ends_close(&e); /* both ends hang up at once */
}

static void test_many(void **state)
{
    struct mallinfo2 before = {0}, after = {0};

    (void)state;
    /* The first time leaves what both contexts keep for good. */
    for (int round = 0; round < 2; round++) {
        before = mallinfo2();
        for (size_t i = 0; i < 200; i++)
            cut_after(1 + i * 8);
        tls_lab_assert_served(client, server);
        after = mallinfo2();
    }
    /* To the byte, but for what libuv and stdio keep. */
    assert_true(after.uordblks <= before.uordblks + 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut),       cmocka_unit_test(test_lost),
        cmocka_unit_test(test_doubled),   cmocka_unit_test(test_changed),
        cmocka_unit_test(test_held_back), cmocka_unit_test(test_data),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
