/* SPDX-License-Identifier: Apache-2.0 */
/* Other readings of one step, and whether they lead to another end. */
#include <math.h>

#include "host-tools/cause/parting.h"

struct readings {
    const struct assay_point *points, *p;
    const struct assay_preimage *set;
    uint32_t at;
    struct assay_reading *out;
    size_t n, cap;
};

static void keep(struct readings *r, enum assay_reading_kind kind,
                 enum assay_round round, union assay_value v)
{
    if (r->n < r->cap && assay_preimage_has(r->set, &v))
        r->out[r->n++] = (struct assay_reading){r->at, kind, round};
}

/* The point with another step. */
static void other_step(struct readings *r, enum assay_reading_kind kind,
                       const struct assay_step *s)
{
    struct assay_point p = *r->p;

    p.step = s;
    keep(r, kind, (enum assay_round)s->round, assay_point_value(r->points, &p));
}

static void other_kind(struct readings *r, enum assay_reading_kind kind,
                       enum assay_step_kind step, uint8_t bits)
{
    struct assay_step s = *r->p->step;

    s.kind = (uint8_t)step;
    s.bits = bits;
    other_step(r, kind, &s);
}

static void other_add(struct readings *r, enum assay_reading_kind kind,
                      enum assay_add_mode mode)
{
    struct assay_step s = *r->p->step;

    if (s.add_mode == mode)
        return;
    s.add_mode = (uint8_t)mode;
    other_step(r, kind, &s);
}

static void roundings(struct readings *r)
{
    struct assay_step s = *r->p->step;
    uint8_t last = s.kind == ASSAY_STEP_FROUND ? ASSAY_ROUND_ADD_HALF
                                               : ASSAY_ROUND_HALF_ZERO;

    for (uint8_t round = 0; round <= last; round++) {
        if (round == r->p->step->round)
            continue;
        s.round = round;
        other_step(r, ASSAY_READING_ROUND, &s);
    }
}

static void last_bits(struct readings *r)
{
    union assay_value v[2] = {r->p->v, r->p->v};
    bool wide = r->p->kind == ASSAY_VALUE_F64;

    for (int i = 0; i < 2; i++) {
        double to = i == 0 ? -INFINITY : INFINITY;

        if (wide)
            v[i].d = nextafter(v[i].d, to);
        else
            v[i].f = nextafterf(v[i].f, (float)to);
    }
    /* Both at once: one line. */
    keep(r, ASSAY_READING_LAST_BIT, ASSAY_ROUND_FLOOR,
         assay_preimage_has(r->set, &v[0]) ? v[0] : v[1]);
}

/* fma(v, a, b) as a product that is rounded, and a sum. */
static void twice(struct readings *r)
{
    struct assay_step s = *r->p->step;
    struct assay_point points[2] = {r->points[r->p->from[0]], *r->p};

    points[1].from[0] = 0;
    s.kind = ASSAY_STEP_FMUL;
    points[1].step = &s;
    points[0].v = assay_point_value(points, &points[1]);
    s.kind = ASSAY_STEP_FADD;
    s.a = s.b;
    keep(r, ASSAY_READING_TWICE, ASSAY_ROUND_FLOOR,
         assay_point_value(points, &points[1]));
}

static void of_integers(struct readings *r)
{
    const struct assay_step *s = r->p->step;
    union assay_value before = r->points[r->p->from[0]].v;
    union assay_value cut = {.i = assay_wrap(r->p->v.i, 32)};

    switch (s->kind) {
    case ASSAY_STEP_SHR:
    case ASSAY_STEP_ADD_INPUT:
    case ASSAY_STEP_ADD_SCALED: roundings(r); break;
    case ASSAY_STEP_SRDHM:
        other_kind(r, ASSAY_READING_NOT_ROUNDED, ASSAY_STEP_SDMULH, 0);
        break;
    case ASSAY_STEP_SDMULH:
        other_kind(r, ASSAY_READING_ROUNDED, ASSAY_STEP_SRDHM, 0);
        break;
    case ASSAY_STEP_SAT:
        other_kind(r, ASSAY_READING_WRAPS, ASSAY_STEP_WRAP, s->bits);
        keep(r, ASSAY_READING_EXACT, ASSAY_ROUND_FLOOR, before);
        break;
    case ASSAY_STEP_WRAP:
        other_kind(r, ASSAY_READING_SATURATES, ASSAY_STEP_SAT, s->bits);
        keep(r, ASSAY_READING_EXACT, ASSAY_ROUND_FLOOR, before);
        break;
    case ASSAY_STEP_ADD:
        other_add(r, ASSAY_READING_WRAPS, ASSAY_ADD_WRAP32);
        other_add(r, ASSAY_READING_SATURATES, ASSAY_ADD_SAT32);
        other_add(r, ASSAY_READING_EXACT, ASSAY_ADD_WIDE);
        break;
    case ASSAY_STEP_MUL:
    case ASSAY_STEP_SHL:
        keep(r, ASSAY_READING_CUT, ASSAY_ROUND_FLOOR, cut);
        break;
    default: break;
    }
}

/* A float factor, or a shift, that is off by one in its exponent. */
static void exponents(struct readings *r, bool twice_as_much)
{
    enum assay_reading_kind kind =
        twice_as_much ? ASSAY_READING_DOUBLE : ASSAY_READING_HALF;
    struct assay_step s = *r->p->step;
    union assay_value v = r->p->v;
    int64_t shift;

    if (s.kind == ASSAY_STEP_SHR || s.kind == ASSAY_STEP_SHL) {
        shift = s.a[s.n > 1 ? r->p->channel % s.n : 0];
        shift += twice_as_much == (s.kind == ASSAY_STEP_SHL) ? 1 : -1;
        s.n = 1;
        s.a = &shift;
        if (shift >= 0 && shift <= 62)
            other_step(r, kind, &s);
        return;
    }
    if (r->p->kind == ASSAY_VALUE_F64)
        v.d *= twice_as_much ? 2.0 : 0.5;
    else
        v.f *= twice_as_much ? 2.0f : 0.5f;
    keep(r, kind, ASSAY_ROUND_FLOOR, v);
}

static void of_step(struct readings *r)
{
    union assay_value before = r->points[r->p->from[0]].v;
    bool adds = false, clamps = false, scales = false;

    switch (r->p->step->kind) {
    case ASSAY_STEP_FROUND: roundings(r); break;
    case ASSAY_STEP_FFMA: twice(r); break;
    case ASSAY_STEP_FMUL:
    case ASSAY_STEP_FDIV:
    case ASSAY_STEP_SHR:
    case ASSAY_STEP_SHL: scales = true; break;
    case ASSAY_STEP_FCLAMP:
    case ASSAY_STEP_CLAMP: clamps = true; break;
    case ASSAY_STEP_FADD:
    case ASSAY_STEP_ADD:
    case ASSAY_STEP_ADD_ZP:
    case ASSAY_STEP_ADD_INPUT:
    case ASSAY_STEP_ADD_SCALED: adds = true; break;
    default: break;
    }
    if (r->p->step->kind >= ASSAY_STEP_FMUL &&
        r->p->step->kind <= ASSAY_STEP_FFMA)
        last_bits(r);
    of_integers(r);
    for (int k = 0; scales && k < 2; k++)
        exponents(r, k == 0);
    if (adds || clamps)
        keep(r, adds ? ASSAY_READING_NO_ADDEND : ASSAY_READING_LEFT_OUT,
             ASSAY_ROUND_FLOOR, before);
}

static void of_join(struct readings *r)
{
    const struct assay_point *p = r->p;
    union assay_value v = r->points[p->from[1]].v;

    if (p->how == ASSAY_COMBINE_FFMA) {
        v.f = v.f * p->k;
        v.f = r->points[p->from[0]].v.f + v.f;
        keep(r, ASSAY_READING_TWICE, ASSAY_ROUND_FLOOR, v);
    }
    if (p->kind == ASSAY_VALUE_F32)
        last_bits(r);
}

static void of_division(struct readings *r)
{
    static const enum assay_round rounds[] = {
        ASSAY_ROUND_FLOOR, ASSAY_ROUND_TRUNC, ASSAY_ROUND_HALF_UP,
        ASSAY_ROUND_HALF_EVEN, ASSAY_ROUND_HALF_AWAY};
    struct assay_point p = *r->p;

    if (p.kind != ASSAY_VALUE_INT) {
        last_bits(r);
        return;
    }
    for (size_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
        p.round = rounds[i];
        if (rounds[i] != r->p->round)
            keep(r, ASSAY_READING_ROUND, rounds[i],
                 assay_point_value(r->points, &p));
    }
}

size_t assay_parting_readings(const struct assay_point *points, uint32_t n,
                              const struct assay_preimage *sets,
                              struct assay_reading *out, size_t cap)
{
    struct readings r = {.points = points, .out = out, .cap = cap};

    for (uint32_t i = 0; i < n; i++) {
        r.at = i;
        r.p = &points[i];
        r.set = &sets[i];
        if (r.p->by == ASSAY_POINT_STEP)
            of_step(&r);
        else if (r.p->by == ASSAY_POINT_COMBINE)
            of_join(&r);
        else if (r.p->by == ASSAY_POINT_DIVIDE)
            of_division(&r);
    }
    return r.n;
}
