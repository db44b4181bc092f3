/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locations of MLIR text: their kinds, the name that they give to a layer, and
 * aliases that are defined behind their use.
 *
 * links: host-tools/model/mlir_[!i]*.c
 * links: lib/core/buf.c lib/core/err.c lib/core/hash.c
 * libs: -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/mlir_texts.h"

static void are_written_as_they_are(void **state)
{
    static const char *const locs[] = {
        "loc(unknown)",
        "loc(\"a\")",
        "loc(\"a b\\22\")",
        "loc(\"f.py\":1:2)",
        "loc(\"f.py\":1:2 to 3:4)",
        "loc(\"a\"(\"f.py\":1:2))",
        "loc(fused[\"a\", \"f.py\":1:2])",
        "loc(fused<{a = 1 : i64}>[\"a\", unknown])",
        "loc(fused[])",
        "loc(callsite(\"a\" at \"f.py\":1:2))",
        "loc(callsite(callsite(\"a\" at \"b\") at fused[unknown]))",
        "loc(#hbdk.where<x>)",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(locs) / sizeof(locs[0]); i++)
        assay_mlir_attr_is(locs[i], NULL);
    assay_mlir_attr_is("loc(\"f.py\":1:2 to :4)", "loc(\"f.py\":1:2 to 1:4)");
}

static void name_is(const char *loc, const char *name)
{
    char text[500];
    struct assay_mlir_taken t;
    const char *found;

    snprintf(text, sizeof(text), "\"x\"() : () -> () loc(%s)", loc);
    t = assay_mlir_take_text(text);
    found = assay_mlir_loc_name(assay_mlir_nth(&t, 0)->loc);
    if (name)
        assert_string_equal(found, name);
    else
        assert_null(found);
    assay_arena_free(t.arena);
}

static void names_are_the_last_ones(void **state)
{
    (void)state;
    name_is("\"a\"", "a");
    name_is("unknown", NULL);
    name_is("\"f.py\":1:2", NULL);
    name_is("\"a\"(\"f.py\":1:2)", "a");
    name_is("\"a\"(\"b\")", "b");
    name_is("fused<\"m\">[\"f.py\":1:2, \"patch_embed.proj\"]",
            "patch_embed.proj");
    name_is("fused[\"a\", \"b\", unknown]", "b");
    name_is("callsite(\"a\" at \"f.py\":1:2)", "a");
    name_is("callsite(\"a\" at \"b\")", "b");
    assert_null(assay_mlir_loc_name(NULL));
}

static void aliases_may_come_later(void **state)
{
    struct assay_mlir_taken t =
        assay_mlir_take_text("#l = loc(\"first\")\n"
                             "\"a\"() : () -> () loc(#l)\n"
                             "\"b\"() : () -> () loc(#l1)\n"
                             "\"c\"() : () -> () loc(#l1)\n"
                             "\"d\"() ({ ^b(%a: i8 loc(#l2)): }) : () -> ()\n"
                             "#l1 = loc(fused[\"x\", #l])\n"
                             "#l2 = loc(callsite(#l1 at \"f\":1:2))\n");
    const struct assay_mlir_op *b = assay_mlir_nth(&t, 1);

    (void)state;
    assert_string_equal(assay_mlir_loc_name(assay_mlir_nth(&t, 0)->loc),
                        "first");
    assert_int_equal(b->loc->kind, ASSAY_MLIR_LOC_FUSED);
    assert_int_equal(b->loc->n_parts, 2);
    assert_string_equal(assay_mlir_loc_name(b->loc), "first");
    assert_ptr_equal(assay_mlir_nth(&t, 2)->loc, b->loc);
    assert_string_equal(
        assay_mlir_loc_name(
            assay_mlir_nth(&t, 3)->regions[0]->blocks[0]->arg_locs[0]),
        "first");
    assay_arena_free(t.arena);
}

static void are_refused(void **state)
{
    (void)state;
    assay_mlir_attr_refused("loc 3", "5: expected '(' after 'loc', found '3'");
    assay_mlir_attr_refused("loc(3)", "5: expected a location, found '3'");
    assay_mlir_attr_refused("loc(\"a\"", "8: expected ')' at the end of a "
                                         "location, found '}'");
    assay_mlir_attr_refused("loc(\"a\":x)", "9: expected the number of a line, "
                                            "found 'x'");
    assay_mlir_attr_refused("loc(\"a\":1 2)", "11: expected ':' and a column, "
                                              "found '2'");
    assay_mlir_attr_refused("loc(\"a\":1:x)",
                            "11: expected the number of a column, found 'x'");
    assay_mlir_attr_refused("loc(\"a\":99999999999:1)",
                            "9: a number of more than 32 bits");
    assay_mlir_attr_refused("loc(\"a\"(\"b\" 3))",
                            "13: expected ')' behind the location of a name, "
                            "found '3'");
    assay_mlir_attr_refused("loc(fused)", "10: expected '[' in 'fused', found "
                                          "')'");
    assay_mlir_attr_refused("loc(fused<1[])",
                            "12: expected '>' behind the metadata of 'fused', "
                            "found '['");
    assay_mlir_attr_refused("loc(fused[\"a\" \"b\"])",
                            "15: expected ',' or ']' in 'fused', found "
                            "'\"b\"'");
    assay_mlir_attr_refused("loc(callsite \"a\")",
                            "14: expected '(' after 'callsite', found "
                            "'\"a\"'");
    assay_mlir_attr_refused("loc(callsite(\"a\" \"b\"))",
                            "18: expected 'at' in 'callsite', found '\"b\"'");
    assay_mlir_attr_refused("loc(callsite(\"a\" at \"b\")",
                            "25: expected ')' at the end of a location, found "
                            "'}'");
    assay_mlir_attr_refused("loc(#l)",
                            "5: the attribute alias '#l' is not defined");
    assay_mlir_refuses("#l = 3\n\"a\"() {b = loc(#l)} : () -> ()",
                       "2:16: '#l' is not a location");
    assay_mlir_refuses("\"a\"() : () -> () loc(#l)",
                       "1:22: the attribute alias '#l' is not defined");
    assay_mlir_refuses("\"a\"() : () -> () loc(#l)\n#l = 3",
                       "1:22: '#l' is not a location");
    assay_mlir_refuses("\"a\"() : () -> () loc 3",
                       "1:22: expected '(' after 'loc', found '3'");
}

static void nest_to_a_depth(void **state)
{
    char text[8000];
    size_t at = (size_t)sprintf(text, "\"a\"() : () -> () loc(");

    (void)state;
    for (int i = 0; i < 300; i++)
        at += (size_t)sprintf(text + at, "fused[");
    assay_mlir_refuses(text, "1:1552: nested deeper than 256 levels");
    /* a chain of aliases is as deep as what it stands for */
    at = (size_t)sprintf(text, "#l0 = loc(\"a\")\n");
    for (int i = 1; i < 200; i++)
        at += (size_t)sprintf(text + at, "#l%d = loc(fused[#l%d])\n", i, i - 1);
    assay_arena_free(assay_mlir_take_text(text).arena);
    for (int i = 200; i < 280; i++)
        at += (size_t)sprintf(text + at, "#l%d = loc(fused[#l%d])\n", i, i - 1);
    assay_mlir_refuses(text, "257:1: nested deeper than 256 levels");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_written_as_they_are),
        cmocka_unit_test(names_are_the_last_ones),
        cmocka_unit_test(aliases_may_come_later),
        cmocka_unit_test(are_refused),
        cmocka_unit_test(nest_to_a_depth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
