/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX files that must be refused, each with its sentence, and memory that is
 * not there.
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
#include <stdlib.h>

#include <cmocka.h>

#include "host-tools/model/onnx.h"
#include "tests/unit/onnx_bytes.h"

static struct assay_err err;

static int open_bytes(const struct bytes *b, struct assay_slice **s)
{
    memset(&err, 0, sizeof(err));
    *s = NULL;
    return assay_onnx_reader.open(s, b->data, b->n, "m.onnx", NULL, &err);
}

static void refused(const struct bytes *b, int code, const char *sentence)
{
    struct assay_slice *s;
    int rc = open_bytes(b, &s);

    assert_null(s);
    assert_string_equal(err.text, sentence);
    assert_int_equal(rc, code);
}

/* input -> QuantizeLinear -> MaxPool -> DequantizeLinear -> output */
struct parts {
    struct bytes graph, quantize, pool, dequantize;
    bool no_output;
};

static void parts_init(struct parts *p)
{
    memset(p, 0, sizeof(*p));
    p->quantize = node("q", "", "QuantizeLinear", "x s z", "xq");
    p->pool = node("pool", "", "MaxPool", "xq", "yq");
    p->dequantize = node("dq", "", "DequantizeLinear", "yq s z", "y");
}

static void put_input(struct parts *p)
{
    put_info(&p->graph, 11, "x", 1, DIMS(1, 2, 4, 4));
}

static void put_constants(struct parts *p)
{
    put_scale(&p->graph, "s", 0.5f);
    put_zero(&p->graph, "z", 2, 7);
}

static struct bytes whole(struct parts *p)
{
    put_msg(&p->graph, 1, &p->quantize);
    put_msg(&p->graph, 1, &p->pool);
    put_msg(&p->graph, 1, &p->dequantize);
    if (!p->no_output)
        put_info(&p->graph, 12, "y", 1, DIMS(1, 2, 2, 2));
    return model(&p->graph, 13);
}

static struct bytes good(void)
{
    struct parts p;

    parts_init(&p);
    put_ints(&p.pool, "kernel_shape", DIMS(2, 2));
    put_ints(&p.pool, "strides", DIMS(2, 2));
    put_input(&p);
    put_constants(&p);
    return whole(&p);
}

static void test_good(void **state)
{
    struct bytes b = good();
    struct assay_slice *s;

    (void)state;
    assert_int_equal(open_bytes(&b, &s), 0);
    assert_int_equal(s->n_layers, 3);
    assert_string_equal(s->layers[1].name, "pool");
    assay_slice_free(s);
}

static void test_garbage(void **state)
{
    struct bytes b = {.n = 0};

    (void)state;
    for (int i = 0; i < 40; i++)
        put(&b, "\xff", 1);
    refused(&b, ASSAY_EFORMAT,
            "m.onnx: not an ONNX model: 40 bytes that do not parse as "
            "protobuf");
}

static void test_truncated(void **state)
{
    struct bytes b = good();
    char want[120];

    (void)state;
    b.n -= 20;
    snprintf(want, sizeof(want),
             "m.onnx: not an ONNX model: %zu bytes that do not parse as "
             "protobuf",
             b.n);
    refused(&b, ASSAY_EFORMAT, want);
}

static void test_no_graph(void **state)
{
    struct bytes b = {.n = 0};

    (void)state;
    put_int(&b, 1, 8);
    refused(&b, ASSAY_EFORMAT, "m.onnx: no graph in the model");
}

static void test_no_opset(void **state)
{
    struct bytes graph = {.n = 0}, b = model(&graph, 0);

    (void)state;
    refused(&b, ASSAY_EFORMAT, "m.onnx: opset_import: no version of ai.onnx");
}

static void test_nothing_to_run(void **state)
{
    struct bytes graph = {.n = 0}, b = model(&graph, 13);

    (void)state;
    refused(&b, ASSAY_EFORMAT, "m.onnx: no node to run");
}

static void test_read_before_written(void **state)
{
    struct parts p;
    struct bytes b;

    (void)state;
    parts_init(&p);
    p.pool = node("pool", "", "MaxPool", "later", "yq");
    put_input(&p);
    put_constants(&p);
    b = whole(&p);
    refused(&b, ASSAY_EFORMAT,
            "m.onnx: node 1 (MaxPool 'pool'): input 'later' is not computed "
            "before it is read");
}

static void test_written_twice(void **state)
{
    struct parts p;
    struct bytes b;

    (void)state;
    parts_init(&p);
    p.pool = node("pool", "", "MaxPool", "xq", "xq");
    put_input(&p);
    put_constants(&p);
    b = whole(&p);
    refused(&b, ASSAY_EFORMAT,
            "m.onnx: node 1 (MaxPool 'pool'): tensor 'xq' is written a second "
            "time");
}

static void test_output_of_nothing(void **state)
{
    struct parts p;
    struct bytes b;

    (void)state;
    parts_init(&p);
    put_input(&p);
    put_constants(&p);
    put_info(&p.graph, 12, "lost", 1, DIMS(1));
    b = whole(&p);
    refused(&b, ASSAY_EFORMAT,
            "m.onnx: graph output 'lost' is not computed by any node");
}

static void test_no_operator(void **state)
{
    struct parts p;
    struct bytes b;

    (void)state;
    parts_init(&p);
    p.pool = node("pool", "", "", "xq", "yq");
    put_input(&p);
    put_constants(&p);
    b = whole(&p);
    refused(&b, ASSAY_EFORMAT, "m.onnx: node 1 ('pool') has no operator");
}

static void test_external_data(void **state)
{
    struct parts p;
    struct bytes b, t = {.n = 0};

    (void)state;
    parts_init(&p);
    put_input(&p);
    put_constants(&p);
    put_int(&t, 2, 1);
    put_str(&t, 8, "weights");
    put_int(&t, 14, 1);
    put_msg(&p.graph, 5, &t);
    b = whole(&p);
    refused(&b, ASSAY_EUNSUPPORTED,
            "m.onnx: initializer 'weights': its data is in another file, "
            "expected a model in one file");
}

static void test_short_data(void **state)
{
    struct parts p;
    struct bytes b;

    (void)state;
    parts_init(&p);
    put_input(&p);
    put_constants(&p);
    put_const(&p.graph, "w", 1, DIMS(2, 3), "1234567890123456", 16);
    b = whole(&p);
    refused(&b, ASSAY_EFORMAT,
            "m.onnx: initializer 'w': expected 24 bytes of data, found 16");
}

static void test_huge_shape(void **state)
{
    struct parts p;
    struct bytes b;

    (void)state;
    parts_init(&p);
    put_input(&p);
    put_constants(&p);
    put_const(&p.graph, "w", 2, DIMS(0x7fffffff, 0x7fffffff, 0x7fffffff), "1",
              1);
    b = whole(&p);
    refused(&b, ASSAY_ERANGE,
            "m.onnx: initializer 'w': more elements than memory can hold");
}

static void test_rank_eleven(void **state)
{
    struct parts p;
    struct bytes b;

    (void)state;
    parts_init(&p);
    put_input(&p);
    put_constants(&p);
    put_const(&p.graph, "w", 2, DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), "1", 1);
    b = whole(&p);
    refused(&b, ASSAY_ERANGE,
            "m.onnx: initializer 'w': 11 dimensions, more than the limit of "
            "10");
}

static void test_wide_zero_point(void **state)
{
    struct parts p;
    struct bytes b, t = {.n = 0};

    (void)state;
    parts_init(&p);
    put_input(&p);
    put_constants(&p);
    put_int(&t, 2, 3);
    put_int(&t, 5, 200);
    put_str(&t, 8, "zz");
    put_msg(&p.graph, 5, &t);
    b = whole(&p);
    refused(&b, ASSAY_EFORMAT,
            "m.onnx: initializer 'zz': element 0 is 200, outside int8");
}

static void test_negative_scale(void **state)
{
    struct parts p;
    struct bytes b;

    (void)state;
    parts_init(&p);
    put_input(&p);
    put_scale(&p.graph, "s", -0.5f);
    put_zero(&p.graph, "z", 2, 7);
    b = whole(&p);
    refused(&b, ASSAY_ERANGE,
            "m.onnx: node 0 (QuantizeLinear 'q'): scale 's' is -0.5 in "
            "element 0, expected a positive number");
}

static void test_computed_scale(void **state)
{
    struct parts p;
    struct bytes b;

    (void)state;
    parts_init(&p);
    put_input(&p);
    put_info(&p.graph, 11, "s", 1, SCALAR);
    put_zero(&p.graph, "z", 2, 7);
    b = whole(&p);
    refused(&b, ASSAY_EUNSUPPORTED,
            "m.onnx: node 0 (QuantizeLinear 'q'): scale or zero point 's' is "
            "computed, expected a constant");
}

static void test_kernel_zero(void **state)
{
    struct parts p;
    struct bytes b;

    (void)state;
    parts_init(&p);
    put_ints(&p.pool, "kernel_shape", DIMS(0, 2));
    put_input(&p);
    put_constants(&p);
    b = whole(&p);
    refused(&b, ASSAY_ERANGE,
            "m.onnx: node 1 (MaxPool 'pool'): attribute 'kernel_shape': "
            "element 0 is 0, expected 1 to 65535");
}

static void test_kernel_too_large(void **state)
{
    struct parts p;
    struct bytes b;

    (void)state;
    parts_init(&p);
    put_ints(&p.pool, "kernel_shape", DIMS(5, 2));
    put_input(&p);
    put_constants(&p);
    b = whole(&p);
    refused(&b, ASSAY_ERANGE,
            "m.onnx: node 1 (MaxPool 'pool'): dimension 2 of the output is 0, "
            "expected 1 to 2147483647");
}

static void test_attribute_type(void **state)
{
    struct parts p;
    struct bytes b;

    (void)state;
    parts_init(&p);
    put_attr_int(&p.pool, "kernel_shape", 2);
    put_input(&p);
    put_constants(&p);
    b = whole(&p);
    refused(&b, ASSAY_EFORMAT,
            "m.onnx: node 1 (MaxPool 'pool'): attribute 'kernel_shape': "
            "expected a list of integers, found an integer");
}

static void test_dynamic_size(void **state)
{
    struct parts p;
    struct bytes b;

    (void)state;
    parts_init(&p);
    put_info(&p.graph, 11, "x", 1, DIMS(1, 2, 0, 4));
    put_constants(&p);
    b = whole(&p);
    refused(&b, ASSAY_EUNSUPPORTED,
            "m.onnx: graph input 'x' has no fixed size in dimension 2, "
            "expected 1 to 2147483647");
}

static void test_wrong_info(void **state)
{
    struct parts p;
    struct bytes b;

    (void)state;
    parts_init(&p);
    put_ints(&p.pool, "kernel_shape", DIMS(2, 2));
    put_input(&p);
    put_constants(&p);
    b = whole(&p); /* without strides the pool gives 3x3 */
    refused(&b, ASSAY_EFORMAT,
            "m.onnx: node 2 (DequantizeLinear 'dq'): tensor 'y': the file says "
            "2 in dimension 2, the nodes give 3");
}

static void test_wrong_type(void **state)
{
    struct parts p;
    struct bytes b;

    (void)state;
    parts_init(&p);
    put_ints(&p.pool, "kernel_shape", DIMS(2, 2));
    put_ints(&p.pool, "strides", DIMS(2, 2));
    put_input(&p);
    put_constants(&p);
    put_info(&p.graph, 13, "yq", 3, DIMS(1, 2, 2, 2));
    b = whole(&p);
    refused(&b, ASSAY_EFORMAT,
            "m.onnx: node 1 (MaxPool 'pool'): tensor 'yq': the file says int8, "
            "the nodes give uint8");
}

static void test_attribute_twice(void **state)
{
    struct parts p;
    struct bytes b;

    (void)state;
    parts_init(&p);
    put_ints(&p.pool, "kernel_shape", DIMS(2, 2));
    put_ints(&p.pool, "strides", DIMS(2, 2));
    put_ints(&p.pool, "strides", DIMS(1, 1));
    put_input(&p);
    put_constants(&p);
    b = whole(&p);
    refused(&b, ASSAY_EFORMAT,
            "m.onnx: node 1 (MaxPool 'pool'): attribute 'strides' is there "
            "twice");
}

static int countdown;

static void *failing(void *p, size_t n)
{
    if (n == 0) {
        free(p);
        return NULL;
    }
    if (countdown-- == 0)
        return NULL;
    return p ? realloc(p, n) : malloc(n);
}

/* Every allocation fails once: refused with a sentence, nothing leaks. */
static void test_no_memory(void **state)
{
    struct bytes b = good();
    struct assay_slice *s;
    int rc, turns = 0;

    (void)state;
    do {
        countdown = turns++;
        assay_alloc_hook = failing;
        rc = open_bytes(&b, &s);
        assay_alloc_hook = NULL;
        if (rc) {
            assert_null(s);
            assert_true(err.text[0] != '\0');
        }
    } while (rc && turns < 2000);
    assert_int_equal(rc, 0);
    assert_true(turns >= 3);
    assay_slice_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_no_graph),
        cmocka_unit_test(test_no_opset),
        cmocka_unit_test(test_nothing_to_run),
        cmocka_unit_test(test_read_before_written),
        cmocka_unit_test(test_written_twice),
        cmocka_unit_test(test_output_of_nothing),
        cmocka_unit_test(test_no_operator),
        cmocka_unit_test(test_external_data),
        cmocka_unit_test(test_short_data),
        cmocka_unit_test(test_huge_shape),
        cmocka_unit_test(test_rank_eleven),
        cmocka_unit_test(test_wide_zero_point),
        cmocka_unit_test(test_negative_scale),
        cmocka_unit_test(test_computed_scale),
        cmocka_unit_test(test_kernel_zero),
        cmocka_unit_test(test_kernel_too_large),
        cmocka_unit_test(test_attribute_type),
        cmocka_unit_test(test_dynamic_size),
        cmocka_unit_test(test_wrong_info),
        cmocka_unit_test(test_wrong_type),
        cmocka_unit_test(test_attribute_twice),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
