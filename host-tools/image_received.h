/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay image --got: what an application fed against what the model wants of
 * the same pictures. One pair a picture input.
 */
#ifndef ASSAY_HOST_IMAGE_RECEIVED_H
#define ASSAY_HOST_IMAGE_RECEIVED_H

#include "host-tools/image_fed.h"
#include "host-tools/image_wanted.h"

#define ASSAY_IMAGE_PAIRS 16

struct assay_image_pair {
    const char *picture_path, *fed_path;
    struct assay_picture picture;
    struct assay_image_fed fed;
    struct assay_image_doors doors;
    struct assay_received *found[ASSAY_IMAGE_DOORS];
    /* Of the doors: what fits with the fewest changes; others that fit with
     * as many are told, too. */
    uint32_t best;
    int other; /* the pair whose picture this is, as that is wanted; or -1 */
};

enum assay_image_verdict {
    ASSAY_IMAGE_MATCH,
    ASSAY_IMAGE_INPUT,       /* a named cause */
    ASSAY_IMAGE_UNEXPLAINED, /* none fits */
};
const char *assay_image_verdict_name(enum assay_image_verdict v);
enum assay_image_verdict assay_image_pair_verdict(
    const struct assay_image_pair *p);

/* Does the work; pictures and tensors are there. */
int assay_image_compare(struct assay_image_pair *v, uint32_t n,
                        struct assay_err *err) ASSAY_MUST_CHECK;

/* image_received_report.c: "Y6", "Y15 and Y9" with their names. */
void assay_image_causes(const struct assay_image_pair *p, uint32_t door,
                        const struct assay_received_hit *h, char *ids,
                        size_t ids_cap, char *names, size_t names_cap);
/* What to change, of all that differs. */
const char *assay_image_fix(const struct assay_image_pair *p, uint32_t door,
                            const struct assay_received_hit *h, char *out,
                            size_t cap);
/* "your script feeds ...; the model wants ..." */
const char *assay_image_sentence(const struct assay_image_pair *p, char *out,
                                 size_t cap);
/* The whole result, to stdout; JSON as the options say. */
int assay_image_received_report(const struct assay_options *o,
                                const struct assay_image_pair *v, uint32_t n,
                                int exit_code, struct assay_err *err)
    ASSAY_MUST_CHECK;

/* The command: o->cases are pictures, o->fed tensors. Returns the exit code, or
 * a negative ASSAY_E*. raw: how the pictures' bytes lie; NULL: PNG, JPEG. */
int assay_image_received(const struct assay_options *o,
                         const struct assay_image_told *told,
                         const struct assay_raw *raw, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
