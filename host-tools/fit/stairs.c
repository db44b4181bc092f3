/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A candidate without a wrap is a rising staircase of the accumulator, and two
 * of them are equal exactly if they agree on both sides of every step of one
 * of them. A wrap cuts a candidate in two: what is in front of it has to be
 * the same, and what is behind is a staircase of what the wrap leaves. Where
 * the output wraps, equal before it is equal behind it.
 */
#include <string.h>

#include "host-tools/fit/prove.h"
#include "kernels/requant.h"

#define POINTS 64000000u /* evaluations for one layer */

/* Where a candidate is cut: what is in front is not looked at. */
enum cut { WHOLE, BEHIND_WIDTH, BEHIND_MIDDLE };

struct stairs {
    const struct assay_fit_problem *p;
    struct assay_fit_problem view; /* what is behind the cut */
    int64_t *lo, *hi;              /* of the view, if it is cut */
    struct assay_fit_choice *all;  /* as they are in the view */
    size_t n;
    uint32_t *differs; /* 1: from the first */
    uint32_t channel;
    int64_t unit; /* sums are multiples of it: accumulators are counted in it */
    size_t open;  /* members that are not known to differ */
    size_t left;  /* points that may still be evaluated */
};

static int64_t at(const struct stairs *s, size_t k, int64_t acc)
{
    return assay_fit_output(&s->view, &s->all[k], acc * s->unit, 0, s->channel);
}

/* ---- comparing ------------------------------------------------------------- */

static void compare(struct stairs *s, int64_t acc)
{
    int64_t first = at(s, 0, acc);

    s->left -= s->left < s->open + 1 ? s->left : s->open + 1;
    for (size_t k = 1; k < s->n; k++)
        if (!s->differs[k] && at(s, k, acc) != first) {
            s->differs[k] = 1;
            s->open--;
        }
}

/* Steps of the first candidate between two accumulators, by halving. */
static void steps(struct stairs *s, int64_t lo, int64_t f_lo, int64_t hi,
                  int64_t f_hi)
{
    while (f_lo != f_hi && s->left > 0 && s->open > 0) {
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

static bool is_new(const struct stairs *s, uint32_t c)
{
    const struct assay_fit_problem *v = &s->view;
    const struct assay_fit_choice *k = &s->all[0];
    unsigned d = k->v[ASSAY_FIT_DERIVE];

    for (uint32_t j = 0; j < c && v->space.radix[ASSAY_FIT_DERIVE] == 1; j++)
        if (v->lo[j] <= v->lo[c] && v->hi[j] >= v->hi[c] &&
            (!v->unit || v->unit[j] == v->unit[c]) &&
            (!v->bias || v->bias[j] == v->bias[c]) &&
            (!v->pre_shift || v->pre_shift[j] == v->pre_shift[c]) &&
            (!v->scale[d] || v->scale[d][j] == v->scale[d][c]) &&
            (!v->post_shift[d] || v->post_shift[d][j] == v->post_shift[d][c]) &&
            !v->second_scale && !v->second_shift)
            return false;
    return true;
}

/* Marks who differs from the first; false: not all could be looked at. */
static bool climb(struct stairs *s)
{
    for (size_t k = 0; k < s->n; k++)
        s->differs[k] = 0;
    s->open = s->n - 1;
    for (uint32_t c = 0; c < s->view.channels && s->open > 0; c++) {
        struct assay_fit_range t =
            assay_fit_term_range(&s->view, &s->all[0], c);
        int64_t lo = s->view.lo[c] + t.lo, hi = s->view.hi[c] + t.hi;
        if (!is_new(s, c))
            continue;
        if (s->left == 0)
            return false;
        s->channel = c;
        s->unit = s->view.unit ? s->view.unit[c] : 1;
        lo /= s->unit; /* both ends are multiples */
        hi /= s->unit;
        compare(s, lo);
        compare(s, hi);
        steps(s, lo, at(s, 0, lo), hi, at(s, 0, hi));
    }
    return s->left > 0;
}

/* ---- views ----------------------------------------------------------------- */

static enum cut cut_of(const struct assay_fit_choice *c)
{
    unsigned m = c->v[ASSAY_FIT_MIDDLE];
    return m == 2 || m == 4             ? BEHIND_MIDDLE
           : c->v[ASSAY_FIT_WIDTH] == 1 ? BEHIND_WIDTH
                                        : WHOLE;
}

static bool same(const struct assay_fit_choice *a,
                 const struct assay_fit_choice *b, enum assay_fit_dim d)
{
    return a->v[d] == b->v[d];
}

/* Are both cut at the same place, with the same in front, and does the second
 * input join alike? */
static bool belongs(const struct assay_fit_choice *a,
                    const struct assay_fit_choice *b)
{
    enum cut cut = cut_of(a);

    if (cut != cut_of(b) || !same(a, b, ASSAY_FIT_OUT) ||
        !same(a, b, ASSAY_FIT_SECOND) || !same(a, b, ASSAY_FIT_HOW) ||
        !same(a, b, ASSAY_FIT_SECOND_ROUND))
        return false;
    if (cut != WHOLE &&
        (!same(a, b, ASSAY_FIT_BIAS) || !same(a, b, ASSAY_FIT_WIDTH)))
        return false;
    return cut != BEHIND_MIDDLE ||
           (same(a, b, ASSAY_FIT_MIDDLE) && same(a, b, ASSAY_FIT_PRE));
}

/* Has the view of this candidate a value for each of its channel's sums? The
 * second input may only move the sum itself. */
static bool can_be_seen(const struct assay_fit_problem *p,
                        const struct assay_fit_choice *c)
{
    bool second = p->second_scale || p->second_shift;
    unsigned d = c->v[ASSAY_FIT_DERIVE];

    if (second && c->v[ASSAY_FIT_SECOND] != ASSAY_FIT_AT_ACC)
        return false;
    for (uint32_t k = 0; k < p->channels; k++) {
        struct assay_fit_stages s = assay_fit_follow(p, c, k);
        if ((p->scale[d] && p->scale[d][k] < 0) || !assay_fit_is_near(s.sum) ||
            !assay_fit_is_near(s.middle) || !assay_fit_is_near(s.post))
            return false;
        if (c->v[ASSAY_FIT_OUT] &&
            (s.out.lo < INT32_MIN || s.out.hi > INT32_MAX))
            return false;
    }
    return true;
}

static void look(struct stairs *s, const struct assay_fit_choice *c)
{
    enum cut cut = cut_of(c);
    unsigned m = c->v[ASSAY_FIT_MIDDLE];
    unsigned bits = cut == BEHIND_MIDDLE && m == 2 ? 16 : 32;

    s->view = *s->p;
    if (c->v[ASSAY_FIT_OUT]) { /* before it wraps */
        s->view.dtype = ASSAY_S32;
        s->view.relu = false;
    }
    if (cut == WHOLE)
        return;
    s->view.second_scale = s->view.second_shift = NULL;
    if (c->v[ASSAY_FIT_BIAS] <
        (cut == BEHIND_MIDDLE ? ASSAY_FIT_AT_PRODUCT : ASSAY_FIT_AT_PRE))
        s->view.bias = NULL;
    if (cut == BEHIND_MIDDLE)
        s->view.pre_shift = NULL;
    for (uint32_t k = 0; k < s->p->channels; k++) {
        struct assay_fit_stages t = assay_fit_follow(s->p, c, k);
        struct assay_fit_range r = cut == BEHIND_MIDDLE ? t.middle : t.sum;
        r = assay_fit_kept(r, bits, true);
        s->lo[k] = r.lo;
        s->hi[k] = r.hi;
    }
    s->view.unit = NULL;
    s->view.lo = s->lo;
    s->view.hi = s->hi;
}

static struct assay_fit_choice seen(struct assay_fit_choice c)
{
    enum cut cut = cut_of(&c);

    if (cut == BEHIND_MIDDLE)
        c.v[ASSAY_FIT_MIDDLE] = 0;
    if (cut != WHOLE)
        c.v[ASSAY_FIT_WIDTH] = 0;
    c.v[ASSAY_FIT_OUT] = 0;
    return c;
}

/* The group of candidate k: those behind it that may be equal. */
static size_t gather(struct stairs *s, const struct assay_fit_choice *choices,
                     size_t n, size_t k, const uint32_t *class,
                     const uint32_t *told, uint32_t *map)
{
    size_t found = 0;

    for (size_t j = k; j < n; j++) {
        if (j != k && (class[j] < n || told[j] != told[k] ||
                       !belongs(&choices[k], &choices[j]) ||
                       !can_be_seen(s->p, &choices[j])))
            continue;
        map[found] = (uint32_t)j;
        s->all[found++] = seen(choices[j]);
    }
    return found;
}

int assay_fit_stairs(const struct assay_fit_problem *p,
                     const struct assay_fit_choice *choices, size_t n,
                     const uint32_t *told, uint32_t *class,
                     struct assay_err *err)
{
    struct stairs s = {.p = p, .left = POINTS};
    uint32_t *map = assay_alloc(2 * n * sizeof(*map));
    int rc = 0;

    s.all = assay_alloc(n * sizeof(*s.all));
    s.lo = assay_alloc(2 * p->channels * sizeof(*s.lo) + 8);
    if (!s.all || !map || !s.lo)
        rc = assay_fail(err, ASSAY_EMEMORY, "no memory for a proof");
    else
        s.hi = s.lo + p->channels, s.differs = map + n;
    for (size_t k = 0; !rc && k < n; k++)
        class[k] = (uint32_t)n; /* none yet */
    for (size_t k = 0; !rc && k < n; k++) {
        if (class[k] < n)
            continue;
        class[k] = (uint32_t)k;
        if (!can_be_seen(p, &choices[k]))
            continue;
        look(&s, &choices[k]);
        s.n = gather(&s, choices, n, k, class, told, map);
        if (s.n < 2 || !climb(&s))
            continue;
        for (size_t j = 1; j < s.n; j++)
            if (!s.differs[j])
                class[map[j]] = (uint32_t)k;
    }
    assay_free(s.all);
    assay_free(s.lo);
    assay_free(map);
    return rc;
}
