/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vendor's files: recognised by content, read, refused with one sentence.
 *
 * links: host-tools/vendor/load.c host-tools/vendor/probe.c
 * links: host-tools/vendor/lookup.c
 * links: host-tools/vendor/config.c host-tools/vendor/yaml.c
 * links: host-tools/vendor/deps.c host-tools/vendor/log.c
 * links: host-tools/vendor/claims.c host-tools/vendor/runtime.c
 * links: host-tools/vendor/node_info.c host-tools/vendor/advice.c
 * links: host-tools/vendor/json.c host-tools/vendor/check.c
 * links: host-tools/vendor/check_input.c host-tools/vendor/check_node.c
 * links: host-tools/vendor/check_setting.c host-tools/vendor/check_feature.c
 * links: host-tools/vendor/check_preprocess.c host-tools/vendor/check_board.c
 * links: host-tools/vendor/board.c host-tools/model/model_info.c
 * links: host-tools/model/file.c
 * links: lib/core/buf.c lib/core/err.c lib/core/hash.c lib/core/slice.c
 * libs: -ljansson -lyaml -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "host-tools/vendor/vendor.h"
#include "lib/core/buf.h"

#define DATA "tests/data/vendor"

static char dir[64], path[128];
static struct assay_err err;

static struct assay_vendor *load(const char *one)
{
    struct assay_vendor *v = NULL;
    const char *const paths[] = {one};

    memset(&err, 0, sizeof(err));
    if (assay_vendor_load(&v, paths, 1, &err) < 0)
        return NULL;
    return v;
}

static struct assay_vendor *load_bytes(const void *text, size_t n)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    return load(path);
}

static struct assay_vendor *load_text(const char *text)
{
    return load_bytes(text, strlen(text));
}

static void refused(const char *text, const char *why)
{
    assert_null(load_text(text));
    assert_int_not_equal(err.code, 0);
    if (strstr(err.text, why) == NULL)
        fail_msg("'%s' lacks '%s'", err.text, why);
    assert_null(strchr(err.text, '\n'));
}

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), P_tmpdir "/assay-vendor-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/file", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(dir);
}

/* ---- good ---------------------------------------------------------------- */

static void test_folder(void **state)
{
    struct assay_vendor *v = load(DATA);
    struct assay_vendor_layer k;

    (void)state;
    assert_non_null(v);
    assert_int_equal(v->files.n, 5);
    assert_true(v->yaml.present && v->deps.present);
    assert_string_equal(v->yaml.march, "bayes-e");
    assert_string_equal(v->deps.prefix, "small");
    assert_string_equal(v->deps.layer_out_dump, "true");
    assert_int_equal(v->yaml.n_inputs, 1);
    assert_string_equal(v->yaml.inputs[0].type_rt, "featuremap");
    assert_int_equal(v->yaml.inputs[0].rank, 4);
    assert_int_equal(v->yaml.inputs[0].dims[3], 12);
    assert_string_equal(v->hbdk_version, "3.99.1");
    assert_string_equal(v->hb_mapper_version, "1.99.0");
    assert_int_equal(v->consistency, 1);
    assert_true(v->has_speed && v->fps > 1234 && v->latency_us > 809);
    assert_int_equal(v->n_nodes, 9);
    assert_int_equal(v->n_outputs, 2);
    assert_int_equal(v->n_quant_nodes, 9);
    assert_int_equal(v->n_features, 5);
    assert_int_equal(v->n_overrides, 3);
    assert_null(v->differing_log); /* the terminal is of the same run */
    assert_true(assay_vendor_layer(&k, v, "fc"));
    assert_int_equal(k.on, ASSAY_ON_BPU);
    assert_string_equal(k.subgraph, "id(0)");
    assert_string_equal(k.type, "HzSQuantizedConv");
    assert_string_equal(k.dtype, "int8");
    assert_true(k.has_cosine && k.has_threshold);
    assert_true(k.threshold > 1.269 && k.threshold < 1.271);
    assert_true(assay_vendor_layer(&k, v, "post"));
    assert_int_equal(k.on, ASSAY_ON_CPU);
    assert_string_equal(k.subgraph, "");
    assert_false(k.has_threshold);
    assert_true(assay_vendor_layer(&k, v, "variable_3_Requantize"));
    assert_false(k.has_cosine);
    assert_true(assay_vendor_layer(&k, v, "control_relu")); /* quant_info */
    assert_string_equal(k.type, "Relu");
    assert_false(assay_vendor_layer(&k, v, "nobody"));
    assay_vendor_free(v);
}

static void test_terminal(void **state)
{
    struct assay_vendor *v = load(DATA "/console.txt");

    (void)state;
    assert_non_null(v);
    assert_int_equal(v->n_nodes, 9);
    assert_string_equal(v->nodes[8].dtype, "float");
    assert_string_equal(v->horizon_nn_version, "1.9.0");
    assert_true(v->has_speed);
    assert_false(v->deps.present);
    assay_vendor_free(v);
}

static void test_several_inputs(void **state)
{
    struct assay_vendor *v =
        load_text("input_parameters:\n"
                  "  input_name: 'a;b'\n"
                  "  input_type_rt: 'nv12;featuremap'\n"
                  "  mean_value: '1 2.5 3;'\n"
                  "  std_value: '2 4 8'\n"
                  "  input_shape: '1x3x4x4;1x7'\n"
                  "  remove_node_type: 'Quantize;Dequantize'\n"
                  "calibration_parameters:\n"
                  "  optimization: 'set_all_nodes_int16;run_fast'\n"
                  "  run_on_cpu: [p, q]\n");

    (void)state;
    assert_non_null(v);
    assert_int_equal(v->yaml.n_inputs, 2);
    assert_string_equal(v->yaml.inputs[1].name, "b");
    assert_string_equal(v->yaml.inputs[0].type_rt, "nv12");
    assert_int_equal(v->yaml.inputs[0].mean.n, 3);
    assert_true(v->yaml.inputs[0].mean.v[1] == 2.5);
    assert_true(v->yaml.inputs[0].scale.v[2] == 0.125);
    assert_int_equal(v->yaml.inputs[1].rank, 2);
    assert_int_equal(v->yaml.remove_node_type.n, 2);
    assert_int_equal(v->yaml.optimization.n, 2);
    assay_vendor_free(v);
}

static void test_disas(void **state)
{
    struct assay_vendor *v = load(DATA "/disas.json");
    const struct assay_vendor_feature *f;

    (void)state;
    assert_non_null(v);
    f = &v->features[0];
    assert_true(f->is_input);
    assert_string_equal(f->name, "x_calibrated_quantized");
    assert_string_equal(f->march, "bayes-e");
    assert_string_equal(f->source, "DDR");
    assert_int_equal(f->aligned[3], 16);
    assert_int_equal(f->stride[1], 2); /* listed n, c, h, w */
    assert_string_equal(v->disas_version, "3.99.1");
    assay_vendor_free(v);
}

static void test_log_form(void **state)
{
    /* A name with blanks in it, one of two bytes a letter, no last columns. */
    struct assay_vendor *v =
        load_text("2031-01-01 00:00:00,1 The main quantized node information:\n"
                  "=======================\n"
                  "Node       ON   Subgraph  Type\n"
                  "-----------------------\n"
                  "a  b c     BPU  id(0)     HzLut\n"
                  "\xc3\xa4\xc3\xb6\xc3\xbc        CPU  --        Softmax\n"
                  "2031-01-01 00:00:01,1 something\n"
                  "not a row\n");

    (void)state;
    assert_non_null(v);
    assert_int_equal(v->n_nodes, 2);
    assert_string_equal(v->nodes[0].name, "a  b c");
    assert_string_equal(v->nodes[1].name, "\xc3\xa4\xc3\xb6\xc3\xbc");
    assert_int_equal(v->nodes[1].on, ASSAY_ON_CPU);
    assert_string_equal(v->nodes[1].type, "Softmax");
    assay_vendor_free(v);
}

static void test_quant_config(void **state)
{
    struct assay_vendor *v =
        load_text("{\"model_config\": {\"all_node_type\": \"int16\"},"
                  " \"node_config\": {\"a\": {\"ON\": \"CPU\", \"InputType\": "
                  "\"int8\"}}}");

    (void)state;
    assert_non_null(v);
    assert_string_equal(v->all_node_type, "int16");
    assert_int_equal(v->n_overrides, 1);
    assert_int_equal(v->overrides[0].on, ASSAY_ON_CPU);
    assert_string_equal(v->overrides[0].input_dtype, "int8");
    assay_vendor_free(v);
}

/* ---- bad ----------------------------------------------------------------- */

static void test_recognised(void **state)
{
    static const char vd[] = "a, b, Cosin Similarity,Euclidean Distance,MAE,M";
    static const char info[] = "2031-01-01 00:00:00,1 file: hb_model_info.py "
                               "hb_mapper version : 1\n";
    struct assay_vendor *v = load_text(vd);

    (void)state;
    assert_non_null(v);
    assert_non_null(v->vec_diff_file);
    assay_vendor_free(v);
    refused(info, "none of the vendor's files");
    refused("", "none of the vendor's files");
    refused("{\"summary\": {}}", "none of the vendor's files");
    refused("hello: world\n", "none of the vendor's files");
    assert_null(load("tests/data/nowhere"));
    assert_non_null(strstr(err.text, "nowhere"));
}

static void test_bad_yaml(void **state)
{
    (void)state;
    refused("model_parameters:\n  march: 'x\n", "line");
    refused("model_parameters:\n- a\n", "expected a group");
    refused("model_parameters: {march: {a: b}, [x]: y}\n", "expected a name");
    refused("input_parameters: {input_shape: '1x3xx4'}\n", "input_shape");
    refused("input_parameters: {input_shape: "
            "'1x99999999999999999999'}\n",
            "input_shape");
    refused("input_parameters:\n  input_shape: '1x1x1x1x1x1x1x1x1x1x1'\n",
            "input_shape");
    refused("input_parameters:\n  mean_value: '1 two 3'\n", "'two'");
    refused("input_parameters:\n  mean_value: 'nan'\n", "numbers");
    refused("input_parameters:\n  std_value: '0'\n", "deviation of 0");
    refused("model_parameters:\n  node_info: {a: {ON: GPU}}\n", "CPU or BPU");
    refused("model_parameters:\n  node_info: {a: b}\n", "settings of a node");
}

static void test_laughs(void **state)
{
    char text[4096] = "a0: &a0 [x, x]\nmodel_parameters:\n";
    struct assay_vendor *v;

    (void)state;
    for (int i = 1; i < 30; i++)
        sprintf(text + strlen(text), "  k%d: &a%d [*a%d, *a%d, *a%d]\n", i, i,
                i - 1, i - 1, i - 1);
    v = load_text(text); /* a list of lists is no value */
    assert_null(v);
    assert_non_null(strstr(err.text, "expected"));
    /* A group that holds itself. */
    v = load_text("model_parameters: &m\n  march: 'x'\n  me: *m\n");
    assert_non_null(v);
    assay_vendor_free(v);
}

static void test_bad_json(void **state)
{
    (void)state;
    refused("{\"a\": {\"thresholds\": [[1]", "line 1");
    refused("{\"a\": {\"type\": \"Conv\", \"inputs\": [\"x\"], \"outputs\": "
            "[], \"thresholds\": []}}",
            "one list an input");
    refused("{\"a\": {\"inputs\": [1], \"outputs\": [], \"thresholds\": "
            "[[]]}}",
            "list of names");
    refused("{\"a\": {\"inputs\": [\"x\"], \"outputs\": [], \"thresholds\": "
            "[[\"1\"]]}}",
            "numbers");
    refused("{\"a\": {\"inputs\": [], \"outputs\": [], \"thresholds\": [], "
            "\"cosine_similarity\": \"0.9x\"}}",
            "cosine_similarity");
    refused("{\"thresholds\": 3}", "object");
    refused("[{\"input features\": [{\"feature name\": \"x\"}]}]", "valid dim");
    refused("[{\"input features\": [{\"feature name\": \"x\", \"valid dim\": "
            "[1, -2], \"aligned dim\": [1, 2]}]}]",
            "0 or more");
    refused("[{\"input features\": [{\"feature name\": \"x\", \"valid dim\": "
            "[1, 2], \"aligned dim\": [1]}]}]",
            "as many numbers");
    refused("[{\"input features\": 3}]", "a list");
    refused("[[\"input features\"], 3]", "an object");
}

#define TABLE \
    "2031-01-01 00:00:00,1 The main quantized node information:\n===\n"

static void test_bad_log(void **state)
{
    (void)state;
    refused(TABLE "Nothing here\n", "header");
    refused(TABLE "Node  ON  Kind\n", "header");
    refused(TABLE "Node  ON   Type   Cosine Similarity\n---\n"
                  "a     BPU  HzLut  high\n",
            "a number, found 'high'");
    refused(TABLE "Node  ON   Type\n---\n"
                  "a     BPU\n",
            "a row");
    refused("2031-01-01 00:00:00,1 Start hb_mapper....\n"
            "2031-01-01 00:00:00,1 model_deps_info: {'a': ['x', \n",
            "model_deps_info");
    refused("2031-01-01 00:00:00,1 Start hb_mapper....\n"
            "2031-01-01 00:00:00,1 model_deps_info: {'a': 'x}\n",
            "end of a text");
    refused("2031-01-01 00:00:00,1 Start hb_mapper....\n"
            "2031-01-01 00:00:00,1 model_deps_info: {'a': "
            "[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]}\n",
            "fewer levels");
}

/* Every beginning of every file: read, or one sentence. */
static void test_truncated(void **state)
{
    static const char *const files[] = {
        DATA "/build.yaml", DATA "/build.log", DATA "/console.txt",
        DATA "/quant_info.json", DATA "/disas.json"};
    char *text = malloc(65536);

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        FILE *f = fopen(files[i], "rb");
        size_t n;

        assert_non_null(f);
        n = fread(text, 1, 65536, f);
        fclose(f);
        for (size_t k = 0; k < n; k += 1 + k % 7) {
            struct assay_vendor *v = load_bytes(text, k);

            if (v == NULL)
                assert_int_not_equal(err.code, 0);
            assay_vendor_free(v);
        }
    }
    free(text);
}

/* Bytes that are overwritten one by one. */
static void test_damaged(void **state)
{
    static const char *const files[] = {DATA "/build.yaml", DATA "/build.log",
                                        DATA "/quant_info.json",
                                        DATA "/disas.json"};
    static const char bytes[] = "\0\n'\"{}[]x\x1b\xff";
    char *text = malloc(65536), *copy = malloc(65536);

    (void)state;
    assert_non_null(text);
    assert_non_null(copy);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        FILE *f = fopen(files[i], "rb");
        size_t n;

        assert_non_null(f);
        n = fread(text, 1, 65536, f);
        fclose(f);
        for (size_t k = 0; k < n; k += 5) {
            memcpy(copy, text, n);
            copy[k] = bytes[k % (sizeof(bytes) - 1)];
            assay_vendor_free(load_bytes(copy, n));
        }
    }
    free(text);
    free(copy);
}

static void test_huge(void **state)
{
    struct assay_buf b;
    char line[64];

    (void)state;
    assay_buf_init(&b);
    assay_buf_append(&b, TABLE, strlen(TABLE));
    assay_buf_append(&b, "Node    ON   Type \n", 19);
    for (unsigned i = 0; i < ASSAY_MAX_LAYERS + 1; i++) {
        int n = snprintf(line, sizeof(line), "n%-7uBPU  HzLut\n", i);

        assay_buf_append(&b, line, (size_t)n);
    }
    assert_null(load_bytes(b.data, b.len));
    assert_non_null(strstr(err.text, "too many nodes"));
    assay_buf_close(&b);
    /* One line of a mebibyte of open brackets. */
    assay_buf_init(&b);
    assay_buf_append(&b, "[{\"input features\": ", 20);
    for (unsigned i = 0; i < 1u << 20; i++)
        assay_buf_append(&b, "[", 1);
    assert_null(load_bytes(b.data, b.len));
    assay_buf_close(&b);
}

static void test_two_builds(void **state)
{
    const char *const two[] = {DATA "/build.yaml", DATA "/build.yaml"};
    const char *const info[] = {DATA "/quant_info.json",
                                DATA "/quant_info.json"};
    struct assay_vendor *v = NULL;

    (void)state;
    assert_true(assay_vendor_load(&v, two, 2, &err) < 0);
    assert_non_null(strstr(err.text, "second configuration"));
    assert_true(assay_vendor_load(&v, info, 2, &err) < 0);
    assert_non_null(strstr(err.text, "second quant_info"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folder),
        cmocka_unit_test(test_terminal),
        cmocka_unit_test(test_several_inputs),
        cmocka_unit_test(test_disas),
        cmocka_unit_test(test_log_form),
        cmocka_unit_test(test_quant_config),
        cmocka_unit_test(test_recognised),
        cmocka_unit_test(test_bad_yaml),
        cmocka_unit_test(test_laughs),
        cmocka_unit_test(test_bad_json),
        cmocka_unit_test(test_bad_log),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_huge),
        cmocka_unit_test(test_two_builds),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
