/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of slices: a copy that can be changed, one layer by itself, a layer in
 * between; and fields that are indices of tensors follow.
 *
 * links: lib/core/ kernels/requant.c tests/support/slices.c
 * libs: -lxxhash -lmbedcrypto
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "lib/core/form.h"
#include "lib/core/slice_part.h"
#include "tests/support/slices.h"

static const int8_t weights[4] = {1, 2, 3, 4};

/* x -> conv (x, w) -> y -> add (y, y) -> z */
static struct assay_slice *make(void)
{
    const int64_t four = 4;
    struct assay_slice *s = slices_new();
    uint32_t l;

    s->model_name = "m";
    slices_tensor(s, "x", ASSAY_ROLE_INPUT, ASSAY_S8, 1, &four);
    slices_tensor(s, "unused", ASSAY_ROLE_INPUT, ASSAY_S8, 1, &four);
    slices_tensor(s, "w", ASSAY_ROLE_CONSTANT, ASSAY_S8, 1, &four);
    slices_data(s, 2, weights);
    slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1, &four);
    s->tensors[3].is_output = true;
    slices_tensor(s, "z", ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1, &four);
    l = slices_layer(s, "conv", ASSAY_OP_GEMM, 2, (uint32_t[]){0, 2}, 3);
    slices_in_programs(s, l, 1);
    l = slices_layer(s, "add", ASSAY_OP_BINARY, 2, (uint32_t[]){3, 3}, 4);
    slices_in_programs(s, l, 2);
    return s;
}

static void test_copy(void **state)
{
    struct assay_slice *s = make(), *c = NULL;
    struct assay_err err = {0};

    (void)state;
    assert_int_equal(assay_slice_copy(&c, s, &err), 0);
    assert_int_equal(c->n_tensors, 5);
    assert_int_equal(c->n_layers, 2);
    c->layers[0].inputs[0] = 1;
    c->layers[1].in_programs[0].n_steps = 7;
    c->tensors[0].dtype = ASSAY_U8;
    assert_int_equal(s->layers[0].inputs[0], 0);
    assert_int_equal(s->layers[1].in_programs[0].n_steps, 0);
    assert_int_equal(s->tensors[0].dtype, ASSAY_S8);
    assay_slice_free(c);
    assay_slice_free(s);
}

static void test_single(void **state)
{
    struct assay_slice *s = make(), *one = NULL;
    struct assay_err err = {0};

    (void)state;
    assert_int_equal(assay_slice_single(&one, s, 0, &err), 0);
    assert_int_equal(one->n_layers, 1);
    assert_int_equal(one->n_tensors, 3);
    assert_string_equal(one->tensors[0].name, "x");
    assert_memory_equal(one->tensors[1].data, weights, 4);
    assert_ptr_equal(one->tensors[1].data, s->tensors[2].data);
    assert_int_equal(one->layers[0].output, 2);
    assert_true(one->tensors[2].is_output);
    assay_slice_free(one);

    /* One tensor for two operands, computed before: an input now. */
    assert_int_equal(assay_slice_single(&one, s, 1, &err), 0);
    assert_int_equal(one->n_tensors, 2);
    assert_int_equal(one->layers[0].inputs[0], 0);
    assert_int_equal(one->layers[0].inputs[1], 0);
    assert_int_equal(one->tensors[0].role, ASSAY_ROLE_INPUT);
    assert_false(one->tensors[0].is_output);
    assert_string_equal(one->layers[0].name, "add");
    assay_slice_free(one);
    assay_slice_free(s);
}

static void test_insert(void **state)
{
    struct assay_slice *s = make();
    struct assay_err err = {0};

    (void)state;
    assert_int_equal(assay_slice_insert_layer(s, 1, 1, &err), 0);
    assert_int_equal(s->n_layers, 3);
    assert_string_equal(s->layers[0].name, "conv");
    assert_string_not_equal(s->layers[1].name, "add");
    assert_int_equal(s->layers[1].n_inputs, 1);
    assert_string_equal(s->layers[2].name, "add");
    assert_int_equal(s->layers[2].inputs[1], 3);
    assay_slice_free(s);
}

static void test_fields(void **state)
{
    struct assay_slice *s = make(), *one = NULL;
    const int64_t scale[2] = {5, 6}, weight = 2, other = 4, shift = 2;
    struct assay_layer *l = &s->layers[0];
    struct assay_err err = {0};

    (void)state;
    assert_int_equal(assay_field_add(s, l, "scale", 2, scale, &err), 0);
    assert_int_equal(assay_field_add(s, l, ASSAY_FIELD_TABLE, 1, &other, &err),
                     0);
    assert_int_equal(assay_field_add(s, l, ASSAY_FIELD_BIAS, 1, &weight, &err),
                     0);
    assert_int_equal(assay_field_add(s, l, ".second_shift", 1, &shift, &err),
                     0);
    assert_int_equal(assay_slice_single(&one, s, 0, &err), 0);
    l = &one->layers[0];
    assert_int_equal(l->n_fields, 3);
    assert_memory_equal(assay_field_find(l, "scale")->v, scale, 16);
    assert_int_equal(assay_field_find(l, ASSAY_FIELD_BIAS)->v[0], 1);
    assert_int_equal(assay_field_find(l, ".second_shift")->v[0], 2);
    assert_null(assay_field_find(l, ASSAY_FIELD_TABLE));
    assert_int_equal(s->layers[0].n_fields, 4);
    assert_int_equal(assay_field_find(&s->layers[0], ASSAY_FIELD_BIAS)->v[0],
                     2);
    assay_slice_free(one);
    assay_slice_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_single),
        cmocka_unit_test(test_insert),
        cmocka_unit_test(test_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
