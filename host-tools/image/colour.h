/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RGB to YUV and back, each sample a byte. Several arithmetics of the same
 * formula are in use and differ by one or two; docs/numerics.md, "Image
 * input", has each of them to the bit. Pure; any thread.
 */
#ifndef ASSAY_IMAGE_COLOUR_H
#define ASSAY_IMAGE_COLOUR_H

#include <stddef.h>
#include <stdint.h>

enum assay_range {
    ASSAY_RANGE_STUDIO, /* Y 16..235, U and V 16..240 */
    ASSAY_RANGE_FULL,   /* 0..255 */
    ASSAY_RANGE_COUNT,
};

enum assay_matrix {
    ASSAY_MATRIX_601,
    ASSAY_MATRIX_709,
    ASSAY_MATRIX_COUNT,
};

enum assay_colour_arith {
    /* Weights of 8 bits, one half added, floor shift: what X5 and the golden
     * rows of image.csv have. */
    ASSAY_COLOUR_INTEGER,
    /* The real formula, rounded to nearest, ties to even. */
    ASSAY_COLOUR_REAL,
    /* OpenCV's fixed point, BT.601 in both settings of the matrix: studio is
     * COLOR_RGB2YUV_I420 (weights of 20 bits), full is COLOR_RGB2YCrCb (14
     * bits), stored as Y, Cb, Cr. */
    ASSAY_COLOUR_OPENCV,
    /* OpenCV's COLOR_RGB2YUV: analog U and V; range and matrix mean nothing. */
    ASSAY_COLOUR_OPENCV_YUV,
    ASSAY_COLOUR_ARITH_COUNT,
};

struct assay_colour {
    enum assay_range range;
    enum assay_matrix matrix;
    enum assay_colour_arith arith;
};

const char *assay_range_name(enum assay_range range);    /* "studio" */
const char *assay_matrix_name(enum assay_matrix matrix); /* "601" */
const char *assay_colour_arith_name(enum assay_colour_arith arith);

/* n pixels of three bytes each; out may be in. */
void assay_rgb_to_yuv(uint8_t *out, const uint8_t *in, size_t n,
                      const struct assay_colour *c);
void assay_yuv_to_rgb(uint8_t *out, const uint8_t *in, size_t n,
                      const struct assay_colour *c);
/* Y alone, one byte a pixel. OPENCV and OPENCV_YUV with full range are
 * COLOR_RGB2GRAY. */
void assay_rgb_to_gray(uint8_t *out, const uint8_t *in, size_t n,
                       const struct assay_colour *c);
/* The first and the third byte of n pixels change places; out may be in. */
void assay_swap_rb(uint8_t *out, const uint8_t *in, size_t n);

#endif
