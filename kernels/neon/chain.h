/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short per-tensor programs between 8-bit values, run on sixteen elements in
 * registers. In: [add] [mul], or [add] and binary32 steps. Out: binary32
 * steps, round half even, [add_zp] [clamp]; or shr half up or away, [sat 16]
 * [add_zp] [sat 16] clamp, in 32 bits that were proved to hold the values.
 * chain.c recognises them.
 */
#ifndef ASSAY_KERNELS_NEON_CHAIN_H
#define ASSAY_KERNELS_NEON_CHAIN_H

#include <arm_neon.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/program.h"

#define ASSAY_CHAIN_INLINE static inline __attribute__((always_inline))

struct assay_chain {
    int16_t add; /* operand: to the stored element */
    bool is_signed;
    bool is_float;     /* operand: leaves binary32, else int32 */
    int32_t mul;       /* operand, integers only */
    int64_t low, high; /* operand: bounds of what it leaves as an integer */
    uint32_t n;
    struct {
        uint8_t kind;
        float a, b;
    } steps[ASSAY_MAX_STEPS];
    int32_t zp, lo, hi; /* output */
    bool shifts;        /* output: the integer form */
    int32_t right;      /* output: -31..0 */
    int32_t away;       /* output: -1 rounds half away, 0 half up */
};

/* An operand's program: floats out when `is_float`, else integers. */
bool assay_chain_operand(struct assay_chain *c, const struct assay_program *p,
                         enum assay_dtype dtype, bool is_float);
/* The output's, from binary32 by to_f32 when from_int. */
bool assay_chain_output(struct assay_chain *c, const struct assay_program *p,
                        enum assay_dtype dtype, bool from_int);

/* The output's integer form, from integers in [low, high]. */
bool assay_chain_shift(struct assay_chain *c, const struct assay_program *p,
                       enum assay_dtype dtype, int64_t low, int64_t high);

/* Sixteen values; the two arrays are alternatives. */
struct assay_quads {
    int32x4_t i[4];
    float32x4_t f[4];
};

ASSAY_CHAIN_INLINE void assay_chain_floats(const struct assay_chain *c,
                                           float32x4_t f[4])
{
    for (uint32_t s = 0; s < c->n; s++) {
        float32x4_t a = vdupq_n_f32(c->steps[s].a);
        float32x4_t b = vdupq_n_f32(c->steps[s].b);

        for (int i = 0; i < 4; i++) {
            switch (c->steps[s].kind) {
            case ASSAY_STEP_FMUL: f[i] = vmulq_f32(f[i], a); break;
            case ASSAY_STEP_FDIV: f[i] = vdivq_f32(f[i], a); break;
            case ASSAY_STEP_FADD: f[i] = vaddq_f32(f[i], a); break;
            case ASSAY_STEP_FFMA: f[i] = vfmaq_f32(b, f[i], a); break;
            default: /* FCLAMP, selecting as the scalar one does */
                f[i] = vbslq_f32(vcgtq_f32(f[i], a), f[i], a);
                f[i] = vbslq_f32(vcltq_f32(f[i], b), f[i], b);
                break;
            }
        }
    }
}

ASSAY_CHAIN_INLINE struct assay_quads assay_chain_load(
    const struct assay_chain *c, uint8x16_t x)
{
    int16x8_t add = vdupq_n_s16(c->add);
    int16x8_t lo, hi;
    struct assay_quads q;

    if (c->is_signed) {
        lo = vmovl_s8(vget_low_s8(vreinterpretq_s8_u8(x)));
        hi = vmovl_high_s8(vreinterpretq_s8_u8(x));
    } else {
        lo = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(x)));
        hi = vreinterpretq_s16_u16(vmovl_high_u8(x));
    }
    lo = vaddq_s16(lo, add);
    hi = vaddq_s16(hi, add);
    q.i[0] = vmovl_s16(vget_low_s16(lo));
    q.i[1] = vmovl_high_s16(lo);
    q.i[2] = vmovl_s16(vget_low_s16(hi));
    q.i[3] = vmovl_high_s16(hi);
    for (int i = 0; i < 4; i++) {
        q.f[i] = vcvtq_f32_s32(q.i[i]);
        q.i[i] = vmulq_n_s32(q.i[i], c->mul);
    }
    if (c->is_float)
        assay_chain_floats(c, q.f);
    return q;
}

ASSAY_CHAIN_INLINE uint8x16_t assay_chain_store(const struct assay_chain *c,
                                                struct assay_quads q)
{
    int32x4_t zp = vdupq_n_s32(c->zp);
    int32x4_t lo = vdupq_n_s32(c->lo), hi = vdupq_n_s32(c->hi);

    if (c->shifts) {
        int32x4_t right = vdupq_n_s32(c->right);
        int32x4_t away = vdupq_n_s32(c->away);

        for (int i = 0; i < 4; i++) {
            int32x4_t fix = vshrq_n_s32(vandq_s32(q.i[i], away), 31);

            q.i[i] = vrshlq_s32(vqaddq_s32(q.i[i], fix), right);
        }
    } else {
        assay_chain_floats(c, q.f);
        for (int i = 0; i < 4; i++)
            q.i[i] = vcvtnq_s32_f32(q.f[i]);
    }
    for (int i = 0; i < 4; i++)
        q.i[i] = vminq_s32(vmaxq_s32(vqaddq_s32(q.i[i], zp), lo), hi);
    return vreinterpretq_u8_s8(
        vmovn_high_s16(vmovn_s16(vmovn_high_s32(vmovn_s32(q.i[0]), q.i[1])),
                       vmovn_high_s32(vmovn_s32(q.i[2]), q.i[3])));
}

#endif
