/* SPDX-License-Identifier: Apache-2.0 */
/* O1, O11: averages computed in another way; padding that wins a maximum. */
#include <string.h>

#include "host-tools/cause/edit_graph.h"
#include "host-tools/cause/edit_op.h"
#include "host-tools/cause/edit_pad.h"
#include "host-tools/cause/edit_program.h"

/* Variants of O1: ways to round, arithmetics, and these. */
static const struct {
    const char *arith;
    enum assay_round round;
    bool rounds, centred;
} WAYS[] = {
    {"div_floor", ASSAY_ROUND_FLOOR, true, false},
    {"div_trunc", ASSAY_ROUND_TRUNC, true, false},
    {"div_half_up", ASSAY_ROUND_HALF_UP, true, false},
    {"div_half_even", ASSAY_ROUND_HALF_EVEN, true, false},
    {"div_half_away", ASSAY_ROUND_HALF_AWAY, true, false},
    {"divc_half_away", ASSAY_ROUND_HALF_AWAY, true, true},
    {"divc_half_up", ASSAY_ROUND_HALF_UP, true, true},
    {"f32_seq_zpin", 0, false, false},
    {"f32_sum_scale", 0, false, false},
    {"q31_double", 0, false, false},
    {"dq_q", 0, false, false},
};
enum {
    INCLUDE_PAD = sizeof(WAYS) / sizeof(WAYS[0]),
    EXCLUDE_PAD,
    WRAP_16,
    COLUMNS_FIRST,
};

static int64_t zero_of(const struct assay_tensor *t)
{
    return t->quant.n > 0 ? t->quant.zero_point[0] : 0;
}

/* Do all windows lie in the image? */
static bool all_inside(const struct assay_slice *s, const struct assay_layer *l)
{
    const int64_t *x = s->tensors[l->inputs[0]].dims;
    const int64_t *y = s->tensors[l->output].dims;
    const struct assay_pool_params *p = &l->p.pool;

    return p->pad_top == 0 && p->pad_left == 0 &&
           (y[1] - 1) * p->stride_h + (int64_t)(p->kh - 1) * p->dilation_h <
               x[1] &&
           (y[2] - 1) * p->stride_w + (int64_t)(p->kw - 1) * p->dilation_w <
               x[2];
}

/* ---- rounding ---------------------------------------------------------- */

/* A shift that no channel shifts by to the right. */
static bool is_exact(const struct assay_step *step)
{
    for (uint32_t i = 0; step->kind == ASSAY_STEP_SHR && i < step->n; i++)
        if (step->a[i] > 0)
            return false;
    return step->kind == ASSAY_STEP_SHR;
}

/* The last step that rounds. */
static int round_last(struct assay_program *p, enum assay_round round)
{
    for (uint32_t i = p->n_steps; i-- > 0;) {
        struct assay_step *step = &p->steps[i];

        if (step->kind != ASSAY_STEP_SHR && step->kind != ASSAY_STEP_FROUND)
            continue;
        if (step->round == round || is_exact(step))
            return ASSAY_EDIT_SAME;
        step->round = (uint8_t)round;
        return 0;
    }
    return ASSAY_EDIT_NOT_HERE;
}

/* The quotient of centred elements; the zero point comes behind it. */
static int centre(struct assay_slice *s, struct assay_layer *l,
                  struct assay_err *err)
{
    int rc = assay_edit_insert(s, &l->out_program, 0, ASSAY_STEP_ADD_ZP,
                               zero_of(&s->tensors[l->inputs[0]]), 0, err);

    if (!rc)
        l->p.pool.sum = ASSAY_SUM_INT;
    return rc;
}

/* A division with a rounding of its own. */
static int divide(struct assay_slice *s, struct assay_layer *l,
                  uint32_t variant, struct assay_err *err)
{
    struct assay_pool_params *p = &l->p.pool;
    bool centred = p->sum == ASSAY_SUM_INT;
    bool recentre = WAYS[variant].centred && !centred &&
                    zero_of(&s->tensors[l->inputs[0]]) != 0;
    int rc = 0;

    if (p->div_round == WAYS[variant].round && !recentre)
        return ASSAY_EDIT_SAME;
    if (recentre)
        rc = centre(s, l, err);
    if (!rc)
        p->div_round = (uint8_t)WAYS[variant].round;
    return rc;
}

static int another_way(struct assay_slice *s, uint32_t layer, uint32_t variant,
                       struct assay_err *err)
{
    struct assay_layer *l = &s->layers[layer];
    int rc = assay_edit_arith(s, layer, WAYS[variant].arith, err);

    if (rc != ASSAY_EDIT_NOT_HERE || !WAYS[variant].rounds)
        return rc;
    if (l->p.pool.div == ASSAY_DIV_INT)
        return divide(s, l, variant, err);
    return WAYS[variant].centred
               ? ASSAY_EDIT_NOT_HERE
               : round_last(&l->out_program, WAYS[variant].round);
}

/* ---- what is summed ---------------------------------------------------- */

static int count_pads(const struct assay_slice *s, struct assay_layer *l,
                      bool include)
{
    if (l->p.pool.div == ASSAY_DIV_NONE)
        return ASSAY_EDIT_NOT_HERE; /* the program holds the divisor */
    if (l->p.pool.count_include_pad == include || all_inside(s, l))
        return ASSAY_EDIT_SAME;
    l->p.pool.count_include_pad = include;
    return 0;
}

/* Can no sum of n cells leave 16 bits? */
static bool fits_16(const struct assay_slice *s, const struct assay_layer *l,
                    int64_t n)
{
    const struct assay_tensor *x = &s->tensors[l->inputs[0]];
    int64_t zero = l->p.pool.sum == ASSAY_SUM_RAW ? 0 : zero_of(x), lo, hi;

    assay_dtype_range(x->dtype, &lo, &hi);
    return n <= INT16_MAX && (lo - zero) * n >= INT16_MIN &&
           (hi - zero) * n <= INT16_MAX;
}

/* The division by n as steps at the begin of the program. */
static int divide_in_program(struct assay_slice *s, struct assay_layer *l,
                             int64_t n, struct assay_err *err)
{
    bool exact = l->p.pool.div == ASSAY_DIV_INT;
    struct assay_program *p = &l->out_program;
    double wide = (double)n;
    float narrow = (float)n;
    int64_t bits = 0;
    int rc = assay_edit_insert(
        s, p, 0, exact ? ASSAY_STEP_TO_F64 : ASSAY_STEP_TO_F32, 0, 0, err);

    if (rc)
        return rc;
    p->steps[0].n = 0;
    p->steps[0].a = NULL;
    memcpy(&bits, exact ? (void *)&wide : (void *)&narrow,
           exact ? sizeof(wide) : sizeof(narrow));
    rc = assay_edit_insert(s, p, 1, ASSAY_STEP_FDIV, bits, 0, err);
    if (rc || !exact)
        return rc;
    rc = assay_edit_insert(s, p, 2, ASSAY_STEP_FROUND, 0, 0, err);
    if (rc)
        return rc;
    p->steps[2].n = 0;
    p->steps[2].a = NULL;
    p->steps[2].round = l->p.pool.div_round;
    return 0;
}

static int wrap_sum(struct assay_slice *s, struct assay_layer *l,
                    struct assay_err *err)
{
    struct assay_pool_params *p = &l->p.pool;
    int64_t n = (int64_t)p->kh * p->kw;
    int rc = 0;

    if (p->sum == ASSAY_SUM_F32 ||
        l->out_program.n_steps + 4 > ASSAY_MAX_STEPS ||
        !assay_dtype_is_int(s->tensors[l->inputs[0]].dtype) ||
        (p->div != ASSAY_DIV_NONE && !p->count_include_pad &&
         !all_inside(s, l)))
        return ASSAY_EDIT_NOT_HERE;
    if (fits_16(s, l, n))
        return ASSAY_EDIT_SAME;
    if (p->div != ASSAY_DIV_NONE)
        rc = divide_in_program(s, l, n, err);
    p->div = ASSAY_DIV_NONE;
    return rc ? rc
              : assay_edit_insert(s, &l->out_program, 0, ASSAY_STEP_WRAP, 16, 0,
                                  err);
}

/* Sums of columns, each from top to bottom, in front of the layer. */
static int sum_columns(struct assay_slice *s, uint32_t *layer,
                       struct assay_err *err)
{
    struct assay_layer *l = &s->layers[*layer], *made;
    const struct assay_tensor *y = &s->tensors[l->output];
    struct assay_pool_params columns = l->p.pool;
    uint32_t x = l->inputs[0], sums;
    int64_t rows = y->dims[1];
    int rc = assay_edit_tensor(s, x, "columns", &sums, err);

    if (rc)
        return rc;
    s->tensors[sums].dtype = ASSAY_F32;
    s->tensors[sums].dims[1] = rows;
    s->tensors[sums].quant = (struct assay_quant){.axis = -1};
    rc = assay_edit_before(s, layer, 1, &x, sums, 0, &made, err);
    if (rc)
        return rc;
    columns.div = ASSAY_DIV_NONE;
    columns.kw = columns.stride_w = columns.dilation_w = 1;
    columns.pad_left = columns.pad_right = 0;
    made->op = ASSAY_OP_POOL;
    made->p.pool = columns;
    made->n_in_programs = 1;
    made->in_programs = s->layers[*layer].in_programs;
    return 0;
}

/*
 * Sums of columns first, then those from left to right; a float has another
 * sum in that order. Only where all windows have as many cells: the number of
 * cells is then an operand.
 */
static int columns_first(struct assay_slice *s, uint32_t *layer,
                         struct assay_err *err)
{
    struct assay_layer *l = &s->layers[*layer];
    float cells = (float)((int64_t)l->p.pool.kh * l->p.pool.kw);
    int rc;

    if (l->p.pool.kh < 2 || l->p.pool.kw < 2 ||
        (!l->p.pool.count_include_pad && !all_inside(s, l)))
        return ASSAY_EDIT_NOT_HERE;
    rc = assay_edit_arith(s, *layer, "dq_q", err);
    if (rc != 0 && rc != ASSAY_EDIT_SAME)
        return rc;
    rc = sum_columns(s, layer, err);
    if (rc)
        return rc;
    l = &s->layers[*layer];
    l->p.pool.div = ASSAY_DIV_NONE;
    l->p.pool.kh = l->p.pool.stride_h = l->p.pool.dilation_h = 1;
    l->p.pool.pad_top = l->p.pool.pad_bottom = 0;
    rc = assay_edit_programs(s, l, 1, err);
    return rc ? rc
              : assay_edit_insert(s, &l->out_program, 0, ASSAY_STEP_FDIV,
                                  assay_edit_bits((double)cells, false), 0,
                                  err);
}

int assay_edit_op_pool(struct assay_slice *s, uint32_t *layer,
                       const struct assay_edit *e, struct assay_err *err)
{
    struct assay_layer *l = &s->layers[*layer];

    if (l->op != ASSAY_OP_POOL ||
        (l->p.pool.kind == ASSAY_POOL_MAX) != (e->id == ASSAY_CAUSE_O11))
        return ASSAY_EDIT_NOT_HERE;
    if (e->id == ASSAY_CAUSE_O11)
        return assay_pad_all(
            s, layer, e->variant == 0 ? 0 : zero_of(&s->tensors[l->inputs[0]]),
            err);
    switch (e->variant) {
    case INCLUDE_PAD: return count_pads(s, l, true);
    case EXCLUDE_PAD: return count_pads(s, l, false);
    case WRAP_16: return wrap_sum(s, l, err);
    case COLUMNS_FIRST: return columns_first(s, layer, err);
    default: return another_way(s, *layer, e->variant, err);
    }
}
