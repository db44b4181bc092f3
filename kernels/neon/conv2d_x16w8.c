/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution of int16 by int8 or uint8, any groups. Tiles of 4 pixels x 4
 * channels, lanes along the depth, zero points of the weights taken off when
 * they are packed to 16 bits.
 *
 * The accumulator of the definition is int64, the lanes here are int32 and
 * wrap. So only programs are taken that wrap it to 32 bits before they look
 * at it, [add_scaled] wrap 32, or weights and a bias so small that no sum
 * leaves 32 bits.
 */
#include "kernels/neon/depthwise.h"
#include "kernels/neon/tile4.h"

ASSAY_INLINE int32x4_t first(int16x8_t x, int16x8_t w)
{
    int32x4_t acc = vmull_s16(vget_low_s16(x), vget_low_s16(w));

    return vmlal_high_s16(acc, x, w);
}

ASSAY_INLINE int32x4_t dot(int32x4_t acc, int16x8_t x, int16x8_t w)
{
    acc = vmlal_s16(acc, vget_low_s16(x), vget_low_s16(w));
    return vmlal_high_s16(acc, x, w);
}

ASSAY_INLINE int16x8_t load(const int8_t *from)
{
    return vreinterpretq_s16_s8(vld1q_s8(from));
}

/* Variables, not arrays: gcc 12 keeps arrays of accumulators in memory. */
#define WEIGHTS \
    int16x8_t w0 = load(w), w1 = load(w + 16); \
    int16x8_t w2 = load(w + 32), w3 = load(w + 48)
#define NEXT_WEIGHTS \
    do { \
        w0 = load(w); \
        w1 = load(w + 16); \
        w2 = load(w + 32); \
        w3 = load(w + 48); \
    } while (0)
#define FIRST(i) \
    int16x8_t v##i = load(x + 16 * i); \
    int32x4_t a##i##0 = first(v##i, w0); \
    int32x4_t a##i##1 = first(v##i, w1); \
    int32x4_t a##i##2 = first(v##i, w2); \
    int32x4_t a##i##3 = first(v##i, w3)
#define ROW(i) \
    do { \
        v##i = load(x + 16 * i); \
        a##i##0 = dot(a##i##0, v##i, w0); \
        a##i##1 = dot(a##i##1, v##i, w1); \
        a##i##2 = dot(a##i##2, v##i, w2); \
        a##i##3 = dot(a##i##3, v##i, w3); \
    } while (0)
#define ACROSS(i) assay_tile4_across(a##i##0, a##i##1, a##i##2, a##i##3)

static void tile(const struct assay_tile_job *job)
{
    const int8_t *x = job->x;
    uint8_t *y = job->y;

    for (size_t n = job->panels; n > 0; n--) {
        const int8_t *w = job->w;
        WEIGHTS;
        FIRST(0);
        FIRST(1);
        FIRST(2);
        FIRST(3);

        x += 64;
        for (size_t k = job->steps; k > 1; k--) {
            w += 64;
            NEXT_WEIGHTS;
            ROW(0);
            ROW(1);
            ROW(2);
            ROW(3);
            x += 64;
        }
        struct assay_tile4 t = {ACROSS(0), ACROSS(1), ACROSS(2), ACROSS(3)};

        assay_tile4_finish(job, t, NULL, job->panels - n, y);
        y += 4 * job->y_row;
    }
}

static void tile_1(const struct assay_tile_job *job)
{
    const int8_t *x = job->x, *w = job->w;
    WEIGHTS;
    FIRST(0);

    for (size_t k = job->steps; k > 1; k--) {
        x += 16;
        w += 64;
        NEXT_WEIGHTS;
        ROW(0);
    }
    assay_tile4_finish_1(job, ACROSS(0));
}

static const struct assay_gemm gemm = {
    .element = 2,
    .rows = 4,
    .cols = 4,
    .quad = 16,
    .tile = tile,
    .tile_fast = tile,
    .tile_1 = tile_1,
};

static bool wraps(const struct assay_program *p)
{
    uint32_t i = p->n_steps > 0 && p->steps[0].kind == ASSAY_STEP_ADD_SCALED;

    return i < p->n_steps && p->steps[i].kind == ASSAY_STEP_WRAP &&
           p->steps[i].bits == 32;
}

/* The largest sum of every channel; weights that are not known are large. */
static bool fits(const struct assay_conv2d *p)
{
    size_t k = (size_t)p->kh * (size_t)p->kw * (size_t)(p->c / p->groups);
    const uint8_t *w = p->weights;

    for (size_t o = 0; w && o < (size_t)p->oc; o++, w += k) {
        int64_t zero = p->w_zero[o], most = p->bias ? p->bias[o] : 0;

        most = most < 0 ? -most : most;
        for (size_t t = 0; t < k && most <= INT32_MAX; t++) {
            int64_t v = (p->w_dtype == ASSAY_U8 ? w[t] : (int8_t)w[t]) - zero;

            most += (v < 0 ? -v : v) * 32768;
        }
        if (most > INT32_MAX)
            return false;
    }
    return w != NULL;
}

/* Pixels are gathered as twice the bytes, and 0 around them. */
static bool supports(const struct assay_conv2d *p)
{
    return p->x_dtype == ASSAY_S16 && p->x_zero == 0 &&
           (p->w_dtype == ASSAY_S8 || p->w_dtype == ASSAY_U8) &&
           p->c <= INT32_MAX / 2 && (wraps(p->program) || fits(p));
}

/* One channel in, one out: not worth a tile. */
static bool is_depthwise(const struct assay_conv2d *p)
{
    return p->c > 1 && assay_dw_is_plain(p);
}

static size_t packed_size(const struct assay_conv2d *p)
{
    return is_depthwise(p) ? assay_dw_packed_size(&assay_dw_s16, p)
                           : assay_gemm_packed_size(&gemm, p);
}

static void pack(const struct assay_conv2d *p, void *packed)
{
    if (is_depthwise(p))
        assay_dw_pack(&assay_dw_s16, p, packed);
    else
        assay_gemm_pack(&gemm, p, packed);
}

static size_t scratch_size(const struct assay_conv2d *p)
{
    return is_depthwise(p) ? assay_dw_scratch_size(&assay_dw_s16, p)
                           : assay_gemm_scratch_size(&gemm, p);
}

static void run(const struct assay_conv2d *p, const void *packed, const void *x,
                void *y, void *scratch)
{
    if (is_depthwise(p))
        assay_dw_run(&assay_dw_s16, p, packed, x, y, scratch);
    else
        assay_gemm_run(&gemm, p, packed, x, y, scratch);
}

const struct assay_conv2d_kernel assay_conv2d_x16w8__neon = {
    .name = "assay_conv2d_x16w8__neon",
    .isa = ASSAY_ISA_NEON,
    .supports = supports,
    .packed_size = packed_size,
    .pack = pack,
    .scratch_size = scratch_size,
    .run = run,
};
