/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/engine/range.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/requant.h"
#include "lib/core/slice.h"

/* gcc and clang have it on every 64-bit machine. */
__extension__ typedef __int128 assay_wide;

struct assay_interval assay_interval_int(int64_t lo, int64_t hi)
{
    return (struct assay_interval){.kind = ASSAY_VALUE_INT, .lo = lo, .hi = hi};
}

static struct assay_interval any_float(enum assay_value_kind kind)
{
    return (struct assay_interval){
        .kind = kind, .f_lo = -INFINITY, .f_hi = INFINITY, .nan = true};
}

struct assay_interval assay_interval_of(enum assay_dtype dtype)
{
    int64_t lo, hi;
    if (!assay_dtype_is_int(dtype))
        return any_float(ASSAY_VALUE_F32);
    assay_dtype_range(dtype, &lo, &hi);
    return assay_interval_int(lo, hi);
}

/* ---- steps ---------------------------------------------------------------- */

enum takes { TAKES_INT, TAKES_FLOAT };

/* What a step is, for the form check and for sentences. */
static const struct step_form {
    const char *name;
    enum takes takes;
    unsigned operands; /* 0: none, 1: a, 2: a and b */
    unsigned rounds;   /* numbers of enum assay_round that it knows */
    bool width;        /* takes `bits` */
} FORMS[] = {
    [ASSAY_STEP_ADD] = {"add", TAKES_INT, 1, 0, false},
    [ASSAY_STEP_SHL] = {"shl", TAKES_INT, 1, 0, false},
    [ASSAY_STEP_SHR] = {"shr", TAKES_INT, 1, 8, false},
    [ASSAY_STEP_MUL] = {"mul", TAKES_INT, 1, 0, false},
    [ASSAY_STEP_SRDHM] = {"srdhm", TAKES_INT, 1, 0, false},
    [ASSAY_STEP_SDMULH] = {"sdmulh", TAKES_INT, 1, 0, false},
    [ASSAY_STEP_ADD_INPUT] = {"add_input", TAKES_INT, 2, 8, false},
    [ASSAY_STEP_SAT] = {"sat", TAKES_INT, 0, 0, true},
    [ASSAY_STEP_WRAP] = {"wrap", TAKES_INT, 0, 0, true},
    [ASSAY_STEP_TO_F32] = {"to_f32", TAKES_INT, 0, 0, false},
    [ASSAY_STEP_TO_F64] = {"to_f64", TAKES_INT, 0, 0, false},
    [ASSAY_STEP_FMUL] = {"fmul", TAKES_FLOAT, 1, 0, false},
    [ASSAY_STEP_FDIV] = {"fdiv", TAKES_FLOAT, 1, 0, false},
    [ASSAY_STEP_FADD] = {"fadd", TAKES_FLOAT, 1, 0, false},
    [ASSAY_STEP_FFMA] = {"ffma", TAKES_FLOAT, 2, 0, false},
    [ASSAY_STEP_FCLAMP] = {"fclamp", TAKES_FLOAT, 2, 0, false},
    [ASSAY_STEP_FROUND] = {"fround", TAKES_FLOAT, 0, 9, false},
    [ASSAY_STEP_ADD_ZP] = {"add_zp", TAKES_INT, 1, 0, false},
    [ASSAY_STEP_CLAMP] = {"clamp", TAKES_INT, 2, 0, false},
    [ASSAY_STEP_ADD_SCALED] = {"add_scaled", TAKES_INT, 2, 8, false},
};
#define N_FORMS (sizeof(FORMS) / sizeof(FORMS[0]))

/* Where a sentence points to. */
struct place {
    const char *what;
    uint32_t step;
    const char *name;
    size_t channel;
    struct assay_err *err;
};

#define REFUSE(at, code, fmt, ...) \
    assay_fail((at)->err, code, "%s step %" PRIu32 " (%s): " fmt, (at)->what, \
               (at)->step, (at)->name, __VA_ARGS__)

static const char *kind_name(enum assay_value_kind kind)
{
    return kind == ASSAY_VALUE_INT   ? "an integer"
           : kind == ASSAY_VALUE_F32 ? "a binary32"
                                     : "a binary64";
}

static double operand_float(enum assay_value_kind kind, int64_t bits)
{
    if (kind == ASSAY_VALUE_F64) {
        double d;
        memcpy(&d, &bits, sizeof(d));
        return d;
    }
    uint32_t low = (uint32_t)bits;
    float f;
    memcpy(&f, &low, sizeof(f));
    return (double)f;
}

static bool takes_second(const struct assay_step *s)
{
    return s->kind == ASSAY_STEP_ADD_INPUT || s->kind == ASSAY_STEP_ADD_SCALED;
}

/* One channel's integer operands. */
static int check_int_operands(const struct place *at,
                              const struct assay_step *s, uint32_t c)
{
    int64_t a = s->a[c];
    if ((s->kind == ASSAY_STEP_SHL && (a < 0 || a > 62)) ||
        ((s->kind == ASSAY_STEP_SHR || takes_second(s)) && (a < -62 || a > 62)))
        return REFUSE(at, ASSAY_ERANGE,
                      "shift in channel %" PRIu32
                      ": expected %d to 62, found %" PRId64,
                      c, s->kind == ASSAY_STEP_SHL ? 0 : -62, a);
    if ((s->kind == ASSAY_STEP_SRDHM || s->kind == ASSAY_STEP_SDMULH) &&
        (a < INT32_MIN || a > INT32_MAX))
        return REFUSE(at, ASSAY_ERANGE,
                      "multiplier in channel %" PRIu32
                      ": expected an int32, found %" PRId64,
                      c, a);
    if (s->kind == ASSAY_STEP_CLAMP && a > s->b[c])
        return REFUSE(at, ASSAY_ERANGE,
                      "bounds in channel %" PRIu32 ": expected lower <= upper, "
                      "found %" PRId64 " and %" PRId64,
                      c, a, s->b[c]);
    return 0;
}

static int check_float_operands(const struct place *at,
                                const struct assay_step *s, uint32_t c,
                                enum assay_value_kind kind)
{
    double a = operand_float(kind, s->a[c]);
    double b = s->b ? operand_float(kind, s->b[c]) : 0;
    if (FORMS[s->kind].operands < 2)
        b = 0;
    if (!isfinite(a) || !isfinite(b))
        return REFUSE(at, ASSAY_ERANGE,
                      "operand in channel %" PRIu32
                      ": expected a finite number, found %g",
                      c, isfinite(a) ? b : a);
    if (s->kind == ASSAY_STEP_FDIV && a == 0)
        return REFUSE(
            at, ASSAY_ERANGE,
            "divisor in channel %" PRIu32 ": expected anything but %d", c, 0);
    if (s->kind == ASSAY_STEP_FCLAMP && a > b)
        return REFUSE(at, ASSAY_ERANGE,
                      "bounds in channel %" PRIu32 ": expected lower <= upper, "
                      "found %g and %g",
                      c, a, b);
    return 0;
}

/* Counts and pointers, before any operand is looked at. */
static int check_form(const struct place *at, const struct assay_step *s,
                      size_t channels)
{
    const struct step_form *f = &FORMS[s->kind];
    if (f->operands == 0 ? s->n != 0 && s->n != 1 && s->n != channels
                         : s->n != 1 && s->n != channels)
        return REFUSE(at, ASSAY_EFORMAT,
                      "operand count: expected 1 or %zu (channels), found "
                      "%" PRIu32,
                      channels, s->n);
    if (f->operands >= 1 && (s->n == 0 || !s->a))
        return REFUSE(at, ASSAY_EFORMAT, "operand %s is missing", "a");
    if (f->operands == 2 && !s->b)
        return REFUSE(at, ASSAY_EFORMAT, "operand %s is missing", "b");
    if (f->rounds && s->round >= f->rounds)
        return REFUSE(at, ASSAY_ERANGE, "round: expected 0 to %u, found %u",
                      f->rounds - 1, (unsigned)s->round);
    if (f->width && (s->bits < 2 || s->bits > 63))
        return REFUSE(at, ASSAY_ERANGE, "bits: expected 2 to 63, found %u",
                      (unsigned)s->bits);
    if (s->kind == ASSAY_STEP_ADD && s->add_mode > ASSAY_ADD_SAT32)
        return REFUSE(at, ASSAY_ERANGE, "add_mode: expected 0 to 2, found %u",
                      (unsigned)s->add_mode);
    return 0;
}

static int check_step(const struct place *at, const struct assay_step *s,
                      size_t channels, enum assay_value_kind *kind)
{
    const struct step_form *f = &FORMS[s->kind];
    if ((f->takes == TAKES_INT) != (*kind == ASSAY_VALUE_INT))
        return REFUSE(at, ASSAY_EFORMAT, "value: expected %s, found %s",
                      f->takes == TAKES_INT ? "an integer" : "a float",
                      kind_name(*kind));
    int rc = check_form(at, s, channels);
    for (uint32_t c = 0; !rc && f->operands && c < s->n; c++)
        rc = f->takes == TAKES_INT ? check_int_operands(at, s, c)
                                   : check_float_operands(at, s, c, *kind);
    if (s->kind == ASSAY_STEP_TO_F32)
        *kind = ASSAY_VALUE_F32;
    else if (s->kind == ASSAY_STEP_TO_F64)
        *kind = ASSAY_VALUE_F64;
    else if (s->kind == ASSAY_STEP_FROUND)
        *kind = ASSAY_VALUE_INT;
    return rc;
}

int assay_program_check(const struct assay_program *p, size_t channels,
                        enum assay_value_kind kind, bool has_second,
                        const char *what, struct assay_err *err)
{
    if (p->n_steps > ASSAY_MAX_STEPS)
        return assay_fail(err, ASSAY_ERANGE,
                          "%s: steps: expected at most %d, found %" PRIu32,
                          what, ASSAY_MAX_STEPS, p->n_steps);
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const struct assay_step *s = &p->steps[i];
        struct place at = {what, i, "?", 0, err};
        if (s->kind >= N_FORMS || !FORMS[s->kind].name)
            return REFUSE(&at, ASSAY_EUNSUPPORTED, "step kind %u is not known",
                          (unsigned)s->kind);
        at.name = FORMS[s->kind].name;
        if (takes_second(s) && !has_second)
            return REFUSE(&at, ASSAY_EFORMAT, "this layer has no %s input",
                          "second");
        int rc = check_step(&at, s, channels, &kind);
        if (rc)
            return rc;
    }
    return 0;
}

bool assay_program_per_channel(const struct assay_program *p)
{
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].n > 1 && FORMS[p->steps[i].kind].operands)
            return true;
    return false;
}

/* ---- intervals ------------------------------------------------------------- */

static int leaves(const struct place *at, const struct assay_interval *v,
                  const char *where)
{
    return REFUSE(at, ASSAY_ERANGE,
                  "%" PRId64 " to %" PRId64 " in channel %zu can leave %s",
                  v->lo, v->hi, at->channel, where);
}

static int set(const struct place *at, struct assay_interval *v, assay_wide lo,
               assay_wide hi)
{
    if (lo < INT64_MIN || hi > INT64_MAX)
        return leaves(at, v, "64 bits");
    v->lo = (int64_t)lo;
    v->hi = (int64_t)hi;
    return 0;
}

static assay_wide least(assay_wide a, assay_wide b)
{
    return a < b ? a : b;
}

static assay_wide most(assay_wide a, assay_wide b)
{
    return a > b ? a : b;
}

/* v * m of an interval, for any sign of m. */
static int multiply(const struct place *at, struct assay_interval *v, int64_t m)
{
    assay_wide p = (assay_wide)v->lo * m, q = (assay_wide)v->hi * m;
    return set(at, v, least(p, q), most(p, q));
}

static int shift(const struct place *at, struct assay_interval *v, int64_t n,
                 enum assay_round round)
{
    if (n <= 0)
        return multiply(at, v, (int64_t)1 << -n);
    return set(at, v, assay_shr(v->lo, (int)n, round),
               assay_shr(v->hi, (int)n, round));
}

static int high_multiply(const struct place *at, struct assay_interval *v,
                         const struct assay_step *s, int32_t m)
{
    if (v->lo < INT32_MIN || v->hi > INT32_MAX)
        return leaves(at, v, "int32, which this step takes");
    bool rounds = s->kind == ASSAY_STEP_SRDHM;
    int32_t p = rounds ? assay_srdhm((int32_t)v->lo, m)
                       : assay_sdmulh((int32_t)v->lo, m);
    int32_t q = rounds ? assay_srdhm((int32_t)v->hi, m)
                       : assay_sdmulh((int32_t)v->hi, m);
    return set(at, v, least(p, q), most(p, q));
}

static void wrap(struct assay_interval *v, unsigned bits)
{
    int64_t hi = (int64_t)(((uint64_t)1 << (bits - 1)) - 1);
    if (v->lo < -hi - 1 || v->hi > hi) {
        v->lo = -hi - 1;
        v->hi = hi;
    }
}

static int add(const struct place *at, struct assay_interval *v, int64_t a,
               unsigned mode)
{
    int rc = set(at, v, (assay_wide)v->lo + a, (assay_wide)v->hi + a);
    if (rc)
        return rc;
    if (mode == ASSAY_ADD_WRAP32)
        wrap(v, 32);
    if (mode == ASSAY_ADD_SAT32) {
        v->lo = assay_sat(v->lo, 32);
        v->hi = assay_sat(v->hi, 32);
    }
    return 0;
}

static int add_input(const struct place *at, struct assay_interval *v,
                     const struct assay_interval *second,
                     const struct assay_step *s, size_t c)
{
    struct assay_interval e = *second;
    bool scaled = s->kind == ASSAY_STEP_ADD_SCALED;
    int rc = scaled ? multiply(at, &e, s->b[c]) : 0;
    if (!rc)
        rc = shift(at, &e, s->a[c], (enum assay_round)s->round);
    if (!rc && !scaled)
        rc = multiply(at, &e, s->b[c]);
    return rc ? rc
              : set(at, v, (assay_wide)v->lo + e.lo, (assay_wide)v->hi + e.hi);
}

static int int_step(const struct place *at, const struct assay_step *s,
                    size_t c, const struct assay_interval *second,
                    struct assay_interval *v)
{
    switch (s->kind) {
    case ASSAY_STEP_ADD: return add(at, v, s->a[c], s->add_mode);
    case ASSAY_STEP_ADD_ZP: return add(at, v, s->a[c], ASSAY_ADD_WIDE);
    case ASSAY_STEP_SHL: return shift(at, v, -s->a[c], ASSAY_ROUND_FLOOR);
    case ASSAY_STEP_SHR:
        return shift(at, v, s->a[c], (enum assay_round)s->round);
    case ASSAY_STEP_MUL: return multiply(at, v, s->a[c]);
    case ASSAY_STEP_SRDHM:
    case ASSAY_STEP_SDMULH: return high_multiply(at, v, s, (int32_t)s->a[c]);
    case ASSAY_STEP_ADD_INPUT:
    case ASSAY_STEP_ADD_SCALED: return add_input(at, v, second, s, c);
    case ASSAY_STEP_SAT:
        return set(at, v, assay_sat(v->lo, s->bits), assay_sat(v->hi, s->bits));
    case ASSAY_STEP_WRAP: wrap(v, s->bits); return 0;
    case ASSAY_STEP_CLAMP:
        return set(at, v, least(most(v->lo, s->a[c]), s->b[c]),
                   least(most(v->hi, s->a[c]), s->b[c]));
    case ASSAY_STEP_TO_F32:
        v->kind = ASSAY_VALUE_F32;
        v->f_lo = (double)(float)v->lo;
        v->f_hi = (double)(float)v->hi;
        v->nan = false;
        return 0;
    default: /* TO_F64 */
        v->kind = ASSAY_VALUE_F64;
        v->f_lo = (double)v->lo;
        v->f_hi = (double)v->hi;
        v->nan = false;
        return 0;
    }
}

/* One end of the interval through one step, in the value's own width. */
static double float_end(const struct assay_step *s, bool wide, double x,
                        double a, double b)
{
    float f = (float)x, fa = (float)a, fb = (float)b;
    switch (s->kind) {
    case ASSAY_STEP_FMUL: return wide ? x * a : (double)(f * fa);
    case ASSAY_STEP_FDIV: return wide ? x / a : (double)(f / fa);
    case ASSAY_STEP_FADD: return wide ? x + a : (double)(f + fa);
    default: /* FFMA */ return wide ? fma(x, a, b) : (double)fmaf(f, fa, fb);
    }
}

/* *v from two ends in any order; an end that is NaN can be anything. */
static void set_float(struct assay_interval *v, double p, double q)
{
    if (isnan(p) || isnan(q)) {
        *v = any_float(v->kind);
        return;
    }
    v->f_lo = p < q ? p : q;
    v->f_hi = p < q ? q : p;
}

/* The nearest integers below and above an end; ties are left open. */
static double round_end(double x, enum assay_round round, bool upper)
{
    double down = floor(x), rest = x - down;
    switch (round) {
    case ASSAY_ROUND_FLOOR: return down;
    case ASSAY_ROUND_CEIL: return ceil(x);
    case ASSAY_ROUND_TRUNC: return trunc(x);
    default: return rest < 0.5 ? down : rest > 0.5 || upper ? down + 1 : down;
    }
}

static int64_t to_int32(double x)
{
    return x <= INT32_MIN ? INT32_MIN : x >= INT32_MAX ? INT32_MAX : (int64_t)x;
}

static void float_round(struct assay_interval *v, enum assay_round round)
{
    double lo = v->f_lo, hi = v->f_hi;
    if (round == ASSAY_ROUND_ADD_HALF) {
        bool wide = v->kind == ASSAY_VALUE_F64;
        double l = lo < 0 ? -0.5 : 0.5, h = hi < 0 ? -0.5 : 0.5;
        lo = wide ? lo + l : (double)((float)lo + (float)l);
        hi = wide ? hi + h : (double)((float)hi + (float)h);
        round = ASSAY_ROUND_TRUNC;
    }
    v->kind = ASSAY_VALUE_INT;
    v->lo = to_int32(round_end(lo, round, false));
    v->hi = to_int32(round_end(hi, round, true));
    if (v->nan) { /* a NaN becomes 0 */
        v->lo = v->lo < 0 ? v->lo : 0;
        v->hi = v->hi > 0 ? v->hi : 0;
    }
    v->nan = false;
}

static void float_step(const struct assay_step *s, size_t c,
                       struct assay_interval *v)
{
    bool wide = v->kind == ASSAY_VALUE_F64;
    if (s->kind == ASSAY_STEP_FROUND) {
        float_round(v, (enum assay_round)s->round);
        return;
    }
    double a = operand_float(v->kind, s->a[c]);
    double b = s->b ? operand_float(v->kind, s->b[c]) : 0;
    if (s->kind == ASSAY_STEP_FCLAMP) {
        double lo = v->f_lo > a ? v->f_lo : a, hi = v->f_hi > a ? v->f_hi : a;
        v->f_lo = v->nan ? a : lo < b ? lo : b; /* a NaN becomes a */
        v->f_hi = hi < b ? hi : b;
        v->nan = false;
        return;
    }
    set_float(v, float_end(s, wide, v->f_lo, a, b),
              float_end(s, wide, v->f_hi, a, b));
}

int assay_program_range(const struct assay_program *p, size_t channel,
                        const struct assay_interval *second,
                        struct assay_interval *v, const char *what,
                        struct assay_err *err)
{
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const struct assay_step *s = &p->steps[i];
        struct place at = {what, i, FORMS[s->kind].name, channel, err};
        size_t c = s->n > 1 ? channel : 0;
        int rc = 0;
        if (v->kind == ASSAY_VALUE_INT)
            rc = int_step(&at, s, c, second, v);
        else
            float_step(s, c, v);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- two operands ----------------------------------------------------------- */

static float float_pair(enum assay_combine how, float k, float a, float b)
{
    switch (how) {
    case ASSAY_COMBINE_FADD: return a + b;
    case ASSAY_COMBINE_FSUB: return a - b;
    case ASSAY_COMBINE_FMUL: return a * b;
    case ASSAY_COMBINE_FDIV: return a / b;
    case ASSAY_COMBINE_FMAX: return a > b ? a : b;
    case ASSAY_COMBINE_FMIN: return a < b ? a : b;
    default: return fmaf(b, k, a);
    }
}

static void combine_float(enum assay_combine how, float k,
                          struct assay_interval *a,
                          const struct assay_interval *b)
{
    float as[2] = {(float)a->f_lo, (float)a->f_hi};
    float bs[2] = {(float)b->f_lo, (float)b->f_hi};
    float lo = INFINITY, hi = -INFINITY;
    bool open = a->nan || b->nan ||
                (how == ASSAY_COMBINE_FDIV && b->f_lo <= 0 && b->f_hi >= 0);
    /* 0 times infinity may hide between the ends. */
    if (how == ASSAY_COMBINE_FMUL &&
        (isinf(as[0]) || isinf(as[1]) || isinf(bs[0]) || isinf(bs[1])))
        open = true;
    for (int i = 0; i < 4; i++) {
        float r = float_pair(how, k, as[i & 1], bs[i >> 1]);
        open = open || isnan(r);
        lo = r < lo ? r : lo;
        hi = r > hi ? r : hi;
    }
    if (open) {
        *a = any_float(ASSAY_VALUE_F32);
        return;
    }
    a->f_lo = (double)lo;
    a->f_hi = (double)hi;
}

static int combine_int(enum assay_combine how, struct assay_interval *a,
                       const struct assay_interval *b, struct assay_err *err)
{
    assay_wide lo = (assay_wide)a->lo + b->lo, hi = (assay_wide)a->hi + b->hi;
    if (how == ASSAY_COMBINE_SUB) {
        lo = (assay_wide)a->lo - b->hi;
        hi = (assay_wide)a->hi - b->lo;
    } else if (how == ASSAY_COMBINE_MUL) {
        assay_wide p = (assay_wide)a->lo * b->lo, q = (assay_wide)a->lo * b->hi;
        assay_wide r = (assay_wide)a->hi * b->lo, t = (assay_wide)a->hi * b->hi;
        lo = least(least(p, q), least(r, t));
        hi = most(most(p, q), most(r, t));
    } else if (how == ASSAY_COMBINE_MAX) {
        lo = most(a->lo, b->lo);
        hi = most(a->hi, b->hi);
    } else if (how == ASSAY_COMBINE_MIN) {
        lo = least(a->lo, b->lo);
        hi = least(a->hi, b->hi);
    }
    struct place at = {"combine", 0, "two integers", 0, err};
    return set(&at, a, lo, hi);
}

bool assay_combine_is_int(enum assay_combine how)
{
    return how <= ASSAY_COMBINE_MUL || how == ASSAY_COMBINE_MAX ||
           how == ASSAY_COMBINE_MIN;
}

int assay_combine_range(enum assay_combine how, float k,
                        struct assay_interval *a,
                        const struct assay_interval *b, struct assay_err *err)
{
    bool is_int = assay_combine_is_int(how);
    if (how < ASSAY_COMBINE_ADD || how > ASSAY_COMBINE_FMIN)
        return assay_fail(err, ASSAY_EUNSUPPORTED, "combine: %d is not known",
                          (int)how);
    enum assay_value_kind want = is_int ? ASSAY_VALUE_INT : ASSAY_VALUE_F32;
    if (a->kind != want || b->kind != want)
        return assay_fail(err, ASSAY_EFORMAT,
                          "combine: expected %s from both in_programs, found "
                          "%s and %s",
                          kind_name(want), kind_name(a->kind),
                          kind_name(b->kind));
    if (how == ASSAY_COMBINE_FFMA && !isfinite(k))
        return assay_fail(err, ASSAY_ERANGE,
                          "combine: k: expected a finite number, found %g",
                          (double)k);
    if (is_int)
        return combine_int(how, a, b, err);
    combine_float(how, k, a, b);
    return 0;
}

int assay_interval_fits(const struct assay_interval *v, enum assay_dtype dtype,
                        size_t channel, const char *what, struct assay_err *err)
{
    int64_t lo, hi;
    bool is_int = assay_dtype_is_int(dtype);
    if (v->kind == ASSAY_VALUE_F64 || is_int != (v->kind == ASSAY_VALUE_INT))
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: result for a %s output: expected %s, found %s",
                          what, assay_dtype_name(dtype),
                          is_int ? "an integer" : "a binary32",
                          kind_name(v->kind));
    if (!is_int)
        return 0;
    assay_dtype_range(dtype, &lo, &hi);
    if (v->lo < lo || v->hi > hi)
        return assay_fail(
            err, ASSAY_ERANGE,
            "%s: result in channel %zu: expected the range of "
            "%s, %" PRId64 " to %" PRId64 ", found %" PRId64 " to %" PRId64,
            what, channel, assay_dtype_name(dtype), lo, hi, v->lo, v->hi);
    return 0;
}
