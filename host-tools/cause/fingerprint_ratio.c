/* SPDX-License-Identifier: Apache-2.0 */
/* Channels that are stretched, each by a number of its own. */
#include <math.h>
#include <stdlib.h>

#include "host-tools/cause/fingerprint_private.h"

/* Least squares of one channel: s is gb / bb. */
struct channel {
    double bb, gb;
    size_t telling; /* elements that rounding does not hide */
};

static double above_zero(const struct assay_fp *f, const void *p, size_t i)
{
    return assay_fp_value(f, p, i) - assay_fp_zero(f);
}

static double ratio_of(const struct channel *c)
{
    bool known = c->bb > 0.0 && isfinite(c->bb) && isfinite(c->gb);

    return known ? c->gb / c->bb : NAN;
}

/* One channel, or all of them (channel SIZE_MAX) into c[0], c[1], ... */
static void sum_up(const struct assay_fp *f, size_t channel, struct channel *c)
{
    for (size_t i = 0; i < f->n; i++) {
        size_t at = assay_fp_channel(f, i);
        double b, g;

        if ((channel != SIZE_MAX && at != channel) || assay_fp_hidden(f, i))
            continue;
        b = above_zero(f, f->v->base, i);
        g = above_zero(f, f->v->got, i);
        at = channel == SIZE_MAX ? at : 0;
        c[at].bb += b * b;
        c[at].gb += g * b;
    }
}

/* Does every element that hides nothing lie on the line of its channel? */
static bool on_lines(const struct assay_fp *f, struct channel *c,
                     double *widest, size_t *matched)
{
    *widest = 0.0;
    *matched = 0;
    for (size_t i = 0; i < f->n; i++) {
        struct channel *k = &c[assay_fp_channel(f, i)];
        double s = ratio_of(k), b, g, tol;

        if (assay_fp_hidden(f, i))
            continue;
        b = above_zero(f, f->v->base, i);
        g = above_zero(f, f->v->got, i);
        if (b == 0.0 && g == 0.0)
            continue;
        tol = f->is_int ? 0.5 * fabs(s) + 0.75 : 1e-3 * fabs(s * b);
        if (!(fabs(g - s * b) <= tol))
            return false;
        *widest = fmax(*widest, tol);
        k->telling += fabs(b * (s - 1.0)) > 2.0 * tol;
        *matched += assay_fp_differs(f, i);
    }
    return true;
}

/* How far got reaches; rounding is small against it. */
static double range_of(const struct assay_fp *f)
{
    double lo = INFINITY, hi = -INFINITY;

    for (size_t i = 0; i < f->n; i++) {
        double g = above_zero(f, f->v->got, i);

        lo = fmin(lo, g);
        hi = fmax(hi, g);
    }
    return hi - lo;
}

static bool differ(const struct assay_fp *f, const struct channel *c,
                   double widest, struct assay_fingerprint *out)
{
    size_t channels = 0, facts = 0;

    for (size_t i = 0; i < f->channels; i++) {
        double s = ratio_of(&c[i]);

        if (isnan(s) || (c[i].telling == 0 && fabs(s - 1.0) > 0.05))
            continue; /* too little of it to say */
        if (channels++ == 0) {
            out->x[0] = out->x[1] = s;
            out->n[0] = out->n[1] = (int64_t)i;
        }
        if (s < out->x[0]) {
            out->x[0] = s;
            out->n[0] = (int64_t)i;
        }
        if (s > out->x[1]) {
            out->x[1] = s;
            out->n[1] = (int64_t)i;
        }
        facts += c[i].telling > 0 ? c[i].telling - 1 : 0;
    }
    return channels >= 2 && out->x[1] - out->x[0] > 0.05 &&
           !assay_fp_chance(2.0 * widest / (range_of(f) + 1.0), (double)facts);
}

bool assay_fp_channel_ratio(const struct assay_fp *f,
                            struct assay_fingerprint *out)
{
    struct assay_fingerprint other;
    struct channel *c;
    double widest;
    size_t matched;
    bool fits;

    if (f->channels < 2 || assay_fp_ratio(f, &other) ||
        assay_fp_channel_constant(f, &other))
        return false;
    c = calloc(f->channels, sizeof(*c));
    if (c == NULL)
        return false;
    sum_up(f, SIZE_MAX, c);
    fits = on_lines(f, c, &widest, &matched) && differ(f, c, widest, out);
    out->matched = matched;
    free(c);
    return fits;
}

size_t assay_fingerprint_by_channel(const struct assay_fingerprint_view *v,
                                    const struct assay_fingerprint *f,
                                    double *out, size_t cap, size_t *step)
{
    bool ratio = f->kind == ASSAY_FP_CHANNEL_RATIO;
    struct assay_fp view;
    size_t n = 0;

    if (!ratio && f->kind != ASSAY_FP_CHANNEL_CONSTANT &&
        f->kind != ASSAY_FP_BIAS && f->kind != ASSAY_FP_WEIGHT_SUM)
        return 0;
    assay_fp_open(&view, v);
    *step = (view.channels + cap - 1) / cap;
    for (size_t c = 0; c < view.channels; c += *step) {
        struct channel one = {.bb = 0.0};

        if (ratio)
            sum_up(&view, c, &one);
        out[n++] =
            ratio ? ratio_of(&one) : assay_fp_channel_difference(&view, c);
    }
    return n;
}
