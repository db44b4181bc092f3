/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Edited layers for unit tests: an edit as text, the layer run before and
 * after it, and a convolution in plain loops to compare with. A failure of the
 * support itself ends the test program.
 */
#ifndef ASSAY_TESTS_SUPPORT_EDITS_H
#define ASSAY_TESTS_SUPPORT_EDITS_H

#include "host-tools/cause/catalogue.h"

/* Applies "P1=zero" to layer `layer` of a copy, whose plan must be accepted;
 * what assay_edit_apply gives, *out is NULL unless that is 0. */
int edits_apply(const struct assay_slice *s, uint32_t layer, const char *text,
                struct assay_slice **out);
/* Runs a slice whose inputs are the tensors x[0..n - 1]. */
void edits_run(const struct assay_slice *s, const void *const *x, uint32_t n,
               void *out, size_t bytes);
/* Edits layer 0 and gives what the edited slice computes of x. */
void edits_give(const struct assay_slice *s, const char *text,
                const void *const *x, uint32_t n, void *out, size_t bytes);

/* The same numbers in every run: bytes, and integers of lo..hi. */
void edits_random(void *out, size_t bytes);
int64_t edits_between(int64_t lo, int64_t hi);

/* A convolution x [n][h][w][c] by weights [oc][kh][kw][c / groups]. */
struct edits_conv {
    int64_t n, h, w, c, oc, kh, kw, stride_h, stride_w, dilation_h, dilation_w;
    int64_t top, left, bottom, right, groups;
    enum assay_dtype dtype; /* of x; weights are int8 */
    int32_t zero;           /* of x */
};
int64_t edits_out_h(const struct edits_conv *c);
int64_t edits_out_w(const struct edits_conv *c);
/* One layer that gives its sums as int32, int64 for int16. */
struct assay_slice *edits_conv_slice(const struct edits_conv *c,
                                     const int8_t *weights);
/* The element of x, less its zero point; (iy, ix) may lie outside. */
typedef int64_t edits_pixel(const struct edits_conv *c, const void *x,
                            int64_t n, int64_t iy, int64_t ix, int64_t channel,
                            const void *self);
/* What is inside, 0 outside. */
edits_pixel edits_inside;
/* All sums, in order; int64. */
void edits_sums(const struct edits_conv *c, const void *x, const int8_t *w,
                edits_pixel *pixel, const void *self, int64_t *out);
int64_t edits_load(enum assay_dtype dtype, const void *x, int64_t i);

#endif
