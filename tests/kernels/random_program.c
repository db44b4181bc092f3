/* SPDX-License-Identifier: Apache-2.0 */
/* Random valid programs; bounds are followed so that 64 bits hold all. */
#include "tests/kernels/kcheck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAFE ((wide)1 << 61)

typedef __int128 wide;

struct maker {
    struct kc *k;
    struct kc_program *to;
    size_t channels;
    int kind;    /* 0 integer, 1 binary32, 2 binary64 */
    wide lo, hi; /* of integers */
    double size; /* of floats */
};

/* n operands of [lo, hi], mostly from the ends and around 0. */
static uint32_t operands(struct maker *m, int64_t lo, int64_t hi, int64_t *a)
{
    uint32_t n = kc_chance(m->k, 50) ? (uint32_t)m->channels : 1;

    for (uint32_t i = 0; i < n; i++) {
        int64_t v = kc_range(m->k, lo, hi);

        if (kc_chance(m->k, 15))
            v = kc_chance(m->k, 50) ? lo : hi;
        a[i] = v;
    }
    return n;
}

static void put(struct maker *m, struct assay_step s, const int64_t *a,
                const int64_t *b)
{
    kc_step(m->to, s, a, b);
}

static void saturate(struct maker *m, unsigned bits, bool wraps)
{
    wide top = (wide)1 << (bits - 1);

    put(m,
        (struct assay_step){.kind = wraps ? ASSAY_STEP_WRAP : ASSAY_STEP_SAT,
                            .bits = (uint8_t)bits},
        NULL, NULL);
    if (wraps && (m->lo < -top || m->hi > top - 1)) {
        m->lo = -top;
        m->hi = top - 1;
        return;
    }
    m->lo = m->lo < -top ? -top : m->lo > top - 1 ? top - 1 : m->lo;
    m->hi = m->hi > top - 1 ? top - 1 : m->hi < -top ? -top : m->hi;
}

static bool is_32(const struct maker *m)
{
    return m->lo >= INT32_MIN && m->hi <= INT32_MAX;
}

static void widen(struct maker *m, wide a, wide b)
{
    m->lo = a < b ? a : b;
    m->hi = a < b ? b : a;
}

static void add_step(struct maker *m, int64_t *a)
{
    unsigned mode = (unsigned)kc_range(m->k, 0, 2);
    uint32_t n = operands(m, INT32_MIN, INT32_MAX, a);

    put(m,
        (struct assay_step){
            .kind = ASSAY_STEP_ADD, .add_mode = (uint8_t)mode, .n = n},
        a, NULL);
    m->lo += INT32_MIN;
    m->hi += INT32_MAX;
    if (mode != ASSAY_ADD_WIDE)
        widen(m, INT32_MIN, INT32_MAX);
}

static void shift_step(struct maker *m, int64_t *a)
{
    wide most = m->hi > -m->lo ? m->hi : -m->lo;
    int64_t left = 0;
    uint32_t n;

    while (left < 40 && (most << (left + 1)) < SAFE)
        left++;
    if (kc_chance(m->k, 30)) {
        n = operands(m, 0, left, a);
        put(m, (struct assay_step){.kind = ASSAY_STEP_SHL, .n = n}, a, NULL);
    } else {
        n = operands(m, kc_chance(m->k, 20) ? -left : 0,
                     kc_chance(m->k, 20) ? 62 : 24, a);
        put(m,
            (struct assay_step){.kind = ASSAY_STEP_SHR,
                                .round = (uint8_t)kc_range(m->k, 0, 7),
                                .n = n},
            a, NULL);
    }
    widen(m, -(most << left) - 1, (most << left) + 1);
}

static void multiply_step(struct maker *m, int64_t *a)
{
    wide most = m->hi > -m->lo ? m->hi : -m->lo;
    int64_t top = INT32_MAX;
    uint32_t n;

    if (is_32(m) && kc_chance(m->k, 50)) {
        n = operands(m, INT32_MIN, INT32_MAX, a);
        put(m,
            (struct assay_step){.kind = kc_chance(m->k, 50) ? ASSAY_STEP_SRDHM
                                                            : ASSAY_STEP_SDMULH,
                                .n = n},
            a, NULL);
        widen(m, INT32_MIN, INT32_MAX);
        return;
    }
    while (top > 1 && most * top >= SAFE)
        top /= 2;
    n = operands(m, -top, top, a);
    put(m, (struct assay_step){.kind = ASSAY_STEP_MUL, .n = n}, a, NULL);
    widen(m, -most * top, most * top);
}

static void input_step(struct maker *m, int64_t *a, int64_t *b)
{
    uint32_t n = kc_chance(m->k, 30) ? (uint32_t)m->channels : 1;
    bool scaled = kc_chance(m->k, 50);

    for (uint32_t i = 0; i < n; i++) {
        a[i] = kc_chance(m->k, 5) ? 62 : kc_range(m->k, -4, 20);
        b[i] = kc_range(m->k, -5000, 5000);
    }
    put(m,
        (struct assay_step){.kind = scaled ? ASSAY_STEP_ADD_SCALED
                                           : ASSAY_STEP_ADD_INPUT,
                            .round = (uint8_t)kc_range(m->k, 0, 7),
                            .n = n},
        a, b);
    m->lo -= (wide)5000 << 36;
    m->hi += (wide)5000 << 36;
}

static void int_step(struct maker *m, int64_t *a, int64_t *b, bool with_input)
{
    if (m->lo < -SAFE / 8 || m->hi > SAFE / 8) {
        saturate(m, (unsigned)kc_range(m->k, 8, 50), kc_chance(m->k, 50));
        return;
    }
    switch (kc_range(m->k, 0, with_input ? 7 : 6)) {
    case 0: add_step(m, a); break;
    case 1:
    case 2: shift_step(m, a); break;
    case 3:
    case 4: multiply_step(m, a); break;
    case 5:
        saturate(m, (unsigned)kc_range(m->k, 2, 63), kc_chance(m->k, 50));
        break;
    case 6:
        put(m,
            (struct assay_step){.kind = kc_chance(m->k, 50)
                                            ? ASSAY_STEP_TO_F32
                                            : ASSAY_STEP_TO_F64},
            NULL, NULL);
        m->kind = m->to->p.steps[m->to->p.n_steps - 1].kind == ASSAY_STEP_TO_F32
                      ? 1
                      : 2;
        m->size = 1e19;
        break;
    default: input_step(m, a, b); break;
    }
}

static int64_t bits_of(const struct maker *m, double v)
{
    int64_t i;

    if (m->kind == 1)
        return kc_f32_bits((float)v);
    memcpy(&i, &v, sizeof(i));
    return i;
}

/* A float operand of magnitude 2^-20 .. 2^6, often a power of two. */
static double factor(struct maker *m)
{
    double v = kc_chance(m->k, 50)
                   ? 1.0
                   : 1.0 + (double)kc_range(m->k, 0, (1 << 23) - 1) / 8388608.0;

    v = ldexp(v, (int)kc_range(m->k, -20, 5));
    return kc_chance(m->k, 20) ? -v : v;
}

static void round_float(struct maker *m)
{
    put(m,
        (struct assay_step){.kind = ASSAY_STEP_FROUND,
                            .round = (uint8_t)kc_range(m->k, 0, 8)},
        NULL, NULL);
    m->kind = 0;
    widen(m, INT32_MIN, INT32_MAX);
}

static void float_step(struct maker *m, int64_t *a, int64_t *b)
{
    uint32_t n = kc_chance(m->k, 50) ? (uint32_t)m->channels : 1;
    unsigned kind = ASSAY_STEP_FMUL + (unsigned)kc_range(m->k, 0, 5);

    if (kind == ASSAY_STEP_FROUND) {
        round_float(m);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        double x = factor(m), y = (double)kc_range(m->k, -1000, 1000) / 2.0;

        if (kind == ASSAY_STEP_FADD)
            x = (double)kc_range(m->k, -1000, 1000) / 2.0;
        if (kind == ASSAY_STEP_FCLAMP) {
            x = (double)kc_range(m->k, -2000, 0) / 2.0;
            y = (double)kc_range(m->k, 0, 2000) / 2.0;
        }
        a[i] = bits_of(m, x);
        b[i] = bits_of(m, y);
    }
    put(m, (struct assay_step){.kind = (uint8_t)kind, .n = n}, a,
        kind == ASSAY_STEP_FFMA || kind == ASSAY_STEP_FCLAMP ? b : NULL);
    /* Twelve steps of 2^21 at most stay finite from 1e19 on: no NaN. */
}

/* To the range of the output. */
static void finish(struct maker *m, enum assay_dtype y)
{
    int64_t lo = INT32_MIN, hi = INT32_MAX;

    if (y == ASSAY_F32) {
        if (m->kind == 2)
            round_float(m);
        if (m->kind == 0)
            put(m, (struct assay_step){.kind = ASSAY_STEP_TO_F32}, NULL, NULL);
        return;
    }
    if (m->kind != 0)
        round_float(m);
    if (y == ASSAY_S8 || y == ASSAY_U8) {
        lo = y == ASSAY_S8 ? -128 : 0;
        hi = lo + 255;
    } else if (y == ASSAY_S16) {
        lo = INT16_MIN;
        hi = INT16_MAX;
    }
    put(m, (struct assay_step){.kind = ASSAY_STEP_CLAMP}, &lo, &hi);
}

void kc_random_program(struct kc *k, struct kc_program *to, size_t channels,
                       bool from_float, int64_t lo, int64_t hi,
                       enum assay_dtype y_dtype, bool with_input)
{
    struct maker m = {
        .k = k, .to = to, .channels = channels, .lo = lo, .hi = hi};
    int64_t *a = kc_alloc(channels * 8), *b = kc_alloc(channels * 8);
    int64_t steps = kc_range(k, 1, ASSAY_MAX_STEPS - 3);

    kc_program_begin(to, channels);
    to->name = "random";
    if (from_float) {
        m.kind = 1;
        m.size = 1e19;
    }
    for (int64_t i = 0; i < steps; i++) {
        if (m.kind == 0)
            int_step(&m, a, b, with_input);
        else
            float_step(&m, a, b);
    }
    finish(&m, y_dtype);
    free(a);
    free(b);
}
