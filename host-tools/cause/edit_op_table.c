/* SPDX-License-Identifier: Apache-2.0 */
/* O3, O8, O9: functions by table that are looked up in another way. */
#include <string.h>

#include "host-tools/cause/edit_graph.h"
#include "host-tools/cause/edit_op.h"
#include "host-tools/cause/edit_program.h"

enum { O3_SIGN, O3_REVERSED };
enum { O8_EDGE, O8_NEXT };

static bool is_byte(const struct assay_tensor *t)
{
    return t->dtype == ASSAY_S8 || t->dtype == ASSAY_U8;
}

/* ---- the index --------------------------------------------------------- */

/* Entry i is looked up elsewhere: as if its sign bit, or all bits, were the
 * other way. Entries are in the order of x, from the smallest. */
static int elsewhere(int i, uint32_t variant)
{
    return variant == O3_SIGN ? i ^ 0x80 : 255 - i;
}

static int reorder_table(struct assay_slice *s, uint32_t layer,
                         uint32_t variant, struct assay_err *err)
{
    uint32_t table = s->layers[layer].inputs[1], index;
    const struct assay_tensor *t = &s->tensors[table];
    size_t width = t->size / 256;
    uint8_t *data = assay_arena_alloc(s->arena, t->size);
    int rc;

    if (!data)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for an edited table");
    for (int i = 0; i < 256; i++)
        memcpy(data + (size_t)i * width,
               (const uint8_t *)t->data + (size_t)elsewhere(i, variant) * width,
               width);
    if (memcmp(data, t->data, t->size) == 0)
        return ASSAY_EDIT_SAME;
    rc = assay_edit_constant(s, table, data, &index, err);
    if (!rc)
        s->layers[layer].inputs[1] = index;
    return rc;
}

/* Bytes in front of the layer, each in place of another. */
static int map_bytes(struct assay_slice *s, uint32_t *layer, uint32_t variant,
                     struct assay_err *err)
{
    uint32_t x = s->layers[*layer].inputs[0], y, inputs[2] = {x, 0};
    int flip = s->tensors[x].dtype == ASSAY_S8 ? 0x80 : 0;
    struct assay_layer *made;
    int64_t v[256];
    int rc;

    for (int i = 0; i < 256; i++) /* place i holds the byte i ^ flip */
        v[i] = elsewhere(i, variant) ^ flip;
    rc = assay_edit_table(s, x, v, &inputs[1], err);
    if (!rc)
        rc = assay_edit_tensor(s, x, "index", &y, err);
    if (!rc)
        rc = assay_edit_before(s, layer, 2, inputs, y, 0, &made, err);
    if (!rc)
        made->op = ASSAY_OP_TABLE;
    return rc;
}

/* The same of 16 bits: x + 2^15 that wraps, or -x - 1. */
static int map_words(struct assay_slice *s, uint32_t *layer, uint32_t variant,
                     struct assay_err *err)
{
    uint32_t x = s->layers[*layer].inputs[0], y;
    bool sign = variant == O3_SIGN;
    struct assay_layer *made;
    int rc = assay_edit_tensor(s, x, "index", &y, err);

    if (!rc)
        rc = assay_edit_before(s, layer, 1, &x, y, 0, &made, err);
    if (rc)
        return rc;
    made->op = ASSAY_OP_UNARY;
    rc = assay_edit_insert(s, &made->out_program, 0,
                           sign ? ASSAY_STEP_ADD : ASSAY_STEP_MUL,
                           sign ? 32768 : -1, 0, err);
    return rc ? rc
              : assay_edit_insert(s, &made->out_program, 1,
                                  sign ? ASSAY_STEP_WRAP : ASSAY_STEP_ADD,
                                  sign ? 16 : -1, 0, err);
}

static int wrong_index(struct assay_slice *s, uint32_t *layer, uint32_t variant,
                       struct assay_err *err)
{
    const struct assay_layer *l = &s->layers[*layer];
    const struct assay_tensor *x = &s->tensors[l->n_inputs ? l->inputs[0] : 0];

    if (l->op == ASSAY_OP_TABLE)
        return reorder_table(s, *layer, variant, err);
    if (l->op == ASSAY_OP_SEGMENT_TABLE && x->dtype == ASSAY_S16)
        return map_words(s, layer, variant, err);
    if (l->op == ASSAY_OP_SEGMENT_TABLE ||
        (l->op == ASSAY_OP_UNARY && is_byte(x) &&
         is_byte(&s->tensors[l->output])))
        return map_bytes(s, layer, variant, err);
    return ASSAY_EDIT_NOT_HERE;
}

/* ---- segments ---------------------------------------------------------- */

/* A value that is a bound belongs to the segment behind it. */
static int move_bounds(struct assay_slice *s, struct assay_layer *l,
                       struct assay_err *err)
{
    uint32_t given = l->inputs[2], index;
    const struct assay_tensor *t = &s->tensors[given];
    int32_t *data = assay_arena_copy(s->arena, t->data, t->size);
    bool reached = false;
    int rc;

    if (!data)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for edited segments");
    for (int i = 0; i + 1 < ASSAY_SEGMENTS; i++) {
        int32_t *bound = &data[i * ASSAY_SEGMENT_FIELDS];

        reached = reached || (*bound >= INT16_MIN && *bound <= INT16_MAX);
        *bound -= *bound > INT32_MIN;
    }
    if (!reached)
        return ASSAY_EDIT_SAME;
    rc = assay_edit_constant(s, given, data, &index, err);
    if (!rc)
        l->inputs[2] = index;
    return rc;
}

/* Inner segments look into the table of the next one. */
static int next_table(struct assay_slice *s, struct assay_layer *l,
                      struct assay_err *err)
{
    uint32_t given = l->inputs[1], index;
    const struct assay_tensor *t = &s->tensors[given];
    size_t one = t->size / (ASSAY_SEGMENTS - 2), rest = t->size - one;
    uint8_t *data = assay_arena_alloc(s->arena, t->size);
    int rc;

    if (!data)
        return assay_fail(err, ASSAY_EMEMORY, "no memory for an edited table");
    memcpy(data, (const uint8_t *)t->data + one, rest);
    memcpy(data + rest, t->data, one);
    if (memcmp(data, t->data, t->size) == 0)
        return ASSAY_EDIT_SAME;
    rc = assay_edit_constant(s, given, data, &index, err);
    if (!rc)
        l->inputs[1] = index;
    return rc;
}

static int mix(struct assay_layer *l, uint32_t variant)
{
    static const uint8_t rounds[] = {ASSAY_ROUND_FLOOR, ASSAY_ROUND_TRUNC,
                                     ASSAY_ROUND_HALF_UP, ASSAY_ROUND_HALF_EVEN,
                                     ASSAY_ROUND_HALF_AWAY};

    if (l->p.segment.mix_round == rounds[variant])
        return ASSAY_EDIT_SAME;
    l->p.segment.mix_round = rounds[variant];
    return 0;
}

int assay_edit_op_table(struct assay_slice *s, uint32_t *layer,
                        const struct assay_edit *e, struct assay_err *err)
{
    struct assay_layer *l = &s->layers[*layer];

    if (e->id == ASSAY_CAUSE_O3)
        return wrong_index(s, layer, e->variant, err);
    if (l->op != ASSAY_OP_SEGMENT_TABLE)
        return ASSAY_EDIT_NOT_HERE;
    if (e->id == ASSAY_CAUSE_O9)
        return mix(l, e->variant);
    return e->variant == O8_EDGE ? move_bounds(s, l, err)
                                 : next_table(s, l, err);
}
