/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense<...> : type. What the elements are stands behind them, so a list is gone through twice: to its end, for the type, and
 * then for the elements, which go straight into memory of their exact size.
 */
#include <string.h>

#include "host-tools/model/mlir_parse.h"

/* ---- the first time ------------------------------------------------------- */

/* To the end of the list that begins at the place: the '>' (or ',' outside of
 * brackets) that is in no string and no comment. */
bool assay_mlir_skip_list(struct assay_mlir_parser *p, bool comma)
{
    const char *s = p->at.cur, *e;
    unsigned open = 0;

    for (; s < p->end; s++) {
        if ((s - p->told) >> 20)
            assay_mlir_told(p, s);
        if (*s == '"') {
            for (e = s + 1; e < p->end && *e != '"' && *e != '\n'; e++) {
                e += *e == '\\';
                if ((e - p->told) >> 20)
                    assay_mlir_told(p, e);
            }
            if (e >= p->end || *e != '"')
                break;
            s = e;
        } else if (*s == '\n') {
            p->at.line++;
            p->at.line_start = s + 1;
        } else if (*s == '/' && p->end - s > 1 && s[1] == '/') {
            e = memchr(s, '\n', (size_t)(p->end - s));
            s = (e ? e : p->end) - 1;
        } else if (*s == '[' || *s == '(') {
            open++;
        } else if (*s == ']' || *s == ')') {
            open -= open > 0;
        } else if (*s == '>' || (*s == ',' && comma && !open)) {
            break;
        }
    }
    assay_mlir_reset(p, s < p->end ? s : p->end);
    return !p->rc;
}

/* ---- the second time ------------------------------------------------------ */

static bool store(struct assay_mlir_parser *p, struct assay_mlir_elements *e,
                  const uint8_t *bytes, const struct assay_mlir_token *at)
{
    if (e->done == e->room)
        return assay_mlir_fail(p, at, "more elements than '%.100s' has",
                               e->type->text);
    memcpy(e->out + e->done * e->size, bytes, e->size);
    e->done++;
    return true;
}

static bool integer(struct assay_mlir_parser *p, struct assay_mlir_elements *e,
                    const struct assay_mlir_token *t, bool negative,
                    uint8_t *bytes)
{
    const struct assay_mlir_type *type = e->element;
    uint64_t v;

    if (t->kind == ASSAY_TOK_FLOAT)
        return assay_mlir_fail(p, t,
                               "expected an integer for '%s', found "
                               "'%.*s'",
                               type->text, t->n < 60 ? (int)t->n : 60, t->s);
    if (type->sign == 'u' && negative)
        return assay_mlir_fail(p, t,
                               "expected a number of the type '%s', "
                               "found a negative one",
                               type->text);
    /* The usual case without the detour over digits in bytes. */
    if (type->width > 1 && type->width <= 32 && t->n < 10 && t->n > 0 &&
        assay_mlir_u64(t, &v)) {
        uint64_t half = UINT64_C(1) << (type->width - 1);

        if (negative ? v && v <= half
                     : v < half || (type->sign != 's' && v < 2 * half)) {
            v = negative ? -v : v;
            memcpy(bytes, &v, e->size);
            if (type->width % 8 == 0)
                return true;
        }
    }
    if (!assay_mlir_integer_bytes(t, negative, type->width, type->sign, bytes))
        return assay_mlir_fail(p, t, "%s%.*s is out of range of the type '%s'",
                               negative ? "-" : "", t->n < 60 ? (int)t->n : 60,
                               t->s, type->text);
    if (e->i1)
        bytes[0] &= 1;
    return true;
}

static bool real(struct assay_mlir_parser *p, struct assay_mlir_elements *e,
                 const struct assay_mlir_token *t, bool negative,
                 uint8_t *bytes)
{
    const char *type = e->element->text;
    double d;
    float f;

    if (t->kind == ASSAY_TOK_INTEGER && t->n > 2 && t->s[1] == 'x') {
        if (negative)
            return assay_mlir_fail(p, t, "expected hex bits without a minus");
        if (!assay_mlir_integer_bytes(t, false, e->element->width, 'u', bytes))
            return assay_mlir_fail(p, t, "%.*s has more bits than '%s'",
                                   t->n < 60 ? (int)t->n : 60, t->s, type);
        return true;
    }
    if (t->kind == ASSAY_TOK_INTEGER)
        return assay_mlir_fail(p, t,
                               "expected a number with a point or hex "
                               "bits for '%s', found an integer",
                               type);
    if (!assay_mlir_double(p, t, &d))
        return false;
    d = negative ? -d : d;
    if (e->element->width == 32) {
        f = (float)d;
        memcpy(bytes, &f, 4);
    } else if (e->element->width == 64) {
        memcpy(bytes, &d, 8);
    } else {
        assay_mlir_float_bytes(type, d, bytes);
    }
    return true;
}

static bool number(struct assay_mlir_parser *p, struct assay_mlir_elements *e)
{
    bool negative = assay_mlir_take(p, '-');
    struct assay_mlir_token t = p->at.tok;
    uint8_t bytes[512]; /* only integers take more than 16 of them */

    memset(bytes, 0, 16);
    if (t.kind != ASSAY_TOK_INTEGER && t.kind != ASSAY_TOK_FLOAT) {
        if (negative ||
            (!assay_mlir_is(p, "true") && !assay_mlir_is(p, "false")))
            return assay_mlir_expected(p, "a number");
        if (!e->i1)
            return assay_mlir_fail(p, &t,
                                   "expected a number of the type "
                                   "'%s', found '%.*s'",
                                   e->element->text, (int)t.n, t.s);
        bytes[0] = *t.s == 't';
    } else if (e->element->kind == ASSAY_MLIR_FLOAT
                   ? !real(p, e, &t, negative, bytes)
                   : !integer(p, e, &t, negative, bytes)) {
        return false;
    }
    assay_mlir_next(p);
    return !p->rc && store(p, e, bytes, &t);
}

static bool element(struct assay_mlir_parser *p, struct assay_mlir_elements *e)
{
    if (p->at.tok.kind == ASSAY_TOK_ELLIPSIS)
        return assay_mlir_unsupported(
            p, &p->at.tok,
            "the elements are left out here ('...'), export the text without "
            "elided constants");
    if (e->text) {
        const struct assay_mlir_attr *a;
        const char *s;
        size_t n;

        if (p->at.tok.kind != ASSAY_TOK_STRING)
            return assay_mlir_expected(p, "a string");
        s = assay_mlir_unescape(p, &p->at.tok, &n);
        a = s ? assay_mlir_attr_string(p, s, n) : NULL;
        if (!a || !assay_mlir_push(p, a))
            return false;
        e->items++;
        assay_mlir_next(p);
        return !p->rc;
    }
    if (!e->pair)
        return number(p, e);
    return assay_mlir_need(p, '(', "'(' of a complex number") && number(p, e) &&
           assay_mlir_need(p, ',', "',' in a complex number") && number(p, e) &&
           assay_mlir_need(p, ')', "')' of a complex number");
}

/* A list of dimension `axis`; the current token is its '['. */
static bool list(struct assay_mlir_parser *p, struct assay_mlir_elements *e,
                 uint32_t axis)
{
    const struct assay_mlir_type *t = e->type;
    struct assay_mlir_token at = p->at.tok;
    uint64_t n = 0;

    if (axis == t->rank)
        return assay_mlir_fail(p, &at,
                               "expected a list of %u dimensions for '%.100s', "
                               "found one more",
                               t->rank, t->text);
    assay_mlir_next(p);
    if (!assay_mlir_take(p, ']')) {
        do {
            if (axis + 1 < t->rank && p->at.tok.kind != '[' &&
                p->at.tok.kind != ASSAY_TOK_ELLIPSIS)
                return assay_mlir_expected(p, "'[' of the next dimension");
            if (p->at.tok.kind == '[' ? !list(p, e, axis + 1) : !element(p, e))
                return false;
            n++;
        } while (assay_mlir_take(p, ','));
        if (!assay_mlir_need(p, ']', "',' or ']' in a list of elements"))
            return false;
    }
    if (n != (uint64_t)t->dims[axis])
        return assay_mlir_fail(p, &at,
                               "expected %lld elements in dimension %u of "
                               "'%.100s', found %llu",
                               (long long)t->dims[axis], axis, t->text,
                               (unsigned long long)n);
    return true;
}

/* ---- both ----------------------------------------------------------------- */

bool assay_mlir_describe(struct assay_mlir_parser *p,
                         const struct assay_mlir_token *at,
                         struct assay_mlir_elements *e)
{
    const struct assay_mlir_type *t = e->type->element;

    if (!e->type->ranked || !assay_mlir_count(e->type, &e->count))
        return assay_mlir_fail(p, at,
                               "expected a shape of known size for elements, "
                               "found '%.100s'",
                               e->type->text);
    e->pair = t->kind == ASSAY_MLIR_COMPLEX;
    e->element = e->pair ? t->element : t;
    e->i1 = e->element->kind == ASSAY_MLIR_INTEGER && e->element->width == 1;
    e->text = e->element->kind != ASSAY_MLIR_INTEGER &&
              e->element->kind != ASSAY_MLIR_INDEX &&
              e->element->kind != ASSAY_MLIR_FLOAT;
    e->size = (e->element->width + 7) / 8;
    if (e->element->kind == ASSAY_MLIR_FLOAT && e->element->width == 19)
        e->size = 4; /* tf32 lies in 32 bits */
    if (!e->text && (e->element->width == 0 || e->element->width > 4096))
        return assay_mlir_unsupported(p, at, "elements of the type '%.60s'",
                                      e->element->text);
    return true;
}

static bool room_for(struct assay_mlir_parser *p, struct assay_mlir_elements *e,
                     uint64_t count, const struct assay_mlir_token *at,
                     size_t chars)
{
    size_t bytes;

    if (e->text)
        return true;
    /* Each number takes two characters, so that a short text cannot ask for
     * much memory. */
    if (count > chars)
        return assay_mlir_fail(p, at,
                               "expected %llu elements for '%.100s', "
                               "found fewer",
                               (unsigned long long)count, e->type->text);
    e->room = (size_t)count * (e->pair ? 2 : 1);
    if (assay_mul_size(e->room, e->size, &bytes))
        e->out = assay_arena_alloc(p->arena, bytes);
    return e->out || assay_mlir_no_memory(p);
}

/* The elements at the place, of the type e->type, up to the token behind. */
bool assay_mlir_values(struct assay_mlir_parser *p,
                       struct assay_mlir_elements *e, struct assay_mlir_attr *a,
                       size_t chars)
{
    struct assay_mlir_token at;
    const char *s = assay_mlir_skip_space(p);
    size_t mark = p->n_stack;
    bool ok;

    if (s < p->end && *s == '"' && !e->text)
        return assay_mlir_hex_string(p, e, a, s);
    assay_mlir_next(p);
    at = p->at.tok;
    if (at.kind == '>' && e->count)
        return assay_mlir_fail(p, &at,
                               "expected elements for '%.100s', found "
                               "none",
                               e->type->text);
    if (at.kind == '>')
        return true;
    a->splat = at.kind != '[' || (e->count == 1 && e->type->rank);
    if (!room_for(p, e, at.kind == '[' ? e->count : 1, &at, chars))
        return false;
    ok = at.kind == '[' ? list(p, e, 0) : element(p, e);
    if (!ok)
        return false;
    a->data = e->out;
    a->data_size = e->done * e->size;
    if (e->text) {
        a->items = (const struct assay_mlir_attr *const *)assay_mlir_pop(
            p, mark, &a->n);
        a->weight += a->n;
        if (a->weight > ASSAY_MLIR_MAX_WEIGHT)
            return assay_mlir_fail(p, &at, "an attribute of more than %u parts",
                                   ASSAY_MLIR_MAX_WEIGHT);
    }
    return !e->text || a->items;
}

const struct assay_mlir_type *assay_mlir_shaped(struct assay_mlir_parser *p,
                                                struct assay_mlir_token *at)
{
    const struct assay_mlir_type *t;

    if (!assay_mlir_need(p, ':', "':' and the type of the elements"))
        return NULL;
    *at = p->at.tok;
    t = assay_mlir_type(p);
    if (t && t->kind != ASSAY_MLIR_TENSOR && t->kind != ASSAY_MLIR_VECTOR &&
        t->kind != ASSAY_MLIR_MEMREF) {
        assay_mlir_fail(p, at, "expected a shape for elements, found '%.100s'",
                        t->text);
        return NULL;
    }
    return t;
}

static const struct assay_mlir_attr *dense(struct assay_mlir_parser *p)
{
    struct assay_mlir_place begin = p->at, behind;
    struct assay_mlir_elements e = {0};
    struct assay_mlir_attr *a;
    struct assay_mlir_token at;
    size_t chars;

    if (!assay_mlir_skip_list(p, false))
        return NULL;
    chars = (size_t)(p->at.tok.s - begin.cur);
    if (!assay_mlir_need(p, '>', "'>' at the end of the elements"))
        return NULL;
    e.type = assay_mlir_shaped(p, &at);
    a = e.type ? assay_mlir_new_attr(p, ASSAY_MLIR_DENSE) : NULL;
    if (!a || !assay_mlir_describe(p, &at, &e))
        return NULL;
    a->type = e.type;
    behind = p->at;
    p->at = begin;
    if (!assay_mlir_values(p, &e, a, chars))
        return NULL;
    if (p->at.tok.kind != '>') {
        assay_mlir_expected(p, "'>' at the end of the elements");
        return NULL;
    }
    p->at = behind;
    return a;
}

const struct assay_mlir_attr *assay_mlir_dense(struct assay_mlir_parser *p)
{
    assay_mlir_next(p);
    if (p->at.tok.kind != '<') {
        assay_mlir_expected(p, "'<' after 'dense'");
        return NULL;
    }
    return dense(p);
}
