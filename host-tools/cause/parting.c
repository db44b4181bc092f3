/* SPDX-License-Identifier: Apache-2.0 */
/* Points of a calculation, and the sets of values that lead to another end. */
#include "host-tools/cause/parting.h"

#include <math.h>
#include <string.h>

#define LIMIT ASSAY_PREIMAGE_LIMIT

__extension__ typedef __int128 assay_wide;

/* ---- what a point does -------------------------------------------------------- */

static int64_t operand(const struct assay_point *p, const int64_t *v)
{
    return v == NULL ? 0 : v[p->step->n > 1 ? p->channel % p->step->n : 0];
}

static double f64_of(int64_t bits)
{
    double d;

    memcpy(&d, &bits, sizeof(d));
    return d;
}

static double f32_of(int64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float f;

    memcpy(&f, &low, sizeof(f));
    return (double)f;
}

static bool on_floats(const struct assay_step *s)
{
    return s->kind >= ASSAY_STEP_FMUL && s->kind <= ASSAY_STEP_FROUND;
}

/* x, rounded to an integer, within int32. */
static int64_t round_f64(double x, enum assay_round round)
{
    double low = floor(x), rest = x - low;
    bool half = rest == 0.5, up;

    if (round == ASSAY_ROUND_ADD_HALF)
        return round_f64(x + copysign(0.5, x), ASSAY_ROUND_TRUNC);
    if (isnan(x))
        return 0;
    if (!(fabs(x) < 4294967296.0))
        return x < 0 ? INT32_MIN : INT32_MAX;
    switch (round) {
    case ASSAY_ROUND_FLOOR: up = false; break;
    case ASSAY_ROUND_CEIL: up = rest > 0; break;
    case ASSAY_ROUND_TRUNC: up = x < 0 && rest > 0; break;
    case ASSAY_ROUND_HALF_UP: up = rest >= 0.5; break;
    case ASSAY_ROUND_HALF_DOWN: up = rest > 0.5; break;
    case ASSAY_ROUND_HALF_AWAY: up = rest > 0.5 || (half && x >= 0); break;
    case ASSAY_ROUND_HALF_ZERO: up = rest > 0.5 || (half && x < 0); break;
    default: up = rest > 0.5 || (half && fmod(low, 2.0) != 0.0); break;
    }
    return assay_sat((int64_t)low + up, 32);
}

/* assay_program_run() reads the value in front of a first step as binary32, so
 * steps on binary64 are here. */
static void run_f64(const struct assay_point *p, union assay_value *v)
{
    double a = f64_of(operand(p, p->step->a)),
           b = f64_of(operand(p, p->step->b));

    switch (p->step->kind) {
    case ASSAY_STEP_FMUL: v->d *= a; break;
    case ASSAY_STEP_FDIV: v->d /= a; break;
    case ASSAY_STEP_FADD: v->d += a; break;
    case ASSAY_STEP_FFMA: v->d = fma(v->d, a, b); break;
    case ASSAY_STEP_FCLAMP:
        v->d = v->d > a ? v->d : a;
        v->d = v->d < b ? v->d : b;
        break;
    default: v->i = round_f64(v->d, (enum assay_round)p->step->round); break;
    }
}

static void run_step(const struct assay_point *p, enum assay_value_kind before,
                     union assay_value *v)
{
    int64_t a = operand(p, p->step->a), b = operand(p, p->step->b);
    struct assay_program one = {.n_steps = 1, .steps = {*p->step}};
    const struct assay_block block = {
        .v = v, .n = 1, .channels = 1, .second = &p->second};

    if (before == ASSAY_VALUE_F64 && on_floats(p->step)) {
        run_f64(p, v);
        return;
    }
    one.steps[0].n = 1;
    one.steps[0].a = &a;
    one.steps[0].b = &b;
    assay_program_run(&one, &block);
}

/* s / n as kernels/ref/pool.c rounds it. */
static int64_t divide(int64_t s, int64_t n, enum assay_round round)
{
    int64_t q = s / n, rest = s % n, twice;

    if (rest < 0) {
        q--;
        rest += n;
    }
    twice = rest * 2;
    switch (round) {
    case ASSAY_ROUND_TRUNC: return q + (s < 0 && rest > 0);
    case ASSAY_ROUND_HALF_UP: return q + (twice >= n);
    case ASSAY_ROUND_HALF_EVEN:
        return q + (twice > n || (twice == n && (q & 1)));
    case ASSAY_ROUND_HALF_AWAY:
        return q + (twice > n || (twice == n && s >= 0));
    default: return q;
    }
}

/* What point p leaves where *v stands in place `side` of those in front. */
static void run_with(const struct assay_point *points,
                     const struct assay_point *p, unsigned side,
                     union assay_value *v)
{
    enum assay_value_kind before = points[p->from[side]].kind;
    union assay_value other = *v;

    switch (p->by) {
    case ASSAY_POINT_START: break;
    case ASSAY_POINT_STEP: run_step(p, before, v); break;
    case ASSAY_POINT_DIVIDE:
        if (p->kind == ASSAY_VALUE_INT)
            v->i = divide(v->i, p->n, p->round);
        else
            v->f =
                (before == ASSAY_VALUE_INT ? (float)v->i : v->f) / (float)p->n;
        break;
    case ASSAY_POINT_COMBINE:
        if (side == 1)
            *v = points[p->from[0]].v;
        else
            other = points[p->from[1]].v;
        assay_combine(p->how, p->k, v, &other, 1);
        break;
    }
}

static enum assay_value_kind kind_behind(const struct assay_step *s,
                                         enum assay_value_kind before)
{
    if (s->kind == ASSAY_STEP_TO_F32)
        return ASSAY_VALUE_F32;
    if (s->kind == ASSAY_STEP_TO_F64)
        return ASSAY_VALUE_F64;
    return s->kind == ASSAY_STEP_FROUND ? ASSAY_VALUE_INT : before;
}

union assay_value assay_point_value(const struct assay_point *points,
                                    const struct assay_point *p)
{
    union assay_value v = points[p->from[0]].v;

    run_with(points, p, 0, &v);
    return v;
}

void assay_point_run(struct assay_point *points, uint32_t i)
{
    struct assay_point *p = &points[i];

    if (p->by == ASSAY_POINT_START)
        return;
    if (p->by == ASSAY_POINT_STEP)
        p->kind = kind_behind(p->step, points[p->from[0]].kind);
    p->v = assay_point_value(points, p);
}

/* ---- sets --------------------------------------------------------------------- */

static double real_of(enum assay_value_kind kind, const union assay_value *v)
{
    return kind == ASSAY_VALUE_F64 ? v->d : (double)v->f;
}

/* -1: below the set, 0: in it, 1: above. */
static int compare(const struct assay_preimage *s, const union assay_value *v)
{
    double d;

    if (s->kind == ASSAY_VALUE_INT)
        return v->i < s->lo ? -1 : v->i > s->hi;
    d = real_of(s->kind, v);
    return d < s->f_lo ? -1 : d > s->f_hi;
}

bool assay_preimage_has(const struct assay_preimage *s,
                        const union assay_value *v)
{
    if (s->unknown || s->empty ||
        (s->kind != ASSAY_VALUE_INT && isnan(real_of(s->kind, v))))
        return false;
    return compare(s, v) == 0;
}

/* Floats in their order, +0 and -0 as one. */
static union assay_value value_at(enum assay_value_kind kind, int64_t key)
{
    uint64_t size = (uint64_t)(key < 0 ? -key : key);
    union assay_value v = {.i = key};
    uint32_t low = (uint32_t)size | (key < 0 ? 0x80000000u : 0);

    if (kind == ASSAY_VALUE_F32)
        memcpy(&v.f, &low, sizeof(v.f));
    if (kind == ASSAY_VALUE_F64) {
        size |= key < 0 ? (uint64_t)1 << 63 : 0;
        memcpy(&v.d, &size, sizeof(v.d));
    }
    return v;
}

static int64_t last_key(enum assay_value_kind kind)
{
    switch (kind) {
    case ASSAY_VALUE_F32: return 0x7f800000; /* infinity */
    case ASSAY_VALUE_F64: return 0x7ff0000000000000;
    default: return LIMIT;
    }
}

struct search {
    const struct assay_point *points, *p;
    unsigned side;
    int sign; /* of the slope */
    const struct assay_preimage *behind;
    enum assay_value_kind kind; /* in front */
};

static int place(const struct search *s, int64_t key)
{
    union assay_value v = value_at(s->kind, key);

    run_with(s->points, s->p, s->side, &v);
    return s->sign * compare(s->behind, &v);
}

/* The least key in lo..hi + 1 that is not below (above: that is above). */
static int64_t edge(const struct search *s, int64_t lo, int64_t hi, bool above)
{
    while (lo <= hi) {
        int64_t mid = (lo & hi) + ((lo ^ hi) >> 1); /* no overflow */
        int at = place(s, mid);

        if (at < 0 || (above && at == 0))
            lo = mid + 1;
        else
            hi = mid - 1;
    }
    return lo;
}

static void bisect(const struct search *s, int64_t lo, int64_t hi,
                   struct assay_preimage *out)
{
    int64_t first = edge(s, lo, hi, false), end = edge(s, lo, hi, true);
    union assay_value ends[2];

    out->empty = first >= end;
    if (out->empty)
        return;
    ends[0] = value_at(s->kind, first);
    ends[1] = value_at(s->kind, end - 1);
    out->lo = first;
    out->hi = end - 1;
    if (s->kind != ASSAY_VALUE_INT) {
        out->f_lo = real_of(s->kind, &ends[0]);
        out->f_hi = real_of(s->kind, &ends[1]);
    }
}

static assay_wide floor_div(assay_wide a, assay_wide b)
{
    assay_wide q = a / b;

    return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

static int64_t clip(assay_wide v)
{
    return v > LIMIT ? LIMIT : v < -LIMIT ? -LIMIT : (int64_t)v;
}

/* v * m + add = something in `behind`; open ends stay open. */
static void affine(const struct assay_preimage *behind, assay_wide m,
                   assay_wide add, struct assay_preimage *out)
{
    bool open_lo = behind->lo <= -LIMIT, open_hi = behind->hi >= LIMIT;
    assay_wide lo = behind->lo - add, hi = behind->hi - add;

    if (m == 0) {
        out->empty = (!open_lo && lo > 0) || (!open_hi && hi < 0);
        out->lo = -LIMIT;
        out->hi = LIMIT;
        return;
    }
    if (m < 0) {
        assay_wide t = lo;
        bool open = open_lo;

        lo = -hi;
        hi = -t;
        m = -m;
        open_lo = open_hi;
        open_hi = open;
    }
    out->lo = open_lo ? -LIMIT : clip(-floor_div(-lo, m));
    out->hi = open_hi ? LIMIT : clip(floor_div(hi, m));
    out->empty = out->lo > out->hi;
}

/* Of a step that wraps to `bits`: as many turns away as ours. */
static void unwrap(const struct assay_preimage *behind, unsigned bits,
                   int64_t add, int64_t ours, struct assay_preimage *out)
{
    int64_t most = ((int64_t)1 << (bits - 1)) - 1;
    assay_wide turns = (assay_wide)ours + add - assay_wrap(ours + add, bits);
    int64_t lo = behind->lo > -most - 1 ? behind->lo : -most - 1;
    int64_t hi = behind->hi < most ? behind->hi : most;

    out->empty = lo > hi;
    out->lo = clip(lo + turns - add);
    out->hi = clip(hi + turns - add);
}

/* Integers that are moved and stretched; false: another kind of step. */
static bool undo_affine(const struct assay_point *points,
                        const struct assay_point *p,
                        const struct assay_preimage *behind,
                        struct assay_preimage *out)
{
    const struct assay_step *s = p->step;
    int64_t a = operand(p, s->a);
    union assay_value zero = {.i = 0};

    switch (s->kind) {
    case ASSAY_STEP_ADD:
        if (s->add_mode == ASSAY_ADD_WRAP32)
            unwrap(behind, 32, a, points[p->from[0]].v.i, out);
        else if (s->add_mode == ASSAY_ADD_WIDE)
            affine(behind, 1, a, out);
        return s->add_mode != ASSAY_ADD_SAT32;
    case ASSAY_STEP_ADD_ZP: affine(behind, 1, a, out); return true;
    case ASSAY_STEP_SHL:
        affine(behind, (assay_wide)1 << a, 0, out);
        return true;
    case ASSAY_STEP_SHR:
        if (a <= 0)
            affine(behind, (assay_wide)1 << -a, 0, out);
        return a <= 0;
    case ASSAY_STEP_MUL: affine(behind, a, 0, out); return true;
    case ASSAY_STEP_ADD_INPUT:
    case ASSAY_STEP_ADD_SCALED:
        run_step(p, ASSAY_VALUE_INT, &zero);
        affine(behind, 1, zero.i, out);
        return true;
    case ASSAY_STEP_WRAP:
        unwrap(behind, s->bits, 0, points[p->from[0]].v.i, out);
        return true;
    default: return false;
    }
}

/* +1 or -1: the value behind rises or falls; 0: neither. */
static int slope(const struct assay_point *points, const struct assay_point *p,
                 unsigned side)
{
    const struct assay_point *other = &points[p->from[1 - side]];
    double by = 1.0;

    if (p->by == ASSAY_POINT_STEP) {
        int64_t a = operand(p, p->step->a);
        bool wide = points[p->from[0]].kind == ASSAY_VALUE_F64;

        if (p->step->kind == ASSAY_STEP_SRDHM ||
            p->step->kind == ASSAY_STEP_SDMULH)
            by = (double)a;
        if (p->step->kind == ASSAY_STEP_FMUL ||
            p->step->kind == ASSAY_STEP_FDIV ||
            p->step->kind == ASSAY_STEP_FFMA)
            by = wide ? f64_of(a) : f32_of(a);
    } else if (p->by == ASSAY_POINT_COMBINE) {
        switch (p->how) {
        case ASSAY_COMBINE_FSUB: by = side == 0 ? 1.0 : -1.0; break;
        case ASSAY_COMBINE_FMUL: by = (double)other->v.f; break;
        case ASSAY_COMBINE_FDIV:
            by = side == 0 ? (double)other->v.f : 0.0;
            break;
        case ASSAY_COMBINE_FFMA: by = side == 0 ? 1.0 : (double)p->k; break;
        default: break;
        }
        if (other->kind == ASSAY_VALUE_F32 && !isfinite(other->v.f))
            by = 0.0;
    }
    return by > 0.0 ? 1 : by < 0.0 ? -1 : 0;
}

/* Two integers, of which the other one stays. */
static bool undo_join(const struct assay_point *points,
                      const struct assay_point *p, unsigned side,
                      const struct assay_preimage *behind,
                      struct assay_preimage *out)
{
    int64_t other = points[p->from[1 - side]].v.i;

    switch (p->how) {
    case ASSAY_COMBINE_ADD: affine(behind, 1, other, out); return true;
    case ASSAY_COMBINE_SUB:
        if (side == 0)
            affine(behind, 1, -(assay_wide)other, out);
        else
            affine(behind, -1, other, out);
        return true;
    case ASSAY_COMBINE_MUL: affine(behind, other, 0, out); return true;
    default: return false;
    }
}

/* The set in front of point p on one side, from the set behind it. */
static void undo(const struct assay_point *points, const struct assay_point *p,
                 unsigned side, const struct assay_preimage *behind,
                 struct assay_preimage *out)
{
    const struct assay_point *before = &points[p->from[side]];
    struct search s = {points, p,           side, slope(points, p, side),
                       behind, before->kind};
    int64_t last = last_key(before->kind);

    *out = (struct assay_preimage){.kind = before->kind,
                                   .unknown = behind->unknown,
                                   .empty = behind->empty};
    if (out->unknown || out->empty ||
        (p->by == ASSAY_POINT_STEP && undo_affine(points, p, behind, out)) ||
        (p->by == ASSAY_POINT_COMBINE &&
         undo_join(points, p, side, behind, out)))
        return;
    if (s.sign == 0) {
        out->unknown = true;
        return;
    }
    if (p->by == ASSAY_POINT_STEP && (p->step->kind == ASSAY_STEP_SRDHM ||
                                      p->step->kind == ASSAY_STEP_SDMULH))
        last = INT32_MAX;
    bisect(&s, last == INT32_MAX ? INT32_MIN : -last, last, out);
}

/* What a start can be at all. */
static void within(const struct assay_point *p, struct assay_preimage *s)
{
    if (p->kind != ASSAY_VALUE_INT || s->unknown || s->empty)
        return;
    s->lo = s->lo > p->lo ? s->lo : p->lo;
    s->hi = s->hi < p->hi ? s->hi : p->hi;
    s->empty = s->lo > s->hi;
}

static unsigned sources(const struct assay_point *p)
{
    return p->by == ASSAY_POINT_START     ? 0
           : p->by == ASSAY_POINT_COMBINE ? 2
                                          : 1;
}

void assay_parting_sets(const struct assay_point *points, uint32_t n,
                        const union assay_value *column,
                        struct assay_preimage *sets)
{
    const struct assay_point *end = &points[n - 1];

    for (uint32_t i = 0; i < n; i++)
        sets[i] =
            (struct assay_preimage){.kind = points[i].kind, .unknown = true};
    sets[n - 1].unknown =
        end->kind != ASSAY_VALUE_INT && isnan(real_of(end->kind, column));
    if (end->kind == ASSAY_VALUE_INT)
        sets[n - 1].lo = sets[n - 1].hi = column->i;
    else
        sets[n - 1].f_lo = sets[n - 1].f_hi = real_of(end->kind, column);
    for (uint32_t i = n; i-- > 0;) {
        for (unsigned k = 0; k < sources(&points[i]); k++)
            undo(points, &points[i], k, &sets[i], &sets[points[i].from[k]]);
        if (points[i].by == ASSAY_POINT_START)
            within(&points[i], &sets[i]);
    }
}

bool assay_parting_first(const struct assay_point *points, uint32_t n,
                         const struct assay_preimage *sets, uint32_t *at)
{
    *at = n - 1;
    for (;;) {
        const struct assay_point *p = &points[*at];
        unsigned open = 0, way = 0;

        for (unsigned k = 0; k < sources(p); k++) {
            if (sets[p->from[k]].empty)
                continue;
            open++;
            way = k;
        }
        if (open != 1)
            return open == 0 && sources(p) > 0;
        *at = p->from[way];
    }
}
