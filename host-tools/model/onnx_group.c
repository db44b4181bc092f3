/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DequantizeLinear ... op ... QuantizeLinear: one integer layer. A group is an
 * op whose operands all come from DequantizeLinear (or are float scalars) and
 * whose output only a QuantizeLinear reads. Elementwise ops and MaxPool may
 * stand in a row. What cannot be grouped stays literal, node by node.
 */
#include <math.h>
#include <string.h>

#include "host-tools/model/onnx_import.h"

static const struct assay_onnx_node *producer(
    const struct assay_onnx_import *im, uint32_t value)
{
    uint32_t p;

    if (value == ASSAY_ONNX_NONE)
        return NULL;
    p = im->g->values[value].producer;
    return p == ASSAY_ONNX_NONE ? NULL : &im->g->nodes[p];
}

static bool is_qdq(const struct assay_onnx_node *n, const char *op)
{
    return n && !strcmp(n->op, op) &&
           (!n->domain[0] || !strcmp(n->domain, "com.microsoft")) &&
           n->n_in >= 2 && n->in[0] != ASSAY_ONNX_NONE && n->n_out == 1 &&
           n->out[0] != ASSAY_ONNX_NONE;
}

/* What a DequantizeLinear reads, as an operand. */
static int dequantized(struct assay_onnx_import *im, uint32_t value,
                       struct assay_onnx_operand *o, bool *is)
{
    const struct assay_onnx_node *n = producer(im, value);
    int64_t axis;
    int rc;

    *is = false;
    if (!is_qdq(n, "DequantizeLinear"))
        return 0;
    rc = assay_onnx_attr_int(im->g, n, "axis", 1, &axis, im->err);
    if (!rc)
        rc = assay_onnx_quant(im, n, n->in[1], assay_onnx_input(n, 2), axis,
                              &o->q, NULL);
    if (rc)
        return rc;
    o->value = n->in[0];
    *is = true;
    return 0;
}

/* The one reader of a node's only output, if nobody else sees it. */
static const struct assay_onnx_node *only_reader(
    const struct assay_onnx_import *im, const struct assay_onnx_node *n)
{
    const struct assay_onnx_value *v;

    if (n->n_out < 1 || n->out[0] == ASSAY_ONNX_NONE)
        return NULL;
    for (uint32_t i = 1; i < n->n_out; i++)
        if (n->out[i] != ASSAY_ONNX_NONE)
            return NULL;
    v = &im->g->values[n->out[0]];
    if (v->is_output || v->n_readers != 1)
        return NULL;
    return &im->g->nodes[im->g->readers[v->first_reader]];
}

/* The head's operands. *ok false: not all are quantized as the op needs. */
static int all_dequantized(struct assay_onnx_import *im,
                           const struct assay_onnx_node *n, uint32_t count,
                           struct assay_onnx_operation *op, bool *ok)
{
    bool is, any = false;

    *ok = false;
    if (count > ASSAY_MAX_LAYER_INPUTS || !count || n->n_in < count)
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        int rc = dequantized(im, n->in[i], &op->in[i], &is);

        if (rc || !is)
            return rc;
        any |= im->g->values[op->in[i].value].k == NULL;
    }
    op->n_in = count;
    *ok = any;
    return 0;
}

/* Bias scale = input scale * weight scale, or the int32 values mean another
 * thing than the kernel computes. */
static bool bias_fits(const struct assay_onnx_operation *op)
{
    const struct assay_quant *x = &op->in[0].q, *w = &op->in[1].q;
    const struct assay_quant *b = &op->in[2].q;

    for (uint32_t i = 0; i < b->n || i < w->n; i++) {
        uint32_t bi = b->n > 1 ? i : 0, wi = w->n > 1 ? i : 0;
        double want;

        if (bi >= b->n || wi >= w->n)
            return false;
        want = (double)x->scale[0] * (double)w->scale[wi];
        if (b->zero_point[bi] != 0 ||
            fabs((double)b->scale[bi] - want) > 1e-5 * want)
            return false;
    }
    return true;
}

static int product_operands(struct assay_onnx_import *im,
                            const struct assay_onnx_node *n,
                            struct assay_onnx_operation *op, bool *ok)
{
    const struct assay_onnx_value *v = im->g->values;
    int64_t trans = 0;
    bool is;
    int rc = all_dequantized(im, n, 2, op, ok);

    if (!rc && *ok && op->kind == ASSAY_ONNX_GEMM && !strcmp(n->op, "Gemm"))
        rc = assay_onnx_attr_int(im->g, n, "transB", 0, &trans, im->err);
    if (rc || !*ok)
        return rc;
    op->trans_b = trans != 0;
    *ok = !v[op->in[0].value].k && v[op->in[1].value].k != NULL &&
          op->in[0].q.n == 1;
    if (!*ok || assay_onnx_input(n, 2) == ASSAY_ONNX_NONE)
        return 0;
    rc = dequantized(im, n->in[2], &op->in[2], &is);
    op->n_in = 3;
    *ok = !rc && is && v[op->in[2].value].k != NULL && bias_fits(op);
    return rc;
}

static int plain_head(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n,
                      struct assay_onnx_operation *op, bool *ok)
{
    const struct assay_onnx_op *line = assay_onnx_op_of(n);

    *ok = false;
    if (!line || line->group == ASSAY_ONNX_NEVER)
        return 0;
    op->kind = line->kind;
    op->combine = line->combine;
    switch (line->group) {
    case ASSAY_ONNX_PRODUCT: return product_operands(im, n, op, ok);
    case ASSAY_ONNX_BOTH: return all_dequantized(im, n, 2, op, ok);
    case ASSAY_ONNX_EVERY: return all_dequantized(im, n, n->n_in, op, ok);
    default: return all_dequantized(im, n, 1, op, ok);
    }
}

/* Is the function of these steps nondecreasing? Then it commutes with max. */
static bool monotone(const struct assay_program *p)
{
    for (uint32_t i = 0; i < p->n_steps; i++) {
        uint32_t bits = (uint32_t)p->steps[i].a[0];

        if ((p->steps[i].kind == ASSAY_STEP_FMUL ||
             p->steps[i].kind == ASSAY_STEP_FDIV) &&
            bits >> 31)
            return false;
    }
    return true;
}

/* Elementwise ops and at most one MaxPool in a row, from n on; *last is the
 * last of them. Steps that came before a MaxPool run behind it. */
static int chain(struct assay_onnx_import *im, const struct assay_onnx_node *n,
                 struct assay_onnx_operation *op,
                 const struct assay_onnx_node **last, uint32_t *data, bool *ok)
{
    const struct assay_onnx_node *pool = NULL;
    bool first = true, known;
    uint32_t in;

    *ok = false;
    *last = NULL;
    op->kind = ASSAY_ONNX_UNARY;
    for (; n; n = only_reader(im, n)) {
        int rc;

        if (!pool && assay_onnx_is(n, "", "MaxPool") && n->n_in == 1 &&
            monotone(&op->steps)) {
            pool = n;
            known = true;
            in = n->in[0];
        } else {
            rc = assay_onnx_unary_steps(im, n, &op->steps, &in, &known);
            if (rc)
                return rc == ASSAY_ONNX_SKIP ? 0 : rc;
        }
        if (!known)
            break;
        if (first)
            *data = in;
        else if (in != (*last)->out[0])
            break;
        first = false;
        *last = n;
    }
    if (!*last || !is_qdq(n, "QuantizeLinear") || n->in[0] != (*last)->out[0])
        return 0;
    if (pool)
        op->kind = ASSAY_ONNX_MAX_POOL;
    op->node = pool ? pool : *last;
    /* to_f32 and its neighbours, and the quantization, need steps too */
    *ok = op->steps.n_steps <= ASSAY_MAX_STEPS - 7;
    return 0;
}

static int quantized_output(struct assay_onnx_import *im,
                            const struct assay_onnx_node *last,
                            struct assay_onnx_operation *op,
                            const struct assay_onnx_node **q, bool *ok)
{
    const struct assay_onnx_node *n = only_reader(im, last);
    int rc;

    *ok = false;
    if (!is_qdq(n, "QuantizeLinear") || n->in[0] != last->out[0])
        return 0;
    rc = assay_onnx_quant(im, n, n->in[1], assay_onnx_input(n, 2), 1,
                          &op->out_q, &op->out_dtype);
    *q = n;
    op->out = n->out[0];
    op->shape_from = last->out[0];
    *ok = op->out_q.n == 1;
    return rc;
}

/* Does this Relu or Clip change nothing that the QuantizeLinear behind it
 * does not change anyway? onnxruntime leaves such a node out. */
static int is_redundant(struct assay_onnx_import *im,
                        const struct assay_onnx_node *n,
                        const struct assay_quant *q, enum assay_dtype dtype,
                        bool *yes)
{
    struct assay_program steps = {0};
    uint32_t data;
    int64_t lo, hi;
    bool known;
    int rc;

    *yes = false;
    if (!assay_onnx_is(n, "", "Relu") && !assay_onnx_is(n, "", "Clip"))
        return 0;
    rc = assay_onnx_unary_steps(im, n, &steps, &data, &known);
    if (rc || !known)
        return rc == ASSAY_ONNX_SKIP ? 0 : rc;
    assay_dtype_range(dtype, &lo, &hi);
    *yes = q->n == 1;
    for (uint32_t i = 0; *yes && i < steps.n_steps; i++) {
        const struct assay_step *s = &steps.steps[i];
        uint32_t bits[2] = {(uint32_t)s->a[0], s->b ? (uint32_t)s->b[0] : 0};
        float from, to;

        memcpy(&from, &bits[0], sizeof(from));
        memcpy(&to, &bits[1], sizeof(to));
        *yes = s->kind == ASSAY_STEP_FCLAMP &&
               from <= (float)(lo - q->zero_point[0]) * q->scale[0] &&
               to >= (float)(hi - q->zero_point[0]) * q->scale[0];
    }
    return 0;
}

/* Moves *last over redundant nodes between it and a QuantizeLinear. */
static int absorb_redundant(struct assay_onnx_import *im,
                            const struct assay_onnx_node **last)
{
    const struct assay_onnx_node *end = *last, *n;
    struct assay_quant q;
    enum assay_dtype dtype;
    bool yes = true;
    int rc;

    for (n = only_reader(im, end);
         n && (assay_onnx_is(n, "", "Relu") || assay_onnx_is(n, "", "Clip"));
         n = only_reader(im, end)) {
        if (assay_onnx_input(n, 0) != end->out[0])
            return 0;
        end = n;
    }
    if (end == *last || !is_qdq(n, "QuantizeLinear") || n->in[0] != end->out[0])
        return 0;
    rc = assay_onnx_quant(im, n, n->in[1], assay_onnx_input(n, 2), 1, &q,
                          &dtype);
    for (n = *last; !rc && yes && n != end;) {
        n = only_reader(im, n);
        rc = is_redundant(im, n, &q, dtype, &yes);
    }
    if (!rc && yes)
        *last = end;
    return rc;
}

static int find_group(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n,
                      struct assay_onnx_operation *op,
                      const struct assay_onnx_node **last,
                      const struct assay_onnx_node **q, bool *ok)
{
    uint32_t data = ASSAY_ONNX_NONE;
    int rc;

    memset(op, 0, sizeof(*op));
    op->node = n;
    op->integer = true;
    op->shape_from = ASSAY_ONNX_NONE;
    *last = n;
    rc = plain_head(im, n, op, ok);
    if (!rc && *ok)
        rc = absorb_redundant(im, last);
    if (!rc && !*ok) {
        memset(&op->in, 0, sizeof(op->in));
        rc = chain(im, n, op, last, &data, ok);
        if (!rc && *ok) {
            rc = dequantized(im, data, &op->in[0], ok);
            op->n_in = 1;
        }
        if (!rc && *ok) /* a scale for each channel stays literal */
            *ok = op->in[0].q.n == 1 && !im->g->values[op->in[0].value].k;
    }
    if (!rc && *ok)
        rc = quantized_output(im, *last, op, q, ok);
    if (!rc && *ok &&
        (op->kind == ASSAY_ONNX_RESHAPE || op->kind == ASSAY_ONNX_TRANSPOSE))
        *ok = op->in[0].q.n == 1 &&
              assay_onnx_same_quant(&op->in[0].q, &op->out_q);
    return rc;
}

static void count_read(struct assay_onnx_import *im, uint32_t value)
{
    if (value != ASSAY_ONNX_NONE)
        im->group_reads[value]++;
}

/* Marks head ... last and the QuantizeLinear behind it. */
static void mark(struct assay_onnx_import *im,
                 const struct assay_onnx_node *head,
                 const struct assay_onnx_node *last,
                 const struct assay_onnx_node *q)
{
    const struct assay_onnx_node *n = head;

    for (;;) {
        im->node_state[n->index] =
            n == head ? ASSAY_ONNX_HEAD : ASSAY_ONNX_ABSORBED;
        for (uint32_t i = 0; i < n->n_in; i++)
            count_read(im, n->in[i]);
        if (n == last)
            break;
        n = only_reader(im, n);
    }
    im->node_state[q->index] = ASSAY_ONNX_ABSORBED;
}

int assay_onnx_find_groups(struct assay_onnx_import *im)
{
    struct assay_onnx_operation *op = NULL;

    for (uint32_t i = 0; i < im->g->n_nodes; i++) {
        const struct assay_onnx_node *n = &im->g->nodes[i], *last, *q = NULL;
        bool ok;
        int rc;

        if (im->node_state[i] != ASSAY_ONNX_ALONE)
            continue;
        if (!op)
            op = assay_arena_alloc(im->g->arena, sizeof(*op));
        if (!op)
            return assay_onnx_no_memory(im);
        rc = find_group(im, n, op, &last, &q, &ok);
        if (rc)
            return rc;
        if (!ok)
            continue;
        im->groups[i] = op;
        op = NULL;
        mark(im, n, last, q);
    }
    return 0;
}
