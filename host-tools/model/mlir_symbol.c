/* SPDX-License-Identifier: Apache-2.0 */
/*
 * #dialect.name<...>, #dialect<...>, !dialect.name<...>: symbols of dialects
 * that we do not know, kept as text. Brackets and strings are balanced; what
 * names an alias of this file is written out, since the text has to stand
 * without the file.
 */
#include <string.h>

#include "host-tools/model/mlir_parse.h"

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '.' ||
           c == '-';
}

/* An alias inside of a body; *s is # or !. Appends its text and moves *s
 * behind it, or leaves both. */
static bool inner_alias(struct assay_mlir_parser *p, struct assay_buf *b,
                        const char **s)
{
    const char *e = *s + 1, *name;
    const struct assay_mlir_attr *attr;
    const struct assay_mlir_type *type;
    size_t n;

    while (e < p->end && is_name(*e))
        e++;
    n = (size_t)(e - *s);
    if (n < 2 || memchr(*s, '.', n) || (e < p->end && *e == '<'))
        return true;
    name = assay_mlir_intern(p, *s, n);
    if (!name)
        return false;
    attr = assay_mlir_map_get(&p->attr_aliases, name, 0);
    type = assay_mlir_map_get(&p->type_aliases, name, 0);
    if (!attr && !type)
        return true;
    if (attr ? !assay_mlir_attr_text(b, attr) : !assay_mlir_put(b, type->text))
        return assay_mlir_no_memory(p);
    *s = e;
    return true;
}

/* The string that begins at s; NULL: said. */
static const char *inner_string(struct assay_mlir_parser *p,
                                struct assay_buf *b, const char *s)
{
    assay_mlir_reset(p, s);
    if (p->rc)
        return NULL;
    if (assay_buf_append(b, p->at.tok.s, p->at.tok.n)) {
        assay_mlir_no_memory(p);
        return NULL;
    }
    return p->at.cur;
}

struct body {
    char open[ASSAY_MLIR_MAX_DEPTH];
    unsigned n;
    struct assay_mlir_token at;
};

static bool bracket(struct assay_mlir_parser *p, struct body *o, char c)
{
    static const char opening[] = "<[({", closing[] = ">])}";
    const char *k;

    if (strchr(opening, c)) {
        if (o->n == ASSAY_MLIR_MAX_DEPTH)
            return assay_mlir_fail(p, &o->at, "nested deeper than %u levels",
                                   ASSAY_MLIR_MAX_DEPTH);
        o->open[o->n++] = c;
        return true;
    }
    k = strchr(closing, c);
    if (o->open[o->n - 1] != opening[k - closing])
        return assay_mlir_fail(
            p, &o->at,
            "expected '%c' in a dialect's symbol, found "
            "'%c'",
            closing[strchr(opening, o->open[o->n - 1]) - opening], c);
    o->n--;
    return true;
}

/* The current token is the '<' directly behind the name. */
static bool body(struct assay_mlir_parser *p, struct assay_buf *b)
{
    struct body o = {.at = p->at.tok};
    const char *s = p->at.tok.s, *from;

    do {
        if (s >= p->end || *s == '\0')
            return assay_mlir_fail(p, &o.at,
                                   "expected '>' in a dialect's symbol, found "
                                   "the end of the text");
        if (b->len > ASSAY_MLIR_MAX_TEXT)
            return assay_mlir_fail(p, &o.at,
                                   "a dialect's symbol of more than "
                                   "1 MiB");
        from = s;
        if (*s == '\n') {
            p->at.line++;
            p->at.line_start = s + 1;
        }
        if (*s == '"') {
            s = inner_string(p, b, s);
            if (!s)
                return false;
            continue;
        }
        if ((*s == '#' || *s == '!') && !inner_alias(p, b, &s))
            return false;
        if (s != from)
            continue;
        s++;
        if (*from == '-' && s < p->end && *s == '>')
            s++;
        else if (strchr("<[({>])}", *from) && !bracket(p, &o, *from))
            return false;
        if (assay_buf_append(b, from, (size_t)(s - from)))
            return assay_mlir_no_memory(p);
    } while (o.n);
    assay_mlir_reset(p, s);
    return !p->rc;
}

/* Whether what stands in '<' '>' could stand behind a '.': a word and then
 * nothing, or one more pair of brackets to the end. */
static bool is_pretty(const char *s, size_t n)
{
    size_t i = 0;
    int open = 0;

    if (!n || !((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z')))
        return false;
    while (i < n && is_name(s[i]) && s[i] != '$' && s[i] != '-')
        i++;
    if (i == n)
        return true;
    if (s[i] != '<' || s[n - 1] != '>')
        return false;
    for (; i < n; i++) {
        if (s[i] == '"')
            for (i++; i < n && s[i] != '"'; i++)
                i += s[i] == '\\';
        else if (s[i] == '-' && i + 1 < n && s[i + 1] == '>')
            i++;
        else if (strchr("<[({", s[i]))
            open++;
        else if (strchr(">])}", s[i]) && --open == 0)
            return i + 1 == n;
    }
    return false;
}

/* !a<b<c>> is !a.b<c>: the one way of writing that MLIR prints. */
static void make_pretty(struct assay_buf *b, size_t name)
{
    char *s = (char *)b->data;

    if (memchr(s, '.', name) || b->len <= name + 2 ||
        !is_pretty(s + name + 1, b->len - name - 2))
        return;
    s[name] = '.';
    b->len--;
}

/* A dialect's name, up to the first '.': letters, digits, '_' and '$'. */
static bool dialect_named(struct assay_mlir_parser *p,
                          const struct assay_mlir_token *t)
{
    bool good = t->n > 1 && t->s[1] != '$' && t->s[1] != '.' &&
                !(t->s[1] >= '0' && t->s[1] <= '9');

    for (size_t i = 1; i < t->n && t->s[i] != '.'; i++)
        good &= t->s[i] != '-';
    return good ||
           assay_mlir_fail(p, t, "'%.*s' does not begin with a dialect's name",
                           (int)(t->n > 99 ? 99 : t->n), t->s);
}

const char *assay_mlir_symbol(struct assay_mlir_parser *p, bool *alias)
{
    struct assay_mlir_token t = p->at.tok;
    const char *text = NULL;
    struct assay_buf b;

    assay_buf_init(&b);
    assay_mlir_next(p);
    *alias = false;
    if (assay_buf_append(&b, t.s, t.n))
        assay_mlir_no_memory(p);
    else if (p->at.tok.kind == '<' && p->at.tok.s == t.s + t.n)
        body(p, &b);
    else
        *alias = !memchr(t.s, '.', t.n);
    if (!p->rc && !*alias && dialect_named(p, &t))
        make_pretty(&b, t.n);
    if (!p->rc)
        text = assay_mlir_intern(p, (const char *)b.data, b.len);
    assay_buf_close(&b);
    return text;
}
