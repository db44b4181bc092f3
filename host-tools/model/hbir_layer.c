/* SPDX-License-Identifier: Apache-2.0 */
/* Names, tensors and layers of the slice. */
#include <stdio.h>
#include <string.h>

#include "host-tools/model/mlir_import.h"
#include "lib/core/hash.h"

#define NAME_BYTES 480

/* ---- names -------------------------------------------------------------- */

static int grow_names(struct assay_hbir *im, struct assay_hbir_names *set)
{
    uint32_t bits = set->v ? set->bits + 1 : 8;
    size_t mask = ((size_t)1 << bits) - 1, n = (size_t)1 << set->bits;
    struct assay_hbir_name *all =
        assay_arena_array(im->work, mask + 1, sizeof(*all));

    if (!all)
        return -1;
    for (size_t i = 0; set->v && i < n; i++) {
        size_t at;

        if (!set->v[i].text)
            continue;
        at = assay_xxh64(set->v[i].text, strlen(set->v[i].text)) & mask;
        while (all[at].text)
            at = (at + 1) & mask;
        all[at] = set->v[i];
    }
    set->v = all;
    set->bits = bits;
    return 0;
}

static struct assay_hbir_name *find_name(const struct assay_hbir_names *set,
                                         const char *text)
{
    size_t mask = ((size_t)1 << set->bits) - 1;
    size_t at = assay_xxh64(text, strlen(text)) & mask;

    while (set->v[at].text && strcmp(set->v[at].text, text))
        at = (at + 1) & mask;
    return &set->v[at];
}

static const char *keep(struct assay_hbir *im, struct assay_hbir_names *set,
                        struct assay_hbir_name *n, const char *text)
{
    n->text = assay_arena_str(im->s->arena, text, strlen(text));
    n->next = 2;
    set->n += n->text != NULL;
    return n->text;
}

const char *assay_hbir_unique(struct assay_hbir *im,
                              struct assay_hbir_names *set, const char *base)
{
    char plain[NAME_BYTES + 1], text[NAME_BYTES + 16];
    struct assay_hbir_name *first, *n;
    uint32_t next;

    snprintf(plain, sizeof(plain), "%s", base);
    for (char *p = plain; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    if ((!set->v || set->n >= (1u << set->bits) / 2) && grow_names(im, set))
        return NULL;
    first = find_name(set, plain);
    if (!first->text)
        return keep(im, set, first, plain);
    next = first->next;
    do {
        snprintf(text, sizeof(text), "%s#%u", plain, next++);
        n = find_name(set, text);
    } while (n->text);
    first->next = next;
    return keep(im, set, n, text);
}

static const char *own_name(const struct assay_mlir_op *op, uint32_t position,
                            char number[160])
{
    const struct assay_mlir_attr *own = assay_mlir_op_attr(op, "hbir.name");
    const char *name = own && own->kind == ASSAY_MLIR_STRING ? own->text : NULL;

    if (!name || !*name)
        name = assay_mlir_loc_name(op->loc);
    if (!name || !*name) {
        snprintf(number, 160, "%.120s_%u", op->name, position);
        name = number;
    }
    return name;
}

static int name_op(struct assay_hbir *im, const struct assay_mlir_op *op,
                   uint32_t position)
{
    char text[NAME_BYTES + 16];
    const char *name =
        assay_hbir_unique(im, &im->layers, own_name(op, position, text));

    if (!name)
        return assay_hbir_no_memory(im);
    im->op_names[position] = name;
    for (uint32_t k = 0; k < op->n_results; k++) {
        struct assay_hbir_value *v = assay_hbir_value(im, op->results[k]);
        const char *own = name;

        if (v->name) /* a result of the function */
            continue;
        if (k > 0) {
            snprintf(text, sizeof(text), "%s:%u", name, k);
            own = assay_hbir_unique(im, &im->layers, text);
        }
        v->name = own ? assay_hbir_unique(im, &im->tensors, own) : NULL;
        if (!v->name)
            return assay_hbir_no_memory(im);
    }
    return 0;
}

int assay_hbir_name_all(struct assay_hbir *im,
                        const struct assay_mlir_block *block)
{
    int rc = 0;

    im->op_names = assay_arena_array(im->work, (size_t)block->n_ops + 1,
                                     sizeof(*im->op_names));
    if (!im->op_names)
        return assay_hbir_no_memory(im);
    for (uint32_t i = 0; !rc && i < block->n_ops; i++)
        if (!assay_hbir_is_constant(block->ops[i]) &&
            !assay_hbir_is_return(block->ops[i]))
            rc = name_op(im, block->ops[i], i);
    return rc;
}

/* ---- tensors ------------------------------------------------------------ */

int assay_hbir_declared(struct assay_hbir *im, uint32_t k,
                        struct assay_hbir_type *out)
{
    const char *why;

    if (k >= im->op->n_results)
        return assay_hbir_fail(im, ASSAY_EFORMAT,
                               "%u results, expected at least %u",
                               im->op->n_results, k + 1);
    if (!assay_hbir_type(im, im->op->results[k]->type, out, &why))
        return assay_hbir_skip(im, "result '%.100s' is %.160s",
                               im->op->results[k]->name, why);
    return 0;
}

static int new_result(struct assay_hbir *im, uint32_t k,
                      const struct assay_hbir_type *type, const char *axes,
                      uint32_t *index)
{
    struct assay_hbir_value *v = assay_hbir_value(im, im->op->results[k]);
    struct assay_tensor *t;
    uint32_t made;
    int rc;

    if (v->tensor >= 0) { /* by an emitter that then gave up */
        *index = (uint32_t)v->tensor;
        return 0;
    }
    rc = assay_slice_add_tensor(im->s, &made, im->err);
    if (rc)
        return rc;
    t = &im->s->tensors[made];
    t->name = v->name;
    t->dtype = type->dtype;
    t->rank = type->rank;
    memcpy(t->dims, type->dims, sizeof(t->dims));
    snprintf(t->axes, sizeof(t->axes), "%s", axes);
    t->is_output = v->is_output;
    t->quant = type->quant;
    if (!t->quant.n)
        t->quant = v->quant;
    if (!t->quant.n)
        t->quant.axis = -1;
    v->tensor = made;
    *index = made;
    return 0;
}

static int bad_result(struct assay_hbir *im, uint32_t k,
                      const struct assay_hbir_type *t, uint32_t rank,
                      const int64_t *dims)
{
    char want[160], found[160];

    return assay_hbir_fail(
        im, ASSAY_EFORMAT, "result '%.100s' is declared as %s, but is %s",
        im->op->results[k]->name,
        assay_hbir_shape_text(found, t->dtype, t->rank, t->dims),
        assay_hbir_shape_text(want, t->dtype, rank, dims));
}

int assay_hbir_output(struct assay_hbir *im, uint32_t k, unsigned mask,
                      uint32_t rank, const int64_t *dims, const char *axes,
                      uint32_t *index)
{
    struct assay_hbir_type t;
    int rc = assay_hbir_declared(im, k, &t);

    if (rc)
        return rc;
    if (t.rank != rank || (rank && memcmp(t.dims, dims, rank * sizeof(*dims))))
        return bad_result(im, k, &t, rank, dims);
    if (!(mask & 1u << t.dtype))
        return assay_hbir_skip(im,
                               "result '%.100s' is %s, which this operation "
                               "is not known to give",
                               im->op->results[k]->name,
                               assay_dtype_name(t.dtype));
    return new_result(im, k, &t, axes, index);
}

int assay_hbir_between(struct assay_hbir *im, const char *what,
                       enum assay_dtype dtype, uint32_t rank,
                       const int64_t *dims, uint32_t *index)
{
    struct assay_tensor *t;
    char text[NAME_BYTES + 16];
    uint32_t made;
    int rc = assay_slice_add_tensor(im->s, &made, im->err);

    if (rc)
        return rc;
    t = &im->s->tensors[made];
    snprintf(text, sizeof(text), "%s/%.10s", im->base, what);
    t->name = assay_hbir_unique(im, &im->tensors, text);
    if (!t->name)
        return assay_hbir_no_memory(im);
    t->dtype = dtype;
    t->rank = rank;
    memcpy(t->dims, dims, rank * sizeof(*dims));
    *index = made;
    return 0;
}

/* ---- layers ------------------------------------------------------------- */

static bool is_half(const struct assay_hbir *im)
{
    for (uint32_t i = 0; i < im->op->n_operands + im->op->n_results; i++) {
        const struct assay_mlir_value *v =
            i < im->op->n_operands ? im->op->operands[i]
                                   : im->op->results[i - im->op->n_operands];
        const struct assay_mlir_type *t = v->type;

        if (t && t->element && t->element->kind == ASSAY_MLIR_FLOAT &&
            !strcmp(t->element->text, "f16"))
            return true;
    }
    return false;
}

static bool moves_only(enum assay_op op)
{
    return op == ASSAY_OP_VIEW || op == ASSAY_OP_RESHAPE ||
           op == ASSAY_OP_CONCAT || op == ASSAY_OP_GATHER ||
           op == ASSAY_OP_SELECT || op == ASSAY_OP_SKIPPED;
}

int assay_hbir_layer(struct assay_hbir *im, enum assay_op op, uint32_t n,
                     const uint32_t *in, uint32_t y, struct assay_layer **l)
{
    const char *tensor = im->s->tensors[y].name;
    struct assay_layer *made;
    char text[NAME_BYTES + 16];
    uint32_t index;
    int rc = assay_slice_add_layer(im->s, n, &index, im->err);

    if (rc)
        return rc;
    made = &im->s->layers[index];
    made->name = im->base;
    if (!im->first_layer && op == ASSAY_OP_SKIPPED) {
        size_t own = strlen(im->base); /* NAME:1, which is taken already */

        made->name = !strncmp(tensor, im->base, own) && tensor[own] == ':'
                         ? tensor
                         : assay_hbir_unique(im, &im->layers, tensor);
    } else if (!im->first_layer) { /* parts: by what they give */
        snprintf(text, sizeof(text), "%s/%.10s", im->base,
                 strrchr(tensor, '/') ? strrchr(tensor, '/') + 1 : "out");
        made->name = assay_hbir_unique(im, &im->layers, text);
    }
    im->first_layer = false;
    made->source_op =
        assay_arena_str(im->s->arena, im->op_name, strlen(im->op_name));
    if (!made->name || !made->source_op)
        return assay_hbir_no_memory(im);
    made->source_index = im->position;
    made->op = op;
    if (n)
        memcpy(made->inputs, in, n * sizeof(*in));
    made->output = y;
    made->half =
        !moves_only(op) && is_half(im) && im->s->tensors[y].dtype == ASSAY_F32;
    *l = made;
    return 0;
}

int assay_hbir_programs(struct assay_hbir *im, struct assay_layer *l,
                        uint32_t n)
{
    l->in_programs =
        assay_arena_array(im->s->arena, n, sizeof(*l->in_programs));
    if (!l->in_programs)
        return assay_hbir_no_memory(im);
    l->n_in_programs = n;
    return 0;
}

int assay_hbir_field(struct assay_hbir *im, struct assay_layer *l,
                     const char *name, uint32_t n, const int64_t *v)
{
    return n ? assay_field_add(im->s, l, name, n, v, im->err) : 0;
}

int assay_hbir_field_one(struct assay_hbir *im, struct assay_layer *l,
                         const char *name, int64_t v)
{
    return assay_field_add(im->s, l, name, 1, &v, im->err);
}

/* ---- what is not run ---------------------------------------------------- */

/* Of a result without a shape only the reference knows one. */
static bool from_reference(struct assay_hbir *im, const char *name,
                           struct assay_hbir_type *t)
{
    enum assay_dtype dtype = 0;
    uint32_t rank = 0;

    memset(t, 0, sizeof(*t));
    if (!im->note || !im->note->shape ||
        !im->note->shape(im->note->self, name, &rank, t->dims, &dtype) ||
        rank > ASSAY_MAX_RANK || !dtype)
        return false;
    for (uint32_t i = 0; i < rank; i++)
        if (t->dims[i] < 1 || t->dims[i] > INT32_MAX)
            return false;
    t->rank = rank;
    t->dtype = dtype;
    return true;
}

static int skip_result(struct assay_hbir *im, uint32_t k, const char *reason)
{
    struct assay_hbir_value *v = assay_hbir_value(im, im->op->results[k]);
    uint32_t in[ASSAY_MAX_LAYER_INPUTS], n = 0, y;
    char text[sizeof(im->reason) + 160];
    struct assay_hbir_type t;
    struct assay_layer *l;
    const char *why, *axes = "";
    int rc;

    snprintf(text, sizeof(text), "%s", reason);
    if (!assay_hbir_type(im, im->op->results[k]->type, &t, &why) &&
        !from_reference(im, v->name, &t)) {
        snprintf(text, sizeof(text), "%s; its result is %s", reason, why);
        memset(&t, 0, sizeof(t));
        t.dtype = ASSAY_F32;
        axes = "?"; /* no golden is compared with it */
        v->why = why;
    }
    for (uint32_t i = 0; i < im->op->n_operands; i++) {
        struct assay_hbir_value *x = assay_hbir_value(im, im->op->operands[i]);

        if (x->tensor >= 0 && n < ASSAY_MAX_LAYER_INPUTS)
            in[n++] = (uint32_t)x->tensor;
    }
    rc = new_result(im, k, &t, axes, &y);
    if (!rc)
        rc = assay_hbir_layer(im, ASSAY_OP_SKIPPED, n, in, y, &l);
    if (rc)
        return rc;
    l->skip_reason = assay_arena_str(im->s->arena, text, strlen(text));
    return l->skip_reason ? 0 : assay_hbir_no_memory(im);
}

int assay_hbir_skip_layers(struct assay_hbir *im)
{
    char reason[sizeof(im->reason)];
    int rc = 0;

    memcpy(reason, im->reason, sizeof(reason));
    for (uint32_t k = 0; !rc && k < im->op->n_results; k++)
        rc = skip_result(im, k, reason);
    return rc;
}
