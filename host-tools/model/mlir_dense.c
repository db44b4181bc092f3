/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense<...> : type and sparse<..., ...> : type. What the elements are stands
 * behind them, so a list is gone through twice: to its end, for the type, and
 * then for the elements, which go straight into memory of their exact size.
 */
#include <string.h>

#include "host-tools/model/mlir_parse.h"

struct elements {
    const struct assay_mlir_type *type, *element; /* of pairs: of a half */
    bool pair, i1, text;
    size_t size; /* of a number; of a half of a pair */
    uint64_t count;
    uint8_t *out;
    size_t done, room; /* numbers */
    size_t items;      /* on the stack, of strings */
};

/* ---- the first time ------------------------------------------------------- */

/* To the end of the list that begins at the place: the '>' (or ',' outside of
 * brackets) that is in no string and no comment. */
static bool skip_list(struct assay_mlir_parser *p, bool comma)
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

static bool store(struct assay_mlir_parser *p, struct elements *e,
                  const uint8_t *bytes, const struct assay_mlir_token *at)
{
    if (e->done == e->room)
        return assay_mlir_fail(p, at, "more elements than '%.100s' has",
                               e->type->text);
    memcpy(e->out + e->done * e->size, bytes, e->size);
    e->done++;
    return true;
}

static bool integer(struct assay_mlir_parser *p, struct elements *e,
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

static bool real(struct assay_mlir_parser *p, struct elements *e,
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

static bool number(struct assay_mlir_parser *p, struct elements *e)
{
    bool negative = assay_mlir_take(p, '-');
    struct assay_mlir_token t = p->at.tok;
    uint8_t bytes[512] = {0};

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

static bool element(struct assay_mlir_parser *p, struct elements *e)
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
static bool list(struct assay_mlir_parser *p, struct elements *e, uint32_t axis)
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

/* ---- hex ------------------------------------------------------------------ */

static int nibble(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool assay_mlir_hex(struct assay_mlir_parser *p, const char *s, size_t chars,
                    uint8_t *out)
{
    for (size_t i = 0; i + 1 < chars; i += 2) {
        int a = nibble(s[i]), b = nibble(s[i + 1]);

        if (a < 0 || b < 0)
            return false;
        *out++ = (uint8_t)(a << 4 | b);
        if (!(i & ((1 << 20) - 2)))
            assay_mlir_told(p, s + i);
    }
    return chars % 2 == 0;
}

/* One bit an element in n bytes, to a byte each; from the end, since both
 * share their memory. */
static void unpack_bits(uint8_t *v, uint64_t count)
{
    for (uint64_t i = count; i-- > 0;)
        v[i] = v[i / 8] >> (i % 8) & 1;
}

/* What a string of hex bytes may be, as MLIR tells one value for all from a
 * value each. */
static bool hex_size(const struct elements *e, size_t bytes, uint8_t first,
                     bool *splat)
{
    size_t one = e->size * (e->pair ? 2 : 1), all;

    *splat = e->count == 1;
    if (e->i1) {
        if (bytes == 1 && (first == 0 || first == 255))
            *splat = true;
        return *splat ? bytes == 1 : bytes == e->count / 8 + !!(e->count % 8);
    }
    if (bytes == one)
        *splat = true;
    return bytes == one ||
           (assay_mul_size((size_t)e->count, one, &all) && bytes == all);
}

static bool hex_string(struct assay_mlir_parser *p, struct elements *e,
                       struct assay_mlir_attr *a, const char *s)
{
    struct assay_mlir_token at = {.s = s,
                                  .line = p->at.line,
                                  .column =
                                      (uint32_t)(s - p->at.line_start) + 1};
    const char *end = s + 1;
    size_t chars, room;
    uint8_t *out, first = 0;

    while (end < p->end && *end != '"') {
        const char *next = p->end - end > 1 << 20 ? end + (1 << 20) : p->end;
        const char *hit = memchr(end, '"', (size_t)(next - end));

        end = hit ? hit : next;
        assay_mlir_told(p, end);
    }
    if (end - s < 3 || s[1] != '0' || s[2] != 'x')
        return assay_mlir_fail(p, &at,
                               "expected hex digits that begin with "
                               "0x in a string of elements");
    s += 3;
    chars = (size_t)(end - s);
    if (chars >= 2)
        first = (uint8_t)(nibble(s[0]) << 4 | nibble(s[1]));
    if (!hex_size(e, chars / 2, first, &a->splat))
        return assay_mlir_fail(p, &at, "%zu bytes do not fit '%.100s'",
                               chars / 2, e->type->text);
    room = e->i1 && !a->splat ? (size_t)e->count : chars / 2;
    out = assay_arena_alloc(p->arena, room);
    if (!out)
        return assay_mlir_no_memory(p);
    if (!assay_mlir_hex(p, s, chars, out))
        return assay_mlir_fail(p, &at,
                               "expected pairs of hex digits in a "
                               "string of elements");
    if (e->i1 && a->splat)
        out[0] &= 1;
    else if (e->i1)
        unpack_bits(out, e->count);
    a->data = out;
    a->data_size = room;
    assay_mlir_reset(p, end + 1);
    return !p->rc;
}

/* ---- both ----------------------------------------------------------------- */

static bool describe(struct assay_mlir_parser *p,
                     const struct assay_mlir_token *at, struct elements *e)
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
    if (!e->text && (e->element->width == 0 || e->element->width > 4096))
        return assay_mlir_unsupported(p, at, "elements of the type '%.60s'",
                                      e->element->text);
    return true;
}

static bool room_for(struct assay_mlir_parser *p, struct elements *e,
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
static bool values(struct assay_mlir_parser *p, struct elements *e,
                   struct assay_mlir_attr *a, size_t chars)
{
    struct assay_mlir_token at;
    const char *s = assay_mlir_skip_space(p);
    size_t mark = p->n_stack;
    bool ok;

    if (s < p->end && *s == '"' && !e->text)
        return hex_string(p, e, a, s);
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

static const struct assay_mlir_type *shaped(struct assay_mlir_parser *p,
                                            struct assay_mlir_token *at)
{
    const struct assay_mlir_type *t;

    if (!assay_mlir_need(p, ':', "':' and the type of the elements"))
        return NULL;
    *at = p->at.tok;
    t = assay_mlir_type(p);
    if (t && t->kind != ASSAY_MLIR_TENSOR && t->kind != ASSAY_MLIR_VECTOR) {
        assay_mlir_fail(p, at,
                        "expected a tensor or a vector for elements, "
                        "found '%.100s'",
                        t->text);
        return NULL;
    }
    return t;
}

static const struct assay_mlir_attr *dense(struct assay_mlir_parser *p)
{
    struct assay_mlir_place begin = p->at, behind;
    struct elements e = {0};
    struct assay_mlir_attr *a;
    struct assay_mlir_token at;
    size_t chars;

    if (!skip_list(p, false))
        return NULL;
    chars = (size_t)(p->at.tok.s - begin.cur);
    if (!assay_mlir_need(p, '>', "'>' at the end of the elements"))
        return NULL;
    e.type = shaped(p, &at);
    a = e.type ? assay_mlir_new_attr(p, ASSAY_MLIR_DENSE) : NULL;
    if (!a || !describe(p, &at, &e))
        return NULL;
    a->type = e.type;
    behind = p->at;
    p->at = begin;
    if (!values(p, &e, a, chars))
        return NULL;
    if (p->at.tok.kind != '>') {
        assay_mlir_expected(p, "'>' at the end of the elements");
        return NULL;
    }
    p->at = behind;
    return a;
}

/* ---- sparse --------------------------------------------------------------- */

static uint32_t indices_of(const struct assay_mlir_attr *a)
{
    return a->type->rank ? (uint32_t)a->type->dims[0] : 1;
}

/* A part of sparse<>, its shape taken from its text: the brackets at its
 * beginning say the rank, and counting does the rest. */
static bool shape_of(struct assay_mlir_parser *p, struct assay_buf *b,
                     uint64_t dims[2], uint32_t *rank)
{
    uint64_t n[2] = {0, 0};
    unsigned open = 0;

    *rank = 0;
    (void)b;
    for (;;) {
        assay_mlir_next(p);
        if (p->rc || p->at.tok.kind == ASSAY_TOK_EOF)
            return false;
        if (p->at.tok.kind == '[') {
            if (++open > 2)
                return assay_mlir_expected(p, "a list of lists at most");
            if (open > *rank)
                *rank = open;
            n[open - 1] = 0;
            dims[open - 1] = 0;
        } else if (p->at.tok.kind == ']') {
            if (!open)
                return assay_mlir_expected(p, "an element");
            open--;
            if (open)
                n[open - 1]++;
            dims[open] = n[open];
        } else if (p->at.tok.kind == '(') {
            while (!p->rc && p->at.tok.kind != ')' &&
                   p->at.tok.kind != ASSAY_TOK_EOF)
                assay_mlir_next(p);
            n[0] += open == 1;
            n[1] += open == 2;
        } else if (!open && (p->at.tok.kind == ',' || p->at.tok.kind == '>')) {
            return true;
        } else if (p->at.tok.kind != ',' && p->at.tok.kind != '-') {
            n[0] += open == 1;
            n[1] += open == 2;
        }
    }
}

static const struct assay_mlir_type *part_type(
    struct assay_mlir_parser *p, const struct assay_mlir_type *element,
    const uint64_t *dims, uint32_t rank)
{
    struct assay_mlir_type *t;
    struct assay_buf b;
    int64_t *d;

    assay_buf_init(&b);
    if (!assay_mlir_put(&b, "tensor<"))
        assay_mlir_no_memory(p);
    d = assay_arena_array(p->arena, rank + 1, sizeof(*d));
    t = assay_arena_alloc(p->arena, sizeof(*t));
    for (uint32_t i = 0; d && i < rank; i++) {
        d[i] = (int64_t)dims[i];
        if (!assay_mlir_printf(&b, "%llux", (unsigned long long)dims[i]))
            assay_mlir_no_memory(p);
    }
    if (!t || !d || !assay_mlir_put(&b, element->text) ||
        !assay_mlir_put(&b, ">"))
        assay_mlir_no_memory(p);
    if (!p->rc) {
        t->kind = ASSAY_MLIR_TENSOR;
        t->ranked = true;
        t->rank = rank;
        t->dims = d;
        t->element = element;
        t->depth = (uint16_t)(element->depth + 1);
        t->text = assay_mlir_intern(p, (const char *)b.data, b.len);
    }
    assay_buf_close(&b);
    return p->rc ? NULL : t;
}

static const struct assay_mlir_attr *sparse_part(
    struct assay_mlir_parser *p, const struct assay_mlir_type *element,
    struct assay_mlir_place begin, int close)
{
    struct elements e = {0};
    struct assay_mlir_attr *a;
    struct assay_mlir_place before = p->at;
    uint64_t dims[2] = {0, 0};
    uint32_t rank = 0;
    struct assay_mlir_token at = p->at.tok;
    size_t chars;
    const char *s;

    p->at = begin;
    s = assay_mlir_skip_space(p);
    if (s < p->end && *s == '"') {
        assay_mlir_unsupported(p, &at, "hex elements in 'sparse'");
        return NULL;
    }
    if (!shape_of(p, NULL, dims, &rank)) {
        if (!p->rc)
            assay_mlir_expected(p, "the end of 'sparse'");
        return NULL;
    }
    chars = (size_t)(p->at.cur - begin.cur);
    e.type = part_type(p, element, dims, rank);
    a = e.type ? assay_mlir_new_attr(p, ASSAY_MLIR_DENSE) : NULL;
    p->at = begin;
    if (!a || !describe(p, &at, &e) || !values(p, &e, a, chars))
        return NULL;
    a->type = e.type;
    if (p->at.tok.kind != close) {
        assay_mlir_expected(p, close == ',' ? "',' between indices and values"
                                            : "'>' at the end of the elements");
        return NULL;
    }
    p->at = before;
    return a;
}

static bool sparse_fits(struct assay_mlir_parser *p,
                        const struct assay_mlir_token *at,
                        const struct assay_mlir_type *t,
                        const struct assay_mlir_attr *indices,
                        const struct assay_mlir_attr *values_attr)
{
    uint32_t columns =
        indices->type->rank == 2 ? (uint32_t)indices->type->dims[1] : 1;
    uint64_t n = indices_of(indices);

    if (indices->type->rank == 1 && t->rank != 1) {
        columns = (uint32_t)indices->type->dims[0];
        n = 1;
    }
    if (n && columns != t->rank)
        return assay_mlir_fail(p, at,
                               "expected %u numbers in an index for "
                               "'%.100s', found %u",
                               t->rank, t->text, columns);
    if (values_attr->type->rank && indices_of(values_attr) != n)
        return assay_mlir_fail(p, at,
                               "expected %llu values for as many "
                               "indices, found %u",
                               (unsigned long long)n, indices_of(values_attr));
    for (size_t i = 0; i < indices->data_size / 8; i++) {
        int64_t v;

        memcpy(&v, (const char *)indices->data + 8 * i, 8);
        if (v < 0 || v >= t->dims[i % t->rank])
            return assay_mlir_fail(p, at,
                                   "the index %lld lies outside of "
                                   "'%.100s'",
                                   (long long)v, t->text);
    }
    return true;
}

static const struct assay_mlir_attr *sparse(struct assay_mlir_parser *p)
{
    struct assay_mlir_place begin = p->at, middle, behind;
    const struct assay_mlir_attr *indices, *v;
    const struct assay_mlir_type *type;
    struct assay_mlir_attr *a;
    struct assay_mlir_token at;
    struct elements e = {0};
    size_t mark = p->n_stack;

    if (!skip_list(p, true))
        return NULL;
    middle = p->at;
    if (p->at.tok.kind == ',' && !skip_list(p, false))
        return NULL;
    if (!assay_mlir_need(p, '>', "'>' at the end of the elements"))
        return NULL;
    type = shaped(p, &at);
    e.type = type;
    if (!type || !describe(p, &at, &e))
        return NULL;
    behind = p->at;
    if (middle.tok.kind == ',') {
        indices = sparse_part(p, assay_mlir_type_int(p, 'i', 64), begin, ',');
        v = indices ? sparse_part(p, type->element, middle, '>') : NULL;
        if (!v || !sparse_fits(p, &at, type, indices, v) ||
            !assay_mlir_push(p, indices) || !assay_mlir_push(p, v))
            return NULL;
    } else {
        p->at = begin;
        assay_mlir_next(p);
        if (p->at.tok.kind != '>') {
            assay_mlir_expected(p, "',' between indices and values");
            return NULL;
        }
    }
    p->at = behind;
    a = (struct assay_mlir_attr *)assay_mlir_attr_list(p, ASSAY_MLIR_SPARSE,
                                                       mark, NULL);
    if (a)
        a->type = type;
    return a;
}

const struct assay_mlir_attr *assay_mlir_dense(struct assay_mlir_parser *p)
{
    bool is_sparse = assay_mlir_take_word(p, "sparse");

    if (!is_sparse)
        assay_mlir_next(p);
    if (p->at.tok.kind != '<') {
        assay_mlir_expected(p, is_sparse ? "'<' after 'sparse'"
                                         : "'<' after 'dense'");
        return NULL;
    }
    return is_sparse ? sparse(p) : dense(p);
}
