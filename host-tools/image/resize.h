/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other sizes of a picture of bytes, in the arithmetics of the libraries that
 * users resize with, and where a picture of other proportions goes. Pure but
 * for scratch memory; any thread.
 */
#ifndef ASSAY_IMAGE_RESIZE_H
#define ASSAY_IMAGE_RESIZE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/core/err.h"

enum assay_filter {
    ASSAY_FILTER_LINEAR,  /* OpenCV's INTER_LINEAR, to the bit */
    ASSAY_FILTER_NEAREST, /* OpenCV's INTER_NEAREST, to the bit */
    ASSAY_FILTER_AREA,    /* OpenCV's INTER_AREA, within 1 */
    ASSAY_FILTER_PILLOW,  /* Pillow's BILINEAR, which widens its window when
                             it makes smaller, along rows and then along
                             columns; to the bit */
    /* The same along columns first, as Pillow 13 does for some sizes:
     * for two sizes one of both is its to the bit. */
    ASSAY_FILTER_PILLOW_COLUMNS,
    /* Pillow's BICUBIC, what its resize() takes by itself; both orders. */
    ASSAY_FILTER_PILLOW_BICUBIC,
    ASSAY_FILTER_PILLOW_BICUBIC_COLUMNS,
    ASSAY_FILTER_COUNT,
};

enum assay_fit {
    ASSAY_FIT_STRETCH,      /* proportions are not kept */
    ASSAY_FIT_LETTERBOX,    /* all of the picture, centred, rest padded */
    ASSAY_FIT_LETTERBOX_TL, /* the same, picture at the upper left */
    ASSAY_FIT_CROP, /* the middle: the side that is short fits, rest is cut */
    ASSAY_FIT_COUNT,
};

const char *assay_filter_name(enum assay_filter filter); /* "linear" */
const char *assay_fit_name(enum assay_fit fit);          /* "letterbox-tl" */

/* The picture becomes width x height; its part from (cut_x, cut_y) comes to
 * (at_x, at_y) of the result, shown_width x shown_height of it. */
struct assay_placement {
    uint32_t width, height;
    uint32_t cut_x, cut_y, at_x, at_y;
    uint32_t shown_width, shown_height;
};
/* Sides are floor(side * ratio), at least 1 and, of a crop, at least the
 * result's; the ratio is a double. Odd rests go to the right and to the
 * bottom. */
void assay_place(struct assay_placement *out, enum assay_fit fit,
                 uint32_t in_width, uint32_t in_height, uint32_t out_width,
                 uint32_t out_height);

/* Dense samples, `channels` (1..4) a pixel; all sides >= 1. */
int assay_resize(uint8_t *out, uint32_t out_width, uint32_t out_height,
                 const uint8_t *in, uint32_t in_width, uint32_t in_height,
                 uint32_t channels, enum assay_filter filter,
                 struct assay_err *err) ASSAY_MUST_CHECK;
/* Resized and placed; `pad` holds a value for each channel. */
int assay_resize_fit(uint8_t *out, uint32_t out_width, uint32_t out_height,
                     const uint8_t *in, uint32_t in_width, uint32_t in_height,
                     uint32_t channels, enum assay_filter filter,
                     enum assay_fit fit, const uint8_t *pad,
                     struct assay_err *err) ASSAY_MUST_CHECK;

#endif
