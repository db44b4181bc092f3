/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells of one stored axis, chosen by constant indices: one strided copy for
 * each index. All are proved and counted from the front in check().
 */
#include "lib/engine/ops.h"

#include <inttypes.h>
#include <string.h>

struct params {
    struct assay_copy copy; /* of one index */
    const struct assay_copy_kernel *kernel;
    size_t n;           /* indices */
    const size_t *from; /* bytes, one an index; in the plan's memory */
    size_t step;        /* bytes from one index's output to the next */
};

/* Output dims: those of x, with the indices' dims instead of `axis`. */
static int check_shapes(const struct assay_op_check *c)
{
    const struct assay_tensor *x = assay_layer_input(c, 0);
    const struct assay_tensor *indices = assay_layer_input(c, 1);
    const struct assay_tensor *y = assay_layer_output(c);
    int32_t axis = c->layer->p.gather.axis;
    char a[ASSAY_SHAPE_TEXT], b[ASSAY_SHAPE_TEXT], d[ASSAY_SHAPE_TEXT];
    if (axis < 0 || (uint32_t)axis >= x->rank)
        return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                  "axis: expected 0 to %d, found %" PRId32,
                                  (int)x->rank - 1, axis);
    uint32_t at = (uint32_t)axis, in = indices->rank;
    bool fits = y->rank == x->rank - 1 + in;
    for (uint32_t i = 0; fits && i < y->rank; i++) {
        int64_t want = i < at        ? x->dims[i]
                       : i < at + in ? indices->dims[i - at]
                                     : x->dims[i - in + 1];
        fits = y->dims[i] == want;
    }
    if (fits)
        return 0;
    return ASSAY_REFUSE_LAYER(
        c, ASSAY_EFORMAT,
        "output shape: expected input %s with dims[%" PRId32 "] replaced by "
        "those of the indices, %s, found %s",
        assay_shape_text(x, a), axis, assay_shape_text(indices, b),
        assay_shape_text(y, d));
}

static int64_t index_at(const struct assay_tensor *t, size_t i)
{
    int64_t wide;
    int32_t narrow;
    if (t->dtype == ASSAY_S64) {
        memcpy(&wide, (const char *)t->data + i * sizeof(wide), sizeof(wide));
        return wide;
    }
    memcpy(&narrow, (const char *)t->data + i * sizeof(narrow), sizeof(narrow));
    return narrow;
}

static int check_indices(const struct assay_op_check *c, struct params *k,
                         size_t row)
{
    const struct assay_tensor *t = assay_layer_input(c, 1);
    int64_t cells = assay_layer_input(c, 0)->dims[c->layer->p.gather.axis];
    if (t->dtype != ASSAY_S32 && t->dtype != ASSAY_S64)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "indices dtype: expected int32 or int64, "
                                  "found %s",
                                  assay_dtype_name(t->dtype));
    int rc = assay_check_constant(c, "indices", t);
    if (rc)
        return rc;
    k->n = assay_tensor_elements(t);
    size_t *from = assay_arena_array(c->memory, k->n, sizeof(*from));
    if (!from)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EMEMORY, "no memory");
    for (size_t i = 0; i < k->n; i++) {
        int64_t found = index_at(t, i);
        if (found < -cells || found >= cells)
            return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                      "indices[%zu]: expected %" PRId64
                                      " to %" PRId64 ", found %" PRId64,
                                      i, -cells, cells - 1, found);
        from[i] = (size_t)(found < 0 ? found + cells : found) * row;
    }
    k->from = from;
    return 0;
}

static int check(const struct assay_op_check *c, struct assay_op_plan *plan)
{
    struct params *k = plan->params;
    const struct assay_tensor *x = assay_layer_input(c, 0);
    int rc = assay_check_dtype(c, "output", assay_layer_output(c),
                               "the input's", x->dtype);
    if (!rc)
        rc = assay_check_no_programs(c);
    if (!rc)
        rc = check_shapes(c);
    if (rc)
        return rc;
    uint32_t axis = (uint32_t)c->layer->p.gather.axis;
    int64_t outer = 1, inner = 1;
    for (uint32_t i = 0; i < x->rank; i++) {
        outer *= i < axis ? x->dims[i] : 1;
        inner *= i > axis ? x->dims[i] : 1;
    }
    k->copy.elem_size = assay_dtype_bytes(x->dtype);
    k->step = (size_t)inner * k->copy.elem_size;
    rc = check_indices(c, k, k->step);
    if (rc)
        return rc;
    k->copy.rank = 2;
    k->copy.dims[0] = outer;
    k->copy.dims[1] = inner;
    k->copy.src_strides[0] = x->dims[axis] * inner;
    k->copy.dst_strides[0] = (int64_t)k->n * inner;
    k->copy.src_strides[1] = k->copy.dst_strides[1] = 1;
    k->kernel = assay_pick_copy(c->table, &k->copy);
    plan->kernel = k->kernel->name;
    return 0;
}

static void run(const struct assay_op_plan *plan, const struct assay_op_io *io)
{
    const struct params *k = plan->params;
    const char *x = io->in[0];
    char *y = io->out;
    for (size_t i = 0; i < k->n; i++)
        k->kernel->run(&k->copy, x + k->from[i], y + i * k->step);
}

const struct assay_op_vtable assay_op_gather = {
    .number = ASSAY_OP_GATHER,
    .params_bytes = sizeof(struct params),
    .min_inputs = 2,
    .max_inputs = 2,
    .check = check,
    .run = run,
};
