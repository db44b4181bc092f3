/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts: bytes that belong to another tensor of the model, and what only
 * looks like it.
 *
 * links: host-tools/cause/layout.c host-tools/cause/layout_permute.c
 * links: host-tools/cause/layout_stride.c host-tools/cause/layout_bytes.c
 * links: host-tools/cause/layout_text.c
 * links: lib/core/slice.c lib/core/buf.c lib/core/err.c
 * libs: -lm
 */
#include "tests/unit/layout_tensors.h"

static void other_outputs(void **state)
{
    uint8_t a[40], b[40], x[40];
    struct assay_tensor tensors[3];
    uint32_t inputs[] = {0};
    struct assay_layer layers[2] = {
        {.n_inputs = 1, .inputs = inputs, .output = 1},
        {.n_inputs = 1, .inputs = inputs, .output = 2}};
    struct assay_slice s = {
        .n_tensors = 3, .tensors = tensors, .n_layers = 2, .layers = layers};
    const void *values[] = {x, a, b};
    struct assay_layout l;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        tensors[i] = shape(ASSAY_S8, "", 2, 1, 40);
        tensors[i].name = i == 0 ? "x" : i == 1 ? "a" : "b";
    }
    fill(a, 40);
    fill(b, 40);
    fill(x, 40);
    assert_true(assay_layout_find(&l, &tensors[1], a, b, &s, values));
    assert_int_equal(l.kind, ASSAY_LAYOUT_OTHER_OUTPUT);
    assert_int_equal(l.n[0], 2);
    assert_string_equal(l.id, "L5");
    /* The layer's own input: a step is missing, no output is swapped. */
    assert_false(assay_layout_find(&l, &tensors[1], a, x, &s, values));
    values[2] = NULL;
    assert_false(assay_layout_find(&l, &tensors[1], a, b, &s, values));
    assert_false(assay_layout_find(&l, &tensors[1], a, b, &s, NULL));
    assert_false(assay_layout_find(&l, &tensors[1], a, b, NULL, NULL));
}

/* Tensors of two values: all bytes of another output of the model count, those
 * of a tensor within it may be chance. */
static void outputs_of_two_values(void **state)
{
    uint8_t a[200], b[200];
    struct assay_tensor tensors[2];
    uint32_t none_read[1] = {0};
    struct assay_layer layers[2] = {{.inputs = none_read, .output = 0},
                                    {.inputs = none_read, .output = 1}};
    struct assay_slice s = {
        .n_tensors = 2, .tensors = tensors, .n_layers = 2, .layers = layers};
    const void *values[] = {a, b};
    struct assay_layout l;

    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        a[i] = rnd() % 2 ? 127 : 128;
        b[i] = i % 6 == 0 ? a[i] ^ 0xff : a[i];
    }
    for (unsigned i = 0; i < 2; i++) {
        tensors[i] = shape(ASSAY_S8, "", 2, 1, 200);
        tensors[i].name = i == 0 ? "a" : "b";
        tensors[i].is_output = true;
    }
    assert_true(assay_layout_find(&l, &tensors[0], a, b, &s, values));
    assert_int_equal(l.kind, ASSAY_LAYOUT_OTHER_OUTPUT);
    assert_string_equal(l.id, "L5");
    tensors[1].is_output = false;
    assert_false(assay_layout_find(&l, &tensors[0], a, b, &s, values));
    tensors[1].is_output = true;
    memcpy(b, a, 200); /* of 16 elements that differ nothing is said */
    for (unsigned i = 0; i < 16; i++)
        b[i * 3] ^= 0xff;
    assert_false(assay_layout_find(&l, &tensors[0], a, b, &s, values));
}

/* The reference is the odd one: what was got is the tensor itself, and what
 * moves it only has the same bytes. */
static void outputs_that_are_moved(void **state)
{
    uint8_t a[40], b[40];
    struct assay_tensor tensors[4];
    uint32_t reads[4] = {0, 0, 1, 2};
    struct assay_layer layers[4] = {
        {.op = ASSAY_OP_UNARY, .n_inputs = 1, .inputs = &reads[0], .output = 1},
        {.op = ASSAY_OP_CONCAT, .n_inputs = 1, .inputs = &reads[2]},
        {.op = ASSAY_OP_VIEW, .n_inputs = 1, .inputs = &reads[3], .output = 3}};
    struct assay_slice s = {
        .n_tensors = 4, .tensors = tensors, .n_layers = 3, .layers = layers};
    const void *values[] = {NULL, b, b, b};
    struct assay_layout l;

    (void)state;
    layers[1].output = 2;
    for (unsigned i = 0; i < 4; i++) {
        static const char *const names[] = {"x", "a", "joined", "part"};

        tensors[i] = shape(ASSAY_S8, "", 2, 1, 40);
        tensors[i].name = names[i];
    }
    fill(a, 40);
    fill(b, 40);
    assert_false(assay_layout_find(&l, &tensors[1], a, b, &s, values));
    layers[2].op = ASSAY_OP_UNARY; /* it computes the same */
    values[2] = NULL;
    assert_true(assay_layout_find(&l, &tensors[1], a, b, &s, values));
    assert_int_equal(l.n[0], 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_outputs),
        cmocka_unit_test(outputs_of_two_values),
        cmocka_unit_test(outputs_that_are_moved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
