/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words, numbers, strings, blanks and comments of MLIR text, as tokens and
 * where they stand.
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

/* Tokens of a text, with one blank between them. */
static void tokens_are(const char *text, const char *tokens)
{
    struct assay_mlir_source source = {
        .data = text, .size = strlen(text), .file = "t"};
    struct assay_err err = {0};
    struct assay_mlir_parser p = {.source = &source,
                                  .err = &err,
                                  .end = text + strlen(text),
                                  .told = text,
                                  .at = {.cur = text, .line = 1}};
    char found[500] = "";
    size_t at = 0;

    p.at.line_start = text;
    for (assay_mlir_next(&p); !p.rc && p.at.tok.kind != ASSAY_TOK_EOF;
         assay_mlir_next(&p))
        at += (size_t)snprintf(found + at, sizeof(found) - at, "%s%.*s",
                               at ? " " : "", (int)p.at.tok.n, p.at.tok.s);
    assert_string_equal(err.text, "");
    assert_string_equal(found, tokens);
}

static void texts_become_tokens(void **state)
{
    (void)state;
    tokens_are("a.b$c_1 _x", "a.b$c_1 _x");
    tokens_are("%0 %-a.$_b1 ^bb1 #0 !a-b @a @\"b c\"",
               "%0 %-a.$_b1 ^bb1 #0 !a-b @a @\"b c\"");
    tokens_are("%0x", "%0 x");
    tokens_are("%a->", "%a- >");
    tokens_are("1 1. 1.5 1.e5 1.5e-3 1.5E+3 1.5e 1e5",
               "1 1. 1.5 1.e5 1.5e-3 1.5E+3 1.5 e 1 e5");
    tokens_are("0x 0x1F 0xg 0x1g", "0 x 0x1F 0 xg 0x1 g");
    tokens_are("->-{-##-}...:,(){}[]<>=+*?|", "-> - {-# #-} ... : , ( ) { } [ "
                                              "] < > = + * ? |");
    tokens_are("\"a\\\"b\\41\\n\"\"\"", "\"a\\\"b\\41\\n\" \"\"");
    tokens_are("a// b \" c\nd // e", "a d");
    tokens_are(" \t\r\n", "");
    tokens_are("a// b\rc // d\r\ne //\r//", "a c e");
}

static void places_are_told(void **state)
{
    (void)state;
    assay_mlir_refuses("\n\n  q", "3:3: expected an operation in generic form, "
                                  "found 'q'");
    assay_mlir_refuses("// x\r\n// y\n\tq", "3:2: expected an operation in "
                                            "generic form, found 'q'");
    /* a list of elements, and a symbol, that go over lines */
    assay_mlir_refuses("\"a\"() {b = dense<[1,\n 2]> : tensor<2xi8>,\n c 3}",
                       "3:4: expected ',' or '}' in a dictionary, found '3'");
    assay_mlir_refuses("\"a\"() {b = dense<[1,\n x]> : tensor<2xi8>}",
                       "2:2: expected a number, found 'x'");
    assay_mlir_refuses("\"a\"() {b = #c<1,\n\n>,\n c 3}",
                       "4:4: expected ',' or '}' in a dictionary, found '3'");
}

static void bad_characters_are_refused(void **state)
{
    (void)state;
    assay_mlir_refuses("\"a", "1:3: expected '\"' at the end of a string");
    assay_mlir_refuses("\"a\nb\"", "1:3: expected '\"' at the end of a string");
    assay_mlir_refuses("\"a\\q\"", "1:3: unknown escape in a string");
    assay_mlir_refuses("\"a\\4", "1:3: unknown escape in a string");
    assay_mlir_refuses("@1", "1:1: expected a name or a string after '@'");
    assay_mlir_refuses("% x", "1:1: expected a name or a number after '#', "
                              "'!', '^' or '%'");
    assay_mlir_refuses("&", "1:1: unexpected character");
    assay_mlir_refuses("\"x\"() ~", "1:7: unexpected character");
    assay_mlir_refuses("\xEF\xBB\xBFmodule {}", "1:1: unexpected character");
    /* what was found is cut, and has no bytes for a terminal */
    assay_mlir_refuses("\"\x1b[31m\" \"\x1b[31m\"",
                       "1:9: expected '(' of the operands, found "
                       "'\"?[31m\"'");
    assay_mlir_refuses("{aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee",
                       "1:1: expected an operation, found '{'");
    assay_mlir_refuses(
        "\"a\"() \"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee\"",
        "1:7: expected ':' and the type of the operation, found "
        "'\"aaaaaaaaaabbbbbbbbbbccccccccccddddddddd...'");
}

static void empty_texts_are_trees(void **state)
{
    struct assay_mlir_taken t = assay_mlir_take_text("");

    (void)state;
    assert_int_equal(t.top->n_blocks, 1);
    assert_int_equal(t.top->blocks[0]->n_ops, 0);
    assay_arena_free(t.arena);
}

static void bytes_0_are_blanks(void **state)
{
    static const char text[] = "\"a\"()\0:\0() -> ()";
    struct assay_mlir_taken t;
    struct assay_err err = {0};

    (void)state;
    assert_int_equal(assay_mlir_try(&t, text, sizeof(text) - 1, &err), 0);
    assay_arena_free(t.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_become_tokens),
        cmocka_unit_test(places_are_told),
        cmocka_unit_test(bad_characters_are_refused),
        cmocka_unit_test(empty_texts_are_trees),
        cmocka_unit_test(bytes_0_are_blanks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
