/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors and layers that edits put into a slice. New tensors are appended,
 * new constants live in the slice's arena. `layer` moves along when something
 * is put in front of it.
 */
#ifndef ASSAY_CAUSE_EDIT_GRAPH_H
#define ASSAY_CAUSE_EDIT_GRAPH_H

#include "lib/core/slice.h"

/* An activation like tensor `like`, named after it; dims may be changed. */
int assay_edit_tensor(struct assay_slice *s, uint32_t like, const char *suffix,
                      uint32_t *index, struct assay_err *err) ASSAY_MUST_CHECK;
/* A constant of such dims and dtype whose elements are all v. */
int assay_edit_fill(struct assay_slice *s, uint32_t like, const int64_t *dims,
                    int64_t v, uint32_t *index, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Puts layer `made` in front of (behind) *layer; its output is a fresh tensor
 * that *layer's input i reads (that is read instead by whoever read *layer). */
int assay_edit_before(struct assay_slice *s, uint32_t *layer, uint32_t n,
                      const uint32_t *inputs, uint32_t output, uint32_t input,
                      struct assay_layer **made, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* The edited layer gives a fresh tensor; `made` reads it and gives the one
 * that the layer gave. *fresh: index of the former. */
int assay_edit_behind(struct assay_slice *s, uint32_t layer, uint32_t *fresh,
                      struct assay_layer **made, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
