/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is let in through TLS, by which name, and what the others are told: pins,
 * a CA with dates, names, purposes and chains.
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

#include <mbedtls/oid.h>

#include "lib/net/tls_context.h"
#include "tests/support/tls_lab.h"

#define WAIT_MS 20000

static struct assay_identity stranger, ca, of_ca, rsa;

static int begin(void **state)
{
    (void)state;
    tls_lab_begin();
    certs_make(&stranger, &(struct certs_wish){.name = "stranger"});
    certs_make(&ca, &(struct certs_wish){.name = "ca", .is_ca = true});
    certs_make(&of_ca, &(struct certs_wish){.name = "board", .issuer = &ca});
    certs_make(&rsa, &(struct certs_wish){.name = "rsa", .rsa_bits = 2048});
    return 0;
}

static int end(void **state)
{
    (void)state;
    assay_identity_close(&stranger);
    assay_identity_close(&ca);
    assay_identity_close(&of_ca);
    assay_identity_close(&rsa);
    return tls_lab_end();
}

/* ---- who is let in -------------------------------------------------------- */

static const struct {
    const char *what;
    const struct assay_identity *client, *server, *client_ca, *server_ca;
    const char *host;
    const struct assay_identity *wanted;
    const char *pins;
    const char *name;    /* of the client; NULL: not let in by the server */
    const char *refused; /* the client's word on the server, or NULL */
} cases[] = {
    {"both pinned", &lab.anna, &lab.board, NULL, NULL, "b", &lab.board,
     lab.pins, "anna", NULL},
    {"stranger at a board that pins", &stranger, &lab.board, NULL, NULL, "b",
     &lab.board, lab.pins, NULL, NULL},
    {"board that is another", &lab.anna, &stranger, NULL, NULL, "b", &lab.board,
     lab.pins, "anna", "it is another board, or somebody is in between"},
    {"by CA both", &of_ca, &of_ca, &ca, &ca, "board", NULL, NULL, "board",
     NULL},
    {"self-signed at a CA", &lab.anna, &of_ca, &ca, &ca, "board", NULL, NULL,
     NULL, NULL},
    {"by CA, but pinned too", &lab.anna, &of_ca, &ca, &ca, "board", NULL,
     lab.pins, "anna", NULL},
    {"RSA at both ends", &rsa, &rsa, NULL, NULL, "b", &rsa, NULL, NULL, NULL},
};

static void test_who(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct assay_tls_context *client = tls_ends_context(
            &(struct tls_wish){.identity = cases[i].client,
                               .ca = cases[i].client_ca,
                               .wanted = cases[i].wanted != NULL
                                             ? cases[i].wanted->fingerprint
                                             : NULL},
            ASSAY_TLS_CLIENT, NULL);
        struct assay_tls_context *server =
            tls_ends_context(&(struct tls_wish){.identity = cases[i].server,
                                                .ca = cases[i].server_ca,
                                                .pins = cases[i].pins},
                             ASSAY_TLS_SERVER, NULL);
        struct tls_ends e = {0};

        tls_ends_open(&e, &lab.loop, client, server);
        if (!tls_ends_run(&e, tls_ends_shaken, WAIT_MS))
            fail_msg("%s: no end", cases[i].what);
        if (cases[i].name != NULL) {
            assert_int_equal(e.end[SERVER].err.code, 0);
            assert_string_equal(e.end[SERVER].peer.name, cases[i].name);
        } else {
            assert_non_null(
                strstr(e.end[SERVER].err.text, cases[i].client->fingerprint));
            assert_non_null(strstr(e.end[SERVER].err.text, "not authorised"));
            assert_non_null(e.end[SERVER].conn); /* to be told so */
            assert_int_equal(assay_tls_context_counts(server)->refused, 1);
        }
        assert_string_equal(e.end[SERVER].peer.fingerprint,
                            cases[i].client->fingerprint);
        if (cases[i].refused != NULL) {
            assert_null(e.end[CLIENT].conn);
            assert_non_null(strstr(e.end[CLIENT].err.text, cases[i].refused));
            assert_int_equal(assay_tls_context_counts(client)->refused, 1);
        } else {
            assert_int_equal(e.end[CLIENT].err.code, 0);
            assert_int_equal(assay_tls_context_counts(client)->full, 1);
        }
        assert_string_equal(e.end[CLIENT].peer.fingerprint,
                            cases[i].server->fingerprint);
        tls_ends_close(&e);
        assay_tls_context_free(client);
        assay_tls_context_free(server);
    }
}

/* ---- by CA: dates, names, purposes ---------------------------------------- */

static const struct {
    struct certs_wish wish;
    const char *refused; /* NULL: let in as "board" */
} certificates[] = {
    {{.name = "board"}, NULL},
    {{.name = "x", .host = "board"}, NULL},
    {{.name = "board", .host = "other"}, "names another host"},
    {{.name = "x", .host = "*"}, "names another host"},
    {{.name = "x"}, "names another host"},
    {{.name = "board", .until = "20200101000000"}, "has expired"},
    {{.name = "board", .from = "90000101000000"}, "is not valid yet"},
    {{.name = "board", .usage_oid = MBEDTLS_OID_SERVER_AUTH}, NULL},
    {{.name = "board", .usage_oid = MBEDTLS_OID_CLIENT_AUTH},
     "no common cipher or key type"}, /* said by the board itself */
};

static void test_by_ca(void **state)
{
    struct assay_tls_context *client =
        tls_ends_context(&(struct tls_wish){.identity = &lab.anna, .ca = &ca},
                         ASSAY_TLS_CLIENT, NULL);

    (void)state;
    for (size_t i = 0; i < sizeof(certificates) / sizeof(certificates[0]);
         i++) {
        struct certs_wish wish = certificates[i].wish;
        struct assay_tls_context *server;
        struct assay_identity id;
        struct tls_ends e = {0};

        wish.issuer = &ca;
        certs_make(&id, &wish);
        server = tls_ends_context(
            &(struct tls_wish){.identity = &id, .pins = lab.pins},
            ASSAY_TLS_SERVER, NULL);
        tls_ends_open(&e, &lab.loop, client, server);
        assert_true(tls_ends_run(&e, tls_ends_shaken, WAIT_MS));
        if (certificates[i].refused == NULL)
            assert_string_equal(e.end[CLIENT].err.text, "");
        else if (strstr(e.end[CLIENT].err.text, certificates[i].refused) ==
                 NULL)
            fail_msg("row %zu: %s", i, e.end[CLIENT].err.text);
        tls_ends_close(&e);
        assay_tls_context_free(server);
        assay_identity_close(&id);
    }
    assay_tls_context_free(client);
}

static void test_names(void **state)
{
    static const struct {
        const char *dns;
        unsigned char ip4[4];
        const char *host;
        bool match;
    } rows[] = {
        {"board.example", {0}, "board.example", true},
        {"board.example", {0}, "BOARD.Example", true},
        {"board.example", {0}, "board.example.org", false},
        {"*.example", {0}, "board.example", true},
        {"*.example", {0}, "a.board.example", false},
        {"*.example", {0}, ".example", false},
        {"*.example", {0}, "example", false},
        {NULL, {192, 0, 2, 7}, "192.0.2.7", true},
        {NULL, {192, 0, 2, 7}, "192.0.2.8", false},
        {"192.0.2.7", {0}, "192.0.2.7", false}, /* an address is no name */
        {NULL, {192, 0, 2, 7}, "cn", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct certs_wish wish = {.name = "cn", .host = rows[i].dns};
        struct assay_identity id;

        memcpy(wish.ip4, rows[i].ip4, 4);
        certs_make(&id, &wish);
        if (assay_tls_names(&id.cert, rows[i].host) != rows[i].match)
            fail_msg("row %zu", i);
        assay_identity_close(&id);
    }
}

/* A key that is for servers does not open a board. */
static void test_purpose(void **state)
{
    struct assay_tls_context *client, *server;
    struct assay_identity id;
    struct tls_ends e = {0};

    (void)state;
    certs_make(&id, &(struct certs_wish){.name = "x",
                                         .issuer = &ca,
                                         .usage_oid = MBEDTLS_OID_SERVER_AUTH});
    client = tls_ends_context(
        &(struct tls_wish){.identity = &id, .wanted = lab.board.fingerprint},
        ASSAY_TLS_CLIENT, NULL);
    server =
        tls_ends_context(&(struct tls_wish){.identity = &lab.board, .ca = &ca},
                         ASSAY_TLS_SERVER, NULL);
    tls_ends_open(&e, &lab.loop, client, server);
    assert_true(tls_ends_run(&e, tls_ends_shaken, WAIT_MS));
    assert_non_null(strstr(e.end[SERVER].err.text, "is not for clients"));
    tls_ends_close(&e);
    assay_tls_context_free(client);
    assay_tls_context_free(server);
    assay_identity_close(&id);
}

/* ---- chains --------------------------------------------------------------- */

struct kept {
    uint8_t blob[ASSAY_TLS_SESSION_MAX];
    size_t n;
    int puts;
};

static size_t get(void *self, uint8_t *out, size_t cap)
{
    struct kept *k = self;

    assert_true(k->n <= cap);
    memcpy(out, k->blob, k->n);
    return k->n;
}

static void put(void *self, const uint8_t *blob, size_t n)
{
    struct kept *k = self;

    memcpy(k->blob, blob, n);
    k->n = n;
    k->puts++;
}

/* Behind an intermediate no session is kept: its ticket could not be judged. */
static void test_chain(void **state)
{
    struct assay_identity middle, leaf;
    struct assay_tls_context *client, *server;
    static struct kept kept;

    (void)state;
    certs_make(&middle, &(struct certs_wish){
                            .name = "middle", .issuer = &ca, .is_ca = true});
    certs_make(&leaf, &(struct certs_wish){.name = "board", .issuer = &middle});
    certs_append(&leaf, &middle);
    client = tls_ends_context(&(struct tls_wish){.identity = &leaf,
                                                 .ca = &ca,
                                                 .session_get = get,
                                                 .session_put = put,
                                                 .self = &kept},
                              ASSAY_TLS_CLIENT, NULL);
    server = tls_ends_context(&(struct tls_wish){.identity = &of_ca, .ca = &ca},
                              ASSAY_TLS_SERVER, NULL);
    for (int i = 0; i < 2; i++) {
        struct tls_ends e = {0};

        tls_ends_open(&e, &lab.loop, client, server);
        assert_true(tls_ends_run(&e, tls_ends_shaken, WAIT_MS));
        assert_string_equal(e.end[SERVER].err.text, "");
        assert_string_equal(e.end[CLIENT].err.text, "");
        assert_true(e.end[SERVER].peer.by_ca);
        assert_false(e.end[SERVER].peer.resumed);
        tls_ends_close(&e);
    }
    assert_int_equal(kept.puts, 2); /* what this board, without a chain, gave */
    assay_tls_context_free(client);
    assay_tls_context_free(server);
    assay_identity_close(&middle);
    assay_identity_close(&leaf);
}

/* Asked again while it is open: after a SIGHUP. */
static void test_judge_again(void **state)
{
    struct assay_tls_context *nobody =
        tls_ends_context(&(struct tls_wish){.identity = &lab.board, .pins = ""},
                         ASSAY_TLS_SERVER, NULL);
    struct assay_tls_context *same = tls_lab_server(NULL, 0);
    struct assay_tls_peer peer;
    struct assay_err err = {0};
    struct tls_ends e = {0};

    (void)state;
    tls_lab_open(&e);
    assert_true(tls_ends_run(&e, tls_ends_shaken, WAIT_MS));
    assert_int_equal(assay_tls_judge(same, e.end[SERVER].conn, &peer, &err), 0);
    assert_string_equal(peer.name, "anna");
    assert_int_equal(assay_tls_judge(nobody, e.end[SERVER].conn, &peer, &err),
                     ASSAY_ECONNECT);
    tls_ends_close(&e);
    assay_tls_context_free(nobody);
    assay_tls_context_free(same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who),   cmocka_unit_test(test_by_ca),
        cmocka_unit_test(test_names), cmocka_unit_test(test_purpose),
        cmocka_unit_test(test_chain), cmocka_unit_test(test_judge_again),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
