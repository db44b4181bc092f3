/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run beside an earlier one: what is stale, and what only looks so; reports
 * that are none, and hostile ones; hashes of files and folders.
 *
 * links: host-tools/chain.c host-tools/chain_files.c host-tools/previous.c
 * links: host-tools/model/file.c lib/core/buf.c lib/core/err.c
 * links: lib/core/hash.c
 * libs: -ljansson -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host-tools/chain_files.h"
#include "host-tools/previous.h"

static struct assay_chain before, now;
static struct assay_chain_layer old_layers[3], new_layers[3];
static struct assay_stale stale;
static bool was_match, is_match;

static void put(struct assay_chain *c, enum assay_chain_role role, char digit)
{
    c->v[role].here = true;
    c->v[role].file = "f";
    memset(c->v[role].sha256, digit, 64);
    c->v[role].sha256[64] = '\0';
}

static void both(enum assay_chain_role role, char a, char b)
{
    put(&before, role, a);
    put(&now, role, b);
}

static void layer(uint32_t i, char expected, char got, char then_expected,
                  char then_got)
{
    static const char *const names[] = {"a", "b", "c"};
    struct assay_chain_layer *v[] = {&new_layers[i], &old_layers[i]};
    char e[] = {expected, then_expected}, g[] = {got, then_got};

    for (unsigned k = 0; k < 2; k++) {
        memset(v[k], 0, sizeof(*v[k]));
        v[k]->name = names[i];
        memset(v[k]->expected, e[k], 32);
        if (g[k] != '-')
            memset(v[k]->got[1], g[k], 32);
    }
}

static void start(void)
{
    memset(&before, 0, sizeof(before));
    memset(&now, 0, sizeof(now));
    was_match = is_match = false;
    for (uint32_t i = 0; i < 3; i++)
        layer(i, '1', '-', '1', '-');
    both(ASSAY_CHAIN_FIXED, 'a', 'a');
    both(ASSAY_CHAIN_INPUTS, 'b', 'b');
}

static enum assay_stale_kind kind(bool fix)
{
    struct assay_chain_run x = {&before, {3, old_layers}, "T1", was_match};
    struct assay_chain_run y = {&now, {3, new_layers}, "T2", is_match};

    assay_chain_inherit(&y, &x);
    assay_chain_compare(&stale, &x, &y, fix);
    return stale.kind;
}

static void test_compiled(void **state)
{
    char text[200];

    (void)state;
    start();
    both(ASSAY_CHAIN_FIXED, 'a', 'c');
    assert_int_equal(kind(true), ASSAY_STALE_NOT); /* nobody knows the .bin */
    both(ASSAY_CHAIN_COMPILED, 'd', 'd');
    assert_int_equal(kind(false), ASSAY_STALE_COMPILED);
    assert_int_equal(kind(true), ASSAY_STALE_COMPILED);
    assert_string_equal(
        assay_chain_changes(&before, &now, stale.changed, text, sizeof(text)),
        "quantized model aaaaaaaa -> cccccccc");
    assert_string_equal(stale.made->started, "T1");
    assert_string_equal(assay_chain_since(stale.made, &now, text, sizeof(text)),
                        "quantized model aaaaaaaa -> cccccccc");
    is_match = true;
    assert_int_equal(kind(true), ASSAY_STALE_NOT);
    is_match = false;
    both(ASSAY_CHAIN_COMPILED, 'd', 'e');
    assert_int_equal(kind(true), ASSAY_STALE_NOT);
    /* The float model's fix got stuck in front of the quantizer. */
    start();
    both(ASSAY_CHAIN_FLOAT, '1', '2');
    both(ASSAY_CHAIN_COMPILED, 'd', 'd');
    assert_int_equal(kind(false), ASSAY_STALE_COMPILED);
    /* One of them is not known in the earlier run. */
    start();
    put(&now, ASSAY_CHAIN_COMPILED, 'd');
    both(ASSAY_CHAIN_FIXED, 'a', 'c');
    assert_int_equal(kind(true), ASSAY_STALE_NOT);
}

static void test_content(void **state)
{
    (void)state;
    start();
    both(ASSAY_CHAIN_FIXED, 'a', 'c');
    both(ASSAY_CHAIN_COMPILED, 'd', 'e'); /* built anew, but not there */
    both(ASSAY_CHAIN_BPU, '3', '4');      /* written again, with another time */
    layer(0, '1', '7', '1', '7');
    layer(1, '2', '8', '3', '8');
    assert_int_equal(kind(false), ASSAY_STALE_CONTENT);
    assert_int_equal(stale.side, 1);
    assert_int_equal(stale.layers, 2);
    assert_int_equal(stale.moved, 1);
    /* One layer that moved is enough to know that it is not the old one. */
    layer(2, '4', '9', '4', '6');
    assert_int_equal(kind(false), ASSAY_STALE_NOT);
    assert_int_equal(stale.layers, 0);
    /* The reference of what is equal did not change: it should be equal. */
    layer(2, '4', '-', '4', '-');
    layer(1, '2', '8', '2', '8');
    assert_int_equal(kind(false), ASSAY_STALE_NOT);
    /* No file changed: another arithmetic was declared. */
    start();
    both(ASSAY_CHAIN_BPU, '3', '3');
    layer(1, '2', '8', '3', '8');
    assert_int_equal(kind(false), ASSAY_STALE_NOT);
    /* Other inputs, the old dump. */
    both(ASSAY_CHAIN_INPUTS, 'b', '0');
    assert_int_equal(kind(false), ASSAY_STALE_CONTENT);
    is_match = true;
    assert_int_equal(kind(false), ASSAY_STALE_NOT);
}

static void test_rest(void **state)
{
    (void)state;
    start();
    both(ASSAY_CHAIN_GOLDEN, '1', '2');
    assert_int_equal(kind(false), ASSAY_STALE_NOT);
    both(ASSAY_CHAIN_COMPILED, 'd', 'd');
    assert_int_equal(kind(false), ASSAY_STALE_GOLDEN);
    both(ASSAY_CHAIN_INPUTS, '3', '4'); /* a golden of other inputs */
    assert_int_equal(kind(false), ASSAY_STALE_NOT);
    start();
    both(ASSAY_CHAIN_COMPILED, 'd', 'd');
    assert_int_equal(kind(false), ASSAY_STALE_NOT); /* a nightly run */
    assert_int_equal(kind(true), ASSAY_STALE_NOTHING);
    was_match = true; /* there was nothing to fix */
    assert_int_equal(kind(true), ASSAY_STALE_NOT);
    was_match = false;
    put(&now, ASSAY_CHAIN_BPU, '5'); /* more was looked at */
    assert_int_equal(kind(true), ASSAY_STALE_NOT);
}

/* The next run becomes the earlier one. */
static void next(void)
{
    before = now;
    memcpy(old_layers, new_layers, sizeof(old_layers));
    was_match = is_match;
}

/* A fix that is on its way is not forgotten by the next run. */
static void test_again(void **state)
{
    char text[200];

    (void)state;
    start();
    both(ASSAY_CHAIN_COMPILED, 'd', 'd');
    both(ASSAY_CHAIN_BPU, '3', '3');
    layer(0, '5', '7', '5', '7');
    assert_int_equal(kind(false), ASSAY_STALE_NOT);
    next();
    put(&now, ASSAY_CHAIN_FIXED, 'c');
    layer(0, '6', '7', '5', '7');
    assert_int_equal(kind(false), ASSAY_STALE_COMPILED);
    next();
    assert_int_equal(kind(false), ASSAY_STALE_COMPILED);
    assert_int_equal(stale.changed, 0);
    assert_string_equal(stale.made->started, "T1");
    assert_string_equal(assay_chain_since(stale.made, &now, text, sizeof(text)),
                        "quantized model aaaaaaaa -> cccccccc");
    next();
    put(&now, ASSAY_CHAIN_COMPILED, 'e'); /* built, and not installed */
    assert_int_equal(kind(false), ASSAY_STALE_CONTENT);
    assert_int_equal(stale.moved, 1);
    next();
    assert_int_equal(kind(false), ASSAY_STALE_CONTENT);
    next();
    memset(new_layers[0].got[1], '9', 32); /* installed */
    put(&now, ASSAY_CHAIN_BPU, '9');
    assert_int_equal(kind(false), ASSAY_STALE_NOT);
    next();
    assert_int_equal(kind(false), ASSAY_STALE_NOT);
    /* A fix that changes nothing that is compiled, and all matches: from now
     * on the file is as good as made of this model. */
    put(&now, ASSAY_CHAIN_FIXED, 'f');
    is_match = true;
    assert_int_equal(kind(false), ASSAY_STALE_NOT);
    next();
    is_match = false;
    assert_int_equal(kind(false), ASSAY_STALE_NOT);
    /* Back to the old model: the file is of the new one. */
    put(&now, ASSAY_CHAIN_FIXED, 'a');
    assert_int_equal(kind(false), ASSAY_STALE_COMPILED);
}

/* ---- reports ---------------------------------------------------------------- */

static char dir[64], path[128];
static struct assay_err err;
static struct assay_arena *arena;
static struct assay_previous p;

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), P_tmpdir "/assay-chain-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/file", dir);
    arena = assay_arena_new();
    return arena == NULL;
}

static int teardown(void **state)
{
    (void)state;
    assay_arena_free(arena);
    unlink(path);
    return rmdir(dir);
}

static int read_text(const char *text)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fputs(text, f) >= 0, 1);
    assert_int_equal(fclose(f), 0);
    memset(&err, 0, sizeof(err));
    return assay_previous_read(&p, arena, path, &err);
}

static void refused(const char *text, const char *why)
{
    assert_true(read_text(text) < 0);
    if (strstr(err.text, why) == NULL)
        fail_msg("'%s' lacks '%s'", err.text, why);
    assert_null(strchr(err.text, '\n'));
}

#define HEX16 "0123456789abcdef"
#define HEX64 HEX16 HEX16 HEX16 HEX16
#define ITEM(role, sha) "{\"role\": \"" role "\", \"sha256\": \"" sha "\"}"
#define REPORT(chain, layers) \
    "{\"schema\": \"assay-report/1\", \"verdict\": \"compile\", " \
    "\"run\": {\"started\": \"2026-12-01T01:02:03Z\"}, " \
    "\"model\": {\"name\": \"m\\u0007.onnx\"}, \"chain\": [" chain "], " \
    "\"layers\": [" layers "]}"

static void test_report(void **state)
{
    (void)state;
    assert_int_equal(
        read_text(REPORT(
            ITEM("model", HEX64) "," ITEM(
                "later",
                "x") ","
                     "{\"role\": \"compiled\", \"sha256\": \"" HEX64 "\", "
                     "\"made\": {\"started\": \"2026-11-30T00:00:00Z\", "
                     "\"model\": \"" HEX64 "\", \"golden\": \"short\"}},"
                     "{\"role\": \"bpu\", \"sha256\": \"" HEX64 "\", "
                     "\"made\": {\"started\": \"\\u001b[31m\"}}",
            "{\"name\": \"a\", \"digest_expected\": \"" HEX16 HEX16
            "\", \"columns\": {\"bpu\": {\"digest\": \"" HEX16 HEX16
            "\"}, \"sim\": {\"digest\": 7}}}, {}, 3")),
        0);
    assert_int_equal(p.items, 3);
    assert_string_equal(p.chain.v[ASSAY_CHAIN_COMPILED].made.started,
                        "2026-11-30T00:00:00Z");
    assert_string_equal(
        p.chain.v[ASSAY_CHAIN_COMPILED].made.sha256[ASSAY_CHAIN_FIXED], HEX64);
    assert_string_equal(
        p.chain.v[ASSAY_CHAIN_COMPILED].made.sha256[ASSAY_CHAIN_GOLDEN], "");
    assert_string_equal(p.chain.v[ASSAY_CHAIN_BPU].made.started, "");
    assert_true(p.chain.v[ASSAY_CHAIN_FIXED].here);
    assert_string_equal(p.chain.v[ASSAY_CHAIN_FIXED].sha256, HEX64);
    assert_string_equal(p.started, "2026-12-01T01:02:03Z");
    assert_string_equal(p.model, "m?.onnx"); /* it is printed again */
    assert_int_equal(p.layers.n, 3);
    assert_string_equal(p.layers.v[0].got[1], HEX16 HEX16);
    assert_string_equal(p.layers.v[0].got[0], "");
    assert_string_equal(p.layers.v[1].name, "");
    assert_false(p.matched);
    /* Of a version without hashes. */
    assert_int_equal(read_text("{\"schema\": \"assay-report/1\"}"), 0);
    assert_int_equal(p.items, 0);
}

static void test_hostile(void **state)
{
    (void)state;
    refused("", "line 1");
    refused("{", "line 1");
    refused("[]", "no report of a run");
    refused("{\"schema\": \"assay-fit/1\"}", "found 'assay-fit/1'");
    refused("{\"schema\": 1}", "no report of a run");
    refused(REPORT(ITEM("model", "abc"), ""), "'model': expected one sha256");
    refused(REPORT(ITEM("model", HEX64) "," ITEM("model", HEX64), ""),
            "'model': expected one sha256");
    assert_int_equal(read_text(REPORT("1, [], {}", "[[]]")), 0);
    unlink(path);
    assert_true(assay_previous_read(&p, arena, path, &err) < 0);
}

/* ---- files -------------------------------------------------------------------- */

static void write_to(const char *name, const char *text)
{
    FILE *f = fopen(name, "wb");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* The last of many files counts, too. */
static void many_files(void)
{
    struct assay_chain_item first, then;
    char name[200], folder[128];
    const char *in[] = {folder};

    snprintf(folder, sizeof(folder), "%s/many", dir);
    assert_int_equal(mkdir(folder, 0700), 0);
    for (unsigned i = 0; i < 4200; i++) {
        snprintf(name, sizeof(name), "%s/%04u", folder, i);
        write_to(name, "abc");
    }
    assert_int_equal(assay_chain_hash(&first, arena, in, 1, &err), 0);
    assert_int_equal(first.files, 4200);
    write_to(name, "abd");
    assert_int_equal(assay_chain_hash(&then, arena, in, 1, &err), 0);
    assert_string_not_equal(first.sha256, then.sha256);
    for (unsigned i = 0; i < 4200; i++) {
        snprintf(name, sizeof(name), "%s/%04u", folder, i);
        unlink(name);
    }
    assert_int_equal(rmdir(folder), 0);
}

static void test_files(void **state)
{
    /* sha256 of "abc" as FIPS 180-2 has it. */
    static const char abc[] =
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    struct assay_chain_item one, two, folder;
    char other[128];
    const char *paths[] = {path, path, other, NULL};
    const char *in[] = {dir};

    (void)state;
    snprintf(other, sizeof(other), "%s/other", dir);
    write_to(path, "abc");
    write_to(other, "");
    assert_int_equal(assay_chain_hash(&one, arena, paths, 2, &err), 0);
    assert_true(one.here);
    assert_int_equal(one.files, 1); /* rows of one file */
    assert_string_equal(one.sha256, abc);
    assert_int_equal(one.size, 3);
    assert_int_equal(strlen(one.modified), 20);
    assert_int_equal(assay_chain_hash(&two, arena, paths, 4, &err), 0);
    assert_int_equal(two.files, 2);
    assert_string_not_equal(two.sha256, abc);
    assert_int_equal(assay_chain_hash(&folder, arena, in, 1, &err), 0);
    assert_string_equal(folder.sha256, two.sha256);
    many_files();
    unlink(other);
    paths[0] = other;
    assert_int_equal(assay_chain_hash(&one, arena, paths, 1, &err), 0);
    assert_false(one.here);
}

static void test_find(void **state)
{
    static const char *const ends[] = {".bin", ".hbm", NULL};
    char a[128], b[128], *found;
    uint32_t several;

    (void)state;
    snprintf(a, sizeof(a), "%s/a.bin", dir);
    snprintf(b, sizeof(b), "%s/b.hbm", dir);
    assert_null(assay_chain_find(dir, ends, "", &several));
    assert_int_equal(several, 0);
    write_to(a, "a");
    found = assay_chain_find(dir, ends, "b", &several);
    assert_string_equal(found, a);
    assay_free(found);
    write_to(b, "b");
    assert_null(assay_chain_find(dir, ends, "", &several));
    assert_int_equal(several, 2);
    found = assay_chain_find(dir, ends, "b", &several);
    assert_string_equal(found, b);
    assay_free(found);
    unlink(a);
    unlink(b);
    assert_null(assay_chain_find("/nowhere/at/all", ends, "", &several));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compiled), cmocka_unit_test(test_content),
        cmocka_unit_test(test_rest),     cmocka_unit_test(test_report),
        cmocka_unit_test(test_again),    cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_files),    cmocka_unit_test(test_find),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
