/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P1 to P5 and O11: layers whose padding is another number, or elsewhere, run
 * before and after the edit, against plain loops.
 *
 * links: tests/support/edits.c tests/support/slices.c lib/core/
 * links: host-tools/cause/catalogue.c host-tools/cause/edit_*.c
 * links: lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * libs: -lmbedcrypto -lxxhash
 */
#include "host-tools/cause/edit_pad.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/edits.h"
#include "tests/support/slices.h"

#define MOST 20000 /* elements of anything here */

/* n h w c | oc kh kw | strides | dilations | top left bottom right | groups */
static const struct edits_conv CONVS[] = {
    {1, 1, 1, 1, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, ASSAY_U8, 7},
    {2, 5, 4, 33, 3, 3, 3, 2, 2, 1, 1, 0, 0, 1, 1, 1, ASSAY_U8, 131},
    {1, 6, 5, 33, 33, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 33, ASSAY_S8, -9},
    {2, 7, 9, 6, 9, 3, 2, 1, 2, 2, 3, 3, 1, 2, 2, 3, ASSAY_S8, 0},
    {1, 5, 5, 4, 5, 5, 3, 2, 1, 1, 1, 3, 1, 1, 2, 1, ASSAY_S16, 0},
    {1, 3, 8, 2, 4, 4, 4, 2, 2, 1, 1, 1, 2, 2, 1, 1, ASSAY_U8, 0},
    {2, 4, 4, 1, 2, 2, 2, 1, 1, 1, 1, 0, 0, 1, 1, 1, ASSAY_S16, 5},
};
#define N_CONVS (sizeof(CONVS) / sizeof(CONVS[0]))

/* Edited rows and columns of each side, and what they hold less the zero. */
struct outside {
    int64_t top, left, bottom, right, v;
};

static int64_t padded(const struct edits_conv *c, const void *x, int64_t n,
                      int64_t iy, int64_t ix, int64_t channel, const void *self)
{
    const struct outside *o = self;

    if (iy < -c->top || iy >= c->h + c->bottom || ix < -c->left ||
        ix >= c->w + c->right)
        return 0; /* behind all padding */
    if (iy < o->top - c->top || iy >= c->h + c->bottom - o->bottom ||
        ix < o->left - c->left || ix >= c->w + c->right - o->right)
        return o->v;
    return edits_inside(c, x, n, iy, ix, channel, NULL);
}

struct fixture {
    const struct edits_conv *c;
    struct assay_slice *s;
    uint8_t x[MOST];
    int8_t w[MOST];
    int64_t before[MOST], want[MOST], got[MOST];
    int32_t narrow[MOST];
    size_t n;
};
static struct fixture f;

static void begin(const struct edits_conv *c)
{
    f.c = c;
    f.n = (size_t)(c->n * edits_out_h(c) * edits_out_w(c) * c->oc);
    edits_random(f.x, sizeof(f.x));
    edits_random(f.w, sizeof(f.w));
    f.s = edits_conv_slice(c, f.w);
    edits_sums(c, f.x, f.w, edits_inside, NULL, f.before);
}

static void gives(const char *edit)
{
    const void *const in[] = {f.x};
    bool wide = f.c->dtype == ASSAY_S16;

    if (wide)
        edits_give(f.s, edit, in, 1, f.got, f.n * 8);
    else
        edits_give(f.s, edit, in, 1, f.narrow, f.n * 4);
    for (size_t i = 0; i < f.n; i++) {
        if (!wide)
            f.got[i] = f.narrow[i];
        if (f.got[i] != f.want[i])
            fail_msg("%s: element %zu: %lld, expected %lld", edit, i,
                     (long long)f.got[i], (long long)f.want[i]);
    }
}

static void refuses(const char *edit, int want)
{
    struct assay_slice *edited;

    assert_int_equal(edits_apply(f.s, 0, edit, &edited), want);
    assert_null(edited);
}

static void end(void)
{
    assay_slice_free(f.s);
}

/* All of a padding holds v, or the edit says why it does not apply. */
static void all_hold(const char *edit, int64_t v)
{
    const struct edits_conv *c = f.c;
    const struct outside o = {c->top, c->left, c->bottom, c->right,
                              v - c->zero};

    if (v == c->zero) {
        refuses(edit, ASSAY_EDIT_SAME);
        return;
    }
    edits_sums(c, f.x, f.w, padded, &o, f.want);
    gives(edit);
}

static void p1_holds_a_stored_number(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_CONVS; i++) {
        int64_t lo, hi;

        begin(&CONVS[i]);
        assay_dtype_range(f.c->dtype, &lo, &hi);
        all_hold("P1=zero", 0);
        all_hold("P1=lowest", lo);
        end();
    }
}

/* Every tap outside counts as the zero point once more: x = 2 zx, which need
 * not fit the type (131 of uint8 gives 262). */
static void p3_adds_the_zero_point(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_CONVS; i++) {
        begin(&CONVS[i]);
        all_hold("P3", 2 * (int64_t)f.c->zero);
        end();
    }
}

static void p2_swaps_the_sides(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_CONVS; i++) {
        struct edits_conv c = CONVS[i];

        begin(&CONVS[i]);
        if (c.top == c.bottom && c.left == c.right) {
            refuses("P2", ASSAY_EDIT_SAME);
            end();
            continue;
        }
        c.top = CONVS[i].bottom;
        c.bottom = CONVS[i].top;
        c.left = CONVS[i].right;
        c.right = CONVS[i].left;
        edits_sums(&c, f.x, f.w, edits_inside, NULL, f.want);
        gives("P2");
        end();
    }
}

static int64_t more(int64_t a, int64_t b)
{
    return a > b ? a - b : 0;
}

static struct outside p5_sides(const struct edits_conv *c, unsigned variant)
{
    const struct outside excess = {
        more(c->top, c->bottom), more(c->left, c->right),
        more(c->bottom, c->top), more(c->right, c->left), 0};

    switch (variant) {
    case 0: return excess;
    case 1: return (struct outside){c->top, c->left, c->bottom, c->right, 0};
    case 2: return (struct outside){.top = c->top};
    case 3: return (struct outside){.left = c->left};
    case 4: return (struct outside){.bottom = c->bottom};
    case 5: return (struct outside){.right = c->right};
    case 6: return (struct outside){0, 0, excess.bottom, excess.right, 0};
    case 7: return (struct outside){.top = excess.top};
    case 8: return (struct outside){.left = excess.left};
    case 9: return (struct outside){.bottom = excess.bottom};
    default: return (struct outside){.right = excess.right};
    }
}

/* The sums as they are, and that each moves by (v - zero) times its taps. */
static void p5_holds_any_number(void **state)
{
    static const char *const names[] = {
        "excess",      "all",           "top",         "left",
        "bottom",      "right",         "excess_end",  "excess_top",
        "excess_left", "excess_bottom", "excess_right"};
    const size_t variants = sizeof(names) / sizeof(names[0]);

    (void)state;
    assert_int_equal(assay_cause_variants(assay_cause_of(ASSAY_CAUSE_P5)),
                     variants);
    for (size_t i = 0; i < N_CONVS * variants; i++) {
        unsigned variant = i % variants;
        struct outside o = p5_sides(&CONVS[i / variants], variant);
        int64_t v = 121;
        char edit[32];

        begin(&CONVS[i / variants]);
        o.v = v - f.c->zero;
        snprintf(edit, sizeof(edit), "P5=%s:%lld", names[variant],
                 (long long)v);
        if (o.top + o.left + o.bottom + o.right == 0) {
            refuses(edit, ASSAY_EDIT_NOT_HERE);
            for (size_t e = 0; e < f.n; e++)
                assert_int_equal(assay_pad_taps(f.s, 0, variant, e), 0);
            end();
            continue;
        }
        edits_sums(f.c, f.x, f.w, padded, &o, f.want);
        gives(edit);
        for (size_t e = 0; e < f.n; e++)
            assert_int_equal(f.want[e] - f.before[e],
                             o.v * assay_pad_taps(f.s, 0, variant, e));
        snprintf(edit, sizeof(edit), "P5=%s:%d", names[variant], f.c->zero);
        refuses(edit, ASSAY_EDIT_SAME);
        end();
    }
}

/* int8 and uint8 images can be padded with what only 16 bits hold. */
static void p5_beyond_the_type(void **state)
{
    const struct edits_conv *c = &CONVS[1];
    const struct outside o = {0, 0, 1, 1, 1000 - c->zero};

    (void)state;
    begin(c);
    edits_sums(c, f.x, f.w, padded, &o, f.want);
    gives("P5=excess:1000");
    refuses("P5=excess:40000", ASSAY_EDIT_NOT_HERE);
    end();
    begin(&CONVS[4]);
    refuses("P5=all:32768", ASSAY_EDIT_NOT_HERE);
    end();
}

static void layers_without_padding(void **state)
{
    static const char *const edits[] = {"P1=zero", "P2", "P3", "P4",
                                        "P5=all:3"};
    struct edits_conv c = CONVS[1];

    (void)state;
    c.bottom = c.right = 0;
    c.h = 5;
    c.w = 5;
    begin(&c);
    for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++)
        refuses(edits[i], ASSAY_EDIT_NOT_HERE);
    end();
}

/* Padding of a transposed convolution is cut off: only its sides can be
 * exchanged. x is 1 x 2 cells of 1, stride 2, kernel 1 x 3. */
static void transposed_convolution(void **state)
{
    const int8_t x[] = {1, 2}, w[] = {3, 5, 7};
    const struct slices_operand in[] = {{ASSAY_S8, 4, {1, 1, 2, 1}, NULL},
                                        {ASSAY_S8, 4, {1, 1, 3, 1}, w}};
    const int32_t cut[] = {5, 7 + 6, 10, 14}, other[] = {3, 5, 7 + 6, 10};
    const void *const values[] = {x};
    struct assay_slice *s =
        slices_one(ASSAY_OP_CONV_TRANSPOSE2D, 2, in,
                   (struct slices_operand){ASSAY_S32, 4, {1, 1, 4, 1}, NULL});
    int32_t y[4];

    (void)state;
    s->layers[0].p.conv2d = (struct assay_conv2d_params){.stride_h = 1,
                                                         .stride_w = 2,
                                                         .dilation_h = 1,
                                                         .dilation_w = 1,
                                                         .pad_left = 1,
                                                         .groups = 1};
    edits_run(s, values, 1, y, sizeof(y));
    assert_memory_equal(y, cut, sizeof(y));
    edits_give(s, "P2", values, 1, y, sizeof(y));
    assert_memory_equal(y, other, sizeof(y));
    f.s = s;
    refuses("P1=zero", ASSAY_EDIT_NOT_HERE);
    refuses("P3", ASSAY_EDIT_NOT_HERE);
    refuses("P5=all:1", ASSAY_EDIT_NOT_HERE);
    assert_int_equal(assay_pad_taps(s, 0, 1, 0), 0);
    end();
}

/* ---- pools ------------------------------------------------------------- */

/* Rows of 4 cells, window 3, stride 1, one cell of padding before. */
static struct assay_slice *row_pool(enum assay_pool_kind kind,
                                    enum assay_dtype dtype, int32_t zero)
{
    const struct slices_operand in = {dtype, 4, {2, 1, 4, 1}, NULL};
    struct assay_slice *s =
        slices_one(ASSAY_OP_POOL, 1, &in,
                   (struct slices_operand){dtype, 4, {2, 1, 3, 1}, NULL});

    slices_quant(s, 0, 0.5f, zero);
    s->layers[0].p.pool = (struct assay_pool_params){.kind = kind,
                                                     .kh = 1,
                                                     .kw = 3,
                                                     .stride_h = 1,
                                                     .stride_w = 1,
                                                     .dilation_h = 1,
                                                     .dilation_w = 1,
                                                     .pad_left = 1};
    return s;
}

static void padding_wins_a_maximum(void **state)
{
    const int8_t x[] = {-7, -9, -3, -8, 4, 2, -1, 1};
    const int8_t plain[] = {-7, -3, -3, 4, 4, 2};
    const int8_t zero[] = {0, -3, -3, 4, 4, 2};
    const int8_t five[] = {-5, -3, -3, 4, 4, 2};
    const void *const values[] = {x};
    int8_t y[6];

    (void)state;
    f.s = row_pool(ASSAY_POOL_MAX, ASSAY_S8, -5);
    edits_run(f.s, values, 1, y, sizeof(y));
    assert_memory_equal(y, plain, sizeof(y));
    edits_give(f.s, "O11=zero", values, 1, y, sizeof(y));
    assert_memory_equal(y, zero, sizeof(y));
    edits_give(f.s, "O11=zp", values, 1, y, sizeof(y));
    assert_memory_equal(y, five, sizeof(y));
    edits_give(f.s, "P5=left:-5", values, 1, y, sizeof(y));
    assert_memory_equal(y, five, sizeof(y));
    refuses("P5=left:-128", ASSAY_EDIT_SAME);
    refuses("P5=right:3", ASSAY_EDIT_NOT_HERE);
    refuses("P5=all:128", ASSAY_EDIT_NOT_HERE);
    refuses("P1=zero", ASSAY_EDIT_NOT_HERE);
    end();
    f.s = row_pool(ASSAY_POOL_MAX, ASSAY_U8, 0);
    refuses("O11=zero", ASSAY_EDIT_SAME);
    refuses("O11=zp", ASSAY_EDIT_SAME);
    f.s->layers[0].p.pool.pad_left = 0;
    f.s->tensors[0].dims[2] = 5;
    refuses("O11=zero", ASSAY_EDIT_NOT_HERE);
    refuses("P2", ASSAY_EDIT_NOT_HERE);
    end();
}

/* Means of three cells, floor; padding counts as the zero point 6. */
static void padding_of_an_average(void **state)
{
    const uint8_t x[] = {30, 9, 0, 3, 1, 2, 90, 4};
    const uint8_t plain[] = {15, 13, 4, 3, 31, 32};
    const uint8_t zero[] = {13, 13, 4, 1, 31, 32};
    const uint8_t moved[] = {13, 4, 3, 31, 32, 33};
    const void *const values[] = {x};
    static const int64_t six = 6;
    struct assay_pool_params *p;
    uint8_t y[6];

    (void)state;
    f.s = row_pool(ASSAY_POOL_AVG, ASSAY_U8, 6);
    p = &f.s->layers[0].p.pool;
    p->div = ASSAY_DIV_INT;
    p->div_round = ASSAY_ROUND_FLOOR;
    p->count_include_pad = true;
    slices_step(&f.s->layers[0].out_program, ASSAY_STEP_ADD_ZP, 1, &six, NULL);
    static const int64_t lo = 0, hi = 255;
    slices_step(&f.s->layers[0].out_program, ASSAY_STEP_CLAMP, 1, &lo, &hi);
    edits_run(f.s, values, 1, y, sizeof(y));
    assert_memory_equal(y, plain, sizeof(y));
    edits_give(f.s, "P1=zero", values, 1, y, sizeof(y));
    assert_memory_equal(y, zero, sizeof(y));
    edits_give(f.s, "P1=lowest", values, 1, y, sizeof(y));
    assert_memory_equal(y, zero, sizeof(y));
    edits_give(f.s, "P5=all:0", values, 1, y, sizeof(y));
    assert_memory_equal(y, zero, sizeof(y));
    edits_give(f.s, "P2", values, 1, y, sizeof(y));
    assert_memory_equal(y, moved, sizeof(y));
    refuses("P5=left:6", ASSAY_EDIT_SAME);
    refuses("P3", ASSAY_EDIT_NOT_HERE);
    p->count_include_pad = false; /* it is no number then */
    refuses("P1=zero", ASSAY_EDIT_NOT_HERE);
    p->count_include_pad = true;
    p->sum = ASSAY_SUM_RAW; /* it counts as 0 already */
    refuses("P1=zero", ASSAY_EDIT_SAME);
    end();
}

/* ---- last windows ------------------------------------------------------ */

/* 5 x 5 cells, window 2, stride 2: 2 x 2 windows, or 3 x 3 with ceil_mode. */
static struct assay_slice *square_pool(int64_t n, int64_t out, int32_t zero)
{
    const struct slices_operand in = {ASSAY_S8, 4, {n, 5, 5, 1}, NULL};
    struct assay_slice *s = slices_one(
        ASSAY_OP_POOL, 1, &in,
        (struct slices_operand){ASSAY_S8, 4, {n, out, out, 1}, NULL});

    slices_quant(s, 1, 0.5f, zero);
    s->layers[0].p.pool = (struct assay_pool_params){.kind = ASSAY_POOL_MAX,
                                                     .kh = 2,
                                                     .kw = 2,
                                                     .stride_h = 2,
                                                     .stride_w = 2,
                                                     .dilation_h = 1,
                                                     .dilation_w = 1};
    return s;
}

static void last_windows_of_pools(void **state)
{
    int8_t x[50], y[18];
    const int8_t dropped[] = {6,  8,  -3, 16, 18, -3, -3, -3, -3,
                              31, 33, -3, 41, 43, -3, -3, -3, -3};
    /* The larger output is 6 8 9 16 18 19 21 23 24, then the next image. */
    const int8_t grown[] = {6, 8, 9, 16, 18, 19, 21, 23};
    const void *const values[] = {x};

    (void)state;
    for (int i = 0; i < 50; i++)
        x[i] = (int8_t)i;
    f.s = square_pool(2, 3, -3);
    edits_give(f.s, "P4", values, 1, y, 18);
    assert_memory_equal(y, dropped, 18);
    end();
    f.s = square_pool(2, 2, 0);
    edits_give(f.s, "P4", values, 1, y, 8);
    assert_memory_equal(y, grown, 8);
    f.s->layers[0].p.pool.kh = f.s->layers[0].p.pool.kw = 3;
    refuses("P4", ASSAY_EDIT_NOT_HERE);
    end();
}

/* One more row behind all others is not read, one more column moves all. */
static void last_windows_of_convolutions(void **state)
{
    struct edits_conv c = {1, 6, 5, 1, 1, 3, 3, 2,        2,
                           1, 1, 0, 0, 0, 0, 1, ASSAY_S8, 0};
    int64_t wide[6];
    struct edits_conv larger;

    (void)state;
    begin(&c);
    refuses("P4", ASSAY_EDIT_SAME);
    end();
    c.h = 5;
    c.w = 6;
    begin(&c);
    larger = c;
    larger.right = 1; /* behind the image, as ceil_mode reads it */
    edits_sums(&larger, f.x, f.w, edits_inside, NULL, wide);
    memcpy(f.want, wide, 4 * sizeof(wide[0]));
    gives("P4");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p1_holds_a_stored_number),
        cmocka_unit_test(p3_adds_the_zero_point),
        cmocka_unit_test(p2_swaps_the_sides),
        cmocka_unit_test(p5_holds_any_number),
        cmocka_unit_test(p5_beyond_the_type),
        cmocka_unit_test(layers_without_padding),
        cmocka_unit_test(transposed_convolution),
        cmocka_unit_test(padding_wins_a_maximum),
        cmocka_unit_test(padding_of_an_average),
        cmocka_unit_test(last_windows_of_pools),
        cmocka_unit_test(last_windows_of_convolutions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
