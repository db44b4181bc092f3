/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe of accumulators and steps: sums counted by hand, ties and ends
 * that are there or not.
 *
 * links: tests/support/slices.c lib/core/
 * links: lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * libs: -lmbedcrypto -lxxhash
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/engine/probe.h"
#include "tests/support/slices.h"

static const int64_t scale_half[1] = {0x3f000000}; /* 0.5f */
static const int64_t two[1] = {2}, minus[1] = {-20}, plus[1] = {20};

/* y = x * w, one row of x, two columns of w. */
static struct assay_slice *product(enum assay_dtype x, const int8_t w[8])
{
    const struct slices_operand in[] = {{x, 2, {1, 4}, NULL},
                                        {ASSAY_S8, 2, {2, 4}, w}};

    return slices_one(ASSAY_OP_GEMM, 2, in,
                      (struct slices_operand){ASSAY_S8, 2, {1, 2}, NULL});
}

static void probe(struct assay_probe *p, const struct assay_slice *s,
                  const void *x, int want)
{
    static const struct assay_probe_limits none = {UINT64_MAX, SIZE_MAX};
    const void *in[ASSAY_MAX_LAYER_INPUTS] = {x};
    struct assay_err err = {0};
    struct assay_probe one;
    int rc = assay_probe_layer(&one, s, in, 0, &none, &err);

    if (rc != want)
        fail_msg("%d, expected %d: %s", rc, want, err.text);
    assert_null(assay_probe_bad_field(&one));
    assay_probe_merge(p, &one);
}

static const struct assay_probe_step *at(const struct assay_probe *p,
                                         unsigned operand, unsigned step)
{
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].operand == operand && p->steps[i].step == step)
            return &p->steps[i];
    fail_msg("step %u of operand %u was not looked at", step, operand);
    return NULL;
}

static void sums_and_requantization(void **state)
{
    static const int8_t w[8] = {1, 2, 3, 4, -1, -2, -3, -4};
    struct assay_slice *s = product(ASSAY_S8, w);
    struct assay_probe p = {0};

    (void)state;
    slices_requant(&s->layers[0].out_program, scale_half);
    probe(&p, s, (const int8_t[4]){10, 0, 0, 0}, 0); /* 10, -10: 5, -5 */
    assert_true(p.has_sums && p.min == -10 && p.max == 10 && p.values == 2);
    assert_int_equal(at(&p, 0, 3)->ties, 0);
    assert_int_equal(at(&p, 0, 3)->can, ASSAY_PROBE_TIES);
    probe(&p, s, (const int8_t[4]){3, 0, 0, 0}, 0); /* 1.5, -1.5 */
    assert_int_equal(at(&p, 0, 3)->ties, 2);
    assert_int_equal(at(&p, 0, 2)->low + at(&p, 0, 2)->high, 0);
    probe(&p, s, (const int8_t[4]){100, 100, 0, 0}, 0); /* 150, -150 */
    assert_int_equal(at(&p, 0, 2)->low, 1);
    assert_int_equal(at(&p, 0, 2)->high, 1);
    assert_true(p.min == -300 && p.max == 300 && p.values == 6);
    assert_int_equal(p.n_steps, 2);
    assay_slice_free(s);
}

/* Steps on binary64 begin at their conversion. */
static void binary64(void **state)
{
    static const int8_t w[8] = {1, 0, 0, 0, 2, 0, 0, 0};
    int64_t scale[1], lo[1], hi[1];
    struct assay_slice *s = product(ASSAY_S8, w);
    struct assay_program *o = &s->layers[0].out_program;
    struct assay_probe p = {0};
    double d[3] = {0.25, -20, 20};

    (void)state;
    memcpy(scale, &d[0], sizeof(d[0]));
    memcpy(lo, &d[1], sizeof(d[1]));
    memcpy(hi, &d[2], sizeof(d[2]));
    slices_step(o, ASSAY_STEP_TO_F64, 1, NULL, NULL);
    slices_step(o, ASSAY_STEP_FMUL, 1, scale, NULL);
    slices_step(o, ASSAY_STEP_FCLAMP, 1, lo, hi);
    slices_step(o, ASSAY_STEP_FROUND, 1, NULL, NULL);
    o->steps[3].round = ASSAY_ROUND_HALF_AWAY;
    probe(&p, s, (const int8_t[4]){50, 0, 0, 0}, 0); /* 12.5, 25 */
    assert_int_equal(at(&p, 0, 3)->ties, 1);
    assert_int_equal(at(&p, 0, 2)->high, 1);
    assert_int_equal(at(&p, 0, 2)->low, 0);
    assay_slice_free(s);
}

static void shifts_and_clamps(void **state)
{
    static const int8_t w[8] = {1, 0, 0, 0, -1, 0, 0, 0};
    struct assay_slice *s = product(ASSAY_S8, w);
    struct assay_program *o = &s->layers[0].out_program;
    struct assay_probe p = {0};

    (void)state;
    slices_shr(o, ASSAY_ROUND_HALF_UP, two);
    slices_step(o, ASSAY_STEP_CLAMP, 1, minus, plus);
    probe(&p, s, (const int8_t[4]){4, 0, 0, 0}, 0);
    assert_int_equal(at(&p, 0, 0)->ties, 0);
    probe(&p, s, (const int8_t[4]){6, 0, 0, 0}, 0);
    assert_int_equal(at(&p, 0, 0)->ties, 2);
    probe(&p, s, (const int8_t[4]){-84, 0, 0, 0}, 0);
    assert_true(at(&p, 0, 1)->low == 1 && at(&p, 0, 1)->high == 1);
    assay_slice_free(s);

    /* A shift that floors has no ties to meet. */
    s = product(ASSAY_S8, w);
    slices_shr(&s->layers[0].out_program, ASSAY_ROUND_FLOOR, two);
    memset(&p, 0, sizeof(p));
    probe(&p, s, (const int8_t[4]){6, 0, 0, 0}, 0);
    assert_int_equal(p.n_steps, 0);
    assert_int_equal(p.values, 2);
    assay_slice_free(s);
}

static void saturation_to_16_bits(void **state)
{
    static const int8_t w[8] = {127, 0, 0, 0, -127, 0, 0, 0};
    static const int64_t nine[1] = {9};
    struct assay_slice *s = product(ASSAY_S16, w);
    struct assay_program *o = &s->layers[0].out_program;
    struct assay_probe p = {0};

    (void)state;
    slices_bits(o, ASSAY_STEP_SAT, 16);
    slices_shr(o, ASSAY_ROUND_HALF_UP, nine);
    probe(&p, s, (const int16_t[4]){258, 0, 0, 0}, 0); /* 32766 */
    assert_int_equal(assay_probe_headroom(&p, 16), 0);
    assert_true(at(&p, 0, 0)->low == 0 && at(&p, 0, 0)->high == 0);
    probe(&p, s, (const int16_t[4]){259, 0, 0, 0}, 0); /* 32893 */
    assert_int_equal(assay_probe_headroom(&p, 16), -1);
    assert_int_equal(assay_probe_headroom(&p, 32), 15);
    assert_true(at(&p, 0, 0)->low == 1 && at(&p, 0, 0)->high == 1);
    assay_slice_free(s);
}

static void unary(void **state)
{
    const struct slices_operand in[] = {{ASSAY_S16, 2, {1, 3}, NULL}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_UNARY, 1, in,
                   (struct slices_operand){ASSAY_S8, 2, {1, 3}, NULL});
    struct assay_probe p = {0};

    (void)state;
    slices_requant(&s->layers[0].out_program, scale_half);
    probe(&p, s, (const int16_t[3]){1, 2, 3000}, 0);
    assert_false(p.has_sums);
    assert_int_equal(at(&p, 0, 3)->ties, 1);
    assert_int_equal(at(&p, 0, 2)->high, 1);
    assay_slice_free(s);
}

/* Nothing is above the largest binary32. */
static void one_end(void **state)
{
    static const int64_t zero[1] = {0}, most[1] = {0x7f7fffff};
    const struct slices_operand in[] = {{ASSAY_S8, 2, {1, 3}, NULL}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_UNARY, 1, in,
                   (struct slices_operand){ASSAY_F32, 2, {1, 3}, NULL});
    struct assay_program *o = &s->layers[0].out_program;
    struct assay_probe p = {0};

    (void)state;
    slices_step(o, ASSAY_STEP_TO_F32, 1, NULL, NULL);
    slices_step(o, ASSAY_STEP_FCLAMP, 1, zero, most);
    probe(&p, s, (const int8_t[3]){1, -2, 3}, 0);
    assert_int_equal(at(&p, 0, 1)->can, ASSAY_PROBE_LOW);
    assert_int_equal(at(&p, 0, 1)->low, 1);
    assay_slice_free(s);
}

static void nothing_to_look_at(void **state)
{
    const struct slices_operand in[] = {{ASSAY_S8, 2, {1, 3}, NULL}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_UNARY, 1, in,
                   (struct slices_operand){ASSAY_S8, 2, {1, 3}, NULL});
    struct assay_probe p = {0};

    (void)state;
    probe(&p, s, (const int8_t[3]){1, 2, 3}, 1);
    assert_int_equal(p.values, 0);
    assay_slice_free(s);
}

static void headroom(void **state)
{
    static const struct {
        int64_t min, max;
        unsigned bits;
        int want;
    } rows[] = {
        {0, 0, 32, 31},
        {0, 1, 32, 30},
        {-1, 0, 32, 31},
        {-128, 127, 8, 0},
        {-129, 127, 8, -1},
        {INT32_MIN, INT32_MAX, 32, 0},
        {0, (int64_t)INT32_MAX + 1, 32, -1},
        {INT64_MIN, 0, 64, 0},
        {INT64_MIN, 0, 32, -32},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct assay_probe p = {.min = rows[i].min, .max = rows[i].max};

        if (assay_probe_headroom(&p, rows[i].bits) != rows[i].want)
            fail_msg("row %zu: %d, expected %d", i,
                     assay_probe_headroom(&p, rows[i].bits), rows[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_requantization),
        cmocka_unit_test(binary64),
        cmocka_unit_test(shifts_and_clamps),
        cmocka_unit_test(saturation_to_16_bits),
        cmocka_unit_test(unary),
        cmocka_unit_test(one_end),
        cmocka_unit_test(nothing_to_look_at),
        cmocka_unit_test(headroom),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
