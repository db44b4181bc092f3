/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules and fields to programs: what is built, that it is built once, and
 * what a layer that does not fit is told.
 * links: lib/core/form*.c lib/core/arith*.c lib/core/slice.c lib/core/buf.c
 * links: lib/core/err.c lib/core/hash.c
 * libs: -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/form.h"

#define CHANNELS 3
#define BAYES \
    "add bias; wrap 32; shr pre_shift floor; sat 16; mul scale; shr " \
    "post_shift floor; sat out; relu"

static const int8_t weights[CHANNELS * 2];

/* A 1x1 convolution of two channels to three. */
static struct assay_slice *conv(enum assay_dtype in, enum assay_dtype out)
{
    struct assay_slice *s = assay_slice_new();
    uint32_t index;

    assert_non_null(s);
    for (int i = 0; i < 3; i++) {
        struct assay_tensor *t;

        assert_int_equal(assay_slice_add_tensor(s, &index, NULL), 0);
        t = &s->tensors[i];
        t->name = i == 0 ? "x" : i == 1 ? "w" : "y";
        t->dtype = i == 0 ? in : i == 1 ? ASSAY_S8 : out;
        t->rank = 4;
        t->dims[0] = i == 1 ? CHANNELS : 1;
        t->dims[1] = t->dims[2] = 1;
        t->dims[3] = i == 2 ? CHANNELS : 2;
        t->role = i == 0   ? ASSAY_ROLE_INPUT
                  : i == 1 ? ASSAY_ROLE_CONSTANT
                           : ASSAY_ROLE_ACTIVATION;
    }
    s->tensors[1].data = weights;
    s->tensors[1].size = sizeof(weights);
    assert_int_equal(assay_slice_add_layer(s, 2, &index, NULL), 0);
    s->layers[0].name = "c1";
    s->layers[0].op = ASSAY_OP_CONV2D;
    s->layers[0].inputs[0] = 0;
    s->layers[0].inputs[1] = 1;
    s->layers[0].output = 2;
    s->layers[0].form = "conv";
    return s;
}

static void field(struct assay_slice *s, const char *name, uint32_t n,
                  int64_t a, int64_t b, int64_t c)
{
    const int64_t v[CHANNELS] = {a, b, c};

    assert_int_equal(assay_field_add(s, &s->layers[0], name, n, v, NULL), 0);
}

static struct assay_slice *usual(void)
{
    struct assay_slice *s = conv(ASSAY_S8, ASSAY_S8);

    field(s, "bias", 3, 10, -20, 30);
    field(s, "pre_shift", 1, 2, 0, 0);
    field(s, "scale", 3, 16384, 20000, 32767);
    field(s, "post_shift", 1, 15, 0, 0);
    return s;
}

static void apply(struct assay_slice *s, const char *rule)
{
    struct assay_err err = {0};

    if (assay_rule_apply(s, 0, rule, &err) != 0)
        fail_msg("%s", err.text);
}

static void refused(struct assay_slice *s, const char *rule,
                    const char *sentence)
{
    struct assay_err err = {0};

    if (assay_rule_apply(s, 0, rule, &err) >= 0)
        fail_msg("'%s' is taken", rule);
    if (strstr(err.text, sentence) == NULL)
        fail_msg("'%s': expected '%s', found '%s'", rule, sentence, err.text);
    assay_slice_free(s);
}

static const struct assay_step *at(const struct assay_slice *s, uint32_t i)
{
    assert_true(i < s->layers[0].out_program.n_steps);
    return &s->layers[0].out_program.steps[i];
}

static void test_conv(void **state)
{
    struct assay_slice *s = usual();

    (void)state;
    apply(s, BAYES);
    /* The kernel's sum begins with the bias, and wraps by itself. */
    assert_int_equal(s->layers[0].n_inputs, 3);
    assert_true(s->layers[0].p.conv2d.has_bias);
    assert_int_equal(
        ((const int32_t *)s->tensors[s->layers[0].inputs[2]].data)[1], -20);
    assert_int_equal(s->layers[0].out_program.n_steps, 5);
    assert_int_equal(at(s, 0)->kind, ASSAY_STEP_SHR);
    assert_int_equal(at(s, 0)->round, ASSAY_ROUND_FLOOR);
    assert_int_equal(at(s, 0)->a[0], 2);
    assert_int_equal(at(s, 1)->kind, ASSAY_STEP_SAT);
    assert_int_equal(at(s, 1)->bits, 16);
    assert_int_equal(at(s, 2)->kind, ASSAY_STEP_MUL);
    assert_int_equal(at(s, 2)->n, 3);
    assert_int_equal(at(s, 2)->a[2], 32767);
    assert_int_equal(at(s, 3)->a[0], 15);
    assert_int_equal(at(s, 4)->bits, 8);
    assert_string_equal(s->layers[0].arith, "conv");
    assert_string_equal(s->layers[0].rule, BAYES);
    assay_slice_free(s);
}

/* Any order of rules ends where the last one alone would. */
static void test_again(void **state)
{
    static const char *const between[] = {
        BAYES,
        "add bias sat32; shr pre_shift ceil; sat out",
        "mul scale; add bias; shr post_shift half_up; sat out",
        "sat out",
    };
    struct assay_slice *once = usual();

    (void)state;
    apply(once, BAYES);
    for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++) {
        struct assay_slice *s = usual();
        uint32_t tensors;

        apply(s, BAYES);
        tensors = s->n_tensors;
        apply(s, between[i]);
        apply(s, BAYES);
        assert_int_equal(s->n_tensors, tensors);
        assert_int_equal(s->layers[0].n_inputs, once->layers[0].n_inputs);
        assert_int_equal(s->layers[0].out_program.n_steps,
                         once->layers[0].out_program.n_steps);
        for (uint32_t k = 0; k < once->layers[0].out_program.n_steps; k++) {
            assert_int_equal(at(s, k)->kind, at(once, k)->kind);
            assert_int_equal(at(s, k)->round, at(once, k)->round);
            assert_int_equal(at(s, k)->n, at(once, k)->n);
        }
        assay_slice_free(s);
    }
    assay_slice_free(once);
}

static void test_left_out(void **state)
{
    struct assay_slice *s = conv(ASSAY_S8, ASSAY_S8);

    (void)state;
    apply(s, BAYES); /* a layer without any field */
    assert_int_equal(s->layers[0].n_inputs, 2);
    assert_int_equal(s->layers[0].out_program.n_steps, 2);
    assert_int_equal(at(s, 0)->bits, 16);
    assert_int_equal(at(s, 1)->bits, 8);
    field(s, "relu", 1, 1, 0, 0);
    apply(s, BAYES);
    assert_int_equal(s->layers[0].out_program.n_steps, 3);
    assert_int_equal(at(s, 2)->kind, ASSAY_STEP_CLAMP);
    assert_int_equal(at(s, 2)->a[0], 0);
    assert_int_equal(at(s, 2)->b[0], 127);
    assay_slice_free(s);
}

/* A bias outside of int32, or one that must saturate, stays a step. */
static void test_wide_bias(void **state)
{
    struct assay_slice *s = conv(ASSAY_S16, ASSAY_S8);

    (void)state;
    field(s, "bias", 1, INT64_C(1) << 40, 0, 0);
    apply(s, "add bias; shr 40 floor; sat out");
    assert_false(s->layers[0].p.conv2d.has_bias);
    assert_int_equal(at(s, 0)->kind, ASSAY_STEP_ADD);
    assay_slice_free(s);
    s = usual();
    apply(s, "add bias sat32; sat out");
    assert_false(s->layers[0].p.conv2d.has_bias);
    assert_int_equal(at(s, 0)->add_mode, ASSAY_ADD_SAT32);
    assay_slice_free(s);
}

static int64_t bits_of(double v)
{
    int64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

static void test_derive(void **state)
{
    struct assay_slice *s = conv(ASSAY_S8, ASSAY_S8);

    (void)state;
    field(s, "real", 1, bits_of(0.75), 0, 0);
    apply(s, "derive half_up; mul scale; shr post_shift floor; sat out");
    assert_int_equal(at(s, 0)->a[0], 24576); /* 0.75 * 2^15 */
    assert_int_equal(at(s, 1)->a[0], 15);
    assay_slice_free(s);
    s = conv(ASSAY_S8, ASSAY_S8);
    field(s, "real", 1, bits_of(2.5 / 16), 0, 0);
    field(s, "post_shift", 1, 4, 0, 0);
    apply(s, "derive half_even; mul scale; shr post_shift floor; sat out");
    assert_int_equal(at(s, 0)->a[0], 2);
    apply(s, "derive half_up; mul scale; shr post_shift floor; sat out");
    assert_int_equal(at(s, 0)->a[0], 3);
    apply(s, "derive ceil; mul scale; shr post_shift floor; sat out");
    assert_int_equal(at(s, 0)->a[0], 3);
    apply(s, "derive trunc; mul scale; shr post_shift floor; sat out");
    assert_int_equal(at(s, 0)->a[0], 2);
    assay_slice_free(s);
}

static struct assay_slice *with(const char *name, uint32_t n, int64_t v)
{
    struct assay_slice *s = conv(ASSAY_S8, ASSAY_S8);

    field(s, name, n, v, v, v);
    return s;
}

static void test_refusals(void **state)
{
    struct assay_slice *s;

    (void)state;
    refused(with("pre_shift", 1, 63), BAYES,
            "layer 'c1': field 'pre_shift' is 63, expected -62 to 62");
    refused(with("pre_shift", 3, -63), BAYES, "field 'pre_shift' is -63");
    refused(with("x_shift", 1, -1), "shl x_shift; sat out",
            "field 'x_shift' is -1, expected 0 to 62");
    refused(with("scale", 1, INT64_C(1) << 31), "srdhm scale; sat out",
            "field 'scale' is 2147483648, expected -2147483648 to 2147483647");
    refused(with("bias", 2, 1), BAYES,
            "field 'bias' has 2 entries, expected 1 or 3");
    refused(with("real", 1, bits_of(0.5)), BAYES,
            "expected a rule that begins with derive");
    refused(with("real", 1, bits_of(-1)), "derive floor; mul scale; sat out",
            "field 'real' is -1, expected above 0 and below 2^30");
    refused(with("real", 1, bits_of(65536.0)),
            "derive floor; mul scale; sat out", "needs a shift to the left");
    s = with("real", 1, bits_of(0.5));
    field(s, "post_shift", 1, 63, 0, 0);
    refused(s, "derive floor; mul scale; shr post_shift floor; sat out",
            "field 'post_shift' is 63, expected 0 to 62");
    refused(conv(ASSAY_S8, ASSAY_F32), "sat out",
            "sat out: the output is float32, expected integers");
    refused(conv(ASSAY_S8, ASSAY_U8), "wrap out",
            "wrap out: the output is uint8, known is a signed one");
    refused(usual(),
            "sat 9; sat 9; sat 9; sat 9; sat 9; sat 9; sat 9; sat 9; sat 9; "
            "sat 9; sat 9; sat 9; sat out",
            "the program is longer than 12 steps");
    s = usual();
    s->layers[0].form = NULL;
    refused(s, BAYES, "there is no arithmetic to choose here");
}

/* A rule that is refused leaves the layer as it was. */
static void test_unchanged(void **state)
{
    struct assay_slice *s = usual();
    struct assay_err err = {0};
    struct assay_program before;

    (void)state;
    apply(s, BAYES);
    before = s->layers[0].out_program;
    assert_true(assay_rule_apply(s, 0, "shr scale floor; sat out", &err) < 0);
    assert_memory_equal(&before, &s->layers[0].out_program, sizeof(before));
    assert_string_equal(s->layers[0].rule, BAYES);
    assert_true(s->layers[0].p.conv2d.has_bias);
    assay_slice_free(s);
}

static void test_numerics(void **state)
{
    static const struct assay_numerics_rule rules[] = {
        {.form = "conv", .rule = BAYES, .golden = "", .note = ""}};
    static const struct assay_numerics n = {
        .name = "mine", .source = "a test", .n_rules = 1, .rules = rules};
    struct assay_slice *s = usual();
    struct assay_err err = {0};

    (void)state;
    assert_int_equal(assay_numerics_use(s, &n, &err), 0);
    assert_string_equal(s->numerics, "mine");
    assert_string_equal(s->layers[0].rule, BAYES);
    s->layers[0].form = "matmul";
    assert_true(assay_numerics_use(s, &n, &err) < 0);
    assert_string_equal(err.text, "layer 'c1': numerics 'mine' has no rule for "
                                  "form 'matmul'");
    /* What --arith chose stays, and what is skipped has nothing to choose. */
    s->layers[0].arith_overridden = true;
    assert_int_equal(assay_numerics_use(s, &n, &err), 0);
    s->layers[0].arith_overridden = false;
    s->layers[0].op = ASSAY_OP_SKIPPED;
    assert_int_equal(assay_numerics_use(s, &n, &err), 0);
    assay_slice_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conv),      cmocka_unit_test(test_again),
        cmocka_unit_test(test_left_out),  cmocka_unit_test(test_wide_bias),
        cmocka_unit_test(test_derive),    cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_unchanged), cmocka_unit_test(test_numerics),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
