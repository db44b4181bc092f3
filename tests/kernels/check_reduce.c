/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, of every set of axes. */
#include "tests/kernels/kcheck.h"

#include <stdlib.h>
#include <string.h>

/* What one output has seen so far. */
struct seen {
    __int128 sum;
    float float_sum;
    union assay_value most, least;
    int64_t count, where;
};

static void see(struct seen *s, union assay_value v, bool is_float)
{
    if (is_float) {
        s->float_sum = s->float_sum + v.f;
        s->most.f = s->count ? kc_naive_larger(s->most.f, v.f) : v.f;
        s->least.f = s->count ? -kc_naive_larger(-s->least.f, -v.f) : v.f;
    } else {
        s->sum += v.i;
        if (s->count == 0 || v.i > s->most.i) {
            s->most = v;
            s->where = s->count;
        }
        if (s->count == 0 || v.i < s->least.i)
            s->least = v;
    }
    s->count++;
}

static union assay_value left_of(const struct assay_reduce *p,
                                 const struct seen *s)
{
    union assay_value v = {.i = 0};

    switch (p->kind) {
    case ASSAY_REDUCE_SUM: v.i = (int64_t)s->sum; break;
    case ASSAY_REDUCE_MAX: v = s->most; break;
    case ASSAY_REDUCE_MIN: v = s->least; break;
    case ASSAY_REDUCE_ARG_MAX: v.i = s->where; break;
    case ASSAY_REDUCE_FSUM: v.f = s->float_sum; break;
    }
    return v;
}

/* Every element in stored order, to the output that its kept axes name. */
static void naive_reduce(const struct assay_reduce *p, const void *x, size_t n,
                         void *y, size_t n_y)
{
    struct seen *seen = kc_alloc(n_y * sizeof(*seen));
    size_t size = assay_dtype_size(p->y_dtype);

    for (size_t i = 0; i < n; i++) {
        int64_t rest = (int64_t)i, at = 0, step = 1;
        union assay_value v;

        for (uint32_t d = p->rank; d-- > 0; rest /= p->dims[d]) {
            if (p->axes >> d & 1)
                continue;
            at += rest % p->dims[d] * step;
            step *= p->dims[d];
        }
        assay_load_values(p->x_dtype,
                          (const uint8_t *)x + i * assay_dtype_size(p->x_dtype),
                          &v, 1);
        see(&seen[at], v, p->x_dtype == ASSAY_F32);
    }
    for (size_t i = 0; i < n_y; i++) {
        union assay_value v =
            kc_naive_program(p->out, left_of(p, &seen[i]), 0, 0);

        assay_store_values(p->y_dtype, (uint8_t *)y + i * size, &v, 1);
    }
    free(seen);
}

/* The program behind, and the type that it leaves. */
static void draw_output(struct kc *k, struct assay_reduce *p,
                        struct kc_program *out, int64_t n)
{
    static const enum assay_dtype outs[] = {ASSAY_S8, ASSAY_S16, ASSAY_S32,
                                            ASSAY_F32};
    int64_t most = p->x_dtype == ASSAY_S32 ? INT32_MAX : 65535;
    bool is_float = p->x_dtype == ASSAY_F32;

    p->y_dtype = outs[kc_range(k, 0, 3)];
    if (p->kind == ASSAY_REDUCE_SUM)
        most *= n;
    if (p->kind == ASSAY_REDUCE_SUM && kc_chance(k, 50)) {
        kc_program_begin(out, 1);
        kc_hz_program(
            k, out, KC_HZ_FIRST + KC_HZ_FORMS - 1 - (unsigned)kc_range(k, 0, 1),
            1, &p->y_dtype);
    } else if (kc_chance(k, 40)) {
        kc_random_program(k, out, 1, is_float, -most - 1, most, p->y_dtype,
                          false);
    } else { /* as it is */
        kc_program_begin(out, 1);
        p->y_dtype = p->kind == ASSAY_REDUCE_SUM       ? ASSAY_S64
                     : p->kind == ASSAY_REDUCE_ARG_MAX ? ASSAY_S32
                                                       : p->x_dtype;
    }
    p->out = &out->p;
}

static void draw_shape(struct kc *k, struct assay_reduce *p, size_t *n,
                       size_t *n_y)
{
    p->rank = (uint32_t)kc_range(k, 1, 5);
    p->axes = (uint32_t)kc_range(k, 1, (1 << p->rank) - 1);
    *n = *n_y = 1;
    for (uint32_t i = 0; i < p->rank; i++) {
        p->dims[i] = kc_range(k, 1, 6);
        if (p->rank <= 2 || (i + 1 == p->rank && kc_chance(k, 40)))
            p->dims[i] = kc_range(k, 1, 90);
        *n *= (size_t)p->dims[i];
        if (!(p->axes >> i & 1))
            *n_y *= (size_t)p->dims[i];
    }
}

static void reduce_case(struct kc *k, int64_t index)
{
    static const enum assay_dtype types[] = {ASSAY_S8, ASSAY_S16, ASSAY_U8,
                                             ASSAY_S32};
    struct assay_reduce p;
    struct kc_program out;
    struct kc_buf x, expected;
    size_t n, n_y, size;

    if (!kc_case(k, "reduce", index))
        return;
    memset(&p, 0, sizeof(p));
    p.kind = (enum assay_reduce_kind)(index % 5 + 1);
    p.x_dtype = types[kc_range(k, 0, 3)];
    if (p.kind == ASSAY_REDUCE_FSUM ||
        ((p.kind == ASSAY_REDUCE_MAX || p.kind == ASSAY_REDUCE_MIN) &&
         kc_chance(k, 25)))
        p.x_dtype = ASSAY_F32;
    draw_shape(k, &p, &n, &n_y);
    draw_output(k, &p, &out, (int64_t)(n / n_y));
    size = assay_dtype_size(p.y_dtype);
    x = kc_buf_wall(n * assay_dtype_size(p.x_dtype));
    kc_fill(k, p.x_dtype, x.data, n);
    if (p.x_dtype == ASSAY_F32 && p.kind != ASSAY_REDUCE_FSUM &&
        out.p.n_steps == 0)
        kc_special_floats(k, (float *)x.data, n, 15);
    if (p.kind == ASSAY_REDUCE_FSUM && kc_chance(k, 10))
        for (size_t i = 0; i < n; i++)
            ((float *)x.data)[i] = -0.0f; /* their sum begins at +0 */
    expected = kc_buf_new(n_y * size, 0);
    naive_reduce(&p, x.data, n, expected.data, n_y);
    snprintf(k->text, sizeof(k->text),
             "kind %d rank %u axes 0x%x %zu to %zu x%d y%d", p.kind,
             (unsigned)p.rank, (unsigned)p.axes, n, n_y, p.x_dtype, p.y_dtype);
    KC_JUDGE_COLUMN(k, k->table.reduce, &p, expected.data, n_y, x.data);
    kc_buf_free(&x);
    kc_buf_free(&expected);
    kc_program_free(&out);
}

void kc_check_reduce(struct kc *k)
{
    for (int64_t i = 0; i < (k->opt.long_run ? 10000 : 1000); i++)
        reduce_case(k, i);
}
