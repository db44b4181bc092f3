/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/model/dump_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_gap(char c)
{
    return c == ' ' || c == ',' || c == '\t' || c == '\r' || c == '\n';
}

/* Behind gaps and remarks. */
static const char *skip(const char *p, const char *end, const char *start)
{
    for (;;) {
        while (p < end && is_gap(*p))
            p++;
        if (p >= end || *p != '#' || (p > start && p[-1] != '\n'))
            return p;
        while (p < end && *p != '\n')
            p++;
    }
}

static size_t count(const char *data, const char *end)
{
    size_t n = 0;

    for (const char *p = skip(data, end, data); p < end;
         p = skip(p, end, data)) {
        n++;
        while (p < end && !is_gap(*p))
            p++;
    }
    return n;
}

/* Digits behind the point of the word; what has an exponent or none is not
 * counted. */
static unsigned decimals_of(const char *p, const char *end)
{
    const char *point = memchr(p, '.', (size_t)(end - p));

    return point != NULL ? (unsigned)(end - point - 1) : 0;
}

static int bad_word(const char *p, const char *end, const char *file, size_t at,
                    struct assay_err *err)
{
    int n = end - p < 40 ? (int)(end - p) : 40;

    return assay_fail(err, ASSAY_EFORMAT,
                      "%s: element %zu: expected a number, found '%.*s'", file,
                      at, n, p);
}

int assay_dump_text_parse(struct assay_dump_text *out, const char *data,
                          size_t n, const char *file, struct assay_err *err)
{
    const char *end = data + n, *p = skip(data, end, data);
    struct assay_dump_text t = {.integers = true};
    size_t words = count(data, end);

    t.v = assay_calloc(words + 1, sizeof(*t.v));
    if (t.v == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", file);
    while (p < end) {
        const char *stop = p;
        char *behind;
        unsigned decimals;

        while (stop < end && !is_gap(*stop))
            stop++;
        t.v[t.n] = strtod(p, &behind);
        if (behind != stop) {
            assay_free(t.v);
            return bad_word(p, stop, file, t.n, err);
        }
        decimals = decimals_of(p, stop);
        t.decimals = decimals > t.decimals ? decimals : t.decimals;
        if (memchr(p, '.', (size_t)(stop - p)) != NULL ||
            t.v[t.n] != trunc(t.v[t.n]))
            t.integers = false;
        t.n++;
        p = skip(stop, end, data);
    }
    *out = t;
    return 0;
}

void assay_dump_text_close(struct assay_dump_text *t)
{
    if (t == NULL)
        return;
    assay_free(t->v);
    memset(t, 0, sizeof(*t));
}

double assay_dump_value(enum assay_dtype dtype, const uint8_t *p)
{
    int16_t s16;
    uint16_t u16;
    int32_t s32;
    int64_t s64;
    float f32;

    switch (dtype) {
    case ASSAY_S8: return (int8_t)*p;
    case ASSAY_U8: return *p;
    case ASSAY_S16: memcpy(&s16, p, sizeof(s16)); return s16;
    case ASSAY_U16: memcpy(&u16, p, sizeof(u16)); return u16;
    case ASSAY_S32: memcpy(&s32, p, sizeof(s32)); return s32;
    case ASSAY_F32: memcpy(&f32, p, sizeof(f32)); return (double)f32;
    default: memcpy(&s64, p, sizeof(s64)); return (double)s64;
    }
}

static bool same(const struct assay_dump_text *t, bool is_int, double text,
                 double element)
{
    if (isnan(text) || isnan(element))
        return isnan(text) && isnan(element);
    if (is_int || isinf(element))
        return text == element;
    return fabs(text - element) <=
           0.501 * pow(10, -(double)t->decimals) + 1e-6 * fabs(element);
}

size_t assay_dump_text_differs(const struct assay_dump_text *t,
                               enum assay_dtype dtype, const uint8_t *elements)
{
    size_t unit = assay_dtype_bytes(dtype);

    for (size_t i = 0; i < t->n; i++) {
        double e = assay_dump_value(dtype, elements + i * unit);

        if (!same(t, assay_dtype_is_int(dtype), t->v[i], e))
            return i;
    }
    return t->n;
}
