/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of the average pools (docs/numerics.md). */
#include "lib/core/arith_build.h"

#include <string.h>

struct form {
    struct assay_builder cell, out;
    enum assay_pool_sum sum;
    enum assay_pool_div div;
    enum assay_round round;
};

/* Integer division by the cell count: on stored or on centred integers. */
static const struct {
    const char *name;
    bool centred;
    enum assay_round round;
} DIVISIONS[] = {
    {"div_half_away", false, ASSAY_ROUND_HALF_AWAY},
    {"div_half_up", false, ASSAY_ROUND_HALF_UP},
    {"div_half_even", false, ASSAY_ROUND_HALF_EVEN},
    {"div_trunc", false, ASSAY_ROUND_TRUNC},
    {"div_floor", false, ASSAY_ROUND_FLOOR},
    {"divc_half_away", true, ASSAY_ROUND_HALF_AWAY},
    {"divc_half_up", true, ASSAY_ROUND_HALF_UP},
};

static bool divide(struct form *f, const char *arith,
                   const struct assay_uniform *x, const struct assay_uniform *y)
{
    for (size_t i = 0; i < sizeof(DIVISIONS) / sizeof(DIVISIONS[0]); i++) {
        if (strcmp(DIVISIONS[i].name, arith) != 0)
            continue;
        if (x->scale != y->scale || x->zero != y->zero)
            assay_build_fail(&f->out, ASSAY_EUNSUPPORTED,
                             "arithmetic '%s' needs equal quantization: input "
                             "has scale %.9g and zero point %d, output %.9g "
                             "and %d",
                             arith, (double)x->scale, (int)x->zero,
                             (double)y->scale, (int)y->zero);
        f->sum = DIVISIONS[i].centred ? ASSAY_SUM_INT : ASSAY_SUM_RAW;
        f->div = ASSAY_DIV_INT;
        f->round = DIVISIONS[i].round;
        if (DIVISIONS[i].centred)
            assay_build_int(&f->out, ASSAY_STEP_ADD_ZP, x->zero);
        assay_build_clamp(&f->out, y->lo, y->hi);
        return true;
    }
    return false;
}

/* Every cell dequantized, summed in raster order, divided by the count. */
static void sequential(struct form *f, const struct assay_uniform *x,
                       const struct assay_uniform *y, bool zero_inside)
{
    f->sum = ASSAY_SUM_F32;
    f->div = ASSAY_DIV_F32;
    assay_build_dequantize(&f->cell, x);
    if (!zero_inside) {
        assay_build_quantize(&f->out, y);
        return;
    }
    assay_build_f32(&f->out, ASSAY_STEP_FDIV, y->scale);
    assay_build_f32(&f->out, ASSAY_STEP_FADD, (float)y->zero);
    assay_build_f32_pair(&f->out, ASSAY_STEP_FCLAMP, (float)y->lo,
                         (float)y->hi);
    assay_build_plain(&f->out, ASSAY_STEP_FROUND, ASSAY_ROUND_HALF_EVEN);
}

/* One scale that holds the count: fp32_rne or q31_double on the exact sum. */
static void scaled(struct form *f, const char *arith,
                   const struct assay_uniform *x, const struct assay_uniform *y,
                   int64_t count)
{
    float n = (float)count;
    float k32 = x->scale / (y->scale * n);
    double k64 = (double)x->scale / (double)y->scale / (double)count;
    const char *policy = "fp32_rne";
    if (strcmp(arith, "f32_sum_scale2") == 0)
        k32 = x->scale / n / y->scale;
    else if (strcmp(arith, "q31_double") == 0)
        policy = "q31_double";
    f->sum = ASSAY_SUM_INT;
    f->div = ASSAY_DIV_NONE;
    if (assay_arith_policy(&f->out, policy, 1, &k32, &k64, y))
        return;
}

/* Cells of every window, or 0 where windows differ in it. */
static int64_t fixed_count(const struct assay_slice *s,
                           const struct assay_layer *l)
{
    const struct assay_tensor *x = &s->tensors[l->inputs[0]];
    const struct assay_tensor *y = &s->tensors[l->output];
    const struct assay_pool_params *p = &l->p.pool;
    if (l->real_op == ASSAY_REAL_GLOBAL_AVG_POOL) {
        if (x->rank != 4 || x->dims[1] < 1 || x->dims[2] < 1 ||
            x->dims[1] > 1 << 20 || x->dims[2] > 1 << 20)
            return 0;
        return x->dims[1] * x->dims[2];
    }
    bool padded = p->pad_top || p->pad_left || p->pad_bottom || p->pad_right;
    if (p->kh < 1 || p->kw < 1 || x->rank != 4 || y->rank != 4)
        return 0;
    /* With ceil_mode the last window may leave the image without any pad. */
    if ((y->dims[1] - 1) * p->stride_h + (int64_t)(p->kh - 1) * p->dilation_h +
                1 >
            x->dims[1] ||
        (y->dims[2] - 1) * p->stride_w + (int64_t)(p->kw - 1) * p->dilation_w +
                1 >
            x->dims[2])
        padded = true;
    if (padded && !p->count_include_pad)
        return 0;
    return (int64_t)p->kh * p->kw;
}

static int finish(const struct form *f, struct assay_slice *s,
                  struct assay_layer *l, struct assay_err *err)
{
    struct assay_program cell, out;
    int rc = assay_build_end(&f->cell, &cell);
    if (!rc)
        rc = assay_build_end(&f->out, &out);
    if (rc)
        return rc;
    struct assay_program *in = NULL;
    if (f->sum == ASSAY_SUM_F32) {
        in = assay_arena_array(s->arena, 1, sizeof(*in));
        if (!in)
            return assay_fail(err, ASSAY_EMEMORY,
                              "out of memory while a program was built");
        *in = cell;
    }
    l->n_in_programs = in ? 1 : 0;
    l->in_programs = in;
    l->out_program = out;
    l->p.pool.sum = (uint8_t)f->sum;
    l->p.pool.div = (uint8_t)f->div;
    l->p.pool.div_round = (uint8_t)f->round;
    return 0;
}

int assay_arith_pool(struct assay_slice *s, struct assay_layer *l,
                     const char *arith, struct assay_err *err)
{
    struct form f = {0};
    struct assay_uniform x, y;
    int rc;
    if (l->n_inputs != 1)
        return assay_fail(err, ASSAY_EFORMAT, "layer has %u inputs: expected 1",
                          (unsigned)l->n_inputs);
    rc = assay_arith_uniform(&s->tensors[l->inputs[0]], &x, err);
    if (!rc)
        rc = assay_arith_uniform(&s->tensors[l->output], &y, err);
    if (rc)
        return rc;
    assay_build_begin(&f.cell, s->arena, err);
    assay_build_begin(&f.out, s->arena, err);
    if (strcmp(arith, "f32_seq_zpin") == 0) {
        sequential(&f, &x, &y, true);
    } else if (strcmp(arith, "dq_q") == 0) {
        sequential(&f, &x, &y, false);
    } else if (!divide(&f, arith, &x, &y)) {
        int64_t count = fixed_count(s, l);
        if (count == 0)
            return assay_fail(err, ASSAY_EUNSUPPORTED,
                              "arithmetic '%s' needs the same number of cells "
                              "in every window: padding is not counted here",
                              arith);
        scaled(&f, arith, &x, &y, count);
    }
    return finish(&f, s, l, err);
}
