/* SPDX-License-Identifier: Apache-2.0 */
/*
 * S4: convolutions and gemms in binary32, against the products listed in the
 * source's order and added up as each variant's name says; and the search,
 * which is given what such a layer computes.
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
#include <string.h>

#include "host-tools/cause/float_sum.h"
#include "host-tools/cause/search.h"
#include "lib/engine/once.h"
#include "tests/support/scaled.h"
#include "tests/support/slices.h"

#define SIDE 16
#define OC 4
#define TAPS 9
#define MOST 600 /* products of one element */

/* 3x3, padding 1, C channels, G groups; as large as x. */
struct conv {
    int c, groups;
    bool bias;
    enum assay_dtype dtype;
    struct assay_slice *s;
    int16_t wide[SIDE * SIDE * 64];
    int8_t narrow[SIDE * SIDE * 64], w[OC * TAPS * 64];
    int32_t b[OC];
    const void *x;
};

static const float x_scale = 0.0513f, y_scale = 0.0477f;
static const float w_scales[OC] = {0.0011f, 0.00213f, 0.0071f, 0.00033f};

enum { X_ZERO = 5, Y_ZERO = -7 };

static void open_conv(struct conv *c)
{
    int ic = c->c / c->groups;
    struct slices_operand in[3] = {
        {c->dtype, 4, {1, SIDE, SIDE, c->c}, NULL},
        {ASSAY_S8, 4, {OC, 3, 3, ic}, c->w},
        {ASSAY_S32, 1, {OC}, c->b},
    };

    scaled_fill(ASSAY_S8, c->narrow, sizeof(c->narrow));
    scaled_fill(ASSAY_S16, c->wide, sizeof(c->wide) / 2);
    scaled_fill(ASSAY_S8, c->w, sizeof(c->w));
    for (int i = 0; i < OC; i++)
        c->b[i] = scaled_random(-90000, 90000);
    c->x = c->dtype == ASSAY_S16 ? (void *)c->wide : (void *)c->narrow;
    c->s = slices_one(
        ASSAY_OP_CONV2D, c->bias ? 3 : 2, in,
        (struct slices_operand){c->dtype, 4, {1, SIDE, SIDE, OC}, NULL});
    c->s->layers[0].p.conv2d =
        (struct assay_conv2d_params){.stride_h = 1,
                                     .stride_w = 1,
                                     .dilation_h = 1,
                                     .dilation_w = 1,
                                     .pad_top = 1,
                                     .pad_left = 1,
                                     .pad_bottom = 1,
                                     .pad_right = 1,
                                     .groups = c->groups,
                                     .has_bias = c->bias};
    slices_quant(c->s, 0, x_scale, X_ZERO);
    scaled_quant(c->s, 1, 0, OC, w_scales, 0);
    slices_quant(c->s, c->s->layers[0].output, y_scale, Y_ZERO);
    scaled_arith(c->s, ASSAY_REAL_CONV, "fp32_rne");
}

/* Operands of element e in the order of the source: channel, row, column. */
static int list(const struct conv *c, int e, float *x, float *w)
{
    int o = e % OC, at = e / OC, ic = c->c / c->groups, n = 0;
    int base = o / (OC / c->groups) * ic;

    for (int k = 0; k < ic; k++)
        for (int t = 0; t < TAPS; t++, n++) {
            int row = at / SIDE + t / 3 - 1, column = at % SIDE + t % 3 - 1;
            int i = (row * SIDE + column) * c->c + base + k;

            w[n] = (float)c->w[(o * TAPS + t) * ic + k] * w_scales[o];
            if (row < 0 || row >= SIDE || column < 0 || column >= SIDE)
                x[n] = 0;
            else
                x[n] = (float)((c->dtype == ASSAY_S16 ? c->wide[i]
                                                      : c->narrow[i]) -
                               X_ZERO) *
                       x_scale;
        }
    return n;
}

static float chain(const float *x, const float *w, int n)
{
    float sum = 0;

    for (int i = 0; i < n; i++)
        sum = fmaf(x[i], w[i], sum);
    return sum;
}

static float blocks(const float *x, const float *w, int n, int size)
{
    float sum = chain(x, w, n < size ? n : size);

    for (int i = size; i < n; i += size)
        sum = sum + chain(x + i, w + i, n - i < size ? n - i : size);
    return sum;
}

static float plain(const float *x, const float *w, int n)
{
    float sum = 0;

    for (int i = 0; i < n; i++) {
        volatile float product = x[i] * w[i];

        sum = sum + product;
    }
    return sum;
}

static float quads(const float *x, const float *w, int n)
{
    float sum = 0;
    int i = 0;

    for (; i + 4 <= n; i += 4) {
        volatile float a = x[i] * w[i], b = x[i + 1] * w[i + 1];
        volatile float d = x[i + 2] * w[i + 2], e = x[i + 3] * w[i + 3];

        sum = sum + (((a + b) + d) + e);
    }
    if (i + 2 <= n) {
        volatile float a = x[i] * w[i], b = x[i + 1] * w[i + 1];

        sum = sum + (a + b);
        i += 2;
    }
    if (i < n) {
        volatile float a = x[i] * w[i];

        sum = sum + a;
    }
    return sum;
}

static int64_t expected(const struct conv *c, uint32_t variant, int e)
{
    float x[MOST], w[MOST], sum;
    int n = list(c, e, x, w), o = e % OC;
    double lo = c->dtype == ASSAY_S16 ? -32768 : -128;
    double hi = c->dtype == ASSAY_S16 ? 32767 : 127;

    switch (variant) {
    case 0: sum = chain(x, w, n); break;
    case 1: sum = blocks(x, w, n, 128); break;
    case 2: sum = blocks(x, w, n, 256); break;
    case 3: sum = blocks(x, w, n, 512); break;
    case 4: sum = plain(x, w, n); break;
    default: sum = quads(x, w, n); break;
    }
    if (c->bias) {
        volatile float scale = x_scale * w_scales[o];

        sum = sum + (float)c->b[o] * scale;
    }
    sum = rintf(sum / y_scale);
    return (int64_t)fmin(fmax((double)sum + Y_ZERO, lo), hi);
}

static struct conv convs[] = {
    {.c = 3, .groups = 1, .bias = true, .dtype = ASSAY_S8},
    {.c = 64, .groups = 1, .bias = true, .dtype = ASSAY_S16},
    {.c = 4, .groups = 4, .bias = false, .dtype = ASSAY_S16},
    {.c = 32, .groups = 2, .bias = true, .dtype = ASSAY_S16},
};

static void test_orders(void **state)
{
    uint32_t variants = assay_cause_variants(assay_cause_of(ASSAY_CAUSE_S4));
    struct assay_float_form f;

    (void)state;
    assert_int_equal(variants, 6);
    assert_false(assay_float_form_variant(variants, &f));
    for (size_t k = 0; k < sizeof(convs) / sizeof(convs[0]); k++) {
        struct conv *c = &convs[k];
        int products = TAPS * c->c / c->groups, apart = 0;

        open_conv(c);
        for (uint32_t v = 0; v < variants; v++) {
            int64_t given[SIDE * SIDE * OC], one;

            assert_true(assay_float_form_variant(v, &f));
            assert_int_equal(assay_float_form_fits(c->s, 0, &f),
                             (int)f.block >= products ? ASSAY_EDIT_SAME : 0);
            assay_float_sums(c->s, 0, &f, c->x, 0, SIDE * SIDE * OC, given);
            for (int e = 0; e < SIDE * SIDE * OC; e++) {
                assert_int_equal(given[e], expected(c, v, e));
                apart += given[e] != expected(c, 0, e);
            }
            assay_float_sums(c->s, 0, &f, c->x, 17, 1, &one);
            assert_int_equal(one, given[17]);
        }
        /* Of many products, the order shows. */
        assert_true(apart > 0 || products < 100);
        assay_slice_free(c->s);
    }
}

static void test_not_here(void **state)
{
    const struct assay_float_form f = {.fused = true};
    struct conv *c = &convs[0];
    struct assay_layer *l;

    (void)state;
    open_conv(c);
    l = &c->s->layers[0];
    assert_int_equal(assay_float_form_fits(c->s, 0, &f), 0);
    l->real_op = ASSAY_REAL_NONE; /* made of integers */
    assert_int_equal(assay_float_form_fits(c->s, 0, &f), ASSAY_EDIT_NOT_HERE);
    l->real_op = ASSAY_REAL_CONV;
    c->s->tensors[0].quant.n = 0;
    assert_int_equal(assay_float_form_fits(c->s, 0, &f), ASSAY_EDIT_NOT_HERE);
    c->s->tensors[0].quant.n = 1;
    c->s->tensors[l->output].dtype = ASSAY_F32;
    assert_int_equal(assay_float_form_fits(c->s, 0, &f), ASSAY_EDIT_NOT_HERE);
    assay_slice_free(c->s);
}

/* An int16 layer that was computed in floats is found to be so. */
static void test_search(void **state)
{
    const struct assay_search_options o = {.pairs = true};
    const uint32_t plain_form = 4;
    struct conv *c = &convs[1];
    int16_t base[SIDE * SIDE * OC], got[SIDE * SIDE * OC];
    int64_t given[SIDE * SIDE * OC];
    const void *inputs[3] = {c->x}; /* weights and bias are constants */
    struct assay_suspect_sample sample = {inputs, base, got};
    struct assay_suspect s = {.samples = &sample, .n_samples = 1};
    struct assay_search *found;
    struct assay_float_form f;
    char text[80];

    (void)state;
    open_conv(c);
    s.one = c->s;
    assert_true(assay_float_form_variant(plain_form, &f));
    assert_int_equal(assay_once(c->s, 0, inputs, 1, base, sizeof(base), NULL),
                     0);
    assay_float_sums(c->s, 0, &f, c->x, 0, SIDE * SIDE * OC, given);
    for (int e = 0; e < SIDE * SIDE * OC; e++)
        got[e] = (int16_t)given[e];
    assert_int_equal(assay_cause_search(&found, &s, &o, NULL), 0);
    assert_true(found->differing > 0);
    assert_int_equal(found->n_proved, 1);
    assay_hypothesis_text(&found->v[0], assay_suspect_output(&s), text,
                          sizeof(text));
    assert_string_equal(text, "S4=plain");
    assay_search_free(found);
    /* One element of another order is enough against it. */
    got[3] = (int16_t)(got[3] + 1);
    assert_int_equal(assay_cause_search(&found, &s, &o, NULL), 0);
    assert_int_equal(found->n_proved, 0);
    assay_search_free(found);
    assay_slice_free(c->s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_not_here),
        cmocka_unit_test(test_search),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
