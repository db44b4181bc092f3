/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accumulators of a staged layer for which choices that are left give
 * different outputs: they are looked for where rules differ, at the ends of
 * every width, at ties of both shifts, at small values of both signs.
 */
#include <string.h>

#include "host-tools/fit/pool.h"
#include "kernels/requant.h"

#define CHANNELS 24u /* that are looked at */
#define TARGETS 160u /* in each */
#define EDGES 200u   /* the same */

struct hunt {
    const struct assay_fit_layer *l;
    const struct assay_fit_problem *p;
    const struct assay_fit_choice *choices;
    size_t n;
    uint64_t seed;
    uint32_t *class, *was; /* the first choice that gave the same so far */
    int64_t *out;
    size_t classes;
    struct assay_fit_points *points;
    bool product, same;   /* of two tensors; both inputs are one tensor */
    int64_t lo[2], hi[2]; /* the factors' */
};

static int64_t between(struct hunt *h, int64_t lo, int64_t hi)
{
    h->seed ^= h->seed << 13;
    h->seed ^= h->seed >> 7;
    h->seed ^= h->seed << 17;
    return lo + (int64_t)(h->seed % (uint64_t)(hi - lo + 1));
}

static int64_t at(const int64_t *v, uint32_t c, int64_t none)
{
    return v ? v[c] : none;
}

/* ---- trying ---------------------------------------------------------------- */

/* Keeps the point if it tells apart what was not yet. */
static void try_point(struct hunt *h, struct assay_fit_point point)
{
    size_t before = h->classes;
    int64_t unit = h->p->unit ? h->p->unit[point.channel] : 1;

    if (point.acc % unit)
        return;

    memcpy(h->was, h->class, h->n * sizeof(*h->was));
    for (size_t k = 0; k < h->n; k++) {
        size_t from = h->was[k], j = from;
        h->out[k] = assay_fit_output(h->p, &h->choices[k], point.acc,
                                     point.second, point.channel);
        while (j < k && (h->was[j] != from || h->class[j] != j ||
                         h->out[j] != h->out[k]))
            j++;
        h->class[k] = (uint32_t)j;
        h->classes += j == k && k != from;
    }
    if (h->classes > before && h->points && h->points->n < h->points->cap)
        h->points->v[h->points->n++] = point;
}

/* A factor of v if there is one; the rest of the division is left out. */
static int64_t factor_of(struct hunt *h, int64_t v)
{
    int64_t e = 0;

    for (unsigned i = 0; i < 48; i++) {
        int64_t k = between(h, h->lo[1], h->hi[1]);
        if (i < 16)
            k = k < 0 ? -(-k >> i) : k >> i;
        if (k == 0)
            continue;
        e = k;
        if (v % k == 0 && v / k >= h->lo[0] && v / k <= h->hi[0])
            return k;
    }
    return e;
}

static int64_t rounded(const struct assay_fit_problem *p, uint32_t c, int64_t v)
{
    return p->unit ? v - v % p->unit[c] : v;
}

/* A point of which the accumulator, or what has joined it, is near v. */
static void try_value(struct hunt *h, uint32_t c, int64_t v)
{
    const struct assay_fit_problem *p = h->p;
    bool second = h->l->second != NULL;
    int64_t by = at(p->x_shift, c, 0), joined, b;
    struct assay_fit_point t = {.channel = c, .acc = rounded(p, c, v)};

    if (h->product) {
        int64_t e = factor_of(h, v), x = e ? v / e : 0;
        x = x < h->lo[0] ? h->lo[0] : x > h->hi[0] ? h->hi[0] : x;
        t.second = h->same ? x : e;
        t.acc = x * t.second;
    } else if (second) {
        t.second = between(h, p->second_lo, p->second_hi) >> between(h, 0, 7);
    }
    if (t.acc >= p->lo[c] && t.acc <= p->hi[c])
        try_point(h, t);
    if (h->product)
        return;
    b = at(p->bias, c, 0);
    joined = second ? assay_fit_term(p, h->choices[0].v[ASSAY_FIT_HOW],
                                     h->choices[0].v[ASSAY_FIT_SECOND_ROUND],
                                     t.second, c)
                    : 0;
    t.acc = v - b - joined;
    if (by > 0)
        t.acc = assay_shr(assay_shr(t.acc, (int)by, ASSAY_ROUND_FLOOR),
                          -(int)by, ASSAY_ROUND_FLOOR);
    t.acc = rounded(p, c, t.acc);
    if ((b || joined) && t.acc >= p->lo[c] && t.acc <= p->hi[c])
        try_point(h, t);
}

/* ---- where rules differ ---------------------------------------------------- */

struct scaling {
    int64_t by, scale, last; /* first shift, multiplier, last shift */
};

static int64_t left(int64_t v, int64_t by)
{
    return by > 30 || v > (int64_t)1 << 32 || v < -((int64_t)1 << 32)
               ? 0
               : v * ((int64_t)1 << by);
}

/* In front of the multiplier: v, and what is about it in front of the shift. */
static void middle(struct hunt *h, uint32_t c, const struct scaling *s,
                   int64_t v)
{
    int64_t low = s->by > 0 ? between(h, 0, left(1, s->by) - 1) : 0;
    try_value(h, c, left(v, s->by) + low);
    try_value(h, c, left(v, s->by));
}

static void ties(struct hunt *h, uint32_t c, const struct scaling *s)
{
    int64_t scale = s->scale < 0 ? -s->scale : s->scale, unit;
    int64_t most = assay_shr(h->p->hi[c], (int)s->by, ASSAY_ROUND_FLOOR) + 1;
    int64_t last = s->last;

    while (scale && scale % 2 == 0) {
        scale /= 2;
        last--;
    }
    if (last < 1 || last > 40)
        return;
    /* unit * scale is half of 2^last, as is every odd multiple of it. */
    unit = (int64_t)1 << (last - 1);
    for (unsigned i = 0; i < 24; i++) {
        int64_t k = i < 8 ? (int64_t)i : between(h, 0, most / unit / 2 + 1);
        middle(h, c, s, (2 * k + 1) * unit);
        middle(h, c, s, -(2 * k + 1) * unit);
    }
}

static void rails(struct hunt *h, uint32_t c, const struct scaling *s)
{
    static const int64_t wide[] = {(int64_t)1 << 15, (int64_t)1 << 16,
                                   (int64_t)1 << 31, (int64_t)1 << 32};
    int64_t lo, hi;

    for (unsigned i = 0; i < 4; i++)
        for (int64_t d = -2; d <= 2; d++) {
            middle(h, c, s, wide[i] + d);
            middle(h, c, s, -wide[i] + d);
            try_value(h, c, wide[i] + d);
            try_value(h, c, -wide[i] + d);
        }
    assay_dtype_range(h->p->dtype, &lo, &hi);
    for (int64_t d = -3; d <= 3; d++)
        for (int64_t k = 1; k <= 5 && s->scale; k += 2) {
            middle(h, c, s, left(k * (hi + 1) + d, s->last) / s->scale);
            middle(h, c, s, left(k * lo + d, s->last) / s->scale);
        }
    for (unsigned i = 0; i < 12; i++) {
        int64_t v = between(h, (int64_t)1 << 15, (int64_t)1 << 17);
        middle(h, c, s, i % 2 ? v : -v);
        v = between(h, (int64_t)1 << 31, (int64_t)1 << 33);
        try_value(h, c, i % 2 ? v : -v);
    }
}

/* The last sum from v on with the output of v, by a choice; v: it is far. */
static int64_t edge(const struct hunt *h, size_t k, uint32_t c, int64_t v)
{
    const struct assay_fit_choice *by = &h->choices[k];
    int64_t y = assay_fit_output(h->p, by, v, 0, c), step = 1;

    while (step < (int64_t)1 << 34 &&
           assay_fit_output(h->p, by, v + step, 0, c) == y)
        step *= 2;
    if (step == (int64_t)1 << 34)
        return v;
    for (int64_t lo = step / 2; step - lo > 1;) {
        int64_t mid = lo + (step - lo) / 2;
        if (assay_fit_output(h->p, by, v + mid, 0, c) == y)
            lo = mid;
        else
            step = mid;
    }
    return v + step - 1;
}

/* Both sides of steps of choices that something is still equal to. */
static void edges(struct hunt *h, uint32_t c)
{
    const struct assay_fit_problem *p = h->p;

    for (unsigned i = 0; i < EDGES && h->classes < h->n; i++) {
        size_t k = (size_t)between(h, 0, (int64_t)h->n - 1);
        int64_t v = between(h, p->lo[c], p->hi[c]);
        if (i % 2)
            v = (v < 0 ? -1 : 1) * ((v < 0 ? -v : v) >> between(h, 0, 24));
        v = edge(h, h->class[k] == k ? k : h->class[k], c, v);
        try_value(h, c, v);
        try_value(h, c, v + (p->unit ? p->unit[c] : 1));
    }
}

static void channel(struct hunt *h, uint32_t c)
{
    const struct assay_fit_problem *p = h->p;
    struct scaling s = {.by = at(p->pre_shift, c, 0)};

    for (int64_t d = 0; d < 3; d++) {
        try_value(h, c, p->lo[c] + d);
        try_value(h, c, p->hi[c] - d);
        try_value(h, c, (p->lo[c] >> 1) + d);
        try_value(h, c, (p->hi[c] >> 1) - d);
        try_value(h, c, d);
        try_value(h, c, -d);
    }
    for (unsigned i = 0; i < 24 && s.by > 0; i++) {
        int64_t k = i < 8 ? (int64_t)i / 2 : between(h, 0, p->hi[c] >> s.by);
        int64_t half = left(1, s.by - 1);
        try_value(h, c, left(i % 2 ? k : -k, s.by) + half);
    }
    for (unsigned d = 0; d < p->space.radix[ASSAY_FIT_DERIVE]; d++) {
        s.scale = at(p->scale[d], c, 1);
        s.last = at(p->post_shift[d], c, 0);
        if (s.by < 0 || s.last < 0)
            continue;
        ties(h, c, &s);
        rails(h, c, &s);
    }
    for (unsigned i = 0; i < TARGETS && h->classes < h->n; i++) {
        int64_t shift = between(h, 0, 30);
        try_value(h, c, between(h, p->lo[c], p->hi[c]) >> shift);
    }
    edges(h, c);
}

static void factors(struct hunt *h)
{
    const struct assay_layer *y = assay_fit_layer_of(h->l);

    h->product =
        y->op == ASSAY_OP_BINARY && y->p.binary.combine == ASSAY_COMBINE_MUL;
    h->same = y->n_inputs > 1 && y->inputs[0] == y->inputs[1];
    for (unsigned i = 0; h->product && i < 2; i++)
        assay_dtype_range(h->l->slice->tensors[y->inputs[i]].dtype, &h->lo[i],
                          &h->hi[i]);
}

int assay_fit_find_points(const struct assay_fit_layer *l,
                          const struct assay_fit_choice *choices, size_t n,
                          uint32_t *told, struct assay_fit_points *points,
                          struct assay_err *err)
{
    struct hunt h = {.l = l,
                     .p = &l->problem,
                     .choices = choices,
                     .n = n,
                     .seed = 0x2545f4914f6cdd1du,
                     .classes = 1,
                     .points = points};
    uint32_t channels = l->problem.channels, step = channels / CHANNELS + 1;
    int rc = 0;

    for (size_t k = 0; told && k < n; k++)
        told[k] = 0;
    if (n < 2)
        return 0;
    h.class = assay_calloc(2 * n, sizeof(*h.class));
    h.out = assay_alloc(n * sizeof(*h.out));
    h.was = h.class ? h.class + n : NULL;
    if (!h.class || !h.out)
        rc = assay_fail(err, ASSAY_EMEMORY, "no memory for a search");
    factors(&h);
    for (uint32_t i = 0; !rc && i < step && h.classes < n; i++)
        for (uint32_t c = i; c < channels && h.classes < n; c += step)
            if (i == 0 || c < channels / 4 || n < 64)
                channel(&h, c);
    if (!rc && told)
        memcpy(told, h.class, n * sizeof(*told));
    assay_free(h.class);
    assay_free(h.out);
    return rc;
}
