/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arithmetic of the forms M15, LONG and S32, and the ends of all forms.
 *
 *   M15:  s = sat16(v >> r), y = (s * m) >> n, saturated, then bounds
 *
 * A saturating shift to the left that leaves the result in the top bits of
 * its lane shifts to the right and saturates at once: the top 16 bits of
 * sat32(v << (16 - r)) are sat16(v >> r), and so for r above 16, too, where
 * the shift goes to the right. They are then taken by an even/odd pick. The
 * last shift does the same where it rounds down; half up it is a rounding
 * shift and narrowing. |s * m| < 2^30, so no rounding constant overflows.
 *
 *   LONG: s = bounds((v >> r) + a), y = (s * m) >> n in 64 bits, then bounds
 *
 * Of the two shifts by r one is by 0. match.c takes an `a` only where no sum
 * with it leaves 32 bits.
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

ASSAY_INLINE int32x4_t assay_long_scale(const struct assay_epilogue *e, bool up,
                                        const struct assay_epi_lanes *l,
                                        int32x4_t v)
{
    int64x2_t lo, hi, n0 = vmovl_s32(vget_low_s32(l->right));
    int64x2_t n1 = vmovl_high_s32(l->right);

    v = vrshlq_s32(vshlq_s32(v, l->left), l->left_up);
    v = vaddq_s32(v, l->add);
    v = vminq_s32(vmaxq_s32(v, e->lo32), e->hi32);
    lo = vmull_s32(vget_low_s32(v), vget_low_s32(l->mult));
    hi = vmull_high_s32(v, l->mult);
    lo = up ? vrshlq_s64(lo, n0) : vshlq_s64(lo, n0);
    hi = up ? vrshlq_s64(hi, n1) : vshlq_s64(hi, n1);
    return vqmovn_high_s64(vqmovn_s64(lo), hi);
}

/* Eight of them, saturated to 16 bits. */
ASSAY_INLINE int16x8_t assay_long_8(const struct assay_epilogue *e, bool up,
                                    const struct assay_epi_lanes *l0,
                                    const struct assay_epi_lanes *l1,
                                    int32x4_t a, int32x4_t b)
{
    a = assay_long_scale(e, up, l0, a);
    b = assay_long_scale(e, up, l1, b);
    return vqmovn_high_s32(vqmovn_s32(a), b);
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

/* Sixteen accumulators of channel quads to sixteen bytes. */
ASSAY_INLINE int8x16_t
assay_epi_16(const struct assay_epilogue *e, enum assay_epilogue_form form,
             const struct assay_epi_lanes *l0, const struct assay_epi_lanes *l1,
             const struct assay_epi_lanes *l2, const struct assay_epi_lanes *l3,
             int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d)
{
    int16x8_t lo, hi;
    int8x16_t r;

    if (form == ASSAY_EPI_M15_S8 || form == ASSAY_EPI_M15_S8_UP)
        return assay_fixed_bytes(e, form == ASSAY_EPI_M15_S8_UP, l0, l1, l2, l3,
                                 a, b, c, d);
    if (form == ASSAY_EPI_LONG_S8 || form == ASSAY_EPI_LONG_S8_UP) {
        bool up = form == ASSAY_EPI_LONG_S8_UP;

        lo = assay_long_8(e, up, l0, l1, a, b);
        hi = assay_long_8(e, up, l2, l3, c, d);
        r = vqmovn_high_s16(vqmovn_s16(lo), hi);
        return vminq_s8(vmaxq_s8(r, e->lo), e->hi);
    }
    a = assay_epi_scale(e, form, l0, a);
    b = assay_epi_scale(e, form, l1, b);
    c = assay_epi_scale(e, form, l2, c);
    d = assay_epi_scale(e, form, l3, d);
    lo = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(a), b), e->zp);
    hi = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(c), d), e->zp);
    r = vqmovn_high_s16(vqmovn_s16(lo), hi);
    return veorq_s8(vminq_s8(vmaxq_s8(r, e->lo), e->hi), e->flip);
}

/* Eight accumulators of channel quads l0, l1 to eight int16. */
ASSAY_INLINE int16x8_t assay_epi_8(const struct assay_epilogue *e,
                                   enum assay_epilogue_form form,
                                   const struct assay_epi_lanes *l0,
                                   const struct assay_epi_lanes *l1,
                                   int32x4_t a, int32x4_t b)
{
    bool up = form == ASSAY_EPI_M15_S16_UP;
    int16x8_t r;

    if (form >= ASSAY_EPI_LONG_S16)
        r = assay_long_8(e, form == ASSAY_EPI_LONG_S16_UP, l0, l1, a, b);
    else
        r = assay_fixed_narrow(up, assay_fixed_scale(up, l0, l1, a, b));

    return vminq_s16(vmaxq_s16(r, e->lo16), e->hi16);
}

/* Four accumulators to four int32 of the form S32. */
ASSAY_INLINE int32x4_t assay_epi_4(const struct assay_epilogue *e, int32x4_t a)
{
    return vminq_s32(vmaxq_s32(a, e->lo32), e->hi32);
}

/* ---- the second operand -------------------------------------------------- */

/* Multipliers and shifts of four channels; mult: S32 only. */
struct assay_second_lanes {
    int16x4_t mult16;
    int32x4_t mult, shift;
};

ASSAY_INLINE struct assay_second_lanes assay_second_lanes(
    const struct assay_epilogue *e, enum assay_dtype dtype, size_t ch)
{
    struct assay_second_lanes l;

    l.mult16 = vdup_n_s16(0);
    l.mult = vdupq_n_s32(0);
    if (dtype == ASSAY_S32)
        l.mult = vld1q_s32(e->second_mult + ch);
    else
        l.mult16 = vld1_s16(e->second_mult16 + ch);
    l.shift = vld1q_s32(e->second_shift + ch);
    return l;
}

/* acc plus the scaled four at `at`; wraps at 32 bits. */
ASSAY_INLINE int32x4_t assay_second_4(const struct assay_second_lanes *l,
                                      enum assay_dtype dtype, int32x4_t acc,
                                      const uint8_t *at)
{
    int32x4_t v;

    if (dtype == ASSAY_S32) {
        v = vmulq_s32(vreinterpretq_s32_u8(vld1q_u8(at)), l->mult);
    } else if (dtype == ASSAY_S16) {
        v = vmull_s16(vreinterpret_s16_u8(vld1_u8(at)), l->mult16);
    } else {
        uint32_t bytes;

        __builtin_memcpy(&bytes, at, sizeof(bytes));
        v = vmull_s16(vget_low_s16(vmovl_s8(vcreate_s8((uint64_t)bytes))),
                      l->mult16);
    }
    return vaddq_s32(acc, vshlq_s32(v, l->shift));
}

/* The same of eight, of channel quads l0, l1. */
ASSAY_INLINE int32x4x2_t assay_second_8(const struct assay_second_lanes *l0,
                                        const struct assay_second_lanes *l1,
                                        enum assay_dtype dtype, int32x4_t a,
                                        int32x4_t b, const uint8_t *at)
{
    int32x4x2_t r;

    if (dtype == ASSAY_S32) {
        r.val[0] = assay_second_4(l0, dtype, a, at);
        r.val[1] = assay_second_4(l1, dtype, b, at + 16);
        return r;
    }
    int16x8_t m = vcombine_s16(l0->mult16, l1->mult16);
    int16x8_t v = dtype == ASSAY_S8 ? vmovl_s8(vreinterpret_s8_u8(vld1_u8(at)))
                                    : vreinterpretq_s16_u8(vld1q_u8(at));

    r.val[0] = vmull_s16(vget_low_s16(v), vget_low_s16(m));
    r.val[1] = vmull_high_s16(v, m);
    r.val[0] = vaddq_s32(a, vshlq_s32(r.val[0], l0->shift));
    r.val[1] = vaddq_s32(b, vshlq_s32(r.val[1], l1->shift));
    return r;
}

#endif
