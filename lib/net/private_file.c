/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

static const char *verb_of(unsigned bits)
{
    if ((bits & 0044u) != 0)
        return "read";
    return (bits & 0022u) != 0 ? "write" : "execute";
}

static int check(int fd, const char *path, const char *what, unsigned forbidden,
                 struct assay_err *err)
{
    struct stat st;
    unsigned mode;

    if (fstat(fd, &st) < 0)
        return assay_fail(err, ASSAY_EIO, "%s '%s': %s", what, path,
                          strerror(errno));
    if (!S_ISREG(st.st_mode))
        return assay_fail(err, ASSAY_EFORMAT, "%s '%s' is not a regular file",
                          what, path);
    mode = (unsigned)st.st_mode & 07777u;
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return assay_fail(err, ASSAY_EIO,
                          "%s '%s' belongs to user %u, expected this user (%u) "
                          "or root",
                          what, path, (unsigned)st.st_uid, (unsigned)geteuid());
    if ((mode & forbidden) != 0)
        return assay_fail(err, ASSAY_EIO,
                          "%s '%s' has mode %04o, so that %s may %s it: chmod "
                          "%s it",
                          what, path, mode,
                          (mode & forbidden & 0007u) != 0 ? "others" : "group",
                          verb_of(mode & forbidden),
                          (forbidden & 0044u) != 0 ? "600" : "go-w");
    return 0;
}

/* Everything up to cap + 1 bytes, into memory that does not move: a moved
 * secret would stay behind. 0 or an errno. */
static int read_all(int fd, struct assay_buf *out, size_t cap)
{
    size_t left = cap + 1;

    if (assay_buf_reserve(out, left) < 0)
        return ENOMEM;
    while (left > 0) {
        ssize_t n = read(fd, out->data + out->len, left);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        if (n == 0)
            break;
        out->len += (size_t)n;
        left -= (size_t)n;
    }
    return 0;
}

int assay_private_read(struct assay_buf *out, const char *path,
                       const char *what, unsigned forbidden, size_t cap,
                       struct assay_err *err)
{
    size_t before = out->len;
    int fd, rc;

    /* Of a pipe nobody waits for a writer. */
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        int why = errno;

        rc = assay_fail(err, ASSAY_EIO, "%s '%s': %s", what, path,
                        strerror(why));
        errno = why;
        return rc;
    }
    rc = check(fd, path, what, forbidden, err);
    if (rc == 0) {
        int why = read_all(fd, out, cap);

        if (why != 0)
            rc = assay_fail(err, why == ENOMEM ? ASSAY_EMEMORY : ASSAY_EIO,
                            "%s '%s': %s", what, path, strerror(why));
    }
    close(fd);
    if (rc == 0 && out->len - before > cap)
        rc = assay_fail(err, ASSAY_EFORMAT, "%s '%s' is longer than %zu bytes",
                        what, path, cap);
    errno = 0;
    return rc;
}
