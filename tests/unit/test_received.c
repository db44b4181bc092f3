/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was fed is found again: every single alteration of every kind of input
 * that it applies to is made by the adapter (or, where it is about memory, by
 * hand) and must be among the readings with the fewest changes; what is as
 * wanted matches, noise is explained by nothing, and of a gray picture all
 * that fits is listed.
 *
 * links: host-tools/image/ host-tools/model/file.c
 * links: lib/core/ kernels/ kernels/ref/
 * libs: -lpng -ljpeg -lmbedcrypto -lxxhash
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/received_find.h"
#include "tests/unit/received_seeds.h"

static void same_bytes(const struct assay_image_tensor *a,
                       const struct assay_image_tensor *b, bool *same)
{
    *same = a->bytes == b->bytes && a->dtype == b->dtype &&
            memcmp(a->data, b->data, a->bytes) == 0;
}

static void show(const struct assay_received *r,
                 const struct assay_received_wanted *w)
{
    char ids[80], text[400];

    for (uint32_t i = 0; i < r->n; i++) {
        ids_of(r, &r->hits[i], w, ids);
        print_message("  %s: %s\n", ids,
                      assay_reading_text(&r->hits[i].reading, r->hits[i].knobs,
                                         r->hits[i].n_knobs, text,
                                         sizeof(text)));
    }
}

static unsigned seed_all(const struct assay_picture *p)
{
    unsigned pairs = 0;

    for (size_t k = 0; k < N_WANTS; k++)
        for (size_t i = 0; i < N_SEEDS; i++) {
            struct assay_received_wanted w = {0};
            struct assay_image_adapted right, wrong;
            struct assay_image_spec s;
            struct assay_received *r;
            char what[64];
            bool same;

            wants[k](&w);
            s = w.spec;
            if (!seeds[i].seed(&s))
                continue;
            right = made_of(&w.spec, p);
            wrong = made_of(&s, p);
            same_bytes(assay_image_result(&right), assay_image_result(&wrong),
                       &same);
            if (!same) {
                const struct assay_image_tensor *t = assay_image_result(&wrong);

                snprintf(what, sizeof(what), "%s (%zu) of %zu", seeds[i].id, i,
                         k);
                r = find(p, &w, t->dtype, t->data, t->bytes);
                check_hits(r, what);
                /* Divided so often that quantizing leaves one value. */
                if (r->flat)
                    assert_int_equal(r->n, 0);
                else if (r->changes != 1 || !has(r, &w, seeds[i].id)) {
                    show(r, &w);
                    fail_msg("%s: not found, %u changes, %u hits", what,
                             r->changes, r->n);
                }
                assay_received_free(r);
                pairs++;
            }
            assay_image_adapted_close(&right);
            assay_image_adapted_close(&wrong);
        }
    return pairs;
}

static void test_seeded(void **unused)
{
    struct assay_picture p = picture_of(PHOTO, WIDTH, HEIGHT);
    struct assay_picture q = picture_of(RANDOM, WIDTH, HEIGHT);
    unsigned pairs;

    (void)unused;
    pairs = seed_all(&p) + seed_all(&q);
    print_message("%u seeded pairs\n", pairs);
    assert_true(pairs >= 200);
    assay_picture_close(&p);
    assay_picture_close(&q);
}

static void test_clean(void **unused)
{
    struct assay_picture p = picture_of(PHOTO, WIDTH, HEIGHT);

    (void)unused;
    for (size_t k = 0; k < N_WANTS; k++) {
        struct assay_received_wanted w = {0};
        struct assay_image_adapted a;
        const struct assay_image_tensor *t;
        struct assay_received *r;

        wants[k](&w);
        a = made_of(&w.spec, &p);
        t = assay_image_result(&a);
        r = find(&p, &w, t->dtype, t->data, t->bytes);
        assert_int_equal(r->n, 1);
        assert_int_equal(r->changes, 0);
        assert_true(r->hits[0].exact);
        assay_received_free(r);
        assay_image_adapted_close(&a);
    }
    assay_picture_close(&p);
}

/* Neither random bytes nor another picture nor one wrong element has a cause. */
static void test_noise(void **unused)
{
    struct assay_picture p = picture_of(PHOTO, WIDTH, HEIGHT);
    struct assay_picture q = picture_of(RANDOM, WIDTH, HEIGHT);

    (void)unused;
    for (size_t k = 0; k < N_WANTS; k++)
        for (int how = 0; how < (k % 4 == 0 ? 3 : k % 4 == 1 ? 1 : 0); how++) {
            struct assay_received_wanted w = {0};
            struct assay_image_adapted a;
            const struct assay_image_tensor *t;
            struct assay_received *r;
            uint8_t *bytes;

            wants[k](&w);
            a = made_of(&w.spec, how == 1 ? &q : &p);
            t = assay_image_result(&a);
            bytes = malloc(t->bytes);
            assert_non_null(bytes);
            memcpy(bytes, t->data, t->bytes);
            for (size_t i = 0; how == 0 && i < t->bytes; i++)
                bytes[i] = (uint8_t)(roll() & 0x3f);
            if (how == 2)
                bytes[3] ^= 0x41;
            r = find(&p, &w, t->dtype, bytes, t->bytes);
            if (r->n > 0) {
                show(r, &w);
                fail_msg("noise %d of %zu has a cause", how, k);
            }
            assert_true(r->near.found);
            if (how == 2)
                assert_true(r->near.hit.all - r->near.hit.all_matched <= 2);
            assay_received_free(r);
            free(bytes);
            assay_image_adapted_close(&a);
        }
    assay_picture_close(&p);
    assay_picture_close(&q);
}

/* Of a gray picture RGB is BGR and NV12 is NV21: a match says so, and where
 * something else is wrong all that fit are listed. */
static void test_blind(void **unused)
{
    struct assay_picture p = picture_of(GRAY, WIDTH, HEIGHT);
    struct assay_received_wanted w = {0};
    struct assay_image_adapted a;
    const struct assay_image_tensor *t;
    struct assay_received *r;
    char ids[80];
    bool found = false;

    (void)unused;
    want_rgb(&w);
    a = made_of(&w.spec, &p);
    t = assay_image_result(&a);
    r = find(&p, &w, t->dtype, t->data, t->bytes);
    assert_int_equal(r->changes, 0);
    assert_int_equal(r->n, 1);
    for (uint32_t i = 0; i < r->n_blind; i++) {
        ids_of(r, &r->blind[i], &w, ids);
        found = found || strcmp(ids, "Y6") == 0;
    }
    assert_true(found);
    assay_received_free(r);
    assay_image_adapted_close(&a);

    want_nv12(&w);
    w.spec.type = ASSAY_IMAGE_RGB;
    a = made_of(&w.spec, &p);
    w.spec.type = ASSAY_IMAGE_NV12;
    t = assay_image_result(&a);
    r = find(&p, &w, t->dtype, t->data, t->bytes);
    assert_int_equal(r->changes, 1);
    assert_true(r->n >= 2); /* RGB for NV12, and BGR */
    for (uint32_t i = 0; i < r->n; i++) {
        ids_of(r, &r->hits[i], &w, ids);
        assert_string_equal(ids, "Y15");
    }
    assay_received_free(r);
    assay_image_adapted_close(&a);
    assay_picture_close(&p);
}

/* What is wrong with memory alone is made by hand. */
static void test_memory(void **unused)
{
    struct assay_picture p = picture_of(PHOTO, WIDTH, HEIGHT);
    struct assay_received_wanted w = {0};
    struct assay_image_adapted a, padded;
    const struct assay_image_tensor *t, *wide;
    struct assay_received *r;
    uint8_t *bytes;

    (void)unused;
    want_nv12(&w); /* rows of 68: 80 with an alignment of 16 */
    a = made_of(&w.spec, &p);
    t = assay_image_result(&a);
    bytes = malloc(t->bytes);
    assert_non_null(bytes);
    w.spec.align = 16;
    padded = made_of(&w.spec, &p);
    w.spec.align = 0;
    wide = assay_image_result(&padded);
    assert_int_equal(wide->bytes, 80 * 84);
    memcpy(bytes, wide->data, t->bytes);
    r = find(&p, &w, ASSAY_U8, bytes, t->bytes);
    assert_true(has(r, &w, "Y8"));
    assert_int_equal(r->hits[0].reading.memory, ASSAY_MEMORY_CUT);
    assert_int_equal(r->hits[0].reading.stride, 80);
    assay_received_free(r);

    memset(bytes, 0xa5, t->bytes);
    for (size_t y = 0; y < 84; y++)
        for (size_t x = 0; x < 68 && y * 80 + x < t->bytes; x++)
            bytes[y * 68 + x] = ((const uint8_t *)t->data)[y * 80 + x];
    r = find(&p, &w, ASSAY_U8, bytes, t->bytes);
    assert_true(has(r, &w, "Y8"));
    assert_int_equal(r->hits[0].reading.memory, ASSAY_MEMORY_SHEARED);
    assert_true(r->hits[0].unseen > 0);
    assay_received_free(r);

    for (int shift = -1; shift <= 1; shift += 2) {
        memcpy(bytes, t->data, t->bytes);
        for (size_t i = 0; i < 68 * 28; i++) {
            size_t from = 68 * 56 + i + (size_t)shift;

            bytes[68 * 56 + i] =
                from < t->bytes ? ((const uint8_t *)t->data)[from] : 0xa5;
        }
        r = find(&p, &w, ASSAY_U8, bytes, t->bytes);
        assert_int_equal(r->changes, 1);
        assert_true(has(r, &w, "Y5"));
        assert_int_equal(r->hits[0].reading.chroma_shift, shift);
        assay_received_free(r);
    }
    free(bytes);
    assay_image_adapted_close(&padded);
    assay_image_adapted_close(&a);
    assay_picture_close(&p);
}

/* OpenCV's YCrCb: V before U. */
static void test_ycrcb(void **unused)
{
    struct assay_picture p = picture_of(PHOTO, WIDTH, HEIGHT);
    struct assay_received_wanted w = {0};
    struct assay_image_adapted a;
    const struct assay_image_tensor *t;
    struct assay_received *r;
    uint8_t *bytes;

    (void)unused;
    want_yuv444(&w);
    a = made_of(&w.spec, &p);
    t = assay_image_result(&a);
    bytes = malloc(t->bytes);
    assert_non_null(bytes);
    memcpy(bytes, t->data, t->bytes);
    for (size_t i = 0; i < t->bytes; i += 3) {
        bytes[i + 1] = ((const uint8_t *)t->data)[i + 2];
        bytes[i + 2] = ((const uint8_t *)t->data)[i + 1];
    }
    r = find(&p, &w, ASSAY_S8, bytes, t->bytes);
    assert_int_equal(r->changes, 1);
    assert_true(has(r, &w, "Y1"));
    assay_received_free(r);
    free(bytes);
    assay_image_adapted_close(&a);
    assay_picture_close(&p);
}

/* Several at once: found with no more changes than were made. */
static void test_together(void **unused)
{
    struct assay_picture p = picture_of(PHOTO, WIDTH, HEIGHT);
    unsigned pairs = 0;

    (void)unused;
    for (int turn = 0; turn < 400 && pairs < 16; turn++) {
        struct assay_received_wanted w = {0};
        struct assay_image_adapted a;
        const struct assay_image_tensor *t;
        struct assay_received *r;
        size_t k = roll() % N_WANTS, i = roll() % N_SEEDS, j = roll() % N_SEEDS;
        struct assay_image_spec s;

        wants[k](&w);
        s = w.spec;
        /* Two of one kind are one change to another value, or none that is in
         * the list. Colours before the size come with few others. */
        if (strcmp(seeds[i].id, seeds[j].id) == 0 ||
            seeds[i].seed == seed_colour_first ||
            seeds[j].seed == seed_colour_first || !seeds[i].seed(&s) ||
            !seeds[j].seed(&s) || assay_image_spec_check(&s, NULL) < 0)
            continue;
        a = made_of(&s, &p);
        t = assay_image_result(&a);
        r = find(&p, &w, t->dtype, t->data, t->bytes);
        check_hits(r, "two");
        if (r->n == 0 || r->changes > 3)
            fail_msg("%s (%zu) and %s (%zu) of %zu: %u hits, %u changes",
                     seeds[i].id, i, seeds[j].id, j, k, r->n, r->changes);
        assay_received_free(r);
        assay_image_adapted_close(&a);
        pairs++;
    }
    print_message("%u with two changes\n", pairs);
    assert_int_equal(pairs, 16);
    assay_picture_close(&p);
}

/* Turned by a quarter, but after it was resized. */
static void test_turned_last(void **unused)
{
    struct assay_picture p = picture_of(PHOTO, WIDTH, HEIGHT);
    struct assay_received_wanted w = {0};
    struct assay_image_adapted a;
    const uint8_t *from;
    struct assay_received *r;
    uint8_t *bytes;

    (void)unused;
    assay_image_spec_init(&w.spec, ASSAY_IMAGE_RGB, 56, 68);
    a = made_of(&w.spec, &p);
    from = assay_image_result(&a)->data;
    bytes = malloc((size_t)3 * 56 * 68);
    assert_non_null(bytes);
    for (size_t y = 0; y < 56; y++)
        for (size_t x = 0; x < 68; x++) /* clockwise */
            memcpy(bytes + 3 * (y * 68 + x), from + 3 * ((67 - x) * 56 + y), 3);
    want_rgb(&w);
    r = find(&p, &w, ASSAY_U8, bytes, (size_t)3 * 56 * 68);
    assert_int_equal(r->changes, 1);
    assert_true(has(r, &w, "Y13"));
    assert_int_equal(r->hits[0].reading.turned_last, 6);
    assay_received_free(r);
    for (size_t y = 0; y < 56; y++)
        for (size_t x = 0; x < 68; x++) /* rows for columns */
            memcpy(bytes + 3 * (y * 68 + x), from + 3 * (x * 56 + y), 3);
    r = find(&p, &w, ASSAY_U8, bytes, (size_t)3 * 56 * 68);
    assert_int_equal(r->changes, 1);
    assert_int_equal(r->hits[0].reading.turned_last, 5);
    assay_received_free(r);
    free(bytes);
    assay_image_adapted_close(&a);
    assay_picture_close(&p);
}

static void test_refused(void **unused)
{
    struct assay_picture p = picture_of(PHOTO, 16, 16);
    struct assay_received_wanted w = {0};
    struct assay_received_got got = {.dtype = ASSAY_F32, .bytes = 7};
    struct assay_received *r = NULL;
    struct assay_err err = {0};
    uint8_t one[8] = {0};

    (void)unused;
    want_rgb(&w);
    got.data = one;
    assert_true(assay_received_search(&r, &p, &w, &got, 0, &err) < 0);
    assert_null(r);
    /* A tensor of a size that nothing has. */
    got.bytes = 8;
    assert_int_equal(assay_received_search(&r, &p, &w, &got, 0, &err), 0);
    assert_int_equal(r->n, 0);
    assay_received_free(r);
    assay_picture_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),    cmocka_unit_test(test_seeded),
        cmocka_unit_test(test_memory),   cmocka_unit_test(test_blind),
        cmocka_unit_test(test_together), cmocka_unit_test(test_noise),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_turned_last),
        cmocka_unit_test(test_ycrcb),
    };

    return cmocka_run_group_tests_name("received", tests, NULL, NULL);
}
