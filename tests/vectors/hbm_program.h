/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hbm_m15 (docs/numerics.md) as a program: the form of the golden rows of that
 * name. Models say such arithmetic by rules, so only the rows need it.
 */
#ifndef ASSAY_VECTORS_HBM_PROGRAM_H
#define ASSAY_VECTORS_HBM_PROGRAM_H

#include "lib/core/slice.h"

/* Per channel, n entries: bias, pre_shift 0..31, scale 0..65535, post_shift
 * 0..62. */
struct assay_vc_hbm {
    uint32_t n;
    const int32_t *bias, *pre_shift, *scale, *post_shift;
    enum assay_add_mode bias_add;
    enum assay_round pre_round, post_round;
    uint32_t mid_bits; /* 0: none, 16, 32 */
    int32_t zp;
    int64_t qmin, qmax;
};
int assay_vc_hbm_program(struct assay_arena *arena,
                         const struct assay_vc_hbm *o,
                         struct assay_program *out, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
