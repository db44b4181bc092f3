/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Free numbers of an edit, from what the elements allow: the number
 * that padding holds moves an element's accumulator by K a step, and the
 * program is monotone, so each element leaves an interval of numbers.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/cause/edit_pad.h"
#include "host-tools/cause/search_private.h"
#include "kernels/requant.h"

#define MOST_ASKED 4096 /* elements that narrow the numbers, of a variant */

/* The numbers lo..hi that are left; taps are those of a variant. */
struct guess {
    const struct assay_search_ctx *x;
    uint32_t variant;
    int64_t zero; /* what the padding holds without the edit */
    int64_t lo, hi;
};

/* Numbers that are likelier than others, the likeliest first. */
static const int64_t plain[] = {0, 128, -128, 255, 127, 1};

/* What the layer gives for an element whose accumulator is moved. */
static int64_t output_at(const struct assay_search_ctx *x, size_t sample,
                         size_t e, int64_t moved)
{
    const struct assay_layer *l = x->layer;
    const struct assay_sums *sums = &x->sums[sample];
    const int32_t *bias =
        assay_layer_has_bias(l) ? x->s->one->tensors[l->inputs[2]].data : NULL;
    size_t channel = e % x->channels;
    union assay_value v = {.i = sums->sum[e] + moved +
                                (bias ? bias[channel] : 0)};
    const struct assay_block block = {.v = &v,
                                      .n = 1,
                                      .channel = channel,
                                      .channels = x->channels,
                                      .second = sums->second ? sums->second + e
                                                             : NULL};

    if (x->wraps)
        v.i = (int32_t)(uint32_t)v.i;
    assay_program_run(&l->out_program, &block);
    return v.i;
}

static int64_t got_at(const struct assay_search_ctx *x, size_t sample, size_t e)
{
    const uint8_t *got = x->s->samples[sample].got;
    union assay_value v;

    assay_load_values(x->output->dtype, got + e * x->width, &v, 1);
    return v.i;
}

/* ---- sums of products -------------------------------------------------------- */

/* The least number in lo..hi + 1 from which the output is no longer below
 * (or_equal: no longer at or below) what was got; for falling ones, above. */
static int64_t edge(const struct guess *g, size_t sample, size_t e, int64_t k,
                    bool or_equal)
{
    int64_t got = got_at(g->x, sample, e), lo = g->lo, hi = g->hi;

    while (lo <= hi) {
        int64_t mid = lo + (hi - lo) / 2;
        int64_t out = output_at(g->x, sample, e, (mid - g->zero) * k);
        bool below = k > 0 ? out < got : out > got;

        if (below || (or_equal && out == got))
            lo = mid + 1;
        else
            hi = mid - 1;
    }
    return lo;
}

/* Both ends give what was got, and so does all between them. */
static bool allows_all(const struct guess *g, size_t sample, size_t e,
                       int64_t k)
{
    int64_t got = got_at(g->x, sample, e);

    return output_at(g->x, sample, e, (g->lo - g->zero) * k) == got &&
           output_at(g->x, sample, e, (g->hi - g->zero) * k) == got;
}

/* False: no number is left. */
static bool ask(struct guess *g, size_t sample, size_t e)
{
    int64_t k = assay_pad_taps(g->x->s->one, 0, g->variant, e), from;

    if (k == 0) /* it may not differ without a tap in the padding */
        return !assay_judge_differs(g->x, sample, e);
    if (allows_all(g, sample, e, k))
        return true;
    from = edge(g, sample, e, k, false);
    g->hi = edge(g, sample, e, k, true) - 1;
    g->lo = from;
    return g->lo <= g->hi;
}

/* All that has a tap there, in all samples: what is equal allows no number
 * either under which it would differ. */
static bool ask_others(struct guess *g)
{
    const struct assay_search_ctx *x = g->x;
    size_t left = MOST_ASKED;

    for (size_t at = 0; at < x->n && left > 0; at += x->channels) {
        if (!assay_pad_touches(x->s->one, 0, g->variant, at))
            continue;
        for (size_t s = 0; s < x->s->n_samples; s++)
            for (size_t c = 0; c < x->channels && left > 0; c++, left--)
                if (!ask(g, s, at + c))
                    return false;
    }
    return true;
}

/* Where no number is right for all, it may be for a part of the layer. */
static bool narrow(struct guess *g)
{
    const struct assay_search_ctx *x = g->x;
    struct guess all;

    for (size_t i = 0; i < x->n_first_differing; i++)
        if (!ask(g, x->worst, x->first[i]))
            return false;
    all = *g;
    if (ask_others(&all))
        *g = all;
    return x->n_first_differing > 0;
}

/* Where the program does not rise with the accumulator (it wraps): the first
 * number in lo..hi that gives all, one by one. */
static bool scan(struct guess *g)
{
    const struct assay_search_ctx *x = g->x;
    int64_t taps[ASSAY_FIRST_ELEMENTS];

    for (size_t i = 0; i < x->n_first_differing; i++) {
        taps[i] = assay_pad_taps(x->s->one, 0, g->variant, x->first[i]);
        if (taps[i] == 0)
            return false;
    }
    for (; g->lo <= g->hi; g->lo++) {
        size_t i = 0;

        while (
            i < x->n_first_differing &&
            output_at(x, x->worst, x->first[i], (g->lo - g->zero) * taps[i]) ==
                got_at(x, x->worst, x->first[i]))
            i++;
        if (i == x->n_first_differing)
            return true;
    }
    return false;
}

static void one_value(struct assay_solution *out, int64_t v)
{
    out->values[0] = out->lo = out->hi = v;
    out->n = 1;
}

/* The plainest of the numbers that are left, within the input's type or, of 8
 * bits, next to it. */
static void plainest(const struct guess *g, int64_t lo, int64_t hi,
                     struct assay_solution *out)
{
    out->lo = g->lo;
    out->hi = g->hi;
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        if (plain[i] >= g->lo && plain[i] <= g->hi &&
            out->n < ASSAY_SOLUTIONS - 1)
            out->values[out->n++] = plain[i];
    if (out->n == 0)
        out->values[out->n++] = g->lo > hi   ? g->lo
                                : g->hi < lo ? g->hi
                                : g->lo > lo ? g->lo
                                             : lo;
}

static void solve_sum(const struct assay_search_ctx *x, uint32_t variant,
                      struct assay_solution *out)
{
    const struct assay_tensor *in = &x->s->one->tensors[x->layer->inputs[0]];
    struct guess g = {.x = x,
                      .variant = variant,
                      .zero = in->quant.n > 0 ? in->quant.zero_point[0] : 0};
    /* Of 8 bits: padded in 16 where no number of the type does it. */
    unsigned ranges = assay_dtype_bytes(in->dtype) == 1 ? 2 : 1;
    int64_t lo, hi;

    assay_dtype_range(in->dtype, &lo, &hi);
    for (unsigned wide = 0; wide < ranges; wide++) {
        g.lo = wide ? INT16_MIN : lo;
        g.hi = wide ? INT16_MAX : hi;
        if (narrow(&g)) {
            plainest(&g, lo, hi, out);
            return;
        }
    }
    for (unsigned wide = 0; wide < ranges; wide++) {
        g.lo = wide ? INT16_MIN : lo;
        g.hi = wide ? INT16_MAX : hi;
        if (scan(&g)) {
            one_value(out, g.lo);
            return;
        }
    }
}

/* ---- layers that are no sums ------------------------------------------------- */

/* How many of the differing elements the edit leaves too low, too high. */
static int compare(const struct assay_search_ctx *x, const struct assay_edit *e,
                   size_t *low, size_t *high, struct assay_err *err)
{
    struct assay_candidate c;
    int rc = assay_candidate_open(&c, x, e, 1, err);

    *low = *high = 0;
    if (rc)
        return rc;
    rc = assay_candidate_run(x, &c, x->worst, err);
    assay_candidate_close(&c);
    for (size_t i = 0; i < x->n_first_differing && !rc; i++) {
        union assay_value v;

        assay_load_values(x->output->dtype, x->result + x->first[i] * x->width,
                          &v, 1);
        *low += v.i < got_at(x, x->worst, x->first[i]);
        *high += v.i > got_at(x, x->worst, x->first[i]);
    }
    return rc;
}

/* Of a pool, which rises with the number: the least one with none too low. */
static int solve_pool(const struct assay_search_ctx *x,
                      const struct assay_edit *e, int64_t lo, int64_t hi,
                      struct assay_solution *out, struct assay_err *err)
{
    struct assay_edit trial = *e;
    size_t low = 1, high = 0;
    int rc = 0;

    while (lo <= hi && (low > 0 || high > 0) && !rc) {
        trial.value = lo + (hi - lo) / 2;
        rc = compare(x, &trial, &low, &high, err);
        if (low > 0 && high > 0)
            return rc;
        if (low > 0)
            lo = trial.value + 1;
        else
            hi = trial.value - 1;
    }
    if (!rc && low == 0 && high == 0)
        one_value(out, trial.value);
    return rc;
}

/* ---- segments ---------------------------------------------------------------- */

#define STEPS 4 /* of the search for a number */

static double value_at(const struct assay_search_ctx *x, const void *bytes,
                       size_t e)
{
    union assay_value v;

    assay_load_values(x->output->dtype, (const uint8_t *)bytes + e * x->width,
                      &v, 1);
    return x->output->dtype == ASSAY_F32 ? (double)v.f : (double)v.i;
}

static int by_value(const void *p, const void *q)
{
    double a = *(const double *)p, b = *(const double *)q;

    return (a > b) - (a < b);
}

/* Where the line through what two numbers give meets what was got: the median
 * of the differing elements. y0, y1: what v0 and v1 give. */
static bool crossing(const struct assay_search_ctx *x, const double *y0,
                     const double *y1, int64_t v0, int64_t v1, double *out)
{
    double at[ASSAY_FIRST_ELEMENTS];
    size_t n = 0;

    for (size_t i = 0; i < x->n_first_differing; i++) {
        double got = value_at(x, x->s->samples[x->worst].got, x->first[i]);

        if (y1[i] != y0[i])
            at[n++] = (double)v0 +
                      (got - y0[i]) / (y1[i] - y0[i]) * (double)(v1 - v0);
    }
    if (n == 0)
        return false;
    qsort(at, n, sizeof(*at), by_value);
    *out = at[n / 2];
    return true;
}

/* What the first differing elements are with that number. */
static int values_with(const struct assay_search_ctx *x,
                       const struct assay_edit *e, int64_t v, double *y,
                       bool *all, struct assay_err *err)
{
    const uint8_t *got = x->s->samples[x->worst].got;
    struct assay_edit trial = *e;
    struct assay_candidate c;
    int rc;

    trial.value = v;
    *all = true;
    rc = assay_candidate_open(&c, x, &trial, 1, err);
    if (rc)
        return rc;
    rc = assay_candidate_run(x, &c, x->worst, err);
    assay_candidate_close(&c);
    for (size_t i = 0; i < x->n_first_differing && !rc; i++) {
        size_t at = x->first[i] * x->width;

        y[i] = value_at(x, x->result, x->first[i]);
        *all = *all && memcmp(x->result + at, got + at, x->width) == 0;
    }
    return rc;
}

/* What stands behind the layer is not known to rise, but to be a line or near
 * to one: a few steps of the secant. */
static int solve_segment(const struct assay_search_ctx *x,
                         const struct assay_edit *e, int64_t zero,
                         struct assay_solution *out, struct assay_err *err)
{
    double y0[ASSAY_FIRST_ELEMENTS], y1[ASSAY_FIRST_ELEMENTS], at;
    int64_t v0 = zero, v1 = zero + 64;
    bool all;
    int rc = 0;

    for (size_t i = 0; i < x->n_first_differing; i++)
        y0[i] = value_at(x, x->s->samples[x->worst].base, x->first[i]);
    for (unsigned step = 0; step < STEPS && !rc; step++) {
        rc = values_with(x, e, v1, y1, &all, err);
        if (rc == 0 && all)
            one_value(out, v1);
        if (rc || all || !crossing(x, y0, y1, v0, v1, &at) ||
            !(fabs(at) < INT16_MAX))
            break;
        memcpy(y0, y1, sizeof(y0));
        v0 = v1;
        v1 = (int64_t)llround(at);
        if (v1 == v0 || v1 == zero)
            break;
    }
    return rc;
}

int assay_solve(const struct assay_search_ctx *x, const struct assay_edit *e,
                struct assay_solution *out, struct assay_err *err)
{
    const struct assay_tensor *in = &x->s->one->tensors[x->layer->inputs[0]];
    int64_t zero = in->quant.n > 0 ? in->quant.zero_point[0] : 0, lo, hi;

    out->n = 0;
    assay_dtype_range(in->dtype, &lo, &hi);
    if (x->s->edited == ASSAY_EVERY_LAYER) {
        /* Faults behind each other: no line leads to the number. */
        while (out->n < ASSAY_SOLUTIONS) {
            out->values[out->n] = plain[out->n];
            out->n++;
        }
        out->lo = out->hi = plain[0];
        return 0;
    }
    if (assay_suspect_is_segment(x->s))
        return solve_segment(x, e, zero, out, err);
    if (x->layer->op == ASSAY_OP_POOL && assay_dtype_is_int(x->output->dtype))
        return solve_pool(x, e, lo, hi, out, err);
    if (x->sums && x->layer->op == ASSAY_OP_CONV2D &&
        assay_dtype_is_int(x->output->dtype))
        solve_sum(x, e->variant, out);
    return 0;
}
