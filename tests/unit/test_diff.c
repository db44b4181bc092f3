/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparison of tensors: counts, statistics, tolerances, merging.
 *
 * links: host-tools/diff/tensor.c lib/core/slice.c lib/core/buf.c lib/core/err.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "host-tools/diff/diff.h"

static const float scale_half[] = {0.5f};
static const int32_t zero_one[] = {1};

static struct assay_tensor tensor(enum assay_dtype dtype, uint32_t rank,
                                  const int64_t *dims)
{
    struct assay_tensor t = {.dtype = dtype, .rank = rank};

    memcpy(t.dims, dims, rank * sizeof(*dims));
    for (uint32_t i = 0; i < rank; i++)
        t.perm[i] = (uint8_t)i;
    return t;
}

static const struct assay_tolerance strict = {1e-5, 1e-6, 0};

static void equal_tensors(void **state)
{
    const int64_t dims[] = {2, 3};
    struct assay_tensor t = tensor(ASSAY_S8, 2, dims);
    const int8_t a[6] = {1, -2, 3, -4, 5, 127};
    struct assay_diff d;

    (void)state;
    assay_diff_tensor(&t, a, a, &strict, &d);
    assert_int_equal(d.count, 6);
    assert_int_equal(d.mismatch, 0);
    assert_int_equal(d.lsb_hist[0], 6);
    assert_true(d.cosine == 1.0);
    assert_true(isinf(d.sqnr_db) && d.sqnr_db > 0);
}

static void one_lsb(void **state)
{
    const int64_t dims[] = {1, 2, 2, 3};
    struct assay_tensor t = tensor(ASSAY_S8, 4, dims);
    int8_t a[12] = {100, 90, 80, 70, 60, 50, 40, 30, 20, 10, 100, 127};
    int8_t b[12];
    struct assay_diff d;

    (void)state;
    memcpy(b, a, sizeof(a));
    b[7]--;
    assay_diff_tensor(&t, a, b, &strict, &d);
    assert_int_equal(d.mismatch, 1);
    assert_int_equal(d.outside, 1);
    assert_int_equal(d.higher, 0);
    assert_int_equal(d.max_lsb, 1);
    assert_int_equal(d.n_first, 1);
    assert_int_equal(d.first[0].index, 7);
    assert_true(d.first[0].ref == 30 && d.first[0].got == 29);
    assert_int_equal(d.lsb_hist[0], 11);
    assert_int_equal(d.lsb_hist[1], 1);
    assert_true(fabs(d.mean_signed + 1.0 / 12.0) < 1e-12);
    assert_true(d.cosine > 0.99995 && d.cosine < 1.0);
    assert_int_equal(d.box_lo[1], 1);
    assert_int_equal(d.box_hi[1], 1);
    assert_int_equal(d.box_lo[2], 0);
    assert_int_equal(d.box_lo[3], 1);
}

/* ref - zero = 2 and 4 at scale 1/2: values 1 and 2; got 1 and 3. */
static void dequantized_statistics(void **state)
{
    const int64_t dims[] = {2};
    struct assay_tensor t = tensor(ASSAY_U8, 1, dims);
    const uint8_t ref[2] = {3, 5}, got[2] = {3, 7};
    struct assay_diff d;

    (void)state;
    t.quant = (struct assay_quant){1, -1, scale_half, zero_one};
    assay_diff_tensor(&t, ref, got, &strict, &d);
    assert_true(fabs(d.sqnr_db - 10.0 * log10(5.0 / 1.0)) < 1e-9);
    assert_true(fabs(d.cosine - 7.0 / sqrt(5.0 * 10.0)) < 1e-12);
    assert_true(fabs(d.l1 - 0.5) < 1e-12);
    assert_true(fabs(d.max_abs - 1.0) < 1e-12);
    assert_int_equal(d.max_lsb, 2);
    assert_int_equal(d.higher, 1);
}

static void per_channel_scales(void **state)
{
    static const float scales[] = {1.0f, 10.0f};
    static const int32_t zeros[] = {0, 0};
    const int64_t dims[] = {2, 2};
    struct assay_tensor t = tensor(ASSAY_S8, 2, dims);
    const int8_t ref[4] = {1, 1, 1, 1}, got[4] = {1, 2, 1, 1};
    struct assay_diff d;

    (void)state;
    t.quant = (struct assay_quant){2, 1, scales, zeros};
    assay_diff_tensor(&t, ref, got, &strict, &d);
    assert_true(fabs(d.max_abs - 10.0) < 1e-12);
    assert_int_equal(d.max_lsb, 1);
}

static void lsb_histogram(void **state)
{
    static const int16_t steps[] = {0,  1,  2,  3,  4,   7,   8,
                                    15, 16, 31, 32, 127, 128, 30000};
    static const uint64_t expected[ASSAY_LSB_HIST] = {1, 1, 1, 1, 2,
                                                      2, 2, 2, 2};
    const int64_t dims[] = {14};
    struct assay_tensor t = tensor(ASSAY_S16, 1, dims);
    const int16_t zeros[14] = {0};
    struct assay_diff d;

    (void)state;
    assay_diff_tensor(&t, zeros, steps, &strict, &d);
    for (unsigned i = 0; i < ASSAY_LSB_HIST; i++)
        assert_int_equal(d.lsb_hist[i], expected[i]);
    assert_int_equal(d.max_lsb, 30000);
    assert_int_equal(d.n_first, ASSAY_FIRST_MISMATCHES);
    assert_int_equal(d.mismatch, 13);
}

static void tolerance_of_integers(void **state)
{
    const int64_t dims[] = {3};
    struct assay_tensor t = tensor(ASSAY_S8, 1, dims);
    const int8_t ref[3] = {0, 0, 0}, got[3] = {1, -2, 0};
    const struct assay_tolerance one = {0, 0, 1};
    struct assay_diff d;

    (void)state;
    assay_diff_tensor(&t, ref, got, &one, &d);
    assert_int_equal(d.mismatch, 2);
    assert_int_equal(d.outside, 1);
}

static void extreme_integers(void **state)
{
    const int64_t dims[] = {1};
    struct assay_tensor t = tensor(ASSAY_S64, 1, dims);
    const int64_t ref[1] = {INT64_MIN}, got[1] = {INT64_MAX};
    struct assay_diff d;

    (void)state;
    assay_diff_tensor(&t, ref, got, &strict, &d);
    assert_int_equal(d.mismatch, 1);
    assert_true(d.max_lsb == INT64_MAX);
}

static void floats(void **state)
{
    const int64_t dims[] = {6};
    struct assay_tensor t = tensor(ASSAY_F32, 1, dims);
    const float nan = strtof("nan", NULL);
    const float ref[6] = {1.0f, 1.0f, nan, 0.0f, 1.0f, INFINITY};
    const float got[6] = {1.000001f, 1.1f, nan, -0.0f, nan, INFINITY};
    struct assay_diff d;

    (void)state;
    assay_diff_tensor(&t, ref, got, &strict, &d);
    /* bits: 1.000001, 1.1, -0 and the NaN against 1 */
    assert_int_equal(d.mismatch, 4);
    assert_int_equal(d.outside, 2);
    assert_true(isinf(d.max_abs));
    assert_int_equal(d.max_lsb, 0);
}

/* One unit of binary16 (2^-10 at 1) is within, three are not. */
static void floats_of_binary16(void **state)
{
    const struct assay_tolerance half = {ASSAY_RTOL_HALF, ASSAY_ATOL_HALF, 0};
    const struct assay_tolerance full = {ASSAY_RTOL, ASSAY_ATOL, 0};
    const int64_t dims[] = {5};
    struct assay_tensor t = tensor(ASSAY_F32, 1, dims);
    const float ref[5] = {1.0f, 1.0f, 1000.0f, 0.0f, 65504.0f};
    const float got[5] = {1.0f + 1.0f / 1024, 1.0f + 3.0f / 1024, 1001.5f,
                          3.0f / 65536, 65600.0f};
    struct assay_diff d;

    (void)state;
    assay_diff_tensor(&t, ref, got, &half, &d);
    assert_int_equal(d.outside, 1);
    assay_diff_tensor(&t, ref, got, &full, &d);
    assert_int_equal(d.outside, 5);
}

static void zeros_have_cosine_one(void **state)
{
    const int64_t dims[] = {2};
    struct assay_tensor t = tensor(ASSAY_F32, 1, dims);
    const float ref[2] = {0.0f, 0.0f}, got[2] = {0.0f, -0.0f};
    struct assay_diff d;

    (void)state;
    assay_diff_tensor(&t, ref, got, &strict, &d);
    assert_int_equal(d.mismatch, 1);
    assert_int_equal(d.outside, 0);
    assert_true(d.cosine == 1.0);
}

/* One value throughout on a side: every direction is as good as another. */
static void constants_have_no_cosine(void **state)
{
    const int64_t dims[] = {4};
    struct assay_tensor t = tensor(ASSAY_S8, 1, dims);
    const int8_t zero[4] = {0}, five[4] = {5, 5, 5, 5},
                 varied[4] = {5, 4, 3, 1};
    const int8_t *const sides[][2] = {{zero, varied},
                                      {varied, zero},
                                      {five, varied},
                                      {varied, five},
                                      {zero, five}};
    struct assay_diff d, other, all = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
        assay_diff_tensor(&t, sides[i][0], sides[i][1], &strict, &d);
        assert_true(isnan(d.cosine));
    }
    assay_diff_tensor(&t, zero, zero, &strict, &other);
    assert_true(other.cosine == 1.0); /* they are equal */
    /* An equal sample lends none; one that differs and has one does. */
    assay_diff_merge(&all, &other);
    assay_diff_merge(&all, &d);
    assert_true(isnan(all.cosine));
    assay_diff_tensor(&t, varied, (const int8_t[4]){5, 4, 3, 2}, &strict, &d);
    assay_diff_merge(&all, &d);
    assert_true(all.cosine == d.cosine && d.cosine < 1.0);
}

static void nan_is_counted(void **state)
{
    const int64_t dims[] = {4};
    struct assay_tensor t = tensor(ASSAY_F32, 1, dims);
    const float ref[4] = {NAN, 1.0f, NAN, 2.0f},
                got[4] = {NAN, NAN, 3.0f, 2.0f};
    struct assay_diff d, all = {0};

    (void)state;
    assay_diff_tensor(&t, ref, got, &strict, &d);
    assert_int_equal(d.ref_nan, 2);
    assert_int_equal(d.got_nan, 2);
    assert_int_equal(d.outside, 2);
    assay_diff_merge(&all, &d);
    assay_diff_merge(&all, &d);
    assert_int_equal(all.ref_nan, 4);
    assert_int_equal(all.got_nan, 4);
}

static void scalars_have_one_element(void **state)
{
    struct assay_tensor t = {.dtype = ASSAY_S8};
    const int8_t ref = 1, got = 3;
    struct assay_diff d;

    (void)state;
    assay_diff_tensor(&t, &ref, &got, &strict, &d);
    assert_int_equal(d.count, 1);
    assert_int_equal(d.max_lsb, 2);
}

static void merge_adds_up(void **state)
{
    const int64_t dims[] = {4};
    struct assay_tensor t = tensor(ASSAY_S8, 1, dims);
    const int8_t ref[4] = {10, 12, 10, 10};
    const int8_t a[4] = {10, 12, 11, 10}, b[4] = {10, 12, 10, 6};
    const int8_t c[4] = {9, 11, 10, 9};
    struct assay_diff all = {0}, d;

    (void)state;
    assay_diff_tensor(&t, ref, ref, &strict, &d);
    d.sample = 0;
    assay_diff_merge(&all, &d);
    assay_diff_tensor(&t, ref, a, &strict, &d);
    d.sample = 1;
    assay_diff_merge(&all, &d);
    assay_diff_tensor(&t, ref, b, &strict, &d);
    d.sample = 2;
    assay_diff_merge(&all, &d);
    assert_int_equal(all.count, 12);
    assert_int_equal(all.mismatch, 2);
    assert_int_equal(all.higher, 1);
    assert_int_equal(all.max_lsb, 4);
    assert_int_equal(all.sample, 1);
    assert_int_equal(all.first[0].index, 2);
    assert_int_equal(all.box_lo[0], 2);
    assert_int_equal(all.box_hi[0], 3);
    assert_true(fabs(all.mean_signed - (1.0 - 4.0) / 12.0) < 1e-12);
    assert_true(all.cosine == d.cosine);
    assert_int_equal(all.lsb_hist[0], 10);
    assay_diff_tensor(&t, ref, c, &strict, &d);
    d.sample = 3;
    assay_diff_merge(&all, &d);
    assert_int_equal(all.mismatch, 5);
    assert_int_equal(all.sample, 3); /* most differ there */
    assert_int_equal(all.n_first, 3);
    assert_int_equal(all.first[0].index, 0);
}

static void rate_of_few(void **state)
{
    struct assay_diff d = {.mismatch = 80, .higher = 37, .max_lsb = 1};
    double exponent = 0;

    (void)state;
    assert_true(assay_diff_rate(&d, 51200, &exponent));
    assert_true(fabs(exponent - 9.32) < 0.01);
    d.max_lsb = 2; /* a second rounding is one LSB at most */
    assert_false(assay_diff_rate(&d, 51200, &exponent));
    d.max_lsb = 1;
    d.higher = 5; /* on one side */
    assert_false(assay_diff_rate(&d, 51200, &exponent));
    d.higher = 37;
    assert_false(assay_diff_rate(&d, 800, &exponent)); /* too many */
    d.mismatch = 15;
    d.higher = 7;
    assert_false(assay_diff_rate(&d, 51200, &exponent)); /* too few */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_tensors),
        cmocka_unit_test(one_lsb),
        cmocka_unit_test(dequantized_statistics),
        cmocka_unit_test(per_channel_scales),
        cmocka_unit_test(lsb_histogram),
        cmocka_unit_test(tolerance_of_integers),
        cmocka_unit_test(extreme_integers),
        cmocka_unit_test(floats),
        cmocka_unit_test(floats_of_binary16),
        cmocka_unit_test(zeros_have_cosine_one),
        cmocka_unit_test(constants_have_no_cosine),
        cmocka_unit_test(nan_is_counted),
        cmocka_unit_test(scalars_have_one_element),
        cmocka_unit_test(merge_adds_up),
        cmocka_unit_test(rate_of_few),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
