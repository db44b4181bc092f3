/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the compiled model's features. */
#include <stdio.h>
#include <string.h>

#include "host-tools/model/file.h"
#include "host-tools/model/observed.h"
#include "host-tools/model/onnx_graph.h"

#define MAX_MODEL ((size_t)1 << 30)

static bool usable(const struct assay_slice *s, int64_t t)
{
    return t >= 0 && s->tensors[t].role != ASSAY_ROLE_CONSTANT &&
           s->tensors[t].axes[0] != '?';
}

static bool strip(const char *name, const char *suffix, char *out, size_t cap)
{
    size_t n = strlen(name), k = strlen(suffix);

    if (n <= k || n - k >= cap || strcmp(name + n - k, suffix) != 0)
        return false;
    memcpy(out, name, n - k);
    out[n - k] = '\0';
    return true;
}

/* The integer tensor of the dequantized tensor `name`. */
static int64_t quantized(const struct assay_slice *s, const char *name)
{
    char text[600];
    int64_t t;

    if ((size_t)snprintf(text, sizeof(text), "%s_quantized", name) >=
        sizeof(text))
        return -1;
    t = assay_slice_find_tensor(s, text);
    return usable(s, t) ? t : -1;
}

static const char no_reader[] =
    "in the hybrid model no HzDequantize reads it: ignored";

static int64_t target(const struct assay_onnx_graph *g,
                      const struct assay_onnx_node *n,
                      const struct assay_slice *s, const char **why)
{
    const char *out, *scale = "";
    char by_out[512], by_scale[512];

    *why = no_reader;
    if (n->n_out < 1 || n->out[0] == ASSAY_ONNX_NONE)
        return -1;
    out = g->values[n->out[0]].name;
    if (!strip(out, "_calibrated", by_out, sizeof(by_out)))
        snprintf(by_out, sizeof(by_out), "%.511s", out);
    if (n->n_in > 1 && n->in[1] != ASSAY_ONNX_NONE)
        scale = g->values[n->in[1]].name;
    if (strip(scale, "_HzCalibration_y_scale", by_scale, sizeof(by_scale)) &&
        strcmp(by_out, by_scale) != 0) {
        *why =
            "in the hybrid model its HzDequantize names two tensors: ignored";
        return -1;
    }
    *why = "the model has no tensor '..._quantized' of what the hybrid model "
           "names: ignored";
    return quantized(s, by_out);
}

static int add(struct assay_feature_map *m, const char *name, int64_t tensor,
               const char *why)
{
    struct assay_feature *p = assay_realloc(m->v, (m->n + 1) * sizeof(*p));
    size_t n = strlen(name) + 1;

    if (!p)
        return ASSAY_EMEMORY;
    m->v = p;
    p[m->n].name = assay_alloc(n);
    if (!p[m->n].name)
        return ASSAY_EMEMORY;
    memcpy(p[m->n].name, name, n);
    p[m->n].tensor = tensor < 0 ? 0 : (uint32_t)tensor;
    p[m->n++].why = tensor < 0 ? why : NULL;
    return 0;
}

/* One output of the compiled part: the HzDequantize behind it names it. */
static int map_output(struct assay_feature_map *m,
                      const struct assay_onnx_graph *g, uint32_t value,
                      const struct assay_slice *s)
{
    const struct assay_onnx_value *v = &g->values[value];
    const char *why = no_reader;
    int64_t found = -1;

    for (uint32_t i = 0; i < v->n_readers; i++) {
        const struct assay_onnx_node *n =
            &g->nodes[g->readers[v->first_reader + i]];
        int64_t t;

        if (!assay_onnx_is(n, "horizon", "HzDequantize") || n->n_in < 1 ||
            n->in[0] != value)
            continue;
        t = target(g, n, s, &why);
        if (t < 0)
            continue;
        if (found >= 0 && found != t)
            return add(m, v->name, -1,
                       "in the hybrid model two HzDequantize name different "
                       "tensors: ignored");
        found = t;
    }
    return add(m, v->name, found, why);
}

int assay_feature_map_open(struct assay_feature_map *out, const char *path,
                           const struct assay_slice *slice,
                           const struct assay_model_note *note,
                           struct assay_err *err)
{
    struct assay_feature_map m = {0};
    struct assay_onnx_graph g = {0};
    uint8_t *data;
    size_t n, nodes = 0;
    int rc = assay_file_read(&data, &n, path, MAX_MODEL, err);

    if (rc)
        return rc;
    rc = assay_onnx_parse(&g, data, n, path, note, err);
    assay_free(data);
    if (rc)
        return rc;
    for (uint32_t i = 0; !rc && i < g.n_nodes; i++) {
        const struct assay_onnx_node *b = &g.nodes[i];

        if (!assay_onnx_is(b, "horizon", "HzBpuHBM"))
            continue;
        nodes++;
        for (uint32_t k = 0; !rc && k < b->n_out; k++)
            if (b->out[k] != ASSAY_ONNX_NONE)
                rc = map_output(&m, &g, b->out[k], slice);
    }
    if (rc)
        rc = assay_fail(err, rc, "%s: out of memory", path);
    else if (!nodes)
        rc = assay_fail(err, ASSAY_EFORMAT,
                        "%s: no node HzBpuHBM, expected the vendor's hybrid "
                        "model (P_hybrid_model.onnx)",
                        path);
    assay_onnx_graph_close(&g);
    if (rc)
        assay_feature_map_close(&m);
    else
        *out = m;
    return rc;
}

void assay_feature_map_close(struct assay_feature_map *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->n; i++)
        assay_free(m->v[i].name);
    assay_free(m->v);
    memset(m, 0, sizeof(*m));
}

const struct assay_feature *assay_feature_map_find(
    const struct assay_feature_map *m, const char *feature)
{
    for (size_t i = 0; m && i < m->n; i++)
        if (!strcmp(m->v[i].name, feature))
            return &m->v[i];
    return NULL;
}

static void add_match(struct assay_observed_match *m, uint32_t tensor,
                      bool nchw, bool behind)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->v[i].tensor == tensor)
            return;
    m->v[m->n].tensor = tensor;
    m->v[m->n].behind = behind;
    m->v[m->n++].nchw = nchw;
}

/* The layer of that name, when there is exactly one; else -1. */
static int64_t only_layer(const struct assay_slice *s, const char *name)
{
    int64_t found = -1;

    for (uint32_t i = 0; i < s->n_layers; i++) {
        if (strcmp(s->layers[i].name, name) != 0)
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

/* What the Transpose reads that computes tensor t; -1: no such layer. */
static int64_t behind_transpose(const struct assay_slice *s, int64_t t)
{
    for (uint32_t i = 0; i < s->n_layers; i++) {
        const struct assay_layer *l = &s->layers[i];

        if (l->output != t)
            continue;
        if (l->op != ASSAY_OP_VIEW || l->n_inputs != 1 ||
            !usable(s, l->inputs[0]))
            return -1;
        return l->inputs[0];
    }
    return -1;
}

void assay_observed_find(struct assay_observed_match *out,
                         const struct assay_slice *slice,
                         const struct assay_feature_map *map, const char *name)
{
    int64_t exact = assay_slice_find_tensor(slice, name);
    const struct assay_feature *f = assay_feature_map_find(map, name);
    int64_t mapped = f && !f->why ? (int64_t)f->tensor : -1, other = -1;
    const char *mark = strstr(name, "_nhwc2nchw_");
    char node[512];

    memset(out, 0, sizeof(*out));
    if (usable(slice, exact))
        add_match(out, (uint32_t)exact, false, false);
    if (strip(name, "_nhwc2nchw_transposed_output0", node, sizeof(node))) {
        int64_t layer = only_layer(slice, node);

        if (usable(slice, exact))
            other = behind_transpose(slice, exact);
        else if (layer >= 0 && usable(slice, slice->layers[layer].output))
            other = slice->layers[layer].output;
        if (mapped >= 0 && other >= 0 && other != mapped) {
            out->denied = slice->tensors[other].name;
            other = -1;
        }
    }
    if (mapped >= 0)
        add_match(out, (uint32_t)mapped, mark != NULL, false);
    if (other >= 0)
        add_match(out, (uint32_t)other, true, usable(slice, exact));
}
