/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_lines.h"

#include <stdio.h>
#include <string.h>

#include "host-tools/model/record.h"
#include "host-tools/report/report.h"

#define TEXT 1024
#define LINE 116              /* bytes that surely fit into 120 columns */
#define COLUMNS ((size_t)118) /* two are for the "# " of a header */

static void add_whole(struct assay_lines *l, const char *prefix,
                      const char *text, size_t n)
{
    char line[TEXT + 64];
    const char *kept;

    if (l->n == ASSAY_MAX_LINES)
        return;
    snprintf(line, sizeof(line), "%.60s%.*s", prefix, (int)n, text);
    kept = assay_arena_str(l->arena, line, strlen(line));
    if (kept != NULL)
        l->v[l->n++] = kept;
}

/* Bytes of text up to the last space within `room` columns; 0: it fits, or
 * has no space there. */
static size_t break_at(const char *text, size_t room)
{
    size_t columns = 0, space = 0;

    for (size_t i = 0; text[i] != '\0'; i++) {
        if (text[i] == ' ')
            space = i;
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
        if (columns > room)
            return space;
    }
    return 0;
}

void assay_line_add(struct assay_lines *l, const char *prefix, const char *text)
{
    /* Under a label the text goes on behind it. */
    const char *behind =
        strlen(prefix) > 2 && prefix[0] == ' ' ? "          " : "   ";
    size_t n;

    while (!l->wide && (n = break_at(text, COLUMNS - strlen(prefix))) > 0) {
        add_whole(l, prefix, text, n);
        text += n + 1;
        prefix = behind;
    }
    add_whole(l, prefix, text, TEXT - 1);
}

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
    char columns[900], line[TEXT];

    column_sources(r, columns, sizeof(columns));
    if (columns[0] != '\0' && strlen(text) + strlen(columns) < LINE) {
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
    char text[TEXT], ref[256], hash[2 * 4 + 1 + 4];

    assay_hex(r->s->model_sha256, 4, hash);
    strcat(hash, "…");
    assay_message(text, sizeof(text), ASSAY_MSG_HEAD_MODEL, "model",
                  r->s->model_name, "hash", hash, "board", r->info.board_id,
                  "features", r->info.features, "kernels",
                  r->scalar_only ? "scalar" : r->info.kernels, "agent",
                  r->info.build_id, NULL);
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

static const char *some_samples(const struct assay_run *r, unsigned side,
                                char *out, size_t cap,
                                enum assay_message_id *id)
{
    *id = ASSAY_MSG_MISSING_SAMPLES;
    return assay_message(out, cap, *id, "column",
                         assay_column_name(assay_side_column(side)), "have",
                         assay_num_u(r->sides[side].n_samples).text, "samples",
                         assay_num_u(r->n_golden + r->n_host).text, NULL);
}

/* Why a run without a verdict has none. */
static const char *gap_sentence(const struct assay_run *r,
                                const struct assay_run_summary *sum, char *out,
                                size_t cap, enum assay_message_id *id)
{
    double percent =
        sum->expected > 0 ? 100.0 * sum->compared / sum->expected : 0.0;

    *id = ASSAY_MSG_BOARD_LOST;
    if (r->error.code != 0)
        return assay_message(out, cap, *id, "why", r->error.text, "have",
                             assay_num_u(sum->compared).text, "expected",
                             assay_num_u(sum->expected).text, NULL);
    if (r->interrupted != 0)
        return assay_message(out, cap, *id, "why",
                             assay_status_sentence(ASSAY_ECANCELLED), "have",
                             assay_num_u(sum->compared).text, "expected",
                             assay_num_u(sum->expected).text, NULL);
    *id = ASSAY_MSG_NOT_COMPARED;
    if (sum->compared == 0)
        return assay_message(out, cap, *id, NULL);
    *id = ASSAY_MSG_ONLY_ITSELF;
    if (sum->only_itself)
        return assay_message(out, cap, *id, NULL);
    *id = ASSAY_MSG_MISSING_EVIDENCE;
    for (unsigned c = 0; c < ASSAY_COL_COUNT; c++) {
        if ((sum->missing_columns & sum->observed & (1u << c)) != 0)
            return some_samples(r, c - ASSAY_COL_SIM, out, cap, id);
        if ((sum->missing_columns & (1u << c)) != 0)
            return assay_message(out, cap, *id, "column",
                                 assay_column_name((enum assay_column)c), NULL);
    }
    *id = ASSAY_MSG_LOW_COVERAGE;
    return assay_message(out, cap, *id, "have", assay_num_u(sum->compared).text,
                         "expected", assay_num_u(sum->expected).text, "percent",
                         assay_num_f(1, percent).text, "wanted",
                         assay_num_g(4, r->o->min_coverage).text, NULL);
}

/* A culprit of a column that no row of the verdict table explains. */
static enum assay_message_id column_message(const struct assay_evidence *e,
                                            enum assay_column column)
{
    if (column == ASSAY_COL_GOT)
        return ASSAY_MSG_VERDICT_COLUMN_UNKNOWN;
    if (column == ASSAY_COL_GOT)
        return ASSAY_MSG_VERDICT_GOT_UNEXPLAINED;
    if (e->cpu_ref == ASSAY_REL_DIFFERS)
        return ASSAY_MSG_VERDICT_COLUMN_AND_CPU;
    if (e->cpu_ref == ASSAY_REL_UNKNOWN)
        return ASSAY_MSG_VERDICT_COLUMN_NO_CPU;
    if (column == ASSAY_COL_BPU && e->sim_ref == ASSAY_REL_UNKNOWN)
        return ASSAY_MSG_VERDICT_NO_SIMULATOR;
    if (column == ASSAY_COL_SIM && e->bpu_ref == ASSAY_REL_EQUAL)
        return ASSAY_MSG_VERDICT_SIM_ALONE;
    return ASSAY_MSG_VERDICT_SIM_AND_BPU;
}

/* A match of what was selected, behind something else that differs. */
static bool only_inherited(const struct assay_run_summary *s)
{
    return s->side_status[0][ASSAY_ROW_INHERITED] > 0 ||
           s->side_status[1][ASSAY_ROW_INHERITED] > 0 ||
           s->status[ASSAY_ROW_INHERITED] > s->behind_islands;
}

static enum assay_message_id verdict_message(const struct assay_run *r,
                                             const struct assay_run_summary *s)
{
    static const enum assay_message_id ids[ASSAY_VERDICT_COUNT] = {
        [ASSAY_VERDICT_MATCH] = ASSAY_MSG_VERDICT_MATCH,
        [ASSAY_VERDICT_LAYOUT] = ASSAY_MSG_VERDICT_LAYOUT,
        [ASSAY_VERDICT_ASSAY_KERNEL] = ASSAY_MSG_VERDICT_ASSAY_KERNEL,
        [ASSAY_VERDICT_BOARD_CPU] = ASSAY_MSG_VERDICT_BOARD_CPU,
        [ASSAY_VERDICT_UNPROVEN] = ASSAY_MSG_VERDICT_UNPROVEN,
        [ASSAY_VERDICT_ARITHMETIC] = ASSAY_MSG_VERDICT_ARITHMETIC,
        [ASSAY_VERDICT_COMPILE] = ASSAY_MSG_VERDICT_COMPILE,
        [ASSAY_VERDICT_RUNTIME] = ASSAY_MSG_VERDICT_RUNTIME,
        [ASSAY_VERDICT_INPUT] = ASSAY_MSG_VERDICT_INPUT,
        [ASSAY_VERDICT_OUTPUT] = ASSAY_MSG_VERDICT_OUTPUT,
        [ASSAY_VERDICT_VERSION] = ASSAY_MSG_VERDICT_VERSION,
        [ASSAY_VERDICT_STALE] = ASSAY_MSG_VERDICT_STALE,
        [ASSAY_VERDICT_FLAKY] = ASSAY_MSG_VERDICT_FLAKY,
        [ASSAY_VERDICT_UNEXPLAINED] = ASSAY_MSG_VERDICT_UNEXPLAINED,
    };

    if (s->verdict == ASSAY_VERDICT_MATCH && only_inherited(s))
        return ASSAY_MSG_VERDICT_MATCH_INHERITED;
    if (s->verdict == ASSAY_VERDICT_MATCH &&
        s->row_status[ASSAY_ROW_WITHIN] + s->row_status[ASSAY_ROW_INHERITED] >
            0)
        return ASSAY_MSG_VERDICT_MATCH_WITHIN;
    if (s->first_column == ASSAY_COL_GOT &&
        s->verdict == ASSAY_VERDICT_ARITHMETIC)
        return ASSAY_MSG_VERDICT_GOT;
    if (s->verdict == ASSAY_VERDICT_UNEXPLAINED &&
        s->first_column != ASSAY_COL_CPU)
        return column_message(&s->evidence, s->first_column);
    if (s->verdict == ASSAY_VERDICT_UNEXPLAINED &&
        r->layers[s->first_culprit].host_cpu != ASSAY_REL_EQUAL)
        return ASSAY_MSG_VERDICT_UNEXPLAINED_UNSEEN;
    if (s->verdict == ASSAY_VERDICT_UNEXPLAINED &&
        r->s->layers[s->first_culprit].arith_overridden)
        return ASSAY_MSG_VERDICT_UNEXPLAINED_OVERRIDE;
    return ids[s->verdict];
}

static bool cpu_all_exact(const struct assay_run_summary *sum)
{
    return sum->compared > 0 && sum->compared == sum->expected &&
           sum->status[ASSAY_ROW_EXACT] == sum->compared;
}

const char *assay_run_sentence(const struct assay_run *r,
                               const struct assay_run_summary *sum, char *out,
                               size_t cap, enum assay_message_id *id)
{
    const struct assay_layer *y;
    char layout[200];

    if (!sum->has_verdict)
        return gap_sentence(r, sum, out, cap, id);
    *id = verdict_message(r, sum);
    if (sum->verdict == ASSAY_VERDICT_MATCH)
        return assay_message(out, cap, *id, NULL);
    y = &r->s->layers[sum->first_culprit];
    return assay_message(
        out, cap, *id, "layer", y->name, "kernel",
        r->layers[sum->first_culprit].kernel, "features", r->info.features,
        "numerics", r->p.numerics, "op", y->source_op, "arith", y->arith,
        "column", assay_column_name(sum->first_column), "everywhere",
        cpu_all_exact(sum) ? assay_message_text(ASSAY_MSG_EVERYWHERE) : "",
        "layout",
        assay_run_cause_text(r, sum->first_culprit, sum->first_column, layout,
                             sizeof(layout)),
        NULL);
}

/* "sim: 11 observed: 1 exact, 3 diverged; 6 not observed" */
static const char *column_counts(const struct assay_run_summary *sum,
                                 unsigned side, char *out, size_t cap)
{
    static const enum assay_row_status order[] = {
        ASSAY_ROW_EXACT,     ASSAY_ROW_WITHIN, ASSAY_ROW_DIVERGED,
        ASSAY_ROW_INHERITED, ASSAY_ROW_FLAKY,  ASSAY_ROW_ERROR,
    };
    const uint32_t *n = sum->side_status[side];
    const char *name = assay_column_name(assay_side_column(side));
    const char *one = "";
    char counts[256] = "";
    uint32_t observed = 0, kinds = 0;

    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        if (n[order[i]] == 0)
            continue;
        one = assay_row_status_name(order[i]);
        snprintf(counts + strlen(counts), sizeof(counts) - strlen(counts),
                 "%s%u %s", kinds++ > 0 ? ", " : "", n[order[i]], one);
        observed += n[order[i]];
    }
    assay_message(out, cap,
                  kinds == 0   ? ASSAY_MSG_SUM_COLUMN_NONE
                  : kinds == 1 ? ASSAY_MSG_SUM_COLUMN_ONE
                               : ASSAY_MSG_SUM_COLUMN,
                  "column", name, "observed", assay_num_u(observed).text,
                  "status", one, "counts", counts, NULL);
    if (observed > 0 && n[ASSAY_ROW_NOT_OBSERVED] > 0)
        assay_message(out + strlen(out), cap - strlen(out),
                      ASSAY_MSG_SUM_COLUMN_UNSEEN, "unseen",
                      assay_num_u(n[ASSAY_ROW_NOT_OBSERVED]).text, NULL);
    return out;
}

/* The columns of the compiled model, behind what is said of the cpu. */
static void add_columns(const struct assay_run *r,
                        const struct assay_run_summary *sum, char *text,
                        size_t cap)
{
    char one[400];

    text[0] = '\0';
    for (unsigned s = 0; s < ASSAY_SIDES; s++) {
        if (r->p.c.columns[s].from == NULL)
            continue;
        snprintf(text + strlen(text), cap - strlen(text), "%s%s",
                 text[0] != '\0' ? " · " : "",
                 column_counts(sum, s, one, sizeof(one)));
    }
}

/* What the counts do not say of good layers. */
static void remark_lines(const struct assay_run *r,
                         const struct assay_run_summary *sum,
                         struct assay_lines *l)
{
    char text[TEXT];

    if (sum->islands > 0) {
        assay_message(text, sizeof(text), ASSAY_MSG_SUM_ISLANDS, "islands",
                      assay_num_u(sum->islands).text, "largest",
                      assay_num_g(3, sum->island_largest).text, "name",
                      r->s->layers[sum->island_layer].name, "inherited",
                      assay_num_u(sum->behind_islands).text, NULL);
        assay_line_add(l, " ", text);
    }
    if (sum->float_reference > 0) {
        assay_message(
            text, sizeof(text), ASSAY_MSG_SUM_FLOAT_REFERENCE, "layers",
            assay_num_u(sum->float_reference).text, "elements",
            assay_num_u(sum->float_reference_elements).text, "largest",
            assay_num_u((uint64_t)sum->float_reference_lsb).text, NULL);
        assay_line_add(l, " ", text);
    }
    if (sum->masked > 0) {
        assay_message(text, sizeof(text), ASSAY_MSG_SUM_MASKED, "layers",
                      assay_num_u(sum->masked).text, NULL);
        assay_line_add(l, " ", text);
    }
}

static void count_lines(const struct assay_run *r,
                        const struct assay_run_summary *sum,
                        struct assay_lines *l)
{
    char text[TEXT], columns[TEXT] = "";
    const uint32_t *s = sum->status;
    bool sides = r->sides[0].n_samples + r->sides[1].n_samples > 0;

    text[0] = '\0';
    if ((sum->exit_code == 0 && s[ASSAY_ROW_EXACT] == sum->compared) ||
        (sides && cpu_all_exact(sum) && sum->skipped == 0)) {
        char counts[64];

        if (sum->exit_code != 0)
            assay_message(text, sizeof(text), ASSAY_MSG_SUM_SAMPLES, "samples",
                          assay_num_u(r->n_golden + r->n_host).text, NULL);
        snprintf(counts, sizeof(counts), "%u exact", s[ASSAY_ROW_EXACT]);
        assay_message(text + strlen(text), sizeof(text) - strlen(text),
                      ASSAY_MSG_SUM_SHORT, "layers",
                      assay_num_u(sum->compared).text, "column",
                      assay_column_name(ASSAY_COL_CPU), "counts", counts, NULL);
        add_columns(r, sum, columns, sizeof(columns));
        if (strlen(text) + strlen(columns) < LINE) {
            snprintf(text + strlen(text), sizeof(text) - strlen(text),
                     "%s%.400s", columns[0] != '\0' ? " · " : "", columns);
            columns[0] = '\0';
        }
    } else {
        uint32_t good =
            s[ASSAY_ROW_EXACT] + s[ASSAY_ROW_WITHIN] + s[ASSAY_ROW_INHERITED];

        assay_message(text, sizeof(text), ASSAY_MSG_SUM_COUNTS, "compared",
                      assay_num_u(sum->compared).text, "good",
                      assay_num_u(good - sum->partly).text, "diverged",
                      assay_num_u(s[ASSAY_ROW_DIVERGED]).text, "skipped",
                      assay_num_u(sum->skipped).text, "error",
                      assay_num_u(s[ASSAY_ROW_ERROR]).text, "have",
                      assay_num_u(sum->compared).text, "expected",
                      assay_num_u(sum->expected).text, NULL);
        add_columns(r, sum, columns, sizeof(columns));
    }
    assay_line_add(l, " ", text);
    if (columns[0] != '\0')
        assay_line_add(l, " ", columns);
    remark_lines(r, sum, l);
}

static void gap_lines(const struct assay_run *r,
                      const struct assay_run_summary *sum,
                      struct assay_lines *l)
{
    char text[TEXT];
    unsigned shown = 0;

    for (uint32_t i = 0; i < r->s->n_layers && shown < 10; i++) {
        const struct assay_layer *y = &r->s->layers[i];

        if (y->op != ASSAY_OP_SKIPPED || !r->layers[i].selected)
            continue;
        assay_message(text, sizeof(text), ASSAY_MSG_SUM_SKIPPED, "layer",
                      y->name, "op", y->source_op, "why",
                      y->skip_reason != NULL ? y->skip_reason : "", NULL);
        assay_line_add(l, " ", text);
        shown++;
    }
    for (uint32_t i = 0; i < r->s->n_layers && shown < 10; i++) {
        if (!r->layers[i].selected || !assay_run_partly_golden(r, i))
            continue;
        assay_message(text, sizeof(text), ASSAY_MSG_SUM_PARTLY_GOLDEN, "layer",
                      r->s->layers[i].name, "have",
                      assay_num_u(r->n_golden - r->layers[i].n_golden).text,
                      "samples", assay_num_u(r->n_golden).text, NULL);
        assay_line_add(l, " ", text);
        shown++;
    }
    if (sum->unreached > 0) {
        const char *why = assay_row_reason_name(ASSAY_WHY_NOT_REACHED);
        char missing[400];

        for (uint32_t i = 0; i < r->s->n_layers; i++) {
            if (r->layers[i].judgement.reason != ASSAY_WHY_NO_INPUT)
                continue;
            snprintf(missing, sizeof(missing), "%s '%s'",
                     assay_row_reason_name(ASSAY_WHY_NO_INPUT),
                     r->layers[i].detail);
            why = missing;
            break;
        }
        assay_message(text, sizeof(text), ASSAY_MSG_SUM_UNREACHED, "layers",
                      assay_num_u(sum->unreached).text, "why", why, NULL);
        assay_line_add(l, " ", text);
    }
}

static enum assay_message_id examined_message(
    const struct assay_run_summary *sum, bool match)
{
    bool sim = (sum->observed & (1u << ASSAY_COL_SIM)) != 0;
    bool bpu = (sum->observed & (1u << ASSAY_COL_BPU)) != 0;

    if (sim && bpu && (sum->observed & (1u << ASSAY_COL_CPU)) != 0)
        return ASSAY_MSG_ALL_EXAMINED;
    if (!match || only_inherited(sum))
        return ASSAY_MSG_NOT_EXAMINED;
    if (bpu)
        return ASSAY_MSG_NOT_EXAMINED_SIM;
    return sim ? ASSAY_MSG_NOT_EXAMINED_BPU : ASSAY_MSG_NOT_EXAMINED_WHY;
}

static void last_line(const struct assay_run *r,
                      const struct assay_run_summary *sum, uint64_t received,
                      struct assay_lines *l)
{
    char columns[128] = "", text[TEXT], figures[128], line[TEXT];
    bool match = sum->has_verdict && sum->verdict == ASSAY_VERDICT_MATCH;

    for (unsigned c = ASSAY_COL_CPU; c < ASSAY_COL_COUNT; c++) {
        if ((sum->observed & (1u << c)) != 0 || c == ASSAY_COL_GOT)
            continue;
        if (columns[0] != '\0')
            strcat(columns, ", ");
        strcat(columns, assay_column_name((enum assay_column)c));
    }
    assay_message(text, sizeof(text), examined_message(sum, match), "columns",
                  columns, NULL);
    assay_message(figures, sizeof(figures), ASSAY_MSG_LAST_FIGURES, "seconds",
                  assay_num_f(2, (double)r->duration_ms / 1000.0).text, "bytes",
                  assay_num_bytes(received).text, NULL);
    snprintf(line, sizeof(line), "%.800s   %.100s", text, figures);
    /* The one line of a green run stays one. */
    add_whole(l, match ? "match   " : "", line, TEXT - 1);
}

void assay_run_tail_lines(struct assay_run *r,
                          const struct assay_run_summary *sum,
                          uint64_t received, struct assay_lines *l)
{
    char text[TEXT], sentence[TEXT];
    enum assay_message_id id;

    count_lines(r, sum, l);
    gap_lines(r, sum, l);
    assay_run_probe_lines(r, sum, l);
    if (sum->n_culprits > 0)
        assay_run_culprit_lines(r, sum, l);
    else if (!sum->has_verdict || only_inherited(sum))
        assay_line_add(
            l, "", assay_run_sentence(r, sum, sentence, sizeof(sentence), &id));
    if (r->error.code != 0 || r->interrupted != 0) {
        const char *why = r->error.code != 0
                              ? r->error.text
                              : assay_status_sentence(ASSAY_ECANCELLED);

        assay_message(text, sizeof(text), ASSAY_MSG_SUM_PARTIAL, "why", why,
                      NULL);
        assay_line_add(l, "", text);
    }
    if (r->stopped && r->error.code == 0 && r->interrupted == 0)
        assay_line_add(
            l, "",
            assay_message(text, sizeof(text), ASSAY_MSG_SUM_STOPPED, "have",
                          assay_num_u(r->n_golden + r->n_host).text, "samples",
                          assay_num_u(r->n_samples).text, NULL));
    if (r->p.findings.count[ASSAY_CONTRADICTION] > 0)
        assay_line_add(
            l, "",
            assay_message(
                text, sizeof(text), ASSAY_MSG_SUM_CONFIGURATION, "n",
                assay_num_u(r->p.findings.count[ASSAY_CONTRADICTION]).text,
                NULL));
    last_line(r, sum, received, l);
}
