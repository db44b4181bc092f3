/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators of domain `horizon` (the fixed-point model of RDK X5), and the
 * standard ones that stand between them. Such a model is self-describing: its
 * nodes hold shifts and multipliers. Where it is a choice how they are used, the
 * reader gives a layer its form and fields, and a numerics writes the programs
 * (lib/core/form.h); others get theirs here. Tensors keep the order of the
 * file, since these nodes work on NHWC and transposes are nodes of their own.
 *
 * Two kinds of "no": what contradicts itself (an attribute that is missing, a
 * shift out of range, a table of wrong length) is refused with one sentence,
 * and nothing is loaded; what is not known or was never measured (another
 * value of an attribute, another type) becomes a SKIPPED layer that says so.
 */
#ifndef ASSAY_MODEL_ONNX_HZ_H
#define ASSAY_MODEL_ONNX_HZ_H

#include "host-tools/model/onnx_import.h"
#include "lib/core/arith_build.h"
#include "lib/core/form.h"

#define ASSAY_HZ_S8 (1u << ASSAY_S8)
#define ASSAY_HZ_S16 (1u << ASSAY_S16)
#define ASSAY_HZ_S32 (1u << ASSAY_S32)
#define ASSAY_HZ_F32 (1u << ASSAY_F32)
#define ASSAY_HZ_S8_16 (ASSAY_HZ_S8 | ASSAY_HZ_S16)
#define ASSAY_HZ_INTS (ASSAY_HZ_S8_16 | ASSAY_HZ_S32)
#define ASSAY_HZ_ANY (~0u)

typedef int assay_hz_emit_fn(struct assay_onnx_import *im,
                             const struct assay_onnx_node *n);

/* ---- onnx_hz_attr.c: what a node says of itself ------------------------- */

/* One entry, or one a channel; entries that are all equal become one. */
struct assay_hz_list {
    uint32_t n;
    const int64_t *v;
};

/* One entry or `channels` (0: however many) in lo..hi. missing NULL: it must
 * be there. */
int assay_hz_list(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                  const char *name, int64_t channels, int64_t lo, int64_t hi,
                  const int64_t *missing, struct assay_hz_list *out)
    ASSAY_MUST_CHECK;
/* Likewise; skips where entries differ. */
int assay_hz_list_one(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n, const char *name,
                      int64_t channels, int64_t lo, int64_t hi,
                      struct assay_hz_list *out) ASSAY_MUST_CHECK;
/* Exactly `count` entries. */
int assay_hz_row(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                 const char *name, size_t count, int64_t lo, int64_t hi,
                 const int64_t **out) ASSAY_MUST_CHECK;
int assay_hz_int(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                 const char *name, int64_t lo, int64_t hi,
                 const int64_t *missing, int64_t *out) ASSAY_MUST_CHECK;
/* Which of the words (parted by blanks) it is; another one is skipped. When
 * it is missing: *which -1 where that is allowed, else refused. */
int assay_hz_word(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                  const char *name, const char *words, bool required,
                  int *which) ASSAY_MUST_CHECK;
/* data_format: NHWC or, where *nhwc may be false, none. */
int assay_hz_format(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n, bool required, bool *nhwc)
    ASSAY_MUST_CHECK;
/* rounding_method: ROUND and HARDWARE are alike, as measured. */
int assay_hz_rounding(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n) ASSAY_MUST_CHECK;
/* Attributes are among the words; another one is skipped. */
int assay_hz_attrs(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n, const char *words)
    ASSAY_MUST_CHECK;
/* A list of integers from an attribute, or from a constant input. */
int assay_hz_ints(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                  const char *name, uint32_t input, int64_t *out,
                  uint32_t *count, bool *found) ASSAY_MUST_CHECK;

/* ---- onnx_hz.c: operands, outputs, programs ----------------------------- */

/* The i-th input as a tensor (a constant one keeps its shape), of one of the
 * dtypes in mask. what: its name in the operator's own words. */
int assay_hz_input(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n, uint32_t i,
                   const char *what, unsigned mask, uint32_t *index)
    ASSAY_MUST_CHECK;
/* Likewise, of rank 4. */
int assay_hz_image(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n, uint32_t i,
                   const char *what, unsigned mask, uint32_t *index)
    ASSAY_MUST_CHECK;
/* A constant input of that dtype; count 0: any number of elements. */
int assay_hz_const(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n, uint32_t i,
                   const char *what, enum assay_dtype dtype, size_t count,
                   const struct assay_onnx_const **out) ASSAY_MUST_CHECK;
/* The type of the i-th output, which only the file's remarks have; agrees
 * with output_bit where there is one. */
int assay_hz_out_dtype(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, uint32_t i,
                       unsigned mask, enum assay_dtype *dtype) ASSAY_MUST_CHECK;
/* The i-th output as a new tensor. */
int assay_hz_output(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n, uint32_t i, unsigned mask,
                    uint32_t rank, const int64_t *dims, const char *axes,
                    uint32_t *index) ASSAY_MUST_CHECK;
/* A tensor that the source does not have, named after its output. */
int assay_hz_between(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, enum assay_dtype dtype,
                     uint32_t rank, const int64_t *dims, uint32_t *index)
    ASSAY_MUST_CHECK;
/* A constant that the node holds in attributes. */
int assay_hz_made(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                  const char *what, enum assay_dtype dtype, uint32_t rank,
                  const int64_t *dims, const void *data, uint32_t *index)
    ASSAY_MUST_CHECK;
const char *assay_hz_axes(const struct assay_onnx_import *im, uint32_t index);

/* A field of the layer, as a rule names it. */
int assay_hz_field(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n, struct assay_layer *l,
                   const char *name, const struct assay_hz_list *list)
    ASSAY_MUST_CHECK;
int assay_hz_field_one(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, struct assay_layer *l,
                       const char *name, int64_t v) ASSAY_MUST_CHECK;
/* scale_f32: bit patterns of `count` numbers. */
int assay_hz_field_f32(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, struct assay_layer *l,
                       size_t count, const float *v) ASSAY_MUST_CHECK;
void assay_hz_begin(struct assay_builder *b, struct assay_onnx_import *im);
void assay_hz_step(struct assay_builder *b, enum assay_step_kind kind,
                   const struct assay_hz_list *l);
void assay_hz_shr(struct assay_builder *b, const struct assay_hz_list *l,
                  enum assay_round round);
/* Saturates to the dtype, unless it is wider than what can be there. */
void assay_hz_sat(struct assay_builder *b, enum assay_dtype dtype);
int assay_hz_end(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                 const struct assay_builder *b, struct assay_program *out)
    ASSAY_MUST_CHECK;
/* Shift, multiplier, shift: what most layers end in; by their attributes'
 * names, checked: shifts in 0..31, the multiplier an int32. */
struct assay_hz_scaling {
    struct assay_hz_list first, scale, second;
};
int assay_hz_scaling(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, const char *first,
                     const char *scale, const char *second, int64_t channels,
                     struct assay_hz_scaling *out) ASSAY_MUST_CHECK;
/* As the fields pre_shift, scale, post_shift of a layer of that form. */
int assay_hz_scaled(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n, struct assay_layer *l,
                    const char *form, const struct assay_hz_scaling *k)
    ASSAY_MUST_CHECK;

/* ---- onnx_hz_shape.c ---------------------------------------------------- */

/* A layer whose output has the shape and the labels of its first input. */
int assay_hz_like(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                  enum assay_op op, uint32_t n_in, const uint32_t *in,
                  unsigned mask, const char *arith, struct assay_layer **l)
    ASSAY_MUST_CHECK;
/* What two tensors give when broadcast; the last `tail` dims are not set. */
int assay_hz_broadcast(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, const uint32_t *in,
                       uint32_t tail, uint32_t *rank, int64_t *dims)
    ASSAY_MUST_CHECK;
/* A BINARY layer of two tensors, into the node's output or, where `between` is
 * a dtype, into a tensor of that type. axes: the output's, "": the operands'. */
int assay_hz_pair(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                  const uint32_t *operands, enum assay_dtype between,
                  unsigned mask, const char *axes, enum assay_combine combine,
                  struct assay_layer **l) ASSAY_MUST_CHECK;

/* ---- onnx_hz_index.c ---------------------------------------------------- */

/* Elements of an axis by their indices: a GATHER layer from *x, which becomes
 * its output; the node's own when `last`. */
int assay_hz_pick(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                  uint32_t *x, uint32_t axis, const int32_t *indices,
                  int64_t count, bool last) ASSAY_MUST_CHECK;

/* ---- onnx_hz_move.c ----------------------------------------------------- */

/* One VIEW layer; its dims and strides are filled in afterwards. */
int assay_hz_view(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                  uint32_t x, uint32_t y, const struct assay_view_params *v)
    ASSAY_MUST_CHECK;

/* ---- emitters ----------------------------------------------------------- */

assay_hz_emit_fn assay_hz_quantize, assay_hz_dequantize, assay_hz_requantize,
    assay_hz_add, assay_hz_mul, assay_hz_prelu, assay_hz_several, assay_hz_cast,
    assay_hz_bit_shift, assay_hz_compare, assay_hz_pad, assay_hz_std_pad,
    assay_hz_std_resize, assay_hz_neg, assay_hz_relu, assay_hz_conv,
    assay_hz_conv_transpose, assay_hz_matmul, assay_hz_lut, assay_hz_lut2,
    assay_hz_max_pool, assay_hz_avg_pool, assay_hz_global_max_pool,
    assay_hz_gap, assay_hz_reduce_max, assay_hz_reduce_scaled, assay_hz_arg_max,
    assay_hz_roi_resize, assay_hz_upsample, assay_hz_grid_sample,
    assay_hz_depth_to_space, assay_hz_space_to_depth, assay_hz_channel_shuffle,
    assay_hz_split, assay_hz_slice, assay_hz_gather, assay_hz_tile,
    assay_hz_expand, assay_hz_std_depth_to_space, assay_hz_std_space_to_depth,
    assay_hz_std_reduce, assay_hz_std_softmax, assay_hz_concat;

#endif
