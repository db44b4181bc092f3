/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does this CPU compute what the kernels say? Every kernel that may run here
 * is run on built-in slices, and its results are compared with built-in
 * digests that another program made; and a piece of memory is written and
 * read. Blocks until it is done, some milliseconds; may crash where a kernel
 * does, so callers run it in a process of its own. One thread.
 */
#ifndef ASSAY_ENGINE_SELFTEST_H
#define ASSAY_ENGINE_SELFTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

struct assay_selftest_result {
    const char *kernel; /* its symbol, static */
    enum assay_isa isa;
    const char *slice; /* what it was run on */
    bool good;
    const char *why; /* a sentence where it is not; "" */
};

struct assay_selftest_events {
    void *self;
    /* Before a kernel runs: who dies after this died of it. May be NULL. */
    void (*begin)(void *self, const char *kernel, const char *slice);
    /* Of each kernel at least one. */
    void (*result)(void *self, const struct assay_selftest_result *r);
};

/* All registered kernels of the rungs in `flags`, the scalar ones first. */
void assay_selftest_kernels(uint32_t flags,
                            const struct assay_selftest_events *events);

/* ---- memory ---------------------------------------------------------------- */

/* Each word its own address; the same inverted; one bit that walks. */
#define ASSAY_SELFTEST_PATTERNS 3

struct assay_selftest_fault {
    size_t offset; /* bytes from the begin */
    uint64_t wanted, found;
};

/* `words` words of memory that is the caller's. */
void assay_selftest_fill(uint64_t *memory, size_t words, unsigned pattern);
/* false: *fault is the first word that does not hold what was written. */
bool assay_selftest_check(const uint64_t *memory, size_t words,
                          unsigned pattern, struct assay_selftest_fault *fault);

#endif
