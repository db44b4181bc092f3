/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences between the parts of a case that are no faults: which are
 * recognised, what is compared instead, and that nothing is guessed.
 *
 * links: lib/core/probe.c
 * links: host-tools/model/case*.c host-tools/model/hbdk_text.c
 * links: host-tools/model/dump.c host-tools/model/model_info.c
 * links: host-tools/model/differ.c host-tools/model/record.c
 * links: proto/ gen/proto/assay.pb-c.c
 * links: host-tools/model/sample.c host-tools/model/file.c
 * links: host-tools/model/npz.c host-tools/model/npz_write.c
 * links: host-tools/model/archive.c
 * links: host-tools/model/dump.c host-tools/model/model_info.c
 * links: host-tools/model/npy.c
 * links: lib/core/buf.c lib/core/err.c lib/core/hash.c lib/core/slice.c
 * links: lib/core/stats.c
 * libs: -lprotobuf-c -lzip -ljansson -lxxhash -lmbedcrypto -lm
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "host-tools/model/case_meta.h"
#include "host-tools/model/differ.h"
#include "host-tools/model/model.h"

/* case_meta.c counts samples in files of a model; not used here. */
int assay_model_open(struct assay_slice **out, const char *path,
                     const struct assay_model_note *note, struct assay_err *err)
{
    (void)out;
    (void)path;
    (void)note;
    return assay_fail(err, ASSAY_EIO, "no model here");
}

static struct assay_case json_case(const char *text)
{
    struct assay_case c = {0};
    struct assay_err err = {0};

    assert_int_equal(assay_case_json(&c, text, strlen(text), "case.json", &err),
                     0);
    return c;
}

static const struct assay_case_difference *find(const struct assay_case *c,
                                                const char *id,
                                                const char *subject)
{
    for (size_t i = 0; i < c->n_differences; i++)
        if (!strcmp(c->differences[i].id, id) &&
            !strcmp(c->differences[i].subject, subject))
            return &c->differences[i];
    return NULL;
}

static void test_alike(void **state)
{
    struct assay_case c = json_case(
        "{\"march\": \"nash-e\", \"tools\": {\"hbdk4\": \"1\"}, \"options\": "
        "{\"qpp\": \"high\"}, \"columns\": {\"sim\": {\"march\": \"nash-e\", "
        "\"tools\": {\"hbdk4\": \"1\"}, \"options\": {\"qpp\": \"high\"}}}}");

    (void)state;
    assert_int_equal(c.n_differences, 0);
    assay_case_differences_close(&c);
    c = json_case("{\"columns\": 3, \"tools\": [], \"options\": null}");
    assert_int_equal(c.n_differences, 0);
    /* What one side does not say is no difference. */
    c = json_case("{\"options\": {\"a\": 1}, \"columns\": {\"bpu\": {}}}");
    assert_int_equal(c.n_differences, 0);
}

static void test_json(void **state)
{
    struct assay_case c = json_case(
        "{\"march\": \"nash-e\", \"tools\": {\"hbdk4\": \"1\", \"x\": \"1\"}, "
        "\"options\": {\"consistency\": 1, \"qpp\": true}, \"columns\": "
        "{\"sim\": {\"march\": \"nash-p\", \"tools\": {\"hbdk4\": \"2\"}, "
        "\"options\": {\"consistency\": 2, \"other\": \"y\"}}, \"bpu\": "
        "{\"tools\": {\"hbdk4\": \"3\"}}}}");
    const struct assay_case_difference *d;

    (void)state;
    assert_int_equal(c.n_differences, 6);
    d = find(&c, "march", "sim");
    assert_non_null(d);
    assert_string_equal(d->expected, "nash-e");
    assert_string_equal(d->found, "nash-p");
    assert_non_null(strstr(d->sentence, "no finding about the compiler"));
    d = find(&c, "version", "sim hbdk4");
    assert_non_null(d);
    assert_string_equal(d->found, "2");
    assert_non_null(find(&c, "version", "bpu hbdk4"));
    d = find(&c, "option", "sim consistency");
    assert_non_null(d);
    assert_string_equal(d->expected, "1");
    assert_string_equal(d->found, "2");
    assert_non_null(strstr(d->sentence, "consistency levels"));
    d = find(&c, "option", "sim qpp");
    assert_non_null(d);
    assert_string_equal(d->found, "not set");
    assert_non_null(find(&c, "option", "sim other"));
    assay_case_differences_close(&c);
}

static void test_model(void **state)
{
    static const char head[] = "module attributes {hbdk.perf_stage = 1 : i64, "
                               "hbdk.target = \"B30G\"} {";
    struct assay_case c = json_case("{\"march\": \"bayes-e\"}");

    (void)state;
    assay_case_differ_model(&c, head, strlen(head), "model.mlir", "bayes-e");
    assert_int_equal(c.n_differences, 1);
    assert_string_equal(find(&c, "march", "model")->found, "B30G");
    assay_case_differences_close(&c);
    strcpy(c.march, "nash-e");
    assay_case_differ_model(&c, head, strlen(head), "model.mlir", "nash");
    assert_int_equal(c.n_differences, 0);
    /* Letters beyond the family are not known to mean anything. */
    strcpy(c.march, "nash-p");
    assay_case_differ_model(&c, head, strlen(head), "model.mlir", "my-own");
    assert_int_equal(c.n_differences, 0);
    assay_case_differ_model(&c, head, strlen(head), "model.mlir", "bayes-e");
    assert_non_null(find(&c, "march", "numerics"));
    assay_case_differences_close(&c);
    /* The target stands for a march that nobody told; a cut one does not. */
    c.march[0] = '\0';
    assay_case_differ_model(&c, head, strlen(head), "model.mlir", "bayes-e");
    assert_int_equal(c.n_differences, 1);
    assay_case_differences_close(&c);
    for (size_t n = 0; n < strlen(head); n++)
        assay_case_differ_model(&c, head, n, "model.mlir", "nash");
    assert_int_equal(c.n_differences, 0);
}

static void test_once(void **state)
{
    struct assay_case c = {0};
    char name[16];

    (void)state;
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "t%d", i % 100);
        assay_case_differ(&c, "tail", name, "f", "a", "b", "%s", name);
    }
    assert_int_equal(c.n_differences, 64);
    assay_case_differences_close(&c);
    assert_int_equal(c.n_differences, 0);
}

/* x f32 -> quantize -> q s8 -> (conv) -> acc s32 -> dequantize -> y f32;
 * the second output z s32 has a scale and no Dequantize. */
enum { X, Q, ACC, Y, Z, W };
static const float scales[2] = {0.5f, 0.25f};
static const int32_t zeros[2];

static void tensor(struct assay_slice *s, const char *name,
                   enum assay_dtype dtype, bool output)
{
    struct assay_err err = {0};
    struct assay_tensor *t;
    uint32_t i;

    assert_int_equal(assay_slice_add_tensor(s, &i, &err), 0);
    t = &s->tensors[i];
    t->name = name;
    t->dtype = dtype;
    t->rank = 2;
    t->dims[0] = 1;
    t->dims[1] = 4;
    t->perm[1] = 1;
    t->is_output = output;
}

static void layer(struct assay_slice *s, const char *form, uint32_t in,
                  uint32_t out)
{
    struct assay_err err = {0};
    uint32_t i;

    assert_int_equal(assay_slice_add_layer(s, 1, &i, &err), 0);
    s->layers[i].form = form;
    s->layers[i].inputs[0] = in;
    s->layers[i].output = out;
}

static struct assay_slice *network(void)
{
    struct assay_slice *s = assay_slice_new();

    assert_non_null(s);
    tensor(s, "x", ASSAY_F32, false);
    tensor(s, "q", ASSAY_S8, false);
    tensor(s, "acc", ASSAY_S32, false);
    tensor(s, "y", ASSAY_F32, true);
    tensor(s, "z", ASSAY_S32, true);
    tensor(s, "w", ASSAY_S32, true);
    s->tensors[X].role = ASSAY_ROLE_INPUT;
    layer(s, "quantize", X, Q);
    layer(s, "linear_tail", Q, ACC);
    layer(s, "dequantize", ACC, Y);
    s->tensors[Z].quant = (struct assay_quant){
        .n = 1, .axis = -1, .scale = scales, .zero_point = zeros};
    return s;
}

static void test_place(void **state)
{
    static const int64_t dims[] = {1, 4}, other[] = {4, 1};
    struct assay_slice *s = network();
    const char *id = "";
    uint32_t i = 99;

    (void)state;
    assert_true(assay_differ_place(&i, &id, s, Y, ASSAY_S32, 2, dims));
    assert_int_equal(i, ACC);
    assert_string_equal(id, "removed-dequantize");
    assert_true(assay_differ_place(&i, &id, s, X, ASSAY_S8, 2, dims));
    assert_int_equal(i, Q);
    assert_string_equal(id, "removed-quantize");
    assert_true(assay_differ_place(&i, &id, s, ACC, ASSAY_F32, 2, dims));
    assert_int_equal(i, Y);
    assert_string_equal(id, "tail");
    /* Where the type fits, another shape, or no such layer: nothing. */
    assert_false(assay_differ_place(&i, &id, s, Y, ASSAY_F32, 2, dims));
    assert_false(assay_differ_place(&i, &id, s, Y, ASSAY_S32, 2, other));
    assert_false(assay_differ_place(&i, &id, s, Y, ASSAY_S32, 1, dims));
    assert_false(assay_differ_place(&i, &id, s, Z, ASSAY_F32, 2, dims));
    assay_slice_free(s);
}

static void test_integers(void **state)
{
    struct assay_slice *s = network();
    struct assay_tensor *t = &s->tensors[Z];
    float x[4] = {1.5f, -3.0f, 0.0f, 1e6f};
    int32_t q[4];

    (void)state;
    assert_true(assay_differ_integers(q, t, x, 4));
    assert_int_equal(q[0], 3);
    assert_int_equal(q[1], -6);
    assert_int_equal(q[3], 2000000);
    x[2] = 0.3f;
    assert_false(assay_differ_integers(q, t, x, 4));
    x[2] = 3e9f;
    assert_false(assay_differ_integers(q, t, x, 4));
    x[2] = __builtin_nanf("");
    assert_false(assay_differ_integers(q, t, x, 4));
    x[2] = 0.0f;
    /* Per channel: the second and fourth element have the second scale. */
    t->quant.n = 2;
    t->quant.axis = 1;
    t->dims[0] = 2;
    t->dims[1] = 2;
    assert_true(assay_differ_integers(q, t, x, 4));
    assert_int_equal(q[0], 3);
    assert_int_equal(q[1], -12);
    t->quant.n = 0;
    assert_false(assay_differ_integers(q, t, x, 4));
    assay_slice_free(s);
}

#define NONE UINT32_MAX

static void test_renamed(void **state)
{
    struct assay_slice *s = network();
    int32_t z[4] = {1, 2, 3, 4}, w[4] = {5, 6, 7, 8}, a[4] = {5, 6, 7, 8};
    void *values[6] = {[Z] = z, [W] = w};
    struct assay_sample reference = {.values = values, .n_tensors = 6};
    struct assay_array v[2] = {{.name = (char *)"out0",
                                .dtype = ASSAY_S32,
                                .rank = 2,
                                .dims = {1, 4},
                                .data = a},
                               {.name = (char *)"z",
                                .dtype = ASSAY_S32,
                                .rank = 2,
                                .dims = {1, 4},
                                .data = z}};
    struct assay_npz npz = {.arrays = v, .n = 1};
    uint32_t i = 99;
    char list[200];

    (void)state;
    assert_int_equal(assay_differ_renamed(&i, list, sizeof(list), NONE, s,
                                          &reference, &npz, v),
                     ASSAY_RENAMED_YES);
    assert_int_equal(i, W);
    /* Equal content of both, or of none: listed. */
    memcpy(z, w, sizeof(z));
    assert_int_equal(assay_differ_renamed(&i, list, sizeof(list), NONE, s,
                                          &reference, &npz, v),
                     ASSAY_RENAMED_AMBIGUOUS);
    assert_string_equal(list, "'z', 'w'");
    /* What an earlier sample has shown is taken whatever its content. */
    assert_int_equal(
        assay_differ_renamed(&i, list, sizeof(list), Z, s, &reference, &npz, v),
        ASSAY_RENAMED_YES);
    assert_int_equal(i, Z);
    a[0] = 9;
    assert_int_equal(assay_differ_renamed(&i, list, sizeof(list), NONE, s,
                                          &reference, &npz, v),
                     ASSAY_RENAMED_AMBIGUOUS);
    /* What the file has under its own name is not looked for. */
    npz.n = 2;
    a[0] = 5;
    assert_int_equal(assay_differ_renamed(&i, list, sizeof(list), NONE, s,
                                          &reference, &npz, v),
                     ASSAY_RENAMED_YES);
    assert_int_equal(i, W);
    /* Elements all alike are no evidence. */
    for (size_t k = 0; k < 4; k++)
        a[k] = w[k] = 7;
    assert_int_equal(assay_differ_renamed(&i, list, sizeof(list), NONE, s,
                                          &reference, &npz, v),
                     ASSAY_RENAMED_AMBIGUOUS);
    v[0].dtype = ASSAY_S16;
    assert_int_equal(assay_differ_renamed(&i, list, sizeof(list), NONE, s,
                                          &reference, &npz, v),
                     ASSAY_RENAMED_NO);
    assay_slice_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alike),   cmocka_unit_test(test_json),
        cmocka_unit_test(test_model),   cmocka_unit_test(test_once),
        cmocka_unit_test(test_place),   cmocka_unit_test(test_integers),
        cmocka_unit_test(test_renamed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
