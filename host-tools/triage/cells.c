/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/triage/cells.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/core/buf.h"

void assay_lines_begin(struct assay_lines *l, const char *text, size_t n)
{
    *l = (struct assay_lines){.at = text, .end = text + n};
}

bool assay_lines_next(struct assay_lines *l)
{
    const char *nl;

    if (l->at == NULL || l->at >= l->end)
        return false;
    nl = memchr(l->at, '\n', (size_t)(l->end - l->at));
    l->line = l->at;
    l->len = (size_t)((nl != NULL ? nl : l->end) - l->at);
    l->at = nl != NULL ? nl + 1 : l->end;
    l->number++;
    if (l->len > 0 && l->line[l->len - 1] == '\r')
        l->len--;
    return true;
}

struct writer {
    struct assay_cells *c;
    size_t at;
};

/* One cell, trimmed. */
static bool put(struct writer *w, const char *from, size_t n)
{
    while (n > 0 && isspace((unsigned char)from[n - 1]))
        n--;
    while (n > 0 && isspace((unsigned char)*from)) {
        from++;
        n--;
    }
    if (w->c->n == ASSAY_MAX_CELLS || w->at + n + 1 > ASSAY_CELLS_BYTES)
        return false;
    w->c->v[w->c->n++] = w->c->buf + w->at;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)from[i];

        w->c->buf[w->at++] = (char)(c < 32 || c == 127 ? '?' : c);
    }
    w->c->buf[w->at++] = '\0';
    return true;
}

static bool split_pipe(struct writer *w, const char *line, size_t len)
{
    size_t at = 0;

    while (at < len && isspace((unsigned char)line[at]))
        at++;
    if (at == len || line[at] != '|')
        return false;
    for (at++; at < len;) {
        const char *bar = memchr(line + at, '|', len - at);

        if (bar == NULL)
            break;
        if (!put(w, line + at, (size_t)(bar - line) - at))
            return false;
        at = (size_t)(bar - line) + 1;
    }
    return w->c->n > 0;
}

/* Quotes hold commas; two of them are one. */
static bool split_csv(struct writer *w, const char *line, size_t len)
{
    char *cell = assay_alloc(len + 1);
    size_t n = 0;
    bool quoted = false, good = cell != NULL;

    for (size_t i = 0; good && i <= len; i++) {
        if (i == len || (line[i] == ',' && !quoted)) {
            good = put(w, cell, n);
            n = 0;
        } else if (line[i] == '"' && quoted && i + 1 < len &&
                   line[i + 1] == '"') {
            cell[n++] = line[i++];
        } else if (line[i] == '"') {
            quoted = !quoted;
        } else {
            cell[n++] = line[i];
        }
    }
    assay_free(cell);
    return good && !quoted;
}

static bool split_blanks(struct writer *w, const char *line, size_t len)
{
    size_t from = 0, i = 0;

    while (i < len && line[i] == ' ')
        from = ++i;
    for (; i <= len; i++) {
        if (i < len &&
            !(line[i] == '\t' || (line[i] == ' ' && i + 1 < len &&
                                  (line[i + 1] == ' ' || line[i + 1] == '\t'))))
            continue;
        if (i > from && !put(w, line + from, i - from))
            return false;
        while (i < len && isspace((unsigned char)line[i]))
            i++;
        from = i;
        if (i == len)
            break;
    }
    return w->c->n > 0;
}

bool assay_cells_split(struct assay_cells *c, const char *line, size_t len,
                       enum assay_cell_style style)
{
    struct writer w = {.c = c};

    c->n = 0;
    if (len >= ASSAY_CELLS_BYTES)
        return false;
    switch (style) {
    case ASSAY_CELLS_PIPE: return split_pipe(&w, line, len);
    case ASSAY_CELLS_CSV: return split_csv(&w, line, len);
    default: return split_blanks(&w, line, len);
    }
}

enum assay_cell_style assay_cells_style(const char *line, size_t len)
{
    size_t at = 0;

    while (at < len && isspace((unsigned char)line[at]))
        at++;
    if (at < len && line[at] == '|')
        return ASSAY_CELLS_PIPE;
    return memchr(line, ',', len) != NULL ? ASSAY_CELLS_CSV
                                          : ASSAY_CELLS_BLANKS;
}

/* Does the cell hold the name's letters and digits and no others? */
static bool same_word(const char *cell, const char *name)
{
    for (;;) {
        while (*cell != '\0' && !isalnum((unsigned char)*cell))
            cell++;
        while (*name != '\0' && !isalnum((unsigned char)*name))
            name++;
        if (tolower((unsigned char)*cell) != tolower((unsigned char)*name))
            return false;
        if (*cell == '\0')
            return true;
        cell++;
        name++;
    }
}

int assay_cells_column(const struct assay_cells *head, const char *name)
{
    for (uint32_t i = 0; i < head->n; i++)
        if (same_word(head->v[i], name))
            return (int)i;
    return -1;
}

const char *assay_cells_text(const struct assay_cells *row, int column)
{
    return column >= 0 && (uint32_t)column < row->n ? row->v[column] : "";
}

double assay_cells_number(const struct assay_cells *row, int column)
{
    const char *text = assay_cells_text(row, column);
    char *end;
    double v = strtod(text, &end);

    return end != text && *end == '\0' ? v : NAN;
}

bool assay_text_has(const char *text, size_t n, const char *word)
{
    size_t len = strlen(word);

    for (size_t i = 0; len <= n && i <= n - len; i++)
        if (strncasecmp(text + i, word, len) == 0)
            return true;
    return false;
}
