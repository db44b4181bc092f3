/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P_node_info.csv: the table of nodes that the log has, as CSV. Columns are
 * found by their titles, in any order; quotes as in RFC 4180.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "host-tools/vendor/parse.h"

#define MAX_CELLS 64u

enum cell {
    CELL_NODE,
    CELL_ON,
    CELL_SUBGRAPH,
    CELL_TYPE,
    CELL_COSINE,
    CELL_THRESHOLD,
    CELL_DTYPE,
    CELL_COUNT
};

/* As the vendor's tables spell them, without regard to case. */
static const struct {
    enum cell cell;
    const char *title;
} titles[] = {
    {CELL_NODE, "node"},
    {CELL_NODE, "node_name"},
    {CELL_NODE, "name"},
    {CELL_ON, "on"},
    {CELL_SUBGRAPH, "subgraph"},
    {CELL_TYPE, "type"},
    {CELL_TYPE, "op_type"},
    {CELL_COSINE, "cosine similarity"},
    {CELL_COSINE, "cosine_similarity"},
    {CELL_COSINE, "cosine"},
    {CELL_THRESHOLD, "threshold"},
    {CELL_DTYPE, "in/out datatype"},
    {CELL_DTYPE, "datatype"},
    {CELL_DTYPE, "dtype"},
};

struct csv {
    struct assay_vendor *v, rows;
    const char *file;
    size_t line;
    int column[CELL_COUNT]; /* -1: not there */
    struct assay_err *err;
};

static int bad(const struct csv *c, const char *what, const char *found)
{
    return assay_fail(c->err, ASSAY_EFORMAT,
                      "%s: line %zu: expected %s, found '%.60s'", c->file,
                      c->line, what, found);
}

/* A cell, unquoted in place; moves *at behind it. NULL: a quote that has no
 * end in this line. */
static char *next_cell(char **at)
{
    char *p = *at, *out = p, *start = p;

    if (*p != '"') {
        p += strcspn(p, ",");
        out = p;
    } else {
        for (p++; *p != '\0' && (*p != '"' || p[1] == '"'); p++) {
            p += *p == '"'; /* "" is one quote */
            *out++ = *p;
        }
        if (*p != '"')
            return NULL;
        p++;
        if (*p != '\0' && *p != ',')
            return NULL;
    }
    *at = *p == ',' ? p + 1 : NULL;
    *out = '\0';
    while (isspace((unsigned char)*start))
        start++;
    while (out > start && isspace((unsigned char)out[-1]))
        *--out = '\0';
    return start;
}

static int split(const struct csv *c, char *line, char *cells[MAX_CELLS],
                 size_t *n)
{
    char *at = line;

    *n = 0;
    while (at != NULL) {
        if (*n == MAX_CELLS)
            return bad(c, "at most 64 columns", line);
        cells[*n] = next_cell(&at);
        if (cells[*n] == NULL)
            return bad(c, "a quote's end", line);
        (*n)++;
    }
    return 0;
}

static int header(struct csv *c, char *cells[MAX_CELLS], size_t n)
{
    for (size_t k = 0; k < CELL_COUNT; k++)
        c->column[k] = -1;
    for (size_t t = 0; t < sizeof(titles) / sizeof(titles[0]); t++) {
        for (size_t i = 0; i < n; i++) {
            if (c->column[titles[t].cell] < 0 &&
                strcasecmp(cells[i], titles[t].title) == 0)
                c->column[titles[t].cell] = (int)i;
        }
    }
    if (c->column[CELL_NODE] < 0 || c->column[CELL_ON] < 0 ||
        c->column[CELL_TYPE] < 0)
        return bad(c, "the header 'Node,ON,Subgraph,Type,...'",
                   n > 0 ? cells[0] : "");
    return 0;
}

/* "" where the column is not there, or says nothing. */
static int text(struct csv *c, char *const *cells, enum cell which,
                const char **out)
{
    const char *s = c->column[which] >= 0 ? cells[c->column[which]] : "";

    *out = assay_vendor_str(c->v, strcmp(s, "--") == 0 ? "" : s);
    return *out != NULL ? 0
                        : assay_fail(c->err, ASSAY_EMEMORY, "%s",
                                     assay_status_sentence(ASSAY_EMEMORY));
}

static int number(struct csv *c, char *const *cells, enum cell which, bool *has,
                  double *out)
{
    const char *s;
    char *end;
    int rc = text(c, cells, which, &s);

    *has = false;
    if (rc < 0 || s[0] == '\0' || strcasecmp(s, "nan") == 0)
        return rc;
    *out = strtod(s, &end);
    if (*end != '\0')
        return bad(c, "a number", s);
    *has = isfinite(*out);
    return 0;
}

int assay_vendor_first_dtype(struct assay_vendor *v, const char **dtype,
                             struct assay_err *err)
{
    size_t n = strcspn(*dtype, "/");

    if ((*dtype)[n] == '\0')
        return 0;
    *dtype = assay_arena_str(v->arena, *dtype, n);
    return *dtype != NULL ? 0
                          : assay_fail(err, ASSAY_EMEMORY, "%s",
                                       assay_status_sentence(ASSAY_EMEMORY));
}

static int row(struct csv *c, char *const *cells)
{
    struct assay_vendor_node n = {0}, *slot;
    const char *on;
    int rc = text(c, cells, CELL_NODE, &n.name);

    if (rc == 0)
        rc = text(c, cells, CELL_ON, &on);
    if (rc == 0)
        rc = text(c, cells, CELL_SUBGRAPH, &n.subgraph);
    if (rc == 0)
        rc = text(c, cells, CELL_TYPE, &n.type);
    if (rc == 0)
        rc = number(c, cells, CELL_COSINE, &n.has_cosine, &n.cosine);
    if (rc == 0)
        rc = number(c, cells, CELL_THRESHOLD, &n.has_threshold, &n.threshold);
    if (rc == 0)
        rc = text(c, cells, CELL_DTYPE, &n.dtype);
    if (rc == 0)
        rc = assay_vendor_first_dtype(c->v, &n.dtype, c->err);
    if (rc < 0)
        return rc;
    n.on = assay_vendor_on_of(on);
    if (n.name[0] == '\0' || n.type[0] == '\0')
        return bad(c, "a node and its type", n.name);
    if (n.on == ASSAY_ON_UNKNOWN && on[0] != '\0')
        return bad(c, "BPU or CPU", on);
    slot = assay_vendor_grow(c->v, &c->rows.nodes, &c->rows.n_nodes,
                             &c->rows.cap_nodes, sizeof(n),
                             ASSAY_VENDOR_MAX_NODES);
    if (slot == NULL)
        return assay_vendor_too_many(c->file, "nodes", c->err);
    *slot = n;
    return 0;
}

/* Types of a table of the quantized model all have names like this. */
static bool all_float_types(const struct assay_vendor *rows)
{
    for (uint32_t i = 0; i < rows->n_nodes; i++) {
        if (strncmp(rows->nodes[i].type, "HzS", 3) == 0)
            return false;
    }
    return true;
}

int assay_vendor_read_node_info(struct assay_vendor *v, char *data, size_t n,
                                const char *file, struct assay_err *err)
{
    struct csv c = {.v = v, .file = file, .err = err};
    char *line = data, *end = data + n, *cells[MAX_CELLS];
    size_t columns = 0, have;
    int rc = 0;

    if (n >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0)
        line += 3;
    while (line < end && rc == 0) {
        char *stop = memchr(line, '\n', (size_t)(end - line));

        if (stop == NULL)
            stop = end; /* data[n] is there */
        c.line++;
        if (stop > line && stop[-1] == '\r')
            stop[-1] = '\0';
        *stop = '\0';
        if (line[strspn(line, " \t")] != '\0') {
            rc = split(&c, line, cells, &have);
            if (rc == 0 && columns == 0)
                rc = header(&c, cells, columns = have);
            else if (rc == 0 && have != columns)
                rc = bad(&c, "as many cells as the header has", cells[0]);
            else if (rc == 0)
                rc = row(&c, cells);
        }
        line = stop + 1;
    }
    if (rc < 0)
        return rc;
    c.rows.nodes_converted = all_float_types(&c.rows);
    assay_vendor_merge(v, &c.rows, file);
    return 0;
}
