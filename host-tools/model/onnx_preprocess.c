/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/model/onnx_preprocess.h"

#include <string.h>

#include "host-tools/model/file.h"
#include "host-tools/model/onnx_graph.h"

#define MAX_FILE ((size_t)2 << 30)

/* Up through transposes, to what the user feeds. */
static const char *source_of(const struct assay_onnx_graph *g, uint32_t value)
{
    for (uint32_t steps = 0; steps <= g->n_nodes; steps++) {
        const struct assay_onnx_node *p;

        if (value == ASSAY_ONNX_NONE)
            return "";
        if (g->values[value].producer == ASSAY_ONNX_NONE)
            break;
        p = &g->nodes[g->values[value].producer];
        if (!assay_onnx_is(p, "", "Transpose") || p->n_in < 1)
            return "";
        value = p->in[0];
    }
    return g->values[value].name;
}

static const struct assay_onnx_const *constant(const struct assay_onnx_graph *g,
                                               const struct assay_onnx_node *n,
                                               uint32_t input)
{
    if (input >= n->n_in || n->in[input] == ASSAY_ONNX_NONE)
        return NULL;
    return g->values[n->in[input]].k;
}

/* Element c of a list with one entry a channel, or one for all. */
static bool entry(const struct assay_onnx_node *n, const char *name, uint32_t c,
                  double *out)
{
    const struct assay_onnx_attr *a = assay_onnx_attr(n, name);

    if (!a || !a->n)
        return false;
    if (a->n > 1 && c >= a->n)
        return false;
    if (a->n == 1)
        c = 0;
    if (a->type == ASSAY_ONNX_FLOATS)
        *out = (double)a->floats[c];
    else if (a->type == ASSAY_ONNX_INTS)
        *out = (double)a->ints[c];
    else
        return false;
    return true;
}

static double power2(double n)
{
    double v = 1.0;

    for (int i = 0; i < (int)n; i++)
        v *= 2.0;
    return v;
}

/*
 * Weights are w * threshold / 127, as the input's scale is 1. The conv floors,
 * so its bias also holds half of an output step, in units of the accumulator
 * 2^(right_shift + out_shift) / scale / 2, which is not the user's.
 */
static bool channel(const struct assay_onnx_node *n,
                    struct assay_onnx_preprocess *p, uint32_t c,
                    const struct assay_onnx_const *w,
                    const struct assay_onnx_const *b,
                    const struct assay_onnx_const *shift)
{
    double threshold, right, out, scale, step, bias;
    const struct assay_onnx_attr *high =
        assay_onnx_attr(n, "high_precision_output");

    if (!entry(n, "weight_thresholds", c, &threshold) || threshold <= 0.0)
        return false;
    step = threshold / 127.0;
    bias = assay_onnx_const_number(b, c);
    if (shift) {
        double s = assay_onnx_const_number(shift, shift->count == 1 ? 0 : c);

        if (s < 0.0 || s > 62.0)
            return false;
        bias *= power2(s);
    }
    if (!high || high->i == 0) {
        if (!entry(n, "right_shift", c, &right) ||
            !entry(n, "out_shift", c, &out) || !entry(n, "scale", c, &scale) ||
            right < 0.0 || out < 0.0 || right > 62.0 || out > 62.0 ||
            scale <= 0.0)
            return false;
        bias -= power2(right) * power2(out) / scale / 2.0;
    }
    p->bias[c] = bias * step;
    for (uint32_t k = 0; k < p->channels; k++)
        p->weights[c][k] =
            assay_onnx_const_number(w, (size_t)c * p->channels + k) * step;
    return true;
}

static void derive(const struct assay_onnx_graph *g,
                   const struct assay_onnx_node *n,
                   struct assay_onnx_preprocess *p)
{
    const struct assay_onnx_const *w = constant(g, n, 1), *b;
    const struct assay_onnx_const *shift = constant(g, n, 3);

    b = constant(g, n, 2);
    if (!w || !b || !w->data || !b->data || w->rank < 2 || w->dims[0] < 1 ||
        w->dims[0] > 4 || w->count != (size_t)(w->dims[0] * w->dims[0]) ||
        b->count != (size_t)w->dims[0] ||
        (shift &&
         (!shift->data || (shift->count != 1 && shift->count != b->count))))
        return;
    p->channels = (uint32_t)w->dims[0];
    p->derived = true;
    for (uint32_t c = 0; c < p->channels && p->derived; c++)
        p->derived = channel(n, p, c, w, b, shift);
}

static int read_graph(const struct assay_onnx_graph *g,
                      struct assay_onnx_preprocess *v, uint32_t *n,
                      struct assay_arena *a)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct assay_onnx_node *node = &g->nodes[i];
        const struct assay_onnx_attr *type =
            assay_onnx_attr(node, "input_type");
        struct assay_onnx_preprocess *p = &v[*n];
        const char *name = assay_onnx_node_name(g, node), *input, *t = "";

        if (!assay_onnx_is(node, "horizon", "HzSQuantizedPreprocess") ||
            node->n_in < 1)
            continue;
        input = source_of(g, node->in[0]);
        if (type && type->type == ASSAY_ONNX_STRING && type->s)
            t = type->s;
        p->node = assay_arena_str(a, name, strlen(name));
        p->input = assay_arena_str(a, input, strlen(input));
        p->input_type = assay_arena_str(a, t, strlen(t));
        if (!p->node || !p->input || !p->input_type)
            return ASSAY_EMEMORY;
        derive(g, node, p);
        (*n)++;
    }
    return 0;
}

static bool mentions(const uint8_t *data, size_t n)
{
    static const char op[] = "HzSQuantizedPreprocess";

    return memmem(data, n, op, sizeof(op) - 1) != NULL;
}

int assay_onnx_preprocess(struct assay_onnx_preprocess **out, uint32_t *n,
                          struct assay_arena *arena, const char *path,
                          struct assay_err *err)
{
    const struct assay_model_note silent = {.note = NULL};
    struct assay_onnx_graph g = {0};
    struct assay_onnx_preprocess *v;
    uint8_t *data;
    size_t size;
    int rc = assay_file_read(&data, &size, path, MAX_FILE, err);

    *n = 0;
    if (rc)
        return rc;
    if (!mentions(data, size)) {
        assay_free(data);
        return 0;
    }
    rc = assay_onnx_parse(&g, data, size, path, &silent, err);
    if (rc) {
        assay_free(data);
        return rc;
    }
    v = assay_arena_array(arena, (size_t)g.n_nodes + 1, sizeof(*v));
    rc = v ? read_graph(&g, v, n, arena) : ASSAY_EMEMORY;
    if (rc)
        rc = assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", path);
    else
        *out = v;
    assay_onnx_graph_close(&g);
    assay_free(data);
    return rc;
}
