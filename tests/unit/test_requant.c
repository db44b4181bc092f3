/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scalar interpreter against the corner table of docs/numerics.md, and
 * the properties that the golden rows do not show.
 * links: kernels/requant.c lib/core/arith_policy.c lib/core/arith_build.c
 * links: lib/core/buf.c lib/core/err.c lib/core/slice.c lib/core/hash.c
 * libs: -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "kernels/requant.h"
#include "lib/core/arith.h"

#define MIN INT32_MIN
#define MAX INT32_MAX

static int64_t bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof(u));
    return (int64_t)u;
}

/* One accumulator through one policy; INT64_MIN: it was refused. */
static int64_t policy(const char *name, int64_t acc, int32_t m, int s,
                      int32_t zp, int64_t lo, int64_t hi)
{
    struct assay_arena *arena = assay_arena_new();
    struct assay_policy_operands ops = {
        .n = 1, .m = &m, .s = &s, .zp = zp, .qmin = lo, .qmax = hi};
    struct assay_program p;
    union assay_value v = {.i = acc};
    struct assay_block block = {.v = &v, .n = 1, .channels = 1};
    assert_non_null(arena);
    if (assay_policy_program(arena, name, &ops, &p, NULL))
        v.i = INT64_MIN;
    else
        assay_program_run(&p, &block);
    assay_arena_free(arena);
    return v.i;
}

#define NO INT64_MIN

static void test_corner_table(void **state)
{
    static const struct {
        int64_t acc;
        int32_t m;
        int s;
        int64_t twice, nofix, single;
    } rows[] = {
        {MIN, MIN, 0, MAX, MAX, NO},
        {MIN, 1 << 30, -31, -1, 0, 0},
        {MIN, MAX, -31, -1, -1, -1},
        {1 << 30, 1 << 30, 1, -(1 << 30), -(1 << 30), 1 << 30},
        {-1, 1 << 30, 0, 0, 0, 0},
        {12345, 0, 0, 0, 0, 0},
        {1, 1 << 30, -32, NO, NO, NO},
        {1, 1 << 30, 31, NO, NO, NO},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t acc = rows[i].acc;
        int32_t m = rows[i].m;
        int s = rows[i].s;
        assert_int_equal(policy("q31_double", acc, m, s, 0, MIN, MAX),
                         rows[i].twice);
        assert_int_equal(policy("q31_double_nofix", acc, m, s, 0, MIN, MAX),
                         rows[i].nofix);
        assert_int_equal(policy("q31_single", acc, m, s, 0, MIN, MAX),
                         rows[i].single);
    }
    /* The saturating left shift, and floor where no shift is left. */
    assert_int_equal(
        policy("q31_double_lsat", 1 << 30, 1 << 30, 1, 0, MIN, MAX), 1 << 30);
    assert_int_equal(policy("q31_trunc_rshl", -1, 1 << 30, 0, 0, MIN, MAX), -1);
    assert_int_equal(policy("q31_double", 5, 0, 0, 200, -128, 127), 127);
}

static void test_shr(void **state)
{
    static const int64_t up[8] = {0, 1, 0, 1, 0, 1, 0, 0};
    static const int64_t down[8] = {-1, 0, 0, 0, 0, -1, -1, 0};
    (void)state;
    for (int round = 0; round < 8; round++) {
        enum assay_round r = (enum assay_round)round;
        for (int n = 1; n <= 62; n++) {
            int64_t tie = 1ll << (n - 1);
            assert_int_equal(assay_shr(tie, n, r), up[round]);
            assert_int_equal(assay_shr(-tie, n, r), down[round]);
        }
        assert_int_equal(assay_shr(INT64_MIN, 0, r), INT64_MIN);
        assert_int_equal(assay_shr(INT64_MIN, 62, r), -2);
        assert_int_equal(assay_shr(-3, -2, r), -12);
    }
    assert_int_equal(assay_shr(INT64_MAX, 62, ASSAY_ROUND_HALF_UP), 2);
    assert_int_equal(assay_shr(INT64_MAX, 62, ASSAY_ROUND_FLOOR), 1);
}

static void test_high_multiplies(void **state)
{
    (void)state;
    assert_int_equal(assay_srdhm(MIN, MIN), MAX);
    assert_int_equal(assay_sdmulh(MIN, MIN), MAX);
    assert_int_equal(assay_srdhm(MIN, MAX), -MAX);
    assert_int_equal(assay_srdhm(-1, 1 << 30), 0); /* a tie goes up */
    assert_int_equal(assay_sdmulh(-1, 1 << 30), -1);
    assert_int_equal(assay_srdhm(1, 1 << 30), 1);
}

static void test_wrap_and_sat(void **state)
{
    (void)state;
    assert_int_equal(assay_wrap(1ll << 31, 32), MIN);
    assert_int_equal(assay_wrap(-(1ll << 31) - 1, 32), MAX);
    assert_int_equal(assay_wrap(2, 2), -2);
    assert_int_equal(assay_wrap(INT64_MAX, 63), -1);
    assert_int_equal(assay_sat(1ll << 40, 32), MAX);
    assert_int_equal(assay_sat(-40000, 16), -32768);
    assert_int_equal(assay_sat(INT64_MIN, 63), -(1ll << 62));
    assert_int_equal(assay_sat(5, 2), 1);
}

static int64_t round_once(float f, enum assay_round round)
{
    struct assay_program p = {.n_steps = 1};
    union assay_value v = {.f = f};
    struct assay_block block = {.v = &v, .n = 1, .channels = 1};
    p.steps[0].kind = ASSAY_STEP_FROUND;
    p.steps[0].round = (uint8_t)round;
    assay_program_run(&p, &block);
    return v.i;
}

static void test_fround(void **state)
{
    static const int64_t plus[8] = {2, 3, 2, 3, 2, 3, 2, 2};
    static const int64_t minus[8] = {-3, -2, -2, -2, -2, -3, -3, -2};
    float below = nextafterf(0.5f, 0.0f);
    (void)state;
    for (int round = 0; round < 8; round++) {
        enum assay_round r = (enum assay_round)round;
        assert_int_equal(round_once(2.5f, r), plus[round]);
        assert_int_equal(round_once(-2.5f, r), minus[round]);
        assert_int_equal(round_once(3e9f, r), MAX);
        assert_int_equal(round_once(-3e9f, r), MIN);
        assert_int_equal(round_once(INFINITY, r), MAX);
        assert_int_equal(round_once(-INFINITY, r), MIN);
        assert_int_equal(round_once(NAN, r), 0);
        assert_int_equal(round_once(-2147483648.0f, r), MIN);
        assert_int_equal(round_once(2147483520.0f, r), 2147483520);
        assert_int_equal(round_once(-0.0f, r), 0);
    }
    /* Adding one half rounds: the float below 1/2 becomes 1. */
    assert_int_equal(round_once(below, ASSAY_ROUND_ADD_HALF), 1);
    assert_int_equal(round_once(-below, ASSAY_ROUND_ADD_HALF), -1);
    assert_int_equal(round_once(below, ASSAY_ROUND_HALF_AWAY), 0);
}

/* Operands of channels go round from block->channel. */
static void test_channels(void **state)
{
    int64_t add[3] = {100, 200, 300};
    struct assay_program p = {.n_steps = 1};
    union assay_value v[8] = {{.i = 0}};
    struct assay_block block = {.v = v, .n = 8, .channel = 2, .channels = 3};
    (void)state;
    p.steps[0] = (struct assay_step){.kind = ASSAY_STEP_ADD, .n = 3, .a = add};
    assay_program_run(&p, &block);
    for (int k = 0; k < 8; k++)
        assert_int_equal(v[k].i, add[(2 + k) % 3]);
}

static void test_add_modes_and_input(void **state)
{
    int64_t one = 1, shift = 1, factor = -3;
    int32_t second[2] = {5, -5};
    int64_t expected[3] = {(int64_t)MAX + 1, MIN, MAX};
    (void)state;
    for (int mode = 0; mode < 3; mode++) {
        struct assay_program p = {.n_steps = 1};
        union assay_value v = {.i = MAX};
        struct assay_block block = {.v = &v, .n = 1, .channels = 1};
        p.steps[0] = (struct assay_step){.kind = ASSAY_STEP_ADD,
                                         .add_mode = (uint8_t)mode,
                                         .n = 1,
                                         .a = &one};
        assay_program_run(&p, &block);
        assert_int_equal(v.i, expected[mode]);
    }
    struct assay_program p = {.n_steps = 1};
    union assay_value v[2] = {{.i = 10}, {.i = 10}};
    struct assay_block block = {
        .v = v, .n = 2, .channels = 1, .second = second};
    p.steps[0] = (struct assay_step){.kind = ASSAY_STEP_ADD_INPUT,
                                     .round = ASSAY_ROUND_HALF_UP,
                                     .n = 1,
                                     .a = &shift,
                                     .b = &factor};
    assay_program_run(&p, &block);
    assert_int_equal(v[0].i, 10 - 3 * 3); /* 2.5 up */
    assert_int_equal(v[1].i, 10 + 3 * 2); /* -2.5 up */
}

/* One rounding in ffma, two in fmul and fadd. */
static void test_fused(void **state)
{
    float a = 1.0f + 0x1p-12f, b = -1.0f;
    int64_t k = bits(a), z = bits(b);
    struct assay_program fused = {.n_steps = 1}, split = {.n_steps = 2};
    union assay_value v = {.f = a}, w = {.f = a};
    struct assay_block one = {.v = &v, .n = 1, .channels = 1};
    struct assay_block two = {.v = &w, .n = 1, .channels = 1};
    (void)state;
    fused.steps[0] =
        (struct assay_step){.kind = ASSAY_STEP_FFMA, .n = 1, .a = &k, .b = &z};
    split.steps[0] =
        (struct assay_step){.kind = ASSAY_STEP_FMUL, .n = 1, .a = &k};
    split.steps[1] =
        (struct assay_step){.kind = ASSAY_STEP_FADD, .n = 1, .a = &z};
    assay_program_run(&fused, &one);
    assay_program_run(&split, &two);
    assert_true(v.f == 0x1p-11f + 0x1p-24f);
    assert_true(w.f == 0x1p-11f);
}

static void test_fclamp_nan(void **state)
{
    int64_t lo = bits(-1.0f), hi = bits(1.0f);
    struct assay_program p = {.n_steps = 1};
    union assay_value v[3] = {{.f = NAN}, {.f = 9.0f}, {.f = -9.0f}};
    struct assay_block block = {.v = v, .n = 3, .channels = 1};
    (void)state;
    p.steps[0] = (struct assay_step){
        .kind = ASSAY_STEP_FCLAMP, .n = 1, .a = &lo, .b = &hi};
    assay_program_run(&p, &block);
    assert_true(v[0].f == -1.0f);
    assert_true(v[1].f == 1.0f);
    assert_true(v[2].f == -1.0f);
}

static void test_load_store(void **state)
{
    static const struct {
        enum assay_dtype dtype;
        size_t size;
        int64_t lo, hi;
    } kinds[] = {
        {ASSAY_S8, 1, -128, 127},      {ASSAY_U8, 1, 0, 255},
        {ASSAY_S16, 2, -32768, 32767}, {ASSAY_U16, 2, 0, 65535},
        {ASSAY_S32, 4, MIN, MAX},      {ASSAY_S64, 8, INT64_MIN, INT64_MAX},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        union assay_value in[2] = {{.i = kinds[i].lo}, {.i = kinds[i].hi}};
        union assay_value out[2];
        char raw[16];
        assert_int_equal(assay_dtype_size(kinds[i].dtype), kinds[i].size);
        assay_store_values(kinds[i].dtype, raw, in, 2);
        assay_load_values(kinds[i].dtype, raw, out, 2);
        assert_int_equal(out[0].i, in[0].i);
        assert_int_equal(out[1].i, in[1].i);
    }
    assert_int_equal(assay_dtype_size((enum assay_dtype)99), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corner_table),
        cmocka_unit_test(test_shr),
        cmocka_unit_test(test_high_multiplies),
        cmocka_unit_test(test_wrap_and_sat),
        cmocka_unit_test(test_fround),
        cmocka_unit_test(test_channels),
        cmocka_unit_test(test_add_modes_and_input),
        cmocka_unit_test(test_fused),
        cmocka_unit_test(test_fclamp_nan),
        cmocka_unit_test(test_load_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
