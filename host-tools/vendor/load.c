/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/vendor/vendor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host-tools/model/file.h"
#include "host-tools/vendor/parse.h"

#define MAX_ENTRIES 4096u
#define MAX_DEPTH 4u

struct walk {
    struct assay_vendor *v;
    uint32_t entries;
    struct assay_err *err;
};

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "%s",
                      assay_status_sentence(ASSAY_EMEMORY));
}

char *assay_vendor_str(struct assay_vendor *v, const char *s)
{
    return assay_arena_str(v->arena, s, strlen(s));
}

void *assay_vendor_grow(struct assay_vendor *v, void *array, uint32_t *n,
                        uint32_t *cap, size_t size, uint32_t limit)
{
    void *old, *grown;

    memcpy(&old, array, sizeof(old));
    if (*n >= limit)
        return NULL;
    if (*n == *cap) {
        uint32_t more = *cap == 0 ? 16 : *cap * 2;

        grown = assay_arena_array(v->arena, more, size);
        if (grown == NULL)
            return NULL;
        if (*n > 0)
            memcpy(grown, old, *n * size);
        memcpy(array, &grown, sizeof(grown));
        *cap = more;
        old = grown;
    }
    return (char *)old + size * (*n)++;
}

int assay_vendor_too_many(const char *file, const char *what,
                          struct assay_err *err)
{
    return assay_fail(err, ASSAY_ERANGE,
                      "%s: too many %s, or no memory for them", file, what);
}

int assay_vendor_json(json_t **out, const char *data, size_t n,
                      const char *file, struct assay_err *err)
{
    json_error_t e;

    *out = json_loadb(data, n, 0, &e);
    if (*out == NULL)
        return assay_fail(err, ASSAY_EFORMAT, "%s: line %d: %s", file, e.line,
                          e.text);
    return 0;
}

static int add_text(struct assay_vendor *v, struct assay_vendor_texts *list,
                    const char *text, struct assay_err *err)
{
    const char **grown =
        assay_arena_array(v->arena, (size_t)list->n + 1, sizeof(*grown));

    if (grown == NULL)
        return no_memory(err);
    if (list->n > 0)
        memcpy(grown, list->v, list->n * sizeof(*grown));
    grown[list->n++] = text;
    list->v = grown;
    return 0;
}

int assay_vendor_read(struct assay_vendor *v, enum assay_vendor_kind kind,
                      char *data, size_t n, const char *file,
                      struct assay_err *err)
{
    static const assay_vendor_reader_fn readers[] = {
        [ASSAY_VENDOR_YAML] = assay_vendor_read_yaml,
        [ASSAY_VENDOR_LOG] = assay_vendor_read_log,
        [ASSAY_VENDOR_QUANT_INFO] = assay_vendor_read_quant_info,
        [ASSAY_VENDOR_QUANT_CONFIG] = assay_vendor_read_quant_config,
        [ASSAY_VENDOR_DISAS] = assay_vendor_read_disas,
        [ASSAY_VENDOR_RUNTIME] = assay_vendor_read_runtime,
        [ASSAY_VENDOR_NODE_INFO] = assay_vendor_read_node_info,
        [ASSAY_VENDOR_ADVICE] = assay_vendor_read_advice,
        [ASSAY_VENDOR_MODEL_INFO] = assay_vendor_read_model_info,
        [ASSAY_VENDOR_VERIFIER] = assay_vendor_read_verifier,
    };

    return readers[kind](v, data, n, file, err);
}

static int read_file(struct assay_vendor *v, const char *path,
                     enum assay_vendor_kind kind, struct assay_err *err)
{
    const char *file = assay_vendor_str(v, path);
    uint8_t *data = NULL;
    size_t n;
    int rc;

    if (file == NULL)
        return no_memory(err);
    if (kind == ASSAY_VENDOR_VEC_DIFF) {
        v->vec_diff_file = file;
        return 0;
    }
    rc = assay_file_read(&data, &n, path,
                         kind == ASSAY_VENDOR_YAML ? ASSAY_VENDOR_MAX_YAML
                                                   : ASSAY_VENDOR_MAX_FILE,
                         err);
    if (rc == 0)
        rc = assay_vendor_read(v, kind, (char *)data, n, file, err);
    if (rc == 0)
        rc = add_text(v, &v->files, file, err);
    assay_free(data);
    return rc;
}

/* The first bytes; -1 when it is no file that can be read. */
static ssize_t peek(const char *path, char *head, size_t cap)
{
    struct stat st;
    ssize_t n = -1;
    size_t have = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        while (have < cap && (n = read(fd, head + have, cap - have)) > 0)
            have += (size_t)n;
    }
    close(fd);
    return n < 0 ? -1 : (ssize_t)have;
}

static int read_path(struct walk *w, const char *path, unsigned depth,
                     bool named);

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of a folder, sorted, so that a report does not depend on the disk. */
static int list_folder(struct walk *w, const char *path, char ***out,
                       uint32_t *n_out)
{
    DIR *d = opendir(path);
    struct dirent *e;
    char **names = NULL;
    uint32_t n = 0, cap = 0;
    int rc = 0;

    if (d == NULL)
        return assay_fail(w->err, ASSAY_EIO, "%s: %s", path, strerror(errno));
    while (rc == 0 && (e = readdir(d)) != NULL) {
        char **slot;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        slot = ++w->entries > MAX_ENTRIES
                   ? NULL
                   : assay_vendor_grow(w->v, &names, &n, &cap, sizeof(*names),
                                       MAX_ENTRIES);
        if (slot == NULL || (*slot = assay_vendor_str(w->v, e->d_name)) == NULL)
            rc = assay_vendor_too_many(path, "entries", w->err);
    }
    closedir(d);
    if (rc == 0 && n > 0)
        qsort(names, n, sizeof(*names), by_name);
    *out = names;
    *n_out = n;
    return rc;
}

static int read_folder(struct walk *w, const char *path, unsigned depth)
{
    char **names = NULL, joined[4096];
    uint32_t n = 0;
    int rc = list_folder(w, path, &names, &n);

    for (uint32_t i = 0; i < n && rc == 0; i++) {
        int len = snprintf(joined, sizeof(joined), "%s/%s", path, names[i]);

        if (len > 0 && (size_t)len < sizeof(joined))
            rc = read_path(w, joined, depth + 1, false);
    }
    return rc;
}

static int read_path(struct walk *w, const char *path, unsigned depth,
                     bool named)
{
    enum assay_vendor_kind kind = ASSAY_VENDOR_UNKNOWN;
    struct stat st;
    char *head;
    ssize_t n;

    if (stat(path, &st) != 0) {
        if (named)
            return assay_fail(w->err, ASSAY_EIO, "%s: %s", path,
                              strerror(errno));
        return 0; /* a dangling link in a folder */
    }
    if (S_ISDIR(st.st_mode))
        return depth < MAX_DEPTH ? read_folder(w, path, depth) : 0;
    head = assay_alloc(65536);
    if (head == NULL)
        return no_memory(w->err);
    n = peek(path, head, 65536);
    if (n > 0)
        kind = assay_vendor_probe(head, (size_t)n);
    assay_free(head);
    if (kind != ASSAY_VENDOR_UNKNOWN)
        return read_file(w->v, path, kind, w->err);
    if (named)
        return assay_fail(w->err, ASSAY_EFORMAT,
                          "%s: none of the vendor's files that are known: "
                          "YAML or log of hb_mapper or hb_compile, "
                          "quant_info.json, node_info.csv, advice.json, "
                          "hbdk-disas --json, the text of model_info, "
                          "hb_verifier's log, the runtime's log",
                          path);
    w->v->n_ignored++;
    return 0;
}

int assay_vendor_new(struct assay_vendor **out, struct assay_err *err)
{
    struct assay_vendor *v = assay_calloc(1, sizeof(*v));

    if (v == NULL || (v->arena = assay_arena_new()) == NULL) {
        assay_free(v);
        return no_memory(err);
    }
    v->hbdk_version = v->horizon_nn_version = v->hb_mapper_version = "";
    v->disas_version = v->all_node_type = "";
    *out = v;
    return 0;
}

int assay_vendor_load(struct assay_vendor **out, const char *const *paths,
                      size_t n_paths, struct assay_err *err)
{
    struct assay_vendor *v = NULL;
    struct walk w = {.err = err};
    int rc = assay_vendor_new(&v, err);

    w.v = v;
    for (size_t i = 0; i < n_paths && rc == 0; i++)
        rc = read_path(&w, paths[i], 0, true);
    if (rc == 0)
        rc = assay_vendor_claims(v, err);
    if (rc == 0)
        rc = assay_vendor_index(v, err);
    if (rc < 0)
        assay_vendor_free(v);
    else
        *out = v;
    return rc;
}

void assay_vendor_free(struct assay_vendor *v)
{
    if (v == NULL)
        return;
    for (uint32_t i = 0; i < v->n_infos; i++)
        assay_model_info_close(&v->infos[i]);
    assay_arena_free(v->arena);
    assay_free(v);
}

const char *assay_vendor_on_name(enum assay_vendor_on on)
{
    switch (on) {
    case ASSAY_ON_CPU: return "CPU";
    case ASSAY_ON_BPU: return "BPU";
    default: return "-";
    }
}
