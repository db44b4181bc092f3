/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves a requantization program: its form, the kind of the value at every
 * step, and, by interval arithmetic, that no step leaves 64 bits and that the
 * result fits the type it is stored in. Every step is monotone in its value,
 * so intervals are followed by their two ends; integers in 128 bits.
 *
 * Pure functions, any thread. `what` names the field: "out_program".
 * Sentences have no layer in front; the caller adds it.
 */
#ifndef ASSAY_ENGINE_RANGE_H
#define ASSAY_ENGINE_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/program.h"
#include "lib/core/err.h"

enum assay_value_kind {
    ASSAY_VALUE_INT = 0,
    ASSAY_VALUE_F32 = 1,
    ASSAY_VALUE_F64 = 2,
};

/* All values that may stand at one point of a program, both ends included. */
struct assay_interval {
    enum assay_value_kind kind;
    int64_t lo, hi;    /* INT */
    double f_lo, f_hi; /* F32, F64: of that width; may be infinite */
    bool nan;          /* F32, F64: may be a NaN */
};

struct assay_interval assay_interval_int(int64_t lo, int64_t hi);
/* Every value of a dtype; floats may be anything. */
struct assay_interval assay_interval_of(enum assay_dtype dtype);

/*
 * The form: known kinds, rounds, widths; operands that are there, 1 or
 * `channels` of them; shifts in range; finite float operands; bounds in
 * order; and kinds of values that follow each other, from `kind` on.
 * add_input is refused unless has_second.
 */
int assay_program_check(const struct assay_program *p, size_t channels,
                        enum assay_value_kind kind, bool has_second,
                        const char *what, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* Does any step have an operand for each channel? */
bool assay_program_per_channel(const struct assay_program *p);

/* Follows *v through a checked program in one channel. */
int assay_program_range(const struct assay_program *p, size_t channel,
                        const struct assay_interval *second,
                        struct assay_interval *v, const char *what,
                        struct assay_err *err) ASSAY_MUST_CHECK;
/* Does it join two integers (else two binary32)? */
bool assay_combine_is_int(enum assay_combine how);
/* *a becomes the interval of a combined with b. */
int assay_combine_range(enum assay_combine how, float k,
                        struct assay_interval *a,
                        const struct assay_interval *b, struct assay_err *err)
    ASSAY_MUST_CHECK;
/* A result in `v` can be stored as dtype. */
int assay_interval_fits(const struct assay_interval *v, enum assay_dtype dtype,
                        size_t channel, const char *what, struct assay_err *err)
    ASSAY_MUST_CHECK;

#endif
