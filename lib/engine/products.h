/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The products of one output element of a convolution or gemm, one by one in
 * stored order: (kh, kw, channel of the group), or K. For what no step of a
 * program can say: sums that are narrower on the way. Pure; any thread.
 */
#ifndef ASSAY_ENGINE_PRODUCTS_H
#define ASSAY_ENGINE_PRODUCTS_H

#include <stdbool.h>

#include "lib/core/slice.h"

/* What the loops need of a layer. */
struct assay_products {
    const struct assay_tensor *x, *w;
    struct assay_conv2d_params p;
    int64_t h, width, c; /* input */
    int64_t oh, ow, oc;  /* output */
    int64_t kh, kw, ic;  /* a channel's weights */
    int64_t per_element; /* products: kh * kw * ic */
    int64_t x_zero;      /* what padding holds */
};

/* false: no convolution or gemm of 8- or 16-bit integers with constant 8-bit
 * weights. The slice must be one that runs (plan.h), and outlive *v. */
bool assay_products_open(struct assay_products *v, const struct assay_slice *s,
                         uint32_t layer);
/* A weights' zero point in output channel o. */
int64_t assay_products_w_zero(const struct assay_products *v, int64_t o);

/* An element of an 8-bit or 16-bit integer tensor. */
static inline int64_t assay_product_value(enum assay_dtype dtype,
                                          const void *data, size_t i)
{
    switch (dtype) {
    case ASSAY_S8: return ((const int8_t *)data)[i];
    case ASSAY_U8: return ((const uint8_t *)data)[i];
    default: return ((const int16_t *)data)[i];
    }
}

/* Stored weight k of output channel o. */
static inline int64_t assay_product_weight(const struct assay_products *v,
                                           int64_t o, int64_t k)
{
    return assay_product_value(v->w->dtype, v->w->data,
                               (size_t)(o * v->per_element + k));
}

/* The product that is next. */
struct assay_product {
    int64_t k;    /* its number */
    bool inside;  /* else x is padding */
    int64_t x, w; /* as they are stored */
    /* Where it stands. */
    const struct assay_products *v;
    const void *data;
    int64_t o, image, top, left, base; /* of the element */
    int64_t i, j, c, at;               /* tap, channel, place of channel 0 */
};

static inline void assay_product_first(struct assay_product *q,
                                       const struct assay_products *v,
                                       const void *x, size_t element)
{
    int64_t pixel = (int64_t)element / v->oc;

    *q = (struct assay_product){.k = -1, .j = -1, .c = v->ic - 1};
    q->v = v;
    q->data = x;
    q->o = (int64_t)element % v->oc;
    q->image = pixel / (v->oh * v->ow);
    q->top = pixel / v->ow % v->oh * v->p.stride_h - v->p.pad_top;
    q->left = pixel % v->ow * v->p.stride_w - v->p.pad_left;
    q->base = q->o / (v->oc / v->p.groups) * v->ic;
}

/* false: that was the last one. */
static inline bool assay_product_next(struct assay_product *q)
{
    const struct assay_products *v = q->v;

    q->k++;
    if (++q->c == v->ic) {
        int64_t row, column;

        q->c = 0;
        if (++q->j == v->kw) {
            q->j = 0;
            if (++q->i == v->kh)
                return false;
        }
        row = q->top + q->i * v->p.dilation_h;
        column = q->left + q->j * v->p.dilation_w;
        q->inside = row >= 0 && row < v->h && column >= 0 && column < v->width;
        q->at = ((q->image * v->h + row) * v->width + column) * v->c + q->base;
    }
    q->x = q->inside ? assay_product_value(v->x->dtype, q->data,
                                           (size_t)(q->at + q->c))
                     : v->x_zero;
    q->w = assay_product_weight(v, q->o, q->k);
    return true;
}

#endif
