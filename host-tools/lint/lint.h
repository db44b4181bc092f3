/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Static findings on a slice: what its constants, scales and programs say
 * before anything runs. Pure: no files, no engine run. Worst cases are over
 * every value of a dtype, not over data: a bound that is kept cannot be left,
 * a bound that is left need not be reached. One thread.
 */
#ifndef ASSAY_LINT_LINT_H
#define ASSAY_LINT_LINT_H

#include "host-tools/vendor/vendor.h"
#include "lib/core/slice.h"

struct assay_lint_options {
    /* Text of model_check_result.txt (docs/horizon.md), with a NUL behind;
     * NULL: dtypes are not compared. */
    const char *dtypes;
    const char *dtypes_file; /* its name for the findings */
    /* One a tensor: its scale was given, not derived from multipliers. NULL:
     * all were. */
    const bool *scale_given;
};

/* The table of checks; NULL behind the last. */
struct assay_lint_check {
    const char *id;
    enum assay_severity worst;
    const char *text;
};
const struct assay_lint_check *assay_lint_check(unsigned i);

/*
 * Findings sorted by severity (contradictions first), then in the order of the
 * model; `subject` is the layer, or the tensor where none computes it. The
 * slice has its programs and a plan accepts it. `out` is zeroed before; freed by
 * assay_findings_free(), also after a failure. ASSAY_EFORMAT: `dtypes` is no
 * table with names and dtypes; ASSAY_EMEMORY.
 */
int assay_lint(struct assay_findings *out, const struct assay_slice *s,
               const struct assay_lint_options *o, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
