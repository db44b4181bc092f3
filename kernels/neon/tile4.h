/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a tile of 4 pixels x 4 channels: bias, zero points of the
 * weights, the second operand, the fused form, the stores. Inline functions
 * of the kernels whose tiles have this shape.
 */
#ifndef ASSAY_KERNELS_NEON_TILE4_H
#define ASSAY_KERNELS_NEON_TILE4_H

#include <string.h>

#include "kernels/neon/gemm.h"

ASSAY_INLINE int32x4_t assay_tile4_across(int32x4_t a, int32x4_t b, int32x4_t c,
                                          int32x4_t d)
{
    return vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d));
}

/* To any address. */
ASSAY_INLINE void assay_tile4_put(uint8_t *y, int32_t bytes)
{
    memcpy(y, &bytes, sizeof(bytes));
}

/* Four pixels of one tile. */
struct assay_tile4 {
    int32x4_t r0, r1, r2, r3;
};

ASSAY_INLINE void assay_tile4_bytes(const struct assay_epilogue *e,
                                    enum assay_epilogue_form form,
                                    size_t channel, struct assay_tile4 t,
                                    uint8_t *y, size_t y_row)
{
    struct assay_epi_lanes l = assay_epi_lanes(e, form, channel);
    int32x4_t v = vreinterpretq_s32_s8(
        assay_epi_16(e, form, &l, &l, &l, &l, t.r0, t.r1, t.r2, t.r3));

    assay_tile4_put(y, vgetq_lane_s32(v, 0));
    assay_tile4_put(y + y_row, vgetq_lane_s32(v, 1));
    assay_tile4_put(y + 2 * y_row, vgetq_lane_s32(v, 2));
    assay_tile4_put(y + 3 * y_row, vgetq_lane_s32(v, 3));
}

ASSAY_INLINE void assay_tile4_halves(const struct assay_epilogue *e,
                                     enum assay_epilogue_form form,
                                     size_t channel, struct assay_tile4 t,
                                     uint8_t *y, size_t y_row)
{
    struct assay_epi_lanes l = assay_epi_lanes(e, form, channel);
    uint8x16_t a, b;

    a = vreinterpretq_u8_s16(assay_epi_8(e, form, &l, &l, t.r0, t.r1));
    b = vreinterpretq_u8_s16(assay_epi_8(e, form, &l, &l, t.r2, t.r3));
    vst1_u8(y, vget_low_u8(a));
    vst1_u8(y + y_row, vget_high_u8(a));
    vst1_u8(y + 2 * y_row, vget_low_u8(b));
    vst1_u8(y + 3 * y_row, vget_high_u8(b));
}

ASSAY_INLINE void assay_tile4_words(struct assay_tile4 t, uint8_t *y,
                                    size_t y_row)
{
    vst1q_u8(y, vreinterpretq_u8_s32(t.r0));
    vst1q_u8(y + y_row, vreinterpretq_u8_s32(t.r1));
    vst1q_u8(y + 2 * y_row, vreinterpretq_u8_s32(t.r2));
    vst1q_u8(y + 3 * y_row, vreinterpretq_u8_s32(t.r3));
}

ASSAY_INLINE struct assay_tile4 assay_tile4_add(
    const struct assay_tile_job *job, enum assay_dtype dtype,
    struct assay_tile4 t, const uint8_t *from)
{
    struct assay_second_lanes l =
        assay_second_lanes(job->e, dtype, job->channel);
    size_t row = job->second_row;

    t.r0 = assay_second_4(&l, dtype, t.r0, from);
    t.r1 = assay_second_4(&l, dtype, t.r1, from + row);
    t.r2 = assay_second_4(&l, dtype, t.r2, from + 2 * row);
    t.r3 = assay_second_4(&l, dtype, t.r3, from + 3 * row);
    return t;
}

ASSAY_INLINE struct assay_tile4 assay_tile4_second(
    const struct assay_tile_job *job, struct assay_tile4 t, size_t panel)
{
    const uint8_t *from = job->second + panel * 4 * job->second_row;

    switch (job->e->second_dtype) {
    case ASSAY_S8: return assay_tile4_add(job, ASSAY_S8, t, from);
    case ASSAY_S16: return assay_tile4_add(job, ASSAY_S16, t, from);
    default: return assay_tile4_add(job, ASSAY_S32, t, from);
    }
}

#define ASSAY_TILE4_BYTES(form) \
    case form: assay_tile4_bytes(e, form, ch, t, y, row); break;

/* The forms that may have a second operand. */
ASSAY_INLINE void assay_tile4_fixed(const struct assay_tile_job *job,
                                    struct assay_tile4 t, size_t panel,
                                    uint8_t *y)
{
    const struct assay_epilogue *e = job->e;
    size_t ch = job->channel, row = job->y_row;

    if (job->second)
        t = assay_tile4_second(job, t, panel);
#define ASSAY_TILE4_HALVES(form) \
    case form: assay_tile4_halves(e, form, ch, t, y, row); break;
    switch (e->form) {
        ASSAY_EPI_EACH_BYTE(ASSAY_TILE4_BYTES)
        ASSAY_EPI_EACH_HALF(ASSAY_TILE4_HALVES)
    default:
        t.r0 = assay_epi_4(e, t.r0);
        t.r1 = assay_epi_4(e, t.r1);
        t.r2 = assay_epi_4(e, t.r2);
        t.r3 = assay_epi_4(e, t.r3);
        assay_tile4_words(t, y, row);
    }
#undef ASSAY_TILE4_HALVES
}

/* sums: of the panel's pixels, or NULL. */
ASSAY_INLINE void assay_tile4_finish(const struct assay_tile_job *job,
                                     struct assay_tile4 t, const int32_t *sums,
                                     size_t panel, uint8_t *y)
{
    const struct assay_epilogue *e = job->e;
    size_t ch = job->channel, row = job->y_row;
    int32x4_t bias = vld1q_s32(e->bias + ch);

    t.r0 = vaddq_s32(t.r0, bias);
    t.r1 = vaddq_s32(t.r1, bias);
    t.r2 = vaddq_s32(t.r2, bias);
    t.r3 = vaddq_s32(t.r3, bias);
    if (sums) {
        int32x4_t zero = vld1q_s32(e->w_zero + ch);

        t.r0 = vmlsq_n_s32(t.r0, zero, sums[0]);
        t.r1 = vmlsq_n_s32(t.r1, zero, sums[1]);
        t.r2 = vmlsq_n_s32(t.r2, zero, sums[2]);
        t.r3 = vmlsq_n_s32(t.r3, zero, sums[3]);
    }
    if (e->form >= ASSAY_EPI_M15_S8) {
        assay_tile4_fixed(job, t, panel, y);
        return;
    }
    switch (e->form) {
        ASSAY_EPI_EACH_PLAIN(ASSAY_TILE4_BYTES)
    default: assay_tile4_words(t, y, row);
    }
}

#undef ASSAY_TILE4_BYTES

/* One pixel: the other three are computed and dropped. */
ASSAY_INLINE void assay_tile4_finish_1(const struct assay_tile_job *job,
                                       int32x4_t r)
{
    int32_t sums[4] = {job->sums ? job->sums[0] : 0};
    struct assay_tile4 t = {r, r, r, r};
    struct assay_tile_job to = *job;
    uint8_t bytes[4 * 16];

    to.y_row = 16;
    to.second_row = 0;
    assay_tile4_finish(&to, t, job->sums ? sums : NULL, 0, bytes);
    memcpy(job->y, bytes, 4 * assay_epi_bytes(job->e->form));
}

#endif
