/* SPDX-License-Identifier: Apache-2.0 */
/* Integers of any width and the float formats of MLIR, as bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host-tools/model/mlir_parse.h"

/* What stands above the largest finite number. */
enum beyond {
    IEEE,     /* infinity and NaN, an exponent of their own */
    NAN_ONES, /* NaN only: all ones */
    NAN_ZERO, /* NaN only: minus zero, so there is none */
    FINITE,   /* neither */
    X87,      /* as IEEE, with the leading one written out */
    SCALE,    /* an exponent alone */
};

static const struct format {
    const char *name;
    unsigned exponent, mantissa; /* bits */
    int bias;
    enum beyond beyond;
} formats[] = {
    {"f32", 8, 23, 127, IEEE},         {"f16", 5, 10, 15, IEEE},
    {"f64", 11, 52, 1023, IEEE},       {"bf16", 8, 7, 127, IEEE},
    {"tf32", 8, 10, 127, IEEE},        {"f80", 15, 63, 16383, X87},
    {"f128", 15, 112, 16383, IEEE},    {"f8E5M2", 5, 2, 15, IEEE},
    {"f8E4M3", 4, 3, 7, IEEE},         {"f8E3M4", 3, 4, 3, IEEE},
    {"f8E4M3FN", 4, 3, 7, NAN_ONES},   {"f8E5M2FNUZ", 5, 2, 16, NAN_ZERO},
    {"f8E4M3FNUZ", 4, 3, 8, NAN_ZERO}, {"f8E4M3B11FNUZ", 4, 3, 11, NAN_ZERO},
    {"f8E8M0FNU", 8, 0, 127, SCALE},   {"f6E2M3FN", 2, 3, 1, FINITE},
    {"f6E3M2FN", 3, 2, 3, FINITE},     {"f4E2M1FN", 2, 1, 1, FINITE},
};

static const struct format *format_of(const char *name)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (!strcmp(name, formats[i].name))
            return &formats[i];
    return NULL;
}

unsigned assay_mlir_float_width(const char *name)
{
    const struct format *f = format_of(name);

    if (!f)
        return 0;
    if (f->beyond == SCALE)
        return 8;
    return f->exponent + f->mantissa + (f->beyond == X87 ? 2 : 1);
}

/* The bits without sign of what is too large. */
static unsigned __int128 overflow(const struct format *f)
{
    unsigned __int128 one = 1, ones = (one << (f->exponent + f->mantissa)) - 1;

    switch (f->beyond) {
    case NAN_ONES:
    case FINITE: return ones;
    case NAN_ZERO: return one << (f->exponent + f->mantissa);
    default: return ones >> f->mantissa << f->mantissa;
    }
}

/* Largest magnitude that is a number, as bits. */
static unsigned __int128 largest(const struct format *f)
{
    unsigned __int128 one = 1, ones = (one << (f->exponent + f->mantissa)) - 1;

    if (f->beyond == IEEE || f->beyond == X87)
        return (ones >> f->mantissa << f->mantissa) - 1;
    return f->beyond == NAN_ONES ? ones - 1 : ones;
}

/* m * 2^(e - 52) with m < 2^53, nearest, ties to even, as exponent and
 * mantissa side by side. */
static unsigned __int128 round_to(const struct format *f, uint64_t m, int e)
{
    unsigned __int128 v, half;
    int biased = e + f->bias, drop;

    if (!m)
        return 0;
    while (m < UINT64_C(1) << 52) {
        m <<= 1;
        biased--;
    }
    drop = 52 - (int)f->mantissa + (biased < 1 ? 1 - biased : 0);
    if (drop > 60)
        return 0;
    if (drop <= 0) {
        v = (unsigned __int128)m << -drop;
    } else {
        v = m >> drop;
        half = (unsigned __int128)1 << (drop - 1);
        if ((m & (2 * half - 1)) > half ||
            ((m & (2 * half - 1)) == half && (v & 1)))
            v++;
    }
    /* A subnormal that becomes 2^mantissa is the first normal by itself. */
    if (biased >= 1)
        v += ((unsigned __int128)(unsigned)(biased - 1)) << f->mantissa;
    return v > largest(f) ? overflow(f) : v;
}

void assay_mlir_float_bytes(const char *name, double d, uint8_t *out)
{
    const struct format *f = format_of(name);
    unsigned width = assay_mlir_float_width(name);
    unsigned __int128 v, sign = signbit(d) ? 1 : 0, top;
    uint64_t bits;
    int e;

    memcpy(&bits, &d, 8);
    e = (int)(bits >> 52 & 2047);
    if (e == 2047)
        v = overflow(f);
    else
        v = round_to(
            f, (bits & ((UINT64_C(1) << 52) - 1)) | (e ? UINT64_C(1) << 52 : 0),
            e ? e - 1023 : -1022);
    if (f->beyond == X87) {
        /* The leading one goes between exponent and mantissa. */
        top = v >> 63;
        v = top << 64 | (v & (((unsigned __int128)1 << 63) - 1)) |
            (unsigned __int128)(top != 0) << 63;
    }
    if (f->beyond == NAN_ZERO && (v == 0 || v == overflow(f)))
        sign = 0;
    if (f->beyond != SCALE)
        v |= sign << (width - 1);
    for (unsigned i = 0; i < (width + 7) / 8; i++)
        out[i] = (uint8_t)(v >> (8 * i));
}

double assay_mlir_float_value(const char *name, const uint8_t *bytes)
{
    const struct format *f = format_of(name);
    unsigned width = assay_mlir_float_width(name);
    unsigned __int128 v = 0, fraction, exponent, one = 1;
    bool minus;
    double d;

    for (unsigned i = 0; i < (width + 7) / 8; i++)
        v |= (unsigned __int128)bytes[i] << (8 * i);
    minus = f->beyond != SCALE && (v >> (width - 1) & 1);
    if (f->beyond == NAN_ZERO && v == one << (width - 1))
        return (double)NAN;
    fraction = v & ((one << f->mantissa) - 1);
    exponent =
        v >> (f->mantissa + (f->beyond == X87)) & ((one << f->exponent) - 1);
    if ((f->beyond == IEEE || f->beyond == X87) &&
        exponent == (one << f->exponent) - 1)
        d = fraction ? (double)NAN : (double)INFINITY;
    else if (f->beyond == NAN_ONES &&
             (exponent << f->mantissa | fraction) == overflow(f))
        d = (double)NAN;
    else if (exponent || f->beyond == SCALE)
        d = ldexp((double)(fraction | one << f->mantissa),
                  (int)exponent - f->bias - (int)f->mantissa);
    else
        d = ldexp((double)fraction, 1 - f->bias - (int)f->mantissa);
    return minus ? -d : d;
}

bool assay_mlir_double(struct assay_mlir_parser *p,
                       const struct assay_mlir_token *t, double *out)
{
    char small[64], *text = small;

    /* The text is not ours and has no end that strtod would see. */
    if (t->n >= sizeof(small))
        text = assay_alloc(t->n + 1);
    if (!text)
        return assay_mlir_no_memory(p);
    memcpy(text, t->s, t->n);
    text[t->n] = '\0';
    *out = strtod(text, NULL);
    if (text != small)
        assay_free(text);
    return true;
}

/* Digits into bytes, little-endian; false: more than n bytes. */
static bool magnitude(const struct assay_mlir_token *t, uint8_t *out, size_t n)
{
    bool hex = t->n > 2 && t->s[1] == 'x';

    memset(out, 0, n);
    for (size_t i = hex ? 2 : 0; i < t->n; i++) {
        char c = t->s[i];
        unsigned carry = (unsigned)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);

        for (size_t k = 0; k < n; k++) {
            carry += out[k] * (hex ? 16u : 10u);
            out[k] = (uint8_t)carry;
            carry >>= 8;
        }
        if (carry)
            return false;
    }
    return true;
}

static bool bit(const uint8_t *v, unsigned i)
{
    return v[i / 8] >> (i % 8) & 1;
}

bool assay_mlir_integer_bytes(const struct assay_mlir_token *t, bool negative,
                              unsigned width, char sign, uint8_t *out)
{
    size_t n = (width + 7) / 8;
    unsigned carry = 1;
    bool top;

    if (!width)
        return !negative && t->n == 1 && *t->s == '0';
    if (!magnitude(t, out, n))
        return false;
    for (unsigned i = width; i < 8 * n; i++)
        if (bit(out, i))
            return false;
    for (size_t k = 0; negative && k < n; k++) {
        carry += (uint8_t)~out[k];
        out[k] = (uint8_t)carry;
        carry >>= 8;
    }
    top = bit(out, width - 1);
    if (negative ? !top : top && (sign == 's' || sign == 'x'))
        return false;
    for (unsigned i = width; i < 8 * n; i++) {
        out[n - 1] &= (uint8_t) ~(1u << (i % 8));
        if (top && sign != 'u')
            out[n - 1] |= (uint8_t)(1u << (i % 8));
    }
    return true;
}
