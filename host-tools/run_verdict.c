/* SPDX-License-Identifier: Apache-2.0 */
/* From the layers of all samples to culprits, coverage and the exit code. */
#include <string.h>

#include "host-tools/run_chain.h"
#include "host-tools/run_preflight.h"
#include "host-tools/run_repeat.h"
#include "host-tools/run_cause.h"

static enum assay_relation relation(bool seen, const struct assay_diff *d)
{
    if (!seen || d->count == 0)
        return ASSAY_REL_UNKNOWN;
    return d->outside > 0 ? ASSAY_REL_DIFFERS : ASSAY_REL_EQUAL;
}

/* What is known at a culprit of the cpu column. */
static struct assay_evidence cpu_evidence(const struct assay_run *r,
                                          uint32_t layer)
{
    const struct assay_run_layer *k = &r->layers[layer];
    const struct assay_run_suspect *cause =
        assay_run_cause_of(r, layer, ASSAY_COL_CPU);

    return (struct assay_evidence){
        .culprit = true,
        .host_ref = relation(k->column_seen[ASSAY_COL_HOST],
                             &k->column[ASSAY_COL_HOST]),
        .scalar_ref = relation(k->column_seen[ASSAY_COL_CPU_SCALAR],
                               &k->column[ASSAY_COL_CPU_SCALAR]),
        .cpu_ref = relation(true, &k->isolated),
        .host_scalar = k->host_scalar,
        .scalar_cpu = k->scalar_cpu,
        .host_cpu = k->host_cpu,
        .arithmetic_overridden = r->s->layers[layer].arith_overridden,
        .numerics_proved = assay_prepare_proved(&r->p, layer),
        .layout_found = cause != NULL && cause->has_layout,
        .hypothesis_proved = assay_run_cause_proved(cause),
    };
}

/* sim (bpu) in the layers from the last ones that `of` has observed. */
static struct assay_column_state state_of(const struct assay_run *r,
                                          uint32_t layer, unsigned side,
                                          enum assay_column of)
{
    const struct assay_run_layer *k = &r->layers[layer];
    enum assay_column column = assay_side_column(side);
    struct assay_column_state s = {
        .observed = k->column_seen[column],
        .differs = k->column[column].outside > 0,
        .culprit = k->side[side].judgement.culprit,
    };
    uint32_t through[64];
    uint32_t n = assay_run_through(r, layer, of, through, 64);

    for (uint32_t i = 0; i < n && i < 64; i++) {
        if (r->layers[through[i]].side[side].judgement.culprit)
            s.culprit = true;
    }
    return s;
}

/* The layer itself, or one that the column is judged through and in which the
 * cpu differs: then the engine that judges is not to be trusted there. */
static uint32_t cpu_culprit(const struct assay_run *r, uint32_t layer,
                            enum assay_column column)
{
    uint32_t through[64];
    uint32_t n = assay_run_through(r, layer, column, through, 64);

    for (uint32_t i = 0; i < n && i < 64; i++) {
        if (r->layers[through[i]].judgement.culprit)
            return through[i];
    }
    return layer;
}

static struct assay_evidence side_evidence(const struct assay_run *r,
                                           uint32_t layer, unsigned side)
{
    const struct assay_run_layer *k = &r->layers[layer];
    enum assay_column column = assay_side_column(side);
    uint32_t cpu = cpu_culprit(r, layer, column);
    struct assay_evidence e = cpu_evidence(r, cpu);
    struct assay_column_state sim = state_of(r, layer, ASSAY_CASE_SIM, column);
    struct assay_column_state bpu = state_of(r, layer, ASSAY_CASE_BPU, column);
    const struct assay_run_suspect *cause =
        assay_run_cause_of(r, layer, column);

    e.cpu_ref = ASSAY_REL_UNKNOWN;
    if (r->layers[cpu].judgement.culprit)
        e.cpu_ref = ASSAY_REL_DIFFERS;
    else if (k->n_compared > 0)
        e.cpu_ref = ASSAY_REL_EQUAL;
    e.input_differs = k->side[side].input_differs;
    if (side == ASSAY_CASE_GOT) { /* some other engine: what it computes */
        e.host_cpu = ASSAY_REL_EQUAL;
        e.cpu_ref = ASSAY_REL_DIFFERS;
        e.numerics_proved = true;
    }
    e.layout_found = cause != NULL && cause->has_layout;
    e.hypothesis_proved = assay_run_cause_proved(cause);
    e.another_sample = cause != NULL && cause->stale != ASSAY_STALE_NO;
    e.board_memory = side == ASSAY_CASE_BPU;
    assay_column_relations(&e, side == ASSAY_CASE_BPU, &sim, &bpu,
                           k->apart && k->sim_bpu == ASSAY_REL_EQUAL
                               ? ASSAY_REL_UNKNOWN
                               : k->sim_bpu);
    return e;
}

bool assay_run_partly_golden(const struct assay_run *r, uint32_t layer)
{
    uint32_t n = r->layers[layer].n_golden;

    return n > 0 && n < r->n_golden;
}

/* A tensor between the layers that one operation of the source became: the
 * reader's own, no reference can have it. */
static bool is_within_operation(const struct assay_run *r, uint32_t layer)
{
    const struct assay_layer *l = &r->s->layers[layer];
    bool is_read = false;

    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        const struct assay_layer *reader = &r->s->layers[i];

        for (uint32_t k = 0; k < reader->n_inputs; k++) {
            if (reader->inputs[k] != l->output)
                continue;
            if (reader->source_index != l->source_index)
                return false;
            is_read = true;
        }
    }
    return is_read && !r->s->tensors[l->output].is_output;
}

bool assay_run_lacks_golden(const struct assay_run *r, uint32_t layer)
{
    const struct assay_layer *l = &r->s->layers[layer];
    const struct assay_tensor *t = &r->s->tensors[l->output];
    uint32_t have = 0;

    if (r->n_golden == 0 || r->layers[layer].n_golden > 0 ||
        l->op == ASSAY_OP_SKIPPED || !assay_dtype_is_int(t->dtype) ||
        is_within_operation(r, layer))
        return false;
    for (uint32_t i = 0; i < r->s->n_layers; i++)
        have += r->layers[i].n_golden > 0;
    return have > r->s->n_layers / 2;
}

/* Selected, and not compared in every sample. */
static void count_gap(const struct assay_run *r, uint32_t i,
                      struct assay_run_summary *sum)
{
    const struct assay_run_layer *k = &r->layers[i];

    sum->partly += k->judgement.status == ASSAY_ROW_EXACT ||
                   k->judgement.status == ASSAY_ROW_WITHIN ||
                   k->judgement.status == ASSAY_ROW_INHERITED;
    sum->unreached += k->has_reference && !assay_run_partly_golden(r, i) &&
                      r->s->layers[i].op != ASSAY_OP_SKIPPED;
}

static void count_layer(struct assay_run *r, uint32_t i,
                        struct assay_run_summary *sum)
{
    struct assay_run_layer *k = &r->layers[i];
    const struct assay_layer *l = &r->s->layers[i];
    const struct assay_tensor *t = &r->s->tensors[l->output];
    bool skipped = l->op == ASSAY_OP_SKIPPED;

    sum->status[k->judgement.status]++;
    sum->row_status[assay_run_row(r, i).status]++;
    sum->received += k->n_received > 0 || k->column_seen[ASSAY_COL_CPU];
    if (!k->selected) {
        sum->not_selected++;
        return;
    }
    for (unsigned c = 0; c < ASSAY_SIDES; c++)
        sum->side_status[c][k->side[c].judgement.status]++;
    sum->skipped += skipped;
    /* A reference may show a few tensors only; with integer-only goldens the
     * unit is the group around a skipped layer. */
    sum->expected +=
        k->has_reference || r->host_reference || assay_run_lacks_golden(r, i);
    if (k->n_compared > 0 && k->n_compared == k->n_reference &&
        !assay_run_partly_golden(r, i))
        sum->compared++;
    else
        count_gap(r, i, sum);
    sum->masked += k->judgement.reason == ASSAY_WHY_MASKED;
    sum->behind_islands += k->judgement.reason == ASSAY_WHY_BEHIND_FLOAT;
    if (k->judgement.reason == ASSAY_WHY_FLOAT_REFERENCE) {
        sum->float_reference++;
        sum->float_reference_elements += k->isolated.count > 0
                                             ? k->isolated.mismatch
                                             : k->cumulative.mismatch;
        if (k->isolated.max_lsb > sum->float_reference_lsb)
            sum->float_reference_lsb = k->isolated.max_lsb;
    }
    if (t->dtype != ASSAY_F32)
        return;
    sum->has_float = true;
    if (k->judgement.status == ASSAY_ROW_WITHIN) {
        const struct assay_diff *d =
            k->cumulative.count > 0 ? &k->cumulative : &k->isolated;

        if (sum->islands++ == 0 || d->max_abs > sum->island_largest) {
            sum->island_largest = d->max_abs;
            sum->island_layer = i;
        }
    }
}

static void add_culprit(struct assay_run *r, uint32_t layer,
                        enum assay_column column,
                        const struct assay_evidence *e,
                        struct assay_run_summary *sum)
{
    struct assay_run_culprit *c = &r->culprits[r->n_culprits++];
    int code;

    c->layer = layer;
    c->column = column;
    c->verdict = assay_verdict(e);
    code = assay_exit_combine(sum->exit_code, assay_verdict_exit(c->verdict));
    /* The first of those with the code that decides. */
    if (r->n_culprits == 1 ||
        (code != sum->exit_code && code == assay_verdict_exit(c->verdict))) {
        sum->first_culprit = layer;
        sum->first_column = column;
        sum->verdict = c->verdict;
        sum->evidence = *e;
        sum->has_verdict = true;
    }
    sum->exit_code = code;
    sum->n_culprits = r->n_culprits;
}

/* What repeats show stands above what one run of a column did: a layer that is
 * flaky says nothing of kernels. */
static struct assay_evidence repeated_evidence(const struct assay_run *r,
                                               uint32_t layer)
{
    enum assay_repeat_state state = assay_run_repeat_state(r, layer);
    struct assay_evidence e = {.culprit = true, .host_ref = ASSAY_REL_EQUAL};

    if (r->layers[layer].judgement.culprit)
        e = cpu_evidence(r, layer);
    e.flaky = state == ASSAY_REPEAT_FLAKY;
    if (e.flaky)
        e.host_scalar = e.scalar_cpu = ASSAY_REL_UNKNOWN;
    if (state == ASSAY_REPEAT_RUNGS && !r->layers[layer].judgement.culprit) {
        e.host_scalar = ASSAY_REL_EQUAL;
        e.scalar_cpu = ASSAY_REL_DIFFERS;
    }
    return e;
}

/* What is flaky is called so, whatever the run that is judged showed, where
 * that has no other explanation: how far it is from the reference is kept. */
static void mark_flaky(struct assay_run *r)
{
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        const struct assay_evidence e = repeated_evidence(r, i);

        if (e.flaky && assay_verdict(&e) == ASSAY_VERDICT_FLAKY &&
            r->layers[i].judgement.status != ASSAY_ROW_ERROR)
            r->layers[i].judgement.status = ASSAY_ROW_FLAKY;
    }
}

static void find_culprits(struct assay_run *r, struct assay_run_summary *sum)
{
    r->n_culprits = 0;
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        struct assay_run_layer *k = &r->layers[i];
        struct assay_evidence e;

        if (k->selected &&
            (k->judgement.culprit ||
             assay_run_repeat_state(r, i) >= ASSAY_REPEAT_RUNGS)) {
            e = repeated_evidence(r, i);
            add_culprit(r, i, ASSAY_COL_CPU, &e, sum);
            k->verdict = r->culprits[r->n_culprits - 1].verdict;
        }
        for (unsigned s = 0; s < ASSAY_SIDES; s++) {
            if (!k->selected || !k->side[s].judgement.culprit)
                continue;
            e = side_evidence(r, i, s);
            add_culprit(r, i, assay_side_column(s), &e, sum);
            k->side[s].verdict = r->culprits[r->n_culprits - 1].verdict;
        }
    }
}

struct assay_judgement assay_run_row(const struct assay_run *r, uint32_t layer)
{
    const struct assay_run_layer *k = &r->layers[layer];
    struct assay_judgement j = k->judgement;

    for (unsigned s = 0; s < ASSAY_SIDES; s++)
        assay_judgement_merge(&j, &k->side[s].judgement);
    return j;
}

/* A column that is asked for must be there in every sample; one whose files
 * are named must show something. */
static uint32_t missing_columns(const struct assay_run *r,
                                const struct assay_run_summary *sum)
{
    const char *named[ASSAY_SIDES] = {r->o->sim, r->o->bpu, r->o->got};
    uint32_t missing = r->o->require & ~sum->observed;

    for (unsigned s = 0; s < ASSAY_SIDES; s++) {
        if (named[s] != NULL)
            missing |= 1u << assay_side_column(s) & ~sum->observed;
        if (r->sides[s].n_samples < r->n_golden + r->n_host)
            missing |= r->o->require & (1u << assay_side_column(s));
    }
    return missing;
}

static void find_gaps(struct assay_run *r, struct assay_run_summary *sum)
{
    double percent = 0.0;

    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        for (unsigned c = 0; c < ASSAY_COL_COUNT; c++) {
            if (r->layers[i].column_seen[c])
                sum->observed |= 1u << c;
        }
    }
    /* An input of the model is no layer's row, but it was looked at. */
    for (unsigned s = 0; s < ASSAY_SIDES; s++) {
        if (r->sides[s].n_samples > 0)
            sum->observed |= 1u << assay_side_column(s);
    }
    sum->missing_columns = missing_columns(r, sum);
    if (sum->expected > 0)
        percent = 100.0 * sum->compared / sum->expected;
    sum->low_coverage = percent < r->o->min_coverage;
    sum->only_itself = r->o->local && r->scalar_only && r->n_golden == 0;
    if (sum->missing_columns != 0 || sum->compared == 0 || sum->low_coverage ||
        sum->only_itself)
        sum->exit_code = assay_exit_combine(sum->exit_code, 5);
}

/* A whole run of scalar kernels stands for the scalar columns as well. */
static void fill_scalar_columns(struct assay_run *r)
{
    unsigned first = r->o->local ? ASSAY_COL_HOST : ASSAY_COL_CPU_SCALAR;

    for (uint32_t i = 0; i < r->s->n_layers && r->scalar_only; i++) {
        struct assay_run_layer *k = &r->layers[i];

        for (unsigned c = first; c <= ASSAY_COL_CPU_SCALAR; c++) {
            if (k->column_seen[c] || !k->column_seen[ASSAY_COL_CPU])
                continue;
            k->column_seen[c] = true;
            k->column[c] =
                k->isolated.count > 0 ? k->isolated : k->column[ASSAY_COL_CPU];
        }
    }
}

/* What makes all layers meaningless, or shows that they are an older build's. */
static void look_above(struct assay_run *r, struct assay_run_summary *out)
{
    if (assay_run_preflight_stops(r))
        out->above = ASSAY_VERDICT_VERSION;
    else if (r->preflight.contradictions > 0)
        out->exit_code = assay_exit_combine(out->exit_code, ASSAY_CLASS_USAGE);
    assay_run_chain_judge(r, out);
    if (out->above == ASSAY_VERDICT_MATCH && assay_run_is_stale(r))
        out->above = ASSAY_VERDICT_STALE;
    if (out->above == ASSAY_VERDICT_MATCH)
        return;
    out->has_verdict = true;
    out->exit_code =
        assay_exit_combine(out->exit_code, assay_verdict_exit(out->above));
}

void assay_run_summarize(struct assay_run *r, struct assay_run_summary *out)
{
    memset(out, 0, sizeof(*out));
    fill_scalar_columns(r);
    mark_flaky(r);
    for (uint32_t i = 0; i < r->s->n_layers; i++)
        count_layer(r, i, out);
    find_culprits(r, out);
    /* After a culprit --fail-fast leaves layers out on purpose. */
    find_gaps(r, out);
    if (r->error.code != 0)
        out->exit_code = assay_exit_combine(
            out->exit_code, (int)assay_status_class(r->error.code));
    /* What was not reached may differ. */
    if (out->exit_code == 0 && r->interrupted == 0) {
        out->has_verdict = true;
        out->verdict = ASSAY_VERDICT_MATCH;
    }
    look_above(r, out);
    /* The layers may match all the same. */
    if (r->p.findings.count[ASSAY_CONTRADICTION] > 0)
        out->exit_code = assay_exit_combine(out->exit_code, ASSAY_CLASS_USAGE);
    if (r->interrupted != 0)
        out->exit_code = 128 + r->interrupted;
}
