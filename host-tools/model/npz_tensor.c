/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor of a slice into an npz: in its source's layout, by its name. */
#include <string.h>

#include "host-tools/model/npz.h"

/* Stored order to the source's: dst axis perm[i] is stored axis i. */
void assay_npz_source_order(const struct assay_tensor *t, const void *stored,
                            void *source)
{
    const uint8_t *src = stored;
    uint8_t *dst = source;
    size_t elem = assay_dtype_bytes(t->dtype), count, bytes;
    int64_t dims[ASSAY_MAX_RANK] = {0};
    size_t stride[ASSAY_MAX_RANK] = {0}, at = elem;
    size_t index[ASSAY_MAX_RANK] = {0};

    if (assay_tensor_count(t, &count, &bytes, NULL) < 0)
        return; /* no slice has such a tensor */
    assay_tensor_source_dims(t, dims);
    for (uint32_t a = t->rank; a-- > 0;) { /* bytes, by source axis */
        stride[a] = at;
        at *= (size_t)dims[a];
    }
    for (size_t k = 0; k < count; k++) {
        size_t to = 0;

        for (uint32_t a = 0; a < t->rank; a++)
            to += index[a] * stride[t->perm[a]];
        memcpy(dst + to, src + k * elem, elem);
        for (uint32_t a = t->rank; a-- > 0;) {
            if (++index[a] < (size_t)t->dims[a])
                break;
            index[a] = 0;
        }
    }
}

int assay_npz_add_tensor(struct assay_npz_writer *w,
                         const struct assay_tensor *t, const void *data,
                         struct assay_err *err)
{
    int64_t dims[ASSAY_MAX_RANK] = {0};
    size_t count, bytes;
    uint8_t *moved;
    int rc = assay_tensor_count(t, &count, &bytes, err);

    if (rc < 0)
        return rc;
    moved = assay_alloc(bytes + 1);
    if (moved == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "%.200s: out of memory", t->name);
    assay_npz_source_order(t, data, moved);
    assay_tensor_source_dims(t, dims);
    rc = assay_npz_add(w, t->name, t->dtype, t->rank, dims, moved, err);
    assay_free(moved);
    return rc;
}
