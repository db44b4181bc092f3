/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/model/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/core/buf.h"

/* Up to here assay_file_map reads. */
#define READ_WHOLE ((size_t)16 << 20)

static int read_all(int fd, uint8_t *data, size_t n, const char *path,
                    struct assay_err *err)
{
    size_t got = 0;

    while (got < n) {
        ssize_t k = read(fd, data + got, n - got);

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return assay_fail(err, ASSAY_EIO, "%s: %s", path, strerror(errno));
        if (k == 0)
            return assay_fail(err, ASSAY_EIO,
                              "%s: became shorter while it was read", path);
        got += (size_t)k;
    }
    return 0;
}

/* A regular file of at most cap bytes, open; or a sentence. */
static int open_file(int *fd, size_t *n, const char *path, size_t cap,
                     struct assay_err *err)
{
    struct stat sb;
    int rc = 0;

    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0)
        return assay_fail(err, ASSAY_EIO, "%s: %s", path, strerror(errno));
    if (fstat(*fd, &sb) || !S_ISREG(sb.st_mode))
        rc = assay_fail(err, ASSAY_EIO, "%s: not a file", path);
    else if ((uint64_t)sb.st_size > cap)
        rc = assay_fail(err, ASSAY_ERANGE,
                        "%s: %lld bytes, more than the limit of %zu", path,
                        (long long)sb.st_size, cap);
    if (rc)
        close(*fd);
    else
        *n = (size_t)sb.st_size;
    return rc;
}

int assay_file_read(uint8_t **data, size_t *n, const char *path, size_t cap,
                    struct assay_err *err)
{
    uint8_t *buf;
    size_t size = 0;
    int fd, rc = open_file(&fd, &size, path, cap, err);

    if (rc)
        return rc;
    buf = assay_alloc(size + 1);
    if (!buf)
        rc = assay_fail(err, ASSAY_EMEMORY, "%s: no memory for %zu bytes", path,
                        size);
    if (!rc)
        rc = read_all(fd, buf, size, path, err);
    close(fd);
    if (rc) {
        assay_free(buf);
        return rc;
    }
    buf[size] = '\0';
    *data = buf;
    *n = size;
    return 0;
}

int assay_file_map(struct assay_file_map *m, const char *path, size_t cap,
                   struct assay_err *err)
{
    size_t size = 0;
    void *data = NULL;
    int fd, rc = open_file(&fd, &size, path, cap, err);

    if (rc)
        return rc;
    if (size > 0 && size <= READ_WHOLE) {
        uint8_t *whole = NULL;

        close(fd);
        rc = assay_file_read(&whole, &size, path, cap, err);
        if (!rc)
            *m = (struct assay_file_map){
                .data = whole, .size = size, .whole = true};
        return rc;
    }
    if (size > 0)
        data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        rc = assay_fail(err, ASSAY_EIO, "%s: %s", path, strerror(errno));
    close(fd);
    if (!rc)
        *m = (struct assay_file_map){.data = data, .size = size};
    return rc;
}

void assay_file_drop(void *map, size_t offset)
{
    struct assay_file_map *m = map;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), from;

    if (m->whole)
        return;

    /* Whoever went back may have brought anything back. */
    from = offset < m->dropped ? 0 : m->dropped;
    offset -= offset % page;
    if (offset > from)
        (void)madvise((void *)(m->data + from), offset - from, MADV_DONTNEED);
    m->dropped = offset;
}

void assay_file_unmap(struct assay_file_map *m)
{
    if (m->whole)
        assay_free((void *)m->data);
    else if (m->data)
        munmap((void *)m->data, m->size);
    *m = (struct assay_file_map){0};
}

static int cannot_write(const char *path, int why, struct assay_err *err)
{
    return assay_fail(err, ASSAY_EIO, "%.300s: cannot be written: %s", path,
                      strerror(why));
}

int assay_file_write(const char *path, const void *data, size_t n,
                     struct assay_err *err)
{
    char part[4200];
    struct stat sb;
    bool in_place = lstat(path, &sb) == 0 && !S_ISREG(sb.st_mode);
    FILE *f;
    int why = 0;

    if (snprintf(part, sizeof(part), "%s.part%ld", path, (long)getpid()) >=
        (int)sizeof(part))
        return cannot_write(path, ENAMETOOLONG, err);
    f = fopen(in_place ? path : part, "wb");
    if (f == NULL)
        return cannot_write(path, errno, err);
    errno = EIO;
    if (fwrite(data, 1, n, f) != n)
        why = errno;
    if (fclose(f) != 0 && why == 0)
        why = errno;
    if (why == 0 && !in_place && rename(part, path) != 0)
        why = errno;
    if (why != 0 && !in_place)
        (void)unlink(part);
    return why != 0 ? cannot_write(path, why, err) : 0;
}

bool assay_file_is_regular(const char *path)
{
    struct stat sb;

    return !stat(path, &sb) && S_ISREG(sb.st_mode);
}

bool assay_file_is_folder(const char *path)
{
    struct stat sb;

    return !stat(path, &sb) && S_ISDIR(sb.st_mode);
}

char *assay_file_join(const char *folder, const char *name)
{
    size_t a = strlen(folder), b = strlen(name);
    bool slash = a && folder[a - 1] != '/';
    char *out = assay_alloc(a + b + 2);

    if (!out)
        return NULL;
    memcpy(out, folder, a);
    if (slash)
        out[a++] = '/';
    memcpy(out + a, name, b + 1);
    return out;
}
