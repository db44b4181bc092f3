/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of the slice: activations, constants, scales. */
#include "host-tools/model/onnx_import.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of one tensor: products of dimensions then never overflow. */
#define MAX_ELEMENTS ((int64_t)1 << 40)

static int quant_constants(struct assay_onnx_import *im,
                           const struct assay_onnx_node *n, uint32_t scale,
                           uint32_t zero, const struct assay_onnx_const **s,
                           const struct assay_onnx_const **z)
{
    const struct assay_onnx_value *v = im->g->values;

    if (scale == ASSAY_ONNX_NONE)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT, "it has no scale");
    *s = v[scale].k;
    *z = zero == ASSAY_ONNX_NONE ? NULL : v[zero].k;
    if (!*s || (zero != ASSAY_ONNX_NONE && !*z))
        return assay_onnx_fail(im, n, ASSAY_EUNSUPPORTED,
                               "scale or zero point '%s' is computed, "
                               "expected a constant",
                               v[*s ? zero : scale].name);
    if ((*s)->dtype != ASSAY_F32 || (*s)->count < 1 || (*s)->rank > 1)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "scale '%s': expected float32 of rank 0 or 1, "
                               "found %s of rank %u with %zu elements",
                               v[scale].name,
                               assay_onnx_type_name((*s)->onnx_type),
                               (*s)->rank, (*s)->count);
    if (*z &&
        (!(*z)->dtype || (*z)->dtype == ASSAY_F32 || (*z)->dtype == ASSAY_S64))
        return assay_onnx_fail(im, n, ASSAY_EUNSUPPORTED,
                               "zero point '%s' is %s, which is not a "
                               "quantized type",
                               v[zero].name,
                               assay_onnx_type_name((*z)->onnx_type));
    if (*z && (*z)->count != (*s)->count)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "zero point '%s' has %zu elements, its scale "
                               "%zu",
                               v[zero].name, (*z)->count, (*s)->count);
    return 0;
}

int assay_onnx_quant(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, uint32_t scale,
                     uint32_t zero, int64_t axis, struct assay_quant *q,
                     enum assay_dtype *dtype)
{
    const struct assay_onnx_const *s = NULL, *z = NULL;
    int32_t *zp;
    int rc = quant_constants(im, n, scale, zero, &s, &z);

    if (rc)
        return rc;
    for (size_t i = 0; i < s->count; i++) {
        float v = ((const float *)s->data)[i];

        if (!isfinite(v) || v <= 0)
            return assay_onnx_fail(im, n, ASSAY_ERANGE,
                                   "scale '%s' is %g in element %zu, expected "
                                   "a positive number",
                                   im->g->values[scale].name, (double)v, i);
    }
    zp = assay_arena_array(im->s->arena, s->count, sizeof(*zp));
    q->scale = assay_arena_copy(im->s->arena, s->data, s->count * 4);
    if (!zp || !q->scale)
        return assay_onnx_no_memory(im);
    for (size_t i = 0; z && i < z->count; i++)
        zp[i] = (int32_t)assay_onnx_const_int(z, i);
    q->zero_point = zp;
    q->n = (uint32_t)s->count;
    q->axis = q->n > 1 ? (int32_t)axis : -1;
    if (dtype)
        *dtype = z ? z->dtype : ASSAY_U8;
    return 0;
}

bool assay_onnx_same_quant(const struct assay_quant *a,
                           const struct assay_quant *b)
{
    if (a->n != b->n || a->axis != b->axis)
        return false;
    /* Without quantization there are no arrays to compare. */
    return a->n == 0 ||
           (!memcmp(a->scale, b->scale, a->n * sizeof(*a->scale)) &&
            !memcmp(a->zero_point, b->zero_point,
                    a->n * sizeof(*a->zero_point)));
}

int assay_onnx_out(struct assay_onnx_import *im,
                   const struct assay_onnx_node *n, uint32_t rank,
                   const int64_t *dims)
{
    int64_t total = 1;

    if (rank > ASSAY_MAX_RANK)
        return assay_onnx_fail(im, n, ASSAY_ERANGE,
                               "output of rank %u, more than the limit of %d",
                               rank, ASSAY_MAX_RANK);
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] < 1 || dims[i] > INT32_MAX)
            return assay_onnx_fail(im, n, ASSAY_ERANGE,
                                   "dimension %u of the output is %" PRId64
                                   ", expected 1 to 2147483647",
                                   i, dims[i]);
        if (dims[i] > MAX_ELEMENTS / total)
            return assay_onnx_fail(
                im, n, ASSAY_ERANGE,
                "an output of more than %" PRId64 " elements", MAX_ELEMENTS);
        total *= dims[i];
    }
    im->have_dims = true;
    im->out_rank = rank;
    for (uint32_t i = 0; i < rank; i++)
        im->out_dims[i] = dims[i];
    return 0;
}

/* Channels last for rank 4, else as in the file. */
static void set_layout(const struct assay_onnx_import *im,
                       struct assay_tensor *t, uint32_t rank,
                       const int64_t *source, const char *axes)
{
    static const uint8_t nhwc[4] = {0, 2, 3, 1};
    bool last = rank == 4 && !im->source_order;
    const uint8_t *perm = last ? nhwc : im->perm;

    t->rank = rank;
    for (uint32_t i = 0; i < rank; i++) {
        t->perm[i] = perm ? perm[i] : (uint8_t)i;
        t->dims[i] = source[t->perm[i]];
    }
    if (last)
        memcpy(t->axes, axes, 5);
}

static int set_quant(struct assay_onnx_import *im, struct assay_tensor *t,
                     const struct assay_quant *q)
{
    int32_t axis;

    if (!q || !q->n)
        return 0;
    t->quant = *q;
    if (q->n == 1)
        return 0;
    axis = q->axis < 0 ? q->axis + (int32_t)t->rank : q->axis;
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->perm[i] == axis && t->dims[i] == (int64_t)q->n) {
            t->quant.axis = (int32_t)i;
            return 0;
        }
    return assay_fail(im->err, ASSAY_EFORMAT,
                      "%s: tensor '%s': %u scales along axis %d do not fit "
                      "its shape",
                      im->g->file, t->name, q->n, q->axis);
}

/* "m.onnx: node 3 (Conv 'c'): tensor 't': text", without the node where the
 * tensor is an input of the graph. */
static int contradicts(struct assay_onnx_import *im,
                       const struct assay_onnx_value *v, const char *fmt, ...)
    ASSAY_PRINTF(3, 4);

static int contradicts(struct assay_onnx_import *im,
                       const struct assay_onnx_value *v, const char *fmt, ...)
{
    char text[200];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (im->node)
        return assay_onnx_fail(im, im->node, ASSAY_EFORMAT,
                               "tensor '%.100s': %s", v->name, text);
    return assay_fail(im->err, ASSAY_EFORMAT, "%s: tensor '%.100s': %s",
                      im->g->file, v->name, text);
}

/* A shape or a type in the file that contradicts the inferred one is an error
 * of the file or of this reader: either must be told. */
int assay_onnx_check_info(struct assay_onnx_import *im, uint32_t value,
                          enum assay_dtype dtype)
{
    const struct assay_onnx_value *v = &im->g->values[value];

    if (!v->has_info)
        return 0;
    if (v->info_type && assay_onnx_dtype(v->info_type) != dtype)
        return contradicts(im, v, "the file says %s, the nodes give %s",
                           assay_onnx_type_name(v->info_type),
                           assay_dtype_name(dtype));
    if (v->info_rank != im->out_rank)
        return contradicts(im, v, "the file says rank %u, the nodes give %u",
                           v->info_rank, im->out_rank);
    for (uint32_t i = 0; i < v->info_rank; i++)
        if (v->info_dims[i] && v->info_dims[i] != im->out_dims[i])
            return contradicts(im, v,
                               "the file says %" PRId64 " in dimension %u, "
                               "the nodes give %" PRId64,
                               v->info_dims[i], i, im->out_dims[i]);
    return 0;
}

int assay_onnx_new_tensor(struct assay_onnx_import *im, uint32_t value,
                          enum assay_dtype dtype, const struct assay_quant *q,
                          uint32_t *index)
{
    const struct assay_onnx_value *v = &im->g->values[value];
    struct assay_tensor *t;
    int rc = assay_onnx_check_info(im, value, dtype);

    if (!rc)
        rc = assay_slice_add_tensor(im->s, index, im->err);
    if (rc)
        return rc;
    t = &im->s->tensors[*index];
    t->name = assay_arena_str(im->s->arena, v->name, strlen(v->name));
    if (!t->name)
        return assay_onnx_no_memory(im);
    t->dtype = dtype;
    t->role = v->is_input ? ASSAY_ROLE_INPUT : ASSAY_ROLE_ACTIVATION;
    t->is_output = v->is_output;
    set_layout(im, t, im->out_rank, im->out_dims, "NHWC");
    rc = set_quant(im, t, q);
    if (rc)
        return rc;
    im->tensor_of[value] = *index;
    return 0;
}

int assay_onnx_activation(struct assay_onnx_import *im,
                          const struct assay_onnx_operand *o, uint32_t *index)
{
    const char *name;
    struct assay_tensor *t;

    if (o->value == ASSAY_ONNX_NONE)
        return assay_onnx_skip(im, "an input is left out");
    name = im->g->values[o->value].name;
    if (im->no_shape[o->value])
        return assay_onnx_skip(im,
                               "the shape of its input '%.100s' is not "
                               "known",
                               name);
    if (im->tensor_of[o->value] < 0)
        return assay_onnx_skip(im, "its input '%.100s' is not an activation",
                               name);
    *index = (uint32_t)im->tensor_of[o->value];
    if (im->source_order) {
        int rc = assay_onnx_reorder(im, im->node, NULL, index);

        if (rc)
            return rc;
        im->tensor_of[o->value] = *index;
    }
    t = &im->s->tensors[*index];
    if (!o->q.n || !assay_dtype_is_int(t->dtype))
        return 0;
    if (!t->quant.n) /* an integer input of the graph */
        return set_quant(im, t, &o->q);
    if (t->quant.n == 1 && o->q.n == 1 &&
        !assay_onnx_same_quant(&t->quant, &o->q))
        return assay_onnx_skip(im,
                               "it reads '%.100s' with scale %.9g and zero "
                               "point %d, which was written with %.9g and %d",
                               name, (double)o->q.scale[0], o->q.zero_point[0],
                               (double)t->quant.scale[0],
                               t->quant.zero_point[0]);
    return 0;
}

/* Dense copy in stored order: out[i...] = in[index permuted by perm]. */
static void permute(const struct assay_tensor *t, const void *in, void *out,
                    size_t count)
{
    size_t unit = assay_dtype_bytes(t->dtype);
    size_t stride[ASSAY_MAX_RANK];
    int64_t source[ASSAY_MAX_RANK], at[ASSAY_MAX_RANK] = {0};
    size_t s = 1;

    assay_tensor_source_dims(t, source);
    for (uint32_t d = t->rank; d-- > 0;) {
        for (uint32_t i = 0; i < t->rank; i++)
            if (t->perm[i] == d)
                stride[i] = s;
        s *= (size_t)source[d];
    }
    for (size_t k = 0; k < count; k++) {
        size_t from = 0;

        for (uint32_t i = 0; i < t->rank; i++)
            from += (size_t)at[i] * stride[i];
        memcpy((uint8_t *)out + k * unit, (const uint8_t *)in + from * unit,
               unit);
        for (uint32_t i = t->rank; i-- > 0;) {
            if (++at[i] < t->dims[i])
                break;
            at[i] = 0;
        }
    }
}

int assay_onnx_new_constant(struct assay_onnx_import *im, const char *name,
                            const struct assay_onnx_const *k, uint32_t rank,
                            const struct assay_quant *q, const char *axes,
                            uint32_t *index)
{
    int64_t dims[ASSAY_MAX_RANK];
    struct assay_quant shifted = q ? *q : (struct assay_quant){0};
    uint32_t lead = rank - k->rank;
    struct assay_tensor *t;
    void *data;
    int rc;

    if (!k->dtype)
        return assay_onnx_skip(im,
                               "constant '%.100s' is %s, which is not "
                               "supported",
                               name, assay_onnx_type_name(k->onnx_type));
    if (!k->count)
        return assay_onnx_skip(im, "constant '%.100s' is empty", name);
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i < lead ? 1 : k->dims[i - lead];
    if (shifted.n > 1 && shifted.axis >= 0)
        shifted.axis += (int32_t)lead;
    rc = assay_slice_add_tensor(im->s, index, im->err);
    if (rc)
        return rc;
    t = &im->s->tensors[*index];
    t->name = assay_arena_str(im->s->arena, name, strlen(name));
    t->role = ASSAY_ROLE_CONSTANT;
    t->dtype = k->dtype;
    set_layout(im, t, rank, dims, axes);
    t->size = k->count * assay_dtype_bytes(k->dtype);
    data = assay_arena_alloc(im->s->arena, t->size);
    if (!t->name || !data)
        return assay_onnx_no_memory(im);
    permute(t, k->data, data, k->count);
    t->data = data;
    assay_sha256(data, t->size, t->sha256);
    return set_quant(im, t, &shifted);
}

int assay_onnx_new_bias(struct assay_onnx_import *im, const char *name,
                        const int32_t *data, uint32_t n, uint32_t *index)
{
    struct assay_onnx_const k = {.onnx_type = 6,
                                 .dtype = ASSAY_S32,
                                 .rank = 1,
                                 .dims = {n},
                                 .count = n,
                                 .data = data};

    return assay_onnx_new_constant(im, name, &k, 1, NULL, "", index);
}

/* Dequantizes a constant, one float rounding as DequantizeLinear does. */
static int dequantize(struct assay_onnx_import *im,
                      const struct assay_onnx_node *dq,
                      const struct assay_onnx_const *x,
                      const struct assay_onnx_const **out)
{
    struct assay_onnx_const *k;
    struct assay_quant q = {0};
    size_t inner = 1;
    int64_t axis;
    float *data;
    int rc = assay_onnx_attr_int(im->g, dq, "axis", 1, &axis, im->err);

    if (!rc)
        rc = assay_onnx_quant(im, dq, assay_onnx_input(dq, 1),
                              assay_onnx_input(dq, 2), axis, &q, NULL);
    if (rc)
        return rc;
    if (axis < 0)
        axis += x->rank;
    if (q.n > 1 &&
        (axis < 0 || axis >= x->rank || x->dims[axis] != (int64_t)q.n))
        return assay_onnx_fail(im, dq, ASSAY_EFORMAT,
                               "%u scales along axis %" PRId64
                               " do not fit the constant's shape",
                               q.n, axis);
    for (uint32_t d = (uint32_t)axis + 1; q.n > 1 && d < x->rank; d++)
        inner *= (size_t)x->dims[d];
    k = assay_arena_copy(im->g->arena, x, sizeof(*x));
    data = assay_arena_array(im->g->arena, x->count ? x->count : 1, 4);
    if (!k || !data)
        return assay_onnx_no_memory(im);
    for (size_t i = 0; i < x->count; i++) {
        size_t c = q.n > 1 ? i / inner % q.n : 0;

        data[i] =
            (float)(assay_onnx_const_int(x, i) - q.zero_point[c]) * q.scale[c];
    }
    k->dtype = ASSAY_F32;
    k->data = data;
    *out = k;
    return 0;
}

int assay_onnx_float_const(struct assay_onnx_import *im, uint32_t value,
                           const struct assay_onnx_const **out)
{
    const struct assay_onnx_value *v;
    const struct assay_onnx_node *n;
    const struct assay_onnx_const *x;

    *out = NULL;
    if (value == ASSAY_ONNX_NONE)
        return 0;
    v = &im->g->values[value];
    if (v->k) {
        if (v->k->dtype == ASSAY_F32)
            *out = v->k;
        return 0;
    }
    if (v->producer == ASSAY_ONNX_NONE)
        return 0;
    n = &im->g->nodes[v->producer];
    if (!assay_onnx_is(n, "", "DequantizeLinear") ||
        assay_onnx_input(n, 0) == ASSAY_ONNX_NONE)
        return 0;
    x = im->g->values[n->in[0]].k;
    if (!x || !x->dtype || x->dtype == ASSAY_F32)
        return 0;
    return dequantize(im, n, x, out);
}
