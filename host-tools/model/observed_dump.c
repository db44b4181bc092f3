/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a board or an application wrote for one sample. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/model/file.h"
#include "host-tools/model/observed_private.h"
#include "host-tools/model/sample.h"

#define MAX_BIN ((size_t)1 << 30)

/* ---- one tensor's files ------------------------------------------------- */

static void close_files(struct assay_dump_files *f)
{
    assay_free(f->data);
    assay_free(f->path);
    f->data = NULL;
    f->path = NULL;
    assay_dump_text_close(&f->text);
    f->has_text = false;
}

static int path_of(struct assay_observing *l, const char *folder,
                   const char *name, char **out)
{
    *out = assay_file_join(folder, name);
    return *out != NULL ? 0 : assay_observed_no_memory(l, folder);
}

static int open_text(struct assay_observing *l, const char *folder,
                     struct assay_dump_files *f)
{
    char *path;
    uint8_t *data = NULL;
    size_t n;
    int rc = path_of(l, folder, f->file[ASSAY_DUMP_TXT], &path);

    if (rc == 0)
        rc = assay_file_read(&data, &n, path, ASSAY_DUMP_MAX_TEXT, l->err);
    if (rc == 0)
        rc = assay_dump_text_parse(&f->text, (const char *)data, n, path,
                                   l->err);
    assay_free(data);
    assay_free(path);
    f->has_text = rc == 0;
    return rc;
}

/* A text alone counts as the file where it has integers: what the tool
 * prints of floats is rounded. */
static int from_text(struct assay_observing *l, const char *folder,
                     struct assay_dump_files *f)
{
    if (!f->text.integers) {
        assay_observed_tell(l, folder, f->file[ASSAY_DUMP_TXT],
                            "only the text of floats is there, and it is "
                            "rounded; expected the .bin: ignored");
        f->taken = true;
        return 0;
    }
    f->n = f->text.n;
    return 0;
}

static int open_files(struct assay_observing *l, const char *folder,
                      struct assay_dump_files *f)
{
    const char *first = f->file[ASSAY_DUMP_BIN] != NULL
                            ? f->file[ASSAY_DUMP_BIN]
                            : f->file[ASSAY_DUMP_TXT];
    int rc = path_of(l, folder, first, &f->path);

    if (rc == 0 && f->file[ASSAY_DUMP_BIN] != NULL)
        rc = assay_file_read(&f->data, &f->n, f->path, MAX_BIN, l->err);
    if (rc == 0 && f->file[ASSAY_DUMP_TXT] != NULL)
        rc = open_text(l, folder, f);
    if (rc == 0 && f->file[ASSAY_DUMP_BIN] == NULL)
        rc = from_text(l, folder, f);
    return rc;
}

/* ---- placing ------------------------------------------------------------ */

/* The numbers of a text, as the integers of a tensor. */
static int take_text(struct assay_observing *l, struct assay_dump_files *f,
                     const struct assay_observed_match *m)
{
    const struct assay_tensor *t = &l->slice->tensors[m->v[0].tensor];
    size_t count, bytes;
    int64_t dims[ASSAY_MAX_RANK], *v;
    struct assay_observed_data x = {.file = f->path, .name = f->name.tensor};
    int rc = assay_tensor_count(t, &count, &bytes, l->err);

    if (rc != 0)
        return rc;
    if (count != f->text.n || !assay_dtype_is_int(t->dtype) ||
        (assay_observed_orders(t, m->v[0].nchw, true) & ASSAY_DUMP_STORED)) {
        assay_observed_tell(l, f->path, f->name.tensor,
                            "the text alone does not say how its elements "
                            "lie; expected the .bin: ignored");
        return 0;
    }
    assay_tensor_source_dims(t, dims);
    if (m->v[0].nchw) {
        dims[3] = t->dims[2];
        dims[2] = t->dims[1];
        dims[1] = t->dims[3];
    }
    v = assay_calloc(count + 1, sizeof(*v));
    if (v == NULL)
        return assay_observed_no_memory(l, f->path);
    for (size_t i = 0; i < count; i++)
        v[i] = f->text.v[i] >= -9e15 && f->text.v[i] <= 9e15
                   ? (int64_t)f->text.v[i]
                   : INT64_MAX;
    x.rank = t->rank;
    x.dims = dims;
    x.values = v;
    rc = assay_observed_take(l, m, &x);
    assay_free(v);
    return rc;
}

static int take_fitted(struct assay_observing *l,
                       const struct assay_dump_files *f, uint32_t tensor,
                       const struct assay_fitted *x, const char *how)
{
    const struct assay_tensor *t = &l->slice->tensors[tensor];
    struct assay_observed_match m = {.n = 1};
    struct assay_array a = {.name = (char *)(uintptr_t)f->name.tensor,
                            .dtype = x->dtype,
                            .rank = t->rank,
                            .bytes = assay_dump_dense_bytes(&x->layout),
                            .data = x->dense};
    struct assay_observed_data d = {
        .file = f->path,
        .name = f->name.tensor[0] != '\0' ? f->name.tensor : t->name,
        .rank = t->rank,
        .dims = a.dims,
        .array = &a};

    assay_tensor_source_dims(t, a.dims);
    m.v[0].tensor = tensor;
    assay_observed_detail(l, f->path, "tensor '%.100s', %s; %s%s", t->name, how,
                          x->text,
                          x->centred ? "; a byte image, 128 taken away" : "");
    return assay_observed_take(l, &m, &d);
}

/* What does not fit is told with what would: never a guess. */
static int tell_unfit(struct assay_observing *l,
                      const struct assay_dump_files *f, uint32_t tensor,
                      const struct assay_fitted *x)
{
    const struct assay_tensor *t = &l->slice->tensors[tensor];
    int64_t dims[ASSAY_MAX_RANK];
    char shape[160], why[420];
    size_t count = 0, bytes = 0;

    assay_tensor_source_dims(t, dims);
    (void)assay_tensor_count(t, &count, &bytes, NULL);
    assay_sample_shape(shape, sizeof(shape), t->rank, dims);
    if (x->fit == ASSAY_FIT_SIZE && f->n < bytes)
        return assay_fail(l->err, ASSAY_EFORMAT,
                          "%.300s: %zu bytes, but tensor '%.80s' (%s %s) has "
                          "%zu: cut",
                          f->path, f->n, t->name, shape,
                          assay_dtype_name(t->dtype), bytes);
    if (x->fit == ASSAY_FIT_SIZE)
        snprintf(why, sizeof(why),
                 "%zu bytes fit no known layout of '%.80s' (%.60s %s, %zu "
                 "bytes): left out, put the text of model_info beside it",
                 f->n, t->name, shape, assay_dtype_name(t->dtype), bytes);
    else if (x->fit == ASSAY_FIT_PADDING)
        snprintf(why, sizeof(why),
                 "%zu bytes are those of '%.100s', but its padding is not "
                 "zero: left out, put the text of model_info beside it",
                 f->n, x->text);
    else
        snprintf(why, sizeof(why),
                 "its layout is %.240s: left out, put the text of model_info "
                 "beside it",
                 x->text);
    assay_observed_tell(l, f->path, f->name.tensor, why);
    return 0;
}

static int place(struct assay_observing *l, struct assay_dump_files *f,
                 const struct assay_observed_match *m, const char *how,
                 bool named)
{
    int rc = 0;

    if (f->data == NULL)
        return take_text(l, f, m);
    for (size_t i = 0; rc == 0 && i < m->n; i++) {
        uint32_t tensor = m->v[i].tensor;
        struct assay_fitted x = {0};

        rc =
            assay_observed_fit(&x, l, f, tensor,
                               assay_observed_orders(&l->slice->tensors[tensor],
                                                     m->v[i].nchw, named));
        if (rc == 0 && x.fit != ASSAY_FIT_ONE)
            rc = tell_unfit(l, f, tensor, &x);
        else if (rc == 0)
            rc = assay_observed_fit_check(l, f, tensor, &x);
        if (rc == 0 && x.fit == ASSAY_FIT_ONE)
            rc = take_fitted(l, f, tensor, &x, how);
        assay_fitted_close(&x);
    }
    return rc;
}

/* ---- a folder ----------------------------------------------------------- */

/* The name that model_info gives to a number. */
static bool by_number(struct assay_observing *l, struct assay_dump_files *f,
                      struct assay_observed_match *m, const char **how)
{
    const struct assay_model_info_tensor *t = assay_observed_info(l, &f->name);

    if (t == NULL || !assay_observed_by_name(l, t->name, m, how))
        return false;
    *how = "by its number in model_info";
    return true;
}

/* Dimensions of an application that are those in NHWC, and not the model's:
 * turned into the model's order. */
static int turn(struct assay_observing *l, const struct assay_tensor *t,
                struct assay_array *a, const char *path)
{
    struct assay_dump_layout x = {.rank = t->rank,
                                  .unit = assay_dtype_bytes(a->dtype)};
    size_t at = x.unit;
    uint8_t *moved;

    assay_tensor_source_dims(t, x.dims);
    if (a->rank != t->rank ||
        memcmp(a->dims, x.dims, t->rank * sizeof(*a->dims)) == 0 ||
        memcmp(a->dims, t->dims, t->rank * sizeof(*a->dims)) != 0)
        return 0;
    for (uint32_t i = t->rank; i-- > 0;) {
        x.stride[t->perm[i]] = at;
        at *= (size_t)t->dims[i];
    }
    moved = assay_alloc(a->bytes != 0 ? a->bytes : 1);
    if (moved == NULL)
        return assay_observed_no_memory(l, path);
    assay_dump_strip(&x, a->data, moved);
    memcpy(a->data, moved, a->bytes);
    memcpy(a->dims, x.dims, t->rank * sizeof(*a->dims));
    assay_free(moved);
    return 0;
}

static int take_npy(struct assay_observing *l, const char *folder,
                    struct assay_dump_files *f)
{
    const char *how = "by name", *file = f->file[ASSAY_DUMP_NPY];
    const char *name = f->name.tensor[0] != '\0' ? f->name.tensor : file;
    bool outputs =
        f->name.kind == ASSAY_DUMP_INDEX || f->name.kind == ASSAY_DUMP_MODEL;
    struct assay_observed_data x = {.name = name};
    struct assay_observed_match m;
    struct assay_npz z = {0};
    char *path;
    int rc = path_of(l, folder, file, &path);

    f->taken = true;
    if (rc == 0)
        rc = assay_npy_read(&z, path, name, l->note, l->err);
    if (rc != 0 || z.n == 0)
        goto out;
    if (assay_observed_by_name(l, f->name.tensor, &m, &how) ||
        by_number(l, f, &m, &how)) {
        const struct assay_tensor *t = &l->slice->tensors[m.v[0].tensor];

        assay_observed_detail(l, path, "tensor '%.100s', %s", t->name, how);
        if (!m.v[0].nchw)
            rc = turn(l, t, &z.arrays[0], path);
    } else if (!assay_observed_unnamed(l, path, &z.arrays[0], outputs, &m)) {
        assay_observed_tell(l, folder, file,
                            "neither a tensor of the model nor the output of "
                            "one of its layers: ignored");
    }
    x.file = path;
    x.array = &z.arrays[0];
    x.rank = z.arrays[0].rank;
    x.dims = z.arrays[0].dims;
    if (rc == 0 && m.n > 0)
        rc = assay_observed_take(l, &m, &x);
out:
    assay_npz_close(&z);
    assay_free(path);
    return rc;
}

static int by_names(struct assay_observing *l, const char *folder,
                    struct assay_dump_files *all, size_t n, size_t at)
{
    struct assay_dump_files *f = &all[at];
    struct assay_observed_match m;
    const char *how = "";
    int rc;

    if (f->file[ASSAY_DUMP_NPY] != NULL)
        return f->name.kind == ASSAY_DUMP_INDEX ? 0 : take_npy(l, folder, f);
    /* A tensor of that name is one; planes have names that begin so. */
    assay_observed_find(&m, l->slice, l->map, f->name.tensor);
    rc = m.n == 0 ? assay_observed_nv12(l, folder, all, n, at) : 0;
    if (rc != 0 || f->taken)
        return rc;
    if (!assay_observed_by_name(l, f->name.tensor, &m, &how) &&
        !by_number(l, f, &m, &how))
        return 0;
    rc = open_files(l, folder, f);
    if (rc == 0 && !f->taken)
        rc = place(l, f, &m, how, true);
    f->taken = true;
    close_files(f);
    return rc;
}

static int by_content(struct assay_observing *l, const char *folder,
                      struct assay_dump_files *f)
{
    struct assay_observed_match m = {0};
    const char *how = "", *file;
    bool told = false;
    int rc;

    if (f->file[ASSAY_DUMP_NPY] != NULL)
        return take_npy(l, folder, f);
    if (f->name.kind == ASSAY_DUMP_PLAIN && f->file[ASSAY_DUMP_BIN] == NULL) {
        assay_observed_tell(l, folder, f->file[ASSAY_DUMP_TXT],
                            "no text of the simulator, no dump: ignored");
        return 0;
    }
    rc = open_files(l, folder, f);
    if (rc == 0 && !f->taken && f->data != NULL)
        rc = assay_observed_by_content(l, f, &m, &how, &told);
    if (rc == 0 && m.n > 0)
        rc = place(l, f, &m, how, false);
    file = f->file[ASSAY_DUMP_BIN] != NULL ? f->file[ASSAY_DUMP_BIN]
                                           : f->file[ASSAY_DUMP_TXT];
    if (rc == 0 && m.n == 0 && !told && !f->taken)
        assay_observed_tell(l, folder, file,
                            "neither a tensor of the model nor the output of "
                            "one of its layers: ignored");
    close_files(f);
    return rc;
}

static int by_stem(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    size_t m = strlen(x) - 4, n = strlen(y) - 4;
    int d = memcmp(x, y, m < n ? m : n);

    if (d != 0)
        return d;
    return m != n ? (m < n ? -1 : 1) : strcmp(x + m, y + n);
}

static bool same_stem(const char *a, const char *b)
{
    size_t n = strlen(a);

    return n == strlen(b) && memcmp(a, b, n - 4) == 0;
}

/* Groups the names of one tensor; v has room for all. */
static size_t group(struct assay_dump_files *v, const char **sorted, size_t n)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        struct assay_dump_name name;

        (void)assay_dump_name(&name, sorted[i]);
        if (i == 0 || !same_stem(sorted[i - 1], sorted[i]))
            v[k++].name = name;
        v[k - 1].file[name.form] = sorted[i];
    }
    return k;
}

int assay_observed_dumps(struct assay_observing *l, const char *folder,
                         char *const *names, size_t n)
{
    const char **sorted = assay_calloc(n + 1, sizeof(*sorted));
    struct assay_dump_files *v = assay_calloc(n + 1, sizeof(*v));
    struct assay_dump_name name;
    size_t count = 0;
    int rc = 0;

    if (sorted == NULL || v == NULL)
        rc = assay_observed_no_memory(l, folder);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (names[i] != NULL && assay_dump_name(&name, names[i]))
            sorted[count++] = names[i];
    if (rc == 0 && count > 0) {
        qsort(sorted, count, sizeof(*sorted), by_stem);
        count = group(v, sorted, count);
    }
    for (size_t i = 0; rc == 0 && i < count; i++)
        if (!v[i].taken)
            rc = by_names(l, folder, v, count, i);
    for (size_t i = 0; rc == 0 && i < count; i++)
        if (!v[i].taken)
            rc = by_content(l, folder, &v[i]);
    assay_free(sorted);
    assay_free(v);
    return rc;
}
