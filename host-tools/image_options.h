/* SPDX-License-Identifier: Apache-2.0 */
/* What the options of `assay image` say, as values. */
#ifndef ASSAY_HOST_IMAGE_OPTIONS_H
#define ASSAY_HOST_IMAGE_OPTIONS_H

#include "host-tools/image/adapt.h"
#include "host-tools/options.h"

struct assay_image_ask {
    struct assay_image_spec spec; /* nv12 and 0x0 where nothing is said */
    bool typed, sized;            /* --as, --size are there */
    bool is_raw;                  /* --raw is: */
    struct assay_raw raw;
    enum assay_dtype dtype; /* --set dtype, or 0: of bytes to be shown */
};

/* One sentence, with the option's name, about what cannot be read. That the
 * parts fit together is for assay_image_spec_check(). */
int assay_image_options(struct assay_image_ask *out,
                        const struct assay_options *o, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
