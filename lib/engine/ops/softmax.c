/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax over the last stored axis. */
#include "lib/engine/ops.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct params {
    struct assay_softmax p;
    const struct assay_softmax_kernel *kernel;
};

/* 256 binary32 patterns, finite and not negative; the largest above 0. */
static int check_table(const struct assay_op_check *c, const uint32_t *table)
{
    float f = 0;
    if (!table)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT, "table is missing");
    for (size_t i = 0; i < 256; i++) {
        memcpy(&f, &table[i], sizeof(f));
        if (!isfinite(f) || f < 0)
            return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                      "table[%zu]: expected a finite number, "
                                      "0 or more, found %g",
                                      i, (double)f);
    }
    if (f <= 0)
        return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                  "table[255]: expected more than 0, found %g",
                                  (double)f);
    return 0;
}

static int check_kind(const struct assay_op_check *c, struct assay_softmax *p)
{
    const struct assay_tensor *y = assay_layer_output(c);
    bool is_8bit = p->x_dtype == ASSAY_S8 || p->x_dtype == ASSAY_U8;
    if (p->kind != ASSAY_SOFTMAX_F32 && p->kind != ASSAY_SOFTMAX_TABLE)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "softmax kind: expected 1 or 2, found %d",
                                  (int)p->kind);
    bool table = p->kind == ASSAY_SOFTMAX_TABLE;
    if (p->x_dtype != p->y_dtype ||
        (table ? !is_8bit : p->x_dtype != ASSAY_F32))
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "dtypes: expected %s on both sides, found "
                                  "%s and %s",
                                  table ? "int8 or uint8" : "float32",
                                  assay_dtype_name(p->x_dtype),
                                  assay_dtype_name(p->y_dtype));
    if (!table)
        return 0;
    if (y->quant.n != 1)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "output scales: expected one, found "
                                  "%" PRIu32,
                                  y->quant.n);
    p->y_scale = y->quant.scale[0];
    p->y_zero = y->quant.zero_point[0];
    return check_table(c, p->table);
}

static int check(const struct assay_op_check *c, struct assay_op_plan *plan)
{
    struct params *k = plan->params;
    const struct assay_tensor *x = assay_layer_input(c, 0);
    const struct assay_tensor *y = assay_layer_output(c);
    int rc = assay_check_same_dims(c, x, "output", y);
    if (rc)
        return rc;
    size_t cols = assay_tensor_channels(x);
    k->p = (struct assay_softmax){
        .kind = (enum assay_softmax_kind)c->layer->p.softmax.kind,
        .x_dtype = x->dtype,
        .y_dtype = y->dtype,
        .rows = (int64_t)(assay_tensor_elements(x) / cols),
        .cols = (int64_t)cols,
        .table = c->layer->p.softmax.table,
    };
    rc = check_kind(c, &k->p);
    if (rc)
        return rc;
    k->kernel = assay_pick_softmax(c->table, &k->p);
    plan->kernel = k->kernel->name;
    return 0;
}

static void run(const struct assay_op_plan *plan, const struct assay_op_io *io)
{
    const struct params *k = plan->params;
    k->kernel->run(&k->p, io->in[0], io->out);
}

const struct assay_op_vtable assay_op_softmax = {
    .number = ASSAY_OP_SOFTMAX,
    .params_bytes = sizeof(struct params),
    .min_inputs = 1,
    .max_inputs = 1,
    .check = check,
    .run = run,
};
