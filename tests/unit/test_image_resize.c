/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other sizes of a picture: small cases by hand (whole pictures are judged by
 * OpenCV and Pillow in tests/oracle/image.sh), where a picture goes, edges,
 * caps.
 *
 * links: host-tools/image/resize.c host-tools/image/resize_antialias.c
 * links: lib/core/buf.c lib/core/err.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host-tools/image/resize.h"
#include "lib/core/buf.h"

static struct assay_err err;

static void row(const uint8_t *in, uint32_t iw, uint32_t ow,
                enum assay_filter filter, const uint8_t *want)
{
    uint8_t out[64];

    assert_int_equal(assay_resize(out, ow, 1, in, iw, 1, 1, filter, &err), 0);
    assert_memory_equal(out, want, ow);
}

/* Rows of one sample. Linear to the double: weights 1/4 and 3/4 between. */
static void test_by_hand(void **state)
{
    static const uint8_t two[] = {0, 100}, four[] = {10, 20, 30, 40};

    (void)state;
    row(two, 2, 4, ASSAY_FILTER_LINEAR, (uint8_t[]){0, 25, 75, 100});
    row((const uint8_t[]){0, 10}, 2, 4, ASSAY_FILTER_LINEAR,
        (uint8_t[]){0, 3, 8, 10}); /* 2.5 and 7.5 */
    row(two, 2, 4, ASSAY_FILTER_NEAREST, (uint8_t[]){0, 0, 100, 100});
    row(two, 2, 4, ASSAY_FILTER_AREA, (uint8_t[]){0, 0, 100, 100});
    row(two, 2, 4, ASSAY_FILTER_PILLOW, (uint8_t[]){0, 25, 75, 100});
    row(four, 4, 2, ASSAY_FILTER_NEAREST, (uint8_t[]){10, 30});
    row(four, 4, 2, ASSAY_FILTER_AREA, (uint8_t[]){15, 35});
    /* Triangle of width 4: (3 * 10 + 3 * 20 + 30) / 7 = 17.1 */
    row(four, 4, 2, ASSAY_FILTER_PILLOW, (uint8_t[]){17, 33});
    /* Pillow 13's own numbers; what overshoots is cut off. */
    row(two, 2, 1, ASSAY_FILTER_PILLOW_BICUBIC, (uint8_t[]){50});
    row((const uint8_t[]){0, 0, 0, 255, 255, 255}, 6, 12,
        ASSAY_FILTER_PILLOW_BICUBIC,
        (uint8_t[]){0, 0, 0, 0, 0, 52, 203, 255, 255, 255, 255, 255});
    row((const uint8_t[]){10, 200, 30, 90}, 4, 3, ASSAY_FILTER_PILLOW_BICUBIC,
        (uint8_t[]){67, 120, 65});
    row(four, 4, 1, ASSAY_FILTER_AREA, (uint8_t[]){25});
    /* Thirds: 4 to 3, shares 3/4 and 1/4: 12.5 goes to even. */
    row(four, 4, 3, ASSAY_FILTER_AREA, (uint8_t[]){12, 25, 38});
}

/* Each filter leaves one colour as it is, at any pair of sizes. */
static void test_flat(void **state)
{
    uint8_t in[9 * 9 * 3], out[20 * 20 * 3], want[sizeof(out)];

    (void)state;
    for (int filter = 0; filter < ASSAY_FILTER_COUNT; filter++) {
        for (unsigned v = 0; v < 256; v += 51) {
            memset(in, (int)v, sizeof(in));
            memset(want, (int)v, sizeof(want));
            for (uint32_t s = 1; s <= 9; s++)
                for (uint32_t t = 1; t <= 20; t++) {
                    assert_int_equal(assay_resize(out, t, 21 - t, in, s, 10 - s,
                                                  3, filter, &err),
                                     0);
                    if (filter == ASSAY_FILTER_LINEAR ||
                        filter == ASSAY_FILTER_AREA) {
                        /* Two floors of sums: 1 may be lost, as in OpenCV. */
                        for (size_t i = 0; i < (size_t)t * (21 - t) * 3; i++)
                            assert_in_range(v - out[i], 0, 1);
                    } else {
                        assert_memory_equal(out, want, (size_t)t * (21 - t));
                    }
                }
        }
    }
}

static void test_same_size(void **state)
{
    uint8_t in[60], out[60];

    (void)state;
    for (unsigned i = 0; i < 60; i++)
        in[i] = (uint8_t)(i * 37);
    for (int filter = 0; filter < ASSAY_FILTER_COUNT; filter++) {
        memset(out, 0, sizeof(out));
        assert_int_equal(assay_resize(out, 5, 4, in, 5, 4, 3, filter, &err), 0);
        assert_memory_equal(out, in, sizeof(in));
    }
}

static void placed(enum assay_fit fit, uint32_t iw, uint32_t ih, uint32_t ow,
                   uint32_t oh, const uint32_t want[8])
{
    struct assay_placement p;

    assay_place(&p, fit, iw, ih, ow, oh);
    assert_int_equal(p.width, want[0]);
    assert_int_equal(p.height, want[1]);
    assert_int_equal(p.cut_x, want[2]);
    assert_int_equal(p.cut_y, want[3]);
    assert_int_equal(p.at_x, want[4]);
    assert_int_equal(p.at_y, want[5]);
    assert_int_equal(p.shown_width, want[6]);
    assert_int_equal(p.shown_height, want[7]);
}

static void test_places(void **state)
{
    (void)state;
    placed(ASSAY_FIT_STRETCH, 1920, 1080, 640, 640,
           (uint32_t[]){640, 640, 0, 0, 0, 0, 640, 640});
    placed(ASSAY_FIT_LETTERBOX, 1920, 1080, 640, 640,
           (uint32_t[]){640, 360, 0, 0, 0, 140, 640, 360});
    placed(ASSAY_FIT_LETTERBOX_TL, 1920, 1080, 640, 640,
           (uint32_t[]){640, 360, 0, 0, 0, 0, 640, 360});
    placed(ASSAY_FIT_LETTERBOX, 100, 300, 64, 64,
           (uint32_t[]){21, 64, 0, 0, 21, 0, 21, 64});
    placed(ASSAY_FIT_CROP, 640, 480, 224, 224,
           (uint32_t[]){298, 224, 37, 0, 0, 0, 224, 224});
    placed(ASSAY_FIT_CROP, 480, 641, 224, 224,
           (uint32_t[]){224, 299, 0, 37, 0, 0, 224, 224});
    placed(ASSAY_FIT_LETTERBOX, 16384, 1, 8, 8,
           (uint32_t[]){8, 1, 0, 0, 0, 3, 8, 1});
}

static void test_fit(void **state)
{
    static const uint8_t pad[3] = {7, 8, 9};
    uint8_t in[2 * 1 * 3] = {50, 60, 70, 50, 60, 70}, out[4 * 4 * 3];

    (void)state;
    assert_int_equal(assay_resize_fit(out, 4, 4, in, 2, 1, 3,
                                      ASSAY_FILTER_NEAREST, ASSAY_FIT_LETTERBOX,
                                      pad, &err),
                     0);
    assert_memory_equal(out, pad, 3);
    assert_memory_equal(out + 12, in, 6);
    assert_memory_equal(out + 24, in, 6);
    assert_memory_equal(out + 45, pad, 3);
    assert_int_equal(assay_resize_fit(out, 4, 4, in, 2, 1, 3,
                                      ASSAY_FILTER_NEAREST,
                                      ASSAY_FIT_LETTERBOX_TL, pad, &err),
                     0);
    assert_memory_equal(out, in, 6);
    assert_memory_equal(out + 24, pad, 3);
}

static void test_refused(void **state)
{
    static const uint8_t pad[3];
    uint8_t *in = calloc(16384, 3), *out = calloc(1024, 3);

    (void)state;
    /* 1x16384 to cover 1024x1: 1024x16777216 in between. */
    assert_true(assay_resize_fit(out, 1024, 1, in, 1, 16384, 3,
                                 ASSAY_FILTER_LINEAR, ASSAY_FIT_CROP, pad,
                                 &err) < 0);
    assert_non_null(strstr(err.text, "1024x16777216 in between"));
    free(in);
    free(out);
}

static unsigned allowed;

static void *few(void *p, size_t n)
{
    if (n == 0) {
        free(p);
        return NULL;
    }
    return allowed == 0 ? NULL : (allowed--, realloc(p, n));
}

static void test_no_memory(void **state)
{
    static const uint8_t pad[3];
    uint8_t in[60] = {0}, out[27 * 3];

    (void)state;
    assay_alloc_hook = few;
    for (int filter = 0; filter < ASSAY_FILTER_COUNT; filter++) {
        unsigned n = 0;
        int rc;

        do {
            allowed = n++;
            rc = assay_resize_fit(out, 9, 3, in, 5, 4, 3, filter,
                                  ASSAY_FIT_LETTERBOX, pad, &err);
            assert_true(rc == 0 || rc == ASSAY_EMEMORY);
        } while (rc < 0 && n < 9);
        assert_int_equal(rc, 0);
        assert_true(n > 1);
    }
    assay_alloc_hook = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),   cmocka_unit_test(test_flat),
        cmocka_unit_test(test_same_size), cmocka_unit_test(test_places),
        cmocka_unit_test(test_fit),       cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
