/* SPDX-License-Identifier: Apache-2.0 */
/* What `assay image` says and writes of the steps that it made. */
#ifndef ASSAY_HOST_IMAGE_REPORT_H
#define ASSAY_HOST_IMAGE_REPORT_H

#include "host-tools/image/adapt.h"
#include "host-tools/options.h"

struct assay_image_made {
    const char *path; /* of the picture */
    const struct assay_picture *picture;
    const struct assay_image_spec *spec;
    const struct assay_image_adapted *steps;
};

/* Text or JSON ("assay-image/1") to stdout, and --json FILE. */
int assay_image_report(const struct assay_options *o,
                       const struct assay_image_made *made,
                       struct assay_err *err) ASSAY_MUST_CHECK;
/* The file of -o: by its suffix .npy, .npz or .bin. A padded tensor is written
 * with its padding, in npy and npz as rows of elements. */
int assay_image_write(const char *path, const struct assay_image_adapted *steps,
                      struct assay_err *err) ASSAY_MUST_CHECK;

#endif
