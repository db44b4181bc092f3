/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the differing elements have in common. Each kind is a pure function of
 * its own, and says nothing where fewer than two elements differ or where
 * chance would do the same. A fingerprint ranks causes and tells people what
 * to look at; it never decides.
 */
#ifndef ASSAY_CAUSE_FINGERPRINT_H
#define ASSAY_CAUSE_FINGERPRINT_H

#include <stdbool.h>

#include "lib/core/slice.h"

enum assay_fingerprint_kind {
    ASSAY_FP_EDGE_RING = 1, /* n[0]: its width; n[1]: set of edges (diff.h) */
    ASSAY_FP_TAIL_CHANNELS, /* channels from n[0] on; n[1]: the multiple */
    ASSAY_FP_EVERY_NTH,     /* channels n[1] mod n[0] */
    ASSAY_FP_CHANNEL_CONSTANT, /* diff is one number a channel */
    ASSAY_FP_BIAS,             /* diff of a channel is x[0] * bias */
    ASSAY_FP_WEIGHT_SUM,       /* ... x[0] * sum of its weights */
    ASSAY_FP_ONE_SIDED,        /* n[0]: +1 got is higher, -1 lower */
    ASSAY_FP_TWO_SIDED,
    ASSAY_FP_NEGATIVE_SUM,   /* only where the accumulator is < 0 */
    ASSAY_FP_CLAMP_LIMITS,   /* only where base or got is a limit */
    ASSAY_FP_INPUT_FUNCTION, /* got depends on the input element alone */
    ASSAY_FP_CONCAT_BLOCK,   /* channels n[0]..n[1]: one input of a concat */
    ASSAY_FP_HALF_PIXEL,     /* got is base moved by half a pixel; n[0] axis */
    ASSAY_FP_MULTIPLE,       /* accumulators differ by multiples of 2^n[0] */
    ASSAY_FP_RATE,           /* about 2^-n[0] of all, all by one LSB */
    ASSAY_FP_SATURATED,      /* all in n[0] channels, at a limit in got */
    ASSAY_FP_RATIO,          /* got is x[0] times base (about), all elements */
    ASSAY_FP_SHIFTED,        /* got - base is n[0] in all elements */
};

struct assay_fingerprint {
    enum assay_fingerprint_kind kind;
    int64_t n[2];
    double x[2];
    uint64_t matched, differing; /* how many of the differing ones it fits */
};

/* What the functions look at; NULL: not known. All of one sample. */
struct assay_fingerprint_view {
    const struct assay_tensor *t; /* the output */
    const struct assay_layer *layer;
    const struct assay_slice *slice; /* the layer's: its constants */
    const void *base, *got;
    const int64_t *acc;        /* accumulators, one an element; NULL: none */
    const int64_t *bias;       /* by channel, in units of the accumulator */
    const int64_t *sum_w;      /* by channel */
    const void *const *inputs; /* by tensor of slice, as suspect.h */
};

#define ASSAY_FINGERPRINTS 18
/* Up to ASSAY_FINGERPRINTS of them, the most telling first; how many. */
size_t assay_fingerprint(const struct assay_fingerprint_view *v,
                         struct assay_fingerprint *out);
/* "edge ring, 1 wide", "only channels 64..65 (tail of 4)"; returns out. */
const char *assay_fingerprint_text(const struct assay_fingerprint *f,
                                   const struct assay_tensor *t, char *out,
                                   size_t cap);

#endif
