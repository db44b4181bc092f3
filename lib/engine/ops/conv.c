/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes, dtypes, accumulator ranges and memory of the convolutions. */
#include "lib/engine/ops/conv2d.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/engine/arena.h"
#include "lib/engine/range.h"

__extension__ typedef __int128 assay_wide;

static int check_groups(const struct assay_op_check *c,
                        const struct assay_tensor *x,
                        const struct assay_tensor *w)
{
    int32_t groups = c->layer->p.conv2d.groups;
    char text[ASSAY_SHAPE_TEXT];
    if (groups < 1 || x->dims[3] % groups != 0 || w->dims[0] % groups != 0)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "groups: expected a divisor of %" PRId64
                                  " input and %" PRId64
                                  " output channels, found %" PRId32,
                                  x->dims[3], w->dims[0], groups);
    if (w->dims[3] != x->dims[3] / groups)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "weights shape %s: expected %" PRId64
                                  " input channels per group, found %" PRId64,
                                  assay_shape_text(w, text),
                                  x->dims[3] / groups, w->dims[3]);
    return 0;
}

int assay_conv_check_shapes(const struct assay_op_check *c)
{
    const struct assay_tensor *x = assay_layer_input(c, 0);
    const struct assay_tensor *w = assay_layer_input(c, 1);
    int rc = assay_check_rank(c, "input", x, 4);
    if (!rc)
        rc = assay_check_rank(c, "weights", w, 4);
    if (!rc)
        rc = assay_check_rank(c, "output", assay_layer_output(c), 4);
    if (!rc)
        rc = check_groups(c, x, w);
    return rc ? rc : assay_check_batch(c, x, w->dims[0]);
}

static int check_dtypes(const struct assay_op_check *c,
                        const struct assay_tensor *x,
                        const struct assay_tensor *w)
{
    if (x->dtype != ASSAY_S8 && x->dtype != ASSAY_U8 && x->dtype != ASSAY_S16)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "input dtype: expected int8, uint8 or "
                                  "int16, found %s",
                                  assay_dtype_name(x->dtype));
    if (w->dtype != ASSAY_S8 && w->dtype != ASSAY_U8)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "weights dtype: expected int8 or uint8, "
                                  "found %s",
                                  assay_dtype_name(w->dtype));
    if (w->role != ASSAY_ROLE_CONSTANT)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "weights '%.200s': expected a constant",
                                  w->name);
    return 0;
}

/* Zero points of the weights, one for each output channel. */
static int weight_zeros(const struct assay_op_check *c,
                        const struct assay_tensor *w, int32_t oc,
                        const int32_t **out)
{
    const struct assay_quant *q = &w->quant;
    if (q->n > 1 && (q->axis != 0 || q->n != (uint32_t)oc))
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "weights scales: expected 1 or %" PRId32
                                  " (output channels) on axis 0, found "
                                  "%" PRIu32 " on axis %" PRId32,
                                  oc, q->n, q->axis);
    int32_t *zeros = assay_arena_array(c->memory, (size_t)oc, sizeof(*zeros));
    if (!zeros)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EMEMORY, "no memory");
    for (int32_t o = 0; o < oc && q->n; o++)
        zeros[o] = q->zero_point[q->n > 1 ? o : 0];
    *out = zeros;
    return 0;
}

/* What a kernel chooses by: the bias, aligned; prepare() copies it again into
 * memory that is counted. */
static int copy_bias(const struct assay_op_check *c,
                     struct assay_conv_params *k)
{
    size_t n = (size_t)k->p.oc;
    if (!k->bias)
        return 0;
    int32_t *copy = assay_arena_array(c->memory, n, sizeof(*copy));
    if (!copy)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EMEMORY, "no memory");
    memcpy(copy, k->bias, n * sizeof(*copy));
    k->p.bias = copy;
    return 0;
}

static int check_bias(const struct assay_op_check *c,
                      const struct assay_tensor *bias, int32_t oc)
{
    if (bias->dtype != ASSAY_S32)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "bias dtype: expected int32, found %s",
                                  assay_dtype_name(bias->dtype));
    if (assay_tensor_elements(bias) != (size_t)oc)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EFORMAT,
                                  "bias length: expected %" PRId32
                                  " (output channels), found %zu",
                                  oc, assay_tensor_elements(bias));
    if (bias->role != ASSAY_ROLE_CONSTANT)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "bias '%.200s': expected a constant",
                                  bias->name);
    return 0;
}

static int check_second(const struct assay_op_check *c,
                        struct assay_conv_params *k)
{
    if (!k->second_input)
        return 0;
    const struct assay_tensor *e = assay_layer_input(c, k->second_input);
    if (!assay_dtype_is_int(e->dtype) || e->dtype == ASSAY_S64)
        return ASSAY_REFUSE_LAYER(c, ASSAY_EUNSUPPORTED,
                                  "second input dtype: expected int8 to "
                                  "int32, found %s",
                                  assay_dtype_name(e->dtype));
    k->p.second_dtype = e->dtype;
    return assay_check_same_dims(c, assay_layer_output(c), "second input", e);
}

static int32_t bias_at(const struct assay_conv_params *k, size_t o)
{
    int32_t b = 0;
    if (k->bias)
        memcpy(&b, (const char *)k->bias + o * sizeof(b), sizeof(b));
    return b;
}

/* Sums of the positive and of the negative weights of a channel. */
static void weight_sums(const struct assay_conv2d *p, const void *weights,
                        size_t first, size_t taps, int32_t zero, int64_t *up,
                        int64_t *down)
{
    int64_t sum = 0, size = 0; /* of the weights, of their absolute values */

    if (p->w_dtype == ASSAY_S8) {
        const int8_t *w = (const int8_t *)weights + first;

        for (size_t t = 0; t < taps; t++) {
            sum += w[t] - zero;
            size += abs(w[t] - zero);
        }
    } else {
        const uint8_t *w = (const uint8_t *)weights + first;

        for (size_t t = 0; t < taps; t++) {
            sum += w[t] - zero;
            size += abs(w[t] - zero);
        }
    }
    *up = (size + sum) / 2;
    *down = (sum - size) / 2;
}

/*
 * What the accumulator of output channel o can be: the sums of the largest
 * and smallest products. An int32 accumulator that can leave its range wraps,
 * and then can be anything.
 */
static int accumulator(const struct assay_op_check *c,
                       const struct assay_conv_params *k, size_t o,
                       struct assay_interval *out)
{
    const struct assay_conv2d *p = &k->p;
    size_t taps = (size_t)p->kh * (size_t)p->kw * (size_t)(p->c / p->groups);
    int64_t x_lo, x_hi, up, down;
    assay_dtype_range(p->x_dtype, &x_lo, &x_hi);
    x_lo -= p->x_zero; /* at most 0, so that padding is inside */
    x_hi -= p->x_zero;
    weight_sums(p, k->weights, o * taps, taps, p->w_zero[o], &up, &down);
    int32_t bias = bias_at(k, o);
    assay_wide lo = (assay_wide)up * x_lo + (assay_wide)down * x_hi + bias;
    assay_wide hi = (assay_wide)up * x_hi + (assay_wide)down * x_lo + bias;
    bool wide = p->x_dtype == ASSAY_S16;
    if (!wide && (lo < INT32_MIN || hi > INT32_MAX))
        *out = assay_interval_int(INT32_MIN, INT32_MAX);
    else if (lo < INT64_MIN || hi > INT64_MAX)
        return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                  "accumulator of channel %zu can leave 64 "
                                  "bits",
                                  o);
    else
        *out = assay_interval_int((int64_t)lo, (int64_t)hi);
    return 0;
}

static int check_program(const struct assay_op_check *c,
                         const struct assay_conv_params *k)
{
    const struct assay_conv2d *p = &k->p;
    struct assay_interval second = assay_interval_int(0, 0), v;
    if (k->second_input)
        second = assay_interval_of(p->second_dtype);
    int rc = assay_program_check(p->program, (size_t)p->oc, ASSAY_VALUE_INT,
                                 k->second_input != 0, "out_program", c->err);
    for (size_t o = 0; !rc && o < (size_t)p->oc; o++) {
        rc = accumulator(c, k, o, &v);
        if (rc)
            return rc; /* has its layer already */
        rc = assay_program_range(p->program, o, &second, &v, "out_program",
                                 c->err);
        if (!rc)
            rc = assay_interval_fits(&v, p->y_dtype, o, "out_program", c->err);
    }
    return assay_layer_prefix(c, rc);
}

static uint64_t count_macs(const struct assay_conv2d *p)
{
    uint64_t n = 1;
    const int32_t factors[] = {p->n,  p->oh, p->ow,           p->oc,
                               p->kh, p->kw, p->c / p->groups};
    for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++)
        if (__builtin_mul_overflow(n, (uint64_t)factors[i], &n))
            return UINT64_MAX;
    return n;
}

int assay_conv_check(const struct assay_op_check *c,
                     struct assay_conv_params *k,
                     const struct assay_tensor *bias,
                     struct assay_op_plan *plan)
{
    const struct assay_tensor *x = assay_layer_input(c, 0);
    const struct assay_tensor *w = assay_layer_input(c, 1);
    struct assay_conv2d *p = &k->p;
    int rc = check_dtypes(c, x, w);
    if (!rc)
        rc = assay_check_no_in_programs(c);
    if (!rc)
        rc = assay_check_zero(c, "input", x, &p->x_zero);
    if (!rc)
        rc = weight_zeros(c, w, p->oc, &p->w_zero);
    if (!rc && bias)
        rc = check_bias(c, bias, p->oc);
    if (!rc)
        rc = check_second(c, k);
    if (rc)
        return rc;
    p->x_dtype = x->dtype;
    p->w_dtype = w->dtype;
    p->y_dtype = assay_layer_output(c)->dtype;
    p->program = &c->layer->out_program;
    p->weights = k->weights = w->data;
    k->bias = bias ? bias->data : NULL;
    rc = check_program(c, k);
    if (!rc)
        rc = copy_bias(c, k);
    if (rc)
        return rc;
    k->kernel = assay_pick_conv2d(c->table, p);
    plan->kernel = k->kernel->name;
    plan->macs = count_macs(p);
    plan->scratch_bytes = k->kernel->scratch_size(p);
    size_t bias_bytes = bias ? (size_t)p->oc * sizeof(int32_t) : 0;
    if (!assay_layout_round(k->kernel->packed_size(p), &k->kernel_packed) ||
        !assay_add_size(k->kernel_packed, bias_bytes, &plan->packed_bytes))
        return ASSAY_REFUSE_LAYER(c, ASSAY_ERANGE,
                                  "packed weights are too large");
    return 0;
}

void assay_conv_prepare(const struct assay_op_plan *plan, void *packed)
{
    struct assay_conv_params *k = plan->params;
    if (k->bias) {
        char *copy = (char *)packed + k->kernel_packed;
        memcpy(copy, k->bias, (size_t)k->p.oc * sizeof(int32_t));
        k->p.bias = (const void *)copy;
    }
    k->kernel->pack(&k->p, packed);
}

void assay_conv_run(const struct assay_op_plan *plan,
                    const struct assay_op_io *io)
{
    const struct assay_conv_params *k = plan->params;
    struct assay_conv2d p = k->p;
    if (k->second_input)
        p.second = io->in[k->second_input];
    k->kernel->run(&p, plan->packed, io->in[0], io->out, io->scratch);
}
