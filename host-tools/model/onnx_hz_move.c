/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves without arithmetic: split, slice, gather, tile, expand, concat. Almost
 * all are one VIEW layer: strides over the stored input.
 */
#include <string.h>

#include "host-tools/model/onnx_hz.h"

int assay_hz_view(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                  uint32_t x, uint32_t y, const struct assay_view_params *v)
{
    struct assay_layer *l;
    int rc = assay_onnx_new_layer(im, n, ASSAY_OP_VIEW, 1, &x, y, &l);

    if (!rc)
        l->p.view = *v;
    return rc;
}

/* The input read element by element. */
static void plain_view(const struct assay_tensor *t,
                       struct assay_view_params *v)
{
    int64_t step = 1;

    memset(v, 0, sizeof(*v));
    v->rank = t->rank ? t->rank : 1;
    v->dims[0] = 1;
    for (uint32_t i = t->rank; i-- > 0;) {
        v->dims[i] = t->dims[i];
        v->strides[i] = step;
        step *= t->dims[i];
    }
}

/* The output has the view's dims and the input's type and labels. */
static int view_out(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n, uint32_t out, uint32_t x,
                    const struct assay_view_params *v)
{
    const struct assay_tensor *t = &im->s->tensors[x];
    uint32_t y;
    int rc = assay_hz_output(im, n, out, 1u << t->dtype, t->rank, v->dims,
                             t->axes, &y);

    return rc ? rc : assay_hz_view(im, n, x, y, v);
}

/* ---- split, slice ------------------------------------------------------- */

static int split_sizes(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, int64_t whole,
                       int64_t *sizes)
{
    uint32_t count;
    int64_t sum = 0, each = (whole + n->n_out - 1) / n->n_out;
    bool found;
    int rc;

    if (n->n_out > ASSAY_MAX_RANK &&
        (assay_onnx_attr(n, "split") || n->n_in > 1))
        return assay_onnx_skip(im, "'Split' into %u parts, more than %d",
                               n->n_out, ASSAY_MAX_RANK);
    rc = assay_hz_ints(im, n, "split", 1, sizes, &count, &found);
    if (rc)
        return rc;
    if (found && count != n->n_out)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "split: %u sizes for %u outputs", count,
                               n->n_out);
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (!found)
            sizes[i] = whole - sum < each ? whole - sum : each;
        if (sizes[i] < 1 || sizes[i] > whole - sum)
            return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                                   "split: part %u of %lld, of %lld elements",
                                   i, (long long)sizes[i], (long long)whole);
        sum += sizes[i];
    }
    if (sum != whole)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "split: %lld elements of %lld", (long long)sum,
                               (long long)whole);
    return 0;
}

/* A layer for each output. */
int assay_hz_split(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n)
{
    struct assay_view_params v;
    int64_t axis, *sizes;
    uint32_t x;
    int rc = assay_hz_input(im, n, 0, "input", ASSAY_HZ_ANY, &x);

    if (rc)
        return rc;
    sizes =
        assay_arena_array(im->g->arena, (size_t)n->n_out + ASSAY_MAX_RANK, 8);
    if (!sizes)
        return assay_onnx_no_memory(im);
    rc = assay_onnx_axis(im, n, 0, im->s->tensors[x].rank, &axis);
    if (rc)
        return rc;
    plain_view(&im->s->tensors[x], &v);
    rc = split_sizes(im, n, v.dims[axis], sizes);
    for (uint32_t i = 0; !rc && i < n->n_out; i++) {
        v.dims[axis] = sizes[i];
        if (n->out[i] != ASSAY_ONNX_NONE)
            rc = view_out(im, n, i, x, &v);
        v.offset += sizes[i] * v.strides[axis];
    }
    return rc;
}

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* One axis of ONNX's rules: negative counts from the end, then clamped. */
static int slice_axis(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n, int64_t start,
                      int64_t end, int64_t axis, int64_t step,
                      struct assay_view_params *v)
{
    int64_t size = v->dims[axis], count;

    if (step == 0 || step < -INT32_MAX || step > INT32_MAX)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT, "steps: %lld",
                               (long long)step);
    start = clamp(start, INT32_MIN, INT32_MAX);
    end = clamp(end, INT32_MIN, INT32_MAX);
    start = start < 0 ? start + size : start;
    end = end < 0 ? end + size : end;
    if (step > 0) {
        start = clamp(start, 0, size);
        end = clamp(end, 0, size);
        count = (end - start + step - 1) / step;
    } else {
        start = clamp(start, 0, size - 1);
        end = clamp(end, -1, size - 1);
        count = (start - end - step - 1) / -step;
    }
    if (count < 1)
        return assay_onnx_skip(im, "'Slice' leaves nothing of dimension %lld",
                               (long long)axis);
    v->offset += start * v->strides[axis];
    v->strides[axis] *= step;
    v->dims[axis] = count;
    return 0;
}

int assay_hz_slice(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n)
{
    int64_t starts[ASSAY_MAX_RANK], ends[ASSAY_MAX_RANK];
    int64_t axes[ASSAY_MAX_RANK], steps[ASSAY_MAX_RANK];
    uint32_t n_starts, n_ends, n_axes, n_steps, x, rank, seen = 0;
    bool found[4];
    struct assay_view_params v;
    int rc = assay_hz_input(im, n, 0, "input", ASSAY_HZ_ANY, &x);

    if (!rc)
        rc = assay_hz_ints(im, n, "starts", 1, starts, &n_starts, &found[0]);
    if (!rc)
        rc = assay_hz_ints(im, n, "ends", 2, ends, &n_ends, &found[1]);
    if (!rc)
        rc = assay_hz_ints(im, n, "axes", 3, axes, &n_axes, &found[2]);
    if (!rc)
        rc = assay_hz_ints(im, n, "steps", 4, steps, &n_steps, &found[3]);
    if (rc)
        return rc;
    if (n_starts != n_ends || (found[2] && n_axes != n_starts) ||
        (found[3] && n_steps != n_starts))
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "%u starts, %u ends, %u axes, %u steps",
                               n_starts, n_ends, n_axes, n_steps);
    rank = im->s->tensors[x].rank;
    plain_view(&im->s->tensors[x], &v);
    for (uint32_t i = 0; !rc && i < n_starts; i++) {
        int64_t axis = found[2] ? axes[i] : (int64_t)i;

        axis = axis < 0 ? axis + rank : axis;
        if (axis < 0 || axis >= rank || seen >> axis & 1)
            return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                                   "axes: %lld does not fit rank %u",
                                   (long long)axis, rank);
        seen |= 1u << axis;
        rc = slice_axis(im, n, starts[i], ends[i], axis,
                        found[3] ? steps[i] : 1, &v);
    }
    return rc ? rc : view_out(im, n, 0, x, &v);
}

/* ---- gather ------------------------------------------------------------- */

static int gather_indices(struct assay_onnx_import *im,
                          const struct assay_onnx_node *n, int64_t size,
                          const struct assay_onnx_const **out)
{
    uint32_t value = assay_onnx_input(n, 1);
    const struct assay_onnx_const *k =
        value == ASSAY_ONNX_NONE ? NULL : im->g->values[value].k;

    if (!k)
        return assay_onnx_skip(im, "the indices of 'Gather' are not constant");
    if ((k->dtype != ASSAY_S32 && k->dtype != ASSAY_S64) || !k->count)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "indices '%.100s': expected int32 or int64, "
                               "found %zu elements of %s",
                               im->g->values[value].name, k->count,
                               assay_onnx_type_name(k->onnx_type));
    for (size_t i = 0; i < k->count; i++) {
        int64_t v = assay_onnx_const_int(k, i);

        if (v < -size || v >= size)
            return assay_onnx_fail(im, n, ASSAY_ERANGE,
                                   "indices '%.100s': element %zu is %lld, "
                                   "expected %lld to %lld",
                                   im->g->values[value].name, i, (long long)v,
                                   (long long)-size, (long long)size - 1);
    }
    *out = k;
    return 0;
}

/* Dims of the output: the indices' in place of the axis. */
static int gather_dims(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n,
                       const struct assay_tensor *x,
                       const struct assay_onnx_const *k, int64_t axis,
                       int64_t *dims, uint32_t *rank)
{
    *rank = x->rank - 1 + k->rank;
    if (*rank > ASSAY_MAX_RANK)
        return assay_onnx_out(im, n, *rank, dims); /* tells the limit */
    for (uint32_t i = 0; i < *rank; i++)
        dims[i] = i < axis             ? x->dims[i]
                  : i < axis + k->rank ? k->dims[i - axis]
                                       : x->dims[i + 1 - k->rank];
    return 0;
}

/* Indices of one dimension, in a layer of their own where the output's shape
 * is another one. */
int assay_hz_gather(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n)
{
    const struct assay_onnx_const *k = NULL;
    struct assay_onnx_const flat;
    struct assay_layer *l;
    int64_t dims[ASSAY_MAX_RANK], mid[ASSAY_MAX_RANK], axis;
    uint32_t in[2], y, z, rank, x_rank;
    enum assay_dtype dtype;
    int rc = assay_hz_input(im, n, 0, "input", ASSAY_HZ_ANY, &in[0]);

    if (!rc)
        rc = assay_onnx_axis(im, n, 0, im->s->tensors[in[0]].rank, &axis);
    if (!rc)
        rc = gather_indices(im, n, im->s->tensors[in[0]].dims[axis], &k);
    if (!rc)
        rc = gather_dims(im, n, &im->s->tensors[in[0]], k, axis, dims, &rank);
    if (rc)
        return rc;
    x_rank = im->s->tensors[in[0]].rank;
    dtype = im->s->tensors[in[0]].dtype;
    memcpy(mid, im->s->tensors[in[0]].dims, sizeof(mid));
    mid[axis] = (int64_t)k->count;
    flat = *k;
    flat.rank = 1;
    flat.dims[0] = (int64_t)k->count;
    rc = assay_onnx_new_constant(im, im->g->values[n->in[1]].name, &flat, 1,
                                 NULL, "", &in[1]);
    if (!rc)
        rc = assay_hz_output(im, n, 0, 1u << dtype, rank, dims,
                             k->rank == 1 ? assay_hz_axes(im, in[0]) : "", &y);
    z = y;
    if (!rc && k->rank != 1)
        rc = assay_hz_between(im, n, dtype, x_rank, mid, &z);
    if (!rc)
        rc = assay_onnx_new_layer(im, n, ASSAY_OP_GATHER, 2, in, z, &l);
    if (rc)
        return rc;
    l->p.gather.axis = (int32_t)axis;
    return k->rank == 1 ? 0
                        : assay_onnx_new_helper(im, n, ASSAY_OP_RESHAPE, z, y);
}

/* ---- tile, expand, concat ----------------------------------------------- */

int assay_hz_tile(struct assay_onnx_import *im, const struct assay_onnx_node *n)
{
    int64_t times[ASSAY_MAX_RANK], dims[ASSAY_MAX_RANK];
    struct assay_view_params plain, v = {0};
    uint32_t x, y, count;
    enum assay_dtype dtype;
    bool found;
    int rc = assay_hz_input(im, n, 0, "input", ASSAY_HZ_ANY, &x);

    if (!rc)
        rc = assay_hz_ints(im, n, "repeats", 1, times, &count, &found);
    if (rc)
        return rc;
    if (count != im->s->tensors[x].rank)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "repeats: %u numbers for an input of rank %u",
                               count, im->s->tensors[x].rank);
    plain_view(&im->s->tensors[x], &plain);
    dtype = im->s->tensors[x].dtype;
    for (uint32_t i = 0; i < count; i++) {
        if (times[i] < 1 || times[i] > INT32_MAX / plain.dims[i])
            return assay_onnx_fail(im, n, ASSAY_ERANGE, "repeats: %lld",
                                   (long long)times[i]);
        dims[i] = plain.dims[i] * times[i];
        if (v.rank + 2 > ASSAY_MAX_RANK)
            return assay_onnx_skip(im, "'Tile' of %u dimensions", count);
        if (times[i] > 1) {
            v.dims[v.rank] = times[i];
            v.strides[v.rank++] = 0;
        }
        v.dims[v.rank] = plain.dims[i];
        v.strides[v.rank++] = plain.strides[i];
    }
    if (!v.rank)
        v = plain;
    rc = assay_hz_output(im, n, 0, 1u << dtype, count, dims,
                         assay_hz_axes(im, x), &y);
    return rc ? rc : assay_hz_view(im, n, x, y, &v);
}

int assay_hz_expand(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n)
{
    int64_t shape[ASSAY_MAX_RANK];
    struct assay_view_params plain, v = {0};
    uint32_t x, y, count, rank;
    bool found;
    int rc = assay_hz_input(im, n, 0, "input", ASSAY_HZ_ANY, &x);

    if (!rc)
        rc = assay_hz_ints(im, n, "shape", 1, shape, &count, &found);
    if (rc)
        return rc;
    plain_view(&im->s->tensors[x], &plain);
    rank = im->s->tensors[x].rank;
    v.rank = rank > count ? rank : count;
    for (uint32_t i = 0; i < v.rank; i++) {
        int64_t have = i + rank < v.rank ? 1 : plain.dims[i + rank - v.rank];
        int64_t want = i + count < v.rank ? 1 : shape[i + count - v.rank];

        if (have != want && have != 1 && want != 1)
            return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                                   "shape: %lld in dimension %u of %lld",
                                   (long long)want, i, (long long)have);
        v.dims[i] = have == 1 ? want : have;
        if (have > 1)
            v.strides[i] = plain.strides[i + rank - v.rank];
    }
    rc = assay_hz_output(im, n, 0, 1u << im->s->tensors[x].dtype, v.rank,
                         v.dims, assay_hz_axes(im, x), &y);
    if (!v.rank) {
        v.rank = 1;
        v.dims[0] = 1;
    }
    return rc ? rc : assay_hz_view(im, n, x, y, &v);
}

int assay_hz_concat(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n)
{
    uint32_t in[ASSAY_MAX_LAYER_INPUTS], y, rank;
    int64_t dims[ASSAY_MAX_RANK], axis;
    const struct assay_tensor *first;
    struct assay_layer *l;
    int rc = 0;

    for (uint32_t i = 0; !rc && i < n->n_in; i++)
        rc = assay_hz_input(im, n, i, "operand", ASSAY_HZ_ANY, &in[i]);
    if (!rc && !assay_onnx_attr(n, "axis"))
        rc = assay_onnx_fail(im, n, ASSAY_EFORMAT,
                             "attribute 'axis' is missing");
    if (rc)
        return rc;
    first = &im->s->tensors[in[0]];
    rank = first->rank;
    rc = assay_onnx_axis(im, n, 0, rank, &axis);
    memcpy(dims, first->dims, sizeof(dims));
    for (uint32_t i = 1; !rc && i < n->n_in; i++) {
        const struct assay_tensor *t = &im->s->tensors[in[i]];

        if (t->dtype != first->dtype || t->rank != rank)
            return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                                   "operand '%.100s' is %s of rank %u, "
                                   "expected %s of rank %u",
                                   t->name, assay_dtype_name(t->dtype), t->rank,
                                   assay_dtype_name(first->dtype), rank);
        for (uint32_t d = 0; d < rank; d++)
            if (d != axis && t->dims[d] != dims[d])
                return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                                       "operands of %lld and %lld in "
                                       "dimension %u",
                                       (long long)dims[d],
                                       (long long)t->dims[d], d);
        dims[axis] += t->dims[axis];
    }
    if (!rc)
        rc = assay_hz_output(im, n, 0, 1u << first->dtype, rank, dims,
                             first->axes, &y);
    if (!rc)
        rc = assay_onnx_new_layer(im, n, ASSAY_OP_CONCAT, n->n_in, in, y, &l);
    if (rc)
        return rc;
    l->p.concat.axis = (int32_t)axis;
    return assay_onnx_new_programs(im, l, n->n_in);
}
