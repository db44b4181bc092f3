/* SPDX-License-Identifier: Apache-2.0 */
/* The list of operators: one line each. */
#include "lib/engine/ops.h"

static const struct assay_op_vtable *const OPS[] = {
    &assay_op_conv2d,           &assay_op_gemm,      &assay_op_unary,
    &assay_op_binary,           &assay_op_pool,      &assay_op_concat,
    &assay_op_reshape,          &assay_op_softmax,   &assay_op_view,
    &assay_op_gather,           &assay_op_reduce,    &assay_op_matmul,
    &assay_op_conv_transpose2d, &assay_op_prelu,     &assay_op_table,
    &assay_op_segment_table,    &assay_op_resize,    &assay_op_grid_sample,
    &assay_op_function,         &assay_op_normalize, &assay_op_select,
};

const struct assay_op_vtable *assay_op_find(enum assay_op number)
{
    for (size_t i = 0; i < sizeof(OPS) / sizeof(OPS[0]); i++)
        if (OPS[i]->number == number)
            return OPS[i];
    return NULL;
}
