/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MLIR text, as printed by MLIR 16 to 20, as a tree. The generic form of any
 * dialect, and three custom forms that print(module) mixes with it: `module`,
 * `func.func` and `return` (also `func.return`). Nothing of a dialect is known
 * here; opaque attributes and types keep their text.
 *
 * One pass over the text; depth and sizes are capped; the first error is one
 * sentence with line, column, what was expected and found. All memory belongs
 * to the arena that the caller gives; the tree does not point into the text.
 * Not thread safe.
 */
#ifndef ASSAY_MODEL_MLIR_H
#define ASSAY_MODEL_MLIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/core/buf.h"
#include "lib/core/err.h"

struct assay_mlir_attr;
struct assay_mlir_op;
struct assay_mlir_region;

enum assay_mlir_type_kind {
    ASSAY_MLIR_INTEGER = 1, /* i8, si8, ui8: width, sign */
    ASSAY_MLIR_INDEX,
    ASSAY_MLIR_FLOAT,    /* text: "f32", "bf16", "f8E4M3FN", ... */
    ASSAY_MLIR_TENSOR,   /* ranked or not: element, dims, encoding */
    ASSAY_MLIR_VECTOR,   /* dims; scalable ones stand in the text only */
    ASSAY_MLIR_MEMREF,   /* element, dims, layout and space in params */
    ASSAY_MLIR_FUNCTION, /* types: inputs then results, n_inputs */
    ASSAY_MLIR_TUPLE,    /* types */
    ASSAY_MLIR_COMPLEX,  /* element */
    ASSAY_MLIR_NONE,
    ASSAY_MLIR_DIALECT, /* !name<...>: text, whole */
};

#define ASSAY_MLIR_DYNAMIC INT64_MIN /* a dimension printed as ? */

struct assay_mlir_type {
    enum assay_mlir_type_kind kind;
    const char *text; /* canonical, aliases resolved; equal types of a file
                         are one object */
    uint16_t depth;   /* nesting, at most 256 */
    uint32_t width;   /* INTEGER */
    char sign;        /* INTEGER: 'i', 's', 'u' */
    bool ranked;      /* TENSOR, MEMREF */
    uint32_t rank;
    const int64_t *dims;
    const struct assay_mlir_type *element;
    uint32_t n_types, n_inputs;
    const struct assay_mlir_type *const *types;
    uint32_t n_params; /* TENSOR: encoding; MEMREF: layout, memory space */
    const struct assay_mlir_attr *const *params;
};

enum assay_mlir_attr_kind {
    ASSAY_MLIR_UNIT = 1,
    ASSAY_MLIR_BOOL,
    ASSAY_MLIR_INT,         /* i, type */
    ASSAY_MLIR_REAL,        /* d, type; text as written; hex: by its bits */
    ASSAY_MLIR_STRING,      /* text unescaped, text_size, [type] */
    ASSAY_MLIR_TYPE,        /* type */
    ASSAY_MLIR_ARRAY,       /* items */
    ASSAY_MLIR_TYPED_ARRAY, /* array<i64: 1, 2>: type (element), items */
    ASSAY_MLIR_DICT,        /* names, items */
    ASSAY_MLIR_SYMBOL,      /* @a::@b: text */
    ASSAY_MLIR_DENSE,    /* type, data; elements packed as MLIR stores them */
    ASSAY_MLIR_RESOURCE, /* dense_resource<name>: text, type; data where the
                            text has it */
    ASSAY_MLIR_SPARSE,   /* items: indices, values; type */
    ASSAY_MLIR_AFFINE,   /* affine_map<...>, affine_set<...>: text */
    ASSAY_MLIR_STRIDED,  /* strided<[...], offset: ?>: text */
    ASSAY_MLIR_DISTINCT, /* distinct[n]<...>: i, items */
    ASSAY_MLIR_LOCATION, /* a location used as attribute: loc */
    ASSAY_MLIR_OPAQUE,   /* #name<...> [: type]: text, whole */
};

/* A location: what it is, and its parts. */
enum assay_mlir_loc_kind {
    ASSAY_MLIR_LOC_UNKNOWN = 1,
    ASSAY_MLIR_LOC_FILE,     /* text, line, column */
    ASSAY_MLIR_LOC_NAME,     /* text, [parts: one] */
    ASSAY_MLIR_LOC_FUSED,    /* parts, [metadata] */
    ASSAY_MLIR_LOC_CALLSITE, /* parts: callee, caller */
    ASSAY_MLIR_LOC_OPAQUE,   /* text */
};
struct assay_mlir_loc {
    enum assay_mlir_loc_kind kind;
    const char *text;
    uint32_t line, column;
    uint32_t end_line, end_column; /* FILE with a range (MLIR 20); else 0 */
    uint32_t n_parts;
    const struct assay_mlir_loc **parts;
    const struct assay_mlir_attr *metadata;
    const char *name; /* what assay_mlir_loc_name gives */
    uint32_t weight;  /* parts, aliases written out; capped */
    uint16_t depth;
};

struct assay_mlir_attr {
    enum assay_mlir_attr_kind kind;
    const char *text;
    size_t text_size;
    const struct assay_mlir_type *type; /* or NULL */
    int64_t i;                          /* BOOL: 0, 1; wider ints: in data */
    double d;
    uint32_t n;
    const char *const *names; /* DICT */
    const struct assay_mlir_attr *const *items;
    const struct assay_mlir_loc *loc;
    /* DENSE, RESOURCE: little-endian elements (i1: one byte each, complex:
     * pairs), count 1 and splat set where one stands for all. Elements that
     * are neither numbers nor pairs of them are strings: items. RESOURCE: i is
     * the alignment. INT and REAL of more than 64 bits: their
     * bytes. */
    const void *data;
    size_t data_size;
    bool splat;
    uint32_t weight; /* parts, aliases written out; capped */
    uint16_t depth;
};

struct assay_mlir_value {
    const char *name; /* "%3", "%arg0", "%5#1" */
    const struct assay_mlir_type *type;
    const struct assay_mlir_op *op; /* that gives it; NULL: an argument */
    uint32_t index;                 /* result or argument number */
};

struct assay_mlir_block {
    const char *name; /* "^bb0", "" for an entry without label */
    uint32_t n_args;
    struct assay_mlir_value **args;
    const struct assay_mlir_loc **arg_locs; /* entries may be NULL */
    uint32_t n_ops;
    struct assay_mlir_op **ops;
};
struct assay_mlir_region {
    uint32_t n_blocks;
    struct assay_mlir_block **blocks;
};

struct assay_mlir_op {
    const char *name; /* "b30.conv2d" */
    uint32_t line, column;
    uint32_t n_results, n_operands, n_successors, n_regions;
    struct assay_mlir_value **results, **operands;
    struct assay_mlir_block **successors;
    struct assay_mlir_region **regions;
    /* Properties <{...}>, by the grammar any attribute, and attributes {...},
     * a dict; or NULL. */
    const struct assay_mlir_attr *properties, *attributes;
    const struct assay_mlir_loc *loc; /* or NULL */
};

struct assay_mlir_source {
    const char *data;
    size_t size;
    const char *file; /* for sentences */
    /* Told now and then: bytes below `offset` are not read soon, so their
     * memory may be dropped. They must stay readable: a list of elements is
     * gone through twice, since its type stands behind it. */
    void (*passed)(void *self, size_t offset);
    void *self;
};

/* All top-level operations in order, in one region of one block. */
int assay_mlir_parse(struct assay_mlir_region **out,
                     const struct assay_mlir_source *source,
                     struct assay_arena *arena, struct assay_err *err)
    ASSAY_MUST_CHECK;

/* An attribute of an op by name: properties first. NULL: not there. */
const struct assay_mlir_attr *assay_mlir_op_attr(const struct assay_mlir_op *op,
                                                 const char *name);
const struct assay_mlir_attr *assay_mlir_dict_get(
    const struct assay_mlir_attr *dict, const char *name);
/* The name that a location gives: docs/quantized-bc.md "Names"; or NULL. */
const char *assay_mlir_loc_name(const struct assay_mlir_loc *loc);

#endif
