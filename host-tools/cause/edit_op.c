/* SPDX-License-Identifier: Apache-2.0 */
/* O: what operators other than sums of products choose. */
#include <string.h>

#include "host-tools/cause/catalogue.h"
#include "host-tools/cause/edit_graph.h"
#include "host-tools/cause/edit_program.h"
#include "lib/core/arith.h"

static const char *const averages[] = {
    "div_floor",     "div_trunc",      "div_half_up",  "div_half_even",
    "div_half_away", "divc_half_away", "divc_half_up", "f32_seq_zpin",
    "f32_sum_scale", "q31_double"};
static const char *const additions[] = {
    "tflite_l20", "tflite_l20_single", "tflite_l15", "xnn", "ort_neon",
    "ort_fma",    "ort_sse",           "ort_plain",  "dq_q"};

static int apply(struct assay_slice *s, uint32_t layer, const char *name,
                 struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    struct assay_err ignored = {0};

    if (l->real_op == ASSAY_REAL_NONE)
        return ASSAY_EDIT_NOT_HERE;
    if (l->arith && strcmp(l->arith, name) == 0)
        return ASSAY_EDIT_SAME;
    if (assay_arith_apply(s, layer, name, &ignored) == 0)
        return 0;
    return ignored.code == ASSAY_EMEMORY
               ? assay_fail(err, ASSAY_EMEMORY, "no memory for an edited layer")
               : ASSAY_EDIT_NOT_HERE;
}

/* Cells in the padding count, or do not. */
static int divisor(struct assay_layer *l)
{
    struct assay_pool_params *p = &l->p.pool;

    if (l->op != ASSAY_OP_POOL || p->kind != ASSAY_POOL_AVG ||
        p->div == ASSAY_DIV_NONE)
        return ASSAY_EDIT_NOT_HERE;
    if (p->pad_top == 0 && p->pad_left == 0 && p->pad_bottom == 0 &&
        p->pad_right == 0)
        return ASSAY_EDIT_SAME;
    p->count_include_pad = !p->count_include_pad;
    return 0;
}

/* Entry i + 128 for entry i: signed bytes taken as unsigned. */
static int rotate_table(struct assay_slice *s, uint32_t layer,
                        struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    const struct assay_tensor *t;
    uint8_t *data;
    uint32_t index;
    int rc;

    if (l->op != ASSAY_OP_TABLE)
        return ASSAY_EDIT_NOT_HERE;
    t = &s->tensors[l->inputs[1]];
    data = assay_arena_alloc(s->arena, t->size);
    if (!data)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for a table");
    memcpy(data, (const uint8_t *)t->data + t->size / 2, t->size / 2);
    memcpy(data + t->size / 2, t->data, t->size / 2);
    if (memcmp(data, t->data, t->size) == 0)
        return ASSAY_EDIT_SAME;
    rc = assay_slice_add_tensor(s, &index, err);
    if (rc)
        return rc;
    l = &s->layers[layer];
    s->tensors[index] = s->tensors[l->inputs[1]];
    s->tensors[index].data = data;
    assay_sha256(data, s->tensors[index].size, s->tensors[index].sha256);
    l->inputs[1] = index;
    return 0;
}

/* One input of a concat is copied. */
static int not_rescaled(struct assay_layer *l, uint32_t input)
{
    if (l->op != ASSAY_OP_CONCAT || input >= l->n_in_programs)
        return ASSAY_EDIT_NOT_HERE;
    if (l->in_programs[input].n_steps == 0)
        return ASSAY_EDIT_SAME;
    l->in_programs[input].n_steps = 0;
    return 0;
}

/* No activation behind: the type's range is what is left. */
static int activation_lost(struct assay_slice *s, uint32_t layer,
                           struct assay_err *err)
{
    struct assay_program *p = &s->layers[layer].out_program;
    int at = assay_edit_last(p, ASSAY_STEP_CLAMP);
    int64_t lo, hi;

    if (at < 0)
        return ASSAY_EDIT_NOT_HERE;
    assay_dtype_range(s->tensors[s->layers[layer].output].dtype, &lo, &hi);
    if (p->steps[at].n == 1 && p->steps[at].a[0] == lo &&
        p->steps[at].b[0] == hi)
        return ASSAY_EDIT_SAME;
    assay_edit_remove(p, (uint32_t)at);
    return assay_edit_clamp_out(s, layer, err);
}

static int interpolation(struct assay_layer *l, uint32_t variant)
{
    static const uint8_t rounds[] = {ASSAY_ROUND_FLOOR, ASSAY_ROUND_HALF_UP,
                                     ASSAY_ROUND_HALF_AWAY, ASSAY_ROUND_TRUNC};

    if (l->op != ASSAY_OP_SEGMENT_TABLE)
        return ASSAY_EDIT_NOT_HERE;
    if (l->p.segment.mix_round == rounds[variant])
        return ASSAY_EDIT_SAME;
    l->p.segment.mix_round = rounds[variant];
    return 0;
}

int assay_edit_op(struct assay_slice *s, uint32_t *layer,
                  const struct assay_edit *e, struct assay_err *err)
{
    struct assay_layer *l = &s->layers[*layer];

    switch (e->id) {
    case ASSAY_CAUSE_O1:
        if (e->variant == sizeof(averages) / sizeof(averages[0]))
            return divisor(l);
        return l->op == ASSAY_OP_POOL || l->op == ASSAY_OP_REDUCE
                   ? apply(s, *layer, averages[e->variant], err)
                   : ASSAY_EDIT_NOT_HERE;
    case ASSAY_CAUSE_O3: return rotate_table(s, *layer, err);
    case ASSAY_CAUSE_O4:
        return l->op == ASSAY_OP_BINARY
                   ? apply(s, *layer, additions[e->variant], err)
                   : ASSAY_EDIT_NOT_HERE;
    case ASSAY_CAUSE_O5: return not_rescaled(l, e->variant);
    case ASSAY_CAUSE_O6: return activation_lost(s, *layer, err);
    case ASSAY_CAUSE_O9: return interpolation(l, e->variant);
    default: return ASSAY_EDIT_NOT_HERE;
    }
}
