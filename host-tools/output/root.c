/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a chain begins: an output of the model as it is, what stands in front
 * of it, and its integers with another scale than their own.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/output/output_private.h"

static struct assay_output_value at_root(const struct assay_output_node *n,
                                         size_t sample, int64_t i)
{
    size_t k = n->samples[sample];

    if (k == SIZE_MAX || n->t->values[k] == NULL)
        return (struct assay_output_value){.known = false};
    return assay_output_load(n->t->values[k], n->t->dtype, i);
}

void assay_output_root(struct assay_output_node *n,
                       const struct assay_output_tensor *t,
                       const size_t *samples)
{
    memset(n, 0, sizeof(*n));
    n->at = at_root;
    n->t = t;
    n->samples = samples;
    n->dtype = t->dtype;
    n->rank = t->rank;
    n->count = 1;
    for (uint32_t a = 0; a < t->rank; a++) {
        n->dims[a] = t->dims[a];
        n->count *= t->dims[a];
    }
    memcpy(n->axes, t->axes, sizeof(n->axes));
}

/* ---- integers and their scale -------------------------------------------- */

enum mode { /* n[0] of a node */
            RIGHT,
            NO_ZERO_POINT,
            TWICE,
            TWICE_ZERO_POINT,
            INVERSE,
            FIRST,
            LARGEST,
            UNSIGNED
};

/* n[1]: elements of one place of the axis, n[2]: places, n[3]: shift. */
static struct assay_output_value at_scaled(const struct assay_output_node *n,
                                           size_t sample, int64_t i)
{
    struct assay_output_value v = at_root(n, sample, i);
    const struct assay_quant *q = n->quant, *own = &n->t->quant;
    int64_t c = i / n->n[1] % n->n[2];
    int32_t zp;
    double x, s;

    if (!v.known)
        return v;
    if (n->n[0] == UNSIGNED)
        v.v &= (INT64_C(1) << 8 * assay_dtype_bytes(n->t->dtype)) - 1;
    zp = own->zero_point[own->n > 1 ? c % own->n : 0];
    c = (c + n->n[3]) % n->n[2];
    s = (double)q->scale[q->n > 1 && n->n[0] != FIRST ? c % q->n : 0];
    if (n->n[0] == LARGEST)
        s = n->f[0];
    x = (double)(v.v - (n->n[0] == NO_ZERO_POINT ? 0 : zp));
    switch ((enum mode)n->n[0]) {
    case TWICE: return assay_output_float((double)(float)(x * s) * s);
    case TWICE_ZERO_POINT:
        return assay_output_float((double)((float)(x * s) - (float)zp) * s);
    case INVERSE: return assay_output_float(x / s);
    default: return assay_output_float(x * s);
    }
}

static struct assay_output_node scaled(const struct assay_output_tensor *t,
                                       const size_t *samples,
                                       const struct assay_quant *q, int mode)
{
    struct assay_output_node n;
    int32_t axis = t->quant.n > 1 ? t->quant.axis : (int32_t)t->rank - 1;

    assay_output_root(&n, t, samples);
    n.at = at_scaled;
    n.dtype = ASSAY_F32;
    n.quant = q;
    n.n[0] = mode;
    n.n[1] = n.n[2] = 1;
    if (t->rank > 0)
        n.n[2] = t->dims[axis];
    for (int32_t a = axis + 1; a < (int32_t)t->rank; a++)
        n.n[1] *= t->dims[a];
    for (uint32_t c = 0; c < q->n; c++)
        n.f[0] = fmax(n.f[0], (double)q->scale[c]);
    return n;
}

/* Scales for channels, taken otherwise. */
static void channel_scales(struct assay_output_search *s,
                           const struct assay_output_tensor *t,
                           const size_t *samples, assay_output_root_fn *give)
{
    struct assay_output_node n;
    char text[128];

    n = scaled(t, samples, &t->quant, FIRST);
    give(s, &n, ASSAY_OUTPUT_SCALE_FIRST, "channel 0's scale everywhere");
    n = scaled(t, samples, &t->quant, LARGEST);
    give(s, &n, ASSAY_OUTPUT_SCALE_LARGEST, "the largest scale everywhere");
    n = scaled(t, samples, &t->quant, RIGHT);
    n.n[3] = 1;
    give(s, &n, ASSAY_OUTPUT_SCALE_SHIFTED, "channel c has scale c + 1");
    n.n[3] = n.n[2] - 1;
    if (n.n[2] > 2)
        give(s, &n, ASSAY_OUTPUT_SCALE_SHIFTED, "channel c has scale c - 1");
    n.n[3] = 0;
    n.n[1] = 1;
    for (int32_t a = (int32_t)t->rank - 1; a >= 0; n.n[1] *= t->dims[a--]) {
        if (a == t->quant.axis || t->dims[a] != (int64_t)t->quant.n)
            continue;
        snprintf(text, sizeof(text), "scales along axis %d, not axis %d",
                 (int)a, (int)t->quant.axis);
        give(s, &n, ASSAY_OUTPUT_SCALE_AXIS, text);
    }
}

static bool same_quant(const struct assay_quant *a, const struct assay_quant *b)
{
    return a->n == b->n &&
           memcmp(a->scale, b->scale, a->n * sizeof(*a->scale)) == 0;
}

/* Gives the elements that it reads, perhaps elsewhere. */
static bool moves(const char *op)
{
    return strcmp(op, "Transpose") == 0 || strcmp(op, "Reshape") == 0 ||
           strcmp(op, "Flatten") == 0 || strstr(op, "queeze") != NULL;
}

/* How far in front of the output its Dequantize stands, with nothing but
 * other shapes behind it; -1: it has none. */
static int dequantize_of(const struct assay_output_head *h)
{
    for (size_t k = 0; k < h->n_before; k++) {
        if (strstr(h->op[k], "equantize") != NULL)
            return (int)k;
        if (!moves(h->op[k]) || strcmp(h->op[k], "Transpose") == 0)
            break;
    }
    return -1;
}

/* The integers whose scale the output has: its own, or those in front. */
static const struct assay_output_tensor *integers(
    const struct assay_output_head *h)
{
    const struct assay_output_tensor *t = &h->t;
    int k = dequantize_of(h);

    if (!assay_dtype_is_int(t->dtype) && k >= 0)
        t = &h->before[k];
    return assay_dtype_is_int(t->dtype) && t->quant.n > 0 ? t : NULL;
}

static void other_scales(struct assay_output_search *s, size_t head,
                         const struct assay_output_tensor *t,
                         const size_t *samples, assay_output_root_fn *give)
{
    const struct assay_output_model *m = assay_output_asking(s)->m;
    char text[128];

    for (size_t k = 0; k < m->n_heads; k++) {
        const struct assay_output_tensor *o = integers(&m->heads[k]);
        struct assay_output_node n;

        if (k == head || o == NULL || same_quant(&o->quant, &t->quant) ||
            (o->quant.n > 1 && o->quant.n != t->quant.n))
            continue;
        n = scaled(t, samples, &o->quant, RIGHT);
        snprintf(text, sizeof(text), "with the scale of '%.80s'",
                 m->heads[k].t.name);
        give(s, &n, ASSAY_OUTPUT_SCALE_OTHER, text);
    }
}

static void scales(struct assay_output_search *s, size_t head,
                   const size_t *samples, assay_output_root_fn *give)
{
    const struct assay_output_head *h = &assay_output_asking(s)->m->heads[head];
    const struct assay_output_tensor *t = integers(h);
    const char *sign = "unsigned, then multiplied by the scale";
    struct assay_output_node n;
    bool zero_points = false;

    if (t == NULL)
        return;
    for (uint32_t c = 0; c < t->quant.n; c++)
        zero_points = zero_points || t->quant.zero_point[c] != 0;
    n = scaled(t, samples, &t->quant, RIGHT);
    if (t == &h->t)
        give(s, &n, ASSAY_OUTPUT_DEQUANTIZED, "multiplied by the scale");
    n.n[0] = TWICE;
    give(s, &n, ASSAY_OUTPUT_SCALE_TWICE, "multiplied by the scale twice");
    n.n[0] = INVERSE;
    give(s, &n, ASSAY_OUTPUT_SCALE_INVERSE, "divided by the scale");
    n.n[0] = UNSIGNED;
    if (t->dtype == ASSAY_S8 || t->dtype == ASSAY_S16)
        give(s, &n, ASSAY_OUTPUT_SIGN, sign);
    n.n[0] = NO_ZERO_POINT;
    if (zero_points)
        give(s, &n, ASSAY_OUTPUT_ZERO_POINT, "scaled without the zero point");
    n.n[0] = TWICE_ZERO_POINT;
    if (zero_points)
        give(s, &n, ASSAY_OUTPUT_SCALE_TWICE, "zero point and scale twice");
    if (t->quant.n > 1)
        channel_scales(s, t, samples, give);
    other_scales(s, head, t, samples, give);
}

/* ---- boxes that leave the letterbox -------------------------------------- */

/* n[0]: elements of one place of the coordinates' axis, n[1]: places. */
static int64_t coordinate_of(const struct assay_output_node *n, int64_t i)
{
    return i / n->n[0] % n->n[1];
}

/* f[0], f[1]: pads; f[2]: scale; n[2]: the sizes of boxes are coordinates 2
 * and 3, which no pad moves. */
static struct assay_output_value at_unboxed(const struct assay_output_node *n,
                                            size_t sample, int64_t i)
{
    struct assay_output_value v = assay_output_ask_from(n, sample, i);
    int64_t c = coordinate_of(n, i);
    double x;

    if (!v.known || c > 3)
        return v;
    x = assay_output_real(v);
    if (c < 2 || n->n[2] == 0)
        x -= n->f[c % 2];
    return assay_output_float(x / n->f[2]);
}

struct assay_output_node assay_output_unbox(
    const struct assay_output_node *from, const struct assay_output_model *m,
    int axis, unsigned form)
{
    struct assay_output_node n = assay_output_on(from, at_unboxed);
    double w = (double)m->size_w, h = (double)m->size_h;

    n.dtype = ASSAY_F32;
    n.n[0] = 1;
    for (uint32_t a = (uint32_t)axis + 1; a < n.rank; a++)
        n.n[0] *= n.dims[a];
    n.n[1] = n.dims[axis];
    n.n[2] = form;
    n.f[2] = fmin(w / (double)m->image_w, h / (double)m->image_h);
    if (!m->corner) {
        n.f[0] = (w - round((double)m->image_w * n.f[2])) / 2.0;
        n.f[1] = (h - round((double)m->image_h * n.f[2])) / 2.0;
    }
    return n;
}

bool assay_output_is_unboxed(const struct assay_output_node *n)
{
    return n->at == at_unboxed;
}

/* The axis of box coordinates: one of four places, else the last one with
 * more (four coordinates first, then scores); -1: no boxes. */
int assay_output_box_axis(const struct assay_output_node *n)
{
    for (int a = (int)n->rank - 1; a >= 0; a--)
        if (n->dims[a] == 4)
            return a;
    return n->rank > 1 && n->dims[n->rank - 1] > 4 &&
                   n->dims[n->rank - 1] <= 256
               ? (int)n->rank - 1
               : -1;
}

const char *assay_output_unbox_text(unsigned form)
{
    return form == 0 ? "boxes as corners" : "boxes as centre and size";
}

/* ---- all of them --------------------------------------------------------- */

static void as_it_is(struct assay_output_search *s, size_t head,
                     const size_t *samples, assay_output_root_fn *give)
{
    const struct assay_output_model *m = assay_output_asking(s)->m;
    struct assay_output_node raw, n;
    int axis;

    assay_output_root(&raw, &m->heads[head].t, samples);
    axis = assay_output_box_axis(&raw);
    if (m->image_w == 0 || axis < 0 || raw.dtype != ASSAY_F32) {
        give(s, &raw, -1, "");
        return;
    }
    for (unsigned form = 0; form < 2; form++) {
        n = assay_output_unbox(&raw, m, axis, form);
        give(s, &n, -1, "");
    }
    /* Boxes and scores in one tensor may still be on their way. */
    if (raw.dims[axis] != 4)
        give(s, &raw, -1, "");
    else
        give(s, &raw, ASSAY_OUTPUT_NOT_UNBOXED,
             "not taken out of the letterbox");
}

static void in_front(struct assay_output_search *s,
                     const struct assay_output_head *h, size_t k,
                     const size_t *samples, assay_output_root_fn *give)
{
    enum assay_output_id id = ASSAY_OUTPUT_INNER;
    struct assay_output_node n;
    char text[128];

    if ((int)k == dequantize_of(h))
        id = ASSAY_OUTPUT_NO_DEQUANTIZE;
    else if (strstr(h->op[k], "oftmax") != NULL)
        id = ASSAY_OUTPUT_SOFTMAX_MISSING;
    else if (strstr(h->op[k], "igmoid") != NULL)
        id = ASSAY_OUTPUT_SIGMOID_MISSING;
    assay_output_root(&n, &h->before[k], samples);
    if (id == ASSAY_OUTPUT_NO_DEQUANTIZE)
        snprintf(text, sizeof(text), "the %s in front of %.60s",
                 assay_dtype_name(n.dtype), h->op[k]);
    else
        snprintf(text, sizeof(text), "'%.60s', in front of %.40s",
                 h->before[k].name, h->op[k]);
    give(s, &n, (int)id, text);
}

void assay_output_roots(struct assay_output_search *s, size_t head,
                        const size_t *samples, assay_output_root_fn *give)
{
    const struct assay_output_head *h = &assay_output_asking(s)->m->heads[head];

    as_it_is(s, head, samples, give);
    /* In front of a move: the step that undoes it has the better words. */
    for (size_t k = 0; k < h->n_before; k++)
        if (!moves(h->op[k]))
            in_front(s, h, k, samples, give);
    scales(s, head, samples, give);
}
