/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a model wants made of a picture, from what the vendor's tools left
 * beside it: the buffer that the runtime on the board takes, and, where the
 * quantized model is named too, what that model's own first layer takes. An
 * application feeds the one or the other.
 */
#ifndef ASSAY_HOST_IMAGE_WANTED_H
#define ASSAY_HOST_IMAGE_WANTED_H

#include "host-tools/image/received.h"
#include "host-tools/options.h"

#define ASSAY_IMAGE_DOORS 2

struct assay_image_door {
    const char *name; /* "the model", "the quantized model"; static */
    struct assay_received_wanted wanted;
};

struct assay_image_doors {
    char input[128]; /* the model's name of it; "" where it has one alone */
    uint32_t n;
    struct assay_image_door v[ASSAY_IMAGE_DOORS];
};

/* What the command line says of an input. */
struct assay_image_told {
    struct assay_image_spec spec; /* 0x0 where no size is told */
    bool typed;                   /* --as is there */
};

/*
 * Input number `index` of those that are pictures (*n_inputs of them, or 1).
 * told: without --vendor all of it, with it what no configuration holds: how
 * the picture is fitted, filtered, padded, turned, how its colours are
 * converted, and the rows in memory. Options that say what a configuration says
 * are refused, but for --range, which goes first.
 */
int assay_image_wanted(struct assay_image_doors *out, uint32_t *n_inputs,
                       const struct assay_options *o,
                       const struct assay_image_told *told, uint32_t index,
                       struct assay_err *err) ASSAY_MUST_CHECK;

#endif
