/* SPDX-License-Identifier: Apache-2.0 */
/*
 * badcase.txt: three tables, each behind a line of its own: the index of the
 * worst sample of each output by each metric, the value of that metric, and
 * the index over all outputs.
 */
#include <math.h>
#include <string.h>

#include "host-tools/triage/cells.h"
#include "host-tools/triage/evidence.h"

enum part { NOWHERE, INDICES, VALUES, OVERALL };

static int failed(const char *file, struct assay_err *err)
{
    return assay_fail(err, ASSAY_ERANGE,
                      "%s: too many bad cases, or no memory for them", file);
}

static struct assay_badcase *find(struct assay_triage_evidence *e,
                                  uint32_t from, const char *output,
                                  const char *metric)
{
    for (uint32_t i = from; i < e->n_badcases; i++)
        if (strcmp(e->badcases[i].output, output) == 0 &&
            strcmp(e->badcases[i].metric, metric) == 0)
            return &e->badcases[i];
    return NULL;
}

static int add(struct assay_triage_evidence *e, const char *output,
               const char *metric, double index, const char *file,
               struct assay_err *err)
{
    struct assay_badcase *b;

    if (isnan(index) || index < 0 || index > 1e9 || index != floor(index))
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: output '%.100s': index of a sample is %g, "
                          "expected a whole number",
                          file, output, index);
    b = assay_evidence_grow(e, &e->badcases, &e->n_badcases, &e->cap_badcases,
                            sizeof(*b));
    if (b == NULL)
        return failed(file, err);
    b->output = assay_evidence_text(e, output, strlen(output));
    b->metric = assay_evidence_text(e, metric, strlen(metric));
    b->sample = (int64_t)index;
    b->value = NAN;
    return b->output != NULL && b->metric != NULL ? 0 : failed(file, err);
}

struct reader {
    struct assay_triage_evidence *e;
    const char *file;
    enum part part;
    uint32_t from; /* rows of this file */
    bool head;
    struct assay_cells names, row;
    struct assay_err *err;
};

/* Nothing but what rules are drawn with. */
static bool is_rule(const struct assay_lines *l)
{
    for (size_t i = 0; i < l->len; i++)
        if (l->line[i] == '\0' || strchr("-=+| ", l->line[i]) == NULL)
            return false;
    return true;
}

static enum part part_of(const struct assay_lines *l)
{
    if (assay_text_has(l->line, l->len, "index of the worst output"))
        return OVERALL;
    if (assay_text_has(l->line, l->len, "bad case input index"))
        return INDICES;
    return assay_text_has(l->line, l->len, "metric results") ? VALUES : NOWHERE;
}

static int read_row(struct reader *r)
{
    const struct assay_cells *row = &r->row;
    int rc = 0;

    if (r->part == OVERALL)
        return row->n == 2 ? add(r->e, "", row->v[0],
                                 assay_cells_number(row, 1), r->file, r->err)
                           : 0;
    for (uint32_t i = 1; rc == 0 && i < row->n && i < r->names.n; i++) {
        double v = assay_cells_number(row, (int)i);
        struct assay_badcase *b;

        if (r->part == INDICES) {
            rc = add(r->e, row->v[0], r->names.v[i], v, r->file, r->err);
            continue;
        }
        b = find(r->e, r->from, row->v[0], r->names.v[i]);
        if (b != NULL)
            b->value = v;
    }
    return rc;
}

int assay_evidence_badcases(struct assay_triage_evidence *e, const char *text,
                            size_t n, const char *file, struct assay_err *err)
{
    struct reader *r = assay_calloc(1, sizeof(*r));
    struct assay_lines l;
    int rc = 0;

    if (r == NULL)
        return failed(file, err);
    r->e = e;
    r->file = file;
    r->from = e->n_badcases;
    r->err = err;
    assay_lines_begin(&l, text, n);
    while (rc == 0 && assay_lines_next(&l)) {
        enum part part = part_of(&l);
        enum assay_cell_style style = assay_cells_style(l.line, l.len);

        if (part != NOWHERE) {
            r->part = part;
            r->head = false;
        } else if (r->part == NOWHERE || l.len == 0 || is_rule(&l)) {
            continue; /* rules and what stands between tables */
        } else if (!r->head) {
            r->head = assay_cells_split(
                &r->names, l.line, l.len,
                style == ASSAY_CELLS_CSV ? ASSAY_CELLS_BLANKS : style);
        } else if (assay_cells_split(
                       &r->row, l.line, l.len,
                       style == ASSAY_CELLS_CSV ? ASSAY_CELLS_BLANKS : style)) {
            rc = read_row(r);
        }
    }
    if (rc == 0 && e->n_badcases == r->from)
        rc = assay_fail(err, ASSAY_EFORMAT, "%s: no index of a bad case", file);
    assay_free(r);
    return rc;
}
