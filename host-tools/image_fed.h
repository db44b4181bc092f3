/* SPDX-License-Identifier: Apache-2.0 */
/* The tensor that an application fed, from its file. */
#ifndef ASSAY_HOST_IMAGE_FED_H
#define ASSAY_HOST_IMAGE_FED_H

#include "host-tools/image/received.h"
#include "host-tools/model/npz.h"

struct assay_image_fed {
    struct assay_received_got got;
    struct assay_npz npz; /* owns the data, or */
    uint8_t *raw;         /* owns it */
};

/*
 * npy, npz (the array named `input`, or the only one), or any other file:
 * bytes, or elements of 2 or 4 bytes where its size is that of a picture of
 * width x height in them.
 */
int assay_image_fed_read(struct assay_image_fed *out, const char *path,
                         const char *input, uint32_t width, uint32_t height,
                         struct assay_err *err) ASSAY_MUST_CHECK;
void assay_image_fed_close(struct assay_image_fed *f); /* NULL safe */

#endif
