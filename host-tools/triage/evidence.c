/* SPDX-License-Identifier: Apache-2.0 */
/* Which file is which, and the walk over them. */
#include "host-tools/triage/evidence.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "host-tools/model/file.h"
#include "host-tools/triage/cells.h"
#include "host-tools/triage/stage.h"

#define MAX_FILE ((size_t)64 << 20)
#define MAX_ROWS 20000u
#define MAX_DEPTH 3
#define HEAD 65536u

static const char *const kind_names[] = {
    "unknown",    "layers compared",   "bad cases",     "sensitive layers",
    "dtypes got", "dtypes configured", "dtype changes", "conversion settings",
};

const char *assay_evidence_kind_name(enum assay_evidence_kind kind)
{
    return kind_names[kind];
}

/* The first line that has these two columns. */
static bool has_head(const char *text, size_t n, const char *first,
                     const char *second)
{
    struct assay_cells *c = assay_alloc(sizeof(*c));
    struct assay_lines l;
    bool found = false;

    assay_lines_begin(&l, text, n);
    while (c != NULL && !found && assay_lines_next(&l)) {
        if (assay_text_has(l.line, l.len, "name") &&
            assay_cells_split(c, l.line, l.len,
                              assay_cells_style(l.line, l.len)))
            found = assay_cells_column(c, first) >= 0 &&
                    assay_cells_column(c, second) >= 0;
    }
    assay_free(c);
    return found;
}

/* Reports of triage that were left beside the files that they quote. */
static bool is_own(const char *text, size_t n)
{
    static const char head[] = "# triage: ", schema[] = "\"schema\": \"assay-";

    return (n >= sizeof(head) - 1 &&
            memcmp(text, head, sizeof(head) - 1) == 0) ||
           memmem(text, n < 4096 ? n : 4096, schema, sizeof(schema) - 1) !=
               NULL;
}

/* Does a line begin so? */
static bool has_line(const char *text, size_t n, const char *begin)
{
    struct assay_lines l;

    assay_lines_begin(&l, text, n);
    while (assay_lines_next(&l))
        if (l.len >= strlen(begin) && memcmp(l.line, begin, strlen(begin)) == 0)
            return true;
    return false;
}

/* A dict of dtypes; a script that makes one has statements. */
static bool is_dict(const char *text, size_t n)
{
    static const char *const statements[] = {"def ", "class ", "if ",   "for ",
                                             "@",    "with ",  "print("};

    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
        if (has_line(text, n, statements[i]))
            return false;
    return memchr(text, '{', n) != NULL && (memmem(text, n, "\":", 2) != NULL ||
                                            memmem(text, n, "':", 2) != NULL);
}

enum assay_evidence_kind assay_evidence_probe(const char *text, size_t n)
{
    size_t head = n < HEAD ? n : HEAD;
    enum assay_vendor_kind vendor = assay_vendor_probe(text, head);
    bool dtypes;

    if (memchr(text, '\0', head) != NULL || is_own(text, head))
        return ASSAY_EVIDENCE_UNKNOWN;
    if (vendor != ASSAY_VENDOR_UNKNOWN && vendor != ASSAY_VENDOR_VEC_DIFF)
        return ASSAY_EVIDENCE_VENDOR;
    if (has_line(text, head, "The bad case input index"))
        return ASSAY_EVIDENCE_BADCASE;
    if (has_head(text, head, "mod_name", "cosine") ||
        has_head(text, head, "mod_name", "atol"))
        return ASSAY_EVIDENCE_LAYERS;
    if (has_head(text, head, "op_name", "op_type"))
        return ASSAY_EVIDENCE_SENSITIVE;
    if (has_head(text, n, "module name", "out dtype"))
        return ASSAY_EVIDENCE_CHECK;
    dtypes = assay_text_has(text, head, "qint") ||
             assay_text_has(text, head, "float16");
    if (dtypes && is_dict(text, head))
        return ASSAY_EVIDENCE_DTYPES;
    if (dtypes && assay_text_has(text, head, "template"))
        return ASSAY_EVIDENCE_CHANGES;
    return ASSAY_EVIDENCE_UNKNOWN;
}

const char *assay_dtype_word(const char *text, size_t n)
{
    static const struct {
        const char *word, *name;
    } words[] = {
        {"quint8", "quint8"},     {"qint8", "qint8"},
        {"qint16", "qint16"},     {"qint32", "qint32"},
        {"float16", "float16"},   {"float32", "float32"},
        {"bfloat16", "bfloat16"}, {"int8", "qint8"},
        {"int16", "qint16"},      {"int32", "qint32"},
        {"fp16", "float16"},      {"fp32", "float32"},
    };
    size_t i = 0;

    while (i < n) {
        size_t k = i;

        while (k < n && ((text[k] >= 'a' && text[k] <= 'z') ||
                         (text[k] >= '0' && text[k] <= '9')))
            k++;
        for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++)
            if (k - i == strlen(words[w].word) &&
                memcmp(text + i, words[w].word, k - i) == 0)
                return words[w].name;
        i = k > i ? k : i + 1;
    }
    return NULL;
}

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "out of memory");
}

const char *assay_evidence_text(struct assay_triage_evidence *e, const char *s,
                                size_t n)
{
    return assay_arena_str(e->arena, s, n);
}

void *assay_evidence_grow(struct assay_triage_evidence *e, void *array,
                          uint32_t *n, uint32_t *cap, size_t size)
{
    void *old, *grown;

    memcpy(&old, array, sizeof(old));
    if (*n >= MAX_ROWS)
        return NULL;
    if (*n == *cap) {
        uint32_t more = *cap == 0 ? 32 : *cap * 2;

        grown = assay_arena_array(e->arena, more, size);
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

int assay_evidence_new(struct assay_triage_evidence **out,
                       struct assay_err *err)
{
    struct assay_triage_evidence *e = assay_calloc(1, sizeof(*e));

    if (e == NULL || (e->arena = assay_arena_new()) == NULL) {
        assay_free(e);
        return no_memory(err);
    }
    *out = e;
    return 0;
}

void assay_evidence_free(struct assay_triage_evidence *e)
{
    if (e == NULL)
        return;
    assay_vendor_free(e->vendor);
    assay_arena_free(e->arena);
    assay_free(e);
}

static int keep_file(struct assay_triage_evidence *e, const char *path,
                     enum assay_evidence_kind kind, struct assay_err *err)
{
    struct assay_evidence_file *f = assay_evidence_grow(
        e, &e->files, &e->n_files, &e->cap_files, sizeof(*f));

    if (f == NULL ||
        (f->path = assay_evidence_text(e, path, strlen(path))) == NULL)
        return no_memory(err);
    f->kind = kind;
    return 0;
}

static int read_text(struct assay_triage_evidence *e, const char *text,
                     size_t n, const char *path, bool named,
                     struct assay_err *err)
{
    static const assay_evidence_reader_fn readers[] = {
        [ASSAY_EVIDENCE_LAYERS] = assay_evidence_layers,
        [ASSAY_EVIDENCE_BADCASE] = assay_evidence_badcases,
        [ASSAY_EVIDENCE_SENSITIVE] = assay_evidence_sensitive,
        [ASSAY_EVIDENCE_CHECK] = assay_evidence_check,
        [ASSAY_EVIDENCE_DTYPES] = assay_evidence_config,
        [ASSAY_EVIDENCE_CHANGES] = assay_evidence_changes,
    };
    enum assay_evidence_kind kind = assay_evidence_probe(text, n);
    int rc;

    if (kind == ASSAY_EVIDENCE_UNKNOWN && named)
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: none of the vendor's files that are known: "
                          "compare_per_layer_out, badcase, sensitive_ops, "
                          "model_check_result, qconfig_dtypes, "
                          "qconfig_changelogs, quant_info.json, YAML or log",
                          path);
    if (kind == ASSAY_EVIDENCE_UNKNOWN) {
        e->n_ignored++;
        return 0;
    }
    rc = keep_file(e, path, kind, err);
    if (rc == 0 && kind != ASSAY_EVIDENCE_VENDOR)
        rc = readers[kind](e, text, n, e->files[e->n_files - 1].path, err);
    return rc;
}

/* Models and tensors are no texts, and what is huge is no table: told by the
 * size and the first bytes. */
static bool is_text(const char *path)
{
    char head[512];
    struct stat st;
    FILE *f = stat(path, &st) == 0 && (uint64_t)st.st_size <= MAX_FILE
                  ? fopen(path, "rb")
                  : NULL;
    size_t n = f != NULL ? fread(head, 1, sizeof(head), f) : 0;

    if (f != NULL)
        fclose(f);
    return n > 0 && memchr(head, '\0', n) == NULL && memcmp(head, "PK", 2) != 0;
}

static int add_file(struct assay_triage_evidence *e, const char *path,
                    bool named, struct assay_err *err)
{
    uint8_t *data = NULL;
    size_t n = 0;
    int rc;

    if (!named && !is_text(path)) {
        e->n_ignored++;
        return 0;
    }
    rc = assay_file_read(&data, &n, path, MAX_FILE, err);
    if (rc == 0)
        rc = read_text(e, (const char *)data, n, path, named, err);
    assay_free(data);
    return rc;
}

static bool skipped(const char *name, const char *const *skip)
{
    for (; skip != NULL && *skip != NULL; skip++)
        if (strcmp(name, *skip) == 0)
            return true;
    return false;
}

static int add_folder(struct assay_triage_evidence *e, const char *path,
                      int depth, const char *const *skip, struct assay_err *err)
{
    struct assay_names names;
    int rc = assay_names_list(&names, e->arena, path, err);

    for (uint32_t i = 0; rc == 0 && i < names.n; i++) {
        const char *inner = assay_names_join(e->arena, path, names.v[i]);

        if (inner == NULL)
            return no_memory(err);
        if (depth == 0 && skipped(names.v[i], skip))
            continue;
        if (assay_file_is_folder(inner))
            rc = depth < MAX_DEPTH ? add_folder(e, inner, depth + 1, skip, err)
                                   : 0;
        else if (assay_file_is_regular(inner))
            rc = add_file(e, inner, false, err);
    }
    return rc;
}

int assay_evidence_add(struct assay_triage_evidence *e, const char *path,
                       bool named, const char *const *skip,
                       struct assay_err *err)
{
    if (assay_file_is_folder(path))
        return add_folder(e, path, 0, skip, err);
    return add_file(e, path, named, err);
}

int assay_evidence_finish(struct assay_triage_evidence *e,
                          struct assay_err *err)
{
    const char **paths =
        assay_arena_array(e->arena, (size_t)e->n_files + 1, sizeof(*paths));
    size_t n = 0;
    int rc = 0;

    if (paths == NULL)
        return no_memory(err);
    for (uint32_t i = 0; i < e->n_files; i++)
        if (e->files[i].kind == ASSAY_EVIDENCE_VENDOR)
            paths[n++] = e->files[i].path;
    if (n > 0)
        rc = assay_vendor_load(&e->vendor, paths, n, err);
    return rc == 0 ? assay_evidence_judge_dtypes(e, err) : rc;
}
