/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in slices of the self-test, each small, their inputs and constants
 * drawn from a generator that begins with the slice's name. Together their
 * layers reach every slot of the kernel table but `program`, which belongs to
 * no operator. What they have to give stands in selftest.def, which
 * tests/support/selftest_goldens.py computes without this code.
 * Private to lib/engine.
 */
#ifndef ASSAY_ENGINE_SELFTEST_SLICES_H
#define ASSAY_ENGINE_SELFTEST_SLICES_H

#include "lib/core/err.h"
#include "lib/core/slice.h"

#define ASSAY_SELFTEST_TENSORS 32

struct assay_selftest_slice {
    struct assay_slice *slice;
    const void *data[ASSAY_SELFTEST_TENSORS]; /* by tensor; inputs only */
    /* Results are float C: their last 8 bits are rounded away before they are
     * compared. */
    bool coarse;
};

/* NULL: there is no such slice. */
const char *assay_selftest_slice_name(unsigned k);
/* The first half of a SHA-256 over the outputs of all layers, as hex. */
const char *assay_selftest_slice_golden(unsigned k);
/* Builds number k; close it. */
int assay_selftest_slice_open(struct assay_selftest_slice *out, unsigned k,
                              struct assay_err *err) ASSAY_MUST_CHECK;
void assay_selftest_slice_close(struct assay_selftest_slice *s);

/* The generator, for what is no slice: numbers in lo..hi. */
struct assay_selftest_draw {
    uint64_t state;
};
void assay_selftest_draw_begin(struct assay_selftest_draw *d, const char *name,
                               unsigned number);
int64_t assay_selftest_draw_next(struct assay_selftest_draw *d, int64_t lo,
                                 int64_t hi);

#endif
