/* SPDX-License-Identifier: Apache-2.0 */
/* From the layers of all samples to culprits, coverage and the exit code. */
#include <string.h>

#include "host-tools/run.h"
#include "lib/core/arith.h"

static enum assay_relation relation(bool seen, const struct assay_diff *d)
{
    if (!seen || d->count == 0)
        return ASSAY_REL_UNKNOWN;
    return d->outside > 0 ? ASSAY_REL_DIFFERS : ASSAY_REL_EQUAL;
}

static bool proved(const struct assay_run *r, uint32_t layer)
{
    const struct assay_layer *l = &r->s->layers[layer];

    /* Without arithmetic of its own (max pool, reshape) nothing is inferred. */
    return l->real_op == ASSAY_REAL_NONE ||
           assay_numerics_proved(r->p.numerics, l->real_op,
                                 r->s->tensors[l->output].dtype);
}

static enum assay_verdict judge_culprit(const struct assay_run *r,
                                        uint32_t layer)
{
    const struct assay_run_layer *k = &r->layers[layer];
    struct assay_evidence e = {
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
        .numerics_proved = proved(r, layer),
    };

    return assay_verdict(&e);
}

bool assay_run_partly_golden(const struct assay_run *r, uint32_t layer)
{
    uint32_t n = r->layers[layer].n_golden;

    return n > 0 && n < r->n_golden;
}

static void count_layer(struct assay_run *r, uint32_t i,
                        struct assay_run_summary *sum)
{
    struct assay_run_layer *k = &r->layers[i];
    const struct assay_layer *l = &r->s->layers[i];
    const struct assay_tensor *t = &r->s->tensors[l->output];
    bool skipped = l->op == ASSAY_OP_SKIPPED;

    sum->status[k->judgement.status]++;
    sum->received += k->n_received > 0 || k->column_seen[ASSAY_COL_CPU];
    if (!k->selected) {
        sum->not_selected++;
        return;
    }
    sum->skipped += skipped;
    sum->partly += assay_run_partly_golden(r, i) &&
                   (k->judgement.status == ASSAY_ROW_EXACT ||
                    k->judgement.status == ASSAY_ROW_WITHIN ||
                    k->judgement.status == ASSAY_ROW_INHERITED);
    /* A tensor that the reference lacks is not expected of anybody; with
     * integer-only goldens the unit is the group around a skipped layer. */
    sum->expected += k->has_reference || r->host_reference;
    if (k->n_compared > 0 && k->n_compared == k->n_reference &&
        !assay_run_partly_golden(r, i))
        sum->compared++;
    else if (k->has_reference && !skipped && !assay_run_partly_golden(r, i))
        sum->unreached++;
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

static void find_culprits(struct assay_run *r, struct assay_run_summary *sum)
{
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        struct assay_run_layer *k = &r->layers[i];

        if (!k->selected || !k->judgement.culprit)
            continue;
        k->verdict = judge_culprit(r, i);
        sum->n_culprits++;
        sum->exit_code =
            assay_exit_combine(sum->exit_code, assay_verdict_exit(k->verdict));
    }
    for (uint32_t i = 0; i < r->s->n_layers && sum->n_culprits > 0; i++) {
        const struct assay_run_layer *k = &r->layers[i];

        if (k->selected && k->judgement.culprit &&
            assay_verdict_exit(k->verdict) == sum->exit_code) {
            sum->first_culprit = i;
            sum->verdict = k->verdict;
            sum->has_verdict = true;
            break;
        }
    }
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
    sum->missing_columns = r->o->require & ~sum->observed;
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

void assay_run_summarize(struct assay_run *r, struct assay_run_summary *out)
{
    memset(out, 0, sizeof(*out));
    fill_scalar_columns(r);
    for (uint32_t i = 0; i < r->s->n_layers; i++)
        count_layer(r, i, out);
    find_culprits(r, out);
    /* After a culprit --fail-fast leaves layers out on purpose. */
    find_gaps(r, out);
    if (r->error.code != 0)
        out->exit_code = assay_exit_combine(
            out->exit_code, (int)assay_status_class(r->error.code));
    if (out->exit_code == 0) {
        out->has_verdict = true;
        out->verdict = ASSAY_VERDICT_MATCH;
    }
    if (r->interrupted != 0)
        out->exit_code = 128 + r->interrupted;
}
