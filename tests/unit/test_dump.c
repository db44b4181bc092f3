/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that a board dumped: their names, the layouts that their size allows,
 * the texts beside them. Layouts are built here from strides by hand.
 *
 * links: host-tools/model/dump.c host-tools/model/dump_layout.c
 * links: host-tools/model/dump_text.c
 * links: lib/core/slice.c lib/core/buf.c lib/core/err.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host-tools/model/dump.h"
#include "host-tools/model/dump_layout.h"
#include "host-tools/model/dump_text.h"

static void names(void **state)
{
    static const struct {
        const char *name;
        enum assay_dump_kind kind;
        enum assay_dump_form form;
        bool is_input, is_bpu;
        uint32_t layer, index;
        const char *tensor;
    } rows[] = {
        {"layer-0-bpu-Net-18_subgraph_0-output-0-fc_nhwc2nchw....bin",
         ASSAY_DUMP_NODE, ASSAY_DUMP_BIN, false, true, 0, 0, "fc_nhwc2nchw..."},
        {"layer-0-bpu-Net-18_subgraph_0-input-0-data...y0.data.bin",
         ASSAY_DUMP_NODE, ASSAY_DUMP_BIN, true, true, 0, 0, "data...y0.data"},
        {"layer-12-Dequantize-a_1_HzDequantize-input-1-fc_x_scale.txt",
         ASSAY_DUMP_NODE, ASSAY_DUMP_TXT, true, false, 12, 1, "fc_x_scale"},
        {"layer-3-unamed_hbir.conv_id_9_bpu_segment_2-output-10-y.npy",
         ASSAY_DUMP_NODE, ASSAY_DUMP_NPY, false, true, 3, 10, "y"},
        {"layer-1-Cast-x-output-0.bin", ASSAY_DUMP_NODE, ASSAY_DUMP_BIN, false,
         false, 1, 0, ""},
        {"model_infer_output_3_cls-head.bin", ASSAY_DUMP_MODEL, ASSAY_DUMP_BIN,
         false, false, 0, 3, "cls-head"},
        {"model_infer_output_0.txt", ASSAY_DUMP_MODEL, ASSAY_DUMP_TXT, false,
         false, 0, 0, ""},
        {"model_infer_input_1_x.bin", ASSAY_DUMP_MODEL, ASSAY_DUMP_BIN, true,
         false, 0, 1, "x"},
        {"output_2.npy", ASSAY_DUMP_INDEX, ASSAY_DUMP_NPY, false, false, 0, 2,
         ""},
        {"7.npy", ASSAY_DUMP_INDEX, ASSAY_DUMP_NPY, false, false, 0, 7, ""},
        {"in0.bin", ASSAY_DUMP_INDEX, ASSAY_DUMP_BIN, true, false, 0, 0, ""},
        {"output.npy", ASSAY_DUMP_PLAIN, ASSAY_DUMP_NPY, false, false, 0, 0,
         "output"},
        {"layer-x-bpu-output-0-y.bin", ASSAY_DUMP_PLAIN, ASSAY_DUMP_BIN, false,
         false, 0, 0, "layer-x-bpu-output-0-y"},
        {"layer-0-bpu-output--y.bin", ASSAY_DUMP_PLAIN, ASSAY_DUMP_BIN, false,
         false, 0, 0, "layer-0-bpu-output--y"},
        {"model_infer_output_12345678_x.bin", ASSAY_DUMP_PLAIN, ASSAY_DUMP_BIN,
         false, false, 0, 0, "model_infer_output_12345678_x"},
    };
    static const char *const others[] = {".bin", "x", "x.bin.gz", "a.npz", ""};
    struct assay_dump_name n;
    char name[700];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(assay_dump_name(&n, rows[i].name));
        assert_int_equal(n.kind, rows[i].kind);
        assert_int_equal(n.form, rows[i].form);
        if (n.kind == ASSAY_DUMP_PLAIN) {
            assert_string_equal(n.tensor, rows[i].tensor);
            continue;
        }
        assert_int_equal(n.is_input, rows[i].is_input);
        assert_int_equal(n.is_bpu, rows[i].is_bpu);
        assert_int_equal(n.layer, rows[i].layer);
        assert_int_equal(n.index, rows[i].index);
        assert_string_equal(n.tensor, rows[i].tensor);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(assay_dump_name(&n, others[i]));
    memset(name, 'a', sizeof(name));
    strcpy(name + sizeof(name) - 5, ".bin");
    assert_false(assay_dump_name(&n, name));
}

static struct assay_tensor tensor(enum assay_dtype dtype, uint32_t rank,
                                  const int64_t *dims)
{
    struct assay_tensor t = {.dtype = dtype, .rank = rank};

    memcpy(t.dims, dims, rank * sizeof(*dims));
    for (uint32_t i = 0; i < rank; i++)
        t.perm[i] = (uint8_t)i;
    return t;
}

/* The one layout of a size: its strides by axis. */
static void strides(const struct assay_tensor *t, enum assay_dump_march march,
                    size_t bytes, const size_t *wanted)
{
    static struct assay_dump_layout v[ASSAY_DUMP_MAX_LAYOUTS];
    size_t n = assay_dump_layouts(v, t, assay_dtype_bytes(t->dtype),
                                  ASSAY_DUMP_SOURCE, march, bytes);

    assert_true(n >= 1);
    for (size_t i = 0; i < n; i++)
        if (memcmp(v[i].stride, wanted, t->rank * sizeof(*wanted)) == 0)
            return;
    fail_msg("no such strides among %zu layouts of %zu bytes", n, bytes);
}

static void layouts(void **state)
{
    const struct assay_tensor c12 =
        tensor(ASSAY_S8, 4, (int64_t[]){1, 8, 8, 12});
    const struct assay_tensor c20 =
        tensor(ASSAY_S8, 4, (int64_t[]){1, 2, 2, 20});
    const struct assay_tensor c3 =
        tensor(ASSAY_U8, 4, (int64_t[]){1, 5, 40, 3});
    const struct assay_tensor u16 =
        tensor(ASSAY_U16, 4, (int64_t[]){1, 3, 212, 212});
    const struct assay_tensor wide =
        tensor(ASSAY_S8, 4, (int64_t[]){1, 5, 20, 30000});
    const struct assay_tensor rows =
        tensor(ASSAY_S8, 4, (int64_t[]){1, 3, 7, 5});
    struct assay_dump_layout v[ASSAY_DUMP_MAX_LAYOUTS];

    (void)state;
    /* X5: 12 channels take 16 bytes, 20 take 32; images of up to 4. */
    strides(&c12, ASSAY_DUMP_BAYES, 1024, (size_t[]){1024, 128, 16, 1});
    strides(&c12, ASSAY_DUMP_ANY, 768, (size_t[]){768, 96, 12, 1});
    strides(&c20, ASSAY_DUMP_BAYES, 128, (size_t[]){128, 64, 32, 1});
    strides(&c3, ASSAY_DUMP_BAYES, (size_t)6 * 64 * 4,
            (size_t[]){1536, 256, 4, 1});
    strides(&c3, ASSAY_DUMP_BAYES, (size_t)6 * 64 * 3,
            (size_t[]){1152, 192, 3, 1});
    /* The vendor's worked example, and a real model's strides. */
    strides(&u16, ASSAY_DUMP_NASH_P, 301056,
            (size_t[]){301056, 100352, 448, 2});
    strides(&wide, ASSAY_DUMP_NASH_P, 3008000,
            (size_t[]){3008000, 601600, 30080, 1});
    /* Two axes together; a tail to a power of two. */
    strides(&rows, ASSAY_DUMP_NASH, 3 * 64, (size_t[]){192, 64, 5, 1});
    strides(&rows, ASSAY_DUMP_NASH, 4096, (size_t[]){105, 35, 5, 1});
    /* What a march lacks is looked at only where it has nothing. */
    assert_int_equal(assay_dump_layouts(v, &c12, 1, ASSAY_DUMP_SOURCE,
                                        ASSAY_DUMP_BAYES, (size_t)8 * 8 * 32),
                     2); /* rows to 32 bytes; two axes to 256 */
    assert_int_equal(assay_dump_layouts(v, &c12, 1, ASSAY_DUMP_SOURCE,
                                        ASSAY_DUMP_BAYES, 767),
                     0);
    assert_int_equal(assay_dump_march("bayes-e"), ASSAY_DUMP_BAYES);
    assert_int_equal(assay_dump_march("nash-p"), ASSAY_DUMP_NASH_P);
    assert_int_equal(assay_dump_march("nash-m"), ASSAY_DUMP_NASH);
    assert_int_equal(assay_dump_march(""), ASSAY_DUMP_ANY);
}

/* A padded file in NHWC of a tensor that the model has as NCHW. */
static void stripping(void **state)
{
    struct assay_tensor t = tensor(ASSAY_S8, 4, (int64_t[]){1, 2, 2, 3});
    struct assay_dump_layout l[ASSAY_DUMP_MAX_LAYOUTS];
    uint8_t file[64] = {0}, dense[12], own[12];
    size_t n;

    (void)state;
    memcpy(t.perm, (uint8_t[]){0, 2, 3, 1}, 4);
    strcpy(t.axes, "NHWC");
    for (uint8_t i = 0; i < 12; i++)
        file[i / 3 * 16 + i % 3] = (uint8_t)(i + 1);
    n = assay_dump_layouts(l, &t, 1, ASSAY_DUMP_STORED, ASSAY_DUMP_BAYES, 64);
    assert_int_equal(n, 1);
    assay_dump_strip(&l[0], file, dense);
    for (size_t c = 0; c < 3; c++)
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(dense[c * 4 + i], i * 3 + c + 1);
    assay_dump_strip_file_order(&l[0], file, own);
    for (uint8_t i = 0; i < 12; i++)
        assert_int_equal(own[i], i + 1);
    assert_true(assay_dump_padding_zero(&l[0], file, 64, dense));
    file[15] = 1;
    assert_false(assay_dump_padding_zero(&l[0], file, 64, dense));
}

static void given(void **state)
{
    const struct assay_tensor t = tensor(ASSAY_S16, 3, (int64_t[]){2, 3, 4});
    const int64_t valid[] = {2, 3, 4}, other[] = {2, 4, 3};
    struct assay_dump_layout l;

    (void)state;
    assert_true(assay_dump_layout_given(&l, &t, 2, 3, valid,
                                        (int64_t[]){48, 16, 2}, 96));
    assert_int_equal(l.bytes, 48 + 32 + 6 + 2);
    assert_false(assay_dump_layout_ends(&l, 87));
    assert_true(assay_dump_layout_ends(&l, 88));
    assert_true(assay_dump_layout_ends(&l, 96));
    assert_true(assay_dump_layout_ends(&l, 128)); /* up to a power of two */
    assert_false(assay_dump_layout_ends(&l, 97));
    assert_false(assay_dump_layout_ends(&l, 960));
    assert_false(assay_dump_layout_given(&l, &t, 2, 3, valid,
                                         (int64_t[]){48, 16, 2}, 87));
    assert_false(assay_dump_layout_given(&l, &t, 2, 3, other,
                                         (int64_t[]){48, 16, 2}, 96));
    assert_false(assay_dump_layout_given(&l, &t, 2, 3, valid,
                                         (int64_t[]){-1, -1, 2}, 96));
    assert_false(assay_dump_layout_given(&l, &t, 2, 3, valid,
                                         (int64_t[]){INT64_MAX, 16, 2}, 96));
}

static void texts(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        bool integers;
    } good[] = {{"1 2,3\n-4\t5\r\n", 5, true},
                {"# x\n1.50 2\n", 2, false},
                {"", 0, true},
                {"nan inf -0.000", 3, false},
                {"7", 1, true}};
    static const char *const bad[] = {"1 two 3", "1..2", "0x 1", "1 #2", "--1"};
    const int8_t eight[] = {1, -2, 3};
    const float reals[] = {0.12345678F, -3.0F, 1e9F};
    struct assay_dump_text t;
    struct assay_err err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(assay_dump_text_parse(&t, good[i].text,
                                               strlen(good[i].text), "f", &err),
                         0);
        assert_int_equal(t.n, good[i].n);
        assert_int_equal(t.integers, good[i].integers);
        assay_dump_text_close(&t);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(
            assay_dump_text_parse(&t, bad[i], strlen(bad[i]), "f", &err),
            ASSAY_EFORMAT);
    assert_int_equal(assay_dump_text_parse(&t, "1 -2 4", 6, "f", &err), 0);
    assert_int_equal(
        assay_dump_text_differs(&t, ASSAY_S8, (const uint8_t *)eight), 2);
    assay_dump_text_close(&t);
    /* Within the digits that are printed. */
    assert_int_equal(
        assay_dump_text_parse(&t, "0.123 -3.000 1e9", 16, "f", &err), 0);
    assert_int_equal(
        assay_dump_text_differs(&t, ASSAY_F32, (const uint8_t *)reals), 3);
    assay_dump_text_close(&t);
    assert_int_equal(
        assay_dump_text_parse(&t, "0.125 -3.000 1e9", 16, "f", &err), 0);
    assert_int_equal(
        assay_dump_text_differs(&t, ASSAY_F32, (const uint8_t *)reals), 0);
    assay_dump_text_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),     cmocka_unit_test(layouts),
        cmocka_unit_test(stripping), cmocka_unit_test(given),
        cmocka_unit_test(texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
