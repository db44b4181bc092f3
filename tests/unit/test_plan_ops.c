/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The third door for the operators of fixed-point models: a good layer of
 * each, and every way of breaking it with the sentence that refuses it.
 *
 * links: lib/core/slice_part.c lib/core/probe.c
 * links: tests/support/slices.c lib/core/slice.c lib/core/buf.c
 * links: lib/core/err.c lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * links: lib/core/hash.c
 * libs: -lxxhash -lmbedcrypto
 */
#include "lib/engine/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/slices.h"

#define X (&s->tensors[0])
#define B (&s->tensors[1])
#define C (&s->tensors[2])
#define Y (&s->tensors[s->n_tensors - 1])
#define L (&s->layers[0])
#define OUT (&s->layers[0].out_program)

static const int64_t ONE = 1, EIGHT = 8;
static int32_t segment_rows[8][5];

/* sat to int8 behind a shift by 8: any sum fits then. */
static void saturate(struct assay_program *p)
{
    slices_shr(p, ASSAY_ROUND_FLOOR, &EIGHT);
    slices_bits(p, ASSAY_STEP_SAT, 8);
}

/* [2,3] turned. */
static struct assay_slice *view(void)
{
    struct assay_slice *s = slices_one(
        ASSAY_OP_VIEW, 1, &(struct slices_operand){ASSAY_S8, 2, {2, 3}, NULL},
        (struct slices_operand){ASSAY_S8, 2, {3, 2}, NULL});
    L->p.view = (struct assay_view_params){
        .rank = 2, .dims = {3, 2}, .strides = {1, 3}};
    return s;
}

static struct assay_slice *gather(void)
{
    static const int32_t indices[2] = {2, -3};
    const struct slices_operand in[2] = {{ASSAY_S8, 2, {4, 3}, NULL},
                                         {ASSAY_S32, 1, {2}, indices}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_GATHER, 2, in,
                   (struct slices_operand){ASSAY_S8, 2, {4, 2}, NULL});
    L->p.gather.axis = 1;
    return s;
}

static void set_index(struct assay_slice *s, int32_t i)
{
    slices_data(s, 1, (int32_t[]){0, i});
}

static struct assay_slice *reduce(void)
{
    struct assay_slice *s =
        slices_one(ASSAY_OP_REDUCE, 1,
                   &(struct slices_operand){ASSAY_S8, 3, {2, 300, 4}, NULL},
                   (struct slices_operand){ASSAY_S16, 3, {2, 1, 4}, NULL});
    L->p.reduce = (struct assay_reduce_params){.kind = ASSAY_REDUCE_ARG_MAX,
                                               .axes = 1 << 1};
    return s;
}

static struct assay_slice *matmul(void)
{
    const struct slices_operand in[2] = {{ASSAY_S8, 4, {2, 1, 4, 5}, NULL},
                                         {ASSAY_S8, 3, {3, 5, 6}, NULL}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_MATMUL, 2, in,
                   (struct slices_operand){ASSAY_S8, 4, {2, 3, 4, 6}, NULL});
    saturate(OUT);
    return s;
}

/* 3x2, kernel 3, stride 2, pads 1, one row more: 6x3. */
static struct assay_slice *transposed(void)
{
    static const int8_t w[4 * 9 * 2];
    static const int32_t bias[4];
    const struct slices_operand in[3] = {{ASSAY_S8, 4, {1, 3, 2, 2}, NULL},
                                         {ASSAY_S8, 4, {4, 3, 3, 2}, w},
                                         {ASSAY_S32, 1, {4}, bias}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_CONV_TRANSPOSE2D, 3, in,
                   (struct slices_operand){ASSAY_S8, 4, {1, 6, 3, 4}, NULL});
    L->p.conv2d = (struct assay_conv2d_params){.stride_h = 2,
                                               .stride_w = 2,
                                               .dilation_h = 1,
                                               .dilation_w = 1,
                                               .pad_top = 1,
                                               .pad_left = 1,
                                               .pad_bottom = 1,
                                               .pad_right = 1,
                                               .groups = 1,
                                               .has_bias = true};
    saturate(OUT);
    return s;
}

static struct assay_slice *prelu(void)
{
    struct assay_slice *s = slices_one(
        ASSAY_OP_PRELU, 1, &(struct slices_operand){ASSAY_S8, 1, {3}, NULL},
        (struct slices_operand){ASSAY_S8, 1, {3}, NULL});
    slices_in_programs(s, 0, 2);
    return s;
}

static struct assay_slice *table(void)
{
    static const int8_t entries[256];
    const struct slices_operand in[2] = {{ASSAY_S8, 1, {3}, NULL},
                                         {ASSAY_S8, 1, {256}, entries}};
    return slices_one(ASSAY_OP_TABLE, 2, in,
                      (struct slices_operand){ASSAY_S8, 1, {3}, NULL});
}

static struct assay_slice *segments(void)
{
    static const int16_t entries[384];
    const struct slices_operand in[3] = {{ASSAY_S16, 1, {3}, NULL},
                                         {ASSAY_S16, 1, {384}, entries},
                                         {ASSAY_S32, 2, {8, 5}, segment_rows}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_SEGMENT_TABLE, 3, in,
                   (struct slices_operand){ASSAY_S16, 1, {3}, NULL});
    L->p.segment =
        (struct assay_segment_params){.symmetry = ASSAY_SYMMETRY_NONE,
                                      .round = ASSAY_ROUND_HALF_UP,
                                      .mix_round = ASSAY_ROUND_HALF_UP};
    return s;
}

static void set_segment(struct assay_slice *s, int row, int field,
                        int32_t value)
{
    int32_t rows[8][5];
    memcpy(rows, segment_rows, sizeof(rows));
    rows[row][field] = value;
    slices_data(s, 2, rows);
}

static struct assay_slice *resize(void)
{
    struct assay_slice *s =
        slices_one(ASSAY_OP_RESIZE, 1,
                   &(struct slices_operand){ASSAY_S8, 4, {1, 2, 2, 3}, NULL},
                   (struct slices_operand){ASSAY_S8, 4, {1, 4, 4, 3}, NULL});
    L->p.resize = (struct assay_resize_params){.step_h = INT32_MAX,
                                               .step_w = INT32_MIN,
                                               .start_h = INT32_MAX,
                                               .start_w = INT32_MIN,
                                               .decimal_bits = 16,
                                               .weight_bits = 8};
    saturate(OUT);
    return s;
}

static struct assay_slice *grid(void)
{
    const struct slices_operand in[2] = {{ASSAY_S8, 4, {2, 5, 5, 3}, NULL},
                                         {ASSAY_S16, 4, {2, 4, 4, 2}, NULL}};
    struct assay_slice *s =
        slices_one(ASSAY_OP_GRID_SAMPLE, 2, in,
                   (struct slices_operand){ASSAY_S8, 4, {2, 4, 4, 3}, NULL});
    L->p.grid_sample = (struct assay_grid_sample_params){
        .padding = ASSAY_GRID_ZEROS, .coord_shift = 8};
    saturate(OUT);
    return s;
}

static struct assay_slice *(*const GOOD[])(void) = {
    view,  gather, reduce,   matmul, transposed,
    prelu, table,  segments, resize, grid,
};

static int plan(const struct assay_slice *s, uint64_t *macs,
                struct assay_err *err)
{
    struct assay_kernel_table t;
    struct assay_plan *p = NULL;
    assay_kernel_table_init(&t, 0);
    int rc = assay_plan_new(&p, s, &t, NULL, err);
    assert_true((rc == 0) == (p != NULL));
    if (p && macs)
        *macs = assay_plan_macs(p, 0);
    assay_plan_free(p);
    return rc;
}

static void good_ones_are_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(GOOD) / sizeof(GOOD[0]); i++) {
        struct assay_slice *s = GOOD[i]();
        struct assay_err err = {0};
        uint64_t macs = 0;
        int rc = plan(s, &macs, &err);
        assert_string_equal(err.text, "");
        assert_int_equal(rc, 0);
        /* 2 * 3 batches of 4 x 5 by 5 x 6; 3 x 2 cells, 4 x 9 x 2 weights */
        assert_int_equal(macs, GOOD[i] == matmul       ? 720
                               : GOOD[i] == transposed ? 432
                                                       : 0);
        assay_slice_free(s);
    }
}

/* ---- one change, one sentence ------------------------------------------------------ */

#define MOVES \
    CASE(view, dtype, Y->dtype = ASSAY_U8, \
         "output dtype: expected the input's, int8, found uint8") \
    CASE(view, program, slices_bits(OUT, ASSAY_STEP_SAT, 8), \
         "out_program: expected 0 steps, found 1") \
    CASE(view, in_programs, slices_in_programs(s, 0, 1), \
         "in_programs: expected 0, found 1") \
    CASE(view, rank_0, L->p.view.rank = 0, \
         "view rank: expected 1 to 10, found 0") \
    CASE(view, rank_11, L->p.view.rank = 11, \
         "view rank: expected 1 to 10, found 11") \
    CASE(view, dims_0, L->p.view.dims[1] = 0, \
         "view dims[1]: expected at least 1, found 0") \
    CASE(view, dims_negative, L->p.view.dims[0] = -3, \
         "view dims[0]: expected at least 1, found -3") \
    CASE(view, dims_wrap, \
         L->p.view.dims[0] = L->p.view.dims[1] = (int64_t)1 << 32, \
         "view dims: their product is too large") \
    CASE(view, dims_count, L->p.view.dims[0] = 4, \
         "view dims: expected 6 elements, those of the output, found 8") \
    CASE(view, above, L->p.view.strides[0] = 2, \
         "view indices: expected 0 to 5, the input's, found 0 to 7") \
    CASE(view, offset, L->p.view.offset = 1, \
         "view indices: expected 0 to 5, the input's, found 1 to 6") \
    CASE(view, below, L->p.view.strides[1] = -1, \
         "view indices: expected 0 to 5, the input's, found -1 to 2") \
    CASE(view, offset_negative, L->p.view.offset = INT64_MIN, \
         "view indices: expected 0 to 5, the input's, found " \
         "-9223372036854775808 to -9223372036854775803") \
    CASE(view, stride_wraps, L->p.view.strides[0] = INT64_MAX, \
         "view strides[0]: the index can leave 64 bits, found " \
         "9223372036854775807") \
    CASE(view, stride_wraps_back, L->p.view.strides[0] = INT64_MIN, \
         "view strides[0]: the index can leave 64 bits, found " \
         "-9223372036854775808") \
    CASE(view, end_wraps, \
         (L->p.view.offset = INT64_MAX, L->p.view.strides[1] = 1), \
         "view strides[0]: the index can leave 64 bits, found 1") \
    CASE(gather, dtype, Y->dtype = ASSAY_S16, \
         "output dtype: expected the input's, int8, found int16") \
    CASE(gather, axis, L->p.gather.axis = 2, "axis: expected 0 to 1, found 2") \
    CASE(gather, axis_negative, L->p.gather.axis = -1, \
         "axis: expected 0 to 1, found -1") \
    CASE(gather, shape, Y->dims[1] = 3, \
         "output shape: expected input [4,3] with dims[1] replaced by those " \
         "of the indices, [2], found [4,3]") \
    CASE(gather, indices_dtype, (B->dtype = ASSAY_S16, B->size = 4), \
         "indices dtype: expected int32 or int64, found int16") \
    CASE(gather, indices_role, B->role = ASSAY_ROLE_INPUT, \
         "indices 'b': expected a constant") \
    CASE(gather, index, set_index(s, 3), \
         "indices[1]: expected -3 to 2, found 3") \
    CASE(gather, index_negative, set_index(s, -4), \
         "indices[1]: expected -3 to 2, found -4") \
    CASE(gather, program, slices_bits(OUT, ASSAY_STEP_SAT, 8), \
         "out_program: expected 0 steps, found 1")

#define REDUCES \
    CASE(reduce, no_axes, L->p.reduce.axes = 0, \
         "axes: expected some of the 3 axes of the input, found bits 0x0") \
    CASE(reduce, axes, L->p.reduce.axes = 1 << 3, \
         "axes: expected some of the 3 axes of the input, found bits 0x8") \
    CASE(reduce, shape, Y->dims[1] = 2, \
         "output shape: expected [2,1,4], or without the axes that are " \
         "reduced, found [2,2,4]") \
    CASE(reduce, kind_0, L->p.reduce.kind = 0, \
         "reduce kind: expected 1 to 5, found 0") \
    CASE(reduce, kind_6, L->p.reduce.kind = 6, \
         "reduce kind: expected 1 to 5, found 6") \
    CASE(reduce, float_places, X->dtype = ASSAY_F32, \
         "input dtype: expected integers for this kind of reduction, found " \
         "float32") \
    CASE(reduce, integer_fsum, L->p.reduce.kind = ASSAY_REDUCE_FSUM, \
         "input dtype: expected float32 for this kind of reduction, found " \
         "int8") \
    CASE(reduce, places_of_two, \
         (L->p.reduce.axes = 1 << 1 | 1 << 2, Y->dims[2] = 1), \
         "axes: expected one, of which the place is counted, found bits 0x6") \
    CASE(reduce, places, Y->dtype = ASSAY_S8, \
         "out_program: result in channel 0: expected the range of int8, " \
         "-128 to 127, found 0 to 299") \
    CASE(reduce, sum, \
         (L->p.reduce.kind = ASSAY_REDUCE_SUM, Y->dtype = ASSAY_S8), \
         "out_program: result in channel 0: expected the range of int8, " \
         "-128 to 127, found -38400 to 38100") \
    CASE(reduce, sum_of_int64, \
         (L->p.reduce.kind = ASSAY_REDUCE_SUM, X->dtype = ASSAY_S64), \
         "sum of 300 elements of int64 can leave 64 bits") \
    CASE(reduce, channels, \
         (slices_step(OUT, ASSAY_STEP_MUL, 4, (const int64_t[]){1, 1, 1, 1}, \
                      NULL)), \
         "out_program step 0 (mul): operand count: expected 1 or 1 " \
         "(channels), found 4") \
    CASE(reduce, in_programs, slices_in_programs(s, 0, 1), \
         "in_programs: expected 0, found 1")

#define MATRICES \
    CASE(matmul, a_dtype, X->dtype = ASSAY_S32, \
         "input a dtype: expected int8, uint8 or int16, found int32") \
    CASE(matmul, b_dtype, B->dtype = ASSAY_S16, \
         "input b dtype: expected int8 or uint8, found int16") \
    CASE(matmul, vector, (X->rank = 1, X->dims[0] = 5), \
         "shapes: expected [..., M, K] by [..., K, N] to [..., M, N], found " \
         "[5] by [3,5,6] to [2,3,4,6]") \
    CASE(matmul, inner, B->dims[1] = 7, \
         "shapes: expected [..., M, K] by [..., K, N] to [..., M, N], found " \
         "[2,1,4,5] by [3,7,6] to [2,3,4,6]") \
    CASE(matmul, rank, (Y->rank = 3, Y->dims[0] = 6), \
         "shapes: expected [..., M, K] by [..., K, N] to [..., M, N], found " \
         "[2,1,4,5] by [3,5,6] to [6,3,4]") \
    CASE(matmul, rows, Y->dims[2] = 5, \
         "shapes: expected [..., M, K] by [..., K, N] to [..., M, N], found " \
         "[2,1,4,5] by [3,5,6] to [2,3,5,6]") \
    CASE(matmul, batches, X->dims[1] = 2, \
         "output dims[1]: expected equal batches, or 1 of them for many, " \
         "found 2 and 3 to 3") \
    CASE(matmul, output_batches, Y->dims[0] = 3, \
         "output dims[0]: expected equal batches, or 1 of them for many, " \
         "found 2 and 1 to 3") \
    CASE(matmul, large, X->dims[2] = Y->dims[2] = (int64_t)1 << 32, \
         "matrix dims: expected at most 2147483647, found " \
         "[2,1,4294967296,5] by [3,5,6]") \
    CASE(matmul, range, OUT->n_steps = 0, \
         "out_program: result in channel 0: expected the range of int8, " \
         "-128 to 127, found -81280 to 81920") \
    CASE(matmul, channels, OUT->steps[0].n = 4, \
         "out_program step 0 (shr): operand count: expected 1 or 6 " \
         "(channels), found 4") \
    CASE(matmul, second, \
         slices_step(OUT, ASSAY_STEP_ADD_SCALED, 1, &ONE, &ONE), \
         "out_program step 2 (add_scaled): this layer has no second input") \
    CASE(matmul, in_programs, slices_in_programs(s, 0, 2), \
         "in_programs: expected 0, found 2") \
    CASE(transposed, second, L->p.conv2d.has_second = true, \
         "has_second: expected 0, found 1") \
    CASE(transposed, inputs, L->n_inputs = 2, \
         "inputs: expected 3 (has_bias 1), found 2") \
    CASE(transposed, rank, (X->rank = 3, X->dims[2] = 4), \
         "input shape [1,3,4]: expected rank 4, found 3") \
    CASE(transposed, groups, L->p.conv2d.groups = 3, \
         "groups: expected a divisor of 2 input and 4 output channels, " \
         "found 3") \
    CASE(transposed, weights, L->p.conv2d.groups = 2, \
         "weights shape [4,3,3,2]: expected 1 input channels per group, " \
         "found 2") \
    CASE(transposed, channels, Y->dims[3] = 5, \
         "output batch and channels: expected 1 and 4, found 1 and 5") \
    CASE(transposed, stride, L->p.conv2d.stride_w = 0, \
         "stride of axis w: expected 1 or more, found 0") \
    CASE(transposed, dilation, L->p.conv2d.dilation_h = -1, \
         "dilation of axis h: expected 1 or more, found -1") \
    CASE(transposed, pad, L->p.conv2d.pad_top = -1, \
         "pad before of axis h: expected 0 or more, found -1") \
    CASE(transposed, pad_after, L->p.conv2d.pad_right = -2, \
         "pad after of axis w: expected 0 or more, found -2") \
    CASE(transposed, small, Y->dims[1] = 4, \
         "output size of axis h: expected 5 to 6, found 4") \
    CASE(transposed, large, Y->dims[2] = 5, \
         "output size of axis w: expected 3 to 4, found 5") \
    CASE(transposed, spread, \
         (L->p.conv2d.stride_h = INT32_MAX, Y->dims[1] = INT32_MAX, \
          L->p.conv2d.dilation_h = INT32_MAX, \
          L->p.conv2d.pad_top = L->p.conv2d.pad_bottom = INT32_MAX - 2), \
         "output size of axis h: expected 4294967299 to 6442450945, found " \
         "2147483647") \
    CASE(transposed, image, \
         (L->p.conv2d.dilation_h = 1 << 30, \
          L->p.conv2d.stride_h = (1 << 30) + 1, \
          L->p.conv2d.pad_top = L->p.conv2d.pad_bottom = INT32_MAX, \
          Y->dims[1] = 5), \
         "image of axis h with zeros between: expected at most 2147483647 " \
         "cells, found 2147483651") \
    CASE(transposed, dtype, X->dtype = ASSAY_S32, \
         "input dtype: expected int8, uint8 or int16, found int32") \
    CASE(transposed, weights_role, B->role = ASSAY_ROLE_INPUT, \
         "weights 'b': expected a constant") \
    CASE(transposed, bias, (C->dtype = ASSAY_F32), \
         "bias dtype: expected int32, found float32") \
    CASE(transposed, range, \
         (OUT->n_steps = 0, memset((void *)(uintptr_t)B->data, 1, 72)), \
         "out_program: result in channel 0: expected the range of int8, " \
         "-128 to 127, found -2304 to 2286")

#define TABLES \
    CASE(prelu, shape, Y->dims[0] = 4, \
         "output shape: expected [3], found [4]") \
    CASE(prelu, in_programs, L->n_in_programs = 1, \
         "in_programs: expected 2, found 1") \
    CASE(prelu, program, slices_bits(OUT, ASSAY_STEP_SAT, 8), \
         "out_program: expected 0 steps, found 1") \
    CASE(prelu, range, \
         slices_step(&L->in_programs[1], ASSAY_STEP_ADD_ZP, 1, &ONE, NULL), \
         "in_programs[1]: result in channel 0: expected the range of int8, " \
         "-128 to 127, found -127 to 128") \
    CASE(prelu, form, \
         slices_step(&L->in_programs[0], ASSAY_STEP_FADD, 1, &ONE, NULL), \
         "in_programs[0] step 0 (fadd): value: expected a float, found an " \
         "integer") \
    CASE(table, shape, Y->dims[0] = 4, \
         "output shape: expected [3], found [4]") \
    CASE(table, input, X->dtype = ASSAY_S16, \
         "input dtype: expected int8 or uint8, found int16") \
    CASE(table, length, (B->dims[0] = 255, B->size = 255), \
         "table length: expected 256, found 255") \
    CASE(table, role, B->role = ASSAY_ROLE_INPUT, \
         "table 'b': expected a constant") \
    CASE(table, dtype, Y->dtype = ASSAY_U8, \
         "output dtype: expected the table's, int8, found uint8") \
    CASE(table, program, slices_bits(OUT, ASSAY_STEP_SAT, 8), \
         "out_program: expected 0 steps, found 1") \
    CASE(segments, input, X->dtype = ASSAY_U8, \
         "input dtype: expected int8 or int16, found uint8") \
    CASE(segments, symmetry, L->p.segment.symmetry = 0, \
         "symmetry: expected 1 to 3, found 0") \
    CASE(segments, round, L->p.segment.round = 8, \
         "round: expected 0 to 7, found 8") \
    CASE(segments, mix_round, L->p.segment.mix_round = 9, \
         "mix_round: expected 0 to 7, found 9") \
    CASE(segments, length, (B->dims[0] = 256, B->size = 512), \
         "table: expected 384 elements of int16, found 256 of int16") \
    CASE(segments, entries, (B->dtype = ASSAY_U16), \
         "table: expected 384 elements of int16, found 384 of uint16") \
    CASE(segments, role, B->role = ASSAY_ROLE_INPUT, \
         "table 'b': expected a constant") \
    CASE(segments, rows, (C->dims[0] = 7, C->size = 140), \
         "segments: expected 40 elements of int32, found 35 of int32") \
    CASE(segments, left, set_segment(s, 3, 3, 32), \
         "left shift of segment 3: expected 0 to 31, found 32") \
    CASE(segments, right, set_segment(s, 7, 4, -1), \
         "right shift of segment 7: expected 0 to 31, found -1") \
    CASE(segments, bounds, set_segment(s, 0, 0, 5), \
         "bound of segment 1: expected at least 5, that of the one before, " \
         "found 0") \
    CASE(segments, range, Y->dtype = ASSAY_S8, \
         "out_program: result in channel 0: expected the range of int8, " \
         "-128 to 127, found -32768 to 32767") \
    CASE(segments, in_programs, slices_in_programs(s, 0, 1), \
         "in_programs: expected 0, found 1")

#define SAMPLES \
    CASE(resize, rank, (X->rank = 3, X->dims[2] = 6), \
         "input shape [1,2,6]: expected rank 4, found 3") \
    CASE(resize, large, Y->dims[1] = (int64_t)1 << 31, \
         "output dims[1]: expected at most 2147483647, found 2147483648") \
    CASE(resize, dtype, X->dtype = ASSAY_S32, \
         "input dtype: expected int8, uint8 or int16, found int32") \
    CASE(resize, channels, Y->dims[3] = 4, \
         "output batch and channels: expected 1 and 3, found 1 and 4") \
    CASE(resize, decimal_bits, L->p.resize.decimal_bits = 25, \
         "decimal_bits: expected 0 to 24, found 25") \
    CASE(resize, weight_bits, L->p.resize.weight_bits = 13, \
         "weight_bits: expected 0 to 12, found 13") \
    CASE(resize, weights_of_decimals, L->p.resize.decimal_bits = 7, \
         "weight_bits: expected 0 to 7, found 8") \
    CASE(resize, mid_shift, L->p.resize.mid_shift = 25, \
         "mid_shift: expected 0 to 24, found 25") \
    CASE(resize, range, OUT->n_steps = 1, \
         "out_program: result in channel 0: expected the range of int8, " \
         "-128 to 127, found -32768 to 32512") \
    CASE(resize, range_behind_the_middle, \
         (OUT->n_steps = 0, L->p.resize.mid_shift = 10), \
         "out_program: result in channel 0: expected the range of int8, " \
         "-128 to 127, found -8192 to 7936") \
    CASE(resize, in_programs, slices_in_programs(s, 0, 1), \
         "in_programs: expected 0, found 1") \
    CASE(grid, grid_dtype, B->dtype = ASSAY_S8, \
         "grid dtype: expected int16, found int8") \
    CASE(grid, grid_shape, B->dims[3] = 3, \
         "grid shape: expected [2,4,4,2], found [2,4,4,3]") \
    CASE(grid, batch, Y->dims[0] = 1, \
         "output batch and channels: expected 2 and 3, found 1 and 3") \
    CASE(grid, dtype, X->dtype = ASSAY_F32, \
         "input dtype: expected int8, uint8 or int16, found float32") \
    CASE(grid, padding_0, L->p.grid_sample.padding = 0, \
         "padding: expected 1 or 2, found 0") \
    CASE(grid, padding_3, L->p.grid_sample.padding = 3, \
         "padding: expected 1 or 2, found 3") \
    CASE(grid, coord_shift, L->p.grid_sample.coord_shift = 15, \
         "coord_shift: expected 0 to 14, found 15") \
    CASE(grid, range, OUT->n_steps = 0, \
         "out_program: result in channel 0: expected the range of int8, " \
         "-128 to 127, found -8388608 to 8323072")

#define CASES MOVES REDUCES MATRICES TABLES SAMPLES

static void expect(struct assay_slice *s, const char *want)
{
    struct assay_err err = {0};
    assert_true(plan(s, NULL, &err) < 0);
    assert_memory_equal(err.text, "layer 'op': ", 12);
    assert_string_equal(err.text + 12, want);
    assert_true(err.code < 0);
    assert_true(plan(s, NULL, NULL) < 0); /* without anybody to tell */
    assay_slice_free(s);
}

#define CASE(good, name, change, sentence) \
    static void good##_refuses_##name(void **state) \
    { \
        struct assay_slice *s = good(); \
        (void)state; \
        change; \
        expect(s, sentence); \
    }
CASES
#undef CASE

/* int8 wraps at 32 bits, int16 does not: then 64 bits hold its sums. */
static void accumulators_of_matmul(void **state)
{
    const struct slices_operand in[2] = {{ASSAY_U8, 2, {1, 40000}, NULL},
                                         {ASSAY_U8, 2, {40000, 1}, NULL}};
    struct assay_err err = {0};
    (void)state;
    struct assay_slice *s =
        slices_one(ASSAY_OP_MATMUL, 2, in,
                   (struct slices_operand){ASSAY_S32, 2, {1, 1}, NULL});
    assert_int_equal(plan(s, NULL, &err), 0); /* 2.6e9 wraps: an int32 */
    X->dtype = ASSAY_S16;
    assert_int_equal(plan(s, NULL, &err), ASSAY_ERANGE);
    assert_string_equal(err.text,
                        "layer 'op': out_program: result in channel 0: "
                        "expected the range of int32, -2147483648 to "
                        "2147483647, found -334233600000 to 334223400000");
    assay_slice_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(good_ones_are_accepted),
                                       cmocka_unit_test(accumulators_of_matmul),
#define CASE(good, name, change, sentence) \
    cmocka_unit_test(good##_refuses_##name),
                                       CASES
#undef CASE
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
