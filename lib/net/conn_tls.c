/* SPDX-License-Identifier: Apache-2.0 */
/* An open TLS connection: records in, records out. */
#include "lib/net/conn_tls.h"

#include <stdio.h>
#include <string.h>

#include <mbedtls/platform_util.h>

#include "lib/net/tls_conn.h"

/* Ciphertext that waits in the connection below. What is queued beyond stays
 * where its owner has it, and is encrypted when there is room. */
#define WAITING_MAX (4u * ASSAY_TLS_BLOCK_BYTES)

static void on_later(uv_idle_t *idle);

/* On the next turn of the loop: nobody is called back from within a call. */
static void soon(struct assay_tls *t)
{
    uv_idle_start(&t->later, on_later);
}

static void pump(struct assay_tls *t);

/* ---- ends ----------------------------------------------------------------- */

static void finish(struct assay_tls_pending *p)
{
    if (p->done != NULL)
        p->done(p->arg);
    assay_free(p);
}

static void part_closed(void *self)
{
    struct assay_tls *t = self;

    if (--t->open_parts > 0)
        return;
    while (t->first != NULL) {
        struct assay_tls_pending *p = t->first;

        t->first = p->next;
        finish(p);
    }
    mbedtls_ssl_free(&t->ssl);
    mbedtls_platform_zeroize(t->plain, sizeof(t->plain));
    assay_buf_close(&t->kept);
    assay_free(t->block);
    assay_tls_context_free(t->ctx);
    if (t->base.closed != NULL)
        t->base.closed(t->base.self);
    assay_free(t);
}

static void later_closed(uv_handle_t *handle)
{
    part_closed(handle->data);
}

static void tls_close(struct assay_conn *c)
{
    struct assay_tls *t = (struct assay_tls *)c;

    if (t->stage == ASSAY_TLS_OPEN && t->first == NULL && t->waiting == 0) {
        t->shutting = true; /* the kernel takes a goodbye at once */
        pump(t);
    }
    t->stage = ASSAY_TLS_CLOSING;
    t->done = NULL;
    assay_deadline_close(&t->deadline, part_closed);
    uv_close((uv_handle_t *)&t->later, later_closed);
    if (t->under != NULL)
        assay_conn_close(t->under, part_closed, t);
    t->under = NULL;
}

/* The owner is told as soon as there is one, and once. */
static void tell_end(struct assay_tls *t)
{
    if (t->end_status == 0 || t->end_told || t->base.events == NULL)
        return;
    t->end_told = true;
    t->base.events->ended(t->base.self, t->end_status);
}

void assay_tls_set_end(struct assay_tls *t, int status, const char *why)
{
    if (t->end_status != 0 || t->stage != ASSAY_TLS_OPEN)
        return;
    t->stage = ASSAY_TLS_FAILED;
    t->end_status = status;
    if (why != NULL && why != t->why)
        snprintf(t->why, sizeof(t->why), "%s", why);
    if (why != NULL)
        t->base.why = t->why;
    tell_end(t);
}

/* ---- out ------------------------------------------------------------------ */

static void on_block_written(void *arg)
{
    struct assay_tls_block *b = arg;
    struct assay_tls *t = b->tls;
    struct assay_conn *c = &t->base;

    t->waiting -= b->len;
    c->queued -= b->plain;
    c->sent += b->len;
    if (t->block == NULL && t->first != NULL) {
        b->len = b->plain = 0;
        t->block = b; /* there is more to fill it with */
    } else {
        assay_free(b);
    }
    if (t->stage == ASSAY_TLS_CLOSING || c->events == NULL)
        return;
    if (c->above_cap && assay_conn_has_drained(c)) {
        c->above_cap = false;
        c->events->drained(c->self);
    }
    if (t->first != NULL || t->shutting)
        soon(t);
}

/* Hands the block that was filled to the connection below. */
int assay_tls_flush(struct assay_tls *t)
{
    struct assay_tls_block *b = t->block;
    int rc;

    if (b == NULL || b->len == 0)
        return 0;
    t->block = NULL;
    t->waiting += b->len;
    rc = assay_conn_send(t->under, "", 0, b->data, b->len, on_block_written, b);
    if (rc < 0) {
        t->waiting -= b->len;
        t->base.queued -= b->plain;
        assay_free(b);
    }
    return rc;
}

int assay_tls_bio_send(void *self, const unsigned char *data, size_t n)
{
    struct assay_tls *t = self;

    if (n > ASSAY_TLS_BLOCK_BYTES)
        return MBEDTLS_ERR_SSL_INTERNAL_ERROR;
    if (t->block != NULL && ASSAY_TLS_BLOCK_BYTES - t->block->len < n &&
        assay_tls_flush(t) < 0)
        return MBEDTLS_ERR_SSL_CONN_EOF;
    if (t->block == NULL) {
        t->block = assay_alloc(sizeof(*t->block));
        if (t->block == NULL)
            return MBEDTLS_ERR_SSL_ALLOC_FAILED;
        t->block->tls = t;
        t->block->len = t->block->plain = 0;
    }
    memcpy(t->block->data + t->block->len, data, n);
    t->block->len += n;
    t->spoke_up = t->spoke_up || t->in_read;
    return (int)n;
}

/* Encrypts one record of what is first in the queue. */
static int encrypt(struct assay_tls *t)
{
    struct assay_tls_pending *p = t->first;
    int i = p->left[0] > 0 ? 0 : 1;
    int n = 0;

    if (p->left[i] > 0) {
        n = mbedtls_ssl_write(&t->ssl, p->part[i], p->left[i]);
        if (n < 0)
            return n;
        p->part[i] += n;
        p->left[i] -= (size_t)n;
        t->block->plain += (size_t)n;
    }
    if (p->left[0] > 0 || p->left[1] > 0)
        return 0;
    t->first = p->next;
    if (t->first == NULL)
        t->last = &t->first;
    t->base.queued -= sizeof(*p);
    finish(p); /* may send, or close */
    return 0;
}

static void pump(struct assay_tls *t)
{
    char text[160];
    int rc = 0;

    while (rc == 0 && t->stage == ASSAY_TLS_OPEN && t->first != NULL &&
           t->waiting < WAITING_MAX)
        rc = encrypt(t);
    if (t->stage != ASSAY_TLS_OPEN)
        return;
    if (rc == 0 && t->shutting && t->first == NULL && !t->said_goodbye) {
        t->said_goodbye = true;
        rc = mbedtls_ssl_close_notify(&t->ssl);
        if (rc == 0 && assay_tls_flush(t) == 0)
            assay_conn_shutdown(t->under);
    }
    if (rc != 0) {
        assay_tls_text(rc, -1, text, sizeof(text));
        assay_tls_set_end(t, UV_EPROTO, text);
        return;
    }
    rc = assay_tls_flush(t);
    if (rc < 0)
        assay_tls_set_end(t, rc, NULL);
}

static int tls_send(struct assay_conn *c, const void *head, size_t head_bytes,
                    const void *body, size_t body_bytes,
                    assay_conn_done_fn *done, void *arg)
{
    struct assay_tls *t = (struct assay_tls *)c;
    size_t copied = head_bytes + (done == NULL ? body_bytes : 0);
    struct assay_tls_pending *p;

    if (t->stage != ASSAY_TLS_OPEN || t->shutting)
        return UV_EPIPE;
    p = assay_alloc(sizeof(*p) + copied);
    if (p == NULL)
        return UV_ENOMEM;
    *p = (struct assay_tls_pending){.done = done, .arg = arg};
    if (head_bytes > 0)
        memcpy(p->copy, head, head_bytes);
    if (done == NULL && body_bytes > 0)
        memcpy(p->copy + head_bytes, body, body_bytes);
    p->part[0] = p->copy;
    p->left[0] = copied;
    if (done != NULL) {
        p->part[1] = body;
        p->left[1] = body_bytes;
    }
    *t->last = p;
    t->last = &p->next;
    c->queued += head_bytes + body_bytes + sizeof(*p);
    /* Not now: done() never comes from within a send. */
    soon(t);
    return 0;
}

static void tls_shutdown(struct assay_conn *c)
{
    struct assay_tls *t = (struct assay_tls *)c;

    t->shutting = true;
    if (t->stage == ASSAY_TLS_OPEN)
        soon(t);
}

/* ---- in ------------------------------------------------------------------- */

int assay_tls_bio_recv(void *self, unsigned char *out, size_t n)
{
    struct assay_tls *t = self;

    if (t->in_len == 0)
        return t->cut ? 0 : MBEDTLS_ERR_SSL_WANT_READ;
    if (n > t->in_len)
        n = t->in_len;
    memcpy(out, t->in, n);
    t->in += n;
    t->in_len -= n;
    return (int)n;
}

void assay_tls_read_records(struct assay_tls *t)
{
    char text[160];
    int n;

    while (t->stage == ASSAY_TLS_OPEN && t->reading && t->base.events != NULL) {
        t->in_read = true;
        t->spoke_up = false;
        n = mbedtls_ssl_read(&t->ssl, t->plain, sizeof(t->plain));
        t->in_read = false;
        if (t->spoke_up && (n > 0 || n == MBEDTLS_ERR_SSL_WANT_READ)) {
            /* It can only have been asked for another handshake. */
            pump(t);
            assay_tls_set_end(t, UV_EPROTO,
                              "the peer asked for a new TLS handshake");
        } else if (n > 0) {
            t->base.events->data(t->base.self, t->plain, (size_t)n);
        } else if (n == MBEDTLS_ERR_SSL_WANT_READ) {
            return;
        } else if (n == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY) {
            assay_tls_set_end(t, UV_EOF, NULL);
        } else {
            pump(t); /* an alert */
            assay_tls_text(n == 0 ? MBEDTLS_ERR_SSL_CONN_EOF : n, -1, text,
                           sizeof(text));
            assay_tls_set_end(t,
                              n == 0 || n == MBEDTLS_ERR_SSL_CONN_EOF
                                  ? UV_ECONNRESET
                                  : UV_EPROTO,
                              text);
        }
    }
}

void assay_tls_keep_rest(struct assay_tls *t)
{
    if (t->in_len > 0 &&
        (t->stage == ASSAY_TLS_OPEN || t->stage == ASSAY_TLS_SHAKING) &&
        assay_buf_append(&t->kept, t->in, t->in_len) < 0)
        assay_tls_set_end(t, UV_ENOMEM, NULL);
    t->in_len = 0;
}

/* Reads what was kept, then lets the connection below bring more. */
static void catch_up(struct assay_tls *t)
{
    struct assay_buf kept = t->kept;

    assay_buf_init(&t->kept);
    t->in = kept.data;
    t->in_len = kept.len;
    assay_tls_read_records(t);
    assay_tls_keep_rest(t);
    assay_buf_close(&kept);
    if (t->stage == ASSAY_TLS_OPEN && t->reading && !t->cut)
        (void)!assay_conn_read(t->under, true);
}

static void on_later(uv_idle_t *idle)
{
    struct assay_tls *t = idle->data;

    uv_idle_stop(idle);
    tell_end(t);
    if (t->stage == ASSAY_TLS_OPEN)
        pump(t);
    if (t->stage == ASSAY_TLS_OPEN && t->reading)
        catch_up(t);
}

static int tls_read(struct assay_conn *c, bool on)
{
    struct assay_tls *t = (struct assay_tls *)c;

    t->reading = on;
    if (on)
        soon(t);
    else if (t->under != NULL)
        return assay_conn_read(t->under, false);
    return 0;
}

static const struct assay_conn_vtable tls_vtable = {
    .send = tls_send,
    .read = tls_read,
    .shutdown = tls_shutdown,
    .close = tls_close,
};

struct assay_tls *assay_tls_new(struct assay_tls_context *ctx, uv_loop_t *loop,
                                struct assay_conn *under, const char *whom,
                                assay_deadline_fn *late)
{
    struct assay_tls *t = assay_calloc(1, sizeof(*t));

    if (t == NULL)
        return NULL;
    t->base.vt = &tls_vtable;
    t->ctx = assay_tls_context_ref(ctx);
    t->under = under;
    t->alert = -1;
    t->last = &t->first;
    snprintf(t->whom, sizeof(t->whom), "%s", whom);
    mbedtls_ssl_init(&t->ssl);
    assay_deadline_init(&t->deadline, loop, late, t);
    uv_idle_init(loop, &t->later);
    t->later.data = t;
    t->open_parts = 3; /* deadline, later, under */
    return t;
}

const char *assay_tls_host(const struct assay_tls *t)
{
    return t->ctx->role == ASSAY_TLS_CLIENT ? t->whom : NULL;
}

const struct assay_tls_peer *assay_tls_peer(const struct assay_conn *c)
{
    const struct assay_tls *t = (const struct assay_tls *)c;

    return c->vt == &tls_vtable ? &t->peer : NULL;
}

int assay_tls_judge(const struct assay_tls_context *ctx,
                    const struct assay_conn *c, struct assay_tls_peer *out,
                    struct assay_err *err)
{
    const struct assay_tls *t = (const struct assay_tls *)c;

    memset(out, 0, sizeof(*out));
    if (c->vt != &tls_vtable)
        return 0;
    out->resumed = t->peer.resumed;
    return assay_tls_judge_cert(ctx, mbedtls_ssl_get_peer_cert(&t->ssl),
                                assay_tls_host(t), out, err);
}
