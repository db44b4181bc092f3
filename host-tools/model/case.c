/* SPDX-License-Identifier: Apache-2.0 */
/* Case folders and the three options: which files belong together. */
#include "host-tools/model/case.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/model/case_meta.h"
#include "host-tools/model/differ.h"
#include "host-tools/model/file.h"
#include "host-tools/model/record.h"

#define MAX_SAMPLES 100000
#define MAX_META ((size_t)16 << 20)

static void tell(const struct assay_model_note *note, const char *text)
{
    if (note && note->note)
        note->note(note->self, text);
}

static char *text_copy(const char *s)
{
    size_t n = strlen(s) + 1;
    char *out = assay_alloc(n);

    if (out)
        memcpy(out, s, n);
    return out;
}

static int no_memory(struct assay_err *err, const char *what)
{
    return assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", what);
}

/* A growing list of owned strings. */
struct list {
    char **items;
    size_t n, cap;
};

static bool list_add(struct list *l, char *owned)
{
    if (!owned)
        return false;
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 16;
        char **p = assay_realloc(l->items, cap * sizeof(*p));

        if (!p) {
            assay_free(owned);
            return false;
        }
        l->items = p;
        l->cap = cap;
    }
    l->items[l->n++] = owned;
    return true;
}

static void list_close(struct list *l)
{
    for (size_t i = 0; i < l->n; i++)
        assay_free(l->items[i]);
    assay_free(l->items);
    memset(l, 0, sizeof(*l));
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool ends_with(const char *s, const char *suffix)
{
    size_t a = strlen(s), b = strlen(suffix);

    return a > b && !strcmp(s + a - b, suffix);
}

/* Names of the npz (or npy) files of a folder, sorted. */
static int list_folder(struct list *out, const char *folder,
                       struct assay_err *err)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    int rc = 0;

    if (!d)
        return assay_fail(err, ASSAY_EIO, "%s: %s", folder, strerror(errno));
    while (!rc && (e = readdir(d))) {
        if (e->d_name[0] == '.' ||
            (!ends_with(e->d_name, ".npz") && !ends_with(e->d_name, ".npy")))
            continue;
        if (out->n == MAX_SAMPLES)
            rc = assay_fail(err, ASSAY_ERANGE, "%s: more than %d samples",
                            folder, MAX_SAMPLES);
        else if (!list_add(out, text_copy(e->d_name)))
            rc = no_memory(err, folder);
    }
    closedir(d);
    if (rc)
        list_close(out);
    else if (out->n)
        qsort(out->items, out->n, sizeof(*out->items), by_name);
    return rc;
}

void assay_case_close(struct assay_case *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n_samples; i++) {
        if (c->inputs)
            assay_free(c->inputs[i]);
        if (c->goldens)
            assay_free(c->goldens[i]);
    }
    assay_free(c->inputs);
    assay_free(c->goldens);
    assay_free(c->input_rows);
    assay_case_columns_close(c);
    assay_case_differences_close(c);
    assay_record_close(c->record);
    assay_free(c->name);
    assay_free(c->folder);
    assay_free(c->model_path);
    memset(c, 0, sizeof(*c));
}

static int alloc_samples(struct assay_case *c, size_t n, struct assay_err *err)
{
    c->inputs = assay_calloc(n ? n : 1, sizeof(*c->inputs));
    c->goldens = assay_calloc(n ? n : 1, sizeof(*c->goldens));
    c->input_rows = assay_calloc(n ? n : 1, sizeof(*c->input_rows));
    if (!c->inputs || !c->goldens || !c->input_rows)
        return no_memory(err, "case");
    c->n_samples = n;
    for (size_t i = 0; i < n; i++)
        c->input_rows[i] = ASSAY_CASE_WHOLE;
    return 0;
}

/* The goldens that have the name of a sample. */
static int find_goldens(struct assay_case *c, const char *folder,
                        const struct list *names,
                        const struct assay_model_note *note,
                        struct assay_err *err)
{
    struct list have = {0};
    char *dir = assay_file_join(folder, "golden"), text[400];
    int rc = 0;

    if (!dir)
        return no_memory(err, folder);
    if (assay_file_is_folder(dir))
        rc = list_folder(&have, dir, err);
    for (size_t i = 0; !rc && i < have.n; i++) {
        size_t k = 0;

        while (k < names->n && strcmp(names->items[k], have.items[i]))
            k++;
        if (k == names->n) {
            snprintf(text, sizeof(text),
                     "%.200s/%.100s: no such sample in "
                     "inputs/: ignored",
                     dir, have.items[i]);
            tell(note, text);
            continue;
        }
        c->goldens[k] = assay_file_join(dir, have.items[i]);
        if (!c->goldens[k])
            rc = no_memory(err, folder);
        c->has_goldens = true;
    }
    list_close(&have);
    assay_free(dir);
    return rc;
}

static int find_samples(struct assay_case *c, const char *folder,
                        const struct assay_model_note *note,
                        struct assay_err *err)
{
    char *dir = assay_file_join(folder, "inputs");
    struct list names = {0};
    int rc;

    if (!dir)
        return no_memory(err, folder);
    rc = list_folder(&names, dir, err);
    if (!rc && !names.n)
        rc = assay_fail(err, ASSAY_EFORMAT,
                        "%s: no samples, expected 0000.npz and so on", dir);
    if (!rc)
        rc = alloc_samples(c, names.n, err);
    for (size_t i = 0; !rc && i < names.n; i++) {
        c->inputs[i] = assay_file_join(dir, names.items[i]);
        if (!c->inputs[i])
            rc = no_memory(err, folder);
    }
    if (!rc)
        rc = find_goldens(c, folder, &names, note, err);
    list_close(&names);
    assay_free(dir);
    return rc;
}

static int find_model(struct assay_case *c, const char *folder,
                      struct assay_err *err)
{
    static const char *const names[] = {"model.onnx", "model.slice",
                                        "model.tflite", "model.mlir"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *path = assay_file_join(folder, names[i]);

        if (!path)
            return no_memory(err, folder);
        if (assay_file_is_regular(path)) {
            c->model_path = path;
            return 0;
        }
        assay_free(path);
    }
    return assay_fail(err, ASSAY_EIO,
                      "%s: no model in this case, expected model.onnx", folder);
}

/* case.json, and the remarks of the first golden. */
static int read_remarks(struct assay_case *c, const char *folder,
                        const struct assay_model_note *note,
                        struct assay_err *err)
{
    struct assay_npz z = {0};
    uint8_t *data;
    size_t n;
    int rc = 0;

    if (folder) {
        char *path = assay_file_join(folder, "case.json");

        if (!path)
            return no_memory(err, folder);
        if (assay_file_is_regular(path)) {
            rc = assay_file_read(&data, &n, path, MAX_META, err);
            if (!rc) {
                rc = assay_case_json(c, (const char *)data, n, path, err);
                assay_free(data);
            }
        }
        assay_free(path);
    }
    for (size_t i = 0; !rc && i < c->n_samples; i++) {
        if (!c->goldens[i])
            continue;
        rc = assay_npz_read(&z, c->goldens[i], note, err);
        if (!rc && z.meta)
            rc = assay_case_meta(c, z.meta, c->goldens[i], err);
        assay_npz_close(&z);
        break;
    }
    return rc;
}

static int name_case(struct assay_case *c, const char *path,
                     struct assay_err *err)
{
    size_t n = strlen(path), at;

    while (n > 1 && path[n - 1] == '/')
        n--;
    for (at = n; at > 0 && path[at - 1] != '/'; at--)
        ;
    c->name = assay_calloc(1, n - at + 1);
    if (!c->name)
        return no_memory(err, path);
    memcpy(c->name, path + at, n - at);
    return 0;
}

int assay_case_open(struct assay_case *out, const char *folder,
                    const struct assay_model_note *note, struct assay_err *err)
{
    struct assay_case c = {0};
    int rc;

    if (!assay_file_is_folder(folder))
        return assay_fail(err, ASSAY_EIO,
                          "%s: not a case folder (or use -m, -i and -r)",
                          folder);
    rc = name_case(&c, folder, err);
    if (!rc && !(c.folder = text_copy(folder)))
        rc = no_memory(err, folder);
    if (!rc)
        rc = find_model(&c, folder, err);
    if (!rc)
        rc = find_samples(&c, folder, note, err);
    if (!rc)
        rc = read_remarks(&c, folder, note, err);
    if (rc)
        assay_case_close(&c);
    else
        *out = c;
    return rc;
}

/* Files named by options; a folder stands for its npz files. */
static int add_files(struct list *l, const char *path, struct assay_err *err)
{
    struct list names = {0};
    int rc = 0;

    if (!assay_file_is_folder(path)) {
        if (!assay_file_is_regular(path))
            return assay_fail(err, ASSAY_EIO, "%s: no such file or folder",
                              path);
        return list_add(l, text_copy(path)) ? 0 : no_memory(err, path);
    }
    rc = list_folder(&names, path, err);
    for (size_t i = 0; !rc && i < names.n; i++)
        if (!list_add(l, assay_file_join(path, names.items[i])))
            rc = no_memory(err, path);
    list_close(&names);
    return rc;
}

/* One file with n samples along the first axis of its arrays. */
static int split_rows(struct assay_case *c, const char *path, size_t rows,
                      struct assay_err *err)
{
    int rc = alloc_samples(c, rows, err);

    for (size_t i = 0; !rc && i < rows; i++) {
        c->inputs[i] = text_copy(path);
        c->input_rows[i] = i;
        if (!c->inputs[i])
            rc = no_memory(err, path);
    }
    return rc;
}

static int take_inputs(struct assay_case *c, struct list *files,
                       const struct assay_model_note *note,
                       struct assay_err *err)
{
    size_t rows = 0;
    int rc = 0;

    if (files->n == 1 && !c->maker)
        rc = assay_case_rows(c->model_path, files->items[0], &rows, note, err);
    if (rc)
        return rc;
    if (rows)
        return split_rows(c, files->items[0], rows, err);
    rc = alloc_samples(c, files->n, err);
    for (size_t i = 0; !rc && i < files->n; i++) {
        c->inputs[i] = files->items[i];
        files->items[i] = NULL;
    }
    return rc;
}

static int take_goldens(struct assay_case *c, const char *reference,
                        struct assay_err *err)
{
    struct list files = {0};
    int rc = add_files(&files, reference, err);

    if (!rc && files.n != c->n_samples)
        rc = assay_fail(err, ASSAY_EMISMATCH,
                        "%s: %zu references for %zu samples", reference,
                        files.n, c->n_samples);
    for (size_t i = 0; !rc && i < files.n; i++) {
        c->goldens[i] = files.items[i];
        files.items[i] = NULL;
        c->has_goldens = true;
    }
    list_close(&files);
    return rc;
}

int assay_case_from_files(struct assay_case *out, const char *model,
                          const char *const *inputs, size_t n_inputs,
                          const char *reference,
                          const struct assay_case_maker *maker,
                          const struct assay_model_note *note,
                          struct assay_err *err)
{
    struct assay_case c = {.maker = maker};
    struct list files = {0};
    int rc = name_case(&c, model, err);

    if (!rc && !(c.model_path = text_copy(model)))
        rc = no_memory(err, model);
    for (size_t i = 0; !rc && i < n_inputs; i++)
        rc = add_files(&files, inputs[i], err);
    if (!rc && !files.n && n_inputs)
        rc = assay_fail(err, ASSAY_EUSAGE,
                        "%s: a folder without npz files (pictures are named "
                        "one by one: -i A.png -i B.png)",
                        inputs[0]);
    else if (!rc && !files.n)
        rc = assay_fail(err, ASSAY_EUSAGE, "%s: no input given (-i FILE)",
                        model);
    if (!rc)
        rc = take_inputs(&c, &files, note, err);
    if (!rc && reference)
        rc = take_goldens(&c, reference, err);
    if (!rc)
        rc = read_remarks(&c, NULL, note, err);
    list_close(&files);
    if (rc)
        assay_case_close(&c);
    else
        *out = c;
    return rc;
}

const char *assay_case_numerics(const struct assay_case *c)
{
    if (!strcmp(c->machine, "aarch64") || !strcmp(c->machine, "arm64"))
        return "onnxruntime-aarch64";
    if (c->machine[0] && !c->fma)
        return "onnxruntime-x86-nofma";
    return "onnxruntime-x86";
}
