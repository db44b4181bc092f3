/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checked sizes, the buffer, the arena, and what they do without memory.
 *
 * links: lib/core/buf.c lib/core/err.c
 */
#include "lib/core/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/core/err.h"

static void sizes_are_checked(void **state)
{
    size_t out = 42;
    (void)state;
    assert_true(assay_mul_size(6, 7, &out));
    assert_int_equal(out, 42);
    assert_false(assay_mul_size(SIZE_MAX / 2, 3, &out));
    assert_false(assay_mul_size((size_t)1 << 62, 4, &out));
    assert_false(assay_add_size(SIZE_MAX, 1, &out));
    assert_int_equal(out, 42);
    assert_true(assay_add_size(SIZE_MAX - 1, 1, &out));
    assert_true(out == SIZE_MAX);
    assert_true(assay_mul_size(0, SIZE_MAX, &out));
    assert_int_equal(out, 0);
}

static void buffer_appends_and_consumes(void **state)
{
    struct assay_buf b;
    char big[300];
    (void)state;
    assay_buf_init(&b);
    assert_int_equal(assay_buf_append(&b, NULL, 0), 0);
    assert_int_equal(assay_buf_append(&b, "hello ", 6), 0);
    memset(big, 'z', sizeof(big));
    assert_int_equal(assay_buf_append(&b, big, sizeof(big)), 0);
    assert_int_equal(b.len, 306);
    assay_buf_consume(&b, 6);
    assert_int_equal(b.len, 300);
    assert_memory_equal(b.data, big, 300);
    assay_buf_consume(&b, 1000);
    assert_int_equal(b.len, 0);
    assert_int_equal(assay_buf_reserve(&b, SIZE_MAX), ASSAY_EMEMORY);
    assay_buf_close(&b);
    assay_buf_close(&b);
    assay_buf_close(NULL);
}

static void buffer_length_cannot_overflow(void **state)
{
    struct assay_buf b;
    (void)state;
    assay_buf_init(&b);
    assert_int_equal(assay_buf_append(&b, "x", 1), 0);
    assert_int_equal(assay_buf_reserve(&b, SIZE_MAX), ASSAY_EMEMORY);
    assert_int_equal(b.len, 1);
    assay_buf_close(&b);
}

static void arena_pieces_are_apart_and_zero(void **state)
{
    struct assay_arena *a = assay_arena_new();
    uint8_t *pieces[400];
    (void)state;
    assert_non_null(a);
    for (size_t i = 0; i < 400; i++) {
        size_t n = i * 37 % 5000;
        pieces[i] = assay_arena_alloc(a, n);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(pieces[i][k], 0);
        memset(pieces[i], (int)(i & 255), n);
    }
    for (size_t i = 0; i < 400; i++)
        for (size_t k = 0; k < i * 37 % 5000; k++)
            assert_int_equal(pieces[i][k], i & 255);
    assert_null(assay_arena_array(a, SIZE_MAX / 2, 3));
    assert_null(assay_arena_alloc(a, SIZE_MAX));
    assert_null(assay_arena_str(a, "", SIZE_MAX));
    assert_string_equal(assay_arena_str(a, "abcdef", 3), "abc");
    assert_memory_equal(assay_arena_copy(a, "xyz", 3), "xyz", 3);
    assay_arena_free(a);
    assay_arena_free(NULL);
}

static int calls_left;

static void *failing(void *p, size_t n)
{
    if (n == 0) {
        free(p);
        return NULL;
    }
    return calls_left-- > 0 ? realloc(p, n) : NULL;
}

static void no_memory_is_an_answer(void **state)
{
    struct assay_buf b;
    (void)state;
    assay_alloc_hook = failing;
    calls_left = 0;
    assert_null(assay_alloc(1));
    assert_null(assay_calloc(2, 3));
    assert_null(assay_arena_new());
    assay_buf_init(&b);
    assert_int_equal(assay_buf_append(&b, "x", 1), ASSAY_EMEMORY);
    assert_int_equal(b.len, 0);
    calls_left = 1;
    struct assay_arena *a = assay_arena_new();
    assert_non_null(a);
    assert_null(assay_arena_alloc(a, 8));
    calls_left = 1;
    assert_non_null(assay_arena_alloc(a, 8));
    assay_arena_free(a);
    calls_left = 1;
    uint8_t *z = assay_calloc(4, 4);
    for (int i = 0; i < 16; i++)
        assert_int_equal(z[i], 0);
    assay_free(z);
    assay_alloc_hook = NULL;
    assert_null(assay_calloc(SIZE_MAX, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_checked),
        cmocka_unit_test(buffer_appends_and_consumes),
        cmocka_unit_test(buffer_length_cannot_overflow),
        cmocka_unit_test(arena_pieces_are_apart_and_zero),
        cmocka_unit_test(no_memory_is_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
