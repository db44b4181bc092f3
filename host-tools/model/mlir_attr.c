/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes, but for lists of elements, locations and affine expressions. */
#include <string.h>

#include "host-tools/model/mlir_parse.h"

struct assay_mlir_attr *assay_mlir_new_attr(struct assay_mlir_parser *p,
                                            enum assay_mlir_attr_kind kind)
{
    struct assay_mlir_attr *a = NULL;

    if (!p->rc) {
        a = assay_arena_alloc(p->arena, sizeof(*a));
        if (!a)
            assay_mlir_no_memory(p);
    }
    if (a) {
        a->kind = kind;
        a->weight = 1;
        a->depth = 1;
    }
    return a;
}

bool assay_mlir_carry(struct assay_mlir_parser *p, uint32_t *weight,
                      uint16_t *depth, uint32_t item_weight,
                      unsigned item_depth)
{
    if (item_depth + 1 > ASSAY_MLIR_MAX_DEPTH)
        return assay_mlir_fail(p, &p->at.tok, "nested deeper than %u levels",
                               ASSAY_MLIR_MAX_DEPTH);
    if (item_depth + 1 > *depth)
        *depth = (uint16_t)(item_depth + 1);
    *weight += item_weight;
    return true;
}

/* An alias stands for all its parts, wherever it is used. */
static bool add_item(struct assay_mlir_parser *p, struct assay_mlir_attr *a,
                     const struct assay_mlir_attr *item)
{
    if (!assay_mlir_carry(p, &a->weight, &a->depth, item->weight, item->depth))
        return false;
    if (a->weight > ASSAY_MLIR_MAX_WEIGHT)
        return assay_mlir_fail(p, &p->at.tok,
                               "an attribute of more than %u parts",
                               ASSAY_MLIR_MAX_WEIGHT);
    return true;
}

const struct assay_mlir_attr *assay_mlir_attr_list(
    struct assay_mlir_parser *p, enum assay_mlir_attr_kind kind, size_t mark,
    const char *const *names)
{
    struct assay_mlir_attr *a = assay_mlir_new_attr(p, kind);

    if (!a)
        return NULL;
    a->names = names;
    a->items =
        (const struct assay_mlir_attr *const *)assay_mlir_pop(p, mark, &a->n);
    for (uint32_t i = 0; a->items && i < a->n; i++)
        if (!add_item(p, a, a->items[i]))
            return NULL;
    return a->items ? a : NULL;
}

const struct assay_mlir_attr *assay_mlir_attr_string(
    struct assay_mlir_parser *p, const char *s, size_t n)
{
    struct assay_mlir_attr *a = assay_mlir_new_attr(p, ASSAY_MLIR_STRING);

    if (!a)
        return NULL;
    a->text = assay_mlir_intern(p, s, n);
    a->text_size = n;
    return a->text ? a : NULL;
}

const struct assay_mlir_attr *assay_mlir_attr_type(
    struct assay_mlir_parser *p, const struct assay_mlir_type *type)
{
    struct assay_mlir_attr *a = assay_mlir_new_attr(p, ASSAY_MLIR_TYPE);

    if (a) {
        a->type = type;
        a->depth = (uint16_t)type->depth;
    }
    return a;
}

static const struct assay_mlir_attr *text_attr(struct assay_mlir_parser *p,
                                               enum assay_mlir_attr_kind kind,
                                               const char *s, size_t n)
{
    struct assay_mlir_attr *a = assay_mlir_new_attr(p, kind);

    if (!a)
        return NULL;
    a->text = assay_mlir_intern(p, s, n);
    a->text_size = n;
    return a->text ? a : NULL;
}

static const struct assay_mlir_attr *boolean(struct assay_mlir_parser *p)
{
    struct assay_mlir_attr *a = assay_mlir_new_attr(p, ASSAY_MLIR_BOOL);

    if (a)
        a->i = assay_mlir_is(p, "true");
    assay_mlir_next(p);
    return a;
}

/* ---- lists ---------------------------------------------------------------- */

static const struct assay_mlir_attr *array(struct assay_mlir_parser *p)
{
    size_t mark = p->n_stack;

    assay_mlir_next(p);
    if (!assay_mlir_take(p, ']')) {
        do {
            const struct assay_mlir_attr *a = assay_mlir_attr(p);

            if (!a || !assay_mlir_push(p, a))
                return NULL;
        } while (assay_mlir_take(p, ','));
        if (!assay_mlir_need(p, ']', "',' or ']' in an array"))
            return NULL;
    }
    return assay_mlir_attr_list(p, ASSAY_MLIR_ARRAY, mark, NULL);
}

static bool array_element_fits(const struct assay_mlir_type *t)
{
    if (t->kind != ASSAY_MLIR_INTEGER && t->kind != ASSAY_MLIR_FLOAT)
        return false;
    return t->width % 8 == 0 ||
           (t->kind == ASSAY_MLIR_INTEGER && t->sign == 'i' && t->width == 1);
}

static const struct assay_mlir_attr *array_element(
    struct assay_mlir_parser *p, const struct assay_mlir_type *type)
{
    struct assay_mlir_token t = p->at.tok;

    if (!assay_mlir_is(p, "true") && !assay_mlir_is(p, "false"))
        return assay_mlir_attr_number(p, type);
    if (type->width == 1)
        return boolean(p);
    assay_mlir_fail(p, &t, "expected a number of the type '%s', found '%.*s'",
                    type->text, (int)t.n, t.s);
    return NULL;
}

static const struct assay_mlir_attr *typed_array(struct assay_mlir_parser *p)
{
    size_t mark = p->n_stack;
    const struct assay_mlir_type *type;
    const struct assay_mlir_attr *a;
    struct assay_mlir_attr *out;
    struct assay_mlir_token at;

    assay_mlir_next(p);
    if (!assay_mlir_need(p, '<', "'<' after 'array'"))
        return NULL;
    at = p->at.tok;
    type = assay_mlir_type(p);
    if (!type)
        return NULL;
    if (!array_element_fits(type)) {
        assay_mlir_fail(p, &at, "'%.60s' cannot be an element here",
                        type->text);
        return NULL;
    }
    if (p->at.tok.kind != '>') {
        if (!assay_mlir_need(p, ':', "':' after the type of an array"))
            return NULL;
        do {
            a = array_element(p, type);
            if (!a || !assay_mlir_push(p, a))
                return NULL;
        } while (assay_mlir_take(p, ','));
    }
    if (!assay_mlir_need(p, '>', "',' or '>' in an array"))
        return NULL;
    out = (struct assay_mlir_attr *)assay_mlir_attr_list(
        p, ASSAY_MLIR_TYPED_ARRAY, mark, NULL);
    if (out)
        out->type = type;
    return out;
}

/* The name in front of '=' in a dictionary. */
static const char *key(struct assay_mlir_parser *p)
{
    const struct assay_mlir_token *t = &p->at.tok;
    const char *s = t->s, *name;
    size_t n = t->n;

    if (t->kind == ASSAY_TOK_STRING) {
        s = assay_mlir_unescape(p, t, &n);
        if (!s)
            return NULL;
        if (n && memchr(s, '\0', n)) {
            assay_mlir_unsupported(p, t, "a byte 0 in a name");
            return NULL;
        }
        if (!n) {
            assay_mlir_expected(p, "the name of an attribute");
            return NULL;
        }
    } else if (t->kind != ASSAY_TOK_BARE) {
        assay_mlir_expected(p, "the name of an attribute");
        return NULL;
    }
    name = assay_mlir_intern(p, s, n);
    return name;
}

/* Names of one dictionary are unique: short ones are looked through, long
 * ones have a table. */
static bool unique(struct assay_mlir_parser *p, struct assay_mlir_map *seen,
                   size_t mark, const char *name)
{
    size_t n = (p->n_stack - mark) / 2;
    bool twice = false;

    if (n < 16) {
        for (size_t i = 0; i < n; i++)
            twice |= p->stack[mark + 2 * i] == name;
    } else {
        for (size_t i = seen->n; i < n; i++)
            if (!assay_mlir_map_put(p, seen, p->stack[mark + 2 * i], 0, p))
                return false;
        twice = assay_mlir_map_get(seen, name, 0) != NULL;
    }
    if (twice)
        return assay_mlir_fail(p, &p->at.tok,
                               "'%.100s' stands twice in a dictionary", name);
    return true;
}

static bool entry(struct assay_mlir_parser *p, struct assay_mlir_map *seen,
                  size_t mark)
{
    const char *name = key(p);
    const struct assay_mlir_attr *a;

    if (!name || !unique(p, seen, mark, name))
        return false;
    assay_mlir_next(p);
    if (assay_mlir_take(p, '='))
        a = assay_mlir_attr(p);
    else
        a = assay_mlir_new_attr(p, ASSAY_MLIR_UNIT);
    return a && assay_mlir_push(p, name) && assay_mlir_push(p, a);
}

const struct assay_mlir_attr *assay_mlir_dict(struct assay_mlir_parser *p)
{
    struct assay_mlir_map seen = {0};
    size_t mark = p->n_stack, n;
    const char **names;
    bool ok = true;

    if (!assay_mlir_need(p, '{', "'{'"))
        return NULL;
    if (!assay_mlir_take(p, '}')) {
        do {
            ok = entry(p, &seen, mark);
        } while (ok && assay_mlir_take(p, ','));
        ok = ok && assay_mlir_need(p, '}', "',' or '}' in a dictionary");
    }
    assay_free(seen.pairs);
    if (!ok)
        return NULL;
    n = (p->n_stack - mark) / 2;
    names = assay_arena_array(p->arena, n, sizeof(*names));
    if (!names) {
        assay_mlir_no_memory(p);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        names[i] = p->stack[mark + 2 * i];
        p->stack[mark + i] = p->stack[mark + 2 * i + 1];
    }
    p->n_stack = mark + n;
    return assay_mlir_attr_list(p, ASSAY_MLIR_DICT, mark, names);
}

/* ---- names ---------------------------------------------------------------- */

static const struct assay_mlir_attr *string(struct assay_mlir_parser *p)
{
    struct assay_mlir_attr *a;
    const char *s;
    size_t n;

    s = assay_mlir_unescape(p, &p->at.tok, &n);
    if (!s)
        return NULL;
    a = (struct assay_mlir_attr *)text_attr(p, ASSAY_MLIR_STRING, s, n);
    assay_mlir_next(p);
    if (a && assay_mlir_take(p, ':')) {
        a->type = assay_mlir_type(p);
        if (!a->type)
            return NULL;
    }
    return a;
}

/* @a::@"b c": each part as it is written. */
static const struct assay_mlir_attr *symbol(struct assay_mlir_parser *p)
{
    const struct assay_mlir_attr *a = NULL;
    struct assay_buf b;
    struct assay_mlir_place before;

    assay_buf_init(&b);
    for (;;) {
        if (assay_buf_append(&b, p->at.tok.s, p->at.tok.n)) {
            assay_mlir_no_memory(p);
            break;
        }
        assay_mlir_next(p);
        before = p->at;
        if (!assay_mlir_take(p, ':'))
            break;
        if (!assay_mlir_take(p, ':')) {
            if (!p->rc)
                p->at = before;
            break;
        }
        if (p->at.tok.kind != ASSAY_TOK_AT) {
            assay_mlir_expected(p, "'@' and a name after '::'");
            break;
        }
        if (!assay_mlir_put(&b, "::")) {
            assay_mlir_no_memory(p);
            break;
        }
    }
    if (!p->rc)
        a = text_attr(p, ASSAY_MLIR_SYMBOL, (const char *)b.data, b.len);
    assay_buf_close(&b);
    return a;
}

/* #name<...> : type, which belongs to its text. */
static const struct assay_mlir_attr *with_type(struct assay_mlir_parser *p,
                                               struct assay_mlir_attr *a)
{
    struct assay_buf b;

    a->type = assay_mlir_type(p);
    if (!a->type)
        return NULL;
    assay_buf_init(&b);
    if (!assay_mlir_put(&b, a->text) || !assay_mlir_put(&b, " : ") ||
        !assay_mlir_put(&b, a->type->text))
        assay_mlir_no_memory(p);
    else
        a->text = assay_mlir_intern(p, (const char *)b.data, b.len);
    a->text_size = b.len;
    assay_buf_close(&b);
    return p->rc || !a->text ? NULL : a;
}

static const struct assay_mlir_attr *extended(struct assay_mlir_parser *p)
{
    struct assay_mlir_token at = p->at.tok;
    const struct assay_mlir_attr *known;
    struct assay_mlir_attr *a;
    bool alias;
    const char *text = assay_mlir_symbol(p, &alias);

    if (!text)
        return NULL;
    if (alias) {
        known = assay_mlir_map_get(&p->attr_aliases, text, 0);
        if (!known)
            assay_mlir_fail(p, &at,
                            "the attribute alias '%.100s' is not "
                            "defined",
                            text);
        return known;
    }
    a = (struct assay_mlir_attr *)text_attr(p, ASSAY_MLIR_OPAQUE, text,
                                            strlen(text));
    return a && assay_mlir_take(p, ':') ? with_type(p, a) : a;
}

static const struct assay_mlir_attr *distinct(struct assay_mlir_parser *p)
{
    struct assay_mlir_attr *a;
    const struct assay_mlir_attr *inner;
    size_t mark = p->n_stack;
    uint64_t id;

    assay_mlir_next(p);
    if (!assay_mlir_need(p, '[', "'[' after 'distinct'"))
        return NULL;
    if (p->at.tok.kind != ASSAY_TOK_INTEGER ||
        !assay_mlir_u64(&p->at.tok, &id)) {
        assay_mlir_expected(p, "a number in 'distinct'");
        return NULL;
    }
    assay_mlir_next(p);
    if (!assay_mlir_need(p, ']', "']' in 'distinct'") ||
        !assay_mlir_need(p, '<', "'<' in 'distinct'"))
        return NULL;
    if (p->at.tok.kind != '>') {
        inner = assay_mlir_attr(p);
        if (!inner || !assay_mlir_push(p, inner))
            return NULL;
    }
    if (!assay_mlir_need(p, '>', "'>' in 'distinct'"))
        return NULL;
    a = (struct assay_mlir_attr *)assay_mlir_attr_list(p, ASSAY_MLIR_DISTINCT,
                                                       mark, NULL);
    if (a)
        a->i = (int64_t)id;
    return a;
}

static const struct assay_mlir_attr *location(struct assay_mlir_parser *p)
{
    struct assay_mlir_attr *a = assay_mlir_new_attr(p, ASSAY_MLIR_LOCATION);
    const struct assay_mlir_loc *loc;

    assay_mlir_next(p);
    loc = a ? assay_mlir_loc(p) : NULL;
    if (!loc)
        return NULL;
    a->loc = loc;
    return assay_mlir_carry(p, &a->weight, &a->depth, loc->weight, loc->depth)
               ? a
               : NULL;
}

static const struct assay_mlir_attr *word(struct assay_mlir_parser *p)
{
    const struct assay_mlir_type *type;

    if (assay_mlir_is(p, "true") || assay_mlir_is(p, "false"))
        return boolean(p);
    if (assay_mlir_is(p, "dense"))
        return assay_mlir_dense(p);
    if (assay_mlir_is(p, "dense_resource"))
        return assay_mlir_resource_attr(p);
    if (assay_mlir_is(p, "sparse"))
        return assay_mlir_sparse(p);
    if (assay_mlir_is(p, "array"))
        return typed_array(p);
    if (assay_mlir_is(p, "affine_map") || assay_mlir_is(p, "affine_set"))
        return assay_mlir_affine(p);
    if (assay_mlir_is(p, "strided"))
        return assay_mlir_strided(p);
    if (assay_mlir_is(p, "distinct"))
        return distinct(p);
    if (assay_mlir_is(p, "loc"))
        return location(p);
    if (assay_mlir_take_word(p, "unit"))
        return assay_mlir_new_attr(p, ASSAY_MLIR_UNIT);
    if (assay_mlir_is(p, "opaque")) {
        assay_mlir_unsupported(p, &p->at.tok,
                               "'opaque' holds no values, export the text "
                               "without elided constants");
        return NULL;
    }
    if (!assay_mlir_starts_type(p)) {
        assay_mlir_expected(p, "the value of an attribute");
        return NULL;
    }
    type = assay_mlir_type(p);
    return type ? assay_mlir_attr_type(p, type) : NULL;
}

static const struct assay_mlir_attr *any_attr(struct assay_mlir_parser *p)
{
    switch (p->at.tok.kind) {
    case '[': return array(p);
    case '{': return assay_mlir_dict(p);
    case '#': return extended(p);
    case '-':
    case ASSAY_TOK_INTEGER:
    case ASSAY_TOK_FLOAT: return assay_mlir_attr_number(p, NULL);
    case ASSAY_TOK_STRING: return string(p);
    case ASSAY_TOK_AT: return symbol(p);
    default: return word(p);
    }
}

const struct assay_mlir_attr *assay_mlir_attr(struct assay_mlir_parser *p)
{
    const struct assay_mlir_attr *a;

    if (p->rc || !assay_mlir_enter(p))
        return NULL;
    a = any_attr(p);
    assay_mlir_leave(p);
    return p->rc ? NULL : a;
}
