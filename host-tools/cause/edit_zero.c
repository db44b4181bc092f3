/* SPDX-License-Identifier: Apache-2.0 */
/* Z and A4: zero points, and the sign of operands. */
#include <string.h>

#include "host-tools/cause/edit_graph.h"
#include "host-tools/cause/edit_sum.h"
#include "kernels/requant.h"

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for an edited layer");
}

static int64_t zero_of(const struct assay_tensor *t, uint32_t c)
{
    return t->quant.n == 0 ? 0 : t->quant.zero_point[t->quant.n > 1 ? c : 0];
}

/* ---- zero points ----------------------------------------------------------- */

/* Sum of a channel's weights, less their zero point. */
static int64_t sum_w(const struct assay_tensor *w, uint32_t c)
{
    size_t width = assay_dtype_bytes(w->dtype);
    size_t row = w->size / width / (size_t)w->dims[0];
    int64_t sum = 0;

    for (size_t i = 0; i < row; i++) {
        union assay_value v;

        assay_load_values(
            w->dtype, (const uint8_t *)w->data + (c * row + i) * width, &v, 1);
        sum += v.i - zero_of(w, c);
    }
    return sum;
}

/* Not subtracted, or twice: the padding stands for the zero point as well, so
 * it is the same for every window, a bias. */
static int input_zero(struct assay_slice *s, uint32_t layer, int64_t times,
                      struct assay_err *err)
{
    const struct assay_layer *l = &s->layers[layer];
    int64_t zx = zero_of(&s->tensors[l->inputs[0]], 0), *v;
    uint32_t n = assay_edit_channels(s, layer);
    bool has, any = false;

    v = assay_edit_get_bias(s, layer, &has);
    if (!v)
        return no_memory(err);
    for (uint32_t c = 0; zx != 0 && c < n; c++) {
        int64_t sum = sum_w(&s->tensors[l->inputs[1]], c);

        any = any || sum != 0;
        v[c] += times * zx * sum;
    }
    return any ? assay_edit_put_bias(s, layer, v, err) : ASSAY_EDIT_SAME;
}

/* A tensor's zero point as `zero` (or twice its own) in the programs of a
 * layer that is no sum. */
static int other_zero(struct assay_slice *s, uint32_t layer, uint32_t tensor,
                      bool twice, struct assay_err *err)
{
    const struct assay_quant *q = &s->tensors[tensor].quant;
    int32_t *v = assay_arena_array(s->arena, q->n, sizeof(*v));
    bool any = false;

    for (uint32_t i = 0; v && i < q->n; i++) {
        v[i] = twice ? 2 * q->zero_point[i] : 0;
        any = any || q->zero_point[i] != 0;
    }
    if (q->n == 0 || s->layers[layer].real_op == ASSAY_REAL_NONE)
        return ASSAY_EDIT_NOT_HERE;
    if (!v)
        return no_memory(err);
    return any ? assay_edit_requantize(s, layer, tensor, NULL, v, err)
               : ASSAY_EDIT_SAME;
}

/* Z1 of what is no sum: its programs subtract the zero point. A pool of
 * integers subtracts it elsewhere. */
static int elementwise_zero(struct assay_slice *s, uint32_t layer,
                            uint32_t variant, struct assay_err *err)
{
    const struct assay_layer *l = &s->layers[layer];

    if (variant == 2 || l->op == ASSAY_OP_SOFTMAX ||
        (l->op == ASSAY_OP_POOL && l->p.pool.sum != ASSAY_SUM_F32))
        return ASSAY_EDIT_NOT_HERE;
    return other_zero(s, layer, l->inputs[0], variant == 1, err);
}

/* Input i through a table of its 256 values, of another type or zero point. */
static int map_input(struct assay_slice *s, uint32_t *layer, uint32_t i,
                     const int64_t table[256], enum assay_dtype dtype,
                     const struct assay_quant *quant, struct assay_err *err)
{
    uint32_t x = s->layers[*layer].inputs[i], parts[2] = {x, 0}, y;
    struct assay_layer *made;
    int rc = assay_edit_tensor(s, x, "mapped", &y, err);

    if (rc)
        return rc;
    s->tensors[y].dtype = dtype;
    s->tensors[y].quant = *quant;
    rc = assay_edit_table(s, y, table, &parts[1], err);
    if (rc)
        return rc;
    s->tensors[parts[1]].quant = (struct assay_quant){.axis = -1};
    rc = assay_edit_before(s, layer, 2, parts, y, i, &made, err);
    if (!rc)
        made->op = ASSAY_OP_TABLE;
    return rc;
}

/* The layer's first input in 16 bits, with zero point `quant`. */
int assay_edit_widen_input(struct assay_slice *s, uint32_t *layer,
                           const struct assay_quant *quant,
                           struct assay_err *err)
{
    uint32_t x = s->layers[*layer].inputs[0], y;
    struct assay_layer *made;
    int rc = assay_edit_tensor(s, x, "wide", &y, err);

    if (rc)
        return rc;
    s->tensors[y].dtype = ASSAY_S16;
    s->tensors[y].quant = *quant;
    rc = assay_edit_before(s, layer, 1, &x, y, 0, &made, err);
    if (!rc)
        made->op = ASSAY_OP_UNARY;
    return rc;
}

/* Entry i of a table is of the i-th smallest value. */
static int64_t value_at(enum assay_dtype dtype, int i)
{
    return dtype == ASSAY_S8 ? i - 128 : i;
}

/* x - zx in 8 bits. */
static int wrap_input(struct assay_slice *s, uint32_t *layer,
                      struct assay_err *err)
{
    const struct assay_quant none = {.axis = -1};
    const struct assay_tensor *x = &s->tensors[s->layers[*layer].inputs[0]];
    int64_t zx = zero_of(x, 0), table[256];
    bool same = true;

    if (assay_dtype_bytes(x->dtype) != 1)
        return ASSAY_EDIT_NOT_HERE;
    for (int i = 0; i < 256; i++) {
        table[i] = assay_wrap(value_at(x->dtype, i) - zx, 8);
        same = same && table[i] == value_at(x->dtype, i) - zx;
    }
    return same ? ASSAY_EDIT_SAME
                : map_input(s, layer, 0, table, ASSAY_S8, &none, err);
}

/* x as the other type, its zero point as it was, in 16 bits: it may be none
 * of the other type's. Sums still wrap in 32 bits. */
static int other_input(struct assay_slice *s, uint32_t *layer,
                       struct assay_err *err)
{
    const struct assay_tensor *x = &s->tensors[s->layers[*layer].inputs[0]];
    const struct assay_quant none = {.axis = -1}, quant = x->quant;
    enum assay_dtype other = x->dtype == ASSAY_S8 ? ASSAY_U8 : ASSAY_S8;
    int64_t table[256];
    int rc;

    for (int i = 0; i < 256; i++)
        table[i] = value_at(x->dtype, i);
    rc = assay_edit_insert(s, &s->layers[*layer].out_program, 0,
                           ASSAY_STEP_WRAP, 32, 0, err);
    if (!rc)
        rc = map_input(s, layer, 0, table, other, &none, err);
    return rc ? rc : assay_edit_widen_input(s, layer, &quant, err);
}

/* Weights as the other type; their zero points fit, or the plan refuses it. */
static int other_weights(struct assay_slice *s, uint32_t layer,
                         struct assay_err *err)
{
    uint32_t w = s->layers[layer].inputs[1], index;
    const struct assay_quant *q = &s->tensors[w].quant;
    enum assay_dtype other =
        s->tensors[w].dtype == ASSAY_S8 ? ASSAY_U8 : ASSAY_S8;
    const uint8_t *bytes = s->tensors[w].data;
    bool any = false;
    int64_t lo, hi;
    int rc;

    assay_dtype_range(other, &lo, &hi);
    for (uint32_t c = 0; c < q->n; c++)
        if (q->zero_point[c] < lo || q->zero_point[c] > hi)
            return ASSAY_EDIT_NOT_HERE;
    for (size_t i = 0; i < s->tensors[w].size; i++)
        any = any || bytes[i] > 127;
    if (!any)
        return ASSAY_EDIT_SAME;
    rc = assay_slice_add_tensor(s, &index, err);
    if (rc)
        return rc;
    s->tensors[index] = s->tensors[w];
    s->tensors[index].dtype = other;
    s->layers[layer].inputs[1] = index;
    return 0;
}

/* The second operand of a product of tensors, which has no wider form. */
static int other_operand(struct assay_slice *s, uint32_t *layer,
                         struct assay_err *err)
{
    const struct assay_tensor *b = &s->tensors[s->layers[*layer].inputs[1]];
    const struct assay_quant quant = b->quant;
    enum assay_dtype other = b->dtype == ASSAY_S8 ? ASSAY_U8 : ASSAY_S8;
    int64_t table[256], lo, hi;

    assay_dtype_range(other, &lo, &hi);
    for (uint32_t c = 0; c < quant.n; c++)
        if (quant.zero_point[c] < lo || quant.zero_point[c] > hi)
            return ASSAY_EDIT_NOT_HERE;
    for (int i = 0; i < 256; i++)
        table[i] = value_at(b->dtype, i);
    return map_input(s, layer, 1, table, other, &quant, err);
}

int assay_edit_other_sign(struct assay_slice *s, uint32_t *layer, bool weights,
                          struct assay_err *err)
{
    struct assay_layer *l = &s->layers[*layer];

    if (assay_dtype_bytes(s->tensors[l->inputs[weights]].dtype) != 1)
        return ASSAY_EDIT_NOT_HERE;
    if (weights && l->op == ASSAY_OP_MATMUL)
        return other_operand(s, layer, err);
    return weights ? other_weights(s, *layer, err) : other_input(s, layer, err);
}

/* Input i, a computed tensor, with `times` its zero points; sums as wide as
 * they were. Taps that are no cells of it count nothing. */
static int operand_zero(struct assay_slice *s, uint32_t *layer, uint32_t i,
                        int32_t times, struct assay_err *err)
{
    uint32_t x = s->layers[*layer].inputs[i], y;
    const enum assay_dtype dtype = s->tensors[x].dtype;
    struct assay_quant q = s->tensors[x].quant;
    int32_t *v = assay_arena_array(s->arena, q.n, sizeof(*v));
    bool any = false, fits = true;
    struct assay_layer *made;
    int64_t lo, hi;
    int rc;

    if (!v)
        return no_memory(err);
    assay_dtype_range(dtype, &lo, &hi);
    for (uint32_t c = 0; c < q.n; c++) {
        v[c] = times * q.zero_point[c];
        any = any || v[c] != q.zero_point[c];
        fits = fits && v[c] >= lo && v[c] <= hi;
    }
    if (!any)
        return ASSAY_EDIT_SAME;
    q.zero_point = v;
    if (!fits && (i > 0 || assay_dtype_bytes(dtype) != 1))
        return ASSAY_EDIT_NOT_HERE; /* it has no wider form */
    if (!fits) {
        rc = assay_edit_insert(s, &s->layers[*layer].out_program, 0,
                               ASSAY_STEP_WRAP, 32, 0, err);
        return rc ? rc : assay_edit_widen_input(s, layer, &q, err);
    }
    rc = assay_edit_tensor(s, x, "seen", &y, err);
    if (rc)
        return rc;
    s->tensors[y].quant = q;
    rc = assay_edit_before(s, layer, 1, &x, y, i, &made, err);
    if (!rc)
        made->op = ASSAY_OP_CONCAT; /* of one input: a copy */
    return rc;
}

/* A product of two computed tensors. */
static int matmul_zero(struct assay_slice *s, uint32_t *layer,
                       const struct assay_edit *e, struct assay_err *err)
{
    if (e->id == ASSAY_CAUSE_Z3)
        return operand_zero(s, layer, 1, 0, err);
    return e->variant == 2
               ? wrap_input(s, layer, err)
               : operand_zero(s, layer, 0, e->variant == 0 ? 0 : 2, err);
}

static int weight_zero(struct assay_slice *s, uint32_t layer,
                       struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    const struct assay_tensor *w = &s->tensors[l->inputs[1]];
    int32_t *zeros;
    bool any = false;
    uint32_t index;
    int rc;

    for (uint32_t c = 0; c < w->quant.n; c++)
        any = any || w->quant.zero_point[c] != 0;
    if (!any)
        return ASSAY_EDIT_SAME;
    zeros = assay_arena_array(s->arena, w->quant.n, sizeof(*zeros));
    if (!zeros)
        return no_memory(err);
    rc = assay_slice_add_tensor(s, &index, err);
    if (rc)
        return rc;
    l = &s->layers[layer];
    s->tensors[index] = s->tensors[l->inputs[1]];
    s->tensors[index].quant.zero_point = zeros;
    l->inputs[1] = index;
    return 0;
}

/* ---- the output's zero point ----------------------------------------------- */

static int no_output_zero(struct assay_slice *s, uint32_t layer,
                          struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    int at = assay_edit_last(&l->out_program, ASSAY_STEP_ADD_ZP);
    const int64_t zero = 0;
    struct assay_step *k;
    int rc;

    if (l->real_op != ASSAY_REAL_NONE)
        return l->op == ASSAY_OP_SOFTMAX
                   ? ASSAY_EDIT_NOT_HERE
                   : other_zero(s, layer, l->output, false, err);
    if (at < 0)
        return ASSAY_EDIT_NOT_HERE;
    k = &l->out_program.steps[at];
    if (k->n == 1 && k->a[0] == 0)
        return ASSAY_EDIT_SAME;
    rc = assay_edit_operand(s, k, 1, &zero, err);
    return rc ? rc : assay_edit_clamp_out(s, layer, err);
}

/* What leaves the output's type is cut to its bits, or saturates. */
static int end_of_range(struct assay_slice *s, uint32_t layer, bool wraps,
                        struct assay_err *err)
{
    struct assay_program *p = &s->layers[layer].out_program;
    enum assay_dtype dtype = s->tensors[s->layers[layer].output].dtype;
    int bits = 8 * (int)assay_dtype_bytes(dtype);
    int64_t lo, hi, half = (int64_t)1 << (bits - 1);
    int rc = 0;

    if (!wraps)
        return assay_edit_clamp_out(s, layer, err);
    assay_dtype_range(dtype, &lo, &hi);
    if (lo == 0)
        rc = assay_edit_insert(s, p, p->n_steps, ASSAY_STEP_ADD, -half, 0, err);
    if (!rc)
        rc = assay_edit_insert(s, p, p->n_steps, ASSAY_STEP_WRAP, bits, 0, err);
    if (!rc && lo == 0)
        rc = assay_edit_insert(s, p, p->n_steps, ASSAY_STEP_ADD, half, 0, err);
    return rc;
}

/* The range of the output's type in front of its zero point. */
static int clamp_before_zero(struct assay_slice *s, uint32_t layer, bool wraps,
                             struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    struct assay_program *p = &l->out_program;
    int64_t lo, hi, zero = zero_of(&s->tensors[l->output], 0);
    int at = assay_edit_last(p, ASSAY_STEP_ADD_ZP), rc;

    if (!assay_dtype_is_int(s->tensors[l->output].dtype) ||
        s->tensors[l->output].dtype == ASSAY_S64 || l->n_in_programs > 2)
        return ASSAY_EDIT_NOT_HERE;
    if (l->real_op != ASSAY_REAL_NONE && p->n_steps > 0) {
        rc = no_output_zero(s, layer, err);
        if (!rc)
            rc = assay_edit_insert(s, p, p->n_steps, ASSAY_STEP_ADD_ZP, zero, 0,
                                   err);
        return rc ? rc : end_of_range(s, layer, wraps, err);
    }
    if (at < 0)
        return ASSAY_EDIT_NOT_HERE;
    if (p->steps[at].n == 1 && p->steps[at].a[0] == 0)
        return ASSAY_EDIT_SAME;
    assay_dtype_range(s->tensors[l->output].dtype, &lo, &hi);
    rc = assay_edit_insert(s, p, (uint32_t)at, ASSAY_STEP_CLAMP, lo, hi, err);
    if (rc)
        return rc;
    p->n_steps = (uint32_t)at + 2; /* its own end of range is replaced */
    return end_of_range(s, layer, wraps, err);
}

int assay_edit_zero(struct assay_slice *s, uint32_t *layer,
                    const struct assay_edit *e, struct assay_err *err)
{
    if (e->id == ASSAY_CAUSE_Z2)
        return clamp_before_zero(s, *layer, e->variant == 1, err);
    if (e->id == ASSAY_CAUSE_Z4)
        return no_output_zero(s, *layer, err);
    if (s->layers[*layer].op == ASSAY_OP_MATMUL)
        return matmul_zero(s, layer, e, err);
    if (!assay_edit_is_sum(s, *layer))
        return e->id == ASSAY_CAUSE_Z1
                   ? elementwise_zero(s, *layer, e->variant, err)
                   : ASSAY_EDIT_NOT_HERE;
    if (e->id == ASSAY_CAUSE_Z3)
        return weight_zero(s, *layer, err);
    if (e->variant == 2)
        return wrap_input(s, layer, err);
    /* Windows of a transposed convolution have other taps each. */
    if (s->layers[*layer].op == ASSAY_OP_CONV_TRANSPOSE2D)
        return operand_zero(s, layer, 0, e->variant == 0 ? 0 : 2, err);
    return input_zero(s, *layer, e->variant == 0 ? 1 : -1, err);
}
