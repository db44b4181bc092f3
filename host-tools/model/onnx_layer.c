/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of the slice: names, programs, skipped ones. */
#include "host-tools/model/onnx_import.h"

#include <stdio.h>
#include <string.h>

int assay_onnx_skip(struct assay_onnx_import *im, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(im->reason, sizeof(im->reason), fmt, args);
    va_end(args);
    return ASSAY_ONNX_SKIP;
}

int assay_onnx_fail(struct assay_onnx_import *im,
                    const struct assay_onnx_node *n, int code, const char *fmt,
                    ...)
{
    char what[160], text[360];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return assay_fail(im->err, code, "%s: %s: %s", im->g->file,
                      assay_onnx_node_text(n, what, sizeof(what)), text);
}

void assay_onnx_note(struct assay_onnx_import *im, const char *fmt, ...)
{
    char text[512];
    va_list args;

    if (!im->note || !im->note->note)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    im->note->note(im->note->self, text);
}

int assay_onnx_no_memory(struct assay_onnx_import *im)
{
    return assay_fail(im->err, ASSAY_EMEMORY, "%s: out of memory", im->g->file);
}

uint32_t assay_onnx_input(const struct assay_onnx_node *n, uint32_t i)
{
    return i < n->n_in ? n->in[i] : ASSAY_ONNX_NONE;
}

/* A terminal shows these; a golden is found by its tensor's name alone. */
static void no_controls(char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < 32 || *s == 127)
            *s = '?';
}

/* A layer's name is unique, since reports and options address layers by it:
 * a second use gets "#" and the node's position. */
static const char *unique_name(struct assay_onnx_import *im,
                               const struct assay_onnx_node *n,
                               const char *base)
{
    uint32_t mask = (1u << im->name_bits) - 1;
    char text[600];

    snprintf(text, sizeof(text), "%.500s", base);
    no_controls(text);
    for (unsigned turn = 0; turn < 1000; turn++) {
        uint32_t at =
            (uint32_t)(assay_xxh64(text, strlen(text)) >> (64 - im->name_bits));

        while (im->name_table[at] &&
               strcmp(im->s->layers[im->name_table[at] - 1].name, text))
            at = (at + 1) & mask;
        if (!im->name_table[at]) {
            im->name_table[at] = im->s->n_layers; /* index + 1 */
            return assay_arena_str(im->s->arena, text, strlen(text));
        }
        if (turn == 0)
            snprintf(text, sizeof(text), "%.500s#%u", base, n->index);
        else
            snprintf(text, sizeof(text), "%.500s#%u.%u", base, n->index, turn);
        no_controls(text);
    }
    return NULL;
}

static int new_layer(struct assay_onnx_import *im,
                     const struct assay_onnx_node *n, const char *name,
                     enum assay_op op, uint32_t n_inputs,
                     const uint32_t *inputs, uint32_t output,
                     struct assay_layer **layer)
{
    struct assay_layer *l;
    char *op_name;
    uint32_t index;
    int rc = assay_slice_add_layer(im->s, n_inputs, &index, im->err);

    if (rc)
        return rc;
    l = &im->s->layers[index];
    l->name = "";
    l->name = unique_name(im, n, name);
    op_name = assay_arena_str(im->s->arena, n->op, strlen(n->op));
    if (!l->name || !op_name)
        return assay_onnx_no_memory(im);
    no_controls(op_name);
    l->source_op = op_name;
    l->source_index = n->index;
    l->op = op;
    for (uint32_t i = 0; i < n_inputs; i++)
        l->inputs[i] = inputs[i];
    l->output = output;
    l->arith = "";
    *layer = l;
    return 0;
}

int assay_onnx_new_layer(struct assay_onnx_import *im,
                         const struct assay_onnx_node *n, enum assay_op op,
                         uint32_t n_inputs, const uint32_t *inputs,
                         uint32_t output, struct assay_layer **layer)
{
    return new_layer(im, n, assay_onnx_node_name(im->g, n), op, n_inputs,
                     inputs, output, layer);
}

int assay_onnx_new_part(struct assay_onnx_import *im,
                        const struct assay_onnx_node *n, enum assay_op op,
                        uint32_t n_inputs, const uint32_t *inputs,
                        uint32_t output, struct assay_layer **layer)
{
    return new_layer(im, n, im->s->tensors[output].name, op, n_inputs, inputs,
                     output, layer);
}

int assay_onnx_new_helper(struct assay_onnx_import *im,
                          const struct assay_onnx_node *n, enum assay_op op,
                          uint32_t input, uint32_t output)
{
    struct assay_layer *l;

    return assay_onnx_new_part(im, n, op, 1, &input, output, &l);
}

int assay_onnx_new_programs(struct assay_onnx_import *im, struct assay_layer *l,
                            uint32_t n)
{
    l->in_programs =
        assay_arena_array(im->s->arena, n, sizeof(*l->in_programs));
    if (!l->in_programs)
        return assay_onnx_no_memory(im);
    l->n_in_programs = n;
    return 0;
}

int assay_onnx_step(struct assay_onnx_import *im, struct assay_program *p,
                    enum assay_step_kind kind, float a, float b)
{
    struct assay_step *s;
    int64_t *ops;
    uint32_t bits;

    if (p->n_steps == ASSAY_MAX_STEPS)
        return assay_onnx_skip(im, "more than %d float steps in a row",
                               ASSAY_MAX_STEPS);
    ops = assay_arena_array(im->s->arena, 2, sizeof(*ops));
    if (!ops)
        return assay_onnx_no_memory(im);
    memcpy(&bits, &a, 4);
    ops[0] = bits;
    memcpy(&bits, &b, 4);
    ops[1] = bits;
    s = &p->steps[p->n_steps++];
    s->kind = (uint8_t)kind;
    s->n = 1;
    s->a = &ops[0];
    s->b = kind == ASSAY_STEP_FCLAMP ? &ops[1] : NULL;
    return 0;
}

/* The shape of an output that no emitter knew: from the file's remarks. */
static bool shape_from_info(struct assay_onnx_import *im, uint32_t value)
{
    const struct assay_onnx_value *v;

    if (value == ASSAY_ONNX_NONE)
        return false;
    v = &im->g->values[value];
    if (!v->has_info)
        return false;
    for (uint32_t i = 0; i < v->info_rank; i++) {
        int64_t d = v->info_dims[i];

        if (d == 0 && i == 0)
            d = 1; /* the batch */
        if (d < 1 || d > INT32_MAX)
            return false;
        im->out_dims[i] = d;
    }
    im->out_rank = v->info_rank;
    im->have_dims = true;
    return true;
}

/* Behind a node that is not run only the reference knows the shape, in a file
 * without remarks. */
static bool shape_from_reference(struct assay_onnx_import *im, uint32_t value,
                                 enum assay_dtype *dtype)
{
    enum assay_dtype found = 0;
    uint32_t rank = 0;
    int64_t dims[ASSAY_MAX_RANK];

    if (!im->note || !im->note->shape ||
        !im->note->shape(im->note->self, im->g->values[value].name, &rank, dims,
                         &found) ||
        rank > ASSAY_MAX_RANK || !found)
        return false;
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] < 1 || dims[i] > INT32_MAX)
            return false;
        im->out_dims[i] = dims[i];
    }
    im->out_rank = rank;
    im->have_dims = true;
    if (!*dtype)
        *dtype = found;
    return true;
}

/* No golden is compared with a tensor of unknown shape: axes "?". */
static int shapeless_tensor(struct assay_onnx_import *im, uint32_t value,
                            uint32_t *index)
{
    const struct assay_onnx_value *v = &im->g->values[value];
    int rc = assay_slice_add_tensor(im->s, index, im->err);
    struct assay_tensor *t;

    if (rc)
        return rc;
    t = &im->s->tensors[*index];
    t->name = assay_arena_str(im->s->arena, v->name, strlen(v->name));
    if (!t->name)
        return assay_onnx_no_memory(im);
    t->dtype = ASSAY_F32;
    t->is_output = v->is_output;
    t->axes[0] = '?';
    im->no_shape[value] = true;
    return 0;
}

static int skip_output(struct assay_onnx_import *im,
                       const struct assay_onnx_operation *op, uint32_t value,
                       bool main_output)
{
    const struct assay_onnx_value *v = &im->g->values[value];
    enum assay_dtype dtype = main_output ? op->out_dtype : 0;
    struct assay_layer *l;
    uint32_t inputs[ASSAY_MAX_LAYER_INPUTS], n_inputs = 0, out;
    char reason[360];
    int rc;

    if (!main_output || !im->have_dims)
        im->have_dims = shape_from_info(im, value) ||
                        (main_output && shape_from_info(im, op->shape_from));
    if (!dtype)
        dtype = v->has_info ? assay_onnx_dtype(v->info_type) : 0;
    if (!im->have_dims || !dtype)
        im->have_dims =
            shape_from_reference(im, value, &dtype) || im->have_dims;
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i].value != ASSAY_ONNX_NONE &&
            im->tensor_of[op->in[i].value] >= 0)
            inputs[n_inputs++] = (uint32_t)im->tensor_of[op->in[i].value];
    if (im->have_dims && dtype) {
        snprintf(reason, sizeof(reason), "%s", im->reason);
        rc = assay_onnx_new_tensor(im, value, dtype,
                                   main_output ? &op->out_q : NULL, &out);
    } else {
        snprintf(reason, sizeof(reason),
                 "%s; the shape of its output is not "
                 "known",
                 im->reason);
        rc = shapeless_tensor(im, value, &out);
    }
    if (rc)
        return rc;
    rc = assay_onnx_new_layer(im, op->node, ASSAY_OP_SKIPPED, n_inputs, inputs,
                              out, &l);
    if (rc)
        return rc;
    l->skip_reason = assay_arena_str(im->s->arena, reason, strlen(reason));
    return l->skip_reason ? 0 : assay_onnx_no_memory(im);
}

int assay_onnx_skip_layer(struct assay_onnx_import *im,
                          const struct assay_onnx_operation *op)
{
    int rc = skip_output(im, op, op->out, true);

    /* Nodes with several outputs: one layer for each that is read. */
    for (uint32_t i = 0; !rc && i < op->node->n_out; i++) {
        uint32_t v = op->node->out[i];

        if (v == ASSAY_ONNX_NONE || v == op->out || op->integer ||
            (!im->g->values[v].n_readers && !im->g->values[v].is_output))
            continue;
        im->have_dims = false;
        rc = skip_output(im, op, v, false);
    }
    return rc;
}

int assay_onnx_reorder(struct assay_onnx_import *im,
                       const struct assay_onnx_node *n, const uint8_t *perm,
                       uint32_t *index)
{
    const struct assay_tensor *x = &im->s->tensors[*index];
    int64_t source[ASSAY_MAX_RANK];
    struct assay_tensor *t;
    char name[600];
    bool same = true;
    uint32_t out;
    int rc;

    for (uint32_t i = 0; i < x->rank; i++)
        same = same && x->perm[i] == (perm ? perm[i] : i);
    if (same)
        return 0;
    assay_tensor_source_dims(x, source);
    rc = assay_slice_add_tensor(im->s, &out, im->err);
    if (rc)
        return rc;
    x = &im->s->tensors[*index];
    t = &im->s->tensors[out];
    snprintf(name, sizeof(name), "%.500s/order/%u", x->name, n->index);
    t->name = assay_arena_str(im->s->arena, name, strlen(name));
    if (!t->name)
        return assay_onnx_no_memory(im);
    t->dtype = x->dtype;
    t->rank = x->rank;
    for (uint32_t i = 0; i < t->rank; i++) {
        t->perm[i] = perm ? perm[i] : (uint8_t)i;
        t->dims[i] = source[t->perm[i]];
    }
    rc = assay_onnx_new_helper(im, n, ASSAY_OP_RESHAPE, *index, out);
    if (!rc)
        *index = out;
    return rc;
}

int assay_onnx_expand(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n, uint32_t rank,
                      uint32_t *index)
{
    const struct assay_tensor *x = &im->s->tensors[*index];
    int64_t source[ASSAY_MAX_RANK], dims[ASSAY_MAX_RANK];
    static const uint8_t nhwc[4] = {0, 2, 3, 1};
    struct assay_tensor *t;
    uint32_t out, lead = rank - x->rank;
    char name[600];
    bool last;
    int rc;

    if (x->rank == rank)
        return 0;
    if (x->quant.n > 1)
        return assay_onnx_skip(im,
                               "operand '%.100s' has a scale for each "
                               "channel",
                               x->name);
    assay_tensor_source_dims(x, source);
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i < lead ? 1 : source[i - lead];
    rc = assay_slice_add_tensor(im->s, &out, im->err);
    if (rc)
        return rc;
    x = &im->s->tensors[*index];
    t = &im->s->tensors[out];
    snprintf(name, sizeof(name), "%.500s/rank%u/%u", x->name, rank, n->index);
    t->name = assay_arena_str(im->s->arena, name, strlen(name));
    if (!t->name)
        return assay_onnx_no_memory(im);
    t->dtype = x->dtype;
    t->quant = x->quant;
    t->rank = rank;
    last = rank == 4 && !im->source_order;
    for (uint32_t i = 0; i < rank; i++) {
        t->perm[i] = last ? nhwc[i] : (uint8_t)i;
        t->dims[i] = dims[t->perm[i]];
    }
    if (last)
        memcpy(t->axes, "NHWC", 5);
    rc = assay_onnx_new_helper(im, n, ASSAY_OP_RESHAPE, *index, out);
    if (!rc)
        *index = out;
    return rc;
}
