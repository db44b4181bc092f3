/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of outputs against a definition that counts one by one: rails,
 * bins, exact sums, floats that are no numbers, samples that add up.
 *
 * links: lib/core/ tests/support/slices.c
 * libs: -lxxhash -lmbedcrypto -lm
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "lib/core/stats.h"
#include "tests/support/slices.h"

static struct assay_stats of(enum assay_dtype dtype, const void *data, size_t n)
{
    struct assay_stats_rule rule = {.dtype = dtype};
    struct assay_stats s = {0};

    if (assay_dtype_is_int(dtype))
        assay_dtype_range(dtype, &rule.low, &rule.high);
    assay_stats_add(&s, &rule, data, n);
    assert_null(assay_stats_bad_field(&s));
    return s;
}

static void test_bytes(void **state)
{
    static const int8_t v[] = {-128, -128, -1, 0, 0, 0, 7, 8, 127};
    struct assay_stats s = of(ASSAY_S8, v, sizeof(v));
    static const uint8_t u[] = {0, 7, 8, 255, 255};

    (void)state;
    assert_int_equal(s.count, 9);
    assert_int_equal(s.min, -128);
    assert_int_equal(s.max, 127);
    assert_int_equal(s.zeros, 3);
    assert_int_equal(s.at_low, 2);
    assert_int_equal(s.at_high, 1);
    assert_true(assay_stats_mean(&s) == -115.0 / 9.0);
    assert_int_equal(s.bins[0], 2);
    assert_int_equal(s.bins[15], 1);
    assert_int_equal(s.bins[16], 4); /* 0, 0, 0, 7 */
    assert_int_equal(s.bins[17], 1);
    assert_int_equal(s.bins[31], 1);
    s = of(ASSAY_U8, u, sizeof(u));
    assert_int_equal(s.at_low, 1);
    assert_int_equal(s.at_high, 2);
    assert_int_equal(s.bins[0], 2);
    assert_int_equal(s.bins[1], 1);
    assert_int_equal(s.bins[31], 2);
    assert_true(assay_stats_mean(&s) == 105.0);
}

static void test_wide(void **state)
{
    static const int16_t h[] = {-32768, -1, 0, 2047, 2048, 32767};
    static const int32_t w[] = {INT32_MIN, -1, 0, 1, 3, 4, INT32_MAX};
    static const int64_t l[] = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MIN};
    struct assay_stats s = of(ASSAY_S16, h, 6);

    (void)state;
    assert_int_equal(s.bins[0], 1);
    assert_int_equal(s.bins[15], 1);
    assert_int_equal(s.bins[16], 2);
    assert_int_equal(s.bins[17], 1);
    assert_int_equal(s.bins[31], 1);
    s = of(ASSAY_S32, w, 7);
    assert_int_equal(s.bins[0], 1);  /* 32 bits */
    assert_int_equal(s.bins[15], 1); /* -1 has one bit */
    assert_int_equal(s.bins[16], 2); /* 0 and 1 */
    assert_int_equal(s.bins[17], 2); /* 3 and 4: two and three bits */
    assert_int_equal(s.bins[31], 1);
    s = of(ASSAY_S64, l, 4); /* beyond 64 bits: 2 * 2^63 - 3 */
    assert_int_equal(s.sum_high, 0);
    assert_true(s.sum_low == UINT64_MAX - 2);
    assert_int_equal(s.bins[31], 3);
    assert_int_equal(s.bins[0], 1);
    assert_true(assay_stats_mean(&s) == ldexp(1.0, 62));
}

/* A small negative sum has large halves. */
static void test_negative_mean(void **state)
{
    static const int32_t v[] = {-3, -4};
    struct assay_stats s = of(ASSAY_S32, v, 2), none = {0};

    (void)state;
    assert_true(assay_stats_mean(&s) == -3.5);
    assert_true(isnan(assay_stats_mean(&none)));
}

static void test_floats(void **state)
{
    const float v[] = {NAN,   INFINITY, -INFINITY, 0.0f,     -0.0f, 1.5f,
                       -2.0f, 1e-30f,   3e38f,     6.2e-05f, 1.0f};
    struct assay_stats s = of(ASSAY_F32, v, 11);

    (void)state;
    assert_int_equal(s.nan, 1);
    assert_int_equal(s.inf, 2);
    assert_int_equal(s.zeros, 2);
    assert_true(s.real_min == -2.0 && s.real_max == (double)3e38f);
    assert_int_equal(s.at_low + s.at_high, 0);
    assert_int_equal(s.bins[16], 3); /* both zeros, 1e-30 */
    assert_int_equal(s.bins[17], 1); /* 6.2e-05: [2^-14, 2^-12) */
    assert_int_equal(s.bins[24], 2); /* 1.5, 1.0: [2^0, 2^2) */
    assert_int_equal(s.bins[7], 1);  /* -2 */
    assert_int_equal(s.bins[31], 1);
    s = of(ASSAY_F32, v, 1); /* a NaN alone */
    assert_true(s.real_min == 0 && s.real_max == 0 && s.real_sum == 0);
    assert_true(isnan(assay_stats_mean(&s)));
}

/* In parts and at once: the same; and what is in another order is, too. */
static void test_merge(void **state)
{
    int16_t v[1000];
    struct assay_stats whole, sum = {0}, turned;

    (void)state;
    for (int i = 0; i < 1000; i++)
        v[i] = (int16_t)((i * 7919) % 65536 - 32768);
    whole = of(ASSAY_S16, v, 1000);
    for (size_t at = 0; at < 1000; at += 250) {
        struct assay_stats part = of(ASSAY_S16, v + at, 250);

        assay_stats_merge(&sum, &part);
    }
    assert_true(assay_stats_equal(&whole, &sum));
    for (int i = 0; i < 500; i++) {
        int16_t t = v[i];

        v[i] = v[999 - i];
        v[999 - i] = t;
    }
    turned = of(ASSAY_S16, v, 1000);
    assert_true(assay_stats_equal(&whole, &turned));
    v[3]++;
    turned = of(ASSAY_S16, v, 1000);
    assert_false(assay_stats_equal(&whole, &turned));
}

/* Rails are the clamp's where there is one. */
static void test_rule(void **state)
{
    static const int64_t dims[1] = {4}, low = -5, high = 9, zp = 3;
    int64_t flow = slices_f32(-8.0f), fhigh = slices_f32(6.0f);
    struct assay_slice *s = slices_new();
    struct assay_program *p;
    struct assay_stats_rule rule;
    uint32_t l;

    (void)state;
    slices_tensor(s, "x", ASSAY_ROLE_INPUT, ASSAY_S8, 1, dims);
    slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1, dims);
    slices_quant(s, 1, 0.5f, 3);
    l = slices_layer(s, "op", ASSAY_OP_UNARY, 1, (uint32_t[]){0}, 1);
    p = &s->layers[l].out_program;
    assay_stats_rule(&rule, s, l);
    assert_true(rule.low == -128 && rule.high == 127 && rule.zero == 3);
    slices_step(p, ASSAY_STEP_CLAMP, 1, &low, &high);
    assay_stats_rule(&rule, s, l);
    assert_true(rule.low == -5 && rule.high == 9);
    memset(p, 0, sizeof(*p));
    slices_step(p, ASSAY_STEP_TO_F32, 1, NULL, NULL);
    slices_step(p, ASSAY_STEP_FCLAMP, 1, &flow, &fhigh);
    slices_step(p, ASSAY_STEP_FROUND, 1, NULL, NULL);
    slices_step(p, ASSAY_STEP_ADD_ZP, 1, &zp, NULL);
    assay_stats_rule(&rule, s, l);
    assert_true(rule.low == -5 && rule.high == 9);
    assay_slice_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),         cmocka_unit_test(test_wide),
        cmocka_unit_test(test_negative_mean), cmocka_unit_test(test_floats),
        cmocka_unit_test(test_merge),         cmocka_unit_test(test_rule),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
