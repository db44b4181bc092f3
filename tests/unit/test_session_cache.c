/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kept TLS sessions: what was put is got again, by this user alone, for this
 * board and key alone, for a while; anything else is as good as none. And the
 * file of boards, which grows a line at a time.
 *
 * links: host-tools/session_cache.c host-tools/boards.c
 * links: host-tools/private_write.c host-tools/user_dir.c
 * links: lib/net/private_file.c lib/net/pins.c lib/net/identity.c
 * links: lib/net/random.c lib/net/target.c
 * links: lib/core/buf.c lib/core/err.c lib/core/hash.c
 * links: lib/net/ssh.c
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
#include <time.h>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/wait.h>

#include "host-tools/boards.h"
#include "host-tools/private_write.h"
#include "host-tools/session_cache.h"
#include "host-tools/user_dir.h"
#include "lib/core/hash.h"
#include "lib/net/conn_tls.h"

#define A "SHA256:ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs"
#define B "SHA256:PiPoFgA5WUoziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0"
#define HEAD 56 /* magic 16, hash 32, time 8 */

static char folder[] = "/tmp/test-sessions.XXXXXX";
static const uint8_t blob[] = "a session with a secret in it";
static uint8_t out[ASSAY_TLS_SESSION_MAX];

static size_t get(const char *board, const char *fingerprint)
{
    struct assay_session_cache c;

    assay_session_cache_init(&c, board, fingerprint);
    memset(out, 0, sizeof(out));
    size_t n = assay_session_cache_get(&c, out, sizeof(out));

    assert_int_equal(c.offered, n > 0);
    return n;
}

static void put(struct assay_session_cache *c)
{
    assay_session_cache_init(c, "b7:7410", A);
    assay_session_cache_put(c, blob, sizeof(blob));
}

static mode_t mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static void there_and_back(void **state)
{
    struct assay_session_cache c;

    (void)state;
    assert_int_equal(get("b7:7410", A), 0);
    put(&c);
    assert_int_equal(get("b7:7410", A), sizeof(blob));
    assert_memory_equal(out, blob, sizeof(blob));
    assert_int_equal(mode_of(c.path), 0600);
    *strrchr(c.path, '/') = '\0';
    assert_int_equal(mode_of(c.path), 0700);
    assert_int_equal(get("b8:7410", A), 0);
    assert_int_equal(get("b7:7411", A), 0);
    assert_int_equal(get("b7:7410", B), 0); /* another key of ours */
    put(&c);
    assay_session_cache_forget(&c);
    assert_int_equal(get("b7:7410", A), 0);
    assay_session_cache_forget(&c); /* none */
}

static void modes(void **state)
{
    static const mode_t open_to_others[] = {0640, 0620, 0604, 0602, 0666};
    struct assay_session_cache c;

    (void)state;
    put(&c);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(chmod(c.path, open_to_others[i]), 0);
        assert_int_equal(get("b7:7410", A), 0);
    }
    put(&c); /* takes its place */
    assert_int_equal(mode_of(c.path), 0600);
    assert_int_equal(get("b7:7410", A), sizeof(blob));
}

static size_t read_file(const char *path, uint8_t *data, size_t cap)
{
    FILE *f = fopen(path, "r");
    size_t n;

    assert_non_null(f);
    n = fread(data, 1, cap, f);
    fclose(f);
    return n;
}

static void write_file(const char *path, const void *data, size_t n)
{
    assert_int_equal(
        assay_private_replace(path, "x", 0600, false, data, n, NULL), 0);
}

/* Every byte changed, every length. */
static void damage(void **state)
{
    struct assay_session_cache c;
    uint8_t whole[256], bad[256];
    size_t n;

    (void)state;
    put(&c);
    n = read_file(c.path, whole, sizeof(whole));
    assert_int_equal(n, HEAD + sizeof(blob));
    for (size_t i = 0; i < n; i++) {
        memcpy(bad, whole, n);
        bad[i] ^= 0x10;
        write_file(c.path, bad, n);
        assert_int_equal(get("b7:7410", A), 0);
        write_file(c.path, whole, i);
        assert_int_equal(get("b7:7410", A), 0);
    }
    whole[n] = 0;
    write_file(c.path, whole, n + 1);
    assert_int_equal(get("b7:7410", A), 0);
    write_file(c.path, whole, n);
    assert_int_equal(get("b7:7410", A), sizeof(blob));
    /* Too long for who asks. */
    assay_session_cache_init(&c, "b7:7410", A);
    assert_int_equal(assay_session_cache_get(&c, out, sizeof(blob) - 1), 0);
    assert_int_equal(assay_session_cache_get(&c, out, sizeof(blob)),
                     sizeof(blob));
}

/* The file as it would have been `ago` seconds before. */
static void set_age(const char *path, int64_t ago)
{
    uint8_t data[256];
    size_t n = read_file(path, data, sizeof(data));
    uint64_t t = (uint64_t)((int64_t)time(NULL) - ago);

    for (int i = 0; i < 8; i++)
        data[48 + i] = (uint8_t)(t >> (8 * i));
    assay_sha256(data + 48, n - 48, data + 16);
    write_file(path, data, n);
}

static void age(void **state)
{
    struct assay_session_cache c;

    (void)state;
    put(&c);
    set_age(c.path, ASSAY_SESSION_LIFETIME_S - 60);
    assert_int_equal(get("b7:7410", A), sizeof(blob));
    set_age(c.path, ASSAY_SESSION_LIFETIME_S + 60);
    assert_int_equal(get("b7:7410", A), 0);
    set_age(c.path, -3600); /* of a clock that was ahead */
    assert_int_equal(get("b7:7410", A), 0);
}

static void nowhere(void **state)
{
    struct assay_session_cache c;
    char path[PATH_MAX];

    (void)state;
    setenv("XDG_CACHE_HOME", "/dev/null", 1);
    put(&c);
    assert_int_equal(get("b7:7410", A), 0);
    /* A relative one is to be ignored. */
    setenv("XDG_CACHE_HOME", "cache", 1);
    assert_int_equal(assay_user_cache(path, "x", NULL), 0);
    assert_int_equal(strncmp(path, folder, strlen(folder)), 0);
    assert_non_null(strstr(path, "/.cache/assay/x"));
    memset(path, 'p', sizeof(path));
    path[0] = '/';
    path[PATH_MAX - 2] = '\0';
    setenv("XDG_CACHE_HOME", path, 1);
    put(&c);
    assert_string_equal(c.path, "");
    assert_int_equal(get("b7:7410", A), 0);
    setenv("XDG_CACHE_HOME", folder, 1);
    assay_session_cache_init(&c, "b7:7410", A);
    assay_session_cache_put(&c, blob, 0);
    assay_session_cache_put(&c, out, ASSAY_TLS_SESSION_MAX + 1);
}

/* ---- boards --------------------------------------------------------------- */

static void name(void **state)
{
    static const struct {
        const char *target, *name;
    } names[] = {
        {"b7", "b7:7410"},
        {"B7.Lab:1", "b7.lab:1"},
        {"::1", "[::1]:7410"},
        {"[FE80::1]:9", "[fe80::1]:9"},
        {"10.0.0.7", "10.0.0.7:7410"},
    };
    char text[ASSAY_PIN_NAME_MAX + 1], host[300];
    struct assay_target t;

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(assay_target_parse(&t, names[i].target, NULL), 0);
        assert_int_equal(assay_board_name(text, &t, NULL), 0);
        assert_string_equal(text, names[i].name);
        assert_null(assay_pins_bad_name(text));
        assay_target_close(&t);
    }
    memset(host, 'h', 196);
    host[196] = '\0';
    assert_int_equal(assay_target_parse(&t, host, NULL), 0);
    assert_int_equal(assay_board_name(text, &t, NULL), ASSAY_EUSAGE);
    assay_target_close(&t);
}

static void boards(void **state)
{
    struct assay_boards b;
    struct assay_err err = {0};
    uint8_t text[512];
    size_t n;

    (void)state;
    assert_int_equal(assay_boards_load(&b, &err), 0);
    assert_int_equal(b.pins.count, 0);
    assert_int_equal(assay_boards_add(&b, "b7:7410", A, &err), 0);
    assay_boards_close(&b);
    assert_int_equal(mode_of(b.path), 0600);
    /* Comments stay, and a last line without its end. */
    write_file(b.path, "# mine\nb7:7410 " A, 15 + strlen(A));
    assert_int_equal(assay_boards_load(&b, &err), 0);
    assert_int_equal(assay_boards_add(&b, "b8:7410", B, &err), 0);
    n = read_file(b.path, text, sizeof(text) - 1);
    text[n] = '\0';
    assert_string_equal((char *)text, "# mine\nb7:7410 " A "\nb8:7410 " B "\n");
    /* Known by now; and nothing is half-written. */
    assert_int_equal(assay_boards_add(&b, "b8:7410", A, &err), ASSAY_EFORMAT);
    assert_non_null(strstr(err.text, "stands in an earlier line"));
    assert_int_equal(read_file(b.path, text, sizeof(text)), n);
    assert_int_equal(chmod(b.path, 0666), 0);
    assert_int_equal(assay_boards_add(&b, "b9:7410", A, &err), ASSAY_EIO);
    assay_boards_close(&b);
    assert_int_equal(assay_boards_load(&b, &err), ASSAY_EIO);
    assay_boards_close(&b);
    unlink(b.path);
}

/* Many at once: no line is lost. */
static void at_once(void **state)
{
    struct assay_boards b;
    struct assay_err err = {0};
    char board[32];
    pid_t children[8];

    (void)state;
    assert_int_equal(assay_boards_load(&b, &err), 0);
    for (int i = 0; i < 8; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            int rc = 0;

            for (int k = 0; k < 4 && rc == 0; k++) {
                snprintf(board, sizeof(board), "b%d:%d", i, k);
                rc = assay_boards_add(&b, board, A, NULL);
            }
            _exit(rc < 0);
        }
    }
    for (int i = 0; i < 8; i++) {
        int status;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assay_boards_close(&b);
    assert_int_equal(assay_boards_load(&b, &err), 0);
    assert_int_equal(b.pins.count, 32);
    assay_boards_close(&b);
}

static int begin(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    setenv("HOME", folder, 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("XDG_CONFIG_HOME", folder, 1);
    return 0;
}

static int end(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back), cmocka_unit_test(modes),
        cmocka_unit_test(damage),         cmocka_unit_test(age),
        cmocka_unit_test(nowhere),        cmocka_unit_test(name),
        cmocka_unit_test(boards),         cmocka_unit_test(at_once),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
