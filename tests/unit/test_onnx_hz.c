/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes of domain horizon: the layers and programs that the ONNX reader makes
 * of them, what it skips with a reason, and what it refuses with a sentence.
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

#include <cmocka.h>

#include "host-tools/model/numerics_file.h"
#include "host-tools/model/onnx.h"
#include "tests/unit/onnx_bytes.h"

/* One attribute: a word, or integers (count -1: one integer, no list). */
struct attr {
    const char *name, *word;
    int count;
    int64_t v[2];
};

/* A node on x, its constants by name, and attributes. */
struct spec {
    const char *op, *in;
    int x_type, y_type;
    struct attr attrs[14];
};

/* x: 1x4x4x2, y as given; 3x3 weights with two channels in and out. */
static const struct spec conv = {"HzSQuantizedConv",
                                 "x w b bs",
                                 3,
                                 3,
                                 {{"kernel_shape", NULL, 2, {3, 3}},
                                  {"pads4", NULL, 4, {1, 1}},
                                  {"group", NULL, -1, {1}},
                                  {"data_format", "NHWC", 0, {0}},
                                  {"output_bit", NULL, -1, {8}},
                                  {"right_shift", NULL, 2, {1, 2}},
                                  {"scale", NULL, 2, {100, 200}},
                                  {"out_shift", NULL, 2, {7, 7}},
                                  {"activation", "relu", 0, {0}}}};
static const struct spec lut = {
    "HzLut", "x table", 3, 3, {{"data_format", "NHWC", 0, {0}}}};
static const struct spec add = {"HzSElementwiseAdd",
                                "x x",
                                3,
                                3,
                                {{"data_format", "NHWC", 0, {0}},
                                 {"x_shift", NULL, 1, {3}},
                                 {"e_shift", NULL, 1, {2}},
                                 {"e_scale", NULL, 2, {5, 6}},
                                 {"accu_right_shift", NULL, 1, {1}},
                                 {"output_scale", NULL, 1, {9}},
                                 {"output_right_shift", NULL, 1, {4}},
                                 {"rounding_method", "ROUND", 0, {0}}}};

static size_t table_length = 256, bias_length = 2;
static int bias_type = 6, shift_of_bias = 3;
static bool typed = true;

static void put_attr(struct bytes *n, const struct attr *a)
{
    struct dims d = {a->count, {a->v[0], a->v[1]}};

    if (a->word) {
        put_attr_str(n, a->name, a->word);
    } else if (a->count < 0) {
        put_attr_int(n, a->name, a->v[0]);
    } else if (!strcmp(a->name, "pads4")) {
        put_ints(n, "pads", DIMS(1, 1, 1, 1));
    } else {
        put_ints(n, a->name, d);
    }
}

/* change: replaces the attribute of its name, or is added; count 0 and no word
 * takes it away. */
static struct bytes build(const struct spec *s, const struct attr *change)
{
    static struct bytes graph;
    static const int8_t w[36] = {1, 2, 3}, table[300] = {0};
    const int8_t bs[2] = {(int8_t)shift_of_bias, 0};
    const int32_t b[4] = {0x30000000, -7, 0, 0};
    struct bytes n = node("n", "horizon", s->op, s->in, "y");
    bool done = change == NULL;

    graph.n = 0;
    put_info(&graph, 11, "x", s->x_type, DIMS(1, 4, 4, 2));
    put_const(&graph, "w", 3, DIMS(2, 3, 3, 2), w, sizeof(w));
    put_const(&graph, "b", bias_type, DIMS((int64_t)bias_length), b,
              4 * bias_length);
    put_const(&graph, "bs", 3, DIMS(2), bs, sizeof(bs));
    put_const(&graph, "table", 3, DIMS((int64_t)table_length), table,
              table_length);
    for (int i = 0; i < 14 && s->attrs[i].name; i++) {
        bool same = change && !strcmp(change->name, s->attrs[i].name);
        const struct attr *a = same ? change : &s->attrs[i];

        done |= same;
        if (a->word || a->count)
            put_attr(&n, a);
    }
    if (!done)
        put_attr(&n, change);
    put_msg(&graph, 1, &n);
    if (typed)
        put_info(&graph, 12, "y", s->y_type, DIMS(1, 4, 4, 2));
    else
        put_str(&graph, 2, "g");
    return model(&graph, 11);
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

static struct assay_slice *opened(const struct spec *s, const struct attr *a)
{
    struct bytes m = build(s, a);
    struct assay_slice *out = NULL;
    struct assay_err err = {0};

    if (assay_onnx_reader.open(&out, m.data, m.n, "m.onnx", NULL, &err))
        fail_msg("%s", err.text);
    use_rules(out);
    return out;
}

/* What the steps are, in order, with the first operand. */
static void expect_steps(const struct assay_program *p, const char *want)
{
    static const char *const names[] = {[ASSAY_STEP_SHL] = "shl",
                                        [ASSAY_STEP_SHR] = "shr",
                                        [ASSAY_STEP_MUL] = "mul",
                                        [ASSAY_STEP_SAT] = "sat",
                                        [ASSAY_STEP_WRAP] = "wrap",
                                        [ASSAY_STEP_CLAMP] = "clamp",
                                        [ASSAY_STEP_ADD_SCALED] = "add_scaled"};
    char text[300] = "";

    for (uint32_t i = 0; i < p->n_steps; i++) {
        const struct assay_step *s = &p->steps[i];

        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %lld",
                 i ? ", " : "", names[s->kind],
                 s->a ? (long long)s->a[0] : (long long)s->bits);
    }
    assert_string_equal(text, want);
}

static void test_conv(void **state)
{
    struct assay_slice *s = opened(&conv, NULL);
    const struct assay_layer *l = &s->layers[0];
    const struct assay_tensor *bias;

    (void)state;
    assert_string_equal(s->numerics, "bayes-e");
    assert_int_equal(s->n_layers, 1);
    assert_int_equal(l->op, ASSAY_OP_CONV2D);
    assert_string_equal(l->form, "conv");
    expect_steps(&l->out_program, "shr 1, sat 16, mul 100, shr 7, sat 8, "
                                  "clamp 0");
    assert_int_equal(l->out_program.steps[0].n, 2);
    assert_int_equal(l->out_program.steps[3].n, 1); /* equal entries: one */
    assert_int_equal(l->out_program.steps[0].round, ASSAY_ROUND_FLOOR);
    assert_int_equal(l->out_program.steps[3].round, ASSAY_ROUND_FLOOR);
    bias = &s->tensors[l->inputs[2]]; /* 0x30000000 << 3, modulo 2^32 */
    assert_int_equal(((const int32_t *)bias->data)[0], (int32_t)0x80000000u);
    assert_int_equal(((const int32_t *)bias->data)[1], -7);
    assert_string_equal(s->tensors[l->output].axes, "NHWC");
    assert_int_equal(s->tensors[l->output].perm[1], 1);
    assay_slice_free(s);
}

static void test_add(void **state)
{
    struct assay_slice *s = opened(&add, NULL);
    const struct assay_layer *l = &s->layers[0];

    (void)state;
    assert_int_equal(l->op, ASSAY_OP_BINARY);
    assert_int_equal(l->p.binary.combine, ASSAY_COMBINE_ADD);
    expect_steps(&l->in_programs[0], "shl 3");
    expect_steps(&l->in_programs[1], "shl 2, mul 5");
    expect_steps(&l->out_program, "wrap 32, shr 1, sat 16, mul 9, shr 4, "
                                  "sat 8");
    assert_int_equal(l->out_program.steps[4].round, ASSAY_ROUND_HALF_UP);
    assay_slice_free(s);
}

static void test_lut(void **state)
{
    struct assay_slice *s = opened(&lut, NULL);

    (void)state;
    assert_int_equal(s->layers[0].op, ASSAY_OP_TABLE);
    assay_slice_free(s);
}

/* Not known, or never measured: a visible layer, never a crash. */
static void test_skipped(void **state)
{
    static const struct spec foo = {"HzFoo", "x", 3, 3, {{NULL}}};
    static const struct {
        const struct spec *s;
        struct attr change;
        const char *why;
    } rows[] = {
        {&foo,
         {"a", NULL, -1, {1}},
         "operator 'HzFoo' of domain 'horizon' is not known"},
        {&conv,
         {"wobble", NULL, -1, {1}},
         "attribute 'wobble' of 'HzSQuantizedConv' is not known"},
        {&conv, {"activation", "tanh", 0, {0}}, "attribute 'activation'"},
        {&conv, {"data_format", "NCHW", 0, {0}}, "attribute 'data_format'"},
        {&add,
         {"rounding_method", "CEIL", 0, {0}},
         "attribute 'rounding_method'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct assay_slice *s = opened(rows[i].s, &rows[i].change);

        assert_int_equal(s->layers[0].op, ASSAY_OP_SKIPPED);
        assert_string_equal(s->layers[0].name, "n");
        if (!strstr(s->layers[0].skip_reason, rows[i].why))
            fail_msg("%zu: %s", i, s->layers[0].skip_reason);
        assay_slice_free(s);
    }
}

static void refuse(const struct spec *s, const struct attr *a, const char *why)
{
    struct bytes m = build(s, a);
    struct assay_slice *out = NULL;
    struct assay_err err = {0};

    assert_true(
        assay_onnx_reader.open(&out, m.data, m.n, "m.onnx", NULL, &err) < 0);
    assert_null(out);
    if (!strstr(err.text, why) || !strstr(err.text, "'n')"))
        fail_msg("expected '%s', found '%s'", why, err.text);
}

static void test_bad_attributes(void **state)
{
    static const struct {
        const struct spec *s;
        struct attr change;
        const char *why;
    } rows[] = {
        {&conv,
         {"right_shift", NULL, 0, {0}},
         "attribute 'right_shift' is missing"},
        {&conv,
         {"data_format", NULL, 0, {0}},
         "attribute 'data_format' is missing"},
        {&conv,
         {"right_shift", NULL, 2, {1, 32}},
         "attribute 'right_shift': element 1 is 32, expected 0 to 31"},
        {&conv,
         {"out_shift", NULL, 2, {-1, 0}},
         "attribute 'out_shift': element 0 is -1, expected 0 to 31"},
        {&conv,
         {"scale", NULL, 1, {(int64_t)1 << 31}},
         "attribute 'scale': element 0 is 2147483648"},
        {&conv,
         {"scale", "many", 0, {0}},
         "attribute 'scale': expected a list of integers"},
        {&conv,
         {"output_bit", NULL, -1, {16}},
         "attribute 'output_bit': 16, but output 'y' is int8"},
        {&conv, {"group", NULL, -1, {2}}, "attribute 'group': 2 does not fit"},
        {&conv,
         {"kernel_shape", NULL, 2, {1, 3}},
         "attribute 'kernel_shape': 1x3, but the weights are 3x3"},
        {&conv, {"use_sumin", NULL, -1, {1}}, "attribute 'e_shift' is missing"},
        {&conv,
         {"output_bit", NULL, -1, {0}},
         "attribute 'output_bit': 0, expected 1 to 64"},
        {&conv,
         {"use_bias", NULL, -1, {0}},
         "attribute 'use_bias': 0, but the bias is there"},
        {&conv,
         {"use_bias", "yes", 0, {0}},
         "attribute 'use_bias': expected an integer, found a string"},
        {&conv,
         {"weight_thresholds", NULL, 2, {1, 2}},
         "attribute 'weight_thresholds': expected a list of floats, found a "
         "list of integers"},
        {&lut,
         {"lut_type", NULL, -1, {1}},
         "attribute 'lut_type': expected a string, found an integer"},
        {&add, {"e_scale", NULL, 0, {0}}, "attribute 'e_scale' is missing"},
        {&add,
         {"x_shift", NULL, 1, {40}},
         "attribute 'x_shift': element 0 is 40, expected 0 to 31"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        refuse(rows[i].s, &rows[i].change, rows[i].why);
}

static void test_bad_constants(void **state)
{
    struct spec s = conv;

    (void)state;
    table_length = 255;
    refuse(&lut, NULL, "table 'table': expected 256 elements, found 255");
    table_length = 256;
    bias_length = 3;
    refuse(&conv, NULL, "bias 'b': expected 2 elements, found 3");
    bias_length = 2;
    bias_type = 1;
    refuse(&conv, NULL, "bias 'b' is float32, expected int32");
    bias_type = 6;
    shift_of_bias = 32;
    refuse(&conv, NULL, "b_scale 'bs': element 0 is 32, expected 0 to 31");
    shift_of_bias = 3;
    s.in = "x w b";
    refuse(&s, NULL, "input 3 (b_scale) is missing");
    s.in = "x w - bs";
    refuse(&s, NULL, "b_scale 'bs' without a bias");
    s.in = "x w b bs";
    s.x_type = 1;
    refuse(&s, NULL, "input 'x' is float32, expected int8 or int16");
    typed = false;
    refuse(&conv, NULL, "output 'y' has no type in the file");
    typed = true;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conv),
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_lut),
        cmocka_unit_test(test_skipped),
        cmocka_unit_test(test_bad_attributes),
        cmocka_unit_test(test_bad_constants),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
