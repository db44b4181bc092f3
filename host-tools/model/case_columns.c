/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of the compiled model belong to which sample. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host-tools/model/case.h"
#include "host-tools/model/dump.h"
#include "host-tools/model/file.h"
#include "host-tools/model/hbdk_text.h"
#include "host-tools/model/model_info.h"
#include "host-tools/model/record.h"

#define MAX_ENTRIES 200000

static const char *const folders[ASSAY_CASE_SIDES] = {"sim", "bpu", "got"};

static void tell(const struct assay_model_note *note, const char *path,
                 const char *name, const char *why)
{
    char text[480];

    if (!note || !note->note)
        return;
    snprintf(text, sizeof(text), "%.200s%s%.100s: %s", path, name ? "/" : "",
             name ? name : "", why);
    note->note(note->self, text);
}

static int no_memory(struct assay_err *err, const char *what)
{
    return assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", what);
}

static bool exists(const char *path)
{
    struct stat sb;

    return !lstat(path, &sb);
}

/* One entry of a column's folder that may be a sample. */
struct entry {
    char *name;
    size_t stem; /* length of the name without ".npz" */
    bool used;
};
struct entries {
    struct entry *v;
    size_t n, cap;
    size_t texts;    /* files of one sample, directly in the folder */
    char first[256]; /* one of them */
    char info[256];  /* a text of model_info, for all samples; "" */
    size_t plain;    /* named like a tensor or like anything else */
    size_t others;   /* of no known kind, and those */
    char other[8][128];
};

static void entries_close(struct entries *e)
{
    for (size_t i = 0; i < e->n; i++)
        assay_free(e->v[i].name);
    assay_free(e->v);
    memset(e, 0, sizeof(*e));
}

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static bool add_entry(struct entries *e, const char *name, size_t stem)
{
    struct entry *p;

    if (e->n == e->cap) {
        size_t cap = e->cap ? e->cap * 2 : 16;

        p = assay_realloc(e->v, cap * sizeof(*p));
        if (!p)
            return false;
        e->v = p;
        e->cap = cap;
    }
    p = &e->v[e->n];
    memset(p, 0, sizeof(*p));
    p->name = assay_file_join("", name);
    p->stem = stem;
    if (!p->name)
        return false;
    e->n++;
    return true;
}

/* One name of the folder: a sample, a file of one, or nothing that is
 * known. */
static int sort_in(struct entries *e, const char *folder, const char *name,
                   struct assay_err *err)
{
    size_t n = strlen(name), k;
    char *path = assay_file_join(folder, name);
    const char *feature;
    struct assay_dump_name dump;
    bool npz = n > 4 && !strcmp(name + n - 4, ".npz"), sub, info;

    if (!path)
        return no_memory(err, folder);
    sub = assay_file_is_folder(path);
    info = !sub && !npz && assay_model_info_is_file(path);
    assay_free(path);
    if (info) {
        snprintf(e->info, sizeof(e->info), "%.255s", name);
        return 0;
    }
    if (npz || sub) {
        if (e->n == MAX_ENTRIES)
            return assay_fail(err, ASSAY_ERANGE, "%s: more than %d samples",
                              folder, MAX_ENTRIES);
        return add_entry(e, name, npz ? n - 4 : n) ? 0 : no_memory(err, folder);
    }
    if (assay_hbdk_is_copy(name))
        return 0;
    (void)assay_dump_name(&dump, name);
    if (assay_hbdk_name(name, &feature, &k) != ASSAY_HBDK_OTHER ||
        (dump.kind != ASSAY_DUMP_OTHER && dump.kind != ASSAY_DUMP_PLAIN)) {
        if (!e->texts++)
            snprintf(e->first, sizeof(e->first), "%.255s", name);
        return 0;
    }
    e->plain += dump.kind == ASSAY_DUMP_PLAIN && dump.form != ASSAY_DUMP_TXT;
    if (e->others < sizeof(e->other) / sizeof(e->other[0]))
        snprintf(e->other[e->others++], sizeof(e->other[0]), "%.127s", name);
    return 0;
}

static int read_folder(struct entries *e, const char *folder,
                       struct assay_err *err)
{
    DIR *d = opendir(folder);
    struct dirent *one;
    int rc = 0;

    if (!d)
        return assay_fail(err, ASSAY_EIO, "%s: %s", folder, strerror(errno));
    while (!rc && (one = readdir(d)))
        if (one->d_name[0] != '.')
            rc = sort_in(e, folder, one->d_name, err);
    closedir(d);
    if (!rc && e->n)
        qsort(e->v, e->n, sizeof(*e->v), by_name);
    return rc;
}

/* "0000" of inputs/0000.npz; the number where one file has many samples. */
static void sample_stem(const struct assay_case *c, size_t sample, char *out,
                        size_t cap)
{
    const char *path = c->inputs[sample], *slash = strrchr(path, '/');
    size_t n;

    if (c->input_rows[sample] != ASSAY_CASE_WHOLE) {
        snprintf(out, cap, "%04zu", sample);
        return;
    }
    snprintf(out, cap, "%s", slash ? slash + 1 : path);
    n = strlen(out);
    if (c->maker && strrchr(out, '.')) /* photo.jpg */
        *strrchr(out, '.') = '\0';
    else if (n > 4 &&
             (!strcmp(out + n - 4, ".npz") || !strcmp(out + n - 4, ".npy")))
        out[n - 4] = '\0';
}

static int take(struct assay_case_column *k, size_t sample, const char *path,
                const char *name, struct assay_err *err)
{
    k->paths[sample] =
        name ? assay_file_join(path, name) : assay_file_join("", path);
    if (!k->paths[sample])
        return no_memory(err, path);
    k->n_have++;
    return 0;
}

static int take_by_name(struct assay_case *c, struct assay_case_column *k,
                        const char *path, struct entries *e,
                        struct assay_err *err)
{
    char stem[256];

    for (size_t s = 0; s < c->n_samples; s++) {
        sample_stem(c, s, stem, sizeof(stem));
        for (size_t i = 0; i < e->n; i++) {
            int rc;

            if (strlen(stem) != e->v[i].stem ||
                strncmp(stem, e->v[i].name, e->v[i].stem) != 0)
                continue;
            if (k->paths[s])
                return assay_fail(err, ASSAY_EMISMATCH,
                                  "%s: both an npz and a folder for sample "
                                  "'%s', expected one of them",
                                  path, stem);
            rc = take(k, s, path, e->v[i].name, err);
            if (rc)
                return rc;
            e->v[i].used = true;
        }
    }
    return 0;
}

/* Is every entry an npz or a folder of a sample's files? Then order may pair
 * them. */
static int all_samples(const struct entries *e, const char *folder, bool *yes,
                       struct assay_err *err)
{
    int rc = 0;

    *yes = true;
    for (size_t i = 0; !rc && *yes && i < e->n; i++) {
        struct entries inner = {0};
        char *path = assay_file_join(folder, e->v[i].name);

        if (!path)
            return no_memory(err, folder);
        if (assay_file_is_folder(path)) {
            rc = read_folder(&inner, path, err);
            *yes = inner.texts + inner.plain > 0;
            entries_close(&inner);
        }
        assay_free(path);
    }
    return rc;
}

/* Named by an option, none with a sample's name: likely the folder around. */
static int no_samples(const struct assay_case *c, enum assay_case_side side,
                      const char *path, const struct entries *e,
                      struct assay_err *err)
{
    for (size_t i = 0; i < e->n; i++) {
        if (!strcmp(e->v[i].name, folders[side]))
            return assay_fail(err, ASSAY_EMISMATCH,
                              "%s: none of the %zu input samples' names, but a "
                              "folder '%s': name that one",
                              path, c->n_samples, folders[side]);
    }
    return assay_fail(err, ASSAY_EMISMATCH,
                      "%s: %zu samples, none with the name of one of the "
                      "%zu input samples",
                      path, e->n, c->n_samples);
}

static int take_samples(struct assay_case *c, enum assay_case_side side,
                        const char *path, struct entries *e, bool named,
                        const struct assay_model_note *note,
                        struct assay_err *err)
{
    struct assay_case_column *k = &c->columns[side];
    bool pairs = false;
    int rc = take_by_name(c, k, path, e, err);

    /* Like the reference's: without a common name, in the same order. */
    if (!rc && named && !k->n_have && e->n == c->n_samples)
        rc = all_samples(e, path, &pairs, err);
    if (pairs) {
        for (size_t s = 0; !rc && s < e->n; s++)
            rc = take(k, s, path, e->v[s].name, err);
        return rc;
    }
    for (size_t i = 0; !rc && i < e->n; i++)
        if (!e->v[i].used)
            tell(note, path, e->v[i].name, "no such sample: ignored");
    if (!rc && named && !k->n_have)
        rc = no_samples(c, side, path, e, err);
    return rc;
}

/* One npz, or one folder of texts: of the sample with its name, else of the
 * first. */
static int take_single(struct assay_case *c, enum assay_case_side side,
                       const char *path, const struct assay_model_note *note,
                       struct assay_err *err)
{
    char stem[256], text[160];
    size_t end = strlen(path), start, n;

    while (end > 1 && path[end - 1] == '/')
        end--;
    for (start = end; start > 0 && path[start - 1] != '/'; start--)
        ;
    n = end - start;
    if (n > 4 && !strncmp(path + end - 4, ".npz", 4))
        n -= 4;
    for (size_t s = 0; s < c->n_samples; s++) {
        sample_stem(c, s, stem, sizeof(stem));
        if (strlen(stem) == n && !strncmp(stem, path + start, n))
            return take(&c->columns[side], s, path, NULL, err);
    }
    if (c->n_samples > 1) {
        sample_stem(c, 0, stem, sizeof(stem));
        snprintf(text, sizeof(text),
                 "one sample for %zu: counts for the first, '%.60s'; others "
                 "go to folders of their names",
                 c->n_samples, stem);
        tell(note, path, NULL, text);
    }
    return take(&c->columns[side], 0, path, NULL, err);
}

static int take_folder(struct assay_case *c, enum assay_case_side side,
                       const char *path, bool named,
                       const struct assay_model_note *note,
                       struct assay_err *err)
{
    struct entries e = {0};
    int rc = read_folder(&e, path, err);

    if (!e.n)
        e.texts += e.plain;
    /* Beside texts, the reader of the texts tells of them. */
    for (size_t i = 0; !rc && !e.texts && i < e.others; i++)
        tell(note, path, e.other[i],
             "neither an npz nor a folder nor a file of a sample: ignored");

    if (!rc && e.texts && e.n)
        rc = assay_fail(err, ASSAY_EMISMATCH,
                        "%s: '%s' beside samples, expected either samples or "
                        "the files of one sample",
                        path, e.first);
    else if (!rc && e.texts)
        rc = take_single(c, side, path, note, err);
    else if (!rc)
        rc = take_samples(c, side, path, &e, named, note, err);
    if (!rc && e.info[0] && !e.texts) {
        c->columns[side].model_info = assay_file_join(path, e.info);
        if (!c->columns[side].model_info)
            rc = no_memory(err, path);
    }
    entries_close(&e);
    return rc;
}

/* sim.npz where sim/0000.npz is meant. */
static void tell_of_file(const struct assay_case *c, enum assay_case_side side,
                         const struct assay_model_note *note)
{
    char name[16], why[64];
    char *path;

    snprintf(name, sizeof(name), "%s.npz", folders[side]);
    snprintf(why, sizeof(why), "not read, expected %s/0000.npz", folders[side]);
    path = assay_file_join(c->folder, name);
    if (path && exists(path))
        tell(note, path, NULL, why);
    assay_free(path);
}

static int find_side(struct assay_case *c, enum assay_case_side side,
                     const char *given, const struct assay_model_note *note,
                     struct assay_err *err)
{
    struct assay_case_column *k = &c->columns[side];
    char name[8];
    char *path;
    int rc = 0;

    if (!given && !c->folder)
        return 0;
    path = given ? assay_file_join("", given)
                 : assay_file_join(c->folder, folders[side]);
    if (!path)
        return no_memory(err, c->name);
    if (!given && !exists(path)) {
        tell_of_file(c, side, note);
        goto out;
    }
    if (!given && !assay_file_is_folder(path)) {
        rc = assay_fail(err, ASSAY_EFORMAT,
                        "%s: expected a folder of samples, found none", path);
        goto out;
    }
    snprintf(name, sizeof(name), "%s/", folders[side]);
    k->from = assay_file_join("", given ? given : name);
    k->paths = assay_calloc(c->n_samples ? c->n_samples : 1, sizeof(*k->paths));
    if (!k->from || !k->paths)
        rc = no_memory(err, c->name);
    else if (assay_file_is_folder(path))
        rc = take_folder(c, side, path, given != NULL, note, err);
    else if (!assay_file_is_regular(path))
        rc = assay_fail(err, ASSAY_EIO, "%s: no such file or folder", path);
    else
        rc = take_single(c, side, path, note, err);
out:
    assay_free(path);
    return rc;
}

static int find_hybrid(struct assay_case *c, const char *given,
                       struct assay_err *err)
{
    if (!given && !c->folder)
        return 0;
    c->hybrid = given ? assay_file_join("", given)
                      : assay_file_join(c->folder, "hybrid.onnx");
    if (!c->hybrid)
        return no_memory(err, c->name);
    if (assay_file_is_regular(c->hybrid))
        return 0;
    if (given)
        return assay_fail(err, ASSAY_EIO, "%s: no such file", given);
    assay_free(c->hybrid);
    c->hybrid = NULL;
    return 0;
}

int assay_case_find_columns(struct assay_case *c,
                            const char *const paths[ASSAY_CASE_SIDES],
                            const char *hybrid,
                            const struct assay_model_note *note,
                            struct assay_err *err)
{
    int rc = 0;

    if (c->record)
        return assay_record_columns(c, err);
    for (unsigned s = 0; !rc && s < ASSAY_CASE_SIDES; s++)
        rc = find_side(c, (enum assay_case_side)s, paths[s], note, err);
    if (!rc)
        rc = find_hybrid(c, hybrid, err);
    return rc;
}

void assay_case_columns_close(struct assay_case *c)
{
    for (unsigned s = 0; s < ASSAY_CASE_SIDES; s++) {
        struct assay_case_column *k = &c->columns[s];

        for (size_t i = 0; k->paths && i < c->n_samples; i++)
            assay_free(k->paths[i]);
        assay_free(k->paths);
        assay_free(k->from);
        assay_free(k->model_info);
        memset(k, 0, sizeof(*k));
    }
    assay_free(c->hybrid);
    c->hybrid = NULL;
}
