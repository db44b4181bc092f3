/* SPDX-License-Identifier: Apache-2.0 */
/* Bilinear or nearest sampling of x NHWC at a fixed-point step. */
#include "lib/engine/ops.h"

#include <inttypes.h>

#include "lib/engine/ops/sample.h"

struct params {
    struct assay_resize p;
    const struct assay_resize_kernel *kernel;
};

static int check_fields(const struct assay_op_check *c)
{
    const struct assay_resize_params *q = &c->layer->p.resize;
    const struct {
        const char *name;
        unsigned found, max;
    } fields[] = {
        {"decimal_bits", q->decimal_bits, 24},
        {"weight_bits", q->weight_bits,
         q->decimal_bits < 12 ? q->decimal_bits : 12},
        {"mid_shift", q->mid_shift, 24},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (fields[i].found > fields[i].max)
            return ASSAY_REFUSE_LAYER(
                c, ASSAY_ERANGE, "%s: expected 0 to %u, found %u",
                fields[i].name, fields[i].max, fields[i].found);
    return 0;
}

/*
 * Weights of an axis add up to 2^weight_bits, so that what is mixed stays
 * between the smallest and the largest element: of 16 bits, times 2^12 twice.
 * A coordinate is a product of two int32 and an int32 more: inside int64.
 */
static int check_values(const struct assay_op_check *c)
{
    const struct assay_resize_params *q = &c->layer->p.resize;
    const struct assay_tensor *x = assay_layer_input(c, 0);
    struct assay_interval v = assay_interval_of(x->dtype);
    int64_t one = (int64_t)1 << q->weight_bits;
    v.lo = ((v.lo * one) >> q->mid_shift) * one;
    v.hi = ((v.hi * one) >> q->mid_shift) * one;
    return assay_check_out_program(c, assay_tensor_channels(x), &v);
}

static int check(const struct assay_op_check *c, struct assay_op_plan *plan)
{
    struct params *k = plan->params;
    const struct assay_resize_params *q = &c->layer->p.resize;
    const struct assay_tensor *x = assay_layer_input(c, 0);
    const struct assay_tensor *y = assay_layer_output(c);
    int rc = assay_check_sampled(c);
    if (!rc)
        rc = check_fields(c);
    if (!rc)
        rc = check_values(c);
    if (rc)
        return rc;
    k->p = (struct assay_resize){
        .n = (int32_t)x->dims[0],
        .h = (int32_t)x->dims[1],
        .w = (int32_t)x->dims[2],
        .c = (int32_t)x->dims[3],
        .oh = (int32_t)y->dims[1],
        .ow = (int32_t)y->dims[2],
        .step_h = q->step_h,
        .step_w = q->step_w,
        .start_h = q->start_h,
        .start_w = q->start_w,
        .decimal_bits = q->decimal_bits,
        .weight_bits = q->weight_bits,
        .mid_shift = q->mid_shift,
        .x_dtype = x->dtype,
        .y_dtype = y->dtype,
        .out = &c->layer->out_program,
    };
    k->kernel = assay_pick_resize(c->table, &k->p);
    plan->kernel = k->kernel->name;
    return 0;
}

static void run(const struct assay_op_plan *plan, const struct assay_op_io *io)
{
    const struct params *k = plan->params;
    k->kernel->run(&k->p, io->in[0], io->out);
}

const struct assay_op_vtable assay_op_resize = {
    .number = ASSAY_OP_RESIZE,
    .params_bytes = sizeof(struct params),
    .min_inputs = 1,
    .max_inputs = 1,
    .check = check,
    .run = run,
};
