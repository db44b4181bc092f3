/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words for the shell of a board: every byte comes through a real shell as it
 * was, and nothing of it is executed.
 *
 * links: lib/net/ssh.c lib/net/target.c lib/core/buf.c lib/core/err.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/net/ssh.h"
#include "lib/net/target.h"

static const char *word(struct assay_buf *b, const char *text)
{
    struct assay_err err = {0};

    assay_buf_init(b);
    assert_int_equal(assay_shell_word(b, text, &err), 0);
    assert_int_equal(assay_buf_append(b, "", 1), 0);
    return (const char *)b->data;
}

/* What a shell makes of `printf %s WORD`. */
static void through_shell(const char *text, char *out, size_t cap)
{
    struct assay_buf b;
    char command[8192];
    FILE *f;
    size_t n;

    snprintf(command, sizeof(command), "printf '%%s|' %s", word(&b, text));
    assay_buf_close(&b);
    f = popen(command, "r"); /* sh -c */
    assert_non_null(f);
    n = fread(out, 1, cap - 1, f);
    out[n] = '\0';
    assert_int_equal(pclose(f), 0);
}

static void check(const char *text, const char *wanted)
{
    char got[8192], expected[4200];

    through_shell(text, got, sizeof(got));
    snprintf(expected, sizeof(expected), "%s|", wanted);
    assert_string_equal(got, expected);
}

static void test_shell(void **state)
{
    static const char *const texts[] = {
        "/usr/local/bin/assayd",
        "a b",
        " ",
        "",
        "'",
        "''",
        "a'b'c",
        "\"",
        "$(echo x)",
        "`echo x`",
        "$HOME",
        "${HOME}",
        "; echo x",
        "| echo x",
        "& echo x",
        "> /nowhere/x",
        "*",
        "[a-z]*",
        "?",
        "{a,b}",
        "!x",
        "#x",
        "a#b",
        "a=b",
        "x~",
        "a~/b",
        "(x)",
        "\xc3\xa4 \xff",
        "-n",
        "%s%n",
        "$'x'",
        "$\"x\"",
        "'; echo x; '",
        "'$(echo x)'",
        "a&&b",
        "a||b",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        check(texts[i], texts[i]);
    for (int c = 0x20; c < 0x100; c++) { /* each byte in the middle, in front */
        char text[] = {'x', (char)c, 'y', '\0'};

        if (c == '\\' || c == 0x7f)
            continue;
        check(text, text);
        if (c != '~')
            check(text + 1, text + 1);
    }
}

static void test_long(void **state)
{
    char text[4001];

    (void)state;
    memset(text, '\'', sizeof(text) - 1);
    text[1300] = '\0'; /* four bytes each */
    check(text, text);
}

static void test_home(void **state)
{
    static const struct {
        const char *text, *word;
    } rows[] = {
        {"~", "~"},
        {"~/assayd", "~/assayd"},
        {"~/a b", "~/'a b'"},
        {"~me/a b", "~me/'a b'"},
        {"~/$(x)", "~/'$(x)'"},
        {"~$(x)/a", "'~$(x)/a'"},
        {"~'/a", "'~'\\''/a'"},
        {"~;x", "'~;x'"},
        {"/opt/assayd", "/opt/assayd"},
        {"./assayd-1.0.0", "./assayd-1.0.0"},
        {"", "''"},
    };
    struct assay_buf b;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_string_equal(word(&b, rows[i].text), rows[i].word);
        assay_buf_close(&b);
    }
    setenv("HOME", "/home/x y", 1);
    check("~/a b", "/home/x y/a b");
    check("~/assayd", "/home/x y/assayd");
}

static void test_refused(void **state)
{
    struct assay_buf b;

    (void)state;
    for (int c = 1; c < 0x80; c++) {
        char text[] = {'/', (char)c, '\0'};
        struct assay_err err = {0};
        bool bad = c < 0x20 || c == 0x7f || c == '\\';

        assay_buf_init(&b);
        assert_int_equal(assay_shell_word(&b, text, &err),
                         bad ? ASSAY_EUSAGE : 0);
        for (const char *p = err.text; *p != '\0'; p++)
            assert_true((unsigned char)*p >= 0x20);
        assay_buf_close(&b);
    }
}

/* ASSAY_SSH: words, no shell; the host stays one argument behind them. */
static void test_command(void **state)
{
    static const struct {
        const char *own;
        const char *words[8];
    } rows[] = {
        {NULL, {"ssh", "-x", "-T", "me@b", "cmd"}},
        {"", {"ssh", "-x", "-T", "me@b", "cmd"}},
        {"other", {"other", "-T", "me@b", "cmd"}},
        {"ssh -p 22 -i 'my key'",
         {"ssh", "-p", "22", "-i", "my key", "-T", "me@b", "cmd"}},
        {"a;b $(c)", {"a;b", "$(c)", "-T", "me@b", "cmd"}},
    };
    struct assay_err err = {0};
    char **argv;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct assay_arena *arena = assay_arena_new();
        size_t n = 0;

        if (rows[i].own != NULL)
            setenv("ASSAY_SSH", rows[i].own, 1);
        assert_int_equal(
            assay_ssh_argv(&argv, arena, "ssh -x", "me@b", "cmd", &err), 0);
        for (; n < 8 && rows[i].words[n] != NULL; n++)
            assert_string_equal(argv[n], rows[i].words[n]);
        assert_null(argv[n]);
        assay_arena_free(arena);
    }
    setenv("ASSAY_SSH", "  ", 1);
    struct assay_arena *arena = assay_arena_new();

    assert_int_equal(assay_ssh_argv(&argv, arena, "ssh", "b", "c", &err),
                     ASSAY_EUSAGE);
    setenv("ASSAY_SSH", "ssh 'x", 1);
    assert_int_equal(assay_ssh_argv(&argv, arena, "ssh", "b", "c", &err),
                     ASSAY_EUSAGE);
    assert_string_equal(err.text,
                        "ASSAY_SSH: command 'ssh 'x' ends inside a quote");
    assay_arena_free(arena);
    unsetenv("ASSAY_SSH");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shell),   cmocka_unit_test(test_long),
        cmocka_unit_test(test_home),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_command),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
