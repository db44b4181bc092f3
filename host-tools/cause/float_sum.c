/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/cause/float_sum.h"

#include <math.h>

#include "host-tools/cause/catalogue.h"

static const struct assay_float_form variants[] = {
    {.block = 0, .fused = true},
    {.block = 128, .fused = true},
    {.block = 256, .fused = true},
    {.block = 512, .fused = true},
    {.block = 0},
    {.block = 4, .restarts = true},
};

bool assay_float_form_variant(uint32_t i, struct assay_float_form *out)
{
    if (i >= sizeof(variants) / sizeof(variants[0]))
        return false;
    *out = variants[i];
    return true;
}

int assay_float_form_fits(const struct assay_slice *s, uint32_t layer,
                          const struct assay_float_form *f)
{
    const struct assay_layer *l = &s->layers[layer];
    const struct assay_tensor *y = &s->tensors[l->output];
    struct assay_products v;

    if (l->real_op != ASSAY_REAL_CONV || !assay_products_open(&v, s, layer) ||
        l->p.conv2d.has_second || !assay_dtype_is_int(y->dtype) ||
        v.x->quant.n != 1 || v.w->quant.n == 0 || y->quant.n != 1)
        return ASSAY_EDIT_NOT_HERE;
    return f->block >= v.kh * v.kw * v.ic ? ASSAY_EDIT_SAME : 0;
}

/* ---- one element ----------------------------------------------------------- */

struct total {
    const struct assay_float_form *f;
    int64_t in_block, left; /* products in `open`; not yet seen */
    float open, sum;
    bool has_sum;
};

static void close_block(struct total *t)
{
    t->sum = t->has_sum ? t->sum + t->open : t->open;
    t->has_sum = true;
    t->open = 0;
    t->in_block = 0;
}

/* How many products the block that begins now has. */
static int64_t length(const struct total *t)
{
    if (t->f->block == 0)
        return INT64_MAX;
    if (!t->f->restarts || t->left >= t->f->block)
        return t->f->block;
    return t->left >= 2 ? 2 : 1;
}

static void take(struct total *t, float x, float w, int64_t *block)
{
    if (t->in_block == 0)
        *block = length(t);
    if (t->f->fused)
        t->open = fmaf(x, w, t->open);
    else if (t->f->restarts && t->in_block == 0)
        t->open = x * w;
    else
        t->open += x * w;
    t->left--;
    if (++t->in_block == *block)
        close_block(t);
}

/* What all elements of a layer have in common. */
struct scales {
    struct assay_products v;
    const struct assay_tensor *y;
    const int32_t *bias;
    float x;
    int64_t x_zero, y_zero, lo, hi;
};

static float scale_of(const struct assay_tensor *t, int64_t c)
{
    return t->quant.scale[t->quant.n > 1 ? c : 0];
}

static float sum_of(const struct scales *c, const struct assay_float_form *f,
                    const void *x, const struct assay_window *at)
{
    const struct assay_products *v = &c->v;
    int64_t zero = assay_products_zero(v->w, (uint32_t)at->o), block = 0;
    float w_scale = scale_of(v->w, at->o);
    struct total t = {.f = f, .left = v->kh * v->kw * v->ic};

    for (int64_t k = 0; k < v->ic; k++)
        for (int64_t i = 0; i < v->kh; i++)
            for (int64_t j = 0; j < v->kw; j++) {
                int64_t w = assay_products_weight(v, at->o,
                                                  (i * v->kw + j) * v->ic + k);
                int64_t value = c->x_zero; /* of padding */

                assay_products_input(v, at, x, i, j, k, &value);
                take(&t, (float)(value - c->x_zero) * c->x,
                     (float)(w - zero) * w_scale, &block);
            }
    if (t.in_block > 0)
        close_block(&t);
    return t.sum;
}

static int64_t element(const struct scales *c, const struct assay_float_form *f,
                       const void *x, size_t index)
{
    const struct assay_window at = assay_products_window(&c->v, index);
    float sum = sum_of(c, f, x, &at);
    float low = (float)(c->lo - c->y_zero), high = (float)(c->hi - c->y_zero);

    if (c->bias)
        sum += (float)c->bias[at.o] * (c->x * scale_of(c->v.w, at.o));
    sum /= scale_of(c->y, at.o);
    sum = sum > low ? sum : low;
    sum = sum < high ? sum : high;
    return (int64_t)rintf(sum) + c->y_zero;
}

void assay_float_sums(const struct assay_slice *s, uint32_t layer,
                      const struct assay_float_form *f, const void *x,
                      size_t first, size_t n, int64_t *out)
{
    const struct assay_layer *l = &s->layers[layer];
    struct scales c = {.y = &s->tensors[l->output]};

    if (!assay_products_open(&c.v, s, layer))
        return;
    c.bias = assay_layer_has_bias(l) ? s->tensors[l->inputs[2]].data : NULL;
    c.x = scale_of(c.v.x, 0);
    c.x_zero = assay_products_zero(c.v.x, 0);
    c.y_zero = assay_products_zero(c.y, 0);
    assay_dtype_range(c.y->dtype, &c.lo, &c.hi);
    for (size_t i = 0; i < n; i++)
        out[i] = element(&c, f, x, first + i);
}
