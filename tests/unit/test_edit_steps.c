/* SPDX-License-Identifier: Apache-2.0 */
/*
 * R of the catalogue in steps: shifts of a fixed-point program, and conversions
 * of layers that are no convolutions, against plain formulas written here.
 *
 * links: tests/support/scaled.c tests/support/slices.c
 * links: host-tools/cause/ host-tools/diff/
 * links: lib/core/ lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * libs: -lm -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/scaled.h"
#include "tests/support/slices.h"

/* ---- a layer of multipliers and shifts ------------------------------------- */

#define N 512
static const int64_t pre[4] = {0, 3, 9, 14}, scale[4] = {20011, 3, 777, 32767};
static const int64_t post[4] = {15, 2, 7, 14};

static struct assay_slice *open_fixed(const int64_t *before)
{
    const struct slices_operand in = {ASSAY_S32, 2, {N / 4, 4}, NULL};
    struct assay_slice *s =
        slices_one(ASSAY_OP_UNARY, 1, &in,
                   (struct slices_operand){ASSAY_S16, 2, {N / 4, 4}, NULL});
    struct assay_program *p = &s->layers[0].out_program;

    slices_step(p, ASSAY_STEP_SHR, 4, before, NULL);
    slices_bits(p, ASSAY_STEP_SAT, 16);
    slices_step(p, ASSAY_STEP_MUL, 4, scale, NULL);
    slices_step(p, ASSAY_STEP_SHR, 4, post, NULL);
    slices_bits(p, ASSAY_STEP_SAT, 16);
    return s;
}

static int64_t fixed(int64_t v, int c, char first, int bits, char last,
                     bool merged)
{
    int64_t limit = bits ? (int64_t)1 << (bits - 1) : INT64_MAX;

    if (!merged)
        v = scaled_shift(v, (int)pre[c], first);
    if (bits)
        v = scaled_clamp(v, -limit, limit - 1);
    v = scaled_shift(v * scale[c], (int)(post[c] + (merged ? pre[c] : 0)),
                     last);
    return scaled_clamp(v, -32768, 32767);
}

static void test_fixed(void **state)
{
    static const struct {
        const char *edit;
        char first, last;
        int bits;
        bool merged;
    } rows[] = {
        {"R13=trunc", 'f', 't', 16, false},
        {"R14", 'f', 'c', 16, false},
        {"R18=half_even", 'f', 'e', 16, false},
        {"R18=half_up", 'f', 'u', 16, false},
        {"R18=half_away", 'f', 'a', 16, false},
        {"R18=half_down", 'f', 'd', 16, false},
        {"R18=half_zero", 'f', 'z', 16, false},
        {"R15=half_up", 'u', 'f', 16, false},
        {"R16=sat", 'f', 'f', 16, true},
        {"R16=none", 'f', 'f', 0, true},
        {"R17=none", 'f', 'f', 0, false},
        {"R17=32", 'f', 'f', 32, false},
    };
    static const int64_t none[4] = {0, 0, 0, 0};
    int32_t x[N];
    const void *values[1] = {x};
    struct assay_slice *s = open_fixed(pre);
    int16_t base[N], got[N];

    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = scaled_random(-1, 1) * (1 << scaled_random(0, 20)) +
               scaled_random(-600, 600);
    scaled_run(s, values, 1, base);
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        int changed = 0;

        assert_int_equal(scaled_try(s, rows[r].edit, values, 1, got), 0);
        for (int i = 0; i < N; i++) {
            assert_int_equal(base[i], fixed(x[i], i % 4, 'f', 16, 'f', false));
            if (got[i] != fixed(x[i], i % 4, rows[r].first, rows[r].bits,
                                rows[r].last, rows[r].merged))
                fail_msg("%s: %d channel %d: got %d", rows[r].edit, x[i], i % 4,
                         got[i]);
            changed += got[i] != base[i];
        }
        if (changed == 0)
            fail_msg("%s changed nothing", rows[r].edit);
    }
    assert_int_equal(scaled_try(s, "R13=floor", values, 1, got),
                     ASSAY_EDIT_SAME);
    assert_int_equal(scaled_try(s, "R15=floor", values, 1, got),
                     ASSAY_EDIT_SAME);
    assert_int_equal(scaled_try(s, "R17=16", values, 1, got), ASSAY_EDIT_SAME);
    assert_int_equal(scaled_try(s, "R11=masked", values, 1, got),
                     ASSAY_EDIT_SAME);
    assert_int_equal(scaled_try(s, "R1", values, 1, got), ASSAY_EDIT_NOT_HERE);
    assay_slice_free(s);
    s = open_fixed(none); /* without a pre-shift there is no order */
    assert_int_equal(scaled_try(s, "R15=half_up", values, 1, got),
                     ASSAY_EDIT_SAME);
    assert_int_equal(scaled_try(s, "R16=sat", values, 1, got), ASSAY_EDIT_SAME);
    assay_slice_free(s);
}

/* Behind a ReLU, roundings that differ below 0 alone are one. */
static void test_relu(void **state)
{
    static const int64_t low = 0, high = 32767;
    int32_t x[N];
    int16_t got[2][N];
    const void *values[1] = {x};
    struct assay_slice *s = open_fixed(pre);

    (void)state;
    slices_step(&s->layers[0].out_program, ASSAY_STEP_CLAMP, 1, &low, &high);
    for (int i = 0; i < N; i++)
        x[i] = scaled_random(-60000, 60000);
    assert_int_equal(scaled_try(s, "R13=trunc", values, 1, got[0]),
                     ASSAY_EDIT_SAME);
    assert_int_equal(scaled_try(s, "R18=half_away", values, 1, got[0]), 0);
    assert_int_equal(scaled_try(s, "R18=half_up", values, 1, got[1]), 0);
    for (int i = 0; i < N; i++) {
        int64_t v = fixed(x[i], i % 4, 'f', 16, 'a', false);

        assert_int_equal(got[0][i], v < 0 ? 0 : v);
        assert_int_equal(got[1][i], got[0][i]);
    }
    assay_slice_free(s);
}

static void test_counts(void **state)
{
    static const int64_t counts[2] = {4, 36};
    const int32_t x[6] = {1000, 1000, -1000, -1000, 7, 7};
    const void *values[1] = {x};
    const struct slices_operand in = {ASSAY_S32, 2, {3, 2}, NULL};
    struct assay_slice *s =
        slices_one(ASSAY_OP_UNARY, 1, &in,
                   (struct slices_operand){ASSAY_S16, 2, {3, 2}, NULL});
    struct assay_program *p = &s->layers[0].out_program;
    int16_t got[6];
    static const int16_t masked[6] = {62, 62, -63, -63, 0, 0};
    static const int16_t zero[6] = {62, 0, -63, 0, 0, 0};

    (void)state;
    slices_step(p, ASSAY_STEP_SHR, 2, counts, NULL);
    slices_bits(p, ASSAY_STEP_SAT, 16);
    assert_int_equal(scaled_try(s, "R11=masked", values, 1, got), 0);
    assert_memory_equal(got, masked, sizeof(got));
    assert_int_equal(scaled_try(s, "R11=zero", values, 1, got), 0);
    assert_memory_equal(got, zero, sizeof(got));
    assay_slice_free(s);
}

/* ---- others made of scales ------------------------------------------------- */

static void test_quantize(void **state)
{
    const struct slices_operand in = {ASSAY_F32, 1, {N}, NULL};
    struct assay_slice *s = slices_one(
        ASSAY_OP_UNARY, 1, &in, (struct slices_operand){ASSAY_S8, 1, {N}, 0});
    const float by = 0.1f, two = 0.25f;
    float x[N];
    const void *values[1] = {x};
    int8_t got[N];
    int changed = 0;

    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = 0.05f * (float)scaled_random(-220, 220);
    scaled_quant(s, 1, 0, 1, &by, 3);
    scaled_arith(s, ASSAY_REAL_UNARY, "dq_q");
    assert_int_equal(scaled_try(s, "R21", values, 1, got), 0);
    for (int i = 0; i < N; i++) {
        assert_int_equal(
            got[i], scaled_clamp((int64_t)nearbyintf(x[i] * (1.0f / by)) + 3,
                                 -128, 127));
        changed += nearbyintf(x[i] * (1.0f / by)) != nearbyintf(x[i] / by);
    }
    assert_int_equal(scaled_try(s, "R22", values, 1, got), 0);
    for (int i = 0; i < N; i++) {
        assert_int_equal(
            got[i],
            scaled_clamp((int64_t)floorf(x[i] / by + 0.5f) + 3, -128, 127));
        changed += floorf(x[i] / by + 0.5f) != nearbyintf(x[i] / by);
    }
    assert_true(changed > 0);
    assert_int_equal(scaled_try(s, "R5=trunc", values, 1, got), 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(
            got[i], scaled_clamp((int64_t)truncf(x[i] / by) + 3, -128, 127));
    scaled_quant(s, 1, 0, 1, &two, 3);
    scaled_arith(s, ASSAY_REAL_UNARY, "dq_q");
    assert_int_equal(scaled_try(s, "R21", values, 1, got), ASSAY_EDIT_SAME);
    assay_slice_free(s);
}

/* Two operands of int8; scales 0.11 and 0.07, zero points 4 and -6. */
static struct assay_slice *open_pair(enum assay_real_op op, const char *arith)
{
    const struct slices_operand in[2] = {{ASSAY_S8, 1, {N}, NULL},
                                         {ASSAY_S8, 1, {N}, NULL}};
    struct assay_slice *s = slices_one(
        ASSAY_OP_BINARY, 2, in, (struct slices_operand){ASSAY_S8, 1, {N}, 0});
    const float a = 0.11f, b = 0.07f, c = 0.19f;

    scaled_quant(s, 0, 0, 1, &a, 4);
    scaled_quant(s, 1, 0, 1, &b, -6);
    scaled_quant(s, 2, 0, 1, &c, 3);
    scaled_arith(s, op, arith);
    return s;
}

static void test_pairs(void **state)
{
    struct assay_slice *s = open_pair(ASSAY_REAL_ADD, "ort_sse");
    const float ra = 0.11f / 0.19f, rb = 0.07f / 0.19f;
    const float fixed_part = 3.0f - (ra * 4.0f + rb * -6.0f);
    const float k = 0.11f * 0.07f / 0.19f;
    int8_t a[N], b[N], got[N];
    const void *values[2] = {a, b};

    (void)state;
    scaled_fill(ASSAY_S8, a, N);
    scaled_fill(ASSAY_S8, b, N);
    assert_int_equal(scaled_try(s, "R6=fused", values, 2, got), 0);
    for (int i = 0; i < N; i++) {
        float v = fmaf((float)b[i], rb, fmaf((float)a[i], ra, fixed_part));

        assert_int_equal(got[i],
                         scaled_clamp((int64_t)nearbyintf(v), -128, 127));
    }
    assert_int_equal(scaled_try(s, "R6=plain", values, 2, got),
                     ASSAY_EDIT_SAME);
    assert_int_equal(scaled_try(s, "R5=trunc", values, 2, got), 0);
    for (int i = 0; i < N; i++) {
        float first = (float)a[i] * ra;
        float second = (float)b[i] * rb;
        float v = (first + fixed_part) + second;

        assert_int_equal(got[i], (int64_t)truncf(fminf(fmaxf(v, -128), 127)));
    }
    assay_slice_free(s);
    s = open_pair(ASSAY_REAL_MUL, "fp32_rne_zpin");
    assert_int_equal(scaled_try(s, "R20", values, 2, got), ASSAY_EDIT_SAME);
    assert_int_equal(scaled_try(s, "R6=fused", values, 2, got), 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(
            got[i],
            scaled_clamp((int64_t)nearbyintf(
                             fmaf((float)((a[i] - 4) * (b[i] + 6)), k, 3.0f)),
                         -128, 127));
    assert_int_equal(scaled_try(s, "R5=rne", values, 2, got), 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(
            got[i],
            scaled_clamp(
                (int64_t)nearbyintf((float)((a[i] - 4) * (b[i] + 6)) * k) + 3,
                -128, 127));
    assay_slice_free(s);
}

/* A concat rescales each input by itself. */
static void test_concat(void **state)
{
    const struct slices_operand in[2] = {{ASSAY_S8, 1, {N}, NULL},
                                         {ASSAY_S8, 1, {N}, NULL}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_CONCAT, 2, in,
                   (struct slices_operand){ASSAY_S8, 1, {2 * N}, NULL});
    const float a = 0.11f, c = 0.19f;
    int8_t x[N], y[N], got[2 * N];
    const void *values[2] = {x, y};

    (void)state;
    scaled_fill(ASSAY_S8, x, N);
    scaled_fill(ASSAY_S8, y, N);
    scaled_quant(s, 0, 0, 1, &a, 4);
    scaled_quant(s, 1, 0, 1, &c, 3);
    scaled_quant(s, 2, 0, 1, &c, 3);
    scaled_arith(s, ASSAY_REAL_CONCAT, "dq_q");
    assert_int_equal(scaled_try(s, "R19", values, 2, got), 0);
    for (int i = 0; i < N; i++) {
        int64_t m = (int64_t)rint(256.0 * (double)(0.11f / 0.19f));

        assert_int_equal(
            got[i],
            scaled_clamp(scaled_shift((x[i] - 4) * m, 8, 'u') + 3, -128, 127));
        assert_int_equal(got[N + i], y[i]);
    }
    assert_int_equal(scaled_try(s, "R5=trunc", values, 2, got), 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(
            got[i],
            scaled_clamp((int64_t)truncf((float)(x[i] - 4) * 0.11f / 0.19f) + 3,
                         -128, 127));
    assay_slice_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed), cmocka_unit_test(test_counts),
        cmocka_unit_test(test_relu),  cmocka_unit_test(test_quantize),
        cmocka_unit_test(test_pairs), cmocka_unit_test(test_concat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
