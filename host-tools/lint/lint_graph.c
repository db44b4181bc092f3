/* SPDX-License-Identifier: Apache-2.0 */
/* Layers in the graph: reached, quantized once, and how outputs end. */
#include "host-tools/lint/lint_private.h"

#include <inttypes.h>
#include <stdio.h>

static bool is_8(enum assay_dtype d)
{
    return d == ASSAY_S8 || d == ASSAY_U8;
}

/* A layer by itself that quantizes, or dequantizes. */
static bool quantizes(const struct assay_linter *c, const struct assay_layer *l)
{
    return l->op == ASSAY_OP_UNARY &&
           assay_lint_in(c, l, 0)->dtype == ASSAY_F32 &&
           assay_dtype_is_int(c->s->tensors[l->output].dtype);
}

static bool dequantizes(const struct assay_linter *c,
                        const struct assay_layer *l)
{
    return l->op == ASSAY_OP_UNARY &&
           assay_lint_names(l->source_op, "dequantize") &&
           assay_dtype_is_int(assay_lint_in(c, l, 0)->dtype) &&
           c->s->tensors[l->output].dtype == ASSAY_F32;
}

static void unreached(struct assay_linter *c)
{
    const struct assay_slice *s = c->s;
    bool *wanted =
        assay_arena_array(c->out->arena, (size_t)s->n_tensors + 1, 1);

    if (wanted == NULL) {
        c->no_memory = true;
        return;
    }
    for (uint32_t i = 0; i < s->n_tensors; i++)
        wanted[i] = s->tensors[i].is_output;
    for (uint32_t i = s->n_layers; i-- > 0;)
        for (uint32_t j = 0;
             wanted[s->layers[i].output] && j < s->layers[i].n_inputs; j++)
            wanted[s->layers[i].inputs[j]] = true;
    for (uint32_t i = 0; i < s->n_layers; i++)
        if (!wanted[s->layers[i].output])
            assay_lint_add(c, ASSAY_LINT_UNREACHED, ASSAY_WARNING,
                           s->layers[i].name, "a path to an output", "none",
                           "layer '%s' reaches no output of the model",
                           s->layers[i].name);
}

static void outputs(struct assay_linter *c)
{
    for (uint32_t i = 0; i < c->s->n_tensors; i++) {
        const struct assay_tensor *t = &c->s->tensors[i];
        uint32_t by = c->producer[i];
        enum assay_dtype ends = t->dtype;

        if (!t->is_output || by == UINT32_MAX)
            continue;
        if (dequantizes(c, &c->s->layers[by]))
            ends = assay_lint_in(c, &c->s->layers[by], 0)->dtype;
        if (is_8(ends))
            assay_lint_add(c, ASSAY_LINT_OUTPUT_8, ASSAY_HINT,
                           c->s->layers[by].name, "int16, int32 or float32",
                           assay_dtype_name(ends),
                           "the model's output '%s' ends in %s: not high "
                           "precision",
                           t->name, assay_dtype_name(ends));
    }
}

static bool same_quant(const struct assay_tensor *a,
                       const struct assay_tensor *b)
{
    return a->dtype == b->dtype && a->quant.n == 1 && b->quant.n == 1 &&
           a->quant.scale[0] == b->quant.scale[0] &&
           a->quant.zero_point[0] == b->quant.zero_point[0];
}

/* Quantize behind Dequantize, and two Quantize of one tensor. */
static void twice(struct assay_linter *c, uint32_t at)
{
    const struct assay_layer *l = &c->s->layers[at];
    uint32_t by = c->producer[l->inputs[0]];
    const struct assay_tensor *y = &c->s->tensors[l->output];

    if (by != UINT32_MAX && dequantizes(c, &c->s->layers[by])) {
        const struct assay_tensor *x = assay_lint_in(c, &c->s->layers[by], 0);

        assay_lint_add(c, ASSAY_LINT_CHAIN_TWICE,
                       same_quant(x, y) ? ASSAY_HINT : ASSAY_WARNING, l->name,
                       "one pair", "a Quantize behind a Dequantize",
                       same_quant(x, y)
                           ? "layer '%s' quantizes again what layer '%s' has "
                             "just dequantized, with the same scale"
                           : "layer '%s' quantizes again what layer '%s' has "
                             "just dequantized, with another scale: values "
                             "are rounded twice",
                       l->name, c->s->layers[by].name);
    }
    for (uint32_t i = 0; i < at; i++) {
        const struct assay_layer *m = &c->s->layers[i];

        if (m->n_inputs > 0 && m->inputs[0] == l->inputs[0] &&
            quantizes(c, m)) {
            assay_lint_add(c, ASSAY_LINT_CHAIN_TWICE, ASSAY_HINT, l->name,
                           "one Quantize", "two of one tensor",
                           "layers '%s' and '%s' quantize the same tensor '%s'",
                           m->name, l->name, assay_lint_in(c, l, 0)->name);
            return;
        }
    }
}

/* Products in float where the model has integer ones too. */
static void gap(struct assay_linter *c, const struct assay_layer *l,
                bool integers)
{
    bool product = l->op == ASSAY_OP_CONV2D || l->op == ASSAY_OP_GEMM ||
                   l->op == ASSAY_OP_CONV_TRANSPOSE2D ||
                   l->op == ASSAY_OP_MATMUL;
    uint32_t by;

    if (!integers || !product || l->n_inputs == 0 ||
        assay_lint_in(c, l, 0)->dtype != ASSAY_F32)
        return;
    by = c->producer[l->inputs[0]];
    assay_lint_add(c, ASSAY_LINT_CHAIN_GAP, ASSAY_WARNING, l->name, "integers",
                   "float32",
                   "layer '%s' multiplies in float32 though others are "
                   "quantized: no Quantize stands in front of it%s",
                   l->name,
                   by != UINT32_MAX && dequantizes(c, &c->s->layers[by])
                       ? ", only a Dequantize"
                       : "");
}

void assay_lint_graph(struct assay_linter *c)
{
    bool integers = false;

    unreached(c);
    outputs(c);
    for (uint32_t i = 0; i < c->s->n_layers; i++)
        integers = integers || assay_lint_has_weights(c, &c->s->layers[i]);
    for (uint32_t i = 0; i < c->s->n_layers; i++) {
        const struct assay_layer *l = &c->s->layers[i];

        if (l->n_inputs > 0 && quantizes(c, l))
            twice(c, i);
        gap(c, l, integers);
    }
}
