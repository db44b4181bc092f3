/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix product: x [..., K], weights [N][K], [bias N] -> [..., N], as a 1x1
 * convolution of one image that is M wide and 1 high.
 */
#include "lib/engine/ops/conv2d.h"

#include <inttypes.h>

static int check_shapes(const struct assay_op_check *c, size_t *m)
{
    const struct assay_tensor *x = assay_layer_input(c, 0);
    const struct assay_tensor *w = assay_layer_input(c, 1);
    const struct assay_tensor *y = assay_layer_output(c);
    char a[ASSAY_SHAPE_TEXT], b[ASSAY_SHAPE_TEXT];
    int rc = assay_check_rank(c, "weights", w, 2);
    if (rc)
        return rc;
    if (x->rank < 1 || x->dims[x->rank - 1] != w->dims[1])
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "weights shape %s: expected the last "
                                  "dimension of input %s",
                                  assay_shape_text(w, a),
                                  assay_shape_text(x, b));
    bool fits = y->rank == x->rank && y->dims[y->rank - 1] == w->dims[0];
    *m = 1;
    for (uint32_t i = 0; fits && i + 1 < x->rank; i++) {
        fits = x->dims[i] == y->dims[i];
        *m *= (size_t)x->dims[i]; /* below x's own count */
    }
    if (!fits)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "output shape: expected that of input %s "
                                  "with %" PRId64 " last, found %s",
                                  assay_shape_text(x, a), w->dims[0],
                                  assay_shape_text(y, b));
    if (*m > INT32_MAX)
        return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                  "rows: expected at most %d, found %zu",
                                  INT32_MAX, *m);
    return 0;
}

static int check(const struct assay_op_check *c, struct assay_op_plan *plan)
{
    struct assay_conv_params *k = plan->params;
    size_t m = 0;
    int rc = check_shapes(c, &m);
    if (rc)
        return rc;
    const int64_t *w = assay_layer_input(c, 1)->dims;
    k->p = (struct assay_conv2d){
        .n = 1,
        .h = 1,
        .w = (int32_t)m,
        .c = (int32_t)w[1],
        .oh = 1,
        .ow = (int32_t)m,
        .oc = (int32_t)w[0],
        .kh = 1,
        .kw = 1,
        .stride_h = 1,
        .stride_w = 1,
        .dilation_h = 1,
        .dilation_w = 1,
        .groups = 1,
    };
    return assay_conv_check(
        c, k, c->layer->n_inputs > 2 ? assay_layer_input(c, 2) : NULL, plan);
}

const struct assay_op_vtable assay_op_gemm = {
    .number = ASSAY_OP_GEMM,
    .params_bytes = sizeof(struct assay_conv_params),
    .min_inputs = 2,
    .max_inputs = 3,
    .check = check,
    .prepare = assay_conv_prepare,
    .run = assay_conv_run,
};
