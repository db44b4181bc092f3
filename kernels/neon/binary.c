/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two operands. 8-bit operands with float programs of a few steps (the adds
 * and products of onnxruntime) stay in registers, sixteen elements at a time;
 * everything else goes through the vector interpreter, 256 at a time.
 */
#include <arm_neon.h>
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/neon/chain.h"
#include "kernels/neon/vector.h"

#define CHUNK 256u

/* Joins trailing dimensions that both operands step evenly through. */
static void join(struct assay_binary *q)
{
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

static bool per_tensor(const struct assay_program *p)
{
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].n > 1)
            return false;
    return true;
}

static void load(enum assay_dtype dtype, const uint8_t *src, int64_t stride,
                 union assay_value *v, size_t n)
{
    if (stride == 1) {
        assay_load_values(dtype, src, v, n);
        return;
    }
    assay_load_values(dtype, src, v, 1);
    for (size_t k = 1; k < n; k++)
        v[k] = v[0];
}

#define EACH_4(op) \
    for (size_t k = 0; k < m; k += 4) \
    vst1q_f32(x + k, op(vld1q_f32(x + k), vld1q_f32(y + k)))

static bool joins_floats(enum assay_combine how)
{
    return how >= ASSAY_COMBINE_FADD && how != ASSAY_COMBINE_MAX &&
           how != ASSAY_COMBINE_MIN;
}

/* The float combinations in vectors. */
static void combine_f32(const struct assay_binary *p, union assay_value *a,
                        const union assay_value *b, size_t n)
{
    float x[CHUNK], y[CHUNK];
    size_t m = (n + 3) & ~(size_t)3;

    for (size_t k = 0; k < m; k++) {
        x[k] = k < n ? a[k].f : 0.0f;
        y[k] = k < n ? b[k].f : 0.0f;
    }
    switch (p->combine) {
    case ASSAY_COMBINE_FADD: EACH_4(vaddq_f32); break;
    case ASSAY_COMBINE_FSUB: EACH_4(vsubq_f32); break;
    case ASSAY_COMBINE_FMUL: EACH_4(vmulq_f32); break;
    case ASSAY_COMBINE_FDIV: EACH_4(vdivq_f32); break;
    case ASSAY_COMBINE_FMAX: EACH_4(vmaxq_f32); break;
    case ASSAY_COMBINE_FMIN: EACH_4(vminq_f32); break;
    default: /* FFMA */
        for (size_t k = 0; k < m; k += 4)
            vst1q_f32(x + k,
                      vfmaq_n_f32(vld1q_f32(x + k), vld1q_f32(y + k), p->k));
        break;
    }
    for (size_t k = 0; k < n; k++)
        a[k].f = x[k];
}

static void row_values(const struct assay_binary *p, const uint8_t *a,
                       const uint8_t *b, uint8_t *y)
{
    size_t a_size = assay_dtype_size(p->a_dtype);
    size_t b_size = assay_dtype_size(p->b_dtype);
    size_t y_size = assay_dtype_size(p->y_dtype);
    size_t length = (size_t)p->dims[p->rank - 1];
    int64_t sa = p->a_strides[p->rank - 1], sb = p->b_strides[p->rank - 1];
    union assay_value va[CHUNK], vb[CHUNK];

    for (size_t at = 0; at < length; at += CHUNK) {
        size_t n = length - at < CHUNK ? length - at : CHUNK;
        struct assay_block block = {.n = n, .channel = at, .channels = length};

        load(p->a_dtype, a + (sa ? at * a_size : 0), sa, va, n);
        load(p->b_dtype, b + (sb ? at * b_size : 0), sb, vb, n);
        block.v = va;
        assay_program_vector(p->pa, &block);
        block.v = vb;
        assay_program_vector(p->pb, &block);
        if (joins_floats(p->combine))
            combine_f32(p, va, vb, n);
        else
            assay_combine(p->combine, p->k, va, vb, n);
        block.v = va;
        assay_program_vector(p->out, &block);
        assay_store_values(p->y_dtype, y + at * y_size, va, n);
    }
}

/* The three programs as chains, where all of them are. */
struct chains {
    struct assay_chain a, b, out;
};

/* Bounds of the joined integers. */
static void bounds_of(const struct assay_binary *p, const struct chains *c,
                      int64_t *low, int64_t *high)
{
    int64_t a = c->a.low, b = c->a.high, x = c->b.low, y = c->b.high;

    if (p->combine == ASSAY_COMBINE_ADD) {
        *low = a + x;
        *high = b + y;
    } else if (p->combine == ASSAY_COMBINE_SUB) {
        *low = a - y;
        *high = b - x;
    } else if (p->combine == ASSAY_COMBINE_MAX ||
               p->combine == ASSAY_COMBINE_MIN) {
        *low = a < x ? a : x;
        *high = b > y ? b : y;
    } else {
        int64_t most = (a < 0 ? -a : a) > (b < 0 ? -b : b) ? a : b;
        int64_t other = (x < 0 ? -x : x) > (y < 0 ? -y : y) ? x : y;

        most = most < 0 ? -most : most;
        other = other < 0 ? -other : other;
        *high = most * other;
        *low = -*high;
    }
}

static bool chains_of(const struct assay_binary *p, struct chains *c)
{
    bool joins_ints = !joins_floats(p->combine);
    int64_t low, high;

    if (!assay_chain_operand(&c->a, p->pa, p->a_dtype, !joins_ints) ||
        !assay_chain_operand(&c->b, p->pb, p->b_dtype, !joins_ints))
        return false;
    if (joins_ints) {
        bounds_of(p, c, &low, &high);
        if (low < INT32_MIN || high > INT32_MAX)
            return false;
        if (assay_chain_shift(&c->out, p->out, p->y_dtype, low, high))
            return true;
    }
    return assay_chain_output(&c->out, p->out, p->y_dtype, joins_ints);
}

ASSAY_CHAIN_INLINE struct assay_quads combine_quads(
    const struct assay_binary *p, struct assay_quads a, struct assay_quads b)
{
    struct assay_quads r = a;

#define INTS(op) \
    for (int i = 0; i < 4; i++) \
    r.i[i] = op(a.i[i], b.i[i])
#define FLOATS(op) \
    for (int i = 0; i < 4; i++) \
    r.f[i] = op(a.f[i], b.f[i])
    switch (p->combine) {
    case ASSAY_COMBINE_ADD: INTS(vaddq_s32); break;
    case ASSAY_COMBINE_SUB: INTS(vsubq_s32); break;
    case ASSAY_COMBINE_MUL: INTS(vmulq_s32); break;
    case ASSAY_COMBINE_FADD: FLOATS(vaddq_f32); break;
    case ASSAY_COMBINE_FSUB: FLOATS(vsubq_f32); break;
    case ASSAY_COMBINE_FMUL: FLOATS(vmulq_f32); break;
    case ASSAY_COMBINE_FDIV: FLOATS(vdivq_f32); break;
    case ASSAY_COMBINE_MAX: INTS(vmaxq_s32); break;
    case ASSAY_COMBINE_MIN: INTS(vminq_s32); break;
    case ASSAY_COMBINE_FMAX: FLOATS(vmaxq_f32); break;
    case ASSAY_COMBINE_FMIN: FLOATS(vminq_f32); break;
    default: /* FFMA */
        for (int i = 0; i < 4; i++)
            r.f[i] = vfmaq_n_f32(a.f[i], b.f[i], p->k);
        break;
    }
    if (!joins_floats(p->combine))
        for (int i = 0; i < 4; i++)
            r.f[i] = vcvtq_f32_s32(r.i[i]);
    return r;
}

static uint8x16_t take_16(const uint8_t *at, int64_t stride, size_t n)
{
    uint8_t bytes[16] = {0};

    if (stride == 0)
        return vld1q_dup_u8(at);
    if (n >= 16)
        return vld1q_u8(at);
    memcpy(bytes, at, n);
    return vld1q_u8(bytes);
}

static void row_chains(const struct assay_binary *p, const struct chains *c,
                       const uint8_t *a, const uint8_t *b, uint8_t *y)
{
    size_t length = (size_t)p->dims[p->rank - 1];
    int64_t sa = p->a_strides[p->rank - 1], sb = p->b_strides[p->rank - 1];

    for (size_t at = 0; at < length; at += 16) {
        size_t n = length - at;
        struct assay_quads va =
            assay_chain_load(&c->a, take_16(a + (sa ? at : 0), sa, n));
        struct assay_quads vb =
            assay_chain_load(&c->b, take_16(b + (sb ? at : 0), sb, n));
        uint8x16_t r = assay_chain_store(&c->out, combine_quads(p, va, vb));

        if (n >= 16) {
            vst1q_u8(y + at, r);
        } else {
            uint8_t bytes[16];

            vst1q_u8(bytes, r);
            memcpy(y + at, bytes, n);
        }
    }
}

static void run(const struct assay_binary *p, const void *a, const void *b,
                void *y)
{
    struct assay_binary q = *p;
    struct chains c;
    bool fast = chains_of(p, &c);
    int64_t index[ASSAY_KERNEL_RANK] = {0};
    size_t a_size = assay_dtype_size(p->a_dtype);
    size_t b_size = assay_dtype_size(p->b_dtype);
    size_t y_size = assay_dtype_size(p->y_dtype);
    int64_t a_at = 0, b_at = 0;
    uint8_t *to = y;

    if (fast || (per_tensor(p->pa) && per_tensor(p->pb) && per_tensor(p->out)))
        join(&q);
    for (;;) {
        const uint8_t *ra = (const uint8_t *)a + (size_t)a_at * a_size;
        const uint8_t *rb = (const uint8_t *)b + (size_t)b_at * b_size;
        uint32_t i = q.rank - 1;

        if (fast)
            row_chains(&q, &c, ra, rb, to);
        else
            row_values(&q, ra, rb, to);
        to += (size_t)q.dims[i] * y_size;
        for (;;) {
            if (i-- == 0)
                return;
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

static bool supports(const struct assay_binary *p)
{
    int64_t sa, sb;

    if (p->rank < 1 || p->rank > ASSAY_KERNEL_RANK)
        return false;
    sa = p->a_strides[p->rank - 1];
    sb = p->b_strides[p->rank - 1];
    return (sa == 0 || sa == 1) && (sb == 0 || sb == 1) &&
           assay_dtype_size(p->a_dtype) != 0 &&
           assay_dtype_size(p->b_dtype) != 0 &&
           assay_dtype_size(p->y_dtype) != 0;
}

const struct assay_binary_kernel assay_binary__neon = {
    .name = "assay_binary__neon",
    .isa = ASSAY_ISA_NEON,
    .supports = supports,
    .run = run,
};
