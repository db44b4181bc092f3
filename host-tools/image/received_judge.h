/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readings against the tensor: a few windows of the picture first, which most
 * wrong readings do not survive, then all of it. Internal to the search of
 * received.h; one thread.
 */
#ifndef ASSAY_IMAGE_RECEIVED_JUDGE_H
#define ASSAY_IMAGE_RECEIVED_JUDGE_H

#include "host-tools/image/received_knobs.h"

#define ASSAY_JUDGE_WINDOW 12u /* sides; even */
#define ASSAY_JUDGE_MARGIN 2u  /* what chroma of neighbours may reach */
#define ASSAY_JUDGE_WINDOWS 3

struct assay_judge_sized;

struct assay_judge {
    struct assay_knob_facts facts;
    bool half;           /* the floats of the tensor went through 16 bits */
    const uint8_t *same; /* elements that are as wanted; NULL: none is known */
    struct assay_judge_sized *sized; /* pictures of the model's size */
    size_t n_sized, cap_sized;
    uint64_t turn;    /* of use */
    uint64_t adapted; /* elements that were made in full */
};

void assay_judge_close(struct assay_judge *j);

/* *passes: no element of the windows speaks against it. Of `similar`, where
 * not NULL: the mean correlation of the windows' channels with it, -1..1. */
int assay_judge_windows(struct assay_judge *j, const struct assay_reading *r,
                        bool *passes, double *similar, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Everything. hit->reading is r, with mean and scale where they are solved
 * for; *proved: no element that is placed differs. `same`, where not NULL,
 * takes 1 for each element of the tensor that equals. */
int assay_judge_full(struct assay_judge *j, const struct assay_reading *r,
                     struct assay_received_hit *hit, bool *proved,
                     uint8_t *same, struct assay_err *err) ASSAY_MUST_CHECK;
/* The same in numbers, for what fits nothing. */
int assay_judge_near(struct assay_judge *j, const struct assay_reading *r,
                     struct assay_received_near *near, struct assay_err *err)
    ASSAY_MUST_CHECK;

/* Do a dtype's values lie in the other as they are, sign of bytes apart? */
bool assay_judge_same_dtype(enum assay_dtype a, enum assay_dtype b);

#endif
