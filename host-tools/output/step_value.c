/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that change elements: functions, boxes, types. */
#include <math.h>
#include <string.h>

#include "host-tools/output/output_private.h"

static int64_t inner_of(const struct assay_output_node *n, int axis)
{
    int64_t k = 1;

    for (uint32_t a = (uint32_t)axis + 1; a < n->rank; a++)
        k *= n->dims[a];
    return k;
}

static struct assay_output_node floats(const struct assay_output_node *from,
                                       assay_output_at_fn *at)
{
    struct assay_output_node n = assay_output_on(from, at);

    n.dtype = ASSAY_F32;
    return n;
}

/* ---- functions ----------------------------------------------------------- */

static struct assay_output_value at_sigmoid(const struct assay_output_node *n,
                                            size_t sample, int64_t i)
{
    struct assay_output_value v = assay_output_ask_from(n, sample, i);

    return v.known ? assay_output_float(1.0 / (1.0 + exp(-v.d))) : v;
}

/* n[0]: elements of one place of the axis, n[1]: places. */
static struct assay_output_value at_softmax(const struct assay_output_node *n,
                                            size_t sample, int64_t i)
{
    struct assay_output_value v = assay_output_ask_from(n, sample, i), o;
    int64_t first = i - i / n->n[0] % n->n[1] * n->n[0];
    double sum = 0.0;

    if (!v.known)
        return v;
    for (int64_t c = 0; c < n->n[1]; c++) {
        o = assay_output_ask_from(n, sample, first + c * n->n[0]);
        if (!o.known)
            return o;
        sum += exp(o.d - v.d);
    }
    return assay_output_float(1.0 / sum);
}

/* n[2]: from which coordinate on, of n[1]; n[3]: back. */
static struct assay_output_value at_exp(const struct assay_output_node *n,
                                        size_t sample, int64_t i)
{
    struct assay_output_value v = assay_output_ask_from(n, sample, i);
    int64_t c = i / n->n[0] % n->n[1];

    if (!v.known || (n->n[2] > 0 && (c < n->n[2] || c > 3)))
        return v;
    return assay_output_float(n->n[3] != 0 ? log(v.d) : exp(v.d));
}

static void softmaxes(struct assay_output_search *s,
                      const struct assay_output_node *n)
{
    struct assay_output_node x;

    for (int axis = (int)n->rank - 1; axis > 0; axis--) {
        if (axis != 1 && axis != (int)n->rank - 1)
            continue;
        if (n->dims[axis] < 2)
            continue;
        x = floats(n, at_softmax);
        x.n[0] = inner_of(n, axis);
        x.n[1] = n->dims[axis];
        assay_output_visit(s, &x, ASSAY_OUTPUT_SOFTMAX_TWICE,
                           "softmax along axis %d", axis);
        if (assay_output_asking(s)->deeper > 0)
            continue;
        x = *n;
        x.undo = ASSAY_OUTPUT_UNDO_SOFTMAX;
        x.undo_axis = axis;
        assay_output_visit(s, &x, ASSAY_OUTPUT_SOFTMAX_MISSING,
                           "before softmax along axis %d", axis);
    }
}

static void exponentials(struct assay_output_search *s,
                         const struct assay_output_node *n)
{
    int axis = assay_output_box_axis(n);
    struct assay_output_node x = floats(n, at_exp);

    x.n[0] = x.n[1] = 1;
    assay_output_visit(s, &x, ASSAY_OUTPUT_EXPONENTIAL, "exp of all");
    x.n[3] = 1;
    assay_output_visit(s, &x, ASSAY_OUTPUT_EXPONENTIAL,
                       "linear where the model has exp");
    if (axis < 0)
        return;
    x.n[0] = inner_of(n, axis);
    x.n[1] = n->dims[axis];
    x.n[2] = 2;
    assay_output_visit(s, &x, ASSAY_OUTPUT_EXPONENTIAL,
                       "width and height linear where the model has exp");
    x.n[3] = 0;
    assay_output_visit(s, &x, ASSAY_OUTPUT_EXPONENTIAL,
                       "exp of width and height");
}

void assay_output_functions(struct assay_output_search *s,
                            const struct assay_output_node *n)
{
    struct assay_output_node x;

    if (n->dtype != ASSAY_F32)
        return;
    x = floats(n, at_sigmoid);
    assay_output_visit(s, &x, ASSAY_OUTPUT_SIGMOID_TWICE, "sigmoid");
    if (assay_output_asking(s)->deeper == 0) {
        x = *n;
        x.undo = ASSAY_OUTPUT_UNDO_SIGMOID;
        assay_output_visit(s, &x, ASSAY_OUTPUT_SIGMOID_MISSING,
                           "before sigmoid");
    }
    softmaxes(s, n);
    exponentials(s, n);
}

/* ---- boxes --------------------------------------------------------------- */

enum form { /* n[2] of a node */
            TO_CORNERS,
            FROM_CORNERS,
            TO_SIZE, /* of top left and size */
            FROM_SIZE,
            SWAP_XY,
            FORMS
};

/* n[0]: elements of one place of the axis, n[1]: places. */
static struct assay_output_value at_form(const struct assay_output_node *n,
                                         size_t sample, int64_t i)
{
    int64_t c = i / n->n[0] % n->n[1], other;
    struct assay_output_value v = assay_output_ask_from(n, sample, i), o;
    double x, y;

    if (!v.known || c > 3)
        return v;
    other = n->n[2] == SWAP_XY ? c ^ 1 : c ^ 2;
    o = assay_output_ask_from(n, sample, i + (other - c) * n->n[0]);
    if (!o.known || n->n[2] == SWAP_XY)
        return o;
    x = c < 2 ? v.d : o.d; /* of the coordinate's first, */
    y = c < 2 ? o.d : v.d; /* and second number */
    switch ((enum form)n->n[2]) {
    case TO_CORNERS: return assay_output_float(x + (c < 2 ? -y : y) / 2.0);
    case FROM_CORNERS: return assay_output_float(c < 2 ? (x + y) / 2.0 : y - x);
    case TO_SIZE: return assay_output_float(c < 2 ? x : y - x);
    default: return assay_output_float(c < 2 ? x : x + y);
    }
}

/* f[c % 2]: factor of x and y. */
static struct assay_output_value at_unit(const struct assay_output_node *n,
                                         size_t sample, int64_t i)
{
    struct assay_output_value v = assay_output_ask_from(n, sample, i);
    int64_t c = i / n->n[0] % n->n[1];

    if (!v.known || c > 3)
        return v;
    return assay_output_float(n->n[2] != 0 ? v.d / n->f[c % 2]
                                           : v.d * n->f[c % 2]);
}

static void units(struct assay_output_search *s,
                  const struct assay_output_node *n, int axis)
{
    const struct assay_output_model *m = assay_output_asking(s)->m;
    struct assay_output_node x = floats(n, at_unit);

    x.n[0] = inner_of(n, axis);
    x.n[1] = n->dims[axis];
    for (int of_image = 0; of_image < 2; of_image++) {
        x.f[0] = (double)(of_image ? m->image_w : m->size_w);
        x.f[1] = (double)(of_image ? m->image_h : m->size_h);
        if (x.f[0] < 1.0 ||
            (of_image && m->image_w == m->size_w && m->image_h == m->size_h))
            continue;
        for (x.n[2] = 0; x.n[2] < 2; x.n[2]++)
            assay_output_visit(
                s, &x, ASSAY_OUTPUT_BOX_UNIT, "%s by %.0f x %.0f",
                x.n[2] ? "divided" : "multiplied", x.f[0], x.f[1]);
    }
}

static void letterboxes(struct assay_output_search *s,
                        const struct assay_output_node *n, int axis)
{
    const struct assay_output_model *m = assay_output_asking(s)->m;
    struct assay_output_node x;

    if (m->image_w == 0)
        return;
    for (unsigned form = 0; form < 2; form++) {
        x = assay_output_unbox(n, m, axis, form);
        assay_output_visit(s, &x, ASSAY_OUTPUT_UNBOXED, "%s",
                           assay_output_unbox_text(form));
    }
    /* Instead of what takes them out once. */
    if (!assay_output_is_unboxed(n))
        return;
    for (unsigned form = 0; form < 2; form++) {
        x = assay_output_unbox(n->from, m, axis, form);
        x.f[2] = 1.0;
        assay_output_visit(s, &x, ASSAY_OUTPUT_UNBOXED_HALF,
                           "pads are subtracted, the scale is not used (%s)",
                           assay_output_unbox_text(form));
    }
    x = assay_output_unbox(n->from, m, axis, 0);
    x.f[0] = x.f[1] = 0.0;
    assay_output_visit(s, &x, ASSAY_OUTPUT_UNBOXED_HALF,
                       "divided by the scale, pads are not subtracted");
}

void assay_output_boxes(struct assay_output_search *s,
                        const struct assay_output_node *n)
{
    static const char *const texts[FORMS] = {
        "corners of centre and size", "centre and size of corners",
        "top left and size of corners", "corners of top left and size",
        "x and y swapped"};
    int axis = assay_output_box_axis(n);
    struct assay_output_node x = floats(n, at_form);

    if (n->dtype != ASSAY_F32 || axis < 0)
        return;
    x.n[0] = inner_of(n, axis);
    x.n[1] = n->dims[axis];
    for (x.n[2] = 0; x.n[2] < FORMS; x.n[2]++) {
        assay_output_visit(s, &x, ASSAY_OUTPUT_BOX_FORM, "%s", texts[x.n[2]]);
    }
    units(s, n, axis);
    letterboxes(s, n, axis);
}

/* ---- types --------------------------------------------------------------- */

static struct assay_output_value at_sign_bit(const struct assay_output_node *n,
                                             size_t sample, int64_t i)
{
    struct assay_output_value v = assay_output_ask_from(n, sample, i);
    unsigned width = (unsigned)assay_dtype_bytes(n->dtype);

    if (!v.known)
        return v;
    return assay_output_from_bits(assay_output_bits(v, n->dtype) ^
                                      (UINT64_C(1) << (8 * width - 1)),
                                  n->dtype);
}

/* The same bits in a type of the same width; n[0]: the type they had. */
static struct assay_output_value at_same_bits(const struct assay_output_node *n,
                                              size_t sample, int64_t i)
{
    struct assay_output_value v = assay_output_ask_from(n, sample, i);
    uint64_t bits;

    if (!v.known)
        return v;
    bits = assay_output_bits(v, (enum assay_dtype)n->n[0]);
    return assay_output_from_bits(bits, n->dtype);
}

static struct assay_output_value at_swapped(const struct assay_output_node *n,
                                            size_t sample, int64_t i)
{
    struct assay_output_value v = assay_output_ask_from(n, sample, i);
    size_t width = assay_dtype_bytes(n->dtype);
    uint64_t bits, out = 0;

    if (!v.known)
        return v;
    bits = assay_output_bits(v, n->dtype);
    for (size_t b = 0; b < width; b++, bits >>= 8)
        out = out << 8 | (bits & 255);
    return assay_output_from_bits(out, n->dtype);
}

/* Bytes of elements of n[0] as elements of another width. */
static struct assay_output_value at_bytes(const struct assay_output_node *n,
                                          size_t sample, int64_t i)
{
    enum assay_dtype was = (enum assay_dtype)n->n[0];
    int64_t old = (int64_t)assay_dtype_bytes(was);
    int64_t width = (int64_t)assay_dtype_bytes(n->dtype);
    struct assay_output_value v = {.known = false};
    uint64_t bits = 0;

    for (int64_t b = i * width; b < (i + 1) * width; b++) {
        if (b == i * width || b % old == 0) {
            v = assay_output_ask_from(n, sample, b / old);
            if (!v.known)
                return v;
        }
        bits |= (assay_output_bits(v, was) >> 8 * (b % old) & 255)
                << 8 * (b - i * width);
    }
    return assay_output_from_bits(bits, n->dtype);
}

static void other_types(struct assay_output_search *s,
                        const struct assay_output_node *n)
{
    static const enum assay_dtype types[] = {ASSAY_S8,  ASSAY_U8,  ASSAY_S16,
                                             ASSAY_U16, ASSAY_S32, ASSAY_F32};
    int64_t old = (int64_t)assay_dtype_bytes(n->dtype);

    for (size_t k = 0; k < sizeof(types) / sizeof(types[0]); k++) {
        int64_t width = (int64_t)assay_dtype_bytes(types[k]);
        struct assay_output_node x = assay_output_on(n, at_same_bits);
        bool sign = width == old && assay_dtype_is_int(types[k]) &&
                    assay_dtype_is_int(n->dtype);

        if (types[k] == n->dtype || n->count * old % width != 0)
            continue;
        x.dtype = types[k];
        x.n[0] = (int64_t)n->dtype;
        if (width != old) {
            x.at = at_bytes;
            x.count = n->count * old / width;
            x.rank = 1;
            x.dims[0] = x.count;
            x.axes[0] = '\0';
        }
        assay_output_visit(s, &x,
                           sign ? ASSAY_OUTPUT_SIGN : ASSAY_OUTPUT_OTHER_TYPE,
                           "%s read as %s", assay_dtype_name(n->dtype),
                           assay_dtype_name(types[k]));
    }
}

void assay_output_types(struct assay_output_search *s,
                        const struct assay_output_node *n)
{
    struct assay_output_node x;

    if (assay_dtype_is_int(n->dtype) && n->dtype != ASSAY_S64) {
        x = assay_output_on(n, at_sign_bit);
        assay_output_visit(s, &x, ASSAY_OUTPUT_SIGN, "the top bit is turned");
    }
    if (assay_dtype_bytes(n->dtype) > 1) {
        x = assay_output_on(n, at_swapped);
        assay_output_visit(s, &x, ASSAY_OUTPUT_BYTE_ORDER,
                           "bytes of each %s swapped",
                           assay_dtype_name(n->dtype));
    }
    /* Raw bytes have no type of their own. */
    if (!assay_output_asking(s)->got->raw && n->dtype != ASSAY_S64)
        other_types(s, n);
}
