/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the calculation of one element must have been left, for another value
 * to come out. The calculation is a tree of points: where it starts, and what
 * each step leaves. Going back from the end, each point has the set of values
 * from which the rest, done as it is, gives the other value. So
 *   - the value that stands there is never in the set: the rest gives ours;
 *   - a set that is empty says that no value at that point, right or wrong,
 *     leads there: a step behind it was done otherwise;
 *   - a step that has another reading (another rounding, no saturation, ...)
 *     whose result lies in the set is enough by itself to explain it.
 * All steps but WRAP are monotone, so sets are intervals. Of a step that
 * wraps, the interval is that which lies as many turns away as our value.
 *
 * Pure functions, any thread. Points have been proved by a plan (range.h).
 */
#ifndef ASSAY_CAUSE_PARTING_H
#define ASSAY_CAUSE_PARTING_H

#include <stdbool.h>

#include "kernels/requant.h"
#include "lib/engine/range.h"

#define ASSAY_POINTS 64

enum assay_point_by {
    ASSAY_POINT_START = 0, /* an element, a sum, what a table gave */
    ASSAY_POINT_STEP,      /* a step of a program */
    ASSAY_POINT_COMBINE,   /* of two points */
    ASSAY_POINT_DIVIDE,    /* by a count of cells */
};

struct assay_point {
    enum assay_point_by by;
    enum assay_value_kind kind;    /* of v */
    union assay_value v;           /* ours */
    int64_t lo, hi;                /* START, INT: what it can be at all */
    uint32_t from[2];              /* earlier points; COMBINE: a and b */
    const struct assay_step *step; /* STEP; borrowed */
    size_t channel;                /* STEP with an operand for each */
    int32_t second;                /* STEP: what ADD_INPUT takes */
    enum assay_combine how;        /* COMBINE */
    float k;                       /* COMBINE_FFMA */
    int64_t n;                     /* DIVIDE: >= 1 */
    enum assay_round round;        /* DIVIDE of integers to one: by this; */
};                                 /* kind F32: in binary32 */

/* Sets points[i].v (and .kind of a STEP) from those in front of it. */
void assay_point_run(struct assay_point *points, uint32_t i);
/* What p leaves, a changed copy of one of them: `from` is of points. */
union assay_value assay_point_value(const struct assay_point *points,
                                    const struct assay_point *p);

/* The largest magnitude that a set of integers names: beyond is open. */
#define ASSAY_PREIMAGE_LIMIT ((int64_t)1 << 62)

struct assay_preimage {
    enum assay_value_kind kind;
    bool unknown;      /* nothing can be said: NaN, division by a point */
    bool empty;        /* no value leads there */
    int64_t lo, hi;    /* INT; at +-LIMIT: open on that side */
    double f_lo, f_hi; /* F32, F64; infinite: open */
};

/* The last point is the end; column: what came out there instead of its v.
 * Fills one set a point. */
void assay_parting_sets(const struct assay_point *points, uint32_t n,
                        const union assay_value *column,
                        struct assay_preimage *sets);
bool assay_preimage_has(const struct assay_preimage *s,
                        const union assay_value *v);
/*
 * The first point at which any value at all can lead there. True: no value in
 * front of it does, so that the calculation was left in that step or behind
 * it. False: a start, or a join of two ways, and nothing is ruled out.
 */
bool assay_parting_first(const struct assay_point *points, uint32_t n,
                         const struct assay_preimage *sets, uint32_t *at);

enum assay_reading_kind {
    ASSAY_READING_ROUND = 1,   /* rounded by `round` */
    ASSAY_READING_LEFT_OUT,    /* the step is left out */
    ASSAY_READING_NO_ADDEND,   /* what it adds is left out */
    ASSAY_READING_WRAPS,       /* wraps where it saturates */
    ASSAY_READING_SATURATES,   /* saturates where it wraps */
    ASSAY_READING_EXACT,       /* stays as it is where it wraps or saturates */
    ASSAY_READING_NOT_ROUNDED, /* sdmulh for srdhm */
    ASSAY_READING_ROUNDED,     /* srdhm for sdmulh */
    ASSAY_READING_TWICE,       /* a fused step that rounds twice */
    ASSAY_READING_LAST_BIT,    /* a float that is one bit higher or lower */
    ASSAY_READING_DOUBLE,      /* a factor, or a shift, of twice as much */
    ASSAY_READING_HALF,        /* ... of half as much */
    ASSAY_READING_CUT,         /* a product that is cut to 32 bits */
};

struct assay_reading {
    uint32_t point;
    enum assay_reading_kind kind;
    enum assay_round round;
};

/* Other readings of single steps that lead there, all others being as they
 * are; front to back, at most cap; how many. */
size_t assay_parting_readings(const struct assay_point *points, uint32_t n,
                              const struct assay_preimage *sets,
                              struct assay_reading *out, size_t cap);

#endif
