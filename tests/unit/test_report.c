/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report writers: widths, rows left out, hostile names, numbers that JSON
 * does not have, files renamed into place.
 *
 * links: lib/core/probe.c lib/core/stats.c
 * links: host-tools/report/report.c host-tools/report/text.c
 * links: host-tools/report/json*.c host-tools/diff/classify.c
 * links: host-tools/diff/verdict.c lib/core/slice.c lib/core/buf.c
 * links: lib/core/err.c lib/core/stats.c
 * libs: -ljansson -lm
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host-tools/report/report.h"

static struct assay_tensor nhwc = {
    .name = "y",
    .dtype = ASSAY_S8,
    .rank = 4,
    .dims = {1, 28, 28, 66},
    .perm = {0, 2, 3, 1},
    .axes = "NHWC",
};

static struct assay_report_head head(int exit_code)
{
    return (struct assay_report_head){
        .tool_version = "1",
        .model = "m",
        .model_sha256 = "00",
        .model_stage = "q",
        .board = "b",
        .soc = "",
        .features = "",
        .kernels = "neon",
        .agent = "1",
        .reference = "r",
        .numerics = "n",
        .started = "now",
        .mode = "both",
        .samples = 1,
        .exit_code = exit_code,
    };
}

static struct assay_report_foot foot(int exit_code)
{
    return (struct assay_report_foot){
        .verdict_id = "",
        .sentence = "",
        .error = "",
        .next = "",
        .exit_code = exit_code,
    };
}

static struct assay_row row(enum assay_row_status status, const char *name)
{
    struct assay_row r = {
        .index = 18,
        .name = name,
        .op = "Conv2d",
        .arith = "",
        .kernel = "",
        .tensor = &nhwc,
        .status = status,
        .detail = "",
    };

    r.cumulative.count = 51744;
    r.cumulative.cosine = 1.0;
    r.cumulative.sqnr_db = INFINITY;
    if (status == ASSAY_ROW_DIVERGED) {
        r.cumulative.mismatch = 112;
        r.cumulative.max_lsb = 1;
        r.cumulative.n_first = 1;
        r.cumulative.first[0].index = 64;
        r.cumulative.first[0].got = 1;
        r.cumulative.sqnr_db = 58.1;
    }
    return r;
}

/* The text of a report with these rows. */
static char *text_of(const struct assay_report_options *options,
                     const struct assay_row *rows, size_t n, int exit_code)
{
    struct assay_report_options o = *options;
    struct assay_report_head h = head(exit_code);
    struct assay_report_foot f = foot(exit_code);
    struct assay_report *r;
    char *out = NULL;
    size_t size = 0;

    o.stream = open_memstream(&out, &size);
    assert_non_null(o.stream);
    assert_int_equal(assay_report_text.open(&r, &h, &o, NULL), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(assay_report_text.row(r, &rows[i]), 0);
    assert_int_equal(assay_report_text.close(r, &f, NULL), 0);
    fclose(o.stream);
    return out;
}

static void rows_of_a_green_run_are_left_out(void **state)
{
    const struct assay_report_options o = {.max_rows = 50};
    const struct assay_report_options all = {.max_rows = 50, .all = true};
    struct assay_row rows[1] = {row(ASSAY_ROW_EXACT, "conv")};
    char *text;

    (void)state;
    text = text_of(&o, rows, 1, 0);
    assert_string_equal(text, "");
    free(text);
    text = text_of(&all, rows, 1, 0);
    assert_non_null(strstr(text, " exact\n"));
    free(text);
    text = text_of(&o, rows, 1, 1);
    assert_string_equal(text, "");
    free(text);
}

static void a_culprit_row(void **state)
{
    const struct assay_report_options o = {.max_rows = 50};
    struct assay_row rows[1] = {row(ASSAY_ROW_DIVERGED, "backbone.c4")};
    char *text = text_of(&o, rows, 1, 1);

    (void)state;
    assert_non_null(strstr(text, " 018 Conv2d      backbone.c4"));
    assert_non_null(strstr(text, "112/51744"));
    assert_non_null(strstr(text, "[0,0,0,64]"));
    assert_non_null(strstr(text, " DIVERGED\n"));
    free(text);
}

static void lines_are_not_wider_than_120(void **state)
{
    struct assay_report_options o = {.max_rows = 50};
    char name[600];
    struct assay_row rows[1];
    char *text;

    (void)state;
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    rows[0] = row(ASSAY_ROW_DIVERGED, name);
    rows[0].op = name;
    rows[0].cumulative.mismatch = UINT64_MAX;
    rows[0].cumulative.count = UINT64_MAX;
    rows[0].cumulative.max_lsb = INT64_MAX;
    rows[0].cumulative.mean_signed = -1e300;
    text = text_of(&o, rows, 1, 1);
    for (char *p = text; *p != '\0'; p += strcspn(p, "\n") + 1)
        assert_true(strcspn(p, "\n") <= 120);
    free(text);
    o.wide = true;
    text = text_of(&o, rows, 1, 1);
    assert_true(strlen(text) > 400);
    free(text);
}

/* "层" is three bytes: no cut falls into one, whatever is in front of it. */
static void cuts_leave_characters_whole(void **state)
{
    const struct assay_report_options o = {.max_rows = 50};
    char name[200];
    struct assay_row rows[1];

    (void)state;
    for (size_t shift = 0; shift < 3; shift++) {
        char *text;

        memset(name, 'n', shift);
        name[shift] = '\0';
        for (int i = 0; i < 40; i++)
            strcat(name, "层");
        rows[0] = row(ASSAY_ROW_DIVERGED, name);
        rows[0].op = name;
        text = text_of(&o, rows, 1, 1);
        for (const char *p = text; *p != '\0'; p++) {
            if ((*p & 0x80) == 0)
                continue;
            assert_int_equal(strncmp(p, "层", 3), 0);
            p += 2;
        }
        free(text);
    }
}

static void max_rows_counts_the_rest(void **state)
{
    const struct assay_report_options o = {.max_rows = 1,
                                           .more_rows = "{more} more"};
    struct assay_row rows[3] = {
        row(ASSAY_ROW_DIVERGED, "a"),
        row(ASSAY_ROW_INHERITED, "b"),
        row(ASSAY_ROW_INHERITED, "c"),
    };
    char *text = text_of(&o, rows, 3, 1);

    (void)state;
    assert_non_null(strstr(text, "\n 2 more\n"));
    assert_null(strstr(text, " b "));
    free(text);
}

static void json_of_hostile_values(void **state)
{
    char path[] = "report-XXXXXX";
    struct assay_report_options o = {.path = path};
    struct assay_report_head h = head(1);
    struct assay_report_foot f = foot(1);
    struct assay_row r = row(ASSAY_ROW_DIVERGED, "bad \xff name\n\"\\");
    struct assay_report *report;
    struct assay_err err = {0};
    json_t *root, *layer;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    r.cumulative.sqnr_db = -INFINITY;
    r.cumulative.cosine = NAN;
    assert_int_equal(assay_report_json.open(&report, &h, &o, &err), 0);
    assert_int_equal(assay_report_json.row(report, &r), 0);
    assert_int_equal(assay_report_json.close(report, &f, &err), 0);
    root = json_load_file(path, 0, NULL);
    assert_non_null(root);
    layer = json_array_get(json_object_get(root, "layers"), 0);
    assert_string_equal(json_string_value(json_object_get(layer, "name")),
                        "bad ? name\n\"\\");
    assert_true(json_is_null(json_object_get(layer, "sqnr_db")));
    assert_true(json_is_null(json_object_get(layer, "cosine")));
    assert_true(json_is_null(json_object_get(root, "verdict")));
    json_decref(root);
    unlink(path);
}

static void json_that_cannot_be_written(void **state)
{
    struct assay_report_options o = {.path = "no/such/folder/r.json"};
    struct assay_report_head h = head(0);
    struct assay_report_foot f = foot(0);
    struct assay_report *report;
    struct assay_err err = {0};

    (void)state;
    assert_int_equal(assay_report_json.open(&report, &h, &o, &err), 0);
    assert_int_equal(assay_report_json.close(report, &f, &err), ASSAY_EIO);
    assert_non_null(strstr(err.text, "no/such/folder/r.json"));
}

static void indices_in_both_orders(void **state)
{
    char text[64];
    /* n 0, h 1, w 2, c 3 */
    uint64_t at = (1 * 28 + 2) * 66 + 3;

    (void)state;
    assert_string_equal(
        assay_report_index(&nhwc, at, false, text, sizeof(text)), "[0,1,2,3]");
    assert_string_equal(assay_report_index(&nhwc, at, true, text, sizeof(text)),
                        "[0,3,1,2]");
    assert_string_equal(assay_report_shape(&nhwc, text, sizeof(text)),
                        "1x28x28x66");
    assert_non_null(assay_report_find("json"));
    assert_null(assay_report_find("xml"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_a_green_run_are_left_out),
        cmocka_unit_test(a_culprit_row),
        cmocka_unit_test(lines_are_not_wider_than_120),
        cmocka_unit_test(cuts_leave_characters_whole),
        cmocka_unit_test(max_rows_counts_the_rest),
        cmocka_unit_test(json_of_hostile_values),
        cmocka_unit_test(json_that_cannot_be_written),
        cmocka_unit_test(indices_in_both_orders),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
