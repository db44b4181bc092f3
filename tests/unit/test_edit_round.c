/* SPDX-License-Identifier: Apache-2.0 */
/*
 * R of the catalogue: small layers before and after each edit, against plain
 * formulas written here.
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

#define OC 6
#define PIXELS 60
#define K 12

/* ---- formulas ----------------------------------------------------------- */

static int64_t wrap32(int64_t v)
{
    return (int32_t)(uint32_t)(uint64_t)v;
}

static void derive(double real, int64_t *m, int *s)
{
    double q = frexp(real, s);

    *m = (int64_t)round(q * 2147483648.0);
    if (*m == (int64_t)1 << 31) {
        *m /= 2;
        (*s)++;
    }
}

/* ---- a convolution made of scales ------------------------------------------ */

static const float w_scales[OC] = {0.01f,  0.0213f, 0.71f,
                                   0.033f, 1.5f,    0.0013f};
static const float x_scale = 0.5137f, y_scale = 0.2517f;

struct conv {
    struct assay_slice *s;
    int8_t x[PIXELS * K], w[OC * K];
    int32_t bias[OC];
    const void *values[1];
    int zero;
};

static void open_conv(struct conv *c, const char *arith, int zero, int big)
{
    struct slices_operand in[3] = {
        {ASSAY_S8, 4, {1, 6, 10, K}, NULL},
        {ASSAY_S8, 4, {OC, 1, 1, K}, c->w},
        {ASSAY_S32, 1, {OC}, c->bias},
    };

    scaled_fill(ASSAY_S8, c->x, sizeof(c->x));
    scaled_fill(ASSAY_S8, c->w, sizeof(c->w));
    for (int o = 0; o < OC; o++)
        c->bias[o] = scaled_random(-big, big);
    /* Channels of a scale above a half: outputs that do not saturate. */
    for (int o = 2; o < OC && big < 10000; o += 2) {
        c->bias[o] = scaled_random(-20, 20);
        for (int k = 0; k < K; k++)
            c->w[o * K + k] = k == 0;
    }
    c->zero = zero;
    c->s = slices_one(ASSAY_OP_CONV2D, 3, in,
                      (struct slices_operand){ASSAY_S8, 4, {1, 6, 10, OC}, 0});
    c->s->layers[0].p.conv2d = (struct assay_conv2d_params){.stride_h = 1,
                                                            .stride_w = 1,
                                                            .dilation_h = 1,
                                                            .dilation_w = 1,
                                                            .groups = 1,
                                                            .has_bias = true};
    scaled_quant(c->s, 0, 0, 1, &x_scale, 5);
    scaled_quant(c->s, 1, 0, OC, w_scales, 0);
    scaled_quant(c->s, 3, 0, 1, &y_scale, zero);
    scaled_arith(c->s, ASSAY_REAL_CONV, arith);
    c->values[0] = c->x;
}

static int64_t sum(const struct conv *c, int pixel, int o)
{
    int64_t v = c->bias[o];

    for (int k = 0; k < K; k++)
        v += (c->x[pixel * K + k] - 5) * c->w[o * K + k];
    return wrap32(v);
}

static float narrow_scale(int o)
{
    return x_scale * w_scales[o] / y_scale;
}

static double real_scale(int o)
{
    return (double)x_scale * (double)w_scales[o] / (double)y_scale;
}

/* What the layer gives for one sum, without zero point and range. */
static int64_t formula(const char *id, int64_t v, int o, int zero)
{
    int64_t m, high, a;
    float f = (float)v * narrow_scale(o);
    double d = (double)v * real_scale(o);
    int s;

    derive(real_scale(o), &m, &s);
    a = s > 0 ? wrap32(v * ((int64_t)1 << s)) : v;
    high = (a * m + ((int64_t)1 << 30)) >> 31;
    if (!strcmp(id, "R1"))
        return scaled_shift(high, s < 0 ? -s : 0, 'a');
    if (!strcmp(id, "R2"))
        return scaled_shift(high, s < 0 ? -s : 0, 'u');
    if (!strcmp(id, "R3") || !strcmp(id, "q31_single"))
        return (v * m + ((int64_t)1 << (30 - s))) >> (31 - s);
    if (!strcmp(id, "R8")) {
        m = m < 0x7FFF0000 ? (m + (1 << 15)) >> 16 : 0x7FFF;
        return (v * m + ((int64_t)1 << (14 - s))) >> (15 - s);
    }
    if (!strcmp(id, "R9"))
        return (wrap32((v * m) >> (30 - s)) + 1) >> 1;
    if (!strcmp(id, "R10")) {
        a = s > 0 ? scaled_clamp(v * ((int64_t)1 << s), INT32_MIN, INT32_MAX)
                  : v;
        high = (a * m + ((int64_t)1 << 30)) >> 31;
        return scaled_shift(high, s < 0 ? -s : 0, 'a');
    }
    if (!strcmp(id, "R12=plain"))
        return scaled_shift(a * m >> 31, s < 0 ? -s : 0, 'u');
    if (!strcmp(id, "R12=forced")) {
        a = s >= 0 ? wrap32(v * ((int64_t)2 << s)) : v;
        return scaled_shift(a * m >> 31, s < 0 ? -s : 1, 'u');
    }
    if (!strcmp(id, "R13=floor"))
        return (v * m) >> (31 - s);
    if (!strcmp(id, "R13=trunc"))
        return v * m / ((int64_t)1 << (31 - s));
    if (!strcmp(id, "R14"))
        return (int64_t)ceilf(f);
    if (!strcmp(id, "R5=rne") || !strcmp(id, "fp32_rne"))
        return (int64_t)nearbyintf(f);
    if (!strcmp(id, "R5=half_away") || !strcmp(id, "R18=half_away"))
        return (int64_t)roundf(f);
    if (!strcmp(id, "R5=trunc"))
        return (int64_t)truncf(f);
    if (!strcmp(id, "R5=floor05"))
        return (int64_t)floorf(f + 0.5f);
    if (!strcmp(id, "R5=trunc05"))
        return (int64_t)truncf(f + copysignf(0.5f, f));
    if (!strcmp(id, "R18=half_up"))
        return (int64_t)floor((double)f + 0.5);
    if (!strcmp(id, "R20"))
        return (int64_t)nearbyintf(f + (float)zero) - zero;
    if (!strcmp(id, "R6=fused"))
        return (int64_t)nearbyintf(
                   fmaf((float)v, narrow_scale(o), (float)zero)) -
               zero;
    if (!strcmp(id, "R7=float64"))
        return (int64_t)nearbyintf((float)v * (float)real_scale(o));
    if (!strcmp(id, "R23"))
        return (int64_t)round(d);
    fail_msg("no formula for %s", id);
    return 0;
}

/* Runs one edit and compares; how many elements it changed. */
static int check_conv(const struct conv *c, const char *edit, const char *base)
{
    int8_t got[SCALED_MAX];
    int changed = 0;
    int rc = scaled_try(c->s, edit, c->values, 1, got);

    if (rc)
        fail_msg("%s: edit gave %d", edit, rc);
    for (int p = 0; p < PIXELS; p++)
        for (int o = 0; o < OC; o++) {
            int64_t v = sum(c, p, o);
            int64_t want =
                scaled_clamp(formula(edit, v, o, c->zero) + c->zero, -128, 127);
            int64_t was =
                scaled_clamp(formula(base, v, o, c->zero) + c->zero, -128, 127);

            if (got[p * OC + o] != want)
                fail_msg("%s: sum %lld channel %d: got %d, want %lld", edit,
                         (long long)v, o, got[p * OC + o], (long long)want);
            changed += want != was;
        }
    return changed;
}

static void gives(const struct conv *c, const char *edit, int rc)
{
    int8_t out[SCALED_MAX];
    int got = scaled_try(c->s, edit, c->values, 1, out);

    if (got != rc)
        fail_msg("%s: edit gave %d, expected %d", edit, got, rc);
}

static void test_named(void **state)
{
    static const char *const edits[] = {
        "R1",           "R2",          "R3",
        "R5=half_away", "R5=trunc",    "R5=floor05",
        "R5=trunc05",   "R8",          "R12=plain",
        "R12=forced",   "R13=floor",   "R13=trunc",
        "R14",          "R18=half_up", "R18=half_away",
        "R20",          "R6=fused",    "R7=float64",
        "R23"};
    struct conv c;

    (void)state;
    open_conv(&c, "fp32_rne", 3, 4000);
    for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++)
        (void)check_conv(&c, edits[i], "fp32_rne");
    assert_true(check_conv(&c, "R5=trunc", "fp32_rne") > 20);
    assert_true(check_conv(&c, "R13=floor", "fp32_rne") > 20);
    assert_true(check_conv(&c, "R14", "fp32_rne") > 20);
    assert_true(check_conv(&c, "R12=plain", "fp32_rne") > 5);
    gives(&c, "R5=rne", ASSAY_EDIT_SAME);
    gives(&c, "R18=half_even", ASSAY_EDIT_SAME);
    gives(&c, "R7=float32", ASSAY_EDIT_SAME);
    gives(&c, "R9", ASSAY_EDIT_NOT_HERE); /* no sum is so large */
    gives(&c, "R11=zero", ASSAY_EDIT_NOT_HERE);
    gives(&c, "R15=floor", ASSAY_EDIT_NOT_HERE);
    gives(&c, "R16=sat", ASSAY_EDIT_NOT_HERE);
    gives(&c, "R19", ASSAY_EDIT_NOT_HERE);
    gives(&c, "R21", ASSAY_EDIT_NOT_HERE);
    gives(&c, "R22", ASSAY_EDIT_NOT_HERE);
    gives(&c, "R6=plain", ASSAY_EDIT_NOT_HERE);
    assay_slice_free(c.s);
    open_conv(&c, "fp32_rne", 0, 4000);
    gives(&c, "R20", ASSAY_EDIT_SAME);
    gives(&c, "R6=fused", ASSAY_EDIT_SAME);
    assay_slice_free(c.s);
    open_conv(&c, "q31_single", 3, 4000);
    gives(&c, "R3", ASSAY_EDIT_SAME);
    assert_int_equal(check_conv(&c, "R5=rne", "R5=rne"), 0);
    assay_slice_free(c.s);
}

static void test_ties(void **state)
{
    static const int32_t sums[] = {-9, -7, -5, -3, -1, 1, 3, 5, 7, 9};
    struct conv c;
    int8_t got[SCALED_MAX];
    const float one = 1;

    (void)state;
    /* All weights 0, the bias is the sum; every scale is a half. */
    open_conv(&c, "fp32_rne", 3, 1);
    memset(c.w, 0, sizeof(c.w));
    slices_data(c.s, 1, c.w);
    for (int o = 0; o < OC; o++)
        c.bias[o] = sums[o + 2];
    slices_data(c.s, 2, c.bias);
    scaled_quant(c.s, 0, 0, 1, &one, 5);
    scaled_quant(c.s, 3, 0, 1, &one, 3);
    scaled_quant(c.s, 1, 0, OC, (const float[]){.5f, .5f, .5f, .5f, .5f, .5f},
                 0);
    scaled_arith(c.s, ASSAY_REAL_CONV, "fp32_rne");
    /* -2.5 -1.5 -0.5 0.5 1.5 2.5 */
    static const struct {
        const char *edit;
        int8_t want[OC];
    } rows[] = {
        {"R5=half_away", {-3, -2, -1, 1, 2, 3}},
        {"R5=trunc", {-2, -1, 0, 0, 1, 2}},
        {"R5=floor05", {-2, -1, 0, 1, 2, 3}},
        {"R18=half_up", {-2, -1, 0, 1, 2, 3}},
        {"R18=half_down", {-3, -2, -1, 0, 1, 2}},
        {"R18=half_zero", {-2, -1, 0, 0, 1, 2}},
        {"R20", {-3, -1, -1, 1, 1, 3}}, /* of an odd zero point */
        {"R3", {-2, -1, 0, 1, 2, 3}},
        {"R14", {-2, -1, 0, 1, 2, 3}},
        {"R13=floor", {-3, -2, -1, 0, 1, 2}},
        {"R23", {-3, -2, -1, 1, 2, 3}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(scaled_try(c.s, rows[i].edit, c.values, 1, got), 0);
        for (int o = 0; o < OC; o++)
            if (got[o] - 3 != rows[i].want[o])
                fail_msg("%s: %d: got %d, want %d", rows[i].edit, sums[o + 2],
                         got[o] - 3, rows[i].want[o]);
    }
    assay_slice_free(c.s);
}

/* Sums that fill 32 bits: left shifts and 33-bit values. */
static void test_large(void **state)
{
    struct conv c;
    float large = 1e-7f;

    (void)state;
    open_conv(&c, "q31_double", 3, 2000000000);
    scaled_arith(c.s, ASSAY_REAL_CONV, "q31_double");
    assert_true(check_conv(&c, "R9", "R3") > 20);
    assert_true(check_conv(&c, "R10", "R1") >= 0);
    gives(&c, "R1", ASSAY_EDIT_SAME);
    /* No channel shifts to the left: that cannot saturate. */
    scaled_quant(c.s, 0, 0, 1, &large, 5);
    scaled_arith(c.s, ASSAY_REAL_CONV, "q31_double");
    gives(&c, "R10", ASSAY_EDIT_NOT_HERE);
    assay_slice_free(c.s);
}

static void test_tail(void **state)
{
    int8_t got[SCALED_MAX];
    int changed = 0;
    struct conv c;

    (void)state;
    open_conv(&c, "fp32_rne", 3, 4000);
    assert_int_equal(scaled_try(c.s, "R4=trunc4", c.values, 1, got), 0);
    for (int p = 0; p < PIXELS; p++)
        for (int o = 0; o < OC; o++) {
            int64_t v = sum(&c, p, o);
            int64_t body = formula("fp32_rne", v, o, 3);
            int64_t tail = formula("R5=trunc", v, o, 3);

            changed += o >= 4 && body != tail;
            assert_int_equal(
                got[p * OC + o],
                scaled_clamp((o < 4 ? body : tail) + 3, -128, 127));
        }
    assert_true(changed > 10);
    gives(&c, "R4=trunc8", ASSAY_EDIT_NOT_HERE); /* 6 channels: all tail */
    gives(&c, "R4=double16", ASSAY_EDIT_NOT_HERE);
    assay_slice_free(c.s);
    open_conv(&c, "q31_single", 3, 4000);
    gives(&c, "R4=single4", ASSAY_EDIT_SAME);
    assay_slice_free(c.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_named),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_tail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
