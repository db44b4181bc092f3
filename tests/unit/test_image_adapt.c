/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A picture to a model's input: the steps and their shapes, strides and
 * values; what a spec cannot be; the way back gives the picture again.
 *
 * links: host-tools/image/adapt.c host-tools/image/adapt_values.c
 * links: host-tools/image/spec.c host-tools/image/show.c
 * links: host-tools/image/picture.c host-tools/image/png.c
 * links: host-tools/image/jpeg.c host-tools/image/exif.c
 * links: host-tools/image/colour.c host-tools/image/nv12.c
 * links: host-tools/image/resize.c host-tools/image/resize_antialias.c
 * links: host-tools/model/file.c lib/core/ kernels/requant.c
 * libs: -lpng -ljpeg -lxxhash -lmbedcrypto
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host-tools/image/show.h"
#include "lib/core/buf.h"

static struct assay_err err;
static struct assay_image_spec spec;
static struct assay_image_adapted made;
static uint8_t rgb[8 * 6 * 3], nv12[8 * 9];
static struct assay_picture picture, raw;

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rgb); i++)
        rgb[i] = (uint8_t)(i * i * 5 + i * 10 + i / 3);
    for (size_t i = 0; i < sizeof(nv12); i++)
        nv12[i] = (uint8_t)(i * 29 + 3);
    picture = (struct assay_picture){.form = ASSAY_PICTURE_RGB,
                                     .width = 8,
                                     .height = 6,
                                     .bytes = sizeof(rgb),
                                     .data = rgb,
                                     .orientation = 1};
    raw = picture;
    raw.form = ASSAY_PICTURE_NV12;
    raw.bytes = sizeof(nv12);
    raw.data = nv12;
    memset(&err, 0, sizeof(err));
    made = (struct assay_image_adapted){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assay_image_adapted_close(&made);
    return 0;
}

/* Adapts, and holds the names of the steps against a list. */
static const struct assay_image_tensor *steps(const struct assay_picture *p,
                                              const char *names)
{
    char got[200] = "";

    assay_image_adapted_close(&made);
    if (assay_image_adapt(&made, &spec, p, &err) != 0)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < made.n; i++) {
        strcat(got, i > 0 ? " " : "");
        strcat(got, made.steps[i].name);
    }
    assert_string_equal(got, names);
    return assay_image_result(&made);
}

static void shape(const struct assay_image_tensor *t, enum assay_dtype dtype,
                  uint32_t rank, const int64_t *dims, const int64_t *strides)
{
    assert_int_equal(t->dtype, dtype);
    assert_int_equal(t->rank, rank);
    assert_memory_equal(t->dims, dims, rank * sizeof(*dims));
    assert_memory_equal(t->strides, strides, rank * sizeof(*strides));
}

static void test_as_it_is(void **state)
{
    const struct assay_image_tensor *t;

    (void)state;
    assay_image_spec_init(&spec, ASSAY_IMAGE_RGB, 8, 6);
    t = steps(&picture, "decode");
    shape(t, ASSAY_U8, 4, (int64_t[]){1, 6, 8, 3}, (int64_t[]){144, 24, 3, 1});
    assert_ptr_equal(t->data, rgb); /* no copy */
    spec.type = ASSAY_IMAGE_BGR;
    t = steps(&picture, "decode colour");
    assert_int_equal(((const uint8_t *)t->data)[0], rgb[2]);
}

static void test_all_steps(void **state)
{
    const struct assay_image_tensor *t;

    (void)state;
    assay_image_spec_init(&spec, ASSAY_IMAGE_NV12, 6, 4);
    spec.orientation = 6;
    spec.widen = true;
    spec.centre = 1;
    spec.normalise = 1;
    spec.dtype = ASSAY_S16;
    spec.quantize_scale = 0.5f;
    spec.nchw = true;
    spec.align = 32;
    t = steps(&raw, "decode rgb orient resize colour subsample widen centre "
                    "normalise quantize layout pad");
    assert_int_equal(made.n, ASSAY_IMAGE_MAX_STEPS);
    shape(t, ASSAY_S16, 4, (int64_t[]){1, 3, 4, 6},
          (int64_t[]){384, 128, 32, 2});
    assert_int_equal(t->bytes, 384);
    shape(&made.steps[2], ASSAY_U8, 4, (int64_t[]){1, 8, 6, 3},
          (int64_t[]){144, 18, 3, 1});
    shape(&made.steps[5], ASSAY_U8, 2, (int64_t[]){6, 6}, (int64_t[]){6, 1});
}

static void test_nv12_passes(void **state)
{
    const struct assay_image_tensor *t;

    (void)state;
    assay_image_spec_init(&spec, ASSAY_IMAGE_NV12, 8, 6);
    spec.up = ASSAY_UP_BILINEAR; /* must not matter */
    t = steps(&raw, "decode colour subsample");
    assert_memory_equal(t->data, nv12, sizeof(nv12));
    spec.type = ASSAY_IMAGE_NV21;
    t = steps(&raw, "decode colour subsample");
    assert_int_equal(((const uint8_t *)t->data)[48], nv12[49]);
    spec.type = ASSAY_IMAGE_GRAY;
    t = steps(&raw, "decode colour");
    assert_memory_equal(t->data, nv12, 48);
    spec.type = ASSAY_IMAGE_YUV444;
    spec.up = ASSAY_UP_REPLICATE;
    t = steps(&raw, "decode colour");
    assert_int_equal(((const uint8_t *)t->data)[3 * 9 + 2], nv12[49]);
}

static void test_centre(void **state)
{
    const struct assay_image_tensor *t;

    (void)state;
    assay_image_spec_init(&spec, ASSAY_IMAGE_RGB, 8, 6);
    spec.centre = 1;
    t = steps(&picture, "decode centre");
    assert_int_equal(t->dtype, ASSAY_S8);
    for (size_t i = 0; i < sizeof(rgb); i++)
        assert_int_equal(((const int8_t *)t->data)[i], (int)rgb[i] - 128);
    spec.centre = 2;
    t = steps(&picture, "decode centre");
    assert_int_equal(t->dtype, ASSAY_S8);
    assert_memory_equal(t->data, rgb, sizeof(rgb));
}

static float first_of(unsigned divide, unsigned times, bool scale_first)
{
    spec.divide = (uint8_t)divide;
    spec.normalise = (uint8_t)times;
    spec.scale_first = scale_first;
    return ((const float *)steps(&picture, "decode normalise")->data)[4];
}

static void test_normalise(void **state)
{
    float x = rgb[4];

    (void)state;
    assay_image_spec_init(&spec, ASSAY_IMAGE_RGB, 8, 6);
    spec.mean[1] = 10.5f;
    spec.scale[1] = 0.25f;
    assert_true(first_of(0, 1, false) == (x - 10.5f) * 0.25f);
    assert_true(first_of(0, 1, true) == x * 0.25f - 10.5f);
    assert_true(first_of(0, 2, false) == ((x - 10.5f) * 0.25f - 10.5f) * 0.25f);
    assert_true(first_of(1, 0, false) == x / 255.0f);
    assert_true(first_of(2, 0, false) == x / 255.0f / 255.0f);
    assert_true(first_of(1, 1, false) == (x / 255.0f - 10.5f) * 0.25f);
}

static void test_quantize(void **state)
{
    const struct assay_image_tensor *t;

    (void)state;
    assay_image_spec_init(&spec, ASSAY_IMAGE_RGB, 8, 6);
    spec.dtype = ASSAY_F32;
    t = steps(&picture, "decode quantize");
    assert_true(((const float *)t->data)[7] == (float)rgb[7]);
    spec.dtype = ASSAY_S8;
    spec.quantize_scale = 2;
    t = steps(&picture, "decode quantize");
    for (size_t i = 0; i < sizeof(rgb); i++) {
        /* Half to even, by hand. */
        int q = rgb[i] / 2 + (rgb[i] % 4 == 3);

        assert_int_equal(((const int8_t *)t->data)[i], q > 127 ? 127 : q);
    }
    spec.dtype = ASSAY_U16;
    spec.quantize_scale = 1e-9f;
    t = steps(&picture, "decode quantize");
    assert_int_equal(((const uint16_t *)t->data)[1], 65535);
    spec.dtype = ASSAY_U8;
    spec.quantize_scale = 1;
    steps(&picture, "decode");
    /* Not a number becomes 0. */
    spec.normalise = 2;
    spec.scale[0] = 3e38f;
    spec.mean[0] = 3e38f;
    spec.scale_first = true;
    t = steps(&picture, "decode normalise quantize");
    spec.mean[0] = -3e38f;
    steps(&picture, "decode normalise quantize");
}

static void test_layout_and_pad(void **state)
{
    const struct assay_image_tensor *t;
    const uint8_t *d;

    (void)state;
    assay_image_spec_init(&spec, ASSAY_IMAGE_RGB, 8, 6);
    spec.nchw = true;
    t = steps(&picture, "decode layout");
    shape(t, ASSAY_U8, 4, (int64_t[]){1, 3, 6, 8}, (int64_t[]){144, 48, 8, 1});
    d = t->data;
    for (size_t i = 0; i < 48; i++)
        assert_int_equal(d[96 + i], rgb[3 * i + 2]);
    spec.nchw = false;
    spec.stride = 32;
    t = steps(&picture, "decode pad");
    shape(t, ASSAY_U8, 4, (int64_t[]){1, 6, 8, 3}, (int64_t[]){192, 32, 3, 1});
    d = t->data;
    assert_memory_equal(d + 32, rgb + 24, 24);
    assert_int_equal(d[31], 0);
    spec.stride = 24;
    steps(&picture, "decode");
    spec.stride = 23;
    assert_true(assay_image_adapt(&made, &spec, &picture, &err) < 0);
    assert_non_null(strstr(err.text, "found a stride of 23"));
    spec.stride = (size_t)1 << 60;
    assert_true(assay_image_adapt(&made, &spec, &picture, &err) < 0);
    spec.stride = 0;
    spec.dtype = ASSAY_F32;
    spec.align = 64;
    t = steps(&picture, "decode quantize pad");
    assert_int_equal(t->strides[1], 128);
    spec.align = SIZE_MAX;
    assert_true(assay_image_adapt(&made, &spec, &picture, &err) < 0);
}

static void test_orientation(void **state)
{
    const struct assay_image_tensor *t;

    (void)state;
    assay_image_spec_init(&spec, ASSAY_IMAGE_RGB, 8, 6);
    picture.orientation = 3;
    steps(&picture, "decode"); /* 1: as it is stored */
    spec.orientation = 0;      /* as the file says */
    t = steps(&picture, "decode orient");
    assert_memory_equal(t->data, rgb + sizeof(rgb) - 3, 3);
    spec.orientation = 2;
    t = steps(&picture, "decode orient");
    assert_memory_equal(t->data, rgb + 21, 3);
}

static void test_order(void **state)
{
    uint8_t last[48];
    const struct assay_image_tensor *t;

    (void)state;
    assay_image_spec_init(&spec, ASSAY_IMAGE_YUV444, 4, 4);
    t = steps(&picture, "decode resize colour");
    memcpy(last, t->data, sizeof(last));
    spec.colour_first = true;
    t = steps(&picture, "decode colour resize");
    assert_memory_not_equal(last, t->data, sizeof(last));
}

/* The two halves give what the whole gives, whatever the spec. */
static void test_halves(void **state)
{
    (void)state;
    for (int type = 0; type < ASSAY_IMAGE_TYPE_COUNT; type++) {
        for (int fit = 0; fit < ASSAY_FIT_COUNT; fit++) {
            struct assay_picture sized;
            struct assay_image_adapted half;
            const struct assay_image_tensor *a, *b;

            assay_image_spec_init(&spec, type, 10, 4);
            spec.fit = fit;
            spec.orientation = 5;
            spec.centre = 1;
            spec.nchw = true;
            assert_int_equal(assay_image_sized(&sized, &spec, &picture, &err),
                             0);
            assert_int_equal(
                assay_image_adapt_sized(&half, &spec, &sized, &err), 0);
            assert_int_equal(assay_image_adapt(&made, &spec, &picture, &err),
                             0);
            a = assay_image_result(&made);
            b = assay_image_result(&half);
            assert_int_equal(a->bytes, b->bytes);
            assert_memory_equal(a->data, b->data, a->bytes);
            assay_image_adapted_close(&half);
            assay_image_adapted_close(&made);
            spec.width = 12;
            assert_true(assay_image_adapt_sized(&half, &spec, &sized, &err) <
                        0);
            assay_picture_close(&sized);
        }
    }
}

static void bad(const char *sentence)
{
    struct assay_image_adapted out;

    assert_true(assay_image_adapt(&out, &spec, &picture, &err) < 0);
    if (strstr(err.text, sentence) == NULL)
        fail_msg("'%s' lacks '%s'", err.text, sentence);
    assay_image_spec_init(&spec, ASSAY_IMAGE_NV12, 8, 6);
}

static void test_bad_specs(void **state)
{
    (void)state;
    assay_image_spec_init(&spec, ASSAY_IMAGE_NV12, 7, 6);
    bad("expected even sides, found 7x6");
    spec.width = 0;
    bad("holds nothing");
    spec.width = 16386;
    bad("at most 16384 a side");
    spec.type = 99;
    bad("out of range");
    spec.dtype = ASSAY_S64;
    bad("a picture as int64");
    spec.scale[2] = NAN;
    bad("channel 2");
    spec.quantize_scale = 0;
    bad("expected more than 0, found 0");
    spec.centre = 3;
    bad("found 3, 0 and 0");
    spec.orientation = 9;
    bad("found 9");
    spec.down = ASSAY_DOWN_MEAN_RGB;
    spec.colour_first = true;
    bad("needs colours");
}

static void test_odd(void **state)
{
    (void)state;
    for (uint32_t w = 1; w < 6; w++) {
        for (int odd = ASSAY_ODD_DOWN; odd < ASSAY_ODD_COUNT; odd++) {
            assay_image_spec_init(&spec, ASSAY_IMAGE_NV12, w, 6 - w);
            spec.odd = odd;
            spec.widen = true;
            spec.down = ASSAY_DOWN_MEAN_RGB;
            steps(&picture, "decode resize colour subsample widen");
        }
    }
}

static void back(const char *what, bool to_the_bit)
{
    struct assay_picture shown;
    const struct assay_image_tensor *t;
    size_t bytes;

    assay_image_adapted_close(&made);
    assert_int_equal(assay_image_adapt(&made, &spec, &picture, &err), 0);
    t = assay_image_result(&made);
    assert_int_equal(assay_image_bytes(&bytes, &spec, t->dtype, &err), 0);
    assert_int_equal(bytes, t->bytes);
    if (assay_image_show(&shown, &spec, t->dtype, t->data, t->bytes, &err) != 0)
        fail_msg("%s: %s", what, err.text);
    if (to_the_bit)
        assert_memory_equal(shown.data, rgb, sizeof(rgb));
    assay_picture_close(&shown);
    assert_true(assay_image_show(&shown, &spec, t->dtype, t->data,
                                 t->bytes / 2 - 1, &err) < 0);
}

static void test_way_back(void **state)
{
    (void)state;
    for (int type = 0; type < ASSAY_IMAGE_TYPE_COUNT; type++) {
        bool whole = type == ASSAY_IMAGE_RGB || type == ASSAY_IMAGE_BGR;

        for (int nchw = 0; nchw < 2; nchw++) {
            for (unsigned centre = 0; centre < 3; centre++) {
                assay_image_spec_init(&spec, type, 8, 6);
                spec.nchw = nchw;
                spec.centre = (uint8_t)centre;
                back("dense", whole);
                spec.align = 32;
                back("padded", whole);
                spec.normalise = 2;
                spec.divide = 1;
                spec.mean[0] = spec.mean[1] = 3;
                spec.scale[2] = 0.5f;
                back("normalised", whole);
                spec.scale_first = true;
                back("the other order", whole);
            }
        }
    }
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
    struct assay_image_adapted out;
    unsigned n = 0;
    int rc;

    (void)state;
    assay_image_spec_init(&spec, ASSAY_IMAGE_NV12, 6, 4);
    spec.orientation = 6;
    spec.normalise = 1;
    assay_alloc_hook = few;
    do {
        allowed = n++;
        rc = assay_image_adapt(&out, &spec, &picture, &err);
        assert_true(rc == 0 || rc == ASSAY_EMEMORY);
    } while (rc < 0 && n < 100);
    assert_int_equal(rc, 0);
    assay_image_adapted_close(&out);
    assay_alloc_hook = NULL;
    assert_true(n > 3);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_as_it_is),       TEST(test_all_steps),
        TEST(test_nv12_passes),    TEST(test_centre),
        TEST(test_normalise),      TEST(test_quantize),
        TEST(test_layout_and_pad), TEST(test_orientation),
        TEST(test_order),          TEST(test_halves),
        TEST(test_bad_specs),      TEST(test_odd),
        TEST(test_way_back),       TEST(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
