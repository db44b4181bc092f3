/* SPDX-License-Identifier: Apache-2.0 */
/* Pools, global pools, reductions, ArgMax. */
#include <string.h>

#include "host-tools/model/onnx_hz.h"

struct pool {
    uint32_t x;
    struct assay_onnx_window w;
    int64_t dims[4]; /* of the output */
};

/* ceil_mode: the file's own shape says whether a window that starts in the
 * padding counts; one that touches no cell is not known. */
static int enlarge(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n, const int64_t *in,
                   struct assay_onnx_window *w)
{
    int64_t pad[4] = {0};
    int rc = assay_onnx_attr_ints(im->g, n, "pads", 4, pad, im->err);

    for (int d = 0; !rc && d < 2; d++) {
        int64_t room = in[d] + pad[d] + pad[d + 2] - w->kernel[d];
        int64_t s = w->stride[d];

        if (room < 0)
            return 0; /* told by the size of the output */
        w->out[d] = (room + s - 1) / s + 1;
        w->pad[d + 2] = (w->out[d] - 1) * s + w->kernel[d] - in[d] - pad[d];
        if (w->pad[d + 2] < 0)
            w->pad[d + 2] = 0;
    }
    return rc;
}

/* may_miss: a window in the padding altogether has a value. */
static int read_pool(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, unsigned mask,
                     bool may_miss, struct pool *p)
{
    const struct assay_tensor *x;
    int64_t zero = 0, ceil;
    int rc = assay_hz_format(im, n, true, NULL);

    if (!rc)
        rc = assay_hz_image(im, n, 0, "input", mask, &p->x);
    if (!rc && !assay_onnx_attr(n, "kernel_shape"))
        rc = assay_onnx_fail(im, n, ASSAY_EFORMAT,
                             "attribute 'kernel_shape' is missing");
    if (!rc)
        rc = assay_hz_int(im, n, "ceil_mode", 0, 1, &zero, &ceil);
    if (rc)
        return rc;
    x = &im->s->tensors[p->x];
    rc = assay_onnx_window(im, n, x->dims + 1, NULL, &p->w);
    if (!rc && ceil)
        rc = enlarge(im, n, x->dims + 1, &p->w);
    for (int d = 0; !rc && d < 2; d++) {
        int64_t last = (p->w.out[d] - 1) * p->w.stride[d] - p->w.pad[d];

        if (p->w.dilation[d] != 1)
            rc = assay_onnx_skip(im, "'%s' with dilations: never measured",
                                 n->op);
        else if (!may_miss &&
                 (p->w.pad[d] >= p->w.kernel[d] || last >= x->dims[1 + d]))
            rc = assay_onnx_skip(im,
                                 "'%s' with a window that lies in the "
                                 "padding altogether",
                                 n->op);
    }
    p->dims[0] = x->dims[0];
    p->dims[1] = p->w.out[0];
    p->dims[2] = p->w.out[1];
    p->dims[3] = x->dims[3];
    return rc;
}

/* One window over the whole image. */
static int global_pool(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, unsigned mask,
                       struct pool *p)
{
    const struct assay_tensor *x;
    int rc = assay_hz_format(im, n, true, NULL);

    if (!rc)
        rc = assay_hz_image(im, n, 0, "input", mask, &p->x);
    if (rc)
        return rc;
    x = &im->s->tensors[p->x];
    p->w = (struct assay_onnx_window){.kernel = {x->dims[1], x->dims[2]},
                                      .stride = {1, 1},
                                      .dilation = {1, 1}};
    p->dims[0] = x->dims[0];
    p->dims[1] = p->dims[2] = 1;
    p->dims[3] = x->dims[3];
    return 0;
}

static int pool_layer(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n, const struct pool *p,
                      enum assay_pool_kind kind, unsigned mask,
                      const char *arith, struct assay_layer **out)
{
    const struct assay_onnx_window *w = &p->w;
    struct assay_layer *l;
    uint32_t y;
    int rc = assay_hz_output(im, n, 0, mask, 4, p->dims, "NHWC", &y);

    if (!rc)
        rc = assay_onnx_new_layer(im, n, ASSAY_OP_POOL, 1, &p->x, y, &l);
    if (rc)
        return rc;
    l->arith = arith;
    l->p.pool = (struct assay_pool_params){
        .kind = (uint8_t)kind,
        .sum = ASSAY_SUM_INT,
        .div = ASSAY_DIV_NONE,
        .count_include_pad = kind == ASSAY_POOL_AVG,
        .kh = (int32_t)w->kernel[0],
        .kw = (int32_t)w->kernel[1],
        .stride_h = (int32_t)w->stride[0],
        .stride_w = (int32_t)w->stride[1],
        .dilation_h = 1,
        .dilation_w = 1,
        .pad_top = (int32_t)w->pad[0],
        .pad_left = (int32_t)w->pad[1],
        .pad_bottom = (int32_t)w->pad[2],
        .pad_right = (int32_t)w->pad[3],
    };
    *out = l;
    return 0;
}

/* A maximum is an element: the output has the input's type. */
static unsigned same_type(const struct assay_onnx_import *im, uint32_t x)
{
    return 1u << im->s->tensors[x].dtype;
}

int assay_hz_max_pool(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n)
{
    struct assay_layer *l;
    struct pool p;
    int rc = read_pool(im, n, ASSAY_HZ_S8_16, false, &p);

    return rc ? rc
              : pool_layer(im, n, &p, ASSAY_POOL_MAX, same_type(im, p.x),
                           "hz_max_pool", &l);
}

int assay_hz_global_max_pool(struct assay_onnx_import *im,
                             const struct assay_onnx_node *n)
{
    struct assay_layer *l;
    struct pool p;
    int rc = global_pool(im, n, ASSAY_HZ_S8_16, &p);

    return rc ? rc
              : pool_layer(im, n, &p, ASSAY_POOL_MAX, same_type(im, p.x),
                           "hz_max_pool", &l);
}

int assay_hz_avg_pool(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n)
{
    struct assay_layer *l;
    struct pool p;
    int64_t bits, real;
    double part;
    int rc = read_pool(im, n, ASSAY_HZ_S8, true, &p);

    if (!rc)
        rc = assay_hz_int(im, n, "scale", 0, 31, NULL, &bits);
    if (!rc)
        rc = pool_layer(im, n, &p, ASSAY_POOL_AVG, ASSAY_HZ_S8_16, "", &l);
    if (rc)
        return rc;
    /* What lies in the padding counts as cells of 0. 1 / (kh * kw) becomes a
     * multiplier with `scale` bits behind the point; the quotient is exact
     * enough for that, as it has 53 bits. */
    part = 1.0 / (double)(p.w.kernel[0] * p.w.kernel[1]);
    memcpy(&real, &part, sizeof(real));
    l->form = "avg_pool";
    rc = assay_hz_field_one(im, n, l, "real", real);
    return rc ? rc : assay_hz_field_one(im, n, l, "post_shift", bits);
}

static int gap_sum(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n, const struct pool *p)
{
    struct assay_layer *l;

    if (p->w.kernel[0] > INT32_MAX / 128 / p->w.kernel[1])
        return assay_onnx_skip(im,
                               "'%s' over %lldx%lld cells, whose sum can "
                               "leave int32: never measured",
                               n->op, (long long)p->w.kernel[0],
                               (long long)p->w.kernel[1]);
    return pool_layer(im, n, p, ASSAY_POOL_AVG, ASSAY_HZ_S32, "hz_gap", &l);
}

int assay_hz_gap(struct assay_onnx_import *im, const struct assay_onnx_node *n)
{
    struct assay_hz_scaling k;
    struct assay_layer *l;
    struct pool p;
    enum assay_dtype dtype = 0;
    int rc = global_pool(im, n, ASSAY_HZ_S8, &p);

    if (!rc)
        rc = assay_hz_rounding(im, n);
    if (!rc)
        rc = assay_hz_out_dtype(im, n, 0, ASSAY_HZ_INTS, &dtype);
    if (!rc && dtype == ASSAY_S32) /* a tail: the sum as it is */
        return gap_sum(im, n, &p);
    if (!rc)
        rc = assay_hz_scaling(im, n, "accu_right_shift", "output_scale",
                              "output_right_shift", p.dims[3], &k);
    if (!rc)
        rc = pool_layer(im, n, &p, ASSAY_POOL_AVG, ASSAY_HZ_S8_16, "", &l);
    return rc ? rc : assay_hz_scaled(im, n, l, "global_avg_pool", &k);
}

/* ---- reductions: reduced axes stay as 1 --------------------------------- */

/* 'axis': one, or several. */
static int read_axes(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, uint32_t rank,
                     uint16_t *axes)
{
    const struct assay_onnx_attr *a = assay_onnx_attr(n, "axis");
    size_t count;

    if (!a)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "attribute 'axis' is missing");
    if (a->type != ASSAY_ONNX_INT && a->type != ASSAY_ONNX_INTS)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "attribute 'axis': expected integers, found %s",
                               assay_onnx_attr_type_name(a->type));
    count = a->type == ASSAY_ONNX_INT ? 1 : a->n;
    *axes = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t axis = a->type == ASSAY_ONNX_INT ? a->i : a->ints[i];

        if (axis < -(int64_t)rank || axis >= (int64_t)rank)
            return assay_onnx_fail(im, n, ASSAY_ERANGE,
                                   "attribute 'axis': %lld does not fit rank "
                                   "%u",
                                   (long long)axis, rank);
        *axes |= (uint16_t)(1u << (axis < 0 ? axis + rank : axis));
    }
    if (!*axes)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "attribute 'axis': expected at least one");
    return 0;
}

static int reduce(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                  uint32_t x, enum assay_reduce_kind kind, unsigned mask,
                  const char *arith, struct assay_layer **l)
{
    const struct assay_tensor *t = &im->s->tensors[x];
    int64_t dims[ASSAY_MAX_RANK];
    uint16_t axes = 0;
    uint32_t y;
    int rc = read_axes(im, n, t->rank, &axes);

    if (rc)
        return rc;
    for (uint32_t i = 0; i < t->rank; i++)
        dims[i] = axes >> i & 1 ? 1 : t->dims[i];
    rc = assay_hz_output(im, n, 0, mask, t->rank, dims, t->axes, &y);
    if (!rc)
        rc = assay_onnx_new_layer(im, n, ASSAY_OP_REDUCE, 1, &x, y, l);
    if (rc)
        return rc;
    (*l)->arith = arith;
    (*l)->p.reduce.kind = (uint8_t)kind;
    (*l)->p.reduce.axes = axes;
    return 0;
}

int assay_hz_reduce_max(struct assay_onnx_import *im,
                        const struct assay_onnx_node *n)
{
    struct assay_layer *l;
    uint32_t x;
    int rc = assay_hz_input(im, n, 0, "input", ASSAY_HZ_S8_16, &x);

    return rc ? rc
              : reduce(im, n, x, ASSAY_REDUCE_MAX, same_type(im, x),
                       "hz_reduce_max", &l);
}

int assay_hz_arg_max(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n)
{
    const struct assay_onnx_attr *a = assay_onnx_attr(n, "axis");
    struct assay_builder b;
    struct assay_layer *l;
    uint32_t x;
    int rc = assay_hz_input(im, n, 0, "input", ASSAY_HZ_S8_16, &x);

    if (!rc && a && a->type == ASSAY_ONNX_INTS && a->n != 1)
        rc = assay_onnx_skip(im, "'%s' over several axes", n->op);
    if (!rc)
        rc = reduce(im, n, x, ASSAY_REDUCE_ARG_MAX, same_type(im, x),
                    "hz_arg_max", &l);
    if (rc)
        return rc;
    /* The index has the input's type, however far it goes. */
    assay_hz_begin(&b, im);
    assay_build_bits(&b, ASSAY_STEP_WRAP,
                     (uint8_t)(assay_dtype_bytes(im->s->tensors[x].dtype) * 8));
    return assay_hz_end(im, n, &b, &l->out_program);
}

/* Mean and sum alike: 1/n is inside the multiplier. The lists have an entry
 * for each channel of the float model, which may be any axis here. */
int assay_hz_reduce_scaled(struct assay_onnx_import *im,
                           const struct assay_onnx_node *n)
{
    struct assay_hz_scaling k;
    struct assay_layer *l;
    uint32_t x;
    int rc = assay_hz_input(im, n, 0, "input", ASSAY_HZ_S8_16, &x);

    if (rc)
        return rc;
    rc = assay_hz_list_one(im, n, "accu_right_shift", 0, 0, 31, &k.first);
    if (!rc)
        rc = assay_hz_list_one(im, n, "scale", 0, INT32_MIN, INT32_MAX,
                               &k.scale);
    if (!rc)
        rc = assay_hz_list_one(im, n, "out_shift", 0, 0, 31, &k.second);
    if (!rc)
        rc = reduce(im, n, x, ASSAY_REDUCE_SUM, ASSAY_HZ_S8_16, "", &l);
    return rc ? rc : assay_hz_scaled(im, n, l, "reduce", &k);
}
