/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two arrays of one tensor in two stages, in one sample.
 * Pure; any thread.
 */
#ifndef ASSAY_TRIAGE_COMPARE_H
#define ASSAY_TRIAGE_COMPARE_H

#include "host-tools/model/npz.h"

/* How stored integers become real numbers; scale 0: not known. */
struct assay_pair_scale {
    double scale;
    int32_t zero;
};

struct assay_pair_stats {
    uint64_t n, differing;   /* elements; those whose bits differ */
    uint64_t odd;            /* b is NaN or infinite, and a is not */
    uint64_t finite;         /* both are numbers: what the sums are of */
    uint64_t zero_a, zero_b; /* exactly 0 */
    uint64_t rail_a, rail_b; /* at the end of the range of their array */
    uint64_t low_rail;       /* differing, and one side at the lowest value */
    uint64_t flipped;        /* other sign, and nearly a whole range away */
    double aa, bb, ab, dd;   /* sums of products; d = b - a */
    double dd_flipped;       /* of those */
    double sum_d, sum_abs, max_abs;
    double min_a, max_a, min_b, max_b;
    double unit;           /* of one LSB; 0: not known */
    uint64_t bag_a, bag_b; /* of the values in any order */
};

enum assay_incomparable {
    ASSAY_COMPARABLE = 0,
    ASSAY_BAD_SHAPE, /* other dimensions */
    ASSAY_BAD_SCALE, /* integers against floats, and no scale */
    ASSAY_BAD_NAME,  /* one side has no tensor of that name */
    ASSAY_BAD_EMPTY, /* no element */
    ASSAY_BAD_ODD,   /* NaN or infinite throughout; transition.c says it */
};

/* Why the two cannot be compared. *perm: b's axis of a's axis i where b is a
 * NCHW of a's NHWC, or the other way round, else the identity. */
enum assay_incomparable assay_pair_check(const struct assay_array *a,
                                         const struct assay_array *b,
                                         const struct assay_pair_scale *qa,
                                         const struct assay_pair_scale *qb,
                                         uint8_t perm[ASSAY_MAX_RANK]);
/* After assay_pair_check said that it can be done. `s` is overwritten; of arrays
 * that are equal, what only a break needs (ends, zeros, bags) stays 0. */
void assay_pair_compare(struct assay_pair_stats *s, const struct assay_array *a,
                        const struct assay_array *b,
                        const struct assay_pair_scale *qa,
                        const struct assay_pair_scale *qb,
                        const uint8_t perm[ASSAY_MAX_RANK]);
double assay_pair_cosine(const struct assay_pair_stats *s);
double assay_pair_l1(const struct assay_pair_stats *s);    /* mean |d| */
double assay_pair_error(const struct assay_pair_stats *s); /* |d| / |a| */
/* Largest |d| in LSB, the vendor's max_qscale_diff; -1: no scale. */
double assay_pair_lsb(const struct assay_pair_stats *s);

#endif
