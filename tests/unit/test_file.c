/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are mapped: their bytes stay readable when they were dropped, and
 * what is no file is told.
 *
 * links: host-tools/model/file.c
 * links: lib/core/buf.c lib/core/err.c lib/core/hash.c
 * libs: -lxxhash -lmbedcrypto
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "host-tools/model/file.h"
#include "lib/core/buf.h"
#include "lib/core/hash.h"

#define BYTES ((size_t)17 * 1024 * 1024 + 17) /* above what is read whole */

static char folder[] = P_tmpdir "/assay-test-XXXXXX";
static char path[sizeof(folder) + 16];

static int make_file(void **state)
{
    FILE *f;

    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/file", folder);
    f = fopen(path, "wb");
    for (size_t i = 0; f && i < BYTES; i++)
        fputc((int)(i * 7 % 251), f);
    return !f || fclose(f) ? -1 : 0;
}

static int remove_file(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void dropped_bytes_come_back(void **state)
{
    struct assay_file_map m = {0};
    struct assay_err err = {0};
    size_t i;

    (void)state;
    assert_int_equal(assay_file_map(&m, path, BYTES, &err), 0);
    assert_int_equal(m.size, BYTES);
    for (i = 0; i < BYTES; i++) {
        if (m.data[i] != i * 7 % 251)
            fail_msg("byte %zu", i);
        if (i % 100000 == 0)
            assay_file_drop(&m, i);
    }
    assay_file_drop(&m, BYTES);
    /* back, and again */
    for (i = 1000; i < BYTES; i++) {
        if (m.data[i] != i * 7 % 251)
            fail_msg("byte %zu", i);
        if (i % 100000 == 0)
            assay_file_drop(&m, i);
    }
    assay_file_unmap(&m);
    assert_null(m.data);
    assay_file_unmap(&m);
}

static void hash_is_that_of_the_whole(void **state)
{
    uint8_t a[ASSAY_SHA256_LEN], b[ASSAY_SHA256_LEN];
    struct assay_file_map m = {0};
    struct assay_err err = {0};
    uint8_t *data;
    size_t n;

    (void)state;
    assert_int_equal(assay_file_read(&data, &n, path, BYTES, &err), 0);
    assay_sha256(data, n, a);
    assay_free(data);
    assert_int_equal(assay_file_map(&m, path, BYTES, &err), 0);
    assay_sha256_passing(m.data, m.size, assay_file_drop, &m, b);
    assert_memory_equal(a, b, sizeof(a));
    assay_file_unmap(&m);
    assay_sha256("", 0, a);
    assay_sha256_passing("", 0, assay_file_drop, &m, b);
    assert_memory_equal(a, b, sizeof(a));
}

static void what_is_no_file_is_told(void **state)
{
    struct assay_file_map m = {0};
    struct assay_err err = {0};
    char expected[200];

    (void)state;
    assert_int_equal(assay_file_map(&m, folder, BYTES, &err), ASSAY_EIO);
    snprintf(expected, sizeof(expected), "%s: not a file", folder);
    assert_string_equal(err.text, expected);
    assert_int_equal(assay_file_map(&m, path, BYTES - 1, &err), ASSAY_ERANGE);
    snprintf(expected, sizeof(expected),
             "%s: %zu bytes, more than the limit of %zu", path, BYTES,
             BYTES - 1);
    assert_string_equal(err.text, expected);
    assert_int_equal(assay_file_map(&m, "", BYTES, &err), ASSAY_EIO);
    assert_string_equal(err.text, ": No such file or directory");
    assert_null(m.data);
}

/* Whole or not at all; what is no file is written to, not replaced. */
static void a_file_is_written(void **state)
{
    struct assay_err err = {0};
    char name[sizeof(path) + 16], link[sizeof(path) + 16], beside[4300];
    uint8_t *data;
    size_t n;

    (void)state;
    snprintf(name, sizeof(name), "%s.new", path);
    snprintf(link, sizeof(link), "%s.link", path);
    assert_int_equal(assay_file_write(name, "abc", 3, &err), 0);
    assert_int_equal(symlink(name, link), 0);
    assert_int_equal(assay_file_write(link, "defg", 4, &err), 0);
    assert_int_equal(assay_file_read(&data, &n, name, 10, &err), 0);
    assert_string_equal((const char *)data, "defg");
    assay_free(data);
    assert_int_equal(assay_file_write("/dev/full", "x", 1, &err), ASSAY_EIO);
    assert_non_null(strstr(err.text, "/dev/full: cannot be written"));
    snprintf(beside, sizeof(beside), "%s/none/x", folder);
    assert_int_equal(assay_file_write(beside, "x", 1, &err), ASSAY_EIO);
    memset(beside, 'x', sizeof(beside) - 1);
    beside[sizeof(beside) - 1] = '\0';
    assert_int_equal(assay_file_write(beside, "x", 1, &err), ASSAY_EIO);
    unlink(name);
    unlink(link);
}

static void an_empty_file_is_not_mapped(void **state)
{
    struct assay_file_map m = {0};
    struct assay_err err = {0};
    char empty[sizeof(path) + 8];
    int fd;

    (void)state;
    snprintf(empty, sizeof(empty), "%s.empty", path);
    fd = open(empty, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(assay_file_map(&m, empty, BYTES, &err), 0);
    assert_null(m.data);
    assert_int_equal(m.size, 0);
    assay_file_unmap(&m);
    unlink(empty);
}

/* No SIGBUS: it was read, not mapped. */
static void a_small_file_may_be_cut_meanwhile(void **state)
{
    struct assay_file_map m = {0};
    struct assay_err err = {0};
    char small[sizeof(path) + 8];
    FILE *f;

    (void)state;
    snprintf(small, sizeof(small), "%s.small", path);
    f = fopen(small, "wb");
    assert_non_null(f);
    for (int i = 0; i < 100000; i++)
        fputc(i * 7 % 251, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(assay_file_map(&m, small, BYTES, &err), 0);
    assert_int_equal(truncate(small, 10), 0);
    assert_int_equal(m.size, 100000);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < 100000; i++)
            if (m.data[i] != i * 7 % 251)
                fail_msg("byte %d", i);
        assay_file_drop(&m, m.size);
    }
    assay_file_unmap(&m);
    assert_null(m.data);
    unlink(small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dropped_bytes_come_back),
        cmocka_unit_test(hash_is_that_of_the_whole),
        cmocka_unit_test(what_is_no_file_is_told),
        cmocka_unit_test(a_file_is_written),
        cmocka_unit_test(an_empty_file_is_not_mapped),
        cmocka_unit_test(a_small_file_may_be_cut_meanwhile),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
