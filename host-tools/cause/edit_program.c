/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/cause/edit_program.h"

#include <string.h>

#include "host-tools/cause/catalogue.h"

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for an edited program");
}

int assay_edit_first(const struct assay_program *p, enum assay_step_kind kind)
{
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].kind == kind)
            return (int)i;
    return -1;
}

int assay_edit_last(const struct assay_program *p, enum assay_step_kind kind)
{
    for (uint32_t i = p->n_steps; i-- > 0;)
        if (p->steps[i].kind == kind)
            return (int)i;
    return -1;
}

int assay_edit_insert(struct assay_slice *s, struct assay_program *p,
                      uint32_t at, enum assay_step_kind kind, int64_t a,
                      int64_t b, struct assay_err *err)
{
    struct assay_step fresh = {.kind = (uint8_t)kind, .n = 1};
    const int64_t operands[2] = {a, b};
    int64_t *kept;

    if (p->n_steps == ASSAY_MAX_STEPS)
        return ASSAY_EDIT_NOT_HERE;
    kept = assay_arena_copy(s->arena, operands, sizeof(operands));
    if (!kept)
        return no_memory(err);
    fresh.a = kept;
    fresh.b =
        kind == ASSAY_STEP_CLAMP || kind == ASSAY_STEP_FCLAMP ? kept + 1 : NULL;
    if (kind == ASSAY_STEP_SAT || kind == ASSAY_STEP_WRAP) {
        fresh.bits = (uint8_t)a;
        fresh.a = NULL;
        fresh.n = 0;
    }
    memmove(&p->steps[at + 1], &p->steps[at],
            (p->n_steps - at) * sizeof(fresh));
    p->steps[at] = fresh;
    p->n_steps++;
    return 0;
}

void assay_edit_remove(struct assay_program *p, uint32_t at)
{
    p->n_steps--;
    memmove(&p->steps[at], &p->steps[at + 1],
            (p->n_steps - at) * sizeof(p->steps[0]));
}

int assay_edit_operand(struct assay_slice *s, struct assay_step *step,
                       uint32_t n, const int64_t *v, struct assay_err *err)
{
    step->a = assay_arena_copy(s->arena, v, n * sizeof(*v));
    step->n = n;
    return step->a ? 0 : no_memory(err);
}

int64_t assay_edit_at(const struct assay_step *s, uint32_t c)
{
    return s->a[s->n > 1 ? c : 0];
}

int assay_edit_clamp_out(struct assay_slice *s, uint32_t layer,
                         struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    int64_t lo, hi;

    assay_dtype_range(s->tensors[l->output].dtype, &lo, &hi);
    return assay_edit_insert(s, &l->out_program, l->out_program.n_steps,
                             ASSAY_STEP_CLAMP, lo, hi, err);
}

uint32_t assay_edit_channels(const struct assay_slice *s, uint32_t layer)
{
    const struct assay_tensor *t = &s->tensors[s->layers[layer].output];

    return t->rank > 0 ? (uint32_t)t->dims[t->rank - 1] : 1;
}
