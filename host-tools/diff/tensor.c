/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/diff/diff.h"

#include <math.h>
#include <string.h>

/* Elements are widened in blocks, so that one loop serves all dtypes. */
#define BLOCK 512

struct sums {
    double diff, abs, rr, gg, rg, dd;
    double r_lo, r_hi, g_lo, g_hi; /* of the n pairs that are finite */
    size_t n;
};

#define WIDEN(type) \
    do { \
        for (size_t i = 0; i < n; i++) { \
            type v; \
            memcpy(&v, (const char *)data + (start + i) * sizeof(v), \
                   sizeof(v)); \
            out[i] = (int64_t)v; \
        } \
    } while (0)

static void load_ints(enum assay_dtype dtype, const void *data, size_t start,
                      size_t n, int64_t *out)
{
    switch (dtype) {
    case ASSAY_S8: WIDEN(int8_t); break;
    case ASSAY_U8: WIDEN(uint8_t); break;
    case ASSAY_S16: WIDEN(int16_t); break;
    case ASSAY_U16: WIDEN(uint16_t); break;
    case ASSAY_S32: WIDEN(int32_t); break;
    default: WIDEN(int64_t); break;
    }
}

static uint64_t distance(int64_t a, int64_t b)
{
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

static unsigned hist_slot(uint64_t d)
{
    if (d < 4)
        return (unsigned)d;
    if (d < 8)
        return 4;
    if (d < 16)
        return 5;
    if (d < 32)
        return 6;
    return d < 128 ? 7 : 8;
}

/* Scale and zero point of element `index`. */
static void quant_at(const struct assay_tensor *t, size_t index, double *scale,
                     double *zero)
{
    uint32_t c = 0;

    *scale = 1.0;
    *zero = 0.0;
    if (t->quant.n == 0)
        return;
    if (t->quant.n > 1 && t->quant.axis >= 0) {
        size_t inner = 1;

        for (uint32_t a = (uint32_t)t->quant.axis + 1; a < t->rank; a++)
            inner *= (size_t)t->dims[a];
        c = (uint32_t)(index / inner % t->quant.n);
    }
    *scale = (double)t->quant.scale[c];
    *zero = (double)t->quant.zero_point[c];
}

/* How far the mismatch at `at` lies from the nearest edge of each set. */
static void note_edges(const struct assay_tensor *t, struct assay_diff *d,
                       const int64_t *at)
{
    const char *h = strchr(t->axes, 'H'), *w = strchr(t->axes, 'W');
    int64_t far[4]; /* t, l, b, r */
    ptrdiff_t y, x;

    if (h == NULL || w == NULL)
        return;
    y = h - t->axes;
    x = w - t->axes;
    if (y >= (ptrdiff_t)t->rank || x >= (ptrdiff_t)t->rank)
        return;
    far[0] = at[y];
    far[1] = at[x];
    far[2] = t->dims[y] - 1 - at[y];
    far[3] = t->dims[x] - 1 - at[x];
    for (unsigned set = 1; set < ASSAY_EDGE_SETS; set++) {
        int64_t near = INT64_MAX;

        for (unsigned e = 0; e < 4; e++) {
            if ((set & (1u << e)) != 0 && far[e] < near)
                near = far[e];
        }
        if (near > d->edge_depth[set])
            d->edge_depth[set] = near;
    }
}

static void note_mismatch(const struct assay_tensor *t, struct assay_diff *d,
                          size_t index, double ref, double got)
{
    int64_t at[ASSAY_MAX_RANK] = {0};
    size_t rest = index;

    for (uint32_t a = t->rank; a-- > 0;) {
        at[a] = (int64_t)(rest % (size_t)t->dims[a]);
        rest /= (size_t)t->dims[a];
        if (d->mismatch == 0 || at[a] < d->box_lo[a])
            d->box_lo[a] = at[a];
        if (d->mismatch == 0 || at[a] > d->box_hi[a])
            d->box_hi[a] = at[a];
    }
    note_edges(t, d, at);
    d->mismatch++;
    if (got > ref)
        d->higher++;
    if (d->n_first < ASSAY_FIRST_MISMATCHES) {
        d->first[d->n_first].index = index;
        d->first[d->n_first].ref = ref;
        d->first[d->n_first++].got = got;
    }
}

static void sum_values(struct assay_diff *d, struct sums *s, double ref,
                       double got)
{
    double diff = got - ref;

    if (s->n++ == 0) {
        s->r_lo = s->r_hi = ref;
        s->g_lo = s->g_hi = got;
    }
    s->r_lo = fmin(s->r_lo, ref);
    s->r_hi = fmax(s->r_hi, ref);
    s->g_lo = fmin(s->g_lo, got);
    s->g_hi = fmax(s->g_hi, got);
    s->rr += ref * ref;
    s->gg += got * got;
    s->rg += ref * got;
    s->dd += diff * diff;
    s->abs += fabs(diff);
    if (fabs(diff) > d->max_abs)
        d->max_abs = fabs(diff);
}

static void diff_ints(const struct assay_tensor *t, const void *ref,
                      const void *got, const struct assay_tolerance *tol,
                      struct assay_diff *d, struct sums *s)
{
    int64_t r[BLOCK], g[BLOCK];
    double scale, zero;

    quant_at(t, 0, &scale, &zero);
    for (size_t start = 0; start < d->count; start += BLOCK) {
        size_t n = d->count - start < BLOCK ? d->count - start : BLOCK;

        load_ints(t->dtype, ref, start, n, r);
        load_ints(t->dtype, got, start, n, g);
        for (size_t i = 0; i < n; i++) {
            uint64_t lsb = distance(g[i], r[i]);

            if (t->quant.n > 1)
                quant_at(t, start + i, &scale, &zero);
            sum_values(d, s, scale * ((double)r[i] - zero),
                       scale * ((double)g[i] - zero));
            d->lsb_hist[hist_slot(lsb)]++;
            if (lsb == 0)
                continue;
            note_mismatch(t, d, start + i, (double)r[i], (double)g[i]);
            s->diff += (double)g[i] - (double)r[i];
            if (lsb > (uint64_t)INT64_MAX)
                lsb = (uint64_t)INT64_MAX;
            if ((int64_t)lsb > d->max_lsb)
                d->max_lsb = (int64_t)lsb;
            d->outside += (int64_t)lsb > tol->max_lsb;
        }
    }
}

static bool float_within(float ref, float got,
                         const struct assay_tolerance *tol)
{
    if (isnan(ref) || isnan(got))
        return isnan(ref) && isnan(got);
    if (isinf(ref) || isinf(got))
        return ref == got;
    return fabs((double)got - (double)ref) <=
           tol->atol + tol->rtol * fabs((double)ref);
}

static void diff_floats(const struct assay_tensor *t, const float *ref,
                        const float *got, const struct assay_tolerance *tol,
                        struct assay_diff *d, struct sums *s)
{
    for (size_t i = 0; i < d->count; i++) {
        float r, g;

        memcpy(&r, (const char *)ref + i * sizeof(r), sizeof(r));
        memcpy(&g, (const char *)got + i * sizeof(g), sizeof(g));
        if (isfinite(r) && isfinite(g)) {
            sum_values(d, s, (double)r, (double)g);
            s->diff += (double)g - (double)r;
        }
        d->ref_nan += isnan(r);
        d->got_nan += isnan(g);
        if (memcmp(&r, &g, sizeof(r)) == 0)
            continue;
        note_mismatch(t, d, i, (double)r, (double)g);
        if (!float_within(r, g, tol)) {
            d->outside++;
            if (!isfinite(r) || !isfinite(g))
                d->max_abs = INFINITY;
        }
    }
}

static void finish(struct assay_diff *d, const struct sums *s)
{
    double n = (double)d->count;

    d->mean_signed = s->diff / n;
    d->l1 = s->abs / n;
    if (s->n > 0 && s->dd == 0.0)
        d->cosine = 1.0; /* +0 and -0 */
    else if (s->r_lo == s->r_hi || s->g_lo == s->g_hi)
        d->cosine = NAN; /* also where no pair is finite */
    else
        d->cosine = s->rg / (sqrt(s->rr) * sqrt(s->gg));
    if (s->dd == 0.0)
        d->sqnr_db = isinf(d->max_abs) ? -INFINITY : INFINITY;
    else
        d->sqnr_db = s->rr == 0.0 ? -INFINITY : 10.0 * log10(s->rr / s->dd);
}

void assay_diff_tensor(const struct assay_tensor *t, const void *ref,
                       const void *got, const struct assay_tolerance *tol,
                       struct assay_diff *out)
{
    struct sums s = {0};
    size_t elements = 1;

    memset(out, 0, sizeof(*out));
    for (uint32_t a = 0; a < t->rank; a++)
        elements *= (size_t)t->dims[a]; /* proved by the plan */
    out->count = elements;
    out->cosine = 1.0;
    out->sqnr_db = INFINITY;
    if (memcmp(ref, got, elements * assay_dtype_bytes(t->dtype)) == 0) {
        if (assay_dtype_is_int(t->dtype))
            out->lsb_hist[0] = elements;
        return;
    }
    if (assay_dtype_is_int(t->dtype))
        diff_ints(t, ref, got, tol, out, &s);
    else
        diff_floats(t, ref, got, tol, out, &s);
    finish(out, &s);
}

/* Of samples that differ; the number, where one of them has none. */
static double worst_cosine(const struct assay_diff *a,
                           const struct assay_diff *b)
{
    if (a->mismatch == 0 || b->mismatch == 0)
        return a->mismatch == 0 ? b->cosine : a->cosine;
    return fmin(a->cosine, b->cosine);
}

void assay_diff_merge(struct assay_diff *out, const struct assay_diff *d)
{
    double n = (double)out->count, m = (double)d->count;

    if (d->count == 0)
        return;
    if (out->count == 0) {
        *out = *d;
        out->worst = d->mismatch;
        return;
    }
    out->mean_signed = (out->mean_signed * n + d->mean_signed * m) / (n + m);
    out->l1 = (out->l1 * n + d->l1 * m) / (n + m);
    out->cosine = worst_cosine(out, d);
    out->sqnr_db = fmin(out->sqnr_db, d->sqnr_db);
    out->max_abs = fmax(out->max_abs, d->max_abs);
    if (d->max_lsb > out->max_lsb)
        out->max_lsb = d->max_lsb;
    for (unsigned i = 0; i < ASSAY_LSB_HIST; i++)
        out->lsb_hist[i] += d->lsb_hist[i];
    for (unsigned a = 0; a < ASSAY_MAX_RANK && d->mismatch > 0; a++) {
        if (out->mismatch == 0 || d->box_lo[a] < out->box_lo[a])
            out->box_lo[a] = d->box_lo[a];
        if (out->mismatch == 0 || d->box_hi[a] > out->box_hi[a])
            out->box_hi[a] = d->box_hi[a];
    }
    for (unsigned e = 1; e < ASSAY_EDGE_SETS; e++) {
        if (d->edge_depth[e] > out->edge_depth[e])
            out->edge_depth[e] = d->edge_depth[e];
    }
    if (d->mismatch > out->worst) {
        out->worst = d->mismatch;
        memcpy(out->first, d->first, sizeof(out->first));
        out->n_first = d->n_first;
        out->sample = d->sample;
        out->first_tile = d->first_tile;
    }
    out->by_digest = out->by_digest || d->by_digest;
    out->tiles = d->tiles > out->tiles ? d->tiles : out->tiles;
    out->tiles_differing += d->tiles_differing;
    out->count += d->count;
    out->mismatch += d->mismatch;
    out->outside += d->outside;
    out->higher += d->higher;
    out->ref_nan += d->ref_nan;
    out->got_nan += d->got_nan;
}

bool assay_diff_rate(const struct assay_diff *d, uint64_t count,
                     double *exponent)
{
    if (d->max_lsb != 1 || d->mismatch < 16 || d->mismatch * 16 > count ||
        d->higher * 4 < d->mismatch || d->higher * 4 > 3 * d->mismatch)
        return false;
    *exponent = log2((double)count / (double)d->mismatch);
    return true;
}
