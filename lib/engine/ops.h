/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators: one file of ops/ each, {check, prepare, run}, in one list.
 *
 * check() proves everything of its layer that is left after tensors and
 * indices were checked, chooses the kernel, and says what memory the layer
 * needs; it is the only one that can fail. prepare() packs constants into the
 * plan's memory. run() computes; it allocates nothing and changes nothing of
 * the plan. Private to lib/engine.
 */
#ifndef ASSAY_ENGINE_OPS_H
#define ASSAY_ENGINE_OPS_H

#include "kernels/kernels.h"
#include "lib/core/err.h"
#include "lib/core/slice.h"
#include "lib/engine/range.h"

#define ASSAY_ALIGNMENT ((size_t)64) /* of packed constants and buffers */

/* What check() is given. */
struct assay_op_check {
    const struct assay_slice *slice;
    const struct assay_layer *layer;
    const struct assay_kernel_table *table;
    struct assay_arena *memory; /* the plan's, for small arrays */
    struct assay_err *err;
};

/* What check() finds. `params` is the operator's own, in the plan's memory. */
struct assay_op_plan {
    const struct assay_op_vtable *op;
    void *params;
    const char *kernel; /* name, static */
    size_t packed_bytes, scratch_bytes;
    uint64_t macs;
    const void *packed; /* set before run() */
};

/* Buffers of one run; in[i] belongs to layer input i. 64-byte aligned where
 * they are the arena's, else aligned for their dtype. */
struct assay_op_io {
    const void *const *in;
    void *out;
    void *scratch;
};

struct assay_op_vtable {
    enum assay_op number;
    size_t params_bytes;
    uint32_t min_inputs, max_inputs;
    int (*check)(const struct assay_op_check *c, struct assay_op_plan *plan)
        ASSAY_MUST_CHECK;
    void (*prepare)(const struct assay_op_plan *plan, void *packed);
    void (*run)(const struct assay_op_plan *plan, const struct assay_op_io *io);
};

extern const struct assay_op_vtable assay_op_conv2d, assay_op_gemm,
    assay_op_unary, assay_op_binary, assay_op_pool, assay_op_concat,
    assay_op_reshape, assay_op_softmax, assay_op_view, assay_op_gather,
    assay_op_reduce, assay_op_matmul, assay_op_conv_transpose2d, assay_op_prelu,
    assay_op_table, assay_op_segment_table, assay_op_resize,
    assay_op_grid_sample, assay_op_function, assay_op_normalize,
    assay_op_select;

/* NULL: not known. SKIPPED has no entry: it is never run. */
const struct assay_op_vtable *assay_op_find(enum assay_op number);

/* ---- what the checks share (shape.c) -------------------------------------- */

/* A sentence that begins with the layer; returns the code. */
#define ASSAY_REFUSE_LAYER(c, code, ...) \
    assay_layer_prefix((c), assay_fail((c)->err, (code), __VA_ARGS__))
/* Puts "layer 'name': " in front when code is not 0; returns code. */
int assay_layer_prefix(const struct assay_op_check *c, int code);

const struct assay_tensor *assay_layer_input(const struct assay_op_check *c,
                                             uint32_t i);
const struct assay_tensor *assay_layer_output(const struct assay_op_check *c);

/* "[1,28,28,64]" into out, which holds ASSAY_SHAPE_TEXT bytes; returns out. */
#define ASSAY_SHAPE_TEXT 240
const char *assay_shape_text(const struct assay_tensor *t, char *out);
size_t assay_tensor_elements(const struct assay_tensor *t); /* checked before */
/* Length of the last stored axis; 1 for a scalar. */
size_t assay_tensor_channels(const struct assay_tensor *t);
bool assay_same_dims(const struct assay_tensor *a,
                     const struct assay_tensor *b);
/* Refuses other dims than the first's. */
int assay_check_same_dims(const struct assay_op_check *c,
                          const struct assay_tensor *want, const char *what,
                          const struct assay_tensor *found) ASSAY_MUST_CHECK;
/* Dense strides of t, right-aligned to the output's rank (a scalar's is 1); 0
 * where it is broadcast. */
int assay_check_broadcast(const struct assay_op_check *c, const char *what,
                          const struct assay_tensor *t, int64_t *strides)
    ASSAY_MUST_CHECK;
/* Rank and every dim at most INT32_MAX. */
int assay_check_rank(const struct assay_op_check *c, const char *what,
                     const struct assay_tensor *t, uint32_t rank)
    ASSAY_MUST_CHECK;
/* The output has the batch of x and this many channels; both of rank 4. */
int assay_check_batch(const struct assay_op_check *c,
                      const struct assay_tensor *x, int64_t channels)
    ASSAY_MUST_CHECK;
/* Zero point of a tensor: one for all channels, 0 where it has none. */
int assay_check_zero(const struct assay_op_check *c, const char *what,
                     const struct assay_tensor *t, int32_t *zero)
    ASSAY_MUST_CHECK;
int assay_check_no_in_programs(const struct assay_op_check *c) ASSAY_MUST_CHECK;
/* Neither in_programs nor steps of out_program: elements stay as they are. */
int assay_check_no_programs(const struct assay_op_check *c) ASSAY_MUST_CHECK;
/* "what dtype: expected whose, int8, found uint8" */
int assay_check_dtype(const struct assay_op_check *c, const char *what,
                      const struct assay_tensor *found, const char *whose,
                      enum assay_dtype want) ASSAY_MUST_CHECK;
int assay_check_float(const struct assay_op_check *c, const char *what,
                      const struct assay_tensor *t) ASSAY_MUST_CHECK;
/* A tensor whose bytes the check itself reads. */
int assay_check_constant(const struct assay_op_check *c, const char *what,
                         const struct assay_tensor *t) ASSAY_MUST_CHECK;
/* The form of out_program for values `v`, and their range in each of
 * `channels` up to the output's dtype. */
int assay_check_out_program(const struct assay_op_check *c, size_t channels,
                            const struct assay_interval *v) ASSAY_MUST_CHECK;

/* One axis of a window that slides over an image. */
struct assay_window_axis {
    const char *axis; /* "h" or "w" */
    int64_t in, out, kernel, stride, dilation, pad_before, pad_after;
    bool may_miss; /* a window may lie in the padding altogether */
};
/* Strides, pads, and the output size under the floor or ceil formula. */
int assay_check_window(const struct assay_op_check *c,
                       const struct assay_window_axis *w) ASSAY_MUST_CHECK;

#endif
