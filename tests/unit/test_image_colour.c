/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Colours and NV12: properties that hold for every value (golden rows are
 * vcheck's), layouts, odd sides.
 *
 * links: host-tools/image/colour.c host-tools/image/nv12.c
 * links: lib/core/buf.c lib/core/err.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host-tools/image/nv12.h"

static struct assay_err err;

/* 1 more or less than the real formula, as the bounds of docs/numerics.md. */
static void test_near_the_real_formula(void **state)
{
    (void)state;
    for (int range = 0; range < ASSAY_RANGE_COUNT; range++) {
        for (int matrix = 0; matrix < ASSAY_MATRIX_COUNT; matrix++) {
            struct assay_colour i = {range, matrix, ASSAY_COLOUR_INTEGER};
            struct assay_colour r = {range, matrix, ASSAY_COLOUR_REAL};

            for (unsigned k = 0; k < 17 * 17 * 17; k++) {
                uint8_t rgb[3] = {(uint8_t)(k % 17 * 15),
                                  (uint8_t)(k / 17 % 17 * 15),
                                  (uint8_t)(k / 289 * 15)};
                uint8_t a[3], b[3];

                assay_rgb_to_yuv(a, rgb, 1, &i);
                assay_rgb_to_yuv(b, rgb, 1, &r);
                for (int c = 0; c < 3; c++)
                    assert_in_range(a[c] + 2 - b[c], 0, 4);
            }
        }
    }
}

static void test_gray_has_no_colour(void **state)
{
    (void)state;
    for (int arith = 0; arith < ASSAY_COLOUR_ARITH_COUNT; arith++) {
        for (int range = 0; range < ASSAY_RANGE_COUNT; range++) {
            struct assay_colour c = {range, ASSAY_MATRIX_601, arith};

            for (unsigned v = 0; v < 256; v++) {
                uint8_t p[3] = {(uint8_t)v, (uint8_t)v, (uint8_t)v};

                assay_rgb_to_yuv(p, p, 1, &c);
                assert_int_equal(p[1], 128);
                assert_int_equal(p[2], 128);
                assay_yuv_to_rgb(p, p, 1, &c);
                assert_int_equal(p[0], p[1]);
                assert_int_equal(p[1], p[2]);
                assert_in_range(p[0] + 2 - (int)v, 0, 4);
            }
        }
    }
}

/* What vision papers print: the corners of studio BT.601. */
static void test_known_corners(void **state)
{
    static const uint8_t rows[][6] = {
        {255, 255, 255, 235, 128, 128}, {0, 0, 0, 16, 128, 128},
        {255, 0, 0, 82, 90, 240},       {0, 255, 0, 145, 54, 34},
        {0, 0, 255, 41, 240, 110},
    };
    struct assay_colour c = {ASSAY_RANGE_STUDIO, ASSAY_MATRIX_601,
                             ASSAY_COLOUR_INTEGER};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t yuv[3];

        for (int arith = 0; arith < 3; arith++) {
            c.arith = arith;
            assay_rgb_to_yuv(yuv, rows[i], 1, &c);
            for (int k = 0; k < 3; k++)
                assert_in_range(yuv[k] + 1 - rows[i][3 + k], 0, 2);
        }
    }
}

static void test_swap_and_gray(void **state)
{
    uint8_t p[6] = {1, 2, 3, 40, 50, 60}, y[2];
    struct assay_colour c = {ASSAY_RANGE_FULL, ASSAY_MATRIX_601,
                             ASSAY_COLOUR_INTEGER};

    (void)state;
    assay_swap_rb(p, p, 2);
    assert_memory_equal(p, "\x03\x02\x01\x3c\x32\x28", 6);
    for (int arith = 0; arith < 2; arith++) {
        uint8_t yuv[6];

        c.arith = arith;
        assay_rgb_to_gray(y, p, 2, &c);
        assay_rgb_to_yuv(yuv, p, 2, &c);
        assert_int_equal(y[0], yuv[0]);
        assert_int_equal(y[1], yuv[3]);
    }
}

static void test_layouts(void **state)
{
    struct assay_nv12 n;

    (void)state;
    assert_int_equal(assay_nv12_layout(&n, 6, 4, 0, ASSAY_ODD_REFUSE, &err), 0);
    assert_int_equal(n.stride, 6);
    assert_int_equal(n.bytes, 36);
    assert_int_equal(assay_nv12_layout(&n, 6, 4, 16, ASSAY_ODD_REFUSE, &err),
                     0);
    assert_int_equal(n.bytes, 96);
    assert_int_equal(assay_nv12_layout(&n, 5, 3, 0, ASSAY_ODD_DOWN, &err), 0);
    assert_int_equal(n.chroma_width, 2);
    assert_int_equal(n.chroma_height, 1);
    assert_int_equal(n.bytes, 20);
    assert_int_equal(assay_nv12_layout(&n, 5, 3, 0, ASSAY_ODD_UP, &err), 0);
    assert_int_equal(n.chroma_width, 3);
    assert_int_equal(n.stride, 6);
    assert_int_equal(n.bytes, 30);
    assert_true(assay_nv12_layout(&n, 5, 4, 0, ASSAY_ODD_REFUSE, &err) < 0);
    assert_non_null(strstr(err.text, "expected even sides, found 5x4"));
    assert_true(assay_nv12_layout(&n, 6, 4, 5, ASSAY_ODD_REFUSE, &err) < 0);
    assert_non_null(strstr(err.text, "found a stride of 5"));
    assert_true(
        assay_nv12_layout(&n, 6, 4, SIZE_MAX / 2, ASSAY_ODD_REFUSE, &err) < 0);
    assert_non_null(strstr(err.text, "too large"));
}

/* Every way there and back keeps Y, and chroma that is the same in each 2x2. */
static void test_round_trips(void **state)
{
    uint8_t yuv[8 * 6 * 3], back[sizeof(yuv)], nv12[16 * 9];
    struct assay_nv12 n;

    (void)state;
    for (unsigned i = 0; i < 48; i++) {
        unsigned cell = i % 8 / 2 + i / 16 * 4;

        yuv[3 * i] = (uint8_t)(5 * i);
        yuv[3 * i + 1] = (uint8_t)(19 * cell + 3);
        yuv[3 * i + 2] = (uint8_t)(250 - 17 * cell);
    }
    for (int down = 0; down < ASSAY_DOWN_MEAN_RGB; down++) {
        for (int nv21 = 0; nv21 < 2; nv21++) {
            assert_int_equal(
                assay_nv12_layout(&n, 8, 6, 16, ASSAY_ODD_REFUSE, &err), 0);
            n.nv21 = nv21;
            memset(nv12, 0xaa, sizeof(nv12));
            assay_nv12_from_yuv(nv12, &n, yuv, down);
            assert_int_equal(nv12[6 * 16], nv21 ? yuv[2] : yuv[1]);
            assert_int_equal(nv12[8], 0); /* padding */
            assay_nv12_to_yuv(back, &n, nv12, ASSAY_UP_REPLICATE);
            assert_memory_equal(back, yuv, sizeof(yuv));
            n.nv21 = !nv21;
            assay_nv12_to_yuv(back, &n, nv12, ASSAY_UP_REPLICATE);
            assert_int_equal(back[1], yuv[2]);
            assert_int_equal(back[2], yuv[1]);
        }
    }
}

/* 3 to 1 along both axes, by hand: chroma 0 and 160 side by side. */
static void test_bilinear(void **state)
{
    uint8_t nv12[] = {1, 2, 3, 4, 5, 6, 7, 8, 0, 128, 160, 128};
    uint8_t yuv[8 * 3];
    struct assay_nv12 n;

    (void)state;
    assert_int_equal(assay_nv12_layout(&n, 4, 2, 0, ASSAY_ODD_REFUSE, &err), 0);
    assay_nv12_to_yuv(yuv, &n, nv12, ASSAY_UP_BILINEAR);
    assert_int_equal(yuv[1], 0);
    assert_int_equal(yuv[4], 40);
    assert_int_equal(yuv[7], 120);
    assert_int_equal(yuv[10], 160);
    assert_int_equal(yuv[11], 128);
    assert_int_equal(yuv[12], 5);
    nv12[10] = 2; /* a quarter of it is one half: up */
    assay_nv12_to_yuv(yuv, &n, nv12, ASSAY_UP_BILINEAR);
    assert_int_equal(yuv[4], 1);
}

static void test_half_goes_up(void **state)
{
    static const uint8_t yuv[12] = {0, 0, 7, 0, 1, 7, 0, 1, 8, 0, 0, 8};
    struct assay_nv12 n;
    uint8_t out[6];

    (void)state;
    assert_int_equal(assay_nv12_layout(&n, 2, 2, 0, ASSAY_ODD_REFUSE, &err), 0);
    assay_nv12_from_yuv(out, &n, yuv, ASSAY_DOWN_MEAN);
    assert_int_equal(out[4], 1);
    assert_int_equal(out[5], 8);
}

static void test_means(void **state)
{
    uint8_t rgb[12] = {0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255};
    uint8_t yuv[12], a[6], b[6];
    struct assay_colour c = {ASSAY_RANGE_FULL, ASSAY_MATRIX_601,
                             ASSAY_COLOUR_INTEGER};
    uint8_t mean[3] = {64, 64, 64};
    struct assay_nv12 n;

    (void)state;
    assert_int_equal(assay_nv12_layout(&n, 2, 2, 0, ASSAY_ODD_REFUSE, &err), 0);
    assay_rgb_to_yuv(yuv, rgb, 4, &c);
    for (int down = 0; down < ASSAY_DOWN_MEAN_RGB; down++) {
        assay_nv12_from_yuv(a, &n, yuv, down);
        assay_nv12_from_rgb(b, &n, rgb, &c, down);
        assert_memory_equal(a, b, 6);
    }
    assert_int_equal(a[4], 128); /* of the first: black */
    assay_nv12_from_rgb(b, &n, rgb, &c, ASSAY_DOWN_MEAN_RGB);
    assay_rgb_to_yuv(mean, mean, 1, &c);
    assert_int_equal(b[4], mean[1]);
    assert_memory_equal(a, b, 4);
}

/* No byte outside of the buffers is touched, whatever the sides. */
static void test_odd_sides(void **state)
{
    (void)state;
    for (uint32_t w = 1; w <= 5; w++) {
        for (uint32_t h = 1; h <= 5; h++) {
            for (int odd = ASSAY_ODD_DOWN; odd < ASSAY_ODD_COUNT; odd++) {
                struct assay_nv12 n;
                uint8_t *yuv = calloc((size_t)w * h, 3);
                uint8_t *back = calloc((size_t)w * h, 3), *nv12;

                assert_int_equal(assay_nv12_layout(&n, w, h, 0, odd, &err), 0);
                nv12 = malloc(n.bytes);
                memset(yuv, 77, (size_t)w * h * 3);
                assay_nv12_from_yuv(nv12, &n, yuv, ASSAY_DOWN_MEAN);
                assay_nv12_to_yuv(back, &n, nv12, ASSAY_UP_BILINEAR);
                assert_int_equal(back[3 * (w * h - 1)], 77);
                assert_int_equal(back[3 * (w * h - 1) + 1],
                                 n.chroma_width && n.chroma_height ? 77 : 128);
                free(yuv);
                free(back);
                free(nv12);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_near_the_real_formula),
        cmocka_unit_test(test_gray_has_no_colour),
        cmocka_unit_test(test_known_corners),
        cmocka_unit_test(test_swap_and_gray),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_bilinear),
        cmocka_unit_test(test_half_goes_up),
        cmocka_unit_test(test_means),
        cmocka_unit_test(test_odd_sides),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
