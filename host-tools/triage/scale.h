/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One scale and zero point for a tensor's integers: from the user, from the
 * remarks of the stage's npz, or from the vendor's table. One thread.
 */
#ifndef ASSAY_TRIAGE_SCALE_H
#define ASSAY_TRIAGE_SCALE_H

#include "host-tools/triage/compare.h"
#include "host-tools/triage/stage.h"

struct assay_scale_row {
    const char *name;
    struct assay_pair_scale q;
};
struct assay_scale_rows {
    uint32_t n, cap;
    struct assay_scale_row *v; /* in the arena */
};

struct assay_triage_scales {
    struct assay_arena *arena; /* borrowed */
    struct assay_scale_rows user, stage[ASSAY_STAGE_COUNT], vendor;
};

/* ASSAY_ERANGE for a scale that is not above 0 and finite. */
int assay_scale_add(struct assay_triage_scales *s,
                    struct assay_scale_rows *rows, const char *name,
                    double scale, int32_t zero, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* "NAME=SCALE" or "NAME=SCALE,ZERO_POINT" of the command line. */
int assay_scale_parse(struct assay_triage_scales *s, const char *text,
                      struct assay_err *err) ASSAY_MUST_CHECK;
/* {"scales": {name: number | [number] | {"scale":, "zero_point":}}} of the
 * remarks; what is given for channels is passed over. Text that is no JSON, or
 * has no such key, gives nothing. */
int assay_scale_meta(struct assay_triage_scales *s, enum assay_stage stage,
                     const char *meta, const char *file, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* scale 0: nobody knows. */
struct assay_pair_scale assay_scale_of(const struct assay_triage_scales *s,
                                       enum assay_stage stage,
                                       const char *name);

/* Are these names of one tensor? '/' is '.', one in front is none, and "#0"
 * behind is the first use of a module. */
bool assay_tensor_same_name(const char *a, const char *b);

#endif
