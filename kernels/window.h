/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which taps of a sliding window lie inside the image, along one axis: what
 * is visited is bounded by the image, whatever the kernel and its pads are.
 */
#ifndef ASSAY_KERNELS_WINDOW_H
#define ASSAY_KERNELS_WINDOW_H

#include <stdint.h>

/* Taps from .. to - 1 are inside; none when to <= from. */
struct assay_span {
    int64_t start; /* cell of tap 0, below 0 in the padding */
    int64_t from, to;
};

/* Tap t of `taps` is cell start + t * dilation; the axis has `size` cells.
 * |start| < 2^62, dilation >= 1, taps and size in int32. */
static inline struct assay_span assay_taps_inside(int64_t start,
                                                  int64_t dilation,
                                                  int64_t taps, int64_t size)
{
    struct assay_span s = {.start = start};
    int64_t room = size - start;

    s.from = start >= 0 ? 0 : (dilation - 1 - start) / dilation;
    s.to = room <= 0 ? 0 : (room + dilation - 1) / dilation;
    s.to = s.to < taps ? s.to : taps;
    return s;
}

#endif
