/* SPDX-License-Identifier: Apache-2.0 */
/* The same elements at other places: axes in another order, one backwards,
 * two of its places for each other. */
#include <math.h>

#include "host-tools/cause/layout_private.h"

/* got, read with dims in the order of axes, holds ref's (or back). */
static bool fits_axes(struct assay_layout_ask *q, const uint8_t *axes,
                      bool back, double bits, struct assay_layout *out)
{
    const struct assay_tensor *t = q->t;
    struct assay_layout_map m = {
        .at = assay_layout_affine, .bits = bits, .rank = t->rank};
    int64_t dims[ASSAY_MAX_RANK], strides[ASSAY_MAX_RANK];

    for (uint32_t a = 0; a < t->rank; a++)
        dims[a] = t->dims[axes[a]];
    if (back) {
        assay_layout_strides(dims, t->rank, strides);
        for (uint32_t a = 0; a < t->rank; a++) {
            m.dims[a] = t->dims[a];
            m.strides[axes[a]] = strides[a];
        }
    } else {
        assay_layout_strides(t->dims, t->rank, strides);
        for (uint32_t a = 0; a < t->rank; a++) {
            m.dims[a] = dims[a];
            m.strides[a] = strides[axes[a]];
        }
    }
    if (!assay_layout_fits(q, &m, out))
        return false;
    out->kind = ASSAY_LAYOUT_PERMUTED;
    out->id = "L1";
    memcpy(out->axes, axes, t->rank);
    out->n[0] = back;
    return true;
}

static bool either_way(struct assay_layout_ask *q, const uint8_t *axes,
                       double bits, struct assay_layout *out)
{
    return fits_axes(q, axes, false, bits, out) ||
           fits_axes(q, axes, true, bits, out);
}

/* The next one in the order of a dictionary; false: that was the last. */
static bool next_permutation(uint8_t *p, uint32_t n)
{
    uint32_t i = n - 1, k = n - 1;
    uint8_t keep;

    while (i > 0 && p[i - 1] >= p[i])
        i--;
    if (i == 0)
        return false;
    while (p[k] <= p[i - 1])
        k--;
    keep = p[k];
    p[k] = p[i - 1];
    p[i - 1] = keep;
    for (k = n - 1; i < k; i++, k--) {
        keep = p[k];
        p[k] = p[i];
        p[i] = keep;
    }
    return true;
}

bool assay_layout_permuted(struct assay_layout_ask *q, struct assay_layout *out)
{
    static const uint8_t usual[2][4] = {{0, 3, 1, 2}, {0, 2, 3, 1}};
    const struct assay_tensor *t = q->t;
    uint8_t wide[ASSAY_MAX_RANK], order[ASSAY_MAX_RANK], axes[ASSAY_MAX_RANK];
    uint32_t n = 0;
    double bits = 1.0;

    if (!q->same_values)
        return false;
    for (uint32_t a = 0; a < t->rank; a++)
        if (t->dims[a] > 1)
            wide[n++] = (uint8_t)a;
    if (n < 2)
        return false;
    for (uint32_t a = 0; a < n; a++) {
        order[a] = (uint8_t)a;
        bits += log2((double)(a + 1));
    }
    /* By their usual names first: axes of one place fit any name. */
    for (unsigned k = 0; k < 2 && t->rank == 4; k++)
        if (either_way(q, usual[k], bits, out))
            return true;
    while (next_permutation(order, n)) {
        for (uint32_t a = 0, k = 0; a < t->rank; a++)
            axes[a] = t->dims[a] > 1 ? wide[order[k++]] : (uint8_t)a;
        if (q->work == 0)
            return false;
        if (either_way(q, axes, bits, out))
            return true;
    }
    return false;
}

/* Entries of an axis whose places are in another order: what is not labelled
 * may be images where it is the first of several, or colours. */
static void call_axis(const struct assay_tensor *t, int axis,
                      struct assay_layout *out)
{
    char label = t->axes[0] != '\0' ? t->axes[axis] : '\0';
    bool batch = label == 'N' || (label == '\0' && axis == 0 && t->rank > 1);
    bool colours = (label == 'C' || label == '\0') && t->dims[axis] >= 3 &&
                   t->dims[axis] <= 4;
    unsigned n = 0;

    out->id = batch ? "L5" : colours ? "Y6" : label == 'C' ? "W3" : "L1";
    if (batch && colours)
        out->also[n++] = "Y6";
    if (colours && label == 'C')
        out->also[n++] = "W3";
    if (label == '\0' && strcmp(out->id, "L1") != 0)
        out->also[n] = "L1";
}

static bool backwards(struct assay_layout_ask *q, int a, int b,
                      struct assay_layout *out)
{
    const struct assay_tensor *t = q->t;
    struct assay_layout_map m = {.at = assay_layout_affine,
                                 .bits = 2.0 * log2((double)t->rank),
                                 .rank = t->rank};

    memcpy(m.dims, t->dims, sizeof(m.dims));
    assay_layout_strides(t->dims, t->rank, m.strides);
    for (int k = 0; k < (b < 0 ? 1 : 2); k++) {
        int axis = k == 0 ? a : b;

        m.offset += (t->dims[axis] - 1) * m.strides[axis];
        m.strides[axis] = -m.strides[axis];
    }
    if (!assay_layout_fits(q, &m, out))
        return false;
    out->kind = ASSAY_LAYOUT_REVERSED;
    if (b < 0)
        call_axis(t, a, out);
    else
        out->id = "L1";
    out->axis[0] = a;
    out->axis[1] = b;
    return true;
}

/* The last axis first: it is the one that is usually meant. */
bool assay_layout_reversed(struct assay_layout_ask *q, struct assay_layout *out)
{
    if (!q->same_values)
        return false;
    for (int a = (int)q->t->rank - 1; a >= 0; a--)
        if (q->t->dims[a] > 1 && backwards(q, a, -1, out))
            return true;
    for (int a = 0; a < (int)q->t->rank; a++)
        for (int b = a + 1; b < (int)q->t->rank; b++)
            if (q->t->dims[a] > 1 && q->t->dims[b] > 1 &&
                backwards(q, a, b, out))
                return true;
    return false;
}

/* p: inner elements, places of the axis, the two places. */
static int64_t swapped_at(const struct assay_layout_map *m, int64_t i)
{
    int64_t place = i / m->p[0] % m->p[1];

    if (place == m->p[2])
        return i + (m->p[3] - m->p[2]) * m->p[0];
    if (place == m->p[3])
        return i - (m->p[3] - m->p[2]) * m->p[0];
    return i;
}

bool assay_layout_swapped(struct assay_layout_ask *q, struct assay_layout *out)
{
    const struct assay_tensor *t = q->t;
    int64_t strides[ASSAY_MAX_RANK];

    if (!q->same_values)
        return false;
    assay_layout_strides(t->dims, t->rank, strides);
    for (int a = (int)t->rank - 1; a >= 0; a--) {
        const struct assay_layout_map m = {
            .at = swapped_at,
            .bits = log2((double)t->rank) + 2.0 * log2((double)t->dims[a]),
            .p = {strides[a], t->dims[a], q->lo[a], q->hi[a]}};

        /* What differs lies in the two places alone: they end the box. */
        if (q->lo[a] == q->hi[a] || !assay_layout_fits(q, &m, out))
            continue;
        out->kind = ASSAY_LAYOUT_SWAPPED;
        call_axis(t, a, out);
        out->axis[0] = a;
        out->n[0] = q->lo[a];
        out->n[1] = q->hi[a];
        return true;
    }
    return false;
}
