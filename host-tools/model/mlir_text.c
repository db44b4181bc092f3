/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes and locations written out again, without aliases. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/model/mlir_parse.h"

bool assay_mlir_put(struct assay_buf *b, const char *s)
{
    return !assay_buf_append(b, s, strlen(s));
}

bool assay_mlir_printf(struct assay_buf *b, const char *fmt, ...)
{
    char text[128];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return n >= 0 && (size_t)n < sizeof(text) &&
           !assay_buf_append(b, text, (size_t)n);
}

bool assay_mlir_quote(struct assay_buf *b, const char *s, size_t n)
{
    if (!assay_mlir_put(b, "\""))
        return false;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];

        if (c < 32 || c > 126 || c == '"' || c == '\\') {
            if (!assay_mlir_printf(b, "\\%02X", c))
                return false;
        } else if (assay_buf_append(b, s + i, 1)) {
            return false;
        }
    }
    return assay_mlir_put(b, "\"");
}

static bool hex_bytes(struct assay_buf *b, const uint8_t *data, size_t n)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t chars;

    if (!assay_mul_size(n, 2, &chars) || assay_buf_reserve(b, chars))
        return false;
    for (size_t i = 0; i < n; i++) {
        b->data[b->len++] = (uint8_t)digits[data[i] >> 4];
        b->data[b->len++] = (uint8_t)digits[data[i] & 15];
    }
    return true;
}

/* One bit an element, the first one lowest, as MLIR keeps i1. */
static bool packed_bits(struct assay_buf *b, const uint8_t *data, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        uint8_t byte = 0;

        for (size_t k = 0; k < 8 && i + k < n; k++)
            byte |= (uint8_t)((data[i + k] & 1) << k);
        if (!hex_bytes(b, &byte, 1))
            return false;
    }
    return true;
}

/* Strings in the nesting of the shape. */
static bool string_list(struct assay_buf *b, const struct assay_mlir_attr *a,
                        uint32_t axis, uint32_t *at)
{
    const struct assay_mlir_attr *s;

    if (axis < a->type->rank) {
        if (!assay_mlir_put(b, "["))
            return false;
        for (int64_t i = 0; i < a->type->dims[axis]; i++)
            if ((i && !assay_mlir_put(b, ", ")) ||
                !string_list(b, a, axis + 1, at))
                return false;
        return assay_mlir_put(b, "]");
    }
    s = a->items[(*at)++];
    return assay_mlir_quote(b, s->text, s->text_size);
}

static bool dense(struct assay_buf *b, const struct assay_mlir_attr *a)
{
    const struct assay_mlir_type *e = a->type->element;
    bool i1 = e->kind == ASSAY_MLIR_INTEGER && e->width == 1, ok;
    uint32_t at = 0;

    if (!assay_mlir_put(b, "dense<"))
        return false;
    if (a->n)
        ok = a->splat ? assay_mlir_quote(b, a->items[0]->text,
                                         a->items[0]->text_size)
                      : string_list(b, a, 0, &at);
    else if (i1 && a->data_size == 1)
        ok = assay_mlir_put(b, *(const uint8_t *)a->data ? "true" : "false");
    else if (a->data_size)
        ok = assay_mlir_put(b, "\"0x") &&
             (i1 ? packed_bits(b, a->data, a->data_size)
                 : hex_bytes(b, a->data, a->data_size)) &&
             assay_mlir_put(b, "\"");
    else
        ok = true;
    return ok && assay_mlir_put(b, "> : ") && assay_mlir_put(b, a->type->text);
}

static bool type_behind(struct assay_buf *b, const struct assay_mlir_attr *a)
{
    return !a->type ||
           (assay_mlir_put(b, " : ") && assay_mlir_put(b, a->type->text));
}

/* Bits of a wide integer; a minus where the type would not take them. */
static bool wide(struct assay_buf *b, const struct assay_mlir_attr *a)
{
    const uint8_t *d = a->data;
    size_t n = a->data_size;
    bool minus = a->type->sign != 'u' && (d[n - 1] & 128) != 0;
    unsigned carry = 1;
    uint8_t v[512];

    if (n > sizeof(v))
        return false;
    for (size_t i = 0; i < n; i++) {
        unsigned x = minus ? (uint8_t)~d[i] + carry : d[i];

        carry = x >> 8;
        v[n - 1 - i] = (uint8_t)x;
    }
    return assay_mlir_put(b, minus ? "-0x" : "0x") && hex_bytes(b, v, n);
}

static bool integer(struct assay_buf *b, const struct assay_mlir_attr *a)
{
    if (a->data_size)
        return wide(b, a);
    if (a->type && a->type->sign == 'u')
        return assay_mlir_printf(b, "%llu", (unsigned long long)a->i);
    return assay_mlir_printf(b, "%lld", (long long)a->i);
}

static bool is_word(const char *s)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";

    return *s && strchr(letters, *s) &&
           !s[strspn(s, "abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789$.")];
}

static bool items(struct assay_buf *b, const struct assay_mlir_attr *a,
                  const char *open, const char *close)
{
    if (!assay_mlir_put(b, open))
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct assay_mlir_attr *x = a->items[i];

        if (i && !assay_mlir_put(b, ", "))
            return false;
        if (a->kind == ASSAY_MLIR_DICT) {
            if (is_word(a->names[i])
                    ? !assay_mlir_put(b, a->names[i])
                    : !assay_mlir_quote(b, a->names[i], strlen(a->names[i])))
                return false;
            if (x->kind == ASSAY_MLIR_UNIT)
                continue;
            if (!assay_mlir_put(b, " = "))
                return false;
        }
        if (a->kind == ASSAY_MLIR_TYPED_ARRAY && x->kind == ASSAY_MLIR_INT) {
            if (!integer(b, x))
                return false;
        } else if (a->kind == ASSAY_MLIR_TYPED_ARRAY &&
                   x->kind == ASSAY_MLIR_REAL) {
            if (!assay_mlir_put(b, x->text))
                return false;
        } else if (!assay_mlir_attr_text(b, x)) {
            return false;
        }
    }
    return assay_mlir_put(b, close);
}

static bool typed_array(struct assay_buf *b, const struct assay_mlir_attr *a)
{
    return assay_mlir_put(b, "array<") && assay_mlir_put(b, a->type->text) &&
           items(b, a, a->n ? ": " : "", ">");
}

static bool resource(struct assay_buf *b, const struct assay_mlir_attr *a)
{
    return assay_mlir_put(b, "dense_resource<") &&
           (is_word(a->text) ? assay_mlir_put(b, a->text)
                             : assay_mlir_quote(b, a->text, a->text_size)) &&
           assay_mlir_put(b, ">") && type_behind(b, a);
}

/* A number as MLIR reads it back: floats by their bits. */
static bool number(struct assay_buf *b, const struct assay_mlir_type *t,
                   const uint8_t *bytes, size_t n)
{
    int64_t v = 0;

    if (t->kind == ASSAY_MLIR_FLOAT || n > 8) {
        if (!assay_mlir_put(b, "0x"))
            return false;
        while (n-- > 0)
            if (!hex_bytes(b, bytes + n, 1))
                return false;
        return true;
    }
    memcpy(&v, bytes, n);
    if (t->sign != 'u' && n > 0 && n < 8 && bytes[n - 1] >> 7)
        v -= INT64_C(1) << (8 * n);
    return assay_mlir_printf(b, t->sign == 'u' ? "%llu" : "%lld", (long long)v);
}

/* Numbers in the nesting of the shape; *at counts bytes. */
static bool number_list(struct assay_buf *b, const struct assay_mlir_attr *a,
                        uint32_t axis, size_t size, size_t *at)
{
    const struct assay_mlir_type *e = a->type->element;
    const uint8_t *data = (const uint8_t *)a->data + *at;

    if (axis < a->type->rank) {
        if (!assay_mlir_put(b, "["))
            return false;
        for (int64_t i = 0; i < a->type->dims[axis]; i++)
            if ((i && !assay_mlir_put(b, ", ")) ||
                !number_list(b, a, axis + 1, size, at))
                return false;
        return assay_mlir_put(b, "]");
    }
    *at += size;
    if (e->kind != ASSAY_MLIR_COMPLEX)
        return number(b, e, data, size);
    return assay_mlir_put(b, "(") && number(b, e->element, data, size / 2) &&
           assay_mlir_put(b, ", ") &&
           number(b, e->element, data + size / 2, size / 2) &&
           assay_mlir_put(b, ")");
}

/* Parts have no hex and no type of their own. */
static bool sparse(struct assay_buf *b, const struct assay_mlir_attr *a)
{
    for (uint32_t i = 0; i < 2; i++) {
        const struct assay_mlir_attr *x = a->items[i];
        uint64_t count = 0;
        uint32_t item = 0;
        size_t at = 0;

        if (i && !assay_mlir_put(b, ", "))
            return false;
        if (x->n) {
            if (!string_list(b, x, 0, &item))
                return false;
            continue;
        }
        if (!assay_mlir_count(x->type, &count))
            return false;
        if (!number_list(b, x, 0, count ? x->data_size / count : 0, &at))
            return false;
    }
    return true;
}

bool assay_mlir_attr_text(struct assay_buf *b, const struct assay_mlir_attr *a)
{
    switch (a->kind) {
    case ASSAY_MLIR_UNIT: return assay_mlir_put(b, "unit");
    case ASSAY_MLIR_BOOL: return assay_mlir_put(b, a->i ? "true" : "false");
    case ASSAY_MLIR_INT: return integer(b, a) && type_behind(b, a);
    case ASSAY_MLIR_STRING:
        return assay_mlir_quote(b, a->text, a->text_size) && type_behind(b, a);
    case ASSAY_MLIR_TYPE: return assay_mlir_put(b, a->type->text);
    case ASSAY_MLIR_ARRAY: return items(b, a, "[", "]");
    case ASSAY_MLIR_TYPED_ARRAY: return typed_array(b, a);
    case ASSAY_MLIR_DICT: return items(b, a, "{", "}");
    case ASSAY_MLIR_DENSE: return dense(b, a);
    case ASSAY_MLIR_RESOURCE: return resource(b, a);
    case ASSAY_MLIR_SPARSE:
        return assay_mlir_put(b, "sparse<") && (!a->n || sparse(b, a)) &&
               assay_mlir_put(b, ">") && type_behind(b, a);
    case ASSAY_MLIR_DISTINCT:
        return assay_mlir_printf(b, "distinct[%lld]", (long long)a->i) &&
               items(b, a, "<", ">");
    case ASSAY_MLIR_LOCATION:
        return assay_mlir_put(b, "loc(") && assay_mlir_loc_text(b, a->loc) &&
               assay_mlir_put(b, ")");
    case ASSAY_MLIR_REAL:
    case ASSAY_MLIR_SYMBOL:
    case ASSAY_MLIR_AFFINE:
    case ASSAY_MLIR_STRIDED:
    case ASSAY_MLIR_OPAQUE: break;
    }
    return assay_mlir_put(b, a->text) &&
           (a->kind == ASSAY_MLIR_OPAQUE || type_behind(b, a));
}

static bool parts(struct assay_buf *b, const struct assay_mlir_loc *l,
                  const char *between)
{
    for (uint32_t i = 0; i < l->n_parts; i++)
        if ((i && !assay_mlir_put(b, between)) ||
            !assay_mlir_loc_text(b, l->parts[i]))
            return false;
    return true;
}

static bool file_loc(struct assay_buf *b, const struct assay_mlir_loc *l)
{
    return assay_mlir_quote(b, l->text, strlen(l->text)) &&
           assay_mlir_printf(b, ":%u:%u", l->line, l->column) &&
           (!l->end_line ||
            assay_mlir_printf(b, " to %u:%u", l->end_line, l->end_column));
}

bool assay_mlir_loc_text(struct assay_buf *b, const struct assay_mlir_loc *l)
{
    switch (l->kind) {
    case ASSAY_MLIR_LOC_UNKNOWN: break;
    case ASSAY_MLIR_LOC_FILE: return file_loc(b, l);
    case ASSAY_MLIR_LOC_NAME:
        return assay_mlir_quote(b, l->text, strlen(l->text)) &&
               (!l->n_parts || (assay_mlir_put(b, "(") && parts(b, l, "") &&
                                assay_mlir_put(b, ")")));
    case ASSAY_MLIR_LOC_FUSED:
        return assay_mlir_put(b, "fused") &&
               (!l->metadata || (assay_mlir_put(b, "<") &&
                                 assay_mlir_attr_text(b, l->metadata) &&
                                 assay_mlir_put(b, ">"))) &&
               assay_mlir_put(b, "[") && parts(b, l, ", ") &&
               assay_mlir_put(b, "]");
    case ASSAY_MLIR_LOC_CALLSITE:
        return assay_mlir_put(b, "callsite(") && parts(b, l, " at ") &&
               assay_mlir_put(b, ")");
    case ASSAY_MLIR_LOC_OPAQUE: return assay_mlir_put(b, l->text);
    }
    return assay_mlir_put(b, "unknown");
}
