/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the differing elements have in common. Each kind is a pure function of
 * its own, and says nothing where fewer than two elements differ or where
 * chance would do the same. A fingerprint ranks causes and tells people what
 * to look at; it never decides.
 *
 * Chance: if what is said of an element holds for a share p of all elements
 * anyway, it holds for d of them that have nothing to do with each other with
 * p^d; a kind is named below 2^-20, so that a thousand layers of noise name
 * none. p is
 *   edge ring, tail, block of a concat, negative sums: the part of the tensor
 *     (a ring reaches every edge that it is said to be of);
 *   every n-th: 1/n (and the channels that differ are three quarters of these,
 *     at least three, 6 bits' worth: other channels have a common step too);
 *   limits, saturated: how often base lies at a limit, and 1/64; limits: how
 *     often one of two unequal elements of base does, if that is more;
 *   one-sided: 1/2, or the part of the range on that side of base (what lies
 *     at the lower limit cannot be lower);
 *   multiples: the width of the rounding by 2^16;
 *   constants (shift, channel, function of the input): how often two elements
 *     drawn anywhere differ from base by the same number;
 *   ratio by channel: rounding against the range of got, but for one element a
 *     channel, which gives its number;
 *   ratio, bias, weight sums: rounding against the range of what was found.
 * Half a pixel asks for 20 elements that could tell and 95 in 100 of them,
 * a rate for 256 expected elements and two standard deviations; a ratio for 10
 * elements that could tell and all of them.
 * Elements at a limit (of the type, or of the last clamp of the program) hide
 * numbers and are left out of all kinds that measure. NaN measures nothing: a
 * kind that measures says nothing where one is met.
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
    /* diff of a channel is x[0] * bias; n[0] 1: in units of the accumulator
     * (-1: the bias is missing), 0: of the output */
    ASSAY_FP_BIAS,
    ASSAY_FP_WEIGHT_SUM, /* ... x[0] * sum of its weights */
    ASSAY_FP_ONE_SIDED,  /* n[0]: +1 got is higher, -1 lower */
    ASSAY_FP_TWO_SIDED,
    ASSAY_FP_NEGATIVE_SUM, /* only where the accumulator is < 0 */
    ASSAY_FP_CLAMP_LIMITS, /* only where base or got is a limit; n[0]: */
                           /* -1 the lower, +1 the upper, 0 both */
    /* got depends on the input element alone, and differs for x[0] of its
     * values, the lowest n[0], the highest n[1] */
    ASSAY_FP_INPUT_FUNCTION,
    ASSAY_FP_CONCAT_BLOCK, /* channels n[0]..n[1]: one input of a concat */
    /* got is base moved by half a pixel along axes n[0] and (-1: none) n[1];
     * x: +0.5 or -0.5, got[i] lies between base[i] and base[i + 2 x] */
    ASSAY_FP_HALF_PIXEL,
    ASSAY_FP_MULTIPLE,  /* accumulators differ by multiples of 2^n[0] */
    ASSAY_FP_RATE,      /* about 2^-n[0] of all, all by one LSB */
    ASSAY_FP_SATURATED, /* all in n[0] channels, at a limit in got */
    ASSAY_FP_RATIO,     /* got is x[0] times base (about), all elements */
    ASSAY_FP_SHIFTED,   /* got - base is n[0] in all elements */
    /* got is about base times one number a channel, from x[0] (channel n[0])
     * to x[1] (channel n[1]) */
    ASSAY_FP_CHANNEL_RATIO,
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
    const int64_t *acc; /* accumulators, one an element; NULL: none */
    /* By channel, in units of the accumulator; where NULL, they are had from
     * the constants of slice. */
    const int64_t *bias;
    const int64_t *sum_w;
    const void *const *inputs; /* by tensor of slice, as suspect.h */
};

#define ASSAY_FINGERPRINTS 19
/* Up to ASSAY_FINGERPRINTS of them, the most telling first; how many. */
size_t assay_fingerprint(const struct assay_fingerprint_view *v,
                         struct assay_fingerprint *out);
/*
 * The numbers behind a fingerprint that has one a channel: got / base where it
 * is a ratio, else got - base, of channels 0, *step, 2 * *step ...; NAN: not
 * known (all of it lies at a limit). How many, at most cap; 0: f has none.
 */
size_t assay_fingerprint_by_channel(const struct assay_fingerprint_view *v,
                                    const struct assay_fingerprint *f,
                                    double *out, size_t cap, size_t *step);
/* "edge ring, 1 wide", "only channels 64..65 (tail of 4)"; returns out. */
const char *assay_fingerprint_text(const struct assay_fingerprint *f,
                                   const struct assay_tensor *t, char *out,
                                   size_t cap);

#endif
