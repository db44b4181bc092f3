/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/dial.h"

#include <string.h>
#include <strings.h>
#include <sys/un.h>

#include "lib/net/conn_plain.h"

static void on_connected(uv_connect_t *req, int status)
{
    struct assay_dial *d = req->data;
    struct assay_conn *conn = d->conn;

    d->conn = NULL;
    if (status < 0) {
        assay_conn_close(conn, NULL, NULL);
        conn = NULL;
    }
    d->done(d->self, conn, status);
}

static int dial_tcp(struct assay_dial *d, uv_loop_t *loop,
                    const struct assay_target *t)
{
    const char *host =
        strcasecmp(t->host, "localhost") == 0 ? "127.0.0.1" : t->host;
    struct assay_plain *p = assay_plain_new(loop, ASSAY_PLAIN_TCP);
    struct sockaddr_storage addr;
    int rc;

    if (p == NULL)
        return UV_ENOMEM;
    rc = strchr(host, ':') != NULL
             ? uv_ip6_addr(host, t->port, (struct sockaddr_in6 *)&addr)
             : uv_ip4_addr(host, t->port, (struct sockaddr_in *)&addr);
    if (rc == 0)
        rc = uv_tcp_connect(&d->connect, &p->in.tcp, (struct sockaddr *)&addr,
                            on_connected);
    if (rc < 0) {
        assay_conn_close(&p->base, NULL, NULL);
        return rc;
    }
    uv_tcp_nodelay(&p->in.tcp, 1);
    d->conn = &p->base;
    return 0;
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
    d->done(d->self, &p->base, 0);
    return 0;
}

int assay_dial_start(struct assay_dial *d, uv_loop_t *loop,
                     const struct assay_target *target, struct assay_err *err)
{
    int rc = assay_target_check_loopback(
        target, "use --target ssh:USER@HOST, or forward the port", err);

    if (rc < 0)
        return rc;
    d->connect.data = d;
    if (target->kind == ASSAY_TARGET_TCP)
        rc = dial_tcp(d, loop, target);
    else if (target->kind == ASSAY_TARGET_UNIX)
        rc = dial_unix(d, loop, target);
    else
        rc = dial_exec(d, loop, target);
    if (rc < 0)
        return assay_fail(
            err, ASSAY_ECONNECT, "cannot %s '%s': %s",
            target->kind == ASSAY_TARGET_EXEC ? "start" : "connect to",
            target->kind == ASSAY_TARGET_EXEC ? target->argv[0] : target->text,
            uv_strerror(rc));
    return 0;
}
