/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step from one stage to a later one: all tensors of all samples that both
 * have, the policy on what breaks, and what the break looks like.
 */
#ifndef ASSAY_TRIAGE_TRANSITION_H
#define ASSAY_TRIAGE_TRANSITION_H

#include "host-tools/triage/scale.h"

enum assay_step_verdict {
    ASSAY_STEP_OK = 0,
    ASSAY_STEP_BREAKS,
    ASSAY_STEP_INCOMPARABLE, /* no tensor could be compared */
};

/* Why it breaks. */
enum assay_step_reason {
    ASSAY_REASON_NONE = 0,
    ASSAY_REASON_BITS,   /* must be equal, and is not */
    ASSAY_REASON_ODD,    /* NaN or infinity that was not there */
    ASSAY_REASON_COSINE, /* below the limit of the step */
    ASSAY_REASON_ERROR,  /* relative error above the limit */
    ASSAY_REASON_DRIFT,  /* clearly worse than the steps before */
};

enum assay_symptom {
#define ASSAY_SYMPTOM(id, name, seen, look) ASSAY_SYMPTOM_##id,
#include "host-tools/triage/symptoms.def"
#undef ASSAY_SYMPTOM
    ASSAY_SYMPTOM_COUNT
};
struct assay_symptom_info {
    const char *id, *seen, *look;
};
const struct assay_symptom_info *assay_symptom_info(enum assay_symptom s);

struct assay_tensor_step {
    const char *name;
    enum assay_incomparable why; /* not ASSAY_COMPARABLE: no numbers */
    char shapes[96];             /* of both, where they do not fit */
    bool permuted;               /* NCHW against NHWC */
    bool has_scales;             /* qa and qb were looked up */
    struct assay_pair_scale qa, qb;
    bool same_a, same_b; /* equal in all samples */
    uint64_t hash_a, hash_b;
    uint32_t samples, worst_sample;
    struct assay_pair_stats worst;
    enum assay_step_reason reason; /* NONE: it does not break */
};

struct assay_sample_step {
    const char *name;
    uint32_t tensor; /* the worst one */
    double error, cosine, max_abs, lsb;
    bool breaks;
};

struct assay_transition {
    enum assay_stage from, to;
    bool exact;
    double cosine_min, error_max;
    bool by_order;           /* no sample has the same name in both */
    uint32_t lone_a, lone_b; /* samples that only one side has */
    uint32_t n, cap;
    struct assay_tensor_step *tensors; /* in the order of the first stage */
    uint32_t n_samples;
    struct assay_sample_step *samples;
    uint32_t compared;     /* tensors */
    uint32_t worst, first; /* tensors: largest error; first that breaks */
    enum assay_step_verdict verdict;
    uint32_t symptoms; /* bit a symptom */
};

/* The limits of the steps between two stages; see docs/triage.md. */
void assay_policy_limits(struct assay_transition *t);
/* What of these numbers breaks; NONE: nothing. */
enum assay_step_reason assay_policy_judge(const struct assay_transition *t,
                                          const struct assay_pair_stats *s);
/* A step within its limits that is clearly worse than all before it: DRIFT. */
void assay_policy_drift(struct assay_transition *steps, uint32_t n);
/* The sides of the steps between two stages, bit a side. */
uint32_t assay_policy_sides(enum assay_stage from, enum assay_stage to);

/* Bits of the symptoms that a tensor shows. */
uint32_t assay_symptoms_find(const struct assay_transition *t,
                             const struct assay_tensor_step *x);

/* Both sets are open; scales of their npz are added to `scales`. */
int assay_transition_run(struct assay_transition *out,
                         struct assay_arena *arena,
                         const struct assay_stage_set *a,
                         const struct assay_stage_set *b,
                         struct assay_triage_scales *scales,
                         const struct assay_model_note *note,
                         struct assay_err *err) ASSAY_MUST_CHECK;

#endif
