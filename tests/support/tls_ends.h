/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ends of a TLS connection in one loop, and the wire between them in the
 * test's hands: client <-> fd[0] ... fd[1] <-> server. A failure of the
 * builder itself ends the test program.
 */
#ifndef ASSAY_TESTS_SUPPORT_TLS_ENDS_H
#define ASSAY_TESTS_SUPPORT_TLS_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "lib/core/buf.h"
#include "lib/net/conn_tls.h"

enum { CLIENT, SERVER };

struct tls_end {
    struct assay_conn *conn; /* NULL: closed */
    bool is_done;            /* the handshake is over */
    bool bare;               /* conn has no TLS */
    bool closed;
    struct assay_err err;       /* of done() */
    struct assay_tls_peer peer; /* of done(); zeroed if it had none */
    bool has_peer;
    struct assay_buf got;
    int end_status; /* 0: not ended */
    int drained;
    bool stay; /* does not start by itself */
};

/* What becomes of a record. */
enum tls_fate { PASS, DROP, TWICE, FLIP, STOP, CUT };

struct tls_ends {
    uv_loop_t *loop;
    struct tls_end end[2];
    int fd[2];
    /* What is on its way from this side, whole records in front. */
    struct assay_buf way[2];
    size_t ready[2];   /* of `way`, may go on */
    size_t records[2]; /* that were seen */
    size_t bytes[2];   /* that were passed on */
    size_t chunk;      /* bytes that go at once; 0: all */
    bool hold[2];      /* nothing is taken from this side */
    bool cut, raw;     /* raw: records are not looked for */
    enum tls_fate (*fate)(struct tls_ends *e, int side, size_t record,
                          const uint8_t *data, size_t n);
    void *self; /* of fate */
};

/* Both begin their handshake; a NULL context leaves that side's fd to the
 * test. */
void tls_ends_open(struct tls_ends *e, uv_loop_t *loop,
                   struct assay_tls_context *client,
                   struct assay_tls_context *server);
/* Turns the loop and the wire until `over` says so; false: not within ms. */
bool tls_ends_run(struct tls_ends *e, bool (*over)(struct tls_ends *e),
                  unsigned ms);
bool tls_ends_shaken(struct tls_ends *e); /* both sides are done */
bool tls_ends_over(struct tls_ends *e);   /* both ended or closed */
void tls_ends_close(struct tls_ends *e);  /* closes what is open; waits */

/* One context of a config that is made of copies. */
struct tls_wish {
    const struct assay_identity *identity, *ca;
    const char *pins;   /* lines, or NULL */
    const char *wanted; /* a fingerprint, or NULL */
    bool accept_any;
    uint32_t handshake_ms;
    size_t (*session_get)(void *self, uint8_t *out, size_t cap);
    void (*session_put)(void *self, const uint8_t *blob, size_t n);
    void *self;
};
struct assay_tls_context *tls_ends_context(const struct tls_wish *wish,
                                           enum assay_tls_role role,
                                           struct assay_tls_context *before);

#endif
