/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an input exercised in a layer: how far its accumulators went, and which
 * steps of its programs met a tie or an end of their range. Dull data proves
 * little: a layer whose roundings never met a tie is equal under every rule
 * for ties. Computed by the engine on given inputs. Pure; one thread.
 */
#ifndef ASSAY_CAUSE_PROBE_H
#define ASSAY_CAUSE_PROBE_H

#include "lib/core/slice.h"

#define ASSAY_PROBE_STEPS (4 * ASSAY_MAX_STEPS)

/* A step that rounds or bounds, over all values so far. */
struct assay_probe_step {
    uint8_t operand; /* 0: out_program; else in_programs[operand - 1] */
    uint8_t step;    /* its index there */
    bool rounds;     /* to the nearest: a value may lie just between two */
    bool from, to;   /* clamps, saturates, wraps: has a lower, an upper end */
    uint64_t ties;   /* values that did */
    uint64_t low, high; /* values that were below, above */
};

struct assay_probe {
    uint64_t values;  /* output elements; 0: nothing was looked at */
    bool has_sums;    /* the layer sums integer products */
    int64_t min, max; /* of these sums, bias included, before any wrap */
    uint32_t n_steps; /* that round or bound, in execution order */
    struct assay_probe_step steps[ASSAY_PROBE_STEPS];
};

/*
 * Adds one input: `one` is assay_slice_single() of the layer, inputs[t] its
 * distinct inputs (constants: NULL). p is zeroed before the first one. 1: a
 * layer without steps, or one whose values cannot be had: p is as before.
 */
int assay_probe_layer(struct assay_probe *p, const struct assay_slice *one,
                      const void *const *inputs, uint32_t cpu_flags,
                      struct assay_err *err) ASSAY_MUST_CHECK;

/* By how many bits the sums could grow and still fit into `bits` (2..64)
 * signed bits; negative: they do not fit by so many. */
int assay_probe_headroom(const struct assay_probe *p, unsigned bits);

#endif
