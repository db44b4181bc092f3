/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_resource<name> and the section {-# ... #-} at the end of the file,
 * which has the bytes. Uses are patched when the section has been read.
 */
#include <string.h>

#include "host-tools/model/mlir_parse.h"

/* A word or a string. */
static const char *resource_name(struct assay_mlir_parser *p)
{
    const char *s = p->at.tok.s;
    size_t n = p->at.tok.n;

    if (p->at.tok.kind == ASSAY_TOK_STRING) {
        s = assay_mlir_unescape(p, &p->at.tok, &n);
        if (!s)
            return NULL;
    } else if (p->at.tok.kind != ASSAY_TOK_BARE) {
        assay_mlir_expected(p, "the name of a resource");
        return NULL;
    }
    if (memchr(s, '\0', n)) {
        assay_mlir_unsupported(p, &p->at.tok, "a byte 0 in a name");
        return NULL;
    }
    return assay_mlir_intern(p, s, n);
}

const struct assay_mlir_attr *assay_mlir_resource_attr(
    struct assay_mlir_parser *p)
{
    struct assay_mlir_attr *a = assay_mlir_new_attr(p, ASSAY_MLIR_RESOURCE);
    struct assay_mlir_pending *w;
    struct assay_mlir_token at;

    assay_mlir_next(p);
    if (!a || !assay_mlir_need(p, '<', "'<' after 'dense_resource'"))
        return NULL;
    at = p->at.tok;
    a->text = resource_name(p);
    if (!a->text)
        return NULL;
    a->text_size = strlen(a->text);
    if (!strcmp(a->text, "__elided__")) {
        assay_mlir_unsupported(p, &at,
                               "the elements are left out here "
                               "('__elided__'), export the text without "
                               "elided constants");
        return NULL;
    }
    assay_mlir_next(p);
    if (!assay_mlir_need(p, '>', "'>' behind the name of a resource") ||
        !assay_mlir_need(p, ':', "':' and the type of the elements"))
        return NULL;
    at = p->at.tok;
    a->type = assay_mlir_type(p);
    if (!a->type)
        return NULL;
    if (a->type->kind != ASSAY_MLIR_TENSOR &&
        a->type->kind != ASSAY_MLIR_VECTOR &&
        a->type->kind != ASSAY_MLIR_MEMREF) {
        assay_mlir_fail(p, &at, "expected a shape for elements, found '%.100s'",
                        a->type->text);
        return NULL;
    }
    w = assay_arena_alloc(p->arena, sizeof(*w));
    if (!w) {
        assay_mlir_no_memory(p);
        return NULL;
    }
    *w = (struct assay_mlir_pending){p->pending_resources, at, a->text, a};
    p->pending_resources = w;
    return a;
}

/* ---- the section ---------------------------------------------------------- */

static bool header(struct assay_mlir_parser *p, struct assay_mlir_resource *r,
                   const struct assay_mlir_token *at, const char *s,
                   size_t chars)
{
    uint8_t b[4];

    if (!assay_mlir_hex(p, s, 8, b))
        return assay_mlir_fail(p, at,
                               "expected pairs of hex digits in a "
                               "resource");
    r->alignment = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
                   (uint32_t)b[3] << 24;
    /* MLIR itself prints empty resources with an alignment of 0. */
    if ((!r->alignment && chars) || (r->alignment & (r->alignment - 1)))
        return assay_mlir_fail(p, at,
                               "expected an alignment that is a power "
                               "of two, found %u",
                               r->alignment);
    return true;
}

/* "0x", four bytes of alignment, data; s is at the opening quote. Not one
 * token: memory behind the place is given back while it is read. */
static bool blob(struct assay_mlir_parser *p, const char *s, const char *name)
{
    struct assay_mlir_token at = {.s = s,
                                  .line = p->at.line,
                                  .column =
                                      (uint32_t)(s - p->at.line_start) + 1};
    struct assay_mlir_resource *r;
    const char *end = s + 1;
    uint8_t *data;
    size_t chars;

    while (end < p->end && *end != '"') {
        const char *next = p->end - end > 1 << 20 ? end + (1 << 20) : p->end;
        const char *hit = memchr(end, '"', (size_t)(next - end));

        end = hit ? hit : next;
        assay_mlir_told(p, end);
    }
    if (end == p->end)
        return assay_mlir_fail(p, &at, "expected '\"' at the end of a string");
    if (end - s < 11 || s[1] != '0' || s[2] != 'x')
        return assay_mlir_fail(p, &at,
                               "expected 0x, an alignment of 8 hex "
                               "digits and the data of a resource");
    s += 3;
    chars = (size_t)(end - s) - 8;
    r = assay_arena_alloc(p->arena, sizeof(*r));
    if (!r)
        return assay_mlir_no_memory(p);
    if (!header(p, r, &at, s, chars))
        return false;
    data = assay_arena_alloc(p->arena, chars / 2);
    if (!data)
        return assay_mlir_no_memory(p);
    if (!assay_mlir_hex(p, s + 8, chars, data))
        return assay_mlir_fail(p, &at,
                               "expected pairs of hex digits in a "
                               "resource");
    r->data = data;
    r->size = chars / 2;
    assay_mlir_reset(p, end + 1);
    return !p->rc &&
           (!name || assay_mlir_map_put(p, &p->resources, name, 0, r));
}

/* name: value; of other owners than builtin only the form is seen to. */
static bool resource(struct assay_mlir_parser *p, bool builtin)
{
    struct assay_mlir_token at = p->at.tok;
    const char *name = resource_name(p), *s;

    if (!name)
        return false;
    assay_mlir_next(p);
    if (p->at.tok.kind != ':')
        return assay_mlir_expected(p, "':' behind the name of a resource");
    if (builtin && assay_mlir_map_get(&p->resources, name, 0))
        return assay_mlir_fail(p, &at, "the resource '%.100s' stands twice",
                               name);
    s = assay_mlir_skip_space(p);
    if (s < p->end && *s == '"' && builtin)
        return blob(p, s, name);
    assay_mlir_next(p);
    if (p->at.tok.kind != ASSAY_TOK_STRING && !assay_mlir_is(p, "true") &&
        !assay_mlir_is(p, "false"))
        return assay_mlir_expected(p, "the value of a resource");
    assay_mlir_next(p);
    return !p->rc;
}

static bool owner(struct assay_mlir_parser *p, bool of_dialect)
{
    const char *name = resource_name(p);
    bool builtin;

    if (!name)
        return false;
    builtin = of_dialect && !strcmp(name, "builtin");
    assay_mlir_next(p);
    if (!assay_mlir_need(p, ':', "':' behind the name of an owner") ||
        !assay_mlir_need(p, '{', "'{' of a list of resources"))
        return false;
    if (assay_mlir_take(p, '}'))
        return true;
    do {
        if (!resource(p, builtin))
            return false;
    } while (assay_mlir_take(p, ','));
    return assay_mlir_need(p, '}', "',' or '}' in a list of resources");
}

static bool section(struct assay_mlir_parser *p)
{
    bool of_dialect = assay_mlir_is(p, "dialect_resources");

    if (!of_dialect && !assay_mlir_is(p, "external_resources"))
        return assay_mlir_expected(
            p, "'dialect_resources' or 'external_resources'");
    assay_mlir_next(p);
    if (!assay_mlir_need(p, ':', "':' in the section of resources") ||
        !assay_mlir_need(p, '{', "'{' in the section of resources"))
        return false;
    if (assay_mlir_take(p, '}'))
        return true;
    do {
        if (!owner(p, of_dialect))
            return false;
    } while (assay_mlir_take(p, ','));
    return assay_mlir_need(p, '}', "',' or '}' in the section of resources");
}

bool assay_mlir_resources(struct assay_mlir_parser *p)
{
    assay_mlir_next(p);
    if (assay_mlir_take(p, ASSAY_TOK_META_END))
        return true;
    do {
        if (!section(p))
            return false;
    } while (assay_mlir_take(p, ','));
    return assay_mlir_need(p, ASSAY_TOK_META_END, "',' or '#-}'");
}
