/* SPDX-License-Identifier: Apache-2.0 */
/* W: weights in another order. Bias and scales stay where they are. */
#include <string.h>

#include "host-tools/cause/catalogue.h"
#include "host-tools/cause/edit_graph.h"
#include "host-tools/cause/edit_weight.h"

enum { W1_OIHW, W1_FROM_OIHW, W1_HWIO, W1_FROM_HWIO, W1_WH };
enum { W3_OUTPUT, W3_INPUT };

bool assay_weights_here(const struct assay_slice *s,
                        const struct assay_layer *l)
{
    return (l->op == ASSAY_OP_CONV2D || l->op == ASSAY_OP_GEMM ||
            l->op == ASSAY_OP_CONV_TRANSPOSE2D) &&
           l->n_inputs > 1 &&
           s->tensors[l->inputs[1]].role == ASSAY_ROLE_CONSTANT;
}

/* Elements of `from` at strides, in the order of dims. */
static void pick(const struct assay_order *o, const uint8_t *from, size_t width,
                 uint8_t *to)
{
    const int64_t *d = o->dims, *t = o->strides;

    for (int64_t a = 0; a < d[0]; a++)
        for (int64_t b = 0; b < d[1]; b++)
            for (int64_t c = 0; c < d[2]; c++) {
                int64_t at = o->offset + a * t[0] + b * t[1] + c * t[2];

                if (width == 1) /* the most: millions of them */
                    for (int64_t i = 0; i < d[3]; i++, at += t[3])
                        *to++ = from[at];
                else
                    for (int64_t i = 0; i < d[3]; i++, at += t[3], to += width)
                        memcpy(to, from + (size_t)at * width, width);
            }
}

int assay_weights_reorder(struct assay_slice *s, uint32_t layer,
                          const struct assay_order *order,
                          struct assay_err *err)
{
    uint32_t w = s->layers[layer].inputs[1], index;
    const struct assay_tensor *t = &s->tensors[w];
    uint8_t *data = assay_arena_alloc(s->arena, t->size);
    int rc;

    if (!data)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for edited weights");
    pick(order, t->data, assay_dtype_bytes(t->dtype), data);
    if (memcmp(data, t->data, t->size) == 0)
        return ASSAY_EDIT_SAME;
    rc = assay_edit_constant(s, w, data, &index, err);
    if (!rc)
        s->layers[layer].inputs[1] = index;
    return rc;
}

/* What the layer reads as [O][H][W][I] is, or was taken for, another order. */
static int transpose(struct assay_slice *s, uint32_t layer, uint32_t variant,
                     struct assay_err *err)
{
    const struct assay_tensor *t = &s->tensors[s->layers[layer].inputs[1]];
    bool matrix = t->rank == 2;
    int64_t o = t->dims[0], h = matrix ? 1 : t->dims[1];
    int64_t w = matrix ? 1 : t->dims[2], i = t->dims[t->rank - 1];
    const struct assay_order orders[] = {
        [W1_OIHW] = {{o, i, h, w}, {h * w * i, 1, w * i, i}, 0},
        [W1_FROM_OIHW] = {{o, h, w, i}, {i * h * w, w, 1, h * w}, 0},
        [W1_HWIO] = {{h, w, i, o}, {w * i, i, 1, h * w * i}, 0},
        [W1_FROM_HWIO] = {{o, h, w, i}, {1, w * i * o, i * o, o}, 0},
        [W1_WH] = {{o, w, h, i}, {h * w * i, i, w * i, 1}, 0},
    };

    return assay_weights_reorder(s, layer, &orders[variant], err);
}

static int flip(struct assay_slice *s, uint32_t layer, struct assay_err *err)
{
    const struct assay_layer *l = &s->layers[layer];
    const int64_t *d = s->tensors[l->inputs[1]].dims;
    struct assay_order order;

    if (l->op == ASSAY_OP_GEMM)
        return ASSAY_EDIT_NOT_HERE;
    order = (struct assay_order){
        {d[0], d[1], d[2], d[3]},
        {d[1] * d[2] * d[3], -d[2] * d[3], -d[3], 1},
        (d[1] - 1) * d[2] * d[3] + (d[2] - 1) * d[3],
    };
    return assay_weights_reorder(s, layer, &order, err);
}

/* ---- channels of groups ------------------------------------------------ */

/* Channels of x, [groups][of it], in the order [of it][groups]. */
static struct assay_view_params interleave(const struct assay_tensor *x,
                                           int64_t groups)
{
    int64_t c = x->dims[3], pixels = x->dims[0] * x->dims[1] * x->dims[2];

    return (struct assay_view_params){
        .rank = 3,
        .dims = {pixels, c / groups, groups},
        .strides = {c, 1, c / groups},
    };
}

/* Depth to space: the block before the channel, or behind it. */
static int shuffle_pixels(struct assay_layer *l)
{
    struct assay_view_params *v = &l->p.view;
    int64_t rows = v->dims[2], columns = v->dims[4], c = v->dims[5];

    if (v->rank != 6 || rows * columns == 1 || c == 1)
        return ASSAY_EDIT_NOT_HERE;
    if (v->strides[5] == 1 && v->strides[4] == c &&
        v->strides[2] == columns * c) {
        v->strides[2] = columns;
        v->strides[4] = 1;
        v->strides[5] = rows * columns;
    } else if (v->strides[5] == rows * columns && v->strides[4] == 1 &&
               v->strides[2] == columns) {
        v->strides[2] = columns * c;
        v->strides[4] = c;
        v->strides[5] = 1;
    } else {
        return ASSAY_EDIT_NOT_HERE;
    }
    return 0;
}

static int regroup(struct assay_slice *s, uint32_t *layer, uint32_t variant,
                   struct assay_err *err)
{
    struct assay_layer *l = &s->layers[*layer];
    const struct assay_tensor *t;
    struct assay_view_params view;
    int64_t groups = l->p.conv2d.groups;

    if (l->op == ASSAY_OP_VIEW && variant == W3_OUTPUT)
        return shuffle_pixels(l);
    if ((l->op != ASSAY_OP_CONV2D && l->op != ASSAY_OP_CONV_TRANSPOSE2D) ||
        groups == 1)
        return ASSAY_EDIT_NOT_HERE;
    t = &s->tensors[variant == W3_OUTPUT ? l->output : l->inputs[0]];
    if (t->dims[3] == groups)
        return ASSAY_EDIT_SAME;
    /* The suspect gives, or is given, channels as [of a group][group]. */
    view = interleave(t, variant == W3_OUTPUT ? groups : t->dims[3] / groups);
    return variant == W3_OUTPUT
               ? assay_edit_view_behind(s, *layer, &view, err)
               : assay_edit_view_before(s, layer, 0, &view, err);
}

/* O14: of a depthwise layer, [channel][k] was taken for [k][channel]. */
static int multiplier_order(struct assay_slice *s, uint32_t layer,
                            struct assay_err *err)
{
    const struct assay_layer *l = &s->layers[layer];
    const int64_t *d = s->tensors[l->inputs[1]].dims;
    int64_t channels = l->p.conv2d.groups, kernel = d[1] * d[2];
    struct assay_order order;

    if (l->op != ASSAY_OP_CONV2D || d[3] != 1 || channels == 1)
        return ASSAY_EDIT_NOT_HERE;
    order = (struct assay_order){{channels, d[0] / channels, kernel, 1},
                                 {kernel, channels * kernel, 1, 1},
                                 0};
    return assay_weights_reorder(s, layer, &order, err);
}

int assay_edit_weight(struct assay_slice *s, uint32_t *layer,
                      const struct assay_edit *e, struct assay_err *err)
{
    if (e->id == ASSAY_CAUSE_W3)
        return regroup(s, layer, e->variant, err);
    if (!assay_weights_here(s, &s->layers[*layer]))
        return ASSAY_EDIT_NOT_HERE;
    switch (e->id) {
    case ASSAY_CAUSE_W1: return transpose(s, *layer, e->variant, err);
    case ASSAY_CAUSE_W2: return flip(s, *layer, err);
    default: return multiplier_order(s, *layer, err);
    }
}
