/* SPDX-License-Identifier: Apache-2.0 */
/* compare_per_layer_out.csv and .txt, and the lists of sensitive operators. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/triage/cells.h"
#include "host-tools/triage/evidence.h"

/* Columns of the table, in the order of the fields below. */
struct layer_columns {
    int name, base_op, analy_op, shape, dtype, qscale, cosine, l1, atol, lsb,
        base_min, analy_min, base_max, analy_max;
};

static bool read_head(struct layer_columns *c, const struct assay_cells *head)
{
    const struct {
        int *column;
        const char *name;
    } names[] = {
        {&c->name, "mod_name"},
        {&c->base_op, "base_op_type"},
        {&c->analy_op, "analy_op_type"},
        {&c->shape, "shape"},
        {&c->dtype, "quant_dtype"},
        {&c->qscale, "qscale"},
        {&c->cosine, "Cosine"},
        {&c->l1, "L1"},
        {&c->atol, "Atol"},
        {&c->lsb, "max_qscale_diff"},
        {&c->base_min, "base_model_min"},
        {&c->analy_min, "analy_model_min"},
        {&c->base_max, "base_model_max"},
        {&c->analy_max, "analy_model_max"},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        *names[i].column = assay_cells_column(head, names[i].name);
    return c->name >= 0 && (c->cosine >= 0 || c->atol >= 0);
}

static int no_rows(const char *file, const char *what, struct assay_err *err)
{
    return assay_fail(err, ASSAY_EFORMAT, "%s: no row with %s", file, what);
}

static int too_many(const char *file, struct assay_err *err)
{
    return assay_fail(err, ASSAY_ERANGE,
                      "%s: too many rows, or no memory for them", file);
}

/* "0.5", of one number; a list of scales is none. */
static double one_scale(const char *text)
{
    char *end;
    double v;

    text += strspn(text, "[( ");
    v = strtod(text, &end);
    end += strspn(end, "]) ");
    return *text != '\0' && *end == '\0' ? v : NAN;
}

/* "<class 'nn.Conv2d'>" is nn.Conv2d. */
static const char *op_text(struct assay_triage_evidence *e, const char *t)
{
    size_t n;

    if (strncmp(t, "<class '", 8) == 0)
        t += 8;
    n = strlen(t);
    if (n > 2 && strcmp(t + n - 2, "'>") == 0)
        n -= 2;
    return assay_evidence_text(e, t, n);
}

static int add_layer(struct assay_triage_evidence *e,
                     const struct assay_cells *row,
                     const struct layer_columns *c, const char *file,
                     struct assay_err *err)
{
    struct assay_layer_row *r = assay_evidence_grow(e, &e->layers, &e->n_layers,
                                                    &e->cap_layers, sizeof(*r));
    const struct {
        const char **text;
        int column;
    } texts[] = {
        {r != NULL ? &r->name : NULL, c->name},
        {r != NULL ? &r->base_op : NULL, c->base_op},
        {r != NULL ? &r->analy_op : NULL, c->analy_op},
        {r != NULL ? &r->shape : NULL, c->shape},
        {r != NULL ? &r->dtype : NULL, c->dtype},
    };

    if (r == NULL)
        return too_many(file, err);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char *t = assay_cells_text(row, texts[i].column);

        *texts[i].text = op_text(e, t);
        if (*texts[i].text == NULL)
            return too_many(file, err);
    }
    r->file = file;
    r->qscale = one_scale(assay_cells_text(row, c->qscale));
    r->cosine = assay_cells_number(row, c->cosine);
    r->l1 = assay_cells_number(row, c->l1);
    r->atol = assay_cells_number(row, c->atol);
    r->max_qscale_diff = assay_cells_number(row, c->lsb);
    r->base_min = assay_cells_number(row, c->base_min);
    r->analy_min = assay_cells_number(row, c->analy_min);
    r->base_max = assay_cells_number(row, c->base_max);
    r->analy_max = assay_cells_number(row, c->analy_max);
    return 0;
}

/* Only lines of the head's style are rows; rules are none. */
static bool is_row(struct assay_cells *row, const struct assay_lines *l,
                   enum assay_cell_style style)
{
    size_t n;

    if (!assay_cells_split(row, l->line, l->len, style))
        return false;
    n = strlen(row->v[0]);
    return n == 0 || strspn(row->v[0], "-=+:") < n;
}

int assay_evidence_layers(struct assay_triage_evidence *e, const char *text,
                          size_t n, const char *file, struct assay_err *err)
{
    struct assay_cells *row = assay_alloc(sizeof(*row));
    struct layer_columns c = {0};
    enum assay_cell_style style = ASSAY_CELLS_PIPE;
    struct assay_lines l;
    uint32_t before = e->n_layers;
    bool head = false;
    int rc = row != NULL ? 0 : too_many(file, err);

    assay_lines_begin(&l, text, n);
    while (rc == 0 && assay_lines_next(&l)) {
        if (!head) {
            style = assay_cells_style(l.line, l.len);
            head = assay_cells_split(row, l.line, l.len, style) &&
                   read_head(&c, row);
        } else if (is_row(row, &l, style) &&
                   assay_cells_text(row, c.name)[0] != '\0' &&
                   strcmp(assay_cells_text(row, c.name), "...") != 0) {
            rc = add_layer(e, row, &c, file, err);
        }
    }
    assay_free(row);
    if (rc == 0 && e->n_layers == before)
        rc = no_rows(file, "mod_name and Cosine or Atol", err);
    return rc;
}

/* The metric's column is the one that is none of the others. */
static int metric_column(const struct assay_cells *head)
{
    static const char *const others[] = {"op_name", "sensitive_type",
                                         "op_type", "quant_dtype",
                                         "flops",   "index"};

    for (uint32_t i = 0; i < head->n; i++) {
        bool other = head->v[i][0] == '\0';

        for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++)
            other = other || assay_cells_column(head, others[k]) == (int)i;
        if (!other)
            return (int)i;
    }
    return -1;
}

struct sensitive_columns {
    int name, op, dtype, metric;
    const char *metric_name;
};

static int add_sensitive(struct assay_triage_evidence *e,
                         const struct assay_cells *row,
                         const struct sensitive_columns *c, const char *file,
                         struct assay_err *err)
{
    double value = assay_cells_number(row, c->metric);
    struct assay_sensitive_op *s;
    const char *name = assay_cells_text(row, c->name),
               *op = assay_cells_text(row, c->op),
               *dtype = assay_cells_text(row, c->dtype);

    if (name[0] == '\0' || isnan(value))
        return 0;
    s = assay_evidence_grow(e, &e->sensitive, &e->n_sensitive,
                            &e->cap_sensitive, sizeof(*s));
    if (s == NULL)
        return too_many(file, err);
    s->name = assay_evidence_text(e, name, strlen(name));
    s->op = op_text(e, op);
    s->dtype = assay_evidence_text(e, dtype, strlen(dtype));
    s->metric = c->metric_name;
    s->value = value;
    return s->name != NULL && s->op != NULL && s->dtype != NULL
               ? 0
               : too_many(file, err);
}

int assay_evidence_sensitive(struct assay_triage_evidence *e, const char *text,
                             size_t n, const char *file, struct assay_err *err)
{
    struct assay_cells *row = assay_alloc(sizeof(*row));
    struct sensitive_columns c = {.name = -1};
    enum assay_cell_style style = ASSAY_CELLS_BLANKS;
    struct assay_lines l;
    uint32_t before = e->n_sensitive;
    int rc = row != NULL ? 0 : too_many(file, err);

    assay_lines_begin(&l, text, n);
    while (rc == 0 && assay_lines_next(&l)) {
        if (c.name < 0) {
            style = assay_cells_style(l.line, l.len);
            if (!assay_cells_split(row, l.line, l.len, style))
                continue;
            c.name = assay_cells_column(row, "op_name");
            c.op = assay_cells_column(row, "op_type");
            c.dtype = assay_cells_column(row, "quant_dtype");
            c.metric = metric_column(row);
            c.metric_name = assay_cells_text(row, c.metric);
            c.metric_name =
                assay_evidence_text(e, c.metric_name, strlen(c.metric_name));
        } else if (is_row(row, &l, style)) {
            rc = add_sensitive(e, row, &c, file, err);
        }
    }
    assay_free(row);
    if (rc == 0 && e->n_sensitive == before)
        rc = no_rows(file, "op_name and a number", err);
    return rc;
}

/* What is far off: many LSB, else a low cosine. */
static double badness(const struct assay_layer_row *r)
{
    double cosine = isnan(r->cosine) ? 0 : 1 - r->cosine;

    return cosine * 1000 + (isnan(r->max_qscale_diff) ? 0 : r->max_qscale_diff);
}

/* The csv and the txt of one comparison say the same. */
static bool listed(const struct assay_triage_evidence *e, const uint32_t *v,
                   uint32_t n, uint32_t i)
{
    const struct assay_layer_row *a = &e->layers[i];

    for (uint32_t k = 0; k < n; k++) {
        const struct assay_layer_row *b = &e->layers[v[k]];

        if (badness(a) == badness(b) && strcmp(a->name, b->name) == 0 &&
            a->file != b->file)
            return true;
    }
    return false;
}

uint32_t assay_evidence_worst(const struct assay_triage_evidence *e,
                              uint32_t *out, uint32_t n)
{
    uint32_t have = 0;

    for (uint32_t i = 0; i < e->n_layers; i++) {
        uint32_t at;

        if (listed(e, out, have, i))
            continue;
        at = have < n ? have++ : n;
        while (at > 0 &&
               badness(&e->layers[out[at - 1]]) < badness(&e->layers[i])) {
            if (at < n)
                out[at] = out[at - 1];
            at--;
        }
        if (at < n)
            out[at] = i;
    }
    return have;
}

const char *assay_layer_row_error(const struct assay_layer_row *r)
{
    double range = r->base_max - r->base_min,
           lost = (r->base_max - r->analy_max) - (r->base_min - r->analy_min);

    if (isnan(range) || isnan(lost) || range <= 0)
        return "";
    if (lost > 0.1 * range)
        return "clipped";
    return r->cosine < 0.99 || r->max_qscale_diff > 4 ? "rounding" : "";
}
