/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an ONNX graph to a slice. Three sources become one kind of value, an
 * operation: QOperator nodes (onnx_qlinear.c), groups DequantizeLinear ... op
 * ... QuantizeLinear (onnx_group.c), and literal float nodes. Emitters turn an
 * operation into a layer; one that cannot answers with assay_onnx_skip(), and
 * the operation becomes a SKIPPED layer: not run, not lost.
 */
#ifndef ASSAY_MODEL_ONNX_IMPORT_H
#define ASSAY_MODEL_ONNX_IMPORT_H

#include "host-tools/model/onnx_graph.h"

/* Answer of an emitter: not an error, im->reason holds why. */
#define ASSAY_ONNX_SKIP 1

struct assay_onnx_operand {
    uint32_t value;       /* ASSAY_ONNX_NONE: left out */
    struct assay_quant q; /* n 0: float, or unknown; axis is the source's */
};

enum assay_onnx_kind {
#define ASSAY_ONNX_KIND(kind, emitter) ASSAY_ONNX_##kind,
#include "host-tools/model/onnx_ops.def"
    ASSAY_ONNX_UNKNOWN,
};

/* Which inputs a group takes from DequantizeLinear: see onnx_ops.def. */
enum assay_onnx_grouping {
    ASSAY_ONNX_NEVER,
    ASSAY_ONNX_FIRST,
    ASSAY_ONNX_BOTH,
    ASSAY_ONNX_EVERY,
    ASSAY_ONNX_PRODUCT,
};

/* A line of onnx_ops.def. */
struct assay_onnx_op {
    const char *name;
    enum assay_onnx_kind kind;
    enum assay_combine combine;
    uint32_t needs; /* inputs, at least */
    enum assay_onnx_grouping group;
};

struct assay_onnx_operation {
    enum assay_onnx_kind kind;
    const struct assay_onnx_node *node; /* its name, op type, attributes */
    bool integer; /* integer arithmetic: QOperator node or group */
    bool trans_b; /* GEMM: b is [N][K] */
    enum assay_combine combine; /* BINARY: FADD, FSUB, FMUL, FDIV */
    uint32_t n_in;
    struct assay_onnx_operand in[ASSAY_MAX_LAYER_INPUTS];
    uint32_t out;               /* value */
    struct assay_quant out_q;   /* n 0: float, or the input's */
    enum assay_dtype out_dtype; /* of a quantized output, else 0 */
    struct assay_program steps; /* float steps of UNARY and MAX_POOL */
    uint32_t shape_from; /* value whose value_info has the output's shape */
};

/* What a group absorbed; one for the head node of each group. */
struct assay_onnx_import {
    const struct assay_onnx_graph *g;
    struct assay_slice *s;
    const struct assay_model_note *note;
    struct assay_err *err;
    int64_t *tensor_of;    /* value -> slice tensor, -1: none yet */
    bool *no_shape;        /* value: written by a layer of unknown shape */
    uint8_t *node_state;   /* enum assay_onnx_state */
    uint32_t *group_reads; /* value: readers of a DQ output inside groups */
    struct assay_onnx_operation **groups; /* by head node, or NULL */
    uint32_t *name_table; /* used layer names: layer index + 1 */
    uint32_t name_bits;
    /* A model with nodes of domain `horizon`: its nodes say themselves how
     * tensors lie, so that all keep the order of the file (onnx_hz.h). */
    bool source_order;
    const uint8_t *perm; /* of the next tensor in such a model; else NULL */
    const struct assay_onnx_node *node; /* in hand */
    char reason[300];
    /* Output shape of the operation in hand, for a SKIPPED layer. */
    bool have_dims;
    uint32_t out_rank;
    int64_t out_dims[ASSAY_MAX_RANK];
};

enum assay_onnx_state {
    ASSAY_ONNX_ALONE = 0,
    ASSAY_ONNX_HEAD = 1,     /* first op of a group: emits its layer */
    ASSAY_ONNX_ABSORBED = 2, /* part of a group: emits nothing */
};

int assay_onnx_skip(struct assay_onnx_import *im, const char *fmt, ...)
    ASSAY_PRINTF(2, 3);
/* "FILE: node 3 (Conv 'c'): text" with the given code. */
int assay_onnx_fail(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n, int code, const char *fmt,
                    ...) ASSAY_PRINTF(4, 5);
void assay_onnx_note(struct assay_onnx_import *im, const char *fmt, ...)
    ASSAY_PRINTF(2, 3);
int assay_onnx_no_memory(struct assay_onnx_import *im);
/* The i-th input of a node, or ASSAY_ONNX_NONE. */
uint32_t assay_onnx_input(const struct assay_onnx_node *n, uint32_t i);
bool assay_onnx_same_quant(const struct assay_quant *a,
                           const struct assay_quant *b);

/* ---- onnx_tensor.c ---------------------------------------------------- */

/* Scale and zero point constants; *dtype becomes the zero point's type (U8
 * where there is none). axis: of the source, used when there are several. */
int assay_onnx_quant(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, uint32_t scale,
                     uint32_t zero, int64_t axis, struct assay_quant *q,
                     enum assay_dtype *dtype) ASSAY_MUST_CHECK;
/* Sets im->out_dims; checks each against 1..2^31-1. */
int assay_onnx_out(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n, uint32_t rank,
                   const int64_t *dims) ASSAY_MUST_CHECK;
/* What the file says of a value's type and shape agrees with dtype and
 * im->out_dims. */
int assay_onnx_check_info(struct assay_onnx_import *im, uint32_t value,
                          enum assay_dtype dtype) ASSAY_MUST_CHECK;
/* The activation that a value is, in source dims im->out_dims. */
int assay_onnx_new_tensor(struct assay_onnx_import *im, uint32_t value,
                          enum assay_dtype dtype, const struct assay_quant *q,
                          uint32_t *index) ASSAY_MUST_CHECK;
/* The tensor of an operand that is computed (or an input); skips when it has
 * none, or was written with another scale. */
int assay_onnx_activation(struct assay_onnx_import *im,
                          const struct assay_onnx_operand *o, uint32_t *index)
    ASSAY_MUST_CHECK;
/* A constant tensor of `rank` dims (source's, leading ones added), stored
 * channels-last when the rank is 4. */
int assay_onnx_new_constant(struct assay_onnx_import *im, const char *name,
                            const struct assay_onnx_const *k, uint32_t rank,
                            const struct assay_quant *q, const char *axes,
                            uint32_t *index) ASSAY_MUST_CHECK;
/* A rank-1 int32 constant. */
int assay_onnx_new_bias(struct assay_onnx_import *im, const char *name,
                        const int32_t *data, uint32_t n, uint32_t *index)
    ASSAY_MUST_CHECK;
/* The constant behind a float value: an initializer, or a dequantized one. */
int assay_onnx_float_const(struct assay_onnx_import *im, uint32_t value,
                           const struct assay_onnx_const **out)
    ASSAY_MUST_CHECK;

/* ---- onnx_layer.c ------------------------------------------------------- */

int assay_onnx_new_layer(struct assay_onnx_import *im,
                         const struct assay_onnx_node *n, enum assay_op op,
                         uint32_t n_inputs, const uint32_t *inputs,
                         uint32_t output, struct assay_layer **layer)
    ASSAY_MUST_CHECK;
/* A step between two tensors that the source has no node for: it is named
 * like its output, not like the node. */
int assay_onnx_new_helper(struct assay_onnx_import *im,
                          const struct assay_onnx_node *n, enum assay_op op,
                          uint32_t input, uint32_t output) ASSAY_MUST_CHECK;
/* Likewise, with any inputs. */
int assay_onnx_new_part(struct assay_onnx_import *im,
                        const struct assay_onnx_node *n, enum assay_op op,
                        uint32_t n_inputs, const uint32_t *inputs,
                        uint32_t output, struct assay_layer **layer)
    ASSAY_MUST_CHECK;
int assay_onnx_new_programs(struct assay_onnx_import *im, struct assay_layer *l,
                            uint32_t n) ASSAY_MUST_CHECK;
int assay_onnx_skip_layer(struct assay_onnx_import *im,
                          const struct assay_onnx_operation *op)
    ASSAY_MUST_CHECK;
/* The same elements stored in another order, by a helper layer: *index
 * becomes the new tensor. perm NULL: as in the source. */
int assay_onnx_reorder(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, const uint8_t *perm,
                       uint32_t *index) ASSAY_MUST_CHECK;
/* Another view of a tensor with leading ones added up to `rank`. */
int assay_onnx_expand(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n, uint32_t rank,
                      uint32_t *index) ASSAY_MUST_CHECK;
int assay_onnx_step(struct assay_onnx_import *im, struct assay_program *p,
                    enum assay_step_kind kind, float a, float b)
    ASSAY_MUST_CHECK;

/* ---- operations: who makes them ----------------------------------------- */

/* A node by itself: QOperator or literal. kind UNKNOWN: not known. */
int assay_onnx_decode(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n,
                      struct assay_onnx_operation *op) ASSAY_MUST_CHECK;
/* The line of a node of ai.onnx, or NULL. */
const struct assay_onnx_op *assay_onnx_op_of(const struct assay_onnx_node *n);
/* onnx_qlinear.c: *known false where it is no QOperator node. */
int assay_onnx_decode_qlinear(struct assay_onnx_import *im,
                              const struct assay_onnx_node *n,
                              struct assay_onnx_operation *op, bool *known)
    ASSAY_MUST_CHECK;
/* onnx_group.c: marks all groups. */
int assay_onnx_find_groups(struct assay_onnx_import *im) ASSAY_MUST_CHECK;
/* onnx_elementwise.c: float steps of a one-operand node (Relu, Clip, Div by
 * a constant, ...); *data is the operand's value. *known false: not one. */
int assay_onnx_unary_steps(struct assay_onnx_import *im,
                           const struct assay_onnx_node *n,
                           struct assay_program *steps, uint32_t *data,
                           bool *known) ASSAY_MUST_CHECK;

/* ---- emitters ------------------------------------------------------------ */

typedef int assay_onnx_emit_fn(struct assay_onnx_import *im,
                               struct assay_onnx_operation *op);
#define ASSAY_ONNX_KIND(kind, emitter) assay_onnx_emit_fn emitter;
#include "host-tools/model/onnx_ops.def"

/* The stored axis of a source axis, or -1. */
int32_t assay_onnx_stored_axis(const struct assay_tensor *t, int64_t axis);
/* Attribute 'axis' in 0..rank-1; `missing` where there is none. */
int assay_onnx_axis(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n, int64_t missing,
                    uint32_t rank, int64_t *axis) ASSAY_MUST_CHECK;
/* onnx_hz.c: does the table have an emitter for this node? */
bool assay_onnx_is_horizon(const struct assay_onnx_import *im,
                           const struct assay_onnx_node *n);
/* onnx_hz.c: is any node of domain `horizon`? */
bool assay_onnx_has_horizon(const struct assay_onnx_graph *g);
/* Scales that the file itself holds, once all layers exist. */
int assay_onnx_horizon_scales(struct assay_onnx_import *im) ASSAY_MUST_CHECK;

/* onnx_window.c: how a window slides, for convolutions and pools. */
struct assay_onnx_window {
    int64_t kernel[2], stride[2], dilation[2], out[2];
    int64_t pad[4]; /* top, left, bottom, right; ceil_mode enlarges */
    bool enlarged;
    bool cropped; /* SAME_UPPER without enough room: see slide() */
};
int assay_onnx_window(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n, const int64_t in[2],
                      const int64_t *kernel, struct assay_onnx_window *w)
    ASSAY_MUST_CHECK;

#endif
