/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ONNX reader makes of small models: groups, islands, layouts,
 * windows, operators that it does not know.
 *
 * links: host-tools/model/onnx*.c host-tools/model/file.c
 * links: gen/host-tools/model/onnx.pb-c.c
 * links: lib/core/arith_build.c lib/core/arith_policy.c lib/core/buf.c
 * links: lib/core/form*.c
 * links: lib/core/err.c lib/core/hash.c lib/core/slice.c
 * libs: -lprotobuf-c -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "host-tools/model/onnx.h"
#include "tests/unit/onnx_bytes.h"

static struct bytes graph;

static void begin(struct dims input)
{
    graph.n = 0;
    put_info(&graph, 11, "x", 1, input);
    put_scale(&graph, "s", 0.5f);
    put_scale(&graph, "s2", 0.25f);
    put_zero(&graph, "z", 3, -3);
}

static void add(struct bytes n)
{
    put_msg(&graph, 1, &n);
}

static struct assay_slice *opened(void)
{
    struct bytes m = model(&graph, 13);
    struct assay_slice *s = NULL;
    struct assay_err err = {0};
    int rc = assay_onnx_reader.open(&s, m.data, m.n, "m.onnx", NULL, &err);

    if (rc)
        fail_msg("%s", err.text);
    return s;
}

static const struct assay_layer *layer(const struct assay_slice *s,
                                       const char *name)
{
    int64_t i = assay_slice_find_layer(s, name);

    assert_true(i >= 0);
    return &s->layers[i];
}

static const struct assay_tensor *output(const struct assay_slice *s,
                                         const char *name)
{
    return &s->tensors[layer(s, name)->output];
}

/* x -> Q -> DQ -> Conv (2 channels of 1x2 and 3 of output) -> Q */
static void test_conv_group(void **state)
{
    /* OIHW 3x2x1x2: value = 10 o + 2 i + w */
    int8_t w[12];
    int32_t bias[3] = {5, -6, 7};
    float ws[3] = {0.5f, 0.25f, 0.125f}, bs[3] = {.25f, .125f, .0625f};
    int8_t wz[3] = {0};
    const struct assay_layer *l;
    const struct assay_tensor *t;
    struct assay_slice *s;

    (void)state;
    for (int o = 0; o < 3; o++)
        for (int i = 0; i < 4; i++)
            w[o * 4 + i] = (int8_t)(10 * o + i);
    begin(DIMS(1, 2, 4, 5));
    put_const(&graph, "w", 3, DIMS(3, 2, 1, 2), w, sizeof(w));
    put_const(&graph, "ws", 1, DIMS(3), ws, sizeof(ws));
    put_const(&graph, "wz", 3, DIMS(3), wz, sizeof(wz));
    put_const(&graph, "b", 6, DIMS(3), bias, sizeof(bias));
    put_const(&graph, "bs", 1, DIMS(3), bs, sizeof(bs));
    add(node("q", "", "QuantizeLinear", "x s z", "xq"));
    add(node("d", "", "DequantizeLinear", "xq s z", "xd"));
    struct bytes dw = node("dw", "", "DequantizeLinear", "w ws wz", "wd");
    put_attr_int(&dw, "axis", 0);
    add(dw);
    struct bytes db = node("db", "", "DequantizeLinear", "b bs", "bd");
    put_attr_int(&db, "axis", 0);
    add(db);
    struct bytes c = node("conv", "", "Conv", "xd wd bd", "y");
    put_attr_str(&c, "auto_pad", "SAME_LOWER");
    add(c);
    add(node("yq", "", "QuantizeLinear", "y s2 z", "yq"));
    add(node("yd", "", "DequantizeLinear", "yq s2 z", "out"));
    put_info(&graph, 12, "out", 1, DIMS(1, 3, 4, 5));
    s = opened();
    assert_int_equal(s->n_layers, 3);
    l = layer(s, "conv");
    assert_int_equal(l->op, ASSAY_OP_CONV2D);
    assert_int_equal(l->real_op, ASSAY_REAL_CONV);
    assert_string_equal(l->source_op, "Conv");
    assert_int_equal(l->source_index, 4);
    assert_int_equal(l->p.conv2d.pad_left, 1);
    assert_int_equal(l->p.conv2d.pad_right, 0);
    t = &s->tensors[l->inputs[1]];
    assert_int_equal(t->quant.n, 3);
    assert_int_equal(t->quant.axis, 0);
    /* OHWI: [o][0][w][i] = 10 o + 2 i + w */
    for (int o = 0; o < 3; o++)
        for (int x = 0; x < 2; x++)
            for (int i = 0; i < 2; i++)
                assert_int_equal(((const int8_t *)t->data)[o * 4 + x * 2 + i],
                                 10 * o + 2 * i + x);
    t = output(s, "conv");
    assert_string_equal(t->name, "yq");
    assert_string_equal(t->axes, "NHWC");
    assert_int_equal(t->dims[3], 3);
    assert_int_equal(t->perm[3], 1);
    assert_true(t->quant.scale[0] == 0.25f);
    assay_slice_free(s);
}

/* A float tensor that two nodes read: no group, literal layers. */
static void test_no_group(void **state)
{
    struct assay_slice *s;

    (void)state;
    begin(DIMS(1, 4));
    add(node("q", "", "QuantizeLinear", "x s z", "xq"));
    add(node("d", "", "DequantizeLinear", "xq s z", "xd"));
    add(node("relu", "", "Relu", "xd", "y"));
    add(node("yq", "", "QuantizeLinear", "y s2 z", "yq"));
    add(node("again", "", "Add", "y xd", "sum"));
    put_info(&graph, 12, "yq", 3, DIMS(1, 4));
    put_info(&graph, 12, "sum", 1, DIMS(1, 4));
    s = opened();
    assert_int_equal(s->n_layers, 5);
    assert_int_equal(output(s, "d")->dtype, ASSAY_F32);
    assert_int_equal(output(s, "relu")->dtype, ASSAY_F32);
    assert_int_equal(layer(s, "relu")->real_op, ASSAY_REAL_NONE);
    assert_int_equal(layer(s, "relu")->out_program.n_steps, 1);
    assert_int_equal(layer(s, "again")->p.binary.combine, ASSAY_COMBINE_FADD);
    assay_slice_free(s);
}

/* Div and MaxPool in one island: one layer, named after the pool. */
static void test_chain(void **state)
{
    const struct assay_layer *l;
    struct assay_slice *s;

    (void)state;
    begin(DIMS(1, 2, 4, 4));
    put_scale(&graph, "six", 6.0f);
    add(node("q", "", "QuantizeLinear", "x s z", "xq"));
    add(node("d", "", "DequantizeLinear", "xq s z", "xd"));
    add(node("div", "", "Div", "xd six", "y"));
    struct bytes p = node("pool", "", "MaxPool", "y", "p");
    put_ints(&p, "kernel_shape", DIMS(2, 2));
    put_ints(&p, "strides", DIMS(2, 2));
    add(p);
    add(node("pq", "", "QuantizeLinear", "p s2 z", "pq"));
    put_info(&graph, 12, "pq", 3, DIMS(1, 2, 2, 2));
    s = opened();
    assert_int_equal(s->n_layers, 2);
    l = layer(s, "pool");
    assert_int_equal(l->op, ASSAY_OP_POOL);
    assert_string_equal(s->tensors[l->output].name, "pq");
    /* add, to_f32, fmul, fdiv 6, fdiv, fclamp, fround, add_zp */
    assert_int_equal(l->out_program.n_steps, 8);
    assert_int_equal(l->out_program.steps[3].kind, ASSAY_STEP_FDIV);
    assay_slice_free(s);
}

static void test_ceil_mode(void **state)
{
    const struct assay_layer *l;
    struct assay_slice *s;

    (void)state;
    begin(DIMS(1, 1, 5, 6));
    struct bytes p = node("pool", "", "MaxPool", "x", "p");
    put_ints(&p, "kernel_shape", DIMS(2, 2));
    put_ints(&p, "strides", DIMS(2, 2));
    put_attr_int(&p, "ceil_mode", 1);
    add(p);
    put_info(&graph, 12, "p", 1, DIMS(1, 1, 3, 3));
    s = opened();
    l = layer(s, "pool");
    assert_int_equal(l->p.pool.pad_bottom, 1);
    assert_int_equal(l->p.pool.pad_right, 0);
    assert_int_equal(output(s, "pool")->dims[1], 3);
    assay_slice_free(s);
}

/* Not run, not lost: the shape comes from value_info. */
static void test_unknown_operator(void **state)
{
    struct assay_slice *s;

    (void)state;
    begin(DIMS(1, 4));
    add(node("q", "", "QuantizeLinear", "x s z", "xq"));
    add(node("odd", "acme", "Frobnicate", "xq", "f"));
    add(node("relu", "", "Relu", "f", "y"));
    add(node("odder", "", "Mystery", "xq", "g"));
    add(node("lost", "", "Relu", "g", "h"));
    put_info(&graph, 13, "f", 1, DIMS(1, 4));
    put_info(&graph, 12, "y", 1, DIMS(1, 4));
    s = opened();
    assert_int_equal(s->n_layers, 5);
    assert_int_equal(layer(s, "odd")->op, ASSAY_OP_SKIPPED);
    assert_string_equal(layer(s, "odd")->skip_reason,
                        "operator 'Frobnicate' of domain 'acme' is not "
                        "known");
    assert_int_equal(layer(s, "relu")->op, ASSAY_OP_UNARY);
    assert_string_equal(layer(s, "odder")->skip_reason,
                        "operator 'Mystery' of domain 'ai.onnx' is not known; "
                        "the shape of its output is not known");
    assert_string_equal(layer(s, "lost")->skip_reason,
                        "the shape of its input 'g' is not known; the shape "
                        "of its output is not known");
    assay_slice_free(s);
}

/* QLinearMul with a (C,1,1) constant: ranks are made equal, channels last. */
static void test_broadcast(void **state)
{
    static const int8_t k[3] = {1, 2, 3};
    const struct assay_tensor *t;
    struct assay_slice *s;

    (void)state;
    begin(DIMS(1, 3, 2, 2));
    put_const(&graph, "k", 3, DIMS(3, 1, 1), k, 3);
    add(node("q", "", "QuantizeLinear", "x s z", "xq"));
    add(node("mul", "com.microsoft", "QLinearMul", "xq s z k s2 z s z", "m"));
    put_info(&graph, 12, "m", 3, DIMS(1, 3, 2, 2));
    s = opened();
    assert_int_equal(layer(s, "mul")->real_op, ASSAY_REAL_MUL);
    t = &s->tensors[layer(s, "mul")->inputs[1]];
    assert_int_equal(t->rank, 4);
    assert_int_equal(t->dims[1], 1);
    assert_int_equal(t->dims[3], 3);
    assert_memory_equal(t->data, k, 3);
    assay_slice_free(s);
}

/* Gemm without transB: weights become [N][K], the scale axis follows. */
static void test_gemm(void **state)
{
    static const int8_t w[6] = {1, 2, 3, 4, 5, 6}; /* K 2, N 3 */
    static const int8_t nk[6] = {1, 4, 2, 5, 3, 6};
    float ws[3] = {0.5f, 0.25f, 0.125f};
    int8_t wz[3] = {0};
    const struct assay_tensor *t;
    struct assay_slice *s;

    (void)state;
    begin(DIMS(1, 2));
    put_const(&graph, "w", 3, DIMS(2, 3), w, 6);
    put_const(&graph, "ws", 1, DIMS(3), ws, 12);
    put_const(&graph, "wz", 3, DIMS(3), wz, 3);
    add(node("q", "", "QuantizeLinear", "x s z", "xq"));
    add(node("fc", "com.microsoft", "QGemm", "xq s z w ws wz - s2 z", "y"));
    put_info(&graph, 12, "y", 3, DIMS(1, 3));
    s = opened();
    t = &s->tensors[layer(s, "fc")->inputs[1]];
    assert_int_equal(layer(s, "fc")->op, ASSAY_OP_GEMM);
    assert_int_equal(layer(s, "fc")->n_inputs, 2);
    assert_int_equal(t->dims[0], 3);
    assert_int_equal(t->quant.axis, 0);
    assert_memory_equal(t->data, nk, 6);
    assay_slice_free(s);
}

/* QGemm without an output scale: floats. */
static void test_float_gemm(void **state)
{
    static const int8_t w[6] = {1, 2, 3, 4, 5, 6};
    struct assay_slice *s;

    (void)state;
    begin(DIMS(1, 2));
    put_const(&graph, "w", 3, DIMS(2, 3), w, 6);
    add(node("q", "", "QuantizeLinear", "x s z", "xq"));
    add(node("fc", "com.microsoft", "QGemm", "xq s z w s z", "y"));
    put_info(&graph, 12, "y", 1, DIMS(1, 3));
    s = opened();
    assert_int_equal(layer(s, "fc")->op, ASSAY_OP_GEMM);
    assert_int_equal(output(s, "fc")->dtype, ASSAY_F32);
    assert_int_equal(output(s, "fc")->quant.n, 0);
    assay_slice_free(s);
}

/* A Relu whose Q cuts off what it cuts off is part of the group. */
static void relu_island(int zero, uint32_t layers)
{
    static const int8_t w[3] = {1, 2, 3};
    struct assay_slice *s;

    begin(DIMS(1, 3, 2, 2));
    put_const(&graph, "w", 3, DIMS(1, 3, 1, 1), w, 3);
    put_zero(&graph, "z0", 3, 0);
    put_zero(&graph, "zy", 3, zero);
    add(node("q", "", "QuantizeLinear", "x s z", "xq"));
    add(node("dx", "", "DequantizeLinear", "xq s z", "xd"));
    add(node("dw", "", "DequantizeLinear", "w s z0", "wd"));
    add(node("conv", "", "Conv", "xd wd", "c"));
    add(node("relu", "", "Relu", "c", "r"));
    add(node("qy", "", "QuantizeLinear", "r s2 zy", "y"));
    put_info(&graph, 12, "y", 3, DIMS(1, 1, 2, 2));
    s = opened();
    assert_int_equal(s->n_layers, layers);
    if (layers == 2) {
        assert_int_equal(layer(s, "conv")->op, ASSAY_OP_CONV2D);
        assert_string_equal(output(s, "conv")->name, "y");
    } else {
        assert_int_equal(layer(s, "conv")->op, ASSAY_OP_SKIPPED);
    }
    assay_slice_free(s);
}

static void test_redundant_relu(void **state)
{
    (void)state;
    relu_island(-128, 2);
    relu_island(-127, 5); /* it changes something: floats, not one layer */
}

/* One layer that reads what is stored 0 2 3 1 by strides. */
static void test_transpose(void **state)
{
    const struct assay_view_params *v;
    const struct assay_tensor *y;
    struct assay_slice *s;
    struct bytes n = node("t", "", "Transpose", "xq", "y");

    (void)state;
    begin(DIMS(2, 3, 4, 5));
    put_ints(&n, "perm", DIMS(0, 2, 1, 3));
    add(node("q", "", "QuantizeLinear", "x s z", "xq"));
    add(n);
    put_info(&graph, 12, "y", 3, DIMS(2, 4, 3, 5));
    s = opened();
    assert_int_equal(s->n_layers, 2);
    y = output(s, "t");
    assert_string_equal(y->name, "y");
    assert_int_equal(layer(s, "t")->op, ASSAY_OP_VIEW);
    assert_int_equal(y->dims[1], 3); /* N4_3_5 is stored as 2,3,5,4 */
    assert_int_equal(y->dims[2], 5);
    assert_int_equal(y->dims[3], 4);
    /* x is stored as 2,4,5,3; y's stored axes are x's source 0 1 3 2. */
    v = &layer(s, "t")->p.view;
    assert_int_equal(v->rank, 4);
    assert_memory_equal(v->dims, y->dims, 4 * sizeof(y->dims[0]));
    assert_memory_equal(v->strides, ((int64_t[]){60, 1, 3, 15}), 32);
    assert_int_equal(v->offset, 0);
    assay_slice_free(s);
}

/* onnxruntime's pools crop: not run, and what follows has a shape. */
static void test_cropped_pool(void **state)
{
    struct assay_slice *s;
    struct bytes n = node("pool", "", "MaxPool", "x", "p");

    (void)state;
    begin(DIMS(1, 1, 1, 6));
    put_ints(&n, "kernel_shape", DIMS(1, 1));
    put_ints(&n, "strides", DIMS(1, 3));
    put_attr_str(&n, "auto_pad", "SAME_UPPER");
    put_info(&graph, 13, "p", 1, DIMS(1, 1, 1, 2));
    add(n);
    add(node("relu", "", "Relu", "p", "y"));
    s = opened();
    assert_int_equal(layer(s, "pool")->op, ASSAY_OP_SKIPPED);
    assert_int_equal(layer(s, "relu")->op, ASSAY_OP_UNARY);
    assay_slice_free(s);
}

static bool known_shape(void *self, const char *tensor, uint32_t *rank,
                        int64_t dims[ASSAY_MAX_RANK], enum assay_dtype *dtype)
{
    (void)self;
    if (strcmp(tensor, "g"))
        return false;
    *rank = 2;
    dims[0] = 1;
    dims[1] = 4;
    *dtype = ASSAY_F32;
    return true;
}

/* A file without value_info: the reference knows. */
static void test_shape_of_reference(void **state)
{
    const struct assay_model_note note = {.shape = known_shape};
    struct assay_slice *s = NULL;
    struct assay_err err = {0};
    struct bytes m;

    (void)state;
    begin(DIMS(1, 4));
    add(node("odd", "", "Mystery", "x", "g"));
    add(node("relu", "", "Relu", "g", "h"));
    m = model(&graph, 13);
    assert_int_equal(
        assay_onnx_reader.open(&s, m.data, m.n, "m.onnx", &note, &err), 0);
    assert_string_equal(layer(s, "odd")->skip_reason,
                        "operator 'Mystery' of domain 'ai.onnx' is not known");
    assert_int_equal(layer(s, "relu")->op, ASSAY_OP_UNARY);
    assert_int_equal(output(s, "odd")->dims[1], 4);
    assay_slice_free(s);
}

static void test_same_name_twice(void **state)
{
    struct assay_slice *s;

    (void)state;
    begin(DIMS(1, 4));
    add(node("n", "", "Relu", "x", "a"));
    add(node("n", "", "Relu", "a", "b"));
    add(node("", "", "Relu", "b", "c"));
    put_info(&graph, 12, "c", 1, DIMS(1, 4));
    s = opened();
    assert_string_equal(s->layers[0].name, "n");
    assert_string_equal(s->layers[1].name, "n#1");
    assert_string_equal(s->layers[2].name, "c");
    assay_slice_free(s);
}

/* A name does not steer a terminal. */
static void test_control_bytes(void **state)
{
    struct assay_slice *s;

    (void)state;
    begin(DIMS(1, 4));
    add(node("a\x1b[31m\nb\x7f", "", "Relu", "x", "y"));
    put_info(&graph, 12, "y", 1, DIMS(1, 4));
    s = opened();
    assert_string_equal(s->layers[0].name, "a?[31m?b?");
    assay_slice_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conv_group),
        cmocka_unit_test(test_no_group),
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_ceil_mode),
        cmocka_unit_test(test_unknown_operator),
        cmocka_unit_test(test_broadcast),
        cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_float_gemm),
        cmocka_unit_test(test_redundant_relu),
        cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_cropped_pool),
        cmocka_unit_test(test_shape_of_reference),
        cmocka_unit_test(test_same_name_twice),
        cmocka_unit_test(test_control_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
