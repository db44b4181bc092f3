/* SPDX-License-Identifier: Apache-2.0 */
/* Where the differing elements lie, and what a candidate makes of them. */
#include <string.h>

#include "host-tools/cause/search_private.h"

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for a search of causes");
}

/* Index of an element along axis a. */
static int64_t along(const struct assay_tensor *t, size_t element, uint32_t a)
{
    for (uint32_t k = t->rank; --k > a;)
        element /= (size_t)t->dims[k];
    return (int64_t)(element % (size_t)t->dims[a]);
}

/* Axis with that label, or -1. */
static int axis_of(const struct assay_tensor *t, char label)
{
    for (uint32_t a = 0; a < t->rank; a++)
        if (t->axes[a] == label)
            return (int)a;
    return -1;
}

/* Ends of an axis in which elements differ. */
struct span {
    int axis;
    int64_t lo, hi, n;
    int64_t ring; /* how far from an end of it the innermost one is */
};

static struct span span_of(const struct assay_search_ctx *x, int axis)
{
    struct span s = {.axis = axis, .lo = INT64_MAX, .hi = -1};

    if (axis < 0)
        return s;
    s.n = x->output->dims[axis];
    for (size_t i = 0; i < x->s->n_samples; i++) {
        for (size_t e = 0; e < x->n; e++) {
            int64_t at, depth;

            if (!assay_judge_differs(x, i, e))
                continue;
            at = along(x->output, e, (uint32_t)axis);
            depth = at < s.n - 1 - at ? at : s.n - 1 - at;
            s.lo = at < s.lo ? at : s.lo;
            s.hi = at > s.hi ? at : s.hi;
            s.ring = depth > s.ring ? depth : s.ring;
        }
    }
    return s;
}

static void add_scope(struct assay_search_ctx *x, enum assay_scope_kind kind,
                      int64_t n)
{
    if (x->n_scopes < ASSAY_SCOPES)
        x->scopes[x->n_scopes++] = (struct assay_scope){kind, n};
}

/* Depth of the innermost differing element from the nearest edge. */
static int64_t ring_of(const struct assay_search_ctx *x, int h, int w)
{
    int64_t ring = 0;

    for (size_t i = 0; i < x->s->n_samples; i++) {
        for (size_t e = 0; e < x->n; e++) {
            int64_t y, z, depth;

            if (!assay_judge_differs(x, i, e))
                continue;
            y = along(x->output, e, (uint32_t)h);
            z = along(x->output, e, (uint32_t)w);
            depth = y;
            if (x->output->dims[h] - 1 - y < depth)
                depth = x->output->dims[h] - 1 - y;
            if (z < depth)
                depth = z;
            if (x->output->dims[w] - 1 - z < depth)
                depth = x->output->dims[w] - 1 - z;
            ring = depth > ring ? depth : ring;
        }
    }
    return ring;
}

static void find_scopes(struct assay_search_ctx *x)
{
    const struct assay_tensor *t = x->output;
    int h = axis_of(t, 'H'), w = axis_of(t, 'W');
    struct span c = span_of(x, t->rank > 0 ? (int)t->rank - 1 : -1);
    struct span rows = span_of(x, h), columns = span_of(x, w);
    int64_t ring;

    add_scope(x, ASSAY_SCOPE_ALL, 0);
    if (c.n > 1 && c.lo == c.hi)
        add_scope(x, ASSAY_SCOPE_CHANNEL, c.lo);
    for (int64_t m = 4; m <= 16; m *= 2)
        if (c.n > m && c.n % m != 0 && c.lo >= c.n / m * m)
            add_scope(x, ASSAY_SCOPE_TAIL_CHANNELS, c.n / m * m);
    if (rows.n > 2 && rows.lo * 2 > rows.n)
        add_scope(x, ASSAY_SCOPE_LAST_ROWS, rows.lo);
    if (columns.n > 2 && columns.lo * 2 > columns.n)
        add_scope(x, ASSAY_SCOPE_LAST_COLUMNS, columns.lo);
    if (h < 0 || w < 0)
        return;
    ring = ring_of(x, h, w) + 1;
    if (2 * ring < t->dims[h] && 2 * ring < t->dims[w])
        add_scope(x, ASSAY_SCOPE_EDGES, ring);
}

bool assay_judge_inside(const struct assay_search_ctx *x,
                        const struct assay_scope *s, size_t e)
{
    const struct assay_tensor *t = x->output;
    int h = axis_of(t, 'H'), w = axis_of(t, 'W');
    int64_t y, z;

    switch (s->kind) {
    case ASSAY_SCOPE_ALL: return true;
    case ASSAY_SCOPE_TAIL_CHANNELS: return along(t, e, t->rank - 1) >= s->n;
    case ASSAY_SCOPE_CHANNEL: return along(t, e, t->rank - 1) == s->n;
    case ASSAY_SCOPE_LAST_ROWS: return along(t, e, (uint32_t)h) >= s->n;
    case ASSAY_SCOPE_LAST_COLUMNS: return along(t, e, (uint32_t)w) >= s->n;
    case ASSAY_SCOPE_EDGES:
        y = along(t, e, (uint32_t)h);
        z = along(t, e, (uint32_t)w);
        return y < s->n || z < s->n || y >= t->dims[h] - s->n ||
               z >= t->dims[w] - s->n;
    }
    return false;
}

/* Up to half of them differ; spread over the whole output. */
static void choose_first(struct assay_search_ctx *x)
{
    size_t differing = 0, equal = 0, step_d, step_e, d = 0, q = 0;

    for (size_t e = 0; e < x->n; e++)
        assay_judge_differs(x, x->worst, e) ? differing++ : equal++;
    step_d = differing / (ASSAY_FIRST_ELEMENTS / 2) + 1;
    step_e = equal / (ASSAY_FIRST_ELEMENTS / 2) + 1;
    for (size_t e = 0; e < x->n; e++)
        if (assay_judge_differs(x, x->worst, e) && d++ % step_d == 0)
            x->first[x->n_first++] = e;
    x->n_first_differing = x->n_first;
    for (size_t e = 0; e < x->n; e++)
        if (!assay_judge_differs(x, x->worst, e) && q++ % step_e == 0)
            x->first[x->n_first++] = e;
}

int assay_judge_open(struct assay_search_ctx *x, struct assay_err *err)
{
    uint64_t most = 0;

    for (size_t i = 0; i < x->s->n_samples; i++) {
        uint64_t differing = 0;

        for (size_t e = 0; e < x->n; e++)
            differing += assay_judge_differs(x, i, e);
        if (differing > most) {
            most = differing;
            x->worst = i;
        }
        x->differing += differing;
        x->all += x->n;
    }
    if (x->differing == 0)
        return 0;
    find_scopes(x);
    choose_first(x);
    x->masks = assay_arena_array(x->memory, x->n, 1);
    if (!x->masks)
        return no_memory(err);
    for (size_t e = 0; e < x->n; e++)
        for (uint32_t k = 0; k < x->n_scopes; k++)
            x->masks[e] |=
                (uint8_t)(assay_judge_inside(x, &x->scopes[k], e) ? 1u << k
                                                                  : 0);
    return 0;
}

void assay_judge_count(const struct assay_search_ctx *x, size_t sample,
                       struct assay_tally *t)
{
    const uint8_t *got = x->s->samples[sample].got;

    for (size_t e = 0; e < x->n; e++) {
        bool differs = assay_judge_differs(x, sample, e);
        bool match =
            memcmp(x->result + e * x->width, got + e * x->width, x->width) == 0;

        t->all_matched += match;
        t->differing_matched += match && differs;
        t->broken += !match && !differs;
        if (!match)
            t->failed |= x->masks[e];
    }
}
