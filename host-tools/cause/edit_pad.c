/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P: what stands outside of the image. Padding of another number is written
 * as borders that are joined to the image; the layer then pads nothing.
 */
#include "host-tools/cause/edit_pad.h"

#include <string.h>

#include "host-tools/cause/edit_graph.h"
#include "host-tools/cause/edit_program.h"
#include "kernels/requant.h"

enum { ROWS = 1, COLUMNS = 2 }; /* axes of the image */
enum { TOP, LEFT, BOTTOM, RIGHT, SIDES };
/* Variants of P5, as the catalogue lists them: a side from P5_TOP on; its excess
 * over the opposite side from P5_EXCESS_TOP on; P5_EXCESS_END: of the bottom and
 * of the right alone. */
enum {
    P5_EXCESS,
    P5_ALL,
    P5_TOP,
    P5_EXCESS_END = P5_TOP + SIDES,
    P5_EXCESS_TOP
};

/* Of each side: the padding, and how many of its outermost rows are edited. */
struct borders {
    int64_t pad[SIDES], edited[SIDES];
};

/* Where the layer keeps its padding; false: it has none. */
static bool pads_of(struct assay_layer *l, int32_t *at[SIDES])
{
    struct assay_conv2d_params *c = &l->p.conv2d;
    struct assay_pool_params *p = &l->p.pool;

    if (l->op == ASSAY_OP_POOL) {
        at[TOP] = &p->pad_top;
        at[LEFT] = &p->pad_left;
        at[BOTTOM] = &p->pad_bottom;
        at[RIGHT] = &p->pad_right;
        return true;
    }
    at[TOP] = &c->pad_top;
    at[LEFT] = &c->pad_left;
    at[BOTTOM] = &c->pad_bottom;
    at[RIGHT] = &c->pad_right;
    return l->op == ASSAY_OP_CONV2D || l->op == ASSAY_OP_CONV_TRANSPOSE2D;
}

static bool borders_of(const struct assay_layer *l, uint32_t variant,
                       struct borders *b)
{
    struct assay_layer copy = *l;
    int32_t *at[SIDES];

    memset(b, 0, sizeof(*b));
    if (!pads_of(&copy, at))
        return false;
    for (unsigned i = 0; i < SIDES; i++)
        b->pad[i] = *at[i];
    for (unsigned i = 0; i < SIDES; i++) {
        int64_t excess = b->pad[i] - b->pad[(i + 2) % SIDES];
        bool at_end = i == BOTTOM || i == RIGHT;

        if (variant == P5_ALL || variant == P5_TOP + i)
            b->edited[i] = b->pad[i];
        else if (excess > 0 &&
                 (variant == P5_EXCESS || variant == P5_EXCESS_TOP + i ||
                  (variant == P5_EXCESS_END && at_end)))
            b->edited[i] = excess;
    }
    return true;
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

/* What the padding is worth as the layer stands; false: it is no number (it
 * is left out of averages, or the image is float). */
static bool own_value(const struct assay_slice *s, const struct assay_layer *l,
                      int64_t *v)
{
    const struct assay_tensor *x = &s->tensors[l->inputs[0]];
    const struct assay_pool_params *p = &l->p.pool;
    int64_t hi;

    *v = zero_of(x);
    if (l->op == ASSAY_OP_CONV2D)
        return true;
    if (l->op != ASSAY_OP_POOL || !assay_dtype_is_int(x->dtype))
        return false;
    if (p->kind == ASSAY_POOL_MAX) {
        assay_dtype_range(x->dtype, v, &hi);
        return true;
    }
    if (p->sum == ASSAY_SUM_RAW)
        *v = 0;
    return p->count_include_pad || p->div == ASSAY_DIV_NONE;
}

/* ---- borders ----------------------------------------------------------- */

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

/* Its own number first: an edited row or column goes from end to end. */
static int pad_with(struct assay_slice *s, uint32_t *layer,
                    const struct borders *b, int64_t own, int64_t v,
                    struct assay_err *err)
{
    int64_t rest[SIDES];
    int32_t *at[SIDES];
    int rc;

    for (unsigned i = 0; i < SIDES; i++)
        rest[i] = b->pad[i] - b->edited[i];
    rc = join(s, layer, ROWS, rest[TOP], rest[BOTTOM], own, err);
    if (!rc)
        rc = join(s, layer, COLUMNS, rest[LEFT], rest[RIGHT], own, err);
    if (!rc)
        rc = join(s, layer, COLUMNS, b->edited[LEFT], b->edited[RIGHT], v, err);
    if (!rc)
        rc = join(s, layer, ROWS, b->edited[TOP], b->edited[BOTTOM], v, err);
    if (!rc && pads_of(&s->layers[*layer], at))
        for (unsigned i = 0; i < SIDES; i++)
            *at[i] = 0;
    return rc;
}

/* An 8-bit image in 16 bits, for padding that 8 bits do not hold; the sum
 * wraps in 32 bits as before. */
static int widen(struct assay_slice *s, uint32_t *layer, struct assay_err *err)
{
    uint32_t x = s->layers[*layer].inputs[0], y;
    struct assay_layer *made;
    int rc = assay_edit_insert(s, &s->layers[*layer].out_program, 0,
                               ASSAY_STEP_WRAP, 32, 0, err);

    if (!rc)
        rc = assay_edit_tensor(s, x, "wide", &y, err);
    if (rc)
        return rc;
    s->tensors[y].dtype = ASSAY_S16;
    rc = assay_edit_before(s, layer, 1, &x, y, 0, &made, err);
    if (rc)
        return rc;
    made->op = ASSAY_OP_UNARY;
    return assay_edit_insert(s, &made->out_program, 0, ASSAY_STEP_ADD, 0, 0,
                             err);
}

static int pad(struct assay_slice *s, uint32_t *layer, const struct borders *b,
               int64_t v, struct assay_err *err)
{
    const struct assay_layer *l = &s->layers[*layer];
    const struct assay_tensor *x = &s->tensors[l->inputs[0]];
    int64_t own, lo, hi;
    int rc = 0;

    if (!own_value(s, l, &own) || !is_padded(b))
        return ASSAY_EDIT_NOT_HERE;
    if (v == own)
        return ASSAY_EDIT_SAME;
    assay_dtype_range(x->dtype, &lo, &hi);
    if (v < lo || v > hi) {
        if (l->op != ASSAY_OP_CONV2D || assay_dtype_bytes(x->dtype) != 1 ||
            v < INT16_MIN || v > INT16_MAX)
            return ASSAY_EDIT_NOT_HERE;
        rc = widen(s, layer, err);
    }
    return rc ? rc : pad_with(s, layer, b, own, v, err);
}

int assay_pad_all(struct assay_slice *s, uint32_t *layer, int64_t v,
                  struct assay_err *err)
{
    struct borders b;

    if (!borders_of(&s->layers[*layer], P5_ALL, &b))
        return ASSAY_EDIT_NOT_HERE;
    return pad(s, layer, &b, v, err);
}

/* ---- entries ----------------------------------------------------------- */

static int swap_sides(struct assay_layer *l)
{
    int32_t *at[SIDES];

    if (!pads_of(l, at) || (*at[TOP] == 0 && *at[LEFT] == 0 &&
                            *at[BOTTOM] == 0 && *at[RIGHT] == 0))
        return ASSAY_EDIT_NOT_HERE;
    if (*at[TOP] == *at[BOTTOM] && *at[LEFT] == *at[RIGHT])
        return ASSAY_EDIT_SAME;
    for (unsigned i = TOP; i < BOTTOM; i++) {
        int32_t begin = *at[i];

        *at[i] = *at[i + 2];
        *at[i + 2] = begin;
    }
    return 0;
}

int assay_edit_pad(struct assay_slice *s, uint32_t *layer,
                   const struct assay_edit *e, struct assay_err *err)
{
    const struct assay_layer *l = &s->layers[*layer];
    const struct assay_tensor *x;
    struct borders b;
    int64_t lo, hi;

    if (e->id == ASSAY_CAUSE_P4)
        return assay_edit_window(s, layer, e, err);
    if (e->id == ASSAY_CAUSE_P2)
        return swap_sides(&s->layers[*layer]);
    if (e->id == ASSAY_CAUSE_P5)
        return borders_of(l, e->variant, &b) ? pad(s, layer, &b, e->value, err)
                                             : ASSAY_EDIT_NOT_HERE;
    /* Padding that wins a maximum is O11. */
    if (l->op != ASSAY_OP_CONV2D &&
        (e->id == ASSAY_CAUSE_P3 || l->op != ASSAY_OP_POOL ||
         l->p.pool.kind != ASSAY_POOL_AVG))
        return ASSAY_EDIT_NOT_HERE;
    x = &s->tensors[l->inputs[0]];
    if (e->id == ASSAY_CAUSE_P3) /* each tap has the zero point once more */
        return assay_pad_all(s, layer, 2 * zero_of(x), err);
    assay_dtype_range(x->dtype, &lo, &hi);
    return assay_pad_all(s, layer, e->variant == 0 ? 0 : lo, err);
}

/* ---- what padding adds ------------------------------------------------- */

/* Does i lie, outside of 0..n - 1, among the edited ones of its side? */
static bool is_edited(const struct borders *b, unsigned before, int64_t i,
                      int64_t n)
{
    unsigned side = i < 0 ? before : before + 2;
    int64_t depth = i < 0 ? -i : i - n + 1;

    return depth > b->pad[side] - b->edited[side];
}

/* Behind all padding there is nothing that could be edited. */
static bool is_beyond(const struct borders *b, unsigned before, int64_t i,
                      int64_t n)
{
    return -i > b->pad[before] || i - n + 1 > b->pad[before + 2];
}

/* Sum of the weights of one tap of output channel o. */
static int64_t tap_sum(const struct assay_tensor *w, size_t o, int64_t ky,
                       int64_t kx)
{
    size_t depth = (size_t)w->dims[3], width = assay_dtype_bytes(w->dtype);
    size_t at = ((o * (size_t)w->dims[1] + (size_t)ky) * (size_t)w->dims[2] +
                 (size_t)kx) *
                depth;
    int64_t zw =
        w->quant.n > 0 ? w->quant.zero_point[w->quant.n > 1 ? o : 0] : 0;
    int64_t sum = 0;

    for (size_t i = 0; i < depth; i++) {
        union assay_value v;

        assay_load_values(w->dtype, (const uint8_t *)w->data + (at + i) * width,
                          &v, 1);
        sum += v.i - zw;
    }
    return sum;
}

/* Where an element's window lies, and what of it is edited. */
struct window {
    const struct assay_conv2d_params *p;
    const struct assay_tensor *x, *w;
    struct borders b;
    int64_t oy, ox;
};

static bool window_of(const struct assay_slice *s, uint32_t layer,
                      uint32_t variant, size_t element, struct window *v)
{
    const struct assay_layer *l = &s->layers[layer];
    const int64_t *y = s->tensors[l->output].dims;
    int64_t place = (int64_t)(element / (size_t)y[3]);

    if (l->op != ASSAY_OP_CONV2D || !borders_of(l, variant, &v->b))
        return false;
    v->p = &l->p.conv2d;
    v->x = &s->tensors[l->inputs[0]];
    v->w = &s->tensors[l->inputs[1]];
    v->ox = place % y[2];
    v->oy = place / y[2] % y[1];
    return true;
}

/* Does that tap read what is edited? */
static bool reads_edited(const struct window *v, int64_t ky, int64_t kx)
{
    const struct assay_conv2d_params *p = v->p;
    int64_t iy = v->oy * p->stride_h - p->pad_top + ky * p->dilation_h;
    int64_t ix = v->ox * p->stride_w - p->pad_left + kx * p->dilation_w;

    return !is_beyond(&v->b, TOP, iy, v->x->dims[1]) &&
           !is_beyond(&v->b, LEFT, ix, v->x->dims[2]) &&
           (is_edited(&v->b, TOP, iy, v->x->dims[1]) ||
            is_edited(&v->b, LEFT, ix, v->x->dims[2]));
}

bool assay_pad_touches(const struct assay_slice *s, uint32_t layer,
                       uint32_t variant, size_t element)
{
    struct window v;

    if (!window_of(s, layer, variant, element, &v))
        return false;
    for (int64_t ky = 0; ky < v.w->dims[1]; ky++)
        for (int64_t kx = 0; kx < v.w->dims[2]; kx++)
            if (reads_edited(&v, ky, kx))
                return true;
    return false;
}

int64_t assay_pad_taps(const struct assay_slice *s, uint32_t layer,
                       uint32_t variant, size_t element)
{
    size_t channels = (size_t)s->tensors[s->layers[layer].output].dims[3];
    struct window v;
    int64_t sum = 0;

    if (!window_of(s, layer, variant, element, &v))
        return 0;
    for (int64_t ky = 0; ky < v.w->dims[1]; ky++)
        for (int64_t kx = 0; kx < v.w->dims[2]; kx++)
            if (reads_edited(&v, ky, kx))
                sum += tap_sum(v.w, element % channels, ky, kx);
    return sum;
}
