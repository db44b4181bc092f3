/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables, reductions, samplings, prelu, and the greater and smaller of two,
 * through plan and run; every expected value is worked out by hand.
 *
 * links: lib/core/slice_part.c lib/core/probe.c
 * links: tests/support/slices.c tests/support/runs.c lib/core/slice.c
 * links: lib/core/buf.c lib/core/err.c
 * links: lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * links: lib/core/hash.c
 * libs: -lxxhash -lmbedcrypto
 */
#include "lib/engine/run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/cpu.h"
#include "tests/support/runs.h"
#include "tests/support/slices.h"

static void gives(struct assay_slice *s, const void *x, const void *b,
                  const void *want, size_t bytes)
{
    const uint32_t flags[] = {0, assay_cpu_probe()};
    for (int i = 0; i < 2; i++) {
        struct runs r;
        runs_init(&r, s);
        r.flags = flags[i];
        r.given[0] = x;
        r.given[1] = b;
        int rc = runs_run(&r);
        assert_string_equal(r.err.text, "");
        assert_int_equal(rc, 0);
        assert_non_null(r.out[0]);
        assert_memory_equal(r.out[0], want, bytes);
        runs_close(&r);
    }
    assay_slice_free(s);
}

static const int64_t ONE = 1, TWO = 2, THREE = 3, FIVE = 5, SEVEN = 7,
                     EIGHT = 8, SIXTEEN = 16, FOUR = 4;

/* ---- prelu --------------------------------------------------------------------- */

static struct assay_slice *prelu(enum assay_dtype x, enum assay_dtype y,
                                 int64_t n)
{
    struct assay_slice *s =
        slices_one(ASSAY_OP_PRELU, 1, &(struct slices_operand){x, 1, {n}, NULL},
                   (struct slices_operand){y, 1, {n}, NULL});
    slices_in_programs(s, 0, 2);
    return s;
}

/* x >= 0: half_up(3x / 2); below: half_up(floor(5x / 4) * 7 / 8); int8. */
static void prelu_of_integers(void **state)
{
    const int8_t x[] = {-128, -100, -7, -1, 0, 1, 7, 127};
    const int8_t want[] = {-128, -109, -8, -2, 0, 2, 11, 127};
    (void)state;
    struct assay_slice *s = prelu(ASSAY_S8, ASSAY_S8, 8);
    struct assay_program *p = s->layers[0].in_programs;
    slices_step(&p[0], ASSAY_STEP_MUL, 1, &THREE, NULL);
    slices_shr(&p[0], ASSAY_ROUND_HALF_UP, &ONE);
    slices_bits(&p[0], ASSAY_STEP_SAT, 8);
    slices_step(&p[1], ASSAY_STEP_MUL, 1, &FIVE, NULL);
    slices_shr(&p[1], ASSAY_ROUND_FLOOR, &TWO);
    slices_step(&p[1], ASSAY_STEP_MUL, 1, &SEVEN, NULL);
    slices_shr(&p[1], ASSAY_ROUND_HALF_UP, &THREE);
    slices_bits(&p[1], ASSAY_STEP_SAT, 8);
    gives(s, x, NULL, want, sizeof(want));
}

/* Unsigned values are never below 0; wider ones keep their width. */
static void prelu_of_other_widths(void **state)
{
    const uint8_t u[] = {0, 128, 255};
    const int16_t u_want[] = {0, 128, 255};
    const int16_t w[] = {-32768, -1, 5};
    const int32_t w_want[] = {-98304, -3, 5};
    (void)state;
    struct assay_slice *s = prelu(ASSAY_U8, ASSAY_S16, 3);
    slices_step(&s->layers[0].in_programs[1], ASSAY_STEP_MUL, 1, &THREE, NULL);
    gives(s, u, NULL, u_want, sizeof(u_want));
    s = prelu(ASSAY_S16, ASSAY_S32, 3);
    slices_step(&s->layers[0].in_programs[1], ASSAY_STEP_MUL, 1, &THREE, NULL);
    gives(s, w, NULL, w_want, sizeof(w_want));
}

/* -0 is not below 0; a NaN takes the other branch, whose clamp makes it -1. */
static void prelu_of_floats(void **state)
{
    const float x[] = {-2.0f, -0.0f, NAN, 3.0f, -0.5f};
    const float want[] = {-1.0f, -0.0f, -1.0f, 3.0f, -0.5f};
    const int64_t lo = slices_f32(-1), hi = slices_f32(1);
    (void)state;
    struct assay_slice *s = prelu(ASSAY_F32, ASSAY_F32, 5);
    slices_step(&s->layers[0].in_programs[1], ASSAY_STEP_FCLAMP, 1, &lo, &hi);
    gives(s, x, NULL, want, sizeof(want));
}

/* ---- tables ---------------------------------------------------------------------- */

static void table_of_256(void **state)
{
    int16_t table[256];
    const int8_t x[] = {-128, -1, 0, 127, -127};
    const uint8_t u[] = {0, 127, 128, 255, 1};
    const int16_t want[] = {0, 12700, 12800, 25500, 100};
    (void)state;
    for (int i = 0; i < 256; i++)
        table[i] = (int16_t)(100 * i);
    for (int i = 0; i < 2; i++) {
        struct slices_operand in[2] = {{i ? ASSAY_U8 : ASSAY_S8, 1, {5}, NULL},
                                       {ASSAY_S16, 1, {256}, table}};
        gives(slices_one(ASSAY_OP_TABLE, 2, in,
                         (struct slices_operand){ASSAY_S16, 1, {5}, NULL}),
              i ? (const void *)u : (const void *)x, NULL, want, sizeof(want));
    }
}

/* bound, scale, bias, left shift, right shift */
static const int32_t SEGMENTS[8][5] = {
    {-100, 2, -3, 1, 2},    /* half_up((2v - 6) / 4) */
    {-50, 256, 100, 8, 0},  /* entry v + 100 */
    {0, 128, 50, 7, 0},     /* entry (v + 50) / 2 */
    {50, 16384, 0, 0, 0},   /* behind the last entry */
    {100, -256, 0, 31, 0},  /* in front of the first */
    {200, 1, 0, 0, 1},      /* half_up(v / 2) / 256 */
    {300, 256, 0, 0, 0},    /* behind the last */
    {300, 1000000, 0, 0, 0} /* saturates; its bound is not looked at */
};

static struct assay_slice *segments(enum assay_symmetry symmetry, int64_t n)
{
    static int16_t table[6][64];
    for (int i = 0; i < 64; i++) {
        table[0][i] = (int16_t)(10 * i);
        table[1][i] = (int16_t)(-100 * i);
        table[2][i] = (int16_t)(i * i);
        table[3][i] = 1234;
        table[4][i] = (int16_t)(1000 + 1000 * (i > 0));
        table[5][i] = -32768;
    }
    const struct slices_operand in[3] = {{ASSAY_S16, 1, {n}, NULL},
                                         {ASSAY_S16, 1, {384}, table},
                                         {ASSAY_S32, 2, {8, 5}, SEGMENTS}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_SEGMENT_TABLE, 3, in,
                   (struct slices_operand){ASSAY_S16, 1, {n}, NULL});
    s->layers[0].p.segment =
        (struct assay_segment_params){.symmetry = (uint8_t)symmetry,
                                      .round = ASSAY_ROUND_HALF_UP,
                                      .mix_round = ASSAY_ROUND_HALF_UP};
    return s;
}

/* 101: half_up(50.5) = 51; (1000 * 205 + 2000 * 51) / 256 = 1199.2 */
static void eight_segments(void **state)
{
    const int16_t x[] = {-32768, -100, -60, -49, -48, 0, 1, 51, 101, 250, 301};
    const int16_t want[] = {-16385, -51,  400,  -50,    -100, -2500,
                            3969,   1234, 1199, -32768, 32767};
    (void)state;
    gives(segments(ASSAY_SYMMETRY_NONE, 11), x, NULL, want, sizeof(want));
}

static void segments_are_mirrored(void **state)
{
    const int16_t x[] = {-250, -51, -32768, 51};
    const int16_t origin[] = {32767, -1234, -32767, 1234};
    const int16_t y_axis[] = {-32768, 1234, 32767, 1234};
    (void)state;
    gives(segments(ASSAY_SYMMETRY_ORIGIN, 4), x, NULL, origin, sizeof(origin));
    gives(segments(ASSAY_SYMMETRY_Y, 4), x, NULL, y_axis, sizeof(y_axis));
}

/* ---- reductions -------------------------------------------------------------------- */

static const int8_t CUBE[] = {1, -2, 3, 4, 5, -6, 7, 8, -9, 10, 11, -12};

static struct assay_slice *reduce(enum assay_reduce_kind kind, uint16_t axes,
                                  struct slices_operand x,
                                  struct slices_operand y)
{
    struct assay_slice *s = slices_one(ASSAY_OP_REDUCE, 1, &x, y);
    s->layers[0].p.reduce =
        (struct assay_reduce_params){.kind = (uint8_t)kind, .axes = axes};
    return s;
}

static void sums(void **state)
{
    const struct slices_operand cube = {ASSAY_S8, 3, {2, 3, 2}, NULL};
    const int16_t one_axis[] = {9, -4, 9, 6};
    const int8_t two_axes[] = {7, 4, -1}; /* half of 14, 8, -2 */
    (void)state;
    gives(reduce(ASSAY_REDUCE_SUM, 1 << 1, cube,
                 (struct slices_operand){ASSAY_S16, 3, {2, 1, 2}, NULL}),
          CUBE, NULL, one_axis, sizeof(one_axis));
    struct assay_slice *s =
        reduce(ASSAY_REDUCE_SUM, 1 << 0 | 1 << 2, cube,
               (struct slices_operand){ASSAY_S8, 1, {3}, NULL});
    slices_shr(&s->layers[0].out_program, ASSAY_ROUND_HALF_UP, &ONE);
    slices_bits(&s->layers[0].out_program, ASSAY_STEP_SAT, 8);
    gives(s, CUBE, NULL, two_axes, sizeof(two_axes));
}

static void extremes(void **state)
{
    const struct slices_operand cube = {ASSAY_S8, 3, {2, 3, 2}, NULL};
    const int8_t most[] = {1, 4, 5, 8, 10, 11};
    const int8_t least[] = {-2, 3, -6, 7, -9, -12}, all[] = {-12};
    const float f[] = {1.5f, -3.0f, 2.0f}, f_most[] = {2.0f};
    (void)state;
    gives(reduce(ASSAY_REDUCE_MAX, 1 << 2, cube,
                 (struct slices_operand){ASSAY_S8, 2, {2, 3}, NULL}),
          CUBE, NULL, most, sizeof(most));
    gives(reduce(ASSAY_REDUCE_MIN, 1 << 2, cube,
                 (struct slices_operand){ASSAY_S8, 3, {2, 3, 1}, NULL}),
          CUBE, NULL, least, sizeof(least));
    gives(reduce(ASSAY_REDUCE_MIN, 7, cube,
                 (struct slices_operand){ASSAY_S8, 0, {0}, NULL}),
          CUBE, NULL, all, sizeof(all));
    gives(reduce(ASSAY_REDUCE_MAX, 1,
                 (struct slices_operand){ASSAY_F32, 1, {3}, NULL},
                 (struct slices_operand){ASSAY_F32, 1, {1}, NULL}),
          f, NULL, f_most, sizeof(f_most));
}

static void first_maxima(void **state)
{
    const int8_t x[] = {3, 7, 7, -1, -5, -5, -9, -5}, rows[] = {1, 0};
    const int64_t columns[] = {0, 0, 0, 0};
    (void)state;
    gives(reduce(ASSAY_REDUCE_ARG_MAX, 1 << 1,
                 (struct slices_operand){ASSAY_S8, 2, {2, 4}, NULL},
                 (struct slices_operand){ASSAY_S8, 1, {2}, NULL}),
          x, NULL, rows, sizeof(rows));
    gives(reduce(ASSAY_REDUCE_ARG_MAX, 1 << 0,
                 (struct slices_operand){ASSAY_S8, 2, {2, 4}, NULL},
                 (struct slices_operand){ASSAY_S64, 2, {1, 4}, NULL}),
          x, NULL, columns, sizeof(columns));
}

/* ((0 + 1e8) + 1) - 1e8) + 1: the first 1 is lost, the order is kept. */
static void float_sums_have_an_order(void **state)
{
    const float x[] = {1e8f, 1.0f, -1e8f, 1.0f}, want[] = {1.0f};
    (void)state;
    gives(reduce(ASSAY_REDUCE_FSUM, 1,
                 (struct slices_operand){ASSAY_F32, 1, {4}, NULL},
                 (struct slices_operand){ASSAY_F32, 0, {0}, NULL}),
          x, NULL, want, sizeof(want));
}

/* ---- sampling ----------------------------------------------------------------------- */

static struct assay_slice *resize(int64_t h, int64_t w, int64_t oh, int64_t ow,
                                  struct assay_resize_params how)
{
    struct assay_slice *s =
        slices_one(ASSAY_OP_RESIZE, 1,
                   &(struct slices_operand){ASSAY_S8, 4, {1, h, w, 1}, NULL},
                   (struct slices_operand){ASSAY_S8, 4, {1, oh, ow, 1}, NULL});
    s->layers[0].p.resize = how;
    return s;
}

/*
 * 2 cells to 4, centred: q is -64, 64, 192, 320 of 256 a cell, so that 12.5
 * and 17.5 lie in the middle: rounded at the end, or floored in between.
 */
static void resize_to_twice_the_width(void **state)
{
    struct assay_resize_params how = {.step_h = 65536,
                                      .step_w = 32768,
                                      .start_w = -16384,
                                      .decimal_bits = 16,
                                      .weight_bits = 8};
    const int8_t x[] = {10, 20};
    const int8_t once[] = {10, 13, 18, 20}, twice[] = {10, 12, 17, 20};
    (void)state;
    struct assay_slice *s = resize(1, 2, 1, 4, how);
    slices_shr(&s->layers[0].out_program, ASSAY_ROUND_HALF_UP, &SIXTEEN);
    gives(s, x, NULL, once, sizeof(once));
    how.mid_shift = 8;
    s = resize(1, 2, 1, 4, how);
    slices_shr(&s->layers[0].out_program, ASSAY_ROUND_FLOOR, &EIGHT);
    gives(s, x, NULL, twice, sizeof(twice));
}

static void resize_both_axes(void **state)
{
    const struct assay_resize_params how = {
        .step_h = 32768, .step_w = 32768, .decimal_bits = 16, .weight_bits = 8};
    const int8_t x[] = {0, 100, 50, -50};
    const int8_t want[] = {0, 50, 100, 25, 25, 25, 50, 0, -50};
    (void)state;
    struct assay_slice *s = resize(2, 2, 3, 3, how);
    slices_shr(&s->layers[0].out_program, ASSAY_ROUND_HALF_UP, &SIXTEEN);
    gives(s, x, NULL, want, sizeof(want));
}

/* floor(3 * 2^16 / 5) a step, no weights: cells 0 0 1 1 2. */
static void resize_to_the_nearest(void **state)
{
    const struct assay_resize_params how = {
        .step_h = 65536, .step_w = 39321, .decimal_bits = 16};
    const int8_t x[] = {1, 2, 3}, want[] = {1, 1, 2, 2, 3};
    (void)state;
    gives(resize(1, 3, 1, 5, how), x, NULL, want, sizeof(want));
}

/*
 * Image 10 20 / 30 40, quarters of a pixel. Read are (y, x): (.5, .25), which
 * is 22.5; (0, 1.5), half outside; and (-.5, .5), half outside too.
 */
static void samples_of_a_grid(void **state)
{
    const int8_t x[] = {10, 20, 30, 40};
    const int16_t grid[] = {2, 1, 0, 2, -2, -6};
    const int8_t want[2][2][3] = {{{23, 10, 8}, {23, 20, 15}},
                                  {{30, 0, 20}, {30, 20, 20}}};
    (void)state;
    for (int nearest = 0; nearest < 2; nearest++) {
        for (int border = 0; border < 2; border++) {
            const struct slices_operand in[2] = {
                {ASSAY_S8, 4, {1, 2, 2, 1}, NULL},
                {ASSAY_S16, 4, {1, 1, 3, 2}, NULL}};
            struct assay_slice *s = slices_one(
                ASSAY_OP_GRID_SAMPLE, 2, in,
                (struct slices_operand){ASSAY_S8, 4, {1, 1, 3, 1}, NULL});
            s->layers[0].p.grid_sample = (struct assay_grid_sample_params){
                .nearest = nearest,
                .padding = border ? ASSAY_GRID_BORDER : ASSAY_GRID_ZEROS,
                .coord_shift = 2};
            if (!nearest)
                slices_shr(&s->layers[0].out_program, ASSAY_ROUND_HALF_UP,
                           &FOUR);
            gives(s, x, grid, want[nearest][border], 3);
        }
    }
}

/* ---- the greater and the smaller ------------------------------------------------------ */

static struct assay_slice *binary(enum assay_combine how,
                                  enum assay_dtype dtype, int64_t n)
{
    const struct slices_operand in[2] = {{dtype, 1, {n}, NULL},
                                         {dtype, 1, {n}, NULL}};
    struct assay_slice *s = slices_one(
        ASSAY_OP_BINARY, 2, in, (struct slices_operand){dtype, 1, {n}, NULL});
    slices_in_programs(s, 0, 2);
    s->layers[0].p.binary.combine = how;
    return s;
}

static void greater_and_smaller(void **state)
{
    const int8_t a[] = {1, -128, 127, 5}, b[] = {2, 127, -128, 5};
    const int8_t most[] = {2, 127, 127, 5}, least[] = {1, -128, -128, 5};
    const float f[] = {1.5f, -0.0f, -2.0f}, g[] = {1.0f, 0.0f, -3.0f};
    const float f_most[] = {1.5f, 0.0f, -2.0f},
                f_least[] = {1.0f, -0.0f, -3.0f};
    (void)state;
    gives(binary(ASSAY_COMBINE_MAX, ASSAY_S8, 4), a, b, most, sizeof(most));
    gives(binary(ASSAY_COMBINE_MIN, ASSAY_S8, 4), a, b, least, sizeof(least));
    gives(binary(ASSAY_COMBINE_FMAX, ASSAY_F32, 3), f, g, f_most,
          sizeof(f_most));
    gives(binary(ASSAY_COMBINE_FMIN, ASSAY_F32, 3), f, g, f_least,
          sizeof(f_least));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prelu_of_integers),
        cmocka_unit_test(prelu_of_other_widths),
        cmocka_unit_test(prelu_of_floats),
        cmocka_unit_test(table_of_256),
        cmocka_unit_test(eight_segments),
        cmocka_unit_test(segments_are_mirrored),
        cmocka_unit_test(sums),
        cmocka_unit_test(extremes),
        cmocka_unit_test(first_maxima),
        cmocka_unit_test(float_sums_have_an_order),
        cmocka_unit_test(resize_to_twice_the_width),
        cmocka_unit_test(resize_both_axes),
        cmocka_unit_test(resize_to_the_nearest),
        cmocka_unit_test(samples_of_a_grid),
        cmocka_unit_test(greater_and_smaller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
