/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures of the model's size, which many readings share: those that were
 * used last are kept, and of all of them a few windows. Internal to the search
 * of received.h.
 */
#ifndef ASSAY_IMAGE_RECEIVED_SIZED_H
#define ASSAY_IMAGE_RECEIVED_SIZED_H

#include "host-tools/image/received_judge.h"

struct assay_judge_window {
    uint32_t x, y, width, height; /* x and y even */
    uint8_t rgb[3 * ASSAY_JUDGE_WINDOW * ASSAY_JUDGE_WINDOW];
};

struct assay_judge_sized {
    struct assay_image_spec spec; /* that it depends on, */
    uint8_t turned_last;          /* and this */
    bool from_bgr;                /* and this */
    struct assay_picture picture; /* data NULL: was dropped */
    uint32_t n_windows;           /* 0: the picture is too small for them */
    struct assay_judge_window windows[ASSAY_JUDGE_WINDOWS];
    uint64_t used;
};

/* Valid until the next call. whole: with its picture. */
int assay_judge_sized_of(struct assay_judge_sized **out, struct assay_judge *j,
                         const struct assay_reading *r, bool whole,
                         struct assay_err *err) ASSAY_MUST_CHECK;

#endif
