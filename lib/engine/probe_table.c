/* SPDX-License-Identifier: Apache-2.0 */
/* Which entries of a table, segments of one, or branches an input took. */
#include <string.h>

#include "kernels/requant.h"
#include "lib/engine/probe_private.h"

#define BLOCK 256

static void mark(struct assay_probe *p, size_t entry)
{
    p->entries[entry / 8] |= (uint8_t)(1u << entry % 8);
}

/* As kernels/ref/table.c: int8 counts from -128. */
static void mark_entries(struct assay_probe_ctx *c, const union assay_value *v,
                         size_t n)
{
    int64_t first = c->x->dtype == ASSAY_S8 ? -128 : 0;

    for (size_t k = 0; k < n; k++)
        mark(c->p, (size_t)(v[k].i - first));
}

/* As kernels/ref/segment_table.c: the first segment whose bound is not below;
 * a table with a symmetry is asked for -x where x is negative. */
static void mark_segments(struct assay_probe_ctx *c, const union assay_value *v,
                          size_t n)
{
    const char *rows = c->one->tensors[c->l->inputs[2]].data;
    bool mirrors = c->l->p.segment.symmetry != ASSAY_SYMMETRY_NONE;
    int32_t bounds[ASSAY_SEGMENTS];

    for (size_t s = 0; s < ASSAY_SEGMENTS; s++)
        memcpy(&bounds[s], rows + s * ASSAY_SEGMENT_FIELDS * sizeof(int32_t),
               sizeof(bounds[s]));
    for (size_t k = 0; k < n; k++) {
        int64_t x = mirrors && v[k].i < 0 ? assay_sat(-v[k].i, 16) : v[k].i;
        size_t s = 0;

        while (s < ASSAY_SEGMENTS - 1 && bounds[s] < x)
            s++;
        mark(c->p, s);
    }
}

static void count_branches(struct assay_probe_ctx *c,
                           const union assay_value *v, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        bool up = c->x->dtype == ASSAY_F32 ? v[k].f >= 0 : v[k].i >= 0;

        c->p->fact[up ? ASSAY_PROBE_BRANCH_UP : ASSAY_PROBE_BRANCH_DOWN]++;
    }
}

void assay_probe_table(struct assay_probe_ctx *c)
{
    const uint8_t *x = assay_probe_bytes(c, c->l->inputs[0]);
    size_t size = assay_dtype_bytes(c->x->dtype);
    union assay_value v[BLOCK];

    if (c->l->op == ASSAY_OP_PRELU) {
        c->p->facts |= 1u << ASSAY_PROBE_BRANCH_UP;
        if (c->x->dtype != ASSAY_U8 && c->x->dtype != ASSAY_U16)
            c->p->facts |= 1u << ASSAY_PROBE_BRANCH_DOWN;
    } else {
        c->p->n_entries =
            c->l->op == ASSAY_OP_TABLE ? ASSAY_PROBE_ENTRIES : ASSAY_SEGMENTS;
    }
    for (size_t at = 0; at < c->n; at += BLOCK) {
        size_t n = c->n - at < BLOCK ? c->n - at : BLOCK;

        assay_load_values(c->x->dtype, x + at * size, v, n);
        if (c->l->op == ASSAY_OP_PRELU)
            count_branches(c, v, n);
        else if (c->l->op == ASSAY_OP_TABLE)
            mark_entries(c, v, n);
        else
            mark_segments(c, v, n);
    }
}
