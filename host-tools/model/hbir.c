/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operations. */
#include <stdio.h>
#include <string.h>

#include "host-tools/model/mlir_import.h"

/*
 * By the name behind the dialect's. attrs: all that may stand there besides
 * the compiler's bookkeeping; another one makes it a layer that is not run.
 */
static const struct entry {
    const char *name;
    assay_hbir_emit_fn *emit;
    int argument;
    uint32_t min_in, max_in;
    const char *attrs;
} table[] = {
    {"conv2d", assay_hbir_conv, 0, 2, 16,
     "kernel stride pad padValue dilation relu group groupNum"},
    {"linear", assay_hbir_linear, 0, 2, 16, "relu"},
    {"matmul", assay_hbir_matmul, 0, 2, 3, ""},
    {"lut", assay_hbir_lut, 0, 1, 4, "symMode"},
    {"pool2d", assay_hbir_pool, ASSAY_HBIR_MODE, 1, 3,
     "mode kernel stride pad ceilMode preRShift scale postRShift"},
    {"reduce", assay_hbir_reduce, ASSAY_HBIR_MODE, 1, 3,
     "mode dims dim keepDim preRShift scale postRShift"},
    {"reduce_sum", assay_hbir_reduce, ASSAY_HBIR_REDUCE_SUM, 1, 3,
     "dims dim keepDim"},
    {"reduce_mean", assay_hbir_reduce, ASSAY_HBIR_REDUCE_MEAN, 1, 3,
     "dims dim keepDim"},
    {"reduce_max", assay_hbir_reduce, ASSAY_HBIR_REDUCE_MAX, 1, 1,
     "dims dim keepDim"},
    {"reduce_min", assay_hbir_reduce, ASSAY_HBIR_REDUCE_MIN, 1, 1,
     "dims dim keepDim"},
    {"reduce_argmax", assay_hbir_reduce, ASSAY_HBIR_REDUCE_ARGMAX, 1, 1,
     "dims dim keepDim"},
    {"rescale", assay_hbir_rescale, 0, 1, 3, "inScale outScale"},
    {"quantize", assay_hbir_quantize, 0, 1, 2, "scales zeros axis"},
    {"dequantize", assay_hbir_dequantize, 0, 1, 2, "scales zeros axis"},
    {"binary_eltwise", assay_hbir_binary, ASSAY_HBIR_MODE, 2, 3,
     "mode lhsShift rhsShift rhsScale preRShift scale postRShift"},
    {"add", assay_hbir_binary, ASSAY_HBIR_ADD, 2, 3, ""},
    {"sub", assay_hbir_binary, ASSAY_HBIR_SUB, 2, 3, ""},
    {"mul", assay_hbir_binary, ASSAY_HBIR_MUL, 2, 3, ""},
    {"div", assay_hbir_binary, ASSAY_HBIR_DIV, 2, 3, ""},
    {"max", assay_hbir_binary, ASSAY_HBIR_MAX, 2, 3, ""},
    {"min", assay_hbir_binary, ASSAY_HBIR_MIN, 2, 3, ""},
    {"unary_eltwise", assay_hbir_unary, 0, 1, 3, "mode rshift"},
    {"ternary_eltwise", assay_hbir_ternary, 0, 3, 4, "mode"},
    {"where", assay_hbir_ternary, 0, 3, 3, ""},
    {"relu", assay_hbir_relu, 0, 1, 1, ""},
    {"resize2d", assay_hbir_resize, 0, 1, 1,
     "size step initialOffset ratio mode expansionMode padValue"},
    {"warp", assay_hbir_warp, 0, 2, 3,
     "isAbsoluteMv isMoveYx moveFracBitNum padBorder padValue mode"},
    {"grid_sample", assay_hbir_grid_sample, 0, 2, 3,
     "isAbsoluteMv isMoveYx moveFracBitNum padBorder padValue mode"},
    {"gather2d", assay_hbir_gather2d, 0, 2, 3,
     "isAbsoluteMv isMoveYx moveFracBitNum padBorder padValue mode"},
    {"reshape", assay_hbir_reshape, 0, 1, 1, "shape"},
    {"trans_layout", assay_hbir_transpose, 0, 1, 1, "perm dims"},
    {"transpose", assay_hbir_transpose, 0, 1, 1, "perm dims"},
    {"slice", assay_hbir_slice, 0, 1, 1, "begin end step"},
    {"concat", assay_hbir_concat, 0, 1, UINT32_MAX, "dim"},
    {"cast_type", assay_hbir_cast, 0, 1, 1, ""},
    {"cast", assay_hbir_cast, 0, 1, 1, ""},
    {"softmax", assay_hbir_softmax, 0, 1, 1, "dim axis"},
    {"layer_norm", assay_hbir_normalize, ASSAY_NORMALIZE_LAYER, 1, 3,
     "dims axis eps epsilon"},
    {"layernorm", assay_hbir_normalize, ASSAY_NORMALIZE_LAYER, 1, 3,
     "dims axis eps epsilon"},
    {"rms_norm", assay_hbir_normalize, ASSAY_NORMALIZE_RMS, 1, 3,
     "dims axis eps epsilon"},
    {"abs", assay_hbir_function, ASSAY_FUNCTION_ABS, 1, 1, ""},
    {"neg", assay_hbir_function, ASSAY_FUNCTION_NEG, 1, 1, ""},
    {"floor", assay_hbir_function, ASSAY_FUNCTION_FLOOR, 1, 1, ""},
    {"ceil", assay_hbir_function, ASSAY_FUNCTION_CEIL, 1, 1, ""},
    {"sqrt", assay_hbir_function, ASSAY_FUNCTION_SQRT, 1, 1, ""},
    {"rsqrt", assay_hbir_function, ASSAY_FUNCTION_RSQRT, 1, 1, ""},
    {"reciprocal", assay_hbir_function, ASSAY_FUNCTION_RECIPROCAL, 1, 1, ""},
    {"exp", assay_hbir_function, ASSAY_FUNCTION_EXP, 1, 1, ""},
    {"log", assay_hbir_function, ASSAY_FUNCTION_LOG, 1, 1, ""},
    {"sigmoid", assay_hbir_function, ASSAY_FUNCTION_SIGMOID, 1, 1, ""},
    {"tanh", assay_hbir_function, ASSAY_FUNCTION_TANH, 1, 1, ""},
    {"erf", assay_hbir_function, ASSAY_FUNCTION_ERF, 1, 1, ""},
    {"gelu", assay_hbir_function, ASSAY_FUNCTION_GELU, 1, 1, ""},
    {"silu", assay_hbir_function, ASSAY_FUNCTION_SILU, 1, 1, ""},
    {"swish", assay_hbir_function, ASSAY_FUNCTION_SILU, 1, 1, ""},
    {"softplus", assay_hbir_function, ASSAY_FUNCTION_SOFTPLUS, 1, 1, ""},
    {"sin", assay_hbir_function, ASSAY_FUNCTION_SIN, 1, 1, ""},
    {"cos", assay_hbir_function, ASSAY_FUNCTION_COS, 1, 1, ""},
};

int assay_hbir_emit_as(struct assay_hbir *im, const char *name)
{
    const struct entry *e = table, *end = e + sizeof(table) / sizeof(table[0]);
    int rc = 0;

    while (e < end && strcmp(e->name, name))
        e++;
    if (e == end)
        return assay_hbir_skip(im, "operation '%.100s' is not known",
                               im->op_name);
    if (im->op->n_results != 1)
        return assay_hbir_fail(im, ASSAY_EFORMAT, "%u results, expected 1",
                               im->op->n_results);
    if (im->op->n_operands < e->min_in || im->op->n_operands > e->max_in)
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "%u operands, expected %u to %u",
                               im->op->n_operands, e->min_in, e->max_in);
    if (!im->call)
        rc = assay_hbir_attrs(im, e->attrs);
    im->argument = e->argument;
    return rc ? rc : e->emit(im);
}

static bool is_empty(const struct assay_mlir_region *r)
{
    for (uint32_t i = 0; i < r->n_blocks; i++)
        if (r->blocks[i]->n_ops || r->blocks[i]->n_args)
            return false;
    return true;
}

int assay_hbir_emit(struct assay_hbir *im)
{
    static const char *const dialects[] = {"b30.", "b30vpu.", "hbir.", "hbdk."};
    const struct assay_mlir_op *op = im->op;

    for (uint32_t i = 0; i < op->n_regions; i++)
        if (!is_empty(op->regions[i]))
            return assay_hbir_skip(im,
                                   "operation '%.100s' with a region that "
                                   "is not empty",
                                   op->name);
    if (op->n_successors)
        return assay_hbir_skip(im, "operation '%.100s' with successors",
                               op->name);
    if (!strcmp(op->name, "hbtl.call"))
        return assay_hbir_emit_call(im);
    for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++) {
        size_t n = strlen(dialects[i]);

        if (!strncmp(op->name, dialects[i], n))
            return assay_hbir_emit_as(im, op->name + n);
    }
    return assay_hbir_skip(im, "operation '%.100s' is not known", op->name);
}
