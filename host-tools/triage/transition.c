/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/triage/transition.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/core/hash.h"

#define MAX_TENSORS 65536u

struct run {
    struct assay_transition *t;
    struct assay_arena *arena;
    const struct assay_stage_set *a, *b;
    struct assay_triage_scales *scales;
    const struct assay_model_note *note;
    struct assay_err *err;
};

static int no_memory(struct run *r)
{
    return assay_fail(r->err, ASSAY_EMEMORY, "%s: out of memory", r->a->path);
}

/* ---- which samples belong together -------------------------------------- */

#define NO_SAMPLE UINT32_MAX

static uint32_t sample_named(const struct assay_stage_set *s, const char *name)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (strcmp(s->samples[i].name, name) == 0)
            return i;
    return NO_SAMPLE;
}

/* partner[i]: the sample of b for sample i of a. By name, where any is the
 * same in both, else by order. */
static uint32_t pair_samples(struct run *r, uint32_t *partner)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->a->n; i++) {
        partner[i] = sample_named(r->b, r->a->samples[i].name);
        n += partner[i] != NO_SAMPLE;
    }
    r->t->by_order = n == 0;
    if (n == 0) {
        n = r->a->n < r->b->n ? r->a->n : r->b->n;
        for (uint32_t i = 0; i < r->a->n; i++)
            partner[i] = i < n ? i : NO_SAMPLE;
    }
    r->t->lone_a = r->a->n - n;
    r->t->lone_b = r->b->n - n;
    return n;
}

/* ---- tensors ------------------------------------------------------------ */

/* The tensor of that name; one that is only nearly so must be the only one. */
static const struct assay_array *array_named(const struct assay_npz *z,
                                             const char *name, size_t hint)
{
    const struct assay_array *a, *near = NULL;

    /* Mostly both files have the same tensors in the same order. */
    if (hint < z->n && strcmp(z->arrays[hint].name, name) == 0)
        return &z->arrays[hint];
    a = assay_npz_find(z, name);
    for (size_t i = 0; a == NULL && i < z->n; i++) {
        if (!assay_tensor_same_name(z->arrays[i].name, name))
            continue;
        if (near != NULL)
            return NULL;
        near = &z->arrays[i];
    }
    return a != NULL ? a : near;
}

static struct assay_tensor_step *step_of(struct run *r, const char *name,
                                         size_t hint)
{
    struct assay_transition *t = r->t;
    struct assay_tensor_step *grown;

    if (hint < t->n && strcmp(t->tensors[hint].name, name) == 0)
        return &t->tensors[hint];
    for (uint32_t i = 0; i < t->n; i++)
        if (strcmp(t->tensors[i].name, name) == 0)
            return &t->tensors[i];
    if (t->n == t->cap) {
        uint32_t cap = t->cap == 0 ? 64 : t->cap * 2;

        grown = cap > MAX_TENSORS
                    ? NULL
                    : assay_arena_array(r->arena, cap, sizeof(*grown));
        if (grown == NULL)
            return NULL;
        if (t->n > 0)
            memcpy(grown, t->tensors, t->n * sizeof(*grown));
        t->tensors = grown;
        t->cap = cap;
    }
    grown = &t->tensors[t->n];
    grown->name = assay_arena_str(r->arena, name, strlen(name));
    if (grown->name == NULL)
        return NULL;
    t->n++;
    return grown;
}

static size_t put_shape(char *out, size_t cap, const struct assay_array *a)
{
    size_t at = 0;

    for (uint32_t i = 0; i < a->rank && at + 22 < cap; i++)
        at += (size_t)snprintf(out + at, cap - at, "%s%lld", i > 0 ? "x" : "",
                               (long long)a->dims[i]);
    if (a->rank == 0)
        at = (size_t)snprintf(out, cap, "scalar");
    return at;
}

static void refuse(struct assay_tensor_step *x, enum assay_incomparable why,
                   const struct assay_array *a, const struct assay_array *b)
{
    size_t at;

    x->why = why;
    if (why == ASSAY_BAD_SHAPE) {
        at = put_shape(x->shapes, 44, a);
        at += (size_t)snprintf(x->shapes + at, sizeof(x->shapes) - at, ", ");
        put_shape(x->shapes + at, sizeof(x->shapes) - at, b);
    }
}

/* Equal in all samples so far? */
static void watch(struct assay_tensor_step *x, const struct assay_array *a,
                  const struct assay_array *b)
{
    uint64_t ha = assay_xxh64(a->data, a->bytes),
             hb = assay_xxh64(b->data, b->bytes);

    x->same_a = x->samples == 0 || (x->same_a && ha == x->hash_a);
    x->same_b = x->samples == 0 || (x->same_b && hb == x->hash_b);
    x->hash_a = ha;
    x->hash_b = hb;
}

static void take(struct run *r, struct assay_tensor_step *x, uint32_t sample,
                 const struct assay_pair_stats *s)
{
    struct assay_sample_step *p = &r->t->samples[sample];
    enum assay_step_reason reason = assay_policy_judge(r->t, s);
    double error = assay_pair_error(s);
    bool breaks = reason != ASSAY_REASON_NONE;

    /* The worst sample of a tensor is one that breaks, where any does. */
    if (x->samples == 0 || (breaks && x->reason == ASSAY_REASON_NONE) ||
        (breaks == (x->reason != ASSAY_REASON_NONE) &&
         error > assay_pair_error(&x->worst))) {
        x->worst = *s;
        x->worst_sample = sample;
        x->reason = reason;
    }
    x->samples++;
    if (p->cosine > 1.0 || (breaks && !p->breaks) ||
        (breaks == p->breaks && error > p->error)) {
        p->tensor = (uint32_t)(x - r->t->tensors);
        p->error = error;
        p->cosine = assay_pair_cosine(s);
        p->max_abs = s->max_abs;
        p->lsb = assay_pair_lsb(s);
    }
    p->breaks = p->breaks || breaks;
}

/* Of an integer and a float, the float has the integer's scale. */
static void find_scales(struct run *r, struct assay_tensor_step *x,
                        const struct assay_array *a,
                        const struct assay_array *b)
{
    x->qa = assay_scale_of(r->scales, r->t->from, a->name);
    x->qb = assay_scale_of(r->scales, r->t->to, a->name);
    if (x->qa.scale == 0 && !assay_dtype_is_int(a->dtype))
        x->qa = x->qb;
    if (x->qb.scale == 0 && !assay_dtype_is_int(b->dtype))
        x->qb = x->qa;
    x->has_scales = true;
}

/* Array `at` of the sample. */
static int compare_array(struct run *r, const struct assay_npz *za, size_t at,
                         const struct assay_npz *zb, uint32_t sample)
{
    const struct assay_array *a = &za->arrays[at],
                             *b = array_named(zb, a->name, at);
    struct assay_tensor_step *x = step_of(r, a->name, at);
    struct assay_pair_stats s;
    uint8_t perm[ASSAY_MAX_RANK];
    enum assay_incomparable why;

    if (x == NULL)
        return no_memory(r);
    if (b == NULL) {
        if (x->samples == 0)
            x->why = ASSAY_BAD_NAME;
        return 0;
    }
    if (!x->has_scales)
        find_scales(r, x, a, b);
    why = assay_pair_check(a, b, &x->qa, &x->qb, perm);
    if (why != ASSAY_COMPARABLE) {
        if (x->samples == 0)
            refuse(x, why, a, b);
        return 0;
    }
    assay_pair_compare(&s, a, b, &x->qa, &x->qb, perm);
    /* Bits can be compared of NaN, too; a cosine of nothing is no match. */
    if (!r->t->exact && s.finite == 0 && s.odd == 0) {
        if (x->samples == 0)
            refuse(x, ASSAY_BAD_ODD, a, b);
        return 0;
    }
    x->why = ASSAY_COMPARABLE;
    x->permuted = a->rank == 4 && perm[1] != 1;
    watch(x, a, b);
    take(r, x, sample, &s);
    return 0;
}

static int compare_sample(struct run *r, uint32_t i, uint32_t partner,
                          uint32_t sample)
{
    struct assay_npz za = {0}, zb = {0};
    int rc = assay_stage_read(&za, r->a, i, r->note, r->err);

    if (rc == 0)
        rc = assay_stage_read(&zb, r->b, partner, r->note, r->err);
    if (rc == 0 && r->scales->stage[r->t->from].n == 0)
        rc = assay_scale_meta(r->scales, r->t->from, za.meta,
                              r->a->samples[i].files[0], r->err);
    if (rc == 0 && r->scales->stage[r->t->to].n == 0)
        rc = assay_scale_meta(r->scales, r->t->to, zb.meta,
                              r->b->samples[partner].files[0], r->err);
    r->t->samples[sample].name = r->a->samples[i].name;
    r->t->samples[sample].cosine = 2; /* nothing yet */
    for (size_t k = 0; k < za.n && rc == 0; k++)
        rc = compare_array(r, &za, k, &zb, sample);
    assay_npz_close(&za);
    assay_npz_close(&zb);
    return rc;
}

/* ---- the whole step ----------------------------------------------------- */

static void conclude(struct assay_transition *t)
{
    double worst = -1;
    bool broken = false;

    t->verdict = ASSAY_STEP_INCOMPARABLE;
    for (uint32_t i = 0; i < t->n; i++) {
        struct assay_tensor_step *x = &t->tensors[i];
        double error = assay_pair_error(&x->worst);
        bool breaks = x->reason != ASSAY_REASON_NONE;

        if (x->samples == 0)
            continue;
        if (t->compared++ == 0)
            t->verdict = ASSAY_STEP_OK;
        if (breaks && !broken) {
            t->first = i;
            worst = -1; /* one that breaks is worse than one that does not */
        }
        broken = broken || breaks;
        if ((breaks || !broken) && error > worst) {
            worst = error;
            t->worst = i;
        }
    }
    if (broken) {
        t->verdict = ASSAY_STEP_BREAKS;
        t->symptoms = assay_symptoms_find(t, &t->tensors[t->first]);
    }
}

int assay_transition_run(struct assay_transition *out,
                         struct assay_arena *arena,
                         const struct assay_stage_set *a,
                         const struct assay_stage_set *b,
                         struct assay_triage_scales *scales,
                         const struct assay_model_note *note,
                         struct assay_err *err)
{
    struct assay_transition t = {.from = a->stage, .to = b->stage};
    struct run r = {.t = &t,
                    .arena = arena,
                    .a = a,
                    .b = b,
                    .scales = scales,
                    .note = note,
                    .err = err};
    uint32_t *partner = assay_arena_array(arena, a->n, sizeof(*partner)), n;
    int rc = 0;

    if (partner == NULL)
        return no_memory(&r);
    assay_policy_limits(&t);
    n = pair_samples(&r, partner);
    t.samples = assay_arena_array(arena, (size_t)n + 1, sizeof(*t.samples));
    if (t.samples == NULL)
        return no_memory(&r);
    for (uint32_t i = 0; i < a->n && rc == 0; i++)
        if (partner[i] != NO_SAMPLE)
            rc = compare_sample(&r, i, partner[i], t.n_samples++);
    if (rc < 0)
        return rc;
    conclude(&t);
    *out = t;
    return 0;
}
