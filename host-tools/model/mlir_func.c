/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forms of their own that print(module) has beside the generic one:
 * module, func.func and return. They become the same tree.
 */
#include <string.h>

#include "host-tools/model/mlir_parse.h"

/* Properties under construction: names and values side by side. */
struct properties {
    const char *names[8];
    const struct assay_mlir_attr *items[8];
    uint32_t n;
};

static bool add(struct assay_mlir_parser *p, struct properties *v,
                const char *name, const struct assay_mlir_attr *item)
{
    v->names[v->n] = assay_mlir_intern(p, name, strlen(name));
    v->items[v->n] = item;
    return item && v->names[v->n++];
}

static const struct assay_mlir_attr *dictionary(struct assay_mlir_parser *p,
                                                const struct properties *v)
{
    const char *const *names =
        assay_arena_copy(p->arena, v->names, v->n * sizeof(v->names[0]));
    size_t mark = p->n_stack;

    if (!names) {
        assay_mlir_no_memory(p);
        return NULL;
    }
    for (uint32_t i = 0; i < v->n; i++)
        if (!assay_mlir_push(p, v->items[i]))
            return NULL;
    return assay_mlir_attr_list(p, ASSAY_MLIR_DICT, mark, names);
}

static struct assay_mlir_op *new_op(struct assay_mlir_parser *p,
                                    const char *name)
{
    struct assay_mlir_op *op = assay_arena_alloc(p->arena, sizeof(*op));

    if (!op) {
        assay_mlir_no_memory(p);
        return NULL;
    }
    op->name = assay_mlir_intern(p, name, strlen(name));
    op->line = p->at.tok.line;
    op->column = p->at.tok.column;
    return op->name ? op : NULL;
}

/* @name as a string. */
static const struct assay_mlir_attr *symbol_name(struct assay_mlir_parser *p)
{
    const struct assay_mlir_attr *a;
    const char *s;
    size_t n;

    s = assay_mlir_unescape(p, &p->at.tok, &n);
    if (!s)
        return NULL;
    if (!n) {
        assay_mlir_expected(p, "a name");
        return NULL;
    }
    a = assay_mlir_attr_string(p, s, n);
    assay_mlir_next(p);
    return a;
}

/* [attributes {...}] */
static bool more_attributes(struct assay_mlir_parser *p,
                            struct assay_mlir_op *op)
{
    if (!assay_mlir_take_word(p, "attributes"))
        return !p->rc;
    if (p->at.tok.kind != '{')
        return assay_mlir_expected(p, "'{' after 'attributes'");
    op->attributes = assay_mlir_attr(p);
    return op->attributes != NULL;
}

static bool one_region(struct assay_mlir_parser *p, struct assay_mlir_op *op,
                       const struct assay_mlir_entry *e)
{
    struct assay_mlir_region *r = assay_mlir_region(p, e);

    op->regions = r ? assay_arena_copy(p->arena, &r, sizeof(r)) : NULL;
    op->n_regions = 1;
    if (r && !op->regions)
        assay_mlir_no_memory(p);
    return op->regions != NULL;
}

/* ---- module --------------------------------------------------------------- */

/* A module's region has one block, even where nothing stands in it. */
static bool give_block(struct assay_mlir_parser *p, struct assay_mlir_region *r)
{
    struct assay_mlir_block *b;

    if (r->n_blocks)
        return true;
    b = assay_arena_alloc(p->arena, sizeof(*b));
    if (b) {
        b->name = "";
        b->ops = assay_arena_alloc(p->arena, sizeof(*b->ops));
        r->blocks = assay_arena_copy(p->arena, &b, sizeof(b));
        r->n_blocks = 1;
    }
    return (b && b->ops && r->blocks) || assay_mlir_no_memory(p);
}

static struct assay_mlir_op *module(struct assay_mlir_parser *p)
{
    static const struct assay_mlir_entry none;
    struct assay_mlir_op *op = new_op(p, "builtin.module");
    struct properties v = {.n = 0};

    assay_mlir_next(p);
    if (!op)
        return NULL;
    if (p->at.tok.kind == ASSAY_TOK_AT &&
        !add(p, &v, "sym_name", symbol_name(p)))
        return NULL;
    if (!more_attributes(p, op) || !one_region(p, op, &none) ||
        !give_block(p, op->regions[0]))
        return NULL;
    if (v.n) {
        op->properties = dictionary(p, &v);
        if (!op->properties)
            return NULL;
    }
    return assay_mlir_trailing_loc(p, &op->loc) ? op : NULL;
}

/* ---- func.func ------------------------------------------------------------ */

struct head {
    struct assay_mlir_entry args; /* args.n counts those that have names */
    size_t mark;                  /* types lie above it: inputs, results */
    uint32_t n_inputs, n_results;
    const struct assay_mlir_attr *arg_attrs, *res_attrs;
};

/* Attributes of arguments are pushed onto a list of their own afterwards. */
struct one {
    struct assay_mlir_token at;
    const char *name; /* NULL: none */
    const struct assay_mlir_type *type;
    const struct assay_mlir_attr *attrs; /* NULL: none */
    const struct assay_mlir_loc *loc;
};

static const struct assay_mlir_attr *no_attrs(struct assay_mlir_parser *p)
{
    return assay_mlir_attr_list(p, ASSAY_MLIR_DICT, p->n_stack, NULL);
}

/* %a: type {attrs} loc(...) or type {attrs}; name says whether one is
 * wanted. */
static struct one *argument(struct assay_mlir_parser *p, bool named)
{
    struct one *o = assay_arena_alloc(p->arena, sizeof(*o));

    if (!o) {
        assay_mlir_no_memory(p);
        return NULL;
    }
    o->at = p->at.tok;
    if (named) {
        if (p->at.tok.kind != '%') {
            assay_mlir_expected(p, "the name of an argument");
            return NULL;
        }
        o->name = assay_mlir_intern(p, p->at.tok.s, p->at.tok.n);
        assay_mlir_next(p);
        if (!o->name)
            return NULL;
        if (!assay_mlir_need(p, ':', "':' and the type of an argument"))
            return NULL;
    }
    o->type = assay_mlir_type(p);
    if (!o->type)
        return NULL;
    if (p->at.tok.kind == '{') {
        o->attrs = assay_mlir_attr(p);
        if (!o->attrs)
            return NULL;
    }
    return o;
}

/* [arguments] ')', as an array of struct one. */
static struct one **arguments(struct assay_mlir_parser *p, bool results,
                              uint32_t *n)
{
    size_t mark = p->n_stack;
    bool named = p->at.tok.kind == '%' && !results;

    if (!assay_mlir_take(p, ')')) {
        do {
            struct one *o;

            if (!results && named != (p->at.tok.kind == '%')) {
                assay_mlir_expected(p, named ? "the name of an argument"
                                             : "a type without a name");
                return NULL;
            }
            o = argument(p, named);
            if (!o || !assay_mlir_push(p, o) ||
                (!results && !assay_mlir_trailing_loc(p, &o->loc)))
                return NULL;
        } while (assay_mlir_take(p, ','));
        if (!assay_mlir_need(p, ')', "',' or ')' behind an argument"))
            return NULL;
    }
    return (struct one **)assay_mlir_pop(p, mark, n);
}

/* [{...}, {}] where any has attributes. */
static bool attr_list(struct assay_mlir_parser *p, struct one **v, uint32_t n,
                      struct properties *out, const char *name)
{
    size_t mark = p->n_stack;
    bool any = false;

    for (uint32_t i = 0; i < n; i++)
        any |= v[i]->attrs && v[i]->attrs->n;
    if (!any)
        return true;
    for (uint32_t i = 0; i < n; i++) {
        const struct assay_mlir_attr *a =
            v[i]->attrs ? v[i]->attrs : no_attrs(p);

        if (!a || !assay_mlir_push(p, a))
            return false;
    }
    return add(p, out, name,
               assay_mlir_attr_list(p, ASSAY_MLIR_ARRAY, mark, NULL));
}

static const struct assay_mlir_attr *function_type(struct assay_mlir_parser *p,
                                                   struct one **in,
                                                   uint32_t n_in,
                                                   struct one **res,
                                                   uint32_t n_res)
{
    const struct assay_mlir_type **types;
    const struct assay_mlir_type *t;

    types = assay_arena_array(p->arena, (size_t)n_in + n_res, sizeof(*types));
    if (!types) {
        assay_mlir_no_memory(p);
        return NULL;
    }
    for (uint32_t i = 0; i < n_in; i++)
        types[i] = in[i]->type;
    for (uint32_t i = 0; i < n_res; i++)
        types[n_in + i] = res[i]->type;
    t = assay_mlir_type_function(p, types, n_in + n_res, n_in);
    return t ? assay_mlir_attr_type(p, t) : NULL;
}

static bool entry_of(struct assay_mlir_parser *p, struct one **in, uint32_t n,
                     struct assay_mlir_entry *e)
{
    if (!n || !in[0]->name)
        return true;
    e->n = n;
    e->at = assay_arena_array(p->arena, n, sizeof(*e->at));
    e->names = assay_arena_array(p->arena, n, sizeof(*e->names));
    e->types = assay_arena_array(p->arena, n, sizeof(*e->types));
    e->locs = assay_arena_array(p->arena, n, sizeof(*e->locs));
    if (!e->at || !e->names || !e->types || !e->locs)
        return assay_mlir_no_memory(p);
    for (uint32_t i = 0; i < n; i++) {
        e->at[i] = in[i]->at;
        e->names[i] = in[i]->name;
        e->types[i] = in[i]->type;
        e->locs[i] = in[i]->loc;
    }
    return true;
}

/* -> (type {attrs}, ...) or -> type or nothing */
static struct one **function_results(struct assay_mlir_parser *p, uint32_t *n)
{
    size_t mark = p->n_stack;
    struct one *o;

    if (assay_mlir_take(p, ASSAY_TOK_ARROW)) {
        if (assay_mlir_take(p, '('))
            return arguments(p, true, n);
        o = assay_arena_alloc(p->arena, sizeof(*o));
        if (!o)
            assay_mlir_no_memory(p);
        else
            o->type = assay_mlir_type(p);
        if (!o || !o->type || !assay_mlir_push(p, o))
            return NULL;
    }
    return (struct one **)assay_mlir_pop(p, mark, n);
}

static bool function_body(struct assay_mlir_parser *p, struct assay_mlir_op *op,
                          const struct assay_mlir_entry *e)
{
    struct assay_mlir_token at = p->at.tok;
    bool ok;

    if (at.kind != '{') {
        op->regions = assay_arena_alloc(p->arena, sizeof(*op->regions));
        if (op->regions)
            op->regions[0] =
                assay_arena_alloc(p->arena, sizeof(*op->regions[0]));
        op->n_regions = 1;
        return (op->regions && op->regions[0]) || assay_mlir_no_memory(p);
    }
    p->in_func++;
    ok = one_region(p, op, e);
    p->in_func--;
    if (ok && !op->regions[0]->n_blocks)
        return assay_mlir_fail(p, &at,
                               "expected operations in the body of a "
                               "function, found none");
    return ok;
}

static bool visibility(struct assay_mlir_parser *p, struct properties *v)
{
    static const char *const words[] = {"public", "private", "nested"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (assay_mlir_take_word(p, words[i]))
            return add(p, v, "sym_visibility",
                       assay_mlir_attr_string(p, words[i], strlen(words[i])));
    return !p->rc;
}

static struct assay_mlir_op *function(struct assay_mlir_parser *p)
{
    struct assay_mlir_op *op = new_op(p, "func.func");
    struct properties v = {.n = 0}, seen = {.n = 0};
    struct assay_mlir_entry e = {.n = 0};
    struct one **in, **res;
    uint32_t n_in, n_res;

    assay_mlir_next(p);
    if (!op || !visibility(p, &seen))
        return NULL;
    if (p->at.tok.kind != ASSAY_TOK_AT) {
        assay_mlir_expected(p, "'@' and the name of a function");
        return NULL;
    }
    if (!add(p, &v, "sym_name", symbol_name(p)) ||
        !assay_mlir_need(p, '(', "'(' of the arguments"))
        return NULL;
    in = arguments(p, false, &n_in);
    res = in ? function_results(p, &n_res) : NULL;
    if (!res || !entry_of(p, in, n_in, &e) || !more_attributes(p, op) ||
        !attr_list(p, in, n_in, &v, "arg_attrs") ||
        !add(p, &v, "function_type", function_type(p, in, n_in, res, n_res)) ||
        !attr_list(p, res, n_res, &v, "res_attrs") ||
        (seen.n && !add(p, &v, "sym_visibility", seen.items[0])))
        return NULL;
    op->properties = dictionary(p, &v);
    if (!op->properties || !function_body(p, op, &e))
        return NULL;
    return assay_mlir_trailing_loc(p, &op->loc) ? op : NULL;
}

/* ---- return --------------------------------------------------------------- */

struct returned {
    struct assay_mlir_token at;
    const char *name;
    uint64_t number;
};

static struct returned **returned_names(struct assay_mlir_parser *p,
                                        uint32_t *n)
{
    size_t mark = p->n_stack;

    if (p->at.tok.kind == '%') {
        do {
            struct returned *r = assay_arena_alloc(p->arena, sizeof(*r));

            if (!r)
                assay_mlir_no_memory(p);
            if (!r || !assay_mlir_push(p, r))
                return NULL;
            r->at = p->at.tok;
            if (!assay_mlir_value_name(p, &r->name, &r->number))
                return NULL;
        } while (assay_mlir_take(p, ','));
    }
    return (struct returned **)assay_mlir_pop(p, mark, n);
}

static struct assay_mlir_op *return_op(struct assay_mlir_parser *p)
{
    struct assay_mlir_op *op = new_op(p, "func.return");
    struct returned **v;
    uint32_t n;

    assay_mlir_next(p);
    if (op && p->at.tok.kind == '{') {
        op->attributes = assay_mlir_attr(p);
        if (!op->attributes)
            return NULL;
    }
    v = op && !p->rc ? returned_names(p, &n) : NULL;
    if (!v)
        return NULL;
    op->n_operands = n;
    op->operands = assay_arena_array(p->arena, n, sizeof(*op->operands));
    if (!op->operands) {
        assay_mlir_no_memory(p);
        return NULL;
    }
    if (n && !assay_mlir_need(p, ':', "':' and the types of the results"))
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        const struct assay_mlir_type *t;

        if (i && !assay_mlir_need(p, ',', "',' and the next type"))
            return NULL;
        t = assay_mlir_type(p);
        op->operands[i] =
            t ? assay_mlir_use(p, &v[i]->at, v[i]->name, v[i]->number, t)
              : NULL;
        if (!op->operands[i])
            return NULL;
    }
    return assay_mlir_trailing_loc(p, &op->loc) ? op : NULL;
}

struct assay_mlir_op *assay_mlir_custom_op(struct assay_mlir_parser *p)
{
    const struct assay_mlir_token *t = &p->at.tok;

    if (assay_mlir_is(p, "module") || assay_mlir_is(p, "builtin.module"))
        return module(p);
    if (assay_mlir_is(p, "func.func"))
        return function(p);
    if (assay_mlir_is(p, "func.return") ||
        (assay_mlir_is(p, "return") && p->in_func))
        return return_op(p);
    if (t->kind == ASSAY_TOK_BARE)
        assay_mlir_unsupported(p, t,
                               "expected an operation in generic form, "
                               "found '%.*s'",
                               t->n < 60 ? (int)t->n : 60, t->s);
    else
        assay_mlir_expected(p, "an operation");
    return NULL;
}
