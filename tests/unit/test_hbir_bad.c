/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is not understood is a layer that is not run, with a reason; what
 * contradicts itself is refused with one sentence.
 *
 * links: host-tools/model/hbir*.c host-tools/model/mlir*.c
 * links: host-tools/model/file.c host-tools/model/npz.c host-tools/model/npy.c
 * links: tests/support/hbir.c
 * links: lib/core/form*.c lib/core/arith*.c lib/core/buf.c lib/core/err.c
 * links: lib/core/hash.c lib/core/slice.c
 * libs: -lzip -lxxhash -lmbedcrypto -lm
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/hbir.h"

#define LIKE "1x4x4x4xsi8"
#define WIDE "1x4x4x4xsi16"
#define REAL "1x4x4x4xf32"
#define SHIFTS "preRShift = 1 : i64, scale = 300 : i64, postRShift = 9 : i64"

struct row {
    struct hbir_text t;
    const char *said; /* a part of it */
};

static const struct row skipped[] = {
    {{"b30.rle", "x8", "", LIKE}, "operation 'b30.rle' is not known"},
    {{"tosa.add", "x8 y8", "", LIKE}, "operation 'tosa.add' is not known"},
    {{"b30vpu.call", "x8", "", LIKE}, "operation 'b30vpu.call' is not known"},
    {{"b30.scatter2d", "x8 g", "", LIKE}, "'b30.scatter2d' is not known"},
    {{"b30.conv2d", "x8 w q", "pad = [1, 1, 1, 1], foutRoundEn = true", LIKE},
     "attribute 'foutRoundEn' is not known"},
    {{"b30.conv2d", "x8 x8 q", "pad = [1, 1, 1, 1]", LIKE},
     "the weights '%x8' are not constant"},
    {{"b30.conv2d", "x8 w16 q", "pad = [1, 1, 1, 1]", LIKE},
     "the weights 'w16' are int16, known is int8"},
    {{"b30.conv2d", "xf w q", "pad = [1, 1, 1, 1]", REAL},
     "input 'xf' is float32, expected int8 or int16"},
    {{"b30.conv2d", "a w q", "", LIKE}, "an input of rank 3, known is 4"},
    {{"b30.conv2d", "x8 w q", "pad = [1, 1, 1, 1], padValue = 3 : i64", LIKE},
     "attribute 'padValue' is 3, known is 0"},
    {{"b30.conv2d", "x8 w q x8 y8",
      "operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>", LIKE},
     "segment 4 has 1 operands, which is not known"},
    {{"b30.conv2d", "x8 w q x8 y8", "", LIKE}, "the fifth is not known"},
    {{"b30.conv2d", "x8 w q", "pad = \"same\"", LIKE},
     "attribute 'pad' is not understood: expected a list of integers"},
    {{"b30.conv2d", "x8 w q", "pad = [1, 1]", LIKE},
     "attribute 'pad': expected 4 integers, found 2"},
    {{"b30.conv2d", "x8 w qh", "pad = [1, 1, 1, 1]", REAL},
     "row 0 has a bias that is no integer"},
    {{"b30.conv2d", "x8 w qf", "pad = [1, 1, 1, 1], relu = true", REAL},
     "a float result with relu is not known"},
    {{"b30.conv2d", "x8 w qf", "pad = [1, 1, 1, 1]", LIKE},
     "quantInfo 'qf' is of floats"},
    {{"b30.conv2d", "x8 w q", "pad = [1, 1, 1, 1]", "1x4x4x4xui8"},
     "a result of uint8 is not known"},
    {{"b30.conv2d", "x8 w q", "pad = [1, 1, 1, 1]", "1x4x4x4xbf16"},
     "result '%0' is of an element type that is not supported"},
    {{"b30.matmul", "a wm", "", "1x3x6xsi8"}, "a matmul without quantInfo"},
    {{"b30.matmul", "a wm qb", "", "1x3x6xsi8"}, "quantInfo with a bias"},
    {{"b30.lut", "x8 y8", "", LIKE}, "the table is not constant"},
    {{"b30.lut", "x16 en rg", "", LIKE}, "attribute 'symMode' is missing"},
    {{"b30.lut", "x16 en rg", "symMode = \"both\"", LIKE},
     "attribute 'symMode' is 'both', known are: none center y"},
    {{"b30.lut", "x16 t16 rg", "symMode = \"y\"", LIKE},
     "entries 't16' are 256 of int16, known is 6x64 of int16"},
    {{"b30.pool2d", "x8", "kernel = [2, 2]", LIKE},
     "attribute 'mode' is missing"},
    {{"b30.pool2d", "x8", "mode = \"avg\", kernel = [1, 1]", LIKE},
     "neither quantInfo, nor 'scale', nor scales of both types"},
    {{"b30.pool2d", "x8", "mode = \"max\", kernel = [1, 1], pad = [1, 0, 0, 0]",
      "1x5x4x4xsi8"},
     "a window that lies in the padding altogether"},
    {{"b30.reduce", "x8", "mode = \"prod\", dims = [1]", LIKE},
     "attribute 'mode' is 'prod'"},
    {{"b30.reduce", "x8", "mode = \"argmax\", dims = [1, 2]", "1x1x1x4xsi8"},
     "an argmax over several dimensions"},
    {{"b30.rescale", "x8", "", WIDE}, "neither quantInfo, nor 'inScale'"},
    {{"b30.rescale", "x8", "inScale = 1.0e30, outScale = 1.0e-5", WIDE},
     "the quotient of the scales is 1e+35: no multiplier of 15 bits"},
    {{"b30.rescale", "x8", "inScale = 1.0e-30, outScale = 1.0", WIDE},
     "the quotient of the scales is 1e-30: no multiplier of 15 bits"},
    {{"b30.pool2d", "z8", "mode = \"avg\", kernel = [1, 1]",
      "1x4x4x4x!qnt.uniform<si8:f32, 1.0e-9>"},
     "the quotient of the scales is 2.5e+08: no multiplier of 15 bits"},
    {{"b30.reduce", "z8", "mode = \"sum\", dims = [1], keepDim = true",
      "1x1x4x4x!qnt.uniform<si8:f32, 1.0e+25>"},
     "the quotient of the scales is 2.5e-26: no multiplier of 15 bits"},
    {{"b30.quantize", "xf", "", LIKE}, "attribute 'scales' is missing"},
    {{"b30.quantize", "xf", "scales = [0.1], zeros = [3]", LIKE},
     "a zero point of 3, known is 0"},
    {{"b30.binary_eltwise", "x8 y8", "mode = \"add\"", LIKE},
     "attribute 'scale' is missing"},
    {{"b30.binary_eltwise", "x8 y8 q", "mode = \"add\", " SHIFTS, LIKE},
     "3 operands: what the third says is not known"},
    {{"b30.binary_eltwise", "x8 y8", "mode = \"greater\"", LIKE},
     "attribute 'mode' is 'greater'"},
    {{"b30.binary_eltwise", "x8 x16", "mode = \"max\"", LIKE},
     "operands of int8 and int16"},
    {{"b30.binary_eltwise", "x8 y8", "mode = \"div\"", LIKE},
     "a division of integers"},
    {{"b30.binary_eltwise", "x8 xf", "mode = \"mul\"", REAL},
     "an operand of floats and one of integers"},
    {{"b30.unary_eltwise", "x8", "mode = \"shift\"", LIKE},
     "attribute 'rshift' is missing"},
    {{"b30.ternary_eltwise", "xf x8 y8", "", LIKE},
     "condition 'xf' is float32"},
    {{"b30.resize2d", "x8", "size = [8, 8], expansionMode = \"constant\"",
      "1x8x8x4xsi8"},
     "attribute 'expansionMode' is constant, known is border"},
    {{"b30.resize2d", "x8", "size = [8, 8]", "1x8x8x4xsi8"},
     "attribute 'expansionMode' is missing"},
    {{"b30.warp", "x8 g", "mode = \"bilinear\"", "1x5x6x4xsi8"},
     "attribute 'isAbsoluteMv' is missing"},
    {{"b30.warp", "x8 g",
      "isAbsoluteMv = true, isMoveYx = true, padBorder = false, mode = "
      "\"bilinear\", moveFracBitNum = 4 : i64, padValue = 7 : i64",
      "1x5x6x4xsi8"},
     "attribute 'padValue' is 7, known is 0"},
    {{"b30.warp", "x8 x8",
      "isAbsoluteMv = true, isMoveYx = true, padBorder = true, mode = "
      "\"bilinear\", moveFracBitNum = 4 : i64",
      LIKE},
     "grid 'x8' is int8, expected int16"},
    {{"hbir.grid_sample", "xf xf", "alignCorner = true", REAL},
     "attribute 'alignCorner' is not known"},
    {{"b30.trans_layout", "x8", "", LIKE}, "attribute 'dims' is missing"},
    {{"hbir.slice", "x8", "begin = [0, 0, 0, 0]", LIKE},
     "attribute 'end' is missing"},
    {{"hbir.slice", "x8",
      "begin = [0, 3, 0, 0], end = [1, 0, 4, 4], step = [1, -1, 1, 1]",
      "1x3x4x4xsi8"},
     "attribute 'step' is -1"},
    {{"hbir.cast_type", "xf", "", LIKE}, "a cast of float32 to int8"},
    {{"hbir.cast_type", "x16", "", LIKE}, "a cast of int16 to int8"},
    {{"b30vpu.softmax", "x8", "dim = 3 : i64", LIKE},
     "input 'x8' is int8, expected float32"},
    {{"b30vpu.layer_norm", "xf", "dims = [1], eps = 1.0e-5", REAL},
     "attribute 'dims': known are the last ones"},
    {{"hbtl.call", "x8", "", LIKE}, "attribute 'signature' is missing"},
    {{"hbtl.call", "x8",
      "signature = \"(Tensor) -> (Tensor)\", parameters = []", LIKE},
     "'(Tensor) -> (Tensor)' is not known"},
    {{"hbtl.call", "x8",
      "signature = \"horizon::RlePostProcess(Tensor, int64_t, int64_t) -> "
      "(Tensor)\", parameters = [4096, 64]",
      "4096x2xui8"},
     "'horizon::RlePostProcess(Tensor, int64_t, int64_t) -> (Tensor)' is not "
     "known"},
    {{"hbtl.call", "xf",
      "signature = \"native::Softmax(Tensor, int64_t, bool) -> (Tensor)\", "
      "parameters = [1, true]",
      REAL},
     "'native::Softmax(Tensor, int64_t, bool) -> (Tensor)' is not known"},
    {{"hbtl.call", "xf",
      "signature = \"quant::quantize(Tensor, double[], int64_t[], bool, "
      "int64_t, bool) -> (Tensor)\", parameters = [[0.1], [0], true, 0, false]",
      LIKE},
     "parameter 2 of 'quant::quantize' is not false"},
    {{"hbtl.call", "xf",
      "signature = \"native::Exp(Tensor) -> (Tensor)\", isCustom = true", REAL},
     "is a user's own"},
    {{"hbtl.call", "xf",
      "signature = \"native::Exp(Tensor) -> (Tensor)\", diffRank = 1 : i64",
      REAL},
     "attribute 'diffRank' is 1, known is 0"},
};

static const struct row refused[] = {
    {{"b30.conv2d", "x8 w q", "pad = [1, 1, 1, 1]", "1x4x4x5xsi8"},
     "'%0' is declared as 1x4x4x5 of int8, but is 1x4x4x4 of int8"},
    {{"b30.conv2d", "x8 w q", "kernel = [1, 1]", LIKE},
     "attribute 'kernel' is [1, 1], but the weights 'w' have 3x3"},
    {{"b30.conv2d", "x8 w q", "stride = [0, 1]", LIKE},
     "attribute 'stride': expected 1 to 2147483647, found 0"},
    {{"b30.conv2d", "x8 w q", "dilation = [3, 3]", LIKE},
     "the kernel is larger than the padded input along h"},
    {{"b30.conv2d", "x8 w q", "groupNum = 2 : i64", LIKE},
     "2 groups of 4 channels do not fit"},
    {{"b30.conv2d", "x8 wl q", "", LIKE},
     "weights 'wl': expected rank 4, found 4x5 of int8"},
    {{"b30.conv2d", "x8 w q5", "pad = [1, 1, 1, 1]", LIKE},
     "quantInfo 'q5': expected 1x6 or 4x6, found 5x6 of int64"},
    {{"b30.conv2d", "x8 w qbad", "pad = [1, 1, 1, 1]", LIKE},
     "quantInfo 'qbad': row 2, column 3 (preRShift) is 32, expected 0 to 31"},
    {{"b30.conv2d", "x8 w", "pad = [1, 1, 1, 1]", LIKE},
     "operand 2 (quantInfo) is missing"},
    {{"b30.conv2d", "x8 w q", "operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>",
      LIKE},
     "5 segments of 4 operands, but there are 3"},
    {{"b30.conv2d", "x8 w q a", "pad = [1, 1, 1, 1]", LIKE},
     "sumin 'a' is 1x3x4 of int8, expected 1x4x4x4 of int8"},
    {{"b30.linear", "x8 wm q", "", LIKE}, "weights 'wm': expected rank 2"},
    {{"b30.matmul", "x8 a q", "", LIKE}, "do not multiply"},
    {{"b30.lut", "x8 t9", "", LIKE},
     "table 't9': expected 256 elements, found 257"},
    {{"b30.lut", "x8 t16", "", LIKE},
     "table 't16' is int16, but the result is int8"},
    {{"b30.reduce", "x8", "mode = \"max\", dims = [4]", LIKE},
     "attribute 'dims': 4 does not fit rank 4"},
    {{"b30.quantize", "xf", "scales = [-0.5]", LIKE},
     "number 0 is -0.5, expected one above 0"},
    {{"b30.quantize", "xf", "scales = [0.5, 0.5], axis = 1 : i64", LIKE},
     "attribute 'scales': expected 1 or 4 numbers, found 2"},
    {{"b30.binary_eltwise", "x8 a", "mode = \"max\"", LIKE},
     "operands of 1x4x4x4 of int8 and 1x3x4 of int8 do not broadcast"},
    {{"b30.binary_eltwise", "x8", "mode = \"max\"", LIKE},
     "1 operands, expected 2 to 3"},
    {{"b30.reshape", "x8", "shape = [3, 3]", "3x3xsi8"},
     "attribute 'shape': 9 elements, but the input has 64"},
    {{"b30.trans_layout", "x8", "perm = [0, 1, 1, 2]", LIKE},
     "is no permutation of 4 axes"},
    {{"hbir.concat", "x8 x16", "dim = 3 : i64", LIKE}, "do not join"},
    {{"hbir.slice", "x8", "begin = [0, 2, 0, 0], end = [1, 2, 4, 4]", LIKE},
     "nothing is left of dimension 1"},
    {{"hbtl.call", "xf",
      "signature = \"native::Softmax(Tensor, int64_t) -> "
      "(Tensor)\", parameters = [1, 2]",
      REAL},
     "1 operands and 2 parameters for"},
    {{"b30.grid_sample", "x8 x16",
      "isMoveYx = true, padBorder = true, mode = \"bilinear\", moveFracBitNum "
      "= 2 : i64",
      LIKE},
     "a grid of 1x4x4x4 of int16 for an image of"},
    {{"qnt.const_fake_quant", "xf", "bits = 8 : i64", REAL},
     "is of a float stage (qnt.const_fake_quant): export it with --stage and "
     "compare tensors"},
};

static void what_is_not_understood(void **state)
{
    char text[HBIR_TEXT_BYTES];
    struct assay_err err;

    (void)state;
    for (size_t i = 0; i < sizeof(skipped) / sizeof(skipped[0]); i++) {
        const struct row *r = &skipped[i];
        struct assay_slice *s = hbir_open(hbir_module(text, &r->t), NULL, &err);
        const struct assay_layer *l;

        if (!s)
            fail_msg("%s: refused: %s", r->t.op, err.text);
        assert_int_equal(s->n_layers, 1);
        l = &s->layers[0];
        if (l->op != ASSAY_OP_SKIPPED)
            fail_msg("%s (%s) is run", r->t.op, r->said);
        if (!strstr(l->skip_reason, r->said))
            fail_msg("%s: '%s', expected '%s'", r->t.op, l->skip_reason,
                     r->said);
        assert_string_equal(l->name, "layer");
        assert_string_equal(s->tensors[l->output].name, "out");
        assay_slice_free(s);
    }
}

static void what_contradicts_itself(void **state)
{
    char text[HBIR_TEXT_BYTES];
    struct assay_err err;

    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        const struct row *r = &refused[i];
        struct assay_slice *s = hbir_open(hbir_module(text, &r->t), NULL, &err);

        if (s)
            fail_msg("%s (%s) is read", r->t.op, r->said);
        if (!strstr(err.text, r->said) || !strstr(err.text, "m.mlir:") ||
            !strstr(err.text, "'layer'"))
            fail_msg("%s: '%s', expected '%s'", r->t.op, err.text, r->said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_understood),
        cmocka_unit_test(what_contradicts_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
