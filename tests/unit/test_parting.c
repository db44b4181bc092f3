/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a calculation was left: sets of values that lead to another end, held
 * against running every value forward; other readings of one step; ends that
 * no value leads to.
 *
 * links: host-tools/cause/parting.c host-tools/cause/parting_reading.c
 * links: kernels/requant.c
 * libs: -lm
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "host-tools/cause/parting.h"

struct chain {
    struct assay_point p[ASSAY_POINTS];
    struct assay_preimage sets[ASSAY_POINTS];
    struct assay_step steps[8];
    int64_t a[8], b[8];
    uint32_t n;
};

static void start(struct chain *c, int64_t v)
{
    *c = (struct chain){.n = 1};
    c->p[0].v.i = v;
    c->p[0].lo = -ASSAY_PREIMAGE_LIMIT;
    c->p[0].hi = ASSAY_PREIMAGE_LIMIT;
}

static struct assay_step *add(struct chain *c, enum assay_step_kind kind,
                              int64_t a, int64_t b)
{
    uint32_t i = c->n++;
    struct assay_step *s = &c->steps[i - 1];

    c->a[i - 1] = a;
    c->b[i - 1] = b;
    *s = (struct assay_step){
        .kind = (uint8_t)kind, .n = 1, .a = &c->a[i - 1], .b = &c->b[i - 1]};
    c->p[i].by = ASSAY_POINT_STEP;
    c->p[i].from[0] = i - 1;
    c->p[i].step = s;
    return s;
}

static void run(struct chain *c)
{
    for (uint32_t i = 1; i < c->n; i++)
        assay_point_run(c->p, i);
}

static void part(struct chain *c, int64_t column)
{
    const union assay_value v = {.i = column};

    run(c);
    assay_parting_sets(c->p, c->n, &v, c->sets);
}

static int64_t bits_of(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof(u));
    return (int64_t)u;
}

/* >> 3 floor, sat 16, x 21845, >> 20 floor, sat 8. */
static void vendor(struct chain *c, int64_t acc)
{
    start(c, acc);
    add(c, ASSAY_STEP_SHR, 3, 0);
    add(c, ASSAY_STEP_SAT, 0, 0)->bits = 16;
    add(c, ASSAY_STEP_MUL, 21845, 0);
    add(c, ASSAY_STEP_SHR, 20, 0);
    add(c, ASSAY_STEP_SAT, 0, 0)->bits = 8;
}

static int64_t end_of(struct chain *c, int64_t acc)
{
    c->p[0].v.i = acc;
    run(c);
    return c->p[c->n - 1].v.i;
}

/* Both sides of both ends of the accumulator's set, run forward. */
static void ends_are_exact(struct chain *c, int64_t column)
{
    const struct assay_preimage s = c->sets[0];

    assert_false(s.empty || s.unknown);
    if (s.lo > -ASSAY_PREIMAGE_LIMIT) {
        assert_int_equal(end_of(c, s.lo), column);
        assert_int_not_equal(end_of(c, s.lo - 1), column);
    }
    if (s.hi < ASSAY_PREIMAGE_LIMIT) {
        assert_int_equal(end_of(c, s.hi), column);
        assert_int_not_equal(end_of(c, s.hi + 1), column);
    }
}

static void test_integers(void **state)
{
    struct chain c;

    (void)state;
    for (int64_t want = -128; want <= 127; want++) {
        vendor(&c, 20000);
        part(&c, want);
        ends_are_exact(&c, want);
    }
    vendor(&c, 20000);
    part(&c, 53);
    assert_int_equal(c.sets[4].lo, 53);
    assert_int_equal(c.sets[3].lo, 53ll << 20);
    assert_int_equal(c.sets[3].hi, (54ll << 20) - 1);
    /* Never ours: the rest gives ours. */
    for (uint32_t i = 0; i < c.n; i++)
        assert_false(assay_preimage_has(&c.sets[i], &c.p[i].v));
}

static void test_limits_are_open(void **state)
{
    struct chain c;

    (void)state;
    vendor(&c, 20000);
    part(&c, 127);
    assert_int_equal(c.sets[0].hi, ASSAY_PREIMAGE_LIMIT);
    assert_true(c.sets[0].lo > 0);
    part(&c, -128);
    assert_int_equal(c.sets[0].lo, -ASSAY_PREIMAGE_LIMIT);
    assert_true(c.sets[0].hi < 0);
}

static void test_roundings(void **state)
{
    (void)state;
    for (uint8_t round = 0; round <= ASSAY_ROUND_HALF_ZERO; round++) {
        for (int64_t want = -3; want <= 3; want++) {
            struct chain c;

            start(&c, 100);
            add(&c, ASSAY_STEP_SHR, 4, 0)->round = round;
            part(&c, want);
            ends_are_exact(&c, want);
        }
    }
}

static void test_negative_factor(void **state)
{
    struct chain c;

    (void)state;
    for (int64_t want = -20; want <= 20; want++) {
        start(&c, 5000);
        add(&c, ASSAY_STEP_MUL, -7, 0);
        add(&c, ASSAY_STEP_SHR, 5, 0)->round = ASSAY_ROUND_HALF_EVEN;
        part(&c, want);
        ends_are_exact(&c, want);
        start(&c, 5000);
        add(&c, ASSAY_STEP_SRDHM, -1500000000, 0);
        part(&c, want);
        ends_are_exact(&c, want);
    }
}

static void test_floats(void **state)
{
    struct chain c;

    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        for (int64_t want = -128; want <= 127; want += 15) {
            double scale = -0.0371;
            int64_t a = bits_of((float)scale);

            if (wide)
                memcpy(&a, &scale, sizeof(a));
            start(&c, 100);
            add(&c, wide ? ASSAY_STEP_TO_F64 : ASSAY_STEP_TO_F32, 0, 0);
            add(&c, ASSAY_STEP_FMUL, a, 0);
            add(&c, ASSAY_STEP_FROUND, 0, 0)->round = ASSAY_ROUND_HALF_EVEN;
            add(&c, ASSAY_STEP_CLAMP, -128, 127);
            part(&c, want);
            ends_are_exact(&c, want);
        }
    }
}

/* An odd number behind a shift to the left comes from nowhere. */
static void test_nothing_leads_there(void **state)
{
    struct chain c;
    uint32_t at;

    (void)state;
    start(&c, 3);
    add(&c, ASSAY_STEP_MUL, 5, 0);
    add(&c, ASSAY_STEP_SHL, 2, 0);
    add(&c, ASSAY_STEP_SAT, 0, 0)->bits = 8;
    part(&c, 63);
    assert_true(c.sets[1].empty && c.sets[0].empty);
    assert_false(c.sets[2].empty);
    assert_true(assay_parting_first(c.p, c.n, c.sets, &at));
    assert_int_equal(at, 2);
    part(&c, 80); /* 20 << 2: four times five */
    assert_false(assay_parting_first(c.p, c.n, c.sets, &at));
    assert_int_equal(at, 0);
    part(&c, 64); /* 16 is no multiple of five */
    assert_true(assay_parting_first(c.p, c.n, c.sets, &at));
    assert_int_equal(at, 1);
}

static bool has(const struct chain *c, uint32_t point,
                enum assay_reading_kind kind, enum assay_round round)
{
    struct assay_reading r[64];
    size_t n = assay_parting_readings(c->p, c->n, c->sets, r, 64);

    for (size_t i = 0; i < n; i++)
        if (r[i].point == point && r[i].kind == kind &&
            (kind != ASSAY_READING_ROUND || r[i].round == round))
            return true;
    return false;
}

static void test_readings(void **state)
{
    struct chain c;

    (void)state;
    vendor(&c, 20124); /* 2515 * 21845 = 52.39.. * 2^20: down either way */
    part(&c, 53);
    assert_int_equal(c.p[4].v.i, 52);
    assert_true(has(&c, 4, ASSAY_READING_ROUND, ASSAY_ROUND_CEIL));
    assert_false(has(&c, 4, ASSAY_READING_ROUND, ASSAY_ROUND_HALF_UP));
    assert_false(has(&c, 1, ASSAY_READING_ROUND, ASSAY_ROUND_CEIL));
    start(&c, 200);
    add(&c, ASSAY_STEP_SAT, 0, 0)->bits = 8;
    part(&c, 200 - 256);
    assert_true(has(&c, 1, ASSAY_READING_WRAPS, 0));
    part(&c, 200);
    assert_true(has(&c, 1, ASSAY_READING_EXACT, 0));
    start(&c, 10);
    add(&c, ASSAY_STEP_ADD, 7, 0);
    part(&c, 10);
    assert_true(has(&c, 1, ASSAY_READING_NO_ADDEND, 0));
    assert_int_equal(c.sets[0].lo, 3);
    start(&c, 300);
    add(&c, ASSAY_STEP_SHR, 2, 0);
    part(&c, 150);
    assert_true(has(&c, 1, ASSAY_READING_DOUBLE, 0));
    assert_false(has(&c, 1, ASSAY_READING_HALF, 0));
    part(&c, 37);
    assert_true(has(&c, 1, ASSAY_READING_HALF, 0));
    start(&c, 300);
    add(&c, ASSAY_STEP_TO_F32, 0, 0);
    add(&c, ASSAY_STEP_FMUL, bits_of(0.25f), 0);
    add(&c, ASSAY_STEP_FROUND, 0, 0)->round = ASSAY_ROUND_HALF_EVEN;
    part(&c, 150);
    assert_true(has(&c, 2, ASSAY_READING_DOUBLE, 0));
    assert_false(has(&c, 2, ASSAY_READING_LAST_BIT, 0));
    start(&c, 300);
    add(&c, ASSAY_STEP_CLAMP, -128, 127);
    part(&c, 300);
    assert_true(has(&c, 1, ASSAY_READING_LEFT_OUT, 0));
}

/* Ours has wrapped once: so has the value that is asked for. */
static void test_wraps(void **state)
{
    struct chain c;

    (void)state;
    start(&c, (1ll << 32) + 5);
    add(&c, ASSAY_STEP_WRAP, 0, 0)->bits = 32;
    part(&c, 9);
    assert_int_equal(c.sets[0].lo, (1ll << 32) + 9);
    assert_int_equal(c.sets[0].hi, (1ll << 32) + 9);
    part(&c, 1ll << 40);
    assert_true(c.sets[0].empty);
}

static void join(struct chain *c, enum assay_combine how, float a, float b)
{
    start(c, 0);
    c->n = 3;
    c->p[0].kind = c->p[1].kind = c->p[2].kind = ASSAY_VALUE_F32;
    c->p[0].v.f = a;
    c->p[1].v.f = b;
    c->p[2].by = ASSAY_POINT_COMBINE;
    c->p[2].how = how;
    c->p[2].from[1] = 1;
    c->p[2].k = 2.0f;
    assay_point_run(c->p, 2);
}

static void test_two_ways(void **state)
{
    struct chain c;
    union assay_value want = {.f = 12.0f};
    uint32_t at;

    (void)state;
    join(&c, ASSAY_COMBINE_FSUB, 7.0f, 4.0f);
    assay_parting_sets(c.p, c.n, &want, c.sets);
    assert_true(c.sets[0].f_lo <= 16.0 && c.sets[0].f_hi >= 16.0);
    assert_true(c.sets[0].f_hi - c.sets[0].f_lo < 1e-4);
    assert_true(c.sets[1].f_lo <= -5.0 && c.sets[1].f_hi >= -5.0);
    assert_false(assay_parting_first(c.p, c.n, c.sets, &at));
    assert_int_equal(at, 2);
    join(&c, ASSAY_COMBINE_FFMA, 7.0f, 4.0f); /* 4 * 2 + 7 */
    assert_true(c.p[2].v.f == 15.0f);
    assay_parting_sets(c.p, c.n, &want, c.sets);
    assert_true(
        assay_preimage_has(&c.sets[1], &(union assay_value){.f = 2.5f}));
    join(&c, ASSAY_COMBINE_FDIV, 7.0f, 4.0f);
    assay_parting_sets(c.p, c.n, &want, c.sets);
    assert_true(
        assay_preimage_has(&c.sets[0], &(union assay_value){.f = 48.0f}));
    assert_true(c.sets[1].unknown); /* not monotone */
}

static void test_nan_says_nothing(void **state)
{
    struct chain c;
    union assay_value nan_value = {.f = NAN};
    uint32_t at;

    (void)state;
    join(&c, ASSAY_COMBINE_FADD, 7.0f, 4.0f);
    assay_parting_sets(c.p, c.n, &nan_value, c.sets);
    for (uint32_t i = 0; i < c.n; i++)
        assert_true(c.sets[i].unknown);
    assert_false(assay_parting_first(c.p, c.n, c.sets, &at));
    assert_int_equal(assay_parting_readings(c.p, c.n, c.sets, NULL, 0), 0);
}

static void test_division(void **state)
{
    static const enum assay_round rounds[] = {
        ASSAY_ROUND_FLOOR, ASSAY_ROUND_TRUNC, ASSAY_ROUND_HALF_UP,
        ASSAY_ROUND_HALF_EVEN, ASSAY_ROUND_HALF_AWAY};

    (void)state;
    for (size_t r = 0; r < sizeof(rounds) / sizeof(rounds[0]); r++) {
        for (int64_t want = -3; want <= 3; want++) {
            struct chain c;

            start(&c, 100);
            c.n = 2;
            c.p[1].by = ASSAY_POINT_DIVIDE;
            c.p[1].n = 6;
            c.p[1].round = rounds[r];
            part(&c, want);
            ends_are_exact(&c, want);
        }
    }
}

/* A start knows what it can be: an int8 is never 300. */
static void test_start_has_a_range(void **state)
{
    struct chain c;
    uint32_t at;

    (void)state;
    start(&c, 5);
    c.p[0].lo = -128;
    c.p[0].hi = 127;
    add(&c, ASSAY_STEP_MUL, 2, 0);
    part(&c, 600);
    assert_true(c.sets[0].empty);
    assert_true(assay_parting_first(c.p, c.n, c.sets, &at));
    assert_int_equal(at, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_limits_are_open),
        cmocka_unit_test(test_roundings),
        cmocka_unit_test(test_negative_factor),
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_nothing_leads_there),
        cmocka_unit_test(test_readings),
        cmocka_unit_test(test_wraps),
        cmocka_unit_test(test_two_ways),
        cmocka_unit_test(test_nan_says_nothing),
        cmocka_unit_test(test_division),
        cmocka_unit_test(test_start_has_a_range),
    };

    return cmocka_run_group_tests_name("parting", tests, NULL, NULL);
}
