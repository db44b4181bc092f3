/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/cause/float_sum.h"

#include <math.h>

#include "host-tools/cause/catalogue.h"
#include "lib/engine/products.h"

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
    return f->block >= v.per_element ? ASSAY_EDIT_SAME : 0;
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
    int64_t y_zero, lo, hi;
};

static float scale_of(const struct assay_tensor *t, int64_t c)
{
    return t->quant.scale[t->quant.n > 1 ? c : 0];
}

/* The input at tap (i, j), channel c, as it is multiplied; q: the element. */
static float input_at(const struct scales *s, const struct assay_product *q,
                      int64_t i, int64_t j, int64_t c)
{
    const struct assay_products *v = &s->v;
    int64_t row = q->top + i * v->p.dilation_h;
    int64_t column = q->left + j * v->p.dilation_w;
    int64_t at = (q->image * v->h + row) * v->width + column;

    if (row < 0 || row >= v->h || column < 0 || column >= v->width)
        return 0;
    at = at * v->c + q->base + c;
    return (float)(assay_product_value(v->x->dtype, q->data, (size_t)at) -
                   v->x_zero) *
           s->x;
}

static float sum_of(const struct scales *s, const struct assay_float_form *f,
                    const struct assay_product *q)
{
    const struct assay_products *v = &s->v;
    int64_t zero = assay_products_w_zero(v, q->o), block = 0;
    float w_scale = scale_of(v->w, q->o);
    struct total t = {.f = f, .left = v->per_element};

    for (int64_t c = 0; c < v->ic; c++)
        for (int64_t i = 0; i < v->kh; i++)
            for (int64_t j = 0; j < v->kw; j++) {
                int64_t w =
                    assay_product_weight(v, q->o, (i * v->kw + j) * v->ic + c);

                take(&t, input_at(s, q, i, j, c), (float)(w - zero) * w_scale,
                     &block);
            }
    if (t.in_block > 0)
        close_block(&t);
    return t.sum;
}

static int64_t element(const struct scales *c, const struct assay_float_form *f,
                       const void *x, size_t index)
{
    struct assay_product q;
    float sum, low = (float)(c->lo - c->y_zero);
    float high = (float)(c->hi - c->y_zero);

    assay_product_first(&q, &c->v, x, index);
    sum = sum_of(c, f, &q);
    if (c->bias)
        sum += (float)c->bias[q.o] * (c->x * scale_of(c->v.w, q.o));
    sum /= scale_of(c->y, q.o);
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
    c.y_zero = c.y->quant.zero_point[0];
    assay_dtype_range(c.y->dtype, &c.lo, &c.hi);
    for (size_t i = 0; i < n; i++)
        out[i] = element(&c, f, x, first + i);
}
