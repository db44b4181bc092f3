/* SPDX-License-Identifier: Apache-2.0 */
/* softmax, copy, select: scalar kernels alone, against their definitions. */
#include "tests/kernels/kcheck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 4096

/* The table form of docs/numerics.md, in doubles that hold every product. */
static int64_t table_element(const struct assay_softmax *p, const void *x,
                             size_t row, size_t col)
{
    size_t n = (size_t)p->cols, at = row * n;
    int64_t max = kc_element(p->x_dtype, x, at);
    int64_t hi = p->y_dtype == ASSAY_S8 ? 127 : 255, q;
    float sum = 0.0f, e = 0.0f;

    for (size_t i = 1; i < n; i++)
        if (kc_element(p->x_dtype, x, at + i) > max)
            max = kc_element(p->x_dtype, x, at + i);
    for (size_t i = 0; i < n; i++) {
        float f;
        uint32_t bits =
            p->table[255 - (max - kc_element(p->x_dtype, x, at + i))];

        memcpy(&f, &bits, sizeof(f));
        sum = sum + f;
        e = i == col ? f : e;
    }
    e = e * floorf(1.0f / p->y_scale);
    e = e / sum;
    q = (int64_t)rintf(e) + p->y_zero;
    return q > hi ? hi : q;
}

static void table_case(struct kc *k, int64_t index)
{
    const struct assay_softmax_kernel *ref = k->table.softmax[ASSAY_ISA_REF];
    uint8_t x[MOST], y[MOST], expected[MOST];
    uint32_t table[256];
    struct assay_softmax p = {.kind = ASSAY_SOFTMAX_TABLE, .table = table};

    if (!kc_case(k, "softmax_table", index) || !kc_wants(k, ref->name))
        return;
    p.x_dtype = p.y_dtype = kc_chance(k, 50) ? ASSAY_S8 : ASSAY_U8;
    p.rows = kc_range(k, 1, 20);
    p.cols = kc_range(k, 1, 40);
    p.y_scale = 1.0f / 256.0f;
    p.y_zero = p.y_dtype == ASSAY_S8 ? -128 : 0;
    for (int i = 0; i < 256; i++) {
        float f = expf((float)(i - 255) * 0.05f);

        memcpy(&table[i], &f, sizeof(f));
    }
    kc_fill(k, p.x_dtype, x, (size_t)(p.rows * p.cols));
    snprintf(k->text, sizeof(k->text), "table %dx%d", (int)p.rows, (int)p.cols);
    ref->run(&p, x, y);
    for (size_t i = 0; i < (size_t)(p.rows * p.cols); i++)
        expected[i] = (uint8_t)table_element(&p, x, i / (size_t)p.cols,
                                             i % (size_t)p.cols);
    kc_judge(k, ref->name, p.y_dtype, expected, y,
             (int64_t[4]){1, 1, p.rows, p.cols});
}

/* Floats: within 1e-5 of the double result, and judged as a whole. */
static void float_case(struct kc *k, int64_t index)
{
    const struct assay_softmax_kernel *ref = k->table.softmax[ASSAY_ISA_REF];
    float x[MOST / 16], y[MOST / 16];
    struct assay_softmax p = {
        .kind = ASSAY_SOFTMAX_F32, .x_dtype = ASSAY_F32, .y_dtype = ASSAY_F32};
    uint8_t bad = 0, none = 0;

    if (!kc_case(k, "softmax_float", index) || !kc_wants(k, ref->name))
        return;
    p.rows = kc_range(k, 1, 6);
    p.cols = kc_range(k, 1, 40);
    for (int64_t i = 0; i < p.rows * p.cols; i++)
        x[i] = (float)kc_range(k, -30000, 30000) / 1000.0f;
    snprintf(k->text, sizeof(k->text), "float %dx%d", (int)p.rows, (int)p.cols);
    ref->run(&p, x, y);
    for (int64_t r = 0; r < p.rows; r++) {
        double sum = 0, max = -1e9;

        for (int64_t i = 0; i < p.cols; i++)
            max = fmax(max, (double)x[r * p.cols + i]);
        for (int64_t i = 0; i < p.cols; i++)
            sum += exp((double)x[r * p.cols + i] - max);
        for (int64_t i = 0; i < p.cols; i++) {
            double e = exp((double)x[r * p.cols + i] - max) / sum;

            if (!(fabs((double)y[r * p.cols + i] - e) <= 1e-5 * e + 1e-6))
                bad = 1;
        }
    }
    kc_judge(k, ref->name, ASSAY_U8, &none, &bad, (int64_t[4]){1, 1, 1, 1});
}

void kc_check_softmax(struct kc *k)
{
    for (int64_t i = 0; i < 100; i++) {
        table_case(k, i);
        float_case(k, i);
    }
}

static void copy_case(struct kc *k, int64_t index)
{
    const struct assay_copy_kernel *ref = k->table.copy[ASSAY_ISA_REF];
    struct assay_copy p = {.rank = 1};
    static const size_t sizes[] = {1, 2, 4, 8};
    size_t n = 1, order[5] = {0, 1, 2, 3, 4};
    int64_t stride = 1;
    struct kc_buf x, y;
    uint8_t *expected;

    if (!kc_case(k, "copy", index) || !kc_wants(k, ref->name))
        return;
    p.rank = (uint32_t)kc_range(k, 1, 5);
    p.elem_size = sizes[kc_range(k, 0, 3)];
    for (uint32_t i = 0; i < p.rank; i++) {
        size_t j = (size_t)kc_range(k, 0, i), t = order[i];

        p.dims[i] = kc_range(k, 1, 6);
        n *= (size_t)p.dims[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (uint32_t i = p.rank; i-- > 0; stride *= p.dims[i])
        p.dst_strides[i] = stride;
    stride = 1;
    for (uint32_t i = 0; i < p.rank; i++) { /* a transposed source */
        p.src_strides[order[i]] = stride;
        stride *= p.dims[order[i]];
    }
    x = kc_buf_new(n * p.elem_size, 0);
    y = kc_buf_new(n * p.elem_size, 0);
    expected = kc_alloc(n * p.elem_size);
    kc_fill(k, ASSAY_U8, x.data, n * p.elem_size);
    for (size_t i = 0; i < n; i++) {
        int64_t rest = (int64_t)i, at = 0;

        for (uint32_t d = p.rank; d-- > 0; rest /= p.dims[d])
            at += rest % p.dims[d] * p.src_strides[d];
        memcpy(expected + i * p.elem_size, x.data + (size_t)at * p.elem_size,
               p.elem_size);
    }
    snprintf(k->text, sizeof(k->text), "rank %u n %zu size %zu",
             (unsigned)p.rank, n, p.elem_size);
    ref->run(&p, x.data, y.data);
    if (kc_buf_intact(k, &y, ref->name, "output"))
        kc_judge(k, ref->name, ASSAY_U8, expected, y.data,
                 (int64_t[4]){1, 1, 1, (int64_t)(n * p.elem_size)});
    kc_buf_free(&x);
    kc_buf_free(&y);
    free(expected);
}

void kc_check_copy(struct kc *k)
{
    for (int64_t i = 0; i < 200; i++)
        copy_case(k, i);
}

/* Strides of a dense operand, each axis of it there or broadcast. */
static size_t draw_operand(struct kc *k, const struct assay_select *p,
                           int64_t *strides)
{
    int64_t step = 1;

    for (uint32_t i = p->rank; i-- > 0;) {
        bool there = kc_chance(k, 70);

        strides[i] = there ? step : 0;
        step *= there ? p->dims[i] : 1;
    }
    return (size_t)step;
}

static size_t place(const struct assay_select *p, const int64_t *strides,
                    size_t i)
{
    int64_t rest = (int64_t)i, at = 0;

    for (uint32_t d = p->rank; d-- > 0; rest /= p->dims[d])
        at += rest % p->dims[d] * strides[d];
    return (size_t)at;
}

static void select_case(struct kc *k, int64_t index)
{
    const struct assay_select_kernel *ref = k->table.select[ASSAY_ISA_REF];
    static const size_t sizes[] = {1, 2, 4, 8};
    static const enum assay_dtype conditions[] = {
        ASSAY_S8, ASSAY_U8, ASSAY_S16, ASSAY_U16, ASSAY_S32, ASSAY_S64};
    struct assay_select p = {.rank = 1};
    size_t n = 1, n_c, n_a, n_b, c_size;
    struct kc_buf c, a, b, y;
    uint8_t *expected;

    if (!kc_case(k, "select", index) || !kc_wants(k, ref->name))
        return;
    p.rank = (uint32_t)kc_range(k, 1, 5);
    p.elem_size = sizes[kc_range(k, 0, 3)];
    p.condition_dtype = conditions[kc_range(k, 0, 5)];
    c_size = assay_dtype_size(p.condition_dtype);
    for (uint32_t i = 0; i < p.rank; i++) {
        p.dims[i] = kc_range(k, 1, 5);
        n *= (size_t)p.dims[i];
    }
    n_c = draw_operand(k, &p, p.c_strides);
    n_a = draw_operand(k, &p, p.a_strides);
    n_b = draw_operand(k, &p, p.b_strides);
    c = kc_buf_wall(n_c * c_size);
    a = kc_buf_wall(n_a * p.elem_size);
    b = kc_buf_wall(n_b * p.elem_size);
    y = kc_buf_new(n * p.elem_size, 0);
    memset(c.data, 0, n_c * c_size);
    for (size_t i = 0; i < n_c; i++) /* one byte of it, the last one too */
        if (kc_chance(k, 50))
            c.data[i * c_size + (size_t)kc_range(k, 0, (int64_t)c_size - 1)] =
                (uint8_t)kc_range(k, 1, 255);
    kc_fill(k, ASSAY_U8, a.data, n_a * p.elem_size);
    kc_fill(k, ASSAY_U8, b.data, n_b * p.elem_size);
    expected = kc_alloc(n * p.elem_size);
    for (size_t i = 0; i < n; i++) {
        size_t at = place(&p, p.c_strides, i);
        const uint8_t *from =
            kc_element(p.condition_dtype, c.data, at)
                ? a.data + place(&p, p.a_strides, i) * p.elem_size
                : b.data + place(&p, p.b_strides, i) * p.elem_size;

        memcpy(expected + i * p.elem_size, from, p.elem_size);
    }
    snprintf(k->text, sizeof(k->text), "rank %u n %zu size %zu condition %d",
             (unsigned)p.rank, n, p.elem_size, p.condition_dtype);
    ref->run(&p, c.data, a.data, b.data, y.data);
    if (kc_buf_intact(k, &y, ref->name, "output"))
        kc_judge(k, ref->name, ASSAY_U8, expected, y.data,
                 (int64_t[4]){1, 1, 1, (int64_t)(n * p.elem_size)});
    kc_buf_free(&c);
    kc_buf_free(&a);
    kc_buf_free(&b);
    kc_buf_free(&y);
    free(expected);
}

void kc_check_select(struct kc *k)
{
    for (int64_t i = 0; i < 200; i++)
        select_case(k, i);
}
