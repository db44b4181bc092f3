/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard operators between those of the domain: on integers where their
 * meaning is exact, on floats where the vendor's chain leaves them to the CPU.
 */
#include <float.h>
#include <string.h>

#include "host-tools/model/onnx_hz.h"

enum several { SEVERAL_MAX, SEVERAL_MIN, SEVERAL_SUM, SEVERAL_MEAN };

/* How integers and how floats are joined; 0: not known. */
static const enum assay_combine joins[][2] = {
    [SEVERAL_MAX] = {ASSAY_COMBINE_MAX, ASSAY_COMBINE_FMAX},
    [SEVERAL_MIN] = {ASSAY_COMBINE_MIN, ASSAY_COMBINE_FMIN},
    [SEVERAL_SUM] = {0, ASSAY_COMBINE_FADD},
    [SEVERAL_MEAN] = {0, ASSAY_COMBINE_FADD},
};

/* A pair of operands of one type, into the output or a tensor in between. */
static int join(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                uint32_t *a, uint32_t b, bool last, enum several kind,
                struct assay_layer **l)
{
    enum assay_dtype dtype = im->s->tensors[*a].dtype;
    enum assay_dtype other = im->s->tensors[b].dtype;
    int rc;

    if (other != dtype)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT, "operands of %s and %s",
                               assay_dtype_name(dtype),
                               assay_dtype_name(other));
    rc = assay_hz_pair(im, n, (uint32_t[]){*a, b}, last ? 0 : dtype,
                       1u << dtype, "", joins[kind][dtype == ASSAY_F32], l);
    if (!rc)
        *a = (*l)->output;
    return rc;
}

/* Max, Min, Sum, Mean of any number of operands, pair by pair. */
int assay_hz_several(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n)
{
    enum several kind = !strcmp(n->op, "Max")   ? SEVERAL_MAX
                        : !strcmp(n->op, "Min") ? SEVERAL_MIN
                        : !strcmp(n->op, "Sum") ? SEVERAL_SUM
                                                : SEVERAL_MEAN;
    unsigned mask =
        joins[kind][0] ? ASSAY_HZ_INTS | ASSAY_HZ_F32 : ASSAY_HZ_F32;
    struct assay_builder builder;
    struct assay_layer *l;
    uint32_t a, b;
    int rc = assay_hz_input(im, n, 0, "operand", mask, &a);

    if (!rc && n->n_in == 1)
        return assay_hz_like(im, n, ASSAY_OP_UNARY, 1, &a,
                             1u << im->s->tensors[a].dtype, "", &l);
    for (uint32_t i = 1; !rc && i < n->n_in; i++) {
        rc = assay_hz_input(im, n, i, "operand", mask, &b);
        if (!rc)
            rc = join(im, n, &a, b, i + 1 == n->n_in, kind, &l);
    }
    if (rc || kind != SEVERAL_MEAN)
        return rc;
    assay_hz_begin(&builder, im);
    assay_build_f32(&builder, ASSAY_STEP_FDIV, (float)n->n_in);
    return assay_hz_end(im, n, &builder, &l->out_program);
}

/* Integers wrap, as the C that everybody uses for it does. */
int assay_hz_cast(struct assay_onnx_import *im, const struct assay_onnx_node *n)
{
    static const int64_t types[] = {[ASSAY_F32] = 1,
                                    [ASSAY_S8] = 3,
                                    [ASSAY_S16] = 5,
                                    [ASSAY_S32] = 6,
                                    [ASSAY_S64] = 7};
    struct assay_builder b;
    struct assay_layer *l;
    enum assay_dtype from, to = 0;
    int64_t type;
    uint32_t x;
    int rc = assay_hz_int(im, n, "to", 1, 64, NULL, &type);

    if (!rc)
        rc =
            assay_hz_input(im, n, 0, "input", ASSAY_HZ_INTS | ASSAY_HZ_F32, &x);
    if (!rc)
        rc = assay_hz_out_dtype(im, n, 0, ASSAY_HZ_ANY, &to);
    if (rc)
        return rc;
    from = im->s->tensors[x].dtype;
    if (types[to] != type)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "attribute 'to': %lld, but the output is %s",
                               (long long)type, assay_dtype_name(to));
    if (from == ASSAY_F32 && to != ASSAY_F32 && to != ASSAY_S32)
        return assay_onnx_skip(im, "'Cast' from float32 to %s",
                               assay_dtype_name(to));
    rc = assay_hz_like(im, n, ASSAY_OP_UNARY, 1, &x, ASSAY_HZ_ANY, "", &l);
    if (rc)
        return rc;
    assay_hz_begin(&b, im);
    if (from == ASSAY_F32 && to == ASSAY_S32)
        assay_build_plain(&b, ASSAY_STEP_FROUND, ASSAY_ROUND_TRUNC);
    else if (from != ASSAY_F32 && to == ASSAY_F32)
        assay_build_plain(&b, ASSAY_STEP_TO_F32, ASSAY_ROUND_FLOOR);
    else if (assay_dtype_bytes(to) < assay_dtype_bytes(from))
        assay_build_bits(&b, ASSAY_STEP_WRAP,
                         (uint8_t)(assay_dtype_bytes(to) * 8));
    return assay_hz_end(im, n, &b, &l->out_program);
}

int assay_hz_neg(struct assay_onnx_import *im, const struct assay_onnx_node *n)
{
    struct assay_builder b;
    struct assay_layer *l;
    uint32_t x;
    int rc = assay_hz_input(im, n, 0, "input", ASSAY_HZ_F32, &x);

    if (!rc)
        rc = assay_hz_like(im, n, ASSAY_OP_UNARY, 1, &x, ASSAY_HZ_F32, "", &l);
    if (rc)
        return rc;
    assay_hz_begin(&b, im);
    assay_build_f32(&b, ASSAY_STEP_FMUL, -1);
    return assay_hz_end(im, n, &b, &l->out_program);
}

int assay_hz_relu(struct assay_onnx_import *im, const struct assay_onnx_node *n)
{
    struct assay_builder b;
    struct assay_layer *l;
    enum assay_dtype dtype;
    int64_t lo, hi;
    uint32_t x;
    int rc =
        assay_hz_input(im, n, 0, "input", ASSAY_HZ_INTS | ASSAY_HZ_F32, &x);

    if (rc)
        return rc;
    dtype = im->s->tensors[x].dtype;
    rc = assay_hz_like(im, n, ASSAY_OP_UNARY, 1, &x, 1u << dtype, "", &l);
    if (rc)
        return rc;
    assay_dtype_range(dtype, &lo, &hi);
    assay_hz_begin(&b, im);
    if (dtype == ASSAY_F32)
        assay_build_f32_pair(&b, ASSAY_STEP_FCLAMP, 0, FLT_MAX);
    else
        assay_build_clamp(&b, 0, hi);
    return assay_hz_end(im, n, &b, &l->out_program);
}

/* ---- reductions --------------------------------------------------------- */

static int reduced_axes(struct assay_onnx_import *im,
                        const struct assay_onnx_node *n, uint32_t rank,
                        uint16_t *axes)
{
    int64_t list[ASSAY_MAX_RANK], zero = 0, noop;
    uint32_t count;
    bool found;
    int rc = assay_hz_ints(im, n, "axes", 1, list, &count, &found);

    if (!rc)
        rc = assay_hz_int(im, n, "noop_with_empty_axes", 0, 1, &zero, &noop);
    if (rc)
        return rc;
    *axes = 0;
    if (!count && noop)
        return assay_onnx_skip(im, "'%s' over nothing", n->op);
    for (uint32_t i = 0; !count && i < rank; i++)
        *axes |= (uint16_t)(1u << i);
    for (uint32_t i = 0; i < count; i++) {
        int64_t axis = list[i] < 0 ? list[i] + rank : list[i];

        if (axis < 0 || axis >= rank)
            return assay_onnx_fail(im, n, ASSAY_ERANGE,
                                   "axes: %lld does not fit rank %u",
                                   (long long)list[i], rank);
        *axes |= (uint16_t)(1u << axis);
    }
    return rank ? 0 : assay_onnx_skip(im, "'%s' of a scalar", n->op);
}

int assay_hz_std_reduce(struct assay_onnx_import *im,
                        const struct assay_onnx_node *n)
{
    bool max = !strcmp(n->op, "ReduceMax"), min = !strcmp(n->op, "ReduceMin");
    unsigned mask = max || min ? ASSAY_HZ_INTS | ASSAY_HZ_F32 : ASSAY_HZ_F32;
    int64_t dims[ASSAY_MAX_RANK], keep, one = 1, count = 1;
    const struct assay_tensor *t;
    struct assay_builder b;
    struct assay_layer *l;
    uint32_t x, y, rank = 0;
    uint16_t axes;
    int rc = assay_hz_int(im, n, "keepdims", 0, 1, &one, &keep);

    if (!rc)
        rc = assay_hz_input(im, n, 0, "input", mask, &x);
    if (!rc)
        rc = reduced_axes(im, n, im->s->tensors[x].rank, &axes);
    if (rc)
        return rc;
    t = &im->s->tensors[x];
    for (uint32_t i = 0; i < t->rank; i++) {
        bool gone = axes >> i & 1;

        count *= gone ? t->dims[i] : 1;
        if (!gone || keep)
            dims[rank++] = gone ? 1 : t->dims[i];
    }
    rc = assay_hz_output(im, n, 0, 1u << t->dtype, rank, dims, t->axes, &y);
    if (!rc)
        rc = assay_onnx_new_layer(im, n, ASSAY_OP_REDUCE, 1, &x, y, &l);
    if (rc)
        return rc;
    l->p.reduce.kind = max   ? ASSAY_REDUCE_MAX
                       : min ? ASSAY_REDUCE_MIN
                             : ASSAY_REDUCE_FSUM;
    l->p.reduce.axes = axes;
    if (strcmp(n->op, "ReduceMean"))
        return 0;
    assay_hz_begin(&b, im);
    assay_build_f32(&b, ASSAY_STEP_FDIV, (float)count);
    return assay_hz_end(im, n, &b, &l->out_program);
}

/* ---- softmax ------------------------------------------------------------ */

/* Before opset 13 everything from the axis on is one row. */
static int softmax_flat(struct assay_onnx_import *im,
                        const struct assay_onnx_node *n, uint32_t x,
                        int64_t axis)
{
    const struct assay_tensor *t = &im->s->tensors[x];
    int64_t dims[ASSAY_MAX_RANK], flat[2] = {1, 1};
    struct assay_layer *l;
    uint32_t in, mid, y, rank = t->rank;
    int rc;

    memcpy(dims, t->dims, sizeof(dims));
    for (uint32_t i = 0; i < rank; i++)
        flat[i >= axis] *= dims[i];
    rc = assay_hz_output(im, n, 0, ASSAY_HZ_F32, rank, dims, t->axes, &y);
    if (!rc)
        rc = assay_hz_between(im, n, ASSAY_F32, 2, flat, &in);
    if (!rc)
        rc = assay_hz_between(im, n, ASSAY_F32, 2, flat, &mid);
    if (!rc)
        rc = assay_onnx_new_helper(im, n, ASSAY_OP_RESHAPE, x, in);
    if (!rc)
        rc = assay_onnx_new_layer(im, n, ASSAY_OP_SOFTMAX, 1, &in, mid, &l);
    if (rc)
        return rc;
    l->p.softmax.kind = ASSAY_SOFTMAX_F32;
    return assay_onnx_new_helper(im, n, ASSAY_OP_RESHAPE, mid, y);
}

/* The output is stored with the axis last, so that the layer of the node is
 * the one whose output the reference has. */
int assay_hz_std_softmax(struct assay_onnx_import *im,
                         const struct assay_onnx_node *n)
{
    bool old = im->g->opset < 13;
    int64_t axis, dims[ASSAY_MAX_RANK], behind = 1;
    uint8_t perm[ASSAY_MAX_RANK];
    struct assay_layer *l;
    uint32_t x, y, rank, at = 0;
    int rc = assay_hz_input(im, n, 0, "input", ASSAY_HZ_F32, &x);

    if (rc)
        return rc;
    rank = im->s->tensors[x].rank;
    if (!rank)
        return assay_onnx_skip(im, "'Softmax' of a scalar");
    rc = assay_onnx_axis(im, n, old ? 1 : -1, rank, &axis);
    if (rc)
        return rc;
    memcpy(dims, im->s->tensors[x].dims, sizeof(dims));
    for (uint32_t i = (uint32_t)axis + 1; i < rank; i++)
        behind *= dims[i];
    if (old && behind > 1)
        return softmax_flat(im, n, x, axis);
    for (uint32_t i = 0; i < rank; i++)
        if (i != axis)
            perm[at++] = (uint8_t)i;
    perm[at] = (uint8_t)axis;
    rc = assay_onnx_reorder(im, n, perm, &x);
    im->perm = perm;
    if (!rc)
        rc = assay_hz_output(im, n, 0, ASSAY_HZ_F32, rank, dims, "", &y);
    im->perm = NULL;
    if (!rc)
        rc = assay_onnx_new_layer(im, n, ASSAY_OP_SOFTMAX, 1, &x, y, &l);
    if (!rc)
        l->p.softmax.kind = ASSAY_SOFTMAX_F32;
    return rc;
}
