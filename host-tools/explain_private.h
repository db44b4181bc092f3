/* SPDX-License-Identifier: Apache-2.0 */
/* What the explain_*.c share: lines, points, and elements of tensors. */
#ifndef ASSAY_HOST_EXPLAIN_PRIVATE_H
#define ASSAY_HOST_EXPLAIN_PRIVATE_H

#include <stddef.h>

#include "host-tools/explain.h"

/* ---- explain_line.c: lines and points. Formats begin with the indent. -------- */

/* A line of its own: a tap, a cell, a number on the way to a point. */
__attribute__((format(printf, 4, 5))) void assay_explain_say(
    struct assay_explain *e, enum assay_value_kind kind, union assay_value v,
    const char *what, ...);
void assay_explain_say_operand(struct assay_explain *e, /* read from a tensor */
                               enum assay_value_kind kind, union assay_value v,
                               const char *what);
/* A point with its line; its number. A start may be any value. */
__attribute__((format(printf, 4, 5))) uint32_t assay_explain_start(
    struct assay_explain *e, enum assay_value_kind kind, union assay_value v,
    const char *what, ...);
/* Element i of an input: a start that lies in the input's dtype. */
uint32_t assay_explain_element(struct assay_explain *e, uint32_t input,
                               size_t i);
/* One more step behind point `from`. `second`: what ADD_INPUT takes. */
uint32_t assay_explain_step(struct assay_explain *e, uint32_t from,
                            const struct assay_step *s, size_t channel,
                            int32_t second, const char *what);
/* One that stands in no program; a and b are its operands, as they are taken. */
uint32_t assay_explain_own(struct assay_explain *e, uint32_t from,
                           struct assay_step s, int64_t a, int64_t b,
                           const char *what);
uint32_t assay_explain_combine(struct assay_explain *e, uint32_t a, uint32_t b,
                               enum assay_combine how, float k);
/* kind INT: rounded by `round`; F32: in binary32. */
uint32_t assay_explain_divide(struct assay_explain *e, uint32_t from, int64_t n,
                              enum assay_value_kind kind,
                              enum assay_round round);
/* All steps of a program; the last point. second NULL: there is none. */
uint32_t assay_explain_program(struct assay_explain *e,
                               const struct assay_program *p, uint32_t from,
                               size_t channel, const int32_t *second,
                               const char *indent);

/* ---- operators. Each leaves the result as the last point. -------------------- */

void assay_explain_products(struct assay_explain *e);  /* explain_sum.c */
void assay_explain_matmul(struct assay_explain *e);    /* explain_sum.c */
void assay_explain_pool(struct assay_explain *e);      /* explain_window.c */
void assay_explain_reduce(struct assay_explain *e);    /* explain_reduce.c */
void assay_explain_concat(struct assay_explain *e);    /* explain_move.c */
void assay_explain_view(struct assay_explain *e);      /* explain_move.c */
void assay_explain_reshape(struct assay_explain *e);   /* explain_move.c */
void assay_explain_gather(struct assay_explain *e);    /* explain_move.c */
void assay_explain_select(struct assay_explain *e);    /* explain_move.c */
void assay_explain_segments(struct assay_explain *e);  /* explain_segment.c */
void assay_explain_resize(struct assay_explain *e);    /* explain_sample.c */
void assay_explain_grid(struct assay_explain *e);      /* explain_sample.c */
void assay_explain_softmax(struct assay_explain *e);   /* explain_float.c */
void assay_explain_function(struct assay_explain *e);  /* explain_float.c */
void assay_explain_normalize(struct assay_explain *e); /* explain_float.c */

/* ---- elements ----------------------------------------------------------------- */

static inline const struct assay_layer *assay_explain_layer(
    const struct assay_explain *e)
{
    return &e->one->layers[0];
}
static inline const struct assay_tensor *assay_explain_input(
    const struct assay_explain *e, uint32_t i)
{
    return &e->one->tensors[e->one->layers[0].inputs[i]];
}
static inline const struct assay_tensor *assay_explain_output(
    const struct assay_explain *e)
{
    return &e->one->tensors[e->one->layers[0].output];
}
static inline size_t assay_explain_channels(const struct assay_tensor *t)
{
    return t->rank > 0 ? (size_t)t->dims[t->rank - 1] : 1;
}
/* Of the element: its place on the last axis of the output. */
static inline size_t assay_explain_channel(const struct assay_explain *e)
{
    return e->element % assay_explain_channels(assay_explain_output(e));
}
static inline enum assay_value_kind assay_explain_kind(
    const struct assay_tensor *t)
{
    return t->dtype == ASSAY_F32 ? ASSAY_VALUE_F32 : ASSAY_VALUE_INT;
}
static inline int64_t assay_explain_zero(const struct assay_tensor *t,
                                         size_t channel)
{
    return t->quant.n == 0 ? 0
                           : t->quant.zero_point[t->quant.n > 1 ? channel : 0];
}
static inline union assay_value assay_explain_int(int64_t i)
{
    return (union assay_value){.i = i};
}
static inline union assay_value assay_explain_f32(float f)
{
    return (union assay_value){.f = f};
}
/* Element i of the layer's input. */
union assay_value assay_explain_get(const struct assay_explain *e,
                                    uint32_t input, size_t i);
/* Where the element's operand is in t, which is broadcast to the output. */
size_t assay_explain_broadcast(const struct assay_explain *e,
                               const struct assay_tensor *t);

#endif
