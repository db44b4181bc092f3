/* SPDX-License-Identifier: Apache-2.0 */
/* Transpose: one VIEW layer, whatever order the two tensors are stored in. */
#include <string.h>

#include "host-tools/model/onnx_import.h"

/* Output axis i is input axis perm[i]; missing: reversed. */
static int read_perm(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, uint32_t rank,
                     int64_t *perm)
{
    bool seen[ASSAY_MAX_RANK] = {false};
    int rc;

    if (n->n_in != 1)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT, "%u inputs, expected 1",
                               n->n_in);
    for (uint32_t i = 0; i < rank; i++)
        perm[i] = rank - 1 - i;
    rc = assay_onnx_attr_ints(im->g, n, "perm", rank, perm, im->err);
    for (uint32_t i = 0; !rc && i < rank; i++) {
        if (perm[i] < 0 || perm[i] >= rank || seen[perm[i]])
            return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                                   "attribute 'perm': element %u is %lld, "
                                   "expected each of 0 to %u once",
                                   i, (long long)perm[i], rank - 1);
        seen[perm[i]] = true;
    }
    return rc;
}

/* Where element by element of y lies in x. */
static void set_view(struct assay_view_params *v, const struct assay_tensor *x,
                     const struct assay_tensor *y, const int64_t *perm)
{
    int64_t strides[ASSAY_MAX_RANK], step = 1; /* of the source's axes */

    for (uint32_t i = x->rank; i-- > 0;) {
        strides[x->perm[i]] = step;
        step *= x->dims[i];
    }
    v->offset = 0;
    v->rank = y->rank ? y->rank : 1;
    v->dims[0] = 1; /* of a scalar */
    v->strides[0] = 0;
    for (uint32_t i = 0; i < y->rank; i++) {
        v->dims[i] = y->dims[i];
        v->strides[i] = strides[perm[y->perm[i]]];
    }
}

int assay_onnx_emit_transpose(struct assay_onnx_import *im,
                              struct assay_onnx_operation *op)
{
    const struct assay_onnx_node *n = op->node;
    int64_t src[ASSAY_MAX_RANK], dims[ASSAY_MAX_RANK], perm[ASSAY_MAX_RANK];
    static const int64_t to_last[4] = {0, 2, 3, 1};
    const struct assay_tensor *x;
    struct assay_tensor *t;
    struct assay_quant q;
    struct assay_layer *l;
    uint32_t in, y;
    int rc = assay_onnx_activation(im, &op->in[0], &in);

    if (rc)
        return rc;
    x = &im->s->tensors[in];
    q = x->quant;
    if (q.n > 1)
        return assay_onnx_skip(im, "'%s' on a scale for each channel", n->op);
    rc = read_perm(im, n, x->rank, perm);
    if (rc)
        return rc;
    assay_tensor_source_dims(x, src);
    for (uint32_t i = 0; i < x->rank; i++)
        dims[i] = src[perm[i]];
    rc = assay_onnx_out(im, n, x->rank, dims);
    if (!rc)
        rc = assay_onnx_new_tensor(im, op->out, x->dtype, &q, &y);
    if (!rc)
        rc = assay_onnx_new_layer(im, n, ASSAY_OP_VIEW, 1, &in, y, &l);
    if (rc)
        return rc;
    x = &im->s->tensors[in];
    t = &im->s->tensors[y];
    set_view(&l->p.view, x, t, perm);
    if (!im->source_order)
        return 0;
    if (x->axes[0])
        for (uint32_t i = 0; i < x->rank; i++)
            t->axes[i] = x->axes[perm[i]];
    else if (x->rank == 4 && !memcmp(perm, to_last, sizeof(to_last)))
        memcpy(t->axes, "NHWC", 5);
    return 0;
}
