/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Concatenation along one stored axis. An input with a program goes through
 * it into scratch, then, like the others, by strided copy into its place.
 */
#include "lib/engine/ops.h"

#include <inttypes.h>

#include "lib/engine/ops/unary.h"

struct part {
    const struct assay_unary_kernel *kernel; /* NULL: copied as it is */
    struct assay_unary program;
    const struct assay_copy_kernel *copy;
    struct assay_copy place;
    size_t offset; /* bytes from the output's begin */
};

struct params {
    uint32_t n;
    struct part *parts; /* in the plan's memory */
};

/* The axis, and that the inputs' lengths along it add up to the output's. */
static int check_shapes(const struct assay_op_check *c)
{
    const struct assay_tensor *y = assay_layer_output(c);
    int32_t axis = c->layer->p.concat.axis;
    char text[ASSAY_SHAPE_TEXT], want[ASSAY_SHAPE_TEXT];
    int64_t total = 0;
    if (axis < 0 || (uint32_t)axis >= y->rank)
        return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                  "axis: expected 0 to %d, found %" PRId32,
                                  (int)y->rank - 1, axis);
    for (uint32_t i = 0; i < c->layer->n_inputs; i++) {
        const struct assay_tensor *x = assay_layer_input(c, i);
        bool fits = x->rank == y->rank;
        for (uint32_t d = 0; fits && d < y->rank; d++)
            fits = d == (uint32_t)axis ? x->dims[d] <= y->dims[d] - total
                                       : x->dims[d] == y->dims[d];
        if (!fits)
            return ASSAY_REFUSE_LAYER(
                c, ASSAY_EFORMAT,
                "input %" PRIu32 " shape: expected one that fits in output %s "
                "along axis %" PRId32 " behind %" PRId64 ", found %s",
                i, assay_shape_text(y, want), axis, total,
                assay_shape_text(x, text));
        total += x->dims[axis];
    }
    if (total != y->dims[axis])
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "output dims[%" PRId32 "]: expected %" PRId64
                                  " (the inputs' sum), "
                                  "found %" PRId64,
                                  axis, total, y->dims[axis]);
    return 0;
}

static int check_values(const struct assay_op_check *c, uint32_t i,
                        struct part *part, struct assay_op_plan *plan)
{
    static const struct assay_program none;
    char what[32] = "in_programs";
    const struct assay_tensor *x = assay_layer_input(c, i);
    const struct assay_tensor *y = assay_layer_output(c);
    const struct assay_program *p =
        c->layer->n_in_programs ? &c->layer->in_programs[i] : &none;
    if (p->n_steps == 0) {
        if (x->dtype == y->dtype)
            return 0;
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "input %" PRIu32 " dtype: expected the "
                                  "output's, %s, found %s",
                                  i, assay_dtype_name(y->dtype),
                                  assay_dtype_name(x->dtype));
    }
    if (i < 100) { /* "in_programs[12]"; there are at most 64 */
        size_t at = 11;
        what[at++] = '[';
        if (i >= 10)
            what[at++] = (char)('0' + i / 10);
        what[at++] = (char)('0' + i % 10);
        what[at++] = ']';
    }
    int rc = assay_unary_check(c, p, x, y->dtype, what, &part->program);
    if (rc)
        return rc;
    part->kernel = assay_pick_unary(c->table, &part->program);
    plan->kernel = part->kernel->name;
    size_t bytes = part->program.n * assay_dtype_bytes(y->dtype);
    if (bytes > plan->scratch_bytes) /* below the output's own size */
        plan->scratch_bytes = bytes;
    return 0;
}

static void fill_place(const struct assay_op_check *c, uint32_t i,
                       int64_t before, struct part *part)
{
    const struct assay_tensor *x = assay_layer_input(c, i);
    const struct assay_tensor *y = assay_layer_output(c);
    uint32_t axis = (uint32_t)c->layer->p.concat.axis;
    int64_t inner = 1, outer = 1;
    for (uint32_t d = axis + 1; d < y->rank; d++)
        inner *= y->dims[d];
    for (uint32_t d = 0; d < axis; d++)
        outer *= y->dims[d];
    int64_t row = x->dims[axis] * inner;
    part->place = (struct assay_copy){
        .rank = 2,
        .dims = {outer, row},
        .src_strides = {row, 1},
        .dst_strides = {y->dims[axis] * inner, 1},
        .elem_size = assay_dtype_bytes(y->dtype),
    };
    part->offset = (size_t)(before * inner) * part->place.elem_size;
    part->copy = assay_pick_copy(c->table, &part->place);
}

static int check(const struct assay_op_check *c, struct assay_op_plan *plan)
{
    struct params *k = plan->params;
    const struct assay_layer *l = c->layer;
    int rc = check_shapes(c);
    if (rc)
        return rc;
    if (l->n_in_programs != 0 && l->n_in_programs != l->n_inputs)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "in_programs: expected 0 or %" PRIu32
                                  ", found %" PRIu32,
                                  l->n_inputs, l->n_in_programs);
    if (l->out_program.n_steps)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "out_program: expected 0 steps, found "
                                  "%" PRIu32,
                                  l->out_program.n_steps);
    k->n = l->n_inputs;
    k->parts = assay_arena_array(c->memory, k->n, sizeof(*k->parts));
    if (!k->parts)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EMEMORY, "no memory");
    int64_t before = 0;
    for (uint32_t i = 0; i < k->n; i++) {
        fill_place(c, i, before, &k->parts[i]);
        before += assay_layer_input(c, i)->dims[l->p.concat.axis];
        if (!plan->kernel)
            plan->kernel = k->parts[i].copy->name;
        rc = check_values(c, i, &k->parts[i], plan);
        if (rc)
            return rc;
    }
    return 0;
}

static void run(const struct assay_op_plan *plan, const struct assay_op_io *io)
{
    const struct params *k = plan->params;
    for (uint32_t i = 0; i < k->n; i++) {
        const struct part *part = &k->parts[i];
        const void *from = io->in[i];
        if (part->kernel) {
            part->kernel->run(&part->program, from, io->scratch);
            from = io->scratch;
        }
        part->copy->run(&part->place, from, (char *)io->out + part->offset);
    }
}

const struct assay_op_vtable assay_op_concat = {
    .number = ASSAY_OP_CONCAT,
    .params_bytes = sizeof(struct params),
    .min_inputs = 1,
    .max_inputs = ASSAY_MAX_LAYER_INPUTS,
    .check = check,
    .run = run,
};
