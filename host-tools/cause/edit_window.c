/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P4: the last window of an axis, which only one of the two ways to round its
 * output's size has. Where the layer has it, the suspect leaves it at the zero
 * point; where not, the suspect computes it and its larger output is read as
 * if it were not there.
 */
#include <string.h>

#include "host-tools/cause/edit_graph.h"
#include "host-tools/cause/edit_pad.h"

/* One axis of the image. */
struct axis {
    int64_t in, out, extent, stride, before, behind;
};

static void axes_of(const struct assay_slice *s, const struct assay_layer *l,
                    struct axis a[2])
{
    const struct assay_tensor *x = &s->tensors[l->inputs[0]];
    const struct assay_tensor *y = &s->tensors[l->output];
    const struct assay_conv2d_params *c = &l->p.conv2d;
    const struct assay_pool_params *p = &l->p.pool;

    if (l->op == ASSAY_OP_POOL) {
        a[0] = (struct axis){.extent = (p->kh - 1) * p->dilation_h + 1,
                             .stride = p->stride_h,
                             .before = p->pad_top,
                             .behind = p->pad_bottom};
        a[1] = (struct axis){.extent = (p->kw - 1) * p->dilation_w + 1,
                             .stride = p->stride_w,
                             .before = p->pad_left,
                             .behind = p->pad_right};
    } else {
        const struct assay_tensor *w = &s->tensors[l->inputs[1]];

        a[0] = (struct axis){.extent = (w->dims[1] - 1) * c->dilation_h + 1,
                             .stride = c->stride_h,
                             .before = c->pad_top,
                             .behind = c->pad_bottom};
        a[1] = (struct axis){.extent = (w->dims[2] - 1) * c->dilation_w + 1,
                             .stride = c->stride_w,
                             .before = c->pad_left,
                             .behind = c->pad_right};
    }
    for (int i = 0; i < 2; i++) {
        a[i].in = x->dims[1 + i];
        a[i].out = y->dims[1 + i];
    }
}

/* +1: the suspect has one window more, -1: one less, 0: as many. */
static int change(const struct axis *a)
{
    int64_t room = a->in + a->before + a->behind - a->extent;

    if (room < 0 || room % a->stride == 0)
        return 0;
    if (a->out == room / a->stride + 2)
        return -1;
    /* A window that begins behind the image is nobody's. */
    return a->out * a->stride - a->before < a->in ? 1 : 0;
}

/* The last row (column) is the zero point. */
static int drop(struct assay_slice *s, uint32_t layer, uint32_t axis,
                struct assay_err *err)
{
    int64_t dims[ASSAY_MAX_RANK];
    uint32_t fresh, last, given = s->layers[layer].output;
    const struct assay_tensor *y = &s->tensors[given];
    int64_t zero = y->quant.n > 0 ? y->quant.zero_point[0] : 0;
    struct assay_layer *made;
    int rc;

    memcpy(dims, y->dims, sizeof(dims));
    dims[axis] = 1;
    rc = assay_edit_fill(s, given, dims, zero, &last, err);
    if (!rc)
        rc = assay_edit_behind_n(s, layer, 2, &fresh, &made, err);
    if (rc)
        return rc;
    s->tensors[fresh].dims[axis]--;
    made->op = ASSAY_OP_CONCAT;
    made->inputs[1] = last;
    made->p.concat.axis = (int32_t)axis;
    return 0;
}

/* Of an output that is larger by more[], its first elements. */
static int grow(struct assay_slice *s, uint32_t layer, const int more[2],
                struct assay_err *err)
{
    const struct assay_tensor *y = &s->tensors[s->layers[layer].output];
    struct assay_view_params view = {.rank = 1, .strides = {1}};
    struct assay_layer *made;
    uint32_t fresh;
    size_t n, bytes;
    int rc = assay_tensor_count(y, &n, &bytes, err);

    if (rc)
        return rc;
    /* Rows behind all others, in the last image, move nothing. */
    if ((more[1] <= 0 || (y->dims[0] == 1 && y->dims[1] == 1)) &&
        (more[0] <= 0 || y->dims[0] == 1))
        return ASSAY_EDIT_SAME;
    view.dims[0] = (int64_t)n;
    rc = assay_edit_behind(s, layer, &fresh, &made, err);
    if (rc)
        return rc;
    made->op = ASSAY_OP_VIEW;
    made->p.view = view;
    for (int i = 0; i < 2; i++)
        s->tensors[fresh].dims[1 + i] += more[i] > 0;
    return 0;
}

int assay_edit_window(struct assay_slice *s, uint32_t *layer,
                      const struct assay_edit *e, struct assay_err *err)
{
    const struct assay_layer *l = &s->layers[*layer];
    struct axis a[2];
    int more[2], rc = 0;
    bool drops = false;

    (void)e;
    if (l->op != ASSAY_OP_POOL &&
        (l->op != ASSAY_OP_CONV2D || l->p.conv2d.has_second))
        return ASSAY_EDIT_NOT_HERE;
    axes_of(s, l, a);
    for (int i = 0; i < 2; i++) {
        more[i] = change(&a[i]);
        if (more[i] < 0 && a[i].out == 1)
            more[i] = 0; /* it has no other one */
        drops = drops || more[i] < 0;
    }
    if (more[0] == 0 && more[1] == 0)
        return ASSAY_EDIT_NOT_HERE;
    if (!drops)
        return grow(s, *layer, more, err);
    for (uint32_t i = 0; i < 2 && !rc; i++)
        if (more[i] < 0)
            rc = drop(s, *layer, i + 1, err);
    return rc;
}
