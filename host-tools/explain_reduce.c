/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions: the elements of the axes that vanish, in stored order. */
#include <inttypes.h>
#include <stdio.h>

#include "host-tools/explain_private.h"

struct walk {
    uint32_t n; /* axes */
    int64_t dims[ASSAY_MAX_RANK], strides[ASSAY_MAX_RANK];
    int64_t index[ASSAY_MAX_RANK];
    int64_t at;
};

/* Axes that are reduced, from the element that the kept ones choose on. */
static void begin(const struct assay_explain *e, struct walk *w)
{
    const struct assay_tensor *x = assay_explain_input(e, 0);
    uint32_t axes = assay_explain_layer(e)->p.reduce.axes;
    size_t left = e->element;
    int64_t stride = 1;

    *w = (struct walk){0};
    for (uint32_t i = x->rank; i-- > 0; stride *= x->dims[i]) {
        if ((axes >> i & 1) == 0) {
            w->at += (int64_t)(left % (size_t)x->dims[i]) * stride;
            left /= (size_t)x->dims[i];
            continue;
        }
        w->dims[w->n] = x->dims[i];
        w->strides[w->n++] = stride;
    }
}

/* The innermost axis is the first one. */
static bool next(struct walk *w)
{
    for (uint32_t i = 0; i < w->n; i++) {
        w->at += w->strides[i];
        if (++w->index[i] < w->dims[i])
            return true;
        w->at -= w->strides[i] * w->dims[i];
        w->index[i] = 0;
    }
    return false;
}

struct reduced {
    union assay_value v;
    union assay_value most; /* ARG_MAX */
    int64_t cells;
};

static void take(enum assay_reduce_kind kind, bool is_float,
                 union assay_value cell, struct reduced *r)
{
    enum assay_combine how = ASSAY_COMBINE_ADD;

    if (kind == ASSAY_REDUCE_ARG_MAX) {
        if (r->cells == 0 || cell.i > r->most.i) {
            r->most = cell;
            r->v.i = r->cells;
        }
        return;
    }
    if (kind == ASSAY_REDUCE_FSUM)
        how = ASSAY_COMBINE_FADD;
    else if (kind == ASSAY_REDUCE_MAX)
        how = is_float ? ASSAY_COMBINE_FMAX : ASSAY_COMBINE_MAX;
    else if (kind == ASSAY_REDUCE_MIN)
        how = is_float ? ASSAY_COMBINE_FMIN : ASSAY_COMBINE_MIN;
    if (r->cells == 0 && kind == ASSAY_REDUCE_FSUM)
        r->v.f = 0.0f;
    else if (r->cells == 0)
        r->v = cell;
    if (r->cells > 0 || kind == ASSAY_REDUCE_FSUM)
        assay_combine(how, 0.0f, &r->v, &cell, 1);
}

void assay_explain_reduce(struct assay_explain *e)
{
    static const char *const names[] = {
        [ASSAY_REDUCE_SUM] = "  sum of %" PRId64 " cells",
        [ASSAY_REDUCE_MAX] = "  largest of %" PRId64 " cells",
        [ASSAY_REDUCE_MIN] = "  smallest of %" PRId64 " cells",
        [ASSAY_REDUCE_ARG_MAX] = "  place of the largest of %" PRId64 " cells",
        [ASSAY_REDUCE_FSUM] = "  sum of %" PRId64 " cells, in binary32",
    };
    const struct assay_layer *l = assay_explain_layer(e);
    const struct assay_tensor *x = assay_explain_input(e, 0);
    enum assay_reduce_kind kind = (enum assay_reduce_kind)l->p.reduce.kind;
    enum assay_value_kind of = assay_explain_kind(x);
    struct reduced r = {.cells = 0};
    struct walk w;
    char text[240], name[64];

    begin(e, &w);
    do {
        union assay_value cell = assay_explain_get(e, 0, (size_t)w.at);

        snprintf(text, sizeof(text), "    cell %" PRId64 " of %.150s", w.at,
                 x->name);
        if (e->taps)
            assay_explain_say_operand(e, of, cell, text);
        take(kind, of == ASSAY_VALUE_F32, cell, &r);
        r.cells++;
    } while (next(&w));
    snprintf(name, sizeof(name), names[kind], r.cells);
    assay_explain_program(
        e, &l->out_program,
        assay_explain_start(e,
                            kind == ASSAY_REDUCE_ARG_MAX ? ASSAY_VALUE_INT : of,
                            r.v, "%s", name),
        0, NULL, "  ");
}
