/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of values and blocks. A value may be used before it is defined: then
 * the use makes it, and the definition fills it. Whether the definition comes
 * before the use at run time is not asked. A region's names are gone at its
 * end; the names of the regions around it are known in it.
 */
#include <stdio.h>
#include <string.h>

#include "host-tools/model/mlir_parse.h"

/* index of a value that is used but not yet defined */
#define UNDEFINED UINT32_MAX

static struct assay_mlir_value *new_value(struct assay_mlir_parser *p,
                                          const char *name, uint64_t number,
                                          const struct assay_mlir_type *type)
{
    struct assay_mlir_value *v = assay_arena_alloc(p->arena, sizeof(*v));

    (void)number;
    if (!v) {
        assay_mlir_no_memory(p);
        return NULL;
    }
    v->name = name;
    v->type = type;
    v->index = UNDEFINED;
    return v;
}

static bool other_type(struct assay_mlir_parser *p,
                       const struct assay_mlir_token *at, const char *name,
                       const struct assay_mlir_type *now,
                       const struct assay_mlir_type *before)
{
    return assay_mlir_fail(p, at,
                           "'%.60s' has the type '%.100s' here and "
                           "'%.100s' before",
                           name, now->text, before->text);
}

struct assay_mlir_value *assay_mlir_use(struct assay_mlir_parser *p,
                                        const struct assay_mlir_token *at,
                                        const char *name, uint64_t number,
                                        const struct assay_mlir_type *type)
{
    struct assay_mlir_value *v = assay_mlir_map_get(&p->values, name, number);
    struct assay_mlir_value *first;
    struct assay_mlir_pending *w;

    if (v && v->type == type)
        return v;
    if (v) {
        other_type(p, at, name, type, v->type);
        return NULL;
    }
    first = assay_mlir_map_get(&p->values, name, 0);
    if (first && first->index != UNDEFINED) {
        assay_mlir_fail(p, at, "'%.60s' has no result %llu", name,
                        (unsigned long long)number);
        return NULL;
    }
    v = new_value(p, name, number, type);
    w = v ? assay_arena_alloc(p->arena, sizeof(*w)) : NULL;
    if (v && !w)
        assay_mlir_no_memory(p);
    if (!w || !assay_mlir_map_put(p, &p->values, name, number, v))
        return NULL;
    *w = (struct assay_mlir_pending){p->pending_values, *at, name, v};
    p->pending_values = w;
    return v;
}

static bool record(struct assay_mlir_parser *p, const char *name,
                   uint64_t number)
{
    if (p->n_scope == p->cap_scope) {
        size_t cap = p->cap_scope ? p->cap_scope * 2 : 256;
        const char **names = assay_realloc(p->scope, cap * sizeof(*names));
        uint64_t *numbers;

        if (!names)
            return assay_mlir_no_memory(p);
        p->scope = names;
        numbers = assay_realloc(p->scope_numbers, cap * sizeof(*numbers));
        if (!numbers)
            return assay_mlir_no_memory(p);
        p->scope_numbers = numbers;
        p->cap_scope = cap;
    }
    p->scope[p->n_scope] = name;
    p->scope_numbers[p->n_scope++] = number;
    return true;
}

/* "%5#1" for one of a group. */
static const char *full_name(struct assay_mlir_parser *p, const char *name,
                             uint64_t number)
{
    struct assay_buf b;
    const char *s = NULL;

    assay_buf_init(&b);
    if (!assay_mlir_put(&b, name) ||
        !assay_mlir_printf(&b, "#%llu", (unsigned long long)number))
        assay_mlir_no_memory(p);
    else
        s = assay_arena_str(p->arena, (const char *)b.data, b.len);
    if (!s)
        assay_mlir_no_memory(p);
    assay_buf_close(&b);
    return s;
}

struct assay_mlir_value *assay_mlir_define(struct assay_mlir_parser *p,
                                           const struct assay_mlir_token *at,
                                           const char *name, uint64_t number,
                                           bool group,
                                           const struct assay_mlir_type *type)
{
    struct assay_mlir_value *v = assay_mlir_map_get(&p->values, name, number);

    if (v && v->index != UNDEFINED) {
        assay_mlir_fail(p, at, "'%.100s' is defined twice", name);
        return NULL;
    }
    if (v && v->type != type) {
        other_type(p, at, name, type, v->type);
        return NULL;
    }
    if (!v) {
        v = new_value(p, name, number, type);
        if (!v || !assay_mlir_map_put(p, &p->values, name, number, v))
            return NULL;
    }
    v->index = 0;
    if (group)
        v->name = full_name(p, name, number);
    return v->name && record(p, name, number) ? v : NULL;
}

void assay_mlir_close_scope(struct assay_mlir_parser *p, size_t mark)
{
    /* A slot that was found once is there: nothing is allocated. */
    while (p->n_scope > mark) {
        p->n_scope--;
        if (!assay_mlir_map_put(p, &p->values, p->scope[p->n_scope],
                                p->scope_numbers[p->n_scope], NULL))
            return;
    }
}

struct assay_mlir_block *assay_mlir_block_of(struct assay_mlir_parser *p,
                                             uint64_t region, const char *name)
{
    struct assay_mlir_block *b = assay_mlir_map_get(&p->blocks, name, region);

    if (b)
        return b;
    b = assay_arena_alloc(p->arena, sizeof(*b));
    if (!b) {
        assay_mlir_no_memory(p);
        return NULL;
    }
    b->name = name;
    return assay_mlir_map_put(p, &p->blocks, name, region, b) ? b : NULL;
}

/* The first that is missing in the text, for the sentence. */
static const struct assay_mlir_pending *earliest(
    const struct assay_mlir_pending *a, const struct assay_mlir_pending *b)
{
    return !a || b->at.s < a->at.s ? b : a;
}

bool assay_mlir_ends(struct assay_mlir_parser *p)
{
    const struct assay_mlir_pending *bad = NULL;

    for (const struct assay_mlir_pending *w = p->pending_values; w; w = w->next)
        if (((struct assay_mlir_value *)w->what)->index == UNDEFINED)
            bad = earliest(bad, w);
    if (bad)
        return assay_mlir_fail(p, &bad->at, "'%.100s' is not defined",
                               bad->name);
    for (const struct assay_mlir_pending *w = p->pending_locs; w; w = w->next) {
        const struct assay_mlir_attr *a =
            assay_mlir_map_get(&p->attr_aliases, w->name, 0);

        if (!a || a->kind != ASSAY_MLIR_LOCATION)
            bad = earliest(bad, w);
        else
            memcpy(w->what, a->loc, sizeof(*a->loc));
    }
    if (bad)
        return assay_mlir_fail(
            p, &bad->at,
            assay_mlir_map_get(&p->attr_aliases, bad->name, 0)
                ? "'%.100s' is not a location"
                : "the attribute alias '%.100s' is not defined",
            bad->name);
    for (const struct assay_mlir_pending *w = p->pending_resources; w;
         w = w->next) {
        struct assay_mlir_attr *a = w->what;
        const struct assay_mlir_resource *r =
            assay_mlir_map_get(&p->resources, w->name, 0);

        if (!r)
            continue;
        a->data = r->data;
        a->data_size = r->size;
        a->i = r->alignment;
    }
    return true;
}
