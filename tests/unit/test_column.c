/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of the compiled model: judgement of a layer, the relations that the
 * verdict table looks at, and edges of an image.
 *
 * links: host-tools/diff/column.c host-tools/diff/tensor.c
 * links: host-tools/diff/verdict.c host-tools/diff/classify.c
 * links: lib/core/slice.c lib/core/buf.c lib/core/err.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "host-tools/diff/diff.h"

static void judgements(void **state)
{
    static const struct {
        const char *what;
        struct assay_column_facts f;
        enum assay_row_status status;
        enum assay_row_reason reason;
        bool rerun;
    } rows[] = {
        {"not in the column",
         {.has_reference = true, .inputs_equal = true},
         ASSAY_ROW_NOT_OBSERVED,
         ASSAY_WHY_NONE,
         false},
        {"equal",
         {.observed = true, .has_reference = true, .inputs_equal = true},
         ASSAY_ROW_EXACT,
         ASSAY_WHY_NONE,
         false},
        {"equal although an input differs: never a culprit",
         {.observed = true, .has_reference = true},
         ASSAY_ROW_EXACT,
         ASSAY_WHY_MASKED,
         false},
        {"equal, of another build than what is in front of it",
         {.observed = true, .has_reference = true, .other_build = true},
         ASSAY_ROW_EXACT,
         ASSAY_WHY_OTHER_BUILD,
         false},
        {"differs, of another build: not judged by those inputs",
         {.observed = true,
          .has_reference = true,
          .mismatch = 3,
          .outside = 3,
          .rerun = true,
          .rerun_mismatch = 3,
          .rerun_outside = 3,
          .other_build = true},
         ASSAY_ROW_INHERITED,
         ASSAY_WHY_OTHER_BUILD,
         true},
        {"a float within its tolerance",
         {.observed = true, .has_reference = true, .mismatch = 3},
         ASSAY_ROW_WITHIN,
         ASSAY_WHY_NONE,
         false},
        {"differs from the engine on the same inputs",
         {.observed = true,
          .has_reference = true,
          .inputs_equal = true,
          .mismatch = 3,
          .outside = 3,
          .rerun = true,
          .rerun_mismatch = 3,
          .rerun_outside = 3},
         ASSAY_ROW_DIVERGED,
         ASSAY_WHY_NONE,
         true},
        {"differs from the engine on its own inputs",
         {.observed = true,
          .has_reference = true,
          .mismatch = 9,
          .outside = 9,
          .rerun = true,
          .rerun_mismatch = 1,
          .rerun_outside = 1},
         ASSAY_ROW_DIVERGED,
         ASSAY_WHY_NONE,
         true},
        {"what the engine computes on its own inputs",
         {.observed = true,
          .has_reference = true,
          .mismatch = 9,
          .outside = 9,
          .rerun = true},
         ASSAY_ROW_INHERITED,
         ASSAY_WHY_NONE,
         true},
        {"the engine does so too: the reference is the odd one",
         {.observed = true,
          .has_reference = true,
          .inputs_equal = true,
          .mismatch = 9,
          .outside = 9,
          .rerun = true},
         ASSAY_ROW_INHERITED,
         ASSAY_WHY_AS_ENGINE,
         true},
        {"but not by a tolerance",
         {.observed = true,
          .has_reference = true,
          .inputs_equal = true,
          .mismatch = 9,
          .outside = 9,
          .rerun = true,
          .rerun_mismatch = 1},
         ASSAY_ROW_DIVERGED,
         ASSAY_WHY_NONE,
         true},
        {"no re-run to be had, inputs equal",
         {.observed = true,
          .has_reference = true,
          .inputs_equal = true,
          .mismatch = 9,
          .outside = 9},
         ASSAY_ROW_DIVERGED,
         ASSAY_WHY_NONE,
         true},
        {"no re-run to be had, inputs differ",
         {.observed = true, .has_reference = true, .mismatch = 9, .outside = 9},
         ASSAY_ROW_INHERITED,
         ASSAY_WHY_NOT_ISOLATED,
         true},
        {"without a reference and without a re-run",
         {.observed = true, .inputs_equal = true},
         ASSAY_ROW_NOT_OBSERVED,
         ASSAY_WHY_NO_REFERENCE,
         true},
        {"without a reference, as the engine",
         {.observed = true, .inputs_equal = true, .rerun = true},
         ASSAY_ROW_EXACT,
         ASSAY_WHY_NO_REFERENCE,
         true},
        {"without a reference, as the engine on other inputs",
         {.observed = true, .rerun = true},
         ASSAY_ROW_INHERITED,
         ASSAY_WHY_NO_REFERENCE,
         true},
        {"without a reference, not as the engine",
         {.observed = true,
          .rerun = true,
          .rerun_mismatch = 2,
          .rerun_outside = 2},
         ASSAY_ROW_DIVERGED,
         ASSAY_WHY_NO_REFERENCE,
         true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct assay_judgement j = assay_judge_column(&rows[i].f);

        if (j.status != rows[i].status || j.reason != rows[i].reason ||
            assay_column_wants_rerun(&rows[i].f) != rows[i].rerun)
            fail_msg("%s: %s, '%s'", rows[i].what,
                     assay_row_status_name(j.status),
                     assay_row_reason_name(j.reason));
        assert_int_equal(j.culprit, j.status == ASSAY_ROW_DIVERGED);
    }
}

/* With the cpu equal to the reference. */
static enum assay_verdict verdict(bool of_bpu, struct assay_column_state sim,
                                  struct assay_column_state bpu,
                                  enum assay_relation between)
{
    struct assay_evidence e = {
        .culprit = true,
        .cpu_ref = ASSAY_REL_EQUAL,
        .numerics_proved = true,
    };

    assay_column_relations(&e, of_bpu, &sim, &bpu, between);
    return assay_verdict(&e);
}

static void verdicts(void **state)
{
    const struct assay_column_state unseen = {0}, equal = {.observed = true};
    const struct assay_column_state wrong = {true, true, true};
    const struct assay_column_state inherited = {true, true, false};

    (void)state;
    assert_int_equal(verdict(false, wrong, unseen, ASSAY_REL_DIFFERS),
                     ASSAY_VERDICT_COMPILE);
    assert_int_equal(verdict(false, wrong, wrong, ASSAY_REL_EQUAL),
                     ASSAY_VERDICT_COMPILE);
    assert_int_equal(verdict(false, wrong, wrong, ASSAY_REL_DIFFERS),
                     ASSAY_VERDICT_UNEXPLAINED);
    assert_int_equal(verdict(false, wrong, equal, ASSAY_REL_DIFFERS),
                     ASSAY_VERDICT_UNEXPLAINED);
    /* The accelerator does what the simulator does. */
    assert_int_equal(verdict(true, wrong, wrong, ASSAY_REL_EQUAL),
                     ASSAY_VERDICT_COMPILE);
    /* It sees outputs only: what the simulator inherited is a segment's. */
    assert_int_equal(verdict(true, inherited, wrong, ASSAY_REL_EQUAL),
                     ASSAY_VERDICT_COMPILE);
    assert_int_equal(verdict(true, equal, wrong, ASSAY_REL_DIFFERS),
                     ASSAY_VERDICT_RUNTIME);
    assert_int_equal(verdict(true, inherited, wrong, ASSAY_REL_DIFFERS),
                     ASSAY_VERDICT_RUNTIME);
    assert_int_equal(verdict(true, wrong, wrong, ASSAY_REL_DIFFERS),
                     ASSAY_VERDICT_UNEXPLAINED);
    /* Both are culprits, on inputs that differ: each speaks for itself. */
    assert_int_equal(verdict(false, wrong, wrong, ASSAY_REL_UNKNOWN),
                     ASSAY_VERDICT_COMPILE);
    assert_int_equal(verdict(true, wrong, wrong, ASSAY_REL_UNKNOWN),
                     ASSAY_VERDICT_COMPILE);
    assert_int_equal(verdict(true, inherited, wrong, ASSAY_REL_UNKNOWN),
                     ASSAY_VERDICT_RUNTIME);
    /* The accelerator is right given its own inputs: another model? */
    assert_int_equal(verdict(false, wrong, inherited, ASSAY_REL_UNKNOWN),
                     ASSAY_VERDICT_UNEXPLAINED);
    /* Without a simulator, compiler and board cannot be told apart. */
    assert_int_equal(verdict(true, unseen, wrong, ASSAY_REL_DIFFERS),
                     ASSAY_VERDICT_UNEXPLAINED);
}

/* The CPU's own difference at the same layer comes first. */
static void cpu_first(void **state)
{
    const struct assay_column_state wrong = {true, true, true}, unseen = {0};
    struct assay_evidence e = {
        .culprit = true,
        .cpu_ref = ASSAY_REL_DIFFERS,
        .host_cpu = ASSAY_REL_EQUAL,
    };

    (void)state;
    assay_column_relations(&e, false, &wrong, &unseen, ASSAY_REL_UNKNOWN);
    assert_int_equal(assay_verdict(&e), ASSAY_VERDICT_UNPROVEN);
    e.numerics_proved = true;
    assert_int_equal(assay_verdict(&e), ASSAY_VERDICT_UNEXPLAINED);
    e.cpu_ref = ASSAY_REL_EQUAL;
    e.input_differs = true;
    assert_int_equal(assay_verdict(&e), ASSAY_VERDICT_INPUT);
}

#define H 6
#define W 5

/* The edges of an H x W image whose marked elements ('x') differ. */
static unsigned edges(const char *marks, int64_t *width)
{
    const struct assay_tensor t = {
        .dtype = ASSAY_S8,
        .rank = 4,
        .dims = {1, H, W, 2},
        .perm = {0, 1, 2, 3},
        .axes = "NHWC",
    };
    const struct assay_tolerance strict = {0};
    int8_t ref[H * W * 2] = {0}, got[H * W * 2] = {0};
    struct assay_diff d;

    for (size_t i = 0; i < (size_t)H * W; i++)
        got[2 * i + 1] = marks[i] == 'x';
    assay_diff_tensor(&t, ref, got, &strict, &d);
    *width = 0;
    return assay_diff_edges(&t, &d, width);
}

static void rings(void **state)
{
    static const struct {
        const char *marks;
        unsigned set;
        int64_t width;
    } rows[] = {
        {"....."
         "....."
         "....."
         "....."
         "....."
         "x.xx.",
         ASSAY_EDGE_BOTTOM, 1},
        {"....x"
         "....."
         "....x"
         "....x"
         "....x"
         "x.xxx",
         ASSAY_EDGE_BOTTOM | ASSAY_EDGE_RIGHT, 1},
        {"x...."
         "x...."
         "....."
         "x...."
         "....."
         "x....",
         ASSAY_EDGE_LEFT, 1},
        {"xx.xx"
         "x...."
         "....."
         "x...."
         "....."
         "x....",
         ASSAY_EDGE_TOP | ASSAY_EDGE_LEFT, 1},
        {"....."
         "....."
         "....."
         "....."
         "xx..."
         "..x..",
         ASSAY_EDGE_BOTTOM, 2},
        {"....."
         "....."
         "....."
         "x...."
         "....."
         "..xxx",
         ASSAY_EDGE_BOTTOM | ASSAY_EDGE_LEFT, 1},
        {"xx..."
         "....."
         "..x.."
         "....."
         "....x"
         "....x",
         0, 0},
        {"....."
         "....."
         "....."
         "....."
         "....."
         "....x",
         0, 0}, /* only one */
        {"....."
         "....."
         "....."
         "....."
         "....."
         ".....",
         0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t width;
        unsigned set = edges(rows[i].marks, &width);

        if (set != rows[i].set || width != rows[i].width)
            fail_msg("row %zu: set %u, width %d", i, set, (int)width);
    }
}

static void rings_merge(void **state)
{
    struct assay_tensor t = {
        .dtype = ASSAY_S8,
        .rank = 3,
        .dims = {4, 4, 1},
        .perm = {0, 1, 2},
        .axes = "HWC",
    };
    const struct assay_tolerance strict = {0};
    int8_t ref[16] = {0}, got[16] = {0};
    struct assay_diff all = {0}, d;
    int64_t width = 0;

    (void)state;
    got[12] = got[13] = 1; /* last row */
    assay_diff_tensor(&t, ref, got, &strict, &d);
    assay_diff_merge(&all, &d);
    assert_int_equal(assay_diff_edges(&t, &all, &width), ASSAY_EDGE_BOTTOM);
    memset(got, 0, sizeof(got));
    got[3] = got[7] = -1; /* last column, in another sample */
    assay_diff_tensor(&t, ref, got, &strict, &d);
    assay_diff_merge(&all, &d);
    assert_int_equal(assay_diff_edges(&t, &all, &width),
                     ASSAY_EDGE_BOTTOM | ASSAY_EDGE_RIGHT);
    /* One place, twice: no edge. */
    memset(&all, 0, sizeof(all));
    memset(got, 0, sizeof(got));
    got[3] = 1;
    assay_diff_tensor(&t, ref, got, &strict, &d);
    assay_diff_merge(&all, &d);
    assay_diff_merge(&all, &d);
    assert_int_equal(all.mismatch, 2);
    assert_int_equal(assay_diff_edges(&t, &all, &width), 0);
    strcpy(t.axes, ""); /* nobody says which axis is which */
    assert_int_equal(assay_diff_edges(&t, &all, &width), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judgements),  cmocka_unit_test(verdicts),
        cmocka_unit_test(cpu_first),   cmocka_unit_test(rings),
        cmocka_unit_test(rings_merge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
