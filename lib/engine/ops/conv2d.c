/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution: x NHWC, weights OHWI, [bias], [second]. */
#include "lib/engine/ops/conv2d.h"

#include <inttypes.h>

static int check_shapes(const struct assay_op_check *c)
{
    const struct assay_conv2d_params *q = &c->layer->p.conv2d;
    const struct assay_tensor *x = assay_layer_input(c, 0);
    const struct assay_tensor *w = assay_layer_input(c, 1);
    const struct assay_tensor *y = assay_layer_output(c);
    int rc = assay_conv_check_shapes(c);
    if (rc)
        return rc;
    const struct assay_window_axis h = {
        "h",           x->dims[1], y->dims[1],    w->dims[1], q->stride_h,
        q->dilation_h, q->pad_top, q->pad_bottom, true};
    const struct assay_window_axis v = {
        "w",           x->dims[2],  y->dims[2],   w->dims[2], q->stride_w,
        q->dilation_w, q->pad_left, q->pad_right, true};
    rc = assay_check_window(c, &h);
    return rc ? rc : assay_check_window(c, &v);
}

static int check(const struct assay_op_check *c, struct assay_op_plan *plan)
{
    const struct assay_conv2d_params *q = &c->layer->p.conv2d;
    struct assay_conv_params *k = plan->params;
    uint32_t want = 2u + q->has_bias + q->has_second;
    if (c->layer->n_inputs != want)
        return ASSAY_REFUSE_LAYER(
            c, ASSAY_EFORMAT,
            "inputs: expected %" PRIu32 " (has_bias %d, has_second %d), found "
            "%" PRIu32,
            want, q->has_bias, q->has_second, c->layer->n_inputs);
    int rc = check_shapes(c);
    if (rc)
        return rc;
    const int64_t *x = assay_layer_input(c, 0)->dims;
    const int64_t *w = assay_layer_input(c, 1)->dims;
    const int64_t *y = assay_layer_output(c)->dims;
    k->p = (struct assay_conv2d){
        .n = (int32_t)x[0],
        .h = (int32_t)x[1],
        .w = (int32_t)x[2],
        .c = (int32_t)x[3],
        .oh = (int32_t)y[1],
        .ow = (int32_t)y[2],
        .oc = (int32_t)y[3],
        .kh = (int32_t)w[1],
        .kw = (int32_t)w[2],
        .stride_h = q->stride_h,
        .stride_w = q->stride_w,
        .dilation_h = q->dilation_h,
        .dilation_w = q->dilation_w,
        .pad_top = q->pad_top,
        .pad_left = q->pad_left,
        .groups = q->groups,
    };
    k->second_input = q->has_second ? want - 1 : 0;
    return assay_conv_check(c, k, q->has_bias ? assay_layer_input(c, 2) : NULL,
                            plan);
}

const struct assay_op_vtable assay_op_conv2d = {
    .number = ASSAY_OP_CONV2D,
    .params_bytes = sizeof(struct assay_conv_params),
    .min_inputs = 2,
    .max_inputs = 4,
    .check = check,
    .prepare = assay_conv_prepare,
    .run = assay_conv_run,
};
