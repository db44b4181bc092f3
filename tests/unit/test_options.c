/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: what is taken, and what each refusal says.
 *
 * links: host-tools/options.c host-tools/options_value.c host-tools/messages.c
 * links: host-tools/diff/classify.c kernels/cpu.c
 * links: host-tools/model/numerics_data.c
 * links: lib/core/arith.c lib/core/arith_binary.c lib/core/arith_build.c
 * links: lib/core/arith_conv.c lib/core/arith_policy.c lib/core/arith_pool.c
 * links: lib/core/arith_unary.c lib/core/slice.c lib/core/buf.c lib/core/err.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/diff/diff.h"
#include "host-tools/options.h"
#include "kernels/cpu.h"

static int parse(struct assay_options *o, struct assay_err *err,
                 const char *line)
{
    static char copy[4096];
    static char *argv[512];
    int argc = 0;

    memset(err, 0, sizeof(*err));
    snprintf(copy, sizeof(copy), "%s", line);
    for (char *p = strtok(copy, " "); p != NULL; p = strtok(NULL, " "))
        argv[argc++] = p;
    argv[argc] = NULL;
    return assay_options_parse(o, argc, argv, err);
}

static void takes_all(void **state)
{
    struct assay_options o;
    struct assay_err err;

    (void)state;
    unsetenv("ASSAY_TARGET");
    unsetenv("NO_COLOR");
    assert_int_equal(
        parse(&o, &err,
              "run case --target unix:/x --layers conv* --layers pw? "
              "--skip-layers a --op-type Conv --start-layer s --end-layer e "
              "--mode isolated --max-lsb 1 --max-lsb conv2:3 --atol 1e-3 "
              "--rtol fc:0.5 --sort-by cosine --max-rows 7 --all --wide -x "
              "--timeout 2 --layer-timeout 0.5 --require host,sim "
              "--min-coverage 50 --cpumask 0 --arith a=b --format json "
              "--json f.json --save-outputs --skip-if-missing --force -v -v -q "
              "--no-color --numerics n -o out --list --dry-run"),
        0);
    assert_string_equal(o.operand, "case");
    assert_string_equal(o.target, "unix:/x");
    assert_int_equal(o.layers.n, 2);
    assert_int_equal(o.mode, ASSAY_MODE_ISOLATED);
    assert_int_equal(o.sort, ASSAY_SORT_COSINE);
    assert_int_equal(o.max_rows, 7);
    assert_int_equal(o.timeout_ms, 2000);
    assert_int_equal(o.layer_timeout_ms, 500);
    assert_int_equal(o.require, 1u << ASSAY_COL_HOST | 1u << ASSAY_COL_SIM);
    assert_true(o.min_coverage == 50.0);
    assert_int_equal(o.cpumask, 0);
    assert_int_equal(o.verbose, 2);
    assert_true(o.all && o.wide && o.fail_fast && o.json_stdout &&
                o.save_outputs && o.skip_if_missing && o.force && o.quiet &&
                o.no_color && o.list && o.dry_run);
    assert_true(assay_threshold_of(&o.max_lsb, "conv2", 9) == 3);
    assert_true(assay_threshold_of(&o.max_lsb, "conv3", 9) == 1);
    assert_true(assay_threshold_of(&o.rtol, "fc", 9) == 0.5);
    assert_true(assay_threshold_of(&o.rtol, "other", 9) == 9);
    assert_true(assay_strings_match(&o.layers, "conv1"));
    assert_true(assay_strings_match(&o.layers, "pw4"));
    assert_false(assay_strings_match(&o.layers, "pw44"));
}

static void defaults(void **state)
{
    struct assay_options o;
    struct assay_err err;

    (void)state;
    assert_int_equal(parse(&o, &err, "run -m m.onnx -i a.npz -i b.npz --ip h"),
                     0);
    assert_int_equal(o.inputs.n, 2);
    assert_string_equal(o.target, "h");
    assert_int_equal(o.max_rows, 50);
    assert_true(o.min_coverage == 100.0);
    assert_int_equal(o.cpumask, ASSAY_CPU_ALL);
    assert_int_equal(o.mode, ASSAY_MODE_BOTH);
    assert_false(o.all || o.local || o.json_stdout);
}

static void environment(void **state)
{
    struct assay_options o;
    struct assay_err err;

    (void)state;
    setenv("ASSAY_TARGET", "board:1", 1);
    setenv("NO_COLOR", "1", 1);
    assert_int_equal(parse(&o, &err, "info"), 0);
    assert_string_equal(o.target, "board:1");
    assert_true(o.no_color);
    assert_int_equal(parse(&o, &err, "info --target other"), 0);
    assert_string_equal(o.target, "other");
    assert_int_equal(parse(&o, &err, "info --local"), 0);
    assert_null(o.target);
    setenv("ASSAY_TARGET", "rk3588", 1);
    assert_int_equal(parse(&o, &err, "info"), ASSAY_EUSAGE);
    unsetenv("ASSAY_TARGET");
    unsetenv("NO_COLOR");
}

static const struct {
    const char *line, *text;
} bad[] = {
    {"", "no command"},
    {"rnu case", "unknown command 'rnu'; did you mean 'run'?"},
    {"compare case", "command 'compare' is not yet known"},
    {"mutate case", "assay mutate needs the layer to change"},
    {"mutate case --layer a", "assay mutate needs what to change: --set"},
    {"mutate case --layer a --set R1", "assay mutate needs a file to write"},
    {"mutate case --target x", "'--target' has no meaning for 'assay mutate'"},
    {"show case --set R1", "'--set' has no meaning for 'assay show'"},
    {"replay", "assay replay needs a bundle: FILE.assay"},
    {"replay a.assay --numerics nash", "'--numerics' has no meaning"},
    {"--frob", "unknown option '--frob'"},
    {"run case --lcoal", "unknown option '--lcoal'; did you mean '--local'?"},
    {"run case -z", "unknown option '-z'"},
    {"run case --junit-xml f", "'--junit-xml' is not yet known"},
    {"run case --capture all", "differing"},
    {"import case --capture full", "'--capture'"},
    {"run case --layer x", "'--layer' has no meaning for 'assay run'"},
    {"info --all", "'--all' has no meaning for 'assay info'"},
    {"run case --target", "'--target' needs an argument: ADDRESS"},
    {"run case -m", "'--model' needs an argument"},
    {"run case --all=yes", "'--all' takes no argument"},
    {"run case --l", "option '--l' is ambiguous"},
    {"run case --max-rows -1", "'--max-rows': bad value '-1'"},
    {"run case --max-rows 1x", "'--max-rows': bad value '1x'"},
    {"run case --max-lsb 1.5", "'--max-lsb': bad value '1.5'"},
    {"run case --max-lsb :1", "'--max-lsb': bad value ':1'"},
    {"run case --atol nan", "'--atol': bad value 'nan'"},
    {"run case --atol a:", "'--atol': bad value 'a:'"},
    {"run case --rtol -1", "'--rtol': bad value '-1'"},
    {"run case --timeout 0", "'--timeout': bad value '0'"},
    {"run case --timeout inf", "'--timeout': bad value 'inf'"},
    {"run case --min-coverage 101", "a number from 0 to 100"},
    {"run case --mode all", "one of both, cumulative, isolated"},
    {"run case --sort-by name", "one of index, mismatch, max_lsb"},
    {"run case --format csv", "one of text, json"},
    {"run case --cpumask avx", "expected 0, neon, dotprod, i8mm or all"},
    {"run case --require gpu", "expected host, cpu-scalar, cpu, sim, bpu"},
    {"run case --require cpu,", "'--require': bad value 'cpu,'"},
    {"run case --arith conv2", "expected LAYER=NAME"},
    {"run case --arith =q", "expected LAYER=NAME"},
    {"run case --target rk3588", "'rk3588' is the name of a chip"},
    {"run case --target J6", "address expected"},
    {"run case --local --target h", "--local and --target exclude"},
    {"run case other", "unexpected operand 'other'"},
    {"info case", "unexpected operand 'case'"},
    {"run --local", "assay run needs a case folder or a model"},
    {"show", "assay show needs a case folder or a model"},
    {"run case -m model --local", "given together with -m, -i or -r"},
    {"run -m model --local", "'model' given without input samples"},
};

static void refusals(void **state)
{
    struct assay_options o;
    struct assay_err err;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        memset(&o, 0x5a, sizeof(o));
        if (parse(&o, &err, bad[i].line) != ASSAY_EUSAGE)
            fail_msg("'%s' is not refused", bad[i].line);
        if (strstr(err.text, bad[i].text) == NULL)
            fail_msg("'%s': '%s' lacks '%s'", bad[i].line, err.text,
                     bad[i].text);
        /* Outputs are untouched on failure. */
        assert_int_equal(((unsigned char *)&o)[0], 0x5a);
    }
}

static void too_many(void **state)
{
    struct assay_options o;
    struct assay_err err;
    char line[4096] = "run case --local";

    (void)state;
    for (unsigned i = 0; i < ASSAY_MAX_REPEATS + 1; i++)
        strcat(line, " --layers a");
    assert_int_equal(parse(&o, &err, line), ASSAY_EUSAGE);
    assert_non_null(strstr(err.text, "more than 64 times"));
}

static void help_and_version(void **state)
{
    struct assay_options o;
    struct assay_err err;

    (void)state;
    assert_int_equal(parse(&o, &err, "--help"), 0);
    assert_true(o.help && o.command == ASSAY_CMD_NONE);
    assert_int_equal(parse(&o, &err, "--version"), 0);
    assert_true(o.version);
    /* Help wins over what is missing. */
    assert_int_equal(parse(&o, &err, "run --help"), 0);
    assert_true(o.help && o.command == ASSAY_CMD_RUN);
}

static void distances(void **state)
{
    (void)state;
    assert_int_equal(assay_edit_distance("", ""), 0);
    assert_int_equal(assay_edit_distance("abc", ""), 3);
    assert_int_equal(assay_edit_distance("kitten", "sitting"), 3);
    assert_int_equal(assay_edit_distance("run", "rnu"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_all),   cmocka_unit_test(defaults),
        cmocka_unit_test(environment), cmocka_unit_test(refusals),
        cmocka_unit_test(too_many),    cmocka_unit_test(help_and_version),
        cmocka_unit_test(distances),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
