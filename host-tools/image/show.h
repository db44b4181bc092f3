/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way back: the bytes that a model takes as a picture to look at. What was
 * resized or cut stays so.
 */
#ifndef ASSAY_IMAGE_SHOW_H
#define ASSAY_IMAGE_SHOW_H

#include "host-tools/image/adapt.h"

/*
 * `data` is a tensor as the spec describes it: type, width, height, colour,
 * up, centre, divide, normalise with mean and scale, quantize_scale, nchw,
 * stride or align. `dtype` is the tensor's own. Of a value that no byte holds
 * the nearest byte is taken. `out` becomes a picture of the form RGB.
 */
int assay_image_show(struct assay_picture *out,
                     const struct assay_image_spec *spec,
                     enum assay_dtype dtype, const void *data, size_t bytes,
                     struct assay_err *err) ASSAY_MUST_CHECK;
/* The bytes that such a tensor has, padding of rows included. */
int assay_image_bytes(size_t *out, const struct assay_image_spec *spec,
                      enum assay_dtype dtype, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
