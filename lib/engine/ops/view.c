/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of x at strides: transpose, slice, split, tile, expand, depth to
 * space and nearest upsampling are one strided copy each.
 */
#include "lib/engine/ops.h"

#include <inttypes.h>

struct params {
    struct assay_copy copy;
    const struct assay_copy_kernel *kernel;
    size_t offset; /* bytes */
};

/* The elements of dims are those of the output. */
static int check_dims(const struct assay_op_check *c)
{
    const struct assay_view_params *v = &c->layer->p.view;
    size_t want = assay_tensor_elements(assay_layer_output(c)), found = 1;
    if (v->rank < 1 || v->rank > ASSAY_MAX_RANK)
        return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                  "view rank: expected 1 to %d, found "
                                  "%" PRIu32,
                                  ASSAY_MAX_RANK, v->rank);
    bool fits = true;
    for (uint32_t i = 0; i < v->rank; i++) {
        if (v->dims[i] < 1)
            return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                      "view dims[%" PRIu32 "]: expected at "
                                      "least 1, found %" PRId64,
                                      i, v->dims[i]);
        fits = fits && assay_mul_size(found, (size_t)v->dims[i], &found);
    }
    if (!fits)
        return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                  "view dims: their product is too large");
    if (found != want)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "view dims: expected %zu elements, those of "
                                  "the output, found %zu",
                                  want, found);
    return 0;
}

/* No index leaves the input. */
static int check_indices(const struct assay_op_check *c)
{
    const struct assay_view_params *v = &c->layer->p.view;
    size_t n = assay_tensor_elements(assay_layer_input(c, 0));
    int64_t lo = v->offset, hi = v->offset;
    for (uint32_t i = 0; i < v->rank; i++) {
        int64_t reach, *end = v->strides[i] < 0 ? &lo : &hi;
        if (__builtin_mul_overflow(v->dims[i] - 1, v->strides[i], &reach) ||
            __builtin_add_overflow(*end, reach, end))
            return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                      "view strides[%" PRIu32 "]: the index "
                                      "can leave 64 bits, found %" PRId64,
                                      i, v->strides[i]);
    }
    if (lo < 0 || (uint64_t)hi >= n)
        return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                  "view indices: expected 0 to %zu, the "
                                  "input's, found %" PRId64 " to %" PRId64,
                                  n - 1, lo, hi);
    return 0;
}

/* Does the outer axis step over just what the inner one holds? */
static bool joins(int64_t outer_stride, int64_t stride, int64_t dim)
{
    int64_t held;
    return !__builtin_mul_overflow(stride, dim, &held) && outer_stride == held;
}

/*
 * Without axes of length 1, whose strides may be anything, and with
 * neighbours that lie as one axis joined: long rows are copied at once.
 */
static void fill_copy(const struct assay_view_params *v,
                      struct assay_copy *copy)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < v->rank; i++) {
        if (v->dims[i] == 1)
            continue;
        if (rank > 0 &&
            joins(copy->src_strides[rank - 1], v->strides[i], v->dims[i])) {
            copy->dims[rank - 1] *= v->dims[i];
            copy->src_strides[rank - 1] = v->strides[i];
            continue;
        }
        copy->dims[rank] = v->dims[i];
        copy->src_strides[rank++] = v->strides[i];
    }
    if (rank == 0) { /* one element */
        copy->dims[0] = copy->src_strides[0] = 1;
        rank = 1;
    }
    copy->rank = rank;
    int64_t step = 1;
    for (uint32_t i = rank; i-- > 0;) {
        copy->dst_strides[i] = step;
        step *= copy->dims[i];
    }
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
        rc = check_dims(c);
    if (!rc)
        rc = check_indices(c);
    if (rc)
        return rc;
    fill_copy(&c->layer->p.view, &k->copy);
    k->copy.elem_size = assay_dtype_bytes(x->dtype);
    k->offset = (size_t)c->layer->p.view.offset * k->copy.elem_size;
    k->kernel = assay_pick_copy(c->table, &k->copy);
    plan->kernel = k->kernel->name;
    return 0;
}

static void run(const struct assay_op_plan *plan, const struct assay_op_io *io)
{
    const struct params *k = plan->params;
    k->kernel->run(&k->copy, (const char *)io->in[0] + k->offset, io->out);
}

const struct assay_op_vtable assay_op_view = {
    .number = ASSAY_OP_VIEW,
    .params_bytes = sizeof(struct params),
    .min_inputs = 1,
    .max_inputs = 1,
    .check = check,
    .run = run,
};
