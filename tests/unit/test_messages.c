/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The message table: arguments, placeholders, manners of sentences.
 *
 * links: host-tools/messages.c lib/core/err.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "host-tools/messages.h"

static bool has_word(const char *list, const char *word, size_t n)
{
    for (const char *p = list; *p != '\0';) {
        size_t k = strcspn(p, " ");

        if (k == n && memcmp(p, word, n) == 0)
            return true;
        p += k + (p[k] == ' ');
    }
    return false;
}

/* Every {name} is declared, every declared name is used. */
static void placeholders_are_declared(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ASSAY_MSG_COUNT; i++) {
        const char *text = assay_message_text((enum assay_message_id)i);
        const char *args = assay_message_args((enum assay_message_id)i);
        char mark[64];

        for (const char *p = strchr(text, '{'); p != NULL;
             p = strchr(p + 1, '{')) {
            const char *end = strchr(p, '}');

            assert_non_null(end);
            if (!has_word(args, p + 1, (size_t)(end - p - 1)))
                fail_msg("%s: %.*s is not declared",
                         assay_message_name((enum assay_message_id)i),
                         (int)(end - p + 1), p);
        }
        for (const char *p = args; *p != '\0';) {
            size_t k = strcspn(p, " ");

            snprintf(mark, sizeof(mark), "{%.*s}", (int)k, p);
            if (strstr(text, mark) == NULL)
                fail_msg("%s: %s is declared and not used",
                         assay_message_name((enum assay_message_id)i), mark);
            p += k + (p[k] == ' ');
        }
    }
}

static void sentences_have_no_full_stop(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ASSAY_MSG_COUNT; i++) {
        const char *text = assay_message_text((enum assay_message_id)i);
        size_t n = strlen(text);

        assert_true(n > 0);
        if (text[n - 1] == '.' || text[n - 1] == '\n')
            fail_msg("%s ends with a full stop",
                     assay_message_name((enum assay_message_id)i));
    }
}

static void arguments_by_name(void **state)
{
    char out[128];

    (void)state;
    /* The order of the arguments does not matter. */
    assay_message(out, sizeof(out), ASSAY_MSG_UNKNOWN_OPTION, "near", "--all",
                  "name", "--al", NULL);
    assert_string_equal(out, "unknown option '--al'; did you mean '--all'?");
    /* A missing one shows. */
    assay_message(out, sizeof(out), ASSAY_MSG_UNKNOWN_OPTION, "name", "--al",
                  NULL);
    assert_string_equal(out, "unknown option '--al'; did you mean '{near}'?");
    /* A value is not expanded again. */
    assay_message(out, sizeof(out), ASSAY_MSG_NO_LAYER, "name", "{near}",
                  "near", "x", NULL);
    assert_string_equal(out, "no layer '{near}' in this model; nearest: x");
}

static void long_texts_are_cut(void **state)
{
    char out[16], name[64];

    (void)state;
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assay_message(out, sizeof(out), ASSAY_MSG_LATER_OPTION, "name", name, NULL);
    assert_int_equal(strlen(out), sizeof(out) - 1);
}

static void numbers(void **state)
{
    (void)state;
    assert_string_equal(assay_num_u(18446744073709551615u).text,
                        "18446744073709551615");
    assert_string_equal(assay_num_f(2, 0.2149).text, "0.21");
    assert_string_equal(assay_num_g(3, 1e-5).text, "1e-05");
    assert_string_equal(assay_num_bytes(999).text, "999 B");
    assert_string_equal(assay_num_bytes(1100).text, "1.1 kB");
    assert_string_equal(assay_num_bytes(256u << 20).text, "256.0 MiB");
    assert_true(strlen(assay_num_f(2, 1e300).text) < 32);
}

static void errors_carry_the_sentence(void **state)
{
    struct assay_err err = {0};

    (void)state;
    assert_int_equal(
        assay_fail_message(&err, ASSAY_EUSAGE, ASSAY_MSG_NO_COMMAND, NULL),
        ASSAY_EUSAGE);
    assert_int_equal(err.code, ASSAY_EUSAGE);
    assert_string_equal(err.text, assay_message_text(ASSAY_MSG_NO_COMMAND));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placeholders_are_declared),
        cmocka_unit_test(sentences_have_no_full_stop),
        cmocka_unit_test(arguments_by_name),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(numbers),
        cmocka_unit_test(errors_carry_the_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
