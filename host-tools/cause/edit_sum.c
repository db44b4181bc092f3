/* SPDX-License-Identifier: Apache-2.0 */
/* A, B: accumulator and bias; zero points are in edit_zero.c. */
#include <math.h>
#include <string.h>

#include "host-tools/cause/edit_graph.h"
#include "host-tools/cause/edit_sum.h"
#include "kernels/requant.h"

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for an edited sum");
}

/* ---- bias ------------------------------------------------------------------ */

/* Gives the layer a bias tensor of its own with these values, in int32. */
static int set_bias(struct assay_slice *s, uint32_t layer, const int64_t *v,
                    uint32_t n, struct assay_err *err)
{
    int32_t *data = assay_arena_array(s->arena, n, sizeof(*data));
    const int64_t dims[] = {n};
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
    assay_edit_shape(t, 1, dims);
    t->role = ASSAY_ROLE_CONSTANT;
    t->dtype = ASSAY_S32;
    t->quant = (struct assay_quant){.axis = -1};
    t->data = data;
    t->size = n * sizeof(*data);
    memset(t->sha256, 0, sizeof(t->sha256));
    inputs = assay_arena_array(s->arena, l->n_inputs + 1u, sizeof(*inputs));
    if (!inputs)
        return no_memory(err);
    memcpy(inputs, l->inputs, l->n_inputs * sizeof(*inputs));
    if (!assay_edit_has_bias(l)) {
        memmove(inputs + 3, inputs + 2, (l->n_inputs - 2) * sizeof(*inputs));
        l->n_inputs++;
    }
    l->p.conv2d.has_bias = true;
    inputs[2] = index;
    l->inputs = inputs;
    return 0;
}

/* The step that adds the bias behind the sum, where the sum has none. */
static struct assay_step *bias_step(struct assay_layer *l)
{
    struct assay_program *p = &l->out_program;

    if (assay_edit_has_bias(l) || l->real_op != ASSAY_REAL_NONE ||
        p->n_steps == 0 || p->steps[0].kind != ASSAY_STEP_ADD)
        return NULL;
    return &p->steps[0];
}

/* Of each channel, wherever it is added; *has: is it? */
int64_t *assay_edit_get_bias(const struct assay_slice *s, uint32_t layer,
                             bool *has)
{
    struct assay_layer *l = &s->layers[layer];
    const struct assay_step *step = bias_step(l);
    uint32_t n = assay_edit_channels(s, layer);
    int64_t *v = assay_arena_array(s->arena, n, sizeof(*v));
    const int32_t *data =
        assay_edit_has_bias(l) ? s->tensors[l->inputs[2]].data : NULL;

    *has = data || step;
    for (uint32_t c = 0; v && *has && c < n; c++)
        v[c] = data ? data[c] : assay_edit_at(step, c);
    return v;
}

int assay_edit_put_bias(struct assay_slice *s, uint32_t layer, const int64_t *v,
                        struct assay_err *err)
{
    struct assay_step *step = bias_step(&s->layers[layer]);
    uint32_t n = assay_edit_channels(s, layer);

    return step ? assay_edit_operand(s, step, n, v, err)
                : set_bias(s, layer, v, n, err);
}

/* Scale of channel c's accumulator; 0: not known. */
static double sum_scale(const struct assay_slice *s,
                        const struct assay_layer *l, uint32_t c)
{
    const struct assay_quant *x = &s->tensors[l->inputs[0]].quant;
    const struct assay_quant *w = &s->tensors[l->inputs[1]].quant;

    if (l->real_op == ASSAY_REAL_NONE || x->n != 1 || w->n == 0)
        return 0;
    return (double)x->scale[0] * (double)w->scale[w->n > 1 ? c : 0];
}

static int64_t edited_bias(const struct assay_slice *s, uint32_t layer,
                           const struct assay_edit *e, const int64_t *v,
                           uint32_t c)
{
    const struct assay_layer *l = &s->layers[layer];
    const struct assay_quant *y = &s->tensors[l->output].quant;
    uint32_t n = assay_edit_channels(s, layer);

    switch (e->id) {
    case ASSAY_CAUSE_B1: return 0;
    case ASSAY_CAUSE_B2: /* up: that of c - 1 */
        return v[(c + (e->variant == 0 ? n - 1 : 1)) % n];
    case ASSAY_CAUSE_B3: /* real, output: in units of that */
        return (int64_t)rint((double)v[c] * sum_scale(s, l, c) /
                             (e->variant == 0 ? 1 : (double)y->scale[0]));
    case ASSAY_CAUSE_B5: return 2 * v[c];
    default: return assay_sat(v[c], e->variant == 0 ? 16 : 8); /* B6 */
    }
}

static int edit_bias(struct assay_slice *s, uint32_t layer,
                     const struct assay_edit *e, struct assay_err *err)
{
    uint32_t n = assay_edit_channels(s, layer);
    bool same = true, has;
    int64_t *v = assay_edit_get_bias(s, layer, &has);
    int64_t *w = assay_arena_array(s->arena, n, sizeof(*w));

    if (!v || !w)
        return no_memory(err);
    if (!has || (e->id == ASSAY_CAUSE_B3 &&
                 (sum_scale(s, &s->layers[layer], 0) == 0 ||
                  s->tensors[s->layers[layer].output].quant.n != 1)))
        return ASSAY_EDIT_NOT_HERE;
    for (uint32_t c = 0; c < n; c++) {
        w[c] = assay_wrap(edited_bias(s, layer, e, v, c), 32);
        same = same && w[c] == v[c];
    }
    return same ? ASSAY_EDIT_SAME : assay_edit_put_bias(s, layer, w, err);
}

/* B3 after: the integers of the bias are added behind the multiplication. */
static int bias_after(struct assay_slice *s, uint32_t layer,
                      struct assay_err *err)
{
    uint32_t n = assay_edit_channels(s, layer);
    struct assay_program *p = &s->layers[layer].out_program;
    int shr = assay_edit_last(p, ASSAY_STEP_SHR);
    int mul = assay_edit_last(p, ASSAY_STEP_FMUL), at = mul > shr ? mul : shr;
    bool has, any = false, wide = assay_edit_wide(p);
    int64_t *v = assay_edit_get_bias(s, layer, &has), *zeros;
    int rc;

    zeros = assay_arena_array(s->arena, n, sizeof(*zeros));
    if (!v || !zeros)
        return no_memory(err);
    if (!has || at < 0)
        return ASSAY_EDIT_NOT_HERE;
    for (uint32_t c = 0; c < n; c++) {
        any = any || v[c] != 0;
        if (mul > shr)
            v[c] = assay_edit_bits((double)v[c], wide);
    }
    if (!any)
        return ASSAY_EDIT_SAME;
    rc = assay_edit_insert_n(s, p, (uint32_t)at + 1,
                             mul > shr ? ASSAY_STEP_FADD : ASSAY_STEP_ADD, n, v,
                             err);
    return rc ? rc : assay_edit_put_bias(s, layer, zeros, err);
}

/* ---- accumulators ---------------------------------------------------------- */

/* Can the sum of any channel leave 32 bits? */
static bool leaves_32(const struct assay_slice *s, uint32_t layer)
{
    uint32_t n = assay_edit_channels(s, layer);
    const struct assay_step *bias = bias_step(&s->layers[layer]);

    for (uint32_t c = 0; c < n; c++) {
        struct assay_interval v = assay_edit_sum_range(s, layer, c);
        int64_t more = bias ? assay_edit_at(bias, c) : 0;

        if (v.lo + more < INT32_MIN || v.hi + more > INT32_MAX)
            return true;
    }
    return false;
}

/* Width steps that a program begins with, behind the bias. */
static int first_width(const struct assay_program *p)
{
    uint32_t at = 0;

    while (at < p->n_steps && (p->steps[at].kind == ASSAY_STEP_ADD ||
                               p->steps[at].kind == ASSAY_STEP_ADD_INPUT ||
                               p->steps[at].kind == ASSAY_STEP_ADD_SCALED))
        at++;
    if (at == p->n_steps || p->steps[at].bits != 32 ||
        (p->steps[at].kind != ASSAY_STEP_WRAP &&
         p->steps[at].kind != ASSAY_STEP_SAT))
        return -1;
    return (int)at;
}

static int accumulator(struct assay_slice *s, uint32_t *layer,
                       enum assay_step_kind kind, struct assay_err *err)
{
    struct assay_layer *l = &s->layers[*layer];
    const struct assay_tensor *x = &s->tensors[l->inputs[0]];
    const struct assay_quant quant = x->quant;
    bool narrow = assay_dtype_bytes(x->dtype) == 1;
    struct assay_step *bias = bias_step(l);
    int at = first_width(&l->out_program), rc;

    if (!leaves_32(s, *layer))
        return ASSAY_EDIT_SAME;
    if (narrow && kind == ASSAY_STEP_WRAP && at < 0)
        return ASSAY_EDIT_SAME; /* its sums wrap as they are */
    if (at >= 0) {
        if (l->out_program.steps[at].kind == kind)
            return ASSAY_EDIT_SAME;
        l->out_program.steps[at].kind = (uint8_t)kind;
    } else if (bias) {
        bias->add_mode =
            kind == ASSAY_STEP_WRAP ? ASSAY_ADD_WRAP32 : ASSAY_ADD_SAT32;
    } else {
        rc = assay_edit_insert(s, &l->out_program, 0, kind, 32, 0, err);
        if (rc)
            return rc;
    }
    return narrow ? assay_edit_widen_input(s, layer, &quant, err) : 0;
}

/* ---- the family ------------------------------------------------------------ */

static int edit(struct assay_slice *s, uint32_t *layer,
                const struct assay_edit *e, struct assay_err *err)
{
    const struct assay_layer *l = &s->layers[*layer];

    switch (e->id) {
    case ASSAY_CAUSE_Z1:
    case ASSAY_CAUSE_Z2:
    case ASSAY_CAUSE_Z3:
    case ASSAY_CAUSE_Z4: return assay_edit_zero(s, layer, e, err);
    default: break;
    }
    if (e->id == ASSAY_CAUSE_A4 && l->op == ASSAY_OP_MATMUL)
        return assay_edit_other_sign(s, layer, e->variant == 1, err);
    if (!assay_edit_is_sum(s, *layer))
        return ASSAY_EDIT_NOT_HERE;
    switch (e->id) {
    case ASSAY_CAUSE_A2:
        return accumulator(
            s, layer, e->variant == 0 ? ASSAY_STEP_WRAP : ASSAY_STEP_SAT, err);
    case ASSAY_CAUSE_A3:
        return s->tensors[l->inputs[0]].dtype == ASSAY_S16
                   ? accumulator(s, layer, ASSAY_STEP_WRAP, err)
                   : ASSAY_EDIT_NOT_HERE;
    case ASSAY_CAUSE_A4:
        return assay_edit_other_sign(s, layer, e->variant == 1, err);
    case ASSAY_CAUSE_B3:
        if (e->variant == 2)
            return bias_after(s, *layer, err);
        return edit_bias(s, *layer, e, err);
    case ASSAY_CAUSE_B1:
    case ASSAY_CAUSE_B2:
    case ASSAY_CAUSE_B5:
    case ASSAY_CAUSE_B6: return edit_bias(s, *layer, e, err);
    default: return ASSAY_EDIT_NOT_HERE;
    }
}

int assay_edit_sum(struct assay_slice *s, uint32_t *layer,
                   const struct assay_edit *e, struct assay_err *err)
{
    struct assay_layer saved;
    int rc = assay_edit_save(s, *layer, &saved, err);

    if (rc)
        return rc;
    rc = edit(s, layer, e, err);
    if (rc > 0)
        assay_edit_restore(s, *layer, &saved);
    return rc;
}
