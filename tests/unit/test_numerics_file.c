/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numerics files: the built-in ones, files that build on them, and files that
 * are wrong in one place.
 * links: host-tools/model/numerics_file.c host-tools/model/numerics_data.c
 * links: host-tools/model/file.c lib/core/
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
#include <unistd.h>

#include "host-tools/model/numerics_file.h"

#define SCHEMA "\"schema\": \"assay-numerics/1\", \"name\": \"mine\""
#define RULES(text) "{" SCHEMA ", \"rules\": {" text "}}"

static void test_builtin(void **state)
{
    struct assay_numerics_file f;
    struct assay_err err = {0};
    unsigned n = 0;

    (void)state;
    for (; assay_numerics_builtin(n); n++) {
        if (assay_numerics_open(&f, assay_numerics_builtin(n), &err) != 0)
            fail_msg("%s", err.text);
        assert_string_equal(f.n.name, assay_numerics_builtin(n));
        assert_string_equal(f.n.source, "built in");
        for (unsigned i = 0; assay_form_name(i); i++)
            assert_non_null(assay_numerics_find(&f.n, assay_form_name(i)));
        /* Nothing of Nash has been seen: nothing is proved. */
        for (uint32_t i = 0; i < f.n.n_rules; i++)
            if (strcmp(f.n.name, "nash") == 0)
                assert_int_equal(f.n.rules[i].proved, 0);
        assay_numerics_close(&f);
        assay_numerics_close(&f);
    }
    assert_int_equal(n, 2);
    assert_true(assay_numerics_open(&f, "hexagon", &err) < 0);
    assert_string_equal(err.text, "unknown numerics 'hexagon' of forms");
}

static void test_base(void **state)
{
    static const char text[] =
        "{" SCHEMA ", \"base\": \"bayes-e\", \"rules\": {\"conv\": {\"rule\": "
        "\"add bias; sat out\", \"proved\": {\"int8\": \"a\", \"int16\": "
        "\"a\", \"int32\": \"b\"}}}}";
    const struct assay_numerics_rule *r;
    struct assay_numerics_file f;
    struct assay_err err = {0};

    (void)state;
    assert_int_equal(
        assay_numerics_parse(&f, text, strlen(text), "t.json", &err), 0);
    assert_string_equal(f.n.name, "mine");
    r = assay_numerics_find(&f.n, "conv");
    assert_string_equal(r->rule, "add bias; sat out");
    assert_int_equal(r->proved,
                     1u << ASSAY_S8 | 1u << ASSAY_S16 | 1u << ASSAY_S32);
    assert_string_equal(r->golden, "a; b");
    r = assay_numerics_find(&f.n, "matmul"); /* the base's */
    assert_non_null(strstr(r->rule, "half_up"));
    assay_numerics_close(&f);
}

static const struct {
    const char *text, *sentence;
} bad[] = {
    {"", "t.json: line 1, column 0: "},
    {"{", "t.json: line 1"},
    {"[]", "t.json: expected an object, found an array"},
    {"{" SCHEMA "}", "'rules': expected an object, found nothing"},
    {"{" SCHEMA ", \"rules\": []}", "'rules': expected an object, found an "
                                    "array"},
    {"{\"name\": \"a\", \"rules\": {}}", "numerics: 'schema' is missing"},
    {"{\"schema\": \"assay-numerics/2\", \"name\": \"a\", \"rules\": {}}",
     "'schema' is 'assay-numerics/2', expected assay-numerics/1"},
    {"{\"schema\": 1, \"name\": \"a\", \"rules\": {}}",
     "'schema': expected a string, found a number"},
    {"{\"schema\": \"assay-numerics/1\", \"name\": \"\", \"rules\": {}}",
     "'name' is '', expected 1 to 40 letters"},
    {"{\"schema\": \"assay-numerics/1\", \"name\": \"a/b\", \"rules\": {}}",
     "'name' is 'a/b'"},
    {"{\"schema\": \"assay-numerics/1\", \"name\": \"a.json\", \"rules\": {}}",
     "'name' is 'a.json'"},
    {"{" SCHEMA ", \"base\": \"arm\", \"rules\": {}}",
     "'base' is 'arm', expected bayes-e or nash"},
    {"{" SCHEMA ", \"name\": \"b\", \"rules\": {}}", "duplicate object key"},
    {"{" SCHEMA ", \"rule\": {}, \"rules\": {}}",
     "unknown key 'rule', expected schema name note base rules"},
    {"{" SCHEMA ", \"note\": true, \"rules\": {}}",
     "'note': expected a string, found a truth value"},
    {RULES("\"gelu\": {\"rule\": \"sat out\"}"),
     "t.json: rules: unknown form 'gelu': expected conv"},
    {RULES("\"conv\": \"sat out\""),
     "rules: 'conv': expected an object, found a string"},
    {RULES("\"conv\": {}"), "rules: 'conv': 'rule' is missing"},
    {RULES("\"conv\": {\"rule\": null}"),
     "'rule': expected a string, found null"},
    {RULES("\"conv\": {\"rule\": \"sat\"}"),
     "t.json: rule of form 'conv', step 1, column 4: '' is no width"},
    {RULES("\"conv\": {\"rule\": \"sat out\", \"tier\": 1}"),
     "rules: 'conv': unknown key 'tier', expected rule proved note"},
    {RULES("\"conv\": {\"rule\": \"sat out\", \"proved\": true}"),
     "'proved': expected an object, found a truth value"},
    {RULES("\"conv\": {\"rule\": \"sat out\", \"proved\": {\"int4\": \"x\"}}"),
     "'proved': unknown dtype 'int4', expected int8, uint8"},
    {RULES("\"conv\": {\"rule\": \"sat out\", \"proved\": {\"int8\": \"\"}}"),
     "'proved': 'int8': expected what proved it, 1 to 400 bytes, found none"},
    {RULES("\"conv\": {\"rule\": \"sat out\", \"proved\": {\"int8\": 1}}"),
     "found a number"},
    {RULES("\"co\\u001b[m\": {\"rule\": \"sat out\"}"), "t.json: rules"},
};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct assay_numerics_file f;
        struct assay_err err = {0};

        if (assay_numerics_parse(&f, bad[i].text, strlen(bad[i].text), "t.json",
                                 &err) >= 0)
            fail_msg("'%s' is taken", bad[i].text);
        if (strstr(err.text, bad[i].sentence) == NULL)
            fail_msg("'%s': expected '%s', found '%s'", bad[i].text,
                     bad[i].sentence, err.text);
        assert_null(strchr(err.text, '\x1b'));
        assert_null(f.arena);
    }
}

/* Cut anywhere, and with a byte changed: a sentence or a whole file. */
static void test_cut(void **state)
{
    const char *whole = assay_numerics_text("bayes-e");
    size_t size = strlen(whole);
    char *copy = malloc(size + 1);
    uint32_t seed = 1;

    (void)state;
    assert_non_null(copy);
    for (size_t n = 0; n < 4000; n++) {
        struct assay_numerics_file f;
        struct assay_err err = {0};
        size_t length = n < 2000 ? n * size / 2000 : size;

        memcpy(copy, whole, size);
        if (n >= 2000) {
            seed = seed * 1664525u + 1013904223u;
            copy[seed % size] = (char)(seed >> 24);
        }
        if (assay_numerics_parse(&f, copy, length, "t.json", &err) < 0)
            assert_true(err.text[0] != '\0');
        assay_numerics_close(&f);
    }
    free(copy);
}

static void test_paths(void **state)
{
    char path[] = "/tmp/assay-numerics-XXXXXX.json";
    struct assay_numerics_file f;
    struct assay_err err = {0};
    int fd = mkstemps(path, 5);

    (void)state;
    assert_true(fd >= 0);
    assert_true(assay_numerics_is_path(path));
    assert_true(assay_numerics_is_path("a.json"));
    assert_true(assay_numerics_is_path("./a"));
    assert_false(assay_numerics_is_path("nash"));
    assert_true(write(fd, RULES(""), strlen(RULES(""))) > 0);
    assert_int_equal(assay_numerics_open(&f, path, &err), 0);
    assert_string_equal(f.n.source, path);
    assay_numerics_close(&f);
    assert_int_equal(ftruncate(fd, 2 << 20), 0);
    assert_true(assay_numerics_open(&f, path, &err) < 0);
    assert_non_null(strstr(err.text, path));
    close(fd);
    unlink(path);
    assert_true(assay_numerics_open(&f, path, &err) < 0);
    assert_non_null(strstr(err.text, "No such file"));
    assert_true(assay_numerics_open(&f, "/tmp/", &err) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_builtin), cmocka_unit_test(test_base),
        cmocka_unit_test(test_bad),     cmocka_unit_test(test_cut),
        cmocka_unit_test(test_paths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
