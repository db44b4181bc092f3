/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small layers, and what an edit of the catalogue makes of them. A failure of
 * the support itself ends the test program.
 */
#ifndef ASSAY_TESTS_SUPPORT_SCALED_H
#define ASSAY_TESTS_SUPPORT_SCALED_H

#include "host-tools/cause/catalogue.h"

#define SCALED_MAX 4096 /* bytes of an output */

int32_t scaled_random(int32_t lo, int32_t hi);
/* n elements of a dtype's whole range. */
void scaled_fill(enum assay_dtype dtype, void *to, size_t n);

/* Like slices_quant, with n scales along stored axis `axis`, copied. */
void scaled_quant(struct assay_slice *s, uint32_t tensor, int32_t axis,
                  uint32_t n, const float *scale, int32_t zero);
/* Programs of layer 0 from scales. */
void scaled_arith(struct assay_slice *s, enum assay_real_op op,
                  const char *arith);

/* values: by tensor. The output's bytes; its size. */
size_t scaled_run(const struct assay_slice *s, const void *const *values,
                  uint32_t n_values, void *out);
/* Copies s, applies the edit ("R1", "R5=trunc") to layer 0, and runs it unless
 * it does not apply: what assay_edit_apply gives. */
int scaled_try(const struct assay_slice *s, const char *edit,
               const void *const *values, uint32_t n_values, void *out);

int64_t scaled_clamp(int64_t v, int64_t lo, int64_t hi);
/* x * 2^-n, |x| < 2^52; how: floor, ceil, trunc, or ties Up, Down, Even, Away,
 * to Zero, by the letter f c t u d e a z. */
int64_t scaled_shift(int64_t x, int n, char how);

#endif
