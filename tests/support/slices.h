/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small slices for unit tests, a line a tensor or layer. A failure of the
 * builder itself ends the test program.
 */
#ifndef ASSAY_TESTS_SUPPORT_SLICES_H
#define ASSAY_TESTS_SUPPORT_SLICES_H

#include "lib/core/slice.h"

struct assay_slice *slices_new(void);

/* Dims: `rank` of them. Pointers are valid until the next of its kind. */
uint32_t slices_tensor(struct assay_slice *s, const char *name,
                       enum assay_tensor_role role, enum assay_dtype dtype,
                       uint32_t rank, const int64_t *dims);
/* Constant bytes, copied. */
void slices_data(struct assay_slice *s, uint32_t tensor, const void *data);
void slices_quant(struct assay_slice *s, uint32_t tensor, float scale,
                  int32_t zero);
/* Inputs: n of them. */
uint32_t slices_layer(struct assay_slice *s, const char *name, enum assay_op op,
                      uint32_t n, const uint32_t *inputs, uint32_t output);
/*
 * A slice of one layer "op" whose tensors are its n inputs, "x", "b", "c", and
 * then its output "y". An operand with data is a constant.
 */
struct slices_operand {
    enum assay_dtype dtype;
    uint32_t rank;
    int64_t dims[ASSAY_MAX_RANK];
    const void *data;
};
struct assay_slice *slices_one(enum assay_op op, uint32_t n,
                               const struct slices_operand *in,
                               struct slices_operand out);
/* n programs without steps. */
void slices_in_programs(struct assay_slice *s, uint32_t layer, uint32_t n);
/* One step with operands that stay where they are. */
void slices_step(struct assay_program *p, enum assay_step_kind kind, uint32_t n,
                 const int64_t *a, const int64_t *b);
/* shr, and sat or wrap to `bits`, behind what is there. */
void slices_shr(struct assay_program *p, enum assay_round round,
                const int64_t *n);
void slices_bits(struct assay_program *p, enum assay_step_kind kind,
                 unsigned bits);
int64_t slices_f32(float f); /* as an operand */

/* to_f32, fmul scale, fclamp, fround half_even: a requantization to int8. */
void slices_requant(struct assay_program *p, const int64_t *scale);

#endif
