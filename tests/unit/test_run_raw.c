/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator leaves before any requantization: an output program without
 * steps into int64. Inputs are chosen so that each result leaves 32 bits: a
 * sum that wrapped would show. Each on the scalar kernels and on the CPU's
 * best.
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

#include "kernels/cpu.h"
#include "tests/support/runs.h"
#include "tests/support/slices.h"

#define DEEP 1100 /* 1100 * 32767 * 127 > 2^32 */

static int16_t x[4 * DEEP];
static int8_t w[6 * DEEP];

/* Mostly of one sign, so that the sums are large; some of the other. */
static void fill(void)
{
    for (int i = 0; i < 4 * DEEP; i++)
        x[i] = (int16_t)(i % 17 == 0 ? -32768 : 32767 - i % 99);
    for (int i = 0; i < 6 * DEEP; i++)
        w[i] = (int8_t)(i % 13 == 0 ? -128 : 127 - i % 5);
}

static void gives(struct assay_slice *s, const void *a, const void *b,
                  const int64_t *want, size_t n)
{
    const uint32_t flags[] = {0, assay_cpu_probe()};
    bool wide = false;
    for (size_t i = 0; i < n; i++)
        wide = wide || want[i] != (int32_t)want[i];
    assert_true(wide);
    for (int i = 0; i < 2; i++) {
        struct runs r;
        runs_init(&r, s);
        r.flags = flags[i];
        r.given[0] = a;
        r.given[1] = b;
        int rc = runs_run(&r);
        assert_string_equal(r.err.text, "");
        assert_int_equal(rc, 0);
        assert_memory_equal(r.out[0], want, n * sizeof(*want));
        runs_close(&r);
    }
    assay_slice_free(s);
}

static const struct assay_conv2d_params ONE = {.stride_h = 1,
                                               .stride_w = 1,
                                               .dilation_h = 1,
                                               .dilation_w = 1,
                                               .groups = 1};

static int64_t dot(const int16_t *a, const int8_t *b, int32_t zero)
{
    int64_t sum = 0;
    for (int i = 0; i < DEEP; i++)
        sum += (int64_t)(a[i] - zero) * b[i];
    return sum;
}

static void convolution(void **state)
{
    const int32_t bias[2] = {INT32_MAX, INT32_MIN};
    const struct slices_operand in[3] = {{ASSAY_S16, 4, {1, 2, 2, DEEP}, NULL},
                                         {ASSAY_S8, 4, {2, 1, 1, DEEP}, w},
                                         {ASSAY_S32, 1, {2}, bias}};
    int64_t want[8];
    (void)state;
    for (uint32_t n = 2; n <= 3; n++) {
        struct assay_slice *s = slices_one(
            ASSAY_OP_CONV2D, n, in,
            (struct slices_operand){ASSAY_S64, 4, {1, 2, 2, 2}, NULL});
        s->layers[0].p.conv2d = ONE;
        s->layers[0].p.conv2d.has_bias = n == 3;
        slices_quant(s, 0, 1, -128); /* of an 8-bit tensor made wide */
        for (int i = 0; i < 8; i++)
            want[i] = dot(x + i / 2 * DEEP, w + i % 2 * DEEP, -128) +
                      (n == 3 ? bias[i % 2] : 0);
        gives(s, x, NULL, want, 8);
    }
}

/* Two cells a cell apart, two taps: cells 0..3 meet one of each. */
static void transposed(void **state)
{
    const struct slices_operand in[2] = {{ASSAY_S16, 4, {1, 1, 2, DEEP}, NULL},
                                         {ASSAY_S8, 4, {3, 1, 2, DEEP}, w}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_CONV_TRANSPOSE2D, 2, in,
                   (struct slices_operand){ASSAY_S64, 4, {1, 1, 4, 3}, NULL});
    int64_t want[12];
    (void)state;
    s->layers[0].p.conv2d = ONE;
    s->layers[0].p.conv2d.stride_w = 2;
    for (int i = 0; i < 12; i++)
        want[i] = dot(x + i / 6 * DEEP, w + (i % 3 * 2 + i / 3 % 2) * DEEP, 0);
    gives(s, x, NULL, want, 12);
}

static void products(void **state)
{
    static int8_t turned[2 * DEEP]; /* [K][N] */
    const struct slices_operand gemm[2] = {{ASSAY_S16, 2, {4, DEEP}, NULL},
                                           {ASSAY_S8, 2, {2, DEEP}, w}};
    const struct slices_operand matmul[2] = {{ASSAY_S16, 2, {4, DEEP}, NULL},
                                             {ASSAY_S8, 2, {DEEP, 2}, NULL}};
    const struct slices_operand y = {ASSAY_S64, 2, {4, 2}, NULL};
    int64_t want[8];
    (void)state;
    for (int i = 0; i < 8; i++)
        want[i] = dot(x + i / 2 * DEEP, w + i % 2 * DEEP, 0);
    for (int i = 0; i < 2 * DEEP; i++)
        turned[i] = w[i % 2 * DEEP + i / 2];
    struct assay_slice *s = slices_one(ASSAY_OP_GEMM, 2, gemm, y);
    s->layers[0].p.conv2d = ONE;
    gives(s, x, NULL, want, 8);
    gives(slices_one(ASSAY_OP_MATMUL, 2, matmul, y), x, turned, want, 8);
}

static void sums(void **state)
{
    const int32_t a[] = {INT32_MAX, 1, INT32_MAX, -5, 7, -1, 2, 3};
    const struct slices_operand pool[1] = {{ASSAY_S32, 4, {1, 2, 2, 2}, NULL}};
    const struct slices_operand reduce[1] = {{ASSAY_S32, 2, {2, 4}, NULL}};
    const int64_t pooled[] = {2LL * INT32_MAX + 9, -2};
    const int64_t reduced[] = {2LL * INT32_MAX - 4, 11};
    (void)state;
    struct assay_slice *s =
        slices_one(ASSAY_OP_REDUCE, 1, reduce,
                   (struct slices_operand){ASSAY_S64, 2, {2, 1}, NULL});
    s->layers[0].p.reduce.kind = ASSAY_REDUCE_SUM;
    s->layers[0].p.reduce.axes = 2;
    gives(s, a, NULL, reduced, 2);
    for (int i = 0; i < 2; i++) {
        s = slices_one(
            ASSAY_OP_POOL, 1, pool,
            (struct slices_operand){ASSAY_S64, 4, {1, 1, 1, 2}, NULL});
        s->layers[0].p.pool =
            (struct assay_pool_params){.kind = ASSAY_POOL_AVG,
                                       .sum = i ? ASSAY_SUM_RAW : ASSAY_SUM_INT,
                                       .kh = 2,
                                       .kw = 2,
                                       .stride_h = 1,
                                       .stride_w = 1,
                                       .dilation_h = 1,
                                       .dilation_w = 1};
        gives(s, a, NULL, pooled, 2);
    }
}

static void elements(void **state)
{
    const int32_t a[] = {INT32_MIN, INT32_MAX, 3},
                  b[] = {INT32_MIN, INT32_MAX, -7};
    const int64_t wide[] = {INT64_MIN, INT64_MAX, -1};
    const int64_t added[] = {2LL * INT32_MIN, 2LL * INT32_MAX, -4};
    const int64_t moved[] = {4LL * INT32_MIN, 4LL * INT32_MAX, 12};
    const int64_t multiplied[] = {(int64_t)INT32_MIN * INT32_MIN,
                                  (int64_t)INT32_MAX * INT32_MAX, -21};
    static const int64_t two = 2;
    const struct slices_operand two_in[2] = {{ASSAY_S32, 1, {3}, NULL},
                                             {ASSAY_S32, 1, {3}, NULL}};
    const struct slices_operand wide_in[1] = {{ASSAY_S64, 1, {3}, NULL}};
    const struct slices_operand y = {ASSAY_S64, 1, {3}, NULL};
    struct assay_slice *s;
    (void)state;
    gives(slices_one(ASSAY_OP_UNARY, 1, wide_in, y), wide, NULL, wide, 3);
    s = slices_one(ASSAY_OP_UNARY, 1, two_in, y);
    slices_step(&s->layers[0].out_program, ASSAY_STEP_SHL, 1, &two, NULL);
    gives(s, a, NULL, moved, 3);
    for (int i = 0; i < 2; i++) {
        s = slices_one(ASSAY_OP_BINARY, 2, two_in, y);
        slices_in_programs(s, 0, 2);
        s->layers[0].p.binary.combine =
            i ? ASSAY_COMBINE_MUL : ASSAY_COMBINE_ADD;
        gives(s, a, b, i ? multiplied : added, 3);
    }
}

static void samples(void **state)
{
    const int16_t image[] = {-32768, 32767}, at[] = {0, 1};
    const struct slices_operand in[2] = {{ASSAY_S16, 4, {1, 1, 2, 1}, NULL},
                                         {ASSAY_S16, 4, {1, 1, 1, 2}, NULL}};
    const struct slices_operand y = {ASSAY_S64, 4, {1, 1, 1, 1}, NULL};
    const int64_t resized[] = {(-32768LL * 4095 + 32767) * 4096};
    const int64_t sampled[] = {(-32768LL * 16383 + 32767) * 16384};
    struct assay_slice *s = slices_one(ASSAY_OP_RESIZE, 1, in, y);
    (void)state;
    s->layers[0].p.resize = (struct assay_resize_params){
        .step_w = 1, .start_w = 1, .decimal_bits = 12, .weight_bits = 12};
    gives(s, image, NULL, resized, 1);
    s = slices_one(ASSAY_OP_GRID_SAMPLE, 2, in, y);
    s->layers[0].p.grid_sample = (struct assay_grid_sample_params){
        .padding = ASSAY_GRID_BORDER, .coord_shift = 14};
    gives(s, image, at, sampled, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolution), cmocka_unit_test(transposed),
        cmocka_unit_test(products),    cmocka_unit_test(sums),
        cmocka_unit_test(elements),    cmocka_unit_test(samples),
    };
    fill();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
