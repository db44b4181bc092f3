/* SPDX-License-Identifier: Apache-2.0 */
/* What conv2d, conv_transpose2d and gemm share: they run on the convolution kernels. */
#ifndef ASSAY_ENGINE_OPS_CONV2D_H
#define ASSAY_ENGINE_OPS_CONV2D_H

#include "lib/engine/ops.h"

struct assay_conv_params {
    struct assay_conv2d p; /* weights, bias, second: set by prepare and run */
    const struct assay_conv2d_kernel *kernel;
    uint32_t second_input;      /* layer input, 0: none */
    const void *weights, *bias; /* as in the slice; bias may be unaligned */
    size_t kernel_packed;       /* bytes, rounded; the bias follows */
};

/* Ranks, groups, batch and channels of x, weights and output of conv2d and
 * conv_transpose2d. */
int assay_conv_check_shapes(const struct assay_op_check *c) ASSAY_MUST_CHECK;

/*
 * With p's geometry filled in and its shapes proved: dtypes, zero points,
 * bias (NULL: none) and program; the ranges of the accumulator and of every
 * step; kernel, memory and MACs.
 */
int assay_conv_check(const struct assay_op_check *c,
                     struct assay_conv_params *params,
                     const struct assay_tensor *bias,
                     struct assay_op_plan *plan) ASSAY_MUST_CHECK;
void assay_conv_prepare(const struct assay_op_plan *plan, void *packed);
void assay_conv_run(const struct assay_op_plan *plan,
                    const struct assay_op_io *io);

#endif
