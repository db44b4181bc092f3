/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A preprocessing node as real numbers: x -> Transpose -> node.
 *
 * links: host-tools/model/onnx_preprocess.c host-tools/model/file.c
 * links: host-tools/model/onnx_graph.c host-tools/model/onnx_proto.c
 * links: gen/host-tools/model/onnx.pb-c.c
 * links: lib/core/buf.c lib/core/err.c lib/core/hash.c lib/core/slice.c
 * libs: -lprotobuf-c -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "host-tools/model/onnx_preprocess.h"
#include "tests/unit/onnx_bytes.h"

static char path[] = P_tmpdir "/assay-preprocess-XXXXXX";
static struct assay_arena *arena;
static struct assay_onnx_preprocess *v;
static uint32_t n;
static struct assay_err err;

static int setup(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    return close(fd);
}

static int teardown(void **state)
{
    (void)state;
    assay_arena_free(arena);
    return unlink(path);
}

static void put_floats(struct bytes *to, const char *name, int count,
                       const float *f)
{
    struct bytes a = {.n = 0};

    put_str(&a, 1, name);
    for (int i = 0; i < count; i++)
        put_float(&a, 7, f[i]);
    put_int(&a, 20, 6);
    put_msg(to, 5, &a);
}

/* Two channels: y0 = 1 x0, y1 = 2 x0 - 1 x1, biases of 3 and -4 levels. */
static void read_with(struct dims shift, int64_t scale, int64_t high,
                      const char *input_type, size_t weights)
{
    static const int8_t w[] = {127, 0, 127, -64};
    static const int32_t b[] = {381 + 512, -127 + 512};
    static const int8_t bs[] = {0, 1};
    static const float thr[] = {1.0f, 2.0f};
    struct bytes g = {.n = 0}, m, t, p;
    FILE *f;

    put_info(&g, 11, "x", 3, DIMS(1, 2, 2, 2));
    t = node("t", "", "Transpose", "x", "tx");
    put_ints(&t, "perm", DIMS(0, 2, 3, 1));
    put_msg(&g, 1, &t);
    p = node("pre", "horizon", "HzSQuantizedPreprocess", "tx w b bs", "y");
    put_attr_str(&p, "input_type", input_type);
    put_floats(&p, "weight_thresholds", 2, thr);
    put_ints(&p, "right_shift", DIMS(0));
    put_ints(&p, "out_shift", shift);
    put_ints(&p, "scale", DIMS(scale));
    put_attr_int(&p, "high_precision_output", high);
    put_msg(&g, 1, &p);
    put_const(&g, "w", 3, DIMS(2, 1, 1, (int64_t)weights / 2), w, weights);
    put_const(&g, "b", 6, DIMS(2), b, sizeof(b));
    put_const(&g, "bs", 3, DIMS(2), bs, sizeof(bs));
    put_info(&g, 12, "y", 3, DIMS(1, 2, 2, 2));
    m = model(&g, 11);
    f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(m.data, 1, m.n, f), m.n);
    assert_int_equal(fclose(f), 0);
    assay_arena_free(arena);
    arena = assay_arena_new();
    if (assay_onnx_preprocess(&v, &n, arena, path, &err) < 0)
        fail_msg("%s", err.text);
}

static void near(double got, double want)
{
    if (got < want - 1e-6 || got > want + 1e-6)
        fail_msg("%.9g, expected %.9g", got, want);
}

static void test_numbers(void **state)
{
    (void)state;
    /* Half an output step: 2^20 / 1024 / 2 = 512 is not the user's. */
    read_with(DIMS(20), 1024, 0, "RGB_128", 4);
    assert_int_equal(n, 1);
    assert_string_equal(v[0].node, "pre");
    assert_string_equal(v[0].input, "x"); /* through the Transpose */
    assert_string_equal(v[0].input_type, "RGB_128");
    assert_true(v[0].derived);
    assert_int_equal(v[0].channels, 2);
    near(v[0].weights[0][0], 1.0);
    near(v[0].weights[1][0], 2.0);
    near(v[0].weights[1][1], -128.0 / 127.0);
    near(v[0].bias[0], 3.0);
    near(v[0].bias[1], ((-127.0 + 512.0) * 2.0 - 512.0) * 2.0 / 127.0);
    /* The whole accumulator is kept: nothing was added. */
    read_with(DIMS(20), 1024, 1, "", 4);
    assert_true(v[0].derived);
    near(v[0].bias[0], (381.0 + 512.0) / 127.0);
}

static void test_other_forms(void **state)
{
    (void)state;
    read_with(DIMS(63), 1024, 0, "", 4); /* a shift that no int64 has */
    assert_int_equal(n, 1);
    assert_false(v[0].derived);
    read_with(DIMS(20), 0, 0, "", 4);
    assert_false(v[0].derived);
    read_with(DIMS(20, 20, 20), 1024, 0, "", 4); /* more than the channels */
    assert_true(v[0].derived);
    read_with(DIMS(20), 1024, 0, "", 2); /* not square */
    assert_false(v[0].derived);
}

static void test_no_model(void **state)
{
    FILE *f = fopen(path, "wb");

    (void)state;
    assert_non_null(f);
    fputs("HzSQuantizedPreprocess, but no ONNX", f);
    fclose(f);
    assert_true(assay_onnx_preprocess(&v, &n, arena, path, &err) < 0);
    assert_int_equal(n, 0);
    f = fopen(path, "wb");
    assert_non_null(f);
    fputs("another format", f);
    fclose(f);
    assert_int_equal(assay_onnx_preprocess(&v, &n, arena, path, &err), 0);
    assert_int_equal(n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_other_forms),
        cmocka_unit_test(test_no_model),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
