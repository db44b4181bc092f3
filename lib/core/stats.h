/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of a layer's output: what `--capture stats` sends instead of the
 * data. One definition for both sides of the wire, so that equal tensors have
 * equal statistics to the last bit: integers are summed exactly, floats in
 * binary64 in stored order. Values are stored ones, not dequantized.
 *
 * Plain values. Zeroed: nothing was looked at. Any thread.
 */
#ifndef ASSAY_CORE_STATS_H
#define ASSAY_CORE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/core/slice.h"

/*
 * Bins of the histogram, fixed for a dtype so that samples add up and both
 * sides agree without talking:
 * 8 and 16 bits: 32 equal parts of the dtype's range, from its smallest value.
 * wider ones: by sign and magnitude. Bin 16 + m holds v >= 0, bin 15 - m holds
 * v < 0, with m = bits of |v| / 2 (int32) or / 4 (int64), at most 15. float32:
 * m = 0 below 2^-14, else 1 + floor(log2 |v| + 14) / 2, at most 15.
 */
#define ASSAY_STATS_BINS 32

struct assay_stats {
    uint64_t count; /* elements; 0: nothing was looked at */
    uint64_t zeros; /* that are the tensor's zero point (0 where it has none) */
    uint64_t at_low, at_high; /* integers at the ends of what can be stored */
    uint8_t is_float;
    int64_t min, max;  /* integers */
    uint64_t sum_low;  /* integers: the sum as a two's complement of 128 bits */
    int64_t sum_high;  /* its upper half */
    uint64_t nan, inf; /* floats; what follows is of the finite ones */
    double real_min, real_max, real_sum;
    uint64_t bins[ASSAY_STATS_BINS];
};

/* What of a slice the statistics of a layer depend on. */
struct assay_stats_rule {
    enum assay_dtype dtype;
    /* The ends of what can be stored: of the dtype, or of the clamp at the
     * program's end where that is narrower (of several channels: the widest).
     * Floats have none. */
    int64_t low, high;
    int64_t zero;
};
void assay_stats_rule(struct assay_stats_rule *out, const struct assay_slice *s,
                      uint32_t layer);

/* Adds n elements. */
void assay_stats_add(struct assay_stats *into,
                     const struct assay_stats_rule *rule, const void *data,
                     size_t n);
/* Adds those of another sample of the same layer. */
void assay_stats_merge(struct assay_stats *into,
                       const struct assay_stats *from);
bool assay_stats_equal(const struct assay_stats *a,
                       const struct assay_stats *b);
double assay_stats_mean(const struct assay_stats *s); /* NAN: of nothing */
/* The name of the first field that is not as it has to be; NULL: all are. */
const char *assay_stats_bad_field(const struct assay_stats *s);

#endif
