/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of model_info, in the forms of X5 and of UCP, and hb_model_info's:
 * written here by hand.
 *
 * links: host-tools/model/model_info.c host-tools/model/file.c
 * links: lib/core/slice.c lib/core/buf.c lib/core/err.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host-tools/model/model_info.h"

static struct assay_model_info m;
static struct assay_err err;

static int parse(const char *text)
{
    memset(&m, 0, sizeof(m));
    memset(&err, 0, sizeof(err));
    return assay_model_info_parse(&m, text, strlen(text), "f", &err);
}

static void form_of_x5(void **state)
{
    static const char text[] =
        "[BPU] some version = 3\nThis model file has 1 model:\n[net]\n"
        "------------------------------\n[model name]: net\n\n"
        "input[0]: \nname: images\ninput source: HB_DNN_INPUT_FROM_PYRAMID\n"
        "valid shape: (1,3,64,96,)\naligned shape: (1,3,64,96,)\n"
        "aligned byte size: 9216\ntensor type: HB_DNN_IMG_TYPE_NV12\n"
        "tensor layout: HB_DNN_LAYOUT_NCHW\nquanti type: NONE\n"
        "stride: (0,0,0,0,)\n\noutput[0]: \nname: box\n"
        "valid shape: (1,8,12,5,)\naligned shape: (1,8,12,8,)\n"
        "aligned byte size: 3072\ntensor type: HB_DNN_TENSOR_TYPE_S32\n"
        "tensor layout: HB_DNN_LAYOUT_NHWC\nquanti type: SCALE\n"
        "stride: (3072,384,32,4,)\nscale data: 0.5,0.25,1e-05,2,3,\n"
        "quantizeAxis: 3\n\n-------------------------------\n";
    const struct assay_model_info_tensor *t;

    (void)state;
    assert_true(assay_model_info_probe(text, sizeof(text) - 1));
    assert_int_equal(parse(text), 0);
    assert_int_equal(m.n, 2);
    t = assay_model_info_find(&m, "images");
    assert_ptr_equal(t, &m.v[0]);
    assert_true(t->is_image && !t->has_dtype);
    assert_string_equal(t->type, "NV12");
    assert_string_equal(t->model, "net");
    t = assay_model_info_nth(&m, ASSAY_INFO_OUTPUT, 0);
    assert_string_equal(t->name, "box");
    assert_int_equal(t->dtype, ASSAY_S32);
    assert_int_equal(t->rank, 4);
    assert_memory_equal(t->valid, ((int64_t[]){1, 8, 12, 5}), 32);
    assert_memory_equal(t->aligned, ((int64_t[]){1, 8, 12, 8}), 32);
    assert_memory_equal(t->stride, ((int64_t[]){3072, 384, 32, 4}), 32);
    assert_int_equal(t->aligned_bytes, 3072);
    assert_int_equal(t->n_scales, 5);
    assert_true(t->scales[2] > 0.99e-5 && t->scales[2] < 1.01e-5);
    assert_int_equal(t->axis, 3);
    assert_string_equal(t->layout, "NHWC");
    assert_null(assay_model_info_find(&m, "nobody"));
    assert_null(assay_model_info_nth(&m, ASSAY_INFO_INPUT, 1));
    assay_model_info_close(&m);
}

static void form_of_ucp(void **state)
{
    static const char text[] =
        "input[0]: \nname: y\nvalid shape: (1,224,224,1)\n"
        "aligned byte size: -1\ntensor type: HB_DNN_TENSOR_TYPE_U8\n"
        "quanti type: NONE\nstride: (-1,-1,1,1)\n\n"
        "output[0]: \nname: out\nvalid shape: (1,1000)\n"
        "aligned byte size: 4096\ntensor type: HB_DNN_TENSOR_TYPE_F32\n"
        "quanti type: SCALE\nstride: (4000,4)\nscale data: (0.0077)\n"
        "zero_point data: (0)";
    const struct assay_model_info_tensor *t;

    (void)state;
    assert_int_equal(parse(text), 0);
    t = assay_model_info_find(&m, "y");
    assert_int_equal(t->stride[0], -1);
    assert_int_equal(t->aligned_bytes, -1);
    t = assay_model_info_find(&m, "out");
    assert_int_equal(t->stride_rank, 2);
    assert_int_equal(t->n_scales, 1);
    assert_false(t->has_zero_point);
    assay_model_info_close(&m);
}

#define STAMP "2026-01-02 03:04:05,678 file: a.py func: b line No: 9 "
static void form_of_logs(void **state)
{
    static const char text[] = STAMP
        "hb_model_info version 1.2.3\n" STAMP
        "hbdk version        : 9.8\n" STAMP "BPU march           : bayes-e\n"
        "2026-01-02 03:04:05,678 \033[92mINFO\033[0m horizon_nn version  : 4\n" STAMP
        "--------input----------\n" STAMP "name: \"x\"\ntype {\n"
        "  elem_type: INT8\n  dim: 1\n  dim: 6\n}\n\n" STAMP
        "--------output----------\n" STAMP "name: \"y\"\ntype {\n"
        "  elem_type: FLOAT\n  dim: 4\n}\n" STAMP
        "--------node----------\n" STAMP
        "name: \"seg\"\nop_type: \"BPU\"\n" STAMP
        "--------value_info----------\n" STAMP "name: \"z\"\n";

    (void)state;
    assert_true(assay_model_info_probe(text, sizeof(text) - 1));
    assert_int_equal(parse(text), 0);
    assert_string_equal(m.march, "bayes-e");
    assert_string_equal(m.hbdk_version, "9.8");
    assert_string_equal(m.horizon_nn_version, "4");
    assert_int_equal(m.n, 3);
    assert_string_equal(m.v[0].name, "x");
    assert_int_equal(m.v[0].rank, 2);
    assert_int_equal(m.v[0].valid[1], 6);
    assert_int_equal(m.v[0].dtype, ASSAY_S8);
    assert_int_equal(m.v[1].side, ASSAY_INFO_OUTPUT);
    assert_int_equal(m.v[2].side, ASSAY_INFO_INNER);
    assay_model_info_close(&m);
}

#define HEAD "input[0]:\nname: x\nvalid shape: "
static void refusals(void **state)
{
    static const struct {
        const char *text, *sentence;
    } rows[] = {
        {"", "f: no inputs and outputs, expected the text of model_info"},
        {HEAD "(1,a)\n", "f: line 3: expected numbers, found '(1,a)'"},
        {HEAD "(1,0)\n", "f: line 3: a dimension of 0"},
        {HEAD "(1,-2)\n", "f: line 3: expected numbers, found '(1,-2)'"},
        {HEAD "(1,9999999999999999999)\n",
         "f: line 3: expected numbers, found '(1,9999999999999999999)'"},
        {HEAD "(1,1,1,1,1,1,1,1,1,1,1)\n",
         "f: line 3: more than 10 dimensions"},
        {HEAD "(1,2)\nstride: (2)\n",
         "f: line 5: 'x' has 2 dimensions and 1 strides"},
        {HEAD "(1,2)\nscale data: (a)\n",
         "f: line 4: expected numbers, found '(a)'"},
        {"input[0]:\nname: x\noutput[0]:\n",
         "f: line 3: 'x' has no valid shape"},
        {"input[0]:\nvalid shape: (1)\n",
         "f: line 3: an input or output without a name"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(parse(rows[i].text), ASSAY_EFORMAT);
        assert_string_equal(err.text, rows[i].sentence);
    }
    assert_false(assay_model_info_probe("valid shape: (1)", 16));
}

/* Two models of one file that say different things of a name: neither. */
static void two_models(void **state)
{
    static const char text[] =
        "[model name]: a\ninput[0]:\nname: x\nvalid shape: (1,2)\n"
        "[model name]: b\ninput[0]:\nname: x\nvalid shape: (1,3)\n"
        "output[0]:\nname: y\nvalid shape: (4)\n"
        "output[0]:\nname: y\nvalid shape: (4)\n";

    (void)state;
    assert_int_equal(parse(text), 0);
    assert_null(assay_model_info_find(&m, "x"));
    assert_non_null(assay_model_info_find(&m, "y"));
    assert_null(assay_model_info_nth(&m, ASSAY_INFO_OUTPUT, 0));
    assay_model_info_close(&m);
}

static void bounds(void **state)
{
    char *text = malloc(200000), *p = text;

    (void)state;
    assert_non_null(text);
    for (unsigned i = 0; i <= ASSAY_MODEL_INFO_MAX_TENSORS; i++)
        p += sprintf(p, "input[%u]:\nname: x\nvalid shape: (1)\n", i);
    assert_true(p - text < 200000);
    assert_int_equal(parse(text), ASSAY_EFORMAT);
    assert_non_null(strstr(err.text, "more than 4096 tensors"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(form_of_x5),   cmocka_unit_test(form_of_ucp),
        cmocka_unit_test(form_of_logs), cmocka_unit_test(refusals),
        cmocka_unit_test(two_models),   cmocka_unit_test(bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
