/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The staged search on layers made here: what planted the goldens is found,
 * and what is found gives the goldens.
 *
 * links: host-tools/fit/space.c host-tools/fit/rule.c host-tools/fit/search.c
 * links: kernels/requant.c lib/core/slice.c lib/core/buf.c lib/core/err.c
 * links: lib/core/form*.c lib/core/arith_build.c lib/core/arith*.c lib/core/hash.c
 * libs: -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host-tools/fit/search.h"

static uint64_t seed = 88172645463325252u;

static uint64_t next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static int64_t between(int64_t lo, int64_t hi)
{
    return lo + (int64_t)(next() % (uint64_t)(hi - lo + 1));
}

#define N 6000
#define CHANNELS 3

static int64_t acc[N], second[N], golden[N];
static const int64_t bias[CHANNELS] = {1234, -777, 50};
static const int64_t pre[CHANNELS] = {3, 2, 4};
static const int64_t scale[CHANNELS] = {17001, 32001, 20480};
static const int64_t post[CHANNELS] = {14, 16, 12};
static const int64_t by[CHANNELS] = {2, 1, 3};
static const int64_t times[CHANNELS] = {5, 7, 3};

static struct assay_fit_problem conv(bool with_second)
{
    struct assay_fit_problem p = {
        .space = assay_fit_space_of("conv"),
        .dtype = ASSAY_S8,
        .channels = CHANNELS,
        .bias = bias,
        .pre_shift = pre,
        .scale = {scale},
        .post_shift = {post},
    };
    p.space.radix[ASSAY_FIT_DERIVE] = 1;
    if (with_second) {
        p.second_shift = by;
        p.second_scale = times;
    } else {
        p.space.radix[ASSAY_FIT_SECOND] = p.space.radix[ASSAY_FIT_HOW] = 1;
        p.space.radix[ASSAY_FIT_SECOND_ROUND] = 1;
    }
    return p;
}

static void plant(const struct assay_fit_problem *p,
                  const struct assay_fit_choice *c)
{
    for (size_t i = 0; i < N; i++)
        golden[i] =
            assay_fit_output(p, c, acc[i], second[i], (uint32_t)(i % CHANNELS));
}

static void fill(void)
{
    for (size_t i = 0; i < N; i++) {
        static const int64_t most[4] = {300, 30000, 3000000, 4000000000};
        acc[i] = between(-most[i / 7 % 4], most[i / 7 % 4]);
        second[i] = between(-128, 127);
    }
}

static uint32_t *alive(const struct assay_fit_problem *p)
{
    size_t n = assay_fit_size(&p->space);
    uint32_t *state = malloc(n * sizeof(*state));
    assert_non_null(state);
    for (size_t i = 0; i < n; i++)
        state[i] = 1;
    return state;
}

/* Whatever is planted survives, and every survivor gives the goldens. */
static void one(bool with_second, const char *rule)
{
    struct assay_fit_problem p = conv(with_second);
    struct assay_fit_elements e = {.n = N,
                                   .acc = acc,
                                   .second = with_second ? second : NULL,
                                   .golden = golden};
    struct assay_fit_choice c;
    uint32_t *state = alive(&p);
    size_t left, n = assay_fit_size(&p.space);

    assert_true(assay_fit_parse("conv", rule, &c));
    plant(&p, &c);
    assert_int_equal(assay_fit_filter(&p, &e, state, &left, NULL), 0);
    assert_true(state[assay_fit_index(&p.space, &c)]);
    assert_true(left >= 1 && left < n / 100);
    for (size_t k = 0; k < n; k++) {
        struct assay_fit_choice other = assay_fit_choice_at(&p.space, k);
        bool same = true;
        for (size_t i = 0; i < N && same; i++)
            same = assay_fit_output(&p, &other, acc[i], second[i],
                                    (uint32_t)(i % CHANNELS)) == golden[i];
        assert_int_equal(same, state[k] != 0);
    }
    free(state);
}

static void test_found(void **unused)
{
    (void)unused;
    fill();
    one(false, "add bias; wrap 32; shr pre_shift floor; sat 16; mul scale; "
               "shr post_shift floor; sat out; relu");
    one(false, "shr pre_shift half_even; add bias; wrap 16; mul scale; "
               "shr post_shift half_away; wrap out; relu");
    one(false, "sat 32; shr pre_shift ceil; mul scale; add bias; "
               "shr post_shift half_zero; sat out; relu");
    one(true, "add bias; add_scaled second_scale second_shift half_up; "
              "wrap 32; shr pre_shift floor; sat 16; mul scale; "
              "shr post_shift half_down; sat out; relu");
    one(true, "add bias; sat 32; shr pre_shift trunc; add_input second_shift "
              "floor second_scale; sat 16; mul scale; shr post_shift half_up; "
              "sat out; relu");
}

static void test_count_and_split(void **unused)
{
    struct assay_fit_problem p = conv(false);
    struct assay_fit_elements e = {.n = N, .acc = acc, .golden = golden};
    size_t n = assay_fit_size(&p.space), classes;
    uint32_t *state = alive(&p), *differ = calloc(n, sizeof(*differ));
    struct assay_fit_choice c = {{0}};

    (void)unused;
    fill();
    plant(&p, &c);
    assert_non_null(differ);
    assert_int_equal(assay_fit_count(&p, &e, state, differ, NULL), 0);
    assert_int_equal(assay_fit_split(&p, &e, state, &classes, NULL), 0);
    assert_true(classes > 100);
    for (size_t k = 0; k < n; k += 37) {
        struct assay_fit_choice other = assay_fit_choice_at(&p.space, k);
        uint32_t d = 0;
        for (size_t i = 0; i < N; i++)
            d += assay_fit_output(&p, &other, acc[i], 0,
                                  (uint32_t)(i % CHANNELS)) != golden[i];
        assert_int_equal(d, differ[k]);
        assert_int_equal(d == 0, state[k] == state[0]);
    }
    free(state);
    free(differ);
}

/* Every candidate of every form is a rule, and reads back as itself. */
static void test_rules(void **unused)
{
    static const char *const forms[] = {
        "conv",  "linear",   "conv_tail",      "matmul",     "add",
        "sub",   "mul",      "rescale",        "reduce",     "global_avg_pool",
        "lut",   "avg_pool", "lut_segments",   "resize",     "grid_sample",
        "prelu", "quantize", "conv_transpose", "linear_tail"};
    (void)unused;
    for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
        struct assay_fit_space space = assay_fit_space_of(forms[f]);
        size_t n = assay_fit_size(&space);
        assert_true(n > 1);
        for (size_t k = 0; k<n; k += n> 5000 ? 1009 : 1) {
            struct assay_fit_choice c = assay_fit_choice_at(&space, k), back;
            char rule[ASSAY_FIT_RULE_TEXT];
            assert_int_equal(assay_fit_index(&space, &c), k);
            assay_fit_rule(forms[f], &c, rule);
            assert_true(strlen(rule) < sizeof(rule) - 1);
            assert_true(assay_fit_parse(forms[f], rule, &back));
            assert_int_equal(assay_fit_index(&space, &back), k);
        }
    }
}

/* As docs/numerics.md fixes them. */
static void test_sizes(void **unused)
{
    static const struct {
        const char *form;
        size_t rules;
    } sizes[] = {
        {"conv", 276480},      {"conv_transpose", 276480},
        {"linear", 276480},    {"conv_tail", 96},
        {"linear_tail", 96},   {"matmul", 17280},
        {"add", 17280},        {"sub", 17280},
        {"mul", 5760},         {"rescale", 5760},
        {"reduce", 5760},      {"global_avg_pool", 5760},
        {"avg_pool", 5760},    {"prelu", 1024},
        {"lut_segments", 128}, {"resize", 32},
        {"resize_twice", 32},  {"grid_sample", 16},
        {"quantize", 8},       {"lut", 2},
        {"conv_float", 1},     {"dequantize", 1},
    };
    (void)unused;
    for (size_t f = 0; f < sizeof(sizes) / sizeof(sizes[0]); f++) {
        struct assay_fit_space space = assay_fit_space_of(sizes[f].form);
        assert_int_equal(assay_fit_size(&space), sizes[f].rules);
    }
}

static void test_outside(void **unused)
{
    struct assay_fit_choice c;
    (void)unused;
    assert_false(assay_fit_parse("conv", "add bias; srdhm scale", &c));
    assert_false(assay_fit_parse("conv", "shr pre_shift nearest", &c));
    assert_false(assay_fit_parse("conv", "mul scale; wrap 32; sat out", &c));
    assert_int_equal(assay_fit_kind_of("dequantize"), ASSAY_FIT_NONE);
    assert_int_equal(assay_fit_kind_of(NULL), ASSAY_FIT_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),   cmocka_unit_test(test_count_and_split),
        cmocka_unit_test(test_rules),   cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
