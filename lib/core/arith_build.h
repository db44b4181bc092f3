/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of arith*.c share: a builder of programs, and one function
 * for each kind of layer. Private to lib/core/arith*.c.
 *
 * A builder collects steps; its first failure sticks and is returned by
 * assay_build_end(), so that the steps between read like the formula.
 * Not thread safe.
 */
#ifndef ASSAY_CORE_ARITH_BUILD_H
#define ASSAY_CORE_ARITH_BUILD_H

#include "lib/core/arith.h"

struct assay_builder {
    struct assay_arena *arena; /* borrowed; operands are copied into it */
    struct assay_err *err;
    struct assay_program program;
    int code; /* 0, or the first failure */
};

void assay_build_begin(struct assay_builder *b, struct assay_arena *arena,
                       struct assay_err *err);
/* Without operand; `round` where the step takes one. */
void assay_build_plain(struct assay_builder *b, enum assay_step_kind kind,
                       enum assay_round round);
void assay_build_bits(struct assay_builder *b, enum assay_step_kind kind,
                      uint8_t bits); /* SAT, WRAP */
/* Integer operands: one, one a channel, or a pair of bounds. */
void assay_build_int(struct assay_builder *b, enum assay_step_kind kind,
                     int64_t a);
void assay_build_ints(struct assay_builder *b, enum assay_step_kind kind,
                      uint32_t n, const int64_t *a);
void assay_build_shr(struct assay_builder *b, uint32_t n, const int64_t *a,
                     enum assay_round round);
void assay_build_clamp(struct assay_builder *b, int64_t lo, int64_t hi);
/* binary32 operands. */
void assay_build_f32(struct assay_builder *b, enum assay_step_kind kind,
                     float a);
void assay_build_f32s(struct assay_builder *b, enum assay_step_kind kind,
                      uint32_t n, const float *a);
void assay_build_f32_pair(struct assay_builder *b, enum assay_step_kind kind,
                          float first, float second); /* FCLAMP, FFMA */
/* binary64 operands. */
void assay_build_f64s(struct assay_builder *b, enum assay_step_kind kind,
                      uint32_t n, const double *a);
void assay_build_f64_pair(struct assay_builder *b, enum assay_step_kind kind,
                          double first, double second);
void assay_build_step(struct assay_builder *b, const struct assay_step *s);
void assay_build_fail(struct assay_builder *b, int code, const char *fmt, ...)
    ASSAY_PRINTF(3, 4);
/* Writes *out, or leaves it alone and returns the first failure. */
int assay_build_end(const struct assay_builder *b, struct assay_program *out)
    ASSAY_MUST_CHECK;

/* The steps of a named policy, appended. */
void assay_build_policy(struct assay_builder *b, const char *policy,
                        const struct assay_policy_operands *ops);
bool assay_policy_known(const char *policy);

/* Scale, zero point and range of a tensor that is quantized per tensor. */
struct assay_uniform {
    float scale;
    int32_t zero;
    int64_t lo, hi; /* range of the dtype */
    enum assay_dtype dtype;
};
/* Refuses a tensor without one finite scale > 0 and a zero point in range. */
int assay_arith_uniform(const struct assay_tensor *t, struct assay_uniform *q,
                        struct assay_err *err) ASSAY_MUST_CHECK;
/* A scale is finite and > 0; the sentence names `what` and the tensor. */
int assay_arith_check_scale(const struct assay_tensor *t, double scale,
                            struct assay_err *err) ASSAY_MUST_CHECK;

/*
 * Requantization to `y` of a real value v * scale32 (or v * scale64, which
 * integer and fp64 policies take): policy operands for one channel count.
 */
int assay_arith_policy(struct assay_builder *b, const char *policy, uint32_t n,
                       const float *scale32, const double *scale64,
                       const struct assay_uniform *y) ASSAY_MUST_CHECK;

/* (q - zero) (x) scale, binary32; and its inverse by division, half even. */
void assay_build_dequantize(struct assay_builder *b,
                            const struct assay_uniform *q);
void assay_build_quantize(struct assay_builder *b,
                          const struct assay_uniform *q);

/* One layer under an arithmetic that fits its kind (arith.c has checked). */
int assay_arith_conv(struct assay_slice *s, struct assay_layer *l,
                     const char *arith, struct assay_err *err) ASSAY_MUST_CHECK;
int assay_arith_add(struct assay_slice *s, struct assay_layer *l,
                    const char *arith, struct assay_err *err) ASSAY_MUST_CHECK;
int assay_arith_mul(struct assay_slice *s, struct assay_layer *l,
                    const char *arith, struct assay_err *err) ASSAY_MUST_CHECK;
int assay_arith_pool(struct assay_slice *s, struct assay_layer *l,
                     const char *arith, struct assay_err *err) ASSAY_MUST_CHECK;
int assay_arith_concat(struct assay_slice *s, struct assay_layer *l,
                       const char *arith, struct assay_err *err)
    ASSAY_MUST_CHECK;
int assay_arith_softmax(struct assay_slice *s, struct assay_layer *l,
                        const char *arith, struct assay_err *err)
    ASSAY_MUST_CHECK;
int assay_arith_unary(struct assay_slice *s, struct assay_layer *l,
                      const char *arith, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
