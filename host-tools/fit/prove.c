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

#include "host-tools/fit/prove.h"
#include "kernels/requant.h"

static int64_t sum(int64_t a, int64_t b)
{
    int64_t r;
    if (__builtin_add_overflow(a, b, &r))
        return a < 0 ? -ASSAY_FIT_FAR : ASSAY_FIT_FAR;
    return r < -ASSAY_FIT_FAR  ? -ASSAY_FIT_FAR
           : r > ASSAY_FIT_FAR ? ASSAY_FIT_FAR
                               : r;
}

static int64_t times(int64_t a, int64_t b)
{
    int64_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return (a < 0) != (b < 0) ? -ASSAY_FIT_FAR : ASSAY_FIT_FAR;
    return r < -ASSAY_FIT_FAR  ? -ASSAY_FIT_FAR
           : r > ASSAY_FIT_FAR ? ASSAY_FIT_FAR
                               : r;
}

static struct assay_fit_range moved(struct assay_fit_range r, int64_t lo,
                                    int64_t hi)
{
    return (struct assay_fit_range){sum(r.lo, lo), sum(r.hi, hi)};
}

static bool within(struct assay_fit_range r, unsigned bits)
{
    int64_t most = ((int64_t)1 << (bits - 1)) - 1;
    return r.lo >= -most - 1 && r.hi <= most;
}

/* What the second input adds in a channel. */
struct assay_fit_range assay_fit_term_range(const struct assay_fit_problem *p,
                                            const struct assay_fit_choice *c,
                                            uint32_t channel)
{
    int64_t a, b;
    if (!p->second_scale && !p->second_shift)
        return (struct assay_fit_range){0, 0};
    a = assay_fit_term(p, c->v[ASSAY_FIT_HOW], c->v[ASSAY_FIT_SECOND_ROUND],
                       p->second_lo, channel);
    b = assay_fit_term(p, c->v[ASSAY_FIT_HOW], c->v[ASSAY_FIT_SECOND_ROUND],
                       p->second_hi, channel);
    return a < b ? (struct assay_fit_range){a, b}
                 : (struct assay_fit_range){b, a};
}

static struct assay_fit_range joined(const struct assay_fit_problem *p,
                                     const struct assay_fit_choice *c,
                                     uint32_t channel, unsigned at,
                                     struct assay_fit_range r)
{
    struct assay_fit_range t = assay_fit_term_range(p, c, channel);
    int64_t b = p->bias ? p->bias[channel] : 0;
    if (c->v[ASSAY_FIT_BIAS] == at)
        r = moved(r, b, b);
    if (c->v[ASSAY_FIT_SECOND] == at)
        r = moved(r, t.lo, t.hi);
    return r;
}

struct assay_fit_range assay_fit_kept(struct assay_fit_range r, unsigned bits,
                                      bool wraps)
{
    int64_t most = ((int64_t)1 << (bits - 1)) - 1;
    if (within(r, bits))
        return r;
    if (wraps && assay_fit_is_near(r) &&
        (r.lo + most + 1) >> bits == (r.hi + most + 1) >> bits)
        return (struct assay_fit_range){
            assay_wrap(r.lo, bits), assay_wrap(r.hi, bits)}; /* as a whole */
    if (wraps)
        return (struct assay_fit_range){-most - 1, most};
    return (struct assay_fit_range){assay_sat(r.lo, bits),
                                    assay_sat(r.hi, bits)};
}

static struct assay_fit_range shifted(struct assay_fit_range r, int64_t by,
                                      unsigned round)
{
    if (by > 62)
        return (struct assay_fit_range){-1, 1};
    if (by < 0) {
        int64_t k = by < -61 ? ASSAY_FIT_FAR : (int64_t)1 << -by;
        return (struct assay_fit_range){times(r.lo, k), times(r.hi, k)};
    }
    return (struct assay_fit_range){
        assay_shr(r.lo, (int)by, (enum assay_round)round),
        assay_shr(r.hi, (int)by, (enum assay_round)round)};
}

struct assay_fit_stages assay_fit_follow(const struct assay_fit_problem *p,
                                         const struct assay_fit_choice *c,
                                         uint32_t channel)
{
    static const unsigned bits[5] = {63, 16, 16, 32, 32};
    unsigned d = c->v[ASSAY_FIT_DERIVE], m = c->v[ASSAY_FIT_MIDDLE];
    struct assay_fit_range r = {p->lo[channel], p->hi[channel]};
    struct assay_fit_stages s;

    s.sum = r = joined(p, c, channel, ASSAY_FIT_AT_ACC, r);
    if (c->v[ASSAY_FIT_WIDTH])
        r = assay_fit_kept(r, 32, c->v[ASSAY_FIT_WIDTH] == 1);
    s.pre = r;
    if (p->pre_shift)
        r = shifted(r, p->pre_shift[channel], c->v[ASSAY_FIT_PRE]);
    s.middle = r = joined(p, c, channel, ASSAY_FIT_AT_PRE, r);
    r = assay_fit_kept(r, bits[m], m == 2 || m == 4);
    if (p->scale[d]) {
        int64_t k = p->scale[d][channel], a = times(r.lo, k),
                b = times(r.hi, k);
        r = a < b ? (struct assay_fit_range){a, b}
                  : (struct assay_fit_range){b, a};
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

/* Nor to the left. */
static bool stays(const int64_t *by, uint32_t channels)
{
    for (uint32_t c = 0; by && c < channels; c++)
        if (by[c] != 0)
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
static uint8_t of_one_sign(uint8_t round, struct assay_fit_range r)
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

static struct assay_fit_range hull(struct assay_fit_range a,
                                   struct assay_fit_range b)
{
    return (struct assay_fit_range){a.lo < b.lo ? a.lo : b.lo,
                                    a.hi > b.hi ? a.hi : b.hi};
}

static bool out_fits(const struct assay_fit_problem *p,
                     struct assay_fit_range r)
{
    int64_t lo, hi;
    assay_dtype_range(p->dtype, &lo, &hi);
    return r.lo >= lo && r.hi <= hi;
}

/* Is a value of the second input added behind the width? */
static bool joins_behind(const struct assay_fit_problem *p,
                         const struct assay_fit_choice *c, unsigned at)
{
    return (p->second_scale || p->second_shift) && c->v[ASSAY_FIT_SECOND] > at;
}

/* Behind the middle: the output that a value there gives. */
static int64_t finish(const struct assay_fit_problem *p,
                      const struct assay_fit_choice *c, int64_t v,
                      uint32_t channel)
{
    /* What is in front does nothing to v. */
    struct assay_fit_problem rest = *p;
    struct assay_fit_choice k = *c;

    rest.pre_shift = NULL;
    rest.second_shift = rest.second_scale = NULL;
    k.v[ASSAY_FIT_WIDTH] = k.v[ASSAY_FIT_MIDDLE] = 0;
    if (k.v[ASSAY_FIT_BIAS] != ASSAY_FIT_AT_PRODUCT)
        rest.bias = NULL;
    return assay_fit_output(&rest, &k, v, 0, channel);
}

/* A saturation beyond which the output stays as it is at its ends: all that
 * follows rises. */
static bool absorbed(const struct assay_fit_problem *p,
                     const struct assay_fit_choice *c, unsigned bits)
{
    int64_t most = ((int64_t)1 << (bits - 1)) - 1;
    unsigned d = c->v[ASSAY_FIT_DERIVE];

    if (joins_behind(p, c, ASSAY_FIT_AT_PRE) || c->v[ASSAY_FIT_OUT])
        return false;
    for (uint32_t k = 0; k < p->channels; k++) {
        struct assay_fit_range r = assay_fit_follow(p, c, k).middle;
        if (p->scale[d] && p->scale[d][k] < 0)
            return false;
        if ((r.hi > most && finish(p, c, r.hi, k) != finish(p, c, most, k)) ||
            (r.lo < -most - 1 &&
             finish(p, c, r.lo, k) != finish(p, c, -most - 1, k)))
            return false;
    }
    return true;
}

static bool is_bare(const struct assay_fit_problem *p)
{
    return p->dtype == ASSAY_S32 && p->space.radix[ASSAY_FIT_MIDDLE] == 1 &&
           !p->pre_shift && !p->scale[0] && !p->post_shift[0];
}

/* Choices that cannot matter become 0. `terms`: for each way and rounding of
 * the second input the first one that adds the same. */
static struct assay_fit_choice plain(const struct assay_fit_problem *p,
                                     const uint8_t terms[16],
                                     struct assay_fit_choice c)
{
    static const unsigned bits[5] = {63, 16, 16, 32, 32};
    bool sum = true, middle = true, out = true, near = true;
    struct assay_fit_stages all = {0};

    if (p->second_scale) {
        unsigned t =
            terms[c.v[ASSAY_FIT_HOW] * 8 + c.v[ASSAY_FIT_SECOND_ROUND]];
        c.v[ASSAY_FIT_HOW] = (uint8_t)(t / 8);
        c.v[ASSAY_FIT_SECOND_ROUND] = (uint8_t)(t % 8);
    }
    for (uint32_t k = 0; k < p->channels; k++) {
        struct assay_fit_stages s = assay_fit_follow(p, &c, k);
        sum = sum && within(s.sum, 32);
        middle = middle && within(s.middle, bits[c.v[ASSAY_FIT_MIDDLE]]);
        out = out && out_fits(p, s.out);
        near = near && assay_fit_is_near(s.sum) &&
               assay_fit_is_near(s.middle) && assay_fit_is_near(s.post);
        all.pre = k ? hull(all.pre, s.pre) : s.pre;
        all.post = k ? hull(all.post, s.post) : s.post;
    }
    if (!near)
        return c;
    if (is_bare(p) && c.v[ASSAY_FIT_WIDTH] == 0) {
        /* Nothing is between the two widths of 32 bits. */
        c.v[ASSAY_FIT_WIDTH] = c.v[ASSAY_FIT_OUT] ? 1 : 2;
        c.v[ASSAY_FIT_OUT] = 0;
    }
    if (sum)
        c.v[ASSAY_FIT_WIDTH] = 0;
    if (out)
        c.v[ASSAY_FIT_OUT] = 0;
    if (middle || (c.v[ASSAY_FIT_MIDDLE] % 2 == 1 &&
                   absorbed(p, &c, bits[c.v[ASSAY_FIT_MIDDLE]])))
        c.v[ASSAY_FIT_MIDDLE] = 0;
    /* What is below 0 becomes 0, whichever way it was rounded. */
    if (p->relu && c.v[ASSAY_FIT_OUT] == 0 && all.post.lo < 0)
        all.post.lo = all.post.hi > 0 ? 0 : all.post.lo;
    c.v[ASSAY_FIT_PRE] = of_one_sign(c.v[ASSAY_FIT_PRE], all.pre);
    c.v[ASSAY_FIT_POST] = of_one_sign(c.v[ASSAY_FIT_POST], all.post);
    if (no_shift(p->pre_shift, p->channels)) {
        bool as_one = sum && stays(p->pre_shift, p->channels);
        c.v[ASSAY_FIT_PRE] = 0;
        for (unsigned d = ASSAY_FIT_BIAS; as_one && d <= ASSAY_FIT_SECOND; d++)
            if (c.v[d] == ASSAY_FIT_AT_PRE) {
                struct assay_fit_choice at = c;
                bool fits = true;
                at.v[d] = ASSAY_FIT_AT_ACC;
                for (uint32_t k = 0; k < p->channels; k++)
                    fits = fits && within(assay_fit_follow(p, &at, k).sum, 32);
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

static struct assay_fit_choice plain_at(const struct assay_fit_layer *l,
                                        const uint8_t terms[16], size_t index)
{
    struct assay_fit_choice c = assay_fit_choice_at(&l->problem.space, index);

    if (l->kind == ASSAY_FIT_STAGED)
        return plain(&l->problem, terms, c);
    plain_enumerated(l, &c);
    return c;
}

/* Choices of each class into fewer classes. */
static int join_classes(const struct assay_fit_layer *l,
                        const struct assay_fit_choice *choices, size_t n,
                        uint32_t *class, struct assay_err *err)
{
    bool done;
    int rc;

    if (l->kind == ASSAY_FIT_STAGED) {
        uint32_t *told = assay_alloc(n * sizeof(*told));
        rc = told ? assay_fit_find_points(l, choices, n, told, NULL, err)
                  : assay_fail(err, ASSAY_EMEMORY, "no memory for a proof");
        if (!rc)
            rc = assay_fit_stairs(&l->problem, choices, n, told, class, err);
        assay_free(told);
        return rc;
    }
    rc = assay_fit_every(l, choices, n, class, NULL, &done, err);
    for (size_t k = 0; !rc && !done && k < n; k++)
        class[k] = (uint32_t)k;
    return rc;
}

int assay_fit_prove(const struct assay_fit_layer *l, uint32_t *state,
                    size_t *classes, struct assay_err *err)
{
    const struct assay_fit_space *space = &l->problem.space;
    size_t n = assay_fit_size(space), kinds = 0;
    struct assay_fit_choice *choices = NULL;
    uint32_t *class = NULL;
    uint8_t terms[16];
    int rc;

    if (l->kind == ASSAY_FIT_STAGED)
        same_terms(&l->problem, terms);
    for (size_t i = 0; i < n; i++) {
        struct assay_fit_choice c;
        if (!state[i])
            continue;
        c = plain_at(l, terms, i);
        state[i] = (uint32_t)assay_fit_index(space, &c) + 1;
    }
    rc = assay_fit_pair(state, NULL, n, &kinds, err);
    *classes = kinds;
    if (rc || kinds < 2 || kinds > ASSAY_FIT_PROVED)
        return rc;
    choices = assay_alloc(kinds * sizeof(*choices));
    class = assay_alloc(kinds * sizeof(*class));
    if (!choices || !class)
        rc = assay_fail(err, ASSAY_EMEMORY, "no memory for a proof");
    for (size_t i = n; !rc && i-- > 0;)
        if (state[i])
            choices[state[i] - 1] = plain_at(l, terms, i);
    if (!rc)
        rc = join_classes(l, choices, kinds, class, err);
    for (size_t i = 0; !rc && i < n; i++)
        if (state[i])
            state[i] = class[state[i] - 1] + 1;
    if (!rc)
        rc = assay_fit_pair(state, NULL, n, classes, err);
    assay_free(choices);
    assay_free(class);
    return rc;
}
