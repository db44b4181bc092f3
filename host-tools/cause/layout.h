/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is it the same data in another arrangement? Asked before any number is
 * called wrong: a layout fault is one sentence, not a percentage. Pure.
 */
#ifndef ASSAY_CAUSE_LAYOUT_H
#define ASSAY_CAUSE_LAYOUT_H

#include <stdbool.h>

#include "lib/core/slice.h"

enum assay_layout_kind {
    ASSAY_LAYOUT_NONE = 0,
    ASSAY_LAYOUT_PERMUTED,     /* got is ref under axes[] */
    ASSAY_LAYOUT_REVERSED,     /* axis[0] runs backwards */
    ASSAY_LAYOUT_SWAPPED,      /* indices n[0] and n[1] of axis[0] */
    ASSAY_LAYOUT_STRIDED,      /* rows, planes ... of axis[0] are n[0] bytes */
                               /* apart and were read as n[1] bytes, or back */
    ASSAY_LAYOUT_SIGN,         /* every element XOR the sign bit */
    ASSAY_LAYOUT_BYTE_ORDER,   /* of 16- or 32-bit elements */
    ASSAY_LAYOUT_SHIFTED,      /* by n[0] elements; n[1]: of axis[0], or -1 */
    ASSAY_LAYOUT_PACKED,       /* channels in blocks of n[0] */
    ASSAY_LAYOUT_OTHER_OUTPUT, /* it is tensor n[0] of the slice */
};

struct assay_layout {
    enum assay_layout_kind kind;
    const char *id; /* of the catalogue: "L1", "L2", "L3", "L5", "U1", ... */
    /* PERMUTED: got, read with these dims, holds ref's axis axes[i] as its
     * axis i. */
    uint8_t axes[ASSAY_MAX_RANK];
    int axis[2];
    int64_t n[2];
    /* Elements that were compared, and all: what no longer fits into the
     * tensor under a shift or stride is not known. */
    uint64_t compared, all;
};

/* The first kind that gives all of got from ref; false: none. `whole` and
 * `values` (its tensors' reference bytes, NULL where not there) are for other
 * outputs, and may be NULL. A tensor whose elements are all equal, or of one
 * element, has no layout. */
bool assay_layout_find(struct assay_layout *out, const struct assay_tensor *t,
                       const void *ref, const void *got,
                       const struct assay_slice *whole,
                       const void *const *values);
/* "NHWC -> NCHW", "rows 64 bytes apart, read as 60"; returns out. */
const char *assay_layout_text(const struct assay_layout *l,
                              const struct assay_tensor *t, char *out,
                              size_t cap);

#endif
