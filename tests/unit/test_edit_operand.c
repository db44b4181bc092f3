/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Z1, Z3 and A4 where operands are computed tensors, a product of two and a
 * transposed convolution, against plain loops written here.
 *
 * links: tests/support/edits.c tests/support/slices.c
 * links: host-tools/cause/ host-tools/diff/
 * links: lib/core/ lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * libs: -lm -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/edits.h"
#include "tests/support/slices.h"

#define M 3
#define K 5
#define N 4

/* How a fault reads an operand's byte, and what it subtracts. */
struct reading {
    bool is_signed;
    int32_t zero;
    bool wraps; /* the difference, in 8 bits */
};

struct product {
    uint8_t a[M * K], b[K * N];
    struct reading ra, rb;
    struct assay_slice *s;
};

static int64_t read_as(uint8_t byte, const struct reading *r)
{
    int64_t v = (r->is_signed ? (int8_t)byte : byte) - r->zero;

    return r->wraps ? (int8_t)(uint8_t)v : v;
}

static void open_product(struct product *p, bool a_signed, int32_t za,
                         bool b_signed, int32_t zb)
{
    const struct slices_operand in[] = {
        {a_signed ? ASSAY_S8 : ASSAY_U8, 2, {M, K}, NULL},
        {b_signed ? ASSAY_S8 : ASSAY_U8, 2, {K, N}, NULL}};

    edits_random(p->a, sizeof(p->a));
    edits_random(p->b, sizeof(p->b));
    p->ra = (struct reading){a_signed, za, false};
    p->rb = (struct reading){b_signed, zb, false};
    p->s = slices_one(ASSAY_OP_MATMUL, 2, in,
                      (struct slices_operand){ASSAY_S32, 2, {M, N}, NULL});
    slices_quant(p->s, 0, 0.5f, za);
    slices_quant(p->s, 1, 0.25f, zb);
}

/* The edit gives what is read like that; NULL edit: the layer as it is. */
static void gives(const struct product *p, const char *edit, struct reading ra,
                  struct reading rb)
{
    const void *const values[] = {p->a, p->b};
    int32_t y[M * N];

    if (edit)
        edits_give(p->s, edit, values, 2, y, sizeof(y));
    else
        edits_run(p->s, values, 2, y, sizeof(y));
    for (int i = 0; i < M * N; i++) {
        int64_t sum = 0;

        for (int k = 0; k < K; k++)
            sum += read_as(p->a[i / N * K + k], &ra) *
                   read_as(p->b[k * N + i % N], &rb);
        assert_int_equal(y[i], sum);
    }
}

static void refuses(const struct product *p, const char *edit, int why)
{
    struct assay_slice *out;

    assert_int_equal(edits_apply(p->s, 0, edit, &out), why);
    assert_null(out);
}

static void zero_points(void **state)
{
    struct product p;

    (void)state;
    open_product(&p, false, 77, true, -9);
    gives(&p, NULL, p.ra, p.rb);
    gives(&p, "Z1=ignored", (struct reading){false, 0, false}, p.rb);
    gives(&p, "Z1=twice", (struct reading){false, 154, false}, p.rb);
    gives(&p, "Z1=wrap8", (struct reading){false, 77, true}, p.rb);
    gives(&p, "Z3", p.ra, (struct reading){true, 0, false});
    assay_slice_free(p.s);
    /* Twice 200 is none of 8 bits: the operand is widened. */
    open_product(&p, false, 200, true, 0);
    gives(&p, "Z1=twice", (struct reading){false, 400, false}, p.rb);
    refuses(&p, "Z3", ASSAY_EDIT_SAME);
    assay_slice_free(p.s);
}

static void signs(void **state)
{
    struct product p;

    (void)state;
    open_product(&p, false, 77, true, 5);
    gives(&p, "A4=input", (struct reading){true, 77, false}, p.rb);
    gives(&p, "A4=weights", p.ra, (struct reading){false, 5, false});
    refuses(&p, "B1", ASSAY_EDIT_NOT_HERE);
    assay_slice_free(p.s);
    open_product(&p, true, 0, true, -5);
    refuses(&p, "Z1=ignored", ASSAY_EDIT_SAME);
    refuses(&p, "A4=weights", ASSAY_EDIT_NOT_HERE); /* -5 is no uint8 */
    assay_slice_free(p.s);
}

/* Cells of 1 x 2, stride 2, kernel 1 x 3: taps that meet no cell stay out. */
static void transposed_convolution(void **state)
{
    const uint8_t x[] = {10, 3};
    const int8_t w[] = {3, 5, 7};
    const struct slices_operand in[] = {{ASSAY_U8, 4, {1, 1, 2, 1}, NULL},
                                        {ASSAY_S8, 4, {1, 1, 3, 1}, w}};
    const struct {
        const char *edit;
        int32_t zero;
    } asked[] = {{"Z1=ignored", 0}, {"Z1=twice", 260}};
    const void *const values[] = {x};
    int32_t y[5];

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct assay_slice *s = slices_one(
            ASSAY_OP_CONV_TRANSPOSE2D, 2, in,
            (struct slices_operand){ASSAY_S32, 4, {1, 1, 5, 1}, NULL});
        int32_t want[5] = {0};

        s->layers[0].p.conv2d = (struct assay_conv2d_params){.stride_h = 1,
                                                             .stride_w = 2,
                                                             .dilation_h = 1,
                                                             .dilation_w = 1,
                                                             .groups = 1};
        slices_quant(s, 0, 0.5f, 130);
        for (int cell = 0; cell < 2; cell++)
            for (int k = 0; k < 3; k++)
                want[2 * cell + k] += (x[cell] - asked[i].zero) * w[k];
        edits_give(s, asked[i].edit, values, 1, y, sizeof(y));
        assert_memory_equal(y, want, sizeof(y));
        assay_slice_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_points),
        cmocka_unit_test(signs),
        cmocka_unit_test(transposed_convolution),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
