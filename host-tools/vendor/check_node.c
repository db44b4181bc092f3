/* SPDX-License-Identifier: Apache-2.0 */
/* The log's table and quant_info against the model. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host-tools/vendor/check.h"

static bool starts(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

static bool is_quantized(const char *op)
{
    return starts(op, "Hz") && strcmp(op, "HzQuantize") != 0 &&
           strcmp(op, "HzDequantize") != 0;
}

static bool asked_for_cpu(const struct assay_checker *c, const char *node)
{
    for (uint32_t i = 0; i < c->v->n_overrides; i++) {
        if (c->v->overrides[i].on == ASSAY_ON_CPU &&
            strcmp(c->v->overrides[i].node, node) == 0)
            return true;
    }
    return false;
}

static void check_row_device(struct assay_checker *c,
                             const struct assay_vendor_node *n)
{
    if (n->on != ASSAY_ON_CPU || asked_for_cpu(c, n->name))
        return;
    if (is_quantized(n->type))
        assay_vcheck_add(c, ASSAY_WARNING, "device", c->v->nodes_file, n->name,
                         "BPU", "CPU",
                         "node '%.100s' (%.60s) runs on the CPU, which nobody "
                         "asked for",
                         n->name, n->type);
    else
        assay_vcheck_add(c, ASSAY_HINT, "device", c->v->nodes_file, n->name,
                         "BPU", "CPU", "node '%.100s' (%.60s) runs on the CPU",
                         n->name, n->type);
}

/* Whose rows these are. */
static const char *table_of(const struct assay_checker *c)
{
    return c->v->nodes_file == c->v->log_file ? "the log" : "the table";
}

static void check_row(struct assay_checker *c,
                      const struct assay_vendor_node *n,
                      const struct assay_layer *l)
{
    const struct assay_tensor *in =
        l->n_inputs > 0 ? &c->s->tensors[l->inputs[0]] : NULL;
    const char *dtype;
    char found[48], expected[48];
    int64_t lo, hi;

    /* Newer tables have the types of the model in front of quantization. */
    if (strcmp(n->type, l->source_op) != 0 && !c->v->nodes_converted)
        assay_vcheck_add(c, ASSAY_CONTRADICTION, "type", c->v->nodes_file,
                         n->name, l->source_op, n->type,
                         "node '%.100s' is %.60s in the model, %.60s in %s",
                         n->name, l->source_op, n->type, table_of(c));
    if (in == NULL)
        return;
    dtype = in->dtype == ASSAY_F32 ? "float" : assay_dtype_name(in->dtype);
    if (n->dtype[0] != '\0' && strcmp(n->dtype, dtype) != 0)
        assay_vcheck_add(c, ASSAY_CONTRADICTION, "dtype", c->v->nodes_file,
                         n->name, n->dtype, dtype,
                         "node '%.100s': %s says that its first input is "
                         "%.40s%s, in the model it is %s",
                         n->name, table_of(c), n->dtype,
                         n->on == ASSAY_ON_BPU ? " on the BPU" : "", dtype);
    else if (n->has_threshold &&
             !assay_vcheck_threshold(c, n->threshold, 1e-5, in)) {
        assay_dtype_range(in->dtype, &lo, &hi);
        snprintf(expected, sizeof(expected), "%.6g", n->threshold);
        snprintf(found, sizeof(found), "%.6g",
                 (double)in->quant.scale[0] * (double)hi);
        assay_vcheck_add(
            c, ASSAY_CONTRADICTION, "threshold", c->v->nodes_file, n->name,
            expected, found,
            "node '%.100s': in %s the threshold of its first input is %s, "
            "its scale gives %s",
            n->name, table_of(c), expected, found);
    }
}

/* Names that the quantizer invents change from build to build. */
static bool is_stable(const char *name)
{
    return !starts(name, "variable_");
}

static void check_log(struct assay_checker *c)
{
    const char *first = NULL;
    uint32_t rows = 0, lost = 0;
    char found[32];

    for (uint32_t i = 0; i < c->v->n_nodes; i++) {
        const struct assay_vendor_node *n = &c->v->nodes[i];
        const struct assay_layer *l = assay_vcheck_layer(c, n->name);

        check_row_device(c, n);
        rows++;
        if (l != NULL) {
            check_row(c, n, l);
        } else if (is_stable(n->name)) {
            first = first == NULL ? n->name : first;
            lost++;
        }
    }
    if (lost == 0)
        return;
    snprintf(found, sizeof(found), "%u of %u", lost, rows);
    assay_vcheck_add(c, ASSAY_WARNING, "log-nodes", c->v->nodes_file, first,
                     "0", found,
                     "%s nodes of %s are not in this model, first "
                     "'%.100s': it may be of another build",
                     found, table_of(c), first);
}

/* The integer tensor that a name of the float model became. */
static const struct assay_tensor *integer_of(struct assay_checker *c,
                                             const char *name, uint32_t *index)
{
    static const char suffix[] = "_calibrated";
    char text[600];
    size_t n = strlen(name);
    const struct assay_tensor *t;

    if (n >= sizeof(text) - 16)
        return NULL;
    snprintf(text, sizeof(text), "%s_quantized", name);
    t = assay_vcheck_tensor(c, text, index);
    if (t != NULL || n < sizeof(suffix) ||
        strcmp(name + n - (sizeof(suffix) - 1), suffix) != 0)
        return t;
    snprintf(text, sizeof(text), "%.*s_quantized",
             (int)(n - (sizeof(suffix) - 1)), name);
    return assay_vcheck_tensor(c, text, index);
}

static void check_quant_input(struct assay_checker *c, const char *name,
                              double threshold)
{
    uint32_t index = 0;
    const struct assay_tensor *t = integer_of(c, name, &index);
    char expected[32], found[32];
    int64_t lo, hi;

    if (t == NULL || c->seen_tensor[index])
        return;
    c->seen_tensor[index] = true;
    if (assay_vcheck_threshold(c, threshold, 1e-5, t))
        return;
    assay_dtype_range(t->dtype, &lo, &hi);
    snprintf(expected, sizeof(expected), "%.7g", threshold);
    snprintf(found, sizeof(found), "%.7g",
             (double)t->quant.scale[0] * (double)hi);
    /* In one build, too: what a Split or Reshape gives has a threshold of its
     * own there, but keeps the scale of its input. */
    assay_vcheck_add(c, ASSAY_WARNING, "threshold", c->v->quant_file, t->name,
                     expected, found,
                     "tensor '%.100s': the threshold in quant_info is %s, its "
                     "scale gives %s: another build, or it shares a scale",
                     t->name, expected, found);
}

static void differs(struct assay_checker *c, const char *name, const char *what,
                    double log, double quant)
{
    char a[32], b[32];

    snprintf(a, sizeof(a), "%.7g", log);
    snprintf(b, sizeof(b), "%.7g", quant);
    assay_vcheck_add(c, ASSAY_WARNING, "two-builds", c->v->quant_file, name, a,
                     b,
                     "node '%.100s': %s is %s in the log and %s in quant_info: "
                     "they are of two builds",
                     name, what, a, b);
}

static void check_quant_row(struct assay_checker *c,
                            const struct assay_vendor_quant_node *q)
{
    const struct assay_vendor_node *n = assay_vendor_node(c->v, q->name);

    if (n == NULL)
        return;
    if (n->has_cosine && q->has_cosine && fabs(n->cosine - q->cosine) > 1.5e-6)
        differs(c, q->name, "the cosine", n->cosine, q->cosine);
    else if (n->has_threshold && q->inputs.n > 0 && q->thresholds[0].n == 1 &&
             fabs(n->threshold - q->thresholds[0].v[0]) >
                 1e-5 * fabs(n->threshold) + 2e-6)
        differs(c, q->name, "the threshold", n->threshold,
                q->thresholds[0].v[0]);
}

static void check_quant_info(struct assay_checker *c)
{
    uint32_t fused = 0;

    for (uint32_t i = 0; i < c->v->n_quant_nodes; i++) {
        const struct assay_vendor_quant_node *q = &c->v->quant_nodes[i];

        check_quant_row(c, q);
        for (uint32_t k = 0; k < q->inputs.n; k++) {
            if (q->thresholds[k].n == 1)
                check_quant_input(c, q->inputs.v[k], q->thresholds[k].v[0]);
        }
        fused += assay_vcheck_layer(c, q->name) == NULL;
    }
    /* Of the model's own build less than a third was ever seen to be fused. */
    if (fused > c->v->n_quant_nodes / 2)
        assay_vcheck_add(c, ASSAY_WARNING, "quant-nodes", c->v->quant_file, "",
                         "", "",
                         "%u of %u nodes of quant_info are not in this model: "
                         "it is likely of another model",
                         fused, c->v->n_quant_nodes);
    else if (fused > 0)
        assay_vcheck_add(c, ASSAY_HINT, "quant-nodes", c->v->quant_file, "", "",
                         "",
                         "%u of %u nodes of quant_info are not in this model: "
                         "fused into others",
                         fused, c->v->n_quant_nodes);
}

void assay_vcheck_nodes(struct assay_checker *c)
{
    check_log(c);
    check_quant_info(c);
}
