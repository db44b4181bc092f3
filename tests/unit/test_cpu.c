/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU decoding, with the words that belong to the feature lists which Linux
 * prints on these parts.
 * links: kernels/cpu.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "kernels/cpu.h"

#define NEON ASSAY_CPU_NEON
#define DOT (ASSAY_CPU_NEON | ASSAY_CPU_DOTPROD)
#define MATRIX (ASSAY_CPU_NEON | ASSAY_CPU_DOTPROD | ASSAY_CPU_I8MM)

static const struct {
    const char *part;
    uint64_t hwcap, hwcap2;
    uint32_t flags;
    const char *names;
} BOARDS[] = {
    {"Cortex-A53", 0x8ff, 0, NEON, "neon"},
    {"Cortex-A55", 0x119fff, 0, DOT, "neon dotprod"},
    {"Cortex-A76", 0x119fff, 0, DOT, "neon dotprod"},
    {"Cortex-A78AE", 0xe119fff, 0, DOT, "neon dotprod"},
    {"Neoverse N1", 0x10119fff, 0, DOT, "neon dotprod"},
    {"Neoverse V1", 0xdfffffff, 0x1f201, MATRIX, "neon dotprod i8mm"},
    {"no Advanced SIMD", 0x1, 0x2000, 0, "scalar"},
    {"nothing", 0, 0, 0, "scalar"},
};

static void test_decode(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(BOARDS) / sizeof(BOARDS[0]); i++) {
        char names[64];
        uint32_t got = assay_cpu_decode(BOARDS[i].hwcap, BOARDS[i].hwcap2);
        if (got != BOARDS[i].flags)
            fail_msg("%s: exp 0x%x got 0x%x", BOARDS[i].part, BOARDS[i].flags,
                     got);
        assert_string_equal(assay_cpu_names(got, names, sizeof(names)),
                            BOARDS[i].names);
    }
}

static void test_single_bits(void **state)
{
    (void)state;
    for (int bit = 0; bit < 64; bit++) {
        uint64_t word = 1ull << bit;
        uint32_t one = assay_cpu_decode(word | 2, 0);
        uint32_t two = assay_cpu_decode(2, word);
        assert_int_equal(one, bit == 20 ? DOT : NEON);
        assert_int_equal(two, bit == 13 ? NEON | ASSAY_CPU_I8MM : NEON);
    }
}

static void test_mask(void **state)
{
    static const struct {
        const char *text;
        uint32_t mask;
    } good[] = {
        {"0", 0},
        {"all", ASSAY_CPU_ALL},
        {"neon", NEON},
        {"dotprod", DOT},
        {"i8mm", MATRIX},
        {"neon,dotprod", DOT},
        {"i8mm,neon", MATRIX},
    };
    static const char *const bad[] = {
        "",       "1",        "none",          "NEON",
        "neon,",  ",neon",    "neon,,dotprod", "neon dotprod",
        "0,neon", "all,neon", "neo",           "neonx",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        uint32_t mask = 0xdead;
        assert_int_equal(assay_cpu_parse_mask(good[i].text, &mask), 0);
        assert_int_equal(mask, good[i].mask);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint32_t mask = 0xdead;
        if (assay_cpu_parse_mask(bad[i], &mask) != -1)
            fail_msg("'%s' was taken", bad[i]);
        assert_int_equal(mask, 0xdead);
    }
    assert_int_equal(assay_cpu_parse_mask(NULL, NULL), -1);
}

static void test_names_cut(void **state)
{
    char out[8];
    (void)state;
    memset(out, 'x', sizeof(out));
    assay_cpu_names(MATRIX, out, sizeof(out));
    assert_string_equal(out, "neon do");
    assert_string_equal(assay_cpu_names(MATRIX, out, 1), "");
    assert_string_equal(assay_cpu_names(MATRIX, out, 0), "");
}

static void test_rung(void **state)
{
    (void)state;
    assert_string_equal(assay_cpu_rung(MATRIX), "i8mm");
    assert_string_equal(assay_cpu_rung(MATRIX & ASSAY_CPU_KERNELS), "dotprod");
    assert_string_equal(assay_cpu_rung(NEON | ASSAY_CPU_I8MM), "i8mm");
    assert_string_equal(
        assay_cpu_rung((NEON | ASSAY_CPU_I8MM) & ASSAY_CPU_KERNELS), "neon");
    assert_string_equal(assay_cpu_rung(0), "scalar");
}

static void test_probe(void **state)
{
    (void)state;
#if defined(__aarch64__)
    assert_true(assay_cpu_probe() & ASSAY_CPU_NEON);
#else
    assert_int_equal(assay_cpu_probe(), 0);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode), cmocka_unit_test(test_single_bits),
        cmocka_unit_test(test_mask),   cmocka_unit_test(test_names_cut),
        cmocka_unit_test(test_rung),   cmocka_unit_test(test_probe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
