/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peers that TLS keeps out: old versions and suites, no certificate, a wrong
 * one, another handshake, no TLS at all. Each has its sentence, and the next
 * client is served.
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

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mbedtls/ssl.h>
#include <mbedtls/version.h>

#include "lib/net/random.h"
#include "tests/support/tls_lab.h"

#define WAIT_MS 20000
#define SHORT_MS 200

static struct assay_identity ca, other_ca, of_other, expired;
static struct assay_tls_context *client, *server;

static int begin(void **state)
{
    (void)state;
    tls_lab_begin();
    certs_make(&ca, &(struct certs_wish){.name = "ca", .is_ca = true});
    certs_make(&other_ca, &(struct certs_wish){.name = "ca", .is_ca = true});
    certs_make(&of_other,
               &(struct certs_wish){.name = "eve", .issuer = &other_ca});
    certs_make(&expired, &(struct certs_wish){.name = "old",
                                              .issuer = &ca,
                                              .until = "20100101000000"});
    client = tls_lab_client(SHORT_MS);
    server = tls_lab_server(&ca, SHORT_MS);
    return 0;
}

static int end(void **state)
{
    (void)state;
    assay_tls_context_free(client);
    assay_tls_context_free(server);
    assay_identity_close(&ca);
    assay_identity_close(&other_ca);
    assay_identity_close(&of_other);
    assay_identity_close(&expired);
    return tls_lab_end();
}

/* ---- a client of its own make --------------------------------------------- */

struct raw {
    mbedtls_ssl_config conf;
    mbedtls_ssl_context ssl;
    int fd;
};

static int raw_send(void *self, const unsigned char *data, size_t n)
{
    struct raw *r = self;
    ssize_t done = write(r->fd, data, n);

    return done >= 0         ? (int)done
           : errno == EAGAIN ? MBEDTLS_ERR_SSL_WANT_WRITE
                             : MBEDTLS_ERR_SSL_CONN_EOF;
}

static int raw_recv(void *self, unsigned char *data, size_t n)
{
    struct raw *r = self;
    ssize_t done = read(r->fd, data, n);

    return done >= 0         ? (int)done
           : errno == EAGAIN ? MBEDTLS_ERR_SSL_WANT_READ
                             : MBEDTLS_ERR_SSL_CONN_EOF;
}

/* Opens the server's end only; the caller changes conf, then raw_shake(). */
static void raw_open(struct raw *r, struct tls_ends *e)
{
    tls_ends_open(e, &lab.loop, NULL, server);
    r->fd = e->fd[SERVER];
    mbedtls_ssl_config_init(&r->conf);
    mbedtls_ssl_init(&r->ssl);
    assert_int_equal(mbedtls_ssl_config_defaults(&r->conf,
                                                 MBEDTLS_SSL_IS_CLIENT,
                                                 MBEDTLS_SSL_TRANSPORT_STREAM,
                                                 MBEDTLS_SSL_PRESET_DEFAULT),
                     0);
    mbedtls_ssl_conf_authmode(&r->conf, MBEDTLS_SSL_VERIFY_NONE);
    mbedtls_ssl_conf_rng(&r->conf, assay_random, NULL);
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
    mbedtls_ssl_conf_max_tls_version(&r->conf, MBEDTLS_SSL_VERSION_TLS1_2);
#endif
}

/* What the server made of it is in e->end[SERVER]. */
static int raw_shake(struct raw *r, struct tls_ends *e)
{
    int rc;

    assert_int_equal(mbedtls_ssl_setup(&r->ssl, &r->conf), 0);
    mbedtls_ssl_set_bio(&r->ssl, r, raw_send, raw_recv, NULL);
    do {
        rc = mbedtls_ssl_handshake(&r->ssl);
        uv_run(&lab.loop, UV_RUN_NOWAIT);
    } while (rc == MBEDTLS_ERR_SSL_WANT_READ && !e->end[SERVER].is_done);
    while (rc == 0 && !e->end[SERVER].is_done)
        uv_run(&lab.loop, UV_RUN_NOWAIT);
    if (rc == MBEDTLS_ERR_SSL_WANT_READ)
        rc = mbedtls_ssl_handshake(&r->ssl);
    return rc;
}

static void raw_close(struct raw *r, struct tls_ends *e)
{
    mbedtls_ssl_free(&r->ssl);
    mbedtls_ssl_config_free(&r->conf);
    tls_ends_close(e);
}

static void expect_server(struct tls_ends *e, const char *sentence)
{
    assert_int_equal(e->end[SERVER].err.code, ASSAY_ECONNECT);
    if (strstr(e->end[SERVER].err.text, sentence) == NULL)
        fail_msg("'%s' instead of '%s'", e->end[SERVER].err.text, sentence);
}

static void test_no_certificate(void **state)
{
    struct tls_ends e = {0};
    struct raw r;

    (void)state;
    raw_open(&r, &e);
    assert_int_equal(raw_shake(&r, &e), 0);
    expect_server(&e, "client showed no certificate");
    assert_non_null(e.end[SERVER].conn); /* it can be told so */
    raw_close(&r, &e);
    tls_lab_assert_served(client, server);
}

static void test_old_versions(void **state)
{
    (void)state;
#if MBEDTLS_VERSION_NUMBER < 0x03000000
    for (int minor = MBEDTLS_SSL_MINOR_VERSION_1;
         minor <= MBEDTLS_SSL_MINOR_VERSION_2; minor++) {
        struct tls_ends e = {0};
        struct raw r;

        raw_open(&r, &e);
        mbedtls_ssl_conf_min_version(&r.conf, MBEDTLS_SSL_MAJOR_VERSION_3,
                                     minor);
        mbedtls_ssl_conf_max_version(&r.conf, MBEDTLS_SSL_MAJOR_VERSION_3,
                                     minor);
        assert_int_not_equal(raw_shake(&r, &e), 0);
        expect_server(&e, "another version of TLS was spoken, 1.2 is needed");
        assert_null(e.end[SERVER].conn);
        raw_close(&r, &e);
    }
    tls_lab_assert_served(client, server);
#else
    skip(); /* this library cannot speak them */
#endif
}

static void test_weak_suites(void **state)
{
    static const int weak[] = {
        MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256,
        MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
        MBEDTLS_TLS_RSA_WITH_AES_128_GCM_SHA256,
        MBEDTLS_TLS_DHE_RSA_WITH_AES_128_GCM_SHA256,
        MBEDTLS_TLS_ECDHE_ECDSA_WITH_NULL_SHA,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(weak) / sizeof(weak[0]); i++) {
        int suites[2] = {weak[i], 0};
        struct tls_ends e = {0};
        struct raw r;

        if (mbedtls_ssl_ciphersuite_from_id(weak[i]) == NULL)
            continue;
        raw_open(&r, &e);
        mbedtls_ssl_conf_ciphersuites(&r.conf, suites);
        assert_int_not_equal(raw_shake(&r, &e), 0);
        assert_true(e.end[SERVER].is_done);
        assert_null(e.end[SERVER].conn);
        if (!tls_lab_is_sentence(e.end[SERVER].err.text))
            fail_msg("%s", e.end[SERVER].err.text);
        raw_close(&r, &e);
    }
    tls_lab_assert_served(client, server);
}

static void test_renegotiation(void **state)
{
#if defined(MBEDTLS_SSL_RENEGOTIATION)
    struct tls_ends e = {0};
    struct raw r;

    (void)state;
    raw_open(&r, &e);
    mbedtls_ssl_conf_renegotiation(&r.conf, MBEDTLS_SSL_RENEGOTIATION_ENABLED);
    assert_int_equal(
        mbedtls_ssl_conf_own_cert(&r.conf, &lab.anna.cert, &lab.anna.key), 0);
    assert_int_equal(raw_shake(&r, &e), 0);
    assert_int_equal(e.end[SERVER].err.code, 0);
    assert_int_equal(mbedtls_ssl_write(&r.ssl, (const uint8_t *)"abc", 3), 3);
    (void)!mbedtls_ssl_renegotiate(&r.ssl);
    for (int i = 0; i < 1000 && e.end[SERVER].end_status == 0; i++)
        uv_run(&lab.loop, UV_RUN_NOWAIT);
    assert_int_equal(e.end[SERVER].got.len, 3);
    assert_int_equal(e.end[SERVER].end_status, UV_EPROTO);
    assert_string_equal(assay_conn_why(e.end[SERVER].conn, UV_EPROTO),
                        "the peer asked for a new TLS handshake");
    raw_close(&r, &e);
    tls_lab_assert_served(client, server);
#else
    (void)state;
    skip();
#endif
}

/* ---- who it is ------------------------------------------------------------ */

static void test_certificates(void **state)
{
    static const struct {
        const struct assay_identity *who;
        const char *sentence; /* NULL: let in */
    } rows[] = {
        {&of_other, "was not issued by the CA"}, /* of a CA of equal name */
        {&expired, "has expired"},
        {&ca, NULL}, /* the CA itself */
        {&lab.board, "is not authorised"},
        {&lab.anna, NULL},
    };
    char with_old[256];
    struct assay_tls_context *pinning;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct assay_tls_context *c = tls_ends_context(
            &(struct tls_wish){.identity = rows[i].who,
                               .wanted = lab.board.fingerprint},
            ASSAY_TLS_CLIENT, NULL);
        struct tls_ends e = {0};

        tls_ends_open(&e, &lab.loop, c, server);
        assert_true(tls_ends_run(&e, tls_ends_shaken, WAIT_MS));
        if (rows[i].sentence == NULL)
            assert_string_equal(e.end[SERVER].err.text, "");
        else
            expect_server(&e, rows[i].sentence);
        tls_ends_close(&e);
        assay_tls_context_free(c);
    }
    /* Expired, but its line is there. */
    snprintf(with_old, sizeof(with_old), "old %s\n", expired.fingerprint);
    pinning = tls_ends_context(
        &(struct tls_wish){.identity = &lab.board, .pins = with_old},
        ASSAY_TLS_SERVER, NULL);
    {
        struct assay_tls_context *c = tls_ends_context(
            &(struct tls_wish){.identity = &expired,
                               .wanted = lab.board.fingerprint},
            ASSAY_TLS_CLIENT, NULL);
        struct tls_ends e = {0};

        tls_ends_open(&e, &lab.loop, c, pinning);
        assert_true(tls_ends_run(&e, tls_ends_shaken, WAIT_MS));
        assert_string_equal(e.end[SERVER].err.text, "");
        assert_string_equal(e.end[SERVER].peer.name, "old");
        tls_ends_close(&e);
        assay_tls_context_free(c);
    }
    assay_tls_context_free(pinning);
}

/* ---- no TLS --------------------------------------------------------------- */

static bool server_done(struct tls_ends *e)
{
    return e->end[SERVER].is_done;
}

static const struct {
    const char *what, *bytes;
    size_t n;
    const char *sentence;
    bool bare; /* is told so without TLS */
} garbage[] = {
    {"frame", "ASAY\1\0\0\0", 8, "TLS is spoken here", true},
    {"http", "GET / HTTP/1.1\r\n\r\n", 18, "TLS is spoken here", true},
    {"ssh", "SSH-2.0-x\r\n", 11, "TLS is spoken here", true},
    {"zero", "\0", 1, "TLS is spoken here", true},
    {"SSLv2", "\x80\x2e\1\0\2", 5, "TLS is spoken here", true},
    {"no version", "\x16\0\0\0\5hello", 10, "", false},
    {"empty record", "\x16\3\1\0\0", 5, "", false},
    {"too long", "\x16\3\1\xff\xff", 5, "", false},
    {"no hello", "\x16\3\1\0\4\2\0\0\0", 9, "", false},
    {"endless hello", "\x16\3\1\0\4\1\xff\xff\xff", 9, "", false},
    {"short hello", "\x16\3\1\0\6\1\0\0\2\3\3", 11, "", false},
    {"data first", "\x17\3\3\0\1x", 6, "", false},
    {"alert first", "\x15\3\3\0\2\2\x28", 7, "", false},
    {"bad alert", "\x15\3\3\0\1\2", 6, "", false},
    {"change first", "\x14\3\3\0\1\1", 6, "", false},
};

static void test_garbage(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
        struct tls_ends e = {.raw = true};

        tls_ends_open(&e, &lab.loop, NULL, server);
        assert_int_equal(write(e.fd[SERVER], garbage[i].bytes, garbage[i].n),
                         garbage[i].n);
        e.end[SERVER].stay = true;
        if (!tls_ends_run(&e, server_done, WAIT_MS))
            fail_msg("%s: no end", garbage[i].what);
        assert_true(e.end[SERVER].err.code < 0);
        assert_int_equal(e.end[SERVER].bare, garbage[i].bare);
        assert_int_equal(e.end[SERVER].conn != NULL, garbage[i].bare);
        if (strstr(e.end[SERVER].err.text, garbage[i].sentence) == NULL ||
            (!garbage[i].bare && !tls_lab_is_sentence(e.end[SERVER].err.text)))
            fail_msg("%s: %s", garbage[i].what, e.end[SERVER].err.text);
        tls_ends_close(&e);
    }
    tls_lab_assert_served(client, server);
}

static bool client_done(struct tls_ends *e)
{
    return e->end[CLIENT].is_done;
}

static void test_bare_board(void **state)
{
    struct tls_ends e = {.raw = true};

    (void)state;
    tls_ends_open(&e, &lab.loop, client, NULL);
    assert_int_equal(write(e.fd[CLIENT], "ASAY", 4), 4);
    assert_true(tls_ends_run(&e, client_done, WAIT_MS));
    assert_null(e.end[CLIENT].conn);
    assert_non_null(
        strstr(e.end[CLIENT].err.text, "the board answered without TLS"));
    tls_ends_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_certificate),
        cmocka_unit_test(test_old_versions),
        cmocka_unit_test(test_weak_suites),
        cmocka_unit_test(test_renegotiation),
        cmocka_unit_test(test_certificates),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_bare_board),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
