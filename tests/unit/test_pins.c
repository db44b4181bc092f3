/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of pins: what they may hold, and a sentence with file and line for
 * everything else.
 *
 * links: lib/net/pins.c lib/net/identity.c lib/net/private_file.c
 * links: lib/net/random.c lib/core/buf.c lib/core/err.c lib/core/hash.c
 * libs: -lmbedx509 -lmbedcrypto -lxxhash
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "lib/net/pins.h"

/* SHA-256 of "a", "b" and "c" (sha256sum), as base64 has them. */
#define A "SHA256:ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs"
#define B "SHA256:PiPoFgA5WoUziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0"
#define C "SHA256:Ln0sA6lQeuJl7PW1NWiFpTOTogKdJBOUmXJloaJa78Y"

static int parse(struct assay_pins *out, const char *text,
                 enum assay_pins_kind kind, struct assay_err *err)
{
    return assay_pins_parse(out, text, strlen(text), kind, "f", err);
}

static void good(void **state)
{
    static const char text[] = "# who may use this board\r\n"
                               "\n"
                               "   \t \n"
                               "ann@lab " A "\n"
                               "  #" B "\n"
                               "\tbob\t \t" B " \r\n"
                               "[::1]:7410 " C; /* no end of line */
    struct assay_pins pins;
    struct assay_err err = {0};

    (void)state;
    assert_int_equal(parse(&pins, text, ASSAY_PINS_CLIENTS, &err), 0);
    assert_int_equal(pins.count, 3);
    assert_string_equal(assay_pins_find(&pins, A), "ann@lab");
    assert_string_equal(assay_pins_find(&pins, B), "bob");
    assert_string_equal(assay_pins_find_name(&pins, "[::1]:7410"), C);
    assert_null(assay_pins_find_name(&pins, "ANN@lab"));
    assert_null(assay_pins_find(&pins, "SHA256:"));
    assert_null(assay_pins_find(&pins, ""));
    assay_pins_close(&pins);
    assay_pins_close(&pins);
    assay_pins_close(NULL);
    assert_null(assay_pins_find(&pins, A));
}

/* One board by two addresses; for clients the name would not be clear. */
static void boards_share(void **state)
{
    struct assay_pins pins;
    struct assay_err err = {0};

    (void)state;
    assert_int_equal(parse(&pins, "b7:7410 " A "\n10.0.0.7:7410 " A "\n",
                           ASSAY_PINS_BOARDS, &err),
                     0);
    assert_int_equal(pins.count, 2);
    assert_string_equal(assay_pins_find_name(&pins, "10.0.0.7:7410"), A);
    assay_pins_close(&pins);
}

static void nobody(void **state)
{
    static const char *const texts[] = {"", "\n", "# none", "#\n\n \n"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct assay_pins pins;
        struct assay_err err = {0};

        assert_int_equal(parse(&pins, texts[i], ASSAY_PINS_CLIENTS, &err), 0);
        assert_int_equal(pins.count, 0);
        assert_null(assay_pins_find(&pins, A));
        assay_pins_close(&pins);
    }
}

static const struct {
    const char *text, *sentence;
} bad[] = {
    {"ann", "'f', line 1: NAME SHA256:FINGERPRINT expected, found one word"},
    {A, "'f', line 1: NAME SHA256:FINGERPRINT expected, found one word"},
    {"# x\n\n" A "\n",
     "'f', line 3: NAME SHA256:FINGERPRINT expected, found one word"},
    {"ann bob " A, "'f', line 1: NAME SHA256:FINGERPRINT expected, found more "
                   "than two words"},
    {"ann " A " # mine",
     "'f', line 1: NAME SHA256:FINGERPRINT expected, found more than two "
     "words"},
    {A " ann", "'f', line 1: the name is a fingerprint"},
    {A " " B, "'f', line 1: the name is a fingerprint"},
    {"ann SHA256:", "'f', line 1: fingerprint 'SHA256:' has 0 characters "
                    "behind 'SHA256:', expected 43"},
    {"ann SHA256:ypeB", "'f', line 1: fingerprint 'SHA256:ypeB' has 4 "
                        "characters behind 'SHA256:', expected 43"},
    {"ann " A "=", "'f', line 1: fingerprint '" A "=' has 44 characters behind "
                   "'SHA256:', expected 43"},
    {"ann " A "A", "'f', line 1: fingerprint '" A "A' has 44 characters behind "
                   "'SHA256:', expected 43"},
    {"ann sha256:ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs",
     "'f', line 1: fingerprint 'sha256:ypeBEsobvcr6wjGzmiPcTaeG7/"
     "gUfE5yuYB3ha/uSLs' does not begin with 'SHA256:'"},
    {"ann MD5:00:11", "'f', line 1: fingerprint 'MD5:00:11' does not begin "
                      "with 'SHA256:'"},
    {"ann ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs",
     "'f', line 1: fingerprint 'ypeBEsobvcr6wjGzmiPcTaeG7/"
     "gUfE5yuYB3ha/uSLs' does not begin with 'SHA256:'"},
    /* base64url, a character outside, '=' inside. */
    {"ann SHA256:ypeBEsobvcr6wjGzmiPcTaeG7_gUfE5yuYB3ha_uSLs",
     "'f', line 1: fingerprint 'SHA256:ypeBEsobvcr6wjGzmiPcTaeG7_gUfE5yuYB3ha_uSLs' is not "
     "base64 of 32 bytes"},
    {"ann SHA256:PiPoFgA5WoUziU9lZOGxNIu9egCI1CxKy3PurtWcAJ!",
     "'f', line 1: fingerprint 'SHA256:PiPoFgA5WoUziU9lZOGxNIu9egCI1CxKy3PurtWcAJ!' is not "
     "base64 of 32 bytes"},
    {"ann SHA256:PiPoFgA5WoUziU9lZOGxNIu9egCI1CxKy3PurtWcAJ=",
     "'f', line 1: fingerprint 'SHA256:PiPoFgA5WoUziU9lZOGxNIu9egCI1CxKy3PurtWcAJ=' is not "
     "base64 of 32 bytes"},
    {"ann SHA256:PiPo=gA5WoUziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0",
     "'f', line 1: fingerprint 'SHA256:PiPo=gA5WoUziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0' is not "
     "base64 of 32 bytes"},
    /* The same 32 bytes as B, spelt with a bit that is thrown away. */
    {"ann SHA256:PiPoFgA5WoUziU9lZOGxNIu9egCI1CxKy3PurtWcAJ1",
     "'f', line 1: fingerprint 'SHA256:PiPoFgA5WoUziU9lZOGxNIu9egCI1CxKy3PurtWcAJ1' is not "
     "base64 of 32 bytes"},
    {"ann " A "\nbob " B "\nann " C "\n",
     "'f', line 3: name 'ann' stands in an earlier line"},
    {"ann " A "\nann " A "\n",
     "'f', line 2: name 'ann' stands in an earlier line"},
    {"ann " A "\n\nbob " A "\n",
     "'f', line 3: this fingerprint is that of 'ann' in an earlier line"},
    {"a\001b " A, "'f', line 1: the name holds something else than printable "
                  "ASCII without blanks"},
    {"a\x7f " A, "'f', line 1: the name holds something else than printable "
                 "ASCII without blanks"},
    {"\xc3\xa4nn " A, "'f', line 1: the name holds something else than "
                      "printable ASCII without blanks"},
    {"a\rb " A, "'f', line 1: the name holds something else than printable "
                "ASCII without blanks"},
    {"\xef\xbb\xbf"
     "ann " A,
     "'f', line 1: the name holds something else than "
     "printable ASCII without blanks"},
    {"ann\v" A, "'f', line 1: NAME SHA256:FINGERPRINT expected, found one "
                "word"},
};

static void refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct assay_pins pins = {.count = 77};
        struct assay_err err = {0};

        if (parse(&pins, bad[i].text, ASSAY_PINS_CLIENTS, &err) == 0)
            fail_msg("taken: %s", bad[i].text);
        assert_int_equal(err.code, ASSAY_EFORMAT);
        assert_string_equal(err.text, bad[i].sentence);
        assert_int_equal(pins.count, 77); /* untouched */
    }
}

static void nul_byte(void **state)
{
    static const char text[] = "# fine\nann\0 " A "\n";
    struct assay_pins pins;
    struct assay_err err = {0};

    (void)state;
    assert_int_equal(assay_pins_parse(&pins, text, sizeof(text) - 1,
                                      ASSAY_PINS_CLIENTS, "f", &err),
                     ASSAY_EFORMAT);
    assert_string_equal(err.text, "'f', line 2: holds a NUL byte");
}

static void names(void **state)
{
    char text[300], name[ASSAY_PIN_NAME_MAX + 2];
    struct assay_pins pins;
    struct assay_err err = {0};

    (void)state;
    memset(name, 'n', sizeof(name));
    name[ASSAY_PIN_NAME_MAX] = '\0';
    assert_null(assay_pins_bad_name(name));
    snprintf(text, sizeof(text), "%s " A, name);
    assert_int_equal(parse(&pins, text, ASSAY_PINS_CLIENTS, &err), 0);
    assay_pins_close(&pins);
    name[ASSAY_PIN_NAME_MAX] = 'n';
    name[ASSAY_PIN_NAME_MAX + 1] = '\0';
    snprintf(text, sizeof(text), "%s " A, name);
    assert_int_equal(parse(&pins, text, ASSAY_PINS_CLIENTS, &err),
                     ASSAY_EFORMAT);
    assert_string_equal(err.text, "'f', line 1: the name is longer than 200 "
                                  "characters");
    assert_non_null(assay_pins_bad_name(""));
    assert_non_null(assay_pins_bad_name("#a"));
    assert_non_null(assay_pins_bad_name("a b"));
}

/* Different ones: 32 bytes of which the first two count. */
static void counted_fingerprint(char out[ASSAY_FINGERPRINT_TEXT], unsigned i)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnop"
                                 "qrstuvwxyz0123456789+/";

    snprintf(out, ASSAY_FINGERPRINT_TEXT, "SHA256:%c%c%041d", digits[i / 64],
             digits[i % 64], 0);
}

static void caps(void **state)
{
    char print[ASSAY_FINGERPRINT_TEXT], line[128];
    struct assay_buf text;
    struct assay_pins pins;
    struct assay_err err = {0};

    (void)state;
    assay_buf_init(&text);
    for (unsigned i = 0; i <= ASSAY_PINS_MAX; i++) {
        if (i == ASSAY_PINS_MAX) {
            assert_int_equal(assay_pins_parse(&pins, (const char *)text.data,
                                              text.len, ASSAY_PINS_CLIENTS, "f",
                                              &err),
                             0);
            assert_int_equal(pins.count, ASSAY_PINS_MAX);
            assert_string_equal(assay_pins_find(&pins, print), "n1023");
            assay_pins_close(&pins);
        }
        counted_fingerprint(print, i);
        snprintf(line, sizeof(line), "n%u %s\n", i, print);
        assert_int_equal(assay_buf_append(&text, line, strlen(line)), 0);
    }
    assert_int_equal(assay_pins_parse(&pins, (const char *)text.data, text.len,
                                      ASSAY_PINS_CLIENTS, "f", &err),
                     ASSAY_EFORMAT);
    assert_string_equal(err.text, "'f', line 1025: more than 1024 pins");
    while (text.len <= ASSAY_PINS_FILE_MAX)
        assert_int_equal(assay_buf_append(&text, "\n", 1), 0);
    assert_int_equal(assay_pins_parse(&pins, (const char *)text.data, text.len,
                                      ASSAY_PINS_CLIENTS, "f", &err),
                     ASSAY_EFORMAT);
    assert_string_equal(err.text, "'f' is longer than 262144 bytes");
    assay_buf_close(&text);
}

/* ---- files ---------------------------------------------------------------- */

static char folder[] = "/tmp/test-pins.XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static const char *file(const char *name, const char *text, mode_t mode)
{
    const char *path = in_folder(name);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

static void expect_mode(mode_t mode, const char *sentence)
{
    struct assay_pins pins;
    struct assay_err err = {0};
    char whole[512];
    int rc = assay_pins_load(&pins, file("modes", "ann " A "\n", mode), &err);

    if (sentence == NULL) {
        assert_int_equal(rc, 0);
        assert_int_equal(pins.count, 1);
        assay_pins_close(&pins);
        return;
    }
    assert_int_equal(rc, ASSAY_EIO);
    snprintf(whole, sizeof(whole),
             "list of clients '%s' has mode %04o, so "
             "that %s it: chmod go-w it",
             in_folder("modes"), mode, sentence);
    assert_string_equal(err.text, whole);
}

static void modes(void **state)
{
    (void)state;
    expect_mode(0600, NULL);
    expect_mode(0444, NULL);
    expect_mode(0644, NULL);
    expect_mode(0755, NULL);
    expect_mode(0660, "group may write");
    expect_mode(0620, "group may write");
    expect_mode(0602, "others may write");
    expect_mode(0666, "others may write");
    expect_mode(0777, "others may write");
}

static void missing(void **state)
{
    struct assay_pins pins;
    struct assay_err err = {0};

    (void)state;
    assert_int_equal(assay_pins_load(&pins, in_folder("none"), &err),
                     ASSAY_EIO);
    assert_non_null(strstr(err.text, "No such file"));
    assert_int_equal(assay_pins_load_boards(&pins, in_folder("none"), &err), 0);
    assert_int_equal(pins.count, 0);
    assert_null(assay_pins_find_name(&pins, "b"));
    assay_pins_close(&pins);
    assert_int_equal(
        assay_pins_load_boards(&pins, file("plain", "x", 0600), &err),
        ASSAY_EFORMAT);
    snprintf(err.text, sizeof(err.text), "%s/x", in_folder("plain"));
    /* Not there in another way: no empty set. */
    assert_int_equal(assay_pins_load_boards(&pins, err.text, NULL), ASSAY_EIO);
}

static void not_files(void **state)
{
    struct assay_pins pins;
    struct assay_err err = {0};

    (void)state;
    assert_int_equal(assay_pins_load(&pins, folder, &err), ASSAY_EFORMAT);
    assert_non_null(strstr(err.text, "is not a regular file"));
    assert_int_equal(assay_pins_load(&pins, "/dev/null", &err), ASSAY_EFORMAT);
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    alarm(10); /* nobody writes: it must not be waited for */
    assert_int_equal(assay_pins_load(&pins, in_folder("pipe"), &err),
                     ASSAY_EFORMAT);
    alarm(0);
    assert_non_null(strstr(err.text, "is not a regular file"));
}

static void foreign(void **state)
{
    struct assay_pins pins;
    struct assay_err err = {0};
    const char *path = file("foreign", "ann " A "\n", 0600);

    (void)state;
    if (chown(path, 12345, (gid_t)-1) != 0)
        skip(); /* only root can give files away */
    assert_int_equal(assay_pins_load(&pins, path, &err), ASSAY_EIO);
    assert_non_null(strstr(err.text, "belongs to user 12345"));
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
    static const char *const made[] = {"modes", "plain", "pipe", "foreign"};

    (void)state;
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
        unlink(in_folder(made[i]));
    return rmdir(folder);
}

/* Every allocation in turn fails. */
static long left;

static void *failing(void *p, size_t n)
{
    if (n == 0) {
        free(p);
        return NULL;
    }
    return left-- > 0 ? realloc(p, n) : NULL;
}

static void no_memory(void **state)
{
    int rc = -1;

    (void)state;
    assay_alloc_hook = failing;
    for (long k = 0; rc < 0; k++) {
        struct assay_pins pins;
        struct assay_err err = {0};

        left = k;
        rc = parse(&pins, "ann " A "\nbob " B "\n", ASSAY_PINS_CLIENTS, &err);
        if (rc < 0)
            assert_int_equal(err.code, ASSAY_EMEMORY);
        else
            assay_pins_close(&pins);
        assert_true(k < 20);
    }
    assay_alloc_hook = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good),     cmocka_unit_test(boards_share),
        cmocka_unit_test(nobody),   cmocka_unit_test(refused),
        cmocka_unit_test(nul_byte), cmocka_unit_test(names),
        cmocka_unit_test(caps),     cmocka_unit_test(modes),
        cmocka_unit_test(missing),  cmocka_unit_test(not_files),
        cmocka_unit_test(foreign),  cmocka_unit_test(no_memory),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
