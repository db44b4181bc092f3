/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy documents: what is read, and what is refused with which sentence.
 *
 * links: host-tools/model/npy.c lib/core/buf.c lib/core/err.c lib/core/slice.c
 * links: lib/core/hash.c
 * libs: -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host-tools/model/npy.h"

static struct assay_err err;
static uint8_t doc[4096];

/* A document of version 1.0 with this header text and data. */
static size_t document(const char *header, const void *data, size_t n)
{
    size_t len = strlen(header);

    memcpy(doc, "\x93NUMPY\x01\x00", 8);
    doc[8] = (uint8_t)(len & 255);
    doc[9] = (uint8_t)(len >> 8);
    memcpy(doc + 10, header, len);
    if (n)
        memcpy(doc + 10 + len, data, n);
    return 10 + len + n;
}

static int parse(struct assay_npy *out, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1); /* so that over-reads are seen */
    int rc;

    assert_non_null(copy);
    memcpy(copy, doc, n);
    memset(out, 0, sizeof(*out));
    memset(&err, 0, sizeof(err));
    rc = assay_npy_parse(out, copy, n, "a.npy", &err);
    free(copy);
    return rc;
}

static void refused(size_t n, int code, const char *sentence)
{
    struct assay_npy out;
    int rc = parse(&out, n);

    assert_string_equal(err.text, sentence);
    assert_int_equal(rc, code);
    assert_null(out.array.data);
    assert_null(out.text);
}

static void refused_header(const char *header, size_t data, int code,
                           const char *sentence)
{
    static const uint8_t zeros[64];

    refused(document(header, zeros, data), code, sentence);
}

static void test_bad_headers(void **state)
{
    (void)state;
    refused_header("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
                   8, ASSAY_EFORMAT,
                   "a.npy: 3 elements of '<f4' need 12 bytes, found 8");
    refused_header("{'descr': '<f4', 'fortran_order': False}", 4, ASSAY_EFORMAT,
                   "a.npy: npy header lacks 'shape'");
    refused_header("{'fortran_order': False, 'shape': (), }", 4, ASSAY_EFORMAT,
                   "a.npy: npy header lacks 'descr'");
    refused_header("{'descr': '<f4', 'shape': (), }", 4, ASSAY_EFORMAT,
                   "a.npy: npy header lacks 'fortran_order'");
    refused_header("{'descr': '>f4', 'fortran_order': False, 'shape': (), }", 4,
                   ASSAY_EUNSUPPORTED,
                   "a.npy: big-endian type '>f4', expected little-endian");
    refused_header("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (), }", 4,
                   ASSAY_EFORMAT,
                   "a.npy: npy header: expected True or False, found 'Maybe, "
                   "'shape': (), }'");
    refused_header("{'colour': 'red'}", 0, ASSAY_EFORMAT,
                   "a.npy: npy header: unknown key 'colour'");
    refused_header("[1, 2]", 0, ASSAY_EFORMAT,
                   "a.npy: npy header: expected '{', found '[1, 2]'");
    refused_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), "
                   "}",
                   4, ASSAY_EFORMAT,
                   "a.npy: npy header: expected a dimension, found '-1,), }'");
    refused_header("{'descr': '<f4', 'fortran_order': False, 'shape': "
                   "(1,1,1,1,1,1,1,1,1,1,1), }",
                   4, ASSAY_ERANGE, "a.npy: more than 10 dimensions");
    refused_header("{'descr': '<f4', 'fortran_order': False, 'shape': "
                   "(4294967296, 4294967296, 4294967296), }",
                   4, ASSAY_ERANGE,
                   "a.npy: the shape has more elements than memory can hold");
    refused_header("{'descr': '<f4', 'fortran_order': False, 'shape': "
                   "(99999999999999999999,), }",
                   4, ASSAY_EFORMAT,
                   "a.npy: npy header: expected a dimension below 2^63, found "
                   "'99,), }'");
    refused_header("{'descr': '<U4', 'fortran_order': False, 'shape': (), }",
                   12, ASSAY_EFORMAT,
                   "a.npy: '<U4' needs 16 bytes of data, found 12");
    refused_header("{'descr': '<f4", 0, ASSAY_EFORMAT,
                   "a.npy: npy header: expected a closing quote, found ''");
    refused_header("{'descr': [('a', '<f4'), ", 0, ASSAY_EFORMAT,
                   "a.npy: npy header: expected a closing bracket, found ''");
}

static void test_bad_frames(void **state)
{
    size_t n = document("{}", NULL, 0);

    (void)state;
    refused(5, ASSAY_EFORMAT,
            "a.npy: not an npy document: no magic bytes at offset 0");
    doc[8] = 200;
    refused(n, ASSAY_EFORMAT,
            "a.npy: npy header of 200 bytes, but only 2 are left");
    doc[6] = 9;
    refused(n, ASSAY_EVERSION, "a.npy: npy version 9.0, expected 1.0 to 3.0");
    doc[6] = 2;
    refused(11, ASSAY_EFORMAT, "a.npy: npy header cut off at byte 11");
}

static void test_fortran(void **state)
{
    /* [[1, 2, 3], [4, 5, 6]] in columns */
    static const int8_t columns[6] = {1, 4, 2, 5, 3, 6};
    static const int8_t rows[6] = {1, 2, 3, 4, 5, 6};
    struct assay_npy out;

    (void)state;
    assert_int_equal(
        parse(&out, document("{'descr': '|i1', 'fortran_order': True, "
                             "'shape': (2, 3), }",
                             columns, 6)),
        0);
    assert_true(out.is_number);
    assert_int_equal(out.array.dtype, ASSAY_S8);
    assert_int_equal(out.array.rank, 2);
    assert_memory_equal(out.array.data, rows, 6);
    assay_free(out.array.data);
}

static void test_conversions(void **state)
{
    static const double d[2] = {0.1, -2.5};
    static const float want[2] = {0.1f, -2.5f};
    static const uint16_t half[3] = {0x3c00, 0xc100, 0x0001};
    static const float wide[3] = {1.0f, -2.5f, 0x1p-24f};
    static const uint32_t u = 0xffffffffu;
    struct assay_npy out;

    (void)state;
    assert_int_equal(
        parse(&out, document("{'descr': '<f8', 'fortran_order': False, "
                             "'shape': (2,), }",
                             d, 16)),
        0);
    assert_int_equal(out.array.dtype, ASSAY_F32);
    assert_memory_equal(out.array.data, want, 8);
    assay_free(out.array.data);
    assert_int_equal(
        parse(&out, document("{'descr': '<f2', 'fortran_order': False, "
                             "'shape': (3,), }",
                             half, 6)),
        0);
    assert_memory_equal(out.array.data, wide, 12);
    assay_free(out.array.data);
    assert_int_equal(
        parse(&out, document("{'descr': '<u4', 'fortran_order': False, "
                             "'shape': (), }",
                             &u, 4)),
        0);
    assert_int_equal(out.array.dtype, ASSAY_S64);
    assert_true(*(int64_t *)out.array.data == 0xffffffffLL);
    assay_free(out.array.data);
}

static void test_not_numbers(void **state)
{
    struct assay_npy out;

    (void)state;
    assert_int_equal(
        parse(&out, document("{'descr': [('a', '<f4'), ('b', '<i2')], "
                             "'fortran_order': False, 'shape': (1,), }",
                             "123456", 6)),
        0);
    assert_false(out.is_number);
    assert_null(out.text);
    assert_int_equal(
        parse(&out, document("{'descr': '|S3', 'fortran_order': False, "
                             "'shape': (), }",
                             "abc", 3)),
        0);
    assert_string_equal(out.text, "abc");
    assay_free(out.text);
}

static void test_written_header_is_read(void **state)
{
    static const int64_t dims[3] = {1, 2, 3};
    static const int16_t data[6] = {1, -2, 3, -4, 5, -6};
    struct assay_npy out;
    size_t n = assay_npy_header(doc, sizeof(doc), ASSAY_S16, 3, dims);

    (void)state;
    assert_int_equal(n % 64, 0);
    memcpy(doc + n, data, sizeof(data));
    assert_int_equal(parse(&out, n + sizeof(data)), 0);
    assert_int_equal(out.array.rank, 3);
    assert_memory_equal(out.array.dims, dims, sizeof(dims));
    assert_memory_equal(out.array.data, data, sizeof(data));
    assay_free(out.array.data);
}

static void *none(void *p, size_t n)
{
    if (n == 0)
        free(p);
    return NULL;
}

static void test_no_memory(void **state)
{
    (void)state;
    assay_alloc_hook = none;
    refused(document("{'descr': '|u1', 'fortran_order': False, 'shape': (4,), "
                     "}",
                     "abcd", 4),
            ASSAY_EMEMORY, "a.npy: no memory for 4 bytes");
    assay_alloc_hook = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_headers),
        cmocka_unit_test(test_bad_frames),
        cmocka_unit_test(test_fortran),
        cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_not_numbers),
        cmocka_unit_test(test_written_header_is_read),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
