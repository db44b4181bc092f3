/* SPDX-License-Identifier: Apache-2.0 */
/* Pools: the cells of a window, their sum or maximum, the division. */
#include <inttypes.h>
#include <stdio.h>

#include "host-tools/explain_private.h"

struct window {
    union assay_value v;
    int64_t cells;
};

/* An element through the program that makes it binary32. */
static float dequantized(const struct assay_explain *e, union assay_value cell,
                         size_t channel)
{
    const struct assay_block block = {
        .v = &cell,
        .n = 1,
        .channel = channel,
        .channels = assay_explain_channels(assay_explain_input(e, 0))};

    assay_program_run(&assay_explain_layer(e)->in_programs[0], &block);
    return cell.f;
}

static void say_cell(struct assay_explain *e, size_t at, union assay_value cell)
{
    const struct assay_tensor *x = assay_explain_input(e, 0);
    char text[240];

    snprintf(text, sizeof(text), "    cell %zu of %.150s", at, x->name);
    assay_explain_say_operand(e, assay_explain_kind(x), cell, text);
}

static void take(struct assay_explain *e, struct window *w, size_t at,
                 size_t channel)
{
    const struct assay_pool_params *p = &assay_explain_layer(e)->p.pool;
    const struct assay_tensor *x = assay_explain_input(e, 0);
    bool is_float = x->dtype == ASSAY_F32, first = w->cells++ == 0;
    union assay_value cell = assay_explain_get(e, 0, at);

    if (e->taps || p->kind == ASSAY_POOL_MAX)
        say_cell(e, at, cell);
    if (p->kind == ASSAY_POOL_MAX) {
        if (first || (is_float ? cell.f > w->v.f : cell.i > w->v.i))
            w->v = cell;
    } else if (p->sum == ASSAY_SUM_F32) {
        float f = dequantized(e, cell, channel);

        if (e->taps)
            assay_explain_say(e, ASSAY_VALUE_F32, assay_explain_f32(f),
                              "      dequantized");
        w->v.f = (first ? 0.0f : w->v.f) + f;
    } else {
        w->v.i = (first ? 0 : w->v.i) + cell.i -
                 (p->sum == ASSAY_SUM_RAW ? 0 : assay_explain_zero(x, 0));
    }
}

static void gather(struct assay_explain *e, struct window *w)
{
    const struct assay_pool_params *p = &assay_explain_layer(e)->p.pool;
    const struct assay_tensor *x = assay_explain_input(e, 0);
    const struct assay_tensor *y = assay_explain_output(e);
    size_t c = assay_explain_channel(e);
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

static uint32_t average(struct assay_explain *e, const struct window *w)
{
    const struct assay_pool_params *p = &assay_explain_layer(e)->p.pool;
    bool is_float = p->sum == ASSAY_SUM_F32;
    int64_t zero = assay_explain_zero(assay_explain_input(e, 0), 0);
    int64_t n = p->count_include_pad ? (int64_t)p->kh * p->kw : w->cells;
    char how[64] = "";
    uint32_t at;

    if (is_float)
        snprintf(how, sizeof(how), ", each dequantized, in binary32");
    else if (p->sum == ASSAY_SUM_INT && zero != 0)
        snprintf(how, sizeof(how), ", less %" PRId64 " each", zero);
    at = assay_explain_start(e, is_float ? ASSAY_VALUE_F32 : ASSAY_VALUE_INT,
                             w->v, "  sum of %" PRId64 " cells%s", w->cells,
                             how);
    if (p->div == ASSAY_DIV_NONE)
        return at;
    return assay_explain_divide(e, at, n > 0 ? n : 1,
                                p->div == ASSAY_DIV_F32 ? ASSAY_VALUE_F32
                                                        : ASSAY_VALUE_INT,
                                (enum assay_round)p->div_round);
}

void assay_explain_pool(struct assay_explain *e)
{
    const struct assay_layer *l = assay_explain_layer(e);
    struct window w = {.cells = 0};
    uint32_t at;

    gather(e, &w);
    if (l->p.pool.kind == ASSAY_POOL_MAX)
        at = assay_explain_start(e,
                                 assay_explain_kind(assay_explain_input(e, 0)),
                                 w.v, "  largest of these");
    else
        at = average(e, &w);
    assay_explain_program(e, &l->out_program, at, assay_explain_channel(e),
                          NULL, "  ");
}
