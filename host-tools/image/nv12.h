/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NV12: rows of Y, then rows of U, V pairs, each for 2x2 pixels. NV21 has the
 * pairs as V, U. Pure; any thread.
 */
#ifndef ASSAY_IMAGE_NV12_H
#define ASSAY_IMAGE_NV12_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host-tools/image/colour.h"
#include "lib/core/err.h"

enum assay_chroma_down {
    ASSAY_DOWN_MEAN,     /* mean of the four U and V, half up */
    ASSAY_DOWN_FIRST,    /* of the upper left pixel: OpenCV */
    ASSAY_DOWN_MEAN_RGB, /* of the mean of the four colours, half up */
    ASSAY_DOWN_COUNT,
};

enum assay_chroma_up {
    ASSAY_UP_REPLICATE,
    /* Chroma sits between its pixels: weights 3 and 1 along each axis, half
     * up once, edges repeated. */
    ASSAY_UP_BILINEAR,
    ASSAY_UP_COUNT,
};

/* What an odd side means. */
enum assay_odd {
    ASSAY_ODD_REFUSE,
    ASSAY_ODD_DOWN, /* the last row or column has no chroma of its own */
    ASSAY_ODD_UP,   /* it has, made of what is there */
    ASSAY_ODD_COUNT,
};

const char *assay_chroma_down_name(enum assay_chroma_down down);
const char *assay_chroma_up_name(enum assay_chroma_up up);
const char *assay_odd_name(enum assay_odd odd);

struct assay_nv12 {
    uint32_t width, height; /* of Y */
    uint32_t chroma_width, chroma_height;
    size_t stride; /* of Y rows and of rows of pairs, bytes */
    size_t bytes;  /* of both planes */
    bool nv21;
};

/* Fills all fields. stride 0: the least that holds both kinds of rows. One
 * sentence for odd sides (REFUSE), for a stride that is too small, and for a
 * product that overflows. */
int assay_nv12_layout(struct assay_nv12 *out, uint32_t width, uint32_t height,
                      size_t stride, enum assay_odd odd, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Padding is set to 0. MEAN_RGB is not for this one: it takes colours. */
void assay_nv12_from_yuv(uint8_t *out, const struct assay_nv12 *n,
                         const uint8_t *yuv, enum assay_chroma_down down);
void assay_nv12_from_rgb(uint8_t *out, const struct assay_nv12 *n,
                         const uint8_t *rgb, const struct assay_colour *c,
                         enum assay_chroma_down down);
/* To width * height * 3 dense bytes; in the row or column without chroma of
 * its own its neighbour's is used. */
void assay_nv12_to_yuv(uint8_t *yuv, const struct assay_nv12 *n,
                       const uint8_t *in, enum assay_chroma_up up);

#endif
