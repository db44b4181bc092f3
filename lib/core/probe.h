/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What inputs exercised in a layer: how far its sums went, where a narrower
 * sum would have wrapped, and which steps of its programs met a tie or an end
 * of their range. Dull data proves little: a layer whose roundings never met a
 * tie is equal under every rule for ties.
 *
 * Plain values, on both sides of the wire; lib/engine/probe.h computes them.
 * Zeroed: nothing was looked at. Any thread.
 */
#ifndef ASSAY_CORE_PROBE_H
#define ASSAY_CORE_PROBE_H

#include <stddef.h>
#include <stdint.h>

#define ASSAY_PROBE_STEPS 48 /* 4 programs of 12 steps */
#define ASSAY_PROBE_ENTRIES 256

/* What a step can meet: bits of assay_probe_step.can. */
enum assay_probe_can {
    ASSAY_PROBE_TIES = 1, /* it rounds to the nearest: values between two */
    ASSAY_PROBE_LOW = 2,  /* it clamps, saturates or wraps: values below */
    ASSAY_PROBE_HIGH = 4, /* above */
    ASSAY_PROBE_LEFT = 8, /* in some channel it shifts to the left */
};
#define ASSAY_PROBE_CAN_ALL 15

/* A step that rounds, bounds or shifts left, over all values so far. */
struct assay_probe_step {
    uint8_t operand; /* 0: out_program; else in_programs[operand - 1] */
    uint8_t step;    /* its index there */
    uint8_t can;     /* enum assay_probe_can, or-ed */
    uint64_t ties, low, high; /* values that met it */
    uint64_t left;            /* values other than 0 that went to the left */
};

enum assay_probe_fact {
#define ASSAY_PROBE_FACT(name, number, key) ASSAY_PROBE_##name = number,
#include "lib/core/probe.def"
#undef ASSAY_PROBE_FACT
};
#define ASSAY_PROBE_FACTS 6

/* Would a sum of so many bits have left its range on the way? */
enum assay_probe_width {
    ASSAY_PROBE_UNKNOWN = 0, /* not asked of this layer, or not looked at */
    ASSAY_PROBE_FITS = 1,
    ASSAY_PROBE_LEAVES = 2,
};

/*
 * Partial sums are those of the products of stored values, zero points not
 * subtracted and bias left out, in stored order: of a convolution tap by tap,
 * channels innermost; of an average pool its cells in raster order.
 */
enum assay_probe_sum {
    ASSAY_PROBE_RUNNING_16 = 0, /* the sum after each product, in 16 bits */
    ASSAY_PROBE_RUNNING_32 = 1,
    ASSAY_PROBE_PAIRS_16 = 2, /* of products 0 and 1, 2 and 3, ... alone */
};
#define ASSAY_PROBE_SUMS 3

struct assay_probe {
    uint64_t values;  /* output elements; 0: nothing was looked at */
    uint64_t work;    /* what it cost, in about instructions */
    uint8_t has_sums; /* 1: the layer sums integers: */
    int64_t min, max; /* of these sums, bias included, before any wrap */
    uint8_t sums[ASSAY_PROBE_SUMS]; /* enum assay_probe_width */
    uint32_t facts;                 /* bit f: the layer has fact f */
    uint64_t fact[ASSAY_PROBE_FACTS];
    /* A table's entries, or its segments: 256, 8 or 0; bit i: entry i read. */
    uint32_t n_entries;
    uint8_t entries[ASSAY_PROBE_ENTRIES / 8];
    uint32_t n_steps; /* in the order in which they were first met */
    struct assay_probe_step steps[ASSAY_PROBE_STEPS];
};

/* The step's record, appended where it is new; NULL: no room. */
struct assay_probe_step *assay_probe_step(struct assay_probe *p,
                                          unsigned operand, unsigned step);
/* Adds what another input reached in the same layer. */
void assay_probe_merge(struct assay_probe *into,
                       const struct assay_probe *from);

/* By how many bits the sums could grow and still fit into `bits` (2..64)
 * signed bits; negative: they do not fit by so many. */
int assay_probe_headroom(const struct assay_probe *p, unsigned bits);

/* Entries that were read, and the first and last of them (0, 0: none). */
uint32_t assay_probe_entries(const struct assay_probe *p, uint32_t *first,
                             uint32_t *last);
/* The name of the first field that is not as it has to be; NULL: all are. */
const char *assay_probe_bad_field(const struct assay_probe *p);
const char *assay_probe_fact_key(enum assay_probe_fact fact); /* "?" */

#endif
