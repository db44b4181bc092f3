/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The language of rules: every word in a rule that is one, every way to be
 * none with its sentence.
 * links: lib/core/form*.c lib/core/arith*.c lib/core/slice.c lib/core/buf.c
 * links: lib/core/err.c lib/core/hash.c
 * libs: -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "lib/core/form.h"

/* ---- rules that are some --------------------------------------------------- */

static const struct {
    const char *form, *rule;
} good[] = {
    {"conv", "add bias; shr pre_shift floor; mul scale; shr post_shift "
             "half_up; sat out"},
    {"conv", "add bias wrap32; sat 32; sat out"},
    {"conv", "add bias sat32; wrap 16; sat out"},
    {"conv", "add_input second_shift half_up second_scale; sat out"},
    {"conv", "add_scaled second_scale second_shift trunc; sat out"},
    {"conv", "derive half_even; mul scale; shr post_shift half_even; sat out"},
    {"conv", "srdhm 5; sdmulh -7; shl 3; add_zp zero_point; clamp -5 5; relu"},
    {"conv", "to_f32; fmul scale_f32; fdiv 3; fadd -1; fclamp out; fround "
             "half_away"},
    {"conv", " shr\tpost_shift\nceil ;\r\nsat 8 "},
    {"conv", "shr 1 half_down; shr 1 half_zero; shr -62 floor; shr 62 floor"},
    {"conv_float", "to_f32; fmul scale_f32"},
    {"add", "x: mul scale | e: shr e_shift floor; mul e_scale | sat out"},
    {"add", "sat out"},
    {"prelu", "neg: mul neg_scale | pos: mul pos_scale | sat out"},
    {"lut", "index ascending; sat out"},
    {"lut", "index unsigned; sat out"},
    {"lut_segments", "line floor; mix half_up; sat out"},
    {"resize", "between 4; shr frac half_up; sat out"},
    {"resize", "between frac; sat out"},
    {"quantize", "fdiv scale_f32; fclamp out; fround half_even"},
    {"dequantize", "to_f32; fmul scale_f32"},
};

static void test_good_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct assay_err err = {0};

        if (assay_rule_check(good[i].form, good[i].rule, &err) != 0)
            fail_msg("%s", err.text);
    }
}

/* ---- rules that are none --------------------------------------------------- */

static const struct {
    const char *form, *rule, *sentence;
} bad[] = {
    {"gelu", "sat out", "unknown form 'gelu': expected conv, conv_tail"},
    {"conv", "",
     "step 1, column 1: '' is where a step is missing: expected "
     "add, shl"},
    {"conv", "sat out;", "step 2, column 9: '' is where a step is missing"},
    {"conv", "multiply scale", "step 1, column 1: 'multiply' is no step"},
    {"conv", "shr pre_shift nearest; sat out",
     "column 15: 'nearest' is no rounding: expected floor, ceil, trunc"},
    {"conv", "shr pre_shift; sat out",
     "'' is where a rounding is missing: expected floor"},
    {"conv", "mul; sat out",
     "'' is where a field is missing: expected an integer or one of bias"},
    {"conv", "mul gamma; sat out", "'gamma' is no field"},
    {"conv", "mul 9223372036854775808", "is no field"},
    {"conv", "mul -", "'-' is no field"},
    {"conv", "shr 63 floor; sat out",
     "'63' is out of range: expected -62 to 62"},
    {"conv", "shl -1; sat out", "'-1' is out of range: expected 0 to 62"},
    {"conv", "add bias wide; sat out",
     "'wide' is no width of an addition: expected wrap32, sat32 or"},
    {"conv", "sat 1; sat out", "'1' is no width: expected out, or 2 to 63"},
    {"conv", "sat 64", "'64' is no width"},
    {"conv", "fclamp 8", "does not fit the value before it"},
    {"conv", "to_f32; fclamp 8; fround floor", "'8' is no range: expected out"},
    {"conv", "mul scale shift", "'shift' is one word too many"},
    {"conv", "mul scale: sat out", "':' is one word too many"},
    {"conv", "sat out; derive floor",
     "'derive' cannot stand here: expected it first in the last section"},
    {"conv", "index ascending; sat out", "'index' cannot stand here"},
    {"conv", "line floor; sat out", "'line' cannot stand here"},
    {"conv", "between 2; sat out", "'between' cannot stand here"},
    {"lut", "index up; sat out",
     "'up' is no order of a table: expected ascending or unsigned"},
    {"resize", "between 25; sat out", "'25' is out of range: expected 0 to 24"},
    {"conv", "fmul scale_f32; sat out",
     "'fmul' does not fit the value before it: expected a step that takes an "
     "integer"},
    {"conv", "to_f32; sat out", "expected a step that takes a binary32"},
    {"conv", "to_f32", "ends with the wrong type: expected an integer"},
    {"dequantize", "sat 8", "ends with the wrong type: expected a binary32"},
    {"conv", "x: mul scale | sat out",
     "'x' is no section of this form: expected none with a name"},
    {"add", "y: mul scale | sat out", "expected x: or e:"},
    {"add", "x: mul scale | x: mul scale | sat out", "'x' is a section twice"},
    {"add", "x: add_input 1 floor 2 | sat out",
     "'add_input' cannot stand here"},
    {"add", "sat out | x: mul scale", "stands behind the last section"},
};

static void test_bad_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct assay_err err = {0};

        if (assay_rule_check(bad[i].form, bad[i].rule, &err) >= 0)
            fail_msg("'%s' is taken", bad[i].rule);
        if (strstr(err.text, bad[i].sentence) == NULL)
            fail_msg("'%s': expected '%s', found '%s'", bad[i].rule,
                     bad[i].sentence, err.text);
    }
}

static void test_lengths(void **state)
{
    struct assay_err err = {0};
    char text[2000] = "sat out";

    (void)state;
    for (int i = 0; i < 24; i++)
        strcat(text, "; sat 9");
    assert_true(assay_rule_check("conv", text, &err) < 0);
    assert_non_null(strstr(err.text, "is one too many: expected at most 24"));
    memset(text, ' ', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    memset(&err, 0, sizeof(err));
    assert_true(assay_rule_check("conv", text, &err) < 0);
    assert_non_null(strstr(err.text, "characters, found 1999"));
}

/* Bytes of a hostile text do not steer a terminal. */
static void test_control_bytes(void **state)
{
    struct assay_err err = {0};

    (void)state;
    assert_true(assay_rule_check("conv", "\x1b[31m", &err) < 0);
    assert_null(strchr(err.text, '\x1b'));
    assert_non_null(strstr(err.text, "'?[31m' is no step"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_rules),
        cmocka_unit_test(test_bad_rules),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_control_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
