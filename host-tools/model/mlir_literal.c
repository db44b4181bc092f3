/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as attributes. */
#include <string.h>

#include "host-tools/model/mlir_parse.h"

#define SMALL_INTS 4096u
#define MAX_LITERAL_BITS 4096u

/* Small integers are many and few: the same one is the same object. */
static const struct assay_mlir_attr *int_attr(
    struct assay_mlir_parser *p, const struct assay_mlir_type *type, int64_t i)
{
    uint64_t h = ((uint64_t)(uintptr_t)type >> 4) * 31 + (uint64_t)i;
    const struct assay_mlir_attr **slot;
    struct assay_mlir_attr *a;

    if (!p->small_ints) {
        p->small_ints = assay_calloc(SMALL_INTS, sizeof(*p->small_ints));
        if (!p->small_ints) {
            assay_mlir_no_memory(p);
            return NULL;
        }
    }
    slot = &p->small_ints[h % SMALL_INTS];
    if (*slot && (*slot)->type == type && (*slot)->i == i)
        return *slot;
    a = assay_mlir_new_attr(p, ASSAY_MLIR_INT);
    if (!a)
        return NULL;
    a->type = type;
    a->i = i;
    if (type->kind == ASSAY_MLIR_INTEGER && type->sign == 'i' &&
        type->width == 1) {
        a->kind = ASSAY_MLIR_BOOL;
        a->i = i & 1;
        a->type = NULL;
        return a;
    }
    *slot = a;
    return a;
}

static const struct assay_mlir_attr *integer(struct assay_mlir_parser *p,
                                             const struct assay_mlir_token *t,
                                             bool negative,
                                             const struct assay_mlir_type *type)
{
    uint8_t bytes[MAX_LITERAL_BITS / 8];
    struct assay_mlir_attr *a;
    uint64_t v = 0;
    size_t n = (type->width + 7) / 8;

    if (type->kind != ASSAY_MLIR_INTEGER && type->kind != ASSAY_MLIR_INDEX) {
        assay_mlir_fail(p, t, "an integer cannot have the type '%.60s'",
                        type->text);
        return NULL;
    }
    if (type->width > MAX_LITERAL_BITS) {
        assay_mlir_unsupported(p, t, "a number of more than %u bits",
                               MAX_LITERAL_BITS);
        return NULL;
    }
    if (negative && type->sign == 'u') {
        assay_mlir_fail(p, t,
                        "expected a number of the type '%s', found a "
                        "negative one",
                        type->text);
        return NULL;
    }
    if (!assay_mlir_integer_bytes(t, negative, type->width, type->sign,
                                  bytes)) {
        assay_mlir_fail(p, t, "%s%.*s is out of range of the type '%s'",
                        negative ? "-" : "", t->n < 60 ? (int)t->n : 60, t->s,
                        type->text);
        return NULL;
    }
    if (n > 8) {
        a = assay_mlir_new_attr(p, ASSAY_MLIR_INT);
        if (!a)
            return NULL;
        a->type = type;
        a->data = assay_arena_copy(p->arena, bytes, n);
        a->data_size = n;
        if (!a->data)
            assay_mlir_no_memory(p);
        return a->data ? a : NULL;
    }
    for (size_t i = 0; i < 8; i++) {
        uint8_t fill = type->sign != 'u' && n && bytes[n - 1] >> 7 ? 255 : 0;

        v |= (uint64_t)(i < n ? bytes[i] : fill) << (8 * i);
    }
    return int_attr(p, type, (int64_t)v);
}

/* 0x7FC00000 as the bits of a float. */
static bool real_bits(struct assay_mlir_parser *p,
                      const struct assay_mlir_token *t, bool negative,
                      const struct assay_mlir_type *type, uint8_t bytes[16])
{
    unsigned width = assay_mlir_float_width(type->text);

    if (t->n < 3 || t->s[1] != 'x')
        return assay_mlir_fail(p, t,
                               "expected a number with a point or hex "
                               "bits for '%s', found an integer",
                               type->text);
    if (negative)
        return assay_mlir_fail(p, t, "expected hex bits without a minus");
    if (!assay_mlir_integer_bytes(t, false, width, 'u', bytes))
        return assay_mlir_fail(p, t, "%.*s has more bits than '%s'",
                               t->n < 60 ? (int)t->n : 60, t->s, type->text);
    return true;
}

/* The literal as it stands, with its minus. */
static bool spelled(struct assay_mlir_parser *p,
                    const struct assay_mlir_token *t, bool negative,
                    struct assay_mlir_attr *a)
{
    struct assay_buf b;

    assay_buf_init(&b);
    if (!assay_mlir_put(&b, negative ? "-" : "") ||
        assay_buf_append(&b, t->s, t->n))
        assay_mlir_no_memory(p);
    else
        a->text = assay_mlir_intern(p, (const char *)b.data, b.len);
    a->text_size = b.len;
    assay_buf_close(&b);
    return !p->rc && a->text;
}

static const struct assay_mlir_attr *real(struct assay_mlir_parser *p,
                                          const struct assay_mlir_token *t,
                                          bool negative,
                                          const struct assay_mlir_type *type)
{
    struct assay_mlir_attr *a;
    uint8_t bytes[16];
    double d;

    if (type->kind != ASSAY_MLIR_FLOAT) {
        assay_mlir_fail(p, t,
                        "a number with a point cannot have the type "
                        "'%.60s'",
                        type->text);
        return NULL;
    }
    if (t->kind == ASSAY_TOK_INTEGER) {
        if (!real_bits(p, t, negative, type, bytes))
            return NULL;
    } else {
        if (!assay_mlir_double(p, t, &d))
            return NULL;
        assay_mlir_float_bytes(type->text, negative ? -d : d, bytes);
    }
    a = assay_mlir_new_attr(p, ASSAY_MLIR_REAL);
    if (!a)
        return NULL;
    a->type = type;
    a->d = assay_mlir_float_value(type->text, bytes);
    if (type->width > 64) {
        /* More than a double holds. */
        a->data_size = (type->width + 7) / 8;
        a->data = assay_arena_copy(p->arena, bytes, a->data_size);
        if (!a->data) {
            assay_mlir_no_memory(p);
            return NULL;
        }
    }
    return spelled(p, t, negative, a) ? a : NULL;
}

const struct assay_mlir_attr *assay_mlir_attr_number(
    struct assay_mlir_parser *p, const struct assay_mlir_type *type)
{
    bool negative = assay_mlir_take(p, '-');
    struct assay_mlir_token t = p->at.tok;

    if (t.kind != ASSAY_TOK_INTEGER && t.kind != ASSAY_TOK_FLOAT) {
        assay_mlir_expected(p, "a number");
        return NULL;
    }
    assay_mlir_next(p);
    if (!type && assay_mlir_take(p, ':')) {
        type = assay_mlir_type(p);
        if (!type)
            return NULL;
    }
    if (!type && !p->rc)
        type = t.kind == ASSAY_TOK_FLOAT ? assay_mlir_type_float(p, "f64")
                                         : assay_mlir_type_int(p, 'i', 64);
    if (!type || p->rc)
        return NULL;
    if (t.kind == ASSAY_TOK_FLOAT || type->kind == ASSAY_MLIR_FLOAT)
        return real(p, &t, negative, type);
    return integer(p, &t, negative, type);
}
