/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that take an element from one place of their inputs. */
#include <inttypes.h>

#include "host-tools/explain_private.h"

void assay_explain_concat(struct assay_explain *e)
{
    const struct assay_layer *l = assay_explain_layer(e);
    const struct assay_tensor *y = assay_explain_output(e);
    uint32_t axis = (uint32_t)l->p.concat.axis, input = 0, at;
    size_t inner = 1, outer, along;

    for (uint32_t a = axis + 1; a < y->rank; a++)
        inner *= (size_t)y->dims[a];
    along = e->element / inner % (size_t)y->dims[axis];
    outer = e->element / inner / (size_t)y->dims[axis];
    while (along >= (size_t)assay_explain_input(e, input)->dims[axis])
        along -= (size_t)assay_explain_input(e, input++)->dims[axis];
    at = assay_explain_element(
        e, input,
        (outer * (size_t)assay_explain_input(e, input)->dims[axis] + along) *
                inner +
            e->element % inner);
    if (input >= l->n_in_programs)
        return;
    /* Channels are those of the input: its last axis. */
    assay_explain_program(
        e, &l->in_programs[input], at,
        axis + 1 == y->rank ? along : assay_explain_channel(e), NULL, "  ");
}

void assay_explain_view(struct assay_explain *e)
{
    const struct assay_view_params *p = &assay_explain_layer(e)->p.view;
    size_t left = e->element;
    int64_t at = p->offset;

    for (uint32_t a = p->rank; a-- > 0;) {
        at += (int64_t)(left % (size_t)p->dims[a]) * p->strides[a];
        left /= (size_t)p->dims[a];
    }
    assay_explain_element(e, 0, (size_t)at);
}

/* Element of t, stored order, to its number in the source's order. */
static size_t to_source(const struct assay_tensor *t, size_t element)
{
    int64_t dims[ASSAY_MAX_RANK], index[ASSAY_MAX_RANK];
    size_t at = 0;

    assay_tensor_source_dims(t, dims);
    for (uint32_t a = t->rank; a-- > 0;) {
        index[t->perm[a]] = (int64_t)(element % (size_t)t->dims[a]);
        element /= (size_t)t->dims[a];
    }
    for (uint32_t a = 0; a < t->rank; a++)
        at = at * (size_t)dims[a] + (size_t)index[a];
    return at;
}

static size_t from_source(const struct assay_tensor *t, size_t number)
{
    int64_t dims[ASSAY_MAX_RANK], index[ASSAY_MAX_RANK];
    size_t at = 0;

    assay_tensor_source_dims(t, dims);
    for (uint32_t a = t->rank; a-- > 0;) {
        index[a] = (int64_t)(number % (size_t)dims[a]);
        number /= (size_t)dims[a];
    }
    for (uint32_t a = 0; a < t->rank; a++)
        at = at * (size_t)t->dims[a] + (size_t)index[t->perm[a]];
    return at;
}

/* Both sides have the order of their source's layout. */
void assay_explain_reshape(struct assay_explain *e)
{
    size_t number = to_source(assay_explain_output(e), e->element);

    assay_explain_element(e, 0, from_source(assay_explain_input(e, 0), number));
}

void assay_explain_gather(struct assay_explain *e)
{
    uint32_t axis = (uint32_t)assay_explain_layer(e)->p.gather.axis;
    const struct assay_tensor *x = assay_explain_input(e, 0),
                              *indices = assay_explain_input(e, 1);
    size_t cells = (size_t)x->dims[axis], inner = 1, n = 1, outer;
    union assay_value index;

    for (uint32_t a = axis + 1; a < x->rank; a++)
        inner *= (size_t)x->dims[a];
    for (uint32_t a = 0; a < indices->rank; a++)
        n *= (size_t)indices->dims[a];
    outer = e->element / inner / n;
    index = assay_explain_get(e, 1, e->element / inner % n);
    assay_explain_say(e, ASSAY_VALUE_INT, index, "  index %zu of %.150s",
                      e->element / inner % n, indices->name);
    index.i += index.i < 0 ? (int64_t)cells : 0;
    assay_explain_element(
        e, 0, (outer * cells + (size_t)index.i) * inner + e->element % inner);
}

void assay_explain_select(struct assay_explain *e)
{
    const struct assay_tensor *condition = assay_explain_input(e, 0);
    size_t at = assay_explain_broadcast(e, condition);
    union assay_value c = assay_explain_get(e, 0, at);
    uint32_t input = c.i != 0 ? 1 : 2;

    assay_explain_say(e, ASSAY_VALUE_INT, c,
                      "  condition, element %zu of %.150s: %s", at,
                      condition->name, c.i != 0 ? "not 0, a" : "0, b");
    assay_explain_element(
        e, input, assay_explain_broadcast(e, assay_explain_input(e, input)));
}
