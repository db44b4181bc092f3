/* SPDX-License-Identifier: Apache-2.0 */
/* The ONNX reader: file -> graph -> operations -> layers of a slice. */
#include "host-tools/model/onnx.h"

#include <string.h>

#include "host-tools/model/onnx_import.h"

static const struct assay_onnx_op ops[] = {
#define ASSAY_ONNX_OP(op, kind, combine, needs, group) \
    {op, ASSAY_ONNX_##kind, combine, needs, ASSAY_ONNX_##group},
#include "host-tools/model/onnx_ops.def"
};

const struct assay_onnx_op *assay_onnx_op_of(const struct assay_onnx_node *n)
{
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        if (assay_onnx_is(n, "", ops[i].name))
            return &ops[i];
    return NULL;
}

/* QuantizeLinear and DequantizeLinear that no group took. */
static int decode_qdq(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n,
                      struct assay_onnx_operation *op)
{
    bool quantize = !strcmp(n->op, "QuantizeLinear");
    int64_t axis;
    int rc;

    if (n->n_in < 2 || n->n_out != 1)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT,
                               "%u inputs and %u outputs, expected 2 or 3 "
                               "and 1",
                               n->n_in, n->n_out);
    op->kind = ASSAY_ONNX_UNARY;
    op->n_in = 1;
    op->in[0].value = n->in[0];
    rc = assay_onnx_attr_int(im->g, n, "axis", 1, &axis, im->err);
    if (rc)
        return rc;
    if (quantize)
        return assay_onnx_quant(im, n, n->in[1], assay_onnx_input(n, 2), axis,
                                &op->out_q, &op->out_dtype);
    return assay_onnx_quant(im, n, n->in[1], assay_onnx_input(n, 2), axis,
                            &op->in[0].q, NULL);
}

static int decode_literal(struct assay_onnx_import *im,
                          const struct assay_onnx_node *n,
                          struct assay_onnx_operation *op)
{
    const struct assay_onnx_op *line = assay_onnx_op_of(n);
    uint32_t data;
    bool known;
    int rc;

    if (!strcmp(n->op, "QuantizeLinear") || !strcmp(n->op, "DequantizeLinear"))
        return decode_qdq(im, n, op);
    rc = assay_onnx_unary_steps(im, n, &op->steps, &data, &known);
    if (rc)
        return rc;
    if (known) {
        op->kind = ASSAY_ONNX_UNARY;
        op->n_in = 1;
        op->in[0].value = data;
        return 0;
    }
    if (!line)
        return 0;
    if (n->n_in < line->needs)
        return assay_onnx_fail(im, n, ASSAY_EFORMAT, "%u inputs, expected %u",
                               n->n_in, line->needs);
    if (line->group == ASSAY_ONNX_EVERY && n->n_in > ASSAY_MAX_LAYER_INPUTS)
        return 0;
    op->kind = line->kind;
    op->combine = line->combine;
    return 0;
}

int assay_onnx_decode(struct assay_onnx_import *im,
                      const struct assay_onnx_node *n,
                      struct assay_onnx_operation *op)
{
    bool known, qdq;
    int rc;

    memset(op, 0, sizeof(*op));
    op->kind = ASSAY_ONNX_UNKNOWN;
    op->node = n;
    op->out = ASSAY_ONNX_NONE;
    op->shape_from = ASSAY_ONNX_NONE;
    for (uint32_t i = 0; i < n->n_out && op->out == ASSAY_ONNX_NONE; i++)
        op->out = n->out[i];
    rc = assay_onnx_decode_qlinear(im, n, op, &known);
    if (rc || known)
        return rc;
    qdq = !strcmp(n->domain, "com.microsoft") &&
          (!strcmp(n->op, "QuantizeLinear") ||
           !strcmp(n->op, "DequantizeLinear"));
    if (assay_onnx_is_horizon(im, n))
        op->kind = ASSAY_ONNX_HORIZON;
    else if (!n->domain[0] || qdq)
        rc = decode_literal(im, n, op);
    /* What decoding did not list as operands: all inputs. */
    for (uint32_t i = 0; !rc && !op->n_in && i < n->n_in; i++) {
        if (i == ASSAY_MAX_LAYER_INPUTS)
            break;
        op->in[i].value = n->in[i];
    }
    if (!rc && !op->n_in)
        op->n_in =
            n->n_in < ASSAY_MAX_LAYER_INPUTS ? n->n_in : ASSAY_MAX_LAYER_INPUTS;
    return rc;
}

static int emit_unknown(struct assay_onnx_import *im,
                        struct assay_onnx_operation *op)
{
    return assay_onnx_skip(im,
                           "operator '%.100s' of domain '%.100s' is not "
                           "known",
                           op->node->op,
                           op->node->domain[0] ? op->node->domain : "ai.onnx");
}

static assay_onnx_emit_fn *const emitters[] = {
#define ASSAY_ONNX_KIND(kind, emitter) [ASSAY_ONNX_##kind] = emitter,
#include "host-tools/model/onnx_ops.def"
    [ASSAY_ONNX_UNKNOWN] = emit_unknown,
};

static int emit(struct assay_onnx_import *im, struct assay_onnx_operation *op)
{
    int rc;

    if (op->out == ASSAY_ONNX_NONE) {
        assay_onnx_note(im, "%s: node %u ('%s') has no output: ignored",
                        im->g->file, op->node->index, op->node->op);
        return 0;
    }
    im->have_dims = false;
    im->node = op->node;
    im->perm = NULL;
    rc = emitters[op->kind](im, op);
    im->perm = NULL;
    return rc == ASSAY_ONNX_SKIP ? assay_onnx_skip_layer(im, op) : rc;
}

/* Is a node's work done elsewhere? Constants, and DequantizeLinear nodes that
 * only groups read, or that dequantize a constant. */
static bool silent(const struct assay_onnx_import *im,
                   const struct assay_onnx_node *n)
{
    const struct assay_onnx_value *v;

    if (im->node_state[n->index] == ASSAY_ONNX_ABSORBED)
        return true;
    if (n->n_out != 1 || n->out[0] == ASSAY_ONNX_NONE)
        return false;
    v = &im->g->values[n->out[0]];
    if (v->k)
        return true;
    if (strcmp(n->op, "DequantizeLinear") || v->is_output || !n->n_in ||
        n->in[0] == ASSAY_ONNX_NONE)
        return false;
    return im->g->values[n->in[0]].k ||
           (v->n_readers && im->group_reads[n->out[0]] == v->n_readers);
}

static int import_nodes(struct assay_onnx_import *im)
{
    struct assay_onnx_operation *op;
    int rc = assay_onnx_find_groups(im);

    op = rc ? NULL : assay_alloc(sizeof(*op));
    if (!rc && !op)
        return assay_onnx_no_memory(im);
    for (uint32_t i = 0; !rc && i < im->g->n_nodes; i++) {
        const struct assay_onnx_node *n = &im->g->nodes[i];

        if (silent(im, n))
            continue;
        if (im->node_state[i] == ASSAY_ONNX_HEAD) {
            rc = emit(im, im->groups[i]);
            continue;
        }
        rc = assay_onnx_decode(im, n, op);
        if (rc == ASSAY_ONNX_SKIP)
            rc = assay_onnx_skip_layer(im, op);
        else if (!rc)
            rc = emit(im, op);
    }
    assay_free(op);
    return rc;
}

static int import_input(struct assay_onnx_import *im, uint32_t value)
{
    const struct assay_onnx_value *v = &im->g->values[value];
    enum assay_dtype dtype = assay_onnx_dtype(v->info_type);
    uint32_t index;

    if (!v->has_info)
        return assay_fail(im->err, ASSAY_EUNSUPPORTED,
                          "%s: graph input '%s' has no shape", im->g->file,
                          v->name);
    if (!dtype)
        return assay_fail(im->err, ASSAY_EUNSUPPORTED,
                          "%s: graph input '%s' is %s, expected float32 or an "
                          "integer of 8 to 64 bits",
                          im->g->file, v->name,
                          assay_onnx_type_name(v->info_type));
    im->out_rank = v->info_rank;
    for (uint32_t i = 0; i < v->info_rank; i++) {
        int64_t d = v->info_dims[i];

        if (!d && i == 0) {
            d = 1;
            assay_onnx_note(im,
                            "%s: graph input '%s' has no fixed batch: 1 "
                            "is taken",
                            im->g->file, v->name);
        }
        if (d < 1 || d > INT32_MAX)
            return assay_fail(im->err, ASSAY_EUNSUPPORTED,
                              "%s: graph input '%s' has no fixed size in "
                              "dimension %u, expected 1 to 2147483647",
                              im->g->file, v->name, i);
        im->out_dims[i] = d;
    }
    return assay_onnx_new_tensor(im, value, dtype, NULL, &index);
}

static int prepare(struct assay_onnx_import *im)
{
    const struct assay_onnx_graph *g = im->g;
    struct assay_arena *a = g->arena;
    size_t names = (size_t)g->n_nodes * 4 + 16;

    for (im->name_bits = 4; ((size_t)1 << im->name_bits) < names * 2;)
        im->name_bits++;
    im->tensor_of = assay_arena_array(a, g->n_values + 1, 8);
    im->no_shape = assay_arena_array(a, g->n_values + 1, 1);
    im->node_state = assay_arena_array(a, g->n_nodes + 1, 1);
    im->group_reads = assay_arena_array(a, g->n_values + 1, 4);
    im->groups = assay_arena_array(a, g->n_nodes + 1, sizeof(*im->groups));
    im->name_table = assay_arena_array(a, (size_t)1 << im->name_bits, 4);
    im->source_order = assay_onnx_has_horizon(im->g);
    if (!im->tensor_of || !im->no_shape || !im->node_state ||
        !im->group_reads || !im->groups || !im->name_table)
        return assay_onnx_no_memory(im);
    for (uint32_t i = 0; i < g->n_values; i++)
        im->tensor_of[i] = -1;
    return 0;
}

static int import_graph(struct assay_onnx_import *im)
{
    int rc = prepare(im);

    for (uint32_t i = 0; !rc && i < im->g->n_inputs; i++)
        rc = import_input(im, im->g->inputs[i]);
    if (!rc)
        rc = import_nodes(im);
    if (!rc && im->source_order)
        rc = assay_onnx_horizon_scales(im);
    if (!rc && !im->s->n_layers)
        rc = assay_fail(im->err, ASSAY_EFORMAT, "%s: no node to run",
                        im->g->file);
    return rc;
}

/* protobuf has no magic bytes: an ONNX file begins with field 1 (ir_version,
 * a varint) or with another field of the model that tools write first. */
static bool probe(const uint8_t *head, size_t n)
{
    return n >= 2 && (head[0] == 0x08 || head[0] == 0x12 || head[0] == 0x3a ||
                      head[0] == 0x42);
}

static int open_onnx(struct assay_slice **out, const uint8_t *data, size_t n,
                     const char *file, const struct assay_model_note *note,
                     struct assay_err *err)
{
    struct assay_onnx_graph g = {0};
    struct assay_onnx_import im = {.g = &g, .note = note, .err = err};
    int rc = assay_onnx_parse(&g, data, n, file, note, err);

    if (rc)
        return rc;
    im.s = assay_slice_new();
    if (!im.s)
        rc = assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", file);
    if (!rc)
        rc = import_graph(&im);
    assay_onnx_graph_close(&g);
    if (rc)
        assay_slice_free(im.s);
    else
        *out = im.s;
    return rc;
}

const struct assay_model_reader assay_onnx_reader = {
    .format = "onnx",
    .suffix = ".onnx",
    .probe = probe,
    .open = open_onnx,
};
