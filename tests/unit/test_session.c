/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transition table of a session, written out a second time: what each
 * state takes. Everything else ends the connection.
 *
 * links: agent/ lib/net/ proto/ gen/proto/assay.pb-c.c lib/core/ lib/engine/
 * links: lib/engine/ops/ kernels/ kernels/ref/
 * libs: -luv -lprotobuf-c -lxxhash -lmbedtls -lmbedx509 -lmbedcrypto
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

#include "agent/blobs.h"
#include "agent/log.h"
#include "agent/session.h"
#include "agent/sysinfo.h"
#include "lib/core/buf.h"

/* States in their order: hello ready leased loaded running closing gone. */
static const struct {
    enum assay_msg_type type;
    const char *states;
} allowed[] = {
    {ASSAY_MSG_HELLO, "1000000"},         {ASSAY_MSG_LEASE_ACQUIRE, "0100000"},
    {ASSAY_MSG_LEASE_RELEASE, "0011000"}, {ASSAY_MSG_BLOB_QUERY, "0011000"},
    {ASSAY_MSG_BLOB_PUT, "0011000"},      {ASSAY_MSG_SLICE_LOAD, "0011000"},
    {ASSAY_MSG_RUN_TENSOR, "0001000"},    {ASSAY_MSG_RUN_START, "0001000"},
    {ASSAY_MSG_CREDIT, "0001100"},        {ASSAY_MSG_CANCEL, "0001100"},
    {ASSAY_MSG_RUN_EXPECT, "0001000"},    {ASSAY_MSG_PING, "0111100"},
    {ASSAY_MSG_STATUS, "0111100"},        {ASSAY_MSG_SELF_TEST, "0111000"},
};

static void test_table(void **state)
{
    static const enum assay_msg_type all[] = {
#define ASSAY_MESSAGE(name, number, sender) ASSAY_MSG_##name,
#include "proto/messages.def"
#undef ASSAY_MESSAGE
    };

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const char *want = "0000000";

        for (size_t k = 0; k < sizeof(allowed) / sizeof(allowed[0]); k++) {
            if (allowed[k].type == all[i])
                want = allowed[k].states;
        }
        for (int s = 0; s < ASSAY_SESSION_STATES; s++) {
            if (assay_session_allows((enum assay_session_state)s, all[i]) !=
                (want[s] == '1'))
                fail_msg("%s in state '%s'", assay_msg_name(all[i]),
                         assay_session_state_name((enum assay_session_state)s));
        }
    }
}

static void *bytes(size_t n)
{
    return assay_calloc(n, 1);
}

static void put(struct assay_blobs *b, uint8_t id, size_t n)
{
    uint8_t sha[32] = {id};
    struct assay_err err = {0};

    assert_int_equal(assay_budget_take(b, n, "constant", &err), 0);
    assert_int_equal(assay_blobs_put(b, sha, bytes(n), n, &err), 0);
}

static bool has(struct assay_blobs *b, uint8_t id)
{
    uint8_t sha[32] = {id};
    size_t n;

    return assay_blobs_find(b, sha, &n) != NULL;
}

/* A constant's own, beside its bytes. */
#define COST 128

static void test_blobs(void **state)
{
    struct assay_blobs *b = assay_blobs_new(1000);
    uint8_t one[32] = {1};
    struct assay_err err = {0};

    (void)state;
    put(b, 1, 400 - COST);
    put(b, 2, 300 - COST);
    put(b, 3, 300 - COST);
    assert_int_equal(assay_budget_used(b), 1000);
    assert_int_equal(assay_budget_free(b), 1000);
    assert_true(has(b, 2)); /* now 1 is the oldest, but it is in use */
    assay_blobs_pin(b, one, 1);
    assert_int_equal(assay_budget_free(b), 600);
    put(b, 4, 250 - COST);
    assert_true(has(b, 1) && has(b, 2) && has(b, 4));
    assert_false(has(b, 3));
    put(b, 4, 50); /* the same again: nothing is kept twice */
    assert_int_equal(assay_budget_used(b), 950);
    assert_int_equal(assay_budget_take(b, 601, "plan", &err), ASSAY_EMEMORY);
    assert_string_equal(err.text,
                        "plan of 601 bytes exceeds the agent's memory budget: "
                        "400 of 1000 bytes are in use (assayd --memory raises "
                        "it)");
    assert_int_equal(assay_budget_take(b, 600, "plan", &err), 0);
    assert_int_equal(assay_blobs_count(b), 1);
    assay_budget_give(b, 600);
    assay_blobs_pin(b, one, -1);
    assert_int_equal(assay_budget_free(b), 1000);
    assay_blobs_free(b);
}

/* Millions of tiny constants must not cost more than the budget says. */
static void test_small_blobs(void **state)
{
    struct assay_blobs *b = assay_blobs_new(1000);

    (void)state;
    put(b, 1, 1);
    put(b, 2, 0);
    put(b, 2, 0);
    assert_int_equal(assay_budget_used(b), 1 + 2 * COST);
    for (uint8_t id = 3; id < 100; id++)
        put(b, id, 1);
    assert_int_equal(assay_blobs_count(b), 7);
    assert_true(assay_budget_used(b) <= 1000);
    assert_true(has(b, 99) && !has(b, 2));
    put(b, 200, 1000 - COST);
    assert_int_equal(assay_blobs_count(b), 1);
    assert_int_equal(assay_budget_used(b), 1000);
    assay_blobs_free(b);
}

/* The most that was in use, bytes of constants, and what is only borrowed. */
static void test_budget_marks(void **state)
{
    struct assay_blobs *b = assay_blobs_new(1500);
    uint64_t used, high, rest;

    (void)state;
    put(b, 1, 400);
    put(b, 2, 10);
    used = assay_budget_used(b);
    high = assay_budget_high(b);
    assert_int_equal(assay_blobs_bytes(b), 410);
    assert_true(used > 410 && high >= used);
    assert_int_equal(assay_budget_borrow(b, 300), 300);
    assert_int_equal(assay_budget_used(b), used + 300);
    rest = assay_budget_borrow(b, 5000); /* drops nothing */
    assert_int_equal(rest, 1500 - used - 300);
    assert_true(has(b, 1) && has(b, 2));
    assert_int_equal(assay_budget_high(b), high);
    assay_budget_give(b, 300 + rest);
    put(b, 3, 1300); /* drops both */
    assert_int_equal(assay_blobs_bytes(b), 1300);
    assert_true(assay_budget_high(b) >= 1300);
    assay_blobs_free(b);
}

static void is_quoted(const char *text, const char *want)
{
    char out[ASSAY_LOG_TEXT];

    assert_string_equal(assay_log_quote(text, out), want);
}

static void test_log_quote(void **state)
{
    char text[1000], out[ASSAY_LOG_TEXT];

    (void)state;
    is_quoted("", "\"\"");
    is_quoted("me@host 7", "\"me@host 7\"");
    is_quoted("a\"b\\c", "\"a\\x22b\\x5cc\"");
    is_quoted("x\n<3>forged\x1b[31m\x7f", "\"x\\x0a<3>forged\\x1b[31m\\x7f\"");
    is_quoted("\xc2\x9b", "\"\\xc2\\x9b\""); /* C1 as UTF-8 */
    for (int c = 'a'; c < 'c'; c++) { /* plain, and each byte an escape */
        memset(text, c == 'a' ? 'a' : 1, sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        assay_log_quote(text, out);
        assert_true(strlen(out) < ASSAY_LOG_TEXT);
        assert_true(strlen(out) > ASSAY_LOG_TEXT - 16);
        assert_string_equal(out + strlen(out) - 4, "...\"");
    }
}

static void touch(const char *dir, const char *name)
{
    char path[160];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
}

/* Names of the vendor's runtime, and of nothing else; no order of the disk. */
static void runtime_files(void **state)
{
    static const char *const names[] = {"libhbrt_bayes_aarch64.so",
                                        "libdnn.so.1.24.5",
                                        "libdnn.so",
                                        "libdnnl.so.2",
                                        "libhbrt.a",
                                        "libhbrt evil.so",
                                        "libhbucp.so",
                                        "x.so"};
    char dir[] = P_tmpdir "/assay-libs-XXXXXX", out[512], folders[200];
    char tight[20], path[160];

    (void)state;
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        touch(dir, names[i]);
    snprintf(folders, sizeof(folders), "/nowhere/at/all::%s:%s", dir, dir);
    assay_sysinfo_runtime(folders, out, sizeof(out));
    assert_string_equal(out, "libdnn.so libdnn.so.1.24.5 "
                             "libhbrt_bayes_aarch64.so libhbucp.so");
    assay_sysinfo_runtime(folders, tight, sizeof(tight));
    assert_string_equal(tight, "libdnn.so");
    assay_sysinfo_runtime("", out, sizeof(out));
    assert_string_equal(out, "");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        unlink(path);
    }
    rmdir(dir);
}

static void test_features(void **state)
{
    char out[256];

    (void)state;
    /* Cortex-A53, A76 and A78AE as Linux tells them. */
    assay_sysinfo_features(0xff, 0, out, sizeof(out));
    assert_string_equal(out, "fp asimd");
    assay_sysinfo_features(0x10ffff, 0, out, sizeof(out));
    assert_string_equal(out, "fp asimd fphp asimdhp asimdrdm asimddp");
    assay_sysinfo_features(3, UINT64_C(1) << 13, out, sizeof(out));
    assert_string_equal(out, "fp asimd i8mm");
    assay_sysinfo_features(UINT64_MAX, UINT64_MAX, out, 12);
    assert_string_equal(out, "fp asimd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),        cmocka_unit_test(test_blobs),
        cmocka_unit_test(test_small_blobs),  cmocka_unit_test(test_features),
        cmocka_unit_test(test_budget_marks), cmocka_unit_test(test_log_quote),
        cmocka_unit_test(runtime_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
