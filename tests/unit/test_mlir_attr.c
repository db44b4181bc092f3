/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes of MLIR text but for lists of elements and locations: each form,
 * what it becomes, and what is refused.
 *
 * links: host-tools/model/mlir_[!i]*.c
 * links: lib/core/buf.c lib/core/err.c lib/core/hash.c
 * libs: -lxxhash -lmbedcrypto
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/mlir_texts.h"

static void are_written_as_they_are(void **state)
{
    static const char *const attrs[] = {
        "unit",
        "true",
        "false",
        "5 : i64",
        "-128 : i8",
        "255 : ui8",
        "127 : si8",
        "18446744073709551615 : ui64",
        "-9223372036854775808 : si64",
        "9223372036854775807 : index",
        "1.5 : f64",
        "-1.000000e-01 : f32",
        "0x7FC00000 : f32",
        "448.0 : f8E4M3FN",
        "\"a\"",
        "\"a\\22\\5C\\0A\\00\\E9\"",
        "\"a\" : i32",
        "f32",
        "0.33333333333333333333333333333333333333333333333333333333333333333333"
        "333333333333333333333333333333 : f64",
        "0x00000000000000000001 : f80",
        "[]",
        "[1 : i64, [true], \"x\"]",
        "{}",
        "{a = 1 : i64, b, \"c d\" = {e = \"f\"}, tensor = i8}",
        "array<i64>",
        "array<i64: 1, -2>",
        "array<i1: true, false>",
        "array<f32: 1.0, 0x7FC00000>",
        "@a",
        "@a::@\"b c\"::@d.e",
        "#hbdk<Enum a>",
        "#hbdk<ImageConvertMode NV12>",
        "#a.b",
        "#a.b<c = [1, {\"]\"}] -> x> : i32",
        "distinct[3]<42 : i32>",
        "strided<[1, ?, -3]>",
        "strided<[], offset: ?>",
        "affine_map<() -> ()>",
        "affine_map<(d0, d1)[s0] -> (d0 + s0 * 2, -d1, (d0 - d1) mod 4)>",
        "affine_map<(d0) -> (d0 floordiv 3, d0 ceildiv 2)>",
        "affine_set<(d0)[s0] : (d0 - s0 >= 0, d0 == 1)>",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(attrs) / sizeof(attrs[0]); i++)
        assay_mlir_attr_is(attrs[i], NULL);
}

static void have_one_way_of_writing(void **state)
{
    (void)state;
    assay_mlir_attr_is("5", "5 : i64");
    assay_mlir_attr_is("1.5e1", "1.5e1 : f64");
    assay_mlir_attr_is("0xFF : i8", "-1 : i8");
    assay_mlir_attr_is("255 : i8", "-1 : i8");
    assay_mlir_attr_is("0x10 : index", "16 : index");
    assay_mlir_attr_is("1 : i1", "true");
    assay_mlir_attr_is("-1 : i1", "true");
    assay_mlir_attr_is("0 : i1", "false");
    assay_mlir_attr_is("\"\\n\\t\\\\\\\"\\41\"", "\"\\0A\\09\\5C\\22A\"");
    assay_mlir_attr_is("#a<b>", "#a.b");
    assay_mlir_attr_is("#a<b<\"c\">>", "#a.b<\"c\">");
    assay_mlir_attr_is("affine_map<(i,j)[n]->(i+n,j*2)>",
                       "affine_map<(d0, d1)[s0] -> (d0 + s0, d1 * 2)>");
    assay_mlir_attr_is("170141183460469231731687303715884105727 : i128",
                       "0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF : i128");
    assay_mlir_attr_is("-1 : i128",
                       "-0x00000000000000000000000000000001 : i128");
}

static void aliases_are_written_out(void **state)
{
    struct assay_mlir_taken t = assay_mlir_take_text(
        "#m = affine_map<(d0) -> (d0)>\n!t = i7\n"
        "\"x\"() {a = [#m, #d<#m, !t, \"#m\", #m.n, !t<x>>]} : () -> ()\n");
    const struct assay_mlir_attr *a =
        assay_mlir_op_attr(assay_mlir_nth(&t, 0), "a");

    (void)state;
    assert_int_equal(a->items[0]->kind, ASSAY_MLIR_AFFINE);
    assert_string_equal(a->items[1]->text,
                        "#d<affine_map<(d0) -> (d0)>, i7, \"#m\", #m.n, "
                        "!t<x>>");
    assay_arena_free(t.arena);
}

static void properties_come_before_attributes(void **state)
{
    struct assay_mlir_taken t = assay_mlir_take_text(
        "\"x\"() <{a = 1 : i8}> {a = 2 : i8, b = 3 : i8} : () -> ()");
    const struct assay_mlir_op *op = assay_mlir_nth(&t, 0);

    (void)state;
    assert_int_equal(assay_mlir_op_attr(op, "a")->i, 1);
    assert_int_equal(assay_mlir_op_attr(op, "b")->i, 3);
    assert_null(assay_mlir_op_attr(op, "c"));
    assert_null(assay_mlir_dict_get(NULL, "c"));
    assay_arena_free(t.arena);
    t = assay_mlir_take_text("\"x\"() <[1]> : () -> ()");
    assert_null(assay_mlir_op_attr(assay_mlir_nth(&t, 0), "a"));
    assay_arena_free(t.arena);
}

static double real_of(const char *literal)
{
    char text[100];
    struct assay_mlir_taken t;
    double d;

    snprintf(text, sizeof(text), "\"x\"() {a = %s} : () -> ()", literal);
    t = assay_mlir_take_text(text);
    d = assay_mlir_op_attr(assay_mlir_nth(&t, 0), "a")->d;
    assay_arena_free(t.arena);
    return d;
}

static void floats_have_their_type_s_value(void **state)
{
    static const struct {
        const char *literal;
        double value;
    } rows[] = {
        {"0.1 : f64", 0.1},
        {"0.1 : f32", (double)0.1f},
        {"0.1 : f16", 0.0999755859375},
        {"0.1 : bf16", 0.10009765625},
        {"65504.0 : f16", 65504},
        {"65519.9 : f16", 65504},
        {"65520.0 : f16", (double)INFINITY},
        {"5.9604644775390625e-8 : f16", 0x1p-24},
        {"2.98023223876953125e-8 : f16", 0},
        {"2.9802322387695316e-8 : f16", 0x1p-24},
        {"-1.0e-3 : f8E4M3FN", -0x1p-9},
        {"0.9e-3 : f8E4M3FN", 0},
        {"2.0e-3 : f8E4M3FN", 0x1p-9},
        {"448.0 : f8E4M3FN", 448},
        {"464.0 : f8E4M3FN", 448},
        {"57344.0 : f8E5M2", 57344},
        {"61440.0 : f8E5M2", (double)INFINITY},
        {"240.0 : f8E4M3FNUZ", 240},
        {"7.5 : f6E2M3FN", 7.5},
        {"28.0 : f6E3M2FN", 28},
        {"6.0 : f4E2M1FN", 6},
        {"2.5 : f4E2M1FN", 2},
        {"1.0e300 : f80", 1e300},
        {"-1.5 : f128", -1.5},
        {"1.0e999 : f32", (double)INFINITY},
        {"0x3C00 : f16", 1},
        {"0xFC00 : f16", -(double)INFINITY},
        {"0x3FFF8000000000000000 : f80", 1},
        {"0x40 : f8E5M2FNUZ", 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (real_of(rows[i].literal) != rows[i].value)
            fail_msg("%s is %.17g, not %.17g", rows[i].literal,
                     real_of(rows[i].literal), rows[i].value);
    assert_true(isnan(real_of("0x7E00 : f16")));
    assert_true(isnan(real_of("500.0 : f8E4M3FN")));
    assert_true(isnan(real_of("0x80 : f8E4M3FNUZ")));
}

static void numbers_out_of_place_are_refused(void **state)
{
    (void)state;
    assay_mlir_attr_refused("256 : i8", "1: 256 is out of range of the type "
                                        "'i8'");
    assay_mlir_attr_refused("128 : si8", "1: 128 is out of range of the type "
                                         "'si8'");
    assay_mlir_attr_refused("-129 : i8", "2: -129 is out of range of the type "
                                         "'i8'");
    assay_mlir_attr_refused("-0 : i8",
                            "2: -0 is out of range of the type 'i8'");
    assay_mlir_attr_refused("-1 : ui8",
                            "2: expected a number of the type 'ui8', found a "
                            "negative one");
    assay_mlir_attr_refused("9223372036854775808 : index",
                            "1: 9223372036854775808 is out of range of the "
                            "type 'index'");
    assay_mlir_attr_refused("1 : !a.b",
                            "1: an integer cannot have the type '!a.b'");
    assay_mlir_attr_refused("1.0 : i32", "1: a number with a point cannot have "
                                         "the type 'i32'");
    assay_mlir_attr_refused("1 : f32",
                            "1: expected a number with a point or hex bits for "
                            "'f32', found an integer");
    assay_mlir_attr_refused("-0x1 : f32",
                            "2: expected hex bits without a minus");
    assay_mlir_attr_refused("0x10000 : f16", "1: 0x10000 has more bits than "
                                             "'f16'");
    assay_mlir_attr_refused("- x", "3: expected a number, found 'x'");
    assay_mlir_attr_refused("1 : i5000", "1: a number of more than 4096 bits");
    assay_mlir_attr_refused("array<i8: 300>", "11: 300 is out of range of the "
                                              "type 'i8'");
    assay_mlir_attr_refused("array<i8: true>",
                            "11: expected a number of the type 'i8', found "
                            "'true'");
    assay_mlir_attr_refused("array<i7: 1>", "7: 'i7' cannot be an element "
                                            "here");
    assay_mlir_attr_refused("array<index: 1>",
                            "7: 'index' cannot be an element "
                            "here");
    assay_mlir_attr_refused(
        "array<i8 1>",
        "10: expected ':' after the type of an array, found '1'");
    assay_mlir_attr_refused("array<i8: 1",
                            "12: expected ',' or '>' in an array, found '}'");
    assay_mlir_attr_refused("array 1", "7: expected '<' after 'array', found "
                                       "'1'");
}

static void lists_and_names_are_refused(void **state)
{
    (void)state;
    assay_mlir_attr_refused("[1 2]",
                            "4: expected ',' or ']' in an array, found '2'");
    assay_mlir_attr_refused("[1,]",
                            "4: expected the value of an attribute, found ']'");
    assay_mlir_attr_refused("{a = 1, a}",
                            "9: 'a' stands twice in a dictionary");
    assay_mlir_attr_refused("{a = 1 b}", "8: expected ',' or '}' in a "
                                         "dictionary, found 'b'");
    assay_mlir_attr_refused("{1 = 2}", "2: expected the name of an attribute, "
                                       "found '1'");
    assay_mlir_attr_refused("{\"\" = 2}", "2: expected the name of an "
                                          "attribute, found '\"\"'");
    assay_mlir_attr_refused("@a::b", "5: expected '@' and a name after '::', "
                                     "found 'b'");
    assay_mlir_attr_refused("#x", "1: the attribute alias '#x' is not defined");
    assay_mlir_attr_refused("q", "1: expected the value of an attribute, "
                                 "found 'q'");
    assay_mlir_attr_refused("opaque<\"elided_large_const\", \"0xDEADBEEF\">",
                            "1: 'opaque' holds no values, export the text "
                            "without elided constants");
    assay_mlir_attr_refused("distinct[a]<1>",
                            "10: expected a number in 'distinct', found 'a'");
    assay_mlir_attr_refused("strided<[0]>",
                            "10: expected a stride that is not 0");
    assay_mlir_attr_refused("strided<[1], 3>",
                            "14: expected 'offset' in 'strided', found '3'");
    assay_mlir_refuses("#a.b = 1", "1:1: '#a.b' belongs to a dialect and "
                                   "cannot be an alias");
    assay_mlir_refuses("#a = 1 #a = 1", "1:8: the alias '#a' is defined twice");
}

static void affine_expressions_are_read(void **state)
{
    (void)state;
    assay_mlir_attr_refused("affine_map<(d0) -> (d1)>",
                            "21: 'd1' is no dimension and no symbol");
    assay_mlir_attr_refused("affine_map<(d0, d0) -> ()>",
                            "17: 'd0' is declared twice");
    assay_mlir_attr_refused("affine_map<(d0) -> (d0 * d0)>",
                            "24: expected a constant or a symbol beside '*'");
    assay_mlir_attr_refused("affine_map<(d0) -> (1 mod d0)>",
                            "23: expected a constant or a symbol beside 'mod'");
    assay_mlir_attr_refused("affine_map<(d0) : (d0)>",
                            "17: expected '->' in an affine map, found ':'");
    assay_mlir_attr_refused("affine_set<(d0) -> (d0)>",
                            "17: expected ':' in an affine set, found '->'");
    assay_mlir_attr_refused("affine_set<(d0) : (d0)>",
                            "22: expected '>=', '<=' or '==', found ')'");
    assay_mlir_attr_refused("affine_map<(d0) -> (d0 +)>",
                            "25: expected an affine expression, found ')'");
    assay_mlir_attr_refused(
        "affine_map<(d0) -> (d0 d0)>",
        "24: expected ',' or ')' in an affine list, found 'd0'");
    assay_mlir_attr_refused("affine_map<d0 -> (d0)>",
                            "12: expected '(' of a list of dimensions, found "
                            "'d0'");
}

static void nest_to_a_depth(void **state)
{
    char text[3000], said[100];

    (void)state;
    memset(text, '[', 1000);
    text[1000] = '\0';
    snprintf(said, sizeof(said), "%u: nested deeper than 256 levels", 255u);
    assay_mlir_attr_refused(text, said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_written_as_they_are),
        cmocka_unit_test(have_one_way_of_writing),
        cmocka_unit_test(aliases_are_written_out),
        cmocka_unit_test(properties_come_before_attributes),
        cmocka_unit_test(floats_have_their_type_s_value),
        cmocka_unit_test(numbers_out_of_place_are_refused),
        cmocka_unit_test(lists_and_names_are_refused),
        cmocka_unit_test(affine_expressions_are_read),
        cmocka_unit_test(nest_to_a_depth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
