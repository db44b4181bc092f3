/* SPDX-License-Identifier: Apache-2.0 */
/* P_quant_info.json, node settings, hbdk-disas --json. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "host-tools/vendor/parse.h"

struct reader {
    struct assay_vendor *v;
    const char *file;
    const char *where; /* node or feature */
    struct assay_err *err;
};

static int no_memory(struct reader *r)
{
    return assay_fail(r->err, ASSAY_EMEMORY, "%s",
                      assay_status_sentence(ASSAY_EMEMORY));
}

static int bad(struct reader *r, const char *key, const char *expected)
{
    return assay_fail(r->err, ASSAY_EFORMAT, "%s: '%.100s': '%s': expected %s",
                      r->file, r->where, key, expected);
}

/* A text; "" when the key is not there. */
static int text(struct reader *r, const json_t *o, const char *key,
                const char **out)
{
    const json_t *j = json_object_get(o, key);

    *out = "";
    if (j == NULL || json_is_null(j))
        return 0;
    if (!json_is_string(j))
        return bad(r, key, "a text");
    *out = assay_vendor_str(r->v, json_string_value(j));
    return *out == NULL ? no_memory(r) : 0;
}

static int texts(struct reader *r, const json_t *o, const char *key,
                 struct assay_vendor_texts *out)
{
    const json_t *j = json_object_get(o, key);
    size_t n = json_array_size(j);

    memset(out, 0, sizeof(*out));
    if (!json_is_array(j) || n > ASSAY_VENDOR_MAX_LIST)
        return bad(r, key, "a list of names");
    out->v = assay_arena_array(r->v->arena, n + 1, sizeof(*out->v));
    if (out->v == NULL)
        return no_memory(r);
    for (size_t i = 0; i < n; i++) {
        const char *s = json_string_value(json_array_get(j, i));

        if (s == NULL)
            return bad(r, key, "a list of names");
        out->v[out->n] = assay_vendor_str(r->v, s);
        if (out->v[out->n++] == NULL)
            return no_memory(r);
    }
    return 0;
}

static int thresholds(struct reader *r, const json_t *o,
                      struct assay_vendor_quant_node *q)
{
    const json_t *j = json_object_get(o, "thresholds");

    if (!json_is_array(j) || json_array_size(j) != q->inputs.n)
        return bad(r, "thresholds", "one list an input");
    q->thresholds = assay_arena_array(r->v->arena, (size_t)q->inputs.n + 1,
                                      sizeof(*q->thresholds));
    if (q->thresholds == NULL)
        return no_memory(r);
    for (uint32_t i = 0; i < q->inputs.n; i++) {
        const json_t *list = json_array_get(j, i);
        struct assay_vendor_numbers *t = &q->thresholds[i];
        size_t n = json_array_size(list);

        if (!json_is_array(list) || n > (1u << 20))
            return bad(r, "thresholds", "one list an input");
        t->v = assay_arena_array(r->v->arena, n + 1, sizeof(*t->v));
        if (t->v == NULL)
            return no_memory(r);
        for (size_t k = 0; k < n; k++) {
            const json_t *x = json_array_get(list, k);

            if (!json_is_number(x))
                return bad(r, "thresholds", "lists of numbers");
            t->v[t->n++] = json_number_value(x);
        }
    }
    return 0;
}

/* A text of six decimals; a number is taken too. */
static int cosine(struct reader *r, const json_t *o,
                  struct assay_vendor_quant_node *q)
{
    const json_t *j = json_object_get(o, "cosine_similarity");
    const char *s = json_string_value(j);
    char *end;

    if (j == NULL || json_is_null(j))
        return 0;
    if (json_is_number(j)) {
        q->cosine = json_number_value(j);
    } else {
        if (s == NULL || strcmp(s, "--") == 0)
            return s == NULL ? bad(r, "cosine_similarity", "a number") : 0;
        q->cosine = strtod(s, &end);
        if (end == s || *end != '\0')
            return bad(r, "cosine_similarity", "a number");
    }
    q->has_cosine = isfinite(q->cosine);
    return 0;
}

int assay_vendor_read_quant_info(struct assay_vendor *v, char *data, size_t n,
                                 const char *file, struct assay_err *err)
{
    struct reader r = {v, file, "", err};
    const char *name;
    json_t *root, *o;
    int rc;

    if (v->quant_file != NULL)
        return assay_fail(err, ASSAY_EMISMATCH,
                          "%s: a second quant_info beside '%.200s': give the "
                          "one of this build",
                          file, v->quant_file);
    rc = assay_vendor_json(&root, data, n, file, err);
    if (rc < 0)
        return rc;
    json_object_foreach(root, name, o)
    {
        struct assay_vendor_quant_node *q;

        r.where = name;
        q = assay_vendor_grow(v, &v->quant_nodes, &v->n_quant_nodes,
                              &v->cap_quant_nodes, sizeof(*q),
                              ASSAY_VENDOR_MAX_NODES);
        if (q == NULL) {
            rc = assay_vendor_too_many(file, "nodes", err);
            break;
        }
        memset(q, 0, sizeof(*q));
        q->name = assay_vendor_str(v, name);
        if (q->name == NULL)
            rc = no_memory(&r);
        else if (!json_is_object(o))
            rc = bad(&r, "type", "an object with type, inputs, thresholds");
        if (rc == 0)
            rc = text(&r, o, "type", &q->type);
        if (rc == 0)
            rc = texts(&r, o, "inputs", &q->inputs);
        if (rc == 0)
            rc = texts(&r, o, "outputs", &q->outputs);
        if (rc == 0)
            rc = thresholds(&r, o, q);
        if (rc == 0)
            rc = cosine(&r, o, q);
        if (rc < 0)
            break;
    }
    json_decref(root);
    if (rc == 0)
        v->quant_file = file;
    return rc;
}

/* {"model_config": {"all_node_type": "int16"}, "node_config": {name: {...}}} */
int assay_vendor_read_quant_config(struct assay_vendor *v, char *data, size_t n,
                                   const char *file, struct assay_err *err)
{
    struct reader r = {v, file, "model_config", err};
    const char *name, *key;
    json_t *root, *nodes, *o, *e;
    int rc = assay_vendor_json(&root, data, n, file, err);

    if (rc < 0)
        return rc;
    rc = text(&r, json_object_get(root, "model_config"), "all_node_type",
              &v->all_node_type);
    nodes = json_object_get(root, "node_config");
    json_object_foreach(nodes, name, o)
    {
        const char *node = assay_vendor_str(v, name), *value;

        r.where = name;
        json_object_foreach(o, key, e)
        {
            if (rc == 0 && json_is_string(e) && node != NULL) {
                rc = text(&r, o, key, &value);
                if (rc == 0)
                    rc = assay_vendor_override(v, file, node, key, value, err);
            }
        }
        if (node == NULL && rc == 0)
            rc = no_memory(&r);
    }
    json_decref(root);
    if (rc == 0)
        v->quant_config_file = file;
    return rc;
}

static int dims(struct reader *r, const json_t *o, const char *key, bool needed,
                uint32_t *rank, int64_t *out)
{
    const json_t *j = json_object_get(o, key);
    size_t n = json_array_size(j);

    if (j == NULL && !needed) {
        *rank = 0;
        return 0;
    }
    if (!json_is_array(j) || n == 0 || n > ASSAY_MAX_RANK)
        return bad(r, key, "a list of up to 10 numbers");
    for (size_t i = 0; i < n; i++) {
        const json_t *x = json_array_get(j, i);

        if (!json_is_integer(x) || json_integer_value(x) < 0)
            return bad(r, key, "whole numbers of 0 or more");
        out[i] = json_integer_value(x);
    }
    *rank = (uint32_t)n;
    return 0;
}

static int feature(struct reader *r, const json_t *o, const char *model,
                   const char *march, bool is_input)
{
    struct assay_vendor *v = r->v;
    struct assay_vendor_feature f = {0}, *slot;
    uint32_t rank = 0;
    int rc;

    r->where = is_input ? "input features" : "output features";
    if (!json_is_object(o))
        return bad(r, "feature name", "an object");
    rc = text(r, o, "feature name", &f.name);
    if (rc < 0)
        return rc;
    r->where = f.name;
    f.model = model;
    f.file = r->file;
    f.march = march;
    f.is_input = is_input;
    rc = dims(r, o, "valid dim", true, &f.rank, f.valid);
    if (rc == 0)
        rc = dims(r, o, "aligned dim", true, &rank, f.aligned);
    if (rc == 0 && rank != f.rank)
        rc = bad(r, "aligned dim", "as many numbers as 'valid dim'");
    if (rc == 0)
        rc = dims(r, o, "real stride", false, &rank, f.stride);
    f.has_stride = rank == f.rank;
    if (rc == 0)
        rc = text(r, o, "element type name", &f.dtype);
    if (rc == 0)
        rc = text(r, o, "layout type name", &f.layout);
    if (rc == 0)
        rc = text(r, o, "input source", &f.source);
    if (rc < 0)
        return rc;
    slot = assay_vendor_grow(v, &v->features, &v->n_features, &v->cap_features,
                             sizeof(f), ASSAY_VENDOR_MAX_NODES);
    if (slot == NULL)
        return assay_vendor_too_many(r->file, "features", r->err);
    *slot = f;
    return 0;
}

/* "... --march bayes-e ...", else the code name that is known. */
static int march_of(struct reader *r, const json_t *o, const char **out)
{
    const char *options, *at;
    int rc = text(r, o, "march", out);

    if (rc == 0)
        rc = text(r, o, "compiling options", &options);
    if (rc < 0)
        return rc;
    at = strstr(options, "--march ");
    if (at != NULL) {
        at += 8;
        *out = assay_arena_str(r->v->arena, at, strcspn(at, " "));
        return *out == NULL ? no_memory(r) : 0;
    }
    if (strcmp(*out, "B25E") == 0)
        *out = "bayes-e";
    return 0;
}

static int disas_model(struct reader *r, const json_t *o)
{
    static const char *const keys[] = {"output features", "input features"};
    const char *model, *march, *version;
    int rc;

    r->where = "model";
    if (!json_is_object(o))
        return bad(r, "model name", "an object for each model");
    rc = text(r, o, "model name", &model);
    if (rc == 0)
        rc = march_of(r, o, &march);
    if (rc == 0)
        rc = text(r, o, "hbdk-cc version", &version);
    if (rc < 0)
        return rc;
    if (strncmp(version, "version: ", 9) == 0) {
        r->v->disas_version = assay_arena_str(r->v->arena, version + 9,
                                              strcspn(version + 9, ";"));
        if (r->v->disas_version == NULL)
            return no_memory(r);
    }
    for (int k = 1; k >= 0 && rc == 0; k--) {
        const json_t *list = json_object_get(o, keys[k]), *e;
        size_t i;

        if (list != NULL && !json_is_array(list))
            return bad(r, keys[k], "a list");
        json_array_foreach(list, i, e)
        {
            if (rc == 0)
                rc = feature(r, e, model, march, k == 1);
        }
    }
    return rc;
}

int assay_vendor_read_disas(struct assay_vendor *v, char *data, size_t n,
                            const char *file, struct assay_err *err)
{
    struct reader r = {v, file, "", err};
    json_t *root, *e;
    size_t i;
    int rc = assay_vendor_json(&root, data, n, file, err);

    if (rc < 0)
        return rc;
    if (json_is_object(root)) {
        rc = disas_model(&r, root);
    } else {
        json_array_foreach(root, i, e)
        {
            if (rc == 0)
                rc = disas_model(&r, e);
        }
    }
    json_decref(root);
    return rc;
}
