/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/listen.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/core/buf.h"
#include "lib/net/abstract.h"
#include "lib/net/conn_plain.h"

#define BACKLOG 16

struct assay_listener {
    union {
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } h;
    bool is_tcp, is_abstract;
    assay_accept_fn *accept;
    void *self;
    char address[160];
};

static void on_connection(uv_stream_t *server, int status)
{
    struct assay_listener *l = server->data;
    struct assay_plain *p;
    uv_os_fd_t fd;

    if (status < 0)
        return; /* out of descriptors, or the peer has gone: the next one */
    p = assay_plain_new(server->loop,
                        l->is_tcp ? ASSAY_PLAIN_TCP : ASSAY_PLAIN_PIPE);
    if (p == NULL)
        return;
    if (uv_accept(server, &p->in.stream) < 0) {
        assay_conn_close(&p->base, NULL, NULL);
        return;
    }
    if (l->is_abstract && (uv_fileno((uv_handle_t *)&p->in.stream, &fd) < 0 ||
                           !assay_abstract_trusted(fd))) {
        assay_conn_close(&p->base, NULL, NULL);
        return;
    }
    if (l->is_tcp) {
        uv_tcp_nodelay(&p->in.tcp, 1);
        assay_plain_keep_alive(p);
    }
    l->accept(l->self, &p->base);
}

static int bind_tcp(struct assay_listener *l, const struct assay_target *t,
                    struct assay_err *err)
{
    const char *host =
        strcasecmp(t->host, "localhost") == 0 ? "127.0.0.1" : t->host;
    struct sockaddr_storage addr;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&addr;
    struct sockaddr_in *v4 = (struct sockaddr_in *)&addr;
    char name[64];
    int len = sizeof(addr), rc;
    bool is_v6 = strchr(host, ':') != NULL;
    const char *tls = t->is_tls ? "tls:" : "";

    rc =
        is_v6 ? uv_ip6_addr(host, t->port, v6) : uv_ip4_addr(host, t->port, v4);
    if (rc == 0)
        rc = uv_tcp_bind(&l->h.tcp, (struct sockaddr *)&addr, 0);
    if (rc == 0)
        rc = uv_listen(&l->h.stream, BACKLOG, on_connection);
    if (rc == 0)
        rc = uv_tcp_getsockname(&l->h.tcp, (struct sockaddr *)&addr, &len);
    if (rc < 0)
        return assay_fail(err, ASSAY_EUSAGE, "cannot listen on '%s': %s",
                          t->text, uv_strerror(rc));
    if (is_v6) {
        uv_ip6_name(v6, name, sizeof(name));
        snprintf(l->address, sizeof(l->address), "%s[%s]:%u", tls, name,
                 ntohs(v6->sin6_port));
    } else {
        uv_ip4_name(v4, name, sizeof(name));
        snprintf(l->address, sizeof(l->address), "%s%s:%u", tls, name,
                 ntohs(v4->sin_port));
    }
    return 0;
}

/* A socket file that nobody answers is left over from a killed agent. */
static bool is_stale(const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    struct stat st;
    int fd, rc;

    if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
        return false;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    memcpy(addr.sun_path, path, strlen(path) + 1);
    rc = connect(fd, (struct sockaddr *)&addr, sizeof(addr));
    rc = rc < 0 ? errno : 0;
    close(fd);
    return rc == ECONNREFUSED;
}

static int bind_unix(struct assay_listener *l, const struct assay_target *t,
                     struct assay_err *err)
{
    struct sockaddr_un addr;
    mode_t old;
    int rc;

    if (strlen(t->path) >= sizeof(addr.sun_path))
        return assay_fail(err, ASSAY_EUSAGE,
                          "path of '%s' has %zu bytes, a Unix socket takes "
                          "at most %zu",
                          t->text, strlen(t->path), sizeof(addr.sun_path) - 1);
    if (is_stale(t->path))
        unlink(t->path);
    old = umask(0177); /* the socket's file mode is its access control */
    rc = uv_pipe_bind(&l->h.pipe, t->path);
    umask(old);
    if (rc == UV_EACCES && errno == ENOENT)
        rc = UV_ENOENT; /* libuv calls a folder that is not there so */
    if (rc == 0)
        rc = uv_listen(&l->h.stream, BACKLOG, on_connection);
    if (rc < 0)
        return assay_fail(err, ASSAY_EUSAGE, "cannot listen on '%s': %s",
                          t->text, uv_strerror(rc));
    snprintf(l->address, sizeof(l->address), "unix:%s", t->path);
    return 0;
}

static struct assay_listener *listener_new(uv_loop_t *loop, bool is_tcp,
                                           assay_accept_fn *accept, void *self)
{
    struct assay_listener *l = assay_calloc(1, sizeof(*l));
    int rc;

    if (l == NULL)
        return NULL;
    rc = is_tcp ? uv_tcp_init(loop, &l->h.tcp)
                : uv_pipe_init(loop, &l->h.pipe, 0);
    assert(rc == 0);
    (void)rc;
    l->h.stream.data = l;
    l->is_tcp = is_tcp;
    l->accept = accept;
    l->self = self;
    return l;
}

int assay_listener_open(struct assay_listener **out, uv_loop_t *loop,
                        const struct assay_target *where,
                        assay_accept_fn *accept, void *self,
                        struct assay_err *err)
{
    struct assay_listener *l;
    int rc;

    if (where->kind == ASSAY_TARGET_EXEC)
        return assay_fail(err, ASSAY_EUSAGE,
                          "cannot listen on '%s': HOST:PORT or unix:PATH "
                          "expected",
                          where->text);
    if (where->kind == ASSAY_TARGET_TCP && !where->is_tls &&
        !assay_target_is_loopback(where->host))
        return assay_fail(err, ASSAY_EUSAGE,
                          "cannot listen on '%s' without TLS", where->text);
    l = listener_new(loop, where->kind == ASSAY_TARGET_TCP, accept, self);
    if (l == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a listener");
    rc = l->is_tcp ? bind_tcp(l, where, err) : bind_unix(l, where, err);
    if (rc < 0) {
        assay_listener_close(l);
        return rc;
    }
    *out = l;
    return 0;
}

int assay_listener_open_abstract(struct assay_listener **out, uv_loop_t *loop,
                                 const char *name, assay_accept_fn *accept,
                                 void *self, struct assay_err *err)
{
    struct assay_listener *l;
    int rc, fd = assay_abstract_listen(name);

    if (fd == -EADDRINUSE)
        return assay_fail(err, ASSAY_EBUSY, "socket name '@%s' is taken", name);
    if (fd < 0)
        return assay_fail(err, ASSAY_EMEMORY,
                          "cannot bind socket name '@%s': %s", name,
                          strerror(-fd));
    l = listener_new(loop, false, accept, self);
    if (l == NULL) {
        close(fd);
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a listener");
    }
    l->is_abstract = true;
    rc = uv_pipe_open(&l->h.pipe, fd);
    if (rc < 0)
        close(fd);
    if (rc == 0)
        rc = uv_listen(&l->h.stream, BACKLOG, on_connection);
    if (rc < 0) {
        assay_listener_close(l);
        return assay_fail(err, ASSAY_EMEMORY, "cannot listen on '@%s': %s",
                          name, uv_strerror(rc));
    }
    snprintf(l->address, sizeof(l->address), "@%s", name);
    *out = l;
    return 0;
}

const char *assay_listener_address(const struct assay_listener *l)
{
    return l->address;
}

static void on_closed(uv_handle_t *handle)
{
    assay_free(handle->data);
}

void assay_listener_close(struct assay_listener *l)
{
    if (l != NULL)
        uv_close((uv_handle_t *)&l->h.stream, on_closed);
}
