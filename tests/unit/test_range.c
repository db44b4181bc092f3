/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interval analysis against the interpreter: whatever the analysis accepts,
 * every value that the interpreter makes lies inside; and what it refuses.
 *
 * links: tests/support/slices.c lib/engine/range.c lib/core/slice.c
 * links: lib/core/buf.c lib/core/err.c kernels/requant.c
 */
#include "lib/engine/range.h"

#include <math.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/requant.h"
#include "tests/support/slices.h"

static uint64_t seed = 20261202;

static uint64_t next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* A number of random width and sign. */
static int64_t wild(unsigned bits)
{
    uint64_t n = next() >> (64 - 1 - next() % bits);
    return next() & 1 ? -(int64_t)n : (int64_t)n;
}

static void random_int_step(struct assay_step *s, int64_t *a, int64_t *b)
{
    static const uint8_t kinds[] = {
        ASSAY_STEP_ADD,       ASSAY_STEP_SHL,   ASSAY_STEP_SHR,
        ASSAY_STEP_MUL,       ASSAY_STEP_SRDHM, ASSAY_STEP_SDMULH,
        ASSAY_STEP_ADD_INPUT, ASSAY_STEP_SAT,   ASSAY_STEP_WRAP,
        ASSAY_STEP_ADD_ZP,    ASSAY_STEP_CLAMP, ASSAY_STEP_ADD_SCALED};
    *s = (struct assay_step){.kind = kinds[next() % sizeof(kinds)],
                             .round = (uint8_t)(next() % 8),
                             .add_mode = (uint8_t)(next() % 3),
                             .bits = (uint8_t)(2 + next() % 62),
                             .n = 1,
                             .a = a,
                             .b = b};
    *a = wild(31);
    *b = wild(31);
    if (s->kind == ASSAY_STEP_SHL)
        *a = (int64_t)(next() % 40);
    if (s->kind == ASSAY_STEP_SHR || s->kind == ASSAY_STEP_ADD_INPUT ||
        s->kind == ASSAY_STEP_ADD_SCALED)
        *a = (int64_t)(next() % 60) - 10;
    if (s->kind == ASSAY_STEP_CLAMP && *a > *b)
        *b = *a;
}

static void random_float_step(struct assay_step *s, int64_t *a, int64_t *b)
{
    static const uint8_t kinds[] = {ASSAY_STEP_FMUL, ASSAY_STEP_FDIV,
                                    ASSAY_STEP_FADD, ASSAY_STEP_FFMA,
                                    ASSAY_STEP_FCLAMP};
    float x = (float)wild(24) / 1024, y = (float)wild(24) / 1024;
    *s = (struct assay_step){
        .kind = kinds[next() % sizeof(kinds)], .n = 1, .a = a, .b = b};
    if (s->kind == ASSAY_STEP_FDIV && x == 0)
        x = 1;
    if (s->kind == ASSAY_STEP_FCLAMP && x > y)
        y = x;
    *a = slices_f32(x);
    *b = slices_f32(y);
}

/* Runs one program on one value and holds it against the interval. */
static void hold(const struct assay_program *p, int64_t x, int32_t e,
                 const struct assay_interval *v)
{
    union assay_value value = {.i = x};
    struct assay_block block = {
        .v = &value, .n = 1, .channels = 1, .second = &e};
    assay_program_run(p, &block);
    if (v->kind == ASSAY_VALUE_INT) {
        assert_true(value.i >= v->lo && value.i <= v->hi);
        return;
    }
    if (isnan(value.f))
        assert_true(v->nan);
    else
        assert_true(value.f >= v->f_lo && value.f <= v->f_hi);
}

static void intervals_hold_every_value(void **state)
{
    int accepted = 0, refused = 0;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct assay_program p = {0};
        int64_t a[ASSAY_MAX_STEPS], b[ASSAY_MAX_STEPS];
        unsigned ints = (unsigned)(next() % 5);
        unsigned floats = (unsigned)(next() % 4);
        for (unsigned i = 0; i < ints; i++, p.n_steps++)
            random_int_step(&p.steps[p.n_steps], &a[p.n_steps], &b[p.n_steps]);
        if (floats)
            slices_step(&p, ASSAY_STEP_TO_F32, 0, NULL, NULL);
        for (unsigned i = 0; i < floats; i++, p.n_steps++)
            random_float_step(&p.steps[p.n_steps], &a[p.n_steps],
                              &b[p.n_steps]);
        if (floats && next() % 2) {
            slices_step(&p, ASSAY_STEP_FROUND, 0, NULL, NULL);
            p.steps[p.n_steps - 1].round = (uint8_t)(next() % 9);
        }
        int64_t lo = wild(31), hi = wild(31);
        if (lo > hi) {
            int64_t t = lo;
            lo = hi;
            hi = t;
        }
        struct assay_interval v = assay_interval_int(lo, hi);
        struct assay_interval e = assay_interval_int(-128, 127);
        assert_int_equal(
            assay_program_check(&p, 1, ASSAY_VALUE_INT, true, "p", NULL), 0);
        if (assay_program_range(&p, 0, &e, &v, "p", NULL)) {
            refused++;
            continue;
        }
        accepted++;
        uint64_t width = (uint64_t)hi - (uint64_t)lo + 1;
        for (int k = 0; k < 20; k++) {
            int64_t x = k == 0   ? lo
                        : k == 1 ? hi
                                 : lo + (int64_t)(next() % width);
            hold(&p, x, (int32_t)(next() % 256) - 128, &v);
        }
    }
    assert_true(accepted > 5000);
    assert_true(refused > 100);
}

static void refuses(const struct assay_program *p, size_t channels,
                    const char *want)
{
    struct assay_err err = {0};
    assert_true(assay_program_check(p, channels, ASSAY_VALUE_INT, false,
                                    "out_program", &err) < 0);
    assert_string_equal(err.text, want);
}

static void forms_are_refused(void **state)
{
    struct assay_program p = {0};
    int64_t a[3] = {63, 0, 0}, b[3] = {0, 0, 0};
    (void)state;
    p.n_steps = 13;
    refuses(&p, 1, "out_program: steps: expected at most 12, found 13");
    p.n_steps = 0;
    slices_step(&p, (enum assay_step_kind)99, 1, a, b);
    refuses(&p, 1, "out_program step 0 (?): step kind 99 is not known");
    p.n_steps = 0;
    slices_step(&p, ASSAY_STEP_SHL, 1, a, NULL);
    refuses(&p, 1,
            "out_program step 0 (shl): shift in channel 0: expected 0 "
            "to 62, found 63");
    p.steps[0].kind = ASSAY_STEP_SHR;
    refuses(&p, 1,
            "out_program step 0 (shr): shift in channel 0: expected "
            "-62 to 62, found 63");
    p.steps[0].n = 3;
    refuses(&p, 4,
            "out_program step 0 (shr): operand count: expected 1 or 4 "
            "(channels), found 3");
    p.steps[0].n = 1;
    p.steps[0].round = 8;
    refuses(&p, 1,
            "out_program step 0 (shr): round: expected 0 to 7, found "
            "8");
    p.steps[0] = (struct assay_step){.kind = ASSAY_STEP_MUL, .n = 1};
    refuses(&p, 1, "out_program step 0 (mul): operand a is missing");
    p.steps[0] = (struct assay_step){.kind = ASSAY_STEP_CLAMP, .n = 1, .a = a};
    refuses(&p, 1, "out_program step 0 (clamp): operand b is missing");
    p.steps[0].b = b;
    refuses(&p, 1,
            "out_program step 0 (clamp): bounds in channel 0: expected "
            "lower <= upper, found 63 and 0");
    p.steps[0] = (struct assay_step){.kind = ASSAY_STEP_SAT, .bits = 64};
    refuses(&p, 1,
            "out_program step 0 (sat): bits: expected 2 to 63, found "
            "64");
    p.steps[0] = (struct assay_step){.kind = ASSAY_STEP_FMUL, .n = 1, .a = a};
    refuses(&p, 1,
            "out_program step 0 (fmul): value: expected a float, found "
            "an integer");
    p.steps[0] = (struct assay_step){
        .kind = ASSAY_STEP_ADD, .n = 1, .a = a, .add_mode = 3};
    refuses(&p, 1,
            "out_program step 0 (add): add_mode: expected 0 to 2, "
            "found 3");
    p.steps[0] = (struct assay_step){
        .kind = ASSAY_STEP_ADD_INPUT, .n = 1, .a = a, .b = b};
    refuses(&p, 1,
            "out_program step 0 (add_input): this layer has no second "
            "input");
    a[0] = (int64_t)1 << 31;
    p.steps[0] = (struct assay_step){.kind = ASSAY_STEP_SRDHM, .n = 1, .a = a};
    refuses(&p, 1,
            "out_program step 0 (srdhm): multiplier in channel 0: "
            "expected an int32, found 2147483648");
}

static void float_operands_are_refused(void **state)
{
    struct assay_program p = {0};
    int64_t a = slices_f32(NAN), b = slices_f32(1);
    (void)state;
    slices_step(&p, ASSAY_STEP_TO_F32, 0, NULL, NULL);
    slices_step(&p, ASSAY_STEP_FADD, 1, &a, NULL);
    refuses(&p, 1,
            "out_program step 1 (fadd): operand in channel 0: expected "
            "a finite number, found nan");
    a = slices_f32(0);
    p.steps[1].kind = ASSAY_STEP_FDIV;
    refuses(&p, 1,
            "out_program step 1 (fdiv): divisor in channel 0: expected "
            "anything but 0");
    a = slices_f32(2);
    p.steps[1].kind = ASSAY_STEP_FCLAMP;
    p.steps[1].b = &b;
    refuses(&p, 1,
            "out_program step 1 (fclamp): bounds in channel 0: "
            "expected lower <= upper, found 2 and 1");
    p.steps[1] = (struct assay_step){.kind = ASSAY_STEP_WRAP, .bits = 8};
    refuses(&p, 1,
            "out_program step 1 (wrap): value: expected an integer, "
            "found a binary32");
}

static void overflow_is_refused(void **state)
{
    struct assay_program p = {0};
    struct assay_interval v = assay_interval_int(INT32_MIN, INT32_MAX);
    struct assay_err err;
    int64_t a[2] = {1, INT64_MAX};
    (void)state;
    slices_step(&p, ASSAY_STEP_MUL, 2, a, NULL);
    assert_int_equal(assay_program_range(&p, 0, NULL, &v, "p", &err), 0);
    assert_true(assay_program_per_channel(&p));
    assert_int_equal(assay_program_range(&p, 1, NULL, &v, "p", &err),
                     ASSAY_ERANGE);
    assert_string_equal(err.text, "p step 0 (mul): -2147483648 to 2147483647 "
                                  "in channel 1 can leave 64 bits");
    v = assay_interval_int(0, (int64_t)1 << 31);
    p.n_steps = 0;
    slices_step(&p, ASSAY_STEP_SRDHM, 1, a, NULL);
    assert_int_equal(assay_program_range(&p, 0, NULL, &v, "p", &err),
                     ASSAY_ERANGE);
    assert_string_equal(err.text, "p step 0 (srdhm): 0 to 2147483648 in "
                                  "channel 0 can leave int32, which this step "
                                  "takes");
}

static void combinations(void **state)
{
    struct assay_interval a = assay_interval_int(-4, 3), b = a, f;
    struct assay_err err;
    (void)state;
    assert_int_equal(assay_combine_range(ASSAY_COMBINE_MUL, 0, &a, &b, &err),
                     0);
    assert_int_equal(a.lo, -12);
    assert_int_equal(a.hi, 16);
    assert_int_equal(assay_combine_range(ASSAY_COMBINE_SUB, 0, &a, &b, &err),
                     0);
    assert_int_equal(a.lo, -15);
    assert_int_equal(a.hi, 20);
    f = assay_interval_of(ASSAY_F32);
    assert_true(assay_combine_range(ASSAY_COMBINE_FADD, 0, &a, &f, &err) < 0);
    assert_string_equal(err.text, "combine: expected a binary32 from both "
                                  "in_programs, found an integer and a "
                                  "binary32");
    assert_true(assay_combine_range((enum assay_combine)13, 0, &a, &b, &err) <
                0);
    assert_string_equal(err.text, "combine: 13 is not known");
    a = b = assay_interval_int(INT64_MIN, 0);
    assert_true(assay_combine_range(ASSAY_COMBINE_ADD, 0, &a, &b, &err) < 0);
    a = f;
    b = f;
    assert_true(assay_combine_range(ASSAY_COMBINE_FFMA, NAN, &a, &b, &err) < 0);
    assert_int_equal(assay_combine_range(ASSAY_COMBINE_FDIV, 0, &a, &b, &err),
                     0);
    assert_true(a.nan);
}

static void greater_and_smaller(void **state)
{
    struct assay_interval a = assay_interval_int(-4, 30), f, g;
    const struct assay_interval b = assay_interval_int(-1, 7);
    struct assay_err err;
    (void)state;
    assert_int_equal(assay_combine_range(ASSAY_COMBINE_MAX, 0, &a, &b, &err),
                     0);
    assert_int_equal(a.lo, -1);
    assert_int_equal(a.hi, 30);
    assert_int_equal(assay_combine_range(ASSAY_COMBINE_MIN, 0, &a, &b, &err),
                     0);
    assert_int_equal(a.lo, -1);
    assert_int_equal(a.hi, 7);
    assert_true(assay_combine_is_int(ASSAY_COMBINE_MAX));
    assert_true(assay_combine_is_int(ASSAY_COMBINE_MIN));
    assert_false(assay_combine_is_int(ASSAY_COMBINE_FMAX));
    f = (struct assay_interval){
        .kind = ASSAY_VALUE_F32, .f_lo = -2, .f_hi = INFINITY};
    g = (struct assay_interval){.kind = ASSAY_VALUE_F32, .f_lo = 1, .f_hi = 5};
    assert_int_equal(assay_combine_range(ASSAY_COMBINE_FMIN, 0, &f, &g, &err),
                     0);
    assert_true(f.f_lo == -2 && f.f_hi == 5 && !f.nan);
    assert_int_equal(assay_combine_range(ASSAY_COMBINE_FMAX, 0, &f, &g, &err),
                     0);
    assert_true(f.f_lo == 1 && f.f_hi == 5 && !f.nan);
    g.nan = true; /* of either side: of the result */
    assert_int_equal(assay_combine_range(ASSAY_COMBINE_FMAX, 0, &f, &g, &err),
                     0);
    assert_true(f.nan);
    assert_true(assay_combine_range(ASSAY_COMBINE_MAX, 0, &f, &b, &err) < 0);
    assert_string_equal(err.text, "combine: expected an integer from both "
                                  "in_programs, found a binary32 and an "
                                  "integer");
}

/* The product comes before the shift: it must fit, however it is shifted. */
static void scaled_second_inputs(void **state)
{
    struct assay_program p = {0};
    struct assay_interval v = assay_interval_int(100, 200);
    struct assay_interval e = assay_interval_int(-3, 5);
    struct assay_err err;
    int64_t shift = 1, times = -7;
    (void)state;
    slices_step(&p, ASSAY_STEP_ADD_SCALED, 1, &shift, &times);
    refuses(&p, 1,
            "out_program step 0 (add_scaled): this layer has no second "
            "input");
    p.steps[0].b = NULL;
    assert_true(assay_program_check(&p, 1, ASSAY_VALUE_INT, true, "p", &err) <
                0);
    assert_string_equal(err.text, "p step 0 (add_scaled): operand b is "
                                  "missing");
    p.steps[0].b = &times;
    shift = -63;
    assert_true(assay_program_check(&p, 1, ASSAY_VALUE_INT, true, "p", &err) <
                0);
    assert_string_equal(err.text, "p step 0 (add_scaled): shift in channel 0: "
                                  "expected -62 to 62, found -63");
    shift = 1; /* -35 to 21, halved: -18 to 10 */
    assert_int_equal(assay_program_range(&p, 0, &e, &v, "p", &err), 0);
    assert_int_equal(v.lo, 82);
    assert_int_equal(v.hi, 210);
    times = (int64_t)1 << 40;
    e = assay_interval_of(ASSAY_S32);
    shift = 62;
    assert_int_equal(assay_program_range(&p, 0, &e, &v, "p", &err),
                     ASSAY_ERANGE);
    assert_string_equal(err.text,
                        "p step 0 (add_scaled): -2147483648 to 2147483647 in "
                        "channel 0 can leave 64 bits");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_hold_every_value),
        cmocka_unit_test(forms_are_refused),
        cmocka_unit_test(float_operands_are_refused),
        cmocka_unit_test(overflow_is_refused),
        cmocka_unit_test(combinations),
        cmocka_unit_test(greater_and_smaller),
        cmocka_unit_test(scaled_second_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
