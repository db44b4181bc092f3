/* SPDX-License-Identifier: Apache-2.0 */
/* A file: operations, aliases and resources, in any order. */
#include "host-tools/model/mlir.h"

#include <string.h>

#include "host-tools/model/mlir_parse.h"

/* #name = attribute or !name = type. */
static bool alias(struct assay_mlir_parser *p)
{
    struct assay_mlir_token at = p->at.tok;
    bool type = at.kind == '!';
    struct assay_mlir_map *m = type ? &p->type_aliases : &p->attr_aliases;
    const char *name = assay_mlir_intern(p, at.s, at.n);
    const void *value;

    if (!name)
        return false;
    if (memchr(at.s, '.', at.n))
        return assay_mlir_fail(p, &at,
                               "'%.100s' belongs to a dialect and "
                               "cannot be an alias",
                               name);
    if (assay_mlir_map_get(m, name, 0))
        return assay_mlir_fail(p, &at, "the alias '%.100s' is defined twice",
                               name);
    assay_mlir_next(p);
    if (!assay_mlir_need(p, '=', "'=' in the definition of an alias"))
        return false;
    if (type)
        value = assay_mlir_type(p);
    else
        value = assay_mlir_attr(p);
    return value && assay_mlir_map_put(p, m, name, 0, (void *)value);
}

static struct assay_mlir_region *top(struct assay_mlir_parser *p)
{
    struct assay_mlir_region *r = assay_arena_alloc(p->arena, sizeof(*r));
    struct assay_mlir_block *b = assay_arena_alloc(p->arena, sizeof(*b));
    size_t mark = p->n_stack;

    if (!r || !b) {
        assay_mlir_no_memory(p);
        return NULL;
    }
    while (!p->rc && p->at.tok.kind != ASSAY_TOK_EOF) {
        if (p->at.tok.kind == '#' || p->at.tok.kind == '!') {
            if (!alias(p))
                return NULL;
        } else if (p->at.tok.kind == ASSAY_TOK_META) {
            if (!assay_mlir_resources(p))
                return NULL;
        } else {
            struct assay_mlir_op *op = assay_mlir_op(p);

            if (!op || !assay_mlir_push(p, op))
                return NULL;
        }
    }
    if (p->rc || !assay_mlir_ends(p))
        return NULL;
    b->name = "";
    b->ops = (struct assay_mlir_op **)assay_mlir_pop(p, mark, &b->n_ops);
    r->blocks = assay_arena_copy(p->arena, &b, sizeof(b));
    r->n_blocks = 1;
    if (!r->blocks)
        assay_mlir_no_memory(p);
    for (uint32_t i = 0; b->ops && i < b->n_ops; i++)
        if (b->ops[i]->n_successors) {
            struct assay_mlir_token at = {.line = b->ops[i]->line,
                                          .column = b->ops[i]->column};

            assay_mlir_fail(p, &at, "the block '%.100s' is not defined",
                            b->ops[i]->successors[0]->name);
        }
    return p->rc || !b->ops ? NULL : r;
}

int assay_mlir_parse(struct assay_mlir_region **out,
                     const struct assay_mlir_source *source,
                     struct assay_arena *arena, struct assay_err *err)
{
    struct assay_mlir_parser p = {
        .source = source,
        .arena = arena,
        .err = err,
        .end = source->data + source->size,
        .told = source->data,
        .at = {.cur = source->data, .line_start = source->data, .line = 1},
    };
    struct assay_mlir_region *r;

    assay_mlir_next(&p);
    r = top(&p);
    assay_mlir_parser_close(&p);
    if (p.rc)
        return p.rc;
    *out = r;
    return 0;
}

const struct assay_mlir_attr *assay_mlir_dict_get(
    const struct assay_mlir_attr *dict, const char *name)
{
    if (!dict || dict->kind != ASSAY_MLIR_DICT)
        return NULL;
    for (uint32_t i = 0; i < dict->n; i++)
        if (!strcmp(dict->names[i], name))
            return dict->items[i];
    return NULL;
}

const struct assay_mlir_attr *assay_mlir_op_attr(const struct assay_mlir_op *op,
                                                 const char *name)
{
    const struct assay_mlir_attr *a = assay_mlir_dict_get(op->properties, name);

    return a ? a : assay_mlir_dict_get(op->attributes, name);
}
