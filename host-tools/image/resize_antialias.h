/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filters whose window grows when a picture becomes smaller. Arguments as
 * those of assay_resize().
 */
#ifndef ASSAY_IMAGE_RESIZE_ANTIALIAS_H
#define ASSAY_IMAGE_RESIZE_ANTIALIAS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/core/err.h"

int assay_resize_pillow(uint8_t *out, uint32_t out_width, uint32_t out_height,
                        const uint8_t *in, uint32_t in_width,
                        uint32_t in_height, uint32_t channels,
                        bool columns_first, bool is_cubic,
                        struct assay_err *err) ASSAY_MUST_CHECK;
/* Not larger in either direction: OpenCV takes another way then. */
int assay_resize_area(uint8_t *out, uint32_t out_width, uint32_t out_height,
                      const uint8_t *in, uint32_t in_width, uint32_t in_height,
                      uint32_t channels, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
