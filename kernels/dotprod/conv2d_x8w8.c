/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles of 8 pixels x 8 channels (4 x 8 for the last pixels): four products
 * a lane, added to 32 bits, right for all values.
 */
#include "kernels/neon/gemm.h"

/* Two pixels of eight channels. */
ASSAY_INLINE void store_pair(const struct assay_epilogue *e,
                             enum assay_epilogue_form form,
                             const struct assay_epi_lanes *l0,
                             const struct assay_epi_lanes *l1, int32x4_t a,
                             int32x4_t b, int32x4_t c, int32x4_t d, uint8_t *y,
                             size_t y_row)
{
    int8x16_t v = assay_epi_16(e, form, l0, l1, l0, l1, a, b, c, d);

    vst1_s8((int8_t *)y, vget_low_s8(v));
    vst1_s8((int8_t *)(y + y_row), vget_high_s8(v));
}

#define PAIR(form, i, j) \
    store_pair(e, form, &l0, &l1, a##i##0, a##i##1, a##j##0, a##j##1, \
               y + i * row, row)
#define LANES(form) \
    struct assay_epi_lanes l0 = assay_epi_lanes(e, form, ch); \
    struct assay_epi_lanes l1 = assay_epi_lanes(e, form, ch + 4)
#define BYTES_8(form) \
    case form: { \
        LANES(form); \
        PAIR(form, 0, 1); \
        PAIR(form, 2, 3); \
        PAIR(form, 4, 5); \
        PAIR(form, 6, 7); \
        break; \
    }
#define BYTES_4(form) \
    case form: { \
        LANES(form); \
        PAIR(form, 0, 1); \
        PAIR(form, 2, 3); \
        break; \
    }
#define BYTES_1(form) \
    case form: { \
        LANES(form); \
        store_pair(e, form, &l0, &l1, a00, a01, a00, a01, y, 0); \
        break; \
    }
#define HALF(form, i) \
    vst1q_u8(y + i * row, vreinterpretq_u8_s16(assay_epi_8(e, form, &l0, &l1, \
                                                           a##i##0, a##i##1)))
#define HALVES_1(form) \
    case form: { \
        LANES(form); \
        HALF(form, 0); \
        break; \
    }
#define HALVES_4(form) \
    case form: { \
        LANES(form); \
        HALF(form, 0); \
        HALF(form, 1); \
        HALF(form, 2); \
        HALF(form, 3); \
        break; \
    }
#define HALVES_8(form) \
    case form: { \
        LANES(form); \
        HALF(form, 0); \
        HALF(form, 1); \
        HALF(form, 2); \
        HALF(form, 3); \
        HALF(form, 4); \
        HALF(form, 5); \
        HALF(form, 6); \
        HALF(form, 7); \
        break; \
    }
#define BOUND(i) \
    do { \
        a##i##0 = assay_epi_4(e, a##i##0); \
        a##i##1 = assay_epi_4(e, a##i##1); \
    } while (0)
#define STORE_32(i) \
    do { \
        vst1q_u8(y + i * row, vreinterpretq_u8_s32(a##i##0)); \
        vst1q_u8(y + i * row + 16, vreinterpretq_u8_s32(a##i##1)); \
    } while (0)
/* The second operand of row i; its lanes are s0 and s1. */
#define ADD_SECOND(dtype, i) \
    do { \
        int32x4x2_t v##i = assay_second_8(&s0, &s1, dtype, a##i##0, a##i##1, \
                                          second + i * job->second_row); \
        a##i##0 = v##i.val[0]; \
        a##i##1 = v##i.val[1]; \
    } while (0)
#define ADD_S8(i) ADD_SECOND(ASSAY_S8, i)
#define ADD_S16(i) ADD_SECOND(ASSAY_S16, i)
#define ADD_S32(i) ADD_SECOND(ASSAY_S32, i)
#define SECOND_CASE(dtype, n, M) \
    case dtype: { \
        struct assay_second_lanes s0 = assay_second_lanes(e, dtype, ch); \
        struct assay_second_lanes s1 = assay_second_lanes(e, dtype, ch + 4); \
\
        EACH_##n(M); \
        break; \
    }
#define SECOND(n) \
    if (job->second) { \
        switch (e->second_dtype) { \
            SECOND_CASE(ASSAY_S8, n, ADD_S8) \
            SECOND_CASE(ASSAY_S16, n, ADD_S16) \
            SECOND_CASE(ASSAY_S32, n, ADD_S32) \
        default: break; \
        } \
    }
/* The end of a tile of n rows: one of the forms above, or int32. */
#define FINISH(n, panel) \
    if (e->form >= ASSAY_EPI_M15_S8) { \
        const uint8_t *second = job->second + (panel)*n * job->second_row; \
\
        SECOND(n) \
        switch (e->form) { \
            ASSAY_EPI_EACH_BYTE(BYTES_##n) \
            ASSAY_EPI_EACH_HALF(HALVES_##n) \
        default: EACH_##n(BOUND); EACH_##n(STORE_32); \
        } \
    } else { \
        switch (e->form) { \
            ASSAY_EPI_EACH_PLAIN(BYTES_##n) \
        default: EACH_##n(STORE_32); \
        } \
    }
#define UNZERO(i) \
    do { \
        a##i##0 = vmlsq_n_s32(a##i##0, z0, sums[i]); \
        a##i##1 = vmlsq_n_s32(a##i##1, z1, sums[i]); \
    } while (0)
#define EACH_1(M) M(0)
#define EACH_4(M) \
    do { \
        M(0); \
        M(1); \
        M(2); \
        M(3); \
    } while (0)
#define EACH_8(M) \
    do { \
        M(0); \
        M(1); \
        M(2); \
        M(3); \
        M(4); \
        M(5); \
        M(6); \
        M(7); \
    } while (0)
#define DECLARE_4(M) \
    M(0); \
    M(1); \
    M(2); \
    M(3)
#define DECLARE_8(M) \
    DECLARE_4(M); \
    M(4); \
    M(5); \
    M(6); \
    M(7)
#define START(i) int32x4_t a##i##0 = b0, a##i##1 = b1
#define LOAD(i) int8x16_t x##i = vld1q_s8(x + 16 * i)
#define DOT(i, q) \
    do { \
        a##i##0 = vdotq_laneq_s32(a##i##0, w0, x##i, q); \
        a##i##1 = vdotq_laneq_s32(a##i##1, w1, x##i, q); \
    } while (0)
#define WEIGHTS(q) \
    int8x16_t w0 = vld1q_s8(w + 32 * q), w1 = vld1q_s8(w + 32 * q + 16)
#define QUAD_8(q) \
    do { \
        WEIGHTS(q); \
        DOT(0, q); \
        DOT(1, q); \
        DOT(2, q); \
        DOT(3, q); \
        DOT(4, q); \
        DOT(5, q); \
        DOT(6, q); \
        DOT(7, q); \
    } while (0)
#define QUAD_4(q) \
    do { \
        WEIGHTS(q); \
        DOT(0, q); \
        DOT(1, q); \
        DOT(2, q); \
        DOT(3, q); \
    } while (0)

static void tile_8(const struct assay_tile_job *job)
{
    const struct assay_epilogue *e = job->e;
    const int8_t *x = job->x;
    const int32_t *sums = job->sums;
    size_t ch = job->channel, row = job->y_row;
    uint8_t *y = job->y;

    for (size_t n = job->panels; n > 0; n--) {
        const int8_t *w = job->w;
        int32x4_t b0 = vld1q_s32(e->bias + ch);
        int32x4_t b1 = vld1q_s32(e->bias + ch + 4);
        DECLARE_8(START);

        for (size_t k = job->steps; k > 0; k--) {
            DECLARE_8(LOAD);

            QUAD_8(0);
            QUAD_8(1);
            QUAD_8(2);
            QUAD_8(3);
            x += 128;
            w += 128;
        }
        if (sums) {
            int32x4_t z0 = vld1q_s32(e->w_zero + ch);
            int32x4_t z1 = vld1q_s32(e->w_zero + ch + 4);

            EACH_8(UNZERO);
            sums += 8;
        }
        FINISH(8, job->panels - n)
        y += 8 * row;
    }
}

static void tile_4(const struct assay_tile_job *job)
{
    const struct assay_epilogue *e = job->e;
    const int8_t *x = job->x, *w = job->w;
    const int32_t *sums = job->sums;
    size_t ch = job->channel, row = job->y_row;
    uint8_t *y = job->y;
    int32x4_t b0 = vld1q_s32(e->bias + ch);
    int32x4_t b1 = vld1q_s32(e->bias + ch + 4);
    DECLARE_4(START);

    for (size_t k = job->steps; k > 0; k--) {
        DECLARE_4(LOAD);

        QUAD_4(0);
        QUAD_4(1);
        QUAD_4(2);
        QUAD_4(3);
        x += 64;
        w += 128;
    }
    if (sums) {
        int32x4_t z0 = vld1q_s32(e->w_zero + ch);
        int32x4_t z1 = vld1q_s32(e->w_zero + ch + 4);

        EACH_4(UNZERO);
    }
    FINISH(4, 0)
}

#define QUAD_1(q) \
    do { \
        WEIGHTS(q); \
        DOT(0, q); \
    } while (0)

static void tile_1(const struct assay_tile_job *job)
{
    const struct assay_epilogue *e = job->e;
    const int8_t *x = job->x, *w = job->w;
    const int32_t *sums = job->sums;
    size_t ch = job->channel, row = job->y_row;
    uint8_t *y = job->y;
    int32x4_t b0 = vld1q_s32(e->bias + ch);
    int32x4_t b1 = vld1q_s32(e->bias + ch + 4);
    START(0);

    for (size_t k = job->steps; k > 0; k--) {
        LOAD(0);

        QUAD_1(0);
        QUAD_1(1);
        QUAD_1(2);
        QUAD_1(3);
        x += 16;
        w += 128;
    }
    if (sums) {
        int32x4_t z0 = vld1q_s32(e->w_zero + ch);
        int32x4_t z1 = vld1q_s32(e->w_zero + ch + 4);

        UNZERO(0);
    }
    FINISH(1, 0)
}

static const struct assay_gemm gemm = {
    .element = 1,
    .rows = 8,
    .cols = 8,
    .quad = 4,
    .tile = tile_8,
    .tile_fast = tile_8,
    .tile_4 = tile_4,
    .tile_1 = tile_1,
};

static size_t packed_size(const struct assay_conv2d *p)
{
    return assay_gemm_packed_size(&gemm, p);
}

static void pack(const struct assay_conv2d *p, void *packed)
{
    assay_gemm_pack(&gemm, p, packed);
}

static size_t scratch_size(const struct assay_conv2d *p)
{
    return assay_gemm_scratch_size(&gemm, p);
}

static void run(const struct assay_conv2d *p, const void *packed, const void *x,
                void *y, void *scratch)
{
    assay_gemm_run(&gemm, p, packed, x, y, scratch);
}

const struct assay_conv2d_kernel assay_conv2d_x8w8__dotprod = {
    .name = "assay_conv2d_x8w8__dotprod",
    .isa = ASSAY_ISA_DOTPROD,
    .supports = assay_gemm_supports,
    .packed_size = packed_size,
    .pack = pack,
    .scratch_size = scratch_size,
    .run = run,
};
