/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/image/colour.h"

/* Three rows of weights; what is added before the shift; what after it. */
struct weights {
    int32_t m[3][3];
    int32_t before[3], after[3];
    unsigned shift;
};

#define STUDIO_OFFSETS \
    { \
        16, 128, 128 \
    }
#define FULL_OFFSETS \
    { \
        0, 128, 128 \
    }

/* [range][matrix]: the rows of U and V sum to 0, so that gray stays gray. */
static const struct weights integer[ASSAY_RANGE_COUNT][ASSAY_MATRIX_COUNT] = {
    {{{{66, 129, 25}, {-38, -74, 112}, {112, -94, -18}},
      {128, 128, 128},
      STUDIO_OFFSETS,
      8},
     {{{47, 157, 16}, {-26, -86, 112}, {112, -102, -10}},
      {128, 128, 128},
      STUDIO_OFFSETS,
      8}},
    {{{{77, 150, 29}, {-43, -84, 127}, {127, -106, -21}},
      {128, 128, 128},
      FULL_OFFSETS,
      8},
     {{{54, 183, 19}, {-29, -98, 127}, {127, -115, -12}},
      {128, 128, 128},
      FULL_OFFSETS,
      8}},
};

#define HALF20 (1 << 19)
static const struct weights opencv_i420 = {
    {{269484, 528482, 102760},
     {-155188, -305135, 460324},
     {460324, -385875, -74448}},
    {HALF20, HALF20, HALF20},
    STUDIO_OFFSETS,
    20,
};

/* Y first, in 14 bits; U and V from the rounded Y. */
struct differences {
    int32_t u, v;         /* of B - Y and of R - Y */
    int32_t r, gu, gv, b; /* back */
};
static const struct differences ycrcb = {9241,  11682,  22987,
                                         -5636, -11698, 29049};
static const struct differences analog = {8061,  14369, 18678,
                                          -6472, -9519, 33292};

const char *assay_range_name(enum assay_range range)
{
    return range == ASSAY_RANGE_STUDIO ? "studio"
           : range == ASSAY_RANGE_FULL ? "full"
                                       : "?";
}

const char *assay_matrix_name(enum assay_matrix matrix)
{
    return matrix == ASSAY_MATRIX_601   ? "601"
           : matrix == ASSAY_MATRIX_709 ? "709"
                                        : "?";
}

const char *assay_colour_arith_name(enum assay_colour_arith arith)
{
    static const char *const names[ASSAY_COLOUR_ARITH_COUNT] = {
        "integer", "real", "opencv", "opencv-yuv"};

    return (unsigned)arith < ASSAY_COLOUR_ARITH_COUNT ? names[arith] : "?";
}

static inline uint8_t clamp(int64_t v)
{
    return v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v;
}

/* A shift of a negative number is a division that rounds down, everywhere. */
static inline int32_t floor_shift(int32_t v, unsigned n)
{
    return v >= 0 ? v >> n : ~(~v >> n);
}

/* num / den to nearest, ties to even; den > 0. */
static int64_t nearest(int64_t num, int64_t den)
{
    int64_t q = num / den, r = num % den;

    if (r < 0) {
        q--;
        r += den;
    }
    if (2 * r > den || (2 * r == den && (q & 1) != 0))
        q++;
    return q;
}

static inline uint8_t weigh(const struct weights *w, int i, int32_t r,
                            int32_t g, int32_t b)
{
    int32_t sum = w->m[i][0] * r + w->m[i][1] * g + w->m[i][2] * b;

    return clamp(floor_shift(sum + w->before[i], w->shift) + w->after[i]);
}

/* ---- the real formula, in exact fractions -------------------------------- */

/* Weights of R, G and B in Y, in units of 1 / one. */
struct luma {
    int64_t r, g, b, one;
};
static const struct luma lumas[ASSAY_MATRIX_COUNT] = {{299, 587, 114, 1000},
                                                      {2126, 7152, 722, 10000}};

static void real_forward(uint8_t *out, int32_t r, int32_t g, int32_t b,
                         const struct assay_colour *c)
{
    const struct luma *k = &lumas[c->matrix];
    int64_t y = k->r * r + k->g * g + k->b * b;
    int64_t u = k->one * b - y, v = k->one * r - y;
    int64_t du = 2 * (k->one - k->b), dv = 2 * (k->one - k->r);

    if (c->range == ASSAY_RANGE_FULL) {
        out[0] = clamp(nearest(y, k->one));
        out[1] = clamp(nearest(u + 128 * du, du));
        out[2] = clamp(nearest(v + 128 * dv, dv));
        return;
    }
    out[0] = clamp(nearest(219 * y + 16 * 255 * k->one, 255 * k->one));
    out[1] = clamp(nearest(224 * u + 128 * 255 * du, 255 * du));
    out[2] = clamp(nearest(224 * v + 128 * 255 * dv, 255 * dv));
}

static void real_back(uint8_t *out, int64_t y, int64_t u, int64_t v,
                      const struct assay_colour *c)
{
    const struct luma *k = &lumas[c->matrix];
    int64_t den = k->one, du = 2 * (k->one - k->b), dv = 2 * (k->one - k->r);

    /* y, u, v in units of 1 / (219 * 224), so that both ranges are whole. */
    if (c->range == ASSAY_RANGE_STUDIO) {
        y = (y - 16) * 255 * 224;
        u *= 255 * 219;
        v *= 255 * 219;
        den *= 219 * 224;
    }
    out[0] = clamp(nearest(k->one * y + dv * v, den));
    out[2] = clamp(nearest(k->one * y + du * u, den));
    out[1] = clamp(
        nearest(k->g * k->one * y - k->b * du * u - k->r * dv * v, k->g * den));
}

/* ---- OpenCV ---------------------------------------------------------------- */

static inline int32_t luma14(int32_t r, int32_t g, int32_t b)
{
    return (4899 * r + 9617 * g + 1868 * b + 8192) >> 14;
}

static inline void difference_forward(uint8_t *out, int32_t r, int32_t g,
                                      int32_t b, const struct differences *d)
{
    int32_t y = luma14(r, g, b), half = (128 << 14) + 8192;

    out[0] = (uint8_t)y;
    out[1] = clamp(floor_shift((b - y) * d->u + half, 14));
    out[2] = clamp(floor_shift((r - y) * d->v + half, 14));
}

static inline void difference_back(uint8_t *out, int32_t y, int32_t u,
                                   int32_t v, const struct differences *d)
{
    out[0] = clamp(y + floor_shift(v * d->r + 8192, 14));
    out[1] = clamp(y + floor_shift(u * d->gu + v * d->gv + 8192, 14));
    out[2] = clamp(y + floor_shift(u * d->b + 8192, 14));
}

static inline void i420_back(uint8_t *out, int32_t y, int32_t u, int32_t v)
{
    y = (y > 16 ? y - 16 : 0) * 1220542;
    out[0] = clamp(floor_shift(y + HALF20 + 1673527 * v, 20));
    out[1] = clamp(floor_shift(y + HALF20 - 852492 * v - 409993 * u, 20));
    out[2] = clamp(floor_shift(y + HALF20 + 2116026 * u, 20));
}

/* ---- all of them ------------------------------------------------------------ */

static const struct weights *weights_of(const struct assay_colour *c)
{
    if (c->arith == ASSAY_COLOUR_INTEGER)
        return &integer[c->range][c->matrix];
    return c->arith == ASSAY_COLOUR_OPENCV && c->range == ASSAY_RANGE_STUDIO
               ? &opencv_i420
               : NULL;
}

static const struct differences *differences_of(const struct assay_colour *c)
{
    return c->arith == ASSAY_COLOUR_OPENCV ? &ycrcb : &analog;
}

void assay_rgb_to_yuv(uint8_t *out, const uint8_t *in, size_t n,
                      const struct assay_colour *c)
{
    const struct weights *w = weights_of(c);

    for (size_t i = 0; i < 3 * n; i += 3) {
        int32_t r = in[i], g = in[i + 1], b = in[i + 2];

        if (w != NULL) {
            out[i] = weigh(w, 0, r, g, b);
            out[i + 1] = weigh(w, 1, r, g, b);
            out[i + 2] = weigh(w, 2, r, g, b);
        } else if (c->arith == ASSAY_COLOUR_REAL) {
            real_forward(out + i, r, g, b, c);
        } else {
            difference_forward(out + i, r, g, b, differences_of(c));
        }
    }
}

/* c: gain of Y; R, G and B of v and u. [range][matrix] */
struct back {
    int32_t y, below, rv, gu, gv, bu;
};
static const struct back backs[ASSAY_RANGE_COUNT][ASSAY_MATRIX_COUNT] = {
    {{298, 16, 409, 100, 208, 516}, {298, 16, 459, 55, 136, 541}},
    {{256, 0, 359, 88, 183, 454}, {256, 0, 403, 48, 120, 475}},
};

static inline void integer_back(uint8_t *out, int32_t y, int32_t u, int32_t v,
                                const struct back *k)
{
    y = k->y * (y - k->below) + 128;
    out[0] = clamp(floor_shift(y + k->rv * v, 8));
    out[1] = clamp(floor_shift(y - k->gu * u - k->gv * v, 8));
    out[2] = clamp(floor_shift(y + k->bu * u, 8));
}

void assay_yuv_to_rgb(uint8_t *out, const uint8_t *in, size_t n,
                      const struct assay_colour *c)
{
    for (size_t i = 0; i < 3 * n; i += 3) {
        int32_t y = in[i], u = in[i + 1] - 128, v = in[i + 2] - 128;

        if (c->arith == ASSAY_COLOUR_INTEGER)
            integer_back(out + i, y, u, v, &backs[c->range][c->matrix]);
        else if (c->arith == ASSAY_COLOUR_REAL)
            real_back(out + i, y, u, v, c);
        else if (weights_of(c) != NULL)
            i420_back(out + i, y, u, v);
        else
            difference_back(out + i, y, u, v, differences_of(c));
    }
}

void assay_rgb_to_gray(uint8_t *out, const uint8_t *in, size_t n,
                       const struct assay_colour *c)
{
    const struct weights *w = weights_of(c);
    uint8_t yuv[3];

    for (size_t i = 0; i < n; i++, in += 3) {
        if (w != NULL) {
            out[i] = weigh(w, 0, in[0], in[1], in[2]);
        } else if (c->arith == ASSAY_COLOUR_REAL) {
            real_forward(yuv, in[0], in[1], in[2], c);
            out[i] = yuv[0];
        } else {
            out[i] = (uint8_t)((9798 * in[0] + 19235 * in[1] + 3735 * in[2] +
                                16384) >>
                               15);
        }
    }
}

void assay_swap_rb(uint8_t *out, const uint8_t *in, size_t n)
{
    for (size_t i = 0; i < 3 * n; i += 3) {
        uint8_t r = in[i];

        out[i + 1] = in[i + 1];
        out[i] = in[i + 2];
        out[i + 2] = r;
    }
}
