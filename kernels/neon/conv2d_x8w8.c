/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles of 4 pixels x 4 channels; lanes run along the depth. Two products of
 * 8 bits fit 16 bits as long as no weight is -128: 2 * 128 * 127 < 2^15. The
 * careful tile adds every product to 32 bits by itself.
 */
#include "kernels/neon/gemm.h"

#include <string.h>

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

/* To any address. */
ASSAY_INLINE void store_4(uint8_t *y, int32_t bytes)
{
    memcpy(y, &bytes, sizeof(bytes));
}

ASSAY_INLINE void store_bytes(const struct assay_epilogue *e,
                              enum assay_epilogue_form form, size_t channel,
                              int32x4_t r0, int32x4_t r1, int32x4_t r2,
                              int32x4_t r3, uint8_t *y, size_t y_row)
{
    struct assay_epi_lanes l = assay_epi_lanes(e, form, channel);
    int32x4_t v = vreinterpretq_s32_s8(
        assay_epi_16(e, form, &l, &l, &l, &l, r0, r1, r2, r3));

    store_4(y, vgetq_lane_s32(v, 0));
    store_4(y + y_row, vgetq_lane_s32(v, 1));
    store_4(y + 2 * y_row, vgetq_lane_s32(v, 2));
    store_4(y + 3 * y_row, vgetq_lane_s32(v, 3));
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

ASSAY_INLINE int32x4_t first_fast(int8x16_t x, int8x16_t w)
{
    int16x8_t p = vmull_s8(vget_low_s8(x), vget_low_s8(w));

    return vpaddlq_s16(vmlal_high_s8(p, x, w));
}

ASSAY_INLINE int32x4_t first_careful(int8x16_t x, int8x16_t w)
{
    int32x4_t acc = vpaddlq_s16(vmull_s8(vget_low_s8(x), vget_low_s8(w)));

    return vpadalq_s16(acc, vmull_high_s8(x, w));
}

/*
 * Variables, not arrays: gcc 12 keeps arrays of accumulators in memory. The
 * first step makes them, so that they need not be zeroed.
 */
#define FIRST(how, i) \
    int8x16_t v##i = vld1q_s8(x + 16 * i); \
    int32x4_t a##i##0 = first_##how(v##i, w0); \
    int32x4_t a##i##1 = first_##how(v##i, w1); \
    int32x4_t a##i##2 = first_##how(v##i, w2); \
    int32x4_t a##i##3 = first_##how(v##i, w3)
#define ROW(how, i) \
    do { \
        v##i = vld1q_s8(x + 16 * i); \
        a##i##0 = dot_##how(a##i##0, v##i, w0); \
        a##i##1 = dot_##how(a##i##1, v##i, w1); \
        a##i##2 = dot_##how(a##i##2, v##i, w2); \
        a##i##3 = dot_##how(a##i##3, v##i, w3); \
    } while (0)
#define WEIGHTS \
    int8x16_t w0 = vld1q_s8(w), w1 = vld1q_s8(w + 16); \
    int8x16_t w2 = vld1q_s8(w + 32), w3 = vld1q_s8(w + 48)
#define ACROSS(i) across(a##i##0, a##i##1, a##i##2, a##i##3)
#define TILE(how) \
    static void tile_##how(const struct assay_tile_job *job) \
    { \
        const int8_t *x = job->x; \
        const int32_t *sums = job->sums; \
        uint8_t *y = job->y; \
\
        for (size_t n = job->panels; n > 0; n--) { \
            const int8_t *w = job->w; \
            WEIGHTS; \
            FIRST(how, 0); \
            FIRST(how, 1); \
            FIRST(how, 2); \
            FIRST(how, 3); \
\
            x += 64; \
            w += 64; \
            for (size_t k = job->steps; k > 1; k--) { \
                w0 = vld1q_s8(w); \
                w1 = vld1q_s8(w + 16); \
                w2 = vld1q_s8(w + 32); \
                w3 = vld1q_s8(w + 48); \
                ROW(how, 0); \
                ROW(how, 1); \
                ROW(how, 2); \
                ROW(how, 3); \
                x += 64; \
                w += 64; \
            } \
            finish(job, ACROSS(0), ACROSS(1), ACROSS(2), ACROSS(3), sums, y); \
            y += 4 * job->y_row; \
            sums = sums ? sums + 4 : NULL; \
        } \
    }
TILE(fast)
TILE(careful)

/* One pixel; the lanes of the other three are computed and dropped. */
static void tile_1(const struct assay_tile_job *job)
{
    const int8_t *x = job->x, *w = job->w;
    WEIGHTS;
    FIRST(careful, 0);

    for (size_t k = job->steps; k > 1; k--) {
        x += 16;
        w += 64;
        w0 = vld1q_s8(w);
        w1 = vld1q_s8(w + 16);
        w2 = vld1q_s8(w + 32);
        w3 = vld1q_s8(w + 48);
        ROW(careful, 0);
    }
    int32x4_t r = ACROSS(0);
    int32_t sums[4] = {job->sums ? job->sums[0] : 0};
    uint8_t bytes[4 * 16];
    struct assay_tile_job to = *job;

    to.y_row = 16;
    finish(&to, r, r, r, r, job->sums ? sums : NULL, bytes);
    memcpy(job->y, bytes, job->e->form == ASSAY_EPI_NONE ? 16 : 4);
}
const struct assay_gemm assay_gemm_neon = {
    .rows = 4,
    .cols = 4,
    .quad = 16,
    .tile = tile_careful,
    .tile_fast = tile_fast,
    .tile_1 = tile_1,
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
