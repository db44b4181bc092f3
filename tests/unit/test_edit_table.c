/* SPDX-License-Identifier: Apache-2.0 */
/*
 * O3, O8, O9: tables that are looked up in another way; all inputs of 8 bits,
 * a spread of those of 16.
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

#include "tests/support/edits.h"
#include "tests/support/slices.h"

static struct assay_slice *s;

static void refuses(const char *edit, int want)
{
    struct assay_slice *edited;

    assert_int_equal(edits_apply(s, 0, edit, &edited), want);
}

static void equals(const char *edit, const void *x, const void *want,
                   size_t bytes)
{
    const void *const in[] = {x};
    static uint8_t got[8192];

    if (edit)
        edits_give(s, edit, in, 1, got, bytes);
    else
        edits_run(s, in, 1, got, bytes);
    for (size_t i = 0; i < bytes; i++)
        if (got[i] != ((const uint8_t *)want)[i])
            fail_msg("%s: byte %zu: %d, expected %d", edit ? edit : "", i,
                     got[i], ((const uint8_t *)want)[i]);
}

/* ---- tables of 256 ------------------------------------------------------- */

/* The table's entries are in the order of x: byte b of int8 is the entry
 * b ^ 0x80. */
static void o3_of_a_table(enum assay_dtype x_dtype, enum assay_dtype y_dtype)
{
    size_t width = assay_dtype_bytes(y_dtype);
    int flip = x_dtype == ASSAY_S8 ? 0x80 : 0;
    uint8_t x[256], table[512], plain[512], sign[512], reversed[512];
    const struct slices_operand in[] = {{x_dtype, 2, {2, 128}, NULL},
                                        {y_dtype, 1, {256}, table}};

    edits_random(table, sizeof(table));
    for (int b = 0; b < 256; b++) {
        x[b] = (uint8_t)b;
        memcpy(plain + (size_t)b * width, table + (size_t)(b ^ flip) * width,
               width);
        memcpy(sign + (size_t)b * width,
               table + (size_t)(b ^ 0x80 ^ flip) * width, width);
        memcpy(reversed + (size_t)b * width,
               table + (size_t)((255 - b) ^ flip) * width, width);
    }
    s = slices_one(ASSAY_OP_TABLE, 2, in,
                   (struct slices_operand){y_dtype, 2, {2, 128}, NULL});
    equals(NULL, x, plain, 256 * width);
    equals("O3=sign", x, sign, 256 * width);
    equals("O3=reversed", x, reversed, 256 * width);
    refuses("O8=edge", ASSAY_EDIT_NOT_HERE);
    refuses("O9=floor", ASSAY_EDIT_NOT_HERE);
    assay_slice_free(s);
}

static void o3_of_tables(void **state)
{
    (void)state;
    o3_of_a_table(ASSAY_S8, ASSAY_S8);
    o3_of_a_table(ASSAY_U8, ASSAY_U8);
    o3_of_a_table(ASSAY_S8, ASSAY_S16);
}

static void o3_of_a_constant_table(void **state)
{
    int8_t table[256] = {0};
    const struct slices_operand in[] = {{ASSAY_S8, 1, {1}, NULL},
                                        {ASSAY_S8, 1, {256}, table}};

    (void)state;
    s = slices_one(ASSAY_OP_TABLE, 2, in,
                   (struct slices_operand){ASSAY_S8, 1, {1}, NULL});
    refuses("O3=sign", ASSAY_EDIT_SAME);
    refuses("O3=reversed", ASSAY_EDIT_SAME);
    assay_slice_free(s);
}

/* A function by steps of one byte, which others keep as a table. */
static void o3_of_a_function(void **state)
{
    static const int64_t three = 3, one = 1;
    int8_t x[256], want[256];

    (void)state;
    s = slices_one(ASSAY_OP_UNARY, 1,
                   &(struct slices_operand){ASSAY_S8, 1, {256}, NULL},
                   (struct slices_operand){ASSAY_S8, 1, {256}, NULL});
    slices_step(&s->layers[0].out_program, ASSAY_STEP_MUL, 1, &three, NULL);
    slices_shr(&s->layers[0].out_program, ASSAY_ROUND_FLOOR, &one);
    slices_bits(&s->layers[0].out_program, ASSAY_STEP_SAT, 8);
    for (int i = 0; i < 256; i++) {
        x[i] = (int8_t)(i - 128);
        double v = floor(3 * (x[i] < 0 ? x[i] + 128 : x[i] - 128) / 2.0);

        want[i] = (int8_t)(v < -128 ? -128 : v > 127 ? 127 : v);
    }
    equals("O3=sign", x, want, 256);
    for (int i = 0; i < 256; i++) {
        double v = floor(3 * (-1 - x[i]) / 2.0);

        want[i] = (int8_t)(v < -128 ? -128 : v > 127 ? 127 : v);
    }
    equals("O3=reversed", x, want, 256);
    s->tensors[1].dtype = ASSAY_F32; /* nobody has a table of it */
    s->layers[0].out_program.n_steps = 0;
    slices_step(&s->layers[0].out_program, ASSAY_STEP_TO_F32, 0, NULL, NULL);
    refuses("O3=sign", ASSAY_EDIT_NOT_HERE);
    assay_slice_free(s);
}

/* ---- segments ------------------------------------------------------------ */

enum { X = 4096 }; /* inputs: every 16th, from -32768 + 5 on */

/* What is edited in the plain definition below. */
struct way {
    int edge;  /* a bound belongs to the segment behind it */
    int table; /* of the segment that many behind */
    double (*mix)(double);
};

static struct {
    int16_t x[X], want[X], table[6][64];
    int32_t segments[8][5];
} f;

static double saturated(double v)
{
    return v < -32768 ? -32768 : v > 32767 ? 32767 : v;
}

/* Symmetry is none and shifts of lines floor. */
static int16_t by_segments(int x, const struct way *w)
{
    const int32_t *p;
    const int16_t *entries;
    double t, at, part;
    int k = 0, i;

    while (k < 7 && f.segments[k][0] - w->edge < x)
        k++;
    p = f.segments[k];
    t = floor(((double)x * p[1] + ldexp(p[2], p[3])) / ldexp(1, p[4]));
    if (k == 0 || k == 7)
        return (int16_t)saturated(t);
    at = t < 0 ? 0 : t > 64 * 256 - 1 ? 64 * 256 - 1 : t;
    i = (int)floor(at / 256);
    part = at - i * 256;
    entries = f.table[(k - 1 + w->table) % 6];
    return (int16_t)w->mix(
        (entries[i] * (256 - part) + entries[i < 63 ? i + 1 : 63] * part) /
        256);
}

static double half_up(double v)
{
    return floor(v + 0.5);
}

static void segments_give(const char *edit, const struct way *w)
{
    for (int i = 0; i < X; i++)
        f.want[i] = by_segments(f.x[i], w);
    equals(edit, f.x, f.want, sizeof(f.want));
}

static void begin_segments(void)
{
    const struct slices_operand in[] = {
        {ASSAY_S16, 1, {X}, NULL},
        {ASSAY_S16, 2, {6, 64}, f.table},
        {ASSAY_S32, 2, {8, 5}, f.segments},
    };
    static const int bounds[] = {-20000, -9011, -3,    501,
                                 7125,   15013, 27989, 32767};

    edits_random(f.table, sizeof(f.table));
    for (int i = 0; i < X; i++)
        f.x[i] = (int16_t)(-32768 + 5 + 16 * i);
    for (int k = 0; k < 8; k++) {
        int from = k ? bounds[k - 1] : -32768;

        f.x[100 * k + 1] = (int16_t)bounds[k]; /* the edge itself */
        f.segments[k][0] = bounds[k];
        f.segments[k][1] = 300 + 17 * k;
        f.segments[k][2] = -from * (300 + 17 * k) / 4;
        f.segments[k][3] = 2;
        f.segments[k][4] = 7 + k % 2;
    }
    s = slices_one(ASSAY_OP_SEGMENT_TABLE, 3, in,
                   (struct slices_operand){ASSAY_S16, 1, {X}, NULL});
    s->layers[0].p.segment = (struct assay_segment_params){
        .symmetry = ASSAY_SYMMETRY_NONE,
        .round = ASSAY_ROUND_FLOOR,
        .mix_round = ASSAY_ROUND_HALF_UP,
    };
}

static void segments_and_their_edges(void **state)
{
    (void)state;
    begin_segments();
    segments_give(NULL, &(struct way){0, 0, half_up});
    segments_give("O8=edge", &(struct way){1, 0, half_up});
    segments_give("O8=next", &(struct way){0, 1, half_up});
    segments_give("O9=floor", &(struct way){0, 0, floor});
    segments_give("O9=trunc", &(struct way){0, 0, trunc});
    segments_give("O9=half_even", &(struct way){0, 0, rint});
    segments_give("O9=half_away", &(struct way){0, 0, round});
    refuses("O9=half_up", ASSAY_EDIT_SAME);
    assay_slice_free(s);
}

static void o3_of_segments(void **state)
{
    const struct way plain = {0, 0, half_up};

    (void)state;
    begin_segments();
    for (int i = 0; i < X; i++)
        f.want[i] =
            by_segments(f.x[i] < 0 ? f.x[i] + 32768 : f.x[i] - 32768, &plain);
    equals("O3=sign", f.x, f.want, sizeof(f.want));
    for (int i = 0; i < X; i++)
        f.want[i] = by_segments(-1 - f.x[i], &plain);
    equals("O3=reversed", f.x, f.want, sizeof(f.want));
    assay_slice_free(s);
}

static void segments_that_are_alike(void **state)
{
    (void)state;
    memset(f.table, 0, sizeof(f.table));
    begin_segments();
    s->tensors[1].data = assay_arena_alloc(s->arena, sizeof(f.table));
    refuses("O8=next", ASSAY_EDIT_SAME);
    for (int k = 0; k < 8; k++) /* no input is a bound */
        f.segments[k][0] = 40000 + k;
    s->tensors[2].data =
        assay_arena_copy(s->arena, f.segments, sizeof(f.segments));
    refuses("O8=edge", ASSAY_EDIT_SAME);
    assay_slice_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(o3_of_tables),
        cmocka_unit_test(o3_of_a_constant_table),
        cmocka_unit_test(o3_of_a_function),
        cmocka_unit_test(segments_and_their_edges),
        cmocka_unit_test(o3_of_segments),
        cmocka_unit_test(segments_that_are_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
