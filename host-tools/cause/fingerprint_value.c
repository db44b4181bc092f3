/* SPDX-License-Identifier: Apache-2.0 */
/* By how much the elements differ, wherever they lie. */
#include <math.h>

#include "host-tools/cause/fingerprint_private.h"

/* What rounding makes of a constant difference. */
static double tolerance(const struct assay_fp *f, size_t i, double k)
{
    if (f->is_int)
        return 0.0;
    return 1e-4 * fabs(k) + 1e-6 * fabs(assay_fp_value(f, f->v->got, i));
}

bool assay_fp_shifted(const struct assay_fp *f, struct assay_fingerprint *out)
{
    size_t seen = 0, matched = 0;
    double k = 0.0;

    /* What the free elements have moved by, */
    for (size_t i = 0; i < f->n; i++) {
        double d;

        if (assay_fp_hidden(f, i))
            continue;
        d = assay_fp_diff(f, i);
        if (seen++ == 0)
            k = d;
        if (!(fabs(d - k) <= tolerance(f, i, k)) || k == 0.0)
            return false;
        matched += assay_fp_differs(f, i);
    }
    /* the others have moved by as well. */
    for (size_t i = 0; seen >= 8 && i < f->n; i++)
        if (assay_fp_hidden(f, i) && !assay_fp_may_be_moved(f, i, k))
            return false;
    out->n[0] = f->is_int ? (int64_t)k : 0;
    out->x[0] = k;
    out->matched = matched;
    return seen >= 8 && matched == seen;
}

/* ---- ratio --------------------------------------------------------------- */

double assay_fp_zero(const struct assay_fp *f)
{
    const struct assay_quant *q = &f->v->t->quant;

    return q->n == 1 ? (double)q->zero_point[0] : 0.0;
}

/* Least squares over all elements; 0: none. */
static double ratio_of(const struct assay_fp *f, double zero)
{
    double bb = 0.0, gb = 0.0;

    for (size_t i = 0; i < f->n; i++) {
        double b, g;

        if (assay_fp_hidden(f, i))
            continue;
        b = assay_fp_value(f, f->v->base, i) - zero;
        g = assay_fp_value(f, f->v->got, i) - zero;
        bb += b * b;
        gb += g * b;
    }
    return bb > 0.0 && isfinite(bb) && isfinite(gb) ? gb / bb : 0.0;
}

bool assay_fp_ratio(const struct assay_fp *f, struct assay_fingerprint *out)
{
    struct assay_fingerprint other;
    double zero = assay_fp_zero(f), x = ratio_of(f, zero);
    size_t telling = 0, matched = 0;

    if (x == 0.0 || assay_fp_shifted(f, &other))
        return false;
    for (size_t i = 0; i < f->n; i++) {
        double b = assay_fp_value(f, f->v->base, i) - zero;
        double g = assay_fp_value(f, f->v->got, i) - zero;
        double tol = f->is_int ? 0.5 * fabs(x) + 0.75 : 1e-3 * fabs(x * b);

        if (assay_fp_hidden(f, i))
            continue;
        if (!(fabs(g - x * b) <= tol))
            return false;
        telling += fabs(b * (x - 1.0)) > 2.0 * tol;
        matched += assay_fp_differs(f, i);
    }
    out->x[0] = x;
    out->matched = matched;
    return telling >= 10;
}

/* ---- multiples ----------------------------------------------------------- */

/* Elements that are not requantized: all differences divide by 2^bits. */
static bool exact_multiple(const struct assay_fp *f, unsigned bits)
{
    int64_t mask = (INT64_C(1) << bits) - 1;
    size_t anyway = 0;
    double share;

    if (f->width * 8 <= bits)
        return false;
    for (size_t i = 0; i < f->n; i++) {
        uint64_t b = (uint64_t)assay_fp_integer(f->v->base, f->v->t->dtype, i);
        uint64_t g = (uint64_t)assay_fp_integer(f->v->got, f->v->t->dtype, i);

        anyway += (b & (uint64_t)mask) == 0;
        if (((g - b) & (uint64_t)mask) != 0)
            return false;
    }
    /* Data on a coarse grid differs by steps of it. */
    share = (double)anyway / (double)f->n + ldexp(1.0, -(int)bits);
    return !assay_fp_chance(share, (double)f->differing);
}

bool assay_fp_multiple(const struct assay_fp *f, struct assay_fingerprint *out)
{
    const double step = 65536.0;
    double bits = 0.0;
    size_t matched = 0;

    if (!f->is_int)
        return false;
    for (unsigned k = 32; k >= 16; k -= 16) {
        out->n[0] = k;
        if (exact_multiple(f, k))
            return true;
    }
    if (f->unit == NULL)
        return false;
    for (size_t i = 0; i < f->n; i++) {
        double unit = f->unit[assay_fp_channel(f, i)], acc, off;

        if (!assay_fp_differs(f, i) || assay_fp_hidden(f, i))
            continue;
        acc = assay_fp_diff(f, i) / unit;
        off = fabs(acc - step * round(acc / step));
        if (16.0 / unit > step || round(acc / step) == 0.0 || off > 1.0 / unit)
            return false;
        bits -= log2(2.0 / unit / step);
        matched++;
    }
    out->matched = matched;
    return matched >= 2 && bits >= 20.0;
}

/* ---- rate, sides --------------------------------------------------------- */

bool assay_fp_rate(const struct assay_fp *f, struct assay_fingerprint *out)
{
    double rate = (double)f->differing / (double)f->n, expected, deviation;
    int k = (int)lround(-log2(rate));

    if (!f->is_int || k < 1)
        return false;
    expected = ldexp((double)f->n, -k);
    deviation = sqrt(expected * (1.0 - ldexp(1.0, -k)));
    if (expected < 256.0 ||
        fabs((double)f->differing - expected) > 2.0 * deviation)
        return false;
    for (size_t i = 0; i < f->n; i++)
        if (fabs(assay_fp_diff(f, i)) > 1.0)
            return false;
    out->n[0] = k;
    return true;
}

/* How many are higher; false: some cannot be compared. */
static bool count_sides(const struct assay_fp *f, size_t *higher)
{
    *higher = 0;
    for (size_t i = 0; i < f->n; i++) {
        double d;

        if (!assay_fp_differs(f, i))
            continue;
        d = assay_fp_diff(f, i);
        if (!(fabs(d) > 0.0))
            return false;
        *higher += d > 0.0;
    }
    return true;
}

/*
 * Bits of all being on that side. An element that lies low in its range is
 * rather higher than lower when something else is there, and one at the lower
 * limit cannot be lower.
 */
static double side_bits(const struct assay_fp *f, bool higher)
{
    double bits = 0.0, lo = (double)f->lo, hi = (double)f->hi;

    for (size_t i = 0; i < f->n && bits < 64.0; i++) {
        double b, share = 0.5;

        if (!assay_fp_differs(f, i))
            continue;
        b = assay_fp_value(f, f->v->base, i);
        if (f->is_int)
            share = (higher ? hi - b : b - lo) / (hi - lo);
        bits -= log2(fmin(fmax(share, 0.5), 1.0));
    }
    return bits;
}

bool assay_fp_one_sided(const struct assay_fp *f, struct assay_fingerprint *out)
{
    size_t higher;

    if (!count_sides(f, &higher) || (higher > 0 && higher < f->differing))
        return false;
    out->n[0] = higher > 0 ? 1 : -1;
    /* Either side would have been one. */
    return side_bits(f, higher > 0) >= 21.0;
}

/* Small differences up and down, as rounding otherwise gives. */
bool assay_fp_two_sided(const struct assay_fp *f, struct assay_fingerprint *out)
{
    size_t higher;

    if (!f->is_int || !count_sides(f, &higher) || 4 * higher < f->differing ||
        4 * higher > 3 * f->differing || f->differing < 21)
        return false;
    for (size_t i = 0; i < f->n; i++)
        if (fabs(assay_fp_diff(f, i)) > 2.0)
            return false;
    out->n[0] = 0;
    return true;
}
