/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of a tensor that was fed: floats of 16 bits, floats less 128, and
 * tensors that are no picture at all, which nothing may be proved of.
 *
 * links: host-tools/image/ host-tools/model/file.c
 * links: lib/core/ kernels/ kernels/ref/
 * libs: -lpng -ljpeg -lmbedcrypto -lxxhash
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host-tools/image/received_element.h"
#include "tests/unit/received_find.h"

#define WIDTH 96u
#define HEIGHT 70u

/* Mean and scale are in the model. */
static void want_rgb(struct assay_received_wanted *w)
{
    static const float mean[3] = {123.675f, 116.28f, 103.53f};
    static const float scale[3] = {0.01712475f, 0.017507f, 0.01742919f};

    assay_image_spec_init(&w->spec, ASSAY_IMAGE_RGB, 68, 56);
    w->model_normalises = w->model_centres = true;
    memcpy(w->spec.mean, mean, sizeof(mean));
    memcpy(w->spec.scale, scale, sizeof(scale));
}

/* Floats that a script kept in 16 bits, and 128 subtracted from floats. */
static void test_floats(void **unused)
{
    struct assay_picture p = picture_of(PHOTO, WIDTH, HEIGHT);
    struct assay_received_wanted w = {0};
    struct assay_image_adapted a;
    const struct assay_image_tensor *t;
    struct assay_received *r;
    float *v;

    (void)unused;
    want_rgb(&w);
    w.spec.normalise = 1;
    a = made_of(&w.spec, &p);
    w.spec.normalise = 0;
    t = assay_image_result(&a);
    v = malloc(t->bytes);
    assert_non_null(v);
    memcpy(v, t->data, t->bytes);
    for (size_t i = 0; i < t->bytes / 4; i++) /* values below 4: 11 bits */
        v[i] = (float)assay_half_of((double)v[i]);
    r = find(&p, &w, ASSAY_F32, v, t->bytes);
    assert_true(r->half);
    assert_int_equal(r->changes, 1);
    assert_true(has(r, &w, "Y9"));
    check_hits(r, "half");
    assay_received_free(r);
    v[5] += 0x1p-6f; /* one step too far is another value */
    r = find(&p, &w, ASSAY_F32, v, t->bytes);
    assert_int_equal(r->n, 0);
    assay_received_free(r);
    assay_image_adapted_close(&a);

    a = made_of(&w.spec, &p);
    t = assay_image_result(&a);
    for (size_t i = 0; i < t->bytes; i++)
        v[i] = (float)((const uint8_t *)t->data)[i] - 128.0f;
    r = find(&p, &w, ASSAY_F32, v, 4 * t->bytes);
    assert_int_equal(r->changes, 1);
    assert_true(has(r, &w, "Y2"));
    assay_received_free(r);
    free(v);
    assay_image_adapted_close(&a);
    assay_picture_close(&p);
}

/* The values themselves are of numpy's float16. */
static void test_half(void **unused)
{
    static const double rows[][2] = {
        {0.1, 0.0999755859375}, {-0.1, -0.0999755859375},  {2049, 2048},
        {2051, 2052},           {1e-7, 0x1p-23},           {1e-8, 0},
        {65504, 65504},         {1.0 / 3, 0.333251953125},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_true(assay_half_of(rows[i][0]) == rows[i][1]);
}

/* One value everywhere, or none that is a number: no way of making it is
 * proved, whatever would give it too. */
static void test_lifeless(void **unused)
{
    struct assay_picture p = picture_of(PHOTO, WIDTH, HEIGHT);
    struct assay_received_wanted w = {0};
    struct assay_received *r;
    size_t bytes = (size_t)3 * 68 * 56;
    uint8_t *zeros = calloc(bytes, 4);
    float nan = NAN;

    (void)unused;
    assert_non_null(zeros);
    want_rgb(&w);
    r = find(&p, &w, ASSAY_U8, zeros, bytes);
    assert_int_equal(r->n, 0);
    assert_true(r->flat);
    assert_int_equal(r->expected, bytes);
    assay_received_free(r);
    r = find(&p, &w, ASSAY_F32, zeros, 4 * bytes);
    assert_int_equal(r->n, 0);
    assay_received_free(r);
    r = find(&p, &w, ASSAY_U8, zeros, 97 * 5); /* of another size */
    assert_int_equal(r->n, 0);
    assay_received_free(r);
    memcpy(zeros + 40, &nan, sizeof(nan));
    r = find(&p, &w, ASSAY_F32, zeros, 4 * bytes);
    assert_int_equal(r->n, 0);
    assert_int_equal(r->not_finite, 1);
    assert_false(r->flat);
    assay_received_free(r);

    /* A picture of one colour is its own. */
    memset(p.data, 77, p.bytes);
    memset(zeros, 77, bytes);
    r = find(&p, &w, ASSAY_U8, zeros, bytes);
    assert_int_equal(r->n, 1);
    assert_int_equal(r->changes, 0);
    assay_received_free(r);
    free(zeros);
    assay_picture_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lifeless),
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_half),
    };

    return cmocka_run_group_tests_name("received_values", tests, NULL, NULL);
}
