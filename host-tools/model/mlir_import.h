/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an MLIR tree (mlir.h) of the Nash family's fixed-point dialects to a
 * slice. One function is the model; constants are read where a layer needs
 * them; each other operation is one line of the table in hbir.c. An emitter
 * that does not understand all of its operation answers with
 * assay_hbir_skip(), and the operation becomes a SKIPPED layer: not run, not
 * lost. A file that contradicts itself is refused with one sentence.
 *
 * No arithmetic is chosen here: layers get a form and fields (form.h).
 * Not thread safe.
 */
#ifndef ASSAY_MODEL_MLIR_IMPORT_H
#define ASSAY_MODEL_MLIR_IMPORT_H

#include "host-tools/model/mlir.h"
#include "host-tools/model/model.h"
#include "host-tools/model/npz.h"
#include "lib/core/form.h"

extern const struct assay_model_reader assay_mlir_reader;

/* Answer of an emitter: not an error, im->reason holds why. */
#define ASSAY_HBIR_SKIP 1

struct assay_hbir_type {
    enum assay_dtype dtype;
    bool half; /* f16, held as F32 */
    uint32_t rank;
    int64_t dims[ASSAY_MAX_RANK];
    struct assay_quant quant;
};

struct assay_hbir_const {
    const char *name; /* of its location, or of the value */
    enum assay_dtype dtype;
    bool half;
    uint32_t rank;
    int64_t dims[ASSAY_MAX_RANK];
    size_t count;
    const void *data; /* dense; borrowed from the slice's arena */
};

struct assay_hbir_value {
    const struct assay_mlir_value *v; /* NULL: an empty place of the table */
    int64_t tensor;                   /* of the slice, -1: none yet */
    const struct assay_mlir_attr *literal; /* a constant that was not read */
    const struct assay_hbir_const *k;
    const char *constant;     /* its name */
    const char *name;         /* of its tensor */
    struct assay_quant quant; /* of the function's signature */
    bool is_output, returned;
    const char *why; /* why no layer can read it, or NULL */
};

/* A set of names. */
struct assay_hbir_names {
    struct assay_hbir_name {
        const char *text;
        uint32_t next; /* number of the next that wants the same */
    } * v;             /* hash table */
    uint32_t bits, n;
};

/* Parameters of an hbtl.call under the names that emitters ask for. */
#define ASSAY_HBIR_PARAMETERS 8
struct assay_hbir_call {
    uint32_t n;
    char names[ASSAY_HBIR_PARAMETERS][16];
    const struct assay_mlir_attr *values[ASSAY_HBIR_PARAMETERS];
};

struct assay_hbir {
    const char *file;
    struct assay_slice *s;
    struct assay_arena *work; /* what nobody needs behind the import */
    const struct assay_model_note *note;
    struct assay_err *err;
    struct assay_hbir_value *values; /* hash table */
    uint32_t value_bits;
    struct assay_hbir_names layers, tensors;
    const char **op_names; /* by position in the function */
    struct assay_npz npz;  /* constants beside the model */
    bool npz_read;
    struct assay_err npz_why; /* it cannot be read */
    size_t expanded;          /* bytes of splats */
    /* The operation at hand. */
    const struct assay_mlir_op *op;
    const char *op_name; /* as told: "b30.conv2d", "native::Softmax" */
    uint32_t position;
    const char *base; /* its name */
    int argument;     /* of its line in the table */
    bool first_layer; /* none of it yet */
    struct assay_hbir_call *call;
    char reason[360];
};

typedef int assay_hbir_emit_fn(struct assay_hbir *im);

/* Sentences: FILE:LINE:COLUMN: OP 'NAME': ... */
int assay_hbir_fail(struct assay_hbir *im, int code, const char *fmt, ...)
    ASSAY_PRINTF(3, 4);
int assay_hbir_skip(struct assay_hbir *im, const char *fmt, ...)
    ASSAY_PRINTF(2, 3);
int assay_hbir_no_memory(struct assay_hbir *im);
void assay_hbir_note(struct assay_hbir *im, const char *fmt, ...)
    ASSAY_PRINTF(2, 3);

/* ---- hbir_type.c -------------------------------------------------------- */

/* False: *why says what is not supported. */
bool assay_hbir_type(struct assay_hbir *im, const struct assay_mlir_type *t,
                     struct assay_hbir_type *out, const char **why);
/* "!qnt.uniform<si8:f32, 0.1>", also per channel; false where it is none. */
bool assay_hbir_uniform(struct assay_hbir *im, const char *text,
                        struct assay_hbir_type *out, const char **why);
/* "4x6 of int64". */
const char *assay_hbir_shape_text(char out[160], enum assay_dtype dtype,
                                  uint32_t rank, const int64_t *dims);

/* ---- hbir_value.c ------------------------------------------------------- */

int assay_hbir_values_open(struct assay_hbir *im, size_t n);
struct assay_hbir_value *assay_hbir_value(struct assay_hbir *im,
                                          const struct assay_mlir_value *v);
bool assay_hbir_is_constant(const struct assay_mlir_op *op);
bool assay_hbir_is_return(const struct assay_mlir_op *op);
int assay_hbir_constant_op(struct assay_hbir *im);
/* The constant that operand i is; *out NULL where it is none. */
int assay_hbir_const(struct assay_hbir *im, uint32_t i,
                     const struct assay_hbir_const **out);
int64_t assay_hbir_const_int(const struct assay_hbir_const *k, size_t i);
/* Result 0 is a constant from now on. */
int assay_hbir_fold(struct assay_hbir *im, uint32_t rank, const int64_t *dims,
                    const struct assay_hbir_const *k, const void *data);

/* Masks of dtypes. */
#define ASSAY_HBIR_S8 (1u << ASSAY_S8)
#define ASSAY_HBIR_S16 (1u << ASSAY_S16)
#define ASSAY_HBIR_S32 (1u << ASSAY_S32)
#define ASSAY_HBIR_F32 (1u << ASSAY_F32)
#define ASSAY_HBIR_S8_16 (ASSAY_HBIR_S8 | ASSAY_HBIR_S16)
#define ASSAY_HBIR_INTS (ASSAY_HBIR_S8_16 | ASSAY_HBIR_S32)
#define ASSAY_HBIR_ANY 0xffffffffu

/* Operand i as a tensor of the slice; its dtype is in the mask, or skip. */
int assay_hbir_input(struct assay_hbir *im, uint32_t i, const char *what,
                     unsigned mask, uint32_t *index);
/* A constant tensor of the slice; data is borrowed. */
int assay_hbir_new_constant(struct assay_hbir *im, const char *name,
                            enum assay_dtype dtype, uint32_t rank,
                            const int64_t *dims, const void *data,
                            uint32_t *index);

/* ---- hbir_layer.c ------------------------------------------------------- */

/* The name, or name#2, #3, ...; kept. NULL: out of memory. */
const char *assay_hbir_unique(struct assay_hbir *im,
                              struct assay_hbir_names *set, const char *base);
/* Names of all operations and their results, before anything else wants one:
 * docs/quantized-bc.md, "Names". Arguments and results of the function have
 * theirs. */
int assay_hbir_name_all(struct assay_hbir *im,
                        const struct assay_mlir_block *block);
/* What the result is declared as; skip where it is not supported. */
int assay_hbir_declared(struct assay_hbir *im, uint32_t k,
                        struct assay_hbir_type *out);
/* The tensor of result k. Its declared dims and dtype must be these: dtype 0
 * is any of the mask. */
int assay_hbir_output(struct assay_hbir *im, uint32_t k, unsigned mask,
                      uint32_t rank, const int64_t *dims, const char *axes,
                      uint32_t *index);
/* A tensor in between: NAME/what. */
int assay_hbir_between(struct assay_hbir *im, const char *what,
                       enum assay_dtype dtype, uint32_t rank,
                       const int64_t *dims, uint32_t *index);
int assay_hbir_layer(struct assay_hbir *im, enum assay_op op, uint32_t n,
                     const uint32_t *in, uint32_t y, struct assay_layer **l);
int assay_hbir_programs(struct assay_hbir *im, struct assay_layer *l,
                        uint32_t n);
int assay_hbir_field(struct assay_hbir *im, struct assay_layer *l,
                     const char *name, uint32_t n, const int64_t *v);
int assay_hbir_field_one(struct assay_hbir *im, struct assay_layer *l,
                         const char *name, int64_t v);
int assay_hbir_skip_layers(struct assay_hbir *im);

/* ---- hbir_attr.c -------------------------------------------------------- */

const struct assay_mlir_attr *assay_hbir_attr(struct assay_hbir *im,
                                              const char *name);
/* Only names of the list stand there, or skip. */
int assay_hbir_attrs(struct assay_hbir *im, const char *allowed);
/* def NULL: must be there. */
int assay_hbir_int(struct assay_hbir *im, const char *name, int64_t lo,
                   int64_t hi, const int64_t *def, int64_t *out);
int assay_hbir_bool(struct assay_hbir *im, const char *name, const bool *def,
                    bool *out);
/* `count` integers (0: up to max, *n of them). */
int assay_hbir_ints(struct assay_hbir *im, const char *name, uint32_t max,
                    int64_t *out, uint32_t *n, bool *found);
int assay_hbir_row(struct assay_hbir *im, const char *name, uint32_t count,
                   int64_t lo, int64_t hi, const int64_t *def, int64_t *out);
/* One of the words of the list, whatever the case: its number. Strings, and
 * enums printed as #hbdk<Mode word>. def < 0: must be there. */
int assay_hbir_word(struct assay_hbir *im, const char *name, const char *words,
                    int def, int *which);
int assay_hbir_reals(struct assay_hbir *im, const char *name, uint32_t max,
                     uint32_t *n, const double **out);
struct assay_hbir_list {
    uint32_t n; /* 0: not there */
    const int64_t *v;
};
/* One integer, or one a channel. */
int assay_hbir_list(struct assay_hbir *im, const char *name, int64_t channels,
                    int64_t lo, int64_t hi, struct assay_hbir_list *out);
/* An axis that may count from the end. */
int assay_hbir_axis(struct assay_hbir *im, const char *name, uint32_t rank,
                    const int64_t *def, int64_t *out);

/* ---- hbir_quant.c: quantInfo -------------------------------------------- */

enum {
    ASSAY_HBIR_BIAS,
    ASSAY_HBIR_SUMIN_SCALE,
    ASSAY_HBIR_SUMIN_SHIFT,
    ASSAY_HBIR_PRE,
    ASSAY_HBIR_SCALE,
    ASSAY_HBIR_POST,
    ASSAY_HBIR_COLUMNS
};
struct assay_hbir_quant {
    bool plain; /* scale 1, no shift: the accumulator as it is */
    struct assay_hbir_list column[ASSAY_HBIR_COLUMNS];
};
/* Operand i: rows of six, one or one a channel. */
int assay_hbir_quant_info(struct assay_hbir *im, uint32_t i, int64_t channels,
                          struct assay_hbir_quant *q);
/* Columns as fields; a bias of zeros is left out. */
int assay_hbir_quant_fields(struct assay_hbir *im, struct assay_layer *l,
                            const struct assay_hbir_quant *q, bool second);
/* Operations that add none: a bias in the rows is a skip. */
int assay_hbir_no_bias(struct assay_hbir *im, const struct assay_hbir_quant *q);
/* Field `real`: a quotient of scales that the rule makes a multiplier of. */
int assay_hbir_real(struct assay_hbir *im, struct assay_layer *l, double real);
/* scale(x) / scale(y), 0 where one is not known. */
double assay_hbir_ratio(const struct assay_hbir *im, uint32_t x, uint32_t y);
/* What a multiplier of 15 bits and a shift can stand for, or skip. */
int assay_hbir_check_real(struct assay_hbir *im, double real);

/* ---- emitters ----------------------------------------------------------- */

/* The operand's scale, where a move leaves the result without one. */
void assay_hbir_carry(struct assay_hbir *im, uint32_t x, uint32_t y);
/* Views that several need. */
int assay_hbir_view(struct assay_hbir *im, uint32_t x, uint32_t y,
                    const struct assay_view_params *v);
void assay_hbir_plain_view(const struct assay_tensor *t,
                           struct assay_view_params *v);
/* x with `axis` as the last one, and back into y. */
int assay_hbir_to_last(struct assay_hbir *im, uint32_t x, uint32_t axis,
                       uint32_t *index);
int assay_hbir_from_last(struct assay_hbir *im, uint32_t x, uint32_t axis,
                         uint32_t y);
/* Dims of two operands that broadcast. */
int assay_hbir_broadcast(struct assay_hbir *im, const uint32_t *in, uint32_t n,
                         uint32_t *rank, int64_t *dims);

assay_hbir_emit_fn assay_hbir_conv, assay_hbir_linear, assay_hbir_matmul;
assay_hbir_emit_fn assay_hbir_lut;
assay_hbir_emit_fn assay_hbir_pool, assay_hbir_reduce;
assay_hbir_emit_fn assay_hbir_rescale, assay_hbir_quantize,
    assay_hbir_dequantize, assay_hbir_relu, assay_hbir_binary, assay_hbir_unary,
    assay_hbir_ternary;
assay_hbir_emit_fn assay_hbir_resize, assay_hbir_warp, assay_hbir_grid_sample,
    assay_hbir_gather2d;
assay_hbir_emit_fn assay_hbir_reshape, assay_hbir_transpose, assay_hbir_slice,
    assay_hbir_concat, assay_hbir_cast;
assay_hbir_emit_fn assay_hbir_softmax, assay_hbir_normalize,
    assay_hbir_function;
/* im->argument of binary, pool and reduce: MODE: by the attribute `mode`. */
enum { ASSAY_HBIR_MODE = -1 };
enum assay_hbir_two {
    ASSAY_HBIR_ADD,
    ASSAY_HBIR_SUB,
    ASSAY_HBIR_MUL,
    ASSAY_HBIR_DIV,
    ASSAY_HBIR_MAX,
    ASSAY_HBIR_MIN,
};
enum assay_hbir_reduction {
    ASSAY_HBIR_REDUCE_SUM,
    ASSAY_HBIR_REDUCE_MEAN,
    ASSAY_HBIR_REDUCE_MAX,
    ASSAY_HBIR_REDUCE_MIN,
    ASSAY_HBIR_REDUCE_ARGMAX,
};

/* An hbtl.call: names for its parameters by its signature, then the emitter
 * of its operation. */
int assay_hbir_emit_call(struct assay_hbir *im);
/* The operation at hand, or another one's emitter for it; hbir.c. */
int assay_hbir_emit(struct assay_hbir *im);
int assay_hbir_emit_as(struct assay_hbir *im, const char *name);

#endif
