/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was asked of nodes (device, width) against what they got: the final
 * dtype is evidence, the configuration is not.
 */
#include <stdio.h>
#include <string.h>

#include "host-tools/vendor/check.h"

static bool starts(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

/* An op of the accelerator; the border nodes run on the CPU. */
static bool is_bpu_op(const char *op)
{
    return starts(op, "Hz") && strcmp(op, "HzQuantize") != 0 &&
           strcmp(op, "HzDequantize") != 0;
}

static const struct assay_tensor *first_input(const struct assay_checker *c,
                                              const struct assay_layer *l)
{
    return l->n_inputs > 0 ? &c->s->tensors[l->inputs[0]] : NULL;
}

/* A softmax on the BPU becomes nodes named after it. */
static bool has_parts(const struct assay_checker *c, const char *node)
{
    size_t n = strlen(node);

    for (uint32_t i = 0; i < c->s->n_layers; i++) {
        const char *name = c->s->layers[i].name;

        if (strncmp(name, node, n) == 0 && (name[n] == '_' || name[n] == '.'))
            return true;
    }
    return false;
}

static void check_device(struct assay_checker *c,
                         const struct assay_vendor_override *o,
                         const struct assay_layer *l,
                         const struct assay_vendor_node *row)
{
    enum assay_vendor_on on = row != NULL ? row->on : ASSAY_ON_UNKNOWN;
    const char *want = assay_vendor_on_name(o->on);

    if (o->on == ASSAY_ON_UNKNOWN)
        return;
    if (on == ASSAY_ON_UNKNOWN && l != NULL && is_bpu_op(l->source_op))
        on = ASSAY_ON_BPU;
    else if (on == ASSAY_ON_UNKNOWN && l != NULL &&
             c->s->tensors[l->output].dtype == ASSAY_F32)
        on = ASSAY_ON_CPU; /* a float op has no place on the BPU */
    if (on == ASSAY_ON_UNKNOWN || on == o->on)
        return;
    assay_vcheck_add(c, ASSAY_CONTRADICTION, "device", o->file, o->node, want,
                     assay_vendor_on_name(on),
                     "node '%.100s' was asked to run on the %s, it runs on the "
                     "%s",
                     o->node, want, assay_vendor_on_name(on));
}

static void dtype_is(struct assay_checker *c,
                     const struct assay_vendor_override *o, const char *side,
                     const char *want, const char *found)
{
    if (want[0] == '\0' || found[0] == '\0' || strcmp(want, found) == 0)
        return;
    assay_vcheck_add(c, ASSAY_CONTRADICTION, "dtype", o->file, o->node, want,
                     found, "node '%.100s': %s asked for is %.40s, it is %.40s",
                     o->node, side, want, found);
}

static void check_override(struct assay_checker *c,
                           const struct assay_vendor_override *o)
{
    const struct assay_layer *l = assay_vcheck_layer(c, o->node);
    const struct assay_vendor_node *row = assay_vendor_node(c->v, o->node);
    const struct assay_tensor *in = l != NULL ? first_input(c, l) : NULL;
    const char *out;

    if (l == NULL && row == NULL) {
        if (!has_parts(c, o->node))
            assay_vcheck_add(c, ASSAY_WARNING, "no-node", o->file, o->node,
                             o->node, "",
                             "node '%.100s' has settings, but is not in the "
                             "model: fused into another, or misspelt",
                             o->node);
        else if (o->on == ASSAY_ON_CPU)
            assay_vcheck_add(c, ASSAY_CONTRADICTION, "device", o->file, o->node,
                             "CPU", "BPU",
                             "node '%.100s' was asked to run on the CPU, the "
                             "model has it in parts for the BPU",
                             o->node);
        return;
    }
    check_device(c, o, l, row);
    dtype_is(c, o, "the input type", o->input_dtype,
             in != NULL ? assay_dtype_name(in->dtype) : row->dtype);
    if (l == NULL)
        return;
    /* A last convolution keeps its accumulator, whatever was asked. */
    out = assay_dtype_name(c->s->tensors[l->output].dtype);
    if (strcmp(out, "int32") != 0)
        dtype_is(c, o, "the output type", o->output_dtype, out);
}

/* Kinds that this tool chain keeps at int8 however wide the model is asked to
 * be; measured, docs/horizon.md. */
static bool stays_int8(const struct assay_layer *l)
{
    static const char *const ops[] = {
        "HzSQuantizedConvTranspose", "HzSQuantizedMatmul",
        "HzQuantizedRoiResize",      "HzQuantizedResizeUpsample",
        "HzQuantizedAveragePool",    "HzSQuantizedGlobalAveragePool",
        "HzQuantizedGridSample",     "HzSQuantizedPreprocess",
        "HzQuantizedGlobalMaxPool",  "HzLut",
    };

    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        if (strcmp(l->source_op, ops[i]) == 0)
            return true;
    }
    return l->op == ASSAY_OP_CONV2D &&
           (l->p.conv2d.groups > 1 || l->p.conv2d.dilation_h > 1 ||
            l->p.conv2d.dilation_w > 1);
}

/* Moves or converts integers; its width is that of its neighbours. */
static bool follows(const char *op)
{
    return !is_bpu_op(op) || strcmp(op, "HzRequantize") == 0 ||
           strcmp(op, "HzDepthToSpace") == 0 ||
           strcmp(op, "HzSpaceToDepth") == 0;
}

static const struct assay_layer *producer(const struct assay_checker *c,
                                          uint32_t tensor)
{
    for (uint32_t i = 0; i < c->s->n_layers; i++) {
        if (c->s->layers[i].output == tensor)
            return &c->s->layers[i];
    }
    return NULL;
}

/* Its input is the int8 of a layer that gives nothing else, or is int8 for
 * one that takes nothing else. */
static bool beside_int8(const struct assay_checker *c,
                        const struct assay_layer *l)
{
    for (uint32_t i = 0; i < c->s->n_layers; i++) {
        const struct assay_layer *r = &c->s->layers[i];

        for (uint32_t k = 0; k < r->n_inputs; k++) {
            if (r->inputs[k] == l->inputs[0] && stays_int8(r))
                return true;
        }
    }
    for (uint32_t steps = 0; steps < 16 && l->n_inputs > 0; steps++) {
        l = producer(c, l->inputs[0]);
        if (l == NULL)
            return false;
        if (stays_int8(l))
            return true;
        if (is_bpu_op(l->source_op) || strncmp(l->source_op, "Hz", 2) == 0)
            return false;
    }
    return false;
}

static void check_all_int16(struct assay_checker *c, const char *file,
                            const char *setting)
{
    for (uint32_t i = 0; i < c->s->n_layers; i++) {
        const struct assay_layer *l = &c->s->layers[i];
        const struct assay_tensor *in = first_input(c, l);

        if (in == NULL || in->dtype != ASSAY_S8 || follows(l->source_op))
            continue;
        if (stays_int8(l) || beside_int8(c, l))
            assay_vcheck_add(
                c, ASSAY_WARNING, "stays-int8", file, l->name, "int16", "int8",
                "layer '%.100s' (%.60s) takes int8 in spite of "
                "%.60s: %s no int16 form here",
                l->name, l->source_op, setting,
                stays_int8(l) ? "it has" : "a layer beside it has");
        else
            assay_vcheck_add(
                c,
                assay_vcheck_is_nash(c) ? ASSAY_WARNING : ASSAY_CONTRADICTION,
                "dtype", file, l->name, "int16", "int8",
                "layer '%.100s' (%.60s) takes int8, %.60s asks for "
                "int16",
                l->name, l->source_op, setting);
    }
}

/* "HzSElementwiseAdd" -> "Add", "HzSQuantizedConv" -> "Conv" */
static const char *kind_of(const char *op)
{
    static const char *const prefixes[] = {"HzSElementwise", "HzSQuantized",
                                           "HzQuantized", "HzS", "Hz"};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (starts(op, prefixes[i]))
            return op + strlen(prefixes[i]);
    }
    return op;
}

/* set_KIND_input_int16, set_KIND_output_int8, ... */
static void check_kind(struct assay_checker *c, const char *file,
                       const char *setting)
{
    const char *kind = setting + 4, *side = strstr(kind, "_input_"), *dtype;
    bool input = side != NULL;
    struct assay_vendor_override o = {.file = file};

    if (side == NULL)
        side = strstr(kind, "_output_");
    if (side == NULL)
        return;
    dtype = side + (input ? 7 : 8);
    if (strcmp(dtype, "int8") != 0 && strcmp(dtype, "int16") != 0)
        return;
    for (uint32_t i = 0; i < c->s->n_layers; i++) {
        const struct assay_layer *l = &c->s->layers[i];
        const struct assay_tensor *t =
            input ? first_input(c, l) : &c->s->tensors[l->output];
        const char *k = kind_of(l->source_op);

        if (t == NULL || strlen(k) != (size_t)(side - kind) ||
            strncmp(k, kind, strlen(k)) != 0 || !is_bpu_op(l->source_op) ||
            (!input && t->dtype == ASSAY_S32))
            continue;
        o.node = l->name;
        dtype_is(c, &o, input ? "the input type" : "the output type", dtype,
                 assay_dtype_name(t->dtype));
    }
}

static uint32_t count_op(const struct assay_checker *c, const char *op)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->s->n_layers; i++)
        n += strcmp(c->s->layers[i].source_op, op) == 0;
    return n;
}

/* Removed from the .bin, not from the quantized model: then the two do not
 * take or give the same thing. */
static void check_removed(struct assay_checker *c)
{
    const struct assay_vendor_texts *r = &c->config->remove_node_type;

    for (uint32_t i = 0; i < r->n; i++) {
        bool q = strcmp(r->v[i], "Quantize") == 0;
        bool d = strcmp(r->v[i], "Dequantize") == 0;
        uint32_t n = count_op(c, q ? "HzQuantize" : "HzDequantize");
        char found[48];

        if ((!q && !d) || n == 0)
            continue;
        snprintf(found, sizeof(found), "%u %s", n,
                 q ? "HzQuantize" : "HzDequantize");
        assay_vcheck_add(c, ASSAY_WARNING, "removed", c->config->file, "",
                         q ? "no HzQuantize" : "no HzDequantize", found,
                         "remove_node_type has '%s', this model still has %s: "
                         "the board %s integers where this model %s floats",
                         r->v[i], found, q ? "takes" : "gives",
                         q ? "takes" : "gives");
    }
}

void assay_vcheck_settings(struct assay_checker *c)
{
    for (uint32_t i = 0; i < c->v->n_overrides; i++)
        check_override(c, &c->v->overrides[i]);
    if (strcmp(c->v->all_node_type, "int16") == 0)
        check_all_int16(c, c->v->quant_config_file, "all_node_type");
    if (c->config == NULL)
        return;
    for (uint32_t i = 0; i < c->config->optimization.n; i++) {
        const char *o = c->config->optimization.v[i];

        if (strcmp(o, "set_all_nodes_int16") == 0)
            check_all_int16(c, c->config->file, o);
        else if (starts(o, "set_") && !starts(o, "set_model_output_"))
            check_kind(c, c->config->file, o);
    }
    check_removed(c);
}
