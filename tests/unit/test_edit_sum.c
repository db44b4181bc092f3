/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A, B, Z of the catalogue, and partial sums of 16 bits: a small convolution
 * with padding before and after each edit, against plain loops written here.
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

#include "host-tools/cause/partial.h"
#include "tests/support/scaled.h"
#include "tests/support/slices.h"

#define H 4
#define W 5
#define C 3
#define OC 4
#define KH 3
#define KW 2
#define TAPS (KH * KW * C)
#define N (H * W * OC)

static const float x_scale = 0.0513f, y_scale = 1.17f;
static const float w_scales[OC] = {0.11f, 0.213f, 0.71f, 0.033f};

/* 3x2, pads 1 0 1 1: as large as x. */
struct conv {
    struct assay_slice *s;
    uint8_t x[H * W * C], w[TAPS * OC];
    int32_t bias[OC];
    enum assay_dtype x_type, w_type;
    int32_t zx, zw, zy;
    const void *values[1];
};

static void open_conv(struct conv *c, enum assay_dtype x_type,
                      enum assay_dtype w_type, int32_t zx, int32_t zw,
                      int32_t zy)
{
    struct slices_operand in[3] = {
        {x_type, 4, {1, H, W, C}, NULL},
        {w_type, 4, {OC, KH, KW, C}, c->w},
        {ASSAY_S32, 1, {OC}, c->bias},
    };

    c->x_type = x_type;
    c->w_type = w_type;
    c->zx = zx;
    c->zw = zw;
    c->zy = zy;
    scaled_fill(ASSAY_U8, c->x, sizeof(c->x));
    scaled_fill(ASSAY_U8, c->w, sizeof(c->w));
    for (int o = 0; o < OC; o++)
        c->bias[o] = scaled_random(-40000, 40000);
    c->s =
        slices_one(ASSAY_OP_CONV2D, 3, in,
                   (struct slices_operand){ASSAY_S8, 4, {1, H, W, OC}, NULL});
    c->s->layers[0].p.conv2d = (struct assay_conv2d_params){
        .stride_h = 1,
        .stride_w = 1,
        .dilation_h = 1,
        .dilation_w = 1,
        .pad_top = 1,
        .pad_bottom = 1,
        .pad_right = 1,
        .groups = 1,
        .has_bias = true,
    };
    scaled_quant(c->s, 0, 0, 1, &x_scale, zx);
    scaled_quant(c->s, 1, 0, OC, w_scales, zw);
    scaled_quant(c->s, 3, 0, 1, &y_scale, zy);
    scaled_arith(c->s, ASSAY_REAL_CONV, "fp32_rne");
    c->values[0] = c->x;
}

/* What a fault makes of the operands. */
struct fault {
    bool flip_x, flip_w; /* the other type */
    int32_t zx, zw;      /* what is subtracted */
    int32_t padding;     /* what stands in the padding, before that */
    bool wrap_x;         /* x - zx in 8 bits */
    const int64_t *bias; /* NULL: its own */
};

static struct fault none(const struct conv *c)
{
    return (struct fault){.zx = c->zx, .zw = c->zw, .padding = c->zx};
}

static int64_t value(uint8_t byte, enum assay_dtype type, bool flip)
{
    return (type == ASSAY_S8) != flip ? (int8_t)byte : byte;
}

/* Operands of tap k of an output. */
static void tap(const struct conv *c, const struct fault *f, int y, int x,
                int o, int k, int64_t *a, int64_t *b)
{
    int row = y - 1 + k / (KW * C), column = x + k / C % KW;
    bool inside = row >= 0 && row < H && column >= 0 && column < W;

    *a = inside
             ? value(c->x[(row * W + column) * C + k % C], c->x_type, f->flip_x)
             : f->padding;
    *a -= f->zx;
    if (f->wrap_x)
        *a = (int8_t)(uint8_t)*a;
    *b = value(c->w[o * TAPS + k], c->w_type, f->flip_w) - f->zw;
}

static int64_t sum(const struct conv *c, const struct fault *f, int i)
{
    int o = i % OC;
    int64_t v = f->bias ? f->bias[o] : c->bias[o];

    for (int k = 0; k < TAPS; k++) {
        int64_t a, b;

        tap(c, f, i / OC / W, i / OC % W, o, k, &a, &b);
        v += a * b;
    }
    return v;
}

static float scale_of(int o)
{
    return x_scale * w_scales[o] / y_scale;
}

static int64_t rounded(int64_t v, int o)
{
    return (int64_t)nearbyintf((float)v * scale_of(o));
}

static void same_as(const struct conv *c, const char *edit,
                    const struct fault *f)
{
    int8_t got[SCALED_MAX], base[SCALED_MAX];
    int rc = scaled_try(c->s, edit, c->values, 1, got), changed = 0;
    const struct fault own = none(c);

    if (rc)
        fail_msg("%s gave %d", edit, rc);
    scaled_run(c->s, c->values, 1, base);
    for (int i = 0; i < N; i++) {
        int64_t want = rounded(sum(c, f, i), i % OC) + c->zy;
        int64_t was = rounded(sum(c, &own, i), i % OC) + c->zy;

        assert_int_equal(base[i], scaled_clamp(was, -128, 127));
        if (got[i] != scaled_clamp(want, -128, 127))
            fail_msg("%s: element %d: got %d, want %lld", edit, i, got[i],
                     (long long)want);
        changed += got[i] != base[i];
    }
    if (changed == 0)
        fail_msg("%s changed nothing", edit);
}

static void gives(const struct conv *c, const char *edit, int want)
{
    int8_t out[SCALED_MAX];
    int got = scaled_try(c->s, edit, c->values, 1, out);

    if (got != want)
        fail_msg("%s gave %d, expected %d", edit, got, want);
}

/* ---- bias ------------------------------------------------------------------ */

static void test_bias(void **state)
{
    struct conv c;
    struct fault f;
    int64_t b[OC];
    int8_t got[SCALED_MAX];

    (void)state;
    open_conv(&c, ASSAY_S8, ASSAY_S8, 3, 0, -7);
    f = none(&c);
    f.bias = b;
    memset(b, 0, sizeof(b));
    same_as(&c, "B1", &f);
    for (int o = 0; o < OC; o++)
        b[o] = c.bias[(o + OC - 1) % OC];
    same_as(&c, "B2=up", &f);
    for (int o = 0; o < OC; o++)
        b[o] = c.bias[(o + 1) % OC];
    same_as(&c, "B2=down", &f);
    for (int o = 0; o < OC; o++)
        b[o] = (int64_t)rint(c.bias[o] * ((double)x_scale * w_scales[o]));
    same_as(&c, "B3=real", &f);
    for (int o = 0; o < OC; o++)
        b[o] = (int64_t)rint(c.bias[o] * ((double)x_scale * w_scales[o]) /
                             y_scale);
    same_as(&c, "B3=output", &f);
    for (int o = 0; o < OC; o++)
        b[o] = 2 * c.bias[o];
    same_as(&c, "B5", &f);
    for (int o = 0; o < OC; o++)
        b[o] = scaled_clamp(c.bias[o], -128, 127);
    same_as(&c, "B6=8", &f);
    c.bias[1] = 40000;
    slices_data(c.s, 2, c.bias);
    for (int o = 0; o < OC; o++)
        b[o] = scaled_clamp(c.bias[o], -32768, 32767);
    same_as(&c, "B6=16", &f);
    memset(b, 0, sizeof(b));
    assert_int_equal(scaled_try(c.s, "B3=after", c.values, 1, got), 0);
    for (int i = 0; i < N; i++) {
        float v =
            (float)sum(&c, &f, i) * scale_of(i % OC) + (float)c.bias[i % OC];

        assert_int_equal(got[i],
                         scaled_clamp((int64_t)nearbyintf(v) - 7, -128, 127));
    }
    for (int o = 0; o < OC; o++)
        c.bias[o] = 0;
    slices_data(c.s, 2, c.bias);
    gives(&c, "B1", ASSAY_EDIT_SAME);
    gives(&c, "B2=up", ASSAY_EDIT_SAME);
    gives(&c, "B3=after", ASSAY_EDIT_SAME);
    gives(&c, "B5", ASSAY_EDIT_SAME);
    gives(&c, "B6=8", ASSAY_EDIT_SAME);
    c.s->layers[0].n_inputs = 2;
    c.s->layers[0].p.conv2d.has_bias = false;
    gives(&c, "B1", ASSAY_EDIT_NOT_HERE);
    gives(&c, "B4", ASSAY_EDIT_NOT_HERE);
    assay_slice_free(c.s);
}

/* ---- zero points ------------------------------------------------------------ */

static void test_input_zero(void **state)
{
    struct conv c;
    struct fault f;

    (void)state;
    open_conv(&c, ASSAY_U8, ASSAY_S8, 100, 0, 5);
    f = none(&c);
    f.zx = 0;
    same_as(&c, "Z1=ignored", &f);
    f.zx = 2 * c.zx;
    same_as(&c, "Z1=twice", &f);
    f = none(&c);
    f.wrap_x = true;
    same_as(&c, "Z1=wrap8", &f);
    f = none(&c);
    f.flip_x = true;
    same_as(&c, "A4=input", &f);
    f = none(&c);
    f.flip_w = true;
    same_as(&c, "A4=weights", &f);
    gives(&c, "Z3", ASSAY_EDIT_SAME);
    assay_slice_free(c.s);
    open_conv(&c, ASSAY_S8, ASSAY_U8, 0, 120, 0);
    f = none(&c);
    f.zw = 0;
    same_as(&c, "Z3", &f);
    f = none(&c);
    f.flip_x = true;
    same_as(&c, "A4=input", &f);
    gives(&c, "Z1=ignored", ASSAY_EDIT_SAME);
    gives(&c, "Z1=wrap8", ASSAY_EDIT_SAME);
    gives(&c, "Z2=saturate", ASSAY_EDIT_SAME);
    gives(&c, "Z4", ASSAY_EDIT_SAME);
    assay_slice_free(c.s);
    open_conv(&c, ASSAY_S8, ASSAY_U8, 0, 200, 0);
    gives(&c, "A4=weights", ASSAY_EDIT_NOT_HERE); /* 200 is no int8 */
    assay_slice_free(c.s);
}

static void test_output_zero(void **state)
{
    struct conv c;
    struct fault f;
    int8_t got[3][SCALED_MAX];
    int low = 0;

    (void)state;
    open_conv(&c, ASSAY_S8, ASSAY_S8, 3, 0, 60);
    f = none(&c);
    assert_int_equal(scaled_try(c.s, "Z4", c.values, 1, got[0]), 0);
    assert_int_equal(scaled_try(c.s, "Z2=saturate", c.values, 1, got[1]), 0);
    assert_int_equal(scaled_try(c.s, "Z2=wrap", c.values, 1, got[2]), 0);
    for (int i = 0; i < N; i++) {
        int64_t v = rounded(sum(&c, &f, i), i % OC);
        int64_t clamped = scaled_clamp(v, -128, 127);

        assert_int_equal(got[0][i], clamped);
        assert_int_equal(got[1][i], scaled_clamp(clamped + 60, -128, 127));
        assert_int_equal(got[2][i], (int8_t)(uint8_t)(clamped + 60));
        low += v < -188;
    }
    assert_true(low > 0);
    assay_slice_free(c.s);
}

/* Programs of operands subtract a zero point as well. */
static void test_added_zero(void **state)
{
    const struct slices_operand in[2] = {{ASSAY_S8, 1, {N}, NULL},
                                         {ASSAY_S8, 1, {N}, NULL}};
    struct assay_slice *s = slices_one(
        ASSAY_OP_BINARY, 2, in, (struct slices_operand){ASSAY_S8, 1, {N}, 0});
    const float a = 0.11f, b = 0.07f, y = 0.19f;
    int8_t p[N], q[N], got[N];
    const void *values[2] = {p, q};

    (void)state;
    scaled_fill(ASSAY_S8, p, N);
    scaled_fill(ASSAY_S8, q, N);
    scaled_quant(s, 0, 0, 1, &a, 21);
    scaled_quant(s, 1, 0, 1, &b, -6);
    scaled_quant(s, 2, 0, 1, &y, 3);
    scaled_arith(s, ASSAY_REAL_ADD, "dq_q");
    assert_int_equal(scaled_try(s, "Z1=ignored", values, 2, got), 0);
    for (int i = 0; i < N; i++) {
        float v = ((float)p[i] * a + (float)(q[i] + 6) * b) / y;

        assert_int_equal(got[i],
                         scaled_clamp((int64_t)nearbyintf(v) + 3, -128, 127));
    }
    assert_int_equal(scaled_try(s, "Z4", values, 2, got), 0);
    for (int i = 0; i < N; i++) {
        float v = ((float)(p[i] - 21) * a + (float)(q[i] + 6) * b) / y;

        assert_int_equal(got[i],
                         scaled_clamp((int64_t)nearbyintf(v), -128, 127));
    }
    assert_int_equal(scaled_try(s, "B1", values, 2, got), ASSAY_EDIT_NOT_HERE);
    assert_int_equal(scaled_try(s, "A4=input", values, 2, got),
                     ASSAY_EDIT_NOT_HERE);
    assay_slice_free(s);
}

/* ---- accumulators ----------------------------------------------------------- */

static void test_accumulator(void **state)
{
    static const int64_t thirty = 24;
    static const int8_t w[2] = {127, -128};
    int32_t bias[1] = {2147483000};
    int16_t x[6] = {32767, -32768, -32768, 32767, 1, 2};
    int8_t x8[6] = {100, -100, -100, 100, 1, 2};
    const void *values[1] = {x};
    int16_t got[3];

    (void)state;
    for (int wide = 1; wide >= 0; wide--) {
        struct slices_operand in[3] = {
            {wide ? ASSAY_S16 : ASSAY_S8, 2, {3, 2}, NULL},
            {ASSAY_S8, 2, {1, 2}, w},
            {ASSAY_S32, 1, {1}, bias},
        };
        struct assay_slice *s =
            slices_one(ASSAY_OP_GEMM, 3, in,
                       (struct slices_operand){ASSAY_S16, 2, {3, 1}, NULL});
        int64_t want[2][3];

        slices_shr(&s->layers[0].out_program, ASSAY_ROUND_FLOOR, &thirty);
        slices_bits(&s->layers[0].out_program, ASSAY_STEP_SAT, 16);
        values[0] = wide ? (void *)x : (void *)x8;
        for (int i = 0; i < 3; i++) {
            int64_t a = wide ? x[2 * i] : x8[2 * i];
            int64_t b = wide ? x[2 * i + 1] : x8[2 * i + 1];
            int64_t v = a * w[0] + b * w[1] + bias[0];

            want[0][i] = (int32_t)(uint32_t)(uint64_t)v >> thirty;
            want[1][i] = scaled_clamp(v, INT32_MIN, INT32_MAX) >> thirty;
        }
        assert_true(want[0][0] != want[1][0]);
        assert_int_equal(scaled_try(s, "A2=saturate", values, 1, got), 0);
        for (int i = 0; i < 3; i++)
            assert_int_equal(got[i], want[1][i]);
        assert_int_equal(scaled_try(s, "A2=wrap", values, 1, got),
                         wide ? 0 : ASSAY_EDIT_SAME);
        for (int i = 0; wide && i < 3; i++)
            assert_int_equal(got[i], want[0][i]);
        assert_int_equal(scaled_try(s, "A3", values, 1, got),
                         wide ? 0 : ASSAY_EDIT_NOT_HERE);
        for (int i = 0; wide && i < 3; i++)
            assert_int_equal(got[i], want[0][i]);
        bias[0] = wide ? 2147483000 : 5; /* no sum can leave 32 bits */
        slices_data(s, 2, bias);
        if (!wide)
            assert_int_equal(scaled_try(s, "A2=saturate", values, 1, got),
                             ASSAY_EDIT_SAME);
        assay_slice_free(s);
    }
}

/* ---- 16-bit partial sums ---------------------------------------------------- */

/* What is added to the exact sum, by the definition. */
static int64_t error_of(const struct conv *c, const struct assay_partial *p,
                        int i)
{
    struct fault f = none(c);
    int64_t narrow[TAPS] = {0}, error = 0;
    int block = (int)(p->group * p->apart);

    if (!p->centred) {
        f.zx = p->is_signed && c->x_type == ASSAY_U8 ? 128 : 0;
        f.zw = p->is_signed && c->w_type == ASSAY_U8 ? 128 : 0;
    }
    for (int k = 0; k < TAPS; k++) {
        int64_t a, b;
        int first =
            p->group == 0 ? 0 : k / block * block + k % block % (int)p->apart;

        tap(c, &f, i / OC / W, i / OC % W, i % OC, k, &a, &b);
        narrow[first] += a * b;
    }
    for (int k = 0; k < TAPS; k++)
        error += (p->saturates ? scaled_clamp(narrow[k], -32768, 32767)
                               : (int16_t)(uint16_t)narrow[k]) -
                 narrow[k];
    return error;
}

static void test_partial(void **state)
{
    static const enum assay_dtype types[3][2] = {
        {ASSAY_S8, ASSAY_S8}, {ASSAY_U8, ASSAY_S8}, {ASSAY_U8, ASSAY_U8}};
    struct assay_partial p;
    int64_t errors[N];
    uint32_t n = 0;
    struct conv c;

    (void)state;
    for (int t = 0; t < 3; t++) {
        open_conv(&c, types[t][0], types[t][1], 7,
                  types[t][1] == ASSAY_U8 ? 9 : 0, 0);
        for (n = 0; assay_partial_variant(n, &p); n++) {
            int wrong = 0;

            assay_partial_errors(c.s, 0, &p, c.x, 0, N, errors);
            for (int i = 0; i < N; i++) {
                assert_int_equal(errors[i], error_of(&c, &p, i));
                assert_true(p.saturates || errors[i] % 65536 == 0);
                wrong += errors[i] != 0;
            }
            if (wrong > 0)
                assert_true(assay_partial_can_leave(c.s, 0, &p));
            assay_partial_errors(c.s, 0, &p, c.x, 5, 1, errors);
            assert_int_equal(errors[0], error_of(&c, &p, 5));
        }
        assert_int_equal(n,
                         assay_cause_variants(assay_cause_of(ASSAY_CAUSE_A1)));
        /* Small weights cannot, whatever the input. */
        for (size_t i = 0; i < sizeof(c.w); i++)
            c.w[i] = (uint8_t)((types[t][1] == ASSAY_U8 ? 128 : 0) + i % 7);
        slices_data(c.s, 1, c.w);
        assay_partial_variant(0, &p);
        assert_false(assay_partial_can_leave(c.s, 0, &p));
        assay_slice_free(c.s);
    }
}

/* Depthwise 3x3 of -128 by -128: four pairs wrap, one product does not. */
static void test_depthwise(void **state)
{
    int8_t x[9 * 2], w[9 * 2];
    struct slices_operand in[2] = {
        {ASSAY_S8, 4, {1, 3, 3, 2}, NULL},
        {ASSAY_S8, 4, {2, 3, 3, 1}, w},
    };
    struct assay_slice *s;
    struct assay_partial p;
    int64_t error[2];

    (void)state;
    memset(x, -128, sizeof(x));
    memset(w, -128, sizeof(w));
    w[9] = 0; /* channel 1: its first product is none */
    s = slices_one(ASSAY_OP_CONV2D, 2, in,
                   (struct slices_operand){ASSAY_S32, 4, {1, 1, 1, 2}, NULL});
    s->layers[0].p.conv2d = (struct assay_conv2d_params){.stride_h = 1,
                                                         .stride_w = 1,
                                                         .dilation_h = 1,
                                                         .dilation_w = 1,
                                                         .groups = 2};
    assert_true(assay_partial_variant(0, &p)); /* pairs */
    assert_true(assay_partial_can_leave(s, 0, &p));
    assay_partial_errors(s, 0, &p, x, 0, 2, error);
    assert_int_equal(error[0], -4 * 65536);
    assert_int_equal(error[1], -3 * 65536);
    /* 147456 * s is 126 where -114688 * s is -98. */
    assert_int_equal(lrint((9 * 16384 + error[0]) * (126.0 / 147456)), -98);
    memset(w, -127, sizeof(w));
    slices_data(s, 1, w);
    assert_false(assay_partial_can_leave(s, 0, &p));
    s->tensors[0].dtype = ASSAY_S16;
    assert_false(assay_partial_can_leave(s, 0, &p));
    assay_slice_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bias),        cmocka_unit_test(test_input_zero),
        cmocka_unit_test(test_output_zero), cmocka_unit_test(test_added_zero),
        cmocka_unit_test(test_accumulator), cmocka_unit_test(test_partial),
        cmocka_unit_test(test_depthwise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
