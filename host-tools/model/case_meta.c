/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/model/case_meta.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "host-tools/model/differ.h"

static int load(json_t **out, const char *text, size_t n, const char *file,
                const char *what, struct assay_err *err)
{
    json_error_t e;
    json_t *j = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);

    if (!j)
        return assay_fail(err, ASSAY_EFORMAT, "%s: %s: line %d: %s", file, what,
                          e.line, e.text);
    if (!json_is_object(j)) {
        json_decref(j);
        return assay_fail(err, ASSAY_EFORMAT, "%s: %s: expected an object",
                          file, what);
    }
    *out = j;
    return 0;
}

/* Copies a string member, cut to the field; a missing one is left alone. */
static int text_member(const json_t *j, const char *key, char *out, size_t cap,
                       const char *file, struct assay_err *err)
{
    const json_t *v = json_object_get(j, key);

    if (!v || json_is_null(v))
        return 0;
    if (!json_is_string(v))
        return assay_fail(err, ASSAY_EFORMAT, "%s: '%s': expected a string",
                          file, key);
    snprintf(out, cap, "%s", json_string_value(v));
    return 0;
}

static bool is_sha256(const char *s)
{
    return strlen(s) == 64 && strspn(s, "0123456789abcdef") == 64;
}

static int read_remarks(struct assay_case *c, const json_t *j, const char *file,
                        struct assay_err *err)
{
    const json_t *options = json_object_get(j, "options");
    const json_t *features = json_object_get(j, "cpu_features");
    char sha[80] = "";
    int rc = text_member(j, "model_sha256", sha, sizeof(sha), file, err);

    if (!rc && sha[0] && !is_sha256(sha))
        rc = assay_fail(err, ASSAY_EFORMAT,
                        "%s: 'model_sha256': expected 64 hexadecimal digits, "
                        "found '%s'",
                        file, sha);
    if (!rc)
        rc = text_member(j, "engine", c->engine, sizeof(c->engine), file, err);
    if (!rc)
        rc = text_member(j, "version", c->engine_version,
                         sizeof(c->engine_version), file, err);
    if (!rc)
        rc = text_member(j, "machine", c->machine, sizeof(c->machine), file,
                         err);
    if (!rc && json_is_object(options))
        rc = text_member(options, "opt", c->opt, sizeof(c->opt), file, err);
    if (rc)
        return rc;
    if (sha[0])
        memcpy(c->model_sha256, sha, 65);
    if (json_is_array(features)) {
        size_t i;
        json_t *v;

        c->fma = false;
        json_array_foreach(features, i, v) if (json_is_string(v) &&
                                               !strcmp(json_string_value(v),
                                                       "fma")) c->fma = true;
    }
    return 0;
}

int assay_case_json(struct assay_case *c, const char *text, size_t n,
                    const char *file, struct assay_err *err)
{
    const json_t *tools;
    json_t *j;
    int rc = load(&j, text, n, file, "case.json", err);

    if (rc)
        return rc;
    rc = read_remarks(c, j, file, err);
    if (!rc)
        rc = text_member(j, "march", c->march, sizeof(c->march), file, err);
    tools = json_object_get(j, "tools");
    if (!rc && json_is_object(tools))
        rc = text_member(tools, "horizon_nn", c->horizon_nn,
                         sizeof(c->horizon_nn), file, err);
    if (!rc && json_is_object(tools))
        rc = text_member(tools, "hbdk", c->hbdk, sizeof(c->hbdk), file, err);
    if (!rc && json_is_object(tools) && !c->hbdk[0])
        rc = text_member(tools, "hbdk4", c->hbdk, sizeof(c->hbdk), file, err);
    if (!rc)
        assay_case_differ_json(c, j, file);
    json_decref(j);
    return rc;
}

int assay_case_meta(struct assay_case *c, const char *text, const char *file,
                    struct assay_err *err)
{
    json_t *j;
    int rc = load(&j, text, strlen(text), file, "__meta__", err);

    if (rc)
        return rc;
    rc = read_remarks(c, j, file, err);
    json_decref(j);
    return rc;
}

void assay_case_maker(struct assay_case_column *column, const char *text,
                      const char *file)
{
    struct assay_case maker = {0};
    struct assay_err ignored = {0};

    if (!text || assay_case_meta(&maker, text, file, &ignored) ||
        strcmp(maker.engine, "onnxruntime") != 0)
        return;
    column->numerics = maker.machine[0] ? assay_case_numerics(&maker) : NULL;
    column->literal = strcmp(maker.opt, "none") == 0;
}

int assay_case_check_meta(const char *text, const char *file,
                          const uint8_t model_sha256[ASSAY_SHA256_LEN],
                          bool (*sha256_of)(void *self, const char *name,
                                            char hex[65]),
                          void *self, struct assay_err *err)
{
    char have[2 * ASSAY_SHA256_LEN + 1], hex[65];
    const char *name;
    json_t *j, *inputs, *v;
    int rc = load(&j, text, strlen(text), file, "__meta__", err);

    if (rc)
        return rc;
    assay_hex(model_sha256, ASSAY_SHA256_LEN, have);
    v = json_object_get(j, "model_sha256");
    if (json_is_string(v) && strcmp(json_string_value(v), have))
        rc = assay_fail(err, ASSAY_EMISMATCH,
                        "%s: this reference was made from another model: "
                        "model_sha256 %.64s, but the model has %s",
                        file, json_string_value(v), have);
    inputs = json_object_get(j, "input_sha256");
    if (!rc && json_is_object(inputs)) {
        json_object_foreach(inputs, name,
                            v) if (!rc && json_is_string(v) &&
                                   sha256_of(self, name, hex) &&
                                   strcmp(json_string_value(v), hex)) rc =
            assay_fail(err, ASSAY_EMISMATCH,
                       "%s: this reference was made from another "
                       "input '%.60s': input_sha256 %.64s, but the "
                       "sample has %s",
                       file, name, json_string_value(v), hex);
    }
    json_decref(j);
    return rc;
}

/* Does the array hold n > 1 samples of this input? */
static size_t rows_of(const struct assay_array *a, const struct assay_tensor *t)
{
    int64_t dims[ASSAY_MAX_RANK];

    assay_tensor_source_dims(t, dims);
    if (a->rank < 1 || a->dims[0] < 1)
        return 0;
    if (a->rank == t->rank + 1 &&
        !memcmp(a->dims + 1, dims, t->rank * sizeof(*dims)))
        return (size_t)a->dims[0];
    if (a->rank == t->rank && t->rank > 0 && dims[0] == 1 && a->dims[0] != 1 &&
        !memcmp(a->dims + 1, dims + 1, (t->rank - 1) * sizeof(*dims)))
        return (size_t)a->dims[0];
    return 0;
}

int assay_case_rows(const char *model, const char *inputs, size_t *rows,
                    const struct assay_model_note *note, struct assay_err *err)
{
    struct assay_slice *s = NULL;
    struct assay_npz z = {0};
    size_t n = strlen(inputs), input = 0;
    char alias[24];
    int rc;

    *rows = 0;
    if (n > 4 && !strcmp(inputs + n - 4, ".npy"))
        rc = assay_npy_read(&z, inputs, "in0", NULL, err);
    else
        rc = assay_npz_read(&z, inputs, NULL, err);
    if (!rc)
        rc = assay_model_open(&s, model, NULL, err);
    (void)note;
    for (uint32_t t = 0; !rc && t < s->n_tensors; t++) {
        const struct assay_array *a;

        if (s->tensors[t].role != ASSAY_ROLE_INPUT)
            continue;
        snprintf(alias, sizeof(alias), "in%zu", input++);
        a = assay_npz_find(&z, s->tensors[t].name);
        if (!a)
            a = assay_npz_find(&z, alias);
        if (!a)
            continue;
        n = rows_of(a, &s->tensors[t]);
        if (*rows && n != *rows)
            rc = assay_fail(err, ASSAY_EFORMAT,
                            "%s: %zu samples of input '%s', but %zu of "
                            "another",
                            inputs, n, s->tensors[t].name, *rows);
        *rows = n;
    }
    assay_npz_close(&z);
    assay_slice_free(s);
    return rc;
}
