/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of MLIR text in generic form: their parts, regions, blocks, and
 * the names of values and blocks.
 *
 * links: host-tools/model/mlir_[!i]*.c
 * links: lib/core/buf.c lib/core/err.c lib/core/hash.c
 * libs: -lxxhash -lmbedcrypto
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/mlir_texts.h"

static void results_have_names(void **state)
{
    struct assay_mlir_taken t = assay_mlir_take_text(
        "%0:2, %n = \"a.b\"() : () -> (i1, i2, i3)\n"
        "  \"c\"(%0#1, %n, %0, %0#0) : (i2, i3, i1, i1) -> ()\n"
        "\"d\"() : () -> i4");
    const struct assay_mlir_op *a = assay_mlir_nth(&t, 0);
    const struct assay_mlir_op *c = assay_mlir_nth(&t, 1);
    const struct assay_mlir_op *d = assay_mlir_nth(&t, 2);

    (void)state;
    assert_string_equal(a->name, "a.b");
    assert_int_equal(a->n_results, 3);
    assert_string_equal(a->results[0]->name, "%0#0");
    assert_string_equal(a->results[1]->name, "%0#1");
    assert_string_equal(a->results[2]->name, "%n");
    assert_ptr_equal(a->results[1]->op, a);
    assert_int_equal(a->results[1]->index, 1);
    assert_int_equal(c->line, 2);
    assert_int_equal(c->column, 3);
    assert_int_equal(c->n_operands, 4);
    assert_ptr_equal(c->operands[0], a->results[1]);
    assert_ptr_equal(c->operands[1], a->results[2]);
    assert_ptr_equal(c->operands[2], a->results[0]);
    assert_ptr_equal(c->operands[3], a->results[0]);
    assert_int_equal(d->n_results, 1);
    assert_string_equal(d->results[0]->name, "");
    assert_string_equal(d->results[0]->type->text, "i4");
    assay_arena_free(t.arena);
}

static void regions_have_blocks(void **state)
{
    struct assay_mlir_taken t =
        assay_mlir_take_text("\"f\"() ({\n"
                             "^bb0(%a: i32 loc(\"in\"), %b: i8):\n"
                             "  \"br\"(%a)[^bb2, ^bb1] : (i32) -> ()\n"
                             "^bb1:\n"
                             "^bb2(%c: i32):\n"
                             "  \"g\"(%c, %later) : (i32, i16) -> ()\n"
                             "  %later = \"h\"() : () -> i16\n"
                             "}, {}, { \"k\"() : () -> () }) : () -> ()");
    const struct assay_mlir_op *f = assay_mlir_nth(&t, 0);
    struct assay_mlir_block **b = f->regions[0]->blocks;

    (void)state;
    assert_int_equal(f->n_regions, 3);
    assert_int_equal(f->regions[0]->n_blocks, 3);
    assert_int_equal(f->regions[1]->n_blocks, 0);
    assert_string_equal(f->regions[2]->blocks[0]->name, "");
    assert_string_equal(b[0]->name, "^bb0");
    assert_int_equal(b[0]->n_args, 2);
    assert_string_equal(b[0]->args[1]->name, "%b");
    assert_null(b[0]->args[1]->op);
    assert_string_equal(assay_mlir_loc_name(b[0]->arg_locs[0]), "in");
    assert_null(b[0]->arg_locs[1]);
    assert_int_equal(b[0]->ops[0]->n_successors, 2);
    assert_ptr_equal(b[0]->ops[0]->successors[0], b[2]);
    assert_ptr_equal(b[0]->ops[0]->successors[1], b[1]);
    assert_int_equal(b[1]->n_ops, 0);
    assert_ptr_equal(b[2]->ops[0]->operands[1], b[2]->ops[1]->results[0]);
    assay_arena_free(t.arena);
}

static void names_end_with_their_region(void **state)
{
    struct assay_mlir_taken t =
        assay_mlir_take_text("%a = \"a\"() : () -> i32\n"
                             "\"f\"() ({ %b = \"b\"(%a) : (i32) -> i8 }, {\n"
                             "  %b = \"b\"(%a) : (i32) -> i16 }) : () -> ()\n");

    (void)state;
    assay_arena_free(t.arena);
    assay_mlir_refuses("%a = \"a\"() : () -> i32\n"
                       "\"f\"() ({ %a = \"b\"() : () -> i8 }) : () -> ()",
                       "2:10: '%a' is defined twice");
    assay_mlir_refuses("\"f\"() ({ %a = \"b\"() : () -> i8 }) : () -> ()\n"
                       "\"g\"(%a) : (i8) -> ()",
                       "2:5: '%a' is not defined");
}

static void wrong_names_are_refused(void **state)
{
    (void)state;
    assay_mlir_refuses("\"g\"(%a) : (i8) -> ()", "1:5: '%a' is not defined");
    assay_mlir_refuses("%a = \"a\"() : () -> i8 %a = \"a\"() : () -> i8",
                       "1:23: '%a' is defined twice");
    assay_mlir_refuses("%a = \"a\"() : () -> i8 \"g\"(%a) : (i16) -> ()",
                       "1:27: '%a' has the type 'i16' here and 'i8' before");
    assay_mlir_refuses("\"g\"(%a) : (i16) -> () %a = \"a\"() : () -> i8",
                       "1:23: '%a' has the type 'i8' here and 'i16' before");
    assay_mlir_refuses("%a = \"a\"() : () -> i8 \"g\"(%a#1) : (i8) -> ()",
                       "1:27: '%a' has no result 1");
    assay_mlir_refuses("\"g\"(%a#x) : (i8) -> ()",
                       "1:7: expected the number of a result after '#', found "
                       "'#x'");
    assay_mlir_refuses("%a, %b = \"a\"() : () -> i8",
                       "1:1: 'a' has 1 results, but 2 names stand in front of "
                       "it");
    assay_mlir_refuses("%a = \"a\"() : () -> ()",
                       "1:1: 'a' has 0 results, but 1 names stand in front of "
                       "it");
    assay_mlir_refuses("%a:0 = \"a\"() : () -> ()",
                       "1:4: expected a number of results above zero, found "
                       "'0'");
    assay_mlir_refuses("%a:x = \"a\"() : () -> ()",
                       "1:4: expected a number of results, found 'x'");
    assay_mlir_refuses("%a \"a\"() : () -> ()",
                       "1:4: expected '=' behind the names of results, found "
                       "'\"a\"'");
    assay_mlir_refuses("%a, \"a\"() : () -> ()",
                       "1:5: expected the name of a value, found '\"a\"'");
}

static void wrong_operations_are_refused(void **state)
{
    (void)state;
    assay_mlir_refuses("\"\"() : () -> ()", "1:1: expected the name of an "
                                            "operation, found '\"\"'");
    assay_mlir_refuses("\"a\" : () -> ()",
                       "1:5: expected '(' of the operands, found ':'");
    assay_mlir_refuses("\"a\"(3) : () -> ()",
                       "1:5: expected the name of a value, found '3'");
    assay_mlir_refuses("\"a\"(%b %c) : () -> ()",
                       "1:8: expected ',' or ')' behind an operand, found "
                       "'%c'");
    assay_mlir_refuses("\"a\"()", "1:6: expected ':' and the type of the "
                                  "operation, found the end of the text");
    assay_mlir_refuses("\"a\"() : i32",
                       "1:9: expected a function type, found 'i32'");
    assay_mlir_refuses("\"a\"(%b) : () -> ()",
                       "1:11: expected 1 operand types for 'a', found 0");
    assay_mlir_refuses("\"a\"()[] : () -> ()",
                       "1:7: expected the name of a block, found ']'");
    assay_mlir_refuses("\"a\"()[^b : () -> ()",
                       "1:10: expected ',' or ']' behind a block, found ':'");
    assay_mlir_refuses("\"a\"() <{} : () -> ()",
                       "1:11: expected '>' behind the properties, found ':'");
    assay_mlir_refuses("\"a\"() (3) : () -> ()",
                       "1:8: expected '{' of a region, found '3'");
    assay_mlir_refuses("\"a\"() ({} : () -> ()",
                       "1:11: expected ',' or ')' behind a region, found ':'");
    assay_mlir_refuses("\"a\"() ({", "1:9: expected an operation, found the "
                                     "end of the text");
    assay_mlir_refuses("= 3", "1:1: expected an operation, found '='");
    assay_mlir_refuses("%0 = arith.addi %a, %b : i32",
                       "1:6: expected an operation in generic form, found "
                       "'arith.addi'");
    assay_mlir_refuses("\n  return", "2:3: expected an operation in generic "
                                     "form, found 'return'");
}

static void wrong_blocks_are_refused(void **state)
{
    (void)state;
    assay_mlir_refuses("\"f\"() ({ ^a: ^a: }) : () -> ()",
                       "1:14: the block '^a' is defined twice");
    assay_mlir_refuses("\"f\"() ({ \"b\"()[^a] : () -> () }) : () -> ()",
                       "1:10: the block '^a' is not defined");
    assay_mlir_refuses("\"b\"()[^a] : () -> ()",
                       "1:1: the block '^a' is not defined");
    assay_mlir_refuses(
        "\"f\"() ({ ^a: }, { \"b\"()[^a] : () -> () }) : () -> ()",
        "1:19: the block '^a' is not defined");
    assay_mlir_refuses("\"f\"() ({ ^a }) : () -> ()",
                       "1:13: expected ':' behind the name of a block, found "
                       "'}'");
    assay_mlir_refuses("\"f\"() ({ ^a(%b i8): }) : () -> ()",
                       "1:16: expected ':' and the type of an argument, found "
                       "'i8'");
    assay_mlir_refuses("\"f\"() ({ ^a(%b: i8 %c: i8): }) : () -> ()",
                       "1:20: expected ',' or ')' behind an argument, found "
                       "'%c'");
    assay_mlir_refuses("\"f\"() ({ ^a(3: i8): }) : () -> ()",
                       "1:13: expected the name of a value, found '3'");
}

static void nest_to_a_depth(void **state)
{
    char text[10000] = "";
    size_t at = 0;

    (void)state;
    for (int i = 0; i < 400; i++)
        at += (size_t)sprintf(text + at, "\"f\"() ({\n");
    assay_mlir_refuses(text, "129:1: nested deeper than 256 levels");
}

/* The n-th allocation fails. */
static long left;

static void *failing(void *p, size_t n)
{
    if (!n) {
        free(p);
        return NULL;
    }
    return left-- > 0 ? realloc(p, n) : NULL;
}

static void memory_that_is_missing_is_told(void **state)
{
    static const char text[] =
        "#l = loc(\"x\")\n!t = tensor<2xi8, #a<b, [#l]>>\n"
        "func.func @f(%a: !t {k.v = 1}) -> !t {\n"
        "  %0:2 = \"b\"(%a, %z) <{c = dense<[1, 2]> : tensor<2xi8>}> ({\n"
        "  ^x(%q: i8): \"y\"()[^x] : () -> () }) {\n"
        "    a = affine_map<(d0) -> (d0)>, r = dense_resource<w> : !t,\n"
        "    s = sparse<[[1]], [2]> : tensor<2xi8>, z = @a::@b}\n"
        "    : (!t, i8) -> (!t, i8) loc(#m)\n"
        "  %z = \"c\"() : () -> i8\n"
        "  return %0#0 : !t }\n#m = loc(fused<1>[#l])\n"
        "{-# dialect_resources: {builtin: {w: \"0x0100000000\"}} #-}\n";
    struct assay_mlir_source source = {
        .data = text, .size = sizeof(text) - 1, .file = "t"};
    struct assay_mlir_region *top;
    long tried = 0;
    int rc;

    (void)state;
    assay_alloc_hook = failing;
    do {
        struct assay_err err = {0};
        struct assay_arena *arena;

        left = LONG_MAX;
        arena = assay_arena_new();
        left = tried++;
        rc = assay_mlir_parse(&top, &source, arena, &err);
        if (rc) {
            assert_int_equal(rc, ASSAY_EMEMORY);
            assert_string_equal(err.text, "t: out of memory");
        }
        assay_arena_free(arena);
    } while (rc);
    assay_alloc_hook = NULL;
    assert_true(tried > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_have_names),
        cmocka_unit_test(regions_have_blocks),
        cmocka_unit_test(names_end_with_their_region),
        cmocka_unit_test(wrong_names_are_refused),
        cmocka_unit_test(wrong_operations_are_refused),
        cmocka_unit_test(wrong_blocks_are_refused),
        cmocka_unit_test(nest_to_a_depth),
        cmocka_unit_test(memory_that_is_missing_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
