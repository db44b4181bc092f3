/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hb_mapper_makertbin.log, or what the terminal showed of the same run: times,
 * colours and progress bars. A message may span lines; a table has no end
 * mark, it stops at the next time.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/vendor/parse.h"

enum column {
    COL_NODE,
    COL_ON,
    COL_SUBGRAPH,
    COL_TYPE,
    COL_COSINE,
    COL_THRESHOLD,
    COL_DTYPE,
    COL_L1,
    COL_L2,
    COL_CHEBYSHEV,
    COL_COUNT
};

enum table { TABLE_NONE, TABLE_NODES, TABLE_OUTPUTS };

static const char *const titles[COL_COUNT] = {
    "Node",      "ON",       "Subgraph",    "Type",        "Cosine Similarity",
    "Threshold", "DataType", "L1 Distance", "L2 Distance", "Chebyshev Distance",
};

struct log {
    struct assay_vendor *v, *into; /* the owner of memory; the rows */
    const char *file;
    struct assay_err *err;
    size_t line;
    enum table table;
    bool header;
    int start[COL_COUNT]; /* in characters; -1: no such column */
};

static int bad(struct log *l, const char *what, const char *found)
{
    return assay_fail(l->err, ASSAY_EFORMAT,
                      "%s: line %zu: expected %s, found '%.60s'", l->file,
                      l->line, what, found);
}

/* Bytes in front of character k. */
static size_t byte_of(const char *s, int k)
{
    size_t i = 0;

    while (s[i] != '\0' && k > 0) {
        i++;
        while (((unsigned char)s[i] & 0xC0) == 0x80)
            i++;
        k--;
    }
    return i;
}

static int read_header(struct log *l, const char *line)
{
    const char *first = l->table == TABLE_NODES ? "Node" : "Output";

    for (int c = 0; c < COL_COUNT; c++) {
        const char *title = c == COL_NODE ? first : titles[c];
        const char *at = strstr(line, title);

        while (at != NULL && at != line && at[-1] != ' ')
            at = strstr(at + 1, title); /* "Type" is in "DataType" too */
        if (at != NULL && c == COL_DTYPE && at - line >= 7 &&
            strncmp(at - 7, "In/Out ", 7) == 0)
            at -= 7;
        l->start[c] = at != NULL ? (int)(at - line) : -1;
    }
    if (l->table == TABLE_NODES &&
        (l->start[COL_ON] < 0 || l->start[COL_TYPE] < 0))
        return bad(l, "the header 'Node ON Subgraph Type ...'", line);
    if (l->start[COL_NODE] != 0)
        return bad(l, "the header of a table", line);
    l->header = true;
    return 0;
}

/* The cell of a column, trimmed; "" when it is not there or "--". */
static int cell(struct log *l, const char *line, enum column c,
                const char **out)
{
    int next = -1;
    size_t from, to;

    *out = "";
    if (l->start[c] < 0)
        return 0;
    for (int k = 0; k < COL_COUNT; k++) {
        if (l->start[k] > l->start[c] && (next < 0 || l->start[k] < next))
            next = l->start[k];
    }
    from = byte_of(line, l->start[c]);
    to = next < 0 ? strlen(line) : byte_of(line, next);
    while (from < to && isspace((unsigned char)line[from]))
        from++;
    while (to > from && isspace((unsigned char)line[to - 1]))
        to--;
    if (to == from || (to == from + 2 && memcmp(line + from, "--", 2) == 0))
        return 0;
    *out = assay_arena_str(l->v->arena, line + from, to - from);
    return *out != NULL ? 0
                        : assay_fail(l->err, ASSAY_EMEMORY, "%s",
                                     assay_status_sentence(ASSAY_EMEMORY));
}

static int number(struct log *l, const char *line, enum column c, bool *has,
                  double *out)
{
    const char *text;
    char *end;
    int rc = cell(l, line, c, &text);

    *has = false;
    if (rc < 0 || text[0] == '\0')
        return rc;
    *out = strtod(text, &end);
    if (*end != '\0')
        return bad(l, "a number", text);
    *has = isfinite(*out);
    return 0;
}

static int node_row(struct log *l, const char *line)
{
    struct assay_vendor_node n = {0}, *slot;
    const char *on;
    int rc = cell(l, line, COL_NODE, &n.name);

    if (rc == 0)
        rc = cell(l, line, COL_ON, &on);
    if (rc == 0)
        rc = cell(l, line, COL_SUBGRAPH, &n.subgraph);
    if (rc == 0)
        rc = cell(l, line, COL_TYPE, &n.type);
    if (rc == 0)
        rc = number(l, line, COL_COSINE, &n.has_cosine, &n.cosine);
    if (rc == 0)
        rc = number(l, line, COL_THRESHOLD, &n.has_threshold, &n.threshold);
    if (rc == 0)
        rc = cell(l, line, COL_DTYPE, &n.dtype);
    if (rc == 0)
        rc = assay_vendor_first_dtype(l->v, &n.dtype, l->err);
    if (rc < 0)
        return rc;
    if (n.name[0] == '\0' || n.type[0] == '\0')
        return bad(l, "a row of the node table", line);
    n.on = assay_vendor_on_of(on);
    slot = assay_vendor_grow(l->v, &l->into->nodes, &l->into->n_nodes,
                             &l->into->cap_nodes, sizeof(n),
                             ASSAY_VENDOR_MAX_NODES);
    if (slot == NULL)
        return assay_vendor_too_many(l->file, "nodes", l->err);
    *slot = n;
    return 0;
}

static int output_row(struct log *l, const char *line)
{
    struct assay_vendor_output o = {0}, *slot;
    bool has;
    int rc = cell(l, line, COL_NODE, &o.name);

    if (rc == 0)
        rc = number(l, line, COL_COSINE, &has, &o.cosine);
    if (rc == 0)
        rc = number(l, line, COL_L1, &has, &o.l1);
    if (rc == 0)
        rc = number(l, line, COL_L2, &has, &o.l2);
    if (rc == 0)
        rc = number(l, line, COL_CHEBYSHEV, &has, &o.chebyshev);
    if (rc < 0)
        return rc;
    slot = assay_vendor_grow(l->v, &l->into->outputs, &l->into->n_outputs,
                             &l->into->cap_outputs, sizeof(o),
                             ASSAY_VENDOR_MAX_NODES);
    if (slot == NULL)
        return assay_vendor_too_many(l->file, "outputs", l->err);
    *slot = o;
    return 0;
}

static int table_line(struct log *l, const char *line)
{
    size_t n = strlen(line);

    if (n == 0 || strspn(line, "=") == n || strspn(line, "-") == n)
        return 0;
    if (!l->header)
        return read_header(l, line);
    return l->table == TABLE_NODES ? node_row(l, line) : output_row(l, line);
}

/* "hbdk version 3.49.15", or with a colon: hb_compile's. */
static void version(struct assay_vendor *v, const char *message,
                    const char *name, const char **out)
{
    size_t n = strlen(name);

    if (strncmp(message, name, n) != 0)
        return;
    n += message[n] == ':';
    if (message[n] == ' ' && message[n + 1] != '\0' &&
        strchr(message + n + 1, ' ') == NULL) {
        const char *s = assay_vendor_str(v, message + n + 1);

        *out = s != NULL ? s : *out;
    }
}

/* The build's own comparison, with layer_out_dump: it ends in this message,
 * or stops the build with a line of a Python exception. */
static void consistency(struct log *l, const char *line)
{
    static const char passed[] =
        "The consistency check between the quantized model and the hybrid "
        "model is passed";
    static const char failed[] =
        "Consistency check between quantized model and hybrid model failed";

    if (strncmp(line, passed, sizeof(passed) - 1) == 0)
        l->v->consistency = 1;
    else if (strncmp(line, failed, sizeof(failed) - 1) == 0)
        l->v->consistency = -1;
}

static int message(struct log *l, const char *m)
{
    const char *deps = strstr(m, "model_deps_info: {");
    const char *fps = strstr(m, "FPS="), *latency = strstr(m, "latency = ");

    l->table = TABLE_NONE;
    if (deps != NULL && deps == m)
        return assay_vendor_read_deps(l->v, m + 17, strlen(m + 17), l->file,
                                      l->err);
    if (strncmp(m, "The main quantized node information:", 36) == 0 ||
        strncmp(m, "The converted model node information:", 37) == 0) {
        l->table = TABLE_NODES;
        l->into->n_nodes = 0;
        l->into->nodes_converted = m[4] == 'c';
    } else if (strncmp(m, "The quantized model output:", 27) == 0) {
        l->table = TABLE_OUTPUTS;
        l->into->n_outputs = 0;
    }
    l->header = false;
    version(l->v, m, "hbdk version", &l->v->hbdk_version);
    version(l->v, m, "horizon_nn version", &l->v->horizon_nn_version);
    version(l->v, m, "hmct version", &l->v->horizon_nn_version);
    version(l->v, m, "hb_mapper version", &l->v->hb_mapper_version);
    version(l->v, m, "hb_compile version", &l->v->hb_mapper_version);
    if (fps == m && latency != NULL) {
        l->v->fps = strtod(fps + 4, NULL);
        l->v->latency_us = strtod(latency + 10, NULL);
        l->v->has_speed = true;
    }
    return 0;
}

/* "2026-12-02 02:15:21,927": 23 characters; 0: no time in front. */
static size_t time_length(const char *s)
{
    static const char form[] = "dddd-dd-dd dd:dd:dd";
    size_t i;

    for (i = 0; form[i] != '\0'; i++) {
        if (form[i] == 'd' ? !isdigit((unsigned char)s[i]) : s[i] != form[i])
            return 0;
    }
    if (s[i] == ',' || s[i] == '.') {
        i++;
        while (isdigit((unsigned char)s[i]))
            i++;
    }
    return s[i] == ' ' || s[i] == '\0' ? i : 0;
}

/* Behind the time: "file: F func: F line No: N " or a level. */
static const char *skip_origin(const char *s)
{
    static const char *const levels[] = {"INFO ", "WARNING ", "ERROR ",
                                         "DEBUG ", "CRITICAL "};
    const char *at;

    s += *s == ' ';
    if (strncmp(s, "file: ", 6) == 0 &&
        (at = strstr(s, " line No: ")) != NULL) {
        at += 10;
        at += strspn(at, "0123456789");
        return at + (*at == ' ');
    }
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (strncmp(s, levels[i], strlen(levels[i])) == 0)
            return s + strlen(levels[i]);
    }
    return s;
}

void assay_vendor_clean(char *line, size_t n)
{
    size_t out = 0;

    for (size_t i = 0; i < n; i++) {
        if (line[i] == '\x1b' && i + 1 < n && line[i + 1] == '[') {
            i += 2;
            while (i < n && !isalpha((unsigned char)line[i]))
                i++;
        } else if (line[i] == '\r') {
            if (i + 1 < n)
                out = 0;
        } else if (line[i] != '\0') {
            line[out++] = line[i];
        }
    }
    line[out] = '\0';
}

static int read_lines(struct log *l, char *data, size_t n)
{
    char *line = data, *end = data + n;
    int rc = 0;

    while (line < end && rc == 0) {
        char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t t;

        if (stop == NULL)
            stop = end; /* data[n] is there */
        assay_vendor_clean(line, (size_t)(stop - line));
        l->line++;
        t = time_length(line);
        consistency(l, t > 0 ? skip_origin(line + t) : line);
        if (t > 0)
            rc = message(l, skip_origin(line + t));
        else if (l->table != TABLE_NONE)
            rc = table_line(l, line);
        line = stop + 1;
    }
    return rc;
}

/* Two logs are the file and the terminal of one run; when they say other
 * things of a node, that is told. */
void assay_vendor_merge(struct assay_vendor *v, const struct assay_vendor *more,
                        const char *file)
{
    /* An advice speaks of some nodes only: any table is better. */
    if (v->n_nodes == 0 ||
        (v->advice_file != NULL && v->nodes_file == v->advice_file &&
         more->n_nodes > 0)) {
        if (more->n_nodes > 0) {
            v->nodes_file = file;
            v->nodes_converted = more->nodes_converted;
        }
        v->nodes = more->nodes;
        v->n_nodes = more->n_nodes;
        v->cap_nodes = more->cap_nodes;
    } else if (more->n_nodes > 0) {
        for (uint32_t i = 0; i < more->n_nodes; i++) {
            const struct assay_vendor_node *a = &more->nodes[i];
            const struct assay_vendor_node *b =
                i < v->n_nodes ? &v->nodes[i] : NULL;

            if (b != NULL && strcmp(a->name, b->name) == 0 && a->on == b->on &&
                strcmp(a->dtype, b->dtype) == 0 &&
                a->threshold == b->threshold && a->cosine == b->cosine)
                continue;
            v->differing_log = file;
            v->differing_node = a->name;
            break;
        }
    }
    if (v->n_outputs == 0) {
        v->outputs = more->outputs;
        v->n_outputs = more->n_outputs;
        v->cap_outputs = more->cap_outputs;
    }
}

int assay_vendor_read_log(struct assay_vendor *v, char *data, size_t n,
                          const char *file, struct assay_err *err)
{
    struct assay_vendor rows = {0};
    struct log l = {.v = v, .into = &rows, .file = file, .err = err};
    int rc = read_lines(&l, data, n);

    if (rc < 0)
        return rc;
    assay_vendor_merge(v, &rows, file);
    if (v->log_file == NULL || (rows.n_nodes > 0 && v->nodes == rows.nodes))
        v->log_file = file;
    return 0;
}
