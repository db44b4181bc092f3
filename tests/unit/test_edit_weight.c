/* SPDX-License-Identifier: Apache-2.0 */
/*
 * W1 to W3 and O14: weights and channels in another order, against
 * convolutions whose weights are put in that order index by index.
 *
 * links: tests/support/edits.c tests/support/slices.c lib/core/
 * links: host-tools/cause/catalogue.c host-tools/cause/edit_*.c
 * links: lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * libs: -lmbedcrypto -lxxhash
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/edits.h"
#include "tests/support/slices.h"

#define MOST 8192

static struct {
    struct edits_conv c;
    struct assay_slice *s;
    uint8_t x[MOST];
    int8_t w[MOST], other[MOST];
    int64_t want[MOST];
    int32_t got[MOST];
    size_t n;
} f;

static void begin(struct edits_conv c)
{
    f.c = c;
    f.n = (size_t)(c.n * edits_out_h(&c) * edits_out_w(&c) * c.oc);
    edits_random(f.x, sizeof(f.x));
    edits_random(f.w, sizeof(f.w));
    f.s = edits_conv_slice(&f.c, f.w);
}

static void end(void)
{
    assay_slice_free(f.s);
}

static void refuses(const char *edit, int want)
{
    struct assay_slice *edited;

    assert_int_equal(edits_apply(f.s, 0, edit, &edited), want);
}

static void equals(const char *edit)
{
    const void *const in[] = {f.x};

    edits_give(f.s, edit, in, 1, f.got, f.n * 4);
    for (size_t i = 0; i < f.n; i++)
        if (f.got[i] != f.want[i])
            fail_msg("%s: element %zu: %d, expected %lld", edit, i, f.got[i],
                     (long long)f.want[i]);
}

/* The layer computes with f.other. */
static void gives(const char *edit)
{
    edits_sums(&f.c, f.x, f.other, edits_inside, NULL, f.want);
    equals(edit);
}

/* oc 3, 2 x 4 taps of 5: every axis has a length of its own. */
static const struct edits_conv ODD = {2, 5, 6, 5, 3, 2, 4, 1,        1,
                                      1, 1, 0, 1, 1, 2, 1, ASSAY_U8, 9};

/* Where element [o][h][w][i] stands in bytes of another order. */
enum order { OHWI, OIHW, HWIO, OWHI };
static size_t place(const struct edits_conv *c, enum order order, int64_t o,
                    int64_t h, int64_t w, int64_t i)
{
    int64_t d = c->c / c->groups;

    switch (order) {
    case OIHW: return (size_t)(((o * d + i) * c->kh + h) * c->kw + w);
    case HWIO: return (size_t)(((h * c->kw + w) * d + i) * c->oc + o);
    case OWHI: return (size_t)(((o * c->kw + w) * c->kh + h) * d + i);
    default: return (size_t)(((o * c->kh + h) * c->kw + w) * d + i);
    }
}

/* f.other[to] = f.w[from], for all elements. */
static void put(enum order to, enum order from)
{
    const struct edits_conv *c = &f.c;

    for (int64_t o = 0; o < c->oc; o++)
        for (int64_t h = 0; h < c->kh; h++)
            for (int64_t w = 0; w < c->kw; w++)
                for (int64_t i = 0; i < c->c / c->groups; i++)
                    f.other[place(c, to, o, h, w, i)] =
                        f.w[place(c, from, o, h, w, i)];
}

static void w1_is_another_order_of_axes(void **state)
{
    struct edits_conv c = ODD;

    (void)state;
    for (int i = 0; i < 2; i++) {
        begin(c);
        if (c.groups > 1) {
            refuses("W1=oihw", ASSAY_EDIT_SAME);
            refuses("W1=from_oihw", ASSAY_EDIT_SAME);
        } else {
            put(OIHW, OHWI);
            gives("W1=oihw");
            put(OHWI, OIHW);
            gives("W1=from_oihw");
        }
        put(HWIO, OHWI);
        gives("W1=hwio");
        put(OHWI, HWIO);
        gives("W1=from_hwio");
        put(OWHI, OHWI);
        gives("W1=owhi");
        end();
        /* Depthwise: only the output's channels are left to exchange. */
        c.groups = 5;
        c.oc = 10;
    }
}

static void w1_of_what_has_one_order(void **state)
{
    struct edits_conv c = ODD;

    (void)state;
    c.kh = c.kw = 1; /* 1 x 1: only o and i can be exchanged */
    begin(c);
    refuses("W1=oihw", ASSAY_EDIT_SAME);
    refuses("W1=owhi", ASSAY_EDIT_SAME);
    put(HWIO, OHWI);
    gives("W1=hwio");
    end();
    c.c = 1; /* one channel: nothing */
    begin(c);
    refuses("W1=hwio", ASSAY_EDIT_SAME);
    refuses("W1=from_oihw", ASSAY_EDIT_SAME);
    end();
}

static void w2_flips_the_kernel(void **state)
{
    struct edits_conv c = ODD;

    (void)state;
    for (int even = 0; even < 2; even++) {
        c.kh = 3 - even;
        c.kw = 3 + even;
        begin(c);
        for (int64_t o = 0; o < c.oc; o++)
            for (int64_t h = 0; h < c.kh; h++)
                for (int64_t w = 0; w < c.kw; w++)
                    for (int64_t i = 0; i < c.c; i++)
                        f.other[place(&c, OHWI, o, h, w, i)] = f.w[place(
                            &c, OHWI, o, c.kh - 1 - h, c.kw - 1 - w, i)];
        gives("W2");
        end();
    }
    c.kh = c.kw = 1;
    begin(c);
    refuses("W2", ASSAY_EDIT_SAME);
    end();
}

static void w2_of_a_symmetric_kernel(void **state)
{
    const int8_t w[] = {1, 2, 1, 3, 4, 3, 1, 2, 1};
    struct edits_conv c = {1, 3, 3, 1, 1, 3, 3, 1,        1,
                           1, 1, 1, 1, 1, 1, 1, ASSAY_S8, 0};

    (void)state;
    f.s = edits_conv_slice(&c, w);
    refuses("W2", ASSAY_EDIT_SAME);
    end();
}

/* Of a transposed convolution: x is one cell of 1, y is the kernel. */
static void w2_of_a_transposed_convolution(void **state)
{
    const int8_t x[] = {1}, w[] = {3, 5, 7};
    const struct slices_operand in[] = {{ASSAY_S8, 4, {1, 1, 1, 1}, NULL},
                                        {ASSAY_S8, 4, {1, 1, 3, 1}, w}};
    const int32_t want[] = {7, 5, 3};
    const void *const values[] = {x};
    int32_t y[3];

    (void)state;
    f.s = slices_one(ASSAY_OP_CONV_TRANSPOSE2D, 2, in,
                     (struct slices_operand){ASSAY_S32, 4, {1, 1, 3, 1}, NULL});
    f.s->layers[0].p.conv2d = (struct assay_conv2d_params){.stride_h = 1,
                                                           .stride_w = 1,
                                                           .dilation_h = 1,
                                                           .dilation_w = 1,
                                                           .groups = 1};
    edits_give(f.s, "W2", values, 1, y, sizeof(y));
    assert_memory_equal(y, want, sizeof(y));
    refuses("W3=output", ASSAY_EDIT_NOT_HERE);
    end();
}

/* [2][3] read from bytes of [3][2], and back. */
static void w1_of_a_matrix(void **state)
{
    const int8_t x[] = {1, 10, 100}, w[] = {1, 2, 3, 4, 5, 6};
    const struct slices_operand in[] = {{ASSAY_S8, 2, {1, 3}, NULL},
                                        {ASSAY_S8, 2, {2, 3}, w}};
    /* [3][2]: 1 4 2 5 3 6, read as two rows: 1 4 2 and 5 3 6. */
    const int32_t turned[] = {241, 635};
    /* 1 2 3 4 5 6 as three rows of two; columns are 1 3 5 and 2 4 6. */
    const int32_t back[] = {531, 642};
    const void *const values[] = {x};
    int32_t y[2];

    (void)state;
    f.s = slices_one(ASSAY_OP_GEMM, 2, in,
                     (struct slices_operand){ASSAY_S32, 2, {1, 2}, NULL});
    edits_give(f.s, "W1=hwio", values, 1, y, sizeof(y));
    assert_memory_equal(y, turned, sizeof(y));
    edits_give(f.s, "W1=from_hwio", values, 1, y, sizeof(y));
    assert_memory_equal(y, back, sizeof(y));
    refuses("W1=oihw", ASSAY_EDIT_SAME);
    refuses("W2", ASSAY_EDIT_NOT_HERE);
    refuses("W3=input", ASSAY_EDIT_NOT_HERE);
    refuses("O14", ASSAY_EDIT_NOT_HERE);
    end();
}

/* Channel j * G + g gives what g * M + j should. */
static void w3_interleaves_the_output(void **state)
{
    struct edits_conv c = ODD;
    int64_t sums[MOST];

    (void)state;
    c.c = 6;
    c.oc = 12;
    c.groups = 3;
    begin(c);
    edits_sums(&c, f.x, f.w, edits_inside, NULL, sums);
    for (size_t i = 0; i < f.n; i++) {
        size_t o = i % 12;

        f.want[i] = sums[i - o + o % 3 * 4 + o / 3];
    }
    equals("W3=output");
    end();
}

/* Channel i of group g is read where i * G + g is. */
static int64_t interleaved(const struct edits_conv *c, const void *x, int64_t n,
                           int64_t iy, int64_t ix, int64_t channel,
                           const void *self)
{
    int64_t depth = c->c / c->groups;

    return edits_inside(c, x, n, iy, ix,
                        channel % depth * c->groups + channel / depth, self);
}

static void w3_interleaves_the_input(void **state)
{
    struct edits_conv c = ODD;

    (void)state;
    c.c = 6;
    c.oc = 3;
    c.groups = 3;
    begin(c);
    edits_sums(&c, f.x, f.w, interleaved, NULL, f.want);
    equals("W3=input");
    refuses("W3=output", ASSAY_EDIT_SAME); /* one channel a group */
    end();
    c.c = 3;
    begin(c);
    refuses("W3=input", ASSAY_EDIT_SAME);
    end();
    c.groups = 1;
    begin(c);
    refuses("W3=input", ASSAY_EDIT_NOT_HERE);
    refuses("W3=output", ASSAY_EDIT_NOT_HERE);
    end();
}

/* Depth to space, blocks of 2 x 2: 8 channels are (block, 2) or (2, block). */
static void w3_of_depth_to_space(void **state)
{
    static const int8_t x[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const int8_t dcr[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const int8_t crd[] = {0, 4, 1, 5, 2, 6, 3, 7};
    const struct slices_operand in = {ASSAY_S8, 4, {1, 1, 1, 8}, NULL};
    const void *const values[] = {x};
    int8_t y[8];

    (void)state;
    f.s = slices_one(ASSAY_OP_VIEW, 1, &in,
                     (struct slices_operand){ASSAY_S8, 4, {1, 2, 2, 2}, NULL});
    f.s->layers[0].p.view = (struct assay_view_params){
        .rank = 6, .dims = {1, 1, 2, 1, 2, 2}, .strides = {8, 8, 4, 8, 2, 1}};
    edits_run(f.s, values, 1, y, 8);
    assert_memory_equal(y, dcr, 8);
    edits_give(f.s, "W3=output", values, 1, y, 8);
    assert_memory_equal(y, crd, 8);
    refuses("W3=input", ASSAY_EDIT_NOT_HERE);
    refuses("W1=oihw", ASSAY_EDIT_NOT_HERE);
    f.s->layers[0].p.view = (struct assay_view_params){
        .rank = 6, .dims = {1, 1, 2, 1, 2, 2}, .strides = {8, 8, 2, 8, 1, 4}};
    edits_run(f.s, values, 1, y, 8);
    assert_memory_equal(y, crd, 8);
    edits_give(f.s, "W3=output", values, 1, y, 8);
    assert_memory_equal(y, dcr, 8);
    end();
}

/* Row c * m + k of the weights is what stood in row k * C + c. */
static void o14_orders_multipliers(void **state)
{
    struct edits_conv c = ODD;
    size_t kernel = (size_t)(c.kh * c.kw);

    (void)state;
    c.groups = c.c;
    c.oc = 3 * c.c;
    begin(c);
    for (size_t channel = 0; channel < 5; channel++)
        for (size_t k = 0; k < 3; k++)
            memcpy(f.other + (channel * 3 + k) * kernel,
                   f.w + (k * 5 + channel) * kernel, kernel);
    gives("O14");
    end();
    c.oc = c.c;
    begin(c);
    refuses("O14", ASSAY_EDIT_SAME);
    end();
    c.groups = 1;
    begin(c);
    refuses("O14", ASSAY_EDIT_NOT_HERE);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(w1_is_another_order_of_axes),
        cmocka_unit_test(w1_of_what_has_one_order),
        cmocka_unit_test(w2_flips_the_kernel),
        cmocka_unit_test(w2_of_a_symmetric_kernel),
        cmocka_unit_test(w2_of_a_transposed_convolution),
        cmocka_unit_test(w1_of_a_matrix),
        cmocka_unit_test(w3_interleaves_the_output),
        cmocka_unit_test(w3_interleaves_the_input),
        cmocka_unit_test(w3_of_depth_to_space),
        cmocka_unit_test(o14_orders_multipliers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
