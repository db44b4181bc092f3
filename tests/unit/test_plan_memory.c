/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan's memory: live buffers never overlap, the arena is no larger than
 * it must be on a chain, and every allocation may fail.
 *
 * links: lib/core/slice_part.c lib/core/probe.c
 * links: tests/support/slices.c lib/core/slice.c lib/core/buf.c
 * links: lib/core/err.c lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * links: lib/core/hash.c
 * libs: -lxxhash -lmbedcrypto
 */
#include "lib/engine/plan_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/engine/arena.h"
#include "tests/support/slices.h"

#define MAX_LAYERS 40

static uint64_t seed = 4711;

static uint32_t below(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed % n);
}

/* Random concats: any number of readers, sizes from bytes to kilobytes. */
static struct assay_slice *random_graph(uint32_t layers)
{
    struct assay_slice *s = slices_new();
    slices_tensor(s, "in", ASSAY_ROLE_INPUT, ASSAY_S8, 1,
                  (int64_t[]){1 + below(300)});
    for (uint32_t i = 0; i < layers; i++) {
        uint32_t n = 1 + below(3), in[3];
        int64_t length = 0;
        for (uint32_t k = 0; k < n; k++) {
            /* near ones mostly, so that lifetimes vary */
            uint32_t back = below(4) ? below(3) : below(i + 1);
            in[k] = i - (back > i ? i : back);
            length += s->tensors[in[k]].dims[0];
        }
        bool skipped = below(8) == 0 || length > 20000;
        if (skipped)
            length = 1 + below(200);
        uint32_t out =
            slices_tensor(s, "t", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1, &length);
        slices_layer(s, "l", skipped ? ASSAY_OP_SKIPPED : ASSAY_OP_CONCAT, n,
                     in, out);
    }
    return s;
}

static bool overlap(size_t a, size_t a_size, size_t b, size_t b_size)
{
    return a < b + b_size && b < a + a_size;
}

/* Last layer that reads the output of layer i, counted anew. */
static uint32_t last_reader(const struct assay_slice *s, uint32_t i)
{
    uint32_t last = i;
    for (uint32_t j = i + 1; j < s->n_layers; j++)
        for (uint32_t k = 0; k < s->layers[j].n_inputs; k++)
            if (s->layers[j].inputs[k] == s->layers[i].output)
                last = j;
    return last;
}

static void check_plan(const struct assay_slice *s, const struct assay_plan *p)
{
    size_t table = s->n_tensors * sizeof(void *);
    for (uint32_t i = 0; i < s->n_layers; i++) {
        const struct assay_plan_layer *a = &p->layers[i];
        if (!a->op.op)
            continue;
        assert_int_equal(a->out_at % ASSAY_ALIGNMENT, 0);
        assert_true(a->out_at >= table);
        assert_true(a->out_at + a->out_bytes <= p->arena_bytes);
        for (uint32_t j = i + 1; j <= last_reader(s, i); j++)
            if (p->layers[j].op.op)
                assert_false(overlap(a->out_at, a->out_bytes,
                                     p->layers[j].out_at,
                                     p->layers[j].out_bytes));
    }
}

static void live_tensors_never_overlap(void **state)
{
    struct assay_kernel_table table;
    (void)state;
    assay_kernel_table_init(&table, 0);
    for (int round = 0; round < 300; round++) {
        struct assay_slice *s = random_graph(1 + below(MAX_LAYERS));
        struct assay_plan *p = NULL;
        struct assay_err err = {0};
        int rc = assay_plan_new(&p, s, &table, NULL, &err);
        assert_string_equal(err.text, "");
        assert_int_equal(rc, 0);
        check_plan(s, p);
        assay_plan_free(p);
        assay_slice_free(s);
    }
}

static void a_chain_needs_two_buffers(void **state)
{
    struct assay_kernel_table table;
    struct assay_slice *s = slices_new();
    struct assay_plan *p = NULL;
    struct assay_err err;
    int64_t length = 64000;
    (void)state;
    slices_tensor(s, "in", ASSAY_ROLE_INPUT, ASSAY_S8, 1, &length);
    for (uint32_t i = 0; i < 50; i++) {
        uint32_t out =
            slices_tensor(s, "t", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1, &length);
        slices_layer(s, "l", ASSAY_OP_UNARY, 1, &i, out);
    }
    assay_kernel_table_init(&table, 0);
    assert_int_equal(assay_plan_new(&p, s, &table, NULL, &err), 0);
    assert_true(assay_plan_arena_bytes(p) <= 2 * 64000 + 51 * 8 + 64);
    assay_plan_free(p);
    assay_slice_free(s);
}

/* Random takes and gives, held against a map of bytes in use. */
static void gaps_are_kept_in_order(void **state)
{
    static uint8_t used[1 << 16];
    struct assay_layout l;
    struct {
        size_t at, size;
    } live[32];
    size_t n = 0;
    (void)state;
    assay_layout_init(&l);
    for (int round = 0; round < 5000; round++) {
        if (n < 32 && below(2)) {
            live[n].size = below(900);
            assert_int_equal(assay_layout_take(&l, live[n].size, &live[n].at),
                             0);
            assert_true(live[n].at + live[n].size <= l.end);
            assert_true(l.end <= sizeof(used));
            for (size_t i = 0; i < live[n].size; i++)
                assert_int_equal(used[live[n].at + i]++, 0);
            n++;
        } else if (n) {
            uint32_t k = below((uint32_t)n);
            memset(used + live[k].at, 0, live[k].size);
            assert_int_equal(assay_layout_give(&l, live[k].at, live[k].size),
                             0);
            live[k] = live[--n];
        }
        for (size_t i = 1; i < l.n_gaps; i++)
            assert_true(l.gaps[i - 1].at + l.gaps[i - 1].size < l.gaps[i].at);
    }
    while (n--)
        assert_int_equal(assay_layout_give(&l, live[n].at, live[n].size), 0);
    assert_int_equal(l.n_gaps, 1); /* all of it, in one piece */
    assert_int_equal(l.gaps[0].size, l.end);
    size_t at = 5;
    assert_int_equal(assay_layout_take(&l, SIZE_MAX, &at), ASSAY_ERANGE);
    assert_int_equal(assay_layout_take(&l, SIZE_MAX - 64, &at), 0);
    assert_int_equal(assay_layout_take(&l, 128, &at), ASSAY_ERANGE);
    assay_layout_close(&l);
    assay_layout_close(NULL);
}

static long calls, fail_at, live_blocks;

static void *counting(void *p, size_t n)
{
    if (n == 0) {
        live_blocks--;
        free(p);
        return NULL;
    }
    if (calls++ == fail_at)
        return NULL;
    live_blocks += p == NULL;
    return realloc(p, n);
}

static void every_allocation_may_fail(void **state)
{
    struct assay_kernel_table table;
    struct assay_slice *s = random_graph(MAX_LAYERS);
    int rc = -1;
    (void)state;
    assay_kernel_table_init(&table, 0);
    assay_alloc_hook = counting;
    for (fail_at = 0; rc != 0; fail_at++) {
        struct assay_plan *p = NULL;
        struct assay_err err = {0};
        calls = live_blocks = 0;
        rc = assay_plan_new(&p, s, &table, NULL, &err);
        if (rc) {
            assert_int_equal(rc, ASSAY_EMEMORY);
            assert_int_equal(err.code, ASSAY_EMEMORY);
            assert_true(err.text[0] != '\0');
            assert_null(p);
        }
        assay_plan_free(p);
        assert_int_equal(live_blocks, 0);
    }
    assay_alloc_hook = NULL;
    assert_true(fail_at > 4);
    assay_slice_free(s);
}

/* ---- small slices that ask for a lot ------------------------------------ */

#define LIMIT ((size_t)1 << 20)
#define FAR ((int64_t)INT32_MAX)

static size_t largest;

static void *noting(void *p, size_t n)
{
    largest = n > largest ? n : largest;
    return counting(p, n);
}

/* Refused in one sentence, before any of it is allocated. */
static void expect_too_large(struct assay_slice *s, const char *sentence)
{
    struct assay_plan_limits limits = {.memory_bytes = LIMIT};
    struct assay_kernel_table table;
    struct assay_plan *p = NULL;
    struct assay_err err = {0};
    assay_kernel_table_init(&table, assay_cpu_probe());
    largest = 0;
    calls = live_blocks = 0;
    fail_at = -1;
    assay_alloc_hook = noting;
    int rc = assay_plan_new(&p, s, &table, &limits, &err);
    assay_alloc_hook = NULL;
    assert_int_equal(rc, ASSAY_EMEMORY);
    assert_null(p);
    assert_int_equal(live_blocks, 0);
    assert_true(largest < LIMIT);
    assert_memory_equal(err.text, sentence, strlen(sentence));
    assay_slice_free(s);
}

static void matrices_of_one_row(void **state)
{
    const struct slices_operand in[2] = {{ASSAY_S8, 2, {1, 1}, NULL},
                                         {ASSAY_S8, 2, {1, FAR}, NULL}};
    (void)state;
    expect_too_large(
        slices_one(ASSAY_OP_MATMUL, 2, in,
                   (struct slices_operand){ASSAY_S32, 2, {1, FAR}, NULL}),
        "slice: memory: expected at most 1048576 bytes, ");
}

static void views_of_one_element(void **state)
{
    const int64_t all = INT64_MAX;
    const struct slices_operand in = {ASSAY_S8, 1, {INT64_MAX}, NULL};
    struct assay_slice *s =
        slices_one(ASSAY_OP_VIEW, 1, &in,
                   (struct slices_operand){ASSAY_S8, 2, {2, FAR}, NULL});
    (void)state;
    s->layers[0].p.view = (struct assay_view_params){
        .rank = 3, .dims = {1, 2, FAR}, .strides = {all, 0, 0}};
    expect_too_large(s, "slice: memory: expected at most 1048576 bytes, ");
    /* The inner axis holds 2^63 elements: more than an int64 counts. */
    s = slices_one(ASSAY_OP_VIEW, 1, &in,
                   (struct slices_operand){ASSAY_S8, 3, {FAR, 2, 2}, NULL});
    s->layers[0].p.view = (struct assay_view_params){
        .rank = 3, .dims = {FAR, 2, 2}, .strides = {0, 0, (int64_t)1 << 62}};
    expect_too_large(s, "slice: memory: expected at most 1048576 bytes, ");
}

static void images_from_one_pixel(void **state)
{
    const struct slices_operand in = {ASSAY_S8, 4, {1, 1, 1, 1}, NULL};
    struct assay_slice *s =
        slices_one(ASSAY_OP_RESIZE, 1, &in,
                   (struct slices_operand){ASSAY_S8, 4, {1, FAR, 2, 1}, NULL});
    (void)state;
    expect_too_large(s, "slice: memory: expected at most 1048576 bytes, ");
}

/* Four cells 2^30 apart, of which the one output reads one. */
static void zeros_between_four_cells(void **state)
{
    static const int8_t w[4];
    const struct slices_operand in[2] = {{ASSAY_S8, 4, {1, 2, 2, 1}, NULL},
                                         {ASSAY_S8, 4, {1, 2, 2, 1}, w}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_CONV_TRANSPOSE2D, 2, in,
                   (struct slices_operand){ASSAY_S32, 4, {1, 2, 2, 1}, NULL});
    int32_t far = 1 << 30;
    (void)state;
    s->layers[0].p.conv2d = (struct assay_conv2d_params){.stride_h = far,
                                                         .stride_w = far,
                                                         .dilation_h = far,
                                                         .dilation_w = far,
                                                         .pad_top = far,
                                                         .pad_left = far,
                                                         .pad_bottom = far - 1,
                                                         .pad_right = far - 1,
                                                         .groups = 1};
    expect_too_large(s, "slice: memory: expected at most 1048576 bytes, ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_of_one_row),
        cmocka_unit_test(views_of_one_element),
        cmocka_unit_test(images_from_one_pixel),
        cmocka_unit_test(zeros_between_four_cells),
        cmocka_unit_test(live_tensors_never_overlap),
        cmocka_unit_test(a_chain_needs_two_buffers),
        cmocka_unit_test(gaps_are_kept_in_order),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
