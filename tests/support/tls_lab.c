/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/tls_lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define WAIT_MS 20000

struct tls_lab lab;

void tls_lab_begin(void)
{
    signal(SIGPIPE, SIG_IGN); /* as both programs do */
    uv_loop_init(&lab.loop);
    certs_make(&lab.board, &(struct certs_wish){.name = "board-7"});
    certs_make(&lab.anna, &(struct certs_wish){.name = "anna-cn"});
    snprintf(lab.pins, sizeof(lab.pins), "anna %s\n", lab.anna.fingerprint);
}

int tls_lab_end(void)
{
    assay_identity_close(&lab.board);
    assay_identity_close(&lab.anna);
    return uv_loop_close(&lab.loop);
}

struct assay_tls_context *tls_lab_client(uint32_t handshake_ms)
{
    return tls_ends_context(&(struct tls_wish){.identity = &lab.anna,
                                               .wanted = lab.board.fingerprint,
                                               .handshake_ms = handshake_ms},
                            ASSAY_TLS_CLIENT, NULL);
}

struct assay_tls_context *tls_lab_server(const struct assay_identity *ca,
                                         uint32_t handshake_ms)
{
    return tls_ends_context(&(struct tls_wish){.identity = &lab.board,
                                               .ca = ca,
                                               .pins = lab.pins,
                                               .handshake_ms = handshake_ms},
                            ASSAY_TLS_SERVER, NULL);
}

void tls_lab_open(struct tls_ends *e)
{
    struct assay_tls_context *client = tls_lab_client(0);
    struct assay_tls_context *server = tls_lab_server(NULL, 0);

    tls_ends_open(e, &lab.loop, client, server);
    assay_tls_context_free(client);
    assay_tls_context_free(server);
}

void tls_lab_assert_served(struct assay_tls_context *client,
                           struct assay_tls_context *server)
{
    struct tls_ends e = {0};

    tls_ends_open(&e, &lab.loop, client, server);
    assert_true(tls_ends_run(&e, tls_ends_shaken, WAIT_MS));
    assert_string_equal(e.end[CLIENT].err.text, "");
    assert_string_equal(e.end[SERVER].err.text, "");
    tls_ends_close(&e);
}

bool tls_lab_is_sentence(const char *text)
{
    static const char *const known[] = {
        "was cut during the TLS handshake",
        "did not end within 0.2 s",
        "changed or replayed",
        "malformed TLS",
        "out of turn",
        "the peer refused, TLS alert",
        "with a TLS alert",
        "TLS error -0x",
        "another version of TLS",
        "no common cipher",
        "without its goodbye",
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strstr(text, known[i]) != NULL)
            return true;
    }
    return false;
}
