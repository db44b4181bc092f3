/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/model/model.h"

#include <string.h>

#include "host-tools/model/file.h"
#include "host-tools/model/mlir_import.h"
#include "host-tools/model/onnx.h"
#include "host-tools/model/record.h"

#define MAX_MODEL_BYTES ((size_t)2 << 30)

static const struct assay_model_reader *const readers[] = {
    &assay_onnx_reader,
    &assay_mlir_reader,
    &assay_slice_reader,
    &assay_bundle_reader,
};
#define N_READERS (sizeof(readers) / sizeof(readers[0]))

static bool ends_with(const char *s, const char *suffix)
{
    size_t a = strlen(s), b = strlen(suffix);

    return a >= b && !strcmp(s + a - b, suffix);
}

static const struct assay_model_reader *by_name(const char *path)
{
    for (size_t i = 0; i < N_READERS; i++)
        if (ends_with(path, readers[i]->suffix))
            return readers[i];
    return NULL;
}

/* By its name first; a file with a strange name by its first bytes. */
static const struct assay_model_reader *pick(const char *path,
                                             const uint8_t *data, size_t n)
{
    static const char *const others[] = {".tflite", ".bc", ".hbm", ".npz"};
    const struct assay_model_reader *r = by_name(path);

    if (r)
        return r;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (ends_with(path, others[i]))
            return NULL;
    for (size_t i = 0; i < N_READERS; i++)
        if (readers[i]->probe(data, n < 64 ? n : 64))
            return readers[i];
    return NULL;
}

static int name_slice(struct assay_slice *s, const char *path,
                      const struct assay_model_reader *r, struct assay_err *err)
{
    const char *base = strrchr(path, '/');

    s->model_format = r->format;
    if (r->recorded)
        return 0;
    base = base ? base + 1 : path;
    s->model_name = assay_arena_str(s->arena, base, strlen(base));
    if (!s->model_name)
        return assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", path);
    return 0;
}

static int open_read(struct assay_slice **s, const char *path,
                     const struct assay_model_note *note, struct assay_err *err)
{
    const struct assay_model_reader *r;
    uint8_t *data;
    size_t n;
    int rc = assay_file_read(&data, &n, path, MAX_MODEL_BYTES, err);

    if (rc)
        return rc;
    r = pick(path, data, n);
    if (!n)
        rc = assay_fail(err, ASSAY_EFORMAT, "%s: an empty file", path);
    else if (!r && n >= 4 && !memcmp(data, "ML\xefR", 4))
        rc = assay_fail(err, ASSAY_EUNSUPPORTED,
                        "%s: MLIR bytecode, expected the text that "
                        "hbir_export.py writes of it",
                        path);
    else if (!r)
        rc = assay_fail(err, ASSAY_EUNSUPPORTED,
                        "%s: not a known model format, expected .onnx, .mlir, "
                        ".slice or .assay",
                        path);
    else
        rc = r->open(s, data, n, path, note, err);
    if (!rc)
        rc = name_slice(*s, path, r, err);
    if (!rc && !r->recorded)
        assay_sha256(data, n, (*s)->model_sha256);
    assay_free(data);
    return rc;
}

/* A text that may be larger than what it says: it is never in memory whole,
 * not even for its hash. */
static int open_mapped(struct assay_slice **s,
                       const struct assay_model_reader *r, const char *path,
                       const struct assay_model_note *note,
                       struct assay_err *err)
{
    struct assay_model_note with = {0};
    struct assay_file_map m = {0};
    int rc = assay_file_map(&m, path, MAX_MODEL_BYTES, err);

    if (rc)
        return rc;
    if (note)
        with = *note;
    with.passed = assay_file_drop;
    with.passed_self = &m;
    if (!m.size)
        rc = assay_fail(err, ASSAY_EFORMAT, "%s: an empty file", path);
    else
        rc = r->open(s, m.data, m.size, path, &with, err);
    if (!rc)
        rc = name_slice(*s, path, r, err);
    if (!rc)
        assay_sha256_passing(m.data, m.size, assay_file_drop, &m,
                             (*s)->model_sha256);
    assay_file_unmap(&m);
    return rc;
}

int assay_model_open(struct assay_slice **out, const char *path,
                     const struct assay_model_note *note, struct assay_err *err)
{
    const struct assay_model_reader *r = by_name(path);
    struct assay_slice *s = NULL;
    int rc = r && r->mapped ? open_mapped(&s, r, path, note, err)
                            : open_read(&s, path, note, err);

    if (rc)
        assay_slice_free(s);
    else
        *out = s;
    return rc;
}
