/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status of a layer from what is known of it; the literal-float rule.
 *
 * links: host-tools/diff/classify.c lib/core/slice.c lib/core/buf.c lib/core/err.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host-tools/diff/diff.h"

struct row {
    const char *what;
    struct assay_layer_facts f;
    enum assay_row_status status;
    enum assay_row_reason reason;
    bool culprit, isolate;
};

static const struct row rows[] = {
    {"equal",
     {.compared = true, .inputs_equal = true},
     ASSAY_ROW_EXACT,
     ASSAY_WHY_NONE,
     false,
     false},
    {"differs on equal inputs",
     {.compared = true, .inputs_equal = true, .mismatch = 3, .outside = 3},
     ASSAY_ROW_DIVERGED,
     ASSAY_WHY_NONE,
     true,
     false},
    {"within on equal inputs",
     {.compared = true, .inputs_equal = true, .mismatch = 3},
     ASSAY_ROW_WITHIN,
     ASSAY_WHY_NONE,
     false,
     false},
    {"within, float reference",
     {.compared = true,
      .inputs_equal = true,
      .mismatch = 3,
      .float_reference = true},
     ASSAY_ROW_WITHIN,
     ASSAY_WHY_FLOAT_REFERENCE,
     false,
     false},
    {"equal although an input differs",
     {.compared = true},
     ASSAY_ROW_EXACT,
     ASSAY_WHY_MASKED,
     false,
     false},
    {"differs, inputs differ, not isolated yet",
     {.compared = true, .mismatch = 3, .outside = 3},
     ASSAY_ROW_INHERITED,
     ASSAY_WHY_NOT_ISOLATED,
     false,
     true},
    {"isolated equal, behind a culprit",
     {.compared = true,
      .mismatch = 3,
      .outside = 3,
      .isolated_run = true,
      .behind_culprit = true},
     ASSAY_ROW_INHERITED,
     ASSAY_WHY_NONE,
     false,
     false},
    {"isolated equal, behind a float layer",
     {.compared = true, .mismatch = 3, .outside = 3, .isolated_run = true},
     ASSAY_ROW_INHERITED,
     ASSAY_WHY_BEHIND_FLOAT,
     false,
     false},
    {"isolated differs too",
     {.compared = true,
      .mismatch = 3,
      .outside = 3,
      .isolated_run = true,
      .isolated_mismatch = 1,
      .isolated_outside = 1,
      .behind_culprit = true},
     ASSAY_ROW_DIVERGED,
     ASSAY_WHY_NONE,
     true,
     false},
    {"float layer within, inputs differ",
     {.compared = true, .mismatch = 3},
     ASSAY_ROW_WITHIN,
     ASSAY_WHY_NONE,
     false,
     false},
    {"isolated mode, equal",
     {.isolated_run = true},
     ASSAY_ROW_EXACT,
     ASSAY_WHY_NONE,
     false,
     false},
    {"isolated mode, differs",
     {.isolated_run = true, .isolated_mismatch = 1, .isolated_outside = 1},
     ASSAY_ROW_DIVERGED,
     ASSAY_WHY_NONE,
     true,
     false},
    {"operator not run",
     {.skipped = true},
     ASSAY_ROW_SKIPPED,
     ASSAY_WHY_OP,
     false,
     false},
    {"the worker died in it",
     {.failed = true, .compared = true},
     ASSAY_ROW_ERROR,
     ASSAY_WHY_ERROR,
     false,
     false},
    {"nothing known",
     {.compared = false},
     ASSAY_ROW_NOT_OBSERVED,
     ASSAY_WHY_NOT_REACHED,
     false,
     false},
};

static void every_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct assay_judgement j = assay_judge_layer(&rows[i].f);

        if (j.status != rows[i].status || j.reason != rows[i].reason ||
            j.culprit != rows[i].culprit || j.isolate != rows[i].isolate)
            fail_msg("%s: %s (%s) culprit %d isolate %d", rows[i].what,
                     assay_row_status_name(j.status),
                     assay_row_reason_name(j.reason), j.culprit, j.isolate);
    }
}

static void the_worse_sample_wins(void **state)
{
    const struct assay_judgement exact = {ASSAY_ROW_EXACT, 0, false, false};
    const struct assay_judgement bad = {ASSAY_ROW_DIVERGED, 0, true, false};
    const struct assay_judgement inherited = {ASSAY_ROW_INHERITED, 0, false,
                                              false};
    const struct assay_judgement unseen = {
        ASSAY_ROW_NOT_OBSERVED, ASSAY_WHY_NO_REFERENCE, false, false};
    const struct assay_judgement reader = {ASSAY_ROW_NOT_OBSERVED, 0, true,
                                           false};
    struct assay_judgement j = {ASSAY_ROW_NOT_OBSERVED, 0, false, false};

    (void)state;
    assay_judgement_merge(&j, &unseen);
    assert_int_equal(j.status, ASSAY_ROW_NOT_OBSERVED);
    assert_int_equal(j.reason, ASSAY_WHY_NO_REFERENCE);
    assay_judgement_merge(&j, &exact);
    assert_int_equal(j.status, ASSAY_ROW_EXACT);
    assay_judgement_merge(&j, &unseen);
    assert_int_equal(j.status, ASSAY_ROW_EXACT);
    assay_judgement_merge(&j, &bad);
    assay_judgement_merge(&j, &inherited);
    assert_int_equal(j.status, ASSAY_ROW_DIVERGED);
    assert_true(j.culprit);
    /* A layer that reads another input, and was not observed itself. */
    j = unseen;
    assay_judgement_merge(&j, &reader);
    assert_int_equal(j.status, ASSAY_ROW_NOT_OBSERVED);
    assert_true(j.culprit);
}

static void float_reference_rule(void **state)
{
    uint32_t inputs[1] = {0};
    struct assay_tensor tensors[2] = {
        {.dtype = ASSAY_S8, .quant = {.n = 1}},
        {.dtype = ASSAY_S8, .quant = {.n = 1}},
    };
    struct assay_layer l = {
        .source_op = "Conv",
        .n_inputs = 1,
        .inputs = inputs,
        .output = 1,
        .real_op = ASSAY_REAL_CONV,
    };
    struct assay_slice s = {
        .n_tensors = 2,
        .tensors = tensors,
        .n_layers = 1,
        .layers = &l,
    };

    (void)state;
    assert_true(assay_reference_is_float(&s, 0, "none"));
    assert_false(assay_reference_is_float(&s, 0, "all"));
    assert_false(assay_reference_is_float(&s, 0, ""));
    l.source_op = "QLinearConv";
    assert_false(assay_reference_is_float(&s, 0, "none"));
    l.source_op = "QGemm";
    assert_false(assay_reference_is_float(&s, 0, "none"));
    l.source_op = "Relu";
    l.real_op = ASSAY_REAL_UNARY;
    assert_false(assay_reference_is_float(&s, 0, "none"));
    l.source_op = "Conv";
    l.real_op = ASSAY_REAL_CONV;
    tensors[1].dtype = ASSAY_F32;
    assert_false(assay_reference_is_float(&s, 0, "none"));
    tensors[1].dtype = ASSAY_S8;
    tensors[0].quant.n = 0;
    assert_false(assay_reference_is_float(&s, 0, "none"));
}

static void names_of_conventions(void **state)
{
    static const char *const names[] = {
        "exact",   "within", "not_observed", "inherited",
        "skipped", "flaky",  "error",        "diverged",
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_string_equal(assay_row_status_name((enum assay_row_status)i),
                            names[i]);
    assert_string_equal(assay_row_status_name((enum assay_row_status)99), "?");
    assert_string_equal(assay_row_reason_name(ASSAY_WHY_MASKED), "masked");
    assert_string_equal(assay_column_name(ASSAY_COL_CPU_SCALAR), "cpu-scalar");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row),
        cmocka_unit_test(the_worse_sample_wins),
        cmocka_unit_test(float_reference_rule),
        cmocka_unit_test(names_of_conventions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
