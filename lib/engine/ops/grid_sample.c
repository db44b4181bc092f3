/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampling of x NHWC at offsets or positions that a second tensor holds; what
 * stands outside the image is 0, or the border. The grid's values cannot be
 * wrong.
 */
#include "lib/engine/ops.h"

#include <inttypes.h>

#include "lib/engine/ops/sample.h"

struct params {
    struct assay_grid_sample p;
    const struct assay_grid_sample_kernel *kernel;
};

static int check_grid(const struct assay_op_check *c)
{
    const struct assay_tensor *grid = assay_layer_input(c, 1);
    struct assay_tensor want = *assay_layer_output(c);
    want.dims[3] = 2;
    if (grid->dtype != ASSAY_S16)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "grid dtype: expected int16, found %s",
                                  assay_dtype_name(grid->dtype));
    return assay_check_same_dims(c, &want, "grid", grid);
}

static int check_fields(const struct assay_op_check *c)
{
    const struct assay_grid_sample_params *q = &c->layer->p.grid_sample;
    if (q->padding != ASSAY_GRID_ZEROS && q->padding != ASSAY_GRID_BORDER)
        return ASSAY_REFUSE_LAYER(
            c, ASSAY_EUNSUPPORTED, "padding: expected %d or %d, found %u",
            ASSAY_GRID_ZEROS, ASSAY_GRID_BORDER, (unsigned)q->padding);
    if (q->coord_shift > 14)
        return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                  "coord_shift: expected 0 to 14, found %u",
                                  (unsigned)q->coord_shift);
    return 0;
}

/* Between the smallest and the largest element, or 0; 16 bits, times 2^14
 * twice where it is bilinear. */
static int check_values(const struct assay_op_check *c)
{
    const struct assay_grid_sample_params *q = &c->layer->p.grid_sample;
    const struct assay_tensor *x = assay_layer_input(c, 0);
    struct assay_interval v = assay_interval_of(x->dtype);
    int64_t one = q->nearest ? 1 : (int64_t)1 << (2 * q->coord_shift);
    v.lo *= one; /* at most 0 for every dtype that is taken */
    v.hi *= one;
    return assay_check_out_program(c, assay_tensor_channels(x), &v);
}

static int check(const struct assay_op_check *c, struct assay_op_plan *plan)
{
    struct params *k = plan->params;
    const struct assay_grid_sample_params *q = &c->layer->p.grid_sample;
    const struct assay_tensor *x = assay_layer_input(c, 0);
    const struct assay_tensor *y = assay_layer_output(c);
    int rc = assay_check_sampled(c);
    if (!rc)
        rc = check_grid(c);
    if (!rc)
        rc = check_fields(c);
    if (!rc)
        rc = check_values(c);
    if (rc)
        return rc;
    k->p = (struct assay_grid_sample){
        .n = (int32_t)x->dims[0],
        .h = (int32_t)x->dims[1],
        .w = (int32_t)x->dims[2],
        .c = (int32_t)x->dims[3],
        .oh = (int32_t)y->dims[1],
        .ow = (int32_t)y->dims[2],
        .nearest = q->nearest,
        .absolute = q->absolute,
        .xy = q->xy,
        .padding = (enum assay_grid_padding)q->padding,
        .coord_shift = q->coord_shift,
        .x_dtype = x->dtype,
        .y_dtype = y->dtype,
        .out = &c->layer->out_program,
    };
    k->kernel = assay_pick_grid_sample(c->table, &k->p);
    plan->kernel = k->kernel->name;
    return 0;
}

static void run(const struct assay_op_plan *plan, const struct assay_op_io *io)
{
    const struct params *k = plan->params;
    k->kernel->run(&k->p, io->in[0], io->in[1], io->out);
}

const struct assay_op_vtable assay_op_grid_sample = {
    .number = ASSAY_OP_GRID_SAMPLE,
    .params_bytes = sizeof(struct params),
    .min_inputs = 2,
    .max_inputs = 2,
    .check = check,
    .run = run,
};
