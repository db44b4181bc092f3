/* SPDX-License-Identifier: Apache-2.0 */
/*
 * affine_map<...>, affine_set<...> and strided<...>. Their text is kept, in one
 * way of writing; what the expressions are worth is not asked.
 */
#include "host-tools/model/mlir_parse.h"

/* Names in sight, on the parser's stack: dimensions, then symbols. */
struct names {
    size_t mark, dims, all;
    struct assay_buf text; /* canonical: d0, s0, single blanks */
};
/* What an expression is, as far as the rules of affinity ask. */
enum shape { BAD, CONSTANT, SYMBOLIC, DIMENSIONAL };

static enum shape expression(struct assay_mlir_parser *p, struct names *v);

static bool put(struct assay_mlir_parser *p, struct names *v, const char *s)
{
    return assay_mlir_put(&v->text, s) || assay_mlir_no_memory(p);
}

/* The current token, and the next one. */
static bool copy(struct assay_mlir_parser *p, struct names *v)
{
    if (assay_buf_append(&v->text, p->at.tok.s, p->at.tok.n))
        return assay_mlir_no_memory(p);
    assay_mlir_next(p);
    return !p->rc;
}

static enum shape name(struct assay_mlir_parser *p, struct names *v)
{
    const char *s = assay_mlir_intern(p, p->at.tok.s, p->at.tok.n);

    for (size_t i = 0; s && i < v->all; i++)
        if (p->stack[v->mark + i] == s) {
            bool dim = i < v->dims;

            if (!assay_mlir_printf(&v->text, "%c%zu", dim ? 'd' : 's',
                                   dim ? i : i - v->dims))
                assay_mlir_no_memory(p);
            assay_mlir_next(p);
            return dim ? DIMENSIONAL : SYMBOLIC;
        }
    if (s)
        assay_mlir_fail(p, &p->at.tok, "'%.100s' is no dimension and no symbol",
                        s);
    return BAD;
}

static enum shape constant(struct assay_mlir_parser *p, struct names *v)
{
    uint64_t n;

    if (!assay_mlir_u64(&p->at.tok, &n) || n > INT64_MAX) {
        assay_mlir_fail(p, &p->at.tok, "a number of more than 64 bits");
        return BAD;
    }
    return copy(p, v) ? CONSTANT : BAD;
}

static enum shape primary(struct assay_mlir_parser *p, struct names *v)
{
    enum shape s = BAD;

    if (!assay_mlir_enter(p))
        return BAD;
    if (p->at.tok.kind == '-') {
        if (copy(p, v))
            s = primary(p, v);
    } else if (p->at.tok.kind == '(') {
        if (copy(p, v))
            s = expression(p, v);
        if (s != BAD &&
            (!assay_mlir_need(p, ')', "')' in an affine expression") ||
             !put(p, v, ")")))
            s = BAD;
    } else if (p->at.tok.kind == ASSAY_TOK_INTEGER) {
        s = constant(p, v);
    } else if (p->at.tok.kind == ASSAY_TOK_BARE) {
        s = name(p, v);
    } else {
        assay_mlir_expected(p, "an affine expression");
    }
    assay_mlir_leave(p);
    return p->rc ? BAD : s;
}

/* ' operator ' */
static bool operator(struct assay_mlir_parser *p, struct names *v)
{
    return put(p, v, " ") && copy(p, v) && put(p, v, " ");
}

static enum shape product(struct assay_mlir_parser *p, struct names *v)
{
    enum shape a = primary(p, v), b;

    while (a != BAD) {
        struct assay_mlir_token at = p->at.tok;
        bool times = at.kind == '*';

        if (!times && !assay_mlir_is(p, "floordiv") &&
            !assay_mlir_is(p, "ceildiv") && !assay_mlir_is(p, "mod"))
            return a;
        b = operator(p, v) ? primary(p, v) : BAD;
        if (b == BAD)
            return BAD;
        if (b == DIMENSIONAL && (!times || a == DIMENSIONAL)) {
            assay_mlir_fail(p, &at,
                            "expected a constant or a symbol beside "
                            "'%.*s'",
                            (int)at.n, at.s);
            return BAD;
        }
        a = a > b ? a : b;
    }
    return a;
}

static enum shape expression(struct assay_mlir_parser *p, struct names *v)
{
    enum shape a = product(p, v), b;

    while (a != BAD && (p->at.tok.kind == '+' || p->at.tok.kind == '-')) {
        b = operator(p, v) ? product(p, v) : BAD;
        if (b == BAD)
            return BAD;
        a = a > b ? a : b;
    }
    return a;
}

static bool declare(struct assay_mlir_parser *p, struct names *v, char letter,
                    int close)
{
    size_t first = v->all;

    assay_mlir_next(p);
    if (assay_mlir_take(p, close))
        return true;
    do {
        const char *s;

        if (p->at.tok.kind != ASSAY_TOK_BARE)
            return assay_mlir_expected(p, "the name of a dimension or symbol");
        if (v->all >= 4096)
            return assay_mlir_fail(p, &p->at.tok,
                                   "more than 4096 dimensions "
                                   "and symbols");
        s = assay_mlir_intern(p, p->at.tok.s, p->at.tok.n);
        for (size_t i = 0; s && i < v->all; i++)
            if (p->stack[v->mark + i] == s)
                return assay_mlir_fail(p, &p->at.tok,
                                       "'%.100s' is declared twice", s);
        if (!s || !assay_mlir_push(p, s))
            return false;
        if (!assay_mlir_printf(&v->text, "%s%c%zu", v->all == first ? "" : ", ",
                               letter, v->all - first))
            return assay_mlir_no_memory(p);
        v->all++;
        assay_mlir_next(p);
    } while (assay_mlir_take(p, ','));
    return assay_mlir_need(p, close, "',' or the end of a list of names");
}

static bool constraint(struct assay_mlir_parser *p, struct names *v)
{
    if (expression(p, v) == BAD)
        return false;
    if (p->at.tok.kind != '>' && p->at.tok.kind != '<' && p->at.tok.kind != '=')
        return assay_mlir_expected(p, "'>=', '<=' or '=='");
    return put(p, v, " ") && copy(p, v) &&
           assay_mlir_need(p, '=', "'>=', '<=' or '=='") && put(p, v, "= ") &&
           expression(p, v) != BAD;
}

static bool declarations(struct assay_mlir_parser *p, struct names *v)
{
    if (p->at.tok.kind != '(')
        return assay_mlir_expected(p, "'(' of a list of dimensions");
    if (!put(p, v, "(") || !declare(p, v, 'd', ')') || !put(p, v, ")"))
        return false;
    v->dims = v->all;
    return p->at.tok.kind != '[' ||
           (put(p, v, "[") && declare(p, v, 's', ']') && put(p, v, "]"));
}

static bool body(struct assay_mlir_parser *p, struct names *v, bool map)
{
    bool first = true;

    if (!declarations(p, v))
        return false;
    if (map ? !assay_mlir_need(p, ASSAY_TOK_ARROW, "'->' in an affine map")
            : !assay_mlir_need(p, ':', "':' in an affine set"))
        return false;
    if (!put(p, v, map ? " -> (" : " : (") || !assay_mlir_need(p, '(', "'('"))
        return false;
    if (assay_mlir_take(p, ')'))
        return true;
    do {
        if ((!first && !put(p, v, ", ")) ||
            (map ? expression(p, v) == BAD : !constraint(p, v)))
            return false;
        first = false;
    } while (assay_mlir_take(p, ','));
    return assay_mlir_need(p, ')', "',' or ')' in an affine list");
}

static const struct assay_mlir_attr *kept(struct assay_mlir_parser *p,
                                          enum assay_mlir_attr_kind kind,
                                          struct assay_buf *b)
{
    struct assay_mlir_attr *a = assay_mlir_new_attr(p, kind);

    if (a) {
        a->text = assay_mlir_intern(p, (const char *)b->data, b->len);
        a->text_size = b->len;
    }
    assay_buf_close(b);
    return p->rc ? NULL : a;
}

const struct assay_mlir_attr *assay_mlir_affine(struct assay_mlir_parser *p)
{
    struct names v = {.mark = p->n_stack};
    bool map = assay_mlir_is(p, "affine_map");

    assay_mlir_next(p);
    if (assay_mlir_need(p, '<', "'<'") &&
        put(p, &v, map ? "affine_map<" : "affine_set<") && body(p, &v, map) &&
        put(p, &v, ")>") &&
        assay_mlir_need(p, '>', "'>' at the end of an affine map or set"))
        p->n_stack = v.mark;
    return kept(p, ASSAY_MLIR_AFFINE, &v.text);
}

/* A number or '?'; *zero says that it is 0. */
static bool stride(struct assay_mlir_parser *p, struct assay_buf *b, bool *zero)
{
    struct assay_mlir_token at = p->at.tok;
    bool minus = assay_mlir_take(p, '-');
    uint64_t n = 0;

    *zero = false;
    if (!minus && assay_mlir_take(p, '?'))
        return assay_mlir_put(b, "?") || assay_mlir_no_memory(p);
    if (p->at.tok.kind != ASSAY_TOK_INTEGER)
        return assay_mlir_expected(p, "a number or '?' in 'strided'");
    if (!assay_mlir_u64(&p->at.tok, &n) || n > INT64_MAX)
        return assay_mlir_fail(p, &at, "a number of more than 64 bits");
    *zero = !n;
    assay_mlir_next(p);
    if (!assay_mlir_printf(b, "%s%llu", minus ? "-" : "",
                           (unsigned long long)n))
        return assay_mlir_no_memory(p);
    return !p->rc;
}

static bool strides(struct assay_mlir_parser *p, struct assay_buf *b)
{
    struct assay_mlir_token at;
    bool zero, first = true;

    if (!assay_mlir_put(b, "strided<["))
        return assay_mlir_no_memory(p);
    if (!assay_mlir_need(p, '<', "'<' after 'strided'") ||
        !assay_mlir_need(p, '[', "'[' in 'strided'"))
        return false;
    if (assay_mlir_take(p, ']'))
        return true;
    do {
        at = p->at.tok;
        if (!first && !assay_mlir_put(b, ", "))
            return assay_mlir_no_memory(p);
        if (!stride(p, b, &zero))
            return false;
        if (zero)
            return assay_mlir_fail(p, &at, "expected a stride that is not 0");
        first = false;
    } while (assay_mlir_take(p, ','));
    return assay_mlir_need(p, ']', "',' or ']' in 'strided'");
}

/* An offset of 0 is not written. */
static bool offset(struct assay_mlir_parser *p, struct assay_buf *b)
{
    size_t before = b->len;
    bool zero;

    if (!assay_mlir_take_word(p, "offset"))
        return assay_mlir_expected(p, "'offset' in 'strided'");
    if (!assay_mlir_put(b, ", offset: "))
        return assay_mlir_no_memory(p);
    if (!assay_mlir_need(p, ':', "':' after 'offset'") || !stride(p, b, &zero))
        return false;
    if (zero)
        b->len = before;
    return true;
}

const struct assay_mlir_attr *assay_mlir_strided(struct assay_mlir_parser *p)
{
    struct assay_buf b;

    assay_buf_init(&b);
    assay_mlir_next(p);
    if (strides(p, &b)) {
        if (!assay_mlir_put(&b, "]"))
            assay_mlir_no_memory(p);
        if ((!assay_mlir_take(p, ',') || offset(p, &b)) &&
            assay_mlir_need(p, '>', "'>' at the end of 'strided'") &&
            !assay_mlir_put(&b, ">"))
            assay_mlir_no_memory(p);
    }
    return kept(p, ASSAY_MLIR_STRIDED, &b);
}
