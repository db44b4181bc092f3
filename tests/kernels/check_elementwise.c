/* SPDX-License-Identifier: Apache-2.0 */
/* unary and binary. */
#include "tests/kernels/kcheck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const enum assay_dtype DTYPES[] = {ASSAY_S8, ASSAY_U8, ASSAY_S16,
                                          ASSAY_S32, ASSAY_F32};

static int64_t bound_of(enum assay_dtype t)
{
    return t == ASSAY_S32 ? INT32_MAX : t == ASSAY_S16 ? 32768 : 256;
}

static union assay_value load_one(enum assay_dtype t, const void *x, size_t at)
{
    union assay_value v = {.i = 0};

    assay_load_values(t, (const uint8_t *)x + at * assay_dtype_size(t), &v, 1);
    return v;
}

static void store_one(enum assay_dtype t, void *y, size_t at,
                      union assay_value v)
{
    assay_store_values(t, (uint8_t *)y + at * assay_dtype_size(t), &v, 1);
}

/* ---- unary ---------------------------------------------------------------*/

static void judge_unary(struct kc *k, const struct assay_unary *p,
                        const struct kc_buf *x)
{
    const struct assay_unary_kernel *const *column = k->table.unary;
    size_t bytes = p->n * assay_dtype_size(p->y_dtype);
    int64_t dims[4] = {1, 1, (int64_t)(p->n / p->channels),
                       (int64_t)p->channels};
    struct kc_buf expected = kc_buf_new(bytes, 0);

    column[ASSAY_ISA_REF]->run(p, x->data, expected.data);
    kc_buf_intact(k, &expected, column[ASSAY_ISA_REF]->name, "output");
    if (kc_wants(k, column[ASSAY_ISA_REF]->name)) {
        struct kc_buf direct = kc_buf_new(bytes, 0);

        for (size_t i = 0; i < p->n; i++)
            store_one(p->y_dtype, direct.data, i,
                      kc_naive_program(p->program,
                                       load_one(p->x_dtype, x->data, i),
                                       i % p->channels, 0));
        kc_judge(k, column[ASSAY_ISA_REF]->name, p->y_dtype, direct.data,
                 expected.data, dims);
        kc_buf_free(&direct);
    }
    for (int i = ASSAY_ISA_REF + 1; i < ASSAY_ISA_COUNT; i++) {
        struct kc_buf got;

        if (!column[i] || !column[i]->supports(p) ||
            !kc_wants(k, column[i]->name))
            continue;
        got = kc_buf_new(bytes, 0);
        column[i]->run(p, x->data, got.data);
        if (kc_buf_intact(k, &got, column[i]->name, "output"))
            kc_judge(k, column[i]->name, p->y_dtype, expected.data, got.data,
                     dims);
        kc_buf_free(&got);
    }
    kc_buf_free(&expected);
}

static void unary_case(struct kc *k, int64_t index)
{
    struct assay_unary p;
    struct kc_program program;
    struct kc_buf x;
    int64_t bound;

    if (!kc_case(k, "unary", index))
        return;
    memset(&p, 0, sizeof(p));
    p.x_dtype = kc_chance(k, 60) ? DTYPES[kc_range(k, 0, 1)]
                                 : DTYPES[kc_range(k, 0, 4)];
    p.y_dtype = kc_chance(k, 60) ? DTYPES[kc_range(k, 0, 1)]
                                 : DTYPES[kc_range(k, 0, 4)];
    p.channels = kc_chance(k, 50) ? 1 : (size_t)kc_range(k, 1, 33);
    p.n = p.channels *
          (size_t)kc_range(k, 1, kc_chance(k, 50) ? 10 : 900 / (int)p.channels);
    bound = bound_of(p.x_dtype);
    kc_random_program(k, &program, p.channels, p.x_dtype == ASSAY_F32,
                      -bound - 1, bound, p.y_dtype, false);
    p.program = &program.p;
    snprintf(k->text, sizeof(k->text), "n %zu channels %zu x%d y%d %u steps",
             p.n, p.channels, p.x_dtype, p.y_dtype,
             (unsigned)program.p.n_steps);
    x = kc_buf_wall(p.n * assay_dtype_size(p.x_dtype));
    kc_fill(k, p.x_dtype, x.data, p.n);
    judge_unary(k, &p, &x);
    kc_buf_free(&x);
    kc_program_free(&program);
}

void kc_check_unary(struct kc *k)
{
    for (int64_t i = 0; i < (k->opt.long_run ? 10000 : 600); i++)
        unary_case(k, i);
}

/* ---- binary --------------------------------------------------------------*/

struct binary_case {
    struct assay_binary p;
    struct kc_program a, b, out;
    struct kc_buf xa, xb;
    size_t n; /* outputs */
    const char *name;
};

/* clamp, round, and sometimes a zero point and a clamp of integers. */
static void float_output(struct kc *k, struct binary_case *c, float lo)
{
    kc_float_step(&c->out, ASSAY_STEP_FCLAMP, lo, lo + 255.0f);
    kc_step(&c->out,
            (struct assay_step){.kind = ASSAY_STEP_FROUND,
                                .round = ASSAY_ROUND_HALF_EVEN},
            NULL, NULL);
    if (kc_chance(k, 40)) {
        int64_t a = (int64_t)lo, b = a + 255;

        kc_int_step(&c->out, ASSAY_STEP_ADD_ZP, kc_range(k, -255, 255));
        kc_step(&c->out, (struct assay_step){.kind = ASSAY_STEP_CLAMP}, &a, &b);
    }
}

/* Scales and zero points of a quantized addition or product. */
static void float_form(struct kc *k, struct binary_case *c, unsigned form)
{
    float ra = (float)kc_range(k, 1, 4000) / 1000.0f;
    float rb = kc_chance(k, 30) ? 0.5f : (float)kc_range(k, 1, 4000) / 1000.0f;
    float lo = c->p.y_dtype == ASSAY_U8 ? 0.0f : -128.0f;
    float za = (float)kc_range(k, -128, 255);
    int64_t zp = kc_range(k, (int64_t)lo, (int64_t)lo + 255);
    bool ints = form >= 3;

    if (kc_chance(k, 50)) { /* sums that one rounding takes off a tie */
        ra = 1.0f / (float)(2 * kc_range(k, 1, 6) + 1);
        za = 0.5f - (float)kc_range(k, 0, 80);
        rb = ldexpf(1.0f, (int)kc_range(k, -2, 1));
    }

    kc_program_begin(&c->a, 1);
    kc_program_begin(&c->b, 1);
    kc_program_begin(&c->out, 1);
    if (form == 2 || ints) {
        kc_int_step(&c->a, ASSAY_STEP_ADD, kc_range(k, -255, 128));
        kc_int_step(&c->b, ASSAY_STEP_ADD, kc_range(k, -255, 128));
    }
    if (!ints) {
        kc_step(&c->a, (struct assay_step){.kind = ASSAY_STEP_TO_F32}, NULL,
                NULL);
        kc_step(&c->b, (struct assay_step){.kind = ASSAY_STEP_TO_F32}, NULL,
                NULL);
    }
    c->p.combine = ASSAY_COMBINE_FADD;
    if (form == 0) { /* ort_fma */
        kc_float_step(&c->a, ASSAY_STEP_FFMA, ra, za);
        c->p.combine = ASSAY_COMBINE_FFMA;
        c->p.k = rb;
    } else if (form == 1) { /* ort_sse */
        kc_float_step(&c->a, ASSAY_STEP_FMUL, ra, 0);
        kc_float_step(&c->a, ASSAY_STEP_FADD, za, 0);
        kc_float_step(&c->b, ASSAY_STEP_FMUL, rb, 0);
    } else if (form == 2) { /* dq_q of any operation */
        kc_float_step(&c->a, ASSAY_STEP_FMUL, ra, 0);
        kc_float_step(&c->b, ASSAY_STEP_FMUL, rb, 0);
        c->p.combine = (enum assay_combine)kc_range(k, ASSAY_COMBINE_FADD,
                                                    ASSAY_COMBINE_FDIV);
        kc_float_step(&c->out, ASSAY_STEP_FDIV, ra * 0.75f, 0);
    } else { /* a product or sum of integers, zero point inside */
        c->p.combine = (enum assay_combine)kc_range(k, ASSAY_COMBINE_ADD,
                                                    ASSAY_COMBINE_MUL);
        kc_step(&c->out, (struct assay_step){.kind = ASSAY_STEP_TO_F32}, NULL,
                NULL);
        kc_float_step(&c->out, ASSAY_STEP_FMUL, rb / 64.0f, 0);
        kc_float_step(&c->out, ASSAY_STEP_FADD, (float)zp, 0);
    }
    float_output(k, c, lo);
}

/* shr [sat 16] add_zp [sat 16] clamp */
static void shift_output(struct kc *k, struct binary_case *c)
{
    int64_t shift = kc_range(k, 1, kc_chance(k, 70) ? 22 : 31);
    int64_t lo = c->p.y_dtype == ASSAY_U8 ? 0 : INT8_MIN, hi = lo + 255;
    static const uint8_t rounds[] = {ASSAY_ROUND_HALF_UP,
                                     ASSAY_ROUND_HALF_AWAY};
    struct assay_step sat = {.kind = ASSAY_STEP_SAT, .bits = 16};

    kc_program_begin(&c->out, 1);
    kc_step(&c->out,
            (struct assay_step){.kind = ASSAY_STEP_SHR,
                                .round = kc_chance(k, 80)
                                             ? rounds[kc_range(k, 0, 1)]
                                             : (uint8_t)kc_range(k, 0, 7)},
            &shift, NULL);
    if (kc_chance(k, 50))
        kc_step(&c->out, sat, NULL, NULL);
    kc_int_step(&c->out, ASSAY_STEP_ADD_ZP, kc_range(k, -128, 127));
    if (kc_chance(k, 50))
        kc_step(&c->out, sat, NULL, NULL);
    kc_step(&c->out, (struct assay_step){.kind = ASSAY_STEP_CLAMP}, &lo, &hi);
}

/* Integer multipliers, one shift (xnn, ort_neon), or any programs. */
static void integer_form(struct kc *k, struct binary_case *c, bool any)
{
    size_t last = (size_t)c->p.dims[c->p.rank - 1];
    int64_t ba = bound_of(c->p.a_dtype), bb = bound_of(c->p.b_dtype);
    bool tie = kc_chance(k, 40);

    if (any) {
        kc_random_program(k, &c->a, last, c->p.a_dtype == ASSAY_F32, -ba - 1,
                          ba, ASSAY_S16, false);
        kc_random_program(k, &c->b, last, c->p.b_dtype == ASSAY_F32, -bb - 1,
                          bb, ASSAY_S16, false);
    } else {
        kc_program_begin(&c->a, 1);
        kc_program_begin(&c->b, 1);
        kc_int_step(&c->a, ASSAY_STEP_ADD, kc_range(k, -255, 255));
        kc_int_step(&c->a, ASSAY_STEP_MUL,
                    tie ? 1 << 20 : kc_range(k, 1, 1 << 22));
        kc_int_step(&c->b, ASSAY_STEP_MUL,
                    tie ? 1 << 19 : kc_range(k, 1, 1 << 22));
    }
    c->p.combine =
        (enum assay_combine)kc_range(k, ASSAY_COMBINE_ADD, ASSAY_COMBINE_SUB);
    if (any) {
        kc_random_program(k, &c->out, last, false, -70000, 70000, c->p.y_dtype,
                          false);
        return;
    }
    shift_output(k, c);
}

/* The larger or the smaller one, of integers or of floats. */
static void extreme_form(struct kc *k, struct binary_case *c)
{
    bool more = kc_chance(k, 50), stored = kc_chance(k, 50);

    if (kc_chance(k, 30) || (stored && c->p.a_dtype == ASSAY_F32)) {
        c->p.a_dtype = c->p.b_dtype = ASSAY_F32;
        kc_program_begin(&c->a, 1);
        kc_program_begin(&c->b, 1);
        kc_program_begin(&c->out, 1);
        c->p.y_dtype = ASSAY_F32;
        c->p.combine = more ? ASSAY_COMBINE_FMAX : ASSAY_COMBINE_FMIN;
        return;
    }
    if (stored) {
        c->p.b_dtype = c->p.y_dtype = c->p.a_dtype;
        kc_program_begin(&c->a, 1);
        kc_program_begin(&c->b, 1);
        kc_program_begin(&c->out, 1);
    } else {
        integer_form(k, c, true);
    }
    c->p.combine = more ? ASSAY_COMBINE_MAX : ASSAY_COMBINE_MIN;
}

/* Strides of an operand that is dense but for some broadcast dimensions. */
static size_t draw_strides(struct kc *k, const struct assay_binary *p,
                           int64_t *strides, unsigned percent)
{
    int64_t n = 1;

    for (uint32_t i = p->rank; i-- > 0;) {
        bool same = kc_chance(k, percent);

        strides[i] = same ? 0 : n;
        n *= same ? 1 : p->dims[i];
    }
    return (size_t)n;
}

static void naive_binary(const struct binary_case *c, void *y)
{
    const struct assay_binary *p = &c->p;
    size_t last = (size_t)p->dims[p->rank - 1];

    for (size_t i = 0; i < c->n; i++) {
        int64_t rest = (int64_t)i, at_a = 0, at_b = 0;
        union assay_value a, b;

        for (uint32_t d = p->rank; d-- > 0; rest /= p->dims[d]) {
            at_a += rest % p->dims[d] * p->a_strides[d];
            at_b += rest % p->dims[d] * p->b_strides[d];
        }
        a = kc_naive_program(
            p->pa, load_one(p->a_dtype, c->xa.data, (size_t)at_a), i % last, 0);
        b = kc_naive_program(
            p->pb, load_one(p->b_dtype, c->xb.data, (size_t)at_b), i % last, 0);
        switch (p->combine) {
        case ASSAY_COMBINE_ADD: a.i += b.i; break;
        case ASSAY_COMBINE_SUB: a.i -= b.i; break;
        case ASSAY_COMBINE_MUL: a.i *= b.i; break;
        case ASSAY_COMBINE_FADD: a.f += b.f; break;
        case ASSAY_COMBINE_FSUB: a.f -= b.f; break;
        case ASSAY_COMBINE_FMUL: a.f *= b.f; break;
        case ASSAY_COMBINE_FDIV: a.f /= b.f; break;
        case ASSAY_COMBINE_FFMA: a.f = fmaf(b.f, p->k, a.f); break;
        case ASSAY_COMBINE_MAX: a.i = b.i > a.i ? b.i : a.i; break;
        case ASSAY_COMBINE_MIN: a.i = b.i < a.i ? b.i : a.i; break;
        case ASSAY_COMBINE_FMAX: a.f = kc_naive_larger(a.f, b.f); break;
        case ASSAY_COMBINE_FMIN: a.f = -kc_naive_larger(-a.f, -b.f); break;
        }
        store_one(p->y_dtype, y, i, kc_naive_program(p->out, a, i % last, 0));
    }
}

static void judge_binary(struct kc *k, const struct binary_case *c)
{
    const struct assay_binary_kernel *const *column = k->table.binary;
    const struct assay_binary *p = &c->p;
    size_t bytes = c->n * assay_dtype_size(p->y_dtype);
    int64_t last = p->dims[p->rank - 1];
    int64_t dims[4] = {1, 1, (int64_t)c->n / last, last};
    struct kc_buf expected = kc_buf_new(bytes, 0);

    column[ASSAY_ISA_REF]->run(p, c->xa.data, c->xb.data, expected.data);
    kc_buf_intact(k, &expected, column[ASSAY_ISA_REF]->name, "output");
    if (kc_wants(k, column[ASSAY_ISA_REF]->name)) {
        struct kc_buf direct = kc_buf_new(bytes, 0);

        naive_binary(c, direct.data);
        kc_judge(k, column[ASSAY_ISA_REF]->name, p->y_dtype, direct.data,
                 expected.data, dims);
        kc_buf_free(&direct);
    }
    for (int i = ASSAY_ISA_REF + 1; i < ASSAY_ISA_COUNT; i++) {
        struct kc_buf got;

        if (!column[i] || !column[i]->supports(p) ||
            !kc_wants(k, column[i]->name))
            continue;
        got = kc_buf_new(bytes, 0);
        column[i]->run(p, c->xa.data, c->xb.data, got.data);
        if (kc_buf_intact(k, &got, column[i]->name, "output"))
            kc_judge(k, column[i]->name, p->y_dtype, expected.data, got.data,
                     dims);
        kc_buf_free(&got);
    }
    kc_buf_free(&expected);
}

/* Forms of a case: 0..3 float_form, then these. */
enum { INTEGER = 4, ANY, HZ, EXTREME, FORMS };

static void draw_dtypes(struct kc *k, struct assay_binary *p, unsigned form)
{
    static const enum assay_dtype hz[] = {ASSAY_S8, ASSAY_S16, ASSAY_S32};
    int64_t most = form == ANY || form == EXTREME ? 4 : 1;

    p->a_dtype = DTYPES[kc_range(k, 0, most)];
    p->b_dtype = DTYPES[kc_range(k, 0, most)];
    p->y_dtype = DTYPES[kc_range(k, 0, most)];
    if (form != HZ)
        return;
    p->a_dtype = hz[kc_range(k, 0, 1)];
    p->b_dtype = hz[kc_range(k, 0, 1)];
    p->y_dtype = hz[kc_range(k, 0, kc_chance(k, 90) ? 1 : 2)];
}

static void binary_case(struct kc *k, int64_t index)
{
    struct binary_case c;
    unsigned form = (unsigned)(index % FORMS);
    size_t na, nb;

    if (!kc_case(k, "binary", index))
        return;
    memset(&c, 0, sizeof(c));
    draw_dtypes(k, &c.p, form);
    c.p.rank = (uint32_t)kc_range(k, 1, 4);
    c.n = 1;
    for (uint32_t i = 0; i < c.p.rank; i++) {
        c.p.dims[i] = kc_range(k, 1, i + 1 == c.p.rank ? 40 : 5);
        c.n *= (size_t)c.p.dims[i];
    }
    na = draw_strides(k, &c.p, c.p.a_strides, 8);
    nb = draw_strides(k, &c.p, c.p.b_strides, kc_chance(k, 50) ? 40 : 0);
    if (form < 4)
        float_form(k, &c, form);
    else if (form == HZ)
        kc_hz_binary(k, &c.a, &c.b, &c.out, (size_t)c.p.dims[c.p.rank - 1],
                     &c.p.combine, c.p.y_dtype,
                     c.p.a_dtype == ASSAY_S16 || c.p.b_dtype == ASSAY_S16);
    else if (form == EXTREME)
        extreme_form(k, &c);
    else
        integer_form(k, &c, form == ANY);
    c.p.pa = &c.a.p;
    c.p.pb = &c.b.p;
    c.p.out = &c.out.p;
    snprintf(k->text, sizeof(k->text), "form %u rank %u n %zu a%d b%d y%d",
             form, (unsigned)c.p.rank, c.n, c.p.a_dtype, c.p.b_dtype,
             c.p.y_dtype);
    c.xa = kc_buf_wall(na * assay_dtype_size(c.p.a_dtype));
    c.xb = kc_buf_wall(nb * assay_dtype_size(c.p.b_dtype));
    kc_fill(k, c.p.a_dtype, c.xa.data, na);
    kc_fill(k, c.p.b_dtype, c.xb.data, nb);
    if (c.p.combine >= ASSAY_COMBINE_FMAX) {
        kc_special_floats(k, (float *)c.xa.data, na, 40);
        kc_special_floats(k, (float *)c.xb.data, nb, 40);
    }
    judge_binary(k, &c);
    kc_buf_free(&c.xa);
    kc_buf_free(&c.xb);
    kc_program_free(&c.a);
    kc_program_free(&c.b);
    kc_program_free(&c.out);
}

void kc_check_binary(struct kc *k)
{
    for (int64_t i = 0; i < (k->opt.long_run ? 12000 : 900); i++)
        binary_case(k, i);
}
