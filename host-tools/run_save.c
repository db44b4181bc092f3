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

int assay_run_save(struct assay_run *r, uint32_t layer, const void *data,
                   struct assay_err *err)
{
    const struct assay_tensor *t = &r->s->tensors[r->s->layers[layer].output];

    return assay_npz_add_tensor(r->saving, t, data, err);
}

int assay_run_save_close(struct assay_run *r, struct assay_err *err)
{
    struct assay_npz_writer *w = r->saving;

    r->saving = NULL;
    return assay_npz_finish(w, err);
}
