/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer's input from its output: moves and dequantization give it, what
 * loses something does not, and neither does a number that is no multiple.
 *
 * links: host-tools/diff/backward.c lib/core/ lib/engine/ lib/engine/ops/
 * links: kernels/ kernels/ref/ tests/support/slices.c
 * libs: -lxxhash -lmbedcrypto -lm
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "host-tools/diff/backward.h"
#include "tests/support/slices.h"

#define N 6
static const int64_t rows[2] = {2, 3}, columns[2] = {3, 2};

/* x [2,3] -> transposed (or its first column twice) [3,2] */
static struct assay_slice *move(enum assay_dtype d, bool loses)
{
    struct assay_slice *s = slices_new();
    struct assay_layer *l;
    uint32_t at;

    s->model_name = "m";
    slices_tensor(s, "x", ASSAY_ROLE_INPUT, d, 2, rows);
    slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, d, 2, columns);
    s->tensors[1].is_output = true;
    at = slices_layer(s, "move", ASSAY_OP_VIEW, 1, (uint32_t[]){0}, 1);
    l = &s->layers[at];
    l->p.view = (struct assay_view_params){
        .rank = 2, .dims = {3, 2}, .strides = {loses ? 0 : 1, 3}};
    return s;
}

static void test_move(void **state)
{
    static const int16_t got[N] = {1, 4, 2, 5, 3, 6};
    static const int16_t want[N] = {1, 2, 3, 4, 5, 6};
    struct assay_slice *s = move(ASSAY_S16, false);
    struct assay_err err = {0};
    void *x;

    (void)state;
    assert_true(assay_backward_can(s, 0));
    assert_int_equal(assay_backward(&x, s, 0, got, &err), 0);
    assert_non_null(x);
    assert_memory_equal(x, want, sizeof(want));
    assay_free(x);
    assay_slice_free(s);
    s = move(ASSAY_S16, true);
    assert_int_equal(assay_backward(&x, s, 0, got, &err), 0);
    assert_null(x);
    assay_slice_free(s);
}

/* x (some integer) [2,3] -> times a scale, by column where `many`. */
static int64_t single;
static struct assay_slice *scaled(enum assay_dtype d, const float *scale,
                                  bool many)
{
    static const int64_t three[2] = {1, 3};
    struct assay_slice *s = slices_new();
    struct assay_program *p;
    uint32_t at;

    s->model_name = "m";
    slices_tensor(s, "x", ASSAY_ROLE_INPUT, d, 2, rows);
    slices_tensor(s, "scale", ASSAY_ROLE_CONSTANT, ASSAY_F32, 2, three);
    slices_data(s, 1, scale);
    slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, ASSAY_F32, 2, rows);
    s->tensors[2].is_output = true;
    if (many) {
        at =
            slices_layer(s, "scale", ASSAY_OP_BINARY, 2, (uint32_t[]){0, 1}, 2);
        slices_in_programs(s, at, 2);
        s->layers[at].p.binary.combine = ASSAY_COMBINE_FMUL;
        p = &s->layers[at].in_programs[0];
    } else {
        at = slices_layer(s, "scale", ASSAY_OP_UNARY, 1, (uint32_t[]){0}, 2);
        p = &s->layers[at].out_program;
    }
    slices_step(p, ASSAY_STEP_TO_F32, 0, NULL, NULL);
    if (!many) {
        single = slices_f32(scale[0]);
        slices_step(p, ASSAY_STEP_FMUL, 1, &single, NULL);
    }
    return s;
}

static void expect(struct assay_slice *s, const float *got, const void *want,
                   size_t bytes)
{
    struct assay_err err = {0};
    void *x;

    assert_true(assay_backward_can(s, 0));
    assert_int_equal(assay_backward(&x, s, 0, got, &err), 0);
    if (want) {
        assert_non_null(x);
        assert_memory_equal(x, want, bytes);
    } else {
        assert_null(x);
    }
    assay_free(x);
    assay_slice_free(s);
}

static void test_scales(void **state)
{
    static const int8_t bytes[N] = {-128, -1, 0, 1, 100, 127};
    static const int32_t words[N] = {-8388607, -1, 0, 77, 8388607, 5};
    static const float one[3] = {0.1f, 0.1f, 0.1f}, three[3] = {.1f, .7f, 3.f};
    float y[N];

    (void)state;
    for (int i = 0; i < N; i++)
        y[i] = (float)bytes[i] * one[0];
    expect(scaled(ASSAY_S8, one, false), y, bytes, sizeof(bytes));
    y[2] = 0.05f; /* between two */
    expect(scaled(ASSAY_S8, one, false), y, NULL, 0);
    y[2] = 13.f; /* beyond what int8 can be */
    expect(scaled(ASSAY_S8, one, false), y, NULL, 0);
    for (int i = 0; i < N; i++)
        y[i] = (float)words[i] * three[i % 3];
    expect(scaled(ASSAY_S32, three, true), y, words, sizeof(words));
    /* Two integers give this one. */
    y[3] = (float)16777216 * three[0];
    expect(scaled(ASSAY_S32, three, true), y, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_move),
        cmocka_unit_test(test_scales),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
