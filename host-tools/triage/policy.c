/* SPDX-License-Identifier: Apache-2.0 */
/* When a step breaks. The reasons for the numbers are in docs/triage.md. */
#include <math.h>

#include "host-tools/triage/transition.h"

/* Of values and of LSB: below these no float step breaks. */
#define TINY 1e-6
#define ONE_LSB 1.0001
/* Clearly worse: above half of the limit, and by this factor. */
#define DRIFT_FACTOR 8.0
#define DRIFT_SHARE 0.5

void assay_policy_limits(struct assay_transition *t)
{
    double angle = 0, error = 0;

    for (int i = (int)t->from + 1; i <= (int)t->to; i++) {
        const struct assay_stage_info *s =
            assay_stage_info((enum assay_stage)i);

        angle += acos(s->cosine_min);
        error += s->error_max;
    }
    t->exact = error == 0;
    /* Angles between vectors add up at most. */
    t->cosine_min = angle < acos(0.0) ? cos(angle) : 0.0;
    t->error_max = error;
}

enum assay_step_reason assay_policy_judge(const struct assay_transition *t,
                                          const struct assay_pair_stats *s)
{
    double lsb = assay_pair_lsb(s);

    if (t->exact)
        return s->differing > 0 ? ASSAY_REASON_BITS : ASSAY_REASON_NONE;
    if (s->odd > 0)
        return ASSAY_REASON_ODD;
    if (s->max_abs <= TINY || (lsb >= 0 && lsb <= ONE_LSB))
        return ASSAY_REASON_NONE;
    if (assay_pair_cosine(s) < t->cosine_min)
        return ASSAY_REASON_COSINE;
    if (assay_pair_error(s) > t->error_max)
        return ASSAY_REASON_ERROR;
    return ASSAY_REASON_NONE;
}

void assay_policy_drift(struct assay_transition *steps, uint32_t n)
{
    double before = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct assay_transition *t = &steps[i];
        struct assay_tensor_step *x;
        double error, lsb;

        if (t->verdict == ASSAY_STEP_INCOMPARABLE || t->exact)
            continue;
        x = &t->tensors[t->worst];
        error = assay_pair_error(&x->worst);
        lsb = assay_pair_lsb(&x->worst);
        if (t->verdict == ASSAY_STEP_OK && before > 0 &&
            error > DRIFT_SHARE * t->error_max &&
            error > DRIFT_FACTOR * before && !(lsb >= 0 && lsb <= ONE_LSB)) {
            t->verdict = ASSAY_STEP_BREAKS;
            t->first = t->worst;
            x->reason = ASSAY_REASON_DRIFT;
            t->samples[x->worst_sample].breaks = true;
            t->symptoms = assay_symptoms_find(t, x);
        }
        before = fmax(before, error);
    }
}

uint32_t assay_policy_sides(enum assay_stage from, enum assay_stage to)
{
    uint32_t sides = 0;

    for (int i = (int)from + 1; i <= (int)to; i++)
        sides |= 1u << assay_stage_info((enum assay_stage)i)->side;
    return sides;
}
