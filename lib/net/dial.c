/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/dial.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#include "lib/net/conn_plain.h"

static void try_address(struct assay_dial *d, const struct sockaddr *addr);

static void finish(struct assay_dial *d, struct assay_conn *conn, int status)
{
    d->over = true;
    uv_freeaddrinfo(d->addresses);
    d->addresses = d->next_address = NULL;
    d->done(d->self, conn, status);
}

static void on_tls(void *self, struct assay_conn *conn,
                   const struct assay_tls_peer *peer,
                   const struct assay_err *err)
{
    struct assay_dial *d = self;

    d->conn = NULL;
    if (peer != NULL)
        d->peer = *peer;
    if (err != NULL)
        d->why = *err;
    finish(d, conn, conn != NULL ? 0 : UV_EPROTO);
}

static void on_connected(uv_connect_t *req, int status)
{
    struct assay_dial *d = req->data;
    struct assay_conn *conn = d->conn;

    if (d->over)
        return;
    d->conn = NULL;
    if (status < 0) {
        assay_conn_close(conn, NULL, NULL);
        if (d->next_address != NULL)
            try_address(d, d->next_address->ai_addr);
        else
            finish(d, NULL, status);
    } else if (!d->target->is_tls) {
        finish(d, conn, 0);
    } else if (assay_tls_start(&d->conn, d->tls, d->loop, conn, d->target->host,
                               on_tls, d, &d->why) < 0) {
        finish(d, NULL, UV_EPROTO);
    }
}

static int connect_to(struct assay_dial *d, const struct sockaddr *addr)
{
    struct assay_plain *p = assay_plain_new(d->loop, ASSAY_PLAIN_TCP);
    int rc;

    if (p == NULL)
        return UV_ENOMEM;
    rc = uv_tcp_connect(&d->connect, &p->in.tcp, addr, on_connected);
    if (rc < 0) {
        assay_conn_close(&p->base, NULL, NULL);
        return rc;
    }
    uv_tcp_nodelay(&p->in.tcp, 1);
    d->conn = &p->base;
    return 0;
}

/* The first of those that are left which can be tried at all. */
static void try_address(struct assay_dial *d, const struct sockaddr *addr)
{
    int rc = UV_EAI_NONAME;

    while (addr != NULL) {
        d->next_address = d->next_address->ai_next;
        rc = connect_to(d, addr);
        if (rc == 0)
            return;
        addr = d->next_address != NULL ? d->next_address->ai_addr : NULL;
    }
    finish(d, NULL, rc);
}

static void on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *res)
{
    struct assay_dial *d = req->data;

    d->resolving = false;
    if (d->over) {
        uv_freeaddrinfo(res);
        return;
    }
    d->addresses = d->next_address = res;
    if (status < 0)
        finish(d, NULL, status);
    else
        try_address(d, res != NULL ? res->ai_addr : NULL);
}

static int resolve(struct assay_dial *d)
{
    static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    char port[8];
    int rc;

    snprintf(port, sizeof(port), "%u", d->target->port);
    d->resolve.data = d;
    rc = uv_getaddrinfo(d->loop, &d->resolve, on_resolved, d->target->host,
                        port, &hints);
    d->resolving = rc == 0;
    return rc;
}

static int dial_tcp(struct assay_dial *d)
{
    const struct assay_target *t = d->target;
    const char *host =
        strcasecmp(t->host, "localhost") == 0 ? "127.0.0.1" : t->host;
    struct sockaddr_storage addr;
    int rc;

    if (t->is_tls && d->tls == NULL)
        return assay_fail(&d->why, ASSAY_EUSAGE,
                          "TLS needs a key: 'assay keygen' makes one, or use "
                          "--target ssh:USER@HOST");
    rc = strchr(host, ':') != NULL
             ? uv_ip6_addr(host, t->port, (struct sockaddr_in6 *)&addr)
             : uv_ip4_addr(host, t->port, (struct sockaddr_in *)&addr);
    if (rc < 0 && t->is_tls)
        return resolve(d);
    return rc < 0 ? rc : connect_to(d, (struct sockaddr *)&addr);
}

static int dial_unix(struct assay_dial *d, uv_loop_t *loop,
                     const struct assay_target *t)
{
    struct sockaddr_un addr;
    struct assay_plain *p;

    if (strlen(t->path) >= sizeof(addr.sun_path))
        return UV_ENAMETOOLONG;
    p = assay_plain_new(loop, ASSAY_PLAIN_PIPE);
    if (p == NULL)
        return UV_ENOMEM;
    d->conn = &p->base;
    uv_pipe_connect(&d->connect, &p->in.pipe, t->path, on_connected);
    return 0;
}

static void on_exit_process(uv_process_t *process, int64_t status, int sig)
{
    struct assay_dial *d = process->data;

    d->exited(d->self, status, sig);
}

static int dial_exec(struct assay_dial *d, uv_loop_t *loop,
                     const struct assay_target *t)
{
    struct assay_plain *p = assay_plain_new(loop, ASSAY_PLAIN_TWO);
    uv_stdio_container_t stdio[3];
    uv_process_options_t options = {
        .exit_cb = on_exit_process,
        .file = t->argv[0],
        .args = t->argv,
        .stdio_count = 3,
        .stdio = stdio,
    };
    int rc;

    if (p == NULL)
        return UV_ENOMEM;
    stdio[0].flags = UV_CREATE_PIPE | UV_READABLE_PIPE;
    stdio[0].data.stream = (uv_stream_t *)&p->out;
    stdio[1].flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE;
    stdio[1].data.stream = (uv_stream_t *)&p->in.pipe;
    stdio[2].flags = UV_INHERIT_FD;
    stdio[2].data.fd = 2;
    d->process.data = d;
    rc = uv_spawn(loop, &d->process, &options);
    d->has_process = true; /* its handle has to be closed even now */
    if (rc < 0) {
        assay_conn_close(&p->base, NULL, NULL);
        return rc;
    }
    finish(d, &p->base, 0);
    return 0;
}

int assay_dial_start(struct assay_dial *d, uv_loop_t *loop,
                     const struct assay_target *target, struct assay_err *err)
{
    bool is_exec = target->kind == ASSAY_TARGET_EXEC;
    int rc;

    d->connect.data = d;
    d->target = target;
    d->loop = loop;
    if (target->kind == ASSAY_TARGET_TCP)
        rc = dial_tcp(d);
    else if (target->kind == ASSAY_TARGET_UNIX)
        rc = dial_unix(d, loop, target);
    else
        rc = dial_exec(d, loop, target);
    if (rc < 0)
        return assay_fail(err, d->why.code < 0 ? d->why.code : ASSAY_ECONNECT,
                          "cannot %s '%s': %s",
                          is_exec ? "start" : "connect to",
                          is_exec ? target->argv[0] : target->text,
                          d->why.code < 0 ? d->why.text : uv_strerror(rc));
    return 0;
}

void assay_dial_cancel(struct assay_dial *d)
{
    if (d->over || d->loop == NULL)
        return;
    d->over = true;
    if (d->resolving)
        uv_cancel((uv_req_t *)&d->resolve);
    if (d->conn != NULL)
        assay_conn_close(d->conn, NULL, NULL);
    d->conn = NULL;
    uv_freeaddrinfo(d->addresses);
    d->addresses = d->next_address = NULL;
}
