/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every operator of a fixed-point model once in a good form, and what is said
 * when one thing of it is wrong. A node stands here as text: attributes are
 * name=[1,2] (7*12: twelve times 7), name=3 or name=WORD.
 *
 * links: host-tools/model/onnx*.c host-tools/model/file.c
 * links: gen/host-tools/model/onnx.pb-c.c
 * links: host-tools/model/numerics_*.c lib/core/arith*.c lib/core/form*.c
 * links: lib/core/buf.c lib/core/err.c lib/core/hash.c lib/core/slice.c
 * libs: -lprotobuf-c -ljansson -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "host-tools/model/numerics_file.h"
#include "host-tools/model/onnx.h"
#include "tests/unit/onnx_bytes.h"

#define F32 1
#define S8 3
#define S16 5
#define S32 6
#define S64 7

struct form {
    const char *op, *in, *attrs;
    int y_type;
    struct dims y;
    enum assay_op layer; /* the last of the node */
    const char *arith;   /* the form, where there is one */
};

/* x8, x16, xf: 1x4x4x4. */
static const struct form forms[] = {
    {"HzQuantize", "xf s1", "bits=16", S16, DIMS(1, 4, 4, 4), ASSAY_OP_UNARY,
     "quantize"},
    {"HzDequantize", "x8 s4", "axis=1", F32, DIMS(1, 4, 4, 4), ASSAY_OP_BINARY,
     "hz_dequantize"},
    {"HzRequantize", "x16",
     "bits=8 method=Rescale axis=3 data_format=NHWC output_scale=[3,4,5,6] "
     "output_right_shift=[7]",
     S8, DIMS(1, 4, 4, 4), ASSAY_OP_UNARY, "rescale"},
    {"HzSQuantizedConv", "x8 w b bs x8",
     "kernel_shape=[3,3] pads=[1,1,1,1] strides=[1,1] dilations=[1,1] group=1 "
     "use_bias=1 use_sumin=1 e_shift=[-2] e_scale=[3] right_shift=[1,2,3,4] "
     "scale=[9] out_shift=[5] output_bit=8 data_format=NHWC",
     S8, DIMS(1, 4, 4, 4), ASSAY_OP_CONV2D, "conv"},
    {"HzSQuantizedPreprocess", "x8 w1 b bs",
     "input_type=RGB_128 right_shift=[1] scale=[2] out_shift=[3] "
     "high_precision_output=0 output_bit=8 data_format=NHWC",
     S8, DIMS(1, 4, 4, 4), ASSAY_OP_CONV2D, "conv"},
    {"HzSQuantizedConvTranspose", "x8 w b",
     "kernel_shape=[3,3] pads=[1,1,1,1] strides=[2,2] output_padding=[1,1] "
     "group=1 use_bias=1 b_left_shift=[2] accu_right_shift=[1] "
     "y_quant_scale=[9] y_right_shift=[5] data_format=NHWC",
     S8, DIMS(1, 8, 8, 4), ASSAY_OP_CONV_TRANSPOSE2D, "conv_transpose"},
    {"HzSElementwiseSub", "x8 x16",
     "x_shift=[1] e_scale=[-5] accu_right_shift=[2] output_scale=[3] "
     "output_right_shift=[4] rounding_method=HARDWARE output_bit=16",
     S16, DIMS(1, 4, 4, 4), ASSAY_OP_BINARY, "sub"},
    {"HzSElementwiseMul", "x8 k4",
     "accu_right_shift=[2] output_scale=[3] output_right_shift=[4] "
     "rounding_method=ROUND output_bit=8 data_format=NHWC",
     S8, DIMS(1, 4, 4, 4), ASSAY_OP_BINARY, "mul"},
    {"HzQuantizedBitShift", "x16",
     "direction=RIGHT shift=[3] output_bit=16 data_format=NHWC", S16,
     DIMS(1, 4, 4, 4), ASSAY_OP_UNARY, "rescale"},
    {"HzQuantizedComparison", "x8 x8", "comparison=Greater data_format=NHWC",
     S8, DIMS(1, 4, 4, 4), ASSAY_OP_BINARY, "hz_compare"},
    {"HzSPRelu", "x8 slope",
     "positive_scale=[1] positive_right_shift=[2] accu_right_shift=[3] "
     "negative_scale=[4] negative_right_shift=[5] data_format=NHWC",
     S8, DIMS(1, 4, 4, 4), ASSAY_OP_PRELU, "prelu"},
    {"HzLut", "x8 table", "lut_type=sigmoid data_format=NHWC", S8,
     DIMS(1, 4, 4, 4), ASSAY_OP_TABLE, "lut"},
    {"HzLut2Layer", "x16",
     "lut_type=sigmoid rounding_method=ROUND symmetry_mode=NONE "
     "table_param=[7*384] scale=[1*8] bias=[2*8] left_shift=[3*8] "
     "right_shift=[4*8] bound=[5*8] output_bit=16",
     S16, DIMS(1, 4, 4, 4), ASSAY_OP_SEGMENT_TABLE, "lut_segments"},
    {"HzSQuantizedMatmul", "x8 x8",
     "right_shift=[1] scale=[2] out_shift=[3] rounding_method=ROUND "
     "output_bit=8",
     S8, DIMS(1, 4, 4, 4), ASSAY_OP_MATMUL, "matmul"},
    {"HzQuantizedMaxPool", "x16",
     "kernel_shape=[2,2] strides=[2,2] pads=[0,0,0,0] ceil_mode=0 "
     "output_bit=16 data_format=NHWC",
     S16, DIMS(1, 2, 2, 4), ASSAY_OP_POOL, "hz_max_pool"},
    {"HzQuantizedAveragePool", "x8",
     "kernel_shape=[3,3] strides=[1,1] pads=[1,1,1,1] scale=9 data_format=NHWC",
     S8, DIMS(1, 4, 4, 4), ASSAY_OP_POOL, "avg_pool"},
    /* The third window begins behind the padding: a sum of no cells is 0. */
    {"HzQuantizedAveragePool", "x8",
     "kernel_shape=[2,2] strides=[3,3] pads=[1,1,1,1] ceil_mode=1 scale=9 "
     "data_format=NHWC",
     S8, DIMS(1, 3, 3, 4), ASSAY_OP_POOL, "avg_pool"},
    {"HzQuantizedGlobalMaxPool", "x8", "data_format=NHWC", S8, DIMS(1, 1, 1, 4),
     ASSAY_OP_POOL, "hz_max_pool"},
    {"HzSQuantizedGlobalAveragePool", "x8",
     "accu_right_shift=[1] output_scale=[2] output_right_shift=[3] "
     "rounding_method=ROUND output_bit=16 data_format=NHWC",
     S16, DIMS(1, 1, 1, 4), ASSAY_OP_POOL, "global_avg_pool"},
    {"HzQuantizedReduceMax", "x8", "axis=3 output_bit=8", S8, DIMS(1, 4, 4, 1),
     ASSAY_OP_REDUCE, "hz_reduce_max"},
    {"HzSQuantizedReduceMean", "x16",
     "axis=[1,2] output_bit=8 accu_right_shift=[1*4] scale=[2*4] "
     "out_shift=[3*4]",
     S8, DIMS(1, 1, 1, 4), ASSAY_OP_REDUCE, "reduce"},
    {"HzQuantizedArgMax", "x8", "axis=3 output_bit=8", S8, DIMS(1, 4, 4, 1),
     ASSAY_OP_REDUCE, "hz_arg_max"},
    {"HzQuantizedRoiResize", "x8",
     "align_mode=given_step step=[32768,32768] sizes=[8,8] pad_mode=boundary "
     "step_decimal_bit=16 is_interpolate_twice=0 data_format=NHWC",
     S8, DIMS(1, 8, 8, 4), ASSAY_OP_RESIZE, "resize"},
    {"HzQuantizedResizeUpsample", "x8",
     "mode=nearest scale=[2,3] data_format=NHWC", S8, DIMS(1, 8, 12, 4),
     ASSAY_OP_VIEW, ""},
    {"HzQuantizedGridSample", "x8 grid",
     "mode=bilinear padding_mode=zeros coord_shift=8 itplt_shift=8 "
     "output_round=1 data_format=NHWC",
     S8, DIMS(1, 5, 6, 4), ASSAY_OP_GRID_SAMPLE, "grid_sample"},
    {"HzPad", "x8 k1", "pads=[0,1,2,0,0,1,0,0] mode=constant data_format=NHWC",
     S8, DIMS(1, 6, 6, 4), ASSAY_OP_CONCAT, ""},
    {"HzDepthToSpace", "x8", "blocksize=2 mode=CRD data_format=NHWC", S8,
     DIMS(1, 8, 8, 1), ASSAY_OP_VIEW, ""},
    {"HzSpaceToDepth", "x8", "block_height=2 block_width=4 data_format=NHWC",
     S8, DIMS(1, 2, 1, 32), ASSAY_OP_VIEW, ""},
    {"HzChannelShuffle", "x8", "group=2 data_format=NHWC", S8, DIMS(1, 4, 4, 4),
     ASSAY_OP_VIEW, ""},
    /* A standard operator: no Hz. */
    {"Concat", "x8 x8 x8", "axis=-1", S8, DIMS(1, 4, 4, 12), ASSAY_OP_CONCAT,
     ""},
    {"Slice", "x8 i1 i3 i2 i2", "", S8, DIMS(1, 4, 1, 4), ASSAY_OP_VIEW, ""},
    {"Gather", "x8 at", "axis=3", S8, DIMS(1, 4, 4, 2), ASSAY_OP_GATHER, ""},
    {"Tile", "x8 times", "", S8, DIMS(1, 8, 4, 4), ASSAY_OP_VIEW, ""},
    {"Sum", "xf xf xf", "", F32, DIMS(1, 4, 4, 4), ASSAY_OP_BINARY, ""},
    {"Mean", "xf xf", "", F32, DIMS(1, 4, 4, 4), ASSAY_OP_BINARY, ""},
    {"Max", "x8 k4", "", S8, DIMS(1, 4, 4, 4), ASSAY_OP_BINARY, ""},
    {"Pad", "xf around", "mode=reflect", F32, DIMS(1, 6, 4, 4), ASSAY_OP_GATHER,
     ""},
    {"Cast", "x8", "to=7", S64, DIMS(1, 4, 4, 4), ASSAY_OP_UNARY, ""},
    {"ReduceSum", "xf", "axes=[1,2] keepdims=0", F32, DIMS(1, 4),
     ASSAY_OP_REDUCE, ""},
    {"Softmax", "xf", "axis=3", F32, DIMS(1, 4, 4, 4), ASSAY_OP_SOFTMAX, ""},
    {"DepthToSpace", "x8", "blocksize=2 mode=DCR", S8, DIMS(1, 1, 8, 8),
     ASSAY_OP_VIEW, ""},
};

static void put_list(struct bytes *n, const char *name, const char *text)
{
    struct bytes a = {.n = 0};
    char *end;

    put_str(&a, 1, name);
    for (; *text && *text != ']'; text = *end == ',' ? end + 1 : end) {
        long v = strtol(text, &end, 10), times = 1;

        if (*end == '*')
            times = strtol(end + 1, &end, 10);
        for (; times > 0; times--)
            put_int(&a, 8, v);
    }
    put_int(&a, 20, 7);
    put_msg(n, 5, &a);
}

static void put_text(struct bytes *n, const char *text, size_t length)
{
    char name[600], *value;

    assert_in_range(length, 1, sizeof(name) - 1);
    memcpy(name, text, length);
    name[length] = '\0';
    value = strchr(name, '=');
    assert_non_null(value);
    *value++ = '\0';
    if (*value == '[')
        put_list(n, name, value + 1);
    else if (*value == '-' || (*value >= '0' && *value <= '9'))
        put_attr_int(n, name, strtol(value, NULL, 10));
    else
        put_attr_str(n, name, value);
}

/* change: "name" is taken away, "name=value" replaces or is added. */
static void put_attrs(struct bytes *n, const char *text, const char *change)
{
    size_t k = change ? strcspn(change, "=") : 0;

    while (*text) {
        size_t length = strcspn(text, " ");

        if (!k || strncmp(text, change, k) || text[k] != '=')
            put_text(n, text, length);
        text += length + (text[length] == ' ');
    }
    if (k && change[k])
        put_text(n, change, strlen(change));
}

static void put_constants(struct bytes *g)
{
    static const uint8_t zero[512];
    static const int64_t i[] = {1, 3, 2}, pads[] = {0, 1, 0, 0, 0, 1, 0, 0};
    static const int64_t times[] = {1, 2, 1, 1};
    static const int32_t at[] = {3, -4};
    static const float s[] = {0.5f, 1, 2, 3};

    put_const(g, "w", S8, DIMS(4, 3, 3, 4), zero, 144);
    put_const(g, "w1", S8, DIMS(4, 1, 1, 4), zero, 16);
    put_const(g, "b", S32, DIMS(4), zero, 16);
    put_const(g, "bs", S8, DIMS(4), zero, 4);
    put_const(g, "slope", S16, DIMS(1, 1, 1, 4), zero, 8);
    put_const(g, "slope3", S16, DIMS(3), zero, 6);
    put_const(g, "table", S8, DIMS(256), zero, 256);
    put_const(g, "k4", S8, DIMS(4), zero, 4);
    put_const(g, "k3", S8, DIMS(3), zero, 3);
    put_const(g, "k1", S8, DIMS(1), zero, 1);
    put_const(g, "s1", F32, DIMS(1), s, 4);
    put_const(g, "s3", F32, DIMS(3), s, 12);
    put_const(g, "s4", F32, DIMS(4), s, 16);
    put_const(g, "s0", F32, DIMS(1), zero, 4);
    put_const(g, "none", F32, DIMS(0), s, 0);
    put_const(g, "i1", S64, DIMS(1), &i[0], 8);
    put_const(g, "i3", S64, DIMS(1), &i[1], 8);
    put_const(g, "i2", S64, DIMS(1), &i[2], 8);
    put_const(g, "at", S32, DIMS(2), at, 8);
    put_const(g, "times", S64, DIMS(4), times, 32);
    put_const(g, "around", S64, DIMS(8), pads, 64);
}

static struct bytes build(const struct form *f, const char *in,
                          const char *change)
{
    static struct bytes g;
    struct bytes n =
        node("n", strncmp(f->op, "Hz", 2) ? "" : "horizon", f->op, in, "y");
    struct bytes first = node("first", "horizon", "HzQuantize", "xf s1", "q");

    g.n = 0;
    put_attr_int(&first, "bits", 8);
    put_attrs(&n, f->attrs, change);
    put_msg(&g, 1, &first);
    put_msg(&g, 1, &n);
    put_info(&g, 11, "x8", S8, DIMS(1, 4, 4, 4));
    put_info(&g, 11, "x16", S16, DIMS(1, 4, 4, 4));
    put_info(&g, 11, "xf", F32, DIMS(1, 4, 4, 4));
    put_info(&g, 11, "grid", S16, DIMS(1, 5, 6, 2));
    put_info(&g, 13, "q", S8, DIMS(1, 4, 4, 4));
    put_info(&g, 12, "y", f->y_type, f->y);
    put_constants(&g);
    return model(&g, 11);
}

static const struct form *form_of(const char *op)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (!strcmp(forms[i].op, op))
            return &forms[i];
    fail_msg("no form of '%s'", op);
    return NULL;
}

/* The built-in rules of the family. */
static void use_rules(struct assay_slice *s)
{
    struct assay_numerics_file f;
    struct assay_err err = {0};

    if (assay_numerics_open(&f, "bayes-e", &err) ||
        assay_numerics_use(s, &f.n, &err))
        fail_msg("%s", err.text);
    assay_numerics_close(&f);
}

static void test_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        const struct form *f = &forms[i];
        struct bytes m = build(f, f->in, NULL);
        struct assay_slice *s = NULL;
        struct assay_err err = {0};
        const struct assay_layer *l;

        if (assay_onnx_reader.open(&s, m.data, m.n, "m.onnx", NULL, &err))
            fail_msg("%s: %s", f->op, err.text);
        use_rules(s);
        l = &s->layers[s->n_layers - 1];
        if (l->op == ASSAY_OP_SKIPPED)
            fail_msg("%s: %s", f->op, l->skip_reason);
        if (l->op != f->layer || strcmp(l->arith, f->arith) ||
            strcmp(l->name, "n") || strcmp(s->tensors[l->output].name, "y"))
            fail_msg("%s: op %d, arith '%s', layer '%s'", f->op, l->op,
                     l->arith, l->name);
        assay_slice_free(s);
    }
}

struct row {
    const char *op, *in, *change; /* in NULL: as in the form */
    const char *why;
};

/* What contradicts itself. */
static const struct row refusals[] = {
    {"HzQuantize", NULL, "bits", "attribute 'bits' is missing"},
    {"HzQuantize", NULL, "bits=8", "attribute 'bits': 8, but the output is"},
    {"HzQuantize", "xf s0", NULL, "scale 's0': element 0 is 0, expected a"},
    {"HzQuantize", "xf s4", NULL, "scale 's4': expected 1 element, found 4"},
    {"HzQuantize", "x8 s1", NULL, "input 'x8' is int8, expected float32"},
    {"HzQuantize", "xf", NULL, "1 inputs, expected 2"},
    {"HzDequantize", "x8 s3", NULL, "scale 's3': expected 1 or 4 elements"},
    {"HzDequantize", "x8 none", NULL, "scale 'none' is empty"},
    {"HzDequantize", NULL, "axis=4", "attribute 'axis': 4, expected -4 to 3"},
    {"HzRequantize", NULL, "output_right_shift=[32]", "element 0 is 32"},
    {"HzRequantize", NULL, "output_scale=[1,2,3]", "expected 1 or 4 integers"},
    {"HzRequantize", NULL, "axis=last",
     "attribute 'axis': expected an integer"},
    {"HzSQuantizedConv", "x8 w b bs grid", NULL,
     "sumin 'grid': 5 in dimension"},
    {"HzSQuantizedConv", NULL, "e_shift=[32]", "'e_shift': element 0 is 32"},
    {"HzSQuantizedConv", NULL, "strides=[0,1]", "attribute 'strides'"},
    {"HzSQuantizedConv", NULL, "pads=[-1,0,0,0]", "attribute 'pads'"},
    {"HzSQuantizedConv", NULL, "group=3", "attribute 'group': 3 does not fit"},
    {"HzSQuantizedConv", "x8 b b bs x8", NULL, "weights 'b' is int32"},
    {"HzSQuantizedConv", "x8 slope b bs x8", NULL, "weights 'slope' is int16"},
    {"HzSQuantizedConv", "x8 w - - x8", NULL, "'use_bias': 1, but the bias is"},
    {"HzSQuantizedPreprocess", NULL, "scale", "attribute 'scale' is missing"},
    {"HzSQuantizedPreprocess", NULL, "input_type=3", "expected a string"},
    {"HzSQuantizedConvTranspose", NULL, "output_padding=[2,0]",
     "attribute 'output_padding': element 0 is 2, expected 0 to 1"},
    {"HzSQuantizedConvTranspose", NULL, "b_left_shift=[-1]", "element 0 is -1"},
    {"HzSElementwiseSub", NULL, "e_scale", "attribute 'e_scale' is missing"},
    {"HzSElementwiseSub", "x8 grid", NULL, "4 and 5 in dimension 1"},
    {"HzSElementwiseSub", "x8 xf", NULL, "operand e 'xf' is float32"},
    {"HzSElementwiseMul", "x8 k3", NULL,
     "'x8' and 'k3': 4 and 3 in dimension 3"},
    {"HzQuantizedBitShift", NULL, "shift=[64]", "'shift': element 0 is 64"},
    {"HzQuantizedComparison", "x8 xf", NULL, "operand e 'xf' is float32"},
    {"HzSPRelu", "x8 slope3", NULL, "slope 'slope3': expected 1 or 4 elements"},
    {"HzSPRelu", "x8 table", NULL, "slope 'table' is int8, expected int16"},
    {"HzLut", "x8 k4", NULL, "table 'k4': expected 256 elements, found 4"},
    {"HzLut2Layer", NULL, "table_param=[7*383]", "expected 384 integers"},
    {"HzLut2Layer", NULL, "bound=[5,4,3*6]", "'bound': element 1 is 4, below"},
    {"HzLut2Layer", NULL, "bias=[2147483648*8]", "'bias': element 0 is 21474"},
    {"HzSQuantizedMatmul", "x8 w1", NULL, "4 columns against 1 rows"},
    {"HzSQuantizedMatmul", NULL, "scale", "attribute 'scale' is missing"},
    {"HzQuantizedMaxPool", NULL, "kernel_shape", "'kernel_shape' is missing"},
    {"HzQuantizedMaxPool", NULL, "strides=[2]", "expected 2 integers, found 1"},
    {"HzQuantizedMaxPool", NULL, "ceil_mode=2", "'ceil_mode': 2, expected 0"},
    {"HzQuantizedAveragePool", NULL, "scale=32", "'scale': 32, expected 0 to"},
    {"HzQuantizedGlobalMaxPool", NULL, "data_format",
     "'data_format' is missing"},
    {"HzSQuantizedGlobalAveragePool", NULL, "accu_right_shift=[99]", "is 99"},
    {"HzQuantizedReduceMax", NULL, "axis", "attribute 'axis' is missing"},
    {"HzQuantizedReduceMax", NULL, "axis=[]", "expected at least one"},
    {"HzSQuantizedReduceMean", NULL, "axis=[1,4]", "4 does not fit rank 4"},
    {"HzQuantizedArgMax", NULL, "output_bit=16", "16, but output 'y' is int8"},
    {"HzQuantizedRoiResize", NULL, "sizes=[0,8]", "'sizes': element 0 is 0"},
    {"HzQuantizedRoiResize", NULL, "step", "attribute 'step' is missing"},
    {"HzQuantizedResizeUpsample", NULL, "scale=[2]", "expected 2 integers"},
    {"HzQuantizedGridSample", "x8 x16", NULL, "grid 'x16' of 1x..x4, expected"},
    {"HzQuantizedGridSample", NULL, "coord_shift=15", "'coord_shift': 15"},
    {"HzPad", NULL, "pads=[0,1]", "'pads': expected 8 integers, found 2"},
    {"HzPad", NULL, "pads=[0,2000000000,2,0,0,1,0,0]", "the file says 6"},
    {"HzPad", "x8 s1", NULL, "value 's1' is float32, expected int8"},
    {"HzDepthToSpace", NULL, "blocksize=3", "blocks of 3x3 do not fit 1x4x4x4"},
    {"HzDepthToSpace", NULL, "blocksize=0", "'blocksize': 0, expected 1 to"},
    {"HzSpaceToDepth", NULL, "block_width=3", "blocks of 2x3 do not fit"},
    {"HzChannelShuffle", NULL, "group=3", "3 does not divide 4 channels"},
    {"Concat", "x8 x16", NULL, "operand 'x16' is int16 of rank 4, expected"},
    {"Slice", "x8 i1 i3 i2 times", NULL, "1 starts, 1 ends, 1 axes, 4 steps"},
    {"Gather", "x8 s1", NULL, "expected int32 or int64, found 1 elements of"},
    {"Gather", "x8 times", "axis=0", "element 0 is 1, expected -1 to 0"},
    {"Tile", "x8 i1", NULL, "repeats: 1 numbers for an input of rank 4"},
    {"Max", "x8 x16", NULL, "operands of int8 and int16"},
    {"Pad", "xf i1", NULL, "pads: expected 8 integers, found 1"},
    {"Cast", NULL, "to=1", "attribute 'to': 1, but the output is int64"},
    {"ReduceSum", NULL, "axes=[4]", "axes: 4 does not fit rank 4"},
    {"ReduceSum", "xf i1", NULL, "axes: there as an attribute and as input"},
    {"Softmax", NULL, "axis=-5", "attribute 'axis'"},
};

static void test_refused(void **state)
{
    int wrong = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        const struct row *r = &refusals[i];
        const struct form *f = form_of(r->op);
        struct bytes m = build(f, r->in ? r->in : f->in, r->change);
        struct assay_slice *s = NULL;
        struct assay_err err = {0};
        int rc = assay_onnx_reader.open(&s, m.data, m.n, "m.onnx", NULL, &err);

        if (rc < 0 && !s && strstr(err.text, r->why) &&
            strstr(err.text, "m.onnx: node 1 ("))
            continue;
        print_error("%s %s: expected '%s', found '%s'\n", r->op,
                    r->change ? r->change : r->in, r->why, err.text);
        assay_slice_free(s);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

/* What was never measured: a layer that is seen, and says why. */
static const struct row skips[] = {
    {"HzRequantize", NULL, "axis=1", "along axis 1, which is not the last"},
    {"HzSQuantizedConv", NULL, "activation=relu6", "'activation'"},
    {"HzSElementwiseSub", NULL, "x_shift=[1,2,3]", "and without data_format"},
    {"HzQuantizedBitShift", NULL, "direction=UP", "'direction'"},
    {"HzQuantizedComparison", NULL, "comparison=Near", "'comparison'"},
    {"HzLut", "x8 x8", NULL, "table 'x8' of 'HzLut' is computed"},
    {"HzSQuantizedMatmul", "x8 grid", NULL, "operand b 'grid' of"},
    {"HzSQuantizedReduceMean", NULL, "scale=[1,2,3,4]", "differs from channel"},
    {"HzQuantizedArgMax", NULL, "axis=[1,2]", "over several axes"},
    {"HzQuantizedRoiResize", NULL, "step_decimal_bit=10", "expected 16"},
    {"HzQuantizedGridSample", NULL, "itplt_shift=7", "unless they are equal"},
    {"HzQuantizedMaxPool", NULL, "dilations=[2,2]", "with dilations"},
    {"HzPad", NULL, "mode=wrap", "'mode'"},
    {"HzChannelShuffle", NULL, "wobble=1", "attribute 'wobble'"},
    {"Slice", "x8 i3 i1 i2", NULL, "leaves nothing of dimension 2"},
    {"Gather", "x8 x8", NULL, "the indices of 'Gather' are not constant"},
};

static void test_skipped(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(skips) / sizeof(skips[0]); i++) {
        const struct row *r = &skips[i];
        const struct form *f = form_of(r->op);
        struct bytes m = build(f, r->in ? r->in : f->in, r->change);
        struct assay_slice *s = NULL;
        struct assay_err err = {0};
        const struct assay_layer *l;

        if (assay_onnx_reader.open(&s, m.data, m.n, "m.onnx", NULL, &err))
            fail_msg("%s: %s", r->op, err.text);
        l = &s->layers[s->n_layers - 1];
        assert_string_equal(l->source_op, r->op);
        if (l->op != ASSAY_OP_SKIPPED || !strstr(l->skip_reason, r->why))
            fail_msg("%s: expected '%s', found '%s'", r->op, r->why,
                     l->skip_reason ? l->skip_reason : "a layer");
        assay_slice_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_skipped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
