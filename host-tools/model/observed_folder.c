/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of one sample: which file is what; the simulator's texts. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/model/file.h"
#include "host-tools/model/hbdk_text.h"
#include "host-tools/model/observed_private.h"

#define MAX_FILES 65536 /* a power of two */

static int load_text(struct assay_observing *l, const char *path,
                     const char *feature)
{
    struct assay_observed_match m;
    struct assay_hbdk_text t = {0};
    const struct assay_tensor *first;
    struct assay_observed_data x = {.file = path, .name = feature};
    uint8_t *data;
    size_t n;
    int rc;

    if (!assay_observed_named(l, path, feature, &m))
        return 0;
    first = &l->slice->tensors[m.v[0].tensor];
    if (!assay_dtype_is_int(first->dtype)) {
        x.values = (const int64_t[]){0};
        return assay_observed_check_type(l, first, &x);
    }
    rc = assay_file_read(&data, &n, path, ASSAY_HBDK_MAX_BYTES, l->err);
    if (rc)
        return rc;
    rc = assay_hbdk_text_parse(&t, (const char *)data, n, first->dtype, path,
                               l->err);
    assay_free(data);
    if (rc)
        return rc;
    x.rank = t.rank;
    x.dims = t.dims;
    x.values = t.values;
    rc = assay_observed_take(l, &m, &x);
    assay_hbdk_text_close(&t);
    return rc;
}

/* A file of the simulator; false: it is none. */
static bool load_simulated(struct assay_observing *l, const char *folder,
                           const char *name, int *rc)
{
    char path[4096], feature[512];
    const char *f;
    size_t n;
    enum assay_hbdk_kind kind = assay_hbdk_name(name, &f, &n);

    *rc = 0;
    if (kind == ASSAY_HBDK_OTHER)
        return false;
    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >=
            (int)sizeof(path) ||
        n >= sizeof(feature)) {
        *rc = assay_fail(l->err, ASSAY_ERANGE, "%.300s: name too long", name);
        return true;
    }
    memcpy(feature, f, n);
    feature[n] = '\0';
    if (kind == ASSAY_HBDK_INT) {
        *rc = load_text(l, path, feature);
        return true;
    }
    memcpy(path + strlen(path) - strlen("float.txt"), "int.txt",
           sizeof("int.txt"));
    if (!assay_file_is_regular(path))
        assay_observed_tell(
            l, folder, name,
            "only the text of floats is there, expected _elem_int.txt: "
            "ignored");
    return true;
}

int assay_observed_model_info(struct assay_observing *l, const char *path)
{
    struct assay_model_info info;
    uint8_t *data;
    size_t n;
    int rc =
        assay_file_read(&data, &n, path, ASSAY_MODEL_INFO_MAX_BYTES, l->err);

    if (rc)
        return rc;
    rc = assay_model_info_parse(&info, (const char *)data, n, path, l->err);
    assay_free(data);
    if (rc)
        return rc;
    assay_model_info_close(&l->info);
    l->info = info;
    return 0;
}

/* One file that is neither the simulator's nor of elements: taken is true
 * where nobody needs to look at it again. */
static int load_other(struct assay_observing *l, const char *folder,
                      const char *name, bool *taken)
{
    struct assay_dump_name dump;
    char *path = assay_file_join(folder, name);
    int rc = 0;

    if (!path)
        return assay_observed_no_memory(l, folder);
    *taken = true;
    if (assay_model_info_is_file(path)) {
        rc = assay_observed_model_info(l, path);
    } else if (assay_file_is_folder(path)) {
        assay_observed_tell(l, folder, name, "a folder in a sample: ignored");
    } else if (assay_dump_name(&dump, name)) {
        *taken = false;
    } else {
        assay_observed_tell(l, folder, name,
                            "no text of the simulator, no dump: ignored");
    }
    assay_free(path);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_names(struct assay_observing *l, const char *folder,
                      char ***out, size_t *n)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    size_t cap = 0;
    int rc = 0;

    if (!d)
        return assay_fail(l->err, ASSAY_EIO, "%s: %s", folder, strerror(errno));
    while (!rc && (e = readdir(d))) {
        size_t k = strlen(e->d_name) + 1;

        if (e->d_name[0] == '.')
            continue;
        if (*n == cap) {
            char **p;

            if (cap == MAX_FILES) {
                rc = assay_fail(l->err, ASSAY_ERANGE,
                                "%s: more than %d files, expected those of one "
                                "sample",
                                folder, MAX_FILES);
                break;
            }
            cap = cap ? cap * 2 : 32;
            p = assay_realloc(*out, cap * sizeof(*p));
            if (!p) {
                rc = assay_observed_no_memory(l, folder);
                break;
            }
            *out = p;
        }
        (*out)[*n] = assay_alloc(k);
        if (!(*out)[*n])
            rc = assay_observed_no_memory(l, folder);
        else
            memcpy((*out)[(*n)++], e->d_name, k);
    }
    closedir(d);
    return rc;
}

/* In the order of names: what is told does not depend on the file system. */
int assay_observed_folder(struct assay_observing *l, const char *folder)
{
    char **names = NULL;
    bool taken;
    size_t n = 0;
    int rc = list_names(l, folder, &names, &n);

    if (!rc)
        rc = assay_observed_check_binding(l, NULL, folder);
    if (!rc && n)
        qsort(names, n, sizeof(*names), by_name);
    for (size_t i = 0; i < n && !rc; i++) {
        taken = assay_hbdk_is_copy(names[i]) ||
                load_simulated(l, folder, names[i], &rc);
        if (!rc && !taken)
            rc = load_other(l, folder, names[i], &taken);
        if (taken) {
            assay_free(names[i]);
            names[i] = NULL;
        }
    }
    if (!rc)
        rc = assay_observed_dumps(l, folder, names, n);
    for (size_t i = 0; i < n; i++)
        assay_free(names[i]);
    assay_free(names);
    return rc;
}
