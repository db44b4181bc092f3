/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is it the same data in another arrangement? Asked before any number is
 * called wrong: a layout fault is one sentence, not a percentage. Pure; any
 * thread.
 *
 * Thresholds. An arrangement is named only when every element of got that it
 * foretells has exactly the bits that it foretells, and when chance would not
 * do the same: each element that differs from ref and is foretold counts
 * -log2(how often its value occurs in ref) bits, the same pair (ref, got) at
 * most 8 times (elements that repeat are no new facts), and the sum must be at
 * least 20 bits plus log2(arrangements of the kind that were asked for). So no
 * tensor of less than about 7 elements has a layout, nor has one of two values
 * alone; but all bytes of another output of the model are that output, where
 * enough of them differ from ref, repeated or not. Where data fits two stories it is not layout: a shift when got - ref
 * is one number everywhere (a ramp), a sign when all elements lie on one side
 * of the sign bit and half the range is, or may be, the zero point (a missing
 * one would do that), another tensor when it is an input of the layer itself
 * (a step that was left out). Where compared < all, what stands in the gaps is
 * not explained: rows that are one window longer look like rows with gaps.
 *
 * Cost: a few passes over the bytes, then a handful of elements for each
 * arrangement; whole passes for what survives, at most 16 tensors' worth for
 * all arrangements together.
 * Memory: two copies of the tensor while perm is no identity, freed inside;
 * where there is none, the source's order is not looked at.
 */
#ifndef ASSAY_CAUSE_LAYOUT_H
#define ASSAY_CAUSE_LAYOUT_H

#include <stdbool.h>

#include "lib/core/slice.h"

enum assay_layout_kind {
    ASSAY_LAYOUT_NONE = 0,
    ASSAY_LAYOUT_PERMUTED,     /* got is ref under axes[] */
    ASSAY_LAYOUT_REVERSED,     /* axis[0] runs backwards; axis[1], or -1, too */
    ASSAY_LAYOUT_SWAPPED,      /* indices n[0] and n[1] of axis[0] */
    ASSAY_LAYOUT_STRIDED,      /* rows, planes ... of axis[0] are n[0] bytes */
                               /* apart and were read as n[1] bytes, or back */
    ASSAY_LAYOUT_SIGN,         /* every element XOR the sign bit */
    ASSAY_LAYOUT_BYTE_ORDER,   /* of 16- or 32-bit elements */
    ASSAY_LAYOUT_SHIFTED,      /* by n[0] elements (> 0: towards the end), */
                               /* one place of axis[0] */
    ASSAY_LAYOUT_PACKED,       /* channels in blocks of n[0]; n[1] 1: ref */
                               /* was taken for packed, and is not */
    ASSAY_LAYOUT_OTHER_OUTPUT, /* it is tensor n[0] of the slice */
};

#define ASSAY_LAYOUT_ALSO 4

struct assay_layout {
    enum assay_layout_kind kind;
    /* "L1" to "L5", "U1", "U2", "W3", "Y6": of docs/hypotheses.md. */
    const char *id;
    /* Other entries under which just these elements come out (rows that are
     * 32 bytes apart are channels in one block of 32, too), each once; NULL
     * behind the last. */
    const char *also[ASSAY_LAYOUT_ALSO];
    /* PERMUTED: got, read with these dims, holds ref's axis axes[i] as its
     * axis i; n[0] 1: ref holds got's so. */
    uint8_t axes[ASSAY_MAX_RANK];
    /* Axes are the source's (perm), in whose order the bytes fit. */
    bool source_order;
    int axis[2];
    int64_t n[2];
    /* Elements that were compared, and all: what no longer fits into the
     * tensor under a shift or stride is not known. */
    uint64_t compared, all;
};

/* The first kind that gives all of got from ref, and what else it may be
 * called; false: none. `whole` and
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
