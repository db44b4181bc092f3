/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts: every kind is found in what was made with it, on odd shapes and
 * all types. What is none: test_layout_none.c.
 *
 * links: host-tools/cause/layout.c host-tools/cause/layout_permute.c
 * links: host-tools/cause/layout_stride.c host-tools/cause/layout_bytes.c
 * links: host-tools/cause/layout_text.c
 * links: lib/core/slice.c lib/core/buf.c lib/core/err.c
 * libs: -lm
 */
#include "tests/unit/layout_tensors.h"

static uint8_t buffer[8 * MOST];

/* ---- axes ---------------------------------------------------------------- */

static void nhwc_and_nchw(void **state)
{
    static const enum assay_dtype types[] = {ASSAY_S8, ASSAY_U8, ASSAY_S16,
                                             ASSAY_S32, ASSAY_F32};
    static const uint8_t to_nchw[] = {0, 3, 1, 2};

    (void)state;
    for (unsigned k = 0; k < sizeof(types) / sizeof(types[0]); k++) {
        struct assay_tensor t = shape(types[k], "NHWC", 4, 2, 5, 7, 33);
        struct assay_layout l;

        fill_ref(&t);
        permute(&t, to_nchw, got, ref);
        l = found(&t);
        assert_int_equal(l.kind, ASSAY_LAYOUT_PERMUTED);
        assert_string_equal(l.id, "L1");
        assert_memory_equal(l.axes, to_nchw, 4);
        assert_int_equal(l.compared, l.all);
        assert_string_equal(text, "NHWC -> NCHW");
        /* The odd one is the other side. */
        fill(got, count(&t) * width(&t));
        permute(&t, to_nchw, ref, got);
        l = found(&t);
        assert_int_equal(l.kind, ASSAY_LAYOUT_PERMUTED);
        assert_string_equal(text, "NCHW -> NHWC");
    }
}

/* With one place along an axis, the usual name is still the name. */
static void permuted_with_axes_of_one(void **state)
{
    static const uint8_t to_nchw[] = {0, 3, 1, 2};
    struct assay_tensor t = shape(ASSAY_S8, "NHWC", 4, 1, 1, 9, 5);

    (void)state;
    fill_ref(&t);
    permute(&t, to_nchw, got, ref);
    found(&t);
    assert_string_equal(text, "NHWC -> NCHW");
}

/* All 23 of four axes, 119 of five, and one of seven. */
static void any_permutation(void **state)
{
    struct assay_tensor t = shape(ASSAY_S16, "", 5, 2, 3, 4, 5, 7);
    struct assay_tensor m = shape(ASSAY_S8, "", 2, 13, 4);
    struct assay_tensor s = shape(ASSAY_S8, "", 7, 2, 3, 2, 3, 2, 3, 2);
    static const uint8_t two[] = {1, 0}, seven[] = {6, 5, 4, 3, 1, 2, 0};
    unsigned n = 0;

    (void)state;
    for (unsigned k = 1; k < 3125; k++) {
        const uint8_t axes[] = {k / 625 % 5, k / 125 % 5, k / 25 % 5, k / 5 % 5,
                                k % 5};
        unsigned seen = 0;
        struct assay_layout l;

        for (unsigned a = 0; a < 5; a++)
            seen |= 1u << axes[a];
        if (seen != 31 || k == 194) /* 194: 0 1 2 3 4 */
            continue;
        fill_ref(&t);
        permute(&t, axes, got, ref);
        l = found(&t);
        assert_int_equal(l.kind, ASSAY_LAYOUT_PERMUTED);
        assert_int_equal(l.n[0], 0);
        assert_memory_equal(l.axes, axes, 5);
        n++;
    }
    assert_int_equal(n, 119);
    fill_ref(&m);
    permute(&m, two, got, ref);
    found(&m);
    assert_string_equal(text, "axes 0 1 -> 1 0");
    fill_ref(&s);
    permute(&s, seven, got, ref);
    assert_int_equal(found(&s).kind, ASSAY_LAYOUT_PERMUTED);
}

static void backwards(void **state)
{
    struct assay_tensor rgb = shape(ASSAY_U8, "NHWC", 4, 1, 5, 7, 3);
    struct assay_tensor v = shape(ASSAY_F32, "", 1, 33);
    struct assay_tensor turned = shape(ASSAY_S8, "NHWC", 4, 2, 5, 6, 4);
    struct assay_layout l;

    (void)state;
    fill_ref(&rgb);
    for (size_t i = 0; i < count(&rgb); i++)
        move(&rgb, i, i / 3 * 3 + 2 - i % 3);
    l = found(&rgb);
    assert_int_equal(l.kind, ASSAY_LAYOUT_REVERSED);
    assert_int_equal(l.axis[0], 3);
    assert_string_equal(l.id, "Y6");
    assert_string_equal(text, "channels in the opposite order (RGB <-> BGR)");

    fill_ref(&v);
    for (size_t i = 0; i < 33; i++)
        move(&v, i, 32 - i);
    l = found(&v);
    assert_int_equal(l.kind, ASSAY_LAYOUT_REVERSED);
    assert_string_equal(text, "places of axis 0 in the opposite order");

    /* A turn by 180 degrees: rows and columns. */
    fill_ref(&turned);
    for (size_t i = 0; i < count(&turned); i++) {
        size_t n = i / 120, y = i / 24 % 5, x = i / 4 % 6, c = i % 4;

        move(&turned, i, ((n * 5 + 4 - y) * 6 + 5 - x) * 4 + c);
    }
    l = found(&turned);
    assert_int_equal(l.kind, ASSAY_LAYOUT_REVERSED);
    assert_string_equal(text, "rows and columns in the opposite order");
}

static void swapped_places(void **state)
{
    struct assay_tensor rgba = shape(ASSAY_U8, "NHWC", 4, 1, 5, 7, 4);
    struct assay_tensor batch = shape(ASSAY_S8, "NC", 2, 3, 10);
    struct assay_tensor c = shape(ASSAY_S32, "NCHW", 4, 1, 33, 3, 3);
    struct assay_layout l;

    (void)state;
    fill_ref(&rgba);
    for (size_t i = 0; i < count(&rgba); i++)
        move(&rgba, i, i % 4 == 0 ? i + 2 : i % 4 == 2 ? i - 2 : i);
    l = found(&rgba);
    assert_int_equal(l.kind, ASSAY_LAYOUT_SWAPPED);
    assert_int_equal(l.n[0], 0);
    assert_int_equal(l.n[1], 2);
    assert_string_equal(l.id, "Y6");
    assert_string_equal(text, "channels 0 and 2 swapped");

    fill_ref(&batch);
    for (size_t i = 0; i < 30; i++)
        move(&batch, i, i < 10 ? i + 10 : i < 20 ? i - 10 : i);
    l = found(&batch);
    assert_int_equal(l.kind, ASSAY_LAYOUT_SWAPPED);
    assert_string_equal(l.id, "L5");
    assert_string_equal(text, "images 0 and 1 swapped");

    fill_ref(&c);
    for (size_t i = 0; i < count(&c); i++)
        move(&c, i, i / 9 == 7 ? i + 18 * 9 : i / 9 == 25 ? i - 18 * 9 : i);
    l = found(&c);
    assert_int_equal(l.kind, ASSAY_LAYOUT_SWAPPED);
    assert_string_equal(l.id, "W3");
    assert_string_equal(text, "channels 7 and 25 swapped");
}

/* ---- buffers ------------------------------------------------------------- */

/* ref's units of `unit` bytes stand `apart`; got is read `as` bytes apart. */
static void through_buffer(const struct assay_tensor *t, size_t unit,
                           size_t apart, size_t as)
{
    size_t bytes = count(t) * width(t), n = bytes / unit;

    fill(buffer, sizeof(buffer));
    assert_true(n * apart <= sizeof(buffer) && n * as <= sizeof(buffer));
    for (size_t i = 0; i < n; i++)
        memcpy(buffer + i * apart, ref + i * unit, unit);
    for (size_t i = 0; i < n; i++)
        memcpy(got + i * unit, buffer + i * as, unit);
}

static size_t up(size_t v, size_t to)
{
    return (v + to - 1) / to * to;
}

static void strides(void **state)
{
    static const enum assay_dtype types[] = {ASSAY_S8, ASSAY_S16, ASSAY_F32};

    (void)state;
    for (unsigned k = 0; k < 3; k++) {
        struct assay_tensor t = shape(types[k], "NHWC", 4, 2, 9, 5, 3);
        size_t unit = 1;

        for (int a = 2; a >= 0; a--) {
            unit = width(&t) * (size_t)(a == 2 ? 3 : a == 1 ? 15 : 135);
            for (size_t to = 16; to <= 64; to *= 2) {
                struct assay_layout l;

                fill_ref(&t);
                through_buffer(&t, unit, up(unit, to), unit);
                l = found(&t);
                assert_int_equal(l.kind, ASSAY_LAYOUT_STRIDED);
                assert_string_equal(l.id, "L2");
                assert_int_equal(l.axis[0], a);
                assert_int_equal(l.n[0], up(unit, to));
                assert_int_equal(l.n[1], unit);
                through_buffer(&t, unit, unit, up(unit, to));
                l = found(&t);
                assert_int_equal(l.kind, ASSAY_LAYOUT_STRIDED);
                assert_int_equal(l.n[0], unit);
                assert_int_equal(l.n[1], up(unit, to));
            }
        }
    }
}

/* Pixels of 12 bytes that are 16 apart are channels in one block of 16; dense
 * rows of 96 bytes are aligned to 32 as well; of others nothing is said. */
static void what_else_it_is_called(void **state)
{
    struct assay_tensor t = shape(ASSAY_S8, "NHWC", 4, 1, 9, 8, 12);
    struct assay_layout l;

    (void)state;
    fill_ref(&t);
    through_buffer(&t, 12, 16, 12);
    l = found(&t);
    assert_string_equal(l.id, "L2");
    assert_string_equal(l.also[0], "L3");
    assert_null(l.also[1]);
    through_buffer(&t, 96, 128, 96);
    l = found(&t);
    assert_string_equal(l.id, "L2");
    assert_string_equal(l.also[0], "L4");
    assert_null(l.also[1]);
    t = shape(ASSAY_S8, "NHWC", 4, 1, 9, 5, 3);
    fill_ref(&t);
    through_buffer(&t, 15, 16, 15);
    l = found(&t);
    assert_string_equal(l.id, "L2");
    assert_null(l.also[0]);
}

/* Field case: one side aligns to 32 bytes, the other to 64. */
static void alignment_against_alignment(void **state)
{
    struct assay_tensor t = shape(ASSAY_U8, "NHWC", 4, 1, 20, 30, 3);
    struct assay_layout l;

    (void)state;
    fill_ref(&t);
    through_buffer(&t, 90, 96, 128);
    l = found(&t);
    assert_int_equal(l.kind, ASSAY_LAYOUT_STRIDED);
    assert_string_equal(l.id, "L4");
    assert_string_equal(text, "rows 96 bytes apart, read as 128");
}

/* Elements that a gap stands for are not known, and are not counted. */
static void strides_count_what_they_know(void **state)
{
    struct assay_tensor t = shape(ASSAY_S8, "HW", 2, 10, 60);
    struct assay_layout l;

    (void)state;
    fill_ref(&t);
    through_buffer(&t, 60, 64, 60);
    l = found(&t);
    assert_string_equal(text, "rows 64 bytes apart, read as 60");
    assert_int_equal(l.all, 600);
    assert_int_equal(l.compared, 600 - 4 * 9);
}

static void packed(void **state)
{
    (void)state;
    for (int c = 8; c <= 33; c += 25) {
        struct assay_tensor t = shape(ASSAY_S8, "NHWC", 4, 2, 5, 3, c);
        size_t n = count(&t), cs = (size_t)c;

        for (size_t k = 4; k <= 16; k *= 2) {
            size_t blocks = (cs + k - 1) / k, places = 15;
            struct assay_layout l;

            if (blocks == 1)
                continue;
            fill_ref(&t);
            memset(buffer, 0, sizeof(buffer));
            for (size_t i = 0; i < n; i++) {
                size_t ch = i % cs, at = i / cs % places, im = i / cs / places;

                buffer[((im * blocks + ch / k) * places + at) * k + ch % k] =
                    ref[i];
            }
            if (cs == k)
                continue;
            memcpy(got, buffer, n);
            l = found(&t);
            assert_int_equal(l.kind, ASSAY_LAYOUT_PACKED);
            assert_string_equal(l.id, "L3");
            assert_int_equal(l.n[0], k);
            assert_int_equal(l.n[1], 0);
            /* Not packed, and unpacked nevertheless. */
            memset(buffer, 0, sizeof(buffer));
            memcpy(buffer, ref, n);
            for (size_t i = 0; i < n; i++) {
                size_t ch = i % cs, at = i / cs % places, im = i / cs / places;

                got[i] =
                    buffer[((im * blocks + ch / k) * places + at) * k + ch % k];
            }
            l = found(&t);
            assert_int_equal(l.kind, ASSAY_LAYOUT_PACKED);
            assert_int_equal(l.n[0], k);
            assert_int_equal(l.n[1], 1);
        }
    }
}

static void shifted(void **state)
{
    struct assay_tensor t = shape(ASSAY_S16, "NHWC", 4, 2, 5, 7, 3);
    static const int by[] = {1, -1, 3, -3, 21, -21, 105, -105};

    (void)state;
    for (unsigned k = 0; k < 8; k++) {
        struct assay_layout l;

        fill_ref(&t);
        fill(got, sizeof(got));
        for (int i = 0; i < 210; i++)
            if (i - by[k] >= 0 && i - by[k] < 210)
                move(&t, (size_t)i, (size_t)(i - by[k]));
        l = found(&t);
        assert_int_equal(l.kind, ASSAY_LAYOUT_SHIFTED);
        assert_int_equal(l.n[0], by[k]);
        assert_int_equal(l.compared, 210 - abs(by[k]));
    }
    assert_string_equal(text, "moved by 105 elements (one of the images) "
                              "towards the start");
}

/* The bytes were wrong before they were put into stored order. */
static void in_the_order_of_the_source(void **state)
{
    struct assay_tensor t = shape(ASSAY_S8, "NHWC", 4, 1, 9, 13, 5);
    struct assay_tensor source = shape(ASSAY_S8, "NCHW", 4, 1, 5, 9, 13);
    static const uint8_t stored[] = {0, 2, 3, 1};
    struct assay_layout l;

    (void)state;
    memcpy(t.perm, stored, 4);
    /* Rows of 13 bytes of an NCHW buffer, 16 apart. */
    fill_ref(&source);
    through_buffer(&source, 13, 16, 13);
    permute(&source, stored, buffer, ref);
    memcpy(ref, buffer, count(&t));
    permute(&source, stored, buffer, got);
    memcpy(got, buffer, count(&t));
    l = found(&t);
    assert_int_equal(l.kind, ASSAY_LAYOUT_STRIDED);
    assert_true(l.source_order);
    assert_string_equal(text, "rows 16 bytes apart, read as 13, in the "
                              "source's order of axes");
    /* NHWC bytes under the name of NCHW, then put into NHWC. */
    fill_ref(&t);
    permute(&source, stored, got, ref);
    l = found(&t);
    assert_int_equal(l.kind, ASSAY_LAYOUT_PERMUTED);
    assert_string_equal(text, "NCHW -> NHWC");
}

/* ---- bytes --------------------------------------------------------------- */

static void signs(void **state)
{
    static const enum assay_dtype types[] = {ASSAY_S8, ASSAY_U8, ASSAY_S16,
                                             ASSAY_U16, ASSAY_S32};
    static const float scale[] = {0.1f};
    static const int32_t zero[] = {3}, half8[] = {-128}, half16[] = {32768},
                         half32[] = {INT32_MIN};

    (void)state;
    for (unsigned k = 0; k < 5; k++) {
        struct assay_tensor t = shape(types[k], "C", 1, 33);
        size_t w = width(&t);

        fill_ref(&t);
        memcpy(got, ref, 33 * w);
        for (size_t i = 0; i < 33; i++)
            got[i * w + w - 1] ^= 0x80;
        assert_int_equal(found(&t).kind, ASSAY_LAYOUT_SIGN);
        /* All on one side: a missing zero point of half the range would
         * look the same, one of another number would not. */
        for (size_t i = 0; i < 33; i++) {
            ref[i * w + w - 1] |= 0x80;
            memcpy(got + i * w, ref + i * w, w);
            got[i * w + w - 1] ^= 0x80;
        }
        none(&t);
        t.quant = (struct assay_quant){1, -1, scale, zero};
        assert_int_equal(found(&t).kind, ASSAY_LAYOUT_SIGN);
        t.quant.zero_point = w == 1 ? half8 : w == 2 ? half16 : half32;
        none(&t);
    }
}

static void byte_order(void **state)
{
    static const enum assay_dtype types[] = {ASSAY_S16, ASSAY_S32, ASSAY_F32,
                                             ASSAY_S64};

    (void)state;
    for (unsigned k = 0; k < 4; k++) {
        struct assay_tensor t = shape(types[k], "", 3, 2, 3, 5);
        size_t w = width(&t);

        fill_ref(&t);
        for (size_t i = 0; i < 30 * w; i++)
            got[i] = ref[i / w * w + w - 1 - i % w];
        assert_int_equal(found(&t).kind, ASSAY_LAYOUT_BYTE_ORDER);
    }
}

/* Of axes without labels the first one may be images; or colours. */
static void places_without_labels(void **state)
{
    struct assay_tensor batch = shape(ASSAY_S8, "", 3, 2, 9, 7);
    struct assay_tensor planes = shape(ASSAY_U8, "", 3, 3, 9, 7);
    struct assay_tensor labelled = shape(ASSAY_S8, "HWC", 3, 9, 7, 4);
    struct assay_layout l;

    (void)state;
    fill_ref(&batch);
    for (size_t i = 0; i < 126; i++)
        move(&batch, i, (i + 63) % 126);
    l = found(&batch);
    assert_int_equal(l.kind, ASSAY_LAYOUT_REVERSED);
    assert_string_equal(l.id, "L5");
    assert_string_equal(l.also[0], "L1");
    assert_null(l.also[1]);

    fill_ref(&planes);
    for (size_t i = 0; i < 189; i++)
        move(&planes, i, (2 - i / 63) * 63 + i % 63);
    l = found(&planes);
    assert_string_equal(l.id, "L5");
    assert_string_equal(l.also[0], "Y6");
    assert_string_equal(l.also[1], "L1");
    assert_null(l.also[2]);

    fill_ref(&labelled);
    for (size_t i = 0; i < 252; i++)
        move(&labelled, i, i / 4 * 4 + 3 - i % 4);
    l = found(&labelled);
    assert_string_equal(l.id, "Y6");
    assert_string_equal(l.also[0], "W3");
    assert_null(l.also[1]);
}

static void no_room_for_text(void **state)
{
    struct assay_layout l = {.kind = ASSAY_LAYOUT_SIGN, .id = "U1"};
    struct assay_tensor t = shape(ASSAY_S8, "C", 1, 9);
    char small[5] = "xxxx";

    (void)state;
    assert_ptr_equal(assay_layout_text(&l, &t, small, 5), small);
    assert_string_equal(small, "sign");
    assay_layout_text(&l, &t, small, 0);
    assert_string_equal(small, "sign");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nhwc_and_nchw),
        cmocka_unit_test(permuted_with_axes_of_one),
        cmocka_unit_test(any_permutation),
        cmocka_unit_test(backwards),
        cmocka_unit_test(swapped_places),
        cmocka_unit_test(strides),
        cmocka_unit_test(what_else_it_is_called),
        cmocka_unit_test(alignment_against_alignment),
        cmocka_unit_test(strides_count_what_they_know),
        cmocka_unit_test(packed),
        cmocka_unit_test(shifted),
        cmocka_unit_test(in_the_order_of_the_source),
        cmocka_unit_test(signs),
        cmocka_unit_test(byte_order),
        cmocka_unit_test(places_without_labels),
        cmocka_unit_test(no_room_for_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
