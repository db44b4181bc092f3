/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which candidates are equal for every input of a layer: prove.c says what
 * cannot matter, stairs.c compares. Pure functions, any thread.
 */
#ifndef ASSAY_FIT_PROVE_H
#define ASSAY_FIT_PROVE_H

#include "host-tools/fit/pool.h"

/* Beyond 2^62 nothing is proved: fields of a file may be anything. */
#define ASSAY_FIT_FAR ((int64_t)1 << 62)

struct assay_fit_range {
    int64_t lo, hi;
};
static inline bool assay_fit_is_near(struct assay_fit_range r)
{
    return r.lo > -ASSAY_FIT_FAR && r.hi < ASSAY_FIT_FAR;
}

/* What stands before each of the three widths in one channel, and before the
 * two shifts. */
struct assay_fit_stages {
    struct assay_fit_range sum, middle, out, pre, post;
};
struct assay_fit_stages assay_fit_follow(const struct assay_fit_problem *p,
                                         const struct assay_fit_choice *c,
                                         uint32_t channel);
/* Of a range, what a width leaves. */
struct assay_fit_range assay_fit_kept(struct assay_fit_range r, unsigned bits,
                                      bool wraps);
/* What the second input adds in a channel. */
struct assay_fit_range assay_fit_term_range(const struct assay_fit_problem *p,
                                            const struct assay_fit_choice *c,
                                            uint32_t channel);

/* class[k]: the first of choices[0 ... n) that k is proved to be equal to.
 * told[k]: what is known to differ (points.c) has different numbers. */
int assay_fit_stairs(const struct assay_fit_problem *p,
                     const struct assay_fit_choice *choices, size_t n,
                     const uint32_t *told, uint32_t *class,
                     struct assay_err *err) ASSAY_MUST_CHECK;

#endif
