/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/stats.h"

#include <math.h>
#include <string.h>

/* ---- what is at an end -------------------------------------------------- */

/* The widest bounds of a step over its channels. */
static void int_bounds(const struct assay_step *p, int64_t *low, int64_t *high)
{
    *low = p->a[0];
    *high = p->b[0];
    for (uint32_t i = 1; i < p->n; i++) {
        *low = p->a[i] < *low ? p->a[i] : *low;
        *high = p->b[i] > *high ? p->b[i] : *high;
    }
}

static double real_of(int64_t bits, bool wide)
{
    uint32_t narrow = (uint32_t)(uint64_t)bits;
    double d;
    float f;

    if (wide) {
        memcpy(&d, &bits, sizeof(d));
        return d;
    }
    memcpy(&f, &narrow, sizeof(f));
    return (double)f;
}

/* Bounds of floats that are rounded next; beyond int32 nothing is clamped. */
static bool real_bounds(const struct assay_step *p, bool wide, int64_t *low,
                        int64_t *high)
{
    double a = real_of(p->a[0], wide), b = real_of(p->b[0], wide);

    for (uint32_t i = 1; i < p->n; i++) {
        a = fmin(a, real_of(p->a[i], wide));
        b = fmax(b, real_of(p->b[i], wide));
    }
    if (!(a >= INT32_MIN && b <= INT32_MAX))
        return false;
    *low = (int64_t)rint(a);
    *high = (int64_t)rint(b);
    return true;
}

static bool runs_wide(const struct assay_program *p, uint32_t before)
{
    bool wide = false;

    for (uint32_t i = 0; i < before; i++) {
        if (p->steps[i].kind == ASSAY_STEP_TO_F32 ||
            p->steps[i].kind == ASSAY_STEP_TO_F64)
            wide = p->steps[i].kind == ASSAY_STEP_TO_F64;
    }
    return wide;
}

/* A program that ends in a clamp; or in a clamp of floats, a rounding, and
 * perhaps the zero point. */
static bool program_bounds(const struct assay_program *p, int64_t *low,
                           int64_t *high)
{
    uint32_t n = p->n_steps;
    int64_t zero = 0;

    if (n > 0 && p->steps[n - 1].kind == ASSAY_STEP_CLAMP) {
        int_bounds(&p->steps[n - 1], low, high);
        return true;
    }
    if (n > 0 && p->steps[n - 1].kind == ASSAY_STEP_ADD_ZP &&
        p->steps[n - 1].n == 1)
        zero = p->steps[--n].a[0];
    if (n < 2 || p->steps[n - 1].kind != ASSAY_STEP_FROUND ||
        p->steps[n - 2].kind != ASSAY_STEP_FCLAMP || zero < INT32_MIN ||
        zero > INT32_MAX ||
        !real_bounds(&p->steps[n - 2], runs_wide(p, n - 2), low, high))
        return false;
    *low += zero;
    *high += zero;
    return true;
}

void assay_stats_rule(struct assay_stats_rule *out, const struct assay_slice *s,
                      uint32_t layer)
{
    const struct assay_layer *l = &s->layers[layer];
    const struct assay_tensor *t = &s->tensors[l->output];
    int64_t low, high;

    *out = (struct assay_stats_rule){.dtype = t->dtype};
    if (t->quant.n == 1)
        out->zero = t->quant.zero_point[0];
    if (!assay_dtype_is_int(t->dtype))
        return;
    assay_dtype_range(t->dtype, &out->low, &out->high);
    if (!program_bounds(&l->out_program, &low, &high) || low > high)
        return;
    out->low = low > out->low ? low : out->low;
    out->high = high < out->high ? high : out->high;
}

/* ---- counting ----------------------------------------------------------- */

static unsigned bits_of(uint64_t v)
{
    unsigned n = 0;

    for (; v > 0; v >>= 1)
        n++;
    return n;
}

static unsigned by_sign(bool negative, unsigned m)
{
    m = m > 15 ? 15 : m;
    return negative ? 15 - m : 16 + m;
}

static unsigned bin_of(const struct assay_stats_rule *rule, int64_t v)
{
    uint64_t most = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

    switch (rule->dtype) {
    case ASSAY_S8: return (unsigned)(v + 128) >> 3;
    case ASSAY_U8: return (unsigned)v >> 3;
    case ASSAY_S16: return (unsigned)(v + 32768) >> 11;
    case ASSAY_U16: return (unsigned)v >> 11;
    case ASSAY_S64: return by_sign(v < 0, bits_of(most) / 4);
    default: return by_sign(v < 0, bits_of(most) / 2);
    }
}

static unsigned real_bin(float v)
{
    int e;

    frexpf(v, &e); /* |v| in [2^(e-1), 2^e) */
    if (v == 0.0f || e <= -14)
        return by_sign(signbit(v) && v != 0.0f, 0);
    return by_sign(v < 0.0f, 1 + (unsigned)(e - 1 + 14) / 2);
}

static void add_sum(struct assay_stats *s, uint64_t low, int64_t high)
{
    uint64_t before = s->sum_low;

    s->sum_low += low;
    s->sum_high = (int64_t)((uint64_t)s->sum_high + (uint64_t)high +
                            (s->sum_low < before));
}

/* An integer that is there n times; v * n fits: only bytes come more than once.
 */
static void add_value(struct assay_stats *s,
                      const struct assay_stats_rule *rule, int64_t v,
                      uint64_t n)
{
    int64_t sum = v * (int64_t)n;

    if (s->count == 0 || v < s->min)
        s->min = v;
    if (s->count == 0 || v > s->max)
        s->max = v;
    s->count += n;
    s->zeros += v == rule->zero ? n : 0;
    s->at_low += v == rule->low ? n : 0;
    s->at_high += v == rule->high ? n : 0;
    s->bins[bin_of(rule, v)] += n;
    add_sum(s, (uint64_t)sum, sum < 0 ? -1 : 0);
}

/* Bytes have few values: counted first, and looked at once each. */
static void add_bytes(struct assay_stats *s,
                      const struct assay_stats_rule *rule, const uint8_t *p,
                      size_t n)
{
    uint64_t seen[256] = {0};

    for (size_t i = 0; i < n; i++)
        seen[p[i]]++;
    for (int i = 0; i < 256; i++) {
        if (seen[i] > 0)
            add_value(s, rule, rule->dtype == ASSAY_S8 ? (int8_t)i : i,
                      seen[i]);
    }
}

static int64_t value_at(enum assay_dtype dtype, const void *data, size_t i)
{
    switch (dtype) {
    case ASSAY_S16: return ((const int16_t *)data)[i];
    case ASSAY_U16: return ((const uint16_t *)data)[i];
    case ASSAY_S64: return ((const int64_t *)data)[i];
    default: return ((const int32_t *)data)[i];
    }
}

static void add_real(struct assay_stats *s, const struct assay_stats_rule *rule,
                     float v)
{
    uint64_t finite = s->count - s->nan - s->inf;

    s->count++;
    if (isnan(v)) {
        s->nan++;
        return;
    }
    if (isinf(v)) {
        s->inf++;
        return;
    }
    if (finite == 0 || (double)v < s->real_min)
        s->real_min = (double)v;
    if (finite == 0 || (double)v > s->real_max)
        s->real_max = (double)v;
    s->zeros += (double)v == (double)rule->zero;
    s->real_sum += (double)v;
    s->bins[real_bin(v)]++;
}

void assay_stats_add(struct assay_stats *into,
                     const struct assay_stats_rule *rule, const void *data,
                     size_t n)
{
    if (rule->dtype == ASSAY_F32) {
        into->is_float = 1;
        for (size_t i = 0; i < n; i++)
            add_real(into, rule, ((const float *)data)[i]);
    } else if (rule->dtype == ASSAY_S8 || rule->dtype == ASSAY_U8) {
        add_bytes(into, rule, data, n);
    } else {
        for (size_t i = 0; i < n; i++)
            add_value(into, rule, value_at(rule->dtype, data, i), 1);
    }
}

void assay_stats_merge(struct assay_stats *into, const struct assay_stats *from)
{
    bool first = into->count == 0;
    bool first_real = into->count == into->nan + into->inf;
    bool has_real = from->count > from->nan + from->inf;

    if (from->count == 0)
        return;
    into->is_float = from->is_float;
    if (first || from->min < into->min)
        into->min = from->min;
    if (first || from->max > into->max)
        into->max = from->max;
    if (has_real && (first_real || from->real_min < into->real_min))
        into->real_min = from->real_min;
    if (has_real && (first_real || from->real_max > into->real_max))
        into->real_max = from->real_max;
    into->count += from->count;
    into->zeros += from->zeros;
    into->at_low += from->at_low;
    into->at_high += from->at_high;
    into->nan += from->nan;
    into->inf += from->inf;
    into->real_sum += from->real_sum;
    add_sum(into, from->sum_low, from->sum_high);
    for (unsigned i = 0; i < ASSAY_STATS_BINS; i++)
        into->bins[i] += from->bins[i];
}

/* +0 and -0 are one; NaN stands in none of the fields. */
bool assay_stats_equal(const struct assay_stats *a, const struct assay_stats *b)
{
    return a->count == b->count && a->zeros == b->zeros &&
           a->at_low == b->at_low && a->at_high == b->at_high &&
           a->is_float == b->is_float && a->min == b->min && a->max == b->max &&
           a->sum_low == b->sum_low && a->sum_high == b->sum_high &&
           a->nan == b->nan && a->inf == b->inf && a->real_min == b->real_min &&
           a->real_max == b->real_max && a->real_sum == b->real_sum &&
           memcmp(a->bins, b->bins, sizeof(a->bins)) == 0;
}

double assay_stats_mean(const struct assay_stats *s)
{
    uint64_t n = s->count - s->nan - s->inf, low, high;
    double sum;

    if (n == 0)
        return (double)NAN;
    if (s->is_float)
        return s->real_sum / (double)n;
    /* The magnitude: the halves of a small negative sum are large. */
    low = s->sum_high < 0 ? 0 - s->sum_low : s->sum_low;
    high = s->sum_high < 0 ? ~(uint64_t)s->sum_high + (s->sum_low == 0)
                           : (uint64_t)s->sum_high;
    sum = ldexp((double)high, 64) + (double)low;
    return (s->sum_high < 0 ? -sum : sum) / (double)n;
}

/* ---- what a peer says --------------------------------------------------- */

static bool is_number(double v)
{
    return isfinite(v) != 0;
}

const char *assay_stats_bad_field(const struct assay_stats *s)
{
    static const struct assay_stats none;
    uint64_t left = s->count;

    if (s->is_float > 1)
        return "is_float";
    if (s->nan > left || s->inf > left - s->nan)
        return "nan";
    left -= s->nan + s->inf;
    if (s->zeros > left)
        return "zeros";
    if (s->at_low > left || s->at_high > left)
        return "at_low";
    if (!is_number(s->real_min) || !is_number(s->real_max) ||
        !is_number(s->real_sum))
        return "real_sum";
    if (s->min > s->max || s->real_min > s->real_max)
        return "min";
    if (s->is_float ? s->min != 0 || s->max != 0 || s->sum_low != 0 ||
                          s->sum_high != 0 || s->at_low + s->at_high > 0
                    : s->nan + s->inf > 0 || s->real_min != 0 ||
                          s->real_max != 0 || s->real_sum != 0)
        return "is_float";
    for (unsigned i = 0; i < ASSAY_STATS_BINS; i++) {
        if (s->bins[i] > left)
            return "bins";
        left -= s->bins[i];
    }
    if (left != 0)
        return "bins";
    if (s->count == 0 && !assay_stats_equal(s, &none))
        return "count";
    return NULL;
}
