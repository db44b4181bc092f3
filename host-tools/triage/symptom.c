/* SPDX-License-Identifier: Apache-2.0 */
/* What a break looks like: shortcuts, each a hint and no proof. */
#include <math.h>
#include <stdlib.h>

#include "host-tools/triage/transition.h"

#define FEW 8 /* elements; with fewer, a pattern is no pattern */

static const struct assay_symptom_info infos[] = {
#define ASSAY_SYMPTOM(id, name, seen, look) {name, seen, look},
#include "host-tools/triage/symptoms.def"
#undef ASSAY_SYMPTOM
};

const struct assay_symptom_info *assay_symptom_info(enum assay_symptom s)
{
    return &infos[s];
}

/* d is one number, up to a tenth of it. */
static bool constant_offset(const struct assay_pair_stats *s)
{
    double mean = s->sum_d / (double)s->n,
           variance = s->dd / (double)s->n - mean * mean;

    return s->n >= FEW && fabs(mean) > 0.51 * s->unit && mean != 0 &&
           variance <= 0.01 * mean * mean;
}

/* b = k a, up to a twentieth of b, and k is not 1. */
static bool constant_factor(const struct assay_pair_stats *s)
{
    double k, rest;

    if (s->n < FEW || s->aa == 0 || s->bb == 0)
        return false;
    k = s->ab / s->aa;
    rest = s->bb - k * s->ab;
    return fabs(k - 1) > 0.05 && rest <= 0.0025 * s->bb;
}

static bool saturated(const struct assay_pair_stats *s)
{
    return s->n >= FEW && s->rail_b * 20 >= s->n && s->rail_b >= 3 &&
           s->rail_b > 2 * s->rail_a + 1;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The worst sample stands out, most others are within the limits. */
static bool some_inputs(const struct assay_transition *t)
{
    double *v, middle;
    bool few;

    if (t->n_samples < 3)
        return false;
    v = assay_calloc(t->n_samples, sizeof(*v));
    if (v == NULL)
        return false;
    for (uint32_t i = 0; i < t->n_samples; i++)
        v[i] = t->samples[i].error;
    qsort(v, t->n_samples, sizeof(*v), ascending);
    middle = v[t->n_samples / 2];
    few = middle <= t->error_max && v[t->n_samples - 1] > 8 * middle &&
          v[t->n_samples - 1] > 0;
    assay_free(v);
    return few;
}

uint32_t assay_symptoms_find(const struct assay_transition *t,
                             const struct assay_tensor_step *x)
{
    const struct assay_pair_stats *s = &x->worst;
    double lsb = assay_pair_lsb(s);
    uint32_t bits = 0;

    if (s->zero_b == s->n && s->zero_a < s->n)
        return 1u << ASSAY_SYMPTOM_ALL_ZERO;
    if (s->odd > 0)
        bits |= 1u << ASSAY_SYMPTOM_NAN;
    if (x->samples > 1 && x->same_b && !x->same_a)
        bits |= 1u << ASSAY_SYMPTOM_STALE;
    else if (some_inputs(t))
        bits |= 1u << ASSAY_SYMPTOM_SOME_INPUTS;
    if (s->bag_a == s->bag_b && s->max_abs > 0)
        bits |= 1u << ASSAY_SYMPTOM_PERMUTED;
    if (constant_offset(s))
        bits |= 1u << ASSAY_SYMPTOM_OFFSET;
    else if (constant_factor(s))
        bits |= 1u << ASSAY_SYMPTOM_FACTOR;
    if (s->flipped >= 3 && s->dd_flipped >= 0.9 * s->dd &&
        (bits & 1u << ASSAY_SYMPTOM_FACTOR) == 0)
        bits |= 1u << ASSAY_SYMPTOM_WRAP;
    else if (saturated(s))
        bits |= 1u << ASSAY_SYMPTOM_SATURATED;
    if (t->exact && s->differing > 0 && s->low_rail == s->differing &&
        s->min_a < 0)
        bits |= 1u << ASSAY_SYMPTOM_LOW_END;
    else if (t->exact && lsb > 0 && lsb <= 1.0001)
        bits |= 1u << ASSAY_SYMPTOM_ROUNDING;
    return bits;
}
