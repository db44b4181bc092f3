/* SPDX-License-Identifier: Apache-2.0 */
/* A constant of 256 entries, indexed by x. */
#include "lib/engine/ops.h"

struct params {
    struct assay_table p; /* table: set by run */
    const struct assay_table_kernel *kernel;
};

static int check(const struct assay_op_check *c, struct assay_op_plan *plan)
{
    struct params *k = plan->params;
    const struct assay_tensor *x = assay_layer_input(c, 0);
    const struct assay_tensor *table = assay_layer_input(c, 1);
    const struct assay_tensor *y = assay_layer_output(c);
    int rc = assay_check_same_dims(c, x, "output", y);
    if (!rc)
        rc = assay_check_no_programs(c);
    if (rc)
        return rc;
    if (x->dtype != ASSAY_S8 && x->dtype != ASSAY_U8)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "input dtype: expected int8 or uint8, found "
                                  "%s",
                                  assay_dtype_name(x->dtype));
    if (assay_tensor_elements(table) != 256)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "table length: expected 256, found %zu",
                                  assay_tensor_elements(table));
    rc = assay_check_constant(c, "table", table);
    if (!rc)
        rc = assay_check_dtype(c, "output", y, "the table's", table->dtype);
    if (rc)
        return rc;
    k->p = (struct assay_table){.x_dtype = x->dtype,
                                .y_dtype = y->dtype,
                                .n = assay_tensor_elements(x)};
    k->kernel = assay_pick_table(c->table, &k->p);
    plan->kernel = k->kernel->name;
    return 0;
}

static void run(const struct assay_op_plan *plan, const struct assay_op_io *io)
{
    const struct params *k = plan->params;
    struct assay_table p = k->p;
    p.table = io->in[1]; /* aligned by the plan */
    k->kernel->run(&p, io->in[0], io->out);
}

const struct assay_op_vtable assay_op_table = {
    .number = ASSAY_OP_TABLE,
    .params_bytes = sizeof(struct params),
    .min_inputs = 2,
    .max_inputs = 2,
    .check = check,
    .run = run,
};
