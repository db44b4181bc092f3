/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolution, one output channel an input channel, 16 channels at
 * a time, from a signed copy of the image with its borders filled in and its
 * channels padded to 16. A 3x3 kernel without -128 and with symmetric weights
 * stays in nine registers, and two products share 16 bits; everything else
 * multiplies 16-bit weights with their zero points already subtracted. Other
 * channel multipliers go through the matrix product.
 */
#include "kernels/neon/gemm.h"

#include <string.h>

struct packed_head {
    int32_t fast; /* all folded zero points are 0, no weight is -128 */
    int32_t reserved[15];
};

struct geometry {
    size_t padded; /* channels, in sixteens */
    size_t taps;
    size_t rows, cols;               /* of the filled image */
    size_t wide_at, fast_at, packed; /* bytes in the packed weights */
    size_t operands_at, acc_at, tail_at, scratch;
};

static struct geometry geometry_of(const struct assay_conv2d *p)
{
    struct geometry s;
    size_t bytes;

    s.padded = assay_round_up((size_t)p->c, 16);
    s.taps = (size_t)p->kh * (size_t)p->kw;
    s.rows = (size_t)(p->oh - 1) * (size_t)p->stride_h +
             (size_t)(p->kh - 1) * (size_t)p->dilation_h + 1;
    s.cols = (size_t)(p->ow - 1) * (size_t)p->stride_w +
             (size_t)(p->kw - 1) * (size_t)p->dilation_w + 1;
    bytes = sizeof(struct packed_head) + s.padded * 4;
    s.wide_at = bytes;
    s.fast_at = s.wide_at + s.padded * s.taps * 2;
    s.packed = s.fast_at + s.padded * s.taps;
    s.operands_at = assay_round_up(s.rows * s.cols * s.padded, 64);
    s.acc_at =
        s.operands_at + assay_round_up(ASSAY_EPILOGUE_BYTES(s.padded), 64);
    s.tail_at = s.acc_at + (size_t)p->ow * s.padded * 4;
    s.scratch = s.tail_at + (size_t)p->ow * 16 * 4;
    return s;
}

static bool is_plain(const struct assay_conv2d *p)
{
    return p->groups == p->c && p->oc == p->c;
}

static size_t packed_size(const struct assay_conv2d *p)
{
    return is_plain(p) ? geometry_of(p).packed
                       : assay_gemm_packed_size(&assay_gemm_neon, p);
}

static size_t scratch_size(const struct assay_conv2d *p)
{
    return is_plain(p) ? geometry_of(p).scratch
                       : assay_gemm_scratch_size(&assay_gemm_neon, p);
}

static void pack(const struct assay_conv2d *p, void *packed)
{
    struct geometry s = geometry_of(p);
    struct packed_head *head = packed;
    int32_t *bias = (int32_t *)(void *)(head + 1);
    int16_t *wide = (int16_t *)(void *)((uint8_t *)packed + s.wide_at);
    int8_t *fast = (int8_t *)packed + s.fast_at;
    const uint8_t *weights = p->weights;
    uint8_t flip = p->w_dtype == ASSAY_U8 ? 0x80 : 0;
    int32_t x_zero = p->x_zero - (p->x_dtype == ASSAY_U8 ? 128 : 0);

    if (!is_plain(p)) {
        assay_gemm_pack(&assay_gemm_neon, p, packed);
        return;
    }
    memset(packed, 0, s.packed);
    head->fast = 1;
    for (size_t o = 0; o < (size_t)p->c; o++) {
        int32_t zero = p->w_zero[o] - (flip ? 128 : 0);
        uint32_t sum = 0;

        if (zero != 0)
            head->fast = 0;
        for (size_t t = 0; t < s.taps; t++) {
            int8_t w = (int8_t)(weights[o * s.taps + t] ^ flip);
            size_t at = (o / 16 * s.taps + t) * 16 + o % 16;

            if (w == -128)
                head->fast = 0;
            wide[at] = (int16_t)(w - zero);
            fast[at] = w;
            sum += (uint32_t)(w - zero);
        }
        bias[o] = (int32_t)((p->bias ? (uint32_t)p->bias[o] : 0u) -
                            (uint32_t)x_zero * sum);
    }
}

/* The signed image of one sample, borders at x_zero. */
static void fill_image(const struct assay_conv2d *p, const struct geometry *s,
                       const uint8_t *x, uint8_t *to)
{
    uint8x16_t flip = vdupq_n_u8(p->x_dtype == ASSAY_U8 ? 0x80 : 0);
    uint8x16_t zero = veorq_u8(vdupq_n_u8((uint8_t)p->x_zero), flip);
    size_t c = (size_t)p->c, whole = c / 16 * 16;

    for (size_t r = 0; r < s->rows; r++) {
        int64_t iy = (int64_t)r - p->pad_top;

        for (size_t q = 0; q < s->cols; q++, to += s->padded) {
            int64_t ix = (int64_t)q - p->pad_left;
            const uint8_t *from;

            if (iy < 0 || iy >= p->h || ix < 0 || ix >= p->w) {
                for (size_t j = 0; j < s->padded; j += 16)
                    vst1q_u8(to + j, zero);
                continue;
            }
            from = x + ((size_t)iy * (size_t)p->w + (size_t)ix) * c;
            for (size_t j = 0; j < whole; j += 16)
                vst1q_u8(to + j, veorq_u8(vld1q_u8(from + j), flip));
            if (whole < c) {
                memcpy(to + whole, from + whole, c - whole);
                vst1q_u8(to + whole, veorq_u8(vld1q_u8(to + whole), flip));
            }
        }
    }
}

/* One row of outputs of sixteen channels. */
struct row_job {
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

struct sums {
    int32x4_t a, b, c, d;
};

/* What a row keeps in registers. */
struct held {
    struct assay_epilogue e;
    struct assay_epi_lanes l[4];
    struct sums bias;
};

/* A pixel of sixteen channels to its elements. */
ASSAY_INLINE void finish(const struct held *h, enum assay_epilogue_form form,
                         struct sums v, uint8_t *y)
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

ASSAY_INLINE struct sums load_16(const int32_t *from)
{
    struct sums v = {vld1q_s32(from), vld1q_s32(from + 4), vld1q_s32(from + 8),
                     vld1q_s32(from + 12)};

    return v;
}

ASSAY_INLINE struct sums add_16(struct sums v, int16x8_t lo, int16x8_t hi)
{
    v.a = vaddw_s16(v.a, vget_low_s16(lo));
    v.b = vaddw_high_s16(v.b, lo);
    v.c = vaddw_s16(v.c, vget_low_s16(hi));
    v.d = vaddw_high_s16(v.d, hi);
    return v;
}

ASSAY_INLINE struct sums one_tap(struct sums v, int8x16_t x, int8x16_t w)
{
    return add_16(v, vmull_s8(vget_low_s8(x), vget_low_s8(w)),
                  vmull_high_s8(x, w));
}

ASSAY_INLINE struct sums two_taps(struct sums v, int8x16_t x0, int8x16_t w0,
                                  int8x16_t x1, int8x16_t w1)
{
    int16x8_t lo = vmull_s8(vget_low_s8(x0), vget_low_s8(w0));
    int16x8_t hi = vmull_high_s8(x0, w0);

    return add_16(v, vmlal_s8(lo, vget_low_s8(x1), vget_low_s8(w1)),
                  vmlal_high_s8(hi, x1, w1));
}

ASSAY_INLINE void hold(struct held *h, const struct row_job *job,
                       enum assay_epilogue_form form)
{
    const int32_t *bias = job->e->bias + job->channel;

    h->e = *job->e;
    h->bias = load_16(bias);
    if (form != ASSAY_EPI_NONE && form != ASSAY_EPI_S32)
        for (size_t i = 0; i < 4; i++)
            h->l[i] = assay_epi_lanes(job->e, form, job->channel + 4 * i);
}

ASSAY_INLINE void row_3x3(const struct row_job *job,
                          enum assay_epilogue_form form, bool starts)
{
    const int8_t *w = (const int8_t *)job->weights;
    int8x16_t w0 = vld1q_s8(w), w1 = vld1q_s8(w + 16);
    int8x16_t w2 = vld1q_s8(w + 32), w3 = vld1q_s8(w + 48);
    int8x16_t w4 = vld1q_s8(w + 64), w5 = vld1q_s8(w + 80);
    int8x16_t w6 = vld1q_s8(w + 96), w7 = vld1q_s8(w + 112);
    int8x16_t w8 = vld1q_s8(w + 128);
    const int8_t *r0 = job->x, *r1 = r0 + job->tap_row;
    const int8_t *r2 = r1 + job->tap_row;
    size_t c1 = job->tap_col, c2 = 2 * c1, step = job->step;
    size_t y_row = job->y_row;
    const int32_t *start = job->starts;
    uint8_t *y = job->y;
    struct held h;

    hold(&h, job, form);
    for (size_t n = job->n; n > 0; n--) {
        struct sums v = starts ? load_16(start) : h.bias;

        v = two_taps(v, vld1q_s8(r0), w0, vld1q_s8(r0 + c1), w1);
        v = two_taps(v, vld1q_s8(r0 + c2), w2, vld1q_s8(r1), w3);
        v = two_taps(v, vld1q_s8(r1 + c1), w4, vld1q_s8(r1 + c2), w5);
        v = two_taps(v, vld1q_s8(r2), w6, vld1q_s8(r2 + c1), w7);
        v = one_tap(v, vld1q_s8(r2 + c2), w8);
        finish(&h, form, v, y);
        r0 += step;
        r1 += step;
        r2 += step;
        y += y_row;
        start += starts ? 16 : 0;
    }
}

ASSAY_INLINE void row_wide(const struct row_job *job,
                           enum assay_epilogue_form form, bool starts)
{
    const int8_t *x = job->x;
    const int32_t *start = job->starts;
    uint8_t *y = job->y;
    struct held h;

    hold(&h, job, form);
    for (size_t n = job->n; n > 0; n--) {
        const int16_t *w = (const int16_t *)(const void *)job->weights;
        const int8_t *row = x;
        struct sums v = starts ? load_16(start) : h.bias;

        for (size_t i = 0; i < job->kh; i++, row += job->tap_row) {
            const int8_t *at = row;

            for (size_t j = 0; j < job->kw; j++, at += job->tap_col) {
                int8x16_t b = vld1q_s8(at);
                int16x8_t lo = vmovl_s8(vget_low_s8(b));
                int16x8_t hi = vmovl_high_s8(b);
                int16x8_t w0 = vld1q_s16(w), w1 = vld1q_s16(w + 8);

                v.a = vmlal_s16(v.a, vget_low_s16(lo), vget_low_s16(w0));
                v.b = vmlal_high_s16(v.b, lo, w0);
                v.c = vmlal_s16(v.c, vget_low_s16(hi), vget_low_s16(w1));
                v.d = vmlal_high_s16(v.d, hi, w1);
                w += 16;
            }
        }
        finish(&h, form, v, y);
        x += job->step;
        y += job->y_row;
        start += starts ? 16 : 0;
    }
}

/* The rows of a form; SUM: those that have a second operand, too. */
#define ROW(form) \
    static void row_##form(const struct row_job *job, bool fast) \
    { \
        if (fast) \
            row_3x3(job, form, false); \
        else \
            row_wide(job, form, false); \
    }
#define SUM(form) \
    static void sum_##form(const struct row_job *job, bool fast) \
    { \
        if (fast) \
            row_3x3(job, form, true); \
        else \
            row_wide(job, form, true); \
    }
#define EACH_SUM(M) \
    M(ASSAY_EPI_S32) \
    ASSAY_EPI_EACH_BYTE(M) \
    ASSAY_EPI_EACH_HALF(M)
ROW(ASSAY_EPI_NONE)
ROW(ASSAY_EPI_S32)
ASSAY_EPI_EACH_PLAIN(ROW)
ASSAY_EPI_EACH_BYTE(ROW)
ASSAY_EPI_EACH_HALF(ROW)
EACH_SUM(SUM)

typedef void row_fn(const struct row_job *job, bool fast);

#define CASE(form) \
    case form: return row_##form;
static row_fn *row_of(enum assay_epilogue_form form)
{
    switch (form) {
        ASSAY_EPI_EACH_PLAIN(CASE)
        ASSAY_EPI_EACH_BYTE(CASE)
        ASSAY_EPI_EACH_HALF(CASE)
    case ASSAY_EPI_S32: return row_ASSAY_EPI_S32;
    default: return row_ASSAY_EPI_NONE;
    }
}
#undef CASE

#define CASE(form) \
    case form: return sum_##form;
static row_fn *sum_of(enum assay_epilogue_form form)
{
    switch (form) {
        EACH_SUM(CASE)
    default: return NULL; /* match.c gives no other form a second operand */
    }
}
#undef CASE

/* Bias plus scaled second operand of a row, sixteen a pixel. */
ASSAY_INLINE void add_second(const struct row_job *job, enum assay_dtype dtype,
                             const uint8_t *from, size_t from_row,
                             int32_t *starts)
{
    const struct assay_epilogue *e = job->e;
    size_t ch = job->channel, size = assay_dtype_size(dtype);
    struct assay_second_lanes l0 = assay_second_lanes(e, dtype, ch);
    struct assay_second_lanes l1 = assay_second_lanes(e, dtype, ch + 4);
    struct assay_second_lanes l2 = assay_second_lanes(e, dtype, ch + 8);
    struct assay_second_lanes l3 = assay_second_lanes(e, dtype, ch + 12);
    struct sums bias = load_16(e->bias + ch);

    for (size_t n = job->n; n > 0; n--, from += from_row, starts += 16) {
        const uint8_t *at = from;
        uint8_t few[64];
        int32x4x2_t lo, hi;

        if (job->channels < 16)
            at = memcpy(few, from, job->channels * size);
        lo = assay_second_8(&l0, &l1, dtype, bias.a, bias.b, at);
        hi = assay_second_8(&l2, &l3, dtype, bias.c, bias.d, at + 8 * size);
        vst1q_s32(starts, lo.val[0]);
        vst1q_s32(starts + 4, lo.val[1]);
        vst1q_s32(starts + 8, hi.val[0]);
        vst1q_s32(starts + 12, hi.val[1]);
    }
}

/* element: of the row's first pixel and channel. */
static void fill_starts(const struct assay_conv2d *p, const struct row_job *job,
                        size_t element, int32_t *starts)
{
    enum assay_dtype dtype = job->e->second_dtype;
    size_t size = assay_dtype_size(dtype), row = (size_t)p->c * size;
    const uint8_t *from = (const uint8_t *)p->second + element * size;

    switch (dtype) {
    case ASSAY_S8: add_second(job, ASSAY_S8, from, row, starts); break;
    case ASSAY_S16: add_second(job, ASSAY_S16, from, row, starts); break;
    default: add_second(job, ASSAY_S32, from, row, starts); break;
    }
}

/* What all rows share. */
struct layer {
    const struct assay_conv2d *p;
    struct geometry s;
    const uint8_t *packed;
    int32_t *acc;  /* of all channels, for the interpreter; or the starts */
    uint8_t *tail; /* a row of sixteen channels, of which fewer are real */
    uint8_t *y;
    bool fast;
};

/* Sixteen channels of a fused row, or the last ones; element: its first. */
static void run_fused(const struct layer *a, struct row_job job, row_fn *run,
                      size_t element)
{
    size_t size = assay_epi_bytes(job.e->form);
    size_t row = (size_t)a->p->c * size, bytes = job.channels * size;
    uint8_t *y = a->y + element * size;

    if (job.e->second_dtype) {
        fill_starts(a->p, &job, element, a->acc);
        job.starts = a->acc;
    }
    if (job.channels == 16) {
        job.y = y;
        job.y_row = row;
        run(&job, a->fast);
        return;
    }
    job.y = a->tail;
    job.y_row = 16 * size;
    run(&job, a->fast);
    for (size_t i = 0; i < job.n; i++)
        memcpy(y + i * row, a->tail + i * job.y_row, bytes);
}

/* All channels of one output row. */
static void run_row(const struct layer *a, struct row_job job, size_t row)
{
    const struct geometry *s = &a->s;
    size_t c = (size_t)a->p->c, index = row * job.n * c;
    const int8_t *x = job.x;
    enum assay_epilogue_form form = job.e->form;
    row_fn *run = job.e->second_dtype ? sum_of(form) : row_of(form);

    for (size_t j = 0; j < c; j += 16) {
        job.channel = j;
        job.channels = c - j < 16 ? c - j : 16;
        job.x = x + j;
        job.weights = a->fast ? a->packed + s->fast_at + j * s->taps
                              : a->packed + s->wide_at + j * s->taps * 2;
        if (form != ASSAY_EPI_NONE) {
            run_fused(a, job, run, index + j);
            continue;
        }
        job.y = (uint8_t *)(a->acc + j);
        job.y_row = s->padded * 4;
        run(&job, a->fast);
    }
    if (form == ASSAY_EPI_NONE)
        assay_interpret_rows(a->p, a->acc, s->padded, job.n, 0, c, index, a->y);
}

static void run(const struct assay_conv2d *p, const void *packed, const void *x,
                void *y, void *scratch)
{
    const struct packed_head *head = packed;
    struct geometry s = geometry_of(p);
    uint8_t *base = scratch;
    struct assay_epilogue e;
    struct row_job job;
    struct layer a = {
        .p = p,
        .s = s,
        .packed = packed,
        .acc = (int32_t *)(void *)(base + s.acc_at),
        .tail = base + s.tail_at,
        .y = y,
        .fast = head->fast && p->kh == 3 && p->kw == 3,
    };
    size_t image = (size_t)p->h * (size_t)p->w * (size_t)p->c;

    if (!is_plain(p)) {
        assay_gemm_run(&assay_gemm_neon, p, packed, x, y, scratch);
        return;
    }
    assay_epilogue_match(&e, p, 1, (size_t)p->c, s.padded,
                         base + s.operands_at);
    e.bias = (const int32_t *)(const void *)(head + 1);
    e.w_zero = NULL;
    memset(&job, 0, sizeof(job));
    job.e = &e;
    job.n = (size_t)p->ow;
    job.kh = (size_t)p->kh;
    job.kw = (size_t)p->kw;
    job.tap_row = (size_t)p->dilation_h * s.cols * s.padded;
    job.tap_col = (size_t)p->dilation_w * s.padded;
    job.step = (size_t)p->stride_w * s.padded;
    for (size_t n = 0; n < (size_t)p->n; n++) {
        fill_image(p, &s, (const uint8_t *)x + n * image, base);
        for (size_t oy = 0; oy < (size_t)p->oh; oy++) {
            job.x = (const int8_t *)base +
                    oy * (size_t)p->stride_h * s.cols * s.padded;
            run_row(&a, job, n * (size_t)p->oh + oy);
        }
    }
}

static bool supports(const struct assay_conv2d *p)
{
    return assay_gemm_supports(p);
}

const struct assay_conv2d_kernel assay_dwconv2d_x8w8__neon = {
    .name = "assay_dwconv2d_x8w8__neon",
    .isa = ASSAY_ISA_NEON,
    .supports = supports,
    .packed_size = packed_size,
    .pack = pack,
    .scratch_size = scratch_size,
    .run = run,
};
