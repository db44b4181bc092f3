/* SPDX-License-Identifier: Apache-2.0 */
/* Where the differing elements lie. */
#include <math.h>
#include <stdlib.h>

#include "host-tools/cause/fingerprint_private.h"
#include "host-tools/diff/diff.h"

#define RING_PROBES 4096

/* How much of the image lies within `width` of an edge of the set. */
static double ring_share(const struct assay_fp *f, unsigned set, int64_t width)
{
    int64_t h = f->v->t->dims[f->axis_h], w = f->v->t->dims[f->axis_w];
    int64_t rows = h, columns = w;

    rows -= set & ASSAY_EDGE_TOP ? width : 0;
    rows -= set & ASSAY_EDGE_BOTTOM ? width : 0;
    columns -= set & ASSAY_EDGE_LEFT ? width : 0;
    columns -= set & ASSAY_EDGE_RIGHT ? width : 0;
    if (rows <= 0 || columns <= 0)
        return 1.0;
    return 1.0 - (double)rows * (double)columns / ((double)h * (double)w);
}

static int64_t distance(const struct assay_fp *f, unsigned set, size_t i)
{
    int64_t h = f->v->t->dims[f->axis_h], w = f->v->t->dims[f->axis_w];
    int64_t y = assay_fp_along(f, i, f->axis_h);
    int64_t x = assay_fp_along(f, i, f->axis_w), d = INT64_MAX;

    if (set & ASSAY_EDGE_TOP)
        d = y;
    if ((set & ASSAY_EDGE_LEFT) && x < d)
        d = x;
    if ((set & ASSAY_EDGE_BOTTOM) && h - 1 - y < d)
        d = h - 1 - y;
    if ((set & ASSAY_EDGE_RIGHT) && w - 1 - x < d)
        d = w - 1 - x;
    return d;
}

/* Some elements say at once that no ring of two thirds holds them all. */
static bool may_be_ring(const struct assay_fp *f)
{
    int64_t depth[ASSAY_EDGE_SETS] = {0};
    bool any = false;

    for (uint64_t k = 0; k < RING_PROBES; k++) {
        size_t i = (size_t)(k * UINT64_C(0x9e3779b97f4a7c15) % f->n);

        for (unsigned set = 1; assay_fp_differs(f, i) && set < ASSAY_EDGE_SETS;
             set++) {
            int64_t d = distance(f, set, i);

            depth[set] = d > depth[set] ? d : depth[set];
        }
    }
    for (unsigned set = 1; set < ASSAY_EDGE_SETS; set++)
        any = any || ring_share(f, set, depth[set] + 1) < 0.67;
    return any;
}

/* Does an element differ in the outermost line of every edge of the set? What
 * lies together anywhere is no ring. */
static bool at_the_edge(const struct assay_fp *f, const struct assay_diff *d,
                        unsigned set)
{
    const struct assay_tensor *t = f->v->t;
    int h = f->axis_h, w = f->axis_w;

    return (!(set & ASSAY_EDGE_TOP) || d->box_lo[h] == 0) &&
           (!(set & ASSAY_EDGE_LEFT) || d->box_lo[w] == 0) &&
           (!(set & ASSAY_EDGE_BOTTOM) || d->box_hi[h] == t->dims[h] - 1) &&
           (!(set & ASSAY_EDGE_RIGHT) || d->box_hi[w] == t->dims[w] - 1);
}

bool assay_fp_edge_ring(const struct assay_fp *f, struct assay_fingerprint *out)
{
    static const struct assay_tolerance none = {0};
    const struct assay_tensor *t = f->v->t;
    struct assay_diff d;
    int64_t width = 0;
    unsigned set;

    if (f->axis_h < 0 || f->axis_w < 0 || !may_be_ring(f))
        return false;
    assay_diff_tensor(t, f->v->base, f->v->got, &none, &d);
    set = assay_diff_edges(t, &d, &width);
    if (set == 0 || !at_the_edge(f, &d, set))
        return false;
    if (assay_fp_chance(ring_share(f, set, width), (double)f->differing))
        return false;
    out->n[0] = width;
    out->n[1] = set;
    return true;
}

/* Lowest and highest channel that differs. */
static void channel_span(const struct assay_fp *f, size_t *lo, size_t *hi)
{
    *lo = SIZE_MAX;
    *hi = 0;
    for (size_t i = 0; i < f->n; i++) {
        size_t c = assay_fp_channel(f, i);

        if (!assay_fp_differs(f, i))
            continue;
        *lo = c < *lo ? c : *lo;
        *hi = c > *hi ? c : *hi;
    }
}

/* The shortest tail that holds them; of equal ones that of the narrowest
 * vector. */
bool assay_fp_tail_channels(const struct assay_fp *f,
                            struct assay_fingerprint *out)
{
    size_t lo, hi, from = 0, of = 0;

    channel_span(f, &lo, &hi);
    for (size_t m = 4; m <= 16; m *= 2) {
        size_t tail = f->channels / m * m;

        if (tail == f->channels || tail == 0 || lo < tail || tail <= from)
            continue;
        from = tail;
        of = m;
    }
    if (from == 0 ||
        assay_fp_chance((double)(f->channels - from) / (double)f->channels,
                        (double)f->differing))
        return false;
    out->n[0] = (int64_t)from;
    out->n[1] = (int64_t)of;
    return true;
}

static size_t common_divisor(size_t a, size_t b)
{
    while (b != 0) {
        size_t r = a % b;

        a = b;
        b = r;
    }
    return a;
}

bool assay_fp_every_nth(const struct assay_fp *f, struct assay_fingerprint *out)
{
    uint8_t *seen = calloc(f->channels, 1);
    size_t n = 0, first = SIZE_MAX, channels = 0, members;

    for (size_t i = 0; seen != NULL && i < f->n; i++)
        if (assay_fp_differs(f, i))
            seen[assay_fp_channel(f, i)] = 1;
    for (size_t c = 0; seen != NULL && c < f->channels; c++) {
        if (!seen[c])
            continue;
        first = first == SIZE_MAX ? c : first;
        n = common_divisor(n, c - first);
        channels++;
    }
    free(seen);
    if (channels < 3 || n < 2)
        return false;
    members = (f->channels - 1 - first % n) / n + 1;
    if (4 * channels < 3 * members ||
        (double)(channels - 1) * log2((double)n) < 6.0 ||
        assay_fp_chance(1.0 / (double)n, (double)(f->differing - 1)))
        return false;
    out->n[0] = (int64_t)n;
    out->n[1] = (int64_t)(first % n);
    return true;
}

bool assay_fp_concat_block(const struct assay_fp *f,
                           struct assay_fingerprint *out)
{
    const struct assay_layer *l = f->v->layer;
    const struct assay_tensor *t = f->v->t;
    int64_t lo = INT64_MAX, hi = -1, begin = 0;
    int axis;

    if (l == NULL || f->v->slice == NULL || l->op != ASSAY_OP_CONCAT ||
        l->n_inputs < 2 || l->p.concat.axis < 0 ||
        l->p.concat.axis >= (int32_t)t->rank)
        return false;
    axis = l->p.concat.axis;
    for (size_t i = 0; i < f->n; i++) {
        int64_t at;

        if (!assay_fp_differs(f, i))
            continue;
        at = assay_fp_along(f, i, axis);
        lo = at < lo ? at : lo;
        hi = at > hi ? at : hi;
    }
    for (uint32_t k = 0; k < l->n_inputs; k++) {
        int64_t n = f->v->slice->tensors[l->inputs[k]].dims[axis];

        if (lo >= begin && hi < begin + n) {
            out->n[0] = begin;
            out->n[1] = begin + n - 1;
            return !assay_fp_chance((double)n / (double)t->dims[axis],
                                    (double)f->differing);
        }
        begin += n;
    }
    return false;
}
