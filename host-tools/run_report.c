/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host-tools/report/report.h"
#include "host-tools/run_bad.h"
#include "host-tools/run_capture.h"
#include "host-tools/run_chain.h"
#include "host-tools/run_failing.h"
#include "host-tools/run_input.h"
#include "host-tools/run_picture.h"
#include "host-tools/run_pattern.h"
#include "host-tools/run_preflight.h"
#include "host-tools/run_probe.h"
#include "host-tools/run_repeat.h"
#include "host-tools/run_resume.h"
#include "kernels/cpu.h"

struct output {
    struct assay_report_head head;
    struct assay_report_foot foot;
    struct assay_report_culprit *culprits;
    struct assay_lines head_lines, tail_lines;
    const char *not_examined[ASSAY_COL_COUNT];
    const char *artifacts[2]; /* reports */
    char banner[1100], above[1024];
    char sentence[1024], next[640], reference[256],
        hash[2 * ASSAY_SHA256_LEN + 1];
    char json_path[4096];
};

#define MAX_THROUGH 64

/* Names of the layers that a row's columns were judged through. */
struct through {
    const char *names[ASSAY_SIDES][MAX_THROUGH];
};

static void fill_side(const struct assay_run *r, uint32_t i, unsigned side,
                      struct assay_row_column *out, struct through *t)
{
    const struct assay_run_cell *c = &r->layers[i].side[side];
    uint32_t layers[MAX_THROUGH], n;

    out->status = c->judgement.status;
    out->reason = c->judgement.reason;
    out->culprit = c->judgement.culprit;
    out->verdict = c->verdict;
    out->isolated = c->isolated;
    if (c->isolated.count == 0)
        return;
    n = assay_run_through(r, i, assay_side_column(side), layers, MAX_THROUGH);
    out->n_through = n < MAX_THROUGH ? n : MAX_THROUGH;
    out->through = t->names[side];
    for (size_t j = 0; j < out->n_through; j++)
        t->names[side][j] = r->s->layers[layers[j]].name;
}

static void fill_inputs(const struct assay_run *r, const struct assay_layer *l,
                        struct assay_row *row)
{
    const char **v = assay_arena_array(r->arena, l->n_inputs + 1u, sizeof(*v));

    for (uint32_t i = 0; v != NULL && i < l->n_inputs; i++)
        if (r->s->tensors[l->inputs[i]].role != ASSAY_ROLE_CONSTANT)
            v[row->n_inputs++] = r->s->tensors[l->inputs[i]].name;
    row->inputs = v;
}

static void fill_row(const struct assay_run *r, uint32_t i,
                     struct assay_row *row, struct through *through)
{
    const struct assay_run_layer *k = &r->layers[i];
    const struct assay_layer *l = &r->s->layers[i];
    struct assay_judgement worst = assay_run_row(r, i);

    memset(row, 0, sizeof(*row));
    row->index = i;
    row->name = l->name;
    row->op = l->source_op;
    row->arith = l->arith != NULL ? l->arith : "";
    row->kernel = k->kernel;
    row->source_index = l->source_index;
    row->tensor = &r->s->tensors[l->output];
    row->status = worst.status;
    row->reason = worst.reason;
    row->detail = k->detail;
    if (l->op == ASSAY_OP_SKIPPED && l->skip_reason != NULL)
        row->detail = l->skip_reason;
    row->culprit = worst.culprit;
    row->arith_overridden = l->arith_overridden;
    row->compared = k->n_compared > 0;
    row->verdict = k->verdict;
    row->cause = assay_run_cause_id(r, i);
    assay_run_fingerprints(r, row);
    fill_inputs(r, l, row);
    for (unsigned s = ASSAY_SIDES; s-- > 0 && !k->judgement.culprit;) {
        if (k->side[s].judgement.culprit)
            row->verdict = k->side[s].verdict;
    }
    row->cumulative = k->cumulative;
    row->isolated = k->isolated;
    row->time_us = k->time_us;
    assay_run_probe_row(r, i, &row->probe);
    assay_run_repeat_row(r, row);
    for (unsigned c = 0; c < ASSAY_COL_COUNT; c++) {
        const struct assay_diff *d = &k->column[c];

        row->columns[c].observed = k->column_seen[c];
        row->columns[c].diff = *d;
        if (c >= ASSAY_COL_SIM) {
            fill_side(r, i, c - ASSAY_COL_SIM, &row->columns[c], through);
        } else if (c == ASSAY_COL_CPU) {
            row->columns[c].status = k->judgement.status;
            row->columns[c].isolated = k->isolated;
        } else if (d->outside > 0) {
            row->columns[c].status = ASSAY_ROW_DIVERGED;
        } else {
            row->columns[c].status =
                d->mismatch > 0 ? ASSAY_ROW_WITHIN : ASSAY_ROW_EXACT;
        }
    }
}

static void fill_vendor(const struct assay_run *r, struct assay_row *row)
{
    struct assay_vendor_layer k;

    row->has_vendor =
        r->p.vendor != NULL && assay_vendor_layer(&k, r->p.vendor, row->name);
    if (!row->has_vendor)
        return;
    row->vendor = (struct assay_row_vendor){
        k.on == ASSAY_ON_UNKNOWN ? "" : assay_vendor_on_name(k.on),
        k.subgraph,
        k.type,
        k.dtype,
        k.has_cosine,
        k.has_threshold,
        k.cosine,
        k.threshold,
    };
}

static int fill_findings(const struct assay_run *r, struct output *out)
{
    const struct assay_findings *f = &r->p.findings;
    struct assay_report_finding *v = assay_arena_array(
        r->arena, (size_t)f->n + ASSAY_RUN_DIFFERENCES + 1, sizeof(*v));

    if (v == NULL)
        return ASSAY_EMEMORY;
    for (uint32_t i = 0; i < f->n; i++)
        v[i] = (struct assay_report_finding){
            assay_severity_name(f->v[i].severity),
            f->v[i].id,
            f->v[i].file,
            f->v[i].subject,
            f->v[i].sentence,
            f->v[i].expected,
            f->v[i].found,
        };
    out->head.findings = v;
    out->head.n_findings = f->n + assay_run_difference_findings(r, v + f->n);
    return 0;
}

/* The comparison that the table shows: that of the worst column. */
static const struct assay_diff *shown_diff(const struct assay_run_layer *k)
{
    const struct assay_diff *d =
        k->cumulative.count > 0 ? &k->cumulative : &k->isolated;
    enum assay_row_status worst = k->judgement.status;

    for (unsigned s = 0; s < ASSAY_SIDES; s++) {
        enum assay_column c = assay_side_column(s);
        enum assay_row_status status = k->side[s].judgement.status;

        if (!k->column_seen[c] || status == ASSAY_ROW_NOT_OBSERVED ||
            (status <= worst && worst != ASSAY_ROW_NOT_OBSERVED))
            continue;
        d = &k->column[c];
        worst = status;
    }
    return d;
}

/* The worst first, equal ones by index. */
static double sort_key(const struct assay_run *r, uint32_t i)
{
    const struct assay_diff *d = shown_diff(&r->layers[i]);

    if (d->count == 0)
        return INFINITY;
    switch (r->o->sort) {
    case ASSAY_SORT_MISMATCH: return -(double)d->mismatch;
    case ASSAY_SORT_MAX_LSB: return -(double)d->max_lsb;
    case ASSAY_SORT_COSINE: return isnan(d->cosine) ? 0.0 : d->cosine;
    case ASSAY_SORT_SQNR: return d->sqnr_db;
    default: return 0.0;
    }
}

struct sort_entry {
    double key;
    uint32_t index;
};

static int by_key(const void *a, const void *b)
{
    const struct sort_entry *x = a, *y = b;

    if (x->key < y->key)
        return -1;
    if (x->key > y->key)
        return 1;
    return x->index < y->index ? -1 : 1;
}

static int write_report(struct assay_run *r, const struct output *out,
                        const char *format, const char *path)
{
    const struct assay_report_writer *w = assay_report_find(format);
    struct assay_report_options o = {
        .stream = stdout,
        .path = path,
        .all = r->o->all,
        .wide = r->o->wide,
        .color = !r->o->no_color && isatty(STDOUT_FILENO) == 1,
        .max_rows = r->o->max_rows,
        .more_rows = assay_message_text(ASSAY_MSG_SUM_MORE_ROWS),
    };
    struct sort_entry *order;
    struct assay_report *report;
    struct assay_err err = {0};
    char line[640];
    int rc;

    order = assay_calloc((size_t)r->s->n_layers + 1, sizeof(*order));
    if (order == NULL)
        rc = assay_fail_message(&err, ASSAY_EMEMORY, ASSAY_MSG_MEMORY, NULL);
    else
        rc = w->open(&report, &out->head, &o, &err);
    if (rc == 0) {
        for (uint32_t i = 0; i < r->s->n_layers; i++)
            order[i] = (struct sort_entry){sort_key(r, i), i};
        qsort(order, r->s->n_layers, sizeof(*order), by_key);
        for (uint32_t i = 0; i < r->s->n_layers; i++) {
            struct assay_row row;
            struct through through;

            fill_row(r, order[i].index, &row, &through);
            fill_vendor(r, &row);
            assay_run_chain_row(r, &row);
            assay_run_capture_row(r, &row);
            if (w->row(report, &row) < 0)
                break; /* close tells it */
        }
        rc = w->close(report, &out->foot, &err);
    }
    assay_free(order);
    if (rc < 0)
        fprintf(stderr, "%s\n",
                assay_message(line, sizeof(line), ASSAY_MSG_ERROR_LINE, "text",
                              err.text, NULL));
    return rc;
}

/* Columns of the compiled model that have files; bit a column. */
static uint32_t columns_of(const struct assay_run *r)
{
    uint32_t out = 0;

    for (unsigned s = 0; s < ASSAY_SIDES; s++) {
        if (r->p.c.columns[s].from != NULL)
            out |= 1u << assay_side_column(s);
    }
    return out;
}

/* The sentence of what stands above any layer. */
static const char *above_sentence(const struct assay_run *r,
                                  const struct assay_run_summary *sum,
                                  char *out, size_t cap)
{
    return sum->above == ASSAY_VERDICT_VERSION
               ? assay_run_version_sentence(r, out, cap)
               : assay_run_stale_sentence(r, out, cap);
}

static void fill_head(struct assay_run *r, const struct assay_run_summary *sum,
                      int argc, char **argv, struct output *out)
{
    static const char *const modes[] = {"both", "cumulative", "isolated"};

    assay_hex(r->s->model_sha256, ASSAY_SHA256_LEN, out->hash);
    out->head = (struct assay_report_head){
        .tool_version = ASSAY_VERSION,
        .model = r->s->model_name,
        .model_sha256 = out->hash,
        .model_stage = "quantized",
        .board = r->info.agent.board_id,
        .soc = r->info.agent.soc,
        .features = r->info.agent.features,
        .kernels = r->info.agent.kernels,
        .agent = r->info.agent.build_id,
        .protocol = r->info.protocol,
        .reference =
            assay_run_reference(r, out->reference, sizeof(out->reference)),
        .numerics = r->p.numerics,
        .started = r->started,
        .duration_ms = r->duration_ms,
        .samples = r->n_samples,
        .cpumask = r->o->cpumask,
        .mode = modes[r->o->mode],
        .capture = assay_run_capture_name(r),
        .argv = (const char *const *)argv,
        .argc = (size_t)argc,
        .columns = columns_of(r),
        .exit_code = sum->exit_code,
        .lines = out->head_lines.v,
        .n_lines = out->head_lines.n,
        .notes = (const char *const *)r->p.told,
        .n_notes = r->p.n_told,
    };
    assay_run_repeat_report(r, &out->head);
    if (sum->above == ASSAY_VERDICT_MATCH)
        return;
    above_sentence(r, sum, out->above, sizeof(out->above));
    out->head.banner = assay_message(
        out->banner, sizeof(out->banner), ASSAY_MSG_BANNER, "verdict",
        assay_verdict_name(sum->above), "sentence", out->above, NULL);
}

/* What stands above any layer is the verdict, too. */
static void fill_above(const struct assay_run *r,
                       const struct assay_run_summary *sum, struct output *out)
{
    if (sum->above == ASSAY_VERDICT_MATCH)
        return;
    out->foot.verdict = sum->above;
    out->foot.sentence = out->above;
    out->foot.verdict_id = assay_message_name(
        sum->above == ASSAY_VERDICT_VERSION ? ASSAY_MSG_VERDICT_VERSION
                                            : assay_run_stale_message(r));
}

static void fill_foot(struct assay_run *r, const struct assay_run_summary *sum,
                      uint64_t received, struct output *out)
{
    struct assay_report_foot *f = &out->foot;
    enum assay_message_id id;

    *f = (struct assay_report_foot){
        .expected = sum->expected,
        .received = sum->received,
        .compared = sum->compared,
        .skipped = sum->skipped,
        .has_verdict = sum->has_verdict,
        .verdict = sum->verdict,
        .sentence = assay_run_sentence(r, sum, out->sentence,
                                       sizeof(out->sentence), &id),
        .culprits = out->culprits,
        .not_examined = out->not_examined,
        .error = r->error.code != 0 ? r->error.text : "",
        .next = assay_run_next(r, out->next, sizeof(out->next)),
        .partial = r->error.code != 0 || r->interrupted != 0,
        .received_bytes = received,
        .exit_code = sum->exit_code,
        .lines = out->tail_lines.v,
        .n_lines = out->tail_lines.n,
    };
    f->verdict_id = assay_message_name(id);
    fill_above(r, sum, out);
    f->n_hypotheses = assay_run_hypotheses(r, &f->hypotheses);
    for (unsigned c = 0; c < ASSAY_COL_COUNT; c++)
        f->reruns[c] = (struct assay_report_reruns){
            r->reruns[c].layers, r->reruns[c].tensors, r->reruns[c].bytes};
    if (!assay_run_pattern(r, sum, &f->pattern))
        f->pattern.modulus = 0;
    f->n_inputs = assay_run_inputs_report(r, &f->inputs);
    f->n_steps = assay_run_picture_report(r, &f->steps);
    f->n_bad = assay_run_bad_samples(r, &f->bad);
    f->n_fits = assay_run_fits(r, &f->fits);
    memcpy(f->status, sum->row_status, sizeof(f->status));
    memcpy(f->column_status[ASSAY_COL_CPU], sum->status, sizeof(sum->status));
    for (unsigned s = 0; s < ASSAY_SIDES; s++)
        memcpy(f->column_status[assay_side_column(s)], sum->side_status[s],
               sizeof(sum->side_status[s]));
    for (uint32_t i = 0; i < r->n_culprits && out->culprits != NULL; i++) {
        const struct assay_run_culprit *c = &r->culprits[i];
        char text[200];

        assay_run_cause_text(r, c->layer, c->column, text, sizeof(text));
        out->culprits[f->n_culprits] = (struct assay_report_culprit){
            .index = c->layer,
            .name = r->s->layers[c->layer].name,
            .column = c->column,
            .verdict = c->verdict,
            .hypothesis = assay_arena_str(r->arena, text, strlen(text)),
        };
        assay_run_cause_report(r, &out->culprits[f->n_culprits++]);
    }
    for (unsigned c = 0; c < ASSAY_COL_COUNT; c++) {
        if ((sum->observed & (1u << c)) == 0 && c >= ASSAY_COL_CPU &&
            c != ASSAY_COL_GOT)
            out->not_examined[f->n_not_examined++] =
                assay_column_name((enum assay_column)c);
    }
}

/* Reports, then bundles. */
static size_t list_artifacts(const struct assay_run *r, struct output *out,
                             size_t n)
{
    size_t k = 0;
    const char **v =
        assay_arena_array(r->arena, n + r->failing.n + 1, sizeof(*v));

    for (size_t i = 0; i < n && v != NULL; i++)
        v[k++] = out->artifacts[i];
    for (size_t i = 0; i < r->failing.n && v != NULL; i++)
        v[k++] = r->failing.v[i].path;
    out->foot.artifacts = v;
    return k;
}

int assay_run_report(struct assay_run *r, const struct assay_run_summary *sum,
                     int argc, char **argv)
{
    struct output *out = assay_calloc(1, sizeof(*out));
    uint64_t received = r->board != NULL && r->board->vt->received != NULL
                            ? r->board->vt->received(r->board)
                            : 0;
    int rc, code = sum->exit_code;
    size_t n = 0;

    if (out == NULL)
        return assay_exit_combine(code, ASSAY_CLASS_AGENT);
    out->culprits =
        assay_calloc((size_t)sum->n_culprits + 1, sizeof(*out->culprits));
    out->head_lines.arena = out->tail_lines.arena = r->arena;
    out->head_lines.wide = out->tail_lines.wide = r->o->wide;
    assay_run_head_lines(r, sum, &out->head_lines);
    assay_run_chain_lines(r, &out->head_lines);
    assay_run_preflight_lines(r, &out->head_lines);
    assay_run_picture_head(r, &out->head_lines);
    assay_run_difference_lines(r, &out->head_lines);
    assay_run_replay_lines(r, &out->head_lines);
    assay_run_picture_lines(r, &out->tail_lines);
    assay_run_tail_lines(r, sum, received, &out->tail_lines);
    fill_head(r, sum, argc, argv, out);
    if (assay_run_numerics_rules(r, &out->head) < 0 ||
        assay_run_chain_report(r, &out->head) < 0 ||
        assay_run_preflight_report(r, &out->head) < 0 ||
        fill_findings(r, out) < 0)
        code = assay_exit_combine(code, ASSAY_CLASS_AGENT);
    fill_foot(r, sum, received, out);
    if (r->o->output_dir != NULL) {
        mkdir(r->o->output_dir, 0777); /* a failure shows itself below */
        snprintf(out->json_path, sizeof(out->json_path), "%.4000s/report.json",
                 r->o->output_dir);
        out->artifacts[n++] = out->json_path;
    }
    if (r->o->json != NULL)
        out->artifacts[n++] = r->o->json;
    out->foot.n_artifacts = list_artifacts(r, out, n);
    rc = write_report(r, out, r->o->json_stdout ? "json" : "text", NULL);
    for (size_t i = 0; i < n; i++) {
        if (write_report(r, out, "json", out->artifacts[i]) < 0)
            rc = ASSAY_EIO;
    }
    if (rc < 0 && code < 128)
        code = assay_exit_combine(code, (int)assay_status_class(rc));
    assay_free(out->culprits);
    assay_free(out);
    return code;
}
