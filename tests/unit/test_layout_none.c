/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is no layout: arithmetic that differs, noise, and data that cannot
 * tell.
 *
 * links: host-tools/cause/layout.c host-tools/cause/layout_permute.c
 * links: host-tools/cause/layout_stride.c host-tools/cause/layout_bytes.c
 * links: host-tools/cause/layout_text.c
 * links: lib/core/slice.c lib/core/buf.c lib/core/err.c
 * libs: -lm
 */
#include "tests/unit/layout_tensors.h"

static void equal_and_constant(void **state)
{
    struct assay_tensor t = shape(ASSAY_S8, "NHWC", 4, 1, 6, 6, 4);
    struct assay_tensor one = shape(ASSAY_F32, "", 0);
    struct assay_tensor place = shape(ASSAY_S16, "NHWC", 4, 1, 1, 1, 1);

    (void)state;
    fill_ref(&t);
    memcpy(got, ref, count(&t));
    none(&t);
    memset(ref, 0x05, sizeof(ref));
    memset(got, 0x85, sizeof(got));
    none(&t);
    fill_ref(&t);
    memset(got, 0x05, sizeof(got));
    none(&t);
    memset(ref, 1, 8);
    memset(got, 2, 8);
    none(&one);
    none(&place);
}

/* Few elements, or few values, fit much. */
static void too_little_to_tell(void **state)
{
    struct assay_tensor two = shape(ASSAY_S8, "C", 1, 2);
    struct assay_tensor pixel = shape(ASSAY_U8, "NHWC", 4, 1, 1, 1, 3);
    struct assay_tensor mask = shape(ASSAY_S8, "HW", 2, 1, 20);

    (void)state;
    memcpy(ref, "\1\2", 2);
    memcpy(got, "\2\1", 2);
    none(&two);
    memcpy(ref, "\1\2\3", 3);
    memcpy(got, "\3\2\1", 3);
    none(&pixel);
    for (size_t i = 0; i < 20; i++) {
        ref[i] = i < 10;
        got[i] = i >= 10;
    }
    none(&mask);
}

/* A zero point on a ramp moves it by one element as well. */
static void offset_of_a_ramp(void **state)
{
    struct assay_tensor t = shape(ASSAY_S8, "C", 1, 100);

    (void)state;
    for (int i = 0; i < 100; i++) {
        ref[i] = (uint8_t)i;
        got[i] = (uint8_t)(i + 1);
    }
    none(&t);
}

/* Noise of any size and share on tensors of any shape: 1,000 of them. */
static void random_differences(void **state)
{
    static const enum assay_dtype types[] = {ASSAY_S8, ASSAY_U8, ASSAY_S16,
                                             ASSAY_S32, ASSAY_F32};

    (void)state;
    for (uint32_t k = 0; k < 1000; k++) {
        struct assay_tensor t = {
            .name = "y", .dtype = types[k % 5], .rank = 1 + k / 5 % 5};
        size_t n, w = width(&t);
        uint32_t share, size;

        seed = k + 1;
        for (uint32_t a = 0; a < t.rank; a++) {
            t.dims[a] = 1 + rnd() % 7;
            t.perm[a] = (uint8_t)(t.rank == 4 && a ? a % 3 + 1 : a);
        }
        if (t.rank == 4)
            memcpy(t.axes, "NHWC", 5);
        n = count(&t);
        share = 1 + rnd() % 20;
        size = rnd() % 3;
        for (size_t i = 0; i < n * w; i++)
            ref[i] = (uint8_t)(size == 0 ? rnd() % 3 : rnd());
        memcpy(got, ref, n * w);
        for (size_t i = 0; i < n; i++)
            if (rnd() % share == 0)
                got[i * w] += (uint8_t)(size == 1 ? 1 : 1 + rnd() % 255);
        none(&t);
    }
}

/* Both tensors at random: nothing of one is in the other. */
static void unrelated(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 200; k++) {
        struct assay_tensor t = shape(ASSAY_S8, "NHWC", 4, 2, 3, 5, 7);

        seed = k + 1;
        fill(ref, 210);
        fill(got, 210);
        none(&t);
    }
}

/* One element that does not fit: it is not this layout. */
static void one_element_is_enough(void **state)
{
    static const uint8_t to_nchw[] = {0, 3, 1, 2};
    struct assay_tensor t = shape(ASSAY_S8, "NHWC", 4, 1, 9, 9, 16);

    (void)state;
    fill_ref(&t);
    permute(&t, to_nchw, got, ref);
    assert_int_equal(found(&t).kind, ASSAY_LAYOUT_PERMUTED);
    got[777]++;
    none(&t);
}

/* NaN and both zeros are bits like others. */
static void nan_and_zeros(void **state)
{
    struct assay_tensor t = shape(ASSAY_F32, "NHWC", 4, 1, 3, 5, 4);
    static const uint8_t to_nchw[] = {0, 3, 1, 2};
    float f;

    (void)state;
    fill_ref(&t);
    for (size_t i = 0; i < 60; i += 3) {
        f = i % 2 ? strtof("nan", NULL) : -0.0f;
        memcpy(ref + 4 * i, &f, 4);
    }
    permute(&t, to_nchw, got, ref);
    assert_int_equal(found(&t).kind, ASSAY_LAYOUT_PERMUTED);
    f = 0.0f;
    for (size_t i = 0; i < 60; i++)
        if (memcmp(got + 4 * i, "\0\0\0\x80", 4) == 0) {
            memcpy(got + 4 * i, &f, 4);
            break;
        }
    none(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_and_constant),
        cmocka_unit_test(too_little_to_tell),
        cmocka_unit_test(offset_of_a_ramp),
        cmocka_unit_test(random_differences),
        cmocka_unit_test(unrelated),
        cmocka_unit_test(one_element_is_enough),
        cmocka_unit_test(nan_and_zeros),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
