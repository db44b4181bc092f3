/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P: what stands outside of the image. Padding of another number is written
 * as borders that are joined to the image; the layer then pads nothing.
 */
#include "host-tools/cause/edit_pad.h"

#include <string.h>

#include "host-tools/cause/edit_graph.h"
#include "kernels/requant.h"

enum { ROWS = 1, COLUMNS = 2 }; /* axes of the image */
enum { TOP, LEFT, BOTTOM, RIGHT, SIDES };
enum { P5_EXCESS, P5_ALL, P5_TOP };

/* Of each side: the padding, and how many of its outermost rows are edited. */
struct borders {
    int64_t pad[SIDES], edited[SIDES];
};

static struct borders borders_of(const struct assay_layer *l, uint32_t variant)
{
    const struct assay_conv2d_params *p = &l->p.conv2d;
    struct borders b = {{p->pad_top, p->pad_left, p->pad_bottom, p->pad_right},
                        {0}};

    for (unsigned i = 0; i < SIDES; i++) {
        int64_t excess = b.pad[i] - b.pad[(i + 2) % SIDES];

        if (variant == P5_ALL || variant == P5_TOP + i)
            b.edited[i] = b.pad[i];
        else if (variant == P5_EXCESS)
            b.edited[i] = excess > 0 ? excess : 0;
    }
    return b;
}

static bool is_padded(const struct borders *b)
{
    for (unsigned i = 0; i < SIDES; i++)
        if (b->edited[i] > 0)
            return true;
    return false;
}

static int64_t zero_of(const struct assay_tensor *t)
{
    return t->quant.n > 0 ? t->quant.zero_point[0] : 0;
}

/* Joins rows (columns) that hold v to input 0 of the layer. */
static int join(struct assay_slice *s, uint32_t *layer, uint32_t axis,
                int64_t before, int64_t behind, int64_t v,
                struct assay_err *err)
{
    uint32_t parts[3], n = 0, x = s->layers[*layer].inputs[0], y;
    int64_t dims[ASSAY_MAX_RANK];
    struct assay_layer *made;
    int rc = 0;

    if (before == 0 && behind == 0)
        return 0;
    memcpy(dims, s->tensors[x].dims, sizeof(dims));
    dims[axis] = before;
    if (before > 0)
        rc = assay_edit_fill(s, x, dims, v, &parts[n++], err);
    parts[n++] = x;
    dims[axis] = behind;
    if (!rc && behind > 0)
        rc = assay_edit_fill(s, x, dims, v, &parts[n++], err);
    if (!rc)
        rc =
            assay_edit_tensor(s, x, axis == ROWS ? "rows" : "columns", &y, err);
    if (rc)
        return rc;
    s->tensors[y].dims[axis] += before + behind;
    rc = assay_edit_before(s, layer, n, parts, y, 0, &made, err);
    if (rc)
        return rc;
    made->op = ASSAY_OP_CONCAT;
    made->p.concat.axis = (int32_t)axis;
    return 0;
}

/* The zero point first: an edited row or column goes from end to end. */
static int pad_with(struct assay_slice *s, uint32_t *layer,
                    const struct borders *b, int64_t v, struct assay_err *err)
{
    int64_t zero = zero_of(&s->tensors[s->layers[*layer].inputs[0]]);
    int64_t rest[SIDES];
    struct assay_conv2d_params *p;
    int rc;

    for (unsigned i = 0; i < SIDES; i++)
        rest[i] = b->pad[i] - b->edited[i];
    rc = join(s, layer, ROWS, rest[TOP], rest[BOTTOM], zero, err);
    if (!rc)
        rc = join(s, layer, COLUMNS, rest[LEFT], rest[RIGHT], zero, err);
    if (!rc)
        rc = join(s, layer, COLUMNS, b->edited[LEFT], b->edited[RIGHT], v, err);
    if (!rc)
        rc = join(s, layer, ROWS, b->edited[TOP], b->edited[BOTTOM], v, err);
    if (rc)
        return rc;
    p = &s->layers[*layer].p.conv2d;
    p->pad_top = p->pad_left = p->pad_bottom = p->pad_right = 0;
    return 0;
}

static int swap_sides(struct assay_layer *l)
{
    struct assay_conv2d_params *p = &l->p.conv2d;
    int32_t top = p->pad_top, left = p->pad_left;

    if (top == p->pad_bottom && left == p->pad_right)
        return ASSAY_EDIT_SAME;
    p->pad_top = p->pad_bottom;
    p->pad_bottom = top;
    p->pad_left = p->pad_right;
    p->pad_right = left;
    return 0;
}

/* The number that the padding of the entry holds. */
static int64_t value_of(const struct assay_edit *e,
                        const struct assay_tensor *x)
{
    int64_t lo, hi;

    assay_dtype_range(x->dtype, &lo, &hi);
    if (e->id == ASSAY_CAUSE_P5)
        return e->value;
    if (e->id ==
        ASSAY_CAUSE_P3) /* as if each tap had the zero point once more */
        return 2 * zero_of(x);
    return e->variant == 0 ? 0 : lo;
}

int assay_edit_pad(struct assay_slice *s, uint32_t *layer,
                   const struct assay_edit *e, struct assay_err *err)
{
    struct assay_layer *l = &s->layers[*layer];
    const struct assay_tensor *x;
    struct borders b;
    int64_t v, lo, hi;

    if (l->op != ASSAY_OP_CONV2D || e->id == ASSAY_CAUSE_P4)
        return ASSAY_EDIT_NOT_HERE;
    x = &s->tensors[l->inputs[0]];
    b = borders_of(l, e->id == ASSAY_CAUSE_P5 ? e->variant : P5_ALL);
    if (!is_padded(&b))
        return ASSAY_EDIT_NOT_HERE;
    if (e->id == ASSAY_CAUSE_P2)
        return swap_sides(l);
    v = value_of(e, x);
    assay_dtype_range(x->dtype, &lo, &hi);
    if (v == zero_of(x))
        return ASSAY_EDIT_SAME;
    return v < lo || v > hi ? ASSAY_EDIT_NOT_HERE
                            : pad_with(s, layer, &b, v, err);
}

/* ---- what padding adds ----------------------------------------------------- */

/* Does i lie, outside of 0..n - 1, among the edited ones of its side? */
static bool is_edited(const struct borders *b, unsigned before, int64_t i,
                      int64_t n)
{
    unsigned side = i < 0 ? before : before + 2;
    int64_t depth = i < 0 ? -i : i - n + 1;

    return depth > b->pad[side] - b->edited[side];
}

int64_t assay_pad_taps(const struct assay_slice *s, uint32_t layer,
                       uint32_t variant, size_t element)
{
    const struct assay_layer *l = &s->layers[layer];
    const struct assay_conv2d_params *p = &l->p.conv2d;
    const struct assay_tensor *x = &s->tensors[l->inputs[0]];
    const struct assay_tensor *w = &s->tensors[l->inputs[1]];
    const struct assay_tensor *y = &s->tensors[l->output];
    size_t channels = (size_t)y->dims[3], o = element % channels;
    int64_t ox = (int64_t)(element / channels) % y->dims[2];
    int64_t oy = (int64_t)(element / channels) / y->dims[2] % y->dims[1];
    size_t depth = (size_t)w->dims[3], width = assay_dtype_bytes(w->dtype);
    struct borders b = borders_of(l, variant);
    int64_t zw =
        w->quant.n > 0 ? w->quant.zero_point[w->quant.n > 1 ? o : 0] : 0;
    int64_t sum = 0;

    for (int64_t ky = 0; ky < w->dims[1]; ky++) {
        for (int64_t kx = 0; kx < w->dims[2]; kx++) {
            int64_t iy = oy * p->stride_h - p->pad_top + ky * p->dilation_h;
            int64_t ix = ox * p->stride_w - p->pad_left + kx * p->dilation_w;
            size_t at =
                ((o * (size_t)w->dims[1] + (size_t)ky) * (size_t)w->dims[2] +
                 (size_t)kx) *
                depth;

            if (!is_edited(&b, TOP, iy, x->dims[1]) &&
                !is_edited(&b, LEFT, ix, x->dims[2]))
                continue;
            for (size_t i = 0; i < depth; i++) {
                union assay_value v;

                assay_load_values(w->dtype,
                                  (const uint8_t *)w->data + (at + i) * width,
                                  &v, 1);
                sum += v.i - zw;
            }
        }
    }
    return sum;
}
