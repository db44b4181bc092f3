/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every operation of the Nash dialects once in a form that is run: its layer,
 * its form, and a plan under the rules that are built in.
 *
 * links: lib/core/slice_part.c lib/core/probe.c
 * links: host-tools/model/hbir*.c host-tools/model/mlir*.c
 * links: host-tools/model/file.c host-tools/model/npz.c host-tools/model/npy.c
 * links: host-tools/model/numerics_file.c host-tools/model/numerics_data.c
 * links: tests/support/hbir.c tests/support/runs.c
 * links: lib/core/form*.c lib/core/arith*.c lib/core/buf.c lib/core/err.c
 * links: lib/core/hash.c lib/core/slice.c
 * links: lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * libs: -ljansson -lzip -lxxhash -lmbedcrypto -lm
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host-tools/model/numerics_file.h"
#include "tests/support/hbir.h"
#include "tests/support/runs.h"

#define LIKE "1x4x4x4xsi8"
#define WIDE "1x4x4x4xsi16"
#define LONG "1x4x4x4xsi32"
#define REAL "1x4x4x4xf32"
#define HALF "1x4x4x4xf16"

struct row {
    struct hbir_text t;
    enum assay_op op;
    const char *form; /* NULL: none */
};

#define SHIFTS "preRShift = 1 : i64, scale = 300 : i64, postRShift = 9 : i64"
#define QUANT \
    "quant::quantize(Tensor, double[], int64_t[], bool, int64_t, bool)"
#define CALL(signature, parameters) \
    "signature = \"" signature " -> (Tensor)\", parameters = [" parameters \
    "], diffRank = 0 : i64, isCustom = false"

static const struct row rows[] = {
    {{"b30.conv2d", "x8 w q",
      "kernel = [3, 3], stride = [1, 1], pad = [1, 1, 1, 1], dilation = [1, "
      "1], relu = true, padValue = 0 : i64, groupNum = 1 : i64, instanceId = "
      "-1 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>",
      LIKE},
     ASSAY_OP_CONV2D,
     "conv"},
    {{"b30.conv2d", "x16 wd q1 x8",
      "pad = [1, 1, 1, 1], operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>",
      WIDE},
     ASSAY_OP_CONV2D,
     "conv"},
    {{"b30.conv2d", "x8 w qt", "stride = [2, 2]", "1x1x1x4xsi32"},
     ASSAY_OP_CONV2D,
     "conv_tail"},
    {{"b30.conv2d", "x8 w q1", "stride = [2, 2]", "1x1x1x4xsi32"},
     ASSAY_OP_CONV2D,
     "conv"},
    {{"b30.conv2d", "x8 w qf", "pad = [1, 1, 1, 1]", REAL},
     ASSAY_OP_CONV2D,
     "conv_float"},
    {{"b30.linear", "x8 wl q5", "relu = false", "1x4x4x5xsi8"},
     ASSAY_OP_GEMM,
     "linear"},
    {{"b30.linear", "x8 wl qt", "", "1x4x4x5xsi32"},
     ASSAY_OP_GEMM,
     "linear_tail"},
    {{"b30.matmul", "a wm q1", "", "1x3x6xsi8"}, ASSAY_OP_MATMUL, "matmul"},
    {{"b30.matmul", "a wm", "", "1x3x6xsi32"}, ASSAY_OP_MATMUL, NULL},
    {{"b30.lut", "x8 t8", "", LIKE}, ASSAY_OP_TABLE, "lut"},
    {{"b30.lut", "x8 t16", "", WIDE}, ASSAY_OP_TABLE, "lut"},
    {{"b30.lut", "x16 en rg", "symMode = \"center\"", LIKE},
     ASSAY_OP_SEGMENT_TABLE,
     "lut_segments"},
    {{"b30.pool2d", "x16",
      "mode = #hbdk<PoolMode MAX>, kernel = [2, 2], stride = [2, 2]",
      "1x2x2x4xsi16"},
     ASSAY_OP_POOL,
     NULL},
    {{"b30.pool2d", "x8 q1",
      "mode = \"avg\", kernel = [3, 3], pad = [1, 1, 1, 1]", LIKE},
     ASSAY_OP_POOL,
     "avg_pool"},
    {{"b30.pool2d", "x8", "mode = \"avg\", kernel = [4, 4], " SHIFTS,
      "1x1x1x4xsi8"},
     ASSAY_OP_POOL,
     "avg_pool"},
    {{"b30.pool2d", "z8", "mode = \"avg\", kernel = [2, 2], stride = [2, 2]",
      "1x2x2x4x!qnt.uniform<si8:f32, 0.125>"},
     ASSAY_OP_POOL,
     "avg_pool"},
    {{"b30.reduce", "x8 q1", "mode = \"mean\", dims = [1, 2]", "1x1x1x4xsi8"},
     ASSAY_OP_REDUCE,
     "reduce"},
    {{"b30.reduce", "x8", "mode = \"sum\", dims = [-1], keepDim = false",
      "1x4x4xsi32"},
     ASSAY_OP_REDUCE,
     NULL},
    {{"b30.reduce", "z8", "mode = \"mean\", dims = [1, 2]",
      "1x1x1x4x!qnt.uniform<si16:f32, 0.001>"},
     ASSAY_OP_REDUCE,
     "reduce"},
    {{"b30.reduce", "x16", "mode = \"max\", dims = [3]", "1x4x4x1xsi16"},
     ASSAY_OP_REDUCE,
     NULL},
    {{"b30.reduce", "x8", "mode = \"argmax\", dims = [3]", "1x4x4x1xsi8"},
     ASSAY_OP_REDUCE,
     NULL},
    {{"b30.rescale", "x8 q1", "", WIDE}, ASSAY_OP_UNARY, "rescale"},
    {{"b30.rescale", "x16",
      "inScale = 1.000000e-02 : f64, outScale = 2.500000e-01 : f64", LIKE},
     ASSAY_OP_UNARY,
     "rescale"},
    {{"b30.quantize", "xf",
      "scales = [1.000000e-01], zeros = [0], axis = 0 : i64", LIKE},
     ASSAY_OP_UNARY,
     "quantize"},
    {{"b30.quantize", "xh", "scales = [1.0e-01, 0.2, 0.3, 0.4], axis = -1",
      WIDE},
     ASSAY_OP_UNARY,
     "quantize"},
    {{"b30.dequantize", "x32", "scales = [0.5, 0.25, 1.0, 2.0], axis = 3",
      REAL},
     ASSAY_OP_UNARY,
     "dequantize"},
    {{"b30.dequantize", "z8", "", REAL}, ASSAY_OP_UNARY, "dequantize"},
    {{"b30.binary_eltwise", "x8 k4",
      "mode = \"add\", lhsShift = 4 : i64, rhsShift = 2 : i64, rhsScale = 9 : "
      "i64, " SHIFTS,
      LIKE},
     ASSAY_OP_BINARY,
     "add"},
    {{"b30.binary_eltwise", "x8 x16",
      "mode = \"sub\", rhsScale = [1, 2, 3, 4], " SHIFTS, WIDE},
     ASSAY_OP_BINARY,
     "sub"},
    {{"b30.binary_eltwise", "x8 x16", "mode = \"mul\", " SHIFTS, LIKE},
     ASSAY_OP_BINARY,
     "mul"},
    {{"b30.binary_eltwise", "x8 y8", "mode = \"max\"", LIKE},
     ASSAY_OP_BINARY,
     NULL},
    {{"b30.binary_eltwise", "xh xh", "mode = \"div\"", HALF},
     ASSAY_OP_BINARY,
     NULL},
    {{"b30.unary_eltwise", "x8", "mode = \"abs\"", LIKE},
     ASSAY_OP_PRELU,
     "prelu"},
    {{"b30.unary_eltwise", "x8", "mode = \"neg\"", LIKE},
     ASSAY_OP_UNARY,
     "rescale"},
    {{"b30.unary_eltwise", "x16", "mode = \"relu\"", WIDE},
     ASSAY_OP_UNARY,
     NULL},
    {{"b30.unary_eltwise", "x32", "mode = \"shift\", rshift = 5 : i64", LIKE},
     ASSAY_OP_UNARY,
     "rescale"},
    {{"b30.unary_eltwise", "xf", "mode = \"abs\"", REAL},
     ASSAY_OP_FUNCTION,
     NULL},
    {{"b30.ternary_eltwise", "c x8 y8", "mode = \"select\"", LIKE},
     ASSAY_OP_SELECT,
     NULL},
    {{"b30.resize2d", "x8",
      "size = [8, 6], step = [32768, 43690], initialOffset = [-16384, -10923], "
      "mode = \"bilinear\", expansionMode = #hbdk<ExpansionMode border>",
      "1x8x6x4xsi8"},
     ASSAY_OP_RESIZE,
     "resize"},
    {{"b30.resize2d", "x8",
      "size = [2, 3], ratio = [5.0e-01, 7.5e-01], mode = \"nearest\", "
      "expansionMode = \"border\"",
      "1x2x3x4xsi8"},
     ASSAY_OP_RESIZE,
     NULL},
    {{"b30.warp", "x8 g",
      "isAbsoluteMv = true, isMoveYx = false, moveFracBitNum = 5 : i64, "
      "padBorder = true, mode = \"bilinear\"",
      "1x5x6x4xsi8"},
     ASSAY_OP_GRID_SAMPLE,
     "grid_sample"},
    {{"b30.grid_sample", "x8 g",
      "isMoveYx = true, moveFracBitNum = 8 : i64, padBorder = false, mode = "
      "\"bilinear\"",
      "1x5x6x4xsi8"},
     ASSAY_OP_GRID_SAMPLE,
     "grid_sample"},
    {{"b30.gather2d", "x8 g", "isMoveYx = true, padBorder = false",
      "1x5x6x4xsi8"},
     ASSAY_OP_GRID_SAMPLE,
     NULL},
    {{"b30.reshape", "x8", "shape = [2, -1]", "2x32xsi8"},
     ASSAY_OP_RESHAPE,
     NULL},
    {{"b30.trans_layout", "x8", "perm = [0, 3, 1, 2]", LIKE},
     ASSAY_OP_VIEW,
     NULL},
    {{"hbir.transpose", "g", "dims = [3, 0, 2, 1]", "2x1x6x5xsi16"},
     ASSAY_OP_VIEW,
     NULL},
    {{"hbir.slice", "x8",
      "begin = [0, 1, -2, 0], end = [1, 4, 4, 4], step = [1, 2, 1, 1]",
      "1x2x2x4xsi8"},
     ASSAY_OP_VIEW,
     NULL},
    {{"hbir.concat", "x8 y8", "dim = -1 : i64", "1x4x4x8xsi8"},
     ASSAY_OP_CONCAT,
     NULL},
    {{"hbir.cast_type", "x8", "", REAL}, ASSAY_OP_UNARY, NULL},
    {{"hbdk.cast_type", "c", "", LONG}, ASSAY_OP_UNARY, NULL},
    {{"b30vpu.softmax", "xh", "dim = 3 : i64", HALF}, ASSAY_OP_SOFTMAX, NULL},
    {{"b30vpu.layer_norm", "xf gm gm", "dims = [3], eps = 1.0e-05 : f64", REAL},
     ASSAY_OP_NORMALIZE,
     NULL},
    {{"b30vpu.rms_norm", "xf gm", "axis = 3 : i64, eps = 1.0e-05 : f64", REAL},
     ASSAY_OP_NORMALIZE,
     NULL},
    {{"b30vpu.sigmoid", "xf", "", REAL}, ASSAY_OP_FUNCTION, NULL},
    {{"b30vpu.add", "xf gm", "", REAL}, ASSAY_OP_BINARY, NULL},
    {{"hbtl.call", "xf", CALL(QUANT, "[1.0e-01], [0], false, 0, false"), LIKE},
     ASSAY_OP_UNARY,
     "quantize"},
    {{"hbtl.call", "xf", CALL("native::Softmax(Tensor, int64_t)", "-1"), REAL},
     ASSAY_OP_SOFTMAX,
     NULL},
    {{"hbtl.call", "x8",
      CALL("native::Transpose(Tensor, int64_t[])", "[0, 3, 1, 2]"), LIKE},
     ASSAY_OP_VIEW,
     NULL},
    {{"hbtl.call", "xf xf", CALL("native::Concat(Tensor[], int64_t)", "3"),
      "1x4x4x8xf32"},
     ASSAY_OP_CONCAT,
     NULL},
    {{"hbtl.call", "xf",
      CALL("native::ReduceMean(Tensor, int64_t[], bool)", "[1, 2], true"),
      "1x1x1x4xf32"},
     ASSAY_OP_REDUCE,
     NULL},
    {{"hbtl.call", "x8",
      CALL("native::Argmax(Tensor, int64_t[], bool)", "[3], false"),
      "1x4x4xsi64"},
     ASSAY_OP_REDUCE,
     NULL},
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

/* The layer that gives the function's result. */
static const struct assay_layer *last(const struct assay_slice *s)
{
    return &s->layers[s->n_layers - 1];
}

static void plan(const struct row *row, struct assay_slice *s,
                 const struct assay_numerics *nash)
{
    struct assay_kernel_table table;
    struct assay_plan *p = NULL;
    struct assay_err err = {0};

    assay_kernel_table_init(&table, 0);
    if (assay_numerics_use(s, nash, &err) ||
        assay_plan_new(&p, s, &table, NULL, &err))
        fail_msg("%s: %s", row->t.op, err.text);
    assay_plan_free(p);
}

static void every_operation(void **state)
{
    char text[HBIR_TEXT_BYTES];
    struct assay_numerics_file nash = {0};
    struct assay_err err;

    (void)state;
    assert_int_equal(assay_numerics_open(&nash, "nash", &err), 0);
    for (size_t i = 0; i < N_ROWS; i++) {
        const struct row *row = &rows[i];
        struct assay_slice *s =
            hbir_open(hbir_module(text, &row->t), NULL, &err);
        const struct assay_layer *l;

        if (!s)
            fail_msg("%s: %s", row->t.op, err.text);
        l = last(s);
        if (l->op == ASSAY_OP_SKIPPED)
            fail_msg("%zu %s: %s", i, row->t.op, l->skip_reason);
        if (l->op != row->op)
            fail_msg("%zu %s: %s", i, row->t.op, assay_op_name(l->op));
        assert_string_equal(l->form ? l->form : "none",
                            row->form ? row->form : "none");
        assert_string_equal(s->tensors[l->output].name, "out");
        assert_true(s->tensors[l->output].is_output);
        assert_string_equal(s->numerics, "nash");
        assert_int_equal(l->half, strstr(row->t.operands, "xh") &&
                                      strstr(row->t.result, "f16"));
        plan(row, s, &nash.n);
        assay_slice_free(s);
    }
    assay_numerics_close(&nash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
