/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of addition and multiplication (docs/numerics.md). */
#include "lib/core/arith_build.h"

#include <math.h>
#include <string.h>

/* What a form builds: a program for each operand, their join, the output. */
struct form {
    struct assay_builder a, b, out;
    enum assay_combine combine;
    float k;
};

static void begin(struct form *f, struct assay_slice *s, struct assay_err *err)
{
    assay_build_begin(&f->a, s->arena, err);
    assay_build_begin(&f->b, s->arena, err);
    assay_build_begin(&f->out, s->arena, err);
    f->k = 0.0f;
}

/* Writes the layer only when all three programs are whole. */
static int finish(const struct form *f, struct assay_slice *s,
                  struct assay_layer *l, struct assay_err *err)
{
    struct assay_program a, b, out;
    int rc = assay_build_end(&f->a, &a);
    if (!rc)
        rc = assay_build_end(&f->b, &b);
    if (!rc)
        rc = assay_build_end(&f->out, &out);
    if (rc)
        return rc;
    struct assay_program *in = assay_arena_array(s->arena, 2, sizeof(*in));
    if (!in)
        return assay_fail(err, ASSAY_EMEMORY,
                          "out of memory while a program was built");
    in[0] = a;
    in[1] = b;
    l->n_in_programs = 2;
    l->in_programs = in;
    l->out_program = out;
    l->p.binary.combine = f->combine;
    l->p.binary.k = f->k;
    return 0;
}

/* clamp(RNE(v)) with the zero point already in v. */
static void round_zpin(struct assay_builder *b, const struct assay_uniform *c)
{
    assay_build_f32_pair(b, ASSAY_STEP_FCLAMP, (float)c->lo, (float)c->hi);
    assay_build_plain(b, ASSAY_STEP_FROUND, ASSAY_ROUND_HALF_EVEN);
}

static void centre(struct form *f, const struct assay_uniform *a,
                   const struct assay_uniform *b)
{
    assay_build_int(&f->a, ASSAY_STEP_ADD, -(int64_t)a->zero);
    assay_build_int(&f->b, ASSAY_STEP_ADD, -(int64_t)b->zero);
}

/* ---- additions --------------------------------------------------------- */

static void add_tflite(struct form *f, const struct assay_uniform *a,
                       const struct assay_uniform *b,
                       const struct assay_uniform *c, int left,
                       const char *policy)
{
    double sa = (double)a->scale, sb = (double)b->scale;
    double twice = 2.0 * (sa > sb ? sa : sb);
    double ka = sa / twice, kb = sb / twice;
    double kc = twice / ((double)(1 << left) * (double)c->scale);
    /* The operands are not clamped: the widest range and no zero point. */
    struct assay_uniform wide = {.lo = INT32_MIN, .hi = INT32_MAX};
    centre(f, a, b);
    assay_build_int(&f->a, ASSAY_STEP_SHL, left);
    assay_build_int(&f->b, ASSAY_STEP_SHL, left);
    if (assay_arith_policy(&f->a, policy, 1, NULL, &ka, &wide) ||
        assay_arith_policy(&f->b, policy, 1, NULL, &kb, &wide) ||
        assay_arith_policy(&f->out, policy, 1, NULL, &kc, c))
        return;
    f->combine = ASSAY_COMBINE_ADD;
}

static void add_plain(struct form *f, const struct assay_uniform *a,
                      const struct assay_uniform *b,
                      const struct assay_uniform *c)
{
    assay_build_dequantize(&f->a, a);
    assay_build_dequantize(&f->b, b);
    f->combine = ASSAY_COMBINE_FADD;
    assay_build_f32(&f->out, ASSAY_STEP_FDIV, c->scale);
    assay_build_f32_pair(&f->out, ASSAY_STEP_FCLAMP, (float)(c->lo - c->zero),
                         (float)(c->hi - c->zero));
    assay_build_f32(&f->out, ASSAY_STEP_FADD, (float)c->zero);
    assay_build_plain(&f->out, ASSAY_STEP_FROUND, ASSAY_ROUND_HALF_EVEN);
}

/*
 * One integer multiplier for each operand and a common shift, `top` bits of
 * the larger ratio. Returns false where the form has no such multipliers.
 */
static bool add_pair(struct form *f, const struct assay_uniform *a,
                     const struct assay_uniform *b,
                     const struct assay_uniform *c, int top, float least,
                     enum assay_round round)
{
    float ra = a->scale / c->scale, rb = b->scale / c->scale;
    float large = ra > rb ? ra : rb, small = ra > rb ? rb : ra;
    int e;
    if (!(small >= least) || !(large < 256.0f))
        return false;
    (void)frexpf(large, &e);
    int shift = top - (e - 1);
    if (shift < 13 || shift > 31)
        return false;
    int64_t ma = (int64_t)rint(ldexp((double)ra, shift));
    int64_t mb = (int64_t)rint(ldexp((double)rb, shift));
    int64_t right = shift;
    centre(f, a, b);
    assay_build_int(&f->a, ASSAY_STEP_MUL, ma);
    assay_build_int(&f->b, ASSAY_STEP_MUL, mb);
    f->combine = ASSAY_COMBINE_ADD;
    assay_build_shr(&f->out, 1, &right, round);
    assay_build_bits(&f->out, ASSAY_STEP_SAT, 16);
    assay_build_int(&f->out, ASSAY_STEP_ADD_ZP, c->zero);
    assay_build_bits(&f->out, ASSAY_STEP_SAT, 16);
    assay_build_clamp(&f->out, c->lo, c->hi);
    return true;
}

static void add_xnn(struct form *f, const struct assay_uniform *a,
                    const struct assay_uniform *b,
                    const struct assay_uniform *c)
{
    if (add_pair(f, a, b, c, 20, 0x1p-10f, ASSAY_ROUND_HALF_UP))
        return;
    assay_build_fail(&f->out, ASSAY_ERANGE,
                     "scale ratios of 'xnn' are %g and %g: expected 2^-10 or "
                     "more and below 2^8",
                     (double)(a->scale / c->scale),
                     (double)(b->scale / c->scale));
}

static void add_ort(struct form *f, const struct assay_uniform *a,
                    const struct assay_uniform *b,
                    const struct assay_uniform *c, bool fused)
{
    float ra = a->scale / c->scale, rb = b->scale / c->scale;
    float fixed = (float)c->zero - (ra * (float)a->zero + rb * (float)b->zero);
    assay_build_plain(&f->a, ASSAY_STEP_TO_F32, ASSAY_ROUND_FLOOR);
    assay_build_plain(&f->b, ASSAY_STEP_TO_F32, ASSAY_ROUND_FLOOR);
    if (fused) {
        assay_build_f32_pair(&f->a, ASSAY_STEP_FFMA, ra, fixed);
        f->combine = ASSAY_COMBINE_FFMA;
        f->k = rb;
    } else {
        assay_build_f32(&f->a, ASSAY_STEP_FMUL, ra);
        assay_build_f32(&f->a, ASSAY_STEP_FADD, fixed);
        assay_build_f32(&f->b, ASSAY_STEP_FMUL, rb);
        f->combine = ASSAY_COMBINE_FADD;
    }
    round_zpin(&f->out, c);
}

/*
 * The literal form: dequantize, one float operation, quantize. A float
 * operand is taken, and a float output left, as it is.
 */
static int literal(struct form *f, const struct assay_slice *s,
                   const struct assay_layer *l, enum assay_combine combine,
                   struct assay_err *err)
{
    const struct assay_tensor *ends[3] = {&s->tensors[l->inputs[0]],
                                          &s->tensors[l->inputs[1]],
                                          &s->tensors[l->output]};
    struct assay_builder *builders[3] = {&f->a, &f->b, &f->out};
    for (int i = 0; i < 3; i++) {
        struct assay_uniform q;
        if (ends[i]->dtype == ASSAY_F32)
            continue;
        int rc = assay_arith_uniform(ends[i], &q, err);
        if (rc)
            return rc;
        if (i < 2)
            assay_build_dequantize(builders[i], &q);
        else
            assay_build_quantize(builders[i], &q);
    }
    f->combine = combine;
    return 0;
}

struct ends {
    struct assay_uniform a, b, c;
};

static int operands(const struct assay_slice *s, const struct assay_layer *l,
                    struct ends *e, struct assay_err *err)
{
    int rc = assay_arith_uniform(&s->tensors[l->inputs[0]], &e->a, err);
    if (!rc)
        rc = assay_arith_uniform(&s->tensors[l->inputs[1]], &e->b, err);
    if (!rc)
        rc = assay_arith_uniform(&s->tensors[l->output], &e->c, err);
    return rc;
}

static int two_inputs(const struct assay_layer *l, struct assay_err *err)
{
    if (l->n_inputs == 2)
        return 0;
    return assay_fail(err, ASSAY_EFORMAT, "layer has %u inputs: expected 2",
                      (unsigned)l->n_inputs);
}

int assay_arith_add(struct assay_slice *s, struct assay_layer *l,
                    const char *arith, struct assay_err *err)
{
    struct form f = {0};
    struct ends e;
    int rc = two_inputs(l, err);
    if (rc)
        return rc;
    begin(&f, s, err);
    if (strcmp(arith, "dq_q") == 0) {
        rc = literal(&f, s, l, ASSAY_COMBINE_FADD, err);
        return rc ? rc : finish(&f, s, l, err);
    }
    rc = operands(s, l, &e, err);
    if (rc)
        return rc;
    if (strcmp(arith, "tflite_l20") == 0)
        add_tflite(&f, &e.a, &e.b, &e.c, 20, "q31_double");
    else if (strcmp(arith, "tflite_l20_single") == 0)
        add_tflite(&f, &e.a, &e.b, &e.c, 20, "q31_single");
    else if (strcmp(arith, "tflite_l15") == 0)
        add_tflite(&f, &e.a, &e.b, &e.c, 15, "q31_double");
    else if (strcmp(arith, "xnn") == 0)
        add_xnn(&f, &e.a, &e.b, &e.c);
    else if (strcmp(arith, "ort_fma") == 0)
        add_ort(&f, &e.a, &e.b, &e.c, true);
    else if (strcmp(arith, "ort_sse") == 0)
        add_ort(&f, &e.a, &e.b, &e.c, false);
    else if (strcmp(arith, "ort_plain") == 0 ||
             !add_pair(&f, &e.a, &e.b, &e.c, 21, 0x1p-14f,
                       ASSAY_ROUND_HALF_AWAY)) /* ort_neon and its fallback */
        add_plain(&f, &e.a, &e.b, &e.c);
    return finish(&f, s, l, err);
}

/* ---- multiplications --------------------------------------------------- */

int assay_arith_mul(struct assay_slice *s, struct assay_layer *l,
                    const char *arith, struct assay_err *err)
{
    struct form f = {0};
    struct ends e;
    int rc = two_inputs(l, err);
    if (rc)
        return rc;
    begin(&f, s, err);
    if (strcmp(arith, "dq_q") == 0) {
        rc = literal(&f, s, l, ASSAY_COMBINE_FMUL, err);
        return rc ? rc : finish(&f, s, l, err);
    }
    rc = operands(s, l, &e, err);
    if (rc)
        return rc;
    float k32 = e.a.scale * e.b.scale / e.c.scale;
    double k64 = (double)k32; /* the binary32 derivation */
    const char *policy = arith;
    if (strcmp(arith, "q31_double_f64") == 0) {
        k64 = (double)e.a.scale * (double)e.b.scale / (double)e.c.scale;
        policy = "q31_double";
    } else if (strcmp(arith, "tflite_q31_double") == 0) {
        policy = "q31_double";
    } else if (strcmp(arith, "q31_single_m24") == 0) {
        policy = "q31_single";
    }
    centre(&f, &e.a, &e.b);
    f.combine = ASSAY_COMBINE_MUL;
    if (strcmp(arith, "fp32_rne_zpin_fma") == 0) {
        assay_build_plain(&f.out, ASSAY_STEP_TO_F32, ASSAY_ROUND_FLOOR);
        assay_build_f32_pair(&f.out, ASSAY_STEP_FFMA, k32, (float)e.c.zero);
        round_zpin(&f.out, &e.c);
    } else if (assay_arith_policy(&f.out, policy, 1, &k32, &k64, &e.c)) {
        return f.out.code;
    }
    return finish(&f, s, l, err);
}
