/* SPDX-License-Identifier: Apache-2.0 */
/*
 * O2 and O4 to O7, O12, O13: coordinates, forms of additions, inputs of
 * concats, bounds of activations, ties and indices.
 *
 * links: tests/support/edits.c tests/support/slices.c lib/core/
 * links: host-tools/cause/catalogue.c host-tools/cause/edit_*.c
 * links: lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * libs: -lmbedcrypto -lxxhash
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/core/arith.h"
#include "tests/support/edits.h"
#include "tests/support/slices.h"

static struct assay_slice *s;

static void refuses(const char *edit, int want)
{
    struct assay_slice *edited;

    assert_int_equal(edits_apply(s, 0, edit, &edited), want);
}

/* Of at most 300 elements of int8, from at most two inputs. */
static void gives(const char *edit, const void *a, const void *b,
                  const int8_t *want, size_t n)
{
    const void *const in[] = {a, b};
    int8_t got[300];

    if (edit)
        edits_give(s, edit, in, 2, got, n);
    else
        edits_run(s, in, 2, got, n);
    for (size_t i = 0; i < n; i++)
        if (got[i] != want[i])
            fail_msg("%s: element %zu: %d, expected %d", edit ? edit : "", i,
                     got[i], want[i]);
}

static struct assay_program *out_program(void)
{
    return &s->layers[0].out_program;
}

static void end(void)
{
    assay_slice_free(s);
}

static int8_t bound(int64_t v, int64_t lo, int64_t hi)
{
    return (int8_t)(v < lo ? lo : v > hi ? hi : v);
}

/* ---- O2 ---------------------------------------------------------------- */

enum { CELLS = 5, WIDE = 9, CHANNELS = 3 };

/* One row of 5 cells made 9, coordinates of 8 bits, weights of 8. */
static void begin_resize(int32_t step, int32_t start)
{
    static const int64_t sixteen = 16;

    s = slices_one(
        ASSAY_OP_RESIZE, 1,
        &(struct slices_operand){ASSAY_S8, 4, {2, 1, CELLS, CHANNELS}, NULL},
        (struct slices_operand){ASSAY_S8, 4, {2, 1, WIDE, CHANNELS}, NULL});
    s->layers[0].p.resize = (struct assay_resize_params){.step_w = step,
                                                         .start_w = start,
                                                         .step_h = 256,
                                                         .decimal_bits = 8,
                                                         .weight_bits = 8};
    slices_shr(out_program(), ASSAY_ROUND_HALF_UP, &sixteen);
}

/* Output i reads position at / 256; `part` is the finest part of a cell. */
static void resized(const int8_t *x, int step, int start, int part,
                    int8_t *want)
{
    for (int i = 0; i < 2 * WIDE * CHANNELS; i++) {
        int n = i / (WIDE * CHANNELS), c = i % CHANNELS;
        int at = i / CHANNELS % WIDE * step + start;
        int cell = (int)floor(at / 256.0);
        double f = floor((at - cell * 256) / (double)part) * part / 256;
        int left = cell < 0 ? 0 : cell > CELLS - 1 ? CELLS - 1 : cell;
        int right = cell + 1 < 0           ? 0
                    : cell + 1 > CELLS - 1 ? CELLS - 1
                                           : cell + 1;
        double a = x[(n * CELLS + left) * CHANNELS + c];
        double b = x[(n * CELLS + right) * CHANNELS + c];

        want[i] = (int8_t)floor(a * (1 - f) + b * f + 0.5);
    }
}

static void o2_reads_at_other_places(void **state)
{
    int8_t x[2 * CELLS * CHANNELS], want[2 * WIDE * CHANNELS];
    /* 5/9, 4/8 and (5/9 - 1) / 2 of 256. */
    const int step = 142, corners = 128, half = -57;

    (void)state;
    edits_random(x, sizeof(x));
    begin_resize(step, 0);
    resized(x, step, 0, 1, want);
    gives(NULL, x, NULL, want, sizeof(want));
    refuses("O2=asymmetric", ASSAY_EDIT_SAME);
    resized(x, step, half, 1, want);
    gives("O2=half_pixel", x, NULL, want, sizeof(want));
    resized(x, corners, 0, 1, want);
    gives("O2=align_corners", x, NULL, want, sizeof(want));
    end();
    begin_resize(139, 3); /* of no form that has a name */
    resized(x, step, 0, 1, want);
    gives("O2=asymmetric", x, NULL, want, sizeof(want));
    resized(x, 139, 3, 2, want);
    gives("O2=fewer_bits", x, NULL, want, sizeof(want));
    end();
    begin_resize(step + 1, 0); /* asymmetric, rounded in another way */
    s->layers[0].p.resize.step_h = 255;
    refuses("O2=asymmetric", ASSAY_EDIT_NOT_HERE);
    s->layers[0].p.resize.weight_bits = 1;
    s->layers[0].out_program.n_steps = 0;
    static const int64_t two = 2;
    slices_shr(out_program(), ASSAY_ROUND_HALF_UP, &two);
    refuses("O2=fewer_bits", ASSAY_EDIT_NOT_HERE);
    end();
}

/* ---- O4, O7: additions ------------------------------------------------- */

static struct assay_slice *addition(int64_t n)
{
    const struct slices_operand t[] = {{ASSAY_S8, 1, {n}, NULL},
                                       {ASSAY_S8, 1, {n}, NULL}};

    return slices_one(ASSAY_OP_BINARY, 2, t, t[0]);
}

static void o4_is_another_form(void **state)
{
    static const char *const names[] = {"tflite_l20", "xnn", "ort_neon",
                                        "ort_sse", "dq_q"};
    enum { N = 256 };
    int8_t a[N], b[N], want[N];
    const void *const in[] = {a, b};

    (void)state;
    edits_random(a, N);
    edits_random(b, N);
    s = addition(N);
    slices_quant(s, 0, 0.031f, 4);
    slices_quant(s, 1, 0.057f, -3);
    slices_quant(s, 2, 0.07f, 5);
    s->layers[0].real_op = ASSAY_REAL_ADD;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char edit[32];

        assert_int_equal(assay_arith_apply(s, 0, names[i], NULL), 0);
        edits_run(s, in, 2, want, N);
        assert_int_equal(assay_arith_apply(s, 0, "ort_fma", NULL), 0);
        snprintf(edit, sizeof(edit), "O4=%s", names[i]);
        gives(edit, a, b, want, N);
    }
    refuses("O4=ort_fma", ASSAY_EDIT_SAME);
    slices_quant(s, 2, 0.000001f, 5); /* xnn has no such ratio */
    refuses("O4=xnn", ASSAY_EDIT_NOT_HERE);
    s->layers[0].real_op = ASSAY_REAL_NONE;
    refuses("O4=ort_neon", ASSAY_EDIT_NOT_HERE);
    end();
}

static const int64_t ZERO = 0, ONE = 1, TWO = 2, THREE = 3, FIVE = 5,
                     MINUS = -2, TOP = 127, BOTTOM = -128, HALF = 64;

static void o7_bounds_the_operands(void **state)
{
    const int8_t a[] = {-100, -6, 3, 20, 100, 4, -5, -128};
    const int8_t b[] = {50, 9, -70, 7, 100, -128, 2, -128};
    int8_t plain[8], want[8], first[8], second[8];

    (void)state;
    s = addition(8);
    slices_in_programs(s, 0, 2);
    slices_quant(s, 0, 1, -5);
    slices_quant(s, 1, 1, 2);
    slices_quant(s, 2, 1, 1);
    s->layers[0].p.binary.combine = ASSAY_COMBINE_ADD;
    slices_step(&s->layers[0].in_programs[0], ASSAY_STEP_ADD, 1, &FIVE, NULL);
    slices_step(&s->layers[0].in_programs[1], ASSAY_STEP_ADD, 1, &MINUS, NULL);
    slices_step(out_program(), ASSAY_STEP_ADD_ZP, 1, &ONE, NULL);
    slices_step(out_program(), ASSAY_STEP_CLAMP, 1, &ONE, &TOP);
    for (int i = 0; i < 8; i++) {
        int u = a[i] + 5, v = b[i] - 2;

        plain[i] = bound(u + v + 1, 1, 127);
        want[i] = bound((u > 0 ? u : 0) + (v > 0 ? v : 0) + 1, -128, 127);
        first[i] = bound((u > 0 ? u : 0) + v + 1, -128, 127);
        second[i] = bound(u + (v > 0 ? v : 0) + 1, -128, 127);
    }
    gives(NULL, a, b, plain, 8);
    gives("O7=both", a, b, want, 8);
    gives("O7=first", a, b, first, 8);
    gives("O7=second", a, b, second, 8);
    slices_quant(s, 2, 1, 0); /* there is no ReLU then */
    refuses("O7=both", ASSAY_EDIT_NOT_HERE);
    slices_quant(s, 2, 1, 1);
    s->layers[0].p.binary.combine = ASSAY_COMBINE_MAX;
    refuses("O7=both", ASSAY_EDIT_NOT_HERE);
    end();
}

/* The same of real numbers: ort_plain, with -128 as the zero point. */
static void o7_of_real_numbers(void **state)
{
    const int8_t a[] = {-28, 0, 100, 50}, b[] = {40, -90, -100, 60};
    /* Zero points 10 and -20, scales 1 and 2, output 1: a - 10 and 2b + 40. */
    const int8_t plain[] = {-46, -128, -128, 72};
    const int8_t want[] = {-8, -128, -38, 72};

    (void)state;
    s = addition(4);
    slices_quant(s, 0, 1, 10);
    slices_quant(s, 1, 2, -20);
    slices_quant(s, 2, 1, -128);
    s->layers[0].real_op = ASSAY_REAL_ADD;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            assay_arith_apply(s, 0, i ? "ort_fma" : "ort_plain", NULL), 0);
        gives(NULL, a, b, plain, 4);
        gives("O7=both", a, b, want, 4);
    }
    end();
}

/* A convolution of 1 x 1 that adds a second input, and then its ReLU. */
static void o7_of_a_fused_addition(void **state)
{
    static const int8_t w[] = {1};
    const struct slices_operand t[] = {{ASSAY_S8, 4, {1, 1, 4, 1}, NULL},
                                       {ASSAY_S8, 4, {1, 1, 1, 1}, w},
                                       {ASSAY_S8, 4, {1, 1, 4, 1}, NULL}};
    const int8_t x[] = {-9, 8, -7, 6}, e[] = {4, -20, -3, 5};
    const int8_t plain[] = {0, 0, 0, 11}, first[] = {4, -12, -3, 11};
    const int8_t second[] = {-5, 8, -7, 11}, both[] = {4, 8, 0, 11};
    const void *const in[] = {x, NULL, e};
    int8_t y[4];

    (void)state;
    s = slices_one(ASSAY_OP_CONV2D, 3, t, t[0]);
    s->layers[0].p.conv2d = (struct assay_conv2d_params){.stride_h = 1,
                                                         .stride_w = 1,
                                                         .dilation_h = 1,
                                                         .dilation_w = 1,
                                                         .groups = 1,
                                                         .has_second = true};
    slices_step(out_program(), ASSAY_STEP_ADD_INPUT, 1, &ZERO, &ONE);
    slices_step(out_program(), ASSAY_STEP_CLAMP, 1, &ZERO, &TOP);
    edits_run(s, in, 3, y, 4);
    assert_memory_equal(y, plain, 4);
    edits_give(s, "O7=first", in, 3, y, 4);
    assert_memory_equal(y, first, 4);
    edits_give(s, "O7=second", in, 3, y, 4);
    assert_memory_equal(y, second, 4);
    edits_give(s, "O7=both", in, 3, y, 4);
    assert_memory_equal(y, both, 4);
    refuses("P4", ASSAY_EDIT_NOT_HERE);
    end();
}

/* ---- O5 ---------------------------------------------------------------- */

static void o5_copies_an_input(void **state)
{
    const struct slices_operand t[] = {{ASSAY_S8, 2, {2, 1}, NULL},
                                       {ASSAY_S8, 2, {2, 2}, NULL}};
    const int8_t a[] = {5, -100}, b[] = {1, 2, 3, 70};
    const int8_t first[] = {5, 3, 6, -100, 9, 127};
    const int8_t second[] = {10, 1, 2, -128, 3, 70};
    const int8_t both[] = {5, 1, 2, -100, 3, 70};
    struct assay_program *p;

    (void)state;
    s = slices_one(ASSAY_OP_CONCAT, 2, t,
                   (struct slices_operand){ASSAY_S8, 2, {2, 3}, NULL});
    s->layers[0].p.concat.axis = 1;
    refuses("O5=all", ASSAY_EDIT_SAME);
    slices_in_programs(s, 0, 2);
    p = s->layers[0].in_programs;
    refuses("O5=0", ASSAY_EDIT_SAME);
    slices_step(&p[0], ASSAY_STEP_MUL, 1, &TWO, NULL);
    slices_bits(&p[0], ASSAY_STEP_SAT, 8);
    slices_step(&p[1], ASSAY_STEP_MUL, 1, &THREE, NULL);
    slices_bits(&p[1], ASSAY_STEP_SAT, 8);
    gives("O5=0", a, b, first, 6);
    gives("O5=1", a, b, second, 6);
    gives("O5=all", a, b, both, 6);
    refuses("O5=2", ASSAY_EDIT_NOT_HERE);
    s->tensors[0].dtype = ASSAY_U8; /* not of the output's type */
    refuses("O5=0", ASSAY_EDIT_NOT_HERE);
    gives("O5=all", a, b, (int8_t[]){10, 1, 2, 127, 3, 70}, 6);
    end();
}

/* ---- O6 ---------------------------------------------------------------- */

static void every_byte(int8_t x[256])
{
    for (int i = 0; i < 256; i++)
        x[i] = (int8_t)(i - 128);
}

static void begin_unary(enum assay_dtype y, float scale, int32_t zero)
{
    s = slices_one(ASSAY_OP_UNARY, 1,
                   &(struct slices_operand){ASSAY_S8, 1, {256}, NULL},
                   (struct slices_operand){y, 1, {256}, NULL});
    slices_quant(s, 1, scale, zero);
}

static void o6_of_integers(void **state)
{
    int8_t x[256], want[256];

    (void)state;
    every_byte(x);
    begin_unary(ASSAY_S8, 0.25f, 5); /* six is 24 above 5 */
    slices_step(out_program(), ASSAY_STEP_MUL, 1, &TWO, NULL);
    slices_step(out_program(), ASSAY_STEP_ADD_ZP, 1, &FIVE, NULL);
    slices_step(out_program(), ASSAY_STEP_CLAMP, 1, &MINUS, &HALF);
    for (int i = 0; i < 256; i++)
        want[i] = bound(2 * x[i] + 5, -2, 64);
    gives(NULL, x, NULL, want, 256);
    for (int i = 0; i < 256; i++)
        want[i] = bound(2 * x[i] + 5, -128, 127);
    gives("O6=none", x, NULL, want, 256);
    for (int i = 0; i < 256; i++)
        want[i] = bound(2 * x[i] + 5, 5, 64);
    gives("O6=relu", x, NULL, want, 256);
    for (int i = 0; i < 256; i++)
        want[i] = bound(2 * x[i] + 5, 5, 29);
    gives("O6=relu6", x, NULL, want, 256);
    out_program()->steps[2].a = &FIVE;
    refuses("O6=relu", ASSAY_EDIT_SAME);
    out_program()->steps[2].a = &BOTTOM;
    out_program()->steps[2].b = &TOP;
    refuses("O6=none", ASSAY_EDIT_SAME);
    s->layers[0].out_program.n_steps = 2; /* as wide as it is long */
    s->tensors[1].dtype = ASSAY_S16;
    refuses("O6=none", ASSAY_EDIT_NOT_HERE);
    end();
}

/* dequantize (x + 3) / 8, clip to 0..6, quantize by 1/16 and -60. */
static void o6_of_real_numbers(void **state)
{
    int64_t eighth = slices_f32(0.125f), zero = 0, six = slices_f32(6);
    int64_t scale = slices_f32(0.0625f), lo = slices_f32(-68),
            hi = slices_f32(187), zp = -60;
    struct assay_program *p;
    int8_t x[256], want[256];

    (void)state;
    every_byte(x);
    begin_unary(ASSAY_S8, 0.0625f, -60);
    p = out_program();
    slices_step(p, ASSAY_STEP_ADD, 1, &THREE, NULL);
    slices_step(p, ASSAY_STEP_TO_F32, 0, NULL, NULL);
    slices_step(p, ASSAY_STEP_FMUL, 1, &eighth, NULL);
    slices_step(p, ASSAY_STEP_FCLAMP, 1, &zero, &six);
    slices_step(p, ASSAY_STEP_FDIV, 1, &scale, NULL);
    slices_step(p, ASSAY_STEP_FCLAMP, 1, &lo, &hi);
    slices_step(p, ASSAY_STEP_FROUND, 0, NULL, NULL);
    p->steps[6].round = ASSAY_ROUND_HALF_EVEN;
    slices_step(p, ASSAY_STEP_ADD_ZP, 1, &zp, NULL);
    for (int i = 0; i < 256; i++)
        want[i] = (int8_t)(bound(2 * (x[i] + 3), 0, 96) - 60);
    gives(NULL, x, NULL, want, 256);
    for (int i = 0; i < 256; i++)
        want[i] = bound(2 * (x[i] + 3) - 60, -128, 127);
    gives("O6=none", x, NULL, want, 256);
    /* The clip is in real numbers: it is not known to be the same. */
    for (int i = 0; i < 256; i++)
        want[i] = (int8_t)(bound(2 * (x[i] + 3), 0, 96) - 60);
    gives("O6=relu6", x, NULL, want, 256);
    /* A convolution's own clamp, at its zero point: a fused ReLU. */
    p->n_steps = 0;
    slices_step(p, ASSAY_STEP_TO_F32, 0, NULL, NULL);
    slices_step(p, ASSAY_STEP_FCLAMP, 1, &zero, &hi);
    slices_step(p, ASSAY_STEP_FROUND, 0, NULL, NULL);
    slices_step(p, ASSAY_STEP_ADD_ZP, 1, &zp, NULL);
    refuses("O6=relu", ASSAY_EDIT_SAME);
    for (int i = 0; i < 256; i++)
        want[i] = bound(x[i] - 60, -128, 127);
    gives("O6=none", x, NULL, want, 256);
    end();
}

static void o6_of_layers_without_bounds(void **state)
{
    const struct slices_operand t = {ASSAY_S8, 1, {256}, NULL};

    (void)state;
    s = slices_one(ASSAY_OP_CONCAT, 1, &t, t);
    refuses("O6=none", ASSAY_EDIT_NOT_HERE);
    refuses("O6=relu", ASSAY_EDIT_NOT_HERE);
    refuses("O7=both", ASSAY_EDIT_NOT_HERE);
    refuses("O2=half_pixel", ASSAY_EDIT_NOT_HERE);
    refuses("O4=xnn", ASSAY_EDIT_NOT_HERE);
    refuses("O12", ASSAY_EDIT_NOT_HERE);
    refuses("O13", ASSAY_EDIT_NOT_HERE);
    end();
}

/* ---- O12, O13: places -------------------------------------------------- */

static void begin_arg_max(int axis)
{
    struct slices_operand y = {ASSAY_S32, 3, {2, 33, 3}, NULL};

    y.dims[axis] = 1;
    s = slices_one(ASSAY_OP_REDUCE, 1,
                   &(struct slices_operand){ASSAY_S8, 3, {2, 33, 3}, NULL}, y);
    s->layers[0].p.reduce.kind = ASSAY_REDUCE_ARG_MAX;
    s->layers[0].p.reduce.axes = (uint16_t)(1 << axis);
}

static void places_of_the_maximum(void **state)
{
    const int dims[] = {2, 33, 3}, strides[] = {99, 3, 1};
    int8_t x[198];
    const void *const in[] = {x};

    (void)state;
    for (int i = 0; i < 198; i++)
        x[i] = (int8_t)edits_between(-1, 1);
    for (int axis = 0; axis < 3; axis++) {
        int32_t y[198], first[198], last[198];
        int n = 0;

        for (int i = 0; i < 198; i++) {
            int8_t best = -128;

            if (i / strides[axis] % dims[axis] != 0)
                continue; /* not the first of its line */
            for (int k = 0; k < dims[axis]; k++) {
                int8_t v = x[i + k * strides[axis]];

                if (v > best)
                    first[n] = k;
                if (v >= best) {
                    best = v;
                    last[n] = k;
                }
            }
            n++;
        }
        begin_arg_max(axis);
        edits_run(s, in, 1, y, (size_t)n * 4);
        assert_memory_equal(y, first, (size_t)n * 4);
        edits_give(s, "O12", in, 1, y, (size_t)n * 4);
        assert_memory_equal(y, last, (size_t)n * 4);
        edits_give(s, "O13", in, 1, y, (size_t)n * 4);
        for (int i = 0; i < n; i++)
            assert_int_equal(y[i], first[i] + 1);
        s->layers[0].p.reduce.kind = ASSAY_REDUCE_MAX;
        refuses("O12", ASSAY_EDIT_NOT_HERE);
        end();
    }
    begin_arg_max(0);
    s->tensors[0].dims[0] = 1;
    refuses("O12", ASSAY_EDIT_SAME);
    end();
}

static void o13_gathers_the_next(void **state)
{
    static const int64_t wide[] = {0, -1, 2, -3};
    static const int32_t narrow[] = {0, -1, 2, -3};
    const int8_t x[] = {10, 11, 20, 21, 30, 31};
    const int8_t want[] = {20, 21, 10, 11, 10, 11, 20, 21};

    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct slices_operand t[] = {
            {ASSAY_S8, 2, {3, 2}, NULL},
            {i ? ASSAY_S32 : ASSAY_S64,
             1,
             {4},
             i ? (const void *)narrow : (const void *)wide}};

        s = slices_one(ASSAY_OP_GATHER, 2, t,
                       (struct slices_operand){ASSAY_S8, 2, {4, 2}, NULL});
        gives("O13", x, NULL, want, 8);
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(o2_reads_at_other_places),
        cmocka_unit_test(o4_is_another_form),
        cmocka_unit_test(o7_bounds_the_operands),
        cmocka_unit_test(o7_of_real_numbers),
        cmocka_unit_test(o7_of_a_fused_addition),
        cmocka_unit_test(o5_copies_an_input),
        cmocka_unit_test(o6_of_integers),
        cmocka_unit_test(o6_of_real_numbers),
        cmocka_unit_test(o6_of_layers_without_bounds),
        cmocka_unit_test(places_of_the_maximum),
        cmocka_unit_test(o13_gathers_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
