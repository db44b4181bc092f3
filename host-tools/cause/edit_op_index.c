/* SPDX-License-Identifier: Apache-2.0 */
/* O2, O12, O13: where is read: coordinates of a resize, indices, ties. */
#include <math.h>
#include <string.h>

#include "host-tools/cause/edit_graph.h"
#include "host-tools/cause/edit_op.h"
#include "host-tools/cause/edit_program.h"

enum { HALF_PIXEL, ASYMMETRIC, ALIGN_CORNERS, FEWER_BITS };

/* ---- resize ------------------------------------------------------------ */

/* Position i of n reads i * step + start, in 2^-bits of m cells. */
static void coordinates(uint32_t variant, int64_t n, int64_t m, int bits,
                        int32_t *step, int32_t *start)
{
    double ratio = (double)m / (double)n, one = ldexp(1.0, bits);

    if (variant == ALIGN_CORNERS)
        ratio = n > 1 ? (double)(m - 1) / (double)(n - 1) : 0;
    *step = (int32_t)rint(fmin(ratio * one, INT32_MAX));
    *start = 0;
    if (variant == HALF_PIXEL)
        *start = (int32_t)rint(fmin((ratio - 1) / 2 * one, INT32_MAX));
}

static bool near(int32_t a, int32_t b)
{
    return a - (int64_t)b <= 1 && b - (int64_t)a <= 1;
}

static int other_coordinates(const struct assay_slice *s, struct assay_layer *l,
                             uint32_t variant)
{
    struct assay_resize_params *p = &l->p.resize, q = *p;
    const int64_t *x = s->tensors[l->inputs[0]].dims;
    const int64_t *y = s->tensors[l->output].dims;

    coordinates(variant, y[1], x[1], p->decimal_bits, &q.step_h, &q.start_h);
    coordinates(variant, y[2], x[2], p->decimal_bits, &q.step_w, &q.start_w);
    if (q.step_h == p->step_h && q.start_h == p->start_h &&
        q.step_w == p->step_w && q.start_w == p->start_w)
        return ASSAY_EDIT_SAME;
    /* The same form, with a step that was rounded in another way. */
    if (near(q.step_h, p->step_h) && near(q.start_h, p->start_h) &&
        near(q.step_w, p->step_w) && near(q.start_w, p->start_w))
        return ASSAY_EDIT_NOT_HERE;
    *p = q;
    return 0;
}

/* Weights of one bit less; the sum is put back to its scale. */
static int fewer_bits(struct assay_slice *s, struct assay_layer *l,
                      struct assay_err *err)
{
    int rc;

    if (l->p.resize.weight_bits < 2)
        return ASSAY_EDIT_NOT_HERE;
    rc = assay_edit_insert(s, &l->out_program, 0, ASSAY_STEP_SHL, 2, 0, err);
    if (!rc)
        l->p.resize.weight_bits--;
    return rc;
}

/* ---- indices ----------------------------------------------------------- */

/* The axis of an arg max; -1: it is none. */
static int place_axis(const struct assay_layer *l)
{
    if (l->op != ASSAY_OP_REDUCE || l->p.reduce.kind != ASSAY_REDUCE_ARG_MAX)
        return -1;
    for (int i = 0; i < ASSAY_MAX_RANK; i++)
        if (l->p.reduce.axes == 1u << i)
            return i;
    return -1;
}

/* The last of equal elements: the first one from behind. */
static int last_of_ties(struct assay_slice *s, uint32_t *layer,
                        struct assay_err *err)
{
    struct assay_layer *l = &s->layers[*layer];
    struct assay_view_params view = {0};
    const struct assay_tensor *x;
    int axis = place_axis(l);
    int64_t n, step = 1;
    int rc;

    if (axis < 0 || l->out_program.n_steps + 2 > ASSAY_MAX_STEPS)
        return ASSAY_EDIT_NOT_HERE;
    x = &s->tensors[l->inputs[0]];
    n = x->dims[axis];
    if (n == 1)
        return ASSAY_EDIT_SAME;
    view.rank = x->rank;
    for (uint32_t i = x->rank; i-- > 0;) {
        view.dims[i] = x->dims[i];
        view.strides[i] = step;
        step *= x->dims[i];
    }
    view.offset = (n - 1) * view.strides[axis];
    view.strides[axis] = -view.strides[axis];
    rc =
        assay_edit_insert(s, &l->out_program, 0, ASSAY_STEP_ADD, n - 1, 0, err);
    if (!rc)
        rc = assay_edit_insert(s, &l->out_program, 0, ASSAY_STEP_MUL, -1, 0,
                               err);
    return rc ? rc : assay_edit_view_before(s, layer, 0, &view, err);
}

/* Indices of a gather, one more each; behind the last is the first. */
static int gather_next(struct assay_slice *s, struct assay_layer *l,
                       struct assay_err *err)
{
    uint32_t given = l->inputs[1], index;
    const struct assay_tensor *t = &s->tensors[given];
    int64_t cells = s->tensors[l->inputs[0]].dims[l->p.gather.axis];
    size_t width = assay_dtype_bytes(t->dtype);
    uint8_t *data;
    int rc;

    if (t->role != ASSAY_ROLE_CONSTANT)
        return ASSAY_EDIT_NOT_HERE;
    if (cells == 1)
        return ASSAY_EDIT_SAME;
    data = assay_arena_copy(s->arena, t->data, t->size);
    if (!data)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for edited indices");
    for (size_t at = 0; at + width <= t->size; at += width) {
        int32_t narrow;
        int64_t wide;

        memcpy(&wide, data + at, width < 8 ? 0 : 8);
        memcpy(&narrow, data + at, 4);
        wide = ((width < 8 ? narrow : wide) + cells + 1) % cells;
        narrow = (int32_t)wide;
        memcpy(data + at, width < 8 ? (void *)&narrow : (void *)&wide, width);
    }
    rc = assay_edit_constant(s, given, data, &index, err);
    if (!rc)
        l->inputs[1] = index;
    return rc;
}

static int off_by_one(struct assay_slice *s, struct assay_layer *l,
                      struct assay_err *err)
{
    int64_t lo, hi;
    int axis = place_axis(l);

    if (l->op == ASSAY_OP_GATHER)
        return gather_next(s, l, err);
    if (axis < 0)
        return ASSAY_EDIT_NOT_HERE;
    assay_dtype_range(s->tensors[l->output].dtype, &lo, &hi);
    if (s->tensors[l->inputs[0]].dims[axis] > hi)
        return ASSAY_EDIT_NOT_HERE;
    return assay_edit_insert(s, &l->out_program, 0, ASSAY_STEP_ADD, 1, 0, err);
}

int assay_edit_op_index(struct assay_slice *s, uint32_t *layer,
                        const struct assay_edit *e, struct assay_err *err)
{
    struct assay_layer *l = &s->layers[*layer];

    if (e->id == ASSAY_CAUSE_O12)
        return last_of_ties(s, layer, err);
    if (e->id == ASSAY_CAUSE_O13)
        return off_by_one(s, l, err);
    if (l->op != ASSAY_OP_RESIZE)
        return ASSAY_EDIT_NOT_HERE;
    return e->variant == FEWER_BITS ? fewer_bits(s, l, err)
                                    : other_coordinates(s, l, e->variant);
}
