/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The third door: one good slice, and every way of breaking it, each with
 * the sentence that it is refused with.
 *
 * links: lib/core/slice_part.c lib/core/probe.c
 * links: tests/support/slices.c lib/core/slice.c lib/core/buf.c
 * links: lib/core/err.c lib/engine/ lib/engine/ops/ kernels/ kernels/ref/
 * links: lib/core/hash.c
 * libs: -lxxhash -lmbedcrypto
 */
#include "lib/engine/plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/slices.h"

/* Tensors of the slice, in order. */
enum { X, W, BIAS, Y, R, B, P, CAT, FLAT, GW, G, F, SM };
/* Layers. */
enum { CONV, RELU, ADD, POOL, CONCAT, RESHAPE, GEMM, DEQ, SOFTMAX };

static int64_t scale, zero_op, relu_hi = 127;

static void add_tensors(struct assay_slice *s)
{
    const enum assay_tensor_role act = ASSAY_ROLE_ACTIVATION;
    static const int8_t weights[16 * 3 * 3 * 8], gemm_weights[10 * 128];
    static const int32_t bias[16];
    slices_tensor(s, "x", ASSAY_ROLE_INPUT, ASSAY_S8, 4,
                  (int64_t[]){1, 4, 4, 8});
    slices_tensor(s, "w", act, ASSAY_S8, 4, (int64_t[]){16, 3, 3, 8});
    slices_data(s, W, weights);
    slices_tensor(s, "bias", act, ASSAY_S32, 1, (int64_t[]){16});
    slices_data(s, BIAS, bias);
    slices_tensor(s, "y", act, ASSAY_S8, 4, (int64_t[]){1, 4, 4, 16});
    slices_tensor(s, "r", act, ASSAY_S8, 4, (int64_t[]){1, 4, 4, 16});
    slices_tensor(s, "b", act, ASSAY_S8, 4, (int64_t[]){1, 4, 4, 16});
    slices_tensor(s, "p", act, ASSAY_S8, 4, (int64_t[]){1, 2, 2, 16});
    slices_tensor(s, "cat", act, ASSAY_S8, 4, (int64_t[]){1, 2, 2, 32});
    slices_tensor(s, "flat", act, ASSAY_S8, 2, (int64_t[]){1, 128});
    slices_tensor(s, "gw", act, ASSAY_S8, 2, (int64_t[]){10, 128});
    slices_data(s, GW, gemm_weights);
    slices_tensor(s, "g", act, ASSAY_S8, 2, (int64_t[]){1, 10});
    slices_tensor(s, "f", act, ASSAY_F32, 2, (int64_t[]){1, 10});
    slices_tensor(s, "sm", act, ASSAY_F32, 2, (int64_t[]){1, 10});
    s->tensors[SM].is_output = true;
    memcpy(s->tensors[CAT].perm, (uint8_t[]){0, 2, 3, 1}, 4);
}

static struct assay_slice *good(void)
{
    struct assay_slice *s = slices_new();
    scale = slices_f32(0.001f);
    zero_op = 0;
    add_tensors(s);
    slices_layer(s, "c1", ASSAY_OP_CONV2D, 3, (uint32_t[]){X, W, BIAS}, Y);
    s->layers[CONV].p.conv2d = (struct assay_conv2d_params){.stride_h = 1,
                                                            .stride_w = 1,
                                                            .dilation_h = 1,
                                                            .dilation_w = 1,
                                                            .pad_top = 1,
                                                            .pad_left = 1,
                                                            .pad_bottom = 1,
                                                            .pad_right = 1,
                                                            .groups = 1,
                                                            .has_bias = true};
    slices_requant(&s->layers[CONV].out_program, &scale);
    slices_layer(s, "relu", ASSAY_OP_UNARY, 1, (uint32_t[]){Y}, R);
    slices_step(&s->layers[RELU].out_program, ASSAY_STEP_CLAMP, 1, &zero_op,
                &relu_hi);
    slices_layer(s, "add", ASSAY_OP_BINARY, 2, (uint32_t[]){Y, R}, B);
    slices_in_programs(s, ADD, 2);
    s->layers[ADD].p.binary.combine = ASSAY_COMBINE_ADD;
    slices_step(&s->layers[ADD].out_program, ASSAY_STEP_SAT, 0, NULL, NULL);
    s->layers[ADD].out_program.steps[0].bits = 8;
    slices_layer(s, "pool", ASSAY_OP_POOL, 1, (uint32_t[]){B}, P);
    s->layers[POOL].p.pool = (struct assay_pool_params){.kind = ASSAY_POOL_MAX,
                                                        .kh = 2,
                                                        .kw = 2,
                                                        .stride_h = 2,
                                                        .stride_w = 2,
                                                        .dilation_h = 1,
                                                        .dilation_w = 1};
    slices_layer(s, "concat", ASSAY_OP_CONCAT, 2, (uint32_t[]){P, P}, CAT);
    s->layers[CONCAT].p.concat.axis = 3;
    slices_layer(s, "flatten", ASSAY_OP_RESHAPE, 1, (uint32_t[]){CAT}, FLAT);
    slices_layer(s, "fc", ASSAY_OP_GEMM, 2, (uint32_t[]){FLAT, GW}, G);
    slices_requant(&s->layers[GEMM].out_program, &scale);
    slices_layer(s, "deq", ASSAY_OP_UNARY, 1, (uint32_t[]){G}, F);
    slices_step(&s->layers[DEQ].out_program, ASSAY_STEP_TO_F32, 0, NULL, NULL);
    slices_layer(s, "softmax", ASSAY_OP_SOFTMAX, 1, (uint32_t[]){F}, SM);
    s->layers[SOFTMAX].p.softmax.kind = ASSAY_SOFTMAX_F32;
    return s;
}

static int plan(struct assay_slice *s, size_t limit, struct assay_err *err)
{
    struct assay_kernel_table table;
    struct assay_plan_limits limits = {.memory_bytes = limit};
    struct assay_plan *p = NULL;
    assay_kernel_table_init(&table, 0);
    int rc = assay_plan_new(&p, s, &table, &limits, err);
    if (rc == 0) {
        assert_non_null(p);
        assert_true(assay_plan_arena_bytes(p) > 0);
    } else {
        assert_null(p);
    }
    assay_plan_free(p);
    return rc;
}

static void good_is_accepted(void **state)
{
    struct assay_slice *s = good();
    struct assay_kernel_table table;
    struct assay_plan *p = NULL;
    struct assay_err err = {0};
    (void)state;
    assay_kernel_table_init(&table, 0);
    int rc = assay_plan_new(&p, s, &table, NULL, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(rc, 0);
    assert_int_equal(assay_plan_macs(p, CONV), 16 * 16 * 72);
    assert_int_equal(assay_plan_macs(p, GEMM), 1280);
    assert_int_equal(assay_plan_macs(p, RELU), 0);
    assert_string_equal(assay_plan_kernel(p, CONV), "assay_conv2d_x8w8__ref");
    assert_string_equal(assay_plan_kernel(p, 1000), "");
    assay_plan_free(p);
    assay_plan_free(NULL);
    assay_slice_free(s);
}

/* ---- one change, one sentence ------------------------------------------------- */

#define L(i) (&s->layers[i])
#define T(i) (&s->tensors[i])
#define CASES \
    CASE(no_layers, s->n_layers = 0, \
         "slice: layers: expected 1 to 65536, found 0") \
    CASE(too_many_tensors, s->n_tensors = 262145, \
         "slice: tensors: expected 1 to 262144, found 262145") \
    CASE(tensor_name, T(Y)->name = NULL, "tensor 3: name is missing") \
    CASE(role, T(Y)->role = (enum assay_tensor_role)3, \
         "tensor 'y': role: expected 0 to 2, found 3") \
    CASE(axes, memset(T(Y)->axes, 'N', sizeof(T(Y)->axes)), \
         "tensor 'y': axes: expected at most 10 labels") \
    CASE(dtype, T(Y)->dtype = (enum assay_dtype)9, \
         "tensor 'y': dtype 9 is not known") \
    CASE(rank, T(Y)->rank = 11, "tensor 'y': rank 11: expected at most 10") \
    CASE(dim_zero, T(Y)->dims[1] = 0, \
         "tensor 'y': dims[1] is 0: expected at least 1") \
    CASE(dims_overflow, T(Y)->dims[1] = (int64_t)1 << 62, \
         "tensor 'y': the product of its dims is too large") \
    CASE(bytes_overflow, \
         (T(F)->dims[0] = (int64_t)1 << 31, T(F)->dims[1] = (int64_t)1 << 31), \
         "tensor 'f': its size in bytes is too large") \
    CASE(perm, T(CAT)->perm[1] = 0, \
         "tensor 'cat': perm: expected a permutation of 0 to 3, found 0 at " \
         "1") \
    CASE(perm_range, T(CAT)->perm[1] = 200, \
         "tensor 'cat': perm: expected a permutation of 0 to 3, found 200 " \
         "at 1") \
    CASE(constant_data, T(W)->data = NULL, \
         "tensor 'w': data of a constant is missing") \
    CASE(constant_size, T(W)->size = 7, \
         "tensor 'w': data: expected 1152 bytes, found 7") \
    CASE(scale_nan, slices_quant(s, X, NAN, 0), \
         "tensor 'x': scale[0]: expected a finite number above 0, found nan") \
    CASE(zero_point, slices_quant(s, X, 1, 128), \
         "tensor 'x': zero_point[0]: expected the range of int8, -128 to " \
         "127, found 128") \
    CASE(quant_length, \
         (slices_quant(s, X, 1, 0), T(X)->quant.n = 3, T(X)->quant.axis = 3), \
         "tensor 'x': scales: expected 8 (dims[3]), found 3") \
    CASE(quant_axis, \
         (slices_quant(s, X, 1, 0), T(X)->quant.n = 8, T(X)->quant.axis = 4), \
         "tensor 'x': quant axis: expected 0 to 3, found 4") \
    CASE(quant_missing, T(X)->quant.n = 1, \
         "tensor 'x': quant: scale or zero_point is missing") \
    CASE(layer_name, L(CONV)->name = NULL, "layer 0: name is missing") \
    CASE(source_op, L(CONV)->source_op = NULL, \
         "layer 0: source_op is missing") \
    CASE(op, L(CONV)->op = (enum assay_op)77, \
         "layer 'c1': op 77 is not known") \
    CASE(input_index, L(CONV)->inputs[1] = 13, \
         "layer 'c1': inputs: tensor index: expected 0 to 12, found 13") \
    CASE(output_index, L(CONV)->output = UINT32_MAX, \
         "layer 'c1': output: tensor index: expected 0 to 12, found " \
         "4294967295") \
    CASE(input_count, L(RELU)->n_inputs = 0, \
         "layer 'relu': inputs: expected 1 to 1, found 0") \
    CASE(inputs_null, L(RELU)->inputs = NULL, \
         "layer 'relu': inputs: expected 1 to 1, found 0") \
    CASE(in_programs_null, L(ADD)->in_programs = NULL, \
         "layer 'add': in_programs: expected at most 64, found 0") \
    CASE(order, L(CONV)->inputs[0] = R, \
         "layer 'c1': input 'r': expected a tensor that an earlier layer " \
         "produces") \
    CASE(twice, L(RELU)->output = Y, \
         "layer 'relu': output 'y': layer 'c1' produces it already") \
    CASE(output_constant, L(CONV)->output = BIAS, \
         "layer 'c1': output 'bias': expected an activation, found a " \
         "constant") \
    CASE(output_input, L(CONV)->output = X, \
         "layer 'c1': output 'x': expected an activation, found an input") \
    CASE(output_missing, s->n_layers = SOFTMAX, \
         "tensor 'sm': no layer produces this output") \
    CASE(conv_rank, (T(X)->rank = 3, T(X)->dims[2] = 32), \
         "layer 'c1': input shape [1,4,32]: expected rank 4, found 3") \
    CASE(conv_groups, L(CONV)->p.conv2d.groups = 3, \
         "layer 'c1': groups: expected a divisor of 8 input and 16 output " \
         "channels, found 3") \
    CASE(conv_groups_zero, L(CONV)->p.conv2d.groups = 0, \
         "layer 'c1': groups: expected a divisor of 8 input and 16 output " \
         "channels, found 0") \
    CASE(conv_weights, L(CONV)->p.conv2d.groups = 2, \
         "layer 'c1': weights shape [16,3,3,8]: expected 4 input channels " \
         "per group, found 8") \
    CASE(conv_stride, L(CONV)->p.conv2d.stride_h = 0, \
         "layer 'c1': stride of axis h: expected 1 to 2147483647, found 0") \
    CASE(conv_pad, L(CONV)->p.conv2d.pad_right = 3, \
         "layer 'c1': output size of axis w: expected 6, found 4") \
    CASE(conv_pad_negative, L(CONV)->p.conv2d.pad_top = -1, \
         "layer 'c1': pad before of axis h: expected 0 to 2147483647, found " \
         "-1") \
    CASE(conv_dilation, L(CONV)->p.conv2d.dilation_h = INT32_MAX, \
         "layer 'c1': kernel extent of axis h: expected at most 6 (input " \
         "and pads), found 4294967295") \
    CASE(conv_size, L(CONV)->p.conv2d.stride_w = 2, \
         "layer 'c1': output size of axis w: expected 2, found 4") \
    CASE(conv_inputs, L(CONV)->p.conv2d.has_second = true, \
         "layer 'c1': inputs: expected 4 (has_bias 1, has_second 1), found " \
         "3") \
    CASE(conv_bias_dtype, (T(BIAS)->dtype = ASSAY_F32), \
         "layer 'c1': bias dtype: expected int32, found float32") \
    CASE(conv_bias_length, (T(BIAS)->dims[0] = 15, T(BIAS)->size = 60), \
         "layer 'c1': bias length: expected 16 (output channels), found 15") \
    CASE(conv_dtype, T(X)->dtype = ASSAY_S32, \
         "layer 'c1': input dtype: expected int8, uint8 or int16, found " \
         "int32") \
    CASE(conv_weights_role, T(W)->role = ASSAY_ROLE_INPUT, \
         "layer 'c1': weights 'w': expected a constant") \
    CASE(conv_channels, (T(Y)->dims[3] = 8, T(Y)->dims[2] = 8), \
         "layer 'c1': output batch and channels: expected 1 and 16, found 1 " \
         "and 8") \
    CASE(program_range, \
         (L(CONV)->out_program.n_steps = 0, \
          memset((void *)(uintptr_t)T(W)->data, 1, 72)), \
         "layer 'c1': out_program: result in channel 0: expected the range " \
         "of int8, -128 to 127, found -9216 to 9144") \
    CASE(program_kind, L(CONV)->out_program.n_steps = 3, \
         "layer 'c1': out_program: result for a int8 output: expected an " \
         "integer, found a binary32") \
    CASE(program_channels, L(CONV)->out_program.steps[1].n = 17, \
         "layer 'c1': out_program step 1 (fmul): operand count: expected 1 " \
         "or 16 (channels), found 17") \
    CASE(unary_shape, T(R)->dims[1] = 5, \
         "layer 'relu': output shape: expected [1,4,4,16], found " \
         "[1,5,4,16]") \
    CASE(binary_programs, L(ADD)->n_in_programs = 1, \
         "layer 'add': in_programs: expected 2, found 1") \
    CASE(binary_combine, L(ADD)->p.binary.combine = (enum assay_combine)44, \
         "layer 'add': out_program step 0 (sat): value: expected an " \
         "integer, found a binary32") \
    CASE(binary_range, L(ADD)->out_program.n_steps = 0, \
         "layer 'add': out_program: result in channel 0: expected the range " \
         "of int8, -128 to 127, found -256 to 254") \
    CASE(pool_kind, L(POOL)->p.pool.kind = 3, \
         "layer 'pool': pool kind: expected 1 or 2, found 3") \
    CASE(pool_size, L(POOL)->p.pool.kh = 5, \
         "layer 'pool': kernel extent of axis h: expected at most 4 (input " \
         "and pads), found 5") \
    CASE(pool_cell, \
         (L(POOL)->p.pool.kind = ASSAY_POOL_AVG, \
          L(POOL)->p.pool.sum = ASSAY_SUM_F32), \
         "layer 'pool': in_programs: expected 1 (a float sum has a cell " \
         "program), found 0") \
    CASE(pool_sum, (L(POOL)->p.pool.kind = ASSAY_POOL_AVG), \
         "layer 'pool': out_program: result in channel 0: expected the " \
         "range of int8, -128 to 127, found -512 to 508") \
    CASE(pool_div_round, \
         (L(POOL)->p.pool.kind = ASSAY_POOL_AVG, \
          L(POOL)->p.pool.div = ASSAY_DIV_INT, L(POOL)->p.pool.div_round = 8), \
         "layer 'pool': div_round: expected 0 to 7, found 8") \
    CASE(concat_axis, L(CONCAT)->p.concat.axis = 4, \
         "layer 'concat': axis: expected 0 to 3, found 4") \
    CASE(concat_sum, T(CAT)->dims[3] = 33, \
         "layer 'concat': output dims[3]: expected 32 (the inputs' sum), " \
         "found 33") \
    CASE(concat_fit, T(CAT)->dims[3] = 31, \
         "layer 'concat': input 1 shape: expected one that fits in output " \
         "[1,2,2,31] along axis 3 behind 16, found [1,2,2,16]") \
    CASE(concat_dtype, T(CAT)->dtype = ASSAY_U8, \
         "layer 'concat': input 0 dtype: expected the output's, uint8, " \
         "found int8") \
    CASE(reshape_count, T(FLAT)->dims[1] = 127, \
         "layer 'flatten': output shape: expected the elements of input " \
         "[1,2,2,32], found [1,127]") \
    CASE(gemm_inner, (T(GW)->dims[0] = 128, T(GW)->dims[1] = 10), \
         "layer 'fc': weights shape [128,10]: expected the last dimension " \
         "of input [1,128]") \
    CASE(gemm_output, T(G)->dims[1] = 11, \
         "layer 'fc': output shape: expected that of input [1,128] with 10 " \
         "last, found [1,11]") \
    CASE(softmax_kind, L(SOFTMAX)->p.softmax.kind = 0, \
         "layer 'softmax': softmax kind: expected 1 or 2, found 0") \
    CASE(softmax_dtype, L(SOFTMAX)->p.softmax.kind = ASSAY_SOFTMAX_TABLE, \
         "layer 'softmax': dtypes: expected int8 or uint8 on both sides, " \
         "found float32 and float32")

static void expect(struct assay_slice *s, const char *want)
{
    struct assay_err err = {0};
    assert_true(plan(s, 0, &err) < 0);
    assert_string_equal(err.text, want);
    assert_true(err.code < 0);
    assert_true(plan(s, 0, NULL) < 0); /* without anybody to tell */
    assay_slice_free(s);
}

#define CASE(name, change, sentence) \
    static void refuses_##name(void **state) \
    { \
        struct assay_slice *s = good(); \
        (void)state; \
        change; \
        expect(s, sentence); \
    }
CASES
#undef CASE

static void refuses_more_than_the_limit(void **state)
{
    struct assay_slice *s = good();
    struct assay_err err = {0};
    (void)state;
    assert_int_equal(plan(s, 1 << 20, &err), 0);
    assert_int_equal(plan(s, 100, &err), ASSAY_EMEMORY);
    assert_memory_equal(err.text, "slice: memory: expected at most 100 bytes",
                        41);
    assay_slice_free(s);
}

/* An accumulator that wraps can be anything: srdhm may follow, add may not. */
static void wide_accumulators(void **state)
{
    struct assay_slice *s = good();
    struct assay_err err = {0};
    int32_t big[16];
    int64_t one = 1;
    (void)state;
    for (int i = 0; i < 16; i++)
        big[i] = INT32_MAX;
    slices_data(s, BIAS, big);
    memset((void *)(uintptr_t)s->tensors[W].data, 127, s->tensors[W].size);
    s->layers[CONV].out_program.n_steps = 0;
    slices_step(&s->layers[CONV].out_program, ASSAY_STEP_ADD_ZP, 1, &one, NULL);
    slices_step(&s->layers[CONV].out_program, ASSAY_STEP_SRDHM, 1, &one, NULL);
    assert_int_equal(plan(s, 0, &err), ASSAY_ERANGE);
    assert_string_equal(err.text,
                        "layer 'c1': out_program step 1 (srdhm): -2147483647 "
                        "to 2147483648 in channel 0 can leave int32, which "
                        "this step takes");
    assay_slice_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_is_accepted),
        cmocka_unit_test(refuses_more_than_the_limit),
        cmocka_unit_test(wide_accumulators),
#define CASE(name, change, sentence) cmocka_unit_test(refuses_##name),
        CASES
#undef CASE
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
