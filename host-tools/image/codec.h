/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two file formats behind picture.h, one file each. Decoders fill form,
 * width, height, bytes, data, orientation and format, and leave `out` as it
 * was when they fail. `name` is the file's, for sentences.
 */
#ifndef ASSAY_IMAGE_CODEC_H
#define ASSAY_IMAGE_CODEC_H

#include "host-tools/image/picture.h"

int assay_png_decode(struct assay_picture *out, const uint8_t *data, size_t n,
                     const char *name, const struct assay_model_note *note,
                     struct assay_err *err) ASSAY_MUST_CHECK;
int assay_jpeg_decode(struct assay_picture *out, const uint8_t *data, size_t n,
                      const char *name, const struct assay_model_note *note,
                      struct assay_err *err) ASSAY_MUST_CHECK;

/* Writes dense samples, 3 (RGB) or 1 (gray) a pixel, to a temporary name and
 * renames. */
int assay_png_write(const char *path, const uint8_t *samples, uint32_t width,
                    uint32_t height, uint32_t channels, struct assay_err *err)
    ASSAY_MUST_CHECK;

/* Refuses a size beyond the caps of picture.h, with the file's name. */
int assay_picture_check_size(uint64_t width, uint64_t height, const char *name,
                             struct assay_err *err) ASSAY_MUST_CHECK;

#endif
