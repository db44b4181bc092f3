/* SPDX-License-Identifier: Apache-2.0 */
/* Between adapt.c and adapt_values.c. */
#ifndef ASSAY_IMAGE_ADAPT_PRIVATE_H
#define ASSAY_IMAGE_ADAPT_PRIVATE_H

#include "host-tools/image/adapt.h"

struct assay_adapting {
    struct assay_image_adapted *out; /* steps are appended to it */
    const struct assay_image_spec *spec;
    unsigned orientation; /* of the file */
    struct assay_err *err;
};

/* Appends a dense step and gives its zeroed data; NULL: no memory. */
void *assay_adapt_step(struct assay_adapting *a, const char *name,
                       enum assay_dtype dtype, uint32_t rank,
                       const int64_t *dims);
/* From the last step on: centre, normalise, quantize, layout, pad. */
int assay_adapt_values(struct assay_adapting *a) ASSAY_MUST_CHECK;
/* Bytes from row to row for rows that hold `row` bytes; a sentence when the
 * spec's stride cannot be. */
int assay_adapt_stride(size_t *out, const struct assay_image_spec *spec,
                       size_t row, size_t element, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
