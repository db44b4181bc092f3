/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that are one program on one accumulator. Every group is run twice:
 * with one operand a channel, each row a lane of its own; and row by row with
 * one operand a tensor, where neighbouring rows fill the other lanes.
 */
#include "tests/vectors/hbm_program.h"
#include "tests/vectors/vcheck.h"

#include <stdlib.h>
#include <string.h>

#include "lib/core/arith.h"

#define LANES 13 /* no multiple of any vector, so that tails are run */

/* Accumulators of a group as values; the wide ones keep their 64 bits. */
static union assay_value *accumulators(const struct assay_vc_table *t,
                                       size_t first, size_t end, size_t col)
{
    union assay_value *v = assay_vc_alloc(end - first, sizeof(*v));
    for (size_t i = first; i < end; i++)
        v[i - first].i = assay_vc_int(t, t->order[i], col);
    return v;
}

/* All rows of the group as channels, in blocks of an odd length. */
static void run_channels(struct assay_vc_table *t,
                         const struct assay_vc_under_test *u, size_t first,
                         size_t end, size_t acc, size_t expected,
                         const struct assay_program *p)
{
    size_t n = end - first;
    union assay_value *v = accumulators(t, first, end, acc);
    for (size_t at = 0; at < n;) {
        size_t length = n - at < 3 * LANES ? n - at : 3 * LANES;
        struct assay_block block = {
            .v = v + at, .n = length, .channel = at, .channels = n};
        u->program(p, &block);
        at += length;
    }
    for (size_t i = 0; i < n; i++)
        assay_vc_expect(t, t->order[first + i],
                        assay_vc_int(t, t->order[first + i], expected), v[i].i);
    free(v);
}

/* One row's program on a block whose lanes are the rows around it. */
static int64_t run_lane(const struct assay_vc_under_test *u,
                        const union assay_value *accs, size_t n, size_t i,
                        const struct assay_program *p)
{
    union assay_value v[LANES];
    size_t from = i < LANES / 2 ? 0 : i - LANES / 2;
    size_t length = n - from < LANES ? n - from : LANES;
    memcpy(v, accs + from, length * sizeof(*v));
    struct assay_block block = {.v = v, .n = length, .channels = 1};
    u->program(p, &block);
    return v[i - from].i;
}

/* ---- requant.csv --------------------------------------------------------- */

enum { Q_POLICY, Q_ACC, Q_MULT, Q_SHIFT, Q_SCALE, Q_ZP, Q_MIN, Q_MAX, Q_EXP };
#define Q_KEY (1u << Q_POLICY | 1u << Q_ZP | 1u << Q_MIN | 1u << Q_MAX)

struct operands {
    int32_t *m;
    int *s;
    float *scale32;
    double *scale64;
};

static struct operands read_operands(const struct assay_vc_table *t,
                                     size_t first, size_t end)
{
    size_t n = end - first;
    struct operands o = {.m = assay_vc_alloc(n, sizeof(*o.m)),
                         .s = assay_vc_alloc(n, sizeof(*o.s)),
                         .scale32 = assay_vc_alloc(n, sizeof(*o.scale32)),
                         .scale64 = assay_vc_alloc(n, sizeof(*o.scale64))};
    for (size_t i = 0; i < n; i++) {
        size_t row = t->order[first + i];
        o.m[i] = (int32_t)assay_vc_int(t, row, Q_MULT);
        o.s[i] = (int)assay_vc_int(t, row, Q_SHIFT);
        if (strncmp(assay_vc_cell(t, row, Q_POLICY), "fp64", 4) == 0)
            o.scale64[i] = assay_vc_f64(t, row, Q_SCALE);
        else
            o.scale32[i] = assay_vc_f32(t, row, Q_SCALE);
    }
    return o;
}

static void free_operands(struct operands *o)
{
    free(o->m);
    free(o->s);
    free(o->scale32);
    free(o->scale64);
}

/* The program of `n` rows from `at`; refuses loudly. */
static bool requant_program(struct assay_vc_table *t, struct assay_arena *arena,
                            const struct operands *o, size_t first, size_t at,
                            size_t n, struct assay_program *p)
{
    size_t row = t->order[first + at];
    struct assay_policy_operands ops = {.n = (uint32_t)n,
                                        .m = o->m + at,
                                        .s = o->s + at,
                                        .scale32 = o->scale32 + at,
                                        .scale64 = o->scale64 + at,
                                        .zp =
                                            (int32_t)assay_vc_int(t, row, Q_ZP),
                                        .qmin = assay_vc_int(t, row, Q_MIN),
                                        .qmax = assay_vc_int(t, row, Q_MAX)};
    struct assay_err err = {0};
    if (assay_policy_program(arena, assay_vc_cell(t, row, Q_POLICY), &ops, p,
                             &err) == 0)
        return true;
    assay_vc_refused(t, row, err.text);
    return false;
}

static void requant_group(struct assay_vc_table *t,
                          const struct assay_vc_under_test *u, size_t first,
                          size_t end)
{
    struct assay_arena *arena = assay_arena_new();
    struct operands o = read_operands(t, first, end);
    union assay_value *accs = accumulators(t, first, end, Q_ACC);
    struct assay_program p;
    size_t n = end - first;
    if (requant_program(t, arena, &o, first, 0, n, &p))
        run_channels(t, u, first, end, Q_ACC, Q_EXP, &p);
    for (size_t i = 0; i < n; i++) {
        size_t row = t->order[first + i];
        if (requant_program(t, arena, &o, first, i, 1, &p))
            assay_vc_expect(t, row, assay_vc_int(t, row, Q_EXP),
                            run_lane(u, accs, n, i, &p));
    }
    free(accs);
    free_operands(&o);
    assay_arena_free(arena);
}

void assay_vc_requant(struct assay_vc_table *t,
                      const struct assay_vc_under_test *u)
{
    assay_vc_sort(t, Q_KEY);
    for (size_t first = 0, end; first < t->rows; first = end) {
        end = assay_vc_group_end(t, Q_KEY, first);
        requant_group(t, u, first, end);
    }
}

/* ---- requant_hbm.csv ----------------------------------------------------- */

enum {
    H_ACC,
    H_BIAS,
    H_ADD,
    H_PRE,
    H_PRE_ROUND,
    H_MID,
    H_MULT,
    H_POST,
    H_POST_ROUND,
    H_ZP,
    H_MIN,
    H_MAX,
    H_EXP,
};
#define H_KEY \
    (1u << H_ADD | 1u << H_PRE_ROUND | 1u << H_MID | 1u << H_POST_ROUND | \
     1u << H_ZP | 1u << H_MIN | 1u << H_MAX)

static enum assay_add_mode add_mode(const char *name)
{
    if (strcmp(name, "wrap32") == 0)
        return ASSAY_ADD_WRAP32;
    return strcmp(name, "sat32") == 0 ? ASSAY_ADD_SAT32 : ASSAY_ADD_WIDE;
}

struct hbm {
    int32_t *bias, *pre, *scale, *post;
};

static bool hbm_program(struct assay_vc_table *t, struct assay_arena *arena,
                        const struct hbm *h, size_t first, size_t at, size_t n,
                        struct assay_program *p)
{
    size_t row = t->order[first + at];
    int pre = assay_vc_round(assay_vc_cell(t, row, H_PRE_ROUND));
    int post = assay_vc_round(assay_vc_cell(t, row, H_POST_ROUND));
    struct assay_vc_hbm ops = {
        .n = (uint32_t)n,
        .bias = h->bias + at,
        .pre_shift = h->pre + at,
        .scale = h->scale + at,
        .post_shift = h->post + at,
        .bias_add = add_mode(assay_vc_cell(t, row, H_ADD)),
        .pre_round = (enum assay_round)pre,
        .post_round = (enum assay_round)post,
        .mid_bits = (uint32_t)assay_vc_int(t, row, H_MID),
        .zp = (int32_t)assay_vc_int(t, row, H_ZP),
        .qmin = assay_vc_int(t, row, H_MIN),
        .qmax = assay_vc_int(t, row, H_MAX)};
    struct assay_err err = {.text = "unknown rounding"};
    if (pre >= 0 && post >= 0 &&
        assay_vc_hbm_program(arena, &ops, p, &err) == 0)
        return true;
    assay_vc_refused(t, row, err.text);
    return false;
}

static void hbm_group(struct assay_vc_table *t,
                      const struct assay_vc_under_test *u, size_t first,
                      size_t end)
{
    size_t n = end - first;
    struct assay_arena *arena = assay_arena_new();
    int32_t *all = assay_vc_alloc(4 * n, sizeof(*all));
    struct hbm h = {all, all + n, all + 2 * n, all + 3 * n};
    for (size_t i = 0; i < n; i++) {
        size_t row = t->order[first + i];
        h.bias[i] = (int32_t)assay_vc_int(t, row, H_BIAS);
        h.pre[i] = (int32_t)assay_vc_int(t, row, H_PRE);
        h.scale[i] = (int32_t)assay_vc_int(t, row, H_MULT);
        h.post[i] = (int32_t)assay_vc_int(t, row, H_POST);
    }
    union assay_value *accs = accumulators(t, first, end, H_ACC);
    struct assay_program p;
    if (hbm_program(t, arena, &h, first, 0, n, &p))
        run_channels(t, u, first, end, H_ACC, H_EXP, &p);
    for (size_t i = 0; i < n; i++) {
        size_t row = t->order[first + i];
        if (hbm_program(t, arena, &h, first, i, 1, &p))
            assay_vc_expect(t, row, assay_vc_int(t, row, H_EXP),
                            run_lane(u, accs, n, i, &p));
    }
    free(accs);
    free(all);
    assay_arena_free(arena);
}

void assay_vc_hbm(struct assay_vc_table *t, const struct assay_vc_under_test *u)
{
    assay_vc_sort(t, H_KEY);
    for (size_t first = 0, end; first < t->rows; first = end) {
        end = assay_vc_group_end(t, H_KEY, first);
        hbm_group(t, u, first, end);
    }
}

/* ---- shift_round.csv, multiplier.csv -- */

enum { S_MODE, S_X, S_N, S_EXP };

void assay_vc_shift(struct assay_vc_table *t,
                    const struct assay_vc_under_test *u)
{
    assay_vc_sort(t, 1u << S_MODE);
    for (size_t first = 0, end; first < t->rows; first = end) {
        end = assay_vc_group_end(t, 1u << S_MODE, first);
        int round = assay_vc_round(assay_vc_cell(t, t->order[first], S_MODE));
        size_t n = end - first;
        if (round < 0) {
            for (size_t i = first; i < end; i++)
                assay_vc_refused(t, t->order[i], "unknown rounding");
            continue;
        }
        int64_t *shift = assay_vc_alloc(n, sizeof(*shift));
        for (size_t i = 0; i < n; i++)
            shift[i] = assay_vc_int(t, t->order[first + i], S_N);
        struct assay_program p = {.n_steps = 1};
        p.steps[0] = (struct assay_step){.kind = ASSAY_STEP_SHR,
                                         .round = (uint8_t)round,
                                         .n = (uint32_t)n,
                                         .a = shift};
        run_channels(t, u, first, end, S_X, S_EXP, &p);
        union assay_value *v = accumulators(t, first, end, S_X);
        for (size_t i = 0; i < n; i++) {
            size_t row = t->order[first + i];
            p.steps[0].n = 1;
            p.steps[0].a = &shift[i];
            assay_vc_expect(t, row, assay_vc_int(t, row, S_EXP),
                            run_lane(u, v, n, i, &p));
        }
        free(v);
        free(shift);
    }
}

void assay_vc_multiplier(struct assay_vc_table *t,
                         const struct assay_vc_under_test *u)
{
    (void)u;
    for (size_t row = 0; row < t->rows; row++) {
        int32_t m;
        int s;
        assay_derive_multiplier(assay_vc_f64(t, row, 0), &m, &s);
        assay_vc_expect(t, row, assay_vc_int(t, row, 1), m);
        assay_vc_expect(t, row, assay_vc_int(t, row, 2), s);
    }
}
