/* SPDX-License-Identifier: Apache-2.0 */
/* One operand to one output: unary layers, rescales, concat, softmax. */
#include "lib/core/arith_build.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- quantize: the modes of docs/numerics.md --------------------------- */

static void quantize(struct assay_builder *b, const char *mode,
                     const struct assay_uniform *y)
{
    bool zpin = strcmp(mode, "zpin_half_even") == 0;
    float zero = zpin ? 0.0f : (float)y->zero;
    enum assay_round round = ASSAY_ROUND_HALF_EVEN;
    if (strcmp(mode, "recip_half_even") == 0)
        assay_build_f32(b, ASSAY_STEP_FMUL, 1.0f / y->scale);
    else
        assay_build_f32(b, ASSAY_STEP_FDIV, y->scale);
    if (zpin)
        assay_build_f32(b, ASSAY_STEP_FADD, (float)y->zero);
    if (strcmp(mode, "legacy_floor05") == 0) {
        assay_build_f32(b, ASSAY_STEP_FADD, 0.5f);
        round = ASSAY_ROUND_FLOOR;
    } else if (strcmp(mode, "half_away") == 0) {
        round = ASSAY_ROUND_HALF_AWAY;
    } else if (strcmp(mode, "trunc") == 0) {
        round = ASSAY_ROUND_TRUNC;
    }
    /* Bounds are integers, so that clamping before rounding is the same. */
    assay_build_f32_pair(b, ASSAY_STEP_FCLAMP, (float)y->lo - zero,
                         (float)y->hi - zero);
    assay_build_plain(b, ASSAY_STEP_FROUND, round);
    if (!zpin)
        assay_build_int(b, ASSAY_STEP_ADD_ZP, y->zero);
}

/* Integer to integer of another quantization, `form` not dq_q. */
static void rescale(struct assay_builder *b, const char *form,
                    const struct assay_uniform *x,
                    const struct assay_uniform *y)
{
    float k32 = x->scale / y->scale;
    double k64 = (double)x->scale / (double)y->scale;
    assay_build_int(b, ASSAY_STEP_ADD, -(int64_t)x->zero);
    if (strcmp(form, "q8_half_up") != 0) {
        if (assay_arith_policy(b, form, 1, &k32, &k64, y))
            return;
        return;
    }
    double multiplier = rint(256.0 * (double)k32);
    int64_t eight = 8;
    if (multiplier > INT32_MAX) {
        assay_build_fail(b, ASSAY_ERANGE,
                         "scale ratio of 'q8_half_up' is %g: expected below "
                         "2^23",
                         (double)k32);
        return;
    }
    assay_build_int(b, ASSAY_STEP_MUL, (int64_t)multiplier);
    assay_build_shr(b, 1, &eight, ASSAY_ROUND_HALF_UP);
    assay_build_int(b, ASSAY_STEP_ADD_ZP, y->zero);
    assay_build_clamp(b, y->lo, y->hi);
}

static bool is_rescale(const char *arith)
{
    return strcmp(arith, "q8_half_up") == 0 || assay_policy_known(arith);
}

/* ---- unary ------------------------------------------------------------- */

/* A tensor with a scale for each entry of its last axis. */
static int dequantize_channels(struct assay_builder *b,
                               const struct assay_tensor *t,
                               struct assay_err *err)
{
    const struct assay_quant *q = &t->quant;
    const char *name = t->name ? t->name : "";
    if (!q->scale || !q->zero_point || t->rank == 0 ||
        q->axis != (int32_t)t->rank - 1 ||
        (int64_t)q->n != t->dims[t->rank - 1])
        return assay_fail(err, ASSAY_EUNSUPPORTED,
                          "tensor '%s' has %u scales along axis %d: expected "
                          "one for each entry of its last axis",
                          name, (unsigned)q->n, (int)q->axis);
    int64_t *zero = assay_arena_array(b->arena, q->n, sizeof(*zero));
    if (!zero)
        return assay_fail(err, ASSAY_EMEMORY,
                          "out of memory while a program was built");
    for (uint32_t i = 0; i < q->n; i++) {
        int rc = assay_arith_check_scale(t, (double)q->scale[i], err);
        if (rc)
            return rc;
        zero[i] = -(int64_t)q->zero_point[i];
    }
    assay_build_ints(b, ASSAY_STEP_ADD, q->n, zero);
    assay_build_plain(b, ASSAY_STEP_TO_F32, ASSAY_ROUND_FLOOR);
    assay_build_f32s(b, ASSAY_STEP_FMUL, q->n, q->scale);
    return b->code;
}

static int check_real_steps(const struct assay_program *p,
                            struct assay_err *err)
{
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].kind < ASSAY_STEP_FMUL ||
            p->steps[i].kind > ASSAY_STEP_FCLAMP)
            return assay_fail(err, ASSAY_EFORMAT,
                              "real step %u has kind %u: expected a float step",
                              (unsigned)i, (unsigned)p->steps[i].kind);
    return 0;
}

int assay_arith_unary(struct assay_slice *s, struct assay_layer *l,
                      const char *arith, struct assay_err *err)
{
    struct assay_builder b;
    struct assay_uniform x, y;
    if (l->n_inputs != 1)
        return assay_fail(err, ASSAY_EFORMAT, "layer has %u inputs: expected 1",
                          (unsigned)l->n_inputs);
    const struct assay_tensor *in = &s->tensors[l->inputs[0]];
    const struct assay_tensor *out = &s->tensors[l->output];
    int rc = check_real_steps(&l->real_steps, err);
    bool from_int = in->dtype != ASSAY_F32, to_int = out->dtype != ASSAY_F32;
    if (!rc && from_int && in->quant.n <= 1)
        rc = assay_arith_uniform(in, &x, err);
    if (!rc && to_int)
        rc = assay_arith_uniform(out, &y, err);
    if (rc)
        return rc;
    assay_build_begin(&b, s->arena, err);
    if (is_rescale(arith)) {
        if (!from_int || !to_int || in->quant.n != 1 || l->real_steps.n_steps)
            return assay_fail(err, ASSAY_EUNSUPPORTED,
                              "arithmetic '%s' rescales integers: the layer "
                              "computes in float",
                              arith);
        rescale(&b, arith, &x, &y);
        return assay_build_end(&b, &l->out_program);
    }
    if (from_int && in->quant.n > 1)
        rc = dequantize_channels(&b, in, err);
    else if (from_int)
        assay_build_dequantize(&b, &x);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < l->real_steps.n_steps; i++)
        assay_build_step(&b, &l->real_steps.steps[i]);
    if (to_int)
        quantize(&b, arith, &y);
    return assay_build_end(&b, &l->out_program);
}

/* ---- concat ------------------------------------------------------------ */

static int concat_input(struct assay_slice *s, const struct assay_tensor *in,
                        const struct assay_tensor *out, const char *arith,
                        struct assay_program *program, struct assay_err *err)
{
    struct assay_uniform x, y;
    struct assay_builder b;
    if (in->dtype == ASSAY_F32 && out->dtype == ASSAY_F32)
        return 0; /* a copy: no steps */
    int rc = assay_arith_uniform(in, &x, err);
    if (!rc)
        rc = assay_arith_uniform(out, &y, err);
    if (rc)
        return rc;
    if (x.scale == y.scale && x.zero == y.zero && x.dtype == y.dtype)
        return 0;
    assay_build_begin(&b, s->arena, err);
    if (is_rescale(arith)) {
        rescale(&b, arith, &x, &y);
    } else {
        assay_build_dequantize(&b, &x);
        assay_build_quantize(&b, &y);
    }
    return assay_build_end(&b, program);
}

int assay_arith_concat(struct assay_slice *s, struct assay_layer *l,
                       const char *arith, struct assay_err *err)
{
    if (l->n_inputs < 1 || l->n_inputs > ASSAY_MAX_LAYER_INPUTS)
        return assay_fail(err, ASSAY_EFORMAT,
                          "layer has %u inputs: expected 1 to %d",
                          (unsigned)l->n_inputs, ASSAY_MAX_LAYER_INPUTS);
    struct assay_program *in =
        assay_arena_array(s->arena, l->n_inputs, sizeof(*in));
    if (!in)
        return assay_fail(err, ASSAY_EMEMORY,
                          "out of memory while a program was built");
    for (uint32_t i = 0; i < l->n_inputs; i++) {
        int rc = concat_input(s, &s->tensors[l->inputs[i]],
                              &s->tensors[l->output], arith, &in[i], err);
        if (rc)
            return rc;
    }
    l->n_in_programs = l->n_inputs;
    l->in_programs = in;
    l->out_program.n_steps = 0;
    return 0;
}

/* ---- softmax ----------------------------------------------------------- */

/*
 * The table of onnxruntime's QLinearSoftmax: exponentials placed as high as
 * `cols` of them can be summed in binary32, with 5 (natural) units to spare.
 */
static int softmax_table(struct assay_slice *s, struct assay_layer *l,
                         float x_scale, int64_t cols, struct assay_err *err)
{
    uint32_t *table = assay_arena_array(s->arena, 256, sizeof(*table));
    if (!table)
        return assay_fail(err, ASSAY_EMEMORY,
                          "out of memory while a table was built");
    double room = (double)logf(FLT_MAX / (float)cols) - 5.0;
    double shift = (room > 0.0 ? room : 0.0) / (double)x_scale;
    for (int i = 0; i < 256; i++) {
        float f = (float)exp(((double)i - 255.0 + shift) * (double)x_scale);
        memcpy(&table[i], &f, sizeof(f));
    }
    l->p.softmax.kind = ASSAY_SOFTMAX_TABLE;
    l->p.softmax.table = table;
    return 0;
}

int assay_arith_softmax(struct assay_slice *s, struct assay_layer *l,
                        const char *arith, struct assay_err *err)
{
    struct assay_uniform x, y;
    if (l->n_inputs != 1)
        return assay_fail(err, ASSAY_EFORMAT, "layer has %u inputs: expected 1",
                          (unsigned)l->n_inputs);
    const struct assay_tensor *in = &s->tensors[l->inputs[0]];
    const struct assay_tensor *out = &s->tensors[l->output];
    bool is_float = in->dtype == ASSAY_F32 && out->dtype == ASSAY_F32;
    if (is_float != (strcmp(arith, "f32_softmax") == 0))
        return assay_fail(err, ASSAY_EUNSUPPORTED,
                          "arithmetic '%s' does not fit a softmax from %s to "
                          "%s",
                          arith, assay_dtype_name(in->dtype),
                          assay_dtype_name(out->dtype));
    if (is_float) {
        l->p.softmax.kind = ASSAY_SOFTMAX_F32;
        l->p.softmax.table = NULL;
        return 0;
    }
    int rc = assay_arith_uniform(in, &x, err);
    if (!rc)
        rc = assay_arith_uniform(out, &y, err);
    if (rc)
        return rc;
    if (x.dtype != y.dtype || (x.dtype != ASSAY_S8 && x.dtype != ASSAY_U8))
        return assay_fail(err, ASSAY_EUNSUPPORTED,
                          "softmax from %s to %s: expected int8 or uint8 for "
                          "both",
                          assay_dtype_name(x.dtype), assay_dtype_name(y.dtype));
    if (in->rank == 0 || in->dims[in->rank - 1] < 1)
        return assay_fail(err, ASSAY_EFORMAT,
                          "softmax of a tensor without a last axis");
    return softmax_table(s, l, x.scale, in->dims[in->rank - 1], err);
}
