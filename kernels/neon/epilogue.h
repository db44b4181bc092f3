/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fused requantization: what the tiles of conv2d and dwconv2d do to their
 * accumulators in registers, for programs that match.c recognises by their
 * steps. Everything else leaves int32 and goes through the interpreter.
 *
 * The forms with a zero point end alike: 32 -> 16 bits saturating, + zero
 * point saturating, 16 -> 8 saturating, clamp. That equals the program's exact
 * sum and clamp, since |zp| and the bounds are far below 2^15. A float clamp
 * at whole numbers commutes with rounding to nearest, so it is done there,
 * too. Unsigned outputs are computed 128 lower and flipped at the end.
 *
 * The forms M15, LONG and S32 may add a scaled second operand first; fixed.h
 * has their arithmetic, and the ends of all forms.
 */
#ifndef ASSAY_KERNELS_NEON_EPILOGUE_H
#define ASSAY_KERNELS_NEON_EPILOGUE_H

#include <arm_neon.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

enum assay_epilogue_form {
    ASSAY_EPI_NONE = 0,     /* leaves int32 */
    ASSAY_EPI_F32 = 1,      /* to_f32, fmul, round half even */
    ASSAY_EPI_F32_ZPIN = 2, /* to_f32, fmul, fadd, round half even */
    ASSAY_EPI_SRDHM = 3,    /* shl, wrap 32, srdhm, shr half up or away */
    ASSAY_EPI_SDMULH = 4,   /* shl, wrap 32, sdmulh, shr half up or away */
    ASSAY_EPI_WIDE = 5,     /* mul, shr half up, in 64 bits */
    /* shr floor, sat 16, mul by 15 bits, shr floor (UP: half up), bounds */
    ASSAY_EPI_M15_S8 = 6,
    ASSAY_EPI_M15_S8_UP = 7,
    ASSAY_EPI_M15_S16 = 8,
    ASSAY_EPI_M15_S16_UP = 9,
    ASSAY_EPI_S32 = 10, /* bounds only, int32 output */
    /* shr floor or half up, add, saturate, mul by 32 bits, shr floor (UP: half
     * up) in 64 bits, bounds */
    ASSAY_EPI_LONG_S8 = 11,
    ASSAY_EPI_LONG_S8_UP = 12,
    ASSAY_EPI_LONG_S16 = 13,
    ASSAY_EPI_LONG_S16_UP = 14,
};

/* M(form) for each that stays in registers. */
#define ASSAY_EPI_EACH_PLAIN(M) \
    M(ASSAY_EPI_F32) \
    M(ASSAY_EPI_F32_ZPIN) \
    M(ASSAY_EPI_SRDHM) \
    M(ASSAY_EPI_SDMULH) \
    M(ASSAY_EPI_WIDE)
/* Those that may have a second operand: from M15_S8 on; and S32. */
#define ASSAY_EPI_EACH_BYTE(M) \
    M(ASSAY_EPI_M15_S8) \
    M(ASSAY_EPI_M15_S8_UP) \
    M(ASSAY_EPI_LONG_S8) \
    M(ASSAY_EPI_LONG_S8_UP)
#define ASSAY_EPI_EACH_HALF(M) \
    M(ASSAY_EPI_M15_S16) \
    M(ASSAY_EPI_M15_S16_UP) \
    M(ASSAY_EPI_LONG_S16) \
    M(ASSAY_EPI_LONG_S16_UP)

struct assay_epilogue {
    enum assay_epilogue_form form;
    const int32_t *bias;    /* folded, one a padded channel */
    const int32_t *w_zero;  /* NULL when all are 0 */
    const float *scale;     /* F32, F32_ZPIN */
    const int32_t *mult;    /* SRDHM, SDMULH, WIDE, LONG */
    const int16_t *mult16;  /* M15 */
    const int32_t *left;    /* SRDHM, SDMULH: 0..31; M15: -15..16; LONG: */
                            /* -31..0, rounding down */
    const int32_t *right;   /* -31..0; WIDE, LONG: -62..0; M15: -31..24 */
    const int32_t *left_up; /* LONG: -31..0, rounding half up, behind left */
    const int32_t *add;     /* LONG: behind those */
    int32_t away;           /* -1: shr rounds half away, 0: half up */
    /* + (e * mult) << shift, -31..31, when second_dtype is not 0 */
    enum assay_dtype second_dtype; /* S8, S16, S32 */
    const int16_t *second_mult16;  /* S8, S16 */
    const int32_t *second_mult;    /* S32 */
    const int32_t *second_shift;
    /* The same value in all lanes: loaded in pairs, not made each time. */
    int16x8_t zp;
    int8x16_t lo, hi, flip; /* flip: 0 or 0x80 */
    float32x4_t zpin;
    int16x8_t lo16, hi16; /* M15_S16 */
    int32x4_t lo32, hi32; /* S32; LONG: of the first factor */
};

/* Bytes that assay_epilogue_match() needs for `padded` channels. */
#define ASSAY_EPILOGUE_BYTES(padded) ((size_t)(padded)*7u * 4u)

/*
 * Recognises the program of p and fills e (form, operands in `store`, 16-byte
 * aligned); form NONE when it is not one of those above. Channel j of group g
 * stands at g * group_padded + j of the arrays, groups times group_channels
 * of them in all.
 */
void assay_epilogue_match(struct assay_epilogue *e,
                          const struct assay_conv2d *p, size_t groups,
                          size_t group_channels, size_t group_padded,
                          void *store);

/* Bytes of an element that a tile leaves. */
static inline size_t assay_epi_bytes(enum assay_epilogue_form form)
{
    if (form == ASSAY_EPI_NONE || form == ASSAY_EPI_S32)
        return 4;
    return form == ASSAY_EPI_M15_S16 || form == ASSAY_EPI_M15_S16_UP ||
                   form >= ASSAY_EPI_LONG_S16
               ? 2
               : 1;
}

/* Operands of four channels, held in registers for a whole tile. */
struct assay_epi_lanes {
    float32x4_t scale;
    int32x4_t mult, left, right, left_up, add;
    int16x4_t mult16;
};

#define ASSAY_INLINE static inline __attribute__((always_inline))

ASSAY_INLINE struct assay_epi_lanes assay_epi_lanes(
    const struct assay_epilogue *e, enum assay_epilogue_form form, size_t ch)
{
    struct assay_epi_lanes l;
    int32x4_t none = vdupq_n_s32(0);

    l.scale = vreinterpretq_f32_s32(none);
    l.mult = l.left = l.right = l.left_up = l.add = none;
    l.mult16 = vdup_n_s16(0);
    if (form == ASSAY_EPI_F32 || form == ASSAY_EPI_F32_ZPIN) {
        l.scale = vld1q_f32(e->scale + ch);
    } else if (form >= ASSAY_EPI_LONG_S8) {
        l.mult = vld1q_s32(e->mult + ch);
        l.left = vld1q_s32(e->left + ch);
        l.right = vld1q_s32(e->right + ch);
        l.left_up = vld1q_s32(e->left_up + ch);
        l.add = vld1q_s32(e->add + ch);
    } else if (form >= ASSAY_EPI_M15_S8) {
        l.mult16 = vld1_s16(e->mult16 + ch);
        l.left = vld1q_s32(e->left + ch);
        l.right = vld1q_s32(e->right + ch);
    } else {
        l.mult = vld1q_s32(e->mult + ch);
        if (form != ASSAY_EPI_WIDE)
            l.left = vld1q_s32(e->left + ch);
        l.right = vld1q_s32(e->right + ch);
    }
    return l;
}

/* One vector of accumulators, up to the zero point. */
ASSAY_INLINE int32x4_t assay_epi_scale(const struct assay_epilogue *e,
                                       enum assay_epilogue_form form,
                                       const struct assay_epi_lanes *l,
                                       int32x4_t v)
{
    if (form == ASSAY_EPI_F32)
        return vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(v), l->scale));
    if (form == ASSAY_EPI_F32_ZPIN)
        return vcvtnq_s32_f32(
            vaddq_f32(vmulq_f32(vcvtq_f32_s32(v), l->scale), e->zpin));
    if (form == ASSAY_EPI_WIDE) {
        int64x2_t lo = vmull_s32(vget_low_s32(v), vget_low_s32(l->mult));
        int64x2_t hi = vmull_high_s32(v, l->mult);

        lo = vrshlq_s64(lo, vmovl_s32(vget_low_s32(l->right)));
        hi = vrshlq_s64(hi, vmovl_high_s32(l->right));
        return vqmovn_high_s64(vqmovn_s64(lo), hi);
    }
    v = vshlq_s32(v, l->left);
    v = form == ASSAY_EPI_SRDHM ? vqrdmulhq_s32(v, l->mult)
                                : vqdmulhq_s32(v, l->mult);
    /* Half away: one less below zero, where there is a shift at all. */
    int32x4_t fix = vandq_s32(vandq_s32(v, l->right), vdupq_n_s32(e->away));

    return vrshlq_s32(vqaddq_s32(v, vshrq_n_s32(fix, 31)), l->right);
}

#endif
