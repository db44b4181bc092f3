/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/model/numerics_file.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "host-tools/model/file.h"

#define MAX_BYTES ((size_t)1 << 20)
#define MAX_NAME 40
#define MAX_TEXT 400
#define SCHEMA "assay-numerics/1"

static const enum assay_dtype dtypes[] = {
    ASSAY_S8, ASSAY_U8, ASSAY_S16, ASSAY_U16, ASSAY_S32, ASSAY_S64, ASSAY_F32,
};
#define N_DTYPES (sizeof(dtypes) / sizeof(dtypes[0]))

bool assay_numerics_is_path(const char *name)
{
    size_t n = strlen(name);

    return strchr(name, '/') || (n >= 5 && !strcmp(name + n - 5, ".json"));
}

struct reader {
    struct assay_numerics_file *f;
    const char *source;
    struct assay_err *err;
    struct assay_numerics_rule *rules; /* one for each form that has one */
    uint32_t n;
};

static int no_memory(struct reader *r)
{
    return assay_fail(r->err, ASSAY_EMEMORY, "%s: out of memory", r->source);
}

static const char *type_name(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return "a string";
    case JSON_INTEGER:
    case JSON_REAL: return "a number";
    case JSON_TRUE:
    case JSON_FALSE: return "a truth value";
    case JSON_NULL: break;
    }
    return "null";
}

/* What comes from the file is shown, cut, without steering a terminal. */
static const char *shown(const char *text, char out[64])
{
    snprintf(out, 64, "%.60s", text);
    for (char *c = out; *c; c++)
        if ((unsigned char)*c < 32 || *c == 127)
            *c = '?';
    return out;
}

/* Keys of an object are among the words, parted by blanks. */
static int check_keys(struct reader *r, const json_t *j, const char *where,
                      const char *words)
{
    const char *key;
    json_t *v;
    char text[64];

    json_object_foreach((json_t *)j, key, v)
    {
        const char *at = words;
        size_t n = strlen(key);
        bool known = false;

        while (n && (at = strstr(at, key)) && !known) {
            known = (at == words || at[-1] == ' ') &&
                    (at[n] == ' ' || at[n] == '\0');
            at += n;
        }
        if (!known)
            return assay_fail(r->err, ASSAY_EFORMAT,
                              "%s: %s: unknown key '%s', expected %s",
                              r->source, where, shown(key, text), words);
    }
    return 0;
}

/* A string member, copied; *out stays when it is missing and may be. */
static int text_of(struct reader *r, const json_t *j, const char *where,
                   const char *key, bool required, size_t most,
                   const char **out)
{
    const json_t *v = json_object_get(j, key);
    const char *s;

    if (!v && !required)
        return 0;
    if (!v)
        return assay_fail(r->err, ASSAY_EFORMAT, "%s: %s: '%s' is missing",
                          r->source, where, key);
    if (!json_is_string(v))
        return assay_fail(r->err, ASSAY_EFORMAT,
                          "%s: %s: '%s': expected a string, found %s",
                          r->source, where, key, type_name(v));
    s = json_string_value(v);
    if (json_string_length(v) > most)
        return assay_fail(r->err, ASSAY_EFORMAT,
                          "%s: %s: '%s': expected at most %zu bytes, found %zu",
                          r->source, where, key, most, json_string_length(v));
    *out = assay_arena_str(r->f->arena, s, strlen(s));
    return *out ? 0 : no_memory(r);
}

/* ---- rules -------------------------------------------------------------- */

static int dtype_bit(struct reader *r, const char *where, const char *key,
                     uint32_t *bits)
{
    char list[80] = "", text[64];

    for (size_t i = 0; i < N_DTYPES; i++) {
        if (!strcmp(key, assay_dtype_name(dtypes[i]))) {
            *bits |= 1u << dtypes[i];
            return 0;
        }
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
                 i ? ", " : "", assay_dtype_name(dtypes[i]));
    }
    return assay_fail(r->err, ASSAY_EFORMAT,
                      "%s: %s: 'proved': unknown dtype '%s', expected %s",
                      r->source, where, shown(key, text), list);
}

/* What proved a dtype; the same for several is said once. */
static int add_golden(struct reader *r, const char *where, const char *dtype,
                      const json_t *v, struct assay_numerics_rule *rule)
{
    char all[2 * MAX_TEXT + 8];
    const char *s = json_string_value(v);

    if (!s || !*s || strlen(s) > MAX_TEXT)
        return assay_fail(r->err, ASSAY_EFORMAT,
                          "%s: %s: 'proved': '%s': expected what proved it, 1 "
                          "to %d bytes, found %s",
                          r->source, where, dtype, MAX_TEXT,
                          json_is_string(v) ? *s ? "more" : "none"
                                            : type_name(v));
    if (strstr(rule->golden, s))
        return 0;
    snprintf(all, sizeof(all), "%.400s%s%s", rule->golden,
             *rule->golden ? "; " : "", s);
    rule->golden = assay_arena_str(r->f->arena, all, strlen(all));
    return rule->golden ? 0 : no_memory(r);
}

static int read_proved(struct reader *r, const json_t *j, const char *where,
                       struct assay_numerics_rule *rule)
{
    const json_t *proved = json_object_get(j, "proved");
    const char *key;
    json_t *v;

    if (!proved)
        return 0;
    if (!json_is_object(proved))
        return assay_fail(r->err, ASSAY_EFORMAT,
                          "%s: %s: 'proved': expected an object, found %s",
                          r->source, where, type_name(proved));
    json_object_foreach((json_t *)proved, key, v)
    {
        int rc = dtype_bit(r, where, key, &rule->proved);

        if (!rc)
            rc = add_golden(r, where, key, v, rule);
        if (rc)
            return rc;
    }
    return 0;
}

static struct assay_numerics_rule *slot(struct reader *r, const char *form)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (!strcmp(r->rules[i].form, form))
            return &r->rules[i];
    return &r->rules[r->n++];
}

static const char *form_name(const char *name)
{
    const char *known = NULL;

    for (unsigned i = 0; (known = assay_form_name(i)); i++)
        if (!strcmp(known, name))
            break;
    return known;
}

static int read_rule(struct reader *r, const char *key, const json_t *j)
{
    struct assay_numerics_rule rule = {.golden = "", .note = ""};
    char where[80], text[64];
    int rc;

    snprintf(where, sizeof(where), "rules: '%s'", shown(key, text));
    rule.form = form_name(key);
    if (!rule.form) /* its sentence lists the forms */
        rc = assay_rule_check(text, "", r->err);
    else if (!json_is_object(j))
        rc = assay_fail(r->err, ASSAY_EFORMAT,
                        "%s: %s: expected an object, found %s", r->source,
                        where, type_name(j));
    else
        rc = check_keys(r, j, where, "rule proved note");
    if (!rule.form)
        return assay_err_prefix(r->err, "%s: rules", r->source);
    if (!rc)
        rc = text_of(r, j, where, "rule", true, 1000, &rule.rule);
    if (!rc)
        rc = text_of(r, j, where, "note", false, MAX_TEXT, &rule.note);
    if (!rc)
        rc = read_proved(r, j, where, &rule);
    if (rc)
        return rc;
    rc = assay_rule_check(rule.form, rule.rule, r->err);
    if (rc)
        return assay_err_prefix(r->err, "%s", r->source);
    *slot(r, rule.form) = rule;
    return 0;
}

/* ---- the file ----------------------------------------------------------- */

static int check_name(struct reader *r, const char *name)
{
    char text[64];

    if (*name && strlen(name) <= MAX_NAME &&
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                     "0123456789._-") == strlen(name) &&
        !assay_numerics_is_path(name))
        return 0;
    return assay_fail(r->err, ASSAY_EFORMAT,
                      "%s: 'name' is '%s', expected 1 to %d letters, digits, "
                      "'.', '_' or '-'",
                      r->source, shown(name, text), MAX_NAME);
}

static int read_all(struct reader *r, const json_t *j);

/* Rules of a built-in one, to be replaced one by one. */
static int read_base(struct reader *r, const char *base)
{
    const char *text = assay_numerics_text(base);
    struct assay_numerics n = r->f->n;
    char shown_base[64], list[80] = "";
    json_t *j;
    int rc;

    for (unsigned i = 0; !text && assay_numerics_builtin(i); i++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
                 i ? " or " : "", assay_numerics_builtin(i));
    if (!text)
        return assay_fail(r->err, ASSAY_EFORMAT,
                          "%s: 'base' is '%s', expected %s", r->source,
                          shown(base, shown_base), list);
    j = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (!j)
        return no_memory(r);
    rc = read_all(r, j);
    json_decref(j);
    r->f->n = n;
    return rc;
}

static int read_rules(struct reader *r, const json_t *j)
{
    const json_t *rules = json_object_get(j, "rules");
    const char *key;
    json_t *v;

    if (!json_is_object(rules))
        return assay_fail(r->err, ASSAY_EFORMAT,
                          "%s: 'rules': expected an object, found %s",
                          r->source, rules ? type_name(rules) : "nothing");
    json_object_foreach((json_t *)rules, key, v)
    {
        int rc = read_rule(r, key, v);

        if (rc)
            return rc;
    }
    return 0;
}

static int read_all(struct reader *r, const json_t *j)
{
    const char *schema = "", *base = NULL, *name = "", *note = "";
    char text[64];
    int rc;

    if (!json_is_object(j))
        return assay_fail(r->err, ASSAY_EFORMAT,
                          "%s: expected an object, found %s", r->source,
                          type_name(j));
    rc = check_keys(r, j, "numerics", "schema name note base rules");
    if (!rc)
        rc = text_of(r, j, "numerics", "schema", true, MAX_TEXT, &schema);
    if (!rc && strcmp(schema, SCHEMA) != 0)
        rc = assay_fail(r->err, ASSAY_EFORMAT,
                        "%s: 'schema' is '%s', expected %s", r->source,
                        shown(schema, text), SCHEMA);
    if (!rc)
        rc = text_of(r, j, "numerics", "name", true, MAX_TEXT, &name);
    if (!rc)
        rc = check_name(r, name);
    if (!rc)
        rc = text_of(r, j, "numerics", "note", false, MAX_TEXT, &note);
    if (!rc)
        rc = text_of(r, j, "numerics", "base", false, MAX_TEXT, &base);
    if (!rc && base)
        rc = read_base(r, base);
    if (!rc)
        rc = read_rules(r, j);
    r->f->n.name = name;
    r->f->n.note = note;
    return rc;
}

static int keep_source(struct reader *r)
{
    uint32_t forms = 0;

    r->f->n.source = assay_arena_str(r->f->arena, r->source, strlen(r->source));
    while (assay_form_name(forms))
        forms++;
    r->rules = assay_arena_array(r->f->arena, forms, sizeof(*r->rules));
    return r->f->n.source && r->rules ? 0 : no_memory(r);
}

int assay_numerics_parse(struct assay_numerics_file *f, const char *text,
                         size_t size, const char *source, struct assay_err *err)
{
    struct reader r = {.f = f, .source = source, .err = err};
    json_error_t e;
    json_t *j;
    int rc;

    memset(f, 0, sizeof(*f));
    f->arena = assay_arena_new();
    if (!f->arena)
        return no_memory(&r);
    j = json_loadb(text, size, JSON_REJECT_DUPLICATES, &e);
    if (!j)
        rc = assay_fail(err, ASSAY_EFORMAT, "%s: line %d, column %d: %s",
                        source, e.line, e.column, e.text);
    else
        rc = keep_source(&r);
    if (!rc)
        rc = read_all(&r, j);
    json_decref(j);
    f->n.rules = r.rules;
    f->n.n_rules = r.n;
    if (rc)
        assay_numerics_close(f);
    return rc;
}

int assay_numerics_open(struct assay_numerics_file *f, const char *name,
                        struct assay_err *err)
{
    const char *text;
    uint8_t *data;
    size_t n;
    int rc;

    memset(f, 0, sizeof(*f));
    if (assay_numerics_is_path(name)) {
        rc = assay_file_read(&data, &n, name, MAX_BYTES, err);
        if (rc)
            return rc;
        rc = assay_numerics_parse(f, (const char *)data, n, name, err);
        assay_free(data);
        return rc;
    }
    text = assay_numerics_text(name);
    if (!text)
        return assay_fail(err, ASSAY_EUSAGE,
                          "unknown numerics '%.60s' of forms", name);
    return assay_numerics_parse(f, text, strlen(text), "built in", err);
}

void assay_numerics_close(struct assay_numerics_file *f)
{
    assay_arena_free(f->arena);
    memset(f, 0, sizeof(*f));
}
