/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of programs: which values meet a tie, an end, or a shift to the left. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/requant.h"
#include "lib/engine/probe_private.h"

#define BLOCK 1024    /* values at a time */
#define VALUE_WORK 40 /* about instructions */
#define STEP_WORK 36
#define MAGIC 12582912.0f /* added to round a small binary32 */

enum width { INTEGER, SINGLE, DOUBLE };

/* A step's view of a block of values. */
struct view {
    const struct assay_step *s;
    const struct assay_block *b;
    enum width width; /* of the values in front of the step */
};

static bool to_nearest(unsigned round)
{
    return round >= ASSAY_ROUND_HALF_UP && round <= ASSAY_ROUND_ADD_HALF;
}

static size_t operand(const struct view *w, size_t k)
{
    return w->s->n <= 1 ? 0 : (w->b->channel + k) % w->b->channels;
}

static double float_operand(const struct view *w, int64_t bits)
{
    uint32_t low = (uint32_t)bits;
    double d;
    float f;

    memcpy(&d, &bits, sizeof(d));
    memcpy(&f, &low, sizeof(f));
    return w->width == DOUBLE ? d : (double)f;
}

static double float_value(const struct view *w, size_t k)
{
    return w->width == DOUBLE ? w->b->v[k].d : (double)w->b->v[k].f;
}

/* ---- ties -------------------------------------------------------------------- */

static bool is_magic(const struct view *w)
{
    return w->s->kind == ASSAY_STEP_FADD && w->width == SINGLE &&
           w->s->n == 1 && float_operand(w, w->s->a[0]) == (double)MAGIC;
}

static bool rounds(const struct view *w)
{
    switch (w->s->kind) {
    case ASSAY_STEP_SHR:
    case ASSAY_STEP_ADD_INPUT:
    case ASSAY_STEP_ADD_SCALED:
        for (uint32_t i = 0; i < w->s->n; i++)
            if (w->s->a[i] > 0)
                return to_nearest(w->s->round);
        return false;
    case ASSAY_STEP_FROUND: return to_nearest(w->s->round);
    case ASSAY_STEP_SRDHM: return true;
    default: return is_magic(w);
    }
}

/* Are the bits that a shift drops just a half? */
static bool half(int64_t v, int64_t shift)
{
    uint64_t h = shift > 0 ? 1ull << (shift - 1) : 0;

    return shift > 0 && ((uint64_t)v & ((h << 1) - 1)) == h;
}

/* Without a call: what is beyond int32 has no half that anyone rounds. */
static bool float_half(double x)
{
    double rest;

    if (!(fabs(x) < 2147483648.0))
        return false;
    rest = x - (double)(int64_t)x; /* exact */
    return fabs(rest) == 0.5;
}

/* What the step rounds, as an integer with `a` bits behind the point. */
static int64_t rounded(const struct view *w, size_t k, int64_t a)
{
    int64_t e = w->b->second != NULL ? w->b->second[k] : 0;

    switch (w->s->kind) {
    case ASSAY_STEP_ADD_INPUT: return e;
    case ASSAY_STEP_ADD_SCALED:
        return (int64_t)((uint64_t)e * (uint64_t)w->s->b[operand(w, k)]);
    case ASSAY_STEP_SRDHM:
        return (int64_t)((uint64_t)(int64_t)(int32_t)w->b->v[k].i *
                         (uint64_t)(int64_t)(int32_t)a);
    default: return w->b->v[k].i;
    }
}

static uint64_t count_ties(const struct view *w, const bool *skip)
{
    bool is_float = w->s->kind == ASSAY_STEP_FROUND || is_magic(w);
    bool each = w->s->n > 1, srdhm = w->s->kind == ASSAY_STEP_SRDHM;
    int64_t a = w->s->a != NULL ? w->s->a[0] : 0;
    uint64_t n = 0;

    for (size_t k = 0; k < w->b->n; k++) {
        if (skip != NULL && skip[k])
            continue;
        if (is_float) {
            n += float_half(float_value(w, k));
            continue;
        }
        if (each)
            a = w->s->a[operand(w, k)];
        n += half(rounded(w, k, a), srdhm ? 31 : a);
    }
    return n;
}

/* ---- ends of a range ----------------------------------------------------------- */

/* An end that no binary32 is beyond is none. */
static bool ends(const struct view *w, bool upper)
{
    const int64_t *bits = upper ? w->s->b : w->s->a;

    switch (w->s->kind) {
    case ASSAY_STEP_FCLAMP:
        for (uint32_t i = 0; i < w->s->n; i++)
            if (fabs(float_operand(w, bits[i])) < (double)FLT_MAX)
                return true;
        return false;
    case ASSAY_STEP_CLAMP:
    case ASSAY_STEP_SAT:
    case ASSAY_STEP_WRAP: return true;
    case ASSAY_STEP_ADD: return w->s->add_mode != ASSAY_ADD_WIDE;
    default: return false;
    }
}

/* What is within, for channel operand c. */
struct bounds {
    int64_t lo, hi;
    double f_lo, f_hi;
};

static struct bounds bounds_of(const struct view *w, size_t c)
{
    struct bounds b = {.hi = INT32_MAX};

    if (w->s->kind == ASSAY_STEP_FCLAMP) {
        b.f_lo = float_operand(w, w->s->a[c]);
        b.f_hi = float_operand(w, w->s->b[c]);
        return b;
    }
    if (w->s->kind == ASSAY_STEP_SAT || w->s->kind == ASSAY_STEP_WRAP)
        b.hi = (int64_t)((1ull << (w->s->bits - 1)) - 1);
    b.lo = -b.hi - 1;
    if (w->s->kind == ASSAY_STEP_CLAMP) {
        b.lo = w->s->a[c];
        b.hi = w->s->b[c];
    }
    return b;
}

static void count_ends(const struct view *w, const bool *skip, uint64_t *low,
                       uint64_t *high)
{
    bool is_float = w->s->kind == ASSAY_STEP_FCLAMP, each = w->s->n > 1;
    bool adds = w->s->kind == ASSAY_STEP_ADD;
    struct bounds b = bounds_of(w, 0);

    for (size_t k = 0; k < w->b->n; k++) {
        int64_t v = w->b->v[k].i;

        if (skip != NULL && skip[k])
            continue;
        if (each)
            b = bounds_of(w, operand(w, k));
        if (is_float) {
            double x = float_value(w, k);

            *low += x < b.f_lo;
            *high += x > b.f_hi;
            continue;
        }
        if (adds)
            v = (int64_t)((uint64_t)v + (uint64_t)w->s->a[operand(w, k)]);
        *low += v < b.lo;
        *high += v > b.hi;
    }
}

/* ---- shifts to the left ------------------------------------------------------ */

/* By how much an operand shifts to the right. */
static int64_t right(const struct assay_step *s, int64_t a)
{
    return s->kind == ASSAY_STEP_SHL ? -a : a;
}

static bool shifts_left(const struct assay_step *s)
{
    if (s->kind != ASSAY_STEP_SHL && s->kind != ASSAY_STEP_SHR &&
        s->kind != ASSAY_STEP_ADD_INPUT && s->kind != ASSAY_STEP_ADD_SCALED)
        return false;
    for (uint32_t i = 0; i < s->n; i++)
        if (right(s, s->a[i]) < 0)
            return true;
    return false;
}

static uint64_t count_left(const struct view *w, const bool *skip)
{
    bool own = w->s->kind == ASSAY_STEP_SHL || w->s->kind == ASSAY_STEP_SHR;
    uint64_t n = 0;

    for (size_t k = 0; k < w->b->n; k++) {
        int64_t v = own                    ? w->b->v[k].i
                    : w->b->second != NULL ? w->b->second[k]
                                           : 0;

        n += (skip == NULL || !skip[k]) && v != 0 &&
             right(w->s, w->s->a[operand(w, k)]) < 0;
    }
    return n;
}

/* ---- a program ------------------------------------------------------------------ */

static uint8_t what_it_can(const struct view *w)
{
    unsigned can = 0;

    can |= rounds(w) ? ASSAY_PROBE_TIES : 0u;
    can |= ends(w, false) ? ASSAY_PROBE_LOW : 0u;
    can |= ends(w, true) ? ASSAY_PROBE_HIGH : 0u;
    can |= shifts_left(w->s) ? ASSAY_PROBE_LEFT : 0u;
    return (uint8_t)can;
}

static void look(struct assay_probe *p, unsigned operand, unsigned step,
                 const struct view *w, const bool *skip)
{
    uint8_t can = what_it_can(w);
    struct assay_probe_step *s =
        can != 0 ? assay_probe_step(p, operand, step) : NULL;
    uint64_t low = 0, high = 0;

    if (s == NULL)
        return;
    s->can |= can;
    if ((can & ASSAY_PROBE_TIES) != 0)
        s->ties += count_ties(w, skip);
    if ((can & (ASSAY_PROBE_LOW | ASSAY_PROBE_HIGH)) != 0)
        count_ends(w, skip, &low, &high);
    s->low += (can & ASSAY_PROBE_LOW) != 0 ? low : 0;
    s->high += (can & ASSAY_PROBE_HIGH) != 0 ? high : 0;
    if ((can & ASSAY_PROBE_LEFT) != 0)
        s->left += count_left(w, skip);
}

static enum width behind(const struct assay_step *s, enum width w)
{
    switch (s->kind) {
    case ASSAY_STEP_TO_F32: return SINGLE;
    case ASSAY_STEP_TO_F64: return DOUBLE;
    case ASSAY_STEP_FROUND: return INTEGER;
    default: return w;
    }
}

/* One step; assay_program_run() takes a float that it finds for a binary32, so
 * steps on a binary64 begin at the conversion to it. */
static void advance(const struct assay_program *program, uint32_t step,
                    enum width width, const struct assay_block *b,
                    union assay_value *entry)
{
    struct assay_program part = {.n_steps = 1};
    uint32_t from = step;

    if (program->steps[step].kind == ASSAY_STEP_TO_F64)
        memcpy(entry, b->v, b->n * sizeof(*entry));
    while (width == DOUBLE && program->steps[from].kind != ASSAY_STEP_TO_F64)
        from--;
    if (from < step)
        memcpy(b->v, entry, b->n * sizeof(*entry));
    part.n_steps = step + 1 - from;
    memcpy(part.steps, &program->steps[from],
           part.n_steps * sizeof(part.steps[0]));
    assay_program_run(&part, b);
}

static void audit_block(struct assay_probe *p, unsigned operand,
                        const struct assay_program *program, enum width width,
                        const struct assay_block *b, const bool *skip)
{
    union assay_value entry[BLOCK]; /* where binary64 began */

    for (uint32_t i = 0; i < program->n_steps; i++) {
        const struct view w = {&program->steps[i], b, width};

        look(p, operand, i, &w, skip);
        advance(program, i, width, b, entry);
        width = behind(&program->steps[i], width);
    }
}

/* Values of the other branch, as ops/prelu.c tells them apart. */
static void skip_branch(const struct assay_probe_values *in,
                        const struct assay_block *b, bool *skip)
{
    bool is_float = in->dtype == ASSAY_F32;

    for (size_t k = 0; k < b->n; k++) {
        bool up = is_float ? b->v[k].f >= 0 : b->v[k].i >= 0;

        skip[k] = up != (in->branch == ASSAY_PROBE_UP);
    }
}

static void count_tail(struct assay_probe *p, const struct assay_block *b)
{
    size_t tail = b->channels % ASSAY_PROBE_LANES;

    if (tail == 0)
        return;
    p->facts |= 1u << ASSAY_PROBE_TAIL;
    for (size_t k = 0; k < b->n; k++)
        p->fact[ASSAY_PROBE_TAIL] +=
            (b->channel + k) % b->channels >= b->channels - tail &&
            b->v[k].i != 0;
}

void assay_probe_values(struct assay_probe *p, unsigned operand,
                        const struct assay_program *program,
                        const struct assay_probe_values *in)
{
    bool has_tail = operand == 0 && assay_dtype_is_int(in->dtype);
    union assay_value v[BLOCK];
    bool skip[BLOCK];

    for (size_t at = 0; at < in->n; at += BLOCK) {
        const struct assay_block b = {
            .v = v,
            .n = in->n - at < BLOCK ? in->n - at : BLOCK,
            .channel = at % in->channels,
            .channels = in->channels,
            .second = in->second != NULL ? in->second + at : NULL};

        assay_load_values(in->dtype,
                          (const uint8_t *)in->data +
                              at * assay_dtype_bytes(in->dtype),
                          v, b.n);
        if (in->branch != ASSAY_PROBE_ALL)
            skip_branch(in, &b, skip);
        if (has_tail)
            count_tail(p, &b);
        audit_block(p, operand, program,
                    assay_dtype_is_int(in->dtype) ? INTEGER : SINGLE, &b,
                    in->branch != ASSAY_PROBE_ALL ? skip : NULL);
    }
}

uint64_t assay_probe_values_work(const struct assay_program *program, size_t n)
{
    return (uint64_t)n * (VALUE_WORK + STEP_WORK * program->n_steps);
}
