/* SPDX-License-Identifier: Apache-2.0 */
/* O6, O7: bounds of activations, and on which side of an addition they are. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "host-tools/cause/edit_graph.h"
#include "host-tools/cause/edit_op.h"
#include "host-tools/cause/edit_program.h"

enum { O6_NONE, O6_RELU, O6_RELU6 };
enum { O7_BOTH, O7_FIRST, O7_SECOND };

static int64_t bits_of(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

static float float_of(int64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float f;

    memcpy(&f, &low, sizeof(f));
    return f;
}

/* The last clamp of a program, of numbers in binary32 or integers. */
struct clamp {
    int at; /* -1: none that is known to hold for the output */
    bool is_float;
    int64_t lo, hi; /* of the output */
    int64_t behind; /* what is added to it behind the clamp */
};

/* Does the program's value at step `at` have 32 bits (or is an integer)? */
static bool is_narrow(const struct assay_program *p, uint32_t at)
{
    while (at-- > 0)
        if (p->steps[at].kind == ASSAY_STEP_TO_F64 ||
            p->steps[at].kind == ASSAY_STEP_TO_F32)
            return p->steps[at].kind == ASSAY_STEP_TO_F32;
    return true;
}

/* What is added behind step `at`, where nothing else happens to the value. */
static bool added(const struct assay_program *p, uint32_t at, int64_t *sum)
{
    *sum = 0;
    for (uint32_t i = at + 1; i < p->n_steps; i++) {
        const struct assay_step *s = &p->steps[i];

        if (s->kind == ASSAY_STEP_SAT || s->kind == ASSAY_STEP_FROUND)
            continue;
        if (s->n != 1)
            return false;
        if (s->kind == ASSAY_STEP_ADD || s->kind == ASSAY_STEP_ADD_ZP)
            *sum += s->a[0];
        else if (s->kind == ASSAY_STEP_FADD && is_narrow(p, i))
            *sum += (int64_t)float_of(s->a[0]);
        else
            return false;
    }
    return true;
}

static struct clamp clamp_of(const struct assay_program *p,
                             enum assay_dtype dtype)
{
    struct clamp c = {.at = -1};
    int64_t lo, hi;
    int i = assay_edit_last(p, ASSAY_STEP_CLAMP);
    int f = assay_edit_last(p, ASSAY_STEP_FCLAMP);

    assay_dtype_range(dtype, &c.lo, &c.hi);
    c.is_float = f > i;
    i = f > i ? f : i;
    if (i < 0 || p->steps[i].n != 1 || !added(p, (uint32_t)i, &c.behind) ||
        (c.is_float && !is_narrow(p, (uint32_t)i)))
        return c;
    c.at = i;
    lo = p->steps[i].a[0];
    hi = p->steps[i].b[0];
    if (c.is_float) {
        lo = (int64_t)rintf(fmaxf(float_of(lo), -0x1p40f));
        hi = (int64_t)rintf(fminf(float_of(hi), 0x1p40f));
    }
    c.lo = lo + c.behind > c.lo ? lo + c.behind : c.lo;
    c.hi = hi + c.behind < c.hi ? hi + c.behind : c.hi;
    return c;
}

/* The clamp holds for the output from lo to hi. */
static int set_bounds(struct assay_slice *s, struct assay_program *p,
                      const struct clamp *c, int64_t lo, int64_t hi,
                      struct assay_err *err)
{
    int rc;

    lo -= c->behind;
    hi -= c->behind;
    assay_edit_remove(p, (uint32_t)c->at);
    if (c->is_float)
        rc = assay_edit_insert(s, p, (uint32_t)c->at, ASSAY_STEP_FCLAMP,
                               bits_of((float)lo), bits_of((float)hi), err);
    else
        rc = assay_edit_insert(s, p, (uint32_t)c->at, ASSAY_STEP_CLAMP, lo, hi,
                               err);
    return rc;
}

/* Float clamps in front of the last one: an activation of real numbers. */
static bool drop_real(struct assay_program *p, const struct clamp *c)
{
    bool any = false;

    for (int i = c->at; i-- > 0;) {
        if (p->steps[i].kind != ASSAY_STEP_FCLAMP)
            continue;
        assay_edit_remove(p, (uint32_t)i);
        any = true;
    }
    return any;
}

/* ---- O6 ---------------------------------------------------------------- */

static int lose(struct assay_slice *s, struct assay_layer *l,
                struct assay_err *err)
{
    enum assay_dtype dtype = s->tensors[l->output].dtype;
    struct assay_program *p = &l->out_program;
    struct clamp c = clamp_of(p, dtype);
    int64_t lo, hi;
    bool any;

    if (c.at < 0)
        return ASSAY_EDIT_NOT_HERE;
    assay_dtype_range(dtype, &lo, &hi);
    any = drop_real(p, &c);
    c = clamp_of(p, dtype);
    if (!any && c.lo == lo && c.hi == hi)
        return ASSAY_EDIT_SAME;
    return set_bounds(s, p, &c, lo, hi, err);
}

/* One more clamp of the output, from its zero point on. */
static int bound(struct assay_slice *s, struct assay_layer *l, bool six,
                 struct assay_err *err)
{
    const struct assay_tensor *y = &s->tensors[l->output];
    struct assay_program *p = &l->out_program;
    struct clamp c = clamp_of(p, y->dtype);
    int64_t lo, hi = c.hi;
    double top;

    if (y->quant.n != 1)
        return ASSAY_EDIT_NOT_HERE;
    lo = y->quant.zero_point[0] > c.lo ? y->quant.zero_point[0] : c.lo;
    top = rint(6.0 / (double)y->quant.scale[0]) + y->quant.zero_point[0];
    if (six && top < (double)hi)
        hi = (int64_t)top;
    if (lo == c.lo && hi == c.hi)
        return ASSAY_EDIT_SAME;
    if (lo > hi)
        return ASSAY_EDIT_NOT_HERE;
    return assay_edit_insert(s, p, p->n_steps, ASSAY_STEP_CLAMP, lo, hi, err);
}

/* ---- O7 ---------------------------------------------------------------- */

/* What an operand is in memory, not below its real zero. */
static int bound_operand(struct assay_slice *s, struct assay_layer *l,
                         uint32_t i, struct assay_err *err)
{
    const struct assay_tensor *x = &s->tensors[l->inputs[i]];
    int64_t zero = x->quant.n > 0 ? x->quant.zero_point[0] : 0, lo, hi;

    if (!assay_dtype_is_int(x->dtype))
        return assay_edit_insert(s, &l->in_programs[i], 0, ASSAY_STEP_FCLAMP, 0,
                                 bits_of(FLT_MAX), err);
    assay_dtype_range(x->dtype, &lo, &hi);
    return assay_edit_insert(s, &l->in_programs[i], 0, ASSAY_STEP_CLAMP, zero,
                             hi, err);
}

static int bound_operands(struct assay_slice *s, struct assay_layer *l,
                          uint32_t variant, struct assay_err *err)
{
    int rc = 0;

    if ((l->p.binary.combine != ASSAY_COMBINE_ADD &&
         l->p.binary.combine != ASSAY_COMBINE_FADD &&
         l->p.binary.combine != ASSAY_COMBINE_FFMA) ||
        l->in_programs[0].n_steps == ASSAY_MAX_STEPS ||
        l->in_programs[1].n_steps == ASSAY_MAX_STEPS)
        return ASSAY_EDIT_NOT_HERE;
    if (variant != O7_SECOND)
        rc = bound_operand(s, l, 0, err);
    return rc || variant == O7_FIRST ? rc : bound_operand(s, l, 1, err);
}

/* The sum of products alone, before the second input is added. */
static int bound_sum(struct assay_slice *s, struct assay_program *p,
                     struct assay_err *err)
{
    int at = assay_edit_last(p, ASSAY_STEP_ADD_INPUT);

    if (at < 0)
        at = assay_edit_last(p, ASSAY_STEP_ADD_SCALED);
    if (at < 0)
        return ASSAY_EDIT_NOT_HERE;
    return assay_edit_insert(s, p, (uint32_t)at, ASSAY_STEP_CLAMP, 0, INT64_MAX,
                             err);
}

/* The input that is added to a sum of products, by a layer in front. */
static int bound_second(struct assay_slice *s, uint32_t *layer,
                        struct assay_err *err)
{
    uint32_t i = s->layers[*layer].n_inputs - 1u, y;
    uint32_t x = s->layers[*layer].inputs[i];
    const struct assay_tensor *t = &s->tensors[x];
    int64_t zero = t->quant.n > 0 ? t->quant.zero_point[0] : 0, lo, hi;
    struct assay_layer *made;
    int rc;

    if (!assay_dtype_is_int(t->dtype) || t->quant.n > 1)
        return ASSAY_EDIT_NOT_HERE;
    assay_dtype_range(t->dtype, &lo, &hi);
    if (zero <= lo)
        return ASSAY_EDIT_SAME;
    rc = assay_edit_tensor(s, x, "bounded", &y, err);
    if (!rc)
        rc = assay_edit_before(s, layer, 1, &x, y, i, &made, err);
    if (rc)
        return rc;
    made->op = ASSAY_OP_UNARY;
    return assay_edit_insert(s, &made->out_program, 0, ASSAY_STEP_CLAMP, zero,
                             hi, err);
}

static int bound_fused(struct assay_slice *s, uint32_t *layer, uint32_t variant,
                       struct assay_err *err)
{
    int rc = 0;

    if (variant != O7_SECOND)
        rc = bound_sum(s, &s->layers[*layer].out_program, err);
    return rc || variant == O7_FIRST ? rc : bound_second(s, layer, err);
}

/* The ReLU behind an addition is at its operands instead, or at one. */
static int bound_first(struct assay_slice *s, uint32_t *layer, uint32_t variant,
                       struct assay_err *err)
{
    struct assay_layer *l = &s->layers[*layer];
    const struct assay_tensor *y = &s->tensors[l->output];
    const enum assay_dtype dtype = y->dtype;
    struct clamp c = clamp_of(&l->out_program, dtype);
    int64_t zero = y->quant.n > 0 ? y->quant.zero_point[0] : 0, lo, hi;
    int rc;

    assay_dtype_range(dtype, &lo, &hi);
    if (c.lo != zero || y->quant.n > 1)
        return ASSAY_EDIT_NOT_HERE; /* there is no ReLU behind it */
    if (l->op == ASSAY_OP_BINARY)
        rc = bound_operands(s, l, variant, err);
    else if (l->op == ASSAY_OP_CONV2D && l->p.conv2d.has_second)
        rc = bound_fused(s, layer, variant, err);
    else
        return ASSAY_EDIT_NOT_HERE;
    l = &s->layers[*layer];
    c = clamp_of(&l->out_program, dtype);
    return rc || c.at < 0 ? rc
                          : set_bounds(s, &l->out_program, &c, lo, c.hi, err);
}

int assay_edit_op_bound(struct assay_slice *s, uint32_t *layer,
                        const struct assay_edit *e, struct assay_err *err)
{
    struct assay_layer *l = &s->layers[*layer];

    if (!assay_dtype_is_int(s->tensors[l->output].dtype))
        return ASSAY_EDIT_NOT_HERE;
    if (e->id == ASSAY_CAUSE_O7)
        return bound_first(s, layer, e->variant, err);
    switch (l->op) {
    case ASSAY_OP_CONV2D:
    case ASSAY_OP_CONV_TRANSPOSE2D:
    case ASSAY_OP_GEMM:
    case ASSAY_OP_MATMUL:
    case ASSAY_OP_BINARY:
    case ASSAY_OP_UNARY: break;
    default: return ASSAY_EDIT_NOT_HERE;
    }
    return e->variant == O6_NONE ? lose(s, l, err)
                                 : bound(s, l, e->variant == O6_RELU6, err);
}
