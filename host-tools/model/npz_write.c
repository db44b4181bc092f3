/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/model/npz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/model/archive.h"
#include "host-tools/model/npy.h"

struct assay_npz_writer {
    struct assay_archive *archive;
};

int assay_npz_create(struct assay_npz_writer **out, const char *path,
                     struct assay_err *err)
{
    struct assay_npz_writer *w = assay_calloc(1, sizeof(*w));
    int rc;

    if (!w)
        return assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", path);
    rc = assay_archive_create(&w->archive, path, err);
    if (rc)
        assay_free(w);
    else
        *out = w;
    return rc;
}

int assay_npz_add(struct assay_npz_writer *w, const char *name,
                  enum assay_dtype dtype, uint32_t rank, const int64_t *dims,
                  const void *data, struct assay_err *err)
{
    struct assay_tensor t = {.dtype = dtype, .rank = rank};
    size_t count, bytes, head, n = strlen(name);
    uint8_t header[512], *buf;
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
    member = assay_alloc(n + sizeof(".npy"));
    buf = head + bytes < bytes ? NULL : malloc(head + bytes);
    if (!buf || !member) {
        assay_free(member);
        free(buf);
        return assay_fail(err, ASSAY_EMEMORY,
                          "array '%s': no memory for %zu bytes", name, bytes);
    }
    memcpy(member, name, n);
    memcpy(member + n, ".npy", sizeof(".npy"));
    memcpy(buf, header, head);
    if (bytes)
        memcpy(buf + head, data, bytes);
    rc = assay_archive_take(w->archive, member, buf, head + bytes, false, err);
    assay_free(member);
    return rc;
}

int assay_npz_finish(struct assay_npz_writer *w, struct assay_err *err)
{
    int rc = assay_archive_finish(w->archive, err);

    assay_free(w);
    return rc;
}

void assay_npz_abort(struct assay_npz_writer *w)
{
    if (!w)
        return;
    assay_archive_abort(w->archive);
    assay_free(w);
}
