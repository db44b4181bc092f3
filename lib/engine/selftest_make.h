/* SPDX-License-Identifier: Apache-2.0 */
/* What the built-in slices are made with: tensors, layers, programs. Every
 * drawing takes the next number of the slice's generator. Private to
 * selftest_*.c. */
#ifndef ASSAY_ENGINE_SELFTEST_MAKE_H
#define ASSAY_ENGINE_SELFTEST_MAKE_H

#include "lib/engine/selftest_slices.h"

/* A failed step leaves `rc` and makes the others do nothing that matters. */
struct assay_make {
    struct assay_selftest_slice *out;
    struct assay_slice *s;
    struct assay_layer *layer; /* the last one */
    const char *name;
    unsigned draws;
    int rc;
};

/* What a tensor is: dtype, range of its elements, dims up to the first 0. */
struct assay_make_tensor {
    enum assay_dtype dtype;
    int64_t lo, hi;
    int64_t dims[6];
};

/* Zeroed; NULL: no memory, rc says so. */
void *assay_make_memory(struct assay_make *m, size_t count, size_t size);
/* Numbers lo..hi, one a channel (or 1 for all), as operands of a step. */
const int64_t *assay_make_ints(struct assay_make *m, size_t n, int64_t lo,
                               int64_t hi);
int64_t assay_make_bits_of(float f);
/* The same times 2^-down, as bits of a binary32. */
const int64_t *assay_make_floats(struct assay_make *m, size_t n, int64_t lo,
                                 int64_t hi, unsigned down);
const int64_t *assay_make_one(struct assay_make *m, int64_t value);
void assay_make_set_zero(struct assay_make *m, uint32_t index, float scale,
                         int32_t zero);
/* Elements are drawn from lo..hi; of a binary32 from lo/64..hi/64. */
uint32_t assay_make_input(struct assay_make *m, struct assay_make_tensor t);
uint32_t assay_make_constant(struct assay_make *m, struct assay_make_tensor t);
/* A layer of n inputs with the output y; its index. m->layer is it. */
uint32_t assay_make_layer(struct assay_make *m, enum assay_op op, uint32_t n,
                          const uint32_t *inputs, struct assay_make_tensor y);
/* Steps, behind those that are there. */
void assay_make_step(struct assay_program *p, enum assay_step_kind kind,
                     size_t n, const int64_t *a, const int64_t *b);
void assay_make_rounded(struct assay_program *p, enum assay_step_kind kind,
                        const int64_t *a, enum assay_round round);
void assay_make_sat(struct assay_program *p, unsigned bits);
/* To lo..hi by binary32: as onnxruntime requantizes. */
void assay_make_by_float(struct assay_make *m, struct assay_program *p,
                         size_t channels, unsigned down, int64_t lo,
                         int64_t hi);
/* To lo..hi by a multiplier of 31 bits and a shift. */
void assay_make_by_fixed(struct assay_make *m, struct assay_program *p,
                         size_t channels, int64_t shift, enum assay_round round,
                         int64_t zero, int64_t lo, int64_t hi);
/* To `bits` by a multiplier and one shift: as the vendor requantizes. */
void assay_make_by_shift(struct assay_make *m, struct assay_program *p,
                         size_t channels, int64_t shift, enum assay_round round,
                         unsigned bits);

#endif
