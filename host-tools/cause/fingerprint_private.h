/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of assay_fingerprint: what all kinds look at, and the kinds, each
 * a pure function that is true when it may be said. They fill n, x and
 * matched; kind and differing are filled for them.
 */
#ifndef ASSAY_CAUSE_FINGERPRINT_PRIVATE_H
#define ASSAY_CAUSE_FINGERPRINT_PRIVATE_H

#include <string.h>

#include "host-tools/cause/fingerprint.h"

struct assay_fp {
    const struct assay_fingerprint_view *v;
    size_t n, width, differing; /* elements, bytes of one, elements */
    bool is_int;
    int axis_c, axis_h, axis_w; /* -1: none */
    size_t channels, inner;     /* channel of i: i / inner % channels */
    int64_t lo, hi;             /* limits of integers */
    /* By channel, or NULL: in units of the accumulator; and how many units of
     * the output one of them is, Sx * Sw / Sy. */
    const int64_t *bias, *sum_w;
    const double *unit;
};

typedef bool assay_fp_fn(const struct assay_fp *f,
                         struct assay_fingerprint *out);
/* fingerprint_place.c */
assay_fp_fn assay_fp_edge_ring, assay_fp_tail_channels, assay_fp_every_nth,
    assay_fp_concat_block;
/* fingerprint_limit.c */
assay_fp_fn assay_fp_clamp_limits, assay_fp_saturated, assay_fp_negative_sum;
/* fingerprint_value.c */
assay_fp_fn assay_fp_shifted, assay_fp_ratio, assay_fp_multiple, assay_fp_rate,
    assay_fp_one_sided, assay_fp_two_sided;
/* fingerprint_channel.c */
assay_fp_fn assay_fp_channel_constant, assay_fp_bias, assay_fp_weight_sum;
/* fingerprint_ratio.c */
assay_fp_fn assay_fp_channel_ratio;
/* fingerprint_input.c */
assay_fp_fn assay_fp_input_function, assay_fp_half_pixel;

/* fingerprint.c: what a view is for the functions; no constants yet. */
void assay_fp_open(struct assay_fp *f, const struct assay_fingerprint_view *v);
/* fingerprint_channel.c: got - base of a channel, NAN: not known. */
double assay_fp_channel_difference(const struct assay_fp *f, size_t channel);
/* fingerprint_value.c: the zero point that a ratio is taken from. */
double assay_fp_zero(const struct assay_fp *f);

/* Would `facts` elements that have nothing to do with each other do what a
 * share of all elements does? */
bool assay_fp_chance(double share, double facts);
/* How often two elements drawn anywhere differ from base alike, within tol. */
double assay_fp_alike(const struct assay_fp *f, double tol);

/* Would an element at a limit, moved by k, be what it is? A base at a limit may
 * stand for anything beyond it. */
bool assay_fp_may_be_moved(const struct assay_fp *f, size_t i, double k);

/* fingerprint_constants.c: bias, sum_w and unit of f from the constants of
 * its slice, where they are not given; freed by the other. */
struct assay_fp_constants {
    int64_t *bias, *sum_w;
    double *unit;
};
void assay_fp_constants_open(struct assay_fp_constants *k, struct assay_fp *f);
void assay_fp_constants_close(struct assay_fp_constants *k);

/* Element i of a tensor. */
int64_t assay_fp_integer(const void *p, enum assay_dtype dtype, size_t i);
static inline double assay_fp_value(const struct assay_fp *f, const void *p,
                                    size_t i)
{
    float v;

    if (f->is_int)
        return (double)assay_fp_integer(p, f->v->t->dtype, i);
    memcpy(&v, (const uint8_t *)p + i * sizeof(v), sizeof(v));
    return (double)v;
}

static inline double assay_fp_diff(const struct assay_fp *f, size_t i)
{
    return assay_fp_value(f, f->v->got, i) - assay_fp_value(f, f->v->base, i);
}

static inline bool assay_fp_differs(const struct assay_fp *f, size_t i)
{
    return memcmp((const uint8_t *)f->v->base + i * f->width,
                  (const uint8_t *)f->v->got + i * f->width, f->width) != 0;
}

static inline bool assay_fp_is_limit(const struct assay_fp *f, const void *p,
                                     size_t i)
{
    int64_t v;

    if (!f->is_int)
        return false;
    v = assay_fp_integer(p, f->v->t->dtype, i);
    return v <= f->lo || v >= f->hi;
}

/* Does base or got lie at a limit, so that a number is hidden? */
static inline bool assay_fp_hidden(const struct assay_fp *f, size_t i)
{
    return assay_fp_is_limit(f, f->v->base, i) ||
           assay_fp_is_limit(f, f->v->got, i);
}

static inline size_t assay_fp_channel(const struct assay_fp *f, size_t i)
{
    return i / f->inner % f->channels;
}

/* Index of an element along an axis. */
static inline int64_t assay_fp_along(const struct assay_fp *f, size_t i,
                                     int axis)
{
    const struct assay_tensor *t = f->v->t;

    for (int a = (int)t->rank - 1; a > axis; a--)
        i /= (size_t)t->dims[a];
    return (int64_t)(i % (size_t)t->dims[axis]);
}

#endif
