/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arithmetic of the forms M15 and S32 of epilogue.h, which includes it.
 *
 *   M15:  s = sat16(v >> r), y = (s * m) >> n, saturated, then bounds
 *
 * A saturating shift to the left that leaves the result in the top bits of
 * its lane shifts to the right and saturates at once: the top 16 bits of
 * sat32(v << (16 - r)) are sat16(v >> r), and so for r above 16, too, where
 * the shift goes to the right. They are then taken by an even/odd pick. The
 * last shift does the same where it rounds down; half up it is a rounding
 * shift and narrowing. |s * m| < 2^30, so no rounding constant overflows.
 */
#ifndef ASSAY_KERNELS_NEON_FIXED_H
#define ASSAY_KERNELS_NEON_FIXED_H

#include "kernels/neon/epilogue.h"

/* Eight of them up to the last shift, which is in its lanes' top bits. */
ASSAY_INLINE int32x4x2_t assay_fixed_scale(bool up,
                                           const struct assay_epi_lanes *l0,
                                           const struct assay_epi_lanes *l1,
                                           int32x4_t a, int32x4_t b)
{
    int16x8_t m = vcombine_s16(l0->mult16, l1->mult16);
    int16x8_t s;
    int32x4x2_t p;

    a = vqshlq_s32(a, l0->left);
    b = vqshlq_s32(b, l1->left);
    s = vuzp2q_s16(vreinterpretq_s16_s32(a), vreinterpretq_s16_s32(b));
    p.val[0] = vmull_s16(vget_low_s16(s), vget_low_s16(m));
    p.val[1] = vmull_high_s16(s, m);
    if (up) {
        p.val[0] = vrshlq_s32(p.val[0], l0->right);
        p.val[1] = vrshlq_s32(p.val[1], l1->right);
    } else {
        p.val[0] = vqshlq_s32(p.val[0], l0->right);
        p.val[1] = vqshlq_s32(p.val[1], l1->right);
    }
    return p;
}

ASSAY_INLINE int16x8_t assay_fixed_narrow(bool up, int32x4x2_t p)
{
    if (up)
        return vqmovn_high_s32(vqmovn_s32(p.val[0]), p.val[1]);
    return vuzp2q_s16(vreinterpretq_s16_s32(p.val[0]),
                      vreinterpretq_s16_s32(p.val[1]));
}

ASSAY_INLINE int8x16_t assay_fixed_bytes(
    const struct assay_epilogue *e, bool up, const struct assay_epi_lanes *l0,
    const struct assay_epi_lanes *l1, const struct assay_epi_lanes *l2,
    const struct assay_epi_lanes *l3, int32x4_t a, int32x4_t b, int32x4_t c,
    int32x4_t d)
{
    int16x8_t lo, hi;
    int8x16_t r;

    lo = assay_fixed_narrow(up, assay_fixed_scale(up, l0, l1, a, b));
    hi = assay_fixed_narrow(up, assay_fixed_scale(up, l2, l3, c, d));
    r = up ? vqmovn_high_s16(vqmovn_s16(lo), hi)
           : vuzp2q_s8(vreinterpretq_s8_s16(lo), vreinterpretq_s8_s16(hi));
    return vminq_s8(vmaxq_s8(r, e->lo), e->hi);
}

/* Eight accumulators of channel quads l0, l1 to eight int16. */
ASSAY_INLINE int16x8_t assay_epi_8(const struct assay_epilogue *e,
                                   enum assay_epilogue_form form,
                                   const struct assay_epi_lanes *l0,
                                   const struct assay_epi_lanes *l1,
                                   int32x4_t a, int32x4_t b)
{
    bool up = form == ASSAY_EPI_M15_S16_UP;
    int16x8_t r = assay_fixed_narrow(up, assay_fixed_scale(up, l0, l1, a, b));

    return vminq_s16(vmaxq_s16(r, e->lo16), e->hi16);
}

/* Four accumulators to four int32 of the form S32. */
ASSAY_INLINE int32x4_t assay_epi_4(const struct assay_epilogue *e, int32x4_t a)
{
    return vminq_s32(vmaxq_s32(a, e->lo32), e->hi32);
}

/* ---- the second operand -------------------------------------------------- */

/* Multipliers and shifts of four channels. */
struct assay_second_lanes {
    int32x4_t mult, shift;
};

ASSAY_INLINE struct assay_second_lanes assay_second_lanes(
    const struct assay_epilogue *e, size_t ch)
{
    struct assay_second_lanes l;

    l.mult = vld1q_s32(e->second_mult + ch);
    l.shift = vld1q_s32(e->second_shift + ch);
    return l;
}

/* Wraps at 32 bits; match.c proved that only shifts to the left may. */
ASSAY_INLINE int32x4_t assay_second_add(int32x4_t acc,
                                        const struct assay_second_lanes *l,
                                        int32x4_t e)
{
    return vaddq_s32(acc, vshlq_s32(vmulq_s32(e, l->mult), l->shift));
}

ASSAY_INLINE int32x4_t assay_second_4(enum assay_dtype dtype, const uint8_t *at)
{
    if (dtype == ASSAY_S8) {
        uint32_t bytes;

        __builtin_memcpy(&bytes, at, sizeof(bytes));
        return vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8((uint64_t)bytes))));
    }
    if (dtype == ASSAY_S16)
        return vmovl_s16(vreinterpret_s16_u8(vld1_u8(at)));
    return vreinterpretq_s32_u8(vld1q_u8(at));
}

ASSAY_INLINE int32x4x2_t assay_second_8(enum assay_dtype dtype,
                                        const uint8_t *at)
{
    int16x8_t half;
    int32x4x2_t r;

    if (dtype == ASSAY_S32) {
        r.val[0] = vreinterpretq_s32_u8(vld1q_u8(at));
        r.val[1] = vreinterpretq_s32_u8(vld1q_u8(at + 16));
        return r;
    }
    half = dtype == ASSAY_S8 ? vmovl_s8(vreinterpret_s8_u8(vld1_u8(at)))
                             : vreinterpretq_s16_u8(vld1q_u8(at));
    r.val[0] = vmovl_s16(vget_low_s16(half));
    r.val[1] = vmovl_high_s16(half);
    return r;
}

#endif
