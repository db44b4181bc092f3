/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs, steered by the interval analysis that they are to test. */
#include <math.h>
#include <string.h>

#include "lib/engine/range.h"
#include "tests/fuzz/slice_maker.h"

struct maker {
    struct choices *c;
    struct assay_slice *slice;
    struct assay_program *to;
    size_t channels;
    struct assay_interval *v;            /* one a channel */
    const struct assay_interval *second; /* NULL: none */
};

/* Any width and sign; sometimes the neighbours of a power of two. */
static int64_t wild(struct choices *c, unsigned bits)
{
    int64_t n = (int64_t)(choose_bits(c) >> (64 - choose(c, 1, bits)));

    if (chance(c, 20))
        n = (int64_t)(((uint64_t)1 << choose(c, 0, bits - 1)) - 1 +
                      (uint64_t)choose(c, 0, 1));
    return chance(c, 50) ? -n : n;
}

static int64_t float_bits(struct choices *c, enum assay_value_kind kind,
                          bool nonzero)
{
    int exponent = (int)choose(c, -30, 30);
    double d;
    float f;
    uint32_t low;
    int64_t bits;

    if (chance(c, 10)) /* the ends of binary32, denormals too */
        exponent = (int)choose(c, -149, 127);
    d = ldexp(1.0 + (double)(choose_bits(c) & 0xffffff) / 16777216.0, exponent);
    if (chance(c, 30))
        d = ldexp(1.0, exponent);
    if (chance(c, 5) && !nonzero)
        d = 0;
    if (chance(c, 30))
        d = -d;
    if (kind == ASSAY_VALUE_F64) {
        memcpy(&bits, &d, sizeof(bits));
        return bits;
    }
    f = (float)d;
    if (!isfinite(f) || (nonzero && f == 0))
        f = 1.0f;
    memcpy(&low, &f, sizeof(low));
    return low;
}

static double float_of(enum assay_value_kind kind, int64_t bits)
{
    uint32_t low = (uint32_t)(uint64_t)bits;
    double d;
    float f;

    memcpy(&d, &bits, sizeof(d));
    memcpy(&f, &low, sizeof(f));
    return kind == ASSAY_VALUE_F64 ? d : (double)f;
}

static void int_operands(struct choices *c, unsigned kind, int64_t *a,
                         int64_t *b)
{
    *a = wild(c, 63);
    *b = wild(c, 63);
    switch (kind) {
    case ASSAY_STEP_SHL: *a = choose(c, 0, chance(c, 50) ? 62 : 8); break;
    case ASSAY_STEP_SHR: *a = choose(c, chance(c, 20) ? -62 : 0, 62); break;
    case ASSAY_STEP_ADD_INPUT: *a = choose(c, -30, 62); break;
    case ASSAY_STEP_ADD_SCALED:
        *a = choose(c, chance(c, 20) ? -30 : 0, 62);
        *b = wild(c, chance(c, 30) ? 63 : 31);
        break;
    case ASSAY_STEP_SRDHM:
    case ASSAY_STEP_SDMULH: *a = chance(c, 5) ? INT32_MIN : wild(c, 31); break;
    case ASSAY_STEP_MUL: *a = wild(c, chance(c, 30) ? 63 : 32); break;
    case ASSAY_STEP_CLAMP:
        if (*a > *b) {
            int64_t t = *a;

            *a = *b;
            *b = t;
        }
        break;
    default: break;
    }
}

static void float_operands(struct choices *c, enum assay_value_kind kind,
                           unsigned step, int64_t *a, int64_t *b)
{
    *a = float_bits(c, kind, step == ASSAY_STEP_FDIV);
    *b = float_bits(c, kind, false);
    if (step == ASSAY_STEP_FCLAMP && float_of(kind, *a) > float_of(kind, *b)) {
        int64_t t = *a;

        *a = *b;
        *b = t;
    }
}

/* One step for the value that is there; operands in the slice's arena. */
static bool random_step(struct maker *m, struct assay_step *s)
{
    static const uint8_t ints[] = {
        ASSAY_STEP_ADD,        ASSAY_STEP_SHL,    ASSAY_STEP_SHR,
        ASSAY_STEP_MUL,        ASSAY_STEP_SRDHM,  ASSAY_STEP_SDMULH,
        ASSAY_STEP_SAT,        ASSAY_STEP_WRAP,   ASSAY_STEP_ADD_ZP,
        ASSAY_STEP_CLAMP,      ASSAY_STEP_TO_F32, ASSAY_STEP_TO_F64,
        ASSAY_STEP_SHR,        ASSAY_STEP_MUL,    ASSAY_STEP_ADD_INPUT,
        ASSAY_STEP_ADD_SCALED, /* the last two: of a second operand */
    };
    enum assay_value_kind kind = m->v[0].kind;
    bool is_int = kind == ASSAY_VALUE_INT;
    int64_t *a, *b;
    size_t n = chance(m->c, 40) ? m->channels : 1;

    *s = (struct assay_step){
        .round = (uint8_t)choose(m->c, 0, 7),
        .add_mode = (uint8_t)choose(m->c, 0, 2),
        .bits = (uint8_t)choose(m->c, 2, 63),
        .n = (uint32_t)n,
    };
    s->kind =
        (uint8_t)(is_int ? ints[choose(m->c, 0, m->second ? 15 : 13)]
                         : choose(m->c, ASSAY_STEP_FMUL, ASSAY_STEP_FROUND));
    if (s->kind == ASSAY_STEP_FROUND)
        s->round = (uint8_t)choose(m->c, 0, 8);
    a = assay_arena_array(m->slice->arena, n, sizeof(*a));
    b = assay_arena_array(m->slice->arena, n, sizeof(*b));
    if (!a || !b)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (is_int)
            int_operands(m->c, s->kind, &a[i], &b[i]);
        else
            float_operands(m->c, kind, s->kind, &a[i], &b[i]);
    }
    if (s->kind == ASSAY_STEP_SAT || s->kind == ASSAY_STEP_WRAP ||
        s->kind == ASSAY_STEP_TO_F32 || s->kind == ASSAY_STEP_TO_F64 ||
        s->kind == ASSAY_STEP_FROUND) {
        s->n = 0;
        return true;
    }
    s->a = a;
    if (s->kind == ASSAY_STEP_ADD_INPUT || s->kind == ASSAY_STEP_ADD_SCALED ||
        s->kind == ASSAY_STEP_CLAMP || s->kind == ASSAY_STEP_FFMA ||
        s->kind == ASSAY_STEP_FCLAMP)
        s->b = b;
    return true;
}

/* Appends the step when the analysis lets it through in every channel. */
static bool put(struct maker *m, const struct assay_step *s)
{
    struct assay_program one = {.n_steps = 1, .steps = {*s}};
    struct assay_err err = {0};

    if (m->to->n_steps == ASSAY_MAX_STEPS ||
        assay_program_check(&one, m->channels, m->v[0].kind, m->second, "p",
                            &err) < 0)
        return false;
    for (size_t i = 0; i < m->channels; i++) {
        struct assay_interval v = m->v[i];

        if (assay_program_range(&one, i, m->second, &v, "p", &err) < 0)
            return false;
    }
    for (size_t i = 0; i < m->channels; i++)
        (void)!assay_program_range(&one, i, m->second, &m->v[i], "p", &err);
    m->to->steps[m->to->n_steps++] = *s;
    return true;
}

static void put_plain(struct maker *m, unsigned kind, int64_t lo, int64_t hi)
{
    int64_t *ab = assay_arena_array(m->slice->arena, 2, sizeof(*ab));
    struct assay_step s = {.kind = (uint8_t)kind, .bits = 32};

    if (!ab)
        return;
    if (kind == ASSAY_STEP_CLAMP) {
        ab[0] = lo;
        ab[1] = hi;
        s.n = 1;
        s.a = &ab[0];
        s.b = &ab[1];
    } else if (kind == ASSAY_STEP_FROUND) {
        s.round = (uint8_t)choose(m->c, 0, 8);
    }
    put(m, &s);
}

static void finish(struct maker *m, enum assay_dtype y)
{
    int64_t lo = -30000, hi = 30000; /* products of two fit int32 */

    if (y == ASSAY_F32) {
        if (m->v[0].kind == ASSAY_VALUE_F64)
            put_plain(m, ASSAY_STEP_FROUND, 0, 0);
        if (m->v[0].kind == ASSAY_VALUE_INT)
            put_plain(m, ASSAY_STEP_TO_F32, 0, 0);
        return;
    }
    if (m->v[0].kind != ASSAY_VALUE_INT)
        put_plain(m, ASSAY_STEP_FROUND, 0, 0);
    if (y)
        assay_dtype_range(y, &lo, &hi);
    put_plain(m, ASSAY_STEP_CLAMP, lo, hi);
}

/* ---- forms that vector kernels know ------------------------------------------ */

static void put_step(struct maker *m, unsigned kind, unsigned round,
                     unsigned bits)
{
    const struct assay_step s = {
        .kind = (uint8_t)kind, .round = (uint8_t)round, .bits = (uint8_t)bits};

    put(m, &s);
}

/* Operands of [lo, hi], one or one a channel; 0, 0 of b: it takes none. */
static void put_ints(struct maker *m, unsigned kind, unsigned round, int64_t lo,
                     int64_t hi, int64_t b_lo, int64_t b_hi)
{
    size_t n = chance(m->c, 60) ? m->channels : 1;
    int64_t *a = assay_arena_array(m->slice->arena, n, sizeof(*a));
    int64_t *b = assay_arena_array(m->slice->arena, n, sizeof(*b));
    const struct assay_step s = {.kind = (uint8_t)kind,
                                 .round = (uint8_t)round,
                                 .n = (uint32_t)n,
                                 .a = a,
                                 .b = b_lo || b_hi ? b : NULL};

    if (!a || !b)
        return;
    for (size_t i = 0; i < n; i++) {
        a[i] = choose(m->c, lo, hi);
        b[i] = choose(m->c, b_lo, b_hi);
    }
    put(m, &s);
}

static void put_floats(struct maker *m, unsigned kind, float a, float b)
{
    int64_t *ab = assay_arena_array(m->slice->arena, 2, sizeof(*ab));
    const struct assay_step s = {.kind = (uint8_t)kind,
                                 .n = 1,
                                 .a = ab,
                                 .b = ab && kind == ASSAY_STEP_FCLAMP ? ab + 1
                                                                      : NULL};

    if (!ab)
        return;
    memcpy(&ab[0], &a, sizeof(a)); /* little-endian, the rest is 0 */
    memcpy(&ab[1], &b, sizeof(b));
    put(m, &s);
}

/* [add_zp], for all channels mostly; the clamp is finish()'s. */
static void put_zero(struct maker *m)
{
    int64_t *a = assay_arena_array(m->slice->arena, 1, sizeof(*a));
    const struct assay_step s = {.kind = ASSAY_STEP_ADD_ZP, .n = 1, .a = a};

    if (!a || chance(m->c, 30))
        return;
    a[0] = choose(m->c, -255, 255);
    put(m, &s);
}

/* [add_scaled] [wrap] shr, sat 16, mul, shr, sat: the fixed-point model's. */
static void fixed_form(struct maker *m, enum assay_dtype y)
{
    int64_t far = chance(m->c, 20) ? 31 : 10;
    unsigned bits = y == ASSAY_S8 ? 8 : y == ASSAY_S16 ? 16 : 32;

    if (m->second && chance(m->c, 70))
        put_ints(m, ASSAY_STEP_ADD_SCALED, ASSAY_ROUND_FLOOR,
                 far == 31 ? -31 : -2, far, -32768, 32767);
    if (m->second || chance(m->c, 40))
        put_step(m, ASSAY_STEP_WRAP, 0, 32);
    if (y == ASSAY_S32 && chance(m->c, 70)) /* the accumulator */
        return;
    if (chance(m->c, 85))
        put_ints(m, ASSAY_STEP_SHR, ASSAY_ROUND_FLOOR, 0, far, 0, 0);
    put_step(m, ASSAY_STEP_SAT, 0, 16);
    put_ints(m, ASSAY_STEP_MUL, 0, chance(m->c, 40) ? -32767 : 16384, 32767, 0,
             0);
    put_ints(m, ASSAY_STEP_SHR,
             chance(m->c, 70) ? ASSAY_ROUND_FLOOR : ASSAY_ROUND_HALF_UP,
             far == 31 ? 0 : 12, far == 31 ? 31 : 24, 0, 0);
    put_step(m, ASSAY_STEP_SAT, 0, bits);
    if (chance(m->c, 30)) /* relu */
        put_plain(m, ASSAY_STEP_CLAMP, 0, choose(m->c, 0, 200));
}

/* A rounding shift, saturation to 16 bits on either side of the zero point. */
static void shift_form(struct maker *m)
{
    int64_t by = choose(m->c, 1, chance(m->c, 20) ? 31 : 12);

    put_ints(m, ASSAY_STEP_SHR,
             chance(m->c, 50) ? ASSAY_ROUND_HALF_UP : ASSAY_ROUND_HALF_AWAY, by,
             by, 0, 0);
    if (chance(m->c, 50))
        put_step(m, ASSAY_STEP_SAT, 0, 16);
    put_zero(m);
    if (chance(m->c, 30))
        put_step(m, ASSAY_STEP_SAT, 0, 16);
}

/* A multiplier of 32 bits with its high half, or a product and a shift. */
static void high_form(struct maker *m)
{
    unsigned kind = (unsigned)choose(m->c, ASSAY_STEP_MUL, ASSAY_STEP_SDMULH);

    if (kind != ASSAY_STEP_MUL && chance(m->c, 40)) {
        put_ints(m, ASSAY_STEP_SHL, 0, 0, 20, 0, 0);
        put_step(m, ASSAY_STEP_WRAP, 0, 32);
    }
    put_ints(m, kind, 0, chance(m->c, 30) ? -INT32_MAX : 1 << 30, INT32_MAX, 0,
             0);
    if (kind == ASSAY_STEP_MUL)
        put_ints(m, ASSAY_STEP_SHR, ASSAY_ROUND_HALF_UP, 30, 62, 0, 0);
    else
        put_ints(m, ASSAY_STEP_SHR,
                 chance(m->c, 50) ? ASSAY_ROUND_HALF_UP : ASSAY_ROUND_HALF_AWAY,
                 0, 31, 0, 0);
    put_zero(m);
}

/* to_f32, fmul, [fadd], fclamp, fround half_even, by hand or by magic. */
static void float_form(struct maker *m)
{
    float lo = (float)choose(m->c, -300, 0), hi = (float)choose(m->c, 0, 300);

    put_step(m, ASSAY_STEP_TO_F32, 0, 0);
    put_floats(m, ASSAY_STEP_FMUL,
               ldexpf((float)choose(m->c, 128, 255), -(int)choose(m->c, 7, 40)),
               0);
    if (chance(m->c, 40))
        put_floats(m, ASSAY_STEP_FADD, (float)choose(m->c, -200, 200) / 2.0f,
                   0);
    put_floats(m, ASSAY_STEP_FCLAMP, lo, hi);
    if (chance(m->c, 30)) {
        put_floats(m, ASSAY_STEP_FADD, 12582912.0f, 0);
        put_floats(m, ASSAY_STEP_FADD, -12582912.0f, 0);
        put_step(m, ASSAY_STEP_FROUND, ASSAY_ROUND_TRUNC, 0);
    } else {
        put_step(m, ASSAY_STEP_FROUND, ASSAY_ROUND_HALF_EVEN, 0);
    }
    put_zero(m);
}

void make_program(struct choices *c, struct assay_slice *s,
                  struct assay_program *to, size_t channels,
                  struct assay_interval *from,
                  const struct assay_interval *second, enum assay_dtype y_dtype)
{
    struct maker m = {c, s, to, channels, from, second};
    bool is_form = from[0].kind == ASSAY_VALUE_INT && chance(c, 40);
    int64_t steps = is_form ? 0 : choose(c, 0, ASSAY_MAX_STEPS - 3);

    to->n_steps = 0;
    if (is_form && (second || chance(c, 50)))
        fixed_form(&m, y_dtype);
    else if (is_form && chance(c, 30))
        shift_form(&m);
    else if (is_form && chance(c, 50))
        high_form(&m);
    else if (is_form)
        float_form(&m);
    for (int64_t i = 0; i < steps; i++) {
        struct assay_step step;

        if (!random_step(&m, &step))
            return;
        if (!put(&m, &step) && from[0].kind == ASSAY_VALUE_INT)
            put_plain(&m, ASSAY_STEP_SAT, 0, 0);
    }
    finish(&m, y_dtype);
}

void make_operand(struct choices *c, struct assay_slice *s,
                  struct assay_program *to, size_t channels,
                  struct assay_interval *from, bool is_float)
{
    struct maker m = {c, s, to, channels, from, NULL};
    int64_t by = choose(c, 1, 1000);

    to->n_steps = 0;
    put_zero(&m);
    if (is_float) {
        put_step(&m, ASSAY_STEP_TO_F32, 0, 0);
        put_floats(&m, ASSAY_STEP_FMUL, ldexpf((float)by, -12), 0);
    } else if (chance(c, 50)) {
        put_ints(&m, ASSAY_STEP_MUL, 0, by, by, 0, 0);
    }
}

void make_short_end(struct choices *c, struct assay_slice *s,
                    struct assay_program *to, size_t channels,
                    struct assay_interval *from, enum assay_dtype y_dtype)
{
    struct maker m = {c, s, to, channels, from, NULL};

    to->n_steps = 0;
    if (from[0].kind == ASSAY_VALUE_INT && chance(c, 60))
        shift_form(&m);
    else
        float_form(&m); /* of floats without its first step */
    finish(&m, y_dtype);
}
