/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles of 4 pixels x 4 channels; lanes run along the depth. Two products of
 * 8 bits fit 16 bits as long as no weight is -128: 2 * 128 * 127 < 2^15. The
 * careful tile adds every product to 32 bits by itself.
 */
#include "kernels/neon/gemm.h"

ASSAY_INLINE int32x4_t dot_fast(int32x4_t acc, int8x16_t x, int8x16_t w)
{
    int16x8_t p = vmull_s8(vget_low_s8(x), vget_low_s8(w));

    return vpadalq_s16(acc, vmlal_high_s8(p, x, w));
}

ASSAY_INLINE int32x4_t dot_careful(int32x4_t acc, int8x16_t x, int8x16_t w)
{
    acc = vpadalq_s16(acc, vmull_s8(vget_low_s8(x), vget_low_s8(w)));
    return vpadalq_s16(acc, vmull_high_s8(x, w));
}

ASSAY_INLINE int32x4_t across(int32x4_t a, int32x4_t b, int32x4_t c,
                              int32x4_t d)
{
    return vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d));
}

ASSAY_INLINE void store_bytes(const struct assay_epilogue *e,
                              enum assay_epilogue_form form, size_t channel,
                              int32x4_t r0, int32x4_t r1, int32x4_t r2,
                              int32x4_t r3, uint8_t *y, size_t y_row)
{
    struct assay_epi_lanes l = assay_epi_lanes(e, form, channel);
    int32x4_t v = vreinterpretq_s32_s8(
        assay_epi_16(e, form, &l, &l, &l, &l, r0, r1, r2, r3));

    /* Four bytes to any address. */
    vst1q_lane_s32((int32_t *)(void *)y, v, 0);
    vst1q_lane_s32((int32_t *)(void *)(y + y_row), v, 1);
    vst1q_lane_s32((int32_t *)(void *)(y + 2 * y_row), v, 2);
    vst1q_lane_s32((int32_t *)(void *)(y + 3 * y_row), v, 3);
}

ASSAY_INLINE void finish(const struct assay_tile_job *job, int32x4_t r0,
                         int32x4_t r1, int32x4_t r2, int32x4_t r3,
                         const int32_t *sums, uint8_t *y)
{
    const struct assay_epilogue *e = job->e;
    size_t ch = job->channel, row = job->y_row;
    int32x4_t bias = vld1q_s32(e->bias + ch);

    r0 = vaddq_s32(r0, bias);
    r1 = vaddq_s32(r1, bias);
    r2 = vaddq_s32(r2, bias);
    r3 = vaddq_s32(r3, bias);
    if (sums) {
        int32x4_t zero = vld1q_s32(e->w_zero + ch);

        r0 = vmlsq_n_s32(r0, zero, sums[0]);
        r1 = vmlsq_n_s32(r1, zero, sums[1]);
        r2 = vmlsq_n_s32(r2, zero, sums[2]);
        r3 = vmlsq_n_s32(r3, zero, sums[3]);
    }
    switch (e->form) {
    case ASSAY_EPI_F32:
        store_bytes(e, ASSAY_EPI_F32, ch, r0, r1, r2, r3, y, row);
        break;
    case ASSAY_EPI_F32_ZPIN:
        store_bytes(e, ASSAY_EPI_F32_ZPIN, ch, r0, r1, r2, r3, y, row);
        break;
    case ASSAY_EPI_SRDHM:
        store_bytes(e, ASSAY_EPI_SRDHM, ch, r0, r1, r2, r3, y, row);
        break;
    case ASSAY_EPI_SDMULH:
        store_bytes(e, ASSAY_EPI_SDMULH, ch, r0, r1, r2, r3, y, row);
        break;
    case ASSAY_EPI_WIDE:
        store_bytes(e, ASSAY_EPI_WIDE, ch, r0, r1, r2, r3, y, row);
        break;
    default:
        vst1q_s32((int32_t *)(void *)y, r0);
        vst1q_s32((int32_t *)(void *)(y + row), r1);
        vst1q_s32((int32_t *)(void *)(y + 2 * row), r2);
        vst1q_s32((int32_t *)(void *)(y + 3 * row), r3);
    }
}

/* Variables, not arrays: gcc 12 keeps arrays of accumulators in memory. */
#define ROW(DOT, i) \
    do { \
        int8x16_t v = vld1q_s8(x + 16 * i); \
        a##i##0 = DOT(a##i##0, v, w0); \
        a##i##1 = DOT(a##i##1, v, w1); \
        a##i##2 = DOT(a##i##2, v, w2); \
        a##i##3 = DOT(a##i##3, v, w3); \
    } while (0)
#define ZERO(i) \
    int32x4_t a##i##0 = vdupq_n_s32(0), a##i##1 = a##i##0, a##i##2 = a##i##0, \
              a##i##3 = a##i##0
#define TILE(name, DOT) \
    static void name(const struct assay_tile_job *job) \
    { \
        const int8_t *x = job->x; \
        const int32_t *sums = job->sums; \
        uint8_t *y = job->y; \
\
        for (size_t n = job->panels; n > 0; n--) { \
            const int8_t *w = job->w; \
            ZERO(0); \
            ZERO(1); \
            ZERO(2); \
            ZERO(3); \
\
            for (size_t k = job->steps; k > 0; k--) { \
                int8x16_t w0 = vld1q_s8(w), w1 = vld1q_s8(w + 16); \
                int8x16_t w2 = vld1q_s8(w + 32), w3 = vld1q_s8(w + 48); \
\
                ROW(DOT, 0); \
                ROW(DOT, 1); \
                ROW(DOT, 2); \
                ROW(DOT, 3); \
                x += 64; \
                w += 64; \
            } \
            finish(job, across(a00, a01, a02, a03), \
                   across(a10, a11, a12, a13), across(a20, a21, a22, a23), \
                   across(a30, a31, a32, a33), sums, y); \
            y += 4 * job->y_row; \
            sums = sums ? sums + 4 : NULL; \
        } \
    }
TILE(tile_fast, dot_fast)
TILE(tile_careful, dot_careful)

const struct assay_gemm assay_gemm_neon = {
    .rows = 4,
    .cols = 4,
    .quad = 16,
    .tile = tile_careful,
    .tile_fast = tile_fast,
};

static size_t packed_size(const struct assay_conv2d *p)
{
    return assay_gemm_packed_size(&assay_gemm_neon, p);
}

static void pack(const struct assay_conv2d *p, void *packed)
{
    assay_gemm_pack(&assay_gemm_neon, p, packed);
}

static size_t scratch_size(const struct assay_conv2d *p)
{
    return assay_gemm_scratch_size(&assay_gemm_neon, p);
}

static void run(const struct assay_conv2d *p, const void *packed, const void *x,
                void *y, void *scratch)
{
    assay_gemm_run(&assay_gemm_neon, p, packed, x, y, scratch);
}

const struct assay_conv2d_kernel assay_conv2d_x8w8__neon = {
    .name = "assay_conv2d_x8w8__neon",
    .isa = ASSAY_ISA_NEON,
    .supports = assay_gemm_supports,
    .packed_size = packed_size,
    .pack = pack,
    .scratch_size = scratch_size,
    .run = run,
};
