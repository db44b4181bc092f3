/* SPDX-License-Identifier: Apache-2.0 */
/* The sentence of a whole run: its verdict, or why it has none. */
#include <string.h>

#include "host-tools/run_lines.h"

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

const char *assay_run_lost(const struct assay_run *r,
                           const struct assay_run_summary *sum, const char *why,
                           char *out, size_t cap)
{
    char sample[96] = "";

    if (r->sample > 0)
        assay_message(sample, sizeof(sample), ASSAY_MSG_BOARD_LOST_SAMPLE,
                      "sample", assay_num_u(r->sample + 1).text, "samples",
                      assay_num_u(r->n_samples).text, NULL);
    return assay_message(out, cap, ASSAY_MSG_BOARD_LOST, "why", why, "sample",
                         sample, "have", assay_num_u(sum->compared).text,
                         "expected", assay_num_u(sum->expected).text, NULL);
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
        return assay_run_lost(r, sum, r->error.text, out, cap);
    if (r->interrupted != 0)
        return assay_run_lost(r, sum, assay_status_sentence(ASSAY_ECANCELLED),
                              out, cap);
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

bool assay_run_only_inherited(const struct assay_run_summary *s)
{
    for (unsigned side = 0; side < ASSAY_SIDES; side++) {
        if (s->side_status[side][ASSAY_ROW_INHERITED] > 0)
            return true;
    }
    /* Behind a float layer that is within its tolerance, where one is seen. */
    return s->status[ASSAY_ROW_INHERITED] >
           (s->islands > 0 ? s->behind_islands : 0);
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
        [ASSAY_VERDICT_STALE] = ASSAY_MSG_STALE_COMPILED,
        [ASSAY_VERDICT_FLAKY] = ASSAY_MSG_VERDICT_FLAKY,
        [ASSAY_VERDICT_UNEXPLAINED] = ASSAY_MSG_VERDICT_UNEXPLAINED,
    };

    if (s->verdict == ASSAY_VERDICT_MATCH && assay_run_only_inherited(s))
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

bool assay_run_cpu_all_exact(const struct assay_run_summary *sum)
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
        r->layers[sum->first_culprit].kernel, "features",
        r->info.agent.features, "numerics", r->p.numerics, "op", y->source_op,
        "arith", y->arith, "column", assay_column_name(sum->first_column),
        "everywhere",
        assay_run_cpu_all_exact(sum) ? assay_message_text(ASSAY_MSG_EVERYWHERE)
                                     : "",
        "layout",
        assay_run_cause_text(r, sum->first_culprit, sum->first_column, layout,
                             sizeof(layout)),
        NULL);
}
