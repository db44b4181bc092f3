/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A column whose parts come from two builds: inner tensors from one that was
 * built to show them, outputs from the one that is deployed. Showing a tensor
 * may change what is computed. It is seen where an output is made of an inner
 * tensor by moves and a dequantization alone, which can be undone: what comes
 * out is another tensor than the one that was shown. Not asked of --got, whose
 * tensors are of one run.
 */
#include <string.h>

#include "host-tools/cause/layout.h"
#include "host-tools/diff/backward.h"
#include "host-tools/run_lines.h"

static bool shown(const struct assay_run_side *k, uint32_t t)
{
    return k->observed.values[t] != NULL && !k->derived[t];
}

/* The same elements in another order are a layout, not another run. */
static bool is_another(const struct assay_tensor *t, const void *inner,
                       const void *made_of)
{
    struct assay_layout l;
    size_t n, bytes;

    return assay_tensor_count(t, &n, &bytes, NULL) == 0 &&
           memcmp(inner, made_of, bytes) != 0 &&
           !assay_layout_find(&l, t, inner, made_of, NULL, NULL);
}

/* The nearest tensor in front of the layer that the column shows and that its
 * output was not made of; -1: there is none. */
static int64_t other_inner(const struct assay_run *r,
                           const struct assay_run_side *k, uint32_t layer)
{
    const void *given = k->observed.values[r->s->layers[layer].output];
    void *owned = NULL;
    int64_t found = -1, at = layer;

    while (at >= 0 && given != NULL &&
           r->s->layers[at].op != ASSAY_OP_SKIPPED &&
           assay_backward_can(r->s, (uint32_t)at)) {
        uint32_t t = r->s->layers[at].inputs[0];
        struct assay_err ignored = {0};
        void *back = NULL;

        if (assay_backward(&back, r->s, (uint32_t)at, given, &ignored) < 0)
            break;
        assay_free(owned);
        given = owned = back;
        if (back != NULL && shown(k, t)) {
            if (is_another(&r->s->tensors[t], k->observed.values[t], back))
                found = t;
            break;
        }
        at = r->producer[t];
    }
    assay_free(owned);
    return found;
}

void assay_run_side_builds(struct assay_run *r, unsigned side)
{
    struct assay_run_side *k = &r->sides[side];

    if (side == ASSAY_CASE_GOT)
        return; /* of one run: what only moves may be what is wrong */
    for (uint32_t i = 0; i < r->s->n_layers; i++) {
        struct assay_column_facts *f = &k->facts[i];
        uint32_t y = r->s->layers[i].output;
        int64_t inner;

        /* Else it was made of just what the reference has there. */
        if (!shown(k, y) || !f->has_reference ||
            (f->inputs_equal && f->mismatch == 0))
            continue;
        inner = other_inner(r, k, i);
        if (inner < 0)
            continue;
        r->layers[i].side[side].other_build = true;
        r->layers[i].side[side].inner = (uint32_t)inner;
        f->other_build = k->dirty[inner];
    }
}

void assay_run_builds_lines(const struct assay_run *r, struct assay_lines *l)
{
    char text[ASSAY_LINE_TEXT];

    for (unsigned side = 0; side < ASSAY_SIDES; side++) {
        uint32_t first = 0, n = 0;

        for (uint32_t i = r->s->n_layers; i-- > 0;) {
            if (!r->layers[i].side[side].other_build)
                continue;
            first = i;
            n++;
        }
        if (n == 0)
            continue;
        assay_message(
            text, sizeof(text),
            r->layers[first].column[assay_side_column(side)].mismatch == 0
                ? ASSAY_MSG_BUILDS_OUTPUT_RIGHT
                : ASSAY_MSG_BUILDS,
            "column", assay_column_name(assay_side_column(side)), "layer",
            r->s->layers[first].name, "inner",
            r->s->tensors[r->layers[first].side[side].inner].name, "n",
            assay_num_u(n).text, NULL);
        assay_line_add(l, "", text);
    }
}
