/* SPDX-License-Identifier: Apache-2.0 */
/* Sum, maximum, minimum or place of the maximum over some stored axes. */
#include "lib/engine/ops.h"

#include <inttypes.h>

struct params {
    struct assay_reduce p;
    const struct assay_reduce_kernel *kernel;
};

/* Reduced axes stay as 1, all of them, or vanish, all of them. */
static int check_shapes(const struct assay_op_check *c, uint32_t axes)
{
    const struct assay_tensor *x = assay_layer_input(c, 0);
    const struct assay_tensor *y = assay_layer_output(c);
    char a[ASSAY_SHAPE_TEXT], b[ASSAY_SHAPE_TEXT];
    struct assay_tensor kept = {0}, gone = {0};
    if (axes == 0 || axes >> x->rank)
        return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                  "axes: expected some of the %" PRIu32
                                  " axes of the input, found bits 0x%x",
                                  x->rank, (unsigned)axes);
    kept.rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++) {
        bool reduced = axes >> i & 1;
        kept.dims[i] = reduced ? 1 : x->dims[i];
        if (!reduced)
            gone.dims[gone.rank++] = x->dims[i];
    }
    if (assay_same_dims(&kept, y) || assay_same_dims(&gone, y))
        return 0;
    return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                              "output shape: expected %s, or without the "
                              "axes that are reduced, found %s",
                              assay_shape_text(&kept, a),
                              assay_shape_text(y, b));
}

static bool one_bit(uint32_t bits)
{
    return (bits & (bits - 1)) == 0;
}

static int check_kind(const struct assay_op_check *c,
                      const struct assay_reduce *p)
{
    bool is_int = assay_dtype_is_int(p->x_dtype);
    bool any = p->kind == ASSAY_REDUCE_MAX || p->kind == ASSAY_REDUCE_MIN;
    if (p->kind < ASSAY_REDUCE_SUM || p->kind > ASSAY_REDUCE_FSUM)
        return ASSAY_REFUSE_LAYER(
            c, ASSAY_EUNSUPPORTED, "reduce kind: expected %d to %d, found %d",
            ASSAY_REDUCE_SUM, ASSAY_REDUCE_FSUM, (int)p->kind);
    if (!any && is_int != (p->kind != ASSAY_REDUCE_FSUM))
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "input dtype: expected %s for this kind of "
                                  "reduction, found %s",
                                  is_int ? "float32" : "integers",
                                  assay_dtype_name(p->x_dtype));
    if (p->kind == ASSAY_REDUCE_ARG_MAX && !one_bit(p->axes))
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "axes: expected one, of which the place is "
                                  "counted, found bits 0x%x",
                                  (unsigned)p->axes);
    return 0;
}

/* What the output program is given. */
static int reduced(const struct assay_op_check *c, const struct assay_reduce *p,
                   struct assay_interval *v)
{
    int64_t n = 1; /* at most the input's elements */
    for (uint32_t i = 0; i < p->rank; i++)
        n *= p->axes >> i & 1 ? p->dims[i] : 1;
    *v = assay_interval_of(p->x_dtype);
    if (p->kind == ASSAY_REDUCE_ARG_MAX)
        *v = assay_interval_int(0, n - 1);
    if (p->kind == ASSAY_REDUCE_SUM &&
        (__builtin_mul_overflow(v->lo, n, &v->lo) ||
         __builtin_mul_overflow(v->hi, n, &v->hi)))
        return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                  "sum of %" PRId64 " elements of %s can "
                                  "leave 64 bits",
                                  n, assay_dtype_name(p->x_dtype));
    return 0;
}

static int check(const struct assay_op_check *c, struct assay_op_plan *plan)
{
    struct params *k = plan->params;
    struct assay_reduce *p = &k->p;
    const struct assay_tensor *x = assay_layer_input(c, 0);
    struct assay_interval v;
    int rc = assay_check_no_in_programs(c);
    if (!rc)
        rc = check_shapes(c, c->layer->p.reduce.axes);
    if (rc)
        return rc;
    *p = (struct assay_reduce){
        .kind = (enum assay_reduce_kind)c->layer->p.reduce.kind,
        .x_dtype = x->dtype,
        .y_dtype = assay_layer_output(c)->dtype,
        .rank = x->rank,
        .axes = c->layer->p.reduce.axes,
        .out = &c->layer->out_program,
    };
    for (uint32_t i = 0; i < x->rank; i++)
        p->dims[i] = x->dims[i];
    rc = check_kind(c, p);
    if (!rc)
        rc = reduced(c, p, &v);
    if (!rc)
        rc = assay_check_out_program(c, 1, &v); /* per tensor only */
    if (rc)
        return rc;
    k->kernel = assay_pick_reduce(c->table, p);
    plan->kernel = k->kernel->name;
    return 0;
}

static void run(const struct assay_op_plan *plan, const struct assay_op_io *io)
{
    const struct params *k = plan->params;
    k->kernel->run(&k->p, io->in[0], io->out);
}

const struct assay_op_vtable assay_op_reduce = {
    .number = ASSAY_OP_REDUCE,
    .params_bytes = sizeof(struct params),
    .min_inputs = 1,
    .max_inputs = 1,
    .check = check,
    .run = run,
};
