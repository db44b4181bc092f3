/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that take an element from one place of their inputs. */
#include "host-tools/explain.h"

void assay_explain_concat(const struct assay_explain *e, union assay_value *v)
{
    const struct assay_layer *l = assay_explain_layer(e);
    const struct assay_tensor *y = assay_explain_output(e);
    uint32_t axis = (uint32_t)l->p.concat.axis, input = 0;
    size_t inner = 1, outer, along;

    for (uint32_t a = axis + 1; a < y->rank; a++)
        inner *= (size_t)y->dims[a];
    along = e->element / inner % (size_t)y->dims[axis];
    outer = e->element / inner / (size_t)y->dims[axis];
    while (along >= (size_t)assay_explain_input(e, input)->dims[axis])
        along -= (size_t)assay_explain_input(e, input++)->dims[axis];
    assay_explain_operand(
        e, input,
        (outer * (size_t)assay_explain_input(e, input)->dims[axis] + along) *
                inner +
            e->element % inner,
        v);
    if (input < l->n_in_programs)
        assay_explain_program(
            e, &l->in_programs[input],
            along % assay_explain_channels(assay_explain_input(e, input)), NULL,
            v, assay_explain_input(e, input)->dtype == ASSAY_F32, "  ");
}

void assay_explain_view(const struct assay_explain *e, union assay_value *v)
{
    const struct assay_view_params *p = &assay_explain_layer(e)->p.view;
    size_t left = e->element;
    int64_t at = p->offset;

    for (uint32_t a = p->rank; a-- > 0;) {
        at += (int64_t)(left % (size_t)p->dims[a]) * p->strides[a];
        left /= (size_t)p->dims[a];
    }
    assay_explain_operand(e, 0, (size_t)at, v);
}
