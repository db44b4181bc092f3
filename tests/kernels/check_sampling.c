/* SPDX-License-Identifier: Apache-2.0 */
/* resize and grid_sample. */
#include "tests/kernels/kcheck.h"

#include <stdlib.h>
#include <string.h>

static int64_t limit(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static int64_t channels_of(struct kc *k)
{
    static const int64_t odd[] = {1, 2, 33, 64, 65, 130};

    return kc_chance(k, 60) ? kc_range(k, 1, 9) : odd[kc_range(k, 0, 5)];
}

static enum assay_dtype input_of(struct kc *k)
{
    static const enum assay_dtype types[] = {ASSAY_S8, ASSAY_S8, ASSAY_S16,
                                             ASSAY_U8};

    return types[kc_range(k, 0, 3)];
}

/* shr, sat of the output; or any program from sums below `bound`. */
static void draw_output(struct kc *k, struct kc_program *out, int64_t shift,
                        unsigned round, size_t channels, int64_t bound,
                        enum assay_dtype *y)
{
    static const enum assay_dtype outs[] = {ASSAY_S8, ASSAY_S16, ASSAY_S32,
                                            ASSAY_F32};

    *y = outs[kc_range(k, 0, 1)];
    if (kc_chance(k, 25)) {
        *y = outs[kc_range(k, 0, 3)];
        kc_random_program(k, out, channels, false, -bound - 1, bound, *y,
                          false);
        return;
    }
    kc_program_begin(out, 1);
    kc_step(
        out,
        (struct assay_step){.kind = ASSAY_STEP_SHR, .round = (uint8_t)round},
        &shift, NULL);
    kc_step(out,
            (struct assay_step){.kind = ASSAY_STEP_SAT,
                                .bits = *y == ASSAY_S8 ? 8 : 16},
            NULL, NULL);
}

/* ---- resize -------------------------------------------------------------- */

/* Cells and the right one's weight of output position i of an axis. */
static void naive_axis(const struct assay_resize *p, int64_t i, int64_t step,
                       int64_t start, int64_t size, int64_t at[2],
                       int64_t *weight)
{
    int64_t one = (int64_t)1 << p->weight_bits;
    int64_t q = kc_naive_shr(i * step + start,
                             (int64_t)p->decimal_bits - p->weight_bits,
                             ASSAY_ROUND_FLOOR);
    int64_t cell = kc_naive_shr(q, p->weight_bits, ASSAY_ROUND_FLOOR);

    at[0] = limit(cell, 0, size - 1);
    at[1] = limit(cell + 1, 0, size - 1);
    *weight = ((q % one) + one) % one;
}

static int64_t naive_resize(const struct assay_resize *p, const void *x,
                            int64_t n, int64_t oy, int64_t ox, int64_t c)
{
    int64_t rows[2], cols[2], fy, fx, line[2];
    int64_t one = (int64_t)1 << p->weight_bits;

    naive_axis(p, oy, p->step_h, p->start_h, p->h, rows, &fy);
    naive_axis(p, ox, p->step_w, p->start_w, p->w, cols, &fx);
    for (int r = 0; r < 2; r++) {
        int64_t at = (n * p->h + rows[r]) * p->w;
        int64_t a =
            kc_element(p->x_dtype, x, (size_t)((at + cols[0]) * p->c + c));
        int64_t b =
            kc_element(p->x_dtype, x, (size_t)((at + cols[1]) * p->c + c));

        line[r] = kc_naive_shr(a * (one - fx) + b * fx, p->mid_shift,
                               ASSAY_ROUND_FLOOR);
    }
    return line[0] * (one - fy) + line[1] * fy;
}

/* Steps as the vendor's modes make them, or any. */
static void draw_axis(struct kc *k, const struct assay_resize *p, int32_t in,
                      int32_t out, int32_t *step, int32_t *start)
{
    int64_t one = (int64_t)1 << p->decimal_bits;

    *step = (int32_t)(in * one / out);
    *start = 0;
    switch (kc_range(k, 0, 4)) {
    case 0:
    case 1: /* centres */ *start = (int32_t)((*step >> 1) - (one >> 1)); break;
    case 2: /* corners */
        if (out > 1)
            *step = (int32_t)((in - 1) * one / (out - 1));
        break;
    case 3:
        if (kc_chance(k, 30)) {
            *step = (int32_t)kc_range(k, INT32_MIN, INT32_MAX);
            *start = (int32_t)kc_range(k, INT32_MIN, INT32_MAX);
        } else {
            *step = (int32_t)kc_range(k, -2 * one, 2 * one);
            *start = (int32_t)kc_range(k, -3 * one, in * one);
        }
        break;
    default: break;
    }
}

static void draw_resize(struct kc *k, struct assay_resize *p)
{
    p->n = kc_chance(k, 20) ? 2 : 1;
    p->h = (int32_t)kc_range(k, 1, kc_chance(k, 20) ? 1 : 7);
    p->w = (int32_t)kc_range(k, 1, kc_chance(k, 20) ? 1 : 7);
    p->c = (int32_t)channels_of(k);
    p->oh = (int32_t)kc_range(k, 1, 13);
    p->ow = (int32_t)kc_range(k, 1, 13);
    p->x_dtype = input_of(k);
    p->decimal_bits = 16;
    p->weight_bits = 8;
    if (kc_chance(k, 40)) {
        p->decimal_bits = (uint32_t)kc_range(k, 0, 24);
        p->weight_bits = (uint32_t)kc_range(
            k, 0, p->decimal_bits < 12 ? p->decimal_bits : 12);
    }
    p->mid_shift = kc_chance(k, 50) ? 0 : p->weight_bits;
    if (kc_chance(k, 10))
        p->mid_shift = (uint32_t)kc_range(k, 0, 24);
    draw_axis(k, p, p->h, p->oh, &p->step_h, &p->start_h);
    draw_axis(k, p, p->w, p->ow, &p->step_w, &p->start_w);
}

static void resize_case(struct kc *k, int64_t index)
{
    struct assay_resize p;
    struct kc_program out;
    struct kc_buf x, expected;
    size_t n_x, n_y, size, at = 0;
    unsigned round;

    if (!kc_case(k, "resize", index))
        return;
    memset(&p, 0, sizeof(p));
    draw_resize(k, &p);
    round = p.mid_shift ? ASSAY_ROUND_FLOOR : ASSAY_ROUND_HALF_UP;
    draw_output(k, &out,
                p.mid_shift ? p.weight_bits : 2 * (int64_t)p.weight_bits, round,
                (size_t)p.c, (int64_t)65536 << 2 * p.weight_bits, &p.y_dtype);
    p.out = &out.p;
    n_x = (size_t)p.n * (size_t)p.h * (size_t)p.w * (size_t)p.c;
    n_y = (size_t)p.n * (size_t)p.oh * (size_t)p.ow * (size_t)p.c;
    size = assay_dtype_size(p.y_dtype);
    x = kc_buf_wall(n_x * assay_dtype_size(p.x_dtype));
    kc_fill(k, p.x_dtype, x.data, n_x);
    expected = kc_buf_new(n_y * size, 0);
    for (int64_t n = 0; n < p.n; n++)
        for (int64_t oy = 0; oy < p.oh; oy++)
            for (int64_t ox = 0; ox < p.ow; ox++)
                for (int64_t c = 0; c < p.c; c++, at++) {
                    union assay_value v = {
                        .i = naive_resize(&p, x.data, n, oy, ox, c)};

                    v = kc_naive_program(p.out, v, (size_t)c, 0);
                    assay_store_values(p.y_dtype, expected.data + at * size, &v,
                                       1);
                }
    snprintf(k->text, sizeof(k->text),
             "n%d %dx%dx%d -> %dx%d steps %d,%d from %d,%d bits %u,%u mid %u "
             "x%d y%d",
             p.n, p.h, p.w, p.c, p.oh, p.ow, p.step_h, p.step_w, p.start_h,
             p.start_w, (unsigned)p.decimal_bits, (unsigned)p.weight_bits,
             (unsigned)p.mid_shift, p.x_dtype, p.y_dtype);
    KC_JUDGE_COLUMN(k, k->table.resize, &p, expected.data, n_y, x.data);
    kc_buf_free(&x);
    kc_buf_free(&expected);
    kc_program_free(&out);
}

void kc_check_resize(struct kc *k)
{
    for (int64_t i = 0; i < (k->opt.long_run ? 8000 : 800); i++)
        resize_case(k, i);
}

/* ---- grid sample --------------------------------------------------------- */

/* The element, or 0 outside the image. */
static int64_t pixel(const struct assay_grid_sample *p, const void *x,
                     int64_t n, int64_t r, int64_t col, int64_t c)
{
    if (r < 0 || r >= p->h || col < 0 || col >= p->w)
        return 0;
    return kc_element(p->x_dtype, x,
                      (size_t)(((n * p->h + r) * p->w + col) * p->c + c));
}

static int64_t naive_sample(const struct assay_grid_sample *p, const void *x,
                            const int16_t *grid, int64_t n, int64_t oy,
                            int64_t ox, int64_t c)
{
    const int16_t *g = grid + ((n * p->oh + oy) * p->ow + ox) * 2;
    int64_t one = (int64_t)1 << p->coord_shift;
    int64_t py = g[p->xy], px = g[!p->xy];
    int64_t iy, ix, fy, fx, top, low;

    if (!p->absolute) {
        py += oy * one;
        px += ox * one;
    }
    if (p->padding == ASSAY_GRID_BORDER) {
        py = limit(py, 0, (p->h - 1) * one);
        px = limit(px, 0, (p->w - 1) * one);
    }
    if (p->nearest)
        return pixel(p, x, n,
                     kc_naive_shr(py, p->coord_shift, ASSAY_ROUND_HALF_UP),
                     kc_naive_shr(px, p->coord_shift, ASSAY_ROUND_HALF_UP), c);
    iy = kc_naive_shr(py, p->coord_shift, ASSAY_ROUND_FLOOR);
    ix = kc_naive_shr(px, p->coord_shift, ASSAY_ROUND_FLOOR);
    fy = ((py % one) + one) % one;
    fx = ((px % one) + one) % one;
    top = pixel(p, x, n, iy, ix, c) * (one - fx) +
          pixel(p, x, n, iy, ix + 1, c) * fx;
    low = pixel(p, x, n, iy + 1, ix, c) * (one - fx) +
          pixel(p, x, n, iy + 1, ix + 1, c) * fx;
    return top * (one - fy) + low * fy;
}

/* Offsets (or positions) of a few pixels, whole and half ones among them. */
static void draw_grid(struct kc *k, const struct assay_grid_sample *p,
                      int16_t *grid, size_t n)
{
    int64_t one = (int64_t)1 << p->coord_shift;

    kc_fill(k, ASSAY_S16, grid, n);
    if (kc_chance(k, 15))
        return;
    for (size_t i = 0; i < n; i++) {
        int64_t v = kc_range(k, -3 * one, 3 * one);

        if (kc_chance(k, 40)) /* half pixels and their neighbours */
            v = kc_range(k, -6, 6) * one / 2 + kc_range(k, -1, 1);
        if (p->absolute)
            v += 3 * one;
        grid[i] = (int16_t)limit(v, INT16_MIN, INT16_MAX);
    }
}

static void grid_case(struct kc *k, int64_t index)
{
    struct assay_grid_sample p;
    struct kc_program out;
    struct kc_buf x, grid, expected;
    size_t n_x, n_g, n_y, size, at = 0;

    if (!kc_case(k, "grid_sample", index))
        return;
    memset(&p, 0, sizeof(p));
    p.n = kc_chance(k, 20) ? 2 : 1;
    p.h = (int32_t)kc_range(k, 1, kc_chance(k, 20) ? 1 : 7);
    p.w = (int32_t)kc_range(k, 1, kc_chance(k, 20) ? 1 : 7);
    p.c = (int32_t)channels_of(k);
    p.oh = (int32_t)kc_range(k, 1, 9);
    p.ow = (int32_t)kc_range(k, 1, 9);
    p.x_dtype = input_of(k);
    p.nearest = index % 3 == 2;
    p.padding = index % 2 ? ASSAY_GRID_BORDER : ASSAY_GRID_ZEROS;
    p.absolute = kc_chance(k, 40);
    p.xy = kc_chance(k, 40);
    p.coord_shift = kc_chance(k, 60) ? 8 : (uint32_t)kc_range(k, 0, 14);
    draw_output(k, &out, p.nearest ? 0 : 2 * (int64_t)p.coord_shift,
                kc_chance(k, 60) ? ASSAY_ROUND_HALF_UP : ASSAY_ROUND_FLOOR,
                (size_t)p.c, (int64_t)65536 << 2 * p.coord_shift, &p.y_dtype);
    p.out = &out.p;
    n_x = (size_t)p.n * (size_t)p.h * (size_t)p.w * (size_t)p.c;
    n_g = (size_t)p.n * (size_t)p.oh * (size_t)p.ow * 2;
    n_y = n_g / 2 * (size_t)p.c;
    size = assay_dtype_size(p.y_dtype);
    x = kc_buf_wall(n_x * assay_dtype_size(p.x_dtype));
    grid = kc_buf_wall(n_g * sizeof(int16_t));
    kc_fill(k, p.x_dtype, x.data, n_x);
    draw_grid(k, &p, (int16_t *)grid.data, n_g);
    expected = kc_buf_new(n_y * size, 0);
    for (int64_t n = 0; n < p.n; n++)
        for (int64_t oy = 0; oy < p.oh; oy++)
            for (int64_t ox = 0; ox < p.ow; ox++)
                for (int64_t c = 0; c < p.c; c++, at++) {
                    union assay_value v = {
                        .i =
                            naive_sample(&p, x.data, (const int16_t *)grid.data,
                                         n, oy, ox, c)};

                    v = kc_naive_program(p.out, v, (size_t)c, 0);
                    assay_store_values(p.y_dtype, expected.data + at * size, &v,
                                       1);
                }
    snprintf(k->text, sizeof(k->text),
             "n%d %dx%dx%d -> %dx%d %s%s%s padding %d shift %u x%d y%d", p.n,
             p.h, p.w, p.c, p.oh, p.ow, p.nearest ? "nearest" : "bilinear",
             p.absolute ? " absolute" : "", p.xy ? " xy" : "", p.padding,
             (unsigned)p.coord_shift, p.x_dtype, p.y_dtype);
    KC_JUDGE_COLUMN(k, k->table.grid_sample, &p, expected.data, n_y, x.data,
                    (const int16_t *)grid.data);
    kc_buf_free(&x);
    kc_buf_free(&grid);
    kc_buf_free(&expected);
    kc_program_free(&out);
}

void kc_check_grid_sample(struct kc *k)
{
    for (int64_t i = 0; i < (k->opt.long_run ? 8000 : 800); i++)
        grid_case(k, i);
}
