/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures from files: every kind that is converted, hostile ones, raw bytes,
 * turning.
 *
 * links: host-tools/image/picture.c host-tools/image/png.c
 * links: host-tools/image/jpeg.c host-tools/image/exif.c
 * links: host-tools/image/colour.c host-tools/model/file.c
 * links: lib/core/buf.c lib/core/err.c lib/core/hash.c
 * libs: -lpng -ljpeg -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "host-tools/image/codec.h"
#include "lib/core/buf.h"
#include "tests/unit/picture_bytes.h"

static struct assay_err err;
static char notes[2000];

static void take_note(void *self, const char *text)
{
    (void)self;
    strncat(notes, text, sizeof(notes) - strlen(notes) - 1);
    strncat(notes, "\n", sizeof(notes) - strlen(notes) - 1);
}

static const struct assay_model_note note = {.note = take_note};

/* From a copy of exactly n bytes, so that over-reads are seen. */
static int decode(struct assay_picture *p, const uint8_t *data, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);
    int rc;

    if (n)
        memcpy(copy, data, n);
    notes[0] = '\0';
    memset(&err, 0, sizeof(err));
    *p = (struct assay_picture){0};
    rc = assay_picture_decode(p, copy, n, "a.png", &note, &err);
    free(copy);
    return rc;
}

static void fill(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(i * i * 7 + i * 3);
}

static void good(struct assay_picture *p, uint8_t *data, size_t n,
                 uint32_t width, uint32_t height, const char *told)
{
    assert_int_equal(decode(p, data, n), 0);
    free(data);
    assert_int_equal(p->width, width);
    assert_int_equal(p->height, height);
    assert_int_equal(p->bytes, 3 * (size_t)width * height);
    if (told[0] == '\0')
        assert_string_equal(notes, "");
    else
        assert_non_null(strstr(notes, told));
}

static void test_png_kinds(void **state)
{
    uint8_t s[7 * 5 * 8];
    struct assay_picture p;
    size_t n;
    uint8_t *d;

    (void)state;
    fill(s, sizeof(s));
    for (int interlace = 0; interlace < 2; interlace++) {
        d = png_bytes(&n, s, 21, 7, 5, PNG_COLOR_TYPE_RGB, 8, interlace);
        good(&p, d, n, 7, 5, "");
        assert_memory_equal(p.data, s, p.bytes);
        assert_string_equal(p.format, "png");
        assert_int_equal(p.orientation, 1);
        assay_picture_close(&p);
        d = png_bytes(&n, s, 28, 7, 5, PNG_COLOR_TYPE_RGB_ALPHA, 8, interlace);
        good(&p, d, n, 7, 5, "transparency, which is dropped");
        for (size_t i = 0; i < 35; i++)
            assert_memory_equal(p.data + 3 * i, s + 4 * i, 3);
        assay_picture_close(&p);
        d = png_bytes(&n, s, 42, 7, 5, PNG_COLOR_TYPE_RGB, 16, interlace);
        good(&p, d, n, 7, 5, "the upper 8 are taken");
        for (size_t i = 0; i < 105; i++)
            assert_int_equal(p.data[i], s[2 * i]);
        assay_picture_close(&p);
        d = png_bytes(&n, s, 7, 7, 5, PNG_COLOR_TYPE_GRAY, 8, interlace);
        good(&p, d, n, 7, 5, "is gray");
        for (size_t i = 0; i < 105; i++)
            assert_int_equal(p.data[i], s[i / 3]);
        assay_picture_close(&p);
        d = png_bytes(&n, s, 1, 7, 5, PNG_COLOR_TYPE_GRAY, 1, interlace);
        good(&p, d, n, 7, 5, "is gray");
        assert_int_equal(p.data[0], (s[0] & 0x80) != 0 ? 255 : 0);
        assay_picture_close(&p);
        d = png_bytes(&n, (const uint8_t *)"\x1b\x1b\x1b", 1, 4, 3,
                      PNG_COLOR_TYPE_PALETTE, 2, interlace);
        good(&p, d, n, 4, 3, "");
        assert_memory_equal(p.data, "\0\0\0\xff\0\0\0\xff\0\1\2\3", 12);
        assay_picture_close(&p);
    }
}

static void test_jpeg_kinds(void **state)
{
    uint8_t s[16 * 8 * 4], *d;
    struct assay_picture p;
    size_t n;

    (void)state;
    for (int progressive = 0; progressive < 2; progressive++) {
        for (size_t i = 0; i < sizeof(s); i++)
            s[i] = (uint8_t)(i % 3 == 0 ? 200 : i % 3 == 1 ? 100 : 50);
        d = jpeg_bytes(&n, s, 16, 8, 3, JCS_RGB, progressive, NULL, 0);
        good(&p, d, n, 16, 8, "");
        for (size_t i = 0; i < p.bytes; i++)
            assert_in_range(p.data[i] + 4 - s[i], 0, 8);
        assert_string_equal(p.format, "jpeg");
        assay_picture_close(&p);
        memset(s, 90, sizeof(s));
        d = jpeg_bytes(&n, s, 16, 8, 1, JCS_GRAYSCALE, progressive, NULL, 0);
        good(&p, d, n, 16, 8, "is gray");
        assert_in_range(p.data[5], 88, 92);
        assay_picture_close(&p);
        /* Adobe's marker: inverted. 200 * 100 / 255 = 78 */
        for (size_t i = 0; i < sizeof(s); i++)
            s[i] = i % 4 == 3 ? 100 : 200;
        d = jpeg_bytes(&n, s, 16, 8, 4, JCS_CMYK, progressive, NULL, 0);
        good(&p, d, n, 16, 8, "is CMYK");
        assert_in_range(p.data[0], 76, 80);
        assay_picture_close(&p);
    }
}

static void test_exif(void **state)
{
    uint8_t exif[] = "Exif\0\0II*\0\10\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0";
    uint8_t s[16 * 8 * 3] = {0};
    struct assay_picture p;
    size_t n;
    uint8_t *d;

    (void)state;
    for (unsigned v = 0; v < 12; v++) {
        exif[24] = (uint8_t)v;
        d = jpeg_bytes(&n, s, 16, 8, 3, JCS_RGB, false, exif, sizeof(exif) - 1);
        good(&p, d, n, 16, 8, v > 1 && v < 9 ? "EXIF says orientation" : "");
        assert_int_equal(p.orientation, v > 0 && v < 9 ? v : 1);
        assay_picture_close(&p);
    }
    /* Cut anywhere, and every byte another one: no more than a remark. */
    for (size_t cut = 0; cut < sizeof(exif) - 1; cut++) {
        d = jpeg_bytes(&n, s, 16, 8, 3, JCS_RGB, false, exif, cut);
        assert_int_equal(decode(&p, d, n), 0);
        free(d);
        assay_picture_close(&p);
        exif[cut] ^= 0xff;
        d = jpeg_bytes(&n, s, 16, 8, 3, JCS_RGB, false, exif, sizeof(exif) - 1);
        assert_int_equal(decode(&p, d, n), 0);
        free(d);
        assay_picture_close(&p);
        exif[cut] ^= 0xff;
    }
}

/* A sentence, whatever is cut or turned over; no leak, no over-read. */
static void test_hostile(void **state)
{
    uint8_t s[40 * 30 * 3];
    struct assay_picture p;

    (void)state;
    fill(s, sizeof(s));
    for (int kind = 0; kind < 4; kind++) {
        size_t n;
        uint8_t *d =
            kind < 2
                ? png_bytes(&n, s, 120, 40, 30, PNG_COLOR_TYPE_RGB, 8, kind)
                : jpeg_bytes(&n, s, 40, 30, 3, JCS_RGB, kind == 3, NULL, 0);

        for (size_t cut = 0; cut < n;
             cut += cut < 200 || cut + 50 > n ? 1 : 7) {
            assert_true(decode(&p, d, cut) < 0);
            assert_true(strncmp(err.text, "a.png: ", 7) == 0);
            assert_null(p.data);
        }
        for (size_t at = 0; at < n; at += at < 300 ? 1 : 5) {
            d[at] ^= 0x55;
            if (decode(&p, d, n) == 0)
                assert_int_equal(p.bytes, 3 * (size_t)p.width * p.height);
            assay_picture_close(&p);
            d[at] ^= 0x55;
        }
        free(d);
    }
}

static void refused(const uint8_t *d, size_t n, const char *sentence)
{
    struct assay_picture p;

    assert_true(decode(&p, d, n) < 0);
    if (strstr(err.text, sentence) == NULL)
        fail_msg("'%s' lacks '%s'", err.text, sentence);
}

/* The header's CRC is made right again, so that the size is what is judged. */
static void put_size(uint8_t *png, uint32_t width, uint32_t height)
{
    uint32_t crc;
    const uint32_t v[2] = {width, height};

    for (unsigned i = 0; i < 8; i++)
        png[16 + i] = (uint8_t)(v[i / 4] >> (24 - 8 * (i % 4)));
    crc = 0xffffffffu;
    for (unsigned i = 12; i < 29; i++) {
        crc ^= png[i];
        for (unsigned k = 0; k < 8; k++)
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
    }
    crc = ~crc;
    for (unsigned i = 0; i < 4; i++)
        png[29 + i] = (uint8_t)(crc >> (24 - 8 * i));
}

static void test_sizes(void **state)
{
    uint8_t s[12] = {0};
    size_t n;
    uint8_t *d = png_bytes(&n, s, 6, 2, 2, PNG_COLOR_TYPE_RGB, 8, 0);

    (void)state;
    put_size(d, 16384, 16384);
    refused(d, n, "16384x16384 pixels: at most 16384 a side and 67108864");
    put_size(d, 16385, 1);
    refused(d, n, "bad PNG");
    put_size(d, 0, 1);
    refused(d, n, "bad PNG");
    put_size(d, 0x7fffffff, 0x7fffffff);
    refused(d, n, "bad PNG");
    put_size(d, 2, 3); /* more rows than there are */
    refused(d, n, "bad PNG");
    d[n - 30] ^= 1;
    put_size(d, 2, 2);
    refused(d, n, "bad PNG"); /* CRC of the samples */
    free(d);
    d = jpeg_bytes(&n, s, 2, 2, 3, JCS_RGB, false, NULL, 0);
    for (size_t i = 0; i + 9 < n; i++)
        if (d[i] == 0xff && d[i + 1] == 0xc0)
            memset(d + i + 5, 0x7f, 4);
    refused(d, n, "32639x32639 pixels");
    free(d);
    refused((const uint8_t *)"", 0, "not a picture");
    refused((const uint8_t *)"GIF89a", 6, "not a picture");
    refused((const uint8_t *)"\xff\xd8\xff", 3, "bad JPEG");
}

static void test_one_pixel(void **state)
{
    static const uint8_t s[3] = {9, 8, 7};
    struct assay_picture p;
    size_t n;
    uint8_t *d;

    (void)state;
    d = png_bytes(&n, s, 3, 1, 1, PNG_COLOR_TYPE_RGB, 8, 1);
    good(&p, d, n, 1, 1, "");
    assert_memory_equal(p.data, s, 3);
    assay_picture_close(&p);
    d = jpeg_bytes(&n, s, 1, 1, 3, JCS_RGB, false, NULL, 0);
    good(&p, d, n, 1, 1, "");
    assay_picture_close(&p);
    assay_picture_close(NULL);
}

static void test_raw(void **state)
{
    static const uint8_t bytes[] = "Y1y2--Y3y4--UVuv--";
    struct assay_raw raw = {ASSAY_RAW_NV21, 4, 2, 6};
    struct assay_picture p = {0};

    (void)state;
    assert_int_equal(assay_picture_decode_raw(&p, bytes, 18, &raw, "x", &err),
                     0);
    assert_int_equal(p.form, ASSAY_PICTURE_NV12);
    assert_memory_equal(p.data, "Y1y2Y3y4VUvu", 12);
    assay_picture_close(&p);
    /* The last row may lack its padding. */
    assert_int_equal(assay_picture_decode_raw(&p, bytes, 16, &raw, "x", &err),
                     0);
    assay_picture_close(&p);
    assert_true(assay_picture_decode_raw(&p, bytes, 17, &raw, "x", &err) < 0);
    assert_non_null(strstr(err.text, "expected 18 bytes, found 17"));
    raw.stride = 3;
    assert_true(assay_picture_decode_raw(&p, bytes, 18, &raw, "x", &err) < 0);
    assert_non_null(strstr(err.text, "found a stride of 3"));
    raw.stride = SIZE_MAX / 2;
    assert_true(assay_picture_decode_raw(&p, bytes, 18, &raw, "x", &err) < 0);
    raw = (struct assay_raw){ASSAY_RAW_NV12, 3, 2, 0};
    assert_true(assay_picture_decode_raw(&p, bytes, 9, &raw, "x", &err) < 0);
    assert_non_null(strstr(err.text, "even sides, found 3x2"));
    raw = (struct assay_raw){ASSAY_RAW_BGR, 2, 1, 0};
    assert_int_equal(assay_picture_decode_raw(&p, (const uint8_t *)"abcdef", 6,
                                              &raw, "x", &err),
                     0);
    assert_memory_equal(p.data, "cbafed", 6);
    assay_picture_close(&p);
    raw = (struct assay_raw){ASSAY_RAW_GRAY, 1, 2, 2};
    assert_int_equal(assay_picture_decode_raw(&p, (const uint8_t *)"a.b", 3,
                                              &raw, "x", &err),
                     0);
    assert_memory_equal(p.data, "aaabbb", 6);
    assay_picture_close(&p);
    raw.width = 0;
    assert_true(assay_picture_decode_raw(&p, bytes, 0, &raw, "x", &err) < 0);
}

/* 3x2, pixels a to f; where each goes is EXIF's own table. */
static void test_orient(void **state)
{
    static const char *const want[9] = {"",       "abcdef", "cbafed",
                                        "fedcba", "defabc", "adbecf",
                                        "daebfc", "fcebda", "cfbead"};
    uint8_t data[18];
    struct assay_picture p = {.width = 3, .height = 2, .bytes = 18}, t;

    (void)state;
    for (unsigned i = 0; i < 18; i++)
        data[i] = (uint8_t)("abcdef"[i / 3] + (i % 3) * 30);
    p.data = data;
    for (unsigned o = 1; o <= 8; o++) {
        assert_int_equal(assay_picture_orient(&t, &p, o, &err), 0);
        assert_int_equal(t.width, o < 5 ? 3 : 2);
        for (unsigned i = 0; i < 18; i++)
            assert_int_equal(t.data[i],
                             (uint8_t)(want[o][i / 3] + (i % 3) * 30));
        assay_picture_close(&t);
    }
}

static void test_written_is_read(void **state)
{
    char path[] = "/tmp/assay-picture-XXXXXX";
    uint8_t s[5 * 4 * 3];
    struct assay_picture p;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    fill(s, sizeof(s));
    assert_int_equal(assay_png_write(path, s, 5, 4, 3, &err), 0);
    assert_int_equal(assay_picture_read(&p, path, NULL, &err), 0);
    assert_memory_equal(p.data, s, sizeof(s));
    assay_picture_close(&p);
    assert_int_equal(assay_png_write(path, s, 5, 4, 1, &err), 0);
    assert_int_equal(assay_picture_read(&p, path, NULL, &err), 0);
    assert_int_equal(p.data[4], s[1]);
    assay_picture_close(&p);
    unlink(path);
    assert_true(assay_picture_read(&p, path, NULL, &err) < 0);
    assert_true(assay_png_write("/nowhere/x.png", s, 5, 4, 3, &err) < 0);
}

static void *none(void *p, size_t n)
{
    if (n == 0)
        free(p);
    return NULL;
}

static void test_no_memory(void **state)
{
    uint8_t s[12] = {0};
    struct assay_picture p;
    size_t n;
    uint8_t *d;

    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        d = kind == 0 ? png_bytes(&n, s, 6, 2, 2, PNG_COLOR_TYPE_RGB, 8, 0)
                      : jpeg_bytes(&n, s, 2, 2, 3, JCS_RGB, false, NULL, 0);
        assay_alloc_hook = none;
        assert_int_equal(decode(&p, d, n), ASSAY_EMEMORY);
        assay_alloc_hook = NULL;
        free(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_png_kinds),
        cmocka_unit_test(test_jpeg_kinds),
        cmocka_unit_test(test_exif),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_one_pixel),
        cmocka_unit_test(test_raw),
        cmocka_unit_test(test_orient),
        cmocka_unit_test(test_written_is_read),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
