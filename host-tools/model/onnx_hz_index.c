/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells taken by their index along an axis: Pad that repeats what is inside,
 * nearest Resize; and Pad with a value, which puts constants beside the cells.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/model/onnx_hz.h"

/* A file of a few bytes must not make constants that fill the memory. */
#define MAX_MADE ((int64_t)1 << 24)

static int check_made(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n, int64_t elements)
{
    if (elements <= MAX_MADE)
        return 0;
    return assay_onnx_skip(im,
                           "'%s' would make a constant of %lld elements, more "
                           "than the limit of %lld",
                           n->op, (long long)elements, (long long)MAX_MADE);
}

/* The output of a step along one axis: the node's own, or one in between. */
static int step_output(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, uint32_t x,
                       uint32_t axis, int64_t count, bool last, uint32_t *y)
{
    const struct assay_tensor *t = &im->s->tensors[x];
    int64_t dims[ASSAY_MAX_RANK];

    memcpy(dims, t->dims, sizeof(dims));
    dims[axis] = count;
    return last ? assay_hz_output(im, n, 0, 1u << t->dtype, t->rank, dims,
                                  t->axes, y)
                : assay_hz_between(im, n, t->dtype, t->rank, dims, y);
}

static int step_layer(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n, enum assay_op op,
                      uint32_t n_in, const uint32_t *in, uint32_t y, bool last,
                      struct assay_layer **l)
{
    return last ? assay_onnx_new_layer(im, n, op, n_in, in, y, l)
                : assay_onnx_new_part(im, n, op, n_in, in, y, l);
}

int assay_hz_pick(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                  uint32_t *x, uint32_t axis, const int32_t *indices,
                  int64_t count, bool last)
{
    uint32_t in[2] = {*x, 0}, y;
    struct assay_layer *l;
    char what[24];
    int rc;

    snprintf(what, sizeof(what), "indices/%u", axis);
    rc = assay_hz_made(im, n, what, ASSAY_S32, 1, &count, indices, &in[1]);
    if (!rc)
        rc = step_output(im, n, *x, axis, count, last, &y);
    if (!rc)
        rc = step_layer(im, n, ASSAY_OP_GATHER, 2, in, y, last, &l);
    if (rc)
        return rc;
    l->p.gather.axis = (int32_t)axis;
    *x = y;
    return 0;
}

/* ---- pad ----------------------------------------------------------------- */

enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE };

struct pad {
    int mode;
    int64_t before[ASSAY_MAX_RANK], after[ASSAY_MAX_RANK];
    uint8_t value[8]; /* one element of the input's type */
};

static int read_pads(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, const int64_t *v,
                     size_t count, const struct assay_tensor *t, struct pad *p)
{
    if (count != 2 * (size_t)t->rank)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "pads: expected %u integers, found %zu",
                               2 * t->rank, count);
    for (uint32_t i = 0; i < t->rank; i++) {
        p->before[i] = v[i];
        p->after[i] = v[t->rank + i];
        if (v[i] < 0 || v[t->rank + i] < 0)
            return assay_onnx_skip(im, "'%s' with pads below 0", n->op);
        if (v[i] > INT32_MAX - t->dims[i] ||
            v[t->rank + i] > INT32_MAX - t->dims[i] - v[i])
            return assay_onnx_fail(im, n, ASSAY_ERANGE,
                                   "pads: %lld and %lld around %lld",
                                   (long long)v[i], (long long)v[t->rank + i],
                                   (long long)t->dims[i]);
        if (p->mode == PAD_REFLECT &&
            (v[i] >= t->dims[i] || v[t->rank + i] >= t->dims[i]))
            return assay_onnx_fail(im, n, ASSAY_ERANGE,
                                   "pads: %lld and %lld reflected in %lld",
                                   (long long)v[i], (long long)v[t->rank + i],
                                   (long long)t->dims[i]);
    }
    return 0;
}

/* The value to pad with: an input of the data's type, 0 where there is none. */
static int read_value(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n, uint32_t i,
                      const struct assay_tensor *t, struct pad *p)
{
    const struct assay_onnx_const *k;
    int rc;

    if (p->mode != PAD_CONSTANT || assay_onnx_input(n, i) == ASSAY_ONNX_NONE)
        return 0;
    rc = assay_hz_const(im, n, i, "value", t->dtype, 1, &k);
    if (!rc)
        memcpy(p->value, k->data, assay_dtype_bytes(t->dtype));
    return rc;
}

/* `count` slices of the value along the axis. */
static int filling(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n, const struct pad *p,
                   uint32_t x, uint32_t axis, int64_t count, const char *side,
                   uint32_t *index)
{
    enum assay_dtype dtype = im->s->tensors[x].dtype;
    size_t unit = assay_dtype_bytes(dtype), total;
    struct assay_tensor t = im->s->tensors[x];
    char what[40];
    uint8_t *data;
    size_t bytes;
    int rc;

    t.dims[axis] = count;
    rc = assay_tensor_count(&t, &total, &bytes, im->err);
    if (!rc)
        rc = check_made(im, n, (int64_t)total);
    if (rc)
        return rc;
    data = assay_arena_alloc(im->g->arena, bytes);
    if (!data)
        return assay_onnx_no_memory(im);
    for (size_t i = 0; i < total; i++)
        memcpy(data + i * unit, p->value, unit);
    snprintf(what, sizeof(what), "%s/%u", side, axis);
    return assay_hz_made(im, n, what, dtype, t.rank, t.dims, data, index);
}

static int pad_with_value(struct assay_onnx_import *im,
                          const struct assay_onnx_node *n, const struct pad *p,
                          uint32_t *x, uint32_t axis, bool last)
{
    int64_t size = im->s->tensors[*x].dims[axis];
    uint32_t in[3], n_in = 0, y;
    struct assay_layer *l;
    int rc = 0;

    if (p->before[axis])
        rc =
            filling(im, n, p, *x, axis, p->before[axis], "before", &in[n_in++]);
    in[n_in++] = *x;
    if (!rc && p->after[axis])
        rc = filling(im, n, p, *x, axis, p->after[axis], "after", &in[n_in++]);
    if (!rc)
        rc = step_output(im, n, *x, axis,
                         p->before[axis] + size + p->after[axis], last, &y);
    if (!rc)
        rc = step_layer(im, n, ASSAY_OP_CONCAT, n_in, in, y, last, &l);
    if (!rc)
        rc = assay_onnx_new_programs(im, l, n_in);
    if (rc)
        return rc;
    l->p.concat.axis = (int32_t)axis;
    *x = y;
    return 0;
}

static int pad_with_cells(struct assay_onnx_import *im,
                          const struct assay_onnx_node *n, const struct pad *p,
                          uint32_t *x, uint32_t axis, bool last)
{
    int64_t size = im->s->tensors[*x].dims[axis];
    int64_t count = p->before[axis] + size + p->after[axis];
    int rc = check_made(im, n, count);
    int32_t *at;

    if (rc)
        return rc;
    at = assay_arena_array(im->g->arena, (size_t)count, sizeof(*at));
    if (!at)
        return assay_onnx_no_memory(im);
    for (int64_t i = 0; i < count; i++) {
        int64_t k = i - p->before[axis];

        if (k < 0)
            k = p->mode == PAD_REFLECT ? -k : 0;
        if (k >= size)
            k = p->mode == PAD_REFLECT ? 2 * (size - 1) - k : size - 1;
        at[i] = (int32_t)k;
    }
    return assay_hz_pick(im, n, x, axis, at, count, last);
}

static int pad_axes(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n, const struct pad *p,
                    uint32_t x)
{
    const struct assay_tensor *t = &im->s->tensors[x];
    uint32_t rank = t->rank, last = 0;
    int64_t dims[ASSAY_MAX_RANK];
    int rc;

    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = p->before[i] + t->dims[i] + p->after[i];
        if (p->before[i] || p->after[i])
            last = i;
    }
    /* Before anything is made for a shape that the file does not have. */
    rc = assay_onnx_out(im, n, rank, dims);
    if (!rc)
        rc = assay_onnx_check_info(im, n->out[0], t->dtype);
    for (uint32_t i = 0; !rc && i <= last && i < rank; i++) {
        if (!p->before[i] && !p->after[i] && i != last)
            continue;
        rc = p->mode == PAD_CONSTANT
                 ? pad_with_value(im, n, p, &x, i, i == last)
                 : pad_with_cells(im, n, p, &x, i, i == last);
    }
    return rc;
}

int assay_hz_pad(struct assay_onnx_import *im, const struct assay_onnx_node *n)
{
    const struct assay_tensor *t;
    struct pad p = {0};
    const int64_t *v;
    uint32_t x;
    int rc = assay_hz_format(im, n, true, NULL);

    if (!rc)
        rc = assay_hz_word(im, n, "mode", "constant reflect edge", true,
                           &p.mode);
    if (!rc)
        rc = assay_hz_image(im, n, 0, "input", ASSAY_HZ_S8_16, &x);
    if (!rc)
        rc = assay_hz_row(im, n, "pads", 8, 0, INT32_MAX, &v);
    if (rc)
        return rc;
    t = &im->s->tensors[x];
    rc = read_pads(im, n, v, 8, t, &p);
    if (!rc)
        rc = read_value(im, n, 1, t, &p);
    return rc ? rc : pad_axes(im, n, &p, x);
}

/* Up to opset 10 pads and value are attributes, later inputs. */
int assay_hz_std_pad(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n)
{
    const struct assay_onnx_attr *value = assay_onnx_attr(n, "value");
    const struct assay_onnx_attr *pads = assay_onnx_attr(n, "pads");
    int64_t v[2 * ASSAY_MAX_RANK];
    const struct assay_onnx_const *k;
    struct pad p = {0};
    uint32_t x;
    int rc =
        assay_hz_word(im, n, "mode", "constant reflect edge", false, &p.mode);

    p.mode = p.mode < 0 ? PAD_CONSTANT : p.mode;
    if (!rc)
        rc =
            assay_hz_input(im, n, 0, "input", ASSAY_HZ_INTS | ASSAY_HZ_F32, &x);
    if (!rc && !pads)
        rc = assay_hz_const(im, n, 1, "pads", ASSAY_S64, 0, &k);
    if (rc)
        return rc;
    if (pads)
        return assay_onnx_skip(im, "'%s' with pads in an attribute", n->op);
    if (value)
        return assay_onnx_skip(im, "'%s' with a value in an attribute", n->op);
    if (!im->s->tensors[x].rank)
        return assay_onnx_skip(im, "'%s' of a scalar", n->op);
    for (size_t i = 0; i < k->count && i < 2 * ASSAY_MAX_RANK; i++)
        v[i] = assay_onnx_const_int(k, i);
    rc = read_pads(im, n, v, k->count, &im->s->tensors[x], &p);
    if (!rc)
        rc = read_value(im, n, 2, &im->s->tensors[x], &p);
    return rc ? rc : pad_axes(im, n, &p, x);
}

/* ---- nearest resize ----------------------------------------------------------- */

enum coordinate { HALF_PIXEL, PYTORCH_HALF_PIXEL, ALIGN_CORNERS, ASYMMETRIC };
enum nearest { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL };

/* ONNX's formula of a cell's place in the input. */
static double place(int coordinate, double i, double scale, double in,
                    double out)
{
    switch (coordinate) {
    case HALF_PIXEL: return (i + 0.5) / scale - 0.5;
    case PYTORCH_HALF_PIXEL: return out > 1 ? (i + 0.5) / scale - 0.5 : 0;
    case ALIGN_CORNERS: return out > 1 ? i * (in - 1) / (out - 1) : 0;
    default: return i / scale;
    }
}

static double round_to(int nearest, double at)
{
    switch (nearest) {
    case PREFER_FLOOR: return ceil(at - 0.5);
    case PREFER_CEIL: return floor(at + 0.5);
    case FLOOR: return floor(at);
    default: return ceil(at);
    }
}

/* The scale of each axis: given, or from the sizes. */
static int resize_scales(struct assay_onnx_import *im,
                         const struct assay_onnx_node *n,
                         const struct assay_tensor *t, double *scale,
                         const int64_t *out)
{
    uint32_t value = assay_onnx_input(n, n->n_in == 2 ? 1 : 2);
    const struct assay_onnx_const *k =
        value == ASSAY_ONNX_NONE ? NULL : im->g->values[value].k;

    for (uint32_t i = 0; i < t->rank; i++)
        scale[i] = (double)out[i] / (double)t->dims[i];
    if (n->n_in == 4 && n->in[3] != ASSAY_ONNX_NONE)
        return 0;
    if (!k || k->dtype != ASSAY_F32 || k->count != t->rank)
        return assay_onnx_skip(
            im, "the scales of 'Resize' are not %u constants", t->rank);
    for (uint32_t i = 0; i < t->rank; i++) {
        scale[i] = (double)((const float *)k->data)[i];
        if (!(scale[i] > 0))
            return assay_onnx_fail(im, n, ASSAY_ERANGE,
                                   "scales: element %u is %g", i, scale[i]);
    }
    return 0;
}

static int resize_axis(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, uint32_t *x,
                       uint32_t axis, double scale, int64_t out, int coordinate,
                       int nearest, bool last)
{
    int64_t in = im->s->tensors[*x].dims[axis];
    int rc = check_made(im, n, out);
    int32_t *at;

    if (rc)
        return rc;
    at = assay_arena_array(im->g->arena, (size_t)out, sizeof(*at));
    if (!at)
        return assay_onnx_no_memory(im);
    for (int64_t i = 0; i < out; i++) {
        double k = round_to(nearest, place(coordinate, (double)i, scale,
                                           (double)in, (double)out));

        k = k < 0 ? 0 : k > (double)(in - 1) ? (double)(in - 1) : k;
        at[i] = (int32_t)k;
    }
    return assay_hz_pick(im, n, x, axis, at, out, last);
}

int assay_hz_std_resize(struct assay_onnx_import *im,
                        const struct assay_onnx_node *n)
{
    const struct assay_onnx_value *v = &im->g->values[n->out[0]];
    double scale[ASSAY_MAX_RANK];
    int64_t out[ASSAY_MAX_RANK];
    int mode, coordinate, nearest;
    uint32_t x, last = 0, rank;
    int rc = assay_hz_word(im, n, "mode", "nearest", false, &mode);

    if (!rc)
        rc = assay_hz_word(im, n, "coordinate_transformation_mode",
                           "half_pixel pytorch_half_pixel align_corners "
                           "asymmetric",
                           false, &coordinate);
    if (!rc)
        rc = assay_hz_word(im, n, "nearest_mode",
                           "round_prefer_floor round_prefer_ceil floor ceil",
                           false, &nearest);
    if (!rc)
        rc =
            assay_hz_input(im, n, 0, "input", ASSAY_HZ_INTS | ASSAY_HZ_F32, &x);
    if (rc)
        return rc;
    rank = im->s->tensors[x].rank;
    if (!v->has_info || v->info_rank != rank || !rank)
        return assay_onnx_skip(im, "the output of 'Resize' has no shape in the "
                                   "file");
    rc = assay_onnx_out(im, n, rank, v->info_dims);
    memcpy(out, im->out_dims, sizeof(out));
    if (!rc)
        rc = resize_scales(im, n, &im->s->tensors[x], scale, out);
    for (uint32_t i = 0; i < rank; i++)
        if (out[i] != im->s->tensors[x].dims[i])
            last = i;
    for (uint32_t i = 0; !rc && i <= last; i++)
        if (i == last || out[i] != im->s->tensors[x].dims[i])
            rc = resize_axis(im, n, &x, i, scale[i], out[i],
                             coordinate < 0 ? HALF_PIXEL : coordinate,
                             nearest < 0 ? PREFER_FLOOR : nearest, i == last);
    return rc;
}
