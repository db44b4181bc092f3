/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/mlir_write.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 8192

static void die(const char *what)
{
    fprintf(stderr, "mlir_print: %s\n", what);
    exit(3);
}

void mlir_write_wide(FILE *to, const uint8_t *bytes, size_t n, bool is_signed)
{
    uint8_t *work = malloc(n ? n : 1);
    char *digits = malloc(DIGITS_MAX);
    size_t at = DIGITS_MAX;
    bool negative = is_signed && n && (bytes[n - 1] & 0x80), more = true;
    unsigned carry = 1;

    if (!work || !digits || n * 5 / 2 + 2 > DIGITS_MAX)
        die("no room for an integer");
    for (size_t i = 0; i < n; i++) {
        carry += negative ? (uint8_t)~bytes[i] : bytes[i] + 0xffu;
        work[i] = negative ? (uint8_t)carry : bytes[i];
        carry = negative ? carry >> 8 : 1;
    }
    while (more) {
        unsigned rest = 0;

        more = false;
        for (size_t i = n; i-- > 0;) {
            unsigned v = rest << 8 | work[i];

            work[i] = (uint8_t)(v / 10);
            rest = v % 10;
            more |= work[i] != 0;
        }
        digits[--at] = (char)('0' + rest);
    }
    fprintf(to, "%s%.*s", negative ? "-" : "", (int)(DIGITS_MAX - at),
            digits + at);
    free(work);
    free(digits);
}

/* Bits of a float type by its name; 0: not known here. */
static unsigned float_bits(const char *name)
{
    if (strncmp(name, "f8", 2) == 0 && name[2] == 'E')
        return 8;
    if (strcmp(name, "bf16") == 0)
        return 16;
    if (strcmp(name, "tf32") == 0)
        return 32; /* 19 of them are used */
    return name[0] == 'f' ? (unsigned)strtoul(name + 1, NULL, 10) : 0;
}

static unsigned bits_of(const struct assay_mlir_type *t)
{
    switch (t->kind) {
    case ASSAY_MLIR_INTEGER: return t->width;
    case ASSAY_MLIR_INDEX: return 64;
    case ASSAY_MLIR_FLOAT: return float_bits(t->text);
    default: return 0;
    }
}

static size_t bytes_of(const struct assay_mlir_type *t)
{
    if (t->kind == ASSAY_MLIR_COMPLEX)
        return 2 * bytes_of(t->element);
    return (bits_of(t) + 7) / 8;
}

static bool has_hex(const struct assay_mlir_type *t)
{
    if (t->kind == ASSAY_MLIR_COMPLEX)
        return has_hex(t->element);
    /* Of tf32, MLIR keeps 4 bytes and we 3. */
    return bits_of(t) > 1 &&
           (t->kind != ASSAY_MLIR_FLOAT || bits_of(t) % 8 == 0);
}

static void write_hex(FILE *to, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fprintf(to, "%02X", bytes[i]);
}

static void write_scalar(FILE *to, const struct assay_mlir_type *t,
                         const uint8_t *bytes)
{
    size_t n = bytes_of(t);

    if (t->kind == ASSAY_MLIR_COMPLEX) {
        fputc('(', to);
        write_scalar(to, t->element, bytes);
        fputs(", ", to);
        write_scalar(to, t->element, bytes + n / 2);
        fputc(')', to);
    } else if (t->kind == ASSAY_MLIR_FLOAT) {
        fputs("0x", to);
        for (size_t i = n; i-- > 0;)
            fprintf(to, "%02X", bytes[i]);
    } else if (bits_of(t) == 1) {
        fputs(bytes[0] ? (t->sign == 's' ? "-1" : "1") : "0", to);
    } else if (t->kind == ASSAY_MLIR_INTEGER && t->sign == 'i' &&
               t->width % 8) {
        /* Bits above the width are not a part of it: by the unsigned value. */
        uint8_t copy[512] = {0};

        if (n > sizeof(copy))
            die("an integer is too wide");
        memcpy(copy, bytes, n);
        copy[n - 1] &= (uint8_t)((1u << t->width % 8) - 1);
        mlir_write_wide(to, copy, n, false);
    } else {
        mlir_write_wide(to, bytes, n,
                        t->kind == ASSAY_MLIR_INDEX || t->sign != 'u');
    }
}

static void write_nest(struct mlir_writer *w, const struct assay_mlir_attr *a,
                       uint32_t axis, size_t *at)
{
    const struct assay_mlir_type *t = a->type;

    if (axis < t->rank && !a->splat) {
        fputc('[', w->to);
        for (int64_t i = 0; i < t->dims[axis]; i++) {
            fputs(i ? ", " : "", w->to);
            write_nest(w, a, axis + 1, at);
        }
        fputc(']', w->to);
        return;
    }
    if (a->items)
        mlir_write_string(w->to, a->items[*at]->text, a->items[*at]->text_size);
    else
        write_scalar(w->to, t->element,
                     (const uint8_t *)a->data + *at * bytes_of(t->element));
    ++*at;
}

void mlir_write_elements(struct mlir_writer *w, const struct assay_mlir_attr *a,
                         bool hex)
{
    size_t at = 0;

    if (!a->type || !a->type->element)
        die("a constant without a shaped type");
    if (!a->n && a->data_size == 0)
        return;
    if (!a->items && hex && has_hex(a->type->element)) {
        fputs("\"0x", w->to);
        write_hex(w->to, a->data, a->data_size);
        fputc('"', w->to);
        return;
    }
    write_nest(w, a, 0, &at);
    if (!a->items && at * bytes_of(a->type->element) != a->data_size)
        die("a constant's data does not have the size of its shape");
}

/* double to the bits of a float with e exponent bits and m mantissa bits. The
 * value has to be exact already but for the rounding that f16 and bf16 need. */
static uint64_t narrow(double d, int e, int m)
{
    uint64_t sign = signbit(d) ? 1 : 0, max = (UINT64_C(1) << e) - 1;
    int bias = (1 << (e - 1)) - 1, exponent;
    double f, scaled;

    if (isnan(d))
        return sign << (e + m) | max << m | UINT64_C(1) << (m - 1);
    if (isinf(d))
        return sign << (e + m) | max << m;
    f = frexp(fabs(d), &exponent); /* 0.5 <= f < 1 */
    if (f == 0)
        return sign << (e + m);
    if (exponent - 1 < 1 - bias) {
        scaled = nearbyint(ldexp(fabs(d), bias - 1 + m));
        return sign << (e + m) | (uint64_t)scaled;
    }
    scaled = nearbyint(ldexp(f, m + 1)); /* 2^m .. 2^(m+1) */
    return sign << (e + m) | (((uint64_t)(exponent - 1 + bias) << m) +
                              (uint64_t)scaled - (UINT64_C(1) << m));
}

void mlir_write_real(FILE *to, const struct assay_mlir_attr *a)
{
    const char *t = a->type ? a->type->text : "f64";
    double d = a->d;
    uint64_t bits;

    /* A NaN's payload does not survive a double, and the smallest formats have
     * bits of their own for what is no number: only the text tells. */
    if (a->data_size) {
        fputs("0x", to);
        for (size_t i = a->data_size; i-- > 0;)
            fprintf(to, "%02X", ((const uint8_t *)a->data)[i]);
    } else if ((isnan(d) || (isinf(d) && t[0] != 'b' && strlen(t) > 3)) &&
               a->text)
        fputs(a->text, to);
    else if (strcmp(t, "f64") == 0 && (memcpy(&bits, &d, 8), 1))
        fprintf(to, "0x%016" PRIX64, bits);
    else if (strcmp(t, "f32") == 0)
        fprintf(to, "0x%08" PRIX64, narrow(d, 8, 23));
    else if (strcmp(t, "f16") == 0)
        fprintf(to, "0x%04" PRIX64, narrow(d, 5, 10));
    else if (strcmp(t, "bf16") == 0)
        fprintf(to, "0x%04" PRIX64, narrow(d, 8, 7));
    else
        fprintf(to, "%.17e", d);
}
