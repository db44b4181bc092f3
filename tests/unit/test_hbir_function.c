/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions: which one is the model, names, results, constants, and a text of
 * the published form with numbers of its own, computed by hand.
 *
 * links: lib/core/slice_part.c lib/core/probe.c
 * links: host-tools/model/hbir*.c host-tools/model/mlir*.c
 * links: host-tools/model/file.c host-tools/model/npz*.c
 * links: host-tools/model/npy.c host-tools/model/archive.c
 * links: host-tools/model/archive.c
 * links: host-tools/model/npy.c
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
#include <unistd.h>

#include <cmocka.h>

#include "host-tools/model/mlir_import.h"
#include "host-tools/model/numerics_file.h"
#include "tests/support/hbir.h"
#include "tests/support/runs.h"

static struct assay_slice *read_good(const char *text, char *notes)
{
    struct assay_err err;
    struct assay_slice *s = hbir_open(text, notes, &err);

    if (!s)
        fail_msg("%s", err.text);
    return s;
}

static void refused(const char *text, const char *said)
{
    struct assay_err err;
    struct assay_slice *s = hbir_open(text, NULL, &err);

    if (s)
        fail_msg("read: %s", said);
    if (!strstr(err.text, said))
        fail_msg("'%s', expected '%s'", err.text, said);
}

/* ---- the published form ------------------------------------------------- */

/* What a compiler prints of one convolution; here the weights are constant. */
#define SIGNATURE \
    "quant::quantize(Tensor, double[], int64_t[], bool, int64_t, bool) -> " \
    "(Tensor)"
#define HEAD \
    "module attributes {hbdk.perf_stage = 1 : i64, hbdk.target = \"B30G\"} {" \
    "\n  func.func @main(%arg0: tensor<1x2x1x2xf32> {hbir.desc = \"in\", " \
    "hbir.id = 1 : i64, hbir.name = \"img\"}"
#define QUANTIZE \
    "<{diffRank = 0 : i64, isCustom = false, parameters = [[5.000000e-01], " \
    "[0], false, 0, false], signature = \"" SIGNATURE "\"}>"
#define RESULT \
    ") -> (tensor<1x2x1x3xsi8> {hbir.desc = \"out\", hbir.id = -2 : i64, " \
    "hbir.name = \"pred\", hbir.scale = !qnt.uniform<si8:f32, " \
    "0.3725490196>}) {\n"
#define CONV \
    "    %2 = \"hbir.constant\"() <{values = dense<[[5, 1, 0, 0, 24001, 14], " \
    "[-9, 1, 0, 1, 32767, 15], [0, 1, 0, 0, 32000, 10]]> : " \
    "tensor<3x6xsi64>}> : () -> tensor<3x6xsi64>\n" \
    "    %3 = \"b30.conv2d\"(%0, %1, %2) <{dilation = [1, 1], instanceId = " \
    "-1 : i64, kernel = [1, 1], operandSegmentSizes = array<i32: 1, 1, 1, 0, " \
    "0>, pad = [0, 0, 0, 0], padValue = 0 : i64, processDone = 0 : i32, relu " \
    "= false, stride = [1, 1]}> ({\n    }) : (tensor<1x2x1x2xsi8>, " \
    "tensor<3x1x1x2xsi8>, tensor<3x6xsi64>) -> tensor<1x2x1x3xsi8>\n" \
    "    return %3 : tensor<1x2x1x3xsi8>\n  }\n}\n"

static const char constant_weights[] = HEAD RESULT
    "    %0 = \"hbtl.call\"(%arg0) " QUANTIZE
    " : (tensor<1x2x1x2xf32>) -> tensor<1x2x1x2xsi8>\n"
    "    %1 = \"hbir.constant\"() <{values = dense<[[[[2, 3]]], [[[-4, 5]]], "
    "[[[127, -128]]]]> : tensor<3x1x1x2xsi8>}> : () -> tensor<3x1x1x2xsi8>"
    "\n" CONV;
static const char argument_weights[] = HEAD
    ", %arg1: tensor<3x1x1x2xf32> {hbir.id = 2 : i64, hbir.name = \"weight\"}" RESULT
    "    %0 = \"hbtl.call\"(%arg0) " QUANTIZE
    " : (tensor<1x2x1x2xf32>) -> tensor<1x2x1x2xsi8>\n"
    "    %1 = \"hbtl.call\"(%arg1) " QUANTIZE
    " : (tensor<3x1x1x2xf32>) -> tensor<3x1x1x2xsi8>\n" CONV;

static void published_form(void **state)
{
    /* 5.25 / 0.5 = 10.5 -> 10 and -3.75 / 0.5 = -7.5 -> -8: half to even. */
    static const float image[4] = {5.25F, 1.0F, -3.75F, 0.4F};
    /* x = (10, 2), (-8, 1). Sums 26, -30, 1014; -13, 37, -1144; bias on top
     * 31, -39, 1014; -8, 28, -1144. (31 * 24001) >> 14 = 45, (-39 >> 1) *
     * 32767 >> 15 = -20, (1014 * 32000) >> 10 -> 127; (-8 * 24001) >> 14 =
     * -12, 14 * 32767 >> 15 = 13, -> -128. */
    static const int8_t want[6] = {45, -20, 127, -12, 13, -128};
    struct assay_slice *s = read_good(constant_weights, NULL);
    struct assay_numerics_file nash = {0};
    struct assay_err err = {0};
    struct runs r;
    const int8_t *q;

    (void)state;
    assert_int_equal(s->n_layers, 2);
    assert_string_equal(s->layers[0].name, "hbtl.call_0");
    assert_string_equal(s->layers[0].source_op, "quant::quantize");
    assert_string_equal(s->layers[1].name, "b30.conv2d_3");
    assert_string_equal(s->tensors[s->layers[1].output].name, "pred");
    assert_true(s->tensors[s->layers[1].output].quant.scale[0] ==
                0.3725490196F);
    assert_int_equal(assay_numerics_open(&nash, "nash", &err), 0);
    assert_int_equal(assay_numerics_use(s, &nash.n, &err), 0);
    runs_init(&r, s);
    r.given[assay_slice_find_tensor(s, "img")] = image;
    if (runs_run(&r))
        fail_msg("%s", r.err.text);
    q = r.out[0];
    assert_int_equal(q[0], 10);
    assert_int_equal(q[2], -8);
    assert_memory_equal(r.out[1], want, sizeof(want));
    runs_close(&r);
    assay_numerics_close(&nash);
    assay_slice_free(s);
}

static void weights_of_an_argument(void **state)
{
    struct assay_slice *s = read_good(argument_weights, NULL);

    (void)state;
    assert_int_equal(s->n_layers, 3);
    assert_int_equal(s->layers[2].op, ASSAY_OP_SKIPPED);
    assert_string_equal(s->layers[2].skip_reason,
                        "the weights '%1' are not constant");
    assert_int_equal(s->layers[2].n_inputs, 2);
    assay_slice_free(s);
}

/* ---- names and results -------------------------------------------------- */

#define T "tensor<2x2xsi8>"
#define RELU(to, of, loc) \
    "    %" #to " = \"hbir.relu\"(%" #of ") : (" T ") -> " T " " loc "\n"

static void names(void **state)
{
    static const char text[] =
        "#loc1 = loc(\"f.py\":3:7)\n#loc2 = loc(\"net.a\")\n"
        "func.func @f(%arg0: " T ", %arg1: " T
        " {hbir.name = \"net.z\"}) -> (" T " {hbir.name = \"out\"}, " T
        ") {\n" RELU(0, arg0, "loc(#loc2)")
            RELU(1, 0, "loc(fused<\"x\">[#loc1, \"net.a\"])") RELU(
                2, 1,
                "loc(\"net.z\")") "    %3:2 = \"b30.split2\"(%2) : (" T
                                  ") -> (" T ", " T ") "
                                  "loc(\"net.s\")\n" RELU(
                                      4, 3 #1,
                                      "loc(#loc1)") "    %5 = \"hbir.relu\"(%4) {hbir.name = \"own\"} : (" T
                                                    ") -> " T
                                                    " loc(\"net.a\")\n" RELU(
                                                        6, 5,
                                                        "loc(\"bad\\0Aname\")") "    return %5, %4 : " T
                                                                                ", " T
                                                                                "\n}\n";
    static const char *const layers[][2] = {
        {"net.a", "net.a"},     {"net.a#2", "net.a#2"},
        {"net.z", "net.z#2"},   {"net.s", "net.s"},
        {"net.s:1", "net.s:1"}, {"hbir.relu_4", "hbir.relu_4"},
        {"own", "out"},         {"bad?name", "bad?name"},
    };
    struct assay_slice *s = read_good(text, NULL);

    (void)state;
    assert_string_equal(s->tensors[0].name, "_input_0");
    assert_string_equal(s->tensors[1].name, "net.z");
    assert_int_equal(s->n_layers, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_string_equal(s->layers[i].name, layers[i][0]);
        assert_string_equal(s->tensors[s->layers[i].output].name, layers[i][1]);
    }
    assert_true(s->tensors[s->layers[5].output].is_output);
    assert_true(s->tensors[s->layers[6].output].is_output);
    assert_false(s->tensors[s->layers[7].output].is_output);
    assay_slice_free(s);
}

/* Arguments, constants and one value twice as results are copies. */
static void results(void **state)
{
    static const char text[] =
        "func.func @f(%arg0: " T " {hbir.name = \"in\"}) -> (" T
        " {hbir.name = \"r0\"}, " T " {hbir.name = \"r1\"}, " T
        " {hbir.name = \"r2\"}, " T ") {\n"
        "    %c = \"hbir.constant\"() <{values = dense<4> : " T "}> : () -> " T
        "\n" RELU(0, arg0, "") "    return %arg0, %0, %0, %c : " T ", " T ", " T
                               ", " T "\n}\n";
    static const char *const names_of[] = {"r1", "r0", "r2", "_output_3"};
    struct assay_slice *s = read_good(text, NULL);

    (void)state;
    assert_int_equal(s->n_layers, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct assay_layer *l = &s->layers[i];

        assert_int_equal(l->op, i ? ASSAY_OP_RESHAPE : ASSAY_OP_UNARY);
        assert_string_equal(s->tensors[l->output].name, names_of[i]);
        assert_true(s->tensors[l->output].is_output);
    }
    assert_int_equal(s->tensors[s->layers[3].inputs[0]].role,
                     ASSAY_ROLE_CONSTANT);
    assay_slice_free(s);
}

static void which_function(void **state)
{
    static const char one[] =
        "(%arg0: " T ") -> " T " {\n" RELU(0, arg0, "") "    return %0 : " T
                                                        "\n}\n";
    char text[2000], notes[600];
    struct assay_slice *s;

    (void)state;
    snprintf(text, sizeof(text), "module {\nfunc.func private @h%s}\n", one);
    refused(text, "no function with a body");
    snprintf(text, sizeof(text),
             "module {\nfunc.func private @h%sfunc.func @g%s}\n", one, one);
    s = read_good(text, notes);
    assert_string_equal(notes, "m.mlir: 1 functions besides the model's are "
                               "ignored");
    assay_slice_free(s);
    snprintf(text, sizeof(text), "module {\nfunc.func @a%sfunc.func @main%s}\n",
             one, one);
    s = read_good(text, notes);
    assert_int_equal(s->n_layers, 1);
    assay_slice_free(s);
    snprintf(text, sizeof(text), "module {\nfunc.func @a%sfunc.func @b%s}\n",
             one, one);
    refused(text, "2 functions (@a, @b): expected one, or one named @main");
    refused("module {\n}\n", "no function with a body");
    refused("func.func @f(%arg0: " T ") -> " T " {\n  return %arg0 : " T
            "\n^bb1:\n  return %arg0 : " T "\n}\n",
            "2 blocks: control flow is not supported");
    refused("func.func @f() {\n  return\n}\n", "no operation to run");
    refused("\"func.func\"() <{function_type = (" T ") -> tensor<4xsi8>, "
            "sym_name = \"f\"}> ({\n^bb0(%a: " T "):\n  \"func.return\"(%a) : "
            "(" T ") -> ()\n}) : () -> ()\n",
            "result 0 is tensor<2x2xsi8>, but the function's type says "
            "tensor<4xsi8>");
}

static void dynamic_argument(void **state)
{
    static const char text[] =
        "func.func @f(%arg0: tensor<1x8x8x1xui8, {dynamic_dims = [-2]}> "
        "{hbir.name = \"y\"}) -> " T " {\n"
        "    %0 = \"hbir.image\"(%arg0) : (tensor<1x8x8x1xui8, {dynamic_dims = "
        "[-2]}>) -> " T "\n" RELU(1, 0, "") "    return %1 : " T "\n}\n";
    char notes[600];
    struct assay_slice *s = read_good(text, notes);

    (void)state;
    assert_string_equal(notes, "m.mlir: argument 'y' is a tensor with dynamic "
                               "dimensions: what reads it is not run");
    assert_int_equal(s->n_layers, 2);
    assert_int_equal(s->layers[0].op, ASSAY_OP_SKIPPED);
    assert_int_equal(s->layers[1].op, ASSAY_OP_UNARY);
    assay_slice_free(s);
}

/* A result without a shape: the layer is told, and what reads it is not run. */
static void shapeless_result(void **state)
{
    static const char text[] =
        "func.func @f(%arg0: " T ") -> tensor<*xsi8> {\n"
        "    %0 = \"b30.nms\"(%arg0) : (" T ") -> tensor<?xsi8>\n"
        "    %1 = \"hbir.relu\"(%0) : (tensor<?xsi8>) -> tensor<*xsi8>\n"
        "    return %1 : tensor<*xsi8>\n}\n";
    struct assay_slice *s = read_good(text, NULL);

    (void)state;
    assert_int_equal(s->n_layers, 2);
    assert_string_equal(s->layers[0].skip_reason,
                        "operation 'b30.nms' is not known; its result is a "
                        "tensor with a dynamic dimension");
    assert_non_null(strstr(s->layers[1].skip_reason,
                           "input '%0' is a tensor with a dynamic dimension"));
    assert_string_equal(s->tensors[s->layers[0].output].axes, "?");
    assay_slice_free(s);
}

/* ---- constants ---------------------------------------------------------- */

/* Weights that are reshaped and transposed before they are used. */
static void folded(void **state)
{
    static const char text[] =
        "func.func @f(%arg0: tensor<1x3xsi8>) -> tensor<1x2xsi32> {\n"
        "    %0 = \"hbir.constant\"() <{values = dense<\"0x010203040506\"> : "
        "tensor<6xsi8>}> : () -> tensor<6xsi8>\n"
        "    %1 = \"hbir.reshape\"(%0) <{shape = [2, 3]}> : (tensor<6xsi8>) -> "
        "tensor<2x3xsi8>\n"
        "    %2 = \"b30.trans_layout\"(%1) <{perm = [1, 0]}> : "
        "(tensor<2x3xsi8>) -> tensor<3x2xsi8>\n"
        "    %3 = \"arith.constant\"() <{value = dense<[[0, 1, 0, 0, 1, 0]]> : "
        "tensor<1x6xi64>}> : () -> tensor<1x6xi64>\n"
        "    %4 = \"b30.linear\"(%arg0, %2, %3) : (tensor<1x3xsi8>, "
        "tensor<3x2xsi8>, tensor<1x6xi64>) -> tensor<1x2xsi32>\n"
        "    return %4 : tensor<1x2xsi32>\n}\n";
    static const int8_t want[6] = {1, 2, 3, 4, 5, 6}; /* [N][K] again */
    struct assay_slice *s = read_good(text, NULL);
    const struct assay_tensor *w;

    (void)state;
    assert_int_equal(s->n_layers, 1);
    assert_int_equal(s->layers[0].op, ASSAY_OP_GEMM);
    w = &s->tensors[s->layers[0].inputs[1]];
    assert_int_equal(w->dims[0], 2);
    assert_memory_equal(w->data, want, sizeof(want));
    assay_slice_free(s);
}

#define GATHER(attr) \
    "func.func @f(%arg0: tensor<1x2xf32>) -> tensor<1x2xf32> {\n" \
    "    %0 = \"hbir.constant\"() <{values = " attr \
    "}> : () -> tensor<2xf16>\n" \
    "    %1 = \"b30vpu.add\"(%arg0, %0) : (tensor<1x2xf32>, tensor<2xf16>) -> " \
    "tensor<1x2xf32>\n    return %1 : tensor<1x2xf32>\n}\n"

static void halves(void **state)
{
    /* 1.5, and the smallest one that is not 0. */
    static const float want[2] = {1.5F, 5.9604644775390625e-8F};
    struct assay_slice *s =
        read_good(GATHER("dense<\"0x003E0100\"> : tensor<2xf16>"), NULL);
    const struct assay_tensor *k = &s->tensors[s->layers[0].inputs[1]];

    (void)state;
    assert_true(s->layers[0].half);
    assert_int_equal(k->dtype, ASSAY_F32);
    assert_memory_equal(k->data, want, sizeof(want));
    assay_slice_free(s);
}

#define SPLAT(type) \
    "func.func @f(%a: " type ") -> " type " {\n" \
    "%k = \"hbir.constant\"() <{values = dense<-300> : " type \
    "}> : () -> " type \
    "\n%r = \"b30.binary_eltwise\"(%a, %k) {mode = \"max\"} : (" type \
    ", " type ") -> " type "\nreturn %r : " type "\n}\n"

static void splats_reach_the_last_element(void **state)
{
    const float want[2] = {1.5F, 1.5F};
    struct assay_slice *s = read_good(SPLAT("tensor<3x7xsi16>"), NULL);
    const struct assay_tensor *k = &s->tensors[s->layers[0].inputs[1]];

    (void)state;
    for (size_t i = 0; i < 21; i++)
        assert_int_equal(((const int16_t *)k->data)[i], -300);
    assay_slice_free(s);
    s = read_good(GATHER("dense<1.5> : tensor<2xf16>"), NULL);
    k = &s->tensors[s->layers[0].inputs[1]];
    assert_memory_equal(k->data, want, sizeof(want));
    assay_slice_free(s);
    /* 256 MiB of them are the limit */
    refused(SPLAT("tensor<134217729xsi16>"), "constant '%k' is too large");
}

static void what_is_no_text_is_told(void **state)
{
    (void)state;
    refused("ML\xefR\6MLIR19.1.0", "m.mlir: MLIR bytecode, expected text");
    refused("\xef\xbb\xbfmodule {}", "begins with a byte order mark");
    refused("\xff\xfem", "begins with a byte order mark");
}

/* In constants.npz beside the model. */
static void beside_the_model(void **state)
{
    static const char text[] =
        GATHER("dense_resource<\"assay.0\"> : tensor<2xf32>");
    char folder[] = P_tmpdir "/assay-hbir-XXXXXX", path[200], model[200];
    struct assay_npz_writer *w = NULL;
    struct assay_slice *s = NULL;
    struct assay_err err = {0};
    char plain[sizeof(text)];
    const int64_t dims[1] = {2};
    const float data[2] = {2.5F, -1.0F};

    (void)state;
    memcpy(plain, text, sizeof(text));
    for (char *p = plain; (p = strstr(p, "2xf16")) != NULL;)
        memcpy(p, "2xf32", 5);
    refused(plain, "constant 'assay.0' is neither in the text nor in "
                   "constants.npz beside it");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/constants.npz", folder);
    snprintf(model, sizeof(model), "%s/model.mlir", folder);
    assert_int_equal(assay_npz_create(&w, path, &err), 0);
    assert_int_equal(
        assay_npz_add(w, "assay.0", ASSAY_F32, 1, dims, data, &err), 0);
    assert_int_equal(assay_npz_finish(w, &err), 0);
    if (assay_mlir_reader.open(&s, (const uint8_t *)plain, strlen(plain), model,
                               NULL, &err))
        fail_msg("%s", err.text);
    assert_memory_equal(s->tensors[s->layers[0].inputs[1]].data, data,
                        sizeof(data));
    assay_slice_free(s);
    for (char *p = plain; (p = strstr(p, "2xf32")) != NULL;)
        memcpy(p, "2xsi8", 5);
    s = NULL;
    assert_int_not_equal(assay_mlir_reader.open(&s, (const uint8_t *)plain,
                                                strlen(plain), model, NULL,
                                                &err),
                         0);
    assert_non_null(strstr(err.text, "constant 'assay.0': expected 2 of int8, "
                                     "found 2 of float32 in constants.npz"));
    assert_int_equal(truncate(path, 20), 0);
    assert_int_not_equal(assay_mlir_reader.open(&s, (const uint8_t *)plain,
                                                strlen(plain), model, NULL,
                                                &err),
                         0);
    assert_non_null(strstr(err.text,
                           "constant 'assay.0' is not in the text, "
                           "and the file beside it cannot be read: "));
    assert_non_null(strstr(err.text, "constants.npz: not a readable zip"));
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_form),
        cmocka_unit_test(weights_of_an_argument),
        cmocka_unit_test(names),
        cmocka_unit_test(results),
        cmocka_unit_test(which_function),
        cmocka_unit_test(dynamic_argument),
        cmocka_unit_test(shapeless_result),
        cmocka_unit_test(folded),
        cmocka_unit_test(halves),
        cmocka_unit_test(splats_reach_the_last_element),
        cmocka_unit_test(what_is_no_text_is_told),
        cmocka_unit_test(beside_the_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
