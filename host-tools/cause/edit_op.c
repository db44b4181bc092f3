/* SPDX-License-Identifier: Apache-2.0 */
/* O: what operators other than sums of products choose. */
#include "host-tools/cause/edit_op.h"

#include <string.h>

#include "lib/core/arith.h"

int assay_edit_arith(struct assay_slice *s, uint32_t layer, const char *name,
                     struct assay_err *err)
{
    const struct assay_layer *l = &s->layers[layer];
    struct assay_err why = {0};
    int rc;

    if (l->real_op == ASSAY_REAL_NONE)
        return ASSAY_EDIT_NOT_HERE;
    if (strcmp(l->arith, name) == 0)
        return ASSAY_EDIT_SAME;
    rc = assay_arith_apply(s, layer, name, &why);
    if (rc == ASSAY_EMEMORY)
        return assay_fail(err, rc, "no memory for an edited layer");
    return rc ? ASSAY_EDIT_NOT_HERE : 0; /* it has no such form */
}

/* Most forms are of 8-bit elements; of 16 bits, sums would leave theirs. */
static bool is_wide(const struct assay_slice *s, const struct assay_layer *l)
{
    return assay_dtype_bytes(s->tensors[l->inputs[0]].dtype) > 1 ||
           assay_dtype_bytes(s->tensors[l->inputs[1]].dtype) > 1 ||
           assay_dtype_bytes(s->tensors[l->output].dtype) > 1;
}

static int add_form(struct assay_slice *s, uint32_t layer, uint32_t variant,
                    struct assay_err *err)
{
    const struct assay_layer *l = &s->layers[layer];
    char name[32];

    if (l->real_op != ASSAY_REAL_ADD || l->op != ASSAY_OP_BINARY)
        return ASSAY_EDIT_NOT_HERE;
    assay_cause_variant(assay_cause_of(ASSAY_CAUSE_O4), variant, name,
                        sizeof(name));
    if (is_wide(s, l) && strcmp(name, "tflite_l15") != 0 &&
        strcmp(name, "dq_q") != 0)
        return ASSAY_EDIT_NOT_HERE;
    return assay_edit_arith(s, layer, name, err);
}

/* Could input i of a concat be copied as it is? */
static bool can_copy(const struct assay_slice *s, const struct assay_layer *l,
                     uint32_t i)
{
    return l->in_programs[i].n_steps > 0 &&
           s->tensors[l->inputs[i]].dtype == s->tensors[l->output].dtype;
}

/* One input of a concat, or all (variant 0), is copied. */
static int not_rescaled(struct assay_slice *s, struct assay_layer *l,
                        uint32_t variant)
{
    uint32_t from = variant > 0 ? variant - 1 : 0;
    uint32_t to = variant > 0 ? variant : l->n_inputs;
    bool any = false, other = false;

    if (l->op != ASSAY_OP_CONCAT || to > l->n_inputs)
        return ASSAY_EDIT_NOT_HERE;
    if (l->n_in_programs == 0)
        return ASSAY_EDIT_SAME;
    for (uint32_t i = from; i < to; i++) {
        if (can_copy(s, l, i)) {
            l->in_programs[i].n_steps = 0;
            any = true;
        } else {
            other = other || l->in_programs[i].n_steps > 0;
        }
    }
    if (any)
        return 0;
    return other ? ASSAY_EDIT_NOT_HERE : ASSAY_EDIT_SAME;
}

int assay_edit_op(struct assay_slice *s, uint32_t *layer,
                  const struct assay_edit *e, struct assay_err *err)
{
    switch (e->id) {
    case ASSAY_CAUSE_O1:
    case ASSAY_CAUSE_O11: return assay_edit_op_pool(s, layer, e, err);
    case ASSAY_CAUSE_O3:
    case ASSAY_CAUSE_O8:
    case ASSAY_CAUSE_O9: return assay_edit_op_table(s, layer, e, err);
    case ASSAY_CAUSE_O4: return add_form(s, *layer, e->variant, err);
    case ASSAY_CAUSE_O5: return not_rescaled(s, &s->layers[*layer], e->variant);
    case ASSAY_CAUSE_O6:
    case ASSAY_CAUSE_O7: return assay_edit_op_bound(s, layer, e, err);
    default: return assay_edit_op_index(s, layer, e, err);
    }
}
