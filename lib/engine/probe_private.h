/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a probe: probe.c asks the others. Private to lib/engine. */
#ifndef ASSAY_ENGINE_PROBE_PRIVATE_H
#define ASSAY_ENGINE_PROBE_PRIVATE_H

#include <stdbool.h>

#include "lib/engine/probe.h"

/* A tail is what lies behind the last multiple of so many channels. */
#define ASSAY_PROBE_LANES 16

/* What a call works on. */
struct assay_probe_ctx {
    struct assay_probe *p;
    const struct assay_slice *one;
    const struct assay_layer *l;
    const struct assay_tensor *x, *y; /* first input, output */
    size_t n;                         /* output elements */
    const void *const *inputs;        /* by tensor; constants: NULL */
    uint32_t cpu_flags;
    struct assay_probe_limits limits;
    struct assay_err *err;
};
const void *assay_probe_bytes(const struct assay_probe_ctx *c, uint32_t tensor);
/* Length of the last axis, 1 for a scalar. */
size_t assay_probe_channels(const struct assay_tensor *t);

/* probe_steps.c: runs a program over values and counts what its steps meet. */
enum assay_probe_branch {
    ASSAY_PROBE_ALL = 0,
    ASSAY_PROBE_UP = 1,   /* only values >= 0 count */
    ASSAY_PROBE_DOWN = 2, /* only the others */
};
struct assay_probe_values {
    enum assay_dtype dtype;
    const void *data; /* n of dtype, dense */
    const int32_t *second;
    size_t n, channels;
    enum assay_probe_branch branch;
};
void assay_probe_values(struct assay_probe *p, unsigned operand,
                        const struct assay_program *program,
                        const struct assay_probe_values *in);
/* What that costs, in about instructions. */
uint64_t assay_probe_values_work(const struct assay_program *program, size_t n);

/* probe_running.c: partial sums of a convolution or gemm, and windows of it
 * that reach into its padding. smallest, largest: elements with these sums. */
void assay_probe_running(struct assay_probe_ctx *c, size_t smallest,
                         size_t largest);

/* probe_pool.c: cells of a pool, and what they cost. */
void assay_probe_pool(struct assay_probe_ctx *c);
uint64_t assay_probe_pool_work(const struct assay_probe_ctx *c);

/* probe_table.c: entries of a table, segments, branches. */
void assay_probe_table(struct assay_probe_ctx *c);

#endif
