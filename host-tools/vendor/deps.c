/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "model_deps_info: {...}": the resolved configuration of a build, a Python
 * dict on one line of the log.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/vendor/parse.h"

#define MAX_DEPTH 16

struct literal {
    const char *p, *end, *file;
    struct assay_err *err;
    unsigned depth;
};

static int bad(struct literal *l, const char *expected)
{
    size_t rest = (size_t)(l->end - l->p);

    return assay_fail(l->err, ASSAY_EFORMAT,
                      "%s: 'model_deps_info': expected %s, found '%.*s'",
                      l->file, expected, (int)(rest < 20 ? rest : 20), l->p);
}

static void skip(struct literal *l)
{
    while (l->p < l->end && isspace((unsigned char)*l->p))
        l->p++;
}

static bool take(struct literal *l, char c)
{
    skip(l);
    if (l->p < l->end && *l->p == c) {
        l->p++;
        return true;
    }
    return false;
}

/* 'text' or "text"; of escapes only the quotes and \\ mean another byte. */
static int text(struct literal *l, char **out)
{
    char quote, *s;
    size_t n = 0, len = 0;

    skip(l);
    if (l->p >= l->end || (*l->p != '\'' && *l->p != '"'))
        return bad(l, "a text");
    quote = *l->p++;
    while (l->p + len < l->end && l->p[len] != quote)
        len += 1 + (l->p[len] == '\\');
    if (len > (size_t)(l->end - l->p))
        len = (size_t)(l->end - l->p);
    s = assay_alloc(len + 1);
    if (s == NULL)
        return assay_fail(l->err, ASSAY_EMEMORY, "%s",
                          assay_status_sentence(ASSAY_EMEMORY));
    while (l->p < l->end && *l->p != quote) {
        if (*l->p == '\\' && l->p + 1 < l->end)
            l->p++;
        s[n++] = *l->p++;
    }
    s[n] = '\0';
    if (l->p >= l->end) {
        assay_free(s);
        return bad(l, "the end of a text");
    }
    l->p++;
    *out = s;
    return 0;
}

static int value(struct literal *l, json_t **out);

static int list(struct literal *l, char close, json_t **out)
{
    json_t *a = json_array(), *v;
    int rc = 0;

    l->p++;
    while (rc == 0 && !take(l, close)) {
        if (json_array_size(a) > 0 && !take(l, ','))
            rc = bad(l, "',' or the end of a list");
        else if (take(l, close))
            break;
        else
            rc = value(l, &v);
        if (rc == 0 && json_array_append_new(a, v) != 0)
            rc = bad(l, "less, for memory,");
    }
    if (rc < 0) {
        json_decref(a);
        return rc;
    }
    *out = a;
    return 0;
}

static int dict(struct literal *l, json_t **out)
{
    json_t *o = json_object(), *v;
    int rc = 0;

    l->p++;
    while (rc == 0 && !take(l, '}')) {
        char *key = NULL;

        if (json_object_size(o) > 0 && !take(l, ','))
            rc = bad(l, "',' or the end of a dict");
        else if (take(l, '}'))
            break;
        else
            rc = text(l, &key);
        if (rc == 0 && !take(l, ':'))
            rc = bad(l, "':'");
        if (rc == 0)
            rc = value(l, &v);
        if (rc == 0 && json_object_set_new(o, key, v) != 0)
            rc = bad(l, "valid UTF-8");
        assay_free(key);
    }
    if (rc < 0) {
        json_decref(o);
        return rc;
    }
    *out = o;
    return 0;
}

static bool word(struct literal *l, const char *w)
{
    size_t n = strlen(w);

    if ((size_t)(l->end - l->p) < n || memcmp(l->p, w, n) != 0)
        return false;
    l->p += n;
    return true;
}

static int number(struct literal *l, json_t **out)
{
    char copy[64], *stop;
    size_t n = 0;

    while (l->p + n < l->end && n + 1 < sizeof(copy) &&
           strchr("+-.0123456789eE", l->p[n]) != NULL && l->p[n] != '\0') {
        copy[n] = l->p[n];
        n++;
    }
    copy[n] = '\0';
    if (n == 0)
        return bad(l, "a value");
    *out = json_real(strtod(copy, &stop));
    if (*stop != '\0' || *out == NULL) {
        json_decref(*out);
        return bad(l, "a number");
    }
    l->p += n;
    return 0;
}

static int value(struct literal *l, json_t **out)
{
    char *s;
    int rc = 0;

    skip(l);
    if (l->p >= l->end)
        return bad(l, "a value");
    if (++l->depth > MAX_DEPTH)
        return bad(l, "fewer levels");
    if (*l->p == '{') {
        rc = dict(l, out);
    } else if (*l->p == '[' || *l->p == '(') {
        rc = list(l, *l->p == '[' ? ']' : ')', out);
    } else if (*l->p == '\'' || *l->p == '"') {
        rc = text(l, &s);
        if (rc == 0) {
            *out = json_string(s);
            assay_free(s);
            if (*out == NULL)
                rc = bad(l, "valid UTF-8");
        }
    } else if (word(l, "True")) {
        *out = json_true();
    } else if (word(l, "False")) {
        *out = json_false();
    } else if (word(l, "None")) {
        *out = json_null();
    } else {
        rc = number(l, out);
    }
    l->depth--;
    return rc;
}

int assay_vendor_python(json_t **out, const char *data, size_t n,
                        const char **end, const char *file,
                        struct assay_err *err)
{
    struct literal l = {data, data + n, file, err, 0};
    int rc = value(&l, out);

    if (rc == 0)
        *end = l.p;
    return rc;
}

/* A text, or a list of texts joined by ';' as in the YAML. */
static char *joined(struct assay_vendor *v, const json_t *j)
{
    struct assay_buf b;
    char *s = NULL;
    size_t i;
    json_t *e;

    if (json_is_string(j))
        return assay_vendor_str(v, json_string_value(j));
    if (json_is_true(j) || json_is_false(j))
        return assay_vendor_str(v, json_is_true(j) ? "True" : "False");
    if (!json_is_array(j))
        return assay_vendor_str(v, "");
    assay_buf_init(&b);
    json_array_foreach(j, i, e)
    {
        const char *t = json_string_value(e);

        if ((i > 0 && assay_buf_append(&b, ";", 1) < 0) ||
            (t != NULL && assay_buf_append(&b, t, strlen(t)) < 0))
            goto out;
    }
    s = assay_arena_str(v->arena, b.data != NULL ? (char *)b.data : "", b.len);
out:
    assay_buf_close(&b);
    return s;
}

static int node_info(struct assay_vendor *v, const char *file, json_t *j,
                     struct assay_err *err)
{
    const char *node, *key;
    json_t *settings, *e;
    int rc = 0;

    json_object_foreach(j, node, settings)
    {
        json_object_foreach(settings, key, e)
        {
            char *name = assay_vendor_str(v, node), *s = joined(v, e);

            if (name == NULL || s == NULL)
                return assay_fail(err, ASSAY_EMEMORY, "%s",
                                  assay_status_sentence(ASSAY_EMEMORY));
            if (s[0] != '\0')
                rc = assay_vendor_override(v, file, name, key, s, err);
            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

int assay_vendor_read_deps(struct assay_vendor *v, const char *data, size_t n,
                           const char *file, struct assay_err *err)
{
    struct assay_vendor_config c;
    const char *end, *key;
    json_t *j, *e;
    int rc = assay_vendor_python(&j, data, n, &end, file, err);

    if (rc < 0)
        return rc;
    assay_vendor_config_init(&c, file);
    json_object_foreach(j, key, e)
    {
        char *s = joined(v, e);

        if (s == NULL)
            rc = assay_fail(err, ASSAY_EMEMORY, "%s",
                            assay_status_sentence(ASSAY_EMEMORY));
        else if (strcmp(key, "node_info") == 0 && json_is_object(e))
            rc = node_info(v, file, e, err);
        else if (strcmp(key, "hbdk_version") == 0)
            v->hbdk_version = s;
        else if (strcmp(key, "horizon_nn_version") == 0)
            v->horizon_nn_version = s;
        else if (strcmp(key, "hb_mapper_version") == 0)
            v->hb_mapper_version = s;
        else if (strcmp(key, "hbdk_runtime_version") == 0)
            rc = assay_vendor_claim(
                v,
                &(struct assay_claim){.about = ASSAY_ABOUT_HBRT,
                                      .by = ASSAY_BY_BUILD,
                                      .file = file,
                                      .model = ""},
                s, strlen(s), err);
        else
            rc = assay_vendor_setting(v, &c, key, s, err);
        if (rc < 0)
            break;
    }
    json_decref(j);
    if (rc == 0)
        v->deps = c;
    return rc;
}
