/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which candidates are equal for every input of a layer.
 *
 * First by what cannot matter: a rounding where nothing is shifted, a width
 * that no sum reaches. Sums are bounded by the weights and the range of the
 * dtypes; intervals follow the stages, each of which is monotone. Then by
 * comparing: a candidate without a wrap that is reached is a rising staircase
 * of the accumulator, and two of them are equal exactly if they agree on both
 * sides of every step of one of them.
 */
#include <string.h>

#include "host-tools/fit/pool.h"
#include "kernels/requant.h"

#define POINTS 2000000u /* evaluations of a staircase, for one layer */
#define REPRESENTATIVES 64u

struct range {
    int64_t lo, hi;
};

static struct range moved(struct range r, int64_t lo, int64_t hi)
{
    return (struct range){r.lo + lo, r.hi + hi};
}

static bool within(struct range r, unsigned bits)
{
    int64_t most = ((int64_t)1 << (bits - 1)) - 1;
    return r.lo >= -most - 1 && r.hi <= most;
}

/* What the second input adds in a channel. */
static struct range term_of(const struct assay_fit_problem *p,
                            const struct assay_fit_choice *c, uint32_t channel)
{
    int64_t a, b;
    if (!p->second_scale && !p->second_shift)
        return (struct range){0, 0};
    a = assay_fit_term(p, c->v[ASSAY_FIT_HOW], c->v[ASSAY_FIT_SECOND_ROUND],
                       p->second_lo, channel);
    b = assay_fit_term(p, c->v[ASSAY_FIT_HOW], c->v[ASSAY_FIT_SECOND_ROUND],
                       p->second_hi, channel);
    return a < b ? (struct range){a, b} : (struct range){b, a};
}

static struct range joined(const struct assay_fit_problem *p,
                           const struct assay_fit_choice *c, uint32_t channel,
                           unsigned at, struct range r)
{
    struct range t = term_of(p, c, channel);
    int64_t b = p->bias ? p->bias[channel] : 0;
    if (c->v[ASSAY_FIT_BIAS] == at)
        r = moved(r, b, b);
    if (c->v[ASSAY_FIT_SECOND] == at)
        r = moved(r, t.lo, t.hi);
    return r;
}

/* What stands before each of the three widths in one channel. */
struct stages {
    struct range sum, middle, out, pre, post; /* pre, post: before a shift */
};

static struct range kept(struct range r, unsigned bits, bool wraps)
{
    int64_t most = ((int64_t)1 << (bits - 1)) - 1;
    if (within(r, bits))
        return r;
    if (wraps)
        return (struct range){-most - 1, most};
    return (struct range){assay_sat(r.lo, bits), assay_sat(r.hi, bits)};
}

static struct range shifted(struct range r, int64_t by, unsigned round)
{
    if (by > 62)
        return (struct range){-1, 1};
    return (struct range){assay_shr(r.lo, (int)by, (enum assay_round)round),
                          assay_shr(r.hi, (int)by, (enum assay_round)round)};
}

static struct stages follow(const struct assay_fit_problem *p,
                            const struct assay_fit_choice *c, uint32_t channel)
{
    static const unsigned bits[5] = {63, 16, 16, 32, 32};
    unsigned d = c->v[ASSAY_FIT_DERIVE], m = c->v[ASSAY_FIT_MIDDLE];
    struct range r = {p->lo[channel], p->hi[channel]};
    struct stages s;

    s.sum = r = joined(p, c, channel, ASSAY_FIT_AT_ACC, r);
    if (c->v[ASSAY_FIT_WIDTH])
        r = kept(r, 32, c->v[ASSAY_FIT_WIDTH] == 1);
    s.pre = r;
    if (p->pre_shift)
        r = shifted(r, p->pre_shift[channel], c->v[ASSAY_FIT_PRE]);
    s.middle = r = joined(p, c, channel, ASSAY_FIT_AT_PRE, r);
    r = kept(r, bits[m], m == 2 || m == 4);
    if (p->scale[d]) {
        int64_t k = p->scale[d][channel], a = r.lo * k, b = r.hi * k;
        r = a < b ? (struct range){a, b} : (struct range){b, a};
    }
    s.post = r = joined(p, c, channel, ASSAY_FIT_AT_PRODUCT, r);
    if (p->post_shift[d])
        r = shifted(r, p->post_shift[d][channel], c->v[ASSAY_FIT_POST]);
    s.out = r;
    return s;
}

static bool no_shift(const int64_t *by, uint32_t channels)
{
    for (uint32_t c = 0; by && c < channels; c++)
        if (by[c] > 0)
            return false;
    return true;
}

static bool all_are(const int64_t *v, uint32_t channels, int64_t value)
{
    for (uint32_t c = 0; c < channels; c++)
        if (v[c] != value)
            return false;
    return true;
}

/* A value that is never negative (positive): fewer roundings differ. */
static uint8_t of_one_sign(uint8_t round, struct range r)
{
    if (r.lo >= 0)
        return round == ASSAY_ROUND_TRUNC       ? ASSAY_ROUND_FLOOR
               : round == ASSAY_ROUND_HALF_AWAY ? ASSAY_ROUND_HALF_UP
               : round == ASSAY_ROUND_HALF_ZERO ? ASSAY_ROUND_HALF_DOWN
                                                : round;
    if (r.hi <= 0)
        return round == ASSAY_ROUND_TRUNC       ? ASSAY_ROUND_CEIL
               : round == ASSAY_ROUND_HALF_AWAY ? ASSAY_ROUND_HALF_DOWN
               : round == ASSAY_ROUND_HALF_ZERO ? ASSAY_ROUND_HALF_UP
                                                : round;
    return round;
}

static struct range hull(struct range a, struct range b)
{
    return (struct range){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

static bool out_fits(const struct assay_fit_problem *p, struct range r)
{
    int64_t lo, hi;
    assay_dtype_range(p->dtype, &lo, &hi);
    return r.lo >= lo && r.hi <= hi;
}

/* Choices that cannot matter become 0. `terms`: for each way and rounding of
 * the second input the first one that adds the same. */
static struct assay_fit_choice plain(const struct assay_fit_problem *p,
                                     const uint8_t terms[16],
                                     struct assay_fit_choice c)
{
    static const unsigned bits[5] = {63, 16, 16, 32, 32};
    bool sum = true, middle = true, out = true;
    struct stages all = {0};

    if (p->second_scale) {
        unsigned t =
            terms[c.v[ASSAY_FIT_HOW] * 8 + c.v[ASSAY_FIT_SECOND_ROUND]];
        c.v[ASSAY_FIT_HOW] = (uint8_t)(t / 8);
        c.v[ASSAY_FIT_SECOND_ROUND] = (uint8_t)(t % 8);
    }
    for (uint32_t k = 0; k < p->channels; k++) {
        struct stages s = follow(p, &c, k);
        sum = sum && within(s.sum, 32);
        middle = middle && within(s.middle, bits[c.v[ASSAY_FIT_MIDDLE]]);
        out = out && out_fits(p, s.out);
        all.pre = k ? hull(all.pre, s.pre) : s.pre;
        all.post = k ? hull(all.post, s.post) : s.post;
    }
    if (sum)
        c.v[ASSAY_FIT_WIDTH] = 0;
    if (middle)
        c.v[ASSAY_FIT_MIDDLE] = 0;
    if (out)
        c.v[ASSAY_FIT_OUT] = 0;
    /* What is below 0 becomes 0, whichever way it was rounded. */
    if (p->relu && c.v[ASSAY_FIT_OUT] == 0 && all.post.lo < 0)
        all.post.lo = all.post.hi > 0 ? 0 : all.post.lo;
    c.v[ASSAY_FIT_PRE] = of_one_sign(c.v[ASSAY_FIT_PRE], all.pre);
    c.v[ASSAY_FIT_POST] = of_one_sign(c.v[ASSAY_FIT_POST], all.post);
    if (no_shift(p->pre_shift, p->channels)) {
        c.v[ASSAY_FIT_PRE] = 0;
        for (unsigned d = ASSAY_FIT_BIAS; sum && d <= ASSAY_FIT_SECOND; d++)
            if (c.v[d] == ASSAY_FIT_AT_PRE) {
                struct assay_fit_choice at = c;
                bool fits = true;
                at.v[d] = ASSAY_FIT_AT_ACC;
                for (uint32_t k = 0; k < p->channels; k++)
                    fits = fits && within(follow(p, &at, k).sum, 32);
                if (fits)
                    c = at;
            }
    }
    if (no_shift(p->post_shift[c.v[ASSAY_FIT_DERIVE]], p->channels))
        c.v[ASSAY_FIT_POST] = 0;
    if (!p->bias || all_are(p->bias, p->channels, 0))
        c.v[ASSAY_FIT_BIAS] = 0;
    return c;
}

static void same_terms(const struct assay_fit_problem *p, uint8_t terms[16])
{
    uint64_t hash[16];
    bool all = p->second_hi - p->second_lo <= 65536;

    for (unsigned t = 0; t < 16; t++) {
        uint64_t h = 0x9e3779b97f4a7c15u;
        terms[t] = (uint8_t)t;
        hash[t] = t;
        for (uint32_t c = 0; p->second_scale && all && c < p->channels; c++) {
            bool seen = false; /* channels often share their operands */
            for (uint32_t k = 0; k < c && !seen; k++)
                seen = p->second_scale[k] == p->second_scale[c] &&
                       p->second_shift[k] == p->second_shift[c];
            for (int64_t e = p->second_lo; !seen && e <= p->second_hi; e++) {
                h = (h ^ (uint64_t)assay_fit_term(p, t / 8, t % 8, e, c)) *
                    0xff51afd7ed558ccdu;
                h ^= h >> 32;
            }
        }
        if (p->second_scale && all)
            hash[t] = h;
        for (unsigned k = 0; k < t && terms[t] == t; k++)
            if (hash[k] == hash[t])
                terms[t] = (uint8_t)k;
    }
}

/* ---- staircases ------------------------------------------------------------ */

struct stairs {
    const struct assay_fit_problem *p;
    const struct assay_fit_choice *all;
    size_t n;
    uint32_t *class; /* 0: not known to differ from the first; 1: it does */
    uint32_t channel;
    size_t left; /* points that may still be evaluated */
    struct assay_fit_witness *witness;
    size_t n_witness, cap_witness;
};

static int64_t at(const struct stairs *s, size_t k, int64_t acc)
{
    return assay_fit_output(s->p, &s->all[k], acc, 0, s->channel);
}

static bool rises(const struct assay_fit_problem *p,
                  const struct assay_fit_choice *c)
{
    unsigned m = c->v[ASSAY_FIT_MIDDLE], d = c->v[ASSAY_FIT_DERIVE];
    if (c->v[ASSAY_FIT_WIDTH] == 1 || m == 2 || m == 4 || c->v[ASSAY_FIT_OUT])
        return false;
    for (uint32_t k = 0; p->scale[d] && k < p->channels; k++)
        if (p->scale[d][k] < 0)
            return false;
    return !p->second_scale || c->v[ASSAY_FIT_SECOND] == ASSAY_FIT_AT_ACC;
}

/* Who differs from candidate 0 at one accumulator? class: 0 nobody knows of a
 * difference, 1 it differs. */
static void compare(struct stairs *s, int64_t acc)
{
    int64_t first = at(s, 0, acc);
    bool told = false;

    s->left -= s->left < s->n ? s->left : s->n;
    for (size_t k = 1; k < s->n; k++) {
        if (s->class[k] || at(s, k, acc) == first)
            continue;
        s->class[k] = 1;
        if (!told && s->n_witness < s->cap_witness)
            s->witness[s->n_witness++] =
                (struct assay_fit_witness){s->channel, acc};
        told = true;
    }
}

/* Steps of candidate 0 between two accumulators, by halving. */
static void steps(struct stairs *s, int64_t lo, int64_t f_lo, int64_t hi,
                  int64_t f_hi)
{
    while (f_lo != f_hi && s->left > 0) {
        int64_t mid = lo + (hi - lo) / 2, f;
        if (hi - lo == 1) {
            compare(s, lo);
            compare(s, hi);
            return;
        }
        s->left--;
        f = at(s, 0, mid);
        if (f != f_lo)
            steps(s, lo, f_lo, mid, f);
        lo = mid;
        f_lo = f;
    }
}

static bool same_join(const struct assay_fit_choice *a,
                      const struct assay_fit_choice *b)
{
    return a->v[ASSAY_FIT_SECOND] == b->v[ASSAY_FIT_SECOND] &&
           a->v[ASSAY_FIT_HOW] == b->v[ASSAY_FIT_HOW] &&
           a->v[ASSAY_FIT_SECOND_ROUND] == b->v[ASSAY_FIT_SECOND_ROUND];
}

/* Marks who differs from candidate 0; false: not all could be looked at. */
static bool climb(struct stairs *s)
{
    const struct assay_fit_problem *p = s->p;

    for (size_t k = 0; k < s->n; k++)
        s->class[k] = 0;
    for (uint32_t c = 0; c < p->channels && s->left > 0; c++) {
        struct range t = term_of(p, &s->all[0], c);
        int64_t lo = p->lo[c] + t.lo, hi = p->hi[c] + t.hi;
        s->channel = c;
        compare(s, lo);
        compare(s, hi);
        steps(s, lo, at(s, 0, lo), hi, at(s, 0, hi));
    }
    return s->left > 0;
}

/* choices[0 ... n) get class numbers: equal ones are proved equal. */
static int classify(const struct assay_fit_problem *p,
                    const struct assay_fit_choice *choices, size_t n,
                    uint32_t *class, struct assay_err *err)
{
    struct assay_fit_choice *group = assay_alloc(n * sizeof(*group));
    uint32_t *map = assay_alloc(2 * n * sizeof(*map));
    struct stairs s = {.p = p, .all = group, .left = POINTS};
    int rc = 0;

    if (!group || !map)
        rc = assay_fail(err, ASSAY_EMEMORY, "no memory for a proof");
    for (size_t k = 0; !rc && k < n; k++)
        class[k] = (uint32_t)n; /* none yet */
    for (size_t k = 0; !rc && k < n; k++) {
        if (class[k] < n)
            continue;
        class[k] = (uint32_t)k;
        if (!rises(p, &choices[k]))
            continue;
        s.n = 0;
        s.class = map + n;
        for (size_t j = k; j < n; j++)
            if (j == k || (class[j] == n && rises(p, &choices[j]) &&
                           same_join(&choices[j], &choices[k]))) {
                map[s.n] = (uint32_t)j;
                group[s.n++] = choices[j];
            }
        if (s.n < 2 || !climb(&s))
            continue;
        for (size_t j = 1; j < s.n; j++)
            if (s.class[j] == 0)
                class[map[j]] = (uint32_t)k;
    }
    assay_free(group);
    assay_free(map);
    return rc;
}

/* ---- a state --------------------------------------------------------------- */

/* Interpolations stay between what they mix: nothing to saturate. */
static void plain_enumerated(const struct assay_fit_layer *l,
                             struct assay_fit_choice *c)
{
    const struct assay_layer *y = assay_fit_layer_of(l);
    enum assay_dtype x = l->slice->tensors[y->inputs[0]].dtype;
    bool mixes = y->op == ASSAY_OP_RESIZE || y->op == ASSAY_OP_GRID_SAMPLE;

    if ((mixes && x == l->dtype) ||
        (y->op == ASSAY_OP_SEGMENT_TABLE && l->dtype == ASSAY_S16))
        c->v[ASSAY_FIT_OUT] = 0;
}

int assay_fit_prove(const struct assay_fit_layer *l, uint32_t *state,
                    size_t *classes, struct assay_err *err)
{
    const struct assay_fit_space *space = &l->problem.space;
    size_t n = assay_fit_size(space), kinds = 0;
    uint32_t *class = NULL;
    struct assay_fit_choice *choices = NULL;
    uint8_t terms[16];
    int rc = 0;

    if (l->kind == ASSAY_FIT_STAGED)
        same_terms(&l->problem, terms);
    for (size_t i = 0; !rc && i < n; i++) {
        struct assay_fit_choice c;
        if (!state[i])
            continue;
        c = assay_fit_choice_at(space, i);
        if (l->kind == ASSAY_FIT_STAGED)
            c = plain(&l->problem, terms, c);
        else
            plain_enumerated(l, &c);
        state[i] = (uint32_t)assay_fit_index(space, &c) + 1;
    }
    if (!rc)
        rc = assay_fit_pair(state, NULL, n, &kinds, err);
    *classes = kinds;
    if (rc || l->kind != ASSAY_FIT_STAGED || kinds < 2 || kinds > 4096)
        goto out;
    choices = assay_alloc(kinds * sizeof(*choices));
    class = assay_alloc(kinds * sizeof(*class));
    if (!choices || !class) {
        rc = assay_fail(err, ASSAY_EMEMORY, "no memory for a proof");
        goto out;
    }
    for (size_t i = n; i-- > 0;)
        if (state[i])
            choices[state[i] - 1] =
                plain(&l->problem, terms, assay_fit_choice_at(space, i));
    rc = classify(&l->problem, choices, kinds, class, err);
    for (size_t i = 0; !rc && i < n; i++)
        if (state[i])
            state[i] = class[state[i] - 1] + 1;
    if (!rc)
        rc = assay_fit_pair(state, NULL, n, classes, err);
out:
    assay_free(choices);
    assay_free(class);
    return rc;
}

size_t assay_fit_witnesses(const struct assay_fit_layer *l,
                           const struct assay_fit_choice *classes, size_t n,
                           struct assay_fit_witness *out, size_t cap)
{
    uint32_t class[REPRESENTATIVES];
    struct stairs s = {
        .p = &l->problem, .class = class, .witness = out, .cap_witness = cap};

    n = n < REPRESENTATIVES ? n : REPRESENTATIVES;
    for (size_t k = 0; k + 1 < n && s.n_witness < cap; k++) {
        s.all = classes + k;
        s.n = n - k;
        s.left = POINTS / 20;
        (void)climb(&s);
    }
    return s.n_witness;
}
