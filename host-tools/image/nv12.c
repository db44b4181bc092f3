/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/image/nv12.h"

#include <string.h>

#include "lib/core/buf.h"

const char *assay_chroma_down_name(enum assay_chroma_down down)
{
    static const char *const names[ASSAY_DOWN_COUNT] = {"mean", "first",
                                                        "mean-rgb"};

    return (unsigned)down < ASSAY_DOWN_COUNT ? names[down] : "?";
}

const char *assay_chroma_up_name(enum assay_chroma_up up)
{
    static const char *const names[ASSAY_UP_COUNT] = {"replicate", "bilinear"};

    return (unsigned)up < ASSAY_UP_COUNT ? names[up] : "?";
}

const char *assay_odd_name(enum assay_odd odd)
{
    static const char *const names[ASSAY_ODD_COUNT] = {"refuse", "down", "up"};

    return (unsigned)odd < ASSAY_ODD_COUNT ? names[odd] : "?";
}

int assay_nv12_layout(struct assay_nv12 *out, uint32_t width, uint32_t height,
                      size_t stride, enum assay_odd odd, struct assay_err *err)
{
    uint32_t up = odd == ASSAY_ODD_UP;
    struct assay_nv12 n = {.width = width, .height = height};
    size_t least, rows;

    if (odd == ASSAY_ODD_REFUSE && (width % 2 != 0 || height % 2 != 0))
        return assay_fail(err, ASSAY_EUSAGE,
                          "NV12 has colour for 2x2 pixels: expected even "
                          "sides, found %ux%u",
                          width, height);
    n.chroma_width = width / 2 + (up & width);
    n.chroma_height = height / 2 + (up & height);
    least = 2 * (size_t)n.chroma_width;
    if (least < width)
        least = width;
    n.stride = stride != 0 ? stride : least;
    if (n.stride < least)
        return assay_fail(err, ASSAY_EUSAGE,
                          "rows of NV12 %u pixels wide have %zu bytes, found "
                          "a stride of %zu",
                          width, least, stride);
    rows = (size_t)height + n.chroma_height;
    if (!assay_mul_size(n.stride, rows, &n.bytes))
        return assay_fail(err, ASSAY_EUSAGE,
                          "a stride of %zu with %zu rows is too large", stride,
                          rows);
    *out = n;
    return 0;
}

/* The pixels of one chroma cell: the upper left one, right of it, below it,
 * and across. At an odd edge what is missing is repeated. */
static void cell_at(size_t at[4], const struct assay_nv12 *n, uint32_t x,
                    uint32_t y)
{
    uint32_t x0 = 2 * x, y0 = 2 * y;
    uint32_t x1 = x0 + (x0 + 1 < n->width), y1 = y0 + (y0 + 1 < n->height);

    at[0] = (size_t)y0 * n->width + x0;
    at[1] = (size_t)y0 * n->width + x1;
    at[2] = (size_t)y1 * n->width + x0;
    at[3] = (size_t)y1 * n->width + x1;
}

/* Mean of the k-th bytes of four pixels, half up. */
static uint8_t mean(const uint8_t *samples, const size_t at[4], unsigned k)
{
    unsigned sum = 2;

    for (unsigned i = 0; i < 4; i++)
        sum += samples[3 * at[i] + k];
    return (uint8_t)(sum / 4);
}

static uint8_t *chroma_row(uint8_t *out, const struct assay_nv12 *n, uint32_t y)
{
    return out + (n->height + (size_t)y) * n->stride;
}

static void store_pair(uint8_t *row, const struct assay_nv12 *n, uint32_t x,
                       uint8_t u, uint8_t v)
{
    row[2 * (size_t)x + n->nv21] = u;
    row[2 * (size_t)x + !n->nv21] = v;
}

void assay_nv12_from_yuv(uint8_t *out, const struct assay_nv12 *n,
                         const uint8_t *yuv, enum assay_chroma_down down)
{
    memset(out, 0, n->bytes);
    for (uint32_t y = 0; y < n->height; y++) {
        uint8_t *row = out + y * n->stride;
        const uint8_t *in = yuv + 3 * (size_t)y * n->width;

        for (uint32_t x = 0; x < n->width; x++)
            row[x] = in[3 * (size_t)x];
    }
    for (uint32_t y = 0; y < n->chroma_height; y++) {
        uint8_t *row = chroma_row(out, n, y);
        size_t at[4];

        for (uint32_t x = 0; x < n->chroma_width; x++) {
            cell_at(at, n, x, y);
            if (down == ASSAY_DOWN_FIRST)
                store_pair(row, n, x, yuv[3 * at[0] + 1], yuv[3 * at[0] + 2]);
            else
                store_pair(row, n, x, mean(yuv, at, 1), mean(yuv, at, 2));
        }
    }
}

static void pair_of_colours(uint8_t out[3], const uint8_t *rgb,
                            const size_t at[4], const struct assay_colour *c,
                            enum assay_chroma_down down)
{
    static const size_t own[4] = {0, 1, 2, 3};
    uint8_t four[12];

    if (down == ASSAY_DOWN_MEAN) {
        for (unsigned i = 0; i < 4; i++)
            memcpy(four + 3 * (size_t)i, rgb + 3 * at[i], 3);
        assay_rgb_to_yuv(four, four, 4, c);
        out[1] = mean(four, own, 1);
        out[2] = mean(four, own, 2);
        return;
    }
    for (unsigned k = 0; k < 3; k++)
        out[k] =
            down == ASSAY_DOWN_FIRST ? rgb[3 * at[0] + k] : mean(rgb, at, k);
    assay_rgb_to_yuv(out, out, 1, c);
}

void assay_nv12_from_rgb(uint8_t *out, const struct assay_nv12 *n,
                         const uint8_t *rgb, const struct assay_colour *c,
                         enum assay_chroma_down down)
{
    memset(out, 0, n->bytes);
    for (uint32_t y = 0; y < n->height; y++) {
        uint8_t *row = out + y * n->stride;
        const uint8_t *in = rgb + 3 * (size_t)y * n->width;

        for (uint32_t x = 0; x < n->width; x++) {
            uint8_t p[3];

            assay_rgb_to_yuv(p, in + 3 * (size_t)x, 1, c);
            row[x] = p[0];
        }
    }
    for (uint32_t y = 0; y < n->chroma_height; y++) {
        uint8_t *row = chroma_row(out, n, y);
        uint8_t p[3];
        size_t at[4];

        for (uint32_t x = 0; x < n->chroma_width; x++) {
            cell_at(at, n, x, y);
            pair_of_colours(p, rgb, at, c, down);
            store_pair(row, n, x, p[1], p[2]);
        }
    }
}

/* ---- up again --------------------------------------------------------------- */

/* Two neighbours on a line and the weight, of 4, of the first. */
struct tap {
    uint32_t a, b;
    unsigned weight;
};

static struct tap tap_at(uint32_t i, uint32_t n, enum assay_chroma_up up)
{
    uint32_t own = i / 2 < n ? i / 2 : n - 1;
    uint32_t left = own > 0 ? own - 1 : 0, right = own + 1 < n ? own + 1 : own;

    if (up == ASSAY_UP_REPLICATE)
        return (struct tap){own, own, 4};
    return (struct tap){own, i % 2 == 0 ? left : right, 3};
}

static uint8_t sample(const uint8_t *ra, const uint8_t *rb,
                      const struct tap *ty, const struct tap *tx, size_t k)
{
    unsigned wy = ty->weight, wx = tx->weight;
    unsigned a =
        wx * ra[2 * (size_t)tx->a + k] + (4 - wx) * ra[2 * (size_t)tx->b + k];
    unsigned b =
        wx * rb[2 * (size_t)tx->a + k] + (4 - wx) * rb[2 * (size_t)tx->b + k];

    return (uint8_t)((wy * a + (4 - wy) * b + 8) / 16);
}

void assay_nv12_to_yuv(uint8_t *yuv, const struct assay_nv12 *n,
                       const uint8_t *in, enum assay_chroma_up up)
{
    const uint8_t *chroma = in + n->height * n->stride;
    bool none = n->chroma_width == 0 || n->chroma_height == 0;

    for (uint32_t y = 0; y < n->height; y++) {
        struct tap ty = tap_at(y, none ? 1 : n->chroma_height, up);
        const uint8_t *ra = chroma + ty.a * n->stride;
        const uint8_t *rb = chroma + ty.b * n->stride;

        for (uint32_t x = 0; x < n->width; x++, yuv += 3) {
            struct tap tx = tap_at(x, none ? 1 : n->chroma_width, up);

            yuv[0] = in[y * n->stride + x];
            yuv[1] = none ? 128 : sample(ra, rb, &ty, &tx, n->nv21);
            yuv[2] = none ? 128 : sample(ra, rb, &ty, &tx, !n->nv21);
        }
    }
}
