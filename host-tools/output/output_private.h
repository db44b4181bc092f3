/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of assay_output_explain. A chain of steps is a chain of nodes:
 * each can tell one of its elements by asking the node that it stands on, so
 * that trying a chain costs a few elements and no memory. Nodes live on the
 * stack of the search.
 */
#ifndef ASSAY_OUTPUT_OUTPUT_PRIVATE_H
#define ASSAY_OUTPUT_OUTPUT_PRIVATE_H

#include "host-tools/output/output.h"

struct assay_output_value {
    bool known, is_int;
    int64_t v; /* is_int */
    double d;  /* else; what binary32 holds */
};

struct assay_output_node;
typedef struct assay_output_value assay_output_at_fn(
    const struct assay_output_node *n, size_t sample, int64_t i);

/* What is done to what was read before it is compared. */
enum assay_output_undo {
    ASSAY_OUTPUT_UNDO_NOTHING,
    ASSAY_OUTPUT_UNDO_SIGMOID,
    ASSAY_OUTPUT_UNDO_SOFTMAX
};

struct assay_output_node {
    const struct assay_output_node *from; /* NULL: a tensor of the model */
    assay_output_at_fn *at;
    enum assay_dtype dtype;
    uint32_t rank;
    int64_t dims[ASSAY_MAX_RANK], count;
    char axes[ASSAY_MAX_RANK + 1];
    bool cut;                    /* another size than the node below has */
    bool padded;                 /* it may be read shorter than it is */
    enum assay_output_undo undo; /* then nothing stands on it */
    int undo_axis;
    const struct assay_output_tensor *t; /* of a root */
    const struct assay_quant *quant;     /* root: dequantized with it */
    const size_t *samples; /* root: whose output sample k is read as; */
                           /* SIZE_MAX: nobody's */
    int64_t n[8];
    double f[8];
    int64_t strides[ASSAY_MAX_RANK];
};

struct assay_output_search;
/* What a family calls for each of its variants. */
void assay_output_visit(struct assay_output_search *s,
                        const struct assay_output_node *n,
                        enum assay_output_id id, const char *fmt, ...)
    ASSAY_PRINTF(4, 5);

/* The part of a search that families look at. */
struct assay_output_ask {
    const struct assay_output_model *m;
    const struct assay_output_got *got;
    size_t head;        /* whose values the node holds; of notice.c: the one */
                        /* that was expected */
    const size_t *own;  /* each sample is itself */
    int64_t npy_header; /* bytes, where what was read begins like an npy */
    size_t deeper;      /* steps that may still follow */
};
const struct assay_output_ask *assay_output_asking(
    const struct assay_output_search *s);

/* Kinds of steps, in the order in which they follow one another in a chain;
 * each at most once, strides twice. */
typedef void assay_output_family_fn(struct assay_output_search *s,
                                    const struct assay_output_node *n);
assay_output_family_fn assay_output_functions, assay_output_boxes,
    assay_output_types, assay_output_permuted, assay_output_strided,
    assay_output_moved, assay_output_cut;

/* root.c: each tensor of head `head` with what it costs (0: as it should be)
 * and why. */
typedef void assay_output_root_fn(struct assay_output_search *s,
                                  const struct assay_output_node *n, int step,
                                  const char *text);
void assay_output_roots(struct assay_output_search *s, size_t head,
                        const size_t *samples, assay_output_root_fn *give);
void assay_output_root(struct assay_output_node *n,
                       const struct assay_output_tensor *t,
                       const size_t *samples);

/* Boxes taken out of the letterbox. form 0: they are corners, 1: centre and
 * size. */
struct assay_output_node assay_output_unbox(
    const struct assay_output_node *from, const struct assay_output_model *m,
    int axis, unsigned form);
bool assay_output_is_unboxed(const struct assay_output_node *n);
const char *assay_output_unbox_text(unsigned form);
int assay_output_box_axis(const struct assay_output_node *n); /* -1: none */

/* value.c */
struct assay_output_value assay_output_load(const void *data,
                                            enum assay_dtype dtype, int64_t i);
/* The bytes that a value has as a dtype; 1, 2, 4 or 8 of them. */
uint64_t assay_output_bits(struct assay_output_value v, enum assay_dtype dtype);
struct assay_output_value assay_output_from_bits(uint64_t bits,
                                                 enum assay_dtype dtype);
double assay_output_real(struct assay_output_value v);
struct assay_output_value assay_output_float(double d); /* rounded */
bool assay_output_same(struct assay_output_value a,
                       struct assay_output_value b);
bool assay_output_near(struct assay_output_value a,
                       struct assay_output_value b);
/* Element i of what was read, in the type of the node where it has none. */
struct assay_output_value assay_output_read(const struct assay_output_got *g,
                                            enum assay_dtype dtype,
                                            size_t sample, int64_t i);
int64_t assay_output_elements(const struct assay_output_got *g,
                              enum assay_dtype dtype); /* of a sample */
/* A node on another one, as it is. */
struct assay_output_node assay_output_on(const struct assay_output_node *from,
                                         assay_output_at_fn *at);
static inline struct assay_output_value assay_output_ask_from(
    const struct assay_output_node *n, size_t sample, int64_t i)
{
    return n->from->at(n->from, sample, i);
}

/* notice.c: what needs no search. True: *out is explained. */
bool assay_output_constant(struct assay_output_result *out,
                           const struct assay_output_ask *q);
bool assay_output_tiles(struct assay_output_result *out,
                        const struct assay_output_ask *q);
bool assay_output_reshaped(struct assay_output_result *out,
                           const struct assay_output_ask *q);
void assay_output_evidence(struct assay_output_evidence *e,
                           const struct assay_output_ask *q);

#endif
