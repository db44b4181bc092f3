/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets: each kind, and a sentence for each mistake.
 *
 * links: lib/net/target.c lib/core/buf.c lib/core/err.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "lib/net/target.h"

static const struct {
    const char *text, *host;
    uint16_t port;
} tcp[] = {
    {"127.0.0.1", "127.0.0.1", 7410},
    {"127.0.0.1:0", "127.0.0.1", 0},
    {"board-7.lab:65535", "board-7.lab", 65535},
    {"[::1]", "::1", 7410},
    {"[::1]:99", "::1", 99},
    {"::1", "::1", 7410},
    {"localhost:1", "localhost", 1},
    {"rk3588:7410", "rk3588", 7410}, /* a port makes it a host */
    {"rk3588-board", "rk3588-board", 7410},
};

static void test_tcp(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(tcp) / sizeof(tcp[0]); i++) {
        struct assay_target t;
        struct assay_err err = {0};

        if (assay_target_parse(&t, tcp[i].text, &err) < 0)
            fail_msg("%s: %s", tcp[i].text, err.text);
        assert_int_equal(t.kind, ASSAY_TARGET_TCP);
        assert_string_equal(t.host, tcp[i].host);
        assert_int_equal(t.port, tcp[i].port);
        assert_string_equal(t.text, tcp[i].text);
        assay_target_close(&t);
        assay_target_close(&t);
    }
}

static const struct {
    const char *text;
    const char *words[8];
} commands[] = {
    {"exec:true", {"true"}},
    {"exec:  a  b\tc ", {"a", "b", "c"}},
    {"exec:a 'b c' \"d e\" f\\ g", {"a", "b c", "d e", "f g"}},
    {"exec:a '' \"\"", {"a", "", ""}},
    {"exec:a'b'\"c\"d", {"abcd"}},
    {"exec:a '\\' \"\\\"\" \"\\n\"", {"a", "\\", "\"", "\\n"}},
    {"exec:a $HOME *;b|c", {"a", "$HOME", "*;b|c"}}, /* no shell */
    {"ssh:root@board", {"ssh", "-T", "root@board", "assayd", "--stdio"}},
    {"ssh:board", {"ssh", "-T", "board", "assayd", "--stdio"}},
    {"ssh:root@board:/opt/assayd",
     {"ssh", "-T", "root@board", "/opt/assayd", "--stdio"}},
    {"ssh:me@[::1]:bin/assayd",
     {"ssh", "-T", "me@[::1]", "bin/assayd", "--stdio"}},
};

static void test_commands(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        struct assay_target t;
        struct assay_err err = {0};
        size_t n = 0;

        if (assay_target_parse(&t, commands[i].text, &err) < 0)
            fail_msg("%s: %s", commands[i].text, err.text);
        assert_int_equal(t.kind, ASSAY_TARGET_EXEC);
        assert_int_equal(t.is_ssh, commands[i].text[0] == 's');
        for (; commands[i].words[n] != NULL; n++) {
            assert_non_null(t.argv[n]);
            assert_string_equal(t.argv[n], commands[i].words[n]);
        }
        assert_null(t.argv[n]);
        assay_target_close(&t);
    }
}

static const struct {
    const char *text, *sentence;
} bad[] = {
    {"", "target is empty"},
    {"rk3588", "address expected: 'rk3588' is the name of a chip"},
    {"RV1126b", "address expected: 'RV1126b' is the name of a chip"},
    {"bayes-e", "address expected"},
    {"J6M", "address expected"},
    {"board:", "port '' is not a number"},
    {"board:70000", "port '70000' is not a number in 0..65535"},
    {"board:7x", "port '7x' is not a number"},
    {"board:99999999999999999999", "is not a number in 0..65535"},
    {":7410", "host expected"},
    {"bo ard", "' ' cannot be in a host name"},
    {"board/x", "'/' cannot be in a host name"},
    {"[::1", "[ADDRESS]:PORT expected"},
    {"[::1]7", "[ADDRESS]:PORT expected"},
    {"unix:", "path expected behind 'unix:'"},
    {"exec:", "command expected behind 'exec:'"},
    {"exec:  ", "command expected behind 'exec:'"},
    {"exec:a 'b", "ends inside a quote"},
    {"exec:a \"b", "ends inside a quote"},
    {"exec:a \\", "ends inside a quote"},
    {"ssh:", "USER@HOST expected"},
    {"ssh:@board", "USER@HOST expected"},
    {"ssh:root@", "USER@HOST expected"},
    {"ssh:-oProxyCommand=x", "would be an option of ssh"},
    {"ssh:root@-x", "would be an option of ssh"},
    {"ssh:root@board:", "would not take"},
    {"ssh:root@board:a b", "would not take 'a b' as one plain word"},
    {"ssh:root@board:x;reboot", "would not take 'x;reboot'"},
    {"ssh:ro$ot@board", "would not take 'ro$ot@board'"},
    {"ssh:root@[::1", "']' expected"},
};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct assay_target t = {0};
        struct assay_err err = {0};

        if (assay_target_parse(&t, bad[i].text, &err) != ASSAY_EUSAGE)
            fail_msg("'%s' was taken", bad[i].text);
        if (strstr(err.text, bad[i].sentence) == NULL)
            fail_msg("'%s' lacks '%s'", err.text, bad[i].sentence);
        assert_null(t.arena);
    }
}

static void test_too_long(void **state)
{
    static char text[6000];
    struct assay_target t;
    struct assay_err err = {0};

    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    assert_int_equal(assay_target_parse(&t, text, &err), ASSAY_EUSAGE);
    memcpy(text, "exec:", 5);
    for (int i = 5; i < 2000; i++)
        text[i] = i % 2 != 0 ? 'a' : ' ';
    text[2000] = '\0';
    assert_int_equal(assay_target_parse(&t, text, &err), ASSAY_EUSAGE);
    assert_non_null(strstr(err.text, "more than 256 words"));
}

static const struct {
    const char *text;
    bool loopback;
} hosts[] = {
    {"127.0.0.1", true},
    {"127.255.1.2:1", true},
    {"[::1]:5", true},
    {"localhost", true},
    {"unix:/x", true},
    {"exec:x", true},
    {"0.0.0.0", false},
    {"128.0.0.1", false},
    {"[::]:1", false},
    {"192.168.1.20", false},
    {"board", false},
    {"127.0.0.1.example", false},
    {"[::ffff:127.0.0.1]", false},
    {"tls:127.0.0.1:1", false},
    {"tls:[::1]", false},
    {"tls:localhost", false},
    {"tls:board.local:7410", false},
};

static void test_loopback(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        struct assay_target t;
        struct assay_err err = {0};

        assert_int_equal(assay_target_parse(&t, hosts[i].text, &err), 0);
        assert_int_equal(t.kind == ASSAY_TARGET_TCP && t.is_tls,
                         !hosts[i].loopback);
        assay_target_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tcp),      cmocka_unit_test(test_commands),
        cmocka_unit_test(test_bad),      cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_loopback),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
