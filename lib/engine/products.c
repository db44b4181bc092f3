/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/engine/products.h"

static int64_t zero_of(const struct assay_tensor *t, uint32_t c)
{
    return t->quant.n == 0 ? 0 : t->quant.zero_point[t->quant.n > 1 ? c : 0];
}

int64_t assay_products_w_zero(const struct assay_products *v, int64_t o)
{
    return zero_of(v->w, (uint32_t)o);
}

static bool is_product(const struct assay_layer *l,
                       const struct assay_tensor *x,
                       const struct assay_tensor *w)
{
    return (l->op == ASSAY_OP_CONV2D || l->op == ASSAY_OP_GEMM) &&
           w->role == ASSAY_ROLE_CONSTANT && assay_dtype_bytes(w->dtype) == 1 &&
           (assay_dtype_bytes(x->dtype) == 1 || x->dtype == ASSAY_S16);
}

bool assay_products_open(struct assay_products *v, const struct assay_slice *s,
                         uint32_t layer)
{
    const struct assay_layer *l = &s->layers[layer];
    const struct assay_tensor *x = &s->tensors[l->inputs[0]];
    const struct assay_tensor *y = &s->tensors[l->output], *w;

    if (l->n_inputs < 2)
        return false;
    w = &s->tensors[l->inputs[1]];
    if (!is_product(l, x, w))
        return false;
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
    v->per_element = v->kh * v->kw * v->ic;
    v->x_zero = zero_of(x, 0);
    return true;
}
