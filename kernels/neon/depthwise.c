/* SPDX-License-Identifier: Apache-2.0 */
/* not a kernel: what the depthwise kernels share. */
#include "kernels/neon/depthwise.h"

#include <string.h>

/* In front of the packed weights; the folded bias follows. */
struct packed_head {
    int32_t fast; /* all folded zero points are 0, no weight is -128 */
    int32_t reserved[15];
};

struct geometry {
    size_t padded; /* channels, in sixteens */
    size_t pixel;  /* bytes of that many */
    size_t taps;
    size_t rows, cols;               /* of the filled image */
    size_t wide_at, fast_at, packed; /* bytes in the packed weights */
    size_t operands_at, acc_at, tail_at, scratch;
};

static struct geometry geometry_of(const struct assay_conv2d *p, size_t element)
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
    s.packed = s.fast_at + (element == 1 ? s.padded * s.taps : 0);
    s.pixel = s.padded * element;
    s.operands_at = assay_round_up(s.rows * s.cols * s.pixel, 64);
    s.acc_at =
        s.operands_at + assay_round_up(ASSAY_EPILOGUE_BYTES(s.padded), 64);
    s.tail_at = s.acc_at + (size_t)p->ow * s.padded * 4;
    s.scratch = s.tail_at + (size_t)p->ow * 16 * 4;
    return s;
}

/*
 * Wide strides into wide pads make a filled image of any size around outputs
 * that read next to nothing of it. The matrix product gathers only what they
 * read.
 */
static bool fills_little(const struct assay_conv2d *p)
{
    struct geometry s = geometry_of(p, 2); /* wraps where this is false */
    size_t bytes;

    return !__builtin_mul_overflow(s.rows, s.cols, &bytes) &&
           !__builtin_mul_overflow(bytes, s.pixel, &bytes) &&
           bytes <= INT32_MAX;
}

bool assay_dw_is_plain(const struct assay_conv2d *p)
{
    return p->groups == p->c && p->oc == p->c && fills_little(p);
}

size_t assay_dw_packed_size(const struct assay_dw *k,
                            const struct assay_conv2d *p)
{
    return geometry_of(p, k->element).packed;
}

size_t assay_dw_scratch_size(const struct assay_dw *k,
                             const struct assay_conv2d *p)
{
    return geometry_of(p, k->element).scratch;
}

void assay_dw_pack(const struct assay_dw *k, const struct assay_conv2d *p,
                   void *packed)
{
    struct geometry s = geometry_of(p, k->element);
    struct packed_head *head = packed;
    int32_t *bias = (int32_t *)(void *)(head + 1);
    int16_t *wide = (int16_t *)(void *)((uint8_t *)packed + s.wide_at);
    int8_t *fast = (int8_t *)packed + s.fast_at;
    const uint8_t *weights = p->weights;
    uint8_t flip = p->w_dtype == ASSAY_U8 ? 0x80 : 0;
    int32_t x_zero = p->x_zero - (p->x_dtype == ASSAY_U8 ? 128 : 0);

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
            if (k->element == 1)
                fast[at] = w;
            sum += (uint32_t)(w - zero);
        }
        bias[o] = (int32_t)((p->bias ? (uint32_t)p->bias[o] : 0u) -
                            (uint32_t)x_zero * sum);
    }
}

/* The signed image of one sample, borders at x_zero; int16 has only 0. */
static void fill_image(const struct assay_conv2d *p, const struct geometry *s,
                       const uint8_t *x, uint8_t *to)
{
    uint8x16_t flip = vdupq_n_u8(p->x_dtype == ASSAY_U8 ? 0x80 : 0);
    uint8x16_t zero = veorq_u8(vdupq_n_u8((uint8_t)p->x_zero), flip);
    size_t c = (size_t)p->c * (s->pixel / s->padded), whole = c / 16 * 16;

    for (size_t r = 0; r < s->rows; r++) {
        int64_t iy = (int64_t)r - p->pad_top;

        for (size_t q = 0; q < s->cols; q++, to += s->pixel) {
            int64_t ix = (int64_t)q - p->pad_left;
            const uint8_t *from;

            if (iy < 0 || iy >= p->h || ix < 0 || ix >= p->w) {
                for (size_t j = 0; j < s->pixel; j += 16)
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

/* Bias plus scaled second operand of a row, sixteen a pixel. */
ASSAY_INLINE void add_second(const struct assay_dw_row *job,
                             enum assay_dtype dtype, const uint8_t *from,
                             size_t from_row, int32_t *starts)
{
    const struct assay_epilogue *e = job->e;
    size_t ch = job->channel, size = assay_dtype_size(dtype);
    struct assay_second_lanes l0 = assay_second_lanes(e, dtype, ch);
    struct assay_second_lanes l1 = assay_second_lanes(e, dtype, ch + 4);
    struct assay_second_lanes l2 = assay_second_lanes(e, dtype, ch + 8);
    struct assay_second_lanes l3 = assay_second_lanes(e, dtype, ch + 12);
    struct assay_dw_sums bias = assay_dw_load_16(e->bias + ch);

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
static void fill_starts(const struct assay_conv2d *p,
                        const struct assay_dw_row *job, size_t element,
                        int32_t *starts)
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
    const struct assay_dw *k;
    const struct assay_conv2d *p;
    struct geometry s;
    const uint8_t *packed;
    int32_t *acc;  /* of all channels, for the interpreter; or the starts */
    uint8_t *tail; /* a row of sixteen channels, of which fewer are real */
    uint8_t *y;
    bool fast;
};

/* Sixteen channels of a fused row, or the last ones; element: its first. */
static void run_fused(const struct layer *a, struct assay_dw_row job,
                      assay_dw_row_fn *run, size_t element)
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
static void run_row(const struct layer *a, struct assay_dw_row job, size_t row)
{
    const struct geometry *s = &a->s;
    size_t c = (size_t)a->p->c, index = row * job.n * c;
    const int8_t *x = job.x;
    enum assay_epilogue_form form = job.e->form;
    assay_dw_row_fn *run =
        job.e->second_dtype ? a->k->sum_of(form) : a->k->row_of(form);

    for (size_t j = 0; j < c; j += 16) {
        job.channel = j;
        job.channels = c - j < 16 ? c - j : 16;
        job.x = x + j * a->k->element;
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

void assay_dw_run(const struct assay_dw *k, const struct assay_conv2d *p,
                  const void *packed, const void *x, void *y, void *scratch)
{
    const struct packed_head *head = packed;
    struct geometry s = geometry_of(p, k->element);
    uint8_t *base = scratch;
    struct assay_epilogue e;
    struct assay_dw_row job;
    struct layer a = {
        .k = k,
        .p = p,
        .s = s,
        .packed = packed,
        .acc = (int32_t *)(void *)(base + s.acc_at),
        .tail = base + s.tail_at,
        .y = y,
        .fast = head->fast && k->fast && k->fast(p),
    };
    size_t image = (size_t)p->h * (size_t)p->w * (size_t)p->c * k->element;

    assay_epilogue_match(&e, p, 1, (size_t)p->c, s.padded,
                         base + s.operands_at);
    e.bias = (const int32_t *)(const void *)(head + 1);
    e.w_zero = NULL;
    memset(&job, 0, sizeof(job));
    job.e = &e;
    job.n = (size_t)p->ow;
    job.kh = (size_t)p->kh;
    job.kw = (size_t)p->kw;
    job.tap_row = (size_t)p->dilation_h * s.cols * s.pixel;
    job.tap_col = (size_t)p->dilation_w * s.pixel;
    job.step = (size_t)p->stride_w * s.pixel;
    for (size_t n = 0; n < (size_t)p->n; n++) {
        fill_image(p, &s, (const uint8_t *)x + n * image, base);
        for (size_t oy = 0; oy < (size_t)p->oh; oy++) {
            job.x = (const int8_t *)base +
                    oy * (size_t)p->stride_h * s.cols * s.pixel;
            run_row(&a, job, n * (size_t)p->oh + oy);
        }
    }
}
