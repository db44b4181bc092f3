/* SPDX-License-Identifier: Apache-2.0 */
/* --save-outputs: DIR/outputs/NNNN.npz, in the source's layout and names. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "host-tools/messages.h"
#include "host-tools/run.h"

#define DEFAULT_DIR "out"

static int make_folder(const char *path, struct assay_err *err)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return 0;
    return assay_fail_message(err, ASSAY_EIO, ASSAY_MSG_CANNOT_WRITE, "path",
                              path, "why", strerror(errno), NULL);
}

int assay_run_save_open(struct assay_run *r, struct assay_err *err)
{
    const char *dir = r->o->output_dir != NULL ? r->o->output_dir : DEFAULT_DIR;
    char path[4096];
    int rc = make_folder(dir, err);

    snprintf(path, sizeof(path), "%.4000s/outputs", dir);
    if (rc == 0)
        rc = make_folder(path, err);
    if (rc < 0)
        return rc;
    snprintf(path, sizeof(path), "%.4000s/outputs/%04u.npz", dir, r->sample);
    return assay_npz_create(&r->saving, path, err);
}

/* Stored order to the source's: dst axis perm[i] is stored axis i. */
static void permute(const struct assay_tensor *t, size_t elem, const char *src,
                    char *dst, size_t count)
{
    int64_t dims[ASSAY_MAX_RANK] = {0};
    size_t stride[ASSAY_MAX_RANK] = {0}, at = elem;
    size_t index[ASSAY_MAX_RANK] = {0};

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

int assay_run_save(struct assay_run *r, uint32_t layer, const void *data,
                   struct assay_err *err)
{
    const struct assay_tensor *t = &r->s->tensors[r->s->layers[layer].output];
    int64_t dims[ASSAY_MAX_RANK] = {0};
    size_t count, bytes;
    char *moved;
    int rc = assay_tensor_count(t, &count, &bytes, err);

    if (rc < 0)
        return rc;
    moved = assay_alloc(bytes > 0 ? bytes : 1);
    if (moved == NULL)
        return assay_fail_message(err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    permute(t, assay_dtype_bytes(t->dtype), data, moved, count);
    assay_tensor_source_dims(t, dims);
    rc = assay_npz_add(r->saving, t->name, t->dtype, t->rank, dims, moved, err);
    assay_free(moved);
    return rc;
}

int assay_run_save_close(struct assay_run *r, struct assay_err *err)
{
    struct assay_npz_writer *w = r->saving;

    r->saving = NULL;
    return assay_npz_finish(w, err);
}
