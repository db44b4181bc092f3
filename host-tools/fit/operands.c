/* SPDX-License-Identifier: Apache-2.0 */
/* A layer's fields as operands, one a channel, and what its sums can be. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "host-tools/fit/accum.h"
#include "kernels/requant.h"
#include "lib/core/form.h"

static int no_memory(struct assay_err *err)
{
    return assay_fail(err, ASSAY_EMEMORY, "no memory for the operands");
}

static int expand(const struct assay_fit_layer *l, const char *name,
                  const int64_t **out, struct assay_err *err)
{
    const struct assay_layer *y = assay_fit_layer_of(l);
    const struct assay_field *f = assay_field_find(y, name);
    uint32_t channels = l->problem.channels;
    int64_t *v;

    if (!f)
        return 0;
    if (f->n != 1 && f->n != channels)
        return assay_fail(err, ASSAY_EFORMAT,
                          "layer '%.200s': field '%s': expected 1 or %" PRIu32
                          " values, found %" PRIu32,
                          y->name, name, channels, f->n);
    v = assay_arena_array(l->memory, channels, sizeof(*v));
    if (!v)
        return no_memory(err);
    for (uint32_t c = 0; c < channels; c++)
        v[c] = f->v[f->n > 1 ? c : 0];
    *out = v;
    return 0;
}

/* In [2^14, 2^15), or of a given shift: form.h, `derive`. */
static void derive_one(double real, unsigned how, const int64_t *given,
                       int64_t *scale, int64_t *by)
{
    int exponent;
    double m;

    if (!(real > 0) || !isfinite(real)) {
        *scale = *by = 0;
        return;
    }
    (void)frexp(real, &exponent);
    *by = given ? *given : 15 - exponent;
    if (*by > 62)
        *by = 62;
    m = ldexp(real, (int)*by);
    m = how == 0   ? floor(m)
        : how == 1 ? floor(m) + (m - floor(m) >= 0.5)
                   : ceil(m);
    if (m >= 32768.0 && !given) {
        m = 16384.0;
        *by -= 1;
    }
    *scale = m < 9e15 ? (int64_t)m : 0;
}

static int derive(struct assay_fit_layer *l, struct assay_err *err)
{
    struct assay_fit_problem *p = &l->problem;
    const int64_t *real = NULL, *given = p->post_shift[0];
    int rc = expand(l, "real", &real, err);

    if (rc || !real)
        return rc;
    for (unsigned how = 0; how < 3; how++) {
        int64_t *scale =
            assay_arena_array(l->memory, p->channels, sizeof(*scale));
        int64_t *by = assay_arena_array(l->memory, p->channels, sizeof(*by));
        if (!scale || !by)
            return no_memory(err);
        for (uint32_t c = 0; c < p->channels; c++) {
            double x;
            memcpy(&x, &real[c], sizeof(x));
            derive_one(x, how, given ? &given[c] : NULL, &scale[c], &by[c]);
        }
        p->scale[how] = scale;
        p->post_shift[how] = by;
    }
    return 0;
}

static int left_shift(const struct assay_fit_layer *l, const char *name,
                      const int64_t *v, struct assay_err *err)
{
    for (uint32_t c = 0; v && c < l->problem.channels; c++)
        if (v[c] < 0 || v[c] > 62)
            return assay_fail(err, ASSAY_ERANGE,
                              "layer '%.200s': field '%s': expected a shift "
                              "to the left of 0 to 62, found %" PRId64,
                              assay_fit_layer_of(l)->name, name, v[c]);
    return 0;
}

/* e_shift goes to the left: a second_shift of the other sign. */
static int second_of_sum(struct assay_fit_layer *l, struct assay_err *err)
{
    struct assay_fit_problem *p = &l->problem;
    const int64_t *left = NULL;
    int64_t *by;
    int rc = expand(l, "e_shift", &left, err);

    if (!rc)
        rc = left_shift(l, "e_shift", left, err);
    if (!rc)
        rc = expand(l, "e_scale", &p->second_scale, err);
    if (rc)
        return rc;
    by = assay_arena_array(l->memory, p->channels, sizeof(*by));
    if (!by)
        return no_memory(err);
    for (uint32_t c = 0; left && c < p->channels; c++)
        by[c] = -left[c];
    p->second_shift = by;
    p->subtract = assay_fit_layer_of(l)->p.binary.combine == ASSAY_COMBINE_SUB;
    return 0;
}

static uint32_t channels_of(const struct assay_slice *s,
                            const struct assay_layer *y)
{
    const struct assay_tensor *t = &s->tensors[y->output];
    bool many = y->op == ASSAY_OP_CONV2D || y->op == ASSAY_OP_GEMM ||
                y->op == ASSAY_OP_CONV_TRANSPOSE2D;

    for (uint32_t i = 0; i < y->n_fields; i++)
        many = many || y->fields[i].n > 1;
    return many && t->rank ? (uint32_t)t->dims[t->rank - 1] : 1;
}

int assay_fit_operands(struct assay_fit_layer *l, struct assay_err *err)
{
    const struct assay_layer *y = assay_fit_layer_of(l);
    struct assay_fit_problem *p = &l->problem;
    const struct {
        const char *name;
        const int64_t **out;
    } fields[] = {
        {"bias", &p->bias},
        {"pre_shift", &p->pre_shift},
        {"scale", &p->scale[0]},
        {"post_shift", &p->post_shift[0]},
        {"x_shift", &p->x_shift},
        {"second_shift", &p->second_shift},
        {"second_scale", &p->second_scale},
    };
    int rc = 0;

    p->dtype = l->dtype;
    p->relu = assay_field_find(y, "relu") != NULL;
    p->channels = channels_of(l->slice, y);
    for (size_t i = 0; !rc && i < sizeof(fields) / sizeof(fields[0]); i++)
        rc = expand(l, fields[i].name, fields[i].out, err);
    if (!p->second_shift || !p->second_scale)
        p->second_shift = p->second_scale = NULL; /* the step is left out */
    if (!rc && p->space.radix[ASSAY_FIT_DERIVE] > 1)
        rc = derive(l, err);
    if (!rc)
        rc = left_shift(l, "x_shift", p->x_shift, err);
    if (!rc && p->space.radix[ASSAY_FIT_SECOND] > 1 && y->op == ASSAY_OP_BINARY)
        rc = second_of_sum(l, err);
    return rc ? rc : assay_fit_bounds(l, err);
}

/* ---- what the accumulators can be ------------------------------------------ */

struct range {
    int64_t lo, hi;
};

static struct range range_of(const struct assay_tensor *t)
{
    struct range r;
    size_t n, bytes;

    assay_dtype_range(t->dtype, &r.lo, &r.hi);
    if (t->role != ASSAY_ROLE_CONSTANT ||
        assay_tensor_count(t, &n, &bytes, NULL) < 0)
        return r;
    r = (struct range){INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < n; i++) {
        union assay_value v;
        assay_load_values(
            t->dtype,
            (const uint8_t *)t->data + i * assay_dtype_bytes(t->dtype), &v, 1);
        r.lo = v.i < r.lo ? v.i : r.lo;
        r.hi = v.i > r.hi ? v.i : r.hi;
    }
    return r;
}

/* A cell outside of the image counts 0. */
static struct range with_zero(struct range r)
{
    r.lo = r.lo < 0 ? r.lo : 0;
    r.hi = r.hi > 0 ? r.hi : 0;
    return r;
}

static struct range product(struct range a, struct range b)
{
    int64_t p[4] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
    struct range r = {p[0], p[0]};

    for (unsigned i = 1; i < 4; i++) {
        r.lo = p[i] < r.lo ? p[i] : r.lo;
        r.hi = p[i] > r.hi ? p[i] : r.hi;
    }
    return r;
}

/* Of output channel c: the largest sums that its weights allow. */
static struct range weighted(const struct assay_tensor *w, uint32_t c,
                             struct range x)
{
    const int8_t *v = w->data;
    struct range r = {0, 0};
    size_t taps, bytes;

    if (assay_tensor_count(w, &taps, &bytes, NULL) < 0)
        return r;
    taps /= (size_t)w->dims[0];
    for (size_t i = 0; i < taps; i++) {
        int64_t k = v[c * taps + i];
        r.lo += k > 0 ? k * x.lo : k * x.hi;
        r.hi += k > 0 ? k * x.hi : k * x.lo;
    }
    return r;
}

/* What all weights of output channel c are multiples of. */
static int64_t unit_of(const struct assay_tensor *w, uint32_t c)
{
    const int8_t *v = w->data;
    int64_t unit = 0;
    size_t taps, bytes;

    if (assay_tensor_count(w, &taps, &bytes, NULL) < 0)
        return 1;
    taps /= (size_t)w->dims[0];
    for (size_t i = 0; i < taps && unit != 1; i++) {
        int64_t a = v[c * taps + i] < 0 ? -v[c * taps + i] : v[c * taps + i];
        while (a) {
            int64_t rest = unit % a;
            unit = a;
            a = rest;
        }
    }
    return unit ? unit : 1;
}

static int64_t far_times(int64_t a, int64_t n)
{
    int64_t r;
    return __builtin_mul_overflow(a, n, &r) ? a < 0 ? INT64_MIN : INT64_MAX : r;
}

static struct range times(struct range r, int64_t n)
{
    return (struct range){far_times(r.lo, n), far_times(r.hi, n)};
}

static struct range sum_of(const struct assay_fit_layer *l, uint32_t c)
{
    const struct assay_layer *y = assay_fit_layer_of(l);
    const struct assay_tensor *t = l->slice->tensors;
    const struct assay_tensor *a = &t[y->inputs[0]];
    struct range x = range_of(a), r = x;
    int64_t n = 1;

    switch (y->op) {
    case ASSAY_OP_CONV2D:
    case ASSAY_OP_GEMM:
    case ASSAY_OP_CONV_TRANSPOSE2D:
        return weighted(&t[y->inputs[1]], c, with_zero(x));
    case ASSAY_OP_MATMUL:
        return times(product(x, range_of(&t[y->inputs[1]])),
                     a->rank ? a->dims[a->rank - 1] : 1);
    case ASSAY_OP_BINARY:
        if (y->p.binary.combine == ASSAY_COMBINE_MUL)
            r = product(x, range_of(&t[y->inputs[1]]));
        break;
    case ASSAY_OP_POOL:
        return times(with_zero(x), (int64_t)y->p.pool.kh * y->p.pool.kw);
    case ASSAY_OP_REDUCE:
        for (uint32_t i = 0; i < a->rank; i++)
            n *= y->p.reduce.axes >> i & 1 ? a->dims[i] : 1;
        return times(x, n);
    default: break;
    }
    if (l->problem.x_shift)
        r = (struct range){
            assay_shr(r.lo, -(int)l->problem.x_shift[c], ASSAY_ROUND_FLOOR),
            assay_shr(r.hi, -(int)l->problem.x_shift[c], ASSAY_ROUND_FLOOR)};
    return r;
}

int assay_fit_second_input(const struct assay_layer *l)
{
    if (l->op == ASSAY_OP_BINARY)
        return l->p.binary.combine == ASSAY_COMBINE_MUL ? -1 : 1;
    if (l->op == ASSAY_OP_CONV2D && l->p.conv2d.has_second)
        return l->p.conv2d.has_bias ? 3 : 2;
    return -1;
}

int assay_fit_bounds(struct assay_fit_layer *l, struct assay_err *err)
{
    struct assay_fit_problem *p = &l->problem;
    const struct assay_layer *y = assay_fit_layer_of(l);
    int second = assay_fit_second_input(y);
    int64_t *lo = assay_arena_array(l->memory, p->channels, sizeof(*lo));
    int64_t *hi = assay_arena_array(l->memory, p->channels, sizeof(*hi));
    int64_t *unit = assay_arena_array(l->memory, p->channels, sizeof(*unit));
    bool weights = y->op == ASSAY_OP_CONV2D || y->op == ASSAY_OP_GEMM;

    if (!lo || !hi || !unit)
        return no_memory(err);
    for (uint32_t c = 0; c < p->channels; c++) {
        struct range r = sum_of(l, c);
        lo[c] = r.lo;
        hi[c] = r.hi;
        unit[c] = weights ? unit_of(&l->slice->tensors[y->inputs[1]], c) : 1;
    }
    p->lo = lo;
    p->hi = hi;
    p->unit = weights && second < 0 ? unit : NULL;
    if (second >= 0) {
        struct range r = range_of(&l->slice->tensors[y->inputs[second]]);
        p->second_lo = r.lo;
        p->second_hi = r.hi;
    }
    return 0;
}
