/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ONNX graph as plain values: what is left of the file when protobuf's
 * types are gone. Names are interned, so a tensor is an index of `values`;
 * constants are dense, little-endian, checked against their shape; nodes are
 * in execution order. Everything belongs to the graph's arena.
 */
#ifndef ASSAY_MODEL_ONNX_GRAPH_H
#define ASSAY_MODEL_ONNX_GRAPH_H

#include "host-tools/model/model.h"

#define ASSAY_ONNX_NONE UINT32_MAX /* an input that was left out */
#define ASSAY_ONNX_MAX_NODES 65536u

/* Element types of the schema that are used here. */
enum assay_onnx_attr_type {
    ASSAY_ONNX_FLOAT = 1,
    ASSAY_ONNX_INT = 2,
    ASSAY_ONNX_STRING = 3,
    ASSAY_ONNX_TENSOR = 4,
    ASSAY_ONNX_FLOATS = 6,
    ASSAY_ONNX_INTS = 7,
};

struct assay_onnx_const {
    int32_t onnx_type;      /* the schema's data_type, for messages */
    enum assay_dtype dtype; /* 0: a type that the reader does not know */
    uint32_t rank;
    int64_t dims[ASSAY_MAX_RANK];
    size_t count;
    const void *data; /* count elements of dtype; NULL when dtype is 0 */
};

struct assay_onnx_attr {
    const char *name;
    int32_t type; /* enum assay_onnx_attr_type, or another of the schema */
    int64_t i;
    float f;
    const char *s;
    size_t n; /* ints or floats */
    const int64_t *ints;
    const float *floats;
    const struct assay_onnx_const *t;
};

struct assay_onnx_node {
    uint32_t index;
    const char *op, *domain; /* domain "" is ai.onnx */
    const char *name;        /* "" where the file has none */
    uint32_t n_in, n_out, n_attrs;
    uint32_t *in, *out; /* value indices or ASSAY_ONNX_NONE */
    struct assay_onnx_attr *attrs;
};

struct assay_onnx_value {
    const char *name;
    uint32_t producer;                /* node, or ASSAY_ONNX_NONE */
    uint32_t n_readers, first_reader; /* in graph.readers */
    bool is_input, is_output;
    const struct assay_onnx_const *k; /* initializer, or NULL */
    /* From graph.input, output or value_info; dim 0: not fixed. */
    bool has_info;
    int32_t info_type;
    uint32_t info_rank;
    int64_t info_dims[ASSAY_MAX_RANK];
};

struct assay_onnx_graph {
    struct assay_arena *arena;
    const char *file; /* for messages */
    int64_t opset;    /* of ai.onnx */
    uint32_t n_nodes, n_values, n_readers, n_inputs, n_outputs;
    struct assay_onnx_node *nodes;
    struct assay_onnx_value *values;
    uint32_t *readers; /* node indices */
    uint32_t *inputs, *outputs;
    uint32_t *table; /* open hash table of values, 2^table_bits */
    uint32_t table_bits, cap_values;
};

/* onnx_proto.c: from the file's bytes. */
int assay_onnx_parse(struct assay_onnx_graph *out, const uint8_t *data,
                     size_t n, const char *file,
                     const struct assay_model_note *note, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_onnx_graph_close(struct assay_onnx_graph *g); /* NULL safe */

/* onnx_graph.c: building and asking. */
int assay_onnx_graph_init(struct assay_onnx_graph *g, uint32_t max_values,
                          const char *file, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Index of the value with that name, added when it is new. Never fails while
 * there are fewer than max_values names. */
uint32_t assay_onnx_intern(struct assay_onnx_graph *g, const char *name);
/* Producers, readers, execution order; Constant nodes become constants. */
int assay_onnx_link(struct assay_onnx_graph *g, struct assay_err *err)
    ASSAY_MUST_CHECK;

const struct assay_onnx_attr *assay_onnx_attr(const struct assay_onnx_node *n,
                                              const char *name);
/* The attribute or `missing`; one of another type is refused. */
int assay_onnx_attr_int(const struct assay_onnx_graph *g,
                        const struct assay_onnx_node *n, const char *name,
                        int64_t missing, int64_t *out, struct assay_err *err)
    ASSAY_MUST_CHECK;
int assay_onnx_attr_float(const struct assay_onnx_graph *g,
                          const struct assay_onnx_node *n, const char *name,
                          float missing, float *out, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Exactly `want` ints into out; absent: out is left as it is. */
int assay_onnx_attr_ints(const struct assay_onnx_graph *g,
                         const struct assay_onnx_node *n, const char *name,
                         uint32_t want, int64_t *out, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* The k-th element of a constant as a number. */
double assay_onnx_const_number(const struct assay_onnx_const *k, size_t i);
int64_t assay_onnx_const_int(const struct assay_onnx_const *k, size_t i);
/* Numbers of the schema: the engine's type or 0 (bool counts as uint8), and
 * what messages call them. */
enum assay_dtype assay_onnx_dtype(int32_t type);
const char *assay_onnx_type_name(int32_t type);
const char *assay_onnx_attr_type_name(int32_t type);
/* "node 12 (Conv 'conv1')", for messages; in a static thread's buffer of the
 * caller. */
const char *assay_onnx_node_text(const struct assay_onnx_node *n, char *buf,
                                 size_t cap);
/* A name for the node: its own, else its first output's. */
const char *assay_onnx_node_name(const struct assay_onnx_graph *g,
                                 const struct assay_onnx_node *n);
bool assay_onnx_is(const struct assay_onnx_node *n, const char *domain,
                   const char *op);

#endif
