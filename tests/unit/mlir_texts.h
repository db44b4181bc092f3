/* SPDX-License-Identifier: Apache-2.0 */
/* MLIR texts for tests: what is taken, how it is written again, and the exact
 * sentence where it is refused. */
#ifndef ASSAY_TESTS_UNIT_MLIR_TEXTS_H
#define ASSAY_TESTS_UNIT_MLIR_TEXTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host-tools/model/mlir_parse.h"

struct assay_mlir_taken {
    struct assay_arena *arena;
    struct assay_mlir_region *top;
};

static inline int assay_mlir_try(struct assay_mlir_taken *t, const char *text,
                                 size_t n, struct assay_err *err)
{
    struct assay_mlir_source source = {.size = n, .file = "t"};
    char *copy = malloc(n ? n : 1); /* no byte behind it */
    int rc;

    assert_non_null(copy);
    memcpy(copy, text, n);
    source.data = copy;
    *t = (struct assay_mlir_taken){.arena = assay_arena_new()};
    assert_non_null(t->arena);
    rc = assay_mlir_parse(&t->top, &source, t->arena, err);
    free(copy);
    return rc;
}

static inline struct assay_mlir_taken assay_mlir_take_text(const char *text)
{
    struct assay_mlir_taken t;
    struct assay_err err = {0};

    if (assay_mlir_try(&t, text, strlen(text), &err))
        fail_msg("%s: %s", text, err.text);
    return t;
}

/* The first operation, or the k-th. */
static inline const struct assay_mlir_op *assay_mlir_nth(
    const struct assay_mlir_taken *t, uint32_t k)
{
    assert_true(k < t->top->blocks[0]->n_ops);
    return t->top->blocks[0]->ops[k];
}

/* The whole text is refused with this sentence behind "t:". */
static inline void assay_mlir_refuses(const char *text, const char *sentence)
{
    struct assay_mlir_taken t;
    struct assay_err err = {0};

    if (!assay_mlir_try(&t, text, strlen(text), &err))
        fail_msg("taken: %.900s", text);
    assay_arena_free(t.arena);
    if (strncmp(err.text, "t:", 2) != 0 || strcmp(err.text + 2, sentence) != 0)
        fail_msg("%.300s\n  said:     %s\n  expected: t:%s", text, err.text,
                 sentence);
}

/* An attribute in an operation: written again as `out` (NULL: as it is). */
static inline void assay_mlir_attr_is(const char *attr, const char *out)
{
    char text[12000];
    struct assay_mlir_taken t;
    struct assay_buf b;

    assert_true(strlen(attr) < sizeof(text) - 40);
    snprintf(text, sizeof(text), "\"x\"() {a = %s} : () -> ()", attr);
    t = assay_mlir_take_text(text);
    assay_buf_init(&b);
    assert_true(assay_mlir_attr_text(
        &b, assay_mlir_op_attr(assay_mlir_nth(&t, 0), "a")));
    assert_int_equal(assay_buf_append(&b, "", 1), 0);
    assert_string_equal((const char *)b.data, out ? out : attr);
    assay_buf_close(&b);
    assay_arena_free(t.arena);
}

/* The same, refused; columns count from the attribute's first character. */
static inline void assay_mlir_attr_refused(const char *attr,
                                           const char *sentence)
{
    char text[12000], full[600];
    unsigned column = 0;
    int skip = 0;

    assert_true(strlen(attr) < sizeof(text) - 40);
    snprintf(text, sizeof(text), "\"x\"() {a = %s} : () -> ()", attr);
    assert_int_equal(sscanf(sentence, "%u:%n", &column, &skip), 1);
    snprintf(full, sizeof(full), "1:%u:%s", column + 11, sentence + skip);
    assay_mlir_refuses(text, full);
}

#endif
