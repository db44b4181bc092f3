/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/diff/diff.h"

#include <string.h>

static const char *const status_names[] = {
    [ASSAY_ROW_EXACT] = "exact",
    [ASSAY_ROW_WITHIN] = "within",
    [ASSAY_ROW_NOT_OBSERVED] = "not_observed",
    [ASSAY_ROW_INHERITED] = "inherited",
    [ASSAY_ROW_SKIPPED] = "skipped",
    [ASSAY_ROW_FLAKY] = "flaky",
    [ASSAY_ROW_ERROR] = "error",
    [ASSAY_ROW_DIVERGED] = "diverged",
};

static const char *const reason_names[ASSAY_WHY_COUNT] = {
    [ASSAY_WHY_NONE] = "",
    [ASSAY_WHY_MASKED] = "masked",
    [ASSAY_WHY_FLOAT_REFERENCE] = "reference computed in float",
    [ASSAY_WHY_BEHIND_FLOAT] = "behind a float layer",
    [ASSAY_WHY_NOT_ISOLATED] = "not isolated",
    [ASSAY_WHY_NO_REFERENCE] = "no reference",
    [ASSAY_WHY_NO_INPUT] = "no input",
    [ASSAY_WHY_NOT_SELECTED] = "not selected",
    [ASSAY_WHY_NOT_REACHED] = "not reached",
    [ASSAY_WHY_OP] = "operator not run",
    [ASSAY_WHY_AS_ENGINE] = "equals the engine, not the reference",
    [ASSAY_WHY_ERROR] = "error",
    [ASSAY_WHY_OTHER_BUILD] = "of another build than its inputs",
};

const char *assay_row_status_name(enum assay_row_status s)
{
    return (unsigned)s <= ASSAY_ROW_DIVERGED ? status_names[s] : "?";
}

const char *assay_row_reason_name(enum assay_row_reason r)
{
    return (unsigned)r < ASSAY_WHY_COUNT ? reason_names[r] : "?";
}

const char *assay_column_name(enum assay_column c)
{
    static const char *const names[ASSAY_COL_COUNT] = {
        "host", "cpu-scalar", "cpu", "sim", "bpu", "got",
    };

    return (unsigned)c < ASSAY_COL_COUNT ? names[c] : "?";
}

const struct assay_diff *assay_row_diff(const struct assay_row *r)
{
    return r->cumulative.count > 0 ? &r->cumulative : &r->isolated;
}

/* Judged on the reference's inputs alone. */
static struct assay_judgement judge_own(uint64_t mismatch, uint64_t outside,
                                        bool float_reference)
{
    struct assay_judgement j = {.status = ASSAY_ROW_EXACT};

    if (outside > 0) {
        j.status = ASSAY_ROW_DIVERGED;
        j.culprit = true;
    } else if (mismatch > 0) {
        j.status = ASSAY_ROW_WITHIN;
        j.reason = float_reference ? ASSAY_WHY_FLOAT_REFERENCE : ASSAY_WHY_NONE;
    }
    return j;
}

struct assay_judgement assay_judge_layer(const struct assay_layer_facts *f)
{
    struct assay_judgement j = {.status = ASSAY_ROW_NOT_OBSERVED};

    if (f->skipped) {
        j.status = ASSAY_ROW_SKIPPED;
        j.reason = ASSAY_WHY_OP;
        return j;
    }
    if (f->failed) {
        j.status = ASSAY_ROW_ERROR;
        j.reason = ASSAY_WHY_ERROR;
        return j;
    }
    if (!f->compared) {
        if (f->isolated_run)
            return judge_own(f->isolated_mismatch, f->isolated_outside,
                             f->float_reference);
        j.reason = ASSAY_WHY_NOT_REACHED;
        return j;
    }
    if (f->inputs_equal)
        return judge_own(f->mismatch, f->outside, f->float_reference);
    if (f->mismatch == 0) {
        j.status = ASSAY_ROW_EXACT;
        j.reason = ASSAY_WHY_MASKED;
        return j;
    }
    if (f->isolated_run) {
        j = judge_own(f->isolated_mismatch, f->isolated_outside,
                      f->float_reference);
        if (j.culprit)
            return j;
        if (f->outside == 0) {
            j.status = ASSAY_ROW_WITHIN;
            return j;
        }
        j.status = ASSAY_ROW_INHERITED;
        j.reason = f->behind_culprit ? ASSAY_WHY_NONE : ASSAY_WHY_BEHIND_FLOAT;
        return j;
    }
    if (f->outside == 0) {
        j.status = ASSAY_ROW_WITHIN;
        j.reason =
            f->float_reference ? ASSAY_WHY_FLOAT_REFERENCE : ASSAY_WHY_NONE;
        return j;
    }
    /* A layer behind a culprit is inherited until isolation says otherwise. */
    j.status = ASSAY_ROW_INHERITED;
    j.reason = ASSAY_WHY_NOT_ISOLATED;
    j.isolate = true;
    return j;
}

void assay_judgement_merge(struct assay_judgement *out,
                           const struct assay_judgement *j)
{
    bool culprit = out->culprit || j->culprit;
    bool unseen = out->status == ASSAY_ROW_NOT_OBSERVED;

    if (j->status == ASSAY_ROW_NOT_OBSERVED) {
        if (unseen && out->reason == ASSAY_WHY_NONE)
            out->reason = j->reason;
        out->culprit = culprit;
        return;
    }
    if (unseen || j->status > out->status ||
        (j->status == out->status && out->reason == ASSAY_WHY_NONE))
        *out = *j;
    out->culprit = culprit;
}

static bool sums_in_float(enum assay_real_op op)
{
    switch (op) {
    case ASSAY_REAL_CONV:
    case ASSAY_REAL_ADD:
    case ASSAY_REAL_MUL:
    case ASSAY_REAL_AVG_POOL:
    case ASSAY_REAL_GLOBAL_AVG_POOL:
    case ASSAY_REAL_SOFTMAX: return true;
    default: return false; /* moved or mapped value by value: one rounding */
    }
}

bool assay_reference_is_float(const struct assay_slice *s, uint32_t layer,
                              const char *golden_opt)
{
    const struct assay_layer *l = &s->layers[layer];
    const struct assay_tensor *y = &s->tensors[l->output];

    if (strcmp(golden_opt, "none") != 0 || !sums_in_float(l->real_op))
        return false;
    /* An integer operator of the source computes in integers. */
    if (strncmp(l->source_op, "QLinear", 7) == 0 ||
        strncmp(l->source_op, "QGemm", 5) == 0)
        return false;
    return assay_dtype_is_int(y->dtype) && l->n_inputs > 0 &&
           s->tensors[l->inputs[0]].quant.n > 0;
}
