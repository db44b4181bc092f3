/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entry points of the kernels, and the table that chooses among them.
 *
 * A kernel is a pure function: a parameter struct and buffers in, integers
 * out. No allocation, no stdio, no errno, no globals; packed weights and
 * scratch belong to the caller, who asks for their sizes. Any thread.
 *
 * Names: assay_<op>_<in><weight>__<isa>, e.g. assay_conv2d_x8w8__dotprod:
 * x8 is int8 or uint8 activations (the parameter says which), w8 weights
 * likewise, x16 int16. The output type is the program's (docs/numerics.md).
 *
 * Tensors are dense, NHWC; weights OHWI ([oc][kh][kw][c/groups]).
 * All products of sizes fit int64 and all indices fit size_t: the engine's
 * plan has proved it, kernels only assert.
 */
#ifndef ASSAY_KERNELS_KERNELS_H
#define ASSAY_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu.h"
#include "kernels/program.h"
#include "kernels/requant.h"

/* Rungs in ascending order; the scalar one is always there. */
enum assay_isa {
    ASSAY_ISA_REF = 0,
    ASSAY_ISA_NEON = 1,
    ASSAY_ISA_DOTPROD = 2,
    ASSAY_ISA_I8MM = 3,
    ASSAY_ISA_COUNT = 4,
};
const char *assay_isa_name(enum assay_isa isa); /* "scalar", "neon", ... */

/* ---- convolution, depthwise convolution, gemm ------------------------ */

/*
 * acc[o] = bias[o] + sum (x - x_zero) * (w - w_zero[o]), then the program.
 * Cells outside the image contribute 0 (x = x_zero). The accumulator is
 * int32 and wraps for 8-bit x, int64 for int16 x (numerics.md 3).
 * A gemm of M x K by K x N is the case h = 1, w = M, c = K, oc = N, 1x1.
 */
struct assay_conv2d {
    int32_t n, h, w, c;                                 /* input, >= 1 */
    int32_t oh, ow, oc;                                 /* output, >= 1 */
    int32_t kh, kw;                                     /* >= 1 */
    int32_t stride_h, stride_w, dilation_h, dilation_w; /* >= 1 */
    int32_t pad_top, pad_left; /* >= 0; bottom and right follow from oh, ow */
    int32_t groups;            /* divides c and oc */
    enum assay_dtype x_dtype;  /* S8, U8 | S16 */
    enum assay_dtype w_dtype;  /* S8, U8 */
    enum assay_dtype y_dtype;  /* what the program leaves */
    int32_t x_zero;            /* in the range of x_dtype */
    const int32_t *w_zero;     /* oc entries, each in the range of w_dtype */
    const void *weights;       /* oc * kh * kw * (c / groups) elements */
    const int32_t *bias;       /* oc entries or NULL */
    const struct assay_program *program;
    const void *second; /* fused second operand for ADD_INPUT, ADD_SCALED: */
    enum assay_dtype second_dtype; /* dense, the output's shape, S8..S32; */
                                   /* else NULL */
};

struct assay_conv2d_kernel {
    const char *name; /* its symbol, for reports */
    enum assay_isa isa;
    /* weights, w_zero, bias as in pack(), or weights NULL: made at run time. */
    bool (*supports)(const struct assay_conv2d *p);
    size_t (*packed_size)(const struct assay_conv2d *p);
    void (*pack)(const struct assay_conv2d *p, void *packed);
    size_t (*scratch_size)(const struct assay_conv2d *p);
    /* packed and scratch are 64-byte aligned. */
    void (*run)(const struct assay_conv2d *p, const void *packed, const void *x,
                void *y, void *scratch);
};

/* ---- elementwise ------------------------------------------------------ */

/* y[k] = program(x[k]); channel of k is k % channels. */
struct assay_unary {
    enum assay_dtype x_dtype, y_dtype;
    size_t n;
    size_t channels; /* >= 1: length of the last dimension */
    const struct assay_program *program;
};

struct assay_unary_kernel {
    const char *name;
    enum assay_isa isa;
    bool (*supports)(const struct assay_unary *p);
    void (*run)(const struct assay_unary *p, const void *x, void *y);
};

#define ASSAY_KERNEL_RANK 10

/* y = out(combine(pa(a), pb(b))), with broadcast. */
struct assay_binary {
    enum assay_dtype a_dtype, b_dtype, y_dtype;
    uint32_t rank;                        /* 1..10 */
    int64_t dims[ASSAY_KERNEL_RANK];      /* of the dense output */
    int64_t a_strides[ASSAY_KERNEL_RANK]; /* in elements, 0 = broadcast */
    int64_t b_strides[ASSAY_KERNEL_RANK];
    const struct assay_program *pa, *pb, *out; /* n_steps may be 0 */
    enum assay_combine combine;
    float k; /* operand of COMBINE_FFMA */
};

struct assay_binary_kernel {
    const char *name;
    enum assay_isa isa;
    bool (*supports)(const struct assay_binary *p);
    void (*run)(const struct assay_binary *p, const void *a, const void *b,
                void *y);
};

/* ---- pools ------------------------------------------------------------ */

/* Average of the cells inside the image, or of kh*kw (count_include_pad). */
struct assay_pool {
    enum assay_pool_kind kind;
    int32_t n, h, w, c, oh, ow, kh, kw;
    int32_t stride_h, stride_w, dilation_h, dilation_w;
    int32_t pad_top, pad_left;
    enum assay_dtype x_dtype, y_dtype; /* MAX without program: equal */
    int32_t x_zero;                    /* AVG with SUM_INT */
    enum assay_pool_sum sum;
    enum assay_pool_div div;
    enum assay_round div_round;
    bool count_include_pad;
    const struct assay_program *cell; /* SUM_F32: element to f32 */
    const struct assay_program *out;  /* n_steps may be 0 */
};

struct assay_pool_kernel {
    const char *name;
    enum assay_isa isa;
    bool (*supports)(const struct assay_pool *p);
    void (*run)(const struct assay_pool *p, const void *x, void *y);
};

/* ---- softmax ----------------------------------------------------------- */

/* Over the last dimension of rows x cols. */
struct assay_softmax {
    enum assay_softmax_kind kind;
    enum assay_dtype x_dtype, y_dtype;
    int64_t rows, cols;
    const uint32_t *table; /* TABLE: 256 entries, index by 255 - (max - x) */
    float y_scale;         /* TABLE */
    int32_t y_zero;
};

struct assay_softmax_kernel {
    const char *name;
    enum assay_isa isa;
    bool (*supports)(const struct assay_softmax *p);
    void (*run)(const struct assay_softmax *p, const void *x, void *y);
};

/* ---- data movement ------------------------------------------------------ */

/* dst[i...] = src[i...] for all indices below dims; strides in elements. */
struct assay_copy {
    uint32_t rank; /* 1..10 */
    int64_t dims[ASSAY_KERNEL_RANK];
    int64_t src_strides[ASSAY_KERNEL_RANK];
    int64_t dst_strides[ASSAY_KERNEL_RANK];
    size_t elem_size; /* 1, 2, 4 or 8 */
};

struct assay_copy_kernel {
    const char *name;
    enum assay_isa isa;
    bool (*supports)(const struct assay_copy *p);
    void (*run)(const struct assay_copy *p, const void *src, void *dst);
};

/* ---- tables -------------------------------------------------------------- */

/* y[k] = table[x[k] - lowest value of x_dtype]. */
struct assay_table {
    enum assay_dtype x_dtype; /* S8, U8 */
    enum assay_dtype y_dtype;
    size_t n;
    const void *table; /* 256 elements of y_dtype */
};

struct assay_table_kernel {
    const char *name;
    enum assay_isa isa;
    bool (*supports)(const struct assay_table *p);
    void (*run)(const struct assay_table *p, const void *x, void *y);
};

/*
 * Eight segments: the outer two are lines, the inner six interpolate between
 * 64 entries each (docs/numerics.md "Segment table").
 */
#define ASSAY_KERNEL_SEGMENTS 8
struct assay_segment_table {
    enum assay_dtype x_dtype, y_dtype; /* x: S8, S16 */
    size_t n;
    const int16_t *table; /* 6 x 64 */
    struct {
        int32_t bound, scale, bias;      /* bounds ascend */
        int32_t left_shift, right_shift; /* 0..31 */
    } segments[ASSAY_KERNEL_SEGMENTS];
    enum assay_symmetry symmetry;
    enum assay_round round, mix_round;
    const struct assay_program *out; /* n_steps may be 0 */
};

struct assay_segment_table_kernel {
    const char *name;
    enum assay_isa isa;
    bool (*supports)(const struct assay_segment_table *p);
    void (*run)(const struct assay_segment_table *p, const void *x, void *y);
};

/* ---- reductions ------------------------------------------------------------ */

/* Over the axes whose bit is set; the others in stored order give y. */
struct assay_reduce {
    enum assay_reduce_kind kind;
    enum assay_dtype x_dtype, y_dtype;
    uint32_t rank; /* 1..10 */
    int64_t dims[ASSAY_KERNEL_RANK];
    uint32_t axes;                   /* bit mask, at least one */
    const struct assay_program *out; /* channel 0: per tensor only */
};

struct assay_reduce_kernel {
    const char *name;
    enum assay_isa isa;
    bool (*supports)(const struct assay_reduce *p);
    void (*run)(const struct assay_reduce *p, const void *x, void *y);
};

/* ---- sampling ---------------------------------------------------------------- */

/* Fields as in struct assay_resize_params (lib/core/slice.h). */
struct assay_resize {
    int32_t n, h, w, c, oh, ow;
    int32_t step_h, step_w, start_h, start_w;
    uint32_t decimal_bits, weight_bits, mid_shift;
    enum assay_dtype x_dtype, y_dtype; /* x: S8, U8, S16 */
    const struct assay_program *out;
};

struct assay_resize_kernel {
    const char *name;
    enum assay_isa isa;
    bool (*supports)(const struct assay_resize *p);
    void (*run)(const struct assay_resize *p, const void *x, void *y);
};

/* Fields as in struct assay_grid_sample_params. */
struct assay_grid_sample {
    int32_t n, h, w, c, oh, ow;
    bool nearest, absolute, xy;
    enum assay_grid_padding padding;
    uint32_t coord_shift;
    enum assay_dtype x_dtype, y_dtype; /* x: S8, U8, S16 */
    const struct assay_program *out;
};

struct assay_grid_sample_kernel {
    const char *name;
    enum assay_isa isa;
    bool (*supports)(const struct assay_grid_sample *p);
    void (*run)(const struct assay_grid_sample *p, const void *x,
                const int16_t *grid, void *y);
};

/* ---- float layers ------------------------------------------------------------ */

/* y[k] = function(x[k]), binary32. */
struct assay_float_function {
    enum assay_function kind;
    size_t n;
};

struct assay_function_kernel {
    const char *name;
    enum assay_isa isa;
    bool (*supports)(const struct assay_float_function *p);
    void (*run)(const struct assay_float_function *p, const float *x, float *y);
};

/* Over the last dimension of rows x cols, binary32. */
struct assay_normalization {
    enum assay_normalize kind;
    size_t rows, cols; /* cols >= 1 */
    float epsilon;
};

struct assay_normalize_kernel {
    const char *name;
    enum assay_isa isa;
    bool (*supports)(const struct assay_normalization *p);
    /* gamma and beta: cols elements, or NULL. */
    void (*run)(const struct assay_normalization *p, const float *x,
                const float *gamma, const float *beta, float *y);
};

/* ---- select ------------------------------------------------------------------- */

/* y = condition != 0 ? a : b, with broadcast. */
struct assay_select {
    enum assay_dtype condition_dtype;     /* integers */
    size_t elem_size;                     /* of a, b, y: 1, 2, 4 or 8 */
    uint32_t rank;                        /* 1..10 */
    int64_t dims[ASSAY_KERNEL_RANK];      /* of the dense output */
    int64_t c_strides[ASSAY_KERNEL_RANK]; /* in elements, 0 = broadcast */
    int64_t a_strides[ASSAY_KERNEL_RANK];
    int64_t b_strides[ASSAY_KERNEL_RANK];
};

struct assay_select_kernel {
    const char *name;
    enum assay_isa isa;
    bool (*supports)(const struct assay_select *p);
    void (*run)(const struct assay_select *p, const void *condition,
                const void *a, const void *b, void *y);
};

/* The step interpreter of requant.h as a table entry. */
struct assay_program_kernel {
    const char *name;
    enum assay_isa isa;
    assay_program_fn *run;
};

/* ---- the table ----------------------------------------------------------- */

/* kernels.def: ASSAY_KERNEL(slot, kind, isa) */
#define ASSAY_KERNEL(slot, kind, isa) \
    extern const struct assay_##kind##_kernel assay_##slot##__##isa;
#include "kernels/kernels.def"
#undef ASSAY_KERNEL

/*
 * One row a slot, one column a rung; NULL where the rung has no kernel of
 * its own or its bit is masked. Owned by the caller, filled by init.
 */
struct assay_kernel_table {
    uint32_t flags; /* detected & mask */
#define ASSAY_SLOT(slot, kind) \
    const struct assay_##kind##_kernel *slot[ASSAY_ISA_COUNT];
#include "kernels/slots.def"
#undef ASSAY_SLOT
};

/* Fills the table: scalar first, rungs in `flags` above it. */
void assay_kernel_table_init(struct assay_kernel_table *t, uint32_t flags);

/* The highest rung that supports the parameters; the scalar one at worst. */
const struct assay_conv2d_kernel *assay_pick_conv2d(
    const struct assay_kernel_table *t, const struct assay_conv2d *p);
const struct assay_unary_kernel *assay_pick_unary(
    const struct assay_kernel_table *t, const struct assay_unary *p);
const struct assay_binary_kernel *assay_pick_binary(
    const struct assay_kernel_table *t, const struct assay_binary *p);
const struct assay_pool_kernel *assay_pick_pool(
    const struct assay_kernel_table *t, const struct assay_pool *p);
const struct assay_softmax_kernel *assay_pick_softmax(
    const struct assay_kernel_table *t, const struct assay_softmax *p);
const struct assay_copy_kernel *assay_pick_copy(
    const struct assay_kernel_table *t, const struct assay_copy *p);
const struct assay_table_kernel *assay_pick_table(
    const struct assay_kernel_table *t, const struct assay_table *p);
const struct assay_segment_table_kernel *assay_pick_segment_table(
    const struct assay_kernel_table *t, const struct assay_segment_table *p);
const struct assay_reduce_kernel *assay_pick_reduce(
    const struct assay_kernel_table *t, const struct assay_reduce *p);
const struct assay_resize_kernel *assay_pick_resize(
    const struct assay_kernel_table *t, const struct assay_resize *p);
const struct assay_grid_sample_kernel *assay_pick_grid_sample(
    const struct assay_kernel_table *t, const struct assay_grid_sample *p);
const struct assay_function_kernel *assay_pick_function(
    const struct assay_kernel_table *t, const struct assay_float_function *p);
const struct assay_normalize_kernel *assay_pick_normalize(
    const struct assay_kernel_table *t, const struct assay_normalization *p);
const struct assay_select_kernel *assay_pick_select(
    const struct assay_kernel_table *t, const struct assay_select *p);

/* Calls fn for every registered kernel of this build, slot by slot. */
typedef void assay_kernel_visit_fn(void *arg, const char *slot,
                                   const char *name, enum assay_isa isa);
void assay_kernel_list(assay_kernel_visit_fn *fn, void *arg);

#endif
