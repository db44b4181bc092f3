/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operators that move elements: view and gather, on small tensors whose
 * results are written out.
 *
 * links: lib/core/slice_part.c lib/core/probe.c
 * links: tests/support/slices.c tests/support/runs.c lib/core/slice.c
 * links: lib/core/buf.c lib/core/err.c
 * links: lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * links: lib/core/hash.c
 * libs: -lxxhash -lmbedcrypto
 */
#include "lib/engine/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/runs.h"
#include "tests/support/slices.h"

/* Runs layer 0 on x and holds its bytes against `want`. */
static void gives(struct assay_slice *s, const void *x, const void *want,
                  size_t bytes)
{
    struct runs r;
    runs_init(&r, s);
    r.given[0] = x;
    int rc = runs_run(&r);
    assert_string_equal(r.err.text, "");
    assert_int_equal(rc, 0);
    assert_non_null(r.out[0]);
    assert_memory_equal(r.out[0], want, bytes);
    runs_close(&r);
    assay_slice_free(s);
}

static struct assay_slice *view(struct slices_operand x,
                                struct slices_operand y,
                                struct assay_view_params how)
{
    struct assay_slice *s = slices_one(ASSAY_OP_VIEW, 1, &x, y);
    s->layers[0].p.view = how;
    return s;
}

static void transpose(void **state)
{
    const int8_t x[] = {1, 2, 3, 4, 5, 6}, want[] = {1, 4, 2, 5, 3, 6};
    (void)state;
    gives(view((struct slices_operand){ASSAY_S8, 2, {2, 3}, NULL},
               (struct slices_operand){ASSAY_S8, 2, {3, 2}, NULL},
               (struct assay_view_params){
                   .rank = 2, .dims = {3, 2}, .strides = {1, 3}}),
          x, want, sizeof(want));
}

/* [2,2,3], axes 2 0 1: no two axes can be joined. */
static void transpose_of_three(void **state)
{
    const int64_t x[] = {0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112};
    const int64_t want[] = {0, 10, 100, 110, 1, 11, 101, 111, 2, 12, 102, 112};
    (void)state;
    gives(view((struct slices_operand){ASSAY_S64, 3, {2, 2, 3}, NULL},
               (struct slices_operand){ASSAY_S64, 3, {3, 2, 2}, NULL},
               (struct assay_view_params){
                   .rank = 3, .dims = {3, 2, 2}, .strides = {1, 6, 3}}),
          x, want, sizeof(want));
}

/* Rows 2 and 0, columns 3 and 1: both strides go back. */
static void slice_backwards(void **state)
{
    const int16_t x[] = {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23};
    const int16_t want[] = {23, 21, 3, 1};
    (void)state;
    gives(
        view((struct slices_operand){ASSAY_S16, 2, {3, 4}, NULL},
             (struct slices_operand){ASSAY_S16, 2, {2, 2}, NULL},
             (struct assay_view_params){
                 .rank = 2, .dims = {2, 2}, .strides = {-8, -2}, .offset = 11}),
        x, want, sizeof(want));
}

/* [2,2] tiled by (2,3): strides of 0 in front of each axis. */
static void tile(void **state)
{
    const int8_t x[] = {1, 2, 3, 4};
    const int8_t want[] = {1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4,
                           1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4};
    (void)state;
    gives(view((struct slices_operand){ASSAY_S8, 2, {2, 2}, NULL},
               (struct slices_operand){ASSAY_S8, 2, {4, 6}, NULL},
               (struct assay_view_params){
                   .rank = 4, .dims = {2, 2, 3, 2}, .strides = {0, 2, 0, 1}}),
          x, want, sizeof(want));
}

static void expand_one_element(void **state)
{
    const float x[] = {1.5f}, want[] = {1.5f, 1.5f, 1.5f, 1.5f, 1.5f, 1.5f};
    (void)state;
    gives(view((struct slices_operand){ASSAY_F32, 0, {0}, NULL},
               (struct slices_operand){ASSAY_F32, 2, {2, 3}, NULL},
               (struct assay_view_params){
                   .rank = 2, .dims = {2, 3}, .strides = {0, 0}}),
          x, want, sizeof(want));
}

/* [1,1,2,8] by blocks of 2: (h, w, block row, block column, c). */
static void depth_to_space(void **state)
{
    const int8_t x[] = {0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17};
    const int8_t want[] = {0, 1, 2, 3, 10, 11, 12, 13,
                           4, 5, 6, 7, 14, 15, 16, 17};
    (void)state;
    gives(view((struct slices_operand){ASSAY_S8, 4, {1, 1, 2, 8}, NULL},
               (struct slices_operand){ASSAY_S8, 4, {1, 2, 4, 2}, NULL},
               (struct assay_view_params){.rank = 5,
                                          .dims = {1, 2, 2, 2, 2},
                                          .strides = {16, 4, 8, 2, 1}}),
          x, want, sizeof(want));
}

static void nearest_twice_as_large(void **state)
{
    const uint8_t x[] = {1, 2, 3, 4};
    const uint8_t want[] = {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4};
    (void)state;
    gives(view((struct slices_operand){ASSAY_U8, 4, {1, 2, 2, 1}, NULL},
               (struct slices_operand){ASSAY_U8, 4, {1, 4, 4, 1}, NULL},
               (struct assay_view_params){
                   .rank = 4, .dims = {2, 2, 2, 2}, .strides = {2, 0, 1, 0}}),
          x, want, sizeof(want));
}

/* The strides of axes of length 1 are never taken. */
static void strides_of_single_cells_do_not_count(void **state)
{
    const int32_t x[] = {7, 8, 9}, want[] = {8, 9};
    (void)state;
    gives(view((struct slices_operand){ASSAY_S32, 1, {3}, NULL},
               (struct slices_operand){ASSAY_S32, 3, {1, 2, 1}, NULL},
               (struct assay_view_params){.rank = 3,
                                          .dims = {1, 2, 1},
                                          .strides = {INT64_MAX, 1, INT64_MIN},
                                          .offset = 1}),
          x, want, sizeof(want));
    gives(
        view((struct slices_operand){ASSAY_S32, 1, {3}, NULL},
             (struct slices_operand){ASSAY_S32, 1, {1}, NULL},
             (struct assay_view_params){
                 .rank = 1, .dims = {1}, .strides = {INT64_MIN}, .offset = 2}),
        x, &x[2], sizeof(x[0]));
}

/* ---- gather ------------------------------------------------------------------- */

static struct assay_slice *gather(struct slices_operand x,
                                  struct slices_operand indices,
                                  struct slices_operand y, int32_t axis)
{
    const struct slices_operand in[] = {x, indices};
    struct assay_slice *s = slices_one(ASSAY_OP_GATHER, 2, in, y);
    s->layers[0].p.gather.axis = axis;
    return s;
}

static const int16_t CELLS[] = {0,   1,   10,  11,  20,  21,
                                100, 101, 110, 111, 120, 121}; /* [2,3,2] */

static void gather_a_middle_axis(void **state)
{
    const int64_t indices[] = {2, -3};
    const int16_t want[] = {20, 21, 0, 1, 120, 121, 100, 101};
    (void)state;
    gives(gather((struct slices_operand){ASSAY_S16, 3, {2, 3, 2}, NULL},
                 (struct slices_operand){ASSAY_S64, 1, {2}, indices},
                 (struct slices_operand){ASSAY_S16, 3, {2, 2, 2}, NULL}, 1),
          CELLS, want, sizeof(want));
}

static void gather_the_last_axis(void **state)
{
    const int32_t indices[] = {1, 1, 0};
    const int16_t want[] = {1,   1,   0,   11,  11,  10,  21,  21,  20,
                            101, 101, 100, 111, 111, 110, 121, 121, 120};
    (void)state;
    gives(gather((struct slices_operand){ASSAY_S16, 3, {2, 3, 2}, NULL},
                 (struct slices_operand){ASSAY_S32, 1, {3}, indices},
                 (struct slices_operand){ASSAY_S16, 3, {2, 3, 3}, NULL}, 2),
          CELLS, want, sizeof(want));
}

/* A scalar takes the axis away, a table of indices puts its own in place. */
static void gather_with_other_ranks(void **state)
{
    const int32_t one = -1, four[] = {0, 2, 1, 0};
    const int16_t last[] = {100, 101, 110, 111, 120, 121};
    const int16_t want[] = {0,   1,   20,  21,  10,  11,  0,   1,
                            100, 101, 120, 121, 110, 111, 100, 101};
    (void)state;
    gives(gather((struct slices_operand){ASSAY_S16, 3, {2, 3, 2}, NULL},
                 (struct slices_operand){ASSAY_S32, 0, {0}, &one},
                 (struct slices_operand){ASSAY_S16, 2, {3, 2}, NULL}, 0),
          CELLS, last, sizeof(last));
    gives(gather((struct slices_operand){ASSAY_S16, 3, {2, 3, 2}, NULL},
                 (struct slices_operand){ASSAY_S32, 2, {2, 2}, four},
                 (struct slices_operand){ASSAY_S16, 4, {2, 2, 2, 2}, NULL}, 1),
          CELLS, want, sizeof(want));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transpose),
        cmocka_unit_test(transpose_of_three),
        cmocka_unit_test(slice_backwards),
        cmocka_unit_test(tile),
        cmocka_unit_test(expand_one_element),
        cmocka_unit_test(depth_to_space),
        cmocka_unit_test(nearest_twice_as_large),
        cmocka_unit_test(strides_of_single_cells_do_not_count),
        cmocka_unit_test(gather_a_middle_axis),
        cmocka_unit_test(gather_the_last_axis),
        cmocka_unit_test(gather_with_other_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
