/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/triage/stage.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/model/file.h"

#define MAX_ENTRIES 65536u

static const struct assay_stage_info infos[] = {
#define ASSAY_STAGE(id, name, side, cosine, error, step, look) \
    {name, ASSAY_SIDE_##side, cosine, error, step, look},
#include "host-tools/triage/stages.def"
#undef ASSAY_STAGE
};

const struct assay_stage_info *assay_stage_info(enum assay_stage stage)
{
    return &infos[stage];
}

const char *assay_side_name(enum assay_side side)
{
    static const char *const names[] = {"",        "training", "export",
                                        "convert", "compile",  "board"};

    return names[side];
}

static int no_memory(const char *path, struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", path);
}

const char *assay_names_join(struct assay_arena *arena, const char *folder,
                             const char *name)
{
    size_t a = strlen(folder), b = strlen(name);
    char *out = assay_arena_alloc(arena, a + b + 2);

    if (out == NULL)
        return NULL;
    memcpy(out, folder, a);
    out[a] = '/';
    memcpy(out + a + 1, name, b);
    return out;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int assay_names_list(struct assay_names *out, struct assay_arena *arena,
                     const char *folder, struct assay_err *err)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    struct assay_buf names;
    const char *name;
    int rc = 0;

    if (d == NULL)
        return assay_fail(err, ASSAY_EIO, "%s: %s", folder, strerror(errno));
    assay_buf_init(&names);
    out->n = 0;
    while (rc == 0 && (e = readdir(d)) != NULL) {
        if (e->d_name[0] == '.')
            continue;
        name = assay_arena_str(arena, e->d_name, strlen(e->d_name));
        if (++out->n > MAX_ENTRIES)
            rc = assay_fail(err, ASSAY_ERANGE,
                            "%s: more than %u entries in the folder", folder,
                            MAX_ENTRIES);
        else if (name == NULL ||
                 assay_buf_append(&names, &name, sizeof(name)) < 0)
            rc = no_memory(folder, err);
    }
    closedir(d);
    out->v = NULL;
    if (rc == 0 && out->n > 0) {
        out->v = assay_arena_copy(arena, names.data, names.len);
        if (out->v == NULL)
            rc = no_memory(folder, err);
        else
            qsort(out->v, out->n, sizeof(*out->v), by_name);
    }
    assay_buf_close(&names);
    return rc;
}

static bool has_suffix(const char *name, const char *suffix)
{
    size_t a = strlen(name), b = strlen(suffix);

    return a > b && strcmp(name + a - b, suffix) == 0;
}

/* The file's name without folders and suffix. */
static const char *stem(struct assay_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t n;

    path = slash != NULL ? slash + 1 : path;
    n = strlen(path);
    if (has_suffix(path, ".npz") || has_suffix(path, ".npy"))
        n -= 4;
    return assay_arena_str(arena, path, n);
}

/* Files of a folder with this suffix become one sample's, or one each. */
static uint32_t pick(struct assay_stage_set *set, struct assay_arena *arena,
                     const char *folder, const struct assay_names *names,
                     const char *suffix, bool each)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < names->n; i++) {
        struct assay_stage_sample *s = &set->samples[each ? set->n : 0];
        const char *path;

        if (!has_suffix(names->v[i], suffix))
            continue;
        path = assay_names_join(arena, folder, names->v[i]);
        if (path == NULL || !assay_file_is_regular(path))
            continue;
        if (each) {
            s->name = stem(arena, path);
            s->files = assay_arena_array(arena, 1, sizeof(*s->files));
        }
        if (s->files == NULL)
            continue;
        s->files[s->n_files++] = path;
        set->n = each ? set->n + 1 : 1;
        n++;
    }
    return n;
}

/* The npy files of one folder are one sample. */
static int open_npys(struct assay_stage_set *set, struct assay_arena *arena,
                     const char *folder, const struct assay_names *names,
                     struct assay_err *err)
{
    struct assay_stage_set one = *set;

    one.samples = assay_arena_array(arena, 1, sizeof(*one.samples));
    if (one.samples == NULL)
        return no_memory(folder, err);
    one.samples->name = stem(arena, folder);
    one.samples->files =
        assay_arena_array(arena, (size_t)names->n + 1, sizeof(char *));
    if (one.samples->files == NULL)
        return no_memory(folder, err);
    if (pick(&one, arena, folder, names, ".npy", false) > 0)
        set->samples[set->n++] = *one.samples;
    return 0;
}

static int open_folders(struct assay_stage_set *set, struct assay_arena *arena,
                        const struct assay_names *names, struct assay_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; i < names->n && rc == 0; i++) {
        const char *path = assay_names_join(arena, set->path, names->v[i]);
        struct assay_names inner;

        if (path == NULL)
            return no_memory(set->path, err);
        if (!assay_file_is_folder(path))
            continue;
        rc = assay_names_list(&inner, arena, path, err);
        if (rc == 0)
            rc = open_npys(set, arena, path, &inner, err);
    }
    return rc;
}

static bool any(const struct assay_names *names, const char *suffix)
{
    for (uint32_t i = 0; i < names->n; i++)
        if (has_suffix(names->v[i], suffix))
            return true;
    return false;
}

static int open_folder(struct assay_stage_set *set, struct assay_arena *arena,
                       struct assay_err *err)
{
    struct assay_names names;
    int rc = assay_names_list(&names, arena, set->path, err);
    bool npz, npy;

    if (rc < 0)
        return rc;
    npz = any(&names, ".npz");
    npy = any(&names, ".npy");
    if (npz && npy)
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: holds npz and npy files, expected one kind: "
                          "npz files are samples, npy files tensors of one",
                          set->path);
    set->samples =
        assay_arena_array(arena, (size_t)names.n + 1, sizeof(*set->samples));
    if (set->samples == NULL)
        return no_memory(set->path, err);
    if (npz)
        pick(set, arena, set->path, &names, ".npz", true);
    else if (npy)
        rc = open_npys(set, arena, set->path, &names, err);
    else
        rc = open_folders(set, arena, &names, err);
    if (rc == 0 && set->n == 0)
        rc = assay_fail(err, ASSAY_EFORMAT,
                        "%s: no npz and no npy file in the folder of stage "
                        "'%s'",
                        set->path, infos[set->stage].name);
    return rc;
}

static int open_file(struct assay_stage_set *set, struct assay_arena *arena,
                     struct assay_err *err)
{
    set->samples = assay_arena_array(arena, 1, sizeof(*set->samples));
    if (set->samples == NULL || (set->samples->files = assay_arena_array(
                                     arena, 1, sizeof(char *))) == NULL)
        return no_memory(set->path, err);
    set->samples->name = stem(arena, set->path);
    set->samples->files[0] = set->path;
    set->samples->n_files = 1;
    set->n = 1;
    return 0;
}

int assay_stage_open(struct assay_stage_set *out, struct assay_arena *arena,
                     enum assay_stage stage, const char *path,
                     struct assay_err *err)
{
    struct assay_stage_set set = {.stage = stage};
    int rc;

    set.path = assay_arena_str(arena, path, strlen(path));
    if (set.path == NULL)
        return no_memory(path, err);
    if (assay_file_is_folder(path))
        rc = open_folder(&set, arena, err);
    else if (has_suffix(path, ".npz") || has_suffix(path, ".npy"))
        rc = open_file(&set, arena, err);
    else if (assay_file_is_regular(path))
        rc = assay_fail(err, ASSAY_EFORMAT,
                        "%s: stage '%s' is neither npz, npy nor a folder of "
                        "them",
                        path, infos[stage].name);
    else
        rc = assay_fail(err, ASSAY_EIO, "%s: no such file or folder", path);
    if (rc == 0)
        *out = set;
    return rc;
}

/* Each npy is one array; out has room for all. */
static int read_npys(struct assay_npz *out, const struct assay_stage_sample *s,
                     bool single, const struct assay_model_note *note,
                     struct assay_err *err)
{
    int rc = 0;

    out->arrays = assay_calloc(s->n_files, sizeof(*out->arrays));
    if (out->arrays == NULL)
        return no_memory(s->files[0], err);
    for (uint32_t i = 0; i < s->n_files && rc == 0; i++) {
        const char *slash = strrchr(s->files[i], '/');
        char name[256];
        struct assay_npz one = {0};

        snprintf(name, sizeof(name), "%.255s",
                 slash != NULL ? slash + 1 : s->files[i]);
        name[strlen(name) > 4 ? strlen(name) - 4 : 0] = '\0';
        rc = assay_npy_read(&one, s->files[i], single ? "output" : name, note,
                            err);
        if (rc == 0 && one.n > 0) {
            out->arrays[out->n++] = one.arrays[0];
            one.n = 0;
        }
        assay_npz_close(&one);
    }
    return rc;
}

int assay_stage_read(struct assay_npz *out, const struct assay_stage_set *set,
                     uint32_t i, const struct assay_model_note *note,
                     struct assay_err *err)
{
    const struct assay_stage_sample *s = &set->samples[i];
    struct assay_npz z = {0};
    int rc;

    if (has_suffix(s->files[0], ".npz"))
        return assay_npz_read(out, s->files[0], note, err);
    rc = read_npys(&z, s, strcmp(s->files[0], set->path) == 0, note, err);
    if (rc < 0)
        assay_npz_close(&z);
    else
        *out = z;
    return rc;
}
