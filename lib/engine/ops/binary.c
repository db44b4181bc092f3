/* SPDX-License-Identifier: Apache-2.0 */
/* Two operands, each through its program, joined; broadcast to the output. */
#include "lib/engine/ops.h"

#include <inttypes.h>

#include "lib/engine/range.h"

struct params {
    struct assay_binary p;
    const struct assay_binary_kernel *kernel;
};

static int check_shapes(const struct assay_op_check *c, struct assay_binary *p)
{
    const struct assay_tensor *y = assay_layer_output(c);
    p->rank = y->rank ? y->rank : 1;
    for (uint32_t i = 0; i < p->rank; i++)
        p->dims[i] = y->rank ? y->dims[i] : 1;
    int rc = assay_check_broadcast(c, "input a", assay_layer_input(c, 0),
                                   p->a_strides);
    if (!rc)
        rc = assay_check_broadcast(c, "input b", assay_layer_input(c, 1),
                                   p->b_strides);
    for (uint32_t i = 0; !rc && i < p->rank; i++)
        if (p->dims[i] > 1 && !p->a_strides[i] && !p->b_strides[i])
            return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                      "output dims[%" PRIu32 "]: expected 1, "
                                      "as in both inputs, found %" PRId64,
                                      i, p->dims[i]);
    return rc;
}

static int check_ranges(const struct assay_op_check *c,
                        const struct assay_binary *p, size_t channel)
{
    struct assay_interval a = assay_interval_of(p->a_dtype);
    struct assay_interval b = assay_interval_of(p->b_dtype);
    int rc =
        assay_program_range(p->pa, channel, NULL, &a, "in_programs[0]", c->err);
    if (!rc)
        rc = assay_program_range(p->pb, channel, NULL, &b, "in_programs[1]",
                                 c->err);
    if (!rc)
        rc = assay_combine_range(p->combine, p->k, &a, &b, c->err);
    /* Its form was checked for the kind that the combination gives. */
    if (!rc)
        rc = assay_program_range(p->out, channel, NULL, &a, "out_program",
                                 c->err);
    return rc ? rc
              : assay_interval_fits(&a, p->y_dtype, channel, "out_program",
                                    c->err);
}

static int check_programs(const struct assay_op_check *c,
                          const struct assay_binary *p)
{
    size_t channels = assay_tensor_channels(assay_layer_output(c));
    enum assay_value_kind joined =
        assay_combine_is_int(p->combine) ? ASSAY_VALUE_INT : ASSAY_VALUE_F32;
    int rc =
        assay_program_check(p->pa, channels, assay_interval_of(p->a_dtype).kind,
                            false, "in_programs[0]", c->err);
    if (!rc)
        rc = assay_program_check(p->pb, channels,
                                 assay_interval_of(p->b_dtype).kind, false,
                                 "in_programs[1]", c->err);
    if (!rc)
        rc = assay_program_check(p->out, channels, joined, false, "out_program",
                                 c->err);
    if (rc)
        return rc;
    bool each = assay_program_per_channel(p->pa) ||
                assay_program_per_channel(p->pb) ||
                assay_program_per_channel(p->out);
    for (size_t i = 0; !rc && i < (each ? channels : 1); i++)
        rc = check_ranges(c, p, i);
    return rc;
}

static int check(const struct assay_op_check *c, struct assay_op_plan *plan)
{
    struct params *k = plan->params;
    const struct assay_layer *l = c->layer;
    struct assay_binary *p = &k->p;
    int rc = check_shapes(c, p);
    if (rc)
        return rc;
    if (l->n_in_programs != 2)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "in_programs: expected 2, found %" PRIu32,
                                  l->n_in_programs);
    p->a_dtype = assay_layer_input(c, 0)->dtype;
    p->b_dtype = assay_layer_input(c, 1)->dtype;
    p->y_dtype = assay_layer_output(c)->dtype;
    p->pa = &l->in_programs[0];
    p->pb = &l->in_programs[1];
    p->out = &l->out_program;
    p->combine = l->p.binary.combine;
    p->k = l->p.binary.k;
    rc = assay_layer_prefix(c, check_programs(c, p));
    if (rc)
        return rc;
    k->kernel = assay_pick_binary(c->table, p);
    plan->kernel = k->kernel->name;
    return 0;
}

static void run(const struct assay_op_plan *plan, const struct assay_op_io *io)
{
    const struct params *k = plan->params;
    k->kernel->run(&k->p, io->in[0], io->in[1], io->out);
}

const struct assay_op_vtable assay_op_binary = {
    .number = ASSAY_OP_BINARY,
    .params_bytes = sizeof(struct params),
    .min_inputs = 2,
    .max_inputs = 2,
    .check = check,
    .run = run,
};
