/* SPDX-License-Identifier: Apache-2.0 */
/* Pools: the cells of a window, their sum or maximum, the division. */
#include <inttypes.h>
#include <stdio.h>

#include "host-tools/explain.h"

struct window {
    union assay_value v;
    int64_t cells;
};

static void take(const struct assay_explain *e, struct window *w, size_t at,
                 size_t channel)
{
    const struct assay_layer *l = assay_explain_layer(e);
    const struct assay_pool_params *p = &l->p.pool;
    const struct assay_tensor *x = assay_explain_input(e, 0);
    bool is_float = x->dtype == ASSAY_F32, first = w->cells++ == 0;
    union assay_value cell;

    if (e->taps || p->kind == ASSAY_POOL_MAX)
        assay_explain_operand(e, 0, at, &cell);
    else
        cell = assay_explain_get(e, l->inputs[0], at);
    if (p->kind == ASSAY_POOL_MAX) {
        if (first || (is_float ? cell.f > w->v.f : cell.i > w->v.i))
            w->v = cell;
    } else if (p->sum == ASSAY_SUM_F32) {
        const struct assay_block block = {.v = &cell,
                                          .n = 1,
                                          .channel = channel,
                                          .channels =
                                              assay_explain_channels(x)};

        assay_program_run(&l->in_programs[0], &block);
        w->v.f = (first ? 0.0f : w->v.f) + cell.f;
    } else {
        w->v.i = (first ? 0 : w->v.i) + cell.i -
                 (p->sum == ASSAY_SUM_RAW ? 0 : assay_explain_zero(x, 0));
    }
}

static void gather(const struct assay_explain *e, struct window *w)
{
    const struct assay_pool_params *p = &assay_explain_layer(e)->p.pool;
    const struct assay_tensor *x = assay_explain_input(e, 0);
    const struct assay_tensor *y = assay_explain_output(e);
    size_t c = e->element % assay_explain_channels(y);
    int64_t position = (int64_t)(e->element / assay_explain_channels(y));
    int64_t ox = position % y->dims[2], oy = position / y->dims[2] % y->dims[1];
    int64_t n = position / y->dims[2] / y->dims[1];

    for (int64_t ky = 0; ky < p->kh; ky++) {
        for (int64_t kx = 0; kx < p->kw; kx++) {
            int64_t iy = oy * p->stride_h - p->pad_top + ky * p->dilation_h;
            int64_t ix = ox * p->stride_w - p->pad_left + kx * p->dilation_w;

            if (iy < 0 || iy >= x->dims[1] || ix < 0 || ix >= x->dims[2])
                continue;
            take(e, w,
                 (size_t)((n * x->dims[1] + iy) * x->dims[2] + ix) *
                         assay_explain_channels(x) +
                     c,
                 c);
        }
    }
}

/* The engine's own division, through a window of one cell would be another:
 * rounds as kernels/ref/pool.c does. */
static int64_t divide(int64_t s, int64_t n, enum assay_round round)
{
    int64_t q = s / n, rest = s % n, twice;

    if (rest < 0) {
        q--;
        rest += n;
    }
    twice = rest * 2;
    switch (round) {
    case ASSAY_ROUND_TRUNC: return q + (s < 0 && rest > 0);
    case ASSAY_ROUND_HALF_UP: return q + (twice >= n);
    case ASSAY_ROUND_HALF_EVEN:
        return q + (twice > n || (twice == n && (q & 1)));
    case ASSAY_ROUND_HALF_AWAY:
        return q + (twice > n || (twice == n && s >= 0));
    default: return q;
    }
}

static bool average(const struct assay_explain *e, struct window *w)
{
    const struct assay_pool_params *p = &assay_explain_layer(e)->p.pool;
    bool is_float = p->sum == ASSAY_SUM_F32;
    int64_t n = p->count_include_pad ? (int64_t)p->kh * p->kw : w->cells;
    char text[120], value[40];

    snprintf(text, sizeof(text), "  sum of %" PRId64 " cells%s", w->cells,
             is_float                  ? ", each dequantized, in binary32"
             : p->sum == ASSAY_SUM_RAW ? ""
                                       : ", less the zero point each");
    assay_explain_line(e->out, text,
                       assay_explain_value(is_float ? ASSAY_F32 : ASSAY_S64,
                                           &w->v, value, sizeof(value)));
    n = n > 0 ? n : 1;
    if (p->div == ASSAY_DIV_NONE)
        return is_float;
    if (p->div == ASSAY_DIV_F32)
        w->v.f = (is_float ? w->v.f : (float)w->v.i) / (float)n;
    else
        w->v.i = divide(w->v.i, n, (enum assay_round)p->div_round);
    snprintf(text, sizeof(text), "  / %" PRId64, n);
    is_float = p->div == ASSAY_DIV_F32;
    assay_explain_line(e->out, text,
                       assay_explain_value(is_float ? ASSAY_F32 : ASSAY_S64,
                                           &w->v, value, sizeof(value)));
    return is_float;
}

void assay_explain_pool(const struct assay_explain *e, union assay_value *v)
{
    const struct assay_layer *l = assay_explain_layer(e);
    const struct assay_tensor *x = assay_explain_input(e, 0);
    struct window w = {.cells = 0};
    bool is_float = x->dtype == ASSAY_F32;
    char value[40];

    gather(e, &w);
    if (l->p.pool.kind == ASSAY_POOL_MAX)
        assay_explain_line(
            e->out, "  largest of these",
            assay_explain_value(x->dtype, &w.v, value, sizeof(value)));
    else
        is_float = average(e, &w);
    *v = w.v;
    assay_explain_program(e, &l->out_program,
                          e->element %
                              assay_explain_channels(assay_explain_output(e)),
                          NULL, v, is_float, "  ");
}
