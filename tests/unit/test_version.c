/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who works with whom: build ids, ranges of protocols, who is to be updated.
 *
 * links: proto/version.c lib/core/err.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proto/version.h"

static void test_ids(void **state)
{
    static const struct {
        const char *text;
        uint32_t major, minor, patch;
    } good[] = {
        {"0.0.0", 0, 0, 0},
        {"1.0.0", 1, 0, 0},
        {"1.2.3", 1, 2, 3},
        {"1.2.3-dirty", 1, 2, 3},
        {"10.20.30-rc1", 10, 20, 30},
        {"1.2.3-4-gabc1234", 1, 2, 3},
        {"1.2.3+deb12u1", 1, 2, 3},
        {"1.2.3-a_b~c.d", 1, 2, 3},
        {"65535.65535.65535", 65535, 65535, 65535},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct assay_build_version v = {9, 9, 9};

        assert_int_equal(assay_build_parse(&v, good[i].text), 0);
        assert_int_equal(v.major, good[i].major);
        assert_int_equal(v.minor, good[i].minor);
        assert_int_equal(v.patch, good[i].patch);
    }
}

static void test_garbage(void **state)
{
    static const char *const bad[] = {
        "",
        "1",
        "1.2",
        "1.2.",
        "1.2.3.4",
        "v1.2.3",
        " 1.2.3",
        "1.2.3 ",
        "1.2.3-",
        "1.2.3+",
        "-1.2.3",
        "1.-2.3",
        "+1.2.3",
        "01.2.3",
        "1.02.3",
        "1..3",
        "1.2.3dirty",
        "1.2.3-a b",
        "1.2.3-\x1b",
        "1.2.3-\n",
        "0x1.2.3",
        "1.2.65536",
        "65536.0.0",
        "4294967297.0.0",
        "peer",
        "1,2,3",
        "1.2.3-\xc3\xa4",
        "99999999999999999999999999.0.0",
    };
    struct assay_build_version v = {9, 9, 9};
    char longest[200] = "1.2.3-";

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (assay_build_parse(&v, bad[i]) != ASSAY_EFORMAT)
            fail_msg("'%s' is taken for a version", bad[i]);
    }
    assert_int_equal(v.major, 9); /* outputs are untouched */
    memset(longest + 6, 'a', 122);
    assert_int_equal(assay_build_parse(&v, longest), 0);
    longest[128] = 'a';
    assert_int_equal(assay_build_parse(&v, longest), ASSAY_EFORMAT);
}

static void test_order(void **state)
{
    static const char *const ascending[] = {
        "0.9.9", "1.0.0", "1.0.1", "1.0.10", "1.1.0", "1.10.0", "2.0.0",
    };
    const size_t n = sizeof(ascending) / sizeof(ascending[0]);
    struct assay_build_version a, b;

    (void)state;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            int c;

            assert_int_equal(assay_build_parse(&a, ascending[i]), 0);
            assert_int_equal(assay_build_parse(&b, ascending[k]), 0);
            c = assay_build_compare(&a, &b);
            assert_int_equal((c > 0) - (c < 0), (i > k) - (i < k));
        }
    }
}

/* Every pair of minors of a release line, and of the lines beside it. */
static void test_minors(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        for (uint32_t k = 0; k < 8; k++) {
            struct assay_build_version a = {1, i, 9}, b = {1, k, 0},
                                       c = {2, k, 0};
            bool near = i + 2 >= k && k + 2 >= i;

            assert_int_equal(assay_build_near(&a, &b), near);
            assert_false(assay_build_near(&a, &c));
            assert_false(assay_build_near(&c, &a));
        }
    }
}

#define HOST "update assay on the host: its package, or build it anew"
#define BOARD "update assayd on the board: assay deploy ssh:USER@HOST"

static void test_who(void **state)
{
    static const struct {
        struct assay_build host, agent;
        const char *end; /* of the sentence; NULL: they work together */
    } rows[] = {
        {{"1.0.0", 1, 1}, {"1.0.0", 1, 1}, NULL},
        {{"1.2.0", 1, 1}, {"1.0.7", 1, 1}, NULL},
        {{"1.0.7", 1, 1}, {"1.2.0", 1, 1}, NULL},
        {{"1.2.3-dirty", 1, 1}, {"1.2.3", 1, 1}, NULL},
        {{"1.4.0", 1, 3}, {"1.2.0", 3, 9}, NULL},
        {{"1.3.0", 1, 1}, {"1.0.9", 1, 1}, BOARD},
        {{"1.0.9", 1, 1}, {"1.3.0", 1, 1}, HOST},
        {{"1.3.0-dirty", 1, 1}, {"1.0.0-dirty", 1, 1}, BOARD},
        {{"2.0.0", 1, 1}, {"1.9.9", 1, 1}, BOARD},
        {{"1.9.9", 1, 1}, {"2.0.0", 1, 1}, HOST},
        {{"0.9.0", 1, 1}, {"1.0.0", 1, 1}, HOST},
        /* The protocol is the firmer of the two reasons. */
        {{"1.0.0", 2, 3}, {"1.0.0", 1, 1}, BOARD},
        {{"1.0.0", 1, 1}, {"1.0.0", 2, 3}, HOST},
        {{"1.0.0", 2, 2}, {"1.5.0", 1, 1}, BOARD},
        {{"1.0.0", 3, 1}, {"1.0.0", 1, 1}, HOST},
        {{"1.0.0", 1, 1}, {"1.0.0", 3, 1}, BOARD},
        {{"1.0.0", 0, 4294967295u}, {"1.0.0", 1, 1}, NULL},
        /* Garbage: nothing is known of it. */
        {{"", 1, 1}, {"1.0.0", 1, 1}, HOST},
        {{"peer", 1, 1}, {"1.0.0", 1, 1}, HOST},
        {{"1.0.0", 1, 1}, {"", 1, 1}, BOARD},
        {{"1.0.0", 1, 1}, {"1.0", 1, 1}, BOARD},
        {{"x", 1, 1}, {"y", 1, 1}, HOST},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct assay_err err = {0};
        int rc = assay_builds_agree(&rows[i].host, &rows[i].agent, &err);
        size_t n = strlen(err.text), m;

        if (rows[i].end == NULL) {
            assert_int_equal(rc, 0);
            continue;
        }
        m = strlen(rows[i].end);
        assert_int_equal(rc, ASSAY_EVERSION);
        if (n < m || strcmp(err.text + n - m, rows[i].end) != 0)
            fail_msg("row %zu: '%s'", i, err.text);
    }
}

static void test_words(void **state)
{
    struct assay_build h = {"1.0.0", 1, 1}, a = {"1.9.0", 1, 1};
    struct assay_err err = {0};
    char long_id[4096];

    (void)state;
    assert_int_equal(assay_builds_agree(&a, &h, &err), ASSAY_EVERSION);
    assert_string_equal(
        err.text, "assay 1.9.0 on the host and assayd 1.0.0 on the board do "
                  "not work together (expected: one major version, minor "
                  "versions at most 2 apart): update assayd on the board: "
                  "assay deploy ssh:USER@HOST");
    a.id = "\x1b[2J\n\xff";
    assert_int_equal(assay_builds_agree(&h, &a, &err), ASSAY_EVERSION);
    assert_non_null(strstr(err.text, "build id '?[2J?\?' of assayd"));
    memset(long_id, 'a', sizeof(long_id) - 1);
    long_id[sizeof(long_id) - 1] = '\0';
    a.id = long_id;
    assert_int_equal(assay_builds_agree(&h, &a, &err), ASSAY_EVERSION);
    assert_true(strlen(err.text) < 500); /* nothing was cut */
    a = (struct assay_build){"1.1.0", 7, 9};
    assert_int_equal(assay_builds_agree(&h, &a, &err), ASSAY_EVERSION);
    assert_string_equal(err.text,
                        "assay 1.0.0 on the host speaks protocol 1 to 1, "
                        "assayd 1.1.0 on the board 7 to 9: " HOST);
}

static void test_here(void **state)
{
    struct assay_build here = assay_build_here();
    struct assay_build_version v;

    (void)state;
    /* What this build says of itself, it would take. */
    assert_int_equal(assay_build_parse(&v, here.id), 0);
    assert_int_equal(assay_builds_agree(&here, &here, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),   cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_order), cmocka_unit_test(test_minors),
        cmocka_unit_test(test_who),   cmocka_unit_test(test_words),
        cmocka_unit_test(test_here),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
