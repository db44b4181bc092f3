/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The catalogue: ids, variants and texts of all rows, how an edit is written
 * and read, and what is none.
 * links: host-tools/cause/catalogue.c host-tools/cause/edit_*.c
 * links: host-tools/cause/partial.c
 * links: lib/core/ lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * libs: -lxxhash -lmbedcrypto -lm
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <string.h>

#include "host-tools/cause/catalogue.h"

static void test_rows(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ASSAY_CAUSE_COUNT; i++) {
        const struct assay_cause *c = assay_cause_of((enum assay_cause_id)i);

        assert_int_equal(assay_cause_find(c->id), i);
        assert_true(isupper((unsigned char)c->id[0]) &&
                    isdigit((unsigned char)c->id[1]));
        assert_true(c->name[0] != '\0' && c->advice[0] != '\0');
        assert_true(c->edit != NULL);
        assert_true(assay_cause_variants(c) >= 1);
        for (const char *p = c->advice; (p = strchr(p, '{')) != NULL; p++)
            assert_true(strncmp(p, "{variant}", 9) == 0 ||
                        strncmp(p, "{value}", 7) == 0);
    }
    assert_int_equal(assay_cause_find("R99"), ASSAY_CAUSE_COUNT);
    assert_int_equal(assay_cause_find(""), ASSAY_CAUSE_COUNT);
}

/* Every edit is written as it is read. */
static void test_round_trip(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ASSAY_CAUSE_COUNT; i++) {
        const struct assay_cause *c = assay_cause_of((enum assay_cause_id)i);

        for (uint32_t v = 0; v < assay_cause_variants(c); v++) {
            const struct assay_edit e = {.id = (enum assay_cause_id)i,
                                         .variant = v,
                                         .value = c->solved ? -128 : 0};
            struct assay_edit back;
            struct assay_err err = {0};
            char text[64];

            assay_edit_text(&e, text, sizeof(text));
            if (assay_edit_parse(&back, text, &err) != 0)
                fail_msg("'%s': %s", text, err.text);
            assert_int_equal(back.id, e.id);
            assert_int_equal(back.variant, e.variant);
            assert_int_equal(back.value, e.value);
        }
    }
}

static const struct {
    const char *text, *sentence;
} bad[] = {
    {"", "expected ID, ID=VARIANT or ID=VARIANT:VALUE of the catalogue"},
    {"R", "expected ID"},
    {"r1", "expected ID"},
    {"R1 ", "expected ID"},
    {"R123456789", "expected ID"},
    {"R1=", "R1, which has no variants"},
    {"R1=x", "R1, which has no variants"},
    {"R5", "behind '=' one of: rne"},
    {"R5=", "behind '=' one of: rne"},
    {"R5=trun", "behind '=' one of: rne"},
    {"R5=trunc:1", "expected no number"},
    {"P5=all", "expected a number behind ':'"},
    {"P5=all:", "expected a whole number behind ':'"},
    {"P5=all:1.5", "expected a whole number behind ':'"},
    {"P5=all:99999999999999999999", "expected a whole number behind ':'"},
    {"P5=all:1:2", "expected a whole number behind ':'"},
};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct assay_edit e;
        struct assay_err err = {0};

        if (assay_edit_parse(&e, bad[i].text, &err) >= 0)
            fail_msg("'%s' is taken", bad[i].text);
        if (strstr(err.text, bad[i].sentence) == NULL)
            fail_msg("'%s': expected '%s', found '%s'", bad[i].text,
                     bad[i].sentence, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_bad),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
