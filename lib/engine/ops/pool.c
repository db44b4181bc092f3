/* SPDX-License-Identifier: Apache-2.0 */
/* Maximum and average over windows of x NHWC. */
#include "lib/engine/ops.h"

#include <inttypes.h>
#include <math.h>

#include "lib/engine/range.h"

struct params {
    struct assay_pool p;
    const struct assay_pool_kernel *kernel;
};

static int check_shapes(const struct assay_op_check *c, struct assay_pool *p)
{
    const struct assay_pool_params *q = &c->layer->p.pool;
    const struct assay_tensor *x = assay_layer_input(c, 0);
    const struct assay_tensor *y = assay_layer_output(c);
    int rc = assay_check_rank(c, "input", x, 4);
    if (!rc)
        rc = assay_check_rank(c, "output", y, 4);
    if (!rc)
        rc = assay_check_batch(c, x, x->dims[3]);
    if (rc)
        return rc;
    /* A sum of no cells is 0; their mean or largest is nothing. */
    bool may_miss = q->kind == ASSAY_POOL_AVG && q->div == ASSAY_DIV_NONE;
    const struct assay_window_axis h = {
        "h",           x->dims[1], y->dims[1],    q->kh,   q->stride_h,
        q->dilation_h, q->pad_top, q->pad_bottom, may_miss};
    const struct assay_window_axis w = {
        "w",           x->dims[2],  y->dims[2],   q->kw,   q->stride_w,
        q->dilation_w, q->pad_left, q->pad_right, may_miss};
    rc = assay_check_window(c, &h);
    if (!rc)
        rc = assay_check_window(c, &w);
    if (rc)
        return rc;
    *p = (struct assay_pool){
        .kind = (enum assay_pool_kind)q->kind,
        .n = (int32_t)x->dims[0],
        .h = (int32_t)x->dims[1],
        .w = (int32_t)x->dims[2],
        .c = (int32_t)x->dims[3],
        .oh = (int32_t)y->dims[1],
        .ow = (int32_t)y->dims[2],
        .kh = q->kh,
        .kw = q->kw,
        .stride_h = q->stride_h,
        .stride_w = q->stride_w,
        .dilation_h = q->dilation_h,
        .dilation_w = q->dilation_w,
        .pad_top = q->pad_top,
        .pad_left = q->pad_left,
        .x_dtype = x->dtype,
        .y_dtype = y->dtype,
        .sum = (enum assay_pool_sum)q->sum,
        .div = (enum assay_pool_div)q->div,
        .div_round = (enum assay_round)q->div_round,
        .count_include_pad = q->count_include_pad,
        .out = &c->layer->out_program,
    };
    return 0;
}

static int check_average(const struct assay_op_check *c, struct assay_pool *p)
{
    const struct assay_layer *l = c->layer;
    if (p->sum > ASSAY_SUM_RAW)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "sum: expected 0 to 2, found %d", p->sum);
    if (p->div > ASSAY_DIV_INT)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "div: expected 0 to 2, found %d", p->div);
    if (p->sum == ASSAY_SUM_F32) {
        if (l->n_in_programs != 1)
            return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                      "in_programs: expected 1 (a float sum "
                                      "has a cell program), found %" PRIu32,
                                      l->n_in_programs);
        p->cell = &l->in_programs[0];
        if (p->div == ASSAY_DIV_INT)
            return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                      "div: a float sum has no integer "
                                      "division");
        return 0;
    }
    if (!assay_dtype_is_int(p->x_dtype))
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "input dtype: expected integers for an "
                                  "integer sum, found %s",
                                  assay_dtype_name(p->x_dtype));
    if (p->div == ASSAY_DIV_INT && p->div_round > ASSAY_ROUND_HALF_ZERO)
        return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                  "div_round: expected 0 to %d, found %d",
                                  ASSAY_ROUND_HALF_ZERO, p->div_round);
    return assay_check_zero(c, "input", assay_layer_input(c, 0), &p->x_zero);
}

/* Farther than any float sum of n values of at most `most` can come. */
static struct assay_interval float_sums(double n, double most, bool nan)
{
    /* n roundings of half a unit each: a factor below 2 up to 2^23. */
    double bound = n <= 8388608 ? 2 * n * most : INFINITY;
    if (!(bound <= 1e38)) {
        bound = INFINITY;
        nan = true; /* an infinite sum can meet one of the other sign */
    }
    return (struct assay_interval){
        .kind = ASSAY_VALUE_F32, .f_lo = -bound, .f_hi = bound, .nan = nan};
}

/* The integer sum of any number of cells up to the whole window, divided. */
static int integer_average(const struct assay_op_check *c,
                           const struct assay_pool *p, struct assay_interval *v)
{
    int64_t zero = p->sum == ASSAY_SUM_RAW ? 0 : p->x_zero;
    int64_t n = (int64_t)p->kh * p->kw, lo, hi, sum_lo, sum_hi;
    assay_dtype_range(p->x_dtype, &lo, &hi);
    if (__builtin_sub_overflow(lo, zero, &lo) ||
        __builtin_sub_overflow(hi, zero, &hi) ||
        __builtin_mul_overflow(lo, n, &sum_lo) ||
        __builtin_mul_overflow(hi, n, &sum_hi))
        return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                  "sum of %" PRId64 " cells of %s can leave "
                                  "64 bits",
                                  n, assay_dtype_name(p->x_dtype));
    if (p->div == ASSAY_DIV_NONE) {
        *v = assay_interval_int(sum_lo < 0 ? sum_lo : 0,
                                sum_hi > 0 ? sum_hi : 0);
        return 0;
    }
    lo = lo < 0 ? lo : 0; /* padding may count, a window may be empty */
    hi = hi > 0 ? hi : 0;
    *v = assay_interval_int(lo, hi);
    if (p->div == ASSAY_DIV_F32) /* 1.001: far above two roundings */
        *v = (struct assay_interval){.kind = ASSAY_VALUE_F32,
                                     .f_lo = (double)lo * 1.001,
                                     .f_hi = (double)hi * 1.001};
    return 0;
}

/* What the output program is given, in one channel. */
static int pooled(const struct assay_op_check *c, const struct assay_pool *p,
                  size_t channel, struct assay_interval *v)
{
    struct assay_interval in = assay_interval_of(p->x_dtype);
    if (p->kind == ASSAY_POOL_MAX) { /* 0 where a window is empty */
        in.lo = in.lo < 0 ? in.lo : 0;
        in.hi = in.hi > 0 ? in.hi : 0;
        *v = in;
        return 0;
    }
    if (p->sum != ASSAY_SUM_F32)
        return integer_average(c, p, v);
    int rc = assay_program_range(p->cell, channel, NULL, &in, "in_programs[0]",
                                 c->err);
    if (!rc)
        rc = assay_interval_fits(&in, ASSAY_F32, channel, "in_programs[0]",
                                 c->err);
    if (rc)
        return assay_layer_prefix(c, rc);
    double most = fmax(fabs(in.f_lo), fabs(in.f_hi));
    *v = float_sums((double)p->kh * p->kw, most, in.nan);
    return 0;
}

static int check_programs(const struct assay_op_check *c,
                          const struct assay_pool *p)
{
    size_t channels = (size_t)p->c;
    struct assay_interval v;
    int rc = 0;
    bool each = false;
    if (p->cell) {
        rc = assay_program_check(p->cell, channels,
                                 assay_interval_of(p->x_dtype).kind, false,
                                 "in_programs[0]", c->err);
        if (rc)
            return assay_layer_prefix(c, rc);
        each = assay_program_per_channel(p->cell);
    }
    rc = pooled(c, p, 0, &v);
    if (rc)
        return rc;
    rc = assay_program_check(p->out, channels, v.kind, false, "out_program",
                             c->err);
    if (rc)
        return assay_layer_prefix(c, rc);
    each = each || assay_program_per_channel(p->out);
    for (size_t i = 0; i < (each ? channels : 1); i++) {
        rc = pooled(c, p, i, &v);
        if (rc)
            return rc;
        rc = assay_program_range(p->out, i, NULL, &v, "out_program", c->err);
        if (!rc)
            rc = assay_interval_fits(&v, p->y_dtype, i, "out_program", c->err);
        if (rc)
            return assay_layer_prefix(c, rc);
    }
    return 0;
}

static int check(const struct assay_op_check *c, struct assay_op_plan *plan)
{
    struct params *k = plan->params;
    struct assay_pool *p = &k->p;
    int rc = check_shapes(c, p);
    if (rc)
        return rc;
    if (p->kind == ASSAY_POOL_AVG) {
        rc = check_average(c, p);
    } else if (p->kind != ASSAY_POOL_MAX) {
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "pool kind: expected 1 or 2, found %d",
                                  (int)p->kind);
    } else if (p->out->n_steps == 0 && p->x_dtype != p->y_dtype) {
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "output dtype: expected the input's, %s, "
                                  "found %s",
                                  assay_dtype_name(p->x_dtype),
                                  assay_dtype_name(p->y_dtype));
    }
    if (!rc)
        rc = check_programs(c, p);
    if (rc)
        return rc;
    k->kernel = assay_pick_pool(c->table, p);
    plan->kernel = k->kernel->name;
    return 0;
}

static void run(const struct assay_op_plan *plan, const struct assay_op_io *io)
{
    const struct params *k = plan->params;
    k->kernel->run(&k->p, io->in[0], io->out);
}

const struct assay_op_vtable assay_op_pool = {
    .number = ASSAY_OP_POOL,
    .params_bytes = sizeof(struct params),
    .min_inputs = 1,
    .max_inputs = 1,
    .check = check,
    .run = run,
};
