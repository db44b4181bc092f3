/* SPDX-License-Identifier: Apache-2.0 */
/* Maximum and average pools. */
#include "tests/kernels/kcheck.h"

#include <string.h>

/* As onnxruntime averages: to_f32, fmul, clamp, round, zero point. */
static void average_program(struct kc *k, struct kc_program *to, bool floats,
                            enum assay_dtype y)
{
    float lo = y == ASSAY_U8 ? 0.0f : -128.0f;

    kc_program_begin(to, 1);
    if (!floats)
        kc_step(to, (struct assay_step){.kind = ASSAY_STEP_TO_F32}, NULL, NULL);
    kc_float_step(
        to, ASSAY_STEP_FMUL,
        kc_chance(k, 40) ? 0.25f : (float)kc_range(k, 1, 3000) / 9000.0f, 0);
    kc_float_step(to, ASSAY_STEP_FCLAMP, lo, lo + 255.0f);
    kc_step(to,
            (struct assay_step){.kind = ASSAY_STEP_FROUND,
                                .round = ASSAY_ROUND_HALF_EVEN},
            NULL, NULL);
}

static void judge_pool(struct kc *k, const struct assay_pool *p,
                       const struct kc_buf *x)
{
    const struct assay_pool_kernel *const *column = k->table.pool;
    int64_t dims[4] = {p->n, p->oh, p->ow, p->c};
    size_t bytes = (size_t)(dims[0] * dims[1] * dims[2] * dims[3]) *
                   assay_dtype_size(p->y_dtype);
    struct kc_buf expected = kc_buf_new(bytes, 0);

    column[ASSAY_ISA_REF]->run(p, x->data, expected.data);
    kc_buf_intact(k, &expected, column[ASSAY_ISA_REF]->name, "output");
    if (kc_wants(k, column[ASSAY_ISA_REF]->name)) {
        struct kc_buf direct = kc_buf_new(bytes, 0);

        kc_naive_pool(p, x->data, direct.data);
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

static void draw_pool(struct kc *k, struct assay_pool *p)
{
    p->n = kc_chance(k, 20) ? 2 : 1;
    p->h = (int32_t)kc_range(k, 1, 9);
    p->w = (int32_t)kc_range(k, 1, 9);
    p->c = (int32_t)kc_range(k, 1, kc_chance(k, 30) ? 70 : 19);
    p->kh = (int32_t)kc_range(k, 1, 4);
    p->kw = (int32_t)kc_range(k, 1, 4);
    p->stride_h = (int32_t)kc_range(k, 1, 3);
    p->stride_w = (int32_t)kc_range(k, 1, 3);
    p->dilation_h = kc_chance(k, 80) ? 1 : 2;
    p->dilation_w = kc_chance(k, 80) ? 1 : 2;
    p->pad_top = (int32_t)kc_range(k, 0, 2);
    p->pad_left = (int32_t)kc_range(k, 0, 2);
    if (kc_chance(k, 20)) { /* global */
        p->kh = p->h;
        p->kw = p->w;
        p->pad_top = p->pad_left = 0;
    }
    p->oh = p->ow = 1;
    if (p->h + p->pad_top + 1 > (p->kh - 1) * p->dilation_h + 1)
        p->oh = (p->h + p->pad_top + 1 - (p->kh - 1) * p->dilation_h - 1) /
                    p->stride_h +
                1;
    if (p->w + p->pad_left + 1 > (p->kw - 1) * p->dilation_w + 1)
        p->ow = (p->w + p->pad_left + 1 - (p->kw - 1) * p->dilation_w - 1) /
                    p->stride_w +
                1;
}

/* As the vendor's: a floored average, or a global one. */
static void fixed_program(struct kc *k, struct assay_pool *p,
                          struct kc_program *to)
{
    unsigned gap = KC_HZ_FIRST + KC_HZ_FORMS - 1;
    int64_t shift = kc_range(k, 4, 16);

    kc_program_begin(to, 1);
    if (kc_chance(k, 50)) {
        kc_hz_program(k, to, gap, 1, &p->y_dtype);
        return;
    }
    kc_int_step(to, ASSAY_STEP_MUL, (1 << shift) / (p->kh * p->kw));
    kc_int_step(to, ASSAY_STEP_SHR, shift); /* floor */
    p->y_dtype = kc_chance(k, 70) ? ASSAY_S8 : ASSAY_S16;
    kc_step(to,
            (struct assay_step){.kind = ASSAY_STEP_SAT,
                                .bits = p->y_dtype == ASSAY_S8 ? 8 : 16},
            NULL, NULL);
}

/* The program behind the pool. */
static void output_program(struct kc *k, struct assay_pool *p,
                           struct kc_program *to)
{
    bool floats = p->div == ASSAY_DIV_F32 || p->sum == ASSAY_SUM_F32;

    if (p->kind == ASSAY_POOL_MAX) {
        kc_program_begin(to, 1);
        return;
    }
    if (p->y_dtype == ASSAY_S16)
        p->y_dtype = ASSAY_S8;
    if (floats)
        average_program(k, to, true, p->y_dtype);
    else if (kc_chance(k, 30))
        kc_random_program(k, to, (size_t)p->c, false,
                          p->x_dtype == ASSAY_S16 ? -(1 << 22) : -8192,
                          p->x_dtype == ASSAY_S16 ? 1 << 22 : 8192, p->y_dtype,
                          false);
    else if (kc_chance(k, 60))
        fixed_program(k, p, to);
    else
        average_program(k, to, false, p->y_dtype);
}

static void pool_case(struct kc *k, int64_t index)
{
    struct assay_pool p;
    struct kc_program cell, out;
    struct kc_buf x;
    size_t n;

    if (!kc_case(k, "pool", index))
        return;
    memset(&p, 0, sizeof(p));
    draw_pool(k, &p);
    p.kind = index % 2 ? ASSAY_POOL_AVG : ASSAY_POOL_MAX;
    p.x_dtype = kc_chance(k, 45)   ? ASSAY_S8
                : kc_chance(k, 50) ? ASSAY_U8
                                   : ASSAY_S16;
    p.y_dtype = p.x_dtype;
    p.sum = (enum assay_pool_sum)(index / 2 % 3);
    p.div = kc_chance(k, 60) ? ASSAY_DIV_NONE : ASSAY_DIV_F32;
    p.count_include_pad = kc_chance(k, 30);
    p.x_zero = (int32_t)kc_range(k, p.x_dtype == ASSAY_U8 ? 0 : -128, 127);
    kc_program_begin(&cell, 1);
    kc_int_step(&cell, ASSAY_STEP_ADD, -(int64_t)p.x_zero);
    kc_step(&cell, (struct assay_step){.kind = ASSAY_STEP_TO_F32}, NULL, NULL);
    kc_float_step(&cell, ASSAY_STEP_FMUL, 0.037f, 0);
    output_program(k, &p, &out);
    p.cell = &cell.p;
    p.out = &out.p;
    snprintf(k->text, sizeof(k->text),
             "kind %d n%d %dx%dx%d k%dx%d s%d,%d d%d,%d p%d,%d sum %d div %d "
             "x%d y%d %u steps",
             p.kind, p.n, p.h, p.w, p.c, p.kh, p.kw, p.stride_h, p.stride_w,
             p.dilation_h, p.dilation_w, p.pad_top, p.pad_left, p.sum, p.div,
             p.x_dtype, p.y_dtype, (unsigned)out.p.n_steps);
    n = (size_t)p.n * (size_t)p.h * (size_t)p.w * (size_t)p.c;
    x = kc_buf_wall(n * assay_dtype_size(p.x_dtype));
    kc_fill(k, p.x_dtype, x.data, n);
    judge_pool(k, &p, &x);
    kc_buf_free(&x);
    kc_program_free(&cell);
    kc_program_free(&out);
}

void kc_check_pool(struct kc *k)
{
    for (int64_t i = 0; i < (k->opt.long_run ? 10000 : 900); i++)
        pool_case(k, i);
}
