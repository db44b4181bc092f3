/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function as eight segments: lines at both ends, interpolated tables in
 * between; the definition (docs/numerics.md, "segment_table").
 *
 * |x| saturates to 2^15 - 1. 64 bits hold everything: |v| <= 2^15, scale and
 * bias are int32 and the shifts 0..31, so that |t| < 2^46 + 2^62; a mix is at
 * most 2^15 * 2^8.
 */
#include "kernels/kernels.h"

#define BLOCK 256
#define LAST (ASSAY_KERNEL_SEGMENTS - 1)
#define ENTRIES 64      /* of an inner segment */
#define FRACTION_BITS 8 /* of a position among them */

static bool supports(const struct assay_segment_table *p)
{
    return (p->x_dtype == ASSAY_S8 || p->x_dtype == ASSAY_S16) &&
           assay_dtype_size(p->y_dtype) != 0;
}

/* The first segment whose bound is not below v; the last one has none. */
static int segment_of(const struct assay_segment_table *p, int64_t v)
{
    int s = 0;
    while (s < LAST && p->segments[s].bound < v)
        s++;
    return s;
}

/* Between entries i and i + 1 of a segment; behind the last one it is flat. */
static int64_t interpolate(const int16_t *entries, int64_t position,
                           enum assay_round round)
{
    int64_t last = (ENTRIES << FRACTION_BITS) - 1;
    int64_t at = position < 0 ? 0 : position > last ? last : position;
    int64_t i = at >> FRACTION_BITS;
    int64_t f = at & ((1 << FRACTION_BITS) - 1);
    int64_t left = entries[i];
    int64_t right = entries[i + 1 < ENTRIES ? i + 1 : ENTRIES - 1];
    int64_t mix = left * ((1 << FRACTION_BITS) - f) + right * f;
    return assay_shr(mix, FRACTION_BITS, round);
}

/* f(v), an int16. */
static int64_t value_of(const struct assay_segment_table *p, int64_t v)
{
    int s = segment_of(p, v);
    int64_t bias = assay_shr(p->segments[s].bias, -p->segments[s].left_shift,
                             ASSAY_ROUND_FLOOR);
    int64_t t = assay_shr(v * p->segments[s].scale + bias,
                          p->segments[s].right_shift, p->round);
    if (s == 0 || s == LAST)
        return assay_sat(t, 16);
    return interpolate(p->table + (s - 1) * ENTRIES, t, p->mix_round);
}

static int64_t element(const struct assay_segment_table *p, int64_t x)
{
    bool mirrors = p->symmetry != ASSAY_SYMMETRY_NONE && x < 0;
    int64_t r = value_of(p, mirrors ? assay_sat(-x, 16) : x);
    if (mirrors && p->symmetry == ASSAY_SYMMETRY_ORIGIN)
        return assay_sat(-r, 16);
    return r;
}

static void run(const struct assay_segment_table *p, const void *x, void *y)
{
    union assay_value v[BLOCK];
    size_t x_size = assay_dtype_size(p->x_dtype);
    size_t y_size = assay_dtype_size(p->y_dtype);
    for (size_t at = 0; at < p->n; at += BLOCK) {
        size_t n = p->n - at < BLOCK ? p->n - at : BLOCK;
        struct assay_block block = {.v = v, .n = n, .channels = 1};
        assay_load_values(p->x_dtype, (const char *)x + at * x_size, v, n);
        for (size_t k = 0; k < n; k++)
            v[k].i = element(p, v[k].i);
        assay_program_run(p->out, &block);
        assay_store_values(p->y_dtype, (char *)y + at * y_size, v, n);
    }
}

const struct assay_segment_table_kernel assay_segment_table__ref = {
    .name = "assay_segment_table__ref",
    .isa = ASSAY_ISA_REF,
    .supports = supports,
    .run = run,
};
