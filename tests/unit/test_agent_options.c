/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's command line.
 *
 * links: agent/options.c agent/log.c kernels/cpu.c lib/core/err.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "agent/options.h"
#include "kernels/cpu.h"

static int parse(struct assay_agent_options *o, struct assay_err *err,
                 const char *const *words)
{
    char *argv[16] = {(char *)(uintptr_t) "assayd"};
    int argc = 1;

    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    memset(err, 0, sizeof(*err));
    return assay_agent_options_parse(o, argc, argv, err);
}

static void test_good(void **state)
{
    struct assay_agent_options o;
    struct assay_err err;

    (void)state;
    assert_int_equal(
        parse(&o, &err, (const char *[]){"--listen", "127.0.0.1:0", NULL}), 0);
    assert_string_equal(o.listen, "127.0.0.1:0");
    assert_int_equal(o.memory, 256u << 20);
    assert_int_equal(o.cpumask, ASSAY_CPU_ALL);
    assert_null(o.board_id);
    assert_int_equal(
        parse(&o, &err,
              (const char *[]){"--stdio", "--board-id=s100-07", "--cpumask",
                               "neon", "--memory", "1G", "--log-level", "debug",
                               NULL}),
        0);
    assert_true(o.stdio);
    assert_string_equal(o.board_id, "s100-07");
    assert_int_equal(o.cpumask, ASSAY_CPU_NEON);
    assert_int_equal(o.memory, 1u << 30);
    assert_int_equal(o.log_level, ASSAY_LOG_DEBUG);
    assert_int_equal(parse(&o, &err, (const char *[]){"--version", NULL}), 0);
    assert_true(o.version);
    assert_int_equal(parse(&o, &err, (const char *[]){"--help", NULL}), 0);
    assert_true(o.help);
    assert_int_equal(
        parse(&o, &err,
              (const char *[]){"--self-test", "--deadline", "hello=0.5",
                               "--deadline", "self-test=20", "--deadline",
                               "hello=1.25", NULL}),
        0);
    assert_true(o.self_test && !o.no_self_test && o.listen == NULL);
    assert_int_equal(o.deadline_ms[ASSAY_DEADLINE_HELLO], 1250);
    assert_int_equal(o.deadline_ms[ASSAY_DEADLINE_SELF_TEST], 20000);
    assert_int_equal(o.deadline_ms[ASSAY_DEADLINE_RUN], 0);
    assert_int_equal(
        parse(&o, &err, (const char *[]){"--stdio", "--no-self-test", NULL}),
        0);
    assert_true(o.no_self_test);
}

static const struct {
    const char *words[4];
    const char *sentence;
} bad[] = {
    {{NULL}, "--listen ADDRESS, --stdio or --self-test expected"},
    {{"--stdio", "--listen", "127.0.0.1:0"}, "exclude each other"},
    {{"--listen"}, "option '--listen' needs an argument"},
    {{"--nothing"}, "unknown option '--nothing'"},
    {{"-x"}, "unknown option '-x'"},
    {{"--stdio", "word"}, "unexpected argument 'word'"},
    {{"--stdio", "--memory", "lots"}, "--memory 'lots': a size like 256M"},
    {{"--stdio", "--memory", "1"}, "--memory '1'"},
    {{"--stdio", "--memory", "9999999999999999999G"}, "--memory"},
    {{"--stdio", "--memory", "64MB"}, "--memory '64MB'"},
    {{"--stdio", "--memory", "-5M"}, "--memory '-5M'"},
    {{"--stdio", "--cpumask", "sse"}, "--cpumask 'sse'"},
    {{"--stdio", "--log-level", "loud"}, "--log-level 'loud'"},
    {{"--stdio", "--board-id", "a b"}, "--board-id 'a b'"},
    {{"--stdio", "--board-id", ""}, "--board-id ''"},
    {{"--stdio", "--deadline", "lunch=3"}, "--deadline 'lunch=3'"},
    {{"--stdio", "--deadline", "hello"}, "--deadline 'hello'"},
    {{"--stdio", "--deadline", "hello="}, "--deadline 'hello='"},
    {{"--stdio", "--deadline", "hello=0"}, "--deadline 'hello=0'"},
    {{"--stdio", "--deadline", "hello=nan"}, "--deadline 'hello=nan'"},
    {{"--stdio", "--deadline", "hello=1e9"}, "--deadline 'hello=1e9'"},
    {{"--stdio", "--deadline", "hello=3s"}, "--deadline 'hello=3s'"},
    {{"--stdio", "--deadline", "=3"}, "--deadline '=3'"},
    {{"--stdio=1"}, "unknown option '--stdio=1'"},
};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct assay_agent_options o = {.memory = 77};
        struct assay_err err;

        if (parse(&o, &err, bad[i].words) != ASSAY_EUSAGE)
            fail_msg("case %zu was taken", i);
        if (strstr(err.text, bad[i].sentence) == NULL)
            fail_msg("'%s' lacks '%s'", err.text, bad[i].sentence);
        assert_int_equal(o.memory, 77); /* untouched */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
