/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search's own state: search.c makes the chains, judge.c says whether one
 * gives what was read and what that is worth.
 */
#ifndef ASSAY_OUTPUT_SEARCH_PRIVATE_H
#define ASSAY_OUTPUT_SEARCH_PRIVATE_H

#include "host-tools/output/output_private.h"

#define ASSAY_OUTPUT_BUCKETS 4096 /* of values; collisions only cost bits */
#define ASSAY_OUTPUT_PROBES 256
#define ASSAY_OUTPUT_DTYPES 8
#define ASSAY_OUTPUT_ORDERS 16 /* of samples, at most */

struct assay_output_search {
    struct assay_output_ask ask;
    struct assay_output_result *out;
    size_t expected; /* SIZE_MAX: nothing was said */
    bool unboxed;    /* it should be taken out of a letterbox */
    size_t left;     /* steps of the chain that are still to come */
    size_t n_steps;
    struct assay_output_step steps[ASSAY_OUTPUT_STEPS];
    size_t family, used;
    size_t best; /* bytes that the hits foretell */
    uint64_t tried;
    size_t *orders
        [ASSAY_OUTPUT_ORDERS]; /* whose output each sample is read as; own first */
    size_t n_orders;
    size_t only; /* the one sample that was read; SIZE_MAX: several */
    struct {
        size_t sample;
        int64_t byte;
    } probes[ASSAY_OUTPUT_PROBES];
    size_t n_probes;
    bool counted[ASSAY_OUTPUT_DTYPES];
    uint32_t often[ASSAY_OUTPUT_DTYPES]
                  [ASSAY_OUTPUT_BUCKETS]; /* values of what was read */
    uint8_t given[ASSAY_OUTPUT_BUCKETS];  /* values that outputs have */
    uint8_t used_values[ASSAY_OUTPUT_BUCKETS];
    double range_bits; /* of integers that were read */
    uint64_t read;     /* bytes in all samples */
};

unsigned assay_output_bucket(
    struct assay_output_value v); /* of ASSAY_OUTPUT_BUCKETS */
/* As foretold, or not foretold at all (*known false); *within is set where it
 * is not the same bits. */
bool assay_output_fits_at(const struct assay_output_search *s,
                          const struct assay_output_node *n, size_t sample,
                          int64_t i, bool *known, bool *within);
/* Is it what the expected output gives in its place, of `count` elements?
 * Where nothing was said, the one that the chain begins with: what only leaves
 * gaps shows nothing. */
bool assay_output_as_expected(const struct assay_output_search *s,
                              int64_t count, size_t sample, int64_t i,
                              struct assay_output_value g);
/* A chain is complete: n is what should have been read. False: it is not.
 * *proved: chance would not do the same. */
bool assay_output_judge(struct assay_output_search *s,
                        const struct assay_output_node *n,
                        struct assay_output_hit *hit, bool *proved);

#endif
