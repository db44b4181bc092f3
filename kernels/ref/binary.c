/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two operands, each through its program, joined, then the output program;
 * with broadcast by strides of 0. The definition.
 */
#include "kernels/kernels.h"

#define BLOCK 256

static bool supports(const struct assay_binary *p)
{
    return p->rank >= 1 && p->rank <= ASSAY_KERNEL_RANK &&
           assay_dtype_size(p->a_dtype) != 0 &&
           assay_dtype_size(p->b_dtype) != 0 &&
           assay_dtype_size(p->y_dtype) != 0;
}

static bool per_tensor(const struct assay_program *p)
{
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].n > 1)
            return false;
    return true;
}

/*
 * Joins the last dimensions where both operands step evenly through them, so
 * that blocks are long. The length of the last one is the channel count, so
 * nothing is joined when an operand is per channel.
 */
static void join(struct assay_binary *q)
{
    if (!per_tensor(q->pa) || !per_tensor(q->pb) || !per_tensor(q->out))
        return;
    while (q->rank > 1) {
        uint32_t i = q->rank - 1;
        if (q->a_strides[i - 1] != q->a_strides[i] * q->dims[i] ||
            q->b_strides[i - 1] != q->b_strides[i] * q->dims[i])
            return;
        q->dims[i - 1] *= q->dims[i];
        q->a_strides[i - 1] = q->a_strides[i];
        q->b_strides[i - 1] = q->b_strides[i];
        q->rank--;
    }
}

static void load(enum assay_dtype dtype, const void *src, int64_t at,
                 int64_t stride, union assay_value *v, size_t n)
{
    size_t size = assay_dtype_size(dtype);
    const char *from = (const char *)src + (size_t)at * size;
    if (stride == 1) {
        assay_load_values(dtype, from, v, n);
        return;
    }
    if (stride == 0) {
        assay_load_values(dtype, from, v, 1);
        for (size_t k = 1; k < n; k++)
            v[k] = v[0];
        return;
    }
    for (size_t k = 0; k < n; k++)
        assay_load_values(dtype, from + k * (size_t)stride * size, &v[k], 1);
}

/* One run of the last dimension; a, b and y are element offsets. */
static void run_row(const struct assay_binary *p, const void *a, int64_t a_at,
                    const void *b, int64_t b_at, void *y, size_t y_at)
{
    union assay_value va[BLOCK], vb[BLOCK];
    size_t length = (size_t)p->dims[p->rank - 1];
    int64_t sa = p->a_strides[p->rank - 1], sb = p->b_strides[p->rank - 1];
    size_t y_size = assay_dtype_size(p->y_dtype);
    for (size_t at = 0; at < length; at += BLOCK) {
        size_t n = length - at < BLOCK ? length - at : BLOCK;
        struct assay_block block = {.n = n, .channel = at, .channels = length};
        load(p->a_dtype, a, a_at + (int64_t)at * sa, sa, va, n);
        load(p->b_dtype, b, b_at + (int64_t)at * sb, sb, vb, n);
        block.v = va;
        assay_program_run(p->pa, &block);
        block.v = vb;
        assay_program_run(p->pb, &block);
        assay_combine(p->combine, p->k, va, vb, n);
        block.v = va;
        assay_program_run(p->out, &block);
        assay_store_values(p->y_dtype, (char *)y + (y_at + at) * y_size, va, n);
    }
}

static void run(const struct assay_binary *p, const void *a, const void *b,
                void *y)
{
    struct assay_binary q = *p;
    int64_t index[ASSAY_KERNEL_RANK] = {0};
    int64_t a_at = 0, b_at = 0;
    size_t y_at = 0;
    join(&q);
    for (;;) {
        run_row(&q, a, a_at, b, b_at, y, y_at);
        y_at += (size_t)q.dims[q.rank - 1];
        uint32_t i = q.rank - 1;
        for (;;) {
            if (i == 0)
                return;
            i--;
            a_at += q.a_strides[i];
            b_at += q.b_strides[i];
            if (++index[i] < q.dims[i])
                break;
            a_at -= q.a_strides[i] * q.dims[i];
            b_at -= q.b_strides[i] * q.dims[i];
            index[i] = 0;
        }
    }
}

const struct assay_binary_kernel assay_binary__ref = {
    .name = "assay_binary__ref",
    .isa = ASSAY_ISA_REF,
    .supports = supports,
    .run = run,
};
