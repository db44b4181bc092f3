/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/abstract.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int make_address(const char *name, struct sockaddr_un *addr,
                        socklen_t *len)
{
    size_t n = strlen(name);

    if (n == 0 || n + 2 > sizeof(addr->sun_path))
        return -ENAMETOOLONG;
    memset(addr, 0, sizeof(*addr));
    addr->sun_family = AF_UNIX;
    memcpy(addr->sun_path + 1, name, n);
    /* With its final NUL: emulators add one to a name that has none, and an
     * emulated agent must meet a native one under the same name. */
    *len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + 2);
    return 0;
}

static int open_socket(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    return fd < 0 ? -errno : fd;
}

int assay_abstract_listen(const char *name)
{
    struct sockaddr_un addr;
    socklen_t len;
    int fd, rc = make_address(name, &addr, &len);

    if (rc < 0)
        return rc;
    fd = open_socket();
    if (fd < 0)
        return fd;
    if (bind(fd, (struct sockaddr *)&addr, len) < 0 || listen(fd, 16) < 0) {
        rc = -errno;
        close(fd);
        return rc;
    }
    return fd;
}

int assay_abstract_connect(const char *name)
{
    struct sockaddr_un addr;
    socklen_t len;
    int fd, rc = make_address(name, &addr, &len);

    if (rc < 0)
        return rc;
    fd = open_socket();
    if (fd < 0)
        return fd;
    /* Unix sockets connect at once or, with a full backlog, not at all. */
    if (connect(fd, (struct sockaddr *)&addr, len) < 0) {
        rc = -errno;
        close(fd);
        return rc;
    }
    return fd;
}

bool assay_abstract_trusted(int fd)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return false;
    return cred.uid == 0 || cred.uid == geteuid();
}
