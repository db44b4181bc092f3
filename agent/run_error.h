/* SPDX-License-Identifier: Apache-2.0 */
/* What a client is told of a run that ended early. Loop thread only. */
#ifndef ASSAY_AGENT_RUN_ERROR_H
#define ASSAY_AGENT_RUN_ERROR_H

#include "agent/ring.h"
#include "lib/core/slice.h"
#include "proto/codec.h"

struct assay_run_error {
    int reason; /* why the worker was killed: ASSAY_E*; 0: it died */
    int status; /* of waitpid */
    uint64_t layer_ms, stall_ms; /* the deadlines */
    struct assay_status_page *page;
    const struct assay_slice *slice;
    uint64_t run_ms; /* the deadline of the run, where that is the reason */
};

/* Fills *err and *out; texts of *out are err's and, for the kernel, valid
 * until the next call. */
void assay_run_error_tell(const struct assay_run_error *r,
                          struct assay_err *err, struct assay_msg_error *out);

#endif
