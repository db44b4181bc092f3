/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the compiled model gave: which files belong to a sample, whose tensor
 * a name is, layouts, types, and what is refused.
 *
 * links: lib/core/probe.c
 * links: host-tools/model/observed.c host-tools/model/observed_folder.c host-tools/model/observed_map.c
 * links: host-tools/model/observed_npz.c host-tools/model/observed_dump.c
 * links: host-tools/model/observed_match.c host-tools/model/observed_fit.c
 * links: host-tools/model/observed_nv12.c host-tools/model/dump.c
 * links: host-tools/model/dump_layout.c host-tools/model/dump_text.c
 * links: host-tools/model/model_info.c
 * links: host-tools/model/case_columns.c host-tools/model/hbdk_text.c
 * links: host-tools/model/differ.c host-tools/model/record.c
 * links: host-tools/model/case.c
 * links: proto/ gen/proto/assay.pb-c.c
 * links: host-tools/model/sample.c host-tools/model/case_meta.c
 * links: host-tools/model/file.c host-tools/model/npz.c
 * links: host-tools/model/npz_write.c host-tools/model/archive.c
 * links: host-tools/model/npy.c
 * links: host-tools/model/onnx_graph.c host-tools/model/onnx_proto.c
 * links: gen/host-tools/model/onnx.pb-c.c
 * links: tests/support/slices.c
 * links: lib/core/buf.c lib/core/err.c lib/core/hash.c lib/core/slice.c
 * links: lib/core/stats.c
 * libs: -lprotobuf-c -lzip -ljansson -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "host-tools/model/observed.h"
#include "tests/support/slices.h"
#include "tests/unit/onnx_bytes.h"

/* case_meta.c counts samples in files of a model; not used here. */
int assay_model_open(struct assay_slice **out, const char *path,
                     const struct assay_model_note *note,
                     struct assay_err *err);
int assay_model_open(struct assay_slice **out, const char *path,
                     const struct assay_model_note *note, struct assay_err *err)
{
    (void)out;
    (void)path;
    (void)note;
    return assay_fail(err, ASSAY_EUNSUPPORTED, "no model here");
}

enum { X, ACT, CONV, TURNED, FLOATS, N_TENSORS };

static char dir[128];
static struct assay_err err;
static struct assay_slice *slice;
static struct assay_case c;
static struct assay_sample got;
static struct assay_feature_map map;
static char notes[4096];
static char *input_path;
static size_t whole = ASSAY_CASE_WHOLE;

static void note(void *self, const char *text)
{
    (void)self;
    snprintf(notes + strlen(notes), sizeof(notes) - strlen(notes), "%s\n",
             text);
}

static const struct assay_model_note noter = {.note = note};

static const char *at(const char *name)
{
    static char path[4][400];
    static int turn;
    char *p = path[turn = (turn + 1) % 4];

    snprintf(p, 400, "%s/%s", dir, name);
    return p;
}

static void write_bytes(const char *name, const void *p, size_t n)
{
    FILE *f = fopen(at(name), "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void write_text(const char *name, const char *text)
{
    write_bytes(name, text, strlen(text));
}

/* x -> act [1,2,2,3] -> conv1: [1,2,2,3] -> Transpose: [1,3,2,2] */
static int setup(void **state)
{
    const char *top = getenv("TMPDIR");
    uint32_t l;

    (void)state;
    snprintf(dir, sizeof(dir), "%.90s/assay-test-XXXXXX", top ? top : P_tmpdir);
    if (!mkdtemp(dir))
        return -1;
    mkdir(at("sim"), 0700);
    slice = slices_new();
    slices_tensor(slice, "x", ASSAY_ROLE_INPUT, ASSAY_S8, 4,
                  (int64_t[]){1, 2, 2, 3});
    slices_tensor(slice, "act.y_quantized", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 4,
                  (int64_t[]){1, 2, 2, 3});
    slices_tensor(slice, "relu.y_quantized", ASSAY_ROLE_ACTIVATION, ASSAY_S16,
                  4, (int64_t[]){1, 2, 2, 3});
    slices_tensor(slice, "tail_nhwc2nchw_transposed_output0",
                  ASSAY_ROLE_ACTIVATION, ASSAY_S16, 4, (int64_t[]){1, 3, 2, 2});
    slices_tensor(slice, "out", ASSAY_ROLE_ACTIVATION, ASSAY_F32, 2,
                  (int64_t[]){1, 3});
    slices_layer(slice, "act", ASSAY_OP_UNARY, 1, (uint32_t[]){X}, ACT);
    slices_layer(slice, "conv1", ASSAY_OP_UNARY, 1, (uint32_t[]){ACT}, CONV);
    l = slices_layer(slice, "turn", ASSAY_OP_VIEW, 1, (uint32_t[]){CONV},
                     TURNED);
    slice->layers[l].source_op = "Transpose";
    slices_layer(slice, "deq", ASSAY_OP_UNARY, 1, (uint32_t[]){TURNED}, FLOATS);
    memset(&c, 0, sizeof(c));
    input_path = "inputs/0000.npz";
    c.name = "case";
    c.folder = dir;
    c.n_samples = 1;
    c.inputs = &input_path;
    c.input_rows = &whole;
    notes[0] = '\0';
    return 0;
}

static int teardown(void **state)
{
    char command[200];

    (void)state;
    assay_case_columns_close(&c);
    assay_sample_close(&got);
    memset(&got, 0, sizeof(got));
    assay_feature_map_close(&map);
    assay_slice_free(slice);
    snprintf(command, sizeof(command), "rm -rf '%.100s'", dir);
    return system(command) == 0 ? 0 : -1;
}

static int find(const char *sim)
{
    const char *paths[ASSAY_CASE_SIDES] = {sim, NULL};

    return assay_case_find_columns(&c, paths, NULL, &noter, &err);
}

static int load(void)
{
    assay_sample_close(&got);
    memset(&got, 0, sizeof(got));
    return assay_case_observed(&got, &c, ASSAY_CASE_SIM, 0, slice, &map, &noter,
                               &err);
}

/* The error without the folder's name. */
static const char *sentence(void)
{
    static char text[sizeof(err.text)];
    char *p;

    strcpy(text, err.text);
    while ((p = strstr(text, dir)))
        memmove(p, p + strlen(dir) + 1, strlen(p + strlen(dir) + 1) + 1);
    return text;
}

static void array(const char *file, const char *name, enum assay_dtype dtype,
                  uint32_t rank, const int64_t *dims, const void *p)
{
    struct assay_npz_writer *w;

    assert_int_equal(assay_npz_create(&w, at(file), &err), 0);
    assert_int_equal(assay_npz_add(w, name, dtype, rank, dims, p, &err), 0);
    assert_int_equal(assay_npz_finish(w, &err), 0);
}

#define TEXT(name) "sim/0000/hbdk_output0_feature_" name "_elem_int.txt"
static const char nhwc_text[] = "#operator: CONV\n#shift = 0 0 0 \n"
                                "#valid_dim=1x2x2x3\n#dynamic_n=1\n"
                                "0 1 2 \n3 4 5 \n6 7 8 \n9 10 11 \n";
static const char nchw_text[] = "#valid_dim=1x3x2x2\n"
                                "0 3 \n6 9 \n1 4 \n7 10 \n2 5 \n8 11 \n";
static const int16_t counted[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static const int16_t planes[12] = {0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11};

static void texts(void **state)
{
    (void)state;
    mkdir(at("sim/0000"), 0700);
    write_text(TEXT("relu.y_quantized"), nhwc_text);
    assert_int_equal(find(NULL), 0);
    assert_int_equal(load(), 0);
    assert_int_equal(got.n_found, 1);
    assert_memory_equal(got.values[CONV], counted, sizeof(counted));
    remove(at(TEXT("relu.y_quantized")));
    /* By the name of the layer: the text is NCHW. */
    write_text(TEXT("conv1_nhwc2nchw_transposed_output0"), nchw_text);
    assert_int_equal(load(), 0);
    assert_int_equal(got.n_found, 1);
    assert_memory_equal(got.values[CONV], counted, sizeof(counted));
    remove(at(TEXT("conv1_nhwc2nchw_transposed_output0")));
    /* The model's own Transpose, and what it reads. */
    write_text(TEXT("tail_nhwc2nchw_transposed_output0"), nchw_text);
    assert_int_equal(load(), 0);
    assert_int_equal(got.n_found, 2);
    assert_memory_equal(got.values[CONV], counted, sizeof(counted));
    assert_memory_equal(got.values[TURNED], planes, sizeof(planes));
    assert_string_equal(notes, "");
}

static void text_refusals(void **state)
{
    (void)state;
    mkdir(at("sim/0000"), 0700);
    write_text(TEXT("conv1_nhwc2nchw_transposed_output0"), nhwc_text);
    assert_int_equal(find(NULL), 0);
    assert_int_equal(load(), ASSAY_EMISMATCH);
    assert_string_equal(
        sentence(),
        TEXT(
            "conv1_nhwc2nchw_transposed_output0") ": "
                                                  "'conv1_nhwc2nchw_transposed_output0' is 1x2x2x3, but the model's "
                                                  "tensor 'relu.y_quantized' is 1x3x2x2 in NCHW");
    remove(at(TEXT("conv1_nhwc2nchw_transposed_output0")));
    write_text(TEXT("act.y_quantized"), "#valid_dim=1x2x2x3\n1 2 300\n");
    assert_int_equal(load(), ASSAY_EFORMAT);
    assert_string_equal(sentence(),
                        TEXT("act.y_quantized") ": line 2: expected an int8 "
                                                "(-128..127), found '300'");
    remove(at(TEXT("act.y_quantized")));
    write_text(TEXT("out"), "#valid_dim=1x3\n1 2 3\n");
    assert_int_equal(load(), ASSAY_EMISMATCH);
    assert_string_equal(sentence(),
                        TEXT("out") ": 'out' is integers, but the "
                                    "model's tensor 'out' is float32");
}

static void strangers(void **state)
{
    (void)state;
    mkdir(at("sim/0000"), 0700);
    write_text(TEXT("nobody"), nhwc_text);
    write_text(TEXT("nobody_nhwc2nchw_transposed_output0"), nchw_text);
    write_text("sim/0000/hbdk_output1_feature_act.y_quantized_elem_float.txt",
               "#\n");
    write_text("sim/0000/hbdk_output2_feature_relu.y_quantized_elem_float.txt",
               "#\n");
    write_text("sim/0000/hbdk_output2_feature_relu.y_quantized_elem_int.txt",
               nhwc_text);
    write_text("sim/0000/readme.txt", "hello");
    write_text("sim/0000/input_0_x_1x2x2x16_int8_NHWC_NATIVE.bin", "hello");
    assert_int_equal(find(NULL), 0);
    for (int i = 0; i < 2; i++) { /* each is told once a run */
        assert_int_equal(load(), 0);
        assert_int_equal(got.n_found, 1);
        assert_non_null(strstr(notes, "'nobody': neither a tensor"));
        assert_non_null(strstr(notes, "'nobody_nhwc2nchw_transposed_output0': "
                                      "neither a tensor"));
        assert_non_null(strstr(notes, "only the text of floats is there"));
        assert_non_null(strstr(notes, "'readme.txt': no text of the"));
        assert_null(strstr(notes, "input_0"));
    }
    for (const char *p = notes, *q = p; p; p = q ? q + 1 : NULL) {
        q = strstr(p + 1, "'readme.txt'");
        if (p != notes)
            assert_null(q);
    }
}

static void arrays(void **state)
{
    static const int32_t wide[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 127};
    static const int32_t far[12] = {[5] = 128};
    static const float reals[12] = {0};
    const int64_t dims[] = {1, 2, 2, 3}, less[] = {2, 2, 3}, bad[] = {3, 2, 2};

    (void)state;
    array("sim/0000.npz", "relu.y_quantized", ASSAY_S16, 4, dims, counted);
    assert_int_equal(find(NULL), 0);
    assert_string_equal(c.columns[ASSAY_CASE_SIM].from, "sim/");
    assert_int_equal(load(), 0);
    assert_memory_equal(got.values[CONV], counted, sizeof(counted));
    /* A batch of one may be left out; another integer type is told. */
    array("sim/0000.npz", "act.y_quantized", ASSAY_S32, 3, less, wide);
    assert_int_equal(load(), 0);
    assert_int_equal(((int8_t *)got.values[ACT])[11], 127);
    assert_non_null(strstr(notes, "another integer type"));
    array("sim/0000.npz", "act.y_quantized", ASSAY_S32, 4, dims, far);
    assert_int_equal(load(), ASSAY_EMISMATCH);
    assert_string_equal(sentence(),
                        "sim/0000.npz: 'act.y_quantized': element 5 is 128, "
                        "but the model's tensor is int8 (-128..127)");
    array("sim/0000.npz", "act.y_quantized", ASSAY_F32, 4, dims, reals);
    assert_int_equal(load(), ASSAY_EMISMATCH);
    assert_string_equal(sentence(),
                        "sim/0000.npz: 'act.y_quantized' is float32, but the "
                        "model's tensor 'act.y_quantized' is int8");
    array("sim/0000.npz", "relu.y_quantized", ASSAY_S16, 3, bad, counted);
    assert_int_equal(load(), ASSAY_EMISMATCH);
    assert_string_equal(sentence(),
                        "sim/0000.npz: 'relu.y_quantized' is 3x2x2, but the "
                        "model's tensor 'relu.y_quantized' is 1x2x2x3");
}

static void disputed(void **state)
{
    static const char other[] = "#valid_dim=1x3x2x2\n"
                                "0 3 \n6 9 \n1 4 \n7 10 \n2 5 \n8 12 \n";

    (void)state;
    mkdir(at("sim/0000"), 0700);
    write_text(TEXT("relu.y_quantized"), nhwc_text);
    write_text(TEXT("conv1_nhwc2nchw_transposed_output0"), nchw_text);
    assert_int_equal(find(NULL), 0);
    assert_int_equal(load(), 0);
    assert_int_equal(got.n_found, 1);
    assert_string_equal(notes, "");
    write_text(TEXT("conv1_nhwc2nchw_transposed_output0"), other);
    assert_int_equal(load(), 0);
    assert_int_equal(got.n_found, 0);
    assert_null(got.values[CONV]);
    assert_non_null(strstr(notes, "'relu.y_quantized': given twice with "
                                  "different values"));
}

/* What the model's own Transpose reads has a name itself: a fault of the
 * Transpose is no dispute about it, whichever file is read first. */
static void transposed_otherwise(void **state)
{
    static const char other[] = "#valid_dim=1x3x2x2\n"
                                "0 3 \n6 9 \n1 4 \n7 10 \n2 5 \n8 12 \n";

    (void)state;
    mkdir(at("sim/0000"), 0700);
    write_text(TEXT("relu.y_quantized"), nhwc_text);
    write_text(TEXT("tail_nhwc2nchw_transposed_output0"), other);
    assert_int_equal(find(NULL), 0);
    assert_int_equal(load(), 0);
    assert_int_equal(got.n_found, 2);
    assert_memory_equal(got.values[CONV], counted, sizeof(counted));
    assert_string_equal(notes, "");
    remove(at(TEXT("relu.y_quantized")));
    assert_int_equal(load(), 0);
    assert_int_equal(got.n_found, 2);
    assert_int_equal(((int16_t *)got.values[CONV])[11], 12);
}

/* A hybrid model with the outputs and the HzDequantize nodes of `pairs`:
 * feature, scale, output. */
static void write_hybrid(const char *const (*pairs)[3], size_t n)
{
    struct bytes g = {.n = 0}, m = {.n = 0}, opset = {.n = 0}, one;
    char outputs[400] = "";

    for (size_t i = 0; i < n; i++)
        if (!strstr(outputs, pairs[i][0]))
            snprintf(outputs + strlen(outputs),
                     sizeof(outputs) - strlen(outputs), "%s%s", i ? " " : "",
                     pairs[i][0]);
    one = node("bpu", "horizon", "HzBpuHBM", "x", outputs);
    put_msg(&g, 1, &one);
    for (size_t i = 0; i < n; i++) {
        char in[200], name[24];

        snprintf(in, sizeof(in), "%s %s", pairs[i][0], pairs[i][1]);
        snprintf(name, sizeof(name), "d%zu", i);
        one = node(name, "horizon", "HzDequantize", in, pairs[i][2]);
        put_msg(&g, 1, &one);
        put_scale(&g, pairs[i][1], 0.5f);
    }
    put_info(&g, 11, "x", 1, DIMS(1));
    put_int(&m, 1, 7);
    put_msg(&m, 7, &g);
    put_int(&opset, 2, 11);
    put_msg(&m, 8, &opset);
    write_bytes("hybrid.onnx", m.data, m.n);
}

static void hybrid(void **state)
{
    static const char *const pairs[][3] = {
        {"f0_nhwc2nchw_transposed_output0", "relu.y_HzCalibration_y_scale",
         "relu.y_calibrated"},
        {"act_nhwc2nchw_transposed_output0", "s1", "relu.y"},
        {"f2", "s2", "nobody"},
        {"f3", "a_HzCalibration_y_scale", "b_calibrated"},
    };
    struct assay_observed_match m;

    (void)state;
    write_hybrid(pairs, 4);
    assert_int_equal(find(NULL), 0);
    assert_non_null(c.hybrid);
    assert_int_equal(
        assay_feature_map_open(&map, c.hybrid, slice, &noter, &err), 0);
    assert_int_equal(map.n, 4);
    assert_int_equal(assay_feature_map_find(&map, pairs[0][0])->tensor, CONV);
    assert_null(assay_feature_map_find(&map, pairs[0][0])->why);
    assert_non_null(assay_feature_map_find(&map, "f2")->why);
    assert_null(assay_feature_map_find(&map, "nobody"));
    assert_string_equal(notes, ""); /* nothing has these names yet */
    assert_non_null(strstr(assay_feature_map_find(&map, "f3")->why,
                           "its HzDequantize names two tensors"));
    assay_observed_find(&m, slice, &map, "f3");
    assert_int_equal(m.n, 0);
    assay_observed_find(&m, slice, &map, pairs[0][0]);
    assert_int_equal(m.n, 1);
    assert_int_equal(m.v[0].tensor, CONV);
    assert_true(m.v[0].nchw);
    assert_null(m.denied);
    /* It outranks what the name of a layer says. */
    assay_observed_find(&m, slice, &map, pairs[1][0]);
    assert_int_equal(m.n, 1);
    assert_int_equal(m.v[0].tensor, CONV);
    assert_string_equal(m.denied, "act.y_quantized");
}

static void hybrid_refusals(void **state)
{
    struct bytes g = {.n = 0}, m = {.n = 0}, opset = {.n = 0}, one;

    (void)state;
    one = node("r", "", "Relu", "x", "y");
    put_msg(&g, 1, &one);
    put_info(&g, 11, "x", 1, DIMS(1));
    put_int(&m, 1, 7);
    put_msg(&m, 7, &g);
    put_int(&opset, 2, 11);
    put_msg(&m, 8, &opset);
    write_bytes("h.onnx", m.data, m.n);
    assert_true(
        assay_feature_map_open(&map, at("h.onnx"), slice, &noter, &err) < 0);
    assert_string_equal(sentence(),
                        "h.onnx: no node HzBpuHBM, expected the vendor's "
                        "hybrid model (P_hybrid_model.onnx)");
    write_text("h.onnx", "this is no model");
    assert_true(
        assay_feature_map_open(&map, at("h.onnx"), slice, &noter, &err) < 0);
    assert_true(assay_feature_map_open(&map, at("none"), slice, &noter, &err) <
                0);
}

static void two_layers_of_a_name(void **state)
{
    struct assay_observed_match m;

    (void)state;
    assay_observed_find(&m, slice, NULL, "conv1_nhwc2nchw_transposed_output0");
    assert_int_equal(m.n, 1);
    slice->layers[3].name = "conv1";
    assay_observed_find(&m, slice, NULL, "conv1_nhwc2nchw_transposed_output0");
    assert_int_equal(m.n, 0); /* not guessed */
}

static void sources(void **state)
{
    const int64_t dims[] = {1, 2, 2, 3};
    static char *two[] = {"in/a.npz", "in/b.npz"};
    static size_t rows[] = {ASSAY_CASE_WHOLE, ASSAY_CASE_WHOLE};

    (void)state;
    array("sim/0007.npz", "relu.y_quantized", ASSAY_S16, 4, dims, counted);
    write_text("sim/notes.txt", "x");
    assert_int_equal(find(NULL), 0);
    assert_int_equal(c.columns[ASSAY_CASE_SIM].n_have, 0);
    assert_non_null(strstr(notes, "sim/0007.npz: no such sample: ignored"));
    assert_non_null(strstr(notes, "sim/notes.txt: neither an npz nor"));
    assay_case_columns_close(&c);
    /* Named by an option and of the same number: in order. */
    assert_int_equal(find(at("sim")), 0);
    assert_int_equal(c.columns[ASSAY_CASE_SIM].n_have, 1);
    assay_case_columns_close(&c);
    c.n_samples = 2;
    c.inputs = two;
    c.input_rows = rows;
    assert_int_equal(find(at("sim")), ASSAY_EMISMATCH);
    assert_string_equal(sentence(), "sim: 1 samples, none with the name of one "
                                    "of the 2 input samples");
    assay_case_columns_close(&c);
    /* One file: the sample of its name, else the first, and that is told. */
    assert_int_equal(find(at("sim/0007.npz")), 0);
    assert_int_equal(c.columns[ASSAY_CASE_SIM].n_have, 1);
    assert_non_null(c.columns[ASSAY_CASE_SIM].paths[0]);
    assert_non_null(strstr(notes, "sim/0007.npz: one sample for 2: counts for "
                                  "the first, 'a'"));
    assay_case_columns_close(&c);
    array("b.npz", "relu.y_quantized", ASSAY_S16, 4, dims, counted);
    assert_int_equal(find(at("b.npz")), 0);
    assert_null(c.columns[ASSAY_CASE_SIM].paths[0]);
    assert_non_null(c.columns[ASSAY_CASE_SIM].paths[1]);
    assay_case_columns_close(&c);
    /* Two folders without a text are no samples, whatever their number. */
    mkdir(at("two"), 0700);
    mkdir(at("two/inputs"), 0700);
    mkdir(at("two/sim"), 0700);
    assert_int_equal(find(at("two")), ASSAY_EMISMATCH);
    assert_non_null(strstr(sentence(), "but a folder 'sim': name that one"));
    assay_case_columns_close(&c);
    assert_int_equal(find(at("nowhere")), ASSAY_EIO);
    assay_case_columns_close(&c);
    /* Both of one sample. */
    mkdir(at("sim/a"), 0700);
    array("sim/a.npz", "relu.y_quantized", ASSAY_S16, 4, dims, counted);
    assert_int_equal(find(NULL), ASSAY_EMISMATCH);
    assert_string_equal(sentence(),
                        "sim: both an npz and a folder for sample 'a', "
                        "expected one of them");
    assay_case_columns_close(&c);
    /* Texts of one sample for two. */
    write_text("sim/hbdk_output0_feature_a_elem_int.txt", nhwc_text);
    assert_int_equal(find(NULL), ASSAY_EMISMATCH);
    assert_non_null(strstr(sentence(), "beside samples"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(texts, setup, teardown),
        cmocka_unit_test_setup_teardown(text_refusals, setup, teardown),
        cmocka_unit_test_setup_teardown(strangers, setup, teardown),
        cmocka_unit_test_setup_teardown(arrays, setup, teardown),
        cmocka_unit_test_setup_teardown(disputed, setup, teardown),
        cmocka_unit_test_setup_teardown(transposed_otherwise, setup, teardown),
        cmocka_unit_test_setup_teardown(hybrid, setup, teardown),
        cmocka_unit_test_setup_teardown(hybrid_refusals, setup, teardown),
        cmocka_unit_test_setup_teardown(two_layers_of_a_name, setup, teardown),
        cmocka_unit_test_setup_teardown(sources, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
