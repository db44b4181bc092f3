/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps and operands of an edited layer's programs. A program belongs to the
 * edited slice, its operands may be borrowed: they are replaced, never written.
 * What fails gives a negative ASSAY_E*; ASSAY_EDIT_* > 0 as in catalogue.h.
 */
#ifndef ASSAY_CAUSE_EDIT_PROGRAM_H
#define ASSAY_CAUSE_EDIT_PROGRAM_H

#include "host-tools/cause/catalogue.h"
#include "lib/engine/range.h"

/* Index of the first (last) step of that kind; -1: none. */
int assay_edit_first(const struct assay_program *p, enum assay_step_kind kind);
int assay_edit_last(const struct assay_program *p, enum assay_step_kind kind);
/* A step in front of step `at`: CLAMP and FCLAMP take a and b; SAT and WRAP
 * take a as their width; TO_F32 and FROUND nothing; others a.
 * ASSAY_EDIT_NOT_HERE: the program has no room. */
int assay_edit_insert(struct assay_slice *s, struct assay_program *p,
                      uint32_t at, enum assay_step_kind kind, int64_t a,
                      int64_t b, struct assay_err *err) ASSAY_MUST_CHECK;
/* The same with n operands, copied. */
int assay_edit_insert_n(struct assay_slice *s, struct assay_program *p,
                        uint32_t at, enum assay_step_kind kind, uint32_t n,
                        const int64_t *a, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_edit_remove(struct assay_program *p, uint32_t at);
/* Fresh operands v[n] of a step, as `a`. */
int assay_edit_operand(struct assay_slice *s, struct assay_step *step,
                       uint32_t n, const int64_t *v, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Operand of channel c. */
int64_t assay_edit_at(const struct assay_step *s, uint32_t c);
/* Operands are the bits of a binary32 (wide: binary64). */
double assay_edit_float(int64_t bits, bool wide);
int64_t assay_edit_bits(double v, bool wide);
/* Has the program binary64 operands? */
bool assay_edit_wide(const struct assay_program *p);
/* The output's range as a last step. */
int assay_edit_clamp_out(struct assay_slice *s, uint32_t layer,
                         struct assay_err *err) ASSAY_MUST_CHECK;
/* Output channels: the last axis; 1 for a scalar. */
uint32_t assay_edit_channels(const struct assay_slice *s, uint32_t layer);

/*
 * An edit that may find late that it does not apply: its layer as it was.
 * Between the two the layer stays where it is, and its programs may be
 * changed in place.
 */
int assay_edit_save(struct assay_slice *s, uint32_t layer,
                    struct assay_layer *saved, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_edit_restore(struct assay_slice *s, uint32_t layer,
                        const struct assay_layer *saved);

/*
 * Runs `change` on the output program where that has a step of a kind in
 * `kinds` (bits by enum assay_step_kind), else on every operand's program that
 * has one. 0: one was changed; else SAME before NOT_HERE.
 */
typedef int assay_edit_program_fn(struct assay_slice *s, uint32_t layer,
                                  struct assay_program *p,
                                  const struct assay_edit *e,
                                  struct assay_err *err);
int assay_edit_each(struct assay_slice *s, uint32_t layer, uint32_t kinds,
                    const struct assay_edit *e, assay_edit_program_fn *change,
                    struct assay_err *err) ASSAY_MUST_CHECK;

/*
 * The programs of a layer that is made of scales, as if tensor `tensor` had
 * other ones (quant.n entries each; NULL: its own). The tensor stays as it is.
 * NOT_HERE: the layer is not made of scales, or its arithmetic refuses them.
 */
int assay_edit_requantize(struct assay_slice *s, uint32_t layer,
                          uint32_t tensor, const float *scale,
                          const int32_t *zero, struct assay_err *err)
    ASSAY_MUST_CHECK;

/* Convolution or gemm with constant weights of integers? */
bool assay_edit_is_sum(const struct assay_slice *s, uint32_t layer);
/* ... and does it read a bias (input 2)? */
bool assay_edit_has_bias(const struct assay_layer *l);
/* Every sum, bias included, that channel c of such a layer can have. */
struct assay_interval assay_edit_sum_range(const struct assay_slice *s,
                                           uint32_t layer, uint32_t c);
/* What can stand in front of step `at` of the output program of a sum or of
 * an elementwise layer in channel c. false: not known. */
bool assay_edit_range_at(const struct assay_slice *s, uint32_t layer,
                         uint32_t at, uint32_t c, struct assay_interval *out);

#endif
