/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of MLIR text: each kind, its parts, its one way of writing, and the
 * sentences about those that are none.
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
    static const char *const types[] = {
        "i1",
        "si8",
        "ui16",
        "i16777215",
        "i0",
        "index",
        "none",
        "f16",
        "bf16",
        "f32",
        "f64",
        "f80",
        "f128",
        "tf32",
        "f8E5M2",
        "f8E4M3",
        "f8E4M3FN",
        "f8E5M2FNUZ",
        "f8E4M3FNUZ",
        "f8E4M3B11FNUZ",
        "f8E3M4",
        "f8E8M0FNU",
        "f6E2M3FN",
        "f6E3M2FN",
        "f4E2M1FN",
        "tensor<f32>",
        "tensor<1x?x0x3xsi8>",
        "tensor<*xf32>",
        "tensor<1x8192x?x1xui8, {dynamic_dims = [-2 : i64, -3 : i64]}>",
        "tensor<2x!qnt.uniform<si8:f32:3, {0.1, 0.2}>>",
        "tensor<2xvector<4xi8>>",
        "tensor<2xcomplex<f32>>",
        "vector<f32>",
        "vector<4x[8]x2xf32>",
        "memref<*xf32>",
        "memref<*xf32, 3 : i64>",
        "memref<2x?xf32, strided<[1, ?], offset: ?>, #gpu.address_space<x>>",
        "memref<2xf32, affine_map<(d0)[s0] -> (d0 + s0)>>",
        "memref<2xmemref<i8>>",
        "tuple<>",
        "tuple<i1, tuple<f32>>",
        "complex<f32>",
        "complex<i8>",
        "() -> ()",
        "(i1) -> i2",
        "(i1, i2) -> (i3, i4)",
        "(i1) -> (() -> ())",
        "!hbdk.array<i8 -> \"a>b\", [(x)]>",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        assay_mlir_attr_is(types[i], NULL);
}

static void have_one_way_of_writing(void **state)
{
    (void)state;
    assay_mlir_attr_is("tensor < 1 x 2 x f32 >", "tensor<1x2xf32>");
    assay_mlir_attr_is("tensor<0x4xf32>", "tensor<0x4xf32>");
    assay_mlir_attr_is("()->(i1)", "() -> i1");
    assay_mlir_attr_is("!a<b<c>>", "!a.b<c>");
    assay_mlir_attr_is("!a<b c>", "!a<b c>");
    assay_mlir_attr_is("memref<2xf32, affine_map<(i) -> (i)>>",
                       "memref<2xf32>");
    assay_mlir_attr_is("memref<2xf32, 0>", "memref<2xf32>");
    assay_mlir_attr_is("memref<2xf32,strided<[ 4 ],offset:0>>",
                       "memref<2xf32, strided<[4]>>");
}

static void tell_their_parts(void **state)
{
    struct assay_mlir_taken t = assay_mlir_take_text(
        "!t = tensor<2x?x3x!qnt.uniform<si8:f32, 0.1>, {k}>\n"
        "\"x\"() {a = !t, b = (i32, si8) -> ui4, c = tensor<*xf32>,\n"
        "       d = tensor<2x?x3x!qnt.uniform<si8:f32, 0.1>, {k}>}\n"
        "  : () -> ()");
    const struct assay_mlir_op *op = assay_mlir_nth(&t, 0);
    const struct assay_mlir_type *a = assay_mlir_op_attr(op, "a")->type;
    const struct assay_mlir_type *b = assay_mlir_op_attr(op, "b")->type;

    (void)state;
    assert_int_equal(a->kind, ASSAY_MLIR_TENSOR);
    assert_true(a->ranked);
    assert_int_equal(a->rank, 3);
    assert_int_equal(a->dims[0], 2);
    assert_true(a->dims[1] == ASSAY_MLIR_DYNAMIC);
    assert_int_equal(a->element->kind, ASSAY_MLIR_DIALECT);
    assert_string_equal(a->element->text, "!qnt.uniform<si8:f32, 0.1>");
    assert_int_equal(a->n_params, 1);
    assert_non_null(assay_mlir_dict_get(a->params[0], "k"));
    assert_int_equal(b->kind, ASSAY_MLIR_FUNCTION);
    assert_int_equal(b->n_types, 3);
    assert_int_equal(b->n_inputs, 2);
    assert_int_equal(b->types[0]->sign, 'i');
    assert_int_equal(b->types[1]->sign, 's');
    assert_int_equal(b->types[2]->sign, 'u');
    assert_int_equal(b->types[2]->width, 4);
    assert_false(assay_mlir_op_attr(op, "c")->type->ranked);
    /* one text, one object */
    assert_ptr_equal(assay_mlir_op_attr(op, "d")->type, a);
    assay_arena_free(t.arena);
}

static void are_refused_with_a_sentence(void **state)
{
    (void)state;
    assay_mlir_attr_refused("i16777216",
                            "1: an integer type of more than 16777215 bits");
    assay_mlir_attr_refused(
        "tensor<2x3>", "11: expected 'x' in a list of dimensions, found '>'");
    assay_mlir_attr_refused("tensor<2xtensor<i8>>",
                            "10: 'tensor<i8>' cannot be an element here");
    assay_mlir_attr_refused("tensor<2xnone>",
                            "10: 'none' cannot be an element here");
    assay_mlir_attr_refused("vector<2x!a.b>",
                            "10: '!a.b' cannot be an element here");
    assay_mlir_attr_refused("complex<index>",
                            "9: 'index' cannot be an element here");
    assay_mlir_attr_refused("vector<0xf32>",
                            "8: expected a vector dimension above zero");
    assay_mlir_attr_refused("vector<?xf32>", "8: expected a type, found '?'");
    assay_mlir_attr_refused("vector<[?]xf32>",
                            "9: expected a number in '[' ']', found '?'");
    assay_mlir_attr_refused(
        "vector<[4xf32>", "10: expected ']' behind a scalable dimension, found "
                          "'xf32'");
    assay_mlir_attr_refused("tensor<99999999999999999999xf32>",
                            "8: a dimension of more than 64 bits");
    assay_mlir_attr_refused("tensor<2xf32, 1, 2>",
                            "16: expected '>' at the end of a type, found ','");
    assay_mlir_attr_refused("tensor<*xf32, 1>",
                            "13: expected '>' at the end of a type, found ','");
    assay_mlir_attr_refused("tensor 2", "8: expected '<', found '2'");
    assay_mlir_attr_refused("tuple<i1 i2>",
                            "10: expected ',' or '>' in a tuple, found 'i2'");
    assay_mlir_attr_refused(
        "(i1", "4: expected ',' or ')' in a list of types, found '}'");
    assay_mlir_attr_refused("(i1)",
                            "5: expected '->' in a function type, found '}'");
    assay_mlir_attr_refused("() -> q", "7: expected a type, found 'q'");
    assay_mlir_attr_refused("!t", "1: the type alias '!t' is not defined");
    assay_mlir_attr_refused("!a<(]>",
                            "3: expected ')' in a dialect's symbol, found ']'");
    assay_mlir_attr_refused("!a<(",
                            "3: expected ')' in a dialect's symbol, found '}'");
    assay_mlir_refuses("\"x\"() {a = !a<",
                       "1:14: expected '>' in a dialect's symbol, found the "
                       "end of the text");
    assay_mlir_refuses("!a.b = i32", "1:1: '!a.b' belongs to a dialect and "
                                     "cannot be an alias");
    assay_mlir_refuses("!t = i32 !t = i32",
                       "1:10: the alias '!t' is defined twice");
    assay_mlir_refuses("!t i32", "1:4: expected '=' in the definition of an "
                                 "alias, found 'i32'");
}

/* prefix n times, middle, suffix n times */
static void nest(char *text, size_t size, const char *prefix,
                 const char *middle, const char *suffix, unsigned n)
{
    size_t at = 0;

    for (unsigned i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, size - at, "%s", prefix);
    at += (size_t)snprintf(text + at, size - at, "%s", middle);
    for (unsigned i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, size - at, "%s", suffix);
}

static void nest_to_a_depth(void **state)
{
    char text[8000];

    (void)state;
    nest(text, sizeof(text), "tuple<", "i1", ">", 100);
    assay_mlir_attr_is(text, NULL);
    nest(text, sizeof(text), "tuple<", "i1", ">", 300);
    assay_mlir_attr_refused(text, "1519: nested deeper than 256 levels");
}

/* Each alias is twice the one before: 2^40 letters when written out. */
static void aliases_do_not_explode(void **state)
{
    char text[4000];
    size_t at = 0;

    (void)state;
    at += (size_t)snprintf(text, sizeof(text), "!t0 = i32\n");
    for (int i = 1; i < 40; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at,
                               "!t%d = tuple<!t%d, !t%d>\n", i, i - 1, i - 1);
    assay_mlir_refuses(text, "19:1: a type of more than 1 MiB");
    at = (size_t)snprintf(text, sizeof(text), "#t0 = 1\n");
    for (int i = 1; i < 40; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at,
                               "#t%d = [#t%d, #t%d]\n", i, i - 1, i - 1);
    assay_mlir_refuses(text, "26:1: an attribute of more than 16777216 parts");
    at = (size_t)snprintf(text, sizeof(text), "#t0 = #a<1>\n");
    for (int i = 1; i < 40; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at,
                               "#t%d = #a<#t%d #t%d>\n", i, i - 1, i - 1);
    assay_mlir_refuses(text, "18:10: a dialect's symbol of more than 1 MiB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_written_as_they_are),
        cmocka_unit_test(have_one_way_of_writing),
        cmocka_unit_test(tell_their_parts),
        cmocka_unit_test(are_refused_with_a_sentence),
        cmocka_unit_test(nest_to_a_depth),
        cmocka_unit_test(aliases_do_not_explode),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
