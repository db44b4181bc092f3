/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/run_lines.h"

#include <stdio.h>
#include <string.h>

#include "host-tools/report/report.h"

#define TEXT 1024

void assay_line_add(struct assay_lines *l, const char *prefix, const char *text)
{
    char line[TEXT + 64];
    const char *kept;

    if (l->n == ASSAY_MAX_LINES)
        return;
    snprintf(line, sizeof(line), "%.60s%.1000s", prefix, text);
    kept = assay_arena_str(l->arena, line, strlen(line));
    if (kept != NULL)
        l->v[l->n++] = kept;
}

const char *assay_run_reference(const struct assay_run *r, char *out,
                                size_t cap)
{
    const struct assay_case *c = &r->p.c;

    if (r->n_golden == 0 || !c->has_goldens)
        return assay_message(out, cap, ASSAY_MSG_REF_HOST, NULL);
    if (c->engine[0] == '\0')
        return assay_message(out, cap, ASSAY_MSG_REF_FILES, NULL);
    return assay_message(out, cap, ASSAY_MSG_HEAD_GOLDEN, "engine", c->engine,
                         "version", c->engine_version, "machine",
                         c->machine[0] != '\0' ? c->machine : "?", "opt",
                         c->opt[0] != '\0' ? c->opt : "?", NULL);
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
    assay_line_add(l, "", text);
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
    if (sum->has_float) {
        assay_message(
            text, sizeof(text), ASSAY_MSG_HEAD_TOLERANCE, "rtol",
            assay_num_g(3, assay_threshold_of(&r->o->rtol, "", 1e-5)).text,
            "atol",
            assay_num_g(3, assay_threshold_of(&r->o->atol, "", 1e-6)).text,
            NULL);
        assay_line_add(l, "", text);
    }
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
    *id = ASSAY_MSG_NOT_COMPARED;
    if (sum->compared == 0)
        return assay_message(out, cap, *id, NULL);
    *id = ASSAY_MSG_ONLY_ITSELF;
    if (sum->only_itself)
        return assay_message(out, cap, *id, NULL);
    *id = ASSAY_MSG_MISSING_EVIDENCE;
    for (unsigned c = 0; c < ASSAY_COL_COUNT; c++) {
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

    if (s->verdict == ASSAY_VERDICT_MATCH &&
        s->status[ASSAY_ROW_WITHIN] + s->status[ASSAY_ROW_INHERITED] > 0)
        return ASSAY_MSG_VERDICT_MATCH_WITHIN;
    if (s->verdict == ASSAY_VERDICT_UNEXPLAINED &&
        r->layers[s->first_culprit].host_cpu != ASSAY_REL_EQUAL)
        return ASSAY_MSG_VERDICT_UNEXPLAINED_UNSEEN;
    if (s->verdict == ASSAY_VERDICT_UNEXPLAINED &&
        r->s->layers[s->first_culprit].arith_overridden)
        return ASSAY_MSG_VERDICT_UNEXPLAINED_OVERRIDE;
    return ids[s->verdict];
}

const char *assay_run_sentence(const struct assay_run *r,
                               const struct assay_run_summary *sum, char *out,
                               size_t cap, enum assay_message_id *id)
{
    const struct assay_layer *y;

    if (!sum->has_verdict)
        return gap_sentence(r, sum, out, cap, id);
    *id = verdict_message(r, sum);
    if (sum->verdict == ASSAY_VERDICT_MATCH)
        return assay_message(out, cap, *id, NULL);
    y = &r->s->layers[sum->first_culprit];
    return assay_message(out, cap, *id, "layer", y->name, "kernel",
                         r->layers[sum->first_culprit].kernel, "features",
                         r->info.features, "numerics", r->p.numerics, "op",
                         y->source_op, "arith", y->arith, NULL);
}

static void count_lines(const struct assay_run *r,
                        const struct assay_run_summary *sum,
                        struct assay_lines *l)
{
    char text[TEXT];
    const uint32_t *s = sum->status;

    if (sum->exit_code == 0 && s[ASSAY_ROW_EXACT] == sum->compared) {
        char counts[64];

        snprintf(counts, sizeof(counts), "%u exact", s[ASSAY_ROW_EXACT]);
        assay_message(text, sizeof(text), ASSAY_MSG_SUM_SHORT, "layers",
                      assay_num_u(sum->compared).text, "column",
                      assay_column_name(ASSAY_COL_CPU), "counts", counts, NULL);
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
    }
    assay_line_add(l, " ", text);
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

/* Pure: "all mismatches in channels 64..65" where the box is narrow. */
static void box_line(const struct assay_tensor *t, const struct assay_diff *d,
                     struct assay_lines *l)
{
    static const struct {
        char axis;
        enum assay_message_id id;
    } kinds[] = {
        {'C', ASSAY_MSG_WHERE_CHANNELS},
        {'H', ASSAY_MSG_WHERE_ROWS},
        {'W', ASSAY_MSG_WHERE_COLUMNS},
    };
    char text[TEXT];

    for (uint32_t a = 0; a < t->rank && d->mismatch > 1; a++) {
        int64_t width = d->box_hi[a] - d->box_lo[a] + 1;

        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
            if (t->axes[a] != kinds[k].axis || 2 * width > t->dims[a])
                continue;
            assay_message(text, sizeof(text), kinds[k].id, "lo",
                          assay_num_u((uint64_t)d->box_lo[a]).text, "hi",
                          assay_num_u((uint64_t)d->box_hi[a]).text, "all",
                          assay_num_u((uint64_t)t->dims[a]).text, NULL);
            assay_line_add(l, "          ", text);
        }
    }
}

/* Elements in all samples: a layer is run on the reference's inputs only where
 * its inputs or outputs differ, elsewhere its output is known to be equal. */
static uint64_t elements_of(const struct assay_run_layer *k,
                            const struct assay_diff *d)
{
    return d->count < k->cumulative.count ? k->cumulative.count : d->count;
}

static void where_lines(const struct assay_tensor *t,
                        const struct assay_run_layer *k,
                        const struct assay_diff *d, struct assay_lines *l)
{
    char text[TEXT], most[64], index[160], other[200], source[160];
    enum assay_message_id side = ASSAY_MSG_WHERE_BOTH;
    bool integer = assay_dtype_is_int(t->dtype);

    if (d->higher == d->mismatch)
        side = ASSAY_MSG_WHERE_UP;
    else if (d->higher == 0)
        side = ASSAY_MSG_WHERE_DOWN;
    if (integer && d->max_lsb == 1)
        assay_message(most, sizeof(most), ASSAY_MSG_WHERE_ALL_ONE, NULL);
    else if (integer)
        assay_message(most, sizeof(most), ASSAY_MSG_WHERE_MAX, "max",
                      assay_num_u((uint64_t)d->max_lsb).text, NULL);
    else
        assay_message(most, sizeof(most), ASSAY_MSG_WHERE_FLOAT, "max",
                      assay_num_g(3, d->max_abs).text, NULL);
    assay_message(text, sizeof(text), ASSAY_MSG_WHERE_COUNT, "mismatch",
                  assay_num_u(d->mismatch).text, "count",
                  assay_num_u(elements_of(k, d)).text, "most", most, "side",
                  assay_message_text(side), NULL);
    assay_line_add(l, "  where   ", text);
    box_line(t, d, l);
    for (size_t i = 0; i < d->n_first && i < 4; i++) {
        int digits = integer ? 17 : 9;

        assay_report_index(t, d->first[i].index, false, index, sizeof(index));
        assay_report_index(t, d->first[i].index, true, source, sizeof(source));
        other[0] = '\0';
        if (strcmp(index, source) != 0)
            assay_message(other, sizeof(other), ASSAY_MSG_WHERE_SOURCE, "index",
                          source, NULL);
        assay_message(
            text, sizeof(text), ASSAY_MSG_WHERE_ELEMENT, "index", index, "ref",
            assay_num_g(digits, d->first[i].ref).text, "got",
            assay_num_g(digits, d->first[i].got).text, "diff",
            assay_num_g(digits, d->first[i].got - d->first[i].ref).text,
            "source", other, NULL);
        assay_line_add(l, "          ", text);
    }
}

static const char *column_state(const struct assay_run_layer *k,
                                enum assay_column c, char *out, size_t cap)
{
    const struct assay_diff *d = &k->column[c];

    if (c == ASSAY_COL_CPU)
        d = &k->isolated;
    else if (!k->column_seen[c])
        return assay_message(out, cap, ASSAY_MSG_COLUMN_UNSEEN, NULL);
    if (d->mismatch == 0)
        return assay_message(out, cap, ASSAY_MSG_COLUMN_EQUAL, NULL);
    return assay_message(out, cap, ASSAY_MSG_COLUMN_DIFF, "mismatch",
                         assay_num_u(d->mismatch).text, "count",
                         assay_num_u(elements_of(k, d)).text, NULL);
}

/* A sentence, broken before column 118. */
static void add_wrapped(struct assay_lines *l, const char *prefix,
                        const char *text)
{
    size_t room = 118 - strlen(prefix);

    while (strlen(text) > room) {
        char part[128];
        size_t n = room;

        while (n > 0 && text[n] != ' ')
            n--;
        if (n == 0)
            break;
        snprintf(part, sizeof(part), "%.*s", (int)n, text);
        assay_line_add(l, prefix, part);
        text += n + 1;
        prefix = "  ";
        room = 116;
    }
    assay_line_add(l, prefix, text);
}

static void culprit_block(const struct assay_run *r,
                          const struct assay_run_summary *sum,
                          struct assay_lines *l)
{
    const struct assay_run_layer *k = &r->layers[sum->first_culprit];
    const struct assay_layer *y = &r->s->layers[sum->first_culprit];
    const struct assay_tensor *t = &r->s->tensors[y->output];
    char text[TEXT], prefix[64], shape[128], also[TEXT] = "";
    char host[96], scalar[96], cpu[96], index[16];
    enum assay_message_id id;

    snprintf(index, sizeof(index), "%03u", sum->first_culprit);
    assay_message(text, sizeof(text), ASSAY_MSG_SUM_FIRST, "index", index,
                  "name", y->name, NULL);
    assay_line_add(l, " ", text);
    assay_line_add(l, "", "");
    assay_run_sentence(r, sum, text, sizeof(text), &id);
    snprintf(prefix, sizeof(prefix), "%s: ", assay_verdict_name(sum->verdict));
    add_wrapped(l, prefix, text);
    where_lines(t, k, &k->isolated, l);
    assay_message(text, sizeof(text), ASSAY_MSG_COLUMNS_LINE, "host",
                  column_state(k, ASSAY_COL_HOST, host, sizeof(host)), "scalar",
                  column_state(k, ASSAY_COL_CPU_SCALAR, scalar, sizeof(scalar)),
                  "cpu", column_state(k, ASSAY_COL_CPU, cpu, sizeof(cpu)),
                  NULL);
    assay_line_add(l, "  columns ", text);
    assay_message(text, sizeof(text), ASSAY_MSG_LAYER_LINE, "op", y->source_op,
                  "shape", assay_report_shape(t, shape, sizeof(shape)), "arith",
                  y->arith != NULL && y->arith[0] != '\0' ? y->arith : "-",
                  NULL);
    assay_line_add(l, "  layer   ", text);
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        if (i == sum->first_culprit || !r->layers[i].selected ||
            !r->layers[i].judgement.culprit || strlen(also) > 200)
            continue;
        snprintf(also + strlen(also), sizeof(also) - strlen(also),
                 "%s%.100s (%s)", also[0] != '\0' ? ", " : "",
                 r->s->layers[i].name,
                 assay_verdict_name(r->layers[i].verdict));
    }
    if (also[0] != '\0')
        assay_line_add(l, "  also    ", also);
}

static void last_line(const struct assay_run *r,
                      const struct assay_run_summary *sum, uint64_t received,
                      struct assay_lines *l)
{
    char columns[128] = "", text[TEXT], figures[128], line[TEXT];
    bool match = sum->has_verdict && sum->verdict == ASSAY_VERDICT_MATCH;

    for (unsigned c = ASSAY_COL_CPU; c < ASSAY_COL_COUNT; c++) {
        if ((sum->observed & (1u << c)) != 0)
            continue;
        if (columns[0] != '\0')
            strcat(columns, ", ");
        strcat(columns, assay_column_name((enum assay_column)c));
    }
    assay_message(text, sizeof(text),
                  match ? ASSAY_MSG_NOT_EXAMINED_WHY : ASSAY_MSG_NOT_EXAMINED,
                  "columns", columns, NULL);
    assay_message(figures, sizeof(figures), ASSAY_MSG_LAST_FIGURES, "seconds",
                  assay_num_f(2, (double)r->duration_ms / 1000.0).text, "bytes",
                  assay_num_bytes(received).text, NULL);
    snprintf(line, sizeof(line), "%.800s   %.100s", text, figures);
    assay_line_add(l, match ? "match   " : "", line);
}

void assay_run_tail_lines(struct assay_run *r,
                          const struct assay_run_summary *sum,
                          uint64_t received, struct assay_lines *l)
{
    char text[TEXT], sentence[TEXT];
    enum assay_message_id id;

    count_lines(r, sum, l);
    gap_lines(r, sum, l);
    if (sum->n_culprits > 0)
        culprit_block(r, sum, l);
    else if (!sum->has_verdict)
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
    last_line(r, sum, received, l);
}
