/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions and placement from logs of the runtime, of hb_compile, node_info.csv
 * and advice.json; whole, cut, and hostile.
 *
 * links: host-tools/vendor/load.c host-tools/vendor/probe.c
 * links: host-tools/vendor/lookup.c
 * links: host-tools/vendor/config.c host-tools/vendor/yaml.c
 * links: host-tools/vendor/deps.c host-tools/vendor/log.c
 * links: host-tools/vendor/claims.c host-tools/vendor/runtime.c
 * links: host-tools/vendor/node_info.c host-tools/vendor/advice.c
 * links: host-tools/vendor/board.c
 * links: host-tools/vendor/json.c host-tools/model/file.c
 * links: host-tools/model/model_info.c
 * links: lib/core/buf.c lib/core/err.c
 * libs: -ljansson -lyaml
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

static char dir[64], path[128];
static struct assay_err err;
static struct assay_vendor *v;

static bool load(const void *text, size_t n)
{
    const char *const paths[] = {path};
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    assay_vendor_free(v);
    v = NULL;
    memset(&err, 0, sizeof(err));
    return assay_vendor_load(&v, paths, 1, &err) == 0;
}

static void read_text(const char *text)
{
    if (!load(text, strlen(text)))
        fail_msg("%s", err.text);
}

static void refused(const char *text, const char *why)
{
    assert_false(load(text, strlen(text)));
    if (strstr(err.text, why) == NULL)
        fail_msg("'%s' lacks '%s'", err.text, why);
    assert_null(strchr(err.text, '\n'));
}

/* The line of a claim; 0: nobody says so. Claims of files have none. */
static unsigned said(enum assay_claim_about about, enum assay_claim_by by,
                     const char *value)
{
    for (uint32_t i = 0; i < v->n_claims; i++) {
        const struct assay_claim *c = &v->claims[i];

        if (c->about == about && c->by == by && strcmp(c->value, value) == 0)
            return c->line > 0 ? c->line : 1000;
    }
    return 0;
}

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), P_tmpdir "/assay-runtime-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/file", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assay_vendor_free(v);
    unlink(path);
    return rmdir(dir);
}

#define RUNTIME ASSAY_BY_RUNTIME
#define LOADED ASSAY_BY_LOADED

static void test_bayes(void **state)
{
    (void)state;
    read_text("[app-3] hello\n"
              "[app-3] [BPU_PLAT]BPU Platform Version(1.3.6)! soc info(x5)\n"
              "[HBRT] set log level as 0. version = 3.15.55.0\n"
              "[10:15:19:095][DNN] Runtime version = 1.24.5_(3.15.54 HBRT)\n"
              "[A][DNN][packed_model.cpp:247][Model](2031-01-02,03:04:05.6.7) "
              "[HorizonRT] The model builder version = 1.23.5\n"
              "[W][DNN]bpu_model_info.cpp:491][Version](2031) Model: net_a. "
              "Inconsistency between the hbrt library version 3.15.55.0 and "
              "the model build version 3.15.47.0 detected, in order to\n"
              "Load model to DDR cost 32.671ms.\n");
    assert_int_equal(said(ASSAY_ABOUT_BPU, RUNTIME, "1.3.6"), 2);
    assert_int_equal(said(ASSAY_ABOUT_SOC, RUNTIME, "x5"), 2);
    assert_int_equal(said(ASSAY_ABOUT_HBRT, RUNTIME, "3.15.55.0"), 3);
    assert_int_equal(said(ASSAY_ABOUT_DNN, RUNTIME, "1.24.5"), 4);
    assert_int_equal(said(ASSAY_ABOUT_HBRT, RUNTIME, "3.15.54"), 4);
    assert_int_equal(said(ASSAY_ABOUT_MAPPER, LOADED, "1.23.5"), 5);
    assert_int_equal(said(ASSAY_ABOUT_HBRT, LOADED, "3.15.47.0"), 6);
    for (uint32_t i = 0; i < v->n_claims; i++) {
        if (v->claims[i].about == ASSAY_ABOUT_HBRT &&
            v->claims[i].by == LOADED) {
            assert_true(v->claims[i].complained);
            assert_string_equal(v->claims[i].model, "net_a");
        }
    }
    assert_int_equal(v->n_claims, 7);
}

static void test_others(void **state)
{
    (void)state;
    read_text("[BPU][[BPU_MONITOR]][281473110813600][INFO]BPULib verison(2, "
              "2, 15)[f21ee84]!\n[DNN] HBTL_EXT_DNN log level:6\n"
              "[DNN]: 3.6.1_(4.2.7post0.dev202307211111+6aaae37 HBRT)\n");
    assert_int_equal(said(ASSAY_ABOUT_BPU, RUNTIME, "2.2.15"), 1);
    assert_int_equal(said(ASSAY_ABOUT_DNN, RUNTIME, "3.6.1"), 3);
    assert_int_equal(
        said(ASSAY_ABOUT_HBRT, RUNTIME, "4.2.7post0.dev202307211111+6aaae37"),
        3);
    read_text("[HBRT] set log level as 0. version = 3.15.46.0\n[HBRT] "
              "hbrtSetGlobalConfig, set bpu march to BERNOULLI2(4272728)\n");
    assert_int_equal(said(ASSAY_ABOUT_MARCH, RUNTIME, "BERNOULLI2"), 2);
}

/* Both of two versions are kept, each once. */
static void test_two(void **state)
{
    (void)state;
    read_text("[HBRT] set log level as 0. version = 3.15.46.0\n"
              "[HBRT] set log level as 0. version = 3.15.46.0\n"
              "[HBRT] set log level as 0. version = 3.14.5\n");
    assert_int_equal(v->n_claims, 2);
    assert_int_equal(said(ASSAY_ABOUT_HBRT, RUNTIME, "3.15.46.0"), 1);
    assert_int_equal(said(ASSAY_ABOUT_HBRT, RUNTIME, "3.14.5"), 3);
}

static void test_damaged(void **state)
{
    static const char nul[] = "[HBRT] set log level as 0. version = 3\0.1\n";

    (void)state;
    /* The end may have cut it: 3.1 of 3.15.55.0 would be another version. */
    read_text("[BPU_PLAT]BPU Platform Version(1.3.6)!\n"
              "[HBRT] set log level as 0. version = 3.1");
    assert_int_equal(v->n_claims, 1);
    read_text("[HBRT] set log level as 0. version = 3.15\n"
              "[DNN] Runtime version = 1.24.5_(3.1");
    assert_int_equal(v->n_claims, 1);
    read_text("[HBRT] set log level as 0. version = 3.15\n"
              "[DNN] Runtime version = 1.24.5_(3.15 HBRT)");
    assert_int_equal(v->n_claims, 2); /* its mark closes it */
    read_text("\xEF\xBB\xBF[HBRT] set log level as 0. version = 3.15.1\r\n"
              "x\r[DNN] Runtime version = 1.24.5_(3.15.1 HBRT)\r\n");
    assert_int_equal(said(ASSAY_ABOUT_HBRT, RUNTIME, "3.15.1"), 1);
    assert_int_equal(said(ASSAY_ABOUT_DNN, RUNTIME, "1.24.5"), 2);
    read_text("\x1b[31m[HBRT] set log level as 0. version = \x1b[0m3.15.2\n");
    assert_int_equal(said(ASSAY_ABOUT_HBRT, RUNTIME, "3.15.2"), 1);
    /* Bytes that are no version are never told. */
    read_text("[HBRT] set log level as 0. version = 3.\x07\x01.2\n"
              "[HBRT] set log level as 0. version = \n"
              "[HBRT] set log level as 0. version = $(reboot)\n"
              "[DNN] Runtime version = _( HBRT)\n"
              "[BPU_PLAT]BPU Platform Version(\n"
              "set bpu march to \xff\xfe(\n"
              "BPULib verison(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, "
              "15, 16)\n");
    assert_int_equal(v->n_claims, 0);
    read_text("[HBRT] set log level as 0. version = 3.1\n"
              "Model: a\x02z. Inconsistency between the hbrt library version "
              "3.1 and the model build version 3.2 detected\n");
    assert_int_equal(v->n_claims, 2);
    assert_string_equal(v->claims[1].model, "");
    /* The words in front of and behind a version share their blank. */
    read_text(
        "[HBRT] set log level as 0. version = 3.1\n"
        "Inconsistency between the hbrt library version and the model "
        "build version 3.2 detected\n"
        "Inconsistency between the hbrt library version 3.1 and the model "
        "build version detected\n");
    assert_int_equal(v->n_claims, 1);
    assert_false(load(nul, sizeof(nul) - 1)); /* no text: none of the files */
}

static void test_hb_compile(void **state)
{
    (void)state;
    read_text(
        "2031-05-04 10:11:00,037 file: hb_compile.py func: hb_compile line "
        "No: 41 Start hb_compile...\n"
        "2031-05-04 10:11:00,038 file: a.py func: b line No: 1 hbdk version: "
        "4.7.5\n"
        "2031-05-04 10:11:00,039 file: a.py func: b line No: 1 hmct version: "
        "2.6.5\n"
        "2031-05-04 10:11:00,040 file: a.py func: b line No: 1 hb_compile "
        "version: 3.5.3\n"
        "2031-05-04 10:11:00,041 file: a.py func: b line No: 57 The converted "
        "model node information:\n"
        "=====\n"
        "Node   ON   Subgraph  Type    Cosine Similarity  Threshold  In/Out "
        "DataType  \n"
        "-----\n"
        "conv   BPU  id(0)     Conv    0.999562           1.013355   "
        "int8/int16        \n");
    assert_string_equal(v->hbdk_version, "4.7.5");
    assert_string_equal(v->horizon_nn_version, "2.6.5");
    assert_string_equal(v->hb_mapper_version, "3.5.3");
    assert_int_equal(v->n_nodes, 1);
    assert_string_equal(v->nodes[0].dtype, "int8");
    assert_true(v->nodes_converted);
    assert_int_equal(said(ASSAY_ABOUT_HBDK, ASSAY_BY_BUILD, "4.7.5"), 1000);
    read_text("model_parameters:\n  onnx_model: 'm.onnx'\n  march: \"nash-e\"\n"
              "input_parameters:\n  input_name: \"a;b;\"\n"
              "calibration_parameters:\n  quant_config: {op_config: {}}\n"
              "compiler_parameters:\n  core_num: 1\n  jobs: 32\n");
    assert_string_equal(v->yaml.march, "nash-e");
    assert_int_equal(said(ASSAY_ABOUT_MARCH, ASSAY_BY_CONFIG, "nash-e"), 1000);
}

#define HEADER "Node,ON,Subgraph,Type,Cosine Similarity,Threshold,DataType\n"

static void test_node_info(void **state)
{
    struct assay_vendor_layer k;

    (void)state;
    read_text(HEADER "conv1,BPU,id(0),HzSQuantizedConv,0.9995,1.5,int8\r\n"
                     "\"a \"\"b\"\", c\",CPU,--,Softmax,--,,float\n\n");
    assert_int_equal(v->n_nodes, 2);
    assert_true(assay_vendor_layer(&k, v, "conv1"));
    assert_int_equal(k.on, ASSAY_ON_BPU);
    assert_string_equal(k.dtype, "int8");
    assert_true(k.has_cosine && k.cosine > 0.9994 && k.has_threshold);
    assert_true(assay_vendor_layer(&k, v, "a \"b\", c"));
    assert_int_equal(k.on, ASSAY_ON_CPU);
    assert_false(k.has_cosine || k.has_threshold);
    assert_false(v->nodes_converted);
    /* Another order, other titles, types of the float model. */
    read_text("\xEF\xBB\xBFop_type,dtype,NAME,on\nConv,int16/int8,c,bpu\n");
    assert_true(assay_vendor_layer(&k, v, "c"));
    assert_string_equal(k.dtype, "int16");
    assert_true(v->nodes_converted);
    read_text(HEADER);
    assert_int_equal(v->n_nodes, 0);
}

static void test_bad_node_info(void **state)
{
    (void)state;
    refused("Node,ONLY,Type\nx\n", "none of the vendor's files");
    refused(HEADER "a,BPU\n", "line 2: expected as many cells");
    refused(HEADER "a,BPU,,T,x,,\n", "line 2: expected a number, found 'x'");
    refused(HEADER "a,GPU,,T,,,\n", "line 2: expected BPU or CPU, found 'GPU'");
    refused(HEADER ",BPU,,T,,,\n", "line 2: expected a node and its type");
    refused(HEADER "\"a,BPU,,T,,,\n", "line 2: expected a quote's end");
    refused(HEADER "\"a\"b,BPU,,T,,,\n", "line 2: expected a quote's end");
    refused("Node,ON,Type,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,"
            ",,,,,,,,,,,,,,,\n",
            "at most 64 columns");
}

static void test_advice(void **state)
{
    (void)state;
    read_text("[{\"name\": \"c\", \"on\": \"CPU\", \"type\": \"Softmax\", "
              "\"advice\": \"use int8\"}, {\"advice\": [{\"advice\": 1}]}]");
    assert_int_equal(v->n_advice, 3);
    assert_int_equal(v->n_nodes, 1);
    assert_int_equal(v->nodes[0].on, ASSAY_ON_CPU);
    read_text("{\"advice\": {}}");
    assert_int_equal(v->n_nodes, 0);
    refused("[\"advice\"", "line 1");
    refused("[[[[[[[[[[{\"advice\": 1}]]]]]]]]]]", "lists in lists");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bayes),         cmocka_unit_test(test_others),
        cmocka_unit_test(test_two),           cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_hb_compile),    cmocka_unit_test(test_node_info),
        cmocka_unit_test(test_bad_node_info), cmocka_unit_test(test_advice),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
