/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of a where the condition is not 0, else of b; broadcast. */
#include "lib/engine/ops.h"

#include <inttypes.h>

struct params {
    struct assay_select p;
    const struct assay_select_kernel *kernel;
};

static int check_shapes(const struct assay_op_check *c, struct assay_select *p)
{
    const struct assay_tensor *y = assay_layer_output(c);
    p->rank = y->rank ? y->rank : 1;
    for (uint32_t i = 0; i < p->rank; i++)
        p->dims[i] = y->rank ? y->dims[i] : 1;
    int rc = assay_check_broadcast(c, "condition", assay_layer_input(c, 0),
                                   p->c_strides);
    if (!rc)
        rc = assay_check_broadcast(c, "input a", assay_layer_input(c, 1),
                                   p->a_strides);
    if (!rc)
        rc = assay_check_broadcast(c, "input b", assay_layer_input(c, 2),
                                   p->b_strides);
    for (uint32_t i = 0; !rc && i < p->rank; i++)
        if (p->dims[i] > 1 && !p->c_strides[i] && !p->a_strides[i] &&
            !p->b_strides[i])
            return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                      "output dims[%" PRIu32 "]: expected 1, "
                                      "as in all inputs, found %" PRId64,
                                      i, p->dims[i]);
    return rc;
}

static int check(const struct assay_op_check *c, struct assay_op_plan *plan)
{
    struct params *k = plan->params;
    const struct assay_tensor *condition = assay_layer_input(c, 0);
    enum assay_dtype dtype = assay_layer_output(c)->dtype;
    int rc = assay_check_no_programs(c);
    if (!rc && !assay_dtype_is_int(condition->dtype))
        rc = ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                "condition dtype: expected integers, found %s",
                                assay_dtype_name(condition->dtype));
    if (!rc)
        rc = assay_check_dtype(c, "input a", assay_layer_input(c, 1),
                               "the output's", dtype);
    if (!rc)
        rc = assay_check_dtype(c, "input b", assay_layer_input(c, 2),
                               "the output's", dtype);
    if (!rc)
        rc = check_shapes(c, &k->p);
    if (rc)
        return rc;
    k->p.condition_dtype = condition->dtype;
    k->p.elem_size = assay_dtype_bytes(dtype);
    k->kernel = assay_pick_select(c->table, &k->p);
    plan->kernel = k->kernel->name;
    return 0;
}

static void run(const struct assay_op_plan *plan, const struct assay_op_io *io)
{
    const struct params *k = plan->params;
    k->kernel->run(&k->p, io->in[0], io->in[1], io->in[2], io->out);
}

const struct assay_op_vtable assay_op_select = {
    .number = ASSAY_OP_SELECT,
    .params_bytes = sizeof(struct params),
    .min_inputs = 3,
    .max_inputs = 3,
    .check = check,
    .run = run,
};
