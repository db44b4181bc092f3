/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of pools: sums of an average on the way, windows at the border. */
#include "kernels/requant.h"
#include "lib/engine/probe_private.h"

#define CELL_WORK 20 /* about instructions */

/* One window of one channel. */
struct window {
    int64_t image, top, left, channel;
};

/* What its cells gave. */
struct cells {
    int64_t n, sum, most, lo, hi; /* lo, hi: of the sum on the way */
    double f_most;
};

static bool is_sum(const struct assay_probe_ctx *c)
{
    return c->l->p.pool.kind == ASSAY_POOL_AVG &&
           c->l->p.pool.sum != ASSAY_SUM_F32;
}

static int64_t zero_of(const struct assay_probe_ctx *c)
{
    return is_sum(c) && c->l->p.pool.sum == ASSAY_SUM_INT && c->x->quant.n > 0
               ? c->x->quant.zero_point[0]
               : 0;
}

static void take(struct cells *s, const struct assay_probe_ctx *c,
                 union assay_value v, int64_t zero)
{
    bool first = s->n++ == 0;

    if (c->x->dtype == ASSAY_F32) {
        s->f_most = first || (double)v.f > s->f_most ? (double)v.f : s->f_most;
        return;
    }
    s->most = first || v.i > s->most ? v.i : s->most;
    if (!is_sum(c)) /* only sums are proved to stay in 64 bits */
        return;
    s->sum += v.i - zero;
    s->lo = s->sum < s->lo ? s->sum : s->lo;
    s->hi = s->sum > s->hi ? s->sum : s->hi;
}

static void visit(struct cells *s, const struct assay_probe_ctx *c,
                  const uint8_t *x, const struct window *w, int64_t zero)
{
    const struct assay_pool_params *p = &c->l->p.pool;
    const int64_t *d = c->x->dims;

    *s = (struct cells){0};
    for (int64_t i = 0; i < p->kh; i++)
        for (int64_t j = 0; j < p->kw; j++) {
            int64_t row = w->top + i * p->dilation_h;
            int64_t column = w->left + j * p->dilation_w;
            union assay_value v;

            if (row < 0 || row >= d[1] || column < 0 || column >= d[2])
                continue;
            assay_load_values(
                c->x->dtype,
                x + (size_t)(((w->image * d[1] + row) * d[2] + column) * d[3] +
                             w->channel) *
                        assay_dtype_bytes(c->x->dtype),
                &v, 1);
            take(s, c, v, zero);
        }
}

static bool is_tie(int64_t sum, int64_t n)
{
    int64_t rest = sum % n;

    return 2 * (rest < 0 ? -rest : rest) == n;
}

static void count_average(struct assay_probe_ctx *c, const struct cells *s,
                          struct cells *all)
{
    const struct assay_pool_params *p = &c->l->p.pool;
    int64_t n = p->count_include_pad ? (int64_t)p->kh * p->kw
                : s->n > 0           ? s->n
                                     : 1;

    if (!c->p->has_sums || s->sum < c->p->min)
        c->p->min = s->sum;
    if (!c->p->has_sums || s->sum > c->p->max)
        c->p->max = s->sum;
    c->p->has_sums = 1;
    all->lo = s->lo < all->lo ? s->lo : all->lo;
    all->hi = s->hi > all->hi ? s->hi : all->hi;
    if (c->p->facts >> ASSAY_PROBE_DIVISION_TIE & 1)
        c->p->fact[ASSAY_PROBE_DIVISION_TIE] += is_tie(s->sum, n);
}

/* Which facts there are to reach. */
static void announce(struct assay_probe_ctx *c)
{
    const struct assay_pool_params *p = &c->l->p.pool;
    bool pads = p->pad_top != 0 || p->pad_left != 0 || p->pad_bottom != 0 ||
                p->pad_right != 0;

    if (pads)
        c->p->facts |= 1u << ASSAY_PROBE_PADDING;
    if (pads && p->kind == ASSAY_POOL_MAX && c->x->dtype != ASSAY_U8 &&
        c->x->dtype != ASSAY_U16)
        c->p->facts |= 1u << ASSAY_PROBE_PADDING_BELOW;
    if (is_sum(c) && p->div == ASSAY_DIV_INT &&
        p->div_round >= ASSAY_ROUND_HALF_UP)
        c->p->facts |= 1u << ASSAY_PROBE_DIVISION_TIE;
}

static void count_window(struct assay_probe_ctx *c, const struct window *w,
                         const struct cells *s, struct cells *all)
{
    const struct assay_pool_params *p = &c->l->p.pool;
    bool outside = s->n < (int64_t)p->kh * p->kw;

    if (outside && w->channel == 0 && c->p->facts >> ASSAY_PROBE_PADDING & 1)
        c->p->fact[ASSAY_PROBE_PADDING]++;
    if (outside && c->p->facts >> ASSAY_PROBE_PADDING_BELOW & 1)
        c->p->fact[ASSAY_PROBE_PADDING_BELOW] +=
            c->x->dtype == ASSAY_F32 ? s->f_most < 0 : s->most < 0;
    if (is_sum(c))
        count_average(c, s, all);
}

static bool leaves(const struct cells *s, unsigned bits)
{
    int64_t most = (int64_t)((1ull << (bits - 1)) - 1);

    return s->lo < -most - 1 || s->hi > most;
}

uint64_t assay_probe_pool_work(const struct assay_probe_ctx *c)
{
    uint64_t cells = (uint64_t)c->l->p.pool.kh * (uint64_t)c->l->p.pool.kw;
    uint64_t work;

    return __builtin_mul_overflow(cells * CELL_WORK, (uint64_t)c->n, &work)
               ? UINT64_MAX
               : work;
}

void assay_probe_pool(struct assay_probe_ctx *c)
{
    const struct assay_pool_params *p = &c->l->p.pool;
    const uint8_t *x = assay_probe_bytes(c, c->l->inputs[0]);
    const int64_t *d = c->y->dims;
    int64_t zero = zero_of(c);
    struct cells all = {0};

    announce(c);
    for (size_t e = 0; e < c->n; e++) {
        int64_t pixel = (int64_t)e / d[3], oy = pixel / d[2] % d[1];
        const struct window w = {.image = pixel / d[2] / d[1],
                                 .top = oy * p->stride_h - p->pad_top,
                                 .left =
                                     pixel % d[2] * p->stride_w - p->pad_left,
                                 .channel = (int64_t)e % d[3]};
        struct cells s;

        visit(&s, c, x, &w, zero);
        count_window(c, &w, &s, &all);
    }
    if (!is_sum(c))
        return;
    c->p->sums[ASSAY_PROBE_RUNNING_16] =
        leaves(&all, 16) ? ASSAY_PROBE_LEAVES : ASSAY_PROBE_FITS;
    c->p->sums[ASSAY_PROBE_RUNNING_32] =
        leaves(&all, 32) ? ASSAY_PROBE_LEAVES : ASSAY_PROBE_FITS;
}
