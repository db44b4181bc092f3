/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dtypes of modules: what model_check_result.txt says that they got, what
 * qconfig_dtypes.pt.py configures (a Python dict, read by its quotes, colons
 * and brackets), and how qconfig_changelogs.txt says that it came about.
 */
#include <ctype.h>
#include <string.h>

#include "host-tools/triage/cells.h"
#include "host-tools/triage/evidence.h"

static int failed(const char *file, struct assay_err *err)
{
    return assay_fail(err, ASSAY_ERANGE,
                      "%s: too many modules, or no memory for them", file);
}

static int add_row(struct assay_triage_evidence *e,
                   struct assay_dtype_row **rows, uint32_t *n, uint32_t *cap,
                   const char *module, size_t len, const char *dtype,
                   const char *file, struct assay_err *err)
{
    struct assay_dtype_row *r =
        assay_evidence_grow(e, rows, n, cap, sizeof(*r));

    if (r == NULL)
        return failed(file, err);
    r->module = assay_evidence_text(e, module, len);
    r->dtype = dtype;
    return r->module != NULL ? 0 : failed(file, err);
}

/* ---- model_check_result.txt --------------------------------------------- */

int assay_evidence_check(struct assay_triage_evidence *e, const char *text,
                         size_t n, const char *file, struct assay_err *err)
{
    struct assay_cells *row = assay_alloc(sizeof(*row));
    struct assay_lines l;
    uint32_t before = e->n_got;
    int name = -1, dtype = -1, rc = row != NULL ? 0 : failed(file, err);

    assay_lines_begin(&l, text, n);
    while (rc == 0 && assay_lines_next(&l)) {
        const char *word, *cell;

        if (!assay_cells_split(row, l.line, l.len, ASSAY_CELLS_PIPE))
            continue;
        if (assay_cells_column(row, "module name") >= 0 ||
            assay_cells_column(row, "module type") >= 0) {
            name = assay_cells_column(row, "module name");
            dtype = assay_cells_column(row, "out dtype");
            continue;
        }
        if (name < 0 || dtype < 0)
            continue;
        cell = assay_cells_text(row, dtype);
        word = assay_dtype_word(cell, strlen(cell));
        cell = assay_cells_text(row, name);
        if (word != NULL && cell[0] != '\0')
            rc = add_row(e, &e->got, &e->n_got, &e->cap_got, cell, strlen(cell),
                         word, file, err);
    }
    assay_free(row);
    if (rc == 0 && e->n_got == before)
        rc = assay_fail(err, ASSAY_EFORMAT,
                        "%s: no module with an out dtype that is known", file);
    return rc;
}

/* ---- qconfig_dtypes.pt.py ----------------------------------------------- */

#define MAX_NEST 32

struct key {
    const char *text;
    size_t len;
};

struct python {
    struct assay_triage_evidence *e;
    const char *file;
    struct assay_err *err;
    int depth;                 /* of brackets */
    struct key keys[MAX_NEST]; /* the last key at each depth */
    struct key done;           /* the module that has its dtype */
};

static bool is(const struct key *k, const char *word)
{
    return k->len == strlen(word) && memcmp(k->text, word, k->len) == 0;
}

/* Words of a module's own dict. */
static bool is_part(const struct key *k)
{
    return is(k, "input") || is(k, "output") || is(k, "weight") ||
           is(k, "bias") || is(k, "activation") || is(k, "dtype");
}

/* A dtype that belongs to the keys around it: outputs count. */
static int take_dtype(struct python *p, const char *dtype)
{
    const struct key *module = NULL, *part = NULL;

    for (int d = p->depth; d >= 0 && module == NULL; d--) {
        const struct key *k = &p->keys[d < MAX_NEST ? d : MAX_NEST - 1];

        if (k->len == 0)
            continue;
        if (is_part(k) || is(k, "0"))
            part = part == NULL ? k : part;
        else
            module = k;
    }
    if (module == NULL || module->text == p->done.text ||
        (part != NULL && !is(part, "output") && !is(part, "activation") &&
         !is(part, "dtype")))
        return 0;
    p->done = *module; /* the first of a list */
    return add_row(p->e, &p->e->config, &p->e->n_config, &p->e->cap_config,
                   module->text, module->len, dtype, p->file, p->err);
}

/* A quoted text from at; its end, or the text's. */
static const char *quoted(const char *at, const char *end, struct key *k)
{
    char quote = *at++;

    k->text = at;
    while (at < end && *at != quote && *at != '\n')
        at += *at == '\\' && at + 1 < end ? 2 : 1;
    k->len = (size_t)((at < end ? at : end) - k->text);
    return at < end ? at + 1 : end;
}

static int take_text(struct python *p, const char *at, const char *end,
                     const struct key *k)
{
    const char *word;

    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    if (at < end && *at == ':' && p->depth > 0) {
        p->keys[p->depth < MAX_NEST ? p->depth : MAX_NEST - 1] = *k;
        return 0;
    }
    word = assay_dtype_word(k->text, k->len);
    return word != NULL ? take_dtype(p, word) : 0;
}

static bool starts_word(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

/* One token; *at is put behind it. */
static int token(struct python *p, const char **at, const char *end)
{
    const char *s = *at, *word;
    struct key k;
    int rc = 0;

    if (*s == '"' || *s == '\'') {
        *at = quoted(s, end, &k);
        return take_text(p, *at, end, &k);
    }
    if (starts_word(*s)) {
        while (s < end &&
               (isalnum((unsigned char)*s) || *s == '_' || *s == '.'))
            s++;
        word = assay_dtype_word(*at, (size_t)(s - *at));
        rc = word != NULL ? take_dtype(p, word) : 0;
        *at = s;
        return rc;
    }
    if (*s == '#') {
        while (s < end && *s != '\n')
            s++;
        *at = s;
        return 0;
    }
    if (*s == '{' || *s == '[' || *s == '(') {
        p->depth++;
        if (p->depth < MAX_NEST)
            p->keys[p->depth].len = 0;
    } else if ((*s == '}' || *s == ']' || *s == ')') && p->depth > 0) {
        p->depth--;
    }
    *at = s + 1;
    return 0;
}

int assay_evidence_config(struct assay_triage_evidence *e, const char *text,
                          size_t n, const char *file, struct assay_err *err)
{
    struct python p = {.e = e, .file = file, .err = err};
    const char *at = text, *end = text + n;
    uint32_t before = e->n_config;
    int rc = 0;

    while (rc == 0 && at < end)
        rc = token(&p, &at, end);
    if (rc == 0 && p.depth != 0)
        rc = assay_fail(err, ASSAY_EFORMAT,
                        "%s: %d brackets are not closed: the file is cut", file,
                        p.depth);
    if (rc == 0 && e->n_config == before)
        rc = assay_fail(err, ASSAY_EFORMAT,
                        "%s: no module with a dtype that is known", file);
    return rc;
}

/* ---- qconfig_changelogs.txt ---------------------------------------------- */

/* The word that ends in "Template", or NULL. */
static const char *template_of(struct assay_triage_evidence *e,
                               const char *line, size_t n)
{
    const char *hit = memmem(line, n, "Template", 8), *from = hit;

    if (hit == NULL)
        return NULL;
    while (from > line && (isalnum((unsigned char)from[-1]) || from[-1] == '_'))
        from--;
    return assay_evidence_text(e, from, (size_t)(hit + 8 - from));
}

static bool module_char(char c)
{
    return isalnum((unsigned char)c) ||
           (c != '\0' && strchr("._-/[]", c) != NULL);
}

/* The module of a line: in quotes, or its first word; empty: none. */
static struct key module_of(const char *line, size_t n)
{
    struct key k = {line, 0};
    const char *quote = NULL, *end = line + n;

    for (const char *c = line; c < end && quote == NULL; c++)
        if (*c == '\'' || *c == '"' || *c == '`')
            quote = c;
    if (quote != NULL) {
        const char *close =
            memchr(quote + 1, *quote, (size_t)(end - quote - 1));

        if (close != NULL)
            return (struct key){quote + 1, (size_t)(close - quote - 1)};
    }
    while (k.text < end &&
           (isspace((unsigned char)*k.text) || strchr("-*|>", *k.text) != NULL))
        k.text++;
    while (k.text + k.len < end && module_char(k.text[k.len]))
        k.len++;
    return k;
}

/* The first and the last dtype that a text names. */
static const char *dtypes_of(const char *text, size_t n, const char **last)
{
    const char *first = NULL;
    size_t i = 0;

    *last = NULL;
    while (i < n) {
        size_t k = i;
        const char *word;

        while (k < n && isalnum((unsigned char)text[k]))
            k++;
        word = k > i ? assay_dtype_word(text + i, k - i) : NULL;
        if (word != NULL) {
            first = first == NULL ? word : first;
            *last = word;
        }
        i = k > i ? k : i + 1;
    }
    return first;
}

static bool says_fallback(const char *line, size_t n)
{
    static const char *const words[] = {"fallback", "fall back", "fell back",
                                        "not support", "unsupported"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (assay_text_has(line, n, words[i]))
            return true;
    return false;
}

static bool says_missed(const char *line, size_t n)
{
    static const char *const words[] = {"not found", "no module", "not match",
                                        "unmatched", "not hit",   "no match"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (assay_text_has(line, n, words[i]))
            return true;
    return false;
}

static int change(struct assay_triage_evidence *e, const struct assay_lines *l,
                  const char *by, const char *file, struct assay_err *err)
{
    struct key module = module_of(l->line, l->len);
    const char *last, *first;
    bool missed = says_missed(l->line, l->len);
    struct assay_dtype_change *c;
    const char *rest = module.text + module.len;
    size_t blanks;

    first = dtypes_of(rest, (size_t)(l->line + l->len - rest), &last);
    if (module.len == 0 || (first == NULL && !missed) ||
        memmem(module.text, module.len, "Template", 8) != NULL)
        return 0;
    c = assay_evidence_grow(e, &e->changes, &e->n_changes, &e->cap_changes,
                            sizeof(*c));
    if (c == NULL)
        return failed(file, err);
    c->module = assay_evidence_text(e, module.text, module.len);
    blanks = 0;
    while (blanks < l->len && isspace((unsigned char)l->line[blanks]))
        blanks++;
    c->text = assay_evidence_text(
        e, l->line + blanks, l->len - blanks < 300 ? l->len - blanks : 300);
    c->from = first != last && first != NULL ? first : "";
    c->to = last != NULL ? last : "";
    c->by = by;
    c->line = l->number;
    c->fallback = says_fallback(l->line, l->len);
    c->missed = missed;
    return c->module != NULL && c->text != NULL ? 0 : failed(file, err);
}

int assay_evidence_changes(struct assay_triage_evidence *e, const char *text,
                           size_t n, const char *file, struct assay_err *err)
{
    struct assay_lines l;
    const char *by = "";
    uint32_t before = e->n_changes;
    int rc = 0;

    assay_lines_begin(&l, text, n);
    while (rc == 0 && assay_lines_next(&l)) {
        const char *found = template_of(e, l.line, l.len);

        by = found != NULL ? found : by;
        rc = change(e, &l, by, file, err);
    }
    if (rc == 0 && e->n_changes == before)
        rc = assay_fail(err, ASSAY_EFORMAT,
                        "%s: no line with a module and its dtypes", file);
    return rc;
}
