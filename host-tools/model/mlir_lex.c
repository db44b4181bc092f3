/* SPDX-License-Identifier: Apache-2.0 */
/* Words, numbers, strings and punctuation of MLIR text; the sentences. */
#include <stdio.h>
#include <string.h>

#include "host-tools/model/mlir_parse.h"

#define TELL_EVERY ((ptrdiff_t)1 << 20)

enum {
    ALPHA = 1,
    DIGIT = 2,
    HEX = 4,
    PUNCT = 8,
    UNDER = 16,
    SINGLE = 32,
    PREFIX = 64
};

/* What each character below 128 is. */
static const uint8_t class_table[128] = {
    ['0'] = 6,  ['1'] = 6,  ['2'] = 6,  ['3'] = 6,  ['4'] = 6,  ['5'] = 6,
    ['6'] = 6,  ['7'] = 6,  ['8'] = 6,  ['9'] = 6,  ['a'] = 5,  ['b'] = 5,
    ['c'] = 5,  ['d'] = 5,  ['e'] = 5,  ['f'] = 5,  ['g'] = 1,  ['h'] = 1,
    ['i'] = 1,  ['j'] = 1,  ['k'] = 1,  ['l'] = 1,  ['m'] = 1,  ['n'] = 1,
    ['o'] = 1,  ['p'] = 1,  ['q'] = 1,  ['r'] = 1,  ['s'] = 1,  ['t'] = 1,
    ['u'] = 1,  ['v'] = 1,  ['w'] = 1,  ['x'] = 1,  ['y'] = 1,  ['z'] = 1,
    ['A'] = 5,  ['B'] = 5,  ['C'] = 5,  ['D'] = 5,  ['E'] = 5,  ['F'] = 5,
    ['G'] = 1,  ['H'] = 1,  ['I'] = 1,  ['J'] = 1,  ['K'] = 1,  ['L'] = 1,
    ['M'] = 1,  ['N'] = 1,  ['O'] = 1,  ['P'] = 1,  ['Q'] = 1,  ['R'] = 1,
    ['S'] = 1,  ['T'] = 1,  ['U'] = 1,  ['V'] = 1,  ['W'] = 1,  ['X'] = 1,
    ['Y'] = 1,  ['Z'] = 1,  ['_'] = 24, ['$'] = 8,  ['.'] = 8,  ['-'] = 40,
    [':'] = 32, [','] = 32, ['('] = 32, [')'] = 32, ['{'] = 32, ['}'] = 32,
    ['['] = 32, [']'] = 32, ['<'] = 32, ['>'] = 32, ['='] = 32, ['+'] = 32,
    ['*'] = 32, ['?'] = 32, ['|'] = 32, ['/'] = 32, ['"'] = 64, ['@'] = 64,
    ['#'] = 64, ['!'] = 64, ['^'] = 64, ['%'] = 64,
};

static unsigned class_of(char c)
{
    return (unsigned char)c < 128 ? class_table[(unsigned char)c] : 0;
}

static char look(const struct assay_mlir_parser *p, const char *s)
{
    return s < p->end ? *s : '\0';
}

static const char *run(const struct assay_mlir_parser *p, const char *s,
                       unsigned classes)
{
    while (s < p->end && (class_of(*s) & classes))
        s++;
    return s;
}

static const char *bare(const struct assay_mlir_parser *p, const char *s)
{
    while (s < p->end &&
           ((class_of(*s) & (ALPHA | DIGIT | UNDER)) || *s == '$' || *s == '.'))
        s++;
    return s;
}

void assay_mlir_told(struct assay_mlir_parser *p, const char *cur)
{
    if (cur < p->told)
        p->told = cur;
    if (cur - p->told < TELL_EVERY)
        return;
    p->told = cur;
    if (p->source->passed)
        p->source->passed(p->source->self, (size_t)(cur - p->source->data));
}

const char *assay_mlir_skip_space(struct assay_mlir_parser *p)
{
    const char *s = p->at.cur;

    for (; s < p->end; s++) {
        if (*s == '\n') {
            p->at.line++;
            p->at.line_start = s + 1;
        } else if (*s == '/' && look(p, s + 1) == '/') {
            while (s + 1 < p->end && s[1] != '\n' && s[1] != '\r')
                s++; /* a bare CR ends it too, as in MLIR */
        } else if (*s != ' ' && *s != '\t' && *s != '\r' && *s != '\0') {
            break;
        }
    }
    p->at.cur = s;
    return s;
}

static bool bad(struct assay_mlir_parser *p, const char *s, const char *what)
{
    struct assay_mlir_token t = {.s = s,
                                 .line = p->at.line,
                                 .column =
                                     (uint32_t)(s - p->at.line_start) + 1};

    p->at.tok = t;
    p->at.tok.kind = ASSAY_TOK_EOF;
    p->at.cur = p->end;
    return assay_mlir_fail(p, &t, "%s", what);
}

static const char *number(const struct assay_mlir_parser *p, const char *s,
                          int *kind)
{
    *kind = ASSAY_TOK_INTEGER;
    if (*s == '0' && look(p, s + 1) == 'x' &&
        (class_of(look(p, s + 2)) & HEX) != 0)
        return run(p, s + 2, HEX);
    s = run(p, s, DIGIT);
    if (look(p, s) != '.')
        return s;
    *kind = ASSAY_TOK_FLOAT;
    s = run(p, s + 1, DIGIT);
    if (look(p, s) == 'e' || look(p, s) == 'E') {
        const char *e = s + 1;

        if (look(p, e) == '-' || look(p, e) == '+')
            e++;
        if (class_of(look(p, e)) & DIGIT)
            return run(p, e, DIGIT);
    }
    return s;
}

/* s is behind the opening quote; NULL: said why not. */
static const char *string(struct assay_mlir_parser *p, const char *s)
{
    for (; s < p->end; s++) {
        if (*s == '"')
            return s + 1;
        if (*s == '\n' || *s == '\v' || *s == '\f')
            break;
        if (*s != '\\')
            continue;
        s++;
        if (look(p, s) == '"' || look(p, s) == '\\' || look(p, s) == 'n' ||
            look(p, s) == 't')
            continue;
        if (!(class_of(look(p, s)) & HEX) ||
            !(class_of(look(p, s + 1)) & HEX)) {
            bad(p, s - 1, "unknown escape in a string");
            return NULL;
        }
        s++;
    }
    bad(p, s, "expected '\"' at the end of a string");
    return NULL;
}

/* Behind # ! ^ %: digits, or a word. NULL: neither. */
static const char *suffix(const struct assay_mlir_parser *p, const char *s)
{
    if (class_of(look(p, s)) & DIGIT)
        return run(p, s, DIGIT);
    if (class_of(look(p, s)) & (ALPHA | PUNCT))
        return run(p, s, ALPHA | DIGIT | PUNCT);
    return NULL;
}

/* Where a token of more than punctuation ends; NULL: said why not. */
static const char *long_token(struct assay_mlir_parser *p, const char *s,
                              int *kind)
{
    const char *e;

    if (class_of(*s) & (ALPHA | UNDER)) {
        *kind = ASSAY_TOK_BARE;
        return bare(p, s);
    }
    if (class_of(*s) & DIGIT)
        return number(p, s, kind);
    if (*s == '"') {
        *kind = ASSAY_TOK_STRING;
        return string(p, s + 1);
    }
    if (*s == '@') {
        *kind = ASSAY_TOK_AT;
        if (look(p, s + 1) == '"')
            return string(p, s + 2);
        if (class_of(look(p, s + 1)) & (ALPHA | UNDER))
            return bare(p, s + 1);
        bad(p, s, "expected a name or a string after '@'");
        return NULL;
    }
    *kind = *s;
    e = suffix(p, s + 1);
    if (!e)
        bad(p, s, "expected a name or a number after '#', '!', '^' or '%'");
    return e;
}

static const char *punctuation(struct assay_mlir_parser *p, const char *s,
                               int *kind)
{
    size_t left = (size_t)(p->end - s);

    *kind = *s;
    if (left >= 3 && !memcmp(s, "...", 3)) {
        *kind = ASSAY_TOK_ELLIPSIS;
        return s + 3;
    }
    if (left >= 3 && !memcmp(s, "{-#", 3)) {
        *kind = ASSAY_TOK_META;
        return s + 3;
    }
    if (left >= 2 && !memcmp(s, "->", 2)) {
        *kind = ASSAY_TOK_ARROW;
        return s + 2;
    }
    if (class_of(*s) & SINGLE)
        return s + 1;
    bad(p, s, "unexpected character");
    return NULL;
}

void assay_mlir_next(struct assay_mlir_parser *p)
{
    const char *s, *e;
    int kind;

    if (p->rc)
        return;
    s = assay_mlir_skip_space(p);
    if (s - p->told >= TELL_EVERY || s < p->told)
        assay_mlir_told(p, s);
    p->at.tok.s = s;
    p->at.tok.n = 0;
    p->at.tok.line = p->at.line;
    p->at.tok.column = (uint32_t)(s - p->at.line_start) + 1;
    p->at.tok.kind = ASSAY_TOK_EOF;
    if (s == p->end)
        return;
    if (*s == ',') { /* most tokens of long lists */
        kind = ',';
        e = s + 1;
    } else if (*s == '#' && p->end - s >= 3 && s[1] == '-' && s[2] == '}') {
        kind = ASSAY_TOK_META_END;
        e = s + 3;
    } else if (class_of(*s) & (ALPHA | DIGIT | UNDER | PREFIX)) {
        e = long_token(p, s, &kind);
    } else {
        e = punctuation(p, s, &kind);
    }
    if (!e)
        return;
    p->at.tok.kind = kind;
    p->at.tok.n = (size_t)(e - s);
    p->at.cur = e;
}

void assay_mlir_reset(struct assay_mlir_parser *p, const char *cur)
{
    p->at.cur = cur;
    assay_mlir_next(p);
}

bool assay_mlir_take(struct assay_mlir_parser *p, int kind)
{
    if (p->rc || p->at.tok.kind != kind)
        return false;
    assay_mlir_next(p);
    return true;
}

bool assay_mlir_need(struct assay_mlir_parser *p, int kind, const char *what)
{
    if (p->at.tok.kind != kind)
        return assay_mlir_expected(p, what);
    assay_mlir_next(p);
    return !p->rc;
}

bool assay_mlir_is(const struct assay_mlir_parser *p, const char *word)
{
    return p->at.tok.kind == ASSAY_TOK_BARE && p->at.tok.n == strlen(word) &&
           !memcmp(p->at.tok.s, word, p->at.tok.n);
}

bool assay_mlir_take_word(struct assay_mlir_parser *p, const char *word)
{
    if (p->rc || !assay_mlir_is(p, word))
        return false;
    assay_mlir_next(p);
    return true;
}

static bool fail_at(struct assay_mlir_parser *p, int code,
                    const struct assay_mlir_token *at, const char *fmt,
                    va_list ap)
{
    char text[400];

    if (p->rc)
        return false;
    vsnprintf(text, sizeof(text), fmt, ap);
    p->rc = assay_fail(p->err, code, "%s:%u:%u: %s", p->source->file, at->line,
                       at->column, text);
    return false;
}

bool assay_mlir_fail(struct assay_mlir_parser *p,
                     const struct assay_mlir_token *at, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fail_at(p, ASSAY_EFORMAT, at, fmt, ap);
    va_end(ap);
    return false;
}

bool assay_mlir_unsupported(struct assay_mlir_parser *p,
                            const struct assay_mlir_token *at, const char *fmt,
                            ...)
{
    va_list ap;

    va_start(ap, fmt);
    fail_at(p, ASSAY_EUNSUPPORTED, at, fmt, ap);
    va_end(ap);
    return false;
}

/* What stands there, for a sentence: cut, and without bytes that a terminal
 * would take for commands. */
bool assay_mlir_expected(struct assay_mlir_parser *p, const char *what)
{
    const struct assay_mlir_token *t = &p->at.tok;
    char found[48];
    size_t n = t->n < 40 ? t->n : 40;

    if (t->kind == ASSAY_TOK_EOF)
        return assay_mlir_fail(p, t, "expected %s, found the end of the text",
                               what);
    for (size_t i = 0; i < n; i++)
        found[i] =
            (unsigned char)t->s[i] < ' ' || t->s[i] == 127 ? '?' : t->s[i];
    strcpy(found + n, n < t->n ? "..." : "");
    return assay_mlir_fail(p, t, "expected %s, found '%s'", what, found);
}

bool assay_mlir_no_memory(struct assay_mlir_parser *p)
{
    if (!p->rc)
        p->rc = assay_fail(p->err, ASSAY_EMEMORY, "%s: out of memory",
                           p->source->file);
    return false;
}

bool assay_mlir_enter(struct assay_mlir_parser *p)
{
    if (p->depth >= ASSAY_MLIR_MAX_DEPTH)
        return assay_mlir_fail(p, &p->at.tok, "nested deeper than %u levels",
                               ASSAY_MLIR_MAX_DEPTH);
    p->depth++;
    return true;
}

void assay_mlir_leave(struct assay_mlir_parser *p)
{
    p->depth--;
}

static unsigned nibble(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
}

const char *assay_mlir_unescape(struct assay_mlir_parser *p,
                                const struct assay_mlir_token *t, size_t *n)
{
    const char *s = t->s + 1, *e = t->s + t->n - 1;
    char *d;

    if (*t->s == '@' && *s == '"')
        s++;
    else if (*t->s == '@')
        e++;
    p->text.len = 0;
    if (assay_buf_reserve(&p->text, (size_t)(e - s) + 1)) {
        assay_mlir_no_memory(p);
        return NULL;
    }
    for (d = (char *)p->text.data; s < e; s++) {
        if (*s != '\\') {
            *d++ = *s;
            continue;
        }
        s++;
        if (*s == '"' || *s == '\\') {
            *d++ = *s;
        } else if (*s == 'n' || *s == 't') {
            *d++ = *s == 'n' ? '\n' : '\t';
        } else {
            *d++ = (char)(nibble(s[0]) << 4 | nibble(s[1]));
            s++;
        }
    }
    *d = '\0';
    *n = (size_t)(d - (char *)p->text.data);
    return (const char *)p->text.data;
}

bool assay_mlir_u64(const struct assay_mlir_token *t, uint64_t *out)
{
    bool hex = t->n > 2 && t->s[1] == 'x';
    uint64_t v = 0;

    for (size_t i = hex ? 2 : 0; i < t->n; i++)
        if (__builtin_mul_overflow(v, hex ? 16u : 10u, &v) ||
            __builtin_add_overflow(v, nibble(t->s[i]), &v))
            return false;
    *out = v;
    return true;
}
