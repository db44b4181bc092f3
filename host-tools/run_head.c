/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a text report: model, board, reference, columns, findings. */
#include <stdio.h>
#include <string.h>

#include "host-tools/model/record.h"
#include "host-tools/run_lines.h"

const char *assay_run_reference(const struct assay_run *r, char *out,
                                size_t cap)
{
    const struct assay_case *c = &r->p.c;

    if (r->n_golden == 0 || !c->has_goldens)
        return assay_message(out, cap, ASSAY_MSG_REF_HOST, NULL);
    if (c->record != NULL) {
        snprintf(out, cap, "%s", assay_record_text(c->record, "expected"));
        return out;
    }
    if (c->engine[0] == '\0')
        return assay_message(out, cap, ASSAY_MSG_REF_FILES, NULL);
    return assay_message(out, cap, ASSAY_MSG_HEAD_GOLDEN, "engine", c->engine,
                         "version", c->engine_version, "machine",
                         c->machine[0] != '\0' ? c->machine : "?", "opt",
                         c->opt[0] != '\0' ? c->opt : "?", NULL);
}

/* "sim sim/ (2 of 3 samples) · bpu bpu/": the columns that have files. */
static const char *column_sources(const struct assay_run *r, char *out,
                                  size_t cap)
{
    out[0] = '\0';
    for (unsigned c = 0; c < ASSAY_SIDES; c++) {
        const struct assay_case_column *k = &r->p.c.columns[c];
        const char *name = assay_column_name(assay_side_column(c));
        size_t at = strlen(out);

        if (k->from == NULL)
            continue;
        if (at > 0)
            snprintf(out + at, cap - at, " · ");
        at = strlen(out);
        assay_message(out + at, cap - at,
                      k->n_have == r->n_samples ? ASSAY_MSG_HEAD_COLUMN
                                                : ASSAY_MSG_HEAD_COLUMN_SOME,
                      "column", name, "from", k->from, "have",
                      assay_num_u(k->n_have).text, "samples",
                      assay_num_u(r->n_samples).text, NULL);
    }
    return out;
}

/* Behind the reference where there is room, else a line of their own. */
static void source_lines(const struct assay_run *r, char *text, size_t cap,
                         struct assay_lines *l)
{
    char columns[900], line[ASSAY_LINE_TEXT];

    column_sources(r, columns, sizeof(columns));
    if (columns[0] != '\0' &&
        strlen(text) + strlen(columns) < ASSAY_LINE_ROOM) {
        snprintf(text + strlen(text), cap - strlen(text), " · %s", columns);
        columns[0] = '\0';
    }
    assay_line_add(l, "", text);
    if (columns[0] == '\0')
        return;
    assay_message(line, sizeof(line), ASSAY_MSG_HEAD_COMPILED, "columns",
                  columns, NULL);
    assay_line_add(l, "", line);
}

/* What the head of a text report shows of them; show and JSON have all. */
#define MAX_FINDINGS 12u

/* Contradictions always; the rest is counted, and shown with -v. */
static void finding_lines(const struct assay_run *r, char *text, size_t cap,
                          struct assay_lines *l)
{
    const struct assay_findings *f = &r->p.findings;
    bool all = r->o->verbose > 0;
    uint32_t n = f->n;

    if (r->p.vendor == NULL)
        return;
    assay_message(text, cap,
                  all || f->n == f->count[ASSAY_CONTRADICTION]
                      ? ASSAY_MSG_FINDING_COUNTS
                      : ASSAY_MSG_FINDING_COUNTS_MORE,
                  "contradictions",
                  assay_num_u(f->count[ASSAY_CONTRADICTION]).text, "warnings",
                  assay_num_u(f->count[ASSAY_WARNING]).text, "hints",
                  assay_num_u(f->count[ASSAY_HINT]).text, NULL);
    assay_line_add(l, "", text);
    if (!all)
        n = f->count[ASSAY_CONTRADICTION];
    for (uint32_t i = 0; i < n && i < MAX_FINDINGS && i < f->n; i++) {
        assay_prepare_finding(&f->v[i], text, cap);
        assay_line_add(l, "", text);
    }
    if (n > MAX_FINDINGS)
        assay_line_add(l, "",
                       assay_message(text, cap, ASSAY_MSG_FINDING_MORE, "more",
                                     assay_num_u(n - MAX_FINDINGS).text, NULL));
}

void assay_run_head_lines(struct assay_run *r,
                          const struct assay_run_summary *sum,
                          struct assay_lines *l)
{
    char text[ASSAY_LINE_TEXT], ref[256], hash[2 * 4 + 1 + 4];

    assay_hex(r->s->model_sha256, 4, hash);
    strcat(hash, "…");
    assay_message(text, sizeof(text), ASSAY_MSG_HEAD_MODEL, "model",
                  r->s->model_name, "hash", hash, "board",
                  r->info.agent.board_id, "features", r->info.agent.features,
                  "kernels", r->kernels, "agent", r->info.agent.build_id, NULL);
    assay_line_add(l, "", text);
    assay_message(text, sizeof(text), ASSAY_MSG_HEAD_SAMPLES, "samples",
                  assay_num_u(r->n_samples).text, "time", r->started,
                  "numerics", r->p.numerics, "reference",
                  assay_run_reference(r, ref, sizeof(ref)), NULL);
    source_lines(r, text, sizeof(text), l);
    assay_run_numerics_lines(r, l);
    if (r->n_host > 0 && r->n_golden > 0) {
        assay_message(text, sizeof(text), ASSAY_MSG_HEAD_SOME_REFERENCE, "have",
                      assay_num_u(r->n_host).text, "samples",
                      assay_num_u(r->n_host + r->n_golden).text, NULL);
        assay_line_add(l, "", text);
    } else if (r->host_reference) {
        assay_line_add(l, "", assay_message_text(ASSAY_MSG_HEAD_NO_REFERENCE));
    }
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        const struct assay_layer *y = &r->s->layers[i];

        if (!y->arith_overridden)
            continue;
        assay_message(text, sizeof(text), ASSAY_MSG_HEAD_OVERRIDE, "layer",
                      y->name, "arith", y->arith, NULL);
        assay_line_add(l, "", text);
    }
    finding_lines(r, text, sizeof(text), l);
    if (sum->has_float)
        assay_run_tolerance_lines(r, l);
}
