/* SPDX-License-Identifier: Apache-2.0 */
/* not a kernel: gathers pixels for gemm.c. */
#include "kernels/neon/gemm.h"

#include <string.h>

/*
 * Copies n bytes, perhaps up to 15 more: `to` always has that room, `from`
 * only before `end`.
 */
ASSAY_INLINE void copy_over(uint8_t *to, const uint8_t *from, size_t n,
                            const uint8_t *end)
{
    while (n > 0) {
        if ((size_t)(end - from) < 16) {
            for (size_t i = 0; i < n; i++)
                to[i] = from[i];
            return;
        }
        vst1q_u8(to, vld1q_u8(from));
        if (n <= 16)
            return;
        to += 16;
        from += 16;
        n -= 16;
    }
}

ASSAY_INLINE void fill_over(uint8_t *to, uint8x16_t with, size_t n)
{
    for (size_t i = 0; i < n; i += 16)
        vst1q_u8(to + i, with);
}

/* The image that a group's pixels are gathered from. */
struct source {
    const struct assay_conv2d *p;
    const uint8_t *x, *end;
    size_t group_c, offset; /* first channel of the group */
    size_t row;             /* bytes of an image row */
    size_t depth, depth_16;
    uint8x16_t zero; /* x_zero */
    uint8_t flip;
    size_t run;             /* bytes of a kernel row */
    int64_t span_y, span_x; /* from the first to the last tap */
    int64_t h, w, c;        /* of the image */
    size_t kh, jump;        /* bytes from kernel row to kernel row */
    bool short_rows; /* neighbouring taps, at most 16 bytes a kernel row */
};

/* Kernel row by kernel row of one pixel into `line`. */
static void gather_pixel(const struct source *s, const uint8_t *image,
                         int64_t iy, int64_t ix, uint8_t *line)
{
    const struct assay_conv2d *p = s->p;
    int64_t last_x = ix + (int64_t)(p->kw - 1) * p->dilation_w;
    size_t c = s->group_c;
    bool joined =
        p->dilation_w == 1 && c == (size_t)p->c && ix >= 0 && last_x < p->w;
    size_t run = (size_t)p->kw * c;

    for (int32_t ky = 0; ky < p->kh; ky++, iy += p->dilation_h) {
        const uint8_t *row;
        int64_t at = ix;

        if (iy < 0 || iy >= p->h) {
            fill_over(line, s->zero, run);
            line += run;
            continue;
        }
        row = image + iy * (int64_t)s->row + s->offset;
        if (joined) {
            copy_over(line, row + at * p->c, run, s->end);
            line += run;
            continue;
        }
        for (int32_t kx = 0; kx < p->kw; kx++, at += p->dilation_w) {
            if (at < 0 || at >= p->w)
                fill_over(line, s->zero, c);
            else
                copy_over(line, row + at * p->c, c, s->end);
            line += c;
        }
    }
    /* Depth beyond the last tap must be 0 after the flip. */
    vst1q_u8(line, vdupq_n_u8(s->flip));
}

/* Is the whole window inside, with 16 readable bytes at each kernel row? */
ASSAY_INLINE bool is_inside(const struct source *s, const uint8_t *image,
                            int64_t iy, int64_t ix, int64_t at)
{
    return iy >= 0 && ix >= 0 && iy + s->span_y < s->h &&
           ix + s->span_x < s->w &&
           at + s->span_y * (int64_t)s->row + 16 <= s->end - image;
}

/* Kernel rows of at most 16 bytes, overlapping on purpose. */
ASSAY_INLINE void gather_short(const struct source *s, const uint8_t *from,
                               uint8_t *line)
{
    for (size_t ky = s->kh; ky > 0; ky--) {
        vst1q_u8(line, vld1q_u8(from));
        line += s->run;
        from += s->jump;
    }
    vst1q_u8(line, vdupq_n_u8(s->flip));
}

/* One pixel's depth into its row of the panel. */
ASSAY_INLINE void scatter(const uint8_t *from, size_t steps, uint8x16_t flip,
                          int8_t *panel, size_t panel_step)
{
    for (size_t k = 0; k < steps; k++) {
        vst1q_u8((uint8_t *)panel, veorq_u8(vld1q_u8(from), flip));
        panel += panel_step;
        from += 16;
    }
}

/* n sixteens of x_zero, signed already. */
ASSAY_INLINE int8_t *pad(const struct source *s, size_t n, int8_t *panel,
                         size_t panel_step)
{
    uint8x16_t zero = veorq_u8(s->zero, vdupq_n_u8(s->flip));

    for (; n > 0; n--, panel += panel_step)
        vst1q_u8((uint8_t *)panel, zero);
    return panel;
}

/* Channels in sixteens: straight from the image into the panel. */
static void place_whole(const struct source *s, const uint8_t *image,
                        int64_t iy, int64_t ix, int8_t *panel,
                        size_t panel_step)
{
    const struct assay_conv2d *p = s->p;
    uint8x16_t flip = vdupq_n_u8(s->flip);
    size_t tap = s->group_c / 16, row_steps = (size_t)p->kw * tap;
    bool joined = p->dilation_w == 1 && p->groups == 1 && ix >= 0 &&
                  ix + s->span_x < p->w;

    for (int32_t ky = 0; ky < p->kh; ky++, iy += p->dilation_h) {
        const uint8_t *row;
        int64_t at = ix;

        if (iy < 0 || iy >= p->h) {
            panel = pad(s, row_steps, panel, panel_step);
            continue;
        }
        row = image + iy * (int64_t)s->row + s->offset;
        if (joined) {
            scatter(row + at * p->c, row_steps, flip, panel, panel_step);
            panel += row_steps * panel_step;
            continue;
        }
        for (int32_t kx = 0; kx < p->kw; kx++, at += p->dilation_w) {
            if (at < 0 || at >= p->w) {
                panel = pad(s, tap, panel, panel_step);
                continue;
            }
            scatter(row + at * p->c, tap, flip, panel, panel_step);
            panel += tap * panel_step;
        }
    }
}

static void place_pixel(const struct source *s, const uint8_t *image,
                        int64_t iy, int64_t ix, uint8_t *line, int8_t *panel,
                        size_t panel_step)
{
    const struct assay_conv2d *p = s->p;
    uint8x16_t flip = vdupq_n_u8(s->flip);
    size_t whole = s->depth / 16, rest = s->depth % 16;
    int64_t at = (iy * p->w + ix) * p->c + (int64_t)s->offset;

    if (s->group_c % 16 == 0) {
        place_whole(s, image, iy, ix, panel, panel_step);
        return;
    }
    if (p->kh * p->kw == 1 && iy >= 0 && iy < p->h && ix >= 0 && ix < p->w) {
        scatter(image + at, whole, flip, panel, panel_step);
        if (rest) {
            vst1q_u8(line, flip);
            memcpy(line, image + at + whole * 16, rest);
            scatter(line, 1, flip, panel + whole * panel_step, panel_step);
        }
        return;
    }
    gather_pixel(s, image, iy, ix, line);
    scatter(line, s->depth_16 / 16, flip, panel, panel_step);
}

static struct source source_of(const struct assay_conv2d *p, size_t group,
                               const void *x)
{
    size_t group_c = (size_t)(p->c / p->groups);
    size_t row = (size_t)p->w * (size_t)p->c;
    size_t run = (size_t)p->kw * group_c, depth = run * (size_t)p->kh;
    struct source s = {
        .p = p,
        .x = x,
        .end = (const uint8_t *)x + (size_t)p->n * (size_t)p->h * row,
        .group_c = group_c,
        .offset = group * group_c,
        .row = row,
        .depth = depth,
        .depth_16 = assay_round_up(depth, 16),
        .zero = vdupq_n_u8((uint8_t)p->x_zero),
        .flip = p->x_dtype == ASSAY_U8 ? 0x80 : 0,
        .run = run,
        .span_y = (int64_t)(p->kh - 1) * p->dilation_h,
        .span_x = (int64_t)(p->kw - 1) * p->dilation_w,
        .h = p->h,
        .w = p->w,
        .c = p->c,
        .kh = (size_t)p->kh,
        .jump = (size_t)p->dilation_h * row,
        .short_rows = p->dilation_w == 1 && p->groups == 1 && run <= 16,
    };

    return s;
}

void assay_gemm_gather(const struct assay_conv2d *p, size_t group, size_t first,
                       size_t n, size_t rows, const void *x, uint8_t *line,
                       int8_t *panels)
{
    size_t image_size = (size_t)p->h * (size_t)p->w * (size_t)p->c;
    struct source s = source_of(p, group, x);
    size_t ow = (size_t)p->ow, oh = (size_t)p->oh;
    int64_t stride_h = p->stride_h, stride_w = p->stride_w;
    int64_t pad_top = p->pad_top, pad_left = p->pad_left;
    size_t ox = first % ow, oy = first / ow % oh;
    const uint8_t *image = s.x + first / ow / oh * image_size;
    /* A copy whose address goes nowhere: stores of bytes cannot change it. */
    const struct source hot = s;
    const size_t steps = s.depth_16 / 16;
    const uint8x16_t flip = vdupq_n_u8(s.flip);

    for (size_t i = 0; i < n;) {
        size_t height = n - i < rows ? n - i : rows;
        size_t stands = assay_panel_rows(height, rows);
        int8_t *panel = panels + i * s.depth_16;

        for (size_t r = 0; r < height; r++, panel += 16) {
            int64_t iy = (int64_t)oy * stride_h - pad_top;
            int64_t ix = (int64_t)ox * stride_w - pad_left;
            int64_t at = (iy * hot.w + ix) * hot.c;

            if (hot.short_rows && is_inside(&hot, image, iy, ix, at)) {
                gather_short(&hot, image + at, line);
                scatter(line, steps, flip, panel, stands * 16);
            } else {
                place_pixel(&s, image, iy, ix, line, panel, stands * 16);
            }
            if (++ox == ow) {
                ox = 0;
                if (++oy == oh) {
                    oy = 0;
                    image += image_size;
                }
            }
        }
        i += height;
    }
}

void assay_gemm_sums(const int8_t *panels, size_t n, size_t rows, size_t steps,
                     int32_t *sums)
{
    for (size_t i = 0; i < n;) {
        size_t height = n - i < rows ? n - i : rows;
        size_t stands = assay_panel_rows(height, rows);
        const int8_t *panel = panels + i * steps * 16;

        for (size_t r = 0; r < height; r++) {
            int32x4_t sum = vdupq_n_s32(0);

            for (size_t k = 0; k < steps; k++)
                sum = vpadalq_s16(
                    sum, vpaddlq_s8(vld1q_s8(panel + (k * stands + r) * 16)));
            sums[i + r] = vaddvq_s32(sum);
        }
        i += height;
    }
}
