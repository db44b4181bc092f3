/* SPDX-License-Identifier: Apache-2.0 */
/* One operand through the output program. */
#include "lib/engine/ops/unary.h"

#include "lib/engine/range.h"

int assay_unary_check(const struct assay_op_check *c,
                      const struct assay_program *program,
                      const struct assay_tensor *x, enum assay_dtype y_dtype,
                      const char *what, struct assay_unary *out)
{
    size_t channels = assay_tensor_channels(x);
    struct assay_interval in = assay_interval_of(x->dtype);
    int rc =
        assay_program_check(program, channels, in.kind, false, what, c->err);
    size_t n = !rc && assay_program_per_channel(program) ? channels : 1;
    for (size_t i = 0; !rc && i < n; i++) {
        struct assay_interval v = in;
        rc = assay_program_range(program, i, NULL, &v, what, c->err);
        if (!rc)
            rc = assay_interval_fits(&v, y_dtype, i, what, c->err);
    }
    if (rc)
        return assay_layer_prefix(c, rc);
    *out = (struct assay_unary){.x_dtype = x->dtype,
                                .y_dtype = y_dtype,
                                .n = assay_tensor_elements(x),
                                .channels = channels,
                                .program = program};
    return 0;
}

struct params {
    struct assay_unary p;
    const struct assay_unary_kernel *kernel;
};

static int check(const struct assay_op_check *c, struct assay_op_plan *plan)
{
    struct params *k = plan->params;
    const struct assay_tensor *x = assay_layer_input(c, 0);
    const struct assay_tensor *y = assay_layer_output(c);
    int rc = assay_check_same_dims(c, x, "output", y);
    if (!rc)
        rc = assay_check_no_in_programs(c);
    if (!rc)
        rc = assay_unary_check(c, &c->layer->out_program, x, y->dtype,
                               "out_program", &k->p);
    if (rc)
        return rc;
    k->kernel = assay_pick_unary(c->table, &k->p);
    plan->kernel = k->kernel->name;
    return 0;
}

static void run(const struct assay_op_plan *plan, const struct assay_op_io *io)
{
    const struct params *k = plan->params;
    k->kernel->run(&k->p, io->in[0], io->out);
}

const struct assay_op_vtable assay_op_unary = {
    .number = ASSAY_OP_UNARY,
    .params_bytes = sizeof(struct params),
    .min_inputs = 1,
    .max_inputs = 1,
    .check = check,
    .run = run,
};
