/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/private_write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

/* Writes and closes; 0 or an errno. */
static int write_out(int fd, mode_t mode, bool durable, const void *data,
                     size_t n)
{
    const uint8_t *p = data;
    int why = 0;

    if (fchmod(fd, mode) < 0) /* the mask of the user may be tighter */
        why = errno;
    while (why == 0 && n > 0) {
        ssize_t put = write(fd, p, n);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0) {
            why = errno;
        } else {
            p += put;
            n -= (size_t)put;
        }
    }
    if (why == 0 && durable && fsync(fd) < 0 && errno != EINVAL &&
        errno != EROFS)
        why = errno;
    if (close(fd) < 0 && why == 0)
        why = errno;
    return why;
}

int assay_private_create(const char *path, const char *what, mode_t mode,
                         const void *data, size_t n, struct assay_err *err)
{
    int fd =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    int why;

    if (fd < 0 && errno == EEXIST)
        return assay_fail(err, ASSAY_EIO,
                          "%s '%s' is there already and is never overwritten",
                          what, path);
    if (fd < 0)
        return assay_fail(err, ASSAY_EIO, "%s '%s': %s", what, path,
                          strerror(errno));
    why = write_out(fd, mode, true, data, n);
    if (why == 0)
        return 0;
    unlink(path); /* ours: O_EXCL made it */
    return assay_fail(err, ASSAY_EIO, "%s '%s': %s", what, path, strerror(why));
}

int assay_private_replace(const char *path, const char *what, mode_t mode,
                          bool durable, const void *data, size_t n,
                          struct assay_err *err)
{
    char temporary[PATH_MAX];
    int len = snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
    int fd, why = 0;

    if (len < 0 || (size_t)len >= sizeof(temporary))
        return assay_fail(err, ASSAY_EIO, "%s '%.100s...': path too long", what,
                          path);
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return assay_fail(err, ASSAY_EIO, "%s '%s': %s", what, path,
                          strerror(errno));
    why = write_out(fd, mode, durable, data, n);
    if (why == 0 && rename(temporary, path) < 0)
        why = errno;
    if (why == 0)
        return 0;
    unlink(temporary);
    return assay_fail(err, ASSAY_EIO, "%s '%s': %s", what, path, strerror(why));
}
