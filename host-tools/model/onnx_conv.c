/* SPDX-License-Identifier: Apache-2.0 */
/* Conv, Gemm, MatMul and their QOperator forms. */
#include <string.h>

#include "host-tools/model/onnx_import.h"

static bool is_weight(const struct assay_onnx_const *k, uint32_t rank)
{
    return k && (k->dtype == ASSAY_S8 || k->dtype == ASSAY_U8) &&
           k->rank == rank && k->count > 0;
}

/* x and w of a layer that multiplies and accumulates. */
static int operands(struct assay_onnx_import *im,
                    struct assay_onnx_operation *op, uint32_t rank, uint32_t *x,
                    const struct assay_onnx_const **w)
{
    const struct assay_tensor *t;
    int rc;

    if (!op->integer)
        return assay_onnx_skip(im,
                               "'%s' in floating point is not run: its "
                               "operands or its output are not quantized",
                               op->node->op);
    rc = assay_onnx_activation(im, &op->in[0], x);
    if (rc)
        return rc;
    t = &im->s->tensors[*x];
    if (t->rank != rank)
        return assay_onnx_skip(im, "'%s' on an input of rank %u, expected %u",
                               op->node->op, t->rank, rank);
    if (t->dtype != ASSAY_S8 && t->dtype != ASSAY_U8 && t->dtype != ASSAY_S16)
        return assay_onnx_skip(im, "'%s' on %s input", op->node->op,
                               assay_dtype_name(t->dtype));
    *w = op->in[1].value == ASSAY_ONNX_NONE ? NULL
                                            : im->g->values[op->in[1].value].k;
    if (!is_weight(*w, rank))
        return assay_onnx_skip(im,
                               "the weights of '%s' are not an 8-bit "
                               "constant of rank %u",
                               op->node->op, rank);
    if (t->quant.n != 1)
        return assay_onnx_skip(im,
                               "the input of '%s' has a scale for each "
                               "channel",
                               op->node->op);
    return 0;
}

/* The int32 bias, one value a channel, or NULL. */
static int bias_of(struct assay_onnx_import *im,
                   const struct assay_onnx_operation *op, int64_t n,
                   const int32_t **out)
{
    uint32_t value = op->n_in > 2 ? op->in[2].value : ASSAY_ONNX_NONE;
    const struct assay_onnx_const *k;
    int32_t *all;

    *out = NULL;
    if (value == ASSAY_ONNX_NONE)
        return 0;
    k = im->g->values[value].k;
    if (!k || k->dtype != ASSAY_S32)
        return assay_onnx_skip(im, "the bias of '%s' is not an int32 constant",
                               op->node->op);
    if (k->count == (size_t)n) {
        *out = k->data;
        return 0;
    }
    if (k->count != 1)
        return assay_onnx_fail(im, op->node, ASSAY_EFORMAT,
                               "bias '%s': expected %lld elements, found %zu",
                               im->g->values[value].name, (long long)n,
                               k->count);
    all = assay_arena_array(im->g->arena, (size_t)n, sizeof(*all));
    if (!all)
        return assay_onnx_no_memory(im);
    for (int64_t i = 0; i < n; i++)
        all[i] = *(const int32_t *)k->data;
    *out = all;
    return 0;
}

/* Weights, bias, output and the layer itself. */
static int finish(struct assay_onnx_import *im, struct assay_onnx_operation *op,
                  enum assay_op kind, uint32_t x,
                  const struct assay_onnx_const *w,
                  const struct assay_quant *wq, const int32_t *bias,
                  struct assay_layer **layer)
{
    const struct assay_onnx_value *v = im->g->values;
    uint32_t in[3] = {x}, n_in = 2, out;
    /* QGemm without an output scale gives floats. */
    enum assay_dtype dtype = op->out_dtype ? op->out_dtype : ASSAY_F32;
    int rc = assay_onnx_new_constant(im, v[op->in[1].value].name, w, w->rank,
                                     wq, "OHWI", &in[1]);

    if (!rc && bias) {
        rc = assay_onnx_new_bias(im, v[op->in[2].value].name, bias,
                                 (uint32_t)w->dims[0], &in[2]);
        n_in = 3;
    }
    if (!rc)
        rc = assay_onnx_new_tensor(im, op->out, dtype, &op->out_q, &out);
    if (!rc)
        rc = assay_onnx_new_layer(im, op->node, kind, n_in, in, out, layer);
    if (!rc)
        (*layer)->real_op = ASSAY_REAL_CONV;
    return rc;
}

static int check_scales(struct assay_onnx_import *im,
                        const struct assay_onnx_operation *op,
                        const struct assay_quant *q, int64_t n)
{
    if (q->n > 1 && (q->axis != 0 || (int64_t)q->n != n))
        return assay_onnx_fail(im, op->node, ASSAY_EFORMAT,
                               "weight scale: %u elements along axis %d, "
                               "expected %lld along axis 0",
                               q->n, q->axis, (long long)n);
    return 0;
}

int assay_onnx_emit_conv(struct assay_onnx_import *im,
                         struct assay_onnx_operation *op)
{
    const struct assay_onnx_const *w;
    struct assay_onnx_window win;
    const int32_t *bias;
    struct assay_layer *l;
    int64_t src[ASSAY_MAX_RANK], groups, dims[4];
    uint32_t x;
    int rc = operands(im, op, 4, &x, &w);

    if (!rc)
        rc = assay_onnx_attr_int(im->g, op->node, "group", 1, &groups, im->err);
    if (rc)
        return rc;
    assay_tensor_source_dims(&im->s->tensors[x], src);
    if (groups < 1 || src[1] % groups || w->dims[0] % groups ||
        src[1] / groups != w->dims[1])
        return assay_onnx_fail(im, op->node, ASSAY_EFORMAT,
                               "group %lld does not fit %lld input channels "
                               "and weights of %lldx%lld",
                               (long long)groups, (long long)src[1],
                               (long long)w->dims[0], (long long)w->dims[1]);
    rc = assay_onnx_window(im, op->node, src + 2, w->dims + 2, &win);
    if (rc)
        return rc;
    dims[0] = src[0];
    dims[1] = w->dims[0];
    dims[2] = win.out[0];
    dims[3] = win.out[1];
    rc = assay_onnx_out(im, op->node, 4, dims);
    if (!rc)
        rc = check_scales(im, op, &op->in[1].q, dims[1]);
    if (!rc)
        rc = bias_of(im, op, dims[1], &bias);
    if (!rc)
        rc = finish(im, op, ASSAY_OP_CONV2D, x, w, &op->in[1].q, bias, &l);
    if (rc)
        return rc;
    l->p.conv2d = (struct assay_conv2d_params){
        .stride_h = (int32_t)win.stride[0],
        .stride_w = (int32_t)win.stride[1],
        .dilation_h = (int32_t)win.dilation[0],
        .dilation_w = (int32_t)win.dilation[1],
        .pad_top = (int32_t)win.pad[0],
        .pad_left = (int32_t)win.pad[1],
        .pad_bottom = (int32_t)win.pad[2],
        .pad_right = (int32_t)win.pad[3],
        .groups = (int32_t)groups,
        .has_bias = bias != NULL,
    };
    return 0;
}

/* Weights as [N][K], whichever way the file has them. */
static int to_nk(struct assay_onnx_import *im, bool trans_b,
                 const struct assay_onnx_const *w, struct assay_quant *q,
                 struct assay_onnx_const *out)
{
    size_t k, n;
    uint8_t *data;

    *out = *w;
    if (trans_b)
        return 0;
    k = (size_t)w->dims[0];
    n = (size_t)w->dims[1];
    data = assay_arena_alloc(im->g->arena, w->count);
    if (!data)
        return assay_onnx_no_memory(im);
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < n; j++)
            data[j * k + i] = ((const uint8_t *)w->data)[i * n + j];
    out->data = data;
    out->dims[0] = (int64_t)n;
    out->dims[1] = (int64_t)k;
    if (q->n > 1 && (q->axis == 1 || q->axis == -1))
        q->axis = 0;
    else if (q->n > 1)
        q->axis = 1;
    return 0;
}

static int check_gemm(struct assay_onnx_import *im,
                      const struct assay_onnx_operation *op)
{
    int64_t trans_a;
    float alpha, beta;
    int rc =
        assay_onnx_attr_int(im->g, op->node, "transA", 0, &trans_a, im->err);

    if (!rc)
        rc =
            assay_onnx_attr_float(im->g, op->node, "alpha", 1, &alpha, im->err);
    if (!rc)
        rc = assay_onnx_attr_float(im->g, op->node, "beta", 1, &beta, im->err);
    if (rc)
        return rc;
    if (trans_a || alpha != 1 || beta != 1)
        return assay_onnx_skip(im,
                               "'%s' with transA %lld, alpha %g, beta %g, "
                               "expected 0, 1, 1",
                               op->node->op, (long long)trans_a, (double)alpha,
                               (double)beta);
    return 0;
}

int assay_onnx_emit_gemm(struct assay_onnx_import *im,
                         struct assay_onnx_operation *op)
{
    struct assay_quant q = op->in[1].q;
    const struct assay_onnx_const *w;
    struct assay_onnx_const nk;
    const int32_t *bias;
    struct assay_layer *l;
    int64_t dims[2];
    uint32_t x;
    int rc = operands(im, op, 2, &x, &w);

    if (!rc)
        rc = check_gemm(im, op);
    if (!rc)
        rc = to_nk(im, op->trans_b, w, &q, &nk);
    if (rc)
        return rc;
    dims[0] = im->s->tensors[x].dims[0];
    dims[1] = nk.dims[0];
    if (nk.dims[1] != im->s->tensors[x].dims[1])
        return assay_onnx_fail(im, op->node, ASSAY_EFORMAT,
                               "input of %lld columns against weights of "
                               "%lld rows",
                               (long long)im->s->tensors[x].dims[1],
                               (long long)nk.dims[1]);
    rc = assay_onnx_out(im, op->node, 2, dims);
    if (!rc)
        rc = check_scales(im, op, &q, dims[1]);
    if (!rc)
        rc = bias_of(im, op, dims[1], &bias);
    if (!rc)
        rc = finish(im, op, ASSAY_OP_GEMM, x, &nk, &q, bias, &l);
    if (!rc)
        l->p.conv2d = (struct assay_conv2d_params){
            .stride_h = 1,
            .stride_w = 1,
            .dilation_h = 1,
            .dilation_w = 1,
            .groups = 1,
            .has_bias = bias != NULL,
        };
    return rc;
}
