/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What many runs of the same layers say: a chain of four layers a, b, c, d,
 * where d reads a as well.
 *
 * links: host-tools/diff/repeat.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "host-tools/diff/repeat.h"

#define LAYERS 4
#define RUNS 8

static const struct assay_repeat_kind kinds[] = {
    {"plain", 0, 7, 0}, {"scalar", 1, 0, 0}, {"neon", 2, 1, 0}};

/* One letter a layer for each run: equal letters, equal outputs. The first
 * letter of a text is its kind, "p", "s" or "n". */
static void judge(struct assay_repeat_layer out[LAYERS], const char *const *v)
{
    static struct assay_layer layers[LAYERS];
    static uint32_t inputs[LAYERS][2] = {{0, 0}, {1, 1}, {2, 2}, {3, 1}};
    struct assay_slice s = {.n_layers = LAYERS, .layers = layers};
    struct assay_repeat_digest digest[RUNS * LAYERS];
    uint8_t kind[RUNS];
    uint32_t n = 0;

    memset(digest, 0, sizeof(digest));
    for (uint32_t i = 0; i < LAYERS; i++) {
        layers[i].inputs = inputs[i];
        layers[i].n_inputs = 2;
        layers[i].output = i + 1;
    }
    for (; v[n] != NULL; n++) {
        assert_int_equal(strlen(v[n]), LAYERS + 1);
        kind[n] = v[n][0] == 'p' ? 0 : v[n][0] == 's' ? 1 : 2;
        for (uint32_t i = 0; i < LAYERS; i++)
            digest[n * LAYERS + i].v[0] = (uint8_t)v[n][1 + i];
    }
    assay_repeat_judge(out, &s, kinds, kind, n, digest);
}

/* "sbfF": same, behind, rungs (r), flaky (F), a layer each. */
static const char *states(const struct assay_repeat_layer *v)
{
    static char out[LAYERS + 1];

    for (int i = 0; i < LAYERS; i++)
        out[i] = "sbrF"[v[i].state];
    return out;
}

#define EXPECT(text, ...) \
    do { \
        const char *const runs[] = {__VA_ARGS__, NULL}; \
        judge(out, runs); \
        assert_string_equal(states(out), text); \
    } while (0)

static void nothing_differs(void **state)
{
    struct assay_repeat_layer out[LAYERS];

    (void)state;
    EXPECT("ssss", "pabcd", "sabcd", "pabcd");
    assert_int_equal(out[0].odd, 0);
}

static void one_layer_is_flaky(void **state)
{
    struct assay_repeat_layer out[LAYERS];

    (void)state;
    /* c and d follow b; a is what it was. */
    EXPECT("sFbb", "pabcd", "pabcd", "paBCD", "pabcd");
    assert_int_equal(out[1].odd, 1);
    assert_int_equal(out[1].odd_of[0], 1);
    /* Behind it a layer may give the same all the same. */
    EXPECT("sFss", "pabcd", "paBcd", "pabcd");
    /* The first run is the odd one. */
    EXPECT("sFbb", "paBCD", "pabcd", "pabcd");
    assert_int_equal(out[1].odd, 1);
    /* Each gives another: none is usual, the first stands for it. */
    EXPECT("Fsss", "p1bcd", "p2bcd", "p3bcd");
    assert_int_equal(out[0].odd, 2);
}

static void two_are_flaky(void **state)
{
    struct assay_repeat_layer out[LAYERS];

    (void)state;
    EXPECT("FsFs", "pabcd", "pAbcd", "pabCd", "pabcd");
    /* d reads a: where a differs, it may. */
    EXPECT("Fssb", "pabcd", "pAbcD", "pabcd");
    /* But d has differed with equal inputs as well. */
    EXPECT("FssF", "pabcd", "pAbcD", "pabcD", "pabcd");
}

static void rungs_differ(void **state)
{
    struct assay_repeat_layer out[LAYERS];

    (void)state;
    EXPECT("srbs", "pabcd", "saBCd", "pabcd", "saBCd");
    assert_int_equal(out[1].odd, 2);
    assert_int_equal(out[1].odd_of[0], 0);
    assert_int_equal(out[1].odd_of[1], 2);
    EXPECT("srss", "pabcd", "sabcd", "naBcd", "pabcd", "sabcd", "naBcd");
    assert_int_equal(out[1].odd_of[2], 2);
    /* Within the rung, too: that is no matter of kernels. */
    EXPECT("sFss", "pabcd", "saBcd", "pabcd", "sabcd", "sabcd");
    /* One of each. */
    EXPECT("Frss", "pabcd", "saBcd", "pAbcd", "saBcd", "pabcd");
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(assay_repeat_state_name(ASSAY_REPEAT_FLAKY), "flaky");
    assert_string_equal(assay_repeat_state_name(ASSAY_REPEAT_SAME), "same");
    assert_string_equal(assay_repeat_state_name((enum assay_repeat_state)9),
                        "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_differs), cmocka_unit_test(one_layer_is_flaky),
        cmocka_unit_test(two_are_flaky),   cmocka_unit_test(rungs_differ),
        cmocka_unit_test(names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
