/* SPDX-License-Identifier: Apache-2.0 */
/*
 * O1: averages that are rounded, centred, summed or divided in another way,
 * against plain loops.
 *
 * links: tests/support/edits.c tests/support/slices.c lib/core/
 * links: host-tools/cause/catalogue.c host-tools/cause/edit_*.c
 * links: lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * libs: -lmbedcrypto -lxxhash
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/core/arith.h"
#include "tests/support/edits.h"
#include "tests/support/slices.h"

#define MOST 4096

/* Square windows k, over n images of h x w x c. */
struct pool {
    int64_t n, h, w, c, k, stride, pad;
    enum assay_dtype dtype;
    int32_t zero;
};

static struct {
    struct pool p;
    struct assay_slice *s;
    struct assay_pool_params *q;
    int64_t oh, ow;
    uint8_t x[MOST];
    int16_t got[MOST], want[MOST]; /* outputs are int16 */
    size_t n;
} f;

static const int64_t LOW = -32768, HIGH = 32767;

static void begin(struct pool p)
{
    f.p = p;
    f.oh = (p.h + 2 * p.pad - p.k) / p.stride + 1;
    f.ow = (p.w + 2 * p.pad - p.k) / p.stride + 1;
    f.n = (size_t)(p.n * f.oh * f.ow * p.c);
    f.s = slices_one(
        ASSAY_OP_POOL, 1,
        &(struct slices_operand){p.dtype, 4, {p.n, p.h, p.w, p.c}, NULL},
        (struct slices_operand){ASSAY_S16, 4, {p.n, f.oh, f.ow, p.c}, NULL});
    slices_quant(f.s, 0, 0.5f, p.zero);
    f.q = &f.s->layers[0].p.pool;
    *f.q = (struct assay_pool_params){
        .kind = ASSAY_POOL_AVG,
        .sum = ASSAY_SUM_RAW,
        .div = ASSAY_DIV_INT,
        .div_round = ASSAY_ROUND_HALF_AWAY,
        .kh = (int32_t)p.k,
        .kw = (int32_t)p.k,
        .stride_h = (int32_t)p.stride,
        .stride_w = (int32_t)p.stride,
        .dilation_h = 1,
        .dilation_w = 1,
        .pad_top = (int32_t)p.pad,
        .pad_left = (int32_t)p.pad,
        .pad_bottom = (int32_t)p.pad,
        .pad_right = (int32_t)p.pad,
    };
    slices_step(&f.s->layers[0].out_program, ASSAY_STEP_CLAMP, 1, &LOW, &HIGH);
    edits_random(f.x, sizeof(f.x));
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

/* How a mean of `count` cells whose sum is `sum` becomes an integer. */
typedef int64_t mean_fn(int64_t sum, int64_t count);

static void window(int64_t n, int64_t oy, int64_t ox, int64_t c, int64_t *sum,
                   int64_t *count)
{
    *sum = *count = 0;
    for (int64_t y = oy * f.p.stride - f.p.pad, i = 0; i < f.p.k; i++, y++) {
        for (int64_t x = ox * f.p.stride - f.p.pad, j = 0; j < f.p.k;
             j++, x++) {
            if (y < 0 || y >= f.p.h || x < 0 || x >= f.p.w)
                continue;
            *sum += edits_load(f.p.dtype, f.x,
                               ((n * f.p.h + y) * f.p.w + x) * f.p.c + c);
            *count += 1;
        }
    }
}

static void gives(const char *edit, mean_fn *mean)
{
    const void *const in[] = {f.x};
    size_t at = 0;

    for (int64_t n = 0; n < f.p.n; n++)
        for (int64_t y = 0; y < f.oh; y++)
            for (int64_t x = 0; x < f.ow; x++)
                for (int64_t c = 0; c < f.p.c; c++) {
                    int64_t sum, count;

                    window(n, y, x, c, &sum, &count);
                    f.want[at++] = (int16_t)mean(sum, count);
                }
    if (edit)
        edits_give(f.s, edit, in, 1, f.got, f.n * 2);
    else
        edits_run(f.s, in, 1, f.got, f.n * 2);
    for (size_t i = 0; i < f.n; i++)
        if (f.got[i] != f.want[i])
            fail_msg("%s: element %zu: %d, expected %d", edit ? edit : "", i,
                     f.got[i], f.want[i]);
}

static int64_t m_floor(int64_t s, int64_t n)
{
    return (int64_t)floor((double)s / (double)n);
}
static int64_t m_trunc(int64_t s, int64_t n)
{
    return s / n;
}
static int64_t m_half_up(int64_t s, int64_t n)
{
    return (int64_t)floor((double)s / (double)n + 0.5);
}
static int64_t m_half_even(int64_t s, int64_t n)
{
    return (int64_t)rint((double)s / (double)n);
}
static int64_t m_half_away(int64_t s, int64_t n)
{
    return (int64_t)round((double)s / (double)n);
}
static int64_t centred_half_away(int64_t s, int64_t n)
{
    return m_half_away(s - n * f.p.zero, n) + f.p.zero;
}
static int64_t centred_half_up(int64_t s, int64_t n)
{
    return m_half_up(s - n * f.p.zero, n) + f.p.zero;
}
/* All cells of the window count, those outside are 0. */
static int64_t m_include(int64_t s, int64_t n)
{
    (void)n;
    return m_half_away(s, f.p.k * f.p.k);
}
static int64_t m_wrapped(int64_t s, int64_t n)
{
    return m_half_away((int16_t)(uint16_t)s, n);
}

static const struct pool POOLS[] = {
    {2, 4, 6, 33, 2, 2, 0, ASSAY_S8, 0},
    {1, 2, 2, 1, 2, 1, 0, ASSAY_U8, 7},
    {2, 5, 5, 3, 4, 1, 0, ASSAY_S16, -9},
};

static void means_are_rounded(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(POOLS) / sizeof(POOLS[0]); i++) {
        begin(POOLS[i]);
        gives(NULL, m_half_away);
        gives("O1=floor", m_floor);
        gives("O1=trunc", m_trunc);
        gives("O1=half_up", m_half_up);
        gives("O1=half_even", m_half_even);
        refuses("O1=half_away", ASSAY_EDIT_SAME);
        if (f.p.zero == 0)
            refuses("O1=centred_half_away", ASSAY_EDIT_SAME);
        else
            gives("O1=centred_half_away", centred_half_away);
        gives("O1=centred_half_up", centred_half_up);
        refuses("O1=q31", ASSAY_EDIT_NOT_HERE);
        refuses("O1=include_pad", ASSAY_EDIT_SAME);
        refuses("O1=exclude_pad", ASSAY_EDIT_SAME);
        refuses("O11=zero", ASSAY_EDIT_NOT_HERE);
        end();
    }
}

static void padding_counts_or_not(void **state)
{
    const struct pool p = {2, 5, 4, 33, 3, 1, 1, ASSAY_S8, 0};

    (void)state;
    begin(p);
    gives(NULL, m_half_away);
    gives("O1=include_pad", m_include);
    refuses("O1=exclude_pad", ASSAY_EDIT_SAME);
    f.q->count_include_pad = true;
    gives(NULL, m_include);
    gives("O1=exclude_pad", m_half_away);
    f.q->div = ASSAY_DIV_NONE;
    refuses("O1=exclude_pad", ASSAY_EDIT_NOT_HERE);
    end();
}

/* Sums of 16 cells of int16 leave 16 bits, those of 4 bytes do not. */
static void sums_wrap(void **state)
{
    (void)state;
    begin(POOLS[2]);
    gives("O1=wrap16", m_wrapped);
    f.q->sum = ASSAY_SUM_INT; /* centred: another sum that wraps */
    f.s->tensors[0].quant.n = 0;
    f.q->div = ASSAY_DIV_F32;
    f.s->layers[0].out_program.n_steps = 0;
    slices_step(&f.s->layers[0].out_program, ASSAY_STEP_FROUND, 0, NULL, NULL);
    f.s->layers[0].out_program.steps[0].round = ASSAY_ROUND_HALF_AWAY;
    slices_step(&f.s->layers[0].out_program, ASSAY_STEP_CLAMP, 1, &LOW, &HIGH);
    gives("O1=wrap16", m_wrapped);
    end();
    begin(POOLS[0]);
    refuses("O1=wrap16", ASSAY_EDIT_SAME);
    end();
    begin((struct pool){1, 4, 4, 2, 3, 1, 1, ASSAY_S16, 0});
    refuses("O1=wrap16", ASSAY_EDIT_NOT_HERE); /* windows of many counts */
    end();
}

/* The divisor is a multiplication and a shift of the program. */
static void a_program_that_divides(void **state)
{
    static const int64_t two = 2;
    struct assay_program *p;

    (void)state;
    begin(POOLS[0]);
    f.q->div = ASSAY_DIV_NONE;
    p = &f.s->layers[0].out_program;
    p->n_steps = 0;
    slices_shr(p, ASSAY_ROUND_HALF_UP, &two);
    gives(NULL, m_half_up);
    gives("O1=floor", m_floor);
    gives("O1=half_even", m_half_even);
    refuses("O1=half_up", ASSAY_EDIT_SAME);
    refuses("O1=centred_half_up", ASSAY_EDIT_NOT_HERE);
    refuses("O1=f32_cells", ASSAY_EDIT_NOT_HERE);
    refuses("O1=wrap16", ASSAY_EDIT_SAME);
    end();
    begin((struct pool){1, 2, 2, 1, 2, 1, 0, ASSAY_S16, 0});
    f.q->div = ASSAY_DIV_NONE;
    p = &f.s->layers[0].out_program;
    p->n_steps = 0;
    slices_shr(p, ASSAY_ROUND_HALF_AWAY, &two);
    gives("O1=wrap16", m_wrapped);
    end();
}

/* A layer with scales of its own takes another named arithmetic. */
static void named_arithmetics(void **state)
{
    const struct slices_operand t[] = {{ASSAY_U8, 4, {1, 1, 4, 1}, NULL},
                                       {ASSAY_U8, 4, {1, 1, 2, 1}, NULL}};
    const uint8_t x[] = {10, 13, 7, 20}; /* means 11.5 and 13.5 */
    const void *const in[] = {x};
    uint8_t y[2];

    (void)state;
    f.s = slices_one(ASSAY_OP_POOL, 1, t, t[1]);
    slices_quant(f.s, 0, 0.5f, 3);
    slices_quant(f.s, 1, 0.5f, 3);
    f.s->layers[0].real_op = ASSAY_REAL_AVG_POOL;
    f.s->layers[0].p.pool = (struct assay_pool_params){.kind = ASSAY_POOL_AVG,
                                                       .kh = 1,
                                                       .kw = 2,
                                                       .stride_h = 1,
                                                       .stride_w = 2,
                                                       .dilation_h = 1,
                                                       .dilation_w = 1};
    assert_int_equal(assay_arith_apply(f.s, 0, "f32_seq_zpin", NULL), 0);
    edits_run(f.s, in, 1, y, 2);
    assert_memory_equal(y, ((uint8_t[]){12, 14}), 2);
    edits_give(f.s, "O1=floor", in, 1, y, 2);
    assert_memory_equal(y, ((uint8_t[]){11, 13}), 2);
    /* Centred 8.5 and 10.5: to even it is 8 and 10, and the zero point. */
    edits_give(f.s, "O1=f32_sum", in, 1, y, 2);
    assert_memory_equal(y, ((uint8_t[]){11, 13}), 2);
    edits_give(f.s, "O1=centred_half_up", in, 1, y, 2);
    assert_memory_equal(y, ((uint8_t[]){12, 14}), 2);
    edits_give(f.s, "O1=q31", in, 1, y, 2);
    assert_memory_equal(y, ((uint8_t[]){12, 14}), 2);
    refuses("O1=f32_cells", ASSAY_EDIT_SAME);
    /* Of unequal scales there is no mean of stored numbers. */
    slices_quant(f.s, 1, 1.0f, 3);
    assert_int_equal(assay_arith_apply(f.s, 0, "f32_seq_zpin", NULL), 0);
    edits_run(f.s, in, 1, y, 2); /* 4.25 and 5.25, and 3 */
    assert_memory_equal(y, ((uint8_t[]){7, 8}), 2);
    refuses("O1=half_even", ASSAY_EDIT_SAME);
    refuses("O1=centred_half_up", ASSAY_EDIT_NOT_HERE);
    end();
}

/* Cells as floats, by rows or by columns first; padding counts, as 0. */
static uint8_t float_mean(const uint8_t *x, int64_t oy, int64_t ox, int64_t c,
                          bool columns)
{
    const float scale = 0.17291461f, n = (float)(f.p.k * f.p.k);
    float sum = 0;

    for (int64_t a = 0; a < f.p.k; a++) {
        float part = columns ? 0 : sum;

        for (int64_t b = 0; b < f.p.k; b++) {
            int64_t y = oy * f.p.stride + (columns ? b : a) - f.p.pad;
            int64_t z = ox * f.p.stride + (columns ? a : b) - f.p.pad;
            volatile float cell = 0;

            if (y >= 0 && y < f.p.h && z >= 0 && z < f.p.w)
                cell =
                    (float)(x[(y * f.p.w + z) * f.p.c + c] - f.p.zero) * scale;
            part = part + cell;
        }
        sum = columns ? sum + part : part;
    }
    sum = rintf(sum / n / scale);
    return (uint8_t)fminf(fmaxf(sum + (float)f.p.zero, 0), 255);
}

static void float_pool(struct pool p)
{
    const struct slices_operand t[] = {
        {ASSAY_U8, 4, {1, p.h, p.w, p.c}, NULL},
        {ASSAY_U8,
         4,
         {1, (p.h + 2 * p.pad - p.k) / p.stride + 1,
          (p.w + 2 * p.pad - p.k) / p.stride + 1, p.c},
         NULL}};
    const int64_t *y = t[1].dims;

    f.p = p;
    f.n = (size_t)(y[1] * y[2] * y[3]);
    f.s = slices_one(ASSAY_OP_POOL, 1, t, t[1]);
    slices_quant(f.s, 0, 0.17291461f, p.zero);
    slices_quant(f.s, 1, 0.17291461f, p.zero);
    f.s->layers[0].real_op = ASSAY_REAL_AVG_POOL;
    f.s->layers[0].p.pool =
        (struct assay_pool_params){.kind = ASSAY_POOL_AVG,
                                   .count_include_pad = p.pad > 0,
                                   .kh = (int32_t)p.k,
                                   .kw = (int32_t)p.k,
                                   .stride_h = (int32_t)p.stride,
                                   .stride_w = (int32_t)p.stride,
                                   .dilation_h = 1,
                                   .dilation_w = 1,
                                   .pad_top = (int32_t)p.pad,
                                   .pad_left = (int32_t)p.pad,
                                   .pad_bottom = (int32_t)p.pad,
                                   .pad_right = (int32_t)p.pad};
    assert_int_equal(assay_arith_apply(f.s, 0, "f32_sum_scale", NULL), 0);
    edits_random(f.x, sizeof(f.x));
}

/* Floats whose sum depends on the order of cells. */
static void floats_in_order(void **state)
{
    static const struct pool pools[] = {{1, 16, 16, 8, 2, 2, 0, ASSAY_U8, 0},
                                        {1, 9, 7, 5, 3, 1, 1, ASSAY_U8, 3}};

    (void)state;
    for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++) {
        const void *const in[] = {f.x};
        uint8_t rows[MOST], columns[MOST];
        size_t apart = 0;

        float_pool(pools[i]);
        edits_give(f.s, "O1=dq_q", in, 1, rows, f.n);
        edits_give(f.s, "O1=f32_columns", in, 1, columns, f.n);
        for (size_t e = 0; e < f.n; e++) {
            int64_t c = (int64_t)e % f.p.c, at = (int64_t)e / f.p.c;
            int64_t width = f.s->tensors[1].dims[2];

            assert_int_equal(rows[e],
                             float_mean(f.x, at / width, at % width, c, false));
            assert_int_equal(columns[e],
                             float_mean(f.x, at / width, at % width, c, true));
            apart += rows[e] != columns[e];
        }
        assert_true(apart > 0 || f.p.k == 3);
        if (f.p.pad > 0) { /* windows of other counts have another divisor */
            f.s->layers[0].p.pool.count_include_pad = false;
            refuses("O1=f32_columns", ASSAY_EDIT_NOT_HERE);
        }
        end();
    }
    float_pool((struct pool){1, 2, 2, 1, 1, 1, 0, ASSAY_U8, 0});
    refuses("O1=f32_columns", ASSAY_EDIT_NOT_HERE);
    end();
    begin(POOLS[0]); /* its scales are not known */
    refuses("O1=f32_columns", ASSAY_EDIT_NOT_HERE);
    refuses("O1=dq_q", ASSAY_EDIT_NOT_HERE);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_are_rounded),
        cmocka_unit_test(padding_counts_or_not),
        cmocka_unit_test(sums_wrap),
        cmocka_unit_test(a_program_that_divides),
        cmocka_unit_test(named_arithmetics),
        cmocka_unit_test(floats_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
