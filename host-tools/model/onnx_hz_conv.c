/* SPDX-License-Identifier: Apache-2.0 */
/* HzSQuantizedConv, Preprocess, ConvTranspose, Matmul. */
#include <math.h>
#include <string.h>

#include "host-tools/model/onnx_hz.h"

/* x, weights, window and the pieces of the formula that convolutions share. */
struct conv {
    uint32_t x, n_in, in[4];
    const struct assay_onnx_const *w;
    int64_t dims[4], groups, oc;
    struct assay_onnx_window win;
    bool relu, has_bias, has_second, has_scaling;
    struct assay_hz_list bias, second_shift, second_scale;
    struct assay_hz_scaling k;
};

static int activation(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n, bool *relu)
{
    int which;
    int rc = assay_hz_word(im, n, "activation", "relu", false, &which);

    *relu = which == 0;
    return rc;
}

/* bias << shift, modulo 2^32: what the accumulator starts from. */
static int fold_bias(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, struct conv *c,
                     const struct assay_onnx_const *bias,
                     const struct assay_hz_list *shift)
{
    const int32_t *b = bias->data;
    int32_t *folded = assay_arena_array(im->g->arena, (size_t)c->oc, 4);
    int64_t *v = assay_arena_array(im->g->arena, (size_t)c->oc, sizeof(*v));
    int rc;

    if (!folded || !v)
        return assay_onnx_no_memory(im);
    for (int64_t o = 0; o < c->oc; o++) {
        int64_t by = shift->v[shift->n > 1 ? o : 0];

        folded[o] = (int32_t)((uint32_t)b[o] << by);
        v[o] = folded[o];
    }
    c->bias = (struct assay_hz_list){(uint32_t)c->oc, v};
    rc = assay_onnx_new_bias(im, im->g->values[n->in[2]].name, folded,
                             (uint32_t)c->oc, &c->in[c->n_in]);
    c->n_in += rc == 0;
    c->has_bias = true;
    return rc;
}

/* The inputs say it; 'use_bias' repeats it. */
static int check_use_bias(struct assay_onnx_import *im,
                          const struct assay_onnx_node *n, bool given)
{
    int64_t same = given, use;
    int rc = assay_hz_int(im, n, "use_bias", 0, 1, &same, &use);

    if (!rc && use != same)
        rc = assay_onnx_fail(im, n, ASSAY_EFORMAT,
                             "attribute 'use_bias': %lld, but the bias is %s",
                             (long long)use, given ? "there" : "missing");
    return rc;
}

static int conv_bias(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, struct conv *c)
{
    const struct assay_onnx_const *bias, *by;
    struct assay_hz_list shift = {.n = (uint32_t)c->oc};
    bool given = assay_onnx_input(n, 2) != ASSAY_ONNX_NONE;
    int64_t *v;
    int rc = check_use_bias(im, n, given);

    if (!rc && !given && assay_onnx_input(n, 3) != ASSAY_ONNX_NONE)
        rc = assay_onnx_fail(im, n, ASSAY_EFORMAT,
                             "b_scale '%.100s' without a bias",
                             im->g->values[n->in[3]].name);
    if (rc || !given)
        return rc;
    rc = assay_hz_const(im, n, 2, "bias", ASSAY_S32, (size_t)c->oc, &bias);
    if (!rc)
        rc = assay_hz_const(im, n, 3, "b_scale", ASSAY_S8, 0, &by);
    if (rc)
        return rc;
    if (by->count != 1 && by->count != (size_t)c->oc)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "b_scale '%.100s': expected %lld elements, "
                               "found %zu",
                               im->g->values[n->in[3]].name, (long long)c->oc,
                               by->count);
    v = assay_arena_array(im->g->arena, by->count, sizeof(*v));
    if (!v)
        return assay_onnx_no_memory(im);
    for (size_t i = 0; i < by->count; i++) {
        v[i] = assay_onnx_const_int(by, i);
        if (v[i] < 0 || v[i] > 31)
            return assay_onnx_fail(im, n, ASSAY_ERANGE,
                                   "b_scale '%.100s': element %zu is %lld, "
                                   "expected 0 to 31",
                                   im->g->values[n->in[3]].name, i,
                                   (long long)v[i]);
    }
    shift.n = (uint32_t)by->count;
    shift.v = v;
    return fold_bias(im, n, c, bias, &shift);
}

/* x, weights of rank 4 (groups at axis `at`), the window. */
static int conv_operands(struct assay_onnx_import *im,
                         const struct assay_onnx_node *n, unsigned x_mask,
                         struct conv *c)
{
    const struct assay_tensor *x;
    int64_t one = 1;
    int rc = assay_hz_format(im, n, true, NULL);

    if (!rc)
        rc = activation(im, n, &c->relu);
    if (!rc)
        rc = assay_hz_image(im, n, 0, "input", x_mask, &c->x);
    if (!rc)
        rc = assay_hz_const(im, n, 1, "weights", ASSAY_S8, 0, &c->w);
    if (!rc)
        rc = assay_hz_int(im, n, "group", 1, INT32_MAX, &one, &c->groups);
    if (rc)
        return rc;
    if (c->w->rank != 4 || !c->w->count)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "weights '%.100s' of rank %u with %zu "
                               "elements, expected rank 4",
                               im->g->values[n->in[1]].name, c->w->rank,
                               c->w->count);
    x = &im->s->tensors[c->x];
    rc = assay_onnx_window(im, n, x->dims + 1, c->w->dims + 1, &c->win);
    c->in[0] = c->x;
    c->n_in = 2;
    c->dims[0] = x->dims[0];
    return rc;
}

static int bad_group(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, const struct conv *c,
                     int64_t channels)
{
    return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                           "attribute 'group': %lld does not fit %lld input "
                           "channels and weights of %lldx..x%lld",
                           (long long)c->groups, (long long)channels,
                           (long long)c->w->dims[0], (long long)c->w->dims[3]);
}

/* A shift to the left, as one to the right. */
static int negated(struct assay_onnx_import *im, struct assay_hz_list *l)
{
    int64_t *v = assay_arena_array(im->g->arena, l->n, sizeof(*v));

    if (!v)
        return assay_onnx_no_memory(im);
    for (uint32_t i = 0; i < l->n; i++)
        v[i] = -l->v[i];
    l->v = v;
    return 0;
}

static int conv_second(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, struct conv *c)
{
    const struct assay_tensor *e;
    int64_t zero = 0, use;
    uint32_t index;
    int rc = assay_hz_int(im, n, "use_sumin", 0, 1, &zero, &use);

    if (rc || !use) {
        if (!rc && assay_onnx_input(n, 4) != ASSAY_ONNX_NONE)
            rc = assay_onnx_skip(im,
                                 "'%s' with a fifth input, but without "
                                 "use_sumin",
                                 n->op);
        return rc;
    }
    rc =
        assay_hz_list(im, n, "e_shift", c->oc, -31, 31, NULL, &c->second_shift);
    if (!rc)
        rc = assay_hz_list(im, n, "e_scale", c->oc, INT32_MIN, INT32_MAX, NULL,
                           &c->second_scale);
    if (!rc)
        rc = assay_hz_image(im, n, 4, "sumin", ASSAY_HZ_S8_16, &index);
    if (rc)
        return rc;
    e = &im->s->tensors[index];
    for (uint32_t i = 0; i < 4; i++)
        if (e->dims[i] != c->dims[i])
            return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                                   "sumin '%.100s': %lld in dimension %u, "
                                   "expected %lld",
                                   e->name, (long long)e->dims[i], i,
                                   (long long)c->dims[i]);
    c->in[c->n_in++] = index;
    c->has_second = true;
    return negated(im, &c->second_shift);
}

static int conv_scaling(struct assay_onnx_import *im,
                        const struct assay_onnx_node *n, struct conv *c,
                        enum assay_dtype dtype)
{
    int64_t zero = 0, high;
    int rc = assay_hz_int(im, n, "high_precision_output", 0, 1, &zero, &high);

    if (rc)
        return rc;
    if (high != (dtype == ASSAY_S32))
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "attribute 'high_precision_output': %lld, but "
                               "the output is %s",
                               (long long)high, assay_dtype_name(dtype));
    c->has_scaling = !high;
    return high ? 0
                : assay_hz_scaling(im, n, "right_shift", "scale", "out_shift",
                                   c->oc, &c->k);
}

/* What the rule of the layer's form names. */
static int conv_fields(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, const struct conv *c,
                       const char *form, struct assay_layer *l)
{
    int rc = 0;

    l->form = form;
    if (c->has_bias)
        rc = assay_hz_field(im, n, l, "bias", &c->bias);
    if (!rc && c->has_second)
        rc = assay_hz_field(im, n, l, "second_shift", &c->second_shift);
    if (!rc && c->has_second)
        rc = assay_hz_field(im, n, l, "second_scale", &c->second_scale);
    if (!rc && c->has_scaling)
        rc = assay_hz_scaled(im, n, l, form, &c->k);
    if (!rc && c->relu)
        rc = assay_hz_field_one(im, n, l, "relu", 1);
    return rc;
}

/* The weights' scales, which no arithmetic needs: thresholds / 127 where the
 * input is int8; with int16 input the integers use less of their range. */
static int weight_scales(struct assay_onnx_import *im,
                         const struct assay_onnx_node *n, const struct conv *c)
{
    const struct assay_onnx_attr *a = assay_onnx_attr(n, "weight_thresholds");
    struct assay_quant *q = &im->s->tensors[c->in[1]].quant;
    uint32_t count = (uint32_t)c->oc;
    int32_t *zero;
    float *scale;

    if (!a)
        return 0;
    if (a->n != 1 && (int64_t)a->n != c->oc)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "attribute 'weight_thresholds': expected 1 or "
                               "%lld numbers, found %zu",
                               (long long)c->oc, a->n);
    if (im->s->tensors[c->x].dtype != ASSAY_S8)
        return 0;
    for (size_t i = 0; i < a->n; i++)
        if (!isfinite(a->floats[i]) || a->floats[i] / 127 <= 0)
            return 0;
    scale = assay_arena_array(im->s->arena, count, sizeof(*scale));
    zero = assay_arena_array(im->s->arena, count, sizeof(*zero));
    if (!scale || !zero)
        return assay_onnx_no_memory(im);
    for (uint32_t i = 0; i < count; i++)
        scale[i] = a->floats[a->n > 1 ? i : 0] / 127;
    *q = (struct assay_quant){count, count > 1 ? 0 : -1, scale, zero};
    return 0;
}

/* Weights as they are in the slice, then the layer. */
static int conv_layer(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n, struct conv *c,
                      const struct assay_onnx_const *w, enum assay_op op,
                      unsigned mask, const char *form)
{
    struct assay_layer *l;
    uint32_t y;
    int rc = assay_onnx_new_constant(im, im->g->values[n->in[1]].name, w, 4,
                                     NULL, "", &c->in[1]);

    if (rc)
        return rc;
    memcpy(im->s->tensors[c->in[1]].axes, "OHWI", 5);
    rc = weight_scales(im, n, c);
    if (!rc)
        rc = assay_hz_output(im, n, 0, mask, 4, c->dims, "NHWC", &y);
    if (!rc)
        rc = assay_onnx_new_layer(im, n, op, c->n_in, c->in, y, &l);
    if (rc)
        return rc;
    l->p.conv2d = (struct assay_conv2d_params){
        .stride_h = (int32_t)c->win.stride[0],
        .stride_w = (int32_t)c->win.stride[1],
        .dilation_h = (int32_t)c->win.dilation[0],
        .dilation_w = (int32_t)c->win.dilation[1],
        .pad_top = (int32_t)c->win.pad[0],
        .pad_left = (int32_t)c->win.pad[1],
        .pad_bottom = (int32_t)c->win.pad[2],
        .pad_right = (int32_t)c->win.pad[3],
        .groups = (int32_t)c->groups,
        .has_bias = c->has_bias,
        .has_second = c->has_second,
    };
    return conv_fields(im, n, c, form, l);
}

int assay_hz_conv(struct assay_onnx_import *im, const struct assay_onnx_node *n)
{
    struct conv c = {0};
    enum assay_dtype dtype = 0;
    int64_t channels;
    int rc = conv_operands(im, n, ASSAY_HZ_S8_16, &c);

    if (!rc && assay_onnx_attr(n, "channel_group")) /* Preprocess's word */
        rc =
            assay_hz_int(im, n, "channel_group", 1, INT32_MAX, NULL, &c.groups);
    if (rc)
        return rc;
    channels = im->s->tensors[c.x].dims[3];
    c.oc = c.w->dims[0];
    if (channels % c.groups || c.oc % c.groups ||
        channels / c.groups != c.w->dims[3])
        return bad_group(im, n, &c, channels);
    c.dims[1] = c.win.out[0];
    c.dims[2] = c.win.out[1];
    c.dims[3] = c.oc;
    rc = assay_onnx_out(im, n, 4, c.dims);
    if (!rc)
        rc = conv_bias(im, n, &c);
    if (!rc)
        rc = conv_second(im, n, &c);
    if (!rc)
        rc = assay_hz_out_dtype(im, n, 0, ASSAY_HZ_INTS, &dtype);
    if (!rc)
        rc = conv_scaling(im, n, &c, dtype);
    return rc ? rc
              : conv_layer(im, n, &c, c.w, ASSAY_OP_CONV2D, ASSAY_HZ_INTS,
                           c.has_scaling ? "conv" : "conv_tail");
}

/* (Cin, KH, KW, Cout/g) to (Cout, KH, KW, Cin/g). */
static int turn_weights(struct assay_onnx_import *im, const struct conv *c,
                        struct assay_onnx_const *out)
{
    const int64_t *d = c->w->dims;
    int64_t cells = d[1] * d[2], og = d[3], ig = d[0] / c->groups;
    const int8_t *from = c->w->data;
    int8_t *to = assay_arena_alloc(im->g->arena, c->w->count);

    if (!to)
        return assay_onnx_no_memory(im);
    for (int64_t o = 0; o < c->oc; o++)
        for (int64_t k = 0; k < cells; k++)
            for (int64_t i = 0; i < ig; i++)
                *to++ = from[((o / og * ig + i) * cells + k) * og + o % og];
    *out = *c->w;
    out->data = to - c->w->count;
    out->dims[0] = c->oc;
    out->dims[3] = ig;
    return 0;
}

/* How far the pads cut into what the scattered kernels cover. */
static int transpose_window(struct assay_onnx_import *im,
                            const struct assay_onnx_node *n, struct conv *c)
{
    const struct assay_tensor *x = &im->s->tensors[c->x];
    int64_t more[2] = {0, 0};
    int rc = assay_onnx_attr_ints(im->g, n, "output_padding", 2, more, im->err);

    if (rc)
        return rc;
    for (int d = 0; d < 2; d++) {
        if (more[d] < 0 || more[d] >= c->win.stride[d])
            return assay_onnx_fail(im, n, ASSAY_ERANGE,
                                   "attribute 'output_padding': element %d is "
                                   "%lld, expected 0 to %lld",
                                   d, (long long)more[d],
                                   (long long)c->win.stride[d] - 1);
        c->dims[1 + d] = (x->dims[1 + d] - 1) * c->win.stride[d] +
                         c->win.dilation[d] * (c->win.kernel[d] - 1) + 1 -
                         c->win.pad[d] - c->win.pad[d + 2] + more[d];
    }
    c->dims[3] = c->oc;
    return assay_onnx_out(im, n, 4, c->dims);
}

static int transpose_bias(struct assay_onnx_import *im,
                          const struct assay_onnx_node *n, struct conv *c)
{
    const struct assay_onnx_const *bias;
    struct assay_hz_list shift;
    bool given = assay_onnx_input(n, 2) != ASSAY_ONNX_NONE;
    int rc = check_use_bias(im, n, given);

    if (rc || !given)
        return rc;
    rc = assay_hz_const(im, n, 2, "bias", ASSAY_S32, (size_t)c->oc, &bias);
    if (!rc)
        rc = assay_hz_list(im, n, "b_left_shift", c->oc, 0, 31, NULL, &shift);
    return rc ? rc : fold_bias(im, n, c, bias, &shift);
}

int assay_hz_conv_transpose(struct assay_onnx_import *im,
                            const struct assay_onnx_node *n)
{
    struct conv c = {0};
    struct assay_onnx_const w;
    int64_t channels;
    int rc = conv_operands(im, n, ASSAY_HZ_S8, &c);

    if (rc)
        return rc;
    channels = im->s->tensors[c.x].dims[3];
    if (channels % c.groups || channels != c.w->dims[0] ||
        c.w->dims[3] > INT32_MAX / c.groups)
        return bad_group(im, n, &c, channels);
    c.oc = c.w->dims[3] * c.groups;
    rc = transpose_window(im, n, &c);
    if (!rc)
        rc = transpose_bias(im, n, &c);
    if (!rc)
        rc = assay_hz_scaling(im, n, "accu_right_shift", "y_quant_scale",
                              "y_right_shift", c.oc, &c.k);
    if (!rc)
        rc = turn_weights(im, &c, &w);
    if (rc)
        return rc;
    c.has_scaling = true;
    return conv_layer(im, n, &c, &w, ASSAY_OP_CONV_TRANSPOSE2D, ASSAY_HZ_S8_16,
                      "conv_transpose");
}

/* Rows and columns of the last two dimensions; those before broadcast. */
static int matmul_dims(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, const uint32_t *in,
                       uint32_t *rank, int64_t *dims)
{
    const struct assay_tensor *a = &im->s->tensors[in[0]];
    const struct assay_tensor *b = &im->s->tensors[in[1]];
    int rc;

    if (a->rank < 2 || b->rank < 2 ||
        a->dims[a->rank - 1] != b->dims[b->rank - 2])
        return assay_onnx_fail(
            im, n, ASSAY_EFORMAT,
            "operands of rank %u and %u, %lld columns "
            "against %lld rows",
            a->rank, b->rank, a->rank ? (long long)a->dims[a->rank - 1] : 0,
            b->rank > 1 ? (long long)b->dims[b->rank - 2] : 0);
    rc = assay_hz_broadcast(im, n, in, 2, rank, dims);
    if (rc)
        return rc;
    dims[*rank - 2] = a->dims[a->rank - 2];
    dims[*rank - 1] = b->dims[b->rank - 1];
    return 0;
}

static int matmul_layer(struct assay_onnx_import *im,
                        const struct assay_onnx_node *n, const uint32_t *in,
                        uint32_t rank, const int64_t *dims,
                        struct assay_layer **l)
{
    uint32_t y;
    int rc = assay_hz_output(im, n, 0, ASSAY_HZ_INTS, rank, dims, "", &y);

    if (!rc)
        rc = assay_onnx_new_layer(im, n, ASSAY_OP_MATMUL, 2, in, y, l);
    if (!rc)
        (*l)->arith = "hz_matmul";
    return rc;
}

int assay_hz_matmul(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n)
{
    int64_t dims[ASSAY_MAX_RANK];
    struct assay_hz_scaling k;
    enum assay_dtype dtype = 0;
    uint32_t in[2], rank = 2;
    struct assay_layer *l;
    int rc = assay_hz_rounding(im, n);

    if (!rc)
        rc = assay_hz_input(im, n, 0, "operand a", ASSAY_HZ_S8, &in[0]);
    if (!rc)
        rc = assay_hz_input(im, n, 1, "operand b", ASSAY_HZ_S8, &in[1]);
    if (!rc)
        rc = matmul_dims(im, n, in, &rank, dims);
    if (!rc)
        rc = assay_hz_out_dtype(im, n, 0, ASSAY_HZ_INTS, &dtype);
    if (rc)
        return rc;
    if (dtype == ASSAY_S32) /* a tail: the sum as it is */
        return matmul_layer(im, n, in, rank, dims, &l);
    rc = assay_hz_list_one(im, n, "right_shift", dims[rank - 1], 0, 31,
                           &k.first);
    if (!rc)
        rc = assay_hz_list_one(im, n, "scale", dims[rank - 1], INT32_MIN,
                               INT32_MAX, &k.scale);
    if (!rc)
        rc = assay_hz_list_one(im, n, "out_shift", dims[rank - 1], 0, 31,
                               &k.second);
    if (!rc)
        rc = matmul_layer(im, n, in, rank, dims, &l);
    return rc ? rc : assay_hz_scaled(im, n, l, "matmul", &k);
}
