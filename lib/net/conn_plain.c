/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/conn_plain.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/core/buf.h"

struct send_request {
    uv_write_t write;
    struct assay_plain *plain;
    size_t bytes;
    assay_conn_done_fn *done;
    void *arg;
    uint8_t copy[];
};

uv_stream_t *assay_plain_writer(struct assay_plain *p)
{
    return p->two ? (uv_stream_t *)&p->out : &p->in.stream;
}

static void on_written(uv_write_t *write, int status)
{
    struct send_request *r = write->data;
    struct assay_plain *p = r->plain;
    struct assay_conn *c = &p->base;

    c->queued -= r->bytes + sizeof(*r);
    if (status == 0)
        c->sent += r->bytes;
    if (r->done != NULL)
        r->done(r->arg);
    assay_free(r);
    if (c->events == NULL)
        return; /* closing: done() above was all that was owed */
    if (status < 0) {
        c->events->ended(c->self, status);
    } else if (c->above_cap && assay_conn_has_drained(c)) {
        c->above_cap = false;
        c->events->drained(c->self);
    }
}

static int plain_send(struct assay_conn *c, const void *head, size_t head_bytes,
                      const void *body, size_t body_bytes,
                      assay_conn_done_fn *done, void *arg)
{
    struct assay_plain *p = (struct assay_plain *)c;
    size_t copied = head_bytes + (done == NULL ? body_bytes : 0);
    struct send_request *r = assay_alloc(sizeof(*r) + copied);
    uv_buf_t bufs[2];
    unsigned n = 1;
    int rc;

    if (r == NULL)
        return UV_ENOMEM;
    *r = (struct send_request){
        .plain = p,
        .bytes = head_bytes + body_bytes,
        .done = done,
        .arg = arg,
    };
    r->write.data = r;
    memcpy(r->copy, head, head_bytes);
    if (done == NULL && body_bytes > 0)
        memcpy(r->copy + head_bytes, body, body_bytes);
    bufs[0] = uv_buf_init((char *)r->copy, (unsigned)copied);
    if (done != NULL && body_bytes > 0)
        bufs[n++] = uv_buf_init((char *)(uintptr_t)body, (unsigned)body_bytes);
    rc = uv_write(&r->write, assay_plain_writer(p), bufs, n, on_written);
    if (rc < 0) {
        assay_free(r);
        return rc;
    }
    c->queued += r->bytes + sizeof(*r);
    return 0;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct assay_plain *p = handle->data;

    (void)suggested;
    *buf = uv_buf_init(
        (char *)p->buffer,
        (unsigned)(p->base.read_max > 0 && p->base.read_max < sizeof(p->buffer)
                       ? p->base.read_max
                       : sizeof(p->buffer)));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct assay_plain *p = stream->data;
    struct assay_conn *c = &p->base;

    if (c->events == NULL || n == 0)
        return;
    if (n < 0) {
        uv_read_stop(stream);
        p->reading = false;
        c->events->ended(c->self, (int)n);
        return;
    }
    c->received += (uint64_t)n;
    c->events->data(c->self, (const uint8_t *)buf->base, (size_t)n);
}

static int plain_read(struct assay_conn *c, bool on)
{
    struct assay_plain *p = (struct assay_plain *)c;
    int rc = 0;

    if (on == p->reading)
        return 0;
    if (on)
        rc = uv_read_start(&p->in.stream, on_alloc, on_read);
    else
        uv_read_stop(&p->in.stream);
    if (rc == 0)
        p->reading = on;
    return rc;
}

static void on_shutdown(uv_shutdown_t *req, int status)
{
    (void)status; /* whoever waits sees the peer's end, or its deadline */
    assay_free(req);
}

static void plain_shutdown(struct assay_conn *c)
{
    struct assay_plain *p = (struct assay_plain *)c;
    uv_shutdown_t *req = assay_alloc(sizeof(*req));

    if (req != NULL && uv_shutdown(req, assay_plain_writer(p), on_shutdown) < 0)
        assay_free(req);
}

static void on_closed(uv_handle_t *handle)
{
    struct assay_plain *p = handle->data;

    if (--p->open_handles > 0)
        return;
    assert(p->base.queued == 0); /* libuv gave every write back before */
    if (p->base.closed != NULL)
        p->base.closed(p->base.self);
    assay_free(p);
}

static void plain_close(struct assay_conn *c)
{
    struct assay_plain *p = (struct assay_plain *)c;

    uv_close((uv_handle_t *)&p->in.stream, on_closed);
    if (p->two)
        uv_close((uv_handle_t *)&p->out, on_closed);
}

static const struct assay_conn_vtable plain_vtable = {
    .send = plain_send,
    .read = plain_read,
    .shutdown = plain_shutdown,
    .close = plain_close,
};

struct assay_plain *assay_plain_new(uv_loop_t *loop, enum assay_plain_kind kind)
{
    struct assay_plain *p = assay_calloc(1, sizeof(*p));
    int rc;

    if (p == NULL)
        return NULL;
    p->base.vt = &plain_vtable;
    if (kind == ASSAY_PLAIN_TCP)
        rc = uv_tcp_init(loop, &p->in.tcp);
    else
        rc = uv_pipe_init(loop, &p->in.pipe, 0);
    assert(rc == 0); /* neither makes a descriptor here */
    p->open_handles = 1;
    p->in.stream.data = p;
    if (kind == ASSAY_PLAIN_TWO) {
        rc = uv_pipe_init(loop, &p->out, 0);
        assert(rc == 0);
        p->out.data = p;
        p->two = true;
        p->open_handles = 2;
    }
    (void)rc;
    return p;
}

int assay_conn_from_fds(struct assay_conn **out, uv_loop_t *loop, int in,
                        int fd_out, struct assay_err *err)
{
    bool two = in != fd_out;
    struct assay_plain *p;
    int rc;

    /* A regular file cannot be waited for. */
    if (uv_guess_handle(in) == UV_FILE || uv_guess_handle(fd_out) == UV_FILE)
        return assay_fail(err, ASSAY_EUSAGE,
                          "descriptor %d is a file, a pipe or socket is "
                          "expected",
                          uv_guess_handle(in) == UV_FILE ? in : fd_out);
    p = assay_plain_new(loop, two ? ASSAY_PLAIN_TWO : ASSAY_PLAIN_PIPE);
    if (p == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a connection");
    rc = uv_pipe_open(&p->in.pipe, in);
    if (rc == 0 && two)
        rc = uv_pipe_open(&p->out, fd_out);
    if (rc < 0) {
        assay_conn_close(&p->base, NULL, NULL);
        return assay_fail(err, ASSAY_EIO,
                          "cannot use descriptors %d and %d: "
                          "%s",
                          in, fd_out, uv_strerror(rc));
    }
    *out = &p->base;
    return 0;
}

void assay_plain_keep_alive(struct assay_plain *p)
{
    static const struct {
        int level, name, value;
    } options[] = {
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, 10}, /* s */
        {IPPROTO_TCP, TCP_KEEPINTVL, 5}, /* s */
        {IPPROTO_TCP, TCP_KEEPCNT, 3},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, 25000}, /* ms, of what was sent */
    };
    uv_os_fd_t fd;

    if (uv_fileno((uv_handle_t *)&p->in.stream, &fd) < 0)
        return;
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        (void)setsockopt(fd, options[i].level, options[i].name,
                         &options[i].value, sizeof(options[i].value));
}
