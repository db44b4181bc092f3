/* SPDX-License-Identifier: Apache-2.0 */
/* A float function of each element. */
#include "lib/engine/ops.h"

struct params {
    struct assay_float_function p;
    const struct assay_function_kernel *kernel;
};

static int check(const struct assay_op_check *c, struct assay_op_plan *plan)
{
    struct params *k = plan->params;
    unsigned kind = c->layer->p.function.kind;
    const struct assay_tensor *x = assay_layer_input(c, 0);
    const struct assay_tensor *y = assay_layer_output(c);
    int rc = assay_check_same_dims(c, x, "output", y);
    if (!rc)
        rc = assay_check_no_programs(c);
    if (!rc)
        rc = assay_check_float(c, "input", x);
    if (!rc)
        rc = assay_check_float(c, "output", y);
    if (rc)
        return rc;
    if (kind < ASSAY_FUNCTION_ABS || kind > ASSAY_FUNCTION_COS)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "function: expected %d to %d, found %u",
                                  ASSAY_FUNCTION_ABS, ASSAY_FUNCTION_COS, kind);
    k->p = (struct assay_float_function){.kind = (enum assay_function)kind,
                                         .n = assay_tensor_elements(x)};
    k->kernel = assay_pick_function(c->table, &k->p);
    plan->kernel = k->kernel->name;
    return 0;
}

static void run(const struct assay_op_plan *plan, const struct assay_op_io *io)
{
    const struct params *k = plan->params;
    k->kernel->run(&k->p, io->in[0], io->out);
}

const struct assay_op_vtable assay_op_function = {
    .number = ASSAY_OP_FUNCTION,
    .params_bytes = sizeof(struct params),
    .min_inputs = 1,
    .max_inputs = 1,
    .check = check,
    .run = run,
};
