/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One program where x >= 0, another where it is below (or NaN). Both run over
 * all of x, one into the output, one into scratch; so each is proved on every
 * value of x, not on its half only.
 */
#include "lib/engine/ops/unary.h"

#include <inttypes.h>
#include <string.h>

struct params {
    struct assay_unary p[2]; /* of x >= 0, of the rest */
    const struct assay_unary_kernel *kernel[2];
    size_t y_size; /* bytes an element */
};

static int check(const struct assay_op_check *c, struct assay_op_plan *plan)
{
    static const char *const names[] = {"in_programs[0]", "in_programs[1]"};
    struct params *k = plan->params;
    const struct assay_layer *l = c->layer;
    const struct assay_tensor *x = assay_layer_input(c, 0);
    const struct assay_tensor *y = assay_layer_output(c);
    int rc = assay_check_same_dims(c, x, "output", y);
    if (rc)
        return rc;
    if (l->n_in_programs != 2)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "in_programs: expected 2, found %" PRIu32,
                                  l->n_in_programs);
    if (l->out_program.n_steps)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "out_program: expected 0 steps, found "
                                  "%" PRIu32,
                                  l->out_program.n_steps);
    for (int i = 0; i < 2; i++) {
        rc = assay_unary_check(c, &l->in_programs[i], x, y->dtype, names[i],
                               &k->p[i]);
        if (rc)
            return rc;
        k->kernel[i] = assay_pick_unary(c->table, &k->p[i]);
    }
    k->y_size = assay_dtype_bytes(y->dtype);
    plan->kernel = k->kernel[0]->name;
    plan->scratch_bytes = k->p[1].n * k->y_size; /* the output's own size */
    return 0;
}

static bool below(enum assay_dtype dtype, const void *x, size_t i)
{
    switch (dtype) {
    case ASSAY_S8: return ((const int8_t *)x)[i] < 0;
    case ASSAY_S16: return ((const int16_t *)x)[i] < 0;
    case ASSAY_S32: return ((const int32_t *)x)[i] < 0;
    case ASSAY_S64: return ((const int64_t *)x)[i] < 0;
    case ASSAY_F32: return !(((const float *)x)[i] >= 0);
    default: return false; /* unsigned */
    }
}

static void run(const struct assay_op_plan *plan, const struct assay_op_io *io)
{
    const struct params *k = plan->params;
    const char *rest = io->scratch;
    char *y = io->out;
    k->kernel[0]->run(&k->p[0], io->in[0], io->out);
    k->kernel[1]->run(&k->p[1], io->in[0], io->scratch);
    for (size_t i = 0; i < k->p[0].n; i++)
        if (below(k->p[0].x_dtype, io->in[0], i))
            memcpy(y + i * k->y_size, rest + i * k->y_size, k->y_size);
}

const struct assay_op_vtable assay_op_prelu = {
    .number = ASSAY_OP_PRELU,
    .params_bytes = sizeof(struct params),
    .min_inputs = 1,
    .max_inputs = 1,
    .check = check,
    .run = run,
};
