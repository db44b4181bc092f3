/* SPDX-License-Identifier: Apache-2.0 */
/* Scales that a horizon model holds itself: those of its borders. */
#include <math.h>
#include <string.h>

#include "host-tools/model/onnx_hz.h"

/* Emitters have checked both; a node that was skipped may have neither. */
static int border(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                  uint32_t value)
{
    const struct assay_onnx_const *k;
    struct assay_tensor *t;
    struct assay_quant q = {.axis = -1};
    int64_t axis = 1;

    if (n->n_in < 2 || n->in[1] == ASSAY_ONNX_NONE ||
        value == ASSAY_ONNX_NONE || im->tensor_of[value] < 0)
        return 0;
    k = im->g->values[n->in[1]].k;
    t = &im->s->tensors[im->tensor_of[value]];
    if (!k || k->dtype != ASSAY_F32 || !k->count || t->quant.n ||
        t->role == ASSAY_ROLE_CONSTANT || !assay_dtype_is_int(t->dtype))
        return 0;
    for (size_t i = 0; i < k->count; i++)
        if (!isfinite(((const float *)k->data)[i]) ||
            ((const float *)k->data)[i] <= 0)
            return 0;
    if (k->count > 1) {
        int rc = assay_onnx_axis(im, n, t->rank > 1, t->rank, &axis);

        if (rc)
            return rc;
        q.axis = assay_onnx_stored_axis(t, axis);
        if (q.axis < 0 || t->dims[q.axis] != (int64_t)k->count)
            return 0;
    }
    q.n = (uint32_t)k->count;
    q.scale = assay_arena_copy(im->s->arena, k->data, k->count * 4);
    q.zero_point = assay_arena_array(im->s->arena, k->count, 4);
    if (!q.scale || !q.zero_point)
        return assay_onnx_no_memory(im);
    t->quant = q;
    return 0;
}

int assay_onnx_horizon_scales(struct assay_onnx_import *im)
{
    int rc = 0;

    for (uint32_t i = 0; !rc && i < im->g->n_nodes; i++) {
        const struct assay_onnx_node *n = &im->g->nodes[i];

        if (assay_onnx_is(n, "horizon", "HzQuantize") && n->n_out == 1)
            rc = border(im, n, n->out[0]);
        else if (assay_onnx_is(n, "horizon", "HzDequantize") && n->n_in)
            rc = border(im, n, n->in[0]);
    }
    im->s->numerics = "bayes-e";
    return rc;
}
