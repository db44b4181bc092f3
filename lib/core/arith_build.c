/* SPDX-License-Identifier: Apache-2.0 */
/* The builder of programs, and the pieces that several forms share. */
#include "lib/core/arith_build.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void assay_build_begin(struct assay_builder *b, struct assay_arena *arena,
                       struct assay_err *err)
{
    memset(b, 0, sizeof(*b));
    b->arena = arena;
    b->err = err;
}

void assay_build_fail(struct assay_builder *b, int code, const char *fmt, ...)
{
    char text[400];
    va_list args;
    if (b->code)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    b->code = assay_fail(b->err, code, "%s", text);
}

static struct assay_step *next(struct assay_builder *b,
                               enum assay_step_kind kind)
{
    if (b->code)
        return NULL;
    if (b->program.n_steps == ASSAY_MAX_STEPS) {
        assay_build_fail(b, ASSAY_EUNSUPPORTED,
                         "program is longer than %d steps", ASSAY_MAX_STEPS);
        return NULL;
    }
    struct assay_step *s = &b->program.steps[b->program.n_steps++];
    s->kind = (uint8_t)kind;
    return s;
}

static const int64_t *keep(struct assay_builder *b, uint32_t n,
                           const int64_t *a)
{
    int64_t *copy = assay_arena_array(b->arena, n, sizeof(*copy));
    if (!copy) {
        assay_build_fail(b, ASSAY_EMEMORY,
                         "out of memory while a program was built");
        return NULL;
    }
    memcpy(copy, a, n * sizeof(*copy));
    return copy;
}

void assay_build_plain(struct assay_builder *b, enum assay_step_kind kind,
                       enum assay_round round)
{
    struct assay_step *s = next(b, kind);
    if (s)
        s->round = (uint8_t)round;
}

void assay_build_bits(struct assay_builder *b, enum assay_step_kind kind,
                      uint8_t bits)
{
    struct assay_step *s = next(b, kind);
    if (s)
        s->bits = bits;
}

void assay_build_ints(struct assay_builder *b, enum assay_step_kind kind,
                      uint32_t n, const int64_t *a)
{
    struct assay_step *s = next(b, kind);
    if (!s)
        return;
    s->n = n;
    s->a = keep(b, n, a);
}

void assay_build_int(struct assay_builder *b, enum assay_step_kind kind,
                     int64_t a)
{
    assay_build_ints(b, kind, 1, &a);
}

void assay_build_shr(struct assay_builder *b, uint32_t n, const int64_t *a,
                     enum assay_round round)
{
    struct assay_step *s = next(b, ASSAY_STEP_SHR);
    if (!s)
        return;
    s->round = (uint8_t)round;
    s->n = n;
    s->a = keep(b, n, a);
}

static void pair(struct assay_builder *b, enum assay_step_kind kind,
                 int64_t first, int64_t second)
{
    struct assay_step *s = next(b, kind);
    if (!s)
        return;
    s->n = 1;
    s->a = keep(b, 1, &first);
    s->b = keep(b, 1, &second);
}

void assay_build_clamp(struct assay_builder *b, int64_t lo, int64_t hi)
{
    pair(b, ASSAY_STEP_CLAMP, lo, hi);
}

static int64_t bits32(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof(u));
    return (int64_t)u;
}

static int64_t bits64(double d)
{
    int64_t i;
    memcpy(&i, &d, sizeof(i));
    return i;
}

void assay_build_f32(struct assay_builder *b, enum assay_step_kind kind,
                     float a)
{
    assay_build_int(b, kind, bits32(a));
}

/* Operand arrays of floats become arrays of bit patterns. */
void assay_build_f32s(struct assay_builder *b, enum assay_step_kind kind,
                      uint32_t n, const float *a)
{
    struct assay_step *s = next(b, kind);
    if (!s)
        return;
    int64_t *to = assay_arena_array(b->arena, n, sizeof(*to));
    if (!to) {
        assay_build_fail(b, ASSAY_EMEMORY,
                         "out of memory while a program was built");
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        to[i] = bits32(a[i]);
    s->n = n;
    s->a = to;
}

void assay_build_f64s(struct assay_builder *b, enum assay_step_kind kind,
                      uint32_t n, const double *a)
{
    struct assay_step *s = next(b, kind);
    if (!s)
        return;
    int64_t *to = assay_arena_array(b->arena, n, sizeof(*to));
    if (!to) {
        assay_build_fail(b, ASSAY_EMEMORY,
                         "out of memory while a program was built");
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        to[i] = bits64(a[i]);
    s->n = n;
    s->a = to;
}

void assay_build_f32_pair(struct assay_builder *b, enum assay_step_kind kind,
                          float first, float second)
{
    pair(b, kind, bits32(first), bits32(second));
}

void assay_build_f64_pair(struct assay_builder *b, enum assay_step_kind kind,
                          double first, double second)
{
    pair(b, kind, bits64(first), bits64(second));
}

void assay_build_step(struct assay_builder *b, const struct assay_step *s)
{
    struct assay_step *to = next(b, (enum assay_step_kind)s->kind);
    if (to)
        *to = *s;
}

int assay_build_end(const struct assay_builder *b, struct assay_program *out)
{
    if (b->code)
        return b->code;
    *out = b->program;
    return 0;
}

int assay_arith_check_scale(const struct assay_tensor *t, double scale,
                            struct assay_err *err)
{
    if (isfinite(scale) && scale > 0)
        return 0;
    return assay_fail(err, ASSAY_ERANGE,
                      "scale of tensor '%s' is %g: expected a finite number "
                      "above 0",
                      t->name ? t->name : "", scale);
}

int assay_arith_uniform(const struct assay_tensor *t, struct assay_uniform *q,
                        struct assay_err *err)
{
    const char *name = t->name ? t->name : "";
    if (!assay_dtype_is_int(t->dtype))
        return assay_fail(err, ASSAY_EUNSUPPORTED,
                          "tensor '%s' is %s: expected an integer dtype", name,
                          assay_dtype_name(t->dtype));
    if (t->quant.n == 0 || !t->quant.scale || !t->quant.zero_point)
        return assay_fail(err, ASSAY_EFORMAT,
                          "tensor '%s' has no scale and zero point", name);
    if (t->quant.n != 1)
        return assay_fail(err, ASSAY_EUNSUPPORTED,
                          "tensor '%s' has %u scales: expected 1 for an "
                          "activation",
                          name, (unsigned)t->quant.n);
    int rc = assay_arith_check_scale(t, (double)t->quant.scale[0], err);
    if (rc)
        return rc;
    int64_t lo, hi;
    assay_dtype_range(t->dtype, &lo, &hi);
    if (t->quant.zero_point[0] < lo || t->quant.zero_point[0] > hi)
        return assay_fail(err, ASSAY_ERANGE,
                          "zero point of tensor '%s' is %d: expected %lld to "
                          "%lld",
                          name, (int)t->quant.zero_point[0], (long long)lo,
                          (long long)hi);
    q->scale = t->quant.scale[0];
    q->zero = t->quant.zero_point[0];
    q->lo = lo;
    q->hi = hi;
    q->dtype = t->dtype;
    return 0;
}

void assay_build_dequantize(struct assay_builder *b,
                            const struct assay_uniform *q)
{
    assay_build_int(b, ASSAY_STEP_ADD, -(int64_t)q->zero);
    assay_build_plain(b, ASSAY_STEP_TO_F32, ASSAY_ROUND_FLOOR);
    assay_build_f32(b, ASSAY_STEP_FMUL, q->scale);
}

void assay_build_quantize(struct assay_builder *b,
                          const struct assay_uniform *q)
{
    assay_build_f32(b, ASSAY_STEP_FDIV, q->scale);
    assay_build_f32_pair(b, ASSAY_STEP_FCLAMP, (float)(q->lo - q->zero),
                         (float)(q->hi - q->zero));
    assay_build_plain(b, ASSAY_STEP_FROUND, ASSAY_ROUND_HALF_EVEN);
    assay_build_int(b, ASSAY_STEP_ADD_ZP, q->zero);
}
