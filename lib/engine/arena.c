/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/engine/arena.h"

#include <string.h>

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/engine/ops.h"

void assay_layout_init(struct assay_layout *l)
{
    *l = (struct assay_layout){0};
}

void assay_layout_close(struct assay_layout *l)
{
    if (!l)
        return;
    assay_free(l->gaps);
    *l = (struct assay_layout){0};
}

bool assay_layout_round(size_t size, size_t *out)
{
    size_t up;
    if (!assay_add_size(size, ASSAY_ALIGNMENT - 1, &up))
        return false;
    *out = up & ~(ASSAY_ALIGNMENT - 1);
    return true;
}

/* Smallest gap of at least `size`, or n_gaps. */
static size_t best_gap(const struct assay_layout *l, size_t size)
{
    size_t best = l->n_gaps;
    for (size_t i = 0; i < l->n_gaps; i++)
        if (l->gaps[i].size >= size &&
            (best == l->n_gaps || l->gaps[i].size < l->gaps[best].size))
            best = i;
    return best;
}

static void remove_gap(struct assay_layout *l, size_t i)
{
    l->n_gaps--;
    memmove(&l->gaps[i], &l->gaps[i + 1], (l->n_gaps - i) * sizeof(l->gaps[0]));
}

int assay_layout_take(struct assay_layout *l, size_t size, size_t *at)
{
    size_t end;
    if (!assay_layout_round(size, &size))
        return ASSAY_ERANGE;
    if (size == 0) {
        *at = 0;
        return 0;
    }
    size_t i = best_gap(l, size);
    if (i < l->n_gaps) {
        *at = l->gaps[i].at;
        l->gaps[i].at += size;
        l->gaps[i].size -= size;
        if (l->gaps[i].size == 0)
            remove_gap(l, i);
        return 0;
    }
    /* At the end; a gap that touches the end is made longer. */
    size_t start = l->end;
    bool last =
        l->n_gaps > 0 &&
        l->gaps[l->n_gaps - 1].at + l->gaps[l->n_gaps - 1].size == l->end;
    if (last)
        start = l->gaps[l->n_gaps - 1].at;
    if (!assay_add_size(start, size, &end))
        return ASSAY_ERANGE;
    if (last)
        l->n_gaps--;
    *at = start;
    l->end = end;
    return 0;
}

int assay_layout_give(struct assay_layout *l, size_t at, size_t size)
{
    size_t i = 0;
    if (!assay_layout_round(size, &size))
        return ASSAY_ERANGE;
    if (size == 0)
        return 0;
    while (i < l->n_gaps && l->gaps[i].at < at)
        i++;
    bool before = i > 0 && l->gaps[i - 1].at + l->gaps[i - 1].size == at;
    bool after = i < l->n_gaps && at + size == l->gaps[i].at;
    if (before) {
        l->gaps[i - 1].size += size;
        if (after) {
            l->gaps[i - 1].size += l->gaps[i].size;
            remove_gap(l, i);
        }
        return 0;
    }
    if (after) {
        l->gaps[i].at = at;
        l->gaps[i].size += size;
        return 0;
    }
    if (l->n_gaps == l->cap_gaps) {
        size_t cap = l->cap_gaps ? l->cap_gaps * 2 : 16;
        struct assay_layout_gap *gaps =
            assay_realloc(l->gaps, cap * sizeof(*gaps));
        if (!gaps)
            return ASSAY_EMEMORY;
        l->gaps = gaps;
        l->cap_gaps = cap;
    }
    memmove(&l->gaps[i + 1], &l->gaps[i], (l->n_gaps - i) * sizeof(l->gaps[0]));
    l->gaps[i] = (struct assay_layout_gap){at, size};
    l->n_gaps++;
    return 0;
}
