/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error values: texts, prefixes, classes.
 *
 * links: lib/core/err.c
 */
#include "lib/core/err.h"

#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void fail_fills_and_returns(void **state)
{
    struct assay_err err = {0};
    (void)state;
    assert_int_equal(assay_fail(&err, ASSAY_ERANGE, "x is %d", 7),
                     ASSAY_ERANGE);
    assert_int_equal(err.code, ASSAY_ERANGE);
    assert_string_equal(err.text, "x is 7");
    assert_int_equal(assay_fail(NULL, ASSAY_EIO, "x"), ASSAY_EIO);
}

static void own_text_may_be_an_argument(void **state)
{
    struct assay_err err = {0};
    (void)state;
    assay_fail(&err, ASSAY_EIO, "inner");
    assay_fail(&err, ASSAY_EFORMAT, "outer (%s)", err.text);
    assert_string_equal(err.text, "outer (inner)");
}

static void prefix_comes_first(void **state)
{
    struct assay_err err = {0};
    (void)state;
    assay_fail(&err, ASSAY_EFORMAT, "bad magic");
    assert_int_equal(assay_err_prefix(&err, "file '%s'", "a"), ASSAY_EFORMAT);
    assert_string_equal(err.text, "file 'a': bad magic");
    assert_true(assay_err_prefix(NULL, "x") < 0);
}

static void long_texts_are_cut(void **state)
{
    char big[2000];
    struct assay_err err = {0};
    (void)state;
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    assay_fail(&err, ASSAY_EIO, "%s", big);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assay_err_prefix(&err, "where");
    assert_memory_equal(err.text, "where: xxx", 10);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assay_err_prefix(&err, "%s", big);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_int_equal(err.text[0], 'x');
}

static void statuses_have_names_and_classes(void **state)
{
    (void)state;
    assert_string_equal(assay_status_name(ASSAY_ETIMEOUT), "TIMEOUT");
    assert_string_equal(assay_status_name(-9999), "?");
    assert_string_equal(assay_status_name(0), "OK");
    assert_string_equal(assay_status_sentence(ASSAY_ECRASH), "the worker died");
    assert_int_equal(assay_status_class(ASSAY_EFORMAT), ASSAY_CLASS_USAGE);
    assert_int_equal(assay_status_class(ASSAY_EBUSY), ASSAY_CLASS_INFRA);
    assert_int_equal(assay_status_class(ASSAY_EMEMORY), ASSAY_CLASS_AGENT);
    assert_int_equal(assay_status_class(ASSAY_ECANCELLED),
                     ASSAY_CLASS_INTERRUPT);
    assert_int_equal(assay_status_class(-9999), ASSAY_CLASS_AGENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fail_fills_and_returns),
        cmocka_unit_test(own_text_may_be_an_argument),
        cmocka_unit_test(prefix_comes_first),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(statuses_have_names_and_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
