/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/model/mlir_import.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FLOAT_OP "qnt.const_fake_quant"

/* ---- sentences ---------------------------------------------------------- */

int assay_hbir_fail(struct assay_hbir *im, int code, const char *fmt, ...)
{
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (!im->op)
        return assay_fail(im->err, code, "%s: %s", im->file, text);
    return assay_fail(im->err, code, "%s:%u:%u: '%.60s'%s%.100s%s: %s",
                      im->file, im->op->line, im->op->column, im->op->name,
                      im->base ? " '" : "", im->base ? im->base : "",
                      im->base ? "'" : "", text);
}

int assay_hbir_skip(struct assay_hbir *im, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(im->reason, sizeof(im->reason), fmt, ap);
    va_end(ap);
    return ASSAY_HBIR_SKIP;
}

int assay_hbir_no_memory(struct assay_hbir *im)
{
    return assay_fail(im->err, ASSAY_EMEMORY, "%s: out of memory", im->file);
}

void assay_hbir_note(struct assay_hbir *im, const char *fmt, ...)
{
    char text[600];
    va_list ap;

    if (!im->note || !im->note->note)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    im->note->note(im->note->self, text);
}

/* ---- which function ----------------------------------------------------- */

static const char *string_attr(const struct assay_mlir_op *op, const char *name)
{
    const struct assay_mlir_attr *a = assay_mlir_op_attr(op, name);

    return a && (a->kind == ASSAY_MLIR_STRING || a->kind == ASSAY_MLIR_SYMBOL)
               ? a->text
               : "";
}

static bool has_body(const struct assay_mlir_op *op)
{
    return !strcmp(op->name, "func.func") && op->n_regions == 1 &&
           op->regions[0]->n_blocks;
}

struct choice {
    const struct assay_mlir_op *only, *main;
    unsigned n, private;
    char names[200];
};

static void offer(struct choice *c, const struct assay_mlir_op *op)
{
    const char *name = string_attr(op, "sym_name");
    size_t at = strlen(c->names);

    if (!strcmp(string_attr(op, "sym_visibility"), "private")) {
        c->private ++;
        return;
    }
    c->n++;
    c->only = op;
    if (!strcmp(name, "main"))
        c->main = op;
    snprintf(c->names + at, sizeof(c->names) - at, "%s@%.60s", at ? ", " : "",
             name);
}

/* Functions stand at the top, or in one module. */
static void look(struct choice *c, const struct assay_mlir_region *r,
                 unsigned depth)
{
    for (uint32_t b = 0; b < r->n_blocks; b++)
        for (uint32_t i = 0; i < r->blocks[b]->n_ops; i++) {
            const struct assay_mlir_op *op = r->blocks[b]->ops[i];

            if (has_body(op))
                offer(c, op);
            else if (!strcmp(op->name, "builtin.module") && depth < 2)
                for (uint32_t k = 0; k < op->n_regions; k++)
                    look(c, op->regions[k], depth + 1);
        }
}

static int find_function(struct assay_hbir *im,
                         const struct assay_mlir_region *top,
                         const struct assay_mlir_op **out)
{
    struct choice c = {0};

    look(&c, top, 0);
    if (!c.n)
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "no function with a body: expected one");
    if (c.n > 1 && !c.main)
        return assay_hbir_fail(im, ASSAY_EUNSUPPORTED,
                               "%u functions (%s): expected one, or one named "
                               "@main",
                               c.n, c.names);
    *out = c.n > 1 ? c.main : c.only;
    if (c.n > 1 || c.private)
        assay_hbir_note(im, "%s: %u functions besides the model's are ignored",
                        im->file, c.n - 1 + c.private);
    return 0;
}

/* ---- its signature ------------------------------------------------------ */

/* Attribute of argument or result k: arg_attrs, res_attrs. */
static const struct assay_mlir_attr *border_attr(const struct assay_mlir_op *f,
                                                 const char *list, uint32_t k,
                                                 const char *name)
{
    const struct assay_mlir_attr *a = assay_mlir_op_attr(f, list);

    if (!a || a->kind != ASSAY_MLIR_ARRAY || k >= a->n ||
        a->items[k]->kind != ASSAY_MLIR_DICT)
        return NULL;
    return assay_mlir_dict_get(a->items[k], name);
}

static const char *border_name(const struct assay_mlir_op *f, const char *list,
                               uint32_t k)
{
    const struct assay_mlir_attr *a = border_attr(f, list, k, "hbir.name");

    return a && a->kind == ASSAY_MLIR_STRING && a->text[0] ? a->text : NULL;
}

/* hbir.scale, where it is of the tensor's own type. */
static void border_scale(struct assay_hbir *im, const struct assay_mlir_op *f,
                         const char *list, uint32_t k,
                         struct assay_hbir_value *v)
{
    const struct assay_mlir_attr *a = border_attr(f, list, k, "hbir.scale");
    struct assay_hbir_type t, q = {0};
    const char *why;

    if (!a || !assay_hbir_type(im, v->v->type, &t, &why))
        return;
    if (a->kind != ASSAY_MLIR_TYPE || !a->type ||
        !assay_hbir_uniform(im, a->type->text, &q, &why)) {
        assay_hbir_note(im, "%s: '%.100s': hbir.scale is not understood",
                        im->file, v->name ? v->name : v->v->name);
        return;
    }
    if (q.dtype != t.dtype ||
        (q.quant.n > 1 && (q.quant.axis >= (int32_t)t.rank ||
                           t.dims[q.quant.axis] != (int64_t)q.quant.n)))
        return; /* of what it was before the last operation */
    v->quant = q.quant;
}

static int argument(struct assay_hbir *im, const struct assay_mlir_op *f,
                    const struct assay_mlir_value *arg, uint32_t k)
{
    struct assay_hbir_value *v = assay_hbir_value(im, arg);
    const char *name = border_name(f, "arg_attrs", k);
    struct assay_hbir_type type;
    struct assay_tensor *t;
    char number[32];
    uint32_t index;
    const char *why;
    int rc;

    snprintf(number, sizeof(number), "_input_%u", k);
    v->name = assay_hbir_unique(im, &im->tensors, name ? name : number);
    if (!v->name)
        return assay_hbir_no_memory(im);
    if (!assay_hbir_type(im, arg->type, &type, &why)) {
        v->why = why;
        assay_hbir_note(im,
                        "%s: argument '%.100s' is %s: what reads it is "
                        "not run",
                        im->file, v->name, why);
        return 0;
    }
    border_scale(im, f, "arg_attrs", k, v);
    rc = assay_slice_add_tensor(im->s, &index, im->err);
    if (rc)
        return rc;
    t = &im->s->tensors[index];
    t->name = v->name;
    t->role = ASSAY_ROLE_INPUT;
    t->dtype = type.dtype;
    t->rank = type.rank;
    memcpy(t->dims, type.dims, sizeof(t->dims));
    t->quant = type.quant.n ? type.quant : v->quant;
    if (!t->quant.n)
        t->quant.axis = -1;
    v->tensor = index;
    return 0;
}

static const struct assay_mlir_type *function_type(
    const struct assay_mlir_op *f)
{
    const struct assay_mlir_attr *a = assay_mlir_op_attr(f, "function_type");

    return a && a->kind == ASSAY_MLIR_TYPE && a->type &&
                   a->type->kind == ASSAY_MLIR_FUNCTION
               ? a->type
               : NULL;
}

static int check_values(struct assay_hbir *im, const char *what,
                        const struct assay_mlir_type *const *types,
                        uint32_t n_types,
                        struct assay_mlir_value *const *values, uint32_t n)
{
    if (n != n_types)
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "%u %ss, but the function's type has %u", n,
                               what, n_types);
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(types[i]->text, values[i]->type->text))
            return assay_hbir_fail(im, ASSAY_EFORMAT,
                                   "%s %u is %.120s, but the function's type "
                                   "says %.120s",
                                   what, i, values[i]->type->text,
                                   types[i]->text);
    return 0;
}

static int check_signature(struct assay_hbir *im, const struct assay_mlir_op *f,
                           const struct assay_mlir_block *b,
                           const struct assay_mlir_op *back)
{
    const struct assay_mlir_type *t = function_type(f);
    int rc;

    if (!t)
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "the function has no function_type");
    rc =
        check_values(im, "argument", t->types, t->n_inputs, b->args, b->n_args);
    im->op = back;
    if (!rc)
        rc = check_values(im, "result", t->types + t->n_inputs,
                          t->n_types - t->n_inputs, back->operands,
                          back->n_operands);
    im->op = f;
    return rc;
}

/* Names of results belong to the values that are returned: those that an
 * operation gives, once. */
static int name_results(struct assay_hbir *im, const struct assay_mlir_op *f,
                        const struct assay_mlir_op *back)
{
    for (uint32_t k = 0; k < back->n_operands; k++) {
        struct assay_hbir_value *v = assay_hbir_value(im, back->operands[k]);
        const struct assay_mlir_op *maker = back->operands[k]->op;
        const char *name = border_name(f, "res_attrs", k);

        if (!maker || assay_hbir_is_constant(maker) || v->is_output)
            continue;
        v->is_output = true;
        border_scale(im, f, "res_attrs", k, v);
        if (!name)
            continue;
        v->name = assay_hbir_unique(im, &im->tensors, name);
        if (!v->name)
            return assay_hbir_no_memory(im);
    }
    return 0;
}

/* A result that is an argument, a constant, or another result is a copy. */
static int copy_result(struct assay_hbir *im, const struct assay_mlir_op *f,
                       uint32_t k)
{
    const char *name = border_name(f, "res_attrs", k);
    struct assay_layer *l;
    struct assay_tensor *t;
    char number[32];
    uint32_t x, y;
    int rc = assay_hbir_input(im, k, "result", ASSAY_HBIR_ANY, &x);

    if (rc == ASSAY_HBIR_SKIP) {
        assay_hbir_note(im, "%s: result %u is left out: %s", im->file, k,
                        im->reason);
        return 0;
    }
    if (!rc)
        rc = assay_slice_add_tensor(im->s, &y, im->err);
    if (rc)
        return rc;
    snprintf(number, sizeof(number), "_output_%u", k);
    t = &im->s->tensors[y];
    t->name = assay_hbir_unique(im, &im->tensors, name ? name : number);
    if (!t->name)
        return assay_hbir_no_memory(im);
    t->dtype = im->s->tensors[x].dtype;
    t->rank = im->s->tensors[x].rank;
    memcpy(t->dims, im->s->tensors[x].dims, sizeof(t->dims));
    t->quant = im->s->tensors[x].quant;
    t->is_output = true;
    im->base = assay_hbir_unique(im, &im->layers, t->name);
    im->first_layer = true;
    return im->base ? assay_hbir_layer(im, ASSAY_OP_RESHAPE, 1, &x, y, &l)
                    : assay_hbir_no_memory(im);
}

static int finish(struct assay_hbir *im, const struct assay_mlir_op *f,
                  const struct assay_mlir_op *back, uint32_t position)
{
    int rc = 0;

    im->op = back;
    im->op_name = back->name;
    im->position = position;
    im->base = NULL;
    for (uint32_t k = 0; !rc && k < back->n_operands; k++) {
        struct assay_hbir_value *v = assay_hbir_value(im, back->operands[k]);

        if (v->returned || !v->is_output || v->tensor < 0)
            rc = copy_result(im, f, k);
        v->returned = true;
    }
    return rc;
}

/* ---- operations --------------------------------------------------------- */

static int one_op(struct assay_hbir *im, const struct assay_mlir_op *op,
                  uint32_t position)
{
    int rc;

    im->op = op;
    im->op_name = op->name;
    im->position = position;
    im->base = im->op_names[position];
    im->first_layer = true;
    im->call = NULL;
    if (assay_hbir_is_constant(op))
        return assay_hbir_constant_op(im);
    if (!strcmp(op->name, FLOAT_OP))
        return assay_hbir_fail(im, ASSAY_EUNSUPPORTED,
                               "is of a float stage (" FLOAT_OP "): export it "
                               "with --stage and compare tensors");
    if (!op->n_results) {
        assay_hbir_note(im, "%s:%u: '%.100s' has no result: ignored", im->file,
                        op->line, op->name);
        return 0;
    }
    rc = assay_hbir_emit(im);
    return rc == ASSAY_HBIR_SKIP ? assay_hbir_skip_layers(im) : rc;
}

/* Results, operands and arguments: what the table of values must hold. */
static size_t count_values(const struct assay_mlir_block *b)
{
    size_t n = b->n_args + (size_t)16;

    for (uint32_t i = 0; i < b->n_ops; i++)
        n += (size_t)b->ops[i]->n_results + b->ops[i]->n_operands;
    return n;
}

static int import_function(struct assay_hbir *im, const struct assay_mlir_op *f)
{
    const struct assay_mlir_region *r = f->regions[0];
    const struct assay_mlir_block *b = r->blocks[0];
    const struct assay_mlir_op *back = b->n_ops ? b->ops[b->n_ops - 1] : NULL;
    int rc;

    im->op = f;
    if (r->n_blocks != 1)
        return assay_hbir_fail(im, ASSAY_EUNSUPPORTED,
                               "%u blocks: control flow is not supported",
                               r->n_blocks);
    if (!back || !assay_hbir_is_return(back))
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "the function does not end with a return");
    rc = check_signature(im, f, b, back);
    if (!rc)
        rc = assay_hbir_values_open(im, count_values(b));
    for (uint32_t i = 0; !rc && i < b->n_args; i++)
        rc = argument(im, f, b->args[i], i);
    if (!rc)
        rc = name_results(im, f, back);
    if (!rc)
        rc = assay_hbir_name_all(im, b);
    for (uint32_t i = 0; !rc && i + 1 < b->n_ops; i++)
        rc = one_op(im, b->ops[i], i);
    if (!rc)
        rc = finish(im, f, back, b->n_ops - 1);
    im->op = NULL;
    if (!rc && !im->s->n_layers)
        rc = assay_hbir_fail(im, ASSAY_EFORMAT, "no operation to run");
    return rc;
}

/* ---- reader ------------------------------------------------------------- */

/* Text that begins with a module, a function, an operation or an alias. */
static bool probe(const uint8_t *head, size_t n)
{
    static const char *const starts[] = {
        "module", "func.func", "\"builtin.module\"", "\"func.func\"", "#loc"};
    size_t at = 0;

    while (at < n && (isspace(head[at]) || head[at] == '/')) {
        if (head[at] == '/')
            while (at < n && head[at] != '\n')
                at++;
        else
            at++;
    }
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        size_t m = strlen(starts[i]);

        if (n - at >= m && !memcmp(head + at, starts[i], m))
            return true;
    }
    return false;
}

/* What people take for such a text. */
static int check_text(const uint8_t *data, size_t n, const char *file,
                      struct assay_err *err)
{
    if (n >= 4 && !memcmp(data, "ML\xefR", 4))
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: MLIR bytecode, expected text: hbir_export.py "
                          "writes it",
                          file);
    if ((n >= 3 && !memcmp(data, "\xef\xbb\xbf", 3)) ||
        (n >= 2 &&
         (!memcmp(data, "\xff\xfe", 2) || !memcmp(data, "\xfe\xff", 2))))
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: begins with a byte order mark, expected ASCII "
                          "or UTF-8 without one",
                          file);
    return 0;
}

static int open_mlir(struct assay_slice **out, const uint8_t *data, size_t n,
                     const char *file, const struct assay_model_note *note,
                     struct assay_err *err)
{
    struct assay_mlir_source source = {
        .data = (const char *)data, .size = n, .file = file};
    struct assay_hbir im = {.file = file, .note = note, .err = err};
    struct assay_mlir_region *top = NULL;
    const struct assay_mlir_op *f = NULL;
    int rc = 0;

    im.s = assay_slice_new();
    im.work = assay_arena_new();
    if (note) {
        source.passed = note->passed;
        source.self = note->passed_self;
    }
    if (!im.s || !im.work)
        rc = assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", file);
    if (!rc)
        rc = check_text(data, n, file, err);
    /* The tree lives as long as the slice, which borrows its constants. */
    if (!rc)
        rc = assay_mlir_parse(&top, &source, im.s->arena, err);
    if (!rc)
        rc = find_function(&im, top, &f);
    if (!rc)
        rc = import_function(&im, f);
    if (!rc)
        im.s->numerics = "nash";
    assay_npz_close(&im.npz);
    if (im.work)
        assay_arena_free(im.work);
    if (rc)
        assay_slice_free(im.s);
    else
        *out = im.s;
    return rc;
}

const struct assay_model_reader assay_mlir_reader = {
    .format = "mlir",
    .suffix = ".mlir",
    .probe = probe,
    .mapped = true,
    .open = open_mlir,
};
