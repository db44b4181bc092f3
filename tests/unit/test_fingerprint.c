/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fingerprints of place and limit: each is told of what was made with it, and
 * of nothing else. Values: test_fingerprint_value.c; channels and inputs:
 * test_fingerprint_layer.c.
 *
 * links: host-tools/cause/fingerprint.c host-tools/cause/fingerprint_place.c
 * links: host-tools/cause/fingerprint_limit.c
 * links: host-tools/cause/fingerprint_value.c
 * links: host-tools/cause/fingerprint_channel.c
 * links: host-tools/cause/fingerprint_constants.c
 * links: host-tools/cause/fingerprint_ratio.c
 * links: host-tools/cause/fingerprint_input.c
 * links: host-tools/cause/fingerprint_text.c
 * links: host-tools/diff/tensor.c host-tools/diff/column.c
 * links: lib/core/slice.c lib/core/buf.c lib/core/err.c
 * libs: -lm
 */
#include "tests/unit/fingerprint_tensors.h"

#include "host-tools/diff/diff.h"

static const enum assay_dtype types[] = {ASSAY_S8, ASSAY_U8, ASSAY_S16,
                                         ASSAY_S32, ASSAY_F32};
#define TYPES (sizeof(types) / sizeof(types[0]))

/* ---- places -------------------------------------------------------------- */

static void edge_rings(void **state)
{
    (void)state;
    for (unsigned k = 0; k < TYPES; k++) {
        struct assay_tensor t = shape(types[k], "NHWC", 4, 2, 9, 11, 3);
        const struct assay_fingerprint *f;

        fill(&t);
        for (size_t i = 0; i < count(&t); i++) {
            size_t y = i / 33 % 9, x = i / 3 % 11;

            if (y == 0 || x == 0 || y == 8 || x == 10)
                add(&t, i, 1 + (double)(rnd() % 5));
        }
        ask_tensor(&t);
        f = one(&t, ASSAY_FP_EDGE_RING);
        assert_non_null(f);
        assert_int_equal(f->n[0], 1);
        assert_int_equal(f->n[1], 15);
        assert_string_equal(text, "edge ring, 1 wide");
        memcpy(got, base, sizeof(got));
        for (size_t i = 0; i < count(&t); i++)
            if (i / 33 % 9 >= 7)
                add(&t, i, 1 + (double)(rnd() % 5));
        ask_tensor(&t);
        f = one(&t, ASSAY_FP_EDGE_RING);
        assert_non_null(f);
        assert_int_equal(f->n[0], 2);
        assert_int_equal(f->n[1], ASSAY_EDGE_BOTTOM);
        assert_string_equal(text, "edge ring, 2 wide, at the bottom");
        /* One in the middle, one at the other end. */
        add(&t, 4 * 33 + 16, 3);
        add(&t, 16, 3);
        ask_tensor(&t);
        assert_null(one(&t, ASSAY_FP_EDGE_RING));
    }
}

/* Two elements that lie at an edge lie there by chance. */
static void edge_by_chance(void **state)
{
    struct assay_tensor t = shape(ASSAY_S8, "NHWC", 4, 1, 6, 6, 2);

    (void)state;
    fill(&t);
    add(&t, 0, 2);
    add(&t, 5, -3);
    ask_tensor(&t);
    assert_int_equal(n_found, 0);
}

/* What lies together anywhere in the image is no ring at an edge that it does
 * not reach. */
static void clusters(void **state)
{
    struct assay_tensor t = shape(ASSAY_S8, "NHWC", 4, 1, 30, 40, 5);

    (void)state;
    for (int64_t top = 1; top < 28; top++)
        for (int64_t left = 1; left < 38; left += 3) {
            fill(&t);
            for (int64_t k = 0; k < 2 * 2 * 5; k++) {
                int64_t at = (top + k / 10) * 40 + left + k / 5 % 2;

                add(&t, (size_t)(at * 5 + k % 5), k % 3 == 0 ? -3 - k : 2 + k);
            }
            ask_tensor(&t);
            assert_int_equal(n_found, 0);
        }
}

static void tails(void **state)
{
    static const struct {
        int c, from, of;
    } cases[] = {{33, 32, 4}, {66, 64, 4}, {13, 12, 4}, {15, 12, 4},
                 {12, 8, 8},  {6, 4, 4},   {20, 16, 8}, {24, 16, 16}};

    (void)state;
    for (unsigned k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct assay_tensor t =
            shape(types[k % TYPES], "NHWC", 4, 2, 5, 5, cases[k].c);
        const struct assay_fingerprint *f;

        fill(&t);
        for (size_t i = 0; i < count(&t); i++)
            if ((int)(i % (size_t)cases[k].c) >= cases[k].from)
                add(&t, i, 1 + (double)(rnd() % 3));
        ask_tensor(&t);
        f = one(&t, ASSAY_FP_TAIL_CHANNELS);
        assert_non_null(f);
        assert_int_equal(f->n[0], cases[k].from);
        assert_int_equal(f->n[1], cases[k].of);
        assert_int_equal(f->matched, f->differing);
        if (cases[k].c == 66)
            assert_string_equal(text, "only channels 64..65 (tail of 4)");
        if (cases[k].c == 33)
            assert_string_equal(text, "only channel 32 (tail of 4)");
        add(&t, 1, 1);
        ask_tensor(&t);
        assert_null(one(&t, ASSAY_FP_TAIL_CHANNELS));
    }
}

/* Channels that are no last axis, and no channels to have a tail. */
static void tails_by_label(void **state)
{
    struct assay_tensor t = shape(ASSAY_S8, "NCHW", 4, 1, 9, 4, 5);
    struct assay_tensor none = shape(ASSAY_S8, "NHWC", 4, 1, 8, 8, 1);
    const struct assay_fingerprint *f;

    (void)state;
    fill(&t);
    for (size_t i = 160; i < 180; i++)
        add(&t, i, 1);
    ask_tensor(&t);
    f = one(&t, ASSAY_FP_TAIL_CHANNELS);
    assert_non_null(f);
    assert_int_equal(f->n[0], 8);
    fill(&none);
    for (size_t i = 20; i < 60; i++)
        add(&none, i, 1 + (double)(rnd() % 3));
    ask_tensor(&none);
    assert_null(one(&none, ASSAY_FP_TAIL_CHANNELS));
    assert_null(one(&none, ASSAY_FP_EVERY_NTH));
}

static void every_nth(void **state)
{
    static const size_t of[] = {2, 3, 4, 8, 16};

    (void)state;
    for (unsigned k = 0; k < 5; k++) {
        struct assay_tensor t = shape(types[k], "NHWC", 4, 1, 4, 4, 66);
        size_t from = of[k] - 1;
        const struct assay_fingerprint *f;

        fill(&t);
        for (size_t i = 0; i < count(&t); i++)
            if (i % 66 % of[k] == from)
                add(&t, i, 1 + (double)(rnd() % 3));
        ask_tensor(&t);
        f = one(&t, ASSAY_FP_EVERY_NTH);
        assert_non_null(f);
        assert_int_equal(f->n[0], of[k]);
        assert_int_equal(f->n[1], from);
        add(&t, from + 1, 1);
        ask_tensor(&t);
        assert_null(one(&t, ASSAY_FP_EVERY_NTH));
    }
}

/* Any three channels have something in common. */
static void few_channels(void **state)
{
    struct assay_tensor t = shape(ASSAY_S8, "NHWC", 4, 1, 4, 4, 66);

    (void)state;
    fill(&t);
    for (size_t i = 0; i < count(&t); i++)
        if (i % 66 == 4 || i % 66 == 10 || i % 66 == 40)
            add(&t, i, 1 + (double)(rnd() % 3));
    ask_tensor(&t);
    assert_null(one(&t, ASSAY_FP_EVERY_NTH));
}

static void concat_blocks(void **state)
{
    struct assay_tensor tensors[4] = {shape(ASSAY_S8, "NHWC", 4, 1, 3, 5, 7),
                                      shape(ASSAY_S8, "NHWC", 4, 1, 3, 5, 4),
                                      shape(ASSAY_S8, "NHWC", 4, 1, 3, 5, 2),
                                      shape(ASSAY_S8, "NHWC", 4, 1, 3, 5, 13)};
    uint32_t inputs[] = {0, 1, 2};
    struct assay_layer l = {.op = ASSAY_OP_CONCAT,
                            .n_inputs = 3,
                            .inputs = inputs,
                            .output = 3,
                            .p.concat.axis = 3};
    struct assay_slice s = {
        .n_tensors = 4, .tensors = tensors, .n_layers = 1, .layers = &l};
    const struct assay_fingerprint_view v = {
        .t = &tensors[3], .layer = &l, .slice = &s, .base = base, .got = got};
    const struct assay_fingerprint *f;

    (void)state;
    fill(v.t);
    for (size_t i = 0; i < count(v.t); i++)
        if (i % 13 >= 7 && i % 13 < 11)
            add(v.t, i, 1 + (double)(rnd() % 4));
    ask(&v);
    f = one(v.t, ASSAY_FP_CONCAT_BLOCK);
    assert_non_null(f);
    assert_int_equal(f->n[0], 7);
    assert_int_equal(f->n[1], 10);
    add(v.t, 12, 1);
    ask(&v);
    assert_null(one(v.t, ASSAY_FP_CONCAT_BLOCK));
    l.op = ASSAY_OP_UNARY;
    ask(&v);
    assert_null(one(v.t, ASSAY_FP_CONCAT_BLOCK));
}

/* ---- limits -------------------------------------------------------------- */

static void clamp_limits(void **state)
{
    struct assay_tensor t = shape(ASSAY_S8, "NHWC", 4, 1, 5, 5, 8);
    int64_t lo = -40, hi = 40;
    struct assay_layer l = {
        .op = ASSAY_OP_UNARY,
        .out_program = {
            1, {{.kind = ASSAY_STEP_CLAMP, .n = 1, .a = &lo, .b = &hi}}}};
    const struct assay_fingerprint_view v = {
        .t = &t, .layer = &l, .base = base, .got = got};
    const struct assay_fingerprint *f;

    (void)state;
    fill(&t);
    for (size_t i = 0; i < 200; i++) {
        double b = get(&t, base, i);

        b = b < -40 ? -40 : b > 40 ? 40 : b;
        set(&t, base, i, b);
        set(&t, got, i, b == 40 ? 50 + (double)(rnd() % 20) : b);
    }
    ask(&v);
    f = one(&t, ASSAY_FP_CLAMP_LIMITS);
    assert_non_null(f);
    assert_int_equal(f->n[0], 1);
    assert_string_equal(text, "only at the upper limit");
    for (size_t i = 0; i < 200; i++)
        if (get(&t, base, i) == -40)
            set(&t, got, i, -41);
    ask(&v);
    f = one(&t, ASSAY_FP_CLAMP_LIMITS);
    assert_non_null(f);
    assert_int_equal(f->n[0], 0);
    for (size_t i = 0; i < 200; i++)
        if (get(&t, base, i) == 0)
            set(&t, got, i, 1);
    ask(&v);
    assert_null(one(&t, ASSAY_FP_CLAMP_LIMITS));
}

/* The program clamps a float, and adds the zero point behind. */
static void limits_of_float_programs(void **state)
{
    struct assay_tensor t = shape(ASSAY_U8, "C", 1, 200);
    int64_t lo, hi, zero = 30;
    float flo = -10.0f, fhi = 20.0f;
    struct assay_layer l = {
        .op = ASSAY_OP_UNARY,
        .out_program = {
            4,
            {{.kind = ASSAY_STEP_TO_F32},
             {.kind = ASSAY_STEP_FCLAMP, .n = 1, .a = &lo, .b = &hi},
             {.kind = ASSAY_STEP_FROUND},
             {.kind = ASSAY_STEP_ADD_ZP, .n = 1, .a = &zero}}}};
    const struct assay_fingerprint_view v = {
        .t = &t, .layer = &l, .base = base, .got = got};

    (void)state;
    lo = hi = 0;
    memcpy(&lo, &flo, 4);
    memcpy(&hi, &fhi, 4);
    for (size_t i = 0; i < 200; i++) {
        set(&t, base, i, i % 10 == 0 ? 20 : 21 + (double)(rnd() % 29));
        set(&t, got, i, i % 10 == 0 ? 5 : get(&t, base, i));
    }
    ask(&v);
    assert_non_null(one(&t, ASSAY_FP_CLAMP_LIMITS));
    assert_string_equal(text, "only at the lower limit");
}

static void saturated(void **state)
{
    struct assay_tensor t = shape(ASSAY_S16, "NHWC", 4, 1, 7, 7, 33);
    const struct assay_fingerprint *f;

    (void)state;
    fill(&t);
    for (size_t i = 0; i < count(&t); i++)
        if (i % 33 == 5 || i % 33 == 17)
            set(&t, got, i, 32767);
    ask_tensor(&t);
    f = one(&t, ASSAY_FP_SATURATED);
    assert_non_null(f);
    assert_int_equal(f->n[0], 2);
    assert_string_equal(text, "2 channels at a limit");
    set(&t, got, 5, 300);
    ask_tensor(&t);
    assert_null(one(&t, ASSAY_FP_SATURATED));
}

static void negative_sums(void **state)
{
    static int64_t acc[300];
    struct assay_tensor t = shape(ASSAY_S8, "NC", 2, 10, 30);
    struct assay_fingerprint_view v = {
        .t = &t, .base = base, .got = got, .acc = acc};

    (void)state;
    fill(&t);
    for (size_t i = 0; i < 300; i++) {
        acc[i] = (int64_t)(rnd() % 20001) - 10000;
        if (acc[i] < 0 && i % 3 == 0)
            add(&t, i, 1);
    }
    ask(&v);
    assert_non_null(one(&t, ASSAY_FP_NEGATIVE_SUM));
    assert_non_null(one(&t, ASSAY_FP_ONE_SIDED));
    v.acc = NULL;
    ask(&v);
    assert_null(one(&t, ASSAY_FP_NEGATIVE_SUM));
    v.acc = acc;
    for (size_t i = 0; i < 300; i++)
        if (acc[i] >= 0) {
            add(&t, i, 1);
            break;
        }
    ask(&v);
    assert_null(one(&t, ASSAY_FP_NEGATIVE_SUM));
}

/* ---- nothing ------------------------------------------------------------- */

static void nothing_to_say(void **state)
{
    struct assay_tensor t = shape(ASSAY_S8, "NHWC", 4, 1, 1, 1, 1);
    struct assay_tensor scalar = shape(ASSAY_F32, "", 0);
    struct assay_tensor c = shape(ASSAY_S8, "NHWC", 4, 1, 6, 6, 5);

    (void)state;
    fill(&t);
    ask_tensor(&t);
    assert_int_equal(n_found, 0);
    add(&t, 0, 5);
    ask_tensor(&t);
    assert_int_equal(n_found, 0);
    fill(&scalar);
    add(&scalar, 0, 1);
    ask_tensor(&scalar);
    assert_int_equal(n_found, 0);
    /* Equal, and one element. */
    fill(&c);
    ask_tensor(&c);
    assert_int_equal(n_found, 0);
    add(&c, 7, 1);
    ask_tensor(&c);
    assert_int_equal(n_found, 0);
    /* Constant tensors that differ by noise. */
    memset(base, 0, sizeof(base));
    memset(got, 0, sizeof(got));
    for (size_t i = 0; i < 180; i += 7)
        set(&c, got, i, (double)(rnd() % 101) - 50);
    ask_tensor(&c);
    assert_int_equal(n_found, 0);
}

/* Noise of any share on tensors of any shape and type names nothing. */
static void random_differences(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 1000; k++) {
        struct assay_tensor t = shape(types[k % TYPES], "", 0);
        uint32_t share, differing = 0;
        struct assay_layer l = {.op = ASSAY_OP_UNARY};
        const struct assay_fingerprint_view v = {
            .t = &t, .layer = &l, .base = base, .got = got};

        seed = k + 1;
        t.rank = 1 + k / 5 % 5;
        for (uint32_t a = 0; a < t.rank; a++)
            t.dims[a] = 1 + rnd() % (t.rank == 1 ? 500 : 9);
        if (t.rank == 4)
            memcpy(t.axes, "NHWC", 5);
        share = 1 + rnd() % 30;
        fill(&t);
        for (size_t i = 0; i < count(&t); i++)
            if (rnd() % share == 0) {
                set(&t, got, i, get(&t, base, rnd() % count(&t)));
                differing++;
            }
        ask(&v);
        if (n_found > 0)
            print_message("seed %u: %s (%u of %zu)\n", k + 1, text, differing,
                          count(&t));
        assert_int_equal(n_found, 0);
    }
}

static void no_room_for_text(void **state)
{
    struct assay_tensor t = shape(ASSAY_S8, "NHWC", 4, 1, 5, 5, 66);
    struct assay_fingerprint f = {.kind = ASSAY_FP_TAIL_CHANNELS, .n = {64, 4}};
    char small[5] = "xxxx";

    (void)state;
    assert_ptr_equal(assay_fingerprint_text(&f, &t, small, 5), small);
    assert_string_equal(small, "only");
    assay_fingerprint_text(&f, &t, small, 0);
    assert_string_equal(small, "only");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edge_rings),
        cmocka_unit_test(edge_by_chance),
        cmocka_unit_test(clusters),
        cmocka_unit_test(tails),
        cmocka_unit_test(tails_by_label),
        cmocka_unit_test(every_nth),
        cmocka_unit_test(few_channels),
        cmocka_unit_test(concat_blocks),
        cmocka_unit_test(clamp_limits),
        cmocka_unit_test(limits_of_float_programs),
        cmocka_unit_test(saturated),
        cmocka_unit_test(negative_sums),
        cmocka_unit_test(nothing_to_say),
        cmocka_unit_test(random_differences),
        cmocka_unit_test(no_room_for_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
