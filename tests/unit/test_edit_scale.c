/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Q, S, F of the catalogue: small layers before and after each edit, against
 * plain formulas written here.
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

#define M 64 /* rows */
#define K 8
#define OC 4

static const float x_scale = 0.0513f, y_scale = 1.17f;
static const float w_scales[OC] = {0.2f, 0.213f, 0.71f, 0.033f};

struct gemm {
    struct assay_slice *s;
    int8_t x[M * K], w[OC * K];
    const void *values[1];
};

static void open_gemm(struct gemm *g, const float *scales)
{
    struct slices_operand in[2] = {
        {ASSAY_S8, 2, {M, K}, NULL},
        {ASSAY_S8, 2, {OC, K}, g->w},
    };

    scaled_fill(ASSAY_S8, g->x, sizeof(g->x));
    scaled_fill(ASSAY_S8, g->w, sizeof(g->w));
    g->s = slices_one(ASSAY_OP_GEMM, 2, in,
                      (struct slices_operand){ASSAY_S8, 2, {M, OC}, NULL});
    scaled_quant(g->s, 0, 0, 1, &x_scale, 4);
    scaled_quant(g->s, 1, 0, OC, scales, 0);
    scaled_quant(g->s, 2, 0, 1, &y_scale, -9);
    scaled_arith(g->s, ASSAY_REAL_CONV, "fp32_rne");
    g->values[0] = g->x;
}

static int64_t sum(const struct gemm *g, int i)
{
    int64_t v = 0;

    for (int k = 0; k < K; k++)
        v += (g->x[i / OC * K + k] - 4) * g->w[i % OC * K + k];
    return v;
}

/* The edited layer scales by x * w[channel] / y. */
static void scales_by(const struct gemm *g, const char *edit, float x,
                      const float *w, float y)
{
    int8_t got[SCALED_MAX], base[SCALED_MAX];
    int rc = scaled_try(g->s, edit, g->values, 1, got), changed = 0;

    if (rc)
        fail_msg("%s gave %d", edit, rc);
    scaled_run(g->s, g->values, 1, base);
    for (int i = 0; i < M * OC; i++) {
        float v = (float)sum(g, i) * (x * w[i % OC] / y);
        int64_t want = scaled_clamp((int64_t)nearbyintf(v) - 9, -128, 127);

        if (got[i] != want)
            fail_msg("%s: element %d: got %d, want %lld", edit, i, got[i],
                     (long long)want);
        changed += got[i] != base[i];
    }
    if (changed == 0)
        fail_msg("%s changed nothing", edit);
}

static void gives(const struct assay_slice *s, const void *const *values,
                  uint32_t n, const char *edit, int want)
{
    int8_t out[SCALED_MAX];
    int got = scaled_try(s, edit, values, n, out);

    if (got != want)
        fail_msg("%s gave %d, expected %d", edit, got, want);
}

static void test_scales(void **state)
{
    static const float first[OC] = {0.2f, 0.2f, 0.2f, 0.2f};
    static const float most[OC] = {0.71f, 0.71f, 0.71f, 0.71f};
    double all = 0;
    float mean[OC];
    struct gemm g;

    (void)state;
    for (int o = 0; o < OC; o++)
        all += (double)w_scales[o];
    for (int o = 0; o < OC; o++)
        mean[o] = (float)(all / OC);
    open_gemm(&g, w_scales);
    scales_by(&g, "Q1", x_scale, first, y_scale);
    scales_by(&g, "Q2=max", x_scale, most, y_scale);
    scales_by(&g, "Q2=mean", x_scale, mean, y_scale);
    scales_by(&g, "Q3=missing", 1, w_scales, y_scale);
    scales_by(&g, "Q3=twice", x_scale * x_scale, w_scales, y_scale);
    scales_by(&g, "Q4=up", x_scale, w_scales, y_scale / 2);
    scales_by(&g, "Q4=down", x_scale, w_scales, y_scale * 2);
    scales_by(&g, "Q6=first", x_scale, w_scales, x_scale);
    gives(g.s, g.values, 1, "Q3=other", ASSAY_EDIT_NOT_HERE);
    gives(g.s, g.values, 1, "Q6=second", ASSAY_EDIT_NOT_HERE);
    gives(g.s, g.values, 1, "Q7=raw", ASSAY_EDIT_NOT_HERE);
    gives(g.s, g.values, 1, "S1=floor", ASSAY_EDIT_NOT_HERE);
    gives(g.s, g.values, 1, "S2", ASSAY_EDIT_NOT_HERE);
    gives(g.s, g.values, 1, "S3", ASSAY_EDIT_NOT_HERE);
    gives(g.s, g.values, 1, "F3=lowest", ASSAY_EDIT_NOT_HERE);
    assay_slice_free(g.s);
    open_gemm(&g, first);
    gives(g.s, g.values, 1, "Q1", ASSAY_EDIT_SAME);
    gives(g.s, g.values, 1, "Q2=max", ASSAY_EDIT_SAME);
    assay_slice_free(g.s);
}

static void test_few_bits(void **state)
{
    struct gemm g;
    int8_t got[SCALED_MAX];

    (void)state;
    open_gemm(&g, w_scales);
    for (int bits = 16; bits <= 24; bits += 8) {
        assert_int_equal(
            scaled_try(g.s, bits == 16 ? "Q5=16" : "Q5=24", g.values, 1, got),
            0);
        for (int i = 0; i < M * OC; i++) {
            int64_t m = (int64_t)rint(ldexp(
                (double)x_scale * (double)w_scales[i % OC] / (double)y_scale,
                bits));

            assert_int_equal(
                got[i],
                scaled_clamp(scaled_shift(sum(&g, i) * m, bits, 'u') - 9, -128,
                             127));
        }
    }
    assay_slice_free(g.s);
}

/* Multipliers and shifts of a file: Q1, Q2, Q4 by steps, S1. */
static void test_fixed(void **state)
{
    static const int64_t multiplier[OC] = {20000, 32767, 17000, 30000};
    static const int64_t post[OC] = {14, 16, 12, 13};
    struct slices_operand in[2] = {{ASSAY_S16, 2, {M, K}, NULL},
                                   {ASSAY_S8, 2, {OC, K}, NULL}};
    int16_t x[M * K], got[M * OC];
    int8_t w[OC * K];
    const void *values[1] = {x};
    struct assay_program *p;
    struct assay_slice *s;
    static const struct {
        const char *edit;
        int like; /* channel, -1: its own */
        int more; /* of the shift */
        char last;
    } rows[] = {
        {"Q1", 0, 0, 0},
        {"Q2=max", 2, 0, 0},
        {"Q4=up", -1, -1, 0},
        {"Q4=down", -1, 1, 0},
        {"S1=half_even", -1, 0, 'e'},
        {"S1=half_up", -1, 0, 'u'},
        {"S1=floor", -1, 0, 'f'},
    };

    (void)state;
    for (int i = 0; i < M * K; i++)
        x[i] = (int16_t)scaled_random(-60, 60);
    scaled_fill(ASSAY_S8, w, sizeof(w));
    in[1].data = w;
    s = slices_one(ASSAY_OP_GEMM, 2, in,
                   (struct slices_operand){ASSAY_S16, 2, {M, OC}, NULL});
    p = &s->layers[0].out_program;
    slices_bits(p, ASSAY_STEP_WRAP, 32);
    slices_step(p, ASSAY_STEP_MUL, OC, multiplier, NULL);
    slices_step(p, ASSAY_STEP_SHR, OC, post, NULL);
    slices_bits(p, ASSAY_STEP_SAT, 16);
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        assert_int_equal(scaled_try(s, rows[r].edit, values, 1, got), 0);
        for (int i = 0; i < M * OC; i++) {
            int c = rows[r].like < 0 ? i % OC : rows[r].like;
            int64_t v = 0;

            for (int k = 0; k < K; k++)
                v += x[i / OC * K + k] * w[i % OC * K + k];
            v = scaled_shift(v * multiplier[c], (int)post[c] + rows[r].more,
                             'f');
            v = scaled_clamp(v, -32768, 32767);
            if (rows[r].last)
                v = 256 *
                    scaled_clamp(scaled_shift(v, 8, rows[r].last), -128, 127);
            if (got[i] != v)
                fail_msg("%s: element %d: got %d, want %lld", rows[r].edit, i,
                         got[i], (long long)v);
        }
    }
    gives(s, values, 1, "Q2=mean", ASSAY_EDIT_NOT_HERE);
    gives(s, values, 1, "Q3=twice", ASSAY_EDIT_NOT_HERE);
    gives(s, values, 1, "Q5=16", ASSAY_EDIT_NOT_HERE);
    assay_slice_free(s);
}

/* Two operands: that of the other one; the output's that of an input. */
static void test_pair(void **state)
{
    const struct slices_operand in[2] = {{ASSAY_S8, 1, {M}, NULL},
                                         {ASSAY_S8, 1, {M}, NULL}};
    struct assay_slice *s = slices_one(
        ASSAY_OP_BINARY, 2, in, (struct slices_operand){ASSAY_S8, 1, {M}, 0});
    const float a = 0.11f, b = 0.07f, y = 0.19f;
    int8_t p[M], q[M], got[M];
    const void *values[2] = {p, q};
    static const struct {
        const char *edit;
        float a, y;
    } rows[] = {{"Q3=other", 0.07f, 0.19f}, {"Q3=missing", 1, 0.19f},
                {"Q4=up", 0.11f, 0.095f},   {"Q4=down", 0.11f, 0.38f},
                {"Q6=first", 0.11f, 0.11f}, {"Q6=second", 0.11f, 0.07f}};

    (void)state;
    scaled_fill(ASSAY_S8, p, M);
    scaled_fill(ASSAY_S8, q, M);
    scaled_quant(s, 0, 0, 1, &a, 21);
    scaled_quant(s, 1, 0, 1, &b, -6);
    scaled_quant(s, 2, 0, 1, &y, 3);
    scaled_arith(s, ASSAY_REAL_ADD, "dq_q");
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        assert_int_equal(scaled_try(s, rows[r].edit, values, 2, got), 0);
        for (int i = 0; i < M; i++) {
            float v = ((float)(p[i] - 21) * rows[r].a + (float)(q[i] + 6) * b) /
                      rows[r].y;

            assert_int_equal(
                got[i], scaled_clamp((int64_t)nearbyintf(v) + 3, -128, 127));
        }
    }
    scaled_quant(s, 0, 0, 1, &b, 21);
    scaled_arith(s, ASSAY_REAL_ADD, "dq_q");
    gives(s, values, 2, "Q3=other", ASSAY_EDIT_SAME);
    assay_slice_free(s);
}

static void test_dequantize(void **state)
{
    const struct slices_operand in = {ASSAY_S8, 1, {M}, NULL};
    struct assay_slice *s = slices_one(
        ASSAY_OP_UNARY, 1, &in, (struct slices_operand){ASSAY_F32, 1, {M}, 0});
    const float one = 1;
    int8_t x[M];
    float got[M];
    const void *values[1] = {x};

    (void)state;
    scaled_fill(ASSAY_S8, x, M);
    scaled_quant(s, 0, 0, 1, &x_scale, 5);
    scaled_arith(s, ASSAY_REAL_UNARY, "dq_q");
    assert_int_equal(scaled_try(s, "Q7=raw", values, 1, got), 0);
    for (int i = 0; i < M; i++)
        assert_true(got[i] == (float)x[i]);
    assert_int_equal(scaled_try(s, "Q7=centred", values, 1, got), 0);
    for (int i = 0; i < M; i++)
        assert_true(got[i] == (float)(x[i] - 5));
    scaled_quant(s, 0, 0, 1, &one, 5);
    scaled_arith(s, ASSAY_REAL_UNARY, "dq_q");
    assert_int_equal(scaled_try(s, "Q7=raw", values, 1, got), 0);
    gives(s, values, 1, "Q7=centred", ASSAY_EDIT_SAME);
    assay_slice_free(s);
}

/* Floats beyond int32: what the two CPUs' conversions give. */
static void test_late_clamp(void **state)
{
    static const float x[6] = {1e20f, -1e20f, 1000, -1000, 3, -3.4e38f};
    const struct slices_operand in = {ASSAY_F32, 1, {6}, NULL};
    const void *values[1] = {x};
    const float by = 0.25f;

    (void)state;
    for (int positive = 0; positive < 2; positive++) {
        struct assay_slice *s =
            slices_one(ASSAY_OP_UNARY, 1, &in,
                       (struct slices_operand){ASSAY_S8, 1, {6}, NULL});
        int32_t zero = positive ? 5 : -5;
        int8_t got[6];

        scaled_quant(s, 1, 0, 1, &by, zero);
        scaled_arith(s, ASSAY_REAL_UNARY, "dq_q");
        assert_int_equal(scaled_try(s, "F3=saturated", values, 1, got), 0);
        for (int i = 0; i < 6; i++) {
            int64_t v = (int64_t)fmax(
                fmin(rint((double)x[i] / 0.25), INT32_MAX), INT32_MIN);
            int64_t w = (int32_t)(uint32_t)(uint64_t)(v + zero);

            assert_int_equal(got[i], scaled_clamp(w, -128, 127));
        }
        /* zero point 5: INT32_MAX + 5 wraps; -5: INT32_MIN - 5 does. */
        assert_int_equal(got[0], positive ? -128 : 127);
        assert_int_equal(got[1], positive ? -128 : 127);
        assert_int_equal(scaled_try(s, "F3=lowest", values, 1, got), 0);
        /* INT32_MIN for all that is out of range. */
        assert_int_equal(got[0], positive ? -128 : 127);
        assert_int_equal(got[1], positive ? -128 : 127);
        assert_int_equal(got[2], 127);
        assert_int_equal(got[3], -128);
        assert_int_equal(got[4], 12 + zero);
        assay_slice_free(s);
    }
    /* From int8 nothing is out of range. */
    struct slices_operand narrow = {ASSAY_S8, 1, {6}, NULL};
    struct assay_slice *s =
        slices_one(ASSAY_OP_UNARY, 1, &narrow,
                   (struct slices_operand){ASSAY_S8, 1, {6}, 0});

    scaled_quant(s, 0, 0, 1, &x_scale, 0);
    scaled_quant(s, 1, 0, 1, &by, 0);
    scaled_arith(s, ASSAY_REAL_UNARY, "dq_q");
    gives(s, values, 1, "F3=saturated", ASSAY_EDIT_SAME);
    assay_slice_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scales),     cmocka_unit_test(test_few_bits),
        cmocka_unit_test(test_fixed),      cmocka_unit_test(test_pair),
        cmocka_unit_test(test_dequantize), cmocka_unit_test(test_late_clamp),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
