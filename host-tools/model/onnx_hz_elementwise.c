/* SPDX-License-Identifier: Apache-2.0 */
/* Element by element: quantize, requantize, add, multiply, PRelu, casts. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "host-tools/model/onnx_hz.h"

/* The scale of a border: finite and above 0. */
static int scale_of(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n, size_t count,
                    const struct assay_onnx_const **out)
{
    const struct assay_onnx_const *k;
    int rc = assay_hz_const(im, n, 1, "scale", ASSAY_F32, count, &k);

    if (rc)
        return rc;
    if (!k->count)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT, "scale '%.100s' is empty",
                               im->g->values[n->in[1]].name);
    for (size_t i = 0; i < k->count; i++) {
        float v = ((const float *)k->data)[i];

        if (!isfinite(v) || v <= 0)
            return assay_onnx_fail(im, n, ASSAY_ERANGE,
                                   "scale '%.100s': element %zu is %g, "
                                   "expected a positive number",
                                   im->g->values[n->in[1]].name, i, (double)v);
    }
    *out = k;
    return 0;
}

int assay_hz_quantize(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n)
{
    const struct assay_onnx_const *scale;
    struct assay_layer *l;
    enum assay_dtype dtype;
    int64_t bits;
    uint32_t x;
    int rc = assay_hz_int(im, n, "bits", 8, 16, NULL, &bits);

    if (!rc)
        rc = assay_hz_input(im, n, 0, "input", ASSAY_HZ_F32, &x);
    if (!rc)
        rc = scale_of(im, n, 1, &scale);
    if (!rc)
        rc = assay_hz_like(im, n, ASSAY_OP_UNARY, 1, &x, ASSAY_HZ_S8_16,
                           "hz_quantize", &l);
    if (rc)
        return rc;
    dtype = im->s->tensors[l->output].dtype;
    if (bits != (int64_t)assay_dtype_bytes(dtype) * 8)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "attribute 'bits': %lld, but the output is %s",
                               (long long)bits, assay_dtype_name(dtype));
    l->form = "quantize";
    return assay_hz_field_f32(im, n, l, 1, scale->data);
}

/* A scale for each index along an axis that is not the last one stored. */
static int dequantize_along(struct assay_onnx_import *im,
                            const struct assay_onnx_node *n, uint32_t x,
                            int64_t axis, const struct assay_onnx_const *scale)
{
    const struct assay_tensor *t = &im->s->tensors[x];
    int64_t dims[ASSAY_MAX_RANK], ones[ASSAY_MAX_RANK];
    struct assay_builder b;
    struct assay_layer *l;
    uint32_t in[2] = {x, 0}, y, rank = t->rank;
    int rc;

    memcpy(dims, t->dims, sizeof(dims));
    for (uint32_t i = 0; i < rank; i++)
        ones[i] = i == axis ? dims[i] : 1;
    rc = assay_hz_made(im, n, "scale", ASSAY_F32, rank, ones, scale->data,
                       &in[1]);
    if (!rc)
        rc = assay_hz_output(im, n, 0, ASSAY_HZ_F32, rank, dims,
                             im->s->tensors[x].axes, &y);
    if (!rc)
        rc = assay_onnx_new_layer(im, n, ASSAY_OP_BINARY, 2, in, y, &l);
    if (!rc)
        rc = assay_onnx_new_programs(im, l, 2);
    if (rc)
        return rc;
    l->arith = "hz_dequantize";
    l->p.binary.combine = ASSAY_COMBINE_FMUL;
    assay_hz_begin(&b, im);
    assay_build_plain(&b, ASSAY_STEP_TO_F32, ASSAY_ROUND_FLOOR);
    return assay_hz_end(im, n, &b, &l->in_programs[0]);
}

int assay_hz_dequantize(struct assay_onnx_import *im,
                        const struct assay_onnx_node *n)
{
    const struct assay_onnx_const *scale;
    const struct assay_tensor *t;
    struct assay_layer *l;
    uint32_t x;
    int64_t axis;
    int rc = assay_hz_input(im, n, 0, "input", ASSAY_HZ_INTS, &x);

    if (!rc)
        rc = scale_of(im, n, 0, &scale);
    if (rc)
        return rc;
    t = &im->s->tensors[x];
    if (scale->count > 1) {
        rc = assay_onnx_axis(im, n, t->rank > 1, t->rank, &axis);
        if (rc)
            return rc;
        if (!t->rank || t->dims[axis] != (int64_t)scale->count)
            return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                                   "scale '%.100s': expected 1 or %lld "
                                   "elements, found %zu",
                                   im->g->values[n->in[1]].name,
                                   t->rank ? (long long)t->dims[axis] : 1,
                                   scale->count);
        if (axis != (int64_t)t->rank - 1)
            return dequantize_along(im, n, x, axis, scale);
    }
    rc = assay_hz_like(im, n, ASSAY_OP_UNARY, 1, &x, ASSAY_HZ_F32,
                       "hz_dequantize", &l);
    if (rc)
        return rc;
    l->form = "dequantize";
    return assay_hz_field_f32(im, n, l, scale->count, scale->data);
}

/* Channels of lists: the last dimension where the node says NHWC, else they
 * would have no axis. */
static int64_t channels_of(const struct assay_tensor *t)
{
    return t->rank ? t->dims[t->rank - 1] : 1;
}

/* Without data_format an entry a channel can only be along the last dimension;
 * another number of entries says that it is not. */
static int check_lists(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, int64_t channels,
                       const struct assay_hz_list *lists, int count)
{
    for (int i = 0; i < count; i++)
        if (lists[i].n > 1 && (int64_t)lists[i].n != channels)
            return assay_onnx_skip(im,
                                   "'%s' with %u entries, neither one nor as "
                                   "many as the last dimension has, and "
                                   "without data_format",
                                   n->op, lists[i].n);
    return 0;
}

int assay_hz_requantize(struct assay_onnx_import *im,
                        const struct assay_onnx_node *n)
{
    struct assay_hz_list scale, shift;
    struct assay_layer *l;
    int64_t bits, axis;
    enum assay_dtype dtype;
    uint32_t x;
    int which;
    int rc = assay_hz_int(im, n, "bits", 8, 16, NULL, &bits);

    if (!rc)
        rc = assay_hz_word(im, n, "method", "Rescale", false, &which);
    if (!rc)
        rc = assay_hz_format(im, n, false, NULL);
    if (!rc) /* whichever it is, when all entries are equal */
        rc = assay_hz_int(im, n, "axis", INT64_MIN, INT64_MAX, &bits, &axis);
    if (!rc)
        rc = assay_hz_input(im, n, 0, "input", ASSAY_HZ_S8_16, &x);
    if (rc)
        return rc;
    rc = assay_hz_list(im, n, "output_scale", channels_of(&im->s->tensors[x]),
                       INT32_MIN, INT32_MAX, NULL, &scale);
    if (!rc)
        rc =
            assay_hz_list(im, n, "output_right_shift",
                          channels_of(&im->s->tensors[x]), 0, 31, NULL, &shift);
    if (!rc && (scale.n > 1 || shift.n > 1)) {
        rc = assay_onnx_axis(im, n, (int64_t)im->s->tensors[x].rank - 1,
                             im->s->tensors[x].rank, &axis);
        if (!rc && axis != (int64_t)im->s->tensors[x].rank - 1)
            rc = assay_onnx_skip(im,
                                 "'%s' along axis %lld, which is not the last "
                                 "one: never measured",
                                 n->op, (long long)axis);
    }
    if (!rc)
        rc = assay_hz_like(im, n, ASSAY_OP_UNARY, 1, &x, ASSAY_HZ_S8_16,
                           "hz_requantize", &l);
    if (rc)
        return rc;
    dtype = im->s->tensors[l->output].dtype;
    if (bits != (int64_t)assay_dtype_bytes(dtype) * 8)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "attribute 'bits': %lld, but the output is %s",
                               (long long)bits, assay_dtype_name(dtype));
    l->form = "rescale";
    rc = assay_hz_field(im, n, l, "scale", &scale);
    return rc ? rc : assay_hz_field(im, n, l, "post_shift", &shift);
}

/* ---- two operands ------------------------------------------------------- */

static int binary(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                  enum assay_combine combine, const char *arith,
                  struct assay_layer **l)
{
    uint32_t in[2];
    bool nhwc = false;
    int rc = assay_hz_rounding(im, n);

    if (!rc)
        rc = assay_hz_format(im, n, false, &nhwc);
    if (!rc)
        rc = assay_hz_input(im, n, 0, "operand x", ASSAY_HZ_S8_16, &in[0]);
    if (!rc)
        rc = assay_hz_input(im, n, 1, "operand e", ASSAY_HZ_S8_16, &in[1]);
    if (!rc)
        rc = assay_hz_pair(im, n, in, 0, ASSAY_HZ_S8_16, nhwc ? "NHWC" : "",
                           combine, l);
    if (!rc)
        (*l)->arith = arith;
    return rc;
}

struct add_lists {
    struct assay_hz_list x_shift, e_shift, e_scale;
    struct assay_hz_scaling out;
};

static int add_lists(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, int64_t channels,
                     struct add_lists *k)
{
    static const int64_t zero = 0;
    int64_t want;
    bool nhwc;
    int rc = assay_hz_format(im, n, false, &nhwc);

    if (rc)
        return rc;
    want = nhwc ? channels : 0;
    rc = assay_hz_list(im, n, "x_shift", want, 0, 31, NULL, &k->x_shift);
    if (!rc)
        rc = assay_hz_list(im, n, "e_shift", want, 0, 31, &zero, &k->e_shift);
    if (!rc)
        rc = assay_hz_list(im, n, "e_scale", want, INT32_MIN, INT32_MAX, NULL,
                           &k->e_scale);
    if (!rc)
        rc = assay_hz_scaling(im, n, "accu_right_shift", "output_scale",
                              "output_right_shift", want, &k->out);
    if (rc)
        return rc;
    return check_lists(im, n, channels,
                       (struct assay_hz_list[]){k->x_shift, k->e_shift,
                                                k->e_scale, k->out.first,
                                                k->out.scale, k->out.second},
                       6);
}

/* The last dimension of what two operands give, before there is a layer. */
static int out_channels(struct assay_onnx_import *im,
                        const struct assay_onnx_node *n, int64_t *channels)
{
    const struct assay_onnx_value *v = &im->g->values[n->out[0]];

    if (!v->has_info)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "output '%.100s' has no type in the file: "
                               "its width is not known",
                               v->name);
    *channels = v->info_rank ? v->info_dims[v->info_rank - 1] : 1;
    return 0;
}

int assay_hz_add(struct assay_onnx_import *im, const struct assay_onnx_node *n)
{
    bool sub = !strcmp(n->op, "HzSElementwiseSub");
    struct add_lists k;
    struct assay_layer *l;
    int64_t channels = 1;
    int rc = out_channels(im, n, &channels);

    if (!rc)
        rc = add_lists(im, n, channels, &k);
    if (!rc)
        rc = binary(im, n, sub ? ASSAY_COMBINE_SUB : ASSAY_COMBINE_ADD, "", &l);
    if (!rc)
        rc = assay_hz_field(im, n, l, "x_shift", &k.x_shift);
    if (!rc)
        rc = assay_hz_field(im, n, l, "e_shift", &k.e_shift);
    if (!rc)
        rc = assay_hz_field(im, n, l, "e_scale", &k.e_scale);
    return rc ? rc : assay_hz_scaled(im, n, l, sub ? "sub" : "add", &k.out);
}

int assay_hz_bit_shift(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n)
{
    struct assay_hz_list shift;
    struct assay_builder b;
    struct assay_layer *l;
    uint32_t x;
    int left;
    int rc = assay_hz_format(im, n, true, NULL);

    if (!rc)
        rc = assay_hz_word(im, n, "direction", "RIGHT LEFT", true, &left);
    if (!rc)
        rc = assay_hz_input(im, n, 0, "input", ASSAY_HZ_S8_16, &x);
    if (!rc)
        rc = assay_hz_list(im, n, "shift", channels_of(&im->s->tensors[x]), 0,
                           31, NULL, &shift);
    if (!rc)
        rc = assay_hz_like(im, n, ASSAY_OP_UNARY, 1, &x,
                           1u << im->s->tensors[x].dtype, "hz_bit_shift", &l);
    if (rc)
        return rc;
    if (!left) {
        l->form = "rescale";
        return assay_hz_field(im, n, l, "pre_shift", &shift);
    }
    assay_hz_begin(&b, im);
    assay_hz_step(&b, ASSAY_STEP_SHL, &shift);
    assay_hz_sat(&b, im->s->tensors[x].dtype);
    return assay_hz_end(im, n, &b, &l->out_program);
}

/* 1 where x - e fulfils it, else 0. */
static void compare_steps(struct assay_builder *b, int which)
{
    enum { GREATER, GREATER_OR_EQUAL, LESS, LESS_OR_EQUAL, EQUAL };
    int64_t one = 1;

    if (which == EQUAL) { /* -1, 0, 1 -> -2, 0, -2 -> 0, 1, 0 */
        assay_build_clamp(b, -1, 1);
        assay_build_int(b, ASSAY_STEP_MUL, 2);
        assay_build_bits(b, ASSAY_STEP_WRAP, 2);
        assay_build_shr(b, 1, &one, ASSAY_ROUND_FLOOR);
        assay_build_int(b, ASSAY_STEP_ADD_ZP, 1);
        return;
    }
    if (which == LESS || which == LESS_OR_EQUAL)
        assay_build_int(b, ASSAY_STEP_MUL, -1);
    if (which == GREATER_OR_EQUAL || which == LESS_OR_EQUAL)
        assay_build_int(b, ASSAY_STEP_ADD_ZP, 1);
    assay_build_clamp(b, 0, 1);
}

int assay_hz_compare(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n)
{
    struct assay_builder b;
    struct assay_layer *l;
    int which;
    int rc = assay_hz_word(im, n, "comparison",
                           "Greater GreaterOrEqual Less LessOrEqual Equal",
                           true, &which);

    if (!rc)
        rc = binary(im, n, ASSAY_COMBINE_SUB, "hz_compare", &l);
    if (rc)
        return rc;
    assay_hz_begin(&b, im);
    compare_steps(&b, which);
    return assay_hz_end(im, n, &b, &l->out_program);
}

int assay_hz_mul(struct assay_onnx_import *im, const struct assay_onnx_node *n)
{
    struct assay_hz_scaling k;
    struct assay_layer *l;
    int64_t channels = 1;
    bool nhwc;
    int rc = out_channels(im, n, &channels);

    if (!rc)
        rc = assay_hz_format(im, n, false, &nhwc);
    if (!rc)
        rc = assay_hz_scaling(im, n, "accu_right_shift", "output_scale",
                              "output_right_shift", nhwc ? channels : 0, &k);
    if (!rc)
        rc = check_lists(im, n, channels,
                         (struct assay_hz_list[]){k.first, k.scale, k.second},
                         3);
    if (!rc)
        rc = binary(im, n, ASSAY_COMBINE_MUL, "", &l);
    return rc ? rc : assay_hz_scaled(im, n, l, "mul", &k);
}
