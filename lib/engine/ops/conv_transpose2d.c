/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposed convolution: x NHWC, weights OHWI (not flipped), [bias]. Element
 * i of x and tap t meet in output cell i * stride + t * dilation - pad.
 *
 * It is a convolution of stride 1 over x with stride - 1 zeros (x_zero)
 * between its cells, weights flipped, padded by what the kernel's extent is
 * longer than the pad; where the pad is longer, the image begins inside. So
 * every epilogue of the convolution kernels is one of this operator.
 */
#include "lib/engine/ops/conv2d.h"

#include <inttypes.h>
#include <string.h>

#include "lib/engine/arena.h"

/* One axis of the image that the convolution sees. */
struct axis {
    int32_t size; /* of that image */
    int32_t pad;  /* in front of it */
    int64_t from; /* place of its first cell in x with zeros between */
    int32_t stride;
};

struct params {
    struct assay_conv_params conv; /* first: the convolution's own run() */
    struct axis h, w;
    int32_t x_h, x_w;
    size_t pixel;      /* bytes of one cell's channels */
    size_t image;      /* bytes of one image with zeros */
    size_t scratch_at; /* the kernel's, behind all images */
    size_t flipped_at; /* in packed */
};

/* ---- check ------------------------------------------------------------------ */

static int check_fields(const struct assay_op_check *c,
                        const struct assay_window_axis *q)
{
    const struct {
        const char *name;
        int64_t found, min;
    } fields[] = {
        {"stride", q->stride, 1},
        {"dilation", q->dilation, 1},
        {"pad before", q->pad_before, 0},
        {"pad after", q->pad_after, 0},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (fields[i].found < fields[i].min)
            return ASSAY_REFUSE_LAYER(
                c, ASSAY_ERANGE,
                "%s of axis %s: expected %" PRId64 " or more, found %" PRId64,
                fields[i].name, q->axis, fields[i].min, fields[i].found);
    return 0;
}

/*
 * The output's size, and the image: of x with zeros only the part that some
 * window reads, and at the end zeros as far as some window would begin behind
 * it (cells that no element reaches), so that pads stay below the extent.
 */
static int check_axis(const struct assay_op_check *c,
                      const struct assay_window_axis *q, struct axis *out)
{
    int rc = check_fields(c, q);
    if (rc)
        return rc;
    /* All are int32, so that nothing here leaves 64 bits. */
    int64_t reach = (q->kernel - 1) * q->dilation;
    int64_t spread = (q->in - 1) * q->stride + 1;
    int64_t least = spread + reach - q->pad_before - q->pad_after;
    int64_t free = q->stride > q->dilation ? q->stride : q->dilation;
    if (q->out < least || q->out >= least + free)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "output size of axis %s: expected %" PRId64
                                  " to %" PRId64 ", found %" PRId64,
                                  q->axis, least, least + free - 1, q->out);
    int64_t pad = reach - q->pad_before;
    out->from = pad < 0 ? -pad : 0;
    pad = pad > 0 ? pad : 0;
    int64_t size = spread - out->from;
    int64_t read = q->out - pad + reach; /* behind the last cell read */
    size = size < read ? size : read;
    size = size > q->out - pad ? size : q->out - pad;
    size = size > 1 ? size : 1;
    if (size > INT32_MAX || pad > INT32_MAX)
        return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                  "image of axis %s with zeros between: "
                                  "expected at most %d cells, found %" PRId64,
                                  q->axis, INT32_MAX, size > pad ? size : pad);
    out->size = (int32_t)size;
    out->pad = (int32_t)pad;
    out->stride = (int32_t)q->stride;
    return 0;
}

static int check_shapes(const struct assay_op_check *c, struct params *k)
{
    const struct assay_conv2d_params *q = &c->layer->p.conv2d;
    const struct assay_tensor *x = assay_layer_input(c, 0);
    const struct assay_tensor *w = assay_layer_input(c, 1);
    const struct assay_tensor *y = assay_layer_output(c);
    int rc = assay_conv_check_shapes(c);
    if (rc)
        return rc;
    const struct assay_window_axis h = {
        "h",           x->dims[1], y->dims[1],    w->dims[1], q->stride_h,
        q->dilation_h, q->pad_top, q->pad_bottom, true};
    const struct assay_window_axis v = {
        "w",           x->dims[2],  y->dims[2],   w->dims[2], q->stride_w,
        q->dilation_w, q->pad_left, q->pad_right, true};
    rc = check_axis(c, &h, &k->h);
    return rc ? rc : check_axis(c, &v, &k->w);
}

static void fill(const struct assay_op_check *c, struct params *k)
{
    const int64_t *x = assay_layer_input(c, 0)->dims;
    const int64_t *w = assay_layer_input(c, 1)->dims;
    const int64_t *y = assay_layer_output(c)->dims;
    const struct assay_conv2d_params *q = &c->layer->p.conv2d;
    k->x_h = (int32_t)x[1];
    k->x_w = (int32_t)x[2];
    k->conv.p = (struct assay_conv2d){
        .n = (int32_t)x[0],
        .h = k->h.size,
        .w = k->w.size,
        .c = (int32_t)x[3],
        .oh = (int32_t)y[1],
        .ow = (int32_t)y[2],
        .oc = (int32_t)y[3],
        .kh = (int32_t)w[1],
        .kw = (int32_t)w[2],
        .stride_h = 1,
        .stride_w = 1,
        .dilation_h = q->dilation_h,
        .dilation_w = q->dilation_w,
        .pad_top = k->h.pad,
        .pad_left = k->w.pad,
        .groups = q->groups,
    };
}

/* The images in front of the kernel's scratch, flipped weights behind what is
 * packed. */
static int size_memory(const struct assay_op_check *c, struct params *k,
                       struct assay_op_plan *plan)
{
    const struct assay_tensor *x = assay_layer_input(c, 0);
    size_t images, weights = assay_tensor_elements(assay_layer_input(c, 1));
    k->pixel = (size_t)x->dims[3] * assay_dtype_bytes(x->dtype);
    if (!assay_mul_size((size_t)k->h.size * (size_t)k->w.size, k->pixel,
                        &k->image) ||
        !assay_mul_size(k->image, (size_t)x->dims[0], &images) ||
        !assay_layout_round(images, &k->scratch_at) ||
        !assay_add_size(k->scratch_at, plan->scratch_bytes,
                        &plan->scratch_bytes))
        return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                  "images with zeros between are too large");
    if (!assay_layout_round(plan->packed_bytes, &k->flipped_at) ||
        !assay_add_size(k->flipped_at, weights, &plan->packed_bytes))
        return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                  "packed weights are too large");
    return 0;
}

/* One for each element of x and tap, as if nothing were cut off. */
static uint64_t count_macs(const struct assay_op_check *c)
{
    const struct assay_tensor *x = assay_layer_input(c, 0);
    const struct assay_tensor *w = assay_layer_input(c, 1);
    uint64_t n = assay_tensor_elements(x) / (uint64_t)x->dims[3];
    return __builtin_mul_overflow(n, assay_tensor_elements(w), &n) ? UINT64_MAX
                                                                   : n;
}

static int check(const struct assay_op_check *c, struct assay_op_plan *plan)
{
    const struct assay_conv2d_params *q = &c->layer->p.conv2d;
    struct params *k = plan->params;
    uint32_t want = 2u + q->has_bias;
    if (q->has_second)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "has_second: expected 0, found 1");
    if (c->layer->n_inputs != want)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "inputs: expected %" PRIu32
                                  " (has_bias %d), found %" PRIu32,
                                  want, q->has_bias, c->layer->n_inputs);
    int rc = check_shapes(c, k);
    if (rc)
        return rc;
    fill(c, k);
    rc = assay_conv_check(c, &k->conv,
                          q->has_bias ? assay_layer_input(c, 2) : NULL, plan);
    if (rc)
        return rc;
    plan->macs = count_macs(c);
    return size_memory(c, k, plan);
}

/* ---- prepare and run ---------------------------------------------------------- */

/* Taps in reverse, along both axes; channels stay. */
static void prepare(const struct assay_op_plan *plan, void *packed)
{
    struct params *k = plan->params;
    const struct assay_conv2d *p = &k->conv.p;
    size_t taps = (size_t)p->kh * (size_t)p->kw;
    size_t row = (size_t)(p->c / p->groups); /* one byte a weight */
    const char *from = k->conv.weights;
    char *to = (char *)packed + k->flipped_at;
    for (size_t o = 0; o < (size_t)p->oc; o++)
        for (size_t t = 0; t < taps; t++)
            memcpy(to + (o * taps + taps - 1 - t) * row,
                   from + (o * taps + t) * row, row);
    k->conv.p.weights = to;
    assay_conv_prepare(plan, packed);
}

static void fill_zero(const struct assay_conv2d *p, void *to, size_t bytes)
{
    if (p->x_dtype != ASSAY_S16 || p->x_zero == 0) {
        memset(to, p->x_zero & 0xff, bytes);
        return;
    }
    int16_t *cells = to;
    for (size_t i = 0; i < bytes / sizeof(*cells); i++)
        cells[i] = (int16_t)p->x_zero;
}

/* The first cell of x that lies in the image. */
static int64_t first_cell(const struct axis *a)
{
    return (a->from + a->stride - 1) / a->stride;
}

/* One image: x's cells `stride` apart. */
static void spread(const struct params *k, const char *x, char *to)
{
    for (int64_t i = first_cell(&k->h); i < k->x_h; i++) {
        int64_t row = i * k->h.stride - k->h.from;
        if (row >= k->h.size)
            break;
        for (int64_t j = first_cell(&k->w); j < k->x_w; j++) {
            int64_t column = j * k->w.stride - k->w.from;
            if (column >= k->w.size)
                break;
            memcpy(to + (size_t)(row * k->w.size + column) * k->pixel,
                   x + (size_t)(i * k->x_w + j) * k->pixel, k->pixel);
        }
    }
}

static void run(const struct assay_op_plan *plan, const struct assay_op_io *io)
{
    const struct params *k = plan->params;
    const struct assay_conv2d *p = &k->conv.p;
    size_t x_image = (size_t)k->x_h * (size_t)k->x_w * k->pixel;
    char *images = io->scratch;
    fill_zero(p, images, (size_t)p->n * k->image);
    for (size_t n = 0; n < (size_t)p->n; n++)
        spread(k, (const char *)io->in[0] + n * x_image, images + n * k->image);
    k->conv.kernel->run(p, plan->packed, images, io->out,
                        images + k->scratch_at);
}

const struct assay_op_vtable assay_op_conv_transpose2d = {
    .number = ASSAY_OP_CONV_TRANSPOSE2D,
    .params_bytes = sizeof(struct params),
    .min_inputs = 2,
    .max_inputs = 3,
    .check = check,
    .prepare = prepare,
    .run = run,
};
