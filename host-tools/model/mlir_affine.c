/* SPDX-License-Identifier: Apache-2.0 */
/*
 * affine_map<...>, affine_set<...> and strided<...>. Their text is kept; the
 * expressions are read only to see that they are some.
 */
#include <string.h>

#include "host-tools/model/mlir_parse.h"

/* Names in sight, on the parser's stack: dimensions, then symbols. */
struct names {
    size_t mark, dims, all;
};
/* What an expression is, as far as the rules of affinity ask. */
enum shape { BAD, CONSTANT, SYMBOLIC, DIMENSIONAL };

static enum shape expression(struct assay_mlir_parser *p,
                             const struct names *v);

static enum shape name(struct assay_mlir_parser *p, const struct names *v)
{
    const char *s = assay_mlir_intern(p, p->at.tok.s, p->at.tok.n);

    for (size_t i = 0; s && i < v->all; i++)
        if (p->stack[v->mark + i] == s) {
            assay_mlir_next(p);
            return i < v->dims ? DIMENSIONAL : SYMBOLIC;
        }
    if (s)
        assay_mlir_fail(p, &p->at.tok, "'%.100s' is no dimension and no symbol",
                        s);
    return BAD;
}

static enum shape primary(struct assay_mlir_parser *p, const struct names *v)
{
    enum shape s;
    uint64_t n;

    if (!assay_mlir_enter(p))
        return BAD;
    if (p->at.tok.kind == '-') {
        assay_mlir_next(p);
        s = primary(p, v);
    } else if (p->at.tok.kind == '(') {
        assay_mlir_next(p);
        s = expression(p, v);
        if (s != BAD && !assay_mlir_need(p, ')', "')' in an affine expression"))
            s = BAD;
    } else if (p->at.tok.kind == ASSAY_TOK_INTEGER) {
        s = CONSTANT;
        if (!assay_mlir_u64(&p->at.tok, &n) || n > INT64_MAX) {
            assay_mlir_fail(p, &p->at.tok, "a number of more than 64 bits");
            s = BAD;
        }
        assay_mlir_next(p);
    } else if (p->at.tok.kind == ASSAY_TOK_BARE) {
        s = name(p, v);
    } else {
        assay_mlir_expected(p, "an affine expression");
        s = BAD;
    }
    assay_mlir_leave(p);
    return p->rc ? BAD : s;
}

static enum shape product(struct assay_mlir_parser *p, const struct names *v)
{
    enum shape a = primary(p, v), b;

    while (a != BAD) {
        struct assay_mlir_token at = p->at.tok;
        bool times = at.kind == '*';

        if (!times && !assay_mlir_is(p, "floordiv") &&
            !assay_mlir_is(p, "ceildiv") && !assay_mlir_is(p, "mod"))
            return a;
        assay_mlir_next(p);
        b = primary(p, v);
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

static enum shape expression(struct assay_mlir_parser *p, const struct names *v)
{
    enum shape a = product(p, v), b;

    while (a != BAD && (p->at.tok.kind == '+' || p->at.tok.kind == '-')) {
        assay_mlir_next(p);
        b = product(p, v);
        if (b == BAD)
            return BAD;
        a = a > b ? a : b;
    }
    return a;
}

static bool declare(struct assay_mlir_parser *p, struct names *v, int close)
{
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
        v->all++;
        assay_mlir_next(p);
    } while (assay_mlir_take(p, ','));
    return assay_mlir_need(p, close, "',' or the end of a list of names");
}

static bool constraint(struct assay_mlir_parser *p, const struct names *v)
{
    if (expression(p, v) == BAD)
        return false;
    if (p->at.tok.kind == '>' || p->at.tok.kind == '<' ||
        p->at.tok.kind == '=') {
        assay_mlir_next(p);
        return assay_mlir_need(p, '=', "'>=', '<=' or '=='") &&
               expression(p, v) != BAD;
    }
    return assay_mlir_expected(p, "'>=', '<=' or '=='");
}

static bool body(struct assay_mlir_parser *p, bool map)
{
    struct names v = {.mark = p->n_stack};

    if (p->at.tok.kind != '(')
        return assay_mlir_expected(p, "'(' of a list of dimensions");
    if (!declare(p, &v, ')'))
        return false;
    v.dims = v.all;
    if (p->at.tok.kind == '[' && !declare(p, &v, ']'))
        return false;
    if (map ? !assay_mlir_need(p, ASSAY_TOK_ARROW, "'->' in an affine map")
            : !assay_mlir_need(p, ':', "':' in an affine set"))
        return false;
    if (!assay_mlir_need(p, '(', "'('"))
        return false;
    if (!assay_mlir_take(p, ')')) {
        do {
            if (map ? expression(p, &v) == BAD : !constraint(p, &v))
                return false;
        } while (assay_mlir_take(p, ','));
        if (!assay_mlir_need(p, ')', "',' or ')' in an affine list"))
            return false;
    }
    p->n_stack = v.mark;
    return true;
}

/* What the tokens from `from` to the end of the last one say, blanks made
 * single. */
static const struct assay_mlir_attr *kept(struct assay_mlir_parser *p,
                                          enum assay_mlir_attr_kind kind,
                                          const char *from, const char *to)
{
    struct assay_mlir_attr *a = assay_mlir_new_attr(p, kind);
    struct assay_buf b;
    bool blank = false;

    if (!a)
        return NULL;
    assay_buf_init(&b);
    for (; from < to && !p->rc; from++) {
        if (*from == '/' && to - from > 1 && from[1] == '/') {
            while (from < to && *from != '\n')
                from++;
            blank = true;
            continue;
        }
        if (strchr(" \t\r\n", *from)) {
            blank = true;
            continue;
        }
        if ((blank && !assay_mlir_put(&b, " ")) ||
            assay_buf_append(&b, from, 1))
            assay_mlir_no_memory(p);
        blank = false;
    }
    if (!p->rc)
        a->text = assay_mlir_intern(p, (const char *)b.data, b.len);
    a->text_size = b.len;
    assay_buf_close(&b);
    return p->rc ? NULL : a;
}

const struct assay_mlir_attr *assay_mlir_affine(struct assay_mlir_parser *p)
{
    const char *from = p->at.tok.s;
    bool map = assay_mlir_is(p, "affine_map");
    const char *to;

    assay_mlir_next(p);
    if (!assay_mlir_need(p, '<', "'<'") || !body(p, map))
        return NULL;
    to = p->at.tok.s + p->at.tok.n;
    if (!assay_mlir_need(p, '>', "'>' at the end of an affine map or set"))
        return NULL;
    return kept(p, ASSAY_MLIR_AFFINE, from, to);
}

static bool stride(struct assay_mlir_parser *p)
{
    uint64_t n;

    if (assay_mlir_take(p, '?'))
        return true;
    assay_mlir_take(p, '-');
    if (p->at.tok.kind != ASSAY_TOK_INTEGER)
        return assay_mlir_expected(p, "a number or '?' in 'strided'");
    if (!assay_mlir_u64(&p->at.tok, &n) || n > INT64_MAX)
        return assay_mlir_fail(p, &p->at.tok, "a number of more than 64 bits");
    assay_mlir_next(p);
    return !p->rc;
}

const struct assay_mlir_attr *assay_mlir_strided(struct assay_mlir_parser *p)
{
    const char *from = p->at.tok.s, *to;

    assay_mlir_next(p);
    if (!assay_mlir_need(p, '<', "'<' after 'strided'") ||
        !assay_mlir_need(p, '[', "'[' in 'strided'"))
        return NULL;
    if (!assay_mlir_take(p, ']')) {
        do {
            if (!stride(p))
                return NULL;
        } while (assay_mlir_take(p, ','));
        if (!assay_mlir_need(p, ']', "',' or ']' in 'strided'"))
            return NULL;
    }
    if (assay_mlir_take(p, ',')) {
        if (!assay_mlir_take_word(p, "offset")) {
            assay_mlir_expected(p, "'offset' in 'strided'");
            return NULL;
        }
        if (!assay_mlir_need(p, ':', "':' after 'offset'") || !stride(p))
            return NULL;
    }
    to = p->at.tok.s + p->at.tok.n;
    if (!assay_mlir_need(p, '>', "'>' at the end of 'strided'"))
        return NULL;
    return kept(p, ASSAY_MLIR_STRIDED, from, to);
}
