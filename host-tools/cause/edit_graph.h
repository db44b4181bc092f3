/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors and layers that edits put into a slice. New tensors are appended,
 * new constants live in the slice's arena. `layer` moves along when something
 * is put in front of it. Pointers to layers and tensors are valid until the
 * next call. All: 0 or a negative ASSAY_E*; not thread safe.
 */
#ifndef ASSAY_CAUSE_EDIT_GRAPH_H
#define ASSAY_CAUSE_EDIT_GRAPH_H

#include "lib/core/slice.h"

/* An activation like tensor `like`, named after it; dims may be changed. */
int assay_edit_tensor(struct assay_slice *s, uint32_t like, const char *suffix,
                      uint32_t *index, struct assay_err *err) ASSAY_MUST_CHECK;
/* Other dims, in no source's order and without scales of channels. */
void assay_edit_shape(struct assay_tensor *t, uint32_t rank,
                      const int64_t *dims);
/* Is `like` (a constant, or an activation in dims of its own) with other
 * bytes, borrowed: they are in the slice's arena. */
int assay_edit_constant(struct assay_slice *s, uint32_t like, const void *data,
                        uint32_t *index, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* A constant of such dims and dtype whose elements are all v. */
int assay_edit_fill(struct assay_slice *s, uint32_t like, const int64_t *dims,
                    int64_t v, uint32_t *index, struct assay_err *err)
    ASSAY_MUST_CHECK;

/* Puts layer `made` in front of *layer; `output` is a fresh tensor that
 * *layer's input `input` then is. */
int assay_edit_before(struct assay_slice *s, uint32_t *layer, uint32_t n,
                      const uint32_t *inputs, uint32_t output, uint32_t input,
                      struct assay_layer **made, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* The edited layer gives a fresh tensor; `made` reads it and gives the one
 * that the layer gave. *fresh: index of the former. What was put behind it
 * earlier comes behind `made`. */
int assay_edit_behind(struct assay_slice *s, uint32_t layer, uint32_t *fresh,
                      struct assay_layer **made, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* The same with n inputs, all of them *fresh until they are set. */
int assay_edit_behind_n(struct assay_slice *s, uint32_t layer, uint32_t n,
                        uint32_t *fresh, struct assay_layer **made,
                        struct assay_err *err) ASSAY_MUST_CHECK;

/* A VIEW behind the layer, whose own output keeps its shape. */
int assay_edit_view_behind(struct assay_slice *s, uint32_t layer,
                           const struct assay_view_params *view,
                           struct assay_err *err) ASSAY_MUST_CHECK;
/* A VIEW of the layer's input i in front of it, of the same shape. */
int assay_edit_view_before(struct assay_slice *s, uint32_t *layer, uint32_t i,
                           const struct assay_view_params *view,
                           struct assay_err *err) ASSAY_MUST_CHECK;
/* A constant of 256 elements like tensor `like`, an 8-bit one: v by place. */
int assay_edit_table(struct assay_slice *s, uint32_t like, const int64_t v[256],
                     uint32_t *index, struct assay_err *err) ASSAY_MUST_CHECK;

/* n empty programs for the layer's inputs. */
int assay_edit_programs(struct assay_slice *s, struct assay_layer *l,
                        uint32_t n, struct assay_err *err) ASSAY_MUST_CHECK;

#endif
