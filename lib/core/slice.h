/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slice: a self-contained run of layers, what a model reader produces, the
 * wire carries, and the engine runs. Plain values, all fields public; memory
 * belongs to the slice's arena and is freed by assay_slice_free().
 * One thread at a time while it is built; read-only and shared afterwards.
 *
 * Nothing here is trusted by the engine: plan.c proves shapes, indices,
 * programs and ranges ("third door", docs/ARCHITECTURE.md).
 */
#ifndef ASSAY_CORE_SLICE_H
#define ASSAY_CORE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/program.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/hash.h"

#define ASSAY_MAX_RANK 10
#define ASSAY_MAX_LAYER_INPUTS 64 /* concat is the one with many */
#define ASSAY_MAX_LAYERS 65536
#define ASSAY_MAX_TENSORS 262144

/* Scale and zero point of a tensor; n == 0: not quantized. */
struct assay_quant {
    uint32_t n;                /* 0, 1, or dims[axis] */
    int32_t axis;              /* stored axis when n > 1, else -1 */
    const float *scale;        /* n, finite, > 0 */
    const int32_t *zero_point; /* n */
};

enum assay_tensor_role {
    ASSAY_ROLE_ACTIVATION = 0,
    ASSAY_ROLE_INPUT = 1,    /* given by the user for each sample */
    ASSAY_ROLE_CONSTANT = 2, /* bytes in the slice */
};

struct assay_tensor {
    const char *name; /* the source's name */
    enum assay_tensor_role role;
    bool is_output; /* of the whole slice */
    enum assay_dtype dtype;
    uint32_t rank;                /* 0: scalar, one element */
    int64_t dims[ASSAY_MAX_RANK]; /* stored order, each >= 1 */
    /* Stored axis i is the source's axis perm[i] (NHWC of an NCHW source:
     * 0 2 3 1). Identity where nothing was moved. */
    uint8_t perm[ASSAY_MAX_RANK];
    char axes[ASSAY_MAX_RANK + 1]; /* labels of stored axes, "NHWC" or "" */
    struct assay_quant quant;
    const void *data; /* CONSTANT: dense bytes, little-endian; else NULL */
    size_t size;      /* bytes of data; 0 when not CONSTANT */
    uint8_t sha256[ASSAY_SHA256_LEN]; /* of data */
};

/* Numbers are on the wire: never renumber, only append. */
enum assay_op {
    ASSAY_OP_CONV2D = 1,  /* in: x, weights OHWI, [bias s32], [second] */
    ASSAY_OP_GEMM = 2,    /* in: x [M,K], weights [N,K], [bias s32 N] */
    ASSAY_OP_UNARY = 3,   /* in: x; program: relu, clip, quantize, ... */
    ASSAY_OP_BINARY = 4,  /* in: a, b; broadcast to the output */
    ASSAY_OP_POOL = 5,    /* in: x NHWC */
    ASSAY_OP_CONCAT = 6,  /* in: 1..64 tensors */
    ASSAY_OP_RESHAPE = 7, /* in: x; keeps the order of the *source* layout */
    ASSAY_OP_SOFTMAX = 8, /* in: x; over the last stored axis */
    ASSAY_OP_SKIPPED = 9, /* not run: outputs come from the reference */
    ASSAY_OP_VIEW = 10,   /* in: x; elements of it at strides, in order */
    ASSAY_OP_GATHER = 11, /* in: x, indices (constant s32 or s64) */
    ASSAY_OP_REDUCE = 12, /* in: x */
    ASSAY_OP_MATMUL = 13, /* in: a [..., M, K], b [..., K, N], broadcast */
    /* in: x NHWC, weights OHWI (not flipped), [bias s32] */
    ASSAY_OP_CONV_TRANSPOSE2D = 14,
    ASSAY_OP_PRELU = 15, /* in: x; in_programs: of x >= 0, of x < 0 */
    ASSAY_OP_TABLE = 16, /* in: x 8-bit, table (constant, 256 elements) */
    /* in: x, table (constant s16, 6 x 64), segments (constant s32, 8 x 5) */
    ASSAY_OP_SEGMENT_TABLE = 17,
    ASSAY_OP_RESIZE = 18,      /* in: x NHWC */
    ASSAY_OP_GRID_SAMPLE = 19, /* in: x NHWC, grid s16 [N, OH, OW, 2] */
    ASSAY_OP_FUNCTION = 20,    /* in: x f32; a float function */
    ASSAY_OP_NORMALIZE = 21,   /* in: x f32, [gamma f32], [beta f32] */
    ASSAY_OP_SELECT = 22,      /* in: condition (integer), a, b; broadcast */
};

struct assay_conv2d_params {
    int32_t stride_h, stride_w, dilation_h, dilation_w;
    int32_t pad_top, pad_left, pad_bottom, pad_right;
    int32_t groups;
    bool has_bias, has_second;
};

struct assay_binary_params {
    enum assay_combine combine;
    float k; /* operand of COMBINE_FFMA */
};

struct assay_pool_params {
    uint8_t kind; /* enum assay_pool_kind of kernels.h */
    uint8_t sum;  /* enum assay_pool_sum */
    uint8_t div;  /* enum assay_pool_div */
    uint8_t div_round;
    bool count_include_pad;
    int32_t kh, kw, stride_h, stride_w, dilation_h, dilation_w;
    int32_t pad_top, pad_left, pad_bottom, pad_right;
};

struct assay_concat_params {
    int32_t axis; /* stored axis */
};

struct assay_softmax_params {
    uint8_t kind;          /* enum assay_softmax_kind */
    const uint32_t *table; /* TABLE: 256 entries */
};

/*
 * Output element number k (row-major over dims, whose product is the output's
 * element count) is element offset + sum(index[i] * strides[i]) of the stored
 * input. Covers transpose, slice, split, tile, expand, depth to space, nearest
 * upsampling: plan proves that no index leaves the input.
 */
struct assay_view_params {
    uint32_t rank; /* 1..10 */
    int64_t dims[ASSAY_MAX_RANK];
    int64_t strides[ASSAY_MAX_RANK]; /* elements; 0 repeats, < 0 goes back */
    int64_t offset;
};

/* Output dims: the input's, with dims[axis] replaced by those of the indices
 * (none for a scalar). A negative index counts from the end, as in ONNX. */
struct assay_gather_params {
    int32_t axis; /* stored axis */
};

/* Kept axes in stored order give the output's elements, whether the reduced
 * ones stay as 1 or vanish. */
struct assay_reduce_params {
    uint8_t kind;  /* enum assay_reduce_kind */
    uint16_t axes; /* bit i: stored axis i is reduced; at least one */
};

/* x[y] of a segment table; docs/numerics.md "Segment table". Row s of the
 * segments: bound, scale, bias, left shift, right shift. */
#define ASSAY_SEGMENTS 8
#define ASSAY_SEGMENT_FIELDS 5
#define ASSAY_SEGMENT_ENTRIES 64 /* of segments 1..6 each */
struct assay_segment_params {
    uint8_t symmetry;  /* enum assay_symmetry */
    uint8_t round;     /* enum assay_round: shift by the segment's */
    uint8_t mix_round; /* enum assay_round: interpolation's shift by 8 */
};

/*
 * Bilinear with fixed-point coordinates; docs/numerics.md "Resize". Output
 * position i of an axis reads q = SHR(i * step + start, decimal_bits -
 * weight_bits, floor): cell q >> weight_bits and the next (both clamped to the
 * image) with weights 2^weight_bits - f and f = q mod 2^weight_bits. First
 * along w, then SHR(., mid_shift, floor), then along h, then out_program.
 * weight_bits 0 is nearest.
 */
struct assay_resize_params {
    int32_t step_h, step_w, start_h, start_w;
    uint8_t decimal_bits; /* 0..24 */
    uint8_t weight_bits;  /* 0..12, at most decimal_bits */
    uint8_t mid_shift;    /* 0..24 */
};

/*
 * Grid: pairs in 2^-coord_shift pixels, offsets from the output's position or
 * (absolute) positions in the image; (y, x), or (x, y) where xy is set.
 * docs/numerics.md "Grid sample". Bilinear leaves the sum with 2 * coord_shift
 * bits of fraction for out_program, nearest (SHR half up) the element.
 */
struct assay_grid_sample_params {
    bool nearest, absolute, xy;
    uint8_t padding;     /* enum assay_grid_padding */
    uint8_t coord_shift; /* 0..14 */
};

struct assay_function_params {
    uint8_t kind; /* enum assay_function */
};

/* Over the last stored axes from `axis` on: (x - mean) / sqrt(var + epsilon)
 * * gamma + beta; RMS: x / sqrt(mean(x^2) + epsilon) * gamma. */
struct assay_normalize_params {
    uint8_t kind; /* enum assay_normalize */
    int32_t axis;
    float epsilon; /* >= 0, finite */
    bool has_gamma, has_beta;
};

/* What the arithmetic of a layer is built from; see arith.h. */
enum assay_real_op {
    ASSAY_REAL_NONE = 0, /* programs are as the reader made them */
    ASSAY_REAL_CONV = 1, /* conv2d, gemm */
    ASSAY_REAL_ADD = 2,
    ASSAY_REAL_MUL = 3,
    ASSAY_REAL_AVG_POOL = 4,
    ASSAY_REAL_GLOBAL_AVG_POOL = 5,
    ASSAY_REAL_CONCAT = 6,
    ASSAY_REAL_SOFTMAX = 7,
    ASSAY_REAL_UNARY = 8, /* `real_steps` between dequantize and quantize */
};

/* An integer list that the source gives a layer, by name; see form.h. */
struct assay_field {
    const char *name; /* "scale", "pre_shift", ... */
    uint32_t n;       /* 1, or one a channel */
    const int64_t *v; /* a float's bit pattern where the rule takes a float */
};

struct assay_layer {
    const char *name;      /* the source's node name */
    const char *source_op; /* its op type there: "QLinearConv", "Relu" */
    uint32_t source_index; /* its position there */
    enum assay_op op;
    uint32_t n_inputs;
    uint32_t *inputs; /* tensor indices */
    uint32_t output;  /* tensor index; layers have one output here */
    union {
        struct assay_conv2d_params conv2d;
        struct assay_binary_params binary;
        struct assay_pool_params pool;
        struct assay_concat_params concat;
        struct assay_softmax_params softmax;
        struct assay_view_params view;
        struct assay_gather_params gather;
        struct assay_reduce_params reduce;
        struct assay_segment_params segment;
        struct assay_resize_params resize;
        struct assay_grid_sample_params grid_sample;
        struct assay_function_params function;
        struct assay_normalize_params normalize;
    } p; /* conv2d: also of CONV_TRANSPOSE2D, pads are cut off there */
    /* One program for each operand that has one (BINARY: a, b; POOL: cell;
     * CONCAT: every input; PRELU: x >= 0, x < 0), and the output program. */
    uint32_t n_in_programs;
    struct assay_program *in_programs;
    struct assay_program out_program;
    /* Where the arithmetic came from. */
    enum assay_real_op real_op;
    struct assay_program real_steps; /* REAL_UNARY: float steps in between */
    const char *arith;     /* its name: "fp32_rne", "ort_fma", ... or "" */
    bool arith_overridden; /* by --arith */
    /* A layer that carries its multipliers (form.h). */
    const char *form; /* "conv", "add", ...; NULL: none */
    uint32_t n_fields;
    struct assay_field *fields;
    const char *rule; /* the rule that wrote its programs, or NULL */
    bool half;        /* computed in binary16 at the source: wider tolerance */
    const char *skip_reason; /* SKIPPED: one sentence */
};

struct assay_slice {
    struct assay_arena *arena; /* owns everything below */
    struct assay_arena *blobs; /* more that it owns: constants as they came */
                               /* in one file; NULL: none */
    const char *model_name;    /* file name without folders */
    const char *model_format;  /* "onnx"; "slice": its programs are as they */
                               /* are to be run, no numerics is applied */
    uint8_t model_sha256[ASSAY_SHA256_LEN];
    const char *numerics; /* name of the reference's numerics, see arith.h */
    uint32_t n_tensors, cap_tensors;
    struct assay_tensor *tensors;
    uint32_t n_layers, cap_layers;
    struct assay_layer *layers; /* in execution order */
};

struct assay_slice *assay_slice_new(void);    /* NULL: out of memory */
void assay_slice_free(struct assay_slice *s); /* NULL safe */

/* Append; the returned element is zeroed and valid until the next append. */
int assay_slice_add_tensor(struct assay_slice *s, uint32_t *index,
                           struct assay_err *err);
int assay_slice_add_layer(struct assay_slice *s, uint32_t n_inputs,
                          uint32_t *index, struct assay_err *err);
/* Index of the tensor (layer) with that name, or -1. */
int64_t assay_slice_find_tensor(const struct assay_slice *s, const char *name);
int64_t assay_slice_find_layer(const struct assay_slice *s, const char *name);

/* Of CONV2D, GEMM, CONV_TRANSPOSE2D: is input 2 a bias? */
static inline bool assay_layer_has_bias(const struct assay_layer *l)
{
    return l->op == ASSAY_OP_GEMM ? l->n_inputs > 2 : l->p.conv2d.has_bias;
}

size_t assay_dtype_bytes(enum assay_dtype dtype);     /* 0: unknown */
const char *assay_dtype_name(enum assay_dtype dtype); /* "int8", "?" */
bool assay_dtype_is_int(enum assay_dtype dtype);
/* Smallest and largest value of an integer dtype. */
void assay_dtype_range(enum assay_dtype dtype, int64_t *lo, int64_t *hi);
const char *assay_op_name(enum assay_op op); /* "conv2d", "?" */

/* Elements and bytes of a tensor; a negative ASSAY_E* when dims are bad or
 * the product overflows. */
int assay_tensor_count(const struct assay_tensor *t, size_t *elements,
                       size_t *bytes, struct assay_err *err);
/* dims of the source layout: out[perm[i]] = dims[i]. */
void assay_tensor_source_dims(const struct assay_tensor *t, int64_t *out);

#endif
