/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building a slice, and the facts of dtypes and tensors.
 *
 * links: lib/core/slice.c lib/core/buf.c lib/core/err.c
 */
#include "lib/core/slice.h"

#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

static void grows_and_finds(void **state)
{
    struct assay_slice *s = assay_slice_new();
    uint32_t index;
    (void)state;
    assert_non_null(s);
    for (uint32_t i = 0; i < 100; i++) {
        char name[8] = {'t', (char)('a' + i / 26), (char)('a' + i % 26), 0};
        assert_int_equal(assay_slice_add_tensor(s, &index, NULL), 0);
        assert_int_equal(index, i);
        assert_int_equal(s->tensors[i].quant.axis, -1);
        assert_int_equal(s->tensors[i].perm[3], 3);
        s->tensors[i].name = assay_arena_str(s->arena, name, 3);
        assert_int_equal(assay_slice_add_layer(s, i % 5, &index, NULL), 0);
        assert_int_equal(s->layers[i].n_inputs, i % 5);
        s->layers[i].name = s->tensors[i].name;
    }
    assert_int_equal(assay_slice_find_tensor(s, "tab"), 1);
    assert_int_equal(assay_slice_find_layer(s, "tcc"), 54);
    assert_int_equal(assay_slice_find_tensor(s, "nowhere"), -1);
    assert_int_equal(assay_slice_find_layer(s, "nowhere"), -1);
    assay_slice_free(s);
    assay_slice_free(NULL);
}

static void too_many_inputs_are_refused(void **state)
{
    struct assay_slice *s = assay_slice_new();
    struct assay_err err;
    uint32_t index = 77;
    (void)state;
    assert_int_equal(assay_slice_add_layer(s, 65, &index, &err), ASSAY_ERANGE);
    assert_string_equal(err.text, "slice: layer 0 has 65 inputs: expected at "
                                  "most 64");
    assert_int_equal(index, 77);
    assay_slice_free(s);
}

static void dtypes(void **state)
{
    int64_t lo, hi;
    (void)state;
    assert_int_equal(assay_dtype_bytes(ASSAY_S16), 2);
    assert_int_equal(assay_dtype_bytes(ASSAY_S64), 8);
    assert_int_equal(assay_dtype_bytes((enum assay_dtype)0), 0);
    assert_int_equal(assay_dtype_bytes((enum assay_dtype)99), 0);
    assert_int_equal(assay_dtype_bytes((enum assay_dtype) - 1), 0);
    assert_string_equal(assay_dtype_name(ASSAY_U8), "uint8");
    assert_string_equal(assay_dtype_name((enum assay_dtype)99), "?");
    assert_false(assay_dtype_is_int(ASSAY_F32));
    assert_true(assay_dtype_is_int(ASSAY_S64));
    assay_dtype_range(ASSAY_U16, &lo, &hi);
    assert_int_equal(lo, 0);
    assert_int_equal(hi, 65535);
    assert_string_equal(assay_op_name(ASSAY_OP_GEMM), "gemm");
    assert_string_equal(assay_op_name(ASSAY_OP_VIEW), "view");
    assert_string_equal(assay_op_name(ASSAY_OP_GRID_SAMPLE), "grid_sample");
    assert_string_equal(assay_op_name(ASSAY_OP_FUNCTION), "function");
    assert_string_equal(assay_op_name(ASSAY_OP_NORMALIZE), "normalize");
    assert_string_equal(assay_op_name(ASSAY_OP_SELECT), "select");
    assert_string_equal(assay_op_name((enum assay_op)0), "?");
    assert_string_equal(assay_op_name((enum assay_op)1000), "?");
}

static void counts(void **state)
{
    struct assay_tensor t = {
        .name = "t", .dtype = ASSAY_S32, .rank = 3, .dims = {2, 3, 5}};
    struct assay_err err;
    size_t n = 1, bytes = 1;
    (void)state;
    assert_int_equal(assay_tensor_count(&t, &n, &bytes, &err), 0);
    assert_int_equal(n, 30);
    assert_int_equal(bytes, 120);
    t.rank = 0;
    assert_int_equal(assay_tensor_count(&t, &n, &bytes, &err), 0);
    assert_int_equal(n, 1);
    assert_int_equal(bytes, 4);
    t.rank = 3;
    t.dims[1] = (int64_t)1 << 62;
    assert_int_equal(assay_tensor_count(&t, &n, &bytes, &err), ASSAY_ERANGE);
    t.dims[1] = 0;
    assert_int_equal(assay_tensor_count(&t, &n, &bytes, &err), ASSAY_ERANGE);
    assert_string_equal(err.text, "tensor 't': dims[1] is 0: expected at "
                                  "least 1");
    t.rank = 1; /* the elements fit, the bytes do not */
    t.dims[0] = (int64_t)1 << 62;
    assert_int_equal(assay_tensor_count(&t, &n, &bytes, &err), ASSAY_ERANGE);
    t.rank = 11;
    assert_int_equal(assay_tensor_count(&t, &n, &bytes, &err), ASSAY_ERANGE);
    t.rank = 1;
    t.dtype = (enum assay_dtype)42;
    assert_int_equal(assay_tensor_count(&t, &n, &bytes, &err),
                     ASSAY_EUNSUPPORTED);
    assert_int_equal(n, 1);
    assert_int_equal(bytes, 4);
}

static void source_dims(void **state)
{
    struct assay_tensor t = {.dtype = ASSAY_S8,
                             .rank = 4,
                             .dims = {1, 28, 30, 64},
                             .perm = {0, 2, 3, 1}};
    int64_t out[4] = {0};
    (void)state;
    assay_tensor_source_dims(&t, out);
    assert_int_equal(out[0], 1);
    assert_int_equal(out[1], 64);
    assert_int_equal(out[2], 28);
    assert_int_equal(out[3], 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_finds),
        cmocka_unit_test(too_many_inputs_are_refused),
        cmocka_unit_test(dtypes),
        cmocka_unit_test(counts),
        cmocka_unit_test(source_dims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
