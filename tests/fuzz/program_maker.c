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

void make_program(struct choices *c, struct assay_slice *s,
                  struct assay_program *to, size_t channels,
                  struct assay_interval *from,
                  const struct assay_interval *second, enum assay_dtype y_dtype)
{
    struct maker m = {c, s, to, channels, from, second};
    int64_t steps = choose(c, 0, ASSAY_MAX_STEPS - 3);

    to->n_steps = 0;
    for (int64_t i = 0; i < steps; i++) {
        struct assay_step step;

        if (!random_step(&m, &step))
            return;
        if (!put(&m, &step) && from[0].kind == ASSAY_VALUE_INT)
            put_plain(&m, ASSAY_STEP_SAT, 0, 0);
    }
    finish(&m, y_dtype);
}
