/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/model/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zip.h>

#include "lib/core/buf.h"

struct assay_archive {
    zip_t *zip;
    char *path, *temporary;
};

static char *copy_text(const char *s, const char *suffix)
{
    size_t a = strlen(s), b = strlen(suffix);
    char *out = assay_alloc(a + b + 1);

    if (out) {
        memcpy(out, s, a);
        memcpy(out + a, suffix, b + 1);
    }
    return out;
}

void assay_archive_abort(struct assay_archive *a)
{
    if (!a)
        return;
    if (a->zip)
        zip_discard(a->zip);
    assay_free(a->path);
    assay_free(a->temporary);
    assay_free(a);
}

int assay_archive_create(struct assay_archive **out, const char *path,
                         struct assay_err *err)
{
    struct assay_archive *a = assay_calloc(1, sizeof(*a));
    char suffix[32];
    struct stat st;
    int ze = 0;

    /* A rename would put a file where a device, a pipe or a link was. */
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        assay_free(a);
        return assay_fail(err, ASSAY_EIO,
                          "%s: is there and no regular file, expected a new "
                          "name or a file",
                          path);
    }
    if (!a)
        return assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", path);
    snprintf(suffix, sizeof(suffix), ".part%ld", (long)getpid());
    a->path = copy_text(path, "");
    a->temporary = copy_text(path, suffix);
    if (!a->path || !a->temporary) {
        assay_archive_abort(a);
        return assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", path);
    }
    a->zip = zip_open(a->temporary, ZIP_CREATE | ZIP_TRUNCATE, &ze);
    if (!a->zip) {
        zip_error_t e;
        int rc;

        zip_error_init_with_code(&e, ze);
        rc = assay_fail(err, ASSAY_EIO, "%s: cannot create: %s", path,
                        zip_error_strerror(&e));
        zip_error_fini(&e);
        assay_archive_abort(a);
        return rc;
    }
    *out = a;
    return 0;
}

int assay_archive_take(struct assay_archive *a, const char *member, void *data,
                       size_t n, bool deflate, struct assay_err *err)
{
    /* libzip frees the buffer (with free), after the file is written. */
    zip_source_t *src = zip_source_buffer(a->zip, data, n, 1);
    zip_int64_t at;

    if (!src) {
        free(data);
        return assay_fail(err, ASSAY_EMEMORY, "member '%s': out of memory",
                          member);
    }
    at = zip_file_add(a->zip, member, src, ZIP_FL_ENC_UTF_8 | ZIP_FL_OVERWRITE);
    if (at < 0) {
        zip_source_free(src);
        return assay_fail(err, ASSAY_EIO, "member '%s': %s", member,
                          zip_strerror(a->zip));
    }
    if (zip_file_set_dostime(a->zip, (zip_uint64_t)at, 0, 1 << 5 | 1, 0) ||
        zip_set_file_compression(a->zip, (zip_uint64_t)at,
                                 deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0))
        return assay_fail(err, ASSAY_EIO, "member '%s': %s", member,
                          zip_strerror(a->zip));
    return 0;
}

int assay_archive_add(struct assay_archive *a, const char *member,
                      const void *data, size_t n, bool deflate,
                      struct assay_err *err)
{
    void *copy = malloc(n ? n : 1);

    if (!copy)
        return assay_fail(err, ASSAY_EMEMORY,
                          "member '%s': no memory for %zu bytes", member, n);
    if (n)
        memcpy(copy, data, n);
    return assay_archive_take(a, member, copy, n, deflate, err);
}

int assay_archive_finish(struct assay_archive *a, struct assay_err *err)
{
    int rc = 0;

    if (zip_close(a->zip))
        rc = assay_fail(err, ASSAY_EIO, "%s: cannot write: %s", a->path,
                        zip_strerror(a->zip));
    else
        a->zip = NULL;
    if (!rc && rename(a->temporary, a->path))
        rc = assay_fail(err, ASSAY_EIO, "%s: cannot rename '%s'", a->path,
                        a->temporary);
    if (rc)
        unlink(a->temporary);
    assay_archive_abort(a);
    return rc;
}
