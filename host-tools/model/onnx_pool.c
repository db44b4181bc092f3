/* SPDX-License-Identifier: Apache-2.0 */
/* MaxPool, AveragePool, GlobalAveragePool and their QOperator forms. */
#include <string.h>

#include "host-tools/model/onnx_import.h"
#include "kernels/program.h"
#include "lib/core/arith_build.h"

static const uint8_t channels_last[4] = {0, 2, 3, 1};

static int input(struct assay_onnx_import *im, struct assay_onnx_operation *op,
                 uint32_t *x, int64_t *src)
{
    int64_t last;
    int rc = assay_onnx_activation(im, &op->in[0], x);

    if (!rc)
        rc = assay_onnx_attr_int(im->g, op->node, "channels_last", 0, &last,
                                 im->err);
    if (rc)
        return rc;
    if (im->s->tensors[*x].rank != 4)
        return assay_onnx_skip(im, "'%s' on an input of rank %u, expected 4",
                               op->node->op, im->s->tensors[*x].rank);
    if (last)
        return assay_onnx_skip(im, "'%s' with channels_last", op->node->op);
    assay_tensor_source_dims(&im->s->tensors[*x], src);
    if (!im->source_order)
        return 0;
    /* Pools work on channels-last; so does the output, until emit ends. */
    im->perm = channels_last;
    return assay_onnx_reorder(im, op->node, channels_last, x);
}

/* The window of a pool, which onnxruntime does not start outside. */
static int window(struct assay_onnx_import *im, struct assay_onnx_operation *op,
                  const int64_t *src, struct assay_onnx_window *w)
{
    int64_t dims[4] = {src[0], src[1]};
    int rc = assay_onnx_window(im, op->node, src + 2, NULL, w);

    if (rc)
        return rc;
    dims[2] = w->out[0];
    dims[3] = w->out[1];
    rc = assay_onnx_out(im, op->node, 4, dims);
    if (!rc && w->cropped)
        rc = assay_onnx_skip(im,
                             "'%s' with auto_pad SAME_UPPER and strides "
                             "that leave out more than one row or column: "
                             "onnxruntime crops the image",
                             op->node->op);
    return rc;
}

static int pool_layer(struct assay_onnx_import *im,
                      struct assay_onnx_operation *op, uint32_t x,
                      const int64_t *src, const struct assay_onnx_window *w,
                      enum assay_pool_kind kind, struct assay_layer **out)
{
    int64_t dims[4] = {src[0], src[1], w->out[0], w->out[1]};
    struct assay_quant q = op->out_q;
    enum assay_dtype dtype = op->out_dtype;
    struct assay_layer *l;
    uint32_t y;
    int rc = assay_onnx_out(im, op->node, 4, dims);

    if (rc)
        return rc;
    if (!dtype) {
        dtype = im->s->tensors[x].dtype;
        q = im->s->tensors[x].quant;
        if (q.n > 1)
            return assay_onnx_skip(im, "'%s' on a scale for each channel",
                                   op->node->op);
    }
    rc = assay_onnx_new_tensor(im, op->out, dtype, &q, &y);
    if (!rc)
        rc = assay_onnx_new_layer(im, op->node, ASSAY_OP_POOL, 1, &x, y, &l);
    if (rc)
        return rc;
    l->p.pool = (struct assay_pool_params){
        .kind = (uint8_t)kind,
        .kh = (int32_t)w->kernel[0],
        .kw = (int32_t)w->kernel[1],
        .stride_h = (int32_t)w->stride[0],
        .stride_w = (int32_t)w->stride[1],
        .dilation_h = (int32_t)w->dilation[0],
        .dilation_w = (int32_t)w->dilation[1],
        .pad_top = (int32_t)w->pad[0],
        .pad_left = (int32_t)w->pad[1],
        .pad_bottom = (int32_t)w->pad[2],
        .pad_right = (int32_t)w->pad[3],
    };
    *out = l;
    return 0;
}

/* The maximum is taken on integers; then dequantize, float steps, quantize.
 * All of these are nondecreasing, so this is what the group computes. */
static int literal_program(struct assay_onnx_import *im,
                           const struct assay_onnx_operation *op,
                           const struct assay_tensor *x, struct assay_layer *l)
{
    const struct assay_tensor *y = &im->s->tensors[l->output];
    struct assay_uniform qx, qy;
    struct assay_builder b;
    int rc = assay_arith_uniform(x, &qx, im->err);

    if (!rc)
        rc = assay_arith_uniform(y, &qy, im->err);
    if (rc)
        return rc;
    assay_build_begin(&b, im->s->arena, im->err);
    assay_build_dequantize(&b, &qx);
    for (uint32_t i = 0; i < op->steps.n_steps; i++)
        assay_build_step(&b, &op->steps.steps[i]);
    assay_build_quantize(&b, &qy);
    l->arith = "dq_q";
    return assay_build_end(&b, &l->out_program);
}

int assay_onnx_emit_max_pool(struct assay_onnx_import *im,
                             struct assay_onnx_operation *op)
{
    struct assay_onnx_window w;
    int64_t src[ASSAY_MAX_RANK], order;
    struct assay_layer *l;
    uint32_t x;
    int rc = input(im, op, &x, src);

    if (!rc)
        rc = window(im, op, src, &w);
    if (!rc)
        rc = assay_onnx_attr_int(im->g, op->node, "storage_order", 0, &order,
                                 im->err);
    if (!rc && op->node->n_out > 1 && op->node->out[1] != ASSAY_ONNX_NONE)
        rc = assay_onnx_skip(im, "'MaxPool' with an output of indices");
    if (!rc)
        rc = pool_layer(im, op, x, src, &w, ASSAY_POOL_MAX, &l);
    if (rc)
        return rc;
    if (op->out_dtype &&
        (op->steps.n_steps ||
         !assay_onnx_same_quant(&im->s->tensors[x].quant, &op->out_q)))
        return literal_program(im, op, &im->s->tensors[x], l);
    return 0;
}

static int average(struct assay_onnx_import *im,
                   struct assay_onnx_operation *op, uint32_t x,
                   const int64_t *src, const struct assay_onnx_window *w,
                   bool include_pad)
{
    bool whole = w->kernel[0] == src[2] && w->kernel[1] == src[3] &&
                 w->out[0] == 1 && w->out[1] == 1 && !w->pad[0] && !w->pad[1] &&
                 !w->pad[2] && !w->pad[3];
    struct assay_layer *l;
    int rc;

    if (!op->integer && im->s->tensors[x].dtype != ASSAY_F32)
        return assay_onnx_skip(im, "'%s' on %s without scales", op->node->op,
                               assay_dtype_name(im->s->tensors[x].dtype));
    rc = pool_layer(im, op, x, src, w, ASSAY_POOL_AVG, &l);
    if (rc)
        return rc;
    l->p.pool.count_include_pad = include_pad;
    if (op->integer) {
        l->real_op = whole ? ASSAY_REAL_GLOBAL_AVG_POOL : ASSAY_REAL_AVG_POOL;
        return 0;
    }
    l->p.pool.sum = ASSAY_SUM_F32;
    l->p.pool.div = ASSAY_DIV_F32;
    return assay_onnx_new_programs(im, l, 1);
}

int assay_onnx_emit_avg_pool(struct assay_onnx_import *im,
                             struct assay_onnx_operation *op)
{
    struct assay_onnx_window w;
    int64_t src[ASSAY_MAX_RANK], include;
    uint32_t x;
    int rc = input(im, op, &x, src);

    if (!rc)
        rc = window(im, op, src, &w);
    if (!rc)
        rc = assay_onnx_attr_int(im->g, op->node, "count_include_pad", 0,
                                 &include, im->err);
    if (!rc && include && w.enlarged)
        rc = assay_onnx_skip(im,
                             "'%s' with ceil_mode and count_include_pad, "
                             "and a last window that is cut off",
                             op->node->op);
    return rc ? rc : average(im, op, x, src, &w, include != 0);
}

int assay_onnx_emit_global_avg_pool(struct assay_onnx_import *im,
                                    struct assay_onnx_operation *op)
{
    struct assay_onnx_window w = {
        .stride = {1, 1}, .dilation = {1, 1}, .out = {1, 1}};
    int64_t src[ASSAY_MAX_RANK];
    uint32_t x;
    int rc = input(im, op, &x, src);

    if (rc)
        return rc;
    w.kernel[0] = src[2];
    w.kernel[1] = src[3];
    return average(im, op, x, src, &w, false);
}
