/* SPDX-License-Identifier: Apache-2.0 */
/* A, B, Z: accumulator, bias, zero points. */
#include <string.h>

#include "host-tools/cause/catalogue.h"
#include "host-tools/cause/edit_graph.h"
#include "host-tools/cause/edit_program.h"
#include "kernels/requant.h"

static bool is_sum(const struct assay_layer *l)
{
    return l->op == ASSAY_OP_CONV2D || l->op == ASSAY_OP_GEMM ||
           l->op == ASSAY_OP_CONV_TRANSPOSE2D;
}

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for an edited bias");
}

static int64_t zero_of(const struct assay_tensor *t, uint32_t c)
{
    return t->quant.n == 0 ? 0 : t->quant.zero_point[t->quant.n > 1 ? c : 0];
}

/* ---- bias ------------------------------------------------------------------ */

/* Gives the layer a bias tensor of its own with these values, in int32. */
static int set_bias(struct assay_slice *s, uint32_t layer, const int64_t *v,
                    uint32_t n, struct assay_err *err)
{
    int32_t *data = assay_arena_array(s->arena, n, sizeof(*data));
    struct assay_layer *l = &s->layers[layer];
    uint32_t index, *inputs;
    struct assay_tensor *t;
    int rc;

    if (!data)
        return no_memory(err);
    for (uint32_t c = 0; c < n; c++)
        data[c] = (int32_t)assay_wrap(v[c], 32);
    rc = assay_edit_tensor(s, l->output, "bias", &index, err);
    if (rc)
        return rc;
    t = &s->tensors[index];
    t->role = ASSAY_ROLE_CONSTANT;
    t->dtype = ASSAY_S32;
    t->rank = 1;
    t->dims[0] = n;
    t->axes[0] = '\0';
    t->perm[0] = 0;
    t->quant = (struct assay_quant){.axis = -1};
    t->data = data;
    t->size = n * sizeof(*data);
    assay_sha256(t->data, t->size, t->sha256);
    inputs = assay_arena_array(s->arena, l->n_inputs + 1u, sizeof(*inputs));
    if (!inputs)
        return no_memory(err);
    memcpy(inputs, l->inputs, l->n_inputs * sizeof(*inputs));
    if (!l->p.conv2d.has_bias) {
        memmove(inputs + 3, inputs + 2, (l->n_inputs - 2) * sizeof(*inputs));
        l->n_inputs++;
        l->p.conv2d.has_bias = true;
    }
    inputs[2] = index;
    l->inputs = inputs;
    return 0;
}

/* Of each channel; 0 without a bias. */
static int64_t *get_bias(const struct assay_slice *s, uint32_t layer,
                         uint32_t n, struct assay_arena *arena)
{
    const struct assay_layer *l = &s->layers[layer];
    int64_t *v = assay_arena_array(arena, n, sizeof(*v));

    for (uint32_t c = 0; v && c < n && l->p.conv2d.has_bias; c++)
        v[c] = ((const int32_t *)s->tensors[l->inputs[2]].data)[c];
    return v;
}

static int64_t edited_bias(const struct assay_edit *e, const int64_t *v,
                           uint32_t c, uint32_t n)
{
    switch (e->id) {
    case ASSAY_CAUSE_B1: return 0;
    case ASSAY_CAUSE_B2:
        return v[(c + (e->variant == 0 ? n - 1 : 1)) % n]; /* up: of c - 1 */
    case ASSAY_CAUSE_B5: return 2 * v[c];
    case ASSAY_CAUSE_B6: return assay_sat(v[c], e->variant == 0 ? 16 : 8);
    default: return v[c];
    }
}

static int edit_bias(struct assay_slice *s, uint32_t layer,
                     const struct assay_edit *e, struct assay_err *err)
{
    uint32_t n = assay_edit_channels(s, layer);
    int64_t *v, *w;
    bool same = true;

    if (!s->layers[layer].p.conv2d.has_bias)
        return ASSAY_EDIT_NOT_HERE;
    v = get_bias(s, layer, n, s->arena);
    w = assay_arena_array(s->arena, n, sizeof(*w));
    if (!v || !w)
        return no_memory(err);
    for (uint32_t c = 0; c < n; c++) {
        w[c] = edited_bias(e, v, c, n);
        same = same && assay_wrap(w[c], 32) == v[c];
    }
    return same ? ASSAY_EDIT_SAME : set_bias(s, layer, w, n, err);
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
    int64_t zx = zero_of(&s->tensors[l->inputs[0]], 0);
    uint32_t n = assay_edit_channels(s, layer);
    int64_t *v;

    if (zx == 0)
        return ASSAY_EDIT_SAME;
    v = get_bias(s, layer, n, s->arena);
    if (!v)
        return no_memory(err);
    for (uint32_t c = 0; c < n; c++)
        v[c] += times * zx * sum_w(&s->tensors[l->inputs[1]], c);
    return set_bias(s, layer, v, n, err);
}

/* x through a table of its 256 values, of another type or zero point. */
static int map_input(struct assay_slice *s, uint32_t *layer,
                     const uint8_t *table, enum assay_dtype dtype,
                     const struct assay_quant *quant, struct assay_err *err)
{
    static const int64_t dims[ASSAY_MAX_RANK] = {256};
    uint32_t x = s->layers[*layer].inputs[0], parts[2] = {x, 0}, y;
    struct assay_layer *made;
    struct assay_tensor *t;
    uint8_t *data = assay_arena_copy(s->arena, table, 256);
    int rc = data ? assay_edit_tensor(s, x, "mapped", &y, err) : no_memory(err);

    if (rc)
        return rc;
    s->tensors[y].dtype = dtype;
    s->tensors[y].quant = *quant;
    rc = assay_edit_tensor(s, y, "table", &parts[1], err);
    if (rc)
        return rc;
    t = &s->tensors[parts[1]];
    t->role = ASSAY_ROLE_CONSTANT;
    t->rank = 1;
    memcpy(t->dims, dims, sizeof(dims));
    t->axes[0] = '\0';
    t->perm[0] = 0;
    t->quant = (struct assay_quant){.axis = -1};
    t->data = data;
    t->size = 256;
    assay_sha256(data, 256, t->sha256);
    rc = assay_edit_before(s, layer, 2, parts, y, 0, &made, err);
    if (!rc)
        made->op = ASSAY_OP_TABLE;
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
    int64_t zx = zero_of(x, 0);
    uint8_t table[256];

    if (assay_dtype_bytes(x->dtype) != 1)
        return ASSAY_EDIT_NOT_HERE;
    if (x->dtype == ASSAY_S8 && zx == 0)
        return ASSAY_EDIT_SAME;
    for (int i = 0; i < 256; i++)
        table[i] = (uint8_t)(value_at(x->dtype, i) - zx);
    return map_input(s, layer, table, ASSAY_S8, &none, err);
}

/* The same bytes, the other type. */
static int other_sign(struct assay_slice *s, uint32_t *layer, bool weights,
                      struct assay_err *err)
{
    struct assay_layer *l = &s->layers[*layer];
    struct assay_tensor *t = &s->tensors[l->inputs[weights]];
    const struct assay_quant quant = t->quant;
    enum assay_dtype other = t->dtype == ASSAY_S8 ? ASSAY_U8 : ASSAY_S8;
    uint8_t table[256];
    uint32_t index;
    int rc;

    if (assay_dtype_bytes(t->dtype) != 1)
        return ASSAY_EDIT_NOT_HERE;
    if (!weights) {
        for (int i = 0; i < 256; i++)
            table[i] = (uint8_t)value_at(t->dtype, i);
        return map_input(s, layer, table, other, &quant, err);
    }
    rc = assay_slice_add_tensor(s, &index, err);
    if (rc)
        return rc;
    l = &s->layers[*layer];
    s->tensors[index] = s->tensors[l->inputs[1]];
    s->tensors[index].dtype = other;
    l->inputs[1] = index;
    return 0;
}

static int weight_zero(struct assay_slice *s, uint32_t layer,
                       struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    struct assay_tensor *w = &s->tensors[l->inputs[1]];
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
    s->tensors[index] = s->tensors[l->inputs[1]];
    s->tensors[index].quant.zero_point = zeros;
    l->inputs[1] = index;
    return 0;
}

static int output_zero_missing(struct assay_slice *s, uint32_t layer,
                               struct assay_err *err)
{
    struct assay_program *p = &s->layers[layer].out_program;
    int at = assay_edit_last(p, ASSAY_STEP_ADD_ZP);
    const int64_t zero = 0;
    int rc;

    if (at < 0)
        return ASSAY_EDIT_NOT_HERE;
    if (p->steps[at].n == 1 && p->steps[at].a[0] == 0)
        return ASSAY_EDIT_SAME;
    rc = assay_edit_operand(s, &p->steps[at], 1, &zero, err);
    return rc ? rc : assay_edit_clamp_out(s, layer, err);
}

/* The range of the output's type in front of its zero point, and then the
 * type saturates. */
static int clamp_before_zero(struct assay_slice *s, uint32_t layer,
                             struct assay_err *err)
{
    struct assay_program *p = &s->layers[layer].out_program;
    int at = assay_edit_last(p, ASSAY_STEP_ADD_ZP);
    int clamp = assay_edit_last(p, ASSAY_STEP_FCLAMP);
    int64_t lo, hi;
    int rc;

    if (at < 0 ||
        !assay_dtype_is_int(s->tensors[s->layers[layer].output].dtype))
        return ASSAY_EDIT_NOT_HERE;
    if (p->steps[at].n == 1 && p->steps[at].a[0] == 0)
        return ASSAY_EDIT_SAME;
    assay_dtype_range(s->tensors[s->layers[layer].output].dtype, &lo, &hi);
    if (clamp >= 0 && clamp < at) {
        /* In float, in front of the conversion: it goes there as a whole. */
        assay_edit_remove(p, (uint32_t)clamp);
        at--;
    }
    rc = assay_edit_insert(s, p, (uint32_t)at, ASSAY_STEP_CLAMP, lo, hi, err);
    return rc ? rc : assay_edit_clamp_out(s, layer, err);
}

/* ---- accumulators ---------------------------------------------------------- */

static int accumulator(struct assay_slice *s, uint32_t layer,
                       enum assay_step_kind kind, struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    struct assay_program *p = &l->out_program;

    if (s->tensors[l->inputs[0]].dtype != ASSAY_S16)
        return ASSAY_EDIT_NOT_HERE;
    if (p->n_steps > 0 && p->steps[0].bits == 32 &&
        (p->steps[0].kind == ASSAY_STEP_WRAP ||
         p->steps[0].kind == ASSAY_STEP_SAT)) {
        if (p->steps[0].kind == kind)
            return ASSAY_EDIT_SAME;
        p->steps[0].kind = (uint8_t)kind;
        return 0;
    }
    return assay_edit_insert(s, p, 0, kind, 32, 0, err);
}

int assay_edit_sum(struct assay_slice *s, uint32_t *layer,
                   const struct assay_edit *e, struct assay_err *err)
{
    const struct assay_layer *l = &s->layers[*layer];

    switch (e->id) {
    case ASSAY_CAUSE_Z2: return clamp_before_zero(s, *layer, err);
    case ASSAY_CAUSE_Z4: return output_zero_missing(s, *layer, err);
    default: break;
    }
    if (!is_sum(l) || s->tensors[l->inputs[1]].role != ASSAY_ROLE_CONSTANT)
        return ASSAY_EDIT_NOT_HERE;
    switch (e->id) {
    case ASSAY_CAUSE_A2:
        return accumulator(
            s, *layer, e->variant == 0 ? ASSAY_STEP_WRAP : ASSAY_STEP_SAT, err);
    case ASSAY_CAUSE_A4: return other_sign(s, layer, e->variant == 1, err);
    case ASSAY_CAUSE_B1:
    case ASSAY_CAUSE_B2:
    case ASSAY_CAUSE_B5:
    case ASSAY_CAUSE_B6: return edit_bias(s, *layer, e, err);
    case ASSAY_CAUSE_Z1:
        return e->variant == 2
                   ? wrap_input(s, layer, err)
                   : input_zero(s, *layer, e->variant == 0 ? 1 : -1, err);
    case ASSAY_CAUSE_Z3: return weight_zero(s, *layer, err);
    default: return ASSAY_EDIT_NOT_HERE;
    }
}
