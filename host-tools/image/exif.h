/* SPDX-License-Identifier: Apache-2.0 */
/* The one thing that is read of EXIF. Pure; any thread. */
#ifndef ASSAY_IMAGE_EXIF_H
#define ASSAY_IMAGE_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* `data` begins with the TIFF header ("II" or "MM"). The orientation, 1..8,
 * of the first directory; 1 where there is none or what is there makes no
 * sense: a picture is not refused for its remarks. */
uint8_t assay_exif_orientation(const uint8_t *data, size_t n);

#endif
