/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict table, row by row, and the order of exit codes.
 *
 * links: host-tools/diff/verdict.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host-tools/diff/diff.h"

#define EQ ASSAY_REL_EQUAL
#define NE ASSAY_REL_DIFFERS

struct row {
    const char *what;
    struct assay_evidence e;
    enum assay_verdict verdict;
    int exit_code;
};

/* host = cpu-scalar = cpu, none of them the reference. */
#define AGAINST_REF \
    .culprit = true, .host_ref = NE, .scalar_ref = NE, .cpu_ref = NE, \
    .host_scalar = EQ, .scalar_cpu = EQ, .host_cpu = EQ

static const struct row rows[] = {
    {"nothing differs",
     {.culprit = false, .cpu_ref = EQ},
     ASSAY_VERDICT_MATCH,
     0},
    {"same data, permuted",
     {AGAINST_REF, .layout_found = true},
     ASSAY_VERDICT_LAYOUT,
     1},
    {"layout outranks a wrong kernel",
     {.culprit = true,
      .host_scalar = EQ,
      .scalar_cpu = NE,
      .layout_found = true},
     ASSAY_VERDICT_LAYOUT,
     1},
    {"host = cpu-scalar != cpu",
     {.culprit = true,
      .host_ref = EQ,
      .scalar_ref = EQ,
      .cpu_ref = NE,
      .host_scalar = EQ,
      .scalar_cpu = NE,
      .host_cpu = NE},
     ASSAY_VERDICT_ASSAY_KERNEL,
     4},
    {"the same although none equals the reference",
     {.culprit = true,
      .host_ref = NE,
      .scalar_ref = NE,
      .cpu_ref = NE,
      .host_scalar = EQ,
      .scalar_cpu = NE,
      .host_cpu = NE},
     ASSAY_VERDICT_ASSAY_KERNEL,
     4},
    {"host != cpu-scalar",
     {.culprit = true,
      .host_ref = EQ,
      .scalar_ref = NE,
      .cpu_ref = NE,
      .host_scalar = NE,
      .scalar_cpu = EQ,
      .host_cpu = NE},
     ASSAY_VERDICT_BOARD_CPU,
     4},
    {"arithmetic without a proof", {AGAINST_REF}, ASSAY_VERDICT_UNPROVEN, 5},
    {"--arith does not clear unproven",
     {AGAINST_REF, .arithmetic_overridden = true},
     ASSAY_VERDICT_UNPROVEN,
     5},
    {"unproven outranks a hypothesis",
     {AGAINST_REF, .hypothesis_proved = true},
     ASSAY_VERDICT_UNPROVEN,
     5},
    {"a hypothesis reproduces all",
     {AGAINST_REF, .numerics_proved = true, .hypothesis_proved = true},
     ASSAY_VERDICT_ARITHMETIC,
     1},
    {"ref = cpu != sim",
     {.culprit = true, .cpu_ref = EQ, .sim_ref = NE},
     ASSAY_VERDICT_COMPILE,
     1},
    {"ref = cpu != sim = bpu",
     {.culprit = true,
      .cpu_ref = EQ,
      .sim_ref = NE,
      .bpu_ref = NE,
      .sim_bpu = EQ},
     ASSAY_VERDICT_COMPILE,
     1},
    {"ref = sim != bpu",
     {.culprit = true,
      .cpu_ref = EQ,
      .sim_ref = EQ,
      .bpu_ref = NE,
      .sim_bpu = NE},
     ASSAY_VERDICT_RUNTIME,
     1},
    {"the board's memory holds another sample's tensor",
     {.culprit = true,
      .cpu_ref = EQ,
      .bpu_ref = NE,
      .another_sample = true,
      .board_memory = true},
     ASSAY_VERDICT_RUNTIME,
     1},
    {"a simulator's file holds another sample's tensor",
     {.culprit = true, .cpu_ref = EQ, .sim_ref = NE, .another_sample = true},
     ASSAY_VERDICT_UNEXPLAINED,
     1},
    {"the accelerator's input differs",
     {.culprit = true, .cpu_ref = EQ, .sim_ref = NE, .input_differs = true},
     ASSAY_VERDICT_INPUT,
     1},
    {"only what the application read differs",
     {.culprit = true, .cpu_ref = EQ, .sim_ref = EQ, .output_differs = true},
     ASSAY_VERDICT_OUTPUT,
     1},
    {"versions do not fit",
     {.version_differs = true},
     ASSAY_VERDICT_VERSION,
     2},
    {"an older artefact",
     {.culprit = true, .stale = true},
     ASSAY_VERDICT_STALE,
     1},
    {"repeats differ",
     {.culprit = true, .flaky = true},
     ASSAY_VERDICT_FLAKY,
     6},
    {"a flipped golden",
     {AGAINST_REF, .numerics_proved = true},
     ASSAY_VERDICT_UNEXPLAINED,
     1},
    {"nothing but cpu was examined",
     {.culprit = true, .cpu_ref = NE},
     ASSAY_VERDICT_UNEXPLAINED,
     1},
    {"cpu, sim and bpu each differ in their own way",
     {.culprit = true,
      .cpu_ref = EQ,
      .sim_ref = NE,
      .bpu_ref = NE,
      .sim_bpu = NE},
     ASSAY_VERDICT_UNEXPLAINED,
     1},
};

static void every_row(void **state)
{
    bool seen[ASSAY_VERDICT_COUNT] = {false};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        enum assay_verdict v = assay_verdict(&rows[i].e);

        if (v != rows[i].verdict)
            fail_msg("%s: verdict '%s', expected '%s'", rows[i].what,
                     assay_verdict_name(v),
                     assay_verdict_name(rows[i].verdict));
        assert_int_equal(assay_verdict_exit(v), rows[i].exit_code);
        seen[v] = true;
    }
    for (unsigned v = 0; v < ASSAY_VERDICT_COUNT; v++)
        assert_true(seen[v]);
}

static void only_a_match_exits_zero(void **state)
{
    (void)state;
    for (unsigned v = 0; v < ASSAY_VERDICT_COUNT + 3; v++) {
        if (v == ASSAY_VERDICT_MATCH)
            assert_int_equal(assay_verdict_exit(v), 0);
        else
            assert_int_not_equal(assay_verdict_exit((enum assay_verdict)v), 0);
    }
}

static void order_of_exit_codes(void **state)
{
    static const int order[] = {1, 2, 4, 3, 5, 6, 0};

    (void)state;
    for (size_t i = 0; i < 7; i++) {
        for (size_t j = 0; j < 7; j++)
            assert_int_equal(assay_exit_combine(order[i], order[j]),
                             order[i < j ? i : j]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row),
        cmocka_unit_test(only_a_match_exits_zero),
        cmocka_unit_test(order_of_exit_codes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
