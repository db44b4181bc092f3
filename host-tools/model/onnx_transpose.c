/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transpose. The slice has no op for it and needs none: RESHAPE keeps the
 * order of the source's layout, so a tensor that has the bytes of the output
 * and the source layout of the input takes them, and an elementwise layer
 * without steps names them as the output.
 */
#include <stdio.h>
#include <string.h>

#include "host-tools/model/onnx_import.h"

/* Output axis i is input axis perm[i]; missing: reversed. */
static int read_perm(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, uint32_t rank,
                     int64_t *perm)
{
    bool seen[ASSAY_MAX_RANK] = {false};
    int rc;

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

/* The tensor in between: y's bytes, x's source layout. */
static int between(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n, uint32_t x, uint32_t y,
                   const int64_t *perm, uint32_t *index)
{
    const struct assay_tensor *from, *to;
    struct assay_tensor *t;
    char name[600];
    int rc = assay_slice_add_tensor(im->s, index, im->err);

    if (rc)
        return rc;
    from = &im->s->tensors[x];
    to = &im->s->tensors[y];
    t = &im->s->tensors[*index];
    snprintf(name, sizeof(name), "%.500s/transposed/%u", from->name, n->index);
    t->name = assay_arena_str(im->s->arena, name, strlen(name));
    if (!t->name)
        return assay_onnx_no_memory(im);
    t->dtype = from->dtype;
    t->quant = from->quant;
    t->rank = to->rank;
    for (uint32_t i = 0; i < to->rank; i++) {
        t->dims[i] = to->dims[i];
        t->perm[i] = (uint8_t)perm[to->perm[i]];
    }
    return 0;
}

int assay_onnx_emit_transpose(struct assay_onnx_import *im,
                              struct assay_onnx_operation *op)
{
    const struct assay_onnx_node *n = op->node;
    int64_t src[ASSAY_MAX_RANK], dims[ASSAY_MAX_RANK], perm[ASSAY_MAX_RANK];
    const struct assay_tensor *x;
    struct assay_quant q;
    struct assay_layer *l;
    uint32_t in, y, mid;
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
        rc = between(im, n, in, y, perm, &mid);
    if (!rc)
        rc = assay_onnx_new_helper(im, n, ASSAY_OP_RESHAPE, in, mid);
    return rc ? rc
              : assay_onnx_new_layer(im, n, ASSAY_OP_UNARY, 1, &mid, y, &l);
}
