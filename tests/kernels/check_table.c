/* SPDX-License-Identifier: Apache-2.0 */
/* table and segment_table. */
#include "tests/kernels/kcheck.h"

#include <stdlib.h>
#include <string.h>

#define MOST 700

/* 8-bit elements: entry number x - lowest of 256. */
static void table_case(struct kc *k, int64_t index)
{
    static const enum assay_dtype outs[] = {ASSAY_S8,  ASSAY_U8,  ASSAY_S16,
                                            ASSAY_U16, ASSAY_S32, ASSAY_F32,
                                            ASSAY_S64};
    struct assay_table p = {.x_dtype = ASSAY_S8};
    struct kc_buf x, table, expected;
    size_t size;
    int64_t lowest;

    if (!kc_case(k, "table", index))
        return;
    p.x_dtype = kc_chance(k, 50) ? ASSAY_S8 : ASSAY_U8;
    p.y_dtype = outs[kc_chance(k, 60) ? kc_range(k, 0, 1) : kc_range(k, 0, 6)];
    /* every length of a tail first */
    p.n = index < 160 ? (size_t)index + 1 : (size_t)kc_range(k, 1, MOST);
    size = assay_dtype_size(p.y_dtype);
    lowest = p.x_dtype == ASSAY_S8 ? -128 : 0;
    table = kc_buf_wall(256 * size);
    x = kc_buf_wall(p.n);
    expected = kc_buf_new(p.n * size, 0);
    kc_fill(k, p.y_dtype, table.data, 256);
    kc_fill(k, p.x_dtype, x.data, p.n);
    for (size_t i = 0; i < p.n && i < 256; i++)
        if (p.n >= 256) /* every entry */
            x.data[i] = (uint8_t)i;
    p.table = table.data;
    for (size_t i = 0; i < p.n; i++) {
        size_t at = (size_t)(kc_element(p.x_dtype, x.data, i) - lowest);

        memcpy(expected.data + i * size, table.data + at * size, size);
    }
    snprintf(k->text, sizeof(k->text), "n %zu x%d y%d", p.n, p.x_dtype,
             p.y_dtype);
    KC_JUDGE_COLUMN(k, k->table.table, &p, expected.data, p.n, x.data);
    kc_buf_free(&x);
    kc_buf_free(&table);
    kc_buf_free(&expected);
}

/* ---- segment table ------------------------------------------------------- */

struct segment_case {
    struct assay_segment_table p;
    int16_t table[6 * 64];
    struct kc_program out;
    bool plain; /* the values themselves */
};

static int64_t limit(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* f(v): the number of bounds below v names the segment. */
static int64_t naive_value(const struct segment_case *c, int64_t v)
{
    const struct assay_segment_table *p = &c->p;
    int64_t s = 0, t, base, position, i, f, sum;

    for (int b = 0; b < 8; b++)
        s += p->segments[b].bound < v;
    s = s < 7 ? s : 7;
    t = v * p->segments[s].scale +
        p->segments[s].bias * ((int64_t)1 << p->segments[s].left_shift);
    t = kc_naive_shr(t, p->segments[s].right_shift, p->round);
    if (s == 0 || s == 7)
        return limit(t, INT16_MIN, INT16_MAX);
    base = limit((s - 1) * 64, 0, 320);
    position = limit(t, 0, 64 * 256 - 1);
    i = position / 256;
    f = position % 256;
    sum = c->table[base + i] * (256 - f);
    sum += c->table[base + limit(i + 1, 0, 63)] * f;
    return kc_naive_shr(sum, 8, p->mix_round);
}

static int64_t naive_segment(const struct segment_case *c, int64_t x)
{
    switch (c->p.symmetry) {
    case ASSAY_SYMMETRY_NONE: return naive_value(c, x);
    case ASSAY_SYMMETRY_Y:
        return naive_value(c, x == INT16_MIN ? INT16_MAX : x < 0 ? -x : x);
    default: break;
    }
    if (x >= 0)
        return naive_value(c, x);
    x = x == INT16_MIN ? INT16_MAX : -x;
    return limit(-naive_value(c, x), INT16_MIN, INT16_MAX);
}

static int by_value(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

/* A line over [from, to] that runs through the table, about. */
static void span_segment(struct kc *k, struct segment_case *c, int s,
                         int64_t from, int64_t to)
{
    int64_t room = to > from ? to - from : 1, bias;
    int32_t right = (int32_t)kc_range(k, 4, 16), left = 0;
    int64_t scale = ((int64_t)16384 << right) / room;

    while (scale > 32767 && right > 0) {
        scale /= 2;
        right--;
    }
    bias = -from * scale;
    while (bias > 32767 || bias < -32768) {
        bias /= 2;
        left++;
    }
    c->p.segments[s].scale = (int32_t)scale;
    c->p.segments[s].bias = (int32_t)bias;
    c->p.segments[s].left_shift = left;
    c->p.segments[s].right_shift = right;
}

static void draw_segments(struct kc *k, struct segment_case *c)
{
    int64_t top = c->p.x_dtype == ASSAY_S8 ? 128 : 32768;
    int64_t from = c->p.symmetry == ASSAY_SYMMETRY_NONE ? -top : 0;
    bool extreme = kc_chance(k, 15);
    int32_t bounds[8];

    for (int s = 0; s < 8; s++) {
        bounds[s] = (int32_t)kc_range(k, from, top - 1);
        if (kc_chance(k, 10))
            bounds[s] = (int32_t)(kc_chance(k, 50) ? -top : top - 1);
    }
    qsort(bounds, 8, sizeof(bounds[0]), by_value);
    for (int s = 0; s < 8; s++) {
        c->p.segments[s].bound = bounds[s];
        span_segment(k, c, s, s ? bounds[s - 1] : from, bounds[s]);
        if (extreme) { /* the ends of what the fields may hold */
            c->p.segments[s].scale = (int32_t)kc_range(k, INT32_MIN, INT32_MAX);
            c->p.segments[s].bias = kc_chance(k, 50) ? INT32_MIN : INT32_MAX;
            c->p.segments[s].left_shift = (int32_t)kc_range(k, 0, 31);
            c->p.segments[s].right_shift = (int32_t)kc_range(k, 0, 31);
        } else if (kc_chance(k, 20)) {
            c->p.segments[s].right_shift = (int32_t)kc_range(k, 0, 16);
            c->p.segments[s].bias = (int32_t)kc_range(k, -32768, 32767);
        }
    }
}

static void segment_output(struct kc *k, struct segment_case *c)
{
    static const enum assay_dtype outs[] = {ASSAY_S16, ASSAY_S32, ASSAY_S8,
                                            ASSAY_F32};

    c->plain = kc_chance(k, 60);
    c->p.y_dtype = outs[c->plain ? kc_range(k, 0, 1) : kc_range(k, 0, 3)];
    if (c->plain)
        kc_program_begin(&c->out, 1);
    else
        kc_random_program(k, &c->out, 1, false, INT16_MIN, INT16_MAX,
                          c->p.y_dtype, false);
    c->p.out = &c->out.p;
}

/* Values beside the bounds among the others. */
static void segment_input(struct kc *k, const struct segment_case *c, void *x)
{
    int64_t top = c->p.x_dtype == ASSAY_S8 ? 127 : 32767;

    kc_fill(k, c->p.x_dtype, x, c->p.n);
    for (size_t i = 0; i < c->p.n; i++) {
        int64_t v = c->p.segments[kc_range(k, 0, 7)].bound;
        union assay_value e;

        v = (kc_chance(k, 70) ? v : -v) + kc_range(k, -1, 1);
        e.i = limit(v, -top - 1, top);
        if (kc_chance(k, 25))
            assay_store_values(
                c->p.x_dtype, (uint8_t *)x + i * assay_dtype_size(c->p.x_dtype),
                &e, 1);
    }
}

static void segment_case(struct kc *k, int64_t index)
{
    struct segment_case c;
    struct kc_buf x, expected;
    size_t size;

    if (!kc_case(k, "segment_table", index))
        return;
    memset(&c, 0, sizeof(c));
    c.p.x_dtype = kc_chance(k, 80) ? ASSAY_S16 : ASSAY_S8;
    c.p.n = (size_t)kc_range(k, 1, kc_chance(k, 50) ? 40 : MOST);
    c.p.symmetry = (enum assay_symmetry)(index % 3 + 1);
    c.p.round = c.p.mix_round = ASSAY_ROUND_HALF_UP;
    if (kc_chance(k, 30)) {
        c.p.round = (enum assay_round)kc_range(k, 0, 7);
        c.p.mix_round = (enum assay_round)kc_range(k, 0, 7);
    }
    kc_fill(k, ASSAY_S16, c.table, 6 * 64);
    c.p.table = c.table;
    draw_segments(k, &c);
    segment_output(k, &c);
    size = assay_dtype_size(c.p.y_dtype);
    x = kc_buf_wall(c.p.n * assay_dtype_size(c.p.x_dtype));
    segment_input(k, &c, x.data);
    expected = kc_buf_new(c.p.n * size, 0);
    for (size_t i = 0; i < c.p.n; i++) {
        union assay_value v = {
            .i = naive_segment(&c, kc_element(c.p.x_dtype, x.data, i))};

        v = kc_naive_program(c.p.out, v, 0, 0);
        assay_store_values(c.p.y_dtype, expected.data + i * size, &v, 1);
    }
    snprintf(k->text, sizeof(k->text), "n %zu x%d y%d symmetry %d rounds %d,%d",
             c.p.n, c.p.x_dtype, c.p.y_dtype, c.p.symmetry, c.p.round,
             c.p.mix_round);
    KC_JUDGE_COLUMN(k, k->table.segment_table, &c.p, expected.data, c.p.n,
                    x.data);
    kc_buf_free(&x);
    kc_buf_free(&expected);
    kc_program_free(&c.out);
}

void kc_check_table(struct kc *k)
{
    for (int64_t i = 0; i < (k->opt.long_run ? 8000 : 800); i++)
        table_case(k, i);
}

void kc_check_segment_table(struct kc *k)
{
    for (int64_t i = 0; i < (k->opt.long_run ? 9000 : 900); i++)
        segment_case(k, i);
}
