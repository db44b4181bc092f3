/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a probe says beyond the steps of programs: partial sums against plain
 * loops, padding, cells of pools, branches, entries of tables, joins, limits.
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

#include "kernels/cpu.h"
#include "lib/engine/probe.h"
#include "tests/support/slices.h"

static const struct assay_probe_limits none = {UINT64_MAX, SIZE_MAX};

static void probe(struct assay_probe *p, const struct assay_slice *s,
                  const void *x, const void *b, int want)
{
    const void *in[ASSAY_MAX_LAYER_INPUTS] = {x, b};
    struct assay_err err = {0};
    int rc = assay_probe_layer(p, s, in, assay_cpu_probe(), &none, &err);

    if (rc != want)
        fail_msg("%d, expected %d: %s", rc, want, err.text);
    assert_null(assay_probe_bad_field(p));
}

static bool can(const struct assay_probe *p, enum assay_probe_fact fact)
{
    return (p->facts >> fact & 1) != 0;
}

/* ---- partial sums ------------------------------------------------------------ */

#define H 4
#define W 5
#define C 4
#define OC 4
#define X (2 * H * W * C)

/* Two images of 4 x 5 x 4, 3 x 3 windows padded above and to the left. */
struct conv {
    enum assay_dtype x_dtype, w_dtype;
    int groups, x_zero;
    int8_t w[OC * 9 * C];
    int16_t x[X]; /* as numbers; bytes are made of them */
    uint8_t bytes[X * 2];
};

static uint32_t state = 1;

static int draw(int lo, int hi)
{
    state = state * 1664525u + 1013904223u;
    return lo + (int)((state >> 8) % (uint32_t)(hi - lo + 1));
}

static struct assay_slice *make_conv(struct conv *c)
{
    const struct slices_operand in[] = {
        {c->x_dtype, 4, {2, H, W, C}, NULL},
        {c->w_dtype, 4, {OC, 3, 3, C / c->groups}, c->w}};
    struct assay_slice *s = slices_one(
        ASSAY_OP_CONV2D, 2, in,
        (struct slices_operand){c->x_dtype == ASSAY_S16 ? ASSAY_S64 : ASSAY_S32,
                                4,
                                {2, H - 1, W - 1, OC},
                                NULL});

    slices_quant(s, 0, 1.0f, c->x_zero);
    s->layers[0].p.conv2d = (struct assay_conv2d_params){.stride_h = 1,
                                                         .stride_w = 1,
                                                         .dilation_h = 1,
                                                         .dilation_w = 1,
                                                         .pad_top = 1,
                                                         .pad_left = 1,
                                                         .groups = c->groups};
    return s;
}

static void put_x(struct conv *c, size_t at, int value)
{
    c->x[at] = (int16_t)value;
    if (c->x_dtype == ASSAY_S16)
        memcpy(c->bytes + 2 * at, &c->x[at], 2);
    else
        c->bytes[at] = (uint8_t)value;
}

static int64_t weight_of(const struct conv *c, int at)
{
    return c->w_dtype == ASSAY_U8 ? (uint8_t)c->w[at] : c->w[at];
}

/* Ends of sums: 0, 1 running, 2, 3 pairs. */
static void ends_of(const struct conv *c, int64_t ends[4])
{
    int ic = C / c->groups;

    memset(ends, 0, 4 * sizeof(*ends));
    for (int e = 0; e < 2 * (H - 1) * (W - 1) * OC; e++) {
        int o = e % OC, ox = e / OC % (W - 1), n = 0;
        int oy = e / OC / (W - 1) % (H - 1), image = e / OC / (W - 1) / (H - 1);
        int64_t sum = 0, pair = 0;

        for (int tap = 0; tap < 9; tap++)
            for (int k = 0; k < ic; k++, n++) {
                int y = oy - 1 + tap / 3, x = ox - 1 + tap % 3;
                bool out = y < 0 || y >= H || x < 0 || x >= W;
                int at =
                    ((image * H + y) * W + x) * C + o / (OC / c->groups) * ic;
                int64_t v = out ? c->x_zero : c->x[at + k];
                int64_t product = v * weight_of(c, (o * 9 + tap) * ic + k);

                sum += product;
                pair = n % 2 == 0 ? product : pair + product;
                ends[0] = sum < ends[0] ? sum : ends[0];
                ends[1] = sum > ends[1] ? sum : ends[1];
                if (n % 2 == 1) {
                    ends[2] = pair < ends[2] ? pair : ends[2];
                    ends[3] = pair > ends[3] ? pair : ends[3];
                }
            }
    }
}

static int width_of(int64_t lo, int64_t hi, int bits)
{
    int64_t most = ((int64_t)1 << (bits - 1)) - 1;

    return lo < -most - 1 || hi > most ? ASSAY_PROBE_LEAVES : ASSAY_PROBE_FITS;
}

/* Most draws are near the limits, where bounds alone do not tell. */
static void draw_conv(struct conv *c, int i)
{
    static const enum assay_dtype dtypes[] = {ASSAY_S8, ASSAY_U8, ASSAY_S16};
    int top = draw(1, 127);

    c->x_dtype = dtypes[i % 3];
    c->w_dtype = i % 5 == 0 ? ASSAY_U8 : ASSAY_S8;
    c->groups = i % 4 == 0 ? C : i % 4 == 1 ? 2 : 1;
    c->x_zero = c->x_dtype == ASSAY_S16  ? 0
                : c->x_dtype == ASSAY_U8 ? draw(0, 255)
                                         : draw(-128, 127);
    for (size_t k = 0; k < sizeof(c->w); k++)
        c->w[k] = (int8_t)draw(-top - 1, top);
    for (size_t k = 0; k < X; k++)
        put_x(c, k,
              c->x_dtype == ASSAY_S16  ? draw(-top, top) * 3
              : c->x_dtype == ASSAY_U8 ? draw(0, 255)
                                       : draw(-128, 127));
}

static void partial_sums(void **unused)
{
    int seen[ASSAY_PROBE_SUMS][3] = {{0}};

    (void)unused;
    for (int i = 0; i < 300; i++) {
        struct conv c;
        struct assay_probe p;
        struct assay_slice *s;
        int64_t e[4];

        memset(&c, 0, sizeof(c));
        draw_conv(&c, i);
        s = make_conv(&c);
        probe(&p, s, c.bytes, NULL, 0);
        ends_of(&c, e);
        assert_int_equal(p.sums[0], width_of(e[0], e[1], 16));
        assert_int_equal(p.sums[1], width_of(e[0], e[1], 32));
        assert_int_equal(p.sums[2], width_of(e[2], e[3], 16));
        assert_true(can(&p, ASSAY_PROBE_PADDING));
        /* The first row, and the first column of the others; both images. */
        assert_int_equal(p.fact[ASSAY_PROBE_PADDING], 2 * (W - 1 + H - 2));
        for (int k = 0; k < ASSAY_PROBE_SUMS; k++)
            seen[k][p.sums[k]]++;
        assay_slice_free(s);
    }
    assert_true(seen[0][1] > 20 && seen[0][2] > 20);
    assert_true(seen[2][1] > 20 && seen[2][2] > 20);
}

/* y = x * w, one row of K, one column. */
static struct assay_slice *row(enum assay_dtype x, int64_t k, const int8_t *w)
{
    const struct slices_operand in[] = {{x, 2, {1, k}, NULL},
                                        {ASSAY_S8, 2, {1, k}, w}};

    return slices_one(ASSAY_OP_GEMM, 2, in,
                      (struct slices_operand){ASSAY_S64, 2, {1, 1}, NULL});
}

/* It leaves 32 bits on the way and comes back. */
static void running_32(void **unused)
{
    enum { K = 1024 };
    static int8_t w[K];
    static int16_t x[K];
    struct assay_probe p;
    struct assay_slice *s;

    (void)unused;
    for (int k = 0; k < K; k++) {
        w[k] = k < K / 2 ? 127 : -127;
        x[k] = 32767;
    }
    s = row(ASSAY_S16, K, w);
    probe(&p, s, x, NULL, 0);
    assert_true(p.has_sums && p.min == 0 && p.max == 0);
    assert_int_equal(p.sums[ASSAY_PROBE_RUNNING_16], ASSAY_PROBE_LEAVES);
    assert_int_equal(p.sums[ASSAY_PROBE_RUNNING_32], ASSAY_PROBE_FITS);
    x[0] = x[K / 2] = -32768; /* 512 * 127 * 32767 is below 2^31, with less */
    assay_slice_free(s);
    for (int k = 0; k < K; k++)
        w[k] = k < 3 * K / 4 ? 127 : -128;
    s = row(ASSAY_S16, K, w);
    for (int k = 0; k < K; k++)
        x[k] = 32767;
    probe(&p, s, x, NULL, 0);
    assert_true(p.max <= INT32_MAX); /* the last sum shows nothing of it */
    assert_int_equal(p.sums[ASSAY_PROBE_RUNNING_32], ASSAY_PROBE_LEAVES);
    assay_slice_free(s);
}

/* smull + smlal: x = w = -128 (docs/hypotheses.md, A1). */
static void pairs(void **unused)
{
    static const int8_t w[2] = {-128, -128};
    struct assay_slice *s = row(ASSAY_S8, 2, w);
    struct assay_probe p;

    (void)unused;
    probe(&p, s, (const int8_t[2]){-128, -127}, NULL, 0);
    assert_int_equal(p.sums[ASSAY_PROBE_PAIRS_16], ASSAY_PROBE_FITS);
    assert_int_equal(p.max, 255 * 128);
    probe(&p, s, (const int8_t[2]){-128, -128}, NULL, 0);
    assert_int_equal(p.sums[ASSAY_PROBE_PAIRS_16], ASSAY_PROBE_LEAVES);
    assert_int_equal(p.max, 32768);
    assay_slice_free(s);
}

static void limits(void **unused)
{
    static const int8_t w[8] = {127, 127, 127, -127, -127, -127, 1, 1};
    static const int8_t x[8] = {127, 127, 127, 127, 127, 127, 0, 0};
    const void *in[ASSAY_MAX_LAYER_INPUTS] = {x};
    struct assay_slice *s = row(ASSAY_S8, 8, w);
    struct assay_probe_limits few = none;
    struct assay_probe p;
    uint64_t full;

    (void)unused;
    probe(&p, s, x, NULL, 0);
    assert_int_equal(p.sums[ASSAY_PROBE_RUNNING_16], ASSAY_PROBE_LEAVES);
    full = p.work;
    assert_true(full > 0);
    few.work = full; /* exactly that is enough */
    assert_int_equal(assay_probe_layer(&p, s, in, 0, &few, NULL), 0);
    assert_int_equal(p.work, full);
    few.work = full - 1; /* the sums are had, what is on the way is not */
    assert_int_equal(assay_probe_layer(&p, s, in, 0, &few, NULL), 0);
    assert_true(p.has_sums && p.work <= few.work);
    assert_int_equal(p.sums[ASSAY_PROBE_RUNNING_16], ASSAY_PROBE_UNKNOWN);
    assert_int_equal(p.sums[ASSAY_PROBE_RUNNING_32], ASSAY_PROBE_FITS);
    few.work = 1;
    assert_int_equal(assay_probe_layer(&p, s, in, 0, &few, NULL),
                     ASSAY_PROBE_TOO_MUCH);
    assert_true(p.values == 0 && p.work == 0);
    few = (struct assay_probe_limits){UINT64_MAX, 8};
    assert_int_equal(assay_probe_layer(&p, s, in, 0, &few, NULL),
                     ASSAY_PROBE_TOO_MUCH);
    few.memory = 64; /* for the sum, not for a plan */
    assert_true(assay_probe_layer(&p, s, in, 0, &few, NULL) < 0);
    assert_int_equal(p.values, 0);
    assay_slice_free(s);
}

/* ---- pools -------------------------------------------------------------------- */

/* 1 x 2 x 4 x 1, windows of 2 x 2. */
static struct assay_slice *pool(enum assay_pool_kind kind, enum assay_dtype x,
                                enum assay_dtype y, int pad_left)
{
    const struct slices_operand in[] = {{x, 4, {1, 2, 4, 1}, NULL}};
    struct assay_slice *s = slices_one(
        ASSAY_OP_POOL, 1, in,
        (struct slices_operand){y, 4, {1, 1, pad_left ? 3 : 2, 1}, NULL});
    struct assay_pool_params *p = &s->layers[0].p.pool;

    *p = (struct assay_pool_params){.kind = (uint8_t)kind,
                                    .kh = 2,
                                    .kw = 2,
                                    .stride_h = 2,
                                    .stride_w = 2,
                                    .dilation_h = 1,
                                    .dilation_w = 1,
                                    .pad_left = pad_left,
                                    .pad_right = pad_left};
    return s;
}

static void average(void **unused)
{
    static const int8_t x[8] = {1, 2, 100, 100, 3, 5, 100, 102};
    static const int16_t wide[8] = {-30000, -30000, 1, 1, 30000, 30000, 1, 1};
    struct assay_slice *s = pool(ASSAY_POOL_AVG, ASSAY_S8, ASSAY_S8, 0);
    struct assay_pool_params *q = &s->layers[0].p.pool;
    struct assay_probe p;

    (void)unused;
    slices_quant(s, 0, 1.0f, 1);
    q->sum = ASSAY_SUM_RAW;
    q->div = ASSAY_DIV_INT;
    q->div_round = ASSAY_ROUND_HALF_UP;
    probe(&p, s, x, NULL, 0); /* 11 / 4, 402 / 4 = 100.5 */
    assert_true(p.has_sums && p.min == 11 && p.max == 402);
    assert_true(can(&p, ASSAY_PROBE_DIVISION_TIE));
    assert_int_equal(p.fact[ASSAY_PROBE_DIVISION_TIE], 1);
    assert_false(can(&p, ASSAY_PROBE_PADDING));
    q->sum = ASSAY_SUM_INT;
    probe(&p, s, x, NULL, 0);
    assert_true(p.min == 7 && p.max == 398);
    q->div_round = ASSAY_ROUND_FLOOR;
    probe(&p, s, x, NULL, 0);
    assert_false(can(&p, ASSAY_PROBE_DIVISION_TIE));
    assay_slice_free(s);

    /* The window's last sum is 0. */
    s = pool(ASSAY_POOL_AVG, ASSAY_S16, ASSAY_S64, 0);
    s->layers[0].p.pool.sum = ASSAY_SUM_RAW;
    probe(&p, s, wide, NULL, 0);
    assert_true(p.min == 0 && p.max == 4);
    assert_int_equal(p.sums[ASSAY_PROBE_RUNNING_16], ASSAY_PROBE_LEAVES);
    assert_int_equal(p.sums[ASSAY_PROBE_RUNNING_32], ASSAY_PROBE_FITS);
    assert_int_equal(p.sums[ASSAY_PROBE_PAIRS_16], ASSAY_PROBE_UNKNOWN);
    assay_slice_free(s);
}

/* Windows at both ends hold two cells: 1, 3 and 4, 8. */
static void maximum(void **unused)
{
    struct assay_slice *s = pool(ASSAY_POOL_MAX, ASSAY_S8, ASSAY_S8, 1);
    struct assay_probe p;

    (void)unused;
    probe(&p, s, (const int8_t[8]){1, 2, 3, 4, -5, 6, 7, 8}, NULL, 0);
    assert_false(p.has_sums);
    assert_true(can(&p, ASSAY_PROBE_PADDING));
    assert_int_equal(p.fact[ASSAY_PROBE_PADDING], 2);
    assert_true(can(&p, ASSAY_PROBE_PADDING_BELOW));
    assert_int_equal(p.fact[ASSAY_PROBE_PADDING_BELOW], 0);
    probe(&p, s, (const int8_t[8]){-1, 2, 3, 4, -5, 6, 7, 8}, NULL, 0);
    assert_int_equal(p.fact[ASSAY_PROBE_PADDING_BELOW], 1);
    assay_slice_free(s);
    s = pool(ASSAY_POOL_MAX, ASSAY_U8, ASSAY_U8, 1);
    probe(&p, s, (const uint8_t[8]){1, 2, 3, 4, 5, 6, 7, 8}, NULL, 0);
    assert_false(can(&p, ASSAY_PROBE_PADDING_BELOW));
    assay_slice_free(s);
}

/* ---- branches, tables, joins --------------------------------------------------- */

static void branches(void **unused)
{
    static const int64_t one[1] = {1}, three[1] = {3};
    const struct slices_operand in[] = {{ASSAY_S8, 2, {1, 4}, NULL}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_PRELU, 1, in,
                   (struct slices_operand){ASSAY_S8, 2, {1, 4}, NULL});
    struct assay_probe p;

    (void)unused;
    slices_in_programs(s, 0, 2);
    slices_shr(&s->layers[0].in_programs[0], ASSAY_ROUND_HALF_UP, one);
    slices_shr(&s->layers[0].in_programs[1], ASSAY_ROUND_HALF_UP, three);
    /* 1 is a tie of the upper branch; 4 would be one of the lower. */
    probe(&p, s, (const int8_t[4]){1, 4, 0, 6}, NULL, 0);
    assert_int_equal(p.fact[ASSAY_PROBE_BRANCH_UP], 4);
    assert_true(can(&p, ASSAY_PROBE_BRANCH_DOWN));
    assert_int_equal(p.fact[ASSAY_PROBE_BRANCH_DOWN], 0);
    assert_int_equal(p.n_steps, 2);
    assert_true(p.steps[0].operand == 1 && p.steps[0].ties == 1);
    assert_true(p.steps[1].operand == 2 && p.steps[1].ties == 0);
    probe(&p, s, (const int8_t[4]){-4, 3, -12, -1}, NULL, 0);
    assert_int_equal(p.fact[ASSAY_PROBE_BRANCH_DOWN], 3);
    assert_true(p.steps[0].ties == 1 && p.steps[1].ties == 2);
    assay_slice_free(s);
}

static void table(void **unused)
{
    static uint8_t entries[256];
    const struct slices_operand in[] = {{ASSAY_S8, 2, {1, 4}, NULL},
                                        {ASSAY_U8, 1, {256}, entries}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_TABLE, 2, in,
                   (struct slices_operand){ASSAY_U8, 2, {1, 4}, NULL});
    struct assay_probe p, q;
    uint32_t first, last;

    (void)unused;
    probe(&p, s, (const int8_t[4]){-128, 5, 5, 0}, NULL, 0);
    assert_int_equal(p.n_entries, 256);
    assert_int_equal(assay_probe_entries(&p, &first, &last), 3);
    assert_true(first == 0 && last == 133);
    probe(&q, s, (const int8_t[4]){-128, 127, 5, 6}, NULL, 0);
    assay_probe_merge(&p, &q); /* -128, 0, 5, 6, 127 */
    assert_int_equal(assay_probe_entries(&p, &first, &last), 5);
    assert_int_equal(last, 255);
    assert_int_equal(p.values, 8);
    assay_slice_free(s);
}

static struct assay_slice *segments(enum assay_symmetry symmetry)
{
    static int16_t entries[6 * 64];
    static int32_t rows[8][5];
    const struct slices_operand in[] = {{ASSAY_S16, 2, {1, 4}, NULL},
                                        {ASSAY_S16, 2, {6, 64}, entries},
                                        {ASSAY_S32, 2, {8, 5}, rows}};
    struct assay_slice *s;

    for (int i = 0; i < 8; i++)
        rows[i][0] = 100 * i - 200; /* -200, -100, 0, ..., 500 */
    s = slices_one(ASSAY_OP_SEGMENT_TABLE, 3, in,
                   (struct slices_operand){ASSAY_S16, 2, {1, 4}, NULL});
    s->layers[0].p.segment.symmetry = (uint8_t)symmetry;
    return s;
}

static void segment_table(void **unused)
{
    static const int16_t x[4] = {-300, -200, -199, 9000};
    struct assay_slice *s = segments(ASSAY_SYMMETRY_NONE);
    struct assay_probe p;

    (void)unused;
    probe(&p, s, x, NULL, 0);
    assert_int_equal(p.n_entries, 8);
    assert_int_equal(p.entries[0], 0x83); /* 0, 1 and the last */
    assay_slice_free(s);
    s = segments(ASSAY_SYMMETRY_Y);
    probe(&p, s, x, NULL, 0);
    assert_int_equal(p.entries[0], 0x80 | 0x20 | 0x10); /* 300, 200, 199 */
    assay_slice_free(s);
}

static void joins(void **unused)
{
    static const int64_t two[1] = {2}, lo[1] = {-100}, hi[1] = {100};
    const struct slices_operand in[] = {{ASSAY_S8, 2, {1, 17}, NULL},
                                        {ASSAY_S8, 2, {1, 17}, NULL}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_BINARY, 2, in,
                   (struct slices_operand){ASSAY_S8, 2, {1, 17}, NULL});
    int8_t a[17] = {100, -100}, b[17] = {20, -30};
    struct assay_probe p;

    (void)unused;
    slices_in_programs(s, 0, 2);
    slices_step(&s->layers[0].in_programs[0], ASSAY_STEP_SHL, 1, two, NULL);
    s->layers[0].p.binary.combine = ASSAY_COMBINE_ADD;
    slices_step(&s->layers[0].out_program, ASSAY_STEP_CLAMP, 1, lo, hi);
    probe(&p, s, a, b, 0);
    assert_true(p.has_sums && p.min == -430 && p.max == 420);
    assert_int_equal(p.n_steps, 2);
    assert_true(p.steps[0].low == 1 && p.steps[0].high == 1);
    assert_int_equal(p.steps[1].operand, 1);
    assert_int_equal(p.steps[1].can, ASSAY_PROBE_LEFT);
    assert_int_equal(p.steps[1].left, 2);
    assert_true(can(&p, ASSAY_PROBE_TAIL)); /* the seventeenth channel */
    assert_int_equal(p.fact[ASSAY_PROBE_TAIL], 0);
    b[16] = 1;
    probe(&p, s, a, b, 0);
    assert_int_equal(p.fact[ASSAY_PROBE_TAIL], 1);
    assay_slice_free(s);
}

/* ---- several inputs ------------------------------------------------------------- */

static void merging(void **unused)
{
    struct assay_probe a = {0}, b = {.values = 4, .work = 7}, zero = {0};

    (void)unused;
    b.has_sums = 1;
    b.min = -5;
    b.max = -2;
    b.sums[0] = ASSAY_PROBE_FITS;
    b.sums[1] = ASSAY_PROBE_LEAVES;
    b.facts = 1u << ASSAY_PROBE_TAIL;
    b.fact[ASSAY_PROBE_TAIL] = 3;
    assay_probe_merge(&a, &b);
    assert_true(a.min == -5 && a.max == -2 && a.values == 4 && a.work == 7);
    assert_int_equal(a.sums[0], ASSAY_PROBE_FITS);
    zero.work = 5; /* a sample that was left out adds its cost only */
    assay_probe_merge(&a, &zero);
    assert_int_equal(a.sums[0], ASSAY_PROBE_FITS);
    assert_int_equal(a.work, 12);
    b.min = -9;
    b.max = 1;
    b.sums[0] = ASSAY_PROBE_UNKNOWN;
    b.sums[1] = ASSAY_PROBE_FITS;
    assay_probe_merge(&a, &b);
    assert_true(a.min == -9 && a.max == 1 && a.values == 8);
    assert_int_equal(a.sums[0], ASSAY_PROBE_UNKNOWN);
    assert_int_equal(a.sums[1], ASSAY_PROBE_LEAVES);
    assert_int_equal(a.fact[ASSAY_PROBE_TAIL], 6);
    assert_null(assay_probe_bad_field(&a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partial_sums),  cmocka_unit_test(running_32),
        cmocka_unit_test(pairs),         cmocka_unit_test(limits),
        cmocka_unit_test(average),       cmocka_unit_test(maximum),
        cmocka_unit_test(branches),      cmocka_unit_test(table),
        cmocka_unit_test(segment_table), cmocka_unit_test(joins),
        cmocka_unit_test(merging),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
