/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer whose output is to be explained, and what is known of it. Two sides
 * computed it from the same input bytes: `base` is what the engine gives for
 * the slice as it stands, `got` is the odd one (a board, a simulator, another
 * library; or the reference, where every engine agrees against it).
 * Plain values, borrowed. Pure room: no files, no text but names.
 */
#ifndef ASSAY_CAUSE_SUSPECT_H
#define ASSAY_CAUSE_SUSPECT_H

#include "lib/core/slice.h"

struct assay_suspect_sample {
    /* By tensor of `one`, n of its distinct inputs; constants: NULL. Dense
     * bytes in stored order, as `base` and `got`. */
    const void *const *inputs;
    const void *base, *got;
};

#define ASSAY_EVERY_LAYER UINT32_MAX

struct assay_suspect {
    /* assay_slice_single() of the layer; or a segment, assay_slice_part(): the
     * layers in front of one whose outputs nobody saw, and that one, the last.
     * What is compared is what the last one gives. */
    const struct assay_slice *one;
    /* The layer of `one` that is thought to be at fault; ASSAY_EVERY_LAYER: all
     * that an entry applies to, two at least. */
    uint32_t edited;
    /* The slice it stands in, for entries that look at its neighbours (scale
     * of another tensor, swapped outputs); NULL: none. */
    const struct assay_slice *whole;
    uint32_t layer; /* its index there */
    const struct assay_suspect_sample *samples;
    size_t n_samples;
};

/* The layer at fault; of several, the last one. */
static inline const struct assay_layer *assay_suspect_layer(
    const struct assay_suspect *s)
{
    return &s->one->layers[s->edited < s->one->n_layers ? s->edited
                                                        : s->one->n_layers - 1];
}
static inline bool assay_suspect_is_segment(const struct assay_suspect *s)
{
    return s->one->n_layers > 1;
}
/* What is compared. */
static inline const struct assay_tensor *assay_suspect_output(
    const struct assay_suspect *s)
{
    return &s->one->tensors[s->one->layers[s->one->n_layers - 1].output];
}
/* Tensors of `one` in front of its output; those that are not given are
 * NULL. */
static inline uint32_t assay_suspect_inputs(const struct assay_suspect *s)
{
    return s->one->layers[s->one->n_layers - 1].output;
}

#endif
