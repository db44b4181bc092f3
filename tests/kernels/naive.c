/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct definitions, written from the formulas and sharing no code with the
 * kernels: they judge the scalar kernels. Integers are 128 bits wide, and
 * rounding goes through division and libm.
 */
#include "tests/kernels/kcheck.h"

#include <math.h>
#include <string.h>

typedef __int128 wide;

static wide floor_div(wide x, wide by)
{
    wide q = x / by;

    return q * by > x ? q - 1 : q;
}

int64_t kc_naive_shr(int64_t x, int64_t n, unsigned round)
{
    wide by = (wide)1 << (n > 0 ? n : 0), v = x;
    wide down = floor_div(v, by), up = -floor_div(-v, by);
    wide twice = 2 * (v - down * by); /* against by: the nearer one */

    if (n <= 0)
        return (int64_t)(uint64_t)((unsigned __int128)v << -n);
    if (twice != by && round >= ASSAY_ROUND_HALF_UP)
        return (int64_t)(twice > by ? up : down);
    switch (round) {
    case ASSAY_ROUND_FLOOR:
    case ASSAY_ROUND_HALF_DOWN: return (int64_t)down;
    case ASSAY_ROUND_CEIL:
    case ASSAY_ROUND_HALF_UP: return (int64_t)up;
    case ASSAY_ROUND_TRUNC:
    case ASSAY_ROUND_HALF_ZERO: return (int64_t)(x < 0 ? up : down);
    case ASSAY_ROUND_HALF_AWAY: return (int64_t)(x < 0 ? down : up);
    default: /* HALF_EVEN */ return (int64_t)(down % 2 == 0 ? down : up);
    }
}

static wide limit(wide v, wide lo, wide hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* The value congruent to v mod 2^bits in the signed range. */
static int64_t wrap(wide v, unsigned bits)
{
    wide m = (wide)1 << bits, r = v - floor_div(v, m) * m;

    return (int64_t)(r >= m / 2 ? r - m : r);
}

static int64_t sat32(wide v)
{
    return (int64_t)limit(v, INT32_MIN, INT32_MAX);
}

static int64_t round_double(double x, unsigned round)
{
    long double v = (long double)x, r;

    switch (round) {
    case ASSAY_ROUND_FLOOR: r = floorl(v); break;
    case ASSAY_ROUND_CEIL: r = ceill(v); break;
    case ASSAY_ROUND_HALF_UP: r = floorl(v + 0.5L); break;
    case ASSAY_ROUND_HALF_DOWN: r = ceill(v - 0.5L); break;
    case ASSAY_ROUND_HALF_EVEN: r = rintl(v); break;
    case ASSAY_ROUND_HALF_AWAY: r = roundl(v); break;
    case ASSAY_ROUND_HALF_ZERO:
        r = v > 0 ? ceill(v - 0.5L) : floorl(v + 0.5L);
        break;
    default: r = truncl(v); break;
    }
    if (r != r)
        return 0;
    if (r <= (long double)INT32_MIN)
        return INT32_MIN;
    return r >= (long double)INT32_MAX ? INT32_MAX : (int64_t)r;
}

float kc_naive_larger(float a, float b)
{
    if (a != a || b != b)
        return NAN;
    if (a == 0 && b == 0) /* 0 above -0 */
        return copysignf(1.0f, a) > 0 ? a : b;
    return fmaxf(a, b);
}

static float f32_of(int64_t bits)
{
    uint32_t u = (uint32_t)(uint64_t)bits;
    float f;

    memcpy(&f, &u, sizeof(f));
    return f;
}

static double f64_of(int64_t bits)
{
    double d;

    memcpy(&d, &bits, sizeof(d));
    return d;
}

static int64_t int_step(const struct assay_step *s, int64_t v, int64_t a,
                        int64_t b, int64_t second)
{
    wide sum = (wide)v + a, product = (wide)v * a;

    switch (s->kind) {
    case ASSAY_STEP_ADD:
        if (s->add_mode == ASSAY_ADD_WRAP32)
            return wrap(sum, 32);
        return s->add_mode == ASSAY_ADD_SAT32 ? sat32(sum) : (int64_t)sum;
    case ASSAY_STEP_SHL: return (int64_t)((wide)v * ((wide)1 << a));
    case ASSAY_STEP_SHR: return kc_naive_shr(v, a, s->round);
    case ASSAY_STEP_MUL: return (int64_t)product;
    case ASSAY_STEP_SRDHM:
        return sat32(floor_div(product + ((wide)1 << 30), (wide)1 << 31));
    case ASSAY_STEP_SDMULH: return sat32(floor_div(product, (wide)1 << 31));
    case ASSAY_STEP_ADD_INPUT:
        return (int64_t)((wide)v + (wide)kc_naive_shr(second, a, s->round) * b);
    case ASSAY_STEP_ADD_SCALED:
        return (int64_t)((wide)v + kc_naive_shr((int64_t)((wide)second * b), a,
                                                s->round));
    case ASSAY_STEP_SAT: {
        wide top = (wide)1 << (s->bits - 1);

        return (int64_t)limit(v, -top, top - 1);
    }
    case ASSAY_STEP_WRAP: return wrap(v, s->bits);
    case ASSAY_STEP_ADD_ZP: return (int64_t)sum;
    default: /* CLAMP */ return v < a ? (a < b ? a : b) : v < b ? v : b;
    }
}

static union assay_value f32_step(const struct assay_step *s, float v, float a,
                                  float b)
{
    union assay_value r = {.i = 0};

    switch (s->kind) {
    case ASSAY_STEP_FMUL: r.f = v * a; break;
    case ASSAY_STEP_FDIV: r.f = v / a; break;
    case ASSAY_STEP_FADD: r.f = v + a; break;
    case ASSAY_STEP_FFMA: r.f = fmaf(v, a, b); break;
    case ASSAY_STEP_FCLAMP:
        r.f = v > a ? v : a; /* as docs/numerics.md, for -0 and NaN */
        r.f = r.f < b ? r.f : b;
        break;
    default: /* FROUND */
        if (s->round == ASSAY_ROUND_ADD_HALF)
            v = v + copysignf(0.5f, v);
        r.i = round_double((double)v, s->round);
        break;
    }
    return r;
}

static union assay_value f64_step(const struct assay_step *s, double v,
                                  double a, double b)
{
    union assay_value r = {.i = 0};

    switch (s->kind) {
    case ASSAY_STEP_FMUL: r.d = v * a; break;
    case ASSAY_STEP_FDIV: r.d = v / a; break;
    case ASSAY_STEP_FADD: r.d = v + a; break;
    case ASSAY_STEP_FFMA: r.d = fma(v, a, b); break;
    case ASSAY_STEP_FCLAMP:
        r.d = v > a ? v : a;
        r.d = r.d < b ? r.d : b;
        break;
    default: /* FROUND */
        if (s->round == ASSAY_ROUND_ADD_HALF)
            v = v + copysign(0.5, v);
        r.i = round_double(v, s->round);
        break;
    }
    return r;
}

union assay_value kc_naive_program(const struct assay_program *p,
                                   union assay_value v, size_t channel,
                                   int64_t second)
{
    bool is_f64 = false;

    for (uint32_t i = 0; i < p->n_steps; i++) {
        const struct assay_step *s = &p->steps[i];
        int64_t a = s->a ? s->a[s->n == 1 ? 0 : channel] : 0;
        int64_t b = s->b ? s->b[s->n == 1 ? 0 : channel] : 0;

        if (s->kind == ASSAY_STEP_TO_F32) {
            v.f = (float)v.i;
            is_f64 = false;
        } else if (s->kind == ASSAY_STEP_TO_F64) {
            v.d = (double)v.i;
            is_f64 = true;
        } else if (s->kind < ASSAY_STEP_FMUL || s->kind > ASSAY_STEP_FROUND) {
            v.i = int_step(s, v.i, a, b, second);
        } else if (is_f64) {
            v = f64_step(s, v.d, f64_of(a), f64_of(b));
        } else {
            v = f32_step(s, v.f, f32_of(a), f32_of(b));
        }
    }
    return v;
}

int64_t kc_element(enum assay_dtype dtype, const void *x, size_t at)
{
    switch (dtype) {
    case ASSAY_S8: return ((const int8_t *)x)[at];
    case ASSAY_U8: return ((const uint8_t *)x)[at];
    case ASSAY_S16: return ((const int16_t *)x)[at];
    case ASSAY_U16: return ((const uint16_t *)x)[at];
    case ASSAY_S32: return ((const int32_t *)x)[at];
    default: return ((const int64_t *)x)[at];
    }
}

/* The sum of one output element, exact. */
static wide conv_sum(const struct assay_conv2d *p, const void *x, int64_t n,
                     int64_t oy, int64_t ox, int64_t o)
{
    int64_t cg = p->c / p->groups, g = o / (p->oc / p->groups);
    wide sum = p->bias ? p->bias[o] : 0;

    for (int64_t ky = 0; ky < p->kh; ky++)
        for (int64_t kx = 0; kx < p->kw; kx++) {
            int64_t y = oy * p->stride_h - p->pad_top + ky * p->dilation_h;
            int64_t c = ox * p->stride_w - p->pad_left + kx * p->dilation_w;

            if (y < 0 || y >= p->h || c < 0 || c >= p->w)
                continue;
            for (int64_t i = 0; i < cg; i++) {
                int64_t at = ((n * p->h + y) * p->w + c) * p->c + g * cg + i;
                int64_t wt = ((o * p->kh + ky) * p->kw + kx) * cg + i;

                sum += (kc_element(p->x_dtype, x, (size_t)at) - p->x_zero) *
                       (kc_element(p->w_dtype, p->weights, (size_t)wt) -
                        p->w_zero[o]);
            }
        }
    return sum;
}

void kc_naive_conv2d(const struct assay_conv2d *p, const void *x, void *y)
{
    size_t size = assay_dtype_size(p->y_dtype), at = 0;
    unsigned bits = p->x_dtype == ASSAY_S16 ? 64 : 32;

    for (int64_t n = 0; n < p->n; n++)
        for (int64_t oy = 0; oy < p->oh; oy++)
            for (int64_t ox = 0; ox < p->ow; ox++)
                for (int64_t o = 0; o < p->oc; o++, at++) {
                    union assay_value v = {
                        .i = wrap(conv_sum(p, x, n, oy, ox, o), bits)};
                    int64_t e = p->second
                                    ? kc_element(p->second_dtype, p->second, at)
                                    : 0;

                    v = kc_naive_program(p->program, v, (size_t)o, e);
                    assay_store_values(p->y_dtype, (uint8_t *)y + at * size, &v,
                                       1);
                }
}

/* One cell of the average; false outside the image. */
static bool pool_cell(const struct assay_pool *p, int64_t n, int64_t y,
                      int64_t x, int64_t c, size_t *at)
{
    if (y < 0 || y >= p->h || x < 0 || x >= p->w)
        return false;
    *at = (size_t)(((n * p->h + y) * p->w + x) * p->c + c);
    return true;
}

static union assay_value pool_value(const struct assay_pool *p, const void *x,
                                    int64_t n, int64_t oy, int64_t ox,
                                    int64_t c)
{
    wide sum = 0, max = 0;
    int64_t cells = 0;
    float fsum = 0.0f;
    union assay_value v;

    for (int64_t ky = 0; ky < p->kh; ky++)
        for (int64_t kx = 0; kx < p->kw; kx++) {
            size_t at;

            if (!pool_cell(p, n,
                           oy * p->stride_h - p->pad_top + ky * p->dilation_h,
                           ox * p->stride_w - p->pad_left + kx * p->dilation_w,
                           c, &at))
                continue;
            v.i = kc_element(p->x_dtype, x, at);
            max = cells == 0 || v.i > max ? v.i : max;
            sum += v.i - (p->sum == ASSAY_SUM_INT ? p->x_zero : 0);
            if (p->kind == ASSAY_POOL_AVG && p->sum == ASSAY_SUM_F32)
                fsum += kc_naive_program(p->cell, v, (size_t)c, 0).f;
            cells++;
        }
    cells = p->count_include_pad ? (int64_t)p->kh * p->kw : cells;
    cells = cells ? cells : 1;
    v.i = (int64_t)(p->kind == ASSAY_POOL_MAX ? max : sum);
    if (p->kind == ASSAY_POOL_AVG && p->sum == ASSAY_SUM_F32)
        v.f = fsum;
    if (p->kind == ASSAY_POOL_AVG && p->div == ASSAY_DIV_F32)
        v.f = (p->sum == ASSAY_SUM_F32 ? v.f : (float)v.i) / (float)cells;
    return v;
}

void kc_naive_pool(const struct assay_pool *p, const void *x, void *y)
{
    size_t size = assay_dtype_size(p->y_dtype), at = 0;

    for (int64_t n = 0; n < p->n; n++)
        for (int64_t oy = 0; oy < p->oh; oy++)
            for (int64_t ox = 0; ox < p->ow; ox++)
                for (int64_t c = 0; c < p->c; c++, at++) {
                    union assay_value v = pool_value(p, x, n, oy, ox, c);

                    if (p->out)
                        v = kc_naive_program(p->out, v, (size_t)c, 0);
                    assay_store_values(p->y_dtype, (uint8_t *)y + at * size, &v,
                                       1);
                }
}
