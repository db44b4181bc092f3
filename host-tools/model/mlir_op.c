/* SPDX-License-Identifier: Apache-2.0 */
/* Operations in generic form, their regions and blocks. */
#include <string.h>

#include "host-tools/model/mlir_parse.h"

/* %a, %b:2 in front of '=': what has to be bound to the results. */
struct bound {
    struct assay_mlir_token at;
    const char *name;
    uint64_t count;
};
/* %a#1 among the operands. */
struct use {
    struct assay_mlir_token at;
    const char *name;
    uint64_t number;
};

bool assay_mlir_value_name(struct assay_mlir_parser *p, const char **name,
                           uint64_t *number)
{
    struct assay_mlir_token t = p->at.tok;

    if (t.kind != '%')
        return assay_mlir_expected(p, "the name of a value");
    *name = assay_mlir_intern(p, t.s, t.n);
    *number = 0;
    assay_mlir_next(p);
    if (p->at.tok.kind == '#') {
        t = p->at.tok;
        t.s++;
        t.n--;
        if (*t.s < '0' || *t.s > '9' || !assay_mlir_u64(&t, number) ||
            *number > UINT32_MAX)
            return assay_mlir_expected(p, "the number of a result after '#'");
        assay_mlir_next(p);
    }
    return *name && !p->rc;
}

static void *piece(struct assay_mlir_parser *p, size_t count, size_t size)
{
    void *v = assay_arena_array(p->arena, count, size);

    if (!v)
        assay_mlir_no_memory(p);
    return v;
}

/* ---- in front of '=' ------------------------------------------------------ */

static bool bound_results(struct assay_mlir_parser *p)
{
    do {
        struct bound *b = piece(p, 1, sizeof(*b));

        if (!b || !assay_mlir_push(p, b))
            return false;
        if (p->at.tok.kind != '%')
            return assay_mlir_expected(p, "the name of a value");
        b->at = p->at.tok;
        b->name = assay_mlir_intern(p, b->at.s, b->at.n);
        b->count = 1;
        if (!b->name)
            return false;
        assay_mlir_next(p);
        if (!assay_mlir_take(p, ':'))
            continue;
        if (p->at.tok.kind != ASSAY_TOK_INTEGER)
            return assay_mlir_expected(p, "a number of results");
        if (!assay_mlir_u64(&p->at.tok, &b->count) || !b->count ||
            b->count > UINT32_MAX)
            return assay_mlir_expected(p, "a number of results above zero");
        assay_mlir_next(p);
    } while (assay_mlir_take(p, ','));
    return assay_mlir_need(p, '=', "'=' behind the names of results");
}

/* The results exist since the type was read; now they get names. */
static bool bind_results(struct assay_mlir_parser *p, struct assay_mlir_op *op,
                         const void **v, uint32_t n)
{
    const struct bound *first = v[0];
    uint64_t all = 0;
    uint32_t at = 0;

    for (uint32_t i = 0; i < n; i++)
        all += ((const struct bound *)v[i])->count;
    if (all != op->n_results)
        return assay_mlir_fail(p, &first->at,
                               "'%.60s' has %u results, but %llu names stand "
                               "in front of it",
                               op->name, op->n_results,
                               (unsigned long long)all);
    for (uint32_t i = 0; i < n; i++) {
        const struct bound *b = v[i];

        for (uint64_t k = 0; k < b->count; k++, at++) {
            struct assay_mlir_value *r = assay_mlir_define(
                p, &b->at, b->name, k, b->count > 1, op->results[at]->type);

            if (!r)
                return false;
            r->op = op;
            r->index = at;
            op->results[at] = r;
        }
    }
    return true;
}

/* ---- the parts of an operation -------------------------------------------- */

static bool uses(struct assay_mlir_parser *p)
{
    if (!assay_mlir_need(p, '(', "'(' of the operands"))
        return false;
    if (assay_mlir_take(p, ')'))
        return true;
    do {
        struct use *u = piece(p, 1, sizeof(*u));

        if (!u || !assay_mlir_push(p, u))
            return false;
        u->at = p->at.tok;
        if (!assay_mlir_value_name(p, &u->name, &u->number))
            return false;
    } while (assay_mlir_take(p, ','));
    return assay_mlir_need(p, ')', "',' or ')' behind an operand");
}

static bool successors(struct assay_mlir_parser *p, struct assay_mlir_op *op)
{
    size_t mark = p->n_stack;

    assay_mlir_next(p);
    do {
        struct assay_mlir_block *b;
        struct assay_mlir_token t = p->at.tok;
        const char *name;

        if (t.kind != '^')
            return assay_mlir_expected(p, "the name of a block");
        name = assay_mlir_intern(p, t.s, t.n);
        b = name ? assay_mlir_block_of(p, p->region, name) : NULL;
        if (!b || !assay_mlir_push(p, b))
            return false;
        assay_mlir_next(p);
    } while (assay_mlir_take(p, ','));
    op->successors =
        (struct assay_mlir_block **)assay_mlir_pop(p, mark, &op->n_successors);
    return op->successors &&
           assay_mlir_need(p, ']', "',' or ']' behind a block");
}

static bool regions(struct assay_mlir_parser *p, struct assay_mlir_op *op)
{
    static const struct assay_mlir_entry none;
    size_t mark = p->n_stack;

    assay_mlir_next(p);
    do {
        struct assay_mlir_region *r = assay_mlir_region(p, &none);

        if (!r || !assay_mlir_push(p, r))
            return false;
    } while (assay_mlir_take(p, ','));
    op->regions =
        (struct assay_mlir_region **)assay_mlir_pop(p, mark, &op->n_regions);
    return op->regions && assay_mlir_need(p, ')', "',' or ')' behind a region");
}

static bool operands(struct assay_mlir_parser *p, struct assay_mlir_op *op,
                     const void **v, const struct assay_mlir_type *type,
                     const struct assay_mlir_token *at)
{
    if (type->n_inputs != op->n_operands)
        return assay_mlir_fail(p, at,
                               "expected %u operand types for '%.60s', found "
                               "%u",
                               op->n_operands, op->name, type->n_inputs);
    op->operands = piece(p, op->n_operands, sizeof(*op->operands));
    for (uint32_t i = 0; op->operands && i < op->n_operands; i++) {
        const struct use *u = v[i];

        op->operands[i] =
            assay_mlir_use(p, &u->at, u->name, u->number, type->types[i]);
        if (!op->operands[i])
            return false;
    }
    return op->operands != NULL;
}

static bool results(struct assay_mlir_parser *p, struct assay_mlir_op *op,
                    const struct assay_mlir_type *type)
{
    struct assay_mlir_value *v;

    op->n_results = type->n_types - type->n_inputs;
    op->results = piece(p, op->n_results, sizeof(*op->results));
    v = piece(p, op->n_results, sizeof(*v));
    for (uint32_t i = 0; op->results && v && i < op->n_results; i++) {
        v[i] = (struct assay_mlir_value){"", type->types[type->n_inputs + i],
                                         op, i};
        op->results[i] = &v[i];
    }
    return op->results && v;
}

static bool op_name(struct assay_mlir_parser *p, struct assay_mlir_op *op)
{
    const char *s;
    size_t n;

    s = assay_mlir_unescape(p, &p->at.tok, &n);
    if (!s)
        return false;
    if (!n || memchr(s, '\0', n))
        return assay_mlir_expected(p, "the name of an operation");
    op->name = assay_mlir_intern(p, s, n);
    op->line = p->at.tok.line;
    op->column = p->at.tok.column;
    assay_mlir_next(p);
    return op->name && !p->rc;
}

/* What stands between the name and the type. */
static bool middle(struct assay_mlir_parser *p, struct assay_mlir_op *op)
{
    if (p->at.tok.kind == '[' && !successors(p, op))
        return false;
    if (assay_mlir_take(p, '<')) {
        op->properties = assay_mlir_attr(p);
        if (!op->properties ||
            !assay_mlir_need(p, '>', "'>' behind the properties"))
            return false;
    }
    if (p->at.tok.kind == '(' && !regions(p, op))
        return false;
    if (p->at.tok.kind == '{') {
        op->attributes = assay_mlir_attr(p);
        if (!op->attributes)
            return false;
    }
    return !p->rc;
}

static struct assay_mlir_op *generic(struct assay_mlir_parser *p)
{
    struct assay_mlir_op *op = piece(p, 1, sizeof(*op));
    const struct assay_mlir_type *type;
    struct assay_mlir_token at;
    size_t mark = p->n_stack;
    const void **v;

    if (!op || !op_name(p, op) || !uses(p))
        return NULL;
    v = assay_mlir_pop(p, mark, &op->n_operands);
    if (!v || !middle(p, op) ||
        !assay_mlir_need(p, ':', "':' and the type of the operation"))
        return NULL;
    at = p->at.tok;
    type = assay_mlir_type(p);
    if (!type)
        return NULL;
    if (type->kind != ASSAY_MLIR_FUNCTION) {
        assay_mlir_fail(p, &at, "expected a function type, found '%.100s'",
                        type->text);
        return NULL;
    }
    if (!operands(p, op, v, type, &at) || !results(p, op, type) ||
        !assay_mlir_trailing_loc(p, &op->loc))
        return NULL;
    return op;
}

struct assay_mlir_op *assay_mlir_op(struct assay_mlir_parser *p)
{
    struct assay_mlir_token at = p->at.tok;
    struct assay_mlir_op *op;
    size_t mark = p->n_stack;
    const void **v;
    uint32_t n;

    if (p->rc || !assay_mlir_enter(p))
        return NULL;
    if (at.kind == '%' && !bound_results(p))
        return NULL;
    v = assay_mlir_pop(p, mark, &n);
    if (!v)
        return NULL;
    if (p->at.tok.kind == ASSAY_TOK_STRING)
        op = generic(p);
    else
        op = assay_mlir_custom_op(p);
    if (!op || (n && !bind_results(p, op, v, n)))
        return NULL;
    assay_mlir_leave(p);
    return p->rc ? NULL : op;
}

/* ---- regions -------------------------------------------------------------- */

static bool block_args(struct assay_mlir_parser *p, struct assay_mlir_block *b)
{
    size_t mark = p->n_stack;
    uint32_t n;
    const void **v;

    assay_mlir_next(p);
    if (!assay_mlir_take(p, ')')) {
        do {
            struct assay_mlir_token at = p->at.tok;
            const struct assay_mlir_type *type;
            const struct assay_mlir_loc *loc = NULL;
            struct assay_mlir_value *a;
            const char *name;
            uint64_t number;

            if (!assay_mlir_value_name(p, &name, &number) ||
                !assay_mlir_need(p, ':', "':' and the type of an argument"))
                return false;
            type = assay_mlir_type(p);
            a = type ? assay_mlir_define(p, &at, name, number, number > 0, type)
                     : NULL;
            if (!a || !assay_mlir_trailing_loc(p, &loc) ||
                !assay_mlir_push(p, a) || !assay_mlir_push(p, loc))
                return false;
        } while (assay_mlir_take(p, ','));
        if (!assay_mlir_need(p, ')', "',' or ')' behind an argument"))
            return false;
    }
    v = assay_mlir_pop(p, mark, &n);
    b->n_args = n / 2;
    b->args = piece(p, b->n_args, sizeof(*b->args));
    b->arg_locs = piece(p, b->n_args, sizeof(*b->arg_locs));
    for (uint32_t i = 0; v && b->args && b->arg_locs && i < b->n_args; i++) {
        b->args[i] = (struct assay_mlir_value *)v[2 * i];
        b->args[i]->index = i;
        b->arg_locs[i] = v[2 * i + 1];
    }
    return v && b->args && b->arg_locs;
}

/* Arguments that a function's head has named. */
static bool entry_args(struct assay_mlir_parser *p, struct assay_mlir_block *b,
                       const struct assay_mlir_entry *e)
{
    b->n_args = e->n;
    b->args = piece(p, e->n, sizeof(*b->args));
    b->arg_locs = e->locs;
    for (uint32_t i = 0; b->args && i < e->n; i++) {
        b->args[i] =
            assay_mlir_define(p, &e->at[i], e->names[i], 0, false, e->types[i]);
        if (!b->args[i])
            return false;
        b->args[i]->index = i;
    }
    return b->args != NULL;
}

static bool block_ops(struct assay_mlir_parser *p, struct assay_mlir_block *b)
{
    size_t mark = p->n_stack;

    while (!p->rc && p->at.tok.kind != '^' && p->at.tok.kind != '}') {
        struct assay_mlir_op *op = assay_mlir_op(p);

        if (!op || !assay_mlir_push(p, op))
            return false;
    }
    b->ops = (struct assay_mlir_op **)assay_mlir_pop(p, mark, &b->n_ops);
    return b->ops && !p->rc;
}

/* ops is set in a block that stands there; one that is only named has none. */
static struct assay_mlir_block *labelled(struct assay_mlir_parser *p)
{
    struct assay_mlir_token at = p->at.tok;
    struct assay_mlir_block *b;
    const char *name;

    if (at.kind != '^') {
        assay_mlir_expected(p, "the name of a block");
        return NULL;
    }
    name = assay_mlir_intern(p, at.s, at.n);
    b = name ? assay_mlir_block_of(p, p->region, name) : NULL;
    if (!b)
        return NULL;
    if (b->ops) {
        assay_mlir_fail(p, &at, "the block '%.100s' is defined twice", name);
        return NULL;
    }
    b->ops = piece(p, 1, sizeof(*b->ops));
    assay_mlir_next(p);
    if (!b->ops || (p->at.tok.kind == '(' && !block_args(p, b)) ||
        !assay_mlir_need(p, ':', "':' behind the name of a block"))
        return NULL;
    return block_ops(p, b) ? b : NULL;
}

static struct assay_mlir_block *first_block(struct assay_mlir_parser *p,
                                            const struct assay_mlir_entry *e)
{
    struct assay_mlir_block *b;

    if (p->at.tok.kind == '^' && e->n) {
        assay_mlir_fail(p, &p->at.tok,
                        "expected an operation, since the "
                        "function has named its arguments");
        return NULL;
    }
    if (p->at.tok.kind == '^')
        return labelled(p);
    b = piece(p, 1, sizeof(*b));
    if (!b)
        return NULL;
    b->name = "";
    return entry_args(p, b, e) && block_ops(p, b) ? b : NULL;
}

static bool blocks(struct assay_mlir_parser *p, struct assay_mlir_region *r,
                   const struct assay_mlir_entry *e)
{
    size_t mark = p->n_stack;

    if (p->at.tok.kind != '}' || e->n) {
        struct assay_mlir_block *b = first_block(p, e);

        if (!b || !assay_mlir_push(p, b))
            return false;
    }
    while (p->at.tok.kind != '}') {
        struct assay_mlir_block *b = labelled(p);

        if (!b || !assay_mlir_push(p, b))
            return false;
    }
    r->blocks =
        (struct assay_mlir_block **)assay_mlir_pop(p, mark, &r->n_blocks);
    return r->blocks != NULL;
}

/* A block that an operation of this region named has to stand in it. */
static bool blocks_stand(struct assay_mlir_parser *p,
                         const struct assay_mlir_region *r)
{
    for (uint32_t i = 0; i < r->n_blocks; i++)
        for (uint32_t k = 0; k < r->blocks[i]->n_ops; k++) {
            const struct assay_mlir_op *op = r->blocks[i]->ops[k];
            struct assay_mlir_token at = {.line = op->line,
                                          .column = op->column};

            for (uint32_t s = 0; s < op->n_successors; s++)
                if (!op->successors[s]->ops)
                    return assay_mlir_fail(p, &at,
                                           "the block '%.100s' is not defined",
                                           op->successors[s]->name);
        }
    return true;
}

struct assay_mlir_region *assay_mlir_region(
    struct assay_mlir_parser *p, const struct assay_mlir_entry *entry)
{
    struct assay_mlir_region *r = piece(p, 1, sizeof(*r));
    uint64_t around = p->region;
    size_t mark = p->n_scope;

    if (!r || !assay_mlir_enter(p) ||
        !assay_mlir_need(p, '{', "'{' of a region"))
        return NULL;
    p->region = ++p->n_regions;
    if (!blocks(p, r, entry) || !blocks_stand(p, r) ||
        !assay_mlir_need(p, '}', "'}' of a region"))
        return NULL;
    p->region = around;
    assay_mlir_close_scope(p, mark);
    assay_mlir_leave(p);
    return p->rc ? NULL : r;
}
