/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on one or two operands, element by element. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "host-tools/model/onnx_import.h"

/* A constant of one element that is a float (maybe a dequantized one). */
static int scalar(struct assay_onnx_import *im, uint32_t value, float *out,
                  bool *is)
{
    const struct assay_onnx_const *k;
    int rc = 0;

    *is = false;
    if (value == ASSAY_ONNX_NONE)
        return 0;
    k = im->g->values[value].k;
    if (k && k->dtype == ASSAY_F32 && k->count == 1) {
        *out = *(const float *)k->data;
        *is = isfinite(*out);
    }
    return rc;
}

static int clip_steps(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n,
                      struct assay_program *steps, bool *known)
{
    float lo = -FLT_MAX, hi = FLT_MAX;
    bool is;
    int rc;

    if (im->g->opset < 11) {
        rc = assay_onnx_attr_float(im->g, n, "min", lo, &lo, im->err);
        if (!rc)
            rc = assay_onnx_attr_float(im->g, n, "max", hi, &hi, im->err);
        if (rc)
            return rc;
    } else {
        for (uint32_t i = 1; i < 3; i++) {
            uint32_t v = assay_onnx_input(n, i);

            if (v == ASSAY_ONNX_NONE)
                continue;
            rc = scalar(im, v, i == 1 ? &lo : &hi, &is);
            if (rc || !is) {
                *known = false;
                return rc;
            }
        }
    }
    if (lo > hi)
        return assay_onnx_fail(im, n, ASSAY_ERANGE, "clip from %g to %g",
                               (double)lo, (double)hi);
    return assay_onnx_step(im, steps, ASSAY_STEP_FCLAMP, lo, hi);
}

static int hard_sigmoid_steps(struct assay_onnx_import *im,
                              const struct assay_onnx_node *n,
                              struct assay_program *steps)
{
    float alpha, beta;
    int rc = assay_onnx_attr_float(im->g, n, "alpha", 0.2f, &alpha, im->err);

    if (!rc)
        rc = assay_onnx_attr_float(im->g, n, "beta", 0.5f, &beta, im->err);
    if (!rc)
        rc = assay_onnx_step(im, steps, ASSAY_STEP_FMUL, alpha, 0);
    if (!rc)
        rc = assay_onnx_step(im, steps, ASSAY_STEP_FADD, beta, 0);
    if (!rc)
        rc = assay_onnx_step(im, steps, ASSAY_STEP_FCLAMP, 0, 1);
    return rc;
}

/* Add, Sub, Mul, Div with a float scalar on one side. */
static int scalar_steps(struct assay_onnx_import *im,
                        const struct assay_onnx_node *n,
                        struct assay_program *steps, uint32_t *data,
                        bool *known)
{
    static const struct {
        const char *op;
        enum assay_step_kind kind;
        bool commutes, negate;
    } ops[] = {
        {"Add", ASSAY_STEP_FADD, true, false},
        {"Mul", ASSAY_STEP_FMUL, true, false},
        {"Sub", ASSAY_STEP_FADD, false, true},
        {"Div", ASSAY_STEP_FDIV, false, false},
    };
    float c;
    bool is;
    int rc;

    *known = false;
    for (size_t i = 0; i < 4; i++) {
        if (!assay_onnx_is(n, "", ops[i].op) || n->n_in != 2)
            continue;
        *data = n->in[0];
        rc = scalar(im, n->in[1], &c, &is);
        if (!rc && !is && ops[i].commutes) {
            *data = n->in[1];
            rc = scalar(im, n->in[0], &c, &is);
        }
        if (rc || !is || (ops[i].kind == ASSAY_STEP_FDIV && c == 0))
            return rc;
        *known = true;
        return assay_onnx_step(im, steps, ops[i].kind, ops[i].negate ? -c : c,
                               0);
    }
    return 0;
}

int assay_onnx_unary_steps(struct assay_onnx_import *im,
                           const struct assay_onnx_node *n,
                           struct assay_program *steps, uint32_t *data,
                           bool *known)
{
    *known = true;
    *data = assay_onnx_input(n, 0);
    if (*data == ASSAY_ONNX_NONE || n->n_out < 1) {
        *known = false;
        return 0;
    }
    if (assay_onnx_is(n, "", "Relu"))
        return assay_onnx_step(im, steps, ASSAY_STEP_FCLAMP, 0, FLT_MAX);
    if (assay_onnx_is(n, "", "Clip"))
        return clip_steps(im, n, steps, known);
    if (assay_onnx_is(n, "", "HardSigmoid"))
        return hard_sigmoid_steps(im, n, steps);
    return scalar_steps(im, n, steps, data, known);
}

int assay_onnx_emit_unary(struct assay_onnx_import *im,
                          struct assay_onnx_operation *op)
{
    int64_t src[ASSAY_MAX_RANK];
    struct assay_layer *l;
    enum assay_dtype dtype = op->out_dtype ? op->out_dtype : ASSAY_F32;
    uint32_t x, y;
    bool ints;
    int rc = assay_onnx_activation(im, &op->in[0], &x);

    if (rc)
        return rc;
    ints = assay_dtype_is_int(im->s->tensors[x].dtype);
    if (ints && !im->s->tensors[x].quant.n)
        return assay_onnx_skip(im, "'%s' on %s without scales", op->node->op,
                               assay_dtype_name(im->s->tensors[x].dtype));
    if (ints && !op->integer &&
        !assay_onnx_is(op->node, "", "DequantizeLinear"))
        return assay_onnx_skip(im, "'%s' on integers", op->node->op);
    if (!ints && assay_onnx_is(op->node, "", "DequantizeLinear"))
        return assay_onnx_skip(im, "'DequantizeLinear' on float32");
    assay_tensor_source_dims(&im->s->tensors[x], src);
    rc = assay_onnx_out(im, op->node, im->s->tensors[x].rank, src);
    if (!rc)
        rc = assay_onnx_new_tensor(im, op->out, dtype, &op->out_q, &y);
    if (!rc)
        rc = assay_onnx_new_layer(im, op->node, ASSAY_OP_UNARY, 1, &x, y, &l);
    if (rc)
        return rc;
    if (ints || op->out_dtype) {
        l->real_op = ASSAY_REAL_UNARY;
        l->real_steps = op->steps;
    } else {
        l->out_program = op->steps;
    }
    return 0;
}

/* One operand of a binary operation before it is stored. */
struct side {
    const struct assay_onnx_const *k; /* or NULL: an activation */
    uint32_t tensor, rank;
    int64_t dims[ASSAY_MAX_RANK]; /* the source's */
};

static int find_side(struct assay_onnx_import *im,
                     const struct assay_onnx_operation *op, uint32_t i,
                     struct side *s)
{
    const struct assay_onnx_operand *o = &op->in[i];
    int rc;

    memset(s, 0, sizeof(*s));
    if (o->value == ASSAY_ONNX_NONE)
        return assay_onnx_skip(im, "an operand is left out");
    if (op->integer)
        s->k = im->g->values[o->value].k;
    else if ((rc = assay_onnx_float_const(im, o->value, &s->k)))
        return rc;
    if (s->k) {
        s->rank = s->k->rank;
        memcpy(s->dims, s->k->dims, sizeof(s->dims));
        if (!s->k->dtype || !s->k->count)
            return assay_onnx_skip(
                im, "operand '%.100s' is %s with %zu elements",
                im->g->values[o->value].name,
                assay_onnx_type_name(s->k->onnx_type), s->k->count);
        return 0;
    }
    rc = assay_onnx_activation(im, o, &s->tensor);
    if (rc)
        return rc;
    s->rank = im->s->tensors[s->tensor].rank;
    assay_tensor_source_dims(&im->s->tensors[s->tensor], s->dims);
    if (op->integer != assay_dtype_is_int(im->s->tensors[s->tensor].dtype))
        return assay_onnx_skip(
            im, "'%s' on %s", op->node->op,
            assay_dtype_name(im->s->tensors[s->tensor].dtype));
    return 0;
}

static int broadcast(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, const struct side *a,
                     const struct side *b)
{
    uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
    int64_t dims[ASSAY_MAX_RANK];

    for (uint32_t i = 0; i < rank; i++) {
        int64_t da = i + a->rank < rank ? 1 : a->dims[i + a->rank - rank];
        int64_t db = i + b->rank < rank ? 1 : b->dims[i + b->rank - rank];

        if (da != db && da != 1 && db != 1)
            return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                                   "operands of %lld and %lld in dimension %u",
                                   (long long)da, (long long)db, i);
        dims[i] = da == 1 ? db : da;
    }
    return assay_onnx_out(im, n, rank, dims);
}

static int store_side(struct assay_onnx_import *im,
                      const struct assay_onnx_operation *op, uint32_t i,
                      const struct side *s, uint32_t rank, uint32_t *index)
{
    if (s->k)
        return assay_onnx_new_constant(im, im->g->values[op->in[i].value].name,
                                       s->k, rank, &op->in[i].q, "NHWC", index);
    *index = s->tensor;
    return assay_onnx_expand(im, op->node, rank, index);
}

int assay_onnx_emit_binary(struct assay_onnx_import *im,
                           struct assay_onnx_operation *op)
{
    struct side a, b;
    struct assay_layer *l;
    uint32_t in[2], y, rank;
    int64_t dims[ASSAY_MAX_RANK];
    int rc = find_side(im, op, 0, &a);

    if (!rc)
        rc = find_side(im, op, 1, &b);
    if (!rc && a.k && b.k)
        rc = assay_onnx_skip(im, "both operands are constants");
    if (!rc)
        rc = broadcast(im, op->node, &a, &b);
    if (rc)
        return rc;
    rank = im->out_rank;
    memcpy(dims, im->out_dims, sizeof(dims));
    rc = store_side(im, op, 0, &a, rank, &in[0]);
    if (!rc)
        rc = store_side(im, op, 1, &b, rank, &in[1]);
    if (!rc)
        rc = assay_onnx_out(im, op->node, rank, dims);
    if (!rc)
        rc = assay_onnx_new_tensor(im, op->out,
                                   op->integer ? op->out_dtype : ASSAY_F32,
                                   &op->out_q, &y);
    if (!rc)
        rc = assay_onnx_new_layer(im, op->node, ASSAY_OP_BINARY, 2, in, y, &l);
    if (rc)
        return rc;
    l->p.binary.combine = op->combine;
    if (op->integer)
        l->real_op =
            op->combine == ASSAY_COMBINE_FMUL ? ASSAY_REAL_MUL : ASSAY_REAL_ADD;
    return assay_onnx_new_programs(im, l, 2);
}
