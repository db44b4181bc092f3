/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions side by side: which of them stop a run, which are notes, and which
 * nobody may compare.
 *
 * links: host-tools/preflight.c lib/core/buf.c lib/core/err.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "host-tools/preflight.h"
#include "lib/core/buf.h"

#define MARCH ASSAY_ABOUT_MARCH
#define HBRT ASSAY_ABOUT_HBRT

static struct assay_arena *arena;
static struct assay_preflight p;
static struct assay_claim claims[16];
static uint32_t n;

static void say(enum assay_claim_about about, enum assay_claim_by by,
                const char *value, const char *file, uint32_t line)
{
    claims[n++] = (struct assay_claim){about, by, value, file, line, "", false};
}

static void judge(void)
{
    struct assay_err err;

    assert_int_equal(assay_preflight(&p, arena, claims, n, &err), 0);
    assert_int_equal(p.n, n);
    n = 0;
}

static int setup(void **state)
{
    (void)state;
    arena = assay_arena_new();
    return arena == NULL;
}

static int teardown(void **state)
{
    (void)state;
    assay_arena_free(arena);
    return 0;
}

static void is(const char *sentence)
{
    char text[512] = "";

    for (uint32_t i = 0; i < p.n && text[0] == '\0'; i++) {
        if (p.rows[i].state >= ASSAY_FIT_NOTE)
            assay_preflight_sentence(&p, i, text, sizeof(text));
    }
    assert_string_equal(text, sentence);
}

static void test_march(void **state)
{
    (void)state;
    judge();
    assert_int_equal(p.contradictions + p.notes, 0);

    say(MARCH, ASSAY_BY_CASE, "bayes-e", "case.json", 0);
    say(MARCH, ASSAY_BY_CONFIG, "bayes-e", "/a/config.yaml", 0);
    say(MARCH, ASSAY_BY_COMPILED, "B25E", "d.json", 0);
    say(ASSAY_ABOUT_SOC, ASSAY_BY_BOARD, "D-Robotics RDK X5 V1.0", "", 0);
    judge();
    assert_int_equal(p.contradictions + p.notes, 0);
    assert_int_equal(p.rows[0].state, ASSAY_FIT_OK);
    assert_int_equal(p.rows[3].state, ASSAY_FIT_OK);

    say(MARCH, ASSAY_BY_CONFIG, "bayes-e", "/a/config.yaml", 0);
    say(MARCH, ASSAY_BY_RUNTIME, "nash-m", "/b/runtime.log", 12);
    judge();
    assert_int_equal(p.contradictions, 1);
    is("the model is built for bayes-e (config.yaml), the board's runtime "
       "says nash-m (runtime.log line 12)");

    /* The runtime's spelling of X3's march. */
    say(MARCH, ASSAY_BY_RUNTIME, "BERNOULLI2", "r.log", 3);
    say(MARCH, ASSAY_BY_BUILD, "bernoulli2", "b.log", 0);
    judge();
    assert_int_equal(p.contradictions, 0);

    say(MARCH, ASSAY_BY_CASE, "bayes-e", "case.json", 0);
    say(ASSAY_ABOUT_SOC, ASSAY_BY_BOARD, "D-Robotics RDK S100 V1P0", "", 0);
    judge();
    assert_int_equal(p.contradictions, 1);
    is("the model is built for bayes-e (case.json), the board is D-Robotics "
       "RDK S100 V1P0, which is nash-e");
}

/* What is known by its family only says no more than that. */
static void test_families(void **state)
{
    (void)state;
    say(MARCH, ASSAY_BY_CASE, "nash-m", "case.json", 0);
    say(MARCH, ASSAY_BY_MODEL, "B30G", "model.mlir", 0);
    say(MARCH, ASSAY_BY_COLUMN, "nash-p", "case.json", 0);
    say(MARCH, ASSAY_BY_RUNTIME, "nash*", "libhbrt4.so", 0);
    judge();
    assert_int_equal(p.contradictions, 0);

    say(MARCH, ASSAY_BY_CASE, "bayes-e", "case.json", 0);
    say(MARCH, ASSAY_BY_COLUMN, "nash-p", "case.json", 0);
    judge();
    assert_int_equal(p.contradictions, 1);
    is("the model is built for bayes-e (case.json), a column was made for "
       "nash-p (case.json)");

    say(MARCH, ASSAY_BY_CASE, "bayes", "case.json", 0);
    say(MARCH, ASSAY_BY_CONFIG, "bayes-e", "y.yaml", 0);
    say(MARCH, ASSAY_BY_RUNTIME, "bayes*", "libhbrt_bayes_aarch64.so", 0);
    judge();
    assert_int_equal(p.contradictions, 1);
    assert_int_equal(p.rows[2].state, ASSAY_FIT_OK);

    say(MARCH, ASSAY_BY_CASE, "bayes-e", "case.json", 0);
    say(MARCH, ASSAY_BY_MODEL, "B30G", "model.mlir", 0);
    judge();
    assert_int_equal(p.contradictions, 1);
    is("the model is built for bayes-e (case.json), the model's text says B30G "
       "(model.mlir)");
}

static void test_socs(void **state)
{
    static const char *const known[][2] = {
        {"D-Robotics RDK X5 V1.0", "bayes-e"},
        {"Hobot X3 PI V2.1 (Board X3)", "bernoulli2"},
        {"D-Robotics RDK S100P V1P0", "nash-m"},
        {"RDK S600", "nash-p"},
        {"x5", "bayes-e"},
        {"J6M", "nash-m"},
        {"Horizon Robotics J5 DVB", "bayes"},
        /* Others' boards have short names, too. */
        {"Acme X5 Pro", ""},
        {"Raspberry Pi 4 Model B Rev 1.4", ""},
        {"RDK X50", ""},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_string_equal(assay_march_of_soc(known[i][0]), known[i][1]);
    say(MARCH, ASSAY_BY_CASE, "bayes-e", "case.json", 0);
    say(ASSAY_ABOUT_SOC, ASSAY_BY_BOARD, "Raspberry Pi 4", "", 0);
    judge();
    assert_int_equal(p.rows[1].state, ASSAY_FIT_ALONE);
}

static void test_compare(void **state)
{
    static const struct {
        const char *a, *b;
        int d;
        bool minor;
    } v[] = {
        {"3.15.55.0", "3.15.55", 0, false},
        {"3.15.55.0", "3.15.47.0", 1, true},
        {"3.9", "3.15", -1, false},
        {"4.1.17", "3.15.55", 1, false},
        {"4.2.7post0.dev202307211111+6aaae37", "4.2.7", 0, false},
        {"", "", 0, false},
        {"x.y", "0.0", 0, false},
        {"3..1", "3.0.1", 0, false},
        {"99999999999999999999999.1", "99999999999999999999999.2", -1, false},
    };
    bool minor;

    (void)state;
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        int d = assay_version_compare(v[i].a, v[i].b, &minor);

        assert_int_equal(d, v[i].d);
        assert_int_equal(minor, v[i].minor);
        assert_int_equal(assay_version_compare(v[i].b, v[i].a, &minor), -d);
    }
}

static void test_runtime(void **state)
{
    (void)state;
    /* Newer toolchain, older runtime. */
    say(HBRT, ASSAY_BY_BUILD, "3.15.55.0", "build.log", 0);
    say(HBRT, ASSAY_BY_RUNTIME, "3.14.25.0", "runtime.log", 2);
    judge();
    assert_int_equal(p.contradictions, 1);
    is("the model is built with hbrt 3.15.55.0 (build.log), the board's "
       "runtime is hbrt 3.14.25.0 (runtime.log line 2)");
    /* Older toolchain, newer runtime: what runtimes are for. */
    say(HBRT, ASSAY_BY_BUILD, "3.13.7", "build.log", 0);
    say(HBRT, ASSAY_BY_RUNTIME, "3.15.55.0", "runtime.log", 2);
    judge();
    assert_int_equal(p.contradictions, 0);
    assert_int_equal(p.notes, 1);
    /* Newer in the third place: a note, unless the runtime itself complains. */
    say(HBRT, ASSAY_BY_BUILD, "3.15.55.0", "build.log", 0);
    say(HBRT, ASSAY_BY_RUNTIME, "3.15.47.0", "runtime.log", 2);
    judge();
    assert_int_equal(p.contradictions, 0);
    assert_int_equal(p.notes, 1);
    say(HBRT, ASSAY_BY_RUNTIME, "3.15.47.0", "runtime.log", 2);
    say(HBRT, ASSAY_BY_LOADED, "3.15.54.0", "runtime.log", 5);
    claims[1].complained = true;
    claims[1].model = "net";
    judge();
    assert_int_equal(p.contradictions, 1);
    is("the model 'net' that was loaded is built with hbrt 3.15.54.0 "
       "(runtime.log line 5), the board's runtime is hbrt 3.15.47.0 "
       "(runtime.log line 2)");
    say(HBRT, ASSAY_BY_RUNTIME, "3.15.55.0", "runtime.log", 2);
    say(HBRT, ASSAY_BY_LOADED, "3.15.47.0", "runtime.log", 5);
    claims[1].complained = true;
    judge();
    assert_int_equal(p.contradictions, 0);
    assert_int_equal(p.notes, 1);
}

/* hbdk 3 has numbers of its own, hbdk 4 those of its runtime. */
static void test_hbdk(void **state)
{
    (void)state;
    say(ASSAY_ABOUT_HBDK, ASSAY_BY_BUILD, "3.49.15", "build.log", 0);
    say(HBRT, ASSAY_BY_RUNTIME, "3.15.55.0", "runtime.log", 2);
    judge();
    assert_int_equal(p.contradictions + p.notes, 0);
    say(ASSAY_ABOUT_HBDK, ASSAY_BY_BUILD, "4.7.5", "build.log", 0);
    say(HBRT, ASSAY_BY_RUNTIME, "4.1.17", "runtime.log", 2);
    judge();
    assert_int_equal(p.contradictions, 1);
    say(MARCH, ASSAY_BY_CONFIG, "nash-e", "c.yaml", 0);
    say(HBRT, ASSAY_BY_RUNTIME, "3.15.55", "runtime.log", 2);
    judge();
    assert_int_equal(p.contradictions, 1);
    say(MARCH, ASSAY_BY_CONFIG, "bayes-e", "c.yaml", 0);
    say(HBRT, ASSAY_BY_RUNTIME, "4.7.5", "runtime.log", 2);
    judge();
    assert_int_equal(p.contradictions, 1);
}

static void test_notes(void **state)
{
    (void)state;
    /* One log, two runtimes: both are told. */
    say(HBRT, ASSAY_BY_RUNTIME, "3.15.55.0", "runtime.log", 2);
    say(HBRT, ASSAY_BY_RUNTIME, "3.15.55", "runtime.log", 3);
    say(HBRT, ASSAY_BY_RUNTIME, "3.14.5", "runtime.log", 90);
    judge();
    assert_int_equal(p.contradictions, 0);
    assert_int_equal(p.notes, 1);
    is("the board's runtime is hbrt 3.15.55.0 (runtime.log line 2), the "
       "board's runtime is hbrt 3.14.5 (runtime.log line 90)");
    /* 1.1 is the beginning of 1.10's text, and another number. */
    say(HBRT, ASSAY_BY_RUNTIME, "3.1", "runtime.log", 2);
    say(HBRT, ASSAY_BY_RUNTIME, "3.15.55", "runtime.log", 90);
    judge();
    assert_int_equal(p.notes, 1);
    say(ASSAY_ABOUT_DNN, ASSAY_BY_RUNTIME, "1.10", "libdnn.so.1.10", 0);
    say(ASSAY_ABOUT_DNN, ASSAY_BY_RUNTIME, "1.1", "runtime.log", 90);
    judge();
    assert_int_equal(p.notes, 1);
    say(ASSAY_ABOUT_DNN, ASSAY_BY_RUNTIME, "1.9.7", "libdnn.so.1.9.7", 0);
    say(ASSAY_ABOUT_DNN, ASSAY_BY_RUNTIME, "1.9.7_(3.15.18 HBRT)", "a.log", 9);
    judge();
    assert_int_equal(p.notes, 0);
    /* A builder that the log of the build does not name. */
    say(ASSAY_ABOUT_MAPPER, ASSAY_BY_BUILD, "1.24.3", "build.log", 0);
    say(ASSAY_ABOUT_MAPPER, ASSAY_BY_LOADED, "1.23.5", "runtime.log", 4);
    judge();
    assert_int_equal(p.notes, 1);
    /* Among several models that were loaded it is one. */
    say(ASSAY_ABOUT_MAPPER, ASSAY_BY_BUILD, "1.24.3", "build.log", 0);
    say(ASSAY_ABOUT_MAPPER, ASSAY_BY_LOADED, "1.23.5", "runtime.log", 4);
    say(ASSAY_ABOUT_MAPPER, ASSAY_BY_LOADED, "1.24.3", "runtime.log", 9);
    judge();
    assert_int_equal(p.notes, 0);
    say(ASSAY_ABOUT_NN, ASSAY_BY_CASE, "1.1.0", "case.json", 0);
    say(ASSAY_ABOUT_NN, ASSAY_BY_BUILD, "1.2.0", "build.log", 0);
    judge();
    assert_int_equal(p.notes, 1);
    assert_int_equal(p.contradictions, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_march),   cmocka_unit_test(test_families),
        cmocka_unit_test(test_socs),    cmocka_unit_test(test_compare),
        cmocka_unit_test(test_runtime), cmocka_unit_test(test_hbdk),
        cmocka_unit_test(test_notes),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
