/* SPDX-License-Identifier: Apache-2.0 */
/* Types. Each text is one object, so that types are compared by address. */
#include <string.h>

#include "host-tools/model/mlir_parse.h"

#define MAX_WIDTH 16777215u

/* A type under construction. */
struct maker {
    struct assay_mlir_type t;
    struct assay_buf text;
    int64_t dims[ASSAY_MLIR_MAX_RANK];
};

static bool deepen(struct assay_mlir_parser *p, struct assay_mlir_type *t,
                   unsigned depth)
{
    if (depth + 1 > ASSAY_MLIR_MAX_DEPTH)
        return assay_mlir_fail(p, &p->at.tok, "nested deeper than %u levels",
                               ASSAY_MLIR_MAX_DEPTH);
    if (depth + 1 > t->depth)
        t->depth = (uint16_t)(depth + 1);
    return true;
}

static bool keep(struct assay_mlir_parser *p, struct assay_mlir_type *t)
{
    struct assay_arena *a = p->arena;

    if (t->rank && t->dims)
        t->dims = assay_arena_copy(a, t->dims, t->rank * sizeof(*t->dims));
    return !t->rank || t->dims;
}

/* The one object of this text. Closes the maker. */
static const struct assay_mlir_type *finish(struct assay_mlir_parser *p,
                                            struct maker *m)
{
    struct assay_mlir_type *t = NULL;
    const char *text = NULL;

    if (!p->rc && m->text.len > ASSAY_MLIR_MAX_TEXT)
        assay_mlir_fail(p, &p->at.tok, "a type of more than 1 MiB");
    if (!p->rc)
        text = assay_mlir_intern(p, (const char *)m->text.data, m->text.len);
    assay_buf_close(&m->text);
    if (!text)
        return NULL;
    t = assay_mlir_map_get(&p->types, text, 0);
    if (t)
        return t;
    m->t.text = text;
    if (keep(p, &m->t))
        t = assay_arena_copy(p->arena, &m->t, sizeof(m->t));
    if (!t) {
        assay_mlir_no_memory(p);
        return NULL;
    }
    return assay_mlir_map_put(p, &p->types, text, 0, t) ? t : NULL;
}

static const struct assay_mlir_type *plain(struct assay_mlir_parser *p,
                                           enum assay_mlir_type_kind kind,
                                           const char *text, char sign,
                                           unsigned width)
{
    struct maker m = {.t = {.kind = kind, .sign = sign, .width = width}};

    if (!assay_mlir_put(&m.text, text))
        assay_mlir_no_memory(p);
    return finish(p, &m);
}

const struct assay_mlir_type *assay_mlir_type_int(struct assay_mlir_parser *p,
                                                  char sign, unsigned width)
{
    struct maker m = {
        .t = {.kind = ASSAY_MLIR_INTEGER, .sign = sign, .width = width}};

    if (!assay_mlir_printf(&m.text, "%s%u",
                           sign == 'i'   ? "i"
                           : sign == 's' ? "si"
                                         : "ui",
                           width))
        assay_mlir_no_memory(p);
    return finish(p, &m);
}

const struct assay_mlir_type *assay_mlir_type_float(struct assay_mlir_parser *p,
                                                    const char *name)
{
    return plain(p, ASSAY_MLIR_FLOAT, name, 0, assay_mlir_float_width(name));
}

/* i32, si8, ui1; false: another word. */
static bool int_word(const struct assay_mlir_token *t, char *sign,
                     uint64_t *width)
{
    struct assay_mlir_token digits = *t;
    size_t k;

    if (t->kind != ASSAY_TOK_BARE || !strchr("isu", *t->s))
        return false;
    *sign = *t->s;
    if (*t->s != 'i' && (t->n < 2 || t->s[1] != 'i'))
        return false;
    k = *t->s == 'i' ? 1 : 2;
    if (t->n <= k)
        return false;
    for (size_t i = k; i < t->n; i++)
        if (t->s[i] < '0' || t->s[i] > '9')
            return false;
    digits.s += k;
    digits.n -= k;
    if (!assay_mlir_u64(&digits, width))
        *width = UINT64_MAX;
    return true;
}

static const char *float_word(const struct assay_mlir_token *t, char name[16])
{
    if (t->kind != ASSAY_TOK_BARE || t->n >= 16)
        return NULL;
    memcpy(name, t->s, t->n);
    name[t->n] = '\0';
    return assay_mlir_float_width(name) ? name : NULL;
}

bool assay_mlir_starts_type(const struct assay_mlir_parser *p)
{
    static const char *const words[] = {"tensor", "vector",  "memref", "tuple",
                                        "none",   "complex", "index"};
    char name[16], sign;
    uint64_t width;

    if (p->at.tok.kind == '(' || p->at.tok.kind == '!')
        return true;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (assay_mlir_is(p, words[i]))
            return true;
    return int_word(&p->at.tok, &sign, &width) ||
           float_word(&p->at.tok, name) != NULL;
}

/* ---- shapes --------------------------------------------------------------- */

/* The current token is a word that begins with x: what is behind it follows. */
static bool take_x(struct assay_mlir_parser *p)
{
    if (p->at.tok.kind != ASSAY_TOK_BARE || *p->at.tok.s != 'x')
        return assay_mlir_expected(p, "'x' in a list of dimensions");
    assay_mlir_reset(p, p->at.tok.s + 1);
    return !p->rc;
}

static bool dimension(struct assay_mlir_parser *p, struct maker *m,
                      bool scalable)
{
    struct assay_mlir_token t = p->at.tok;
    uint64_t v = 0;

    if (m->t.rank == ASSAY_MLIR_MAX_RANK)
        return assay_mlir_fail(p, &t, "a shape of more than %u dimensions",
                               ASSAY_MLIR_MAX_RANK);
    if (t.n > 1 && t.s[1] == 'x' && t.kind == ASSAY_TOK_INTEGER) {
        /* 0x4xf32: a dimension 0, and no hexadecimal number */
        assay_mlir_reset(p, t.s + 1);
    } else if (t.kind == '?') {
        assay_mlir_next(p);
    } else {
        if (!assay_mlir_u64(&t, &v) || v > INT64_MAX)
            return assay_mlir_fail(p, &t, "a dimension of more than 64 bits");
        assay_mlir_next(p);
    }
    if (scalable && !assay_mlir_need(p, ']', "']' behind a scalable dimension"))
        return false;
    m->t.dims = m->dims;
    m->dims[m->t.rank++] = t.kind == '?' ? ASSAY_MLIR_DYNAMIC : (int64_t)v;
    if (t.kind == '?'
            ? !assay_mlir_put(&m->text, "?x")
            : !assay_mlir_printf(&m->text, scalable ? "[%llu]x" : "%llux",
                                 (unsigned long long)v))
        return assay_mlir_no_memory(p);
    return take_x(p);
}

static bool dimensions(struct assay_mlir_parser *p, struct maker *m)
{
    m->t.ranked = true;
    for (;;) {
        struct assay_mlir_token t = p->at.tok;

        if (t.kind == ASSAY_TOK_INTEGER) {
            if (!dimension(p, m, false))
                return false;
        } else if (t.kind == '?' && m->t.kind != ASSAY_MLIR_VECTOR) {
            if (!dimension(p, m, false))
                return false;
        } else if (t.kind == '[' && m->t.kind == ASSAY_MLIR_VECTOR) {
            assay_mlir_next(p);
            if (p->at.tok.kind != ASSAY_TOK_INTEGER)
                return assay_mlir_expected(p, "a number in '[' ']'");
            if (!dimension(p, m, true))
                return false;
        } else {
            break;
        }
        if (m->t.kind == ASSAY_MLIR_VECTOR && !m->dims[m->t.rank - 1])
            return assay_mlir_fail(p, &t,
                                   "expected a vector dimension above zero");
    }
    return !p->rc;
}

static bool element_fits(const struct assay_mlir_type *of,
                         const struct assay_mlir_type *e)
{
    switch (e->kind) {
    case ASSAY_MLIR_INTEGER:
    case ASSAY_MLIR_FLOAT: return true;
    case ASSAY_MLIR_INDEX: return of->kind != ASSAY_MLIR_COMPLEX;
    case ASSAY_MLIR_COMPLEX:
    case ASSAY_MLIR_VECTOR:
        return of->kind == ASSAY_MLIR_TENSOR || of->kind == ASSAY_MLIR_MEMREF;
    case ASSAY_MLIR_DIALECT:
        return of->kind == ASSAY_MLIR_TENSOR || of->kind == ASSAY_MLIR_MEMREF;
    case ASSAY_MLIR_MEMREF: return of->kind == ASSAY_MLIR_MEMREF;
    default: return false;
    }
}

static bool element(struct assay_mlir_parser *p, struct maker *m)
{
    struct assay_mlir_token at = p->at.tok;
    const struct assay_mlir_type *e = assay_mlir_type(p);

    if (!e)
        return false;
    if (!element_fits(&m->t, e))
        return assay_mlir_fail(p, &at, "'%.60s' cannot be an element here",
                               e->text);
    m->t.element = e;
    if (!assay_mlir_put(&m->text, e->text))
        return assay_mlir_no_memory(p);
    return deepen(p, &m->t, e->depth);
}

/* The layout of a memref that is none, or its memory space 0: MLIR has no such
 * parts, so the type is the same without. */
static bool is_default(const struct maker *m, const struct assay_mlir_attr *a)
{
    const char *s = a->text;

    if (m->t.kind != ASSAY_MLIR_MEMREF)
        return false;
    if (a->kind == ASSAY_MLIR_INT)
        return !a->data_size && a->i == 0;
    if (a->kind != ASSAY_MLIR_AFFINE || !(s = strstr(s, ") -> (")))
        return false;
    /* (d0, d1) -> (d0, d1) */
    return !strncmp(a->text, "affine_map<", 11) &&
           (size_t)(s - a->text) - 11 == strlen(s) - 7 &&
           !strncmp(a->text + 11, s + 5, strlen(s) - 7);
}

/* ", attribute" until '>'. */
static bool params(struct assay_mlir_parser *p, struct maker *m, unsigned most)
{
    size_t mark = p->n_stack;

    while (p->n_stack - mark < most && assay_mlir_take(p, ',')) {
        const struct assay_mlir_attr *a;

        /* Behind a tensor's ',' there may be nothing. */
        if (m->t.kind == ASSAY_MLIR_TENSOR && p->at.tok.kind == '>')
            break;
        a = assay_mlir_attr(p);
        if (!a)
            return false;
        if (is_default(m, a))
            continue;
        if (!assay_mlir_push(p, a) || !deepen(p, &m->t, a->depth))
            return false;
        if (!assay_mlir_put(&m->text, ", ") ||
            !assay_mlir_attr_text(&m->text, a))
            return assay_mlir_no_memory(p);
    }
    m->t.params = (const struct assay_mlir_attr *const *)assay_mlir_pop(
        p, mark, &m->t.n_params);
    return m->t.params != NULL;
}

static bool shaped_body(struct assay_mlir_parser *p, struct maker *m)
{
    static const char *const names[] = {[ASSAY_MLIR_TENSOR] = "tensor<",
                                        [ASSAY_MLIR_VECTOR] = "vector<",
                                        [ASSAY_MLIR_MEMREF] = "memref<"};
    unsigned most = m->t.kind == ASSAY_MLIR_TENSOR   ? 1
                    : m->t.kind == ASSAY_MLIR_MEMREF ? 8
                                                     : 0;

    assay_mlir_next(p);
    if (!assay_mlir_need(p, '<', "'<'"))
        return false;
    if (!assay_mlir_put(&m->text, names[m->t.kind]))
        return assay_mlir_no_memory(p);
    if (m->t.kind != ASSAY_MLIR_VECTOR && assay_mlir_take(p, '*')) {
        if (!take_x(p))
            return false;
        if (!assay_mlir_put(&m->text, "*x"))
            return assay_mlir_no_memory(p);
        most = m->t.kind == ASSAY_MLIR_TENSOR ? 0 : 1;
    } else if (!dimensions(p, m)) {
        return false;
    }
    if (!element(p, m) || !params(p, m, most))
        return false;
    if (!assay_mlir_put(&m->text, ">"))
        return assay_mlir_no_memory(p);
    return assay_mlir_need(p, '>', "'>' at the end of a type");
}

/* ---- lists ---------------------------------------------------------------- */

/* [type {, type}] CLOSE, onto the stack. */
static bool type_list(struct assay_mlir_parser *p, int close, const char *what)
{
    if (assay_mlir_take(p, close))
        return true;
    do {
        const struct assay_mlir_type *t = assay_mlir_type(p);

        if (!t || !assay_mlir_push(p, t))
            return false;
    } while (assay_mlir_take(p, ','));
    return assay_mlir_need(p, close, what);
}

static bool put_list(struct assay_mlir_parser *p, struct maker *m,
                     const struct assay_mlir_type *const *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if ((i && !assay_mlir_put(&m->text, ", ")) ||
            !assay_mlir_put(&m->text, v[i]->text))
            return assay_mlir_no_memory(p);
        if (m->text.len > ASSAY_MLIR_MAX_TEXT)
            return assay_mlir_fail(p, &p->at.tok, "a type of more than 1 MiB");
        if (!deepen(p, &m->t, v[i]->depth))
            return false;
    }
    return true;
}

const struct assay_mlir_type *assay_mlir_type_function(
    struct assay_mlir_parser *p, const struct assay_mlir_type *const *types,
    uint32_t n, uint32_t n_inputs)
{
    struct maker m = {.t = {.kind = ASSAY_MLIR_FUNCTION,
                            .types = types,
                            .n_types = n,
                            .n_inputs = n_inputs}};
    bool bare =
        n - n_inputs == 1 && types[n_inputs]->kind != ASSAY_MLIR_FUNCTION;

    if (!assay_mlir_put(&m.text, "(") || !put_list(p, &m, types, n_inputs) ||
        !assay_mlir_put(&m.text, bare ? ") -> " : ") -> (") ||
        !put_list(p, &m, types + n_inputs, n - n_inputs) ||
        !assay_mlir_put(&m.text, bare ? "" : ")"))
        assay_mlir_no_memory(p);
    return finish(p, &m);
}

static const struct assay_mlir_type *function(struct assay_mlir_parser *p)
{
    size_t mark = p->n_stack, n_inputs;
    const struct assay_mlir_type *const *types, *t;
    uint32_t n;

    assay_mlir_next(p);
    if (!type_list(p, ')', "',' or ')' in a list of types"))
        return NULL;
    n_inputs = p->n_stack - mark;
    if (!assay_mlir_need(p, ASSAY_TOK_ARROW, "'->' in a function type"))
        return NULL;
    if (assay_mlir_take(p, '(')) {
        if (!type_list(p, ')', "',' or ')' in a list of types"))
            return NULL;
    } else {
        t = assay_mlir_type(p);
        if (!t || !assay_mlir_push(p, t))
            return NULL;
    }
    types = (const struct assay_mlir_type *const *)assay_mlir_pop(p, mark, &n);
    return types ? assay_mlir_type_function(p, types, n, (uint32_t)n_inputs)
                 : NULL;
}

static const struct assay_mlir_type *tuple(struct assay_mlir_parser *p)
{
    struct maker m = {.t = {.kind = ASSAY_MLIR_TUPLE}};
    size_t mark = p->n_stack;

    assay_mlir_next(p);
    if (!assay_mlir_need(p, '<', "'<'") ||
        !type_list(p, '>', "',' or '>' in a tuple"))
        return NULL;
    m.t.types = (const struct assay_mlir_type *const *)assay_mlir_pop(
        p, mark, &m.t.n_types);
    if (m.t.types && (!assay_mlir_put(&m.text, "tuple<") ||
                      !put_list(p, &m, m.t.types, m.t.n_types) ||
                      !assay_mlir_put(&m.text, ">")))
        assay_mlir_no_memory(p);
    return finish(p, &m);
}

static const struct assay_mlir_type *complex_type(struct assay_mlir_parser *p)
{
    struct maker m = {.t = {.kind = ASSAY_MLIR_COMPLEX}};

    assay_mlir_next(p);
    if (assay_mlir_need(p, '<', "'<'")) {
        if (!assay_mlir_put(&m.text, "complex<"))
            assay_mlir_no_memory(p);
        else if (element(p, &m) &&
                 assay_mlir_need(p, '>', "'>' at the end of a type") &&
                 !assay_mlir_put(&m.text, ">"))
            assay_mlir_no_memory(p);
    }
    return finish(p, &m);
}

static const struct assay_mlir_type *dialect(struct assay_mlir_parser *p)
{
    struct assay_mlir_token at = p->at.tok;
    const struct assay_mlir_type *t;
    bool alias;
    const char *text = assay_mlir_symbol(p, &alias);

    if (!text)
        return NULL;
    if (!alias)
        return plain(p, ASSAY_MLIR_DIALECT, text, 0, 0);
    t = assay_mlir_map_get(&p->type_aliases, text, 0);
    if (!t)
        assay_mlir_fail(p, &at, "the type alias '%.100s' is not defined", text);
    return t;
}

static const struct assay_mlir_type *shaped(struct assay_mlir_parser *p,
                                            enum assay_mlir_type_kind kind)
{
    struct maker m = {.t = {.kind = kind}};

    shaped_body(p, &m);
    return finish(p, &m);
}

static const struct assay_mlir_type *any_type(struct assay_mlir_parser *p)
{
    char name[16], sign;
    uint64_t width;

    if (p->at.tok.kind == '(')
        return function(p);
    if (p->at.tok.kind == '!')
        return dialect(p);
    if (assay_mlir_is(p, "tensor"))
        return shaped(p, ASSAY_MLIR_TENSOR);
    if (assay_mlir_is(p, "vector"))
        return shaped(p, ASSAY_MLIR_VECTOR);
    if (assay_mlir_is(p, "memref"))
        return shaped(p, ASSAY_MLIR_MEMREF);
    if (assay_mlir_is(p, "tuple"))
        return tuple(p);
    if (assay_mlir_is(p, "complex"))
        return complex_type(p);
    if (assay_mlir_take_word(p, "none"))
        return plain(p, ASSAY_MLIR_NONE, "none", 0, 0);
    if (assay_mlir_take_word(p, "index"))
        return plain(p, ASSAY_MLIR_INDEX, "index", 'x', 64);
    if (int_word(&p->at.tok, &sign, &width)) {
        if (width > MAX_WIDTH) {
            assay_mlir_fail(p, &p->at.tok,
                            "an integer type of more than %u bits", MAX_WIDTH);
            return NULL;
        }
        assay_mlir_next(p);
        return assay_mlir_type_int(p, sign, (unsigned)width);
    }
    if (float_word(&p->at.tok, name)) {
        assay_mlir_next(p);
        return plain(p, ASSAY_MLIR_FLOAT, name, 0,
                     assay_mlir_float_width(name));
    }
    assay_mlir_expected(p, "a type");
    return NULL;
}

const struct assay_mlir_type *assay_mlir_type(struct assay_mlir_parser *p)
{
    const struct assay_mlir_type *t;

    if (p->rc || !assay_mlir_enter(p))
        return NULL;
    t = any_type(p);
    assay_mlir_leave(p);
    return p->rc ? NULL : t;
}

bool assay_mlir_count(const struct assay_mlir_type *t, uint64_t *count)
{
    uint64_t n = 1;

    /* A dimension of 0 first: the others may be as large as they like. */
    for (uint32_t i = 0; i < t->rank; i++)
        if (!t->dims[i])
            n = 0;
    for (uint32_t i = 0; n && i < t->rank; i++)
        if (t->dims[i] < 0 ||
            __builtin_mul_overflow(n, (uint64_t)t->dims[i], &n))
            return false;
    *count = n;
    return true;
}
