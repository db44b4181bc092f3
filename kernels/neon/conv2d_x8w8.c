/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles of 4 pixels x 4 channels; lanes run along the depth. Two products of
 * 8 bits fit 16 bits as long as no weight is -128: 2 * 128 * 127 < 2^15. The
 * careful tile adds every product to 32 bits by itself.
 */
#include "kernels/neon/tile4.h"

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
#define ACROSS(i) assay_tile4_across(a##i##0, a##i##1, a##i##2, a##i##3)
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
            struct assay_tile4 t = {ACROSS(0), ACROSS(1), ACROSS(2), \
                                    ACROSS(3)}; \
            assay_tile4_finish(job, t, sums, job->panels - n, y); \
            y += 4 * job->y_row; \
            sums = sums ? sums + 4 : NULL; \
        } \
    }
TILE(fast)
TILE(careful)

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
    assay_tile4_finish_1(job, ACROSS(0));
}

const struct assay_gemm assay_gemm_neon = {
    .element = 1,
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
