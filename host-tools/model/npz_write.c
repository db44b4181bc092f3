/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/model/npz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zip.h>

#include "host-tools/model/npy.h"

struct assay_npz_writer {
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

static void free_writer(struct assay_npz_writer *w)
{
    if (w->zip)
        zip_discard(w->zip);
    assay_free(w->path);
    assay_free(w->temporary);
    assay_free(w);
}

int assay_npz_create(struct assay_npz_writer **out, const char *path,
                     struct assay_err *err)
{
    struct assay_npz_writer *w = assay_calloc(1, sizeof(*w));
    char suffix[32];
    int ze = 0;

    if (!w)
        return assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", path);
    snprintf(suffix, sizeof(suffix), ".part%ld", (long)getpid());
    w->path = copy_text(path, "");
    w->temporary = copy_text(path, suffix);
    if (!w->path || !w->temporary) {
        free_writer(w);
        return assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", path);
    }
    w->zip = zip_open(w->temporary, ZIP_CREATE | ZIP_TRUNCATE, &ze);
    if (!w->zip) {
        zip_error_t e;
        int rc;

        zip_error_init_with_code(&e, ze);
        rc = assay_fail(err, ASSAY_EIO, "%s: cannot create: %s", path,
                        zip_error_strerror(&e));
        zip_error_fini(&e);
        free_writer(w);
        return rc;
    }
    *out = w;
    return 0;
}

int assay_npz_add(struct assay_npz_writer *w, const char *name,
                  enum assay_dtype dtype, uint32_t rank, const int64_t *dims,
                  const void *data, struct assay_err *err)
{
    struct assay_tensor t = {.dtype = dtype, .rank = rank};
    size_t count, bytes, head;
    uint8_t header[512], *buf;
    zip_source_t *src;
    zip_int64_t at;
    char *member;
    int rc;

    if (rank > ASSAY_MAX_RANK)
        return assay_fail(err, ASSAY_ERANGE,
                          "array '%s' has rank %u, more "
                          "than %d",
                          name, rank, ASSAY_MAX_RANK);
    if (rank)
        memcpy(t.dims, dims, rank * sizeof(*dims));
    rc = assay_tensor_count(&t, &count, &bytes, err);
    if (rc)
        return rc;
    head = assay_npy_header(header, sizeof(header), dtype, rank, dims);
    if (!head)
        return assay_fail(err, ASSAY_EUNSUPPORTED,
                          "array '%s': type %d cannot be written", name, dtype);
    /* libzip frees the buffer (with free), after the file is written. */
    buf = head + bytes < bytes ? NULL : malloc(head + bytes);
    if (!buf)
        return assay_fail(err, ASSAY_EMEMORY,
                          "array '%s': no memory for %zu bytes", name, bytes);
    memcpy(buf, header, head);
    if (bytes)
        memcpy(buf + head, data, bytes);
    src = zip_source_buffer(w->zip, buf, head + bytes, 1);
    if (!src) {
        free(buf);
        return assay_fail(err, ASSAY_EMEMORY, "array '%s': out of memory",
                          name);
    }
    member = copy_text(name, ".npy");
    at = member ? zip_file_add(w->zip, member, src,
                               ZIP_FL_ENC_UTF_8 | ZIP_FL_OVERWRITE)
                : -1;
    assay_free(member);
    if (at < 0) {
        zip_source_free(src);
        return assay_fail(err, ASSAY_EIO, "array '%s': %s", name,
                          zip_strerror(w->zip));
    }
    /* The first day that a zip knows: equal tensors give equal files, so that
     * those of two boards can be compared by their hashes. */
    if (zip_file_set_dostime(w->zip, (zip_uint64_t)at, 0, 1 << 5 | 1, 0) ||
        zip_set_file_compression(w->zip, (zip_uint64_t)at, ZIP_CM_STORE, 0))
        return assay_fail(err, ASSAY_EIO, "array '%s': %s", name,
                          zip_strerror(w->zip));
    return 0;
}

int assay_npz_finish(struct assay_npz_writer *w, struct assay_err *err)
{
    int rc = 0;

    if (zip_close(w->zip))
        rc = assay_fail(err, ASSAY_EIO, "%s: cannot write: %s", w->path,
                        zip_strerror(w->zip));
    else
        w->zip = NULL;
    if (!rc && rename(w->temporary, w->path))
        rc = assay_fail(err, ASSAY_EIO, "%s: cannot rename '%s'", w->path,
                        w->temporary);
    if (rc)
        unlink(w->temporary);
    free_writer(w);
    return rc;
}

void assay_npz_abort(struct assay_npz_writer *w)
{
    if (!w)
        return;
    free_writer(w);
}
