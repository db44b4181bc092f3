/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named arithmetic: from a layer's scales to its requantization programs.
 *
 * A *numerics* ("onnxruntime-x86", "onnxruntime-aarch64", ...) names for each
 * kind of layer the arithmetic ("fp32_rne", "ort_fma", "q31_double", ...) that
 * one reference uses on one CPU; numerics.def holds that table and the golden
 * that proved each row. An arithmetic's name can be given for one layer with
 * `--arith LAYER=NAME`. Definitions: docs/numerics.md.
 *
 * A model reader fills tensors (with scales and zero points), op parameters,
 * real_op and real_steps; then assay_numerics_apply() writes the programs.
 * Not thread safe: works on a slice that is being built.
 */
#ifndef ASSAY_CORE_ARITH_H
#define ASSAY_CORE_ARITH_H

#include "lib/core/slice.h"

/* derive(x) of numerics.md 1.3: x >= 0 finite -> m * 2^(s-31) ~ x. */
void assay_derive_multiplier(double x, int32_t *m, int *s);

/*
 * The output program of a named requantization policy of numerics.md 1, built
 * in the slice's arena: "q31_double", "fp32_rne", ... Operands are per channel
 * when n > 1. Integer policies take m[] and s[] (real scale m*2^(s-31));
 * f32 policies take scale32[], f64 policies scale64[]. zp, qmin, qmax: the
 * output's. An unknown name or value out of the policy's domain is refused
 * with the value and the limit.
 */
struct assay_policy_operands {
    uint32_t n;
    const int32_t *m;
    const int *s;
    const float *scale32;
    const double *scale64;
    int32_t zp;
    int64_t qmin, qmax;
};
int assay_policy_program(struct assay_arena *arena, const char *policy,
                         const struct assay_policy_operands *ops,
                         struct assay_program *out, struct assay_err *err)
    ASSAY_MUST_CHECK;

/* Programs of one layer under an arithmetic, from its tensors' scales. */
int assay_arith_apply(struct assay_slice *s, uint32_t layer, const char *arith,
                      struct assay_err *err) ASSAY_MUST_CHECK;

/* Programs of all layers with a real_op; sets s->numerics. */
int assay_numerics_apply(struct assay_slice *s, const char *numerics,
                         struct assay_err *err) ASSAY_MUST_CHECK;

/* The arithmetic that a numerics has for a kind of layer, by the dtype of its
 * output; NULL: none. */
const char *assay_numerics_arith(const char *numerics, enum assay_real_op op,
                                 enum assay_dtype dtype);
/* Is this (numerics, real_op, dtype of the output) proved by a golden? */
bool assay_numerics_proved(const char *numerics, enum assay_real_op op,
                           enum assay_dtype dtype);
/* i-th known name, NULL behind the last: for --help and error messages. */
const char *assay_numerics_name(unsigned i);
const char *assay_arith_name(unsigned i);

#endif
