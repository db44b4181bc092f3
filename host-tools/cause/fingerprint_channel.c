/* SPDX-License-Identifier: Apache-2.0 */
/* Differences that belong to the channel: a constant, its bias, its weights. */
#include <math.h>
#include <stdlib.h>

#include "host-tools/cause/fingerprint_private.h"

#define SAMPLES 255 /* elements of a channel that its number is of */

struct span {
    double lo, hi;
    size_t n, differing;
};

static bool channel_spans(const struct assay_fp *f, struct span *s)
{
    for (size_t i = 0; i < f->n; i++) {
        struct span *c = &s[assay_fp_channel(f, i)];
        double d = assay_fp_diff(f, i);

        if (isnan(d))
            return false;
        if (assay_fp_hidden(f, i))
            continue;
        if (c->n++ == 0)
            c->lo = c->hi = d;
        c->lo = fmin(c->lo, d);
        c->hi = fmax(c->hi, d);
        c->differing += assay_fp_differs(f, i);
    }
    return true;
}

/* Elements at a limit of channels that differ have moved as the others. */
static bool limits_agree(const struct assay_fp *f, const struct span *s)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct span *c = &s[assay_fp_channel(f, i)];

        if (c->differing > 0 && assay_fp_hidden(f, i) &&
            !assay_fp_may_be_moved(f, i, c->lo) &&
            !assay_fp_may_be_moved(f, i, c->hi))
            return false;
    }
    return true;
}

/*
 * A constant in the accumulator is one number or its neighbour in the output.
 * Neighbours alone (0 and 1) are rounding, and no constant.
 */
static bool spans_are_constant(const struct assay_fp *f, const struct span *s,
                               struct assay_fingerprint *out)
{
    double widest = 0.0, most = 0.0, facts = 0.0, tol;
    size_t matched = 0;

    for (size_t c = 0; c < f->channels; c++)
        most = fmax(most, fmax(fabs(s[c].lo), fabs(s[c].hi)));
    tol = f->is_int ? 1.0 : 1e-4 * most;
    for (size_t c = 0; c < f->channels; c++) {
        if (s[c].differing == 0)
            continue;
        widest = fmax(widest, s[c].hi - s[c].lo);
        matched += s[c].differing;
        facts += (double)(s[c].n - 1);
    }
    if (widest > tol || most == 0.0 || (widest > 0.0 && most < 2.0 * tol) ||
        assay_fp_chance(assay_fp_alike(f, widest), facts))
        return false;
    out->matched = matched;
    return limits_agree(f, s);
}

bool assay_fp_channel_constant(const struct assay_fp *f,
                               struct assay_fingerprint *out)
{
    struct span *s = calloc(f->channels, sizeof(*s));
    bool constant = s != NULL && f->channels > 1 && channel_spans(f, s) &&
                    spans_are_constant(f, s, out);

    free(s);
    return constant;
}

/* ---- in proportion ------------------------------------------------------- */

static int by_value(const void *p, const void *q)
{
    double a = *(const double *)p, b = *(const double *)q;

    return a < b ? -1 : a > b;
}

/* The difference of a channel, and how well it is known. */
struct number {
    double d, tol; /* d NAN: not known */
};

/*
 * The middle of the elements that hide nothing, which borders of an image do
 * not move, known to one LSB; or their mean, which rounding moves by up to half
 * an LSB an element, three deviations of which are allowed.
 */
static struct number number_of(const struct assay_fp *f, size_t c, bool mean)
{
    double v[SAMPLES], sum = 0.0;
    size_t places = f->n / f->channels, step = places / SAMPLES + 1, n = 0;

    for (size_t p = 0; p < places; p += step) {
        size_t i = (p / f->inner * f->channels + c) * f->inner + p % f->inner;

        if (assay_fp_hidden(f, i))
            continue;
        v[n] = assay_fp_diff(f, i);
        sum += v[n];
        if (isnan(v[n++]))
            return (struct number){NAN, 0.0};
    }
    if (n == 0)
        return (struct number){NAN, 0.0};
    if (mean)
        return (struct number){sum / (double)n,
                               fmin(1.0, 1.5 / sqrt((double)n))};
    qsort(v, n, sizeof(v[0]), by_value);
    return (struct number){v[n / 2], 1.0};
}

double assay_fp_channel_difference(const struct assay_fp *f, size_t channel)
{
    return number_of(f, channel, false).d;
}

/* The factor between what is found, d, and what is thought to be behind it. */
static double factor_of(const struct number *v, const double *behind, size_t n)
{
    double bb = 0.0, db = 0.0;

    for (size_t c = 0; c < n; c++) {
        if (isnan(v[c].d))
            continue;
        bb += behind[c] * behind[c];
        db += v[c].d * behind[c];
    }
    return bb > 0.0 && isfinite(bb) && isfinite(db) ? db / bb : 0.0;
}

/* Does every channel lie on the line, with a range that rounding is not? */
static bool on_a_line(const struct assay_fp *f, const struct number *v,
                      const double *behind, double x)
{
    double lo = INFINITY, hi = -INFINITY, widest = 0.0;
    size_t channels = 0, on = 0;

    for (size_t c = 0; c < f->channels; c++) {
        if (isnan(v[c].d))
            continue;
        lo = fmin(lo, v[c].d);
        hi = fmax(hi, v[c].d);
        channels++;
    }
    for (size_t c = 0; c < f->channels; c++) {
        double tol = f->is_int ? v[c].tol : 1e-3 * fmax(fabs(lo), fabs(hi));

        if (isnan(v[c].d))
            continue;
        widest = fmax(widest, tol);
        on += fabs(v[c].d - x * behind[c]) <= tol;
    }
    /* The factor was taken from one of them. */
    return channels >= 3 && x != 0.0 && on == channels &&
           !assay_fp_chance(3.0 * widest / (hi - lo + widest),
                            (double)(channels - 1));
}

/* Elements of got that the line gives, within rounding. */
static size_t count_on_line(const struct assay_fp *f, const double *behind,
                            double x)
{
    size_t n = 0;

    for (size_t i = 0; i < f->n; i++) {
        double want = x * behind[assay_fp_channel(f, i)];
        double tol = f->is_int ? 1.5 : 1e-3 * fabs(want);

        if (assay_fp_differs(f, i) && !assay_fp_hidden(f, i))
            n += fabs(assay_fp_diff(f, i) - want) <= tol;
    }
    return n;
}

/* behind: room for one number a channel. */
static bool line_of(const struct assay_fp *f, const struct number *v,
                    const int64_t *to, double *behind,
                    struct assay_fingerprint *out)
{
    /* In units of the accumulator where these are known. */
    for (int units = f->unit != NULL; units >= 0; units--) {
        double x;

        for (size_t c = 0; c < f->channels; c++)
            behind[c] = (double)to[c] * (units ? f->unit[c] : 1.0);
        x = factor_of(v, behind, f->channels);
        if (!on_a_line(f, v, behind, x))
            continue;
        out->x[0] = x;
        out->n[0] = units;
        out->matched = count_on_line(f, behind, x);
        return 2 * out->matched >= f->differing;
    }
    return false;
}

static bool proportional(const struct assay_fp *f, const int64_t *to,
                         struct assay_fingerprint *out)
{
    struct number *v;
    double *behind;
    bool fits = false;

    if (to == NULL || f->channels < 3)
        return false;
    v = calloc(f->channels, sizeof(*v));
    behind = calloc(f->channels, sizeof(*behind));
    for (int mean = 0; v != NULL && behind != NULL && mean < 2 && !fits;
         mean++) {
        for (size_t c = 0; c < f->channels; c++)
            v[c] = number_of(f, c, mean);
        fits = line_of(f, v, to, behind, out);
    }
    free(v);
    free(behind);
    return fits;
}

bool assay_fp_bias(const struct assay_fp *f, struct assay_fingerprint *out)
{
    return proportional(f, f->bias, out);
}

bool assay_fp_weight_sum(const struct assay_fp *f,
                         struct assay_fingerprint *out)
{
    return proportional(f, f->sum_w, out);
}
