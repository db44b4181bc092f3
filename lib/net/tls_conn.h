/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A TLS connection from inside: conn_tls.c moves records once it is open,
 * tls_shake.c makes it so. For lib/net only. Loop thread only.
 */
#ifndef ASSAY_NET_TLS_CONN_H
#define ASSAY_NET_TLS_CONN_H

#include "lib/core/buf.h"
#include "lib/net/conn_tls.h"
#include "lib/net/deadline.h"
#include "lib/net/tls_context.h"

#define ASSAY_TLS_RECORD_MAX 16384u
/* Four full records; a record grows by 29 bytes at most, 64 is generous. */
#define ASSAY_TLS_BLOCK_BYTES (4u * (ASSAY_TLS_RECORD_MAX + 64u))

enum assay_tls_stage {
    ASSAY_TLS_SHAKING,
    ASSAY_TLS_OPEN,
    ASSAY_TLS_FAILED,
    ASSAY_TLS_CLOSING,
};

struct assay_tls_block {
    struct assay_tls *tls;
    size_t len, plain; /* bytes of records; what they carry */
    uint8_t data[ASSAY_TLS_BLOCK_BYTES];
};

struct assay_tls_pending {
    struct assay_tls_pending *next;
    const uint8_t *part[2]; /* what is left of the copy, and of the body */
    size_t left[2];
    assay_conn_done_fn *done;
    void *arg;
    uint8_t copy[];
};

struct assay_tls {
    struct assay_conn base;
    struct assay_tls_context *ctx;
    struct assay_conn *under; /* NULL: given away, or closed */
    char whom[256];
    enum assay_tls_stage stage;
    int open_parts;
    assay_tls_done_fn *done; /* NULL: called */
    void *self;
    struct assay_deadline deadline;
    uv_idle_t later;
    mbedtls_ssl_context ssl;
    struct assay_tls_peer peer;
    bool seen;              /* the peer's first byte */
    bool full;              /* its certificate came in this handshake */
    int alert;              /* its last alert in the clear, or -1 */
    bool in_read, spoke_up; /* mbedTLS sends by itself while it reads */
    /* Ciphertext: what is being read, and what came while nobody reads. */
    const uint8_t *in;
    size_t in_len;
    struct assay_buf kept;
    bool reading, cut;
    int end_status; /* 0: goes on; told once */
    bool end_told;
    char why[200];
    struct assay_tls_pending *first, **last;
    struct assay_tls_block *block; /* being filled */
    size_t waiting;                /* ciphertext in the connection below */
    bool shutting, said_goodbye;
    uint8_t plain[ASSAY_TLS_RECORD_MAX];
};

/* Allocates one over `under`; NULL: no memory. */
struct assay_tls *assay_tls_new(struct assay_tls_context *ctx, uv_loop_t *loop,
                                struct assay_conn *under, const char *whom,
                                assay_deadline_fn *late);
/* mbedTLS's ways in and out. */
int assay_tls_bio_send(void *tls, const unsigned char *data, size_t n);
int assay_tls_bio_recv(void *tls, unsigned char *out, size_t n);
/* Hands what was encrypted to the connection below; a UV_* code. */
int assay_tls_flush(struct assay_tls *t);
/* Decrypts `in` while the owner reads; keeps what is left of it. */
void assay_tls_read_records(struct assay_tls *t);
void assay_tls_keep_rest(struct assay_tls *t);
/* An open connection ends; why: NULL where the status says it. */
void assay_tls_set_end(struct assay_tls *t, int status, const char *why);
/* What a certificate by CA has to name; NULL: nothing. */
const char *assay_tls_host(const struct assay_tls *t);

#endif
