/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of TLS begin with: a loop, a board and anna, who trust each
 * other's keys. For cmocka's group set-up and tear-down.
 */
#ifndef ASSAY_TESTS_SUPPORT_TLS_LAB_H
#define ASSAY_TESTS_SUPPORT_TLS_LAB_H

#include "tests/support/certs.h"
#include "tests/support/tls_ends.h"

struct tls_lab {
    uv_loop_t loop;
    struct assay_identity board, anna; /* CN "board-7", "anna-cn" */
    char pins[128];                    /* the board's: anna is "anna" */
};
extern struct tls_lab lab;

void tls_lab_begin(void);
int tls_lab_end(void); /* not 0: a handle was left open */

/* The usual two; a deadline of 0 is the default, ca may be NULL. */
struct assay_tls_context *tls_lab_client(uint32_t handshake_ms);
struct assay_tls_context *tls_lab_server(const struct assay_identity *ca,
                                         uint32_t handshake_ms);
/* Opens both ends with those two. */
void tls_lab_open(struct tls_ends *e);
/* Whatever was done before: a client of these contexts gets through. */
void tls_lab_assert_served(struct assay_tls_context *client,
                           struct assay_tls_context *server);
/* Is it one of the sentences that a spoilt handshake or stream may end with? */
bool tls_lab_is_sentence(const char *text);

#endif
