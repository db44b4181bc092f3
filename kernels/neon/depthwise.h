/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolution, one output channel an input channel, 16 channels at
 * a time, from a signed copy of the image with its borders filled in and its
 * channels padded to 16: what the rows of int8 and int16 images share.
 */
#ifndef ASSAY_KERNELS_NEON_DEPTHWISE_H
#define ASSAY_KERNELS_NEON_DEPTHWISE_H

#include "kernels/neon/gemm.h"

/* One row of outputs of sixteen channels. */
struct assay_dw_row {
    const struct assay_epilogue *e;
    const int8_t *x;          /* first tap of the first pixel */
    const uint8_t *weights;   /* int8 or int16, [tap][16] */
    size_t channel, channels; /* 1..16 of them are real */
    size_t n;
    size_t kh, kw;
    size_t tap_row, tap_col, step; /* bytes between rows, columns, pixels */
    uint8_t *y;                    /* elements of assay_epi_bytes() */
    size_t y_row;
    const int32_t *starts; /* of a pixel's 16 channels, in place of the bias */
};

struct assay_dw_sums {
    int32x4_t a, b, c, d;
};

/* What a row keeps in registers. */
struct assay_dw_held {
    struct assay_epilogue e;
    struct assay_epi_lanes l[4];
    struct assay_dw_sums bias;
};

typedef void assay_dw_row_fn(const struct assay_dw_row *job, bool fast);

/* The rows of one type of images. */
struct assay_dw {
    size_t element; /* bytes of one */
    /* May `fast` rows run? They have 8-bit weights without zero points. */
    bool (*fast)(const struct assay_conv2d *p);
    assay_dw_row_fn *(*row_of)(enum assay_epilogue_form form);
    /* With a second operand; match.c gives it to ASSAY_DW_EACH_SUM only. */
    assay_dw_row_fn *(*sum_of)(enum assay_epilogue_form form);
};

#define ASSAY_DW_EACH_SUM(M) \
    M(ASSAY_EPI_S32) \
    ASSAY_EPI_EACH_BYTE(M) \
    ASSAY_EPI_EACH_HALF(M)
#define ASSAY_DW_EACH_ROW(M) \
    M(ASSAY_EPI_NONE) \
    M(ASSAY_EPI_S32) \
    ASSAY_EPI_EACH_PLAIN(M) \
    ASSAY_EPI_EACH_BYTE(M) \
    ASSAY_EPI_EACH_HALF(M)

/*
 * row_of() and sum_of(), with a function for each form: any_row(job, form,
 * starts, fast) with constants for `form` and `starts`.
 */
#define ASSAY_DW_ROW(form) \
    static void row_##form(const struct assay_dw_row *job, bool fast) \
    { \
        any_row(job, form, false, fast); \
    }
#define ASSAY_DW_SUM(form) \
    static void sum_##form(const struct assay_dw_row *job, bool fast) \
    { \
        any_row(job, form, true, fast); \
    }
#define ASSAY_DW_ROW_CASE(form) \
    case form: { \
        return row_##form; \
    }
#define ASSAY_DW_SUM_CASE(form) \
    case form: { \
        return sum_##form; \
    }
#define ASSAY_DW_ROWS \
    ASSAY_DW_EACH_ROW(ASSAY_DW_ROW) \
    ASSAY_DW_EACH_SUM(ASSAY_DW_SUM) \
    static assay_dw_row_fn *row_of(enum assay_epilogue_form form) \
    { \
        switch (form) { \
            ASSAY_DW_EACH_ROW(ASSAY_DW_ROW_CASE) \
        default: return NULL; \
        } \
    } \
    static assay_dw_row_fn *sum_of(enum assay_epilogue_form form) \
    { \
        switch (form) { \
            ASSAY_DW_EACH_SUM(ASSAY_DW_SUM_CASE) \
        default: return NULL; \
        } \
    }

extern const struct assay_dw assay_dw_s16; /* dwconv2d_x16w8.c */

/* depthwise.c: is it one channel to one, and worth a filled image? */
bool assay_dw_is_plain(const struct assay_conv2d *p);
size_t assay_dw_packed_size(const struct assay_dw *k,
                            const struct assay_conv2d *p);
void assay_dw_pack(const struct assay_dw *k, const struct assay_conv2d *p,
                   void *packed);
size_t assay_dw_scratch_size(const struct assay_dw *k,
                             const struct assay_conv2d *p);
void assay_dw_run(const struct assay_dw *k, const struct assay_conv2d *p,
                  const void *packed, const void *x, void *y, void *scratch);

/* A pixel of sixteen channels to its elements. */
ASSAY_INLINE void assay_dw_finish(const struct assay_dw_held *h,
                                  enum assay_epilogue_form form,
                                  struct assay_dw_sums v, uint8_t *y)
{
    const struct assay_epilogue *e = &h->e;
    const struct assay_epi_lanes *l = h->l;

    if (form == ASSAY_EPI_S32) {
        v.a = assay_epi_4(e, v.a);
        v.b = assay_epi_4(e, v.b);
        v.c = assay_epi_4(e, v.c);
        v.d = assay_epi_4(e, v.d);
    }
    if (assay_epi_bytes(form) == 1) {
        int8x16_t r = assay_epi_16(e, form, &l[0], &l[1], &l[2], &l[3], v.a,
                                   v.b, v.c, v.d);

        vst1q_u8(y, vreinterpretq_u8_s8(r));
    } else if (assay_epi_bytes(form) == 2) {
        int16x8_t lo = assay_epi_8(e, form, &l[0], &l[1], v.a, v.b);
        int16x8_t hi = assay_epi_8(e, form, &l[2], &l[3], v.c, v.d);

        vst1q_u8(y, vreinterpretq_u8_s16(lo));
        vst1q_u8(y + 16, vreinterpretq_u8_s16(hi));
    } else {
        vst1q_u8(y, vreinterpretq_u8_s32(v.a));
        vst1q_u8(y + 16, vreinterpretq_u8_s32(v.b));
        vst1q_u8(y + 32, vreinterpretq_u8_s32(v.c));
        vst1q_u8(y + 48, vreinterpretq_u8_s32(v.d));
    }
}

ASSAY_INLINE struct assay_dw_sums assay_dw_load_16(const int32_t *from)
{
    struct assay_dw_sums v = {vld1q_s32(from), vld1q_s32(from + 4),
                              vld1q_s32(from + 8), vld1q_s32(from + 12)};

    return v;
}

ASSAY_INLINE void assay_dw_hold(struct assay_dw_held *h,
                                const struct assay_dw_row *job,
                                enum assay_epilogue_form form)
{
    const int32_t *bias = job->e->bias + job->channel;

    h->e = *job->e;
    h->bias = assay_dw_load_16(bias);
    if (form != ASSAY_EPI_NONE && form != ASSAY_EPI_S32)
        for (size_t i = 0; i < 4; i++)
            h->l[i] = assay_epi_lanes(job->e, form, job->channel + 4 * i);
}

#endif
