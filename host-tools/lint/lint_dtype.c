/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dtypes that each module really got, as the vendor's check prints them: a
 * table of lines that begin with '|', whose head names a column "Module Name"
 * (mod_name) and one "out dtype" (quant_dtype). Cells hold "['qint8']",
 * "torch.float32", "qint16". Other lines, and tables without these two
 * columns, are passed over.
 */
#include "host-tools/lint/lint_private.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_CELLS 16
#define CELL 256

struct table {
    int name, dtype; /* columns; -1: not inside a table of dtypes */
    uint32_t rows, matched;
};

/* Letters and digits in lower case: "Module Name" is "modulename". */
static void squeeze(const char *from, size_t n, char *out)
{
    size_t k = 0;

    for (size_t i = 0; i < n && k + 1 < CELL; i++)
        if (isalnum((unsigned char)from[i]))
            out[k++] = (char)tolower((unsigned char)from[i]);
    out[k] = '\0';
}

static void trim(const char *from, size_t n, char *out)
{
    while (n > 0 && isspace((unsigned char)from[n - 1]))
        n--;
    while (n > 0 && isspace((unsigned char)*from)) {
        from++;
        n--;
    }
    snprintf(out, CELL, "%.*s", (int)(n < CELL - 1 ? n : CELL - 1), from);
}

static int split(const char *line, size_t n, const char *cell[MAX_CELLS],
                 size_t len[MAX_CELLS])
{
    int k = 0;
    size_t at = 1;

    while (at < n && k < MAX_CELLS) {
        const char *bar = memchr(line + at, '|', n - at);

        if (bar == NULL)
            break;
        cell[k] = line + at;
        len[k++] = (size_t)(bar - line) - at;
        at = (size_t)(bar - line) + 1;
    }
    return k;
}

static void read_head(struct table *t, const char *const *cell,
                      const size_t *len, int n)
{
    int name = -1, dtype = -1;
    char word[CELL];

    for (int i = 0; i < n; i++) {
        squeeze(cell[i], len[i], word);
        if (strcmp(word, "modulename") == 0 || strcmp(word, "modname") == 0)
            name = i;
        if (strcmp(word, "outdtype") == 0 || strcmp(word, "outputdtype") == 0 ||
            strcmp(word, "quantdtype") == 0)
            dtype = i;
    }
    if (name < 0)
        return;
    t->name = dtype < 0 ? -1 : name; /* another table begins */
    t->dtype = dtype;
}

/* Does the cell list the dtype? *known: it lists any that assay knows. */
static bool lists(const char *cell, enum assay_dtype dtype, bool *known)
{
    static const struct {
        const char *word;
        enum assay_dtype dtype;
    } words[] = {
        {"quint8", ASSAY_U8},  {"quint16", ASSAY_U16}, {"qint8", ASSAY_S8},
        {"qint16", ASSAY_S16}, {"qint32", ASSAY_S32},  {"float32", ASSAY_F32},
        {"uint8", ASSAY_U8},   {"uint16", ASSAY_U16},  {"int8", ASSAY_S8},
        {"int16", ASSAY_S16},  {"int32", ASSAY_S32},
    };
    bool is = false;

    *known = false;
    while (*cell != '\0') {
        size_t n = strspn(cell, "abcdefghijklmnopqrstuvwxyz0123456789");

        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
            if (n == strlen(words[i].word) &&
                strncmp(cell, words[i].word, n) == 0) {
                *known = true;
                is = is || words[i].dtype == dtype;
            }
        cell += n > 0 ? n : 1;
    }
    return is;
}

static bool same_char(char a, char b)
{
    return a == b || ((a == '/' || a == '.') && (b == '/' || b == '.'));
}

/* "/backbone/conv1/Conv" is "backbone.conv1", or a part of it. */
static bool is_module(const char *layer, const char *module)
{
    layer += *layer == '/';
    while (*module != '\0' && same_char(*layer, *module)) {
        layer++;
        module++;
    }
    return *module == '\0' &&
           (*layer == '\0' || *layer == '/' || *layer == '.');
}

/* The layer of that name, else the last one inside the module. */
static const struct assay_layer *layer_of(const struct assay_slice *s,
                                          const char *module)
{
    const struct assay_layer *found = NULL;

    if (module[0] == '\0')
        return NULL;
    for (uint32_t i = 0; i < s->n_layers; i++) {
        if (strcmp(s->layers[i].name, module) == 0)
            return &s->layers[i];
        if (is_module(s->layers[i].name, module))
            found = &s->layers[i];
    }
    return found;
}

static void row(struct assay_linter *c, struct table *t, const char *name,
                const char *dtype)
{
    const struct assay_layer *l = layer_of(c->s, name);
    enum assay_dtype got;
    bool known;

    t->rows++;
    if (l == NULL)
        return;
    got = c->s->tensors[l->output].dtype;
    t->matched++;
    if (lists(dtype, got, &known))
        return;
    if (!known)
        assay_lint_add(c, ASSAY_LINT_DTYPE, ASSAY_HINT, l->name, dtype,
                       assay_dtype_name(got),
                       "module '%s' is wanted in %s, a dtype that is not known "
                       "here",
                       name, dtype);
    else
        assay_lint_add(c, ASSAY_LINT_DTYPE, ASSAY_CONTRADICTION, l->name, dtype,
                       assay_dtype_name(got),
                       "layer '%s' gives %s, but module '%s' is said to give "
                       "%s",
                       l->name, assay_dtype_name(got), name, dtype);
}

static void line(struct assay_linter *c, struct table *t, const char *text,
                 size_t n, bool *head)
{
    const char *cell[MAX_CELLS];
    size_t len[MAX_CELLS];
    char name[CELL], dtype[CELL];
    int cells;

    while (n > 0 && isspace((unsigned char)*text)) {
        text++;
        n--;
    }
    if (n < 2 || text[0] != '|' || text[1] == '-' || text[1] == '=')
        return;
    cells = split(text, n, cell, len);
    if (cells > 0) {
        squeeze(cell[0], len[0], name);
        read_head(t, cell, len, cells);
        if (strcmp(name, "modulename") == 0 || strcmp(name, "modname") == 0 ||
            strcmp(name, "index") == 0) {
            *head = *head || t->name >= 0;
            return;
        }
    }
    if (t->name < 0 || cells <= t->name || cells <= t->dtype)
        return;
    trim(cell[t->name], len[t->name], name);
    trim(cell[t->dtype], len[t->dtype], dtype);
    row(c, t, name, dtype);
}

int assay_lint_dtypes(struct assay_linter *c, struct assay_err *err)
{
    struct table t = {.name = -1, .dtype = -1};
    const char *text = c->o->dtypes,
               *file = c->o->dtypes_file != NULL ? c->o->dtypes_file : "";
    bool head = false;
    char found[64];

    while (*text != '\0') {
        size_t n = strcspn(text, "\r\n");

        line(c, &t, text, n, &head);
        text += n;
        text += *text != '\0';
    }
    if (!head || t.rows == 0)
        return assay_fail(err, ASSAY_EFORMAT,
                          "'%s' is no table of dtypes: expected rows under the "
                          "columns 'Module Name' and 'out dtype'",
                          file);
    snprintf(found, sizeof(found), "%" PRIu32 " of %" PRIu32 " rows", t.matched,
             t.rows);
    if (t.matched < t.rows)
        assay_lint_add(c, ASSAY_LINT_DTYPE,
                       t.matched == 0 ? ASSAY_CONTRADICTION : ASSAY_HINT, "",
                       "a layer for each row", found,
                       "only %s name a layer of the model", found);
    return 0;
}
