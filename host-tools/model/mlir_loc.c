/* SPDX-License-Identifier: Apache-2.0 */
/* Locations, which carry the names of layers. */
#include <string.h>

#include "host-tools/model/mlir_parse.h"

static struct assay_mlir_loc *new_loc(struct assay_mlir_parser *p,
                                      enum assay_mlir_loc_kind kind)
{
    struct assay_mlir_loc *l = NULL;

    if (!p->rc) {
        l = assay_arena_alloc(p->arena, sizeof(*l));
        if (!l)
            assay_mlir_no_memory(p);
    }
    if (l) {
        l->kind = kind;
        l->weight = 1;
        l->depth = 1;
    }
    return l;
}

static const struct assay_mlir_loc *instance(struct assay_mlir_parser *p);

/* The parts on the stack above mark become l's; the last name stays. */
static struct assay_mlir_loc *with_parts(struct assay_mlir_parser *p,
                                         struct assay_mlir_loc *l, size_t mark)
{
    if (!l)
        return NULL;
    l->parts =
        (const struct assay_mlir_loc **)assay_mlir_pop(p, mark, &l->n_parts);
    for (uint32_t i = 0; l->parts && i < l->n_parts; i++) {
        if (!assay_mlir_carry(p, &l->weight, &l->depth, l->parts[i]->weight,
                              l->parts[i]->depth))
            return NULL;
        if (l->weight > ASSAY_MLIR_MAX_WEIGHT) {
            assay_mlir_fail(p, &p->at.tok, "a location of more than %u parts",
                            ASSAY_MLIR_MAX_WEIGHT);
            return NULL;
        }
        if (l->parts[i]->name)
            l->name = l->parts[i]->name;
    }
    return l->parts ? l : NULL;
}

static bool loc_number(struct assay_mlir_parser *p, uint32_t *out,
                       const char *what)
{
    uint64_t v;

    if (p->at.tok.kind != ASSAY_TOK_INTEGER)
        return assay_mlir_expected(p, what);
    if (!assay_mlir_u64(&p->at.tok, &v) || v > UINT32_MAX)
        return assay_mlir_fail(p, &p->at.tok, "a number of more than 32 bits");
    *out = (uint32_t)v;
    assay_mlir_next(p);
    return !p->rc;
}

static const struct assay_mlir_loc *file_loc(struct assay_mlir_parser *p,
                                             struct assay_mlir_loc *l)
{
    l->kind = ASSAY_MLIR_LOC_FILE;
    if (!loc_number(p, &l->line, "the number of a line") ||
        !assay_mlir_need(p, ':', "':' and a column") ||
        !loc_number(p, &l->column, "the number of a column"))
        return NULL;
    if (assay_mlir_take_word(p, "to")) {
        l->end_line = l->line;
        if (p->at.tok.kind == ASSAY_TOK_INTEGER &&
            !loc_number(p, &l->end_line, "the number of a line"))
            return NULL;
        if (!assay_mlir_need(p, ':', "':' and a column") ||
            !loc_number(p, &l->end_column, "the number of a column"))
            return NULL;
    }
    return p->rc ? NULL : l;
}

static const struct assay_mlir_loc *named(struct assay_mlir_parser *p)
{
    struct assay_mlir_loc *l = new_loc(p, ASSAY_MLIR_LOC_NAME);
    const struct assay_mlir_loc *child;
    size_t mark = p->n_stack, n;
    const char *s;

    s = l ? assay_mlir_unescape(p, &p->at.tok, &n) : NULL;
    if (!s)
        return NULL;
    if (memchr(s, '\0', n)) {
        assay_mlir_unsupported(p, &p->at.tok, "a byte 0 in a location");
        return NULL;
    }
    l->text = assay_mlir_intern(p, s, n);
    assay_mlir_next(p);
    if (!l->text)
        return NULL;
    if (assay_mlir_take(p, ':'))
        return file_loc(p, l);
    l->name = l->text;
    if (!assay_mlir_take(p, '('))
        return p->rc ? NULL : l;
    child = instance(p);
    if (!child || !assay_mlir_push(p, child) ||
        !assay_mlir_need(p, ')', "')' behind the location of a name"))
        return NULL;
    return with_parts(p, l, mark);
}

static const struct assay_mlir_loc *callsite(struct assay_mlir_parser *p)
{
    const struct assay_mlir_loc *callee, *caller;
    size_t mark = p->n_stack;

    assay_mlir_next(p);
    if (!assay_mlir_need(p, '(', "'(' after 'callsite'"))
        return NULL;
    callee = instance(p);
    if (!callee)
        return NULL;
    if (!assay_mlir_take_word(p, "at")) {
        assay_mlir_expected(p, "'at' in 'callsite'");
        return NULL;
    }
    caller = instance(p);
    if (!caller || !assay_mlir_push(p, callee) || !assay_mlir_push(p, caller) ||
        !assay_mlir_need(p, ')', "')' of 'callsite'"))
        return NULL;
    return with_parts(p, new_loc(p, ASSAY_MLIR_LOC_CALLSITE), mark);
}

static const struct assay_mlir_loc *fused(struct assay_mlir_parser *p)
{
    struct assay_mlir_loc *l = new_loc(p, ASSAY_MLIR_LOC_FUSED);
    size_t mark = p->n_stack;

    assay_mlir_next(p);
    if (l && assay_mlir_take(p, '<')) {
        l->metadata = assay_mlir_attr(p);
        if (!l->metadata ||
            !assay_mlir_carry(p, &l->weight, &l->depth, l->metadata->weight,
                              l->metadata->depth) ||
            !assay_mlir_need(p, '>', "'>' behind the metadata of 'fused'"))
            return NULL;
    }
    if (!l || !assay_mlir_need(p, '[', "'[' in 'fused'"))
        return NULL;
    if (!assay_mlir_take(p, ']')) {
        do {
            const struct assay_mlir_loc *part = instance(p);

            if (!part || !assay_mlir_push(p, part))
                return NULL;
        } while (assay_mlir_take(p, ','));
        if (!assay_mlir_need(p, ']', "',' or ']' in 'fused'"))
            return NULL;
    }
    return with_parts(p, l, mark);
}

/* #alias that has to be defined, or a dialect's own kind of location. */
static const struct assay_mlir_loc *by_symbol(struct assay_mlir_parser *p)
{
    struct assay_mlir_token at = p->at.tok;
    const struct assay_mlir_attr *a = assay_mlir_attr(p);
    struct assay_mlir_loc *l;

    if (!a)
        return NULL;
    if (a->kind == ASSAY_MLIR_LOCATION)
        return a->loc;
    if (a->kind != ASSAY_MLIR_OPAQUE) {
        assay_mlir_fail(p, &at, "'%.*s' is not a location",
                        at.n < 60 ? (int)at.n : 60, at.s);
        return NULL;
    }
    l = new_loc(p, ASSAY_MLIR_LOC_OPAQUE);
    if (l)
        l->text = a->text;
    return l;
}

static const struct assay_mlir_loc *any_loc(struct assay_mlir_parser *p)
{
    if (p->at.tok.kind == '#')
        return by_symbol(p);
    if (p->at.tok.kind == ASSAY_TOK_STRING)
        return named(p);
    if (assay_mlir_is(p, "callsite"))
        return callsite(p);
    if (assay_mlir_is(p, "fused"))
        return fused(p);
    if (assay_mlir_take_word(p, "unknown"))
        return new_loc(p, ASSAY_MLIR_LOC_UNKNOWN);
    assay_mlir_expected(p, "a location");
    return NULL;
}

static const struct assay_mlir_loc *instance(struct assay_mlir_parser *p)
{
    const struct assay_mlir_loc *l;

    if (p->rc || !assay_mlir_enter(p))
        return NULL;
    l = any_loc(p);
    assay_mlir_leave(p);
    return p->rc ? NULL : l;
}

const struct assay_mlir_loc *assay_mlir_loc(struct assay_mlir_parser *p)
{
    const struct assay_mlir_loc *l;

    if (!assay_mlir_need(p, '(', "'(' after 'loc'"))
        return NULL;
    l = instance(p);
    return l && assay_mlir_need(p, ')', "')' at the end of a location") ? l
                                                                        : NULL;
}

/* #loc3, which may be defined at the end of the file: until then the location
 * has no kind. One object for all uses of a name. */
static const struct assay_mlir_loc *later(struct assay_mlir_parser *p)
{
    const char *name = assay_mlir_intern(p, p->at.tok.s, p->at.tok.n);
    struct assay_mlir_pending *w;

    if (!name)
        return NULL;
    w = assay_mlir_map_get(&p->locs, name, 0);
    if (!w) {
        w = assay_arena_alloc(p->arena, sizeof(*w));
        if (!w) {
            assay_mlir_no_memory(p);
            return NULL;
        }
        w->at = p->at.tok;
        w->name = name;
        w->what = new_loc(p, ASSAY_MLIR_LOC_UNKNOWN);
        if (!w->what || !assay_mlir_map_put(p, &p->locs, name, 0, w))
            return NULL;
        w->next = p->pending_locs;
        p->pending_locs = w;
    }
    assay_mlir_next(p);
    return w->what;
}

bool assay_mlir_trailing_loc(struct assay_mlir_parser *p,
                             const struct assay_mlir_loc **out)
{
    const struct assay_mlir_attr *known;
    const char *name;

    if (!assay_mlir_take_word(p, "loc"))
        return !p->rc;
    if (p->at.tok.kind != '(')
        return assay_mlir_expected(p, "'(' after 'loc'");
    assay_mlir_next(p);
    if (p->at.tok.kind == '#' && !memchr(p->at.tok.s, '.', p->at.tok.n)) {
        name = assay_mlir_intern(p, p->at.tok.s, p->at.tok.n);
        known = name ? assay_mlir_map_get(&p->attr_aliases, name, 0) : NULL;
        *out = known || !name ? instance(p) : later(p);
    } else {
        *out = instance(p);
    }
    return *out && assay_mlir_need(p, ')', "')' at the end of a location");
}

const char *assay_mlir_loc_name(const struct assay_mlir_loc *loc)
{
    return loc ? loc->name : NULL;
}
