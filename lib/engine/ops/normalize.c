/* SPDX-License-Identifier: Apache-2.0 */
/* Layer and root-mean-square normalization over the last axes. */
#include "lib/engine/ops.h"

#include <inttypes.h>
#include <math.h>

struct params {
    struct assay_normalization p;
    const struct assay_normalize_kernel *kernel;
    uint32_t gamma, beta; /* layer inputs, 0: none */
};

static int check_fields(const struct assay_op_check *c)
{
    const struct assay_normalize_params *q = &c->layer->p.normalize;
    uint32_t rank = assay_layer_input(c, 0)->rank;
    uint32_t want = 1u + q->has_gamma + q->has_beta;
    if (c->layer->n_inputs != want)
        return ASSAY_REFUSE_LAYER(
            c, ASSAY_EFORMAT,
            "inputs: expected %" PRIu32 " (has_gamma %d, has_beta %d), found "
            "%" PRIu32,
            want, q->has_gamma, q->has_beta, c->layer->n_inputs);
    if (q->kind != ASSAY_NORMALIZE_LAYER && q->kind != ASSAY_NORMALIZE_RMS)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "normalization: expected 1 or 2, found %u",
                                  (unsigned)q->kind);
    if (q->axis < 0 || (uint32_t)q->axis >= rank)
        return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                  "axis: expected 0 or more and below the rank "
                                  "%" PRIu32 ", found %" PRId32,
                                  rank, q->axis);
    if (!isfinite(q->epsilon) || q->epsilon < 0)
        return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                  "epsilon: expected a finite number, 0 or "
                                  "more, found %g",
                                  (double)q->epsilon);
    return 0;
}

/* One element for each of the normalized ones. */
static int check_factor(const struct assay_op_check *c, const char *what,
                        uint32_t input, size_t cols)
{
    if (!input)
        return 0;
    const struct assay_tensor *t = assay_layer_input(c, input);
    int rc = assay_check_float(c, what, t);
    if (!rc && assay_tensor_elements(t) != cols)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "%s length: expected %zu, found %zu", what,
                                  cols, assay_tensor_elements(t));
    return rc;
}

static int check(const struct assay_op_check *c, struct assay_op_plan *plan)
{
    struct params *k = plan->params;
    const struct assay_normalize_params *q = &c->layer->p.normalize;
    const struct assay_tensor *x = assay_layer_input(c, 0);
    const struct assay_tensor *y = assay_layer_output(c);
    int rc = assay_check_same_dims(c, x, "output", y);
    if (!rc)
        rc = assay_check_no_programs(c);
    if (!rc)
        rc = assay_check_float(c, "input", x);
    if (!rc)
        rc = assay_check_float(c, "output", y);
    if (!rc)
        rc = check_fields(c);
    if (rc)
        return rc;
    size_t cols = 1;
    for (uint32_t i = (uint32_t)q->axis; i < x->rank; i++)
        cols *= (size_t)x->dims[i]; /* a part of the elements */
    k->gamma = q->has_gamma ? 1 : 0;
    k->beta = q->has_beta ? k->gamma + 1 : 0;
    rc = check_factor(c, "gamma", k->gamma, cols);
    if (!rc)
        rc = check_factor(c, "beta", k->beta, cols);
    if (rc)
        return rc;
    k->p = (struct assay_normalization){
        .kind = (enum assay_normalize)q->kind,
        .rows = assay_tensor_elements(x) / cols,
        .cols = cols,
        .epsilon = q->epsilon,
    };
    k->kernel = assay_pick_normalize(c->table, &k->p);
    plan->kernel = k->kernel->name;
    return 0;
}

static void run(const struct assay_op_plan *plan, const struct assay_op_io *io)
{
    const struct params *k = plan->params;
    k->kernel->run(&k->p, io->in[0], k->gamma ? io->in[k->gamma] : NULL,
                   k->beta ? io->in[k->beta] : NULL, io->out);
}

const struct assay_op_vtable assay_op_normalize = {
    .number = ASSAY_OP_NORMALIZE,
    .params_bytes = sizeof(struct params),
    .min_inputs = 1,
    .max_inputs = 3,
    .check = check,
    .run = run,
};
