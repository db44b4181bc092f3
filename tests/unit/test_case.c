/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npz files and case folders: round trips, layouts, what does not belong
 * together, damaged zip files.
 *
 * links: lib/core/probe.c
 * links: host-tools/model/case.c host-tools/model/case_meta.c
 * links: host-tools/model/case_columns.c host-tools/model/hbdk_text.c
 * links: host-tools/model/dump.c host-tools/model/model_info.c
 * links: host-tools/model/differ.c host-tools/model/record.c
 * links: proto/ gen/proto/assay.pb-c.c
 * links: host-tools/model/sample.c host-tools/model/file.c
 * links: host-tools/model/npz.c host-tools/model/npz_write.c
 * links: host-tools/model/archive.c
 * links: host-tools/model/npy.c host-tools/model/model.c
 * links: host-tools/model/onnx*.c host-tools/model/file.c
 * links: host-tools/model/mlir*.c host-tools/model/hbir*.c lib/core/form*.c
 * links: gen/host-tools/model/onnx.pb-c.c
 * links: lib/core/arith_build.c lib/core/arith_policy.c lib/core/buf.c
 * links: lib/core/err.c lib/core/hash.c lib/core/slice.c
 * links: lib/core/stats.c
 * libs: -lprotobuf-c -lzip -ljansson -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "host-tools/model/case.h"
#include "host-tools/model/npy.h"
#include "tests/unit/onnx_bytes.h"

static char dir[128];
static struct assay_err err;
static const int64_t dims[4] = {1, 2, 2, 3}; /* NCHW */
static float data[12];

static const char *at(const char *name)
{
    static char path[4][200];
    static int turn;
    char *p = path[turn = (turn + 1) % 4];

    snprintf(p, 200, "%s/%s", dir, name);
    return p;
}

static void write_bytes(const char *name, const void *p, size_t n)
{
    FILE *f = fopen(at(name), "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* x [1,2,2,3] -> Relu -> y */
static void write_model(const char *name)
{
    struct bytes g = {.n = 0}, relu = node("relu", "", "Relu", "x", "y"), m;

    put_info(&g, 11, "x", 1, DIMS(1, 2, 2, 3));
    put_msg(&g, 1, &relu);
    put_info(&g, 12, "y", 1, DIMS(1, 2, 2, 3));
    m = model(&g, 13);
    write_bytes(name, m.data, m.n);
}

static void write_array(const char *file, const char *name, uint32_t rank,
                        const int64_t *shape, const void *p)
{
    struct assay_npz_writer *w;

    assert_int_equal(assay_npz_create(&w, at(file), &err), 0);
    assert_int_equal(assay_npz_add(w, name, ASSAY_F32, rank, shape, p, &err),
                     0);
    assert_int_equal(assay_npz_finish(w, &err), 0);
}

static int setup(void **state)
{
    const char *top = getenv("TMPDIR");

    (void)state;
    snprintf(dir, sizeof(dir), "%.90s/assay-test-XXXXXX", top ? top : P_tmpdir);
    if (!mkdtemp(dir))
        return -1;
    for (int i = 0; i < 12; i++)
        data[i] = (float)i;
    mkdir(at("inputs"), 0700);
    mkdir(at("golden"), 0700);
    write_model("model.onnx");
    write_array("inputs/0000.npz", "x", 4, dims, data);
    write_array("golden/0000.npz", "y", 4, dims, data);
    return 0;
}

static int teardown(void **state)
{
    static const char *const names[] = {
        "inputs/0000.npz",
        "golden/0000.npz",
        "golden/0007.npz",
        "inputs",
        "golden",
        "model.onnx",
        "case.json",
        "a.npz",
        "a.npy",
        "rows.npz",
        "",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        remove(at(names[i]));
    return 0;
}

static struct assay_slice *slice_of(struct assay_case *c)
{
    struct assay_slice *s = NULL;

    if (assay_model_open(&s, c->model_path, NULL, &err))
        fail_msg("%s", err.text);
    return s;
}

static void test_permuted(void **state)
{
    struct assay_case c;
    struct assay_sample x, y;
    struct assay_slice *s;
    int64_t t;

    (void)state;
    assert_int_equal(assay_case_open(&c, dir, NULL, &err), 0);
    assert_int_equal(c.n_samples, 1);
    assert_true(c.has_goldens);
    assert_string_equal(assay_case_numerics(&c), "onnxruntime-x86");
    s = slice_of(&c);
    assert_int_equal(assay_case_inputs(&x, &c, 0, s, NULL, &err), 0);
    assert_int_equal(assay_case_golden(&y, &c, 0, s, NULL, &err), 0);
    assert_int_equal(x.n_found, 1);
    t = assay_slice_find_tensor(s, "y");
    for (int h = 0; h < 2; h++)
        for (int w = 0; w < 3; w++)
            for (int k = 0; k < 2; k++)
                assert_true(((float *)y.values[t])[(h * 3 + w) * 2 + k] ==
                            (float)(k * 6 + h * 3 + w));
    assay_sample_close(&x);
    assay_sample_close(&y);
    assay_slice_free(s);
    assay_case_close(&c);
}

static void test_rows(void **state)
{
    static const int64_t many[4] = {3, 2, 2, 3};
    const char *inputs[1] = {at("rows.npz")};
    float all[36];
    struct assay_case c;
    struct assay_sample x;
    struct assay_slice *s;

    (void)state;
    for (int i = 0; i < 36; i++)
        all[i] = (float)i;
    write_array("rows.npz", "in0", 4, many, all);
    assert_int_equal(assay_case_from_files(&c, at("model.onnx"), inputs, 1,
                                           NULL, NULL, NULL, &err),
                     0);
    assert_int_equal(c.n_samples, 3);
    assert_false(c.has_goldens);
    s = slice_of(&c);
    assert_int_equal(assay_case_inputs(&x, &c, 2, s, NULL, &err), 0);
    assert_true(*(float *)x.values[assay_slice_find_tensor(s, "x")] == 24.0f);
    assay_sample_close(&x);
    assay_slice_free(s);
    assay_case_close(&c);
}

/* The whole way to a sample; the sentence with the folder's name cut off. */
static const char *outcome(void)
{
    static char text[600];
    struct assay_case c;
    struct assay_sample x, y;
    struct assay_slice *s;
    char *p;
    int rc = assay_case_open(&c, dir, NULL, &err);

    strcpy(text, "");
    if (!rc) {
        s = slice_of(&c);
        rc = assay_case_inputs(&x, &c, 0, s, NULL, &err);
        if (!rc) {
            rc = assay_case_golden(&y, &c, 0, s, NULL, &err);
            assay_sample_close(&x);
        }
        if (!rc)
            assay_sample_close(&y);
        assay_slice_free(s);
        assay_case_close(&c);
    }
    if (rc) {
        strcpy(text, err.text);
        while ((p = strstr(text, dir)))
            memmove(p, p + strlen(dir), strlen(p + strlen(dir)) + 1);
    }
    return text;
}

/* The same tensors are the same bytes, whenever they are written. */
static void test_no_time_in_a_file(void **state)
{
    uint8_t head[14];
    FILE *f;

    (void)state;
    write_array("golden/0000.npz", "y", 4, dims, data);
    f = fopen(at("golden/0000.npz"), "rb");
    assert_non_null(f);
    assert_int_equal(fread(head, 1, sizeof(head), f), sizeof(head));
    fclose(f);
    assert_memory_equal(head + 10, ((const uint8_t[]){0, 0, 0x21, 0}), 4);
}

static void test_bad_arrays(void **state)
{
    static const int64_t wrong[2] = {3, 4};
    struct assay_npz_writer *w;
    uint8_t bytes[12] = {0};

    (void)state;
    write_array("golden/0000.npz", "y", 2, wrong, data);
    assert_string_equal(outcome(), "/golden/0000.npz: array 'y' is 3x4, but "
                                   "the model's tensor is 1x2x2x3");
    assert_int_equal(assay_npz_create(&w, at("golden/0000.npz"), &err), 0);
    assert_int_equal(assay_npz_add(w, "y", ASSAY_U8, 4, dims, bytes, &err), 0);
    assert_int_equal(assay_npz_finish(w, &err), 0);
    assert_string_equal(outcome(), "/golden/0000.npz: array 'y' is uint8, but "
                                   "the model's tensor is float32");
    write_array("inputs/0000.npz", "z", 4, dims, data);
    assert_string_equal(outcome(), "/inputs/0000.npz: no array for the "
                                   "model's input 'x'");
    remove(at("inputs/0000.npz"));
    assert_string_equal(outcome(), "/inputs: no samples, expected 0000.npz "
                                   "and so on");
    remove(at("model.onnx"));
    assert_string_equal(outcome(), ": no model in this case, expected "
                                   "model.onnx");
}

static void test_bad_case_json(void **state)
{
    static const struct {
        const char *json, *sentence;
    } rows[] = {
        {"[1]", "/case.json: case.json: expected an object"},
        {"{\"machine\": 7}", "/case.json: 'machine': expected a string"},
        {"{\"model_sha256\": \"12\"}",
         "/case.json: 'model_sha256': expected 64 hexadecimal digits, found "
         "'12'"},
        {"{\"opt\"", "/case.json: case.json: line 1: ':' expected near end "
                     "of file"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        write_bytes("case.json", rows[i].json, strlen(rows[i].json));
        assert_string_equal(outcome(), rows[i].sentence);
    }
}

static void test_other_model(void **state)
{
    char json[120], zeros[65], want[400], hex[65];
    struct assay_case c;
    struct assay_slice *s;

    (void)state;
    assert_int_equal(assay_case_open(&c, dir, NULL, &err), 0);
    s = slice_of(&c);
    assay_hex(s->model_sha256, ASSAY_SHA256_LEN, hex);
    assay_slice_free(s);
    assay_case_close(&c);
    memset(zeros, '0', 64);
    zeros[64] = '\0';
    snprintf(json, sizeof(json), "{\"model_sha256\": \"%s\"}", zeros);
    write_bytes("case.json", json, strlen(json));
    snprintf(want, sizeof(want),
             "/golden/0000.npz: this reference belongs to another model: "
             "model_sha256 %s, but the model has %s",
             zeros, hex);
    assert_string_equal(outcome(), want);
}

static void bad_zip(const char *sentence)
{
    struct assay_npz z;
    char text[600], *p;
    int rc = assay_npz_read(&z, at("a.npz"), NULL, &err);

    assert_true(rc < 0);
    strcpy(text, err.text);
    while ((p = strstr(text, dir)))
        memmove(p, p + strlen(dir), strlen(p + strlen(dir)) + 1);
    assert_string_equal(text, sentence);
}

static void test_bad_zip(void **state)
{
    uint8_t zip[2048];
    size_t n;
    FILE *f;

    (void)state;
    bad_zip("/a.npz: No such file or directory");
    write_bytes("a.npz", "hello, this is no zip file", 26);
    bad_zip("/a.npz: not a readable zip file: Not a zip archive");
    write_array("a.npz", "x", 4, dims, data);
    f = fopen(at("a.npz"), "rb");
    assert_non_null(f);
    n = fread(zip, 1, sizeof(zip), f);
    fclose(f);
    write_bytes("a.npz", zip, n - 10);
    bad_zip("/a.npz: not a readable zip file: Not a zip archive");
    zip[n / 2 > 100 ? 150 : 60] ^= 0x40; /* inside the array's data */
    write_bytes("a.npz", zip, n);
    bad_zip("/a.npz: member 'x.npy': damaged: CRC error (176 of 176 bytes "
            "read)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_permuted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_arrays, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_time_in_a_file, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_bad_case_json, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_model, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_zip, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
