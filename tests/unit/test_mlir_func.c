/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module, func.func and return become the tree of their generic form.
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

static void property_is(const struct assay_mlir_op *op, const char *name,
                        const char *text)
{
    const struct assay_mlir_attr *a = assay_mlir_dict_get(op->properties, name);
    struct assay_buf b;

    if (!text) {
        assert_null(a);
        return;
    }
    assert_non_null(a);
    assay_buf_init(&b);
    assert_true(assay_mlir_attr_text(&b, a));
    assert_int_equal(assay_buf_append(&b, "", 1), 0);
    assert_string_equal((const char *)b.data, text);
    assay_buf_close(&b);
}

static void modules_become_generic(void **state)
{
    struct assay_mlir_taken t =
        assay_mlir_take_text("module @m attributes {hbdk.target = \"B30G\"} {\n"
                             "  builtin.module {}\n"
                             "} loc(\"here\")\nmodule {}");
    const struct assay_mlir_op *m = assay_mlir_nth(&t, 0);
    const struct assay_mlir_op *inner = m->regions[0]->blocks[0]->ops[0];
    const struct assay_mlir_op *second = assay_mlir_nth(&t, 1);

    (void)state;
    assert_string_equal(m->name, "builtin.module");
    property_is(m, "sym_name", "\"m\"");
    assert_string_equal(assay_mlir_op_attr(m, "hbdk.target")->text, "B30G");
    assert_string_equal(assay_mlir_loc_name(m->loc), "here");
    assert_string_equal(inner->name, "builtin.module");
    assert_int_equal(inner->line, 2);
    assert_null(inner->properties);
    assert_int_equal(second->regions[0]->n_blocks, 1);
    assert_int_equal(second->regions[0]->blocks[0]->n_ops, 0);
    assay_arena_free(t.arena);
}

static void functions_become_generic(void **state)
{
    struct assay_mlir_taken t = assay_mlir_take_text(
        "module {\n"
        "  func.func private @g(i8, f32 {a.b}) -> (i8 {c.d}, i16)\n"
        "  func.func nested @\"h h\"()\n"
        "  func.func @main(%x: i8 {k.n = \"x\"} loc(\"in\"), %y: i16) -> i8\n"
        "      attributes {z.z = 1 : i8} {\n"
        "    %0 = \"a\"(%y) : (i16) -> i8\n"
        "    return {q.q} %0 : i8 loc(\"end\")\n"
        "  } loc(\"f\")\n"
        "  func.func public @two() -> (i8, i8) {\n"
        "    %0:2 = \"a\"() ({ \"b\"() : () -> () }) : () -> (i8, i8)\n"
        "    func.return %0#0, %0#1 : i8, i8\n"
        "  }\n"
        "  func.func @none() { return }\n"
        "  func.func @fn() -> (() -> i8)\n"
        "}");
    struct assay_mlir_op **ops =
        assay_mlir_nth(&t, 0)->regions[0]->blocks[0]->ops;
    const struct assay_mlir_block *body = ops[2]->regions[0]->blocks[0];
    const struct assay_mlir_op *ret = body->ops[1];

    (void)state;
    assert_string_equal(ops[0]->name, "func.func");
    property_is(ops[0], "sym_name", "\"g\"");
    property_is(ops[0], "sym_visibility", "\"private\"");
    property_is(ops[0], "function_type", "(i8, f32) -> (i8, i16)");
    property_is(ops[0], "arg_attrs", "[{}, {a.b}]");
    property_is(ops[0], "res_attrs", "[{c.d}, {}]");
    assert_int_equal(ops[0]->n_regions, 1);
    assert_int_equal(ops[0]->regions[0]->n_blocks, 0);
    property_is(ops[1], "sym_name", "\"h h\"");
    property_is(ops[1], "sym_visibility", "\"nested\"");
    property_is(ops[1], "function_type", "() -> ()");
    property_is(ops[2], "sym_visibility", NULL);
    property_is(ops[2], "res_attrs", NULL);
    property_is(ops[2], "arg_attrs", "[{k.n = \"x\"}, {}]");
    assert_int_equal(assay_mlir_op_attr(ops[2], "z.z")->i, 1);
    assert_string_equal(assay_mlir_loc_name(ops[2]->loc), "f");
    assert_int_equal(body->n_args, 2);
    assert_string_equal(body->args[0]->name, "%x");
    assert_string_equal(assay_mlir_loc_name(body->arg_locs[0]), "in");
    assert_ptr_equal(body->ops[0]->operands[0], body->args[1]);
    assert_string_equal(ret->name, "func.return");
    assert_ptr_equal(ret->operands[0], body->ops[0]->results[0]);
    assert_non_null(assay_mlir_op_attr(ret, "q.q"));
    assert_string_equal(assay_mlir_loc_name(ret->loc), "end");
    property_is(ops[3], "sym_visibility", "\"public\"");
    assert_int_equal(ops[3]->regions[0]->blocks[0]->ops[1]->n_operands, 2);
    assert_int_equal(ops[4]->regions[0]->blocks[0]->ops[0]->n_operands, 0);
    property_is(ops[5], "function_type", "() -> (() -> i8)");
    assay_arena_free(t.arena);
}

static void wrong_heads_are_refused(void **state)
{
    (void)state;
    assay_mlir_refuses("module @m", "1:10: expected '{' of a region, found the "
                                    "end of the text");
    assay_mlir_refuses("module attributes 3 {}",
                       "1:19: expected '{' after 'attributes', found '3'");
    assay_mlir_refuses("module @\"\" {}", "1:8: expected a name, found "
                                          "'@\"\"'");
    assay_mlir_refuses("func.func g()", "1:11: expected '@' and the name of a "
                                        "function, found 'g'");
    assay_mlir_refuses("func.func @g", "1:13: expected '(' of the arguments, "
                                       "found the end of the text");
    assay_mlir_refuses("func.func @g(%a: i8, i8)",
                       "1:22: expected the name of an argument, found 'i8'");
    assay_mlir_refuses("func.func @g(i8, %a: i8)",
                       "1:18: expected a type without a name, found '%a'");
    assay_mlir_refuses("func.func @g(%a i8)",
                       "1:17: expected ':' and the type of an argument, found "
                       "'i8'");
    assay_mlir_refuses("func.func @g(%a#1: i8)",
                       "1:16: expected ':' and the type of an argument, found "
                       "'#1'");
    assay_mlir_refuses("func.func @g(i8 i8)",
                       "1:17: expected ',' or ')' behind an argument, found "
                       "'i8'");
    assay_mlir_refuses("func.func @g(i8) ->", "1:20: expected a type, found "
                                              "the end of the text");
    assay_mlir_refuses("func.func @g() {}",
                       "1:16: expected operations in the body of a function, "
                       "found none");
    assay_mlir_refuses("func.func @g(%a: i8, %a: i8) { return }",
                       "1:22: '%a' is defined twice");
    assay_mlir_refuses("func.func @g(%a: i8) { ^bb0: return }",
                       "1:24: expected an operation, since the function has "
                       "named its arguments");
    assay_mlir_refuses("func.func @g() { return %a : i8 }",
                       "1:25: '%a' is not defined");
    assay_mlir_refuses("func.func @g(%a: i8) { return %a }",
                       "1:34: expected ':' and the types of the results, found "
                       "'}'");
    assay_mlir_refuses("func.func @g(%a: i8) { return %a, %a : i8 }",
                       "1:43: expected ',' and the next type, found '}'");
    assay_mlir_refuses("func.func @g(%a: i8) { call @h() : () -> () }",
                       "1:24: expected an operation in generic form, found "
                       "'call'");
    assay_mlir_refuses("func @g()", "1:1: expected an operation in generic "
                                    "form, found 'func'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_become_generic),
        cmocka_unit_test(functions_become_generic),
        cmocka_unit_test(wrong_heads_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
