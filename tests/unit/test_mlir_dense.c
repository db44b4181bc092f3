/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of MLIR text: lists, splats, hex strings, sparse ones and
 * resources: their bytes, and what is refused.
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

/* The bytes of dense<elements> : type as hex. */
static void bytes_are(const char *attr, const char *hex, bool splat)
{
    char text[1000], found[400] = "";
    struct assay_mlir_taken t;
    const struct assay_mlir_attr *a;

    snprintf(text, sizeof(text), "\"x\"() {a = %s} : () -> ()", attr);
    t = assay_mlir_take_text(text);
    a = assay_mlir_op_attr(assay_mlir_nth(&t, 0), "a");
    assert_true(a->data_size < sizeof(found) / 2);
    for (size_t i = 0; i < a->data_size; i++)
        snprintf(found + 2 * i, 3, "%02X", ((const uint8_t *)a->data)[i]);
    if (strcmp(found, hex) != 0 || a->splat != splat)
        fail_msg("%s: bytes %s, splat %d", attr, found, a->splat);
    assay_arena_free(t.arena);
}

static void lists_are_packed(void **state)
{
    (void)state;
    bytes_are("dense<[1, -2, 127]> : tensor<3xsi8>", "01FE7F", false);
    bytes_are("dense<[[1, 2], [3, 0x10]]> : tensor<2x2xui16>",
              "0100020003001000", false);
    bytes_are("dense<[7, -8]> : tensor<2xi4>", "07F8", false);
    bytes_are("dense<[-1]> : tensor<1xi64>", "FFFFFFFFFFFFFFFF", true);
    bytes_are("dense<[4294967295, -2147483648]> : tensor<2xi32>",
              "FFFFFFFF00000080", false);
    bytes_are("dense<[true, 0, -1]> : tensor<3xi1>", "010001", false);
    bytes_are("dense<[1.0, -2.5, 0x7FC00000]> : tensor<3xf32>",
              "0000803F000020C00000C07F", false);
    bytes_are("dense<[1.0, 0.1]> : tensor<2xf64>",
              "000000000000F03F9A9999999999B93F", false);
    bytes_are("dense<[1.0, 0x7E00]> : vector<2xf16>", "003C007E", false);
    bytes_are("dense<[1.0, 2.0]> : tensor<2xbf16>", "803F0040", false);
    bytes_are("dense<[1.0, 2.0]> : tensor<2xtf32>", "00FC010000000200", false);
    bytes_are("dense<[1.0, 2.0]> : tensor<2xf80>",
              "0000000000000080FF3F00000000000000800040", false);
    bytes_are("dense<[(1, 2), (3, -4)]> : tensor<2xcomplex<i8>>", "010203FC",
              false);
    bytes_are("dense<[3, 4]> : tensor<2xindex>",
              "03000000000000000400000000000000", false);
    bytes_are("dense<[1, // one\n 2]> : memref<2xi8>", "0102", false);
}

static void splats_stand_for_all(void **state)
{
    (void)state;
    bytes_are("dense<5> : tensor<1000000000000xi8>", "05", true);
    bytes_are("dense<-1.0> : tensor<4xf32>", "000080BF", true);
    bytes_are("dense<true> : tensor<9xi1>", "01", true);
    bytes_are("dense<1> : tensor<i32>", "01000000", true);
    bytes_are("dense<(1.0, 2.0)> : tensor<3xcomplex<f32>>", "0000803F00000040",
              true);
    bytes_are("dense<> : tensor<0x3xi8>", "", false);
    bytes_are("dense<[]> : tensor<0xi8>", "", false);
    bytes_are("dense<[[], []]> : tensor<2x0xi8>", "", false);
    bytes_are("dense<1> : tensor<0xi8>", "01", true);
}

static void hex_is_memory(void **state)
{
    (void)state;
    bytes_are("dense<\"0x0102fF\"> : tensor<3xi8>", "0102FF", false);
    bytes_are("dense<\"0x01020304\"> : tensor<2xsi16>", "01020304", false);
    bytes_are("dense<\"0x0102\"> : tensor<5xsi16>", "0102", true);
    /* i1: one bit each, the lowest first; 00 and FF alone stand for all */
    bytes_are("dense<\"0xA501\"> : tensor<9xi1>", "010001000001000101", false);
    bytes_are("dense<\"0x05\"> : tensor<3xi1>", "010001", false);
    bytes_are("dense<\"0xFF\"> : tensor<3xi1>", "01", true);
    bytes_are("dense<\"0x00\"> : tensor<8xi1>", "00", true);
    bytes_are("dense<\"0xFF\"> : tensor<99xi1>", "01", true);
    bytes_are("dense<\"0x0000803F00000040\"> : tensor<1xcomplex<f32>>",
              "0000803F00000040", true);
    bytes_are("dense<\"0x\"> : tensor<0xi8>", "", false);
}

static void strings_are_items(void **state)
{
    (void)state;
    assay_mlir_attr_is("dense<[\"a\", \"0x01\"]> : tensor<2x!a.s>", NULL);
    assay_mlir_attr_is("dense<\"a>\"> : tensor<2x!a.s>", NULL);
    assay_mlir_attr_is("dense<[[\"a\"], [\"b\"]]> : tensor<2x1x!a.s>", NULL);
    assay_mlir_attr_refused("dense<[1, 2]> : tensor<2x!a.s>",
                            "8: expected a string, found '1'");
}

static void sparse_ones_have_two_parts(void **state)
{
    (void)state;
    assay_mlir_attr_is("sparse<[[0, 1], [1, 2]], [1, -2]> : tensor<2x3xi8>",
                       NULL);
    assay_mlir_attr_is("sparse<[1], [1.0]> : tensor<3xf16>",
                       "sparse<[1], [0x3C00]> : tensor<3xf16>");
    assay_mlir_attr_is("sparse<[[1, 2]], 7> : tensor<2x3xi8>", NULL);
    assay_mlir_attr_is("sparse<[[0]], [(1, 2)]> : tensor<3xcomplex<i8>>", NULL);
    assay_mlir_attr_is("sparse<> : tensor<2x3xi8>", NULL);
    assay_mlir_attr_refused("sparse<[[0, 3]], [1]> : tensor<2x3xi8>",
                            "25: the index 3 lies outside of 'tensor<2x3xi8>'");
    assay_mlir_attr_refused("sparse<[[0]], [1]> : tensor<2x3xi8>",
                            "22: expected 2 numbers in an index for "
                            "'tensor<2x3xi8>', found 1");
    assay_mlir_attr_refused("sparse<[[0, 1]], [1, 2]> : tensor<2x3xi8>",
                            "28: expected 1 values for as many indices, found "
                            "2");
    assay_mlir_attr_refused("sparse<[[0, 1]]> : tensor<2x3xi8>",
                            "8: expected ',' between indices and values, found "
                            "'['");
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    assay_mlir_attr_refused("dense<[1, 2]> : tensor<3xi8>",
                            "7: expected 3 elements in dimension 0 of "
                            "'tensor<3xi8>', found 2");
    assay_mlir_attr_refused("dense<[1, 2, 3]> : tensor<2xi8>",
                            "14: more elements than 'tensor<2xi8>' has");
    assay_mlir_attr_refused("dense<[[1, 2], [3]]> : tensor<2x2xi8>",
                            "16: expected 2 elements in dimension 1 of "
                            "'tensor<2x2xi8>', found 1");
    assay_mlir_attr_refused("dense<[1, 2]> : tensor<1x2xi8>",
                            "8: expected '[' of the next dimension, found '1'");
    assay_mlir_attr_refused("dense<[[1]]> : tensor<1xi8>",
                            "8: expected a list of 1 dimensions for "
                            "'tensor<1xi8>', found one more");
    assay_mlir_attr_refused("dense<[1]> : tensor<999999999xi8>",
                            "7: expected 999999999 elements for "
                            "'tensor<999999999xi8>', found fewer");
    assay_mlir_attr_refused("dense<> : tensor<2xi8>",
                            "7: expected elements for 'tensor<2xi8>', found "
                            "none");
    assay_mlir_attr_refused("dense<300> : tensor<2xi8>",
                            "7: 300 is out of range of the type 'i8'");
    assay_mlir_attr_refused("dense<-1> : tensor<2xui8>",
                            "8: expected a number of the type 'ui8', found a "
                            "negative one");
    assay_mlir_attr_refused("dense<1.0> : tensor<2xi8>",
                            "7: expected an integer for 'i8', found '1.0'");
    assay_mlir_attr_refused("dense<1> : tensor<2xf32>",
                            "7: expected a number with a point or hex bits for "
                            "'f32', found an integer");
    assay_mlir_attr_refused("dense<true> : tensor<2xi8>",
                            "7: expected a number of the type 'i8', found "
                            "'true'");
    assay_mlir_attr_refused("dense<(1, 2)> : tensor<2xi8>",
                            "7: expected a number, found '('");
    assay_mlir_attr_refused("dense<1> : tensor<2xcomplex<i8>>",
                            "7: expected '(' of a complex number, found '1'");
    assay_mlir_attr_refused("dense<1> : tensor<?xi8>",
                            "12: expected a shape of known size for elements, "
                            "found 'tensor<?xi8>'");
    assay_mlir_attr_refused("dense<1> : i8",
                            "12: expected a shape for elements, found 'i8'");
    assay_mlir_attr_refused("dense<1 2> : tensor<2xi8>",
                            "9: expected '>' at the end of the elements, found "
                            "'2'");
    assay_mlir_attr_refused("dense 1", "7: expected '<' after 'dense', found "
                                       "'1'");
    assay_mlir_attr_refused("dense<1> 2", "10: expected ':' and the type of "
                                          "the elements, found '2'");
    assay_mlir_attr_refused("dense<\"0x012\"> : tensor<1xi8>",
                            "7: expected pairs of hex digits in a string of "
                            "elements");
    assay_mlir_attr_refused("dense<\"0x0102\"> : tensor<3xi8>",
                            "7: 2 bytes do not fit 'tensor<3xi8>'");
    assay_mlir_attr_refused("dense<\"0xZZ\"> : tensor<1xi8>",
                            "7: expected pairs of hex digits in a string of "
                            "elements");
    assay_mlir_attr_refused("dense<\"abc\"> : tensor<1xi8>",
                            "7: expected hex digits that begin with 0x in a "
                            "string of elements");
    assay_mlir_refuses("\"x\"() {a = dense<[1,",
                       "1:21: expected '>' at the end of the elements, found "
                       "the end of the text");
}

static void left_out_elements_are_refused(void **state)
{
    (void)state;
    assay_mlir_attr_refused(
        "dense_resource<__elided__> : tensor<2xi8>",
        "16: the elements are left out here ('__elided__'), export the text "
        "without elided constants");
    assay_mlir_attr_refused(
        "dense<...> : tensor<2xi8>",
        "7: the elements are left out here ('...'), export the text without "
        "elided constants");
    assay_mlir_attr_refused(
        "dense<[1, ...]> : tensor<2xi8>",
        "11: the elements are left out here ('...'), export the text without "
        "elided constants");
}

static const char user[] =
    "\"x\"() {a = dense_resource<w> : tensor<2xi8>, "
    "b = dense_resource<\"a b\"> : tensor<?xi8>} : () -> ()\n";

static void resources_come_behind(void **state)
{
    char text[1000];
    struct assay_mlir_taken t;
    const struct assay_mlir_attr *a;

    (void)state;
    snprintf(text, sizeof(text),
             "%s{-# dialect_resources: { builtin: { w: \"0x100000000102\" }, "
             "other: { w: \"0x0\" } }, external_resources: { mine: { k: true, "
             "l: \"any\" }, yours: {} } #-}",
             user);
    t = assay_mlir_take_text(text);
    a = assay_mlir_op_attr(assay_mlir_nth(&t, 0), "a");
    assert_string_equal(a->text, "w");
    assert_int_equal(a->data_size, 2);
    assert_memory_equal(a->data, "\1\2", 2);
    assert_int_equal(a->i, 16);
    a = assay_mlir_op_attr(assay_mlir_nth(&t, 0), "b");
    assert_string_equal(a->text, "a b");
    assert_null(a->data);
    assay_arena_free(t.arena);
    /* as MLIR prints one without bytes */
    t = assay_mlir_take_text("\"x\"() {a = dense_resource<w> : "
                             "tensor<0xi8>} : () -> ()\n{-# "
                             "dialect_resources: { builtin: { w: "
                             "\"0x00000000\" } } #-}");
    assert_non_null(assay_mlir_op_attr(assay_mlir_nth(&t, 0), "a")->data);
    assay_arena_free(t.arena);
}

static void section_refused(const char *section, const char *sentence)
{
    char text[1000];

    snprintf(text, sizeof(text), "{-# %s #-}", section);
    assay_mlir_refuses(text, sentence);
}

static void bad_sections_are_refused(void **state)
{
    (void)state;
    section_refused("x: {}", "1:5: expected 'dialect_resources' or "
                             "'external_resources', found 'x'");
    section_refused("dialect_resources {}",
                    "1:23: expected ':' in the section of resources, found "
                    "'{'");
    section_refused("dialect_resources: { builtin: { a: \"0x0100000\" } }",
                    "1:40: expected 0x, an alignment of 8 hex digits and the "
                    "data of a resource");
    section_refused("dialect_resources: { builtin: { a: \"0x03000000\" } }",
                    "1:40: expected an alignment that is a power of two, found "
                    "3");
    section_refused("dialect_resources: { builtin: { a: \"0x0000000001\" } }",
                    "1:40: expected an alignment that is a power of two, found "
                    "0");
    section_refused("dialect_resources: { builtin: { a: \"0x010000001\" } }",
                    "1:40: expected pairs of hex digits in a resource");
    section_refused("dialect_resources: { builtin: { a: 3 } }",
                    "1:40: expected the value of a resource, found '3'");
    section_refused("dialect_resources: { builtin: { a: \"0x01000000\", a: "
                    "\"0x01000000\" } }",
                    "1:54: the resource 'a' stands twice");
    section_refused("dialect_resources: { builtin: { a: true b } }",
                    "1:45: expected ',' or '}' in a list of resources, found "
                    "'b'");
    assay_mlir_refuses("{-# dialect_resources: { builtin: { a: \"0x01",
                       "1:40: expected '\"' at the end of a string");
    assay_mlir_refuses("{-# dialect_resources: {} ",
                       "1:27: expected ',' or '#-}', found the end of the "
                       "text");
    assay_mlir_attr_refused("dense_resource<w> : i8",
                            "21: expected a shape for elements, found 'i8'");
}

static size_t seen;

static void passed(void *self, size_t offset)
{
    assert_true(offset <= *(size_t *)self);
    seen++;
}

/* 8 MB of hex and of numbers: the source hears of it, and the values of the
 * list that was gone through twice are right. */
static void long_lists_pass_by(void **state)
{
    const size_t n = 2000000;
    char *text = malloc(4 * n + 200);
    struct assay_arena *arena = assay_arena_new();
    struct assay_mlir_source source = {.file = "t", .passed = passed};
    struct assay_mlir_region *top;
    struct assay_err err = {0};
    const struct assay_mlir_attr *a;
    size_t at;

    (void)state;
    assert_non_null(text);
    at = (size_t)sprintf(text, "\"x\"() {a = dense<[");
    for (size_t i = 0; i < n; i++)
        at += (size_t)sprintf(text + at, "%s%d", i ? ", " : "", (int)(i % 10));
    at += (size_t)sprintf(text + at, "]> : tensor<%zuxi8>} : () -> ()", n);
    source.data = text;
    source.size = at;
    source.self = &at;
    seen = 0;
    assert_int_equal(assay_mlir_parse(&top, &source, arena, &err), 0);
    assert_true(seen > 8);
    a = assay_mlir_op_attr(top->blocks[0]->ops[0], "a");
    assert_int_equal(a->data_size, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(((const uint8_t *)a->data)[i], i % 10);
    free(text);
    assay_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_packed),
        cmocka_unit_test(splats_stand_for_all),
        cmocka_unit_test(hex_is_memory),
        cmocka_unit_test(strings_are_items),
        cmocka_unit_test(sparse_ones_have_two_parts),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(left_out_elements_are_refused),
        cmocka_unit_test(resources_come_behind),
        cmocka_unit_test(bad_sections_are_refused),
        cmocka_unit_test(long_lists_pass_by),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
