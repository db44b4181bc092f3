/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a text report: counts, gaps, culprits, the last line. */
#include <stdio.h>
#include <string.h>

#include "host-tools/run_capture.h"

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
    char text[ASSAY_LINE_TEXT];

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
    char text[ASSAY_LINE_TEXT], columns[ASSAY_LINE_TEXT] = "";
    const uint32_t *s = sum->status;
    bool sides = r->sides[0].n_samples + r->sides[1].n_samples > 0;

    text[0] = '\0';
    if ((sum->exit_code == 0 && s[ASSAY_ROW_EXACT] == sum->compared) ||
        (sides && assay_run_cpu_all_exact(sum) && sum->skipped == 0)) {
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
        if (strlen(text) + strlen(columns) < ASSAY_LINE_ROOM) {
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
    char text[ASSAY_LINE_TEXT];
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
        bool lacks = assay_run_lacks_golden(r, i);

        if (!r->layers[i].selected ||
            (!lacks && !assay_run_partly_golden(r, i)))
            continue;
        assay_message(text, sizeof(text),
                      lacks ? ASSAY_MSG_SUM_LACKS_GOLDEN
                            : ASSAY_MSG_SUM_PARTLY_GOLDEN,
                      "layer", r->s->layers[i].name, "have",
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
    if (!match || assay_run_only_inherited(sum))
        return ASSAY_MSG_NOT_EXAMINED;
    if (bpu)
        return ASSAY_MSG_NOT_EXAMINED_SIM;
    return sim ? ASSAY_MSG_NOT_EXAMINED_BPU : ASSAY_MSG_NOT_EXAMINED_WHY;
}

static void last_line(const struct assay_run *r,
                      const struct assay_run_summary *sum, uint64_t received,
                      struct assay_lines *l)
{
    char columns[128] = "", text[ASSAY_LINE_TEXT], figures[128],
         line[ASSAY_LINE_TEXT];
    bool match = sum->has_verdict && sum->verdict == ASSAY_VERDICT_MATCH &&
                 sum->above == ASSAY_VERDICT_MATCH;

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
    assay_line_add_whole(l, match ? "match   " : "", line);
}

void assay_run_tail_lines(struct assay_run *r,
                          const struct assay_run_summary *sum,
                          uint64_t received, struct assay_lines *l)
{
    char text[ASSAY_LINE_TEXT], sentence[ASSAY_LINE_TEXT];
    enum assay_message_id id;

    if (sum->above == ASSAY_VERDICT_VERSION) {
        last_line(r, sum, received, l); /* nothing else was looked at */
        return;
    }
    count_lines(r, sum, l);
    gap_lines(r, sum, l);
    assay_run_builds_lines(r, l);
    assay_run_probe_lines(r, sum, l);
    if (sum->n_culprits > 0)
        assay_run_culprit_lines(r, sum, l);
    else if (!sum->has_verdict || assay_run_only_inherited(sum))
        assay_line_add(
            l, "", assay_run_sentence(r, sum, sentence, sizeof(sentence), &id));
    assay_run_stats_lines(r, l);
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
