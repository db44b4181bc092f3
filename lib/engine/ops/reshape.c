/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other dims for the same elements, in the order of the *source's* layout:
 * what is stored NHWC is read as NCHW, and written likewise.
 *
 * Both sides are cut into common factors of their source dims; then one
 * strided copy does it. Where they have none ([2,3] to [3,2] of a permuted
 * tensor), it is a copy to the source's order in scratch, and one from there.
 */
#include "lib/engine/ops.h"

#include <inttypes.h>
#include <string.h>

struct params {
    const struct assay_copy_kernel *kernel[2];
    struct assay_copy copy[2];
    uint32_t n_copies; /* 1, or 2 through scratch */
};

/* Axes in the source's order, without those of length 1. */
struct axes {
    uint32_t n;
    int64_t dims[ASSAY_MAX_RANK], strides[ASSAY_MAX_RANK]; /* as stored */
};

static void source_axes(const struct assay_tensor *t, struct axes *out)
{
    int64_t dims[ASSAY_MAX_RANK], strides[ASSAY_MAX_RANK], step = 1;
    for (uint32_t i = t->rank; i-- > 0;) {
        dims[t->perm[i]] = t->dims[i];
        strides[t->perm[i]] = step;
        step *= t->dims[i];
    }
    out->n = 0;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (dims[i] == 1)
            continue;
        uint32_t last = out->n - 1;
        /* Neighbours that are stored as one axis are one. */
        if (out->n && out->strides[last] == strides[i] * dims[i]) {
            out->dims[last] *= dims[i];
            out->strides[last] = strides[i];
            continue;
        }
        out->dims[out->n] = dims[i];
        out->strides[out->n++] = strides[i];
    }
}

static int64_t greatest_common(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Both sides as one strided copy; false when there is none. */
static bool join(struct axes x, struct axes y, struct assay_copy *out)
{
    /* From the innermost: the rank that is left, and strides so far. */
    struct assay_copy back = {0};
    while (x.n && y.n) {
        int64_t *xd = &x.dims[x.n - 1], *yd = &y.dims[y.n - 1];
        int64_t n = greatest_common(*xd, *yd);
        if (n != *xd && n != *yd)
            return false;
        if (back.rank == ASSAY_KERNEL_RANK)
            return false;
        back.dims[back.rank] = n;
        back.src_strides[back.rank] = x.strides[x.n - 1];
        back.dst_strides[back.rank++] = y.strides[y.n - 1];
        x.strides[x.n - 1] *= n;
        y.strides[y.n - 1] *= n;
        *xd /= n;
        *yd /= n;
        x.n -= *xd == 1;
        y.n -= *yd == 1;
    }
    out->rank = back.rank;
    for (uint32_t i = 0; i < back.rank; i++) {
        uint32_t from = back.rank - 1 - i;
        out->dims[i] = back.dims[from];
        out->src_strides[i] = back.src_strides[from];
        out->dst_strides[i] = back.dst_strides[from];
    }
    if (out->rank == 0) { /* one element */
        out->rank = 1;
        out->dims[0] = out->src_strides[0] = out->dst_strides[0] = 1;
    }
    return true;
}

static void plan_copies(const struct assay_tensor *x,
                        const struct assay_tensor *y, struct params *k)
{
    struct axes from, to;
    source_axes(x, &from);
    source_axes(y, &to);
    k->n_copies = 1;
    if (join(from, to, &k->copy[0]))
        return;
    struct axes flat = {
        .n = 1, .dims = {(int64_t)assay_tensor_elements(x)}, .strides = {1}};
    /* A flat side has every factor, so that both halves exist. */
    k->n_copies = 2;
    bool first = join(from, flat, &k->copy[0]);
    bool second = join(flat, to, &k->copy[1]);
    (void)first;
    (void)second;
}

static int check(const struct assay_op_check *c, struct assay_op_plan *plan)
{
    struct params *k = plan->params;
    const struct assay_tensor *x = assay_layer_input(c, 0);
    const struct assay_tensor *y = assay_layer_output(c);
    char a[ASSAY_SHAPE_TEXT], b[ASSAY_SHAPE_TEXT];
    size_t n = assay_tensor_elements(x), size = assay_dtype_bytes(x->dtype);
    if (x->dtype != y->dtype)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "output dtype: expected the input's, %s, "
                                  "found %s",
                                  assay_dtype_name(x->dtype),
                                  assay_dtype_name(y->dtype));
    if (n != assay_tensor_elements(y))
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "output shape: expected the elements of "
                                  "input %s, found %s",
                                  assay_shape_text(x, a),
                                  assay_shape_text(y, b));
    if (c->layer->out_program.n_steps)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "out_program: expected 0 steps, found "
                                  "%" PRIu32,
                                  c->layer->out_program.n_steps);
    plan_copies(x, y, k);
    for (uint32_t i = 0; i < k->n_copies; i++) {
        k->copy[i].elem_size = size;
        k->kernel[i] = assay_pick_copy(c->table, &k->copy[i]);
    }
    plan->kernel = k->kernel[0]->name;
    plan->scratch_bytes = k->n_copies > 1 ? n * size : 0;
    return 0;
}

static void run(const struct assay_op_plan *plan, const struct assay_op_io *io)
{
    const struct params *k = plan->params;
    if (k->n_copies == 1) {
        k->kernel[0]->run(&k->copy[0], io->in[0], io->out);
        return;
    }
    k->kernel[0]->run(&k->copy[0], io->in[0], io->scratch);
    k->kernel[1]->run(&k->copy[1], io->scratch, io->out);
}

const struct assay_op_vtable assay_op_reshape = {
    .number = ASSAY_OP_RESHAPE,
    .params_bytes = sizeof(struct params),
    .min_inputs = 1,
    .max_inputs = 1,
    .check = check,
    .run = run,
};
