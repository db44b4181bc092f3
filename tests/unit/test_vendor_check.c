/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration against a slice: each finding appears when its fact is wrong,
 * and only then.
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
#include <unistd.h>

#include <cmocka.h>

#include "host-tools/vendor/vendor.h"

static char dir[64], paths[4][128];
static const char *given[4];
static unsigned n_given;
static struct assay_slice *s;
static struct assay_vendor_facts facts;
static struct assay_vendor_preprocess pre;
static struct assay_vendor_sample sample;
static struct assay_findings f;

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), P_tmpdir "/assay-check-XXXXXX");
    assert_non_null(mkdtemp(dir));
    for (int i = 0; i < 4; i++)
        snprintf(paths[i], sizeof(paths[i]), "%s/f%d", dir, i);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        unlink(paths[i]);
    return rmdir(dir);
}

static uint32_t tensor(const char *name, enum assay_dtype dtype, int64_t c,
                       int64_t h, int64_t w, float scale)
{
    struct assay_tensor *t;
    uint32_t index = 0;
    float *v = assay_arena_alloc(s->arena, sizeof(*v));

    assert_int_equal(assay_slice_add_tensor(s, &index, NULL), 0);
    t = &s->tensors[index];
    t->name = name;
    t->dtype = dtype;
    t->rank = 4;
    memcpy(t->dims, (int64_t[]){1, c, h, w}, 4 * sizeof(*t->dims));
    for (uint8_t i = 0; i < 4; i++)
        t->perm[i] = i;
    *v = scale;
    t->quant.scale = v;
    t->quant.n = scale > 0.0f;
    return index;
}

static void layer(const char *name, const char *op, enum assay_op kind,
                  uint32_t in, uint32_t out)
{
    uint32_t index = 0;

    assert_int_equal(assay_slice_add_layer(s, 1, &index, NULL), 0);
    s->layers[index].name = name;
    s->layers[index].source_op = op;
    s->layers[index].op = kind;
    s->layers[index].inputs[0] = in;
    s->layers[index].output = out;
}

/* x -> HzQuantize -> conv -> act -> dequantize */
static void begin(void)
{
    uint32_t x, q, c, a, y;

    memset(&facts, 0, sizeof(facts));
    n_given = 0;
    s = assay_slice_new();
    x = tensor("x", ASSAY_F32, 3, 8, 8, 0.0f);
    s->tensors[x].role = ASSAY_ROLE_INPUT;
    q = tensor("x_calibrated_quantized", ASSAY_S8, 3, 8, 8, 0.01f);
    c = tensor("conv.y_quantized", ASSAY_S8, 8, 8, 4, 0.02f); /* NHWC */
    a = tensor("act.y_quantized", ASSAY_S16, 8, 8, 4, 0.001f);
    y = tensor("y", ASSAY_F32, 4, 8, 8, 0.0f);
    layer("q", "HzQuantize", ASSAY_OP_UNARY, x, q);
    layer("conv", "HzSQuantizedConv", ASSAY_OP_CONV2D, q, c);
    s->layers[1].p.conv2d.groups = 1;
    layer("act", "HzLut2Layer", ASSAY_OP_SEGMENT_TABLE, c, a);
    layer("dq", "HzDequantize", ASSAY_OP_BINARY, a, y);
    facts.march = "bayes-e";
}

/* The same with an image: an int8 input and its preprocessing. */
static void begin_image(void)
{
    static const double m[3][3] = {
        {1.0, 0.0, 1.4017}, {1.0, -0.3457, -0.7145}, {1.0, 1.7722, 0.0}};
    static const double scale[3] = {0.02, 0.01, 0.03}, mean[3] = {120, 110, 0};

    begin();
    s->tensors[0].dtype = ASSAY_S8;
    memcpy(s->tensors[0].dims, (int64_t[]){1, 8, 8, 3}, 4 * sizeof(int64_t));
    s->layers[0].source_op = "HzSQuantizedPreprocess";
    s->layers[0].name = "pre";
    pre = (struct assay_vendor_preprocess){
        "pre", "x", "YUV_BT601_FULL_RANGE_128", true, 3, {{0}}, {0}};
    for (int c = 0; c < 3; c++) {
        for (int k = 0; k < 3; k++)
            pre.weights[c][k] = m[c][k] * scale[c];
        pre.bias[c] = (128.0 - mean[c]) * scale[c];
    }
    sample = (struct assay_vendor_sample){"x", -100, 100};
    facts.preprocess = &pre;
    facts.n_preprocess = 1;
    facts.samples = &sample;
    facts.n_samples = 1;
}

static void file(const char *text)
{
    FILE *o = fopen(paths[n_given], "wb");

    assert_non_null(o);
    fputs(text, o);
    fclose(o);
    given[n_given] = paths[n_given];
    n_given++;
}

/* Runs the check and forgets the slice; f holds the findings. */
static void check(void)
{
    struct assay_vendor *v = NULL;
    struct assay_err err = {0};

    assay_findings_free(&f);
    if (assay_vendor_load(&v, given, n_given, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(assay_vendor_check(&f, v, s, &facts, &err), 0);
    for (uint32_t i = 1; i < f.n; i++)
        assert_true(f.v[i].severity <= f.v[i - 1].severity);
    assay_vendor_free(v);
    assay_slice_free(s);
}

static unsigned count(const char *id, enum assay_severity severity)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < f.n; i++)
        n += strcmp(f.v[i].id, id) == 0 && f.v[i].severity == severity;
    return n;
}

static void only(const char *id, enum assay_severity severity)
{
    check();
    if (f.n != 1 || count(id, severity) != 1) {
        for (uint32_t i = 0; i < f.n; i++)
            print_message("%s %s: %s\n", assay_severity_name(f.v[i].severity),
                          f.v[i].id, f.v[i].sentence);
        fail_msg("expected one finding '%s'", id);
    }
    assert_int_equal(f.count[severity], 1);
    assert_int_not_equal(f.v[0].sentence[0], '\0');
}

static void nothing(void)
{
    check();
    if (f.n > 0)
        fail_msg("%s: %s", f.v[0].id, f.v[0].sentence);
}

#define MODEL "model_parameters:\n  march: 'bayes-e'\n"
#define INPUT "input_parameters:\n  input_name: 'x'\n"
#define FEATURE \
    MODEL INPUT "  input_type_rt: 'featuremap'\n" \
                "  input_shape: '1x3x8x8'\n  norm_type: 'no_preprocess'\n"
#define IMAGE \
    MODEL INPUT "  input_type_rt: 'nv12'\n  input_type_train: 'rgb'\n" \
                "  input_shape: '1x3x8x8'\n  norm_type: " \
                "'data_mean_and_scale'\n"
#define VALUES "  mean_value: '120 110 0'\n  scale_value: '0.02 0.01 0.03'\n"

static void with(void (*start)(void), const char *yaml)
{
    start();
    file(yaml);
}

static void test_inputs(void **state)
{
    (void)state;
    with(begin, FEATURE);
    nothing();
    with(begin, FEATURE);
    facts.march = "bayes";
    only("march", ASSAY_CONTRADICTION);
    assert_string_equal(f.v[0].expected, "bayes");
    assert_string_equal(f.v[0].found, "bayes-e");
    with(begin, MODEL "input_parameters:\n  input_name: 'z'\n");
    only("input-name", ASSAY_CONTRADICTION);
    assert_string_equal(f.v[0].subject, "z");
    with(begin, MODEL "input_parameters:\n  input_name: ''\n"
                      "  input_type_rt: 'featuremap'\n");
    nothing(); /* one input needs no name */
    with(begin, MODEL "input_parameters:\n  input_name: 'x;x'\n");
    only("input-count", ASSAY_CONTRADICTION);
    with(begin, MODEL INPUT "  input_shape: '1x3x8x9'\n");
    only("input-shape", ASSAY_CONTRADICTION);
    with(begin, MODEL INPUT "  input_type_rt: 'rgb'\n");
    only("input-type", ASSAY_CONTRADICTION);
    with(begin, MODEL INPUT "  input_type_rt: 'featuremap'\n"
                            "  norm_type: 'data_scale'\n"
                            "  scale_value: '2'\n");
    only("preprocess", ASSAY_CONTRADICTION);
    /* Integers where floats are expected, unless they were asked for. */
    with(begin, MODEL INPUT "  input_type_rt: 'featuremap'\n");
    s->tensors[0].dtype = ASSAY_S8;
    s->layers[0].source_op = "Cast";
    only("input-type", ASSAY_CONTRADICTION);
    with(begin, MODEL "  remove_node_type: 'Quantize'\n" INPUT
                      "  input_type_rt: 'featuremap'\n");
    s->tensors[0].dtype = ASSAY_S8;
    s->layers[0].source_op = "Cast";
    nothing();
    with(begin, MODEL "  remove_node_type: 'Quantize;Dequantize'\n");
    check();
    assert_int_equal(count("removed", ASSAY_WARNING), 2);
}

static void test_image(void **state)
{
    (void)state;
    with(begin_image, IMAGE VALUES);
    nothing();
    with(begin_image, IMAGE VALUES);
    sample.lo = 0;
    only("input-centre", ASSAY_WARNING);
    with(begin_image, IMAGE "  mean_value: '120 115 0'\n"
                            "  scale_value: '0.02 0.01 0.03'\n");
    only("mean", ASSAY_CONTRADICTION);
    assert_string_equal(f.v[0].expected, "115");
    with(begin_image, IMAGE "  mean_value: '120 110 0'\n"
                            "  scale_value: '0.02 0.02 0.03'\n");
    only("scale", ASSAY_CONTRADICTION);
    with(begin_image, IMAGE "  mean_value: '120 110'\n"
                            "  scale_value: '0.02 0.01 0.03'\n");
    only("norm", ASSAY_CONTRADICTION);
    with(begin_image,
         MODEL INPUT "  input_type_rt: 'nv12'\n  input_type_train: 'bgr'\n"
                     "  norm_type: 'data_mean_and_scale'\n" VALUES);
    only("colour", ASSAY_CONTRADICTION);
    assert_string_equal(f.v[0].found, "rgb");
    with(begin_image, IMAGE VALUES);
    pre.input_type = "RGB_128";
    only("preprocess-type", ASSAY_CONTRADICTION);
    with(begin_image, IMAGE VALUES);
    facts.n_preprocess = 0;
    only("preprocess", ASSAY_CONTRADICTION);
    with(begin_image, FEATURE);
    check();
    assert_int_equal(count("preprocess", ASSAY_CONTRADICTION), 1);
    assert_int_equal(count("input-type", ASSAY_CONTRADICTION), 1);
    with(begin_image, IMAGE VALUES);
    s->tensors[0].dims[1] = 7;
    check();
    assert_int_equal(count("input-shape", ASSAY_CONTRADICTION), 2);
    with(begin_image, IMAGE VALUES);
    memcpy(s->tensors[0].dims, (int64_t[]){1, 3, 8, 8}, 4 * sizeof(int64_t));
    only("input-layout", ASSAY_WARNING);
}

#define NODES \
    "2031-01-01 00:00:00,1 The main quantized node information:\n" \
    "Node  ON   Subgraph  Type              Cosine Similarity  Threshold  " \
    "DataType\n-----\n"

static void test_log(void **state)
{
    (void)state;
    with(begin, NODES
         "conv  BPU  id(0)     HzSQuantizedConv  0.99               1.27       "
         "int8\n"
         "act   BPU  id(0)     HzLut2Layer       0.99               2.54       "
         "int8\n");
    nothing();
    with(begin, NODES
         "conv  BPU  id(0)     HzSQuantizedConv  0.99               1.271      "
         "int8\n");
    only("threshold", ASSAY_CONTRADICTION);
    with(begin, NODES
         "conv  BPU  id(0)     HzSQuantizedConv  0.99               1.271      "
         "int8\n");
    facts.scale_given = (const bool[5]){false};
    nothing(); /* a derived scale proves nothing */
    with(begin, NODES
         "conv  BPU  id(0)     HzSQuantizedConv  0.99               --         "
         "int16\n");
    only("dtype", ASSAY_CONTRADICTION);
    assert_string_equal(f.v[0].expected, "int16");
    assert_string_equal(f.v[0].found, "int8");
    with(begin, NODES "conv  BPU  id(0)     HzLut             0.99\n");
    only("type", ASSAY_CONTRADICTION);
    with(begin, NODES "conv  CPU  --        HzSQuantizedConv  0.99\n");
    only("device", ASSAY_WARNING);
    with(begin, NODES "gone  BPU  id(0)     HzLut             0.99\n"
                      "variable_1  BPU  id(0)  HzLut\n");
    check(); /* the second row does not fit its columns: told, not guessed */
    assert_int_equal(count("log-nodes", ASSAY_WARNING), 1);
    with(begin, "2031-01-01 00:00:00,1 Start hb_mapper....\n");
    only("no-table", ASSAY_WARNING);
    /* What stops a build of layer_out_dump where the two models differ. */
    with(begin, "2031-01-01 00:00:00,1 Start hb_mapper....\n"
                "AssertionError: \n"
                "Consistency check between quantized model and hybrid model "
                "failed as unmatched.output data.\n");
    only("consistency", ASSAY_WARNING);
}

static void test_settings(void **state)
{
    (void)state;
    with(begin, MODEL "  node_info: {conv: {ON: BPU, InputType: int8, "
                      "OutputType: int8}}\n");
    nothing();
    with(begin, MODEL "  node_info: {conv: {InputType: int16}}\n");
    only("dtype", ASSAY_CONTRADICTION);
    with(begin, MODEL "  node_info: {act: {OutputType: int8}}\n");
    only("dtype", ASSAY_CONTRADICTION);
    assert_string_equal(f.v[0].found, "int16");
    with(begin, MODEL "calibration_parameters:\n  run_on_cpu: 'conv'\n");
    only("device", ASSAY_CONTRADICTION);
    with(begin, MODEL "calibration_parameters:\n  run_on_bpu: 'dq;conv'\n");
    only("device", ASSAY_CONTRADICTION);
    assert_string_equal(f.v[0].subject, "dq");
    with(begin, MODEL "calibration_parameters:\n  run_on_bpu: 'nobody'\n");
    only("no-node", ASSAY_WARNING);
    with(begin, MODEL "calibration_parameters:\n"
                      "  optimization: 'set_all_nodes_int16'\n");
    check(); /* conv and act take int8 */
    assert_int_equal(count("dtype", ASSAY_CONTRADICTION), 2);
    with(begin, MODEL "calibration_parameters:\n"
                      "  optimization: 'set_all_nodes_int16'\n");
    s->layers[1].p.conv2d.groups = 3; /* no int16 form, nor what it feeds */
    check();
    assert_int_equal(count("dtype", ASSAY_CONTRADICTION), 0);
    assert_int_equal(count("stays-int8", ASSAY_WARNING), 2);
    with(begin, MODEL "calibration_parameters:\n"
                      "  optimization: 'set_Conv_output_int16'\n");
    only("dtype", ASSAY_CONTRADICTION);
    with(begin, "{\"model_config\": {\"all_node_type\": \"int8\"}, "
                "\"node_config\": {\"conv\": {\"InputType\": \"int16\"}}}");
    only("dtype", ASSAY_CONTRADICTION);
}

#define DEPS(march, shape) \
    "2031-01-01 00:00:00,1 model_deps_info: {'march': '" march \
    "', 'input_names': ['x'], 'input_type_rt': ['featuremap'], " \
    "'input_shape': ['" shape "'], 'norm_type': ['no_preprocess']}\n" NODES \
    "conv  BPU  id(0)     HzSQuantizedConv  0.99\n"

static void test_other_build(void **state)
{
    (void)state;
    with(begin, FEATURE);
    file(DEPS("bayes-e", "1x3x8x8"));
    nothing();
    with(begin, FEATURE);
    file(DEPS("bayes-e", "1x3x8x9"));
    only("other-build", ASSAY_WARNING);
    /* Without a YAML the log is the configuration. */
    with(begin, DEPS("bayes-e", "1x3x8x9"));
    only("input-shape", ASSAY_CONTRADICTION);
    with(begin, "{\"conv\": {\"type\": \"Conv\", \"inputs\": "
                "[\"x_calibrated\"], \"outputs\": [], \"thresholds\": "
                "[[1.27]], \"cosine_similarity\": \"0.98\"}}");
    nothing();
    with(begin, "{\"conv\": {\"type\": \"Conv\", \"inputs\": "
                "[\"x_calibrated\"], \"outputs\": [], \"thresholds\": "
                "[[1.28]], \"cosine_similarity\": \"0.98\"}}");
    only("threshold", ASSAY_WARNING);
    with(begin, "{\"conv\": {\"type\": \"Conv\", \"inputs\": "
                "[\"x_calibrated\"], \"outputs\": [], \"thresholds\": "
                "[[1.27]], \"cosine_similarity\": \"0.98\"}}");
    file(DEPS("bayes-e", "1x3x8x8"));
    only("two-builds", ASSAY_WARNING);
    with(begin, NODES "conv  BPU  id(0)     HzSQuantizedConv  0.99\n");
    file(NODES "conv  BPU  id(0)     HzSQuantizedConv  0.98\n");
    only("two-logs", ASSAY_WARNING);
}

#define DISAS(name, valid, aligned, stride, type) \
    "[{\"march\": \"B25E\", \"output features\": [{\"feature name\": \"" name \
    "\", \"valid dim\": [" valid "], \"aligned dim\": [" aligned \
    "], \"real stride\": [" stride "], \"element type name\": \"" type \
    "\"}]}]"

static void test_features(void **state)
{
    (void)state;
    with(begin, DISAS("conv.y_quantized", "1,8,8,4", "1,8,8,16",
                      "1024,128,16,1", "int8"));
    nothing();
    /* A fused Transpose: NCHW, strides rotated. */
    with(begin, DISAS("conv_nhwc2nchw_transposed_output0", "1,4,8,8",
                      "1,4,8,16", "512,1,128,16", "int8"));
    nothing();
    with(begin, DISAS("conv_nhwc2nchw_transposed_output0", "1,8,8,4",
                      "1,8,8,16", "1024,128,16,1", "int8"));
    only("feature-shape", ASSAY_CONTRADICTION);
    with(begin, DISAS("conv.y_quantized", "1,8,8,4", "1,8,8,8", "1024,128,16,2",
                      "int16"));
    only("feature-dtype", ASSAY_CONTRADICTION);
    with(begin, DISAS("conv.y_quantized", "1,8,8,4", "1,8,8,16",
                      "1024,128,16,2", "int8"));
    only("stride", ASSAY_WARNING);
    with(begin, DISAS("conv.y_quantized", "1,8,8,4", "1,8,8,2", "1024,128,16,1",
                      "int8"));
    only("stride", ASSAY_WARNING);
    with(begin, DISAS("other", "1", "1", "1", "int8"));
    only("feature-names", ASSAY_HINT);
    with(begin, DISAS("conv.y_quantized", "1,8,8,4", "1,8,8,16",
                      "1024,128,16,1", "int8"));
    facts.march = "nash-e";
    only("march", ASSAY_CONTRADICTION);
}

#define INFO(port, name, shape, type, rest) \
    port "[0]: \nname: " name "\nvalid shape: " shape "\ntensor type: " \
         "HB_DNN_TENSOR_TYPE_" type "\nquanti type: NONE\n" rest

static void test_model_info(void **state)
{
    (void)state;
    with(begin, INFO("output", "conv.y_quantized", "(1,8,8,4,)", "S8", ""));
    nothing();
    /* Channels may stand at the other end. */
    with(begin, INFO("input", "x", "(1,8,8,3)", "F32", ""));
    nothing();
    with(begin, INFO("output", "conv.y_quantized", "(1,8,9,4,)", "S8", ""));
    only("info-shape", ASSAY_CONTRADICTION);
    with(begin, INFO("output", "conv.y_quantized", "(1,8,8,4,)", "S16", ""));
    only("info-dtype", ASSAY_CONTRADICTION);
    with(begin, INFO("output", "conv.y_quantized", "(1,8,8,4,)", "S8",
                     "scale data: 0.02,\n"));
    nothing();
    with(begin, INFO("output", "conv.y_quantized", "(1,8,8,4,)", "S8",
                     "scale data: (0.021)\n"));
    only("info-scale", ASSAY_CONTRADICTION);
    assert_non_null(strstr(f.v[0].sentence, "has scale 0.021"));
    with(begin, INFO("output", "nobody", "(1,8,8,4,)", "S8", ""));
    only("info-names", ASSAY_HINT);
    with(begin, "hb_model_info version 1\nBPU march : bayes\n");
    only("march", ASSAY_CONTRADICTION);
}

#define STARTS "log will be stored in x\nHB_Verifier Starts...\n"
static void test_verifier(void **state)
{
    (void)state;
    with(begin, STARTS "compare_digits: 5\n"
                       "A and B result Strict check PASSED\n");
    only("verifier", ASSAY_HINT);
    assert_non_null(strstr(f.v[0].sentence,
                           "final outputs only, to 5 digits: 1 comparisons"));
    with(begin, STARTS "INFO dump_all_nodes_results: True\n"
                       "INFO A and B result Strict check PASSED\n");
    nothing();
    with(begin, STARTS "INFO mismatch result num: 7\n"
                       "INFO total result num: 90\nINFO max abs error: 8.5\n"
                       "WARNING A and B result Strict check FAILED\n");
    only("verifier", ASSAY_WARNING);
    assert_non_null(strstr(f.v[0].sentence,
                           "A and B differ in 7 of 90 elements, by at most "
                           "8.5"));
    with(begin,
         STARTS "2026-01-02 03:04:05,678 \033[91mERROR\033[0m no board\n");
    only("verifier", ASSAY_WARNING);
    assert_non_null(strstr(f.v[0].sentence, "it stopped with 'no board'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inputs),      cmocka_unit_test(test_image),
        cmocka_unit_test(test_log),         cmocka_unit_test(test_settings),
        cmocka_unit_test(test_other_build), cmocka_unit_test(test_features),
        cmocka_unit_test(test_model_info),  cmocka_unit_test(test_verifier),
    };
    int failed = cmocka_run_group_tests(tests, setup, teardown);

    assay_findings_free(&f);
    return failed;
}
