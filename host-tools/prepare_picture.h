/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `-i PICTURE`: the model's input is made of a picture, step by step
 * (image/adapt.h), each time a sample is read. What it is to be made into is
 * said by --as and its options, or by hb_mapper's configuration; what the
 * model's own input needs beyond that (its size, signed bytes, floats, NCHW)
 * follows from the model. One thread.
 */
#ifndef ASSAY_HOST_PREPARE_PICTURE_H
#define ASSAY_HOST_PREPARE_PICTURE_H

#include "host-tools/image_options.h"
#include "host-tools/image_wanted.h"
#include "host-tools/model/case.h"

struct assay_prepared;

struct assay_pictures {
    struct assay_case_maker maker;   /* of the case that has them */
    const struct assay_slice *slice; /* borrowed, as note */
    const struct assay_model_note *note;
    uint32_t tensor; /* the input that is made */
    struct assay_image_ask ask;
    /* One: the model's input, which is `spec`. */
    struct assay_image_doors doors;
    struct assay_image_spec spec;
};

/* Are the inputs pictures: by --as, or by what the first file begins with? */
bool assay_pictures_are(const struct assay_options *o);
/* Refuses options of pictures where there is none. */
int assay_pictures_check(const struct assay_options *o, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Before the case is opened: *out is owned, its maker not yet usable. */
int assay_pictures_new(struct assay_pictures **out, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* When the model and the vendor's files are there. */
int assay_pictures_open(struct assay_pictures *p,
                        const struct assay_prepared *q,
                        const struct assay_options *o, struct assay_err *err)
    ASSAY_MUST_CHECK;
int assay_pictures_read(const struct assay_pictures *p, const char *path,
                        const struct assay_model_note *note,
                        struct assay_picture *out, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* The steps of one file. Close both. */
int assay_pictures_adapt(const struct assay_pictures *p, const char *path,
                         const struct assay_model_note *note,
                         struct assay_picture *picture,
                         struct assay_image_adapted *out, struct assay_err *err)
    ASSAY_MUST_CHECK;
void assay_pictures_free(struct assay_pictures *p); /* NULL safe */

#endif
