/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An input under way that is to tell choices of a layer apart: separate.c
 * judges it, place.c and place_conv.c put values where they meet. One thread.
 */
#ifndef ASSAY_FIT_HUNT_H
#define ASSAY_FIT_HUNT_H

#include "host-tools/fit/pool.h"

struct assay_fit_hunt {
    struct assay_fit_found *f;
    const struct assay_fit_layer *l;
    const struct assay_layer *y;
    uint64_t seed;
    struct assay_fit_choice *classes; /* one of each */
    size_t n_classes;
    struct assay_fit_points points;
    void *input[4]; /* constants borrowed; one tensor may stand twice */
    size_t bytes[4];
    bool owned[4];
    int64_t *acc, *second;
    uint32_t *state; /* STAGED: by candidate; else by class */
};

static inline const struct assay_tensor *assay_fit_hunt_tensor(
    const struct assay_fit_hunt *h, unsigned i)
{
    return &h->l->slice->tensors[h->y->inputs[i]];
}

int64_t assay_fit_hunt_between(struct assay_fit_hunt *h, int64_t lo,
                               int64_t hi);
/* One element of input i, kept in the range of its dtype. */
void assay_fit_hunt_put(const struct assay_fit_hunt *h, unsigned i, size_t at,
                        int64_t v);
int64_t assay_fit_hunt_get(const struct assay_fit_hunt *h, unsigned i,
                           size_t at);
/* Values whose sums, products, ... are those of the points from `first` on. */
void assay_fit_place(struct assay_fit_hunt *h, size_t first);
/* Of convolutions; `ends`: the least or largest sums instead of points. */
void assay_fit_place_conv(struct assay_fit_hunt *h, size_t first, bool ends);

#endif
