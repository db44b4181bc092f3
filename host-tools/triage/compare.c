/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/triage/compare.h"

#include <math.h>
#include <string.h>

static double load(const struct assay_array *a, size_t i)
{
    const uint8_t *p =
        (const uint8_t *)a->data + i * assay_dtype_bytes(a->dtype);
    uint16_t u16;
    int16_t s16;
    int32_t s32;
    int64_t s64;
    float f;

    switch (a->dtype) {
    case ASSAY_S8: return (int8_t)*p;
    case ASSAY_U8: return *p;
    case ASSAY_S16: memcpy(&s16, p, 2); return s16;
    case ASSAY_U16: memcpy(&u16, p, 2); return u16;
    case ASSAY_S32: memcpy(&s32, p, 4); return s32;
    case ASSAY_S64: memcpy(&s64, p, 8); return (double)s64;
    default: memcpy(&f, p, 4); return (double)f;
    }
}

static size_t count(const struct assay_array *a)
{
    return a->bytes / assay_dtype_bytes(a->dtype);
}

static bool same_dims(const struct assay_array *a, const struct assay_array *b,
                      const uint8_t *perm)
{
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[perm[i]])
            return false;
    return true;
}

enum assay_incomparable assay_pair_check(const struct assay_array *a,
                                         const struct assay_array *b,
                                         const struct assay_pair_scale *qa,
                                         const struct assay_pair_scale *qb,
                                         uint8_t perm[ASSAY_MAX_RANK])
{
    static const uint8_t moves[][4] = {{0, 2, 3, 1}, {0, 3, 1, 2}};
    bool int_a = assay_dtype_is_int(a->dtype),
         int_b = assay_dtype_is_int(b->dtype);

    for (uint32_t i = 0; i < ASSAY_MAX_RANK; i++)
        perm[i] = (uint8_t)i;
    if (a->rank != b->rank)
        return ASSAY_BAD_SHAPE;
    if (count(a) == 0)
        return count(b) == 0 ? ASSAY_BAD_EMPTY : ASSAY_BAD_SHAPE;
    for (int m = 0; !same_dims(a, b, perm); m++) {
        if (a->rank != 4 || m == 2)
            return ASSAY_BAD_SHAPE;
        memcpy(perm, moves[m], 4);
    }
    if (int_a != int_b && (int_a ? qa : qb)->scale == 0.0)
        return ASSAY_BAD_SCALE;
    return ASSAY_COMPARABLE;
}

/* Values of both sides, in a's order. */
struct walk {
    const struct assay_array *a, *b;
    double scale_a, scale_b; /* 1 for floats */
    double zero_a, zero_b;
    size_t step[ASSAY_MAX_RANK]; /* of b's elements along a's axes */
    int64_t at[ASSAY_MAX_RANK];
    size_t index_b;
};

static void begin(struct walk *w, const uint8_t *perm)
{
    size_t dense[ASSAY_MAX_RANK], step = 1;

    for (uint32_t i = w->b->rank; i-- > 0;) {
        dense[i] = step;
        step *= (size_t)w->b->dims[i];
    }
    for (uint32_t i = 0; i < w->a->rank; i++)
        w->step[i] = dense[perm[i]];
    memset(w->at, 0, sizeof(w->at));
    w->index_b = 0;
}

static void next(struct walk *w)
{
    for (uint32_t i = w->a->rank; i-- > 0;) {
        w->index_b += w->step[i];
        if (++w->at[i] < w->a->dims[i])
            return;
        w->index_b -= w->step[i] * (size_t)w->a->dims[i];
        w->at[i] = 0;
    }
}

static double real_a(const struct walk *w, size_t i)
{
    return (load(w->a, i) - w->zero_a) * w->scale_a;
}

static double real_b(const struct walk *w, size_t i)
{
    return (load(w->b, i) - w->zero_b) * w->scale_b;
}

static bool bits_differ(const struct walk *w, size_t i)
{
    size_t unit = assay_dtype_bytes(w->a->dtype);
    double a, b, scale;

    if (w->a->dtype == w->b->dtype)
        return memcmp((const uint8_t *)w->a->data + i * unit,
                      (const uint8_t *)w->b->data + w->index_b * unit,
                      unit) != 0;
    /* An integer and its real value, which binary32 has rounded. */
    a = real_a(w, i);
    b = real_b(w, w->index_b);
    scale = assay_dtype_is_int(w->a->dtype) ? w->scale_a : w->scale_b;
    return !(fabs(a - b) <= 1e-3 * scale);
}

static uint64_t mix(double v)
{
    uint64_t x;
    float f = (float)v + 0.0f; /* -0 is 0 */
    uint32_t u;

    memcpy(&u, &f, 4);
    x = u * 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}

static void find_ends(struct assay_pair_stats *s, const struct walk *w)
{
    s->min_a = s->min_b = INFINITY;
    s->max_a = s->max_b = -INFINITY;
    for (size_t i = 0; i < s->n; i++) {
        double a = real_a(w, i), b = real_b(w, i);

        if (isfinite(a)) {
            s->min_a = fmin(s->min_a, a);
            s->max_a = fmax(s->max_a, a);
        }
        if (isfinite(b)) {
            s->min_b = fmin(s->min_b, b);
            s->max_b = fmax(s->max_b, b);
        }
    }
}

/* 0 is where a rectifier ends: no sign of saturation. */
static bool at_end(double v, double lo, double hi)
{
    return (v == hi && hi > 0) || (v == lo && lo < 0);
}

static void add(struct assay_pair_stats *s, double a, double b, bool differs)
{
    double d = b - a;

    s->differing += differs;
    s->zero_a += a == 0;
    s->zero_b += b == 0;
    s->odd += isfinite(a) && !isfinite(b);
    s->bag_a += mix(a);
    s->bag_b += mix(b);
    if (!isfinite(a) || !isfinite(b))
        return;
    s->finite++;
    s->rail_a += at_end(a, s->min_a, s->max_a);
    s->rail_b += at_end(b, s->min_b, s->max_b);
    s->low_rail += differs && (a == s->min_a || b == s->min_b);
    if (a * b < 0 && fabs(d) >= 0.8 * (s->max_a - s->min_a)) {
        s->flipped++;
        s->dd_flipped += d * d;
    }
    s->aa += a * a;
    s->bb += b * b;
    s->ab += a * b;
    s->dd += d * d;
    s->sum_d += d;
    s->sum_abs += fabs(d);
    s->max_abs = fmax(s->max_abs, fabs(d));
}

/* The same bytes: all differences are 0, and one pass gives the rest. */
static bool identical(const struct walk *w, const uint8_t *perm)
{
    return w->a->dtype == w->b->dtype && w->scale_a == w->scale_b &&
           w->zero_a == w->zero_b && (w->a->rank != 4 || perm[1] == 1) &&
           memcmp(w->a->data, w->b->data, w->a->bytes) == 0;
}

static void take_identical(struct assay_pair_stats *s, const struct walk *w)
{
    for (size_t i = 0; i < s->n; i++) {
        double a = real_a(w, i);

        if (!isfinite(a))
            continue;
        s->finite++;
        s->aa += a * a;
    }
    s->bb = s->ab = s->aa;
}

void assay_pair_compare(struct assay_pair_stats *s, const struct assay_array *a,
                        const struct assay_array *b,
                        const struct assay_pair_scale *qa,
                        const struct assay_pair_scale *qb,
                        const uint8_t perm[ASSAY_MAX_RANK])
{
    bool int_a = assay_dtype_is_int(a->dtype),
         int_b = assay_dtype_is_int(b->dtype);
    bool bare = int_a && int_b && (qa->scale == 0 || qb->scale == 0);
    struct walk w = {.a = a, .b = b, .scale_a = 1, .scale_b = 1};

    memset(s, 0, sizeof(*s));
    s->n = count(a);
    if (int_a && !bare) {
        w.scale_a = qa->scale;
        w.zero_a = qa->zero;
    }
    if (int_b && !bare) {
        w.scale_b = qb->scale;
        w.zero_b = qb->zero;
    }
    s->unit = bare ? 1.0 : qb->scale > 0 ? qb->scale : qa->scale;
    if (identical(&w, perm)) {
        take_identical(s, &w);
        return;
    }
    begin(&w, perm);
    find_ends(s, &w);
    for (size_t i = 0; i < s->n; i++) {
        add(s, real_a(&w, i), real_b(&w, w.index_b), bits_differ(&w, i));
        next(&w);
    }
}

double assay_pair_cosine(const struct assay_pair_stats *s)
{
    if (s->aa == 0 && s->bb == 0)
        return 1.0;
    if (s->aa == 0 || s->bb == 0)
        return 0.0;
    return fmax(-1.0, fmin(1.0, s->ab / (sqrt(s->aa) * sqrt(s->bb))));
}

double assay_pair_l1(const struct assay_pair_stats *s)
{
    return s->n > 0 ? s->sum_abs / (double)s->n : 0.0;
}

double assay_pair_error(const struct assay_pair_stats *s)
{
    if (s->dd == 0)
        return 0.0;
    return s->aa > 0 ? fmin(sqrt(s->dd / s->aa), 1e9) : 1.0;
}

double assay_pair_lsb(const struct assay_pair_stats *s)
{
    return s->unit > 0 ? s->max_abs / s->unit : -1.0;
}
