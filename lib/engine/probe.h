/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes what one input exercised in one layer (lib/core/probe.h), by the
 * engine on given inputs: the same numbers on a board and on the host. Sums
 * come from the layer's own kernel, everything else from plain C. Pure, but for
 * memory that is had and freed inside; any thread.
 */
#ifndef ASSAY_ENGINE_PROBE_H
#define ASSAY_ENGINE_PROBE_H

#include "lib/core/probe.h"
#include "lib/core/slice.h"

struct assay_probe_limits {
    uint64_t work; /* about instructions of a board; UINT64_MAX: no limit */
    size_t memory; /* bytes at once; SIZE_MAX: no limit */
};

/* What a call may say besides 0 and a negative ASSAY_E*. */
enum assay_probe_answer {
    ASSAY_PROBE_DONE = 0,
    ASSAY_PROBE_NOTHING = 1,  /* no steps, no sums, or values not to be had */
    ASSAY_PROBE_TOO_MUCH = 2, /* beyond a limit: nothing was done */
};

/*
 * One input into *p, which is overwritten: `one` is assay_slice_single() of the
 * layer, inputs[t] its distinct inputs (constants: NULL). p->work is at most
 * the limit; it depends on slice and input only. Partial sums are looked at as
 * far as the rest of the limit goes. Other answers than 0: *p is zeroed.
 */
int assay_probe_layer(struct assay_probe *p, const struct assay_slice *one,
                      const void *const *inputs, uint32_t cpu_flags,
                      const struct assay_probe_limits *limits,
                      struct assay_err *err) ASSAY_MUST_CHECK;

#endif
