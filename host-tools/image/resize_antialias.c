/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/image/resize_antialias.h"

#include <math.h>
#include <string.h>

#include "host-tools/image/picture.h"
#include "lib/core/buf.h"

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "out of memory");
}

/* ---- Pillow ------------------------------------------------------------------- */

/* Weights are fractions of 22 bits: 8 for a byte and 2 for sums that leave it
 * are free of 32. */
#define PILLOW_BITS 22

struct window {
    uint32_t first, n;
    int32_t *weights; /* into the array that all windows share */
};

/* What a sample weighs at a distance, and how far it is seen. */
struct kernel {
    double reach;
    double (*weight)(double distance);
};

static double triangle(double d)
{
    return d < 1 ? 1 - d : 0;
}

/* Keys' cubic with a slope of -1/2 at 1. */
static double cubic(double d)
{
    const double a = -0.5;

    if (d < 1)
        return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? (((d - 5) * d + 8) * d - 4) * a : 0;
}

static const struct kernel bilinear = {1, triangle}, bicubic = {2, cubic};

/* The kernel, as wide as it must be to see every sample. */
static void fill_window(struct window *w, double *v, uint32_t i, uint32_t in,
                        double scale, const struct kernel *kernel)
{
    double wide = scale > 1 ? scale : 1, centre = (i + 0.5) * scale;
    double reach = kernel->reach * wide, sum = 0;
    double first = centre - reach + 0.5, end = centre + reach + 0.5;

    w->first = first > 0 ? (uint32_t)first : 0;
    w->n = (end < in ? (uint32_t)end : in) - w->first;
    for (uint32_t k = 0; k < w->n; k++) {
        double d = fabs((k + (double)w->first - centre + 0.5) * (1 / wide));

        v[k] = kernel->weight(d);
        sum += v[k];
    }
    for (uint32_t k = 0; k < w->n; k++) {
        if (sum != 0)
            v[k] /= sum;
        w->weights[k] =
            (int32_t)((v[k] < 0 ? -0.5 : 0.5) + v[k] * (1 << PILLOW_BITS));
    }
}

/* One allocation; NULL: no memory. */
static struct window *windows_of(uint32_t in, uint32_t out,
                                 const struct kernel *kernel)
{
    double scale = (double)in / out;
    size_t most = 2 * (size_t)ceil(kernel->reach * (scale > 1 ? scale : 1)) + 1;
    size_t all, bytes;
    struct window *w;
    int32_t *weights;
    double *v;

    if (!assay_mul_size(out, sizeof(*w) + most * sizeof(int32_t), &all) ||
        !assay_add_size(all, most * sizeof(double), &bytes))
        return NULL;
    w = assay_alloc(bytes);
    if (w == NULL)
        return NULL;
    v = (double *)(void *)(w + out);
    weights = (int32_t *)(void *)(v + most);
    for (uint32_t i = 0; i < out; i++, weights += most) {
        w[i].weights = weights;
        fill_window(&w[i], v, i, in, scale, kernel);
    }
    return w;
}

static uint8_t weigh(const uint8_t *from, size_t step, const struct window *w)
{
    int32_t sum = 1 << (PILLOW_BITS - 1);

    for (uint32_t k = 0; k < w->n; k++)
        sum += from[k * step] * w->weights[k];
    if (sum < 0)
        return 0;
    sum >>= PILLOW_BITS;
    return sum > 255 ? 255 : (uint8_t)sum;
}

static int along_rows(uint8_t *out, uint32_t ow, const uint8_t *in, uint32_t iw,
                      uint32_t rows, uint32_t channels,
                      const struct kernel *kernel, struct assay_err *err)
{
    struct window *w = windows_of(iw, ow, kernel);

    if (w == NULL)
        return no_memory(err);
    for (uint32_t y = 0; y < rows; y++, in += (size_t)iw * channels)
        for (uint32_t x = 0; x < ow; x++)
            for (uint32_t k = 0; k < channels; k++)
                *out++ = weigh(in + (size_t)w[x].first * channels + k, channels,
                               &w[x]);
    assay_free(w);
    return 0;
}

static int along_columns(uint8_t *out, uint32_t oh, const uint8_t *in,
                         uint32_t ih, size_t row, const struct kernel *kernel,
                         struct assay_err *err)
{
    struct window *w = windows_of(ih, oh, kernel);

    if (w == NULL)
        return no_memory(err);
    for (uint32_t y = 0; y < oh; y++)
        for (size_t x = 0; x < row; x++)
            *out++ = weigh(in + w[y].first * row + x, row, &w[y]);
    assay_free(w);
    return 0;
}

int assay_resize_pillow(uint8_t *out, uint32_t out_width, uint32_t out_height,
                        const uint8_t *in, uint32_t in_width,
                        uint32_t in_height, uint32_t channels,
                        bool columns_first, bool is_cubic,
                        struct assay_err *err)
{
    uint32_t w = columns_first ? in_width : out_width;
    uint32_t h = columns_first ? out_height : in_height;
    size_t bytes = (size_t)w * h * channels;
    const struct kernel *k = is_cubic ? &bicubic : &bilinear;
    uint8_t *half;
    int rc;

    /* A direction in which nothing changes is not gone through. */
    if (out_height == in_height)
        return along_rows(out, out_width, in, in_width, in_height, channels, k,
                          err);
    if (out_width == in_width)
        return along_columns(out, out_height, in, in_height,
                             (size_t)in_width * channels, k, err);
    if ((uint64_t)w * h > 2 * ASSAY_PICTURE_MAX_PIXELS)
        return assay_fail(err, ASSAY_ERANGE,
                          "%ux%u pixels become %ux%u on the way to %ux%u: at "
                          "most %zu in all",
                          in_width, in_height, w, h, out_width, out_height,
                          2 * ASSAY_PICTURE_MAX_PIXELS);
    half = assay_alloc(bytes);
    if (half == NULL)
        return no_memory(err);
    if (columns_first)
        rc =
            along_columns(half, h, in, in_height, (size_t)w * channels, k, err);
    else
        rc = along_rows(half, w, in, in_width, h, channels, k, err);
    if (rc == 0 && columns_first)
        rc = along_rows(out, out_width, half, w, h, channels, k, err);
    else if (rc == 0)
        rc = along_columns(out, out_height, half, h, (size_t)w * channels, k,
                           err);
    assay_free(half);
    return rc;
}

/* ---- OpenCV's INTER_AREA ---------------------------------------------------------- */

/* Part of a sample that belongs to a pixel. */
struct share {
    uint32_t to, from;
    float part;
};

/* At most in + 2 * out shares. A sliver of less than 1/1000 is left out. */
static struct share *shares_of(size_t *n, uint32_t in, uint32_t out)
{
    double step = 1.0 / ((double)out / in);
    struct share *s =
        assay_alloc(((size_t)in + 2 * (size_t)out + 1) * sizeof(*s));

    *n = 0;
    for (uint32_t i = 0; s != NULL && i < out; i++) {
        double from = i * step, to = from + step;
        double width = step < in - from ? step : in - from;
        uint32_t last = (uint32_t)floor(to), first = (uint32_t)ceil(from);

        last = last < in - 1 ? last : in - 1;
        first = first < last ? first : last;
        if (first - from > 1e-3)
            s[(*n)++] =
                (struct share){i, first - 1, (float)((first - from) / width)};
        for (uint32_t k = first; k < last; k++)
            s[(*n)++] = (struct share){i, k, (float)(1.0 / width)};
        if (to - last > 1e-3) {
            double part = to - last < 1 ? to - last : 1;

            part = part < width ? part : width;
            s[(*n)++] = (struct share){i, last, (float)(part / width)};
        }
    }
    return s;
}

static void add_row(float *sums, const uint8_t *row, const struct share *s,
                    size_t n, uint32_t channels, float part)
{
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < channels; k++)
            sums[s[i].to * (size_t)channels + k] +=
                row[s[i].from * (size_t)channels + k] * s[i].part * part;
}

static uint8_t to_byte(float v)
{
    float r = rintf(v);

    return r <= 0 ? 0 : r >= 255 ? 255 : (uint8_t)r;
}

static int resize_parts(uint8_t *out, uint32_t ow, uint32_t oh,
                        const uint8_t *in, uint32_t iw, uint32_t ih,
                        uint32_t channels, struct assay_err *err)
{
    size_t nx, ny, row = (size_t)ow * channels, at = 0;
    struct share *sx = shares_of(&nx, iw, ow), *sy = shares_of(&ny, ih, oh);
    float *sums = assay_alloc(row * sizeof(*sums));
    int rc = sx == NULL || sy == NULL || sums == NULL ? no_memory(err) : 0;

    for (uint32_t y = 0; rc == 0 && y < oh; y++) {
        memset(sums, 0, row * sizeof(*sums));
        for (; at < ny && sy[at].to == y; at++)
            add_row(sums, in + (size_t)sy[at].from * iw * channels, sx, nx,
                    channels, sy[at].part);
        for (size_t x = 0; x < row; x++)
            *out++ = to_byte(sums[x]);
    }
    assay_free(sx);
    assay_free(sy);
    assay_free(sums);
    return rc;
}

/* Whole numbers of samples a pixel: their sum is exact. */
static void resize_blocks(uint8_t *out, uint32_t ow, uint32_t oh,
                          const uint8_t *in, uint32_t fx, uint32_t fy,
                          uint32_t channels)
{
    size_t row = (size_t)ow * fx * channels;
    float part = 1.0f / (float)((uint64_t)fx * fy);

    for (uint32_t y = 0; y < oh; y++)
        for (uint32_t x = 0; x < ow; x++)
            for (uint32_t k = 0; k < channels; k++) {
                const uint8_t *p =
                    in + y * fy * row + (size_t)x * fx * channels + k;
                uint64_t sum = 0;

                for (uint32_t dy = 0; dy < fy; dy++)
                    for (uint32_t dx = 0; dx < fx; dx++)
                        sum += p[dy * row + (size_t)dx * channels];
                /* Halves of four go up, all others to even. */
                *out++ = fx == 2 && fy == 2 ? (uint8_t)((sum + 2) / 4)
                                            : to_byte((float)sum * part);
            }
}

int assay_resize_area(uint8_t *out, uint32_t out_width, uint32_t out_height,
                      const uint8_t *in, uint32_t in_width, uint32_t in_height,
                      uint32_t channels, struct assay_err *err)
{
    if (in_width % out_width != 0 || in_height % out_height != 0)
        return resize_parts(out, out_width, out_height, in, in_width, in_height,
                            channels, err);
    resize_blocks(out, out_width, out_height, in, in_width / out_width,
                  in_height / out_height, channels);
    return 0;
}
