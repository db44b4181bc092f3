/* SPDX-License-Identifier: Apache-2.0 */
/* Q, S: scales and precisions. */
#include <math.h>
#include <string.h>

#include "host-tools/cause/catalogue.h"
#include "host-tools/cause/edit_program.h"

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for edited scales");
}

/* Steps whose operand is a scale, or a part of one. */
static bool is_scale(const struct assay_step *s)
{
    return s->kind == ASSAY_STEP_MUL || s->kind == ASSAY_STEP_SRDHM ||
           s->kind == ASSAY_STEP_SDMULH || s->kind == ASSAY_STEP_FMUL ||
           s->kind == ASSAY_STEP_SHR || s->kind == ASSAY_STEP_SHL;
}

static double float_of(int64_t bits, bool wide)
{
    uint32_t low = (uint32_t)bits;
    double d;
    float f;

    memcpy(&d, &bits, sizeof(d));
    memcpy(&f, &low, sizeof(f));
    return wide ? d : (double)f;
}

static int64_t bits_of(double v, bool wide)
{
    float f = (float)v;
    uint32_t low;
    int64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    memcpy(&low, &f, sizeof(low));
    return wide ? bits : (int64_t)low;
}

static bool is_wide(const struct assay_program *p)
{
    return assay_edit_first(p, ASSAY_STEP_TO_F64) >= 0;
}

/* log2 of what a channel is scaled by, as far as its steps say. */
static double scale_of(const struct assay_program *p, uint32_t c)
{
    double v = 0;

    for (uint32_t i = 0; i < p->n_steps; i++) {
        const struct assay_step *s = &p->steps[i];

        if (!is_scale(s))
            continue;
        if (s->kind == ASSAY_STEP_SHR)
            v -= (double)assay_edit_at(s, c);
        else if (s->kind == ASSAY_STEP_SHL)
            v += (double)assay_edit_at(s, c);
        else if (s->kind == ASSAY_STEP_FMUL)
            v += log2(float_of(assay_edit_at(s, c), is_wide(p)));
        else
            v += log2((double)assay_edit_at(s, c));
    }
    return v;
}

/* Every channel scales as channel `of` does. */
static int like_channel(struct assay_slice *s, struct assay_program *p,
                        uint32_t of, struct assay_err *err)
{
    bool any = false;

    for (uint32_t i = 0; i < p->n_steps; i++) {
        struct assay_step *k = &p->steps[i];
        int64_t v;
        int rc;

        if (!is_scale(k) || k->n < 2)
            continue;
        v = k->a[of];
        for (uint32_t c = 0; c < k->n; c++)
            any = any || k->a[c] != v;
        rc = assay_edit_operand(s, k, 1, &v, err);
        if (rc)
            return rc;
    }
    return any ? 0 : ASSAY_EDIT_SAME;
}

static int largest_scale(struct assay_slice *s, struct assay_program *p,
                         uint32_t channels, struct assay_err *err)
{
    uint32_t best = 0;

    for (uint32_t c = 1; c < channels; c++)
        if (scale_of(p, c) > scale_of(p, best))
            best = c;
    return like_channel(s, p, best, err);
}

/* The last shift, or the float scale, by one power of two. */
static int exponent(struct assay_slice *s, struct assay_program *p, bool up,
                    struct assay_err *err)
{
    int at = assay_edit_last(p, ASSAY_STEP_SHR);
    bool shift = at >= 0;
    struct assay_step *k;
    int64_t *v;

    if (!shift)
        at = assay_edit_last(p, ASSAY_STEP_FMUL);
    if (at < 0)
        return ASSAY_EDIT_NOT_HERE;
    k = &p->steps[at];
    v = assay_arena_array(s->arena, k->n, sizeof(*v));
    if (!v)
        return no_memory(err);
    for (uint32_t c = 0; c < k->n; c++)
        v[c] = shift ? k->a[c] + (up ? -1 : 1)
                     : bits_of(float_of(k->a[c], is_wide(p)) * (up ? 2 : 0.5),
                               is_wide(p));
    k->a = v;
    return 0;
}

/* The input's scale once more, or not at all. */
static int input_scale(struct assay_slice *s, uint32_t layer, bool twice,
                       struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    const struct assay_quant *x = &s->tensors[l->inputs[0]].quant;
    struct assay_program *p = &l->out_program;
    int at = assay_edit_last(p, ASSAY_STEP_FMUL);
    struct assay_step *k;
    int64_t *v;

    if (at < 0 || x->n != 1)
        return ASSAY_EDIT_NOT_HERE;
    if (x->scale[0] == 1)
        return ASSAY_EDIT_SAME;
    k = &p->steps[at];
    v = assay_arena_array(s->arena, k->n, sizeof(*v));
    if (!v)
        return no_memory(err);
    for (uint32_t c = 0; c < k->n; c++) {
        double real = float_of(k->a[c], is_wide(p));

        v[c] = bits_of(twice ? real * (double)x->scale[0]
                             : real / (double)x->scale[0],
                       is_wide(p));
    }
    k->a = v;
    return 0;
}

/* The upper byte alone is kept, rounded. */
static int in_int8(struct assay_slice *s, uint32_t layer, struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    struct assay_program *p = &l->out_program;
    int rc;

    if (s->tensors[l->output].dtype != ASSAY_S16 || p->n_steps == 0)
        return ASSAY_EDIT_NOT_HERE;
    rc = assay_edit_insert(s, p, p->n_steps, ASSAY_STEP_SHR, 8, 0, err);
    if (rc)
        return rc;
    p->steps[p->n_steps - 1].round = ASSAY_ROUND_HALF_EVEN;
    rc = assay_edit_insert(s, p, p->n_steps, ASSAY_STEP_SAT, 8, 0, err);
    if (!rc)
        rc = assay_edit_insert(s, p, p->n_steps, ASSAY_STEP_SHL, 8, 0, err);
    return rc;
}

int assay_edit_scale(struct assay_slice *s, uint32_t *layer,
                     const struct assay_edit *e, struct assay_err *err)
{
    struct assay_program *p = &s->layers[*layer].out_program;

    switch (e->id) {
    case ASSAY_CAUSE_Q1: return like_channel(s, p, 0, err);
    case ASSAY_CAUSE_Q2:
        return largest_scale(s, p, assay_edit_channels(s, *layer), err);
    case ASSAY_CAUSE_Q3: return input_scale(s, *layer, e->variant == 1, err);
    case ASSAY_CAUSE_Q4: return exponent(s, p, e->variant == 0, err);
    case ASSAY_CAUSE_S1: return in_int8(s, *layer, err);
    default: return ASSAY_EDIT_NOT_HERE;
    }
}
