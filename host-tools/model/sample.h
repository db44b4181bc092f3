/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors of a sample: moves that sample.c and observed.c share. Internal to
 * host-tools/model. Pure; any thread.
 */
#ifndef ASSAY_MODEL_SAMPLE_H
#define ASSAY_MODEL_SAMPLE_H

#include "host-tools/model/case.h"

/* "1x8x8x16", "scalar", "empty: 1x0"; what does not fit is left out. */
void assay_sample_shape(char *out, size_t cap, uint32_t rank,
                        const int64_t *dims);
/* dst in the tensor's stored order from src, whose axis perm[i] is stored axis
 * i; `count` elements of `unit` bytes. */
void assay_sample_permute(const struct assay_tensor *t,
                          const uint8_t perm[ASSAY_MAX_RANK], size_t unit,
                          const uint8_t *src, uint8_t *dst, size_t count);
/* No values yet. */
int assay_sample_new(struct assay_sample *s, const struct assay_slice *slice,
                     struct assay_err *err) ASSAY_MUST_CHECK;

#endif
