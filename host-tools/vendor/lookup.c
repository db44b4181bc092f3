/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the vendor's tables by name; made once, as a log and a model may
 * both have tens of thousands. */
#include <stdlib.h>
#include <string.h>

#include "host-tools/vendor/parse.h"

struct entry {
    const char *name;
    uint32_t index;
};

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int d = strcmp(x->name, y->name);

    if (d != 0)
        return d;
    return x->index < y->index ? -1 : x->index > y->index;
}

static const char *name_at(const void *rows, size_t size, uint32_t i)
{
    const char *name;

    memcpy(&name, (const char *)rows + (size_t)i * size, sizeof(name));
    return name; /* the first field of both kinds of rows */
}

static uint32_t *order(struct assay_vendor *v, const void *rows, size_t size,
                       uint32_t n)
{
    struct entry *e = assay_arena_array(v->arena, (size_t)n + 1, sizeof(*e));
    uint32_t *out = assay_arena_array(v->arena, (size_t)n + 1, sizeof(*out));

    if (e == NULL || out == NULL)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        e[i] = (struct entry){name_at(rows, size, i), i};
    qsort(e, n, sizeof(*e), by_name);
    for (uint32_t i = 0; i < n; i++)
        out[i] = e[i].index;
    return out;
}

int assay_vendor_index(struct assay_vendor *v, struct assay_err *err)
{
    v->nodes_by_name = order(v, v->nodes, sizeof(*v->nodes), v->n_nodes);
    v->quant_by_name =
        order(v, v->quant_nodes, sizeof(*v->quant_nodes), v->n_quant_nodes);
    if (v->nodes_by_name == NULL || v->quant_by_name == NULL)
        return assay_fail(err, ASSAY_EMEMORY, "%s",
                          assay_status_sentence(ASSAY_EMEMORY));
    return 0;
}

static const void *find(const void *rows, size_t size, const uint32_t *sorted,
                        uint32_t n, const char *name)
{
    uint32_t lo = 0, hi = n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (strcmp(name_at(rows, size, sorted[mid]), name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == n || strcmp(name_at(rows, size, sorted[lo]), name) != 0)
        return NULL;
    return (const char *)rows + (size_t)sorted[lo] * size;
}

const struct assay_vendor_node *assay_vendor_node(const struct assay_vendor *v,
                                                  const char *name)
{
    return find(v->nodes, sizeof(*v->nodes), v->nodes_by_name, v->n_nodes,
                name);
}

const struct assay_vendor_quant_node *assay_vendor_quant_node(
    const struct assay_vendor *v, const char *name)
{
    return find(v->quant_nodes, sizeof(*v->quant_nodes), v->quant_by_name,
                v->n_quant_nodes, name);
}

bool assay_vendor_layer(struct assay_vendor_layer *out,
                        const struct assay_vendor *v, const char *name)
{
    const struct assay_vendor_node *n = assay_vendor_node(v, name);
    const struct assay_vendor_quant_node *q = assay_vendor_quant_node(v, name);

    *out = (struct assay_vendor_layer){.subgraph = "", .type = "", .dtype = ""};
    if (n != NULL)
        *out = (struct assay_vendor_layer){
            n->on,         n->subgraph,      n->type,   n->dtype,
            n->has_cosine, n->has_threshold, n->cosine, n->threshold,
        };
    if (q == NULL)
        return n != NULL;
    if (!out->has_cosine && q->has_cosine) {
        out->has_cosine = true;
        out->cosine = q->cosine;
    }
    if (!out->has_threshold && q->inputs.n > 0 && q->thresholds[0].n == 1) {
        out->has_threshold = true;
        out->threshold = q->thresholds[0].v[0];
    }
    if (out->type[0] == '\0')
        out->type = q->type;
    return true;
}
