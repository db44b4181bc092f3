/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modes of a run: what is computed, fetched, missing, skipped; the sink.
 *
 * links: lib/core/slice_part.c lib/core/probe.c
 * links: tests/support/slices.c tests/support/runs.c lib/core/slice.c
 * links: lib/core/buf.c lib/core/err.c
 * links: lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * links: lib/core/hash.c
 * libs: -lxxhash -lmbedcrypto
 */
#include "lib/engine/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/runs.h"
#include "tests/support/slices.h"

static const int64_t one = 1, bottom = -128, top = 127;

static uint32_t add_vector(struct assay_slice *s, const char *name)
{
    return slices_tensor(s, name, ASSAY_ROLE_ACTIVATION, ASSAY_S8, 1,
                         (int64_t[]){4});
}

/* y = clamp(x + 1). */
static uint32_t add_increment(struct assay_slice *s, const char *name,
                              uint32_t in, uint32_t out)
{
    uint32_t l = slices_layer(s, name, ASSAY_OP_UNARY, 1, &in, out);
    slices_step(&s->layers[l].out_program, ASSAY_STEP_ADD_ZP, 1, &one, NULL);
    slices_step(&s->layers[l].out_program, ASSAY_STEP_CLAMP, 1, &bottom, &top);
    return l;
}

/* 0 -> 1 -> 2 -> 3, then 4 = sat(3 + 1): layers 0..3. */
static struct assay_slice *chain(void)
{
    struct assay_slice *s = slices_new();
    slices_tensor(s, "in", ASSAY_ROLE_INPUT, ASSAY_S8, 1, (int64_t[]){4});
    add_vector(s, "a");
    add_vector(s, "b");
    add_vector(s, "c");
    add_vector(s, "d");
    add_increment(s, "l0", 0, 1);
    add_increment(s, "l1", 1, 2);
    add_increment(s, "l2", 2, 3);
    uint32_t l =
        slices_layer(s, "l3", ASSAY_OP_BINARY, 2, (uint32_t[]){3, 1}, 4);
    slices_in_programs(s, l, 2);
    s->layers[l].p.binary.combine = ASSAY_COMBINE_ADD;
    slices_step(&s->layers[l].out_program, ASSAY_STEP_SAT, 0, NULL, NULL);
    s->layers[l].out_program.steps[0].bits = 8;
    return s;
}

static const int8_t input[4] = {0, 10, -128, 127};

static void cumulative_computes_all(void **state)
{
    struct assay_slice *s = chain();
    struct runs r;
    (void)state;
    runs_init(&r, s);
    r.given[0] = input;
    r.given[1] = r.given[2] = "xxxx"; /* never asked for */
    assert_int_equal(runs_run(&r), 0);
    assert_string_equal(r.events, "b0t0e0b1t1e1b2t2e2b3t3e3");
    assert_memory_equal(r.out[2], ((int8_t[]){3, 13, -125, 127}), 4);
    assert_memory_equal(r.out[3], ((int8_t[]){4, 24, -128, 127}), 4);
    assert_int_equal(r.fetches[0], 1);
    assert_int_equal(r.fetches[1] + r.fetches[2] + r.fetches[3], 0);
    runs_close(&r);
    assay_slice_free(s);
}

static void isolated_reuses_nothing(void **state)
{
    struct assay_slice *s = chain();
    struct runs r;
    const int8_t a[4] = {50, 50, 50, 50}, b[4] = {60, 60, 60, 60};
    const int8_t c[4] = {70, 70, 70, 70};
    (void)state;
    runs_init(&r, s);
    r.mode = ASSAY_RUN_ISOLATED;
    r.given[0] = input;
    r.given[1] = a;
    r.given[2] = b;
    r.given[3] = c;
    assert_int_equal(runs_run(&r), 0);
    assert_memory_equal(r.out[0], ((int8_t[]){1, 11, -127, 127}), 4);
    assert_memory_equal(r.out[1], ((int8_t[]){51, 51, 51, 51}), 4);
    assert_memory_equal(r.out[2], ((int8_t[]){61, 61, 61, 61}), 4);
    assert_memory_equal(r.out[3], ((int8_t[]){120, 120, 120, 120}), 4);
    runs_close(&r);
    r.given[2] = NULL;
    assert_int_equal(runs_run(&r), 0);
    assert_string_equal(r.events, "b0t0e0b1t1e1m2/2b3t3e3");
    runs_close(&r);
    assay_slice_free(s);
}

static void layers_not_selected_are_fetched(void **state)
{
    struct assay_slice *s = chain();
    struct runs r;
    const bool layers[4] = {true, false, true, true};
    const int8_t b[4] = {20, 20, 20, 20};
    (void)state;
    runs_init(&r, s);
    r.layers = layers;
    r.given[0] = input;
    r.given[1] = "xxxx"; /* computed here, so not asked for */
    r.given[2] = b;
    assert_int_equal(runs_run(&r), 0);
    assert_string_equal(r.events, "b0t0e0b2t2e2b3t3e3");
    assert_memory_equal(r.out[2], ((int8_t[]){21, 21, 21, 21}), 4);
    assert_memory_equal(r.out[3], ((int8_t[]){22, 32, -106, 127}), 4);
    assert_int_equal(r.fetches[1], 0);
    runs_close(&r);
    assay_slice_free(s);
}

static void missing_spreads(void **state)
{
    struct assay_slice *s = chain();
    struct runs r;
    const bool layers[4] = {false, true, true, true};
    (void)state;
    runs_init(&r, s);
    r.given[1] = NULL;
    r.given[2] = "xxxx"; /* layer 1 was to compute it: not asked for */
    r.layers = layers;
    assert_int_equal(runs_run(&r), 0);
    assert_string_equal(r.events, "m1/1m2/2m3/3");
    assert_int_equal(r.fetches[2], 0);
    runs_close(&r);
    assay_slice_free(s);
}

static void skipped_layers_are_fetched(void **state)
{
    struct assay_slice *s = chain();
    struct runs r;
    const int8_t b[4] = {5, 6, 7, 8};
    (void)state;
    s->layers[1].op = ASSAY_OP_SKIPPED;
    s->layers[1].out_program.n_steps = 0;
    runs_init(&r, s);
    r.given[0] = input;
    r.given[2] = b;
    assert_int_equal(runs_run(&r), 0);
    assert_string_equal(r.events, "b0t0e0b2t2e2b3t3e3");
    assert_memory_equal(r.out[2], ((int8_t[]){6, 7, 8, 9}), 4);
    /* Without its reference the readers are passed over, the rest runs. */
    r.given[2] = NULL;
    assert_int_equal(runs_run(&r), 0);
    assert_string_equal(r.events, "b0t0e0m2/2m3/3");
    runs_close(&r);
    assay_slice_free(s);
}

static void sink_can_stop(void **state)
{
    struct assay_slice *s = chain();
    struct runs r;
    (void)state;
    runs_init(&r, s);
    r.given[0] = input;
    r.stop_at = 3;
    assert_int_equal(runs_run(&r), ASSAY_ECANCELLED);
    assert_string_equal(r.events, "b0t0e0b1");
    r.stop_at = 4;
    assert_int_equal(runs_run(&r), ASSAY_ECANCELLED);
    assert_string_equal(r.events, "b0t0e0b1t1");
    r.stop_at = 2;
    assert_int_equal(runs_run(&r), ASSAY_ECANCELLED);
    assert_string_equal(r.events, "b0t0e0");
    runs_close(&r);
    assay_slice_free(s);
}

static void crooked_addresses(void **state)
{
    struct assay_slice *s = slices_new();
    struct runs r;
    _Alignas(8) char bytes[32] = {0};
    int32_t k[2] = {1000, -1000}, x[2] = {1, 2};
    (void)state;
    slices_tensor(s, "in", ASSAY_ROLE_INPUT, ASSAY_S32, 1, (int64_t[]){2});
    slices_tensor(s, "k", ASSAY_ROLE_CONSTANT, ASSAY_S32, 1, (int64_t[]){2});
    slices_tensor(s, "y", ASSAY_ROLE_ACTIVATION, ASSAY_S64, 1, (int64_t[]){2});
    memcpy(bytes + 1, k, sizeof(k)); /* a constant from the wire */
    s->tensors[1].data = bytes + 1;
    s->tensors[1].size = sizeof(k);
    uint32_t l =
        slices_layer(s, "add", ASSAY_OP_BINARY, 2, (uint32_t[]){0, 1}, 2);
    slices_in_programs(s, l, 2);
    s->layers[l].p.binary.combine = ASSAY_COMBINE_ADD;
    runs_init(&r, s);
    r.given[0] = x;
    assert_int_equal(runs_run(&r), 0);
    assert_memory_equal(r.out[0], ((int64_t[]){1001, -998}), 16);
    r.given[0] = bytes + 1; /* a run's tensor must be aligned */
    assert_int_equal(runs_run(&r), ASSAY_EINTERNAL);
    assert_string_equal(r.err.text, "tensor 'in' was handed to layer 'add' at "
                                    "an address that int32 cannot be read "
                                    "from");
    runs_close(&r);
    assay_slice_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cumulative_computes_all),
        cmocka_unit_test(isolated_reuses_nothing),
        cmocka_unit_test(layers_not_selected_are_fetched),
        cmocka_unit_test(missing_spreads),
        cmocka_unit_test(skipped_layers_are_fetched),
        cmocka_unit_test(sink_can_stop),
        cmocka_unit_test(crooked_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
