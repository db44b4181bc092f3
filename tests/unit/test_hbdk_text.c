/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of the simulator: names, spellings of the header, every refusal.
 *
 * links: host-tools/model/hbdk_text.c lib/core/slice.c lib/core/buf.c
 * links: lib/core/err.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "host-tools/model/hbdk_text.h"

static struct assay_err err;

static int parse(struct assay_hbdk_text *t, const char *text,
                 enum assay_dtype dtype)
{
    memset(t, 0, sizeof(*t));
    memset(&err, 0, sizeof(err));
    return assay_hbdk_text_parse(t, text, strlen(text), dtype, "f.txt", &err);
}

static void expect_values(const char *text, uint32_t rank, const int64_t *dims,
                          const int64_t *values, size_t n)
{
    struct assay_hbdk_text t;

    assert_int_equal(parse(&t, text, ASSAY_S8), 0);
    assert_int_equal(t.rank, rank);
    assert_memory_equal(t.dims, dims, rank * sizeof(*dims));
    assert_int_equal(t.count, n);
    assert_memory_equal(t.values, values, n * sizeof(*values));
    assay_hbdk_text_close(&t);
    assay_hbdk_text_close(&t);
    assay_hbdk_text_close(NULL);
}

static void spellings(void **state)
{
    static const int64_t dims[] = {1, 2, 3}, v[] = {1, -2, 3, 127, -128, 0};

    (void)state;
    expect_values("#operator: CONV\n#shift = 0 0 0 \n#valid_dim=1x2x3\n"
                  "#dynamic_n=1\n1 -2 3 \n127 -128 0 \n",
                  3, dims, v, 6);
    /* Windows' line ends, other blanks, no line end, empty lines. */
    expect_values("#operator = X\r\n#shift:0 0 0\r\n#valid_dim: 1x2x3 \r\n"
                  "#dynamic_n = 1\r\n\r\n1 -2   3\r\n127 -128 0",
                  3, dims, v, 6);
    /* A header that is not known, and no more than is needed. */
    expect_values("#version 9\n#valid_dim=1x2x3\n1 -2 3\n127 -128 0\n\n\n", 3,
                  dims, v, 6);
    expect_values("#valid_dim=1\n5", 1, (int64_t[]){1}, (int64_t[]){5}, 1);
}

static void types(void **state)
{
    struct assay_hbdk_text t;

    (void)state;
    assert_int_equal(parse(&t, "#valid_dim=2\n-32768 32767\n", ASSAY_S16), 0);
    assert_int_equal(t.values[0], -32768);
    assay_hbdk_text_close(&t);
    assert_int_equal(
        parse(&t, "#valid_dim=2\n-2147483648 2147483647\n", ASSAY_S32), 0);
    assert_int_equal(t.values[1], 2147483647);
    assay_hbdk_text_close(&t);
}

static void refusals(void **state)
{
    static const struct {
        const char *text, *sentence;
    } rows[] = {
        {"", "f.txt: expected a text of the simulator, found an empty file"},
        {"1 2 3\n", "f.txt: line 1: expected a header line #valid_dim=, found "
                    "none before the values"},
        {"#valid_dim=1x2\n", "f.txt: line 1: expected 1 rows of the last "
                             "dimension, found 0"},
        {"#valid_dim=1x2\n#valid_dim=1x2\n1 2\n",
         "f.txt: line 2: expected valid_dim once, found '#valid_dim=1x2'"},
        {"#valid_dim=\n1\n",
         "f.txt: line 1: expected dimensions like 1x8x8x16, found ''"},
        {"#valid_dim=1x0\n1\n",
         "f.txt: line 1: expected dimensions like 1x8x8x16, found '1x0'"},
        {"#valid_dim=-1x2\n1\n",
         "f.txt: line 1: expected dimensions like 1x8x8x16, found '-1x2'"},
        {"#valid_dim=1,2\n1 2\n",
         "f.txt: line 1: expected dimensions like 1x8x8x16, found '1,2'"},
        {"#valid_dim=1x1x1x1x1x1x1x1x1x1x1\n1\n",
         "f.txt: line 1: expected dimensions like 1x8x8x16, found "
         "'1x1x1x1x1x1x1x1x1x1x1'"},
        {"#valid_dim=99999x99999x99999x99999\n1\n",
         "f.txt: line 1: expected no more elements than the file holds, found "
         "'99999x99999x99999x99999'"},
        {"#valid_dim=1x2\n#shift = 0 q\n1 2\n",
         "f.txt: line 2: expected integers, found 'q'"},
        {"#valid_dim=1x2\n1 128\n",
         "f.txt: line 2: expected an int8 (-128..127), found '128'"},
        {"#valid_dim=1x2\n1 -129\n",
         "f.txt: line 2: expected an int8 (-128..127), found '-129'"},
        {"#valid_dim=1x2\n1 99999999999999999999\n",
         "f.txt: line 2: expected an int8 (-128..127), found "
         "'99999999999999999999'"},
        {"#valid_dim=1x2\n1 2.5\n",
         "f.txt: line 2: expected an int8 (-128..127), found '2.5'"},
        {"#valid_dim=1x2\n1 nan\n",
         "f.txt: line 2: expected an int8 (-128..127), found 'nan'"},
        {"#valid_dim=1x2\n1 \x01\x7f-\n",
         "f.txt: line 2: expected an int8 (-128..127), found '\?\?-'"},
        {"#valid_dim=1x2\n1\n",
         "f.txt: line 2: expected 2 values in a row, found '1'"},
        {"#valid_dim=1x2\n1 2 3\n",
         "f.txt: line 2: expected 2 values in a row, found 'more'"},
        {"#valid_dim=2x2\n1 2\n", "f.txt: line 2: expected 2 rows of the last "
                                  "dimension, found 1"},
        {"#valid_dim=1x2\n1 2\n3 4\n", "f.txt: line 3: expected 1 rows of the "
                                       "last dimension, found more than 1"},
    };
    struct assay_hbdk_text t;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(parse(&t, rows[i].text, ASSAY_S8), ASSAY_EFORMAT);
        assert_string_equal(err.text, rows[i].sentence);
        assert_null(t.values);
    }
}

/* Every prefix is refused or taken; none reads beyond its end. */
static void prefixes(void **state)
{
    static const char text[] = "#operator: CONV\n#shift = 0 0 \n"
                               "#valid_dim=1x2x2\n#dynamic_n=1\n1 -2 \n3 4 \n";
    int taken = 0;

    (void)state;
    for (size_t n = 0; n < sizeof(text); n++) {
        struct assay_hbdk_text t = {0};
        char *part = assay_alloc(n + 1);
        int rc;

        assert_non_null(part);
        memcpy(part, text, n);
        rc = assay_hbdk_text_parse(&t, part, n, ASSAY_S8, "f", &err);
        taken += rc == 0;
        assay_hbdk_text_close(&t);
        assay_free(part);
    }
    assert_int_equal(taken,
                     3); /* with "4", with its blank, with the line end */
}

static void names(void **state)
{
    static const struct {
        const char *name, *feature;
        enum assay_hbdk_kind kind;
    } rows[] = {
        {"hbdk_output0_feature_relu2.y_quantized_elem_int.txt",
         "relu2.y_quantized", ASSAY_HBDK_INT},
        {"hbdk_output12_feature_a_elem_int.txt_elem_float.txt",
         "a_elem_int.txt", ASSAY_HBDK_FLOAT},
        {"hbdk_output0_feature__feature__elem_int.txt", "_feature_",
         ASSAY_HBDK_INT},
        {"hbdk_output_feature_a_elem_int.txt", NULL, ASSAY_HBDK_OTHER},
        {"hbdk_output1_feature__elem_int.txt", NULL, ASSAY_HBDK_OTHER},
        {"hbdk_output1_feature_a_elem_int.txt.bak", NULL, ASSAY_HBDK_OTHER},
        {"input_0_x_1x1x8x16_int8_NHWC_NATIVE.bin", NULL, ASSAY_HBDK_OTHER},
        {"", NULL, ASSAY_HBDK_OTHER},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *feature = NULL;
        size_t n = 0;

        assert_int_equal(assay_hbdk_name(rows[i].name, &feature, &n),
                         rows[i].kind);
        if (rows[i].feature == NULL)
            continue;
        assert_int_equal(n, strlen(rows[i].feature));
        assert_memory_equal(feature, rows[i].feature, n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spellings), cmocka_unit_test(types),
        cmocka_unit_test(refusals),  cmocka_unit_test(prefixes),
        cmocka_unit_test(names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
