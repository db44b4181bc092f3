/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tools/model/onnx_graph.h"

#include <stdio.h>
#include <string.h>

int assay_onnx_graph_init(struct assay_onnx_graph *g, uint32_t max_values,
                          const char *file, struct assay_err *err)
{
    size_t slots;

    memset(g, 0, sizeof(*g));
    g->arena = assay_arena_new();
    if (!g->arena)
        return assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", file);
    g->file = assay_arena_str(g->arena, file, strlen(file));
    for (g->table_bits = 4; ((size_t)1 << g->table_bits) / 2 < max_values;)
        g->table_bits++;
    slots = (size_t)1 << g->table_bits;
    g->cap_values = max_values;
    g->table = assay_arena_array(g->arena, slots, sizeof(*g->table));
    g->values = assay_arena_array(g->arena, max_values ? max_values : 1,
                                  sizeof(*g->values));
    if (!g->file || !g->table || !g->values) {
        assay_arena_free(g->arena);
        memset(g, 0, sizeof(*g));
        return assay_fail(err, ASSAY_EMEMORY, "%s: no memory for %u tensors",
                          file, max_values);
    }
    return 0;
}

void assay_onnx_graph_close(struct assay_onnx_graph *g)
{
    if (!g)
        return;
    assay_arena_free(g->arena);
    memset(g, 0, sizeof(*g));
}

static uint32_t hash_name(const char *s, uint32_t bits)
{
    return (uint32_t)(assay_xxh64(s, strlen(s)) >> (64 - bits));
}

/* Slots hold index + 1. Returns the slot of the name or the free one. */
static uint32_t find_slot(const struct assay_onnx_graph *g, const char *name)
{
    uint32_t mask = (1u << g->table_bits) - 1;
    uint32_t at = hash_name(name, g->table_bits);

    while (g->table[at] && strcmp(g->values[g->table[at] - 1].name, name))
        at = (at + 1) & mask;
    return at;
}

uint32_t assay_onnx_intern(struct assay_onnx_graph *g, const char *name)
{
    uint32_t slot = find_slot(g, name);
    struct assay_onnx_value *v;

    if (g->table[slot])
        return g->table[slot] - 1;
    if (g->n_values == g->cap_values)
        return ASSAY_ONNX_NONE;
    v = &g->values[g->n_values];
    v->name = assay_arena_str(g->arena, name, strlen(name));
    if (!v->name)
        return ASSAY_ONNX_NONE;
    v->producer = ASSAY_ONNX_NONE;
    g->table[slot] = ++g->n_values;
    return g->n_values - 1;
}

const char *assay_onnx_node_text(const struct assay_onnx_node *n, char *buf,
                                 size_t cap)
{
    snprintf(buf, cap, "node %u (%s '%.80s')", n->index, n->op, n->name);
    return buf;
}

const char *assay_onnx_node_name(const struct assay_onnx_graph *g,
                                 const struct assay_onnx_node *n)
{
    if (n->name[0])
        return n->name;
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != ASSAY_ONNX_NONE)
            return g->values[n->out[i]].name;
    return n->op;
}

bool assay_onnx_is(const struct assay_onnx_node *n, const char *domain,
                   const char *op)
{
    return !strcmp(n->domain, domain) && !strcmp(n->op, op);
}

const struct assay_onnx_attr *assay_onnx_attr(const struct assay_onnx_node *n,
                                              const char *name)
{
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (!strcmp(n->attrs[i].name, name))
            return &n->attrs[i];
    return NULL;
}

enum assay_dtype assay_onnx_dtype(int32_t type)
{
    switch (type) {
    case 1: return ASSAY_F32;
    case 2:
    case 9: return ASSAY_U8;
    case 3: return ASSAY_S8;
    case 4: return ASSAY_U16;
    case 5: return ASSAY_S16;
    case 6: return ASSAY_S32;
    case 7: return ASSAY_S64;
    }
    return 0;
}

const char *assay_onnx_type_name(int32_t type)
{
    static const char *const names[] = {
        "untyped", "float32", "uint8",     "int8",       "uint16",   "int16",
        "int32",   "int64",   "string",    "bool",       "float16",  "float64",
        "uint32",  "uint64",  "complex64", "complex128", "bfloat16",
    };

    return type >= 0 && type < (int32_t)(sizeof(names) / sizeof(names[0]))
               ? names[type]
               : "a type that is not known";
}

const char *assay_onnx_attr_type_name(int32_t type)
{
    static const char *const names[] = {
        "no type",           "a float",
        "an integer",        "a string",
        "a tensor",          "a graph",
        "a list of floats",  "a list of integers",
        "a list of strings",
    };

    return type >= 0 && type < (int32_t)(sizeof(names) / sizeof(names[0]))
               ? names[type]
               : "a type that is not known";
}

static int attr_fail(const struct assay_onnx_graph *g,
                     const struct assay_onnx_node *n, const char *name,
                     const char *expected, int32_t found, struct assay_err *err)
{
    char text[160];

    return assay_fail(err, ASSAY_EFORMAT,
                      "%s: %s: attribute '%s': expected %s, found %s", g->file,
                      assay_onnx_node_text(n, text, sizeof(text)), name,
                      expected, assay_onnx_attr_type_name(found));
}

int assay_onnx_attr_int(const struct assay_onnx_graph *g,
                        const struct assay_onnx_node *n, const char *name,
                        int64_t missing, int64_t *out, struct assay_err *err)
{
    const struct assay_onnx_attr *a = assay_onnx_attr(n, name);

    if (a && a->type != ASSAY_ONNX_INT)
        return attr_fail(g, n, name, "an integer", a->type, err);
    *out = a ? a->i : missing;
    return 0;
}

int assay_onnx_attr_float(const struct assay_onnx_graph *g,
                          const struct assay_onnx_node *n, const char *name,
                          float missing, float *out, struct assay_err *err)
{
    const struct assay_onnx_attr *a = assay_onnx_attr(n, name);

    if (a && a->type != ASSAY_ONNX_FLOAT)
        return attr_fail(g, n, name, "a float", a->type, err);
    *out = a ? a->f : missing;
    return 0;
}

int assay_onnx_attr_ints(const struct assay_onnx_graph *g,
                         const struct assay_onnx_node *n, const char *name,
                         uint32_t want, int64_t *out, struct assay_err *err)
{
    const struct assay_onnx_attr *a = assay_onnx_attr(n, name);
    char text[160];

    if (!a)
        return 0;
    if (a->type != ASSAY_ONNX_INTS)
        return attr_fail(g, n, name, "a list of integers", a->type, err);
    if (a->n != want)
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: %s: attribute '%s': expected %u integers, "
                          "found %zu",
                          g->file, assay_onnx_node_text(n, text, sizeof(text)),
                          name, want, a->n);
    memcpy(out, a->ints, want * sizeof(*out));
    return 0;
}

int64_t assay_onnx_const_int(const struct assay_onnx_const *k, size_t i)
{
    switch (k->dtype) {
    case ASSAY_S8: return ((const int8_t *)k->data)[i];
    case ASSAY_U8: return ((const uint8_t *)k->data)[i];
    case ASSAY_S16: return ((const int16_t *)k->data)[i];
    case ASSAY_U16: return ((const uint16_t *)k->data)[i];
    case ASSAY_S32: return ((const int32_t *)k->data)[i];
    case ASSAY_S64: return ((const int64_t *)k->data)[i];
    case ASSAY_F32: break;
    }
    return 0;
}

double assay_onnx_const_number(const struct assay_onnx_const *k, size_t i)
{
    if (k->dtype == ASSAY_F32)
        return (double)((const float *)k->data)[i];
    return (double)assay_onnx_const_int(k, i);
}

/* A Constant node's value as a constant; *out NULL: not one of the kinds. */
static int constant_of(struct assay_onnx_graph *g,
                       const struct assay_onnx_node *n,
                       const struct assay_onnx_const **out,
                       struct assay_err *err)
{
    static const struct {
        const char *name;
        int32_t type;
        enum assay_dtype dtype;
    } kinds[] = {
        {"value_float", ASSAY_ONNX_FLOAT, ASSAY_F32},
        {"value_int", ASSAY_ONNX_INT, ASSAY_S64},
        {"value_floats", ASSAY_ONNX_FLOATS, ASSAY_F32},
        {"value_ints", ASSAY_ONNX_INTS, ASSAY_S64},
    };
    const struct assay_onnx_attr *a = assay_onnx_attr(n, "value");
    struct assay_onnx_const *k;

    *out = NULL;
    if (a && a->type == ASSAY_ONNX_TENSOR) {
        *out = a->t;
        return 0;
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        a = assay_onnx_attr(n, kinds[i].name);
        if (!a || a->type != kinds[i].type)
            continue;
        k = assay_arena_alloc(g->arena, sizeof(*k));
        if (!k)
            return assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", g->file);
        k->dtype = kinds[i].dtype;
        if (a->type == ASSAY_ONNX_FLOAT || a->type == ASSAY_ONNX_INT) {
            k->count = 1;
            k->data = a->type == ASSAY_ONNX_INT ? (const void *)&a->i
                                                : (const void *)&a->f;
        } else {
            k->rank = 1;
            k->dims[0] = (int64_t)a->n;
            k->count = a->n;
            k->data = a->type == ASSAY_ONNX_INTS ? (const void *)a->ints
                                                 : (const void *)a->floats;
        }
        *out = k;
        return 0;
    }
    return 0;
}

static int link_outputs(struct assay_onnx_graph *g, struct assay_onnx_node *n,
                        struct assay_err *err)
{
    char text[160];
    int rc;

    for (uint32_t i = 0; i < n->n_out; i++) {
        struct assay_onnx_value *v;

        if (n->out[i] == ASSAY_ONNX_NONE)
            continue;
        v = &g->values[n->out[i]];
        if (v->producer != ASSAY_ONNX_NONE || v->k || v->is_input)
            return assay_fail(
                err, ASSAY_EFORMAT,
                "%s: %s: tensor '%s' is written a second time", g->file,
                assay_onnx_node_text(n, text, sizeof(text)), v->name);
        v->producer = n->index;
        if (n->n_out == 1 && assay_onnx_is(n, "", "Constant")) {
            rc = constant_of(g, n, &v->k, err);
            if (rc)
                return rc;
        }
    }
    return 0;
}

static int link_inputs(struct assay_onnx_graph *g, struct assay_onnx_node *n,
                       struct assay_err *err)
{
    char text[160];

    for (uint32_t i = 0; i < n->n_in; i++) {
        struct assay_onnx_value *v;

        if (n->in[i] == ASSAY_ONNX_NONE)
            continue;
        v = &g->values[n->in[i]];
        if (!v->k && !v->is_input && v->producer == ASSAY_ONNX_NONE)
            return assay_fail(
                err, ASSAY_EFORMAT,
                "%s: %s: input '%s' is not computed before it "
                "is read",
                g->file, assay_onnx_node_text(n, text, sizeof(text)), v->name);
        v->n_readers++;
        g->n_readers++;
    }
    return 0;
}

static int list_readers(struct assay_onnx_graph *g, struct assay_err *err)
{
    uint32_t at = 0;

    g->readers =
        assay_arena_array(g->arena, g->n_readers + 1, sizeof(*g->readers));
    if (!g->readers)
        return assay_fail(err, ASSAY_EMEMORY, "%s: out of memory", g->file);
    for (uint32_t i = 0; i < g->n_values; i++) {
        g->values[i].first_reader = at;
        at += g->values[i].n_readers;
        g->values[i].n_readers = 0;
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t j = 0; j < g->nodes[i].n_in; j++) {
            struct assay_onnx_value *v;

            if (g->nodes[i].in[j] == ASSAY_ONNX_NONE)
                continue;
            v = &g->values[g->nodes[i].in[j]];
            g->readers[v->first_reader + v->n_readers++] = i;
        }
    return 0;
}

int assay_onnx_link(struct assay_onnx_graph *g, struct assay_err *err)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        int rc = link_inputs(g, &g->nodes[i], err);

        if (!rc)
            rc = link_outputs(g, &g->nodes[i], err);
        if (rc)
            return rc;
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        const struct assay_onnx_value *v = &g->values[g->outputs[i]];

        if (v->producer == ASSAY_ONNX_NONE && !v->is_input && !v->k)
            return assay_fail(err, ASSAY_EFORMAT,
                              "%s: graph output '%s' is not computed by any "
                              "node",
                              g->file, v->name);
    }
    return list_readers(g, err);
}
