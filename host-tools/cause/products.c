/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/cause/products.h"

#include "host-tools/cause/edit_program.h"
#include "kernels/requant.h"

bool assay_products_open(struct assay_products *v, const struct assay_slice *s,
                         uint32_t layer)
{
    const struct assay_layer *l = &s->layers[layer];
    const struct assay_tensor *x, *w, *y = &s->tensors[l->output];

    if (!assay_edit_is_sum(s, layer) || l->op == ASSAY_OP_CONV_TRANSPOSE2D)
        return false;
    x = &s->tensors[l->inputs[0]];
    w = &s->tensors[l->inputs[1]];
    *v = (struct assay_products){
        .x = x, .w = w, .kh = 1, .kw = 1, .h = 1, .oh = 1};
    if (l->op == ASSAY_OP_CONV2D) {
        v->p = l->p.conv2d;
        v->h = x->dims[1];
        v->width = x->dims[2];
        v->c = x->dims[3];
        v->oh = y->dims[1];
        v->ow = y->dims[2];
        v->kh = w->dims[1];
        v->kw = w->dims[2];
        v->ic = w->dims[3];
    } else { /* one row of M pixels */
        v->p = (struct assay_conv2d_params){
            .stride_h = 1, .stride_w = 1, .groups = 1};
        v->c = v->ic = w->dims[1];
        v->width = 1;
        for (uint32_t a = 0; a + 1 < x->rank; a++)
            v->width *= x->dims[a];
        v->ow = v->width;
    }
    v->oc = w->dims[0];
    return true;
}

int64_t assay_products_zero(const struct assay_tensor *t, uint32_t c)
{
    return t->quant.n == 0 ? 0 : t->quant.zero_point[t->quant.n > 1 ? c : 0];
}

static int64_t element(const struct assay_tensor *t, const void *data,
                       int64_t i)
{
    switch (t->dtype) {
    case ASSAY_S8: return ((const int8_t *)data)[i];
    case ASSAY_U8: return ((const uint8_t *)data)[i];
    default: {
        union assay_value v;

        assay_load_values(t->dtype,
                          (const uint8_t *)data +
                              (size_t)i * assay_dtype_bytes(t->dtype),
                          &v, 1);
        return v.i;
    }
    }
}

int64_t assay_products_weight(const struct assay_products *v, int64_t o,
                              int64_t k)
{
    return element(v->w, v->w->data, o * v->kh * v->kw * v->ic + k);
}

struct assay_window assay_products_window(const struct assay_products *v,
                                          size_t index)
{
    int64_t pixel = (int64_t)index / v->oc;
    struct assay_window w = {.o = (int64_t)index % v->oc};

    w.image = pixel / (v->oh * v->ow);
    w.top = pixel / v->ow % v->oh * v->p.stride_h - v->p.pad_top;
    w.left = pixel % v->ow * v->p.stride_w - v->p.pad_left;
    w.base = w.o / (v->oc / v->p.groups) * v->ic;
    return w;
}

bool assay_products_input(const struct assay_products *v,
                          const struct assay_window *w, const void *x,
                          int64_t i, int64_t j, int64_t c, int64_t *out)
{
    int64_t row = w->top + i * v->p.dilation_h;
    int64_t column = w->left + j * v->p.dilation_w;

    if (row < 0 || row >= v->h || column < 0 || column >= v->width)
        return false;
    *out = element(v->x, x,
                   ((w->image * v->h + row) * v->width + column) * v->c +
                       w->base + c);
    return true;
}
