/* SPDX-License-Identifier: Apache-2.0 */
/* Concat, Reshape and its kin, Softmax. */
#include <string.h>

#include "host-tools/model/onnx_import.h"
#include "kernels/program.h"

int32_t assay_onnx_stored_axis(const struct assay_tensor *t, int64_t axis)
{
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->perm[i] == axis)
            return (int32_t)i;
    return -1;
}

int assay_onnx_axis(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n, int64_t missing,
                    uint32_t rank, int64_t *axis)
{
    int rc = assay_onnx_attr_int(im->g, n, "axis", missing, axis, im->err);

    if (rc)
        return rc;
    if (*axis < -(int64_t)rank || *axis >= (int64_t)rank)
        return assay_onnx_fail(im, n, ASSAY_ERANGE,
                               "attribute 'axis': %lld, expected -%u to %u",
                               (long long)*axis, rank, rank ? rank - 1 : 0);
    if (*axis < 0)
        *axis += rank;
    return 0;
}

static int concat_dims(struct assay_onnx_import *im,
                       const struct assay_onnx_operation *op,
                       const uint32_t *in, int64_t axis)
{
    int64_t dims[ASSAY_MAX_RANK], other[ASSAY_MAX_RANK];
    const struct assay_tensor *first = &im->s->tensors[in[0]];

    assay_tensor_source_dims(first, dims);
    for (uint32_t i = 1; i < op->n_in; i++) {
        const struct assay_tensor *t = &im->s->tensors[in[i]];

        if (t->dtype != first->dtype)
            return assay_onnx_skip(im, "'%s' of %s and %s", op->node->op,
                                   assay_dtype_name(first->dtype),
                                   assay_dtype_name(t->dtype));
        if (t->rank != first->rank)
            return assay_onnx_fail(im, op->node, ASSAY_EFORMAT,
                                   "operands of rank %u and %u", first->rank,
                                   t->rank);
        assay_tensor_source_dims(t, other);
        for (uint32_t d = 0; d < t->rank; d++) {
            if (d != axis && other[d] != dims[d])
                return assay_onnx_fail(im, op->node, ASSAY_EFORMAT,
                                       "operands of %lld and %lld in "
                                       "dimension %u",
                                       (long long)dims[d], (long long)other[d],
                                       d);
            if (d == axis)
                dims[d] += other[d];
        }
    }
    return assay_onnx_out(im, op->node, first->rank, dims);
}

int assay_onnx_emit_concat(struct assay_onnx_import *im,
                           struct assay_onnx_operation *op)
{
    uint32_t in[ASSAY_MAX_LAYER_INPUTS], y;
    const struct assay_tensor *first;
    struct assay_quant q = op->out_q;
    enum assay_dtype dtype = op->out_dtype;
    struct assay_layer *l;
    int64_t axis;
    int rc = 0;

    for (uint32_t i = 0; !rc && i < op->n_in; i++)
        rc = assay_onnx_activation(im, &op->in[i], &in[i]);
    if (!rc && !op->n_in)
        rc = assay_onnx_skip(im, "'%s' of nothing", op->node->op);
    if (rc)
        return rc;
    first = &im->s->tensors[in[0]];
    rc = assay_onnx_axis(im, op->node, 1, first->rank, &axis);
    if (!rc)
        rc = concat_dims(im, op, in, axis);
    if (rc)
        return rc;
    if (!dtype) {
        dtype = first->dtype;
        q = first->quant;
        for (uint32_t i = 1; i < op->n_in; i++)
            if (q.n != im->s->tensors[in[i]].quant.n || q.n > 1 ||
                !assay_onnx_same_quant(&q, &im->s->tensors[in[i]].quant))
                return assay_onnx_skip(im,
                                       "'%s' of integers with different "
                                       "scales",
                                       op->node->op);
    }
    rc = assay_onnx_new_tensor(im, op->out, dtype, &q, &y);
    if (!rc)
        rc = assay_onnx_new_layer(im, op->node, ASSAY_OP_CONCAT, op->n_in, in,
                                  y, &l);
    if (rc)
        return rc;
    l->p.concat.axis = assay_onnx_stored_axis(&im->s->tensors[y], axis);
    if (op->integer)
        l->real_op = ASSAY_REAL_CONCAT;
    return assay_onnx_new_programs(im, l, op->n_in);
}

/* A list of integers: an attribute (older files) or a constant input. */
static int int_list(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n, const char *attr,
                    int64_t *out, uint32_t *count, bool *found)
{
    const struct assay_onnx_attr *a = assay_onnx_attr(n, attr);
    uint32_t v = assay_onnx_input(n, 1);
    const struct assay_onnx_const *k;

    *found = true;
    *count = 0;
    if (a && a->type == ASSAY_ONNX_INTS && a->n <= ASSAY_MAX_RANK) {
        *count = (uint32_t)a->n;
        memcpy(out, a->ints, a->n * sizeof(*out));
        return 0;
    }
    if (v == ASSAY_ONNX_NONE) {
        *found = false;
        return 0;
    }
    k = im->g->values[v].k;
    if (!k)
        return assay_onnx_skip(im,
                               "'%s': '%.100s' is computed, expected a "
                               "constant",
                               n->op, im->g->values[v].name);
    if (k->dtype != ASSAY_S64 || k->count > ASSAY_MAX_RANK)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "input '%s': expected at most %d int64 "
                               "elements, found %zu of %s",
                               im->g->values[v].name, ASSAY_MAX_RANK, k->count,
                               assay_onnx_type_name(k->onnx_type));
    *count = (uint32_t)k->count;
    memcpy(out, k->data, k->count * sizeof(*out));
    return 0;
}

/* 0 keeps a dimension, -1 is what is left. */
static int reshape_dims(struct assay_onnx_import *im,
                        const struct assay_onnx_node *n,
                        const struct assay_tensor *x, const int64_t *src,
                        int64_t *dims, uint32_t *rank)
{
    int64_t total = 1, known = 1, allow_zero;
    int at = -1;
    bool found;
    int rc = int_list(im, n, "shape", dims, rank, &found);

    if (!rc && n->n_in > 2)
        rc = assay_onnx_fail(im, n, ASSAY_EFORMAT, "%u inputs, expected 2",
                             n->n_in);
    if (!rc)
        rc =
            assay_onnx_attr_int(im->g, n, "allowzero", 0, &allow_zero, im->err);
    if (rc)
        return rc;
    if (!found)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT, "it has no shape");
    for (uint32_t i = 0; i < x->rank; i++)
        total *= src[i];
    for (uint32_t i = 0; i < *rank; i++) {
        if (dims[i] == 0 && !allow_zero && i < x->rank)
            dims[i] = src[i];
        if (dims[i] == -1 && at < 0)
            at = (int)i;
        else if (dims[i] < 1 || dims[i] > total / known)
            return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                                   "shape: dimension %u is %lld for %lld "
                                   "elements",
                                   i, (long long)dims[i], (long long)total);
        else
            known *= dims[i];
    }
    if (at >= 0)
        dims[at] = total / known;
    if (at < 0 ? known != total : known * dims[at] != total)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "shape: %lld elements do not fit into it",
                               (long long)total);
    return 0;
}

static int flatten_dims(struct assay_onnx_import *im,
                        const struct assay_onnx_node *n,
                        const struct assay_tensor *x, const int64_t *src,
                        int64_t *dims, uint32_t *rank)
{
    int64_t axis;
    int rc = assay_onnx_attr_int(im->g, n, "axis", 1, &axis, im->err);

    if (rc)
        return rc;
    if (axis < 0)
        axis += x->rank;
    if (axis < 0 || axis > x->rank)
        return assay_onnx_fail(im, n, ASSAY_ERANGE,
                               "attribute 'axis': %lld, expected 0 to %u",
                               (long long)axis, x->rank);
    *rank = 2;
    dims[0] = dims[1] = 1;
    for (uint32_t i = 0; i < x->rank; i++)
        dims[i >= axis] *= src[i];
    return 0;
}

/* Squeeze and Unsqueeze. */
static int ones_dims(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n,
                     const struct assay_tensor *x, const int64_t *src,
                     bool insert, int64_t *dims, uint32_t *rank)
{
    int64_t axes[ASSAY_MAX_RANK];
    bool mark[2 * ASSAY_MAX_RANK] = {false}, found;
    uint32_t count, full, at = 0;
    int rc = int_list(im, n, "axes", axes, &count, &found);

    if (rc)
        return rc;
    full = insert ? x->rank + count : x->rank;
    for (uint32_t i = 0; i < count; i++) {
        int64_t a = axes[i] < 0 ? axes[i] + full : axes[i];

        if (a < 0 || a >= full || mark[a] || (!insert && src[a] != 1))
            return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                                   "axes: %lld does not fit rank %u",
                                   (long long)axes[i], full);
        mark[a] = true;
    }
    *rank = 0;
    if (full > ASSAY_MAX_RANK)
        return assay_onnx_out(im, n, full, dims); /* tells the limit */
    for (uint32_t i = 0; i < full; i++) {
        if (insert)
            dims[(*rank)++] = mark[i] ? 1 : src[at++];
        else if (found ? !mark[i] : src[i] != 1)
            dims[(*rank)++] = src[i];
    }
    return 0;
}

int assay_onnx_emit_reshape(struct assay_onnx_import *im,
                            struct assay_onnx_operation *op)
{
    const struct assay_onnx_node *n = op->node;
    int64_t src[ASSAY_MAX_RANK], dims[ASSAY_MAX_RANK] = {0};
    const struct assay_tensor *x;
    struct assay_quant q;
    struct assay_layer *l;
    uint32_t in, y, rank = 0;
    int rc = assay_onnx_activation(im, &op->in[0], &in);

    if (rc)
        return rc;
    x = &im->s->tensors[in];
    assay_tensor_source_dims(x, src);
    if (!strcmp(n->op, "Reshape")) {
        rc = reshape_dims(im, n, x, src, dims, &rank);
    } else if (!strcmp(n->op, "Flatten")) {
        rc = flatten_dims(im, n, x, src, dims, &rank);
    } else if (!strcmp(n->op, "Squeeze") || !strcmp(n->op, "Unsqueeze")) {
        rc = ones_dims(im, n, x, src, n->op[0] == 'U', dims, &rank);
    } else { /* Identity, Dropout */
        rank = x->rank;
        memcpy(dims, src, sizeof(dims));
    }
    if (!rc)
        rc = assay_onnx_out(im, n, rank, dims);
    if (rc)
        return rc;
    q = x->quant;
    if (q.n > 1)
        return assay_onnx_skip(im, "'%s' on a scale for each channel", n->op);
    rc = assay_onnx_new_tensor(im, op->out, x->dtype, &q, &y);
    if (!rc)
        rc = assay_onnx_new_layer(im, n, ASSAY_OP_RESHAPE, 1, &in, y, &l);
    return rc;
}

/* QLinearSoftmax carries the opset of the node that it replaced. */
static int softmax_axis(struct assay_onnx_import *im,
                        const struct assay_onnx_operation *op,
                        const struct assay_tensor *x, int64_t *axis)
{
    int64_t opset, src[ASSAY_MAX_RANK];
    int rc = assay_onnx_attr_int(im->g, op->node, "opset", im->g->opset, &opset,
                                 im->err);

    if (!rc)
        rc = assay_onnx_axis(im, op->node, opset < 13 ? 1 : -1, x->rank, axis);
    if (rc || opset >= 13)
        return rc;
    /* Older: over everything from the axis on. */
    assay_tensor_source_dims(x, src);
    for (uint32_t i = (uint32_t)*axis + 1; i < x->rank; i++)
        if (src[i] != 1)
            return assay_onnx_skip(im,
                                   "'%s' of opset %lld over several "
                                   "dimensions",
                                   op->node->op, (long long)opset);
    return 0;
}

int assay_onnx_emit_softmax(struct assay_onnx_import *im,
                            struct assay_onnx_operation *op)
{
    int64_t src[ASSAY_MAX_RANK], axis;
    const struct assay_tensor *x;
    struct assay_layer *l;
    uint32_t in, y;
    int rc = assay_onnx_activation(im, &op->in[0], &in);

    if (rc)
        return rc;
    x = &im->s->tensors[in];
    if (!x->rank)
        return assay_onnx_skip(im, "'%s' of a scalar", op->node->op);
    rc = softmax_axis(im, op, x, &axis);
    if (rc)
        return rc;
    if (assay_onnx_stored_axis(x, axis) != (int32_t)x->rank - 1)
        return assay_onnx_skip(im,
                               "'%s' over axis %lld, which is not the "
                               "last one in memory",
                               op->node->op, (long long)axis);
    if (!op->integer && x->dtype != ASSAY_F32)
        return assay_onnx_skip(im, "'%s' on %s without scales", op->node->op,
                               assay_dtype_name(x->dtype));
    assay_tensor_source_dims(x, src);
    rc = assay_onnx_out(im, op->node, x->rank, src);
    if (!rc)
        rc = assay_onnx_new_tensor(im, op->out,
                                   op->integer ? op->out_dtype : ASSAY_F32,
                                   &op->out_q, &y);
    if (!rc)
        rc =
            assay_onnx_new_layer(im, op->node, ASSAY_OP_SOFTMAX, 1, &in, y, &l);
    if (rc)
        return rc;
    l->p.softmax.kind = ASSAY_SOFTMAX_F32;
    if (op->integer)
        l->real_op = ASSAY_REAL_SOFTMAX;
    return 0;
}
